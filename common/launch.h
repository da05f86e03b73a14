// Launching a step's kernel, its failures told apart: refused at the launch, or launched and failed on the way.
#ifndef LAUNCH_H
#define LAUNCH_H

#include <cuda_runtime_api.h>

struct work {
    // Queues one launch on one copy of the tensors; returns a cudaError_t.
    int (*queue)(const void *context, int variant, int copy, cudaStream_t stream);
    // Makes what launches on that copy need, before the first of them; returns a cudaError_t. NULL: they need nothing.
    int (*prepare)(const void *context, int variant, int copy);
    const void *context;
    int variant;
    int copies;
};

// For all copies. Outside of any timing.
void launch_prepare(const struct work *work);

void launch_queue(const struct work *work, int copy, cudaStream_t stream);

// Waits until all that was launched is done.
void launch_wait(cudaStream_t stream);

// One launch on the first copy, until it is done.
void launch_once(const struct work *work);

#endif

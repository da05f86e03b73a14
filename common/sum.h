// What a step that sums includes: the arguments of its launch, the description of itself, and the main that runs it.
#ifndef SUM_H
#define SUM_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

// total = x[0] + x[1] + … + x[n − 1].
struct sum_args {
    const void *x;     // [n], from a multiple of 16 bytes on
    void *total;       // [1]; what was in it means nothing
    int n;             // at most 2^30
    enum dtype dtype;  // of x and total
    int variant;
};

struct sum_step {
    const char *name;
    enum dtype dtypes[MAX_DTYPES];   // the default first
    const char *arch;                // least compute capability, "75"; "90a" is exactly 9.0
    const struct variant *variants;  // ends with {}
    int (*launch)(const struct sum_args *args, cudaStream_t stream);
};

// Queues the step's kernel on the stream and returns a cudaError_t. The one symbol that a step's shared object exports.
__attribute__((visibility("default"))) int launch(const struct sum_args *args, cudaStream_t stream);

// parse → allocate → poison → launch → check → time → report. Returns the exit status.
int sum_main(int argc, char **argv, const struct sum_step *step);

#ifdef __cplusplus
}
#endif
#endif

// What a softmax step includes: the arguments of its launch, the description of itself, and the main that runs it.
#ifndef SOFTMAX_H
#define SOFTMAX_H

#include <cuda_runtime_api.h>
#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

// Each row of Y is the softmax of that row of X. Both are row-major, begin at a multiple of 16 bytes, and a row follows
// the row before it with no gap. An element may be −∞, where something is masked, but not all of a row.
struct softmax_args {
    const void *X;   // [rows, cols]
    void *Y;         // [rows, cols]
    int rows, cols;  // each at most 2^30
    int variant;
    int threads_per_row, rows_per_thread;  // 0: the step decides
};

struct softmax_step {
    const char *name;
    enum dtype dtype;
    const char *arch;                // least compute capability, "75"; "90a" is exactly 9.0
    const struct variant *variants;  // ends with {}
    int (*launch)(const struct softmax_args *args, cudaStream_t stream);
    // What --threads-per-row and --rows-per-thread accept, ending with 0. None: the step has no such options.
    const int *threads_per_row, *rows_per_thread;
};

// Queues the step's kernel on the stream and returns a cudaError_t. The one symbol that a step's shared object exports.
__attribute__((visibility("default"))) int launch(const struct softmax_args *args, cudaStream_t stream);

// parse → allocate → poison → launch → check → time → report. Returns the exit status.
int softmax_main(int argc, char **argv, const struct softmax_step *step);

#ifdef __cplusplus
}
#endif
#endif

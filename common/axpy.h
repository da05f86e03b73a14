// What step 00 includes, which runs its kernel by itself: two lists of numbers to begin with, and a check to end with.
#ifndef AXPY_H
#define AXPY_H

#include <cuda_runtime_api.h>
#include "exit.h"
#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

// y = a x + y.
struct axpy_args {
    float a;
    const void *x;     // [n]
    void *y;           // [n]
    int n;             // at most 2^30
    enum dtype dtype;  // of x and y
    int variant;
};

struct axpy_step {
    const char *name;
    enum dtype dtypes[MAX_DTYPES];   // the default first
    const char *arch;                // least compute capability, "75"; "90a" is exactly 9.0
    const struct variant *variants;  // ends with {}
    int (*launch)(const struct axpy_args *args, cudaStream_t stream);
};

// A case, in the host's memory.
struct axpy_numbers {
    int n;
    float a;
    const float *x, *y;  // [n]
};

// Queues the step's kernel on the stream and returns a cudaError_t. The one symbol that a step's shared object exports.
__attribute__((visibility("default"))) int launch(const struct axpy_args *args, cudaStream_t stream);

// Reads the command line and makes up the numbers. A mistake on the command line ends the program with status 2.
struct axpy_numbers axpy_begin(int argc, char **argv, const struct axpy_step *step);

// Checks y as the program computed it, [n] on the host. If it is right, calls step->launch() as later steps leave it to
// common/: poison → launch → check → time → report. Returns the exit status.
int axpy_end(const float *y);

#ifdef __cplusplus
}
#endif
#endif

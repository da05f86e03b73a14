// What a matmul step includes: the arguments of its launch, the description of itself, and the main that runs it.
#ifndef MATMUL_H
#define MATMUL_H

#include <cuda_runtime_api.h>
#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

// C = A B. All three are row-major, and a row follows the row before it with no gap.
struct matmul_args {
    const void *A;  // [m, k]
    const void *B;  // [k, n]
    void *C;        // [m, n]
    int m, n, k;    // each at most 2^30: a tile's edge beyond it is still an int, an index into a matrix is not
    int variant;
};

struct matmul_step {
    const char *name;
    enum dtype dtype;
    const char *arch;                // least compute capability, "75"; "90a" is exactly 9.0
    const struct variant *variants;  // ends with {}
    int (*launch)(const struct matmul_args *args, cudaStream_t stream);
};

// Queues the step's kernel on the stream and returns a cudaError_t. The one symbol that a step's shared object exports.
__attribute__((visibility("default"))) int launch(const struct matmul_args *args, cudaStream_t stream);

// parse → allocate → poison → launch → check → time → report. Returns the exit status.
int matmul_main(int argc, char **argv, const struct matmul_step *step);

#ifdef __cplusplus
}
#endif
#endif

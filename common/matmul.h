// What a matmul step includes: the arguments of its launch, the description of itself, and the main that runs it.
#ifndef MATMUL_H
#define MATMUL_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdio.h>
#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

// C = A B. All three are row-major: the elements of a row are neighbours, and the next row begins a pitch further on.
// A row's first element is at a multiple of 16 bytes, unless the rows follow one another with no gap.
struct matmul_args {
    const void *A;                  // [m, k]
    const void *B;                  // [k, n]; or, where B_transposed, [n, k]
    void *C;                        // [m, n]
    void *workspace;                // as many bytes as the step's `workspace` says; what was in them means nothing
    void *prepared;                 // PREPARED_BYTES of host memory: what the step's prepare() left there
    int m, n, k;                    // each at most 2^30: a tile's edge beyond it is an int, an index into a matrix not
    int A_pitch, B_pitch, C_pitch;  // elements from one row to the next
    int B_transposed;
    enum dtype dtype, C_dtype;  // of A and B, and of C
    int variant;
};

struct matmul_step {
    const char *name;
    enum dtype dtypes[MAX_DTYPES];    // of A and B, the default first
    enum dtype C_dtypes[MAX_DTYPES];  // of C, beside that of A and B
    const char *arch;                 // least compute capability, "75"; "90a" is exactly 9.0
    int row_bytes;                    // rows begin at multiples of so many bytes; 0: they follow with no gap
    bool B_transposed;                // whether B may also be [n, k]
    const struct variant *variants;   // ends with {}
    size_t (*workspace)(const struct matmul_args *args);  // bytes of device memory beside the tensors; NULL: none
    int (*prepare)(const struct matmul_args *args);       // NULL: there is nothing to prepare
    int (*launch)(const struct matmul_args *args, cudaStream_t stream);
    void (*print_layout)(int variant);  // how its tiles lie in shared memory, for --layout; NULL: not offered
};

// Fills args->prepared with what launches with these arguments need and what may take its time, such as tensor maps.
// Called once before the first of them, and never while a launch is timed. Returns a cudaError_t.
__attribute__((visibility("default"))) int prepare(const struct matmul_args *args);

// Queues the step's kernel on the stream and returns a cudaError_t. Beside prepare(), the one symbol that a step's shared
// object exports.
__attribute__((visibility("default"))) int launch(const struct matmul_args *args, cudaStream_t stream);

// Whether A, B and C are of this type, B is [k, n], and no row has a gap behind it.
static inline bool matmul_is_plain(const struct matmul_args *args, enum dtype dtype)
{
    return args->dtype == dtype && args->C_dtype == dtype && !args->B_transposed && args->A_pitch == args->k &&
           args->B_pitch == args->n && args->C_pitch == args->n;
}

// Whether A, B and C are of this type, and each row begins at a multiple of so many bytes, a power of two. Where rows do
// not, stderr says so.
static inline bool matmul_rows_are_aligned(const struct matmul_args *args, enum dtype dtype, int bytes)
{
    const bool aligned = rows_are_aligned(args->A, args->A_pitch, dtype, bytes) &&
                         rows_are_aligned(args->B, args->B_pitch, dtype, bytes) &&
                         rows_are_aligned(args->C, args->C_pitch, dtype, bytes);
    if (!aligned)
        fprintf(stderr,
                "rows of A, B and C have to begin at multiples of %d bytes: their pitches are %d, %d and %d elements\n",
                bytes, args->A_pitch, args->B_pitch, args->C_pitch);
    return args->dtype == dtype && args->C_dtype == dtype && aligned;
}

// The same, and B is [k, n].
static inline bool matmul_is_aligned(const struct matmul_args *args, enum dtype dtype, int bytes)
{
    return !args->B_transposed && matmul_rows_are_aligned(args, dtype, bytes);
}

// parse → allocate → poison → prepare → launch → check → time → report. Returns the exit status.
int matmul_main(int argc, char **argv, const struct matmul_step *step);

#ifdef __cplusplus
}
#endif
#endif

// What a softmax step includes: the arguments of its launch, the description of itself, and the main that runs it.
#ifndef SOFTMAX_H
#define SOFTMAX_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdio.h>
#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

// Each row of Y is the softmax of that row of X. Both are row-major: the elements of a row are neighbours, and the next
// row begins a pitch further on. The first row begins at a multiple of 16 bytes; so do the others, unless the rows follow
// one another with no gap. An element may be −∞, where something is masked, but not all of a row.
struct softmax_args {
    const void *X;         // [rows, cols]
    void *Y;               // [rows, cols]
    int rows, cols;        // each at most 2^30
    int X_pitch, Y_pitch;  // elements from one row to the next
    enum dtype dtype;      // of X and Y
    int variant;
    int threads_per_row, rows_per_thread;  // 0: the step decides
};

struct softmax_step {
    const char *name;
    enum dtype dtypes[MAX_DTYPES];   // the default first
    const char *arch;                // least compute capability, "75"; "90a" is exactly 9.0
    int row_bytes;                   // rows begin at multiples of so many bytes; 0: they follow with no gap
    const struct variant *variants;  // ends with {}
    int (*launch)(const struct softmax_args *args, cudaStream_t stream);
    // What --threads-per-row and --rows-per-thread accept, ending with 0. None: the step has no such options.
    const int *threads_per_row, *rows_per_thread;
};

// Queues the step's kernel on the stream and returns a cudaError_t. The one symbol that a step's shared object exports.
__attribute__((visibility("default"))) int launch(const struct softmax_args *args, cudaStream_t stream);

// Whether X and Y are of this type and no row has a gap behind it.
static inline bool softmax_is_plain(const struct softmax_args *args, enum dtype dtype)
{
    return args->dtype == dtype && args->X_pitch == args->cols && args->Y_pitch == args->cols;
}

// Whether X and Y are of this type, and each row begins at a multiple of so many bytes, a power of two. Where rows do not,
// stderr says so.
static inline bool softmax_is_aligned(const struct softmax_args *args, enum dtype dtype, int bytes)
{
    const bool aligned = rows_are_aligned(args->X, args->X_pitch, dtype, bytes) &&
                         rows_are_aligned(args->Y, args->Y_pitch, dtype, bytes);
    if (!aligned)
        fprintf(stderr,
                "rows of X and Y have to begin at multiples of %d bytes: their pitches are %d and %d elements\n", bytes,
                args->X_pitch, args->Y_pitch);
    return args->dtype == dtype && aligned;
}

// parse → allocate → poison → launch → check → time → report. Returns the exit status.
int softmax_main(int argc, char **argv, const struct softmax_step *step);

#ifdef __cplusplus
}
#endif
#endif

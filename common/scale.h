// What a step that scales a matrix includes: the arguments of its launch, the description of itself, and the main that runs it.
#ifndef SCALE_H
#define SCALE_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdio.h>
#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

// Y = a X. Both are row-major: the elements of a row are neighbours, and the next row begins a pitch further on. The first row
// begins at a multiple of 16 bytes; so do the others, unless the rows follow one another with no gap.
struct scale_args {
    float a;
    const void *X;         // [rows, cols]
    void *Y;               // [rows, cols]
    void *prepared;        // PREPARED_BYTES of host memory: what the step's prepare() left there
    int rows, cols;        // each at most 2^30
    int X_pitch, Y_pitch;  // elements from one row to the next
    enum dtype dtype;      // of X and Y
    int variant;
};

enum { BOX_ELEMENTS = 4096 };

struct scale_step {
    const char *name;
    enum dtype dtypes[MAX_DTYPES];   // the default first
    const char *arch;                // least compute capability, "75"; "90a" is exactly 9.0
    int row_bytes;                   // rows begin at multiples of so many bytes; 0: they follow with no gap
    const struct variant *variants;  // ends with {}
    int (*prepare)(const struct scale_args *args);  // NULL: there is nothing to prepare
    int (*launch)(const struct scale_args *args, cudaStream_t stream);
    // For --layout: moves X, which is a box with the elements 0, 1, 2 and so on, to shared memory, and Y becomes what lies there. Returns
    // the columns of the box, all in fp32, of at most BOX_ELEMENTS. NULL: there are no boxes.
    int (*show_box)(int variant, const float *X, float *Y);
};

// Fills args->prepared with what launches with these arguments need and what may take its time, such as tensor maps.
// Called once before the first of them, and never while a launch is timed. Returns a cudaError_t.
__attribute__((visibility("default"))) int prepare(const struct scale_args *args);

// Queues the step's kernel on the stream and returns a cudaError_t. Beside prepare(), the one symbol that a step's shared
// object exports.
__attribute__((visibility("default"))) int launch(const struct scale_args *args, cudaStream_t stream);

// Whether X and Y are of this type, begin at multiples of 16 bytes, and no row has a gap behind it.
static inline bool scale_is_plain(const struct scale_args *args, enum dtype dtype)
{
    return args->dtype == dtype && args->X_pitch == args->cols && args->Y_pitch == args->cols &&
           rows_are_aligned(args->X, 0, dtype, 16) && rows_are_aligned(args->Y, 0, dtype, 16);
}

// Whether X and Y are of this type, and each row begins at a multiple of so many bytes, a power of two. Where rows do not,
// stderr says so.
static inline bool scale_is_aligned(const struct scale_args *args, enum dtype dtype, int bytes)
{
    const bool aligned = rows_are_aligned(args->X, args->X_pitch, dtype, bytes) &&
                         rows_are_aligned(args->Y, args->Y_pitch, dtype, bytes);
    if (!aligned)
        fprintf(stderr,
                "rows of X and Y have to begin at multiples of %d bytes: their pitches are %d and %d elements\n", bytes,
                args->X_pitch, args->Y_pitch);
    return args->dtype == dtype && aligned;
}

// parse → allocate → poison → prepare → launch → check → time → report. Returns the exit status.
int scale_main(int argc, char **argv, const struct scale_step *step);

#ifdef __cplusplus
}
#endif
#endif

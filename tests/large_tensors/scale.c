#define _GNU_SOURCE  // madvise
#include "scale.h"

#include "tensors.h"

// program VARIANT ROWS COLS
int scale_main(int argc, char **argv, const struct scale_step *step)
{
    const int rows = number(argv, 1), cols = number(argv, 2);
    const int multiple = step->row_bytes ? step->row_bytes / (int)sizeof(float) : 1;
    const int pitch = (cols + multiple - 1) / multiple * multiple;
    float *X = reserve(sizeof(float) * rows * pitch), *Y = reserve(sizeof(float) * rows * pitch);
    static _Alignas(PREPARED_ALIGN) char prepared[PREPARED_BYTES];
    (void)argc;
    fill(X, rows, pitch, rows - LAST, 0);
    const struct scale_args args = {.a = 3,
                                    .X = X,
                                    .Y = Y,
                                    .prepared = prepared,
                                    .rows = rows,
                                    .cols = cols,
                                    .X_pitch = pitch,
                                    .Y_pitch = pitch,
                                    .dtype = FP32,
                                    .variant = variant_of(argv, step->variants)};
    cudaError_t error = step->prepare ? (cudaError_t)step->prepare(&args) : cudaSuccess;
    if (error == cudaSuccess)
        error = (cudaError_t)step->launch(&args, NULL);
    const size_t last = (size_t)(rows - 1) * pitch;
    bool right = true;
    for (int col = 0; col < cols; col++)
        right &= near("Y", rows - 1, col, Y[last + col], 3 * X[last + col]);
    return status_of(error, right);
}

#define _GNU_SOURCE  // madvise
#include "softmax.h"

#include "tensors.h"

// program VARIANT ROWS COLS
int softmax_main(int argc, char **argv, const struct softmax_step *step)
{
    const int rows = number(argv, 1), cols = number(argv, 2);
    const int multiple = step->row_bytes ? step->row_bytes / (int)sizeof(float) : 1;
    const int pitch = (cols + multiple - 1) / multiple * multiple;
    float *X = reserve(sizeof(float) * rows * pitch), *Y = reserve(sizeof(float) * rows * pitch);
    (void)argc;
    fill(X, rows, pitch, rows - LAST, 0);
    const struct softmax_args args = {.X = X,
                                      .Y = Y,
                                      .rows = rows,
                                      .cols = cols,
                                      .X_pitch = pitch,
                                      .Y_pitch = pitch,
                                      .dtype = FP32,
                                      .variant = variant_of(argv, step->variants)};
    const cudaError_t error = (cudaError_t)step->launch(&args, NULL);
    const size_t last = (size_t)(rows - 1) * pitch;
    double sum = 0;
    bool right = true;
    for (int col = 0; col < cols; col++)
        sum += exp(X[last + col]);
    for (int col = 0; col < cols; col++)
        right &= near("Y", rows - 1, col, Y[last + col], exp(X[last + col]) / sum);
    return status_of(error, right);
}

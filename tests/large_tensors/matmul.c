#define _GNU_SOURCE  // madvise
#include "matmul.h"

#include "tensors.h"

// Elements from one row of so many columns to the next.
static int pitch_of(const struct matmul_step *step, int cols)
{
    const int multiple = step->row_bytes ? step->row_bytes / (int)sizeof(float) : 1;
    return ceil_div(cols, multiple) * multiple;
}

// program VARIANT M N K
int matmul_main(int argc, char **argv, const struct matmul_step *step)
{
    const int m = number(argv, 1), n = number(argv, 2), k = number(argv, 3);
    const int A_pitch = pitch_of(step, k), B_pitch = pitch_of(step, n);
    float *A = reserve(sizeof(float) * m * A_pitch), *B = reserve(sizeof(float) * k * B_pitch);
    float *C = reserve(sizeof(float) * m * B_pitch);
    (void)argc;
    fill(A, m, A_pitch, m - LAST, 0);
    fill(B, k, B_pitch, 0, n - LAST);
    const struct matmul_args args = {.A = A,
                                     .B = B,
                                     .C = C,
                                     .m = m,
                                     .n = n,
                                     .k = k,
                                     .A_pitch = A_pitch,
                                     .B_pitch = B_pitch,
                                     .C_pitch = B_pitch,
                                     .dtype = FP32,
                                     .C_dtype = FP32,
                                     .variant = variant_of(argv, step->variants)};
    const cudaError_t error = (cudaError_t)step->launch(&args, NULL);
    bool right = true;
    for (size_t row = m - CHECKED; row < (size_t)m; row++)
        for (size_t col = n - CHECKED; col < (size_t)n; col++) {
            double sum = 0;
            for (size_t i = 0; i < (size_t)k; i++)
                sum += (double)A[row * A_pitch + i] * B[i * B_pitch + col];
            right &= near("C", row, col, C[row * B_pitch + col], sum);
        }
    return status_of(error, right);
}

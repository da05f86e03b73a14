#define _GNU_SOURCE  // madvise
#include "matmul.h"

#include "tensors.h"

// program VARIANT M N K
int matmul_main(int argc, char **argv, const struct matmul_step *step)
{
    const int m = number(argv, 1), n = number(argv, 2), k = number(argv, 3);
    float *A = reserve(sizeof(float) * m * k), *B = reserve(sizeof(float) * k * n), *C = reserve(sizeof(float) * m * n);
    (void)argc;
    fill(A, m, k, m - LAST, 0);
    fill(B, k, n, 0, n - LAST);
    const struct matmul_args args = {.A = A,
                                     .B = B,
                                     .C = C,
                                     .m = m,
                                     .n = n,
                                     .k = k,
                                     .A_pitch = k,
                                     .B_pitch = n,
                                     .C_pitch = n,
                                     .dtype = FP32,
                                     .C_dtype = FP32,
                                     .variant = variant_of(argv, step->variants)};
    const cudaError_t error = (cudaError_t)step->launch(&args, NULL);
    bool right = true;
    for (size_t row = m - CHECKED; row < (size_t)m; row++)
        for (size_t col = n - CHECKED; col < (size_t)n; col++) {
            double sum = 0;
            for (size_t i = 0; i < (size_t)k; i++)
                sum += (double)A[row * k + i] * B[i * n + col];
            right &= near("C", row, col, C[row * n + col], sum);
        }
    return status_of(error, right);
}

// C = A B with one thread for each element of C, and two ways of saying which element that is.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o matmul_naive steps/03_matmul_naive/matmul_naive.cu common/*.c
//   ./learn run 03

#include "matmul.h"

constexpr int TILE = 32;  // rows and columns of C that one block computes

// [kernel]
template <bool coalesced>
__global__ void matmul_naive(const float *A,  // [m, k]
                             const float *B,  // [k, n]
                             float *C,        // [m, n]
                             int m, int n, int k)
{
    // [body]
    // [index] A warp's threads differ in threadIdx.x alone: it walks down a column of C, or along a row.
    const int row = coalesced ? blockIdx.y * TILE + threadIdx.y : blockIdx.x * TILE + threadIdx.x;
    const int col = coalesced ? blockIdx.x * TILE + threadIdx.x : blockIdx.y * TILE + threadIdx.y;

    // [product] A row of A times a column of B.
    float sum = 0;
    if (row < m && col < n)
        for (int i = 0; i < k; i++)
            sum += A[(size_t)row * k + i] * B[(size_t)i * n + col];

    // [store]
    if (row < m && col < n)
        C[(size_t)row * n + col] = sum;
    // [end body]
}

// [launch]
enum { STRIDED, COALESCED };

int launch(const struct matmul_args *args, cudaStream_t stream)
{
    if (!matmul_is_plain(args, FP32))
        return cudaErrorInvalidValue;
    const float *A = (const float *)args->A, *B = (const float *)args->B;
    float *C = (float *)args->C;
    const int m = args->m, n = args->n, k = args->k;
    const dim3 threads(TILE, TILE);
    const unsigned tiles_m = ceil_div(m, TILE), tiles_n = ceil_div(n, TILE);
    if (args->variant == STRIDED)
        matmul_naive<false><<<dim3(tiles_m, tiles_n), threads, 0, stream>>>(A, B, C, m, n, k);
    else
        matmul_naive<true><<<dim3(tiles_n, tiles_m), threads, 0, stream>>>(A, B, C, m, n, k);
    return cudaGetLastError();
}

// [main]
static const struct variant variants[] = {
    {"strided", "a warp computes 32 elements down a column of C: 32 rows of A, a line of memory each"},
    {"coalesced", "a warp computes 32 elements along a row of C: B and C in whole lines, A the same for all"},
    {},
};

int main(int argc, char **argv)
{
    const struct matmul_step step = {
        .name = "03_matmul_naive",
        .dtypes = {FP32},
        .arch = "75",
        .variants = variants,
        .launch = launch,
    };
    return matmul_main(argc, argv, &step);
}

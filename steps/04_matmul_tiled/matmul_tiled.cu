// C = A B in tiles: a block loads a tile of A and one of B into shared memory, where each element is used 32 times.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o matmul_tiled steps/04_matmul_tiled/matmul_tiled.cu common/*.c
//   ./learn run 04

#include "matmul.h"

constexpr int TILE = 32;  // rows and columns of C that one block computes, and of the tiles that it does so from

// [kernel]
template <bool transposed, int pad>
__global__ void matmul_tiled(const float *A,  // [m, k]
                             const float *B,  // [k, n]
                             float *C,        // [m, n]
                             int m, int n, int k)
{
    // [index] A warp's threads differ in threadIdx.x alone: it walks along a row of C.
    const int row = blockIdx.y * TILE + threadIdx.y;
    const int col = blockIdx.x * TILE + threadIdx.x;

    // [tiles] Word w of shared memory is in bank w mod 32: without padding, a column lies in a single bank.
    __shared__ float A_smem[TILE][TILE + pad];  // [row][i], or transposed [i][row]
    __shared__ float B_smem[TILE][TILE];        // [i][col]

    // [sum]
    float sum = 0;
    // [end sum]
    for (int tile = 0; tile < k; tile += TILE) {
        // [load] Each thread loads one element of each tile; what lies beyond the edge of a matrix counts as 0.
        const int A_col = tile + threadIdx.x, B_row = tile + threadIdx.y;
        const float a = row < m && A_col < k ? A[(size_t)row * k + A_col] : 0;
        const float b = B_row < k && col < n ? B[(size_t)B_row * n + col] : 0;
        (transposed ? A_smem[threadIdx.x][threadIdx.y] : A_smem[threadIdx.y][threadIdx.x]) = a;
        B_smem[threadIdx.y][threadIdx.x] = b;
        // [loaded]
        __syncthreads();  // both tiles are whole before any thread reads them

        // [product] A row of A's tile times a column of B's.
        for (int i = 0; i < TILE; i++)
            sum += (transposed ? A_smem[i][threadIdx.y] : A_smem[threadIdx.y][i]) * B_smem[i][threadIdx.x];
        // [barrier]
        __syncthreads();  // every thread has read both tiles before the next two replace them
    }

    // [store]
    if (row < m && col < n)
        C[(size_t)row * n + col] = sum;
}

// [launch]
enum { TRANSPOSED, PADDED, TILED };

int launch(const struct matmul_args *args, cudaStream_t stream)
{
    if (!matmul_is_plain(args, FP32))
        return cudaErrorInvalidValue;
    const float *A = (const float *)args->A, *B = (const float *)args->B;
    float *C = (float *)args->C;
    const int m = args->m, n = args->n, k = args->k;
    const dim3 threads(TILE, TILE), blocks(ceil_div(n, TILE), ceil_div(m, TILE));
    if (args->variant == TRANSPOSED)
        matmul_tiled<true, 0><<<blocks, threads, 0, stream>>>(A, B, C, m, n, k);
    else if (args->variant == PADDED)
        matmul_tiled<true, 1><<<blocks, threads, 0, stream>>>(A, B, C, m, n, k);
    else
        matmul_tiled<false, 0><<<blocks, threads, 0, stream>>>(A, B, C, m, n, k);
    return cudaGetLastError();
}

// [main]
static const struct variant variants[] = {
    {"transposed", "A's tile transposed, as the 16-byte loads of step 06 will want it: 32 stores meet in one bank"},
    {"padded", "a 33rd column in the transposed tile: each row starts one bank further on"},
    {"tiled", "A's tile lies as in memory: a warp reads one element of it, all lanes the same"},
    {},
};

int main(int argc, char **argv)
{
    const struct matmul_step step = {
        .name = "04_matmul_tiled",
        .dtypes = {FP32},
        .arch = "75",
        .variants = variants,
        .launch = launch,
    };
    return matmul_main(argc, argv, &step);
}

// C = A B in tiles where B lies in memory as [n, k]: its columns are rows there, and a warp loads 32 elements of one.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o b_transposed steps/04_matmul_tiled/exercises/b_transposed.cu common/*.c
//   ./b_transposed --b-transposed

#include "matmul.h"

constexpr int TILE = 32;  // rows and columns of C that one block computes, and of the tiles that it does so from

// [kernel]
__global__ void matmul_b_transposed(const float *A,  // [m, k]
                                    const float *B,  // [n, k]
                                    float *C,        // [m, n]
                                    int m, int n, int k)
{
    // [index] A warp's threads differ in threadIdx.x alone: it walks along a row of C.
    const int row = blockIdx.y * TILE + threadIdx.y;
    const int col = blockIdx.x * TILE + threadIdx.x;

    // [tiles] Word w of shared memory is in bank w mod 32: a column of an array lies in a single bank.
    __shared__ float A_smem[TILE][TILE];  // [row][i]
    __shared__ float B_smem[TILE][TILE];

    float sum = 0;
    for (int tile = 0; tile < k; tile += TILE) {
        // [load] A warp loads 32 elements of a column of B, which are neighbours in memory.
        const int A_col = tile + threadIdx.x, B_row = A_col, B_col = blockIdx.x * TILE + threadIdx.y;
        A_smem[threadIdx.y][threadIdx.x] = row < m && A_col < k ? A[(size_t)row * k + A_col] : 0;
        const float b = B_row < k && B_col < n ? B[(size_t)B_col * k + B_row] : 0;
        // [store]
        B_smem[threadIdx.y][threadIdx.x ^ threadIdx.y] = b;
        // [end store]
        __syncthreads();  // both tiles are whole before any thread reads them

        // [products] A row of A's tile times a column of B's.
        for (int i = 0; i < TILE; i++) {
            // [product]
            sum += A_smem[threadIdx.y][i] * B_smem[threadIdx.x][i ^ threadIdx.x];
            // [end product]
        }
        __syncthreads();  // every thread has read both tiles before the next two replace them
    }

    // [store_C]
    if (row < m && col < n)
        C[(size_t)row * n + col] = sum;
}

// [launch]
int launch(const struct matmul_args *args, cudaStream_t stream)
{
    if (!args->B_transposed || args->A_pitch != args->k || args->B_pitch != args->k || args->C_pitch != args->n)
        return cudaErrorInvalidValue;
    const dim3 threads(TILE, TILE), blocks(ceil_div(args->n, TILE), ceil_div(args->m, TILE));
    matmul_b_transposed<<<blocks, threads, 0, stream>>>((const float *)args->A, (const float *)args->B,
                                                        (float *)args->C, args->m, args->n, args->k);
    return cudaGetLastError();
}

// [main]
static const struct variant variants[] = {
    {"b_transposed", "B's tile is stored by rows and read by columns"},
    {},
};

int main(int argc, char **argv)
{
    const struct matmul_step step = {
        .name = "04_matmul_tiled",
        .dtypes = {FP32},
        .arch = "75",
        .B_transposed = true,
        .variants = variants,
        .launch = launch,
    };
    return matmul_main(argc, argv, &step);
}

// Step 04's kernel with two buffers: while one pair of tiles is multiplied, the next is on its way from memory.

#include "matmul.h"

constexpr int TILE = 32;    // rows and columns of C that one block computes, and of the tiles that it does so from
constexpr int BUFFERS = 2;  // pairs of tiles: one is multiplied while the other is filled

// An element of a matrix [rows, cols]; what lies beyond its edges counts as 0.
__device__ float element(const float *matrix, int rows, int cols, int row, int col)
{
    return row < rows && col < cols ? matrix[(size_t)row * cols + col] : 0;
}

__global__ void matmul_tiled(const float *A,  // [m, k]
                             const float *B,  // [k, n]
                             float *C,        // [m, n]
                             int m, int n, int k)
{
    const int row = blockIdx.y * TILE + threadIdx.y;
    const int col = blockIdx.x * TILE + threadIdx.x;
    __shared__ float A_smem[BUFFERS][TILE][TILE];  // [buffer][row][i]
    __shared__ float B_smem[BUFFERS][TILE][TILE];  // [buffer][i][col]

    float sum = 0;
    // [loop]
    A_smem[0][threadIdx.y][threadIdx.x] = element(A, m, k, row, threadIdx.x);
    B_smem[0][threadIdx.y][threadIdx.x] = element(B, k, n, threadIdx.y, col);
    __syncthreads();  // the first two tiles are whole
    int buffer = 0;
    for (int tile = 0; tile < k; tile += TILE) {
        const float a = element(A, m, k, row, tile + TILE + threadIdx.x);
        const float b = element(B, k, n, tile + TILE + threadIdx.y, col);
        for (int i = 0; i < TILE; i++)
            sum += A_smem[buffer][threadIdx.y][i] * B_smem[buffer][i][threadIdx.x];
        buffer = 1 - buffer;
        A_smem[buffer][threadIdx.y][threadIdx.x] = a;
        B_smem[buffer][threadIdx.y][threadIdx.x] = b;
        __syncthreads();  // every thread has read these tiles, and the next two are whole
    }
    // [end loop]

    if (row < m && col < n)
        C[(size_t)row * n + col] = sum;
}

int launch(const struct matmul_args *args, cudaStream_t stream)
{
    if (!matmul_is_plain(args, FP32))
        return cudaErrorInvalidValue;
    const dim3 threads(TILE, TILE), blocks(ceil_div(args->n, TILE), ceil_div(args->m, TILE));
    matmul_tiled<<<blocks, threads, 0, stream>>>((const float *)args->A, (const float *)args->B, (float *)args->C,
                                                 args->m, args->n, args->k);
    return cudaGetLastError();
}

static const struct variant variants[] = {
    {"two_buffers", "step 04's tiled, with a second pair of tiles: one barrier for each pair"},
    {},
};

int main(int argc, char **argv)
{
    const struct matmul_step step = {
        .name = "07_matmul_double_buffer",
        .dtypes = {FP32},
        .arch = "75",
        .variants = variants,
        .launch = launch,
    };
    return matmul_main(argc, argv, &step);
}

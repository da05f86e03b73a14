// C = A B with 8 × 8 elements of C in each thread's registers: a value, once loaded, serves eight multiply-adds.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o matmul_register steps/05_matmul_register/matmul_register.cu common/*.c
//   ./learn run 05

#include "matmul.h"

constexpr int TILE = 128;                 // rows and columns of C that one block computes
constexpr int TILE_K = 8;                 // columns of A, rows of B in the tiles that it does so from
constexpr int THREAD_TILE = 8;            // rows and columns of C that one thread computes
constexpr int SIDE = TILE / THREAD_TILE;  // threads along a row of the block's tile, and along a column
constexpr int THREADS = SIDE * SIDE;      // in a block
constexpr int BLOCKS = 2;                 // on one SM: at most 128 registers for each of 2 × 256 threads

// [tiles]
struct tiles {
    float A[TILE][TILE_K];  // [row][i]
    float B[TILE_K][TILE];  // [i][col]
};

// [multiply] Eight elements of a column of A's tile times eight of a row of B's. A thread's rows are SIDE apart, its
// columns too: so a warp's threads walk along rows of C, as before.
__device__ void multiply(const struct tiles *smem, int row, int col, float sum[THREAD_TILE][THREAD_TILE])
{
    // [product]
    for (int i = 0; i < TILE_K; i++) {
        float a[THREAD_TILE], b[THREAD_TILE];
        for (int y = 0; y < THREAD_TILE; y++)
            a[y] = smem->A[row + y * SIDE][i];
        for (int x = 0; x < THREAD_TILE; x++)
            b[x] = smem->B[i][col + x * SIDE];
        for (int y = 0; y < THREAD_TILE; y++)
            for (int x = 0; x < THREAD_TILE; x++)
                sum[y][x] += a[y] * b[x];
    }
    // [end product]
}

// [kernel]
__global__ void __launch_bounds__(THREADS, BLOCKS) matmul_register(const float *A,  // [m, k]
                                                                   const float *B,  // [k, n]
                                                                   float *C,        // [m, n]
                                                                   int m, int n, int k)
{
    // [index] The first of a thread's rows and columns in the block's tile.
    const int row = threadIdx.x / SIDE;
    const int col = threadIdx.x % SIDE;

    // [smem]
    __shared__ struct tiles smem;
    // [end smem]

    float sum[THREAD_TILE][THREAD_TILE] = {};
    for (int tile = 0; tile < k; tile += TILE_K) {
        // [load] Each thread loads four elements of each tile; beyond the edge of a matrix it takes 0.
        for (int element = threadIdx.x; element < TILE * TILE_K; element += THREADS) {
            const int A_row = blockIdx.y * TILE + element / TILE_K, A_col = tile + element % TILE_K;
            const int B_row = tile + element / TILE, B_col = blockIdx.x * TILE + element % TILE;
            const float a = A_row < m && A_col < k ? A[(size_t)A_row * k + A_col] : 0;
            const float b = B_row < k && B_col < n ? B[(size_t)B_row * n + B_col] : 0;
            smem.A[element / TILE_K][element % TILE_K] = a;
            smem.B[element / TILE][element % TILE] = b;
        }
        // [barrier]
        __syncthreads();  // both tiles are whole before any thread reads them
        // [end barrier]

        multiply(&smem, row, col, sum);
        __syncthreads();  // every thread has read both tiles before the next two replace them
    }

    // [store]
    for (int y = 0; y < THREAD_TILE; y++)
        for (int x = 0; x < THREAD_TILE; x++) {
            const int C_row = blockIdx.y * TILE + row + y * SIDE;
            const int C_col = blockIdx.x * TILE + col + x * SIDE;
            if (C_row < m && C_col < n)
                C[(size_t)C_row * n + C_col] = sum[y][x];
        }
}

// [launch]
int launch(const struct matmul_args *args, cudaStream_t stream)
{
    if (!matmul_is_plain(args, FP32))
        return cudaErrorInvalidValue;
    const float *A = (const float *)args->A, *B = (const float *)args->B;
    float *C = (float *)args->C;
    const int m = args->m, n = args->n, k = args->k;
    const dim3 blocks(ceil_div(n, TILE), ceil_div(m, TILE));
    matmul_register<<<blocks, THREADS, 0, stream>>>(A, B, C, m, n, k);
    return cudaGetLastError();
}

// [main]
static const struct variant variants[] = {
    {"register", "8 × 8 elements of C in a thread's registers: 16 loads for 64 multiply-adds"},
    {},
};

int main(int argc, char **argv)
{
    const struct matmul_step step = {
        .name = "05_matmul_register",
        .dtypes = {FP32},
        .arch = "75",
        .variants = variants,
        .launch = launch,
    };
    return matmul_main(argc, argv, &step);
}

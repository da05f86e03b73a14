// C = A B in 16 bits, by tensor cores: a warp multiplies fragments, matrices of 16 × 16 that its lanes hold together.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o matmul_wmma steps/14_matmul_wmma/matmul_wmma.cu common/*.c
//   ./learn run 14

#include "matmul.h"

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int TILE = 128;                // rows and columns of C that one block computes
constexpr int TILE_K = 64;               // columns of A, rows of B in the tiles that it does so from
constexpr int VECTOR = 8;                // elements in 16 bytes, which is the most that one load or store moves
constexpr int PAD = VECTOR;              // elements between the rows of a tile, so that loads meet different banks
constexpr int WARP_M = 32, WARP_N = 64;  // rows and columns of C that one warp computes
constexpr int THREAD_TILE = 8;           // and those that one thread computes, where there are no fragments
constexpr int FRAGMENT = 16;             // rows and columns of a fragment
constexpr int WARPS = TILE / WARP_M * (TILE / WARP_N);
constexpr int THREADS = 32 * WARPS;  // in a block
constexpr int BLOCKS = 2;            // on one SM: at most 128 registers for each of 2 × 256 threads

// [tiles] A fragment's first element has to lie at a multiple of 32 bytes, and its rows a multiple of 16 bytes apart.
struct tiles {
    alignas(32) half A[TILE][TILE_K + PAD];  // [row][i]
    alignas(32) half B[TILE_K][TILE + PAD];  // [i][col]
};

// [load_vector] A vector of which `count` elements are in the matrix. The others count as 0: they may be NaN in memory.
__device__ uint4 load_vector(const half *from, int count)
{
    if (count >= VECTOR)
        return *(const uint4 *)from;
    alignas(16) half v[VECTOR] = {};
    for (int i = 0; i < VECTOR; i++)
        if (i < count)
            v[i] = from[i];
    return *(const uint4 *)v;
}

// [load_tiles] A thread loads vectors of one column of each tile, in rows so many apart. Outside of A and B they count as 0.
__device__ void load_tiles(struct tiles *smem,
                           const half *A,  // [m, k]
                           const half *B,  // [k, n]
                           int tile, int m, int n, int k, int A_pitch, int B_pitch)
{
    constexpr int A_STEP = THREADS / (TILE_K / VECTOR),
                  B_STEP = THREADS / (TILE / VECTOR);  // rows that one load covers
    const int A_row = threadIdx.x / (TILE_K / VECTOR), A_col = threadIdx.x % (TILE_K / VECTOR) * VECTOR;
    const int B_row = threadIdx.x / (TILE / VECTOR), B_col = threadIdx.x % (TILE / VECTOR) * VECTOR;
    const int row = blockIdx.y * TILE + A_row, col = blockIdx.x * TILE + B_col;
    uint4 a[TILE / A_STEP], b[TILE_K / B_STEP];
    for (int y = 0; y < TILE; y += A_STEP)
        a[y / A_STEP] = load_vector(&A[(size_t)(row + y) * A_pitch + tile + A_col],
                                    row + y < m ? k - (tile + A_col) : 0);
    for (int y = 0; y < TILE_K; y += B_STEP)
        b[y / B_STEP] = load_vector(&B[(size_t)(tile + B_row + y) * B_pitch + col], tile + B_row + y < k ? n - col : 0);
    for (int y = 0; y < TILE; y += A_STEP)
        *(uint4 *)&smem->A[A_row + y][A_col] = a[y / A_STEP];
    for (int y = 0; y < TILE_K; y += B_STEP)
        *(uint4 *)&smem->B[B_row + y][B_col] = b[y / B_STEP];
}

// [store_vector] Eight sums become a vector of C. A row's last vector may be only partly in C.
__device__ void store_vector(half *C,  // [m, n]
                             const float sum[VECTOR], int row, int col, int m, int n, int C_pitch)
{
    alignas(16) half v[VECTOR];
    for (int i = 0; i < VECTOR; i++)
        v[i] = half(sum[i]);
    if (row < m && col + VECTOR <= n)
        *(uint4 *)&C[(size_t)row * C_pitch + col] = *(const uint4 *)v;
    else
        for (int i = 0; i < VECTOR; i++)
            if (row < m && col + i < n)
                C[(size_t)row * C_pitch + col + i] = v[i];
}

// [half] Step 06 with elements of 16 bits: each is converted, and the products and sums are those of fp32.
__global__ void __launch_bounds__(THREADS, BLOCKS)
    matmul_half(const half *A,  // [m, k]
                const half *B,  // [k, n]
                half *C,        // [m, n]
                int m, int n, int k, int A_pitch, int B_pitch, int C_pitch)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    // [place]
    const int row = warp / (TILE / WARP_N) * WARP_M + lane / 8 * THREAD_TILE;
    // [end place]
    const int col = warp % (TILE / WARP_N) * WARP_N + lane % 8 * THREAD_TILE;
    __shared__ struct tiles smem;
    float sum[THREAD_TILE][THREAD_TILE] = {};
    for (int tile = 0; tile < k; tile += TILE_K) {
        load_tiles(&smem, A, B, tile, m, n, k, A_pitch, B_pitch);
        __syncthreads();  // both tiles are whole before any thread reads them

        for (int i = 0; i < TILE_K; i++) {
            alignas(16) half b[THREAD_TILE];
            *(uint4 *)b = *(const uint4 *)&smem.B[i][col];
            // [sum]
            for (int y = 0; y < THREAD_TILE; y++)
                for (int x = 0; x < THREAD_TILE; x++)
                    sum[y][x] += float(smem.A[row + y][i]) * float(b[x]);
            // [end sum]
        }
        __syncthreads();  // every thread has read both tiles before the next two replace them
    }
    // [rows]
    for (int y = 0; y < THREAD_TILE; y++)
        store_vector(C, sum[y], blockIdx.y * TILE + row + y, blockIdx.x * TILE + col, m, n, C_pitch);
    // [end rows]
}

// [kernel]
__global__ void __launch_bounds__(THREADS, BLOCKS)
    matmul_wmma(const half *A,  // [m, k]
                const half *B,  // [k, n]
                half *C,        // [m, n]
                int m, int n, int k, int A_pitch, int B_pitch, int C_pitch)
{
    // [index] The first row and column of this warp's part of the block's tile.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (TILE / WARP_N) * WARP_M, col = warp % (TILE / WARP_N) * WARP_N;

    // [fragments] A warp's sums: 2 × 4 fragments, of which each lane holds 8 elements each.
    constexpr int ROWS = WARP_M / FRAGMENT, COLS = WARP_N / FRAGMENT;
    wmma::fragment<wmma::accumulator, FRAGMENT, FRAGMENT, FRAGMENT, float> sum[ROWS][COLS];
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < COLS; x++)
            wmma::fill_fragment(sum[y][x], 0);

    __shared__ struct tiles smem;
    for (int tile = 0; tile < k; tile += TILE_K) {
        load_tiles(&smem, A, B, tile, m, n, k, A_pitch, B_pitch);
        __syncthreads();  // both tiles are whole before any warp reads them

        // [multiply] Two fragments of A times four of B: eight products of 16 × 16 × 16. Unrolled once more, the loop would
        // need more registers than 128.
#pragma unroll 2
        for (int i = 0; i < TILE_K; i += FRAGMENT) {
            // [products]
            wmma::fragment<wmma::matrix_a, FRAGMENT, FRAGMENT, FRAGMENT, half, wmma::row_major> a[ROWS];
            wmma::fragment<wmma::matrix_b, FRAGMENT, FRAGMENT, FRAGMENT, half, wmma::row_major> b;
            for (int y = 0; y < ROWS; y++)
                wmma::load_matrix_sync(a[y], &smem.A[row + y * FRAGMENT][i], TILE_K + PAD);
            for (int x = 0; x < COLS; x++) {
                wmma::load_matrix_sync(b, &smem.B[i][col + x * FRAGMENT], TILE + PAD);
                for (int y = 0; y < ROWS; y++)
                    wmma::mma_sync(sum[y][x], a[y], b, sum[y][x]);
            }
            // [end products]
        }
        __syncthreads();  // every warp has read both tiles before the next two replace them
    }

    // [store] Which lane holds which element is not said: a fragment's sums go through shared memory, where each lane then
    // finds eight neighbours.
    __shared__ alignas(32) float C_smem[WARPS][FRAGMENT][FRAGMENT];
    const int lane_row = lane / 2, lane_col = lane % 2 * VECTOR;
#pragma unroll
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < COLS; x++) {
            wmma::store_matrix_sync(&C_smem[warp][0][0], sum[y][x], FRAGMENT, wmma::mem_row_major);
            // [whole]
            __syncwarp();  // the fragment is whole before any lane reads it
            // [end whole]
            store_vector(C, &C_smem[warp][lane_row][lane_col], blockIdx.y * TILE + row + y * FRAGMENT + lane_row,
                         blockIdx.x * TILE + col + x * FRAGMENT + lane_col, m, n, C_pitch);
            __syncwarp();  // every lane has read its part before the next fragment replaces it
        }
}

// [launch]
enum { HALF, WMMA };

int launch(const struct matmul_args *args, cudaStream_t stream)
{
    if (!matmul_is_aligned(args, FP16, 16))
        return cudaErrorInvalidValue;
    const half *A = (const half *)args->A, *B = (const half *)args->B;
    half *C = (half *)args->C;
    const int m = args->m, n = args->n, k = args->k;
    const dim3 blocks(ceil_div(n, TILE), ceil_div(m, TILE));
    const auto kernel = args->variant == HALF ? matmul_half : matmul_wmma;
    kernel<<<blocks, THREADS, 0, stream>>>(A, B, C, m, n, k, args->A_pitch, args->B_pitch, args->C_pitch);
    return cudaGetLastError();
}

// [main]
static const struct variant variants[] = {
    {"half", "step 06 with inputs of 16 bits: each thread converts them, and multiplies and adds in fp32"},
    {"wmma", "a warp multiplies fragments of 16 × 16 on the tensor cores, and adds in fp32"},
    {},
};

int main(int argc, char **argv)
{
    const struct matmul_step step = {
        .name = "14_matmul_wmma",
        .dtypes = {FP16},
        .arch = "75",
        .row_bytes = 16,
        .variants = variants,
        .launch = launch,
    };
    return matmul_main(argc, argv, &step);
}

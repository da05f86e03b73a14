// C = A B by ldmatrix and mma where B lies in memory as [n, k]: its columns are rows there, as the keys of attention are.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o b_transposed steps/18_matmul_mma/exercises/b_transposed.cu common/*.c
//   ./b_transposed --b-transposed

#include "matmul.h"

#include "ptx/ldmatrix.h"
#include "ptx/mma.h"
#include "ptx/pair.h"

#include <cuda_fp16.h>

constexpr int TILE = 128;    // rows and columns of C that one block computes
constexpr int TILE_K = 64;   // elements of a row of A and of a column of B in the tiles that it does so from
constexpr int VECTOR = 8;    // elements in 16 bytes, which is the most that one load or store moves
constexpr int PAD = VECTOR;  // elements between the rows of a tile, so that ldmatrix meets different banks
constexpr int WARP_M = 32, WARP_N = 64;  // rows and columns of C that one warp computes
constexpr int MMA_M = 16, MMA_N = 8;     // rows and columns of C that one mma computes
constexpr int MMA_K = 16;                // and the products that it sums for each of them
constexpr int WARPS = TILE / WARP_M * (TILE / WARP_N);
constexpr int THREADS = 32 * WARPS;  // in a block
constexpr int BLOCKS = 2;            // on one SM: at most 128 registers for each of 2 × 256 threads

// [tiles] Either tile has 128 rows of 64 elements.
struct tiles {
    alignas(16) half A[TILE][TILE_K + PAD];  // [row][i]
    alignas(16) half B[TILE][TILE_K + PAD];  // [col][i]
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

// [load_tile] A thread loads vectors of one column of the tile, in rows STEP apart. Those outside of the matrix are 0.
__device__ void load_tile(half (*smem)[TILE_K + PAD],
                          const half *matrix,  // [rows, cols]
                          int first_row, int first_col, int rows, int cols, int pitch)
{
    constexpr int STEP = THREADS / (TILE_K / VECTOR);  // rows that one load covers
    const int row = threadIdx.x / (TILE_K / VECTOR), col = threadIdx.x % (TILE_K / VECTOR) * VECTOR;
    uint4 v[TILE / STEP];
    for (int y = 0; y < TILE; y += STEP)
        v[y / STEP] = load_vector(&matrix[(size_t)(first_row + row + y) * pitch + first_col + col],
                                  first_row + row + y < rows ? cols - (first_col + col) : 0);
    for (int y = 0; y < TILE; y += STEP)
        *(uint4 *)&smem[row + y][col] = v[y / STEP];
}

// [kernel]
__global__ void __launch_bounds__(THREADS, BLOCKS)
    matmul_b_transposed(const half *A,  // [m, k]
                        const half *B,  // [n, k]
                        half *C,        // [m, n]
                        int m, int n, int k, int A_pitch, int B_pitch, int C_pitch)
{
    // [index] The first row and column of this warp's part of the block's tile.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (TILE / WARP_N) * WARP_M, col = warp % (TILE / WARP_N) * WARP_N;

    // [fragments] A warp's sums: 2 × 8 tiles of 16 × 8, of each of which a lane holds 4 elements.
    constexpr int ROWS = WARP_M / MMA_M, COLS = WARP_N / MMA_N;
    float sum[ROWS][COLS][4] = {};

    __shared__ struct tiles smem;
    for (int tile = 0; tile < k; tile += TILE_K) {
        load_tile(smem.A, A, blockIdx.y * TILE, tile, m, k, A_pitch);
        load_tile(smem.B, B, blockIdx.x * TILE, tile, n, k, B_pitch);
        __syncthreads();  // both tiles are whole before any warp reads them

        // [multiply] One ldmatrix for a fragment of A, as in the step, and one for two fragments of B.
#pragma unroll
        for (int i = 0; i < TILE_K; i += MMA_K) {
            uint32_t a[ROWS][4], b[4];
            for (int y = 0; y < ROWS; y++)
                ldmatrix_x4(a[y], &smem.A[row + y * MMA_M + lane % 16][i + lane / 16 * 8]);
            for (int x = 0; x < COLS; x += 2) {
                // [b]
                const int lane_col = lane / 16 * 8 + lane % 8, lane_i = lane / 8 % 2 * 8;
                ldmatrix_x4(b, &smem.B[col + x * MMA_N + lane_col][i + lane_i]);
                // [end b]
                for (int y = 0; y < ROWS; y++) {
                    mma_m16n8k16(sum[y][x], a[y], &b[0], half());
                    mma_m16n8k16(sum[y][x + 1], a[y], &b[2], half());
                }
            }
        }
        __syncthreads();  // every warp has read both tiles before the next two replace them
    }

    // [store] Lane l holds two neighbours in row l / 4 of each tile of 16 × 8, and two in row l / 4 + 8.
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < COLS; x++) {
            const int C_row = blockIdx.y * TILE + row + y * MMA_M + lane / 4;
            const int C_col = blockIdx.x * TILE + col + x * MMA_N + lane % 4 * 2;
            store_pair(C, &sum[y][x][0], C_row, C_col, m, n, C_pitch);
            store_pair(C, &sum[y][x][2], C_row + 8, C_col, m, n, C_pitch);
        }
}

// [launch]
int launch(const struct matmul_args *args, cudaStream_t stream)
{
    if (!args->B_transposed || args->A_pitch % VECTOR || args->B_pitch % VECTOR || args->C_pitch % VECTOR)
        return cudaErrorInvalidValue;
    const dim3 blocks(ceil_div(args->n, TILE), ceil_div(args->m, TILE));
    matmul_b_transposed<<<blocks, THREADS, 0, stream>>>((const half *)args->A, (const half *)args->B, (half *)args->C,
                                                        args->m, args->n, args->k, args->A_pitch, args->B_pitch,
                                                        args->C_pitch);
    return cudaGetLastError();
}

// [main]
static const struct variant variants[] = {
    {"b_transposed", "B lies in memory as [n, k], and ldmatrix loads its fragments from rows"},
    {},
};

int main(int argc, char **argv)
{
    const struct matmul_step step = {
        .name = "18_matmul_mma",
        .dtypes = {FP16},
        .arch = "80",
        .row_bytes = 16,
        .B_transposed = true,
        .variants = variants,
        .launch = launch,
    };
    return matmul_main(argc, argv, &step);
}

// C = A B by ldmatrix and mma: fragments are registers now, and each lane knows which elements it holds.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o matmul_mma steps/18_matmul_mma/matmul_mma.cu common/*.c
//   ./learn run 18

#include "matmul.h"

#include "ptx/ldmatrix.h"
#include "ptx/mma.h"
#include "ptx/pair.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int TILE_M = 128, TILE_N = 128;  // rows and columns of C that one block computes
constexpr int TILE_K = 64;                 // columns of A, rows of B in the tiles that it does so from
constexpr int VECTOR = 8;                  // elements in 16 bytes, which is the most that one load or store moves
constexpr int WARP_M = 32, WARP_N = 64;    // rows and columns of C that one warp computes
constexpr int MMA_M = 16, MMA_N = 8;       // rows and columns of C that one mma computes
constexpr int MMA_K = 16;                  // and the products that it sums for each of them
constexpr int WARPS = TILE_M / WARP_M * (TILE_N / WARP_N);
constexpr int THREADS = 32 * WARPS;  // in a block
constexpr int BLOCKS = 2;            // on one SM: at most 128 registers for each of 2 × 256 threads

// [tiles] ldmatrix takes rows of 16 bytes, at multiples of 16 bytes: pad is a multiple of 8 elements.
template <class T, int pad>
struct tiles {
    alignas(16) T A[TILE_M][TILE_K + pad];  // [row][i]
    alignas(16) T B[TILE_K][TILE_N + pad];  // [i][col]
};

// [load_vector] A vector of which `count` elements are in the matrix. The others count as 0: they may be NaN in memory.
template <class T>
__device__ uint4 load_vector(const T *from, int count)
{
    if (count >= VECTOR)
        return *(const uint4 *)from;
    alignas(16) T v[VECTOR] = {};
    for (int i = 0; i < VECTOR; i++)
        if (i < count)
            v[i] = from[i];
    return *(const uint4 *)v;
}

// [load_tiles] A thread loads vectors of one column of each tile, in rows A_STEP or B_STEP apart; outside of A and B, zeros.
template <class T, int pad>
__device__ void load_tiles(struct tiles<T, pad> *smem,
                           const T *A,  // [m, k]
                           const T *B,  // [k, n]
                           int tile, int m, int n, int k, int A_pitch, int B_pitch)
{
    constexpr int A_STEP = THREADS / (TILE_K / VECTOR),
                  B_STEP = THREADS / (TILE_N / VECTOR);  // rows that one load covers
    const int A_row = threadIdx.x / (TILE_K / VECTOR), A_col = threadIdx.x % (TILE_K / VECTOR) * VECTOR;
    const int B_row = threadIdx.x / (TILE_N / VECTOR), B_col = threadIdx.x % (TILE_N / VECTOR) * VECTOR;
    const int row = blockIdx.y * TILE_M + A_row, col = blockIdx.x * TILE_N + B_col;
    uint4 a[TILE_M / A_STEP], b[TILE_K / B_STEP];
    for (int y = 0; y < TILE_M; y += A_STEP)
        a[y / A_STEP] = load_vector(&A[(size_t)(row + y) * A_pitch + tile + A_col],
                                    row + y < m ? k - (tile + A_col) : 0);
    for (int y = 0; y < TILE_K; y += B_STEP)
        b[y / B_STEP] = load_vector(&B[(size_t)(tile + B_row + y) * B_pitch + col], tile + B_row + y < k ? n - col : 0);
    for (int y = 0; y < TILE_M; y += A_STEP)
        *(uint4 *)&smem->A[A_row + y][A_col] = a[y / A_STEP];
    for (int y = 0; y < TILE_K; y += B_STEP)
        *(uint4 *)&smem->B[B_row + y][B_col] = b[y / B_STEP];
}

// [kernel]
template <class T, int pad>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    matmul_mma(const T *A,  // [m, k]
               const T *B,  // [k, n]
               T *C,        // [m, n]
               int m, int n, int k, int A_pitch, int B_pitch, int C_pitch)
{
    // [index] The first row and column of this warp's part of the block's tile.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (TILE_N / WARP_N) * WARP_M, col = warp % (TILE_N / WARP_N) * WARP_N;

    // [fragments] A warp's sums: 2 × 8 tiles of 16 × 8, of each of which a lane holds 4 elements.
    constexpr int ROWS = WARP_M / MMA_M, COLS = WARP_N / MMA_N;
    float sum[ROWS][COLS][4] = {};

    // [smem]
    __shared__ struct tiles<T, pad> smem;
    // [end smem]
    for (int tile = 0; tile < k; tile += TILE_K) {
        load_tiles(&smem, A, B, tile, m, n, k, A_pitch, B_pitch);
        __syncthreads();  // both tiles are whole before any warp reads them

        // [multiply] Four matrices of 8 × 8 are a fragment of A, or two of B. B's are transposed on their way, because a
        // register of a fragment of B holds two elements of a column.
        // [lane]
        // Lane l gives the address of row l % 16, in the left half of the columns or in the right.
        const int lane_row = lane % 16, lane_col = lane / 16 * 8;
        // [end lane]
#pragma unroll
        for (int i = 0; i < TILE_K; i += MMA_K) {
            uint32_t a[ROWS][4], b[4];
            // [a]
            for (int y = 0; y < ROWS; y++)
                ldmatrix_x4(a[y], &smem.A[row + y * MMA_M + lane_row][i + lane_col]);
            // [end a]
            for (int x = 0; x < COLS; x += 2) {
                // [b]
                ldmatrix_x4_trans(b, &smem.B[i + lane_row][col + x * MMA_N + lane_col]);
                // [end b]
                for (int y = 0; y < ROWS; y++) {
                    mma_m16n8k16(sum[y][x], a[y], &b[0], T());
                    mma_m16n8k16(sum[y][x + 1], a[y], &b[2], T());
                }
            }
        }
        __syncthreads();  // every warp has read both tiles before the next two replace them
    }

    // [store] Lane l holds two neighbours in row l / 4 of each tile of 16 × 8, and two in row l / 4 + 8.
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < COLS; x++) {
            const int C_row = blockIdx.y * TILE_M + row + y * MMA_M + lane / 4;
            const int C_col = blockIdx.x * TILE_N + col + x * MMA_N + lane % 4 * 2;
            store_pair(C, &sum[y][x][0], C_row, C_col, m, n, C_pitch);
            store_pair(C, &sum[y][x][2], C_row + 8, C_col, m, n, C_pitch);
        }
}

// [launch]
enum { UNPADDED, PADDED };

template <class T>
static int launch_of(const struct matmul_args *args, cudaStream_t stream)
{
    const dim3 blocks(ceil_div(args->n, TILE_N), ceil_div(args->m, TILE_M));
    const auto kernel = args->variant == UNPADDED ? matmul_mma<T, 0> : matmul_mma<T, VECTOR>;
    kernel<<<blocks, THREADS, 0, stream>>>((const T *)args->A, (const T *)args->B, (T *)args->C, args->m, args->n,
                                           args->k, args->A_pitch, args->B_pitch, args->C_pitch);
    return cudaGetLastError();
}

int launch(const struct matmul_args *args, cudaStream_t stream)
{
    if (!matmul_is_aligned(args, args->dtype, 16))
        return cudaErrorInvalidValue;
    return args->dtype == BF16 ? launch_of<__nv_bfloat16>(args, stream) : launch_of<half>(args, stream);
}

// [main]
static const struct variant variants[] = {
    {"unpadded", "rows of a tile follow one another: ldmatrix meets bank conflicts"},
    {"padded", "16 bytes between the rows: no conflicts"},
    {},
};

int main(int argc, char **argv)
{
    const struct matmul_step step = {
        .name = "18_matmul_mma",
        .dtypes = {FP16, BF16},
        .arch = "80",
        .row_bytes = 16,
        .variants = variants,
        .launch = launch,
    };
    return matmul_main(argc, argv, &step);
}

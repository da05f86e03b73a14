// C = A B with loads and stores of 16 bytes, and with warps whose shape keeps those loads free of bank conflicts.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o matmul_vector steps/06_matmul_vector/matmul_vector.cu common/*.c
//   ./learn run 06

#include "matmul.h"

constexpr int TILE = 128;                 // rows and columns of C that one block computes
constexpr int TILE_K = 8;                 // columns of A, rows of B in the tiles that it does so from
constexpr int THREAD_TILE = 8;            // rows and columns of C that one thread computes
constexpr int SIDE = TILE / THREAD_TILE;  // threads along a row of the block's tile, and along a column
constexpr int THREADS = SIDE * SIDE;      // in a block
constexpr int BLOCKS = 2;                 // on one SM: at most 128 registers for each of 2 × 256 threads
constexpr int VECTOR = 4;                 // elements in 16 bytes, which is the most that one load or store moves
constexpr int WARP_M = 32, WARP_N = 64;   // rows and columns of C that one warp computes

// [tiles] A's tile is transposed, so that a thread's elements of a column of A are neighbours.
struct tiles {
    alignas(16) float A[TILE_K][TILE + VECTOR];  // [i][row], padded: the 32 stores of a warp meet 32 banks
    float B[TILE_K][TILE];                       // [i][col]
};

// [multiply] Eight elements of a column of A's tile times eight of a row of B's, in four loads.
template <int row_step, int col_step>
__device__ void multiply(const struct tiles *smem, int row, int col, float sum[THREAD_TILE][THREAD_TILE])
{
#pragma unroll
    for (int i = 0; i < TILE_K; i++) {
        alignas(16) float a[THREAD_TILE], b[THREAD_TILE];
        // [vectors]
        for (int half = 0; half < 2; half++) {
            *(float4 *)&a[half * VECTOR] = *(const float4 *)&smem->A[i][row + half * row_step];
            *(float4 *)&b[half * VECTOR] = *(const float4 *)&smem->B[i][col + half * col_step];
        }
        // [end vectors]
        for (int y = 0; y < THREAD_TILE; y++)
            for (int x = 0; x < THREAD_TILE; x++)
                sum[y][x] += a[y] * b[x];
    }
}

// [load_vector] A vector of which `count` elements are in the matrix. The others count as 0: they may be NaN in memory.
__device__ float4 load_vector(const float *from, int count)
{
    if (count <= 0)
        return make_float4(0, 0, 0, 0);
    const float4 v = *(const float4 *)from;
    return make_float4(v.x, count > 1 ? v.y : 0, count > 2 ? v.z : 0, count > 3 ? v.w : 0);
}

// [store_tiles] The vectors go where multiply() looks for them: that of A into four rows, that of B into one.
__device__ void store_tiles(struct tiles *smem, float4 a, float4 b)
{
    const int row = threadIdx.x / 2, i = threadIdx.x % 2 * VECTOR;
    smem->A[i][row] = a.x;
    smem->A[i + 1][row] = a.y;
    smem->A[i + 2][row] = a.z;
    smem->A[i + 3][row] = a.w;
    *(float4 *)&smem->B[threadIdx.x / 32][threadIdx.x % 32 * VECTOR] = b;
}

// [kernel]
template <bool warp_tile>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    matmul_vector(const float *A,  // [m, k]
                  const float *B,  // [k, n]
                  float *C,        // [m, n]
                  int m, int n, int k, int A_pitch, int B_pitch, int C_pitch)
{
    // [index] A thread has 8 × 8 elements in one piece, or it has 4 × 4 in each quarter of its warp's tile. There a
    // warp's threads are 4 × 8, so numbered that threads that load the same vector are neighbours, or next but one.
    constexpr int row_step = warp_tile ? WARP_M / 2 : VECTOR;  // from a thread's first four rows to its other four
    constexpr int col_step = warp_tile ? WARP_N / 2 : VECTOR;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int lane_row = lane / 16 * 2 + lane % 2, lane_col = lane / 2 % 8;
    const int row = warp_tile ? warp / (TILE / WARP_N) * WARP_M + lane_row * VECTOR : threadIdx.x / SIDE * THREAD_TILE;
    const int col = warp_tile ? warp % (TILE / WARP_N) * WARP_N + lane_col * VECTOR : threadIdx.x % SIDE * THREAD_TILE;
    // [shared]

    __shared__ struct tiles smem;

    // [source] A thread loads one vector of each tile: two threads share a row of A's, a warp has a row of B's. Where
    // there is no such row of A, or vector of B, the last one is loaded again, and the sums that it enters are not
    // stored.
    const int A_row = min(blockIdx.y * TILE + threadIdx.x / 2, m - 1), A_col = threadIdx.x % 2 * VECTOR;
    // [place]
    const int B_row = threadIdx.x / 32, B_col = min(blockIdx.x * TILE + lane * VECTOR, (n - 1) / VECTOR * VECTOR);
    // [end place]
    float sum[THREAD_TILE][THREAD_TILE] = {};
    for (int tile = 0; tile < k; tile += TILE_K) {
        // [load] What lies beyond column k of A, or row k of B, counts as 0.
        const float4 a = load_vector(&A[(size_t)A_row * A_pitch + tile + A_col], k - (tile + A_col));
        const float4 b = load_vector(&B[(size_t)(tile + B_row) * B_pitch + B_col], tile + B_row < k ? n - B_col : 0);
        store_tiles(&smem, a, b);
        __syncthreads();  // both tiles are whole before any thread reads them

        multiply<row_step, col_step>(&smem, row, col, sum);
        __syncthreads();  // every thread has read both tiles before the next two replace them
    }

    // [store] A row's last vector may be only partly in C: it is stored element by element.
    for (int y = 0; y < THREAD_TILE; y++)
        for (int x = 0; x < THREAD_TILE; x += VECTOR) {
            const int C_row = blockIdx.y * TILE + row + y / VECTOR * row_step + y % VECTOR;
            const int C_col = blockIdx.x * TILE + col + x / VECTOR * col_step;
            if (C_row < m && C_col + VECTOR <= n)
                *(float4 *)&C[(size_t)C_row * C_pitch + C_col] = make_float4(sum[y][x], sum[y][x + 1], sum[y][x + 2],
                                                                             sum[y][x + 3]);
            else
                for (int i = 0; i < VECTOR; i++)
                    if (C_row < m && C_col + i < n)
                        C[(size_t)C_row * C_pitch + C_col + i] = sum[y][x + i];
        }
}

// [launch]
enum { CONTIGUOUS, WARP_TILE };

int launch(const struct matmul_args *args, cudaStream_t stream)
{
    if (!matmul_is_aligned(args, FP32, 16))
        return cudaErrorInvalidValue;
    const float *A = (const float *)args->A, *B = (const float *)args->B;
    float *C = (float *)args->C;
    const int m = args->m, n = args->n, k = args->k;
    const dim3 blocks(ceil_div(n, TILE), ceil_div(m, TILE));
    const auto kernel = args->variant == CONTIGUOUS ? matmul_vector<false> : matmul_vector<true>;
    kernel<<<blocks, THREADS, 0, stream>>>(A, B, C, m, n, k, args->A_pitch, args->B_pitch, args->C_pitch);
    return cudaGetLastError();
}

// [main]
static const struct variant variants[] = {
    {"contiguous", "16 bytes a load or store: 4 loads for 64 multiply-adds, and bank conflicts"},
    {"warp_tile", "a thread's 8 × 8 elements in four pieces, one in each quarter of its warp's tile: no conflicts"},
    {},
};

int main(int argc, char **argv)
{
    const struct matmul_step step = {
        .name = "06_matmul_vector",
        .dtypes = {FP32},
        .arch = "75",
        .row_bytes = 16,
        .variants = variants,
        .launch = launch,
    };
    return matmul_main(argc, argv, &step);
}

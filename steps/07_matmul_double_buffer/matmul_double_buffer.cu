// C = A B in two buffers: while one pair of tiles is multiplied, the next is on its way from memory.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o matmul_double_buffer steps/07_matmul_double_buffer/*.cu common/*.c
//   ./learn run 07

#include "matmul.h"

constexpr int TILE = 128;                 // rows and columns of C that one block computes
constexpr int TILE_K = 8;                 // columns of A, rows of B in the tiles that it does so from
constexpr int THREAD_TILE = 8;            // rows and columns of C that one thread computes
constexpr int SIDE = TILE / THREAD_TILE;  // threads along a row of the block's tile, and along a column
constexpr int THREADS = SIDE * SIDE;      // in a block
constexpr int BLOCKS = 2;                 // on one SM: at most 128 registers for each of 2 × 256 threads
constexpr int VECTOR = 4;                 // elements in 16 bytes, which is the most that one load or store moves
constexpr int WARP_M = 32, WARP_N = 64;   // rows and columns of C that one warp computes
constexpr int BUFFERS = 2;                // pairs of tiles: one is multiplied while the other is filled

// [tiles] A's tile is transposed, so that a thread's elements of a column of A are neighbours.
struct tiles {
    alignas(16) float A[TILE_K][TILE + VECTOR];  // [i][row], padded: the 32 stores of a warp meet 32 banks
    float B[TILE_K][TILE];                       // [i][col]
};

// [multiply] Eight elements of a column of A's tile times eight of a row of B's, in four loads.
//
// `ordered` is tuning for one compiler and chip. A multiply-add reads three registers, and takes longer if all three
// are in the same of two banks. An operand that the multiply-add before has read need not be read again. The compiler
// keeps the order given here: each second row goes back the way that the row before came, so that at the turn both have
// the same element of B. In addition, neighbouring rows of A are swapped, which moves each element of A to the other
// bank.
template <bool ordered>
__device__ void multiply(const struct tiles *smem, int row, int col, float sum[THREAD_TILE][THREAD_TILE])
{
#pragma unroll
    for (int i = 0; i < TILE_K; i++) {
        alignas(16) float a[THREAD_TILE], b[THREAD_TILE];
        for (int half = 0; half < 2; half++) {
            *(float4 *)&a[half * VECTOR] = *(const float4 *)&smem->A[i][row + half * WARP_M / 2];
            *(float4 *)&b[half * VECTOR] = *(const float4 *)&smem->B[i][col + half * WARP_N / 2];
        }
        for (int y = 0; y < THREAD_TILE; y++)
            for (int turn = 0; turn < THREAD_TILE; turn++) {
                const int x = ordered && y % 2 ? THREAD_TILE - 1 - turn : turn;
                sum[y][x] += a[y ^ ordered] * b[x];
            }
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
// `ordered` swaps neighbouring rows of A, and thereby the registers that multiply() loads them into.
template <bool ordered>
__device__ void store_tiles(struct tiles *smem, float4 a, float4 b)
{
    const int row = threadIdx.x / 2 ^ ordered, i = threadIdx.x % 2 * VECTOR;
    smem->A[i][row] = a.x;
    smem->A[i + 1][row] = a.y;
    smem->A[i + 2][row] = a.z;
    smem->A[i + 3][row] = a.w;
    *(float4 *)&smem->B[threadIdx.x / 32][threadIdx.x % 32 * VECTOR] = b;
}

// [kernel]
template <bool ordered>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    matmul_double_buffer(const float *A,  // [m, k]
                         const float *B,  // [k, n]
                         float *C,        // [m, n]
                         int m, int n, int k, int A_pitch, int B_pitch, int C_pitch)
{
    // [index] A thread has 4 × 4 elements in each quarter of its warp's tile.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int lane_row = lane / 16 * 2 + lane % 2, lane_col = lane / 2 % 8;
    const int row = warp / (TILE / WARP_N) * WARP_M + lane_row * VECTOR;
    const int col = warp % (TILE / WARP_N) * WARP_N + lane_col * VECTOR;

    __shared__ struct tiles smem[BUFFERS];

    // [place] A thread loads one vector of each tile: two threads share a row of A's, a warp has a row of B's. Where
    // there is no such row of A, or vector of B, the last one is loaded again, and the sums that it enters are not
    // stored.
    const int A_row = min(blockIdx.y * TILE + threadIdx.x / 2, m - 1), A_col = threadIdx.x % 2 * VECTOR;
    const int B_row = threadIdx.x / 32, B_col = min(blockIdx.x * TILE + lane * VECTOR, (n - 1) / VECTOR * VECTOR);

    // [first] The tiles go from the last to the first. Only the last may be narrower than TILE_K: it is loaded before
    // the loop, and what lies beyond column k of A, or row k of B, counts as 0. The loop has to check no vector.
    const int last = (k - 1) / TILE_K * TILE_K;
    const float *A_from = &A[(size_t)A_row * A_pitch + last + A_col];
    const float *B_from = &B[(size_t)(last + B_row) * B_pitch + B_col];
    const float4 last_a = load_vector(A_from, k - (last + A_col));
    const float4 last_b = load_vector(B_from, last + B_row < k ? n - B_col : 0);
    store_tiles<ordered>(&smem[0], last_a, last_b);
    __syncthreads();  // both tiles are whole before any thread reads them

    // [pipeline] The loads of the next two tiles are under way while these two are multiplied. Nothing waits for them
    // before they are stored, into the other buffer. When there are no more tiles, zeros take their place.
    float sum[THREAD_TILE][THREAD_TILE] = {};
    // [loop]
    for (int tile = last; tile >= 0; tile -= BUFFERS * TILE_K)
#pragma unroll
        for (int buffer = 0; buffer < BUFFERS; buffer++) {
            const int next = tile - (buffer + 1) * TILE_K;
            A_from -= TILE_K;
            B_from -= (size_t)TILE_K * B_pitch;
            // [load]
            const float4 a = load_vector(A_from, next >= 0 ? VECTOR : 0);
            const float4 b = load_vector(B_from, next >= 0 ? VECTOR : 0);
            // [end load]
            multiply<ordered>(&smem[buffer], row, col, sum);
            // [store]
            store_tiles<ordered>(&smem[1 - buffer], a, b);
            // [barrier]
            __syncthreads();  // every thread has read these tiles, and the next two are whole
            // [end barrier]
            // [end store]
        }
    // [end loop]

    // [store_C] A row's last vector may be only partly in C: it is stored element by element.
    for (int y = 0; y < THREAD_TILE; y++)
        for (int x = 0; x < THREAD_TILE; x += VECTOR) {
            const int C_row = blockIdx.y * TILE + row + y / VECTOR * WARP_M / 2 + y % VECTOR;
            const int C_col = blockIdx.x * TILE + col + x / VECTOR * WARP_N / 2;
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
enum { DOUBLE_BUFFERED, OPERAND_ORDER };

int launch(const struct matmul_args *args, cudaStream_t stream)
{
    if (!matmul_is_aligned(args, FP32, 16))
        return cudaErrorInvalidValue;
    const float *A = (const float *)args->A, *B = (const float *)args->B;
    float *C = (float *)args->C;
    const int m = args->m, n = args->n, k = args->k;
    const dim3 blocks(ceil_div(n, TILE), ceil_div(m, TILE));
    const auto kernel = args->variant == DOUBLE_BUFFERED ? matmul_double_buffer<false> : matmul_double_buffer<true>;
    kernel<<<blocks, THREADS, 0, stream>>>(A, B, C, m, n, k, args->A_pitch, args->B_pitch, args->C_pitch);
    return cudaGetLastError();
}

// [main]
static const struct variant variants[] = {
    {"double_buffered", "the next tiles are on their way while these are multiplied; one barrier a tile"},
    {"operand_order", "tuning for one compiler and chip: multiply-adds in an order that suits two register banks"},
    {},
};

int main(int argc, char **argv)
{
    const struct matmul_step step = {
        .name = "07_matmul_double_buffer",
        .dtypes = {FP32},
        .arch = "75",
        .row_bytes = 16,
        .variants = variants,
        .launch = launch,
    };
    return matmul_main(argc, argv, &step);
}

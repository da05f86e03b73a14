// FlashAttention with the rows of Q divided among the warps: P never leaves the registers, and no warp waits for a score.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o flash_mma_split_q steps/25_flash_mma_split_q/flash_mma_split_q.cu common/*.c
//   ./learn run 25

#include "attention.h"

#include "ptx/ex2.h"
#include "ptx/ldmatrix.h"
#include "ptx/mma.h"
#include "ptx/pair.h"

#include <cuda_fp16.h>

constexpr int WARPS = 4, THREADS = 32 * WARPS;    // of a block
constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;  // one mma computes 16 × 8 elements, each a sum of 16 products
constexpr int ROWS = 1;                           // tiles of 16 rows of Q that a warp computes
constexpr int BLOCK_ROWS = WARPS * ROWS * MMA_M;  // rows of Q that a block computes, and of O
constexpr int VECTOR = 8;        // elements in 16 bytes, which is the most that one load or store moves
constexpr int PAD = VECTOR;      // elements between rows of shared memory, against bank conflicts
constexpr float P_LARGEST = 15;  // log2 of the largest P in a row: a half holds no more than 65504

// Keys in a tile of K, and of V.
template <int D> constexpr int TILE = D <= 128 ? 64 : 32;

// Blocks that an SM shall hold at least. 4 leave a thread 128 registers, 2 leave it 255.
template <int D> constexpr int BLOCKS = D <= 64 ? 4 : 2;

// [shared]
template <int D>
struct shared {
    alignas(16) half Q[BLOCK_ROWS][D + PAD];
    alignas(16) half K[TILE<D>][D + PAD];
    alignas(16) half V[TILE<D>][D + PAD];
};

// [load_tile] The first rows of a tile are there; those beyond the last of the matrix count as 0.
template <int HEIGHT, int D>
__device__ void load_tile(half tile[HEIGHT][D + PAD],
                          const half *from,  // [count, D]
                          int count)
{
    constexpr int C = D / VECTOR;
    static_assert(HEIGHT * C % THREADS == 0, "each thread loads as many vectors");
#pragma unroll
    for (int first = 0; first < HEIGHT * C; first += THREADS) {
        const int i = first + threadIdx.x, row = i / C, col = i % C * VECTOR;
        *(uint4 *)&tile[row][col] = row < count ? *(const uint4 *)&from[i * VECTOR] : make_uint4(0, 0, 0, 0);
    }
}

// [kernel]
template <int D>
__global__ void __launch_bounds__(THREADS, BLOCKS<D>) flash_mma_split_q(const half *Q,  // [heads, n, D]
                                                                        const half *K,  // [heads, n, D]
                                                                        const half *V,  // [heads, n, D]
                                                                        half *O,        // [heads, n, D]
                                                                        int n, float scale, bool heads_first)
{
    extern __shared__ uint4 memory[];
    struct shared<D> &smem = *(struct shared<D> *)memory;

    // [index] A warp has rows of its own. Its lanes hold S and O as mma does: a lane has two neighbours in row lane / 4 of
    // every tile of 16 × 8, and two in row lane / 4 + 8.
    const int warp_row = threadIdx.x / 32 * ROWS * MMA_M, lane = threadIdx.x % 32;
    const int first_row = (heads_first ? blockIdx.y : blockIdx.x) * BLOCK_ROWS;
    const size_t head = (size_t)(heads_first ? blockIdx.x : blockIdx.y) * n * D;

    // [query]
    load_tile<BLOCK_ROWS, D>(smem.Q, &Q[head + (size_t)first_row * D], n - first_row);
    float o[ROWS][D / MMA_N][4] = {};
    float m[ROWS][2];       // the largest scaled score so far in row lane / 4, and in row lane / 4 + 8
    float l[ROWS][2] = {};  // and the sum of this lane's weights there
    for (int y = 0; y < ROWS; y++)
        m[y][0] = m[y][1] = -INFINITY;

    for (int tile = 0; tile < n; tile += TILE<D>) {
        // [load] Keys beyond the last are 0 here, and their scores −∞ below.
        load_tile<TILE<D>, D>(smem.K, &K[head + (size_t)tile * D], n - tile);
        load_tile<TILE<D>, D>(smem.V, &V[head + (size_t)tile * D], n - tile);
        __syncthreads();  // Q and both tiles are whole before any warp reads them

        // [scores] S = Q Kᵀ. A row of K is a column of Kᵀ: without .trans, ldmatrix makes fragments of Kᵀ of it.
        // The row and column, of 16 keys by 16 columns of K, that this lane addresses for ldmatrix.
        const int key_row = lane / 16 * 8 + lane % 8, key_col = lane / 8 % 2 * 8;
        float s[ROWS][TILE<D> / MMA_N][4] = {};
#pragma unroll
        for (int d = 0; d < D; d += MMA_K) {
            uint32_t q[ROWS][4], k[4];
            for (int y = 0; y < ROWS; y++)
                ldmatrix_x4(q[y], &smem.Q[warp_row + y * MMA_M + lane % 16][d + lane / 16 * 8]);
            for (int key = 0; key < TILE<D>; key += 2 * MMA_N) {
                ldmatrix_x4(k, &smem.K[key + key_row][d + key_col]);
                for (int y = 0; y < ROWS; y++) {
                    mma_m16n8k16(s[y][key / MMA_N], q[y], &k[0], half());
                    mma_m16n8k16(s[y][key / MMA_N + 1], q[y], &k[2], half());
                }
            }
        }

        // [mask] Only the last tile may have keys beyond the last.
        if (tile + TILE<D> > n)
            for (int y = 0; y < ROWS; y++)
                for (int x = 0; x < TILE<D> / MMA_N; x++)
                    for (int i = 0; i < 4; i++)
                        if (tile + x * MMA_N + lane % 4 * 2 + i % 2 >= n)
                            s[y][x][i] = -INFINITY;

        // [softmax] The max may have grown: what was summed up under the old one shrinks by `factor`. S lies in the registers as
        // the next product wants its A: packed in pairs, it is a row of fragments of P.
        uint32_t p[ROWS][TILE<D> / MMA_K][4];
        for (int y = 0; y < ROWS; y++)
            for (int i = 0; i < 2; i++) {
                float largest = -INFINITY;
                for (int x = 0; x < TILE<D> / MMA_N; x++)
                    largest = fmaxf(largest, fmaxf(s[y][x][2 * i], s[y][x][2 * i + 1]));
                // [largest]
                largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1));
                largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 2));
                // [end largest]
                const float m_new = fmaxf(m[y][i], largest * scale), factor = ex2(m[y][i] - m_new);
                m[y][i] = m_new;
                float sum = 0;
                // [weights]
                for (int x = 0; x < TILE<D> / MMA_N; x++) {
                    const float first = ex2(fmaf(s[y][x][2 * i], scale, P_LARGEST - m_new));
                    const float second = ex2(fmaf(s[y][x][2 * i + 1], scale, P_LARGEST - m_new));
                    sum += first + second;
                    p[y][x / 2][x % 2 * 2 + i] = pack(first, second, half());
                }
                // [end weights]
                l[y][i] = l[y][i] * factor + sum;
                for (int x = 0; x < D / MMA_N; x++) {
                    o[y][x][2 * i] *= factor;
                    o[y][x][2 * i + 1] *= factor;
                }
            }

        // [add_output] O += P V. A row of V is a row of B, so ldmatrix transposes its matrices.
#pragma unroll
        for (int key = 0; key < TILE<D>; key += MMA_K)
            for (int col = 0; col < D; col += 2 * MMA_N) {
                uint32_t v[4];
                ldmatrix_x4_trans(v, &smem.V[key + lane % 16][col + lane / 16 * 8]);
                for (int y = 0; y < ROWS; y++) {
                    mma_m16n8k16(o[y][col / MMA_N], p[y][key / MMA_K], &v[0], half());
                    mma_m16n8k16(o[y][col / MMA_N + 1], p[y][key / MMA_K], &v[2], half());
                }
            }
        __syncthreads();  // every warp has read both tiles before the next two replace them
    }

    // [store_rows]
#pragma unroll
    for (int y = 0; y < ROWS; y++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            float sum = l[y][i];
            sum += __shfl_xor_sync(0xffffffff, sum, 1);
            sum += __shfl_xor_sync(0xffffffff, sum, 2);
            const float inverse = 1 / sum;
            const int row = first_row + warp_row + y * MMA_M + lane / 4 + i * 8;
            for (int x = 0; x < D / MMA_N && row < n; x++)
                *(uint32_t *)&O[head + (size_t)row * D + x * MMA_N + lane % 4 * 2] = pack(
                    o[y][x][2 * i] * inverse, o[y][x][2 * i + 1] * inverse, half());
        }
}

// [launch]
enum { HEADS_FIRST, ROWS_FIRST };

template <int D>
static int start(const struct attention_args *args, cudaStream_t stream)
{
    constexpr int bytes = sizeof(struct shared<D>);
    const auto kernel = flash_mma_split_q<D>;
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (status != cudaSuccess)
        return status;
    const int tiles = ceil_div(args->seqlen, BLOCK_ROWS), heads = args->batch * args->heads;
    const bool heads_first = args->variant == HEADS_FIRST;
    const dim3 blocks = heads_first ? dim3(heads, tiles) : dim3(tiles, heads);
    kernel<<<blocks, THREADS, bytes, stream>>>((const half *)args->Q, (const half *)args->K, (const half *)args->V,
                                               (half *)args->O, args->seqlen, LOG2_E * args->scale, heads_first);
    return cudaGetLastError();
}

int launch(const struct attention_args *args, cudaStream_t stream)
{
    if (!attention_is_plain(args, FP16))
        return cudaErrorInvalidValue;
    switch (args->head_dim) {
    case 32: return start<32>(args, stream);
    case 64: return start<64>(args, stream);
    case 96: return start<96>(args, stream);
    case 128: return start<128>(args, stream);
    case 256: return start<256>(args, stream);
    default: return cudaErrorInvalidValue;
    }
}

// [main]
static const struct variant variants[] = {
    {"heads_first", "blocks that start together belong to different heads"},
    {"rows_first", "blocks that start together belong to one head, and share its K and V in L2"},
    {},
};

int main(int argc, char **argv)
{
    const struct attention_step step = {
        .name = "25_flash_mma_split_q",
        .dtypes = {FP16},
        .arch = "80",
        .head_dims = {32, 64, 96, 128, 256},
        .variants = variants,
        .launch = launch,
    };
    return attention_main(argc, argv, &step);
}

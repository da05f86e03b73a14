// FlashAttention whose warps have 32 rows of Q: each fragment of K and of V, once loaded, serves two tiles of rows.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o flash_mma_warp_rows steps/31_flash_mma_warp_rows/flash_mma_warp_rows.cu common/*.c
//   ./learn run 31

#include "attention.h"

#include "ptx/cp_async.h"
#include "ptx/ex2.h"
#include "ptx/ldmatrix.h"
#include "ptx/mma.h"

#include <cuda_fp16.h>

constexpr int WARPS = 4;              // of a block
constexpr int THREADS = 32 * WARPS;   // of a block
constexpr int MMA_M = 16, MMA_N = 8;  // rows and columns of what one mma computes
constexpr int MMA_K = 16;             // and the products that it sums for each element
constexpr int VECTOR = 8;             // elements in 16 bytes, which is the most that one load or store moves
constexpr float P_LARGEST = 15;       // log2 of the largest P in a row: a half holds no more than 65504

// [sizes] Tiles of 16 rows of Q that a warp computes; rows of Q that a block computes, and of O; keys in a tile of K, and of V.
template <int D> constexpr int ROWS = D > 32 ? 2 : 1;
template <int D> constexpr int BLOCK_ROWS = WARPS * ROWS<D> * MMA_M;
template <int D> constexpr int TILE = D == 128 ? 48 : 64;

// Whether Q stays in shared memory, because the registers are full.
template <int D> constexpr bool Q_STAYS = D > 64;

// Blocks that an SM shall hold at least. 4 leave a thread 128 registers, 2 leave it 255.
template <int D> constexpr int BLOCKS = ROWS<D> == 1 ? 4 : 2;

// [swizzle] The column in shared memory of an element of a tile. Vectors change places within 128 bytes, by the last three
// bits of the row's number; where a row is an odd multiple of 64 bytes, within 64, by the two bits above the last.
template <int D>
__device__ constexpr int place(int row, int col)
{
    return col ^ (D % 64 == 0 ? row % 8 : row / 2 % 4) * VECTOR;
}

// [shared] Each stage holds a tile of K or one of V. Where Q stays, the stages lie behind it.
template <int D>
union shared {
    alignas(128) half Q[BLOCK_ROWS<D>][D];  // until its fragments are loaded
    alignas(128) half stage[Q_STAYS<D> * BLOCK_ROWS<D> + 2 * TILE<D>][D];
};

// [copy_tile] Begins to copy the first rows of a tile; those beyond the last of the matrix become 0, and nothing is read.
template <int ROWS, int D>
__device__ void copy_tile(half tile[ROWS][D],
                          const half *from,  // [count, D]
                          int count)
{
    constexpr int C = D / VECTOR;
    static_assert(ROWS * C % THREADS == 0, "each thread copies as many vectors");
#pragma unroll
    for (int first = 0; first < ROWS * C; first += THREADS) {
        const int i = first + threadIdx.x, row = i / C, col = i % C * VECTOR;
        cp_async_16(&tile[row][place<D>(row, col)], &from[i * VECTOR], row < count ? VECTOR * sizeof(half) : 0);
    }
}

// [copy_stage] Begins to copy the tile of K, or of V, from a key on, as one group.
template <int D>
__device__ void copy_stage(half to[TILE<D>][D],
                           const half *from,  // [n, D]
                           int key, int n)
{
    copy_tile<TILE<D>, D>(to, &from[(size_t)key * D], n - key);
    cp_async_commit_group();
}

// [pack] Two neighbours in a row share a register; the first is in its lower half.
__device__ uint32_t pack(float first, float second)
{
    const half2 both = __floats2half2_rn(first, second);
    return *(const uint32_t *)&both;
}

// [kernel]
template <int D>
__global__ void __launch_bounds__(THREADS, BLOCKS<D>) flash_mma_warp_rows(const half *Q,  // [heads, n, D]
                                                                          const half *K,  // [heads, n, D]
                                                                          const half *V,  // [heads, n, D]
                                                                          half *O,        // [heads, n, D]
                                                                          int n, float scale)
{
    constexpr int ROWS = ::ROWS<D>, BLOCK_ROWS = ::BLOCK_ROWS<D>, TILE = ::TILE<D>;
    extern __shared__ uint4 memory[];
    union shared<D> &smem = *(union shared<D> *)memory;

    // [index] A warp has rows of its own. Its lanes hold S and O as mma does: lane l has two neighbours in row l / 4 of every
    // tile of 16 × 8, and two in row l / 4 + 8.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp * ROWS * MMA_M;
    const int first_row = blockIdx.x * BLOCK_ROWS;
    const size_t head = (size_t)blockIdx.y * n * D;

    // [query]
    copy_tile<BLOCK_ROWS, D>(smem.Q, &Q[head + (size_t)first_row * D], n - first_row);
    cp_async_commit_group();
    cp_async_wait_group<0>();
    __syncthreads();  // Q is whole before any warp reads it
    uint32_t q[ROWS][D / MMA_K][4];
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < D / MMA_K && !Q_STAYS<D>; x++)
            ldmatrix_x4(q[y][x],
                        &smem.Q[warp_row + y * MMA_M + lane % 16][place<D>(lane % 16, x * MMA_K + lane / 16 * 8)]);
    __syncthreads();  // every warp has read Q before K replaces it
    float o[ROWS][D / MMA_N][4] = {};
    float m[ROWS][2];       // the largest scaled score so far in row l / 4, and in row l / 4 + 8
    float l[ROWS][2] = {};  // and the sum of this lane's weights there
    for (int y = 0; y < ROWS; y++)
        m[y][0] = m[y][1] = -INFINITY;

    // [stages] The first tile of K is on its way before the loop.
    auto *K_smem = &smem.stage[Q_STAYS<D> * BLOCK_ROWS], *V_smem = &K_smem[TILE];
    // [ahead]
    copy_stage<D>(K_smem, &K[head], 0, n);
    for (int tile = 0; tile < n; tile += TILE) {
        // [wait_K] Keys beyond the last are 0 here, and their scores −∞ below.
        cp_async_wait_group<0>();
        __syncthreads();  // the tile of K is whole, and every warp has read the tile of V before
        copy_stage<D>(V_smem, &V[head], tile, n);

        // [product_QK] S = Q Kᵀ. A row of K is a column of Kᵀ: without .trans, ldmatrix makes fragments of Kᵀ of it.
        float s[ROWS][TILE / MMA_N][4] = {};
        // [scores]
#pragma unroll
        for (int d = 0; d < D; d += MMA_K) {
            uint32_t k[4];
            for (int y = 0; y < ROWS && Q_STAYS<D>; y++)
                ldmatrix_x4(q[y][d / MMA_K],
                            &smem.Q[warp_row + y * MMA_M + lane % 16][place<D>(lane % 16, d + lane / 16 * 8)]);
            for (int key = 0; key < TILE; key += 2 * MMA_N) {
                ldmatrix_x4(k, &K_smem[key + lane / 16 * 8 + lane % 8][place<D>(lane % 8, d + lane / 8 % 2 * 8)]);
                for (int y = 0; y < ROWS; y++) {
                    mma_m16n8k16(s[y][key / MMA_N], q[y][d / MMA_K], &k[0], half());
                    mma_m16n8k16(s[y][key / MMA_N + 1], q[y][d / MMA_K], &k[2], half());
                }
            }
        }
        // [end scores]
        if (tile + TILE > n)  // only the last tile may have keys beyond the last
            for (int y = 0; y < ROWS; y++)
                for (int x = 0; x < TILE / MMA_N; x++)
                    for (int i = 0; i < 4; i++)
                        if (tile + x * MMA_N + lane % 4 * 2 + i % 2 >= n)
                            s[y][x][i] = -INFINITY;

        // [softmax] The max may have grown: what was summed up under the old one shrinks by `factor`. S lies in the registers as
        // the next product wants its A: packed in pairs, it is a row of fragments of P.
        uint32_t p[ROWS][TILE / MMA_K][4];
        for (int y = 0; y < ROWS; y++)
            for (int i = 0; i < 2; i++) {
                float largest = -INFINITY;
                for (int x = 0; x < TILE / MMA_N; x++)
                    largest = fmaxf(largest, fmaxf(s[y][x][2 * i], s[y][x][2 * i + 1]));
                largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1));
                largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 2));
                const float m_new = fmaxf(m[y][i], largest * scale), factor = ex2(m[y][i] - m_new);
                m[y][i] = m_new;
                float sum = 0;
                for (int x = 0; x < TILE / MMA_N; x++) {
                    const float first = ex2(fmaf(s[y][x][2 * i], scale, P_LARGEST - m_new));
                    const float second = ex2(fmaf(s[y][x][2 * i + 1], scale, P_LARGEST - m_new));
                    sum += first + second;
                    p[y][x / 2][x % 2 * 2 + i] = pack(first, second);
                }
                l[y][i] = l[y][i] * factor + sum;
                // Mostly no max of the warp has grown. Where O has many registers, the vote costs less than rescaling.
                if (D < 128 || __any_sync(0xffffffff, factor != 1))
                    for (int x = 0; x < D / MMA_N; x++) {
                        o[y][x][2 * i] *= factor;
                        o[y][x][2 * i + 1] *= factor;
                    }
            }

        // [wait_V]
        cp_async_wait_group<0>();
        __syncthreads();  // the tile of V is whole, and every warp has read that of K
        copy_stage<D>(K_smem, &K[head], tile + TILE, n);

        // [output] O += P V. A row of V is a row of B, so ldmatrix transposes its matrices.
#pragma unroll
        for (int key = 0; key < TILE; key += MMA_K)
            for (int col = 0; col < D; col += 2 * MMA_N) {
                uint32_t v[4];
                ldmatrix_x4_trans(v, &V_smem[key + lane % 16][place<D>(lane % 16, col + lane / 16 * 8)]);
                for (int y = 0; y < ROWS; y++) {
                    mma_m16n8k16(o[y][col / MMA_N], p[y][key / MMA_K], &v[0], half());
                    mma_m16n8k16(o[y][col / MMA_N + 1], p[y][key / MMA_K], &v[2], half());
                }
            }
    }

    // [store]
#pragma unroll
    for (int y = 0; y < ROWS; y++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            float sum = l[y][i];
            sum += __shfl_xor_sync(0xffffffff, sum, 1);
            sum += __shfl_xor_sync(0xffffffff, sum, 2);
            const float inverse = 1 / sum;
            const int row = first_row + warp_row + y * MMA_M + lane / 4 + i * 8;
#pragma unroll
            for (int x = 0; x < D / MMA_N; x += 4) {
                // [gather] Four lanes share a row of a tile. Of four tiles, each of them gets the whole row of one.
                alignas(16) uint32_t whole[4];
                for (int tile = 0; tile < 4; tile++) {
                    const uint32_t mine = pack(o[y][x + tile][2 * i] * inverse, o[y][x + tile][2 * i + 1] * inverse);
                    for (int lane_of_row = 0; lane_of_row < 4; lane_of_row++) {
                        const uint32_t pair = __shfl_sync(0xffffffff, mine, lane_of_row, 4);
                        if (lane % 4 == tile)
                            whole[lane_of_row] = pair;
                    }
                }
                if (row < n)
                    ((uint4 *)&O[head + (size_t)row * D])[x + lane % 4] = *(const uint4 *)whole;
            }
        }
}

// [launch]
template <int D>
static int start(const struct attention_args *args, cudaStream_t stream)
{
    const auto kernel = flash_mma_warp_rows<D>;
    const int bytes = sizeof(union shared<D>);
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (status != cudaSuccess)
        return status;
    const int n = args->seqlen, tiles = ceil_div(n, BLOCK_ROWS<D>), heads = args->batch * args->heads;
    const dim3 blocks(tiles, heads);
    const float scale = 1.44269504f * args->scale;  // exp(x) is exp2(x log2 e)
    kernel<<<blocks, THREADS, bytes, stream>>>((const half *)args->Q, (const half *)args->K, (const half *)args->V,
                                               (half *)args->O, n, scale);
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
    default: return cudaErrorInvalidValue;
    }
}

// [main]
static const struct variant variants[] = {
    {"rows_32", "from D 64 on 32 rows a warp; above it Q stays in shared memory, because the registers are full"},
    {},
};

int main(int argc, char **argv)
{
    const struct attention_step step = {
        .name = "31_flash_mma_warp_rows",
        .dtypes = {FP16},
        .arch = "80",
        .head_dims = {32, 64, 96, 128},
        .variants = variants,
        .launch = launch,
    };
    return attention_main(argc, argv, &step);
}

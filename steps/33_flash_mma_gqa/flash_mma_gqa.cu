// FlashAttention with grouped heads: neighbours among Q's heads share a head of K and V, there may be more keys than queries or
// fewer, and the log-sum-exp of each row is stored, too.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o flash_mma_gqa steps/33_flash_mma_gqa/flash_mma_gqa.cu common/*.c
//   ./learn run 33 --causal --heads 8 --kv-heads 2

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
constexpr float LN_2 = 0.693147181f;  // ln x is log2 x times this

// [forms]
enum form { GROUPED, SMALL_BLOCKS };

// Tiles of 16 rows of Q that a warp computes; rows of Q that a block computes, and of O; keys in a tile of K, and of V.
template <int D, enum form F> constexpr int ROWS = F != SMALL_BLOCKS && D > 32 ? 2 : 1;
template <int D, enum form F> constexpr int BLOCK_ROWS = WARPS * ROWS<D, F> * MMA_M;
template <int D, enum form F> constexpr int TILE = F != SMALL_BLOCKS && D == 128 ? 48 : 64;

// Whether Q stays in shared memory, because the registers are full.
template <int D, enum form F> constexpr bool Q_STAYS = ROWS<D, F> == 2 && D > 64;

// Blocks that an SM shall hold at least. 4 leave a thread 128 registers, 2 leave it 255.
template <int D, enum form F> constexpr int BLOCKS = ROWS<D, F> == 1 && D <= 64 ? 4 : 2;

// [swizzle] The column in shared memory of an element of a tile. Vectors change places within 128 bytes, by the last three
// bits of the row's number; where a row is an odd multiple of 64 bytes, within 64, by the two bits above the last.
template <int D>
__device__ constexpr int place(int row, int col)
{
    return col ^ (D % 64 == 0 ? row % 8 : row / 2 % 4) * VECTOR;
}

// [shared] Each stage holds a tile of K or one of V. Where Q stays, the stages lie behind it.
template <int D, enum form F>
union shared {
    alignas(128) half Q[BLOCK_ROWS<D, F>][D];  // until its fragments are loaded
    alignas(128) half stage[Q_STAYS<D, F> * BLOCK_ROWS<D, F> + 2 * TILE<D, F>][D];
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
template <int D, enum form F>
__device__ void copy_stage(half to[TILE<D, F>][D],
                           const half *from,  // [n, D]
                           int key, int n)
{
    copy_tile<TILE<D, F>, D>(to, &from[(size_t)key * D], n - key);
    cp_async_commit_group();
}

// [pack] Two neighbours in a row share a register; the first is in its lower half.
__device__ uint32_t pack(float first, float second)
{
    const half2 both = __floats2half2_rn(first, second);
    return *(const uint32_t *)&both;
}

// [kernel]
template <int D, enum form F>
__global__ void __launch_bounds__(THREADS, BLOCKS<D, F>)
    flash_mma_gqa(const half *Q,  // [heads, n, D]
                  const half *K,  // [heads / heads_per_kv, n_kv, D]
                  const half *V,  // [heads / heads_per_kv, n_kv, D]
                  half *O,        // [heads, n, D]
                  float *lse,     // [heads, n], or NULL
                  int n, int n_kv, int heads_per_kv, float scale, int offset)
{
    constexpr int ROWS = ::ROWS<D, F>, BLOCK_ROWS = ::BLOCK_ROWS<D, F>, TILE = ::TILE<D, F>;
    extern __shared__ uint4 memory[];
    union shared<D, F> &smem = *(union shared<D, F> *)memory;

    // [index] A warp has rows of its own. Its lanes hold S and O as mma does: lane l has two neighbours in row l / 4 of every
    // tile of 16 × 8, and two in row l / 4 + 8.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp * ROWS * MMA_M;
    const int first_row = (gridDim.y - 1 - blockIdx.y) * BLOCK_ROWS;
    // [heads] Heads that share K and V are neighbours, so their blocks read the same of L2 at about the same time.
    const size_t head = (size_t)blockIdx.x * n * D;
    // [head]
    const size_t kv_head = (size_t)(blockIdx.x / heads_per_kv) * n_kv * D;
    // [end head]
    // [keys] Row i sees the keys 0 … i + offset, of which there may be none.
    const int end = min(n_kv, first_row + BLOCK_ROWS + offset);

    // [query]
    copy_tile<BLOCK_ROWS, D>(smem.Q, &Q[head + (size_t)first_row * D], n - first_row);
    cp_async_commit_group();
    cp_async_wait_group<0>();
    __syncthreads();  // Q is whole before any warp reads it
    uint32_t q[ROWS][D / MMA_K][4];
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < D / MMA_K && !Q_STAYS<D, F>; x++)
            ldmatrix_x4(q[y][x],
                        &smem.Q[warp_row + y * MMA_M + lane % 16][place<D>(lane % 16, x * MMA_K + lane / 16 * 8)]);
    __syncthreads();  // every warp has read Q before K replaces it
    float o[ROWS][D / MMA_N][4] = {};
    float m[ROWS][2];       // the largest scaled score so far in row l / 4, and in row l / 4 + 8
    float l[ROWS][2] = {};  // and the sum of this lane's weights there
    for (int y = 0; y < ROWS; y++)
        m[y][0] = m[y][1] = -INFINITY;

    // [ahead] The first tile of K is on its way before the loop.
    auto *K_smem = &smem.stage[Q_STAYS<D, F> * BLOCK_ROWS], *V_smem = &K_smem[TILE];
    copy_stage<D, F>(K_smem, &K[kv_head], 0, n_kv);
    for (int tile = 0; tile < end; tile += TILE) {
        // [wait_K] Keys beyond the last are 0 here, and their scores −∞ below.
        cp_async_wait_group<0>();
        __syncthreads();  // the tile of K is whole, and every warp has read the tile of V before
        copy_stage<D, F>(V_smem, &V[kv_head], tile, n_kv);

        // [scores] S = Q Kᵀ. A row of K is a column of Kᵀ: without .trans, ldmatrix makes fragments of Kᵀ of it.
        float s[ROWS][TILE / MMA_N][4] = {};
#pragma unroll
        for (int d = 0; d < D; d += MMA_K) {
            uint32_t k[4];
            for (int y = 0; y < ROWS && Q_STAYS<D, F>; y++)
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
        // [mask] A tile is masked only if the first row of the warp does not see all of it. No row sees the keys beyond the last.
        if (tile + TILE > min(n_kv, first_row + warp_row + offset + 1))
            for (int y = 0; y < ROWS; y++)
                for (int x = 0; x < TILE / MMA_N; x++)
                    for (int i = 0; i < 4; i++) {
                        const int row = first_row + warp_row + y * MMA_M + lane / 4 + i / 2 * 8;
                        const int key = tile + x * MMA_N + lane % 4 * 2 + i % 2;
                        if (key >= n_kv || key > row + offset)
                            s[y][x][i] = -INFINITY;
                    }

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
                float m_new = fmaxf(m[y][i], largest * scale);
                if (m_new == -INFINITY)  // the row sees no key at all, and −∞ less −∞ would be no number
                    m_new = 0;
                const float factor = ex2(m[y][i] - m_new);
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
        copy_stage<D, F>(K_smem, &K[kv_head], tile + TILE, n_kv);

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
            const float inverse = sum > 0 ? 1 / sum : 0;
            const int row = first_row + warp_row + y * MMA_M + lane / 4 + i * 8;
            // [lse] ln Σ exp(scale Q Kᵀ), from powers of two. The max is rounded as it was in the softmax, so that both cancel.
            const float max = P_LARGEST - (P_LARGEST - m[y][i]);
            if (lse && row < n && lane % 4 == 0)
                lse[(size_t)blockIdx.x * n + row] = (max + log2f(ldexpf(sum, -P_LARGEST))) * LN_2;
        // [end lse]
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
    const bool small = args->variant == SMALL_BLOCKS;
    const auto kernel = small ? flash_mma_gqa<D, SMALL_BLOCKS> : flash_mma_gqa<D, GROUPED>;
    const int bytes = small ? sizeof(union shared<D, SMALL_BLOCKS>) : sizeof(union shared<D, GROUPED>);
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (status != cudaSuccess)
        return status;
    const int n = args->seqlen, n_kv = args->kv_seqlen,
              tiles = ceil_div(n, small ? BLOCK_ROWS<D, SMALL_BLOCKS> : BLOCK_ROWS<D, GROUPED>);
    const int heads = args->batch * args->heads, heads_per_kv = args->heads / args->kv_heads;
    // [order] Blocks start in the order of their numbers, x first: all heads' last rows, which see the most keys, and so on.
    const dim3 blocks(heads, tiles);
    const float scale = 1.44269504f * args->scale;      // exp(x) is exp2(x log2 e)
    const int offset = args->causal ? n_kv - n : n_kv;  // with no mask, more than any row can see
    kernel<<<blocks, THREADS, bytes, stream>>>((const half *)args->Q, (const half *)args->K, (const half *)args->V,
                                               (half *)args->O, args->lse, n, n_kv, heads_per_kv, scale, offset);
    return cudaGetLastError();
}

int launch(const struct attention_args *args, cudaStream_t stream)
{
    if (!attention_is_packed(args, FP16))
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
    {"grouped", "heads of Q share heads of K and V"},
    {"small_blocks", "and a warp has 16 rows, not 32: for grids of so few blocks that they leave SMs idle"},
    {},
};

int main(int argc, char **argv)
{
    const struct attention_step step = {
        .name = "33_flash_mma_gqa",
        .dtypes = {FP16},
        .arch = "80",
        .head_dims = {32, 64, 96, 128},
        .causal = true,
        .grouped = true,
        .lengths = true,
        .lse = true,
        .variants = variants,
        .launch = launch,
    };
    return attention_main(argc, argv, &step);
}

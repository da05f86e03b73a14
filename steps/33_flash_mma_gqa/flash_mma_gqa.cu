// FlashAttention with grouped heads of K and V; in the same loop other numbers of keys than of queries, and log-sum-exp.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o flash_mma_gqa steps/33_flash_mma_gqa/flash_mma_gqa.cu common/*.c
//   ./learn run 33 --causal --heads 8 --kv-heads 2

#include <float.h>

#include "attention.h"
#include "tile.h"

#include "ptx/cp_async.h"
#include "ptx/ex2.h"
#include "ptx/ldmatrix.h"
#include "ptx/mma.h"
#include "ptx/pair.h"

constexpr int WARPS = 4, THREADS = 32 * WARPS;    // of a block
constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;  // one mma computes 16 × 8 elements, each a sum of 16 products

// [range] log2 of the largest P in a row. A half holds no more than 65504, and loses bits below 2^-14; a bfloat16 has the range
// of a float.
template <typename T> constexpr float P_LARGEST = 15;
template <> constexpr float P_LARGEST<__nv_bfloat16> = 0;

// [sizes] ROWS: tiles of 16 rows of Q that a warp computes. TILE: keys in a tile of K or V. Q_STAYS: in shared memory.
template <int ROWS> constexpr int BLOCK_ROWS = WARPS * ROWS * MMA_M;  // rows of Q that a block computes, and of O

// Blocks that an SM shall hold at least. 4 leave a thread 128 registers, 2 leave it 255.
template <int D, int ROWS> constexpr int BLOCKS = ROWS == 1 && D <= 64 ? 4 : 2;

// [shared] Each buffer holds a tile of K or one of V. Where Q stays, the buffers lie behind it.
template <typename T, int D, int ROWS, int TILE, bool Q_STAYS>
union shared {
    alignas(128) T Q[BLOCK_ROWS<ROWS>][D];  // until its fragments are loaded
    alignas(128) T buffer[Q_STAYS * BLOCK_ROWS<ROWS> + 2 * TILE][D];
};

// [load_query] Of a warp's rows of Q the fragments for 16 columns from d on, from shared memory to registers.
template <int D, int ROWS, typename T>
__device__ __forceinline__ void load_query(uint32_t q[ROWS][4], const T Q[][D], int d, int lane)
{
    for (int y = 0; y < ROWS; y++)
        ldmatrix_x4(q[y], &Q[y * MMA_M + lane % 16][place<D>(lane % 16, d + lane / 16 * 8)]);
}

// [scores] S = Q Kᵀ, of a warp's rows. A row of K is a column of Kᵀ: without .trans, ldmatrix makes fragments of Kᵀ of it.
template <int D, int ROWS, int TILE, bool Q_STAYS, typename T>
__device__ __forceinline__ void scores(float s[ROWS][TILE / MMA_N][4],  // 0 before
                                       uint32_t q[D / MMA_K][ROWS][4], const T Q[][D], const T K[TILE][D], int lane)
{
    const int key_row = lane / 16 * 8 + lane % 8, key_col = lane / 8 % 2 * 8;  // of 16 keys, what this lane addresses
    for (int d = 0; d < D; d += MMA_K) {
        uint32_t k[4];
        if (Q_STAYS)
            load_query<D, ROWS>(q[d / MMA_K], Q, d, lane);
        for (int key = 0; key < TILE; key += 2 * MMA_N) {
            ldmatrix_x4(k, &K[key + key_row][place<D>(lane % 8, d + key_col)]);
            for (int y = 0; y < ROWS; y++) {
                mma_m16n8k16(s[y][key / MMA_N], q[d / MMA_K][y], &k[0], T());
                mma_m16n8k16(s[y][key / MMA_N + 1], q[d / MMA_K][y], &k[2], T());
            }
        }
    }
}

// [mask] The scores of a tile's keys, the first of which is key `tile`, become −∞ where a row, the first of which is row `first`,
// does not see the key: row i sees the keys 0 to i + offset, of the n that there are.
template <int ROWS, int TILE>
__device__ __forceinline__ void mask(float s[ROWS][TILE / MMA_N][4], int first, int tile, int n, int offset, int lane)
{
    // [masked]
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < TILE / MMA_N; x++)
            for (int i = 0; i < 4; i++) {
                const int row = first + y * MMA_M + lane / 4 + i / 2 * 8, key = tile + x * MMA_N + lane % 4 * 2 + i % 2;
                if (key >= n || key > row + offset)
                    s[y][x][i] = -INFINITY;
            }
    // [end masked]
}

// [softmax] The max may have grown: what was summed up under the old one shrinks by `factor`. S lies in the registers as the
// next product wants its A: packed in pairs, it is a row of fragments of P.
template <typename T, int D, int ROWS, int TILE>
__device__ __forceinline__ void softmax(uint32_t p[ROWS][TILE / MMA_K][4], float m[ROWS][2], float l[ROWS][2],
                                        float o[ROWS][D / MMA_N][4], const float s[ROWS][TILE / MMA_N][4], float scale)
{
    for (int y = 0; y < ROWS; y++)
        for (int i = 0; i < 2; i++) {
            float largest = -INFINITY;
            for (int x = 0; x < TILE / MMA_N; x++)
                largest = fmaxf(largest, fmaxf(s[y][x][2 * i], s[y][x][2 * i + 1]));
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1));
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 2));
            const float m_new = fmaxf(m[y][i], largest * scale), factor = ex2(m[y][i] - m_new);
            m[y][i] = m_new;
            l[y][i] *= factor;
            for (int x = 0; x < TILE / MMA_N; x++) {
                const float first = ex2(fmaf(s[y][x][2 * i], scale, P_LARGEST<T> - m_new));
                const float second = ex2(fmaf(s[y][x][2 * i + 1], scale, P_LARGEST<T> - m_new));
                l[y][i] += first + second;
                p[y][x / 2][x % 2 * 2 + i] = pack(first, second, T());
            }
            // [vote] Mostly no max of the warp has grown. Where O has many registers, the vote costs less than rescaling.
            if (D < 128 || __any_sync(0xffffffff, factor != 1))
                for (int x = 0; x < D / MMA_N; x++) {
                    o[y][x][2 * i] *= factor;
                    o[y][x][2 * i + 1] *= factor;
                }
        }
}

// [add_output] O += P V. A row of V is a row of B, so ldmatrix transposes its matrices.
template <int D, int ROWS, int TILE, typename T>
__device__ __forceinline__ void add_output(float o[ROWS][D / MMA_N][4], const uint32_t p[ROWS][TILE / MMA_K][4],
                                           const T V[TILE][D], int lane)
{
    for (int key = 0; key < TILE; key += MMA_K)
        for (int col = 0; col < D; col += 2 * MMA_N) {
            uint32_t v[4];
            ldmatrix_x4_trans(v, &V[key + lane % 16][place<D>(lane % 16, col + lane / 16 * 8)]);
            for (int y = 0; y < ROWS; y++) {
                mma_m16n8k16(o[y][col / MMA_N], p[y][key / MMA_K], &v[0], T());
                mma_m16n8k16(o[y][col / MMA_N + 1], p[y][key / MMA_K], &v[2], T());
            }
        }
}

// [store_rows] Divides a warp's rows of O by their sums, and stores them, row `first` first, as far as there are so many.
template <int D, int ROWS, typename T>
__device__ __forceinline__ void store_rows(T *O, float *lse, const float o[ROWS][D / MMA_N][4], const float m[ROWS][2],
                                           const float l[ROWS][2], int first, int n, int lane)  // [n, D], [n] or NULL
{
#pragma unroll
    for (int y = 0; y < ROWS; y++)
        for (int i = 0; i < 2; i++) {
            float sum = l[y][i] + __shfl_xor_sync(0xffffffff, l[y][i], 1);  // of two lanes of the four
            sum += __shfl_xor_sync(0xffffffff, sum, 2);
            const float inverse = sum > 0 ? 1 / sum : 0;
            const int row = first + y * MMA_M + lane / 4 + i * 8;
            // [lse] ln Σ exp(scale Q Kᵀ), from powers of two. The max is rounded as it was in the softmax, so that both cancel.
            const float max = P_LARGEST<T> - (P_LARGEST<T> - m[y][i]);
            if (lse && row < n && lane % 4 == 0)
                lse[row] = (max + log2f(ldexpf(sum, -P_LARGEST<T>))) / LOG2_E;
            // [end lse]
            for (int x = 0; x < D / MMA_N; x += 4) {
                alignas(16) uint32_t pairs[4];
                for (int tile = 0; tile < 4; tile++)
                    pairs[tile] = pack(o[y][x + tile][2 * i] * inverse, o[y][x + tile][2 * i + 1] * inverse, T());
                gather_row(pairs);
                if (row < n)
                    ((uint4 *)&O[(size_t)row * D])[x + lane % 4] = *(const uint4 *)pairs;
            }
        }
}

// [kernel]
template <typename T, int D, int ROWS, int TILE, bool Q_STAYS>
__global__ void __launch_bounds__(THREADS, BLOCKS<D, ROWS>)
    flash_mma_gqa(const T *Q,              // [heads, n, D]
                  const T *K, const T *V,  // [heads / heads_per_kv, n_kv, D]
                  T *O,                    // [heads, n, D]
                  float *lse,              // [heads, n], or NULL
                  int n, int n_kv, int heads_per_kv, float scale, int offset)
{
    extern __shared__ uint4 memory[];
    auto &smem = *(union shared<T, D, ROWS, TILE, Q_STAYS> *)memory;

    // [index] A lane holds two neighbours of S and O in row lane / 4 of every tile of 16 × 8, and two in row lane / 4 + 8.
    const int warp_row = threadIdx.x / 32 * ROWS * MMA_M, lane = threadIdx.x % 32;
    const int first_row = (gridDim.y - 1 - blockIdx.y) * BLOCK_ROWS<ROWS>;
    // [heads] Heads that share K and V are neighbours, so their blocks read the same of L2 at about the same time.
    const size_t head = (size_t)blockIdx.x * n * D;
    // [head]
    const size_t kv_head = (size_t)(blockIdx.x / heads_per_kv) * n_kv * D;
    // [end head]
    // [keys] Row i sees the keys 0 … i + offset, of which there may be none.
    const int end = min(n_kv, first_row + BLOCK_ROWS<ROWS> + offset);

    // [query]
    copy_tile<THREADS, BLOCK_ROWS<ROWS>, D>(smem.Q, &Q[head], first_row, n);
    cp_async_wait_group<0>();
    __syncthreads();  // Q is whole before any warp reads it
    uint32_t q[D / MMA_K][ROWS][4];
    for (int d = 0; d < D && !Q_STAYS; d += MMA_K)
        load_query<D, ROWS>(q[d / MMA_K], &smem.Q[warp_row], d, lane);
    __syncthreads();  // every warp has read Q before K replaces it, unless Q stays
    float o[ROWS][D / MMA_N][4] = {};
    float m[ROWS][2], l[ROWS][2] = {};  // of rows lane / 4 and lane / 4 + 8: the max so far, and this lane's sum
    for (int y = 0; y < ROWS; y++)
        m[y][0] = m[y][1] = -FLT_MAX;  // not −∞: of a row that sees no key, −∞ less −∞ would be no number

    // [ahead] K and V have a buffer each. The first tile of K is on its way before the loop.
    auto *K_smem = &smem.buffer[Q_STAYS * BLOCK_ROWS<ROWS>], *V_smem = &K_smem[TILE];
    copy_tile<THREADS, TILE, D>(K_smem, &K[kv_head], 0, n_kv);
    for (int tile = 0; tile < end; tile += TILE) {
        // [wait_K] Keys beyond the last are 0 here, and their scores −∞ below.
        cp_async_wait_group<0>();
        __syncthreads();  // the tile of K is whole, and every warp has read the tile of V before
        copy_tile<THREADS, TILE, D>(V_smem, &V[kv_head], tile, n_kv);
        float s[ROWS][TILE / MMA_N][4] = {};
        scores<D, ROWS, TILE, Q_STAYS>(s, q, &smem.Q[warp_row], K_smem, lane);
        if (tile + TILE > min(n_kv, first_row + warp_row + offset + 1))  // the warp's first row does not see all of it
            mask<ROWS, TILE>(s, first_row + warp_row, tile, n_kv, offset, lane);
        uint32_t p[ROWS][TILE / MMA_K][4];
        softmax<T, D, ROWS, TILE>(p, m, l, o, s, scale);

        // [wait_V]
        cp_async_wait_group<0>();
        __syncthreads();  // the tile of V is whole, and every warp has read that of K
        copy_tile<THREADS, TILE, D>(K_smem, &K[kv_head], tile + TILE, n_kv);
        add_output<D, ROWS, TILE>(o, p, V_smem, lane);
    }
    store_rows<D, ROWS>(&O[head], lse ? &lse[(size_t)blockIdx.x * n] : NULL, o, m, l, first_row + warp_row, n, lane);
}

// [launch]
template <typename T, int D, int ROWS, int TILE, bool Q_STAYS>
static int start(const struct attention_args *args, cudaStream_t stream)
{
    constexpr int bytes = sizeof(union shared<T, D, ROWS, TILE, Q_STAYS>);
    const auto kernel = flash_mma_gqa<T, D, ROWS, TILE, Q_STAYS>;
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (status != cudaSuccess)
        return status;
    // [order] Blocks start in the order of their numbers, x first: all heads' last rows, which see the most keys, and so on.
    const int n = args->seqlen, n_kv = args->kv_seqlen, heads_per_kv = args->heads / args->kv_heads;
    const dim3 blocks(args->batch * args->heads, ceil_div(n, BLOCK_ROWS<ROWS>));
    const int offset = args->causal ? n_kv - n : n_kv;  // with no mask, more than any row can see
    kernel<<<blocks, THREADS, bytes, stream>>>((const T *)args->Q, (const T *)args->K, (const T *)args->V, (T *)args->O,
                                               args->lse, n, n_kv, heads_per_kv, LOG2_E * args->scale, offset);
    return cudaGetLastError();
}

template <typename T>
static int start_type(const struct attention_args *args, cudaStream_t stream)
{
    switch (args->head_dim) {
    case 32: return start<T, 32, 1, 64, false>(args, stream);
    case 64: return start<T, 64, 2, 64, false>(args, stream);
    case 96: return start<T, 96, 2, 64, true>(args, stream);
    case 128: return start<T, 128, 2, 48, true>(args, stream);
    default: return cudaErrorInvalidValue;
    }
}

int launch(const struct attention_args *args, cudaStream_t stream)
{
    if (attention_is_packed(args, FP16))
        return start_type<half>(args, stream);
    if (attention_is_packed(args, BF16))
        return start_type<__nv_bfloat16>(args, stream);
    return cudaErrorInvalidValue;
}

// [main]
static const struct variant variants[] = {
    {"grouped", "heads of Q share heads of K and V"},
    {},
};

int main(int argc, char **argv)
{
    const struct attention_step step = {
        .name = "33_flash_mma_gqa",
        .dtypes = {FP16, BF16},
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

// FlashAttention for few queries: blocks and warps divide the keys, each finds softmax(Q Kᵀ) V for its part of them, and a second
// kernel merges the parts by their log-sum-exp. Heads that share K and V are rows of one tile.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o split_keys steps/34_flash_mma_split_keys/flash_mma_split_keys.cu common/*.c
//   ./learn run 34 --heads 8 --kv-heads 2 --seqlen 1 --kv-seqlen 2048

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

enum { WHOLE, SPLIT_BLOCKS, SPLIT_WARPS, PACKED };  // the variants

constexpr int FEW_ROWS = 64;          // up to so many, all warps of a block have the same rows, and divide the keys
constexpr float LN_2 = 0.693147181f;  // ln x is log2 x times this

// [range] log2 of the largest P in a row. A half holds no more than 65504, and loses bits below 2^-14; a bfloat16 has the range
// of a float.
template <typename T> constexpr float P_LARGEST = 15;
template <> constexpr float P_LARGEST<__nv_bfloat16> = 0;

// [sizes] ROWS: tiles of 16 rows that a warp computes. KEY_WARPS: warps of a block that have the same rows, and divide the keys
// of a tile. TILE: keys in a tile of K, and of V. Q_STAYS: Q has memory of its own, so that K need not wait for it.
// BLOCK_ROWS: rows that a block computes.
template <int ROWS, int KEY_WARPS> constexpr int BLOCK_ROWS = WARPS / KEY_WARPS * ROWS * MMA_M;

// Blocks that an SM shall hold at least, and for which the keys are divided: 4 leave a thread 128 registers, 2 leave it 255.
template <int D, int KEY_WARPS> constexpr int BLOCKS = KEY_WARPS > 1 && D <= 64 ? 4 : 2;

// [shared] Each buffer holds a tile of K or one of V. Where Q stays, the buffers lie behind it.
template <typename T, int D, int ROWS, int KEY_WARPS, int TILE, bool Q_STAYS>
union shared {
    alignas(128) T Q[BLOCK_ROWS<ROWS, KEY_WARPS>][D];  // until its fragments are loaded
    alignas(128) T buffer[Q_STAYS * BLOCK_ROWS<ROWS, KEY_WARPS> + 2 * TILE][D];
    struct {  // at the end, where warps have the same rows: what each has found for its part of the keys
        float O[KEY_WARPS][ROWS * MMA_M][D + VECTOR], lse[KEY_WARPS][ROWS * MMA_M];
    } part;
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
#pragma unroll
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
// does not see the key. Row i is query i % n of its head, and sees the keys 0 to i % n + offset, as far as they are before `end`.
template <int ROWS, int TILE>
__device__ __forceinline__ void mask(float s[ROWS][TILE / MMA_N][4], int first, int n, int tile, int end, int offset,
                                     int lane)
{
#pragma unroll
    for (int y = 0; y < ROWS; y++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int row = first + y * MMA_M + lane / 4 + i / 2 * 8;
            // [query]
            const int keys = min(end, row % n + offset + 1) - tile;
        // [end query]
#pragma unroll
            for (int x = 0; x < TILE / MMA_N; x++)
                if (x * MMA_N + lane % 4 * 2 + i % 2 >= keys)
                    s[y][x][i] = -INFINITY;
        }
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
            float m_new = fmaxf(m[y][i], largest * scale);
            if (m_new == -INFINITY)  // the row sees no key at all, and −∞ less −∞ would be no number
                m_new = 0;
            const float factor = ex2(m[y][i] - m_new);
            m[y][i] = m_new;
            float sum = 0;
            for (int x = 0; x < TILE / MMA_N; x++) {
                const float first = ex2(fmaf(s[y][x][2 * i], scale, P_LARGEST<T> - m_new));
                const float second = ex2(fmaf(s[y][x][2 * i + 1], scale, P_LARGEST<T> - m_new));
                sum += first + second;
                p[y][x / 2][x % 2 * 2 + i] = pack(first, second, T());
            }
            l[y][i] = l[y][i] * factor + sum;
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
#pragma unroll
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

// Two neighbours in a row, stored as what they are.
__device__ __forceinline__ void store(float *to, float first, float second)
{
    *(float2 *)to = make_float2(first, second);
}

template <typename T>
__device__ __forceinline__ void store(T *to, float first, float second)
{
    *(uint32_t *)to = pack(first, second, T());
}

// [store_rows] Divides a warp's rows of O by their sums, and stores them, row `first` first, as far as there are so many, and
// their log-sum-exp. OUT: the type of O, or float where these are the results for a part of the keys.
template <typename T, int D, int ROWS, int PITCH, typename OUT>
__device__ __forceinline__ void store_rows(OUT *O,      // [rows, PITCH]
                                           float *lse,  // [rows], or NULL
                                           const float o[ROWS][D / MMA_N][4], const float m[ROWS][2],
                                           const float l[ROWS][2], int first, int rows, int lane)
{
#pragma unroll
    for (int y = 0; y < ROWS; y++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            float sum = l[y][i];
            sum += __shfl_xor_sync(0xffffffff, sum, 1);
            sum += __shfl_xor_sync(0xffffffff, sum, 2);
            const float inverse = sum > 0 ? 1 / sum : 0;
            const int row = first + y * MMA_M + lane / 4 + i * 8;
            // [lse] ln Σ exp(scale Q Kᵀ), from powers of two. The max is rounded as it was in the softmax, so that both cancel.
            const float max = P_LARGEST<T> - (P_LARGEST<T> - m[y][i]);
            if (lse && row < rows && lane % 4 == 0)
                lse[row] = (max + log2f(ldexpf(sum, -P_LARGEST<T>))) * LN_2;
        // [end lse]
#pragma unroll
            for (int x = 0; x < D / MMA_N; x++)
                if (row < rows)
                    store(&O[(size_t)row * PITCH + x * MMA_N + lane % 4 * 2], o[y][x][2 * i] * inverse,
                          o[y][x][2 * i + 1] * inverse);
        }
}

// [merge_parts] One element of a row of O from those of its parts, which lie O_stride apart: each counts by its share of the sum
// of all, exp(its log-sum-exp). These lie lse_stride apart. Sets *lse to that of all parts. COUNT parts are loaded together.
template <int COUNT>
__device__ __forceinline__ float merge_parts(const float *O_part, size_t O_stride, const float *lse_part,
                                             size_t lse_stride, int parts, float *lse)
{
    float largest = -FLT_MAX, sum = 0, sum_O = 0;  // not −∞: where no part has a key, −∞ less −∞ would be no number
    for (int first = 0; first < parts; first += COUNT) {
        float log_sum[COUNT], o[COUNT];
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            log_sum[i] = first + i < parts ? lse_part[(first + i) * lse_stride] : -INFINITY;
            o[i] = first + i < parts ? O_part[(first + i) * O_stride] : 0;
        }
        // [weigh]
        const float before = largest;
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            largest = fmaxf(largest, log_sum[i]);
        const float factor = ex2((before - largest) * LOG2_E);
        sum *= factor;
        sum_O *= factor;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const float weight = ex2((log_sum[i] - largest) * LOG2_E);
            sum += weight;
            sum_O += weight * o[i];
        }
        // [end weigh]
    }
    *lse = largest + logf(sum);
    return sum > 0 ? sum_O / sum : 0;
}

// [merge_warps] Merges and stores what the warps of a block have found of the same rows, the first of which is row `first`,
// each for keys of its own.
template <int D, int KEY_WARPS, typename PARTS, typename OUT>
__device__ __forceinline__ void merge_warps(OUT *O,      // [rows, D]
                                            float *lse,  // [rows], or NULL
                                            const PARTS &of_warp, int first, int rows)
{
    constexpr int HEIGHT = sizeof(of_warp.lse[0]) / sizeof(float), PITCH = sizeof(of_warp.O[0][0]) / sizeof(float);
    for (int i = threadIdx.x; i < min(HEIGHT, rows - first) * D; i += THREADS) {
        const int row = i / D;
        float lse_of_row;
        O[(size_t)first * D + i] = OUT(merge_parts<KEY_WARPS>(&of_warp.O[0][row][i % D], HEIGHT * PITCH,
                                                              &of_warp.lse[0][row], HEIGHT, KEY_WARPS, &lse_of_row));
        if (lse && i % D == 0)
            lse[first + row] = lse_of_row;
    }
}

// [finish] Stores what a block has found of its rows. Of the only part, O is the result. Other parts are stored in fp32, to be
// merged.
template <typename T, int D, int ROWS, int KEY_WARPS, typename PARTS>
__device__ __forceinline__ void finish(T *O, float *lse, float *O_part, float *lse_part, size_t head_row,
                                       const PARTS &of_warp, const float o[ROWS][D / MMA_N][4], const float m[ROWS][2],
                                       const float l[ROWS][2], int first_row, int warp_row, int rows, int lane)
{
    const bool whole = gridDim.z == 1;
    const size_t part_row = blockIdx.z * gridDim.x * (size_t)rows + head_row;
    float *const lse_to = !whole ? &lse_part[part_row] : lse ? &lse[head_row] : NULL;
    if (KEY_WARPS > 1 && whole)
        merge_warps<D, KEY_WARPS>(&O[head_row * D], lse_to, of_warp, first_row, rows);
    else if (KEY_WARPS > 1)
        merge_warps<D, KEY_WARPS>(&O_part[part_row * D], lse_to, of_warp, first_row, rows);
    else if (whole)
        store_rows<T, D, ROWS, D>(&O[head_row * D], lse_to, o, m, l, first_row + warp_row, rows, lane);
    else
        store_rows<T, D, ROWS, D>(&O_part[part_row * D], lse_to, o, m, l, first_row + warp_row, rows, lane);
}

// [kernel]
template <typename T, int D, int ROWS, int KEY_WARPS, int TILE, bool Q_STAYS>
__global__ void __launch_bounds__(THREADS, BLOCKS<D, KEY_WARPS>)
    flash_mma_split_keys(const T *Q,                      // [heads, n, D]
                         const T *K, const T *V,          // [heads / heads_per_kv, n_kv, D]
                         T *O, float *lse,                // [heads, n, D], [heads, n]; lse: or NULL
                         float *O_part, float *lse_part,  // [parts, heads, n, D], [parts, heads, n]
                         int n, int n_kv, int heads_per_kv, int packed, int keys, float scale, int offset)
{
    constexpr int BLOCK_ROWS = ::BLOCK_ROWS<ROWS, KEY_WARPS>, WARP_KEYS = TILE / KEY_WARPS;
    extern __shared__ uint4 memory[];
    auto &smem = *(union shared<T, D, ROWS, KEY_WARPS, TILE, Q_STAYS> *)memory;

    // [index] KEY_WARPS warps have the same rows, and each has WARP_KEYS keys of a tile.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp / KEY_WARPS * ROWS * MMA_M, key_warp = warp % KEY_WARPS, warp_key = key_warp * WARP_KEYS;
    const int first_row = (gridDim.y - 1 - blockIdx.y) * BLOCK_ROWS, rows = packed * n;
    // [heads] The rows of `packed` heads that share K and V follow one another.
    const size_t head_row = (size_t)blockIdx.x * rows;
    const size_t kv_head = (size_t)(blockIdx.x * packed / heads_per_kv) * n_kv * D;
    // [keys_of_block] The block has `keys` keys from `begin` on, as far as one of its rows sees them. That may be none.
    const int first_query = packed == 1 ? first_row + warp_row : 0;
    const int queries = packed == 1 ? min(n, first_row + BLOCK_ROWS) : n;
    // [part]
    const int begin = blockIdx.z * keys, end = min(min(n_kv, begin + keys), queries + offset);
    // [end part]

    // [load_q]
    copy_tile<THREADS, BLOCK_ROWS, D>(smem.Q, &Q[head_row * D], first_row, rows);
    uint32_t q[D / MMA_K][ROWS][4];
    if (!Q_STAYS) {
        cp_async_wait_group<0>();
        __syncthreads();  // Q is whole before any warp reads it
        for (int d = 0; d < D; d += MMA_K)
            load_query<D, ROWS>(q[d / MMA_K], &smem.Q[warp_row], d, lane);
        __syncthreads();  // every warp has read Q before K replaces it
    }
    float o[ROWS][D / MMA_N][4] = {};
    float m[ROWS][2];       // the largest scaled score so far in row lane / 4, and in row lane / 4 + 8
    float l[ROWS][2] = {};  // and the sum of this lane's weights there
    for (int y = 0; y < ROWS; y++)
        m[y][0] = m[y][1] = -INFINITY;

    // [ahead] K and V have a buffer each. The first tile of K is on its way before the loop.
    auto *K_smem = &smem.buffer[Q_STAYS * BLOCK_ROWS], *V_smem = &K_smem[TILE];
    copy_tile<THREADS, TILE, D>(K_smem, &K[kv_head], begin, end);
    for (int tile = begin; tile < end; tile += TILE) {
        // [wait_K] Keys from `end` on are 0 here, and their scores −∞ below.
        cp_async_wait_group<0>();
        __syncthreads();  // Q and the tile of K are whole, and every warp has read the tile of V before
        copy_tile<THREADS, TILE, D>(V_smem, &V[kv_head], tile, end);
        float s[ROWS][WARP_KEYS / MMA_N][4] = {};
        scores<D, ROWS, WARP_KEYS, Q_STAYS>(s, q, &smem.Q[warp_row], &K_smem[warp_key], lane);
        if (tile + TILE > min(end, first_query + offset + 1))  // a row of the warp does not see all of it
            mask<ROWS, WARP_KEYS>(s, first_row + warp_row, n, tile + warp_key, end, offset, lane);
        uint32_t p[ROWS][WARP_KEYS / MMA_K][4];
        softmax<T, D, ROWS, WARP_KEYS>(p, m, l, o, s, scale);

        // [wait_V]
        cp_async_wait_group<0>();
        __syncthreads();  // the tile of V is whole, and every warp has read that of K
        copy_tile<THREADS, TILE, D>(K_smem, &K[kv_head], tile + TILE, end);
        add_output<D, ROWS, WARP_KEYS>(o, p, &V_smem[warp_key], lane);
    }

    // [parts] Warps that have the same rows lay what they have found side by side in shared memory.
    if (KEY_WARPS > 1) {
        // [replace]
        cp_async_wait_group<0>();
        __syncthreads();  // no copy is under way, and every warp has read the last tiles: the parts replace them
        // [end replace]
        store_rows<T, D, ROWS, D + VECTOR>(smem.part.O[key_warp][0], smem.part.lse[key_warp], o, m, l, 0, ROWS * MMA_M,
                                           lane);
        __syncthreads();  // every warp's part is there
    }
    finish<T, D, ROWS, KEY_WARPS>(O, lse, O_part, lse_part, head_row, smem.part, o, m, l, first_row, warp_row, rows,
                                  lane);
}

// [merge] A thread merges the parts of an element of O.
template <typename T, int D>
__global__ void __launch_bounds__(THREADS) merge(const float *O_part,    // [parts, rows, D]
                                                 const float *lse_part,  // [parts, rows]
                                                 T *O,                   // [rows, D]
                                                 float *lse,             // [rows], or NULL
                                                 int rows, int parts)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x, row = i / D;
    float lse_of_row;
    if (row < rows)
        O[i] = T(merge_parts<16>(&O_part[i], (size_t)rows * D, &lse_part[row], rows, parts, &lse_of_row));
    if (row < rows && lse && i % D == 0)
        lse[row] = lse_of_row;
}

// [division] The launch has row_tiles × heads × parts blocks. Each computes the rows of `packed` heads, and has so many keys.
struct division {
    int packed, row_tiles, heads, keys, parts;
};

// [rule] Blocks divide the keys until the SMs are full: more parts would run one after the other, and have to be merged, too.
static struct division divide(const struct attention_args *args, int packed, int block_rows, int tile, int blocks_of_sm)
{
    int device = 0, sms = 1;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    const int row_tiles = ceil_div(packed * args->seqlen, block_rows), heads = args->batch * args->heads / packed;
    const int full = args->variant == WHOLE ? 1 : max(sms * blocks_of_sm / (row_tiles * heads), 1);
    const int keys = ceil_div(ceil_div(args->kv_seqlen, tile), full) * tile;
    return {packed, row_tiles, heads, keys, ceil_div(args->kv_seqlen, keys)};
}

// [launch] Where `only` is not NULL, it is set, and nothing is launched.
template <typename T, int D, int ROWS, int KEY_WARPS, int TILE, bool Q_STAYS>
static int start(const struct attention_args *args, cudaStream_t stream, int packed, struct division *only)
{
    constexpr int bytes = sizeof(union shared<T, D, ROWS, KEY_WARPS, TILE, Q_STAYS>);
    const auto kernel = flash_mma_split_keys<T, D, ROWS, KEY_WARPS, TILE, Q_STAYS>;
    const struct division by = divide(args, packed, BLOCK_ROWS<ROWS, KEY_WARPS>, TILE, BLOCKS<D, KEY_WARPS>);
    if (only) {
        *only = by;
        return cudaSuccess;
    }
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (status != cudaSuccess)
        return status;
    const int n = args->seqlen, n_kv = args->kv_seqlen, heads_per_kv = args->heads / args->kv_heads;
    const int offset = args->causal ? n_kv - n : n_kv;  // with no mask, more than any row can see
    const int rows = by.heads * packed * n;
    float *const O_part = (float *)args->workspace, *const lse_part = O_part + (size_t)by.parts * rows * D;
    kernel<<<dim3(by.heads, by.row_tiles, by.parts), THREADS, bytes, stream>>>(
        (const T *)args->Q, (const T *)args->K, (const T *)args->V, (T *)args->O, args->lse, O_part, lse_part, n, n_kv,
        heads_per_kv, packed, by.keys, LOG2_E * args->scale, offset);
    if (by.parts > 1)
        merge<T, D><<<ceil_div(rows, THREADS / D), THREADS, 0, stream>>>(O_part, lse_part, (T *)args->O, args->lse,
                                                                         rows, by.parts);
    return cudaGetLastError();
}

template <typename T>
static int start_type(const struct attention_args *args, cudaStream_t stream, struct division *only)
{
    const int packed = args->variant == PACKED ? args->heads / args->kv_heads : 1;
    if (args->variant >= SPLIT_WARPS && packed * args->seqlen <= FEW_ROWS)
        switch (args->head_dim) {
        case 32: return start<T, 32, 1, 4, 128, true>(args, stream, packed, only);
        case 64: return start<T, 64, 1, 4, 128, true>(args, stream, packed, only);
        case 96: return start<T, 96, 1, 4, 128, true>(args, stream, packed, only);
        case 128: return start<T, 128, 1, 4, 128, true>(args, stream, packed, only);
        default: return cudaErrorInvalidValue;
        }
    switch (args->head_dim) {
    case 32: return start<T, 32, 1, 1, 64, false>(args, stream, 1, only);
    case 64: return start<T, 64, 2, 1, 64, false>(args, stream, 1, only);
    case 96: return start<T, 96, 2, 1, 64, true>(args, stream, 1, only);
    case 128: return start<T, 128, 2, 1, 48, true>(args, stream, 1, only);
    default: return cudaErrorInvalidValue;
    }
}

static int start_any(const struct attention_args *args, cudaStream_t stream, struct division *only)
{
    if (attention_is_packed(args, FP16))
        return start_type<half>(args, stream, only);
    if (attention_is_packed(args, BF16))
        return start_type<__nv_bfloat16>(args, stream, only);
    return cudaErrorInvalidValue;
}

int launch(const struct attention_args *args, cudaStream_t stream) { return start_any(args, stream, NULL); }

static struct division division_of(const struct attention_args *args)
{
    struct division by = {};
    start_any(args, 0, &by);
    return by;
}

static int parts(const struct attention_args *args) { return division_of(args).parts; }

static int blocks(const struct attention_args *args)
{
    const struct division by = division_of(args);
    return by.heads * by.row_tiles * by.parts;
}

size_t workspace(const struct attention_args *args)
{
    const size_t rows = (size_t)args->batch * args->heads * args->seqlen;
    return parts(args) > 1 ? parts(args) * rows * (args->head_dim + 1) * sizeof(float) : 0;
}

// [main]
static const struct variant variants[] = {
    {"whole", "a block has all keys of its rows, as before"},
    {"split_blocks", "blocks divide the keys, as many as fill the SMs"},
    {"split_warps", "and where rows are few, so do the warps of a block"},
    {"packed", "and heads that share K and V are rows of one tile"},
    {},
};

int main(int argc, char **argv)
{
    const struct attention_step step = {
        .name = "34_flash_mma_split_keys",
        .dtypes = {FP16, BF16},
        .arch = "80",
        .head_dims = {32, 64, 96, 128},
        .causal = true,
        .grouped = true,
        .lengths = true,
        .lse = true,
        .variants = variants,
        .workspace = workspace,
        .parts = parts,
        .blocks = blocks,
        .launch = launch,
    };
    return attention_main(argc, argv, &step);
}

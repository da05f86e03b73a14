// FlashAttention for few queries: blocks and warps divide the keys, each finds softmax(Q Kᵀ) V for its part of them, and a second
// kernel merges the parts by their log-sum-exp. Heads that share K and V are rows of one tile.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o flash_mma_split_keys steps/34_flash_mma_split_keys/flash_mma_split_keys.cu common/*.c
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

constexpr int MAX_PARTS = 512;        // of the keys of a row
constexpr int FEW_ROWS = 64;          // up to so many, all warps of a block have the same rows, and divide the keys
constexpr float LN_2 = 0.693147181f;  // ln x is log2 x times this

// [range] log2 of the largest P in a row. A half holds no more than 65504, and loses bits below 2^-14; a bfloat16 has the range
// of a float.
template <typename T> constexpr float P_LARGEST = 15;
template <> constexpr float P_LARGEST<__nv_bfloat16> = 0;

// [sizes] ROWS: tiles of 16 rows that a warp computes. KEY_WARPS: warps of a block that have the same rows, and divide the keys of
// a tile. TILE: keys in a tile of K, and of V. Q_STAYS: whether Q stays in shared memory, because the registers are full.
template <int ROWS, int KEY_WARPS> constexpr int BLOCK_ROWS = WARPS / KEY_WARPS * ROWS *
                                                              MMA_M;  // rows that a block computes

// Blocks that an SM shall hold at least: 3 leave a thread 168 registers, 2 leave it 255.
template <int D, int KEY_WARPS> constexpr int BLOCKS = KEY_WARPS > 1 ? D <= 64 ? 4 : 3 : 2;

// [rows] The rows of a tile are queries of `packed` heads that share K and V: row i is query i / packed of head i % packed. This is
// its number among the rows of these heads, [packed, n].
__device__ int place_of(int row, int packed, int n) { return row % packed * n + row / packed; }

// [shared] Each buffer of the ring holds a tile of K or one of V. Where Q stays, the ring lies behind it.
template <typename T, int D, int ROWS, int KEY_WARPS, int TILE, int BUFFERS, bool Q_STAYS>
union shared {
    alignas(128) T Q[BLOCK_ROWS<ROWS, KEY_WARPS>][D];  // until its fragments are loaded
    alignas(128) T buffer[Q_STAYS * BLOCK_ROWS<ROWS, KEY_WARPS> + BUFFERS * TILE][D];
    struct {  // at the end, where several warps have the same rows: what each of them has found
        float O[KEY_WARPS][ROWS * MMA_M][D + VECTOR];
        float lse[KEY_WARPS][ROWS * MMA_M];
    } part;
};

// [copy_query] As copy_tile(), for the rows of Q from `first` on.
template <int HEIGHT, int D, typename T>
__device__ __forceinline__ void copy_query(T tile[HEIGHT][D],
                                           const T *Q,  // [packed, n, D]
                                           int first, int packed, int n)
{
    for (int i = threadIdx.x; i < HEIGHT * D / VECTOR; i += THREADS) {
        const int row = i / (D / VECTOR), col = i % (D / VECTOR) * VECTOR, there = first + row < packed * n;
        cp_async_16(&tile[row][place<D>(row, col)],
                    &Q[(size_t)(there ? place_of(first + row, packed, n) : 0) * D + col],
                    there ? VECTOR * sizeof(T) : 0);
    }
    cp_async_commit_group();
}

// [copy_next] Begins to copy tile i of K, V, K, V, …, as one group, where the keys are those from `begin` to `end`.
template <int D, int TILE, int BUFFERS, typename T>
__device__ __forceinline__ void copy_next(T ring[BUFFERS * TILE][D], const T *K, const T *V, int i, int begin, int end)
{
    copy_tile<THREADS, TILE, D>(&ring[i % BUFFERS * TILE], i % 2 ? V : K, begin + i / 2 * TILE, end);
}

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
// does not see the key: query i sees the keys 0 to i + offset, as far as they come before `end`.
template <int ROWS, int TILE>
__device__ __forceinline__ void mask(float s[ROWS][TILE / MMA_N][4], int first, int packed, int tile, int end,
                                     int offset, int lane)
{
#pragma unroll
    for (int y = 0; y < ROWS; y++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int row = first + y * MMA_M + lane / 4 + i / 2 * 8, keys = min(end, row / packed + offset + 1) - tile;
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

// [divide_by_sum] O becomes what the softmax of this part of the keys makes of it, and l the log-sum-exp: ln Σ exp(scale Q Kᵀ), from
// powers of two. The max is rounded as it was in the softmax, so that both cancel.
template <typename T, int D, int ROWS>
__device__ __forceinline__ void divide_by_sum(float o[ROWS][D / MMA_N][4], const float m[ROWS][2], float l[ROWS][2])
{
#pragma unroll
    for (int y = 0; y < ROWS; y++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            float sum = l[y][i];
            sum += __shfl_xor_sync(0xffffffff, sum, 1);
            sum += __shfl_xor_sync(0xffffffff, sum, 2);
            const float inverse = sum > 0 ? 1 / sum : 0, max = P_LARGEST<T> - (P_LARGEST<T> - m[y][i]);
            l[y][i] = (max + log2f(ldexpf(sum, -P_LARGEST<T>))) * LN_2;
#pragma unroll
            for (int x = 0; x < D / MMA_N; x++) {
                o[y][x][2 * i] *= inverse;
                o[y][x][2 * i + 1] *= inverse;
            }
        }
}

// [store_rows] Stores a warp's rows of O, row `first` first, as far as there are so many, and their log-sum-exp.
template <int D, int ROWS, typename T>
__device__ __forceinline__ void store_rows(T *O,        // [packed, n, D]
                                           float *lse,  // [packed, n], or NULL
                                           const float o[ROWS][D / MMA_N][4], const float l[ROWS][2], int first,
                                           int packed, int n, int lane)
{
#pragma unroll
    for (int y = 0; y < ROWS; y++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int row = first + y * MMA_M + lane / 4 + i * 8, place = place_of(row, packed, n);
            if (lse && row < packed * n && lane % 4 == 0)
                lse[place] = l[y][i];
#pragma unroll
            for (int x = 0; x < D / MMA_N; x += 4) {
                // Four lanes share a row of a tile. Of four tiles, each of them gets the whole row of one.
                alignas(16) uint32_t pairs[4];
                for (int of = 0; of < 4; of++)
                    pairs[of] = pack(o[y][x + of][2 * i], o[y][x + of][2 * i + 1], T());
                gather_row(pairs);
                if (row < packed * n)
                    ((uint4 *)&O[(size_t)place * D])[x + lane % 4] = *(const uint4 *)pairs;
            }
        }
}

// [store_part] Stores a warp's rows of O in fp32, as far as there are `count`, and their log-sum-exp; place(row): where.
template <int D, int ROWS, int PITCH, typename F>
__device__ __forceinline__ void store_part(float *O,  // PITCH elements from row to row
                                           float *lse, const float o[ROWS][D / MMA_N][4], const float l[ROWS][2],
                                           int lane, F place)
{
#pragma unroll
    for (int y = 0; y < ROWS; y++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int to = place(y * MMA_M + lane / 4 + i * 8);
            if (to >= 0 && lane % 4 == 0)
                lse[to] = l[y][i];
#pragma unroll
            for (int x = 0; x < D / MMA_N; x++)
                if (to >= 0)
                    *(float2 *)&O[(size_t)to * PITCH + x * MMA_N + lane % 4 * 2] = make_float2(o[y][x][2 * i],
                                                                                               o[y][x][2 * i + 1]);
        }
}

// [merge_parts] One element of a row of O from those of its parts, which lie O_stride apart: each counts by its share of the sum of
// all, exp(its log-sum-exp). These lie lse_stride apart. Sets *lse to that of all parts. COUNT parts are loaded together.
template <int COUNT>
__device__ __forceinline__ float merge_parts(const float *O_part, size_t O_stride, const float *lse_part,
                                             size_t lse_stride, int parts, float *lse)
{
    float largest = -FLT_MAX, sum = 0, sum_O = 0;  // not −∞: where no part has a key, −∞ less −∞ would be no number
    for (int first = 0; first < parts; first += COUNT) {
        float log_sum[COUNT], o[COUNT], before = largest;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            log_sum[i] = first + i < parts ? lse_part[(first + i) * lse_stride] : -INFINITY;
            o[i] = first + i < parts ? O_part[(first + i) * O_stride] : 0;
        }
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
    }
    *lse = largest + logf(sum);
    return sum > 0 ? sum_O / sum : 0;
}

// [kernel]
template <typename T, int D, int ROWS, int KEY_WARPS, int TILE, int BUFFERS, bool Q_STAYS>
__global__ void __launch_bounds__(THREADS, BLOCKS<D, KEY_WARPS>)
    flash_mma_split_keys(const T *Q,                      // [heads, n, D]
                         const T *K, const T *V,          // [heads / heads_per_kv, n_kv, D]
                         T *O, float *lse,                // [heads, n, D], [heads, n]; lse: or NULL
                         float *O_part, float *lse_part,  // [parts, heads, n, D], [parts, heads, n]
                         int n, int n_kv, int heads_per_kv, int packed_heads, int keys, float scale, int offset)
{
    constexpr int WARP_KEYS = TILE / KEY_WARPS;
    const int packed = KEY_WARPS > 1 ? packed_heads : 1;
    extern __shared__ uint4 memory[];
    auto &smem = *(union shared<T, D, ROWS, KEY_WARPS, TILE, BUFFERS, Q_STAYS> *)memory;

    // [index] KEY_WARPS neighbours have the same rows, and of each tile of keys a piece each.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp / KEY_WARPS * ROWS * MMA_M, warp_key = warp % KEY_WARPS * WARP_KEYS;
    const int first_row = (gridDim.y - 1 - blockIdx.y) * BLOCK_ROWS<ROWS, KEY_WARPS>;
    const size_t first_of_heads = (size_t)blockIdx.x * packed * n;  // among the rows of all heads
    const size_t kv_head = (size_t)(blockIdx.x * packed / heads_per_kv) * n_kv * D;
    // [part] The keys of this block: `keys` from `begin` on, as far as one of its rows sees them. There may be none.
    const int begin = blockIdx.z * keys;
    const int last = min(first_row + BLOCK_ROWS<ROWS, KEY_WARPS>, packed * n) - 1;
    const int end = min(min(n_kv, begin + keys), last / packed + offset + 1);

    // [query]
    copy_query<BLOCK_ROWS<ROWS, KEY_WARPS>, D>(smem.Q, &Q[first_of_heads * D], first_row, packed, n);
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

    // [ahead] Tiles of K and of V take turns in a ring of buffers. All buffers but one are on their way before the loop.
    auto *ring = &smem.buffer[Q_STAYS * BLOCK_ROWS<ROWS, KEY_WARPS>];
    for (int i = 0; i < BUFFERS - 1; i++)
        copy_next<D, TILE, BUFFERS>(ring, &K[kv_head], &V[kv_head], i, begin, end);
    for (int tile = begin, i = 0; tile < end; tile += TILE, i += 2) {
        // [wait_K] Keys beyond the last are 0 here, and their scores −∞ below.
        cp_async_wait_group<BUFFERS - 2>();
        __syncthreads();  // Q and the tile of K are whole, and every warp has read the tile of V before
        copy_next<D, TILE, BUFFERS>(ring, &K[kv_head], &V[kv_head], i + BUFFERS - 1, begin, end);
        float s[ROWS][WARP_KEYS / MMA_N][4] = {};
        scores<D, ROWS, WARP_KEYS, Q_STAYS>(s, q, &smem.Q[warp_row], &ring[i % BUFFERS * TILE + warp_key], lane);
        if (tile + TILE > min(end, (first_row + warp_row) / packed + offset + 1))
            mask<ROWS, WARP_KEYS>(s, first_row + warp_row, packed, tile + warp_key, end, offset, lane);
        uint32_t p[ROWS][WARP_KEYS / MMA_K][4];
        softmax<T, D, ROWS, WARP_KEYS>(p, m, l, o, s, scale);

        // [wait_V]
        cp_async_wait_group<BUFFERS - 2>();
        __syncthreads();  // the tile of V is whole, and every warp has read that of K
        copy_next<D, TILE, BUFFERS>(ring, &K[kv_head], &V[kv_head], i + BUFFERS, begin, end);
        add_output<D, ROWS, WARP_KEYS>(o, p, &ring[(i + 1) % BUFFERS * TILE + warp_key], lane);
    }
    divide_by_sum<T, D, ROWS>(o, m, l);
    // [finish] A row's only result is stored as it is, and a part of it in fp32, to be merged.
    const size_t part = (size_t)blockIdx.z * gridDim.x * packed * n + first_of_heads;
    if (KEY_WARPS > 1) {
        cp_async_wait_group<0>();  // for the zeros behind the last tile
        __syncthreads();           // every warp has read the last tiles, which the parts replace
        store_part<D, ROWS, D + VECTOR>(smem.part.O[warp % KEY_WARPS][0], smem.part.lse[warp % KEY_WARPS], o, l, lane,
                                        [](int row) { return row; });
        __syncthreads();  // every warp's part is there
        for (int i = threadIdx.x; i < (last - first_row + 1) * D; i += THREADS) {
            const int row = i / D, col = i % D, to = place_of(first_row + row, packed, n);
            float lse_of_all;
            const float of_all = merge_parts<KEY_WARPS>(&smem.part.O[0][row][col], ROWS * MMA_M * (D + VECTOR),
                                                        &smem.part.lse[0][row], ROWS * MMA_M, KEY_WARPS, &lse_of_all);
            if (gridDim.z == 1)
                O[(first_of_heads + to) * D + col] = T(of_all);
            else
                O_part[(part + to) * D + col] = of_all;
            float *const lse_to = gridDim.z == 1 ? lse ? &lse[first_of_heads] : NULL : &lse_part[part];
            if (lse_to && col == 0)
                lse_to[to] = lse_of_all;
        }
    } else if (gridDim.z == 1)
        store_rows<D, ROWS>(&O[first_of_heads * D], lse ? &lse[first_of_heads] : NULL, o, l, first_row + warp_row,
                            packed, n, lane);
    else
        store_part<D, ROWS, D>(&O_part[part * D], &lse_part[part], o, l, lane, [=](int row) {
            return first_row + warp_row + row > last ? -1 : place_of(first_row + warp_row + row, packed, n);
        });
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
    if (row < rows) {
        float lse_of_all;
        O[i] = T(merge_parts<16>(&O_part[i], (size_t)rows * D, &lse_part[row], rows, parts, &lse_of_all));
        if (lse && i % D == 0)
            lse[row] = lse_of_all;
    }
}

// [launch]
enum { WHOLE, SPLIT_BLOCKS, SPLIT_WARPS, PACKED, X1, X2, X3, X4 };

// Whether rows are so few that the warps of a block divide the keys.
static bool rows_are_few(const struct attention_args *args)
{
    const int group = args->variant >= PACKED ? args->heads / args->kv_heads : 1;
    return args->variant >= SPLIT_WARPS && args->seqlen * group <= FEW_ROWS;
}

// Heads whose rows share a tile: all that share K and V, where one head's rows would leave most of a tile empty.
static int packed_heads(const struct attention_args *args)
{
    return args->variant >= PACKED && rows_are_few(args) ? args->heads / args->kv_heads : 1;
}

// [division] How the rows and keys of these arguments are divided among blocks, of which an SM holds so many.
struct division {
    int packed, row_tiles;  // heads whose rows share a tile, and such tiles
    int keys, blocks;       // keys of a block, and so many blocks for each tile of rows
    int parts;              // of the keys: each warp that has keys of its own finds one
};

static struct division divide(const struct attention_args *args, int block_rows, int key_warps, int tile,
                              int blocks_of_sm)
{
    int device = 0, sms = 1;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    const int packed = packed_heads(args), heads = args->batch * args->heads / packed;
    const int row_tiles = ceil_div(args->seqlen * packed, block_rows), key_tiles = ceil_div(args->kv_seqlen, tile);
    // [parts] As many as fill the SMs once: more would run one after the other, and be merged nevertheless.
    const int slots = args->head_dim > 64 ? args->variant == X1 ? 3 : 2 : args->variant == X1 ? 4 : 3;
    const int wanted = args->variant == WHOLE ? 1 : sms * (key_warps > 1 ? slots : blocks_of_sm) / (heads * row_tiles);
    const int keys = ceil_div(key_tiles,
                              min(min(max(wanted, 1), MAX_PARTS), ceil_div(key_tiles, args->variant == X4 ? 2 : 1))) *
                     tile;
    const int blocks = ceil_div(args->kv_seqlen, keys);
    return {packed, row_tiles, keys, blocks, blocks};
}

// Launches the kernels, or, where `only` is not NULL, says only how rows and keys would be divided.
template <typename T, int D, int ROWS, int KEY_WARPS, int TILE, int BUFFERS, bool Q_STAYS>
static int start(const struct attention_args *args, cudaStream_t stream, struct division *only)
{
    constexpr int shared_bytes = sizeof(union shared<T, D, ROWS, KEY_WARPS, TILE, BUFFERS, Q_STAYS>);
    const auto kernel = flash_mma_split_keys<T, D, ROWS, KEY_WARPS, TILE, BUFFERS, Q_STAYS>;
    const struct division by = divide(args, BLOCK_ROWS<ROWS, KEY_WARPS>, KEY_WARPS, TILE, BLOCKS<D, KEY_WARPS>);
    const int n = args->seqlen, n_kv = args->kv_seqlen, rows = args->batch * args->heads * n;
    if (only) {
        *only = by;
        return cudaSuccess;
    }
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
    if (status != cudaSuccess)
        return status;
    const dim3 blocks(args->batch * args->heads / by.packed, by.row_tiles, by.blocks);
    const int offset = args->causal ? n_kv - n : n_kv;  // with no mask, more than any row can see
    float *O_part = (float *)args->workspace, *lse_part = O_part + (size_t)by.parts * rows * D;
    kernel<<<blocks, THREADS, shared_bytes, stream>>>(
        (const T *)args->Q, (const T *)args->K, (const T *)args->V, (T *)args->O, args->lse, O_part, lse_part, n, n_kv,
        args->heads / args->kv_heads, by.packed, by.keys, LOG2_E * args->scale, offset);
    if (by.parts > 1 && args->variant == X3)
        cudaFuncSetAttribute(merge<T, D>, cudaFuncAttributePreferredSharedMemoryCarveout, 100);
    else
        cudaFuncSetAttribute(merge<T, D>, cudaFuncAttributePreferredSharedMemoryCarveout, -1);
    if (by.parts > 1)
        merge<T, D><<<((size_t)rows * D + THREADS - 1) / THREADS, THREADS, 0, stream>>>(O_part, lse_part, (T *)args->O,
                                                                                        args->lse, rows, by.parts);
    return cudaGetLastError();
}

template <typename T, int D>
static int few_start(const struct attention_args *args, cudaStream_t stream, struct division *only)
{
    switch (args->variant) {
    case X2: return start<T, D, 1, 4, 128, 3, true>(args, stream, only);
    default: return start<T, D, 1, 4, 128, 2, true>(args, stream, only);
    }
}

template <typename T>
static int start_type(const struct attention_args *args, cudaStream_t stream, struct division *only)
{
    const bool few = rows_are_few(args);
    switch (args->head_dim) {
    case 32: return few ? few_start<T, 32>(args, stream, only) : start<T, 32, 1, 1, 64, 2, false>(args, stream, only);
    case 64: return few ? few_start<T, 64>(args, stream, only) : start<T, 64, 2, 1, 64, 2, false>(args, stream, only);
    case 96: return few ? few_start<T, 96>(args, stream, only) : start<T, 96, 2, 1, 64, 2, true>(args, stream, only);
    case 128: return few ? few_start<T, 128>(args, stream, only) : start<T, 128, 2, 1, 48, 2, true>(args, stream, only);
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

static int parts(const struct attention_args *args)
{
    struct division by = {.parts = 1};
    start_any(args, 0, &by);
    return by.parts;
}

static size_t workspace(const struct attention_args *args)
{
    const size_t rows = (size_t)args->batch * args->heads * args->seqlen, count = parts(args);
    return count > 1 ? count * rows * (args->head_dim + 1) * sizeof(float) : 0;
}

// [main]
static const struct variant variants[] = {
    {"whole", "a block has all keys of its rows, as before"},
    {"split_blocks", "blocks divide the keys, as many as fill the SMs"},
    {"split_warps", "and where rows are few, so do the warps of a block"},
    {"packed", "and heads that share K and V are rows of one tile"},
    {"x1", "x"},
    {"x2", "x"},
    {"x3", "x"},
    {"x4", "x"},
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
        .launch = launch,
    };
    return attention_main(argc, argv, &step);
}

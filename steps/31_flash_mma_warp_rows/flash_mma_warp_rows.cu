// FlashAttention whose warps have 32 rows of Q: each fragment of K and of V, once loaded, serves two tiles of rows.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o flash_mma_warp_rows steps/31_flash_mma_warp_rows/flash_mma_warp_rows.cu common/*.c
//   ./learn run 31

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
    // [with_K]
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
    // [end with_K]
}

// [mask] The scores of a tile's keys, the first of which is key `tile`, become −∞ from key n on: those keys are not there.
template <int ROWS, int TILE>
__device__ __forceinline__ void mask(float s[ROWS][TILE / MMA_N][4], int tile, int n, int lane)
{
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < TILE / MMA_N; x++)
            for (int i = 0; i < 4; i++)
                if (tile + x * MMA_N + lane % 4 * 2 + i % 2 >= n)
                    s[y][x][i] = -INFINITY;
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
    // [with_V]
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
    // [end with_V]
}

// [store_rows] Divides a warp's rows of O by their sums, and stores them, row `first` first, as far as there are so many.
template <int D, int ROWS, typename T>
__device__ __forceinline__ void store_rows(T *O,  // [n, D]
                                           const float o[ROWS][D / MMA_N][4], const float l[ROWS][2], int first, int n,
                                           int lane)
{
#pragma unroll
    for (int y = 0; y < ROWS; y++)
        for (int i = 0; i < 2; i++) {
            float sum = l[y][i];
            sum += __shfl_xor_sync(0xffffffff, sum, 1);
            sum += __shfl_xor_sync(0xffffffff, sum, 2);
            const float inverse = 1 / sum;
            const int row = first + y * MMA_M + lane / 4 + i * 8;
            for (int x = 0; x < D / MMA_N; x += 4) {
                // Four lanes share a row of a tile. Of four tiles, each of them gets the whole row of one.
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
    flash_mma_warp_rows(const T *Q, const T *K, const T *V, T *O,  // each [heads, n, D]
                        int n, float scale)
{
    extern __shared__ uint4 memory[];
    auto &smem = *(union shared<T, D, ROWS, TILE, Q_STAYS> *)memory;

    // [index] A lane holds two neighbours of S and O in row lane / 4 of every tile of 16 × 8, and two in row lane / 4 + 8.
    const int warp_row = threadIdx.x / 32 * ROWS * MMA_M, lane = threadIdx.x % 32;
    const int first_row = blockIdx.x * BLOCK_ROWS<ROWS>;
    const size_t head = (size_t)blockIdx.y * n * D;

    // [query]
    copy_tile<THREADS, BLOCK_ROWS<ROWS>, D>(smem.Q, &Q[head], first_row, n);
    cp_async_wait_group<0>();
    __syncthreads();  // Q is whole before any warp reads it
    uint32_t q[D / MMA_K][ROWS][4];
    for (int d = 0; d < D && !Q_STAYS; d += MMA_K)
        load_query<D, ROWS>(q[d / MMA_K], &smem.Q[warp_row], d, lane);
    __syncthreads();  // every warp has read Q before K replaces it, unless Q stays
    float o[ROWS][D / MMA_N][4] = {};
    float m[ROWS][2];       // the largest scaled score so far in row lane / 4, and in row lane / 4 + 8
    float l[ROWS][2] = {};  // and the sum of this lane's weights there
    for (int y = 0; y < ROWS; y++)
        m[y][0] = m[y][1] = -INFINITY;

    // [stages] K and V have a buffer each. The first tile of K is on its way before the loop.
    auto *K_smem = &smem.buffer[Q_STAYS * BLOCK_ROWS<ROWS>], *V_smem = &K_smem[TILE];
    // [ahead]
    copy_tile<THREADS, TILE, D>(K_smem, &K[head], 0, n);
    for (int tile = 0; tile < n; tile += TILE) {
        // [wait_K] Keys beyond the last are 0 here, and their scores −∞ below.
        cp_async_wait_group<0>();
        __syncthreads();  // the tile of K is whole, and every warp has read the tile of V before
        copy_tile<THREADS, TILE, D>(V_smem, &V[head], tile, n);
        float s[ROWS][TILE / MMA_N][4] = {};
        scores<D, ROWS, TILE, Q_STAYS>(s, q, &smem.Q[warp_row], K_smem, lane);
        if (tile + TILE > n)  // only the last tile may have keys beyond the last
            mask<ROWS, TILE>(s, tile, n, lane);
        uint32_t p[ROWS][TILE / MMA_K][4];
        softmax<T, D, ROWS, TILE>(p, m, l, o, s, scale);

        // [wait_V]
        cp_async_wait_group<0>();
        __syncthreads();  // the tile of V is whole, and every warp has read that of K
        copy_tile<THREADS, TILE, D>(K_smem, &K[head], tile + TILE, n);
        add_output<D, ROWS, TILE>(o, p, V_smem, lane);
    }
    store_rows<D, ROWS>(&O[head], o, l, first_row + warp_row, n, lane);
}

// [launch]
template <typename T, int D, int ROWS, int TILE, bool Q_STAYS>
static int start(const struct attention_args *args, cudaStream_t stream)
{
    constexpr int bytes = sizeof(union shared<T, D, ROWS, TILE, Q_STAYS>);
    const auto kernel = flash_mma_warp_rows<T, D, ROWS, TILE, Q_STAYS>;
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (status != cudaSuccess)
        return status;
    const dim3 blocks(ceil_div(args->seqlen, BLOCK_ROWS<ROWS>), args->batch * args->heads);
    kernel<<<blocks, THREADS, bytes, stream>>>((const T *)args->Q, (const T *)args->K, (const T *)args->V, (T *)args->O,
                                               args->seqlen, LOG2_E * args->scale);
    return cudaGetLastError();
}

// [shapes] The last, of `rows_32`, is chosen. From D 64 on no other is faster on an H200, and at D 32 one is by 1 %.
template <typename T, int D, int ROWS, int TILE, bool Q_STAYS>
static int start_variant(const struct attention_args *args, cudaStream_t stream)
{
    static int (*const starts[])(const struct attention_args *, cudaStream_t) = {
        start<T, D, 1, 64, false>, start<T, D, 2, 32, false>, start<T, D, 2, 64, false>,
        start<T, D, 2, 32, true>,  start<T, D, 2, 64, true>,  start<T, D, ROWS, TILE, Q_STAYS>,
    };
    return starts[args->variant](args, stream);
}

template <typename T>
static int start_type(const struct attention_args *args, cudaStream_t stream)
{
    switch (args->head_dim) {
    case 32: return start_variant<T, 32, 1, 64, false>(args, stream);
    case 64: return start_variant<T, 64, 2, 64, false>(args, stream);
    case 96: return start_variant<T, 96, 2, 64, true>(args, stream);
    case 128: return start_variant<T, 128, 2, 48, true>(args, stream);
    default: return cudaErrorInvalidValue;
    }
}

int launch(const struct attention_args *args, cudaStream_t stream)
{
    return attention_is_plain(args, FP16)   ? start_type<half>(args, stream)
           : attention_is_plain(args, BF16) ? start_type<__nv_bfloat16>(args, stream)
                                            : cudaErrorInvalidValue;
}

// [main]
static const struct variant variants[] = {
    {"rows_16", "16 rows a warp, 64 keys a tile, as before"},
    {"keys_32", "32 rows, 32 keys"},
    {"keys_64", "32 rows, 64 keys"},
    {"q_stays_32", "32 rows, 32 keys, and Q stays in shared memory"},
    {"q_stays_64", "32 rows, 64 keys, and Q stays in shared memory"},
    {"rows_32", "the sizes chosen for each head dimension: from 64 on 32 rows, and above it Q stays in shared memory"},
    {},
};

int main(int argc, char **argv)
{
    const struct attention_step step = {
        .name = "31_flash_mma_warp_rows",
        .dtypes = {FP16, BF16},
        .arch = "80",
        .head_dims = {32, 64, 96, 128},
        .variants = variants,
        .launch = launch,
    };
    return attention_main(argc, argv, &step);
}

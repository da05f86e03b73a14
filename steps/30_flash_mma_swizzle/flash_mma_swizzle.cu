// FlashAttention with swizzled tiles: an XOR of the column with the row keeps ldmatrix free of bank conflicts, with no padding.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o flash_mma_swizzle steps/30_flash_mma_swizzle/flash_mma_swizzle.cu common/*.c
//   ./learn run 30

#include "attention.h"

#include "ptx/cp_async.h"
#include "ptx/ex2.h"
#include "ptx/ldmatrix.h"
#include "ptx/mma.h"
#include "ptx/pair.h"

constexpr int WARPS = 4, THREADS = 32 * WARPS;    // of a block
constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;  // one mma computes 16 × 8 elements, each a sum of 16 products
constexpr int ROWS = 1;                           // tiles of 16 rows of Q that a warp computes
constexpr int BLOCK_ROWS = WARPS * ROWS * MMA_M;  // rows of Q that a block computes, and of O
constexpr int TILE = 64;                          // keys in a tile of K, and of V
constexpr int VECTOR = 8;        // elements in 16 bytes, which is the most that one load or store moves
constexpr float P_LARGEST = 15;  // log2 of the largest P in a row: a half holds no more than 65504

// Blocks that an SM shall hold at least. 4 leave a thread 128 registers, 2 leave it 255.
template <int D> constexpr int BLOCKS = D <= 64 ? 4 : 2;

// [swizzle] The column in shared memory of an element of a tile. Vectors change places within 128 bytes, by the last three
// bits of the row's number; where a row is an odd multiple of 64 bytes, within 64, by the two bits above the last.
template <int D, bool SWIZZLE>
__device__ constexpr int place(int row, int col)
{
    // [place]
    return !SWIZZLE ? col : col ^ (D % 64 == 0 ? row % 8 : row / 2 % 4) * VECTOR;
    // [end place]
}

// [shared] Each buffer holds a tile of K or one of V.
template <int PITCH>
union shared {
    alignas(128) half Q[BLOCK_ROWS][PITCH];  // until its fragments are loaded
    alignas(128) half buffer[2 * TILE][PITCH];
};

// [copy_tile] Begins to copy a matrix's rows from `first` on to a tile; those beyond the last become 0, and nothing is read.
// The copies are one group.
template <int HEIGHT, int D, int PITCH, bool SWIZZLE>
__device__ void copy_tile(half tile[HEIGHT][PITCH],
                          const half *from,  // [n, D]
                          int first, int n)
{
    constexpr int C = D / VECTOR;
    static_assert(HEIGHT * C % THREADS == 0, "each thread copies as many vectors");
#pragma unroll
    for (int begin = 0; begin < HEIGHT * C; begin += THREADS) {
        const int i = begin + threadIdx.x, row = i / C, col = i % C * VECTOR;
        cp_async_16(&tile[row][place<D, SWIZZLE>(row, col)], &from[(size_t)first * D + i * VECTOR],
                    row < n - first ? VECTOR * sizeof(half) : 0);
    }
    cp_async_commit_group();
}

// [load_query] The fragments of a warp's rows of Q, from shared memory to registers.
template <int D, int PITCH, bool SWIZZLE>
__device__ __forceinline__ void load_query(uint32_t q[ROWS][D / MMA_K][4], const half Q[][PITCH], int lane)
{
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < D / MMA_K; x++)
            ldmatrix_x4(q[y][x], &Q[y * MMA_M + lane % 16][place<D, SWIZZLE>(lane % 16, x * MMA_K + lane / 16 * 8)]);
}

// [scores] S = Q Kᵀ, of a warp's rows. A row of K is a column of Kᵀ: without .trans, ldmatrix makes fragments of Kᵀ of it.
template <int D, int PITCH, bool SWIZZLE>
__device__ __forceinline__ void scores(float s[ROWS][TILE / MMA_N][4],  // 0 before
                                       const uint32_t q[ROWS][D / MMA_K][4], const half K[TILE][PITCH], int lane)
{
    const int key_row = lane / 16 * 8 + lane % 8, key_col = lane / 8 % 2 * 8;  // of 16 keys, what this lane addresses
#pragma unroll
    for (int d = 0; d < D; d += MMA_K) {
        uint32_t k[4];
        for (int key = 0; key < TILE; key += 2 * MMA_N) {
            ldmatrix_x4(k, &K[key + key_row][place<D, SWIZZLE>(lane % 8, d + key_col)]);
            for (int y = 0; y < ROWS; y++) {
                mma_m16n8k16(s[y][key / MMA_N], q[y][d / MMA_K], &k[0], half());
                mma_m16n8k16(s[y][key / MMA_N + 1], q[y][d / MMA_K], &k[2], half());
            }
        }
    }
}

// [mask] The scores of a tile's keys, the first of which is key `tile`, become −∞ from key n on: those keys are not there.
template <int D>
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
template <int D>
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
                const float first = ex2(fmaf(s[y][x][2 * i], scale, P_LARGEST - m_new));
                const float second = ex2(fmaf(s[y][x][2 * i + 1], scale, P_LARGEST - m_new));
                l[y][i] += first + second;
                p[y][x / 2][x % 2 * 2 + i] = pack(first, second, half());
            }
            for (int x = 0; x < D / MMA_N; x++) {
                o[y][x][2 * i] *= factor;
                o[y][x][2 * i + 1] *= factor;
            }
        }
}

// [add_output] O += P V. A row of V is a row of B, so ldmatrix transposes its matrices.
template <int D, int PITCH, bool SWIZZLE>
__device__ __forceinline__ void add_output(float o[ROWS][D / MMA_N][4], const uint32_t p[ROWS][TILE / MMA_K][4],
                                           const half V[TILE][PITCH], int lane)
{
#pragma unroll
    for (int key = 0; key < TILE; key += MMA_K)
        for (int col = 0; col < D; col += 2 * MMA_N) {
            uint32_t v[4];
            ldmatrix_x4_trans(v, &V[key + lane % 16][place<D, SWIZZLE>(lane % 16, col + lane / 16 * 8)]);
            for (int y = 0; y < ROWS; y++) {
                mma_m16n8k16(o[y][col / MMA_N], p[y][key / MMA_K], &v[0], half());
                mma_m16n8k16(o[y][col / MMA_N + 1], p[y][key / MMA_K], &v[2], half());
            }
        }
}

// [store_rows] Divides a warp's rows of O by their sums, and stores them, row `first` first, as far as there are so many.
template <int D>
__device__ __forceinline__ void store_rows(half *O,  // [n, D]
                                           const float o[ROWS][D / MMA_N][4], const float l[ROWS][2], int first, int n,
                                           int lane)
{
    for (int y = 0; y < ROWS; y++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            float sum = l[y][i];
            sum += __shfl_xor_sync(0xffffffff, sum, 1);
            sum += __shfl_xor_sync(0xffffffff, sum, 2);
            const float inverse = 1 / sum;
            const int row = first + y * MMA_M + lane / 4 + i * 8;
#pragma unroll
            for (int x = 0; x < D / MMA_N; x += 4) {
                // The four lanes of a row have a pair each of every tile. Of four tiles, a lane gets one whole row.
                alignas(16) uint32_t pairs[4];
                for (int tile = 0; tile < 4; tile++)
                    pairs[tile] = pack(o[y][x + tile][2 * i] * inverse, o[y][x + tile][2 * i + 1] * inverse, half());
                gather_row(pairs);
                if (row < n)
                    ((uint4 *)&O[(size_t)row * D])[x + lane % 4] = *(const uint4 *)pairs;
            }
        }
}

// [kernel]
template <int D, int PITCH, bool SWIZZLE>
__global__ void __launch_bounds__(THREADS, BLOCKS<D>)
    flash_mma_swizzle(const half *Q, const half *K, const half *V, half *O,  // each [heads, n, D]
                      int n, float scale)
{
    extern __shared__ uint4 memory[];
    union shared<PITCH> &smem = *(union shared<PITCH> *)memory;

    // [index] A warp has rows of its own. Its lanes hold S and O as mma does: a lane has two neighbours in row lane / 4 of every
    // tile of 16 × 8, and two in row lane / 4 + 8.
    const int warp_row = threadIdx.x / 32 * ROWS * MMA_M, lane = threadIdx.x % 32;
    const int first_row = blockIdx.x * BLOCK_ROWS;
    const size_t head = (size_t)blockIdx.y * n * D;

    // [query]
    copy_tile<BLOCK_ROWS, D, PITCH, SWIZZLE>(smem.Q, &Q[head], first_row, n);
    cp_async_wait_group<0>();
    __syncthreads();  // Q is whole before any warp reads it
    uint32_t q[ROWS][D / MMA_K][4];
    load_query<D, PITCH, SWIZZLE>(q, &smem.Q[warp_row], lane);
    __syncthreads();  // every warp has read Q before K replaces it
    float o[ROWS][D / MMA_N][4] = {};
    float m[ROWS][2];       // the largest scaled score so far in row lane / 4, and in row lane / 4 + 8
    float l[ROWS][2] = {};  // and the sum of this lane's weights there
    for (int y = 0; y < ROWS; y++)
        m[y][0] = m[y][1] = -INFINITY;

    // [ahead] K and V have a buffer each. The first tile of K is on its way before the loop.
    auto *K_smem = smem.buffer, *V_smem = &K_smem[TILE];
    copy_tile<TILE, D, PITCH, SWIZZLE>(K_smem, &K[head], 0, n);
    for (int tile = 0; tile < n; tile += TILE) {
        // [wait_K] Keys beyond the last are 0 here, and their scores −∞ below.
        cp_async_wait_group<0>();
        __syncthreads();  // the tile of K is whole, and every warp has read the tile of V before
        copy_tile<TILE, D, PITCH, SWIZZLE>(V_smem, &V[head], tile, n);
        float s[ROWS][TILE / MMA_N][4] = {};
        scores<D, PITCH, SWIZZLE>(s, q, K_smem, lane);
        if (tile + TILE > n)  // only the last tile may have keys beyond the last
            mask<D>(s, tile, n, lane);
        uint32_t p[ROWS][TILE / MMA_K][4];
        softmax<D>(p, m, l, o, s, scale);

        // [wait_V]
        cp_async_wait_group<0>();
        __syncthreads();  // the tile of V is whole, and every warp has read that of K
        copy_tile<TILE, D, PITCH, SWIZZLE>(K_smem, &K[head], tile + TILE, n);
        add_output<D, PITCH, SWIZZLE>(o, p, V_smem, lane);
    }
    // [store]
    store_rows<D>(&O[head], o, l, first_row + warp_row, n, lane);
    // [end store]
}

// [launch]
enum { UNPADDED, PADDED, SWIZZLED };

template <int D>
static int start(const struct attention_args *args, cudaStream_t stream)
{
    const bool padded = args->variant == PADDED, swizzled = args->variant == SWIZZLED;
    const int bytes = padded ? sizeof(union shared<D + VECTOR>) : sizeof(union shared<D>);
    const auto unpadded = swizzled ? flash_mma_swizzle<D, D, true> : flash_mma_swizzle<D, D, false>;
    const auto kernel = padded ? flash_mma_swizzle<D, D + VECTOR, false> : unpadded;
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (status != cudaSuccess)
        return status;
    const dim3 blocks(ceil_div(args->seqlen, BLOCK_ROWS), args->batch * args->heads);
    kernel<<<blocks, THREADS, bytes, stream>>>((const half *)args->Q, (const half *)args->K, (const half *)args->V,
                                               (half *)args->O, args->seqlen, LOG2_E * args->scale);
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
    {"unpadded", "rows of a tile follow one another: ldmatrix meets bank conflicts"},
    {"padded", "16 bytes lie between the rows"},
    {"swizzled", "vectors change places within their row: no conflicts, and no bytes between"},
    {},
};

int main(int argc, char **argv)
{
    const struct attention_step step = {
        .name = "30_flash_mma_swizzle",
        .dtypes = {FP16},
        .arch = "80",
        .head_dims = {32, 64, 96, 128},
        .variants = variants,
        .launch = launch,
    };
    return attention_main(argc, argv, &step);
}

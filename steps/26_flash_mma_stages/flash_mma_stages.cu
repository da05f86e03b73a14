// FlashAttention whose next tiles of K and V are on their way to shared memory while these are multiplied.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o flash_mma_stages steps/26_flash_mma_stages/flash_mma_stages.cu common/*.c
//   ./learn run 26

#include "attention.h"

#include "ptx/cp_async.h"
#include "ptx/ex2.h"
#include "ptx/ldmatrix.h"
#include "ptx/mma.h"

#include <cuda_fp16.h>

constexpr int WARPS = 4;                          // of a block
constexpr int THREADS = 32 * WARPS;               // of a block
constexpr int MMA_M = 16, MMA_N = 8;              // rows and columns of what one mma computes
constexpr int MMA_K = 16;                         // and the products that it sums for each element
constexpr int ROWS = 1;                           // tiles of 16 rows of Q that a warp computes
constexpr int BLOCK_ROWS = WARPS * ROWS * MMA_M;  // rows of Q that a block computes, and of O
constexpr int VECTOR = 8;        // elements in 16 bytes, which is the most that one load or store moves
constexpr int PAD = VECTOR;      // elements between rows of shared memory: the rows that ldmatrix reads together
                                 // meet different banks
constexpr float P_LARGEST = 15;  // log2 of the largest P in a row: a half holds no more than 65504

// Keys in a tile of K, and of V.
template <int D> constexpr int TILE = D <= 128 ? 64 : 32;

// Blocks that an SM shall hold at least. 4 leave a thread 128 registers, 2 leave it 255.
template <int D> constexpr int BLOCKS = D <= 64 ? 4 : 2;

// [forms]
enum form { ONE_STAGE, TWO_STAGES };

template <enum form F> constexpr int STAGES = F == ONE_STAGE ? 1 : 2;

// [shared] Each stage holds a tile of K and one of V.
template <int D>
struct stage {
    alignas(16) half K[TILE<D>][D + PAD];
    alignas(16) half V[TILE<D>][D + PAD];
};

template <int D, enum form F>
struct shared {
    alignas(16) half Q[BLOCK_ROWS][D + PAD];
    struct stage<D> stage[STAGES<F>];
};

// [copy_tile] Begins to copy the first rows of a tile; those beyond the last of the matrix become 0, and nothing is read.
template <int ROWS, int D>
__device__ void copy_tile(half tile[ROWS][D + PAD],
                          const half *from,  // [count, D]
                          int count)
{
    constexpr int C = D / VECTOR;
    static_assert(ROWS * C % THREADS == 0, "each thread copies as many vectors");
#pragma unroll
    for (int first = 0; first < ROWS * C; first += THREADS) {
        const int i = first + threadIdx.x, row = i / C, col = i % C * VECTOR;
        cp_async_16(&tile[row][col], &from[i * VECTOR], row < count ? VECTOR * sizeof(half) : 0);
    }
}

// [copy_stage] Begins to copy the tiles from a key on, as one group. The copies of Q are in the group of the first tiles.
template <int D>
__device__ void copy_stage(struct stage<D> *to, const half *K, const half *V,  // [n, D]
                           int key, int n)
{
    copy_tile<TILE<D>, D>(to->K, &K[(size_t)key * D], n - key);
    copy_tile<TILE<D>, D>(to->V, &V[(size_t)key * D], n - key);
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
__global__ void __launch_bounds__(THREADS, BLOCKS<D>) flash_mma_stages(const half *Q,  // [heads, n, D]
                                                                       const half *K,  // [heads, n, D]
                                                                       const half *V,  // [heads, n, D]
                                                                       half *O,        // [heads, n, D]
                                                                       int n, float scale)
{
    extern __shared__ uint4 memory[];
    struct shared<D, F> &smem = *(struct shared<D, F> *)memory;

    // [index] A warp has rows of its own. Its lanes hold S and O as mma does: lane l has two neighbours in row l / 4 of every
    // tile of 16 × 8, and two in row l / 4 + 8.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp * ROWS * MMA_M;
    const int first_row = blockIdx.x * BLOCK_ROWS;
    const size_t head = (size_t)blockIdx.y * n * D;

    // [query]
    copy_tile<BLOCK_ROWS, D>(smem.Q, &Q[head + (size_t)first_row * D], n - first_row);
    float o[ROWS][D / MMA_N][4] = {};
    float m[ROWS][2];       // the largest scaled score so far in row l / 4, and in row l / 4 + 8
    float l[ROWS][2] = {};  // and the sum of this lane's weights there
    for (int y = 0; y < ROWS; y++)
        m[y][0] = m[y][1] = -INFINITY;

    // [first_tiles] With two stages, the first tiles are on their way before the loop.
    int stage = 0;  // whose tiles are multiplied
    // [ahead]
    if (STAGES<F> == 2)
        copy_stage(&smem.stage[0], &K[head], &V[head], 0, n);
    // [end ahead]
    for (int tile = 0; tile < n; tile += TILE<D>) {
        // [tiles_ready] Keys beyond the last are 0 here, and their scores −∞ below.
        if (STAGES<F> == 1)
            copy_stage(&smem.stage[0], &K[head], &V[head], tile, n);
        // [wait]
        cp_async_wait_group<0>();
        __syncthreads();  // Q and both tiles are whole, and every warp has read those that the next copies replace
        if (STAGES<F> == 2)
            copy_stage(&smem.stage[1 - stage], &K[head], &V[head], tile + TILE<D>, n);
        // [end wait]

        // [scores] S = Q Kᵀ. A row of K is a column of Kᵀ: without .trans, ldmatrix makes fragments of Kᵀ of it.
        float s[ROWS][TILE<D> / MMA_N][4] = {};
#pragma unroll
        for (int d = 0; d < D; d += MMA_K) {
            uint32_t q[ROWS][4], k[4];
            for (int y = 0; y < ROWS; y++)
                ldmatrix_x4(q[y], &smem.Q[warp_row + y * MMA_M + lane % 16][d + lane / 16 * 8]);
            for (int key = 0; key < TILE<D>; key += 2 * MMA_N) {
                ldmatrix_x4(k, &smem.stage[stage].K[key + lane / 16 * 8 + lane % 8][d + lane / 8 % 2 * 8]);
                for (int y = 0; y < ROWS; y++) {
                    mma_m16n8k16(s[y][key / MMA_N], q[y], &k[0], half());
                    mma_m16n8k16(s[y][key / MMA_N + 1], q[y], &k[2], half());
                }
            }
        }
        if (tile + TILE<D> > n)  // only the last tile may have keys beyond the last
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
                largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1));
                largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 2));
                const float m_new = fmaxf(m[y][i], largest * scale), factor = ex2(m[y][i] - m_new);
                m[y][i] = m_new;
                float sum = 0;
                for (int x = 0; x < TILE<D> / MMA_N; x++) {
                    const float first = ex2(fmaf(s[y][x][2 * i], scale, P_LARGEST - m_new));
                    const float second = ex2(fmaf(s[y][x][2 * i + 1], scale, P_LARGEST - m_new));
                    sum += first + second;
                    p[y][x / 2][x % 2 * 2 + i] = pack(first, second);
                }
                l[y][i] = l[y][i] * factor + sum;
                for (int x = 0; x < D / MMA_N; x++) {
                    o[y][x][2 * i] *= factor;
                    o[y][x][2 * i + 1] *= factor;
                }
            }

        // [output] O += P V. A row of V is a row of B, so ldmatrix transposes its matrices.
#pragma unroll
        for (int key = 0; key < TILE<D>; key += MMA_K)
            for (int col = 0; col < D; col += 2 * MMA_N) {
                uint32_t v[4];
                ldmatrix_x4_trans(v, &smem.stage[stage].V[key + lane % 16][col + lane / 16 * 8]);
                for (int y = 0; y < ROWS; y++) {
                    mma_m16n8k16(o[y][col / MMA_N], p[y][key / MMA_K], &v[0], half());
                    mma_m16n8k16(o[y][col / MMA_N + 1], p[y][key / MMA_K], &v[2], half());
                }
            }
        if (STAGES<F> == 1)
            __syncthreads();  // every warp has read both tiles before the next two replace them
        // [next]
        stage = STAGES<F> - 1 - stage;
        // [end next]
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
            for (int x = 0; x < D / MMA_N && row < n; x++)
                *(uint32_t *)&O[head + (size_t)row * D + x * MMA_N + lane % 4 * 2] = pack(o[y][x][2 * i] * inverse,
                                                                                          o[y][x][2 * i + 1] * inverse);
        }
}

// [launch]
template <int D>
static int start(const struct attention_args *args, cudaStream_t stream)
{
    void (*const kernels[])(const half *, const half *, const half *, half *, int,
                            float) = {flash_mma_stages<D, ONE_STAGE>, flash_mma_stages<D, TWO_STAGES>};
    const int bytes_of[] = {sizeof(struct shared<D, ONE_STAGE>), sizeof(struct shared<D, TWO_STAGES>)};
    const auto kernel = kernels[args->variant];
    const int bytes = bytes_of[args->variant];
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (status != cudaSuccess)
        return status;
    const int n = args->seqlen, tiles = ceil_div(n, BLOCK_ROWS), heads = args->batch * args->heads;
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
    case 256: return start<256>(args, stream);
    default: return cudaErrorInvalidValue;
    }
}

// [main]
static const struct variant variants[] = {
    {"one_stage", "copies and products take turns"},
    {"two_stages", "the next tiles are copied while these are multiplied"},
    {},
};

int main(int argc, char **argv)
{
    const struct attention_step step = {
        .name = "26_flash_mma_stages",
        .dtypes = {FP16},
        .arch = "80",
        .head_dims = {32, 64, 96, 128, 256},
        .variants = variants,
        .launch = launch,
    };
    return attention_main(argc, argv, &step);
}

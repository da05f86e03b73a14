// FlashAttention for head dimensions to 1024: Q, K and V go through shared memory in slices, and the warps divide O's columns.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o flash_mma_tiling_qk steps/35_flash_mma_tiling_qk/flash_mma_tiling_qk.cu common/*.c
//   ./learn run 35 --head-dim 512

#include "attention.h"

#include "ptx/cp_async.h"
#include "ptx/ex2.h"
#include "ptx/ldmatrix.h"
#include "ptx/mma.h"

#include <cuda_fp16.h>

constexpr int WARPS = 8;                      // of a block
constexpr int THREADS = 32 * WARPS;           // of a block
constexpr int MMA_M = 16, MMA_N = 8;          // rows and columns of what one mma computes
constexpr int MMA_K = 16;                     // and the products that it sums for each element
constexpr int VECTOR = 8;                     // elements in 16 bytes, which is the most that one load or store moves
constexpr float P_LARGEST = 15;               // log2 of the largest P in a row: a half holds no more than 65504
constexpr int TILE = 128;                     // keys
constexpr int V_KEYS = 16;                    // keys in a slice of V
constexpr int STAGES = 3;                     // slices in shared memory, of which all but one are on their way
constexpr int KEY_WARPS = 4;                  // the warps divide a tile of S: so many stand side by side,
constexpr int ROW_WARPS = WARPS / KEY_WARPS;  // and so many below one another
constexpr int WARP_KEYS = TILE / KEY_WARPS;   // columns of S that a warp computes

// Rows of Q that a block computes, and of O, whose fp32 sums fill half of an SM's registers: 128 of a thread's 255.
template <int COLS> constexpr int BLOCK_ROWS = COLS <= 512 ? 64 : 32;
template <int COLS> constexpr int WARP_ROWS = BLOCK_ROWS<COLS> / ROW_WARPS;  // rows of S that a warp computes

// The column in shared memory of an element of a tile with so many columns. Vectors change places within 128 bytes.
template <int COLS>
__device__ constexpr int place(int row, int col)
{
    return col ^ (COLS == 16 ? row / 4 % 2 : row % 8) * VECTOR;
}

// [shared] A stage holds `WIDTH` columns of Q and of K, or `V_KEYS` rows of V.
template <int COLS, int WIDTH>
union stage {
    struct {
        alignas(128) half Q[BLOCK_ROWS<COLS>][WIDTH], K[TILE][WIDTH];
    };
    alignas(128) half V[V_KEYS][COLS];
};

template <int COLS, int WIDTH>
struct shared {
    union stage<COLS, WIDTH> stage[STAGES];
    alignas(128) half P[BLOCK_ROWS<COLS>][TILE];
    float partial[KEY_WARPS]
                 [BLOCK_ROWS<COLS>];  // what the warps of a row know of it: their largest score, at the end their sum
    float factor[BLOCK_ROWS<COLS>];   // that O's row is multiplied by
};

// [copy_tile] Begins to copy a tile from a matrix with `d` columns, of which it has `count` rows and `cols` columns; the others
// become 0, and nothing is read.
template <int ROWS, int COLS>
__device__ void copy_tile(half tile[ROWS][COLS], const half *from, int count, int cols, int d)
{
    constexpr int C = COLS / VECTOR;
#pragma unroll
    for (int first = 0; first < ROWS * C; first += THREADS) {
        const int i = first + threadIdx.x, row = i / C, col = i % C * VECTOR;
        // [copy]
        if (ROWS * C % THREADS == 0 || i < ROWS * C)
            cp_async_16(&tile[row][place<COLS>(row, col)], &from[(size_t)row * d + col],
                        row < count && col < cols ? VECTOR * sizeof(half) : 0);
        // [end copy]
    }
}

// What is left to be copied, slice by slice: for each tile of keys the slices of Q and K, then those of V.
struct slices {
    const half *Q, *K, *V;  // [rows, d], [n, d], [n, d]
    int rows, n, d;
    int tile, next;  // the first key, and the number of the slice there, of what is copied next
    int stage;       // where it will lie
};

// [copy_next] Begins to copy the next slice. It is a group, even where nothing is left.
template <int COLS, int WIDTH>
__device__ void copy_next(struct shared<COLS, WIDTH> &smem, struct slices &left)
{
    union stage<COLS, WIDTH> &to = smem.stage[left.stage];
    const int d = left.d, keys = left.n - left.tile, of_qk = (d + WIDTH - 1) / WIDTH;
    if (left.next < of_qk) {
        const int col = left.next * WIDTH;
        copy_tile<BLOCK_ROWS<COLS>, WIDTH>(to.Q, &left.Q[col], left.rows, d - col, d);
        copy_tile<TILE, WIDTH>(to.K, &left.K[(size_t)left.tile * d + col], keys, d - col, d);
    } else {
        const int key = (left.next - of_qk) * V_KEYS;
        copy_tile<V_KEYS, COLS>(to.V, &left.V[(size_t)(left.tile + key) * d], keys - key, d, d);
    }
    cp_async_commit_group();
    left.stage = (left.stage + 1) % STAGES;
    left.next++;
    if (left.next == of_qk + TILE / V_KEYS) {
        left.next = 0;
        left.tile += TILE;
    }
}

// [pack] Two neighbours in a row share a register; the first is in its lower half.
__device__ uint32_t pack(float first, float second)
{
    const half2 both = __floats2half2_rn(first, second);
    return *(const uint32_t *)&both;
}

// [kernel]
template <int COLS, int WIDTH>
__global__ void __launch_bounds__(THREADS) flash_mma_tiling_qk(const half *Q,  // [heads, n, d]
                                                               const half *K,  // [heads, n, d]
                                                               const half *V,  // [heads, n, d]
                                                               half *O,        // [heads, n, d]
                                                               int n, int d, float scale)
{
    constexpr int BLOCK_ROWS = ::BLOCK_ROWS<COLS>, S_ROWS = WARP_ROWS<COLS> / MMA_M, O_ROWS = BLOCK_ROWS / MMA_M;
    constexpr int O_COLS = COLS / WARPS / MMA_N;  // tiles in a row of O that a warp computes
    extern __shared__ uint4 memory[];
    struct shared<COLS, WIDTH> &smem = *(struct shared<COLS, WIDTH> *)memory;

    // [index] S is divided among the warps by rows and by keys. Of O, a warp has an eighth of the columns, in all rows.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int key_warp = warp % KEY_WARPS, warp_key = key_warp * WARP_KEYS;
    const int warp_row = warp / KEY_WARPS * WARP_ROWS<COLS>, warp_col = warp * (COLS / WARPS);
    const int first_row = blockIdx.x * BLOCK_ROWS;
    const size_t head = (size_t)blockIdx.y * n * d;
    float o[O_ROWS][O_COLS][4] = {};
    float m[S_ROWS][2];       // the largest scaled score so far in row l / 4, and in row l / 4 + 8
    float l[S_ROWS][2] = {};  // and the sum of this lane's weights there
    for (int y = 0; y < S_ROWS; y++)
        m[y][0] = m[y][1] = -INFINITY;

    // [ahead] All stages but one are on their way before the loop.
    struct slices left = {&Q[head + (size_t)first_row * d], &K[head], &V[head], n - first_row, n, d};
    for (int i = 0; i < STAGES - 1; i++)
        copy_next(smem, left);
    int stage = 0;
    for (int tile = 0; tile < n; tile += TILE) {
        // [scores] S = Q Kᵀ, slice by slice: what each adds stays in the registers.
        float s[S_ROWS][WARP_KEYS / MMA_N][4] = {};
        for (int col = 0; col < d; col += WIDTH) {
            // [slice_of_QK]
            cp_async_wait_group<STAGES - 2>();
            __syncthreads();  // the slice is whole, and every warp has read the one before
            copy_next(smem, left);
            auto &slice = smem.stage[stage];
            stage = (stage + 1) % STAGES;
            // [end slice_of_QK]
#pragma unroll
            for (int k = 0; k < WIDTH; k += MMA_K) {
                uint32_t q[S_ROWS][4], b[4];
                for (int y = 0; y < S_ROWS; y++)
                    ldmatrix_x4(q[y],
                                &slice.Q[warp_row + y * MMA_M + lane % 16][place<WIDTH>(lane % 16, k + lane / 16 * 8)]);
                for (int key = 0; key < WARP_KEYS; key += 2 * MMA_N) {
                    ldmatrix_x4(b, &slice.K[warp_key + key + lane / 16 * 8 + lane % 8]
                                           [place<WIDTH>(lane % 8 + lane / 16 * 8, k + lane / 8 % 2 * 8)]);
                    for (int y = 0; y < S_ROWS; y++) {
                        mma_m16n8k16(s[y][key / MMA_N], q[y], &b[0], half());
                        mma_m16n8k16(s[y][key / MMA_N + 1], q[y], &b[2], half());
                    }
                }
            }
        }
        if (tile + TILE > n)  // only the last tile may have keys beyond the last
            for (int y = 0; y < S_ROWS; y++)
                for (int x = 0; x < WARP_KEYS / MMA_N; x++)
                    for (int i = 0; i < 4; i++)
                        if (tile + warp_key + x * MMA_N + lane % 4 * 2 + i % 2 >= n)
                            s[y][x][i] = -INFINITY;

        // [max] Four warps have scores of a row: each writes its largest, and reads those of all.
        for (int y = 0; y < S_ROWS; y++)
            for (int i = 0; i < 2; i++) {
                float largest = -INFINITY;
                for (int x = 0; x < WARP_KEYS / MMA_N; x++)
                    largest = fmaxf(largest, fmaxf(s[y][x][2 * i], s[y][x][2 * i + 1]));
                largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1));
                largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 2));
                if (lane % 4 == 0)
                    smem.partial[key_warp][warp_row + y * MMA_M + i * 8 + lane / 4] = largest;
            }
        __syncthreads();  // every warp's largest scores are there

        // [softmax] P goes through shared memory, because each warp needs all of it for its columns of O.
        for (int y = 0; y < S_ROWS; y++)
            for (int i = 0; i < 2; i++) {
                const int row = warp_row + y * MMA_M + i * 8 + lane / 4;
                float largest = -INFINITY;
                for (int w = 0; w < KEY_WARPS; w++)
                    largest = fmaxf(largest, smem.partial[w][row]);
                const float m_new = fmaxf(m[y][i], largest * scale), factor = ex2(m[y][i] - m_new);
                m[y][i] = m_new;
                if (key_warp == 0 && lane % 4 == 0)
                    smem.factor[row] = factor;
                float sum = 0;
                for (int x = 0; x < WARP_KEYS / MMA_N; x++) {
                    const float first = ex2(fmaf(s[y][x][2 * i], scale, P_LARGEST - m_new));
                    const float second = ex2(fmaf(s[y][x][2 * i + 1], scale, P_LARGEST - m_new));
                    sum += first + second;
                    *(uint32_t *)&smem.P[row][place<TILE>(row, warp_key + x * MMA_N) + lane % 4 * 2] = pack(first,
                                                                                                            second);
                }
                l[y][i] = l[y][i] * factor + sum;
            }
        // [rescale]
        __syncthreads();  // P and the factors are whole
        for (int y = 0; y < O_ROWS; y++)
            for (int i = 0; i < 4; i++) {
                const float factor = smem.factor[y * MMA_M + i / 2 * 8 + lane / 4];
                for (int x = 0; x < O_COLS; x++)
                    o[y][x][i] *= factor;
            }
        // [end rescale]

        // [output] O += P V, slice by slice of V.
#pragma unroll 1
        for (int key = 0; key < TILE; key += V_KEYS) {
            // [slice_of_V]
            cp_async_wait_group<STAGES - 2>();
            __syncthreads();  // the slice is whole, and every warp has read the one before
            copy_next(smem, left);
            auto &slice = smem.stage[stage];
            stage = (stage + 1) % STAGES;
            // [end slice_of_V]
            uint32_t p[O_ROWS][4], v[4];
            for (int y = 0; y < O_ROWS; y++)
                ldmatrix_x4(p[y], &smem.P[y * MMA_M + lane % 16][place<TILE>(lane % 16, key + lane / 16 * 8)]);
            for (int x = 0; x < O_COLS; x += 2) {
                ldmatrix_x4_trans(v, &slice.V[lane % 16][place<COLS>(lane % 16, warp_col + x * MMA_N + lane / 16 * 8)]);
                for (int y = 0; y < O_ROWS; y++) {
                    mma_m16n8k16(o[y][x], p[y], &v[0], half());
                    mma_m16n8k16(o[y][x + 1], p[y], &v[2], half());
                }
            }
        }
    }

    // [store] The four warps of a row add their sums up.
    for (int y = 0; y < S_ROWS; y++)
        for (int i = 0; i < 2; i++) {
            float sum = l[y][i];
            sum += __shfl_xor_sync(0xffffffff, sum, 1);
            sum += __shfl_xor_sync(0xffffffff, sum, 2);
            if (lane % 4 == 0)
                smem.partial[key_warp][warp_row + y * MMA_M + i * 8 + lane / 4] = sum;
        }
    __syncthreads();  // every warp's sums are there
#pragma unroll
    for (int y = 0; y < O_ROWS; y++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int row = y * MMA_M + i * 8 + lane / 4;
            float sum = 0;
            for (int w = 0; w < KEY_WARPS; w++)
                sum += smem.partial[w][row];
            const float inverse = 1 / sum;
#pragma unroll
            for (int x = 0; x < O_COLS; x++) {
                const int col = warp_col + x * MMA_N + lane % 4 * 2;
                if (first_row + row < n && col < d)
                    *(uint32_t *)&O[head + (size_t)(first_row + row) * d + col] = pack(o[y][x][2 * i] * inverse,
                                                                                       o[y][x][2 * i + 1] * inverse);
            }
        }
}

// [launch]
template <int COLS>
static size_t bytes_of(int variant)
{
    return variant == 1 ? sizeof(struct shared<COLS, 64>) : sizeof(struct shared<COLS, 16>);
}

template <int COLS>
static int start(const struct attention_args *args, cudaStream_t stream)
{
    const auto kernel = args->variant == 1 ? flash_mma_tiling_qk<COLS, 64> : flash_mma_tiling_qk<COLS, 16>;
    const int bytes = bytes_of<COLS>(args->variant);
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (status != cudaSuccess)
        return status;
    const int n = args->seqlen, tiles = ceil_div(n, BLOCK_ROWS<COLS>), heads = args->batch * args->heads;
    const dim3 blocks(tiles, heads);
    const float scale = 1.44269504f * args->scale;  // exp(x) is exp2(x log2 e)
    kernel<<<blocks, THREADS, bytes, stream>>>((const half *)args->Q, (const half *)args->K, (const half *)args->V,
                                               (half *)args->O, n, args->head_dim, scale);
    return cudaGetLastError();
}

// [capacities] The columns that a kernel is compiled for. Of larger ones than D has, the others are 0.
struct capacity {
    int cols;
    int (*start)(const struct attention_args *args, cudaStream_t stream);
    size_t (*bytes)(int variant);
};

static const struct capacity capacities[] = {
    {128, start<128>, bytes_of<128>}, {256, start<256>, bytes_of<256>}, {384, start<384>, bytes_of<384>},
    {512, start<512>, bytes_of<512>}, {768, start<768>, bytes_of<768>}, {1024, start<1024>, bytes_of<1024>},
};

static const struct capacity *capacity_for(int d)
{
    const struct capacity *capacity = capacities;
    while (capacity->cols < d)
        capacity++;
    return capacity;
}

int launch(const struct attention_args *args, cudaStream_t stream)
{
    const int d = args->head_dim;
    if (!attention_is_plain(args, FP16) || d > 1024 || d % MMA_K != 0)
        return cudaErrorInvalidValue;
    return capacity_for(d)->start(args, stream);
}

static size_t shared_bytes(const struct attention_args *args)
{
    return capacity_for(args->head_dim)->bytes(args->variant);
}

// [main]
static const struct variant variants[] = {
    {"slices_of_16", "a slice of Q and K has 16 columns, as one mma takes"},
    {"slices_of_64", "a slice of Q and K has 64 columns, so that fewer barriers stand between the products"},
    {},
};

int main(int argc, char **argv)
{
    const struct attention_step step = {
        .name = "35_flash_mma_tiling_qk",
        .dtypes = {FP16},
        .arch = "80",
        .max_head_dim = 1024,
        .head_dim_unit = 16,
        .variants = variants,
        .shared = shared_bytes,
        .launch = launch,
    };
    return attention_main(argc, argv, &step);
}

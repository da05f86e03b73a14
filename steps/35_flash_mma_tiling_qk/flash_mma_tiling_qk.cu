// FlashAttention for head dimensions to 1024: Q, K and V go through shared memory in slices, and the warps divide O's columns.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o flash_mma_tiling_qk steps/35_flash_mma_tiling_qk/flash_mma_tiling_qk.cu common/*.c
//   ./learn run 35 --head-dim 512

#include "attention.h"

#include "ptx/cp_async.h"
#include "ptx/ex2.h"
#include "ptx/ldmatrix.h"
#include "ptx/mma.h"
#include "ptx/pair.h"

constexpr int WARPS = 8, THREADS = 32 * WARPS;    // of a block
constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;  // one mma computes 16 × 8 elements, each a sum of 16 products
constexpr int VECTOR = 8;                     // elements in 16 bytes, which is the most that one load or store moves
constexpr int TILE = 128, V_KEYS = 16;        // keys in a tile of K, and in a slice of V
constexpr int STAGES = 3;                     // slices in shared memory, of which all but one are on their way
constexpr int KEY_WARPS = 4;                  // the warps divide a tile of S: so many stand side by side,
constexpr int ROW_WARPS = WARPS / KEY_WARPS;  // and so many below one another

// Rows of Q that a block computes, and of O, whose fp32 sums fill half of an SM's registers: 128 of a thread's 255.
template <int COLS> constexpr int BLOCK_ROWS = COLS <= 512 ? 64 : 32;

// Tiles of mma that a warp computes, below one another and side by side, of S and of O.
template <int COLS> constexpr int S_ROWS = BLOCK_ROWS<COLS> / ROW_WARPS / MMA_M;
constexpr int WARP_KEYS = TILE / KEY_WARPS, S_COLS = WARP_KEYS / MMA_N;
template <int COLS> constexpr int O_ROWS = BLOCK_ROWS<COLS> / MMA_M;
template <int COLS> constexpr int O_COLS = COLS / WARPS / MMA_N;

// log2 of the largest P in a row: a half holds no more than 65504, and a bf16 as much as an fp32.
template <class T> constexpr float P_LARGEST = 15;
template <> constexpr float P_LARGEST<__nv_bfloat16> = 0;

// The column in shared memory of an element of a tile with so many columns. Vectors change places within 128 bytes.
template <int COLS>
__device__ constexpr int place(int row, int col)
{
    return col ^ (COLS == 16 ? row / 4 % 2 : row % 8) * VECTOR;
}

// [shared] A slice is `WIDTH` columns of Q and of K, or `V_KEYS` rows of V.
template <class T, int COLS, int WIDTH>
union slice {
    struct {
        alignas(128) T Q[BLOCK_ROWS<COLS>][WIDTH], K[TILE][WIDTH];
    };
    alignas(128) T V[V_KEYS][COLS];
};

template <class T, int COLS, int WIDTH>
struct shared {
    union slice<T, COLS, WIDTH> stage[STAGES];
    alignas(128) T P[BLOCK_ROWS<COLS>][TILE];
    float partial[KEY_WARPS][BLOCK_ROWS<COLS>];  // a warp's largest score in a row, at the end its sum of weights
    float factor[BLOCK_ROWS<COLS>];              // that O's row is multiplied by
};

// [copy_tile] Begins to copy a tile from a matrix with `d` columns, of which it has `count` rows and `cols` columns; the others
// become 0, and nothing is read.
template <class T, int ROWS, int COLS>
__device__ __forceinline__ void copy_tile(T (&to)[ROWS][COLS], const T *from, int count, int cols, int d)
{
    constexpr int C = COLS / VECTOR;
#pragma unroll
    for (int first = 0; first < ROWS * C; first += THREADS) {
        const int i = first + threadIdx.x, row = i / C, col = i % C * VECTOR;
        // [copy]
        if (ROWS * C % THREADS == 0 || i < ROWS * C)
            cp_async_16(&to[row][place<COLS>(row, col)], &from[(size_t)row * d + col],
                        row < count && col < cols ? VECTOR * sizeof(T) : 0);
        // [end copy]
    }
}

// [slices] What is left to be copied, slice by slice: for each tile of keys the slices of Q and K, then those of V.
template <class T>
struct slices {
    const T *Q, *K, *V;  // [rows, d], [n, d], [n, d]
    int rows, n, d;
    int tile, next;  // the first key, and the number of the slice there, of what is copied next
    int stage;       // where it will lie
};

// [copy_next] Begins to copy the next slice. It is a group, even where nothing is left.
template <class T, int COLS, int WIDTH>
__device__ __forceinline__ void copy_next(struct shared<T, COLS, WIDTH> &smem, struct slices<T> &left)
{
    auto &to = smem.stage[left.stage];
    const int d = left.d, keys = left.n - left.tile, of_qk = (d + WIDTH - 1) / WIDTH;
    if (left.next < of_qk) {
        const int col = left.next * WIDTH;
        copy_tile(to.Q, &left.Q[col], left.rows, d - col, d);
        copy_tile(to.K, &left.K[(size_t)left.tile * d + col], keys, d - col, d);
    } else {
        const int key = (left.next - of_qk) * V_KEYS;
        copy_tile(to.V, &left.V[(size_t)(left.tile + key) * d], keys - key, d, d);
    }
    cp_async_commit_group();
    left.stage = (left.stage + 1) % STAGES;
    left.next++;
    if (left.next == of_qk + TILE / V_KEYS) {
        left.next = 0;
        left.tile += TILE;
    }
}

// The row of a warp, of the two that a lane holds of tile row y, and the first of two columns that it holds of tile column x.
__device__ __forceinline__ int row_of(int y, int i, int lane) { return y * MMA_M + i * 8 + lane / 4; }
__device__ __forceinline__ int col_of(int x, int lane) { return x * MMA_N + lane % 4 * 2; }

// [scores] S += Q Kᵀ, of the columns in a slice, for a warp's rows and keys.
template <class T, int COLS, int WIDTH>
__device__ __forceinline__ void scores(float s[S_ROWS<COLS>][S_COLS][4], const T Q[][WIDTH], const T K[][WIDTH],
                                       int lane)
{
    const int key_row = lane / 16 * 8 + lane % 8, key_col = lane / 8 % 2 * 8;  // of 16 keys, what this lane addresses
#pragma unroll
    for (int col = 0; col < WIDTH; col += MMA_K) {
        uint32_t q[S_ROWS<COLS>][4], k[4];
        for (int y = 0; y < S_ROWS<COLS>; y++)
            ldmatrix_x4(q[y], &Q[y * MMA_M + lane % 16][place<WIDTH>(lane % 16, col + lane / 16 * 8)]);
        for (int key = 0; key < WARP_KEYS; key += 2 * MMA_N) {
            ldmatrix_x4(k, &K[key + key_row][place<WIDTH>(key_row, col + key_col)]);
            for (int y = 0; y < S_ROWS<COLS>; y++) {
                mma_m16n8k16(s[y][key / MMA_N], q[y], &k[0], T());
                mma_m16n8k16(s[y][key / MMA_N + 1], q[y], &k[2], T());
            }
        }
    }
}

// [mask] The scores of all but the first `keys` of a warp's keys become −∞.
template <int COLS>
__device__ __forceinline__ void mask(float s[S_ROWS<COLS>][S_COLS][4], int keys, int lane)
{
    for (int y = 0; y < S_ROWS<COLS>; y++)
        for (int x = 0; x < S_COLS; x++)
            for (int i = 0; i < 4; i++)
                if (col_of(x, lane) + i % 2 >= keys)
                    s[y][x][i] = -INFINITY;
}

// [largest_scores] Four warps have scores of a row: each stores its largest.
template <int COLS>
__device__ __forceinline__ void largest_scores(float partial[], const float s[S_ROWS<COLS>][S_COLS][4], int lane)
{
    for (int y = 0; y < S_ROWS<COLS>; y++)
        for (int i = 0; i < 2; i++) {
            float largest = -INFINITY;
            for (int x = 0; x < S_COLS; x++)
                largest = fmaxf(largest, fmaxf(s[y][x][2 * i], s[y][x][2 * i + 1]));
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1));
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 2));
            if (lane % 4 == 0)
                partial[row_of(y, i, lane)] = largest;
        }
}

// [weights] P goes through shared memory, because each warp needs all of it for its columns of O.
template <class T, int COLS, int WIDTH>
__device__ __forceinline__ void weights(struct shared<T, COLS, WIDTH> &smem, float m[S_ROWS<COLS>][2],
                                        float l[S_ROWS<COLS>][2], const float s[S_ROWS<COLS>][S_COLS][4], int warp_row,
                                        int warp_key, int lane, float scale)
{
    for (int y = 0; y < S_ROWS<COLS>; y++)
        for (int i = 0; i < 2; i++) {
            const int row = warp_row + row_of(y, i, lane);
            float largest = -INFINITY;
            for (int w = 0; w < KEY_WARPS; w++)
                largest = fmaxf(largest, smem.partial[w][row]);
            const float m_new = fmaxf(m[y][i], largest * scale), factor = ex2(m[y][i] - m_new);
            m[y][i] = m_new;
            if (warp_key == 0 && lane % 4 == 0)
                smem.factor[row] = factor;
            float sum = 0;
            for (int x = 0; x < S_COLS; x++) {
                const float first = ex2(fmaf(s[y][x][2 * i], scale, P_LARGEST<T> - m_new));
                const float second = ex2(fmaf(s[y][x][2 * i + 1], scale, P_LARGEST<T> - m_new));
                sum += first + second;
                *(uint32_t *)&smem.P[row][place<TILE>(row, warp_key + col_of(x, lane))] = pack(first, second, T());
            }
            l[y][i] = l[y][i] * factor + sum;
        }
}

// [rescale] Each row of O is multiplied by its factor.
template <int COLS>
__device__ __forceinline__ void rescale(float o[O_ROWS<COLS>][O_COLS<COLS>][4], const float factors[], int lane)
{
    for (int y = 0; y < O_ROWS<COLS>; y++)
        for (int i = 0; i < 4; i++) {
            const float factor = factors[row_of(y, i / 2, lane)];
            for (int x = 0; x < O_COLS<COLS>; x++)
                o[y][x][i] *= factor;
        }
}

// [add_output] O += P V, of the keys in a slice of V, for a warp's columns.
template <class T, int COLS>
__device__ __forceinline__ void add_output(float o[O_ROWS<COLS>][O_COLS<COLS>][4], const T P[][TILE], const T V[][COLS],
                                           int key, int warp_col, int lane)
{
    uint32_t p[O_ROWS<COLS>][4], v[4];
    for (int y = 0; y < O_ROWS<COLS>; y++)
        ldmatrix_x4(p[y], &P[y * MMA_M + lane % 16][place<TILE>(lane % 16, key + lane / 16 * 8)]);
    for (int x = 0; x < O_COLS<COLS>; x += 2) {
        ldmatrix_x4_trans(v, &V[lane % 16][place<COLS>(lane % 16, warp_col + x * MMA_N + lane / 16 * 8)]);
        for (int y = 0; y < O_ROWS<COLS>; y++) {
            mma_m16n8k16(o[y][x], p[y], &v[0], T());
            mma_m16n8k16(o[y][x + 1], p[y], &v[2], T());
        }
    }
}

// [row_sums] Four warps have weights of a row: each stores their sum.
template <int COLS>
__device__ __forceinline__ void row_sums(float partial[], const float l[S_ROWS<COLS>][2], int lane)
{
    for (int y = 0; y < S_ROWS<COLS>; y++)
        for (int i = 0; i < 2; i++) {
            float sum = l[y][i];
            sum += __shfl_xor_sync(0xffffffff, sum, 1);
            sum += __shfl_xor_sync(0xffffffff, sum, 2);
            if (lane % 4 == 0)
                partial[row_of(y, i, lane)] = sum;
        }
}

// [store_rows] Divides the rows of O by their sums, and stores a warp's columns of them.
template <class T, int COLS>
__device__ __forceinline__ void store_rows(T *O,  // [rows, d]
                                           const float o[O_ROWS<COLS>][O_COLS<COLS>][4],
                                           const float partial[][BLOCK_ROWS<COLS>], int rows, int d, int warp_col,
                                           int lane)
{
#pragma unroll
    for (int y = 0; y < O_ROWS<COLS>; y++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int row = row_of(y, i, lane);
            float sum = 0;
            for (int w = 0; w < KEY_WARPS; w++)
                sum += partial[w][row];
            const float inverse = 1 / sum;
#pragma unroll
            for (int x = 0; x < O_COLS<COLS>; x++) {
                const float *pair = &o[y][x][2 * i];
                const int col = warp_col + col_of(x, lane);
                if (row < rows && col < d)
                    *(uint32_t *)&O[(size_t)row * d + col] = pack(pair[0] * inverse, pair[1] * inverse, T());
            }
        }
}

// [kernel]
template <class T, int COLS, int WIDTH>
__global__ void __launch_bounds__(THREADS)
    flash_mma_tiling_qk(const T *Q, const T *K, const T *V, T *O,  // each [heads, n, d]
                        int n, int d, float scale)
{
    extern __shared__ uint4 memory[];
    struct shared<T, COLS, WIDTH> &smem = *(struct shared<T, COLS, WIDTH> *)memory;

    // [index] S is divided among the warps by rows and by keys. Of O, a warp has an eighth of the columns, in all rows.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, key_warp = warp % KEY_WARPS;
    const int warp_row = warp / KEY_WARPS * S_ROWS<COLS> * MMA_M, warp_key = key_warp * WARP_KEYS;
    const int warp_col = warp * O_COLS<COLS> * MMA_N, first_row = blockIdx.x * BLOCK_ROWS<COLS>;
    const size_t head = (size_t)blockIdx.y * n * d, block = head + (size_t)first_row * d;
    float o[O_ROWS<COLS>][O_COLS<COLS>][4] = {};
    float m[S_ROWS<COLS>][2];       // a row's largest scaled score so far; rows lane / 4 and lane / 4 + 8 of each tile
    float l[S_ROWS<COLS>][2] = {};  // the sum of this lane's weights there
    for (int y = 0; y < S_ROWS<COLS>; y++)
        m[y][0] = m[y][1] = -INFINITY;

    // [loop] All stages but one are on their way before it.
    struct slices<T> left = {&Q[block], &K[head], &V[head], n - first_row, n, d, 0, 0, 0};
    for (int i = 0; i < STAGES - 1; i++)
        copy_next(smem, left);
    int stage = 0;  // whose slice is multiplied
    for (int tile = 0; tile < n; tile += TILE) {
        float s[S_ROWS<COLS>][S_COLS][4] = {};
        for (int col = 0; col < d; col += WIDTH) {
            // [slice_of_QK]
            cp_async_wait_group<STAGES - 2>();
            __syncthreads();  // the slice is whole, and every warp has read the one before
            copy_next(smem, left);
            auto &slice = smem.stage[stage];
            // [end slice_of_QK]
            stage = (stage + 1) % STAGES;
            scores<T, COLS, WIDTH>(s, &slice.Q[warp_row], &slice.K[warp_key], lane);
        }
        if (tile + TILE > n)  // only the last tile may have keys beyond the last
            mask<COLS>(s, n - tile - warp_key, lane);
        largest_scores<COLS>(&smem.partial[key_warp][warp_row], s, lane);
        __syncthreads();  // every warp's largest scores are there
        weights(smem, m, l, s, warp_row, warp_key, lane, scale);
        // [factors]
        __syncthreads();  // P and the factors are whole
        rescale<COLS>(o, smem.factor, lane);
        // [end factors]
#pragma unroll 1
        for (int key = 0; key < TILE; key += V_KEYS) {
            // [slice_of_V]
            cp_async_wait_group<STAGES - 2>();
            __syncthreads();  // the slice is whole, and every warp has read the one before
            copy_next(smem, left);
            auto &slice = smem.stage[stage];
            // [end slice_of_V]
            stage = (stage + 1) % STAGES;
            add_output<T, COLS>(o, smem.P, slice.V, key, warp_col, lane);
        }
    }
    row_sums<COLS>(&smem.partial[key_warp][warp_row], l, lane);
    __syncthreads();  // every warp's sums are there
    store_rows<T, COLS>(&O[block], o, smem.partial, n - first_row, d, warp_col, lane);
}

// [capacities] What is compiled for O of `cols` columns. D may have fewer: the others are 0.
template <class T>
struct capacity {
    int cols, rows, bytes;  // of shared memory, in a block
    void (*kernel)(const T *Q, const T *K, const T *V, T *O, int n, int d, float scale);
};

template <class T, int COLS, int WIDTH>
constexpr struct capacity<T> OF = {
    COLS, BLOCK_ROWS<COLS>, sizeof(struct shared<T, COLS, WIDTH>), flash_mma_tiling_qk<T, COLS, WIDTH>
};
template <class T, int WIDTH>
constexpr struct capacity<T> CAPACITIES[] = {
    OF<T, 128, WIDTH>, OF<T, 256, WIDTH>, OF<T, 384, WIDTH>, OF<T, 512, WIDTH>, OF<T, 768, WIDTH>, OF<T, 1024, WIDTH>
};

// [launch]
enum { SLICES_OF_16, SLICES_OF_64 };

template <class T>
static const struct capacity<T> *capacity_for(const struct attention_args *args)
{
    const struct capacity<T> *capacity = args->variant == SLICES_OF_64 ? CAPACITIES<T, 64> : CAPACITIES<T, 16>;
    while (capacity->cols < args->head_dim)
        capacity++;
    return capacity;
}

template <class T>
static int start(const struct attention_args *args, cudaStream_t stream)
{
    const struct capacity<T> *capacity = capacity_for<T>(args);
    const auto kernel = capacity->kernel;
    const int bytes = capacity->bytes;
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (status != cudaSuccess)
        return status;
    const dim3 blocks(ceil_div(args->seqlen, capacity->rows), args->batch * args->heads);
    kernel<<<blocks, THREADS, bytes, stream>>>((const T *)args->Q, (const T *)args->K, (const T *)args->V, (T *)args->O,
                                               args->seqlen, args->head_dim, LOG2_E * args->scale);
    return cudaGetLastError();
}

int launch(const struct attention_args *args, cudaStream_t stream)
{
    if (args->head_dim > 1024 || args->head_dim % MMA_K != 0)
        return cudaErrorInvalidValue;
    if (attention_is_plain(args, FP16))
        return start<half>(args, stream);
    return attention_is_plain(args, BF16) ? start<__nv_bfloat16>(args, stream) : cudaErrorInvalidValue;
}

static size_t shared_bytes(const struct attention_args *args) { return capacity_for<half>(args)->bytes; }

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
        .dtypes = {FP16, BF16},
        .arch = "80",
        .max_head_dim = 1024,
        .head_dim_unit = 16,
        .variants = variants,
        .shared = shared_bytes,
        .launch = launch,
    };
    return attention_main(argc, argv, &step);
}

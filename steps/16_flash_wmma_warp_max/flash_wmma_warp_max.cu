// O = softmax(Q Kᵀ / √D) V in one kernel, on the tensor cores: the 16 rows of a warp share one max, and so one factor.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o warp_max steps/16_flash_wmma_warp_max/flash_wmma_warp_max.cu common/*.c
//   ./learn run 16

#include "attention.h"

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int FRAGMENT = 16;     // rows and columns of a fragment, and rows of Q that a warp computes
constexpr int STRIPS = 2;        // lanes that share a row of scores
constexpr int VECTOR = 8;        // elements in 16 bytes, which is the most that one load or store moves
constexpr float P_LARGEST = 15;  // log2 of the largest P in 16 rows: a half holds no more than 65504
constexpr float RANGE = 9;       // log2 of how far below it the largest P of a row may be

// Keys in a tile of K, and of V.
template <int D> constexpr int TILE = D <= 64 ? 64 : 32;

// [shared] PAD elements between the rows let the rows that are read together meet different banks. A fragment's first
// element has to lie at a multiple of 32 bytes, and its rows a multiple of 16 bytes apart.
template <int D, int WARPS, int PAD> struct shared {
    union {
        alignas(32) half Q[WARPS * FRAGMENT][D + PAD];  // until its fragments are loaded
        struct {
            alignas(32) half K[TILE<D>][D + PAD];
            alignas(32) half V[TILE<D>][D + PAD];
        };
    };
    struct {
        union {
            alignas(32) float S[FRAGMENT][TILE<D> + PAD];
            alignas(32) half P[FRAGMENT][TILE<D> + PAD];  // takes the place of S
        };
        alignas(32) float factor[FRAGMENT];
    } warp[WARPS];
};

// [load_tile] Rows of d columns become rows of D, with zeros behind them. Rows beyond the last, the count-th, are copies of
// it: they change no max. Only where d is a multiple of 8 do all rows begin at multiples of 16 bytes.
template <int ROWS, int D, int WARPS, int PAD>
__device__ void load_tile(half tile[ROWS][D + PAD],
                          const half *from,  // [count, d]
                          int count, int d)
{
    constexpr int THREADS = 32 * WARPS, C = D / VECTOR;
    if (d % VECTOR == 0)
        for (int first = 0; first < ROWS * C; first += THREADS) {
            const int i = first + threadIdx.x, row = min(i / C, count - 1), col = i % C * VECTOR;
            if (i < ROWS * C)
                *(uint4 *)&tile[i / C][col] = col < d ? *(const uint4 *)&from[row * d + col] : make_uint4(0, 0, 0, 0);
        }
    else
        for (int i = threadIdx.x; i < ROWS * D; i += THREADS)
            tile[i / D][i % D] = i % D < d ? from[min(i / D, count - 1) * d + i % D] : half(0);
}

// [scale_rows] Multiplies each row of O by the factor of its two lanes. With a leading dimension of 0 the factors are every
// column of a fragment, and lie in the lanes as the sums do.
template <typename F, int CHUNKS> __device__ void scale_rows(F (&o)[CHUNKS], float factors[FRAGMENT], float factor)
{
    if (threadIdx.x % STRIPS == 0)
        factors[threadIdx.x % 32 / STRIPS] = factor;
    __syncwarp();  // the factors are whole before the warp reads them
    F f;
    wmma::load_matrix_sync(f, factors, 0, wmma::mem_col_major);
    for (int c = 0; c < CHUNKS; c++)
        for (int i = 0; i < f.num_elements; i++)
            o[c].x[i] *= f.x[i];
}

// [kernel] D is d, rounded up to a multiple of 16.
template <int D, int WARPS, int PAD, bool COALESCED>
__global__ void __launch_bounds__(32 * WARPS, 1) flash_wmma_warp_max(const half *Q,  // [heads, n, d]
                                                                     const half *K,  // [heads, n, d]
                                                                     const half *V,  // [heads, n, d]
                                                                     half *O,        // [heads, n, d]
                                                                     int n, int d, float scale)
{
    constexpr int BLOCK_ROWS = WARPS * FRAGMENT, CHUNKS = D / FRAGMENT, SCORES = TILE<D> / STRIPS / 4;
    extern __shared__ uint4 dynamic[];
    auto &smem = *(struct shared<D, WARPS, PAD> *)dynamic;

    // [index] A warp has 16 rows. Lanes 2 i and 2 i + 1 share row i of its scores: each has every second float4.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = lane / STRIPS, strip = lane % STRIPS;
    const int first_row = blockIdx.x * BLOCK_ROWS;
    const size_t head = (size_t)blockIdx.y * n * d;
    auto &own = smem.warp[warp];

    // [query]
    wmma::fragment<wmma::matrix_a, FRAGMENT, FRAGMENT, FRAGMENT, half, wmma::row_major> q[CHUNKS];
    wmma::fragment<wmma::accumulator, FRAGMENT, FRAGMENT, FRAGMENT, float> o[CHUNKS];
    float row_max = -INFINITY;   // the largest scaled score of the row so far
    float m = -INFINITY, l = 0;  // m is that of all 16 rows
    bool one_max = true;         // for the 16 rows, as long as P can hold them all
    load_tile<BLOCK_ROWS, D, WARPS, PAD>(smem.Q, Q + head + (size_t)first_row * d, n - first_row, d);
    __syncthreads();  // Q is whole before any warp reads it
    for (int c = 0; c < CHUNKS; c++) {
        wmma::load_matrix_sync(q[c], &smem.Q[warp * FRAGMENT][c * FRAGMENT], D + PAD);
        wmma::fill_fragment(o[c], 0);
    }
    __syncthreads();  // every warp has read Q before K and V replace it

    for (int tile = 0; tile < n; tile += TILE<D>) {
        // [load] The scores of keys beyond the last are −∞ below.
        load_tile<TILE<D>, D, WARPS, PAD>(smem.K, K + head + (size_t)tile * d, n - tile, d);
        load_tile<TILE<D>, D, WARPS, PAD>(smem.V, V + head + (size_t)tile * d, n - tile, d);
        __syncthreads();  // both tiles are whole before any warp reads them

        // [scores] S = Q Kᵀ, 16 keys at a time: a column of Kᵀ is a row of K.
        for (int key = 0; key < TILE<D>; key += FRAGMENT) {
            wmma::fragment<wmma::accumulator, FRAGMENT, FRAGMENT, FRAGMENT, float> s;
            wmma::fragment<wmma::matrix_b, FRAGMENT, FRAGMENT, FRAGMENT, half, wmma::col_major> k;
            wmma::fill_fragment(s, 0);
            for (int c = 0; c < CHUNKS; c++) {
                wmma::load_matrix_sync(k, &smem.K[key][c * FRAGMENT], D + PAD);
                wmma::mma_sync(s, q[c], k, s);
            }
            wmma::store_matrix_sync(&own.S[0][key], s, TILE<D> + PAD, wmma::mem_row_major);
        }
        __syncwarp();  // the warp's scores are whole before any lane reads them

        // [row_max] One for all 16 rows, unless a row's own is so far below it that the row's smaller P would lose their digits.
        alignas(16) float s[SCORES][4];
        float largest = -INFINITY, sum = 0;
        for (int i = 0; i < SCORES; i++)
            *(float4 *)s[i] = *(const float4 *)&own.S[row][(i * STRIPS + strip) * 4];
        if (tile + TILE<D> > n)  // only the last tile may have keys beyond the last
            for (int i = 0; i < SCORES; i++)
                for (int j = 0; j < 4; j++)
                    if (tile + (i * STRIPS + strip) * 4 + j >= n)
                        s[i][j] = -INFINITY;
        for (int i = 0; i < SCORES; i++)
            for (int j = 0; j < 4; j++)
                largest = fmaxf(largest, s[i][j]);
        row_max = fmaxf(row_max, fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1)) * scale);
        float warp_max = row_max;
        // [max]
        for (int offset = STRIPS; offset < 32; offset *= 2)
            warp_max = fmaxf(warp_max, __shfl_xor_sync(0xffffffff, warp_max, offset));
        // [end max]
        // [vote]
        one_max = one_max && __all_sync(0xffffffff, row_max >= warp_max - RANGE);
        // [end vote]

        // [softmax] The max may have grown: what was summed up under the old one shrinks by `factor`.
        const float m_new = one_max ? warp_max : row_max;
        __syncwarp();  // every lane has read its scores before P replaces them
        for (int i = 0; i < SCORES; i++) {
            alignas(8) half p[4];
            for (int j = 0; j < 4; j++) {
                s[i][j] = exp2f(fmaf(s[i][j], scale, P_LARGEST - m_new));
                sum += s[i][j];
                p[j] = half(s[i][j]);
            }
            *(uint2 *)&own.P[row][(i * STRIPS + strip) * 4] = *(const uint2 *)p;
        }
        const float factor = exp2f(m - m_new);
        l = l * factor + sum + __shfl_xor_sync(0xffffffff, sum, 1);
        m = m_new;

        // [rescale] O = O factor: every element by the one factor, in whatever lane it is; or each row by its own.
        if (one_max)
            for (int c = 0; c < CHUNKS; c++)
                for (int i = 0; i < o[c].num_elements; i++)
                    o[c].x[i] *= factor;
        else
            scale_rows(o, own.factor, factor);
        // [whole]
        __syncwarp();  // P is whole before the warp reads it

        // [output] O = O + P V. Unrolled, the loop over the keys would need more registers, and fewer blocks would fit.
#pragma unroll 1
        for (int key = 0; key < TILE<D>; key += FRAGMENT) {
            wmma::fragment<wmma::matrix_a, FRAGMENT, FRAGMENT, FRAGMENT, half, wmma::row_major> p;
            wmma::fragment<wmma::matrix_b, FRAGMENT, FRAGMENT, FRAGMENT, half, wmma::row_major> v;
            wmma::load_matrix_sync(p, &own.P[0][key], TILE<D> + PAD);
            for (int c = 0; c < CHUNKS; c++) {
                wmma::load_matrix_sync(v, &smem.V[key][c * FRAGMENT], D + PAD);
                wmma::mma_sync(o[c], p, v, o[c]);
            }
        }
        __syncthreads();  // every warp has read both tiles before the next two replace them
    }

    // [store] Divided by its l in the fragments, a row may be stored by any lane.
    scale_rows(o, own.factor, 1 / l);
    for (int c = 0; c < CHUNKS; c++) {
        wmma::store_matrix_sync(&own.S[0][0], o[c], TILE<D> + PAD, wmma::mem_row_major);
        __syncwarp();  // the fragment is whole before any lane reads it
        // [elements]
        for (int i = 0; i < VECTOR; i++) {
            const int y = COALESCED ? 2 * i + lane / FRAGMENT : row;
            const int x = COALESCED ? lane % FRAGMENT : strip * VECTOR + i;
            const int O_row = first_row + warp * FRAGMENT + y, col = c * FRAGMENT + x;
            if (O_row < n && col < d)
                O[head + (size_t)O_row * d + col] = half(own.S[y][x]);
        }
        // [end elements]
        __syncwarp();  // every lane has read its part before the next fragment replaces it
    }
}

// [launch]
template <int D, int WARPS, int PAD, bool COALESCED>
static int start(const struct attention_args *args, cudaStream_t stream)
{
    const auto kernel = flash_wmma_warp_max<D, WARPS, PAD, COALESCED>;
    const int n = args->seqlen, d = args->head_dim, bytes = sizeof(struct shared<D, WARPS, PAD>);
    const dim3 blocks(ceil_div(n, WARPS * FRAGMENT), args->batch * args->heads);
    const float scale = LOG2_E * args->scale;  // exp(x) is exp2(x log2 e)
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) != cudaSuccess)
        return cudaGetLastError();
    kernel<<<blocks, 32 * WARPS, bytes, stream>>>((const half *)args->Q, (const half *)args->K, (const half *)args->V,
                                                  (half *)args->O, n, d, scale);
    return cudaGetLastError();
}

template <int D> static int choose(const struct attention_args *args, cudaStream_t stream)
{
    static const decltype(&launch) variants[] = {start<D, 1, 0, false>,     start<D, 1, 0, true>,
                                                 start<D, 1, VECTOR, true>, start<D, 2, VECTOR, true>,
                                                 start<D, 4, VECTOR, true>, start<D, 8, VECTOR, true>};
    return variants[args->variant](args, stream);
}

int launch(const struct attention_args *args, cudaStream_t stream)
{
    static const decltype(&launch) of_chunks[] = {choose<16>, choose<32>, choose<48>,  choose<64>,
                                                  choose<80>, choose<96>, choose<112>, choose<128>};
    if (!attention_is_plain(args, FP16) || args->head_dim > 128)
        return cudaErrorInvalidValue;
    return of_chunks[(args->head_dim - 1) / FRAGMENT](args, stream);
}

// [main]
static const struct variant variants[] = {
    {"uncoalesced", "a block is one warp; a lane stores elements of one row of O"},
    {"coalesced", "neighbouring lanes store neighbouring elements of O"},
    {"padded", "and the rows that are read together meet different banks"},
    {"two_warps", "and a block is two warps, which share tiles of K and V"},
    {"four_warps", "a block is four warps"},
    {"eight_warps", "a block is eight warps"},
    {},
};

int main(int argc, char **argv)
{
    const struct attention_step step = {
        .name = "16_flash_wmma_warp_max",
        .dtypes = {FP16},
        .arch = "75",
        .max_head_dim = 128,
        .variants = variants,
        .launch = launch,
    };
    return attention_main(argc, argv, &step);
}

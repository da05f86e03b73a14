// O = softmax(Q Kᵀ / √D) V in one kernel, both products on the tensor cores: scores pass through shared memory.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o flash_wmma steps/15_flash_wmma/flash_wmma.cu common/*.c
//   ./learn run 15

#include "attention.h"

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int WARPS = 4;                      // of a block
constexpr int THREADS = 32 * WARPS;           // of a block
constexpr int FRAGMENT = 16;                  // rows and columns of a fragment, and rows of Q that a warp computes
constexpr int BLOCK_ROWS = WARPS * FRAGMENT;  // rows of Q that a block computes
constexpr int STRIPS = 2;                     // lanes that share a row of scores
constexpr int VECTOR = 8;                     // elements in 16 bytes, which is the most that one load or store moves
constexpr float P_LARGEST = 15;               // log2 of the largest P in a row: a half holds no more than 65504

// Keys in a tile of K, and of V.
template <int D> constexpr int TILE = D <= 64 ? 64 : 32;

// [shared] PAD elements between the rows let the rows that are read together meet different banks. A fragment's first
// element has to lie at a multiple of 32 bytes, and its rows a multiple of 16 bytes apart.
template <int D, int PAD> struct shared {
    union {
        alignas(32) half Q[BLOCK_ROWS][D + PAD];  // until its fragments are loaded
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

// [load_tile] The first rows of a tile are there; those beyond the last of the matrix count as 0.
template <int ROWS, int D, int PAD>
__device__ void load_tile(half tile[ROWS][D + PAD],
                          const uint4 *from,  // [count, C]
                          int count)
{
    constexpr int C = D / VECTOR;
    static_assert(ROWS * C % THREADS == 0, "each thread loads as many vectors");
    for (int first = 0; first < ROWS * C; first += THREADS) {
        const int i = first + threadIdx.x;
        *(uint4 *)&tile[i / C][i % C * VECTOR] = i / C < count ? from[i] : make_uint4(0, 0, 0, 0);
    }
}

// [kernel] A uint4 is 8 columns, 16 bytes: C of them make a row.
template <int D, int PAD>
__global__ void __launch_bounds__(THREADS) flash_wmma(const uint4 *Q,  // [heads, n, C]
                                                      const uint4 *K,  // [heads, n, C]
                                                      const uint4 *V,  // [heads, n, C]
                                                      uint4 *O,        // [heads, n, C]
                                                      int n, float scale)
{
    constexpr int C = D / VECTOR, CHUNKS = D / FRAGMENT, SCORES = TILE<D> / STRIPS / 4;
    __shared__ struct shared<D, PAD> smem;

    // [index] A warp has 16 rows. Lanes 2 i and 2 i + 1 share row i of its scores: each has every second float4.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = lane / STRIPS, strip = lane % STRIPS;
    const int first_row = blockIdx.x * BLOCK_ROWS;
    const size_t head = (size_t)blockIdx.y * n * C;
    auto &own = smem.warp[warp];

    // [query]
    wmma::fragment<wmma::matrix_a, FRAGMENT, FRAGMENT, FRAGMENT, half, wmma::row_major> q[CHUNKS];
    wmma::fragment<wmma::accumulator, FRAGMENT, FRAGMENT, FRAGMENT, float> o[CHUNKS];
    float m = -INFINITY, l = 0;  // m is the largest scaled score so far
    load_tile<BLOCK_ROWS, D, PAD>(smem.Q, Q + head + (size_t)first_row * C, n - first_row);
    __syncthreads();  // Q is whole before any warp reads it
    for (int c = 0; c < CHUNKS; c++) {
        wmma::load_matrix_sync(q[c], &smem.Q[warp * FRAGMENT][c * FRAGMENT], D + PAD);
        wmma::fill_fragment(o[c], 0);
    }
    __syncthreads();  // every warp has read Q before K and V replace it

    for (int tile = 0; tile < n; tile += TILE<D>) {
        // [load] Keys beyond the last are 0 here, and their scores −∞ below.
        load_tile<TILE<D>, D, PAD>(smem.K, K + head + (size_t)tile * C, n - tile);
        load_tile<TILE<D>, D, PAD>(smem.V, V + head + (size_t)tile * C, n - tile);
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

        // [softmax] The max may have grown: what was summed up under the old one shrinks by `factor`.
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
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1));
        const float m_new = fmaxf(m, largest * scale);
        // [replace]
        __syncwarp();  // every lane has read its scores before P replaces them
        // [end replace]

        // [weights] P is scaled by 2^15, and so is l: among halves as small as 2^-24 a weight would lose its digits.
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
        if (strip == 0)
            own.factor[row] = factor;
        __syncwarp();  // P and the factors are whole before the warp reads them

        // [rescale] With a leading dimension of 0 the factors are every column of a fragment, and lie as the sums do.
        wmma::fragment<wmma::accumulator, FRAGMENT, FRAGMENT, FRAGMENT, float> factors;
        wmma::load_matrix_sync(factors, own.factor, 0, wmma::mem_col_major);
        for (int c = 0; c < CHUNKS; c++)
            for (int i = 0; i < factors.num_elements; i++)
                o[c].x[i] *= factors.x[i];
        // [output] O = O factor + P V. Unrolled, this loop would need more registers, and fewer blocks would fit on an SM.
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

    // [store]
    const int O_row = first_row + warp * FRAGMENT + row;
    for (int c = 0; c < CHUNKS; c++) {
        wmma::store_matrix_sync(&own.S[0][0], o[c], TILE<D> + PAD, wmma::mem_row_major);
        __syncwarp();  // the fragment is whole before any lane reads it
        alignas(16) half v[VECTOR];
        for (int i = 0; i < VECTOR; i++)
            v[i] = half(own.S[row][strip * VECTOR + i] * (1 / l));
        if (O_row < n)
            O[head + (size_t)O_row * C + c * 2 + strip] = *(const uint4 *)v;
        __syncwarp();  // every lane has read its part before the next fragment replaces it
    }
}

// [launch]
enum { PAD_0, PAD_16, PAD_8 };

template <int D, int PAD>
static void start(const struct attention_args *args, cudaStream_t stream)
{
    const int n = args->seqlen;
    const dim3 blocks(ceil_div(n, BLOCK_ROWS), args->batch * args->heads);
    const float scale = LOG2_E * args->scale;  // exp(x) is exp2(x log2 e)
    flash_wmma<D, PAD><<<blocks, THREADS, 0, stream>>>((const uint4 *)args->Q, (const uint4 *)args->K,
                                                       (const uint4 *)args->V, (uint4 *)args->O, n, scale);
}

template <int D>
static int choose(const struct attention_args *args, cudaStream_t stream)
{
    switch (args->variant) {
    case PAD_0: start<D, 0>(args, stream); break;
    case PAD_16: start<D, 16>(args, stream); break;
    default: start<D, 8>(args, stream);
    }
    return cudaGetLastError();
}

int launch(const struct attention_args *args, cudaStream_t stream)
{
    if (!attention_is_plain(args, FP16))
        return cudaErrorInvalidValue;
    switch (args->head_dim) {
    case 32: return choose<32>(args, stream);
    case 64: return choose<64>(args, stream);
    case 96: return choose<96>(args, stream);
    case 128: return choose<128>(args, stream);
    default: return cudaErrorInvalidValue;
    }
}

// [main]
static const struct variant variants[] = {
    {"pad_0", "rows of shared memory follow one another with no gap"},
    {"pad_16", "16 elements lie between them"},
    {"pad_8", "8 elements lie between them: the rows that are read together meet different banks"},
    {},
};

int main(int argc, char **argv)
{
    const struct attention_step step = {
        .name = "15_flash_wmma",
        .dtypes = {FP16},
        .arch = "75",
        .head_dims = {32, 64, 96, 128},
        .causal = false,
        .grouped = false,
        .variants = variants,
        .workspace = NULL,
        .launch = launch,
    };
    return attention_main(argc, argv, &step);
}

// O = softmax(Q Kᵀ / √D) V as it is written down: three kernels, and between them all N² scores in memory.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o attention_naive steps/12_attention_naive/attention_naive.cu common/*.c
//   ./learn run 12

#include "attention.h"

constexpr int TILE = 32;                    // rows and columns of a product that one block computes
constexpr int WARP = 32;                    // threads of a warp
constexpr unsigned ALL_LANES = 0xffffffff;  // of a warp take part in a shuffle
constexpr int THREADS = 256;                // of a block that shares a row of S
constexpr int WARPS = THREADS / WARP;       // of such a block

// [scores] S = Q Kᵀ: a row of Q times a row of K, which is a column of Kᵀ. The grid's z is the head.
template <bool pre_transposed>
__global__ void scores(const float *Q,  // [heads, n, d]
                       const float *K,  // [heads, n, d], or transposed [heads, d, n]
                       float *S,        // [heads, n, n]
                       int n, int d)
{
    const int row = blockIdx.y * TILE + threadIdx.y;
    const int col = blockIdx.x * TILE + threadIdx.x;
    const float *q = Q + ((size_t)blockIdx.z * n + row) * d;  // [d]
    K += (size_t)blockIdx.z * n * d;

    float sum = 0;
    // [read]
    if (row < n && col < n)
        for (int i = 0; i < d; i++)
            sum += q[i] * (pre_transposed ? K[(size_t)i * n + col] : K[(size_t)col * d + i]);
    // [end read]

    // [store]
    if (row < n && col < n)
        S[((size_t)blockIdx.z * n + row) * n + col] = sum;
    // [end store]
}

// [transpose] Writes Kᵀ for scores<true>. Its stores go down a column, strided, but they are of N D elements, not N².
__global__ void transpose(const float *K,       // [heads, n, d]
                          float *K_transposed,  // [heads, d, n]
                          int n, int d)
{
    const int row = blockIdx.y * TILE + threadIdx.y;
    const int col = blockIdx.x * TILE + threadIdx.x;
    if (row < n && col < d)
        K_transposed[((size_t)blockIdx.z * d + col) * n + row] = K[((size_t)blockIdx.z * n + row) * d + col];
}

// [reduce_lanes] The largest value of 2, 4, … 32 neighbouring lanes, or their sum; all of them get the result.
template <bool largest>
__device__ float reduce_lanes(float value, int lanes)
{
    for (int offset = lanes / 2; offset > 0; offset /= 2) {
        const float other = __shfl_xor_sync(ALL_LANES, value, offset);
        value = largest ? fmaxf(value, other) : value + other;
    }
    return value;
}

// [reduce] The same of a block's threads: each warp reduces its values to one, then every warp reduces those.
template <bool largest>
__device__ float reduce(float value,
                        float *partial)  // [WARPS], shared
{
    value = reduce_lanes<largest>(value, WARP);
    if (threadIdx.x % WARP == 0)
        partial[threadIdx.x / WARP] = value;
    __syncthreads();  // the results of all warps are there
    const float result = reduce_lanes<largest>(partial[threadIdx.x % WARPS], WARPS);
    __syncthreads();  // every warp has read them before the array is used again
    return result;
}

// [softmax] P = softmax(S / √D) takes the place of S. One block for each row, three passes.
__global__ void softmax(float *S,  // [heads, n, n]
                        int n, float scale)
{
    __shared__ float partial[WARPS];
    float *s = S + ((size_t)blockIdx.y * n + blockIdx.x) * n;  // [n]

    float m = -INFINITY;
    for (int col = threadIdx.x; col < n; col += THREADS)
        m = fmaxf(m, s[col]);
    m = reduce<true>(m, partial);

    float l = 0;
    for (int col = threadIdx.x; col < n; col += THREADS)
        l += expf((s[col] - m) * scale);
    l = reduce<false>(l, partial);

    for (int col = threadIdx.x; col < n; col += THREADS)
        s[col] = expf((s[col] - m) * scale) / l;
}

// [output] O = P V: step 03's coalesced product.
__global__ void output(const float *P,  // [heads, n, n]
                       const float *V,  // [heads, n, d]
                       float *O,        // [heads, n, d]
                       int n, int d)
{
    const int row = blockIdx.y * TILE + threadIdx.y;
    const int col = blockIdx.x * TILE + threadIdx.x;
    const float *p = P + ((size_t)blockIdx.z * n + row) * n;  // [n]
    V += (size_t)blockIdx.z * n * d;

    float sum = 0;
    // [average]
    if (row < n && col < d)
        for (int i = 0; i < n; i++)
            sum += p[i] * V[(size_t)i * d + col];
    // [end average]

    if (row < n && col < d)
        O[((size_t)blockIdx.z * n + row) * d + col] = sum;
}

// [workspace] S, and behind it Kᵀ where a kernel transposes K.
enum { TRANSPOSED_READ, PRE_TRANSPOSED };

static size_t scores_count(const struct attention_args *args)
{
    return (size_t)args->batch * args->heads * args->seqlen * args->seqlen;
}

size_t workspace(const struct attention_args *args)
{
    const size_t K_count = (size_t)args->batch * args->heads * args->seqlen * args->head_dim;
    return (scores_count(args) + (args->variant == PRE_TRANSPOSED ? K_count : 0)) * sizeof(float);
}

// [launch]
int launch(const struct attention_args *args, cudaStream_t stream)
{
    const float *Q = (const float *)args->Q, *K = (const float *)args->K, *V = (const float *)args->V;
    float *O = (float *)args->O, *S = (float *)args->workspace, *K_transposed = S + scores_count(args);
    const int heads = args->batch * args->heads, n = args->seqlen, d = args->head_dim;
    if (!attention_is_plain(args, FP32))
        return cudaErrorInvalidValue;

    const dim3 threads(TILE, TILE);
    const unsigned tiles_n = ceil_div(n, TILE), tiles_d = ceil_div(d, TILE);
    if (args->variant == PRE_TRANSPOSED) {
        transpose<<<dim3(tiles_d, tiles_n, heads), threads, 0, stream>>>(K, K_transposed, n, d);
        scores<true><<<dim3(tiles_n, tiles_n, heads), threads, 0, stream>>>(Q, K_transposed, S, n, d);
    } else {
        scores<false><<<dim3(tiles_n, tiles_n, heads), threads, 0, stream>>>(Q, K, S, n, d);
    }
    softmax<<<dim3(n, heads), THREADS, 0, stream>>>(S, n, args->scale);
    output<<<dim3(tiles_d, tiles_n, heads), threads, 0, stream>>>(S, V, O, n, d);
    return cudaGetLastError();
}

// [main]
static const struct variant variants[] = {
    {"transposed_read", "a warp reads a column of K, 32 rows of memory, as 32 elements along a row of Kᵀ"},
    {"pre_transposed", "a kernel transposes K first: then the warp reads along a row"},
    {},
};

int main(int argc, char **argv)
{
    const struct attention_step step = {
        .name = "12_attention_naive",
        .dtypes = {FP32},
        .arch = "75",
        .head_dims = {32, 64, 96, 128},
        .causal = false,
        .grouped = false,
        .variants = variants,
        .workspace = workspace,
        .launch = launch,
    };
    return attention_main(argc, argv, &step);
}

// Attention in one kernel, with a row of Q and O for each thread: with a causal mask, and with log-sum-exp.

#include "attention.h"

constexpr int D = 64;     // columns of a head
constexpr int C = D / 4;  // float4s in a row
constexpr int TILE = 64;  // keys in a tile, and rows of Q, and threads, of a block

__device__ float dot(const float4 *a, const float4 *b)
{
    float sum = 0;
    for (int c = 0; c < C; c++)
        sum += a[c].x * b[c].x + a[c].y * b[c].y + a[c].z * b[c].z + a[c].w * b[c].w;
    return sum;
}

// A row of O, and of what it is computed from: O factor + p v.
__device__ void accumulate(float4 *o, float factor, float p, const float4 *v)
{
    for (int c = 0; c < C; c++)
        o[c] = make_float4(o[c].x * factor + p * v[c].x, o[c].y * factor + p * v[c].y, o[c].z * factor + p * v[c].z,
                           o[c].w * factor + p * v[c].w);
}

__global__ void __launch_bounds__(TILE) flash_row(const float4 *Q,  // [heads, n, C]
                                                  const float4 *K,  // [heads, n, C]
                                                  const float4 *V,  // [heads, n, C]
                                                  float4 *O,        // [heads, n, C]
                                                  float *lse,       // [heads, n], or NULL: not asked for
                                                  int n, int causal, float scale)
{
    __shared__ float4 K_smem[TILE][C], V_smem[TILE][C];
    const int row = blockIdx.x * TILE + threadIdx.x;
    const size_t head = (size_t)blockIdx.y * n * C;

    float4 q[C] = {}, o[C] = {};
    float m = -INFINITY, l = 0;  // m is the largest scaled score so far
    if (row < n)
        for (int c = 0; c < C; c++)
            q[c] = Q[head + (size_t)row * C + c];

    int end = n;  // no thread of this block needs a key from here on
    // [limit]
    if (causal)
        end = min(n, ((int)blockIdx.x + 1) * TILE);
    // [end limit]
    for (int tile = 0; tile < end; tile += TILE) {
        const int keys = min(TILE, n - tile);  // in this tile
        for (int i = threadIdx.x; i < keys * C; i += TILE) {
            K_smem[i / C][i % C] = K[head + (size_t)tile * C + i];
            V_smem[i / C][i % C] = V[head + (size_t)tile * C + i];
        }
        __syncthreads();  // both tiles are whole before any thread reads them

        for (int key = 0; key < keys; key++) {
            float s = dot(q, K_smem[key]);
            // [mask]
            if (causal && tile + key > row)
                s = -INFINITY;
            // [end mask]
            const float m_new = fmaxf(m, s * scale);
            const float factor = exp2f(m - m_new), p = exp2f(fmaf(s, scale, -m_new));
            l = l * factor + p;
            m = m_new;
            accumulate(o, factor, p, V_smem[key]);
        }
        __syncthreads();  // every thread has read both tiles before the next two replace them
    }

    if (row < n) {
        for (int c = 0; c < C; c++)
            O[head + (size_t)row * C + c] = make_float4(o[c].x / l, o[c].y / l, o[c].z / l, o[c].w / l);
        // [lse]
        if (lse)
            lse[(size_t)blockIdx.y * n + row] = (m + log2f(l)) * 0.693147181f;
        // [end lse]
    }
}

// Whether nothing is asked for but what this kernel can do: a causal mask and log-sum-exp, beside plain attention.
static bool is_supported(struct attention_args args)
{
    args.causal = 0;
    args.lse = NULL;
    return attention_is_plain(&args, FP32) && args.head_dim == D;
}

int launch(const struct attention_args *args, cudaStream_t stream)
{
    if (!is_supported(*args))
        return cudaErrorInvalidValue;
    const dim3 blocks(ceil_div(args->seqlen, TILE), args->batch * args->heads);
    const float scale = LOG2_E * args->scale;  // exp(x) is exp2(x log2 e)
    flash_row<<<blocks, TILE, 0, stream>>>((const float4 *)args->Q, (const float4 *)args->K, (const float4 *)args->V,
                                           (float4 *)args->O, args->lse, args->seqlen, args->causal, scale);
    return cudaGetLastError();
}

static const struct variant variants[] = {
    {"row", "a thread has a whole row of Q and O, and takes one key at a time"},
    {},
};

int main(int argc, char **argv)
{
    const struct attention_step step = {
        .name = "13_flash_scalar",
        .dtypes = {FP32},
        .arch = "75",
        .head_dims = {D},
        .causal = true,
        .grouped = false,
        .lse = true,
        .variants = variants,
        .workspace = NULL,
        .launch = launch,
    };
    return attention_main(argc, argv, &step);
}

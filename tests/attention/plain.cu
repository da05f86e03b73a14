// The plainest attention there is, with all that attention_main offers and no step uses yet: causal masks, and heads of K
// and V that several heads of Q share. One thread computes one row, in three passes over its keys.

#include "attention.h"

constexpr int THREADS = 64;

// Not yet over √d: that is left to the difference of two scores, which a large score would round away.
__device__ float score(const float *q,  // [d]
                       const float *k,  // [d]
                       int d)
{
    float sum = 0;
    for (int i = 0; i < d; i++)
        sum += q[i] * k[i];
    return sum;
}

__global__ void plain(const float *Q,  // [batch * heads, n, d]
                      const float *K,  // [batch * heads / group, n, d]
                      const float *V,  // [batch * heads / group, n, d]
                      float *O,        // [batch * heads, n, d]
                      int n, int d, int group, bool causal)
{
    const int row = blockIdx.x * THREADS + threadIdx.x;
    if (row >= n)
        return;
    const int keys = causal ? row + 1 : n;
    const float *q = Q + ((size_t)blockIdx.y * n + row) * d;
    float *o = O + ((size_t)blockIdx.y * n + row) * d;
    K += (size_t)(blockIdx.y / group) * n * d;
    V += (size_t)(blockIdx.y / group) * n * d;

    float m = -INFINITY, l = 0;
    for (int key = 0; key < keys; key++)
        m = fmaxf(m, score(q, K + (size_t)key * d, d));
    for (int col = 0; col < d; col++)
        o[col] = 0;
    for (int key = 0; key < keys; key++) {
        const float p = expf((score(q, K + (size_t)key * d, d) - m) / sqrtf(d));
        l += p;
        for (int col = 0; col < d; col++)
            o[col] += p * V[(size_t)key * d + col];
    }
    for (int col = 0; col < d; col++)
        o[col] /= l;
}

int launch(const struct attention_args *args, cudaStream_t stream)
{
    const dim3 blocks(ceil_div(args->seqlen, THREADS), args->batch * args->heads);
    plain<<<blocks, THREADS, 0, stream>>>((const float *)args->Q, (const float *)args->K, (const float *)args->V,
                                          (float *)args->O, args->seqlen, args->head_dim, args->heads / args->kv_heads,
                                          args->causal);
    return cudaGetLastError();
}

int main(int argc, char **argv)
{
    const struct attention_step step = {
        .name = "plain",
        .dtype = FP32,
        .arch = "75",
        .head_dims = {32, 64},
        .causal = true,
        .grouped = true,
        .variants = {{"plain", "one thread for each row"}},
        .launch = launch,
    };
    return attention_main(argc, argv, &step);
}

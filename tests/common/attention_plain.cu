// The plainest attention there is, with all that attention_main offers: types, pitches, causal masks, heads of K and V
// that several heads of Q share, as many keys as one likes, log-sum-exp, and a scale that prepare() hands to launch(). One
// thread computes one row, in three passes over its keys.

#include "attention.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int THREADS = 64;

// Not yet scaled: that is left to the difference of two scores, which a large score would round away.
template <class T>
__device__ float score(const T *q,  // [d]
                       const T *k,  // [d]
                       int d)
{
    float sum = 0;
    for (int i = 0; i < d; i++)
        sum += (float)q[i] * (float)k[i];
    return sum;
}

template <class T>
__global__ void plain(struct attention_args args, float scale)
{
    const int row = blockIdx.x * THREADS + threadIdx.x, head = blockIdx.y, batch = blockIdx.z;
    if (row >= args.seqlen)
        return;
    const int kv_head = head / (args.heads / args.kv_heads), d = args.head_dim;
    const int keys = args.causal ? row + 1 + args.kv_seqlen - args.seqlen : args.kv_seqlen;
    const size_t Q_at = batch * args.Q_strides.batch + head * args.Q_strides.head + row * args.Q_strides.row;
    const size_t O_at = batch * args.O_strides.batch + head * args.O_strides.head + row * args.O_strides.row;
    const T *q = (const T *)args.Q + Q_at;
    T *o = (T *)args.O + O_at;
    const T *K = (const T *)args.K + batch * args.K_strides.batch + kv_head * args.K_strides.head;
    const T *V = (const T *)args.V + batch * args.V_strides.batch + kv_head * args.V_strides.head;

    float m = -INFINITY, l = 0;
    for (int key = 0; key < keys; key++)
        m = fmaxf(m, score(q, K + key * args.K_strides.row, d));
    for (int key = 0; key < keys; key++)
        l += expf((score(q, K + key * args.K_strides.row, d) - m) * scale);
    for (int col = 0; col < d; col++) {
        float sum = 0;
        for (int key = 0; key < keys; key++)
            sum += expf((score(q, K + key * args.K_strides.row, d) - m) * scale) *
                   (float)V[key * args.V_strides.row + col];
        o[col] = T(keys > 0 ? sum / l : 0);  // 0 where the row sees no key
    }
    if (args.lse)
        args.lse[((size_t)batch * args.heads + head) * args.seqlen + row] = m * scale + logf(l);
}

int prepare(const struct attention_args *args)
{
    *(float *)args->prepared = args->scale;
    return cudaSuccess;
}

int launch(const struct attention_args *args, cudaStream_t stream)
{
    const dim3 blocks(ceil_div(args->seqlen, THREADS), args->heads, args->batch);
    const float scale = *(const float *)args->prepared;
    if (args->dtype == FP32)
        plain<float><<<blocks, THREADS, 0, stream>>>(*args, scale);
    else if (args->dtype == FP16)
        plain<__half><<<blocks, THREADS, 0, stream>>>(*args, scale);
    else
        plain<__nv_bfloat16><<<blocks, THREADS, 0, stream>>>(*args, scale);
    return cudaGetLastError();
}

static const struct variant variants[] = {{"plain", "one thread for each row"}, {}};

int main(int argc, char **argv)
{
    const struct attention_step step = {
        .name = "attention_plain",
        .dtypes = {FP32, FP16, BF16},
        .arch = "75",
        .row_bytes = 16,
        .head_dims = {12, 32, 64},
        .causal = true,
        .grouped = true,
        .lengths = true,
        .lse = true,
        .variants = variants,
        .prepare = prepare,
        .launch = launch,
    };
    return attention_main(argc, argv, &step);
}

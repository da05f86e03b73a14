#define _GNU_SOURCE  // madvise
#include "attention.h"

#include "tensors.h"

static double score(const float *q, const float *k, int d)
{
    double sum = 0;
    for (int i = 0; i < d; i++)
        sum += (double)q[i] * k[i];
    return sum / sqrt(d);
}

// program VARIANT HEADS SEQLEN HEAD_DIM
int attention_main(int argc, char **argv, const struct attention_step *step)
{
    const int heads = number(argv, 1), n = number(argv, 2), d = number(argv, 3);
    const size_t bytes = sizeof(float) * heads * n * d, last = (size_t)(heads - 1) * n * d;
    float *Q = reserve(bytes), *K = reserve(bytes), *V = reserve(bytes), *O = reserve(bytes);
    (void)argc;
    fill(Q, heads * n, d, (heads - 1) * n, 0);
    fill(K, heads * n, d, (heads - 1) * n, 0);
    fill(V, heads * n, d, (heads - 1) * n, 0);
    const struct strides strides = attention_strides(heads, n, d);
    struct attention_args args = {.Q = Q,
                                  .K = K,
                                  .V = V,
                                  .O = O,
                                  .Q_strides = strides,
                                  .K_strides = strides,
                                  .V_strides = strides,
                                  .O_strides = strides,
                                  .batch = 1,
                                  .heads = heads,
                                  .kv_heads = heads,
                                  .seqlen = n,
                                  .kv_seqlen = n,
                                  .head_dim = d,
                                  .scale = 1 / sqrtf(d),
                                  .dtype = FP32,
                                  .variant = variant_of(argv, step->variants)};
    if (step->workspace)
        args.workspace = reserve(step->workspace(&args));
    const cudaError_t error = (cudaError_t)step->launch(&args, NULL);
    bool right = true;
    for (int row = n - CHECKED; row < n; row++) {
        const float *q = Q + last + (size_t)row * d;
        double largest = -INFINITY, sum = 0, value = 0;
        for (int key = 0; key < n; key++)
            largest = fmax(largest, score(q, K + last + (size_t)key * d, d));
        for (int key = 0; key < n; key++) {
            const double weight = exp(score(q, K + last + (size_t)key * d, d) - largest);
            sum += weight;
            value += weight * V[last + (size_t)key * d + d - 1];
        }
        right &= near("O", (size_t)(heads - 1) * n + row, d - 1, O[last + (size_t)row * d + d - 1], value / sum);
    }
    return status_of(error, right);
}

#define _GNU_SOURCE  // madvise
#include "attention.h"

#include "tensors.h"

// A tensor of the step's first element type, and what stands in its last head.
struct tensor {
    char *elements;  // [heads, n, d]
    float *head;     // [n, d]
};

static struct tensor tensor_of(enum dtype dtype, int heads, int n, int d)
{
    const size_t count = (size_t)n * d, first = (heads - 1) * count;
    struct tensor tensor = {reserve(dtype_bytes(dtype) * heads * count), malloc(sizeof(float) * count)};
    for (size_t i = 0; i < count; i++)
        tensor.head[i] = value_at(first + i);
    dtype_round(dtype, tensor.head, count);
    dtype_encode(dtype, tensor.head, tensor.elements + dtype_bytes(dtype) * first, count);
    return tensor;
}

static double score(const float *q, const float *k, int d)
{
    double sum = 0;
    for (int i = 0; i < d; i++)
        sum += (double)q[i] * k[i];
    return sum / sqrt(d);
}

// The last column of a row of O, of the last head.
static double value_of(const struct tensor *Q, const struct tensor *K, const struct tensor *V, int row, int n, int d)
{
    const float *q = Q->head + (size_t)row * d;
    double largest = -INFINITY, sum = 0, value = 0;
    for (int key = 0; key < n; key++)
        largest = fmax(largest, score(q, K->head + (size_t)key * d, d));
    for (int key = 0; key < n; key++) {
        const double weight = exp(score(q, K->head + (size_t)key * d, d) - largest);
        sum += weight;
        value += weight * V->head[(size_t)key * d + d - 1];
    }
    return value / sum;
}

// program VARIANT HEADS SEQLEN HEAD_DIM
int attention_main(int argc, char **argv, const struct attention_step *step)
{
    const int heads = number(argv, 1), n = number(argv, 2), d = number(argv, 3);
    const enum dtype dtype = step->dtypes[0];
    const struct tensor Q = tensor_of(dtype, heads, n, d), K = tensor_of(dtype, heads, n, d),
                        V = tensor_of(dtype, heads, n, d);
    char *O = reserve(dtype_bytes(dtype) * heads * n * d);
    static _Alignas(PREPARED_ALIGN) char prepared[PREPARED_BYTES];
    (void)argc;
    const struct strides strides = attention_strides(heads, n, d);
    struct attention_args args = {.Q = Q.elements,
                                  .K = K.elements,
                                  .V = V.elements,
                                  .O = O,
                                  .prepared = prepared,
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
                                  .dtype = dtype,
                                  .variant = variant_of(argv, step->variants)};
    if (step->workspace)
        args.workspace = reserve(step->workspace(&args));
    cudaError_t error = step->prepare ? (cudaError_t)step->prepare(&args) : cudaSuccess;
    if (error == cudaSuccess)
        error = (cudaError_t)step->launch(&args, NULL);
    const double share = dtype == FP32 ? 1e-4 : dtype_bound(dtype, n, 0).row;
    bool right = true;
    for (int row = n - CHECKED; row < n; row++) {
        const size_t at = (size_t)(heads - 1) * n + row;
        float got;
        dtype_decode(dtype, O + dtype_bytes(dtype) * (at * d + d - 1), &got, 1);
        right &= near_within(share, "O", at, d - 1, got, value_of(&Q, &K, &V, row, n, d));
    }
    return status_of(error, right);
}

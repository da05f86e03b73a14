#include "reference.h"

#include "attention.h"
#include "exit.h"
#include "parallel.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

struct rows {
    struct reference *O, *lse;  // lse may be NULL
    const struct attention_args *args;
};

static double dot(const float *a, const float *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

// weight: [keys], becomes exp(score − max) / their sum. Returns ln Σ exp(score), −∞ where there is no key.
static double softmax_weights(double *weight, size_t keys)
{
    double max = -INFINITY, sum = 0;
    for (size_t key = 0; key < keys; key++)
        max = fmax(max, weight[key]);
    for (size_t key = 0; key < keys; key++)
        sum += weight[key] = exp(weight[key] - max);
    for (size_t key = 0; key < keys; key++)
        weight[key] /= sum;
    return max + log(sum);
}

// One row of O, and its norm: that is what an error in the row is measured against. Returns its log-sum-exp.
static double attention_row(const struct attention_args *args, size_t row, double *weight, double *value, double *scale)
{
    size_t n = args->seqlen, n_kv = args->kv_seqlen, d = args->head_dim, head = row / n, query = row % n;
    size_t kv_head = head / (args->heads / args->kv_heads);
    size_t seen = query + 1 + n_kv, keys = !args->causal ? n_kv : seen > n ? seen - n : 0;
    const float *q = (const float *)args->Q + row * d;
    const float *K = (const float *)args->K + kv_head * n_kv * d, *V = (const float *)args->V + kv_head * n_kv * d;

    for (size_t key = 0; key < keys; key++)
        weight[key] = dot(q, K + key * d, d) * args->scale;
    double lse = softmax_weights(weight, keys), squares = 0;
    for (size_t key = 0; key < keys; key++)
        for (size_t col = 0; col < d; col++)
            value[col] += weight[key] * V[key * d + col];
    for (size_t col = 0; col < d; col++)
        squares += value[col] * value[col];
    *scale = keys ? sqrt(squares) : DBL_MIN;  // of a row that sees no key, any number but 0 is wrong
    return lse;
}

static void attention_rows(void *context, size_t first, size_t last)
{
    const struct rows *rows = context;
    struct reference *O = rows->O, *lse = rows->lse;
    double *weight = calloc(rows->args->kv_seqlen, sizeof *weight);
    if (!weight)
        stop(EXIT_USAGE, "not enough host memory for the reference: ask for a smaller shape, or --no-check");
    for (size_t r = first; r < last; r++) {
        double of_row = attention_row(rows->args, O->row[r], weight, O->value + r * O->cols, &O->scale[r]);
        if (lse) {
            lse->value[r] = of_row;
            lse->scale[r] = isinf(of_row) ? 1 : fmax(1, fabs(of_row));  // near 0 it is a difference of larger numbers
        }
    }
    free(weight);
}

struct reference attention_reference(const struct attention_args *args, uint64_t seed, struct reference *lse)
{
    const double exp_work = 16;  // an exponential in double costs about as much as so many multiply-adds
    double work = (2.0 * args->head_dim + exp_work) * args->kv_seqlen;
    struct reference O = reference_sample_parts((size_t)args->batch * args->heads, args->seqlen, args->head_dim, work,
                                                seed);
    if (lse) {
        *lse = reference_same_rows(&O, 1);
        lse->empty_rows = args->causal && args->seqlen > args->kv_seqlen ? args->seqlen - args->kv_seqlen : 0;
    }
    struct rows rows = {&O, lse, args};
    parallel_for(O.rows, attention_rows, &rows);
    return O;
}

// What an attention step includes: the arguments of its launch, the description of itself, and the main that runs it.
#ifndef ATTENTION_H
#define ATTENTION_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include "step.h"

static const float LOG2_E = 1.44269504f;  // log2 e: exp(x) is exp2(x log2 e)

#ifdef __cplusplus
extern "C" {
#endif

// Elements of a tensor from one batch, one head, one row to the next. The elements of a row are neighbours.
struct strides {
    size_t batch, head, row;
};

// O = softmax(scale Q Kᵀ) V, for each head of each batch. A row's first element is at a multiple of 16 bytes.
struct attention_args {
    const void *Q;    // [batch, heads, seqlen, head_dim]
    const void *K;    // [batch, kv_heads, kv_seqlen, head_dim]
    const void *V;    // [batch, kv_heads, kv_seqlen, head_dim]
    void *O;          // [batch, heads, seqlen, head_dim]
    float *lse;       // [batch, heads, seqlen] with no gaps: of each row ln Σ exp(scale Q Kᵀ); NULL: not asked for
    void *workspace;  // as many bytes as the step's `workspace` says; what was in them means nothing
    void *prepared;   // PREPARED_BYTES of host memory: what the step's prepare() left there
    struct strides Q_strides, K_strides, V_strides, O_strides;
    int batch, heads, kv_heads;  // kv_heads divides heads: heads / kv_heads neighbours share a head of K and V
    int seqlen, kv_seqlen;       // queries, and keys, of a head
    int head_dim;
    float scale;       // 1 / √head_dim, unless somebody wants another
    int causal;        // query i sees the keys up to i + kv_seqlen − seqlen; where that is none, O is 0 and lse −∞
    enum dtype dtype;  // of Q, K, V and O
    int variant;
};

enum { MAX_HEAD_DIMS = 16 };

struct attention_step {
    const char *name;
    enum dtype dtypes[MAX_DTYPES];     // the default first
    const char *arch;                  // least compute capability, "75"; "90a" is exactly 9.0
    int row_bytes;                     // rows begin at multiples of so many bytes; 0: they follow with no gap
    int head_dims[MAX_HEAD_DIMS + 1];  // that the kernel is compiled for, ascending; a 0 ends them
    int max_head_dim;                  // it can do every head dimension up to this; 0: those of head_dims alone
    int head_dim_unit;                 // and then only multiples of this; 0: any
    bool causal, grouped;              // whether it can do a causal mask, and fewer heads of K and V than of Q
    bool lengths, lse;                 // whether it can do more keys than queries, or fewer; and log-sum-exp
    const struct variant *variants;    // ends with {}
    size_t (*workspace)(const struct attention_args *args);  // bytes of device memory beside the tensors; NULL: none
    size_t (*shared)(const struct attention_args *args);     // bytes of dynamic shared memory that a block asks for;
                                                             // NULL: as `variants` say
    int (*parts)(const struct attention_args *args);    // into how many the keys are divided, to be merged; NULL: one
    int (*blocks)(const struct attention_args *args);   // that find them, of all rows and heads; NULL: not said
    int (*prepare)(const struct attention_args *args);  // NULL: there is nothing to prepare
    int (*launch)(const struct attention_args *args, cudaStream_t stream);
};

// Fills args->prepared with what launches with these arguments need and what may take its time, such as tensor maps.
// Called once before the first of them, and never while a launch is timed. Returns a cudaError_t.
__attribute__((visibility("default"))) int prepare(const struct attention_args *args);

// Bytes of device memory that a launch with these arguments needs beside the tensors, of a step that needs any.
__attribute__((visibility("default"))) size_t workspace(const struct attention_args *args);

// Queues the step's kernels on the stream and returns a cudaError_t. Beside prepare() and workspace(), the one symbol that a
// step's shared object exports.
__attribute__((visibility("default"))) int launch(const struct attention_args *args, cudaStream_t stream);

// The strides of a tensor [batch, heads, seqlen, head_dim] in which nothing lies between rows, heads or batches.
static inline struct strides attention_strides(int heads, int seqlen, int pitch)
{
    const size_t head = (size_t)seqlen * pitch;
    const struct strides strides = {heads * head, head, (size_t)pitch};
    return strides;
}

static inline bool strides_are_packed(struct strides strides, int heads, int seqlen, int head_dim)
{
    const struct strides packed = attention_strides(heads, seqlen, head_dim);
    return strides.batch == packed.batch && strides.head == packed.head && strides.row == packed.row;
}

// Whether all tensors are of this type, and nothing lies between their rows, heads or batches. The launch of a step that takes
// two types asks for one after the other, and starts the kernel of the one that it is.
static inline bool attention_is_packed(const struct attention_args *args, enum dtype dtype)
{
    const int heads = args->heads, kv_heads = args->kv_heads, n = args->seqlen, n_kv = args->kv_seqlen,
              d = args->head_dim;
    return args->dtype == dtype && strides_are_packed(args->Q_strides, heads, n, d) &&
           strides_are_packed(args->K_strides, kv_heads, n_kv, d) &&
           strides_are_packed(args->V_strides, kv_heads, n_kv, d) && strides_are_packed(args->O_strides, heads, n, d);
}

// Whether each head has its own K and V, with as many keys as queries, and no log-sum-exp is asked for.
static inline bool attention_is_square(const struct attention_args *args)
{
    return args->kv_heads == args->heads && args->kv_seqlen == args->seqlen && !args->lse;
}

// Whether there is nothing beside softmax(scale Q Kᵀ) V to be computed: it is packed and square, and has no mask.
static inline bool attention_is_plain(const struct attention_args *args, enum dtype dtype)
{
    return attention_is_packed(args, dtype) && attention_is_square(args) && !args->causal;
}

// parse → allocate → poison → prepare → launch → check → time → report. Returns the exit status.
int attention_main(int argc, char **argv, const struct attention_step *step);

#ifdef __cplusplus
}
#endif
#endif

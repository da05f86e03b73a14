// What an attention step includes: the arguments of its launch, the description of itself, and the main that runs it.
#ifndef ATTENTION_H
#define ATTENTION_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

// O = softmax(Q Kᵀ / √D) V, for each head of each batch. Tensors are row-major, and nothing lies between rows or heads.
struct attention_args {
    const void *Q;    // [batch, heads, seqlen, head_dim]
    const void *K;    // [batch, kv_heads, seqlen, head_dim]
    const void *V;    // [batch, kv_heads, seqlen, head_dim]
    void *O;          // [batch, heads, seqlen, head_dim]
    void *workspace;  // as many bytes as the step's `workspace` says; what is in them before and after means nothing
    int batch, heads, kv_heads, seqlen, head_dim;
    int causal;  // nonzero: a query sees the keys up to its own place, and none behind
    int variant;
};

enum { MAX_HEAD_DIMS = 8 };

struct attention_step {
    const char *name;
    enum dtype dtype;
    const char *arch;                  // least compute capability, "75"; "90a" is exactly 9.0
    int head_dims[MAX_HEAD_DIMS + 1];  // that the kernel is compiled for, ascending; a 0 ends them
    bool causal, grouped;              // whether it can do a causal mask, and fewer heads of K and V than of Q
    const struct variant *variants;    // ends with {}
    size_t (*workspace)(const struct attention_args *args);  // bytes of device memory beside the tensors; NULL: none
    int (*launch)(const struct attention_args *args, cudaStream_t stream);
};

// Queues the step's kernels on the stream and returns a cudaError_t. The one symbol that a step's shared object exports.
__attribute__((visibility("default"))) int launch(const struct attention_args *args, cudaStream_t stream);

// parse → allocate → poison → launch → check → time → report. Returns the exit status.
int attention_main(int argc, char **argv, const struct attention_step *step);

#ifdef __cplusplus
}
#endif
#endif

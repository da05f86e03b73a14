// What machine includes: its measurements of the machine, what each kernel is asked to do, and the main that runs them.
#ifndef DEVICE_MAIN_H
#define DEVICE_MAIN_H

#include <cuda_runtime_api.h>
#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

// The step's variants, in this order. Each kernel does work that can be counted, and leaves results that prove it.
enum measurement {
    COPY,  // out[i] = in[i]
    FMA,   // each thread: `chains` chains of `rounds` multiply-adds x ← a x + b; out[thread] is their sum
    TENSOR,  // each warp: PRODUCTS sums of `rounds` products of tiles in `in`; out[warp] is the total, FRAGMENT × FRAGMENT
    EXP2,         // each thread: `chains` chains of `rounds` x ← 2^-x; out[thread] is the sum of all the x
    SHARED,       // each block: its copy of the tile `in` is read rounds × READS times; out[thread] sums what it read
    LATENCY,      // one thread: from `in`, follow `rounds` pointers; *out is where it ends
    LITTLES_LAW,  // all threads together read `in` once, each with `loads` loads under way; out[thread] sums its words
    DIVERGENCE,   // as FMA; threads of the same path, threadIdx.x / width % paths, go together
    LAUNCH,       // out[block] = block
    MEASUREMENTS
};

// A chain starts at 1 + lane + 32 chain, whatever the block and warp.
enum { LANES = 32, CHAINS = 8 };
// TENSOR: sum i adds up A[i / 2] B[i % 2]; `in` has the two tiles A, then the two tiles B, of FRAGMENT × FRAGMENT halves each.
enum { FRAGMENT = 16, PRODUCTS = 4 };
// SHARED: in 16-byte words, the tile; it is as large as the block. READS: of a thread in a round.
enum { TILE = 512, READS = 8 };

struct device_args {
    const void *in;  // [n] words of 32 bits, at random
    void *out;       // words of 32 bits; LATENCY: one pointer
    size_t n;
    int variant;
    int blocks, threads;  // of the launch; COPY finds its own from n
    int rounds;
    int bytes, loads;  // of one load, and how many a thread has under way
    int paths, width;
    float a, b;
};

struct device_step {
    const char *name;
    enum dtype dtype;
    const char *arch;                // least compute capability, "75"; "90a" is exactly 9.0
    const struct variant *variants;  // ends with {}
    int (*launch)(const struct device_args *args, cudaStream_t stream);
};

// Queues one kernel on the stream and returns a cudaError_t. The one symbol that a step's shared object exports.
__attribute__((visibility("default"))) int launch(const struct device_args *args, cudaStream_t stream);

// parse → for each measurement and each of its points: allocate → poison → launch → check → time → report. Returns the
// exit status.
int device_main(int argc, char **argv, const struct device_step *step);

#ifdef __cplusplus
}
#endif
#endif

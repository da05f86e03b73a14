/* The control flow of kernels: their basic blocks and loops. */
#ifndef SIMT_FLOW_H
#define SIMT_FLOW_H

#include "base/base.h"

#define MOST_STEPS 6

struct flow_way { /* to a traced block; the untraced ones before it, last first */
    unsigned to, n, steps[MOST_STEPS];
};

struct flow_block {
    const struct flow *flow; /* of its function */
    uintptr_t traced;        /* where its call of __sanitizer_cov_trace_pc returns to; 0: it has none */
    unsigned next[2];        /* the blocks that may follow */
    unsigned loop;           /* the one that it is the header of, or ~0u */
    bool returns;
    unsigned n_ways;
    struct flow_way *ways;
};

struct flow_loop {
    unsigned header;
    u64 *region; /* a bit for each block */
};

struct flow {
    unsigned n, n_loops;
    struct flow_block *blocks;
    struct flow_loop *loops;
};

const struct flow_block *flow_block(const void *pc); /* NULL: not known */

#endif

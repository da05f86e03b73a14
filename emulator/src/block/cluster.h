/* A cluster: blocks that are begun together, by one worker, whose threads may wait for each other and wake each other, and
 * whose shared memory lies side by side. Every block is in one: of its own, unless the launch asks for more. */
#ifndef SIMT_CLUSTER_H
#define SIMT_CLUSTER_H

#include "block/block.h"

#define MOST_IN_CLUSTER 16 /* blocks, on an H200; CUDA promises 8 */

/* Of all threads of all blocks (run/cluster_barrier.c). */
struct cluster_barrier {
    struct waiting waiting;
    u64 phase;                           /* how many are over */
    unsigned missing;                    /* threads that have not left, and not arrived in this phase */
    struct clock done;                   /* what those had done who arrived in the phase before */
    struct clock fenced[ORDERED_SCOPES]; /* and what their fences had covered, by scope */
    u64 sequential;
};

struct cluster {
    struct launch *launch;
    struct worker *worker;
    struct cluster *next; /* worker.c: of those in hand, or of those that are idle */
    u64 number;           /* among the launch's */
    unsigned n;           /* blocks */
    unsigned cur;         /* the rank of the block that runs, or that goes on next */
    struct cluster_barrier barrier;
    /* shared.c */
    unsigned ranks;        /* addresses have room for so many */
    unsigned char *arenas; /* `ranks` of which, one behind the other, are this cluster's: n have a block */
    unsigned char *arena;  /* the first of those */
    struct block *blocks[MOST_IN_CLUSTER]; /* by their ranks */
};

/* The first serial of a block's cluster: records of shared memory that are older are of others, which had it before. */
static inline uint32_t cluster_serial(const struct block *b) { return b->serial - b->rank; }

/* The block of that serial, if it is one of b's cluster; else NULL. */
static inline struct block *cluster_find(const struct block *b, uint32_t serial)
{
    uint32_t rank = serial - cluster_serial(b);
    return rank < b->cluster->n ? b->cluster->blocks[rank] : NULL;
}

#endif

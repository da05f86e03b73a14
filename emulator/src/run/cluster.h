/* A cluster: blocks that are begun together, by one worker, whose threads may wait for each other and wake each other, and
 * whose shared memory lies side by side. Every block is in one: of its own, unless the launch asks for more. */
#ifndef SIMT_CLUSTER_H
#define SIMT_CLUSTER_H

#include "run/block.h"

#define MOST_IN_CLUSTER 16 /* blocks, on an H200; CUDA promises 8 */

struct cluster {
    struct launch *launch;
    struct worker *worker;
    struct cluster *next_in_hand; /* worker.c */
    u64 number;                   /* among the launch's */
    unsigned n;                   /* blocks */
    unsigned cur;                 /* the rank of the block that runs, or that goes on next */
    /* shared.c */
    unsigned char *arenas;                 /* n of which, one behind the other, are this cluster's */
    unsigned char *arena;                  /* the first of those */
    struct block *blocks[MOST_IN_CLUSTER]; /* by their ranks */
};

struct cluster *cluster_new(struct worker *w, unsigned n);            /* empty; reused for one cluster after another */
void cluster_begin(struct cluster *c, struct launch *l, u64 number);  /* nobody has run yet */
u64 cluster_block(const struct launch *l, u64 number, unsigned rank); /* the number in the grid of a cluster's block */
/* From the worker's own stack, while threads of some block can go on. Returns when all blocks have ended, or one of them
 * gives way to other clusters. */
void cluster_run(struct cluster *c);

bool cluster_has_ended(const struct cluster *c);
bool cluster_can_go_on(const struct cluster *c); /* some thread of some block */
bool cluster_has_other(const struct block *b);   /* some thread of another block of its cluster */
void cluster_free_stacks(struct cluster *c);     /* no thread will run again */

#endif

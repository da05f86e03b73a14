/* What runs a cluster of blocks. */
#ifndef SIMT_RUN_CLUSTER_H
#define SIMT_RUN_CLUSTER_H

#include "block/cluster.h"

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

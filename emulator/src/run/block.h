/* What a block does: it begins, its threads meet. */
#ifndef SIMT_RUN_BLOCK_H
#define SIMT_RUN_BLOCK_H

#include "block/block.h"

struct block *block_new(struct cluster *c, unsigned rank);       /* empty; reused for one block after another */
void block_begin(struct block *b, struct launch *l, u64 number); /* nobody has run yet */
/* bar.sync and bar.red, called at pc by the running thread; threads 0: all that have not left. Returns for how many of
 * those that met the predicate held. */
unsigned block_barrier(unsigned id, unsigned threads, bool predicate, enum meeting as, const void *pc);
/* bar.arrive: goes on at once */
void block_barrier_arrive(unsigned id, unsigned threads, enum meeting as, const void *pc);
/* All threads that are left wait for other blocks: goes on when these have come. False: not all do. */
bool block_waits_for_grid(struct block *b);

#endif

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
/* The running thread comes to a barrier at pc. Lanes of a warp come to one that is .aligned at one place: else what is called so is
 * reported. */
struct arrival block_arrival(struct block *b, enum meeting as, const void *pc);
void block_check_place(struct block *b, const char *call, const struct arrival *first, const struct arrival *now);
/* And so is a lane that came to it in a loop, and has left the loop and the kernel, while its warp comes to it again. */
void block_check_left(struct block *b, const char *call, unsigned warp, const struct arrival *first);
/* All threads that are left wait for other blocks: goes on when these have come. False: not all do. */
bool block_waits_for_grid(struct block *b);

#endif

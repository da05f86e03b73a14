/* setmaxnreg: the warpgroups of a block share the registers that it got at its launch. */
#ifndef SIMT_REGISTER_POOL_H
#define SIMT_REGISTER_POOL_H

#include "block/block.h"

/* The running thread's warpgroup wants so many registers a thread from now on: called at pc by all of its 128 threads. */
void register_pool_take(unsigned count, const void *pc); /* waits until the pool has them */
void register_pool_give(unsigned count, const void *pc);
void register_pool_begin_block(struct block *b);

#endif

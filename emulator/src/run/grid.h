/* What the blocks of a grid do that may wait for each other. */
#ifndef SIMT_RUN_GRID_H
#define SIMT_RUN_GRID_H

#include "block/grid.h"

void grid_begin(struct launch *l);
void grid_end(struct launch *l);
struct release;
/* The block has come as a whole; its threads one by one, having done that, or NULL: all at once. */
void grid_arrive(struct block *b, const struct release *early);
void grid_meet(struct block *b, const struct release *early); /* arrives unless it has, and returns when all have */
void grid_block_left(struct block *b);                        /* it has ended */

#endif

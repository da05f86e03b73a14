/* A grid whose blocks may wait for each other, because its launch is cooperative: all of them are begun, whatever each
 * worker has in hand. */
#ifndef SIMT_GRID_H
#define SIMT_GRID_H

#include "base.h"

struct block;
struct launch;

struct grid {
    bool whole;          /* the launch is cooperative */
    unsigned phase;      /* how often all blocks have met */
    u64 arrived, left;   /* blocks that wait for this phase's end; that have ended, and will not come */
    uint32_t *floors[2]; /* of each block: it had done what lies below this stamp when it came to an even, odd phase */
};

void grid_begin(struct launch *l);
void grid_end(struct launch *l);
void grid_meet(struct block *b);       /* the block has come as a whole; returns when all have */
void grid_block_left(struct block *b); /* it has ended */

/* Did the block of that serial do what it did at that stamp before this block last met the others, as it has? */
bool grid_before(const struct block *b, uint32_t serial, uint32_t stamp);

#endif

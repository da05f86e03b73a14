/* A grid whose blocks may wait for each other, because its launch is cooperative: all of them are begun, whatever each
 * worker has in hand. */
#ifndef SIMT_GRID_H
#define SIMT_GRID_H

#include "base/clock.h"

struct block;
struct launch;

#define GRID_PHASES \
    3 /* that can be looked at: while a block is in one, another may have come to the one after the next */

struct
    known_of_block { /* what it had done when it came: all that lies below this stamp, or each thread below its own */
    uint32_t floor;
    uint32_t *threads;
    struct clock engines;
};

struct grid {
    bool whole;        /* the launch is cooperative */
    unsigned phase;    /* how often all blocks have met */
    u64 arrived, left; /* blocks that have come to this phase's end; that have ended, and will not come */
    struct known_of_block *known[GRID_PHASES]; /* of each block, by its phase */
};

/* Did a thread of the block of that serial do what it did at that stamp before this block last met the others, as it has? */
bool grid_before(const struct block *b, uint32_t serial, unsigned thread, uint32_t stamp);

#endif

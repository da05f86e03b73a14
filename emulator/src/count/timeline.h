/* What the warps of one block do, in the order of the program: who loads, waits, multiplies behind what. */
#ifndef SIMT_TIMELINE_H
#define SIMT_TIMELINE_H

#include "count/cost.h"

struct timeline;

#define TIMELINE_NEW (~0u)

/* The block begins: NULL unless it is the one that SIMT_TIMELINE_BLOCK names, and something is counted. */
struct timeline *timeline_begin(const struct block *b);
/* A thread takes part in a request of its warp; `request`: what this returned to the first lane that did, or
 * TIMELINE_NEW. what: an enum counted, or COUNTED_ACCESSES and an enum event. */
unsigned timeline_join(struct block *b, unsigned thread, unsigned request, const void *pc, unsigned what,
                       struct event_of of);
/* The request is complete, and touched these bytes of shared memory. */
void timeline_touch(struct block *b, unsigned warp, unsigned request, const struct lane_accesses *a);
/* A product: what operand 0 or 1 reads of shared memory, vectors of 16 bytes that begin there. */
void timeline_read(struct block *b, unsigned warp, unsigned request, unsigned operand, const uint32_t *offsets,
                   unsigned n);
void timeline_warp_joined(struct block *b, unsigned warp); /* all lanes have met */
void timeline_end_launch(const struct launch *l);          /* writes what was recorded, if anything was */

#endif

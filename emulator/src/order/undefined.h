/* What a shuffle takes from a lane that takes no part is undefined, and a fault only where it is used. */
#ifndef SIMT_UNDEFINED_H
#define SIMT_UNDEFINED_H

#include "base/access.h"
#include "block/block.h"

struct undefined_read {
    const void *pc;
    unsigned thread, from, mask; /* from: the lane */
};

/* The running block's thread reads such a value. May return several times, each in a process of its own. */
u64 undefined_read(struct block *b, const struct undefined_read *read);

/* In such a process, until the block has ended. */
extern bool undefined_on_trial;
void undefined_store(const struct access *a); /* to global memory */
/* The block has come to its end, or cannot go on alone: reports if its results hang on what it read. */
void undefined_end(struct block *b);
void undefined_drop(struct block *b); /* it did not come to its end */

#endif

/* The turns of loops that each thread is in: lanes in different turns execute apart. */
#ifndef SIMT_PATH_H
#define SIMT_PATH_H

#include "base/base.h"

struct block;

void path_begin(struct block *b);                     /* from here on the block's threads are followed */
void path_begin_block(struct block *b);               /* none has begun */
u64 path_key(const struct block *b, unsigned thread); /* the same for lanes that have come the same way */

#endif

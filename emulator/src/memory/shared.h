/* A block's shared memory. */
#ifndef SIMT_SHARED_H
#define SIMT_SHARED_H

#include "run/block.h"
#include "run/launch.h"

void shared_new(struct block *b); /* its arena */
void shared_begin_launch(struct launch *l);
void shared_begin_block(struct block *b);                                           /* all of it is poisoned */
const struct object *shared_find(struct block *b, unsigned offset, unsigned bytes); /* the array there; NULL: none */

/* "A_smem[1][3]" or "dynamic shared memory at byte 12 of 64" */
void shared_name(const struct launch *l, unsigned offset, char *out, size_t size);

bool shared_is_known(const void *address); /* is it in some block's shared memory? */

#endif

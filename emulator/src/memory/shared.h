/* A block's shared memory, which lies in one range with that of the other blocks of its cluster. */
#ifndef SIMT_SHARED_H
#define SIMT_SHARED_H

#include "run/cluster.h"
#include "run/launch.h"

void shared_new_cluster(struct cluster *c); /* its arenas, side by side */
void shared_new(struct block *b);           /* what is kept about its own */
void shared_begin_launch(struct launch *l);
void shared_begin_cluster(struct cluster *c);
void shared_begin_block(struct block *b);                                           /* all of it is poisoned */
const struct object *shared_find(struct block *b, unsigned offset, unsigned bytes); /* the array there; NULL: none */

/* "A_smem[1][3]" or "dynamic shared memory at byte 12 of 64" */
void shared_name(const struct launch *l, unsigned offset, char *out, size_t size);

bool shared_is_known(const void *address); /* is it in some block's shared memory? */

#endif

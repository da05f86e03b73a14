/* A block's shared memory, which lies in one range with that of the other blocks of its cluster. */
#ifndef SIMT_SHARED_H
#define SIMT_SHARED_H

#include "block/cluster.h"
#include "block/launch.h"

void shared_new_cluster(struct cluster *c); /* its arenas, side by side */
void shared_new(struct block *b);           /* what is kept about its own */
void shared_begin_launch(struct launch *l);
void shared_begin_cluster(struct cluster *c);
void shared_begin_block(struct block *b);                                           /* all of it is poisoned */
const struct object *shared_find(struct block *b, unsigned offset, unsigned bytes); /* the array there; NULL: none */

/* "A_smem[1][3]" or "dynamic shared memory at byte 12 of 64" */
void shared_name(const struct launch *l, unsigned offset, char *out, size_t size);

/* Whose shared memory is it, of the blocks of b's cluster? NULL: none's. */
static inline struct block *shared_owner(const struct block *b, const void *address)
{
    const struct cluster *c = b->cluster;
    size_t offset = (size_t)((const unsigned char *)address - c->arena);
    return offset < c->n * SHARED_BYTES ? c->blocks[offset / SHARED_BYTES] : NULL;
}

/* Where in the shared memory of the block whose it is. */
static inline unsigned shared_offset(const struct block *b, const void *address)
{
    return (unsigned)((const unsigned char *)address - b->cluster->arena) % SHARED_BYTES;
}

/* The same place in the shared memory of the block of that rank in b's cluster. */
static inline void *shared_of_rank(const struct block *b, const void *address, unsigned rank)
{
    return b->cluster->arena + rank * SHARED_BYTES + shared_offset(b, address);
}

/* The rank of a block that is not in the cluster, and to whose shared memory mapa has led; 0: it is no such address. */
static inline unsigned shared_absent_rank(const struct block *b, const void *address)
{
    size_t rank = (size_t)((const unsigned char *)address - b->cluster->arena) / SHARED_BYTES;
    return rank >= b->cluster->n && rank < b->cluster->ranks ? (unsigned)rank : 0;
}

bool shared_is_known(const void *address); /* is it in some block's shared memory, of any cluster? */

#endif

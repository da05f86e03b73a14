/* Every access of a kernel: where it goes, whether it may, who else was there, what it costs. */
#ifndef SIMT_ACCESS_H
#define SIMT_ACCESS_H

#include "block/block.h"
#include "order/race.h"
#include "block/worker.h"

/* An access of the running thread at code address pc, as most are. */
static inline struct access access_of(struct block *b, const void *pc, const void *address, unsigned bytes,
                                      enum access_kind kind)
{
    return (struct access){.block = b,
                           .pc = pc,
                           .address = address,
                           .bytes = bytes,
                           .thread = b->cur,
                           .serial = b->serial,
                           .stamp = b->now,
                           .kind = kind,
                           .scope = SIMT_SCOPE_SYSTEM,
                           .manner = AS_WRITTEN};
}

/* Before it is done. */
void access_check(const struct access *a);

/* An address in the shared memory of a block that the cluster has not is reported. */
void access_check_rank(const struct access *a);

/* Part of a copy, which is counted elsewhere: of any number of bytes, and from where something has been written. */
void access_touch(const struct access *a);

/* A plain or volatile load or store of checked code, before it is done. */
void access_in_manner(const void *address, unsigned bytes, enum access_kind kind, enum manner manner,
                      enum simt_scope scope, const void *pc);

/* A load by the path that takes memory for constant as long as the kernel runs; the load itself is checked apart. */
void access_read_only(struct block *b, const void *address, unsigned bytes, const void *pc);

u64 access_value(const void *address, unsigned bytes); /* of at most 8 bytes; the first 8 of more */

#endif

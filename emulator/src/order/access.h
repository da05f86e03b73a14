/* Every access of a kernel: where it goes, whether it may, who else was there, what it costs. */
#ifndef SIMT_ACCESS_H
#define SIMT_ACCESS_H

#include "run/block.h"
#include "warp/collective.h"
#include "order/race.h"
#include "run/worker.h"

/* By the running thread, at code address pc; before it is done. */
void access_check(struct block *b, const void *pc, const void *address, unsigned bytes, enum access_kind kind,
                  enum simt_scope scope);

/* Part of a copy, which is counted elsewhere: of any number of bytes, and from where something has been written. */
void access_touch(struct block *b, const void *pc, const void *address, unsigned bytes, enum access_kind kind);

/* A plain or volatile load or store of checked code, before it is done. */
void access_in_manner(const void *address, unsigned bytes, enum access_kind kind, enum manner manner,
                      enum simt_scope scope, const void *pc);

/* A load by the path that takes memory for constant as long as the kernel runs; the load itself is checked apart. */
void access_read_only(struct block *b, const void *address, unsigned bytes, const void *pc);

/* The last access of the running thread is done. */
void access_settle(struct worker *w);

u64 access_value(const void *address, unsigned bytes); /* of at most 8 bytes; the first 8 of more */

/* Called before a thread does anything else than its last access: that is done now. */
static inline void moves_on(struct worker *w)
{
    if (w->unsettled)
        access_settle(w);
}

#endif

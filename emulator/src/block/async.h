/* What is in flight, for the rooms below async: it answers. */
#ifndef SIMT_BLOCK_ASYNC_H
#define SIMT_BLOCK_ASYNC_H

#include "base/access.h"

/* An access of shared memory: reports it where a transfer in flight writes there, or reads what would be overwritten, or where
 * an mbarrier object lies. For access.c, which asks only while anything is guarded. */
void async_check(const struct access *a);
/* An access meets what an engine of the block of that serial did, though it is not known to be done. Reported if a transfer in
 * flight is to write there. True: one is to read there, and was issued before the access: when it is done it will be seen
 * whether anything has changed. */
bool async_meets(const struct access *a, uint32_t serial, unsigned engine, uint32_t stamp, bool stored);
/* Why these bytes of a thread's variables are still registers of a product in flight: in a sentence, what wait is missing. */
void async_say_unlanded(struct block *b, unsigned thread, const void *address, unsigned bytes, char *text, size_t size);
/* The bytes that a thread's copies in flight read, without those that an mbarrier waits for: when these land, other
 * threads decide. */
u64 async_bytes(const struct block *b, unsigned thread);
/* The bytes of the block's transfers in flight that mbarriers count. */
u64 async_counted_bytes(const struct block *b);

#endif

/* What strong accesses, atomic operations and volatile ones, hand from thread to thread. */
#ifndef SIMT_MESSAGES_H
#define SIMT_MESSAGES_H

#include "block/block.h"
#include "order/order.h"

/* A volatile store, or one of PTX that is strong, before it is done. */
void message_store(const struct access *a);
/* Such a load of the running thread; what it has read is looked into when its thread goes on. Until then the word may hold
 * an older value, which the load may return as well. */
void message_load(const struct access *a);
void message_settle(struct block *b); /* the running thread's load is done */

struct strong_access { /* an atomic operation */
    struct access access;
    bool writes;
    u64 compare;
    u64 before;     /* what was there */
    unsigned older; /* set by message_atomic_older(): the write that it has found; 0: the last */
};

/* Around an atomic operation; end is given what begin returned. */
bool message_atomic_begin(const struct access *a);
void message_atomic_end(const struct strong_access *a, bool held);
/* Between the two, if begin returned true: the operation, which changes nothing there, may have been done before the last
 * write, and found that value. False: no. */
bool message_atomic_older(struct strong_access *a, u64 *value);
void messages_end_launch(void);

/* Has what (serial, other) did at that stamp at least been seen by the thread? That is enough for its strong access. */
bool message_seen(const struct block *b, unsigned thread, uint32_t serial, unsigned other, uint32_t stamp);
/* Would it have happened before, if every scope were wide enough and every read acquired? */
bool message_loosely(const struct block *b, unsigned thread, uint32_t serial, unsigned other, uint32_t stamp);
/* By which write and read did a thread of the block learn of that? False: by none. */
bool message_way(const struct block *b, uint32_t serial, unsigned other, uint32_t stamp, struct way *way);
/* Has the thread read what was last written to that address? */
bool message_observed(struct block *b, unsigned thread, const void *address);
/* And has there been a fence of its own, or a barrier, since? */
bool message_observed_and_fenced(struct block *b, unsigned thread, const void *address);
/* Is the thread in a lock, and with what fence? */
enum lock_fence message_lock(const struct block *b, unsigned thread);
/* It writes inside a lock without a full fence. */
void message_note_careless(struct block *b, unsigned thread);
/* Does it hold a lock that (serial, other) has held with less of a fence than this one needs? */
bool message_lock_was_careless(struct block *b, unsigned thread, uint32_t serial, unsigned other);

#endif

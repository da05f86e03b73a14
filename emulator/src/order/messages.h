/* What strong accesses, atomic operations and volatile ones, hand from thread to thread. */
#ifndef SIMT_MESSAGES_H
#define SIMT_MESSAGES_H

#include "run/block.h"

/* A volatile store, or one of PTX that is strong, of the running thread, before it is done. */
void message_store(struct block *b, const void *address, unsigned bytes, enum simt_scope scope, const void *pc);
/* Such a load; what it has read is looked into when its thread goes on. Until then the word may hold an older value, which
 * the load may return as well. */
void message_load(struct block *b, const void *address, unsigned bytes, enum simt_scope scope, const void *pc);
void message_absorb(struct block *b, struct knowledge *k);
void message_settle(struct block *b); /* the running thread's load is done, and others are to run */

struct strong_access {
    const void *address;
    enum simt_scope scope;
    bool writes;
    bool compares; /* atomicCAS */
    u64 compare;
    unsigned bytes;
    u64 before;     /* what was there */
    unsigned older; /* set by message_atomic_older(): the write that it has found; 0: the last */
    const void *pc;
};

/* Around an atomic operation of the running thread; end is given what begin returned. */
bool message_atomic_begin(struct block *b, const void *address);
void message_atomic_end(struct block *b, const struct strong_access *a, bool held);
/* Between the two, if begin returned true: the operation, which changes nothing there, may have been done before the last
 * write, and found that value. False: no. */
bool message_atomic_older(struct block *b, struct strong_access *a, u64 *value);
void messages_end_launch(void);

/* Has what (serial, thread) did at that stamp at least been seen? That is enough for a strong access of the running
 * thread. */
bool message_seen(struct block *b, uint32_t serial, unsigned thread, uint32_t stamp);
/* Would it have happened before, if every scope were wide enough and every read acquired? */
bool message_loosely(struct block *b, uint32_t serial, unsigned thread, uint32_t stamp);
/* By which write and read did the running thread, or another of its block, learn of that? False: by none. */
bool message_way(struct block *b, uint32_t serial, unsigned thread, uint32_t stamp, struct way *way);
/* Has the running thread read what was last written to that address? */
bool message_observed(struct block *b, const void *address);
/* And has there been a fence of its own, or a barrier, since? */
bool message_observed_and_fenced(struct block *b, const void *address);
/* Is the running thread in a lock, and with what fence? */
enum lock_fence message_lock(const struct block *b);
/* The running thread writes inside a lock without a full fence. */
void message_note_careless(struct block *b);
/* Does the running thread hold a lock that (serial, thread) has held with less of a fence than this one needs? */
bool message_lock_was_careless(struct block *b, uint32_t serial, unsigned thread);

#endif

/* Shared memory of another block of the cluster: there from when that block has begun until its last thread leaves. A thread
 * that touches it must know that the block has begun, by something that one of its threads did; and one of them must know of
 * the access when it leaves. */
#ifndef SIMT_TOUCH_H
#define SIMT_TOUCH_H

#include "base/access.h"
#include "block/cluster.h"

/* An access to another block's shared memory, or what else touches it there, by a thread or for one. */
void touch_other(const struct access *a, struct block *owner);
/* A thread of b has seen what shows that the block of that serial has begun, though nothing else is ordered by it. */
void touch_heard(struct block *b, const struct clock *done);
/* A thread of the owner has seen that accesses of that thread of another block are done, though nothing orders them. */
void touch_done(struct block *owner, uint32_t serial, unsigned thread, uint32_t stamp);
/* The cluster's barrier: a phase of it is over, for which who has left was not waited; and the running thread has waited for one. */
void touch_phase_ended(struct cluster *c);
void touch_phase_waited(struct block *b);
/* All threads of the block have met. */
void touch_block_met(struct block *b);
/* The running thread is about to leave. */
void touch_thread_left(struct block *b);
void touch_begin_block(struct block *b);

#endif

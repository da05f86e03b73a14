/* cp.async: copies from global to shared memory (PTX ISA, "Asynchronous copy").
 *
 * Asynchrony is adversarial: a copy lands as late as it may, at the wait that covers it and not before. From its issue to
 * that wait it is in flight: whoever reads or writes its target meanwhile, or changes its source, is reported with both
 * lines. For order, a copy occupies the whole interval, beginning with what its issuer knew. */
#ifndef SIMT_CP_ASYNC_H
#define SIMT_CP_ASYNC_H

#include "block/async.h"
#include "order/race.h"

/* cp.async by the running thread, called from pc: `bytes` (4, 8 or 16) to `to` in shared memory, of which the first
 * source_bytes come from `from` in global memory and the rest are zeros. Addresses are generic. past_l1: .cg. */
void async_copy(void *to, const void *from, unsigned bytes, unsigned source_bytes, bool past_l1, const void *pc);
void async_commit(const void *pc);                     /* cp.async.commit_group */
void async_wait(unsigned groups_left, const void *pc); /* cp.async.wait_group */
void async_wait_all(const void *pc);                   /* cp.async.wait_all: what was not committed, too */

/* ---- for the other rooms ---- */

/* An mbarrier waits for all copies that the running thread has issued: returns how many these are. */
uint32_t async_attach(struct block *b);
/* Lands that thread's copies up to that many, since a wait at pc asks for them. */
void async_land(struct block *b, unsigned thread, uint32_t issued, const void *pc);

#endif

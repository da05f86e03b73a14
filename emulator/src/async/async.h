/* Asynchronous copies from global to shared memory, and the barriers in shared memory that wait for them (PTX ISA,
 * "Asynchronous copy" and "mbarrier").
 *
 * Asynchrony is adversarial: a copy lands as late as it may, at the wait that covers it and not before. From its issue to
 * that wait it is in flight: whoever reads or writes its target meanwhile, or changes its source, is reported with both
 * lines. For order, a copy occupies the whole interval, beginning with what its issuer knew. */
#ifndef SIMT_ASYNC_H
#define SIMT_ASYNC_H

#include "order/race.h"

/* cp.async by the running thread, called from pc: `bytes` (4, 8 or 16) to `to` in shared memory, of which the first
 * source_bytes come from `from` in global memory and the rest are zeros. Addresses are generic. past_l1: .cg. */
void async_copy(void *to, const void *from, unsigned bytes, unsigned source_bytes, bool past_l1, const void *pc);
void async_commit(const void *pc);                     /* cp.async.commit_group */
void async_wait(unsigned groups_left, const void *pc); /* cp.async.wait_group */
void async_wait_all(const void *pc);                   /* cp.async.wait_all: what was not committed, too */

/* An mbarrier object, 8 bytes at `barrier` in shared memory; addresses are generic. A phase is over when as many have
 * arrived as were expected, and as many bytes have come. */
void mbarrier_init(void *barrier, unsigned expected, const void *pc);
void mbarrier_invalidate(void *barrier, const void *pc);
void mbarrier_expect(void *barrier, u64 bytes, const void *pc);   /* mbarrier.expect_tx */
void mbarrier_complete(void *barrier, u64 bytes, const void *pc); /* mbarrier.complete_tx */

struct arriving {
    unsigned count;      /* so many arrivals */
    u64 bytes;           /* .expect_tx: before that, the phase expects so many bytes more */
    bool drops;          /* and all phases to come expect so many fewer arrivals */
    bool leaves_pending; /* .noComplete: it must not end the phase */
    bool relaxed;        /* it orders nothing */
};
u64 mbarrier_arrive(void *barrier, const struct arriving *how, const void *pc); /* the token: which phase that was */

struct asking {
    u64 token;      /* for its phase to be over */
    bool by_parity; /* token is a parity: of the phase in hand, or the one before */
    bool relaxed;   /* orders nothing */
};
bool mbarrier_test(void *barrier, struct asking for_what, const void *pc); /* is it over? It may give way first */
void mbarrier_wait(void *barrier, struct asking for_what, const void *pc); /* until it is */
unsigned mbarrier_pending(u64 token);                                      /* mbarrier.pending_count */
/* fence.mbarrier_init: what the running thread has initialised is visible to the async proxy. */
void mbarrier_fence_init(const void *pc);
/* cp.async.mbarrier.arrive: arrives when all copies that the thread has issued so far have landed. noinc: that arrival is
 * one of those expected; else the barrier expects one more. */
void async_arrive(void *barrier, bool noinc, const void *pc);

/* ---- for the other rooms ---- */

void async_begin_block(struct block *b);
void mbarrier_begin_block(struct block *b);

/* An access of shared memory: reports it where a transfer in flight writes there, or reads what would be overwritten, or where
 * an mbarrier object lies. For access.c, which asks only while anything is guarded. */
void async_check(const struct access *a);
/* An access meets what an engine of its block did, though it is not known to be done. Reported if a transfer in flight is to
 * write there. True: one is to read there, and was issued before the access: when it is done it will be seen whether anything
 * has changed. */
bool async_meets(const struct access *a, unsigned engine, uint32_t stamp, bool stored);
/* The mbarrier object on these bytes: its address; NULL: none. */
const void *mbarrier_on(const struct block *b, const void *address, unsigned bytes, struct actor *initialised);

/* The running thread leaves, and then its block: what they have in flight is looked at. */
void async_thread_left(struct block *b);
void async_block_left(struct block *b);

/* The bytes that a thread's copies in flight read, without those that an mbarrier waits for: when these land, other
 * threads decide. */
u64 async_bytes(const struct block *b, unsigned thread);
/* An mbarrier waits for all copies that the running thread has issued: returns how many these are. */
uint32_t async_attach(struct block *b);
/* Lands that thread's copies up to that many, since a wait at pc asks for them. */
void async_land(struct block *b, unsigned thread, uint32_t issued, const void *pc);

#endif

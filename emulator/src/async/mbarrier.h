/* Barriers in shared memory (PTX ISA, "mbarrier"): threads arrive at them, and copies in flight do. */
#ifndef SIMT_ASYNC_MBARRIER_H
#define SIMT_ASYNC_MBARRIER_H

#include "order/race.h"

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
    bool in_block;       /* its scope is said to be the block: at another block's it orders nothing */
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
void mbarrier_fence_init(void);
/* cp.async.mbarrier.arrive: arrives when all copies that the thread has issued so far have landed. noinc: that arrival is
 * one of those expected; else the barrier expects one more. */
void mbarrier_arrive_behind_copies(void *barrier, bool noinc, const void *pc);

/* ---- for the other rooms ---- */

void mbarrier_begin_block(struct block *b);

/* ---- for the files of this room ---- */

struct engine;
struct flying;
struct transfer;

void mbarrier_issue(const struct transfer *t); /* one that an mbarrier counts */
/* Whose phase has to be waited for ahead of that access, so that a transfer of that engine lands, in words. */
void mbarrier_say_missing(const struct engine *e, const struct flying *f, const struct access *a, char *text,
                          size_t size);
/* The mbarrier object on these bytes: its address; NULL: none. */
const void *mbarrier_on(const struct block *b, const void *address, unsigned bytes, struct actor *initialised);

#endif

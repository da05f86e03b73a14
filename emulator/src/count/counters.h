/* Counting as Nsight Compute does. */
#ifndef SIMT_COUNTERS_H
#define SIMT_COUNTERS_H

#include "base/access.h"

struct access;
struct launch;

enum counted {
    SHARED_LD,
    SHARED_ST,
    GLOBAL_LD,
    GLOBAL_ST,
    MATRIX_LD, /* ldmatrix and stmatrix */
    MATRIX_ST,
    WGMMA_LD, /* what products of a warpgroup read of shared memory */
    COPY_LD,  /* cp.async: what it reads from global memory, and what it writes to shared memory */
    COPY_ST,
    TMA_LD, /* bulk copies and copies of tensors, of global memory: what they read, write and reduce there */
    TMA_ST,
    TMA_RED,
    TMA_OTHER,       /* prefetches, commits to a group */
    DSHARED_LD,      /* of shared memory of other blocks of the cluster, which goes by sectors, as global memory does */
    DSHARED_ST,      /* st.async, too, also to the block's own */
    DSHARED_ATOMIC,  /* counted as EVENT_ATOMIC, too */
    DSHARED_RED,     /* red.async, also of the block's own */
    DSHARED_TMA_ST,  /* bulk copies within shared memory, also in the block's own */
    DSHARED_TMA_RED, /* and those that reduce */
    COUNTED_ACCESSES
};
/* EVENT_MMA: products of fragments, as many as the instructions that ptxas makes of one; but those of a warpgroup, of which
 * each of the four warps counts one. */
enum event {
    EVENT_BARRIER,
    EVENT_WARP_BARRIER,
    EVENT_SHUFFLE,
    EVENT_VOTE,
    EVENT_ATOMIC,
    EVENT_MMA,
    EVENT_WGMMA,
    EVENT_ARRIVE, /* at an mbarrier */
    COUNTED_EVENTS,
    EVENT_BARRIER_ARRIVE = COUNTED_EVENTS, /* bar.arrive: counted as a barrier */
    EVENT_CLUSTER_ARRIVE,                  /* barrier.cluster.arrive: likewise */
    EVENT_COPY_ARRIVE,                     /* at an mbarrier behind copies: counted as an arrival */
    EVENT_BULK_COMMIT,                     /* of bulk copies to a group: counted as one of TMA_OTHER */
    /* the others are not counted, and only a timeline asks for them: */
    EVENT_EXPONENTIAL,
    EVENT_COMMIT, /* of copies to a group, and the wait for groups */
    EVENT_COPY_WAIT,
    EVENT_BULK_WAIT_READ, /* the latter of bulk copies, until they have read, or written */
    EVENT_BULK_WAIT,
    EVENT_PHASE_WAIT,   /* for an mbarrier's phase */
    EVENT_CLUSTER_WAIT, /* for a phase of the cluster's barrier */
    EVENT_WGMMA_COMMIT, /* of products to a group, and the wait for groups */
    EVENT_WGMMA_WAIT,
    EVENT_REGISTERS, /* setmaxnreg: the object is how many */
    EVENTS
};
struct event_of {
    unsigned object; /* a barrier's number, an mbarrier's place in shared memory, groups that a wait leaves under way */
    unsigned phase;  /* how often the barrier was complete before */
};
#define ALL_GROUPS (~0u) /* of a wait: not even those not committed are left */

/* During what copies in flight are counted. */
enum use { USE_SHARED_LD, USE_LDMATRIX, USE_SHUFFLE, USE_MMA, USE_WGMMA, USES };

struct access_counts {
    u64 requests, bytes, wavefronts, conflicts, sectors;
    u64 l2_sectors; /* TMA_LD: what is asked of L2, by a multicast once for all its receivers */
};
struct in_flight_counts {
    /* during which copies by cp.async of the same warp are in flight; of wgmma, the block's that mbarriers count */
    u64 requests;
    u64 bytes; /* of these copies, added up over the requests */
};
struct counts {
    struct access_counts access[COUNTED_ACCESSES];
    u64 event[COUNTED_EVENTS];
    struct in_flight_counts in_flight[USES];
};
struct line_counts {
    const void *pc;
    struct counts counts;
};

extern bool counters_on;

void counters_begin(struct block *b); /* the block begins: what it does is counted if counters_on */
void counters_end(struct block *b);   /* the launch has ended: adds what was counted here to the kernel's */
void counters_access(const struct access *a, enum counted what);
/* Of cp.async. from: NULL where the target is filled with zeros; past_l1: .cg. */
void counters_copy(struct block *b, const void *pc, const void *to, const void *from, unsigned bytes, bool past_l1);
/* A bulk copy or a copy of a tensor's tile, by the running thread. of: the mbarrier that counts its bytes, and the phase in
 * hand; {ALL_GROUPS}: none does. A prefetch, too. */
struct transfer;
void counters_transfer(struct block *b, const struct transfer *t, struct event_of of);
/* A product of the warpgroup whose first warp that is, called at pc: one for each of its warps. What it reads of shared memory: where
 * in it vectors of 16 bytes begin. */
struct vectors_read {
    const uint32_t *offsets;
    unsigned n;
};
void counters_wgmma(struct block *b, unsigned warp, const void *pc, struct vectors_read of_a, struct vectors_read of_b);
void counters_event(struct block *b, const void *pc, enum event what);
void counters_event_of(struct block *b, const void *pc, enum event what, unsigned object, unsigned phase);
void counters_warp_joined(struct block *b, unsigned warp); /* all lanes have met: requests are complete */
void counters_block_joined(struct block *b);
void counters_merge(struct counts *into, const struct counts *from);

#endif

/* Order: which accesses happened before which, by the PTX memory model ("Memory Consistency Model").
 *
 * A block has a clock, `now`, that steps at each synchronisation. An access is stamped with it. Who knows what:
 *   floor      what all threads of the block did up to this stamp, every thread knows: a barrier raises it
 *   met        the same, of the threads that had not left when they met: above the floor once one left before it met others
 *   known      within a warp, by __syncwarp()
 *   knowledge  everything else: released by a fence and a strong access (an atomic operation, or volatile), acquired by
 *              a strong access that reads from it and a fence. A scope too small on either side orders nothing.
 *
 * Whoever touches memory is an actor: (serial of its block, number in it). Threads are, by their numbers, and so are the
 * engines that move bytes while their issuer goes on, with numbers from MAX_THREADS on. An engine's stamp is its own count of
 * what it was given to do. Barriers order nothing of it: a wait that covers it tells its thread up to which stamp the engine
 * is done, and from there that spreads as all knowledge does. */
#ifndef SIMT_ORDER_H
#define SIMT_ORDER_H

#include "base/access.h"
#include "base/clock.h"
#include "block/heard.h"

struct block;

/* Of each kind, one for each thread, mbarrier or warpgroup. */
enum engine_kind {
    NO_ENGINE,       /* a thread */
    COPIES,          /* cp.async of a thread */
    BULK_READS,      /* bulk copies of a thread's groups, as far as they read, */
    BULK_WRITES,     /* and as far as they write: a wait may be for the former alone */
    COUNTED,         /* bulk copies that an mbarrier counts; the last mbarriers share one, */
    SENT,            /* and what it counts of the generic proxy: st.async and red.async */
    PRODUCTS,        /* wgmma of a warpgroup */
    INITIALISATIONS, /* of mbarriers, by a thread: relaxed arrivals release these, too */
    ENGINE_KINDS
};
enum { MAX_ACTORS = ENGINE_KINDS * MAX_THREADS };
static inline unsigned engine_of(enum engine_kind kind, unsigned i) { return kind * MAX_THREADS + i; }
static inline enum engine_kind engine_kind(unsigned actor) { return (enum engine_kind)(actor / MAX_THREADS); }
static inline enum proxy engine_proxy(unsigned actor)
{
    static const enum proxy proxies[] = {
        [NO_ENGINE] = GENERIC_PROXY, [COPIES] = GENERIC_PROXY,         [BULK_READS] = ASYNC_PROXY,
        [BULK_WRITES] = ASYNC_PROXY, [COUNTED] = ASYNC_PROXY,          [SENT] = GENERIC_PROXY,
        [PRODUCTS] = ASYNC_PROXY,    [INITIALISATIONS] = GENERIC_PROXY};
    return proxies[engine_kind(actor)];
}

/* The largest fence that a thread has done since it took a lock: without one, others may see it inside before they see
 * what the last holder wrote. */
enum lock_fence { NO_LOCK, NO_FENCE, BLOCK_FENCE, CLUSTER_FENCE, DEVICE_FENCE };

struct knowledge {
    struct clock acquired;             /* has happened before */
    uint32_t *acquired_own;            /* the same, of the block's own threads, by order_acquire(); NULL: nothing */
    struct clock seen[ORDERED_SCOPES]; /* by relaxed reads that no fence has followed, by their scope */
    struct clock
        taken; /* of that, by reads other than atomicCAS: known to strong accesses, which hardware does in turn */
    struct clock released[ORDERED_SCOPES]; /* what the last fence of at least that scope covers */
    struct clock loose;                    /* if the scope of every fence and every atomic were wide enough */
    const void *loaded;                    /* by a volatile load that is announced but not yet looked into */
    enum simt_scope loaded_scope;
    u64 sequential; /* tick of the last sequential fence that it has done, or that happened before */
    const void *loaded_at;
    uint32_t fenced;            /* stamp of its last fence */
    struct step fence;          /* and the rest of it */
    const void *lock;           /* that it has taken by atomicCAS, and not written since; NULL: none */
    u64 lock_free;              /* what the lock holds when nobody has it */
    enum lock_fence lock_fence; /* done since it was taken */
    enum lock_fence careless; /* what had been done when it first wrote inside the lock, if too little; else NO_LOCK */
};

void order_begin_block(struct block *b);
void order_block_barrier(struct block *b);
void order_thread_left(struct block *b); /* the running one; others do not meet it in barriers to come */
void order_warp_sync(struct block *b, unsigned warp, uint32_t lanes);
/* For an object of a block, which its threads release to and acquire from, each by itself; threads of other blocks may
 * release to it, too. */
struct release {
    uint32_t serial;               /* of the block; its owner sets it */
    uint32_t threads[MAX_THREADS]; /* up to which stamp each of its threads is known */
    struct clock others;           /* of other blocks, and of engines */
    u64 sequential;                /* as in knowledge */
};
/* Adds what that thread knows and has done. */
void order_release(struct block *b, unsigned thread, struct release *into);
void order_acquire(struct block *b, unsigned thread, const struct release *from);
/* lanes of each warp: those that have met in a barrier. met: what others had released to it that passed; and then, what all had
 * done. */
void order_some(struct block *b, const uint32_t *lanes, struct release *met, bool passed);
/* The same without order of their own: what its last fence covers, and its initialisations of mbarriers; and known when a fence
 * follows. */
void order_release_fenced(struct block *b, unsigned thread, enum simt_scope scope, struct release *into);
void order_see(struct block *b, unsigned thread, const struct release *from);
/* A cluster's barrier: what the threads of one block had done when they arrived. */
#define NOT_MET (~0u)
struct arrivals {
    struct release done;
    struct clock fenced[ORDERED_SCOPES]; /* as knowledge's released */
    uint32_t met; /* b->met when the last came; NOT_MET: what the block knows is still to be added */
};
struct cluster_barrier;
void order_arrive_in_cluster(struct block *b, unsigned thread, struct arrivals *into);
void order_forget_arrivals(const struct block *b, struct arrivals *arrived);
/* All have arrived: moves what those of a block had done to what all had, in few words. */
void order_gather(const struct block *b, struct arrivals *arrived, struct cluster_barrier *into);
/* A thread goes on behind it, or the block does: all its threads that have not left have come to the wait. */
void order_acquire_all(struct block *b, unsigned thread, const struct cluster_barrier *from);
void order_block_acquire_all(struct block *b, const struct cluster_barrier *from);
/* Sequential: all such fences of a launch happen in one order. */
void order_fence(struct block *b, enum simt_scope scope, bool sequential, const void *pc);
u64 order_tick(void); /* strong writes and fences are numbered in the order in which they happen */
/* The last sequential fence that the thread has behind it. */
u64 order_sequential(const struct block *b, unsigned thread);
/* Up to which stamp all threads of a block know what each engine did. */
struct engines {
    uint32_t stamp[MAX_ACTORS - MAX_THREADS];
    uint16_t used[MAX_ACTORS - MAX_THREADS]; /* those of which they know something */
    unsigned n;
};

/* A wait of that thread covers what the engine did up to this stamp. */
void order_learn(struct block *b, unsigned thread, unsigned engine, uint32_t stamp);
/* Do all threads of the block know that? */
static inline bool order_engine_met(const struct engines *met, unsigned engine, uint32_t stamp)
{
    return met && met->stamp[engine - MAX_THREADS] >= stamp;
}
void order_engines(const struct block *b, struct clock *out); /* adds it */
/* Did what (serial, other) did at that stamp happen before what that thread does now? */
bool order_before(struct block *b, unsigned thread, uint32_t serial, unsigned other, uint32_t stamp);
void order_done(struct block *b, unsigned thread, struct clock *out); /* adds what that thread knows and has done */
struct knowledge *order_knowledge(struct block *b, unsigned thread);  /* made if there is none */
void order_notice(struct block *b);                                   /* from now on, messages are left */

#endif

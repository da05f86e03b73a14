/* A block: its threads and warps, its barriers, its shared memory. Blocks know nothing of the OS thread that runs them;
 * several may be in hand at once (worker.h). */
#ifndef SIMT_BLOCK_H
#define SIMT_BLOCK_H

#include "order.h"
#include "fiber.h"
#include "waiting.h"

#define NAMED_BARRIERS 16 /* bar.sync 0 to 15 */
#define GRID_BARRIER 16   /* where the threads wait that wait for other blocks */
#define BARRIERS 17

struct thread {
    void *sp;             /* saved while it does not run */
    unsigned char *stack; /* its slot; NULL before it starts and after it ends */
    unsigned idx[3];
    const struct waiting *waits_for; /* NULL: it could run */
    const void *pc;                  /* the call it waits in; else where it last gave way, or NULL */
    struct collective *call;         /* collective.h: what it has come with; valid while it waits in one */
    struct knowledge *knowledge;     /* order.h; NULL until it takes part in more than barriers */
    uint32_t touched;                /* stamp of its last access to shared or global memory */
    struct entry overwrote;          /* race.c: who had written before it where it last wrote by a strong access */
    bool overwrote_strong;           /* and by a strong access as well */
    uint32_t met;                    /* once it has left: b->met when it did */
    uint8_t turns[16];               /* race.c: stores since it last met others, by their place in the program */
};

struct warp {
    uint32_t live, ready;       /* lanes that have not left; lanes that could run */
    uint32_t known[WARP][WARP]; /* order.c: lane i has seen what lane j did up to this stamp */
};

struct barrier {
    struct waiting waiting;
    unsigned arrived;
    unsigned expected;        /* threads; 0: all that have not left */
    unsigned count, result;   /* of __syncthreads_count() */
    unsigned met;             /* how often it has been complete */
    uint32_t part[MAX_WARPS]; /* lanes that have arrived, of warps of which others may yet */
    bool passed;              /* some have arrived without waiting */
    struct clock passing;     /* and what they had done by then */
};

struct undefined_read { /* the first shuffle of a warp that took something from a lane that took no part */
    const void *pc;     /* NULL: there was none */
    unsigned thread, from, mask;
};

struct block {
    struct launch *launch;
    struct worker *worker;
    struct block *next_in_hand; /* worker.c */
    bool started;
    unsigned cur; /* the running thread, or the one to go on with */
    unsigned n_live;
    unsigned index[3];
    u64 number;      /* in the grid */
    uint32_t serial; /* among all blocks of the program */
    struct thread *threads;
    struct warp *warps;
    struct barrier barriers[BARRIERS];
    unsigned phase;           /* grid.c: how often it has met the other blocks */
    unsigned barriers_in_use; /* a bit for each that somebody waits in */
    unsigned ahead;           /* waiting.c: how long the running warp has been going on while others could */
    unsigned yields;          /* since a thread of this block last did something else than give way */
    unsigned quiet;           /* accesses since a thread last gave way */
    /* order.c */
    uint32_t now, floor, met;
    bool left_unmet; /* some thread has left after it did what no barrier has ordered */
    struct clock acquired, released[2];
    u64 sequential;                 /* as in knowledge */
    u64 fenced;                     /* tick of the last fence of any of its threads */
    struct heard heard[MOST_HEARD]; /* messages.c */
    unsigned n_heard;
    unsigned n_knowledge;
    /* shared.c */
    unsigned char *arenas; /* one of which is this block's */
    unsigned char *arena;
    struct object *arrays;                      /* as launch->arrays, at this block's addresses */
    unsigned n_arrays;                          /* of them known so far */
    unsigned last_array;                        /* that an access went to */
    unsigned char *written;                     /* a bit for each byte of the arena */
    struct cells *cells;                        /* of the arena */
    struct undefined_read undefined[MAX_WARPS]; /* collective.c */
    unsigned n_undefined;
    struct suspicion *suspicion; /* race.c */
    struct flight *flight;       /* async.c: copies in flight; NULL before the first */
    struct mbarrier *mbarriers;  /* mbarrier.c: those that have been initialised */
    unsigned n_guarded;          /* async.c: words of shared memory that no access may touch now */
    struct counting *counting;   /* counters.c; NULL when nothing is counted */
    struct paths *paths;         /* path.c; likewise */
    bool compares;      /* atomic.c: the running thread's atomic operation is atomicCAS, which may write nothing */
    enum manner manner; /* access.c: of the running thread's access */
    struct timeline *timeline; /* timeline.c; NULL when this block is not recorded */
};

static inline struct thread *current(struct block *b) { return &b->threads[b->cur]; }
static inline struct warp *warp_of(struct block *b, unsigned thread) { return &b->warps[thread / WARP]; }
/* Is that in the running thread's stack? */
static inline bool block_is_own_stack(const struct block *b, const void *address)
{
    return (size_t)((const unsigned char *)address - b->threads[b->cur].stack) < STACK_SLOT;
}
static inline bool has_left(const struct block *b, unsigned thread)
{
    return !(b->warps[thread / WARP].live >> thread % WARP & 1);
}

/* Has a barrier of all of the block that was left ordered what that thread had done up to that stamp? Who had left by then
 * did not meet the others there. */
static inline bool order_met(const struct block *b, unsigned thread, uint32_t stamp)
{
    if (stamp <= b->floor || stamp > b->met)
        return stamp <= b->floor;
    return !has_left(b, thread) || stamp <= b->threads[thread].met;
}

struct block *block_new(struct worker *w);                       /* empty; reused for one block after another */
void block_begin(struct block *b, struct launch *l, u64 number); /* nobody has run yet */
/* bar.sync and bar.red, called at pc by the running thread; threads 0: all that have not left. Returns for how many of
 * those that met the predicate held. */
unsigned block_barrier(unsigned id, unsigned threads, bool predicate, const void *pc);
void block_barrier_arrive(unsigned id, unsigned threads, const void *pc); /* bar.arrive: goes on at once */
/* All threads that are left wait for other blocks: goes on when these have come. False: not all do. */
bool block_waits_for_grid(struct block *b);
void block_thread_done(struct block *b); /* called by a fiber at the end of its kernel */

#endif

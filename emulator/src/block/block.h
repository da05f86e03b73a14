/* A block: its threads and warps, its barriers, its shared memory. One worker runs a block from its
 * beginning to its end (worker.h); each is one of a cluster (cluster.h). */
#ifndef SIMT_BLOCK_H
#define SIMT_BLOCK_H

#include "block/heard.h"
#include "block/fiber.h"
#include "block/waiting.h"

#define NAMED_BARRIERS 16 /* bar.sync 0 to 15 */
#define GRID_BARRIER 16   /* where the threads wait that wait for other blocks */
#define TILE_BARRIERS 17  /* of groups of several warps: 16 of 64 threads, 8 of 128, … 1 of 1,024 */
#define BARRIERS 48
#define ENGINES_KNOWN 8

struct thread {
    void *sp;             /* saved while it does not run */
    unsigned char *stack; /* its slot; NULL before it starts and after it ends */
    unsigned idx[3];
    const struct waiting *waits_for; /* NULL: it could run */
    const void *pc;                  /* the call it waits in; else where it last gave way, or NULL */
    struct collective *call;         /* collective.h: what it has come with; valid while it waits in one */
    struct knowledge *knowledge;     /* order.h; NULL until it takes part in more than barriers */
    const void *aligned_at;          /* where it last came to a barrier that is .aligned, or NULL */
    const void *aligned_in;          /* and where the function that holds it was called */
    u64 asked;                       /* of what it waits for, how many phases have to be over */
    u64 arrived_for;  /* cluster_barrier.c: the phase that it may wait for, counted from 1; 0: it has not arrived */
    u64 waited_for;   /* and the last that it came to wait for */
    uint32_t touched; /* stamp of its last access to shared or global memory */
    struct entry overwrote;        /* race.c: who had written before it where it last wrote by a strong access */
    bool overwrote_strong;         /* and by a strong access as well */
    uint32_t met;                  /* once it has left: b->met when it did */
    uint32_t waited_block, waited; /* overlap.c: in that block, at that stamp, for the launch in front */
    bool watched;                  /* registers.c: its accesses of its own stack are looked at */
    uint16_t knows_of;             /* touch.c: ranks of the cluster, a bit for each that it knows to have begun */
    uint8_t turns[16];             /* race.c: stores since it last met others, by their place in the program */
};

struct warp {
    uint32_t live, ready;       /* lanes that have not left; lanes that could run */
    uint32_t in_warpgroup;      /* collective.c: lanes that wait in a collective of their warpgroup */
    uint32_t known[WARP][WARP]; /* order.c: lane i has seen what lane j did up to this stamp */
};

/* Who may meet in a barrier at different places of the program? The lanes of one warp, only if the instruction is not
 * .aligned; warps always, though it is no good style with __syncthreads(). */
enum meeting { MEET_ANYWHERE, MEET_ALIGNED, MEET_SYNCTHREADS };

struct arrival {
    const void *pc, *in; /* in: where the function that holds it was called; NULL: not known, or not asked for */
    unsigned thread;
    enum meeting as;
};

/* Who came to a barrier that was given a number of threads, until it was complete. */
struct turn {
    uint32_t stamp[MAX_WARPS]; /* when the first lane of each warp did; 0: none has */
    const void *pc[MAX_WARPS];
};

struct barrier {
    struct waiting waiting;
    struct waiting of_warp; /* lanes that have arrived, and come again: for the rest of their warp to arrive */
    unsigned id;            /* its place among the block's */
    unsigned arrived;
    unsigned partly;                 /* of these, lanes of warps of which others may yet */
    unsigned expected;               /* threads; 0: all that have not left */
    unsigned count, result;          /* of __syncthreads_count() */
    unsigned met;                    /* how often it has been complete */
    uint32_t part[MAX_WARPS];        /* lanes that have arrived, of warps of which others may yet */
    struct arrival first[MAX_WARPS]; /* of those */
    const void *whole, *other;       /* where the first came by __syncthreads(), and one at another line; or NULL */
    bool passed;                     /* some have arrived without waiting */
    struct release *done;            /* and what they had done by then; NULL before a part of the block first meets */
    /* of a barrier in two halves, barrier_arrive() and barrier_wait(): */
    struct release *early;    /* what threads had done when they arrived; NULL: nobody has yet */
    uint32_t came[MAX_WARPS]; /* the lanes that did */
    unsigned n_came;
    bool halved;                 /* some wait in the second half */
    struct turn turn, last_turn; /* with checks */
    bool mixes;                  /* it has been reported that nothing keeps its turns apart */
};

struct block {
    struct launch *launch;
    struct worker *worker;
    struct cluster *cluster;
    unsigned rank; /* in the cluster */
    bool started;
    bool blocked; /* waiting.c: no thread of it goes on until one of another block of the cluster wakes it */
    unsigned cur; /* the running thread, or the one to go on with */
    unsigned n_live;
    unsigned index[3];
    u64 number;      /* in the grid */
    uint32_t serial; /* among all blocks of the program; those of a cluster are neighbours */
    struct thread *threads;
    struct warp *warps;
    struct barrier barriers[BARRIERS];
    unsigned phase;      /* grid.c: how often it has met the other blocks */
    bool came_to_grid;   /* and whether it has come to the barrier in hand */
    u64 barriers_in_use; /* a bit for each that somebody waits in */
    bool has_roles;      /* its warps do different things: some use a barrier or an mbarrier that not all come to */
    unsigned ahead;      /* waiting.c: how long the running warp has been going on while others could */
    unsigned yields;     /* since a thread of this block last did something else than give way */
    unsigned quiet;      /* accesses since a thread last gave way */
    /* order.c */
    uint32_t now, floor, met;
    bool left_unmet; /* some thread has left after it did what no barrier has ordered */
    struct clock acquired, released[ORDERED_SCOPES];
    u64 sequential;                 /* as in knowledge */
    u64 fenced;                     /* tick of the last fence of any of its threads */
    struct heard heard[MOST_HEARD]; /* messages.c */
    unsigned n_heard;
    struct touches *touches; /* touch.c: accesses of other blocks to its shared memory; NULL before the first */
    uint16_t heard_of;       /* ranks of the cluster, a bit for each whose flags some thread has seen */
    bool loads;              /* the running thread is at a strong load, which message_settle() will look into */
    struct cluster_part *cluster_part; /* cluster_barrier.c; NULL before the first arrival */
    unsigned n_knowledge;
    struct proxy_fences *proxy_fences; /* proxy.c: of each thread; NULL before the first */
    unsigned n_proxy_fences, n_fenced; /* the latter for global memory */
    unsigned proxy_fencer;             /* whose fence was last of use */
    struct engines *engines;           /* NULL: none has been waited for */
    struct engine_known {              /* the last that have been asked for, and found */
        unsigned thread, engine;
        uint32_t stamp;
    } engine_known[ENGINES_KNOWN]; /* by the engine's number */
    /* shared.c */
    unsigned char *arena;          /* one of its cluster's */
    struct offer *offers;          /* block.c: of each thread, to others of its group; NULL before the first */
    struct object *arrays;         /* as launch->arrays, at this block's addresses */
    unsigned n_arrays;             /* of them known so far */
    unsigned last_array;           /* that an access went to */
    unsigned char *written;        /* a bit for each byte of the arena */
    struct cells *cells;           /* of the arena */
    struct trial *trial;           /* undefined.c: copies of it run; NULL: none does */
    struct suspicions *suspicions; /* race.c */
    struct registers *registers;   /* registers.c: of each thread; NULL before the first wgmma.fence */
    struct flight *flight;         /* flight.c: copies in flight; NULL before the first */
    struct map_fences *map_fences; /* map.c: of tensor maps; NULL before the first */
    struct mbarrier *mbarriers;    /* mbarrier.c: those that have been initialised */
    unsigned n_mbarriers;          /* that ever were */
    unsigned n_guarded;            /* flight.c: words of shared memory that no access may touch now */
    struct counting *counting;     /* counters.c; NULL when nothing is counted */
    struct paths *paths;           /* path.c; likewise */
    struct timeline *timeline;     /* timeline.c; NULL when this block is not recorded */
    /* register_pool.c */
    struct register_pool *register_pool; /* NULL before the first setmaxnreg */
};

static inline struct thread *current(struct block *b) { return &b->threads[b->cur]; }
static inline struct warp *warp_of(struct block *b, unsigned thread) { return &b->warps[thread / WARP]; }
/* Is that in that thread's stack? */
static inline bool block_is_own_stack(const struct block *b, unsigned thread, const void *address)
{
    return (size_t)((const unsigned char *)address - b->threads[thread].stack) < STACK_SLOT;
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

void block_thread_done(struct block *b); /* called by a fiber at the end of its kernel */

#endif

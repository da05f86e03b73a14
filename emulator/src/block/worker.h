/* Workers: the OS threads that run clusters of blocks. A worker runs one cluster at a time; while that one's threads only
 * poll, it goes on with another, as many being in hand as the GPU described could hold at once. */
#ifndef SIMT_WORKER_H
#define SIMT_WORKER_H

#include "base/access.h"
#include "block/cluster.h"
#include <pthread.h>

struct worker {
    struct block *block;     /* that runs */
    unsigned char *stack;    /* fiber.c: the slot of the thread that runs, if it is not watched; else NO_STACK */
    unsigned char *watched;  /* its slot, if it is; else NO_STACK */
    bool unsettled;          /* access.h: something may have to be done before its thread goes on */
    struct cluster *in_hand; /* begun, not done, not running: the next to go on is first */
    struct cluster *idle;    /* to be used again */
    unsigned n_in_hand;
    bool begins;           /* a cluster, which is neither in hand yet nor runs */
    struct stacks *stacks; /* fiber.c */
    void *main_sp;         /* of the worker itself, while a cluster runs */
    /* race.c: the plain store that its thread was last about to do; NULL when it has gone on */
    const void *storing;
    size_t storing_bytes;
    uint32_t storing_serial; /* its block's */
    bool loads_to_store;     /* access.c: a load has come since, which may be that of the value */
    void *lent; /* race.c: a word that holds an older value, for the load that its thread is about to do; NULL: none */
    unsigned lent_bytes;
    u64 lent_value; /* and what it holds else */
    const void
        *touching; /* a word that others may lend, and its thread is about to touch by a strong access; or NULL */
    bool touches_to_store;
    pthread_t id;
};

extern struct worker simt_workers[MAX_WORKERS];
extern unsigned simt_n_workers;
extern __thread struct worker *simt_worker __attribute__((tls_model("initial-exec"))); /* NULL on the host */

/* Before a thread does anything else than its last access: that is done now. */
static inline void moves_on(struct worker *w)
{
    if (w->unsettled)
        access_settle(w);
}

/* The block of a thread that does something, and so has done its last access. */
static inline struct block *running(void)
{
    moves_on(simt_worker);
    return simt_worker->block;
}

/* The same for who only asks where it is, also between the announcement of an access and the access. */
static inline struct block *block_here(void) { return simt_worker->block; }

#endif

/* Waiting. Whatever a thread can wait for is a `struct waiting` inside some object: a barrier, a collective. A thread
 * that waits gives way to the block's other threads until the object wakes it. When no thread can go on, they wait for
 * each other, and one report names every waiter. */
#ifndef SIMT_WAITING_H
#define SIMT_WAITING_H

#include "base/base.h"

struct block;
struct cluster;
struct thread;

struct waiting_kind {
    const char *call;                                       /* as the program writes it: "__syncthreads()" */
    const char *deadlock;                                   /* the headline of a report when it is never fulfilled */
    const char *rule;                                       /* and the report's last sentence */
    void (*describe)(FILE *f, const struct thread *thread); /* what else a waiter's line should say; may be NULL */
    /* What else the report should say of what such a waiter waits for; not NULL: others wait because it does. */
    void (*explain)(FILE *f, const struct thread *thread);
};

struct waiting {
    const struct waiting_kind *kind;
};

#define NO_THREAD (~0u)

/* The running thread waits for `on`, in the call whose return address is pc; others run until somebody wakes it. */
void wait_for(struct block *b, const struct waiting *on, const void *pc);
void wake(struct block *b, unsigned thread);
void wake_all(const struct cluster *c, const struct waiting *on); /* the threads of all its blocks that wait on it */

/* Accesses after which a thread, perhaps polling, lets others run. */
#define QUIET_LIMIT (1u << 20)

/* The running thread, at code address pc, may be polling: lets others run, of this block and then of others. */
void give_way(struct block *b, const void *pc);
/* It has done something that a poll might do, worth so many accesses: gives way now and then. */
void may_poll(struct block *b, unsigned accesses, const void *pc);

#endif

/* Work: the operations of streams and of graphs' branches, and what has happened before each of them. A queue is what does
 * its operations in turn; between queues, and between them and the host, events, synchronisation and the rules of the
 * legacy stream order. Each operation is done when it is issued, in an order that all this allows; here stands what else
 * is allowed. All threads of the host count as one. */
#ifndef SIMT_WORK_H
#define SIMT_WORK_H

#include "base/base.h"

struct past { /* of each queue, how many of its operations have happened before something */
    unsigned n;
    uint32_t *done;
};

struct work { /* an operation */
    unsigned queue;
    uint32_t number;    /* in it, from 1 on */
    u64 issued;         /* among all of the program */
    bool programmatic;  /* a kernel that may begin before the one in front of it has ended */
    struct past before; /* what has happened before it */
    struct past early;  /* programmatic: what has happened before it begins; `before` holds once it has waited */
};

enum work_kind { WORK_KERNEL, WORK_PROGRAMMATIC_KERNEL, WORK_OTHER };

/* Has the host issued operations that it does not know to be done? Only then can it race with them. */
extern bool work_pending;
extern bool work_several; /* has there been another stream than the legacy one? */

/* Guards all of this and overlap.c; recursive. Not held while work is done. */
void work_lock(void);
void work_unlock(void);

unsigned work_queue_new(bool blocking); /* blocking: the legacy stream waits for it, and it for the legacy stream */
void work_queue_end(unsigned queue);

struct work work_begin(cudaStream_t stream, enum work_kind kind);
/* Some thread of that kernel, which has not waited for the kernel in front, has let the next one begin. */
void work_let_next_begin(const struct work *w);
void work_end(struct work *w);

void past_copy(struct past *into, const struct past *from);
void past_join(struct past *into, const struct past *from);
void past_free(struct past *p);
static inline bool past_has(const struct past *p, unsigned queue, uint32_t number)
{
    return queue < p->n && p->done[queue] >= number;
}

/* What the stream does next happens behind that; and what will have happened when all issued to it is done. */
void work_stream_waits(cudaStream_t stream, const struct past *p);
void work_of_stream(cudaStream_t stream, struct past *into);
/* The host has waited for that. */
void work_host_waits(const struct past *p);
void work_host_waits_for(const struct work *w);
void work_host_waits_for_stream(cudaStream_t stream);
void work_host_waits_for_all(void);
bool work_host_knows(const struct past *p);
/* Does the host know that all issued to the stream is done, or has it been asked that before? */
bool work_seems_done(cudaStream_t stream);

/* What has happened before what this thread of the host does now: inside a host function, before that. */
const struct past *work_now(void);
const struct work *work_of_host_function(void); /* NULL: it is in none */
const void *work_frame_of_host_function(void);  /* its stack begins below that */
/* Calls a host function that is this operation: what it does itself comes in turn. */
void work_call(struct work *w, void (*function)(void *context), void *context);

/* Graphs: until the next call, this thread's operations go to that queue, behind that; 0: to their streams again. */
void work_branch(unsigned queue, const struct past *behind);
bool work_in_branch(void);
void work_of_branch(unsigned queue, struct past *into);
unsigned work_queue_of(cudaStream_t stream);

/* ---- launches, by the serials of their blocks ---- */
struct launched {
    uint32_t first, end; /* serials */
    uint32_t number;     /* of the operation, in its queue */
    u64 issued;
    const char *kernel;
    const void *pc;    /* of the launch */
    bool synchronises; /* its threads used fences or volatile accesses */
};
void work_launched(const struct work *w, struct launched l);
void work_launch_ended(const struct work *w, bool synchronises);
const struct launched *work_launch_of(uint32_t serial, unsigned *queue); /* with the lock held; NULL: long done */
void work_forget_launches(void);
/* Calls `visit` on each of the latest that has not happened before; with the lock held. */
void work_each_unordered(const struct past *p, void (*visit)(void *context, unsigned queue, const struct launched *l),
                         void *context);

/* ---- streams.c: what a stream's handle holds ---- */
struct CUstream_st {
    unsigned flags, queue;
    int priority;
};

#endif

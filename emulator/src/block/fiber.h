/* Fibers: each CUDA thread's stack, and the switch between them. */
#ifndef SIMT_FIBER_H
#define SIMT_FIBER_H

#include "base/base.h"

struct worker;
struct block;

#define STACK_SLOT (80u << 10)

void fiber_init(struct worker *w);

/* From the worker's own stack; returns when the block is done, gives way or is blocked. */
void fiber_run(struct worker *w, struct block *b);
/* The running thread goes on when fiber_run() is called again. */
void fiber_suspend(struct block *b);

/* `to` may not have started yet. */
void fiber_switch(struct block *b, unsigned from, unsigned to);
/* The running thread has left. next: a thread that has started, or NO_THREAD. */
void fiber_exit(struct block *b, unsigned next) __attribute__((noreturn));
/* `to` begins on the stack of `from`, which has left. */
void fiber_hand_over(struct block *b, unsigned from, unsigned to);

/* From now on the hooks take none of that thread's accesses for local ones, which need no look. */
#define NO_STACK ((unsigned char *)-(uintptr_t)STACK_SLOT) /* no address lies in it */
void fiber_watch(struct block *b, unsigned thread);

/* No thread of the block will run again; then their stacks can be had back. */
void fiber_abandon(struct block *b) __attribute__((noreturn));
void fiber_free_stacks(struct block *b);

/* The return addresses of the functions around the one that pc, where the thread waits or runs, returns to; innermost first.
 * Returns how many: none where the switch keeps no frames. */
unsigned fiber_callers(const struct block *b, unsigned thread, const void *pc, const void **out, unsigned most);

bool fiber_is_stack(const void *address);    /* any thread's; block_is_own_stack(): the running thread's */
bool fiber_is_reserved(const void *address); /* for stacks that are, or that may come */
unsigned fiber_stack_bytes(void);            /* that a kernel may use */
const char *fiber_kind(void);

#endif

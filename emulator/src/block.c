/* The threads of one block: who runs next, who waits for whom.
 *
 * Threads run in order of their number until they must wait; a switch goes straight from one thread to the next that
 * is ready. When none is ready and some have not left, they wait for each other: that is reported, with the lines. */
#include "simt.h"

/* The first ready thread after `after`, round and round; NO_THREAD when none is. */
static unsigned next_ready(struct worker *w, unsigned after)
{
    unsigned n_warps = (w->launch->threads + WARP - 1) / WARP, warp = after / WARP, lane = after % WARP;
    uint32_t ready = lane == WARP - 1 ? 0 : w->warps[warp].ready & ~0u << (lane + 1);
    for (unsigned i = 0; i <= n_warps; i++) {
        if (ready) return warp * WARP + (unsigned)__builtin_ctz(ready);
        warp = warp + 1 == n_warps ? 0 : warp + 1;
        ready = w->warps[warp].ready;
    }
    return NO_THREAD;
}

void block_wake(struct worker *w, unsigned thread)
{
    w->threads[thread].wait = WAIT_NONE;
    warp_of(w, thread)->ready |= 1u << thread % WARP;
}

void block_wait(struct worker *w)
{
    unsigned self = w->cur;
    race_moves_on(w);
    warp_of(w, self)->ready &= ~(1u << self % WARP);
    w->quiet = 0;
    unsigned next = next_ready(w, self);
    if (next == NO_THREAD && collective_resolve_active(w)) next = next_ready(w, self);
    if (next == NO_THREAD) report_waiting(w);
    if (next != self) fiber_switch(w, self, next);
}

void simt_yield(void)
{
    struct worker *w = simt_worker;
    unsigned self = w->cur, next = next_ready(w, self);
    race_moves_on(w);
    w->quiet = 0;
    if (next != self && next != NO_THREAD) fiber_switch(w, self, next);
}

/* Everybody who has not left has arrived. */
static void release(struct worker *w)
{
    unsigned first = NO_THREAD;
    for (unsigned t = 0; t < w->launch->threads && simt_checked; t++) {
        if (w->threads[t].wait != WAIT_BLOCK) continue;
        if (first == NO_THREAD) first = t;
        if (!lines_same(w->threads[first].pc, w->threads[t].pc)) report_divergence(w, first, t);
    }
    counters_block_joined(w);
    race_block_barrier(w);
    w->count_result = w->count;
    w->arrived = w->count = 0;
    for (unsigned t = 0; t < w->launch->threads; t++)
        if (w->threads[t].wait == WAIT_BLOCK) block_wake(w, t);
}

static unsigned barrier(unsigned predicate, const void *pc)
{
    struct worker *w = simt_worker;
    struct thread *t = current(w);
    race_moves_on(w);
    counters_event(w, pc, EVENT_BARRIER);
    t->wait = WAIT_BLOCK;
    t->pc = pc;
    w->count += predicate;
    if (++w->arrived == w->n_live) release(w);
    else block_wait(w);
    return w->count_result;
}

void simt_syncthreads(void) { barrier(0, CALLER()); }
int simt_syncthreads_count(int predicate) { return (int)barrier((unsigned)predicate, CALLER()); }
int simt_syncthreads_and(int predicate) { return barrier((unsigned)!predicate, CALLER()) == 0; }
int simt_syncthreads_or(int predicate) { return barrier((unsigned)predicate, CALLER()) != 0; }

void block_thread_done(struct worker *w)
{
    unsigned self = w->cur;
    struct warp *warp = warp_of(w, self);
    race_moves_on(w);
    warp->live &= ~(1u << self % WARP);
    warp->ready &= ~(1u << self % WARP);
    w->n_live--;
    collective_lane_left(w, self / WARP);
    if (w->n_live && w->arrived == w->n_live) release(w);
    unsigned next = next_ready(w, self);
    if (next == NO_THREAD && w->n_live && collective_resolve_active(w)) next = next_ready(w, self);
    if (next == NO_THREAD && w->n_live) report_waiting(w);
    if (next == NO_THREAD || w->threads[next].stack) fiber_exit(w, next);
    /* The next one has not begun: it begins here, on this stack. */
    w->threads[next].stack = w->threads[self].stack;
    w->threads[self].stack = NULL;
    w->cur = next;
    w->quiet = 0;
}

void block_run(struct worker *w, u64 index)
{
    const struct simt_kernel_launch *call = w->launch->call;
    unsigned n = w->launch->threads;
    w->block[0] = (unsigned)(index % call->grid[0]);
    w->block[1] = (unsigned)(index / call->grid[0] % call->grid[1]);
    w->block[2] = (unsigned)(index / call->grid[0] / call->grid[1]);
    w->block_number = index;
    w->n_live = n;
    w->arrived = w->count = 0;
    w->fenced = w->acquires = false;
    w->n_releases = 0;
    w->acquired = 0;
    for (unsigned t = 0; t < n; t++) {
        struct thread *thread = &w->threads[t];
        thread->idx[0] = t % call->block[0];
        thread->idx[1] = t / call->block[0] % call->block[1];
        thread->idx[2] = t / call->block[0] / call->block[1];
        thread->wait = WAIT_NONE;
    }
    for (unsigned i = 0; i * WARP < n; i++) {
        unsigned lanes = n - i * WARP < WARP ? n - i * WARP : WARP;
        w->warps[i].live = w->warps[i].ready = lanes == WARP ? ~0u : (1u << lanes) - 1;
    }
    shared_begin_block(w);
    race_block_barrier(w);
    fiber_start(w, 0);
    counters_block_joined(w);
}

unsigned simt_thread_idx(int dim) { return current(simt_worker)->idx[dim]; }
unsigned simt_block_idx(int dim) { return simt_worker->block[dim]; }

/* Who runs next, who waits, and when nobody can go on.
 *
 * Threads run in the order of their numbers until they must wait; a switch goes straight from one thread to the next
 * that is ready. Where threads wait for flags, a warp whose lanes wait for each other goes on for a while before others do:
 * what other warps have not waited for, it is then ahead of. */
#include "run/waiting.h"
#include "base/report.h"
#include "block/cluster.h"
#include "block/fiber.h"
#include "block/launch.h"
#include "block/waiting.h"
#include "block/worker.h"
#include "order/access.h"
#include "run/block.h"
#include "run/cluster.h"
#include "run/worker.h"
#include "warp/collective.h"

#define MOST_AHEAD (16 * WARP) /* waits of a warp's lanes for each other, while other warps could run */

/* Another lane of the running thread's warp; NO_THREAD when none can run, or it is time for others. */
static unsigned next_of_warp(struct block *b)
{
    unsigned warp = b->cur / WARP, lane = b->cur % WARP;
    uint32_t ready = b->warps[warp].ready, behind = ready & ~(lane == WARP - 1 ? ~0u : (2u << lane) - 1);
    bool flags = __atomic_load_n(&b->launch->synchronises, __ATOMIC_RELAXED);
    b->ahead = ready ? b->ahead + 1 : 0;
    if (!ready || !flags || b->ahead > MOST_AHEAD) {
        b->ahead = 0;
        return NO_THREAD;
    }
    return warp * WARP + (unsigned)__builtin_ctz(behind ? behind : ready);
}

unsigned next_ready(const struct block *b)
{
    unsigned n_warps = (b->launch->threads + WARP - 1) / WARP, warp = b->cur / WARP, lane = b->cur % WARP;
    uint32_t ready = lane == WARP - 1 ? 0 : b->warps[warp].ready & ~0u << (lane + 1);
    for (unsigned i = 0; i <= n_warps; i++) {
        if (ready)
            return warp * WARP + (unsigned)__builtin_ctz(ready);
        warp = warp + 1 == n_warps ? 0 : warp + 1;
        ready = b->warps[warp].ready;
    }
    return NO_THREAD;
}

/* No thread of the block can go on by itself: other blocks of the cluster do, until one of them wakes one of its. */
static unsigned next_after_others(struct block *b)
{
    b->blocked = true;
    if (!cluster_can_go_on(b->cluster) && !cluster_has_ended(b->cluster))
        report_deadlock(b->cluster);
    if (!b->n_live)
        return NO_THREAD;
    fiber_suspend(b);
    b->blocked = false;
    return next_ready(b);
}

unsigned next_or_deadlock(struct block *b)
{
    unsigned next = next_ready(b);
    if (next == NO_THREAD && b->n_live && collective_resolve_active(b))
        next = next_ready(b);
    if (next == NO_THREAD && b->n_live && block_waits_for_grid(b))
        next = next_ready(b);
    return next == NO_THREAD ? next_after_others(b) : next;
}

void wake(struct block *b, unsigned thread)
{
    b->threads[thread].waits_for = NULL;
    warp_of(b, thread)->ready |= 1u << thread % WARP;
}

void wake_all(const struct cluster *c, const struct waiting *on)
{
    for (unsigned rank = 0; rank < c->n; rank++)
        for (unsigned t = 0; t < c->launch->threads; t++)
            if (c->blocks[rank]->threads[t].waits_for == on)
                wake(c->blocks[rank], t);
}

void wait_for(struct block *b, const struct waiting *on, const void *pc)
{
    unsigned self = b->cur;
    current(b)->waits_for = on;
    current(b)->pc = pc;
    warp_of(b, self)->ready &= ~(1u << self % WARP);
    b->quiet = 0;
    b->yields = 0;
    unsigned next = current(b)->call ? next_of_warp(b) : NO_THREAD;
    if (next == NO_THREAD)
        next = next_or_deadlock(b);
    if (next != self)
        fiber_switch(b, self, next);
}

void give_way(struct block *b, const void *pc)
{
    unsigned self = b->cur, next = next_ready(b), n_ready = 0;
    current(b)->pc = pc;
    b->quiet = 0;
    for (unsigned w = 0; w * WARP < b->launch->threads; w++)
        n_ready += (unsigned)__builtin_popcount(b->warps[w].ready);
    if (++b->yields >= n_ready && worker_has_other_block(b->worker)) {
        b->yields = 0;
        fiber_suspend(b);
        next = next_ready(b);
    }
    if (next != self && next != NO_THREAD)
        fiber_switch(b, self, next);
}

void may_poll(struct block *b, unsigned accesses, const void *pc)
{
    b->quiet += accesses;
    if (b->quiet >= QUIET_LIMIT)
        give_way(b, pc);
}

void simt_yield(void)
{
    if (!simt_worker)
        return;
    give_way(running(), CALLER());
}

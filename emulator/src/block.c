/* The threads of one block, and the barriers that all of them meet in. */
#include "block.h"
#include "access.h"
#include "async.h"
#include "collective.h"
#include "counters.h"
#include "grid.h"
#include "launch.h"
#include "lines.h"
#include "race.h"
#include "report.h"
#include "shared.h"
#include "watchdog.h"
#include "worker.h"
#include <stdlib.h>
#include <string.h>

static const struct waiting_kind whole_barrier = {
    .call = "__syncthreads()",
    .deadlock = "barrier deadlock",
    .rule = "Each waits for threads that wait elsewhere: no thread of the block can go on.",
};

static const struct waiting_kind named_barrier = {
    .call = "a named barrier",
    .deadlock = "barrier deadlock",
    .rule = "A barrier that was given a number of threads waits for so many, whoever has left; bar.arrive counts, too.",
};

static void describe_grid(FILE *f, const struct thread *thread)
{
    u64 left = __atomic_load_n(&running()->launch->grid.left, __ATOMIC_RELAXED);
    (void)thread;
    if (left)
        fprintf(f, ", while %llu block%s ended without it,", left, left == 1 ? " has" : "s have");
}

static const struct waiting_kind grid_barrier = {
    .call = "the grid's barrier",
    .deadlock = "barrier deadlock",
    .rule = "It waits for all threads of all blocks: each must come to it as often as any other.",
    .describe = describe_grid,
};

struct block *block_new(struct worker *w)
{
    struct block *b = base_reserve(sizeof *b);
    b->worker = w;
    b->threads = base_reserve(MAX_THREADS * sizeof *b->threads);
    b->warps = base_reserve(MAX_WARPS * sizeof *b->warps);
    b->suspicion = base_reserve(sizeof *b->suspicion);
    for (unsigned i = 0; i < BARRIERS; i++)
        b->barriers[i].waiting.kind = i == GRID_BARRIER ? &grid_barrier : i ? &named_barrier : &whole_barrier;
    shared_new(b);
    return b;
}

static void forget_arrivals(struct barrier *barrier)
{
    memset(barrier->part, 0, sizeof barrier->part);
    barrier->passed = false;
    clock_clear(&barrier->passing);
}

void block_begin(struct block *b, struct launch *l, u64 number)
{
    const struct simt_configuration *asked = l->asked;
    b->launch = l;
    b->started = false;
    b->cur = 0;
    b->n_live = l->threads;
    b->index[0] = (unsigned)(number % asked->grid[0]);
    b->index[1] = (unsigned)(number / asked->grid[0] % asked->grid[1]);
    b->index[2] = (unsigned)(number / asked->grid[0] / asked->grid[1]);
    b->number = number;
    b->serial = l->first_serial + (uint32_t)number;
    b->phase = 0;
    b->barriers_in_use = 0;
    b->ahead = 0;
    b->yields = 0;
    b->quiet = 0;
    b->suspicion->pending = false;
    b->n_undefined = 0;
    b->manner = AS_WRITTEN;
    memset(b->undefined, 0, sizeof b->undefined);
    for (unsigned i = 0; i < BARRIERS; i++) {
        b->barriers[i].arrived = 0;
        b->barriers[i].expected = 0;
        b->barriers[i].count = 0;
        b->barriers[i].met = 0;
        forget_arrivals(&b->barriers[i]);
    }
    for (unsigned t = 0; t < l->threads; t++) {
        struct thread *thread = &b->threads[t];
        thread->idx[0] = t % asked->block[0];
        thread->idx[1] = t / asked->block[0] % asked->block[1];
        thread->idx[2] = t / asked->block[0] / asked->block[1];
        thread->waits_for = NULL;
        thread->pc = NULL;
        thread->stack = NULL;
        if (simt_checked)
            memset(thread->turns, 0, sizeof thread->turns);
    }
    order_begin_block(b);
    for (unsigned i = 0; i * WARP < l->threads; i++) {
        unsigned lanes = l->threads - i * WARP < WARP ? l->threads - i * WARP : WARP;
        b->warps[i].live = lanes == WARP ? ~0u : (1u << lanes) - 1;
        b->warps[i].ready = b->warps[i].live;
    }
    shared_begin_block(b);
    mbarrier_begin_block(b);
    async_begin_block(b);
    counters_begin(b);
}

/* ---- barriers ---- */

static bool waits_in(const struct block *b, unsigned thread, const struct barrier *barrier)
{
    return b->threads[thread].waits_for == &barrier->waiting;
}

static void check_lines(struct block *b, const struct barrier *barrier)
{
    unsigned first = NO_THREAD;
    for (unsigned t = 0; t < b->launch->threads; t++) {
        if (!waits_in(b, t, barrier))
            continue;
        if (first == NO_THREAD)
            first = t;
        if (!lines_same(b->threads[first].pc, b->threads[t].pc))
            report_divergence(b, first, t);
    }
}

/* All of the block that is left has met: the usual case; else those that wait here. */
static void order_and_count(struct block *b, const struct barrier *barrier)
{
    uint32_t met[MAX_WARPS] = {0};
    if (barrier->arrived >= b->n_live && !barrier->passed) {
        counters_block_joined(b);
        order_block_barrier(b);
        return;
    }
    for (unsigned t = 0; t < b->launch->threads; t++)
        if (waits_in(b, t, barrier))
            met[t / WARP] |= 1u << t % WARP;
    for (unsigned w = 0; w * WARP < b->launch->threads; w++)
        if (met[w] && met[w] == b->warps[w].live)
            counters_warp_joined(b, w);
    order_some(b, met, &barrier->passing);
}

static bool is_of_grid(const struct block *b, const struct barrier *barrier)
{
    return barrier == &b->barriers[GRID_BARRIER];
}

/* All that it waits for have come. */
static void release(struct block *b, struct barrier *barrier)
{
    if (simt_checked && (barrier == &b->barriers[0] || is_of_grid(b, barrier)))
        check_lines(b, barrier); /* a named barrier may be met at several places */
    order_and_count(b, barrier);
    if (is_of_grid(b, barrier))
        grid_meet(b);
    barrier->result = barrier->count;
    barrier->met++;
    barrier->arrived = 0;
    barrier->count = 0;
    forget_arrivals(barrier);
    b->barriers_in_use &= ~(1u << (barrier - b->barriers));
    for (unsigned t = 0; t < b->launch->threads; t++) {
        if (!waits_in(b, t, barrier))
            continue;
        if (simt_checked)
            memset(b->threads[t].turns, 0, sizeof b->threads[t].turns);
        wake(b, t);
    }
}

static bool is_complete(const struct block *b, const struct barrier *barrier)
{
    return barrier->arrived >= (barrier->expected ? barrier->expected : b->n_live);
}

/* A barrier that was given a number of threads counts whole warps: when all lanes that are left have come, the warp counts
 * as 32 (PTX ISA, "bar": thread counts are multiples of the warp's size). */
static void complete_warp(const struct block *b, struct barrier *barrier, unsigned warp)
{
    uint32_t part = barrier->part[warp];
    if (!part || b->warps[warp].live & ~part)
        return;
    barrier->arrived += WARP - (unsigned)__builtin_popcount(part);
    barrier->part[warp] = 0;
}

/* The running thread counts; `expected` threads are waited for, 0: all that have not left. */
static struct barrier *arrive(enum event as, unsigned id, unsigned expected, unsigned predicate, const void *pc)
{
    struct block *b = running();
    struct barrier *barrier = &b->barriers[id];
    moves_on(b->worker);
    counters_event_of(b, pc, as, id, barrier->met);
    barrier->expected = expected;
    barrier->count += predicate;
    barrier->arrived++;
    b->barriers_in_use |= 1u << id;
    if (expected) {
        barrier->part[b->cur / WARP] |= 1u << b->cur % WARP;
        complete_warp(b, barrier, b->cur / WARP);
    }
    return barrier;
}

static unsigned arrive_and_wait(unsigned id, unsigned expected, unsigned predicate, const void *pc)
{
    struct block *b = running();
    struct barrier *barrier = arrive(EVENT_BARRIER, id, expected, predicate, pc);
    if (id == GRID_BARRIER || !is_complete(b, barrier)) {
        wait_for(b, &barrier->waiting, pc);
        return barrier->result;
    }
    current(b)->waits_for = &barrier->waiting;
    current(b)->pc = pc;
    release(b, barrier);
    return barrier->result;
}

void simt_syncthreads(void) { arrive_and_wait(0, 0, 0, CALLER()); }
int simt_syncthreads_count(int predicate) { return (int)arrive_and_wait(0, 0, (unsigned)predicate, CALLER()); }
int simt_syncthreads_and(int predicate) { return arrive_and_wait(0, 0, (unsigned)!predicate, CALLER()) == 0; }
int simt_syncthreads_or(int predicate) { return arrive_and_wait(0, 0, (unsigned)predicate, CALLER()) != 0; }

static void check_barrier(unsigned id, unsigned threads, const void *pc)
{
    if (id >= NAMED_BARRIERS || threads % WARP)
        report_host("invalid barrier", pc,
                    "A barrier has a number from 0 to 15, and waits for a multiple of 32 threads.");
}

unsigned block_barrier(unsigned id, unsigned threads, bool predicate, const void *pc)
{
    check_barrier(id, threads, pc);
    return arrive_and_wait(id, threads, predicate, pc);
}

void block_barrier_arrive(unsigned id, unsigned threads, const void *pc)
{
    struct block *b = running();
    check_barrier(id, threads, pc);
    struct barrier *barrier = arrive(EVENT_BARRIER_ARRIVE, id, threads, 0, pc);
    barrier->passed = true;
    order_arrive(b, &barrier->passing);
    if (is_complete(b, barrier))
        release(b, barrier);
}

void simt_barrier(unsigned id, unsigned threads) { block_barrier(id, threads, false, CALLER()); }

void simt_grid_sync(void)
{
    if (!simt_grid_is_whole())
        report_call("grid barrier in an ordinary launch", CALLER(), "waits for all blocks of the grid",
                    "Only cudaLaunchCooperativeKernel makes sure that they can wait for each other.");
    arrive_and_wait(GRID_BARRIER, 0, 0, CALLER());
}

bool block_waits_for_grid(struct block *b)
{
    struct barrier *barrier = &b->barriers[GRID_BARRIER];
    if (!barrier->arrived || barrier->arrived < b->n_live)
        return false;
    release(b, barrier);
    return true;
}

void block_thread_done(struct block *b)
{
    unsigned self = b->cur;
    struct warp *warp = warp_of(b, self);
    moves_on(b->worker);
    order_thread_left(b);
    warp->live &= ~(1u << self % WARP);
    warp->ready &= ~(1u << self % WARP);
    b->n_live--;
    b->yields = 0;
    watchdog_progress();
    collective_lane_left(b, self / WARP);
    for (unsigned rest = b->n_live ? b->barriers_in_use : 0; rest; rest &= rest - 1) {
        struct barrier *barrier = &b->barriers[__builtin_ctz(rest)];
        if (barrier->expected)
            complete_warp(b, barrier, self / WARP);
        if (is_complete(b, barrier) && !is_of_grid(b, barrier))
            release(b, barrier); /* who has left is not waited for, where no number was given */
    }
    unsigned next = next_or_deadlock(b);
    if (next == NO_THREAD) {
        counters_block_joined(b);
        grid_block_left(b);
    }
    if (next == NO_THREAD || b->threads[next].stack)
        fiber_exit(b, next);
    fiber_hand_over(b, self, next);
}

unsigned simt_thread_idx(int dim) { return current(running())->idx[dim]; }
unsigned simt_block_idx(int dim) { return running()->index[dim]; }

/* The threads of one block, and the barriers that all of them meet in. */
#include "run/block.h"
#include "async/flight.h"
#include "async/map.h"
#include "async/mbarrier.h"
#include "async/transfer.h"
#include "base/lines.h"
#include "base/notes.h"
#include "base/report.h"
#include "block/block.h"
#include "block/cluster.h"
#include "block/grid.h"
#include "block/launch.h"
#include "block/worker.h"
#include "count/counters.h"
#include "memory/shared.h"
#include "order/access.h"
#include "order/messages.h"
#include "order/race.h"
#include "order/undefined.h"
#include "run/cluster_barrier.h"
#include "run/grid.h"
#include "run/waiting.h"
#include "run/watchdog.h"
#include "warp/collective.h"
#include "warp/register_pool.h"
#include <stdlib.h>
#include <string.h>

static const struct waiting_kind whole_barrier = {
    .call = "__syncthreads()",
    .deadlock = "barrier deadlock",
    .rule = "Each waits for threads that wait elsewhere: no thread of the block can go on.",
};

static const struct barrier *barrier_of(const struct thread *t)
{
    return (const struct barrier *)((uintptr_t)t->waits_for - offsetof(struct barrier, waiting));
}

/* Also the watchdog asks, which runs no block. */
static const struct block *block_of(const struct barrier *barrier)
{
    return (const struct block *)((uintptr_t)(barrier - barrier->id) - offsetof(struct block, barriers));
}

static void describe_named(FILE *f, const struct thread *thread)
{
    const struct barrier *barrier = barrier_of(thread);
    fprintf(f, ", number %u,", barrier->id);
    if (barrier->expected)
        fprintf(f, " to which %u of %u threads have come,", barrier->arrived, barrier->expected);
}

static const struct waiting_kind named_barrier = {
    .call = "a named barrier",
    .deadlock = "barrier deadlock",
    .rule = "A barrier that was given a number of threads waits for so many, whoever has left; bar.arrive counts, too.",
    .describe = describe_named,
};

static void describe_grid(FILE *f, const struct thread *thread)
{
    u64 left = __atomic_load_n(&block_of(barrier_of(thread))->launch->grid.left, __ATOMIC_RELAXED);
    if (left)
        fprintf(f, ", while %llu block%s ended without it,", left, left == 1 ? " has" : "s have");
}

static const struct waiting_kind arrival_of_warp = {
    .call = "bar.arrive for the second time, until the rest of its warp has come once,",
    .deadlock = "barrier deadlock",
    .rule = "The 32 threads of a warp arrive together.",
};

static const struct waiting_kind grid_barrier = {
    .call = "the grid's barrier",
    .deadlock = "barrier deadlock",
    .rule = "It waits for all threads of all blocks: each must come to it as often as any other.",
    .describe = describe_grid,
};

static const struct waiting_kind tile_barrier = {
    .call = "a tile's barrier",
    .deadlock = "barrier deadlock",
    .rule = "What a tile does together waits for all of its threads.",
};

struct block *block_new(struct cluster *c, unsigned rank)
{
    struct block *b = base_reserve(sizeof *b);
    b->cluster = c;
    b->rank = rank;
    b->worker = c->worker;
    b->threads = base_reserve(MAX_THREADS * sizeof *b->threads);
    b->warps = base_reserve(MAX_WARPS * sizeof *b->warps);
    b->suspicions = base_reserve(sizeof *b->suspicions);
    for (unsigned i = 0; i < BARRIERS; i++) {
        b->barriers[i].id = i;
        b->barriers[i].of_warp.kind = &arrival_of_warp;
    }
    b->barriers[0].waiting.kind = &whole_barrier;
    b->barriers[GRID_BARRIER].waiting.kind = &grid_barrier;
    for (unsigned i = 1; i < NAMED_BARRIERS; i++)
        b->barriers[i].waiting.kind = &named_barrier;
    for (unsigned i = TILE_BARRIERS; i < BARRIERS; i++)
        b->barriers[i].waiting.kind = &tile_barrier;
    shared_new(b);
    return b;
}

static void forget_parts(struct barrier *barrier)
{
    memset(barrier->part, 0, sizeof barrier->part);
    barrier->partly = 0;
}

static void forget_arrivals(struct barrier *barrier)
{
    barrier->whole = NULL;
    barrier->other = NULL;
    barrier->passed = false;
    if (!barrier->done)
        return;
    clock_clear(&barrier->done->others);
    memset(barrier->done->threads, 0, sizeof barrier->done->threads);
    barrier->done->sequential = 0;
}

static struct release *done_of(const struct block *b, struct barrier *barrier)
{
    if (!barrier->done)
        barrier->done = calloc(1, sizeof *barrier->done);
    if (!barrier->done)
        base_out_of_memory();
    barrier->done->serial = b->serial;
    return barrier->done;
}

static void forget_turns(struct barrier *barrier)
{
    memset(&barrier->turn, 0, sizeof barrier->turn);
    memset(&barrier->last_turn, 0, sizeof barrier->last_turn);
}

/* Warps that have come in part are the next turn's. */
static void end_turn(struct barrier *barrier)
{
    for (unsigned warp = 0; warp < MAX_WARPS; warp++) {
        bool next = barrier->part[warp];
        barrier->last_turn.stamp[warp] = next ? 0 : barrier->turn.stamp[warp];
        barrier->last_turn.pc[warp] = barrier->turn.pc[warp];
        barrier->turn.stamp[warp] = next ? barrier->turn.stamp[warp] : 0;
    }
}

static void forget_halves(struct barrier *barrier)
{
    if (!barrier->early)
        return;
    clock_free(&barrier->early->others);
    free(barrier->early);
    barrier->early = NULL;
    memset(barrier->came, 0, sizeof barrier->came);
    barrier->n_came = 0;
    barrier->halved = false;
}

void block_begin(struct block *b, struct launch *l, u64 number)
{
    const struct simt_configuration *asked = l->asked;
    b->launch = l;
    b->started = false;
    b->blocked = false;
    b->cur = 0;
    b->n_live = l->threads;
    b->index[0] = (unsigned)(number % asked->grid[0]);
    b->index[1] = (unsigned)(number / asked->grid[0] % asked->grid[1]);
    b->index[2] = (unsigned)(number / asked->grid[0] / asked->grid[1]);
    b->number = number;
    b->serial = l->first_serial + (uint32_t)b->cluster->number * l->cluster_blocks + b->rank;
    b->phase = 0;
    b->came_to_grid = false;
    b->has_roles = false;
    b->ahead = 0;
    b->yields = 0;
    b->quiet = 0;
    b->loads = false;
    b->suspicions->n = 0;
    undefined_drop(b);
    for (unsigned i = 0; i < BARRIERS; i++) {
        b->barriers[i].arrived = 0;
        b->barriers[i].expected = 0;
        b->barriers[i].count = 0;
        b->barriers[i].met = 0;
        b->barriers[i].mixes = false;
        if (b->barriers_in_use >> i & 1) {
            forget_parts(&b->barriers[i]);
            forget_arrivals(&b->barriers[i]);
        }
        if (i < NAMED_BARRIERS && simt_checked)
            forget_turns(&b->barriers[i]);
        forget_halves(&b->barriers[i]);
    }
    b->barriers_in_use = 0;
    for (unsigned t = 0; t < l->threads; t++) {
        struct thread *thread = &b->threads[t];
        thread->idx[0] = t % asked->block[0];
        thread->idx[1] = t / asked->block[0] % asked->block[1];
        thread->idx[2] = t / asked->block[0] / asked->block[1];
        thread->waits_for = NULL;
        thread->pc = NULL;
        thread->aligned_at = NULL;
        thread->arrived_for = 0;
        thread->waited_for = 0;
        thread->stack = NULL;
        if (simt_checked)
            memset(thread->turns, 0, sizeof thread->turns);
    }
    order_begin_block(b);
    for (unsigned i = 0; i * WARP < l->threads; i++) {
        unsigned lanes = l->threads - i * WARP < WARP ? l->threads - i * WARP : WARP;
        b->warps[i].live = lanes == WARP ? ~0u : (1u << lanes) - 1;
        b->warps[i].ready = b->warps[i].live;
        b->warps[i].in_warpgroup = 0;
    }
    mbarrier_begin_block(b);
    shared_begin_block(b);
    flight_begin_block(b);
    map_begin_block(b);
    register_pool_begin_block(b);
    counters_begin(b);
}

/* ---- barriers ---- */

static bool waits_in(const struct block *b, unsigned thread, const struct barrier *barrier)
{
    return b->threads[thread].waits_for == &barrier->waiting;
}

static bool is_of_grid(const struct block *b, const struct barrier *barrier)
{
    return barrier == &b->barriers[GRID_BARRIER];
}

struct arrival block_arrival(struct block *b, enum meeting as, const void *pc)
{
    struct arrival a = {.pc = pc, .thread = b->cur, .as = as};
    if (as == MEET_ANYWHERE)
        return a;
    fiber_callers(b, b->cur, pc, &a.in, 1);
    current(b)->aligned_at = pc;
    current(b)->aligned_in = a.in;
    return a;
}

static bool at_one_place(const struct arrival *a, const struct arrival *other)
{
    if (a->pc != other->pc)
        return lines_same_call(a->pc, other->pc);
    return a->in == other->in || !a->in || !other->in || lines_same_call(a->in, other->in);
}

void block_check_place(struct block *b, const char *call, const struct arrival *first, const struct arrival *now)
{
    if ((now->as != MEET_ANYWHERE || first->as != MEET_ANYWHERE) && !at_one_place(first, now))
        report_divergence(b, call, first->thread, first->pc, now->thread, now->pc);
}

/* The running thread comes to a barrier. */
static void check_place(struct block *b, struct barrier *barrier, enum meeting as, const void *pc)
{
    unsigned warp = b->cur / WARP;
    struct arrival now = block_arrival(b, as, pc);
    if (!barrier->part[warp])
        barrier->first[warp] = now;
    if (!(barrier->part[warp] >> b->cur % WARP & 1))
        block_check_place(b, barrier->waiting.kind->call, &barrier->first[warp], &now);
    if (as != MEET_SYNCTHREADS)
        return;
    if (!barrier->whole)
        barrier->whole = pc;
    if (barrier->whole != pc && !lines_same(barrier->whole, pc))
        barrier->other = pc;
}

static void note_two_places(struct block *b, const struct barrier *barrier)
{
    char text[768];
    struct source_line first = lines_of(barrier->whole);
    snprintf(
        text, sizeof text,
        "Warps of a block meet in two __syncthreads(), here and at %s:%d. That works, but the CUDA C++ Programming Guide "
        "asks for one to which all threads come; warps with roles of their own meet in named barriers.",
        first.file, first.line);
    b->has_roles = true;
    note_once(barrier->other, text);
}

void block_check_left(struct block *b, const char *call, unsigned warp, const struct arrival *first)
{
    for (unsigned t = warp * WARP; t < warp * WARP + WARP && t < b->launch->threads; t++) {
        const struct thread *left = &b->threads[t];
        if (!has_left(b, t) || !left->aligned_at || first->as == MEET_ANYWHERE)
            continue;
        if (left->aligned_in == b->threads[first->thread].aligned_in && lines_same_call(left->aligned_at, first->pc))
            report_left_loop(b, call, first->thread, first->pc, t);
    }
}

static void check_left(struct block *b, const struct barrier *barrier)
{
    for (unsigned warp = 0; warp * WARP < b->launch->threads; warp++)
        if (b->warps[warp].live && waits_in(b, barrier->first[warp].thread, barrier))
            block_check_left(b, barrier->waiting.kind->call, warp, &barrier->first[warp]);
}

/* Where whole warps are counted, a lane that has come before the rest of its warp is there for the next turn. */
static bool meets_in(const struct block *b, unsigned thread, const struct barrier *barrier)
{
    bool counted = !barrier->expected || !(barrier->part[thread / WARP] >> thread % WARP & 1);
    return counted && waits_in(b, thread, barrier);
}

/* The lanes of each warp that meet there; true: they are all that have not left. */
static bool lanes_that_met(const struct block *b, const struct barrier *barrier, uint32_t *met)
{
    bool all = true;
    for (unsigned t = 0; t < b->launch->threads; t++)
        if (meets_in(b, t, barrier))
            met[t / WARP] |= 1u << t % WARP;
    for (unsigned w = 0; w * WARP < b->launch->threads; w++)
        all &= met[w] == b->warps[w].live;
    return all;
}

/* A barrier in two halves: orders what was done before the first. A thread that came to both at once arrives now. */
static void order_halves(struct block *b, const struct barrier *barrier, const uint32_t *met)
{
    for (unsigned t = 0; t < b->launch->threads; t++)
        if ((met[t / WARP] & ~barrier->came[t / WARP]) >> t % WARP & 1)
            order_release(b, t, barrier->early);
    for (unsigned t = 0; t < b->launch->threads; t++)
        if (met[t / WARP] >> t % WARP & 1)
            order_acquire(b, t, barrier->early);
}

/* All of the block that is left has met: the usual case; else those that wait here. */
static void order_and_count(struct block *b, struct barrier *barrier)
{
    uint32_t met[MAX_WARPS] = {0};
    bool all = barrier->expected ? lanes_that_met(b, barrier, met) && b->n_live == b->launch->threads
                                 : barrier->arrived >= b->n_live;
    if (all && !barrier->passed && !barrier->halved) {
        counters_block_joined(b);
        order_block_barrier(b);
        return;
    }
    if (!barrier->expected)
        lanes_that_met(b, barrier, met);
    for (unsigned w = 0; w * WARP < b->launch->threads; w++)
        if (met[w] && met[w] == b->warps[w].live)
            counters_warp_joined(b, w);
    if (barrier->halved)
        order_halves(b, barrier, met);
    else if (simt_checked)
        order_some(b, met, done_of(b, barrier), barrier->passed);
}

static void let_come_again(struct block *b, const struct barrier *barrier, unsigned warp)
{
    for (unsigned t = warp * WARP; t < (warp + 1) * WARP && t < b->launch->threads; t++)
        if (b->threads[t].waits_for == &barrier->of_warp)
            wake(b, t);
}

/* All that it waits for have come. */
static void release(struct block *b, struct barrier *barrier)
{
    if (simt_checked && b->n_live < b->launch->threads)
        check_left(b, barrier);
    if (barrier->other)
        note_two_places(b, barrier);
    order_and_count(b, barrier);
    if (is_of_grid(b, barrier))
        grid_meet(b, barrier->halved ? barrier->early : NULL);
    if (barrier->halved)
        forget_halves(barrier);
    barrier->result = barrier->count;
    barrier->met++;
    if (!barrier->expected)
        forget_parts(barrier);
    barrier->arrived = barrier->partly;
    barrier->count = 0;
    forget_arrivals(barrier);
    if (simt_checked && barrier->id < NAMED_BARRIERS)
        end_turn(barrier);
    if (!barrier->partly)
        b->barriers_in_use &= ~(1ull << (barrier - b->barriers));
    for (unsigned t = 0; t < b->launch->threads; t++) {
        if (!meets_in(b, t, barrier))
            continue;
        if (simt_checked)
            memset(b->threads[t].turns, 0, sizeof b->threads[t].turns);
        wake(b, t);
    }
}

/* ---- one turn of a barrier behind the other ---- */

/* Does a lane of the first warp come behind what a lane of the second did at that stamp? By a flag without a fence, too: it
 * orders no data, but that one comes later than the other. */
static bool comes_behind(struct block *b, unsigned warp, unsigned other, uint32_t stamp)
{
    for (unsigned lane = 0; lane < WARP; lane++)
        for (unsigned i = 0; i < WARP; i++)
            if (order_before(b, warp * WARP + lane, b->serial, other * WARP + i, stamp))
                return true;
    for (unsigned i = 0; i < WARP; i++)
        if (message_way(b, b->serial, other * WARP + i, stamp, &(struct way){0}))
            return true;
    return false;
}

/* A barrier counts whoever comes. So each warp has to come behind all that have completed the turn before: else it might count
 * in the place of one of them. */
static void check_turn(struct block *b, struct barrier *barrier, unsigned warp, const void *pc)
{
    const struct turn *last = &barrier->last_turn;
    for (unsigned other = 0; other * WARP < b->launch->threads && !barrier->mixes; other++) {
        if (!last->stamp[other] || other == warp || comes_behind(b, warp, other, last->stamp[other]))
            continue;
        barrier->mixes = true;
        report_mixed_barrier(b, barrier->id, warp * WARP, pc, other * WARP, last->pc[other]);
    }
}

static bool is_complete(const struct block *b, const struct barrier *barrier)
{
    if (!barrier->expected)
        return barrier->arrived >= b->n_live;
    return barrier->arrived - barrier->partly >= barrier->expected;
}

/* A barrier that was given a number of threads counts whole warps: when all lanes that are left have come, the warp counts
 * as 32 (PTX ISA, "bar": thread counts are multiples of the warp's size). */
static void complete_warp(struct block *b, struct barrier *barrier, unsigned warp)
{
    uint32_t part = barrier->part[warp];
    if (!part || b->warps[warp].live & ~part)
        return;
    barrier->arrived += WARP - (unsigned)__builtin_popcount(part);
    barrier->partly -= (unsigned)__builtin_popcount(part);
    barrier->part[warp] = 0;
    let_come_again(b, barrier, warp);
}

/* A lane of that warp comes: the first of its turn? */
static void note_turn(const struct block *b, struct barrier *barrier, unsigned warp, const void *pc)
{
    struct turn *turn = &barrier->turn;
    if (!simt_checked || barrier->id >= NAMED_BARRIERS || turn->stamp[warp])
        return;
    turn->stamp[warp] = b->now;
    turn->pc[warp] = pc;
}

/* Those who meet in a barrier name one number of threads; none means all, or all that have not left. */
static void check_number(const struct block *b, const struct barrier *barrier, unsigned id, unsigned expected,
                         const void *pc)
{
    char did[128];
    unsigned before = barrier->expected, named = before ? before : expected;
    unsigned all = (b->launch->threads + WARP - 1) / WARP * WARP, left = (b->n_live + WARP - 1) / WARP * WARP;
    if (before == expected || ((!before || !expected) && (named == all || named == left)))
        return;
    snprintf(did, sizeof did, "comes to barrier %u for %u threads, to which others have come for %u", id,
             expected ? expected : all, before ? before : all);
    report_call("invalid barrier", pc, did,
                "All who meet in a barrier, bar.arrive too, must name one number of threads.");
}

/* What a thread comes to a barrier with. */
struct coming {
    enum event event;
    enum meeting as;
    unsigned id, expected; /* threads that are waited for; 0: all that have not left */
    unsigned predicate;
};

/* Whoever has only arrived may come again before the rest of its warp has come once, which does so together. */
static void let_warp_arrive(struct block *b, struct barrier *barrier, const void *pc)
{
    while (barrier->part[b->cur / WARP] >> b->cur % WARP & 1)
        wait_for(b, &barrier->of_warp, pc);
}

/* The running thread counts. */
static struct barrier *arrive(const struct coming *c, const void *pc)
{
    struct block *b = running();
    struct barrier *barrier = &b->barriers[c->id];
    unsigned warp = b->cur / WARP;
    if (c->expected)
        let_warp_arrive(b, barrier, pc);
    counters_event_of(b, pc, c->event, c->id, barrier->met);
    if (simt_checked) {
        check_place(b, barrier, c->as, pc);
        if (barrier->arrived)
            check_number(b, barrier, c->id, c->expected, pc);
    }
    barrier->expected = barrier->arrived && !barrier->expected ? 0 : c->expected;
    barrier->count += c->predicate;
    barrier->arrived++;
    barrier->partly++;
    barrier->part[warp] |= 1u << b->cur % WARP;
    b->barriers_in_use |= 1ull << c->id;
    if (c->expected) {
        b->has_roles |= c->id < NAMED_BARRIERS && c->expected < b->launch->threads;
        note_turn(b, barrier, warp, pc);
        complete_warp(b, barrier, warp);
        if (simt_checked && c->id < NAMED_BARRIERS && !barrier->part[warp])
            check_turn(b, barrier, warp, pc);
    }
    return barrier;
}

static unsigned arrive_and_wait(const struct coming *c, const void *pc)
{
    struct block *b = running();
    unsigned id = c->id;
    struct barrier *barrier = arrive(c, pc);
    if (id == GRID_BARRIER || !is_complete(b, barrier)) {
        wait_for(b, &barrier->waiting, pc);
        return barrier->result;
    }
    current(b)->waits_for = &barrier->waiting;
    current(b)->pc = pc;
    release(b, barrier);
    return barrier->result;
}

static unsigned syncthreads(unsigned predicate, const void *pc)
{
    struct coming c = {.event = EVENT_BARRIER, .as = MEET_SYNCTHREADS, .predicate = predicate};
    return arrive_and_wait(&c, pc);
}
void simt_syncthreads(void) { syncthreads(0, CALLER()); }
int simt_syncthreads_count(int predicate) { return (int)syncthreads((unsigned)predicate, CALLER()); }
int simt_syncthreads_and(int predicate) { return syncthreads((unsigned)!predicate, CALLER()) == 0; }
int simt_syncthreads_or(int predicate) { return syncthreads((unsigned)predicate, CALLER()) != 0; }

static void check_barrier(unsigned id, unsigned threads, const void *pc)
{
    char did[96];
    if (id < NAMED_BARRIERS && threads % WARP == 0)
        return;
    snprintf(did, sizeof did, "comes to barrier %u for %u threads", id, threads);
    report_call("invalid barrier", pc, did,
                "A barrier has a number from 0 to 15, and waits for a multiple of 32 threads.");
}

unsigned block_barrier(unsigned id, unsigned threads, bool predicate, enum meeting as, const void *pc)
{
    struct coming c = {EVENT_BARRIER, as, id, threads, predicate};
    check_barrier(id, threads, pc);
    return arrive_and_wait(&c, pc);
}

void block_barrier_arrive(unsigned id, unsigned threads, enum meeting as, const void *pc)
{
    struct block *b = running();
    struct coming c = {EVENT_BARRIER_ARRIVE, as, id, threads, 0};
    check_barrier(id, threads, pc);
    struct barrier *barrier = arrive(&c, pc);
    barrier->passed = true;
    b->has_roles = true;
    if (simt_checked)
        order_release(b, b->cur, done_of(b, barrier));
    if (is_complete(b, barrier))
        release(b, barrier);
}

void simt_barrier(unsigned id, unsigned threads) { block_barrier(id, threads, false, MEET_ANYWHERE, CALLER()); }

static void require_whole_grid(const void *pc)
{
    if (!simt_grid_is_whole())
        report_call("grid barrier in an ordinary launch", pc, "waits for all blocks of the grid",
                    "Only cudaLaunchCooperativeKernel makes sure that they can wait for each other.");
}

void simt_grid_sync(void)
{
    struct coming c = {.event = EVENT_BARRIER, .id = GRID_BARRIER};
    require_whole_grid(CALLER());
    arrive_and_wait(&c, CALLER());
}

/* ---- a barrier in two halves ---- */

/* What the running thread does from now on, up to the second half, is not ordered with what others do behind theirs. */
static void come_early(unsigned id, const void *pc)
{
    struct block *b = running();
    struct barrier *barrier = &b->barriers[id];
    uint32_t *came = &barrier->came[b->cur / WARP], bit = 1u << b->cur % WARP;
    if (*came & bit)
        report_call("invalid barrier", pc, "arrives a second time", "Each barrier_arrive() has its barrier_wait().");
    if (!barrier->early)
        barrier->early = calloc(1, sizeof *barrier->early);
    if (!barrier->early)
        base_out_of_memory();
    barrier->early->serial = b->serial;
    *came |= bit;
    barrier->n_came++;
    order_release(b, b->cur, barrier->early);
    if (id == GRID_BARRIER && barrier->n_came == b->n_live)
        grid_arrive(b, barrier->early);
}

static void wait_for_second_half(unsigned id, const void *pc)
{
    struct coming c = {.event = EVENT_BARRIER, .id = id};
    running()->barriers[id].halved = true;
    arrive_and_wait(&c, pc);
}

void simt_barrier_arrive(void) { come_early(0, CALLER()); }
void simt_barrier_wait(void) { wait_for_second_half(0, CALLER()); }

void simt_grid_arrive(void)
{
    require_whole_grid(CALLER());
    come_early(GRID_BARRIER, CALLER());
}
void simt_grid_wait(void) { wait_for_second_half(GRID_BARRIER, CALLER()); }

/* ---- groups of several warps ---- */

struct offer {
    unsigned char bytes[32];
};

void simt_tile_sync(unsigned size)
{
    struct block *b = running();
    unsigned rank = b->cur / size, left = b->launch->threads - rank * size;
    struct coming c = {.event = EVENT_BARRIER, .id = TILE_BARRIERS + rank};
    for (unsigned smaller = 64; smaller < size; smaller *= 2)
        c.id += MAX_THREADS / smaller;
    c.expected = left < size ? (left + WARP - 1) / WARP * WARP : size;
    arrive_and_wait(&c, CALLER());
}

void simt_tile_offer(const void *value, unsigned bytes)
{
    struct block *b = running();
    if (!b->offers)
        b->offers = calloc(MAX_THREADS, sizeof *b->offers);
    if (!b->offers)
        base_out_of_memory();
    memcpy(b->offers[b->cur].bytes, value, bytes);
}

void simt_tile_take(unsigned thread, void *value, unsigned bytes)
{
    memcpy(value, running()->offers[thread % MAX_THREADS].bytes, bytes);
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
    transfer_thread_left(b);
    order_thread_left(b);
    warp->live &= ~(1u << self % WARP);
    warp->ready &= ~(1u << self % WARP);
    b->n_live--;
    b->yields = 0;
    watchdog_progress();
    collective_lane_left(b, self / WARP);
    for (u64 rest = b->n_live ? b->barriers_in_use : 0; rest; rest &= rest - 1) {
        struct barrier *barrier = &b->barriers[__builtin_ctzll(rest)];
        if (barrier->expected)
            complete_warp(b, barrier, self / WARP);
        if (is_complete(b, barrier) && !is_of_grid(b, barrier))
            release(b, barrier); /* who has left is not waited for, where no number was given */
    }
    cluster_barrier_left(b);
    unsigned next = next_or_deadlock(b);
    if (next == NO_THREAD) {
        transfer_block_left(b);
        undefined_end(b);
        counters_block_joined(b);
        grid_block_left(b);
    }
    if (next == NO_THREAD || b->threads[next].stack)
        fiber_exit(b, next);
    fiber_hand_over(b, self, next);
}

unsigned simt_thread_idx(int dim) { return current(block_here())->idx[dim]; }
unsigned simt_block_idx(int dim) { return block_here()->index[dim]; }
unsigned simt_cluster_dim(int dim) { return block_here()->launch->cluster[dim]; }
unsigned simt_cluster_idx(int dim) { return simt_block_idx(dim) % simt_cluster_dim(dim); }
bool simt_cluster_is_explicit(void) { return block_here()->launch->has_clusters; }

/* What threads know of each other: by barriers, and by fences, which turn what was seen into what is known, and settle
 * what the next strong write releases (messages.c).
 *
 * A barrier does more than the model asks: it also counts as the fence after a read, and as the fence of all for what
 * one thread writes behind it. Widely used programs rely on that, and hardware keeps it, so here the emulator is
 * silent. */
#include "order/order.h"
#include "order/proxy.h"
#include "order/registers.h"
#include "order/touch.h"
#include "block/grid.h"
#include "block/launch.h"
#include "block/worker.h"
#include "memory/records.h"
#include <stdlib.h>
#include <string.h>

/* Behind a block that has come so far the clock begins anew. The bit that is left is for the block that begins below: beyond it
 * records would seem older than they are, and lose reports. */
#define MOST_STAMPS (1u << (STAMP_BITS - 1))

static u64 later(u64 a, u64 b) { return a > b ? a : b; }

/* ---- what threads know ---- */

struct knowledge *order_knowledge(struct block *b, unsigned thread)
{
    struct thread *t = &b->threads[thread];
    if (t->knowledge)
        return t->knowledge;
    t->knowledge = calloc(1, sizeof *t->knowledge);
    if (!t->knowledge)
        base_out_of_memory();
    b->n_knowledge++;
    return t->knowledge;
}

static void knowledge_clear(struct knowledge *k)
{
    clock_free(&k->acquired);
    free(k->acquired_own);
    clock_free(&k->loose);
    clock_free(&k->taken);
    for (int scope = 0; scope < ORDERED_SCOPES; scope++) {
        clock_free(&k->seen[scope]);
        clock_free(&k->released[scope]);
    }
}

void order_begin_block(struct block *b)
{
    for (unsigned t = 0; t < MAX_THREADS && b->n_knowledge; t++)
        if (b->threads[t].knowledge) {
            knowledge_clear(b->threads[t].knowledge);
            free(b->threads[t].knowledge);
            b->threads[t].knowledge = NULL;
            b->n_knowledge--;
        }
    b->sequential = 0;
    b->fenced = 0;
    b->n_heard = 0;
    proxy_begin_block(b);
    registers_begin_block(b);
    touch_begin_block(b);
    clock_clear(&b->acquired);
    for (int scope = 0; scope < ORDERED_SCOPES; scope++)
        clock_clear(&b->released[scope]);
    if (b->now >= MOST_STAMPS) { /* else what was known of the block before lies below the floor */
        b->now = 0;
        memset(b->warps, 0, MAX_WARPS * sizeof *b->warps);
        for (unsigned t = 0; t < MAX_THREADS; t++)
            b->threads[t].touched = 0;
    }
    b->floor = b->now++;
    b->met = b->floor;
    b->left_unmet = false;
    memset(b->engine_known, 0, sizeof b->engine_known);
    for (; b->engines && b->engines->n; b->engines->n--)
        b->engines->stamp[b->engines->used[b->engines->n - 1]] = 0;
}

static bool is_before(struct block *b, unsigned thread, uint32_t serial, unsigned other, uint32_t stamp)
{
    if (serial == b->serial && !is_engine(other)) {
        if (other == thread || order_met(b, other, stamp))
            return true;
        if (other / WARP == thread / WARP && b->warps[other / WARP].known[thread % WARP][other % WARP] >= stamp)
            return true;
    }
    if (b->phase && grid_before(b, serial, other, stamp))
        return true;
    const struct knowledge *k = b->threads[thread].knowledge;
    if (k && k->acquired_own && serial == b->serial && !is_engine(other) && k->acquired_own[other] >= stamp)
        return true;
    return (k && clock_knows(&k->acquired, serial, other, stamp)) || clock_knows(&b->acquired, serial, other, stamp);
}

/* What a thread knows of an engine's copy it is asked again for each word of it. */
bool order_before(struct block *b, unsigned thread, uint32_t serial, unsigned other, uint32_t stamp)
{
    struct engine_known *k = &b->engine_known[other % ENGINES_KNOWN];
    if (serial != b->serial || !is_engine(other))
        return is_before(b, thread, serial, other, stamp);
    if (order_engine_met(b->engines, other, stamp) || (k->thread == thread && k->engine == other && k->stamp >= stamp))
        return true;
    if (!is_before(b, thread, serial, other, stamp))
        return false;
    *k = (struct engine_known){thread, other, stamp};
    return true;
}

/* Of whole warps: */
static unsigned own_stamps(const struct block *b) { return (b->launch->threads + WARP - 1) / WARP * WARP; }

static void join_stamps(const struct block *b, uint32_t *restrict into, const uint32_t *restrict from)
{
    for (unsigned first = 0; first < own_stamps(b); first += WARP)
        for (unsigned t = first; t < first + WARP; t++)
            into[t] = from[t] > into[t] ? from[t] : into[t];
}

static void join_own(const struct block *b, struct knowledge *k, const uint32_t *from)
{
    if (!from)
        return;
    if (!k->acquired_own)
        k->acquired_own = calloc(own_stamps(b), sizeof *k->acquired_own);
    if (!k->acquired_own)
        base_out_of_memory();
    join_stamps(b, k->acquired_own, from);
}

/* ---- engines ---- */

void order_learn(struct block *b, unsigned thread, unsigned engine, uint32_t stamp)
{
    if (stamp && !order_engine_met(b->engines, engine, stamp))
        clock_add(&order_knowledge(b, thread)->acquired, (struct entry){b->serial, engine, stamp});
}

/* What this clock says of the block's own engines, all threads know. */
static void meet_engines(struct block *b, const struct clock *c)
{
    for (unsigned i = 0; i < c->n; i++) {
        struct entry e = c->entries[i];
        if (e.serial != b->serial || !is_engine(e.thread))
            continue;
        if (!b->engines)
            b->engines = base_reserve(sizeof *b->engines);
        uint32_t *met = &b->engines->stamp[e.thread - MAX_THREADS];
        if (!*met)
            b->engines->used[b->engines->n++] = (uint16_t)(e.thread - MAX_THREADS);
        *met = e.stamp > *met ? e.stamp : *met;
    }
}

void order_engines(const struct block *b, struct clock *out)
{
    for (unsigned i = 0; b->engines && i < b->engines->n; i++) {
        unsigned engine = b->engines->used[i];
        clock_add(out, (struct entry){b->serial, MAX_THREADS + engine, b->engines->stamp[engine]});
    }
}

/* ---- barriers ---- */

static bool knows_nothing(const struct knowledge *k)
{
    for (int scope = 0; scope < ORDERED_SCOPES; scope++)
        if (k->seen[scope].n || k->released[scope].n)
            return false;
    return !k->acquired.n && !k->acquired_own && !k->loose.n && !k->taken.n && !k->sequential;
}

void order_warp_sync(struct block *b, unsigned warp, uint32_t lanes)
{
    uint32_t(*known)[WARP] = b->warps[warp].known, seen[WARP] = {0};
    struct knowledge all = {0};
    bool any = false;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        unsigned lane = (unsigned)__builtin_ctz(rest);
        const struct knowledge *k = b->threads[warp * WARP + lane].knowledge;
        known[lane][lane] = b->now;
        for (unsigned i = 0; i < WARP; i++)
            if (known[lane][i] > seen[i])
                seen[i] = known[lane][i];
        if (!k || knows_nothing(k))
            continue;
        any = true;
        all.sequential = later(all.sequential, k->sequential);
        clock_join(&all.acquired, &k->acquired);
        join_own(b, &all, k->acquired_own);
        clock_join(&all.loose, &k->loose);
        clock_join(&all.taken, &k->taken);
        for (int scope = 0; scope < ORDERED_SCOPES; scope++) {
            clock_join(&all.seen[scope], &k->seen[scope]);
            clock_join(&all.released[scope], &k->released[scope]);
        }
    }
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        unsigned lane = (unsigned)__builtin_ctz(rest);
        memcpy(known[lane], seen, sizeof seen);
        if (!any)
            continue;
        struct knowledge *k = order_knowledge(b, warp * WARP + lane);
        k->sequential = all.sequential;
        clock_copy(&k->acquired, &all.acquired);
        join_own(b, k, all.acquired_own);
        clock_copy(&k->loose, &all.loose);
        clock_copy(&k->taken, &all.taken);
        for (int scope = 0; scope < ORDERED_SCOPES; scope++) {
            clock_copy(&k->seen[scope], &all.seen[scope]);
            clock_copy(&k->released[scope], &all.released[scope]);
        }
    }
    knowledge_clear(&all);
    b->now++;
}

/* Up to which stamp does it know what that thread of the block did, by itself or as one of all? */
static uint32_t own_stamp(const struct block *b, const struct clock *c, unsigned thread)
{
    uint32_t alone = clock_stamp(c, b->serial, thread), all = clock_stamp(c, b->serial, EVERY_THREAD);
    return alone > all ? alone : all;
}

/* Up to which stamp does the first thread know what the second did, other than by barriers of the block? */
static uint32_t known_of(const struct block *b, unsigned thread, unsigned other)
{
    const struct knowledge *k = b->threads[thread].knowledge;
    uint32_t stamp = 0;
    if (thread / WARP == other / WARP)
        stamp = b->warps[thread / WARP].known[thread % WARP][other % WARP];
    if (k && k->acquired_own && k->acquired_own[other] > stamp)
        stamp = k->acquired_own[other];
    uint32_t acquired = k ? own_stamp(b, &k->acquired, other) : 0;
    return acquired > stamp ? acquired : stamp;
}

/* Those that are left meet: what one of them knows of those that are not, all know now. */
static void meet_without_left(struct block *b)
{
    bool unmet = false;
    for (unsigned t = 0; t < b->launch->threads; t++) {
        struct thread *gone = &b->threads[t];
        if (!has_left(b, t) || gone->touched <= gone->met)
            continue;
        uint32_t by_block = own_stamp(b, &b->acquired, t);
        gone->met = by_block > gone->met ? by_block : gone->met;
        for (unsigned other = 0; other < b->launch->threads; other++) {
            uint32_t stamp = has_left(b, other) ? 0 : known_of(b, other, t);
            gone->met = stamp > gone->met ? stamp : gone->met;
        }
        unmet |= gone->touched > gone->met;
    }
    b->left_unmet = unmet;
}

void order_block_barrier(struct block *b)
{
    touch_block_met(b);
    if (b->left_unmet)
        meet_without_left(b);
    for (unsigned t = 0; b->n_knowledge && t < b->launch->threads; t++) {
        struct knowledge *k = b->threads[t].knowledge;
        if (!k)
            continue;
        b->sequential = later(b->sequential, k->sequential);
        meet_engines(b, &k->acquired);
        clock_forget(&k->acquired, b->serial); /* the floor says as much of its threads */
        clock_join(&b->acquired, &k->acquired);
        clock_clear(&k->acquired);
        for (int scope = 0; scope < ORDERED_SCOPES; scope++) {
            meet_engines(b, &k->seen[scope]);
            clock_join(&b->acquired, &k->seen[scope]);
            clock_clear(&k->seen[scope]);
            clock_join(&b->released[scope], &k->released[scope]);
            clock_clear(&k->released[scope]);
        }
    }
    clock_forget(&b->acquired, b->serial);
    b->met = b->now++;
    if (!b->left_unmet)
        b->floor = b->met;
}

void order_thread_left(struct block *b)
{
    struct thread *t = current(b);
    touch_thread_left(b);
    t->met = b->met;
    b->left_unmet |= t->touched > b->met;
}

/* ---- fences ---- */

/* Up to which stamp does it know what that thread of its block did, other than by the floor and by clocks? */
static uint32_t stamp_of(const struct block *b, unsigned self, const struct knowledge *k, unsigned thread)
{
    uint32_t stamp = thread == self ? b->now : 0;
    if (thread != self && thread / WARP == self / WARP)
        stamp = b->warps[self / WARP].known[self % WARP][thread % WARP];
    if (b->met > b->floor) {
        uint32_t met = has_left(b, thread) ? b->threads[thread].met : b->met;
        stamp = met > stamp ? met : stamp;
    }
    if (k && k->acquired_own && k->acquired_own[thread] > stamp)
        stamp = k->acquired_own[thread];
    return stamp;
}

/* Adds what that thread knows and has done; in the order of the entries, which costs least. */
static void snapshot(struct block *b, unsigned self, const struct knowledge *k, struct clock *out)
{
    struct clock own = {0}, *into = out->n ? &own : out;
    bool all = b->met > b->floor || (k && k->acquired_own);
    unsigned first = all ? 0 : self / WARP * WARP, end = all ? b->launch->threads : first + WARP;
    for (unsigned thread = first; thread < end && thread < b->launch->threads; thread++) {
        uint32_t stamp = stamp_of(b, self, k, thread);
        if (stamp > b->floor)
            clock_add(into, (struct entry){b->serial, thread, stamp});
    }
    order_engines(b, into);
    if (b->floor)
        clock_add(into, (struct entry){b->serial, EVERY_THREAD, b->floor});
    if (k)
        clock_join(into, &k->acquired);
    clock_join(into, &b->acquired);
    if (into != out)
        clock_join(out, into);
    clock_free(&own);
}

void order_done(struct block *b, unsigned thread, struct clock *out)
{
    snapshot(b, thread, b->threads[thread].knowledge, out);
}

static void join_all(struct knowledge *k, const struct clock *all, u64 sequential)
{
    clock_join(&k->acquired, all);
    k->sequential = later(k->sequential, sequential);
}

/* ---- objects of one block ---- */

u64 order_sequential(const struct block *b, unsigned thread)
{
    const struct knowledge *k = b->threads[thread].knowledge;
    return k ? later(k->sequential, b->sequential) : b->sequential;
}

/* Adds what that thread knows and has done, where the object is its own block's. */
static void add_done(const struct block *b, unsigned thread, struct release *into)
{
    const struct knowledge *k = b->threads[thread].knowledge;
    unsigned first = thread / WARP * WARP;
    for (unsigned lane = 0; lane < WARP; lane++) {
        uint32_t known = b->warps[thread / WARP].known[thread % WARP][lane];
        if (known > into->threads[first + lane])
            into->threads[first + lane] = known;
    }
    into->threads[thread] = b->now;
    if (k && k->acquired_own)
        join_stamps(b, into->threads, k->acquired_own);
    if (k)
        clock_join(&into->others, &k->acquired);
}

void order_release(struct block *b, unsigned thread, struct release *into)
{
    into->sequential = later(into->sequential, order_sequential(b, thread));
    if (into->serial == b->serial)
        add_done(b, thread, into);
    else
        order_done(b, thread, &into->others);
    b->now++;
}

void order_acquire(struct block *b, unsigned thread, const struct release *from)
{
    struct knowledge *k = order_knowledge(b, thread);
    join_own(b, k, from->threads);
    clock_join(&k->acquired, &from->others);
    k->sequential = later(k->sequential, from->sequential);
}

void order_some(struct block *b, const uint32_t *lanes, struct release *met, bool passed)
{
    if (passed)
        met->sequential = order_tick(); /* later than those that have passed have any */
    for (unsigned t = 0; t < b->launch->threads; t++)
        if (lanes[t / WARP] >> t % WARP & 1) {
            add_done(b, t, met);
            met->sequential = later(met->sequential, order_sequential(b, t));
        }
    for (unsigned t = 0; t < b->launch->threads; t++)
        if (lanes[t / WARP] >> t % WARP & 1)
            order_acquire(b, t, met);
    b->now++;
}

/* Of the block's own engine. */
static uint32_t engine_stamp(const struct block *b, const struct knowledge *k, unsigned engine)
{
    uint32_t met = b->engines ? b->engines->stamp[engine - MAX_THREADS] : 0;
    uint32_t known = k ? clock_stamp(&k->acquired, b->serial, engine) : 0;
    return met > known ? met : known;
}

void order_release_fenced(struct block *b, unsigned thread, enum simt_scope scope, struct release *into)
{
    const struct knowledge *k = b->threads[thread].knowledge;
    unsigned initialised = engine_of(INITIALISATIONS, thread);
    uint32_t stamp = engine_stamp(b, k, initialised);
    if (b->cluster->n == 1)
        scope = SIMT_SCOPE_BLOCK;
    if (stamp)
        clock_add(&into->others, (struct entry){b->serial, initialised, stamp});
    if (k)
        clock_join(&into->others, &k->released[scope]);
    clock_join(&into->others, &b->released[scope]);
    b->now++;
}

void order_see(struct block *b, unsigned thread, const struct release *from)
{
    struct knowledge *k = order_knowledge(b, thread);
    for (unsigned t = 0; t < b->launch->threads; t++)
        if (from->threads[t])
            clock_add(&k->seen[SIMT_SCOPE_BLOCK], (struct entry){b->serial, t, from->threads[t]});
    clock_join(&k->seen[SIMT_SCOPE_BLOCK], &from->others);
}

/* ---- barriers of a cluster ---- */

/* What all threads of a block know of each other: what its barriers have ordered. */
static void release_met(const struct block *b, struct arrivals *into)
{
    uint32_t *threads = into->done.threads;
    into->met = b->met;
    for (unsigned t = 0; t < b->launch->threads; t++) {
        uint32_t met = has_left(b, t) ? b->threads[t].met : b->met;
        threads[t] = met > threads[t] ? met : threads[t];
    }
    for (int scope = 0; scope < ORDERED_SCOPES; scope++)
        clock_join(&into->fenced[scope], &b->released[scope]);
    clock_join(&into->done.others, &b->acquired);
    order_engines(b, &into->done.others);
}

/* As at a barrier of the block, what was seen by relaxed reads counts as known, and a fence as one of all. */
void order_arrive_in_cluster(struct block *b, unsigned thread, struct arrivals *into)
{
    const struct knowledge *k = b->threads[thread].knowledge;
    if (into->met != b->met)
        release_met(b, into);
    for (int scope = 0; k && scope < ORDERED_SCOPES; scope++) {
        clock_join(&into->done.others, &k->seen[scope]);
        clock_join(&into->fenced[scope], &k->released[scope]);
    }
    order_release(b, thread, &into->done);
}

/* Up to which stamp all threads of the block have released what they have done; one that has done nothing since it released does
 * not count. */
static uint32_t least_released(const struct block *b, const struct release *r)
{
    uint32_t least = 0;
    bool all = true;
    for (unsigned t = 0; t < b->launch->threads; t++) {
        uint32_t released = r->threads[t];
        if (b->threads[t].touched > released) {
            least = all || released < least ? released : least;
            all = false;
        }
    }
    for (unsigned t = 0; all && t < b->launch->threads; t++)
        least = r->threads[t] > least ? r->threads[t] : least;
    return least;
}

void order_gather(const struct block *b, struct arrivals *arrived, struct cluster_barrier *into)
{
    struct release *done = &arrived->done;
    uint32_t least = least_released(b, done);
    struct clock own = {0};
    for (unsigned t = 0; t < b->launch->threads; t++)
        if (b->threads[t].touched > least && done->threads[t] > least)
            clock_add(&own, (struct entry){b->serial, t, done->threads[t]});
    if (least)
        clock_add(&own, (struct entry){b->serial, EVERY_THREAD, least});
    clock_join(&into->done, &own);
    clock_join(&into->done, &done->others);
    for (int scope = 0; scope < ORDERED_SCOPES; scope++)
        clock_join(&into->fenced[scope], &arrived->fenced[scope]);
    into->sequential = later(into->sequential, done->sequential);
    clock_free(&own);
    order_forget_arrivals(b, arrived);
}

void order_forget_arrivals(const struct block *b, struct arrivals *arrived)
{
    clock_free(&arrived->done.others);
    for (int scope = 0; scope < ORDERED_SCOPES; scope++)
        clock_free(&arrived->fenced[scope]);
    *arrived = (struct arrivals){.done.serial = b->serial, .met = NOT_MET};
}

void order_acquire_all(struct block *b, unsigned thread, const struct cluster_barrier *from)
{
    struct knowledge *k = order_knowledge(b, thread);
    join_all(k, &from->done, from->sequential);
    for (int scope = 0; scope < ORDERED_SCOPES; scope++)
        clock_join(&k->released[scope], &from->fenced[scope]);
}

void order_block_acquire_all(struct block *b, const struct cluster_barrier *from)
{
    uint32_t met = clock_stamp(&from->done, b->serial, EVERY_THREAD);
    meet_engines(b, &from->done);
    clock_join(&b->acquired, &from->done);
    for (int scope = 0; scope < ORDERED_SCOPES; scope++)
        clock_join(&b->released[scope], &from->fenced[scope]);
    b->sequential = later(b->sequential, from->sequential);
    b->floor = met > b->floor ? met : b->floor;
    b->met = met > b->met ? met : b->met;
}

void order_notice(struct block *b)
{
    if (!__atomic_load_n(&b->launch->synchronises, __ATOMIC_RELAXED))
        __atomic_store_n(&b->launch->synchronises, true, __ATOMIC_SEQ_CST);
}

u64 order_tick(void)
{
    static u64 tick;
    return __atomic_add_fetch(&tick, 1, __ATOMIC_SEQ_CST);
}

void order_fence(struct block *b, enum simt_scope scope, bool sequential, const void *pc)
{
    static const enum lock_fence lock_fences[ORDERED_SCOPES] = {BLOCK_FENCE, CLUSTER_FENCE, DEVICE_FENCE};
    int ordered = scope < SIMT_SCOPE_DEVICE ? (int)scope : SIMT_SCOPE_DEVICE;
    struct knowledge *k = order_knowledge(b, b->cur);
    order_notice(b);
    b->fenced = order_tick();
    if (sequential)
        k->sequential = b->fenced;
    k->fenced = b->now;
    k->fence = (struct step){pc, scope, b->now};
    if (k->lock && k->lock_fence < lock_fences[ordered])
        k->lock_fence = lock_fences[ordered];
    for (int s = 0; s <= ordered; s++) {
        clock_join(&k->acquired, &k->seen[s]);
        clock_clear(&k->seen[s]);
    }
    clock_clear(&k->released[SIMT_SCOPE_BLOCK]);
    snapshot(b, b->cur, k, &k->released[SIMT_SCOPE_BLOCK]);
    if (ordered >= SIMT_SCOPE_CLUSTER && b->cluster->n > 1)
        clock_copy(&k->released[SIMT_SCOPE_CLUSTER], &k->released[SIMT_SCOPE_BLOCK]);
    if (ordered >= SIMT_SCOPE_DEVICE)
        clock_copy(&k->released[SIMT_SCOPE_DEVICE], &k->released[SIMT_SCOPE_BLOCK]);
    b->now++;
}

/* The race detector. Two accesses of different threads to the same byte, one of them a write, race unless something
 * orders them (order.c), or both are strong and each within the other's scope.
 *
 * Who touched what is in records (records.c). One store instruction of a warp that writes a word from several lanes is no
 * race: the guide says that one of the writes happens. A record that is lost can lose a report, never invent one. */
#include "order/race.h"
#include "order/order.h"
#include "order/proxy.h"
#include "base/lines.h"
#include "base/notes.h"
#include "base/report.h"
#include "block/async.h"
#include "block/launch.h"
#include "block/worker.h"
#include "memory/records.h"
#include "memory/shared.h"
#include "order/access.h"
#include "order/messages.h"
#include "order/overlap.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* Blocks on several workers touch the same cells of global memory. */
#define LOCKS 1024
static struct {
    bool held;
    char alone[63];
} locks[LOCKS] __attribute__((aligned(64)));

static bool is_beside(const void *one, const void *other) { return (uintptr_t)one >> 4 == (uintptr_t)other >> 4; }

/* Another worker's thread is about to read an older value there. */
static bool is_lent(const struct block *b, const void *address)
{
    if (!__atomic_load_n(&b->launch->n_lent, __ATOMIC_RELAXED))
        return false;
    for (unsigned i = 0; i < simt_n_workers; i++)
        if (&simt_workers[i] != b->worker &&
            is_beside(__atomic_load_n(&simt_workers[i].lent, __ATOMIC_ACQUIRE), address))
            return true;
    return false;
}

static bool is_of_workers(const struct block *b, const struct place *place)
{
    return place->space != SPACE_SHARED && b->launch->many_workers;
}

static __attribute__((noinline)) bool *lock_of_workers(const struct block *b, const struct place *place)
{
    bool *lock = &locks[(place->offset >> 6) % LOCKS].held;
    for (;;) {
        while (__atomic_test_and_set(lock, __ATOMIC_ACQUIRE)) {
        }
        if (!is_lent(b, place->object->base + place->offset))
            return lock;
        __atomic_clear(lock, __ATOMIC_RELEASE);
        sched_yield();
    }
}

bool *race_lock(const struct block *b, const struct place *place)
{
    return is_of_workers(b, place) ? lock_of_workers(b, place) : NULL;
}

void race_unlock(bool *lock)
{
    if (lock)
        __atomic_clear(lock, __ATOMIC_RELEASE);
}

static void note_guess(const void *pc);

/* ---- one access, on its way through the cells ---- */

struct visit {
    const struct access *a;
    struct block *b; /* of the access */
    const struct place *place;
    u64 key;
    uint32_t
        least_serial; /* earlier blocks are of launches before this one, or of clusters whose shared memory it was */
    unsigned warp, lane;
    enum strength strength;
    const struct cell *cell; /* in hand */
    uint32_t flags;          /* CARELESS: it writes inside a lock, without a full fence; COMPARES */
    uint8_t turn;   /* of this store in this thread: the n-th lap of a loop is another instruction than the first */
    bool read_only; /* by the path that takes memory for constant while the kernel runs */
    bool together;  /* it stores where another lane of its warp does, by the same instruction */
    bool raced;     /* with the following, to be reported when the locks are open again */
    bool other_stored;
    enum why why;
    enum strength other_strength;
    unsigned other_thread;
    struct record other;
};

static enum strength strength_of(enum access_kind kind, enum simt_scope scope)
{
    static const enum strength volatiles[] = {VOLATILE_BLOCK, VOLATILE_CLUSTER, VOLATILE, VOLATILE};
    static const enum strength atomics[] = {ATOMIC_BLOCK, ATOMIC_CLUSTER, ATOMIC_DEVICE, ATOMIC_DEVICE};
    if (kind == ACCESS_VOLATILE_LOAD || kind == ACCESS_VOLATILE_STORE)
        return volatiles[scope];
    return kind == ACCESS_ATOMIC ? atomics[scope] : PLAIN;
}

static bool is_volatile(enum strength strength) { return strength >= VOLATILE && strength <= VOLATILE_BLOCK; }

static bool is_of_block(enum strength strength) { return strength == VOLATILE_BLOCK || strength == ATOMIC_BLOCK; }
static bool is_of_cluster(enum strength strength) { return strength == VOLATILE_CLUSTER || strength == ATOMIC_CLUSTER; }

/* Does its scope end before another block, of that serial? */
static bool is_too_small(const struct block *b, enum strength strength, uint32_t serial)
{
    return is_of_block(strength) || (is_of_cluster(strength) && !cluster_find(b, serial));
}

static enum access_kind kind_of(enum strength strength, bool stored)
{
    if (is_volatile(strength))
        return stored ? ACCESS_VOLATILE_STORE : ACCESS_VOLATILE_LOAD;
    if (strength != PLAIN)
        return ACCESS_ATOMIC;
    return stored ? ACCESS_STORE : ACCESS_LOAD;
}

static const unsigned char *address_of(const struct visit *v) { return v->place->object->base + v->place->offset; }

/* Is what it is to be reported with known? In a cluster a store that meets a copy's is rather reported with a read of what
 * that one brought: who reads is who has not said that the place is free. */
static bool is_settled(const struct visit *v)
{
    return v->raced && !(v->b->cluster->n > 1 && v->other_stored && v->other.engine);
}

static void note_conflict(struct visit *v, const struct record *r, unsigned thread, enum strength strength, bool stored,
                          enum why why)
{
    if (is_settled(v) || (v->raced && stored))
        return;
    v->raced = true;
    v->other = *r;
    v->other_thread = thread;
    v->other_strength = strength;
    v->other_stored = stored;
    v->why = why;
}

static struct conflict conflict_of(struct visit *v)
{
    struct conflict c = {
        .block = v->b, .place = *v->place, .bytes = v->a->bytes, .now = v->a->kind, .pc = v->a->pc, .why = v->why};
    c.before = kind_of(v->other_strength, v->other_stored);
    c.is_of_cluster = !is_of_block(v->strength) && !is_of_block(v->other_strength);
    c.other_pc = record_pc(&v->other);
    c.actor.serial = v->b->serial;
    c.actor.thread = v->a->thread;
    c.actor.engine = v->a->engine;
    c.other.engine = v->other.engine;
    c.other.serial = record_issuer(&v->other);
    c.other.thread = v->other_thread;
    bool is_told = v->why == NOTHING_ORDERS || v->why == FENCE_MISSING;
    if (is_told &&
        message_way(v->b, v->other.serial, record_actor(&v->other, v->other_thread), STAMP(&v->other), &c.way))
        c.why = FENCE_MISSING;
    return c;
}

/* Two strong accesses that no strict order holds apart. Volatile data whose order would follow if a scope were wider
 * races; a volatile flag that others poll does not, nor what has been read just before. */
static void meet_strong(struct visit *v, const struct record *r, unsigned thread, enum strength strength, bool stored)
{
    struct block *b = v->b;
    bool too_small = r->serial != b->serial &&
                     (is_too_small(b, v->strength, r->serial) || is_too_small(b, strength, r->serial));
    bool volatile_data = v->a->manner != AS_RELAXED &&
                         (is_volatile(v->strength) || (is_volatile(strength) && v->a->kind != ACCESS_ATOMIC));
    if (!too_small && !volatile_data)
        return;
    bool loosely = message_loosely(b, v->a->thread, r->serial, record_actor(r, thread), STAMP(r));
    if (too_small && !loosely)
        note_conflict(v, r, thread, strength, stored, SCOPE_TOO_SMALL);
    if (too_small || message_observed(b, v->a->thread, address_of(v)))
        return;
    bool last_write = r == &v->cell->write && !(r->who & COMPARES);
    bool overwritten = last_write && v->a->kind == ACCESS_VOLATILE_STORE;
    if (loosely || overwritten)
        note_conflict(v, r, thread, strength, stored, loosely ? FENCE_MISSING : NOTHING_ORDERS);
}

/* Atomic operations that the thread has seen the last of: a store of its own there comes after them in any case, as where
 * the last to arrive in a barrier sets its counter back; a load does if there was a fence between. */
static bool follows_own_view(const struct visit *v)
{
    if (v->a->kind == ACCESS_STORE)
        return message_observed(v->b, v->a->thread, address_of(v));
    return message_observed_and_fenced(v->b, v->a->thread, address_of(v));
}

/* A product reads what cp.async of another thread of its warpgroup wrote, which that thread has waited for. A GPU's tensor core begins when
 * all four warps have come, and CuTe's tutorial leans on it. */
static bool copied_by_own_warpgroup(const struct visit *v, const struct record *r, unsigned thread)
{
    bool own = r->serial == v->b->serial && engine_kind(r->engine) == COPIES && engine_kind(v->a->engine) == PRODUCTS &&
               thread / (4 * WARP) == v->a->thread / (4 * WARP);
    if (!own || !order_before(v->b, thread, r->serial, r->engine, STAMP(r)))
        return false;
    note_once(
        v->a->pc,
        "A product of a warpgroup reads what cp.async of another of its threads wrote, and no barrier stands between that "
        "thread's wait and the product: hardware lets the four warps meet, the PTX ISA does not promise it.");
    return true;
}

/* Where no order says that it happened before. */
static void meet_unordered(struct visit *v, const struct record *r, unsigned thread, enum strength strength,
                           bool stored)
{
    unsigned actor = record_actor(r, thread);
    if (copied_by_own_warpgroup(v, r, thread))
        return;
    if (r->engine && (v->strength == PLAIN || strength == PLAIN) &&
        async_meets(v->a, r->serial, r->engine, STAMP(r), stored))
        return;
    if (strength != PLAIN && v->strength == PLAIN && follows_own_view(v))
        return;
    if (v->strength != PLAIN && message_seen(v->b, v->a->thread, r->serial, actor, STAMP(r)))
        return;
    bool warp_synchronous = r->serial == v->b->serial && thread / WARP == v->warp && is_volatile(v->strength) &&
                            is_volatile(strength) && v->a->manner != AS_RELAXED;
    if (v->strength != PLAIN && strength != PLAIN && !warp_synchronous) {
        meet_strong(v, r, thread, strength, stored);
        return;
    }
    note_conflict(v, r, thread, strength, stored, NOTHING_ORDERS);
}

static void meet(struct visit *v, const struct record *r, unsigned thread, enum strength strength, bool stored)
{
    if (!order_before(v->b, v->a->thread, r->serial, record_actor(r, thread), STAMP(r)))
        meet_unordered(v, r, thread, strength, stored);
}

/* Is that record of a launch that has ended before the thread does this? */
static bool is_past(const struct visit *v, const struct record *r)
{
    if (r->serial < v->least_serial)
        return true;
    return r->serial < v->b->launch->first_serial && overlap_ordered(v->b, v->a->thread, r->serial);
}

/* Do all threads of the block know of what it says that this one of them, or an engine for it, did? */
static bool is_met(const struct block *b, const struct record *r, unsigned thread)
{
    return r->engine ? order_engine_met(b->engines, r->engine, STAMP(r)) : order_met(b, thread, STAMP(r));
}

/* The same of all threads that have ever been in the block. */
static bool is_below_floor(const struct block *b, const struct record *r)
{
    return r->engine ? order_engine_met(b->engines, r->engine, STAMP(r)) : STAMP(r) <= b->floor;
}

static void report_proxy(struct visit *v, const struct record *r)
{
    struct actor writer = {r->serial, WRITER(r), record_pc(r)};
    struct access a = *v->a;
    a.address = address_of(v);
    report_meeting(
        &a, "missing proxy fence", &writer, "wrote there",
        engine_kind(a.engine) == PRODUCTS
            ? "A product of a warpgroup goes by the async proxy, and sees what others wrote to shared memory only behind a "
              "fence.proxy.async.shared::cta that the writing thread, or one that comes behind it, does before "
              "the product is issued."
        : v->place->space == SPACE_SHARED
            ? "A bulk copy goes by the async proxy, and sees what others wrote to shared memory only behind a "
              "fence.proxy.async.shared::cta that the writing thread, or one that comes behind it, does before "
              "the copy is issued."
            : "A bulk copy goes by the async proxy, and sees what the kernel wrote to global memory only behind "
              "a fence.proxy.async.global that the writing thread, or one that comes behind it, does before "
              "the copy is issued.");
}

/* What a thread wrote by the generic proxy, and the access by the async proxy comes behind. */
static void check_proxy(struct visit *v, const struct record *r)
{
    unsigned writer = record_actor(r, WRITER(r));
    if (engine_proxy(r->engine) == ASYNC_PROXY || !order_before(v->b, v->a->thread, r->serial, writer, STAMP(r)))
        return; /* else they race */
    if (proxy_fenced(v->b, v->a->thread, v->place->space == SPACE_SHARED ? PROXY_SHARED : PROXY_GLOBAL, r->serial,
                     writer, STAMP(r)))
        return;
    if (engine_kind(r->engine) == COPIES && engine_kind(v->a->engine) == PRODUCTS)
        note_once(v->a->pc,
                  "A product of a warpgroup reads what cp.async wrote, with no fence.proxy.async between the wait "
                  "for the copy and the product: CUTLASS does so, and the PTX ISA asks for the fence.");
    else
        report_proxy(v, r);
}

static void meet_write(struct visit *v, const struct record *r)
{
    if (is_past(v, r))
        return;
    unsigned thread = WRITER(r);
    if (v->a->proxy == ASYNC_PROXY)
        check_proxy(v, r);
    if (v->read_only && r->serial >= v->b->launch->first_serial)
        note_conflict(v, r, thread, STRENGTH(r), true, TAKEN_FOR_CONSTANT);
    if (r->serial == v->b->serial && is_met(v->b, r, thread))
        return;
    bool one_warp = r->serial == v->b->serial && thread / WARP == v->warp;
    bool is_own = r->serial == v->b->serial && thread == v->a->thread;
    if (!is_own && r->who & CARELESS && message_lock_was_careless(v->b, v->a->thread, r->serial, thread))
        note_conflict(v, r, thread, STRENGTH(r), true, FENCE_MISSING);
    bool one_instruction = one_warp && !r->engine && !v->a->engine && access_stores(v->a->kind) && TURN(r) == v->turn &&
                           record_pc(r) == v->a->pc;
    v->together |= one_instruction;
    if (!one_instruction)
        meet(v, r, thread, STRENGTH(r), true);
}

static bool is_atomic(const struct record *r) { return record_stores(r) && STRENGTH(r) != COVERED; }

/* The plain loads that the thread has done before it tries: what they guessed is no longer of account. */
static void take_guess(const struct visit *v, struct cell *c, struct record *r)
{
    uint32_t lane = 1u << v->lane, warp = 1u << v->warp;
    struct record others = *r;
    if (r->serial != v->b->serial || r->engine || !(r->who & lane) || !(r->warps & warp) || STRENGTH(r) != PLAIN)
        return;
    note_guess(record_pc(r));
    r->who &= ~lane;
    others.who = lane;
    others.warps &= ~warp;
    if (others.warps)
        spill_add(c, &others, v->least_serial);
}

static void take_guesses(const struct visit *v, struct cell *c, unsigned readers)
{
    struct spill *beside = spill_of(c);
    for (unsigned i = 0; beside && i < beside->n; i++)
        take_guess(v, c, &beside->reads[i]);
    for (unsigned i = 0; i < readers; i++)
        take_guess(v, c, &c->reads[i]);
}

static void meet_reads(struct visit *v, const struct record *r)
{
    bool own = r->serial == v->b->serial;
    if (is_past(v, r))
        return;
    if (own && is_below_floor(v->b, r) && !IS_READ_ONLY(r))
        return;
    if (own && is_atomic(r) && v->strength >= ATOMIC_BLOCK)
        return; /* atomic operations of one block never race with one another */
    if (r->engine && !IS_READ_ONLY(r) && order_before(v->b, v->a->thread, r->serial, r->engine, STAMP(r)))
        return; /* what it did for one of them it did for all */
    for (uint32_t warps = r->warps; warps && !is_settled(v); warps &= warps - 1) {
        unsigned warp = (unsigned)__builtin_ctz(warps);
        if (own && IS_COLLECTIVE(r) && warp == v->warp)
            continue; /* done before any lane of the warp went on */
        for (uint32_t rest = r->who; rest && !is_settled(v); rest &= rest - 1) {
            unsigned thread = warp * WARP + (unsigned)__builtin_ctz(rest);
            if (own && thread == v->a->thread && !r->engine)
                continue;
            if (IS_READ_ONLY(r) && r->serial >= v->b->launch->first_serial)
                note_conflict(v, r, thread, PLAIN, false, TAKEN_FOR_CONSTANT);
            meet(v, r, thread, record_strength(r), record_stores(r));
        }
    }
}

/* ---- which reads a cell keeps ---- */

static bool is_of_several(const struct record *r) { return (r->who & (r->who - 1)) || (r->warps & (r->warps - 1)); }

/* Does whoever races with the first race with the second as well, if that happened after it? */
static bool stands_for(const struct record *later, const struct record *r)
{
    if (IS_READ_ONLY(r) || (IS_COLLECTIVE(later) && !IS_COLLECTIVE(r)))
        return false;
    return STRENGTH(later) == PLAIN ? !record_stores(r) : STRENGTH(later) == STRENGTH(r);
}

/* Of a launch that this one is not ordered behind, or not known to be. */
static bool is_of_other_launch(const struct block *b, const struct record *r)
{
    return r->serial < b->launch->first_serial;
}

/* Is all that this record holds ordered before what any thread does, or of no more account? */
static bool is_over(const struct access *a, uint32_t least_serial, const struct record *r, const struct record *added)
{
    struct block *b = a->block;
    if (r->serial < least_serial || !r->who)
        return true;
    if (STRENGTH(r) == COVERED && STRENGTH(added) != COVERED)
        return false; /* other blocks' atomic operations race with that one alone */
    if (is_of_other_launch(b, r))
        return stands_for(added, r) && overlap_ordered(b, a->thread, r->serial);
    return r->serial == b->serial && is_below_floor(b, r) && !IS_READ_ONLY(r);
}

/* The same, if it takes longer to find out: done before the read that is added, by each thread. */
static bool is_behind(const struct access *a, const struct record *r, const struct record *added)
{
    if (!stands_for(added, r))
        return false;
    if (r->engine)
        return order_before(a->block, a->thread, r->serial, r->engine, STAMP(r));
    for (uint32_t warps = r->warps; warps; warps &= warps - 1)
        for (uint32_t rest = r->who; rest; rest &= rest - 1)
            if (!order_before(a->block, a->thread, r->serial,
                              (unsigned)(__builtin_ctz(warps) * WARP + __builtin_ctz(rest)), STAMP(r)))
                return false;
    return true;
}

/* Without order between blocks, whoever writes races with a reader of this block or with one of another. */
#define EARLY_SPILLS 16384 /* kept all the same, since a launch's first fence may be yet to come */

static bool is_to_be_kept(const struct block *b, const struct cell *c, unsigned readers, unsigned i)
{
    bool orders = b->launch->grid.whole || __atomic_load_n(&b->launch->synchronises, __ATOMIC_RELAXED);
    if (is_atomic(&c->reads[i]))
        return false;
    if (readers > GLOBAL_READERS || orders || spilled() < EARLY_SPILLS)
        return true;
    for (unsigned j = 0; j < readers; j++)
        if (j != i && c->reads[j].serial != b->serial)
            return false;
    return true;
}

/* A cell without a free place: which read makes room? */
static unsigned make_room(const struct access *a, uint32_t least_serial, struct cell *c, unsigned readers,
                          const struct record *added)
{
    struct block *b = a->block;
    for (unsigned i = 0; i < readers; i++)
        for (unsigned j = i + 1; j < readers; j++)
            if (record_join(&c->reads[i], &c->reads[j]))
                return j;
    for (unsigned i = 0; i < readers; i++)
        if (is_behind(a, &c->reads[i], added))
            return i;
    for (unsigned i = 0; i < readers; i++)
        for (unsigned j = i + 1; j < readers; j++)
            if (is_of_other_launch(b, &c->reads[i]) && stands_for(&c->reads[i], &c->reads[j]) &&
                overlap_same_launch(b, c->reads[i].serial, c->reads[j].serial))
                return j;
    unsigned drop = readers - 1;
    while (drop > 0 && is_of_other_launch(b, &c->reads[drop]))
        drop--; /* one stands for all of its launch, and is not kept beside the cell */
    bool other_block = c->reads[drop].serial != b->serial;
    if (other_block && drop > 0 && c->reads[drop - 1].serial == b->serial)
        drop--;
    if (is_to_be_kept(b, c, readers, drop))
        spill_add(c, &c->reads[drop], least_serial);
    return drop;
}

/* The first record is the latest. */
static void add_read(const struct access *a, uint32_t least_serial, struct cell *c, unsigned readers,
                     const struct record *added)
{
    unsigned place = readers;
    for (unsigned i = 0; i < readers; i++) {
        struct record *r = &c->reads[i];
        if (r->serial == added->serial && r->key == added->key && r->engine == added->engine &&
            r->issuer == added->issuer && record_extend(r, added->who, added->warps))
            return;
        if (IS_READ_ONLY(r) && r->serial >= least_serial && is_of_several(r) && !record_stores(added))
            return; /* whoever writes there meets that one */
        if (place == readers && is_over(a, least_serial, r, added))
            place = i;
    }
    if (place == readers)
        place = make_room(a, least_serial, c, readers, added);
    for (; place > 0; place--)
        c->reads[place] = c->reads[place - 1];
    c->reads[0] = *added;
}

/* ---- cells on the way ---- */

/* Has that been written before what this thread does, and need no fence between the two proxies? */
static bool is_known(const struct access *a, const struct record *w)
{
    bool asynchronous = engine_proxy(w->engine) == ASYNC_PROXY;
    if (!asynchronous)
        return a->proxy == GENERIC_PROXY && is_met(a->block, w, WRITER(w));
    return order_before(a->block, a->thread, w->serial, w->engine, STAMP(w));
}

/* A record of what these lanes do, or have done for them. */
static inline struct record record_of(const struct access *a, uint32_t who, u64 key)
{
    return (struct record){
        a->serial, who, key, 1u << a->thread / WARP, (uint16_t)a->engine, (int16_t)(a->block->serial - a->serial)};
}

/* What happens most: a load of a word that nobody has written since the last barrier. Returns whether that is all. */
static bool load_word(const struct access *a, const struct cells *cells, size_t offset, uint32_t least_serial, u64 key)
{
    const struct block *b = a->block;
    struct cell *c = word_cell(cells, offset);
    const struct record *w = &c->write;
    uint32_t lane = 1u << a->thread % WARP, warp = 1u << a->thread / WARP;
    if (w->who & SPLIT)
        return false;
    if (w->serial >= least_serial && (w->serial != b->serial || !is_known(a, w)))
        return false;
    struct record *first = &c->reads[0];
    if (first->serial == a->serial && first->key == key && first->engine == a->engine &&
        record_issuer(first) == b->serial && record_extend(first, lane, warp))
        return true;
    for (unsigned i = 0; i < cells->readers; i++)
        if (c->reads[i].serial >= least_serial && record_stores(&c->reads[i]))
            return false;
    struct record added = record_of(a, lane, key);
    add_read(a, least_serial, c, cells->readers, &added);
    return true;
}

static bool load_words(const struct access *a, const struct cells *cells, size_t offset, uint32_t least_serial, u64 key)
{
    for (size_t at = offset; at < offset + a->bytes; at += 4)
        if (!load_word(a, cells, at, least_serial, key))
            return false;
    return true;
}

static void visit_load(struct visit *v, struct cell *c, unsigned readers)
{
    for (unsigned i = 0; i < readers; i++)
        if (record_stores(&c->reads[i]))
            meet_reads(v, &c->reads[i]);
    struct record added = record_of(v->a, 1u << v->lane, v->key);
    add_read(v->a, v->least_serial, c, readers, &added);
}

/* Of this launch, and in shared memory of this cluster? */
static bool is_of_launch(const struct visit *v, const struct record *r)
{
    return r->serial >= v->least_serial && r->serial >= v->b->launch->first_serial;
}

static struct entry writer_of(const struct record *last)
{
    return (struct entry){last->serial, record_actor(last, WRITER(last)), STAMP(last)};
}

static void note_overwritten(const struct visit *v, const struct record *last)
{
    struct thread *self = &v->b->threads[v->a->thread];
    bool in_launch = is_of_launch(v, last);
    self->overwrote = in_launch ? writer_of(last) : (struct entry){0};
    self->overwrote_strong = in_launch && STRENGTH(last) != PLAIN;
}

/* All but stores that are covered, which an atomic operation leaves. */
static void forget_beside(struct spill *beside, bool atomic)
{
    unsigned n = 0;
    for (unsigned i = 0; atomic && i < beside->n; i++)
        if (record_stores(&beside->reads[i]))
            beside->reads[n++] = beside->reads[i];
    beside->n = n;
}

/* Does no other block come there? */
static bool is_of_one_block(const struct visit *v) { return v->place->space == SPACE_SHARED && v->b->cluster->n == 1; }

/* What a write leaves of the records: nothing, since who races with them races with it; but atomic operations do not
 * race with one another, and so stay, and so does what it races with itself: a store of what was there already may be
 * passed over, and the next one is not. Nor does a strong write stand for a plain one before it, by its own thread perhaps:
 * others' strong accesses race with that one alone. */
static void visit_store(struct visit *v, struct cell *c, unsigned readers)
{
    struct record last = c->write;
    bool atomic = v->strength >= ATOMIC_BLOCK;
    if (v->flags & COMPARES)
        take_guesses(v, c, readers);
    struct spill *beside = spill_of(c);
    for (unsigned i = 0; i < readers; i++) {
        struct record *r = &c->reads[i];
        meet_reads(v, r);
        if (!v->raced && (!atomic || !record_stores(r)))
            r->serial = 0;
    }
    for (unsigned i = 0; beside && i < beside->n && !is_settled(v); i++)
        meet_reads(v, &beside->reads[i]);
    if (beside && !v->raced)
        forget_beside(beside, atomic);
    uint32_t spills = beside && beside->n ? SPILLED : 0;
    if (v->strength != PLAIN && !v->a->engine)
        note_overwritten(v, &last);
    c->write = record_of(v->a, v->lane | (uint32_t)v->turn << 5 | v->flags | spills, v->key);
    if (v->strength == PLAIN || !is_of_launch(v, &last))
        return;
    bool met = is_of_one_block(v) && is_below_floor(v->b, &last);
    bool covered = STRENGTH(&last) == PLAIN && !met;
    bool concurrent = atomic && is_atomic(&last) &&
                      !order_before(v->b, v->a->thread, last.serial, record_actor(&last, WRITER(&last)), STAMP(&last));
    if (!covered && !concurrent)
        return;
    last.who = 1u << LANE(&last);
    if (covered)
        last = record_covered(&last);
    add_read(v->a, v->least_serial, c, readers, &last);
}

static void visit_cell(struct visit *v, struct cell *c, unsigned readers)
{
    v->cell = c;
    meet_write(v, &c->write);
    if (access_stores(v->a->kind))
        visit_store(v, c, readers);
    else
        visit_load(v, c, readers);
}

static void copy_cell(const struct cells *cells, struct cell *to, const struct cell *from)
{
    memcpy(to, from, cells->cell_bytes);
    spill_copy(to, from);
}

static void split(const struct cells *cells, struct cell *word, size_t offset)
{
    for (unsigned i = 0; i < 4; i++)
        copy_cell(cells, part_cell(cells, offset + i), word);
    word->write.who |= SPLIT;
}

static void visit_word(struct visit *v, const struct cells *cells, size_t offset, unsigned n)
{
    struct cell *word = word_cell(cells, offset);
    size_t base = offset & ~(size_t)3;
    if (n != 4 && !(word->write.who & SPLIT))
        split(cells, word, base);
    if (!(word->write.who & SPLIT)) {
        visit_cell(v, word, cells->readers);
        return;
    }
    for (unsigned i = 0; i < n; i++)
        visit_cell(v, part_cell(cells, offset + i), cells->readers);
    if (n == 4 && access_stores(v->a->kind))
        copy_cell(cells, word, part_cell(cells, base));
}

/* ---- judgement ---- */

static pthread_mutex_t doubts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct conflict
    *doubts; /* plain loads that met an atomic operation: right only as the first guess of a loop around atomicCAS */
static unsigned n_doubts, doubts_capacity;

static bool is_first_guess(const struct conflict *c)
{
    return (c->now == ACCESS_LOAD && c->before == ACCESS_ATOMIC) ||
           (c->now == ACCESS_ATOMIC && c->before == ACCESS_LOAD);
}

static void doubt(const struct conflict *c)
{
    pthread_mutex_lock(&doubts_lock);
    if (n_doubts == doubts_capacity) {
        doubts_capacity = doubts_capacity ? 2 * doubts_capacity : 64;
        doubts = realloc(doubts, doubts_capacity * sizeof *doubts);
        if (!doubts)
            perror("simt: no memory to keep order in"), exit(2);
    }
    doubts[n_doubts] = *c;
    __atomic_store_n(&n_doubts, n_doubts + 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&doubts_lock);
}

/* Plain loads that come before a try: of other threads, those that did not try. */
#define MOST_GUESSES 256
static const void *guesses[MOST_GUESSES];
static unsigned n_guesses;

static bool is_guess(const void *pc)
{
    for (unsigned i = 0; i < n_guesses; i++)
        if (guesses[i] == pc || lines_same(guesses[i], pc))
            return true;
    return false;
}

/* With the lock of the doubts held. */
static void remember_guess(const void *pc)
{
    unsigned i = 0;
    while (i < n_guesses && guesses[i] != pc)
        i++;
    if (i == n_guesses && n_guesses < MOST_GUESSES)
        guesses[n_guesses++] = pc;
}

static void note_guess(const void *pc)
{
    pthread_mutex_lock(&doubts_lock);
    remember_guess(pc);
    pthread_mutex_unlock(&doubts_lock);
}

static const void *load_of(const struct conflict *c) { return c->now == ACCESS_LOAD ? c->pc : c->other_pc; }

void race_tries(struct block *b, const void *address, unsigned bytes)
{
    const unsigned char *start = address;
    if (!__atomic_load_n(&n_doubts, __ATOMIC_RELAXED))
        return;
    pthread_mutex_lock(&doubts_lock); /* to the end: others who take theirs move the last into its place */
    for (unsigned i = 0; i < n_doubts;) {
        const struct conflict *c = &doubts[i];
        const unsigned char *at = c->place.object->base + c->place.offset;
        uint32_t serial = c->now == ACCESS_LOAD ? c->actor.serial : c->other.serial;
        unsigned thread = c->now == ACCESS_LOAD ? c->actor.thread : c->other.thread;
        if (serial != b->serial || thread != b->cur || at + c->bytes <= start || start + bytes <= at) {
            i++;
            continue;
        }
        remember_guess(load_of(c));
        doubts[i] = doubts[n_doubts - 1];
        __atomic_store_n(&n_doubts, n_doubts - 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&doubts_lock);
}

void race_end_launch(void)
{
    for (unsigned i = 0; i < n_doubts; i++)
        if (!is_guess(load_of(&doubts[i])))
            report_race(&doubts[i]);
    report_races();
    for (unsigned i = 0; i < n_doubts; i++)
        if (is_guess(load_of(&doubts[i])))
            note_once(load_of(&doubts[i]),
                      "A plain load beside atomic operations decides whether to try one: it may see an older value, "
                      "and only volatile or an atomic load is sure to see a new one.");
    n_doubts = 0;
    n_guesses = 0;
    spills_end_launch();
}

static bool is_storing(const struct worker *w, uint32_t serial, const unsigned char *address)
{
    const unsigned char *first = __atomic_load_n(&w->storing, __ATOMIC_ACQUIRE);
    return first && __atomic_load_n(&w->storing_serial, __ATOMIC_RELAXED) == serial && first <= address &&
           address < first + __atomic_load_n(&w->storing_bytes, __ATOMIC_RELAXED);
}

/* The other thread may be about to do its store, on another worker: what it stores must be there to be compared with.
 */
static void let_other_store(const struct conflict *c)
{
    const unsigned char *address = c->place.object->base + c->place.offset;
    for (unsigned i = 0; i < simt_n_workers; i++) {
        const struct worker *w = &simt_workers[i];
        if (w == simt_worker)
            continue;
        for (unsigned spin = 0; spin < 1u << 15 && is_storing(w, c->other.serial, address); spin++)
            if (spin >= 1u << 10)
                sched_yield();
    }
}

static const unsigned char *stored_at(const struct conflict *c) { return c->place.object->base + c->place.offset; }

static struct suspicion *add_suspicion(struct suspicions *s)
{
    if (s->n == s->room) {
        s->room = s->room ? 2 * s->room : 4;
        s->of = realloc(s->of, s->room * sizeof *s->of);
        if (!s->of)
            base_out_of_memory();
    }
    return &s->of[s->n++];
}

/* A plain store is judged when it has been done: one that changes nothing, as when all set a flag, harms nobody. Those of a move of
 * many bytes are judged together, piece by piece. */
static void suspect(struct block *b, const struct conflict *c)
{
    struct suspicion *s = add_suspicion(b->suspicions);
    let_other_store(c);
    s->conflict = *c;
    const volatile unsigned char *bytes = stored_at(c);
    for (unsigned i = 0; i < c->bytes && i < sizeof s->before; i++)
        s->before[i] = bytes[i];
    b->worker->unsettled = true;
}

static void judge(const struct suspicion *s, const unsigned char *stored)
{
    size_t n = s->conflict.bytes < sizeof s->before ? s->conflict.bytes : sizeof s->before;
    if (memcmp(s->before, stored, n))
        report_race(&s->conflict);
}

void race_judge_copy(struct block *b, const unsigned char *to, const unsigned char *stores)
{
    struct suspicions *all = b->suspicions;
    for (unsigned i = 0; i < all->n; i++)
        judge(&all->of[i], stores + (stored_at(&all->of[i].conflict) - to));
    all->n = 0;
}

void race_judge_done(const struct block *b)
{
    const struct suspicions *all = b->suspicions;
    for (unsigned i = 0; i < all->n; i++)
        judge(&all->of[i], stored_at(&all->of[i].conflict));
}

void race_judge(struct block *b)
{
    race_judge_done(b);
    b->suspicions->n = 0;
}

static void visit_words(struct visit *v, const struct cells *cells, size_t offset)
{
    for (size_t at = offset, end = at + v->a->bytes; at < end;) {
        size_t stop = (at & ~(size_t)3) + 4 < end ? (at & ~(size_t)3) + 4 : end;
        visit_word(v, cells, at, (unsigned)(stop - at));
        at = stop;
    }
}

static void prepare_store(struct visit *v)
{
    uint8_t *turn = &v->b->threads[v->a->thread].turns[(uintptr_t)v->a->pc / 4 % 16];
    enum lock_fence fence = v->strength >= ATOMIC_BLOCK ? NO_LOCK : message_lock(v->b, v->a->thread);
    v->turn = *turn;
    (*turn)++;
    if (v->a->kind == ACCESS_ATOMIC && v->a->compares)
        v->flags = COMPARES;
    if (fence == NO_LOCK || fence == DEVICE_FENCE)
        return;
    v->flags |= CARELESS;
    message_note_careless(v->b, v->a->thread);
}

/* The records that hold this place, and where in them. NULL: it is not watched. */
static const struct cells *cells_of(const struct block *b, const struct place *place, size_t *offset)
{
    bool shared = place->space == SPACE_SHARED;
    *offset = shared ? shared_offset(b, place->object->base) + place->offset : place->offset;
    return shared ? shared_owner(b, place->object->base)->cells : place->object->cells;
}

static bool is_fresh(const struct cell *c) { return !c->write.serial && !c->reads[0].serial; }

void race_expect(struct block *b, const void *address, unsigned bytes)
{
    struct place place = place_of(b, address, bytes);
    size_t offset;
    if (!place.object || (place.space != SPACE_SHARED && !place.object->cells))
        return;
    const struct cells *cells = cells_of(b, &place, &offset);
    if (offset + bytes > cells->bytes)
        return;
    const unsigned char *first = (unsigned char *)word_cell(cells, offset);
    const unsigned char *last = (unsigned char *)word_cell(cells, offset + bytes - 1);
    if (is_fresh((const struct cell *)first) && is_fresh((const struct cell *)last))
        base_populate((void *)(uintptr_t)first, (size_t)(last - first) + cells->cell_bytes);
}

static void visit(const struct access *a, const struct place *place, bool read_only)
{
    struct block *b = a->block;
    bool shared = place->space == SPACE_SHARED;
    size_t offset;
    const struct cells *cells = cells_of(b, place, &offset);
    uint32_t least_serial = shared ? cluster_serial(b) : b->launch->least_serial;
    enum strength strength = strength_of(a->kind, a->scope);
    u64 key = record_key(a->stamp, access_collective_load(a->kind), strength, read_only, a->pc);
    if (!a->engine)
        b->threads[a->thread].touched = a->stamp;
    bool *lock = race_lock(b, place);
    bool loads_words = !access_stores(a->kind) && strength == PLAIN && a->bytes % 4 == 0 && !read_only;
    if (loads_words && load_words(a, cells, offset, least_serial, key)) {
        race_unlock(lock);
        return;
    }
    struct visit v;
    v.a = a;
    v.b = b;
    v.place = place;
    v.least_serial = least_serial;
    v.warp = a->thread / WARP;
    v.lane = a->thread % WARP;
    v.strength = strength;
    v.key = key;
    v.read_only = read_only;
    v.together = false;
    v.raced = false;
    v.turn = 0;
    v.flags = 0;
    if (access_stores(a->kind) && !a->engine)
        prepare_store(&v);
    if (strength != PLAIN && !a->engine && is_of_workers(b, place)) {
        bool stores = a->kind == ACCESS_VOLATILE_STORE; /* atomic operations are done in turn */
        __atomic_store_n(&b->worker->touches_to_store, stores, __ATOMIC_RELAXED);
        __atomic_store_n(&b->worker->touching, address_of(&v), __ATOMIC_RELEASE);
        b->worker->unsettled = true;
    }
    visit_words(&v, cells, offset);
    struct conflict c;
    if (v.raced)
        c = conflict_of(&v);
    bool doubtful = v.raced && is_first_guess(&c);
    if (doubtful)
        doubt(&c); /* still under the lock: the reader's own atomicCAS, which clears it, will have to take it too */
    race_unlock(lock);
    if (v.together)
        report_stored_together(a->pc);
    if (!v.raced || doubtful)
        return;
    bool in_launch = c.other.serial >= b->launch->first_serial;
    if (access_stores(a->kind) && a->kind != ACCESS_ATOMIC && in_launch)
        suspect(b, &c);
    else
        report_race(&c);
}

void race_access(const struct access *a, const struct place *place) { visit(a, place, false); }

void race_read_only(const struct access *a, const struct place *place) { visit(a, place, true); }

/* ---- older values ---- */

bool race_other_stores(const struct block *b, const void *address)
{
    for (unsigned i = 0; b->launch->many_workers && i < simt_n_workers; i++) {
        const struct worker *w = &simt_workers[i];
        if (w != b->worker && is_beside(__atomic_load_n(&w->touching, __ATOMIC_ACQUIRE), address) &&
            __atomic_load_n(&w->touches_to_store, __ATOMIC_RELAXED))
            return true;
    }
    return false;
}

/* Those that were at the word before it was lent go on soon. */
static bool others_have_gone_on(const struct block *b, const void *address)
{
    for (unsigned i = 0; i < simt_n_workers; i++) {
        const struct worker *w = &simt_workers[i];
        unsigned patience = 1u << 15;
        if (w == b->worker)
            continue;
        while (is_beside(__atomic_load_n(&w->touching, __ATOMIC_ACQUIRE), address)) {
            if (!patience--)
                return false;
            sched_yield();
        }
    }
    return true;
}

/* Who has written to that word last, if no other block's plain load, which may come again, has read it since. */
static bool may_lend(const struct block *b, const struct place *place, const struct cells *cells, size_t offset,
                     struct entry *writer)
{
    const struct cell *c = word_cell(cells, offset);
    *writer = writer_of(&c->write);
    for (unsigned i = 0; is_of_workers(b, place) && i < cells->readers; i++) {
        const struct record *r = &c->reads[i];
        if (r->serial >= b->launch->first_serial && r->serial != b->serial && STRENGTH(r) == PLAIN)
            return false;
    }
    return !(c->write.who & SPLIT);
}

static u64 held_by(const void *address, unsigned bytes)
{
    return bytes == 4 ? __atomic_load_n((const uint32_t *)address, __ATOMIC_RELAXED)
                      : __atomic_load_n((const u64 *)address, __ATOMIC_RELAXED);
}

static void hold(void *address, unsigned bytes, u64 value)
{
    if (bytes == 4)
        __atomic_store_n((uint32_t *)address, (uint32_t)value, __ATOMIC_RELAXED);
    else
        __atomic_store_n((u64 *)address, value, __ATOMIC_RELAXED);
}

bool race_begin_lending(struct block *b, const void *address, unsigned bytes, struct entry writers[2])
{
    struct worker *w = b->worker;
    struct place place = place_of(b, address, bytes);
    size_t offset;
    if (!place.object || place.object->unified || (place.space == SPACE_GLOBAL && !place.object->cells))
        return false;
    const struct cells *cells = cells_of(b, &place, &offset);
    bool *lock = race_lock(b, &place);
    bool may = may_lend(b, &place, cells, offset, &writers[0]) &&
               may_lend(b, &place, cells, offset + bytes - 4, &writers[1]);
    if (may) {
        __atomic_store_n(&w->touching, NULL, __ATOMIC_RELEASE);
        __atomic_fetch_add(&b->launch->n_lent, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&w->lent, (void *)(uintptr_t)address, __ATOMIC_RELEASE);
        w->unsettled = true;
    }
    race_unlock(lock);
    w->lent_bytes = 0;
    if (may && lock && !others_have_gone_on(b, address)) {
        race_take_back(w);
        return false;
    }
    return may;
}

void race_lend(struct block *b, unsigned bytes, u64 value)
{
    struct worker *w = b->worker;
    w->lent_bytes = bytes;
    w->lent_value = held_by(w->lent, bytes);
    hold(w->lent, bytes, value);
}

void race_take_back(struct worker *w)
{
    if (w->lent_bytes)
        hold(w->lent, w->lent_bytes, w->lent_value);
    else if (w->block->launch->many_workers) /* nothing came of it, and its thread is about to read what is there */
        __atomic_store_n(&w->touching, w->lent, __ATOMIC_RELEASE);
    __atomic_store_n(&w->lent, NULL, __ATOMIC_RELEASE);
    __atomic_fetch_sub(&w->block->launch->n_lent, 1, __ATOMIC_RELAXED);
}

/* The record of the last write there; NULL: nobody is remembered. */
static const struct record *last_write(const struct block *b, const struct place *place)
{
    bool shared = place->space == SPACE_SHARED;
    size_t offset;
    const struct cells *cells = cells_of(b, place, &offset);
    if (!cells)
        return NULL;
    const struct cell *c = word_cell(cells, offset);
    if (c->write.who & SPLIT)
        c = part_cell(cells, offset);
    return c->write.serial < (shared ? cluster_serial(b) : b->launch->first_serial) ? NULL : &c->write;
}

bool race_last_writer(const struct block *b, const struct place *place, struct actor *writer)
{
    const struct record *r = last_write(b, place);
    if (r)
        *writer = (struct actor){record_issuer(r), WRITER(r), record_pc(r)};
    return r;
}

uint32_t race_last_stamp(const struct block *b, const struct place *place)
{
    const struct record *r = last_write(b, place);
    return r ? STAMP(r) : 0;
}

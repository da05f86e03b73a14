/* Transfers: their issue, how they read and write, and the groups of bulk copies (PTX ISA, "Data Movement and Conversion
 * Instructions: Asynchronous copy").
 *
 * A transfer is done when a wait covers it, and not before: only then are the bytes moved, from the sources as they are then.
 * Under checks what it is to write may not be touched meanwhile, nor may what it reads from shared memory be written, and what
 * other sources held is kept to be compared with. For order both are touched once, at the issue, by the engine: what others did
 * before must be ordered before the issue, what they do afterwards behind a wait that covers it. */
#include "async/flight.h"
#include "async/mbarrier.h"
#include "async/wgmma.h"
#include "base/lines.h"
#include "base/report.h"
#include "block/async.h"
#include "block/launch.h"
#include "block/worker.h"
#include "count/counters.h"
#include "memory/place.h"
#include "memory/shared.h"
#include "order/access.h"
#include "order/atomic.h"
#include <stdlib.h>
#include <string.h>

/* ---- who does what ---- */

/* Bulk copies in groups read by one engine and write by another: a wait may be for the former alone. */
static unsigned reader_of(const struct engine *e) { return engine_of(BULK_READS, e->actor % MAX_THREADS); }

/* So do transfers by different proxies, which one mbarrier counts. */
static unsigned actor_of(const struct engine *e, const struct flying *f, bool stores)
{
    if (e->completed_by == BY_BULK_GROUP && !stores)
        return reader_of(e);
    return e->completed_by == BY_MBARRIER && f->generic ? engine_of(SENT, e->actor % MAX_THREADS) : e->actor;
}

struct access transfer_access(const struct engine *e, const struct flying *f, const void *address, unsigned bytes,
                              enum access_kind kind)
{
    struct access a = access_of(f->block, f->pc, address, bytes, kind);
    a.thread = f->thread;
    a.serial = e->block->serial;
    a.engine = actor_of(e, f, access_stores(kind));
    a.stamp = f->stamp;
    a.scope = SIMT_SCOPE_DEVICE; /* of a reduction */
    a.proxy = f->generic ? GENERIC_PROXY : ASYNC_PROXY;
    return a;
}

/* ---- contents ---- */

static void *allocate(u64 bytes)
{
    void *p = malloc(bytes);
    if (!p)
        base_out_of_memory();
    return p;
}

/* In memory, the pattern begins at multiples of 8. */
static void fill(unsigned char *out, const struct piece *p, u64 pattern)
{
    for (unsigned i = 0; i < p->bytes; i++)
        out[i] = (unsigned char)(pattern >> ((uintptr_t)(p->to + i) % 8 * 8));
}

static void hold_contents(struct flying *f)
{
    if (f->bytes > FEW_BYTES && !f->many_held)
        f->many_held = allocate(f->bytes);
    unsigned char *held = flying_held(f);
    for (unsigned i = 0; i < f->n_pieces; i++) {
        const struct piece *p = &flying_pieces(f)[i];
        if (p->from)
            memcpy(held, p->from, p->bytes);
        else
            fill(held, p, f->fill);
        held += p->bytes;
    }
}

/* ---- issue ---- */

enum copied { ELSEWHERE, THE_SAME, SOMETHING_ELSE };

static enum copied copied_there(const struct flying *f, const struct flying *mine)
{
    const struct piece *p = flying_pieces(mine), *q = flying_pieces(f);
    if (f == mine || q->to >= p->to + mine->bytes || p->to >= q->to + f->bytes)
        return ELSEWHERE;
    bool same = q->to == p->to && f->bytes == mine->bytes && f->generic && !f->as.reduces &&
                !memcmp(flying_held(f), flying_held(mine), mine->bytes);
    return same ? THE_SAME : SOMETHING_ELSE;
}

/* Lanes may copy one thing to one place, as clamped indices do: which of them comes last makes no difference. A thread's own
 * copies, which may be all that go there, are looked at first. */
static bool others_copy_the_same(const struct engine *e, struct flying *mine)
{
    const struct piece *p = flying_pieces(mine);
    struct block *b = e->block;
    unsigned n = 0;
    if (!mine->generic || mine->as.reduces || !guard_forbids(b, p->to, mine->bytes, false))
        return false;
    for (unsigned i = 0; i < e->n; i++) {
        enum copied copied = copied_there(&e->flying[e->first + i], mine);
        if (copied == SOMETHING_ELSE)
            return false;
        n += copied == THE_SAME;
    }
    if (guard_closed_by(b, p->to, mine->bytes, n))
        return n;
    for (struct flight_search s = {0}; flight_next(b, &s);) {
        enum copied copied = copied_there(s.flying, mine);
        if (copied == SOMETHING_ELSE)
            return false;
        n += copied == THE_SAME;
    }
    return n;
}

static bool are_equal(struct flying *f, struct flying *g)
{
    if (f->n_pieces != g->n_pieces || f->bytes != g->bytes)
        return false;
    for (unsigned i = 0; i < f->n_pieces; i++)
        if (flying_pieces(f)[i].to != flying_pieces(g)[i].to || flying_pieces(f)[i].bytes != flying_pieces(g)[i].bytes)
            return false;
    return !memcmp(flying_held(f), flying_held(g), f->bytes);
}

/* All lanes of a warp may issue one bulk store, as CUTLASS's epilogues do. */
static bool another_lane_stores_the_same(struct block *b, const struct engine *e, struct flying *mine)
{
    unsigned first = mine->thread / WARP * WARP;
    if (e->completed_by != BY_BULK_GROUP || mine->as.reduces)
        return false;
    for (unsigned t = first; t < first + WARP && t < b->launch->threads; t++) {
        const struct engine *other = &b->flight->bulk[t];
        for (unsigned i = 0; i < other->n && t != mine->thread; i++) {
            struct flying *f = &other->flying[other->first + i];
            if (f->pc == mine->pc && are_equal(f, mine))
                return true;
        }
    }
    return false;
}

static void touch_sources(const struct engine *e, const struct flying *f)
{
    for (unsigned i = 0; i < f->n_pieces; i++) {
        const struct piece *p = &flying_pieces(f)[i];
        struct access a = transfer_access(e, f, p->from, p->bytes, ACCESS_LOAD);
        if (p->from)
            access_touch(&a);
    }
}

static void touch_targets(struct block *b, const struct engine *e, struct flying *f)
{
    const unsigned char *stores = flying_held(f);
    for (unsigned i = 0; i < f->n_pieces; i++) {
        const struct piece *p = &flying_pieces(f)[i];
        struct access a = transfer_access(e, f, p->to, p->bytes, f->as.reduces ? ACCESS_ATOMIC : ACCESS_STORE);
        access_touch(&a);
        race_judge_copy(b, p->to, stores);
        stores += p->bytes;
    }
}

static void guard(struct block *b, const struct flying *f)
{
    for (unsigned i = 0; i < f->n_pieces; i++) {
        const struct piece *p = &flying_pieces(f)[i];
        guard_close(b, p->to, p->bytes);
        guard_hold(b, p->from, p->from ? p->bytes : 0);
    }
}

#define LARGE 1024 /* bytes */

/* The records of a large transfer come into memory together, if its sources, or targets, lie together. */
static void expect_words(struct block *b, const struct flying *f, bool targets)
{
    const struct piece *pieces = flying_pieces(f);
    const unsigned char *low = NULL, *high = NULL;
    for (unsigned i = 0; f->bytes >= LARGE && i < f->n_pieces; i++) {
        const unsigned char *at = targets ? pieces[i].to : pieces[i].from;
        if (!at)
            continue;
        low = low && low < at ? low : at;
        high = high && high > at + pieces[i].bytes ? high : at + pieces[i].bytes;
    }
    if (low && (size_t)(high - low) <= f->bytes)
        race_expect(b, low, (unsigned)(high - low));
}

static void announce(struct block *b, const struct engine *e, struct flying *f)
{
    expect_words(b, f, false);
    expect_words(b, f, true);
    touch_sources(e, f);
    if (!f->read)
        hold_contents(f);
    if (!others_copy_the_same(e, f) && !another_lane_stores_the_same(b, e, f))
        touch_targets(b, e, f);
    guard(b, f);
}

struct flying *transfer_begin(struct engine *e, const struct transfer *t, long further)
{
    struct block *b = running();
    struct flying *f = engine_add(e);
    uint32_t *stamp = e->completed_by == BY_MBARRIER ? &e->block->flight->counted_stamp : &e->issued;
    (*stamp)++;
    e->issued = *stamp;
    f->call = t->call;
    f->pc = t->pc;
    f->block = b;
    f->thread = b->cur;
    f->stamp = e->issued;
    f->issued = b->now;
    f->group = e->committed;
    f->generic = t->generic;
    f->sent = t->value;
    f->read = f->sent;
    f->rounds = t->rounds;
    f->as = (struct reducing){t->reduces, t->op, t->type};
    f->fill = t->fill;
    f->bytes = 0;
    f->source_bytes = 0;
    f->n_pieces = t->n_pieces;
    f->many = t->n_pieces > FEW_PIECES ? allocate(t->n_pieces * sizeof *f->many) : NULL;
    f->many_held = NULL;
    struct piece *pieces = f->many ? f->many : f->few;
    for (unsigned i = 0; i < t->n_pieces; i++) {
        pieces[i] = t->pieces[i];
        pieces[i].to += further;
        f->bytes += t->pieces[i].bytes;
        f->source_bytes += t->pieces[i].from ? t->pieces[i].bytes : 0;
    }
    if (t->value)
        memcpy(flying_held(f), t->value, f->bytes);
    if (simt_checked)
        announce(b, e, f);
    return f;
}

/* A prefetch touches nothing that a program could see, and a GPU makes no fault of one that misses memory. What writes, writes
 * in each piece. */
bool transfer_writes_nothing(const struct transfer *t) { return !t->n_pieces || !t->pieces[0].to; }

void transfer_issue(const struct transfer *t)
{
    struct block *b = running();
    if (t->completed_by == BY_MBARRIER) {
        mbarrier_issue(t);
        return;
    }
    counters_transfer(b, t, (struct event_of){ALL_GROUPS, 0});
    if (!transfer_writes_nothing(t))
        transfer_begin(&flight_of(b)->bulk[b->cur], t, 0);
}

/* ---- reading and writing ---- */

static void check_sources(const struct engine *e, struct flying *f, const void *waited_at)
{
    struct block *b = f->block;
    const unsigned char *held = flying_held(f);
    for (unsigned i = 0; i < f->n_pieces; i++) {
        const struct piece *p = &flying_pieces(f)[i];
        unsigned at = 0;
        while (p->from && at < p->bytes && p->from[at] == held[at])
            at++;
        held += p->bytes;
        if (!p->from || at == p->bytes)
            continue;
        char why[800];
        struct access a = transfer_access(e, f, p->from, p->bytes, ACCESS_LOAD);
        struct place place = place_of(b, p->from + at, 1);
        struct source_line l = lines_of(waited_at);
        struct actor writer;
        if (!race_last_writer(b, &place, &writer))
            writer = (struct actor){b->serial, f->thread, waited_at};
        snprintf(why, sizeof why, "The copy lands at the wait at %s:%d: until then its source must stay as it is.",
                 l.file, l.line);
        report_meeting(&a, "source overwritten in flight", &writer, "wrote there", why);
    }
}

void transfer_read(struct engine *e, struct flying *f, const void *waited_at)
{
    if (f->read)
        return;
    if (simt_checked)
        check_sources(e, f, waited_at);
    else
        hold_contents(f);
    for (unsigned i = 0; simt_checked && i < f->n_pieces; i++) {
        const struct piece *p = &flying_pieces(f)[i];
        guard_free(e->block, p->from, p->from ? p->bytes : 0);
    }
    f->read = true;
}

/* To the nearest number of 10 bits, and of two the even one; NaN is one. */
static uint32_t rounded_to_tf32(uint32_t bits)
{
    return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fffe000 : (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
}

static void round_words(unsigned char *words, unsigned bytes)
{
    for (unsigned at = 0; at < bytes; at += 4) {
        uint32_t word;
        memcpy(&word, words + at, sizeof word);
        word = rounded_to_tf32(word);
        memcpy(words + at, &word, sizeof word);
    }
}

/* Other workers may be at the same words. */
static void reduce(struct block *b, const struct flying *f, const struct piece *p, const unsigned char *values)
{
    unsigned each = atomic_bytes(f->as.type);
    for (unsigned at = 0; at < p->bytes; at += each) {
        u128 value = 0;
        struct place place = place_of(b, p->to + at, each);
        bool *lock = simt_checked && place.object ? race_lock(b, &place) : NULL;
        memcpy(&value, values + at, each);
        atomic_of_host(&(struct atomic){f->as.op, f->as.type, SIMT_SCOPE_DEVICE}, p->to + at, value, 0);
        race_unlock(lock);
    }
}

void transfer_land_oldest(struct engine *e, const void *waited_at)
{
    struct block *b = e->block;
    struct flying *f = engine_oldest(e);
    const unsigned char *held = flying_held(f);
    bool moves = !simt_checked && !f->read && !f->as.reduces; /* at once: nothing need be held */
    if (!moves) {
        transfer_read(e, f, waited_at);
        held = flying_held(f);
    }
    for (unsigned i = 0; i < f->n_pieces; i++) {
        const struct piece *p = &flying_pieces(f)[i];
        if (simt_checked)
            guard_open(b, p->to, p->bytes);
        if (f->as.reduces)
            reduce(b, f, p, held);
        else if (moves && p->from)
            memcpy(p->to, p->from, p->bytes);
        else if (moves)
            fill(p->to, p, f->fill);
        else
            memcpy(p->to, held, p->bytes);
        if (f->rounds && p->from)
            round_words(p->to, p->bytes);
        held += p->bytes;
    }
    e->landed = f->stamp;
    engine_remove_oldest(e);
}

/* ---- groups of bulk copies ---- */

#define MOST_READ 64 /* of a thread, that have been read and not written: beyond, the oldest land */

void transfer_commit(void)
{
    struct block *b = running();
    flight_of(b)->bulk[b->cur].committed++;
}

/* The stamp of the last that has been read. */
static uint32_t read_groups(struct engine *e, u64 groups, const void *pc)
{
    uint32_t stamp = e->landed;
    unsigned n = 0;
    for (; n < e->n && e->flying[e->first + n].group < groups; n++) {
        struct flying *f = &e->flying[e->first + n];
        transfer_read(e, f, pc);
        stamp = f->stamp;
    }
    for (; n > MOST_READ; n--)
        transfer_land_oldest(e, pc);
    return stamp;
}

static void land_groups(struct engine *e, u64 groups, const void *pc)
{
    while (e->n && engine_oldest(e)->group < groups)
        transfer_land_oldest(e, pc);
}

void transfer_wait(unsigned groups_left, bool read, const void *pc)
{
    struct block *b = running();
    struct engine *e = &flight_of(b)->bulk[b->cur];
    u64 groups = e->committed > groups_left ? e->committed - groups_left : 0;
    uint32_t stamp;
    if (read) {
        stamp = read_groups(e, groups, pc);
    } else {
        land_groups(e, groups, pc);
        stamp = e->landed;
        if (simt_checked)
            order_learn(b, b->cur, e->actor, stamp);
    }
    if (simt_checked)
        order_learn(b, b->cur, reader_of(e), stamp);
    engine_waited(e, groups_left, pc);
}

/* ---- ends ---- */

/* Of the shared memory of that block. */
static bool reads_shared(const struct block *b, const struct flying *f)
{
    for (unsigned i = 0; !f->read && i < f->n_pieces; i++)
        if (shared_owner(b, flying_pieces(f)[i].from) == b)
            return true;
    return false;
}

static bool writes_shared(const struct block *b, const struct flying *f)
{
    for (unsigned i = 0; i < f->n_pieces; i++)
        if (shared_owner(b, flying_pieces(f)[i].to) == b)
            return true;
    return false;
}

/* Of an engine's transfers, the first of which that holds. */
static void report_unfinished(const struct block *b, const struct engine *e,
                              bool (*holds)(const struct block *b, const struct flying *f), const char *did,
                              const char *why)
{
    for (unsigned i = 0; simt_checked && i < e->n; i++) {
        const struct flying *f = &e->flying[e->first + i];
        if (holds(b, f))
            report_call_of(f->block, f->thread, "transfer unfinished", f->pc, did, why);
    }
}

u64 async_counted_bytes(const struct block *b)
{
    u64 bytes = 0;
    for (const struct engine *e = b->flight ? b->flight->counted : NULL; e; e = e->next)
        for (unsigned i = 0; i < e->n; i++)
            bytes += e->flying[e->first + i].bytes;
    return bytes;
}

void transfer_thread_left(struct block *b)
{
    wgmma_thread_left(b);
    if (b->flight)
        report_unfinished(
            b, &b->flight->bulk[b->cur], reads_shared,
            "begins to copy from shared memory, and ends before that has been read",
            "Shared memory is given up at the end: who issued the copy must commit it to a group and wait for that, "
            "by cp.async.bulk.wait_group.read at least.");
}

/* Of those that mbarriers of a block count, which may be the one that leaves. */
static void report_counted(const struct block *leaves, const struct block *b)
{
    for (const struct engine *e = b->flight ? b->flight->counted : NULL; e; e = e->next) {
        report_unfinished(
            leaves, e, reads_shared,
            "begins to copy from shared memory, and the block whose it is ends before that has been read",
            "Shared memory is given up at the end: somebody must wait for the mbarrier that counts the copy.");
        report_unfinished(
            leaves, e, writes_shared,
            "begins to copy to shared memory, and the block whose it is ends before that is there",
            "On a GPU the bytes come all the same, into what may be another block's shared memory by then: somebody must wait for the "
            "mbarrier that counts the copy.");
    }
}

void transfer_block_left(struct block *b)
{
    struct flight *f = b->flight;
    for (unsigned rank = 0; rank < b->cluster->n; rank++)
        report_counted(b, b->cluster->blocks[rank]);
    for (unsigned t = 0; f && t < b->launch->threads; t++)
        while (f->bulk[t].n)
            transfer_land_oldest(&f->bulk[t], engine_oldest(&f->bulk[t])->pc);
}

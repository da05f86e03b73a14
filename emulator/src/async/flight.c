/* What is in flight, and which words of shared memory nobody may touch or write meanwhile: how many forbid it is counted,
 * since several transfers may read one word, or write parts of it. */
#include "async/flight.h"
#include "async/mbarrier.h"
#include "async/wgmma.h"
#include "base/lines.h"
#include "base/report.h"
#include "block/async.h"
#include "block/launch.h"
#include "memory/shared.h"
#include "order/access.h"
#include <stdlib.h>
#include <string.h>

struct flight *flight_of(struct block *b)
{
    struct flight *f = b->flight;
    if (f)
        return f;
    f = base_reserve(sizeof *f);
    for (unsigned t = 0; t < MAX_THREADS; t++) {
        f->copies[t].engine = (struct engine){.actor = engine_of(COPIES, t), .block = b, .completed_by = BY_GROUP};
        f->bulk[t] = (struct engine){.actor = engine_of(BULK_WRITES, t), .block = b, .completed_by = BY_BULK_GROUP};
    }
    for (unsigned i = 0; i < MAX_WARPS / WARPGROUP; i++)
        f->products[i] = (struct engine){.actor = engine_of(PRODUCTS, i), .block = b, .completed_by = BY_WARP_GROUP};
    b->flight = f;
    return f;
}

/* ---- engines ---- */

static void forget(struct flying *f)
{
    if (!f->many && !f->many_held)
        return; /* most, which move a few bytes */
    free(f->many);
    free(f->many_held);
}

void engine_clear(struct engine *e)
{
    for (unsigned i = 0; i < e->n; i++)
        forget(&e->flying[e->first + i]);
    *e = (struct engine){
        .actor = e->actor, .block = e->block, .completed_by = e->completed_by, .flying = e->flying, .room = e->room};
}

void engine_free(struct engine *e)
{
    engine_clear(e);
    free(e->flying);
}

struct flying *engine_add(struct engine *e)
{
    if (e->first + e->n == e->room && e->first) {
        memmove(e->flying, e->flying + e->first, e->n * sizeof *e->flying);
        e->first = 0;
    } else if (e->n == e->room) {
        e->room = e->room ? 2 * e->room : 8;
        e->flying = realloc(e->flying, e->room * sizeof *e->flying);
        if (!e->flying)
            base_out_of_memory();
    }
    e->n++;
    return &e->flying[e->first + e->n - 1];
}

void engine_remove_oldest(struct engine *e)
{
    forget(engine_oldest(e));
    e->n--;
    e->first = e->n ? e->first + 1 : 0;
}

void flight_begin_block(struct block *b)
{
    struct flight *f = b->flight;
    if (!f)
        return;
    for (unsigned t = 0; t < b->launch->threads; t++) {
        engine_clear(&f->copies[t].engine);
        f->copies[t].bytes = 0;
        f->copies[t].attached = 0;
        engine_clear(&f->bulk[t]);
    }
    wgmma_begin_block(b);
    if (b->n_guarded)
        memset(&f->guards, 0, sizeof f->guards);
    b->n_guarded = 0;
    f->counted_stamp = 0;
}

/* ---- guarded words ---- */

static size_t word_of(const struct block *b, const void *address) { return shared_offset(b, address) / WORD; }

enum guard { CLOSED, HELD };

/* Whose shared memory it is has the guards. Memory of other spaces is not guarded. */
static void change(struct block *b, enum guard guard, const void *address, u64 bytes, int by)
{
    struct block *owner = shared_owner(b, address);
    if (!bytes || !owner)
        return;
    struct guards *g = &flight_of(owner)->guards;
    uint16_t *counts = guard == CLOSED ? g->closed : g->held;
    size_t last = word_of(b, (const unsigned char *)address + bytes - 1);
    for (size_t word = word_of(b, address); word <= last; word++)
        counts[word] = (uint16_t)(counts[word] + by);
    owner->n_guarded += (unsigned)by * (unsigned)(last - word_of(b, address) + 1);
}

void guard_close(struct block *b, const void *address, u64 bytes) { change(b, CLOSED, address, bytes, 1); }
void guard_open(struct block *b, const void *address, u64 bytes) { change(b, CLOSED, address, bytes, -1); }
void guard_hold(struct block *b, const void *address, u64 bytes) { change(b, HELD, address, bytes, 1); }
void guard_free(struct block *b, const void *address, u64 bytes) { change(b, HELD, address, bytes, -1); }

bool guard_forbids(const struct block *b, const void *address, unsigned bytes, bool store)
{
    const struct block *owner = shared_owner(b, address);
    if (!owner || !owner->n_guarded)
        return false;
    const struct guards *g = &owner->flight->guards;
    size_t last = word_of(b, (const unsigned char *)address + bytes - 1);
    for (size_t word = word_of(b, address); word <= last; word++)
        if (g->closed[word] || (store && g->held[word]))
            return true;
    return false;
}

bool guard_closed_by(const struct block *b, const void *address, unsigned bytes, unsigned n)
{
    const struct block *owner = shared_owner(b, address);
    size_t first = word_of(b, address), last = word_of(b, (const unsigned char *)address + bytes - 1);
    bool all = owner && owner->flight;
    for (size_t word = first; word <= last && all; word++)
        all = owner->flight->guards.closed[word] == n;
    return all;
}

/* ---- which transfer it is ---- */

static struct engine *next_engine(struct block *b, unsigned *i, struct engine *e)
{
    struct flight *f = b->flight;
    unsigned n = b->launch->threads, at = *i, warpgroups = MAX_WARPS / WARPGROUP;
    (*i)++;
    if (at < 2 * n)
        return at < n ? &f->copies[at].engine : &f->bulk[at - n];
    at -= 2 * n;
    if (at < warpgroups)
        return &f->products[at];
    return at == warpgroups ? f->counted : e->next;
}

bool flight_next(struct block *b, struct flight_search *s)
{
    if (!b->flight)
        return false;
    if (s->flying && s->flying + 1 < s->engine->flying + s->engine->first + s->engine->n) {
        s->flying++;
        return true;
    }
    do
        s->engine = next_engine(b, &s->i, s->engine);
    while (s->engine && !s->engine->n);
    s->flying = s->engine ? engine_oldest(s->engine) : NULL;
    return s->flying;
}

static bool meets(const unsigned char *piece, u64 bytes, const unsigned char *start, unsigned n)
{
    return piece && piece < start + n && start < piece + bytes;
}

static bool writes_to(const struct flying *f, const void *address, unsigned bytes)
{
    for (unsigned i = 0; i < f->n_pieces; i++)
        if (meets(flying_pieces(f)[i].to, flying_pieces(f)[i].bytes, address, bytes))
            return true;
    return false;
}

static bool reads_from(const struct flying *f, const void *address, unsigned bytes)
{
    for (unsigned i = 0; i < f->n_pieces; i++)
        if (meets(flying_pieces(f)[i].from, flying_pieces(f)[i].bytes, address, bytes))
            return true;
    return false;
}

const struct flying *flight_to(struct block *b, const void *address, unsigned bytes)
{
    if (!guard_forbids(b, address, bytes, false))
        return NULL;
    for (struct flight_search s = {0}; flight_next(b, &s);)
        if (writes_to(s.flying, address, bytes))
            return s.flying;
    return NULL;
}

/* ---- reports ---- */

struct words {
    char text[800];
};

bool waited_for_less(const struct waited *w, uint32_t stamp, u64 group, const char *what, char *text, size_t size)
{
    if (!w->at || stamp > w->issued)
        return false;
    struct source_line l = lines_of(w->at);
    if (group >= w->committed)
        snprintf(text, size, "The wait at %s:%d does not cover it: it had not been committed to a group.", l.file,
                 l.line);
    else if (w->groups_left == 1)
        snprintf(text, size, "The wait at %s:%d leaves the last group under way, and this %s is in it.", l.file, l.line,
                 what);
    else
        snprintf(text, size, "The wait at %s:%d leaves the last %u groups under way, and this %s is in one of them.",
                 l.file, l.line, w->groups_left, what);
    return true;
}

static struct words of_groups(const struct engine *e, const struct flying *f, bool read)
{
    struct words w;
    struct source_line l = lines_of(e->waited.at);
    if (e->waited.at && f->stamp <= e->waited.issued && e->completed_by == BY_BULK_GROUP && f->read && !read)
        snprintf(w.text, sizeof w.text, "The wait at %s:%d is by .read: the copy's source has been read, and no more.",
                 l.file, l.line);
    else if (!waited_for_less(&e->waited, f->stamp, f->group, "copy", w.text, sizeof w.text))
        snprintf(w.text, sizeof w.text, "That thread has not waited for it since: only a wait makes a copy land.");
    return w;
}

static void report_in_flight(const struct access *a, const struct engine *e, const struct flying *f, bool source)
{
    struct actor other = {f->block->serial, f->thread, f->pc};
    const char *kind = source                   ? "source overwritten in flight"
                       : access_stores(a->kind) ? "target overwritten in flight"
                                                : "copy still in flight";
    struct words w;
    char did[160];
    bool is_named = !f->generic || f->sent;
    if (e->completed_by == BY_MBARRIER)
        mbarrier_say_missing(e, f, a, w.text, sizeof w.text);
    else if (e->completed_by == BY_WARP_GROUP)
        wgmma_say_missing(e, f, w.text, sizeof w.text);
    else
        w = of_groups(e, f, source);
    if (e->completed_by == BY_WARP_GROUP)
        snprintf(did, sizeof did, "began a product that reads it (%s)", f->call);
    else
        snprintf(did, sizeof did, "began to %s %s it%s%s%s", flying_does(f), source ? "from" : "to",
                 is_named ? " (" : "", is_named ? f->call : "", is_named ? ")" : "");
    report_meeting(a, kind, &other, did, w.text);
}

/* Bulk copies in groups read as one actor and write as another, and are kept as the latter's; what an mbarrier counts of the
 * generic proxy is kept with the rest. */
static unsigned kept_as(unsigned actor)
{
    enum engine_kind kind = engine_kind(actor);
    return kind == BULK_READS ? engine_of(BULK_WRITES, actor % MAX_THREADS)
           : kind == SENT     ? engine_of(COUNTED, actor % MAX_THREADS)
                              : actor;
}

/* A block's transfers in flight that do not go with the access. */
static void check_flight(const struct access *a, struct block *b)
{
    bool stores = access_stores(a->kind);
    for (struct flight_search s = {0}; flight_next(b, &s);) {
        if (b->serial == a->serial && kept_as(a->engine) == s.engine->actor && a->stamp == s.flying->stamp)
            continue; /* it is being issued, and this is its own access */
        bool goes_with = a->kind == ACCESS_ATOMIC && s.flying->as.reduces; /* which is first makes no difference */
        if (!goes_with && writes_to(s.flying, a->address, a->bytes))
            report_in_flight(a, s.engine, s.flying, false);
        if (stores && !s.flying->read && reads_from(s.flying, a->address, a->bytes))
            report_in_flight(a, s.engine, s.flying, true);
    }
}

void async_check(const struct access *a)
{
    const struct cluster *c = a->block->cluster;
    const struct block *owner = shared_owner(a->block, a->address);
    struct actor first = {.serial = owner->serial};
    if (!guard_forbids(a->block, a->address, a->bytes, access_stores(a->kind)))
        return;
    for (unsigned rank = 0; rank < c->n; rank++)
        check_flight(a, c->blocks[rank]);
    if (mbarrier_on(owner, a->address, a->bytes, &first))
        report_meeting(a, "access to an mbarrier", &first, "made it an mbarrier",
                       "Until it is invalidated, only operations on mbarriers may touch it.");
}

bool async_meets(const struct access *a, uint32_t serial, unsigned actor, uint32_t stamp, bool stored)
{
    struct block *other = cluster_find(a->block, serial);
    for (struct flight_search s = {0}; other && flight_next(other, &s);) {
        const struct flying *f = s.flying;
        if (s.engine->actor != kept_as(actor) || f->stamp != stamp)
            continue;
        if (stored)
            report_in_flight(a, s.engine, f, false);
        return !f->read && order_before(a->block, a->thread, f->block->serial, f->thread, f->issued);
    }
    return false;
}

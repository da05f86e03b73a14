/* Counting as Nsight Compute does, for the accesses as written.
 *
 * The lanes of a warp run one after another here, so their accesses are put together again: the n-th access of each
 * lane at one place of the program, in one turn of the loops around it (path.c), since the lanes last met, is one warp
 * request. Requests are complete when all lanes meet (a barrier, a full-warp collective) or the block ends; then banks
 * and sectors are counted. */
#include "count/counters.h"
#include "base/transfer.h"
#include "block/async.h"
#include "block/block.h"
#include "block/launch.h"
#include "count/cost.h"
#include "count/path.h"
#include "count/profile.h"
#include "count/timeline.h"
#include "memory/shared.h"
#include <stdlib.h>
#include <string.h>

#define NONE (~0u)
#define VECTORS_OF_WAVEFRONT 8

struct request {
    struct lane_accesses accesses; /* of an event: lanes alone */
    u64 key;                       /* which turn: path.c */
    u64 bytes_in_flight;           /* of the lanes' copies, when they come here */
    unsigned previous, next;       /* requests with the same key, in order; NONE at the ends */
    unsigned in_timeline;          /* timeline.c */
};

struct pending { /* one place in the program, one warp */
    unsigned n, room;
    struct request *requests;
    unsigned *table;   /* key → index + 1 of its first request, open addressing, 2 * room entries */
    unsigned at[WARP]; /* each lane's last request, + 1 */
};

struct site {
    const void *pc;
    enum counted what;
    struct counts counts;
};

struct counting {
    struct site *sites;
    unsigned n_sites, room;
    unsigned *table, table_size; /* pc → index + 1, open addressing */
    struct pending *pending;     /* [MAX_WARPS][room] */
    unsigned *touched[MAX_WARPS], n_touched[MAX_WARPS];
};

bool counters_on;

static void *grow(void *p, size_t bytes)
{
    p = realloc(p, bytes);
    if (!p)
        perror("simt: no memory to count in"), exit(2);
    return p;
}

static void make_room(struct counting *c)
{
    unsigned room = c->room ? 2 * c->room : 64;
    struct pending *pending = calloc((size_t)MAX_WARPS * room, sizeof *pending);
    if (!pending)
        perror("simt: no memory to count in"), exit(2);
    for (unsigned warp = 0; warp < MAX_WARPS && c->room; warp++)
        memcpy(pending + (size_t)warp * room, c->pending + (size_t)warp * c->room, c->room * sizeof *pending);
    free(c->pending);
    c->pending = pending;
    for (unsigned warp = 0; warp < MAX_WARPS; warp++)
        c->touched[warp] = grow(c->touched[warp], room * sizeof(unsigned));
    c->sites = grow(c->sites, room * sizeof *c->sites);
    c->room = room;
    c->table_size = 4 * room;
    free(c->table);
    c->table = calloc(c->table_size, sizeof *c->table);
    if (!c->table)
        perror("simt: no memory to count in"), exit(2);
}

static unsigned slot_of(const struct counting *c, const void *pc, enum counted what)
{
    unsigned at = (unsigned)(((uintptr_t)pc * 0x9e3779b97f4a7c15u) >> 40) + (unsigned)what;
    for (at %= c->table_size; c->table[at]; at = at + 1 == c->table_size ? 0 : at + 1) {
        const struct site *s = &c->sites[c->table[at] - 1];
        if (s->pc == pc && s->what == what)
            break;
    }
    return at;
}

static unsigned site_index(struct counting *c, const void *pc, enum counted what)
{
    unsigned at = slot_of(c, pc, what);
    if (c->table[at])
        return c->table[at] - 1;
    if (c->n_sites == c->room) {
        make_room(c);
        for (unsigned i = 0; i < c->n_sites; i++)
            c->table[slot_of(c, c->sites[i].pc, c->sites[i].what)] = i + 1;
        at = slot_of(c, pc, what);
    }
    c->sites[c->n_sites] = (struct site){.pc = pc, .what = what};
    c->table[at] = ++c->n_sites;
    return c->n_sites - 1;
}

static unsigned *slot_of_key(const struct pending *p, u64 key)
{
    unsigned size = 2 * p->room;
    unsigned at = (unsigned)((key ^ key >> 32) * 0x9e3779b9u) % size;
    while (p->table[at] && p->requests[p->table[at] - 1].key != key)
        at = at + 1 == size ? 0 : at + 1;
    return &p->table[at];
}

static void make_room_for_requests(struct pending *p)
{
    p->room = p->room ? 2 * p->room : 8;
    p->requests = grow(p->requests, p->room * sizeof *p->requests);
    p->table = grow(p->table, 2 * p->room * sizeof *p->table);
    memset(p->table, 0, 2 * p->room * sizeof *p->table);
    for (unsigned i = 0; i < p->n; i++)
        if (p->requests[i].previous == NONE)
            *slot_of_key(p, p->requests[i].key) = i + 1;
}

static struct request *new_request(struct pending *p, u64 key, unsigned previous)
{
    if (p->n == p->room)
        make_room_for_requests(p);
    struct request *r = &p->requests[p->n];
    r->accesses.lanes = r->accesses.bytes = 0;
    r->key = key;
    r->bytes_in_flight = 0;
    r->previous = previous;
    r->next = NONE;
    r->in_timeline = TIMELINE_NEW;
    if (previous == NONE)
        *slot_of_key(p, key) = p->n + 1;
    else
        p->requests[previous].next = p->n;
    p->n++;
    return r;
}

/* Is this the first request with that key that the lane has no part in? */
static bool is_next(const struct pending *p, const struct request *r, u64 key, unsigned lane)
{
    if (r->key != key || r->accesses.lanes >> lane & 1)
        return false;
    return r->previous == NONE || p->requests[r->previous].accesses.lanes >> lane & 1;
}

/* The request that the lane's access, reached with that key, is part of: mostly the one after its last. */
static struct request *find_request(struct pending *p, u64 key, unsigned lane)
{
    unsigned after = p->at[lane], previous = NONE;
    if (after < p->n && is_next(p, &p->requests[after], key, lane))
        return &p->requests[after];
    if (!p->room)
        return new_request(p, key, NONE);
    if (after && p->requests[after - 1].key == key)
        previous = after - 1;
    unsigned i = previous == NONE ? *slot_of_key(p, key) - 1 : p->requests[previous].next;
    while (i != NONE && p->requests[i].accesses.lanes >> lane & 1) {
        previous = i;
        i = p->requests[i].next;
    }
    return i == NONE ? new_request(p, key, previous) : &p->requests[i];
}

static enum use use_of(unsigned what)
{
    switch (what) {
    case SHARED_LD: return USE_SHARED_LD;
    case MATRIX_LD: return USE_LDMATRIX;
    case COUNTED_ACCESSES + EVENT_SHUFFLE: return USE_SHUFFLE;
    case COUNTED_ACCESSES + EVENT_MMA: return USE_MMA;
    case COUNTED_ACCESSES + EVENT_WGMMA: return USE_WGMMA;
    default: return USES;
    }
}

/* The thread's copies; or, of ldmatrix, the warp's when the first row is read: all lanes are in it then, and only
 * those come here that have addresses. */
static u64 bytes_in_flight(const struct block *b, unsigned thread, const struct request *r, enum use use)
{
    u64 bytes = 0;
    if (use == USES || use == USE_WGMMA) /* counters_wgmma() says how many */
        return 0;
    if (use != USE_LDMATRIX)
        return async_bytes(b, thread);
    for (unsigned lane = 0; lane < WARP && !r->accesses.lanes; lane++)
        bytes += async_bytes(b, thread / WARP * WARP + lane);
    return bytes;
}

/* Adds a thread to a request. */
static struct request *join_request(struct block *b, unsigned thread, unsigned site, struct event_of of)
{
    struct counting *c = b->counting;
    unsigned warp = thread / WARP, lane = thread % WARP;
    struct pending *p = &c->pending[(size_t)warp * c->room + site];
    if (p->n == 0) {
        c->touched[warp][c->n_touched[warp]] = site;
        c->n_touched[warp]++;
    }
    struct request *r = find_request(p, path_key(b, thread), lane);
    r->bytes_in_flight += bytes_in_flight(b, thread, r, use_of(c->sites[site].what));
    r->accesses.lanes |= 1u << lane;
    p->at[lane] = (unsigned)(r - p->requests) + 1;
    if (b->timeline)
        r->in_timeline = timeline_join(b, thread, r->in_timeline, c->sites[site].pc, c->sites[site].what, of);
    return r;
}

void counters_access(const struct access *a, enum counted what)
{
    struct block *b = a->block;
    struct lane_accesses
        *of_lanes = &join_request(b, a->thread, site_index(b->counting, a->pc, what), (struct event_of){0})->accesses;
    if (!of_lanes->bytes)
        of_lanes->bytes = a->bytes;
    of_lanes->address[a->thread % WARP] = (u64)(uintptr_t)a->address;
}

void counters_copy(struct block *b, const void *pc, const void *to, const void *from, unsigned bytes, bool past_l1)
{
    struct lane_accesses *a = &join_request(b, b->cur, site_index(b->counting, pc, COPY_ST), (struct event_of){0})
                                   ->accesses;
    a->bytes = bytes;
    a->past_l1 = past_l1;
    a->address[b->cur % WARP] = (u64)(uintptr_t)to;
    a->source[b->cur % WARP] = (u64)(uintptr_t)from;
}

void counters_event_of(struct block *b, const void *pc, enum event what, unsigned object, unsigned phase)
{
    if (!b->counting || (what > EVENT_BULK_COMMIT && !b->timeline))
        return;
    join_request(b, b->cur, site_index(b->counting, pc, COUNTED_ACCESSES + (enum counted)what),
                 (struct event_of){object, phase});
}

void counters_event(struct block *b, const void *pc, enum event what) { counters_event_of(b, pc, what, 0, 0); }

static bool in_shared(const struct block *b, const void *address) { return shared_owner(b, address) != NULL; }

static enum counted kind_of(const struct block *b, const struct transfer *t)
{
    bool within = true, prefetches = true;
    for (unsigned i = 0; i < t->n_pieces; i++) {
        within &= in_shared(b, t->pieces[i].to) && in_shared(b, t->pieces[i].from);
        prefetches &= !t->pieces[i].to;
    }
    if (t->n_pieces && prefetches)
        return TMA_OTHER;
    if (t->n_pieces && within)
        return t->reduces ? DSHARED_TMA_RED : DSHARED_TMA_ST;
    if (t->completed_by == BY_MBARRIER)
        return TMA_LD;
    return t->reduces ? TMA_RED : TMA_ST;
}

/* The bytes of shared memory that its pieces touch lie between. */
static void touch_pieces(const struct block *b, const struct transfer *t, struct lane_accesses *a, unsigned lane)
{
    const unsigned char *first = NULL, *end = NULL;
    for (unsigned i = 0; i < t->n_pieces; i++) {
        const struct piece *p = &t->pieces[i];
        const unsigned char *at = in_shared(b, p->to) ? p->to : p->from;
        if (!in_shared(b, at))
            continue;
        first = !first || at < first ? at : first;
        end = at + p->bytes > end ? at + p->bytes : end;
    }
    a->bytes = (unsigned)(end - first);
    a->address[lane] = (u64)(uintptr_t)(first ? first : b->arena);
}

void counters_transfer(struct block *b, const struct transfer *t, struct event_of of)
{
    if (!b->counting)
        return;
    enum counted what = kind_of(b, t);
    unsigned site = site_index(b->counting, t->pc, what);
    struct access_counts *counts = &b->counting->sites[site].counts.access[what], once = {0};
    struct bulk_cost cost = {.in_pairs = t->multicast, .last = ~0ull, .counts = &once};
    u64 at = 0, filled = 0; /* bytes of the pieces so far; the last of them, which lie beyond a tensor's edge */
    for (unsigned i = 0; i < t->n_pieces && what != TMA_OTHER; i++) {
        const struct piece *p = &t->pieces[i];
        const void *global = what == TMA_LD ? p->from : p->to, *shared = what == TMA_LD ? p->to : p->from;
        if (global) { /* of copies within shared memory their target */
            cost_of_fill(&cost, at - filled, filled, t->row_bytes);
            cost_of_bytes(&cost, global, shared, p->bytes);
        }
        filled = global ? 0 : filled + p->bytes;
        at += p->bytes;
    }
    cost_of_fill(&cost, at - filled, filled, t->row_bytes);
    u64 receivers = t->multicast ? (u64)__builtin_popcount(t->blocks) : 1;
    counts->requests++;
    counts->sectors += once.sectors * receivers;
    counts->bytes += once.bytes * receivers;
    counts->l2_sectors += once.sectors;
    if (b->timeline)
        touch_pieces(b, t, &join_request(b, b->cur, site, of)->accesses, b->cur % WARP);
}

/* Of an H200's counters (tests/truth/h200_wgmma.jsonl): each warp makes a request, and all vectors of an operand are read once, for the
 * whole warpgroup, eight in a wavefront. */
void counters_wgmma(struct block *b, unsigned warp, const void *pc, struct vectors_read of_a, struct vectors_read of_b)
{
    if (!b->counting)
        return;
    unsigned event = site_index(b->counting, pc, COUNTED_ACCESSES + (enum counted)EVENT_WGMMA);
    struct access_counts *counts = &b->counting->sites[site_index(b->counting, pc, WGMMA_LD)].counts.access[WGMMA_LD];
    counts->requests += WARPGROUP;
    counts->bytes += VECTOR_BYTES * (of_a.n + of_b.n);
    counts->wavefronts += (of_a.n + of_b.n) / VECTORS_OF_WAVEFRONT;
    u64 bytes = async_counted_bytes(b);
    for (unsigned thread = warp * WARP; thread < (warp + WARPGROUP) * WARP; thread++) {
        struct request *r = join_request(b, thread, event, (struct event_of){0});
        r->bytes_in_flight = bytes;
        if (!b->timeline || thread % WARP)
            continue;
        timeline_read(b, thread / WARP, r->in_timeline, 0, of_a.offsets, of_a.n);
        timeline_read(b, thread / WARP, r->in_timeline, 1, of_b.offsets, of_b.n);
    }
}

static void count_in_flight(struct in_flight_counts *c, u64 bytes)
{
    c->requests += bytes > 0;
    c->bytes += bytes;
}

/* The block's own. */
static bool touches_shared(enum counted what) { return what < DSHARED_LD && what != GLOBAL_LD && what != GLOBAL_ST; }

static bool is_bulk(enum counted what)
{
    return (what >= TMA_LD && what <= TMA_OTHER) || what == DSHARED_TMA_ST || what == DSHARED_TMA_RED;
}

static void count_request(struct site *site, const struct request *r)
{
    struct counts *c = &site->counts;
    if (site->what == COUNTED_ACCESSES + EVENT_BARRIER_ARRIVE || site->what == COUNTED_ACCESSES + EVENT_CLUSTER_ARRIVE)
        c->event[EVENT_BARRIER]++;
    else if (site->what == COUNTED_ACCESSES + EVENT_COPY_ARRIVE)
        c->event[EVENT_ARRIVE]++;
    else if (site->what == COUNTED_ACCESSES + EVENT_BULK_COMMIT)
        c->access[TMA_OTHER].requests++;
    else if (is_bulk(site->what) || site->what == WGMMA_LD) /* counted as it was begun */
        return;
    else if (site->what >= COUNTED_ACCESSES + COUNTED_EVENTS)
        return;
    else if (site->what >= COUNTED_ACCESSES)
        c->event[site->what - COUNTED_ACCESSES]++;
    else if (site->what == COPY_ST)
        cost_of_copy(&r->accesses, &c->access[COPY_LD], &c->access[COPY_ST]);
    else if (site->what == DSHARED_ATOMIC || site->what == DSHARED_RED)
        cost_of_remote_atomics(&r->accesses, &c->access[site->what]);
    else if (!touches_shared(site->what))
        cost_in_global(&r->accesses, &c->access[site->what]);
    else
        cost_in_shared(&r->accesses, site->what == SHARED_LD, &c->access[site->what]);
    if (use_of(site->what) != USES)
        count_in_flight(&c->in_flight[use_of(site->what)], r->bytes_in_flight);
}

static void forget_requests(struct pending *p)
{
    if (p->n > p->room / 4)
        memset(p->table, 0, 2 * p->room * sizeof *p->table);
    else /* from the last on: a key's slot is found only while those put in before it are there */
        for (unsigned i = p->n; i-- > 0;)
            if (p->requests[i].previous == NONE)
                *slot_of_key(p, p->requests[i].key) = 0;
    p->n = 0;
    memset(p->at, 0, sizeof p->at);
}

void counters_warp_joined(struct block *b, unsigned warp)
{
    struct counting *c = b->counting;
    if (!c)
        return;
    for (unsigned i = 0; i < c->n_touched[warp]; i++) {
        struct pending *p = &c->pending[(size_t)warp * c->room + c->touched[warp][i]];
        struct site *site = &c->sites[c->touched[warp][i]];
        for (unsigned n = 0; n < p->n; n++) {
            count_request(site, &p->requests[n]);
            if (b->timeline && touches_shared(site->what))
                timeline_touch(b, warp, p->requests[n].in_timeline, &p->requests[n].accesses);
        }
        forget_requests(p);
    }
    c->n_touched[warp] = 0;
    if (b->timeline)
        timeline_warp_joined(b, warp);
}

void counters_block_joined(struct block *b)
{
    for (unsigned warp = 0; b->counting && warp * WARP < b->launch->threads; warp++)
        counters_warp_joined(b, warp);
}

void counters_begin(struct block *b)
{
    b->timeline = timeline_begin(b);
    if (b->counting) {
        path_begin_block(b);
        return;
    }
    if (!counters_on)
        return;
    b->counting = calloc(1, sizeof *b->counting);
    if (!b->counting)
        perror("simt: no memory to count in"), exit(2);
    make_room(b->counting);
    path_begin(b);
    path_begin_block(b);
}

void counters_merge(struct counts *into, const struct counts *from)
{
    u64 *a = (u64 *)into;
    const u64 *b = (const u64 *)from;
    for (size_t i = 0; i < sizeof *into / sizeof *a; i++)
        a[i] += b[i];
}

void counters_end(struct block *b)
{
    struct counting *c = b->counting;
    if (!c)
        return;
    struct line_counts *lines = grow(NULL, (c->n_sites + 1) * sizeof *lines);
    unsigned n = 0;
    for (unsigned i = 0; i < c->n_sites; i++)
        if (c->sites[i].what <= COUNTED_ACCESSES + EVENT_BULK_COMMIT)
            lines[n++] = (struct line_counts){c->sites[i].pc, c->sites[i].counts};
    profile_add(b->launch, lines, n);
    free(lines);
    for (size_t i = 0; i < (size_t)MAX_WARPS * c->room; i++) {
        free(c->pending[i].requests);
        free(c->pending[i].table);
    }
    for (unsigned warp = 0; warp < MAX_WARPS; warp++)
        free(c->touched[warp]);
    free(c->pending), free(c->sites), free(c->table), free(c);
    b->counting = NULL;
}

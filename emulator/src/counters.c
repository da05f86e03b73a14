/* Counting as Nsight Compute does, for the accesses as written.
 *
 * The lanes of a warp run one after another here, so their accesses are put together again: the n-th access of each
 * lane at one place of the program, in one turn of the loops around it (path.c), since the lanes last met, is one warp
 * request. Requests are complete when all lanes meet (a barrier, a full-warp collective) or the block ends; then banks
 * and sectors are counted. */
#include "counters.h"
#include "block.h"
#include "launch.h"
#include "path.h"
#include "profile.h"
#include <stdlib.h>
#include <string.h>

#define NONE (~0u)

struct request { /* or an event of a warp: no bytes, no addresses */
    uint32_t lanes;
    unsigned bytes;          /* per lane */
    u64 key;                 /* which turn: path.c */
    unsigned previous, next; /* requests with the same key, in order; NONE at the ends */
    u64 address[WARP];
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
    r->lanes = r->bytes = 0;
    r->key = key;
    r->previous = previous;
    r->next = NONE;
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
    if (r->key != key || r->lanes >> lane & 1)
        return false;
    return r->previous == NONE || p->requests[r->previous].lanes >> lane & 1;
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
    while (i != NONE && p->requests[i].lanes >> lane & 1) {
        previous = i;
        i = p->requests[i].next;
    }
    return i == NONE ? new_request(p, key, previous) : &p->requests[i];
}

/* Adds the running thread to a request. */
static struct request *join_request(struct block *b, unsigned site)
{
    struct counting *c = b->counting;
    unsigned warp = b->cur / WARP, lane = b->cur % WARP;
    struct pending *p = &c->pending[(size_t)warp * c->room + site];
    if (p->n == 0) {
        c->touched[warp][c->n_touched[warp]] = site;
        c->n_touched[warp]++;
    }
    struct request *r = find_request(p, path_key(b), lane);
    r->lanes |= 1u << lane;
    p->at[lane] = (unsigned)(r - p->requests) + 1;
    return r;
}

void counters_access(struct block *b, const void *pc, enum counted what, const void *address, unsigned bytes)
{
    struct request *r = join_request(b, site_index(b->counting, pc, what));
    if (!r->bytes)
        r->bytes = bytes;
    r->address[b->cur % WARP] = (u64)(uintptr_t)address;
}

void counters_event(struct block *b, const void *pc, enum event what)
{
    if (!b->counting)
        return;
    join_request(b, site_index(b->counting, pc, COUNTED_ACCESSES + (enum counted)what));
}

/* Are all active lanes that differ in this bit of their number at one address, or alone? */
static bool pairs_agree(const struct request *r, unsigned bit)
{
    for (unsigned lane = 0; lane < WARP; lane++) {
        bool both = (r->lanes >> lane & 1) && (r->lanes >> (lane ^ bit) & 1);
        if (both && r->address[lane] != r->address[lane ^ bit])
            return false;
    }
    return true;
}

/* 32 banks of 4 bytes. A warp's 4-byte accesses go in one phase, 8-byte ones by half warps, 16-byte ones by quarters;
 * loads whose lanes pair up (neighbours, or neighbours but one, at one address) take phases of twice the lanes.
 * A phase takes as many wavefronts as the most distinct words that fall into one bank; all but one are conflicts. */
static void count_banks(const struct request *r, bool load, u64 *wavefronts, u64 *conflicts)
{
    unsigned lanes_per_phase = r->bytes <= 4 ? WARP : WARP * 4 / r->bytes;
    if (load && r->bytes > 4 && (pairs_agree(r, 1) || pairs_agree(r, 2)))
        lanes_per_phase *= 2;
    for (unsigned first = 0; first < WARP; first += lanes_per_phase) {
        u64 words[WARP][WARP];
        unsigned in_bank[WARP] = {0}, most = 0;
        for (unsigned lane = first; lane < first + lanes_per_phase; lane++) {
            if (!(r->lanes >> lane & 1))
                continue;
            for (u64 word = r->address[lane] / 4; word <= (r->address[lane] + r->bytes - 1) / 4; word++) {
                unsigned bank = (unsigned)(word % WARP), i = 0;
                while (i < in_bank[bank] && words[bank][i] != word)
                    i++;
                if (i == in_bank[bank])
                    words[bank][in_bank[bank]++] = word;
                if (in_bank[bank] > most)
                    most = in_bank[bank];
            }
        }
        if (most)
            *wavefronts += most, *conflicts += most - 1;
    }
}

/* How many distinct blocks of `bytes` do the active lanes' addresses lie in? */
static u64 count_distinct(const struct request *r, unsigned bytes)
{
    u64 blocks[WARP], n = 0;
    for (unsigned lane = 0; lane < WARP; lane++) {
        if (!(r->lanes >> lane & 1))
            continue;
        u64 block = r->address[lane] / bytes, i = 0;
        while (i < n && blocks[i] != block)
            i++;
        if (i == n)
            blocks[n++] = block;
    }
    return n;
}

static void count_request(struct site *site, const struct request *r)
{
    if (site->what >= COUNTED_ACCESSES) {
        site->counts.event[site->what - COUNTED_ACCESSES]++;
        return;
    }
    struct access_counts *a = &site->counts.access[site->what];
    a->requests++;
    if (site->what != GLOBAL_LD && site->what != GLOBAL_ST && site->what != COPY_LD) {
        count_banks(r, site->what == SHARED_LD, &a->wavefronts, &a->conflicts);
    } else {
        a->sectors += count_distinct(r, 32);
        a->bytes += count_distinct(r, r->bytes) * r->bytes;
    }
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
        for (unsigned n = 0; n < p->n; n++)
            count_request(&c->sites[c->touched[warp][i]], &p->requests[n]);
        forget_requests(p);
    }
    c->n_touched[warp] = 0;
}

void counters_block_joined(struct block *b)
{
    for (unsigned warp = 0; b->counting && warp * WARP < b->launch->threads; warp++)
        counters_warp_joined(b, warp);
}

void counters_begin(struct block *b)
{
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
    for (unsigned i = 0; i < c->n_sites; i++)
        lines[i] = (struct line_counts){c->sites[i].pc, c->sites[i].counts};
    profile_add(b->launch, lines, c->n_sites);
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

/* Counting as Nsight Compute does, for the accesses as written.
 *
 * The lanes of a warp run one after another here, so their accesses are put together again: the n-th access of each
 * lane at one place of the program, since the lanes last met, is one warp request. Requests are complete when all
 * lanes meet (a barrier, a full-warp collective) or the block ends; then banks and sectors are counted. */
#include "simt.h"
#include <stdlib.h>
#include <string.h>

struct request {
    uint32_t lanes;
    unsigned bytes; /* per lane */
    u64 address[WARP];
};

struct pending { /* one place in the program, one warp */
    unsigned n, room;
    struct request *requests;
    unsigned lane_n[WARP]; /* accesses of each lane so far */
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
    if (!p) perror("simt: no memory to count in"), exit(2);
    return p;
}

static void make_room(struct counting *c)
{
    unsigned room = c->room ? 2 * c->room : 64;
    struct pending *pending = calloc((size_t)MAX_WARPS * room, sizeof *pending);
    if (!pending) perror("simt: no memory to count in"), exit(2);
    for (unsigned warp = 0; warp < MAX_WARPS && c->room; warp++)
        memcpy(pending + (size_t)warp * room, c->pending + (size_t)warp * c->room, c->room * sizeof *pending);
    free(c->pending);
    c->pending = pending;
    for (unsigned warp = 0; warp < MAX_WARPS; warp++) c->touched[warp] = grow(c->touched[warp], room * sizeof(unsigned));
    c->sites = grow(c->sites, room * sizeof *c->sites);
    c->room = room;
    c->table_size = 4 * room;
    free(c->table);
    c->table = calloc(c->table_size, sizeof *c->table);
    if (!c->table) perror("simt: no memory to count in"), exit(2);
}

static unsigned slot_of(const struct counting *c, const void *pc, enum counted what)
{
    unsigned at = (unsigned)(((uintptr_t)pc * 0x9e3779b97f4a7c15u) >> 40) + (unsigned)what;
    for (at %= c->table_size; c->table[at]; at = at + 1 == c->table_size ? 0 : at + 1) {
        const struct site *s = &c->sites[c->table[at] - 1];
        if (s->pc == pc && s->what == what) break;
    }
    return at;
}

static unsigned site_index(struct counting *c, const void *pc, enum counted what)
{
    unsigned at = slot_of(c, pc, what);
    if (c->table[at]) return c->table[at] - 1;
    if (c->n_sites == c->room) {
        make_room(c);
        for (unsigned i = 0; i < c->n_sites; i++) c->table[slot_of(c, c->sites[i].pc, c->sites[i].what)] = i + 1;
        at = slot_of(c, pc, what);
    }
    c->sites[c->n_sites] = (struct site){.pc = pc, .what = what};
    c->table[at] = ++c->n_sites;
    return c->n_sites - 1;
}

void counters_access(struct worker *w, const void *pc, enum counted what, const void *address, unsigned bytes)
{
    struct counting *c = w->counting;
    unsigned warp = w->cur / WARP, lane = w->cur % WARP, site = site_index(c, pc, what);
    struct pending *p = &c->pending[(size_t)warp * c->room + site];
    unsigned nth = p->lane_n[lane]++;
    if (p->n == 0) c->touched[warp][c->n_touched[warp]++] = site;
    if (nth == p->n) {
        if (p->n == p->room) {
            p->room = p->room ? 2 * p->room : 8;
            p->requests = grow(p->requests, p->room * sizeof *p->requests);
        }
        p->requests[p->n].lanes = 0;
        p->requests[p->n++].bytes = bytes;
    }
    p->requests[nth].lanes |= 1u << lane;
    p->requests[nth].address[lane] = (u64)(uintptr_t)address;
}

void counters_event(struct worker *w, const void *pc, enum event what)
{
    if (!w->counting) return;
    /* An instruction is a warp's: its first lane in the block's order stands for all that execute it together. */
    struct counting *c = w->counting;
    unsigned site = site_index(c, pc, COUNTED_ACCESSES + (enum counted)what);
    struct pending *p = &c->pending[(size_t)(w->cur / WARP) * c->room + site];
    unsigned nth = p->lane_n[w->cur % WARP]++;
    if (nth == p->n) {
        if (p->n++ == 0) c->touched[w->cur / WARP][c->n_touched[w->cur / WARP]++] = site;
        c->sites[site].counts.event[what]++;
    }
}

/* Are all active lanes that differ in this bit of their number at one address, or alone? */
static bool pairs_agree(const struct request *r, unsigned bit)
{
    for (unsigned lane = 0; lane < WARP; lane++) {
        bool both = (r->lanes >> lane & 1) && (r->lanes >> (lane ^ bit) & 1);
        if (both && r->address[lane] != r->address[lane ^ bit]) return false;
    }
    return true;
}

/* 32 banks of 4 bytes. A warp's 4-byte accesses go in one phase, 8-byte ones by half warps, 16-byte ones by quarters;
 * loads whose lanes pair up (neighbours, or neighbours but one, at one address) take phases of twice the lanes.
 * A phase takes as many wavefronts as the most distinct words that fall into one bank; all but one are conflicts. */
static void count_banks(const struct request *r, bool load, u64 *wavefronts, u64 *conflicts)
{
    unsigned lanes_per_phase = r->bytes <= 4 ? WARP : WARP * 4 / r->bytes;
    if (load && r->bytes > 4 && (pairs_agree(r, 1) || pairs_agree(r, 2))) lanes_per_phase *= 2;
    for (unsigned first = 0; first < WARP; first += lanes_per_phase) {
        u64 words[WARP][WARP];
        unsigned in_bank[WARP] = {0}, most = 0;
        for (unsigned lane = first; lane < first + lanes_per_phase; lane++) {
            if (!(r->lanes >> lane & 1)) continue;
            for (u64 word = r->address[lane] / 4; word <= (r->address[lane] + r->bytes - 1) / 4; word++) {
                unsigned bank = (unsigned)(word % WARP), i = 0;
                while (i < in_bank[bank] && words[bank][i] != word) i++;
                if (i == in_bank[bank]) words[bank][in_bank[bank]++] = word;
                if (in_bank[bank] > most) most = in_bank[bank];
            }
        }
        if (most) *wavefronts += most, *conflicts += most - 1;
    }
}

/* How many distinct blocks of `bytes` do the active lanes' addresses lie in? */
static u64 count_distinct(const struct request *r, unsigned bytes)
{
    u64 blocks[WARP], n = 0;
    for (unsigned lane = 0; lane < WARP; lane++) {
        if (!(r->lanes >> lane & 1)) continue;
        u64 block = r->address[lane] / bytes, i = 0;
        while (i < n && blocks[i] != block) i++;
        if (i == n) blocks[n++] = block;
    }
    return n;
}

void counters_warp_joined(struct worker *w, unsigned warp)
{
    struct counting *c = w->counting;
    if (!c) return;
    for (unsigned i = 0; i < c->n_touched[warp]; i++) {
        struct site *site = &c->sites[c->touched[warp][i]];
        struct pending *p = &c->pending[(size_t)warp * c->room + c->touched[warp][i]];
        for (unsigned n = 0; n < p->n && site->what < COUNTED_ACCESSES; n++) {
            const struct request *r = &p->requests[n];
            struct access_counts *a = &site->counts.access[site->what];
            a->requests++;
            if (site->what == SHARED_LD || site->what == SHARED_ST) {
                count_banks(r, site->what == SHARED_LD, &a->wavefronts, &a->conflicts);
            } else {
                a->sectors += count_distinct(r, 32);
                a->bytes += count_distinct(r, r->bytes) * r->bytes;
            }
        }
        p->n = 0;
        memset(p->lane_n, 0, sizeof p->lane_n);
    }
    c->n_touched[warp] = 0;
}

void counters_block_joined(struct worker *w)
{
    for (unsigned warp = 0; w->counting && warp * WARP < w->launch->threads; warp++) counters_warp_joined(w, warp);
}

void counters_begin(struct worker *w)
{
    if (w->counting) return;
    w->counting = calloc(1, sizeof *w->counting);
    if (!w->counting) perror("simt: no memory to count in"), exit(2);
    make_room(w->counting);
}

void counters_merge(struct counts *into, const struct counts *from)
{
    u64 *a = (u64 *)into;
    const u64 *b = (const u64 *)from;
    for (size_t i = 0; i < sizeof *into / sizeof *a; i++) a[i] += b[i];
}

void counters_end(struct worker *w)
{
    struct counting *c = w->counting;
    struct line_counts *lines = grow(NULL, (c->n_sites + 1) * sizeof *lines);
    for (unsigned i = 0; i < c->n_sites; i++) lines[i] = (struct line_counts){c->sites[i].pc, c->sites[i].counts};
    profile_add(w->launch, lines, c->n_sites);
    free(lines);
    for (size_t i = 0; i < (size_t)MAX_WARPS * c->room; i++) free(c->pending[i].requests);
    for (unsigned warp = 0; warp < MAX_WARPS; warp++) free(c->touched[warp]);
    free(c->pending), free(c->sites), free(c->table), free(c);
    w->counting = NULL;
}

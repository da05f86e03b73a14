#include "count/cost.h"
#include <string.h>

#define SECTOR 32

/* Are all active lanes that differ in this bit of their number at one address, or alone? */
static bool pairs_agree(const struct lane_accesses *a, unsigned bit)
{
    for (unsigned lane = 0; lane < WARP; lane++) {
        bool both = (a->lanes >> lane & 1) && (a->lanes >> (lane ^ bit) & 1);
        if (both && a->address[lane] != a->address[lane ^ bit])
            return false;
    }
    return true;
}

/* Lanes that go at once. */
static unsigned phase_of(const struct lane_accesses *a) { return a->bytes <= 4 ? WARP : WARP * 4 / a->bytes; }

static void count_phase(struct access_counts *counts, unsigned wavefronts)
{
    counts->wavefronts += wavefronts;
    counts->conflicts += wavefronts ? wavefronts - 1 : 0;
}

/* 32 banks of 4 bytes. A warp's 4-byte accesses go in one phase, 8-byte ones by half warps, 16-byte ones by quarters;
 * loads whose lanes pair up (neighbours, or neighbours but one, at one address) take phases of twice the lanes.
 * A phase takes as many wavefronts as the most distinct words that fall into one bank; all but one are conflicts. */
void cost_in_shared(const struct lane_accesses *a, bool load, struct access_counts *counts)
{
    unsigned lanes_per_phase = phase_of(a);
    counts->requests++;
    if (load && a->bytes > 4 && (pairs_agree(a, 1) || pairs_agree(a, 2)))
        lanes_per_phase *= 2;
    for (unsigned first = 0; first < WARP; first += lanes_per_phase) {
        u64 words[WARP][WARP];
        unsigned in_bank[WARP] = {0}, most = 0;
        for (unsigned lane = first; lane < first + lanes_per_phase; lane++) {
            if (!(a->lanes >> lane & 1))
                continue;
            for (u64 word = a->address[lane] / 4; word <= (a->address[lane] + a->bytes - 1) / 4; word++) {
                unsigned bank = (unsigned)(word % WARP), i = 0;
                while (i < in_bank[bank] && words[bank][i] != word)
                    i++;
                if (i == in_bank[bank])
                    words[bank][in_bank[bank]++] = word;
                if (in_bank[bank] > most)
                    most = in_bank[bank];
            }
        }
        count_phase(counts, most);
    }
}

/* How many distinct blocks of `bytes` do the active lanes' addresses lie in? */
static u64 count_distinct(const struct lane_accesses *a, unsigned bytes)
{
    u64 blocks[WARP], n = 0;
    for (unsigned lane = 0; lane < WARP; lane++) {
        if (!(a->lanes >> lane & 1))
            continue;
        u64 block = a->address[lane] / bytes, i = 0;
        while (i < n && blocks[i] != block)
            i++;
        if (i == n)
            blocks[n++] = block;
    }
    return n;
}

void cost_in_global(const struct lane_accesses *a, struct access_counts *counts)
{
    counts->requests++;
    counts->sectors += count_distinct(a, SECTOR);
    counts->bytes += count_distinct(a, a->bytes) * a->bytes;
}

/* Lanes that change one place do so one after another, each with a sector of its own. */
void cost_of_remote_atomics(const struct lane_accesses *a, struct access_counts *counts)
{
    struct lane_accesses left = *a;
    counts->requests++;
    while (left.lanes) {
        struct lane_accesses once = left;
        for (unsigned lane = 0; lane < WARP; lane++)
            for (unsigned before = 0; before < lane; before++)
                if ((left.lanes >> before & 1) && a->address[before] == a->address[lane])
                    once.lanes &= ~(1u << lane);
        counts->sectors += count_distinct(&once, SECTOR);
        counts->bytes += (u64)__builtin_popcount(once.lanes) * a->bytes;
        left.lanes &= ~once.lanes;
    }
}

/* ---- bulk copies ---- */

#define LINE 128 /* of shared memory */

static unsigned unit_of(const struct bulk_cost *c) { return c->in_pairs ? 2 * SECTOR : SECTOR; }

static void add_units(struct bulk_cost *c, u64 units)
{
    c->counts->sectors += units * unit_of(c) / SECTOR;
    c->counts->bytes += units * unit_of(c);
}

/* What lies in one line of shared memory is moved at once, by whole sectors. */
void cost_of_bytes(struct bulk_cost *c, const void *global, const void *shared, unsigned bytes)
{
    u64 at = (u64)(uintptr_t)global, place = (u64)(uintptr_t)shared, end = at + bytes;
    while (at < end) {
        u64 part = LINE - place % LINE < end - at ? LINE - place % LINE : end - at;
        u64 first = at / unit_of(c), last = (at + part - 1) / unit_of(c);
        add_units(c, last - first + (first != c->last));
        at += part;
        place += part;
        c->last = at < end ? ~0ull : last;
    }
}

/* They come from L2 as the others do, those of each row of the box by sectors of their own. */
void cost_of_fill(struct bulk_cost *c, u64 at, u64 bytes, unsigned row_bytes)
{
    u64 end = at + bytes;
    while (at < end) {
        u64 left = row_bytes - at % row_bytes, part = left < end - at ? left : end - at;
        add_units(c, (part + unit_of(c) - 1) / unit_of(c));
        at += part;
    }
}

/* ---- cp.async ---- */

static unsigned largest(const unsigned *counts, unsigned n)
{
    unsigned most = 0;
    for (unsigned i = 0; i < n; i++)
        most = counts[i] > most ? counts[i] : most;
    return most;
}

/* Through L1, a phase takes as many wavefronts as lanes meet in one bank: in the bank that a lane writes, or in the
 * corresponding part of the line of L1 that it reads. Nothing is read or written for several lanes at once. */
static void copy_through_l1(const struct lane_accesses *a, bool reads, struct access_counts *writes)
{
    unsigned lanes_per_phase = phase_of(a);
    for (unsigned first = 0; first < WARP; first += lanes_per_phase) {
        unsigned read[WARP] = {0}, written[WARP] = {0}, most;
        for (unsigned lane = first; lane < first + lanes_per_phase; lane++) {
            if (!(a->lanes >> lane & 1))
                continue;
            for (unsigned at = 0; at < a->bytes; at += 4) {
                written[(a->address[lane] + at) / 4 % WARP]++;
                if (a->source[lane] && reads)
                    read[(a->source[lane] + at) / 4 % WARP]++;
            }
        }
        most = largest(written, WARP);
        if (largest(read, WARP) > most)
            most = largest(read, WARP);
        count_phase(writes, most);
    }
}

/* Past L1, data come from L2 by sectors of 32 bytes. What goes from one sector to one sector, both halves of it as they
 * are or both exchanged, is one transfer. */
struct sector_move {
    u64 from, to; /* sectors */
    unsigned exchanged, halves;
};

static unsigned moves_of(const struct lane_accesses *a, struct sector_move *transfers)
{
    unsigned n = 0;
    for (unsigned lane = 0; lane < WARP; lane++) {
        if (!(a->lanes >> lane & 1))
            continue;
        struct sector_move t = {a->source[lane] / 32, a->address[lane] / 32, 0, 1u << a->source[lane] / 16 % 2};
        t.exchanged = (a->source[lane] ^ a->address[lane]) / 16 % 2;
        unsigned i = 0;
        while (i < n &&
               (transfers[i].from != t.from || transfers[i].to != t.to || transfers[i].exchanged != t.exchanged))
            i++;
        if (i == n)
            transfers[n++] = t;
        transfers[i].halves |= t.halves;
    }
    return n;
}

/* Transfers from one line of 128 bytes to one line go together when they are of the same halves, and all or none of them
 * from an even sector to an odd one or the other way; but of those that share a sector, only one at a time. */
static unsigned wavefronts_of(const struct sector_move *transfers, unsigned n)
{
    bool done[WARP] = {false};
    unsigned wavefronts = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned from[4] = {0}, to[4] = {0};
        const struct sector_move *t = &transfers[i];
        for (unsigned j = i; j < n; j++) {
            const struct sector_move *u = &transfers[j];
            bool lines = u->from / 4 == t->from / 4 && u->to / 4 == t->to / 4;
            bool way = u->exchanged == t->exchanged && u->halves == t->halves &&
                       !((u->from ^ u->to ^ t->from ^ t->to) & 1);
            if (done[j] || !lines || !way)
                continue;
            done[j] = true;
            from[u->from % 4]++;
            to[u->to % 4]++;
        }
        unsigned reads = largest(from, 4), writes = largest(to, 4);
        wavefronts += reads > writes ? reads : writes;
    }
    return wavefronts;
}

/* The lanes that read; past L1, of those that write one address only the first. */
static uint32_t readers(const struct lane_accesses *a)
{
    uint32_t lanes = 0;
    for (unsigned lane = 0; lane < WARP; lane++) {
        bool reads = (a->lanes >> lane & 1) && a->source[lane];
        for (unsigned other = 0; other < lane && a->past_l1; other++)
            reads &= !(a->lanes >> other & 1) || a->address[other] != a->address[lane];
        lanes |= (uint32_t)reads << lane;
    }
    return lanes;
}

static bool fills_with_zeros(const struct lane_accesses *a)
{
    for (unsigned lane = 0; lane < WARP; lane++)
        if ((a->lanes >> lane & 1) && !a->source[lane])
            return true;
    return false;
}

void cost_of_copy(const struct lane_accesses *a, struct access_counts *reads, struct access_counts *writes)
{
    struct lane_accesses read = *a;
    read.lanes = readers(a);
    unsigned n = 0;
    struct sector_move transfers[WARP];
    if (a->past_l1)
        n = moves_of(&read, transfers);
    memcpy(read.address, a->source, sizeof read.address);
    reads->requests++;
    reads->sectors += a->past_l1 ? n : count_distinct(&read, 32);
    reads->bytes += count_distinct(&read, a->bytes) * a->bytes;
    writes->requests++;
    if (a->past_l1 && !fills_with_zeros(a))
        writes->wavefronts += wavefronts_of(transfers, n);
    else /* zeros are written bank by bank, and what comes with them too */
        copy_through_l1(a, !a->past_l1, writes);
}

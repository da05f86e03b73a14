/* Where records are kept: cells for each word, in memory that costs nothing until it is touched, and lists beside them. */
#include "memory/records.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells ---- */

struct cells *race_cells(size_t bytes, unsigned readers)
{
    struct cells *c = malloc(sizeof *c);
    if (!c)
        return NULL;
    c->readers = readers;
    c->bytes = bytes;
    c->cell_bytes = (1 + readers) * sizeof(struct record);
    c->words = base_reserve((bytes / 4 + 1) * c->cell_bytes);
    c->parts = base_reserve((bytes / 4 + 1) * 4 * c->cell_bytes);
    return c;
}

void race_cells_free(struct cells *c)
{
    if (!c)
        return;
    base_release(c->words, (c->bytes / 4 + 1) * c->cell_bytes);
    base_release(c->parts, (c->bytes / 4 + 1) * 4 * c->cell_bytes);
    free(c);
}

void race_cells_clear(struct cells *c)
{
    base_forget(c->words, (c->bytes / 4 + 1) * c->cell_bytes);
    base_forget(c->parts, (c->bytes / 4 + 1) * 4 * c->cell_bytes);
}

/* ---- code addresses that are far from the program's start ---- */

static const void *distant[4096];
static unsigned n_distant;
static pthread_mutex_t distant_lock = PTHREAD_MUTEX_INITIALIZER;

unsigned record_distant(const void *pc)
{
    pthread_mutex_lock(&distant_lock);
    unsigned i = 0;
    while (i < n_distant && distant[i] != pc)
        i++;
    if (i == n_distant && n_distant < 4095)
        distant[n_distant++] = pc;
    pthread_mutex_unlock(&distant_lock);
    return NEAR_BITS + i;
}

const void *code_at(unsigned place) { return place < NEAR_BITS ? __ehdr_start + place : distant[place - NEAR_BITS]; }

struct record record_covered(const struct record *r)
{
    struct record covered = *r;
    covered.key = (r->key & ~(7ull << 31)) | (u64)COVERED << 31;
    return covered;
}

bool record_join(struct record *r, const struct record *added)
{
    if (r->serial != added->serial || r->key != added->key || r->engine != added->engine || r->issuer != added->issuer)
        return false;
    bool same_lanes = r->who == added->who, same_warps = r->warps == added->warps;
    if (same_lanes)
        r->warps |= added->warps;
    else if (same_warps)
        r->who |= added->who;
    return same_lanes || same_warps;
}

/* ---- lists beside cells ---- */

#define BUCKETS 16384
#define MOST_OF_CELL 1024 /* beyond either number reads are lost, which can lose a report */
#define MOST_SPILLED (1ull << 21)

static struct bucket {
    pthread_mutex_t lock;
    struct spill *first;
} buckets[BUCKETS] = {[0 ... BUCKETS - 1] = {PTHREAD_MUTEX_INITIALIZER, NULL}};
static u64 n_spilled;

static struct bucket *bucket_of(const struct cell *c)
{
    return &buckets[((uintptr_t)c >> 3) * 0x9e3779b97f4a7c15u >> 50];
}

static struct spill *find(const struct cell *c, bool make)
{
    struct bucket *bucket = bucket_of(c);
    pthread_mutex_lock(&bucket->lock);
    struct spill *s = bucket->first;
    while (s && s->cell != c)
        s = s->next;
    if (!s && make) {
        s = calloc(1, sizeof *s);
        if (!s)
            base_out_of_memory();
        s->cell = c;
        s->next = bucket->first;
        bucket->first = s;
    }
    pthread_mutex_unlock(&bucket->lock);
    return s;
}

struct spill *spill_of(const struct cell *c) { return c->write.who & SPILLED ? find(c, false) : NULL; }

static void append(struct spill *s, const struct record *added)
{
    if (s->n == s->capacity) {
        s->capacity = s->capacity ? 2 * s->capacity : 8;
        s->reads = realloc(s->reads, s->capacity * sizeof *s->reads);
        if (!s->reads)
            base_out_of_memory();
    }
    s->reads[s->n] = *added;
    s->n++;
    __atomic_fetch_add(&n_spilled, 1, __ATOMIC_RELAXED);
}

bool spill_add(struct cell *c, const struct record *added, uint32_t least_serial)
{
    struct spill *s = find(c, true);
    if (!(c->write.who & SPILLED) || (s->n && s->reads[s->n - 1].serial < least_serial))
        s->n = 0;
    c->write.who |= SPILLED;
    for (unsigned i = s->n; i-- > 0 && s->n - i <= WARP;)
        if (record_join(&s->reads[i], added))
            return true;
    if (s->n == MOST_OF_CELL || spilled() >= MOST_SPILLED)
        return false;
    append(s, added);
    return true;
}

void spill_copy(struct cell *to, const struct cell *from)
{
    const struct spill *s = spill_of(from);
    if (!s)
        return;
    struct spill *copy = find(to, true);
    copy->n = 0;
    for (unsigned i = 0; i < s->n; i++)
        append(copy, &s->reads[i]);
}

u64 spilled(void) { return __atomic_load_n(&n_spilled, __ATOMIC_RELAXED); }

void spills_end_launch(void)
{
    for (unsigned i = 0; n_spilled && i < BUCKETS; i++) {
        struct spill *next;
        for (struct spill *s = buckets[i].first; s; s = next) {
            next = s->next;
            free(s->reads);
            free(s);
        }
        buckets[i].first = NULL;
    }
    n_spilled = 0;
}

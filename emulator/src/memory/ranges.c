/* First fit among the holes, from the oldest on. Neighbouring holes are joined only when nothing fits: that loses track
 * of their ages. */
#include "memory/ranges.h"
#include <stdlib.h>

struct hole {
    size_t start, bytes;
    uint32_t next; /* the next younger one */
};

static void grow(struct ranges *r)
{
    uint32_t room = r->room ? 2 * r->room : 256;
    r->holes = realloc(r->holes, room * sizeof *r->holes);
    if (!r->holes) {
        perror("simt: no memory for a list of free addresses");
        exit(2);
    }
    if (!r->n_holes)
        r->n_holes = 1;
    r->room = room;
}

static uint32_t new_hole(struct ranges *r)
{
    uint32_t h = r->spare;
    if (h) {
        r->spare = r->holes[h].next;
        return h;
    }
    if (r->n_holes >= r->room)
        grow(r);
    h = r->n_holes;
    r->n_holes++;
    return h;
}

static void append(struct ranges *r, uint32_t h)
{
    r->holes[h].next = 0;
    if (r->last)
        r->holes[r->last].next = h;
    else
        r->first = h;
    r->last = h;
}

/* `before` is the hole whose next one is h, 0 when h is the first. */
static void drop(struct ranges *r, uint32_t h, uint32_t before)
{
    uint32_t next = r->holes[h].next;
    if (before)
        r->holes[before].next = next;
    else
        r->first = next;
    if (r->last == h)
        r->last = before;
    r->holes[h].next = r->spare;
    r->spare = h;
}

void ranges_give(struct ranges *r, size_t start, size_t bytes)
{
    uint32_t h = new_hole(r);
    r->holes[h].start = start;
    r->holes[h].bytes = bytes;
    append(r, h);
    r->given = true;
}

static size_t take_fresh(struct ranges *r, size_t bytes)
{
    size_t start = r->next;
    if (r->next > r->limit || bytes > r->limit - r->next)
        return RANGES_NONE;
    r->next += bytes;
    return start;
}

static size_t take_hole(struct ranges *r, size_t bytes)
{
    uint32_t before = 0;
    for (uint32_t h = r->first; h; h = r->holes[h].next) {
        struct hole *hole = &r->holes[h];
        if (hole->bytes >= bytes) {
            size_t start = hole->start;
            hole->start += bytes;
            hole->bytes -= bytes;
            if (!hole->bytes)
                drop(r, h, before);
            return start;
        }
        before = h;
    }
    return RANGES_NONE;
}

/* ---- joining ---- */

struct aged {
    size_t start, bytes, age;
};

static int by_start(const void *a, const void *b)
{
    const struct aged *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static int by_age(const void *a, const void *b)
{
    const struct aged *x = a, *y = b;
    return (x->age > y->age) - (x->age < y->age);
}

/* Of n holes sorted by their starts; returns how many are left. A joined hole is as old as its oldest part. */
static size_t join_neighbours(struct aged *holes, size_t n)
{
    size_t kept = 0;
    for (size_t i = 1; i < n; i++) {
        struct aged *last = &holes[kept];
        if (last->start + last->bytes == holes[i].start) {
            last->bytes += holes[i].bytes;
            if (holes[i].age < last->age)
                last->age = holes[i].age;
        } else {
            kept++;
            holes[kept] = holes[i];
        }
    }
    return kept + 1;
}

static void replace_holes(struct ranges *r, const struct aged *holes, size_t n)
{
    r->first = 0;
    r->last = 0;
    r->spare = 0;
    r->n_holes = 1;
    for (size_t i = 0; i < n; i++)
        ranges_give(r, holes[i].start, holes[i].bytes);
}

static void join(struct ranges *r)
{
    size_t n = 0;
    struct aged *holes = malloc(r->n_holes * sizeof *holes);
    if (!holes)
        return;
    for (uint32_t h = r->first; h; h = r->holes[h].next) {
        holes[n] = (struct aged){r->holes[h].start, r->holes[h].bytes, n};
        n++;
    }
    qsort(holes, n, sizeof *holes, by_start);
    n = join_neighbours(holes, n);
    if (holes[n - 1].start + holes[n - 1].bytes == r->next) { /* it borders on the fresh part */
        n--;
        r->next = holes[n].start;
    }
    qsort(holes, n, sizeof *holes, by_age);
    replace_holes(r, holes, n);
    free(holes);
}

size_t ranges_take(struct ranges *r, size_t bytes)
{
    size_t start = take_fresh(r, bytes);
    if (start == RANGES_NONE)
        start = take_hole(r, bytes);
    if (start != RANGES_NONE || !r->given || !r->first)
        return start;
    join(r);
    r->given = false;
    start = take_fresh(r, bytes);
    return start == RANGES_NONE ? take_hole(r, bytes) : start;
}

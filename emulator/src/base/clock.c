/* Vector clocks, sparse: sorted by block and thread. */
#include "base/clock.h"
#include <stdlib.h>
#include <string.h>

#define MOST_ENTRIES 4096 /* beyond, the threads of a block are taken together, which errs on the side of silence */

static void clock_reserve(struct clock *c, unsigned n)
{
    if (n <= c->capacity)
        return;
    c->capacity = 2 * n;
    c->entries = realloc(c->entries, c->capacity * sizeof *c->entries);
    if (!c->entries)
        base_out_of_memory();
}

void clock_clear(struct clock *c) { c->n = 0; }

void clock_free(struct clock *c)
{
    free(c->entries);
    *c = (struct clock){0};
}

void clock_copy(struct clock *into, const struct clock *from)
{
    clock_reserve(into, from->n);
    if (from->n)
        memcpy(into->entries, from->entries, from->n * sizeof *into->entries);
    into->n = from->n;
}

static int compare_entries(struct entry a, struct entry b)
{
    if (a.serial != b.serial)
        return a.serial < b.serial ? -1 : 1;
    return (a.thread > b.thread) - (a.thread < b.thread);
}

/* Where it is, or would be. */
static unsigned find(const struct clock *c, uint32_t serial, unsigned thread)
{
    struct entry key = {.serial = serial, .thread = thread};
    unsigned low = 0, high = c->n;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (compare_entries(c->entries[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t clock_stamp(const struct clock *c, uint32_t serial, unsigned thread)
{
    struct entry key = {.serial = serial, .thread = thread};
    unsigned at = find(c, serial, thread);
    bool found = at < c->n && !compare_entries(c->entries[at], key);
    return found ? c->entries[at].stamp : 0;
}

uint32_t clock_latest(const struct clock *c, uint32_t serial)
{
    uint32_t latest = 0;
    for (unsigned at = find(c, serial, 0); at < c->n && c->entries[at].serial == serial; at++)
        latest = c->entries[at].stamp > latest ? c->entries[at].stamp : latest;
    return latest;
}

bool clock_knows(const struct clock *c, uint32_t serial, unsigned thread, uint32_t stamp)
{
    if (!c->n)
        return false;
    if (clock_stamp(c, serial, thread) >= stamp)
        return true;
    return !is_engine(thread) && clock_stamp(c, serial, EVERY_THREAD) >= stamp; /* engines have clocks of their own */
}

void clock_add(struct clock *c, struct entry e)
{
    unsigned at = c->n;
    while (at > 0 && compare_entries(c->entries[at - 1], e) > 0)
        at--;
    if (at > 0 && !compare_entries(c->entries[at - 1], e)) {
        if (c->entries[at - 1].stamp < e.stamp)
            c->entries[at - 1].stamp = e.stamp;
        return;
    }
    clock_reserve(c, c->n + 1);
    memmove(c->entries + at + 1, c->entries + at, (c->n - at) * sizeof *c->entries);
    c->entries[at] = e;
    c->n++;
}

/* Takes the threads of each block together; its engines stay what they are. */
static void clock_coarsen(struct clock *c)
{
    unsigned n = 0;
    for (unsigned i = 0; i < c->n;) {
        struct entry all = {.serial = c->entries[i].serial, .thread = EVERY_THREAD};
        for (; i < c->n && c->entries[i].serial == all.serial; i++) {
            struct entry e = c->entries[i];
            bool of_engine = is_engine(e.thread);
            if (of_engine)
                c->entries[n++] = e;
            else if (e.stamp > all.stamp)
                all.stamp = e.stamp;
        }
        if (all.stamp)
            c->entries[n++] = all;
    }
    c->n = n;
}

void clock_join(struct clock *into, const struct clock *from)
{
    if (!from->n)
        return;
    if (!into->n) {
        clock_copy(into, from);
        return;
    }
    unsigned i = 0, j = 0, n = 0;
    struct entry *merged = malloc((into->n + from->n) * sizeof *merged);
    if (!merged)
        base_out_of_memory();
    while (i < into->n || j < from->n) {
        int order = i == into->n ? 1 : j == from->n ? -1 : compare_entries(into->entries[i], from->entries[j]);
        struct entry e = order <= 0 ? into->entries[i] : from->entries[j];
        if (order == 0 && from->entries[j].stamp > e.stamp)
            e.stamp = from->entries[j].stamp;
        i += order <= 0;
        j += order >= 0;
        merged[n++] = e;
    }
    free(into->entries);
    into->capacity = into->n + from->n;
    into->entries = merged;
    into->n = n;
    if (n > MOST_ENTRIES)
        clock_coarsen(into);
}

void clock_forget(struct clock *c, uint32_t serial)
{
    unsigned n = 0;
    for (unsigned i = 0; i < c->n; i++)
        if (c->entries[i].serial != serial)
            c->entries[n++] = c->entries[i];
    c->n = n;
}

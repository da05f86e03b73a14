/* What kernels did, seen from outside: by copies, fills and the host, which no record is of. */
#include "memory/records.h"
#include "order/race.h"

struct outside_search {
    bool store;
    uint32_t least;
    bool (*counts)(const void *context, uint32_t serial);
    const void *context;
};

static bool matches(const struct outside_search *s, const struct record *r)
{
    return r->serial >= s->least && s->counts(s->context, r->serial);
}

static struct outside_conflict found_in(const struct record *r, unsigned thread, bool store)
{
    return (struct outside_conflict){{record_issuer(r), thread, record_pc(r)}, store, record_strength(r) != PLAIN};
}

static bool find_in_reads(const struct outside_search *s, const struct record *reads, unsigned n,
                          struct outside_conflict *found)
{
    for (unsigned i = 0; i < n; i++) {
        const struct record *r = &reads[i];
        if (!r->who || !(s->store || record_stores(r)) || !matches(s, r))
            continue;
        *found = found_in(r, (unsigned)(__builtin_ctz(r->warps) * WARP + __builtin_ctz(r->who)), record_stores(r));
        return true;
    }
    return false;
}

static bool find_in_cell(const struct outside_search *s, const struct cell *c, unsigned readers,
                         struct outside_conflict *found)
{
    const struct spill *beside = spill_of(c);
    if (matches(s, &c->write)) {
        *found = found_in(&c->write, WRITER(&c->write), true);
        return true;
    }
    return find_in_reads(s, c->reads, readers, found) || (beside && find_in_reads(s, beside->reads, beside->n, found));
}

bool race_find(const struct cells *cells, size_t offset, size_t bytes, bool store, uint32_t least,
               bool (*counts)(const void *context, uint32_t serial), const void *context,
               struct outside_conflict *found)
{
    struct outside_search s = {store, least, counts, context};
    for (size_t at = offset, end = offset + bytes; at < end;) {
        size_t stop = (at & ~(size_t)3) + 4 < end ? (at & ~(size_t)3) + 4 : end;
        const struct cell *word = word_cell(cells, at);
        if (!(word->write.who & SPLIT) && find_in_cell(&s, word, cells->readers, found))
            return true;
        for (size_t i = at; i < stop && word->write.who & SPLIT; i++)
            if (find_in_cell(&s, part_cell(cells, i), cells->readers, found))
                return true;
        at = stop;
    }
    return false;
}

/* What the warps of one block do, in the order of the program.
 *
 * Requests come from counters.c, which puts the lanes' accesses together. Lanes run one after another, so a warp's
 * requests are put in order again: what a lane does next stands behind what it did before, and between two meetings of
 * the lanes nothing else is known. Equal neighbours are kept as one run with a count. No time is kept, and nothing of
 * the order in which fibers ran: the same program gives the same runs.
 *
 * SIMT_TIMELINE names a file, to which each launch that is counted appends one line of JSON; SIMT_TIMELINE_BLOCK the
 * block, as X, X,Y or X,Y,Z. */
#include "count/timeline.h"
#include "base/lines.h"
#include "block/block.h"
#include "block/launch.h"
#include "memory/shared.h"
#include <stdlib.h>
#include <string.h>

#define NONE TIMELINE_NEW
#define MOST_RUNS (1u << 18) /* of a block; then the record ends */

struct range { /* of bytes: the first, and the one behind the last; 0: none */
    unsigned from, to;
};

struct run {
    const void *pc;
    unsigned what, count;
    struct event_of of;
    struct range touched[2]; /* in shared memory; of a product those of A and of B */
    uint32_t lanes;
    unsigned next; /* of those that are not complete */
};

struct runs {
    struct run *run;
    unsigned n, capacity;
};

struct recorded_warp {
    struct runs open;           /* since the lanes last met */
    unsigned first, last[WARP]; /* of them: the first in order, and each lane's last; NONE */
    struct runs done;
};

struct timeline {
    bool begun, cut_off;
    unsigned n_runs, index[3];
    struct recorded_warp warps[MAX_WARPS];
};

static struct timeline recorded; /* launches take turns, and one block of each is recorded */

/* ---- which block ---- */

static const char *file; /* NULL: nothing is recorded */
static unsigned wanted[3];

__attribute__((constructor)) static void read_wishes(void)
{
    const char *wish = getenv("SIMT_TIMELINE_BLOCK"), *at = wish ? wish : "0";
    unsigned n = 0;
    file = getenv("SIMT_TIMELINE");
    while (n < 3 && *at >= '0' && *at <= '9') {
        char *end;
        unsigned long number = strtoul(at, &end, 10);
        wanted[n++] = number > UINT32_MAX ? UINT32_MAX : (unsigned)number;
        at = end;
        if (*at == ',' && n < 2 && at[1] >= '0' && at[1] <= '9')
            at++;
    }
    if (n && !*at)
        return;
    fprintf(stderr, "simt: SIMT_TIMELINE_BLOCK=%s names no block: wanted X, X,Y or X,Y,Z\n", wish);
    exit(2);
}

static void forget(struct recorded_warp *w)
{
    w->open.n = w->done.n = 0;
    w->first = NONE;
    memset(w->last, 0xff, sizeof w->last);
}

struct timeline *timeline_begin(const struct block *b)
{
    if (!file || !counters_on || memcmp(wanted, b->index, sizeof wanted))
        return NULL;
    recorded.begun = true;
    recorded.cut_off = false;
    recorded.n_runs = 0;
    memcpy(recorded.index, b->index, sizeof recorded.index);
    for (unsigned warp = 0; warp < MAX_WARPS; warp++)
        forget(&recorded.warps[warp]);
    return &recorded;
}

/* ---- recording ---- */

static struct run *add(struct runs *runs)
{
    if (runs->n == runs->capacity) {
        runs->capacity = runs->capacity ? 2 * runs->capacity : 64;
        runs->run = realloc(runs->run, runs->capacity * sizeof *runs->run);
        if (!runs->run)
            base_out_of_memory();
    }
    return &runs->run[runs->n++];
}

static bool comes_behind(const struct recorded_warp *w, unsigned request, unsigned last)
{
    while (last != NONE && last != request)
        last = w->open.run[last].next;
    return last == request;
}

/* A lane takes part in a request that others made before it was known to come behind what the lane did last: all that the lane
 * did from that request on now comes before it. */
static void put_before(struct recorded_warp *w, unsigned lane, unsigned request)
{
    unsigned *to = &w->first;
    while (*to != request)
        to = &w->open.run[*to].next;
    for (unsigned *at = &w->open.run[request].next; *at != NONE;) {
        struct run *r = &w->open.run[*at];
        unsigned moved = *at;
        if (!(r->lanes >> lane & 1)) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        r->next = *to;
        *to = moved;
        to = &r->next;
    }
}

unsigned timeline_join(struct block *b, unsigned thread, unsigned request, const void *pc, unsigned what,
                       struct event_of of)
{
    struct recorded_warp *w = &b->timeline->warps[thread / WARP];
    unsigned *last = &w->last[thread % WARP];
    if (request == NONE) {
        struct run *r = add(&w->open);
        request = w->open.n - 1;
        *r = (struct run){.pc = pc, .what = what, .count = 1, .of = of};
        unsigned *before = *last == NONE ? &w->first : &w->open.run[*last].next;
        r->next = *before;
        *before = request;
    } else if (*last != NONE && !comes_behind(w, request, *last)) {
        put_before(w, thread % WARP, request);
    }
    w->open.run[request].lanes |= 1u << thread % WARP;
    *last = request;
    return request;
}

static void widen(struct range *touched, struct range more)
{
    if (!more.to)
        return;
    touched->from = !touched->to || more.from < touched->from ? more.from : touched->from;
    touched->to = more.to > touched->to ? more.to : touched->to;
}

void timeline_touch(struct block *b, unsigned warp, unsigned request, const struct lane_accesses *a)
{
    struct range *touched = b->timeline->warps[warp].open.run[request].touched;
    for (unsigned lane = 0; lane < WARP; lane++) {
        if (!(a->lanes >> lane & 1))
            continue;
        unsigned from = shared_offset(b, (const void *)(uintptr_t)a->address[lane]);
        widen(touched, (struct range){from, from + a->bytes});
    }
}

void timeline_read(struct block *b, unsigned warp, unsigned request, unsigned operand, const uint32_t *offsets,
                   unsigned n)
{
    struct range *touched = &b->timeline->warps[warp].open.run[request].touched[operand];
    for (unsigned i = 0; i < n; i++)
        widen(touched, (struct range){offsets[i], offsets[i] + VECTOR_BYTES});
}

/* Does r go on with what the warp's last run is? */
static bool continues(const struct run *last, const struct run *r)
{
    return last->pc == r->pc && last->what == r->what && last->of.object == r->of.object &&
           last->of.phase == r->of.phase;
}

static void keep(struct timeline *t, struct runs *done, const struct run *r)
{
    struct run *last = done->n ? &done->run[done->n - 1] : NULL;
    if (last && continues(last, r)) {
        last->count++;
        widen(&last->touched[0], r->touched[0]);
        widen(&last->touched[1], r->touched[1]);
    } else if (t->n_runs == MOST_RUNS) {
        t->cut_off = true;
    } else {
        *add(done) = *r;
        t->n_runs++;
    }
}

void timeline_warp_joined(struct block *b, unsigned warp)
{
    struct recorded_warp *w = &b->timeline->warps[warp];
    for (unsigned i = w->first; i != NONE && !b->timeline->cut_off; i = w->open.run[i].next)
        keep(b->timeline, &w->done, &w->open.run[i]);
    w->open.n = 0;
    w->first = NONE;
    memset(w->last, 0xff, sizeof w->last);
}

/* ---- writing ---- */

static int by_address(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return (*x > *y) - (*x < *y);
}

/* The places in the program that did something, each once, in order. Returns how many. */
static unsigned collect_places(const struct timeline *t, const void **pcs)
{
    unsigned n = 0, unique = 0;
    for (unsigned warp = 0; warp < MAX_WARPS; warp++)
        for (unsigned i = 0; i < t->warps[warp].done.n; i++)
            pcs[n++] = t->warps[warp].done.run[i].pc;
    qsort(pcs, n, sizeof *pcs, by_address);
    for (unsigned i = 0; i < n; i++)
        if (!unique || pcs[i] != pcs[unique - 1])
            pcs[unique++] = pcs[i];
    return unique;
}

static void write_places(FILE *f, const void *const *pcs, unsigned n)
{
    struct source_line *lines = calloc(n + 1, sizeof *lines);
    if (!lines)
        base_out_of_memory();
    lines_resolve(pcs, n, lines);
    fprintf(f, ",\"places\":[");
    for (unsigned i = 0; i < n; i++) {
        fprintf(f, "%s[", i ? "," : "");
        base_json_string(f, lines[i].file);
        fprintf(f, ",%d]", lines[i].line);
    }
    fprintf(f, "]");
    free(lines);
}

static void write_arrays(FILE *f, const struct launch *l)
{
    fprintf(f, ",\"arrays\":[");
    for (unsigned i = 0; i < l->n_arrays; i++) {
        const struct array_place *a = &l->arrays[i];
        fprintf(f, "%s{\"name\":", i ? "," : "");
        base_json_string(f, a->site ? a->site->name : "");
        fprintf(f, ",\"from\":%u,\"bytes\":%u,\"dimensions\":[", a->offset, a->bytes);
        for (unsigned d = 0; a->site && d < 4 && a->site->dimensions[d]; d++)
            fprintf(f, "%s%u", d ? "," : "", a->site->dimensions[d]);
        fprintf(f, "]}");
    }
    fprintf(f, "]");
}

static void write_runs(FILE *f, const struct runs *runs, const void *const *pcs, unsigned n)
{
    static const char *const names[COUNTED_ACCESSES + EVENTS] = {
        [SHARED_LD] = "shared_ld",
        [SHARED_ST] = "shared_st",
        [GLOBAL_LD] = "global_ld",
        [GLOBAL_ST] = "global_st",
        [MATRIX_LD] = "ldmatrix",
        [MATRIX_ST] = "stmatrix",
        [COPY_ST] = "copy",
        [TMA_LD] = "tma_ld",
        [TMA_ST] = "tma_st",
        [TMA_RED] = "tma_red",
        [TMA_OTHER] = "tma",
        [DSHARED_LD] = "dshared_ld",
        [DSHARED_ST] = "dshared_st",
        [DSHARED_ATOMIC] = "dshared_atom",
        [DSHARED_RED] = "dshared_red",
        [DSHARED_TMA_ST] = "tma",
        [DSHARED_TMA_RED] = "tma",
        [COUNTED_ACCESSES + EVENT_BARRIER] = "barrier",
        [COUNTED_ACCESSES + EVENT_WARP_BARRIER] = "warp_barrier",
        [COUNTED_ACCESSES + EVENT_SHUFFLE] = "shuffle",
        [COUNTED_ACCESSES + EVENT_VOTE] = "vote",
        [COUNTED_ACCESSES + EVENT_ATOMIC] = "atomic",
        [COUNTED_ACCESSES + EVENT_MMA] = "mma",
        [COUNTED_ACCESSES + EVENT_WGMMA] = "wgmma",
        [COUNTED_ACCESSES + EVENT_WGMMA_COMMIT] = "wgmma_commit",
        [COUNTED_ACCESSES + EVENT_WGMMA_WAIT] = "wgmma_wait",
        [COUNTED_ACCESSES + EVENT_REGISTERS] = "setmaxnreg",
        [COUNTED_ACCESSES + EVENT_BARRIER_ARRIVE] = "barrier_arrive",
        [COUNTED_ACCESSES + EVENT_CLUSTER_ARRIVE] = "cluster_arrive",
        [COUNTED_ACCESSES + EVENT_CLUSTER_WAIT] = "cluster_wait",
        [COUNTED_ACCESSES + EVENT_EXPONENTIAL] = "exp",
        [COUNTED_ACCESSES + EVENT_COMMIT] = "commit",
        [COUNTED_ACCESSES + EVENT_COPY_WAIT] = "copy_wait",
        [COUNTED_ACCESSES + EVENT_BULK_COMMIT] = "bulk_commit",
        [COUNTED_ACCESSES + EVENT_BULK_WAIT_READ] = "bulk_wait_read",
        [COUNTED_ACCESSES + EVENT_BULK_WAIT] = "bulk_wait",
        [COUNTED_ACCESSES + EVENT_COPY_ARRIVE] = "copy_arrive",
        [COUNTED_ACCESSES + EVENT_ARRIVE] = "arrive",
        [COUNTED_ACCESSES + EVENT_PHASE_WAIT] = "phase_wait",
    };
    fprintf(f, "[");
    for (unsigned i = 0; i < runs->n; i++) {
        const struct run *r = &runs->run[i];
        const void **place = bsearch(&r->pc, pcs, n, sizeof *pcs, by_address);
        fprintf(f, "%s[\"%s\",%u,%u,%u,%u,%u,%u", i ? "," : "", names[r->what], (unsigned)(place - (const void **)pcs),
                r->count, r->of.object, r->of.phase, r->touched[0].from, r->touched[0].to);
        if (r->touched[1].to)
            fprintf(f, ",%u,%u", r->touched[1].from, r->touched[1].to);
        fprintf(f, "]");
    }
    fprintf(f, "]");
}

void timeline_end_launch(const struct launch *l)
{
    const struct timeline *t = &recorded;
    if (!t->begun)
        return;
    recorded.begun = false;
    FILE *f = fopen(file, "a");
    const void **pcs = malloc((t->n_runs + 1) * sizeof *pcs);
    if (!pcs)
        base_out_of_memory();
    if (!f) {
        fprintf(stderr, "simt: cannot write SIMT_TIMELINE=%s\n", file);
        exit(2);
    }
    const unsigned *grid = l->asked->grid, *block = l->asked->block, n = collect_places(t, pcs);
    fprintf(f, "{\"kernel\":");
    base_json_string(f, l->kernel->name);
    fprintf(f, ",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],\"index\":[%u,%u,%u],\"cut_off\":%s", grid[0], grid[1],
            grid[2], block[0], block[1], block[2], t->index[0], t->index[1], t->index[2],
            t->cut_off ? "true" : "false");
    write_arrays(f, l);
    write_places(f, pcs, n);
    fprintf(f, ",\"warps\":[");
    for (unsigned warp = 0; warp * WARP < l->threads; warp++) {
        fprintf(f, "%s", warp ? "," : "");
        write_runs(f, &t->warps[warp].done, pcs, n);
    }
    fprintf(f, "]}\n");
    fclose(f);
    free(pcs);
}

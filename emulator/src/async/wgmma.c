/* Products of a warpgroup, from their issue to the waits of its four warps (PTX ISA, "Asynchronous Warpgroup Level Matrix
 * Instructions").
 *
 * The accumulators of a warpgroup are one object for as long as products on them are in flight: a matrix of sums, which
 * products are added to in the order of their issue, and the variables of 128 threads that it goes to. */
#include "async/wgmma.h"
#include "async/flight.h"
#include "base/lines.h"
#include "base/report.h"
#include "block/async.h"
#include "block/worker.h"
#include "memory/place.h"
#include "memory/shared.h"
#include "order/access.h"
#include "order/registers.h"
#include "warp/descriptor.h"
#include "warp/matrix_layout.h"
#include <stdlib.h>
#include <string.h>

#define CALL "wgmma.mma_async"
#define THREADS (WARPGROUP * WARP)
#define MOST_ACCUMULATORS (MOST_SUMS / THREADS) /* of a thread */
#define REGISTER 4                              /* bytes */
#define POISON 0x7fffffffu                      /* NaN of fp32; of fp16, twice: */
#define POISON16 0x7fff7fffu

struct accumulators { /* of a warpgroup, while any of its warps has a product on them in flight */
    struct accumulators *next;
    struct product product; /* the last */
    const struct layout *layout;
    const void *pc;                            /* where the last was issued, */
    uint32_t stamp;                            /* when, by the engine's, */
    u64 group[WARPGROUP];                      /* and how many groups each warp had committed before */
    unsigned n;                                /* of each thread */
    bool in_flight[WARPGROUP];                 /* of each warp */
    union number sums[MOST_SUMS];              /* [m, n] */
    void *places[THREADS * MOST_ACCUMULATORS]; /* [THREADS][n] */
};

struct issued { /* a product that some warp has not waited for */
    struct issued *next;
    const void *pc;
    struct product product;
    const struct product_layouts *layouts;
    struct shared_operand a, b;
    bool from_registers, accumulates, negates, computed;
    bool waited_for[WARPGROUP]; /* by each warp */
    u64 group[WARPGROUP];       /* how many each warp had committed before */
    uint32_t stamp;
    struct accumulators *sums;
    uint32_t values[THREADS][A_REGISTERS]; /* of A, if it is in registers */
    void *places[THREADS][A_REGISTERS];
};

struct warpgroup {
    struct issued *first, *last;               /* in the order of their issue */
    struct accumulators *accumulators, *spare; /* in use, and their memory for others */
    u64 committed[WARPGROUP];                  /* groups, of each warp */
    struct waited waited[WARPGROUP];
};

static unsigned number_of(unsigned warp) { return warp / WARPGROUP; }

static struct warpgroup *warpgroup_of(struct block *b, unsigned warp)
{
    struct warpgroup **g = &flight_of(b)->warpgroups[number_of(warp)];
    if (!*g)
        *g = calloc(1, sizeof **g);
    if (!*g)
        base_out_of_memory();
    return *g;
}

static struct engine *engine_of_products(struct block *b, unsigned warp)
{
    return &flight_of(b)->products[number_of(warp)];
}

static void *const *places_of(const struct accumulators *s, unsigned thread) { return s->places + thread * s->n; }

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory)
        base_out_of_memory();
    return memory;
}

/* ---- do all threads say the same? ---- */

static const struct wgmma *operands_of(const struct exchange *x, unsigned thread)
{
    return collective_payload(x, thread);
}

static bool same_shape(const struct product *p, const struct product *q)
{
    return p->m == q->m && p->n == q->n && p->k == q->k && p->d == q->d;
}

static void report_disagreement(const struct exchange *x, unsigned thread, const char *what, u64 mine, u64 first)
{
    char did[160];
    unsigned self = x->warp * WARP + thread;
    snprintf(did, sizeof did, "comes to " CALL " with another %s (0x%llx) than the first of its warpgroup (0x%llx)",
             what, mine, first);
    report_call_of(x->b, self, "divergent collective", x->b->threads[self].pc, did, WARPGROUP_RULE);
}

static void check_agreement(const struct exchange *x)
{
    const struct wgmma *first = operands_of(x, 0);
    for (unsigned t = 1; t < THREADS; t++) {
        const struct wgmma *w = operands_of(x, t);
        if (!same_shape(w->product, first->product) || w->n != first->n || w->from_registers != first->from_registers)
            report_disagreement(x, t, "number of columns", w->product->n, first->product->n);
        if (!w->from_registers && w->a != first->a)
            report_disagreement(x, t, "descriptor of A", w->a, first->a);
        if (w->b != first->b)
            report_disagreement(x, t, "descriptor of B", w->b, first->b);
        if (w->accumulates != first->accumulates)
            report_disagreement(x, t, "scale-d", w->accumulates, first->accumulates);
    }
}

/* Each warp counts its groups for itself, and all of them the same. */
static void check_commits(const struct exchange *x, const struct warpgroup *g)
{
    for (unsigned i = 1; i < WARPGROUP; i++) {
        char did[160];
        unsigned self = (x->warp + i) * WARP;
        if (g->committed[i] == g->committed[0])
            continue;
        snprintf(did, sizeof did,
                 "comes to " CALL ", and its warp has committed %llu groups, the first of its warpgroup %llu",
                 g->committed[i], g->committed[0]);
        report_call_of(x->b, self, "divergent collective", x->b->threads[self].pc, did,
                       "wgmma.commit_group is .aligned: all warps of a warpgroup come to it, as often.");
    }
}

/* ---- why something is still in flight ---- */

static void say_unwaited(const struct warpgroup *g, unsigned i, uint32_t stamp, u64 group, char *text, size_t size)
{
    bool committed = group < g->committed[i];
    if (!waited_for_less(&g->waited[i], stamp, group, "product", text, size))
        snprintf(text, size, "Its warp has not waited for it since: wgmma.wait_group is missing%s.",
                 committed ? "" : ", and wgmma.commit_group before it");
}

void wgmma_say_missing(const struct engine *e, const struct flying *f, char *text, size_t size)
{
    if (!waited_for_less(&e->waited, f->stamp, f->group, "product", text, size))
        snprintf(
            text, size,
            "No warp of its warpgroup has waited for it since: it has read its operands behind wgmma.wait_group alone.");
}

/* Is any of these registers in those bytes? */
static bool any_in(void *const *registers, unsigned n, const void *address, unsigned bytes)
{
    const unsigned char *first = address;
    for (unsigned i = 0; i < n; i++) {
        const unsigned char *at = registers[i];
        if (at && at < first + bytes && first < at + REGISTER)
            return true;
    }
    return false;
}

void async_say_unlanded(struct block *b, unsigned thread, const void *address, unsigned bytes, char *text, size_t size)
{
    const struct warpgroup *g = warpgroup_of(b, thread / WARP);
    unsigned t = thread % THREADS, warp = t / WARP;
    text[0] = 0;
    for (const struct issued *p = g->first; p; p = p->next)
        if (p->from_registers && !p->waited_for[warp] && any_in(p->places[t], A_REGISTERS, address, bytes))
            say_unwaited(g, warp, p->stamp, p->group[warp], text, size);
    for (const struct accumulators *s = g->accumulators; s; s = s->next)
        if (s->in_flight[warp] && any_in(places_of(s, t), s->n, address, bytes))
            say_unwaited(g, warp, s->stamp, s->group[warp], text, size);
}

/* ---- what is read in shared memory ---- */

struct reading { /* of the engine */
    struct block *b;
    const void *pc;
    unsigned warp; /* the first of its warpgroup */
    uint32_t stamp;
};

static struct access reading_access(const struct reading *r, const unsigned char *from, unsigned bytes, unsigned thread)
{
    struct access a = access_of(r->b, r->pc, from, bytes, ACCESS_LOAD);
    a.thread = r->warp * WARP + thread;
    a.engine = engine_of(PRODUCTS, number_of(r->warp));
    a.stamp = r->stamp;
    a.proxy = ASYNC_PROXY;
    return a;
}

static const char *operand_name(const struct shared_operand *o) { return o->operand == OPERAND_A ? "A" : "B"; }

static void report_outside(const struct reading *r, const struct shared_operand *o, uint32_t offset, unsigned i)
{
    char why[500];
    struct descriptor d = descriptor_of(o->descriptor);
    struct access a = reading_access(r, r->b->arena + offset, VECTOR_BYTES, 0);
    unsigned in_vector = 8 * VECTOR_BYTES / element_bits(o->type), of_k = 2 * in_vector;
    unsigned line = o->mn_major ? i / of_k * in_vector : i / 2, k = o->mn_major ? i % of_k : i % 2 * in_vector;
    snprintf(
        why, sizeof why,
        "There is %s %u of %s at k = %u, by a descriptor of 0x%016llx: start 0x%x, leading offset %u and stride offset %u "
        "bytes, a swizzle of %u bytes. All of it has to lie in the array in which it begins.",
        o->operand == OPERAND_A ? "row" : "column", line, operand_name(o), k, o->descriptor, d.start, d.leading,
        d.stride, d.width == 1 ? 0 : d.width * VECTOR_BYTES);
    report_access(&a, "out of bounds", why);
}

/* All of it lies in the array in which it begins. */
static unsigned find_vectors(const struct reading *r, const struct shared_operand *o, uint32_t offsets[MOST_VECTORS])
{
    unsigned n = descriptor_vectors(o, offsets);
    const struct object *array = shared_find(r->b, descriptor_of(o->descriptor).start, 1);
    for (unsigned i = 0; i < n; i++) {
        size_t within = array ? (size_t)(r->b->arena + offsets[i] - array->base) : 0;
        if (!array || within + VECTOR_BYTES > array->bytes || offsets[i] + VECTOR_BYTES > SHARED_BYTES)
            report_outside(r, o, offsets[i], i);
    }
    return n;
}

/* ---- checks: who reads, and what must stay ---- */

/* Each thread of the warpgroup has a part of it, so that any is found that does not know what was written there. */
static void touch(const struct reading *r, const struct flying *f)
{
    for (unsigned i = 0; i < f->n_pieces; i++) {
        struct access a = reading_access(r, f->many[i].from, f->many[i].bytes, i * THREADS / f->n_pieces);
        access_touch(&a);
    }
}

/* Neighbours become one piece. */
static unsigned add_pieces(struct block *b, struct piece *pieces, unsigned n_pieces, const uint32_t *offsets,
                           unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const unsigned char *from = b->arena + offsets[i];
        struct piece *last = n_pieces ? &pieces[n_pieces - 1] : NULL;
        if (last && from == last->from + last->bytes) {
            last->bytes += VECTOR_BYTES;
        } else if (last && from + VECTOR_BYTES == last->from) {
            last->from = from;
            last->bytes += VECTOR_BYTES;
        } else {
            pieces[n_pieces++] = (struct piece){.from = from, .bytes = VECTOR_BYTES};
        }
    }
    return n_pieces;
}

static void hold(struct block *b, const struct flying *f)
{
    for (unsigned i = 0; i < f->n_pieces; i++)
        guard_hold(b, f->many[i].from, f->many[i].bytes);
}

static void let_go(struct block *b, struct engine *e)
{
    const struct flying *f = engine_oldest(e);
    for (unsigned i = 0; i < f->n_pieces; i++)
        guard_free(b, f->many[i].from, f->many[i].bytes);
    e->landed = f->stamp;
    engine_remove_oldest(e);
}

/* From now on until a wait its operands in shared memory are to be read alone. */
static void announce(const struct reading *r, const struct issued *p, u64 group)
{
    uint32_t a[MOST_VECTORS], b[MOST_VECTORS];
    unsigned n_a = p->from_registers ? 0 : find_vectors(r, &p->a, a), n_b = find_vectors(r, &p->b, b);
    if (!simt_checked)
        return;
    struct engine *e = engine_of_products(r->b, r->warp);
    struct flying *f = engine_add(e);
    *f = (struct flying){.call = CALL,
                         .pc = r->pc,
                         .block = r->b,
                         .thread = r->warp * WARP,
                         .stamp = r->stamp,
                         .issued = r->b->now,
                         .group = group};
    f->many = allocate((n_a + n_b) * sizeof *f->many);
    f->n_pieces = add_pieces(r->b, f->many, 0, a, n_a);
    f->n_pieces = add_pieces(r->b, f->many, f->n_pieces, b, n_b);
    touch(r, f);
    hold(r->b, f);
    counters_wgmma(r->b, r->warp, r->pc, (struct vectors_read){a, n_a}, (struct vectors_read){b, n_b});
}

/* ---- accumulators ---- */

/* What the threads of a warp hold. */
static void gather_sums(struct accumulators *s, unsigned warp, struct dense *d)
{
    const struct layout *l = s->layout;
    for (unsigned lane = 0; lane < WARP; lane++)
        for (unsigned i = 0; i < s->n; i++)
            memcpy(&d->packed[lane * s->n + i], places_of(s, warp * WARP + lane)[i], sizeof *d->packed);
    dense_widen(l->type, d->packed, WARP * l->distinct, d->wide);
    for (unsigned lane = 0; lane < WARP; lane++)
        for (unsigned i = 0; i < l->distinct; i++)
            s->sums[layout_at(l, warp * WARP + lane, i)] = d->wide[lane * l->distinct + i];
}

static void poison(const struct accumulators *s, unsigned warp)
{
    uint32_t nan = s->layout->type == E_F16 ? POISON16 : POISON;
    for (unsigned thread = warp * WARP; thread < (warp + 1) * WARP; thread++)
        for (unsigned i = 0; i < s->n; i++)
            memcpy(places_of(s, thread)[i], &nan, sizeof nan);
}

static void close_accumulators(struct block *b, const struct accumulators *s, unsigned first, unsigned warp,
                               const void *pc)
{
    for (unsigned t = warp * WARP; simt_checked && t < (warp + 1) * WARP; t++)
        registers_close(b, first * WARP + t, places_of(s, t), s->n, REGISTER, true, CALL, pc);
}

static void open_accumulators(struct block *b, const struct accumulators *s, unsigned first, unsigned warp)
{
    for (unsigned t = warp * WARP; simt_checked && t < (warp + 1) * WARP; t++)
        registers_open(b, first * WARP + t, places_of(s, t), s->n, REGISTER, true);
}

/* A warp has waited for all products on them. */
static void land(struct accumulators *s, unsigned warp, struct dense *d)
{
    const struct layout *l = s->layout;
    for (unsigned lane = 0; lane < WARP; lane++)
        for (unsigned i = 0; i < l->distinct; i++)
            d->wide[lane * l->distinct + i] = s->sums[layout_at(l, warp * WARP + lane, i)];
    dense_narrow(l->type, d->wide, WARP * l->distinct, d->packed);
    for (unsigned lane = 0; lane < WARP; lane++)
        for (unsigned i = 0; i < s->n; i++)
            memcpy(places_of(s, warp * WARP + lane)[i], &d->packed[lane * s->n + i], sizeof *d->packed);
    s->in_flight[warp] = false;
}

/* The lanes of a warp come from one place in the program: their variables are alike. */
static struct accumulators *find_accumulators(struct warpgroup *g, const struct exchange *x)
{
    const struct wgmma *w = operands_of(x, 0);
    for (struct accumulators *s = g->accumulators; s; s = s->next) {
        bool same = same_shape(&s->product, w->product);
        for (unsigned t = 0; t < THREADS && same; t += WARP)
            same = memcmp(places_of(s, t), operands_of(x, t)->accumulators, s->n * sizeof *s->places) == 0;
        if (same)
            return s;
    }
    return NULL;
}

static struct accumulators *new_accumulators(struct warpgroup *g, const struct exchange *x)
{
    struct accumulators *s = g->spare ? g->spare : allocate(sizeof *s);
    if (g->spare)
        g->spare = s->next;
    s->next = g->accumulators;
    g->accumulators = s;
    s->n = operands_of(x, 0)->n;
    s->layout = &matrix_layouts(operands_of(x, 0)->product)->operands[OPERAND_D];
    memset(s->in_flight, 0, sizeof s->in_flight);
    for (unsigned t = 0; t < THREADS; t++)
        memcpy(s->places + t * s->n, operands_of(x, t)->accumulators, s->n * sizeof *s->places);
    return s;
}

static bool any_in_flight(const struct accumulators *s)
{
    bool any = false;
    for (unsigned i = 0; i < WARPGROUP; i++)
        any |= s->in_flight[i];
    return any;
}

static void drop_landed(struct warpgroup *g)
{
    for (struct accumulators **at = &g->accumulators; *at;) {
        struct accumulators *s = *at;
        if (any_in_flight(s)) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        s->next = g->spare;
        g->spare = s;
    }
}

/* ---- issue ---- */

static void begin_sums(const struct exchange *x, struct accumulators *s, const struct issued *p)
{
    for (unsigned warp = 0; warp < WARPGROUP; warp++) {
        if (s->in_flight[warp])
            continue;
        if (p->accumulates)
            gather_sums(s, warp, dense_buffers());
        s->in_flight[warp] = true;
        poison(s, warp);
        close_accumulators(x->b, s, x->warp, warp, p->pc);
    }
}

static void close_factors(const struct exchange *x, const struct issued *p)
{
    for (unsigned t = 0; simt_checked && p->from_registers && t < THREADS; t++)
        registers_close(x->b, x->warp * WARP + t, p->places[t], A_REGISTERS, REGISTER, false, CALL, p->pc);
}

static void open_factors(struct block *b, const struct issued *p, unsigned first, unsigned warp)
{
    for (unsigned t = warp * WARP; simt_checked && p->from_registers && t < (warp + 1) * WARP; t++)
        registers_open(b, first * WARP + t, p->places[t], A_REGISTERS, REGISTER, false);
}

/* ---- checks: the registers ---- */

static void report_unfenced(const struct exchange *x, unsigned thread, const struct unfenced *u, const char *what)
{
    static const char why
        [] = "wgmma.fence makes known to the tensor core what threads have done with registers: it stands before the "
             "first product, and again behind each change of an accumulator or of a register of A.";
    char did[96];
    unsigned self = x->warp * WARP + thread;
    const void *pc = x->b->threads[self].pc;
    if (u->never)
        report_call_of(x->b, self, "missing wgmma.fence", pc, "begins a product, and has done no wgmma.fence before",
                       why);
    snprintf(did, sizeof did, "wrote %s, behind its last wgmma.fence,", what);
    report_two_calls(x->b, self, "missing wgmma.fence", pc, "begins a product", u->pc, did, why);
}

static void check_fences(const struct exchange *x, unsigned thread, bool chained)
{
    const struct wgmma *w = operands_of(x, thread);
    unsigned self = x->warp * WARP + thread;
    struct unfenced u;
    if (!chained && registers_unfenced(x->b, self, w->accumulators, w->n, REGISTER, &u))
        report_unfenced(x, thread, &u, "an accumulator");
    if (w->from_registers && registers_unfenced(x->b, self, w->places, A_REGISTERS, REGISTER, &u))
        report_unfenced(x, thread, &u, "a register of A");
}

static void report_register(const struct exchange *x, unsigned thread, const char *kind, const char *did,
                            const void *issued, const char *before, const void *variable)
{
    char why[600];
    unsigned self = x->warp * WARP + thread;
    async_say_unlanded(x->b, self, variable, REGISTER, why, sizeof why);
    report_two_calls(x->b, self, kind, x->b->threads[self].pc, did, issued, before, why);
}

static bool ranges_meet(void *const *one, unsigned n_one, void *const *other, unsigned n_other)
{
    const void *low = one[0], *high = one[0];
    bool meet = false;
    for (unsigned i = 1; i < n_one; i++) {
        low = one[i] < low ? one[i] : low;
        high = one[i] > high ? one[i] : high;
    }
    for (unsigned i = 0; i < n_other; i++)
        meet |= other[i] >= low && other[i] <= high;
    return meet;
}

/* A variable that is among both; NULL: none. */
static const void *shared_variable(void *const *one, unsigned n_one, void *const *other, unsigned n_other)
{
    for (unsigned i = 0; i < n_other && ranges_meet(one, n_one, other, n_other); i++)
        if (other[i] && any_in(one, n_one, other[i], REGISTER))
            return other[i];
    return NULL;
}

/* Of products in flight accumulators may be used again as they are, in no other shape or order, and not as A; and registers of A not
 * as accumulators. */
static void check_registers_in_flight(const struct exchange *x, const struct warpgroup *g, unsigned thread,
                                      const struct accumulators *own)
{
    const struct wgmma *w = operands_of(x, thread);
    const void *found;
    for (const struct accumulators *s = g->accumulators; s; s = s->next) {
        if (!s->in_flight[thread / WARP])
            continue;
        found = s == own ? NULL : shared_variable(places_of(s, thread), s->n, w->accumulators, w->n);
        if (found)
            report_register(x, thread, "accumulator in flight",
                            "begins a product on accumulators of another that is in flight", s->pc,
                            "began that one, of another shape or with them in another order,", found);
        found = w->from_registers ? shared_variable(places_of(s, thread), s->n, w->places, A_REGISTERS) : NULL;
        if (found)
            report_register(x, thread, "accumulator in flight",
                            "begins a product of which A is in accumulators that are in flight", s->pc,
                            "began the product on them", found);
    }
    for (const struct issued *p = g->first; p; p = p->next) {
        bool in_flight = p->from_registers && !p->waited_for[thread / WARP];
        found = in_flight ? shared_variable(w->accumulators, w->n, p->places[thread], A_REGISTERS) : NULL;
        if (found)
            report_register(x, thread, "operand register in flight",
                            "begins a product on accumulators that are A of another", p->pc, "began that one", found);
    }
}

static void check_registers(const struct exchange *x, const struct warpgroup *g, const struct accumulators *s)
{
    for (unsigned t = 0; t < THREADS; t++) {
        if (t % WARP == 0)
            check_registers_in_flight(x, g, t, s);
        check_fences(x, t, s && s->in_flight[t / WARP]);
    }
}

static struct issued *describe(const struct exchange *x, const struct warpgroup *g, const struct reading *r)
{
    const struct wgmma *w = operands_of(x, 0);
    const struct product *of = w->product;
    struct issued *p = allocate(w->from_registers ? sizeof *p : offsetof(struct issued, values));
    p->next = NULL;
    p->pc = r->pc;
    p->product = *of;
    p->layouts = matrix_layouts(of);
    p->a = (struct shared_operand){w->a, OPERAND_A, of->a, of->m, w->a_is_mn_major};
    p->b = (struct shared_operand){w->b, OPERAND_B, of->b, of->n, w->b_is_mn_major};
    p->from_registers = w->from_registers;
    p->accumulates = w->accumulates;
    p->negates = w->negates;
    p->computed = false;
    p->stamp = r->stamp;
    for (unsigned warp = 0; warp < WARPGROUP; warp++) {
        p->waited_for[warp] = false;
        p->group[warp] = g->committed[warp];
    }
    for (unsigned t = 0; t < THREADS && w->from_registers; t++) {
        memcpy(p->values[t], operands_of(x, t)->values, sizeof p->values[t]);
        memcpy(p->places[t], operands_of(x, t)->places, sizeof p->places[t]);
    }
    return p;
}

static void issue(const struct exchange *x)
{
    struct block *b = x->b;
    struct warpgroup *g = warpgroup_of(b, x->warp);
    struct engine *e = engine_of_products(b, x->warp);
    check_agreement(x);
    if (simt_checked)
        check_commits(x, g);
    e->issued++;
    struct reading r = {b, b->threads[x->warp * WARP].pc, x->warp, e->issued};
    struct issued *p = describe(x, g, &r);
    struct accumulators *s = find_accumulators(g, x);
    if (simt_checked)
        check_registers(x, g, s);
    announce(&r, p, g->committed[0]);
    if (!s)
        s = new_accumulators(g, x);
    begin_sums(x, s, p);
    close_factors(x, p);
    s->product = p->product;
    s->pc = r.pc;
    s->stamp = r.stamp;
    memcpy(s->group, p->group, sizeof s->group);
    p->sums = s;
    if (g->last)
        g->last->next = p;
    else
        g->first = p;
    g->last = p;
}

static const struct collective_op issue_op = {WARPGROUP_COLLECTIVE(CALL), .event = EVENTS, .exchange = issue};

void wgmma_issue(const struct wgmma *w, const void *pc) { collective_join(&issue_op, ~0u, (void *)(uintptr_t)w, pc); }

/* ---- computing ---- */

static void gather_registers(const struct issued *p, struct dense *d)
{
    const struct layout *l = &p->layouts->operands[OPERAND_A];
    dense_widen(l->type, p->values, THREADS * l->distinct, d->wide);
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned i = 0; i < l->distinct; i++)
            d->a[layout_at(l, t, i)] = d->wide[t * l->distinct + i];
}

static void negate(union number *numbers, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        numbers[i].bits ^= 0x80000000u;
}

static void compute(struct block *b, struct issued *p)
{
    struct dense *d = dense_buffers();
    const struct product *of = &p->product;
    unsigned n = of->m * of->n;
    union number *sums = p->sums->sums;
    if (p->from_registers)
        gather_registers(p, d);
    else
        descriptor_gather(&p->a, b->arena, d, d->a);
    if (p->negates)
        negate(d->a, of->m * of->k);
    descriptor_gather(&p->b, b->arena, d, d->b);
    if (!p->accumulates)
        memset(sums, 0, n * sizeof *sums);
    dense_multiply(of, d->a, d->b, sums);
    if (of->d == E_F16) { /* as the next product finds them in registers */
        dense_narrow(E_F16, sums, n, d->packed);
        dense_widen(E_F16, d->packed, n, sums);
    }
    p->computed = true;
}

/* ---- groups ---- */

static void fence(const struct exchange *x)
{
    for (unsigned lane = 0; simt_checked && lane < WARP; lane++)
        registers_fence(x->b, x->warp * WARP + lane);
}

static void commit(const struct exchange *x) { warpgroup_of(x->b, x->warp)->committed[x->warp % WARPGROUP]++; }

/* Of those that the warp has waited for, the last one's stamp. */
static uint32_t finish_products(struct block *b, struct warpgroup *g, unsigned warp, u64 groups)
{
    uint32_t stamp = 0;
    unsigned i = warp % WARPGROUP;
    for (struct issued *p = g->first; p && p->group[i] < groups; p = p->next) {
        if (!p->computed) {
            compute(b, p);
            if (simt_checked)
                let_go(b, engine_of_products(b, warp));
        }
        if (!p->waited_for[i])
            open_factors(b, p, warp - i, i);
        p->waited_for[i] = true;
        stamp = p->stamp;
    }
    return stamp;
}

static bool all_have_waited(const struct issued *p)
{
    bool all = true;
    for (unsigned i = 0; i < WARPGROUP; i++)
        all &= p->waited_for[i];
    return all;
}

static void drop_waited_for(struct warpgroup *g)
{
    while (g->first && all_have_waited(g->first)) {
        struct issued *p = g->first;
        g->first = p->next;
        free(p);
    }
    if (!g->first)
        g->last = NULL;
}

static void wait(const struct exchange *x)
{
    struct block *b = x->b;
    struct warpgroup *g = warpgroup_of(b, x->warp);
    unsigned left = *(const unsigned *)collective_payload(x, 0), i = x->warp % WARPGROUP;
    u64 groups = g->committed[i] > left ? g->committed[i] - left : 0;
    uint32_t stamp = finish_products(b, g, x->warp, groups);
    for (struct accumulators *s = g->accumulators; s; s = s->next) {
        if (!s->in_flight[i] || s->stamp > stamp)
            continue;
        open_accumulators(b, s, x->warp - i, i);
        land(s, i, dense_buffers());
    }
    drop_landed(g);
    drop_waited_for(g);
    struct engine *e = engine_of_products(b, x->warp);
    g->waited[i] = e->waited = (struct waited){b->threads[x->warp * WARP].pc, e->issued, g->committed[i], left};
    for (unsigned lane = 0; simt_checked && lane < WARP; lane++)
        order_learn(b, x->warp * WARP + lane, e->actor, stamp);
}

static const struct collective_op fence_op = {COLLECTIVE("wgmma.fence"), .event = EVENTS, .whole = true,
                                              .exchange = fence};
static const struct collective_op commit_op = {COLLECTIVE("wgmma.commit_group"), .event = EVENT_WGMMA_COMMIT,
                                               .whole = true, .exchange = commit};
static const struct collective_op wait_op = {COLLECTIVE("wgmma.wait_group"), .event = EVENTS, .whole = true,
                                             .exchange = wait};

void wgmma_fence(const void *pc) { collective_join(&fence_op, ~0u, NULL, pc); }
void wgmma_commit(const void *pc) { collective_join(&commit_op, ~0u, NULL, pc); }
void wgmma_wait(unsigned groups_left, const void *pc)
{
    counters_event_of(running(), pc, EVENT_WGMMA_WAIT, groups_left, 0);
    collective_join_as(&wait_op, groups_left, ~0u, &groups_left, pc);
}

/* ---- ends ---- */

void wgmma_thread_left(struct block *b)
{
    unsigned warp = b->cur / WARP, i = warp % WARPGROUP;
    const struct warpgroup *g = b->flight ? b->flight->warpgroups[number_of(warp)] : NULL;
    if (!g || !simt_checked)
        return;
    for (const struct issued *p = g->first; p; p = p->next) {
        char why[600];
        if (p->waited_for[i])
            continue;
        say_unwaited(g, i, p->stamp, p->group[i], why, sizeof why);
        report_call_of(b, b->cur, "product unfinished", p->pc, "begins a product, and ends before it is done", why);
    }
}

void wgmma_begin_block(struct block *b)
{
    for (unsigned i = 0; i < MAX_WARPS / WARPGROUP; i++) {
        struct warpgroup *g = b->flight->warpgroups[i];
        engine_clear(&b->flight->products[i]);
        if (!g)
            continue;
        for (struct accumulators *s = g->accumulators; s; s = s->next)
            memset(s->in_flight, 0, sizeof s->in_flight);
        drop_landed(g);
        while (g->first) {
            struct issued *p = g->first;
            g->first = p->next;
            free(p);
        }
        *g = (struct warpgroup){.spare = g->spare};
    }
}

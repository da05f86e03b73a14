/* Collectives: __syncwarp, shuffles, votes, matches, reductions; and how the lanes of any collective meet.
 *
 * A lane comes with its payload and waits. As the PTX ISA says of the .sync forms, the exchange takes place when all
 * lanes named in the mask that have not left have come with the same operation, its qualifiers and the same mask, from
 * whatever place of the program; the last to arrive computes for all. What a shuffle reads from a lane that the mask does
 * not name, or that has left, is undefined. In a collective of a warpgroup the same lanes of four warps meet. */
#include "warp/collective.h"
#include "base/lines.h"
#include "base/report.h"
#include "block/launch.h"
#include "block/worker.h"
#include "order/access.h"
#include "order/undefined.h"

static struct collective *call_of(const struct block *b, unsigned warp, unsigned lane)
{
    return b->threads[warp * WARP + lane].call;
}

#define EACH_LANE(lane, lanes) \
    for (uint32_t rest_ = (lanes), lane = 0; rest_ && (lane = (uint32_t)__builtin_ctz(rest_), true); rest_ &= rest_ - 1)

/* ---- the operations ---- */

struct shuffle {
    enum simt_shuffle how;
    u64 bits, result;
    int by, width;
};

/* Which lane does this one read? Out of its segment: its own (PTX ISA, shfl.sync). */
static unsigned source_lane(const struct shuffle *s, unsigned lane)
{
    int width = s->width;
    int segment = (int)lane & ~(width - 1);
    int at = (int)lane - segment;
    int from = at;
    switch (s->how) {
    case SIMT_SHUFFLE_INDEX: from = s->by & (width - 1); break;
    case SIMT_SHUFFLE_UP: from = at - s->by; break;
    case SIMT_SHUFFLE_DOWN: from = at + s->by; break;
    case SIMT_SHUFFLE_XOR: from = at ^ s->by; break;
    }
    return from < 0 || from >= width ? lane : (unsigned)(segment + from);
}

static u64 read_absent(const struct exchange *x, unsigned lane, unsigned from)
{
    unsigned thread = x->warp * WARP + lane;
    struct undefined_read read = {.pc = x->b->threads[thread].pc, .thread = thread, .from = from, .mask = x->mask};
    return undefined_read(x->b, &read);
}

static void shuffle(const struct exchange *x)
{
    EACH_LANE(lane, x->lanes[0])
    {
        struct shuffle *s = collective_payload(x, lane);
        unsigned from = source_lane(s, lane);
        if (x->lanes[0] >> from & 1)
            s->result = ((const struct shuffle *)collective_payload(x, from))->bits;
        else
            s->result = read_absent(x, lane, from);
    }
}

struct vote {
    int predicate;
    unsigned result;
};

static void ballot(const struct exchange *x)
{
    unsigned yes = 0;
    EACH_LANE(lane, x->lanes[0])
    {
        const struct vote *v = collective_payload(x, lane);
        if (v->predicate)
            yes |= 1u << lane;
    }
    EACH_LANE(lane, x->lanes[0]) { ((struct vote *)collective_payload(x, lane))->result = yes; }
}

struct match {
    u64 bits;
    unsigned result;
};

static void match(const struct exchange *x)
{
    EACH_LANE(lane, x->lanes[0])
    {
        struct match *m = collective_payload(x, lane);
        m->result = 0;
        EACH_LANE(other, x->lanes[0])
        {
            m->result |= (unsigned)(((const struct match *)collective_payload(x, other))->bits == m->bits) << other;
        }
    }
}

struct reduction {
    enum simt_reduce how;
    unsigned value, result;
};

static unsigned reduced(enum simt_reduce how, unsigned a, unsigned b)
{
    switch (how) {
    case SIMT_REDUCE_ADD: return a + b;
    case SIMT_REDUCE_MIN: return (int)a < (int)b ? a : b;
    case SIMT_REDUCE_MAX: return (int)a > (int)b ? a : b;
    case SIMT_REDUCE_UMIN: return a < b ? a : b;
    case SIMT_REDUCE_UMAX: return a > b ? a : b;
    case SIMT_REDUCE_AND: return a & b;
    case SIMT_REDUCE_OR: return a | b;
    case SIMT_REDUCE_XOR: return a ^ b;
    }
    return 0;
}

static void reduce(const struct exchange *x)
{
    unsigned result = 0;
    bool first = true;
    EACH_LANE(lane, x->lanes[0])
    {
        const struct reduction *r = collective_payload(x, lane);
        result = first ? r->value : reduced(r->how, result, r->value);
        first = false;
    }
    EACH_LANE(lane, x->lanes[0]) { ((struct reduction *)collective_payload(x, lane))->result = result; }
}

void collective_describe(FILE *f, const struct thread *t) { fprintf(f, ", mask 0x%08x,", t->call->mask); }

static const struct collective_op sync_op = {COLLECTIVE("__syncwarp()"), .event = EVENT_WARP_BARRIER, .orders = true};
static const struct collective_op shuffle_op = {COLLECTIVE("a shuffle"), .event = EVENT_SHUFFLE, .exchange = shuffle};
static const struct collective_op ballot_op = {COLLECTIVE("a vote"), .event = EVENT_VOTE, .exchange = ballot};
static const struct collective_op match_op = {COLLECTIVE("a match"), .event = EVENT_VOTE, .exchange = match};
static const struct collective_op reduce_op = {COLLECTIVE("a warp reduction"), .event = EVENT_VOTE, .exchange = reduce};
static const struct collective_op active_op = {COLLECTIVE("__activemask()")};

/* ---- meeting ---- */

static bool waits_in_collective(const struct thread *t)
{
    return t->waits_for && t->call && t->waits_for == &t->call->waiting;
}

static bool have_come(const struct block *b, unsigned warp, uint32_t lanes, const struct collective *c)
{
    EACH_LANE(lane, lanes)
    {
        const struct thread *t = &b->threads[warp * WARP + lane];
        if (!waits_in_collective(t) || t->call->op != c->op || t->call->qualifiers != c->qualifiers ||
            t->call->mask != c->mask)
            return false;
    }
    return true;
}

static unsigned first_warp(const struct collective_op *op, unsigned warp)
{
    return op->of_warpgroup ? warp / WARPGROUP * WARPGROUP : warp;
}

static unsigned warps_of(const struct collective_op *op) { return op->of_warpgroup ? WARPGROUP : 1; }

/* Lanes run in turn: mostly, the one after the running lane has not come. */
static bool warp_complete(const struct block *b, unsigned warp, const struct collective *c)
{
    uint32_t wanted = c->mask & b->warps[warp].live;
    uint32_t after = wanted & ~1u << b->cur % WARP;
    return have_come(b, warp, after, c) && have_come(b, warp, wanted & ~after, c);
}

/* A block may end in the middle of a warpgroup. */
static bool has_warp(const struct block *b, unsigned warp) { return warp * WARP < b->launch->threads; }

/* c: of a lane of that warp, which has come. */
static bool complete(const struct block *b, unsigned warp, const struct collective *c)
{
    bool all = warp_complete(b, warp, c);
    if (!all || !c->op->of_warpgroup)
        return all;
    unsigned first = first_warp(c->op, warp);
    for (unsigned other = first; other < first + WARPGROUP && all; other++)
        all = other == warp || !has_warp(b, other) || warp_complete(b, other, c);
    return all;
}

/* The lane of an exchange that has the lowest number. */
static unsigned lowest_lane(const struct exchange *x)
{
    unsigned i = 0;
    while (!x->lanes[i])
        i++;
    return i * WARP + (unsigned)__builtin_ctz(x->lanes[i]);
}

/* An instruction that is .aligned: hardware may run lanes apart that come from two places, and then they do not meet. */
static void check_lines(const struct exchange *x, const char *call)
{
    unsigned first = x->warp * WARP + lowest_lane(x);
    const void *pc = x->b->threads[first].pc;
    for (unsigned i = 0; i < x->warps; i++)
        EACH_LANE(lane, x->lanes[i])
        {
            unsigned other = (x->warp + i) * WARP + lane;
            if (!lines_same_call(pc, x->b->threads[other].pc))
                report_divergence(x->b, call, first, pc, other, x->b->threads[other].pc);
        }
}

/* A block of fewer threads, or some have left. */
static void require_whole(const struct exchange *x, const struct collective_op *op)
{
    char did[96];
    unsigned came = 0;
    for (unsigned i = 0; i < x->warps; i++)
        came += (unsigned)__builtin_popcount(x->lanes[i]);
    if (came == x->warps * WARP)
        return;
    snprintf(did, sizeof did, "is in %s, with %u of the %s", op->waiting.call, came,
             op->of_warpgroup ? "128 threads of its warpgroup" : "32 lanes of its warp");
    unsigned first = x->warp * WARP + lowest_lane(x);
    report_call_of(x->b, first, "divergent collective", x->b->threads[first].pc, did,
                   op->of_warpgroup ? "All 128 threads of a warpgroup must take part in it."
                                    : "All 32 lanes of a warp must take part in it.");
}

static void sync_warp(const struct exchange *x)
{
    order_warp_sync(x->b, x->warp, x->lanes[0]);
    EACH_LANE(lane, x->lanes[0])
    {
        __builtin_memset(x->b->threads[x->warp * WARP + lane].turns, 0, sizeof x->b->threads->turns);
    }
}

static void finish(struct block *b, unsigned warp, const struct collective *any)
{
    const struct collective_op *op = any->op;
    struct exchange x = {.b = b, .warp = first_warp(op, warp), .warps = warps_of(op), .mask = any->mask};
    for (unsigned i = 0; i < x.warps; i++)
        x.lanes[i] = has_warp(b, x.warp + i) ? any->mask & b->warps[x.warp + i].live : 0;
    if (op->whole)
        require_whole(&x, op);
    if (simt_checked && op->whole)
        check_lines(&x, op->waiting.call);
    for (unsigned i = 0; i < x.warps; i++)
        if (x.lanes[i] == b->warps[x.warp + i].live)
            counters_warp_joined(b, x.warp + i);
    if (op->exchange)
        op->exchange(&x);
    for (unsigned i = 0; i < x.warps; i++) {
        b->warps[x.warp + i].in_warpgroup &= ~x.lanes[i];
        EACH_LANE(lane, x.lanes[i]) { wake(b, (x.warp + i) * WARP + lane); }
    }
    if (op->orders)
        sync_warp(&x);
}

void collective_lane_left(struct block *b, unsigned warp)
{
    EACH_LANE(lane, b->warps[warp].live)
    {
        struct thread *t = &b->threads[warp * WARP + lane];
        if (waits_in_collective(t) && t->call->op != &active_op && complete(b, warp, t->call))
            finish(b, warp, t->call);
    }
    unsigned first = warp / WARPGROUP * WARPGROUP;
    for (unsigned other = first; other < first + WARPGROUP && has_warp(b, other); other++) {
        uint32_t waiting = b->warps[other].in_warpgroup;
        const struct collective *call = waiting ? call_of(b, other, (unsigned)__builtin_ctz(waiting)) : NULL;
        if (call && complete(b, other, call))
            finish(b, other, call);
    }
}

void collective_join_as(const struct collective_op *op, unsigned qualifiers, unsigned mask, void *payload,
                        const void *pc)
{
    struct block *b = running();
    struct thread *t = current(b);
    struct collective c = {
        .waiting.kind = &op->waiting, .op = op, .qualifiers = qualifiers, .mask = mask, .payload = payload};
    t->pc = pc;
    t->call = &c;
    t->waits_for = &c.waiting;
    if (op->event != EVENTS)
        counters_event(b, pc, op->event);
    if (!(mask >> b->cur % WARP & 1))
        report_outside_mask(b, b->cur);
    if (op->of_warpgroup)
        b->warps[b->cur / WARP].in_warpgroup |= 1u << b->cur % WARP;
    if (complete(b, b->cur / WARP, &c))
        finish(b, b->cur / WARP, &c);
    else
        wait_for(b, &c.waiting, pc);
    t->call = NULL;
}

/* __activemask(): lanes wait here until nobody in the block can run; those at one place then form the mask. */
bool collective_resolve_active(struct block *b)
{
    bool any = false;
    for (unsigned t = 0; t < b->launch->threads; t++) {
        const struct thread *first = &b->threads[t];
        if (has_left(b, t) || !waits_in_collective(first) || first->call->op != &active_op)
            continue;
        uint32_t mask = 0;
        unsigned warp = t / WARP;
        EACH_LANE(lane, b->warps[warp].live)
        {
            const struct thread *other = &b->threads[warp * WARP + lane];
            if (waits_in_collective(other) && other->call->op == &active_op && other->pc == first->pc)
                mask |= 1u << lane;
        }
        EACH_LANE(lane, mask)
        {
            ((struct vote *)call_of(b, warp, lane)->payload)->result = mask;
            wake(b, warp * WARP + lane);
        }
        any = true;
    }
    return any;
}

/* ---- as kernels call them ---- */

void collective_sync(unsigned mask, const void *pc) { collective_join(&sync_op, mask, NULL, pc); }
void simt_warp_sync(unsigned mask) { collective_sync(mask, CALLER()); }

static u64 join_shuffle(unsigned qualifiers, struct shuffle s, unsigned mask, const void *pc)
{
    collective_join_as(&shuffle_op, qualifiers, mask, &s, pc);
    return s.result;
}
unsigned long long simt_warp_shuffle(enum simt_shuffle how, unsigned mask, unsigned long long bits, int by, int width)
{
    struct shuffle s = {.how = how & ~SIMT_SHUFFLE_WIDE, .bits = bits, .by = by, .width = width};
    return join_shuffle(how, s, mask, CALLER());
}
u64 collective_shuffle(enum simt_shuffle how, unsigned mask, u64 bits, unsigned from, const void *pc)
{
    struct shuffle s = {.how = SIMT_SHUFFLE_INDEX, .bits = bits, .by = (int)from, .width = WARP};
    return join_shuffle(how, s, mask, pc);
}

unsigned collective_vote(enum simt_vote how, unsigned mask, bool predicate, const void *pc)
{
    struct vote v = {.predicate = predicate};
    collective_join_as(&ballot_op, how, mask, &v, pc);
    return v.result;
}
unsigned simt_warp_vote(enum simt_vote how, unsigned mask, int predicate)
{
    return collective_vote(how, mask, predicate, CALLER());
}

unsigned collective_match(enum simt_match how, unsigned mask, u64 bits, unsigned bytes, const void *pc)
{
    struct match m = {.bits = bits};
    collective_join_as(&match_op, how << 1 | (bytes > 4), mask, &m, pc);
    return m.result;
}
unsigned simt_warp_match(enum simt_match how, unsigned mask, unsigned long long bits, unsigned bytes)
{
    return collective_match(how, mask, bits, bytes, CALLER());
}

unsigned collective_reduce(enum simt_reduce how, unsigned mask, unsigned value, const void *pc)
{
    struct reduction r = {.how = how, .value = value};
    collective_join_as(&reduce_op, how, mask, &r, pc);
    return r.result;
}
unsigned simt_warp_reduce(enum simt_reduce how, unsigned mask, unsigned value)
{
    return collective_reduce(how, mask, value, CALLER());
}

unsigned collective_active(const void *pc)
{
    struct block *b = running();
    struct vote v = {.predicate = 0};
    struct collective c = {.waiting.kind = &active_op.waiting, .op = &active_op, .payload = &v};
    current(b)->call = &c;
    wait_for(b, &c.waiting, pc);
    current(b)->call = NULL;
    return v.result;
}
unsigned simt_warp_active(void) { return collective_active(CALLER()); }

void simt_bad_partition(unsigned size)
{
    char did[64];
    snprintf(did, sizeof did, "asks for parts of %u threads", size);
    report_call("invalid partition", CALLER(), did, "A part of a group has 1, 2, 4, 8, 16 or 32 threads.");
}

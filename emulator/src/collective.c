/* Warp collectives: __syncwarp, shuffles, votes, matches, reductions.
 *
 * A lane leaves what it brings and waits. As the PTX ISA says of the .sync forms, the exchange takes place when all
 * lanes named in the mask that have not left have come with the same operation and the same mask; the last to arrive
 * computes for all. */
#include "simt.h"

static bool complete(struct worker *w, unsigned warp, const struct collective *c)
{
    uint32_t wanted = c->mask & w->warps[warp].live;
    for (uint32_t rest = wanted; rest; rest &= rest - 1) {
        const struct thread *t = &w->threads[warp * WARP + (unsigned)__builtin_ctz(rest)];
        if (t->wait != WAIT_WARP || t->call->kind != c->kind || t->call->mask != c->mask) return false;
    }
    return wanted != 0;
}

/* The same shuffle or vote, but written at two places: lanes that hardware may run apart, and then they do not meet. */
static void check_lines(struct worker *w, unsigned warp, uint32_t lanes)
{
    unsigned first = warp * WARP + (unsigned)__builtin_ctz(lanes);
    for (uint32_t rest = lanes & (lanes - 1); rest; rest &= rest - 1) {
        unsigned lane = warp * WARP + (unsigned)__builtin_ctz(rest);
        if (!lines_same(w->threads[first].pc, w->threads[lane].pc)) report_divergence(w, first, lane);
    }
}

/* Which lane does this one read? Out of its segment: its own (PTX ISA, shfl.sync). */
static unsigned source_lane(const struct collective *c, unsigned lane)
{
    int width = c->width, segment = (int)lane & ~(width - 1), at = (int)lane - segment, from = at;
    switch (c->how) {
    case SIMT_SHUFFLE_INDEX: from = c->by & (width - 1); break;
    case SIMT_SHUFFLE_UP: from = at - c->by; break;
    case SIMT_SHUFFLE_DOWN: from = at + c->by; break;
    case SIMT_SHUFFLE_XOR: from = at ^ c->by; break;
    }
    return from < 0 || from >= width ? lane : (unsigned)(segment + from);
}

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

/* Over the lanes of `mask`: those that brought what this lane brought; or all of it combined. */
static u64 match_or_reduce(const struct thread *lanes, unsigned mask, const struct collective *c)
{
    unsigned result = 0, n = 0;
    for (unsigned rest = mask; rest; rest &= rest - 1) {
        unsigned lane = (unsigned)__builtin_ctz(rest), value = (unsigned)lanes[lane].call->bits;
        if (c->kind == COLLECTIVE_MATCH) result |= (unsigned)(lanes[lane].call->bits == c->bits) << lane;
        else result = n++ ? reduced(c->reduce, result, value) : value;
    }
    return result;
}

static void finish(struct worker *w, unsigned warp, const struct collective *any)
{
    unsigned mask = any->mask & w->warps[warp].live;
    enum collective_kind kind = any->kind;
    struct thread *lanes = &w->threads[warp * WARP];
    unsigned ballot = 0;
    if (simt_checked && kind != COLLECTIVE_SYNC) check_lines(w, warp, mask);
    if (mask == w->warps[warp].live) counters_warp_joined(w, warp);
    for (unsigned rest = mask; rest; rest &= rest - 1) {
        unsigned lane = (unsigned)__builtin_ctz(rest);
        if (lanes[lane].call->predicate) ballot |= 1u << lane;
    }
    for (unsigned rest = mask; rest; rest &= rest - 1) {
        unsigned lane = (unsigned)__builtin_ctz(rest);
        struct collective *c = lanes[lane].call;
        if (kind == COLLECTIVE_BALLOT) c->result = ballot;
        if (kind == COLLECTIVE_SHUFFLE) {
            unsigned from = source_lane(c, lane);
            c->result = mask >> from & 1 ? lanes[from].call->bits : c->bits;
        }
        if (kind == COLLECTIVE_MATCH || kind == COLLECTIVE_REDUCE) c->result = match_or_reduce(lanes, mask, c);
    }
    for (unsigned rest = mask; rest; rest &= rest - 1) block_wake(w, warp * WARP + (unsigned)__builtin_ctz(rest));
    if (kind == COLLECTIVE_SYNC) race_warp_sync(w, warp, mask);
}

void collective_lane_left(struct worker *w, unsigned warp)
{
    for (unsigned lane = 0; lane < WARP && warp * WARP + lane < w->launch->threads; lane++) {
        struct thread *t = &w->threads[warp * WARP + lane];
        if ((w->warps[warp].live >> lane & 1) && t->wait == WAIT_WARP && complete(w, warp, t->call)) /* an ACTIVE one has no mask */
            finish(w, warp, t->call);
    }
}

/* __activemask(): lanes wait here until nobody in the block can run; those at one place then form the mask. */
bool collective_resolve_active(struct worker *w)
{
    bool any = false;
    for (unsigned t = 0; t < w->launch->threads; t++) {
        struct thread *first = &w->threads[t];
        if (first->wait != WAIT_WARP || first->call->kind != COLLECTIVE_ACTIVE) continue;
        unsigned mask = 0, warp = t / WARP;
        const void *pc = first->pc;
        for (int pass = 0; pass < 2; pass++)
            for (unsigned lane = t % WARP; lane < WARP && warp * WARP + lane < w->launch->threads; lane++) {
                struct thread *other = &w->threads[warp * WARP + lane];
                if (other->wait != WAIT_WARP || other->call->kind != COLLECTIVE_ACTIVE || other->pc != pc) continue;
                if (pass == 0) mask |= 1u << lane;
                else other->call->result = mask, block_wake(w, warp * WARP + lane);
            }
        any = true;
    }
    return any;
}

static u64 meet(struct collective *c, const void *pc, enum event event)
{
    struct worker *w = simt_worker;
    struct thread *t = current(w);
    race_moves_on(w);
    t->pc = pc;
    t->call = c;
    t->wait = WAIT_WARP;
    counters_event(w, pc, event);
    if (!(c->mask >> w->cur % WARP & 1)) report_waiting(w);
    if (complete(w, w->cur / WARP, c)) finish(w, w->cur / WARP, c);
    else block_wait(w);
    return c->result;
}

void simt_warp_sync(unsigned mask)
{
    struct collective c = {.kind = COLLECTIVE_SYNC, .mask = mask};
    meet(&c, CALLER(), EVENT_WARP_BARRIER);
}

unsigned long long simt_warp_shuffle(enum simt_shuffle how, unsigned mask, unsigned long long bits, int by, int width)
{
    struct collective c = {.kind = COLLECTIVE_SHUFFLE, .mask = mask, .bits = bits, .how = how, .by = by, .width = width};
    return meet(&c, CALLER(), EVENT_SHUFFLE);
}

unsigned simt_warp_ballot(unsigned mask, int predicate)
{
    struct collective c = {.kind = COLLECTIVE_BALLOT, .mask = mask, .predicate = predicate};
    return (unsigned)meet(&c, CALLER(), EVENT_VOTE);
}

unsigned simt_warp_active(void)
{
    struct worker *w = simt_worker;
    struct collective c = {.kind = COLLECTIVE_ACTIVE};
    current(w)->pc = CALLER();
    current(w)->call = &c;
    current(w)->wait = WAIT_WARP;
    block_wait(w);
    return (unsigned)c.result;
}

unsigned simt_warp_match(unsigned mask, unsigned long long bits)
{
    struct collective c = {.kind = COLLECTIVE_MATCH, .mask = mask, .bits = bits};
    return (unsigned)meet(&c, CALLER(), EVENT_VOTE);
}

unsigned simt_warp_reduce(enum simt_reduce how, unsigned mask, unsigned value)
{
    struct collective c = {.kind = COLLECTIVE_REDUCE, .mask = mask, .bits = value, .reduce = how};
    return (unsigned)meet(&c, CALLER(), EVENT_VOTE);
}

/* Inline PTX: mbarrier objects (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier"). */
#include "async/mbarrier.h"
#include "ptx/memory.h"
#include "ptx/rows.h"

static void *object(const struct running *r, const struct instruction *in, unsigned i)
{
    return ptx_address(r, &in->operand[i], in->field[SPACE]);
}

static void initialise(struct running *r, const struct instruction *in)
{
    mbarrier_init(object(r, in, 0), ptx_number(r, in, 1), r->pc);
}
static void invalidate(struct running *r, const struct instruction *in)
{
    mbarrier_invalidate(object(r, in, 0), r->pc);
}

static void expect(struct running *r, const struct instruction *in)
{
    mbarrier_expect(object(r, in, 0), ptx_number(r, in, 1), r->pc);
}
static void complete(struct running *r, const struct instruction *in)
{
    mbarrier_complete(object(r, in, 0), ptx_number(r, in, 1), r->pc);
}

static void arrive_as(struct running *r, const struct instruction *in, struct arriving how)
{
    how.leaves_pending = in->field[NO_COMPLETE];
    how.relaxed = in->field[SEMANTICS] == ORDER_RELAXED;
    how.in_block = in->field[SCOPE] == SCOPE_CTA;
    ptx_set(r, &in->operand[0], mbarrier_arrive(object(r, in, 1), &how, r->pc));
}
static unsigned arrivals(const struct running *r, const struct instruction *in)
{
    return in->n > 2 ? ptx_number(r, in, 2) : 1;
}
static void arrive(struct running *r, const struct instruction *in)
{
    arrive_as(r, in, (struct arriving){.count = arrivals(r, in)});
}
static void arrive_and_drop(struct running *r, const struct instruction *in)
{
    arrive_as(r, in, (struct arriving){.count = arrivals(r, in), .drops = true});
}
static void arrive_and_expect(struct running *r, const struct instruction *in)
{
    arrive_as(r, in, (struct arriving){.count = 1, .bytes = ptx_number(r, in, 2)});
}
static void drop_and_expect(struct running *r, const struct instruction *in)
{
    arrive_as(r, in, (struct arriving){.count = 1, .bytes = ptx_number(r, in, 2), .drops = true});
}

static void test_as(struct running *r, const struct instruction *in, struct asking for_what)
{
    for_what.relaxed = in->field[SEMANTICS] == ORDER_RELAXED;
    ptx_set(r, &in->operand[0], mbarrier_test(object(r, in, 1), for_what, r->pc));
}
static void test(struct running *r, const struct instruction *in)
{
    test_as(r, in, (struct asking){.token = ptx_get(r, &in->operand[2])});
}
static void test_parity(struct running *r, const struct instruction *in)
{
    test_as(r, in, (struct asking){.token = ptx_number(r, in, 2), .by_parity = true});
}

static void pending(struct running *r, const struct instruction *in)
{
    ptx_set(r, &in->operand[0], mbarrier_pending(ptx_get(r, &in->operand[1])));
}

/* ---- what is wrong with them ---- */

/* Either none is said, or both are: which it may be beside .relaxed, and a scope. */
static const char *check_semantics(const struct instruction *in, enum semantics other)
{
    enum semantics s = in->field[SEMANTICS];
    enum ptx_scope scope = in->field[SCOPE];
    if (s && s != ORDER_RELAXED && s != other)
        return other == ORDER_RELEASE   ? "an arrival is .release or .relaxed"
               : other == ORDER_ACQUIRE ? "a wait is .acquire or .relaxed"
                                        : "it is .relaxed";
    if ((s != ORDER_NONE) != (scope != SCOPE_NONE))
        return ".release, .acquire and .relaxed need a scope, and a scope needs one of them";
    return scope > SCOPE_CLUSTER ? "its scope is .cta or .cluster" : NULL;
}

static const char *check_own(struct instruction *in)
{
    return in->field[SPACE] == S_CLUSTER ? "the object is of the block's own shared memory, .shared::cta" : NULL;
}
static const char *check_bytes(struct instruction *in) { return check_semantics(in, ORDER_RELAXED); }

static const char *check_arrival(struct instruction *in)
{
    if (in->field[SPACE] == S_CLUSTER && in->operand[0].kind != O_SINK)
        return "an arrival in .shared::cluster has no token: `_` stands in its place";
    if (!in->field[NO_COMPLETE])
        return check_semantics(in, ORDER_RELEASE);
    if (in->n < 3)
        return "an operand is missing";
    if (in->field[SEMANTICS] == ORDER_RELAXED || in->field[SCOPE] == SCOPE_CLUSTER || in->field[SPACE] == S_CLUSTER)
        return ".noComplete is .release.cta, and of the block's own shared memory";
    return check_semantics(in, ORDER_RELEASE);
}
static const char *check_test(struct instruction *in)
{
    return check_own(in) ? check_own(in) : check_semantics(in, ORDER_ACQUIRE);
}

#define OBJECT (HAS(SPACE) | HAS(SEMANTICS) | HAS(SCOPE))

const struct row ptx_mbarrier_rows[] = {
    {"mbarrier.init", initialise, HAS(SPACE), "an", TYPE(T_B64), check_own},
    {"mbarrier.inval", invalidate, HAS(SPACE), "a", TYPE(T_B64), check_own},
    {"mbarrier.expect_tx", expect, OBJECT, "an", TYPE(T_B64), check_bytes},
    {"mbarrier.complete_tx", complete, OBJECT, "an", TYPE(T_B64), check_bytes},
    {"mbarrier.arrive", arrive, OBJECT | HAS(NO_COMPLETE), "da?n", TYPE(T_B64), check_arrival},
    {"mbarrier.arrive_drop", arrive_and_drop, OBJECT | HAS(NO_COMPLETE), "da?n", TYPE(T_B64), check_arrival},
    {"mbarrier.arrive.expect_tx", arrive_and_expect, OBJECT, "dan", TYPE(T_B64), check_arrival},
    {"mbarrier.arrive_drop.expect_tx", drop_and_expect, OBJECT, "dan", TYPE(T_B64), check_arrival},
    {"mbarrier.test_wait", test, OBJECT, "pas", TYPE(T_B64), check_test},
    {"mbarrier.test_wait.parity", test_parity, OBJECT, "pan", TYPE(T_B64), check_test},
    {"mbarrier.try_wait", test, OBJECT, "pas?n", TYPE(T_B64), check_test},
    {"mbarrier.try_wait.parity", test_parity, OBJECT, "pan?n", TYPE(T_B64), check_test},
    {"mbarrier.pending_count", pending, 0, "ms", TYPE(T_B64), NULL},
    {0},
};

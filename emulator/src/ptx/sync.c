/* Inline PTX: barriers, fences, asynchronous copies and the barriers in memory that wait for them (PTX ISA, "Parallel
 * Synchronization and Communication Instructions", "Asynchronous copy", "mbarrier"). */
#include "ptx/memory.h"
#include "ptx/move.h"
#include "ptx/rows.h"
#include "async/async.h"
#include "order/atomic.h"

/* ---- bar, barrier ---- */

static unsigned number(const struct running *r, const struct instruction *in, unsigned i)
{
    return i < in->n ? (unsigned)ptx_get(r, &in->operand[i]) : 0;
}

/* bar is barrier.aligned. */
static enum meeting meeting_of(const struct instruction *in)
{
    return in->field[ALIGNED] || !(in->row->fields & HAS(ALIGNED)) ? MEET_ALIGNED : MEET_ANYWHERE;
}

static void barrier(struct running *r, const struct instruction *in)
{
    block_barrier(number(r, in, 0), number(r, in, 1), false, meeting_of(in), r->pc);
}

static void barrier_arrive(struct running *r, const struct instruction *in)
{
    block_barrier_arrive(number(r, in, 0), number(r, in, 1), meeting_of(in), r->pc);
}

/* d, barrier, p; or d, barrier, threads, p. */
static void barrier_reduce(struct running *r, const struct instruction *in)
{
    bool all = in->field[OPERATION] == OP_AND;
    bool predicate = ptx_get_predicate(r, &in->operand[in->n - 1]);
    unsigned threads = in->n > 3 ? number(r, in, 2) : 0;
    unsigned held = block_barrier(number(r, in, 1), threads, predicate != all, meeting_of(in), r->pc);
    u64 result = all ? !held : in->field[OPERATION] == OP_OR ? held != 0 : held;
    ptx_set(r, &in->operand[0], result);
}

static const char *check_reduce(struct instruction *in)
{
    enum operation o = in->field[OPERATION];
    if (!in->operand[in->n - 1].predicate || (in->n > 3 && in->operand[2].predicate))
        return "the last operand is the predicate";
    if (o == OP_POPC ? in->type[0] != T_U32 : (o != OP_AND && o != OP_OR) || in->type[0] != T_PRED)
        return "there are .popc.u32, .and.pred and .or.pred";
    return NULL;
}

/* ---- fences ---- */

static void fence(struct running *r, const struct instruction *in)
{
    fence_do(ptx_scope_of(in), in->field[SEMANTICS] != ORDER_ACQ_REL, r->pc);
}
static const char *check_fence(struct instruction *in) { return in->field[SCOPE] ? NULL : "its scope is missing"; }

/* ---- cp.async ---- */

static void copy(struct running *r, const struct instruction *in)
{
    unsigned bytes = number(r, in, 2), source_bytes = bytes;
    void *to = ptx_address(r, &in->operand[0], S_SHARED);
    const void *from = ptx_address(r, &in->operand[1], S_GLOBAL);
    if (in->n - (in->field[CACHE_POLICY] != 0) > 3) {
        const struct ptx_operand *last = &in->operand[3];
        source_bytes = last->predicate ? (ptx_get_predicate(r, last) ? 0 : bytes) : number(r, in, 3);
    }
    async_copy(to, from, bytes, source_bytes, in->field[CACHE] == CACHE_GLOBAL, r->pc);
}

static const char *check_copy(struct instruction *in)
{
    const struct ptx_operand *size = &in->operand[2];
    if (in->field[SPACE] != S_SHARED || in->field[SPACE2] != S_GLOBAL || !in->field[CACHE])
        return "of asynchronous copies, .ca and .cg from global to shared memory are known";
    if (size->kind != O_CONSTANT ||
        !(size->value == 16 || ((size->value == 4 || size->value == 8) && in->field[CACHE] != CACHE_GLOBAL)))
        return "it copies 16 bytes, or with .ca 4 or 8, and the number is a constant";
    return NULL;
}

static void commit(struct running *r, const struct instruction *in)
{
    (void)in;
    async_commit(r->pc);
}
static void wait_group(struct running *r, const struct instruction *in) { async_wait(number(r, in, 0), r->pc); }

static const char *check_wait(struct instruction *in)
{
    return in->operand[0].kind == O_CONSTANT ? NULL : "how many groups may be left is a constant, of constraint \"n\"";
}

static void wait_all(struct running *r, const struct instruction *in)
{
    (void)in;
    async_wait_all(r->pc);
}
static void copies_arrive(struct running *r, const struct instruction *in)
{
    async_arrive(ptx_address(r, &in->operand[0], in->field[SPACE]), in->field[NO_INCREMENT], r->pc);
}

/* ---- mbarrier ---- */

static void *object(const struct running *r, const struct instruction *in, unsigned i)
{
    return ptx_address(r, &in->operand[i], in->field[SPACE]);
}

static void initialise(struct running *r, const struct instruction *in)
{
    mbarrier_init(object(r, in, 0), number(r, in, 1), r->pc);
}
static void invalidate(struct running *r, const struct instruction *in)
{
    mbarrier_invalidate(object(r, in, 0), r->pc);
}

static void arrive_as(struct running *r, const struct instruction *in, bool drop)
{
    struct arriving how = {
        .count = in->n > 2 ? number(r, in, 2) : 1, .drops = drop, .leaves_pending = in->field[NO_COMPLETE]};
    ptx_set(r, &in->operand[0], mbarrier_arrive(object(r, in, 1), &how, r->pc));
}
static void arrive(struct running *r, const struct instruction *in) { arrive_as(r, in, false); }
static void arrive_and_drop(struct running *r, const struct instruction *in) { arrive_as(r, in, true); }

static void test(struct running *r, const struct instruction *in)
{
    struct asking for_what = {.token = ptx_get(r, &in->operand[2])};
    ptx_set(r, &in->operand[0], mbarrier_test(object(r, in, 1), for_what, r->pc));
}
static void test_parity(struct running *r, const struct instruction *in)
{
    struct asking for_what = {.token = number(r, in, 2), .by_parity = true};
    ptx_set(r, &in->operand[0], mbarrier_test(object(r, in, 1), for_what, r->pc));
}

static void pending(struct running *r, const struct instruction *in)
{
    ptx_set(r, &in->operand[0], mbarrier_pending(ptx_get(r, &in->operand[1])));
}

/* Arrivals release and waits acquire; .relaxed ones, which order nothing, are not known. */
static const char *check_semantics(const struct instruction *in, enum semantics only)
{
    if (in->field[SEMANTICS] && in->field[SEMANTICS] != only)
        return "of mbarriers only arrivals with .release and waits with .acquire are known";
    return NULL;
}

static const char *check_arrival(struct instruction *in)
{
    if (in->field[NO_COMPLETE] && in->n < 3)
        return "an operand is missing";
    return check_semantics(in, ORDER_RELEASE);
}
static const char *check_test(struct instruction *in) { return check_semantics(in, ORDER_ACQUIRE); }

#define OBJECT (HAS(SPACE) | HAS(SEMANTICS) | HAS(SCOPE))

const struct row ptx_sync_rows[] = {
    {"bar.sync", barrier, 0, "n?n", 0, NULL},
    {"bar.cta.sync", barrier, 0, "n?n", 0, NULL},
    {"barrier.sync", barrier, HAS(ALIGNED), "n?n", 0, NULL},
    {"barrier.cta.sync", barrier, HAS(ALIGNED), "n?n", 0, NULL},
    {"bar.arrive", barrier_arrive, 0, "nn", 0, NULL},
    {"bar.cta.arrive", barrier_arrive, 0, "nn", 0, NULL},
    {"barrier.arrive", barrier_arrive, HAS(ALIGNED), "nn", 0, NULL},
    {"barrier.cta.arrive", barrier_arrive, HAS(ALIGNED), "nn", 0, NULL},
    {"bar.red", barrier_reduce, HAS(OPERATION), "dnx?q", TYPE(T_U32) | TYPE(T_PRED), check_reduce},
    {"bar.cta.red", barrier_reduce, HAS(OPERATION), "dnx?q", TYPE(T_U32) | TYPE(T_PRED), check_reduce},
    {"barrier.red", barrier_reduce, HAS(OPERATION) | HAS(ALIGNED), "dnx?q", TYPE(T_U32) | TYPE(T_PRED), check_reduce},
    {"barrier.cta.red", barrier_reduce, HAS(OPERATION) | HAS(ALIGNED), "dnx?q", TYPE(T_U32) | TYPE(T_PRED),
     check_reduce},
    {"membar", fence, HAS(SCOPE), "", 0, check_fence},
    {"fence", fence, HAS(SCOPE) | HAS(SEMANTICS), "", 0, check_fence},
    /* no instruction that is known goes by another proxy than the generic one, and a block is in no cluster */
    {"fence.proxy.async", ptx_nothing, HAS(SPACE), "", 0, NULL},
    {"fence.mbarrier_init.release.cluster", ptx_nothing, 0, "", 0, NULL},
    {"cp.async", copy, HAS(CACHE) | HAS(SPACE) | HAS(SPACE2) | HAS(HINT) | HAS(CACHE_POLICY), "aan?x", 0, check_copy},
    {"cp.async.commit_group", commit, 0, "", 0, NULL},
    {"cp.async.wait_group", wait_group, 0, "n", 0, check_wait},
    {"cp.async.wait_all", wait_all, 0, "", 0, NULL},
    {"cp.async.mbarrier.arrive", copies_arrive, HAS(NO_INCREMENT) | HAS(SPACE), "a", TYPE(T_B64), NULL},
    {"mbarrier.init", initialise, HAS(SPACE), "an", TYPE(T_B64), NULL},
    {"mbarrier.inval", invalidate, HAS(SPACE), "a", TYPE(T_B64), NULL},
    {"mbarrier.arrive", arrive, OBJECT | HAS(NO_COMPLETE), "da?n", TYPE(T_B64), check_arrival},
    {"mbarrier.arrive_drop", arrive_and_drop, OBJECT | HAS(NO_COMPLETE), "da?n", TYPE(T_B64), check_arrival},
    {"mbarrier.test_wait", test, OBJECT, "pas", TYPE(T_B64), check_test},
    {"mbarrier.test_wait.parity", test_parity, OBJECT, "pan", TYPE(T_B64), check_test},
    {"mbarrier.try_wait", test, OBJECT, "pas?n", TYPE(T_B64), check_test},
    {"mbarrier.try_wait.parity", test_parity, OBJECT, "pan?n", TYPE(T_B64), check_test},
    {"mbarrier.pending_count", pending, 0, "ms", TYPE(T_B64), NULL},
    {0},
};

/* Inline PTX: barriers, fences and asynchronous copies by threads (PTX ISA, "Parallel Synchronization and Communication
 * Instructions", "Asynchronous copy"). */
#include "async/cp_async.h"
#include "async/mbarrier.h"
#include "order/atomic.h"
#include "order/proxy.h"
#include "ptx/memory.h"
#include "ptx/move.h"
#include "ptx/rows.h"
#include "run/block.h"
#include "run/cluster_barrier.h"

/* ---- bar, barrier ---- */

/* bar is barrier.aligned. */
static enum meeting meeting_of(const struct instruction *in)
{
    return in->field[ALIGNED] || !(in->row->fields & HAS(ALIGNED)) ? MEET_ALIGNED : MEET_ANYWHERE;
}

static void barrier(struct running *r, const struct instruction *in)
{
    block_barrier(ptx_number(r, in, 0), ptx_number(r, in, 1), false, meeting_of(in), r->pc);
}

static void barrier_arrive(struct running *r, const struct instruction *in)
{
    block_barrier_arrive(ptx_number(r, in, 0), ptx_number(r, in, 1), meeting_of(in), r->pc);
}

/* d, barrier, p; or d, barrier, threads, p. */
static void barrier_reduce(struct running *r, const struct instruction *in)
{
    bool all = in->field[OPERATION] == OP_AND;
    bool predicate = ptx_get_predicate(r, &in->operand[in->n - 1]);
    unsigned threads = in->n > 3 ? ptx_number(r, in, 2) : 0;
    unsigned held = block_barrier(ptx_number(r, in, 1), threads, predicate != all, meeting_of(in), r->pc);
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

static void cluster_arrive(struct running *r, const struct instruction *in)
{
    cluster_barrier_arrive(in->field[SEMANTICS] == ORDER_RELAXED, meeting_of(in), r->pc);
}
static void cluster_wait(struct running *r, const struct instruction *in)
{
    cluster_barrier_wait(meeting_of(in), r->pc);
}

static const char *check_cluster_arrive(struct instruction *in)
{
    enum semantics s = in->field[SEMANTICS];
    return s == ORDER_NONE || s == ORDER_RELEASE || s == ORDER_RELAXED ? NULL : "it is .release or .relaxed";
}
static const char *check_cluster_wait(struct instruction *in)
{
    enum semantics s = in->field[SEMANTICS];
    return s == ORDER_NONE || s == ORDER_ACQUIRE ? NULL : "it is .acquire";
}

/* ---- fences ---- */

static void fence(struct running *r, const struct instruction *in)
{
    enum semantics s = in->field[SEMANTICS];
    fence_do(ptx_scope_of(in), s == ORDER_NONE || s == ORDER_SC, r->pc);
}
static const char *check_fence(struct instruction *in) { return in->field[SCOPE] ? NULL : "its scope is missing"; }

/* fence.acquire.sync_restrict, fence.release.sync_restrict: of a cluster, and of what mbarriers order. Here of all. */
static void fence_of_cluster(struct running *r, const struct instruction *in)
{
    (void)in;
    fence_do(SIMT_SCOPE_CLUSTER, false, r->pc);
}

static void fence_proxies(struct running *r, const struct instruction *in)
{
    static const unsigned spaces[] = {[S_GENERIC] = PROXY_SHARED | PROXY_GLOBAL,
                                      [S_GLOBAL] = PROXY_GLOBAL,
                                      [S_SHARED] = PROXY_SHARED,
                                      [S_CLUSTER] = PROXY_SHARED};
    (void)r;
    proxy_fence(running(), spaces[in->field[SPACE]]);
}
static const char *check_proxies(struct instruction *in)
{
    bool other = in->field[SPACE] == S_LOCAL || in->field[SPACE] == S_CONST;
    return other ? "the async proxy has global and shared memory" : NULL;
}

/* fence.proxy.async::generic: one half of a proxy fence and one of a fence of the cluster. Here both of each. */
static void fence_proxies_of_cluster(struct running *r, const struct instruction *in)
{
    fence_of_cluster(r, in);
    proxy_fence(running(), PROXY_SHARED);
    fence_of_cluster(r, in);
}

static void fence_initialised(struct running *r, const struct instruction *in)
{
    (void)r, (void)in;
    mbarrier_fence_init();
}

/* ---- cp.async ---- */

static void copy(struct running *r, const struct instruction *in)
{
    unsigned bytes = ptx_number(r, in, 2), source_bytes = bytes;
    void *to = ptx_address(r, &in->operand[0], S_SHARED);
    const void *from = ptx_address(r, &in->operand[1], S_GLOBAL);
    if (in->n - (in->field[CACHE_POLICY] != 0) > 3) {
        const struct ptx_operand *last = &in->operand[3];
        source_bytes = last->predicate ? (ptx_get_predicate(r, last) ? 0 : bytes) : ptx_number(r, in, 3);
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
static void wait_group(struct running *r, const struct instruction *in) { async_wait(ptx_number(r, in, 0), r->pc); }

static void wait_all(struct running *r, const struct instruction *in)
{
    (void)in;
    async_wait_all(r->pc);
}
static void copies_arrive(struct running *r, const struct instruction *in)
{
    mbarrier_arrive_behind_copies(ptx_address(r, &in->operand[0], in->field[SPACE]), in->field[NO_INCREMENT], r->pc);
}

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
    {"barrier.cluster.arrive", cluster_arrive, HAS(SEMANTICS) | HAS(ALIGNED), "", 0, check_cluster_arrive},
    {"barrier.cluster.wait", cluster_wait, HAS(SEMANTICS) | HAS(ALIGNED), "", 0, check_cluster_wait},
    {"membar", fence, HAS(SCOPE), "", 0, check_fence},
    {"fence", fence, HAS(SCOPE) | HAS(SEMANTICS), "", 0, check_fence},
    {"fence.acquire.sync_restrict::shared::cluster.cluster", fence_of_cluster, 0, "", 0, NULL},
    {"fence.release.sync_restrict::shared::cta.cluster", fence_of_cluster, 0, "", 0, NULL},
    {"fence.proxy.alias", ptx_nothing, 0, "", 0, NULL}, /* no memory has two virtual addresses here */
    {"fence.proxy.async", fence_proxies, HAS(SPACE), "", 0, check_proxies},
    {"fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster", fence_proxies_of_cluster, 0, "", 0,
     NULL},
    {"fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster", fence_proxies_of_cluster, 0, "", 0, NULL},
    {"fence.mbarrier_init.release.cluster", fence_initialised, 0, "", 0, NULL},
    {"cp.async", copy, HAS(CACHE) | HAS(SPACE) | HAS(SPACE2) | HAS(HINT) | HAS(CACHE_POLICY), "aan?x", 0, check_copy},
    {"cp.async.commit_group", commit, 0, "", 0, NULL},
    {"cp.async.wait_group", wait_group, 0, "n", 0, ptx_check_groups},
    {"cp.async.wait_all", wait_all, 0, "", 0, NULL},
    {"cp.async.mbarrier.arrive", copies_arrive, HAS(NO_INCREMENT) | HAS(SPACE), "a", TYPE(T_B64), NULL},
    {0},
};

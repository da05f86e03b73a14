/* Inline PTX: bulk copies and bulk reductions of contiguous bytes, the groups of those that leave shared memory (PTX
 * ISA, "Data Movement and Conversion Instructions: Bulk copy"), and stores and reductions that an mbarrier counts ("st.async",
 * "red.async"). What is in flight, and until when, says async/transfer.h. */
#include "async/transfer.h"
#include "block/launch.h"
#include "base/report.h"
#include "count/counters.h"
#include "memory/place.h"
#include "order/access.h"
#include "ptx/memory.h"
#include "ptx/rows.h"
#include <string.h>

#define UNIT 16 /* sizes are multiples of it, and both addresses */

/* ---- checks when it is issued ---- */

static void check_size(const struct running *r, unsigned bytes)
{
    char did[64];
    if (bytes % UNIT == 0)
        return;
    snprintf(did, sizeof did, "begins a bulk copy of %u bytes", bytes);
    report_call("invalid copy", r->pc, did, "A bulk copy is of a multiple of 16 bytes.");
}

/* One end of the copy. */
static void check_end(const struct running *r, const void *address, unsigned bytes, enum ptx_space said,
                      enum access_kind kind)
{
    struct block *b = block_here();
    struct access a = access_of(b, r->pc, address, bytes, kind);
    enum space found = place_of(b, address, 1).space;
    bool global = found == SPACE_GLOBAL || found == SPACE_NOWHERE; /* the latter is out of bounds */
    if ((uintptr_t)address % UNIT)
        report_access(&a, "misaligned access", "Both addresses of a bulk copy are multiples of 16.");
    if (!ptx_is_shared(said) && !global)
        report_access(&a, "wrong memory space", "The instruction names global memory there.");
}

/* Where the launch speaks of clusters, if only of one block each, its blocks may copy within shared memory. */
static void check_cluster(const struct running *r, const char *did)
{
    const struct launch *l = block_here()->launch;
    if (!l->has_clusters)
        report_call(
            "invalid copy", r->pc, did,
            "An H200 takes it for an illegal instruction. A launch with clusters may, even if they have one block: "
            "__cluster_dims__(1).");
}

void ptx_multicast(const struct running *r, struct transfer *t, unsigned mask)
{
    unsigned n = block_here()->cluster->n;
    char did[80], why[80];
    t->multicast = true;
    t->blocks = mask;
    if (mask >> n == 0)
        return;
    snprintf(did, sizeof did, "begins a copy to the blocks 0x%x of its cluster", mask);
    snprintf(why, sizeof why, "Its cluster has %u block%s: the mask is at most 0x%x.", n, n == 1 ? "" : "s",
             (1u << n) - 1);
    report_call("invalid copy", r->pc, did, why);
}

/* ---- copies ---- */

/* Operands: target, source, bytes; of those that an mbarrier waits for, it and perhaps a mask of blocks. */
static void issue(struct running *r, const struct instruction *in, struct transfer *t)
{
    unsigned bytes = ptx_number(r, in, 2);
    void *to = ptx_address(r, &in->operand[0], in->field[SPACE]);
    const void *from = ptx_address(r, &in->operand[1], in->field[SPACE2]);
    struct piece piece = {.to = to, .from = from, .bytes = bytes};
    if (in->field[SPACE2] == S_SHARED && in->field[SPACE] == S_CLUSTER)
        check_cluster(r, "begins a bulk copy within shared memory, in a launch without clusters");
    check_size(r, bytes);
    check_end(r, to, bytes, in->field[SPACE], ACCESS_STORE);
    check_end(r, from, bytes, in->field[SPACE2], ACCESS_LOAD);
    t->call = in->row->name;
    t->pc = r->pc;
    t->completed_by = BY_BULK_GROUP;
    if (in->field[COMPLETION] == COMPLETES_BYTES) {
        t->completed_by = BY_MBARRIER;
        t->mbarrier = ptx_address(r, &in->operand[3], S_CLUSTER);
    }
    if (in->field[MULTICAST])
        ptx_multicast(r, t, ptx_number(r, in, 4));
    t->n_pieces = bytes != 0;
    t->pieces = &piece;
    transfer_issue(t);
}

static void copy(struct running *r, const struct instruction *in) { issue(r, in, &(struct transfer){0}); }

static void reduce(struct running *r, const struct instruction *in)
{
    struct transfer t = {.reduces = true, .op = ptx_atomic_op(in), .type = ptx_atomic_type(in)};
    issue(r, in, &t);
}

/* ---- stores and reductions of values, into the shared memory of a block of the cluster ---- */

#define MOST_VALUE 16 /* bytes */

/* Operands: target, value, mbarrier. */
static void send(struct running *r, const struct instruction *in, struct transfer *t)
{
    unsigned char value[MOST_VALUE];
    unsigned each = ptx_types[in->type[0]].bytes, n = in->field[VECTOR] ? in->field[VECTOR] : 1;
    unsigned char *to = ptx_address(r, &in->operand[0], in->field[SPACE]);
    struct piece piece = {.to = to, .bytes = n * each};
    struct access a = access_of(block_here(), r->pc, to, n * each, t->reduces ? ACCESS_ATOMIC : ACCESS_STORE);
    for (unsigned i = 0; i < n; i++) {
        u64 element = ptx_get(r, &in->operand[1].elements[i]);
        memcpy(value + i * each, &element, each);
    }
    check_cluster(r, "stores asynchronously, in a launch without clusters");
    access_check_rank(&a);
    if (place_of(block_here(), to, 1).space != SPACE_SHARED)
        report_access(&a, "wrong memory space", "It goes to the shared memory of a block of the cluster.");
    if ((uintptr_t)to % (n * each))
        report_access(&a, "misaligned access", "");
    t->call = in->row->name;
    t->pc = r->pc;
    t->completed_by = BY_MBARRIER;
    t->mbarrier = ptx_address(r, &in->operand[2], in->field[SPACE]);
    t->generic = true;
    t->value = value;
    t->n_pieces = 1;
    t->pieces = &piece;
    if (a.block->counting)
        counters_access(&a, t->reduces ? DSHARED_RED : DSHARED_ST);
    transfer_issue(t);
}

static void send_store(struct running *r, const struct instruction *in) { send(r, in, &(struct transfer){0}); }

static void send_reduction(struct running *r, const struct instruction *in)
{
    send(r, in, &(struct transfer){.reduces = true, .op = ptx_atomic_op(in), .type = ptx_atomic_type(in)});
}

/* It changes nothing, nobody waits for it, and memory that is nobody's stops it silently. */
static void prefetch(struct running *r, const struct instruction *in)
{
    unsigned bytes = ptx_number(r, in, 1);
    const void *from = ptx_address(r, &in->operand[0], in->field[SPACE]);
    check_size(r, bytes);
    check_end(r, from, bytes, in->field[SPACE], ACCESS_LOAD);
    struct piece piece = {.from = from, .bytes = bytes};
    transfer_issue(&(struct transfer){
        .call = in->row->name, .pc = r->pc, .completed_by = BY_BULK_GROUP, .n_pieces = 1, .pieces = &piece});
}

/* ---- groups ---- */

static void commit(struct running *r, const struct instruction *in)
{
    (void)in;
    counters_event(block_here(), r->pc, EVENT_BULK_COMMIT);
    transfer_commit();
}
static void wait(struct running *r, const struct instruction *in)
{
    counters_event_of(block_here(), r->pc, EVENT_BULK_WAIT, ptx_number(r, in, 0), 0);
    transfer_wait(ptx_number(r, in, 0), false, r->pc);
}
static void wait_read(struct running *r, const struct instruction *in)
{
    counters_event_of(block_here(), r->pc, EVENT_BULK_WAIT_READ, ptx_number(r, in, 0), 0);
    transfer_wait(ptx_number(r, in, 0), true, r->pc);
}

/* ---- what is wrong with them ---- */

/* From global memory to shared memory, or within the cluster, with an mbarrier; from the block's own to global memory with a group. */
static const char *check_route(const struct instruction *in)
{
    enum ptx_space to = in->field[SPACE], from = in->field[SPACE2];
    bool by_bytes = in->field[COMPLETION] == COMPLETES_BYTES, policy = in->field[CACHE_POLICY];
    bool loads = from == S_GLOBAL && ptx_is_shared(to), within = from == S_SHARED && to == S_CLUSTER;
    bool stores = from == S_SHARED && to == S_GLOBAL;
    if (!loads && !within && !stores)
        return "it goes from .global to .shared::cta or .shared::cluster, from .shared::cta to .global or .shared::cluster";
    if (!in->field[COMPLETION] || by_bytes == stores)
        return "out of shared memory to .global it completes with .bulk_group, else with .mbarrier::complete_tx::bytes";
    if (policy && within)
        return "only a copy from or to global memory has a hint";
    if (in->field[MULTICAST] && !(loads && to == S_CLUSTER))
        return ".multicast::cluster is of copies from .global to .shared::cluster";
    return in->n == 3u + by_bytes + in->field[MULTICAST] + policy ? NULL
                                                                  : "an operand is missing, or there are too many";
}

static const char *check_constant_size(const struct ptx_operand *size)
{
    return size->kind == O_CONSTANT && size->value % UNIT ? "it copies a multiple of 16 bytes" : NULL;
}

static const char *check_copy(struct instruction *in)
{
    const char *why = check_route(in);
    return why ? why : check_constant_size(&in->operand[2]);
}

#define FLOATING_SUM (TYPE(T_F16) | TYPE(T_BF16) | TYPE(T_F32) | TYPE(T_F64))

static u64 types_in_shared(enum operation o)
{
    static const u64 types[] = {[OP_ADD] = TYPE(T_U32) | TYPE(T_S32) | TYPE(T_U64),
                                [OP_MIN] = TYPE(T_U32) | TYPE(T_S32),
                                [OP_MAX] = TYPE(T_U32) | TYPE(T_S32),
                                [OP_INC] = TYPE(T_U32),
                                [OP_DEC] = TYPE(T_U32),
                                [OP_AND] = TYPE(T_B32),
                                [OP_OR] = TYPE(T_B32),
                                [OP_XOR] = TYPE(T_B32),
                                [OP_CAS] = 0};
    return types[o];
}

static u64 types_in_global(enum operation o)
{
    static const u64 types[] = {[OP_ADD] = TYPE(T_U32) | TYPE(T_S32) | TYPE(T_U64) | FLOATING_SUM,
                                [OP_MIN] = WIDE | HALVES,
                                [OP_MAX] = WIDE | HALVES,
                                [OP_INC] = TYPE(T_U32),
                                [OP_DEC] = TYPE(T_U32),
                                [OP_AND] = TYPE(T_B32) | TYPE(T_B64),
                                [OP_OR] = TYPE(T_B32) | TYPE(T_B64),
                                [OP_XOR] = TYPE(T_B32) | TYPE(T_B64),
                                [OP_CAS] = 0};
    return types[o];
}

static const char *check_reduction(struct instruction *in)
{
    enum operation o = in->field[OPERATION];
    u64 type = TYPE(in->type[0]);
    if (in->field[SPACE2] != S_SHARED)
        return "it goes from .shared::cta to .global or .shared::cluster";
    if (!((in->field[SPACE] == S_CLUSTER ? types_in_shared(o) : types_in_global(o)) & type))
        return "there is no such operation of that type";
    if ((o == OP_ADD && type & HALVES) != in->field[NO_FTZ])
        return ".noftz is for .add of 16-bit floating point, which needs it";
    return check_copy(in);
}

/* To a block of the cluster, counted by an mbarrier. */
static const char *check_sent(const struct instruction *in)
{
    if (in->field[SPACE] && in->field[SPACE] != S_CLUSTER)
        return "it goes to .shared::cluster";
    if (in->field[COMPLETION] != COMPLETES_BYTES)
        return "it completes with .mbarrier::complete_tx::bytes";
    return ptx_fits_type(in, &in->operand[1])
               ? NULL
               : "a register is not as wide as the type, or a vector has not as many as the instruction says";
}

static const char *check_send_store(struct instruction *in)
{
    enum semantics s = in->field[SEMANTICS];
    enum ptx_scope scope = in->field[SCOPE];
    if ((s && (s != ORDER_WEAK || scope)) || (scope && scope != SCOPE_CLUSTER))
        return "it is .weak, or of scope .cluster";
    if (in->field[VECTOR] * ptx_types[in->type[0]].bytes > MOST_VALUE)
        return "it stores at most 16 bytes";
    return check_sent(in);
}

static const char *check_send_reduction(struct instruction *in)
{
    enum operation o = in->field[OPERATION];
    u64 more = o == OP_ADD ? TYPE(T_S64) : 0; /* ptxas takes it, too */
    if (!o || !((types_in_shared(o) | more) & TYPE(in->type[0])))
        return "there is no such operation of that type";
    if (in->field[SEMANTICS] != ORDER_RELAXED || in->field[SCOPE] != SCOPE_CLUSTER)
        return "it is .relaxed.cluster";
    return check_sent(in);
}

static const char *check_prefetch(struct instruction *in)
{
    if (in->field[SPACE] != S_GLOBAL)
        return "it is of .global memory";
    if (in->n != 2u + in->field[CACHE_POLICY])
        return "an operand is missing, or there are too many";
    return check_constant_size(&in->operand[1]);
}

#define ROUTE (HAS(SPACE) | HAS(SPACE2) | HAS(COMPLETION) | HAS(CACHE_POLICY))
#define SENDS (HAS(SEMANTICS) | HAS(SCOPE) | HAS(SPACE) | HAS(COMPLETION))

const struct row ptx_bulk_rows[] = {
    {"cp.async.bulk", copy, ROUTE | HAS(MULTICAST), "aan?ah", 0, check_copy},
    {"cp.reduce.async.bulk", reduce, ROUTE | HAS(OPERATION) | HAS(NO_FTZ), "aan?a", WIDE | BITS | FLOATS,
     check_reduction},
    {"st.async", send_store, SENDS | HAS(VECTOR), "aHa", TYPE(T_B32) | TYPE(T_B64) | WIDE | FULL, check_send_store},
    {"red.async", send_reduction, SENDS | HAS(OPERATION), "asa", TYPE(T_B32) | WIDE, check_send_reduction},
    {"cp.async.bulk.prefetch.L2", prefetch, HAS(SPACE) | HAS(CACHE_POLICY), "an", 0, check_prefetch},
    {"cp.async.bulk.commit_group", commit, 0, "", 0, NULL},
    {"cp.async.bulk.wait_group", wait, 0, "n", 0, ptx_check_groups},
    {"cp.async.bulk.wait_group.read", wait_read, 0, "n", 0, ptx_check_groups},
    {0},
};

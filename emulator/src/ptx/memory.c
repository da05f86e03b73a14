/* Inline PTX: loads, stores, atomic operations and addresses (PTX ISA, "ld", "st", "atom", "red", "cvta"). Each is checked
 * and counted as the same access of C++ is. */
#include "ptx/memory.h"
#include "base/report.h"
#include "memory/shared.h"
#include "order/access.h"
#include "order/atomic.h"
#include "ptx/move.h"
#include "ptx/rows.h"

#define ACCESSED (BYTES | INTEGERS | TYPE(T_B8) | BITS | TYPE(T_B128) | FULL)
#define CACHED (HAS(CACHE) | HAS(HINT) | HAS(CACHE_POLICY))
#define QUIET_LOAD (1u << 8) /* 4,096 strong loads, and others run */
#define WHERE (HAS(SPACE) | HAS(SEMANTICS) | HAS(SCOPE))

/* ---- addresses ---- */

/* Of an address in the shared memory of the cluster. */
static void *generic_of(u64 at, const void *pc)
{
    if (at >= block_here()->cluster->ranks * SHARED_BYTES)
        report_call("out of bounds", pc, "uses an address beyond shared memory",
                    "There an address is an offset of 32 bits: __cvta_generic_to_shared() makes it of a pointer.");
    return simt_shared_generic((unsigned)at);
}

static void report_not_own(unsigned rank, const void *pc)
{
    char did[96];
    snprintf(did, sizeof did, "uses an address in the shared memory of the block of rank %u", rank);
    report_call(
        "wrong memory space", pc, did,
        "The instruction names .shared, which is .shared::cta, the shared memory of its own block; that of other "
        "blocks of the cluster is .shared::cluster.");
}

/* An address of shared memory is an offset; generic and global ones are those of C++. */
void *ptx_address(const struct running *r, const struct ptx_operand *o, enum ptx_space space)
{
    u64 at = o->value + (o->slot == NO_SLOT ? 0 : r->slots[o->slot]);
    if (!ptx_is_shared(space))
        return (void *)(uintptr_t)at;
    if (o->bytes == 4 || o->slot == NO_SLOT)
        at = (uint32_t)at;
    const struct block *b = block_here();
    if (at / SHARED_BYTES == b->rank)
        return b->arena + at % SHARED_BYTES;
    void *generic = generic_of(at, r->pc);
    if (space == S_SHARED)
        report_not_own((unsigned)(at / SHARED_BYTES), r->pc);
    return generic;
}

/* .global and .local accept no address of shared memory, as generic instructions do. */
static void check_space(const struct running *r, const struct instruction *in, const void *address, unsigned bytes,
                        enum access_kind kind)
{
    struct block *b = block_here();
    struct access a = access_of(b, r->pc, address, bytes, kind);
    if (shared_owner(b, address) && !ptx_is_shared(in->field[SPACE]) && in->field[SPACE] != S_GENERIC)
        report_access(&a, "wrong memory space", "That is shared memory; the instruction names another space.");
}

static void convert_address(struct running *r, const struct instruction *in)
{
    u64 a = ptx_get(r, &in->operand[1]);
    bool shared = ptx_is_shared(in->field[SPACE]);
    if (shared && in->field[TOWARD])
        a = simt_shared_address((const void *)(uintptr_t)a);
    else if (shared)
        a = (u64)(uintptr_t)simt_shared_generic((unsigned)a);
    ptx_set(r, &in->operand[0], a);
}

/* The rank of the block whose shared memory it is, or would be. */
static unsigned rank_at(const void *address, const char *asks, const void *pc)
{
    const struct block *b = block_here(), *owner = shared_owner(b, address);
    unsigned absent = shared_absent_rank(b, address);
    if (!owner && !absent)
        report_call("wrong memory space", pc, asks, "No block of its cluster has that in its shared memory.");
    return owner ? owner->rank : absent;
}

static void report_no_rank(unsigned rank, const void *pc)
{
    unsigned n = block_here()->cluster->n;
    char did[96], why[96];
    snprintf(did, sizeof did, "asks for the shared memory of block %u of its cluster", rank);
    snprintf(why, sizeof why, "Its cluster has %u blocks, number 0 to %u.", n, n - 1);
    report_call("invalid rank", pc, did, n == 1 ? "Its cluster has one block, number 0." : why);
}

/* A rank that the cluster has not is no fault before something is touched there; but where there is one block, there are no others
 * to ask for. */
static void *map_to_rank(const void *address, unsigned rank, const void *pc)
{
    const struct block *b = block_here();
    if (rank >= b->cluster->ranks)
        report_no_rank(rank, pc);
    rank_at(address, "asks for the place of an address in another block's shared memory", pc);
    return shared_of_rank(b, address, rank);
}

static unsigned rank_of_block(const void *address, const void *pc)
{
    return rank_at(address, "asks in which block's shared memory an address is", pc);
}

void *simt_cluster_map(const void *generic, unsigned rank) { return map_to_rank(generic, rank, CALLER()); }
unsigned simt_cluster_rank_of(const void *generic) { return rank_of_block(generic, CALLER()); }

/* The address that mapa and getctarank begin with. */
static void *mapped_address(const struct running *r, const struct instruction *in)
{
    u64 at = ptx_get(r, &in->operand[1]);
    return in->field[SPACE] == S_GENERIC ? (void *)(uintptr_t)at : generic_of(at, r->pc);
}

/* The same place in the shared memory of that block of the cluster. */
static void map_to_block(struct running *r, const struct instruction *in)
{
    void *there = map_to_rank(mapped_address(r, in), (unsigned)ptx_get(r, &in->operand[2]), r->pc);
    bool generic = in->field[SPACE] == S_GENERIC;
    ptx_set(r, &in->operand[0], generic ? (u64)(uintptr_t)there : simt_shared_address(there));
}
static void rank_of(struct running *r, const struct instruction *in)
{
    ptx_set(r, &in->operand[0], rank_of_block(mapped_address(r, in), r->pc));
}

static const char *check_cluster(struct instruction *in)
{
    bool generic = in->field[SPACE] == S_GENERIC;
    if (!generic && in->field[SPACE] != S_CLUSTER)
        return "the space is .shared::cluster";
    return generic && in->type[0] != T_U64 ? "a generic address is of type .u64" : NULL;
}

static const char *check_conversion(struct instruction *in) { return in->field[SPACE] ? NULL : "the space is missing"; }

bool simt_is_in(enum simt_space space, const void *generic)
{
    static const enum space spaces[] = {[SIMT_IN_GLOBAL] = SPACE_GLOBAL,
                                        [SIMT_IN_SHARED] = SPACE_SHARED,
                                        [SIMT_IN_CLUSTER] = SPACE_SHARED,
                                        [SIMT_IN_LOCAL] = SPACE_LOCAL,
                                        [SIMT_IN_CONSTANT] = SPACE_CONSTANT};
    struct block *b = block_here();
    enum space found = place_of(b, generic, 1).space;
    if (space == SIMT_IN_SHARED)
        return shared_owner(b, generic) == b;
    return (found == SPACE_NOWHERE ? SPACE_GLOBAL : found) == spaces[space]; /* to a GPU all else is global */
}

static void is_space(struct running *r, const struct instruction *in)
{
    static const enum simt_space spaces[] = {[S_GLOBAL] = SIMT_IN_GLOBAL,
                                             [S_SHARED] = SIMT_IN_SHARED,
                                             [S_CLUSTER] = SIMT_IN_CLUSTER,
                                             [S_LOCAL] = SIMT_IN_LOCAL,
                                             [S_CONST] = SIMT_IN_CONSTANT};
    const void *address = (const void *)(uintptr_t)ptx_get(r, &in->operand[1]);
    ptx_set(r, &in->operand[0], simt_is_in(spaces[in->field[SPACE]], address));
}

/* ---- loads and stores ---- */

static bool is_strong(const struct instruction *in) { return in->field[SEMANTICS] > ORDER_WEAK; }

static enum manner manner(const struct instruction *in)
{
    return is_strong(in) && in->field[SEMANTICS] != ORDER_VOLATILE ? AS_RELAXED : AS_VECTOR;
}

static enum simt_scope scope(const struct instruction *in)
{
    return in->field[SCOPE] == SCOPE_NONE ? SIMT_SCOPE_SYSTEM : ptx_scope_of(in);
}

static void fence_if(const struct running *r, const struct instruction *in, enum semantics this)
{
    if (in->field[SEMANTICS] == this || in->field[SEMANTICS] == ORDER_ACQ_REL)
        fence_do(ptx_scope_of(in), false, r->pc);
}

typedef u64 both_halves __attribute__((vector_size(16), aligned(1), may_alias));

/* Other blocks may be at the same words, on other workers: an element moves as a whole, one of 16 bytes as a vector. */
static u128 load_element(const unsigned char *from, unsigned bytes)
{
    switch (bytes) {
    case 16: return (u128)((const volatile both_halves *)(const void *)from)[0];
    case 1: return __atomic_load_n(from, __ATOMIC_RELAXED);
    case 2: return __atomic_load_n((const uint16_t *)(const void *)from, __ATOMIC_RELAXED);
    case 4: return __atomic_load_n((const uint32_t *)(const void *)from, __ATOMIC_RELAXED);
    default: return __atomic_load_n((const u64 *)(const void *)from, __ATOMIC_RELAXED);
    }
}

static void store_element(unsigned char *to, u128 value, unsigned bytes)
{
    switch (bytes) {
    case 16: *(volatile both_halves *)(void *)to = (both_halves)value; return;
    case 1: __atomic_store_n(to, (uint8_t)value, __ATOMIC_RELAXED); return;
    case 2: __atomic_store_n((uint16_t *)(void *)to, (uint16_t)value, __ATOMIC_RELAXED); return;
    case 4: __atomic_store_n((uint32_t *)(void *)to, (uint32_t)value, __ATOMIC_RELAXED); return;
    default: __atomic_store_n((u64 *)(void *)to, (u64)value, __ATOMIC_RELAXED); return;
    }
}

static unsigned elements(const struct instruction *in) { return in->field[VECTOR] ? in->field[VECTOR] : 1; }

static void load(struct running *r, const struct instruction *in)
{
    unsigned n = elements(in), each = ptx_types[in->type[0]].bytes;
    const unsigned char *from = ptx_address(r, &in->operand[1], in->field[SPACE]);
    if (simt_checked) {
        enum access_kind kind = is_strong(in) ? ACCESS_VOLATILE_LOAD : ACCESS_LOAD;
        check_space(r, in, from, n * each, kind);
        if (in->field[READ_ONLY])
            access_read_only(running(), from, n * each, r->pc);
        access_in_manner(from, n * each, kind, manner(in), scope(in), r->pc);
    } else if (is_strong(in)) {
        may_poll(running(), QUIET_LOAD, r->pc);
    }
    for (unsigned i = 0; i < n; i++) {
        u128 value = load_element(from + i * each, each);
        ptx_set_wide(r, &in->operand[0].elements[i], each == 16 ? value : ptx_extend((u64)value, in->type[0]));
    }
    if (is_strong(in))
        moves_on(simt_worker);
    fence_if(r, in, ORDER_ACQUIRE);
}

static void store(struct running *r, const struct instruction *in)
{
    unsigned n = elements(in), each = ptx_types[in->type[0]].bytes;
    unsigned char *to = ptx_address(r, &in->operand[0], in->field[SPACE]);
    fence_if(r, in, ORDER_RELEASE);
    if (simt_checked) {
        enum access_kind kind = is_strong(in) ? ACCESS_VOLATILE_STORE : ACCESS_STORE;
        check_space(r, in, to, n * each, kind);
        access_in_manner(to, n * each, kind, manner(in), scope(in), r->pc);
    }
    for (unsigned i = 0; i < n; i++)
        store_element(to + i * each, ptx_get_wide(r, &in->operand[1].elements[i]), each);
    if (is_strong(in))
        moves_on(simt_worker);
}

static const char *check_access(struct instruction *in, unsigned values, u64 semantics)
{
    unsigned n = in->field[VECTOR];
    const struct ptx_operand *v = &in->operand[values];
    if (n ? v->kind != O_VECTOR || v->n != n : v->kind == O_VECTOR || v->kind == O_ADDRESS)
        return "the vector has not as many elements as the instruction says";
    if (n == 8)
        return "vectors of eight are for atomic operations";
    if (n * ptx_types[in->type[0]].bytes > 16)
        return "an access has at most 16 bytes";
    if (!(1u << in->field[SEMANTICS] & semantics))
        return "it cannot be ordered so";
    if ((manner(in) == AS_RELAXED) != (in->field[SCOPE] != SCOPE_NONE))
        return ".relaxed, .acquire and .release need a scope, and others have none";
    return NULL;
}

#define WEAKLY (1u << ORDER_NONE | 1u << ORDER_WEAK | 1u << ORDER_RELAXED | 1u << ORDER_VOLATILE)

static const char *check_load(struct instruction *in) { return check_access(in, 0, WEAKLY | 1u << ORDER_ACQUIRE); }
static const char *check_store(struct instruction *in) { return check_access(in, 1, WEAKLY | 1u << ORDER_RELEASE); }

/* ---- atomic operations ---- */

enum simt_atomic_op ptx_atomic_op(const struct instruction *in)
{
    static const enum simt_atomic_op ops[] = {
        [OP_AND] = SIMT_ATOMIC_AND, [OP_OR] = SIMT_ATOMIC_OR,   [OP_XOR] = SIMT_ATOMIC_XOR,
        [OP_ADD] = SIMT_ATOMIC_ADD, [OP_MIN] = SIMT_ATOMIC_MIN, [OP_MAX] = SIMT_ATOMIC_MAX,
        [OP_INC] = SIMT_ATOMIC_INC, [OP_DEC] = SIMT_ATOMIC_DEC, [OP_EXCH] = SIMT_ATOMIC_EXCHANGE,
        [OP_CAS] = SIMT_ATOMIC_CAS};
    return ops[in->field[OPERATION]];
}

enum simt_type ptx_atomic_type(const struct instruction *in)
{
    static const enum simt_type types[TYPES] = {
        [T_B128] = SIMT_B128,   [T_B16] = SIMT_U16,       [T_B32] = SIMT_U32, [T_B64] = SIMT_U64,
        [T_U32] = SIMT_U32,     [T_U64] = SIMT_U64,       [T_S32] = SIMT_I32, [T_S64] = SIMT_I64,
        [T_F32] = SIMT_F32,     [T_F64] = SIMT_F64,       [T_F16] = SIMT_F16, [T_BF16] = SIMT_BF16,
        [T_F16X2] = SIMT_F16X2, [T_BF16X2] = SIMT_BF16X2,
    };
    return types[in->type[0]];
}

static u128 change(struct running *r, const struct instruction *in, unsigned address)
{
    const struct ptx_operand *value = &in->operand[address + 1];
    struct atomic a = {ptx_atomic_op(in), ptx_atomic_type(in), ptx_scope_of(in)};
    void *at = ptx_address(r, &in->operand[address], in->field[SPACE]);
    bool compares = in->field[OPERATION] == OP_CAS;
    unsigned bytes = ptx_types[in->type[0]].bytes;
    u128 bits = bytes == 16 ? ~(u128)0 : ptx_bits(bytes);
    u128 first = ptx_get_wide(r, value) & bits, second = compares ? ptx_get_wide(r, value + 1) & bits : 0;
    if (simt_checked)
        check_space(r, in, at, bytes, ACCESS_ATOMIC);
    fence_if(r, in, ORDER_RELEASE);
    u128 old = atomic_do(&a, at, compares ? second : first, compares ? first : 0, r->pc);
    fence_if(r, in, ORDER_ACQUIRE);
    return old;
}

/* The values become the old ones. */
static void change_vector(struct running *r, const struct instruction *in, unsigned address, u64 *values)
{
    const struct ptx_operand *value = &in->operand[address + 1];
    struct atomic a = {ptx_atomic_op(in), ptx_atomic_type(in), ptx_scope_of(in)};
    void *at = ptx_address(r, &in->operand[address], in->field[SPACE]);
    for (unsigned i = 0; i < value->n; i++)
        values[i] = ptx_get(r, &value->elements[i]) & ptx_bits(ptx_types[in->type[0]].bytes);
    fence_if(r, in, ORDER_RELEASE);
    atomic_do_vector(&a, at, value->n, values, r->pc);
    fence_if(r, in, ORDER_ACQUIRE);
}

#define MOST_ATOMIC 8 /* elements */

static void atomic_with_result(struct running *r, const struct instruction *in)
{
    u64 values[MOST_ATOMIC];
    if (!in->field[VECTOR]) {
        u128 old = change(r, in, 1);
        ptx_set_wide(r, &in->operand[0], in->type[0] == T_B128 ? old : ptx_extend((u64)old, in->type[0]));
        return;
    }
    change_vector(r, in, 1, values);
    for (unsigned i = 0; i < in->operand[0].n; i++)
        ptx_set(r, &in->operand[0].elements[i], values[i]);
}
static void atomic_without_result(struct running *r, const struct instruction *in)
{
    u64 values[MOST_ATOMIC];
    if (in->field[VECTOR])
        change_vector(r, in, 0, values);
    else
        change(r, in, 0);
}

#define FLOATING (FLOATS | PAIRS)
#define HALF_TYPES (HALVES | PAIRS)

bool ptx_fits_type(const struct instruction *in, const struct ptx_operand *o)
{
    unsigned n = in->field[VECTOR];
    if (n ? o->kind != O_VECTOR || o->n != n : o->kind == O_VECTOR)
        return false;
    for (unsigned i = 0; i < o->n; i++)
        if (o->elements[i].kind == O_SLOT && o->elements[i].bytes != ptx_types[in->type[0]].bytes)
            return false;
    return true;
}

static const char *check_vector(const struct instruction *in)
{
    enum operation o = in->field[OPERATION];
    bool of_half = TYPE(in->type[0]) & HALF_TYPES;
    unsigned most = TYPE(in->type[0]) & HALVES ? 8 : 4;
    if (in->field[SPACE] != S_GENERIC && in->field[SPACE] != S_GLOBAL)
        return "vectors are of global memory";
    if (!(of_half || in->type[0] == T_F32) || in->field[VECTOR] > most)
        return "there is no such vector: .v2 and .v4 of .f32, .f16x2 and .bf16x2, .v2 to .v8 of .f16 and .bf16";
    return o == OP_ADD || (of_half && (o == OP_MIN || o == OP_MAX)) ? NULL : "there is no such operation of vectors";
}

static const char *check_atomic(struct instruction *in, unsigned address)
{
    static const u64 types[] = {
        [OP_AND] = TYPE(T_B32) | TYPE(T_B64),
        [OP_OR] = TYPE(T_B32) | TYPE(T_B64),
        [OP_XOR] = TYPE(T_B32) | TYPE(T_B64),
        [OP_ADD] = WIDE | FLOATING,
        [OP_MIN] = WIDE,
        [OP_MAX] = WIDE,
        [OP_INC] = TYPE(T_U32),
        [OP_DEC] = TYPE(T_U32),
        [OP_EXCH] = TYPE(T_B32) | TYPE(T_B64) | TYPE(T_B128),
        [OP_CAS] = TYPE(T_B16) | TYPE(T_B32) | TYPE(T_B64) | TYPE(T_B128),
        [OP_POPC] = 0,
    };
    bool compares = in->field[OPERATION] == OP_CAS, of_half = TYPE(in->type[0]) & HALF_TYPES;
    unsigned last = address + 1 + compares;
    if (in->field[VECTOR] ? check_vector(in) != NULL : !(types[in->field[OPERATION]] & TYPE(in->type[0])))
        return in->field[VECTOR] ? check_vector(in) : "there is no such operation of that type";
    if (of_half != in->field[NO_FTZ])
        return ".noftz is for 16-bit floating point, which needs it";
    if (in->n != last + 1u + in->field[CACHE_POLICY])
        return "an operand is missing, or there are too many";
    for (unsigned i = 0; i <= last; i++)
        if (i != address && !ptx_fits_type(in, &in->operand[i]))
            return "a register is not as wide as the type, or a vector has not as many as the instruction says";
    return NULL;
}
static const char *check_with_result(struct instruction *in) { return check_atomic(in, 1); }
static const char *check_without_result(struct instruction *in)
{
    bool exchanges = in->field[OPERATION] == OP_EXCH || in->field[OPERATION] == OP_CAS;
    return exchanges ? "that is an operation of atom" : check_atomic(in, 0);
}

/* ---- policies of caches, which change nothing ---- */

static const char *check_policy(struct instruction *in)
{
    if (in->field[SPACE] != S_GENERIC && in->field[SPACE] != S_GLOBAL)
        return "the range is of global memory";
    return in->field[HINT] ? NULL : "what is done with the lines, .L2::evict_last or another, is missing";
}

static void make_policy(struct running *r, const struct instruction *in) { ptx_set(r, &in->operand[0], 0); }

#define ATOMIC_FIELDS (WHERE | HAS(OPERATION) | HAS(CACHE_POLICY) | HAS(NO_FTZ) | HAS(VECTOR))

const struct row ptx_memory_rows[] = {
    {"ld", load, WHERE | CACHED | HAS(READ_ONLY) | HAS(VECTOR), "Wa", ACCESSED, check_load},
    {"ldu", load, HAS(SPACE) | HAS(VECTOR), "Wa", ACCESSED, check_load},
    {"st", store, WHERE | CACHED | HAS(VECTOR), "aV", ACCESSED, check_store},
    {"atom", atomic_with_result, ATOMIC_FIELDS, "GaH?H", WIDE | FLOATING | BITS | TYPE(T_B128), check_with_result},
    {"red", atomic_without_result, ATOMIC_FIELDS, "aH", WIDE | FLOATING | BITS, check_without_result},
    {"cvta", convert_address, HAS(TOWARD) | HAS(SPACE), "ds", TYPE(T_U32) | TYPE(T_U64), check_conversion},
    {"mapa", map_to_block, HAS(SPACE), "dsn", TYPE(T_U32) | TYPE(T_U64), check_cluster},
    {"getctarank", rank_of, HAS(SPACE), "ms", TYPE(T_U32) | TYPE(T_U64), check_cluster},
    {"isspacep", is_space, HAS(SPACE), "ps", 0, check_conversion},
    {"prefetch", ptx_nothing, HAS(SPACE) | HAS(HINT), "a", 0, NULL},
    {"prefetchu", ptx_nothing, HAS(HINT), "a", 0, NULL},
    {"discard", ptx_nothing, HAS(SPACE) | HAS(HINT), "an", 0, NULL},
    {"applypriority", ptx_nothing, HAS(SPACE) | HAS(HINT), "an", 0, NULL},
    {"createpolicy.fractional", make_policy, HAS(HINT), "d?n", TYPE(T_B64), check_policy},
    {"createpolicy.range", make_policy, HAS(SPACE) | HAS(HINT), "dann", TYPE(T_B64), check_policy},
    {"createpolicy.cvt.L2", make_policy, 0, "dl", TYPE(T_B64), NULL},
    {0},
};

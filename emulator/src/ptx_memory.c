/* Inline PTX: loads, stores, atomic operations and addresses (PTX ISA, "ld", "st", "atom", "red", "cvta"). Each is checked
 * and counted as the same access of C++ is. */
#include "access.h"
#include "atomic.h"
#include "ptx.h"
#include "report.h"

#define ACCESSED (BYTES | INTEGERS | TYPE(T_B8) | BITS | TYPE(T_B128) | FULL)
#define CACHED (HAS(CACHE) | HAS(HINT) | HAS(CACHE_POLICY))
#define QUIET_LOAD (1u << 8) /* 4,096 strong loads, and others run */
#define WHERE (HAS(SPACE) | HAS(SEMANTICS) | HAS(SCOPE))

/* ---- addresses ---- */

/* An address of shared memory is an offset; generic and global ones are those of C++. */
void *ptx_address(const struct running *r, const struct ptx_operand *o, enum ptx_space space)
{
    u64 at = o->value + (o->slot == NO_SLOT ? 0 : r->slots[o->slot]);
    struct block *b = running();
    if (space != S_SHARED)
        return (void *)(uintptr_t)at;
    if (o->bytes == 4 || o->slot == NO_SLOT)
        at = (uint32_t)at;
    if (at >= SHARED_BYTES)
        report_call("out of bounds", r->pc, "uses an address beyond shared memory",
                    "There an address is an offset of 32 bits: __cvta_generic_to_shared() makes it of a pointer.");
    return b->arena + at;
}

/* .global and .local accept no address of shared memory, as generic instructions do. */
static void check_space(const struct running *r, const struct instruction *in, const void *address, unsigned bytes,
                        enum access kind)
{
    struct block *b = running();
    bool shared = (size_t)((const unsigned char *)address - b->arena) < SHARED_BYTES;
    if (shared && in->field[SPACE] != S_SHARED && in->field[SPACE] != S_GENERIC)
        report_access(b, "wrong memory space", r->pc, address, bytes, kind,
                      "That is shared memory; the instruction names another space.");
}

static void convert_address(struct running *r, const struct instruction *in)
{
    u64 a = ptx_get(r, &in->operand[1]);
    bool shared = in->field[SPACE] == S_SHARED;
    if (shared && in->field[TOWARD])
        a = simt_shared_address((const void *)(uintptr_t)a);
    else if (shared)
        a = (u64)(uintptr_t)simt_shared_generic((unsigned)a);
    ptx_set(r, &in->operand[0], a);
}

static const char *check_conversion(struct instruction *in) { return in->field[SPACE] ? NULL : "the space is missing"; }

static void is_space(struct running *r, const struct instruction *in)
{
    static const enum ptx_space spaces[] = {
        [SPACE_NOWHERE] = S_GENERIC, [SPACE_SHARED] = S_SHARED,    [SPACE_GLOBAL] = S_GLOBAL,
        [SPACE_LOCAL] = S_LOCAL,     [SPACE_PARAMETERS] = S_CONST, [SPACE_CONSTANT] = S_CONST};
    struct place p = place_of(running(), (const void *)(uintptr_t)ptx_get(r, &in->operand[1]), 1);
    ptx_set(r, &in->operand[0], spaces[p.space] == in->field[SPACE]);
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
        enum access kind = is_strong(in) ? ACCESS_VOLATILE_LOAD : ACCESS_LOAD;
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
        enum access kind = is_strong(in) ? ACCESS_VOLATILE_STORE : ACCESS_STORE;
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

static enum simt_atomic_op op_of(const struct instruction *in)
{
    static const enum simt_atomic_op ops[] = {
        [OP_AND] = SIMT_ATOMIC_AND, [OP_OR] = SIMT_ATOMIC_OR,   [OP_XOR] = SIMT_ATOMIC_XOR,
        [OP_ADD] = SIMT_ATOMIC_ADD, [OP_MIN] = SIMT_ATOMIC_MIN, [OP_MAX] = SIMT_ATOMIC_MAX,
        [OP_INC] = SIMT_ATOMIC_INC, [OP_DEC] = SIMT_ATOMIC_DEC, [OP_EXCH] = SIMT_ATOMIC_EXCHANGE,
        [OP_CAS] = SIMT_ATOMIC_CAS};
    return ops[in->field[OPERATION]];
}

static enum simt_type type_of(const struct instruction *in)
{
    static const enum simt_type types[TYPES] = {
        [T_B16] = SIMT_U16,   [T_B32] = SIMT_U32,     [T_B64] = SIMT_U64,       [T_U32] = SIMT_U32, [T_U64] = SIMT_U64,
        [T_S32] = SIMT_I32,   [T_S64] = SIMT_I64,     [T_F32] = SIMT_F32,       [T_F64] = SIMT_F64, [T_F16] = SIMT_F16,
        [T_BF16] = SIMT_BF16, [T_F16X2] = SIMT_F16X2, [T_BF16X2] = SIMT_BF16X2,
    };
    return types[in->type[0]];
}

static u64 change(struct running *r, const struct instruction *in, unsigned address)
{
    const struct ptx_operand *value = &in->operand[address + 1];
    struct atomic a = {op_of(in), type_of(in), ptx_scope_of(in)};
    void *at = ptx_address(r, &in->operand[address], in->field[SPACE]);
    bool compares = in->field[OPERATION] == OP_CAS;
    unsigned bytes = ptx_types[in->type[0]].bytes;
    u64 first = ptx_get(r, value) & ptx_bits(bytes), second = compares ? ptx_get(r, value + 1) & ptx_bits(bytes) : 0;
    if (simt_checked)
        check_space(r, in, at, bytes, ACCESS_ATOMIC);
    fence_if(r, in, ORDER_RELEASE);
    u64 old = atomic_do(&a, at, compares ? second : first, compares ? first : 0, r->pc);
    fence_if(r, in, ORDER_ACQUIRE);
    return old;
}

static void atomic_with_result(struct running *r, const struct instruction *in)
{
    ptx_set(r, &in->operand[0], ptx_extend(change(r, in, 1), in->type[0]));
}
static void atomic_without_result(struct running *r, const struct instruction *in) { change(r, in, 0); }

#define FLOATING (FLOATS | PAIRS)

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
        [OP_EXCH] = TYPE(T_B32) | TYPE(T_B64),
        [OP_CAS] = TYPE(T_B16) | TYPE(T_B32) | TYPE(T_B64),
        [OP_POPC] = 0,
    };
    bool compares = in->field[OPERATION] == OP_CAS;
    if (!(types[in->field[OPERATION]] & TYPE(in->type[0])))
        return "there is no such operation of that type";
    if (in->n < address + 2 + compares)
        return "an operand is missing";
    return NULL;
}
static const char *check_with_result(struct instruction *in) { return check_atomic(in, 1); }
static const char *check_without_result(struct instruction *in)
{
    bool exchanges = in->field[OPERATION] == OP_EXCH || in->field[OPERATION] == OP_CAS;
    return exchanges ? "that is an operation of atom" : check_atomic(in, 0);
}

#define ATOMIC_FIELDS (WHERE | HAS(OPERATION) | HAS(CACHE_POLICY) | HAS(NO_FTZ))

const struct row ptx_memory_rows[] = {
    {"ld", load, WHERE | CACHED | HAS(READ_ONLY) | HAS(VECTOR), "Wa", ACCESSED, check_load},
    {"ldu", load, HAS(SPACE) | HAS(VECTOR), "Wa", ACCESSED, check_load},
    {"st", store, WHERE | CACHED | HAS(VECTOR), "aV", ACCESSED, check_store},
    {"atom", atomic_with_result, ATOMIC_FIELDS, "das?s", WIDE | FLOATING | BITS, check_with_result},
    {"red", atomic_without_result, ATOMIC_FIELDS, "as", WIDE | FLOATING | BITS, check_without_result},
    {"cvta", convert_address, HAS(TOWARD) | HAS(SPACE), "ds", TYPE(T_U32) | TYPE(T_U64), check_conversion},
    {"isspacep", is_space, HAS(SPACE), "ps", 0, check_conversion},
    {"prefetch", ptx_nothing, HAS(SPACE) | HAS(HINT), "a", 0, NULL},
    {"prefetchu", ptx_nothing, HAS(HINT), "a", 0, NULL},
    {"discard", ptx_nothing, HAS(SPACE) | HAS(HINT), "an", 0, NULL},
    {"applypriority", ptx_nothing, HAS(SPACE) | HAS(HINT), "an", 0, NULL},
    {"createpolicy.fractional", ptx_nothing, HAS(HINT), "d?n", TYPE(T_B64), NULL},
    {0},
};

/* Atomic functions: the access is checked as one, then done with the host's own atomic operations, since blocks run
 * on several cores. A thread that only ever does atomics may be spinning, so it lets others run now and then. */
#include "atomic.h"
#include "access.h"
#include "collective.h"
#include "counters.h"
#include "launch.h"
#include "memory.h"
#include "messages.h"
#include "../include/simt/half_bits.h"
#include <string.h>

#define QUIET_ATOMIC (1u << 14) /* 64 of them, and others run */

static u64 load(const void *p, unsigned bytes)
{
    if (bytes == 2)
        return __atomic_load_n((const uint16_t *)p, __ATOMIC_SEQ_CST);
    return bytes == 4 ? __atomic_load_n((const uint32_t *)p, __ATOMIC_SEQ_CST)
                      : __atomic_load_n((const u64 *)p, __ATOMIC_SEQ_CST);
}

static bool swap(void *p, unsigned bytes, u64 from, u64 to)
{
    uint16_t f16 = (uint16_t)from;
    uint32_t f32 = (uint32_t)from;
    if (bytes == 2)
        return __atomic_compare_exchange_n((uint16_t *)p, &f16, (uint16_t)to, false, __ATOMIC_SEQ_CST,
                                           __ATOMIC_SEQ_CST);
    if (bytes == 4)
        return __atomic_compare_exchange_n((uint32_t *)p, &f32, (uint32_t)to, false, __ATOMIC_SEQ_CST,
                                           __ATOMIC_SEQ_CST);
    return __atomic_compare_exchange_n((u64 *)p, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* ---- sums of floating point, as bit patterns ---- */

static u64 add_float(u64 old, u64 value)
{
    return simt_float_bits(simt_bits_float((unsigned)old) + simt_bits_float((unsigned)value));
}

static u64 add_double(u64 old, u64 value)
{
    double a, b;
    memcpy(&a, &old, 8), memcpy(&b, &value, 8);
    a += b;
    memcpy(&value, &a, 8);
    return value;
}

static u64 add_half(u64 old, u64 value)
{
    return simt_half_from(simt_half_to((unsigned short)old) + simt_half_to((unsigned short)value));
}

static u64 add_bfloat(u64 old, u64 value)
{
    return simt_bfloat_from(simt_bfloat_to((unsigned short)old) + simt_bfloat_to((unsigned short)value));
}

static const struct {
    unsigned bytes;
    u64 (*add)(u64 old, u64 value); /* of floating point, or of each half of a pair; NULL: integers */
    bool pair;
} types[] = {
    [SIMT_I32] = {4, NULL, false},       [SIMT_U32] = {4, NULL, false},         [SIMT_I64] = {8, NULL, false},
    [SIMT_U64] = {8, NULL, false},       [SIMT_U16] = {2, NULL, false},         [SIMT_F32] = {4, add_float, false},
    [SIMT_F64] = {8, add_double, false}, [SIMT_F16] = {2, add_half, false},     [SIMT_BF16] = {2, add_bfloat, false},
    [SIMT_F16X2] = {4, add_half, true},  [SIMT_BF16X2] = {4, add_bfloat, true},
};

static u64 add(enum simt_type type, u64 old, u64 value)
{
    if (types[type].pair)
        return types[type].add(old >> 16, value >> 16) << 16 | types[type].add(old, value);
    return types[type].add ? types[type].add(old, value) : old + value;
}

static u64 combine(enum simt_atomic_op op, enum simt_type type, u64 old, u64 value, u64 compare)
{
    bool is_signed = type == SIMT_I32 || type == SIMT_I64;
    long long a = type == SIMT_I32 ? (int32_t)old : (long long)old;
    long long b = type == SIMT_I32 ? (int32_t)value : (long long)value;
    bool less = is_signed ? a < b : old < value;
    switch (op) {
    case SIMT_ATOMIC_ADD: return add(type, old, value);
    case SIMT_ATOMIC_SUB: return old - value;
    case SIMT_ATOMIC_EXCHANGE: return value;
    case SIMT_ATOMIC_MIN: return less ? old : value;
    case SIMT_ATOMIC_MAX: return less ? value : old;
    case SIMT_ATOMIC_INC: return old >= value ? 0 : old + 1;
    case SIMT_ATOMIC_DEC: return old == 0 || old > value ? value : old - 1;
    case SIMT_ATOMIC_CAS: return old == compare ? value : old;
    case SIMT_ATOMIC_AND: return old & value;
    case SIMT_ATOMIC_OR: return old | value;
    case SIMT_ATOMIC_XOR: return old ^ value;
    }
    return old;
}

/* Without checks, nothing else tells. */
static void note_system_scope(const void *address)
{
    const struct object *o = memory_is_unified(address) ? memory_find(address) : NULL;
    if (o && o->managed)
        memory_touched(o, true);
}

u64 atomic_do(const struct atomic *a, void *address, u64 value, u64 compare, const void *pc)
{
    struct worker *w = simt_worker;
    struct block *b = w->block;
    unsigned bytes = types[a->type].bytes;
    moves_on(w);
    may_poll(b, QUIET_ATOMIC, pc);
    b->compares = a->op == SIMT_ATOMIC_CAS;
    if (simt_checked)
        access_check(b, pc, address, bytes, ACCESS_ATOMIC, a->scope);
    if (!simt_checked && a->scope == SIMT_SCOPE_SYSTEM)
        note_system_scope(address);
    if (simt_checked && b->compares)
        race_tries(b, address, bytes);
    if (b->n_undefined)
        collective_check_value(b, value, bytes, pc);
    counters_event(b, pc, EVENT_ATOMIC);
    bool held = simt_checked && message_atomic_begin(b, address);
    struct strong_access strong = {.address = address,
                                   .scope = a->scope,
                                   .compares = a->op == SIMT_ATOMIC_CAS,
                                   .compare = compare,
                                   .bytes = bytes,
                                   .pc = pc};
    u64 old, new;
    if (held && message_atomic_older(b, &strong, &old) && combine(a->op, a->type, old, value, compare) != old)
        strong.older = 0;
    if (!strong.older)
        do {
            old = load(address, bytes);
            new = combine(a->op, a->type, old, value, compare);
        } while (!swap(address, bytes, old, new));
    if (!simt_checked)
        return old;
    strong.before = old;
    strong.writes = !strong.older && (a->op != SIMT_ATOMIC_CAS || old == compare);
    message_atomic_end(b, &strong, held);
    moves_on(w);
    return old;
}

unsigned long long simt_atomic(enum simt_atomic_op op, enum simt_type type, enum simt_scope scope, void *address,
                               unsigned long long value, unsigned long long compare)
{
    return atomic_do(&(struct atomic){op, type, scope}, address, value, compare, CALLER());
}

void fence_do(enum simt_scope scope, bool sequential, const void *pc)
{
    moves_on(simt_worker);
    if (simt_checked)
        order_fence(running(), scope, sequential, pc);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void simt_fence(enum simt_scope scope) { fence_do(scope, true, CALLER()); }

/* Atomic functions: the access is checked as one, then done with the host's own atomic operations, since blocks run
 * on several cores. A thread that only ever does atomics may be spinning, so it lets others run now and then. */
#include "order/atomic.h"
#include "base/report.h"
#include "block/launch.h"
#include "count/counters.h"
#include "memory/memory.h"
#include "memory/place.h"
#include "memory/protection.h"
#include "memory/shared.h"
#include "order/access.h"
#include "order/messages.h"
#include "../../include/simt/half_bits.h"
#include <pthread.h>
#include <string.h>

#define QUIET_ATOMIC (1u << 14) /* 64 of them, and others run */

/* 16 bytes are not atomic on every host: those of all threads wait for each other. */
static pthread_mutex_t wide = PTHREAD_MUTEX_INITIALIZER;

static u128 load_wide(const void *p)
{
    u128 value;
    pthread_mutex_lock(&wide);
    memcpy(&value, p, sizeof value);
    pthread_mutex_unlock(&wide);
    return value;
}

static bool swap_wide(void *p, u128 from, u128 to)
{
    pthread_mutex_lock(&wide);
    bool same = memcmp(p, &from, sizeof from) == 0;
    if (same)
        memcpy(p, &to, sizeof to);
    pthread_mutex_unlock(&wide);
    return same;
}

static u128 load(const void *p, unsigned bytes)
{
    switch (bytes) {
    case 1: return __atomic_load_n((const uint8_t *)p, __ATOMIC_SEQ_CST);
    case 2: return __atomic_load_n((const uint16_t *)p, __ATOMIC_SEQ_CST);
    case 4: return __atomic_load_n((const uint32_t *)p, __ATOMIC_SEQ_CST);
    case 8: return __atomic_load_n((const u64 *)p, __ATOMIC_SEQ_CST);
    default: return load_wide(p);
    }
}

static bool swap(void *p, unsigned bytes, u128 from, u128 to)
{
    uint8_t f8 = (uint8_t)from;
    uint16_t f16 = (uint16_t)from;
    uint32_t f32 = (uint32_t)from;
    u64 f64 = (u64)from;
    switch (bytes) {
    case 1:
        return __atomic_compare_exchange_n((uint8_t *)p, &f8, (uint8_t)to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    case 2:
        return __atomic_compare_exchange_n((uint16_t *)p, &f16, (uint16_t)to, false, __ATOMIC_SEQ_CST,
                                           __ATOMIC_SEQ_CST);
    case 4:
        return __atomic_compare_exchange_n((uint32_t *)p, &f32, (uint32_t)to, false, __ATOMIC_SEQ_CST,
                                           __ATOMIC_SEQ_CST);
    case 8: return __atomic_compare_exchange_n((u64 *)p, &f64, (u64)to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    default: return swap_wide(p, from, to);
    }
}

/* ---- floating point, as bit patterns ---- */

/* What is not a number becomes the one NaN that hardware writes. */
static u64 add_float(u64 old, u64 value)
{
    float sum = simt_bits_float((unsigned)old) + simt_bits_float((unsigned)value);
    return sum != sum ? 0x7fffffff : simt_float_bits(sum);
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

static double from_float(u64 bits) { return simt_bits_float((unsigned)bits); }
static double from_double(u64 bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static double from_half(u64 bits) { return simt_half_to((unsigned short)bits); }
static double from_bfloat(u64 bits) { return simt_bfloat_to((unsigned short)bits); }

static const struct {
    unsigned bytes;
    u64 (*add)(u64 old, u64 value); /* of floating point, or of each half of a pair; NULL: integers */
    bool pair;
    double (*number)(u64 bits); /* of these */
} types[] = {
    [SIMT_I32] = {.bytes = 4},
    [SIMT_U32] = {.bytes = 4},
    [SIMT_I64] = {.bytes = 8},
    [SIMT_U64] = {.bytes = 8},
    [SIMT_U16] = {.bytes = 2},
    [SIMT_I16] = {.bytes = 2},
    [SIMT_U8] = {.bytes = 1},
    [SIMT_I8] = {.bytes = 1},
    [SIMT_F32] = {4, add_float, false, from_float},
    [SIMT_F64] = {8, add_double, false, from_double},
    [SIMT_F16] = {2, add_half, false, from_half},
    [SIMT_BF16] = {2, add_bfloat, false, from_bfloat},
    [SIMT_F16X2] = {4, add_half, true, from_half},
    [SIMT_BF16X2] = {4, add_bfloat, true, from_bfloat},
    [SIMT_B128] = {.bytes = 16},
};

static u64 add(enum simt_type type, u64 old, u64 value)
{
    if (types[type].pair)
        return types[type].add(old >> 16, value >> 16) << 16 | types[type].add(old, value);
    return types[type].add ? types[type].add(old, value) : old + value;
}

/* A number wins over NaN, and +0 is greater than -0 (PTX ISA, "min", "max"). Of two NaNs of 16 bits comes 0x7fff. */
static u64 extreme_of(enum simt_type type, u64 old, u64 value, bool most)
{
    double a = types[type].number(old), b = types[type].number(value);
    bool narrow = types[type].bytes == 2 || types[type].pair;
    if (narrow && a != a && b != b)
        return 0x7fff;
    if (a != a || b != b)
        return a != a ? value : old;
    bool less = a < b || (a == b && __builtin_signbit(a));
    return less != most ? old : value;
}

static u64 extreme(enum simt_type type, u64 old, u64 value, bool most)
{
    if (!types[type].pair)
        return extreme_of(type, old, value, most);
    u64 high = extreme_of(type, old >> 16 & 0xffff, value >> 16 & 0xffff, most);
    return high << 16 | extreme_of(type, old & 0xffff, value & 0xffff, most);
}

static u64 combine(enum simt_atomic_op op, enum simt_type type, u64 old, u64 value, u64 compare)
{
    bool is_signed = type == SIMT_I32 || type == SIMT_I64 || type == SIMT_I16 || type == SIMT_I8;
    unsigned unused = 64 - 8 * types[type].bytes;
    long long a = (long long)(old << unused), b = (long long)(value << unused);
    bool less = is_signed ? a < b : old < value;
    if (types[type].number && (op == SIMT_ATOMIC_MIN || op == SIMT_ATOMIC_MAX))
        return extreme(type, old, value, op == SIMT_ATOMIC_MAX);
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

/* Only exchange and comparison have 16 bytes. */
static u128 result(const struct atomic *a, u128 old, u128 value, u128 compare)
{
    if (a->type == SIMT_B128)
        return a->op == SIMT_ATOMIC_CAS && old != compare ? old : value;
    return combine(a->op, a->type, (u64)old, (u64)value, (u64)compare);
}

/* What is done once for an instruction, of one element or of several. */
static void begin(struct block *b, const void *address, unsigned bytes, const void *pc)
{
    struct access access = access_of(b, pc, address, bytes, ACCESS_ATOMIC);
    if (simt_checked && (uintptr_t)address % bytes)
        report_access(&access, "misaligned access", "");
    counters_event(b, pc, EVENT_ATOMIC);
    may_poll(b, QUIET_ATOMIC, pc);
}

/* By any pointer: the instruction is one for global and for shared memory. */
static void check_pair(const struct access *access)
{
    const struct block *owner = shared_owner(access->block, access->address);
    if (owner && owner != access->block)
        report_access(
            access, "wrong memory space",
            "In another block's shared memory an H200 adds two numbers of 16 bits as one whole number of 32.");
}

static u128 change(struct block *b, const struct atomic *a, void *address, u128 value, u128 compare, const void *pc)
{
    unsigned bytes = types[a->type].bytes;
    struct access access = access_of(b, pc, address, bytes, ACCESS_ATOMIC);
    access.scope = a->scope;
    access.compares = a->op == SIMT_ATOMIC_CAS;
    if (simt_checked)
        access_check(&access);
    if (simt_checked && types[a->type].pair)
        check_pair(&access);
    if (!simt_checked && a->scope == SIMT_SCOPE_SYSTEM)
        note_system_scope(address);
    if (simt_checked && access.compares)
        race_tries(b, address, bytes);
    bool held = simt_checked && message_atomic_begin(&access);
    struct strong_access strong = {.access = access, .compare = (u64)compare};
    u64 older = 0;
    if (held && message_atomic_older(&strong, &older) && result(a, older, value, compare) != older)
        strong.older = 0;
    u128 old = older, new;
    if (!strong.older)
        do {
            old = load(address, bytes);
            new = result(a, old, value, compare);
        } while (!swap(address, bytes, old, new));
    if (!simt_checked)
        return old;
    strong.before = (u64)old; /* of 16 bytes no history is kept */
    strong.writes = !strong.older && (a->op != SIMT_ATOMIC_CAS || old == compare);
    message_atomic_end(&strong, held);
    moves_on(simt_worker);
    return old;
}

unsigned atomic_bytes(enum simt_type type) { return types[type].bytes; }

u128 atomic_of_host(const struct atomic *a, void *address, u128 value, u128 compare)
{
    unsigned bytes = types[a->type].bytes;
    u128 old;
    do
        old = load(address, bytes);
    while (!swap(address, bytes, old, result(a, old, value, compare)));
    return old;
}

u128 atomic_do(const struct atomic *a, void *address, u128 value, u128 compare, const void *pc)
{
    struct block *b = running();
    begin(b, address, types[a->type].bytes, pc);
    return change(b, a, address, value, compare, pc);
}

void atomic_do_vector(const struct atomic *a, void *address, unsigned n, u64 *values, const void *pc)
{
    struct block *b = running();
    unsigned bytes = types[a->type].bytes;
    enum space space = simt_checked ? place_of(b, address, 1).space : SPACE_GLOBAL;
    struct access access = access_of(b, pc, address, n * bytes, ACCESS_ATOMIC);
    if (space == SPACE_SHARED || space == SPACE_LOCAL)
        report_access(&access, "wrong memory space", "Atomic operations on vectors are for global memory.");
    begin(b, address, n * bytes, pc);
    for (unsigned i = 0; i < n; i++)
        values[i] = (u64)change(b, a, (char *)address + i * bytes, values[i], 0, pc);
}

unsigned long long simt_atomic(enum simt_atomic_op op, enum simt_type type, enum simt_scope scope, void *address,
                               unsigned long long value, unsigned long long compare)
{
    return (u64)atomic_do(&(struct atomic){op, type, scope}, address, value, compare, CALLER());
}

void simt_atomic_vector(enum simt_atomic_op op, enum simt_type type, enum simt_scope scope, void *address, unsigned n,
                        unsigned long long *values)
{
    atomic_do_vector(&(struct atomic){op, type, scope}, address, n, values, CALLER());
}

void simt_atomic_wide(enum simt_atomic_op op, enum simt_scope scope, void *address, void *value, const void *compare)
{
    u128 new, expected = 0;
    memcpy(&new, value, sizeof new);
    if (op == SIMT_ATOMIC_CAS)
        memcpy(&expected, compare, sizeof expected);
    u128 old = atomic_do(&(struct atomic){op, SIMT_B128, scope}, address, new, expected, CALLER());
    memcpy(value, &old, sizeof old);
}

void fence_do(enum simt_scope scope, bool sequential, const void *pc)
{
    struct block *b = running();
    if (simt_checked)
        order_fence(b, scope, sequential, pc);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void simt_fence(enum simt_scope scope) { fence_do(scope, true, CALLER()); }

/* cuda::atomic and cuda::atomic_ref: loads, stores and operations that are ordered as C++ says. They are done as the
 * instructions of PTX that nvcc makes of them: ld and st with .relaxed, .acquire or .release, atomic operations between
 * fences, and fence.sc in front of what is sequentially consistent. The host's are done as they come. Only the program
 * calls this. */
#include "order/atomic.h"
#include "order/overlap.h"
#include "ptx/rows.h"
#include <string.h>

static enum ptx_scope scope_of(enum simt_scope scope)
{
    static const enum ptx_scope scopes[] = {[SIMT_SCOPE_BLOCK] = SCOPE_CTA,
                                            [SIMT_SCOPE_CLUSTER] = SCOPE_CLUSTER,
                                            [SIMT_SCOPE_DEVICE] = SCOPE_GPU,
                                            [SIMT_SCOPE_SYSTEM] = SCOPE_SYS};
    return scopes[scope];
}

static bool acquires(enum simt_order order) { return order != SIMT_RELAXED && order != SIMT_RELEASE; }
static bool releases(enum simt_order order) { return order >= SIMT_RELEASE; }

static void run(const struct row *table, const char *name, struct instruction *in, u64 *slots, const void *pc)
{
    struct running r = {.slots = slots, .pc = pc};
    while (strcmp(table->name, name) != 0)
        table++;
    table->run(&r, in);
}

static void fence(enum semantics semantics, enum simt_scope scope, const void *pc)
{
    struct instruction in = {.field = {[SEMANTICS] = (uint8_t)semantics, [SCOPE] = (uint8_t)scope_of(scope)}};
    run(ptx_sync_rows, "fence", &in, NULL, pc);
}

/* ld d, [a] or st [a], d: the value is in slots 0 and 1, the address in slot 2. */
static void move(const char *name, enum semantics semantics, enum simt_scope scope, u64 *slots, unsigned bytes,
                 const void *pc)
{
    static const enum type types[] = {[1] = T_B8, [2] = T_B16, [4] = T_B32, [8] = T_B64, [16] = T_B128};
    bool stores = name[0] == 's';
    struct instruction in = {.type = {(uint8_t)types[bytes]}, .n_types = 1, .n = 2};
    struct ptx_operand *value = &in.operand[stores], *address = &in.operand[!stores];
    *value = (struct ptx_operand){.kind = O_SLOT, .n = 1, .bytes = bytes == 16 ? 16 : 8, .value = ~0ull};
    *address = (struct ptx_operand){.kind = O_ADDRESS, .n = 1, .bytes = 8, .slot = 2};
    value->elements = value;
    address->elements = address;
    in.field[SEMANTICS] = (uint8_t)semantics;
    in.field[SCOPE] = (uint8_t)scope_of(scope);
    run(ptx_memory_rows, name, &in, slots, pc);
}

/* By the host: an operation that leaves what is there, or puts something there. */
static u128 of_host(enum simt_atomic_op op, void *address, u128 value, unsigned bytes)
{
    static const enum simt_type types[] = {
        [1] = SIMT_U8, [2] = SIMT_U16, [4] = SIMT_U32, [8] = SIMT_U64, [16] = SIMT_B128};
    return atomic_of_host(&(struct atomic){op, types[bytes], SIMT_SCOPE_SYSTEM}, address, value, value);
}

void simt_ordered_load(struct simt_ordering how, const void *address, void *value, unsigned bytes)
{
    u64 slots[3] = {0, 0, (u64)(uintptr_t)address};
    if (!simt_worker) {
        overlap_host_atomic(address, bytes, false, CALLER());
        u128 found = of_host(SIMT_ATOMIC_CAS, (void *)(uintptr_t)address, 0, bytes);
        memcpy(value, &found, bytes);
        return;
    }
    if (how.order == SIMT_SEQUENTIAL)
        fence(ORDER_SC, how.scope, CALLER());
    move("ld", acquires(how.order) ? ORDER_ACQUIRE : ORDER_RELAXED, how.scope, slots, bytes, CALLER());
    memcpy(value, slots, bytes);
}

void simt_ordered_store(struct simt_ordering how, void *address, const void *value, unsigned bytes)
{
    u64 slots[3] = {0, 0, (u64)(uintptr_t)address};
    memcpy(slots, value, bytes);
    if (!simt_worker) {
        overlap_host_atomic(address, bytes, true, CALLER());
        u128 new = 0;
        memcpy(&new, value, bytes);
        of_host(SIMT_ATOMIC_EXCHANGE, address, new, bytes);
        return;
    }
    if (how.order == SIMT_SEQUENTIAL)
        fence(ORDER_SC, how.scope, CALLER());
    move("st", releases(how.order) && how.order != SIMT_SEQUENTIAL ? ORDER_RELEASE : ORDER_RELAXED, how.scope, slots,
         bytes, CALLER());
}

bool simt_ordered_change(struct simt_ordering how, enum simt_atomic_op op, enum simt_type type, void *address,
                         void *value, const void *compare)
{
    struct atomic a = {op, type, how.scope};
    unsigned bytes = atomic_bytes(type);
    u128 new = 0, expected = 0, old;
    memcpy(&new, value, bytes);
    if (op == SIMT_ATOMIC_CAS)
        memcpy(&expected, compare, bytes);
    if (!simt_worker) {
        overlap_host_atomic(address, bytes, true, CALLER());
        old = atomic_of_host(&a, address, new, expected);
        memcpy(value, &old, bytes);
        return op != SIMT_ATOMIC_CAS || old == expected;
    }
    if (releases(how.order))
        fence(how.order == SIMT_SEQUENTIAL ? ORDER_SC : ORDER_ACQ_REL, how.scope, CALLER());
    old = atomic_do(&a, address, new, expected, CALLER());
    bool written = op != SIMT_ATOMIC_CAS || old == expected;
    if (acquires(written ? how.order : how.failure))
        fence(ORDER_ACQ_REL, how.scope, CALLER());
    memcpy(value, &old, bytes);
    return written;
}

void simt_ordered_fence(enum simt_order order, enum simt_scope scope)
{
    if (!simt_worker)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    else if (order != SIMT_RELAXED)
        fence(order == SIMT_SEQUENTIAL ? ORDER_SC : ORDER_ACQ_REL, scope, CALLER());
}

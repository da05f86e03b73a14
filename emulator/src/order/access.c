/* Every access of a kernel comes through here.
 *
 * Kernels are compiled with -fsanitize=thread, which puts a call in front of each load and store; the functions called
 * belong to a race detector. simtcc renames the calls (hooks.syms), so that they come here instead: the race detector
 * itself need not be linked, and may be, to watch this runtime. Host code of the same file calls them too, with no
 * worker. The caller's address is the access's place in the program. */
#include "order/access.h"
#include "base/lines.h"
#include "base/report.h"
#include "block/async.h"
#include "block/launch.h"
#include "count/counters.h"
#include "memory/lookup.h"
#include "memory/protection.h"
#include "memory/shared.h"
#include "memory/written.h"
#include "order/host.h"
#include "order/messages.h"
#include "order/overlap.h"
#include "order/registers.h"
#include "order/touch.h"
#include "order/undefined.h"
#include <string.h>

#define POLL_LIMIT (1u << 6) /* volatile loads count for as many as would make this few */

/* ---- initialisation ---- */

/* Structs are copied with their padding, which nobody writes: a word counts as written when any byte of it is; of a
 * move of 8 bytes or more, which may be of a struct unless it is of a vector, any 8 bytes; and a copy of more, when
 * anything is. */
static bool is_written(const struct object *o, size_t offset, unsigned bytes, unsigned unit)
{
    const unsigned char *written = o->written;
    for (size_t at = offset, end = offset + bytes; at < end;) {
        size_t stop = (at | (unit - 1)) + 1 < end ? (at | (unit - 1)) + 1 : end;
        unsigned bits = __atomic_load_n(&written[at / 8], __ATOMIC_RELAXED) >> at % 8 & ((1u << (stop - at)) - 1);
        if (!bits)
            return false;
        at = stop;
    }
    return true;
}

static bool is_vector(const struct access *a)
{
    return a->manner == AS_VECTOR || a->manner == AS_RELAXED || lines_of_vector(a->pc);
}

static bool is_initialised(const struct access *a, const struct object *o, size_t offset)
{
    unsigned bytes = a->bytes;
    if (bytes == 4) { /* and aligned: half of a byte of the map */
        unsigned bits = __atomic_load_n(&o->written[offset / 8], __ATOMIC_RELAXED) >> (offset & 4) & 15;
        return bits != 0;
    }
    if (is_written(o, offset, bytes, 4))
        return true;
    return bytes >= 8 && is_written(o, offset, bytes, 8) && !is_vector(a);
}

static void mark_written(const struct object *o, size_t offset, unsigned bytes)
{
    unsigned char *written = o->written;
    for (size_t at = offset, end = offset + bytes; at < end;) {
        size_t stop = (at | 7) + 1 < end ? (at | 7) + 1 : end;
        unsigned char bits = (unsigned char)(((1u << (stop - at)) - 1) << at % 8);
        if ((__atomic_load_n(&written[at / 8], __ATOMIC_RELAXED) & bits) != bits)
            __atomic_fetch_or(&written[at / 8], bits, __ATOMIC_RELAXED);
        at = stop;
    }
}

/* ---- checks ---- */

/* A struct of 16 bytes may need an alignment of 8 only; a vector of that size needs 16. */
static bool is_misaligned(const struct access *a)
{
    uintptr_t beyond = (uintptr_t)a->address & (a->bytes - 1);
    return beyond && (beyond != 8 || is_vector(a));
}

static void check_bounds(const struct access *a, const struct place *p)
{
    const struct object *o = p->object;
    if (is_misaligned(a))
        report_access(a, "misaligned access", "");
    if (!o || p->offset + a->bytes > o->bytes)
        report_access(a, "out of bounds", "");
    if (__atomic_load_n(&o->freed, __ATOMIC_RELAXED))
        report_access(a, "use after free", "");
}

static void report_rank(const struct access *a, unsigned rank)
{
    char why[128];
    unsigned n = a->block->cluster->n;
    snprintf(why, sizeof why,
             "That is in the shared memory of block %u of its cluster, which has %u blocks, number 0 to %u.", rank, n,
             n - 1);
    report_access(a, "invalid rank", why);
}

void access_check_rank(const struct access *a)
{
    unsigned rank = shared_absent_rank(a->block, a->address);
    if (rank)
        report_rank(a, rank);
}

static void check_nowhere(const struct access *a)
{
    access_check_rank(a);
    if (shared_is_known(a->address))
        report_access(
            a, "another block's shared memory",
            "A pointer to shared memory means something in its own block alone, or its cluster: others have memory of their own "
            "there.");
    if ((uintptr_t)a->address < 65536)
        report_access(a, "invalid address", "That is a null pointer, or next to one.");
    if (!memory_is_host(a->address))
        report_far(a);
    report_access(a, "host pointer in a kernel",
                  "That memory belongs to the host; a kernel sees what cudaMalloc and its like returned.");
}

static void check_local(const struct access *a)
{
    if (!block_is_own_stack(a->block, a->thread, a->address))
        report_access(
            a, "another thread's local memory",
            "A local variable belongs to its thread alone: on a GPU the address means another place in each thread.");
    if (current(a->block)->watched && a->thread == a->block->cur)
        registers_access(a->block, a->address, a->bytes, access_stores(a->kind), a->pc);
    if (is_misaligned(a))
        report_access(a, "misaligned access", "");
}

static enum counted counted_as(const struct access *a, enum space space)
{
    enum access_kind kind = a->kind;
    bool elsewhere = space == SPACE_SHARED && shared_owner(a->block, a->address) != a->block;
    if (elsewhere && kind == ACCESS_ATOMIC)
        return DSHARED_ATOMIC;
    if (elsewhere)
        return access_stores(kind) ? DSHARED_ST : DSHARED_LD;
    if (kind == ACCESS_MATRIX_LOAD || kind == ACCESS_MATRIX_STORE)
        return kind == ACCESS_MATRIX_LOAD ? MATRIX_LD : MATRIX_ST;
    if (space == SPACE_SHARED)
        return access_stores(kind) ? SHARED_ST : SHARED_LD;
    return access_stores(kind) ? GLOBAL_ST : GLOBAL_LD;
}

/* In a cluster: whose shared memory is it? */
static void check_owner(const struct access *a)
{
    struct block *owner = shared_owner(a->block, a->address);
    if (owner != a->block)
        touch_other(a, owner);
    if (owner->n_guarded)
        async_check(a);
}

/* All but the counting. */
static enum space check(const struct access *a)
{
    struct block *b = a->block;
    struct place p = place_of(b, a->address, a->bytes);
    bool stores = access_stores(a->kind);
    switch (p.space) {
    case SPACE_LOCAL: check_local(a); return p.space;
    case SPACE_PARAMETERS: return p.space;
    case SPACE_NOWHERE: check_nowhere(a); return p.space;
    case SPACE_CONSTANT:
        if (stores)
            report_access(a, "write to constant memory",
                          "Kernels may only read it; the host sets it by cudaMemcpyToSymbol.");
        if (p.object)
            check_bounds(a, &p);
        if (p.object && p.object->cells && work_several)
            race_access(a, &p);
        if (p.object && b->launch->overlap)
            overlap_access(a);
        return p.space;
    case SPACE_SHARED:
    case SPACE_GLOBAL: break;
    }
    check_bounds(a, &p);
    if (p.space == SPACE_SHARED && b->cluster->n > 1)
        check_owner(a);
    else if (p.space == SPACE_SHARED && b->n_guarded)
        async_check(a);
    if (stores && undefined_on_trial && p.space == SPACE_GLOBAL)
        undefined_store(a);
    if (p.object->managed)
        memory_touched(p.object, a->kind == ACCESS_ATOMIC && a->scope == SIMT_SCOPE_SYSTEM);
    if (p.object->written) {
        bool reads = !stores || a->kind == ACCESS_ATOMIC;
        bool carries = (access_collective_load(a->kind) || a->proxy == ASYNC_PROXY) &&
                       p.space == SPACE_SHARED; /* what nobody has written, as NaN */
        if (reads && !carries && a->manner != AS_COPY && !is_initialised(a, p.object, p.offset))
            report_uninitialised(a, p.space == SPACE_SHARED);
        if (stores)
            mark_written(p.object, p.offset, a->bytes);
    }
    if (p.object->cells || p.space == SPACE_SHARED)
        race_access(a, &p);
    if (b->launch->overlap && p.space == SPACE_GLOBAL)
        overlap_access(a);
    if (a->kind == ACCESS_VOLATILE_STORE)
        message_store(a);
    return p.space;
}

void access_check(const struct access *a)
{
    enum space space = check(a);
    if (!a->block->counting || (space != SPACE_SHARED && space != SPACE_GLOBAL))
        return;
    enum counted what = counted_as(a, space);
    if (a->kind != ACCESS_ATOMIC || what == DSHARED_ATOMIC)
        counters_access(a, what);
}

/* ---- hooks ---- */

u64 access_value(const void *address, unsigned bytes)
{
    u64 value = 0;
    memcpy(&value, address, bytes < sizeof value ? bytes : sizeof value);
    return value;
}

void access_settle(struct worker *w)
{
    __atomic_store_n(&w->storing, NULL, __ATOMIC_RELEASE);
    w->loads_to_store = false;
    if (w->lent)
        race_take_back(w);
    if (w->touching)
        __atomic_store_n(&w->touching, NULL, __ATOMIC_RELEASE);
    race_judge(w->block);
    if (w->block->loads)
        message_settle(w->block);
    w->unsettled = false;
}

/* Most accesses are of local variables, and there is nothing to find. */
static inline bool is_local(const struct worker *w, const void *address, unsigned bytes)
{
    return (size_t)((const unsigned char *)address - w->stack) < STACK_SLOT && !((uintptr_t)address & (bytes - 1));
}

/* The same of a thread that is watched, aligned or not. */
static inline bool is_watched(const struct worker *w, const void *address)
{
    return (size_t)((const unsigned char *)address - w->watched) < STACK_SLOT;
}

static inline void announce_store(struct worker *w, const void *address, size_t bytes)
{
    __atomic_store_n(&w->storing_bytes, bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&w->storing_serial, w->block->serial, __ATOMIC_RELAXED);
    __atomic_store_n(&w->storing, address, __ATOMIC_RELEASE);
    w->unsettled = true;
}

/* g++ announces the store of a struct before the load of what it stores: the first load that follows does not say that it is
 * done, unless something has changed. */
static inline bool may_belong_to_store(struct worker *w, enum access_kind kind)
{
    if (kind != ACCESS_LOAD || !w->storing || w->loads_to_store || w->lent || w->touching)
        return false;
    w->loads_to_store = true;
    if (w->block->suspicions->n)
        race_judge_done(w->block);
    return true;
}

/* Of a thread whose last access is done, or another piece of this one. */
static inline __attribute__((always_inline)) void access_piece(struct worker *w, const void *address, unsigned bytes,
                                                               enum access_kind kind, const void *pc,
                                                               enum manner manner, enum simt_scope scope)
{
    struct block *b = w->block;
    if (is_local(w, address, bytes))
        return;
    if (is_watched(w, address) && !((uintptr_t)address & (bytes - 1))) {
        registers_access(b, address, bytes, access_stores(kind), pc);
        return;
    }
    if (kind == ACCESS_STORE && !w->storing)
        announce_store(w, address, bytes);
    b->quiet += kind == ACCESS_VOLATILE_LOAD ? QUIET_LIMIT / POLL_LIMIT : 1;
    if (b->quiet >= QUIET_LIMIT && kind != ACCESS_VOLATILE_STORE && !w->storing)
        give_way(b, pc); /* a store must be done first */
    struct access a = access_of(b, pc, address, bytes, kind);
    a.manner = manner;
    a.scope = scope;
    access_check(&a);
    if (kind == ACCESS_VOLATILE_LOAD)
        message_load(&a);
}

static inline __attribute__((always_inline)) void access_as(const void *address, unsigned bytes, enum access_kind kind,
                                                            const void *pc, enum manner manner, enum simt_scope scope)
{
    struct worker *w = simt_worker;
    if (!w) {
        host_access(address, bytes, kind, pc);
        return;
    }
    if (!may_belong_to_store(w, kind))
        moves_on(w);
    access_piece(w, address, bytes, kind, pc, manner, scope);
}

void access_in_manner(const void *address, unsigned bytes, enum access_kind kind, enum manner manner,
                      enum simt_scope scope, const void *pc)
{
    access_as(address, bytes, kind, pc, manner, scope);
}

static __attribute__((noinline)) void access_elsewhere(const void *address, unsigned bytes, enum access_kind kind,
                                                       const void *pc)
{
    access_as(address, bytes, kind, pc, AS_WRITTEN, SIMT_SCOPE_SYSTEM);
}

static inline void access(const void *address, unsigned bytes, enum access_kind kind, const void *pc)
{
    const struct worker *w = simt_worker;
    if (w && !w->unsettled && is_local(w, address, bytes))
        return;
    if (w && !w->unsettled && is_watched(w, address) && !((uintptr_t)address & (bytes - 1)))
        registers_access(w->block, address, bytes, access_stores(kind), pc);
    else
        access_elsewhere(address, bytes, kind, pc);
}

/* How a move of so many bytes is looked at. */
static enum manner manner_of_move(struct block *b, const void *address, size_t bytes, enum access_kind kind)
{
    if (kind != ACCESS_LOAD)
        return AS_WRITTEN;
    struct place p = place_of(b, address, 1);
    bool partly = p.object && p.object->written && p.offset + bytes <= p.object->bytes &&
                  written_any(p.object, p.offset, bytes);
    return partly ? AS_COPY : AS_WRITTEN;
}

/* The widest access, of at most 16 bytes, that this address allows. */
static unsigned widest(const void *address, size_t bytes)
{
    unsigned piece = 16;
    while (piece > bytes || ((uintptr_t)address & (piece - 1)))
        piece /= 2;
    return piece;
}

/* Moves of other sizes, or of types that need not be aligned so far: in the widest pieces that the address allows. All of them
 * are done together, behind the last; and g++ announces the store of a struct before the load that belongs to it. */
static void range(const void *address, size_t bytes, enum access_kind kind, const void *pc)
{
    struct worker *w = simt_worker;
    enum manner manner = w ? manner_of_move(w->block, address, bytes, kind) : AS_WRITTEN;
    if (w && (kind == ACCESS_STORE || !w->storing))
        moves_on(w);
    if (w && kind == ACCESS_STORE && !is_local(w, address, 1) && !is_watched(w, address))
        announce_store(w, address, bytes);
    for (const unsigned char *p = address, *end = p + bytes; p < end;) {
        unsigned piece = widest(p, (size_t)(end - p));
        if (w)
            access_piece(w, p, piece, kind, pc, manner, SIMT_SCOPE_SYSTEM);
        else
            host_access(p, piece, kind, pc);
        p += piece;
    }
}

void access_read_only(struct block *b, const void *address, unsigned bytes, const void *pc)
{
    for (const unsigned char *p = address, *end = p + bytes; p < end;) {
        unsigned piece = widest(p, (size_t)(end - p));
        struct place place = place_of(b, p, piece);
        struct access a = access_of(b, pc, p, piece, ACCESS_LOAD);
        if (place.space == SPACE_GLOBAL && place.object && place.object->cells &&
            place.offset + piece <= place.object->bytes)
            race_read_only(&a, &place);
        p += piece;
    }
}

void simt_read_only(const void *address, unsigned bytes)
{
    if (!simt_checked || !simt_worker)
        return;
    access_read_only(running(), address, bytes, CALLER());
}

void access_touch(const struct access *a)
{
    struct access piece = *a;
    piece.manner = manner_of_move(a->block, a->address, a->bytes, a->kind);
    for (const unsigned char *p = a->address, *end = p + a->bytes; p < end;) {
        piece.address = p;
        piece.bytes = widest(p, (size_t)(end - p));
        check(&piece);
        p += piece.bytes;
    }
}

/* Each load and store of a file with wgmma that clang++ compiles, beside the hooks that it puts in front of some: local
 * variables of a thread that is watched. */
static inline void local_access(const void *address, unsigned bytes, enum access_kind kind, const void *pc)
{
    const struct worker *w = simt_worker;
    if (w && is_watched(w, address))
        registers_access(w->block, address, bytes, access_stores(kind), pc);
}

#define HOOKS(BYTES) \
    void simt_hook_local_read##BYTES(void *p) { local_access(p, BYTES, ACCESS_LOAD, CALLER()); } \
    void simt_hook_local_write##BYTES(void *p) { local_access(p, BYTES, ACCESS_STORE, CALLER()); } \
    void simt_hook_read##BYTES(void *p) { access(p, BYTES, ACCESS_LOAD, CALLER()); } \
    void simt_hook_write##BYTES(void *p) { access(p, BYTES, ACCESS_STORE, CALLER()); } \
    void simt_hook_unaligned_read##BYTES(void *p) { range(p, BYTES, ACCESS_LOAD, CALLER()); } \
    void simt_hook_unaligned_write##BYTES(void *p) { range(p, BYTES, ACCESS_STORE, CALLER()); } \
    void simt_hook_volatile_read##BYTES(void *p) { access(p, BYTES, ACCESS_VOLATILE_LOAD, CALLER()); } \
    void simt_hook_volatile_write##BYTES(void *p) { access(p, BYTES, ACCESS_VOLATILE_STORE, CALLER()); } \
    void simt_hook_unaligned_volatile_read##BYTES(void *p) { access(p, BYTES, ACCESS_VOLATILE_LOAD, CALLER()); } \
    void simt_hook_unaligned_volatile_write##BYTES(void *p) { access(p, BYTES, ACCESS_VOLATILE_STORE, CALLER()); } \
    void simt_hook_read_write##BYTES(void *p) \
    { \
        access(p, BYTES, ACCESS_LOAD, CALLER()); \
        access(p, BYTES, ACCESS_STORE, CALLER()); \
    }
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

void simt_hook_read_range(void *p, size_t bytes) { range(p, bytes, ACCESS_LOAD, CALLER()); }
void simt_hook_write_range(void *p, size_t bytes) { range(p, bytes, ACCESS_STORE, CALLER()); }

/* The pointer to an object's virtual functions. */
void simt_hook_vptr_read(void **p) { access(p, sizeof *p, ACCESS_LOAD, CALLER()); }
void simt_hook_vptr_update(void **p, void *value)
{
    (void)value;
    access(p, sizeof *p, ACCESS_STORE, CALLER());
}

/* clang calls these for copies and fills of whole objects. */
void *simt_hook_memcpy(void *to, const void *from, size_t bytes)
{
    range(from, bytes, ACCESS_LOAD, CALLER());
    range(to, bytes, ACCESS_STORE, CALLER());
    return __builtin_memcpy(to, from, bytes);
}
void *simt_hook_memmove(void *to, const void *from, size_t bytes)
{
    range(from, bytes, ACCESS_LOAD, CALLER());
    range(to, bytes, ACCESS_STORE, CALLER());
    return __builtin_memmove(to, from, bytes);
}
void *simt_hook_memset(void *to, int value, size_t bytes)
{
    range(to, bytes, ACCESS_STORE, CALLER());
    return __builtin_memset(to, value, bytes);
}

/* And the compilers these, where the copy's size is not known, or g++ where it is. */
void *simt_memcpy(void *to, const void *from, size_t bytes) __attribute__((alias("simt_hook_memcpy")));
void *simt_memmove(void *to, const void *from, size_t bytes) __attribute__((alias("simt_hook_memmove")));
void *simt_memset(void *to, int value, size_t bytes) __attribute__((alias("simt_hook_memset")));

void simt_hook_init(void) { simt_checked = true; } /* called before main, by each file with hooks */
void simt_hook_func_entry(void *pc) { (void)pc; }
void simt_hook_func_exit(void) {}

/* std::atomic and the guards of static variables, in host code: compilers hand these over as well. */
static inline void host_atomic(const volatile void *address, size_t bytes, bool store, const void *pc)
{
    if (!simt_worker)
        overlap_host_atomic((const void *)address, bytes, store, pc);
}

#define ATOMICS(BITS, T) \
    T simt_hook_atomic##BITS##_load(const volatile T *p, int order) \
    { \
        (void)order; \
        host_atomic(p, sizeof *p, false, CALLER()); \
        return __atomic_load_n(p, 5); \
    } \
    void simt_hook_atomic##BITS##_store(volatile T *p, T v, int order) \
    { \
        (void)order; \
        host_atomic(p, sizeof *p, true, CALLER()); \
        __atomic_store_n(p, v, 5); \
    } \
    T simt_hook_atomic##BITS##_exchange(volatile T *p, T v, int o) \
    { \
        (void)o; \
        host_atomic(p, sizeof *p, true, CALLER()); \
        return __atomic_exchange_n(p, v, 5); \
    } \
    T simt_hook_atomic##BITS##_fetch_add(volatile T *p, T v, int o) \
    { \
        (void)o; \
        host_atomic(p, sizeof *p, true, CALLER()); \
        return __atomic_fetch_add(p, v, 5); \
    } \
    T simt_hook_atomic##BITS##_fetch_sub(volatile T *p, T v, int o) \
    { \
        (void)o; \
        host_atomic(p, sizeof *p, true, CALLER()); \
        return __atomic_fetch_sub(p, v, 5); \
    } \
    T simt_hook_atomic##BITS##_fetch_and(volatile T *p, T v, int o) \
    { \
        (void)o; \
        host_atomic(p, sizeof *p, true, CALLER()); \
        return __atomic_fetch_and(p, v, 5); \
    } \
    T simt_hook_atomic##BITS##_fetch_or(volatile T *p, T v, int o) \
    { \
        (void)o; \
        host_atomic(p, sizeof *p, true, CALLER()); \
        return __atomic_fetch_or(p, v, 5); \
    } \
    T simt_hook_atomic##BITS##_fetch_xor(volatile T *p, T v, int o) \
    { \
        (void)o; \
        host_atomic(p, sizeof *p, true, CALLER()); \
        return __atomic_fetch_xor(p, v, 5); \
    } \
    int simt_hook_atomic##BITS##_compare_exchange_strong(volatile T *p, T *e, T v, int o, int f) \
    { \
        (void)o, (void)f; \
        host_atomic(p, sizeof *p, true, CALLER()); \
        return __atomic_compare_exchange_n(p, e, v, 0, 5, 5); \
    } \
    int simt_hook_atomic##BITS##_compare_exchange_weak(volatile T *p, T *e, T v, int o, int f) \
    { \
        (void)o, (void)f; \
        host_atomic(p, sizeof *p, true, CALLER()); \
        return __atomic_compare_exchange_n(p, e, v, 0, 5, 5); \
    } \
    T simt_hook_atomic##BITS##_compare_exchange_val(volatile T *p, T e, T v, int o, int f) \
    { \
        (void)o, (void)f; \
        host_atomic(p, sizeof *p, true, CALLER()); \
        __atomic_compare_exchange_n(p, &e, v, 0, 5, 5); \
        return e; \
    }
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)
void simt_hook_atomic_thread_fence(int order)
{
    (void)order;
    __atomic_thread_fence(5);
}
void simt_hook_atomic_signal_fence(int order) { (void)order; }

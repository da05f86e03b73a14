/* Every access of a kernel comes through here.
 *
 * Kernels are compiled with -fsanitize=thread, which puts a call in front of each load and store; the functions called
 * belong to a race detector that is not linked. These are ours. Host code of the same file calls them too, with no
 * worker, and passes through. The caller's address is the access's place in the program. */
#include "simt.h"

#define QUIET_LIMIT (1u << 20) /* accesses after which a thread, perhaps spinning, lets others run */

bool simt_checked;

static inline void access(const void *address, unsigned bytes, enum access kind, const void *pc)
{
    struct worker *w = simt_worker;
    if (!w) {
        if (memory_is_symbol(address) && !memory_is_managed(address))
            report_host("device pointer on the host", pc,
                        "A __device__ or __constant__ variable is the kernels': use cudaMemcpyToSymbol and cudaMemcpyFromSymbol.");
        return;
    }
    race_moves_on(w);
    if (kind == ACCESS_STORE) __atomic_store_n(&w->storing, address, __ATOMIC_RELEASE);
    check_access(w, pc, address, bytes, kind);
    if (w->counting) {
        bool store = kind == ACCESS_STORE || kind == ACCESS_VOLATILE_STORE;
        if ((size_t)((const unsigned char *)address - w->arena) < SHARED_BYTES)
            counters_access(w, pc, store ? SHARED_ST : SHARED_LD, address, bytes);
        else if ((size_t)((const unsigned char *)address - memory_base) < MEMORY_SPAN || memory_is_symbol(address))
            counters_access(w, pc, store ? GLOBAL_ST : GLOBAL_LD, address, bytes);
    }
    if (++w->quiet >= QUIET_LIMIT) simt_yield();
}

/* A volatile access to global memory is how threads without atomics tell each other something. */
static void volatile_access(const void *address, unsigned bytes, enum access kind, const void *pc)
{
    struct worker *w = simt_worker;
    if (w && (size_t)((const unsigned char *)address - w->arena) >= SHARED_BYTES) race_global_atomic(w);
    access(address, bytes, kind, pc);
}

/* Moves of other sizes, or of types that need not be aligned so far: in the widest pieces that the address allows. */
static void range(const void *address, size_t bytes, enum access kind, const void *pc)
{
    const unsigned char *p = address, *end = p + bytes;
    while (p < end) {
        unsigned piece = 16;
        while (piece > (size_t)(end - p) || ((uintptr_t)p & (piece - 1))) piece /= 2;
        access(p, piece, kind, pc);
        p += piece;
    }
}

#define HOOKS(BYTES)                                                                                               \
    void __tsan_read##BYTES(void *p) { access(p, BYTES, ACCESS_LOAD, CALLER()); }                                  \
    void __tsan_write##BYTES(void *p) { access(p, BYTES, ACCESS_STORE, CALLER()); }                                \
    void __tsan_unaligned_read##BYTES(void *p) { range(p, BYTES, ACCESS_LOAD, CALLER()); }                         \
    void __tsan_unaligned_write##BYTES(void *p) { range(p, BYTES, ACCESS_STORE, CALLER()); }                       \
    void __tsan_volatile_read##BYTES(void *p) { volatile_access(p, BYTES, ACCESS_VOLATILE_LOAD, CALLER()); }       \
    void __tsan_volatile_write##BYTES(void *p) { volatile_access(p, BYTES, ACCESS_VOLATILE_STORE, CALLER()); }     \
    void __tsan_unaligned_volatile_read##BYTES(void *p) { volatile_access(p, BYTES, ACCESS_VOLATILE_LOAD, CALLER()); }   \
    void __tsan_unaligned_volatile_write##BYTES(void *p) { volatile_access(p, BYTES, ACCESS_VOLATILE_STORE, CALLER()); } \
    void __tsan_read_write##BYTES(void *p)                                                                         \
    {                                                                                                              \
        access(p, BYTES, ACCESS_LOAD, CALLER());                                                                   \
        access(p, BYTES, ACCESS_STORE, CALLER());                                                                  \
    }
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

void __tsan_read_range(void *p, size_t bytes) { range(p, bytes, ACCESS_LOAD, CALLER()); }
void __tsan_write_range(void *p, size_t bytes) { range(p, bytes, ACCESS_STORE, CALLER()); }

/* clang calls these for copies and fills of whole objects. */
void *__tsan_memcpy(void *to, const void *from, size_t bytes)
{
    if (simt_worker) range(from, bytes, ACCESS_LOAD, CALLER()), range(to, bytes, ACCESS_STORE, CALLER());
    return __builtin_memcpy(to, from, bytes);
}
void *__tsan_memmove(void *to, const void *from, size_t bytes)
{
    if (simt_worker) range(from, bytes, ACCESS_LOAD, CALLER()), range(to, bytes, ACCESS_STORE, CALLER());
    return __builtin_memmove(to, from, bytes);
}
void *__tsan_memset(void *to, int value, size_t bytes)
{
    if (simt_worker) range(to, bytes, ACCESS_STORE, CALLER());
    return __builtin_memset(to, value, bytes);
}

void __tsan_init(void) { simt_checked = true; } /* called before main, by each file with hooks */
void __tsan_func_entry(void *pc) { (void)pc; }
void __tsan_func_exit(void) {}
void __tsan_vptr_read(void **p) { (void)p; }
void __tsan_vptr_update(void **p, void *value) { (void)p, (void)value; }

/* std::atomic and the guards of static variables, in host code: compilers hand these over as well. */
#define ATOMICS(BITS, T)                                                                                           \
    T __tsan_atomic##BITS##_load(const volatile T *p, int order) { (void)order; return __atomic_load_n(p, 5); }    \
    void __tsan_atomic##BITS##_store(volatile T *p, T v, int order) { (void)order; __atomic_store_n(p, v, 5); }    \
    T __tsan_atomic##BITS##_exchange(volatile T *p, T v, int o) { (void)o; return __atomic_exchange_n(p, v, 5); }  \
    T __tsan_atomic##BITS##_fetch_add(volatile T *p, T v, int o) { (void)o; return __atomic_fetch_add(p, v, 5); }  \
    T __tsan_atomic##BITS##_fetch_sub(volatile T *p, T v, int o) { (void)o; return __atomic_fetch_sub(p, v, 5); }  \
    T __tsan_atomic##BITS##_fetch_and(volatile T *p, T v, int o) { (void)o; return __atomic_fetch_and(p, v, 5); }  \
    T __tsan_atomic##BITS##_fetch_or(volatile T *p, T v, int o) { (void)o; return __atomic_fetch_or(p, v, 5); }    \
    T __tsan_atomic##BITS##_fetch_xor(volatile T *p, T v, int o) { (void)o; return __atomic_fetch_xor(p, v, 5); }  \
    int __tsan_atomic##BITS##_compare_exchange_strong(volatile T *p, T *e, T v, int o, int f)                      \
    {                                                                                                              \
        (void)o, (void)f;                                                                                          \
        return __atomic_compare_exchange_n(p, e, v, 0, 5, 5);                                                      \
    }                                                                                                              \
    int __tsan_atomic##BITS##_compare_exchange_weak(volatile T *p, T *e, T v, int o, int f)                        \
    {                                                                                                              \
        (void)o, (void)f;                                                                                          \
        return __atomic_compare_exchange_n(p, e, v, 0, 5, 5);                                                      \
    }                                                                                                              \
    T __tsan_atomic##BITS##_compare_exchange_val(volatile T *p, T e, T v, int o, int f)                            \
    {                                                                                                              \
        (void)o, (void)f;                                                                                          \
        __atomic_compare_exchange_n(p, &e, v, 0, 5, 5);                                                            \
        return e;                                                                                                  \
    }
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)
void __tsan_atomic_thread_fence(int order) { (void)order; __atomic_thread_fence(5); }
void __tsan_atomic_signal_fence(int order) { (void)order; }

/* What kernels ask of the emulator's runtime: the C functions behind the CUDA words of cuda_runtime.h.
 * All but the launch are called by a CUDA thread, on its own fiber. */
#ifndef SIMT_RUNTIME_H
#define SIMT_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One `__shared__` declaration. The translator makes one per declaration (and template instance). */
struct simt_shared_site {
    const char *name, *file;
    int line;
    unsigned bytes, align, element_bytes, dimensions[4]; /* dimensions: extents, 0 after the last */
    unsigned long launch;                                /* the launch that offset belongs to */
    unsigned offset;
};
void *simt_shared(struct simt_shared_site *site); /* where it lies in this block's shared memory */
void *simt_shared_dynamic(void);                  /* extern __shared__: after all the declared arrays */

/* Two calls, in two branches, are never merged into one: which of them a thread is in tells where it waits. g++ is told
 * so by flags (see simtcc). */
#if defined(__clang__)
#define SIMT_NOMERGE __attribute__((nomerge))
#else
#define SIMT_NOMERGE
#endif

/* Index functions never change for a thread, so the compiler may call them once. dim: 0 x, 1 y, 2 z. */
unsigned simt_thread_idx(int dim) __attribute__((const, nothrow));
unsigned simt_block_idx(int dim) __attribute__((const, nothrow));

SIMT_NOMERGE void simt_syncthreads(void);
SIMT_NOMERGE int simt_syncthreads_count(int predicate);
SIMT_NOMERGE int simt_syncthreads_and(int predicate);
SIMT_NOMERGE int simt_syncthreads_or(int predicate);
SIMT_NOMERGE void simt_warp_sync(unsigned mask);
void simt_fence(void);
void simt_yield(void); /* lets the block's other threads run */
long long simt_clock(void);
void simt_trap(void);

enum simt_shuffle { SIMT_SHUFFLE_INDEX, SIMT_SHUFFLE_UP, SIMT_SHUFFLE_DOWN, SIMT_SHUFFLE_XOR };
SIMT_NOMERGE unsigned long long simt_warp_shuffle(enum simt_shuffle how, unsigned mask, unsigned long long bits, int by,
                                                   int width);
SIMT_NOMERGE unsigned simt_warp_ballot(unsigned mask, int predicate);
SIMT_NOMERGE unsigned simt_warp_active(void);
SIMT_NOMERGE unsigned simt_warp_match(unsigned mask, unsigned long long bits); /* the lanes that brought the same */
enum simt_reduce { SIMT_REDUCE_ADD, SIMT_REDUCE_MIN, SIMT_REDUCE_MAX, SIMT_REDUCE_UMIN, SIMT_REDUCE_UMAX,
                   SIMT_REDUCE_AND, SIMT_REDUCE_OR, SIMT_REDUCE_XOR };
SIMT_NOMERGE unsigned simt_warp_reduce(enum simt_reduce how, unsigned mask, unsigned value);

enum simt_atomic_op {
    SIMT_ATOMIC_ADD, SIMT_ATOMIC_SUB, SIMT_ATOMIC_EXCHANGE, SIMT_ATOMIC_MIN, SIMT_ATOMIC_MAX,
    SIMT_ATOMIC_INC, SIMT_ATOMIC_DEC, SIMT_ATOMIC_CAS, SIMT_ATOMIC_AND, SIMT_ATOMIC_OR, SIMT_ATOMIC_XOR
};
enum simt_type { SIMT_I32, SIMT_U32, SIMT_I64, SIMT_U64, SIMT_F32, SIMT_F64, SIMT_U16 };
/* Value and compare as bit patterns; returns the old value's. */
unsigned long long simt_atomic(enum simt_atomic_op op, enum simt_type type, void *address, unsigned long long value,
                               unsigned long long compare);

/* One launch: `thread(params)` is run once per CUDA thread. params is the block of kernel arguments, of
 * `params_bytes` bytes, readable by every thread. Errors go where cudaGetLastError finds them. */
struct simt_kernel_launch {
    unsigned grid[3], block[3];
    size_t dynamic_shared;
    const char *kernel, *file;
    int line;
    void (*thread)(const void *params);
    const void *params;
    size_t params_bytes;
};
void simt_launch(const struct simt_kernel_launch *launch);

#ifdef __cplusplus
}
#endif
#endif

/* What nvcc puts in front of every .cu file, as the emulator offers it: CUDA's words for functions, the built-in
 * variables, barriers, warp collectives, atomics and device mathematics (CUDA C++ Programming Guide, chapter
 * "C++ Language Extensions"). `__global__`, `__device__` and its like, `__shared__` and `<<<…>>>` are not
 * here: simt-translate turns them into C++ after the preprocessor has run. */
#ifndef __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_H__

#include "cuda_runtime_api.h"

#ifdef __cplusplus

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <utility>

/* What nvcc defines by itself, its options' macros included where what they allow is always allowed here; and the include
 * guards of the toolkit's headers that are parts of this one. */
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 88
#define __CUDACC_EXTENDED_LAMBDA__ 1
#define __CUDACC_RELAXED_CONSTEXPR__ 1
#define __NVCC_DIAG_PRAGMA_SUPPORT__ 1
#define __HOST_CONFIG_H__
#define __HOST_DEFINES_H__
#define __DEVICE_TYPES_H__
#define __LIBRARY_TYPES_H__
#define __DRIVER_FUNCTIONS_H__
#define __VECTOR_FUNCTIONS_H__
#define __COMMON_FUNCTIONS_H__
#define __MATH_FUNCTIONS_H__
#define __DEVICE_FUNCTIONS_H__
#define __DEVICE_LAUNCH_PARAMETERS_H__

#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __inline_hint__
#ifndef __clang__ /* which has it */
#define __builtin_assume(condition) ((void)0)
#endif
#define SIMT_INLINE static inline __attribute__((always_inline))

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#include "simt/runtime.h"
#include "simt/launch.h"
#include "simt/api.h"
#include "simt/math.h"
#include "simt/atomics.h"
#include "simt/dpx.h"
#include "simt/texture.h"
#include "sm_61_intrinsics.h"

/* ---- built-in variables ---------------------------------------------------------------------------------- */

#define threadIdx (uint3{simt_thread_idx(0), simt_thread_idx(1), simt_thread_idx(2)})
#define blockIdx (uint3{simt_block_idx(0), simt_block_idx(1), simt_block_idx(2)})
/* The same for all threads of a launch, so they are variables: programs call their own dim3 by these names. */
extern const uint3 blockDim __asm__("simt_block_dim"), gridDim __asm__("simt_grid_dim");
static const int warpSize = 32;

/* ---- clusters -------------------------------------------------------------------------------------------- */

SIMT_INLINE unsigned __clusterDimIsSpecified() { return simt_cluster_is_explicit(); }
SIMT_INLINE dim3 __clusterDim() { return dim3(simt_cluster_dim(0), simt_cluster_dim(1), simt_cluster_dim(2)); }
SIMT_INLINE dim3 __clusterRelativeBlockIdx()
{
    return dim3(simt_cluster_idx(0), simt_cluster_idx(1), simt_cluster_idx(2));
}
SIMT_INLINE dim3 __clusterGridDimInClusters()
{
    dim3 cluster = __clusterDim();
    return dim3(gridDim.x / cluster.x, gridDim.y / cluster.y, gridDim.z / cluster.z);
}
SIMT_INLINE dim3 __clusterIdx()
{
    dim3 cluster = __clusterDim();
    return dim3(blockIdx.x / cluster.x, blockIdx.y / cluster.y, blockIdx.z / cluster.z);
}
SIMT_INLINE unsigned __clusterRelativeBlockRank()
{
    dim3 at = __clusterRelativeBlockIdx(), cluster = __clusterDim();
    return at.x + cluster.x * (at.y + cluster.y * at.z);
}
SIMT_INLINE unsigned __clusterSizeInBlocks()
{
    dim3 cluster = __clusterDim();
    return cluster.x * cluster.y * cluster.z;
}
#define __cluster_barrier_arrive() simt_cluster_arrive(false)
#define __cluster_barrier_arrive_relaxed() simt_cluster_arrive(true)
#define __cluster_barrier_wait() simt_cluster_wait()

/* ---- barriers and fences --------------------------------------------------------------------------------- */

#define __syncthreads() simt_syncthreads()
#define __barrier_sync(id) simt_barrier((id), 0)
#define __barrier_sync_count(id, threads) simt_barrier((id), (threads))
#define __syncthreads_count(p) simt_syncthreads_count(!!(p))
#define __syncthreads_and(p) simt_syncthreads_and(!!(p))
#define __syncthreads_or(p) simt_syncthreads_or(!!(p))
SIMT_INLINE void __syncwarp(unsigned mask = 0xffffffffu) { simt_warp_sync(mask); }
SIMT_INLINE void __threadfence() { simt_fence(SIMT_SCOPE_DEVICE); }
SIMT_INLINE void __threadfence_block() { simt_fence(SIMT_SCOPE_BLOCK); }
SIMT_INLINE void __threadfence_cluster() { simt_fence(SIMT_SCOPE_CLUSTER); }
SIMT_INLINE void __threadfence_system() { simt_fence(SIMT_SCOPE_SYSTEM); }
#define __trap() simt_trap()
#define __brkpt() simt_trap()
SIMT_INLINE void __nanosleep(unsigned) { simt_yield(); }
#define clock64() simt_clock()
/* A launch begins when the one before it has ended; but what its thread touches before it waits is not ordered. */
SIMT_INLINE void cudaGridDependencySynchronize() { simt_grid_dependency_wait(); }
SIMT_INLINE void cudaTriggerProgrammaticLaunchCompletion() { simt_grid_launch_dependents(); }

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM /* nvcc --default-stream per-thread */
[[maybe_unused]] static const bool simt_per_thread = simt_default_stream_is_per_thread();
#endif

/* ---- inline PTX ------------------------------------------------------------------------------------------- */

namespace simt
{
template <class T> using value_of_t = std::remove_cv_t<std::remove_reference_t<T>>;

/* Has an operand of `asm` the type that its constraint says? As nvcc asks for it: size and kind ("Inline PTX Assembly in
 * CUDA", Constraints). */
template <class T> constexpr bool is_whole = std::is_integral<T>::value || std::is_enum<T>::value ||
                                             std::is_pointer<T>::value;
template <class T, char letter> constexpr bool has_constraint = letter == 'n' || letter == 'i' || letter == 'C';
template <class T> constexpr bool has_constraint<T, 'h'> = is_whole<value_of_t<T>> && sizeof(T) == 2;
template <class T> constexpr bool has_constraint<T, 'r'> = is_whole<value_of_t<T>> && sizeof(T) == 4;
template <class T> constexpr bool has_constraint<T, 'l'> = is_whole<value_of_t<T>> && sizeof(T) == 8;
template <class T> constexpr bool has_constraint<T, 'f'> = std::is_same<value_of_t<T>, float>::value;
template <class T> constexpr bool has_constraint<T, 'd'> = std::is_same<value_of_t<T>, double>::value;

/* An operand of `asm`, as it fills a register. */
template <class T> SIMT_INLINE unsigned long long bits(T value)
{
    static_assert(sizeof(T) <= 8, "an operand of inline PTX has at most 64 bits here");
    if constexpr (sizeof(T) == 8)
        return __builtin_bit_cast(unsigned long long, value);
    else if constexpr (sizeof(T) == 4)
        return __builtin_bit_cast(unsigned, value);
    else if constexpr (sizeof(T) == 2)
        return __builtin_bit_cast(unsigned short, value);
    else
        return __builtin_bit_cast(unsigned char, value);
}

/* What stands behind a local variable that may be registers of wgmma.mma_async (translate/registers.c): an array of 4-byte
 * elements, or a struct of such. */
template <class T>
constexpr bool is_row = std::is_array<T>::value ? sizeof(std::remove_all_extents_t<T>) == 4
                                                : std::is_trivially_copyable<T>::value && sizeof(T) > 4 &&
                                                      sizeof(T) % 4 == 0 && alignof(T) != 8;
template <class T, bool may_be, bool checked = SIMT_CHECKED /* by simtcc */> struct Registers {
    __attribute__((always_inline)) Registers(const volatile void *) {}
};
template <class T> struct Registers<T, true, true> {
    const T *variable;
    __attribute__((always_inline)) ~Registers() { ::simt_registers_end((const void *)variable, sizeof(T)); }
};
template <class T, bool may_be> SIMT_INLINE void begin_registers(const T *variable)
{
#ifdef __clang__
    if constexpr (may_be && SIMT_CHECKED)
        ::simt_registers_end((const void *)variable, sizeof(T));
#endif
}

/* Of an operand that `auto &&` is bound to: is it a variable? Then the runtime may get its address, else the value. And is a
 * name that of a function's own variable, not of a reference or a pointer to another's? */
template <class T> constexpr bool is_variable = std::is_lvalue_reference<T>::value;
template <class T, bool constant>
constexpr bool is_own = !std::is_reference<T>::value && !std::is_pointer<T>::value && (constant || !is_row<T>);
template <bool place, class T> SIMT_INLINE unsigned long long place_or_bits(const T &operand)
{
    if constexpr (place)
        return (unsigned long long)&operand;
    else
        return bits(operand);
}
}  // namespace simt

/* ---- spaces (CUDA C++ Programming Guide, "Address Space Predicate Functions", "… Conversion Functions") ----- */

SIMT_INLINE unsigned __isGlobal(const void *p) { return simt_is_in(SIMT_IN_GLOBAL, p); }
SIMT_INLINE unsigned __isShared(const void *p) { return simt_is_in(SIMT_IN_SHARED, p); }
SIMT_INLINE unsigned __isCtaShared(const void *p) { return simt_is_in(SIMT_IN_SHARED, p); }
SIMT_INLINE unsigned __isClusterShared(const void *p) { return simt_is_in(SIMT_IN_CLUSTER, p); }
SIMT_INLINE unsigned __isLocal(const void *p) { return simt_is_in(SIMT_IN_LOCAL, p); }
SIMT_INLINE unsigned __isConstant(const void *p) { return simt_is_in(SIMT_IN_CONSTANT, p); }

SIMT_INLINE size_t __cvta_generic_to_shared(const void *p) { return simt_shared_address(p); }
SIMT_INLINE void *__cvta_shared_to_generic(size_t shared) { return simt_shared_generic((unsigned)shared); }
/* Of any block of the cluster. */
SIMT_INLINE void *__cluster_map_shared_rank(const void *p, unsigned rank) { return simt_cluster_map(p, rank); }
SIMT_INLINE unsigned __cluster_query_shared_rank(const void *p) { return simt_cluster_rank_of(p); }
/* Those of other spaces are the generic ones here. */
#define SIMT_SAME_ADDRESS(SPACE) \
    SIMT_INLINE size_t __cvta_generic_to_##SPACE(const void *p) { return (size_t)p; } \
    SIMT_INLINE void *__cvta_##SPACE##_to_generic(size_t address) { return (void *)address; }
SIMT_SAME_ADDRESS(global)
SIMT_SAME_ADDRESS(local)
SIMT_SAME_ADDRESS(constant)
#undef SIMT_SAME_ADDRESS

/* ---- warp collectives ------------------------------------------------------------------------------------ */

namespace simt
{
template <class T> SIMT_INLINE T shuffle(enum simt_shuffle how, unsigned mask, T value, int by, int width)
{
    static_assert(std::is_trivially_destructible<T>::value && (sizeof(T) == 8 || sizeof(T) <= 4),
                  "a shuffle moves a value of at most 8 bytes");
    unsigned long long bits = 0;
    __builtin_memcpy((void *)&bits, &value, sizeof(T));
    bits = simt_warp_shuffle(simt_shuffle(how | (sizeof(T) == 8 ? SIMT_SHUFFLE_WIDE : 0)), mask, bits, by, width);
    __builtin_memcpy((void *)&value, &bits, sizeof(T));
    return value;
}
}  // namespace simt
template <class T> SIMT_INLINE T __shfl_sync(unsigned mask, T value, int lane, int width = 32)
{
    return simt::shuffle(SIMT_SHUFFLE_INDEX, mask, value, lane, width);
}
template <class T> SIMT_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32)
{
    return simt::shuffle(SIMT_SHUFFLE_UP, mask, value, (int)delta, width);
}
template <class T> SIMT_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32)
{
    return simt::shuffle(SIMT_SHUFFLE_DOWN, mask, value, (int)delta, width);
}
template <class T> SIMT_INLINE T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32)
{
    return simt::shuffle(SIMT_SHUFFLE_XOR, mask, value, lane_mask, width);
}
SIMT_INLINE unsigned __activemask() { return simt_warp_active(); }
SIMT_INLINE unsigned __ballot_sync(unsigned mask, int predicate)
{
    return simt_warp_vote(SIMT_VOTE_BALLOT, mask, !!predicate);
}
SIMT_INLINE int __any_sync(unsigned mask, int predicate)
{
    return simt_warp_vote(SIMT_VOTE_ANY, mask, !!predicate) != 0;
}
SIMT_INLINE int __all_sync(unsigned mask, int predicate)
{
    return simt_warp_vote(SIMT_VOTE_ALL, mask, !predicate) == 0;
}
namespace simt
{
template <class T> SIMT_INLINE unsigned match(simt_match how, unsigned mask, T value)
{
    unsigned long long bits = 0;
    __builtin_memcpy((void *)&bits, &value, sizeof(T));
    return simt_warp_match(how, mask, bits, sizeof(T));
}
}  // namespace simt
template <class T> SIMT_INLINE unsigned __match_any_sync(unsigned mask, T value)
{
    return simt::match(SIMT_MATCH_ANY, mask, value);
}
template <class T> SIMT_INLINE unsigned __match_all_sync(unsigned mask, T value, int *all)
{
    unsigned same = simt::match(SIMT_MATCH_ALL, mask, value);
    *all = same == mask;
    return *all ? mask : 0;
}
SIMT_INLINE unsigned __reduce_add_sync(unsigned mask, unsigned v) { return simt_warp_reduce(SIMT_REDUCE_ADD, mask, v); }
SIMT_INLINE int __reduce_add_sync(unsigned mask, int v)
{
    return (int)simt_warp_reduce(SIMT_REDUCE_ADD, mask, (unsigned)v);
}
SIMT_INLINE unsigned __reduce_min_sync(unsigned mask, unsigned v)
{
    return simt_warp_reduce(SIMT_REDUCE_UMIN, mask, v);
}
SIMT_INLINE int __reduce_min_sync(unsigned mask, int v)
{
    return (int)simt_warp_reduce(SIMT_REDUCE_MIN, mask, (unsigned)v);
}
SIMT_INLINE unsigned __reduce_max_sync(unsigned mask, unsigned v)
{
    return simt_warp_reduce(SIMT_REDUCE_UMAX, mask, v);
}
SIMT_INLINE int __reduce_max_sync(unsigned mask, int v)
{
    return (int)simt_warp_reduce(SIMT_REDUCE_MAX, mask, (unsigned)v);
}
SIMT_INLINE unsigned __reduce_and_sync(unsigned mask, unsigned v) { return simt_warp_reduce(SIMT_REDUCE_AND, mask, v); }
SIMT_INLINE unsigned __reduce_or_sync(unsigned mask, unsigned v) { return simt_warp_reduce(SIMT_REDUCE_OR, mask, v); }
SIMT_INLINE unsigned __reduce_xor_sync(unsigned mask, unsigned v) { return simt_warp_reduce(SIMT_REDUCE_XOR, mask, v); }
SIMT_INLINE int __uni_sync(unsigned mask, int predicate)
{
    unsigned yes = simt_warp_vote(SIMT_VOTE_UNIFORM, mask, !!predicate);
    return yes == 0 || yes == simt_warp_vote(SIMT_VOTE_UNIFORM, mask, 1);
}

/* From bit `base` of the mask on, up or, of a negative offset, down, where is the |offset|-th that is set? */
SIMT_INLINE unsigned __fns(unsigned mask, unsigned base, int offset)
{
    unsigned left = offset < 0 ? -(unsigned)offset : (unsigned)offset;
    if (!offset)
        return base < 32 && mask >> base & 1 ? base : ~0u;
    for (unsigned at = base; at < 32; at += offset < 0 ? ~0u : 1u) {
        left -= mask >> at & 1;
        if (!left)
            return at;
    }
    return ~0u;
}

#endif
#endif

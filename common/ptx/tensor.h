// Tensor copies: one thread asks for a box of a tensor that a map describes, and an engine finds its rows.
#ifndef PTX_TENSOR_H
#define PTX_TENSOR_H

#include <cuda.h>
#include <stdint.h>

// prefetch.tensormap (PTX ISA, "Data Movement and Conversion Instructions: prefetch, prefetchu"): one thread has the map, a kernel's
// parameter, loaded near to the engine.
__device__ __forceinline__ void prefetch_tensormap(const CUtensorMap *map)
{
    asm volatile("prefetch.tensormap [%0];" : : "l"(map) : "memory");
}

// cp.async.bulk.tensor.2d.shared::cluster.global.tile (PTX ISA, "cp.async.bulk.tensor"): one thread begins to copy the map's box whose first
// element is at (row, col) to shared memory, at a multiple of 128 bytes. What lies outside of the matrix becomes 0. All bytes of
// the box, the zeros too, are counted off what the barrier, in the same block, still expects.
__device__ __forceinline__ void tensor_load_2d(void *to, const CUtensorMap *map, int row, int col, uint64_t *barrier)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
        :
        : "r"((uint32_t)__cvta_generic_to_shared(to)), "l"(map), "r"(col), "r"(row),
          "r"((uint32_t)__cvta_generic_to_shared(barrier))
        : "memory");
}

// cp.async.bulk.tensor.2d.global.shared::cta.tile (PTX ISA, "cp.async.bulk.tensor"): one thread begins to copy a box from shared memory, at
// a multiple of 128 bytes, to the map's matrix. What lies outside of it is left out. It belongs to the thread's next bulk group.
__device__ __forceinline__ void tensor_store_2d(const CUtensorMap *map, int row, int col, const void *from)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
                 :
                 : "l"(map), "r"(col), "r"(row), "r"((uint32_t)__cvta_generic_to_shared(from))
                 : "memory");
}

// cp.async.bulk.tensor.3d: the same loads and stores of a tensor of matrices. The box lies in one of them, `slice`, and what lies outside of that
// matrix becomes 0, or is left out, also where another matrix follows.
__device__ __forceinline__ void tensor_load_3d(void *to, const CUtensorMap *map, int slice, int row, int col,
                                               uint64_t *barrier)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, "
                 "%4}], [%5];"
                 :
                 : "r"((uint32_t)__cvta_generic_to_shared(to)), "l"(map), "r"(col), "r"(row), "r"(slice),
                   "r"((uint32_t)__cvta_generic_to_shared(barrier))
                 : "memory");
}

__device__ __forceinline__ void tensor_store_3d(const CUtensorMap *map, int slice, int row, int col, const void *from)
{
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];"
                 :
                 : "l"(map), "r"(col), "r"(row), "r"(slice), "r"((uint32_t)__cvta_generic_to_shared(from))
                 : "memory");
}

#endif

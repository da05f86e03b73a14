// What the blocks of a cluster do with each other: they wait for one another, arrive at each other's barriers, and let one copy write
// the shared memory of several.
#ifndef PTX_CLUSTER_H
#define PTX_CLUSTER_H

#include <cuda.h>
#include <stdint.h>

// %cluster_ctarank (PTX ISA, "Special Registers: %cluster_ctarank"): the number of the thread's block in its cluster, from 0 on.
__device__ __forceinline__ unsigned cluster_rank()
{
    uint32_t rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// barrier.cluster.arrive.relaxed (PTX ISA, "Parallel Synchronization and Communication Instructions: barrier.cluster"): each thread of all
// blocks of the cluster arrives, once before each wait. It publishes nothing but the barriers whose initialisation the thread has
// fenced, by fence_mbarrier_init(). All 32 lanes of a warp call it together: .aligned asks for that, and a lane that comes later hangs.
__device__ __forceinline__ void cluster_arrive_relaxed()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

// barrier.cluster.wait (PTX ISA, "barrier.cluster"): waits until all threads of the cluster have arrived. All 32 lanes of a warp call it
// together.
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// mapa (PTX ISA, "Data Movement and Conversion Instructions: mapa"): the address, among the shared memory of the whole cluster, of what
// lies in the block of that rank where `own` lies in this one.
__device__ __forceinline__ uint32_t map_to_rank(const void *own, unsigned rank)
{
    uint32_t address;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(address)
        : "r"((uint32_t)__cvta_generic_to_shared(own)), "r"(rank));
    return address;
}

// mbarrier.arrive.shared::cluster (PTX ISA, "mbarrier.arrive"): one thread arrives at a barrier of any block of the cluster, whose address is
// one of map_to_rank.
__device__ __forceinline__ void mbarrier_arrive_cluster(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" : : "r"(barrier) : "memory");
}

// st.async (PTX ISA, "Data Movement and Conversion Instructions: st.async"): one thread stores 16 bytes in the shared memory of a block of the
// cluster, and goes on. Once they are there, a barrier of that block counts them off. Both addresses are of map_to_rank.
__device__ __forceinline__ void store_async(uint32_t to, const float values[4], uint32_t barrier)
{
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];"
                 :
                 : "r"(to), "f"(values[0]), "f"(values[1]), "f"(values[2]), "f"(values[3]), "r"(barrier)
                 : "memory");
}

// cp.async.bulk.tensor with .multicast::cluster (PTX ISA, "cp.async.bulk.tensor"): as tensor_load_2d, to each block of the cluster whose rank
// is a bit in `ranks`. The box comes to the same place in the shared memory of each, and its bytes are counted off by each block's
// own barrier, at the place of `barrier` in this one.
__device__ __forceinline__ void tensor_load_2d_multicast(void *to, const CUtensorMap *map, int row, int col,
                                                         uint64_t *barrier, uint16_t ranks)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1, {%2, %3}], [%4], %5;"
                 :
                 : "r"((uint32_t)__cvta_generic_to_shared(to)), "l"(map), "r"(col), "r"(row),
                   "r"((uint32_t)__cvta_generic_to_shared(barrier)), "h"(ranks)
                 : "memory");
}

#endif

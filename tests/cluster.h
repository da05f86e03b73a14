// Clusters, for the programs that test them: each instruction is a macro, so that a report names the line of the program that uses it.
// An address of another block's shared memory is 32 bits wide here, as mapped() returns it; C++ goes by map_shared_rank().
#pragma once

#include "hopper.h"

static __device__ __forceinline__ unsigned cluster_rank(void)
{
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

static __device__ __forceinline__ unsigned cluster_size(void)
{
    unsigned size;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    return size;
}

// What lies at that place of this block's shared memory, in the block of that rank.
static __device__ __forceinline__ unsigned mapped(const void *p, unsigned rank)
{
    unsigned address;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(in_shared(p)), "r"(rank));
    return address;
}

// ---- the barrier of the cluster ----

#define CLUSTER_ARRIVE() asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory")
#define CLUSTER_ARRIVE_RELAXED() asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory")
#define CLUSTER_WAIT() asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory")
#define CLUSTER_SYNC() \
    do { \
        CLUSTER_ARRIVE(); \
        CLUSTER_WAIT(); \
    } while (0)

// ---- shared memory of another block ----

#define REMOTE_LOAD(VALUE, ADDRESS) \
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(VALUE) : "r"(ADDRESS) : "memory")
#define REMOTE_STORE(ADDRESS, VALUE) \
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(ADDRESS), "r"(VALUE) : "memory")
#define REMOTE_ADD(ADDRESS, VALUE) \
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], %1;" ::"r"(ADDRESS), "r"(VALUE) : "memory")

// ---- mbarriers of another block, and waits that acquire from the cluster ----

#define REMOTE_ARRIVE(ADDRESS) \
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(ADDRESS) : "memory")
#define REMOTE_ARRIVE_EXPECT(ADDRESS, BYTES) \
    asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(ADDRESS), \
                 "r"(BYTES) \
                 : "memory")
#define REMOTE_EXPECT(ADDRESS, BYTES) \
    asm volatile("mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%0], %1;" ::"r"(ADDRESS), "r"(BYTES) \
                 : "memory")
#define CLUSTER_MBARRIER_WAIT(BAR, PARITY) \
    for (unsigned mbarrier_done = 0; !mbarrier_done;) \
    asm volatile( \
        "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }" \
        : "=r"(mbarrier_done) \
        : "r"(in_shared(BAR)), "r"(PARITY) \
        : "memory")

// ---- stores and copies into another block; both the target and the mbarrier are that block's ----

#define ST_ASYNC(ADDRESS, VALUE, BAR) \
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(ADDRESS), \
                 "r"(VALUE), "r"(BAR) \
                 : "memory")
#define RED_ASYNC(OP, ADDRESS, VALUE, BAR) \
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." OP \
                 " [%0], %1, [%2];" ::"r"(ADDRESS), \
                 "r"(VALUE), "r"(BAR) \
                 : "memory")
#define BULK_SEND(ADDRESS, FROM, BYTES, BAR) \
    asm volatile( \
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(ADDRESS), \
        "r"(in_shared(FROM)), "r"(BYTES), "r"(BAR) \
        : "memory")
#define BULK_SEND_ADD(ADDRESS, FROM, BYTES, BAR) \
    asm volatile( \
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%0], [%1], %2, [%3];" :: \
            "r"(ADDRESS), \
        "r"(in_shared(FROM)), "r"(BYTES), "r"(BAR) \
        : "memory")

// ---- multicast: to the same place, and the mbarrier at the same place, of each block that the mask names ----

#define BULK_MULTICAST(TO, FROM, BYTES, BAR, MASK) \
    asm volatile( \
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" :: \
            "r"(in_shared(TO)), \
        "l"(FROM), "r"(BYTES), "r"(in_shared(BAR)), "h"((unsigned short)(MASK)) \
        : "memory")
#define TMA_MULTICAST_2D(TO, MAP, X, Y, BAR, MASK) \
    asm volatile( \
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster " \
        "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(in_shared(TO)), \
        "l"(MAP), "r"(X), "r"(Y), "r"(in_shared(BAR)), "h"((unsigned short)(MASK)) \
        : "memory")

// One thread of each block initialises its barriers; behind this all blocks of the cluster may use them.
#define CLUSTER_SET_UP(BARS, COUNT) \
    do { \
        if (threadIdx.x == 0) { \
            for (unsigned i_ = 0; i_ < sizeof(BARS) / 8; i_++) \
                MBARRIER_INIT((uint64_t *)&(BARS) + i_, COUNT); \
            FENCE_MBARRIER_INIT(); \
        } \
        CLUSTER_SYNC(); \
    } while (0)

// A launch in clusters of that many blocks, which may begin before the kernel in front of it in the stream has ended.
template <typename... P, typename... A>
static inline cudaError_t launch_clusters(dim3 cluster, dim3 grid, dim3 block, size_t bytes, bool early,
                                          void (*kernel)(P...), A... arguments)
{
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config = {};
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim.x = cluster.x;
    attributes[0].val.clusterDim.y = cluster.y;
    attributes[0].val.clusterDim.z = cluster.z;
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = bytes;
    config.attrs = attributes;
    config.numAttrs = early ? 2 : 1;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

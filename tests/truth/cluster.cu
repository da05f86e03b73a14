// Accesses to the shared memory of another block of the cluster, and copies to several: what a GPU's counters say of them, and the
// emulator's must.
//
//   nvcc -std=c++20 -gencode=arch=compute_90a,code=sm_90a cluster.cu -o cluster && ./cluster
//
// cluster_{ld, st, atom, red}: by `lanes` lanes of one warp of each block of the first `busy`, of so many bytes at each `stride`-th
// element, in the memory of the block whose rank is `to` places behind its own; 0: its own. "generic": by a pointer.
// cluster_{arrive, send, reduce}: at its mbarrier, st.async, red.async. cluster_{bulk, tile}: a copy of so many bytes from
// global memory by block 0, to the blocks that `mask` names; 0: to itself, not by multicast. cluster_copy: from shared memory to
// the next block's. cluster_barrier: so many times. The launches come in a fixed order, so that counters can be joined to the
// printed lines by position. --list prints without running.

#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 32, MOST = 16384 };

struct launch {
    int blocks, busy, to, bytes, stride, lanes, generic, mask, times;
};

static void check(cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "cluster: %s\n", cudaGetErrorString(error));
    exit(1);
}

static __device__ unsigned here(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
static __device__ unsigned rank()
{
    unsigned r;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
}
static __device__ unsigned at_rank(unsigned address, unsigned r)
{
    unsigned a;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(address), "r"(r));
    return a;
}
static __device__ unsigned long long at_rank_generic(const void *p, unsigned r)
{
    unsigned long long a;
    asm("mapa.u64 %0, %1, %2;" : "=l"(a) : "l"((unsigned long long)p), "r"(r));
    return a;
}
static __device__ void meet()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
static __device__ void begin_barrier(unsigned barrier, unsigned count)
{
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
}
static __device__ void expect(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
// The polls are as few as there can be: one thread's.
static __device__ void wait(unsigned barrier)
{
    unsigned over = 0;
    while (!over)
        asm volatile("{ .reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n"
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(over)
                     : "r"(barrier)
                     : "memory");
}

#define BEGIN \
    extern __shared__ __align__(1024) unsigned tile[]; \
    __shared__ alignas(8) unsigned long long mbarrier; \
    unsigned barrier = here(&mbarrier), next = (rank() + l.to) % l.blocks; \
    bool busy = (int)rank() < l.busy && (int)threadIdx.x < l.lanes; \
    (void)barrier, (void)next, (void)busy;
#define ADDRESS \
    unsigned address = at_rank(here(tile) + threadIdx.x * l.stride * l.bytes, next); \
    unsigned long long generic = at_rank_generic((char *)tile + threadIdx.x * l.stride * l.bytes, next); \
    (void)address, (void)generic;

// What is loaded is written before, and none of it is LIKE_NONE, but the compiler does not know.
enum { LIKE_NONE = 0x7654321 };
static __device__ void fill(uint4 *tile)
{
    for (int i = threadIdx.x; i < MOST / 16; i += THREADS)
        tile[i] = make_uint4(i, i, i, i);
}

__global__ void cluster_ld(unsigned char *memory, const __grid_constant__ CUtensorMap, struct launch l)
{
    BEGIN ADDRESS unsigned w[4] = {};
    fill((uint4 *)tile);
    meet();
    if (busy) {
        if (l.generic) {
            if (l.bytes == 4)
                asm volatile("ld.b32 %0, [%1];" : "=r"(w[0]) : "l"(generic) : "memory");
            else if (l.bytes == 8)
                asm volatile("ld.v2.b32 {%0, %1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "l"(generic));
            else
                asm volatile("ld.v4.b32 {%0, %1, %2, %3}, [%4];"
                             : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                             : "l"(generic));
        } else if (l.bytes == 4)
            asm volatile("ld.shared::cluster.b32 %0, [%1];" : "=r"(w[0]) : "r"(address));
        else if (l.bytes == 8)
            asm volatile("ld.shared::cluster.v2.b32 {%0, %1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "r"(address));
        else
            asm volatile("ld.shared::cluster.v4.b32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                         : "r"(address));
        if ((w[0] | w[1] | w[2] | w[3]) == LIKE_NONE)
            *memory = 1;
    }
    meet();
}

__global__ void cluster_st(unsigned char *, const __grid_constant__ CUtensorMap, struct launch l)
{
    BEGIN ADDRESS meet();
    if (busy) {
        if (l.generic) {
            if (l.bytes == 4)
                asm volatile("st.b32 [%0], %1;" ::"l"(generic), "r"(7) : "memory");
            else if (l.bytes == 8)
                asm volatile("st.v2.b32 [%0], {%1, %1};" ::"l"(generic), "r"(7) : "memory");
            else
                asm volatile("st.v4.b32 [%0], {%1, %1, %1, %1};" ::"l"(generic), "r"(7) : "memory");
        } else if (l.bytes == 4)
            asm volatile("st.shared::cluster.b32 [%0], %1;" ::"r"(address), "r"(7) : "memory");
        else if (l.bytes == 8)
            asm volatile("st.shared::cluster.v2.b32 [%0], {%1, %1};" ::"r"(address), "r"(7) : "memory");
        else
            asm volatile("st.shared::cluster.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(address), "r"(7) : "memory");
    }
    meet();
}

__global__ void cluster_atom(unsigned char *memory, const __grid_constant__ CUtensorMap, struct launch l)
{
    BEGIN ADDRESS unsigned word = 0;
    unsigned long long wide = 0;
    fill((uint4 *)tile);
    meet();
    if (busy) {
        if (l.generic)
            asm volatile("atom.add.u32 %0, [%1], 1;" : "=r"(word) : "l"(generic) : "memory");
        else if (l.bytes == 8)
            asm volatile("atom.shared::cluster.exch.b64 %0, [%1], 1;" : "=l"(wide) : "r"(address) : "memory");
        else
            asm volatile("atom.shared::cluster.add.u32 %0, [%1], 1;" : "=r"(word) : "r"(address) : "memory");
        if (word == LIKE_NONE || wide == LIKE_NONE)
            *memory = 1;
    }
    meet();
}

__global__ void cluster_red(unsigned char *, const __grid_constant__ CUtensorMap, struct launch l)
{
    BEGIN ADDRESS fill((uint4 *)tile);
    meet();
    if (busy) {
        if (l.generic)
            asm volatile("red.add.u32 [%0], 1;" ::"l"(generic) : "memory");
        else
            asm volatile("red.shared::cluster.add.u32 [%0], 1;" ::"r"(address) : "memory");
    }
    meet();
}

__global__ void cluster_arrive(unsigned char *, const __grid_constant__ CUtensorMap, struct launch l)
{
    BEGIN
    begin_barrier(barrier, 1000);
    meet();
    if (busy)
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(at_rank(barrier, next))
                     : "memory");
    meet();
}

__global__ void cluster_send(unsigned char *, const __grid_constant__ CUtensorMap, struct launch l)
{
    BEGIN ADDRESS begin_barrier(barrier, 1);
    meet();
    if (busy) {
        unsigned there = at_rank(barrier, next);
        if (l.bytes == 4)
            asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(address),
                         "r"(7), "r"(there)
                         : "memory");
        else if (l.bytes == 8)
            asm volatile(
                "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %1}, [%2];" ::"r"(address),
                "r"(7), "r"(there)
                : "memory");
        else
            asm volatile(
                "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %1, %1, %1}, [%2];" ::"r"(
                    address),
                "r"(7), "r"(there)
                : "memory");
    }
    if (threadIdx.x == 0 && (rank() + l.blocks - l.to) % l.blocks < l.busy) {
        expect(barrier, l.lanes * l.bytes);
        wait(barrier);
    }
    meet();
}

__global__ void cluster_reduce(unsigned char *, const __grid_constant__ CUtensorMap, struct launch l)
{
    BEGIN ADDRESS fill((uint4 *)tile);
    begin_barrier(barrier, 1);
    meet();
    if (busy)
        asm volatile(
            "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(
                address),
            "r"(7), "r"(at_rank(barrier, next))
            : "memory");
    if (threadIdx.x == 0 && (rank() + l.blocks - l.to) % l.blocks < l.busy) {
        expect(barrier, l.lanes * l.bytes);
        wait(barrier);
    }
    meet();
}

static __device__ bool receives(struct launch l) { return l.mask ? l.mask >> rank() & 1 : (int)rank() < l.busy; }

__global__ void cluster_bulk(unsigned char *memory, const __grid_constant__ CUtensorMap, struct launch l)
{
    BEGIN
    begin_barrier(barrier, 1);
    if (threadIdx.x == 0 && receives(l))
        expect(barrier, l.bytes);
    meet();
    if (busy) {
        if (l.mask)
            asm volatile(
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::
                    "r"(here(tile)),
                "l"(memory), "r"(l.bytes), "r"(barrier), "h"((unsigned short)l.mask)
                : "memory");
        else
            asm volatile(
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                    here(tile)),
                "l"(memory), "r"(l.bytes), "r"(barrier)
                : "memory");
    }
    if (threadIdx.x == 0 && receives(l))
        wait(barrier);
    meet();
}

// A box of 64 elements of two bytes in each row.
__global__ void cluster_tile(unsigned char *, const __grid_constant__ CUtensorMap map, struct launch l)
{
    BEGIN
    begin_barrier(barrier, 1);
    if (threadIdx.x == 0 && receives(l))
        expect(barrier, l.bytes);
    meet();
    if (busy) {
        if (l.mask)
            asm volatile(
                "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, %5}], "
                "[%2], %3;" ::"r"(here(tile)),
                "l"(&map), "r"(barrier), "h"((unsigned short)l.mask), "r"(0), "r"(0)
                : "memory");
        else
            asm volatile(
                "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
                    "r"(here(tile)),
                "l"(&map), "r"(barrier), "r"(0), "r"(0)
                : "memory");
    }
    if (threadIdx.x == 0 && receives(l))
        wait(barrier);
    meet();
}

__global__ void cluster_copy(unsigned char *, const __grid_constant__ CUtensorMap, struct launch l)
{
    BEGIN
    begin_barrier(barrier, 1);
    for (int i = threadIdx.x; i < l.bytes / 4; i += THREADS)
        tile[i] = i;
    asm volatile("fence.proxy.async;" ::: "memory");
    if (threadIdx.x == 0 && (rank() + l.blocks - l.to) % l.blocks < l.busy)
        expect(barrier, l.bytes);
    meet();
    if (busy) {
        if (l.generic)
            asm volatile(
                "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%0], [%1], %2, [%3];" ::
                    "r"(at_rank(here(tile) + MOST, next)),
                "r"(here(tile)), "r"(l.bytes), "r"(at_rank(barrier, next))
                : "memory");
        else
            asm volatile(
                "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                    at_rank(here(tile) + MOST, next)),
                "r"(here(tile)), "r"(l.bytes), "r"(at_rank(barrier, next))
                : "memory");
    }
    if (threadIdx.x == 0 && (rank() + l.blocks - l.to) % l.blocks < l.busy)
        wait(barrier);
    meet();
}

__global__ void cluster_barrier(unsigned char *, const __grid_constant__ CUtensorMap, struct launch l)
{
    for (int i = 0; i < l.times; i++)
        meet();
}

typedef void kernel(unsigned char *, CUtensorMap, struct launch);
static unsigned char *memory;  // NULL: only list
typedef CUresult encode_t(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                          const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,
                          CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
static encode_t *encode;

static void run(const char *name, kernel *k, struct launch l)
{
    printf("%s blocks=%d busy=%d to=%d bytes=%d stride=%d lanes=%d generic=%d mask=%x times=%d\n", name, l.blocks,
           l.busy, l.to, l.bytes, l.stride, l.lanes, l.generic, l.mask, l.times);
    if (!memory)
        return;
    cuuint64_t sizes[] = {64, MOST / 128}, strides[] = {128};
    cuuint32_t box[] = {64, (cuuint32_t)(l.bytes >= 128 ? l.bytes / 128 : 1)}, steps[] = {1, 1};
    CUtensorMap map;
    if (encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, memory, sizes, strides, box, steps,
               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS) {
        fprintf(stderr, "cluster: no map\n");
        exit(1);
    }
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = l.blocks;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.gridDim = dim3(l.blocks);
    config.blockDim = dim3(THREADS);
    config.dynamicSmemBytes = 2 * MOST;
    config.attrs = &attribute;
    config.numAttrs = 1;
    check(cudaProfilerStart());
    check(cudaLaunchKernelEx(&config, k, memory, map, l));
    check(cudaDeviceSynchronize());
    check(cudaProfilerStop());
}

#define RUN(NAME, ...) run(#NAME, NAME, {__VA_ARGS__})

int main(int argc, char **argv)
{
    bool list_only = argc > 1 && strcmp(argv[1], "--list") == 0;
    if (!list_only) {
        void *zeros, *function = NULL;
        cudaDriverEntryPointQueryResult query;
        check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &query));
        encode = (encode_t *)function;
        check(cudaMalloc(&zeros, MOST));
        check(cudaMemset(zeros, 0, MOST));
        memory = (unsigned char *)zeros;
    }
    for (int times = 0; times < 3; times++)
        RUN(cluster_barrier, 2, 2, 0, 0, 0, 32, 0, 0, times);
    const int strides[] = {0, 1, 2, 3, 8, 32};
    for (int bytes = 4; bytes <= 16; bytes *= 2)
        for (int stride : strides)
            for (int way = 0; way < 3; way++) {
                int to = way != 1, generic = way == 2;
                if (way && stride != 1 && stride != 8)
                    continue;
                RUN(cluster_ld, 2, 1, to, bytes, stride, 32, generic);
                if (stride)
                    RUN(cluster_st, 2, 1, to, bytes, stride, 32, generic);
                if (bytes == 4 || bytes == 8 && !generic)
                    RUN(cluster_atom, 2, 1, to, bytes, stride, 32, generic);
                if (bytes == 4)
                    RUN(cluster_red, 2, 1, to, bytes, stride, 32, generic);
                if (stride && !generic)
                    RUN(cluster_send, 2, 1, to, bytes, stride, 32, generic);
                if (bytes == 4 && !generic)
                    RUN(cluster_reduce, 2, 1, to, bytes, stride, 32, generic);
            }
    const int lanes[] = {1, 3, 17};
    for (int n : lanes) {
        RUN(cluster_ld, 4, 4, 1, 4, 1, n, 0);
        RUN(cluster_ld, 4, 3, 2, 16, 1, n, 0);
        RUN(cluster_st, 4, 4, 1, 4, 1, n, 0);
        RUN(cluster_st, 4, 3, 2, 16, 1, n, 0);
        RUN(cluster_atom, 4, 4, 1, 4, 1, n, 0);
        RUN(cluster_red, 4, 4, 1, 4, 1, n, 0);
        RUN(cluster_send, 4, 4, 1, 4, 1, n, 0);
        RUN(cluster_send, 4, 3, 2, 16, 1, n, 0);
        RUN(cluster_reduce, 4, 4, 1, 4, 1, n, 0);
        RUN(cluster_arrive, 4, 4, 1, 0, 0, n, 0);
        RUN(cluster_arrive, 4, 4, 0, 0, 0, n, 0);
    }
    const int sizes[] = {16, 144, 1024, 4096};
    const int masks[] = {1, 2, 3, 5, 15};
    for (int bytes : sizes) {
        for (int busy = 1; busy <= 4; busy += 3)
            RUN(cluster_bulk, 4, busy, 0, bytes, 0, 1, 0, 0);
        for (int mask : masks)
            RUN(cluster_bulk, 4, 1, 0, bytes, 0, 1, 0, mask);
        if (bytes >= 1024) {
            for (int busy = 1; busy <= 4; busy += 3)
                RUN(cluster_tile, 4, busy, 0, bytes, 0, 1, 0, 0);
            for (int mask : masks)
                RUN(cluster_tile, 4, 1, 0, bytes, 0, 1, 0, mask);
        }
        for (int to = 0; to < 2; to++)
            for (int reduces = 0; reduces < 2; reduces++) {
                RUN(cluster_copy, 4, 1, to, bytes, 0, 1, reduces);
                RUN(cluster_copy, 4, 4, to, bytes, 0, 1, reduces);
            }
    }
    RUN(cluster_bulk, 8, 1, 0, 4096, 0, 1, 0, 0xff);
    RUN(cluster_tile, 8, 1, 0, 4096, 0, 1, 0, 0xff);
    return 0;
}

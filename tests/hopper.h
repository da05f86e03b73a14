// Bulk copies, the barriers that count their bytes, and tensor maps, for the programs that test them. Each instruction is a
// macro, so that a report names the line of the program that uses it.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>
#include <cudaTypedefs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static __device__ __forceinline__ unsigned in_shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

#define MBARRIER_INIT(BAR, COUNT) \
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(in_shared(BAR)), "r"(COUNT) : "memory")
#define MBARRIER_INVAL(BAR) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(in_shared(BAR)) : "memory")
#define MBARRIER_ARRIVE(BAR) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(in_shared(BAR)) : "memory")
#define MBARRIER_EXPECT(BAR, BYTES) \
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(in_shared(BAR)), "r"(BYTES) \
                 : "memory")
#define MBARRIER_COMPLETE(BAR, BYTES) \
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(in_shared(BAR)), "r"(BYTES) \
                 : "memory")
#define MBARRIER_ARRIVE_EXPECT(BAR, BYTES) \
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(in_shared(BAR)), "r"(BYTES) : "memory")
#define MBARRIER_TRY(DONE, BAR, PARITY) \
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }" \
                 : "=r"(DONE) \
                 : "r"(in_shared(BAR)), "r"(PARITY) \
                 : "memory")
#define MBARRIER_WAIT(BAR, PARITY) \
    for (unsigned mbarrier_done = 0; !mbarrier_done;) \
    MBARRIER_TRY(mbarrier_done, BAR, PARITY)

#define FENCE_MBARRIER_INIT() asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")
#define FENCE_ASYNC() asm volatile("fence.proxy.async;" ::: "memory")
#define FENCE_ASYNC_SHARED() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define FENCE_ASYNC_GLOBAL() asm volatile("fence.proxy.async.global;" ::: "memory")

#define BULK_LOAD(TO, FROM, BYTES, BAR) \
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"( \
                     in_shared(TO)), \
                 "l"(FROM), "r"(BYTES), "r"(in_shared(BAR)) \
                 : "memory")
#define BULK_MOVE(TO, FROM, BYTES, BAR) \
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"( \
                     in_shared(TO)), \
                 "r"(in_shared(FROM)), "r"(BYTES), "r"(in_shared(BAR)) \
                 : "memory")
#define BULK_STORE(TO, FROM, BYTES) \
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(TO), "r"(in_shared(FROM)), \
                 "r"(BYTES) \
                 : "memory")
#define BULK_ADD(TYPE, TO, FROM, BYTES) \
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add." TYPE " [%0], [%1], %2;" ::"l"(TO), \
                 "r"(in_shared(FROM)), "r"(BYTES) \
                 : "memory")
#define BULK_PREFETCH(FROM, BYTES) \
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(FROM), "r"(BYTES) : "memory")
#define BULK_COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BULK_WAIT(GROUPS) asm volatile("cp.async.bulk.wait_group %0;" ::"n"(GROUPS) : "memory")
#define BULK_WAIT_READ(GROUPS) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(GROUPS) : "memory")

#define TMA_LOAD_1D(TO, MAP, X, BAR) \
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2}], " \
                 "[%3];" ::"r"(in_shared(TO)), \
                 "l"(MAP), "r"(X), "r"(in_shared(BAR)) \
                 : "memory")
#define TMA_LOAD_2D(TO, MAP, X, Y, BAR) \
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], " \
                 "[%4];" ::"r"(in_shared(TO)), \
                 "l"(MAP), "r"(X), "r"(Y), "r"(in_shared(BAR)) \
                 : "memory")
#define TMA_LOAD_3D(TO, MAP, X, Y, Z, BAR) \
    asm volatile( \
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], " \
        "[%5];" ::"r"(in_shared(TO)), \
        "l"(MAP), "r"(X), "r"(Y), "r"(Z), "r"(in_shared(BAR)) \
        : "memory")
#define TMA_LOAD_4D(TO, MAP, X, Y, Z, W, BAR) \
    asm volatile( \
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, " \
        "%5}], [%6];" ::"r"(in_shared(TO)), \
        "l"(MAP), "r"(X), "r"(Y), "r"(Z), "r"(W), "r"(in_shared(BAR)) \
        : "memory")
#define TMA_LOAD_5D(TO, MAP, X, Y, Z, W, V, BAR) \
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, " \
                 "%3, %4, %5, %6}], [%7];" ::"r"(in_shared(TO)), \
                 "l"(MAP), "r"(X), "r"(Y), "r"(Z), "r"(W), "r"(V), "r"(in_shared(BAR)) \
                 : "memory")
#define TMA_STORE_1D(MAP, X, FROM) \
    asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%0, {%1}], [%2];" ::"l"(MAP), "r"(X), \
                 "r"(in_shared(FROM)) \
                 : "memory")
#define TMA_STORE_2D(MAP, X, Y, FROM) \
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(MAP), "r"(X), \
                 "r"(Y), "r"(in_shared(FROM)) \
                 : "memory")
#define TMA_STORE_3D(MAP, X, Y, Z, FROM) \
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(MAP), \
                 "r"(X), "r"(Y), "r"(Z), "r"(in_shared(FROM)) \
                 : "memory")
#define TMA_ADD_2D(MAP, X, Y, FROM) \
    asm volatile( \
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(MAP), \
        "r"(X), "r"(Y), "r"(in_shared(FROM)) \
        : "memory")
#define TMA_PREFETCH_2D(MAP, X, Y) \
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(MAP), "r"(X), "r"(Y) \
                 : "memory")
#define TMA_PREFETCH_MAP(MAP) asm volatile("prefetch.tensormap [%0];" ::"l"(MAP) : "memory")

// What a tensor map says: a tensor's dimensions, the first of which is contiguous, and the box that a copy moves.
struct tensor {
    CUtensorMapDataType type;
    unsigned element;  // bytes
    unsigned rank;
    cuuint64_t dims[5], pitch[5];  // pitch[i]: bytes from one index of dimension i + 1 to the next; 0: packed
    cuuint32_t box[5];
    CUtensorMapSwizzle swizzle;
    CUtensorMapFloatOOBfill fill;
    cuuint32_t step[5];  // 0: 1
    CUtensorMapInterleave interleave;
};

static inline PFN_cuTensorMapEncodeTiled_v12000 tensor_map_encoder(void)
{
    void *found = NULL;
    cudaDriverEntryPointQueryResult result;
    cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault,
                                                         &result);
    if (error != cudaSuccess || result != cudaDriverEntryPointSuccess || !found) {
        printf("no cuTensorMapEncodeTiled\n");
        exit(1);
    }
    return (PFN_cuTensorMapEncodeTiled_v12000)found;
}

static inline CUresult encode(CUtensorMap *map, const void *memory, struct tensor t)
{
    cuuint64_t bytes = t.element;
    for (unsigned i = 0; i < t.rank && i < 5; i++) {
        bytes *= t.dims[i];
        if (!t.pitch[i])
            t.pitch[i] = bytes;
        bytes = t.pitch[i];
        if (!t.step[i])
            t.step[i] = 1;
    }
    return tensor_map_encoder()(map, t.type, t.rank, (void *)memory, t.dims, t.pitch, t.box, t.step, t.interleave,
                                t.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, t.fill);
}

static inline CUtensorMap tensor_map(const void *memory, struct tensor t)
{
    CUtensorMap map;
    CUresult error = encode(&map, memory, t);
    if (error != CUDA_SUCCESS) {
        printf("cuTensorMapEncodeTiled returns %d\n", (int)error);
        exit(1);
    }
    return map;
}

// Of floats, packed: width x height, in boxes of box_width x box_height.
static inline CUtensorMap matrix_map(const float *memory, unsigned width, unsigned height, unsigned box_width,
                                     unsigned box_height)
{
    return tensor_map(memory, {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, 2, {width, height}, {}, {box_width, box_height}});
}

// One thread initialises the barriers, and all threads of the block may then use them.
#define SET_UP(BARS, COUNT) \
    do { \
        if (threadIdx.x == 0) { \
            for (unsigned i_ = 0; i_ < sizeof(BARS) / 8; i_++) \
                MBARRIER_INIT((uint64_t *)&(BARS) + i_, COUNT); \
            FENCE_MBARRIER_INIT(); \
        } \
        __syncthreads(); \
    } while (0)

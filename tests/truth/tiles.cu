// Tiles of tensors that are copied by a tensor map: what a GPU's counters say of them, and the emulator's must.
//
//   nvcc -std=c++20 -gencode=arch=compute_90a,code=sm_90a tiles.cu -o tiles && ./tiles
//
// {load, store, reduce, prefetch} x ranks 1 to 3 x element sizes x boxes x swizzles x places of the box, also beyond the
// tensor's edges. "reduce" adds. Each launch is one warp, of which one thread begins one copy. The launches come in a fixed
// order, so that counters can be joined to the printed lines by position. --list prints without running.

#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDE = 512, HIGH = 64, DEEP = 4, MOST = 65536 };  // the tensor's sizes in elements; bytes of the largest box

struct tile {
    int rank, bytes;       // of an element
    int wide, high, deep;  // the box, in elements
    int swizzle;           // bytes, or 0
    int x, y, z;           // the box's first element
};

struct place {
    int x, y, z, rank;
    unsigned bytes;  // of the box
};

static void check(cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "tiles: %s\n", cudaGetErrorString(error));
    exit(1);
}

static __device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

static __device__ void commit_and_wait()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

static __device__ void fill(unsigned char *box, unsigned bytes)
{
    for (unsigned i = threadIdx.x * 4; i < bytes; i += 32 * 4)
        *(unsigned *)(box + i) = 0;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
}

extern __shared__ __align__(1024) unsigned char box[];

__global__ void tile_load(const __grid_constant__ CUtensorMap map, struct place p)
{
    __shared__ alignas(8) unsigned long long barrier;
    unsigned to = shared_address(box), bar = shared_address(&barrier), over = 0;
    if (threadIdx.x)
        return;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(p.bytes) : "memory");
    if (p.rank == 1)
        asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2}], [%3];" ::"r"(to),
                     "l"(&map), "r"(p.x), "r"(bar)
                     : "memory");
    else if (p.rank == 2)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                     "l"(&map), "r"(p.x), "r"(p.y), "r"(bar)
                     : "memory");
    else
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),
                     "l"(&map), "r"(p.x), "r"(p.y), "r"(p.z), "r"(bar)
                     : "memory");
    while (!over)
        asm volatile("{ .reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n"
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(over)
                     : "r"(bar)
                     : "memory");
}

__global__ void tile_store(const __grid_constant__ CUtensorMap map, struct place p)
{
    unsigned from = shared_address(box);
    fill(box, p.bytes);
    if (threadIdx.x)
        return;
    if (p.rank == 1)
        asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%0, {%1}], [%2];" ::"l"(&map),
                     "r"(p.x), "r"(from)
                     : "memory");
    else if (p.rank == 2)
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
                     "r"(p.x), "r"(p.y), "r"(from)
                     : "memory");
    else
        asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(&map),
                     "r"(p.x), "r"(p.y), "r"(p.z), "r"(from)
                     : "memory");
    commit_and_wait();
}

__global__ void tile_reduce(const __grid_constant__ CUtensorMap map, struct place p)
{
    unsigned from = shared_address(box);
    fill(box, p.bytes);
    if (threadIdx.x)
        return;
    if (p.rank == 1)
        asm volatile(
            "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%0, {%1}], [%2];" ::"l"(&map),
            "r"(p.x), "r"(from)
            : "memory");
    else if (p.rank == 2)
        asm volatile(
            "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
            "r"(p.x), "r"(p.y), "r"(from)
            : "memory");
    else
        asm volatile(
            "cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(
                &map),
            "r"(p.x), "r"(p.y), "r"(p.z), "r"(from)
            : "memory");
    commit_and_wait();
}

__global__ void tile_prefetch(const __grid_constant__ CUtensorMap map, struct place p)
{
    if (threadIdx.x)
        return;
    if (p.rank == 1)
        asm volatile("cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%0, {%1}];" ::"l"(&map), "r"(p.x) : "memory");
    else if (p.rank == 2)
        asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(&map), "r"(p.x), "r"(p.y)
                     : "memory");
    else
        asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%0, {%1, %2, %3}];" ::"l"(&map), "r"(p.x),
                     "r"(p.y), "r"(p.z)
                     : "memory");
}

static const struct kernel {
    const char *name;
    void (*run)(CUtensorMap map, struct place p);
} kernels[] = {
    {"tile_load", tile_load},
    {"tile_store", tile_store},
    {"tile_reduce", tile_reduce},
    {"tile_prefetch", tile_prefetch},
};

typedef CUresult encode_t(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                          const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,
                          CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
static encode_t *encode;
static void *tensor;  // NULL: only list

static CUtensorMap map_of(const struct tile *t)
{
    CUtensorMap map;
    CUtensorMapDataType type = t->bytes == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                               : t->bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                               : t->bytes == 4 ? CU_TENSOR_MAP_DATA_TYPE_INT32
                                               : CU_TENSOR_MAP_DATA_TYPE_UINT64;
    CUtensorMapSwizzle swizzle = t->swizzle == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                 : t->swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                 : t->swizzle == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                                    : CU_TENSOR_MAP_SWIZZLE_NONE;
    cuuint64_t row = (cuuint64_t)WIDE * t->bytes;
    cuuint64_t sizes[] = {WIDE, HIGH, DEEP}, strides[] = {row, row * HIGH};
    cuuint32_t lengths[] = {(cuuint32_t)t->wide, (cuuint32_t)t->high, (cuuint32_t)t->deep}, steps[] = {1, 1, 1};
    CUresult result = encode(&map, type, (cuuint32_t)t->rank, tensor, sizes, strides, lengths, steps,
                             CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "tiles: the driver refuses a map: %d\n", (int)result);
        exit(1);
    }
    return map;
}

static void run(const struct kernel *k, struct tile t)
{
    unsigned bytes = (unsigned)(t.wide * t.high * t.deep * t.bytes);
    printf("%s rank=%d bytes=%d wide=%d high=%d deep=%d swizzle=%d x=%d y=%d z=%d\n", k->name, t.rank, t.bytes, t.wide,
           t.high, t.deep, t.swizzle, t.x, t.y, t.z);
    if (!tensor)
        return;
    CUtensorMap map = map_of(&t);
    check(cudaFuncSetAttribute(k->run, cudaFuncAttributeMaxDynamicSharedMemorySize, MOST));
    check(cudaProfilerStart());
    k->run<<<1, 32, MOST>>>(map, {t.x, t.y, t.z, t.rank, bytes});
    check(cudaGetLastError());
    check(cudaDeviceSynchronize());
    check(cudaProfilerStop());
}

static void run_all(const struct kernel *k)
{
    const int sizes[] = {1, 2, 4, 8}, widths[] = {16, 48, 128};  // bytes
    for (int bytes : sizes)
        if (!(k->run == tile_reduce && bytes == 1)) {
            run(k, {1, bytes, 32 / bytes, 1, 1, 0, 0, 0, 0});
            run(k, {1, bytes, 160 / bytes, 1, 1, 0, 0, 0, 0});
        }
    for (int width : widths)
        for (int high = 1; high <= 64; high *= 8)
            run(k, {2, 4, width / 4, high, 1, 0, 0, 0, 0});
    for (int swizzle = 32; swizzle <= 128; swizzle *= 2)
        run(k, {2, 2, swizzle / 2, 16, 1, swizzle, 0, 0, 0});
    for (int x = 4; x <= 12; x += 4)  // elements of 4 bytes: a box begins at a multiple of 16
        run(k, {2, 4, 8, 8, 1, 0, x, 3, 0});
    run(k, {2, 4, 32, 8, 1, 128, 4, 0, 0});
    const int beyond[][2] = {{WIDE - 4, HIGH - 1}, {0, HIGH - 2}}, before[][2] = {{-4, 0}, {-8, -1}};
    for (auto at : beyond)
        run(k, {2, 4, 32, 8, 1, 0, at[0], at[1], 0});
    for (auto at : before)
        if (k->run ==
            tile_load)  // a store or a reduction that begins before the first column is an illegal instruction
            run(k, {2, 4, 32, 8, 1, 0, at[0], at[1], 0});
    run(k, {3, 2, 64, 8, 2, 128, 0, 0, 0});
    run(k, {3, 4, 4, 4, 4, 0, 0, 2, 1});
}

int main(int argc, char **argv)
{
    if (!(argc > 1 && strcmp(argv[1], "--list") == 0)) {
        cudaDriverEntryPointQueryResult query;
        void *function = NULL;
        check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &query));
        encode = (encode_t *)function;
        check(cudaMalloc(&tensor, (size_t)WIDE * HIGH * DEEP * 8));
        check(cudaMemset(tensor, 0, (size_t)WIDE * HIGH * DEEP * 8));
    }
    for (const struct kernel &k : kernels)
        run_all(&k);
    return 0;
}

// Bulk copies of sizes, places and spaces that do not fit. The first argument picks the kernel; a comment
// `expect NAME: KIND` marks a line that the report on it must name. tests/right/bulk_copies.cu has the right ways.

#include <cuda/barrier>
#include <cuda/ptx>
#include <string.h>
#include "../hopper.h"

#define TILE 64
#define BYTES (TILE * 4)
#define NUMBERS 600  // in each of the two allocations

namespace ptx = cuda::ptx;
namespace cde = cuda::device::experimental;

__global__ void of_24_bytes(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, 24);
        BULK_LOAD(tile, in, 24, &bar);  // expect of_24_bytes: invalid copy
    }
    MBARRIER_WAIT(&bar, 0);
}

__global__ void of_four_bytes(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    if (threadIdx.x == 0) {
        tile[0] = 1;
        FENCE_ASYNC_SHARED();
        BULK_STORE(out, tile, 4);  // expect of_four_bytes: invalid copy
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void of_what_is_left(float *in, float *out)  // at the end of an array: 600 - 4 * 128 = 88, and one is kept back
{
    __shared__ alignas(16) float tile[128];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    for (int i = 0; i < 5; i++) {
        int left = NUMBERS - 1 - i * 128, n = left < 128 ? left : 128;
        if (threadIdx.x == 0) {
            MBARRIER_ARRIVE_EXPECT(&bar, n * 4);
            BULK_LOAD(tile, in + i * 128, n * 4, &bar);  // expect of_what_is_left: invalid copy
        }
        MBARRIER_WAIT(&bar, i % 2);
        __syncthreads();
    }
}

__global__ void adds_nine_floats(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = 1;
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_ADD("f32", out, tile, 36);  // expect adds_nine_floats: invalid copy
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void prefetches_twenty_bytes(float *in, float *out)
{
    if (threadIdx.x == 0)
        BULK_PREFETCH(in, 20);  // expect prefetches_twenty_bytes: invalid copy
}

// ---- alignment ----

__global__ void second_row(float *in, float *out)  // rows of 150 floats do not begin at 16 bytes
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    for (int row = 0; row < 2; row++) {
        if (threadIdx.x == 0) {
            MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
            BULK_LOAD(tile, in + row * 150, BYTES, &bar);  // expect second_row: misaligned access
        }
        MBARRIER_WAIT(&bar, row);
        __syncthreads();
    }
}

__global__ void target_of_eight(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE + 4];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile + 2, in, BYTES, &bar);  // expect target_of_eight: misaligned access
    }
    MBARRIER_WAIT(&bar, 0);
}

__global__ void padded_rows(float *in, float *out)  // of 33 floats, against bank conflicts
{
    __shared__ alignas(16) float tile[2][33];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, 256);
        for (int i = 0; i < 2; i++)
            BULK_LOAD(tile[i], in + 32 * i, 128, &bar);  // expect padded_rows: misaligned access
    }
    MBARRIER_WAIT(&bar, 0);
}

__global__ void stored_from_the_middle(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile + 1, 128);  // expect stored_from_the_middle: misaligned access
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void stored_to_the_middle(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out + 3, tile, 128);  // expect stored_to_the_middle: misaligned access
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void by_cuda_ptx(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 128);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in + 2, 128, &bar);  // expect by_cuda_ptx: misaligned access
    }
    MBARRIER_WAIT(&bar, 0);
}

// ---- bounds ----

__global__ void source_too_short(float *in, float *out)  // 600 numbers are no multiple of 64
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    for (int i = 0; i * TILE < NUMBERS; i++) {
        if (threadIdx.x == 0) {
            MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
            BULK_LOAD(tile, in + i * TILE, BYTES, &bar);  // expect source_too_short: out of bounds
        }
        MBARRIER_WAIT(&bar, i % 2);
        __syncthreads();
    }
}

__global__ void source_before_the_first(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in - 4, BYTES, &bar);  // expect source_before_the_first: out of bounds
    }
    MBARRIER_WAIT(&bar, 0);
}

__global__ void target_too_small(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, 2 * BYTES);
        BULK_LOAD(tile, in, 2 * BYTES, &bar);  // expect target_too_small: out of bounds
    }
    MBARRIER_WAIT(&bar, 0);
}

__global__ void target_in_the_next_array(float *in, float *out)  // which is there, and large enough
{
    __shared__ alignas(16) float k[2][TILE], v[2][TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    k[0][threadIdx.x] = v[0][threadIdx.x] = 0;
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, 2 * BYTES);
        BULK_LOAD(k[1], in, 2 * BYTES, &bar);  // expect target_in_the_next_array: out of bounds
    }
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = k[1][threadIdx.x] + v[1][threadIdx.x];
}

__global__ void one_stage_too_many(float *in, float *out)
{
    __shared__ alignas(16) float tile[3][TILE];
    __shared__ uint64_t full[4];
    SET_UP(full, 1);
    if (threadIdx.x == 0)
        for (int i = 0; i <= 3; i++) {
            MBARRIER_ARRIVE_EXPECT(&full[i], BYTES);
            BULK_LOAD(tile[i], in + i * TILE, BYTES, &full[i]);  // expect one_stage_too_many: out of bounds
        }
    for (int i = 0; i < 4; i++)
        MBARRIER_WAIT(&full[i], 0);
}

__global__ void dynamic_too_small(float *in, float *out)
{
    extern __shared__ __align__(16) float dynamic[];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES + 16);
        BULK_LOAD(dynamic, in, BYTES + 16, &bar);  // expect dynamic_too_small: out of bounds
    }
    MBARRIER_WAIT(&bar, 0);
}

__global__ void stored_beyond(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    for (int i = 0; i * TILE < NUMBERS; i++) {
        tile[threadIdx.x] = i;
        FENCE_ASYNC_SHARED();
        __syncthreads();
        if (threadIdx.x == 0) {
            BULK_STORE(out + i * TILE, tile, BYTES);  // expect stored_beyond: out of bounds
            BULK_COMMIT();
            BULK_WAIT_READ(0);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        BULK_WAIT(0);
}

__global__ void stored_from_beyond(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile + 32, BYTES);  // expect stored_from_beyond: out of bounds
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void added_beyond(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = 1;
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_ADD("f32", in + NUMBERS - 32, tile, BYTES);  // expect added_beyond: out of bounds
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void __cluster_dims__(1) moved_beyond(float *in, float *out)
{
    __shared__ alignas(16) float from[TILE], to[32];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    from[threadIdx.x] = 1;
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_MOVE(to, from, BYTES, &bar);  // expect moved_beyond: out of bounds
    }
    MBARRIER_WAIT(&bar, 0);
}

__global__ void by_cde(float *in, float *out)
{
    __shared__ alignas(16) float tile[32];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    if (threadIdx.x == 0)
        cde::cp_async_bulk_global_to_shared(tile, in, BYTES, bar);  // expect by_cde: out of bounds
}

// ---- spaces and states ----

__global__ void from_shared_memory(float *in, float *out)  // by the form that reads global memory
{
    __shared__ alignas(16) float tile[TILE], other[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    tile[threadIdx.x] = 1;
    FENCE_ASYNC();
    __syncthreads();
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(other, tile, BYTES, &bar);  // expect from_shared_memory: wrong memory space
    }
    MBARRIER_WAIT(&bar, 0);
}

__constant__ __align__(16) float table[TILE];

__global__ void from_constant_memory(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, table, BYTES, &bar);  // expect from_constant_memory: wrong memory space
    }
    MBARRIER_WAIT(&bar, 0);
}

__global__ void from_the_stack(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    alignas(16) float own[4] = {in[0], in[1], in[2], in[3]};
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, 16);
        BULK_LOAD(tile, own, 16, &bar);  // expect from_the_stack: wrong memory space
    }
    MBARRIER_WAIT(&bar, 0);
}

__global__ void stored_to_shared_memory(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE], other[TILE];
    tile[threadIdx.x] = 1;
    FENCE_ASYNC();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(other, tile, BYTES);  // expect stored_to_shared_memory: wrong memory space
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void of_the_host(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, out, BYTES, &bar);  // expect of_the_host: host pointer in a kernel
    }
    MBARRIER_WAIT(&bar, 0);
}

__global__ void freed(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);  // expect freed: use after free
    }
    MBARRIER_WAIT(&bar, 0);
}

__global__ void stored_to_freed(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = 1;
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(in, tile, BYTES);  // expect stored_to_freed: use after free
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void never_written(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, out, BYTES, &bar);  // expect never_written: uninitialised global memory
    }
    MBARRIER_WAIT(&bar, 0);
}

__global__ void sum_onto_nothing(float *in, float *out)  // a reduction reads its target
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = 1;
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_ADD("f32", out, tile, BYTES);  // expect sum_onto_nothing: uninitialised global memory
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void rest_of_the_tile(float *in, float *out)  // which the copy did not reach
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES / 2);
        BULK_LOAD(tile, in, BYTES / 2, &bar);
    }
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[threadIdx.x];  // expect rest_of_the_tile: uninitialised shared memory
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    static float numbers[NUMBERS];
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = i;
    float *in, *out;
    cudaMalloc(&in, sizeof numbers);
    cudaMalloc(&out, sizeof numbers);
    cudaMemcpy(in, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    if (strstr(name, "freed"))
        cudaFree(in);
    struct {
        const char *name;
        void (*kernel)(float *, float *);
    } kernels[] = {
#define KERNEL(NAME) {#NAME, NAME}
        KERNEL(of_24_bytes),
        KERNEL(of_four_bytes),
        KERNEL(of_what_is_left),
        KERNEL(adds_nine_floats),
        KERNEL(prefetches_twenty_bytes),
        KERNEL(second_row),
        KERNEL(target_of_eight),
        KERNEL(padded_rows),
        KERNEL(stored_from_the_middle),
        KERNEL(stored_to_the_middle),
        KERNEL(by_cuda_ptx),
        KERNEL(source_too_short),
        KERNEL(source_before_the_first),
        KERNEL(target_too_small),
        KERNEL(target_in_the_next_array),
        KERNEL(one_stage_too_many),
        KERNEL(dynamic_too_small),
        KERNEL(stored_beyond),
        KERNEL(stored_from_beyond),
        KERNEL(added_beyond),
        KERNEL(moved_beyond),
        KERNEL(by_cde),
        KERNEL(from_shared_memory),
        KERNEL(from_constant_memory),
        KERNEL(from_the_stack),
        KERNEL(stored_to_shared_memory),
        KERNEL(of_the_host),
        KERNEL(freed),
        KERNEL(stored_to_freed),
        KERNEL(never_written),
        KERNEL(sum_onto_nothing),
        KERNEL(rest_of_the_tile),
    };
    for (auto k : kernels)
        if (strcmp(name, k.name) == 0)
            k.kernel<<<1, 64, BYTES>>>(in, strcmp(name, "of_the_host") == 0 ? numbers : out);
    return cudaDeviceSynchronize();
}

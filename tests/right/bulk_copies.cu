// Bulk copies between global and shared memory, of every size and from every kind of thread, with the fence on the writer's
// side or on the issuer's: none of it is a fault.

#include <cuda_pipeline.h>
#include "../hopper.h"
#include "right.h"

#define TILE 256
#define BYTES (TILE * 4)

__global__ void loaded(const float *in, float *out, int bytes)  // into dynamic shared memory; all wait
{
    extern __shared__ __align__(16) float dynamic[];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, bytes);
        BULK_LOAD(dynamic, in, bytes, &bar);
    }
    MBARRIER_WAIT(&bar, 0);
    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x)
        out[i] = dynamic[i] + 1;
}

__global__ void loaded_and_stored(const float *in, float *out, int tiles)  // no thread touches the data
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    if (threadIdx.x == 0) {
        MBARRIER_INIT(&bar, 1);
        FENCE_ASYNC_SHARED();
        for (int i = 0; i < tiles; i++) {
            MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
            BULK_LOAD(tile, in + i * TILE, BYTES, &bar);
            MBARRIER_WAIT(&bar, i % 2);
            BULK_STORE(out + i * TILE, tile, BYTES);
            BULK_COMMIT();
            BULK_WAIT_READ(0);
        }
        BULK_WAIT(0);
    }
}

__global__ void fence_of_the_writers(const float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i] = 2 * in[i];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);
        BULK_COMMIT();
        BULK_WAIT_READ(0);
    }
}

__global__ void fence_of_the_issuer(const float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i] = 2 * in[i];
    __syncthreads();
    if (threadIdx.x == 40) {
        FENCE_ASYNC();
        BULK_STORE(out, tile, BYTES);
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void fence_in_between(const float *in, float *out)  // by a thread through which the order goes
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t written, fenced;
    SET_UP(written, 64);
    SET_UP(fenced, 1);
    if (threadIdx.x < 64) {
        for (int i = threadIdx.x; i < TILE; i += 64)
            tile[i] = 2 * in[i];
        MBARRIER_ARRIVE(&written);
    } else if (threadIdx.x == 64) {
        MBARRIER_WAIT(&written, 0);
        FENCE_ASYNC_SHARED();
        MBARRIER_ARRIVE(&fenced);
    } else if (threadIdx.x == 96) {
        MBARRIER_WAIT(&fenced, 0);
        BULK_STORE(out, tile, BYTES);
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void warp_of_its_own(const float *in, float *out)  // __syncwarp orders, each lane fences
{
    __shared__ alignas(16) float tile[4][64];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int i = lane; i < 64; i += 32)
        tile[warp][i] = 2 * in[warp * 64 + i];
    FENCE_ASYNC_SHARED();
    __syncwarp();
    if (lane == 0) {
        BULK_STORE(out + warp * 64, tile[warp], 256);
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void named_barriers(const float *in, float *out)  // three warps compute, the fourth stores
{
    __shared__ alignas(16) float tile[96];
    if (threadIdx.x < 96) {
        tile[threadIdx.x] = 2 * in[threadIdx.x];
        FENCE_ASYNC_SHARED();
        asm volatile("bar.arrive 1, 128;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 128;" ::: "memory");
        if (threadIdx.x == 96) {
            BULK_STORE(out, tile, 384);
            BULK_COMMIT();
            BULK_WAIT(0);
        }
    }
}

__global__ void several_to_one_barrier(const float *in, float *out)  // issued by one thread, and by all
{
    __shared__ alignas(16) float a[TILE], b[128];
    __shared__ uint64_t bar;
    SET_UP(bar, blockDim.x);
    if (threadIdx.x == 0) {
        MBARRIER_EXPECT(&bar, BYTES);
        for (int i = 0; i < TILE; i += 64)
            BULK_LOAD(a + i, in + i, 256, &bar);
    }
    if (threadIdx.x < 32)
        BULK_LOAD(b + 4 * threadIdx.x, in + TILE + 4 * threadIdx.x, 16, &bar);
    MBARRIER_ARRIVE_EXPECT(&bar, threadIdx.x < 32 ? 16 : 0);
    MBARRIER_WAIT(&bar, 0);
    for (int i = threadIdx.x; i < TILE + 128; i += blockDim.x)
        out[i] = 2 * (i < TILE ? a[i] : b[i - TILE]);
}

__global__ void one_thread_waits(const float *in, float *out)  // and tells the others by a barrier
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);
    }
    if (threadIdx.x == 50)
        MBARRIER_WAIT(&bar, 0);
    __syncthreads();
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        out[i] = 2 * tile[TILE - 1 - i];
}

__global__ void __cluster_dims__(1) moved(const float *in,
                                          float *out)  // within shared memory, which is for clusters alone
{
    __shared__ alignas(16) float from[TILE], to[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        from[i] = 2 * in[i];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_MOVE(to, from, BYTES, &bar);
    }
    MBARRIER_WAIT(&bar, 0);
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        out[i] = to[i];
}

__global__ void prefetched(const float *in, float *out, int n)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    for (int i = 0; i < n / TILE; i++) {
        if (threadIdx.x == 0) {
            if ((i + 1) * TILE < n)
                BULK_PREFETCH(in + (i + 1) * TILE, BYTES);
            MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
            BULK_LOAD(tile, in + i * TILE, BYTES, &bar);
        }
        MBARRIER_WAIT(&bar, i % 2);
        for (int k = threadIdx.x; k < TILE; k += blockDim.x)
            out[i * TILE + k] = 2 * tile[k];
        __syncthreads();
    }
}

__global__ void beside_small_copies(const float *in, float *out)  // cp.async fills one half, a bulk copy the other
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES / 2);
        BULK_LOAD(tile, in, BYTES / 2, &bar);
    }
    if (threadIdx.x < 32)
        __pipeline_memcpy_async(&tile[TILE / 2 + 4 * threadIdx.x], &in[TILE / 2 + 4 * threadIdx.x], 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    MBARRIER_WAIT(&bar, 0);
    __syncthreads();
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        out[i] = 2 * tile[i];
}

__global__ void small_copies_stored(const float *in,
                                    float *out)  // what cp.async wrote is read by a bulk copy behind a fence
{
    __shared__ alignas(16) float tile[TILE];
    if (threadIdx.x < TILE / 4)
        __pipeline_memcpy_async(&tile[4 * threadIdx.x], &in[4 * threadIdx.x], 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void scaled_in_place(const float *in,
                                float *out)  // read by threads, written by them, loaded over: a fence, once
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    for (int i = 0; i < 3; i++) {
        if (threadIdx.x == 0) {
            MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
            BULK_LOAD(tile, in + i * TILE, BYTES, &bar);
        }
        MBARRIER_WAIT(&bar, i % 2);
        for (int k = threadIdx.x; k < TILE; k += blockDim.x)
            tile[k] *= 2;
        FENCE_ASYNC_SHARED();
        __syncthreads();
        for (int k = threadIdx.x; k < TILE; k += blockDim.x)
            out[i * TILE + k] = tile[TILE - 1 - k];
        __syncthreads();
    }
}

__global__ void only_read(const float *in, float *out)  // so that a barrier is enough before the next load
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    float sum = 0;
    for (int i = 0; i < 5; i++) {
        if (threadIdx.x == 0) {
            MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
            BULK_LOAD(tile, in + i * TILE, BYTES, &bar);
        }
        MBARRIER_WAIT(&bar, i % 2);
        sum += tile[threadIdx.x];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}

__global__ void unwritten_rows(const float *in, float *out, int rows)  // are carried along, and dropped
{
    __shared__ alignas(16) float tile[TILE];
    if ((int)threadIdx.x < rows)
        tile[threadIdx.x] = 2 * in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void own_result(const float *in, float *out)  // read back by the issuer, then by all
{
    __shared__ alignas(16) float tile[TILE];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i] = in[i];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);
        BULK_COMMIT();
        BULK_WAIT(0);
        out[0] *= 2;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        if (i > 0)
            out[i] += out[i];
}

__global__ void global_in_between(const float *in, float *out,
                                  float *scratch)  // threads write, a bulk copy reads: a fence of it
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        scratch[i] = 2 * in[i];
    FENCE_ASYNC_GLOBAL();
    __syncthreads();
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, scratch, BYTES, &bar);
    }
    MBARRIER_WAIT(&bar, 0);
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        out[i] = tile[i];
}

__global__ void flag_to_another_block(const float *in, float *out, int *flag)  // store, wait, flag; flag, load
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (blockIdx.x == 0) {
        for (int i = threadIdx.x; i < TILE; i += blockDim.x)
            tile[i] = 2 * in[i];
        FENCE_ASYNC_SHARED();
        __syncthreads();
        if (threadIdx.x == 0) {
            BULK_STORE(out, tile, BYTES);
            BULK_COMMIT();
            BULK_WAIT(0);
            __threadfence();
            atomicExch(flag, 1);
        }
    } else {
        if (threadIdx.x == 0) {
            while (atomicAdd(flag, 0) == 0)
                ;
            __threadfence();
            MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
            BULK_LOAD(tile, out, BYTES, &bar);
        }
        MBARRIER_WAIT(&bar, 0);
        for (int i = threadIdx.x; i < TILE; i += blockDim.x)
            out[TILE + i] = tile[i];
    }
}

__global__ void written_for_another_block(const float *in, float *out, float *scratch,
                                          int *flag)  // by threads, with a fence at its reader
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (blockIdx.x == 0) {
        for (int i = threadIdx.x; i < TILE; i += blockDim.x)
            scratch[i] = 2 * in[i];
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicExch(flag, 1);
        }
    } else {
        if (threadIdx.x == 0) {
            while (atomicAdd(flag, 0) == 0)
                ;
            __threadfence();
            FENCE_ASYNC();
            MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
            BULK_LOAD(tile, scratch, BYTES, &bar);
        }
        MBARRIER_WAIT(&bar, 0);
        for (int i = threadIdx.x; i < TILE; i += blockDim.x)
            out[i] = tile[i];
    }
}

__global__ void fenced_for_another_block(const float *in, float *out, float *scratch, int *flag)  // by its writers
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (blockIdx.x == 0) {
        for (int i = threadIdx.x; i < TILE; i += blockDim.x)
            scratch[i] = 2 * in[i];
        FENCE_ASYNC_GLOBAL();
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicExch(flag, 1);
        }
    } else {
        if (threadIdx.x == 0) {
            while (atomicAdd(flag, 0) == 0)
                ;
            __threadfence();
            MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
            BULK_LOAD(tile, scratch, BYTES, &bar);
        }
        MBARRIER_WAIT(&bar, 0);
        for (int i = threadIdx.x; i < TILE; i += blockDim.x)
            out[i] = tile[i];
    }
}

__global__ void doubled(const float *in, float *out)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = 2 * in[blockIdx.x * blockDim.x + threadIdx.x];
}

static void expect_doubled(const char *name, const float *in, float *out, int n, bool reversed = false)
{
    float *got = to_host(out, n);
    for (int i = 0; i < n; i++) {
        int from = reversed ? i / TILE * TILE + TILE - 1 - i % TILE : i;
        if (got[i] != 2 * in[from]) {
            printf("%s: element %d is %g, not %g\n", name, i, got[i], 2 * in[from]);
            exit(1);
        }
    }
    free(got);
    CHECK(cudaMemset(out, 0, n * sizeof(float)));
}

int main(void)
{
    const int n = 8 * TILE;
    float *x = numbers(n, 1), *in = to_device(x, n), *out = to_device<float>(NULL, n),
          *scratch = to_device<float>(NULL, n);
    int *flags = to_device<int>(NULL, 3);
    CHECK(cudaMemset(out, 0, n * sizeof(float)));
    CHECK(cudaMemset(flags, 0, 3 * sizeof(int)));

    for (int bytes : {16, 32, 48, 1008, 1024, 4096, 8192}) {
        loaded<<<1, 96, bytes>>>(in, out, bytes);
        float *got = to_host(out, bytes / 4);
        for (int i = 0; i < bytes / 4; i++)
            SAME(got[i], x[i] + 1);
    }
    loaded_and_stored<<<1, 32>>>(in, out, 8);
    float *got = to_host(out, n);
    for (int i = 0; i < n; i++)
        SAME(got[i], x[i]);

#define DOUBLED(NAME, N, BLOCKS, THREADS, ...) \
    NAME<<<BLOCKS, THREADS>>>(in, out, ##__VA_ARGS__); \
    expect_doubled(#NAME, x, out, N)
    DOUBLED(fence_of_the_writers, TILE, 1, 64);
    DOUBLED(fence_of_the_issuer, TILE, 1, 64);
    DOUBLED(fence_in_between, TILE, 1, 128);
    DOUBLED(warp_of_its_own, TILE, 1, 128);
    DOUBLED(named_barriers, 96, 1, 128);
    DOUBLED(several_to_one_barrier, TILE + 128, 1, 64);
    DOUBLED(moved, TILE, 1, 64);
    DOUBLED(prefetched, n, 1, 64, n);
    DOUBLED(beside_small_copies, TILE, 1, 64);
    small_copies_stored<<<1, 64>>>(in, out);
    got = to_host(out, TILE);
    for (int i = 0; i < TILE; i++)
        SAME(got[i], x[i]);
    DOUBLED(unwritten_rows, 48, 1, 64, 48);
    DOUBLED(own_result, TILE, 1, 64);
    DOUBLED(global_in_between, TILE, 1, 64, scratch);
    DOUBLED(written_for_another_block, TILE, 2, 64, scratch, flags);
    DOUBLED(fenced_for_another_block, TILE, 2, 64, scratch, flags + 2);
    one_thread_waits<<<1, 64>>>(in, out);
    expect_doubled("one_thread_waits", x, out, TILE, true);
    scaled_in_place<<<1, 64>>>(in, out);
    expect_doubled("scaled_in_place", x, out, 3 * TILE, true);
    only_read<<<1, 64>>>(in, out);
    got = to_host(out, 64);
    for (int i = 0; i < 64; i++)
        SAME(got[i], x[i] + x[TILE + i] + x[2 * TILE + i] + x[3 * TILE + i] + x[4 * TILE + i]);
    flag_to_another_block<<<2, 64>>>(in, out, flags + 1);
    got = to_host(out, 2 * TILE);
    for (int i = 0; i < 2 * TILE; i++)
        SAME(got[i], 2 * x[i % TILE]);

    doubled<<<n / 64, 64>>>(in, scratch);  // the end of a kernel is fence enough
    loaded_and_stored<<<1, 32>>>(scratch, out, 8);
    doubled<<<n / 64, 64>>>(out, scratch);
    got = to_host(scratch, n);
    for (int i = 0; i < n; i++)
        SAME(got[i], 4 * x[i]);
    return 0;
}

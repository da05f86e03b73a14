// Forms of bulk copies and of mbarriers whose modifiers or operands promise too much. The first argument picks the kernel; a
// comment `expect NAME: KIND` marks a line that the report on it must name.

#include <cuda/ptx>
#include <stdio.h>
#include <string.h>

namespace ptx = cuda::ptx;

enum { N = 64 };

#define MULTICAST(BLOCKS) \
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in, sizeof tile, &bar, (uint16_t)(BLOCKS))
#define EXPECT() ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, sizeof tile)
#define WAIT() \
    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) \
        ;

__device__ void begin(uint64_t *bar, int arrivals)
{
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(bar, arrivals);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
}

__global__ void to_a_second_block(float *in, float *out)  // of a cluster of one
{
    __shared__ alignas(16) float tile[N];
    __shared__ uint64_t bar;
    begin(&bar, 1);
    if (threadIdx.x == 0) {
        EXPECT();
        MULTICAST(3);  // expect to_a_second_block: invalid copy, in 0x3
    }
    WAIT();
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void to_no_block(float *in, float *out)
{
    __shared__ alignas(16) float tile[N];
    __shared__ uint64_t bar;
    begin(&bar, 1);
    if (threadIdx.x == 0) {
        EXPECT();
        MULTICAST(0);
    }
    WAIT();  // expect to_no_block: barrier deadlock, in bytes
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void within_a_block(float *in, float *out)  // that is in no cluster
{
    __shared__ alignas(16) float tile[N], other[N];
    __shared__ uint64_t bar;
    begin(&bar, 1);
    tile[threadIdx.x] = in[threadIdx.x];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        EXPECT();
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, other, tile, 256, &bar);  // expect within_a_block: invalid copy
    }
    WAIT();
    out[threadIdx.x] = other[threadIdx.x];
}

__global__ void added_within_a_block(unsigned *in, unsigned *out)
{
    __shared__ alignas(16) unsigned tile[N], other[N];
    __shared__ uint64_t bar;
    begin(&bar, 1);
    tile[threadIdx.x] = other[threadIdx.x] = in[threadIdx.x];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        EXPECT();
        ptx::cp_reduce_async_bulk(ptx::space_cluster, ptx::space_shared, ptx::op_add, other, tile, 256, &bar);  // expect added_within_a_block: invalid copy
    }
    WAIT();
    out[threadIdx.x] = other[threadIdx.x];
}

__global__ void arrives_relaxed(float *in, float *out)
{
    __shared__ float tile[N];
    __shared__ uint64_t bar;
    begin(&bar, blockDim.x);
    tile[threadIdx.x] = in[threadIdx.x];  // expect arrives_relaxed: race in shared memory
    ptx::mbarrier_arrive(ptx::sem_relaxed, ptx::scope_cta, ptx::space_shared, &bar);
    WAIT();
    out[threadIdx.x] = tile[63 - threadIdx.x];  // expect arrives_relaxed: race in shared memory
}

__global__ void waits_relaxed(float *in, float *out)
{
    __shared__ float tile[N];
    __shared__ uint64_t bar;
    begin(&bar, blockDim.x);
    tile[threadIdx.x] = in[threadIdx.x];  // expect waits_relaxed: race in shared memory
    ptx::mbarrier_arrive(&bar);
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_relaxed, ptx::scope_cta, &bar, 0))
        ;
    out[threadIdx.x] = tile[63 - threadIdx.x];  // expect waits_relaxed: race in shared memory
}

__global__ void beyond_shared_memory(float *in, float *out)
{
    __shared__ uint64_t bar;
    begin(&bar, 1);
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, out, in, 256, &bar);  // expect beyond_shared_memory: out of bounds
    }
}

__global__ void barrier_in_global_memory(float *in, float *out)
{
    __shared__ alignas(16) float tile[N];
    if (threadIdx.x == 0) {
        uint64_t *bar = (uint64_t *)out;
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in, 256, bar);  // expect barrier_in_global_memory: out of bounds
    }
}

__global__ void of_a_second_block(float *in, float *out)
{
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(0), "r"(1));  // expect of_a_second_block: invalid rank
    out[threadIdx.x] = there;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    float *in, *out;
    cudaMalloc(&in, N * sizeof *in);
    cudaMalloc(&out, N * sizeof *out);
    cudaMemset(in, 0, N * sizeof *in);
    struct {
        const char *name;
        void (*kernel)(float *, float *);
    } kernels[] = {
#define KERNEL(NAME) {#NAME, NAME}
        KERNEL(to_a_second_block),
        KERNEL(to_no_block),
        KERNEL(arrives_relaxed),
        KERNEL(waits_relaxed),
        KERNEL(beyond_shared_memory),
        KERNEL(barrier_in_global_memory),
        KERNEL(of_a_second_block),
        KERNEL(within_a_block),
    };
    for (auto k : kernels)
        if (strcmp(name, k.name) == 0)
            k.kernel<<<1, N>>>(in, out);
    if (strcmp(name, "added_within_a_block") == 0)
        added_within_a_block<<<1, N>>>((unsigned *)in, (unsigned *)out);
    return cudaDeviceSynchronize();
}

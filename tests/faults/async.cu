// Asynchronous copies that nobody waits for as he should, or that may not be. The first argument picks the kernel; a
// comment `expect NAME: KIND` marks a line that the report on it must name. tests/right/async.cu has the right ways.

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
#include <stdio.h>
#include <string.h>

namespace cg = cooperative_groups;

__global__ void no_wait(float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = -1;
    __pipeline_memcpy_async(&tile[t], &in[t], 4);  // expect no_wait: copy still in flight
    __pipeline_commit();
    out[t] = tile[t];  // expect no_wait: copy still in flight
}

__global__ void one_group_too_few(float *in, float *out)
{
    __shared__ float tile[2][64];
    int t = threadIdx.x;
    float sum = 0;
    __pipeline_memcpy_async(&tile[0][t], &in[t], 4);
    __pipeline_commit();
    for (int i = 0; i < 3; i++) {
        if (i < 2) {
            __pipeline_memcpy_async(&tile[(i + 1) % 2][t], &in[64 * i + t], 4);  // expect one_group_too_few: copy still in flight
            __pipeline_commit();
        }
        __pipeline_wait_prior(1);  // expect one_group_too_few: copy still in flight
        __syncthreads();
        sum += tile[i % 2][63 - t];  // expect one_group_too_few: copy still in flight
        __syncthreads();
    }
    out[t] = sum;
}

__global__ void not_committed(float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &in[t], 4);  // expect not_committed: copy still in flight
    __pipeline_wait_prior(0);                      // expect not_committed: copy still in flight
    out[t] = tile[t];                              // expect not_committed: copy still in flight
}

__global__ void left_without_wait(float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &in[t], 4);  // expect left_without_wait: copy still in flight
    if (t >= 32)
        return;
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[t] = tile[t + 32];  // expect left_without_wait: copy still in flight
}

__global__ void source_overwritten(float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &in[t], 4);  // expect source_overwritten: source overwritten in flight
    __pipeline_commit();
    in[t] = 2;                 // expect source_overwritten: source overwritten in flight
    __pipeline_wait_prior(0);  // expect source_overwritten: source overwritten in flight
    out[t] = tile[t];
}

__global__ void source_of_another(float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &in[t], 4);  // expect source_of_another: source overwritten in flight
    __pipeline_commit();
    __syncthreads();
    in[63 - t] = 2;  // expect source_of_another: source overwritten in flight
    __syncthreads();
    __pipeline_wait_prior(0);  // expect source_of_another: source overwritten in flight
    out[t] = tile[t];
}

__global__ void target_overwritten(float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &in[t], 4);  // expect target_overwritten: target overwritten in flight
    __pipeline_commit();
    tile[t] = 2;  // expect target_overwritten: target overwritten in flight
    __pipeline_wait_prior(0);
    out[t] = tile[t];
}

__global__ void two_to_one_place(float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &in[t], 4);       // expect two_to_one_place: target overwritten in flight
    __pipeline_memcpy_async(&tile[t], &in[t + 64], 4);  // expect two_to_one_place: target overwritten in flight
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[t] = tile[t];
}

__global__ void wait_without_barrier(float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &in[t], 4);  // expect wait_without_barrier: race in shared memory
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[t] = tile[63 - t];  // expect wait_without_barrier: race in shared memory
}

__global__ void refill_while_read(float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    float sum = 0;
    for (int i = 0; i < 3; i++) {
        __pipeline_memcpy_async(&tile[t], &in[64 * i + t], 4);  // expect refill_while_read: race in shared memory
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        sum += tile[63 - t];  // expect refill_while_read: race in shared memory
    }
    out[t] = sum;
}

__global__ void misaligned_source(float *in, float *out)
{
    __shared__ alignas(16) float tile[64];
    __pipeline_memcpy_async(tile, in + 2, 16);  // expect misaligned_source: misaligned access
}

__global__ void misaligned_target(float *in, float *out)
{
    __shared__ alignas(16) float tile[64];
    __pipeline_memcpy_async(tile + 2, in, 16);  // expect misaligned_target: misaligned access
}

__global__ void beyond_source(float *in, float *out)
{
    __shared__ alignas(16) float tile[64];
    int last = 198;                                            // which is 792 bytes, of 800
    __pipeline_memcpy_async(tile, in + last / 4 * 4 + 4, 16);  // expect beyond_source: out of bounds
}

__global__ void beyond_target(float *in, float *out)
{
    __shared__ alignas(16) float tile[64];
    __pipeline_memcpy_async(tile + 64, in, 16);  // expect beyond_target: out of bounds
}

__global__ void host_source(float *in, float *out)
{
    __shared__ float tile[64];
    __pipeline_memcpy_async(tile, out, 4);  // expect host_source: host pointer in a kernel
}

__global__ void from_shared(float *in, float *out)
{
    __shared__ float tile[64];
    tile[0] = 1;
    __pipeline_memcpy_async(tile + 32, tile, 4);  // expect from_shared: wrong memory space
}

__global__ void of_three_bytes(float *in, float *out)
{
    __shared__ float tile[64];
    __pipeline_memcpy_async(tile, in, 3);  // expect of_three_bytes: invalid copy
}

__global__ void group_without_wait(float *in, float *out)
{
    __shared__ alignas(16) float tile[64];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, tile, in, sizeof tile);  // expect group_without_wait: copy still in flight
    block.sync();
    out[threadIdx.x] = tile[threadIdx.x];  // expect group_without_wait: copy still in flight
}

__global__ void group_waits_too_little(float *in, float *out)
{
    __shared__ alignas(16) float tile[2][64];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, tile[0], in, sizeof tile[0]);
    cg::memcpy_async(block, tile[1], in + 64, sizeof tile[1]);  // expect group_waits_too_little: copy still in flight
    cg::wait_prior<1>(block);                                   // expect group_waits_too_little: copy still in flight
    out[threadIdx.x] = tile[1][threadIdx.x];                    // expect group_waits_too_little: copy still in flight
}

__global__ void pipeline_without_wait(float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    auto pipe = cuda::make_pipeline();
    pipe.producer_acquire();
    cuda::memcpy_async(&tile[t], &in[t], sizeof(float), pipe);  // expect pipeline_without_wait: copy still in flight
    pipe.producer_commit();
    out[t] = tile[t];  // expect pipeline_without_wait: copy still in flight
}

__global__ void shared_pipeline_without_wait(float *in, float *out)
{
    __shared__ float tile[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    pipe.producer_acquire();
    cuda::memcpy_async(block, tile[0], in, sizeof tile[0], pipe);  // expect shared_pipeline_without_wait: copy still in flight
    pipe.producer_commit();
    block.sync();
    out[threadIdx.x] = tile[0][threadIdx.x];  // expect shared_pipeline_without_wait: copy still in flight
}

__global__ void shared_pipeline_without_acquire(float *in, float *out)
{
    __shared__ float tile[64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    float sum = 0;
    for (int i = 0; i < 3; i++) {
        cuda::memcpy_async(block, tile, in + 64 * i, sizeof tile, pipe);  // expect shared_pipeline_without_acquire: copy still in flight
        pipe.producer_commit();
        pipe.consumer_wait();
        sum += tile[63 - threadIdx.x];  // expect shared_pipeline_without_acquire: copy still in flight
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}

__global__ void barrier_without_wait(float *in, float *out)
{
    __shared__ float tile[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    auto block = cg::this_thread_block();
    if (threadIdx.x == 0)
        init(&bar, blockDim.x);
    block.sync();
    cuda::memcpy_async(block, tile, in, sizeof tile, bar);  // expect barrier_without_wait: copy still in flight
    (void)bar.arrive();
    block.sync();
    out[threadIdx.x] = tile[threadIdx.x];  // expect barrier_without_wait: copy still in flight
}

__global__ void one_waits_for_all(float *in, float *out)
{
    __shared__ float tile[64];
    __shared__ __mbarrier_t bar;
    int t = threadIdx.x;
    if (t == 0)
        __mbarrier_init(&bar, blockDim.x);
    __syncthreads();
    __pipeline_memcpy_async(&tile[t], &in[t], 4);  // expect one_waits_for_all: race in shared memory
    __pipeline_arrive_on(&bar);
    __mbarrier_token_t token = __mbarrier_arrive(&bar);
    __syncthreads();
    while (t == 62 && !__mbarrier_test_wait(&bar, token)) {
    }
    out[t] = tile[t ^ 1];  // expect one_waits_for_all: race in shared memory
}

__global__ void uninitialised_source(float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &out[t], 4);  // expect uninitialised_source: uninitialised global memory
    __pipeline_commit();
    __pipeline_wait_prior(0);
    in[t] = tile[t];
}

__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__global__ void ptx_without_wait(float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    unsigned to = shared_address(&tile[t]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(&in[t]));  // expect ptx_without_wait: copy still in flight
    asm volatile("cp.async.commit_group;");
    __syncthreads();
    out[t] = tile[t];  // expect ptx_without_wait: copy still in flight
}

__global__ void ptx_reads_in_flight(float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    float x;
    unsigned to = shared_address(&tile[t]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(&in[t]));  // expect ptx_reads_in_flight: copy still in flight
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(to));                      // expect ptx_reads_in_flight: copy still in flight
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[t] = x;
}

__global__ void ptx_one_group_too_few(float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    unsigned to = shared_address(&tile[t]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(&in[t]));  // expect ptx_one_group_too_few: copy still in flight
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 2;" ::: "memory");  // expect ptx_one_group_too_few: copy still in flight
    out[t] = tile[t];                                     // expect ptx_one_group_too_few: copy still in flight
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    static float numbers[200];
    for (int i = 0; i < 200; i++)
        numbers[i] = i;
    float *in, *out;
    cudaMalloc(&in, sizeof numbers);
    cudaMalloc(&out, sizeof numbers);
    cudaMemcpy(in, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    struct {
        const char *name;
        void (*kernel)(float *, float *);
    } kernels[] = {
#define KERNEL(NAME) {#NAME, NAME}
        KERNEL(no_wait),
        KERNEL(one_group_too_few),
        KERNEL(not_committed),
        KERNEL(left_without_wait),
        KERNEL(source_overwritten),
        KERNEL(source_of_another),
        KERNEL(target_overwritten),
        KERNEL(two_to_one_place),
        KERNEL(wait_without_barrier),
        KERNEL(refill_while_read),
        KERNEL(misaligned_source),
        KERNEL(misaligned_target),
        KERNEL(beyond_source),
        KERNEL(beyond_target),
        KERNEL(from_shared),
        KERNEL(of_three_bytes),
        KERNEL(group_without_wait),
        KERNEL(group_waits_too_little),
        KERNEL(pipeline_without_wait),
        KERNEL(shared_pipeline_without_wait),
        KERNEL(shared_pipeline_without_acquire),
        KERNEL(barrier_without_wait),
        KERNEL(one_waits_for_all),
        KERNEL(uninitialised_source),
        KERNEL(ptx_without_wait),
        KERNEL(ptx_reads_in_flight),
        KERNEL(ptx_one_group_too_few),
    };
    for (auto k : kernels)
        if (strcmp(name, k.name) == 0)
            k.kernel<<<1, 64>>>(in, out);
    if (strcmp(name, "host_source") == 0)
        host_source<<<1, 64>>>(in, numbers);
    cudaError_t error = cudaDeviceSynchronize();
    cudaMemcpy(numbers, out, sizeof numbers, cudaMemcpyDeviceToHost);
    printf("%g\n", numbers[0]);
    return error;
}

// Barriers that bulk copies count on before their initialisation is made visible to the async proxy. It works on the GPUs of
// today, and is noted: the first argument picks the kernel, and a comment `noted NAME` marks a line that its note names.

#include <cuda/barrier>
#include <string.h>
#include "../hopper.h"

#define TILE 64
#define BYTES (TILE * 4)

namespace cde = cuda::device::experimental;

__global__ void no_fence(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    if (threadIdx.x == 0)
        MBARRIER_INIT(&bar, 1);  // noted no_fence
    __syncthreads();
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);  // noted no_fence
    }
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void of_one_thread(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    if (threadIdx.x == 0) {
        MBARRIER_INIT(&bar, 1);  // noted of_one_thread
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);  // noted of_one_thread
        MBARRIER_WAIT(&bar, 0);
        out[0] = tile[0];
    }
}

__global__ void fence_of_memory(float *in, float *out)
{
    __shared__ alignas(16) float tile[2][TILE];
    __shared__ uint64_t full[2];
    if (threadIdx.x < 2) {
        MBARRIER_INIT(&full[threadIdx.x], 1);  // noted fence_of_memory
        __threadfence();
    }
    __syncthreads();
    if (threadIdx.x == 32)
        for (int i = 0; i < 2; i++) {
            MBARRIER_ARRIVE_EXPECT(&full[i], BYTES);
            BULK_LOAD(tile[i], in + i * TILE, BYTES, &full[i]);  // noted fence_of_memory
        }
    for (int i = 0; i < 2; i++)
        MBARRIER_WAIT(&full[i], 0);
    out[threadIdx.x] = tile[1][threadIdx.x];
}

__global__ void fence_before_it(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    if (threadIdx.x == 0) {
        FENCE_MBARRIER_INIT();
        FENCE_ASYNC_SHARED();
        MBARRIER_INIT(&bar, 1);  // noted fence_before_it
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);  // noted fence_before_it
    }
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void by_cuda_barrier(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0)
        init(&bar, blockDim.x);  // noted by_cuda_barrier
    __syncthreads();
    cuda::barrier<cuda::thread_scope_block>::arrival_token token;
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_global_to_shared(tile, in, BYTES, bar);  // noted by_cuda_barrier
        token = cuda::device::barrier_arrive_tx(bar, 1, BYTES);
    } else {
        token = bar.arrive();
    }
    bar.wait(std::move(token));
    out[threadIdx.x] = tile[threadIdx.x];
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    static float numbers[2 * TILE];
    float *in, *out;
    cudaMalloc(&in, sizeof numbers);
    cudaMalloc(&out, sizeof numbers);
    cudaMemcpy(in, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    struct {
        const char *name;
        void (*kernel)(float *, float *);
    } kernels[] = {
#define KERNEL(NAME) {#NAME, NAME}
        KERNEL(no_fence),
        KERNEL(of_one_thread),
        KERNEL(fence_of_memory),
        KERNEL(fence_before_it),
        KERNEL(by_cuda_barrier),
    };
    for (auto k : kernels)
        if (strcmp(name, k.name) == 0)
            k.kernel<<<1, 64>>>(in, out);
    return cudaDeviceSynchronize();
}

// An mbarrier that counts bytes, too.
#include <cuda/barrier>

__global__ void load(int *out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0)
        init(&bar, 1);
    __syncthreads();
    if (threadIdx.x == 0)
        bar.wait(cuda::device::barrier_arrive_tx(bar, 1, 128));  // expect: barrier_arrive_tx
    out[threadIdx.x] = threadIdx.x;
}

int main(void)
{
    int *x;
    cudaMalloc(&x, 32 * sizeof *x);
    load<<<1, 32>>>(x);
    return cudaDeviceSynchronize();
}

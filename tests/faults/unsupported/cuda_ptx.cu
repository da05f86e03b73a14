// A function of cuda::ptx whose instruction has a form that is not known: the line is that of the call.
#include <cuda/ptx>

__device__ void see(const void *map)
{
    cuda::ptx::fence_proxy_tensormap_generic(cuda::ptx::sem_acquire, cuda::ptx::scope_gpu, map, cuda::ptx::n32_t<64>());  // expect: inline PTX `fence.proxy.tensormap::generic.acquire.gpu
}

__global__ void meet(int *out)
{
    see(out);
    out[threadIdx.x] = 1;
}

int main(void)
{
    int *x;
    cudaMalloc(&x, 32 * sizeof *x);
    meet<<<1, 32>>>(x);
    return cudaDeviceSynchronize();
}

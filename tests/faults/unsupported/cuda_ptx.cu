// A function of cuda::ptx whose instruction is not known: the line is that of the call.
#include <cuda/ptx>

__device__ void come(void)
{
    cuda::ptx::barrier_cluster_arrive();  // expect: inline PTX `barrier.cluster.arrive`: clusters are not supported
}

__global__ void meet(int *out)
{
    come();
    cuda::ptx::barrier_cluster_wait();
    out[threadIdx.x] = 1;
}

int main(void)
{
    int *x;
    cudaMalloc(&x, 32 * sizeof *x);
    meet<<<1, 32>>>(x);
    return cudaDeviceSynchronize();
}

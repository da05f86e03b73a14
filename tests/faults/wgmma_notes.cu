// Products that read what cp.async wrote, and lean on more than the PTX ISA promises. It works on an H200, and is noted: the first argument picks
// the kernel, and a comment `noted NAME` marks a line that its note names. Of two warpgroups one may not lean on the other.

#include "wgmma_operands.h"

static __device__ __forceinline__ void copy(half *to, const half *from)
{
    for (int i = threadIdx.x; i < TILE / 8; i += blockDim.x)
        CP_ASYNC(to + i * 8, from + i * 8);  // expect of_the_other_warpgroup: race in shared memory
}

__global__ void no_proxy_fence(const half *in, float *out)
{
    __shared__ alignas(1024) half A[TILE], B[TILE];
    float d[32] = {};
    copy(A, in);
    copy(B, in);
    CP_ASYNC_WAIT();
    __syncthreads();
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // noted no_proxy_fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(d);
    out[threadIdx.x] = d[0];
}

__global__ void no_barrier(const half *in, float *out)
{
    __shared__ alignas(1024) half A[TILE], B[TILE];
    float d[32] = {};
    copy(A, in);
    copy(B, in);
    CP_ASYNC_WAIT();
    FENCE_ASYNC_SHARED();
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // noted no_barrier
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(d);
    out[threadIdx.x] = d[0];
}

__global__ void of_the_other_warpgroup(const half *in, float *out)
{
    __shared__ alignas(1024) half A[TILE], B[TILE];
    float d[32] = {};
    copy(A, in);
    copy(B, in);
    CP_ASYNC_WAIT();
    FENCE_ASYNC_SHARED();
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect of_the_other_warpgroup: race in shared memory
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(d);
    out[threadIdx.x] = d[0];
}

int main(int argc, char **argv)
{
    const struct faulty kernels[] = {
        KERNEL(no_proxy_fence, 128),
        KERNEL(no_barrier, 128),
        KERNEL(of_the_other_warpgroup, 256),
    };
    return run_named(argc, argv, kernels, sizeof kernels / sizeof *kernels);
}

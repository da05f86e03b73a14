// Products that read what cp.async wrote, and lean on more than the PTX ISA promises. It works on an H200, and is noted: the first argument picks
// the kernel, and a comment `noted NAME` marks a line that its note names. Of two warpgroups one may not lean on the other.

#include <cuda_fp16.h>
#include <string.h>

#include "../wgmma.h"

#define TILE (64 * 64)
#define MULTIPLY(D, A, B) \
    WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 0, 0", D, descriptor_128(A), descriptor_128(B), 1)

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
    static const struct {
        const char *name;
        void (*kernel)(const half *, float *);
        int threads;
    } kernels[] = {{"no_proxy_fence", no_proxy_fence, 128},
                   {"no_barrier", no_barrier, 128},
                   {"of_the_other_warpgroup", of_the_other_warpgroup, 256}};
    half *in;
    float *out;
    cudaMalloc(&in, TILE * sizeof *in);
    cudaMemset(in, 0, TILE * sizeof *in);
    cudaMalloc(&out, 256 * sizeof *out);
    for (const auto &k : kernels)
        if (argc > 1 && strcmp(argv[1], k.name) == 0)
            k.kernel<<<1, k.threads>>>(in, out);
    return cudaDeviceSynchronize();
}

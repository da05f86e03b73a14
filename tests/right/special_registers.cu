// Special registers, barriers and fences in inline PTX.
#include "right.h"

#define READ(NAME) \
    ([] { \
        unsigned value; \
        asm volatile("mov.u32 %0, %%" NAME ";" : "=r"(value)); \
        return value; \
    }())

__device__ __forceinline__ unsigned lane()
{
    unsigned lane;
    asm("mov.u32 %0, %laneid;" : "=r"(lane));
    return lane;
}

__global__ void indices(int *out)
{
    unsigned thread = threadIdx.x + blockDim.x * threadIdx.y, block = blockIdx.x + gridDim.x * blockIdx.y,
             bit = thread % 32;
    bool right = READ("tid.x") == threadIdx.x && READ("tid.y") == threadIdx.y && READ("tid.z") == 0;
    right = right && READ("ntid.x") == blockDim.x && READ("ntid.y") == blockDim.y && READ("ntid.z") == 1;
    right = right && READ("ctaid.x") == blockIdx.x && READ("ctaid.y") == blockIdx.y && READ("ctaid.z") == 0;
    right = right && READ("nctaid.x") == gridDim.x && READ("nctaid.y") == gridDim.y && READ("nctaid.z") == 1;
    right = right && lane() == bit && READ("laneid") == bit && READ("warpid") < READ("nwarpid");
    right = right && READ("smid") < READ("nsmid");
    right = right && READ("lanemask_eq") == 1u << bit && READ("lanemask_lt") == (1u << bit) - 1;
    right = right && (READ("lanemask_le") ^ READ("lanemask_gt")) == ~0u && READ("lanemask_ge") == ~READ("lanemask_lt");
    out[thread + block * blockDim.x * blockDim.y] = right;
}

// The kernel's declaration says what is the default: a cluster for each block.
#if !defined __CUDA_ARCH_LIST__ || __CUDA_ARCH_LIST__ >= 900
__global__ void __cluster_dims__(1, 1, 1) __launch_bounds__(32) clusters(int *out)
{
    bool right = READ("clusterid.x") == blockIdx.x && READ("clusterid.y") == blockIdx.y && READ("clusterid.z") == 0;
    right = right && READ("nclusterid.x") == gridDim.x && READ("nclusterid.y") == gridDim.y;
    right = right && READ("nclusterid.z") == 1 && READ("cluster_ctarank") == 0 && READ("cluster_nctarank") == 1;
    right = right && !READ("cluster_ctaid.x") && !READ("cluster_ctaid.y") && !READ("cluster_ctaid.z");
    right = right && READ("cluster_nctaid.x") == 1 && READ("cluster_nctaid.y") == 1 && READ("cluster_nctaid.z") == 1;
    out[blockIdx.x + gridDim.x * blockIdx.y] = right;
}
#else
__global__ void clusters(int *out) { out[blockIdx.x + gridDim.x * blockIdx.y] = 1; }
#endif

__global__ void clocks(int *out)
{
    unsigned long long begin, end, timer;
    unsigned low;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(begin));
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(timer));
    asm volatile("mov.u32 %0, %%clock;" : "=r"(low)::"memory");
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(end)::"memory");
    *out = end >= begin && timer > 0;
}

// Two halves of the block meet at barriers of their own; then all.
__global__ void barriers(int *out)
{
    __shared__ int s[128];
    int half = threadIdx.x / 64;
    s[threadIdx.x] = threadIdx.x;
    asm volatile("bar.sync %0, %1;" ::"r"(half + 1), "r"(64) : "memory");
    int next = s[half * 64 + (threadIdx.x + 1) % 64];
    asm volatile("bar.sync 0;" ::: "memory");
    s[127 - threadIdx.x] = next;
    asm volatile("{\n\t"
                 "membar.gl;\n\t"
                 "barrier.sync 3, 128;  // all again\n\t"
                 "}" ::
                     : "memory");
    out[threadIdx.x] = s[threadIdx.x];
}

__global__ void flag(volatile int *data, volatile int *ready, int *out)
{
    if (blockIdx.x == 0) {
        *data = 7;
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
        *ready = 1;
    } else {
        while (!*ready)
            asm volatile("nanosleep.u32 20;");
        asm volatile("membar.gl;" ::: "memory");
        *out = *data;
    }
}

int main()
{
    const int N = 6 * 128;
    int *out = to_device<int>(NULL, N), zeros[3] = {0, 0, 0}, *words = to_device(zeros, 3);
    indices<<<dim3(3, 2), dim3(32, 4)>>>(out);
    int *r = to_host(out, N);
    for (int i = 0; i < N; i++)
        SAME(r[i], 1);
    clusters<<<dim3(3, 2), 1>>>(out);
    r = to_host(out, 6);
    for (int i = 0; i < 6; i++)
        SAME(r[i], 1);
    clocks<<<1, 1>>>(out);
    SAME(*to_host(out, 1), 1);
    barriers<<<1, 128>>>(out);
    r = to_host(out, 128);
    for (int i = 0; i < 128; i++) {
        int from = 127 - i, half = from / 64;
        SAME(r[i], half * 64 + (from + 1) % 64);
    }
    flag<<<2, 1>>>(words, words + 1, words + 2);
    SAME(to_host(words, 3)[2], 7);
    return 0;
}

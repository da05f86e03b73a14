// What accesses to shared memory of other blocks of a cluster count: the lines say it at their ends, of both blocks together. They go
// by sectors of 32 bytes, and are none of the own shared memory's. One launch of two blocks of two warps.

#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

constexpr int THREADS = 64;

__device__ __forceinline__ void meet()
{
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

__global__ void __cluster_dims__(2) touch(float *out)
{
    __shared__ alignas(128) float array[8 * THREADS];
    __shared__ int sum;
    int t = threadIdx.x;
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    for (int i = t; i < 8 * THREADS; i += THREADS)
        array[i] = i;  // 32 shared_st_requests, 0 dshared_st_requests
    sum = 0;
    meet();
    float *there = (float *)__cluster_map_shared_rank(array, rank ^ 1);
    float *here = (float *)__cluster_map_shared_rank(array, rank);
    int *sum_there = (int *)__cluster_map_shared_rank(&sum, rank ^ 1);
    float x = there[t];  // 4 dshared_ld_requests, 16 dshared_ld_sectors, 0 shared_ld_requests, 0 shared_ld_wavefronts
    x += there[8 * t];   // 4 dshared_ld_requests, 128 dshared_ld_sectors, 0 shared_ld_conflicts
    x += there[0];       // 4 dshared_ld_requests, 4 dshared_ld_sectors
    x += here[t];        // 0 dshared_ld_requests, 4 shared_ld_requests, 4 shared_ld_wavefronts
    atomicAdd(sum_there, 1);  // 4 dshared_atom_requests, 128 dshared_atom_sectors, 4 atomics
    atomicAdd(&sum, 1);       // 0 dshared_atom_requests, 4 atomics
    meet();
    float4 all = make_float4(x, x, x, x);
    ((float4 *)there)[t] = all;  // 4 dshared_st_requests, 64 dshared_st_sectors, 0 shared_st_requests
    if (t < 8)
        there[THREADS * 4 + t] = x;  // 2 dshared_st_requests, 2 dshared_st_sectors
    meet();
    out[rank * THREADS + t] = array[t];
}

int main()
{
    float *out;
    cudaMalloc(&out, 2 * THREADS * sizeof *out);
    cudaProfilerStart();
    touch<<<2, THREADS>>>(out);
    cudaProfilerStop();
    return cudaDeviceSynchronize() != cudaSuccess;
}

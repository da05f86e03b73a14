// What bulk copies count: the lines say it at their ends. Each thread's copy is a request of its own, and each warp's commit to
// a group; what lies in one line of 128 bytes of shared memory is read or written by whole sectors of 32 bytes. One launch, of
// two warps.

#include <cuda/ptx>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

namespace ptx = cuda::ptx;

#define LOAD(TO, FROM, BYTES) ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, TO, FROM, BYTES, &bar)
#define MOVE(TO, FROM, BYTES) ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, TO, FROM, BYTES, &bar)
#define STORE(TO, FROM, BYTES) ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, TO, FROM, BYTES)
#define ADD(TO, FROM, BYTES) \
    ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, TO, FROM, BYTES)
#define ARRIVE(BYTES) ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, BYTES)
#define PREFETCH(FROM) asm volatile("cp.async.bulk.prefetch.L2.global [%0], 64;" ::"l"(FROM) : "memory")

constexpr int THREADS = 64, N = 256;

__global__ void __cluster_dims__(1) copies(float *in, float *out)
{
    __shared__ alignas(128) float tile[N], other[N];
    __shared__ uint64_t bar;
    int t = threadIdx.x;
    if (t == 0) {
        ptx::mbarrier_init(&bar, THREADS);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    if (t == 0) {
        LOAD(tile, in, 512);            // 1 tma_requests, 16 tma_ld_sectors, 512 tma_ld_bytes
        LOAD(tile + 128, in + 4, 512);  // 1 tma_ld_requests, 20 tma_ld_sectors, 640 tma_ld_bytes
        ptx::mbarrier_expect_tx(ptx::sem_relaxed, ptx::scope_cta, ptx::space_shared, &bar, 1024);
    }
    ptx::mbarrier_arrive(&bar);  // 2 mbarrier_arrivals
    while (!ptx::mbarrier_try_wait_parity(&bar, 0))
        ;
    MOVE(other + 4 * t, tile + 4 * t, 16);  // 64 tma_requests, 0 tma_ld_requests, 0 tma_ld_sectors
    ARRIVE(16);                             // 2 mbarrier_arrivals
    while (!ptx::mbarrier_try_wait_parity(&bar, 1))
        ;
    for (int i = 0; i < 3; i++)
        if (t < 8)
            STORE(out + 32 * t + 4 * i, other + 4 * t, 16);  // 24 tma_st_requests, 24 tma_st_sectors, 768 tma_st_bytes
    ptx::cp_async_bulk_commit_group();                       // 2 tma_requests
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    __syncthreads();
    if (t == 40) {
        ADD(out + 16, other, 48);           // 1 tma_requests, 1 tma_red_requests, 2 tma_red_sectors, 64 tma_red_bytes
        ptx::cp_async_bulk_commit_group();  // 1 tma_requests, 0 tma_red_requests
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
        PREFETCH(in);  // 1 tma_requests, 0 tma_ld_requests, 0 tma_ld_sectors
    }
}

int main()
{
    float *in, *out;
    cudaMalloc(&in, 2 * N * sizeof *in);
    cudaMalloc(&out, N * sizeof *out);
    cudaMemset(in, 0, 2 * N * sizeof *in);
    cudaMemset(out, 0, N * sizeof *out);
    cudaProfilerStart();
    copies<<<1, THREADS>>>(in, out);
    const cudaError_t error = cudaDeviceSynchronize();
    cudaProfilerStop();
    return error != cudaSuccess;
}

// Kernels of two warps whose timelines are known, event by event. The name of one is the program's argument.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_pipeline.h>
#include <cuda_profiler_api.h>

constexpr int THREADS = 64, TILES = 6, PRIOR = 1;

// The copy of the next tile is issued before this one is waited for.
__global__ void two_stages(const float *in, float *out)
{
    __shared__ float tile[2][2][THREADS / 2];  // [stage][warp][lane]
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float sum = 0;
    __pipeline_memcpy_async(&tile[0][warp][lane], &in[threadIdx.x], 4);
    __pipeline_commit();
    for (int i = 0; i < TILES; i++) {
        if (i + 1 < TILES)
            __pipeline_memcpy_async(&tile[(i + 1) % 2][warp][lane], &in[(i + 1) * THREADS + threadIdx.x], 4);
        __pipeline_commit();
        __pipeline_wait_prior(PRIOR);
        __syncthreads();
        sum += exp2f(tile[i % 2][1 - warp][lane]);
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}

// Lane 0 does not load, and what the others load stands before the shuffle all the same, and before the exponential.
__global__ void lanes_apart(const float *in, float *out)
{
    float x = 0;
    if (threadIdx.x % 2)
        x = in[threadIdx.x];
    x = expf(x);
    out[threadIdx.x] = __shfl_xor_sync(0xffffffff, x, 1);
}

// The warps differ in how often they do the same.
__global__ void other_turns(const float *in, float *out)
{
    float x = in[threadIdx.x];
    for (int i = 0; i < 2 + threadIdx.x / 32; i++)
        x = __shfl_xor_sync(0xffffffff, exp2f(x), 1);
    out[threadIdx.x] = x;
}

// Warp 1 waits at a named barrier for what warp 0 has stored.
__global__ void handed_over(const float *in, float *out)
{
    __shared__ float shared[32];
    const int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        const float x = __shfl_xor_sync(0xffffffff, in[lane], 1);
        shared[lane] = x;
        __threadfence_block();
        asm volatile("bar.arrive 1, 64;" ::: "memory");
        out[lane] = exp2f(x);
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[threadIdx.x] = shared[lane];
    }
}

// Warp 1 waits at the cluster's barrier for what warp 0 has stored; the first warp does something before it waits.
__global__ void __cluster_dims__(2) in_a_cluster(const float *in, float *out)
{
    __shared__ float shared[32];
    const int lane = threadIdx.x % 32;
    float x = 0;
    if (threadIdx.x < 32) {
        x = __shfl_xor_sync(0xffffffff, in[lane], 1);
        shared[lane] = x;
    }
    asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
    if (threadIdx.x < 32)
        out[lane] = exp2f(x);
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x >= 32)
        out[threadIdx.x] = shared[lane];
}

// Warp 1 waits at an mbarrier for the copies of warp 0.
__global__ void copied_for_another(const float *in, float *out)
{
    __shared__ float shared[32];
    __shared__ unsigned long long full;
    const int lane = threadIdx.x % 32;
    const unsigned barrier = __cvta_generic_to_shared(&full);
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(barrier) : "memory");
    __syncthreads();
    if (threadIdx.x < 32) {
        __pipeline_memcpy_async(&shared[lane], &in[lane], 4);
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
    } else {
        unsigned done = 0;
        while (!done)
            asm volatile("{ .reg .pred p;\n mbarrier.test_wait.parity.shared.b64 p, [%1], 0;\n selp.u32 %0, 1, 0, p; }"
                         : "=r"(done)
                         : "r"(barrier)
                         : "memory");
        out[lane] = shared[lane];
    }
}

// Warp 1 tests an mbarrier more often than it would in a wait of an ordinary length.
__global__ void tested_often(const float *in, float *out)
{
    __shared__ unsigned long long full;
    const unsigned barrier = __cvta_generic_to_shared(&full);
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barrier) : "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < 20000; i++)
            __nanosleep(1);
        asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(barrier) : "memory");
    } else if (threadIdx.x == 32) {
        unsigned done = 0;
        while (!done)
            asm volatile("{ .reg .pred p;\n mbarrier.test_wait.parity.shared.b64 p, [%1], 0;\n selp.u32 %0, 1, 0, p; }"
                         : "=r"(done)
                         : "r"(barrier)
                         : "memory");
    }
    out[threadIdx.x] = in[threadIdx.x];
}

__device__ void wait_for(unsigned barrier, int parity)
{
    unsigned over = 0;
    while (!over)
        asm volatile("{ .reg .pred p;\n mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p; }"
                     : "=r"(over)
                     : "r"(barrier), "r"(parity)
                     : "memory");
}

// Thread 0 loads the next tile in bulk before all wait for this one, and stores the sums in bulk.
__global__ void bulk_ring(const float *in, float *out)
{
    __shared__ alignas(16) float tile[2][THREADS], sums[THREADS];
    __shared__ unsigned long long full[2];
    const unsigned barriers = __cvta_generic_to_shared(full), tiles = __cvta_generic_to_shared(tile);
    float sum = 0;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 2; stage++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barriers + 8 * stage) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    for (int i = -1; i < TILES; i++) {
        const int next = (i + 1) % 2;
        if (threadIdx.x == 0 && i + 1 < TILES) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barriers + 8 * next),
                         "n"(sizeof tile[0])
                         : "memory");
            asm volatile(
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                    tiles + next * (int)sizeof tile[0]),
                "l"(&in[(i + 1) * THREADS]), "n"(sizeof tile[0]), "r"(barriers + 8 * next)
                : "memory");
        }
        if (i < 0)
            continue;
        wait_for(barriers + i % 2 * 8, i / 2 % 2);
        sum += tile[i % 2][THREADS - 1 - threadIdx.x];
        __syncthreads();
    }
    sums[threadIdx.x] = sum;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x || blockIdx.x)
        return;
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out),
                 "r"((unsigned)__cvta_generic_to_shared(sums)), "n"(sizeof sums)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

// No two passes are alike.
__global__ void never_the_same(const float *in, float *out)
{
    float x = in[threadIdx.x];
    for (int i = 1; i < 300; i++) {
        for (int j = 0; j < i; j++)
            x = exp2f(-x);
        __syncthreads();
    }
    out[threadIdx.x] = x;
}

struct stage {
    float first_long_name[256], second[256];
};

// Two stages in memory that the launch asked for, and loops of so many turns that their numbers are wide.
__global__ void many_turns(const float *in, float *out)
{
    extern __shared__ float4 memory[];
    struct stage *stages = (struct stage *)memory;  // [2]
    const int place = threadIdx.x / 4 * 4;
    float x = 0;
    for (int i = 0; i < 1200; i++) {
        const int stage = i % 2;
        __pipeline_memcpy_async(&stages[stage].first_long_name[threadIdx.x], &in[threadIdx.x], 4);
        __pipeline_memcpy_async(&stages[stage].second[threadIdx.x], &in[threadIdx.x], 4);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        const float4 one = *(const float4 *)&stages[stage].first_long_name[place];
        const float4 other = *(const float4 *)&stages[stage].second[place];
        x += one.x + other.x;
    }
    for (int i = 0; i < 1234; i++)
        x = __shfl_xor_sync(0xffffffff, exp2f(x), 1);
    out[threadIdx.x] = x;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*kernel)(const float *, float *);
    } kernels[] = {{"two_stages", two_stages},         {"lanes_apart", lanes_apart},
                   {"other_turns", other_turns},       {"handed_over", handed_over},
                   {"in_a_cluster", in_a_cluster},     {"copied_for_another", copied_for_another},
                   {"tested_often", tested_often},     {"bulk_ring", bulk_ring},
                   {"never_the_same", never_the_same}, {"many_turns", many_turns}};
    float *in, *out;
    cudaMalloc(&in, TILES * THREADS * sizeof *in);
    cudaMalloc(&out, THREADS * sizeof *out);
    cudaMemset(in, 0, TILES * THREADS * sizeof *in);
    for (const auto &chosen : kernels)
        if (argc > 1 && !strcmp(chosen.name, argv[1]))
            chosen.kernel<<<4, THREADS, 2 * sizeof(struct stage)>>>(in, out);
    const cudaError_t error = cudaDeviceSynchronize();
    if (error)
        printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}

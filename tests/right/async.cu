// Asynchronous copies from global to shared memory by every interface there is, each waited for as it should be.

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
#include "right.h"

namespace cg = cooperative_groups;

enum { N = 128, STEPS = 5, THREADS = 64 };  // a step copies a tile of N numbers

// Each thread writes what others have copied.
__device__ void write_reversed(float *out, const float *tile, int first, int threads)
{
    for (int i = first; i < N; i += threads)
        out[i] = tile[N - 1 - i];
}

__global__ void by_primitives(const float *in, float *out)
{
    __shared__ alignas(16) float tile[3][N];
    int t = threadIdx.x;
    for (int step = -2; step < STEPS; step++) {
        int next = step + 2;
        if (next < STEPS && t < N / 4)
            __pipeline_memcpy_async(&tile[next % 3][4 * t], &in[next * N + 4 * t], 16);
        __pipeline_commit();
        if (step < 0)
            continue;
        __pipeline_wait_prior(2);
        __syncthreads();
        write_reversed(out + step * N, tile[step % 3], t, THREADS);
        __syncthreads();
    }
}

__global__ void by_warps(const float *in, float *out)  // a warp copies for itself: no barrier of the block
{
    __shared__ float2 tile[THREADS];
    int t = threadIdx.x;
    for (int step = 0; step < STEPS; step++) {
        __pipeline_memcpy_async(&tile[t], &((const float2 *)in)[step * THREADS + t], 8);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncwarp();
        ((float2 *)out)[step * THREADS + t] = tile[t ^ 31];
        __syncwarp();
    }
}

__global__ void by_group(const float *in, float *out)
{
    __shared__ alignas(16) float tile[2][N];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, tile[0], in, sizeof tile[0]);
    for (int step = 0; step < STEPS; step++) {
        if (step + 1 < STEPS) {
            cg::memcpy_async(block, tile[(step + 1) % 2], in + (step + 1) * N,
                             cuda::aligned_size_t<16>(sizeof tile[0]));
            cg::wait_prior<1>(block);
        } else {
            cg::wait(block);
        }
        write_reversed(out + step * N, tile[step % 2], threadIdx.x, THREADS);
        block.sync();
    }
}

__global__ void by_elements(const float *in, float *out)
{
    __shared__ float tile[STEPS * N];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, tile, STEPS * N, in, STEPS * N + 7);
    cg::wait(block);
    for (int step = 0; step < STEPS; step++)
        write_reversed(out + step * N, tile + step * N, threadIdx.x, THREADS);
}

__global__ void by_pipeline_of_a_thread(const float *in, float *out)
{
    __shared__ float4 tile[3][N / 4];
    auto pipe = cuda::make_pipeline();
    int t = threadIdx.x;
    for (int step = 0, begun = 0; step < STEPS; step++) {
        for (; begun < STEPS && begun < step + 3; begun++) {
            pipe.producer_acquire();
            if (t < N / 4)
                cuda::memcpy_async(&tile[begun % 3][t], (const float4 *)(in + begun * N) + t, sizeof(float4), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        __syncthreads();
        write_reversed(out + step * N, (const float *)tile[step % 3], t, THREADS);
        pipe.consumer_release();
        __syncthreads();
    }
}

__global__ void by_pipeline_waiting_for_prior(const float *in, float *out)
{
    __shared__ float tile[2][N];
    auto pipe = cuda::make_pipeline();
    auto block = cg::this_thread_block();
    for (int step = -1; step < STEPS; step++) {
        pipe.producer_acquire();
        if (step + 1 < STEPS)
            cuda::memcpy_async(block, tile[(step + 1) % 2], in + (step + 1) * N, sizeof tile[0], pipe);
        pipe.producer_commit();
        if (step < 0)
            continue;
        cuda::pipeline_consumer_wait_prior<1>(pipe);
        block.sync();
        write_reversed(out + step * N, tile[step % 2], threadIdx.x, THREADS);
        pipe.consumer_release();
        block.sync();
    }
}

__global__ void by_pipeline_of_a_block(const float *in, float *out)
{
    __shared__ float tile[2][N];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    for (int step = 0, begun = 0; step < STEPS; step++) {
        for (; begun < STEPS && begun < step + 2; begun++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, tile[begun % 2], in + begun * N, sizeof tile[0], pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        write_reversed(out + step * N, tile[step % 2], threadIdx.x, THREADS);
        pipe.consumer_release();
    }
}

__global__ void by_roles(const float *in, float *out)
{
    __shared__ float tile[2][N];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    bool producer = block.thread_rank() < 32;
    auto pipe = cuda::make_pipeline(block, &state,
                                    producer ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
    for (int step = 0; step < STEPS; step++) {
        if (producer) {
            auto warp = cg::tiled_partition<32>(block);
            pipe.producer_acquire();
            cuda::memcpy_async(warp, tile[step % 2], in + step * N, sizeof tile[0], pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            write_reversed(out + step * N, tile[step % 2], threadIdx.x - 32, THREADS - 32);
            pipe.consumer_release();
        }
    }
}

__global__ void by_barrier(const float *in, float *out)
{
    __shared__ float tile[N];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    auto block = cg::this_thread_block();
    if (threadIdx.x == 0)
        init(&bar, blockDim.x);
    block.sync();
    for (int step = 0; step < STEPS; step++) {
        cuda::memcpy_async(block, tile, in + step * N, sizeof tile, bar);
        bar.arrive_and_wait();
        write_reversed(out + step * N, tile, threadIdx.x, THREADS);
        cuda::barrier<cuda::thread_scope_block>::arrival_token token = bar.arrive();
        bar.wait(std::move(token));
    }
}

// One warp copies and goes, the other waits by parity: full and empty barriers of two stages.
__global__ void by_mbarriers(const float *in, float *out)
{
    __shared__ alignas(16) float tile[2][N];
    __shared__ __mbarrier_t full[2], empty[2];
    int t = threadIdx.x, lane = t % 32;
    if (t % 32 == 0)  // by two threads: both do the same
        for (int stage = 0; stage < 2; stage++) {
            __mbarrier_init(&full[stage], 32);
            __mbarrier_init(&empty[stage], 32);
        }
    __syncthreads();
    if (t < 32) {
        for (int step = 0; step < STEPS; step++) {
            int stage = step % 2;
            while (!__mbarrier_test_wait_parity(&empty[stage], ~(step / 2) & 1)) {
            }
            __pipeline_memcpy_async(&tile[stage][4 * lane], &in[step * N + 4 * lane], 16);
            __pipeline_arrive_on(&full[stage]);
            (void)__mbarrier_arrive(&full[stage]);
        }
        return;
    }
    for (int step = 0; step < STEPS; step++) {
        int stage = step % 2;
        while (!__mbarrier_try_wait_parity(&full[stage], step / 2 & 1, 1000)) {
        }
        write_reversed(out + step * N, tile[stage], lane, 32);
        (void)__mbarrier_arrive(&empty[stage]);
    }
}

__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__global__ void by_ptx(const float *in, float *out)
{
    __shared__ alignas(16) float tile[2][N];
    int t = threadIdx.x;
    for (int step = -1; step < STEPS; step++) {
        unsigned to = shared_address(&tile[(step + 1) % 2][2 * t]);
        if (step + 1 < STEPS)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to), "l"(&in[(step + 1) * N + 2 * t]));
        asm volatile("cp.async.commit_group;");
        if (step < 0)
            continue;
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        write_reversed(out + step * N, tile[step % 2], t, THREADS);
        __syncthreads();
    }
}

// The copies themselves arrive: .noinc, so that the mbarrier expects as many as there are threads that copy.
__global__ void by_ptx_and_mbarrier(const float *in, float *out)
{
    __shared__ alignas(16) float tile[N];
    __shared__ unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0)
        asm volatile(
            "mbarrier.init.shared.b64 [%0], %1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(shared_address(&bar)),
            "r"(N / 4));
    __syncthreads();
    for (int step = 0; step < STEPS; step++) {
        if (t < N / 4) {
            unsigned to = shared_address(&tile[4 * t]);
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(&in[step * N + 4 * t]));
            asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(&bar)));
        }
        asm volatile("{\n"
                     ".reg .pred over;\n"
                     "again:\n"
                     "mbarrier.try_wait.parity.shared.b64 over, [%0], %1;\n"
                     "@!over bra again;\n"
                     "}" ::"r"(shared_address(&bar)),
                     "r"(step & 1)
                     : "memory");
        write_reversed(out + step * N, tile, t, THREADS);
        __syncthreads();
    }
}

// What lies behind `count` is not read, and comes as zeros; so does the rest of a copy that it ends in.
__global__ void with_zeros(const float *in, int count, float *out)
{
    __shared__ alignas(16) float tile[N];
    int first = 4 * threadIdx.x, rest = count - first, whole = rest < 0 ? 0 : rest > 4 ? 4 : rest;
    if (first < N)
        __pipeline_memcpy_async(&tile[first], whole ? &in[first] : in, 16, 16 - 4 * whole);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    for (int i = threadIdx.x; i < N; i += THREADS)
        out[i] = tile[i];
}

// Clamped indices: several lanes copy one thing to one place.
__global__ void with_clamped_indices(const float *in, int count, float *out)
{
    __shared__ float tile[N];
    int i = threadIdx.x < count ? threadIdx.x : count - 1;
    __pipeline_memcpy_async(&tile[i], &in[i], 4);
    __pipeline_commit();
    __syncthreads();  // all copies are in flight
    __pipeline_wait_prior(0);
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x < count ? count - 1 - threadIdx.x : 0];
}

// Where cp.async cannot copy, plain accesses do: to global memory, from shared memory, and of odd bytes.
__global__ void of_odd_bytes(const char *in, char *out)
{
    __shared__ char tile[100], again[100];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, tile, in + 1, 99);
    cg::wait(block);
    cg::memcpy_async(block, again, tile, 99);
    cg::wait(block);
    cg::memcpy_async(block, out, again, 99);
}

// A thread that leaves arrives for good.
__global__ void dropping_out(int *out)
{
    __shared__ int sum[4];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0)
        init(&bar, blockDim.x);
    if (threadIdx.x < 4)
        sum[threadIdx.x] = 0;
    __syncthreads();
    for (int turn = 0; turn < 4; turn++) {
        if (threadIdx.x >= 16 * (4 - turn)) {
            bar.arrive_and_drop();
            return;
        }
        atomicAdd(&sum[turn], 1);
        bar.arrive_and_wait();
        if (threadIdx.x == 0)
            out[turn] = sum[turn];
    }
}

// The memory of an mbarrier is anybody's when it has been invalidated.
__global__ void invalidated(int *out)
{
    __shared__ __mbarrier_t bar;
    if (threadIdx.x == 0)
        __mbarrier_init(&bar, blockDim.x);
    __syncthreads();
    __mbarrier_token_t token = __mbarrier_arrive(&bar);
    while (!__mbarrier_test_wait(&bar, token)) {
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        __mbarrier_inval(&bar);
        bar = 7;
        out[0] = (int)bar;
    }
}

static void check_reversed(const char *kernel, const float *in, const float *out)
{
    const float *got = to_host(out, N * STEPS);
    for (int i = 0; i < N * STEPS; i++)
        if (got[i] != in[i / N * N + N - 1 - i % N]) {
            printf("%s: element %d is %g\n", kernel, i, got[i]);
            exit(1);
        }
}

int main()
{
    const float *host = numbers(N * STEPS + 7, 1);
    const float *in = to_device(host, N * STEPS + 7);
    float *out = to_device<float>(NULL, N * STEPS);
    struct {
        const char *name;
        void (*kernel)(const float *, float *);
    } kernels[] = {
#define KERNEL(NAME) {#NAME, NAME}
        KERNEL(by_primitives),
        KERNEL(by_group),
        KERNEL(by_elements),
        KERNEL(by_pipeline_of_a_thread),
        KERNEL(by_pipeline_waiting_for_prior),
        KERNEL(by_pipeline_of_a_block),
        KERNEL(by_roles),
        KERNEL(by_barrier),
        KERNEL(by_mbarriers),
        KERNEL(by_ptx),
        KERNEL(by_ptx_and_mbarrier),
    };
    for (auto k : kernels) {
        CHECK(cudaMemset(out, 0xff, N * STEPS * sizeof *out));
        k.kernel<<<1, THREADS>>>(in, out);
        check_reversed(k.name, host, out);
    }

    by_warps<<<1, THREADS>>>(in, out);
    const float *got = to_host(out, N * STEPS);
    for (int i = 0; i < N * STEPS; i++)
        SAME(got[i], host[(i / 2 ^ 31) * 2 + i % 2]);

    const int counts[] = {0, 1, 62, 127, 128};
    for (int count : counts) {
        const float *part = to_device(host, count ? count : 1);  // and nothing behind it
        with_zeros<<<1, THREADS>>>(part, count, out);
        got = to_host(out, N);
        for (int i = 0; i < N; i++)
            SAME(got[i], i < count ? host[i] : 0);
    }
    with_clamped_indices<<<1, THREADS>>>(in, 50, out);
    got = to_host(out, 50);
    for (int i = 0; i < 50; i++)
        SAME(got[i], host[49 - i]);

    of_odd_bytes<<<1, THREADS>>>((const char *)in, (char *)out);
    const char *bytes = to_host((const char *)out, 99);
    for (int i = 0; i < 99; i++)
        SAME(bytes[i], ((const char *)host)[i + 1]);

    int *sums = to_device<int>(NULL, 4);
    dropping_out<<<1, THREADS>>>(sums);
    const int *sum = to_host(sums, 4);
    for (int turn = 0; turn < 4; turn++)
        SAME(sum[turn], 64 - 16 * turn);
    invalidated<<<1, THREADS>>>(sums);
    SAME(*to_host(sums, 1), 7);
    return 0;
}

// Bulk copies that are not waited for as they should be. The first argument picks the kernel; a comment `expect NAME: KIND`
// marks a line that the report on it must name. tests/right/transfers.cu has the right ways.

#include <cuda/ptx>
#include <cuda_pipeline.h>
#include <stdio.h>
#include <string.h>

namespace ptx = cuda::ptx;

constexpr int TILE = 64;
enum : unsigned { BYTES = TILE * sizeof(int) };

struct alignas(128) tile {
    int of[TILE];
};

__device__ void start(uint64_t *bar, unsigned arrivals)
{
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(bar, arrivals);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
}

#define EXPECT(BAR, N) ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, BAR, N)
#define LOAD(TO, FROM, BAR) ptx::cp_async_bulk(ptx::space_shared, ptx::space_global, TO, FROM, BYTES, BAR)
#define STORE(TO, FROM) ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, TO, FROM, BYTES)
#define WAIT(BAR, PARITY) \
    while (!ptx::mbarrier_try_wait_parity(BAR, PARITY)) { \
    }

__global__ void read_before_the_wait(int *in, int *out)
{
    __shared__ tile t;
    __shared__ uint64_t bar;
    start(&bar, 1);
    if (threadIdx.x == 0) {
        EXPECT(&bar, BYTES);
        LOAD(t.of, in, &bar);  // expect read_before_the_wait: copy still in flight
        out[1] = t.of[1];      // expect read_before_the_wait: copy still in flight
    }
    WAIT(&bar, 0);
    out[threadIdx.x] = t.of[threadIdx.x];
}

__global__ void wrong_parity(int *in, int *out)
{
    __shared__ tile t;
    __shared__ uint64_t bar;
    start(&bar, 1);
    if (threadIdx.x == 0) {
        EXPECT(&bar, BYTES);
        LOAD(t.of, in, &bar);  // expect wrong_parity: copy still in flight
    }
    __syncthreads();
    WAIT(&bar, 1);                         // expect wrong_parity: copy still in flight
    out[threadIdx.x] = t.of[threadIdx.x];  // expect wrong_parity: copy still in flight
}

__global__ void parity_that_never_comes(int *in, int *out)
{
    __shared__ tile t;
    __shared__ uint64_t bar;
    start(&bar, 1);
    for (int i = 0; i < 2; i++) {
        if (threadIdx.x == 0) {
            EXPECT(&bar, BYTES);
            LOAD(t.of, in, &bar);
        }
        WAIT(&bar, i & 1);
        out[threadIdx.x] = t.of[threadIdx.x];
        __syncthreads();
    }
    WAIT(&bar, 0);  // expect parity_that_never_comes: barrier deadlock
}

__global__ void too_few_bytes_come(int *in, int *out)
{
    __shared__ tile t;
    __shared__ uint64_t bar;
    start(&bar, 1);
    if (threadIdx.x == 0) {
        EXPECT(&bar, BYTES + 16);
        LOAD(t.of, in, &bar);
    }
    WAIT(&bar, 0);  // expect too_few_bytes_come: barrier deadlock
    out[threadIdx.x] = t.of[threadIdx.x];
}

__global__ void too_many_bytes_come(int *in, int *out)
{
    __shared__ tile t;
    __shared__ uint64_t bar;
    start(&bar, 1);
    if (threadIdx.x == 0) {
        EXPECT(&bar, BYTES / 2);
        LOAD(t.of, in, &bar);
    }
    WAIT(&bar, 0);  // expect too_many_bytes_come: barrier deadlock
    out[threadIdx.x] = t.of[threadIdx.x];
}

__global__ void no_bytes_expected(int *in, int *out)
{
    __shared__ tile t;
    __shared__ uint64_t bar;
    start(&bar, 1);
    if (threadIdx.x == 0) {
        LOAD(t.of, in, &bar);  // expect no_bytes_expected: copy still in flight
        ptx::mbarrier_arrive(&bar);
    }
    WAIT(&bar, 0);                         // expect no_bytes_expected: copy still in flight
    out[threadIdx.x] = t.of[threadIdx.x];  // expect no_bytes_expected: copy still in flight
}

// Who has issued it, and arrived, has not waited.
__global__ void another_waits(int *in, int *out)
{
    __shared__ tile t;
    __shared__ uint64_t bar;
    start(&bar, 1);
    if (threadIdx.x == 0) {
        EXPECT(&bar, BYTES);
        LOAD(t.of, in, &bar);  // expect another_waits: race in shared memory
        for (int i = 0; i < 50; i++)
            __nanosleep(1);
        out[0] = t.of[0];  // expect another_waits: race in shared memory
    } else {
        WAIT(&bar, 0);
        out[threadIdx.x] = t.of[threadIdx.x];
    }
}

__global__ void refilled_too_early(int *in, int *out)
{
    __shared__ tile t;
    __shared__ uint64_t bar[2];
    start(&bar[0], 1);
    start(&bar[1], 1);
    for (int i = 0; i < 2; i++) {
        if (threadIdx.x == 0) {
            EXPECT(&bar[i], BYTES);
            LOAD(t.of, in + i * TILE, &bar[i]);  // expect refilled_too_early: race in shared memory
        }
        WAIT(&bar[i], 0);
        out[threadIdx.x] += t.of[threadIdx.x];  // expect refilled_too_early: race in shared memory
    }
}

__global__ void refilled_in_flight(int *in, int *out)
{
    __shared__ tile t;
    __shared__ uint64_t bar;
    start(&bar, 1);
    if (threadIdx.x == 0) {
        EXPECT(&bar, 2 * BYTES);
        LOAD(t.of, in, &bar);         // expect refilled_in_flight: target overwritten in flight
        LOAD(t.of, in + TILE, &bar);  // expect refilled_in_flight: target overwritten in flight
    }
    WAIT(&bar, 0);
    out[threadIdx.x] = t.of[threadIdx.x];
}

__global__ void written_in_flight(int *in, int *out)
{
    __shared__ tile t;
    __shared__ uint64_t bar;
    start(&bar, 1);
    if (threadIdx.x == 0) {
        EXPECT(&bar, BYTES);
        LOAD(t.of, in, &bar);  // expect written_in_flight: target overwritten in flight
    }
    __syncthreads();
    if (threadIdx.x == 33)
        t.of[33] = 0;  // expect written_in_flight: target overwritten in flight
    __syncthreads();
    WAIT(&bar, 0);
    out[threadIdx.x] = t.of[threadIdx.x];
}

__global__ void source_in_global_memory(int *in, int *out)
{
    __shared__ tile t;
    __shared__ uint64_t bar;
    start(&bar, 1);
    if (threadIdx.x == 0) {
        EXPECT(&bar, BYTES);
        LOAD(t.of, in, &bar);  // expect source_in_global_memory: source overwritten in flight
        in[5] = 77;            // expect source_in_global_memory: source overwritten in flight
    }
    WAIT(&bar, 0);  // expect source_in_global_memory: source overwritten in flight
    out[threadIdx.x] = t.of[threadIdx.x];
}

__device__ void fill(tile &t, int with)
{
    t.of[threadIdx.x] = with;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
}

__global__ void rewritten_before_it_is_read(int *in, int *out)
{
    __shared__ tile t;
    fill(t, 1);
    if (threadIdx.x == 0) {
        STORE(out, t.of);  // expect rewritten_before_it_is_read: source overwritten in flight
        ptx::cp_async_bulk_commit_group();
    }
    __syncthreads();
    t.of[threadIdx.x] = 2;  // expect rewritten_before_it_is_read: source overwritten in flight
    __syncthreads();
    if (threadIdx.x == 0)
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
}

__global__ void waits_for_the_group_before(int *in, int *out)
{
    __shared__ tile t[2];
    fill(t[0], 1);
    fill(t[1], 2);
    if (threadIdx.x == 0) {
        STORE(out, t[0].of);
        ptx::cp_async_bulk_commit_group();
        STORE(out + TILE, t[1].of);  // expect waits_for_the_group_before: source overwritten in flight
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<1>());  // expect waits_for_the_group_before: source overwritten in flight
        t[0].of[0] = 3;
        t[1].of[0] = 3;  // expect waits_for_the_group_before: source overwritten in flight
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

__global__ void never_committed(int *in, int *out)
{
    __shared__ tile t;
    fill(t, 1);
    if (threadIdx.x == 0) {
        STORE(out, t.of);                                     // expect never_committed: source overwritten in flight
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());  // expect never_committed: source overwritten in flight
        t.of[0] = 3;                                          // expect never_committed: source overwritten in flight
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

__global__ void another_rewrites(int *in, int *out)
{
    __shared__ tile t;
    fill(t, 1);
    if (threadIdx.x == 0) {
        STORE(out, t.of);  // expect another_rewrites: race in shared memory
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    } else if (threadIdx.x == 1) {
        for (int i = 0; i < 50; i++)
            __nanosleep(1);
        t.of[0] = 3;  // expect another_rewrites: race in shared memory
    }
}

__global__ void read_back_after_reading(int *in, int *out)
{
    __shared__ tile t;
    fill(t, 1);
    if (threadIdx.x == 0) {
        STORE(out, t.of);  // expect read_back_after_reading: copy still in flight
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());  // expect read_back_after_reading: copy still in flight
        in[0] = out[3];                                       // expect read_back_after_reading: copy still in flight
    }
}

__global__ void ends_before_it_is_read(int *in, int *out)
{
    __shared__ tile t;
    fill(t, 1);
    if (threadIdx.x == 0) {
        STORE(out, t.of);  // expect ends_before_it_is_read: transfer unfinished
        ptx::cp_async_bulk_commit_group();
    }
}

__global__ void two_blocks_store(int *in, int *out)
{
    __shared__ tile t;
    fill(t, blockIdx.x);
    if (threadIdx.x == 0) {
        STORE(out + blockIdx.x * TILE / 2, t.of);  // expect two_blocks_store: race in global memory
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

// What one stores first is there already; what differs lies behind it.
__global__ void two_blocks_begin_alike(int *in, int *out)
{
    __shared__ tile t;
    fill(t, threadIdx.x < TILE / 2 ? 7 : blockIdx.x);
    if (threadIdx.x == 0) {
        STORE(out, t.of);  // expect two_blocks_begin_alike: race in global memory
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

__global__ void added_to_what_is_read(int *in, int *out)
{
    __shared__ tile t;
    fill(t, 1);
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, out, t.of, BYTES);  // expect added_to_what_is_read: race in global memory
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
    if (blockIdx.x == 1)
        in[threadIdx.x] = out[threadIdx.x];  // expect added_to_what_is_read: race in global memory
}

__global__ void more_bytes_than_it_counts(int *in, int *out)
{
    __shared__ uint64_t bar;
    start(&bar, 1);
    if (threadIdx.x == 0)
        EXPECT(&bar, 1 << 20);  // expect more_bytes_than_it_counts: too many bytes
}

__global__ void __cluster_dims__(1) rewritten_within(int *in, int *out)
{
    __shared__ tile t[2];
    __shared__ uint64_t bar;
    start(&bar, 1);
    fill(t[0], 1);
    if (threadIdx.x == 0) {
        EXPECT(&bar, BYTES);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, t[1].of, t[0].of, BYTES, &bar);  // expect rewritten_within: source overwritten in flight
        out[0] = t[0].of[3];
        t[0].of[3] = 4;  // expect rewritten_within: source overwritten in flight
    }
    WAIT(&bar, 0);
    out[threadIdx.x] = t[1].of[threadIdx.x];
}

__global__ void invalidated_in_flight(int *in, int *out)
{
    __shared__ tile t;
    __shared__ uint64_t bar;
    start(&bar, 1);
    if (threadIdx.x == 0) {
        EXPECT(&bar, BYTES);
        LOAD(t.of, in, &bar);
        asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"((unsigned)__cvta_generic_to_shared(&bar)) : "memory");  // expect invalidated_in_flight: mbarrier in use
    }
}

__device__ void arrive_relaxed(uint64_t *bar)
{
    asm volatile("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0];"
                 :
                 : "r"((unsigned)__cvta_generic_to_shared(bar))
                 : "memory");
}

__device__ void wait_relaxed(uint64_t *bar, unsigned parity)
{
    int done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 p, [%1], %2; "
                     "selp.s32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"((unsigned)__cvta_generic_to_shared(bar)), "r"(parity)
                     : "memory");
}

__global__ void arrives_without_a_fence(int *in, int *out)
{
    __shared__ tile t;
    __shared__ uint64_t bar;
    start(&bar, TILE);
    t.of[threadIdx.x] = in[threadIdx.x];  // expect arrives_without_a_fence: race in shared memory
    arrive_relaxed(&bar);
    wait_relaxed(&bar, 0);
    __threadfence_block();
    out[threadIdx.x] = t.of[TILE - 1 - threadIdx.x];  // expect arrives_without_a_fence: race in shared memory
}

__global__ void waits_without_a_fence(int *in, int *out)
{
    __shared__ tile t;
    __shared__ uint64_t bar;
    start(&bar, TILE);
    t.of[threadIdx.x] = in[threadIdx.x];  // expect waits_without_a_fence: race in shared memory
    __threadfence_block();
    arrive_relaxed(&bar);
    wait_relaxed(&bar, 0);
    out[threadIdx.x] = t.of[TILE - 1 - threadIdx.x];  // expect waits_without_a_fence: race in shared memory
}

// It works, and is noted.
__global__ void barrier_not_fenced(int *in, int *out)
{
    __shared__ tile t;
    __shared__ uint64_t bar;
    if (threadIdx.x == 0)
        ptx::mbarrier_init(&bar, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        EXPECT(&bar, BYTES);
        LOAD(t.of, in, &bar);  // noted
    }
    WAIT(&bar, 0);
    out[threadIdx.x] = t.of[threadIdx.x];
}

// Between the two proxies.
__global__ void no_proxy_fence(int *in, int *out)
{
    __shared__ tile t;
    t.of[threadIdx.x] = 1;  // expect no_proxy_fence: missing proxy fence
    __syncthreads();
    if (threadIdx.x == 0) {
        STORE(out, t.of);  // expect no_proxy_fence: missing proxy fence
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

__global__ void fence_in_front_of_the_write(int *in, int *out)
{
    __shared__ tile t;
    ptx::fence_proxy_async(ptx::space_shared);
    t.of[threadIdx.x] = 1;  // expect fence_in_front_of_the_write: missing proxy fence
    __syncthreads();
    if (threadIdx.x == 0) {
        STORE(out, t.of);  // expect fence_in_front_of_the_write: missing proxy fence
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

__global__ void fence_of_another_space(int *in, int *out)
{
    __shared__ tile t;
    t.of[threadIdx.x] = 1;  // expect fence_of_another_space: missing proxy fence
    ptx::fence_proxy_async(ptx::space_global);
    __syncthreads();
    if (threadIdx.x == 0) {
        STORE(out, t.of);  // expect fence_of_another_space: missing proxy fence
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

// In front of the barrier, it covers what its own thread knows, and that is not what others write.
__global__ void fence_of_one_thread(int *in, int *out)
{
    __shared__ tile t;
    t.of[threadIdx.x] = 1;  // expect fence_of_one_thread: missing proxy fence
    if (threadIdx.x == 0)
        ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        STORE(out, t.of);  // expect fence_of_one_thread: missing proxy fence
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

__global__ void fence_behind_the_issue(int *in, int *out)
{
    __shared__ tile t;
    t.of[threadIdx.x] = 1;  // expect fence_behind_the_issue: missing proxy fence
    __syncthreads();
    if (threadIdx.x == 0)
        STORE(out, t.of);  // expect fence_behind_the_issue: missing proxy fence
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

__global__ void filled_before_it_is_loaded(int *in, int *out)
{
    __shared__ tile t;
    __shared__ uint64_t bar;
    t.of[threadIdx.x] = 0;  // expect filled_before_it_is_loaded: missing proxy fence
    start(&bar, 1);
    if (threadIdx.x == 0) {
        EXPECT(&bar, BYTES);
        LOAD(t.of, in, &bar);  // expect filled_before_it_is_loaded: missing proxy fence
    }
    WAIT(&bar, 0);
    out[threadIdx.x] = t.of[threadIdx.x];
}

__global__ void written_to_global_memory(int *in, int *out)
{
    __shared__ tile t;
    __shared__ uint64_t bar;
    in[threadIdx.x] = 3;  // expect written_to_global_memory: missing proxy fence
    ptx::fence_proxy_async(ptx::space_shared);
    start(&bar, 1);
    if (threadIdx.x == 0) {
        EXPECT(&bar, BYTES);
        LOAD(t.of, in, &bar);  // expect written_to_global_memory: missing proxy fence
    }
    WAIT(&bar, 0);
    out[threadIdx.x] = t.of[threadIdx.x];
}

__global__ void copied_by_the_generic_proxy(int *in, int *out)
{
    __shared__ tile t;
    int *to = &t.of[threadIdx.x];
    __pipeline_memcpy_async(to, &in[threadIdx.x], 4);  // expect copied_by_the_generic_proxy: missing proxy fence
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    if (threadIdx.x == 0) {
        STORE(out, t.of);  // expect copied_by_the_generic_proxy: missing proxy fence
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

#define ONE(NAME) {#NAME, NAME, 1}
#define TWO(NAME) {#NAME, NAME, 2}
static const struct {
    const char *name;
    void (*kernel)(int *in, int *out);
    int blocks;
} kernels[] = {
    ONE(read_before_the_wait),
    ONE(wrong_parity),
    ONE(parity_that_never_comes),
    ONE(too_few_bytes_come),
    ONE(too_many_bytes_come),
    ONE(no_bytes_expected),
    ONE(another_waits),
    ONE(refilled_too_early),
    ONE(refilled_in_flight),
    ONE(written_in_flight),
    ONE(source_in_global_memory),
    ONE(rewritten_before_it_is_read),
    ONE(waits_for_the_group_before),
    ONE(never_committed),
    ONE(another_rewrites),
    ONE(read_back_after_reading),
    ONE(ends_before_it_is_read),
    TWO(two_blocks_store),
    TWO(two_blocks_begin_alike),
    TWO(added_to_what_is_read),
    ONE(more_bytes_than_it_counts),
    ONE(rewritten_within),
    ONE(invalidated_in_flight),
    ONE(barrier_not_fenced),
    ONE(arrives_without_a_fence),
    ONE(waits_without_a_fence),
    ONE(no_proxy_fence),
    ONE(fence_in_front_of_the_write),
    ONE(fence_of_another_space),
    ONE(fence_of_one_thread),
    ONE(fence_behind_the_issue),
    ONE(filled_before_it_is_loaded),
    ONE(written_to_global_memory),
    ONE(copied_by_the_generic_proxy),
};

int main(int argc, char **argv)
{
    int *in, *out;
    cudaMalloc(&in, 4096);
    cudaMalloc(&out, 4096);
    for (int i = 0; i < 1024; i++)
        cudaMemset(in + i, i, 4);
    cudaMemset(out, 0, 4096);
    for (const auto &k : kernels)
        if (argc > 1 && !strcmp(argv[1], k.name))
            k.kernel<<<k.blocks, TILE>>>(in, out);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    return 0;
}

// Bulk copies whose target is read by threads that have not waited for them: not at all, for another phase, or by something
// that does not cover them. The first argument picks the kernel; a comment `expect NAME: KIND` marks a line that the report
// on it must name. tests/right/bulk_copies.cu has the right ways.

#include <cuda/barrier>
#include <cuda/ptx>
#include <string.h>
#include "../hopper.h"

#define TILE 256
#define BYTES (TILE * 4)

namespace ptx = cuda::ptx;
namespace cde = cuda::device::experimental;

__global__ void no_wait(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);  // expect no_wait: copy still in flight
    }
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x];  // expect no_wait: copy still in flight
}

__global__ void never_waited_for(float *in, float *out)  // and never read
{
    __shared__ alignas(16) float tile[2][TILE];
    __shared__ uint64_t bar[2];
    SET_UP(bar, 1);
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; i++) {
            MBARRIER_ARRIVE_EXPECT(&bar[i], BYTES);
            BULK_LOAD(tile[i], in, BYTES, &bar[i]);  // expect never_waited_for: transfer unfinished
        }
    MBARRIER_WAIT(&bar[0], 0);
    out[threadIdx.x] = tile[0][threadIdx.x];
}

__global__ void issuer_reads(float *in, float *out)  // the others wait
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);  // expect issuer_reads: copy still in flight
        out[64] = tile[0];                 // expect issuer_reads: copy still in flight
    } else {
        MBARRIER_WAIT(&bar, 0);
        out[threadIdx.x] = tile[threadIdx.x];
    }
}

__global__ void issuer_reads_in_its_branch(float *in, float *out)
{
    __shared__ alignas(16) float tile[2][TILE];
    __shared__ uint64_t bar;
    float head = 0;
    SET_UP(bar, 1);
    if (threadIdx.x == 32) {
        MBARRIER_ARRIVE_EXPECT(&bar, 2 * BYTES);
        for (int i = 0; i < 2; i++)
            BULK_LOAD(tile[i], in + i * TILE, BYTES, &bar);  // expect issuer_reads_in_its_branch: copy still in flight
        head = tile[1][0];                                   // expect issuer_reads_in_its_branch: copy still in flight
    }
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[1][threadIdx.x] + head;
}

__global__ void parity_of_the_phase_before(float *in, float *out)  // a wait for parity 1 on a fresh barrier returns at once
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);  // expect parity_of_the_phase_before: race in shared memory
    }
    MBARRIER_WAIT(&bar, 1);                // perhaps parity_of_the_phase_before: race in shared memory
    out[threadIdx.x] = tile[threadIdx.x];  // expect parity_of_the_phase_before: race in shared memory
}

__device__ void wait_for(uint64_t *bar, unsigned parity)
{
    for (unsigned done = 0; !done;)
        MBARRIER_TRY(done, bar, parity);  // perhaps all: the helper
}

__global__ void parity_never_flipped(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    float sum = 0;
    SET_UP(bar, 1);
    for (int i = 0; i < 3; i++) {
        if (threadIdx.x == 0) {
            MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
            BULK_LOAD(tile, in + i * TILE, BYTES, &bar);  // expect parity_never_flipped: race in shared memory
        }
        wait_for(&bar, 0);
        sum += tile[threadIdx.x];  // expect parity_never_flipped: race in shared memory
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}

__global__ void parity_flipped_each_tile(float *in, float *out)  // and not each time round the ring
{
    __shared__ alignas(16) float tile[2][TILE];
    __shared__ uint64_t full[2];
    float sum = 0;
    SET_UP(full, 1);
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; i++) {
            MBARRIER_ARRIVE_EXPECT(&full[i], BYTES);
            BULK_LOAD(tile[i], in + i * TILE, BYTES, &full[i]);  // expect parity_flipped_each_tile: copy still in flight
        }
    for (int i = 0, parity = 0; i < 2; i++, parity ^= 1) {
        wait_for(&full[i % 2], parity);
        sum += tile[i % 2][threadIdx.x];  // expect parity_flipped_each_tile: copy still in flight
    }
    out[threadIdx.x] = sum;
}

__global__ void waits_for_another_stage(float *in, float *out)
{
    __shared__ alignas(16) float tile[3][TILE];
    __shared__ uint64_t full[3];
    float sum = 0;
    SET_UP(full, 1);
    if (threadIdx.x == 0)
        for (int i = 0; i < 3; i++) {
            MBARRIER_ARRIVE_EXPECT(&full[i], BYTES);
            BULK_LOAD(tile[i], in + i * TILE, BYTES, &full[i]);  // expect waits_for_another_stage: copy still in flight
        }
    for (int i = 0; i < 3; i++) {
        MBARRIER_WAIT(&full[i], 0);
        sum += tile[(i + 1) % 3][threadIdx.x];  // expect waits_for_another_stage: copy still in flight
    }
    out[threadIdx.x] = sum;
}

__global__ void read_before_the_wait(float *in, float *out)  // the next tile's first value, loaded early
{
    __shared__ alignas(16) float tile[2][TILE];
    __shared__ uint64_t full[2];
    float sum = 0, next;
    SET_UP(full, 1);
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; i++) {
            MBARRIER_ARRIVE_EXPECT(&full[i], BYTES);
            BULK_LOAD(tile[i], in + i * TILE, BYTES, &full[i]);  // expect read_before_the_wait: copy still in flight
        }
    MBARRIER_WAIT(&full[0], 0);
    next = tile[0][threadIdx.x];
    for (int i = 0; i < 2; i++) {
        sum += next;
        if (i == 0) {
            next = tile[1][threadIdx.x];  // expect read_before_the_wait: copy still in flight
            MBARRIER_WAIT(&full[1], 0);
        }
    }
    out[threadIdx.x] = sum;
}

__global__ void result_ignored(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);  // expect result_ignored: race in shared memory
    }
    __syncthreads();
    unsigned done;
    MBARRIER_TRY(done, &bar, 0);  // perhaps result_ignored: race in shared memory
    (void)done;
    out[threadIdx.x] = tile[threadIdx.x];  // expect result_ignored: race in shared memory
}

__global__ void first_warp_does_not_wait(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);  // expect first_warp_does_not_wait: race in shared memory
    }
    __syncthreads();
    if (threadIdx.x >= 32)
        MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[threadIdx.x];  // expect first_warp_does_not_wait: race in shared memory
}

__global__ void second_warp_does_not_wait(float *in, float *out)  // it has landed for the first
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);  // expect second_warp_does_not_wait: race in shared memory
    }
    if (threadIdx.x < 32)
        MBARRIER_WAIT(&bar, 0);
    else
        for (volatile int i = 0; i < 100; i = i + 1)
            __nanosleep(10);
    out[threadIdx.x] = tile[threadIdx.x];  // expect second_warp_does_not_wait: race in shared memory
}

__global__ void lane_zero_waits(float *in, float *out)  // for its warp, which it does not tell
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);  // expect lane_zero_waits: race in shared memory
    }
    if (threadIdx.x % 32 == 0)
        MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[threadIdx.x];  // expect lane_zero_waits: race in shared memory
}

__global__ void one_waits_and_raises_a_flag(float *in, float *out)  // a plain volatile one, without fences
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    __shared__ volatile int landed;
    if (threadIdx.x == 0)
        landed = 0;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);  // expect one_waits_and_raises_a_flag: race in shared memory
        MBARRIER_WAIT(&bar, 0);
        landed = 1;
    }
    if (threadIdx.x >= 32) {
        while (!landed)
            ;
        out[threadIdx.x] = tile[threadIdx.x];  // expect one_waits_and_raises_a_flag: race in shared memory
    }
}

__global__ void expect_missing(float *in, float *out)  // the arrival ends the phase, whatever is under way
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        BULK_LOAD(tile, in, BYTES, &bar);  // expect expect_missing: copy still in flight
        MBARRIER_ARRIVE(&bar);
    }
    MBARRIER_WAIT(&bar, 0);                // perhaps expect_missing: copy still in flight
    out[threadIdx.x] = tile[threadIdx.x];  // expect expect_missing: copy still in flight
}

__global__ void expect_behind_the_arrival(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE(&bar);
        MBARRIER_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);  // expect expect_behind_the_arrival: copy still in flight
    }
    MBARRIER_WAIT(&bar, 0);                // perhaps expect_behind_the_arrival: copy still in flight
    out[threadIdx.x] = tile[threadIdx.x];  // expect expect_behind_the_arrival: copy still in flight
}

__global__ void expects_one_of_two(float *in, float *out)
{
    __shared__ alignas(16) float a[TILE], b[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(a, in, BYTES, &bar);         // perhaps expects_one_of_two: copy still in flight
        BULK_LOAD(b, in + TILE, BYTES, &bar);  // perhaps expects_one_of_two: copy still in flight
    }
    MBARRIER_WAIT(&bar, 0);                              // perhaps expects_one_of_two: copy still in flight
    out[threadIdx.x] = a[threadIdx.x] * b[threadIdx.x];  // expect expects_one_of_two: copy still in flight
}

__global__ void expects_for_the_first_tile_only(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    float sum = 0;
    SET_UP(bar, 1);
    for (int i = 0; i < 3; i++) {
        if (threadIdx.x == 0) {
            if (i == 0)
                MBARRIER_EXPECT(&bar, BYTES);
            BULK_LOAD(tile, in + i * TILE, BYTES, &bar);  // expect expects_for_the_first_tile_only: copy still in flight
            MBARRIER_ARRIVE(&bar);
        }
        wait_for(&bar, i % 2);
        sum += tile[threadIdx.x];  // expect expects_for_the_first_tile_only: copy still in flight
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}

__global__ void waits_for_groups(float *in, float *out)  // which count copies out of shared memory
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);  // expect waits_for_groups: copy still in flight
        BULK_COMMIT();
        BULK_WAIT(0);  // perhaps waits_for_groups: copy still in flight
    }
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x];  // expect waits_for_groups: copy still in flight
}

__global__ void waits_for_small_copies(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);  // expect waits_for_small_copies: copy still in flight
        asm volatile("cp.async.wait_all;" ::: "memory");
    }
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x];  // expect waits_for_small_copies: copy still in flight
}

__global__ void consumers_wait_for_empty(float *in, float *out)  // the producer's barrier
{
    __shared__ alignas(16) float tile[2][TILE];
    __shared__ uint64_t full[2], empty[2];
    SET_UP(full, 1);
    SET_UP(empty, 32);
    if (threadIdx.x == 0)
        for (int i = 0; i < 4; i++) {
            MBARRIER_WAIT(&empty[i % 2], (i / 2 + 1) % 2);
            MBARRIER_ARRIVE_EXPECT(&full[i % 2], BYTES);
            BULK_LOAD(tile[i % 2], in + i * TILE, BYTES, &full[i % 2]);  // expect consumers_wait_for_empty: race in shared memory
        }
    if (threadIdx.x >= 32) {
        float sum = 0;
        for (int i = 0; i < 4; i++) {
            wait_for(&empty[i % 2], (i / 2 + 1) % 2);
            sum += tile[i % 2][threadIdx.x];  // expect consumers_wait_for_empty: race in shared memory
            MBARRIER_ARRIVE(&empty[i % 2]);
        }
        out[threadIdx.x] = sum;
    }
}

__global__ void by_ldmatrix(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);  // expect by_ldmatrix: copy still in flight
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        unsigned x;
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(x) : "r"(in_shared(tile) + threadIdx.x % 8 * 16) : "memory");  // expect by_ldmatrix: copy still in flight
        out[threadIdx.x] = x;
    }
}

__global__ void last_part_not_waited_for(float *in, float *out)  // the tile came in two copies, each with its barrier
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar[2];
    SET_UP(bar, 1);
    if (threadIdx.x < 2) {
        MBARRIER_ARRIVE_EXPECT(&bar[threadIdx.x], BYTES / 2);
        BULK_LOAD(tile + threadIdx.x * TILE / 2, in + threadIdx.x * TILE / 2, BYTES / 2, &bar[threadIdx.x]);  // expect last_part_not_waited_for: copy still in flight
    }
    MBARRIER_WAIT(&bar[0], 0);
    float sum = 0;
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        sum += tile[i];  // expect last_part_not_waited_for: copy still in flight
    out[threadIdx.x] = sum;
}

__global__ void __cluster_dims__(1) within_shared_memory(float *in, float *out)
{
    __shared__ alignas(16) float from[64], to[64];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    from[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, 256u);
        BULK_MOVE(to, from, 256u, &bar);  // expect within_shared_memory: copy still in flight
    }
    __syncthreads();
    out[threadIdx.x] = to[threadIdx.x];  // expect within_shared_memory: copy still in flight
}

__global__ void by_cuda_ptx(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in, BYTES, &bar);  // expect by_cuda_ptx: race in shared memory
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, BYTES);
    }
    __syncthreads();
    if (threadIdx.x >= 32)
        while (!ptx::mbarrier_try_wait_parity(&bar, 0))
            ;
    out[threadIdx.x] = tile[threadIdx.x];  // expect by_cuda_ptx: race in shared memory
}

__global__ void by_cuda_barrier(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_global_to_shared(tile, in, BYTES, bar);  // expect by_cuda_barrier: race in shared memory
        (void)cuda::device::barrier_arrive_tx(bar, 1, BYTES);
    } else {
        (void)bar.arrive();
    }
    out[threadIdx.x] = tile[threadIdx.x];  // expect by_cuda_barrier: race in shared memory
}

__global__ void one_thread_waits_by_its_token(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    cuda::barrier<cuda::thread_scope_block>::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::memcpy_async(tile, in, cuda::aligned_size_t<16>(BYTES), bar);  // expect one_thread_waits_by_its_token: race in shared memory
        token = bar.arrive();
    } else {
        token = bar.arrive();
    }
    if (threadIdx.x == 0)
        bar.wait(std::move(token));
    __syncwarp();
    out[threadIdx.x] = tile[threadIdx.x];  // expect one_thread_waits_by_its_token: race in shared memory
}

__global__ void target_read_after_its_source_was(float *in, float *out)  // the result is written later than the tile is read
{
    __shared__ alignas(16) float tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, 256u);  // expect target_read_after_its_source_was: copy still in flight
        BULK_COMMIT();
        BULK_WAIT_READ(0);  // perhaps target_read_after_its_source_was: copy still in flight
        in[0] = out[5];     // expect target_read_after_its_source_was: copy still in flight
    }
}

__global__ void sum_read_too_early(float *in, float *out)
{
    __shared__ alignas(16) float tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_ADD("f32", out, tile, 256u);  // expect sum_read_too_early: copy still in flight
        BULK_COMMIT();
        BULK_ADD("f32", out + 64, tile, 256u);
        BULK_COMMIT();
        BULK_WAIT_READ(0);  // perhaps sum_read_too_early: copy still in flight
    }
    __syncthreads();
    in[threadIdx.x] = out[threadIdx.x];  // expect sum_read_too_early: copy still in flight
}

__global__ void one_group_too_few(float *in, float *out)
{
    __shared__ alignas(16) float tile[2][64];
    for (int i = 0; i < 2; i++)
        tile[i][threadIdx.x] = in[64 * i + threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++) {
            BULK_STORE(out + 64 * i, tile[i], 256u);  // expect one_group_too_few: copy still in flight
            BULK_COMMIT();
        }
        BULK_WAIT(1);  // perhaps one_group_too_few: copy still in flight
        in[0] = out[0];
        in[1] = out[64];  // expect one_group_too_few: copy still in flight
        BULK_WAIT(0);
    }
}

__global__ void loads_what_is_still_stored(float *in, float *out)  // another bulk copy reads the result
{
    __shared__ alignas(16) float tile[64], again[64];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    tile[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, 256u);  // expect loads_what_is_still_stored: copy still in flight
        BULK_COMMIT();
        BULK_WAIT_READ(0);  // perhaps loads_what_is_still_stored: copy still in flight
        MBARRIER_ARRIVE_EXPECT(&bar, 256u);
        BULK_LOAD(again, out, 256u, &bar);  // expect loads_what_is_still_stored: copy still in flight
    }
    MBARRIER_WAIT(&bar, 0);
    in[threadIdx.x] = again[threadIdx.x];
}

__global__ void stored_before_it_has_come(float *in, float *out)  // a bulk copy out of a tile that is being filled
{
    __shared__ alignas(16) float tile[64];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, 256u);
        BULK_LOAD(tile, in, 256u, &bar);  // expect stored_before_it_has_come: copy still in flight
        BULK_STORE(out, tile, 256u);      // expect stored_before_it_has_come: copy still in flight
        BULK_COMMIT();
        MBARRIER_WAIT(&bar, 0);
        BULK_WAIT(0);
    }
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    static float numbers[2048];
    for (int i = 0; i < 2048; i++)
        numbers[i] = i;
    float *in, *out;
    cudaMalloc(&in, sizeof numbers);
    cudaMalloc(&out, sizeof numbers);
    cudaMemcpy(in, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    cudaMemset(out, 0, sizeof numbers);
    struct {
        const char *name;
        void (*kernel)(float *, float *);
    } kernels[] = {
#define KERNEL(NAME) {#NAME, NAME}
        KERNEL(no_wait),
        KERNEL(never_waited_for),
        KERNEL(issuer_reads),
        KERNEL(issuer_reads_in_its_branch),
        KERNEL(parity_of_the_phase_before),
        KERNEL(parity_never_flipped),
        KERNEL(parity_flipped_each_tile),
        KERNEL(waits_for_another_stage),
        KERNEL(read_before_the_wait),
        KERNEL(result_ignored),
        KERNEL(first_warp_does_not_wait),
        KERNEL(second_warp_does_not_wait),
        KERNEL(lane_zero_waits),
        KERNEL(one_waits_and_raises_a_flag),
        KERNEL(expect_missing),
        KERNEL(expect_behind_the_arrival),
        KERNEL(expects_one_of_two),
        KERNEL(expects_for_the_first_tile_only),
        KERNEL(waits_for_groups),
        KERNEL(waits_for_small_copies),
        KERNEL(consumers_wait_for_empty),
        KERNEL(by_ldmatrix),
        KERNEL(last_part_not_waited_for),
        KERNEL(within_shared_memory),
        KERNEL(by_cuda_ptx),
        KERNEL(by_cuda_barrier),
        KERNEL(one_thread_waits_by_its_token),
        KERNEL(target_read_after_its_source_was),
        KERNEL(sum_read_too_early),
        KERNEL(one_group_too_few),
        KERNEL(loads_what_is_still_stored),
        KERNEL(stored_before_it_has_come),
    };
    for (auto k : kernels)
        if (strcmp(name, k.name) == 0)
            k.kernel<<<1, 64>>>(in, out);
    return cudaDeviceSynchronize();
}

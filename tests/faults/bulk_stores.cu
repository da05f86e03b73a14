// Bulk copies out of shared memory: sources that are written again before they have been read, kernels and threads that end
// first, targets that others touch meanwhile. The first argument picks the kernel; a comment `expect NAME: KIND` marks a line
// that the report on it must name. tests/right/bulk_stores.cu has the right ways.

#include <cuda/barrier>
#include <cuda/ptx>
#include <string.h>
#include "../hopper.h"

#define TILE 64
#define BYTES (TILE * 4)

namespace ptx = cuda::ptx;
namespace cde = cuda::device::experimental;

__global__ void rewritten_at_once(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);  // expect rewritten_at_once: source overwritten in flight
        BULK_COMMIT();
        tile[0] = 0;        // expect rewritten_at_once: source overwritten in flight
        BULK_WAIT_READ(0);  // perhaps rewritten_at_once: source overwritten in flight
    }
}

__global__ void rewritten_by_another(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);  // expect rewritten_by_another: source overwritten in flight
        BULK_COMMIT();
    }
    __syncthreads();
    tile[63 - threadIdx.x] = 1;  // expect rewritten_by_another: source overwritten in flight
    __syncthreads();
    if (threadIdx.x == 0)
        BULK_WAIT_READ(0);  // perhaps rewritten_by_another: source overwritten in flight
}

__global__ void one_group_too_few(float *in, float *out)  // of two buffers in turn
{
    __shared__ alignas(16) float tile[2][TILE];
    for (int i = 0; i < 6; i++) {
        if (threadIdx.x == 0)
            BULK_WAIT_READ(2);  // perhaps one_group_too_few: source overwritten in flight
        __syncthreads();
        tile[i % 2][threadIdx.x] = in[i * TILE + threadIdx.x];  // expect one_group_too_few: source overwritten in flight
        FENCE_ASYNC_SHARED();
        __syncthreads();
        if (threadIdx.x == 0) {
            BULK_STORE(out + i * TILE, tile[i % 2], BYTES);  // expect one_group_too_few: source overwritten in flight
            BULK_COMMIT();
        }
    }
    if (threadIdx.x == 0)
        BULK_WAIT(0);
}

__global__ void committed_never(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    for (int i = 0; i < 2; i++) {
        tile[threadIdx.x] = in[i * TILE + threadIdx.x];  // expect committed_never: source overwritten in flight
        FENCE_ASYNC_SHARED();
        __syncthreads();
        if (threadIdx.x == 0) {
            BULK_STORE(out + i * TILE, tile, BYTES);  // expect committed_never: source overwritten in flight
            BULK_WAIT_READ(0);                        // perhaps committed_never: source overwritten in flight
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void committed_before_the_copy(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    for (int i = 0; i < 2; i++) {
        tile[threadIdx.x] = in[i * TILE + threadIdx.x];  // expect committed_before_the_copy: source overwritten in flight
        FENCE_ASYNC_SHARED();
        __syncthreads();
        if (threadIdx.x == 0) {
            BULK_COMMIT();
            BULK_STORE(out + i * TILE, tile, BYTES);  // expect committed_before_the_copy: source overwritten in flight
            BULK_WAIT_READ(0);                        // perhaps committed_before_the_copy: source overwritten in flight
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void committed_by_another(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0)
        BULK_STORE(out, tile, BYTES);  // expect committed_by_another: source overwritten in flight
    __syncwarp();
    if (threadIdx.x == 1)
        BULK_COMMIT();
    BULK_WAIT_READ(0);  // perhaps committed_by_another: source overwritten in flight
    __syncthreads();
    tile[threadIdx.x] = 2;  // expect committed_by_another: source overwritten in flight
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void waited_for_by_another(float *in, float *out)  // whose groups are others
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);  // expect waited_for_by_another: source overwritten in flight
        BULK_COMMIT();
    }
    __syncthreads();
    if (threadIdx.x == 32)
        BULK_WAIT_READ(0);  // perhaps waited_for_by_another: source overwritten in flight
    __syncthreads();
    tile[threadIdx.x] = 2;  // expect waited_for_by_another: source overwritten in flight
    __syncthreads();
    if (threadIdx.x == 0)
        BULK_WAIT(0);
}

__device__ bool elect_one(int i) { return threadIdx.x == 32 * (i % 2); }  // each time another, so that the waits are another's

__global__ void elected_in_turn(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    for (int i = 0; i < 3; i++) {
        if (elect_one(i))
            BULK_WAIT_READ(0);  // perhaps elected_in_turn: source overwritten in flight
        __syncthreads();
        tile[threadIdx.x] = in[i * TILE + threadIdx.x];  // expect elected_in_turn: source overwritten in flight
        FENCE_ASYNC_SHARED();
        __syncthreads();
        if (elect_one(i)) {
            BULK_STORE(out + i * TILE, tile, BYTES);  // expect elected_in_turn: source overwritten in flight
            BULK_COMMIT();
        }
    }
    BULK_WAIT(0);
}

__global__ void wait_without_a_barrier(float *in, float *out)  // the issuer knows that its source has been read, the others do not
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);  // expect wait_without_a_barrier: race in shared memory
        BULK_COMMIT();
        BULK_WAIT_READ(0);
    }
    tile[threadIdx.x] = 1;  // expect wait_without_a_barrier: race in shared memory
}

__global__ void summed_again(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = 1;
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_ADD("f32", out, tile, BYTES);  // expect summed_again: source overwritten in flight
        BULK_COMMIT();
    }
    __syncthreads();
    atomicAdd(&tile[threadIdx.x], 1.0f);  // expect summed_again: source overwritten in flight
    __syncthreads();
    if (threadIdx.x == 0)
        BULK_WAIT(0);
}

__global__ void next_tile_into_the_source(float *in, float *out)  // a load fills what a store still reads
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        for (int i = 0; i < 3; i++) {
            MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
            BULK_LOAD(tile, in + i * TILE, BYTES, &bar);  // expect next_tile_into_the_source: source overwritten in flight
            MBARRIER_WAIT(&bar, i % 2);
            BULK_STORE(out + i * TILE, tile, BYTES);  // expect next_tile_into_the_source: source overwritten in flight
            BULK_COMMIT();
        }
        BULK_WAIT(0);
    }
}

__global__ void cleared_by_small_copies(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);  // expect cleared_by_small_copies: source overwritten in flight
        BULK_COMMIT();
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, 0;" ::"r"(in_shared(tile)), "l"(in) : "memory");  // expect cleared_by_small_copies: source overwritten in flight
        asm volatile("cp.async.wait_all;" ::: "memory");
        BULK_WAIT(0);
    }
}

__global__ void by_stmatrix(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);  // expect by_stmatrix: source overwritten in flight
        BULK_COMMIT();
    }
    __syncthreads();
    if (threadIdx.x < 32)
        asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(in_shared(tile) + threadIdx.x % 8 * 16), "r"(1) : "memory");  // expect by_stmatrix: source overwritten in flight
    if (threadIdx.x == 0)
        BULK_WAIT(0);
}

__global__ void source_in_global_memory(float *in, float *out)  // of a copy into shared memory
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);  // expect source_in_global_memory: source overwritten in flight
    }
    __syncthreads();
    in[threadIdx.x] = -1;    // expect source_in_global_memory: source overwritten in flight
    MBARRIER_WAIT(&bar, 0);  // perhaps source_in_global_memory: source overwritten in flight
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void __cluster_dims__(1) moved_within_shared_memory(float *in, float *out)
{
    __shared__ alignas(16) float from[TILE], to[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    from[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_MOVE(to, from, BYTES, &bar);  // expect moved_within_shared_memory: source overwritten in flight
    }
    __syncthreads();
    from[threadIdx.x] = 0;   // expect moved_within_shared_memory: source overwritten in flight
    MBARRIER_WAIT(&bar, 0);  // perhaps moved_within_shared_memory: source overwritten in flight
    out[threadIdx.x] = to[threadIdx.x];
}

__global__ void by_cuda_ptx(float *in, float *out)
{
    __shared__ alignas(16) float tile[2][TILE];
    for (int i = 0; i < 4; i++) {
        tile[i % 2][threadIdx.x] = in[i * TILE + threadIdx.x];  // expect by_cuda_ptx: source overwritten in flight
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        if (threadIdx.x == 0) {
            ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + i * TILE, tile[i % 2], BYTES);  // expect by_cuda_ptx: source overwritten in flight
            ptx::cp_async_bulk_commit_group();
            ptx::cp_async_bulk_wait_group_read(ptx::n32_t<2>());  // perhaps by_cuda_ptx: source overwritten in flight
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}

// ---- the end comes first ----

__global__ void ends_at_once(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);  // expect ends_at_once: transfer unfinished
        BULK_COMMIT();
    }
}

__global__ void ends_uncommitted(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);  // expect ends_uncommitted: transfer unfinished
        BULK_WAIT(0);
    }
}

__global__ void ends_with_the_last_group(float *in, float *out)
{
    __shared__ alignas(16) float tile[2][TILE];
    for (int i = 0; i < 4; i++) {
        if (threadIdx.x == 0)
            BULK_WAIT_READ(1);
        __syncthreads();
        tile[i % 2][threadIdx.x] = in[i * TILE + threadIdx.x];
        FENCE_ASYNC_SHARED();
        __syncthreads();
        if (threadIdx.x == 0) {
            BULK_STORE(out + i * TILE, tile[i % 2], BYTES);  // expect ends_with_the_last_group: transfer unfinished
            BULK_COMMIT();
        }
    }
}

__global__ void ends_one_group_too_early(float *in, float *out)
{
    __shared__ alignas(16) float tile[2][TILE];
    for (int i = 0; i < 2; i++)
        tile[i][threadIdx.x] = in[i * TILE + threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++) {
            BULK_STORE(out + i * TILE, tile[i], BYTES);  // expect ends_one_group_too_early: transfer unfinished
            BULK_COMMIT();
        }
        BULK_WAIT_READ(1);
    }
}

__global__ void returns_early(float *in, float *out)  // the issuer; others go on
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 32) {
        BULK_STORE(out, tile, BYTES);  // expect returns_early: transfer unfinished
        BULK_COMMIT();
        return;
    }
    asm volatile("bar.sync 1, 32;" ::: "memory");
    out[TILE + threadIdx.x] = tile[threadIdx.x];
}

__global__ void waits_elsewhere(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);  // expect waits_elsewhere: transfer unfinished
        BULK_COMMIT();
    } else {
        BULK_WAIT(0);
    }
    __syncthreads();
}

__global__ void waits_for_small_copies(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);  // expect waits_for_small_copies: transfer unfinished
        BULK_COMMIT();
        asm volatile("cp.async.wait_all;" ::: "memory");
    }
    __syncthreads();
}

__global__ void sum_at_the_end(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 63) {
        BULK_ADD("f32", out, tile, BYTES);  // expect sum_at_the_end: transfer unfinished
        BULK_COMMIT();
    }
}

__global__ void at_the_end_of_cde(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = in[threadIdx.x];
    cde::fence_proxy_async_shared_cta();
    __syncthreads();
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_shared_to_global(out, tile, BYTES);  // expect at_the_end_of_cde: transfer unfinished
        cde::cp_async_bulk_commit_group();
    }
}

// ---- the target ----

__global__ void target_written_by_its_issuer(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);  // expect target_written_by_its_issuer: target overwritten in flight
        BULK_COMMIT();
        BULK_WAIT_READ(0);  // perhaps target_written_by_its_issuer: target overwritten in flight
        out[3] = 1;         // expect target_written_by_its_issuer: target overwritten in flight
        BULK_WAIT(0);
    }
}

__global__ void target_written_twice(float *in, float *out)
{
    __shared__ alignas(16) float tile[2][TILE];
    for (int i = 0; i < 2; i++)
        tile[i][threadIdx.x] = in[i * TILE + threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++) {
            BULK_STORE(out, tile[i], BYTES);  // expect target_written_twice: target overwritten in flight
            BULK_COMMIT();
        }
        BULK_WAIT(0);
    }
}

__global__ void each_lane_its_own(float *in, float *out)  // to one place
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x < 8) {
        BULK_STORE(out, tile + 4 * threadIdx.x, 16);  // expect each_lane_its_own: race in global memory
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void summed_over_a_store(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);  // expect summed_over_a_store: target overwritten in flight
        BULK_COMMIT();
        BULK_ADD("f32", out, tile, BYTES);  // expect summed_over_a_store: target overwritten in flight
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void read_by_another_thread(float *in, float *out)  // which no barrier orders behind the wait
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = in[threadIdx.x];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);  // expect read_by_another_thread: race in global memory
        BULK_COMMIT();
        BULK_WAIT(0);
    }
    if (threadIdx.x == 32)
        in[0] = out[0];  // expect read_by_another_thread: race in global memory
}

__global__ void of_two_blocks_to_one_place(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = in[threadIdx.x] + blockIdx.x;
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);  // expect of_two_blocks_to_one_place: race in global memory
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void of_two_blocks_by_a_row(float *in, float *out)  // each writes 16 bytes more than its part
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = in[threadIdx.x] + blockIdx.x;
    FENCE_ASYNC();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out + blockIdx.x * (TILE - 4), tile, BYTES);  // expect of_two_blocks_by_a_row: race in global memory
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void of_two_blocks_one_adds(float *in, float *out)  // a sum, and atomics of another block, which go together; and a plain load
{
    __shared__ alignas(16) float tile[TILE];
    tile[threadIdx.x] = 1;
    FENCE_ASYNC();
    __syncthreads();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        BULK_ADD("f32", out, tile, BYTES);  // expect of_two_blocks_one_adds: race in global memory
        BULK_COMMIT();
        BULK_WAIT(0);
    }
    if (blockIdx.x == 1) {
        atomicAdd(&out[threadIdx.x], 1.0f);
        in[threadIdx.x] = out[threadIdx.x];  // expect of_two_blocks_one_adds: race in global memory
    }
}

__global__ void of_two_blocks_flag_without_a_wait(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    int *flag = (int *)(out + 1024);
    if (blockIdx.x == 0) {
        tile[threadIdx.x] = in[threadIdx.x];
        FENCE_ASYNC_SHARED();
        __syncthreads();
        if (threadIdx.x == 0) {
            BULK_STORE(out, tile, BYTES);  // expect of_two_blocks_flag_without_a_wait: race in global memory
            BULK_COMMIT();
            BULK_WAIT_READ(0);  // the source has been read; the target has not been written
            __threadfence();
            atomicExch(flag, 1);
            BULK_WAIT(0);
        }
        return;
    }
    if (threadIdx.x == 0) {
        while (atomicAdd(flag, 0) == 0)
            ;
        __threadfence();
    }
    __syncthreads();
    in[threadIdx.x] = out[threadIdx.x];  // expect of_two_blocks_flag_without_a_wait: race in global memory
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
        KERNEL(rewritten_at_once),
        KERNEL(rewritten_by_another),
        KERNEL(one_group_too_few),
        KERNEL(committed_never),
        KERNEL(committed_before_the_copy),
        KERNEL(committed_by_another),
        KERNEL(waited_for_by_another),
        KERNEL(elected_in_turn),
        KERNEL(wait_without_a_barrier),
        KERNEL(summed_again),
        KERNEL(next_tile_into_the_source),
        KERNEL(cleared_by_small_copies),
        KERNEL(by_stmatrix),
        KERNEL(source_in_global_memory),
        KERNEL(moved_within_shared_memory),
        KERNEL(by_cuda_ptx),
        KERNEL(ends_at_once),
        KERNEL(ends_uncommitted),
        KERNEL(ends_with_the_last_group),
        KERNEL(ends_one_group_too_early),
        KERNEL(returns_early),
        KERNEL(waits_elsewhere),
        KERNEL(waits_for_small_copies),
        KERNEL(sum_at_the_end),
        KERNEL(at_the_end_of_cde),
        KERNEL(target_written_by_its_issuer),
        KERNEL(target_written_twice),
        KERNEL(each_lane_its_own),
        KERNEL(summed_over_a_store),
        KERNEL(read_by_another_thread),
        KERNEL(of_two_blocks_to_one_place),
        KERNEL(of_two_blocks_by_a_row),
        KERNEL(of_two_blocks_one_adds),
        KERNEL(of_two_blocks_flag_without_a_wait),
    };
    for (auto k : kernels)
        if (strcmp(name, k.name) == 0)
            k.kernel<<<strstr(name, "of_two_blocks") ? 2 : 1, 64>>>(in, out);
    return cudaDeviceSynchronize();
}

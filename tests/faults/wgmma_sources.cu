// Operands in shared memory that are written while a product reads them, or by threads whose writes no fence has handed to the
// async proxy. The first argument picks the kernel; a comment `expect NAME: KIND` marks a line that the report on it must name.
// tests/right/wgmma_waits.cu and wgmma_tiles.cu have the right ways.

#include "wgmma_operands.h"

__global__ void rewritten(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect rewritten: source overwritten in flight
    WGMMA_COMMIT();
    A[threadIdx.x] = in[threadIdx.x];  // expect rewritten: source overwritten in flight
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void by_another_warpgroup(const half *in, float *out)  // which knows that the product has begun
{
    OPERANDS(A, B);
    float d[32] = {};
    if (threadIdx.x < 128) {
        WGMMA_FENCE();
        MULTIPLY(d, A, B);  // expect by_another_warpgroup: source overwritten in flight
        WGMMA_COMMIT();
    }
    __syncthreads();
    if (threadIdx.x == 200)
        B[16 * 64] = in[0];  // expect by_another_warpgroup: source overwritten in flight
    __syncthreads();
    WGMMA_WAIT(0);
    if (threadIdx.x < 128)
        write_sums(out, d);
}

__global__ void b_of_the_last_step(const half *in, float *out)  // and only where k is long
{
    OPERANDS(A, B);
    float d[32] = {};
    for (int k = 0; k < 64; k += 16) {
        WGMMA_FENCE();
        MULTIPLY(d, A + k, B + k);  // expect b_of_the_last_step: source overwritten in flight
        WGMMA_COMMIT();
        if (k < 48)
            WGMMA_WAIT(0);
    }
    if (threadIdx.x / 32 == 3)
        for (int i = threadIdx.x % 32; i < TILE; i += 32)
            B[i] = in[i];  // expect b_of_the_last_step: source overwritten in flight
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void refilled_by_a_bulk_copy(const half *in, float *out)
{
    OPERANDS(A, B);
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect refilled_by_a_bulk_copy: source overwritten in flight
    WGMMA_COMMIT();
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(A, in, BYTES, &bar);  // expect refilled_by_a_bulk_copy: source overwritten in flight
    }
    WGMMA_WAIT(0);
    MBARRIER_WAIT(&bar, 0);
    write_sums(out, d);
}

__global__ void stage_in_hand_is_refilled(const half *in, float *out)  // where the one before is meant
{
    OPERANDS(A, B);
    __shared__ alignas(1024) half stages[2][TILE];
    __shared__ uint64_t full[2];
    float d[32] = {};
    SET_UP(full, 1);
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; i++) {
            MBARRIER_ARRIVE_EXPECT(&full[i], BYTES);
            BULK_LOAD(stages[i], in + i * TILE, BYTES, &full[i]);
        }
    for (int i = 0; i < 4; i++) {
        MBARRIER_WAIT(&full[i % 2], i / 2 % 2);
        WGMMA_FENCE();
        MULTIPLY(d, A, stages[i % 2]);  // expect stage_in_hand_is_refilled: source overwritten in flight
        WGMMA_COMMIT();
        WGMMA_WAIT(1);  // perhaps stage_in_hand_is_refilled: source overwritten in flight
        __syncthreads();
        if (threadIdx.x == 0 && i + 2 < 4) {
            MBARRIER_ARRIVE_EXPECT(&full[i % 2], BYTES);
            BULK_LOAD(stages[i % 2], in + (i + 2) * TILE, BYTES, &full[i % 2]);  // expect stage_in_hand_is_refilled: source overwritten in flight
        }
    }
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void refilled_by_cp_async(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect refilled_by_cp_async: source overwritten in flight
    WGMMA_COMMIT();
    CP_ASYNC(&A[threadIdx.x * 8], in + threadIdx.x * 8);  // expect refilled_by_cp_async: source overwritten in flight
    WGMMA_WAIT(0);
    CP_ASYNC_WAIT();
    write_sums(out, d);
}

__global__ void epilogue_in_place_of_a(const half *in, float *out)  // the last group is not waited for
{
    OPERANDS(A, B);
    float d[32] = {}, e[32] = {};
    unsigned r[4] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);
    WGMMA_COMMIT();
    MULTIPLY(e, A, B);  // expect epilogue_in_place_of_a: source overwritten in flight
    WGMMA_COMMIT();
    WGMMA_WAIT(1);                                                        // perhaps epilogue_in_place_of_a: source overwritten in flight
    STMATRIX_4(in_shared(A) + threadIdx.x * 16, r[0], r[1], r[2], r[3]);  // expect epilogue_in_place_of_a: source overwritten in flight
    WGMMA_WAIT(0);
    write_sums(out, d);
    write_sums(out, e);
}

__global__ void uncommitted(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect uncommitted: source overwritten in flight
    WGMMA_WAIT(0);      // perhaps uncommitted: source overwritten in flight
    __syncthreads();
    if (threadIdx.x == 5)
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(in_shared(B)), "r"(0) : "memory");  // expect uncommitted: source overwritten in flight
    WGMMA_COMMIT();
    WGMMA_WAIT(0);  // perhaps uncommitted: source overwritten in flight
    write_sums(out, d);
}

__global__ void counted_in_the_tile(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect counted_in_the_tile: race in shared memory
    WGMMA_COMMIT();
    if (threadIdx.x == 64)
        atomicAdd((unsigned *)&A[56 * 64], 1);  // expect counted_in_the_tile: race in shared memory
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void rewritten_without_a_barrier(const half *in, float *out)  // by warps that may have waited before another has begun
{
    OPERANDS(A, B);
    float d[32] = {};
    for (int i = 0; i < 2; i++) {
        WGMMA_FENCE();
        MULTIPLY(d, A, B);  // expect rewritten_without_a_barrier: race in shared memory
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        if (threadIdx.x >= 128 && i == 0)
            for (int j = threadIdx.x - 128; j < TILE; j += 128)
                A[j] = in[j];  // expect rewritten_without_a_barrier: race in shared memory
        FENCE_ASYNC_SHARED();
        __syncthreads();
    }
    write_sums(out, d);
}

__global__ void no_barrier_before(const half *in, float *out)  // the tile of B is another warp's
{
    __shared__ alignas(1024) half A[TILE], B[TILE];
    fill(A, in);
    FENCE_ASYNC_SHARED();
    __syncthreads();
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        B[i] = in[i];  // expect no_barrier_before: race in shared memory
    FENCE_ASYNC_SHARED();
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect no_barrier_before: race in shared memory
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void no_proxy_fence(const half *in, float *out)
{
    __shared__ alignas(1024) half A[TILE], B[TILE];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x) {
        A[i] = in[i];  // expect no_proxy_fence: missing proxy fence
        B[i] = in[i];  // perhaps no_proxy_fence: missing proxy fence
    }
    __syncthreads();
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect no_proxy_fence: missing proxy fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void fence_of_one_thread(const half *in, float *out)  // before the barrier: the others' writes are not its
{
    __shared__ alignas(1024) half A[TILE], B[TILE];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x) {
        A[i] = in[i];  // expect fence_of_one_thread: missing proxy fence
        B[i] = in[i];  // perhaps fence_of_one_thread: missing proxy fence
    }
    if (threadIdx.x == 0)
        FENCE_ASYNC_SHARED();
    __syncthreads();
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect fence_of_one_thread: missing proxy fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void fence_in_front(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    FENCE_ASYNC_SHARED();
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        B[i] = in[i];  // expect fence_in_front: missing proxy fence
    __syncthreads();
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect fence_in_front: missing proxy fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

static __device__ __forceinline__ void put(half *to, const half *from)
{
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        to[i] = from[i];  // expect second_tile: missing proxy fence
}

__global__ void second_tile(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    for (int tile = 0; tile < 3; tile++) {
        WGMMA_FENCE();
        MULTIPLY(d, A, B);  // expect second_tile: missing proxy fence
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        __syncthreads();
        put(A, in + tile * TILE);
        __syncthreads();
    }
    write_sums(out, d);
}

__global__ void by_stmatrix(const half *in, float *out)  // P takes its way through shared memory
{
    OPERANDS(A, B);
    float d[32] = {};
    unsigned r[4] = {};
    for (int i = 0; i < 4; i++)
        STMATRIX_4(in_shared(A) + i * 2048 + threadIdx.x * 16, r[0], r[1], r[2], r[3]);  // expect by_stmatrix: missing proxy fence
    __syncthreads();
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect by_stmatrix: missing proxy fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void rows_of_one_warp(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    if (threadIdx.x / 32 == 2)
        A[50 * 64 + threadIdx.x % 32] = in[0];  // expect rows_of_one_warp: missing proxy fence
    else
        FENCE_ASYNC_SHARED();
    __syncthreads();
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect rows_of_one_warp: missing proxy fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void fence_of_global_memory(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        A[i] = in[i];  // expect fence_of_global_memory: missing proxy fence
    FENCE_ASYNC_GLOBAL();
    __syncthreads();
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect fence_of_global_memory: missing proxy fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void threadfence_instead(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        B[i] = in[i];  // expect threadfence_instead: missing proxy fence
    __threadfence_block();
    __syncthreads();
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect threadfence_instead: missing proxy fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void padded_with_zeros(const half *in, float *out)  // rows behind the last that a bulk copy has brought
{
    OPERANDS(A, B);
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    float d[32] = {};
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES / 2);
        BULK_LOAD(A, in, BYTES / 2, &bar);
    }
    MBARRIER_WAIT(&bar, 0);
    for (int i = TILE / 2 + threadIdx.x; i < TILE; i += blockDim.x)
        A[i] = __float2half(0);  // expect padded_with_zeros: missing proxy fence
    __syncthreads();
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect padded_with_zeros: missing proxy fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void filled_by_the_other_warpgroup(const half *in, float *out)  // named barriers order the two, and nothing else
{
    OPERANDS(A, B);
    if (threadIdx.x >= 128) {
        for (int i = threadIdx.x - 128; i < TILE; i += 128)
            A[i] = in[i];  // expect filled_by_the_other_warpgroup: missing proxy fence
        NAMED_ARRIVE(1, 256);
        return;
    }
    float d[32] = {};
    NAMED_SYNC(1, 256);
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect filled_by_the_other_warpgroup: missing proxy fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void copy_not_waited_for(const half *in, float *out)
{
    OPERANDS(A, B);
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    float d[32] = {};
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(A, in, BYTES, &bar);  // expect copy_not_waited_for: copy still in flight
    }
    __syncthreads();
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect copy_not_waited_for: copy still in flight
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    MBARRIER_WAIT(&bar, 0);
    write_sums(out, d);
}

__global__ void cp_async_not_waited_for(const half *in, float *out)
{
    OPERANDS(A, B);
    float d[32] = {};
    for (int i = threadIdx.x; i < TILE / 8; i += blockDim.x)
        CP_ASYNC(&B[i * 8], in + i * 8);  // expect cp_async_not_waited_for: copy still in flight
    FENCE_ASYNC_SHARED();
    __syncthreads();
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect cp_async_not_waited_for: copy still in flight
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    CP_ASYNC_WAIT();
    write_sums(out, d);
}

__global__ void waits_for_a_alone(const half *in, float *out)
{
    __shared__ alignas(1024) half A[TILE], B[TILE];
    __shared__ uint64_t bar[2];
    SET_UP(bar, 1);
    float d[32] = {};
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar[0], BYTES);
        MBARRIER_ARRIVE_EXPECT(&bar[1], BYTES);
        BULK_LOAD(A, in, BYTES, &bar[0]);
        BULK_LOAD(B, in, BYTES, &bar[1]);  // expect waits_for_a_alone: copy still in flight
    }
    MBARRIER_WAIT(&bar[0], 0);
    WGMMA_FENCE();
    MULTIPLY(d, A, B);  // expect waits_for_a_alone: copy still in flight
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    MBARRIER_WAIT(&bar[1], 0);
    write_sums(out, d);
}

int main(int argc, char **argv)
{
    const struct faulty kernels[] = {
        KERNEL(rewritten, 128),
        KERNEL(by_another_warpgroup, 256),
        KERNEL(b_of_the_last_step, 128),
        KERNEL(refilled_by_a_bulk_copy, 128),
        KERNEL(stage_in_hand_is_refilled, 128),
        KERNEL(refilled_by_cp_async, 128),
        KERNEL(epilogue_in_place_of_a, 128),
        KERNEL(uncommitted, 128),
        KERNEL(counted_in_the_tile, 128),
        KERNEL(rewritten_without_a_barrier, 256),
        KERNEL(no_barrier_before, 128),
        KERNEL(no_proxy_fence, 128),
        KERNEL(fence_of_one_thread, 128),
        KERNEL(fence_in_front, 128),
        KERNEL(second_tile, 128),
        KERNEL(by_stmatrix, 128),
        KERNEL(rows_of_one_warp, 128),
        KERNEL(fence_of_global_memory, 128),
        KERNEL(threadfence_instead, 128),
        KERNEL(padded_with_zeros, 128),
        KERNEL(filled_by_the_other_warpgroup, 256),
        KERNEL(copy_not_waited_for, 128),
        KERNEL(cp_async_not_waited_for, 128),
        KERNEL(waits_for_a_alone, 128),
    };
    return run_named(argc, argv, kernels, sizeof kernels / sizeof *kernels);
}

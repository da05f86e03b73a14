// mbarrier objects that are used wrongly. The first argument picks the kernel; a comment `expect NAME: KIND` marks a
// line that the report on it must name. tests/right/async.cu has the right ways.

#include <cuda/barrier>
#include <cuda_pipeline.h>
#include <stdio.h>
#include <string.h>

__global__ void never_initialised(float *out)
{
    __shared__ __mbarrier_t bar;
    (void)__mbarrier_arrive(&bar);  // expect never_initialised: no mbarrier
}

__global__ void invalidated(float *out)
{
    __shared__ __mbarrier_t bar;
    if (threadIdx.x == 0)
        __mbarrier_init(&bar, blockDim.x);
    __syncthreads();
    if (threadIdx.x == 0)
        __mbarrier_inval(&bar);
    __syncthreads();
    (void)__mbarrier_arrive(&bar);  // expect invalidated: no mbarrier
}

__global__ void initialised_too_late(float *out)
{
    __shared__ __mbarrier_t bar;
    if (threadIdx.x == 0)
        __mbarrier_init(&bar, blockDim.x);               // expect initialised_too_late: race in shared memory
    __mbarrier_token_t token = __mbarrier_arrive(&bar);  // expect initialised_too_late: race in shared memory
    while (!__mbarrier_test_wait(&bar, token)) {
    }
}

__global__ void by_all_threads(float *out)
{
    __shared__ __mbarrier_t bar;
    __mbarrier_init(&bar, blockDim.x);  // expect by_all_threads: race in shared memory
    __mbarrier_token_t token = __mbarrier_arrive(&bar);
    while (!__mbarrier_test_wait(&bar, token)) {
    }
}

__global__ void while_others_wait(float *out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0)
        init(&bar, blockDim.x);
    __syncthreads();
    if (threadIdx.x >= 32)
        bar.arrive_and_wait();
    else
        init(&bar, blockDim.x);  // expect while_others_wait: mbarrier in use
}

__global__ void one_arrival_missing(float *out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0)
        init(&bar, blockDim.x + 1);
    __syncthreads();
    bar.arrive_and_wait();  // expect one_arrival_missing: barrier deadlock, in missing
}

__global__ void wrong_parity(float *out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0)
        init(&bar, blockDim.x);
    __syncthreads();
    bar.arrive_and_wait();
    bar.wait_parity(true);  // expect wrong_parity: barrier deadlock, in parity
}

__global__ void polls_for_wrong_parity(float *out)
{
    __shared__ __mbarrier_t bar;
    if (threadIdx.x == 0)
        __mbarrier_init(&bar, blockDim.x);
    __syncthreads();
    (void)__mbarrier_arrive(&bar);
    while (!__mbarrier_test_wait_parity(&bar, 0)) {
    }
    while (!__mbarrier_test_wait_parity(&bar, 1)) {  // expect polls_for_wrong_parity: barrier deadlock
    }
}

__global__ void arrives_twice(float *out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0)
        init(&bar, 1);
    __syncthreads();
    if (threadIdx.x == 0)
        (void)bar.arrive(2);  // expect arrives_twice: too many arrivals
}

__global__ void for_nobody(float *out)
{
    __shared__ __mbarrier_t bar;
    if (threadIdx.x == 0)
        __mbarrier_init(&bar, 0);  // expect for_nobody: invalid mbarrier
}

__global__ void read_as_number(float *out)
{
    __shared__ __mbarrier_t bar;
    if (threadIdx.x == 0) {
        __mbarrier_init(&bar, blockDim.x);  // expect read_as_number: access to an mbarrier
        out[0] = bar;                       // expect read_as_number: access to an mbarrier
    }
}

__global__ void result_ignored(float *out)
{
    __shared__ float tile[64];
    __shared__ __mbarrier_t bar;
    int t = threadIdx.x;
    if (t == 0)
        __mbarrier_init(&bar, blockDim.x);
    __syncthreads();
    tile[t] = t;  // expect result_ignored: race in shared memory
    __mbarrier_token_t token = __mbarrier_arrive(&bar);
    if (t == 62) {  // the last to arrive: the phase is over, but a test may say that it is not yet
        (void)__mbarrier_test_wait(&bar, token);
        out[t] = tile[0];  // expect result_ignored: race in shared memory
    }
}

// It has waited for the phase before, and a test of the next says once that this one is not over, as any first test may.
__global__ void result_ignored_behind_a_wait(float *out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ volatile bool waited, told;
    __shared__ float number;
    if (threadIdx.x == 0) {
        init(&bar, 1);
        waited = told = false;
    }
    __syncthreads();
    auto native = cuda::device::barrier_native_handle(bar);
    if (threadIdx.x == 0) {
        (void)__mbarrier_test_wait_parity(native, 0);
        bar.wait(bar.arrive());
        waited = true;
        while (!told)
            ;
        (void)__mbarrier_test_wait_parity(native, 1);
        out[0] = number;  // expect result_ignored_behind_a_wait: race in shared memory
    } else if (threadIdx.x == 32) {
        while (!waited)
            ;
        number = 1;  // expect result_ignored_behind_a_wait: race in shared memory
        (void)bar.arrive();
        told = true;
    }
}

__global__ void one_thread_waits(float *out)
{
    __shared__ float tile[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    int t = threadIdx.x;
    if (t == 0)
        init(&bar, blockDim.x);
    __syncthreads();
    tile[t] = t;  // expect one_thread_waits: race in shared memory
    auto token = bar.arrive();
    if (t == 0)
        bar.wait(std::move(token));
    out[t] = tile[63 - t];  // expect one_thread_waits: race in shared memory
}

__global__ void written_after_arrival(float *out)
{
    __shared__ float tile[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    int t = threadIdx.x;
    if (t == 0)
        init(&bar, blockDim.x);
    __syncthreads();
    auto token = bar.arrive();
    tile[t] = t;  // expect written_after_arrival: race in shared memory
    bar.wait(std::move(token));
    out[t] = tile[63 - t];  // expect written_after_arrival: race in shared memory
}

__global__ void token_of_two_phases_ago(float *out)
{
    __shared__ __mbarrier_t bar;
    if (threadIdx.x == 0)
        __mbarrier_init(&bar, blockDim.x);
    __syncthreads();
    __mbarrier_token_t first = __mbarrier_arrive(&bar), other = first;
    for (int i = 0; i < 2; i++) {
        while (!__mbarrier_test_wait(&bar, other)) {
        }
        other = __mbarrier_arrive(&bar);
    }
    out[threadIdx.x] = __mbarrier_test_wait(&bar, first);  // expect token_of_two_phases_ago: stale mbarrier phase, in token
}

__global__ void waits_by_an_old_token(float *out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0)
        init(&bar, blockDim.x);
    __syncthreads();
    auto first = bar.arrive();
    bar.wait_parity(false);
    bar.arrive_and_wait();
    bar.arrive_and_wait();
    bar.wait(std::move(first));  // expect waits_by_an_old_token: stale mbarrier phase
    out[threadIdx.x] = 1;
}

__global__ void parity_of_two_phases_ago(float *out)  // the second warp may find phase 2, of the same parity
{
    __shared__ __mbarrier_t bar;
    if (threadIdx.x == 0)
        __mbarrier_init(&bar, 32);
    __syncthreads();
    if (threadIdx.x < 32) {
        for (int i = 0; i < 2; i++) {
            (void)__mbarrier_arrive(&bar);
            while (!__mbarrier_test_wait_parity(&bar, i)) {
            }
        }
    } else {
        while (!__mbarrier_test_wait_parity(&bar, 0)) {  // expect parity_of_two_phases_ago: stale mbarrier phase, in parity
        }
    }
    out[threadIdx.x] = 1;
}

__device__ void wait_for(__mbarrier_t *bar, bool parity)
{
    while (!__mbarrier_try_wait_parity(bar, parity, 100)) {  // expect who_asks_for_what: barrier deadlock
    }
}

__global__ void who_asks_for_what(float *out)
{
    __shared__ __mbarrier_t full[2], empty[2];
    if (threadIdx.x < 2) {
        __mbarrier_init(&full[threadIdx.x], 32);
        __mbarrier_init(&empty[threadIdx.x], 32);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        wait_for(&empty[1], 0);  // the first wait for an empty slot asks for parity 1
        (void)__mbarrier_arrive(&full[1]);
    } else {
        wait_for(&full[1], 0);
        (void)__mbarrier_arrive(&empty[1]);
    }
    out[threadIdx.x] = 1;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    float *out;
    cudaMalloc(&out, 64 * sizeof *out);
    struct {
        const char *name;
        void (*kernel)(float *);
    } kernels[] = {
#define KERNEL(NAME) {#NAME, NAME}
        KERNEL(never_initialised),
        KERNEL(invalidated),
        KERNEL(initialised_too_late),
        KERNEL(by_all_threads),
        KERNEL(while_others_wait),
        KERNEL(one_arrival_missing),
        KERNEL(wrong_parity),
        KERNEL(polls_for_wrong_parity),
        KERNEL(arrives_twice),
        KERNEL(for_nobody),
        KERNEL(read_as_number),
        KERNEL(result_ignored),
        KERNEL(result_ignored_behind_a_wait),
        KERNEL(one_thread_waits),
        KERNEL(written_after_arrival),
        KERNEL(token_of_two_phases_ago),
        KERNEL(waits_by_an_old_token),
        KERNEL(parity_of_two_phases_ago),
        KERNEL(who_asks_for_what),
    };
    for (auto k : kernels)
        if (strcmp(name, k.name) == 0)
            k.kernel<<<1, 64>>>(out);
    return cudaDeviceSynchronize();
}

// cuda::barrier with phases that wait for bytes: bulk copies by cuda::device::memcpy_async_tx, by cuda::memcpy_async and by
// cuda::device::experimental, each waited for as it should be.

#include <cooperative_groups.h>
#include <cuda/barrier>
#include "right.h"

namespace cg = cooperative_groups;
namespace cde = cuda::device::experimental;
using barrier = cuda::barrier<cuda::thread_scope_block>;

enum { N = 256, STEPS = 5, THREADS = 64 };  // a step copies a tile of N numbers

__device__ void begin(barrier *bar, int arrivals)
{
    if (threadIdx.x == 0) {
        init(bar, arrivals);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
}

__device__ void write_reversed(float *out, const float *tile)
{
    for (int i = threadIdx.x; i < N; i += blockDim.x)
        out[i] = tile[N - 1 - i];
}

// All threads arrive, and one of them with the bytes.
__global__ void by_arrive_tx(const float *in, float *out)
{
    __shared__ alignas(128) float tile[N];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier bar;
    begin(&bar, THREADS);
    for (int step = 0; step < STEPS; step++) {
        barrier::arrival_token token;
        if (threadIdx.x == 0) {
            cuda::device::memcpy_async_tx(tile, in + step * N, cuda::aligned_size_t<16>(sizeof tile), bar);
            token = cuda::device::barrier_arrive_tx(bar, 1, sizeof tile);
        } else {
            token = bar.arrive();
        }
        bar.wait(std::move(token));
        write_reversed(out + step * N, tile);
        __syncthreads();
    }
}

// One thread arrives for all, in two ways.
__global__ void by_one_for_all(const float *in, float *out)
{
    __shared__ alignas(128) float tile[N];
    __shared__ barrier bar;
    begin(&bar, THREADS);
    for (int step = 0; step < STEPS; step++) {
        if (threadIdx.x == 0 && step % 2) {
            cde::cp_async_bulk_global_to_shared(tile, in + step * N, sizeof tile, bar);
            (void)cuda::device::barrier_arrive_tx(bar, THREADS, sizeof tile);
        } else if (threadIdx.x == 0) {
            cuda::device::barrier_expect_tx(bar, sizeof tile);
            cde::cp_async_bulk_global_to_shared(tile, in + step * N, sizeof tile, bar);
            (void)bar.arrive(THREADS);
        }
        bar.wait_parity(step % 2);
        write_reversed(out + step * N, tile);
        __syncthreads();
    }
}

// cuda::memcpy_async, by a group and by one thread, with a size that says how it is aligned, or of a type that is.
__global__ void by_memcpy_async(const float *in, float *out)
{
    __shared__ alignas(16) float4 tile[N / 4];
    __shared__ barrier bar;
    auto block = cg::this_thread_block();
    begin(&bar, THREADS);
    for (int step = 0; step < STEPS; step++) {
        const float4 *from = (const float4 *)(in + step * N);
        if (step % 3 == 0)
            cuda::memcpy_async(block, tile, from, sizeof tile, bar);
        else if (step % 3 == 1)
            cuda::memcpy_async(block, (float *)tile, in + step * N, cuda::aligned_size_t<16>(sizeof tile), bar);
        else if (threadIdx.x < N / 4)
            cuda::memcpy_async(&tile[threadIdx.x], &from[threadIdx.x], sizeof(float4), bar);
        bar.arrive_and_wait();
        write_reversed(out + step * N, (const float *)tile);
        __syncthreads();
    }
}

// Of addresses that are no multiples of 16, and from shared memory, no bulk copy is made.
__global__ void by_small_pieces(const float *in, float *out)
{
    __shared__ alignas(16) float tile[N], again[N];
    __shared__ barrier bar;
    auto block = cg::this_thread_block();
    begin(&bar, THREADS);
    for (int step = 0; step < STEPS; step++) {
        cuda::memcpy_async(block, tile + 1, in + step * N + 1, (N - 1) * sizeof *tile, bar);
        if (threadIdx.x == 0)
            tile[0] = in[step * N];
        bar.arrive_and_wait();
        cuda::memcpy_async(block, again, tile, cuda::aligned_size_t<16>(sizeof tile), bar);
        bar.arrive_and_wait();
        write_reversed(out + step * N, again);
        __syncthreads();
    }
}

// What cuda::memcpy_async does by bulk copies asks for no fence between the proxies: libcu++ does not speak of them. The barrier
// is initialised by one thread, the tile cleared by all, and another begins the copies.
__global__ void without_a_fence(const float *in, float *out)
{
    __shared__ alignas(16) float4 tile[N / 4];
    __shared__ barrier bar;
    if (threadIdx.x == 0)
        init(&bar, THREADS);
    tile[threadIdx.x] = make_float4(0, 0, 0, 0);
    __syncthreads();
    for (int step = 0; step < STEPS; step++) {
        if (threadIdx.x == 40)
            cuda::memcpy_async(tile, (const float4 *)(in + step * N), cuda::aligned_size_t<16>(sizeof tile), bar);
        bar.arrive_and_wait();
        write_reversed(out + step * N, (const float *)tile);
        __syncthreads();
        tile[threadIdx.x].x = -1;
        __syncthreads();
    }
}

// In by one bulk copy and out by another: the programming guide's example.
__global__ void in_and_out(const float *in, float *out)
{
    __shared__ alignas(128) float tile[N], turned[N];
    __shared__ barrier bar;
    begin(&bar, THREADS);
    for (int step = 0; step < STEPS; step++) {
        barrier::arrival_token token;
        if (threadIdx.x == 0) {
            cde::cp_async_bulk_global_to_shared(tile, in + step * N, sizeof tile, bar);
            token = cuda::device::barrier_arrive_tx(bar, 1, sizeof tile);
        } else {
            token = bar.arrive();
        }
        bar.wait(std::move(token));
        write_reversed(turned, tile);
        cde::fence_proxy_async_shared_cta();
        __syncthreads();
        if (threadIdx.x == 0) {
            cde::cp_async_bulk_shared_to_global(out + step * N, turned, sizeof turned);
            cde::cp_async_bulk_commit_group();
            cde::cp_async_bulk_wait_group_read<0>();
        }
        __syncthreads();
    }
}

int main()
{
    const float *host = numbers(N * STEPS, 1);
    const float *in = to_device(host, N * STEPS);
    float *out = to_device<float>(NULL, N * STEPS);
    void (*const kernels[])(const float *, float *) = {by_arrive_tx,    by_one_for_all,  by_memcpy_async,
                                                       by_small_pieces, without_a_fence, in_and_out};
    for (auto kernel : kernels) {
        CHECK(cudaMemset(out, 0xff, N * STEPS * sizeof *out));
        kernel<<<1, THREADS>>>(in, out);
        const float *got = to_host(out, N * STEPS);
        for (int i = 0; i < N * STEPS; i++)
            SAME(got[i], host[i / N * N + N - 1 - i % N]);
    }
    return 0;
}

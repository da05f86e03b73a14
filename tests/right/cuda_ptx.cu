// Every function of <cuda/ptx> that is offered for mbarriers, bulk copies, fences and special registers; what they are given, the
// copies and the phases show.

#include <cuda/ptx>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "right.h"

namespace ptx = cuda::ptx;

enum { THREADS = 64, N = 256 };  // numbers of a tile

__device__ void begin(uint64_t *barrier, int arrivals)
{
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(barrier, arrivals);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
}

// ---- mbarriers: a phase for each way to arrive and to wait ----

__global__ void phases(unsigned *out)
{
    __shared__ alignas(8) uint64_t barrier;
    __shared__ unsigned passed[THREADS];
    const int t = threadIdx.x;
    unsigned phase = 0;
    begin(&barrier, THREADS);
    auto next = [&] {
        phase++;
        __syncthreads();
    };

    passed[t] = t;
    uint64_t token = ptx::mbarrier_arrive(&barrier);
    while (!ptx::mbarrier_test_wait(&barrier, token))
        ;
    out[t] = passed[THREADS - 1 - t];
    next();

    if (t % 2 == 0)
        ptx::mbarrier_arrive(&barrier, 2);
    while (!ptx::mbarrier_test_wait_parity(&barrier, phase % 2))
        ;
    next();

    if (t == 0)
        ptx::mbarrier_arrive_no_complete(&barrier, THREADS - 1);
    __syncthreads();
    if (t == 1)
        ptx::mbarrier_arrive(&barrier);
    while (!ptx::mbarrier_try_wait_parity(&barrier, phase % 2))
        ;
    next();

    token = ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier);
    while (!ptx::mbarrier_try_wait(&barrier, token))
        ;
    next();

    token = ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_shared, &barrier, 1);
    while (!ptx::mbarrier_try_wait(&barrier, token, 1000))
        ;
    next();

    token = ptx::mbarrier_arrive(ptx::sem_relaxed, ptx::scope_cta, ptx::space_shared, &barrier);
    while (!ptx::mbarrier_try_wait(ptx::sem_relaxed, ptx::scope_cta, &barrier, token))
        ;
    next();

    ptx::mbarrier_arrive(ptx::sem_relaxed, ptx::scope_cluster, ptx::space_shared, &barrier, 1);
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_relaxed, ptx::scope_cluster, &barrier, phase % 2, 1000))
        ;
    next();

    passed[t] = 2 * t;
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, &barrier);
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &barrier, phase % 2))
        ;
    out[t] += passed[THREADS - 1 - t];
    next();

    if (t % 4 == 0)
        ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, &barrier, 4);
    while (!ptx::mbarrier_try_wait_parity(&barrier, phase % 2, 1000))
        ;
    next();

    token = ptx::mbarrier_arrive(&barrier);
    while (!ptx::mbarrier_test_wait(ptx::sem_acquire, ptx::scope_cta, &barrier, token))
        ;
    next();

    ptx::mbarrier_arrive(&barrier);
    while (!ptx::mbarrier_test_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &barrier, phase % 2))
        ;
    next();

    ptx::cp_async_mbarrier_arrive(&barrier);
    ptx::cp_async_mbarrier_arrive_noinc(&barrier);
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cta, &barrier, phase % 2, 1000))
        ;
    next();

    token = ptx::mbarrier_arrive(&barrier);
    while (!ptx::mbarrier_try_wait(ptx::sem_acquire, ptx::scope_cta, &barrier, token, 1000))
        ;
    next();
    if (t == 0)
        out[THREADS] = phase;
}

// ---- copies; those within shared memory need a cluster, if only of one block ----

__global__ void __cluster_dims__(1) copied(const int *in, int *out)
{
    __shared__ alignas(128) int tile[4][N];
    __shared__ alignas(8) uint64_t barrier;
    const unsigned bytes = sizeof tile[0];
    const int t = threadIdx.x;
    begin(&barrier, 1);
    if (t == 0) {
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile[0], in, bytes, &barrier);
        ptx::cp_async_bulk(ptx::space_shared, ptx::space_global, tile[1], in + N, bytes, &barrier);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile[2], in + 2 * N, bytes, &barrier, (uint16_t)1);
        ptx::mbarrier_expect_tx(ptx::sem_relaxed, ptx::scope_cta, ptx::space_shared, &barrier, bytes);
        ptx::mbarrier_expect_tx(ptx::sem_relaxed, ptx::scope_cluster, ptx::space_cluster, &barrier, bytes);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier, bytes);
    }
    while (!ptx::mbarrier_try_wait_parity(&barrier, 0))
        ;
    for (int i = t; i < N; i += THREADS)
        tile[0][i] += tile[1][i] + tile[2][i];
    ptx::fence_proxy_async();
    __syncthreads();
    if (t == 0) {
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, tile[3], tile[0], bytes, &barrier);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_relaxed, ptx::scope_cluster, ptx::space_cluster, &barrier, bytes);
        while (!ptx::mbarrier_try_wait_parity(&barrier, 1))
            ;
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, tile[3], bytes);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + N, tile[0], bytes);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<1>());
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

// ---- reductions ----

// What a tile holds is combined with what is in global memory, or with another tile.
template <class T, class Op> __device__ void into_global(Op op, T *out, T value)
{
    __shared__ alignas(16) T tile[16 / sizeof(T)];
    __syncthreads();
    if (threadIdx.x == 0) {
        for (T &x : tile)
            x = value;
        ptx::fence_proxy_async(ptx::space_shared);
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, op, out, tile, 16);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
    __syncthreads();
}

template <class T, class Op> __device__ void into_shared(Op op, T *out, T value)
{
    __shared__ alignas(16) T tile[16 / sizeof(T)], sum[16 / sizeof(T)];
    __shared__ alignas(8) uint64_t barrier;
    begin(&barrier, 1);
    if (threadIdx.x == 0) {
        for (int i = 0; i < 16 / sizeof(T); i++) {
            tile[i] = value;
            sum[i] = out[i];
        }
        ptx::fence_proxy_async(ptx::space_shared);
        ptx::cp_reduce_async_bulk(ptx::space_cluster, ptx::space_shared, op, sum, tile, 16, &barrier);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier, 16);
        while (!ptx::mbarrier_try_wait_parity(&barrier, 0))
            ;
        for (int i = 0; i < 16 / sizeof(T); i++)
            out[i] = sum[i];
    }
    __syncthreads();
}

template <class T> __device__ T *row(T *out, int i) { return out + i * (16 / sizeof(T)); }

__global__ void __cluster_dims__(1) of_unsigned(unsigned *out, unsigned *shared)
{
    into_global(ptx::op_add, row(out, 0), 5u);
    into_global(ptx::op_min, row(out, 1), 5u);
    into_global(ptx::op_max, row(out, 2), 5u);
    into_global(ptx::op_inc, row(out, 3), 5u);
    into_global(ptx::op_dec, row(out, 4), 5u);
    into_global(ptx::op_and_op, row(out, 5), 5u);
    into_global(ptx::op_or_op, row(out, 6), 5u);
    into_global(ptx::op_xor_op, row(out, 7), 5u);
    into_shared(ptx::op_add, row(shared, 0), 5u);
    into_shared(ptx::op_min, row(shared, 1), 5u);
    into_shared(ptx::op_max, row(shared, 2), 5u);
    into_shared(ptx::op_inc, row(shared, 3), 5u);
    into_shared(ptx::op_dec, row(shared, 4), 5u);
    into_shared(ptx::op_and_op, row(shared, 5), 5u);
    into_shared(ptx::op_or_op, row(shared, 6), 5u);
    into_shared(ptx::op_xor_op, row(shared, 7), 5u);
}
__global__ void __cluster_dims__(1) of_int(int *out, int *shared)
{
    into_global(ptx::op_add, row(out, 0), -5);
    into_global(ptx::op_min, row(out, 1), -5);
    into_global(ptx::op_max, row(out, 2), -5);
    into_shared(ptx::op_add, row(shared, 0), -5);
    into_shared(ptx::op_min, row(shared, 1), -5);
    into_shared(ptx::op_max, row(shared, 2), -5);
}
__global__ void __cluster_dims__(1) of_wide(uint64_t *out, uint64_t *shared)
{
    into_global(ptx::op_add, row(out, 0), (uint64_t)1 << 40);
    into_global(ptx::op_min, row(out, 1), (uint64_t)1 << 40);
    into_global(ptx::op_max, row(out, 2), (uint64_t)1 << 40);
    into_global(ptx::op_and_op, row(out, 3), (uint64_t)3 << 40);
    into_global(ptx::op_or_op, row(out, 4), (uint64_t)1 << 40);
    into_global(ptx::op_xor_op, row(out, 5), (uint64_t)1 << 40);
    into_shared(ptx::op_add, row(shared, 0), (uint64_t)1 << 40);
}
__global__ void __cluster_dims__(1) of_wide_int(int64_t *out, int64_t *shared)
{
    into_global(ptx::op_add, row(out, 0), -((int64_t)1 << 40));
    into_global(ptx::op_min, row(out, 1), -((int64_t)1 << 40));
    into_global(ptx::op_max, row(out, 2), -((int64_t)1 << 40));
    into_shared(ptx::op_add, row(shared, 0), -((int64_t)1 << 40));
}
__global__ void of_floats(float *out, double *wide)
{
    into_global(ptx::op_add, out, 0.5f);
    into_global(ptx::op_add, wide, 0.25);
}
template <class T> __global__ void of_halves(T *out)
{
    into_global(ptx::op_add, row(out, 0), T(1.5f));
    into_global(ptx::op_min, row(out, 1), T(1.5f));
    into_global(ptx::op_max, row(out, 2), T(1.5f));
}

// ---- fences and registers ----

__global__ void fenced(unsigned *out)
{
    ptx::fence(ptx::sem_sc, ptx::scope_cta);
    ptx::fence(ptx::sem_sc, ptx::scope_gpu);
    ptx::fence(ptx::sem_sc, ptx::scope_cluster);
    ptx::fence(ptx::sem_acq_rel, ptx::scope_cta);
    ptx::fence(ptx::sem_acq_rel, ptx::scope_sys);
    ptx::fence(ptx::sem_acq_rel, ptx::scope_cluster);
    ptx::fence(ptx::sem_acquire, ptx::scope_gpu);
    ptx::fence(ptx::sem_release, ptx::scope_gpu);
    ptx::fence_sync_restrict(ptx::sem_acquire, ptx::space_cluster, ptx::scope_cluster);
    ptx::fence_sync_restrict(ptx::sem_release, ptx::space_shared, ptx::scope_cluster);
    ptx::fence_proxy_alias();
    ptx::fence_proxy_async();
    ptx::fence_proxy_async(ptx::space_global);
    ptx::fence_proxy_async(ptx::space_shared);
    ptx::fence_proxy_async(ptx::space_cluster);
    ptx::fence_proxy_async_generic_sync_restrict(ptx::sem_acquire, ptx::space_cluster, ptx::scope_cluster);
    ptx::fence_proxy_async_generic_sync_restrict(ptx::sem_release, ptx::space_shared, ptx::scope_cluster);
    unsigned t = ptx::get_sreg_tid_x() + ptx::get_sreg_ntid_x() * ptx::get_sreg_ctaid_x();
    out[t] = ptx::get_sreg_laneid() + 100 * (ptx::get_sreg_tid_x() / 32) + 1000 * ptx::get_sreg_nctaid_x() +
             10000 * ptx::get_sreg_ntid_y() + 100000 * (ptx::get_sreg_clock64() > 0) +
             1000000 * (ptx::get_sreg_lanemask_lt() == (1u << ptx::get_sreg_laneid()) - 1);
}

template <class T> static T *filled(int rows, T value)
{
    int n = rows * (16 / sizeof(T));
    T *host = (T *)malloc(n * sizeof(T));
    for (int i = 0; i < n; i++)
        host[i] = value;
    return to_device(host, n);
}
template <class T, class... W> static void check_rows(const T *out, W... want)
{
    const double wanted[] = {(double)want...};
    const T *got = to_host(out, sizeof...(want) * (16 / sizeof(T)));
    for (int i = 0; i < sizeof...(want); i++)
        for (int j = 0; j < 16 / sizeof(T); j++)
            SAME((double)(float)got[i * (16 / sizeof(T)) + j], (double)(float)wanted[i]);
}

int main()
{
    unsigned *numbers = to_device<unsigned>(NULL, 2 * THREADS + 1);
    phases<<<1, THREADS>>>(numbers);
    const unsigned *number = to_host(numbers, THREADS + 1);
    for (int t = 0; t < THREADS; t++)
        SAME(number[t], 3 * (THREADS - 1 - t));
    SAME(number[THREADS], 13);

    int host[3 * N];
    for (int i = 0; i < 3 * N; i++)
        host[i] = 3 * i;
    int *in = to_device(host, 3 * N), *out = to_device<int>(NULL, 2 * N);
    copied<<<1, THREADS>>>(in, out);
    const int *got = to_host(out, 2 * N);
    for (int i = 0; i < 2 * N; i++)
        SAME(got[i], host[i % N] + host[i % N + N] + host[i % N + 2 * N]);

    unsigned *u = filled(8, 6u), *us = filled(8, 6u);
    of_unsigned<<<1, THREADS>>>(u, us);
    check_rows(u, 11, 5, 6, 0, 5, 4, 7, 3);
    check_rows(us, 11, 5, 6, 0, 5, 4, 7, 3);
    int *i = filled(3, 6), *is = filled(3, 6);
    of_int<<<1, THREADS>>>(i, is);
    check_rows(i, 1, -5, 6);
    check_rows(is, 1, -5, 6);
    const double two_40 = (double)((uint64_t)1 << 40);
    uint64_t *w = filled(6, (uint64_t)1 << 40), *ws = filled(1, (uint64_t)1 << 40);
    of_wide<<<1, THREADS>>>(w, ws);
    check_rows(w, 2 * two_40, two_40, two_40, two_40, two_40, 0);
    check_rows(ws, 2 * two_40);
    int64_t *v = filled(3, (int64_t)7), *vs = filled(1, (int64_t)7);
    of_wide_int<<<1, THREADS>>>(v, vs);
    check_rows(v, 7 - two_40, -two_40, 7);
    check_rows(vs, 7 - two_40);
    float *f = filled(1, 1.0f);
    double *d = filled(1, 1.0);
    of_floats<<<1, THREADS>>>(f, d);
    check_rows(f, 1.5);
    check_rows(d, 1.25);
    __half *h = filled(3, __half(2.0f));
    of_halves<<<1, THREADS>>>(h);
    check_rows(h, 3.5, 1.5, 2);
    __nv_bfloat16 *b = filled(3, __nv_bfloat16(2.0f));
    of_halves<<<1, THREADS>>>(b);
    check_rows(b, 3.5, 1.5, 2);

    fenced<<<2, THREADS>>>(numbers);
    number = to_host(numbers, 2 * THREADS);
    for (int t = 0; t < 2 * THREADS; t++)
        SAME(number[t], 1112000 + t % 32 + 100 * (t % THREADS / 32));
    return 0;
}

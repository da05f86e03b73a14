// Forms of bulk copies and of mbarriers that <cuda/ptx> has no function for: hints for L2, generic addresses, sinks, bytes that a
// thread completes, copies of nothing, and arrivals that drop out with bytes.

#include <stdint.h>
#include "right.h"

enum { THREADS = 64, N = 256, BYTES = N * 4 };

__device__ unsigned in_shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ unsigned over(unsigned barrier, int parity)
{
    unsigned over;
    asm volatile("{ .reg .pred p;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2, 0x989680;\n"
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(over)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    return over;
}

__device__ void begin(uint64_t *barrier, int arrivals)
{
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.b64 [%0], %1;" ::"l"(barrier), "r"(arrivals) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
}

__global__ void hinted(const float *in, float *out)
{
    __shared__ alignas(128) float tile[N];
    __shared__ uint64_t barrier;
    const unsigned to = in_shared(tile), bar = in_shared(&barrier);
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    begin(&barrier, 1);
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.prefetch.L2.global.L2::cache_hint [%0], %1, %2;" ::"l"(in), "r"(BYTES),
                     "l"(policy));
        asm volatile("mbarrier.arrive.expect_tx.b64 _, [%0], %1;" ::"l"(&barrier), "r"(BYTES) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
                     "[%0], [%1], %2, [%3], %4;" ::"r"(to),
                     "l"(in), "r"(BYTES / 2), "r"(bar), "l"(policy)
                     : "memory");
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint "
            "[%0], [%1], %2, [%3], %4, %5;" ::"r"(to + BYTES / 2),
            "l"(in + N / 2), "r"(BYTES / 2), "r"(bar), "h"((short)1), "l"(policy)
            : "memory");
    }
    while (!over(bar, 0))
        ;
    for (int i = threadIdx.x; i < N; i += THREADS)
        tile[i] += 1;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;" ::"l"(out),
                     "r"(to), "r"(BYTES), "l"(policy)
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
        asm volatile(
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.add.f32 [%0], [%1], %2, %3;" ::"l"(out),
            "r"(to), "r"(BYTES), "l"(policy)
            : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    }
}

// No bytes, whatever the address; and a multicast to no block.
__global__ void of_nothing(const float *in, float *out)
{
    __shared__ alignas(16) float tile[4];
    __shared__ uint64_t barrier;
    const unsigned bar = in_shared(&barrier);
    begin(&barrier, 1);
    if (threadIdx.x == 0) {
        tile[0] = 7;
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         in_shared(tile)),
                     "l"(in), "r"(0), "r"(bar)
                     : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1], %2, [%3], %4;" ::"r"(in_shared(tile)),
                     "l"(in), "r"(16), "r"(bar), "h"((short)0)
                     : "memory");
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out), "r"(in_shared(tile)),
                     "r"(0)
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(in + N * 1000), "r"(64));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 0;" ::"r"(bar) : "memory");
        while (!over(bar, 0))
            ;
        out[0] = tile[0];
    }
}

// A thread completes bytes; threads drop out, two of them with bytes.
__global__ void counted(int *out)
{
    __shared__ uint64_t barrier;
    const unsigned bar = in_shared(&barrier), t = threadIdx.x;
    unsigned pending;
    uint64_t token;
    begin(&barrier, THREADS);
    if (t == 0) {
        asm volatile("mbarrier.complete_tx.shared::cta.b64 [%0], 100;" ::"r"(bar) : "memory");
        asm volatile("mbarrier.expect_tx.b64 [%0], 100;" ::"l"(&barrier) : "memory");
        asm volatile("mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %0, [%1], 1;"
                     : "=l"(token)
                     : "r"(bar)
                     : "memory");
        asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(token));
        out[0] = pending;
    }
    __syncthreads();
    if (t > 0 && t < THREADS - 2)
        asm volatile("mbarrier.arrive.release.cta.b64 _, [%0];" ::"l"(&barrier) : "memory");
    if (t == THREADS - 2)
        asm volatile("mbarrier.arrive_drop.expect_tx.shared::cta.b64 %0, [%1], 16;"
                     : "=l"(token)
                     : "r"(bar)
                     : "memory");
    if (t == THREADS - 1) {
        asm volatile("mbarrier.arrive_drop.expect_tx.relaxed.cluster.shared::cluster.b64 _, [%0], 32;" ::"r"(bar)
                     : "memory");
        asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], 48;" ::"r"(bar) : "memory");
    }
    while (!over(bar, 0))
        ;
    __syncthreads();
    if (t == 0) {
        asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;"
                     : "=l"(token)
                     : "r"(bar), "n"(THREADS - 2)
                     : "memory");
        asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(token));
        while (!over(bar, 1))
            ;
        out[1] = pending;
    }
    __syncthreads();
    if (t == 0)
        asm volatile("mbarrier.inval.b64 [%0];" ::"l"(&barrier) : "memory");
}

// The block's own barrier, as a cluster's: by its rank, as CUTLASS does.
__global__ void by_rank(int *out)
{
    __shared__ uint64_t barrier;
    const unsigned bar = in_shared(&barrier);
    unsigned remote, rank, generic_rank, generic_same;
    begin(&barrier, THREADS);
    asm volatile("{ .reg .b32 address;\n"
                 "mapa.shared::cluster.u32 address, %1, %2;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [address];\n"
                 "mov.b32 %0, address; }"
                 : "=r"(remote)
                 : "r"(bar), "r"(0)
                 : "memory");
    while (!over(bar, 0))
        ;
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(rank) : "r"(remote));
    asm volatile("{ .reg .b64 address; .reg .pred p;\n"
                 "mapa.u64 address, %2, %3;\n"
                 "getctarank.u64 %0, address;\n"
                 "setp.eq.u64 p, address, %2;\n"
                 "selp.u32 %1, 1, 0, p; }"
                 : "=r"(generic_rank), "=r"(generic_same)
                 : "l"(&barrier), "r"(0));
    out[threadIdx.x] = rank + generic_rank + 10 * generic_same;
}

int main()
{
    const float *host = numbers(N, 1);
    const float *in = to_device(host, N);
    float *out = to_device<float>(NULL, N);
    hinted<<<1, THREADS>>>(in, out);
    const float *got = to_host(out, N);
    for (int i = 0; i < N; i++)
        SAME(got[i], 2 * (host[i] + 1));
    of_nothing<<<1, THREADS>>>(in, out);
    SAME(to_host(out, 1)[0], 7);
    int *counts = to_device<int>(NULL, THREADS);
    by_rank<<<1, THREADS>>>(counts);
    for (int t = 0; t < THREADS; t++)
        SAME(to_host(counts, THREADS)[t], 10);
    counted<<<1, THREADS>>>(counts);
    SAME(to_host(counts, 2)[0], THREADS);
    SAME(to_host(counts, 2)[1], THREADS - 2);
    return 0;
}

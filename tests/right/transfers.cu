// Bulk copies that are waited for as they should be: by mbarriers that count their bytes, in rings of stages, and in groups
// out of shared memory; and what mbarriers count.

#include "right.h"
#include <cooperative_groups.h>
#include <cuda/ptx>

namespace ptx = cuda::ptx;
namespace cg = cooperative_groups;

constexpr int THREADS = 64, TILE = 256, TILES = 6, STAGES = 2;
enum : unsigned { BYTES = TILE * sizeof(int) };

__device__ void wait_for(uint64_t *bar, unsigned parity)
{
    while (!ptx::mbarrier_try_wait_parity(bar, parity)) {
    }
}

__device__ void load(int *tile, const int *from, uint64_t *bar, unsigned bytes = BYTES)
{
    ptx::cp_async_bulk(ptx::space_shared, ptx::space_global, tile, from, bytes, bar);
}

__device__ void expect(uint64_t *bar, unsigned bytes)
{
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, bar, bytes);
}

__device__ void reversed(int *out, const int *tile)
{
    for (int i = threadIdx.x; i < TILE; i += THREADS)
        out[i] = tile[TILE - 1 - i];
}

// All wait for the phase; a barrier comes before the refill.
__global__ void one_stage(const int *in, int *out)
{
    __shared__ alignas(128) int tile[TILE];
    __shared__ uint64_t bar;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    for (int i = 0; i < TILES; i++) {
        if (threadIdx.x == 0) {
            expect(&bar, BYTES);
            load(tile, in + i * TILE, &bar);
        }
        wait_for(&bar, i & 1);
        reversed(out + i * TILE, tile);
        __syncthreads();
    }
}

// One thread waits, and the others know by a barrier; the copy is issued in two halves before its bytes are expected.
__global__ void one_waits(const int *in, int *out)
{
    __shared__ alignas(128) int tile[TILE];
    __shared__ uint64_t bar;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    for (int i = 0; i < TILES; i++) {
        if (threadIdx.x == 0) {
            load(tile, in + i * TILE, &bar, BYTES / 2);
            load(tile + TILE / 2, in + i * TILE + TILE / 2, &bar, BYTES / 2);
            expect(&bar, BYTES);
        }
        if (threadIdx.x == 40)
            wait_for(&bar, i & 1);
        __syncthreads();
        reversed(out + i * TILE, tile);
        __syncthreads();
    }
}

// A ring: a producer warp, and consumers that hand each stage back by an mbarrier. The producer waits for no data.
__global__ void ring(const int *in, int *out)
{
    __shared__ alignas(128) int tile[STAGES][TILE];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            ptx::mbarrier_init(&full[s], 1);
            ptx::mbarrier_init(&empty[s], THREADS);
        }
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    if (threadIdx.x == THREADS) {
        for (int i = 0; i < TILES; i++) {
            int s = i % STAGES, lap = i / STAGES;
            wait_for(&empty[s], (lap & 1) ^ 1);
            expect(&full[s], BYTES);
            load(tile[s], in + i * TILE, &full[s]);
        }
    } else if (threadIdx.x < THREADS) {
        for (int i = 0; i < TILES; i++) {
            int s = i % STAGES, lap = i / STAGES;
            wait_for(&full[s], lap & 1);
            reversed(out + i * TILE, tile[s]);
            ptx::mbarrier_arrive(&empty[s]);
        }
    }
}

// One lane of each warp waits; the others come behind it by __syncwarp().
__global__ void one_lane_waits(const int *in, int *out)
{
    __shared__ alignas(128) int tile[TILE];
    __shared__ uint64_t bar;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    for (int i = 0; i < TILES; i++) {
        if (threadIdx.x == 0) {
            expect(&bar, BYTES);
            load(tile, in + i * TILE, &bar);
        }
        if (threadIdx.x % 32 == 7)
            wait_for(&bar, i & 1);
        __syncwarp();
        reversed(out + i * TILE, tile);
        __syncthreads();
    }
}

// Within shared memory: what was loaded is copied on, and the first buffer is refilled when that has been read.
__global__ void __cluster_dims__(1) within(const int *in, int *out)
{
    __shared__ alignas(128) int tile[2][TILE];
    __shared__ uint64_t bar[2];
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar[0], 1);
        ptx::mbarrier_init(&bar[1], 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        for (int i = 0; i < TILES; i++) {
            expect(&bar[0], BYTES);
            load(tile[0], in + i * TILE, &bar[0]);
            wait_for(&bar[0], i & 1);
            expect(&bar[1], BYTES);
            ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, tile[1], tile[0], BYTES, &bar[1]);
            wait_for(&bar[1], i & 1);
            for (int j = 0; j < TILE; j++)
                out[i * TILE + j] = tile[1][TILE - 1 - j];
        }
    }
}

// In place: loaded, changed by all, stored where it was; warps of one role meet in a barrier of their own.
__global__ void in_place(const int *in, int *out)
{
    __shared__ alignas(128) int tile[TILE];
    __shared__ uint64_t bar;
    for (int i = threadIdx.x; i < TILES * TILE; i += THREADS)
        out[i] = in[i];
    ptx::fence_proxy_async(ptx::space_global);
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    for (int i = 0; i < TILES; i++) {
        if (threadIdx.x == 0) {
            expect(&bar, BYTES);
            load(tile, out + i * TILE, &bar);
        }
        wait_for(&bar, i & 1);
        int mine[TILE / THREADS];
        for (int j = 0; j < TILE / THREADS; j++)
            mine[j] = tile[TILE - 1 - j * THREADS - threadIdx.x];
        asm volatile("bar.sync 1, 64;" ::: "memory");
        for (int j = 0; j < TILE / THREADS; j++)
            tile[j * THREADS + threadIdx.x] = mine[j];
        ptx::fence_proxy_async(ptx::space_shared);
        asm volatile("bar.sync 1, 64;" ::: "memory");
        if (threadIdx.x == 33) {
            ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + i * TILE, tile, BYTES);
            ptx::cp_async_bulk_commit_group();
            ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
        }
        asm volatile("bar.sync 1, 64;" ::: "memory");
        if (out[i * TILE + threadIdx.x] != mine[0])
            out[i * TILE] = -1;
        asm volatile("bar.sync 1, 64;" ::: "memory");
    }
}

// Out of shared memory: the buffer is rewritten when it has been read, and the block ends when it has been read.
__global__ void stores(const int *in, int *out)
{
    __shared__ alignas(128) int tile[TILE];
    for (int i = 0; i < TILES; i++) {
        for (int j = threadIdx.x; j < TILE; j += blockDim.x)
            tile[TILE - 1 - j] = in[i * TILE + j];
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        if (threadIdx.x == 0) {
            ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + i * TILE, tile, BYTES);
            ptx::cp_async_bulk_commit_group();
            ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
        }
        __syncthreads();
    }
}

// The issuer's fence, behind a barrier, is as good; two buffers, of which one is under way.
__global__ void stores_by_two(const int *in, int *out)
{
    __shared__ alignas(128) int tile[2][TILE];
    for (int i = 0; i < TILES; i++) {
        if (threadIdx.x == 0)
            ptx::cp_async_bulk_wait_group_read(ptx::n32_t<1>());
        __syncthreads();
        for (int j = threadIdx.x; j < TILE; j += blockDim.x)
            tile[i % 2][TILE - 1 - j] = in[i * TILE + j];
        __syncthreads();
        if (threadIdx.x == 0) {
            ptx::fence_proxy_async(ptx::space_shared);
            ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + i * TILE, tile[i % 2], BYTES);
            ptx::cp_async_bulk_commit_group();
        }
    }
    if (threadIdx.x == 0)
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
}

// The fence of a third thread, between two barriers, is as good; there may be many of them.
__global__ void stores_by_three(const int *in, int *out)
{
    __shared__ alignas(128) int tile[TILE];
    for (int i = 0; i < TILES; i++) {
        for (int j = threadIdx.x; j < TILE; j += blockDim.x)
            tile[TILE - 1 - j] = in[i * TILE + j];
        __syncthreads();
        for (int j = 0; threadIdx.x == 50 && j <= i; j++)
            ptx::fence_proxy_async();
        __syncthreads();
        if (threadIdx.x == 0) {
            ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + i * TILE, tile, BYTES);
            ptx::cp_async_bulk_commit_group();
            ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
        }
        __syncthreads();
    }
}

// Through shared memory by bulk copies alone; another thread of the block reads the result, and then another block does.
__device__ int ready;
__global__ void handed_on(const int *in, int *out, int *between)
{
    __shared__ alignas(128) int tile[TILE];
    __shared__ uint64_t bar;
    if (blockIdx.x == 0) {
        for (int j = threadIdx.x; j < TILE; j += blockDim.x)
            tile[j] = in[j];
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        if (threadIdx.x == 0) {
            ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, between, tile, BYTES);
            ptx::cp_async_bulk_commit_group();
            ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
        }
        __syncthreads();
        if (threadIdx.x == 1) {
            __threadfence();
            atomicExch(&ready, 1);
        }
        return;
    }
    if (threadIdx.x == 0) {
        while (!atomicAdd(&ready, 0)) {
        }
        __threadfence();
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_proxy_async();
        expect(&bar, BYTES);
        load(tile, between, &bar);
        wait_for(&bar, 0);
    }
    __syncthreads();
    reversed(out, tile);
}

// Blocks add to one place.
__global__ void sums(const int *in, int *out)
{
    __shared__ alignas(128) int tile[TILE];
    for (int j = threadIdx.x; j < TILE; j += blockDim.x)
        tile[TILE - 1 - j] = in[blockIdx.x * TILE + j];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, out, tile, BYTES);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    } else if (threadIdx.x == 1) {
        atomicAdd(&out[0], 1);
    }
}

// Copies and the grid's barrier: another block reads what was stored, and writes what was read.
__global__ void across_the_grid(int *data, int *out)
{
    __shared__ alignas(128) int tile[TILE];
    __shared__ uint64_t bar;
    int other = (blockIdx.x + 1) % gridDim.x;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_proxy_async(ptx::space_shared);
        expect(&bar, BYTES);
        load(tile, data + other * TILE, &bar);
    }
    __syncthreads();
    wait_for(&bar, 0);
    cg::this_grid().sync();
    for (int j = threadIdx.x; j < TILE; j += blockDim.x)
        data[blockIdx.x * TILE + j] = -1;
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + blockIdx.x * TILE, tile, BYTES);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
    cg::this_grid().sync();
    int sum = 0;
    for (int j = threadIdx.x; j < TILE; j += blockDim.x)
        sum += out[other * TILE + j];
    cg::this_grid().sync();
    if (threadIdx.x < TILE)
        out[blockIdx.x * TILE + threadIdx.x] += 0 * sum;
}

// What an mbarrier counts: bytes before and after they are expected, arrivals with and without, arrivals that are dropped.
__global__ void counts(int *out)
{
    __shared__ uint64_t bar;
    if (threadIdx.x)
        return;
    ptx::mbarrier_init(&bar, 3);
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 64;"
                 :
                 : "r"((unsigned)__cvta_generic_to_shared(&bar))
                 : "memory");
    uint64_t first = ptx::mbarrier_arrive(&bar);
    expect(&bar, 128);
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 16;"
                 :
                 : "r"((unsigned)__cvta_generic_to_shared(&bar))
                 : "memory");
    uint64_t third, pending;
    asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1];"
                 : "=l"(third)
                 : "r"((unsigned)__cvta_generic_to_shared(&bar))
                 : "memory");
    out[0] = ptx::mbarrier_test_wait(&bar, first);  // 80 bytes are pending
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 80;"
                 :
                 : "r"((unsigned)__cvta_generic_to_shared(&bar))
                 : "memory");
    while (!ptx::mbarrier_test_wait(&bar, third)) {
    }
    out[1] = 1;
    asm volatile("{ .reg .b32 n; mbarrier.pending_count.b64 n, %1; cvt.u64.u32 %0, n; }" : "=l"(pending) : "l"(third));
    out[2] = (int)pending;
    ptx::mbarrier_arrive(&bar);  // two are left
    ptx::mbarrier_arrive(&bar);
    wait_for(&bar, 1);
    out[3] = 1;
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

// Relaxed arrivals and waits, which order what the fences around them do.
__global__ void by_fences(const int *in, int *out)
{
    __shared__ int tile[TILE];
    __shared__ uint64_t bar;
    if (threadIdx.x == 0)
        ptx::mbarrier_init(&bar, THREADS);
    __syncthreads();
    for (int i = 0; i < TILES; i++) {
        for (int j = threadIdx.x; j < TILE; j += THREADS)
            tile[j] = in[i * TILE + j];
        __threadfence_block();
        arrive_relaxed(&bar);
        wait_relaxed(&bar, i & 1);
        __threadfence_block();
        reversed(out + i * TILE, tile);
        __syncthreads();
    }
}

// A copy of no bytes is done when it is issued: nothing is left in flight of it.
__global__ void nothing(const int *in, int *out)
{
    __shared__ alignas(128) int tile[TILE];
    __shared__ uint64_t bar;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        load(tile, in, &bar, *out);
        asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"((unsigned)__cvta_generic_to_shared(&bar)) : "memory");
    }
    tile[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = tile[threadIdx.x];
}

static void check_reversed(const int *in, const int *out, int tiles)
{
    for (int i = 0; i < tiles * TILE; i++)
        SAME(out[i], in[i / TILE * TILE + TILE - 1 - i % TILE]);
}

int main()
{
    int host[TILES * TILE], zeros[TILES * TILE] = {0};
    for (int i = 0; i < TILES * TILE; i++)
        host[i] = i * 7 % 1000;
    void (*const kernels[])(const int *, int *) = {one_stage, one_waits, ring,          one_lane_waits, within,
                                                   in_place,  stores,    stores_by_two, stores_by_three};
    for (auto kernel : kernels) {
        int *in = to_device(host, TILES * TILE), *out = to_device(zeros, TILES * TILE);
        kernel<<<1, kernel == ring ? THREADS + 32 : THREADS>>>(in, out);
        check_reversed(host, to_host(out, TILES * TILE), TILES);
    }
    int *in = to_device(host, TILES * TILE), *out = to_device(zeros, TILES * TILE);
    int *between = to_device<int>(NULL, TILE);
    handed_on<<<2, THREADS>>>(in, out, between);
    check_reversed(host, to_host(out, TILE), 1);

    out = to_device(zeros, TILES * TILE);
    sums<<<TILES, THREADS>>>(in, out);
    int *got = to_host(out, TILE);
    for (int i = 0; i < TILE; i++) {
        int sum = i == 0 ? TILES : 0;
        for (int b = 0; b < TILES; b++)
            sum += host[b * TILE + TILE - 1 - i];
        SAME(got[i], sum);
    }

    void *arguments[] = {&in, &out};
    CHECK(cudaLaunchCooperativeKernel((const void *)across_the_grid, dim3(TILES), dim3(THREADS), arguments, 0, 0));
    got = to_host(out, TILES * TILE);
    for (int i = 0; i < TILES * TILE; i++)
        SAME(got[i], host[(i + TILE) % (TILES * TILE)]);

    in = to_device(host, TILES * TILE), out = to_device(zeros, THREADS);
    nothing<<<1, THREADS>>>(in, out);
    got = to_host(out, THREADS);
    for (int i = 0; i < THREADS; i++)
        SAME(got[i], host[i]);

    out = to_device(zeros, 4);
    counts<<<1, 32>>>(out);
    got = to_host(out, 4);
    SAME(got[0], 0);
    SAME(got[1], 1);
    SAME(got[2], 1);
    SAME(got[3], 1);
    printf("ok\n");
    return 0;
}

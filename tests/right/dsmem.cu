// Distributed shared memory: the blocks of a cluster load from, store to and change each other's shared memory, by C++ pointers
// and by PTX, and each has waited until the others have begun, and until they are done.
#include "../hopper.h"
#include "right.h"

const int THREADS = 64, N = 8 * THREADS;

static __device__ __forceinline__ unsigned cluster_rank()
{
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

static __device__ __forceinline__ unsigned cluster_blocks()
{
    unsigned n;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(n));
    return n;
}

static __device__ __forceinline__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

template <class T> static __device__ __forceinline__ T *map(T *p, unsigned rank)
{
    T *there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(p), "r"(rank));
    return there;
}

static __device__ __forceinline__ unsigned map(unsigned address, unsigned rank)
{
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}

// ---- addresses ----

__global__ void __cluster_dims__(4) addresses(int *wrong)
{
    __shared__ int array[THREADS];
    unsigned rank = cluster_rank(), own = in_shared(array), there, of;
    unsigned long long wide, wide_own = own;
    for (unsigned other = 0; other < 4; other++) {
        int *p = map(&array[3], other);
        there = map(own + 12, other);
        bool right = in_shared(p) == there && __cvta_shared_to_generic(there) == p;
        right = right && (p == &array[3]) == (other == rank);
        asm("mapa.shared::cluster.u64 %0, %1, %2;" : "=l"(wide) : "l"(wide_own), "r"(other));
        right = right && wide + 12 == there && map(there, rank) == own + 12 && map(p, rank) == &array[3];
        asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(of) : "r"(there));
        right = right && of == other;
        asm("getctarank.u64 %0, %1;" : "=r"(of) : "l"(p));
        right = right && of == other;
        right = right && __isShared(p) == (other == rank) && __isClusterShared(p) && !__isGlobal(p);
        asm("{ .reg .pred p; isspacep.shared::cta p, %1; selp.b32 %0, 1, 0, p; }" : "=r"(of) : "l"(p));
        right = right && of == (other == rank);
        asm("{ .reg .pred p; isspacep.shared::cluster p, %1; selp.b32 %0, 1, 0, p; }" : "=r"(of) : "l"(p));
        right = right && of == 1;
        right = right && __cluster_map_shared_rank(&array[3], other) == p && __cluster_query_shared_rank(p) == other;
        if (!right)
            atomicAdd(wrong, 1);
    }
    asm("mapa.shared::cluster.u32 %0, %1, 2;" : "=r"(there) : "r"(own));
    if (there != map(own, 2))
        atomicAdd(wrong, 1);
}

// Of neighbours that are not there only the addresses are asked for.
__global__ void __cluster_dims__(4) neighbours(int *out)
{
    __shared__ int array[THREADS];
    int t = threadIdx.x, rank = (int)cluster_rank(), of;
    array[t] = blockIdx.x;
    cluster_sync();
    int *next = map(array, rank + 1);
    asm("getctarank.u64 %0, %1;" : "=r"(of) : "l"(next));
    int value = rank + 1 < 4 ? next[t] : of;
    out[blockIdx.x * THREADS + t] = of == rank + 1 ? value : -1;
    cluster_sync();
}

// ---- loads, stores, atomic operations ----

__global__ void __cluster_dims__(2) loads(int *out)
{
    __shared__ int array[THREADS];
    int t = threadIdx.x, v, w;
    array[t] = 1000 * blockIdx.x + t;
    cluster_sync();
    unsigned other = cluster_rank() ^ 1;
    asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(map(in_shared(&array[t ^ 1]), other)));
    asm volatile("ld.volatile.shared::cluster.s32 %0, [%1];" : "=r"(w) : "r"(map(in_shared(&array[t ^ 1]), other)));
    out[blockIdx.x * THREADS + t] = v == w ? v + map(array, other)[t ^ 2] : -1;
    cluster_sync();
}

// What is stored there is read behind the next barrier by its owner, which stores nothing itself.
__global__ void __cluster_dims__(4) stores(int *out)
{
    __shared__ int array[2 * THREADS];
    int t = threadIdx.x;
    cluster_sync();
    unsigned next = (cluster_rank() + 1) % cluster_blocks();
    map(array, next)[t] = 1000 * blockIdx.x + t;
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(map(in_shared(&array[THREADS + t]), next)), "r"(t)
                 : "memory");
    cluster_sync();
    out[blockIdx.x * THREADS + t] = array[THREADS - 1 - t] + array[THREADS + t];
}

__global__ void __cluster_dims__(8) vectors(int *out)
{
    __shared__ int4 array[THREADS];
    int t = threadIdx.x;
    array[t] = make_int4(blockIdx.x, t, 2 * t, 3 * t);
    cluster_sync();
    unsigned other = 7 - cluster_rank();
    int4 v = map(array, other)[t], w;
    asm volatile("ld.shared::cluster.v4.s32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w)
                 : "r"(map(in_shared(&array[t]), other)));
    cluster_sync();
    asm volatile("st.shared::cluster.v2.s32 [%0], {%1, %2};" ::"r"(map(in_shared(&array[t]), other)), "r"(v.x + w.x),
                 "r"(v.w + w.w)
                 : "memory");
    cluster_sync();
    out[blockIdx.x * THREADS + t] = 1000 * array[t].x + array[t].y;
}

// Of all blocks, in the first one's.
__global__ void __cluster_dims__(8) counted(int *out)
{
    __shared__ int sums[4];
    __shared__ float number;
    int t = threadIdx.x;
    if (t < 4)
        sums[t] = 0;
    if (t == 4)
        number = 0;
    cluster_sync();
    int *there = map(sums, 0);
    atomicAdd(&there[0], 1);
    atomicMax(there + 1, (int)(blockIdx.x * THREADS + t));
    asm volatile("{ .reg .u32 old; atom.shared::cluster.add.u32 old, [%0], 2; }" ::"r"(map(in_shared(&sums[2]), 0))
                 : "memory");
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 3;" ::"r"(map(in_shared(&sums[3]), 0)) : "memory");
    atomicAdd(map(&number, 0), 0.5f);
    cluster_sync();
    if (t == 0)
        out[blockIdx.x] = there[0] == N && there[1] == N - 1 && there[2] == 2 * N && there[3] == 3 * N &&
                          *map(&number, 0) == N / 2;
    cluster_sync();
}

// The blocks' bins are parts of one histogram (CUDA C++ Programming Guide, "Distributed Shared Memory").
__global__ void __cluster_dims__(2) histogram(const int *in, int *out)
{
    extern __shared__ int bins[];
    int t = threadIdx.x;
    bins[t] = 0;
    cluster_sync();
    for (int i = t + cluster_rank() * THREADS; i < N; i += 2 * THREADS)
        atomicAdd(map(&bins[in[i] % THREADS], in[i] / THREADS), 1);
    cluster_sync();
    atomicAdd(&out[cluster_rank() * THREADS + t], bins[t]);
}

// ---- flags ----

// A flag in the other block's shared memory, by operations and fences of the cluster's scope.
__global__ void __cluster_dims__(2) flags(int *out)
{
    __shared__ int box[2], flag, second, third;
    unsigned rank = cluster_rank();
    flag = second = third = 0;
    cluster_sync();
    unsigned other = rank ^ 1;
    map(box, other)[0] = 7 + rank;
    asm volatile("st.release.cluster.shared::cluster.u32 [%0], 1;" ::"r"(map(in_shared(&flag), other)) : "memory");
    for (int seen = 0; !seen;)
        asm volatile("ld.acquire.cluster.shared::cta.u32 %0, [%1];" : "=r"(seen) : "r"(in_shared(&flag)) : "memory");
    int first = box[0];
    map(box, other)[1] = 2 * first;
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
    asm volatile("st.relaxed.cluster.shared::cluster.u32 [%0], 1;" ::"r"(map(in_shared(&second), other)) : "memory");
    for (int seen = 0; !seen;)
        asm volatile("ld.relaxed.cluster.shared::cta.u32 %0, [%1];" : "=r"(seen) : "r"(in_shared(&second)) : "memory");
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
    out[2 * blockIdx.x] = box[1];
    __threadfence_cluster();
    atomicExch(map(&third, other), 1);
    while (atomicAdd(&third, 0) == 0)
        ;
    __threadfence_cluster();
    out[2 * blockIdx.x + 1] = first;
    cluster_sync();
}

// What the other block stored, a bulk copy reads: behind a fence between the proxies, of the one or of the other.
template <bool BY_WRITER> __global__ void __cluster_dims__(2) copied(int *out)
{
    __shared__ alignas(128) int array[THREADS];
    int t = threadIdx.x;
    cluster_sync();
    map(array, cluster_rank() ^ 1)[t] = 10 * blockIdx.x + t;
    if (BY_WRITER)
        asm volatile("fence.proxy.async.shared::cluster;" ::: "memory");
    cluster_sync();
    if (!BY_WRITER && t == 0)
        FENCE_ASYNC_SHARED();
    if (t == 0) {
        BULK_STORE(out + blockIdx.x * THREADS, array, (unsigned)sizeof array);
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

// ---- whose threads leave when ----

// Who has waited for the first phase knows that the other has begun, though an arrival is .relaxed.
__global__ void __cluster_dims__(2) begun(int *out)
{
    __shared__ int array[THREADS];
    int t = threadIdx.x;
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    map(array, cluster_rank() ^ 1)[t] = t;
    cluster_sync();
    out[blockIdx.x * THREADS + t] = array[t];
}

// One warp of each block stays until the other's threads have read; the rest have left.
__global__ void __cluster_dims__(2) one_warp_stays(int *out)
{
    __shared__ int array[THREADS];
    int t = threadIdx.x;
    array[t] = t;
    cluster_sync();
    out[blockIdx.x * THREADS + t] = map(array, cluster_rank() ^ 1)[t];
    asm volatile("barrier.cluster.arrive;" ::: "memory");
    if (t >= 32)
        return;
    asm volatile("barrier.cluster.wait;" ::: "memory");
}

// The second block reads the first's, and is done; the first waits for it in a barrier that does not count who has left.
__global__ void __cluster_dims__(2) reader_leaves(int *out)
{
    __shared__ int array[THREADS];
    int t = threadIdx.x;
    array[t] = t;
    cluster_sync();
    if (cluster_rank() == 1) {
        out[t] = map(array, 0)[t];
        return;
    }
    cluster_sync();
}

// The first block has seen that the second is done, and leaves: it has nothing to read that would need a fence.
__global__ void __cluster_dims__(2) sees_the_reader(int *out, int *done)
{
    __shared__ int array[THREADS];
    int t = threadIdx.x;
    array[t] = t;
    cluster_sync();
    if (cluster_rank() == 1) {
        out[t] = map(array, 0)[t];
        __syncthreads();
        __threadfence();
        if (t == 0)
            atomicExch(done, 1);
        cluster_sync();
        return;
    }
    asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
    if (t == 40)
        while (*(volatile int *)done == 0)
            ;
}

// The clusters of a launch follow each other in the same shared memory, in the order of no block's number.
__global__ void __cluster_dims__(2, 2) many(int *out)
{
    __shared__ int array[THREADS];
    int t = threadIdx.x, block = blockIdx.y * gridDim.x + blockIdx.x;
    unsigned rank = cluster_rank();
    for (int round = 0; round < 2; round++) {
        array[t] = block + round;
        cluster_sync();
        int sum = 0;
        for (unsigned other = 0; other < 4; other++)
            sum += map(array, other)[(t + rank) % THREADS];
        out[block * THREADS + t] = sum;
        cluster_sync();
    }
}

int main()
{
    int *out = to_device<int>(NULL, 64 * THREADS), *in, *r, values[N], all[2 * THREADS] = {0};
    CHECK(cudaMemset(out, 0, sizeof(int)));
    addresses<<<8, THREADS>>>(out);
    SAME(to_host(out, 1)[0], 0);
    neighbours<<<8, THREADS>>>(out);
    r = to_host(out, N);
    for (int i = 0; i < N; i++)
        SAME(r[i], i / THREADS % 4 == 3 ? 4 : i / THREADS + 1);
    loads<<<8, THREADS>>>(out);
    r = to_host(out, N);
    for (int i = 0; i < N; i++)
        SAME(r[i], 2000 * (i / THREADS ^ 1) + (i % THREADS ^ 1) + (i % THREADS ^ 2));
    stores<<<8, THREADS>>>(out);
    r = to_host(out, N);
    for (int i = 0; i < N; i++) {
        int block = i / THREADS, before = block / 4 * 4 + (block + 3) % 4;
        SAME(r[i], 1000 * before + THREADS - 1);
    }
    vectors<<<8, THREADS>>>(out);
    r = to_host(out, N);
    for (int i = 0; i < N; i++)
        SAME(r[i], 2000 * (i / THREADS) + 6 * (i % THREADS));
    counted<<<8, THREADS>>>(out);
    r = to_host(out, 8);
    for (int i = 0; i < 8; i++)
        SAME(r[i], 1);
    for (int i = 0; i < N; i++) {
        values[i] = i * i % (2 * THREADS);
        all[values[i]]++;
    }
    in = to_device(values, N);
    CHECK(cudaMemset(out, 0, N * sizeof(int)));
    histogram<<<2, THREADS, THREADS * sizeof(int)>>>(in, out);
    r = to_host(out, 2 * THREADS);
    for (int i = 0; i < 2 * THREADS; i++)
        SAME(r[i], all[i]);
    flags<<<2, 1>>>(out);
    r = to_host(out, 4);
    SAME(r[0], 14);
    SAME(r[1], 8);
    SAME(r[2], 16);
    SAME(r[3], 7);
    void (*const stored[])(int *) = {copied<true>, copied<false>};
    for (int k = 0; k < 2; k++) {
        stored[k]<<<8, THREADS>>>(out);
        r = to_host(out, N);
        for (int i = 0; i < N; i++)
            SAME(r[i], 10 * (i / THREADS ^ 1) + i % THREADS);
    }
    void (*const copies[])(int *) = {begun, one_warp_stays, reader_leaves};
    for (int k = 0; k < 3; k++) {
        copies[k]<<<8, THREADS>>>(out);
        r = to_host(out, THREADS);
        for (int i = 0; i < THREADS; i++)
            SAME(r[i], i);
    }
    CHECK(cudaMemset(out, 0, 2 * THREADS * sizeof(int)));
    sees_the_reader<<<2, THREADS>>>(out, out + THREADS);
    r = to_host(out, THREADS);
    for (int i = 0; i < THREADS; i++)
        SAME(r[i], i);
    many<<<dim3(8, 8), THREADS>>>(out);
    r = to_host(out, 64 * THREADS);
    for (int i = 0; i < 64 * THREADS; i++) {
        int x = i / THREADS % 8 / 2 * 2, y = i / THREADS / 8 / 2 * 2;
        SAME(r[i], 4 * (8 * y + x) + 2 + 16 + 4);
    }
    return 0;
}

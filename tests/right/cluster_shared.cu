// Distributed shared memory: what the blocks of a cluster read, write and add to in each other's, by pointers of C++ and by
// PTX, behind a barrier of the cluster before the first access and one behind the last.

#include <cooperative_groups.h>
#include <string.h>
#include "../cluster.h"
#include "right.h"

namespace cg = cooperative_groups;

// Each block has a part of the bins, and counts in whichever block's a number belongs to (CUDA C++ Programming Guide,
// "Distributed Shared Memory").
__global__ void histogram(int *bins, int count, int per_block, const int *in, int n)
{
    extern __shared__ int own[];
    auto cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < per_block; i += blockDim.x)
        own[i] = 0;
    cluster.sync();  // all of the cluster's blocks have begun, and their bins are cleared
    for (int i = cg::this_grid().thread_rank(); i < n; i += gridDim.x * blockDim.x) {
        int bin = in[i] < 0 ? 0 : in[i] >= count ? count - 1 : in[i];
        int *theirs = cluster.map_shared_rank(own, bin / per_block);
        atomicAdd(theirs + bin % per_block, 1);
    }
    cluster.sync();  // and nobody counts here any more
    for (int i = threadIdx.x; i < per_block; i += blockDim.x)
        atomicAdd(&bins[cluster.block_rank() * per_block + i], own[i]);
}

static __device__ float sum_of_block(float x)  // of 64 threads, to all
{
    __shared__ float of_warp[2];
    for (int by = 16; by > 0; by /= 2)
        x += __shfl_xor_sync(~0u, x, by);
    __syncthreads();
    of_warp[threadIdx.x / 32] = x;
    __syncthreads();
    return of_warp[0] + of_warp[1];
}

// Every block stores its sum into all blocks, and adds up what it has got.
__global__ void pushed_sums(const float *in, float *out)
{
    __shared__ float sums[16];
    auto cluster = cg::this_cluster();
    float sum = sum_of_block(in[blockIdx.x * blockDim.x + threadIdx.x]);
    cluster.sync();
    if (threadIdx.x < cluster.num_blocks())
        *cluster.map_shared_rank(&sums[cluster.block_rank()], threadIdx.x) = sum;
    cluster.sync();  // behind it each block goes on alone
    if (threadIdx.x == 0) {
        float all = 0;
        for (unsigned i = 0; i < cluster.num_blocks(); i++)
            all += sums[i];
        out[blockIdx.x] = all;
    }
}

// The first block loads the sums of all, which stay until it has.
__global__ void pulled_sums(const float *in, float *out)
{
    __shared__ float sum;
    auto cluster = cg::this_cluster();
    float x = sum_of_block(in[blockIdx.x * blockDim.x + threadIdx.x]);
    if (threadIdx.x == 0)
        sum = x;
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) {
        float all = 0;
        for (unsigned i = 0; i < cluster.num_blocks(); i++)
            all += *cluster.map_shared_rank(&sum, i);
        out[blockIdx.x] = all;
    }
    cluster.sync();
}

// The same by halves, with a barrier for each.
__global__ void sums_of_a_tree(const float *in, float *out)
{
    __shared__ float sum[64];
    auto cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank();
    sum[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (unsigned half = cluster.num_blocks() / 2; half > 0; half /= 2) {
        cluster.sync();
        if (rank < half)
            sum[threadIdx.x] += cluster.map_shared_rank(sum, rank + half)[threadIdx.x];
    }
    float all = sum_of_block(sum[threadIdx.x]);
    if (rank == 0 && threadIdx.x == 0)
        out[blockIdx.x] = all;
    cluster.sync();
}

// A sum of all in one word of the first block's, by atomic operations of all threads of the cluster.
__global__ void sums_by_atomics(const float *in, float *out)
{
    __shared__ float sum;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0)
        sum = 0;
    cluster.sync();
    atomicAdd(cluster.map_shared_rank(&sum, 0), in[blockIdx.x * blockDim.x + threadIdx.x]);
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0)
        out[blockIdx.x] = sum;
}

// Steps of a diffusion, where the blocks of a cluster have neighbouring cells, and each loads its neighbours' edges.
__global__ void halo_is_loaded(const float *in, float *out, int steps)
{
    __shared__ float cells[2][64];
    auto cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), last = cluster.num_blocks() - 1, i = threadIdx.x;
    cells[0][i] = in[blockIdx.x * 64 + i];
    for (int step = 0; step < steps; step++) {
        float *now = cells[step % 2], *next = cells[(step + 1) % 2];
        cluster.sync();
        float left = i > 0 ? now[i - 1] : rank > 0 ? cluster.map_shared_rank(now, rank - 1)[63] : 0;
        float right = i < 63 ? now[i + 1] : rank < last ? cluster.map_shared_rank(now, rank + 1)[0] : 0;
        next[i] = left + right - now[i];
    }
    out[blockIdx.x * 64 + i] = cells[steps % 2][i];
    cluster.sync();
}

// The same where each stores its edges into its neighbours' halo, of the step's own half, and waits once a step.
__global__ void halo_is_stored(const float *in, float *out, int steps)
{
    __shared__ float halo[2][2];
    __shared__ float cells[64];
    unsigned rank = cluster_rank(), last = cluster_size() - 1, i = threadIdx.x;
    float own = in[blockIdx.x * 64 + i];
    if (i < 4)
        halo[i / 2][i % 2] = 0;
    CLUSTER_SYNC();
    for (int step = 0; step < steps; step++) {
        cells[i] = own;
        if (i == 0 && rank > 0)
            REMOTE_STORE(mapped(&halo[step % 2][1], rank - 1), __float_as_uint(own));
        if (i == 63 && rank < last)
            REMOTE_STORE(mapped(&halo[step % 2][0], rank + 1), __float_as_uint(own));
        CLUSTER_SYNC();
        float left = i > 0 ? cells[i - 1] : halo[step % 2][0], right = i < 63 ? cells[i + 1] : halo[step % 2][1];
        own = left + right - own;
        __syncthreads();
    }
    out[blockIdx.x * 64 + i] = own;
}

struct wide {
    float x[4];
    int number;
};

// A matrix of tiles, one for each block, is transposed within the cluster: by structs, vectors of 16 bytes and bytes.
__global__ void exchanged(const float4 *in, float4 *out, unsigned char *bytes, int *numbers)
{
    __shared__ float4 rows[32];
    __shared__ unsigned char tail[32];
    __shared__ struct wide all;
    auto cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), other = cluster.num_blocks() - 1 - rank, i = threadIdx.x;
    rows[i] = in[blockIdx.x * 32 + i];
    tail[i] = blockIdx.x + i;
    if (i == 5)
        all = {{1, 2, 3, 4}, (int)blockIdx.x};
    cluster.sync();
    out[blockIdx.x * 32 + i] = cluster.map_shared_rank(rows, other)[31 - i];
    bytes[blockIdx.x * 32 + i] = cluster.map_shared_rank(tail, other)[i];
    struct wide got = *cluster.map_shared_rank(&all, other);
    numbers[blockIdx.x * 32 + i] = got.number + (int)got.x[3];
    cluster.sync();
}

// PTX's own words for it: addresses of a space and generic ones, vectors, atomic operations with and without a result.
__global__ void __cluster_dims__(4) by_ptx(unsigned *out)
{
    __shared__ alignas(16) unsigned words[64], count, guard;
    unsigned rank = cluster_rank(), next = (rank + 1) % 4, before = (rank + 3) % 4, i = threadIdx.x, right = 1, x;
    words[i] = rank * 100 + i;
    words[i + 32] = 0;
    if (i == 0)
        count = guard = 0;
    CLUSTER_SYNC();
    unsigned theirs = mapped(words, next), a, b, c, d, owner;
    asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "r"(theirs + i / 4 * 16)
                 : "memory");
    right &= a == next * 100 + i / 4 * 4 && d == a + 3 && b + c == 2 * a + 3;
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(owner) : "r"(theirs));
    right &= owner == next;
    unsigned long long generic, back;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(generic) : "l"(words), "r"(next));
    asm volatile("getctarank.u64 %0, %1;" : "=r"(owner) : "l"(generic));
    right &= owner == next && *(unsigned *)(generic + 4 * i) == next * 100 + i;
    asm volatile("cvta.shared::cluster.u64 %0, %1;" : "=l"(back) : "l"((unsigned long long)theirs));
    right &= back == generic;
    asm volatile("cvta.to.shared::cluster.u64 %0, %1;" : "=l"(back) : "l"(generic));
    right &= (unsigned)back == theirs;
    unsigned in_cluster, in_block, in_global;
    asm volatile(
        "{ .reg .pred p, q, r; isspacep.shared::cluster p, %3; isspacep.shared::cta q, %3; isspacep.global r, %3; "
        "selp.u32 %0, 1, 0, p; selp.u32 %1, 1, 0, q; selp.u32 %2, 1, 0, r; }"
        : "=r"(in_cluster), "=r"(in_block), "=r"(in_global)
        : "l"(generic));
    right &= in_cluster && !in_block && !in_global;
    asm volatile("st.shared::cluster.v2.u32 [%0], {%1, %2};" ::"r"(mapped(&words[32 + i / 2 * 2], before)), "r"(rank),
                 "r"(i / 2)
                 : "memory");
    REMOTE_ADD(mapped(&count, next), 1);
    asm volatile("atom.relaxed.cluster.shared::cluster.add.u32 %0, [%1], 2;"
                 : "=r"(x)
                 : "r"(mapped(&count, before))
                 : "memory");
    right &= x < 4 * 3 * 32;
    for (unsigned seen = 1; seen;)  // a lock of the next block's
        asm volatile("atom.acquire.cluster.shared::cluster.cas.b32 %0, [%1], 0, 0;"
                     : "=r"(seen)
                     : "r"(mapped(&guard, next))
                     : "memory");
    CLUSTER_SYNC();
    right &= count == 3 * 32 && words[32 + i] == (i % 2 ? i / 2 : next);
    out[blockIdx.x * 32 + i] = right;
}

// A list of which every block has a part, and a pointer into another block's memory is kept in shared memory.
__global__ void __cluster_dims__(2, 2) linked(int *out)
{
    struct link {
        struct link *next;
        int value;
    };
    __shared__ struct link links[32];
    auto cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), i = threadIdx.x;
    links[i].next = rank < 3 ? cluster.map_shared_rank(&links[(i + 1) % 32], rank + 1) : NULL;
    links[i].value = (rank + 1) * 1000 + i;
    cluster.sync();
    int sum = 0;
    for (struct link *at = &links[i]; at; at = at->next)
        sum += at->value;
    out[(blockIdx.x + blockIdx.y * gridDim.x) * 32 + i] = sum;
    cluster.sync();
}

// A flag in another block's shared memory, by release and acquire in the scope of the cluster.
__global__ void __cluster_dims__(2) flagged(int *out)
{
    __shared__ int data[32];
    __shared__ unsigned flag;
    unsigned rank = cluster_rank(), i = threadIdx.x;
    if (i == 0)
        flag = 0;
    CLUSTER_SYNC();
    if (rank == 0) {
        REMOTE_STORE(mapped(&data[i], 1), 7 * i);
        __syncwarp();
        if (i == 0)
            asm volatile("st.release.cluster.shared::cluster.u32 [%0], 1;" ::"r"(mapped(&flag, 1)) : "memory");
    } else {
        for (unsigned seen = 0; !seen;)
            asm volatile("ld.acquire.cluster.shared::cta.u32 %0, [%1];"
                         : "=r"(seen)
                         : "r"(in_shared(&flag))
                         : "memory");
        out[i] = data[31 - i];
    }
    CLUSTER_SYNC();
}

int main(void)
{
    enum { COUNT = 64, N = 3000 };
    int numbers_in[N], want[COUNT] = {};
    for (int i = 0; i < N; i++) {
        numbers_in[i] = (i * 37 + i / 7) % 71 - 3;
        want[numbers_in[i] < 0 ? 0 : numbers_in[i] >= COUNT ? COUNT - 1 : numbers_in[i]]++;
    }
    int *in = to_device(numbers_in, N), *bins = to_device<int>(NULL, COUNT);
    for (int size : {1, 2, 4, 8}) {
        CHECK(cudaMemset(bins, 0, COUNT * sizeof(int)));
        CHECK(launch_clusters(size, 8, 64, COUNT / size * sizeof(int), false, histogram, bins, COUNT, COUNT / size, in,
                              N));
        int *got = to_host(bins, COUNT);
        for (int i = 0; i < COUNT; i++)
            SAME(got[i], want[i]);
    }

    float *x = numbers(8 * 64, 5), *values = to_device(x, 8 * 64), *out = to_device<float>(NULL, 8 * 64);
    for (int size : {1, 2, 4, 8}) {
        float sums[8] = {};
        for (int i = 0; i < 8 * 64; i++)
            sums[i / 64 / size] += x[i];
        CHECK(launch_clusters(size, 8, 64, 0, false, pushed_sums, values, out));
        float *got = to_host(out, 8);
        for (int i = 0; i < 8; i++)
            SAME(got[i], sums[i / size]);
        for (auto kernel : {pulled_sums, sums_of_a_tree, sums_by_atomics}) {
            CHECK(cudaMemset(out, 0xff, 8 * sizeof(float)));
            CHECK(launch_clusters(size, 8, 64, 0, false, kernel, values, out));
            got = to_host(out, 8);
            for (int i = 0; i < 8; i += size)
                SAME(got[i], sums[i / size]);
        }
        float cells[2][8 * 64], steps = 7;
        memcpy(cells[0], x, sizeof cells[0]);
        for (int step = 0; step < steps; step++)
            for (int i = 0; i < 8 * 64; i++) {
                const float *now = cells[step % 2];
                int at = i % (64 * size);
                cells[(step + 1) % 2][i] = (at > 0 ? now[i - 1] : 0) + (at < 64 * size - 1 ? now[i + 1] : 0) - now[i];
            }
        for (auto kernel : {halo_is_loaded, halo_is_stored}) {
            CHECK(launch_clusters(size, 8, 64, 0, false, kernel, values, out, (int)steps));
            got = to_host(out, 8 * 64);
            for (int i = 0; i < 8 * 64; i++)
                SAME(got[i], cells[(int)steps % 2][i]);
        }
    }

    unsigned char *bytes = to_device<unsigned char>(NULL, 4 * 32);
    float4 *vectors = (float4 *)values, *exchanged_out = (float4 *)out;
    int *ranks = to_device<int>(NULL, 4 * 32);
    CHECK(launch_clusters(4, 4, 32, 0, false, exchanged, vectors, exchanged_out, bytes, ranks));
    float *got = to_host(out, 4 * 128);
    unsigned char *got_bytes = to_host(bytes, 4 * 32);
    int *got_ranks = to_host(ranks, 4 * 32);
    for (int i = 0; i < 4 * 32; i++) {
        int from = 3 - i / 32;
        SAME(got[4 * i + 2], x[4 * (from * 32 + 31 - i % 32) + 2]);
        SAME(got_bytes[i], from + i % 32);
        SAME(got_ranks[i], from + 4);
    }

    unsigned *right = to_device<unsigned>(NULL, 8 * 32);
    by_ptx<<<8, 32>>>(right);
    unsigned *all_right = to_host(right, 8 * 32);
    for (int i = 0; i < 8 * 32; i++)
        SAME(all_right[i], 1);
    int *lists = to_device<int>(NULL, 8 * 32);
    linked<<<dim3(4, 2), 32>>>(lists);
    int *sums = to_host(lists, 8 * 32);
    for (int i = 0; i < 8 * 32; i++) {
        int rank = i / 32 % 2 + i / 128 * 2, sum = 0;
        for (int r = rank; r < 4; r++)
            sum += (r + 1) * 1000 + (i + r - rank) % 32;
        SAME(sums[i], sum);
    }
    flagged<<<2, 32>>>(lists);
    sums = to_host(lists, 32);
    for (int i = 0; i < 32; i++)
        SAME(sums[i], 7 * (31 - i));
    return 0;
}

// Mbarriers of other blocks: rings of stages between blocks, stores, additions and copies that count their bytes at their target.

#include <cooperative_groups.h>
#include <cuda/ptx>
#include <string.h>
#include "../cluster.h"
#include "right.h"

#define TILE 32
#define BYTES (TILE * 4)

// The first block stores tiles into the second, which says when it has read them: an mbarrier each way, of a ring of stages.
template <int STAGES> __global__ void ring(const int *in, int *out, int tiles)
{
    __shared__ int stage[STAGES][TILE];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    unsigned rank = cluster_rank(), other = rank ^ 1, i = threadIdx.x;
    in += blockIdx.x / 2 * tiles * TILE;
    out += blockIdx.x / 2 * tiles * TILE;
    CLUSTER_SET_UP(full, TILE);
    CLUSTER_SET_UP(empty, TILE);
    for (int t = 0; t < tiles; t++) {
        int s = t % STAGES, phase = t / STAGES % 2;
        if (rank == 0) {
            CLUSTER_MBARRIER_WAIT(&empty[s], phase ^ 1);
            REMOTE_STORE(mapped(&stage[s][i], other), in[t * TILE + i]);
            REMOTE_ARRIVE(mapped(&full[s], other));
        } else {
            CLUSTER_MBARRIER_WAIT(&full[s], phase);
            out[t * TILE + i] = stage[s][TILE - 1 - i];
            REMOTE_ARRIVE(mapped(&empty[s], other));
        }
    }
    CLUSTER_SYNC();  // arrivals at the first block's barriers are done before it leaves
}

// One lane arrives for its warp, behind __syncwarp(), without saying an order or a scope (CUTLASS's ClusterBarrier::arrive).
__global__ void one_lane_arrives(const int *in, int *out, int tiles)
{
    __shared__ int stage[2][TILE];
    __shared__ uint64_t full[2], empty[2];
    unsigned rank = cluster_rank(), other = rank ^ 1, i = threadIdx.x;
    CLUSTER_SET_UP(full, 1);
    CLUSTER_SET_UP(empty, 1);
    for (int t = 0; t < tiles; t++) {
        int s = t % 2, phase = t / 2 % 2;
        uint64_t *wait_for = rank == 0 ? &empty[s] : &full[s], *arrive_at = rank == 0 ? &full[s] : &empty[s];
        MBARRIER_WAIT(wait_for, rank == 0 ? phase ^ 1 : phase);
        if (rank == 0)
            REMOTE_STORE(mapped(&stage[s][i], other), in[t * TILE + i]);
        else
            out[t * TILE + i] = stage[s][TILE - 1 - i];
        __syncwarp();
        asm volatile("{ .reg .pred p; .reg .b32 remote;\n"
                     "setp.eq.u32 p, %2, 1;\n"
                     "@p mapa.shared::cluster.u32 remote, %0, %1;\n"
                     "@p mbarrier.arrive.shared::cluster.b64 _, [remote]; }" ::"r"(in_shared(arrive_at)),
                     "r"(other), "r"((unsigned)(i == 0))
                     : "memory");
    }
    CLUSTER_SYNC();
}

// All blocks count on one barrier of the first, and it tells all.
__global__ void round_trip(int *out, int rounds)
{
    __shared__ uint64_t all_here, go_on;
    __shared__ int sum;
    unsigned rank = cluster_rank(), size = cluster_size();
    if (threadIdx.x == 0)
        sum = 0;
    CLUSTER_SET_UP(all_here, 32 * size);
    CLUSTER_SET_UP(go_on, 1);
    for (int round = 0; round < rounds; round++) {
        REMOTE_ADD(mapped(&sum, 0), threadIdx.x + rank);
        REMOTE_ARRIVE(mapped(&all_here, 0));
        if (rank == 0 && threadIdx.x < size) {
            CLUSTER_MBARRIER_WAIT(&all_here, round % 2);
            REMOTE_ARRIVE(mapped(&go_on, threadIdx.x));
        }
        CLUSTER_MBARRIER_WAIT(&go_on, round % 2);
        unsigned all;
        REMOTE_LOAD(all, mapped(&sum, 0));
        out[(blockIdx.x * rounds + round) * 32 + threadIdx.x] = all;
        CLUSTER_SYNC();  // who adds next does so behind the others' loads
    }
}

// st.async: each of two blocks waits for the other's value, and sends back one more.
__global__ void __cluster_dims__(2) ping_pong(int *out, int rounds)
{
    __shared__ alignas(16) unsigned got[2][32];
    __shared__ uint64_t bar[2];
    unsigned rank = cluster_rank(), other = rank ^ 1, i = threadIdx.x, value = i;
    CLUSTER_SET_UP(bar, 1);
    for (int round = 0; round < rounds; round++) {
        int s = round % 2;
        if (rank == round % 2) {
            ST_ASYNC(mapped(&got[s][i], other), value + 1, mapped(&bar[s], other));
        } else {
            if (i == 0)
                MBARRIER_ARRIVE_EXPECT(&bar[s], BYTES);
            CLUSTER_MBARRIER_WAIT(&bar[s], round / 2 % 2);
            value = got[s][31 - i];
        }
    }
    out[blockIdx.x * 32 + i] = value;
    CLUSTER_SYNC();
}

// Vectors and 8 bytes, to all blocks and to the own one, which expects what it may already have got.
__global__ void sent_to_all(unsigned *out)
{
    __shared__ alignas(16) unsigned got[8][32][4];
    __shared__ alignas(16) unsigned long long wide[8][32];
    __shared__ uint64_t bar;
    unsigned rank = cluster_rank(), size = cluster_size(), i = threadIdx.x, x = rank * 1000 + i;
    CLUSTER_SET_UP(bar, 1);
    for (unsigned to = 0; to < size; to++) {
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                         mapped(got[rank][i], to)),
                     "r"(x), "r"(x + 1), "r"(x + 2), "r"(to), "r"(mapped(&bar, to))
                     : "memory");
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u64 [%0], %1, [%2];" ::"r"(
                         mapped(&wide[rank][i], to)),
                     "l"(x * 0x100000001ull), "r"(mapped(&bar, to))
                     : "memory");
    }
    if (i == 0)
        MBARRIER_ARRIVE_EXPECT(&bar, size * 32 * 24);
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    unsigned right = 1;
    for (unsigned from = 0; from < size; from++) {
        unsigned want = from * 1000 + 31 - i, *v = got[from][31 - i];
        right &= v[0] == want && v[1] == want + 1 && v[2] == want + 2 && v[3] == rank &&
                 wide[from][31 - i] == want * 0x100000001ull;
    }
    out[blockIdx.x * 32 + i] = right;
}

// red.async: every block adds to every block's words, and the bytes of all are expected there.
__global__ void added_by_all(unsigned *out, int rounds)
{
    __shared__ alignas(16) unsigned sums[32], most[32], bits[32];
    __shared__ uint64_t bar;
    unsigned rank = cluster_rank(), size = cluster_size(), i = threadIdx.x;
    sums[i] = most[i] = bits[i] = 0;
    CLUSTER_SET_UP(bar, 1);
    for (int round = 0; round < rounds; round++) {
        if (i == 0)
            MBARRIER_ARRIVE_EXPECT(&bar, size * 3 * BYTES);
        for (unsigned to = 0; to < size; to++) {
            RED_ASYNC("add.u32", mapped(&sums[i], to), rank + i, mapped(&bar, to));
            RED_ASYNC("max.u32", mapped(&most[i], to), round * 100 + rank * 10 + i, mapped(&bar, to));
            RED_ASYNC("or.b32", mapped(&bits[i], to), 1u << rank, mapped(&bar, to));
        }
        CLUSTER_MBARRIER_WAIT(&bar, round % 2);
        unsigned *o = out + ((blockIdx.x * rounds + round) * 3) * 32 + 31 - i;
        o[0] = sums[31 - i];
        o[32] = most[31 - i];
        o[64] = bits[31 - i];
        CLUSTER_SYNC();  // the words are added to again behind everybody's loads
    }
}

// cp.async.bulk from one block's shared memory into the next one's, around the ring of blocks: what came in goes on.
__global__ void passed_on(const int *in, int *out, int tiles)
{
    __shared__ alignas(128) int here[TILE], came[TILE];
    __shared__ uint64_t full, read;
    unsigned rank = cluster_rank(), size = cluster_size(), next = (rank + 1) % size, before = (rank + size - 1) % size,
             i = threadIdx.x;
    CLUSTER_SET_UP(full, 1);
    CLUSTER_SET_UP(read, 1);
    here[i] = in[blockIdx.x * TILE + i];
    for (int t = 0; t < tiles; t++) {
        FENCE_ASYNC_SHARED();
        __syncwarp();
        if (i == 0) {
            MBARRIER_ARRIVE_EXPECT(&full, BYTES);
            BULK_SEND(mapped(came, next), here, BYTES, mapped(&full, next));
        }
        CLUSTER_MBARRIER_WAIT(&full, t % 2);
        int x = came[i];
        out[(blockIdx.x * tiles + t) * TILE + i] = x;
        __syncwarp();
        if (i == 0) {
            REMOTE_ARRIVE(mapped(&read, before));
            CLUSTER_MBARRIER_WAIT(&read, t % 2);  // the next block has read what was sent, so its source may be written
        }
        __syncwarp();
        here[i] = x + 1;
    }
    CLUSTER_SYNC();
}

// cp.reduce.async.bulk: each block's row is added to the first block's.
__global__ void added_in_bulk(const unsigned *in, unsigned *out)
{
    __shared__ alignas(128) unsigned row[TILE], sum[TILE];
    __shared__ uint64_t bar;
    unsigned rank = cluster_rank(), size = cluster_size(), i = threadIdx.x;
    row[i] = in[blockIdx.x * TILE + i];
    sum[i] = 0;
    FENCE_ASYNC();
    CLUSTER_SET_UP(bar, 1);
    if (i == 0) {
        if (rank == 0)
            MBARRIER_ARRIVE_EXPECT(&bar, size * BYTES);
        BULK_SEND_ADD(mapped(sum, 0), row, BYTES, mapped(&bar, 0));
    }
    if (rank == 0) {
        CLUSTER_MBARRIER_WAIT(&bar, 0);
        out[blockIdx.x / size * TILE + i] = sum[TILE - 1 - i];
    }
    CLUSTER_SYNC();
}

// The sender says itself how many bytes it sends, by an arrival at the target's barrier, and by one that only expects.
__global__ void __cluster_dims__(2) sender_expects(const int *in, int *out)
{
    __shared__ alignas(128) int from[2][TILE], to[2][TILE];
    __shared__ uint64_t bar;
    unsigned rank = cluster_rank(), other = rank ^ 1, i = threadIdx.x;
    from[0][i] = in[blockIdx.x * TILE + i];
    from[1][i] = 2 * from[0][i];
    FENCE_ASYNC_SHARED();
    CLUSTER_SET_UP(bar, 1);
    if (i == 0) {
        REMOTE_EXPECT(mapped(&bar, other), BYTES);
        BULK_SEND(mapped(to[0], other), from[0], BYTES, mapped(&bar, other));
        BULK_SEND(mapped(to[1], other), from[1], BYTES, mapped(&bar, other));
        REMOTE_ARRIVE_EXPECT(mapped(&bar, other), BYTES);
    }
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * TILE + i] = to[0][31 - i] + to[1][31 - i];
    CLUSTER_SYNC();
}

// The functions of cuda::ptx, whose addresses are pointers.
__global__ void by_functions(const int *in, int *out)
{
    namespace ptx = cuda::ptx;
    __shared__ alignas(128) int from[TILE], to[TILE], pairs[TILE][2], vectors[TILE][4];
    __shared__ alignas(16) double wide[TILE];
    __shared__ unsigned sums[2];
    __shared__ uint64_t bar, done;
    auto cluster = cooperative_groups::this_cluster();
    unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks(), i = threadIdx.x;
    from[i] = in[blockIdx.x * TILE + i];
    if (i < 2)
        sums[i] = 0;
    if (i == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::mbarrier_init(&done, TILE);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    ptx::fence_proxy_async(ptx::space_shared);
    ptx::barrier_cluster_arrive(ptx::sem_release);
    ptx::barrier_cluster_wait(ptx::sem_acquire);
    uint64_t *remote = cluster.map_shared_rank(&bar, next);
    if (i == 0)
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cluster, ptx::space_shared, &bar,
                                       BYTES + TILE * (8 + 16 + 8 + 8));
    if (i == 0)
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, cluster.map_shared_rank(to, next), from, BYTES,
                           remote);
    ptx::st_async(cluster.map_shared_rank(pairs[i], next), {from[i], (int)i}, remote);
    ptx::st_async(cluster.map_shared_rank(vectors[i], next), {(int)i, 2, 3, from[i]}, remote);
    ptx::st_async(cluster.map_shared_rank(&wide[i], next), from[i] + 0.5, remote);
    ptx::red_async(ptx::op_add, cluster.map_shared_rank(&sums[0], next), i, remote);
    ptx::red_async(ptx::op_or_op, cluster.map_shared_rank(&sums[1], next), 1u << i, remote);
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &bar, 0))
        ;
    bool right = pairs[31 - i][0] == to[31 - i] && pairs[31 - i][1] == 31 - (int)i && vectors[31 - i][0] == 31 - (int)i;
    right = right && vectors[31 - i][3] == to[31 - i] && wide[31 - i] == to[31 - i] + 0.5 && sums[0] == 31 * 16 &&
            sums[1] == ~0u;
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster,
                         cluster.map_shared_rank(&done, next));
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &done, 0))
        ;
    out[blockIdx.x * TILE + i] = right ? to[i] : -1;
    cluster.sync();
}

int main(void)
{
    const int n = 64 * TILE;
    int host[n];
    for (int i = 0; i < n; i++)
        host[i] = i * 7 % 1009;
    int *in = to_device(host, n), *out = to_device<int>(NULL, n), *got;
    for (int tiles : {1, 3, 10})
        for (auto kernel : {ring<1>, ring<2>, ring<3>}) {
            CHECK(launch_clusters(2, 8, TILE, 0, false, kernel, in, out, tiles));
            got = to_host(out, 4 * tiles * TILE);
            for (int i = 0; i < 4 * tiles * TILE; i++)
                SAME(got[i], host[i / TILE * TILE + TILE - 1 - i % TILE]);
        }
    CHECK(launch_clusters(2, 2, TILE, 0, false, one_lane_arrives, in, out, 9));
    got = to_host(out, 9 * TILE);
    for (int i = 0; i < 9 * TILE; i++)
        SAME(got[i], host[i / TILE * TILE + TILE - 1 - i % TILE]);
    for (int size : {1, 2, 4, 8}) {
        CHECK(launch_clusters(size, 8, 32, 0, false, round_trip, out, 3));
        got = to_host(out, 8 * 3 * 32);
        for (int i = 0; i < 8 * 3 * 32; i++)
            SAME(got[i], (i / 32 % 3 + 1) * (size * 16 * 31 + 32 * size * (size - 1) / 2));
        unsigned *words = (unsigned *)out, *w;
        CHECK(launch_clusters(size, 8, 32, 0, false, sent_to_all, words));
        w = to_host(words, 8 * 32);
        for (int i = 0; i < 8 * 32; i++)
            SAME(w[i], 1);
        CHECK(launch_clusters(size, 4 < size ? 8 : 4, 32, 0, false, added_by_all, words, 2));
        w = to_host(words, 4 * 2 * 3 * 32);
        for (int i = 0; i < 4 * 2 * 3 * 32; i++) {
            int at = i % 32, kind = i / 32 % 3, round = i / 96 % 2;
            SAME(w[i], kind == 0   ? (round + 1) * (size * (size - 1) / 2 + size * at)
                       : kind == 1 ? round * 100 + (size - 1) * 10 + at
                                   : (1 << size) - 1);
        }
        CHECK(launch_clusters(size, 8, TILE, 0, false, passed_on, in, out, 4));
        got = to_host(out, 8 * 4 * TILE);
        for (int i = 0; i < 8 * 4 * TILE; i++) {
            int block = i / (4 * TILE), t = i / TILE % 4,
                from = block / size * size + (block % size + 8 * size - 1 - t) % size;
            SAME(got[i], host[from * TILE + i % TILE] + t);
        }
        CHECK(launch_clusters(size, 8, TILE, 0, false, by_functions, in, out));
        got = to_host(out, 8 * TILE);
        for (int i = 0; i < 8 * TILE; i++)
            SAME(got[i], host[(i / TILE / size * size + (i / TILE % size + size - 1) % size) * TILE + i % TILE]);
        CHECK(launch_clusters(size, 8, TILE, 0, false, added_in_bulk, (const unsigned *)in, words));
        w = to_host(words, 8 / size * TILE);
        for (int i = 0; i < 8 / size * TILE; i++) {
            int sum = 0;
            for (int block = 0; block < size; block++)
                sum += host[(i / TILE * size + block) * TILE + TILE - 1 - i % TILE];
            SAME(w[i], sum);
        }
    }
    for (int rounds : {1, 2, 9}) {
        ping_pong<<<2, 32>>>(out, rounds);
        got = to_host(out, 64);
        int at[2][32];
        for (int i = 0; i < 64; i++)
            at[i / 32][i % 32] = i % 32;
        for (int round = 0; round < rounds; round++)
            for (int i = 0; i < 32; i++)
                at[1 - round % 2][i] = at[round % 2][31 - i] + 1;
        for (int i = 0; i < 64; i++)
            SAME(got[i], at[i / 32][i % 32]);
    }
    sender_expects<<<4, TILE>>>(in, out);
    got = to_host(out, 4 * TILE);
    for (int i = 0; i < 4 * TILE; i++)
        SAME(got[i], 3 * host[(i / TILE ^ 1) * TILE + TILE - 1 - i % TILE]);
    return 0;
}

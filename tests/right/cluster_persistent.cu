// Clusters that stay: each draws its tiles from one counter, whose value one block hands to the others. And kernels that begin
// before the one in front of them has ended (programmatic dependent launch), each of clusters.

#include <cooperative_groups.h>
#include "../cluster.h"
#include "right.h"

enum { TILE = 64, BYTES = TILE * 4 };

// The first block's last warp draws and stores the tile's number into every block; those who read it let go of it there.
__global__ void queue_by_stores(const float *in, float *out, int *counter, int tiles)
{
    __shared__ int number[2];
    __shared__ uint64_t full[2], empty[2];
    unsigned rank = cluster_rank(), size = cluster_size();
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    CLUSTER_SET_UP(full, 1);
    CLUSTER_SET_UP(empty, size * 2);
    if (warp == 2) {
        if (rank == 0) {
            int tile = 0;
            for (int i = 0; tile < tiles; i++) {
                CLUSTER_MBARRIER_WAIT(&empty[i % 2], (i / 2 + 1) % 2);
                if (lane == 0)
                    tile = atomicAdd(counter, 1);
                tile = __shfl_sync(~0u, tile, 0);
                if (lane < size) {
                    REMOTE_STORE(mapped(&number[i % 2], lane), tile);
                    REMOTE_ARRIVE(mapped(&full[i % 2], lane));
                }
                __syncwarp();
            }
        }
    } else {
        for (int i = 0;; i++) {
            CLUSTER_MBARRIER_WAIT(&full[i % 2], i / 2 % 2);
            int tile = number[i % 2];
            __syncwarp();
            if (lane == 0)
                REMOTE_ARRIVE(mapped(&empty[i % 2], 0));
            __syncwarp();
            if (tile >= tiles)
                break;
            int at = (tile * size + rank) * TILE + threadIdx.x;
            out[at] = 2 * in[at] + 1;
        }
    }
    CLUSTER_SYNC();
}

// The same by st.async, whose bytes each block expects; tiles are loaded by a ring of their own.
__global__ void queue_by_async_stores(const float *in, float *out, int *counter, int tiles)
{
    __shared__ alignas(128) float stage[2][TILE];
    __shared__ int number[2];
    __shared__ uint64_t full[2], empty[2], drawn[2], taken[2];
    unsigned rank = cluster_rank(), size = cluster_size();
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    CLUSTER_SET_UP(full, 1);
    CLUSTER_SET_UP(empty, 64);
    CLUSTER_SET_UP(drawn, 1);
    CLUSTER_SET_UP(taken, size * 65);
    if (warp == 3 && lane == 0 && rank == 0) {  // who draws
        int tile = 0;
        for (int i = 0; tile < tiles; i++) {
            CLUSTER_MBARRIER_WAIT(&taken[i % 2], (i / 2 + 1) % 2);
            tile = atomicAdd(counter, 1);
            for (unsigned to = 0; to < size; to++)
                ST_ASYNC(mapped(&number[i % 2], to), tile, mapped(&drawn[i % 2], to));
        }
    }
    if (warp == 2 && lane == 0)  // who loads
        for (int i = 0;; i++) {
            MBARRIER_ARRIVE_EXPECT(&drawn[i % 2], 4);
            CLUSTER_MBARRIER_WAIT(&drawn[i % 2], i / 2 % 2);
            int tile = number[i % 2];
            REMOTE_ARRIVE(mapped(&taken[i % 2], 0));
            if (tile >= tiles)
                break;
            MBARRIER_WAIT(&empty[i % 2], (i / 2 + 1) % 2);
            MBARRIER_ARRIVE_EXPECT(&full[i % 2], BYTES);
            BULK_LOAD(stage[i % 2], in + (tile * size + rank) * TILE, BYTES, &full[i % 2]);
        }
    if (warp < 2)
        for (int i = 0;; i++) {
            CLUSTER_MBARRIER_WAIT(&drawn[i % 2], i / 2 % 2);
            int tile = number[i % 2];
            REMOTE_ARRIVE(mapped(&taken[i % 2], 0));
            if (tile >= tiles)
                break;
            MBARRIER_WAIT(&full[i % 2], i / 2 % 2);
            out[(tile * size + rank) * TILE + threadIdx.x] = 2 * stage[i % 2][threadIdx.x] + 1;
            MBARRIER_ARRIVE(&empty[i % 2]);
        }
    __syncwarp();
    CLUSTER_SYNC();
}

// No queue: each cluster takes tiles at equal distances, and its blocks add up what they have of each in the first's memory.
__global__ void strided(const float *in, float *out, int tiles)
{
    __shared__ float sum[2];
    auto cluster = cooperative_groups::this_cluster();
    unsigned rank = cluster.block_rank(), size = cluster.num_blocks(), clusters = gridDim.x / size;
    if (threadIdx.x < 2)
        sum[threadIdx.x] = 0;
    cluster.sync();
    int turn = 0;
    for (int tile = blockIdx.x / size; tile < tiles; tile += clusters, turn ^= 1) {
        atomicAdd(cluster.map_shared_rank(&sum[turn], 0), in[(tile * size + rank) * TILE + threadIdx.x]);
        cluster.sync();
        if (rank == 0 && threadIdx.x == 0) {
            out[tile] = sum[turn];
            sum[turn] = 0;  // is added to again behind the next tile's barrier
        }
    }
    cluster.sync();
}

// Each turns its input into the next one's, once the kernel in front has ended; the one behind may begin long before.
__global__ void link(const float *in, float *out)
{
    __shared__ alignas(128) float row[TILE];
    __shared__ uint64_t bar;
    unsigned rank = cluster_rank(), size = cluster_size();
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0)
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    asm volatile("griddepcontrol.wait;" ::: "memory");
    float x = in[blockIdx.x * TILE + threadIdx.x] + 1;
    unsigned next = (rank + 1) % size;
    ST_ASYNC(mapped(&row[threadIdx.x], next), __float_as_uint(x), mapped(&bar, next));
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * TILE + threadIdx.x] = row[TILE - 1 - threadIdx.x];
    CLUSTER_SYNC();
}

// By the runtime's functions, and loaded by a multicast behind the wait.
__global__ void link_by_multicast(const float *in, float *out)
{
    __shared__ alignas(128) float tile[TILE];
    __shared__ uint64_t bar;
    unsigned rank = cluster_rank(), size = cluster_size();
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        if (rank == 0) {
            cudaGridDependencySynchronize();
            BULK_MULTICAST(tile, in + blockIdx.x * TILE, BYTES, &bar, (1 << size) - 1);
        }
    }
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    cudaGridDependencySynchronize();  // of each thread's own, before it stores what the kernel in front may read
    out[blockIdx.x * TILE + threadIdx.x] = tile[threadIdx.x] + rank;
    cudaTriggerProgrammaticLaunchCompletion();
}

int main(void)
{
    enum { BLOCKS = 8, TILES = 6, N = TILES * BLOCKS * TILE };
    float *x = numbers(N, 9), *in = to_device(x, N), *out = to_device<float>(NULL, N), *got;
    int *counter = to_device<int>(NULL, 1);
    for (int size : {1, 2, 4})
        for (int tiles : {1, (int)TILES}) {
            for (auto kernel : {queue_by_stores, queue_by_async_stores}) {
                int threads = kernel == queue_by_stores ? 96 : 128;
                CHECK(cudaMemset(counter, 0, sizeof(int)));
                CHECK(cudaMemset(out, 0, N * sizeof(float)));
                CHECK(launch_clusters(size, BLOCKS, threads, 0, false, kernel, in, out, counter, tiles));
                got = to_host(out, N);
                for (int i = 0; i < N; i++)
                    SAME(got[i], i < tiles * size * TILE ? 2 * x[i] + 1 : 0);
                SAME(*to_host(counter, 1), tiles + BLOCKS / size);
            }
            CHECK(launch_clusters(size, BLOCKS / 2, TILE, 0, false, strided, in, out, tiles));
            got = to_host(out, tiles);
            for (int tile = 0; tile < tiles; tile++) {
                float sum = 0;
                for (int i = 0; i < size * TILE; i++)
                    sum += x[tile * size * TILE + i];
                SAME(got[tile], sum);
            }
        }
    enum { LENGTH = BLOCKS * TILE };
    for (int size : {1, 2, 8}) {
        float *buffers[2] = {to_device(x, LENGTH), to_device<float>(NULL, LENGTH)}, want[2][LENGTH];
        for (int i = 0; i < LENGTH; i++)
            want[0][i] = x[i];
        for (int turn = 0; turn < 5; turn++) {
            CHECK(launch_clusters(size, BLOCKS, TILE, 0, true, link, (const float *)buffers[turn % 2],
                                  buffers[(turn + 1) % 2]));
            for (int i = 0; i < LENGTH; i++) {
                int block = i / TILE, before = block / size * size + (block % size + size - 1) % size;
                want[(turn + 1) % 2][i] = want[turn % 2][before * TILE + TILE - 1 - i % TILE] + 1;
            }
        }
        CHECK(launch_clusters(size, BLOCKS, TILE, 0, true, link_by_multicast, (const float *)buffers[1], buffers[0]));
        got = to_host(buffers[0], LENGTH);
        for (int i = 0; i < LENGTH; i++)
            SAME(got[i], want[1][i / TILE / size * size * TILE + i % TILE] + i / TILE % size);
    }
    return 0;
}

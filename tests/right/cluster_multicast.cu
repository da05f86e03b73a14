// Copies to several blocks of a cluster at once: the tiles of a matrix product that blocks of a row and of a column share, rings
// of stages that are filled again when the readers of all blocks have let go of them, and any mask.

#include <cooperative_groups.h>
#include "../cluster.h"
#include "right.h"

#define MAP const __grid_constant__ CUtensorMap

enum { BM = 32, BN = 32, BK = 16, CONSUMERS = 2 };

// C = A B, where the CX blocks of a cluster's row have one tile of A and load a part of its rows each, for all of them, and the CY
// blocks of a column so with B. A block's stage is empty when the consumers of all blocks that it writes to have read theirs.
template <int CX, int CY, int STAGES> __global__ void matmul(MAP a, MAP b, float *c, int n, int k)
{
    __shared__ alignas(128) float A[STAGES][BM][BK], B[STAGES][BK][BN];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    unsigned x = blockIdx.x % CX, y = blockIdx.y % CY;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    CLUSTER_SET_UP(full, 1);
    CLUSTER_SET_UP(empty, CONSUMERS * (CX + CY - 1));
    if (warp == CONSUMERS) {
        unsigned row = ((1u << CX) - 1) << (y * CX), column = 0;
        for (int i = 0; i < CY; i++)
            column |= 1u << (i * CX + x);
        if (lane == 0)
            for (int t = 0; t < k / BK; t++) {
                int s = t % STAGES;
                CLUSTER_MBARRIER_WAIT(&empty[s], (t / STAGES + 1) % 2);
                MBARRIER_ARRIVE_EXPECT(&full[s], (BM * BK + BK * BN) * 4);
                TMA_MULTICAST_2D(A[s][x * (BM / CX)], &a, t * BK, blockIdx.y * BM + x * (BM / CX), &full[s], row);
                TMA_MULTICAST_2D(B[s][y * (BK / CY)], &b, blockIdx.x * BN, t * BK + y * (BK / CY), &full[s], column);
            }
        __syncwarp();
    } else {
        float sums[BM / CONSUMERS] = {};
        for (int t = 0; t < k / BK; t++) {
            int s = t % STAGES;
            CLUSTER_MBARRIER_WAIT(&full[s], t / STAGES % 2);
            for (int j = 0; j < BK; j++)
                for (int i = 0; i < BM / CONSUMERS; i++)
                    sums[i] += A[s][i * CONSUMERS + warp][j] * B[s][j][lane];
            __syncwarp();
            if (lane < CX)
                REMOTE_ARRIVE(mapped(&empty[s], y * CX + lane));
            else if (lane < CX + CY && lane - CX != y)
                REMOTE_ARRIVE(mapped(&empty[s], (lane - CX) * CX + x));
            __syncwarp();
        }
        for (int i = 0; i < BM / CONSUMERS; i++)
            c[(blockIdx.y * BM + i * CONSUMERS + warp) * n + blockIdx.x * BN + lane] = sums[i];
    }
    CLUSTER_SYNC();
}

enum { TILE = 64, BYTES = TILE * 4 };

// One block loads for all, by a warp that does nothing else; each block expects its own bytes, soon or late.
template <int STAGES> __global__ void one_loads(const float *in, float *out, int tiles)
{
    __shared__ alignas(128) float stage[STAGES][TILE];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    unsigned rank = cluster_rank(), size = cluster_size();
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    CLUSTER_SET_UP(full, 1);
    CLUSTER_SET_UP(empty, 64 * size);
    in += blockIdx.x / size * tiles * TILE;
    if (warp == 2) {
        if (lane == 0 && rank == 0)
            for (int t = 0; t < tiles; t++) {
                CLUSTER_MBARRIER_WAIT(&empty[t % STAGES], (t / STAGES + 1) % 2);
                MBARRIER_ARRIVE_EXPECT(&full[t % STAGES], BYTES);
                BULK_MULTICAST(stage[t % STAGES], in + t * TILE, BYTES, &full[t % STAGES], (1 << size) - 1);
            }
        __syncwarp();
    } else {
        for (int t = 0; t < tiles; t++) {
            if (threadIdx.x == 0 && rank > 0) {
                if (rank % 2 == 0)
                    __nanosleep(1000);
                MBARRIER_ARRIVE_EXPECT(&full[t % STAGES], BYTES);
            }
            CLUSTER_MBARRIER_WAIT(&full[t % STAGES], t / STAGES % 2);
            out[(blockIdx.x * tiles + t) * TILE + threadIdx.x] = stage[t % STAGES][TILE - 1 - threadIdx.x] + rank;
            REMOTE_ARRIVE(mapped(&empty[t % STAGES], 0));
        }
    }
    CLUSTER_SYNC();
}

// Every block loads its own part of a tile for all, once, and no stage is used again.
__global__ void parts(const float *in, float *out)
{
    __shared__ alignas(128) float tile[TILE];
    __shared__ uint64_t bar;
    unsigned rank = cluster_rank(), size = cluster_size(), part = TILE / size;
    if (threadIdx.x == 0) {
        MBARRIER_INIT(&bar, 1);
        FENCE_MBARRIER_INIT();
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
    }
    __syncwarp();
    CLUSTER_ARRIVE_RELAXED();
    CLUSTER_WAIT();
    if (threadIdx.x == 0)
        BULK_MULTICAST(&tile[rank * part], in + blockIdx.x / size * TILE + rank * part, part * 4, &bar,
                       (1 << size) - 1);
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * TILE + threadIdx.x] = tile[TILE - 1 - threadIdx.x];
}

// Masks that name some blocks, the issuer's or not: the others expect nothing.
__global__ void some_blocks(const float *in, float *out, int mask)
{
    __shared__ alignas(128) float tile[TILE];
    __shared__ uint64_t bar;
    unsigned rank = cluster_rank();
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0 && mask >> rank & 1)
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
    if (threadIdx.x == 32 && rank == 1)
        BULK_MULTICAST(tile, in, BYTES, &bar, mask);
    if (mask >> rank & 1)
        CLUSTER_MBARRIER_WAIT(&bar, 0);
    else
        tile[threadIdx.x] = -1;
    out[blockIdx.x * TILE + threadIdx.x] = tile[threadIdx.x];
    CLUSTER_SYNC();
}

// Not in the issuer's own pace: the blocks' turns are kept by barriers of the cluster, and two stages are filled in turn.
__global__ void by_cluster_barriers(const float *in, float *out, int tiles)
{
    __shared__ alignas(128) float stage[2][TILE];
    __shared__ uint64_t full[2];
    auto cluster = cooperative_groups::this_cluster();
    unsigned rank = cluster.block_rank(), size = cluster.num_blocks();
    CLUSTER_SET_UP(full, 1);
    for (int t = 0; t < tiles; t++) {
        if (threadIdx.x == 0) {
            MBARRIER_ARRIVE_EXPECT(&full[t % 2], BYTES);
            if (t % size == rank)
                BULK_MULTICAST(stage[t % 2], in + t * TILE, BYTES, &full[t % 2], (1 << size) - 1);
        }
        CLUSTER_MBARRIER_WAIT(&full[t % 2], t / 2 % 2);
        out[(blockIdx.x * tiles + t) * TILE + threadIdx.x] = stage[t % 2][threadIdx.x];
        cluster.sync();
    }
}

template <int CX, int CY, int STAGES> static void try_matmul(const float *x, const float *y, const float *want, int m,
                                                             int n, int k)
{
    float *a = to_device(x, m * k), *b = to_device(y, k * n), *c = to_device<float>(NULL, m * n);
    CUtensorMap a_map = matrix_map(a, k, m, BK, BM / CX), b_map = matrix_map(b, n, k, BN, BK / CY);
    CHECK(launch_clusters(dim3(CX, CY), dim3(n / BN, m / BM), 32 * (CONSUMERS + 1), 0, false, matmul<CX, CY, STAGES>,
                          a_map, b_map, c, n, k));
    float *got = to_host(c, m * n);
    for (int i = 0; i < m * n; i++)
        SAME(got[i], want[i]);
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
}

int main(void)
{
    const int m = 64, n = 128, k = 7 * BK;
    float *x = numbers(m * k, 1), *y = numbers(k * n, 2), *want = (float *)calloc(m * n, sizeof(float));
    for (int i = 0; i < m; i++)
        for (int j = 0; j < k; j++)
            for (int l = 0; l < n; l++)
                want[i * n + l] += x[i * k + j] * y[j * n + l];
    try_matmul<1, 1, 2>(x, y, want, m, n, k);
    try_matmul<2, 1, 1>(x, y, want, m, n, k);
    try_matmul<2, 1, 3>(x, y, want, m, n, k);
    try_matmul<1, 2, 3>(x, y, want, m, n, k);
    try_matmul<2, 2, 2>(x, y, want, m, n, k);
    try_matmul<4, 1, 4>(x, y, want, m, n, k);

    const int length = 20 * TILE;
    float *in = to_device(x, length), *out = to_device<float>(NULL, 8 * 8 * TILE), *got;
    for (int size : {1, 2, 4, 8}) {
        int tiles = size == 1 ? 2 : 5;
        for (auto kernel : {one_loads<1>, one_loads<2>, one_loads<3>}) {
            CHECK(launch_clusters(size, 8, 96, 0, false, kernel, in, out, tiles));
            got = to_host(out, 8 * tiles * TILE);
            for (int i = 0; i < 8 * tiles * TILE; i++) {
                int block = i / TILE / tiles, tile = block / size * tiles + i / TILE % tiles;
                SAME(got[i], x[tile * TILE + TILE - 1 - i % TILE] + block % size);
            }
        }
        CHECK(launch_clusters(size, 8, TILE, 0, false, parts, in, out));
        got = to_host(out, 8 * TILE);
        for (int i = 0; i < 8 * TILE; i++)
            SAME(got[i], x[i / TILE / size * TILE + TILE - 1 - i % TILE]);
        CHECK(launch_clusters(size, 8, TILE, 0, false, by_cluster_barriers, in, out, 5));
        got = to_host(out, 8 * 5 * TILE);
        for (int i = 0; i < 8 * 5 * TILE; i++)
            SAME(got[i], x[i / TILE % 5 * TILE + i % TILE]);
    }
    for (int mask : {2, 5, 8, 13, 15}) {
        CHECK(launch_clusters(4, 4, TILE, 0, false, some_blocks, in, out, mask));
        got = to_host(out, 4 * TILE);
        for (int i = 0; i < 4 * TILE; i++)
            SAME(got[i], mask >> i / TILE & 1 ? x[i % TILE] : -1);
    }
    return 0;
}

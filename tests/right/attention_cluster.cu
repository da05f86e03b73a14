// Attention by clusters of two or four blocks that share K and V: each block's producer loads its part of a tile for all, and a stage is empty when
// the consumers of every block have let go of it. Some blocks' rows lie beyond the end; they take part all the same.

#include "../attention.h"
#include "right.h"

template <int D, int TILE, int CONSUMERS, int STAGES, int BLOCKS>
__global__ void __launch_bounds__(WARPGROUP *(CONSUMERS + 1), 1)
    shared_keys(MAP q_map, MAP k_map, MAP v_map, MAP o_map, int n)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    half(*Q)[ROWS * D] = (half(*)[ROWS * D]) memory, (*K)[TILE * D] = (half(*)[TILE * D])(Q + CONSUMERS),
                    (*V)[TILE * D] = K + STAGES;
    __shared__ uint64_t q_full, k_full[STAGES], k_empty[STAGES], v_full[STAGES], v_empty[STAGES];
    const int part = TILE / BLOCKS;
    CLUSTER_SET_UP(q_full, 1);
    CLUSTER_SET_UP(k_full, 1);
    CLUSTER_SET_UP(v_full, 1);
    CLUSTER_SET_UP(k_empty, CONSUMERS * BLOCKS);
    CLUSTER_SET_UP(v_empty, CONSUMERS * BLOCKS);
    int head = blockIdx.y, tiles = (n + TILE - 1) / TILE, group = threadIdx.x / WARPGROUP - 1;
    unsigned rank = cluster_rank(), everyone = (1u << BLOCKS) - 1;
    if (group < 0) {
        SETMAXNREG_DEC(40);
        if (threadIdx.x == 0) {
            MBARRIER_ARRIVE_EXPECT(&q_full, (unsigned)sizeof *Q * CONSUMERS);
            for (int i = 0; i < CONSUMERS; i++)
                LOAD_TILE(D, ROWS, Q[i], q_map, (int)(blockIdx.x * CONSUMERS + i) * ROWS, head, &q_full);
            for (int j = 0; j < tiles; j++) {
                int stage = j % STAGES, parity = (j / STAGES + 1) % 2;
                CLUSTER_MBARRIER_WAIT(&k_empty[stage], parity);
                MBARRIER_ARRIVE_EXPECT(&k_full[stage], (unsigned)sizeof *K);
                LOAD_PART(D, TILE, K[stage], rank * part, k_map, j * TILE, head, &k_full[stage], everyone);
                CLUSTER_MBARRIER_WAIT(&v_empty[stage], parity);
                MBARRIER_ARRIVE_EXPECT(&v_full[stage], (unsigned)sizeof *V);
                LOAD_PART(D, TILE, V[stage], rank * part, v_map, j * TILE, head, &v_full[stage], everyone);
            }
        }
        __syncwarp();
    } else {
        SETMAXNREG_INC(232);
        int first = (blockIdx.x * CONSUMERS + group) * ROWS, in_group = threadIdx.x % WARPGROUP;
        struct softmax soft;
        float O[D / 2] = {}, S[TILE / 2];
        unsigned P[TILE / 16][4];
        MBARRIER_WAIT(&q_full, 0);
        for (int j = 0; j < tiles; j++) {
            int stage = j % STAGES, parity = j / STAGES % 2;
            CLUSTER_MBARRIER_WAIT(&k_full[stage], parity);
            stay(S);
            WGMMA_FENCE();
            SCORES(D, TILE, S, Q[group], K[stage]);
            WGMMA_COMMIT();
            WGMMA_WAIT(0);
            stay(S);
            if (in_group < BLOCKS)
                REMOTE_ARRIVE(mapped(&k_empty[stage], in_group));
            MASK(TILE, S, j * TILE, n);
            SOFTMAX(TILE, S, soft);
            RESCALE(D, O, soft);
            PACK(TILE, P, S);
            CLUSTER_MBARRIER_WAIT(&v_full[stage], parity);
            stay(O);
            STAY_ALL(P);
            WGMMA_FENCE();
            VALUES(D, TILE, O, P, V[stage]);
            WGMMA_COMMIT();
            WGMMA_WAIT(0);
            stay(O);
            if (in_group < BLOCKS)
                REMOTE_ARRIVE(mapped(&v_empty[stage], in_group));
        }
        DIVIDE(D, O, soft);
        TO_SHARED(D, Q[group], O);
        FENCE_ASYNC_SHARED();
        NAMED_SYNC(1 + group, WARPGROUP);
        if (in_group == 0) {
            STORE_TILE(D, o_map, first, head, Q[group]);
            BULK_COMMIT();
            BULK_WAIT_READ(0);
        }
        __syncwarp();
    }
    CLUSTER_SYNC();
}

template <int D, int TILE, int CONSUMERS, int STAGES, int BLOCKS>
static void run(void (*kernel)(MAP, MAP, MAP, MAP, int), int n, int heads)
{
    struct problem p = problem_of(D, n, heads, TILE);
    p.k_map = heads_map(p.K, D, n, heads, TILE / BLOCKS);
    p.v_map = heads_map(p.V, D, n, heads, TILE / BLOCKS);
    int bytes = (CONSUMERS * ROWS + 2 * STAGES * TILE) * D * (int)sizeof(half), across = CONSUMERS * ROWS * BLOCKS;
    dim3 grid((n + across - 1) / across * BLOCKS, heads);
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    CHECK(launch_clusters(BLOCKS, grid, WARPGROUP * (CONSUMERS + 1), bytes, false, kernel, p.q_map, p.k_map, p.v_map,
                          p.o_map, n));
    if (!is_right(&p, "a cluster"))
        exit(1);
}

int main(void)
{
    run<64, 64, 2, 2, 2>(shared_keys<64, 64, 2, 2, 2>, 200, 2);
    run<128, 128, 1, 1, 2>(shared_keys<128, 128, 1, 1, 2>, 257, 1);
    run<64, 128, 2, 2, 4>(shared_keys<64, 128, 2, 2, 4>, 300, 1);
    run<256, 64, 1, 1, 2>(shared_keys<256, 64, 1, 1, 2>, 70, 1);
    return 0;
}

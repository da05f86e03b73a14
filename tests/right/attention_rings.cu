// Attention by a producer and consumers of 64 rows each: rings of K and of V with barriers of their own, or of stages that hold both; the
// next tile of K or V comes under the products, O leaves through each consumer's own rows of Q. Blocks that have one tile of
// queries, and such that go on to further ones, where Q's buffer is filled again behind the store of O.

#include "../attention.h"
#include "right.h"

#define NUMBER(GROUP) (1 + (GROUP))  // of a consumer's own named barrier

// setmaxnreg, rings of K and V, a whole warpgroup for the producer in front of the consumers.
template <int D, int TILE, int CONSUMERS, int STAGES, int GIVEN, int TAKEN>
__global__ void __launch_bounds__(WARPGROUP *(CONSUMERS + 1), 1)
    two_rings(MAP q_map, MAP k_map, MAP v_map, MAP o_map, int n)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    half(*Q)[ROWS * D] = (half(*)[ROWS * D]) memory, (*K)[TILE * D] = (half(*)[TILE * D])(Q + CONSUMERS),
                    (*V)[TILE * D] = K + STAGES;
    __shared__ uint64_t q_full, k_full[STAGES], k_empty[STAGES], v_full[STAGES], v_empty[STAGES];
    SET_UP(q_full, 1);
    SET_UP(k_full, 1);
    SET_UP(v_full, 1);
    SET_UP(k_empty, CONSUMERS);
    SET_UP(v_empty, CONSUMERS);
    int head = blockIdx.y, tiles = (n + TILE - 1) / TILE, group = threadIdx.x / WARPGROUP - 1;
    if (group < 0) {
        SETMAXNREG_DEC(GIVEN);
        if (threadIdx.x == 0) {
            MBARRIER_ARRIVE_EXPECT(&q_full, (unsigned)sizeof *Q * CONSUMERS);
            for (int i = 0; i < CONSUMERS; i++)
                LOAD_TILE(D, ROWS, Q[i], q_map, (int)(blockIdx.x * CONSUMERS + i) * ROWS, head, &q_full);
            for (int j = 0; j < tiles; j++) {
                int stage = j % STAGES, parity = (j / STAGES + 1) % 2;
                MBARRIER_WAIT(&k_empty[stage], parity);
                MBARRIER_ARRIVE_EXPECT(&k_full[stage], (unsigned)sizeof *K);
                LOAD_TILE(D, TILE, K[stage], k_map, j * TILE, head, &k_full[stage]);
                MBARRIER_WAIT(&v_empty[stage], parity);
                MBARRIER_ARRIVE_EXPECT(&v_full[stage], (unsigned)sizeof *V);
                LOAD_TILE(D, TILE, V[stage], v_map, j * TILE, head, &v_full[stage]);
            }
        }
        return;
    }
    SETMAXNREG_INC(TAKEN);
    int first = (blockIdx.x * CONSUMERS + group) * ROWS;
    bool elected = threadIdx.x % WARPGROUP == 0;
    struct softmax soft;
    float O[D / 2] = {}, S[TILE / 2];
    unsigned P[TILE / 16][4];
    MBARRIER_WAIT(&q_full, 0);
    for (int j = 0; j < tiles; j++) {
        int stage = j % STAGES, parity = j / STAGES % 2;
        MBARRIER_WAIT(&k_full[stage], parity);
        stay(S);
        WGMMA_FENCE();
        SCORES(D, TILE, S, Q[group], K[stage]);
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        stay(S);
        if (elected)
            MBARRIER_ARRIVE(&k_empty[stage]);
        MASK(TILE, S, j * TILE, n);
        SOFTMAX(TILE, S, soft);
        RESCALE(D, O, soft);
        PACK(TILE, P, S);
        MBARRIER_WAIT(&v_full[stage], parity);
        stay(O);
        STAY_ALL(P);
        WGMMA_FENCE();
        VALUES(D, TILE, O, P, V[stage]);
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        stay(O);
        if (elected)
            MBARRIER_ARRIVE(&v_empty[stage]);
    }
    DIVIDE(D, O, soft);
    TO_SHARED(D, Q[group], O);
    FENCE_ASYNC_SHARED();
    NAMED_SYNC(NUMBER(group), WARPGROUP);
    if (elected && first < n) {
        STORE_TILE(D, o_map, first, head, Q[group]);
        BULK_COMMIT();
        BULK_WAIT_READ(0);
    }
}

// One ring whose stages hold K and V, both counted by one barrier; the producer is one warp behind the consumers, each of whose warps lets
// go of a stage for itself; persistent blocks, and Q is loaded again when every consumer's O has left its buffer.
template <int D, int TILE, int CONSUMERS, int STAGES>
__global__ void __launch_bounds__(WARPGROUP *CONSUMERS + 32)
    persistent(MAP q_map, MAP k_map, MAP v_map, MAP o_map, int n, int work)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    half(*Q)[ROWS * D] = (half(*)[ROWS * D]) memory;
    half(*KV)[2][TILE * D] = (half(*)[2][TILE * D])(Q + CONSUMERS);
    __shared__ uint64_t q_full, q_empty, full[STAGES], empty[STAGES];
    SET_UP(q_full, 1);
    SET_UP(q_empty, CONSUMERS);
    SET_UP(full, 1);
    SET_UP(empty, CONSUMERS * 4);
    int tiles = (n + TILE - 1) / TILE, across = (n + CONSUMERS * ROWS - 1) / (CONSUMERS * ROWS),
        warp = threadIdx.x / 32;
    if (warp == CONSUMERS * 4) {
        if (threadIdx.x % 32 == 0)
            for (int i = blockIdx.x, turn = 0, t = 0; i < work; i += gridDim.x, turn++) {
                int head = i / across;
                MBARRIER_WAIT(&q_empty, (turn + 1) % 2);
                MBARRIER_ARRIVE_EXPECT(&q_full, (unsigned)sizeof *Q * CONSUMERS);
                for (int c = 0; c < CONSUMERS; c++)
                    LOAD_TILE(D, ROWS, Q[c], q_map, (i % across * CONSUMERS + c) * ROWS, head, &q_full);
                for (int j = 0; j < tiles; j++, t++) {
                    int stage = t % STAGES;
                    MBARRIER_WAIT(&empty[stage], (t / STAGES + 1) % 2);
                    MBARRIER_ARRIVE_EXPECT(&full[stage], (unsigned)sizeof *KV);
                    LOAD_TILE(D, TILE, KV[stage][0], k_map, j * TILE, head, &full[stage]);
                    LOAD_TILE(D, TILE, KV[stage][1], v_map, j * TILE, head, &full[stage]);
                }
            }
        return;
    }
    int group = threadIdx.x / WARPGROUP;
    bool elected = threadIdx.x % WARPGROUP == 0;
    for (int i = blockIdx.x, turn = 0, t = 0; i < work; i += gridDim.x, turn++) {
        int head = i / across, first = (i % across * CONSUMERS + group) * ROWS;
        struct softmax soft;
        float O[D / 2] = {}, S[TILE / 2];
        unsigned P[TILE / 16][4];
        MBARRIER_WAIT(&q_full, turn % 2);
        for (int j = 0; j < tiles; j++, t++) {
            int stage = t % STAGES;
            MBARRIER_WAIT(&full[stage], t / STAGES % 2);
            stay(S);
            WGMMA_FENCE();
            SCORES(D, TILE, S, Q[group], KV[stage][0]);
            WGMMA_COMMIT();
            WGMMA_WAIT(0);
            stay(S);
            MASK(TILE, S, j * TILE, n);
            SOFTMAX(TILE, S, soft);
            RESCALE(D, O, soft);
            PACK(TILE, P, S);
            stay(O);
            STAY_ALL(P);
            WGMMA_FENCE();
            VALUES(D, TILE, O, P, KV[stage][1]);
            WGMMA_COMMIT();
            WGMMA_WAIT(0);
            stay(O);
            if (threadIdx.x % 32 == 0)
                MBARRIER_ARRIVE(&empty[stage]);
        }
        DIVIDE(D, O, soft);
        TO_SHARED(D, Q[group], O);
        FENCE_ASYNC_SHARED();
        NAMED_SYNC(NUMBER(group), WARPGROUP);
        if (elected) {
            if (first < n) {
                STORE_TILE(D, o_map, first, head, Q[group]);
                BULK_COMMIT();
                BULK_WAIT_READ(0);
            }
            MBARRIER_ARRIVE(&q_empty);
        }
    }
}

// Persistent, with a buffer for O: Q's is free when the last QK has read it, O's when the store before has; its store flies under the
// next tile's products.
template <int D, int TILE, int CONSUMERS, int STAGES>
__global__ void __launch_bounds__(WARPGROUP *(CONSUMERS + 1))
    own_buffer(MAP q_map, MAP k_map, MAP v_map, MAP o_map, int n, int work)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    half(*Q)[ROWS * D] = (half(*)[ROWS * D]) memory, (*O_tile)[ROWS * D] = Q + CONSUMERS,
                    (*K)[TILE * D] = (half(*)[TILE * D])(O_tile + CONSUMERS), (*V)[TILE * D] = K + STAGES;
    __shared__ uint64_t q_full[CONSUMERS], q_empty[CONSUMERS], k_full[STAGES], k_empty[STAGES], v_full[STAGES],
        v_empty[STAGES];
    SET_UP(q_full, 1);
    SET_UP(q_empty, WARPGROUP);
    SET_UP(k_full, 1);
    SET_UP(v_full, 1);
    SET_UP(k_empty, WARPGROUP * CONSUMERS);  // each thread arrives
    SET_UP(v_empty, WARPGROUP * CONSUMERS);
    int tiles = (n + TILE - 1) / TILE, across = (n + CONSUMERS * ROWS - 1) / (CONSUMERS * ROWS);
    int group = threadIdx.x / WARPGROUP - 1;
    if (group < 0) {
        if (threadIdx.x == 32)
            for (int i = blockIdx.x, turn = 0, t = 0; i < work; i += gridDim.x, turn++) {
                int head = i / across;
                for (int c = 0; c < CONSUMERS; c++) {
                    MBARRIER_WAIT(&q_empty[c], (turn + 1) % 2);
                    MBARRIER_ARRIVE_EXPECT(&q_full[c], (unsigned)sizeof *Q);
                    LOAD_TILE(D, ROWS, Q[c], q_map, (i % across * CONSUMERS + c) * ROWS, head, &q_full[c]);
                }
                for (int j = 0; j < tiles; j++, t++) {
                    int stage = t % STAGES, parity = (t / STAGES + 1) % 2;
                    MBARRIER_WAIT(&k_empty[stage], parity);
                    MBARRIER_EXPECT(&k_full[stage], (unsigned)sizeof *K);
                    LOAD_TILE(D, TILE, K[stage], k_map, j * TILE, head, &k_full[stage]);
                    MBARRIER_ARRIVE(&k_full[stage]);
                    MBARRIER_WAIT(&v_empty[stage], parity);
                    MBARRIER_ARRIVE_EXPECT(&v_full[stage], (unsigned)sizeof *V);
                    LOAD_TILE(D, TILE, V[stage], v_map, j * TILE, head, &v_full[stage]);
                }
            }
        return;
    }
    bool elected = threadIdx.x % WARPGROUP == 0;
    for (int i = blockIdx.x, turn = 0, t = 0; i < work; i += gridDim.x, turn++) {
        int head = i / across, first = (i % across * CONSUMERS + group) * ROWS;
        struct softmax soft;
        float O[D / 2], S[TILE / 2];
        unsigned P[TILE / 16][4];
        for (int e = 0; e < D / 2; e++)
            O[e] = 0;
        MBARRIER_WAIT(&q_full[group], turn % 2);
        for (int j = 0; j < tiles; j++, t++) {
            int stage = t % STAGES, parity = t / STAGES % 2;
            MBARRIER_WAIT(&k_full[stage], parity);
            stay(S);
            WGMMA_FENCE();
            SCORES(D, TILE, S, Q[group], K[stage]);
            WGMMA_COMMIT();
            WGMMA_WAIT(0);
            stay(S);
            MBARRIER_ARRIVE(&k_empty[stage]);
            if (j + 1 == tiles)
                MBARRIER_ARRIVE(&q_empty[group]);
            MASK(TILE, S, j * TILE, n);
            SOFTMAX(TILE, S, soft);
            RESCALE(D, O, soft);
            PACK(TILE, P, S);
            MBARRIER_WAIT(&v_full[stage], parity);
            stay(O);
            STAY_ALL(P);
            WGMMA_FENCE();
            VALUES(D, TILE, O, P, V[stage]);
            WGMMA_COMMIT();
            WGMMA_WAIT(0);
            stay(O);
            MBARRIER_ARRIVE(&v_empty[stage]);
        }
        DIVIDE(D, O, soft);
        if (elected)
            BULK_WAIT_READ(0);
        NAMED_SYNC(NUMBER(group), WARPGROUP);
        TO_SHARED(D, O_tile[group], O);
        FENCE_ASYNC_SHARED();
        NAMED_SYNC(NUMBER(group), WARPGROUP);
        if (elected) {
            STORE_TILE(D, o_map, first, head, O_tile[group]);
            BULK_COMMIT();
        }
    }
    if (elected)
        BULK_WAIT(0);
}

// Shared memory has the tiles of Q and so many of K and of V; of persistent blocks there are fewer than tiles of queries, and O may have a buffer.
template <int D, int TILE, int CONSUMERS>
static void run(void (*kernel)(MAP, MAP, MAP, MAP, int), int tiles_of_keys, int n, int heads)
{
    struct problem p = problem_of(D, n, heads, TILE);
    int bytes = (CONSUMERS * ROWS + tiles_of_keys * TILE) * D * (int)sizeof(half), across = CONSUMERS * ROWS;
    dim3 grid((n + across - 1) / across, heads);
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<grid, WARPGROUP *(CONSUMERS + 1), bytes>>>(p.q_map, p.k_map, p.v_map, p.o_map, n);
    if (!is_right(&p, "rings"))
        exit(1);
}

template <int D, int TILE, int CONSUMERS>
static void share(void (*kernel)(MAP, MAP, MAP, MAP, int, int), int threads, int tiles_of_keys, int n, int heads,
                  int blocks)
{
    struct problem p = problem_of(D, n, heads, TILE);
    int work = (n + CONSUMERS * ROWS - 1) / (CONSUMERS * ROWS) * heads;
    int bytes = (2 * CONSUMERS * ROWS + tiles_of_keys * TILE) * D * (int)sizeof(half);
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<blocks, threads, bytes>>>(p.q_map, p.k_map, p.v_map, p.o_map, n, work);
    if (!is_right(&p, "persistent blocks"))
        exit(1);
}

int main(void)
{
    run<64, 128, 3>(two_rings<64, 128, 3, 2, 24, 160>, 4, 193, 1);
    run<64, 64, 2>(two_rings<64, 64, 2, 1, 40, 232>, 2, 1, 1);
    run<64, 64, 2>(two_rings<64, 64, 2, 3, 40, 232>, 6, 200, 2);
    run<128, 128, 2>(two_rings<128, 128, 2, 2, 24, 240>, 4, 130, 1);
    run<256, 64, 2>(two_rings<256, 64, 2, 1, 24, 240>, 2, 70, 1);
    share<64, 64, 2>(persistent<64, 64, 2, 2>, 288, 4, 130, 3, 2);
    share<128, 64, 1>(persistent<128, 64, 1, 1>, 160, 2, 65, 3, 2);
    share<64, 64, 2>(own_buffer<64, 64, 2, 2>, 384, 4, 130, 3, 2);
    share<128, 64, 1>(own_buffer<128, 64, 1, 1>, 256, 2, 65, 3, 2);
    return 0;
}

// Attention whose consumers take turns at the products, one's softmax under the other's: by a named barrier for each consumer, which its
// neighbour arrives at, or by mbarriers in a ring. What is issued in a turn: QK and PV each, or PV of these keys and QK of the next together.

#include "../attention.h"
#include "right.h"

// A turn of each consumer is a named barrier of its own, that it waits for with the one before it. The first's turn is given by the last.
#define TURN(GROUP) (1 + (GROUP))
#define EPILOGUE(GROUP) (8 + (GROUP))

// How turns are handed on. Each knows at which place of its ring of turns it stands, `turn`.
struct by_name {
    static __device__ __forceinline__ void begin(uint64_t *, int group, int consumers)
    {
        if (group == consumers - 1)
            NAMED_ARRIVE(TURN(0), 2 * WARPGROUP);
    }
    static __device__ __forceinline__ void wait(uint64_t *, int group, int) { NAMED_SYNC(TURN(group), 2 * WARPGROUP); }
    static __device__ __forceinline__ void hand_on(uint64_t *, int group, int consumers)
    {
        NAMED_ARRIVE(TURN((group + 1) % consumers), 2 * WARPGROUP);
    }
};
// The first consumer gives itself the first turn: its own warps arrive and then wait.
struct by_itself : by_name {
    static __device__ __forceinline__ void begin(uint64_t *, int group, int)
    {
        if (group == 0)
            NAMED_ARRIVE(TURN(0), 2 * WARPGROUP);
    }
};
// Each turn is a phase of the consumer's mbarrier, at which all threads of the one before it arrive; the first begins with a phase that is over.
struct by_mbarrier {
    static __device__ __forceinline__ void begin(uint64_t *, int, int) {}
    static __device__ __forceinline__ void wait(uint64_t *turns, int group, int turn)
    {
        MBARRIER_WAIT(&turns[group], (turn + (group == 0)) % 2);
    }
    static __device__ __forceinline__ void hand_on(uint64_t *turns, int group, int consumers)
    {
        MBARRIER_ARRIVE(&turns[(group + 1) % consumers]);
    }
};

// The producer is the last warpgroup; K's tiles and V's come in one order: K 0, K 1, V 0, K 2, V 1 and so on.
template <int D, int TILE, int CONSUMERS, int STAGES, bool TOGETHER, typename TURNS>
__global__ void __launch_bounds__(WARPGROUP *(CONSUMERS + 1), 1)
    turns(MAP q_map, MAP k_map, MAP v_map, MAP o_map, int n)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    half(*Q)[ROWS * D] = (half(*)[ROWS * D]) memory, (*K)[TILE * D] = (half(*)[TILE * D])(Q + CONSUMERS),
                    (*V)[TILE * D] = K + STAGES;
    __shared__ uint64_t q_full, k_full[STAGES], k_empty[STAGES], v_full[STAGES], v_empty[STAGES], turn_of[CONSUMERS];
    SET_UP(q_full, 1);
    SET_UP(k_full, 1);
    SET_UP(v_full, 1);
    SET_UP(k_empty, CONSUMERS);
    SET_UP(v_empty, CONSUMERS);
    SET_UP(turn_of, WARPGROUP);
    int head = blockIdx.y, tiles = (n + TILE - 1) / TILE, group = threadIdx.x / WARPGROUP;
    if (group == CONSUMERS) {
        SETMAXNREG_DEC(24);
        if (threadIdx.x % WARPGROUP == 0) {
            MBARRIER_ARRIVE_EXPECT(&q_full, (unsigned)sizeof *Q * CONSUMERS);
            for (int i = 0; i < CONSUMERS; i++)
                LOAD_TILE(D, ROWS, Q[i], q_map, (int)(blockIdx.x * CONSUMERS + i) * ROWS, head, &q_full);
            for (int j = 0; j <= tiles; j++) {
                if (j < tiles) {
                    MBARRIER_WAIT(&k_empty[j % STAGES], (j / STAGES + 1) % 2);
                    MBARRIER_ARRIVE_EXPECT(&k_full[j % STAGES], (unsigned)sizeof *K);
                    LOAD_TILE(D, TILE, K[j % STAGES], k_map, j * TILE, head, &k_full[j % STAGES]);
                }
                if (j > 0) {
                    int v = j - 1;
                    MBARRIER_WAIT(&v_empty[v % STAGES], (v / STAGES + 1) % 2);
                    MBARRIER_ARRIVE_EXPECT(&v_full[v % STAGES], (unsigned)sizeof *V);
                    LOAD_TILE(D, TILE, V[v % STAGES], v_map, v * TILE, head, &v_full[v % STAGES]);
                }
            }
        }
        return;
    }
    SETMAXNREG_INC(CONSUMERS == 2 ? 240 : 160);
    int first = (blockIdx.x * CONSUMERS + group) * ROWS, turn = 0;
    bool elected = threadIdx.x % WARPGROUP == 0;
    struct softmax soft;
    float O[D / 2] = {}, S[TILE / 2];
    unsigned P[TILE / 16][4];
    TURNS::begin(turn_of, group, CONSUMERS);
    MBARRIER_WAIT(&q_full, 0);
    if constexpr (TOGETHER) {
        MBARRIER_WAIT(&k_full[0], 0);
        TURNS::wait(turn_of, group, turn++);
        stay(S);
        WGMMA_FENCE();
        SCORES(D, TILE, S, Q[group], K[0]);
        WGMMA_COMMIT();
        TURNS::hand_on(turn_of, group, CONSUMERS);
        WGMMA_WAIT(0);
        stay(S);
        if (elected)
            MBARRIER_ARRIVE(&k_empty[0]);
        MASK(TILE, S, 0, n);
        SOFTMAX(TILE, S, soft);
        for (int j = 0; j < tiles; j++) {
            int next = (j + 1) % STAGES;
            PACK(TILE, P, S);
            RESCALE(D, O, soft);
            if (j + 1 < tiles)
                MBARRIER_WAIT(&k_full[next], (j + 1) / STAGES % 2);
            MBARRIER_WAIT(&v_full[j % STAGES], j / STAGES % 2);
            TURNS::wait(turn_of, group, turn++);
            stay(O);
            stay(S);
            STAY_ALL(P);
            WGMMA_FENCE();
            VALUES(D, TILE, O, P, V[j % STAGES]);
            WGMMA_COMMIT();
            if (j + 1 < tiles)
                SCORES(D, TILE, S, Q[group], K[next]);
            WGMMA_COMMIT();
            TURNS::hand_on(turn_of, group, CONSUMERS);
            WGMMA_WAIT(1);
            stay(O);
            if (elected)
                MBARRIER_ARRIVE(&v_empty[j % STAGES]);
            WGMMA_WAIT(0);
            stay(S);
            if (j + 1 == tiles)
                break;
            if (elected)
                MBARRIER_ARRIVE(&k_empty[next]);
            MASK(TILE, S, (j + 1) * TILE, n);
            SOFTMAX(TILE, S, soft);
        }
    } else {
        for (int j = 0; j < tiles; j++) {
            int stage = j % STAGES, parity = j / STAGES % 2;
            MBARRIER_WAIT(&k_full[stage], parity);
            TURNS::wait(turn_of, group, turn++);
            stay(S);
            WGMMA_FENCE();
            SCORES(D, TILE, S, Q[group], K[stage]);
            WGMMA_COMMIT();
            WGMMA_WAIT(0);
            TURNS::hand_on(turn_of, group, CONSUMERS);
            stay(S);
            if (elected)
                MBARRIER_ARRIVE(&k_empty[stage]);
            MASK(TILE, S, j * TILE, n);
            SOFTMAX(TILE, S, soft);
            RESCALE(D, O, soft);
            PACK(TILE, P, S);
            MBARRIER_WAIT(&v_full[stage], parity);
            TURNS::wait(turn_of, group, turn++);
            stay(O);
            STAY_ALL(P);
            WGMMA_FENCE();
            VALUES(D, TILE, O, P, V[stage]);
            WGMMA_COMMIT();
            TURNS::hand_on(turn_of, group, CONSUMERS);
            WGMMA_WAIT(0);
            stay(O);
            if (elected)
                MBARRIER_ARRIVE(&v_empty[stage]);
        }
    }
    DIVIDE(D, O, soft);
    TO_SHARED(D, Q[group], O);
    FENCE_ASYNC_SHARED();
    NAMED_SYNC(EPILOGUE(group), WARPGROUP);
    if (elected) {
        STORE_TILE(D, o_map, first, head, Q[group]);
        BULK_COMMIT();
        BULK_WAIT_READ(0);
    }
}

// FlashAttention-3's schedule: QK of the next keys is issued, then PV of these, and the softmax of the next runs under PV of these, in one
// warpgroup beside what turns overlap between two. P is a set of registers beside S, packed behind the wait for the PV that reads it.
template <int D, int TILE, int CONSUMERS, int STAGES, typename TURNS>
__global__ void __launch_bounds__(WARPGROUP *(CONSUMERS + 1), 1) both(MAP q_map, MAP k_map, MAP v_map, MAP o_map, int n)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    half(*Q)[ROWS * D] = (half(*)[ROWS * D]) memory, (*K)[TILE * D] = (half(*)[TILE * D])(Q + CONSUMERS),
                    (*V)[TILE * D] = K + STAGES;
    __shared__ uint64_t q_full, k_full[STAGES], k_empty[STAGES], v_full[STAGES], v_empty[STAGES], turn_of[CONSUMERS];
    SET_UP(q_full, 1);
    SET_UP(k_full, 1);
    SET_UP(v_full, 1);
    SET_UP(k_empty, CONSUMERS);
    SET_UP(v_empty, CONSUMERS);
    SET_UP(turn_of, WARPGROUP);
    int head = blockIdx.y, tiles = (n + TILE - 1) / TILE, group = threadIdx.x / WARPGROUP - 1;
    if (group < 0) {
        SETMAXNREG_DEC(24);
        if (threadIdx.x == 0) {
            MBARRIER_ARRIVE_EXPECT(&q_full, (unsigned)sizeof *Q * CONSUMERS);
            for (int i = 0; i < CONSUMERS; i++)
                LOAD_TILE(D, ROWS, Q[i], q_map, (int)(blockIdx.x * CONSUMERS + i) * ROWS, head, &q_full);
            for (int i = 0; i < tiles; i++) {  // the last keys first
                int j = tiles - 1 - i, stage = i % STAGES, parity = (i / STAGES + 1) % 2;
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
    SETMAXNREG_INC(CONSUMERS == 2 ? 240 : 160);
    int first = (blockIdx.x * CONSUMERS + group) * ROWS, turn = 0;
    bool elected = threadIdx.x % WARPGROUP == 0;
    struct softmax soft;
    float O[D / 2] = {};
    unsigned P[TILE / 16][4];
    TURNS::begin(turn_of, group, CONSUMERS);
    MBARRIER_WAIT(&q_full, 0);
    {
        float S[TILE / 2];
        MBARRIER_WAIT(&k_full[0], 0);
        stay(S);
        WGMMA_FENCE();
        SCORES(D, TILE, S, Q[group], K[0]);
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        stay(S);
        if (elected)
            MBARRIER_ARRIVE(&k_empty[0]);
        MASK(TILE, S, (tiles - 1) * TILE, n);
        SOFTMAX(TILE, S, soft);
        PACK(TILE, P, S);
    }
    for (int i = 1; i < tiles; i++) {
        float S[TILE / 2];
        int stage = i % STAGES, before = (i - 1) % STAGES;
        MBARRIER_WAIT(&k_full[stage], i / STAGES % 2);
        TURNS::wait(turn_of, group, turn++);
        stay(S);
        stay(O);
        STAY_ALL(P);
        WGMMA_FENCE();
        SCORES(D, TILE, S, Q[group], K[stage]);
        WGMMA_COMMIT();
        MBARRIER_WAIT(&v_full[before], (i - 1) / STAGES % 2);
        VALUES(D, TILE, O, P, V[before]);
        WGMMA_COMMIT();
        TURNS::hand_on(turn_of, group, CONSUMERS);
        WGMMA_WAIT(1);
        stay(S);
        if (elected)
            MBARRIER_ARRIVE(&k_empty[stage]);
        SOFTMAX(TILE, S, soft);
        WGMMA_WAIT(0);
        stay(O);
        STAY_ALL(P);
        if (elected)
            MBARRIER_ARRIVE(&v_empty[before]);
        PACK(TILE, P, S);
        RESCALE(D, O, soft);
    }
    int last = (tiles - 1) % STAGES;
    MBARRIER_WAIT(&v_full[last], (tiles - 1) / STAGES % 2);
    stay(O);
    STAY_ALL(P);
    WGMMA_FENCE();
    VALUES(D, TILE, O, P, V[last]);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(O);
    DIVIDE(D, O, soft);
    TO_SHARED(D, Q[group], O);
    FENCE_ASYNC_SHARED();
    NAMED_SYNC(EPILOGUE(group), WARPGROUP);
    if (elected) {
        STORE_TILE(D, o_map, first, head, Q[group]);
        BULK_COMMIT();
        BULK_WAIT_READ(0);
    }
}

template <int D, int TILE, int CONSUMERS, int STAGES> static void run(void (*kernel)(MAP, MAP, MAP, MAP, int), int n)
{
    struct problem p = problem_of(D, n, 1, TILE);
    int bytes = (CONSUMERS * ROWS + 2 * STAGES * TILE) * D * (int)sizeof(half), across = CONSUMERS * ROWS;
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<(n + across - 1) / across, WARPGROUP *(CONSUMERS + 1), bytes>>>(p.q_map, p.k_map, p.v_map, p.o_map, n);
    if (!is_right(&p, "in turns"))
        exit(1);
}

int main(void)
{
    run<64, 64, 2, 2>(turns<64, 64, 2, 2, false, by_name>, 200);
    run<64, 64, 3, 2>(turns<64, 64, 3, 2, true, by_itself>, 190);
    run<64, 64, 2, 1>(turns<64, 64, 2, 1, false, by_mbarrier>, 129);
    run<64, 64, 3, 3>(turns<64, 64, 3, 3, true, by_mbarrier>, 250);
    run<128, 128, 2, 2>(turns<128, 128, 2, 2, true, by_name>, 257);
    run<64, 128, 2, 2>(both<64, 128, 2, 2, by_name>, 385);
    run<64, 64, 3, 2>(both<64, 64, 3, 2, by_itself>, 200);
    run<128, 64, 2, 2>(both<128, 64, 2, 2, by_mbarrier>, 130);
    run<256, 64, 2, 1>(turns<256, 64, 2, 1, false, by_name>, 70);
    return 0;
}

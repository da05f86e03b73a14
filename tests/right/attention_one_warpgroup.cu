// Attention by one warpgroup and one buffer each of K and of V: while PV reads V the next K comes, and while QK reads K the next V. P stays in
// registers, or goes through shared memory; O leaves through Q's buffer by a copy of the tensor's, or from registers.

#include "../attention.h"
#include "right.h"

enum way { REGISTERS, SHARED };

template <int D, int TILE, enum way P_WAY, enum way O_WAY>
__global__ void __launch_bounds__(WARPGROUP) attention(MAP q_map, MAP k_map, MAP v_map, MAP o_map, half *out, int n)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    half *Q = (half *)memory, *K = Q + ROWS * D, *V = K + TILE * D, *P_tile = V + TILE * D;
    __shared__ uint64_t q_full, k_full, v_full;
    const unsigned bytes = TILE * D * sizeof(half);
    int first = blockIdx.x * ROWS, head = blockIdx.y, tiles = (n + TILE - 1) / TILE;
    bool elected = threadIdx.x == 0;
    SET_UP(q_full, 1);
    SET_UP(k_full, 1);
    SET_UP(v_full, 1);
    if (elected) {
        MBARRIER_ARRIVE_EXPECT(&q_full, (unsigned)(ROWS * D * sizeof(half)));
        LOAD_TILE(D, ROWS, Q, q_map, first, head, &q_full);
        MBARRIER_ARRIVE_EXPECT(&k_full, bytes);
        LOAD_TILE(D, TILE, K, k_map, 0, head, &k_full);
        MBARRIER_ARRIVE_EXPECT(&v_full, bytes);
        LOAD_TILE(D, TILE, V, v_map, 0, head, &v_full);
    }
    struct softmax soft;
    float O[D / 2] = {}, S[TILE / 2];
    MBARRIER_WAIT(&q_full, 0);
    for (int j = 0; j < tiles; j++) {
        MBARRIER_WAIT(&k_full, j % 2);
        stay(S);
        WGMMA_FENCE();
        SCORES(D, TILE, S, Q, K);
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        stay(S);
        if (elected && j + 1 < tiles) {
            MBARRIER_ARRIVE_EXPECT(&k_full, bytes);
            LOAD_TILE(D, TILE, K, k_map, (j + 1) * TILE, head, &k_full);
        }
        MASK(TILE, S, j * TILE, n);
        SOFTMAX(TILE, S, soft);
        RESCALE(D, O, soft);
        if constexpr (P_WAY == REGISTERS) {
            unsigned P[TILE / 16][4];
            PACK(TILE, P, S);
            MBARRIER_WAIT(&v_full, j % 2);
            stay(O);
            STAY_ALL(P);
            WGMMA_FENCE();
            VALUES(D, TILE, O, P, V);
            WGMMA_COMMIT();
            WGMMA_WAIT(0);
        } else {
            TO_SHARED(TILE, P_tile, S);
            FENCE_ASYNC_SHARED();
            NAMED_SYNC(1, WARPGROUP);
            MBARRIER_WAIT(&v_full, j % 2);
            stay(O);
            WGMMA_FENCE();
            VALUES_SS(D, TILE, O, P_tile, V);
            WGMMA_COMMIT();
            WGMMA_WAIT(0);
        }
        stay(O);
        if (elected && j + 1 < tiles) {
            MBARRIER_ARRIVE_EXPECT(&v_full, bytes);
            LOAD_TILE(D, TILE, V, v_map, (j + 1) * TILE, head, &v_full);
        }
    }
    DIVIDE(D, O, soft);
    if constexpr (O_WAY == SHARED) {
        TO_SHARED(D, Q, O);
        FENCE_ASYNC_SHARED();
        NAMED_SYNC(1, WARPGROUP);
        if (elected) {
            STORE_TILE(D, o_map, first, head, Q);
            BULK_COMMIT();
            BULK_WAIT_READ(0);
        }
    } else {
        for (int i = 0; i < D / 2; i += 2) {
            int row = first + row_of(i);
            if (row < n)
                *(half2 *)&out[((size_t)head * n + row) * D + column_of(i)] = __floats2half2_rn(O[i], O[i + 1]);
        }
    }
}

template <int D, int TILE> static void run(void (*kernel)(MAP, MAP, MAP, MAP, half *, int), int n, int heads)
{
    struct problem p = problem_of(D, n, heads, TILE);
    int bytes = (ROWS * D + 2 * TILE * D + ROWS * TILE) * (int)sizeof(half);
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<dim3((n + ROWS - 1) / ROWS, heads), WARPGROUP, bytes>>>(p.q_map, p.k_map, p.v_map, p.o_map, p.O, n);
    if (!is_right(&p, "one warpgroup"))
        exit(1);
}

int main(void)
{
    for (int n : {1, 63, 64, 65, 130})
        run<64, 64>(attention<64, 64, REGISTERS, SHARED>, n, 2);
    run<64, 128>(attention<64, 128, SHARED, SHARED>, 193, 2);
    run<64, 64>(attention<64, 64, SHARED, REGISTERS>, 130, 1);
    run<64, 256>(attention<64, 256, REGISTERS, REGISTERS>, 257, 1);
    run<128, 64>(attention<128, 64, REGISTERS, REGISTERS>, 100, 2);
    run<128, 128>(attention<128, 128, REGISTERS, SHARED>, 140, 1);
    run<256, 64>(attention<256, 64, REGISTERS, SHARED>, 65, 1);
    run<256, 64>(attention<256, 64, SHARED, SHARED>, 70, 1);
    return 0;
}

// What attention by tensor copies and wgmma is made of, as step 45 derives it: the registers of its warpgroups, a ring of tiles that copies
// fill, and the products that read them.
#ifndef HOPPER_ATTENTION_H
#define HOPPER_ATTENTION_H

#include "ptx/bulk.h"
#include "ptx/mbarrier.h"
#include "ptx/named_barrier.h"
#include "ptx/pair.h"
#include "ptx/stmatrix.h"
#include "ptx/tensor.h"
#include "ptx/wgmma.h"

constexpr int WARPS = 4, WARPGROUP = 32 * WARPS;  // threads of a warpgroup
constexpr int PANEL = 64;                         // columns of a panel: its rows are as wide as the swizzle, 128 bytes
constexpr int WGMMA_M = 64, WGMMA_K = 16;         // rows and columns of A in one wgmma
constexpr int MMA_M = 16, MMA_N = 8;              // rows and columns in a tile of a warp's sums
constexpr int VECTOR = 8;                         // elements of 16 bits in 16 bytes

// [sizes] A block has CONSUMERS warpgroups that multiply, of 64 rows of Q each, and one that copies.
template <int CONSUMERS> constexpr int THREADS = (CONSUMERS + 1) * WARPGROUP;
template <int CONSUMERS> constexpr int BLOCK_ROWS = CONSUMERS * WGMMA_M;

// [registers] Of each thread, a multiple of 8, where an SM holds one block. A launch divides an SM's 65,536 registers evenly. The producer
// keeps few of its own, and the consumers share what is left of the block's. With four consumers, 32 leave them as many as 24 would.
template <int CONSUMERS> constexpr int LAUNCH_REGISTERS = 65536 / THREADS<CONSUMERS> / 8 * 8;
template <int CONSUMERS> constexpr int PRODUCER_REGISTERS = CONSUMERS < 4 ? 24 : 32;
template <int CONSUMERS, int PRODUCER = PRODUCER_REGISTERS<CONSUMERS>>
constexpr int CONSUMER_REGISTERS = ((CONSUMERS + 1) * LAUNCH_REGISTERS<CONSUMERS> - PRODUCER) / CONSUMERS / 8 * 8;

// [next_stage] After the last stage of a ring comes the first, whose barriers are in their next phase.
template <int STAGES>
__device__ __forceinline__ void next_stage(int *stage, int *parity)
{
    *stage = *stage + 1 < STAGES ? *stage + 1 : 0;
    if (*stage == 0)
        *parity = 1 - *parity;
}

// [ring] The barriers of the places of a ring, whose phases expect so many arrivals: that a place is full, and that it is empty again.
template <int STAGES> struct ring {
    uint64_t full[STAGES], empty[STAGES];
};

template <int STAGES>
__device__ __forceinline__ void init_ring(struct ring<STAGES> *ring, unsigned to_fill, unsigned to_empty)
{
    for (int stage = 0; stage < STAGES; stage++) {
        mbarrier_init(&ring->full[stage], to_fill);
        mbarrier_init(&ring->empty[stage], to_empty);
    }
}

// [release] A warp arrives once.
__device__ __forceinline__ void release(uint64_t *barrier, int lane)
{
    if (lane == 0)
        mbarrier_arrive(barrier);
}

// [turns] As in step 46, where TURNS: a consumer waits at a named barrier of its own until the one before it arrives there. After the last
// consumer comes the first.
template <bool TURNS> __device__ __forceinline__ void wait_for_turn(int consumer)
{
    if (TURNS)
        named_barrier_sync(1 + consumer, 2 * WARPGROUP);
}

template <bool TURNS, int CONSUMERS> __device__ __forceinline__ void hand_on(int consumer)
{
    if (TURNS)
        named_barrier_arrive(1 + (consumer + 1) % CONSUMERS, 2 * WARPGROUP);
}

// [load_tile] One thread sets the barrier to expect a tile's bytes, and the engine copies it, a panel at a time: rows `row` on of the
// map's matrix `head`. Rows beyond the last become 0.
template <int D, int ROWS, typename T>
__device__ __forceinline__ void load_tile(T smem[D / PANEL][ROWS][PANEL], uint64_t *full, const CUtensorMap *map,
                                          int head, int row)
{
    mbarrier_arrive_expect_tx(full, ROWS * D * sizeof(T));
    for (int panel = 0; panel < D / PANEL; panel++)
        tensor_load_3d(smem[panel], map, head, row, panel * PANEL, full);
}

// [further] The descriptor of what lies so many bytes further on, within shared memory's first 256 KiB: the address is in its lower half.
__device__ __forceinline__ uint64_t further(uint64_t descriptor, unsigned bytes)
{
    return (descriptor & ~0xffffffffull) | (uint32_t)((uint32_t)descriptor + bytes / 16);
}

// [QK_slice] The descriptor of columns d to d + 15 of all rows of a tile of Q or K, K-major. The stride offset leads 8 rows on; the
// leading one means nothing.
template <int ROWS, typename T>
__device__ __forceinline__ uint64_t QK_slice(const T tile[][ROWS][PANEL], int d)
{
    return further(wgmma_descriptor(tile, 0, 8 * sizeof(tile[0][0]), WGMMA_SWIZZLE_128B),
                   d / PANEL * sizeof(tile[0]) + d % PANEL * sizeof(T));
}

// [V_slice] The descriptor of rows key to key + 15 of a tile of V, all columns, MN-major. The leading offset leads one panel on, the
// stride offset 8 rows.
template <int TILE, typename T>
__device__ __forceinline__ uint64_t V_slice(const T V[][TILE][PANEL], int key)
{
    return further(wgmma_descriptor(V, sizeof(V[0]), 8 * sizeof(V[0][0]), WGMMA_SWIZZLE_128B), key * sizeof(V[0][0]));
}

// [scores] A warpgroup issues S = Q Kᵀ as one group: [64, TILE], of its rows of Q and a tile of K. A row of K is a column of Kᵀ. The
// first product does not add: S needs no zeros.
template <int D, int TILE, typename T>
__device__ __forceinline__ void scores(float (&s)[TILE / MMA_N][4], const T Q[D / PANEL][WGMMA_M][PANEL],
                                       const T K[D / PANEL][TILE][PANEL])
{
    wgmma_fence();
#pragma unroll
    for (int d = 0; d < D; d += WGMMA_K)
        wgmma_transposed(s, QK_slice<WGMMA_M>(Q, d), QK_slice<TILE>(K, d), d > 0, T());
    wgmma_commit_group();
}

// [add_output] A warpgroup issues O += P V as one group: [64, D], of P in registers and a tile of V. No product may still read what the
// registers of P held before.
template <int D, int TILE, typename T>
__device__ __forceinline__ void add_output(float (&o)[D / MMA_N][4], const uint32_t p[TILE / WGMMA_K][4],
                                           const T V[D / PANEL][TILE][PANEL])
{
    wgmma_fence();
#pragma unroll
    for (int key = 0; key < TILE; key += WGMMA_K)
        wgmma_registers(o, p[key / WGMMA_K], V_slice<TILE>(V, key), T());
    wgmma_commit_group();
}

// [stage_rows] A warp writes its 16 rows of O to shared memory, each times its row's factor, 16 columns at a time. A lane's two rows are
// lane / 4 and lane / 4 + 8. Matrices 0 and 1 of stmatrix are the upper and the lower 8 rows of the first 8 columns, 2 and 3 those of the
// others. Vectors of 16 bytes change places within a row of a panel, as the copy expects.
template <int D, typename T>
__device__ __forceinline__ void stage_rows(T smem[D / PANEL][WGMMA_M][PANEL], const float o[D / MMA_N][4],
                                           const float factor[2], int warp_row, int lane)
{
    const int row = lane % MMA_M, right = lane / MMA_M;
#pragma unroll
    for (int x = 0; x < D / MMA_N; x += 2) {
        uint32_t pairs[4];
        for (int i = 0; i < 4; i++) {
            const float *two = &o[x + i / 2][i % 2 * 2];
            pairs[i] = pack(two[0] * factor[i % 2], two[1] * factor[i % 2], T());
        }
        const int vector = x % (PANEL / VECTOR) + right;
        stmatrix_x4(&smem[x * MMA_N / PANEL][warp_row + row][(vector ^ row % 8) * VECTOR], pairs);
    }
}

// [store_rows] One lane lets the engine store a warp's rows, as far as the head has them, as one bulk group.
template <int D, typename T>
__device__ __forceinline__ void store_rows(const CUtensorMap *O_map, const T smem[D / PANEL][WGMMA_M][PANEL], int head,
                                           int row, int warp_row)
{
    for (int panel = 0; panel < D / PANEL; panel++)
        tensor_store_3d(O_map, head, row, panel * PANEL, smem[panel][warp_row]);
    bulk_commit_group();
}

// [store_registers] Without shared memory: a warp stores its 16 rows of O, each times its row's factor, to O, [heads, n, D], where its first is row
// `first` of `head`. The four lanes of a row transpose 4 × 4 pairs, in two exchanges, so that each has 16 bytes that are neighbours.
template <int D, typename T>
__device__ __forceinline__ void store_registers(T *O, const float o[D / MMA_N][4], const float factor[2], int head,
                                                int first, int n, int lane)
{
#pragma unroll
    for (int x = 0; x < D / MMA_N; x += 4)
        for (int i = 0; i < 2; i++) {
            uint32_t pairs[4];
            for (int y = 0; y < 4; y++)
                pairs[y] = pack(o[x + y][2 * i] * factor[i], o[x + y][2 * i + 1] * factor[i], T());
            for (int away = 1; away < 4; away *= 2)
                for (int y = 0; y < 4; y++)
                    if (!(y & away)) {
                        const bool upper = lane & away;
                        const uint32_t got = __shfl_xor_sync(0xffffffff, upper ? pairs[y] : pairs[y + away], away);
                        pairs[y] = upper ? got : pairs[y];
                        pairs[y + away] = upper ? pairs[y + away] : got;
                    }
            const int row = first + lane / 4 + i * 8;
            if (row < n)
                *(uint4 *)&O[((size_t)head * n + row) * D + (x + lane % 4) * MMA_N] = make_uint4(pairs[0], pairs[1],
                                                                                                 pairs[2], pairs[3]);
        }
}

#endif

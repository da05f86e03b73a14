// FlashAttention whose consumers take turns at the tensor cores: one's softmax runs under the others' products.
//
//   nvcc -O3 -std=c++20 -gencode=arch=compute_90a,code=sm_90a -Icommon -o flash_pingpong steps/46_flash_pingpong/flash_pingpong.cu common/*.c
//   ./learn run 46

#include "attention.h"

#include "ptx/bulk.h"
#include "ptx/ex2.h"
#include "ptx/mbarrier.h"
#include "ptx/named_barrier.h"
#include "ptx/pair.h"
#include "ptx/setmaxnreg.h"
#include "ptx/stmatrix.h"
#include "ptx/tensor.h"
#include "ptx/wgmma.h"
#include "tensor_map.h"

constexpr int WARPS = 4, WARPGROUP = 32 * WARPS;  // threads of a warpgroup
constexpr int PANEL = 64;                         // columns of a panel of Q, K, V or O, 128 bytes
constexpr int WGMMA_M = 64, WGMMA_K = 16;         // rows and columns of A in one wgmma
constexpr int MMA_M = 16, MMA_N = 8;              // rows and columns in a tile of a warp's sums
constexpr int VECTOR = 8;                         // elements in 16 bytes

// log2 of the largest P in a row. A half holds no more than 65504, and loses bits below 2^-14.
constexpr float P_LARGEST = 15;

// [sizes] CONSUMERS: warpgroups that multiply. TILE: keys in a tile of K or V. STAGES: tiles in a ring.
template <int CONSUMERS> constexpr int THREADS = (CONSUMERS + 1) * WARPGROUP;
template <int CONSUMERS> constexpr int BLOCK_ROWS = CONSUMERS * WGMMA_M;  // rows of Q that a block computes, and of O

// [registers] Of each thread, a multiple of 8. A launch divides an SM's 65,536 registers evenly. The producer keeps few of its own, and the
// consumers share what is left of the block's.
constexpr int PRODUCER_REGISTERS = 24;
template <int CONSUMERS> constexpr int LAUNCH_REGISTERS = 65536 / THREADS<CONSUMERS> / 8 * 8;
template <int CONSUMERS>
constexpr int CONSUMER_REGISTERS = ((CONSUMERS + 1) * LAUNCH_REGISTERS<CONSUMERS> - PRODUCER_REGISTERS) / CONSUMERS /
                                   8 * 8;

// [buffers] All tiles lie in panels whose rows are as wide as the swizzle, 128 bytes. A consumer has 64 rows of Q, and writes its
// rows of O in their place. K and V each have a ring of STAGES tiles with two barriers for each: a phase of `full` is over when
// all bytes of the tile are there, a phase of `empty` when the products of all consumers' warps have read it.
template <int D, int CONSUMERS, int TILE, int STAGES>
struct buffers {
    alignas(1024) half Q[CONSUMERS][D / PANEL][WGMMA_M][PANEL];
    alignas(1024) half K[STAGES][D / PANEL][TILE][PANEL];
    alignas(1024) half V[STAGES][D / PANEL][TILE][PANEL];
    uint64_t full_Q, full_K[STAGES], empty_K[STAGES], full_V[STAGES], empty_V[STAGES];
};

// [next_stage] After the last stage comes the first, whose barriers are in their next phase.
template <int STAGES>
__device__ __forceinline__ void next_stage(int *stage, int *parity)
{
    *stage = *stage + 1 < STAGES ? *stage + 1 : 0;
    if (*stage == 0)
        *parity = 1 - *parity;
}

// [load_tile] One thread sets the barrier to expect a tile's bytes, and the engine moves it, a panel at a time. Rows beyond the last are 0.
template <int D, int ROWS>
__device__ __forceinline__ void load_tile(half smem[D / PANEL][ROWS][PANEL], uint64_t *full, const CUtensorMap *map,
                                          int head, int row)
{
    mbarrier_arrive_expect_tx(full, ROWS * D * sizeof(half));
    for (int panel = 0; panel < D / PANEL; panel++)
        tensor_load_3d(smem[panel], map, head, row, panel * PANEL, full);
}

// [QK_slice] Columns d to d + 15 of all rows of a tile of Q or K, K-major. The stride offset leads 8 rows on; the leading one means nothing.
template <int ROWS>
__device__ __forceinline__ uint64_t QK_slice(const half tile[][ROWS][PANEL], int d)
{
    return wgmma_descriptor(&tile[d / PANEL][0][d % PANEL], 0, 8 * sizeof(tile[0][0]), WGMMA_SWIZZLE_128B);
}

// [V_slice] Rows key to key + 15 of a tile of V, all columns, MN-major. The leading offset leads one panel on, the stride offset 8 rows.
template <int TILE>
__device__ __forceinline__ uint64_t V_slice(const half V[][TILE][PANEL], int key)
{
    return wgmma_descriptor(V[0][key], sizeof(V[0]), 8 * sizeof(V[0][0]), WGMMA_SWIZZLE_128B);
}

// [scores] A consumer issues S = Q Kᵀ as one group. A row of K is a column of Kᵀ. The first product does not add: S needs no zeros.
template <int D, int TILE>
__device__ __forceinline__ void scores(float (&s)[TILE / MMA_N][4], const half Q[D / PANEL][WGMMA_M][PANEL],
                                       const half K[D / PANEL][TILE][PANEL])
{
    wgmma_fence();
#pragma unroll
    for (int d = 0; d < D; d += WGMMA_K)
        wgmma_transposed(s, QK_slice<WGMMA_M>(Q, d), QK_slice<TILE>(K, d), d > 0, half());
    wgmma_commit_group();
}

// [mask] The scores of a tile's keys, the first of which is key `tile`, become −∞ from key n on: those keys are not there.
template <int TILE>
__device__ __forceinline__ void mask(float s[TILE / MMA_N][4], int tile, int n, int lane)
{
    for (int x = 0; x < TILE / MMA_N; x++)
        for (int i = 0; i < 4; i++)
            if (tile + x * MMA_N + lane % 4 * 2 + i % 2 >= n)
                s[x][i] = -INFINITY;
}

// [softmax] The max may have grown: what was summed up under the old one shrinks by `factor`. S lies in the registers as the
// next product wants its A: packed in pairs, 16 keys of it are one operand of P.
template <int D, int TILE>
__device__ __forceinline__ void softmax(uint32_t p[TILE / WGMMA_K][4], float m[2], float l[2], float o[D / MMA_N][4],
                                        const float s[TILE / MMA_N][4], float scale)
{
    for (int i = 0; i < 2; i++) {
        float largest = -INFINITY;
        for (int x = 0; x < TILE / MMA_N; x++)
            largest = fmaxf(largest, fmaxf(s[x][2 * i], s[x][2 * i + 1]));
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 2));
        const float m_new = fmaxf(m[i], largest * scale), factor = ex2(m[i] - m_new);
        m[i] = m_new;
        l[i] *= factor;
        for (int x = 0; x < TILE / MMA_N; x++) {
            const float first = ex2(fmaf(s[x][2 * i], scale, P_LARGEST - m_new));
            const float second = ex2(fmaf(s[x][2 * i + 1], scale, P_LARGEST - m_new));
            l[i] += first + second;
            p[x / 2][x % 2 * 2 + i] = pack(first, second, half());
        }
        for (int x = 0; x < D / MMA_N; x++) {
            o[x][2 * i] *= factor;
            o[x][2 * i + 1] *= factor;
        }
    }
}

// [add_output] A consumer issues O += P V as one group. P is an operand in registers: no product may still read what they held before.
template <int D, int TILE>
__device__ __forceinline__ void add_output(float (&o)[D / MMA_N][4], const uint32_t p[TILE / WGMMA_K][4],
                                           const half V[D / PANEL][TILE][PANEL])
{
    wgmma_fence();
#pragma unroll
    for (int key = 0; key < TILE; key += WGMMA_K)
        wgmma_registers(o, p[key / WGMMA_K], V_slice<TILE>(V, key), half());
    wgmma_commit_group();
}

// [stage_rows] Divides a warp's 16 rows of O by their sums, and writes them to shared memory, 16 columns at a time: matrices 0 and 1 of
// stmatrix are the upper and the lower 8 rows of the first 8 columns, 2 and 3 those of the others. Vectors of 16 bytes change
// places within a row of a panel, as the copy expects.
template <int D>
__device__ __forceinline__ void stage_rows(half smem[D / PANEL][WGMMA_M][PANEL], const float o[D / MMA_N][4],
                                           const float l[2], int warp_row, int lane)
{
    float inverse[2];
    for (int i = 0; i < 2; i++) {
        float sum = l[i];
        sum += __shfl_xor_sync(0xffffffff, sum, 1);
        sum += __shfl_xor_sync(0xffffffff, sum, 2);
        inverse[i] = 1 / sum;
    }
    const int row = lane % MMA_M, right = lane / MMA_M;
#pragma unroll
    for (int x = 0; x < D / MMA_N; x += 2) {
        uint32_t pairs[4];
        for (int i = 0; i < 4; i++) {
            const float *two = &o[x + i / 2][i % 2 * 2];
            pairs[i] = pack(two[0] * inverse[i % 2], two[1] * inverse[i % 2], half());
        }
        const int vector = x % (PANEL / VECTOR) + right;
        stmatrix_x4(&smem[x * MMA_N / PANEL][warp_row + row][(vector ^ row % 8) * VECTOR], pairs);
    }
}

// [store_rows] One lane lets the engine store the warp's rows, as far as the head has them.
template <int D>
__device__ __forceinline__ void store_rows(const CUtensorMap *O_map, const half smem[D / PANEL][WGMMA_M][PANEL],
                                           int head, int row, int warp_row)
{
    for (int panel = 0; panel < D / PANEL; panel++)
        tensor_store_3d(O_map, head, row, panel * PANEL, smem[panel][warp_row]);
    bulk_commit_group();
}

// [wait_for_turn] A consumer waits at a named barrier of its own until the one before it arrives there. Number 0 is that of __syncthreads().
__device__ __forceinline__ void wait_for_turn(int consumer)
{
    // [wait]
    named_barrier_sync(1 + consumer, 2 * WARPGROUP);
    // [end wait]
}

// [hand_on] After the last consumer comes the first.
template <int CONSUMERS> __device__ __forceinline__ void hand_on(int consumer)
{
    // [arrive]
    named_barrier_arrive(1 + (consumer + 1) % CONSUMERS, 2 * WARPGROUP);
    // [end arrive]
}

// [kernel] TOGETHER: a consumer issues P V of a tile and Q Kᵀ of the next together. TURNS: no other consumer issues products meanwhile.
template <int D, int CONSUMERS, int TILE, int STAGES, bool TOGETHER, bool TURNS>
__global__ void __launch_bounds__(THREADS<CONSUMERS>, 1)
    flash_pingpong(const __grid_constant__ CUtensorMap Q_map,  // each of [heads, n, D]
                   const __grid_constant__ CUtensorMap K_map, const __grid_constant__ CUtensorMap V_map,
                   const __grid_constant__ CUtensorMap O_map, int n, float scale)
{
    extern __shared__ __align__(1024) uint4 memory[];
    auto &smem = *(struct buffers<D, CONSUMERS, TILE, STAGES> *)memory;
    // [index] A lane holds two neighbours of S and O in row lane / 4 of every tile of 16 × 8, and two in row lane / 4 + 8.
    const int first_row = blockIdx.x * BLOCK_ROWS<CONSUMERS>, head = blockIdx.y;
    const int warpgroup = threadIdx.x / WARPGROUP, lane = threadIdx.x % 32;

    // [barriers]
    if (threadIdx.x == 0) {
        mbarrier_init(&smem.full_Q, CONSUMERS);
        for (int stage = 0; stage < STAGES; stage++) {
            mbarrier_init(&smem.full_K[stage], 1);
            mbarrier_init(&smem.full_V[stage], 1);
            mbarrier_init(&smem.empty_K[stage], CONSUMERS * WARPS);
            mbarrier_init(&smem.empty_V[stage], CONSUMERS * WARPS);
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // the barriers are made before any thread waits at them

    int stage = 0, parity = 0;
    if (warpgroup == CONSUMERS) {
        // [produce] The last warpgroup is the producer. One thread of it copies all tiles, each as soon as its stage is empty.
        setmaxnreg_dec<PRODUCER_REGISTERS>();
        if (threadIdx.x == CONSUMERS * WARPGROUP) {
            for (int i = 0; i < CONSUMERS; i++)
                load_tile<D, WGMMA_M>(smem.Q[i], &smem.full_Q, &Q_map, head, first_row + i * WGMMA_M);
            for (int tile = 0; tile < n; tile += TILE) {
                // Products have read the tile that was here before. There was none in the first round: it waits for the phase
                // before a barrier's first, which counts as over.
                mbarrier_wait_parity(&smem.empty_K[stage], 1 - parity);
                load_tile<D, TILE>(smem.K[stage], &smem.full_K[stage], &K_map, head, tile);
                mbarrier_wait_parity(&smem.empty_V[stage], 1 - parity);  // the same of V
                load_tile<D, TILE>(smem.V[stage], &smem.full_V[stage], &V_map, head, tile);
                next_stage<STAGES>(&stage, &parity);
            }
        }
    } else {
        // [consume] The others are consumers, of 64 rows of Q each.
        setmaxnreg_inc<CONSUMER_REGISTERS<CONSUMERS>>();
        const int warp_row = threadIdx.x / 32 % WARPS * MMA_M;
        auto *Q = smem.Q[warpgroup];
        float o[D / MMA_N][4] = {};
        // Of row lane / 4, and of row lane / 4 + 8: the largest scaled score so far, and the sum of this lane's weights.
        float m[2] = {-INFINITY, -INFINITY}, l[2] = {};
        mbarrier_wait_parity(&smem.full_Q, 0);  // the rows of Q are there
        // [first] S and P of the first tile. The first turn is the first consumer's.
        float s[TILE / MMA_N][4];
        uint32_t p[TILE / WGMMA_K][4];
        mbarrier_wait_parity(&smem.full_K[stage], parity);  // the tile of K is there
        if (TURNS && warpgroup > 0)
            wait_for_turn(warpgroup);
        scores<D, TILE>(s, Q, smem.K[stage]);
        if (TURNS)
            hand_on<CONSUMERS>(warpgroup);
        wgmma_wait_group<0>(s);  // S is in the registers before softmax reads them
        if (lane == 0)
            mbarrier_arrive(&smem.empty_K[stage]);  // this warp's products have read the tile
        if (TILE > n)                               // only the last tile may have keys beyond the last
            mask<TILE>(s, 0, n, lane);
        softmax<D, TILE>(p, m, l, o, s, scale);
        for (int tile = TILE; tile < n; tile += TILE) {
            const int V_stage = stage;
            // [turn]
            mbarrier_wait_parity(&smem.full_V[V_stage], parity);  // the tile of V before is there
            if (TURNS)
                wait_for_turn(warpgroup);
            // [output]
            add_output<D, TILE>(o, p, smem.V[V_stage]);
            if (!TOGETHER)
                wgmma_wait_group<0>(o);
            // [scores_of_next]
            next_stage<STAGES>(&stage, &parity);
            mbarrier_wait_parity(&smem.full_K[stage], parity);  // this tile of K is there
            scores<D, TILE>(s, Q, smem.K[stage]);
            if (TURNS)
                hand_on<CONSUMERS>(warpgroup);
            // [end scores_of_next]
            // [wait_S]
            wgmma_wait_group<0>(s);  // S is in the registers, and, P V before it being done, P is free and O is whole
            // [end wait_S]
            if (lane == 0) {
                mbarrier_arrive(&smem.empty_V[V_stage]);  // this warp's products have read the tiles
                mbarrier_arrive(&smem.empty_K[stage]);
            }
            // [under] Meanwhile the products of the other consumers run.
            if (tile + TILE > n)
                mask<TILE>(s, tile, n, lane);
            softmax<D, TILE>(p, m, l, o, s, scale);
        }
        // [last] P V of the last tile. After the last consumer's last turn nobody waits.
        mbarrier_wait_parity(&smem.full_V[stage], parity);
        if (TURNS)
            wait_for_turn(warpgroup);
        add_output<D, TILE>(o, p, smem.V[stage]);
        if (TURNS && warpgroup < CONSUMERS - 1)
            hand_on<CONSUMERS>(warpgroup);
        wgmma_wait_group<0>(o);
        // [store] The rows leave through the shared memory of the consumer's rows of Q, which all its products have read.
        stage_rows<D>(Q, o, l, warp_row, lane);
        fence_proxy_async_shared();
        __syncwarp();  // all lanes have written
        if (lane == 0)
            store_rows<D>(&O_map, Q, head, first_row + warpgroup * WGMMA_M + warp_row, warp_row);
        bulk_wait_group_read<0>();  // the engine has read the rows: the block may leave
    }
}

// [launch]
template <int D, int CONSUMERS, int TILE, int STAGES, bool TOGETHER, bool TURNS>
static int start(const struct attention_args *args, cudaStream_t stream)
{
    const auto kernel = flash_pingpong<D, CONSUMERS, TILE, STAGES, TOGETHER, TURNS>;
    constexpr int bytes = sizeof(struct buffers<D, CONSUMERS, TILE, STAGES>);
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (status != cudaSuccess)
        return status;
    const CUtensorMap *maps = (const CUtensorMap *)args->prepared;
    const dim3 blocks(ceil_div(args->seqlen, BLOCK_ROWS<CONSUMERS>), args->batch * args->heads);
    kernel<<<blocks, THREADS<CONSUMERS>, bytes, stream>>>(maps[0], maps[1], maps[2], maps[3], args->seqlen,
                                                          LOG2_E * args->scale);
    return cudaGetLastError();
}

// [shapes] Of each head dimension one for each variant, all of the same sizes.
struct shape {
    int tile, bytes;  // keys; bytes of shared memory of a block
    int (*start)(const struct attention_args *args, cudaStream_t stream);
};

template <int D, int CONSUMERS, int TILE, int STAGES, bool TOGETHER, bool TURNS>
constexpr struct shape SHAPE = {TILE, sizeof(struct buffers<D, CONSUMERS, TILE, STAGES>),
                                start<D, CONSUMERS, TILE, STAGES, TOGETHER, TURNS>};

static const struct shape *shape_of(const struct attention_args *args)
{
    static const struct shape of_64[] = {SHAPE<64, 3, 128, 2, false, false>, SHAPE<64, 3, 128, 2, true, false>,
                                         SHAPE<64, 3, 128, 2, true, true>};
    static const struct shape of_128[] = {SHAPE<128, 2, 128, 2, false, false>, SHAPE<128, 2, 128, 2, true, false>,
                                          SHAPE<128, 2, 128, 2, true, true>};
    static const struct shape of_256[] = {SHAPE<256, 2, 80, 2, false, false>, SHAPE<256, 2, 80, 2, true, false>,
                                          SHAPE<256, 2, 80, 2, true, true>};
    switch (args->head_dim) {
    case 64: return &of_64[args->variant];
    case 128: return &of_128[args->variant];
    case 256: return &of_256[args->variant];
    default: return nullptr;
    }
}

static size_t shared_bytes(const struct attention_args *args) { return shape_of(args)->bytes; }

int launch(const struct attention_args *args, cudaStream_t stream)
{
    const struct shape *shape = shape_of(args);
    return shape && attention_is_plain(args, FP16) ? shape->start(args, stream) : cudaErrorInvalidValue;
}

// [prepare] The maps of Q, K, V and O, made once before any launch. A warp stores its own rows of O.
int prepare(const struct attention_args *args)
{
    const struct shape *shape = shape_of(args);
    if (!shape || !attention_is_plain(args, FP16))
        return cudaErrorInvalidValue;
    CUtensorMap *maps = (CUtensorMap *)args->prepared;
    const void *const tensors[] = {args->Q, args->K, args->V, args->O};
    const int box_rows[] = {WGMMA_M, shape->tile, shape->tile, MMA_M};
    int status = cudaSuccess;
    for (int i = 0; i < 4 && status == cudaSuccess; i++)
        status = tensor_map_3d(&maps[i], FP16, tensors[i], args->batch * args->heads, args->seqlen, args->head_dim,
                               box_rows[i], PANEL, CU_TENSOR_MAP_SWIZZLE_128B);
    return status;
}

// [main]
static const struct variant variants[] = {
    {"apart", "no turns: P V of a tile, and, once that is done, Q Kᵀ of the next"},
    {"together", "no turns: a consumer issues P V of a tile and Q Kᵀ of the next together"},
    {"pingpong", "consumers issue P V of a tile and Q Kᵀ of the next together, in turns"},
    {},
};

int main(int argc, char **argv)
{
    const struct attention_step step = {
        .name = "46_flash_pingpong",
        .dtypes = {FP16},
        .arch = "90a",
        .head_dims = {64, 128, 256},
        .variants = variants,
        .shared = shared_bytes,
        .prepare = prepare,
        .launch = launch,
    };
    return attention_main(argc, argv, &step);
}

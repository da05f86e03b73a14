// FlashAttention that overlaps within a consumer: the softmax of a tile runs under P V of the tile before.
//
//   nvcc -O3 -std=c++20 -gencode=arch=compute_90a,code=sm_90a -Icommon -o flash_overlap steps/47_flash_overlap/flash_overlap.cu common/*.c
//   ./learn run 47

#include "attention.h"
#include "hopper_attention.h"
#include "tensor_map.h"

#include "ptx/ex2.h"
#include "ptx/named_barrier.h"
#include "ptx/setmaxnreg.h"

// log2 of the largest P in a row. A half holds no more than 65504, and loses bits below 2^-14.
constexpr float P_LARGEST = 15;

// [buffers] All tiles lie in panels whose rows are as wide as the swizzle, 128 bytes. A consumer has 64 rows of Q, and writes its
// rows of O in their place. K and V each have a ring of STAGES tiles of TILE keys, with two barriers for each: a phase of `full`
// is over when all bytes of the tile are there, a phase of `empty` when the products of all consumers' warps have read it.
template <int D, int CONSUMERS, int TILE, int STAGES>
struct buffers {
    alignas(1024) half Q[CONSUMERS][D / PANEL][WGMMA_M][PANEL];
    alignas(1024) half K[STAGES][D / PANEL][TILE][PANEL];
    alignas(1024) half V[STAGES][D / PANEL][TILE][PANEL];
    uint64_t full_Q, full_K[STAGES], empty_K[STAGES], full_V[STAGES], empty_V[STAGES];
};

// [mask] The scores of a tile's keys, the first of which is key `tile`, become −∞ from key n on: those keys are not there.
template <int TILE>
__device__ __forceinline__ void mask(float s[TILE / MMA_N][4], int tile, int n, int lane)
{
    for (int x = 0; x < TILE / MMA_N; x++)
        for (int i = 0; i < 4; i++)
            if (tile + x * MMA_N + lane % 4 * 2 + i % 2 >= n)
                s[x][i] = -INFINITY;
}

// [weights] The half of a softmax that touches neither P nor O: S becomes its weights, in place. The max may have grown: what was
// summed up under the old one shrinks by `factor`.
template <int TILE>
__device__ __forceinline__ void weights(float s[TILE / MMA_N][4], float m[2], float l[2], float factor[2], float scale)
{
    for (int i = 0; i < 2; i++) {
        float largest = -INFINITY;
        for (int x = 0; x < TILE / MMA_N; x++)
            largest = fmaxf(largest, fmaxf(s[x][2 * i], s[x][2 * i + 1]));
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 2));
        const float m_new = fmaxf(m[i], largest * scale);
        factor[i] = ex2(m[i] - m_new);
        m[i] = m_new;
        l[i] *= factor[i];
        for (int x = 0; x < TILE / MMA_N; x++)
            for (int j = 2 * i; j < 2 * i + 2; j++)
                s[x][j] = ex2(fmaf(s[x][j], scale, P_LARGEST - m_new));
    }
    for (int i = 0; i < 2; i++)
        for (int x = 0; x < TILE / MMA_N; x++)
            l[i] += s[x][2 * i] + s[x][2 * i + 1];
}

// [pack_weights] The other half: O shrinks by the factors, and the weights become P, packed in pairs. No product may have either in use.
template <int D, int TILE>
__device__ __forceinline__ void pack_weights(uint32_t p[TILE / WGMMA_K][4], float o[D / MMA_N][4],
                                             const float s[TILE / MMA_N][4], const float factor[2])
{
    for (int x = 0; x < D / MMA_N; x++)
        for (int i = 0; i < 4; i++)
            o[x][i] *= factor[i / 2];
    for (int x = 0; x < TILE / MMA_N; x++)
        for (int i = 0; i < 2; i++)
            p[x / 2][x % 2 * 2 + i] = pack(s[x][2 * i], s[x][2 * i + 1], half());
}

// [inverse_sums] Of each row's weights the sum, which four lanes have in parts, and 1 by it.
__device__ __forceinline__ void inverse_sums(float inverse[2], const float l[2])
{
    for (int i = 0; i < 2; i++) {
        float sum = l[i];
        sum += __shfl_xor_sync(0xffffffff, sum, 1);
        sum += __shfl_xor_sync(0xffffffff, sum, 2);
        inverse[i] = 1 / sum;
    }
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

// [kernel] OVERLAP: a consumer computes the weights of a tile under P V of the tile before. TURNS: no other consumer issues products
// meanwhile.
template <int D, int CONSUMERS, int TILE, int STAGES, bool OVERLAP, bool TURNS>
__global__ void __launch_bounds__(THREADS<CONSUMERS>, 1)
    flash_overlap(const __grid_constant__ CUtensorMap Q_map,  // each of [heads, n, D]
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
        setmaxnreg_dec<PRODUCER_REGISTERS<CONSUMERS>>();
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
        float s[TILE / MMA_N][4], factor[2];
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
        weights<TILE>(s, m, l, factor, scale);
        mbarrier_wait_parity(&smem.full_V[stage], parity);  // the tile of V is there
        pack_weights<D, TILE>(p, o, s, factor);
        for (int tile = TILE; tile < n; tile += TILE) {
            const int V_stage = stage;
            next_stage<STAGES>(&stage, &parity);
            // [turn]
            mbarrier_wait_parity(&smem.full_K[stage], parity);  // this tile of K is there
            if (TURNS)
                wait_for_turn(warpgroup);
            // [pass]
            // [issue] Q Kᵀ of this tile, and P V of the tile before: two groups.
            scores<D, TILE>(s, Q, smem.K[stage]);
            // [output]
            add_output<D, TILE>(o, p, smem.V[V_stage]);
            if (TURNS)
                hand_on<CONSUMERS>(warpgroup);
            // [wait_S]
            wgmma_wait_group<OVERLAP ? 1 : 0>(s);  // S is in the registers; with OVERLAP, P V may still run
            // [end wait_S]
            if (lane == 0)
                mbarrier_arrive(&smem.empty_K[stage]);  // this warp's products have read the tile
            // [under] Meanwhile P V runs.
            if (tile + TILE > n)
                mask<TILE>(s, tile, n, lane);
            weights<TILE>(s, m, l, factor, scale);
            mbarrier_wait_parity(&smem.full_V[stage], parity);  // this tile of V is there
            // [wait_O]
            wgmma_wait_group<0>(o);  // P is free, and O is whole
            // [end wait_O]
            if (lane == 0)
                mbarrier_arrive(&smem.empty_V[V_stage]);  // this warp's products have read the tile
            // [pack]
            pack_weights<D, TILE>(p, o, s, factor);
            // [end pass]
        }
        // [last] P V of the last tile. After the last consumer's last turn nobody waits.
        if (TURNS)
            wait_for_turn(warpgroup);
        add_output<D, TILE>(o, p, smem.V[stage]);
        if (TURNS && warpgroup < CONSUMERS - 1)
            hand_on<CONSUMERS>(warpgroup);
        wgmma_wait_group<0>(o);
        // [store] The rows leave through the shared memory of the consumer's rows of Q, which all its products have read.
        float inverse[2];
        inverse_sums(inverse, l);
        stage_rows<D>(Q, o, inverse, warp_row, lane);
        fence_proxy_async_shared();
        __syncwarp();  // all lanes have written
        if (lane == 0)
            store_rows<D>(&O_map, Q, head, first_row + warpgroup * WGMMA_M + warp_row, warp_row);
        bulk_wait_group_read<0>();  // the engine has read the rows: the block may leave
    }
}

// [launch]
template <int D, int CONSUMERS, int TILE, int STAGES, bool OVERLAP, bool TURNS>
static int start(const struct attention_args *args, cudaStream_t stream)
{
    const auto kernel = flash_overlap<D, CONSUMERS, TILE, STAGES, OVERLAP, TURNS>;
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

template <int D, int CONSUMERS, int TILE, int STAGES, bool OVERLAP, bool TURNS>
constexpr struct shape SHAPE = {TILE, sizeof(struct buffers<D, CONSUMERS, TILE, STAGES>),
                                start<D, CONSUMERS, TILE, STAGES, OVERLAP, TURNS>};

static const struct shape *shape_of(const struct attention_args *args)
{
    static const struct shape of_64[] = {SHAPE<64, 3, 128, 2, false, false>, SHAPE<64, 3, 128, 2, true, false>,
                                         SHAPE<64, 3, 128, 2, false, true>, SHAPE<64, 3, 128, 2, true, true>};
    static const struct shape of_128[] = {SHAPE<128, 2, 160, 2, false, false>, SHAPE<128, 2, 160, 2, true, false>,
                                          SHAPE<128, 2, 160, 2, false, true>, SHAPE<128, 2, 160, 2, true, true>};
    static const struct shape of_256[] = {SHAPE<256, 2, 80, 2, false, false>, SHAPE<256, 2, 80, 2, true, false>,
                                          SHAPE<256, 2, 80, 2, false, true>, SHAPE<256, 2, 80, 2, true, true>};
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
    {"neither", "no overlap within a consumer, and no turns"},
    {"overlap", "the softmax of a tile under P V of the tile before"},
    {"pingpong", "turns alone, as in step 46"},
    {"both", "overlap and turns"},
    {},
};

int main(int argc, char **argv)
{
    const struct attention_step step = {
        .name = "47_flash_overlap",
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

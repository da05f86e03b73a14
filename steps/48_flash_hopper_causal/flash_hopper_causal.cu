// FlashAttention by wgmma with a causal mask, grouped heads, other numbers of keys, log-sum-exp and bf16, on a persistent grid.
//
//   nvcc -O3 -std=c++20 -gencode=arch=compute_90a,code=sm_90a -Icommon -o flash_hopper_causal steps/48_flash_hopper_causal/flash_hopper_causal.cu common/*.c
//   ./learn run 48 --causal --heads 8 --kv-heads 2

#include <float.h>

#include "attention.h"
#include "hopper_attention.h"
#include "tensor_map.h"

#include "ptx/ex2.h"
#include "ptx/setmaxnreg.h"

// [range] log2 of the largest P in a row. A half has at most 65504, and loses bits below 2^-14; a bfloat16 has a float's range.
template <typename T> constexpr float P_LARGEST = 15;
template <> constexpr float P_LARGEST<__nv_bfloat16> = 0;

// [buffers] As in step 47: TILE keys in a tile of K or V, and STAGES tiles in a ring. Up to D 128 rows of O have a place of their
// own, so that the next rows of Q come early. At D 256 shared memory is too small for that: O is written in Q's place.
template <int D> constexpr bool OWN_O = D <= 128;
template <int D> constexpr int LEAST_KEYS = OWN_O<D> ? 0 : 1;  // that a block copies, so that Q's place changes hands

template <typename T, int D, int CONSUMERS, int TILE, int STAGES>
struct buffers {
    alignas(1024) T Q[CONSUMERS][1 + OWN_O<D>][D / PANEL][WGMMA_M][PANEL];  // of Q, and of O
    alignas(1024) T K[STAGES][D / PANEL][TILE][PANEL];
    alignas(1024) T V[STAGES][D / PANEL][TILE][PANEL];
    uint64_t full_Q, empty_Q, full_K[STAGES], empty_K[STAGES], full_V[STAGES], empty_V[STAGES], full_next, empty_next;
    int next;  // what the block computes next
};

// [problem] What is computed: heads of all batches; of each head n rows of Q and n_kv keys. Row i sees the keys 0 … i + offset.
struct problem {
    int heads, heads_per_kv, n, n_kv, offset;
    int group;  // heads whose K and V have no more than L2_BYTES together, or one head's and those that share it
    float scale;
};
constexpr size_t L2_BYTES = 32 << 20;  // of an H200's 50 MiB of L2

// [work] Which rows a piece of work is. Heads come in groups, and in a group the last rows of all heads first: they see the most keys.
__device__ __forceinline__ void rows_of(const struct problem *problem, int work, int block_rows, int *head, int *row)
{
    const int tiles = (problem->n + block_rows - 1) / block_rows, whole = problem->group * tiles;
    const int first_head = work / whole * problem->group, heads = min(problem->group, problem->heads - first_head);
    *head = first_head + work % whole % heads;
    *row = (tiles - 1 - work % whole / heads) * block_rows;
}

// [keys] How many keys the last of the rows before row `end` sees, and with it any of them.
__device__ __forceinline__ int keys_before(const struct problem *problem, int end)
{
    return max(0, min(problem->n_kv, min(end, problem->n) + problem->offset));
}

// [mask] Scores become −∞ where the row does not see the key. Row `first` is the first of these rows, key `tile` of these keys.
template <int TILE>
__device__ __forceinline__ void mask(float s[TILE / MMA_N][4], const struct problem *problem, int first, int tile,
                                     int lane)
{
    // [masked]
    for (int i = 0; i < 2; i++) {
        const int row = first + lane / 4 + i * 8, pair = tile + lane % 4 * 2;   // the lane's first key
        const int last = min(problem->n_kv - 1, row + problem->offset) - pair;  // that the row sees, counted from there
        for (int x = 0; x < TILE / MMA_N; x++)
            for (int j = 0; j < 2; j++)
                if (x * MMA_N + j > last)
                    s[x][2 * i + j] = -INFINITY;
    }
    // [end masked]
}

// [weights] As in step 47: S becomes its weights, and what was summed up shrinks by `factor`.
template <int TILE, typename T>
__device__ __forceinline__ void weights(float s[TILE / MMA_N][4], float m[2], float l[2], float factor[2], float scale,
                                        T)
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
                s[x][j] = ex2(fmaf(s[x][j], scale, P_LARGEST<T> - m_new));
    }
    for (int i = 0; i < 2; i++)
        for (int x = 0; x < TILE / MMA_N; x++)
            l[i] += s[x][2 * i] + s[x][2 * i + 1];
}

// [pack_weights] O shrinks by the factors, and the weights become P, packed in pairs. No product may have either in use.
template <int D, int TILE, typename T>
__device__ __forceinline__ void pack_weights(uint32_t p[TILE / WGMMA_K][4], float o[D / MMA_N][4],
                                             const float s[TILE / MMA_N][4], const float factor[2], T)
{
    if (__any_sync(0xffffffff, factor[0] != 1 || factor[1] != 1))  // mostly no max of the warp has grown
        for (int x = 0; x < D / MMA_N; x++)
            for (int i = 0; i < 4; i++)
                o[x][i] *= factor[i / 2];
    for (int x = 0; x < TILE / MMA_N; x++)
        for (int i = 0; i < 2; i++)
            p[x / 2][x % 2 * 2 + i] = pack(s[x][2 * i], s[x][2 * i + 1], T());
}

// [finish_sums] The sum of each row's weights, of which four lanes have parts, and 1 by it, 0 for a row without keys. lse, [n] or
// NULL, gets ln Σ exp(scale Q Kᵀ) of the rows `first` on. The max is rounded as in the weights, so that both cancel.
template <typename T>
__device__ __forceinline__ void finish_sums(float inverse[2], float *lse, const float m[2], const float l[2], int first,
                                            int n, int lane)
{
    for (int i = 0; i < 2; i++) {
        float sum = l[i] + __shfl_xor_sync(0xffffffff, l[i], 1);
        sum += __shfl_xor_sync(0xffffffff, sum, 2);
        inverse[i] = sum > 0 ? 1 / sum : 0;
        const int row = first + lane / 4 + i * 8;
        const float max = P_LARGEST<T> - (P_LARGEST<T> - m[i]);
        if (lse && row < n && lane % 4 == 0)
            lse[row] = (max + log2f(ldexpf(sum, -P_LARGEST<T>))) / LOG2_E;
    }
}

// [taken] Pieces that blocks took beyond their first: 0 again when all are done. Two launches must not run at the same time.
static __device__ unsigned taken;

// [kernel]
template <typename T, int D, int CONSUMERS, int TILE, int STAGES>
__global__ void __launch_bounds__(THREADS<CONSUMERS>, 1)
    flash_hopper_causal(const __grid_constant__ CUtensorMap Q_map,  // [heads, n, D]
                        const __grid_constant__ CUtensorMap K_map,  // [heads / heads_per_kv, n_kv, D], as V's
                        const __grid_constant__ CUtensorMap V_map, const __grid_constant__ CUtensorMap O_map,  // as Q's
                        float *lse,  // [heads, n], or NULL
                        int pieces, bool ordered, const __grid_constant__ struct problem problem)
{
    extern __shared__ __align__(1024) uint4 memory[];
    auto &smem = *(struct buffers<T, D, CONSUMERS, TILE, STAGES> *)memory;
    const int warpgroup = threadIdx.x / WARPGROUP, lane = threadIdx.x % 32;

    // [barriers]
    if (threadIdx.x == 0) {
        mbarrier_init(&smem.full_Q, CONSUMERS);
        mbarrier_init(&smem.empty_Q, CONSUMERS * WARPS);
        mbarrier_init(&smem.full_next, 1);
        mbarrier_init(&smem.empty_next, CONSUMERS * WARPGROUP);
        for (int stage = 0; stage < STAGES; stage++) {
            mbarrier_init(&smem.full_K[stage], 1);
            mbarrier_init(&smem.full_V[stage], 1);
            mbarrier_init(&smem.empty_K[stage], CONSUMERS * WARPS);
            mbarrier_init(&smem.empty_V[stage], CONSUMERS * WARPS);
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // the barriers are made before any thread waits at them

    // [roles] All walk through the same work, and the rings go on from one piece to the next.
    int stage = 0, parity = 0, Q_parity = 0, next_parity = 0, head, block_row;
    if (warpgroup == CONSUMERS) {
        // [produce] One thread of the producer copies all tiles, each as soon as its stage is empty.
        setmaxnreg_dec<PRODUCER_REGISTERS<CONSUMERS>>();
        for (int work = blockIdx.x, next; threadIdx.x == CONSUMERS * WARPGROUP && work < pieces; work = next) {
            // [piece] The next piece, and what this one needs of K and V.
            next = gridDim.x + (ordered ? atomicInc(&taken, pieces - 1) : work);
            rows_of(&problem, work, BLOCK_ROWS<CONSUMERS>, &head, &block_row);
            const int kv_head = head / problem.heads_per_kv;
            const int end = max(LEAST_KEYS<D>, keys_before(&problem, block_row + BLOCK_ROWS<CONSUMERS>));
            // [tiles]
            for (int tile = 0; tile < end; tile += TILE) {
                mbarrier_wait_parity(&smem.empty_K[stage], 1 - parity);  // products have read the tile before
                load_tile<D, TILE>(smem.K[stage], &smem.full_K[stage], &K_map, kv_head, tile);
                if (tile == 0) {
                    mbarrier_wait_parity(&smem.empty_Q, 1 - Q_parity);  // and the rows of Q before
                    for (int i = 0; i < CONSUMERS; i++)
                        load_tile<D, WGMMA_M>(smem.Q[i][0], &smem.full_Q, &Q_map, head, block_row + i * WGMMA_M);
                    Q_parity = 1 - Q_parity;
                }
                mbarrier_wait_parity(&smem.empty_V[stage], 1 - parity);
                load_tile<D, TILE>(smem.V[stage], &smem.full_V[stage], &V_map, kv_head, tile);
                next_stage<STAGES>(&stage, &parity);
            }
            // [announce] Only now, so that the next tiles are copied while the consumers still compute these.
            mbarrier_wait_parity(&smem.empty_next, 1 - next_parity);  // all consumers know of this work
            smem.next = next;
            mbarrier_arrive(&smem.full_next);
            next_parity = 1 - next_parity;
        }
    } else {
        // [consume] The others are consumers, of 64 rows of Q each.
        setmaxnreg_inc<CONSUMER_REGISTERS<CONSUMERS>>();
        const int warp_row = threadIdx.x / 32 % WARPS * MMA_M;
        auto *Q = smem.Q[warpgroup][0], *O = smem.Q[warpgroup][OWN_O<D>];
        for (int work = blockIdx.x; work < pieces;) {
            rows_of(&problem, work, BLOCK_ROWS<CONSUMERS>, &head, &block_row);
            // [limits] The producer copies the tiles that any row of the block sees. A consumer computes those that its own see.
            const int block_end = max(LEAST_KEYS<D>, keys_before(&problem, block_row + BLOCK_ROWS<CONSUMERS>));
            const int first_row = block_row + warpgroup * WGMMA_M, end = keys_before(&problem, first_row + WGMMA_M);
            const int whole = min(problem.n_kv, first_row + problem.offset + 1) / TILE * TILE;  // each row sees these
            // [sums] O; and of rows lane / 4 and lane / 4 + 8 the largest scaled score so far, and the lane's sum of weights.
            float o[D / MMA_N][4] = {};
            float m[2] = {-FLT_MAX, -FLT_MAX}, l[2] = {};
            if (block_end > 0)
                mbarrier_wait_parity(&smem.full_Q, Q_parity);  // the rows of Q are there
            int tile = 0;
            if (end > 0) {
                // [first] S and P of the first tile.
                float s[TILE / MMA_N][4], factor[2];
                uint32_t p[TILE / WGMMA_K][4];
                mbarrier_wait_parity(&smem.full_K[stage], parity);  // the tile of K is there
                scores<D, TILE>(s, Q, smem.K[stage]);
                wgmma_wait_group<0>(s);  // S is in the registers before softmax reads them
                if (lane == 0)
                    mbarrier_arrive(&smem.empty_K[stage]);  // this warp's products have read the tile
                if (whole < TILE)
                    mask<TILE>(s, &problem, first_row + warp_row, 0, lane);
                weights<TILE>(s, m, l, factor, problem.scale, T());
                mbarrier_wait_parity(&smem.full_V[stage], parity);  // the tile of V is there
                pack_weights<D, TILE>(p, o, s, factor, T());
                // [loops] Two loops, for whole tiles and for those with a mask: `masked` is constant in each.
                tile = TILE;
#pragma unroll
                for (int masked = 0; masked < 2; masked++)
                    for (; tile < (masked ? end : min(whole, end)); tile += TILE) {
                        const int V_stage = stage;
                        next_stage<STAGES>(&stage, &parity);
                        mbarrier_wait_parity(&smem.full_K[stage], parity);  // this tile of K is there
                        scores<D, TILE>(s, Q, smem.K[stage]);
                        add_output<D, TILE>(o, p, smem.V[V_stage]);
                        wgmma_wait_group<1>(s);  // S is in the registers, and P V may still run
                        if (lane == 0)
                            mbarrier_arrive(&smem.empty_K[stage]);  // this warp's products have read the tile
                        // [under] Meanwhile P V runs.
                        if (masked)
                            mask<TILE>(s, &problem, first_row + warp_row, tile, lane);
                        weights<TILE>(s, m, l, factor, problem.scale, T());
                        mbarrier_wait_parity(&smem.full_V[stage], parity);  // this tile of V is there
                        wgmma_wait_group<0>(o);                             // P is free, and O is whole
                        if (lane == 0)
                            mbarrier_arrive(&smem.empty_V[V_stage]);  // this warp's products have read the tile
                        pack_weights<D, TILE>(p, o, s, factor, T());
                    }
                // [last] P V of the last tile.
                add_output<D, TILE>(o, p, smem.V[stage]);
                wgmma_wait_group<0>(o);
                if (lane == 0)
                    mbarrier_arrive(&smem.empty_V[stage]);
                next_stage<STAGES>(&stage, &parity);
            }
            if (OWN_O<D> && block_end > 0 && lane == 0)
                mbarrier_arrive(&smem.empty_Q);  // this warp's products have read the rows of Q
            // [beyond] Tiles that only others see it releases as soon as they are there.
            for (; tile < block_end; tile += TILE) {
                mbarrier_wait_parity(&smem.full_K[stage], parity);
                mbarrier_wait_parity(&smem.full_V[stage], parity);
                if (lane == 0) {
                    mbarrier_arrive(&smem.empty_K[stage]);
                    mbarrier_arrive(&smem.empty_V[stage]);
                }
                next_stage<STAGES>(&stage, &parity);
            }
            // [store]
            float inverse[2];
            float *const lse_of_head = lse ? &lse[(size_t)head * problem.n] : NULL;
            finish_sums<T>(inverse, lse_of_head, m, l, first_row + warp_row, problem.n, lane);
            bulk_wait_group_read<0>();
            __syncwarp();  // the engine has read the rows of O before
            stage_rows<D>(O, o, inverse, warp_row, lane);
            fence_proxy_async_shared();
            __syncwarp();  // all lanes have written
            if (lane == 0)
                store_rows<D>(&O_map, O, head, first_row + warp_row, warp_row);
            if (!OWN_O<D> && lane == 0) {
                bulk_wait_group_read<0>();
                mbarrier_arrive(&smem.empty_Q);  // the engine has read the rows of O in Q's place
            }
            Q_parity ^= block_end > 0;
            // [take]
            mbarrier_wait_parity(&smem.full_next, next_parity);
            work = smem.next;
            mbarrier_arrive(&smem.empty_next);  // each thread has read it
            next_parity = 1 - next_parity;
        }
        bulk_wait_group_read<0>();  // the engine has read the rows: the block may leave
    }
}

enum { BLOCKS, PERSISTENT, ORDERED };  // variants

// [prepared] What is made once before any launch.
struct prepared {
    CUtensorMap maps[4];  // of Q, K, V and O
    int sms;
};

// [launch]
template <typename T, int D, int CONSUMERS, int TILE, int STAGES>
static int start(const struct attention_args *args, cudaStream_t stream)
{
    constexpr int bytes = sizeof(struct buffers<T, D, CONSUMERS, TILE, STAGES>);
    const auto kernel = flash_hopper_causal<T, D, CONSUMERS, TILE, STAGES>;
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (status != cudaSuccess)
        return status;
    const int n = args->seqlen, n_kv = args->kv_seqlen, heads_per_kv = args->heads / args->kv_heads;
    const int offset = args->causal ? n_kv - n : n_kv;  // with no mask, more than any row can see
    // [group]
    const size_t bytes_of_head = (size_t)2 * n_kv * D * sizeof(T);
    const int heads = args->batch * args->heads, group = max((int)(L2_BYTES / bytes_of_head), 1) * heads_per_kv;
    const struct problem problem = {heads, heads_per_kv, n, n_kv, offset, min(group, heads), LOG2_E * args->scale};
    const struct prepared *prepared = (const struct prepared *)args->prepared;
    const int pieces = ceil_div(n, BLOCK_ROWS<CONSUMERS>) * heads;
    const int blocks = args->variant == BLOCKS ? pieces : min(pieces, prepared->sms);
    kernel<<<blocks, THREADS<CONSUMERS>, bytes, stream>>>(prepared->maps[0], prepared->maps[1], prepared->maps[2],
                                                          prepared->maps[3], args->lse, pieces,
                                                          args->variant == ORDERED, problem);
    return cudaGetLastError();
}

// [shapes]
struct shape {
    int tile, bytes;  // keys; bytes of shared memory of a block
    int (*start)(const struct attention_args *args, cudaStream_t stream);
};

template <typename T, int D, int CONSUMERS, int TILE, int STAGES>
constexpr struct shape SHAPE = {TILE, sizeof(struct buffers<T, D, CONSUMERS, TILE, STAGES>),
                                start<T, D, CONSUMERS, TILE, STAGES>};

template <typename T>
static const struct shape *shape_of_type(int head_dim)
{
    return head_dim == 64    ? &SHAPE<T, 64, 4, 64, 4>
           : head_dim == 128 ? &SHAPE<T, 128, 2, 128, 2>
           : head_dim == 256 ? &SHAPE<T, 256, 2, 64, 2>
                             : nullptr;
}

static const struct shape *shape_of(const struct attention_args *args)
{
    if (!attention_is_packed(args, args->dtype))
        return nullptr;
    return args->dtype == BF16 ? shape_of_type<__nv_bfloat16>(args->head_dim) : shape_of_type<half>(args->head_dim);
}

static size_t shared_bytes(const struct attention_args *args) { return shape_of(args)->bytes; }

int launch(const struct attention_args *args, cudaStream_t stream)
{
    const struct shape *shape = shape_of(args);
    return shape ? shape->start(args, stream) : cudaErrorInvalidValue;
}

// [prepare] The maps of Q, K, V and O. A warp stores its own rows of O.
int prepare(const struct attention_args *args)
{
    const struct shape *shape = shape_of(args);
    if (!shape)
        return cudaErrorInvalidValue;
    struct prepared *prepared = (struct prepared *)args->prepared;
    const int kv[] = {args->batch * args->kv_heads, args->kv_seqlen},
              queries[] = {args->batch * args->heads, args->seqlen};
    const int *const sizes[] = {queries, kv, kv, queries};
    const void *const tensors[] = {args->Q, args->K, args->V, args->O};
    const int box_rows[] = {WGMMA_M, shape->tile, shape->tile, MMA_M};
    int status = cudaDeviceGetAttribute(&prepared->sms, cudaDevAttrMultiProcessorCount, 0);
    for (int i = 0; i < 4 && status == cudaSuccess; i++)
        status = tensor_map_3d(&prepared->maps[i], args->dtype, tensors[i], sizes[i][0], sizes[i][1], args->head_dim,
                               box_rows[i], PANEL, CU_TENSOR_MAP_SWIZZLE_128B);
    return status;
}

// [main]
static const struct variant variants[] = {
    {"blocks", "a block for each piece of work, the longest first"},
    {"persistent", "a block for each SM: from piece to piece it goes on by the number of blocks"},
    {"ordered", "a block for each SM: when it begins a piece, it takes the next in order"},
    {},
};

int main(int argc, char **argv)
{
    const struct attention_step step = {
        .name = "48_flash_hopper_causal",
        .dtypes = {FP16, BF16},
        .arch = "90a",
        .head_dims = {64, 128, 256},
        .causal = true,
        .grouped = true,
        .lengths = true,
        .lse = true,
        .variants = variants,
        .shared = shared_bytes,
        .prepare = prepare,
        .launch = launch,
    };
    return attention_main(argc, argv, &step);
}

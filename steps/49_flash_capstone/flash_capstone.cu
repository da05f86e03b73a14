// Attention held against FlashAttention-3 and cuDNN: pieces of work that run into one another, a loop with few branches, shapes
// for each head dimension and length, and, as a bet, a softmax that trusts the max of a row's first tiles.
//
//   nvcc -O3 -std=c++20 -gencode=arch=compute_90a,code=sm_90a -Icommon -o flash_capstone steps/49_flash_capstone/flash_capstone.cu common/*.c
//   ./learn run 49

#include <float.h>

#include "attention.h"
#include "hopper_softmax.h"

#include "ptx/setmaxnreg.h"

enum { JOINED, NEAR, SHAPED, SPECULATIVE, EXACT };  // variants

constexpr int L2_BYTES = 32 << 20, MOST_HEADS = 16;  // of K and V in a group: of an H200's 50 MiB of L2; and heads
constexpr float LAZY_RISE = 8, TRUSTED_RISE = 11;    // log2 of how far weights may exceed that of the max

template <int CONSUMERS> constexpr int PRODUCER = CONSUMERS == 2 ? 40 : 32;  // registers

// [slice] Which 64 rows of a piece a consumer has: the last has the first of every other piece. With a mask they see fewer keys.
template <int CONSUMERS> __device__ __forceinline__ int slice_of(int consumer, int count)
{
    return count % 2 ? CONSUMERS - 1 - consumer : consumer;
}

// [buffers] TILE keys in a tile of K or V, STAGES tiles in a ring. Up to D 128, pieces take turns at two places for rows of Q, and
// their rows of O leave through the same place. At D 256 there is one, and O leaves from the registers.
template <int D> constexpr int PLACES = D <= 128 ? 2 : 1;

template <typename T, int D, int CONSUMERS, int TILE, int STAGES>
struct buffers {
    alignas(1024) T Q[PLACES<D>][CONSUMERS][D / PANEL][WGMMA_M][PANEL];
    alignas(1024) T K[STAGES][D / PANEL][TILE][PANEL];
    alignas(1024) T V[STAGES][D / PANEL][TILE][PANEL];
    struct ring<PLACES<D>> of_Q;
    struct ring<STAGES> of_K, of_V;
    struct ring<1> of_next;
    uint64_t next;  // head and, in the lower half, row of what the block computes next
};

// [taken] Pieces that blocks took beyond their first: 0 again when all are done. Two launches must not run at the same time.
static __device__ unsigned taken;

// [kernel]
template <typename T, int D, int CONSUMERS, int TILE, int STAGES, bool TURNS, bool TRUSTS>
__global__ void __launch_bounds__(THREADS<CONSUMERS>, 1)
    flash_capstone(const __grid_constant__ CUtensorMap Q_map,  // [heads, n, D]
                   const __grid_constant__ CUtensorMap K_map,  // [heads / heads_per_kv, n_kv, D], as V's
                   const __grid_constant__ CUtensorMap V_map, const __grid_constant__ CUtensorMap O_map,  // as Q's
                   T *O,        // [heads, n, D]
                   float *lse,  // [heads, n], or NULL
                   const __grid_constant__ struct problem problem)
{
    extern __shared__ __align__(1024) uint4 memory[];
    auto &smem = *(struct buffers<T, D, CONSUMERS, TILE, STAGES> *)memory;
    // [uniform] The same in all lanes of a warp, as the exchange tells the compiler: what follows is in uniform registers.
    const int warpgroup = __shfl_sync(0xffffffff, threadIdx.x / WARPGROUP, 0), lane = threadIdx.x % 32;

    // [barriers]
    if (threadIdx.x == 0) {
        init_ring(&smem.of_Q, CONSUMERS, CONSUMERS * WARPS);
        init_ring(&smem.of_K, 1, CONSUMERS * WARPS);
        init_ring(&smem.of_V, 1, CONSUMERS * WARPS);
        init_ring(&smem.of_next, 1, CONSUMERS * WARPGROUP);
        fence_mbarrier_init();
    }
    __syncthreads();  // the barriers are made before any thread waits at them

    int stage = 0, parity = 0;
    if (warpgroup == CONSUMERS) {
        // [produce] One thread of the producer copies all tiles, each as soon as its stage is empty.
        setmaxnreg_dec<PRODUCER<CONSUMERS>>();
        if (threadIdx.x == CONSUMERS * WARPGROUP) {
            int V_stage = 0, V_parity = 0, V_head = 0, V_tile = -1;  // the next tile of V: copied behind the next of K
            struct piece piece = piece_of(&problem, blockIdx.x, BLOCK_ROWS<CONSUMERS>);
            const auto announce = [&](int count) {
                mbarrier_wait_parity(smem.of_next.empty, 1 - count % 2);  // all consumers know of the piece before
                smem.next = (uint64_t)piece.head << 32 | (uint32_t)piece.row;
                mbarrier_arrive(smem.of_next.full);
            };
            const auto load_Q = [&](int count) {
                const int place = count % PLACES<D>;
                mbarrier_wait_parity(&smem.of_Q.empty[place],
                                     1 - count / PLACES<D> % 2);  // all have read the rows before
                for (int i = 0; i < CONSUMERS; i++)
                    load_tile<D, WGMMA_M>(smem.Q[place][i], &smem.of_Q.full[place], &Q_map, piece.head,
                                          piece.row + slice_of<CONSUMERS>(i, count) * WGMMA_M);
            };
            const auto load_V = [&] {
                if (V_tile < 0)
                    return;
                mbarrier_wait_parity(&smem.of_V.empty[V_stage], 1 - V_parity);
                load_tile<D, TILE>(smem.V[V_stage], &smem.of_V.full[V_stage], &V_map, V_head, V_tile);
                next_stage<STAGES>(&V_stage, &V_parity);
                V_tile = -1;
            };
            announce(0);
            if (PLACES<D> == 2)
                load_Q(0);
            for (int count = 0; piece.row >= 0; count++) {
                // [tiles] The last keys first: only a row's first tiles need a mask.
                const int kv_head = piece.head / problem.heads_per_kv;
                const int last = (keys_before(&problem, piece.row + BLOCK_ROWS<CONSUMERS>) - 1) / TILE * TILE;
                for (int tile = last; tile >= 0; tile -= TILE) {
                    const int work = tile > 0 ? 0 : gridDim.x + atomicInc(&taken, problem.pieces - 1);  // the next
                    mbarrier_wait_parity(&smem.of_K.empty[stage], 1 - parity);  // products have read the tile before
                    load_tile<D, TILE>(smem.K[stage], &smem.of_K.full[stage], &K_map, kv_head, tile);
                    next_stage<STAGES>(&stage, &parity);
                    load_V();
                    if (PLACES<D> == 1 && tile == last)
                        load_Q(count);
                    V_head = kv_head, V_tile = tile;
                    // [last_tile] Consumers ask for the next piece, and for its rows, before they have done with this one.
                    if (tile == 0) {
                        if (PLACES<D> == 1 || last == 0)  // they may wait for it before they empty a place for Q
                            load_V();
                        piece = piece_of(&problem, work, BLOCK_ROWS<CONSUMERS>);
                        announce(count + 1);
                        if (PLACES<D> == 2 && piece.row >= 0)
                            load_Q(count + 1);
                    }
                }
            }
            load_V();
        }
    } else {
        // [consume] The others are consumers, of 64 rows of Q each.
        setmaxnreg_inc<CONSUMER_REGISTERS<CONSUMERS, PRODUCER<CONSUMERS>>>();
        const int warp_row = threadIdx.x / 32 % WARPS * MMA_M;
        float o[D / MMA_N][4], s[TILE / MMA_N][4], m[2], l[2], factor[2], inverse[2];
        uint32_t p[TILE / WGMMA_K][4];
        struct piece before = {}, next;
        bool stored = false;  // the engine may be reading rows of O
        const auto take = [&](int count) {
            mbarrier_wait_parity(smem.of_next.full, count % 2);
            const uint64_t read = smem.next;
            mbarrier_arrive(smem.of_next.empty);  // each thread has read it
            next = {__shfl_sync(0xffffffff, (int)(read >> 32), 0), __shfl_sync(0xffffffff, (int)read, 0)};
        };
        // [first_turn] As in step 46, but the last consumer begins with handing on: nobody knows whose turn will be the last.
        if (warpgroup == CONSUMERS - 1)
            hand_on<TURNS, CONSUMERS>(warpgroup);
        take(0);
        for (int count = 0;; count++) {
            const int place = count % PLACES<D>, other = (count + 1) % PLACES<D>;
            // [limits] `tile` is the block's first, `own` the first that the consumer's rows see. Each sees the keys before `whole`.
            int tile = (keys_before(&problem, next.row + BLOCK_ROWS<CONSUMERS>) - 1) / TILE * TILE;
            const struct piece piece = {next.head, next.row + slice_of<CONSUMERS>(warpgroup, count) * WGMMA_M};
            const int own = (keys_before(&problem, piece.row + WGMMA_M) - 1) / TILE * TILE;
            const int whole = min(problem.n_kv, piece.row + problem.offset + 1);
            // [finish_before] O of the piece before is whole, and leaves.
            const auto sums_before = [&] {
                finish_sums(inverse, lse, m, l, before.head, before.row + warp_row, &problem, lane);
            };
            const auto store_before = [&] {
                if (PLACES<D> == 1)
                    return store_registers<D>(O, o, inverse, before.head, before.row + warp_row, problem.n, lane);
                stage_rows<D>(smem.Q[other][warpgroup], o, inverse, warp_row, lane);
                fence_proxy_async_shared();
                __syncwarp();  // all lanes have written
                if (lane == 0)
                    store_rows<D>(&O_map, smem.Q[other][warpgroup], before.head, before.row + warp_row, warp_row);
                stored = true;
            };
            const auto release_stored = [&] {
                if (stored && lane == 0) {
                    bulk_wait_group_read<0>();  // the engine has read the rows of O
                    mbarrier_arrive(&smem.of_Q.empty[other]);
                }
                stored = false;
            };
            // [joined] The first tile is computed with the last product of the piece before, unless others have tiles before it.
            bool joined = count > 0 && next.row >= 0 && tile == own, alone = !joined;
            if (count > 0 && alone) {
                const int V_stage = (stage + STAGES - 1) % STAGES;
                add_output<D, TILE>(o, p, smem.V[V_stage]);
                sums_before();
                wgmma_wait_group<0>(o);
                release(&smem.of_V.empty[V_stage], lane);
                store_before();
            }
            if (next.row < 0)
                break;
            // [beyond] Tiles that only other consumers see.
            for (; tile > own; tile -= TILE) {
                mbarrier_wait_parity(&smem.of_K.full[stage], parity);
                mbarrier_wait_parity(&smem.of_V.full[stage], parity);
                wait_for_turn<TURNS>(warpgroup);
                hand_on<TURNS, CONSUMERS>(warpgroup);
                release(&smem.of_K.empty[stage], lane);
                release(&smem.of_V.empty[stage], lane);
                next_stage<STAGES>(&stage, &parity);
            }
            mbarrier_wait_parity(&smem.of_Q.full[place], count / PLACES<D> % 2);  // the rows of Q are there
            // [phases] 0: the first tile, alone. 1: the first tile, joined. 2: while rows of O leave, or with a mask. 3: all
            // others, in a loop without a branch that it can do without.
            bool positive = false;  // each max of the warp's rows
#pragma unroll
            for (int phase = 0; phase < 4; phase++)
#pragma unroll 1
                for (; phase == 0   ? alone
                       : phase == 1 ? joined
                                    : tile >= 0 && (phase == 3 || stored || tile + TILE > whole);
                     tile -= TILE) {
                    // [issue]
                    const int V_stage = (stage + STAGES - 1) % STAGES;
                    mbarrier_wait_parity(&smem.of_K.full[stage], parity);  // this tile of K is there
                    wait_for_turn<TURNS>(warpgroup);
                    scores<D, TILE>(s, smem.Q[place][warpgroup], smem.K[stage]);
                    if (phase > 0)
                        add_output<D, TILE>(o, p, smem.V[V_stage]);
                    hand_on<TURNS, CONSUMERS>(warpgroup);
                    if (phase == 1)
                        sums_before();
                    if (phase < 2)
                        m[0] = m[1] = -FLT_MAX, l[0] = l[1] = 0, alone = joined = false;
                    // [wait_S] S is in the registers, and P V may still run.
                    if (phase == 0)
                        wgmma_wait_group<0>(s);
                    else
                        wgmma_wait_group<1>(s);
                    const auto release_K = [&] {
                        release(&smem.of_K.empty[stage], lane);
                        if (PLACES<D> == 1 && tile == 0)
                            release(smem.of_Q.empty, lane);
                    };
                    if (!TRUSTS || phase < 3)
                        release_K();
                    // [under]
                    if (phase < 3) {
                        release_stored();
                        if (tile + TILE > whole)
                            mask<TILE>(s, &problem, piece.row + warp_row, tile, lane);
                    }
                    factor[0] = factor[1] = 1;
                    if (!TRUSTS || phase < 3)
                        weights<TILE>(s, m, l, factor, &problem, positive && phase == 3);
                    else {
                        if (!trusting_weights<TILE>(s, m, l, &problem, T())) {
                            scores_again<D, TILE>(s, smem.Q[place][warpgroup], smem.K[stage], warp_row, lane);
                            __syncwarp();  // all lanes have read Q and K
                            weights<TILE>(s, m, l, factor, &problem, false);
                        }
                        release_K();
                    }
                    // [grown] The sums are never negative. They are asked for so that no exponential sinks below the wait.
                    const bool grown = __any_sync(0xffffffff, factor[0] != 1 || factor[1] != 1 || l[0] < 0 || l[1] < 0);
                    if (!TRUSTS)
                        positive = positive || __all_sync(0xffffffff, m[0] >= 0 && m[1] >= 0);
                    mbarrier_wait_parity(&smem.of_V.full[stage], parity);  // this tile of V is there
                    // [wait_O]
                    if (phase > 0) {
                        wgmma_wait_group<0>(o);  // P is free, and O is whole
                        release(&smem.of_V.empty[V_stage], lane);
                    }
                    if (phase == 1)
                        store_before();
                    if (phase < 2 || grown)
                        for (int x = 0; x < D / MMA_N; x++)
                            for (int i = 0; i < 4; i++)
                                o[x][i] = phase < 2 ? 0 : o[x][i] * factor[i / 2];
                    pack_weights<TILE>(p, s, T());
                    next_stage<STAGES>(&stage, &parity);
                }
            release_stored();
            before = piece;
            take(count + 1);
        }
        if (warpgroup == 0)
            wait_for_turn<TURNS>(warpgroup);
        bulk_wait_group_read<0>();  // the engine has read the rows: the block may leave
    }
}

// [forms] Two of each head dimension, that of step 48 first. What a piece takes, without a mask and with one, beside what each of
// its tiles takes: on an H200, by two lengths of 16384 queries in all and 2048 columns in all.
struct form {
    int head_dim, rows, tile, bytes;
    double piece_us, masked_us, tile_us;
    int (*start[2])(const struct attention_args *args, cudaStream_t stream);  // the second trusts
};

// [prepared] What is made once before any launch.
struct prepared {
    CUtensorMap maps[4];  // of Q, K, V and O
    const struct form *form;
    struct problem problem;
};

// [start]
template <typename T, int D, int CONSUMERS, int TILE, int STAGES, bool TURNS, bool TRUSTS>
static int start(const struct attention_args *args, cudaStream_t stream)
{
    const auto kernel = flash_capstone<T, D, CONSUMERS, TILE, STAGES, TURNS, TRUSTS>;
    const struct prepared *prepared = (const struct prepared *)args->prepared;
    const int bytes = prepared->form->bytes;
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (status != cudaSuccess)
        return status;
    const CUtensorMap *maps = prepared->maps;
    kernel<<<prepared->problem.blocks, THREADS<CONSUMERS>, bytes, stream>>>(maps[0], maps[1], maps[2], maps[3],
                                                                            (T *)args->O, args->lse, prepared->problem);
    return cudaGetLastError();
}

template <typename T, int D, int CONSUMERS, int TILE, int STAGES, bool TURNS>
static struct form form_of(double piece_us, double masked_us, double tile_us)
{
    constexpr int bytes = sizeof(struct buffers<T, D, CONSUMERS, TILE, STAGES>);
    struct form form = {D, BLOCK_ROWS<CONSUMERS>, TILE, bytes, piece_us, masked_us, tile_us, {}};
    form.start[0] = start<T, D, CONSUMERS, TILE, STAGES, TURNS, false>;
    form.start[1] = start<T, D, CONSUMERS, TILE, STAGES, TURNS, true>;
    return form;
}

template <typename T>
static const struct form FORMS[6] = {
    form_of<T, 64, 4, 64, 4, false>(2.4, 1.5, 0.963),  form_of<T, 64, 3, 128, 3, true>(1.4, 2.5, 1.357),
    form_of<T, 128, 2, 128, 2, true>(2.1, 2.5, 1.445), form_of<T, 128, 3, 80, 3, false>(2.4, 2.5, 1.260),
    form_of<T, 256, 2, 64, 2, true>(4.6, 4.6, 1.329),  form_of<T, 256, 2, 80, 2, true>(4.3, 4.9, 1.613),
};

// [choose] The form that should take the least time. Without a mask pieces are equal, and computed in whole waves.
static const struct form *choose(const struct attention_args *args, struct problem *problem)
{
    int sms = 1;
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
    const int n = args->seqlen, n_kv = args->kv_seqlen, heads = args->batch * args->heads;
    const int in_L2 = max(1, (int)(L2_BYTES / ((size_t)4 * n_kv * args->head_dim)));  // heads of K and V
    const int group = args->variant == JOINED ? in_L2 : args->causal ? min(in_L2, MOST_HEADS) : 1;
    const int per_kv = args->heads / args->kv_heads, offset = args->causal ? n_kv - n : n_kv;
    *problem = {heads, per_kv, n, n_kv, offset, min(group * per_kv, heads), 0, 0, 0, 0, 0};
    problem->scale = LOG2_E * args->scale, problem->rise = args->variant == EXACT ? LAZY_RISE : 0;
    problem->at_max = args->dtype == BF16 ? P_LARGEST<__nv_bfloat16> : P_LARGEST<half>;
    problem->at_max -= args->variant == SPECULATIVE ? TRUSTED_RISE : problem->rise;
    const struct form *best = NULL;
    double least = 0;
    for (const struct form &form : args->dtype == BF16 ? FORMS<__nv_bfloat16> : FORMS<half>) {
        if (form.head_dim != args->head_dim || (best && args->variant < SHAPED))
            continue;
        const int pieces = ceil_div(n, form.rows);  // of a head
        double us = pieces * (args->causal ? form.masked_us : form.piece_us);
        for (int piece = 1; piece <= pieces; piece++)
            us += form.tile_us * ceil_div(keys_before(problem, piece * form.rows), form.tile);
        const double waves = (double)pieces * heads / sms;
        us *= (args->causal ? waves : ceil(waves)) / pieces;
        if (!best || us < least)
            best = &form, least = us, problem->pieces = pieces * heads, problem->blocks = min(pieces * heads, sms);
    }
    return attention_is_packed(args, args->dtype) ? best : NULL;
}

// [prepare]
int prepare(const struct attention_args *args)
{
    struct prepared *prepared = (struct prepared *)args->prepared;
    prepared->form = choose(args, &prepared->problem);
    return prepared->form ? attention_maps(prepared->maps, args, prepared->form->tile) : cudaErrorInvalidValue;
}

int launch(const struct attention_args *args, cudaStream_t stream)
{
    return ((const struct prepared *)args->prepared)->form->start[args->variant == SPECULATIVE](args, stream);
}

// [main]
static size_t shared_bytes(const struct attention_args *args)
{
    struct problem problem;
    return choose(args, &problem)->bytes;
}

static const struct variant variants[] = {
    {"joined", "a piece of work begins under the last product of the one before"},
    {"near", "and heads come one after another, with a mask at most 16 at a time"},
    {"shaped", "and shapes are chosen for each head dimension and length"},
    {"speculative", "and the max of a row's first tiles is trusted: a bet"},
    {"exact", "without the bet, and O is rescaled only where a weight would exceed the max's 256-fold"},
    {},
};

int main(int argc, char **argv)
{
    const struct attention_step step = {
        .name = "49_flash_capstone",
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

// C = A B at every size: tiles that fit the matrices, an epilogue under the next tile's products, K walked to and fro,
// clusters kept in step, K divided between two blocks, and launches that begin early.
//
//   nvcc -O3 -std=c++20 -gencode=arch=compute_90a,code=sm_90a -Icommon -o matmul_capstone steps/44_matmul_capstone/matmul_capstone.cu common/*.c
//   ./learn run 44

#include <math.h>

#include "hopper_matmul.h"
#include "matmul.h"

#include "ptx/grid.h"
#include "ptx/setmaxnreg.h"
#include "tensor_map.h"

constexpr int PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232;  // of each of their threads
constexpr int GROUP = 8;                                          // rows of tiles that are computed column by column
constexpr int INTERVAL = 8, SLOTS = 4;                            // steps of K in an interval; counters of intervals
constexpr int DRIFT_WAVES = 16;                                   // in fewer waves clusters do not drift apart much
constexpr double L2_BYTES = 50e6;                                 // of an H200

// The variants: each does what those before it do, and one thing more.
enum { SHAPED, DEFERRED, TO_AND_FRO, IN_STEP, DIVIDED, EARLY };

// [plan] What the host decides of a launch.
struct plan {
    int rows, cols, group;  // of clusters' tiles: how many, and how many rows of them are computed column by column
    int steps, A_rows;      // of K, that a block takes for a tile; rows of A's tile that are loaded: C has no others
    bool deferred, to_and_fro, in_step;
};

// [place_of] The first row and column of a cluster's tile. Tiles are counted group by group, and in a group column by column.
// To and fro means that every other group is counted from its last column on.
__device__ __forceinline__ void place_of(int tile, const struct plan *plan, int rows, int cols, int *row, int *col)
{
    const int whole = plan->group * plan->cols, number = tile / whole, first = number * plan->group;
    const int high = min(plan->group, plan->rows - first), x = tile % whole / high;
    *row = (first + tile % whole % high) * rows;
    *col = (plan->to_and_fro && number % 2 == 1 ? plan->cols - 1 - x : x) * cols;
}

// [counters] How many clusters have begun an interval, and how many have left. All are 0 before a launch and behind it.
__device__ unsigned begun[SLOTS], left;

// [begin_interval] One thread of a cluster counts it in, and asks how many have begun the interval before the last.
__device__ __forceinline__ unsigned begin_interval(unsigned interval)
{
    add_relaxed(&begun[interval % SLOTS], 1);
    return interval >= 2 ? load_relaxed(&begun[(interval - 2) % SLOTS]) : 0;
}

// [keep_in_step] Half an interval later the answer is there. Where it does not say that all have, the thread asks again.
__device__ __forceinline__ void keep_in_step(unsigned seen, unsigned interval, unsigned clusters)
{
    while (interval >= 2 && seen < clusters * ((interval - 2) / SLOTS + 1))
        seen = load_relaxed(&begun[(interval - 2) % SLOTS]);
}

// [leave] The last cluster that leaves clears the counters.
__device__ __forceinline__ void leave(unsigned clusters)
{
    if (atomicInc(&left, clusters - 1) == clusters - 1)
        for (int i = 0; i < SLOTS; i++)
            atomicExch(&begun[i], 0);
}

// [add_sums] The consumers of two blocks have sums of one tile, each for its half of K. A block sends the half of its sums that
// the other block stores, and adds to the half that it stores itself what the other block has sent.
template <class T, int CONSUMERS, int TILE_N, int STAGES>
__device__ __forceinline__ void add_sums(float (&sum)[TILE_N / MMA_N][4],
                                         struct buffers<T, CONSUMERS, TILE_N, STAGES, 2> *smem)
{
    constexpr int COLS = TILE_N / MMA_N, HALF = COLS / 2;
    const int rank = cluster_rank();
    // [exchange]
    if (threadIdx.x == 0)
        mbarrier_arrive_expect_tx(&smem->sent, sizeof(smem->sums));
#pragma unroll
    for (int x = 0; x < COLS; x++)
        if (x / HALF != rank)
            store_async(map_to_rank(&smem->sums[x % HALF][threadIdx.x], 1 - rank), sum[x],
                        map_to_rank(&smem->sent, 1 - rank));
    mbarrier_wait_parity(&smem->sent, 0);
#pragma unroll
    for (int x = 0; x < COLS; x++)
        if (x / HALF == rank) {
            const float4 other = smem->sums[x % HALF][threadIdx.x];
            sum[x][0] += other.x, sum[x][1] += other.y, sum[x][2] += other.z, sum[x][3] += other.w;
        }
}

// [kernel]
template <class T, int CONSUMERS, int TILE_N, int STAGES, int CLUSTER_M, int CLUSTER_K>
__global__ void __launch_bounds__(THREADS<CONSUMERS>, 1)
    matmul_capstone(const __grid_constant__ CUtensorMap A_map,  // of A [m, k]
                    const __grid_constant__ CUtensorMap B_map,  // of B [k, n]
                    const __grid_constant__ CUtensorMap C_map,  // of C [m, n]
                    T *C,                                       // [m, n]
                    int m, int n, int C_pitch, const __grid_constant__ struct plan plan)
{
    constexpr int PANELS = TILE_N / PANEL, COLS = TILE_N / MMA_N, PAIRS = PANEL / MMA_N * 2;
    constexpr int AHEAD = CONSUMERS == 1;  // groups of products under way while a consumer waits for the next tiles
    extern __shared__ __align__(1024) uint4 memory[];
    auto *smem = (struct buffers<T, CONSUMERS, TILE_N, STAGES, CLUSTER_K> *)memory;
    const int warpgroup = threadIdx.x / WARPGROUP, clusters = gridDim.x / (CLUSTER_M * CLUSTER_K);
    const int m_rank = CLUSTER_M == 1 ? 0 : cluster_rank(), k_rank = CLUSTER_K == 1 ? 0 : cluster_rank();

    // [barriers]
    if (threadIdx.x == 0) {
        prefetch_tensormap(&A_map);
        prefetch_tensormap(&B_map);
        for (int stage = 0; stage < STAGES; stage++) {
            mbarrier_init(&smem->full[stage], 1);
            mbarrier_init(&smem->empty[stage], CLUSTER_M * CONSUMERS * WARPS);
        }
        mbarrier_init(&smem->sent, 1);
        fence_mbarrier_init();
    }
    __syncwarp();  // the lanes of the first warp arrive together
    cluster_arrive_relaxed();
    cluster_wait();  // the barriers of all blocks are made before any thread waits or arrives at them, or a copy comes
    launch_dependents();

    // [roles] All walk through the same tiles, and the ring goes on from one to the next.
    const int first = blockIdx.x / (CLUSTER_M * CLUSTER_K), tiles = plan.rows * plan.cols;
    int stage = 0, parity = 0, row, col;
    if (warpgroup == CONSUMERS) {
        setmaxnreg_dec<PRODUCER_REGISTERS>();
        // [produce] One thread of the last warpgroup loads all tiles of A and B, each pair as soon as its stage is empty.
        if (threadIdx.x == CONSUMERS * WARPGROUP) {
            unsigned interval = 0, seen = 0;
            for (int tile = first; tile < tiles; tile += clusters) {
                place_of(tile, &plan, CLUSTER_M * TILE_M<CONSUMERS>, TILE_N, &row, &col);
                row += m_rank * TILE_M<CONSUMERS>;
                const bool backwards = plan.to_and_fro && tile / clusters % 2 == 1;
                // [in_step] Those of a last wave that is not full do not wait for one another.
                const bool waits = plan.in_step && m_rank == 0 && tile - first + clusters <= tiles;
                int i = (k_rank * plan.steps + (backwards ? plan.steps - 1 : 0)) * TILE_K;
                if (tile == first)
                    wait_for_grid();  // the launch before this one has ended: what it wrote is there, and C may be written
                for (int step = 0; step < plan.steps; step++) {
                    if (waits && step % INTERVAL == 0)
                        seen = begin_interval(interval);
                    if (waits && step % INTERVAL == INTERVAL / 2)
                        keep_in_step(seen, interval++, clusters);
                    mbarrier_wait_parity(&smem->empty[stage], 1 - parity);
                    load_tiles<CLUSTER_M>(&smem->tiles[stage], &smem->full[stage], &A_map, &B_map, plan.A_rows, row,
                                          col, i);
                    i += backwards ? -TILE_K : TILE_K;
                    next_stage<STAGES>(&stage, &parity);
                }
            }
            if (plan.in_step && m_rank == 0)
                leave(clusters);
            // [last] Its block stays until the last products of all blocks have read their tiles and their warps have arrived.
            for (int i = 0; i < STAGES; i++) {
                mbarrier_wait_parity(&smem->empty[stage], 1 - parity);
                next_stage<STAGES>(&stage, &parity);
            }
        }
    } else {
        setmaxnreg_inc<CONSUMER_REGISTERS>();
        // [consume] The others multiply 64 rows of A's tiles each.
        const int warp = threadIdx.x / 32;
        T(*out)[MMA_M][PANEL] = smem->out[warp].C;
        int place = 0;                       // of the two in `out`, which panels take in turn
        uint32_t packed[2 * COLS] = {};      // the sums of the tile before, as pairs
        int packed_row = m, packed_col = 0;  // of its place: below C, since there is none yet
        for (int tile = first; tile < tiles; tile += clusters) {
            float sum[COLS][4] = {};
            // [first_steps] Under the products of the first steps leaves the tile before, a panel under each.
#pragma unroll
            for (int panel = 0; panel < PANELS; panel++) {
                mbarrier_wait_parity(&smem->full[stage], parity);  // this stage's tiles are there
                multiply_tiles(sum, &smem->tiles[stage], warpgroup * WGMMA_M);
                // [store_under]
                if (packed_row < m)
                    store_panel(out[place ^= 1], &packed[panel * PAIRS], &C_map, C, packed_row,
                                packed_col + panel * PANEL, m, n, C_pitch);
                // [end store_under]
                wgmma_wait_group<AHEAD>(sum);
                if (panel >= AHEAD)
                    release_stage<CLUSTER_M>(&smem->empty[stage_before<STAGES>(stage, AHEAD)]);
                next_stage<STAGES>(&stage, &parity);
            }
            // [other_steps]
            for (int step = PANELS; step < plan.steps; step++) {
                mbarrier_wait_parity(&smem->full[stage], parity);
                multiply_tiles(sum, &smem->tiles[stage], warpgroup * WGMMA_M);
                // [wait]
                wgmma_wait_group<AHEAD>(sum);
                // [end wait]
                release_stage<CLUSTER_M>(&smem->empty[stage_before<STAGES>(stage, AHEAD)]);
                next_stage<STAGES>(&stage, &parity);
            }
            // [last_group]
            if (AHEAD) {
                wgmma_wait_group<0>(sum);
                release_stage<CLUSTER_M>(&smem->empty[stage_before<STAGES>(stage, 1)]);
            }
            place_of(tile, &plan, CLUSTER_M * TILE_M<CONSUMERS>, TILE_N, &row, &col);
            row += m_rank * TILE_M<CONSUMERS> + warp * MMA_M;
            if constexpr (CLUSTER_K == 2) {
                // [divided] Two blocks have computed this tile, and it is the only one of both.
                add_sums(sum, smem);
                store_half(C, sum, k_rank, row, col, m, n, C_pitch);
            } else {
                // [keep] The sums become pairs of 16 bits, in half as many registers.
                for (int x = 0; x < COLS; x++) {
                    packed[2 * x] = pack(sum[x][0], sum[x][1], T());
                    packed[2 * x + 1] = pack(sum[x][2], sum[x][3], T());
                }
                packed_row = row, packed_col = col;
                // Behind the last tile there are no products to leave under.
                if (!plan.deferred || tile + clusters >= tiles) {
#pragma unroll
                    for (int panel = 0; panel < PANELS; panel++)
                        store_panel(out[place ^= 1], &packed[panel * PAIRS], &C_map, C, row, col + panel * PANEL, m, n,
                                    C_pitch);
                    packed_row = m;
                }
            }
        }
        bulk_wait_group_read<0>();  // the engine has read the last panels: the block may leave
    }
}

// [form] A form that the kernel is compiled in, and how many ns an H200 takes for a step of K in it.
struct form {
    int (*start)(const struct matmul_args *, cudaStream_t);
    int (*count)(int *clusters);
    int tile_m, tile_n, cluster_m, cluster_k, step_ns;
};

constexpr int FORMS_COUNT = 8, SUMS_A_NS = 5;  // sums of a tile that two blocks exchange in a ns

// [prepared] What is made once before any launch.
struct prepared {
    CUtensorMap A_map, B_map, C_map;
    struct plan plan;
    const struct form *form;
    int clusters;
    bool early;
};

// [config] A launch of so many clusters, which may begin before the one in front of it in the stream has ended.
template <class T, int CONSUMERS, int TILE_N, int STAGES, int CLUSTER_M, int CLUSTER_K>
static cudaLaunchConfig_t config(int clusters, bool early, cudaStream_t stream, cudaLaunchAttribute attributes[2])
{
    constexpr unsigned blocks = CLUSTER_M * CLUSTER_K;
    attributes[0] = {.id = cudaLaunchAttributeClusterDimension, .val = {.clusterDim = {blocks, 1, 1}}};
    attributes[1] = {.id = cudaLaunchAttributeProgrammaticStreamSerialization,
                     .val = {.programmaticStreamSerializationAllowed = early}};
    return {clusters * blocks,
            THREADS<CONSUMERS>,
            sizeof(struct buffers<T, CONSUMERS, TILE_N, STAGES, CLUSTER_K>),
            stream,
            attributes,
            2};
}

// [count] Asks how many clusters of the kernel the GPU runs at once.
template <class T, int CONSUMERS, int TILE_N, int STAGES, int CLUSTER_M, int CLUSTER_K>
static int count(int *clusters)
{
    cudaLaunchAttribute attributes[2];
    const auto kernel = matmul_capstone<T, CONSUMERS, TILE_N, STAGES, CLUSTER_M, CLUSTER_K>;
    const auto launch = config<T, CONSUMERS, TILE_N, STAGES, CLUSTER_M, CLUSTER_K>(1, false, nullptr, attributes);
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                    launch.dynamicSmemBytes);
    return status == cudaSuccess ? cudaOccupancyMaxActiveClusters(clusters, kernel, &launch) : status;
}

template <class T, int CONSUMERS, int TILE_N, int STAGES, int CLUSTER_M, int CLUSTER_K>
static int start(const struct matmul_args *args, cudaStream_t stream)
{
    const struct prepared *prepared = (const struct prepared *)args->prepared;
    cudaLaunchAttribute attributes[2];
    const auto launch = config<T, CONSUMERS, TILE_N, STAGES, CLUSTER_M, CLUSTER_K>(prepared->clusters, prepared->early,
                                                                                   stream, attributes);
    return cudaLaunchKernelEx(&launch, matmul_capstone<T, CONSUMERS, TILE_N, STAGES, CLUSTER_M, CLUSTER_K>,
                              prepared->A_map, prepared->B_map, prepared->C_map, (T *)args->C, args->m, args->n,
                              args->C_pitch, prepared->plan);
}

template <class T, int CONSUMERS, int TILE_N, int STAGES, int CLUSTER_M, int CLUSTER_K>
constexpr struct form FORM(int step_ns) {
    struct form form = {start<T, CONSUMERS, TILE_N, STAGES, CLUSTER_M, CLUSTER_K>,
                        count<T, CONSUMERS, TILE_N, STAGES, CLUSTER_M, CLUSTER_K>};
    form.tile_m = TILE_M<CONSUMERS>, form.tile_n = TILE_N, form.step_ns = step_ns;
    form.cluster_m = CLUSTER_M, form.cluster_k = CLUSTER_K;
    return form;
}

// [forms] Consumers, columns of a tile, stages, blocks beside one another along M, and along K.
template <class T>
static const struct form FORMS[FORMS_COUNT] = {
    FORM<T, 1, 64, 12, 1, 2>(257),  // 64 × 4096 × 14336
    FORM<T, 1, 256, 5, 1, 1>(360),  // 64 × 11008 × 4096
    FORM<T, 2, 64, 8, 1, 2>(280),   // 128 × 4096 × 14336
    FORM<T, 2, 128, 6, 1, 2>(385),  // 256 × 4096 × 14336
    FORM<T, 1, 128, 8, 2, 1>(210),  // 256 × 4096 × 4096
    FORM<T, 2, 128, 6, 1, 1>(354),  // 512 × 4096 × 4096
    FORM<T, 2, 192, 4, 2, 1>(515),  // 512 × 11008 × 4096
    FORM<T, 2, 256, 4, 2, 1>(654),  // 1024 × 4096 × 14336
};

// [choose] The form for which the steps of a block take the least time, and the plan for it.
static int choose(const struct matmul_args *args, const struct form *forms, int sms, struct prepared *prepared)
{
    long least = 0;
    for (const struct form *form = forms; form < forms + FORMS_COUNT; form++) {
        int most;  // clusters
        const int status = form->count(&most);
        if (status != cudaSuccess)
            return status;
        if (most == 0)
            continue;
        const int rows = ceil_div(args->m, form->cluster_m * form->tile_m), cols = ceil_div(args->n, form->tile_n);
        const int waves = ceil_div(rows * cols, most), clusters = ceil_div(rows * cols, waves);
        const int steps = max(ceil_div(ceil_div(args->k, TILE_K), form->cluster_k), form->tile_n / PANEL);
        const bool divided = form->cluster_k == 2, divides = args->variant >= DIVIDED && waves == 1;
        const long exchange_ns = divided ? form->tile_m * form->tile_n / SUMS_A_NS : 0;
        const long ns = (long)waves * steps * form->step_ns + exchange_ns;
        const bool idle = form->cluster_m * form->tile_m - WGMMA_M >= args->m;  // a consumer has no row of C
        if (idle || (divided && !divides) || (least != 0 && ns >= least))
            continue;
        least = ns;
        const int blocks = clusters * form->cluster_m * form->cluster_k;
        // L2 holds a part only of the rows of A and the columns of B that a wave reads.
        const double wave = 2.0 * args->k * (form->cluster_m * form->tile_m + form->tile_n) * sqrt(clusters);
        prepared->form = form, prepared->clusters = clusters;
        prepared->plan = {rows, cols, min(GROUP, rows), steps, min(form->tile_m, ceil_div(args->m, MMA_N) * MMA_N)};
        prepared->plan.deferred = args->variant >= DEFERRED, prepared->plan.to_and_fro = args->variant >= TO_AND_FRO;
        prepared->plan.in_step = args->variant >= IN_STEP && waves > DRIFT_WAVES && steps % INTERVAL == 0 &&
                                 wave > L2_BYTES;
        prepared->early = args->variant >= EARLY && waves == 1 && (2 * blocks <= sms || 8 * blocks >= 7 * sms);
    }
    return least ? cudaSuccess : cudaErrorInvalidConfiguration;
}

int launch(const struct matmul_args *args, cudaStream_t stream)
{
    return ((const struct prepared *)args->prepared)->form->start(args, stream);
}

// [prepare]
int prepare(const struct matmul_args *args)
{
    if (!matmul_is_aligned(args, args->dtype, 16))
        return cudaErrorInvalidValue;
    struct prepared *prepared = (struct prepared *)args->prepared;
    int device, sms, status = cudaGetDevice(&device);
    if (status == cudaSuccess)
        status = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    if (status == cudaSuccess)
        status = choose(args, args->dtype == BF16 ? FORMS<__nv_bfloat16> : FORMS<half>, sms, prepared);
    if (status == cudaSuccess)
        status = tensor_map_2d(&prepared->A_map, args->dtype, args->A, args->m, args->k, args->A_pitch,
                               prepared->plan.A_rows, TILE_K, CU_TENSOR_MAP_SWIZZLE_128B);
    if (status == cudaSuccess)
        status = tensor_map_2d(&prepared->B_map, args->dtype, args->B, args->k, args->n, args->B_pitch, TILE_K, PANEL,
                               CU_TENSOR_MAP_SWIZZLE_128B);
    if (status == cudaSuccess)
        status = tensor_map_2d(&prepared->C_map, args->dtype, args->C, args->m, max(VECTOR, args->n / VECTOR * VECTOR),
                               args->C_pitch, MMA_M, PANEL, CU_TENSOR_MAP_SWIZZLE_128B);
    return status;
}

constexpr int SHARED = sizeof(struct buffers<half, 2, 256, 4, 1>);
static const struct variant variants[] = {
    {"shaped", "tiles, stages and clusters are chosen for each size", SHARED},
    {"deferred", "and a tile leaves under the first products of the next", SHARED},
    {"to_and_fro", "and every other tile takes K backwards, every other group of tiles its columns", SHARED},
    {"in_step", "and where L2 holds less than a wave reads, clusters wait for one another", SHARED},
    {"divided", "and where tiles are few, two blocks divide K", SHARED},
    {"early", "and a launch begins before the one in front of it has ended", SHARED},
    {},
};

int main(int argc, char **argv)
{
    const struct matmul_step step = {
        .name = "44_matmul_capstone",
        .dtypes = {FP16, BF16},
        .arch = "90a",
        .row_bytes = 16,
        .variants = variants,
        .prepare = prepare,
        .launch = launch,
    };
    return matmul_main(argc, argv, &step);
}

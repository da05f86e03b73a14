// Y = a X, where one thread of a block moves whole tiles to shared memory and back, by bulk copies.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o bulk_copy steps/36_bulk_copy/bulk_copy.cu common/*.c
//   ./learn run 36

#include "scale.h"

#include "ptx/bulk.h"
#include "ptx/mbarrier.h"

constexpr int THREADS = 128;
constexpr int VECTOR = 4;  // elements in 16 bytes, of which bulk copies move a multiple
constexpr int TILE = 256;  // vectors that one bulk copy moves, 4 KiB
constexpr int SHARE = 8;   // tiles that a block moves where there are many blocks

// [buffers]
template <int STAGES>
struct buffers {
    float4 X[STAGES][TILE];
    float4 Y[2][TILE];      // the engine reads one while the threads write the other
    uint64_t full[STAGES];  // barriers: a phase is over when all bytes of a tile of X are there
};

// [size] The vectors of a tile: TILE of them, or fewer in the last.
__device__ int size_of(int tile, size_t vectors)
{
    const int whole = vectors / TILE;
    return tile < whole ? TILE : vectors % TILE;
}

// [load_tile] One thread sets the barrier to expect the bytes of a tile, and the engine begins to move them.
__device__ void load_tile(float4 *smem, const float4 *X, int tile, size_t vectors, uint64_t *full)
{
    // [load]
    const unsigned bytes = size_of(tile, vectors) * sizeof(float4);
    mbarrier_arrive_expect_tx(full, bytes);
    bulk_load(smem, &X[(size_t)tile * TILE], bytes, full);
    // [end load]
}

// [kernel]
template <int STAGES>
__global__ void __launch_bounds__(THREADS) bulk_copy(const float *X,  // [n]
                                                     float *Y,        // [n]
                                                     size_t n, int share, float a)
{
    extern __shared__ float4 memory[];
    struct buffers<STAGES> *smem = (struct buffers<STAGES> *)memory;
    const bool issuer = threadIdx.x == 0;

    // [barriers] A phase is over when the issuer has arrived and all bytes that it expects are there.
    if (issuer) {
        for (int stage = 0; stage < STAGES; stage++)
            mbarrier_init(&smem->full[stage], 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // the barriers are made before any thread waits at them

    // [rest] The one to three elements behind the last vector are no engine's.
    const size_t vectors = n / VECTOR;
    if (blockIdx.x == 0 && threadIdx.x < n % VECTOR)
        Y[VECTOR * vectors + threadIdx.x] = a * X[VECTOR * vectors + threadIdx.x];

    // [ahead] The first tiles of this block are on their way.
    const float4 *X4 = (const float4 *)X;
    float4 *Y4 = (float4 *)Y;
    const int tiles = (vectors + TILE - 1) / TILE, first = blockIdx.x * share, end = min(first + share, tiles);
    if (issuer)
        for (int i = 0; i < STAGES && first + i < end; i++)
            load_tile(smem->X[i], X4, first + i, vectors, &smem->full[i]);

    int stage = 0, parity = 0, out = 0;
    for (int tile = first; tile < end; tile++) {
        // [wait]
        mbarrier_wait_parity(&smem->full[stage], parity);  // the tile of X is there
        // [scale]
        const int size = size_of(tile, vectors);
        for (int i = threadIdx.x; i < size; i += THREADS) {
            const float4 x = smem->X[stage][i];
            smem->Y[out][i] = make_float4(a * x.x, a * x.y, a * x.z, a * x.w);
        }
        // [hand_over]
        fence_proxy_async_shared();  // the engine may read what this thread has written
        if (issuer)
            bulk_wait_group_read<0>();  // the engine has read the other tile of Y, which the next pass writes
        __syncthreads();                // every thread has read this tile of X and written this one of Y
        // [issue] The tile of Y leaves, and another one of X takes the place of the one that was read.
        if (issuer) {
            bulk_store(&Y4[(size_t)tile * TILE], smem->Y[out], size * sizeof(float4));
            bulk_commit_group();
            if (tile + STAGES < end)
                load_tile(smem->X[stage], X4, tile + STAGES, vectors, &smem->full[stage]);
        }
        // [advance] After the last stage comes the first, whose barrier is in its next phase.
        out = 1 - out;
        // [next]
        stage = stage + 1 < STAGES ? stage + 1 : 0;
        if (stage == 0)
            parity = 1 - parity;
        // [end next]
    }
    // [finish]
    if (issuer)
        bulk_wait_group_read<0>();  // shared memory remains this block's until the engine has read it
}

// [launch] A share of 0: one block on each SM, with as many tiles as any other, or fewer.
template <int STAGES>
static int start(const struct scale_args *args, int share, cudaStream_t stream)
{
    const size_t n = (size_t)args->rows * args->cols;
    const int tiles = (n - 1) / (TILE * VECTOR) + 1;
    if (share == 0) {
        int device = 0, sms = 1;
        cudaGetDevice(&device);
        cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
        share = ceil_div(tiles, sms);
    }
    bulk_copy<STAGES><<<ceil_div(tiles, share), THREADS, sizeof(struct buffers<STAGES>), stream>>>(
        (const float *)args->X, (float *)args->Y, n, share, args->a);
    return cudaGetLastError();
}

int launch(const struct scale_args *args, cudaStream_t stream)
{
    if (!scale_is_plain(args, FP32))
        return cudaErrorInvalidValue;
    switch (args->variant) {
    case 0: return start<1>(args, 0, stream);
    case 1: return start<2>(args, 0, stream);
    case 2: return start<4>(args, 0, stream);
    default: return start<4>(args, SHARE, stream);
    }
}

// [main]
static const struct variant variants[] = {
    {"one_stage", "one block on each SM, which waits for each tile that it asks for", sizeof(struct buffers<1>)},
    {"two_stages", "the next tile of X is on its way", sizeof(struct buffers<2>)},
    {"four_stages", "the next three tiles of X are on their way", sizeof(struct buffers<4>)},
    {"many_blocks", "the next three tiles of X are on their way, in many blocks of 8 tiles each",
     sizeof(struct buffers<4>)},
    {},
};

int main(int argc, char **argv)
{
    const struct scale_step step = {
        .name = "36_bulk_copy",
        .dtypes = {FP32},
        .arch = "90",
        .variants = variants,
        .launch = launch,
    };
    return scale_main(argc, argv, &step);
}

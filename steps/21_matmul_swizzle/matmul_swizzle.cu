// C = A B with swizzled tiles: an XOR of the column with the row keeps ldmatrix and cp.async free of bank conflicts.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o matmul_swizzle steps/21_matmul_swizzle/matmul_swizzle.cu common/*.c
//   ./learn run 21

#include "layout.h"
#include "matmul.h"

#include "ptx/cp_async.h"
#include "ptx/ldmatrix.h"
#include "ptx/mma.h"
#include "ptx/pair.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int TILE_M = 256, TILE_N = 128;  // rows and columns of C that one block computes
constexpr int TILE_K = 64;                 // columns of A, rows of B in the tiles that it does so from
constexpr int VECTOR = 8;                  // elements in 16 bytes, which is the most that one copy moves
constexpr int STAGES = 3;                  // pairs of tiles in shared memory: that of the products, and those under way
constexpr int WARP_M = 64, WARP_N = 64;    // rows and columns of C that one warp computes
constexpr int MMA_M = 16, MMA_N = 8;       // rows and columns of C that one mma computes
constexpr int MMA_K = 16;                  // and the products that it sums for each of them
constexpr int PARTS = TILE_K / MMA_K;      // in which the copy of the next tiles is spread over the products of these
constexpr int WARPS = TILE_M / WARP_M * (TILE_N / WARP_N);
constexpr int THREADS = 32 * WARPS;  // in a block

// [tiles] A row that has no padding begins at a multiple of 128 bytes, the width of all banks.
enum layout { UNPADDED, PADDED, SWIZZLED };

template <class T, enum layout L>
struct tiles {
    static constexpr int PAD = L == PADDED ? VECTOR : 0;
    alignas(128) T A[TILE_M][TILE_K + PAD];  // [row][i]
    alignas(128) T B[TILE_K][TILE_N + PAD];  // [i][col]
};

// [swizzle] The column in shared memory of an element of a tile. Within 128 bytes of a row, vectors change places by the last
// three bits of the row's number.
template <enum layout L>
__host__ __device__ constexpr int place(int row, int col)
{
    // [place]
    return L == SWIZZLED ? col ^ row % 8 * VECTOR : col;
    // [end place]
}

// [source] A thread copies vectors of one column of each tile, in rows A_STEP or B_STEP apart. Its first are at these places.
constexpr int A_STEP = THREADS / (TILE_K / VECTOR), B_STEP = THREADS / (TILE_N / VECTOR);
static_assert(A_STEP % 8 == 0 && B_STEP % 8 == 0, "so all vectors of a thread change places alike");
__device__ int A_row() { return threadIdx.x / (TILE_K / VECTOR); }
__device__ int A_col() { return threadIdx.x % (TILE_K / VECTOR) * VECTOR; }
__device__ int B_row() { return threadIdx.x / (TILE_N / VECTOR); }
__device__ int B_col() { return threadIdx.x % (TILE_N / VECTOR) * VECTOR; }

template <class T>
struct source {
    const T *A, *B;      // this thread's first vectors of the next tiles to be copied
    int A_rows, A_cols;  // how many rows and columns of A there are from its vector on; none if not positive
    int B_rows, B_cols;  // and of B
};

template <class T>
__device__ void next_tiles(struct source<T> *from, int B_pitch)
{
    from->A += TILE_K;
    from->A_cols -= TILE_K;
    from->B += (size_t)TILE_K * B_pitch;
    from->B_rows -= TILE_K;
}

// [vector_bytes] The bytes of a vector's first `count` elements, which are those in the matrix.
template <class T>
__device__ int vector_bytes(int count)
{
    return min(max(count, 0), VECTOR) * (int)sizeof(T);
}

// [copy_part] A thread begins to copy its vectors in every PARTSth of its rows, from row part * STEP on. Of what lies
// outside of A and B nothing is read, and zeros are written.
template <class T, enum layout L>
__device__ void copy_part(struct tiles<T, L> *smem, const struct source<T> *from, int part, int A_pitch, int B_pitch)
{
    const int A_bytes = vector_bytes<T>(from->A_cols), B_bytes = vector_bytes<T>(from->B_cols);
    for (int y = part * A_STEP; y < TILE_M; y += PARTS * A_STEP)
        cp_async_16(&smem->A[A_row() + y][place<L>(A_row(), A_col())], &from->A[(size_t)y * A_pitch],
                    y < from->A_rows ? A_bytes : 0);
    for (int y = part * B_STEP; y < TILE_K; y += PARTS * B_STEP)
        cp_async_16(&smem->B[B_row() + y][place<L>(B_row(), B_col())], &from->B[(size_t)y * B_pitch],
                    y < from->B_rows ? B_bytes : 0);
}

// [kernel]
template <class T, enum layout L>
__global__ void __launch_bounds__(THREADS) matmul_swizzle(const T *A,  // [m, k]
                                                          const T *B,  // [k, n]
                                                          T *C,        // [m, n]
                                                          int m, int n, int k, int A_pitch, int B_pitch, int C_pitch)
{
    // [index] The first row and column of this warp's part of the block's tile.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (TILE_N / WARP_N) * WARP_M, col = warp % (TILE_N / WARP_N) * WARP_N;

    // [fragments] A warp's sums: 4 × 8 tiles of 16 × 8, of each of which a lane holds 4 elements.
    constexpr int ROWS = WARP_M / MMA_M, COLS = WARP_N / MMA_N;
    float sum[ROWS][COLS][4] = {};

    // [stages] Each stage holds a tile of A and one of B. The copies to all but one are begun before the loop.
    extern __shared__ uint4 memory[];
    struct tiles<T, L> *smem = (struct tiles<T, L> *)memory;  // [STAGES]
    const int A_first = blockIdx.y * TILE_M + A_row(), B_first = blockIdx.x * TILE_N + B_col();
    struct source<T> from;
    from.A = &A[(size_t)A_first * A_pitch + A_col()];
    from.A_rows = m - A_first;
    from.A_cols = k - A_col();
    from.B = &B[(size_t)B_row() * B_pitch + B_first];
    from.B_rows = k - B_row();
    from.B_cols = n - B_first;
    for (int ahead = 0; ahead < STAGES - 1; ahead++) {
        for (int part = 0; part < PARTS; part++)
            copy_part(&smem[ahead], &from, part, A_pitch, B_pitch);
        cp_async_commit_group();
        next_tiles(&from, B_pitch);
    }

    int stage = 0, target = STAGES - 1;  // the stage that is multiplied, and the one that is filled meanwhile
    for (int left = k; left > 0; left -= TILE_K) {
        // [wait] The oldest group holds the tiles of this pass. Those of the next STAGES − 2 pairs may stay under way.
        cp_async_wait_group<STAGES - 2>();
        __syncthreads();  // both tiles are whole before any warp reads them, and those before them were read by all warps

        // [multiply] Four matrices of 8 × 8 are a fragment of A, or two of B. B's are transposed on their way, because a
        // register of a fragment of B holds two elements of a column.
        // Lane l gives the address of row l % 16, in the left half of the columns or in the right.
        const int lane_row = lane % 16, lane_col = lane / 16 * 8;
#pragma unroll
        for (int i = 0; i < TILE_K; i += MMA_K) {
            copy_part(&smem[target], &from, i / MMA_K, A_pitch, B_pitch);
            uint32_t a[ROWS][4], b[COLS / 2][4];
            // [a]
            for (int y = 0; y < ROWS; y++)
                ldmatrix_x4(a[y], &smem[stage].A[row + y * MMA_M + lane_row][place<L>(lane_row, i + lane_col)]);
            // [end a]
            for (int x = 0; x < COLS; x += 2)
                ldmatrix_x4_trans(b[x / 2],
                                  &smem[stage].B[i + lane_row][place<L>(lane_row, col + x * MMA_N + lane_col)]);
            for (int y = 0; y < ROWS; y++)
                for (int x = 0; x < COLS; x++)
                    mma_m16n8k16(sum[y][x], a[y], &b[x / 2][x % 2 * 2], T());
        }
        cp_async_commit_group();
        next_tiles(&from, B_pitch);
        target = stage;
        stage = stage + 1 < STAGES ? stage + 1 : 0;
    }

    // [store] Lane l holds two neighbours in row l / 4 of each tile of 16 × 8, and two in row l / 4 + 8.
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < COLS; x++) {
            const int C_row = blockIdx.y * TILE_M + row + y * MMA_M + lane / 4;
            const int C_col = blockIdx.x * TILE_N + col + x * MMA_N + lane % 4 * 2;
            store_pair(C, &sum[y][x][0], C_row, C_col, m, n, C_pitch);
            store_pair(C, &sum[y][x][2], C_row + 8, C_col, m, n, C_pitch);
        }
}

// [launch] Bytes of shared memory of a block.
template <class T, enum layout L> constexpr int BYTES = STAGES * sizeof(struct tiles<T, L>);

template <class T, enum layout L>
static int start(const struct matmul_args *args, cudaStream_t stream)
{
    const auto kernel = matmul_swizzle<T, L>;
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES<T, L>);
    if (status != cudaSuccess)
        return status;
    const dim3 blocks(ceil_div(args->n, TILE_N), ceil_div(args->m, TILE_M));
    kernel<<<blocks, THREADS, BYTES<T, L>, stream>>>((const T *)args->A, (const T *)args->B, (T *)args->C, args->m,
                                                     args->n, args->k, args->A_pitch, args->B_pitch, args->C_pitch);
    return cudaGetLastError();
}

template <class T>
static int launch_of(const struct matmul_args *args, cudaStream_t stream)
{
    switch (args->variant) {
    case UNPADDED: return start<T, UNPADDED>(args, stream);
    case PADDED: return start<T, PADDED>(args, stream);
    default: return start<T, SWIZZLED>(args, stream);
    }
}

int launch(const struct matmul_args *args, cudaStream_t stream)
{
    if (!matmul_is_aligned(args, args->dtype, 16))
        return cudaErrorInvalidValue;
    return args->dtype == BF16 ? launch_of<__nv_bfloat16>(args, stream) : launch_of<half>(args, stream);
}

// [layout] For --layout: where a vector of the tile of A lies.
template <enum layout L>
static size_t A_offset(int row, int vector)
{
    return (row * (TILE_K + tiles<half, L>::PAD) + place<L>(row, vector * VECTOR)) * sizeof(half);
}

static void print_layout(int variant)
{
    size_t (*const offset[])(int row, int vector) = {A_offset<UNPADDED>, A_offset<PADDED>, A_offset<SWIZZLED>};
    const char *const tile[] = {"A unpadded", "A padded", "A swizzled"};
    layout_print(tile[variant], TILE_K / VECTOR, offset[variant]);
}

// [main]
static const struct variant variants[] = {
    {"unpadded", "rows of a tile follow one another: ldmatrix meets bank conflicts", BYTES<half, UNPADDED>},
    {"padded", "16 bytes between the rows: no conflicts of ldmatrix, but sectors that the copies share",
     BYTES<half, PADDED>},
    {"swizzled", "vectors change places within their row: no conflicts, and no bytes between", BYTES<half, SWIZZLED>},
    {},
};

int main(int argc, char **argv)
{
    const struct matmul_step step = {
        .name = "21_matmul_swizzle",
        .dtypes = {FP16, BF16},
        .arch = "80",
        .row_bytes = 16,
        .variants = variants,
        .launch = launch,
        .print_layout = print_layout,
    };
    return matmul_main(argc, argv, &step);
}

// C = A B with fragments loaded ahead: ldmatrix fetches the next slice's while the tensor cores multiply this slice's.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o matmul_fragments_ahead steps/22_matmul_fragments_ahead/matmul_fragments_ahead.cu common/*.c
//   ./learn run 22

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
constexpr int WARP_M = 64, WARP_N = 64;    // rows and columns of C that one warp computes
constexpr int MMA_M = 16, MMA_N = 8;       // rows and columns of C that one mma computes
constexpr int MMA_K = 16;                  // and the products that it sums for each of them
constexpr int PARTS = TILE_K / MMA_K;      // in which the copy of the next tiles is spread over the products of these
constexpr int ROWS = WARP_M / MMA_M, COLS = WARP_N / MMA_N;  // of a warp, in tiles of an mma
constexpr int WARPS = TILE_M / WARP_M * (TILE_N / WARP_N);
constexpr int THREADS = 32 * WARPS;  // in a block

// [tiles] A row begins at a multiple of 128 bytes, the width of all banks.
template <class T>
struct tiles {
    alignas(128) T A[TILE_M][TILE_K];  // [row][i]
    alignas(128) T B[TILE_K][TILE_N];  // [i][col]
};

// [swizzle] Within 128 bytes of a tile's row, vectors change places by the last three bits of the row's number.
__device__ constexpr int place(int row, int col) { return col ^ row % 8 * VECTOR; }

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
template <class T> __device__ int vector_bytes(int count) { return min(max(count, 0), VECTOR) * (int)sizeof(T); }

// [copy_part] A thread begins to copy its vectors in every PARTSth of its rows, from row part * STEP on. Of what lies
// outside of A and B nothing is read, and zeros are written.
template <class T>
__device__ void copy_part(struct tiles<T> *smem, const struct source<T> *from, int part, int A_pitch, int B_pitch)
{
    const int A_bytes = vector_bytes<T>(from->A_cols), B_bytes = vector_bytes<T>(from->B_cols);
    for (int y = part * A_STEP; y < TILE_M; y += PARTS * A_STEP)
        cp_async_16(&smem->A[A_row() + y][place(A_row(), A_col())], &from->A[(size_t)y * A_pitch],
                    y < from->A_rows ? A_bytes : 0);
    for (int y = part * B_STEP; y < TILE_K; y += PARTS * B_STEP)
        cp_async_16(&smem->B[B_row() + y][place(B_row(), B_col())], &from->B[(size_t)y * B_pitch],
                    y < from->B_rows ? B_bytes : 0);
}

// [load_fragments] The fragments of the slice from i on. Four matrices of 8 × 8 are a fragment of A, or two of B. B's are
// transposed on their way, because a register of a fragment of B holds two elements of a column.
template <class T>
__device__ void load_fragments(uint32_t a[][4], uint32_t b[][4], struct tiles<T> *smem, int row, int col, int i)
{
    // Lane l gives the address of row l % 16, in the left half of the columns or in the right.
    const int lane_row = threadIdx.x % 16, lane_col = threadIdx.x % 32 / 16 * 8;
    for (int y = 0; y < ROWS; y++)
        ldmatrix_x4(a[y], &smem->A[row + y * MMA_M + lane_row][place(lane_row, i + lane_col)]);
    for (int x = 0; x < COLS; x += 2)
        ldmatrix_x4_trans(b[x / 2], &smem->B[i + lane_row][place(lane_row, col + x * MMA_N + lane_col)]);
}

// [kernel]
template <class T, int STAGES>
__global__ void __launch_bounds__(THREADS)
    matmul_fragments_ahead(const T *A,  // [m, k]
                           const T *B,  // [k, n]
                           T *C,        // [m, n]
                           int m, int n, int k, int A_pitch, int B_pitch, int C_pitch)
{
    // [index] The first row and column of this warp's part of the block's tile.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (TILE_N / WARP_N) * WARP_M, col = warp % (TILE_N / WARP_N) * WARP_N;

    // [fragments] A warp's sums: 4 × 8 tiles of 16 × 8, of each of which a lane holds 4 elements.
    float sum[ROWS][COLS][4] = {};

    // [stages] Each stage holds a tile of A and one of B. The copies to all but one are begun before the loop.
    extern __shared__ uint4 memory[];
    struct tiles<T> *smem = (struct tiles<T> *)memory;  // [STAGES]
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

    // [first] Two sets of fragments: one is multiplied while the other is loaded. Nothing is multiplied under the first load.
    uint32_t a[2][ROWS][4], b[2][COLS / 2][4];
    cp_async_wait_group<STAGES - 2>();
    __syncthreads();  // both tiles are whole before any warp reads them
    load_fragments(a[0], b[0], &smem[0], row, col, 0);

    int stage = 0, target = STAGES - 1;  // the stage that is multiplied, and the one that is filled meanwhile
    for (int left = k; left > 0; left -= TILE_K) {
        const int next = stage + 1 < STAGES ? stage + 1 : 0;
#pragma unroll
        for (int part = 0; part < PARTS; part++) {
            // [ahead] The fragments of the slice after this one; in the last part, that is the first slice of the next tiles.
            const bool last = part == PARTS - 1;
            if (last) {
                cp_async_wait_group<STAGES - 3>();
                __syncthreads();  // the next tiles are whole before any warp reads them, and these were read by all warps
            }
            load_fragments(a[(part + 1) % 2], b[(part + 1) % 2], &smem[last ? next : stage], row, col,
                           last ? 0 : (part + 1) * MMA_K);

            // [copy] Behind the loads, because the next products wait for those.
            copy_part(&smem[target], &from, part, A_pitch, B_pitch);
            if (last)
                cp_async_commit_group();

            // [multiply] This slice's fragments were loaded under the products of the slice before it.
            for (int y = 0; y < ROWS; y++)
                for (int x = 0; x < COLS; x++)
                    mma_m16n8k16(sum[y][x], a[part % 2][y], &b[part % 2][x / 2][x % 2 * 2], T());
        }
        next_tiles(&from, B_pitch);
        target = stage;
        stage = next;
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
template <class T, int STAGES> constexpr int BYTES = STAGES * sizeof(struct tiles<T>);

template <class T, int STAGES>
static int start(const struct matmul_args *args, cudaStream_t stream)
{
    constexpr int bytes = BYTES<T, STAGES>;
    const auto kernel = matmul_fragments_ahead<T, STAGES>;
    const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (status != cudaSuccess)
        return status;
    const dim3 blocks(ceil_div(args->n, TILE_N), ceil_div(args->m, TILE_M));
    kernel<<<blocks, THREADS, bytes, stream>>>((const T *)args->A, (const T *)args->B, (T *)args->C, args->m, args->n,
                                               args->k, args->A_pitch, args->B_pitch, args->C_pitch);
    return cudaGetLastError();
}

template <class T>
static int launch_of(const struct matmul_args *args, cudaStream_t stream)
{
    return args->variant == 0 ? start<T, 3>(args, stream) : start<T, 4>(args, stream);
}

int launch(const struct matmul_args *args, cudaStream_t stream)
{
    if (!matmul_is_aligned(args, args->dtype, 16))
        return cudaErrorInvalidValue;
    return args->dtype == BF16 ? launch_of<__nv_bfloat16>(args, stream) : launch_of<half>(args, stream);
}

// [main]
static const struct variant variants[] = {
    {"three_stages", "the next slice's fragments are loaded under this slice's products", BYTES<half, 3>},
    {"four_stages", "the same, and the copies of a tile have one tile's products longer to arrive", BYTES<half, 4>},
    {},
};

int main(int argc, char **argv)
{
    const struct matmul_step step = {
        .name = "22_matmul_fragments_ahead",
        .dtypes = {FP16, BF16},
        .arch = "80",
        .row_bytes = 16,
        .variants = variants,
        .launch = launch,
    };
    return matmul_main(argc, argv, &step);
}

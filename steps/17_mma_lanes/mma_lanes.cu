// C = A B, a warp for each tile of 16 × 8, by one instruction: mma.sync.m16n8k16, of which each lane holds its share.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o mma_lanes steps/17_mma_lanes/mma_lanes.cu common/*.c
//   ./learn run 17

#include "matmul.h"
#include "ptx/ldmatrix.h"
#include "ptx/mma.h"

#include <cuda_fp16.h>

constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;  // C is [16, 8], A is [16, 16], B is [16, 8]
constexpr int VECTOR = 8;                         // elements in 16 bytes

// [element] An element of a matrix of so many rows and columns; outside of it, 0.
__device__ half element(const half *matrix, int row, int col, int rows, int cols, int pitch)
{
    return row < rows && col < cols ? matrix[(size_t)row * pitch + col] : half(0);
}

// [pair] Two elements share a register: the first is in its lower half.
__device__ uint32_t pair(half first, half second)
{
    alignas(4) const half both[2] = {first, second};
    return *(const uint32_t *)both;
}

// [vector] Eight elements of a row, those outside of the matrix as 0.
__device__ uint4 vector(const half *matrix, int row, int col, int rows, int cols, int pitch)
{
    if (row < rows && col + VECTOR <= cols)
        return *(const uint4 *)&matrix[(size_t)row * pitch + col];
    alignas(16) half v[VECTOR];
    for (int i = 0; i < VECTOR; i++)
        v[i] = element(matrix, row, col + i, rows, cols, pitch);
    return *(const uint4 *)v;
}

// [store] A lane's four sums: two neighbours in row l / 4 of the tile, and two in row l / 4 + 8.
__device__ void store(half *C,  // [m, n]
                      const float sum[4], int first_row, int first_col, int m, int n, int C_pitch)
{
    const int lane = threadIdx.x;
    for (int i = 0; i < 4; i++) {
        const int row = first_row + lane / 4 + i / 2 * 8, col = first_col + lane % 4 * 2 + i % 2;
        if (row < m && col < n)
            C[(size_t)row * C_pitch + col] = half(sum[i]);
    }
}

// [registers] Each lane loads the elements that the instruction wants of it, one by one.
template <bool B_transposed>
__global__ void mma_registers(const half *A,  // [m, k]
                              const half *B,  // [k, n], or transposed [n, k]
                              half *C,        // [m, n]
                              int m, int n, int k, int A_pitch, int B_pitch, int C_pitch)
{
    const int quad = threadIdx.x / 4, place = threadIdx.x % 4 * 2;
    const int tiles = (n - 1) / MMA_N + 1;  // in a row of C
    const int first_row = blockIdx.x / tiles * MMA_M, first_col = blockIdx.x % tiles * MMA_N;
    float sum[4] = {};
    for (int tile = 0; tile < k; tile += MMA_K) {
        // [pairs_of_A] Four pairs of neighbours in a row: in row l / 4 or the eighth below it, in the left half of A or the right.
        uint32_t a[4], b[2];
        for (int i = 0; i < 4; i++) {
            // [a]
            const int row = first_row + quad + i % 2 * 8, col = tile + place + i / 2 * 8;
            // [end a]
            a[i] = pair(element(A, row, col, m, k, A_pitch), element(A, row, col + 1, m, k, A_pitch));
        }
        // [pairs_of_B] Two pairs of neighbours in a column: in column l / 4, in the upper half of B or the lower.
        for (int i = 0; i < 2; i++) {
            // [b]
            const int row = tile + place + i * 8, col = first_col + quad;
            // [end b]
            if (B_transposed)
                b[i] = pair(element(B, col, row, n, k, B_pitch), element(B, col, row + 1, n, k, B_pitch));
            else
                b[i] = pair(element(B, row, col, k, n, B_pitch), element(B, row + 1, col, k, n, B_pitch));
        }
        mma_m16n8k16(sum, a, b, half());
    }
    store(C, sum, first_row, first_col, m, n, C_pitch);
}

// [ldmatrix] The tiles lie in shared memory, row by row, and ldmatrix hands each lane its pairs.
template <bool B_transposed>
__global__ void mma_ldmatrix(const half *A,  // [m, k]
                             const half *B,  // [k, n], or transposed [n, k]
                             half *C,        // [m, n]
                             int m, int n, int k, int A_pitch, int B_pitch, int C_pitch)
{
    const int lane = threadIdx.x, tiles = (n - 1) / MMA_N + 1;  // in a row of C
    const int first_row = blockIdx.x / tiles * MMA_M, first_col = blockIdx.x % tiles * MMA_N;
    __shared__ alignas(16) half A_smem[MMA_M][MMA_K];
    __shared__ alignas(16) half B_smem[B_transposed ? MMA_N : MMA_K][B_transposed ? MMA_K : MMA_N];
    float sum[4] = {};
    for (int tile = 0; tile < k; tile += MMA_K) {
        // [tiles] A's tile is 32 vectors, one for each lane; B's is 16, one for each of the first 16 lanes.
        *(uint4 *)&A_smem[lane / 2][lane % 2 * VECTOR] = vector(A, first_row + lane / 2, tile + lane % 2 * VECTOR, m, k,
                                                                A_pitch);
        if (B_transposed && lane < 16)
            *(uint4 *)&B_smem[lane / 2][lane % 2 * VECTOR] = vector(B, first_col + lane / 2, tile + lane % 2 * VECTOR,
                                                                    n, k, B_pitch);
        else if (lane < 16)
            *(uint4 *)&B_smem[lane][0] = vector(B, tile + lane, first_col, k, n, B_pitch);
        // [barrier]
        __syncwarp();  // both tiles are whole before any lane reads them
        // [end barrier]

        // [load] Lane l gives the address of one row of eight elements. A pair has to be two neighbours in a column of B: as B
        // is stored row by row, its matrices are transposed on their way; where B is stored transposed, they are not.
        uint32_t a[4], b[2];
        ldmatrix_x4(a, &A_smem[lane % 16][lane / 16 * 8]);
        if (B_transposed)
            ldmatrix_x2(b, &B_smem[lane % 8][lane / 8 % 2 * 8]);
        else
            ldmatrix_x2_trans(b, &B_smem[lane % 16][0]);
        // [multiply]
        mma_m16n8k16(sum, a, b, half());
        // [end multiply]
        __syncwarp();  // every lane has its pairs before the next tiles replace these
    }
    store(C, sum, first_row, first_col, m, n, C_pitch);
}

// [launch]
enum { REGISTERS, LDMATRIX };

int launch(const struct matmul_args *args, cudaStream_t stream)
{
    if (!matmul_rows_are_aligned(args, FP16, 16))
        return cudaErrorInvalidValue;
    const half *A = (const half *)args->A, *B = (const half *)args->B;
    half *C = (half *)args->C;
    const int blocks = ceil_div(args->m, MMA_M) * ceil_div(args->n, MMA_N);
    const auto by_lane = args->B_transposed ? mma_registers<true> : mma_registers<false>;
    const auto by_row = args->B_transposed ? mma_ldmatrix<true> : mma_ldmatrix<false>;
    const auto kernel = args->variant == REGISTERS ? by_lane : by_row;
    kernel<<<blocks, 32, 0, stream>>>(A, B, C, args->m, args->n, args->k, args->A_pitch, args->B_pitch, args->C_pitch);
    return cudaGetLastError();
}

// [main]
static const struct variant variants[] = {
    {"registers", "each lane loads its elements of A and B from global memory, one by one"},
    {"ldmatrix", "tiles in shared memory, from which ldmatrix hands each lane its elements"},
    {},
};

int main(int argc, char **argv)
{
    const struct matmul_step step = {
        .name = "17_mma_lanes",
        .dtypes = {FP16},
        .arch = "80",
        .row_bytes = 16,
        .B_transposed = true,
        .variants = variants,
        .launch = launch,
    };
    return matmul_main(argc, argv, &step);
}

// C = A Bᵀ on the tensor cores, where B lies in memory as [n, k]: each warp computes 16 × 16 elements of C.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o b_transposed steps/14_matmul_wmma/exercises/b_transposed.cu common/*.c
//   ./b_transposed --b-transposed

#include "matmul.h"

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int FRAGMENT = 16;              // rows and columns of a fragment, and of the tiles
constexpr int VECTOR = 8;                 // elements in 16 bytes
constexpr int PITCH = FRAGMENT + VECTOR;  // elements from one row of a tile to the next

// [load_vector] A vector of which `count` elements are in the matrix. The others count as 0: they may be NaN in memory.
__device__ uint4 load_vector(const half *from, int count)
{
    alignas(16) half v[VECTOR] = {};
    for (int i = 0; i < VECTOR; i++)
        if (i < count)
            v[i] = from[i];
    return *(const uint4 *)v;
}

// [kernel]
__global__ void matmul_b_transposed(const half *A,  // [m, k]
                                    const half *B,  // [n, k]
                                    half *C,        // [m, n]
                                    int m, int n, int k, int A_pitch, int B_pitch, int C_pitch)
{
    // [index] Two lanes share a row of either tile. A lane loads and stores eight neighbours.
    const int lane = threadIdx.x, lane_row = lane / 2, lane_col = lane % 2 * VECTOR;
    const int row = blockIdx.y * FRAGMENT + lane_row, col = blockIdx.x * FRAGMENT;

    // [tiles] Both tiles are 16 rows of a matrix as they lie in memory.
    __shared__ alignas(32) half A_smem[FRAGMENT][PITCH];  // [row][i]
    __shared__ alignas(32) half B_smem[FRAGMENT][PITCH];  // [col][i]
    wmma::fragment<wmma::accumulator, FRAGMENT, FRAGMENT, FRAGMENT, float> sum;
    wmma::fill_fragment(sum, 0);
    for (int tile = 0; tile < k; tile += FRAGMENT) {
        const int i = tile + lane_col, B_row = col + lane_row;
        *(uint4 *)&A_smem[lane_row][lane_col] = load_vector(&A[(size_t)row * A_pitch + i], row < m ? k - i : 0);
        *(uint4 *)&B_smem[lane_row][lane_col] = load_vector(&B[(size_t)B_row * B_pitch + i], B_row < n ? k - i : 0);
        __syncwarp();  // both tiles are whole before any lane reads them

        // [product]
        wmma::fragment<wmma::matrix_a, FRAGMENT, FRAGMENT, FRAGMENT, half, wmma::row_major> a;
        wmma::fragment<wmma::matrix_b, FRAGMENT, FRAGMENT, FRAGMENT, half, wmma::col_major> b;
        wmma::load_matrix_sync(a, &A_smem[0][0], PITCH);
        wmma::load_matrix_sync(b, &B_smem[0][0], PITCH);
        wmma::mma_sync(sum, a, b, sum);
        // [end product]
        __syncwarp();  // every lane has read both tiles before the next two replace them
    }

    // [store] The sums go through shared memory, where each lane finds eight neighbours.
    __shared__ alignas(32) float C_smem[FRAGMENT][FRAGMENT];
    wmma::store_matrix_sync(&C_smem[0][0], sum, FRAGMENT, wmma::mem_row_major);
    __syncwarp();  // the sums are whole before any lane reads them
    for (int i = 0; i < VECTOR; i++)
        if (row < m && col + lane_col + i < n)
            C[(size_t)row * C_pitch + col + lane_col + i] = half(C_smem[lane_row][lane_col + i]);
}

// [launch]
int launch(const struct matmul_args *args, cudaStream_t stream)
{
    if (!args->B_transposed || !matmul_rows_are_aligned(args, FP16, 16))
        return cudaErrorInvalidValue;
    const dim3 blocks(ceil_div(args->n, FRAGMENT), ceil_div(args->m, FRAGMENT));
    matmul_b_transposed<<<blocks, 32, 0, stream>>>((const half *)args->A, (const half *)args->B, (half *)args->C,
                                                   args->m, args->n, args->k, args->A_pitch, args->B_pitch,
                                                   args->C_pitch);
    return cudaGetLastError();
}

// [main]
static const struct variant variants[] = {
    {"b_transposed", "the fragments of B are loaded column by column, and nothing is transposed"},
    {},
};

int main(int argc, char **argv)
{
    const struct matmul_step step = {
        .name = "14_matmul_wmma",
        .dtypes = {FP16},
        .arch = "75",
        .row_bytes = 16,
        .B_transposed = true,
        .variants = variants,
        .launch = launch,
    };
    return matmul_main(argc, argv, &step);
}

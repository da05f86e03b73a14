// One warp multiplies tiles of A and B slice by slice, and counts how many slices were loaded under the products before them.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o ahead steps/22_matmul_fragments_ahead/exercises/ahead.cu common/*.c
//   ./ahead -k 100

#include "exit.h"
#include "program.h"
#include "ptx/ldmatrix.h"
#include "ptx/mma.h"
#include "random.h"
#include "step.h"

#include <cuda_fp16.h>
#include <stdio.h>
#include <stdlib.h>

constexpr int TILE_M = 32, TILE_N = 32;           // rows and columns of C, which one warp computes
constexpr int MOST_K = 256;                       // columns of A, rows of B
constexpr int PAD = 8;                            // elements between the rows of a tile
constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;  // what one mma computes; a slice is MMA_K deep
constexpr int ROWS = TILE_M / MMA_M, COLS = TILE_N / MMA_N;
constexpr int LARGEST = 8;  // of the elements, which are whole numbers: so sums are exact

// [tiles] Both tiles are in shared memory before the first slice is loaded.
struct tiles {
    alignas(16) half A[TILE_M][MOST_K + PAD];  // [row][i]
    alignas(16) half B[MOST_K][TILE_N + PAD];  // [i][col]
};

struct fragments {
    uint32_t a[ROWS][4], b[COLS / 2][4];
    int number;  // of the load that filled them, from 1 on
};

// What the warp has done: its loads, and those of its products that began behind a later load.
struct count {
    int loads, overlapped;
};

// [load] The fragments of a slice: 16 columns of A, 16 rows of B.
__device__ void load_fragments(struct fragments *to, const struct tiles *smem, int slice, struct count *count)
{
    const int lane_row = threadIdx.x % 16, lane_col = threadIdx.x / 16 * 8, i = slice * MMA_K;
    for (int y = 0; y < ROWS; y++)
        ldmatrix_x4(to->a[y], &smem->A[y * MMA_M + lane_row][i + lane_col]);
    for (int x = 0; x < COLS; x += 2)
        ldmatrix_x4_trans(to->b[x / 2], &smem->B[i + lane_row][x * MMA_N + lane_col]);
    to->number = ++count->loads;
}

// [products] Of the slice whose fragments these are.
__device__ void multiply(float sum[ROWS][COLS][4], const struct fragments *from, struct count *count)
{
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < COLS; x++)
            mma_m16n8k16(sum[y][x], from->a[y], &from->b[x / 2][x % 2 * 2], half());
    count->overlapped += from->number < count->loads;
}

// [kernel]
__global__ void multiply_ahead(const half *A,    // [TILE_M, MOST_K]; zeros from column k on
                               const half *B,    // [MOST_K, TILE_N]; zeros from row k on
                               float *C,         // [TILE_M, TILE_N]
                               int *overlapped,  // products of slices that began behind the next slice's load
                               int k)
{
    __shared__ struct tiles smem;
    for (int i = threadIdx.x; i < TILE_M * MOST_K; i += 32)
        smem.A[i / MOST_K][i % MOST_K] = A[i];
    for (int i = threadIdx.x; i < MOST_K * TILE_N; i += 32)
        smem.B[i / TILE_N][i % TILE_N] = B[i];
    __syncwarp();  // both tiles are whole before any lane reads them

    // [loop] The slices of the tiles, each once.
    const int slices = (k + MMA_K - 1) / MMA_K;
    float sum[ROWS][COLS][4] = {};
    struct fragments set[2];
    struct count count = {};
    // [ahead]
    load_fragments(&set[0], &smem, 0, &count);
    for (int slice = 0; slice < slices; slice++) {
        if (slice + 1 < slices)
            load_fragments(&set[(slice + 1) % 2], &smem, slice + 1, &count);
        multiply(sum, &set[slice % 2], &count);
    }
    // [end ahead]

    // [store] Lane l holds two neighbours in row l / 4 of each tile of 16 × 8, and two in row l / 4 + 8.
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < COLS; x++)
            for (int i = 0; i < 4; i++) {
                const int row = y * MMA_M + threadIdx.x / 4 + i / 2 * 8, col = x * MMA_N + threadIdx.x % 4 * 2 + i % 2;
                C[row * TILE_N + col] = sum[y][x][i];
            }
    if (threadIdx.x == 0)
        *overlapped = count.overlapped;
}

// [main]
static int element(uint64_t seed, int matrix, int at)
{
    return (int)(random_bits(seed, matrix, at) % (2 * LARGEST + 1)) - LARGEST;
}

static int check(uint64_t seed, const float *C, int k)
{
    for (int row = 0; row < TILE_M; row++)
        for (int col = 0; col < TILE_N; col++) {
            int wanted = 0;
            for (int i = 0; i < k; i++)
                wanted += element(seed, 0, row * MOST_K + i) * element(seed, 1, i * TILE_N + col);
            if (C[row * TILE_N + col] != (float)wanted) {
                printf("WRONG: C[%d, %d] is %g, should be %d\n", row, col, C[row * TILE_N + col], wanted);
                return EXIT_WRONG;
            }
        }
    return EXIT_RIGHT;
}

static int check_overlap(int overlapped, int slices)
{
    if (overlapped >= slices) {
        printf("WRONG: loads in front of products: %d, should be %d: nothing is to be loaded behind the last slice\n",
               overlapped, slices - 1);
        return EXIT_WRONG;
    }
    if (overlapped != slices - 1) {
        printf(
            "WRONG: %d of %d slices were loaded in front of the products of the slice before them, should be %d: while those "
            "products run, the next slice's loads are not under way\n",
            overlapped, slices, slices - 1);
        return EXIT_WRONG;
    }
    printf(
        "right: C is exact, and all slices but the first were loaded in front of the products of the slice before them\n");
    return EXIT_RIGHT;
}

int main(int argc, char **argv)
{
    struct number numbers[] = {{"k", "columns of A, rows of B", 100, 1, MOST_K}, {}};
    const struct program program = program_begin(argc, argv, "C = A B by one warp, slice by slice.", numbers);
    const int k = numbers[0].value;

    struct {
        float C[TILE_M * TILE_N];
        int overlapped;
    } result;
    half *A, *B, *host_A = (half *)calloc(TILE_M * MOST_K, sizeof(half)),
                 *host_B = (half *)calloc(MOST_K * TILE_N, sizeof(half));
    for (int i = 0; i < TILE_M * MOST_K; i++)
        if (i % MOST_K < k)
            host_A[i] = __float2half(element(program.seed, 0, i));
    for (int i = 0; i < MOST_K * TILE_N; i++)
        if (i / TILE_N < k)
            host_B[i] = __float2half(element(program.seed, 1, i));
    float *C;
    int *overlapped;
    CUDA(cudaMalloc(&A, TILE_M * MOST_K * sizeof(half)));
    CUDA(cudaMalloc(&B, MOST_K * TILE_N * sizeof(half)));
    CUDA(cudaMalloc(&C, sizeof result.C));
    CUDA(cudaMalloc(&overlapped, sizeof result.overlapped));
    CUDA(cudaMemcpy(A, host_A, TILE_M * MOST_K * sizeof(half), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(B, host_B, MOST_K * TILE_N * sizeof(half), cudaMemcpyHostToDevice));
    CUDA(cudaMemset(C, 0xff, sizeof result.C));  // what is never stored stays a NaN

    multiply_ahead<<<1, 32>>>(A, B, C, overlapped, k);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(result.C, C, sizeof result.C, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(&result.overlapped, overlapped, sizeof result.overlapped, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(A));
    CUDA(cudaFree(B));
    CUDA(cudaFree(C));
    CUDA(cudaFree(overlapped));
    free(host_A);
    free(host_B);

    program_output(&program, &result, sizeof result);
    int status = check(program.seed, result.C, k);
    if (status == EXIT_RIGHT)
        status = check_overlap(result.overlapped, ceil_div(k, MMA_K));
    return program_end(&program, status);
}

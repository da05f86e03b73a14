// S = Q Kᵀ by wgmma, for 64 queries and 32 keys of up to 32 elements: both operands are K-major, swizzled by 64 bytes.
//
//   nvcc -O3 -std=c++20 -gencode=arch=compute_90a,code=sm_90a -Icommon -o scores steps/38_matmul_wgmma/exercises/scores.cu common/*.c

#include "exit.h"
#include "program.h"
#include "ptx/mbarrier.h"
#include "ptx/tensor.h"
#include "ptx/wgmma.h"
#include "random.h"
#include "step.h"
#include "tensor_map.h"

#include <cuda_fp16.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

constexpr int THREADS = 128;            // a warpgroup
constexpr int QUERIES = 64, KEYS = 32;  // rows and columns of S
constexpr int MOST_DIM = 32;            // columns of Q and of K, 64 bytes
constexpr int WGMMA_K = 16, MMA_N = 8;  // columns of Q in a product, and columns of S in a tile of a warp's sums
constexpr int COLS = KEYS / MMA_N;
constexpr int LARGEST = 8;  // of the elements, which are whole numbers: so sums are exact

// [tiles] In rows of 64 bytes, of which the swizzle exchanges the four vectors.
struct tiles {
    alignas(1024) half Q[QUERIES][MOST_DIM];
    alignas(1024) half K[KEYS][MOST_DIM];
};

// [describe] The descriptor of columns i to i + 15 of a tile in such rows, whose first byte is at `address` in shared memory.
__device__ uint64_t describe(uint32_t address, int i)
{
    // [bits]
    const uint64_t start = address + i * sizeof(half), stride = 8 * MOST_DIM * sizeof(half), swizzle = 2;
    return start >> 4 | stride >> 4 << 32 | swizzle << 62;
    // [end bits]
}

// [product] wgmma.mma_async.sync.aligned.m64n32k16 (PTX ISA, "wgmma.mma_async"): sum += A B, where A is [64, 16] and B [16, 32], both
// K-major.
__device__ __forceinline__ void wgmma_m64n32k16(float sum[COLS][4], uint64_t a, uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, %16, %17, 1, 1, 1, 0, 0;"
                 : "+f"(sum[0][0]), "+f"(sum[0][1]), "+f"(sum[0][2]), "+f"(sum[0][3]), "+f"(sum[1][0]), "+f"(sum[1][1]),
                   "+f"(sum[1][2]), "+f"(sum[1][3]), "+f"(sum[2][0]), "+f"(sum[2][1]), "+f"(sum[2][2]), "+f"(sum[2][3]),
                   "+f"(sum[3][0]), "+f"(sum[3][1]), "+f"(sum[3][2]), "+f"(sum[3][3])
                 : "l"(a), "l"(b));
}

// [kernel]
__global__ void __launch_bounds__(THREADS) scores(const __grid_constant__ CUtensorMap Q_map,  // of Q [QUERIES, dim]
                                                  const __grid_constant__ CUtensorMap K_map,  // of K [KEYS, dim]
                                                  float *S)                                   // [QUERIES, KEYS]
{
    __shared__ struct tiles smem;
    __shared__ uint64_t full;  // barrier: its phase is over when all bytes of both tiles are there
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // the barrier is made before any thread waits at it
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect_tx(&full, sizeof smem);
        tensor_load_2d(smem.Q, &Q_map, 0, 0, &full);
        tensor_load_2d(smem.K, &K_map, 0, 0, &full);
    }
    mbarrier_wait_parity(&full, 0);

    // [products] Both slices of the tiles, in one group.
    const uint32_t Q = __cvta_generic_to_shared(smem.Q), K = __cvta_generic_to_shared(smem.K);
    float sum[COLS][4] = {};
    wgmma_fence();
    for (int i = 0; i < MOST_DIM; i += WGMMA_K)
        wgmma_m64n32k16(sum, describe(Q, i), describe(K, i));
    wgmma_commit_group();
    wgmma_wait_group<0>(sum);

    // [store] Lane l holds two neighbours in row l / 4 of each tile of 16 × 8, and two in row l / 4 + 8.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int x = 0; x < COLS; x++)
        for (int j = 0; j < 4; j++)
            S[(warp * 16 + lane / 4 + j / 2 * 8) * KEYS + x * MMA_N + lane % 4 * 2 + j % 2] = sum[x][j];
}

// [main]
static int element(uint64_t seed, int matrix, int row, int col)
{
    return (int)(random_bits(seed, matrix, (uint64_t)row * MOST_DIM + col) % (2 * LARGEST + 1)) - LARGEST;
}

static int check(uint64_t seed, const float *S, int dim)
{
    for (int query = 0; query < QUERIES; query++)
        for (int key = 0; key < KEYS; key++) {
            int wanted = 0;
            for (int i = 0; i < dim; i++)
                wanted += element(seed, 0, query, i) * element(seed, 1, key, i);
            if (S[query * KEYS + key] != (float)wanted) {
                printf("WRONG: the score of query %d and key %d is %g, should be %d\n", query, key,
                       S[query * KEYS + key], wanted);
                return EXIT_WRONG;
            }
        }
    printf("right: %d scores are exact\n", QUERIES * KEYS);
    return EXIT_RIGHT;
}

// A matrix of so many rows on the device, in rows of MOST_DIM elements; what stands behind column dim is no part of it.
static half *make_matrix(uint64_t seed, int matrix, int rows, int dim)
{
    half host[QUERIES][MOST_DIM], *device;
    for (int row = 0; row < rows; row++)
        for (int col = 0; col < MOST_DIM; col++)
            host[row][col] = __float2half(col < dim ? (float)element(seed, matrix, row, col) : NAN);
    CUDA(cudaMalloc(&device, rows * sizeof host[0]));
    CUDA(cudaMemcpy(device, host, rows * sizeof host[0], cudaMemcpyHostToDevice));
    return device;
}

int main(int argc, char **argv)
{
    struct number numbers[] = {{"dim", "columns of Q and of K", MOST_DIM, 1, MOST_DIM}, {}};
    const struct program program = program_begin(argc, argv, "Scores of queries and keys, checked one by one.",
                                                 numbers);
    const int dim = numbers[0].value;

    const size_t bytes = QUERIES * KEYS * sizeof(float);
    half *Q = make_matrix(program.seed, 0, QUERIES, dim), *K = make_matrix(program.seed, 1, KEYS, dim);
    float *S, *host_S = (float *)malloc(bytes);
    CUDA(cudaMalloc(&S, bytes));
    CUDA(cudaMemset(S, 0xff, bytes));  // what is never stored stays a NaN

    CUtensorMap Q_map, K_map;
    CUDA((cudaError_t)tensor_map_2d(&Q_map, FP16, Q, QUERIES, dim, MOST_DIM, QUERIES, MOST_DIM,
                                    CU_TENSOR_MAP_SWIZZLE_64B));
    CUDA((cudaError_t)tensor_map_2d(&K_map, FP16, K, KEYS, dim, MOST_DIM, KEYS, MOST_DIM, CU_TENSOR_MAP_SWIZZLE_64B));
    scores<<<1, THREADS>>>(Q_map, K_map, S);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(host_S, S, bytes, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(Q));
    CUDA(cudaFree(K));
    CUDA(cudaFree(S));

    program_output(&program, host_S, bytes);
    const int status = check(program.seed, host_S, dim);
    free(host_S);
    return program_end(&program, status);
}

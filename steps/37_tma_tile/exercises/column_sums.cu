// The sum of each column of a matrix: a block adds up 32 columns, of which it loads box after box.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o column_sums steps/37_tma_tile/exercises/column_sums.cu common/*.c

#include "exit.h"
#include "program.h"
#include "ptx/mbarrier.h"
#include "ptx/tensor.h"
#include "random.h"
#include "step.h"
#include "tensor_map.h"

#include <stdio.h>
#include <stdlib.h>

constexpr int ROWS = 64, COLS = 32;     // of a box
constexpr int VECTOR = 4;               // elements in 16 bytes
constexpr int VECTORS = COLS / VECTOR;  // in a row of a box
constexpr int THREADS = 32 * VECTORS;   // a warp for each of them
constexpr int LARGEST = 1000;           // of the elements, which are whole numbers: so sums are exact
constexpr int MOST = 4096;              // rows, or columns

// [kernel]
__global__ void column_sums(const __grid_constant__ CUtensorMap map,  // of x [rows, cols], swizzled by 128 bytes
                            float *sums,                              // [cols]
                            int rows, int cols)
{
    __shared__ alignas(1024) float4 box[ROWS * VECTORS];
    __shared__ uint64_t full;
    const int vector = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // the barrier is made before any thread waits at it

    // [loop]
    float4 sum = make_float4(0, 0, 0, 0);
    int parity = 0;
    for (int first = 0; first < rows; first += ROWS) {
        if (threadIdx.x == 0) {
            mbarrier_arrive_expect_tx(&full, sizeof box);
            tensor_load_2d(box, &map, first, blockIdx.x * COLS, &full);
        }
        mbarrier_wait_parity(&full, parity);
        for (int row = lane; row < ROWS; row += 32) {
            // [place]
            const float4 x = box[row * VECTORS + (vector ^ row % VECTORS)];
            // [end place]
            sum = make_float4(sum.x + x.x, sum.y + x.y, sum.z + x.z, sum.w + x.w);
        }
        __syncthreads();  // every thread has read the box before the next one replaces it
        parity = 1 - parity;
    }

    // [store]
    const float sums_of_lane[VECTOR] = {sum.x, sum.y, sum.z, sum.w};
    for (int i = 0; i < VECTOR; i++) {
        float all = sums_of_lane[i];
        for (int offset = 16; offset > 0; offset /= 2)
            all += __shfl_down_sync(0xffffffff, all, offset);
        const int col = blockIdx.x * COLS + vector * VECTOR + i;
        if (lane == 0 && col < cols)
            sums[col] = all;
    }
}

// [main]
static int element(uint64_t seed, int row, int col)
{
    return (int)(random_bits(seed, 0, (uint64_t)row * MOST + col) % (2 * LARGEST + 1)) - LARGEST;
}

static int check(uint64_t seed, const float *sums, int rows, int cols)
{
    for (int col = 0; col < cols; col++) {
        int wanted = 0;
        for (int row = 0; row < rows; row++)
            wanted += element(seed, row, col);
        if (sums[col] != (float)wanted) {
            printf("WRONG: the sum of column %d is %g, should be %d\n", col, sums[col], wanted);
            return EXIT_WRONG;
        }
    }
    printf("right: the sums of %d columns of %d elements are exact\n", cols, rows);
    return EXIT_RIGHT;
}

int main(int argc, char **argv)
{
    struct number numbers[] = {{"rows", "rows", 150, 1, MOST}, {"cols", "columns", 70, 1, MOST}, {}};
    const struct program program = program_begin(argc, argv, "The sum of each column, checked one by one.", numbers);
    const int rows = numbers[0].value, cols = numbers[1].value;

    // Rows begin at multiples of 16 bytes.
    const int pitch = ceil_div(cols, VECTOR) * VECTOR;
    const size_t bytes = (size_t)rows * pitch * sizeof(float), sum_bytes = cols * sizeof(float);
    float *host = (float *)calloc(1, bytes), *host_sums = (float *)malloc(sum_bytes), *x, *sums;
    for (int row = 0; row < rows; row++)
        for (int col = 0; col < cols; col++)
            host[(size_t)row * pitch + col] = (float)element(program.seed, row, col);
    CUDA(cudaMalloc(&x, bytes));
    CUDA(cudaMalloc(&sums, sum_bytes));
    CUDA(cudaMemcpy(x, host, bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemset(sums, 0xff, sum_bytes));  // what is never stored stays a NaN

    CUtensorMap map;
    CUDA((cudaError_t)tensor_map_2d(&map, FP32, x, rows, cols, pitch, ROWS, COLS, CU_TENSOR_MAP_SWIZZLE_128B));
    column_sums<<<ceil_div(cols, COLS), THREADS>>>(map, sums, rows, cols);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(host_sums, sums, sum_bytes, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(x));
    CUDA(cudaFree(sums));

    program_output(&program, host_sums, sum_bytes);
    const int status = check(program.seed, host_sums, rows, cols);
    free(host);
    free(host_sums);
    return program_end(&program, status);
}

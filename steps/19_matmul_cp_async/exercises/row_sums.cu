// The sum of each row of a matrix, a warp for each row: every lane copies ahead the vectors that it adds up itself.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o row_sums steps/19_matmul_cp_async/exercises/row_sums.cu common/*.c

#include "exit.h"
#include "program.h"
#include "ptx/cp_async.h"
#include "random.h"
#include "step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

constexpr int WARPS = 4;  // of a block
constexpr int THREADS = 32 * WARPS;
constexpr int VECTOR = 4;           // elements in 16 bytes
constexpr int STRIP = 32 * VECTOR;  // columns that a warp adds up in a pass
constexpr int STAGES = 4;           // strips in shared memory: that of this pass, and those under way
constexpr int LARGEST = 1000;       // of the elements, which are whole numbers: so sums are exact
constexpr int MOST = 4096;          // rows, or columns

// [kernel]
__global__ void row_sums(const float *x,  // [rows, cols]
                         float *sums,     // [rows]
                         int rows, int cols, int pitch)
{
    const int lane = threadIdx.x % 32, row = blockIdx.x * WARPS + threadIdx.x / 32;
    __shared__ float4 ring[STAGES][THREADS];  // a vector for each thread in each stage

    // [ahead] This lane's vector of the next strip, and how many elements there are from it to the row's end.
    const float *from = &x[(size_t)row * pitch + lane * VECTOR];
    int left = row < rows ? cols - lane * VECTOR : 0;
    for (int ahead = 0; ahead < STAGES - 1; ahead++) {
        cp_async_16(&ring[ahead][threadIdx.x], from, min(max(left, 0), VECTOR) * (int)sizeof(float));
        cp_async_commit_group();
        from += STRIP;
        left -= STRIP;
    }

    // [loop]
    float sum = 0;
    int stage = 0, target = STAGES - 1;
    for (int col = 0; col < cols; col += STRIP) {
        // [pass]
        cp_async_16(&ring[target][threadIdx.x], from, min(max(left, 0), VECTOR) * (int)sizeof(float));
        cp_async_commit_group();
        cp_async_wait_group<STAGES - 1>();
        const float4 v = ring[stage][threadIdx.x];
        sum += (v.x + v.y) + (v.z + v.w);
        // [end pass]
        from += STRIP;
        left -= STRIP;
        target = stage;
        stage = (stage + 1) % STAGES;
    }

    // [store]
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (lane == 0 && row < rows)
        sums[row] = sum;
}

// [main]
static int element(uint64_t seed, int row, int col)
{
    return (int)(random_bits(seed, 0, (uint64_t)row * MOST + col) % (2 * LARGEST + 1)) - LARGEST;
}

static int check(uint64_t seed, const float *sums, int rows, int cols)
{
    for (int row = 0; row < rows; row++) {
        int wanted = 0;
        for (int col = 0; col < cols; col++)
            wanted += element(seed, row, col);
        if (sums[row] != (float)wanted) {
            printf("WRONG: the sum of row %d is %g, should be %d\n", row, sums[row], wanted);
            return EXIT_WRONG;
        }
    }
    printf("right: the sums of %d rows of %d elements are exact\n", rows, cols);
    return EXIT_RIGHT;
}

int main(int argc, char **argv)
{
    struct number numbers[] = {{"rows", "rows", 9, 1, MOST}, {"cols", "columns", 1030, 1, MOST}, {}};
    const struct program program = program_begin(argc, argv, "The sum of each row, checked one by one.", numbers);
    const int rows = numbers[0].value, cols = numbers[1].value;

    // Rows begin at multiples of 16 bytes. What lies between them is NaN, and counts in no sum.
    const int pitch = ceil_div(cols, VECTOR) * VECTOR;
    const size_t bytes = (size_t)rows * pitch * sizeof(float), sum_bytes = rows * sizeof(float);
    float *host = (float *)malloc(bytes), *host_sums = (float *)malloc(sum_bytes), *x, *sums;
    for (int row = 0; row < rows; row++)
        for (int col = 0; col < pitch; col++)
            host[(size_t)row * pitch + col] = col < cols ? (float)element(program.seed, row, col) : NAN;
    CUDA(cudaMalloc(&x, bytes));
    CUDA(cudaMalloc(&sums, sum_bytes));
    CUDA(cudaMemcpy(x, host, bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemset(sums, 0xff, sum_bytes));  // what is never stored stays a NaN

    row_sums<<<ceil_div(rows, WARPS), THREADS>>>(x, sums, rows, cols, pitch);
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

// y = xᵀ by tiles of 32 × 32 floats in shared memory: a warp loads neighbours from x, and stores neighbours to y.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o transposed steps/21_matmul_swizzle/exercises/transposed.cu common/*.c

#include "exit.h"
#include "program.h"
#include "random.h"
#include "step.h"

#include <stdio.h>
#include <stdlib.h>

constexpr int TILE = 32;  // rows and columns of a tile
constexpr int MOST = 2048;

// [kernel]
__global__ void transpose(const float *x,  // [rows, cols]
                          float *y,        // [cols, rows]
                          int rows, int cols)
{
    __shared__ float tile[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    const int y_row = blockIdx.x * TILE + threadIdx.y, y_col = blockIdx.y * TILE + threadIdx.x;

    // [swizzle]
    if (row < rows && col < cols)
        tile[threadIdx.y][threadIdx.x ^ threadIdx.y] = x[(size_t)row * cols + col];
    __syncthreads();  // the tile is whole before any thread reads it
    if (y_row < cols && y_col < rows)
        y[(size_t)y_row * rows + y_col] = tile[threadIdx.x][threadIdx.y ^ threadIdx.x];
    // [end swizzle]
}

// [main]
static float number(uint64_t seed, size_t i) { return (float)(random_bits(seed, 0, i) % 100000); }

static int check(uint64_t seed, const float *y, int rows, int cols)
{
    for (int col = 0; col < cols; col++)
        for (int row = 0; row < rows; row++) {
            const float wanted = number(seed, (size_t)row * cols + col), found = y[(size_t)col * rows + row];
            if (found != wanted) {
                printf("WRONG: row %d, column %d of y is %g, should be %g\n", col, row, found, wanted);
                return EXIT_WRONG;
            }
        }
    printf("right: each of the %d × %d elements\n", cols, rows);
    return EXIT_RIGHT;
}

int main(int argc, char **argv)
{
    struct number numbers[] = {{"rows", "rows of x", 64, 1, MOST}, {"cols", "columns of x", 96, 1, MOST}, {}};
    const struct program program = program_begin(argc, argv, "The transpose of a matrix, checked by element.", numbers);
    const int rows = numbers[0].value, cols = numbers[1].value;

    const size_t count = (size_t)rows * cols, bytes = count * sizeof(float);
    float *host = (float *)malloc(bytes), *x, *y;
    for (size_t i = 0; i < count; i++)
        host[i] = number(program.seed, i);
    CUDA(cudaMalloc(&x, bytes));
    CUDA(cudaMalloc(&y, bytes));
    CUDA(cudaMemcpy(x, host, bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemset(y, 0xff, bytes));  // what is never stored stays a NaN

    const dim3 blocks(ceil_div(cols, TILE), ceil_div(rows, TILE)), threads(TILE, TILE);
    transpose<<<blocks, threads>>>(x, y, rows, cols);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());

    CUDA(cudaMemcpy(host, y, bytes, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(x));
    CUDA(cudaFree(y));
    program_output(&program, host, bytes);
    const int status = check(program.seed, host, rows, cols);
    free(host);
    return program_end(&program, status);
}

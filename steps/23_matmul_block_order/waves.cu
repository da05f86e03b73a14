// What waves of blocks need of A and B in bands of several heights, and what DRAM delivers of it: arithmetic, no launch.
//
//   nvcc -O3 -std=c++20 -o waves steps/23_matmul_block_order/waves.cu
//   ./learn emulate steps/23_matmul_block_order/waves.cu -I common

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime_api.h>

constexpr int TILE_M = 256, TILE_N = 128;  // rows and columns of C that one block computes
constexpr int WAVE = 132;                  // blocks that run together: one on each SM of an H200
constexpr int ELEMENT = 2;                 // bytes

// [loops] The row and column of the tile of C that each block computes, in the order in which the blocks start.
static void order_of_tiles(int2 *tile,  // [rows * cols]
                           int rows, int cols, int height)
{
    int block = 0;
    for (int first = 0; first < rows; first += height)
        for (int col = 0; col < cols; col++)
            for (int row = first; row < first + height && row < rows; row++)
                tile[block++] = make_int2(row, col);
}

// [need] How many different rows and columns of tiles the blocks of a wave compute, added up over all waves.
struct need {
    int rows, cols;
};

static struct need need_of_waves(const int2 *tile,  // [blocks]
                                 int blocks, int wave)
{
    struct need need = {};
    for (int first = 0; first < blocks; first += wave)
        for (int i = first; i < first + wave && i < blocks; i++) {
            bool same_row = false, same_col = false;  // as an earlier block of this wave
            for (int j = first; j < i; j++) {
                same_row |= tile[j].x == tile[i].x;
                same_col |= tile[j].y == tile[i].y;
            }
            need.rows += !same_row;
            need.cols += !same_col;
        }
    return need;
}

// [line] m = n = k = size. What a wave needs is the mean of all waves begun, of which the last may have fewer blocks. No wave
// finds what an earlier one has read.
static void print_line(int size, int height)
{
    const int rows = size / TILE_M, cols = size / TILE_N, blocks = rows * cols;
    int2 *tile = (int2 *)malloc(blocks * sizeof *tile);
    order_of_tiles(tile, rows, cols, height);
    const struct need need = need_of_waves(tile, blocks, WAVE);
    free(tile);
    const double waves = (blocks + WAVE - 1) / WAVE;
    const double vectors = (double)need.rows * TILE_M + (double)need.cols * TILE_N;  // of k elements
    printf("%6d³ %13d %10.1f %10.1f %15.0f %14.2f\n", size, height, need.rows / waves, need.cols / waves,
           vectors / waves, 1e-9 * vectors * size * ELEMENT);
}

// [main]
int main()
{
    printf("%7s %13s %21s %15s %14s\n", "", "", "a wave needs of tiles", "rows of A and", "GB from DRAM");
    printf("%7s %13s %10s %10s %15s %14s\n", "", "rows in band", "rows", "columns", "columns of B", "in all waves");
    for (int size : {4096, 8192, 16384})
        for (int height : {1, 4, 8, 16})
            print_line(size, height);
}

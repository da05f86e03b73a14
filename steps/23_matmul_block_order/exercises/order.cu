// Which tile of C each block of a grid computes: checked against loops, or by what the waves need.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o order steps/23_matmul_block_order/exercises/order.cu common/*.c
//   ./order --rows 13 --cols 5

#include "exit.h"
#include "program.h"

#include <stdio.h>
#include <stdlib.h>

constexpr int TILE_M = 256, TILE_N = 128;  // rows and columns of C that one block computes
constexpr int BAND = 8;                    // rows of tiles of C in a band

// [order_of_blocks] The row and column, in tiles of C, of the one that this block computes. Blocks start in the order of their numbers.
// wave: how many blocks run together.
__device__ int2 tile_of_block(int wave)
{
    // [height]
    const int height = BAND;
    // [end height]
    const int block = blockIdx.y * gridDim.x + blockIdx.x;
    int row = 0, col = 0;
    // [order]
    const int band = block / (height * gridDim.x), in_band = block % (height * gridDim.x);
    const int rows = min(height, gridDim.y - band * height);  // the last band may have fewer
    row = band * height + in_band % rows;
    col = in_band / rows;
    // [end order]
    return make_int2(row, col);
}

// [kernel]
__global__ void note_tile(int2 *tile,  // [blocks]
                          int wave)
{
    tile[blockIdx.y * gridDim.x + blockIdx.x] = tile_of_block(wave);
}

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

// [main]
// Each tile is computed once, and by the block of the loops where that is wanted.
static int check_order(const int2 *tile,    // [blocks]
                       const int2 *wanted,  // [blocks]
                       int blocks, int cols, bool same)
{
    bool *computed = (bool *)calloc(blocks, sizeof(bool));
    int status = EXIT_RIGHT;
    for (int block = 0; block < blocks && status == EXIT_RIGHT; block++) {
        const int2 at = tile[block], other = wanted[block];
        const bool inside = at.x >= 0 && at.x < blocks / cols && at.y >= 0 && at.y < cols;
        if (!inside || (same && (at.x != other.x || at.y != other.y)) || computed[at.x * cols + at.y]) {
            printf("WRONG: block %d computes the tile in row %d, column %d, should be ", block, at.x, at.y);
            if (same)
                printf("row %d, column %d\n", other.x, other.y);
            else
                printf("one that no other block computes\n");
            status = EXIT_WRONG;
        } else {
            computed[at.x * cols + at.y] = true;
        }
    }
    free(computed);
    return status;
}

static int check_need(struct need found, int most)
{
    const int sum = found.rows * TILE_M + found.cols * TILE_N;
    if (most && sum > most) {
        printf("WRONG: the waves need %d rows of A and columns of B, should be at most %d\n", sum, most);
        return EXIT_WRONG;
    }
    printf("right: each tile is computed once, and the waves need %d rows of A and columns of B\n", sum);
    return EXIT_RIGHT;
}

int main(int argc, char **argv)
{
    struct number numbers[] = {{"rows", "rows of tiles of C", 16, 1, 512},
                               {"cols", "columns of tiles of C", 40, 1, 512},
                               {"wave", "blocks that run together", 132, 1, 2048},
                               {"most", "rows of A and columns of B; 0: the order of the loops", 0, 0, 1 << 30},
                               {}};
    const struct program program = program_begin(argc, argv, "Which tile of C each block computes.", numbers);
    const int rows = numbers[0].value, cols = numbers[1].value, blocks = rows * cols;
    const int wave = numbers[2].value, most = numbers[3].value;
    const size_t bytes = sizeof(int2) * blocks;

    int2 *host = (int2 *)malloc(bytes), *wanted = (int2 *)malloc(bytes), *tile;
    CUDA(cudaMalloc(&tile, bytes));
    note_tile<<<dim3(cols, rows), 1>>>(tile, wave);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpy(host, tile, bytes, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(tile));
    program_output(&program, host, bytes);

    order_of_tiles(wanted, rows, cols, BAND);
    int status = check_order(host, wanted, blocks, cols, most == 0);
    if (status == EXIT_RIGHT)
        status = check_need(need_of_waves(host, blocks, wave), most);
    free(wanted);
    free(host);
    return program_end(&program, status);
}

// Which wave computes each tile of C, in both orders, and what a wave needs of A and B from DRAM: arithmetic, no launch.
//
//   nvcc -O3 -std=c++20 -o schedule steps/42_matmul_persistent/schedule.cu
//   ./learn emulate steps/42_matmul_persistent/schedule.cu -I common

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime_api.h>

constexpr int TILE = 256;     // rows and columns of C that a cluster computes at a time
constexpr int CLUSTERS = 66;  // that run together: one on each pair of SMs of an H200
constexpr int GROUP = 8;      // rows of tiles in a group
constexpr int ELEMENT = 2;    // bytes

// [place] The row x and column y, in tiles of C, of the tile with this number, as place_of() of the kernel has them.
static int2 place_of(int tile, int group, int rows, int cols)
{
    const int whole = group * cols, first = tile / whole * group;
    const int height = group < rows - first ? group : rows - first;
    return make_int2(first + tile % whole % height, tile % whole / height);
}

// [wave] The wave in which each tile is computed. Cluster c begins with tile c, and its next one is CLUSTERS further on.
static void waves_of_tiles(int *wave,  // [rows][cols]
                           int group, int rows, int cols)
{
    for (int cluster = 0; cluster < CLUSTERS; cluster++)
        for (int tile = cluster; tile < rows * cols; tile += CLUSTERS) {
            const int2 at = place_of(tile, group, rows, cols);
            wave[at.x * cols + at.y] = tile / CLUSTERS;
        }
}

// [map] A line for each row of tiles: a digit or letter for each tile, the wave in which it is computed; first rows, then groups.
static void print_waves(int size)
{
    const int edge = size / TILE;
    int *wave[2];
    for (int order = 0; order < 2; order++) {
        wave[order] = (int *)malloc(edge * edge * sizeof(int));
        waves_of_tiles(wave[order], order == 0 ? edge : GROUP, edge, edge);
    }
    printf("%-*s   %s\n", edge, "rows", "groups");
    for (int row = 0; row < edge; row++) {
        for (int order = 0; order < 2; order++) {
            for (int col = 0; col < edge; col++)
                printf("%c", "0123456789abcdefghijklmnopqrstuvwxyz"[wave[order][row * edge + col]]);
            printf("%s", order == 0 ? "   " : "\n");
        }
    }
    for (int order = 0; order < 2; order++)
        free(wave[order]);
}

// [need] How many different rows and columns of tiles the clusters compute in a wave, added up over all waves.
struct need {
    int rows, cols;
};

static struct need need_of_waves(int group, int rows, int cols)
{
    struct need need = {};
    for (int first = 0; first < rows * cols; first += CLUSTERS)
        for (int i = first; i < first + CLUSTERS && i < rows * cols; i++) {
            const int2 at = place_of(i, group, rows, cols);
            bool same_row = false, same_col = false;  // as an earlier tile of this wave
            for (int j = first; j < i; j++) {
                const int2 other = place_of(j, group, rows, cols);
                same_row |= other.x == at.x;
                same_col |= other.y == at.y;
            }
            need.rows += !same_row;
            need.cols += !same_col;
        }
    return need;
}

// [line] m = n = k = size. No wave finds what an earlier one has read.
static void print_line(int size, int group)
{
    const int edge = size / TILE;
    const struct need need = need_of_waves(group, edge, edge);
    const double waves = (edge * edge + CLUSTERS - 1) / CLUSTERS;
    const double vectors = (double)(need.rows + need.cols) * TILE;  // of k elements
    printf("%6d³ %14d %10.1f %10.1f %14.2f\n", size, group, need.rows / waves, need.cols / waves,
           1e-9 * vectors * size * ELEMENT);
}

// [main]
int main()
{
    print_waves(8192);
    printf("\n%7s %14s %21s %14s\n", "", "", "a wave needs of tiles", "GB from DRAM");
    printf("%7s %14s %10s %10s %14s\n", "", "rows in group", "rows", "columns", "in all waves");
    for (int size : {4096, 8192, 16384})
        for (int group : {size / TILE, GROUP, GROUP / 2})
            print_line(size, group);
}

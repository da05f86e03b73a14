// Where tensor copies leave a tile in shared memory, and what a product reads of it there, for a tile of the reader's.
//
//   hopper_tile ROWS ROW_BYTES SWIZZLE ELEMENT_BYTES START MN_MAJOR SLICE SAYS
//
// It prints the address of each vector, which is 16 bytes; the descriptor of one slice, which is what a product reads along k; and where the
// elements are fp16, what a product reads by that descriptor. All elements of a vector are its number, counted along the rows of the tile,
// so wherever a number turns up it says which vector that is. SAYS is the swizzle that the descriptor says, right or wrong. Which tiles
// are accepted stands in hopper.py.

#include <stdio.h>
#include <stdlib.h>

#include "dtype.h"
#include "exit.h"
#include "ptx/mbarrier.h"
#include "ptx/pair.h"
#include "ptx/tensor.h"
#include "ptx/wgmma.h"
#include "tensor_map.h"

constexpr int THREADS = 128;  // a warpgroup
constexpr int WGMMA_M = 64, WGMMA_K = 16;
constexpr int VECTOR = 16, SLICE = 32;  // bytes
constexpr int CORE_ROWS = 8;
constexpr int RESERVED = 1024;  // bytes: a block's own shared memory begins behind these

struct tile {
    int rows, row_bytes, swizzle, element_bytes, start;
    bool mn_major;
    int slice, says;
    int panel_width;  // bytes, as many as the swizzle's; without one a panel is as wide as a core matrix
};

// [memory] Behind the tile in shared memory, for the product. Nothing writes to the gap, so that a product that reads beyond the tile is found.
struct rest {
    unsigned char gap[1024];
    alignas(128) half identity[2][WGMMA_M][8];  // [panel][row][col]: 1 where row and column are equal, of 16 columns
    uint64_t full;
};

__host__ __device__ static int tile_bytes(const struct tile *tile) { return tile->rows * tile->row_bytes; }

// [load_tile] One thread has the tile's panels copied one behind the other, each as a box, and all threads wait for them.
__device__ __forceinline__ void load_tile(unsigned char *to, struct rest *rest, const CUtensorMap *map,
                                          const CUtensorMap *identity_map, const struct tile *tile)
{
    if (threadIdx.x == 0) {
        mbarrier_init(&rest->full, 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // the barrier is made before any thread waits at it
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect_tx(&rest->full, tile_bytes(tile) + sizeof rest->identity);
        for (int at = 0; at < tile->row_bytes; at += tile->panel_width)
            tensor_load_2d(to + tile->rows * at, map, 0, at / tile->element_bytes, &rest->full);
        for (int panel = 0; panel < 2; panel++)
            tensor_load_2d(rest->identity[panel], identity_map, 0, 8 * panel, &rest->full);
    }
    mbarrier_wait_parity(&rest->full, 0);
}

// [describe] The slice of the tile as an operand: step 38's A_slice where it is K-major, and its B_slice where it is MN-major.
__device__ __forceinline__ uint64_t describe(const unsigned char *first, const struct tile *tile)
{
    const enum wgmma_swizzle swizzle = tile->says == 128  ? WGMMA_SWIZZLE_128B
                                       : tile->says == 64 ? WGMMA_SWIZZLE_64B
                                       : tile->says == 32 ? WGMMA_SWIZZLE_32B
                                                          : WGMMA_SWIZZLE_NONE;
    const int width = tile->panel_width;
    const unsigned panel = tile->rows * width, rows = CORE_ROWS * width;
    if (!tile->mn_major) {
        const int at = tile->slice * SLICE;  // bytes into each row
        return wgmma_descriptor(first + at / width * panel + at % width, panel, rows, swizzle);
    }
    const bool swizzled = tile->swizzle > 0;
    return wgmma_descriptor(first + tile->slice * WGMMA_K * width, swizzled ? panel : rows, swizzled ? rows : panel,
                            swizzle);
}

// [find_vectors] Each vector in shared memory is asked for its number.
__global__ void find_vectors(const __grid_constant__ CUtensorMap map,           // of the tile
                             const __grid_constant__ CUtensorMap identity_map,  // of identity [64, 16]
                             unsigned *addresses,                               // [vectors]
                             uint64_t *descriptor, struct tile tile)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    unsigned char *const first = memory + tile.start - RESERVED;
    load_tile(first, (struct rest *)(first + tile_bytes(&tile)), &map, &identity_map, &tile);
    for (int at = threadIdx.x * VECTOR; at < tile_bytes(&tile); at += THREADS * VECTOR) {
        const int number = tile.element_bytes == 2 ? (int)__half2float(*(const half *)(first + at))
                                                   : (int)*(const float *)(first + at);
        addresses[number] = (unsigned)__cvta_generic_to_shared(first + at);
    }
    if (threadIdx.x == 0)
        *descriptor = describe(first, &tile);
}

// [read_slice] The product of the identity and the slice, LINES of its rows where it is K-major, else of its columns, is the slice itself.
template <int LINES>
__global__ void read_slice(const __grid_constant__ CUtensorMap map,           // of the tile
                           const __grid_constant__ CUtensorMap identity_map,  // of identity [64, 16]
                           float *numbers,                                    // [16, LINES]
                           struct tile tile)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    unsigned char *const first = memory + tile.start - RESERVED;
    struct rest *const rest = (struct rest *)(first + tile_bytes(&tile));
    load_tile(first, rest, &map, &identity_map, &tile);

    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4, col = lane % 4 * 2;
    float sum[LINES / 8][4] = {};
    const auto one = [&](int row, int col) { return pack(float(row == col), float(row == col + 1), half()); };
    const uint32_t identity[4] = {one(row, col), one(row + 8, col), one(row, col + 8), one(row + 8, col + 8)};
    wgmma_fence();
    if (tile.mn_major)
        wgmma_registers(sum, identity, describe(first, &tile), half());
    else
        wgmma_transposed(
            sum, wgmma_descriptor(rest->identity, sizeof rest->identity[0], CORE_ROWS * VECTOR, WGMMA_SWIZZLE_NONE),
            describe(first, &tile), false, half());
    wgmma_commit_group();
    wgmma_wait_group<0>(sum);

    for (int x = 0; x < LINES / 8; x++)
        for (int i = 0; i < 4 && row < WGMMA_K; i++)
            numbers[(row + i / 2 * 8) * LINES + x * 8 + col + i % 2] = sum[x][i];
}

static void print_numbers(const char *name, const float *numbers, int count)
{
    printf("%s:", name);
    for (int i = 0; i < count; i++)
        printf(" %g", numbers[i]);
    printf("\n");
}

static int shared_bytes(const struct tile *tile)
{
    return tile->start - RESERVED + tile_bytes(tile) + sizeof(struct rest);
}

template <int LINES>
static void show_slice(const CUtensorMap *map, const CUtensorMap *identity_map, const struct tile *tile)
{
    float *numbers;
    CUDA(cudaMallocManaged((void **)&numbers, WGMMA_K * LINES * sizeof(float)));
    CUDA(cudaFuncSetAttribute(read_slice<LINES>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes(tile)));
    read_slice<LINES><<<1, THREADS, shared_bytes(tile)>>>(*map, *identity_map, numbers, *tile);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
    print_numbers("read", numbers, WGMMA_K * LINES);
    CUDA(cudaFree(numbers));
}

// A matrix in which element (row, col) is value(row, col).
template <class T, class Value>
static T *made(int rows, int cols, Value value)
{
    T *matrix;
    CUDA(cudaMallocManaged((void **)&matrix, rows * cols * sizeof(T)));
    for (int i = 0; i < rows * cols; i++)
        matrix[i] = T((float)value(i / cols, i % cols));
    return matrix;
}

static CUtensorMapSwizzle map_swizzle(int bytes)
{
    return bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
           : bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
           : bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                         : CU_TENSOR_MAP_SWIZZLE_NONE;
}

int main(int argc, char **argv)
{
    if (argc != 9)
        stop(EXIT_USAGE, "wanted: %s ROWS ROW_BYTES SWIZZLE ELEMENT_BYTES START MN_MAJOR SLICE SAYS\n", argv[0]);
    int given[8];
    for (int i = 0; i < 8; i++)
        given[i] = atoi(argv[1 + i]);
    const struct tile tile = {
        .rows = given[0],
        .row_bytes = given[1],
        .swizzle = given[2],
        .element_bytes = given[3],
        .start = given[4],
        .mn_major = given[5] != 0,
        .slice = given[6],
        .says = given[7],
        .panel_width = given[2] > 0 ? given[2] : VECTOR,
    };

    // [maps]
    const int cols = tile.row_bytes / tile.element_bytes, vectors = tile_bytes(&tile) / VECTOR;
    const auto number = [&](int row, int col) { return (row * cols + col) * tile.element_bytes / VECTOR; };
    const bool is_half = tile.element_bytes == 2;
    void *const matrix = is_half ? (void *)made<half>(tile.rows, cols, number) : made<float>(tile.rows, cols, number);
    half *const identity = made<half>(WGMMA_M, WGMMA_K, [](int row, int col) { return row == col; });
    CUtensorMap map, identity_map;
    CUDA((cudaError_t)tensor_map_2d(&map, is_half ? FP16 : FP32, matrix, tile.rows, cols, cols, tile.rows,
                                    tile.panel_width / tile.element_bytes, map_swizzle(tile.swizzle)));
    CUDA((cudaError_t)tensor_map_2d(&identity_map, FP16, identity, WGMMA_M, WGMMA_K, WGMMA_K, WGMMA_M, 8,
                                    CU_TENSOR_MAP_SWIZZLE_NONE));

    // [run]
    unsigned *addresses;
    uint64_t *descriptor;
    CUDA(cudaMallocManaged((void **)&addresses, vectors * sizeof *addresses));
    CUDA(cudaMallocManaged((void **)&descriptor, sizeof *descriptor));
    CUDA(cudaFuncSetAttribute(find_vectors, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes(&tile)));
    find_vectors<<<1, THREADS, shared_bytes(&tile)>>>(map, identity_map, addresses, descriptor, tile);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
    printf("descriptor: %llu\naddresses:", (unsigned long long)*descriptor);
    for (int i = 0; i < vectors; i++)
        printf(" %u", addresses[i]);
    printf("\n");

    const int lines = tile.mn_major ? cols : tile.rows;
    if (is_half && lines >= 256)
        show_slice<256>(&map, &identity_map, &tile);
    else if (is_half && lines >= 128)
        show_slice<128>(&map, &identity_map, &tile);
    else if (is_half && lines >= 64)
        show_slice<64>(&map, &identity_map, &tile);
}

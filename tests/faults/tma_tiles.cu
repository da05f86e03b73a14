// Tiles that tensor maps describe, loaded, stored and added wrongly: fences, waits, bytes, ranks, places. The first argument
// picks the kernel; a comment `expect NAME: KIND` marks a line that the report on it must name. tests/right/tma_tiles.cu has
// the right ways. The tensor is a matrix of 100 x 40 floats, its boxes are 32 x 8.

#include <cuda/barrier>
#include <cuda/ptx>
#include <string.h>
#include "../hopper.h"

#define WIDTH 32
#define HEIGHT 8
#define TILE (WIDTH * HEIGHT)
#define BYTES (TILE * 4)
#define MAP const __grid_constant__ CUtensorMap

namespace ptx = cuda::ptx;
namespace cde = cuda::device::experimental;

// ---- fences ----

__global__ void no_fence(MAP map, float *out)
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i / WIDTH][i % WIDTH] = i;  // expect no_fence: missing proxy fence
    __syncthreads();
    if (threadIdx.x == 0) {
        TMA_STORE_2D(&map, 32, 8, tile);  // expect no_fence: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void fence_of_the_issuer_too_early(MAP map, float *out)
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i / WIDTH][i % WIDTH] = i;  // expect fence_of_the_issuer_too_early: missing proxy fence
    if (threadIdx.x == 0)
        FENCE_ASYNC_SHARED();  // perhaps fence_of_the_issuer_too_early: missing proxy fence
    __syncthreads();
    if (threadIdx.x == 0) {
        TMA_STORE_2D(&map, 0, 0, tile);  // expect fence_of_the_issuer_too_early: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void tile_of_another_warp(MAP map, float *out)  // each warp fences, and stores what the other has written
{
    __shared__ alignas(128) float tile[2][HEIGHT][WIDTH];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int y = 0; y < HEIGHT; y++)
        tile[warp][y][lane] = y;  // expect tile_of_another_warp: missing proxy fence
    __syncthreads();
    if (lane == 0) {
        if (warp == 1)
            FENCE_ASYNC_SHARED();  // perhaps tile_of_another_warp: missing proxy fence
        else
            TMA_STORE_2D(&map, 0, 0, tile[1]);  // expect tile_of_another_warp: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void fence_of_the_map_only(MAP map, float *out)  // of another proxy
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i / WIDTH][i % WIDTH] = i;  // expect fence_of_the_map_only: missing proxy fence
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
        TMA_STORE_2D(&map, 0, 0, tile);  // expect fence_of_the_map_only: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void added_without_a_fence(MAP map, float *out)
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i / WIDTH][i % WIDTH] = 1;  // expect added_without_a_fence: missing proxy fence
    __syncthreads();
    if (threadIdx.x == 0) {
        TMA_ADD_2D(&map, 64, 32, tile);  // expect added_without_a_fence: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void tensor_written_by_threads(MAP map, float *out)  // in this launch, and loaded by its map
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x < 32)
        out[threadIdx.x] = 1;  // expect tensor_written_by_threads: missing proxy fence
    __syncthreads();
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        TMA_LOAD_2D(tile, &map, 0, 0, &bar);  // expect tensor_written_by_threads: missing proxy fence
    }
    MBARRIER_WAIT(&bar, 0);
}

__global__ void halo_of_zeros(MAP map, float *out)  // cleared by threads, then loaded
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i / WIDTH][i % WIDTH] = 0;  // expect halo_of_zeros: missing proxy fence
    __syncthreads();
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        TMA_LOAD_2D(tile, &map, -4, -1, &bar);  // expect halo_of_zeros: missing proxy fence
    }
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[1][threadIdx.x % 32];
}

// ---- waits ----

__global__ void no_wait(MAP map, float *out)
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        TMA_LOAD_2D(tile, &map, 0, 0, &bar);  // expect no_wait: copy still in flight
    }
    __syncthreads();
    out[threadIdx.x] = tile[0][threadIdx.x % 32];  // expect no_wait: copy still in flight
}

__global__ void zeros_beyond_the_edge(MAP map, float *out)  // are written by the copy, too
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        TMA_LOAD_2D(tile, &map, 96, 0, &bar);     // expect zeros_beyond_the_edge: copy still in flight
        out[threadIdx.x] = tile[HEIGHT - 1][31];  // expect zeros_beyond_the_edge: copy still in flight
        MBARRIER_WAIT(&bar, 0);
    }
}

__global__ void stage_of_the_next_round(MAP map, float *out)  // the wait takes the parity of the round before
{
    __shared__ alignas(128) float tile[2][HEIGHT][WIDTH];
    __shared__ uint64_t full[2];
    float sum = 0;
    SET_UP(full, 1);
    for (int i = 0; i < 5; i++) {
        if (threadIdx.x == 0) {
            MBARRIER_ARRIVE_EXPECT(&full[i % 2], BYTES);
            TMA_LOAD_2D(tile[i % 2], &map, 0, 8 * i, &full[i % 2]);  // expect stage_of_the_next_round: race in shared memory
        }
        MBARRIER_WAIT(&full[i % 2], i < 2 ? 0 : (i / 2 + 1) % 2);  // perhaps stage_of_the_next_round: race in shared memory
        sum += tile[i % 2][1][threadIdx.x % 32];                   // expect stage_of_the_next_round: race in shared memory
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}

__global__ void b_is_not_waited_for(MAP map, float *out)  // a and b have their own barriers
{
    __shared__ alignas(128) float a[HEIGHT][WIDTH], b[HEIGHT][WIDTH];
    __shared__ uint64_t bar[2];
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar[0], BYTES);
        TMA_LOAD_2D(a, &map, 0, 0, &bar[0]);
        MBARRIER_ARRIVE_EXPECT(&bar[1], BYTES);
        TMA_LOAD_2D(b, &map, 32, 0, &bar[1]);  // expect b_is_not_waited_for: copy still in flight
    }
    MBARRIER_WAIT(&bar[0], 0);
    out[threadIdx.x] = a[0][threadIdx.x % 32] * b[1][threadIdx.x % 32];  // expect b_is_not_waited_for: copy still in flight
}

__global__ void bytes_of_a_only(MAP map, float *out)  // a and b have one barrier
{
    __shared__ alignas(128) float a[HEIGHT][WIDTH], b[HEIGHT][WIDTH];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        TMA_LOAD_2D(a, &map, 0, 0, &bar);   // perhaps bytes_of_a_only: copy still in flight
        TMA_LOAD_2D(b, &map, 32, 0, &bar);  // perhaps bytes_of_a_only: copy still in flight
    }
    MBARRIER_WAIT(&bar, 0);                                              // perhaps bytes_of_a_only: copy still in flight
    out[threadIdx.x] = a[0][threadIdx.x % 32] * b[1][threadIdx.x % 32];  // expect bytes_of_a_only: copy still in flight
}

__global__ void refilled_while_read(MAP map, float *out)
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    __shared__ uint64_t full, empty;
    SET_UP(full, 1);
    SET_UP(empty, 32);
    if (threadIdx.x >= 32) {
        float sum = 0;
        for (int i = 0; i < 4; i++) {
            MBARRIER_WAIT(&full, i % 2);
            sum += tile[0][threadIdx.x % 32];
            MBARRIER_ARRIVE(&empty);
            sum += tile[7][threadIdx.x % 32];  // expect refilled_while_read: race in shared memory
        }
        out[threadIdx.x] = sum;
    }
    if (threadIdx.x == 0)
        for (int i = 0; i < 4; i++) {
            MBARRIER_WAIT(&empty, (i + 1) % 2);
            MBARRIER_ARRIVE_EXPECT(&full, BYTES);
            TMA_LOAD_2D(tile, &map, 32, 8 * i, &full);  // expect refilled_while_read: race in shared memory
        }
}

// ---- stores ----

__global__ void rewritten(MAP map, float *out)
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    for (int i = 0; i < 2; i++) {
        for (int k = threadIdx.x; k < TILE; k += blockDim.x)
            tile[k / WIDTH][k % WIDTH] = k + i;  // expect rewritten: source overwritten in flight
        FENCE_ASYNC_SHARED();
        __syncthreads();
        if (threadIdx.x == 0) {
            TMA_STORE_2D(&map, 32 * i, 0, tile);  // expect rewritten: source overwritten in flight
            BULK_COMMIT();
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        BULK_WAIT(0);
}

__global__ void rewritten_by_a_load(MAP map, float *out)
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++) {
            MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
            TMA_LOAD_2D(tile, &map, 32 * i, 0, &bar);  // expect rewritten_by_a_load: source overwritten in flight
            MBARRIER_WAIT(&bar, i);
            TMA_STORE_2D(&map, 32 * i, 8, tile);  // expect rewritten_by_a_load: source overwritten in flight
            BULK_COMMIT();
        }
        BULK_WAIT(0);
    }
}

__global__ void one_buffer_too_few(MAP map, float *out)  // wait_group.read 1 is right for two
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    for (int i = 0; i < 3; i++) {
        if (threadIdx.x == 0)
            BULK_WAIT_READ(1);  // perhaps one_buffer_too_few: source overwritten in flight
        __syncthreads();
        for (int k = threadIdx.x; k < TILE; k += blockDim.x)
            tile[k / WIDTH][k % WIDTH] = k + i;  // expect one_buffer_too_few: source overwritten in flight
        FENCE_ASYNC_SHARED();
        __syncthreads();
        if (threadIdx.x == 0) {
            TMA_ADD_2D(&map, 0, 8 * i, tile);  // expect one_buffer_too_few: source overwritten in flight
            BULK_COMMIT();
        }
    }
    if (threadIdx.x == 0)
        BULK_WAIT(0);
}

__global__ void ends_too_early(MAP map, float *out)
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    for (int k = threadIdx.x; k < TILE; k += blockDim.x)
        tile[k / WIDTH][k % WIDTH] = k;
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        TMA_STORE_2D(&map, 0, 0, tile);  // expect ends_too_early: transfer unfinished
        BULK_COMMIT();
    }
}

__global__ void adds_and_ends(MAP map, float *out)
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    for (int k = threadIdx.x; k < TILE; k += blockDim.x)
        tile[k / WIDTH][k % WIDTH] = 1;
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 63) {
        TMA_ADD_2D(&map, 0, 0, tile);  // expect adds_and_ends: transfer unfinished
        BULK_WAIT_READ(0);
    }
    __syncthreads();
}

__global__ void result_read_too_early(MAP map, float *out)
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    for (int k = threadIdx.x; k < TILE; k += blockDim.x)
        tile[k / WIDTH][k % WIDTH] = k;
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        TMA_STORE_2D(&map, 0, 0, tile);  // expect result_read_too_early: copy still in flight
        BULK_COMMIT();
        BULK_WAIT_READ(0);   // perhaps result_read_too_early: copy still in flight
        out[3999] = out[5];  // expect result_read_too_early: copy still in flight
        BULK_WAIT(0);
    }
}

__global__ void tiles_of_two_blocks_overlap(MAP map, float *out)  // by four columns
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    for (int k = threadIdx.x; k < TILE; k += blockDim.x)
        tile[k / WIDTH][k % WIDTH] = k + blockIdx.x;
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        TMA_STORE_2D(&map, 28 * (int)blockIdx.x, 0, tile);  // expect tiles_of_two_blocks_overlap: race in global memory
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

// ---- bytes ----

__global__ void inside_only(MAP map, float *out)  // a box at the edge counts with its zeros
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, 4 * HEIGHT * 4);
        TMA_LOAD_2D(tile, &map, 96, 0, &bar);
    }
    MBARRIER_WAIT(&bar, 0);  // expect inside_only: barrier deadlock, in bytes
}

__global__ void a_larger_box(MAP map, float *out)  // than the map has
{
    __shared__ alignas(128) float tile[2 * HEIGHT][WIDTH];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, (unsigned)sizeof tile);
        TMA_LOAD_2D(tile, &map, 0, 0, &bar);
    }
    MBARRIER_WAIT(&bar, 0);  // expect a_larger_box: barrier deadlock, in bytes
}

__global__ void wholly_outside(MAP map, float *out)  // and it counts all the same
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE(&bar);
        TMA_LOAD_2D(tile, &map, 0, 40, &bar);  // expect wholly_outside: copy still in flight
    }
    MBARRIER_WAIT(&bar, 0);                        // perhaps wholly_outside: copy still in flight
    out[threadIdx.x] = tile[0][threadIdx.x % 32];  // expect wholly_outside: copy still in flight
}

// ---- ranks ----

__global__ void one_of_two(MAP map, float *out)
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        TMA_LOAD_1D(tile, &map, 0, &bar);  // expect one_of_two: wrong rank
    }
    MBARRIER_WAIT(&bar, 0);
}

__global__ void three_of_two(MAP map, float *out)
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        TMA_LOAD_3D(tile, &map, 0, 0, 0, &bar);  // expect three_of_two: wrong rank
    }
    MBARRIER_WAIT(&bar, 0);
}

__global__ void five_of_two(MAP map, float *out)
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        TMA_LOAD_5D(tile, &map, 0, 0, 0, 0, 0, &bar);  // expect five_of_two: wrong rank
    }
    MBARRIER_WAIT(&bar, 0);
}

__global__ void stored_as_a_vector(MAP map, float *out)
{
    __shared__ alignas(128) float tile[TILE];
    for (int k = threadIdx.x; k < TILE; k += blockDim.x)
        tile[k] = k;
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        TMA_STORE_1D(&map, 0, tile);  // expect stored_as_a_vector: wrong rank
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void stored_as_a_volume(MAP map, float *out)
{
    __shared__ alignas(128) float tile[TILE];
    for (int k = threadIdx.x; k < TILE; k += blockDim.x)
        tile[k] = k;
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        TMA_STORE_3D(&map, 0, 0, 0, tile);  // expect stored_as_a_volume: wrong rank
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void prefetched_as_a_volume(MAP map, float *out)
{
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%0, {%1, %1, %1}];" ::"l"(&map), "r"(0) : "memory");  // expect prefetched_as_a_volume: wrong rank
}

__global__ void matrix_of_a_volume(MAP map, float *out)  // the map has three dimensions, the last of one index
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        TMA_LOAD_2D(tile, &map, 0, 0, &bar);  // expect matrix_of_a_volume: wrong rank
    }
    MBARRIER_WAIT(&bar, 0);
}

__global__ void by_cde(MAP map, float *out)
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    if (threadIdx.x == 0)
        cde::cp_async_bulk_tensor_3d_global_to_shared(tile, &map, 0, 0, 0, bar);  // expect by_cde: wrong rank
}

// ---- places ----

__global__ void at_64_bytes(MAP map, float *out)
{
    __shared__ alignas(128) float tile[HEIGHT + 1][WIDTH];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        TMA_LOAD_2D(&tile[0][16], &map, 0, 0, &bar);  // expect at_64_bytes: misaligned access
    }
    MBARRIER_WAIT(&bar, 0);
}

__global__ void box_at_an_odd_column(MAP map, float *out)  // a GPU takes it for an illegal instruction
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        TMA_LOAD_2D(tile, &map, 33, 8, &bar);  // expect box_at_an_odd_column: misaligned access
    }
    MBARRIER_WAIT(&bar, 0);
}

__global__ void stored_at_column_one(MAP map, float *out)
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    for (int k = threadIdx.x; k < TILE; k += blockDim.x)
        tile[k / WIDTH][k % WIDTH] = k;
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        TMA_STORE_2D(&map, 1, 0, tile);  // expect stored_at_column_one: misaligned access
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void stored_above_the_first_row(MAP map, float *out)  // only loads may begin in front of a tensor
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    for (int k = threadIdx.x; k < TILE; k += blockDim.x)
        tile[k / WIDTH][k % WIDTH] = k;
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        TMA_STORE_2D(&map, 0, -7, tile);  // expect stored_above_the_first_row: out of bounds
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void behind_an_odd_array(MAP map, float *out)  // in one buffer, as offsets of dynamic shared memory go
{
    __shared__ alignas(128) char buffer[48 + BYTES];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    float *tile = (float *)(buffer + 48);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        TMA_LOAD_2D(tile, &map, 0, 0, &bar);  // expect behind_an_odd_array: misaligned access
    }
    MBARRIER_WAIT(&bar, 0);
}

__global__ void stored_from_16_bytes(MAP map, float *out)
{
    __shared__ alignas(128) float tile[TILE + 4];
    for (int k = threadIdx.x; k < TILE + 4; k += blockDim.x)
        tile[k] = k;
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        TMA_STORE_2D(&map, 0, 0, tile + 4);  // expect stored_from_16_bytes: misaligned access
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void second_stage_of_a_short_one(MAP map, float *out)  // stages of 8 x 30 floats
{
    __shared__ alignas(128) float tile[2][HEIGHT * 30];
    __shared__ uint64_t full[2];
    SET_UP(full, 1);
    if (threadIdx.x == 0)
        for (int i = 1; i >= 0; i--) {
            MBARRIER_ARRIVE_EXPECT(&full[i], BYTES);
            TMA_LOAD_2D(tile[i], &map, 0, 0, &full[i]);  // expect second_stage_of_a_short_one: misaligned access
        }
    MBARRIER_WAIT(&full[0], 0);
}

__global__ void box_larger_than_its_array(MAP map, float *out)
{
    __shared__ alignas(128) float tile[HEIGHT - 1][WIDTH];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        TMA_LOAD_2D(tile, &map, 0, 0, &bar);  // expect box_larger_than_its_array: out of bounds
    }
    MBARRIER_WAIT(&bar, 0);
}

__global__ void box_in_the_next_array(MAP map, float *out)
{
    __shared__ alignas(128) float a[HEIGHT / 2][WIDTH], b[HEIGHT / 2][WIDTH];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    b[0][threadIdx.x % 32] = 0;
    a[0][threadIdx.x % 32] = 0;
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        TMA_LOAD_2D(in_shared(a) < in_shared(b) ? a : b, &map, 0, 0, &bar);  // expect box_in_the_next_array: out of bounds
    }
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = a[1][threadIdx.x % 32] + b[1][threadIdx.x % 32];
}

__global__ void stored_from_too_little(MAP map, float *out)
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH / 2];
    for (int k = threadIdx.x; k < TILE / 2; k += blockDim.x)
        tile[k / 16][k % 16] = k;
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        TMA_STORE_2D(&map, 0, 0, tile);  // expect stored_from_too_little: out of bounds
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void barrier_is_data(MAP map, float *out)
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    if (threadIdx.x == 0)
        TMA_LOAD_2D(tile, &map, 0, 0, (uint64_t *)(tile + HEIGHT - 1));  // expect barrier_is_data: no mbarrier
}

__global__ void by_cuda_ptx(MAP map, float *out)
{
    __shared__ alignas(128) float tile[HEIGHT][WIDTH];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    const int32_t where[2] = {32, 8};
    if (threadIdx.x == 0) {
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, BYTES);
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, &tile[0][8], &map, where, &bar);  // expect by_cuda_ptx: misaligned access
    }
    MBARRIER_WAIT(&bar, 0);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    static float numbers[4000];
    for (int i = 0; i < 4000; i++)
        numbers[i] = i;
    float *memory;
    cudaMalloc(&memory, sizeof numbers);
    cudaMemcpy(memory, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    CUtensorMap matrix = matrix_map(memory, 100, 40, WIDTH, HEIGHT);
    CUtensorMap volume = tensor_map(memory, {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, 3, {100, 40, 1}, {}, {WIDTH, HEIGHT, 1}});
    struct {
        const char *name;
        void (*kernel)(CUtensorMap, float *);
    } kernels[] = {
#define KERNEL(NAME) {#NAME, NAME}
        KERNEL(no_fence),
        KERNEL(fence_of_the_issuer_too_early),
        KERNEL(tile_of_another_warp),
        KERNEL(fence_of_the_map_only),
        KERNEL(added_without_a_fence),
        KERNEL(tensor_written_by_threads),
        KERNEL(halo_of_zeros),
        KERNEL(no_wait),
        KERNEL(zeros_beyond_the_edge),
        KERNEL(stage_of_the_next_round),
        KERNEL(b_is_not_waited_for),
        KERNEL(bytes_of_a_only),
        KERNEL(refilled_while_read),
        KERNEL(rewritten),
        KERNEL(rewritten_by_a_load),
        KERNEL(one_buffer_too_few),
        KERNEL(ends_too_early),
        KERNEL(adds_and_ends),
        KERNEL(result_read_too_early),
        KERNEL(tiles_of_two_blocks_overlap),
        KERNEL(inside_only),
        KERNEL(a_larger_box),
        KERNEL(wholly_outside),
        KERNEL(one_of_two),
        KERNEL(three_of_two),
        KERNEL(five_of_two),
        KERNEL(stored_as_a_vector),
        KERNEL(stored_as_a_volume),
        KERNEL(prefetched_as_a_volume),
        KERNEL(matrix_of_a_volume),
        KERNEL(by_cde),
        KERNEL(at_64_bytes),
        KERNEL(box_at_an_odd_column),
        KERNEL(stored_at_column_one),
        KERNEL(stored_above_the_first_row),
        KERNEL(behind_an_odd_array),
        KERNEL(stored_from_16_bytes),
        KERNEL(second_stage_of_a_short_one),
        KERNEL(box_larger_than_its_array),
        KERNEL(box_in_the_next_array),
        KERNEL(stored_from_too_little),
        KERNEL(barrier_is_data),
        KERNEL(by_cuda_ptx),
    };
    for (auto k : kernels)
        if (strcmp(name, k.name) == 0)
            k.kernel<<<strstr(name, "two_blocks") ? 2 : 1, 64>>>(strstr(name, "_of_a_volume") ? volume : matrix, memory);
    return cudaDeviceSynchronize();
}

// Bulk copies as CUDA's programming guide writes them: by cuda::barrier with barrier_arrive_tx and memcpy_async, by cde
// (cuda::device::experimental), and by cuda::ptx.

#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda/std/utility>
#include "../hopper.h"
#include "right.h"

namespace cde = cuda::device::experimental;
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
using barrier = cuda::barrier<cuda::thread_scope_block>;
#pragma nv_diag_suppress static_var_with_dynamic_init

#define LENGTH 512
#define WIDTH 32
#define HEIGHT 16
#define MAP const __grid_constant__ CUtensorMap

__global__ void add_one(int *data, size_t offset)  // a line in, every element changed, the line out
{
    __shared__ alignas(16) int line[LENGTH];
    __shared__ barrier bar;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_global_to_shared(line, data + offset, sizeof line, bar);
        token = cuda::device::barrier_arrive_tx(bar, 1, sizeof line);
    } else {
        token = bar.arrive();
    }
    bar.wait(cuda::std::move(token));
    for (int i = threadIdx.x; i < LENGTH; i += blockDim.x)
        line[i] += 1;
    cde::fence_proxy_async_shared_cta();
    __syncthreads();
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_shared_to_global(data + offset, line, sizeof line);
        cde::cp_async_bulk_commit_group();
        cde::cp_async_bulk_wait_group_read<0>();
    }
}

__global__ void add_two(int *data, size_t offset)  // the same by memcpy_async, which the barrier counts by itself
{
    __shared__ alignas(16) int line[LENGTH];
    __shared__ barrier bar;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    if (threadIdx.x == 0)
        cuda::memcpy_async(line, data + offset, cuda::aligned_size_t<16>(sizeof line), bar);
    bar.wait(bar.arrive());
    for (int i = threadIdx.x; i < LENGTH; i += blockDim.x)
        line[i] += 2;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, data + offset, line, sizeof line);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

__global__ void add_three(int *data, int lines)  // by the whole block, one line ahead, phases waited for by parity
{
    __shared__ alignas(16) int line[2][LENGTH];
    __shared__ barrier bar[2];
    auto block = cg::this_thread_block();
    if (block.thread_rank() < 2) {
        init(&bar[block.thread_rank()], blockDim.x);
        cde::fence_proxy_async_shared_cta();
    }
    block.sync();
    barrier::arrival_token token[2];
    for (int i = -1; i < lines; i++) {
        int next = (i + 1) % 2;
        if (i + 1 < lines) {
            if (block.thread_rank() == 0) {
                cuda::device::memcpy_async_tx(line[next], data + (i + 1) * LENGTH,
                                              cuda::aligned_size_t<16>(sizeof line[0]), bar[next]);
                token[next] = cuda::device::barrier_arrive_tx(bar[next], 1, sizeof line[0]);
            } else {
                token[next] = bar[next].arrive(1);
            }
        }
        if (i >= 0) {
            bar[i % 2].wait(cuda::std::move(token[i % 2]));
            for (int k = threadIdx.x; k < LENGTH; k += blockDim.x)
                data[i * LENGTH + k] = line[i % 2][k] + 3;
            block.sync();
        }
    }
}

__global__ void add_one_to_a_tile(MAP map, int x, int y)
{
    __shared__ alignas(128) int tile[HEIGHT][WIDTH];
    __shared__ barrier bar;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_tensor_2d_global_to_shared(tile, &map, x, y, bar);
        token = cuda::device::barrier_arrive_tx(bar, 1, sizeof tile);
    } else {
        token = bar.arrive();
    }
    bar.wait(cuda::std::move(token));
    for (int i = threadIdx.x; i < WIDTH * HEIGHT; i += blockDim.x)
        tile[i / WIDTH][i % WIDTH] += 1;
    cde::fence_proxy_async_shared_cta();
    __syncthreads();
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_tensor_2d_shared_to_global(&map, x, y, tile);
        cde::cp_async_bulk_commit_group();
        cde::cp_async_bulk_wait_group_read<0>();
    }
    if (threadIdx.x == 0)
        (&bar)->~barrier();
}

__global__ void add_to_a_tile_by_ptx(MAP map, int x, int y)
{
    __shared__ alignas(128) int tile[HEIGHT][WIDTH];
    __shared__ uint64_t bar;
    const int32_t where[2] = {x, y};
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &map, where, &bar);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, sizeof tile);
    }
    while (!ptx::mbarrier_try_wait_parity(&bar, 0))
        ;
    for (int i = threadIdx.x; i < WIDTH * HEIGHT; i += blockDim.x)
        tile[i / WIDTH][i % WIDTH] += 2;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &map, where, tile);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

__global__ void sums_by_ptx(const int *in, int *sums, int lines)  // each block reduces its lines, all blocks into one
{
    __shared__ alignas(16) int line[LENGTH], sum[LENGTH];
    __shared__ uint64_t bar;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    for (int i = threadIdx.x; i < LENGTH; i += blockDim.x)
        sum[i] = 0;
    __syncthreads();
    uint32_t parity = 0;
    for (int t = blockIdx.x; t < lines; t += gridDim.x, parity ^= 1) {
        if (threadIdx.x == 0) {
            ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, line, in + t * LENGTH, sizeof line, &bar);
            (void)ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar,
                                                 sizeof line);
        }
        while (!ptx::mbarrier_try_wait_parity(&bar, parity))
            ;
        for (int i = threadIdx.x; i < LENGTH; i += blockDim.x)
            sum[i] += line[i];
        __syncthreads();
    }
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, sums, sum, sizeof sum);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

// CUTLASS clears bit 21 of the second word of a small tensor's map, against an error of drivers up to 13.1 (its
// copy_traits_sm90_tma.hpp). An address with that bit set must come through.
static void try_cleared_bit(void)
{
    const size_t bit = (size_t)1 << 21;
    const int width = WIDTH, height = HEIGHT, n = width * height;
    char *memory = to_device<char>(NULL, 3 * bit);
    int *data = (int *)(((uintptr_t)memory + bit - 1) / bit * bit);
    if (!((uintptr_t)data & bit))
        data += bit / sizeof *data;
    CHECK(cudaMemset(data, 0, n * sizeof *data));
    CUtensorMap map = tensor_map(data, {CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 2, {width, height}, {}, {WIDTH, HEIGHT}});
    ((uint64_t *)&map)[1] &= ~(uint64_t)bit;
    add_one_to_a_tile<<<1, 128>>>(map, 0, 0);
    int *got = to_host(data, n);
    for (int i = 0; i < n; i++)
        SAME(got[i], 1);
}

int main(void)
{
    try_cleared_bit();

    const int lines = 6, n = lines * LENGTH;
    int host[n];
    for (int i = 0; i < n; i++)
        host[i] = i * 7 % 1000;
    int *data = to_device(host, n), *got;
    for (int i = 0; i < lines; i++) {
        add_one<<<1, 128>>>(data, i * LENGTH);
        add_two<<<1, 128>>>(data, i * LENGTH);
    }
    add_three<<<1, 128>>>(data, lines);
    got = to_host(data, n);
    for (int i = 0; i < n; i++)
        SAME(got[i], host[i] + 6);

    const int width = 64, height = 40;  // 2,560 of the numbers
    CUtensorMap map = tensor_map(data, {CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 2, {width, height}, {}, {WIDTH, HEIGHT}});
    for (int y = 0; y < height; y += HEIGHT)
        for (int x = 0; x < width; x += WIDTH) {
            add_one_to_a_tile<<<1, 128>>>(map, x, y);
            add_to_a_tile_by_ptx<<<1, 96>>>(map, x, y);
        }
    got = to_host(data, n);
    for (int i = 0; i < n; i++)
        SAME(got[i], host[i] + (i < width * height ? 9 : 6));

    int *sums = to_device<int>(NULL, LENGTH);
    CHECK(cudaMemset(sums, 0, LENGTH * sizeof *sums));
    sums_by_ptx<<<3, 64>>>(data, sums, lines);
    int *total = to_host(sums, LENGTH);
    for (int i = 0; i < LENGTH; i++) {
        int sum = 0;
        for (int t = 0; t < lines; t++)
            sum += got[t * LENGTH + i];
        SAME(total[i], sum);
    }
    return 0;
}

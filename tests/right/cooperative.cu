// Cooperative launches: all blocks are there at once, and meet in grid.sync(), which orders what they did before.
#include <cooperative_groups.h>
#include "right.h"

namespace cg = cooperative_groups;

__device__ int halves[2][1000];

// Each round, every number moves to the next place, through memory that all blocks share.
__global__ void rotate(int *numbers, int *other, int rounds)
{
    cg::grid_group grid = cg::this_grid();
    unsigned n = grid.size(), i = grid.thread_rank();
    for (int round = 0; round < rounds; round++) {
        other[i] = numbers[(i + n - 1) % n];
        grid.sync();
        numbers[i] = other[i];
        grid.sync();
    }
}

// One sum per block, then of these: the blocks' threads come to the barrier at different times, some of them never.
__global__ void total(const int *numbers, int n, int *part, int *sum)
{
    __shared__ int here;
    cg::grid_group grid = cg::this_grid();
    if (threadIdx.x == 0)
        here = 0;
    __syncthreads();
    for (int i = grid.thread_rank(); i < n; i += grid.size())
        atomicAdd_block(&here, numbers[i]);
    __syncthreads();
    if (threadIdx.x == 0)
        part[blockIdx.x] = here;
    if (threadIdx.x >= 40)
        return;
    auto token = grid.barrier_arrive();
    grid.barrier_wait(std::move(token));
    if (grid.thread_rank() == 0)
        for (unsigned b = 0; b < grid.num_blocks(); b++)
            *sum += part[b];
}

__global__ void places(int *out)
{
    cg::grid_group grid = cg::this_grid();
    grid.sync();
    dim3 at = grid.thread_index();
    out[grid.thread_rank()] = grid.is_valid() && grid.block_rank() == blockIdx.x + gridDim.x * blockIdx.y &&
                              at.x == blockIdx.x * blockDim.x + threadIdx.x && grid.dim_threads().y == gridDim.y &&
                              grid.dim_blocks().x == gridDim.x && grid.size() == grid.num_threads() &&
                              grid.block_index().y == blockIdx.y;
}

__global__ void is_it_valid(int *out) { *out = cg::this_grid().is_valid(); }

// Blocks of other rounds may be on their way already: variables and flags as well.
__global__ void ping_pong(int *wrong)
{
    unsigned i = blockIdx.x;
    halves[0][i] = 0;
    for (int round = 1; round <= 20; round++) {
        cg::this_grid().sync();
        int next = halves[(round - 1) % 2][(i + 1) % gridDim.x];
        if (next != round - 1)
            atomicAdd(wrong, 1);
        halves[round % 2][i] = round;
    }
}

static cudaLaunchConfig_t configuration(int blocks, int threads, cudaLaunchAttribute *attributes, int n)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.attrs = attributes;
    config.numAttrs = n;
    return config;
}

int main()
{
    const int BLOCKS = 12, THREADS = 64, N = BLOCKS * THREADS, ROUNDS = 5;
    int count, per_sm, cooperative, numbers[N], sum = 0, zero = 0;
    CHECK(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, 0));
    CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    SAME(cooperative, 1);
    for (int i = 0; i < N; i++)
        sum += numbers[i] = 3 * i % 101;
    int *a = to_device(numbers, N), *b = to_device<int>(NULL, N), *result = to_device(&zero, 1);

    int rounds = ROUNDS;
    void *arguments[] = {&a, &b, &rounds};
    CHECK(cudaLaunchCooperativeKernel((void *)rotate, dim3(BLOCKS), dim3(THREADS), arguments, 0, 0));
    int *r = to_host(a, N);
    for (int i = 0; i < N; i++)
        SAME(r[i], numbers[(i + N - ROUNDS) % N]);

    int n = N;
    void *of_total[] = {&a, &n, &b, &result};
    CHECK(cudaLaunchCooperativeKernel(total, BLOCKS, THREADS, of_total));
    SAME(*to_host(result, 1), sum);

    cudaLaunchAttribute attributes[2];
    attributes[0].id = cudaLaunchAttributePriority;
    attributes[0].val.priority = 0;
    attributes[1].id = cudaLaunchAttributeCooperative;
    attributes[1].val.cooperative = 1;
    cudaLaunchConfig_t config = configuration(1, 32, attributes, 2);
    config.gridDim = dim3(3, 2);
    CHECK(cudaLaunchKernelEx(&config, places, b));
    r = to_host(b, 6 * 32);
    for (int i = 0; i < 6 * 32; i++)
        SAME(r[i], 1);

    is_it_valid<<<1, 1>>>(result);
    SAME(*to_host(result, 1), 0);
    CHECK(cudaMemset(result, 0, sizeof(int)));
    config = configuration(33, 1, attributes, 2);
    void *of_ping_pong[] = {&result};
    CHECK(cudaLaunchKernelExC(&config, (void *)ping_pong, of_ping_pong));
    SAME(*to_host(result, 1), 0);

    // All that are resident at once, and one more.
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, rotate, 1024, 0));
    rounds = 1;
    SAME(cudaLaunchCooperativeKernel((void *)rotate, dim3(per_sm * count + 1), dim3(1024), arguments, 0, 0),
         cudaErrorCooperativeLaunchTooLarge);
    SAME(cudaGetLastError(), cudaErrorCooperativeLaunchTooLarge);
    finish();
    return 0;
}

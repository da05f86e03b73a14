// Faults in idioms of real kernels with bulk copies and mbarriers: tests/right/bulk_idioms.cu has the right ways. The first argument
// picks the kernel; a comment `expect NAME: KIND` marks a line that the report on it must name.

#include <cuda/ptx>
#include <stdio.h>
#include <string.h>

namespace ptx = cuda::ptx;

constexpr int THREADS = 1024, TILE = 256;

__device__ void start(uint64_t *bar)
{
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
}

__device__ void load(int *to, const int *from, uint64_t *bar, unsigned expected)
{
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, bar, expected);
    ptx::cp_async_bulk(ptx::space_shared, ptx::space_global, to, from, TILE * sizeof(int), bar);  // expect out_of_turn: race in shared memory
}

// As many threads as a block can have poll for bytes that never come: the report does not keep them waiting.
__global__ void a_crowd_polls(const int *in, int *out)
{
    __shared__ alignas(16) int tile[TILE];
    __shared__ uint64_t bar;
    start(&bar);
    if (threadIdx.x == 0)
        load(tile, in, &bar, 2 * sizeof tile);
    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {  // expect a_crowd_polls: barrier deadlock, in bytes
    }
    out[threadIdx.x] = tile[threadIdx.x % TILE];
}

// A group that takes every other tile asks for its phase although the other group's may not be over: parity cannot tell the two.
__global__ void out_of_turn(const int *in, int *out)
{
    __shared__ alignas(16) int tile[TILE];
    __shared__ uint64_t full, empty;
    int group = threadIdx.x / TILE;
    start(&full);
    start(&empty);
    if (group == 2 && threadIdx.x % TILE == 0)
        for (int i = 0; i < 2; i++) {
            while (i > 0 && !ptx::mbarrier_try_wait_parity(&empty, 0)) {
            }
            load(tile, in + i * TILE, &full, sizeof tile);  // perhaps out_of_turn: race in shared memory
        }
    if (group >= 2)
        return;
    while (!ptx::mbarrier_try_wait_parity(&full, group)) {
    }
    out[threadIdx.x] = tile[threadIdx.x % TILE];  // expect out_of_turn: race in shared memory
    if (threadIdx.x == 0)
        ptx::mbarrier_arrive(&empty);
}

// A flag says that the tile is there, but so far it has only been read out of shared memory.
__global__ void handed_on_too_early(const int *in, int *out)
{
    __shared__ alignas(16) int tile[TILE];
    int *flag = out + TILE;
    if (blockIdx.x == 0) {
        if (threadIdx.x < TILE)
            tile[threadIdx.x] = in[threadIdx.x];
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        if (threadIdx.x == 0) {
            ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, tile, sizeof tile);  // expect handed_on_too_early: race in global memory, in wait_group
            ptx::cp_async_bulk_commit_group();
            ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
            __threadfence();
            atomicExch(flag, 1);
        }
    } else if (threadIdx.x == 0) {
        while (!atomicAdd(flag, 0)) {
        }
        __threadfence();
        out[TILE + 1] = out[TILE - 1];  // expect handed_on_too_early: race in global memory, in wait_group
    }
}

static const struct {
    const char *name;
    void (*kernel)(const int *, int *);
    int blocks;
} kernels[] = {
    {"a_crowd_polls", a_crowd_polls, 1},
    {"out_of_turn", out_of_turn, 1},
    {"handed_on_too_early", handed_on_too_early, 2},
};

int main(int argc, char **argv)
{
    int *in, *out;
    cudaMalloc(&in, 2 * TILE * sizeof *in);
    cudaMalloc(&out, THREADS * sizeof *out);
    for (int i = 0; i < 2 * TILE; i++)
        cudaMemset(in + i, i, sizeof *in);
    cudaMemset(out, 0, THREADS * sizeof *out);
    for (const auto &k : kernels)
        if (argc > 1 && !strcmp(argv[1], k.name))
            k.kernel<<<k.blocks, THREADS>>>(in, out);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    return 0;
}

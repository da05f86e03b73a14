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

static const struct {
    const char *name;
    void (*kernel)(const int *, int *);
} kernels[] = {{"a_crowd_polls", a_crowd_polls}, {"out_of_turn", out_of_turn}};

int main(int argc, char **argv)
{
    int *in, *out;
    cudaMalloc(&in, 2 * TILE * sizeof *in);
    cudaMalloc(&out, THREADS * sizeof *out);
    for (int i = 0; i < 2 * TILE; i++)
        cudaMemset(in + i, i, sizeof *in);
    for (const auto &k : kernels)
        if (argc > 1 && !strcmp(argv[1], k.name))
            k.kernel<<<1, THREADS>>>(in, out);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    return 0;
}

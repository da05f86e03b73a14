// An asynchronous copy by a group.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

namespace cg = cooperative_groups;

__global__ void load(const int *in, int *out)
{
    __shared__ int s[32];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, s, in, sizeof s);  // expect: memcpy_async
    cg::wait(block);
    out[threadIdx.x] = s[threadIdx.x];
}

int main(void)
{
    int *x;
    cudaMalloc(&x, 64 * sizeof *x);
    load<<<1, 32>>>(x, x + 32);
    return cudaDeviceSynchronize();
}

// What programs do that is no fault: the same value stored by many, names that CUDA has too, a launch that a formatter
// spread out, headers that are included and hardly used.
#include <cuda.h>
#include <cuda/std/limits>
#include <cuda/std/type_traits>
#include <memory>
#include "right.h"

__global__ void all_say_so(const int *in, int *any_of_grid, int *out)
{
    __shared__ int any;
    any = 0;  // by every thread
    __syncthreads();
    if (in[threadIdx.x] > 5)
        any = 1;  // by several
    __syncthreads();
    if (any)
        *any_of_grid = 1;  // by several blocks
    out[blockIdx.x * blockDim.x + threadIdx.x] = any;
}

struct three {
    float x, y, z;
};

__global__ void threes(const three *in, three *out)
{
    __shared__ three tile[32];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[31 - threadIdx.x];
}

__noinline__ __device__ int twice(int n) { return 2 * n; }

__global__ void rounded(float *out)
{
    out[0] = __fadd_rz(1.0f, 0x1p-25f);
    out[1] = __fadd_ru(1.0f, 0x1p-25f);
    out[2] = __fdiv_rd(1.0f, 3.0f);
    out[3] = twice(gridDim.x + blockDim.y);
    out[4] = cuda::std::is_same<float, decltype(out[0] + 1)>::value ? cuda::std::numeric_limits<short>::max() : 0;
}

int main()
{
    int numbers[32] = {0}, *flag;
    numbers[3] = numbers[17] = 9;
    int *in = to_device(numbers, 32), *out = to_device<int>(NULL, 4 * 32);
    CHECK(cudaMalloc(&flag, sizeof(int)));
    CHECK(cudaMemset(flag, 0, sizeof(int)));
    dim3 gridDim(4), blockDim(32);
    // clang-format off: as an older one breaks a launch
    all_say_so << <gridDim, blockDim >> > (in, flag, out);
    // clang-format on
    SAME(*to_host(flag, 1), 1);
    SAME(to_host(out, 128)[127], 1);

    three points[32];
    for (int i = 0; i < 32; i++)
        points[i] = {(float)i, 2.0f * i, 3.0f * i};
    three *from = to_device(points, 32), *to = to_device<three>(NULL, 32);
    threes<<<1, 32>>>(from, to);
    SAME(to_host(to, 32)[4].z, 81);

    std::unique_ptr<float[]> none;
    float *few = to_device<float>(NULL, 5);
    rounded<<<dim3(2), dim3(1, 3)>>>(few);
    float *r = to_host(few, 5);
    SAME(r[0] == 1.0f, 1);
    SAME(r[1] == 1.0f + 0x1p-23f, 1);
    SAME(r[2] < 1.0 / 3, 1);
    SAME(r[3], 10);
    SAME(r[4], 32767);
    return 0;
}

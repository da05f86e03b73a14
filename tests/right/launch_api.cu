// Launches by function: kernels by their addresses, arguments by theirs. And what the API says of kernels.
#include "right.h"

struct point {
    double x, y;
    char name[40];
};

template <typename T, int N> __global__ void add(T *out, T value, const T *more)
{
    out[threadIdx.x] = value + *more + N;
}
static __global__ void take(point p, int *out) { *out = p.x + p.y + p.name[39]; }
__global__ void overloaded(int *out) { *out = 1; }
__global__ void overloaded(float *out) { *out = 2; }
__global__ void nothing() {}
__global__ void __launch_bounds__(96) bounded(int *out) { *out = blockDim.x; }
namespace
{
__global__ void dynamic(int *out, short n)
{
    extern __shared__ int s[];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[n - 1 - threadIdx.x];
}
__global__ void unused(int *out) { *out = 3; }
}  // namespace

static int host_function(int *) { return 0; }

int main()
{
    int *out = to_device<int>(NULL, 64), zero = 0;
    double half = 0.5, *doubles = to_device<double>(NULL, 32), *more = to_device(&half, 1), value = 1.25;
    void *of_add[] = {&doubles, &value, &more};
    CHECK(cudaLaunchKernel((const void *)add<double, 3>, dim3(1), dim3(32), of_add, 0, 0));
    SAME(to_host(doubles, 32)[31], 4.75);
    CHECK(cudaLaunchKernel(add<double, 4>, 1, 32, of_add));
    SAME(to_host(doubles, 32)[0], 5.75);

    point p = {1, 2, ""};
    p.name[39] = 4;
    void *of_take[] = {&p, &out};
    CHECK(cudaLaunchKernel((void *)take, 1, 1, of_take, 0, 0));
    SAME(*to_host(out, 1), 7);
    void *of_overloaded[] = {&out};
    CHECK(cudaLaunchKernel((void *)(void (*)(int *))overloaded, 1, 1, of_overloaded, 0, 0));
    SAME(*to_host(out, 1), 1);
    CHECK(cudaLaunchKernel((void *)nothing, 2, 2, NULL, 0, 0));

    short n = 64;
    void *of_dynamic[] = {&out, &n};
    cudaLaunchConfig_t config = {};
    config.gridDim = 1;
    config.blockDim = 64;
    config.dynamicSmemBytes = 64 * sizeof(int);
    CHECK(cudaLaunchKernelExC(&config, (void *)dynamic, of_dynamic));
    SAME(to_host(out, 64)[5], 58);
    CHECK(cudaMemset(out, 0, 64 * sizeof(int)));
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, dynamic, out, 64));  // the int becomes a short
    SAME(to_host(out, 64)[0], 63);
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    CHECK(cudaLaunchKernelEx(&config, dynamic, out, n));

    SAME(cudaLaunchKernel((void *)host_function, 1, 1, of_overloaded, 0, 0), cudaErrorInvalidResourceHandle);
    SAME(cudaGetLastError(), cudaErrorInvalidResourceHandle);
    SAME(cudaLaunchKernel((void *)bounded, 1, 97, of_overloaded, 0, 0) != cudaSuccess, 1);
    SAME(cudaGetLastError() != cudaSuccess, 1);
    SAME(cudaLaunchKernel((void *)nothing, 0, 1, NULL, 0, 0) != cudaSuccess, 1);
    SAME(cudaGetLastError() != cudaSuccess, 1);

    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, bounded));
    SAME(attributes.maxThreadsPerBlock, 96);
    CHECK(cudaFuncGetAttributes(&attributes, nothing));
    SAME(attributes.maxThreadsPerBlock, 1024);
    CHECK(
        cudaFuncSetAttribute(dynamic, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
    CHECK(cudaFuncSetAttribute((void *)dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
    config.dynamicSmemBytes = 60000;
    config.numAttrs = 0;
    CHECK(cudaLaunchKernelExC(&config, (void *)dynamic, of_dynamic));
    int min_grid, block, sms;
    CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaOccupancyMaxPotentialBlockSize(&min_grid, &block, bounded, 0, 0));
    SAME(block <= 96 && block % 32 == 0 && min_grid % sms == 0 && min_grid >= sms, 1);
    CHECK(cudaMemcpy(out, &zero, sizeof zero, cudaMemcpyHostToDevice));
    finish();
    return 0;
}

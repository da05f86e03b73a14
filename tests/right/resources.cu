// What else the runtime offers: registered host memory, memory pools, priorities, and the constants and include guards
// that public code asks for.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math_constants.h>
#include <string.h>
#include "right.h"

#if !defined(__CUDACC__) || !defined(__NVCC__) || __CUDACC_VER_MAJOR__ < 12 || !defined(__CUDACC_VER_MINOR__)
#error "not nvcc's own macros"
#endif
#if !defined(__CUDA_RUNTIME_H__) || !defined(__CUDA_RUNTIME_API_H__) || !defined(__DRIVER_TYPES_H__) || \
    !defined(__VECTOR_TYPES_H__) || !defined(__DEVICE_LAUNCH_PARAMETERS_H__) || !defined(__MATH_CONSTANTS_H__)
#error "not the include guards"
#endif
#if CUDART_VERSION < 12000 || CUDA_VERSION != CUDART_VERSION
#error "not the versions"
#endif

__global__ void twice(int *x, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        x[i] *= 2;
}

__global__ void constants(int *out)
{
    out[0] = CUDART_INF_F > 3e38f && CUDART_NAN_F != CUDART_NAN_F && CUDART_PI_F > 3.14159f && CUDART_INF > 1e308;
    out[0] += __half2float(CUDART_MAX_NORMAL_FP16) == 65504 && __bfloat162float(CUDART_ONE_BF16) == 1;
    out[1] = fabs(CUDART_PI - 3.14159265358979) < 1e-14 && CUDART_MAX_NORMAL_F < CUDART_INF_F &&
             CUDART_LN2 < CUDART_ONE;
}

static void registered(void)
{
    const int N = 1000;
    static int numbers[N], *seen;
    unsigned flags;
    for (int i = 0; i < N; i++)
        numbers[i] = i;
    CHECK(cudaHostRegister(numbers, sizeof numbers, cudaHostRegisterMapped));
    SAME(cudaHostRegister(numbers, 4, cudaHostRegisterDefault), cudaErrorHostMemoryAlreadyRegistered);
    SAME(cudaGetLastError(), cudaErrorHostMemoryAlreadyRegistered);
    CHECK(cudaHostGetFlags(&flags, numbers));
    SAME(flags, cudaHostRegisterMapped);
    CHECK(cudaHostGetDevicePointer((void **)&seen, numbers, 0));
    twice<<<1, 64>>>(seen, N);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < N; i++)
        SAME(numbers[i], 2 * i);
    CHECK(cudaHostUnregister(numbers));
    SAME(cudaHostUnregister(numbers), cudaErrorHostMemoryNotRegistered);
    SAME(cudaGetLastError(), cudaErrorHostMemoryNotRegistered);
}

static void pinned(void)
{
    int *x;
    unsigned flags;
    CHECK(cudaHostAlloc(&x, 64, cudaHostAllocWriteCombined));
    CHECK(cudaHostGetFlags(&flags, x));
    SAME(flags, cudaHostAllocWriteCombined | cudaHostAllocMapped);
    CHECK(cudaFreeHost(x));
    SAME(cudaHostGetFlags(&flags, &flags), cudaErrorInvalidValue);
    SAME(cudaGetLastError(), cudaErrorInvalidValue);
}

static void pools(void)
{
    int *x, h[4] = {1, 2, 3, 4};
    cudaMemPool_t usual, own, now;
    cudaStream_t stream;
    unsigned long long keep = ~0ull, kept = 0;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaDeviceGetDefaultMemPool(&usual, 0));
    CHECK(cudaMemPoolSetAttribute(usual, cudaMemPoolAttrReleaseThreshold, &keep));
    CHECK(cudaMemPoolGetAttribute(usual, cudaMemPoolAttrReleaseThreshold, &kept));
    SAME(kept == keep, 1);
    CHECK(cudaMallocAsync((void **)&x, sizeof h, stream));
    CHECK(cudaMemcpyAsync(x, h, sizeof h, cudaMemcpyHostToDevice, stream));
    twice<<<1, 4, 0, stream>>>(x, 4);
    CHECK(cudaMemcpyAsync(h, x, sizeof h, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(x, stream));
    CHECK(cudaStreamSynchronize(stream));
    SAME(h[3], 8);
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = 0;
    CHECK(cudaMemPoolCreate(&own, &properties));
    CHECK(cudaMallocFromPoolAsync(&x, sizeof h, own, stream));
    CHECK(cudaMemsetAsync(x, 0, sizeof h, stream));
    CHECK(cudaFreeAsync(x, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolTrimTo(own, 0));
    CHECK(cudaDeviceSetMemPool(0, own));
    CHECK(cudaDeviceGetMemPool(&now, 0));
    SAME(now == own, 1);
    CHECK(cudaDeviceSetMemPool(0, usual));
    CHECK(cudaMemPoolDestroy(own));
    CHECK(cudaStreamDestroy(stream));
}

static void questions(void)
{
    int least, greatest, value, priority;
    cudaStream_t stream;
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    SAME(greatest <= least, 1);
    CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
    CHECK(cudaStreamGetPriority(stream, &priority));
    SAME(priority, greatest);
    unsigned flags;
    CHECK(cudaStreamGetFlags(stream, &flags));
    SAME(flags, cudaStreamNonBlocking);
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrGpuOverlap, 0));
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrIntegrated, 0));
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrComputeMode, 0));
    SAME(value != cudaComputeModeProhibited, 1);
    SAME(strcmp(cudaGetErrorName(cudaErrorAssert), "cudaErrorAssert"), 0);
    SAME(strcmp(cudaGetErrorString(cudaErrorCooperativeLaunchTooLarge), "too many blocks in cooperative launch"), 0);
}

int main()
{
    int *out = to_device<int>(NULL, 2);
    constants<<<1, 1>>>(out);
    SAME(to_host(out, 2)[0] + to_host(out, 2)[1], 3);
    registered();
    pinned();
    pools();
    questions();
    finish();
    return 0;
}

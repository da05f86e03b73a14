// Launches: many, by several host threads, with large parameters; those that CUDA refuses, and what it says then.
#include <string.h>
#include <thread>
#include "right.h"

__global__ void nothing() {}
__global__ void one_adds(int *p) { atomicAdd(p, 1); }
__global__ void first_block_writes(int *x)
{
    if (blockIdx.x == 0)
        x[0] = 1;
}
__global__ void second_block_reads(int *x, int *y)
{
    if (blockIdx.x == 1)
        y[0] = x[0];
}

__global__ void dynamic(int *out)
{
    extern __shared__ int stage[];
    stage[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0)
        *out = stage[blockDim.x - 1];
}

__global__ void dynamic_too(int *out)
{
    extern __shared__ int stage[];
    stage[threadIdx.x] = 1;
    out[0] = stage[threadIdx.x];
}

__global__ void static_and_dynamic(int *out)
{
    __shared__ int tile[10000];
    extern __shared__ int stage[];
    tile[threadIdx.x] = stage[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0)
        *out = tile[31] + stage[31];
}

__global__ void __launch_bounds__(128) bounded(int *out)
{
    if (threadIdx.x == 0)
        *out = blockDim.x;
}

struct large {
    int v[1000];
};

__global__ void by_value(large p, int *out)
{
    int sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += p.v[i];
    *out = sum;
}

struct very_large {
    int v[8000];
};

__global__ void by_value_of_31_KiB(__grid_constant__ const very_large p, int *out)
{
    int sum = 0;
    for (int i = 0; i < 8000; i++)
        sum += p.v[i];
    *out = sum;
}

struct named {
    int n;
    int *out;
    const char *name;
};

__global__ void braced(named p) { *p.out = p.n; }
__global__ void two_types(int *p) { *p = 1; }
__global__ void two_types(float *p) { *p = 2; }
__global__ void several(int *out, dim3 d, unsigned n) { *out = d.x + d.y + d.z + n; }
__global__ void perhaps_null(int *out, const float *bias) { *out = bias ? 1 : 5; }
__global__ void small_numbers(int *out, size_t n, unsigned char c) { *out = n + c; }

__global__ void of_which_architecture(int *out)
{
#if __CUDA_ARCH__ >= 700
    *out = 7;
#endif
}

__device__ int words[4] = {1, 2, 3, 4}, behind[4] = {5, 6, 7, 8};
__constant__ int constants[4];

__global__ void look(int *out)
{
    out[0] = words[3];
    out[1] = behind[0];
    out[2] = constants[3];
}

__device__ int device_flag;

__global__ void raise_flag() { device_flag = 3; }
__global__ void read_flag(int *out) { *out = device_flag; }

static int result(const int *out) { return *to_host(out, 1); }

static void refused(cudaError_t want, cudaError_t or_else)
{
    cudaError_t got = cudaGetLastError();
    if (got != or_else)
        SAME(got, want);
    SAME(cudaGetLastError(), cudaSuccess);  // it was told once
    SAME(cudaDeviceSynchronize(), cudaSuccess);
}

int main()
{
    int zero = 0, *out = to_device(&zero, 1), *x = to_device(&zero, 1), *y = to_device(&zero, 1);

    first_block_writes<<<2, 1>>>(x);
    for (int i = 0; i < 65535; i++)
        nothing<<<1, 1>>>();
    second_block_reads<<<2, 1>>>(x, y);  // two launches with a multiple of 65,536 between them are two
    SAME(result(y), 1);

    for (int i = 0; i < 100; i++) {
        char *p;
        CHECK(cudaMalloc(&p, 1 << 30));
        CHECK(cudaFree(p));
    }
    for (int i = 0; i < 20000; i++) {
        char *p;
        CHECK(cudaMalloc(&p, 1000 + i % 3000));
        CHECK(cudaFree(p));
    }

    auto work = [=] {
        for (int i = 0; i < 200; i++)
            one_adds<<<4, 32>>>(out);
    };
    std::thread a(work), b(work);
    a.join();
    b.join();
    SAME(result(out), 2 * 200 * 4 * 32);

    std::thread c([=] {  // each host thread has an error of its own
        dynamic<<<1, 32, 1000000>>>(out);
        SAME(cudaGetLastError() != cudaSuccess, 1);
    });
    c.join();
    CHECK(cudaGetLastError());

    dynamic<<<1, 256, 48 * 1024>>>(out);
    SAME(result(out), 255);
    dynamic<<<1, 256, 60000>>>(out);  // more than 48 KiB, and not asked for
    refused(cudaErrorInvalidValue, cudaErrorInvalidValue);
    CHECK(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
    dynamic<<<1, 128, 60000>>>(out);
    SAME(result(out), 127);
    dynamic<<<1, 128, 60001>>>(out);  // more than was asked for
    refused(cudaErrorInvalidValue, cudaErrorInvalidValue);
    dynamic_too<<<1, 128, 60000>>>(out);  // asked for another kernel
    refused(cudaErrorInvalidValue, cudaErrorInvalidValue);
    SAME(cudaFuncSetAttribute(dynamic_too, cudaFuncAttributeMaxDynamicSharedMemorySize, 10 << 20),
         cudaErrorInvalidValue);
    SAME(cudaGetLastError(), cudaErrorInvalidValue);
    SAME(result(out), 127);
    static_and_dynamic<<<1, 32, 8000>>>(out);
    SAME(result(out), 62);
    static_and_dynamic<<<1, 32, 20000>>>(out);  // 40,000 bytes are there before
    refused(cudaErrorInvalidValue, cudaErrorInvalidValue);

    bounded<<<1, 128>>>(out);
    SAME(result(out), 128);
    bounded<<<1, 256>>>(out);
    refused(cudaErrorInvalidValue, cudaErrorLaunchOutOfResources);
    SAME(result(out), 128);
    bounded<<<1, 2048>>>(out);
    refused(cudaErrorInvalidConfiguration, cudaErrorInvalidValue);
    nothing<<<0, 32>>>();
    refused(cudaErrorInvalidConfiguration, cudaErrorInvalidValue);  // CUDA 13 on an H200 says the second
    nothing<<<1, 0>>>();
    refused(cudaErrorInvalidConfiguration, cudaErrorInvalidValue);  // CUDA 13 on an H200 says the second
    nothing<<<dim3(1, 65536), 1>>>();
    refused(cudaErrorInvalidConfiguration, cudaErrorInvalidValue);  // CUDA 13 on an H200 says the second
    nothing<<<1, dim3(1, 1, 65)>>>();
    refused(cudaErrorInvalidConfiguration, cudaErrorInvalidValue);

    static large p;
    static very_large q;
    for (int &n : p.v)
        n = 2;
    for (int &n : q.v)
        n = 3;
    by_value<<<1, 1>>>(p, out);
    SAME(result(out), 2000);
    by_value_of_31_KiB<<<1, 1>>>(q, out);
    SAME(result(out), 24000);

    braced<<<1, 1>>>({3, out, "x"});
    SAME(result(out), 3);
    braced<<<1, 1>>>(named{4, out, NULL});
    SAME(result(out), 4);
    two_types<<<1, 1>>>(out);
    SAME(result(out), 1);
    two_types<<<1, 1>>>((float *)out);
    SAME(*to_host((float *)out, 1), 2);
    several<<<1, 1>>>(out, {1, 2, 3}, 5);
    SAME(result(out), 11);
    perhaps_null<<<1, 1>>>(out, NULL);
    perhaps_null<<<1, 1>>>(out, nullptr);
    perhaps_null<<<1, 1>>>(out, 0);
    SAME(result(out), 5);
    small_numbers<<<1, 1>>>(out, -1 + 2, 'a');
    SAME(result(out), 98);
    of_which_architecture<<<1, 1>>>(out);
    SAME(result(out), 7);

    int many[8], *seen = to_device<int>(NULL, 3), *got;
    for (int &n : many)
        n = 77;
    SAME(cudaMemcpyToSymbol(words, many, sizeof many), cudaErrorInvalidValue);  // nothing is overwritten
    SAME(cudaMemcpyToSymbol(words, many, 4, 13), cudaErrorInvalidValue);
    SAME(cudaMemcpyToSymbol(constants, many, 17), cudaErrorInvalidValue);
    SAME(cudaMemcpyFromSymbol(many, words, sizeof many), cudaErrorInvalidValue);
    SAME(many[7], 77);
    cudaGetLastError();
    look<<<1, 1>>>(seen);
    got = to_host(seen, 3);
    SAME(got[0], 4);
    SAME(got[1], 5);
    SAME(got[2], 0);
    CHECK(cudaMemcpyToSymbol(words, many, 4, 12));
    look<<<1, 1>>>(seen);
    SAME(to_host(seen, 3)[0], 77);

    raise_flag<<<1, 1>>>();
    read_flag<<<1, 1>>>(out);
    SAME(result(out), 3);
    return 0;
}

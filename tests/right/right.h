// What the right programs share: a check of every CUDA call, and of every result.
#pragma once

#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) check_cuda((call), #call, __FILE__, __LINE__)
#define SAME(got, want) check_same((got), (want), #got, __FILE__, __LINE__)

static inline void check_cuda(cudaError_t error, const char *call, const char *file, int line)
{
    if (error == cudaSuccess)
        return;
    printf("%s:%d: %s: %s\n", file, line, call, cudaGetErrorString(error));
    exit(1);
}

static inline void check_same(double got, double want, const char *what, const char *file, int line)
{
    if (fabs(got - want) <= 1e-5 * fmax(1, fabs(want)))
        return;
    printf("%s:%d: %s is %.9g, not %.9g\n", file, line, what, got, want);
    exit(1);
}

static inline void finish(void)
{
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}

// Device memory that holds a copy of `count` elements, or nothing yet.
template <typename T> static T *to_device(const T *host, int count)
{
    T *device;
    CHECK(cudaMalloc(&device, count * sizeof(T)));
    if (host)
        CHECK(cudaMemcpy(device, host, count * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

template <typename T> static T *to_host(const T *device, int count)
{
    T *host = (T *)malloc(count * sizeof(T));
    finish();
    CHECK(cudaMemcpy(host, device, count * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
}

// Small whole numbers: sums of their products are exact in fp32.
static inline float *numbers(int count, unsigned seed)
{
    float *x = (float *)malloc(count * sizeof(float));
    for (int i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (int)(seed >> 24) % 16 - 5;
    }
    return x;
}

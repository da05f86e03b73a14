// What the programs of faulty clusters share: a main that runs the kernel named by its argument, in one cluster of as many blocks as its
// row says. A kernel is given `in`, 4096 numbers in global memory, and `out`.
#pragma once

#include <string.h>
#include "../cluster.h"

struct faulty {
    const char *name;
    void (*kernel)(const float *, float *);
    int blocks, threads;  // of the cluster, and of a block
};

static inline int run_named(int argc, char **argv, const struct faulty *kernels, int count)
{
    static float numbers[4096];
    for (int i = 0; i < 4096; i++)
        numbers[i] = i;
    float *in, *out;
    cudaMalloc(&in, sizeof numbers);
    cudaMemcpy(in, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    cudaMalloc(&out, sizeof numbers);
    cudaMemset(out, 0, sizeof numbers);
    for (int i = 0; i < count; i++)
        if (argc > 1 && strcmp(argv[1], kernels[i].name) == 0) {
            const struct faulty *k = &kernels[i];
            cudaError_t error = launch_clusters(k->blocks, k->blocks, k->threads, 0, false, k->kernel, in, out);
            if (error != cudaSuccess)
                return error;
        }
    return cudaDeviceSynchronize();
}

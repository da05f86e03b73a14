// A main that runs the kernel named by its argument, as one block. Each kernel is given `out`, an int for each thread.
#pragma once

#include <stdio.h>
#include <string.h>

struct named {
    const char *name;
    void (*kernel)(int *out);
    int threads;
};

#define KERNEL(NAME, THREADS) {#NAME, NAME, THREADS}

static inline int run_named(int argc, char **argv, const struct named *kernels, int count)
{
    const size_t bytes = 1024 * sizeof(int);
    int *out;
    cudaMalloc(&out, bytes);
    cudaMemset(out, 0, bytes);
    for (int i = 0; i < count; i++)
        if (argc > 1 && strcmp(argv[1], kernels[i].name) == 0)
            kernels[i].kernel<<<1, kernels[i].threads>>>(out);
    return cudaDeviceSynchronize();
}

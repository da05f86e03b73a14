// y = a x + y for two arrays of numbers: the first kernel, and everything around it that it takes to run one.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o first_kernel steps/00_first_kernel/first_kernel.cu common/*.c
//   ./learn run 00

#include "axpy.h"

#include <stdlib.h>

constexpr int THREADS = 256;  // of a block

// [kernel] The function that runs on the device, once in each thread: a thread computes one element.
__global__ void axpy(float a,
                     const float *x,  // [n]
                     float *y,        // [n]
                     int n)
{
    // [element]
    // [index] The blocks before this one have the elements before these.
    const int i = blockIdx.x * THREADS + threadIdx.x;

    // [bounds] The last block may have more threads than there are elements left.
    if (i < n)
        y[i] = a * x[i] + y[i];
    // [end element]
}

// [variants]
static const struct variant variants[] = {
    {"thread_per_element", "each thread computes one element of y"},
    {},
};

// [again] The same launch once more, as later steps have it: common/ calls it to check it and to time it.
int launch(const struct axpy_args *args, cudaStream_t stream)
{
    const int n = args->n;
    axpy<<<ceil_div(n, THREADS), THREADS, 0, stream>>>(args->a, (const float *)args->x, (float *)args->y, n);
    return cudaGetLastError();
}

// [main]
int main(int argc, char **argv)
{
    const struct axpy_step step = {
        .name = "00_first_kernel",
        .dtypes = {FP32},
        .arch = "75",
        .variants = variants,
        .launch = launch,
    };

    // [host] Two arrays of n numbers, made up by common/, in the host's memory; and memory for the result.
    const struct axpy_numbers host = axpy_begin(argc, argv, &step);
    const int n = host.n;
    const size_t bytes = n * sizeof(float);
    float *result = (float *)malloc(bytes);  // [n]

    // [allocate] The device has memory of its own.
    float *x, *y;  // [n]
    CUDA(cudaMalloc(&x, bytes));
    CUDA(cudaMalloc(&y, bytes));

    // [copy_in] Copy from the host's memory to the device's.
    CUDA(cudaMemcpy(x, host.x, bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(y, host.y, bytes, cudaMemcpyHostToDevice));

    // [launch] As many blocks as it takes to have a thread for each element. The host goes on at once.
    const int blocks = (n + THREADS - 1) / THREADS;
    axpy<<<blocks, THREADS>>>(host.a, x, y, n);
    // [accepted]
    CUDA(cudaGetLastError());  // whether the launch was accepted

    // [wait] Wait until the device has done all that it was asked for.
    CUDA(cudaDeviceSynchronize());  // whether the kernel ran to its end

    // [copy_out] Copy from the device's memory to the host's.
    CUDA(cudaMemcpy(result, y, bytes, cudaMemcpyDeviceToHost));
    // [free]
    CUDA(cudaFree(x));
    CUDA(cudaFree(y));

    // [check] common/ compares the result with what it should be.
    const int status = axpy_end(result);
    free(result);
    return status;
}

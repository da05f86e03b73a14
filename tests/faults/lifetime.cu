// Device memory used after it was freed, or freed wrongly. The first argument picks the fault; `expect NAME: KIND`
// marks the line that the report must name.

#include <cuda_runtime.h>
#include <stdlib.h>
#include <string.h>

__global__ void read_after_free(const float *in, float *out)
{
    out[threadIdx.x] = in[threadIdx.x];  // expect read_after_free: use after free
}

__global__ void write_after_free(float *out)
{
    out[threadIdx.x] = 1;  // expect write_after_free: use after free
}

static int is(const char *argument, const char *name) { return strcmp(argument, name) == 0; }

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    float *in, *out, *host = (float *)malloc(32 * sizeof(float));
    cudaMalloc(&in, 32 * sizeof(float));
    cudaMalloc(&out, 32 * sizeof(float));
    cudaMemset(in, 0, 32 * sizeof(float));
    if (is(name, "read_after_free")) {
        cudaFree(in);
        read_after_free<<<1, 32>>>(in, out);
    }
    if (is(name, "write_after_free")) {
        cudaFree(out);
        write_after_free<<<1, 32>>>(out);
    }
    if (is(name, "double_free")) {
        cudaFree(in);
        cudaFree(in);  // expect double_free: double free
    }
    if (is(name, "free_of_host_memory"))
        cudaFree(host);  // expect free_of_host_memory: bad free
    if (is(name, "free_of_the_middle"))
        cudaFree(in + 1);  // expect free_of_the_middle: bad free
    return cudaDeviceSynchronize();
}

// Barriers by number that do not do what their numbers say; a result that no kernel has made.
#include <stdio.h>
#include <string.h>

__global__ void two_numbers(int *out)  // the halves never meet
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t;  // expect two_numbers: race in shared memory
    if (t < 32)
        __barrier_sync_count(1, 32);
    else
        __barrier_sync_count(2, 32);
    out[t] = s[63 - t];  // expect two_numbers: race in shared memory
}

__global__ void one_warp_short(int *out)
{
    __barrier_sync_count(4, 64 + out[0]);  // expect one_warp_short: barrier deadlock
    out[threadIdx.x] = 1;
}

__global__ void fill(int *out) { out[threadIdx.x] = 1; }

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int *out, *other, host[64];
    cudaMalloc(&out, 64 * sizeof(int));
    cudaMalloc(&other, 64 * sizeof(int));
    cudaMemset(out, 0, 64 * sizeof(int));
    if (!strcmp(name, "two_numbers"))
        two_numbers<<<1, 64>>>(out);
    if (!strcmp(name, "one_warp_short"))
        one_warp_short<<<1, 32>>>(out);
    if (!strcmp(name, "wrong_buffer")) {
        fill<<<1, 64>>>(out);
        cudaMemcpy(host, other, sizeof host, cudaMemcpyDeviceToHost);  // expect wrong_buffer: uninitialised global memory
        printf("%d\n", host[3]);
    }
    return cudaDeviceSynchronize();
}

// A block adds up its 256 numbers in shared memory. One barrier is missing.
#include <cstdio>

__global__ void sum(const int *in, int *out)
{
    __shared__ int partial[256];
    int i = threadIdx.x;
    // [rounds]
    partial[i] = in[i];
    __syncthreads();
    for (int half = 128; half > 0; half /= 2)
        if (i < half)
            partial[i] += partial[i + half];
    // [end rounds]
    if (i == 0)
        *out = partial[0];
}

int main()
{
    int numbers[256], total, *in, *out;
    for (int i = 0; i < 256; i++)
        numbers[i] = i;
    cudaMalloc(&in, sizeof numbers);
    cudaMalloc(&out, sizeof total);
    cudaMemcpy(in, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    sum<<<1, 256>>>(in, out);
    cudaMemcpy(&total, out, sizeof total, cudaMemcpyDeviceToHost);
    printf("%d, and should be %d\n", total, 255 * 256 / 2);
}

// A block adds up its 256 sums as step 01 does. The barrier after the first store is missing.
#include <cstdio>

constexpr int THREADS = 256;  // of a block

__global__ void sum_by_tree(const float *x,  // [THREADS]
                            float *total)    // [1], 0 at first
{
    __shared__ float partial[THREADS];
    partial[threadIdx.x] = x[threadIdx.x];
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();  // this round's sums are stored before the next round reads them
    }
    if (threadIdx.x == 0)
        atomicAdd(total, partial[0]);
}

int main()
{
    float numbers[THREADS], sum = 0, *x, *total;
    for (int i = 0; i < THREADS; i++)
        numbers[i] = i;
    cudaMalloc(&x, sizeof numbers);
    cudaMalloc(&total, sizeof sum);
    cudaMemcpy(x, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    cudaMemcpy(total, &sum, sizeof sum, cudaMemcpyHostToDevice);
    sum_by_tree<<<1, THREADS>>>(x, total);
    cudaMemcpy(&sum, total, sizeof sum, cudaMemcpyDeviceToHost);
    printf("%g, and should be %d\n", sum, THREADS * (THREADS - 1) / 2);
}

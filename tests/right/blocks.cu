// Blocks that share global memory as CUDA allows: atomics, a fence and a counter, volatile flags, neighbouring bytes.
#include "right.h"

__device__ unsigned finished;

__global__ void last_block(const int *in, int *part,
                           int *out)  // the reduction of the CUDA guide, "Memory Fence Functions"
{
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        part[blockIdx.x] = in[blockIdx.x];
        __threadfence();
        is_last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0) {
        int sum = 0;
        for (unsigned i = 0; i < gridDim.x; i++)
            sum += part[i];
        *out = sum;
    }
}

__global__ void by_cas(int *out)  // begins with a plain load, as the guide's own loops do
{
    int old = *out, assumed;
    do {
        assumed = old;
        old = atomicCAS(out, assumed, assumed + 1);
    } while (old != assumed);
}

__global__ void neighbouring_bytes(char *out) { out[blockIdx.x] = (char)blockIdx.x; }

__global__ void own_elements(int *out) { out[blockIdx.x * blockDim.x + threadIdx.x] += 1; }

int main()
{
    const int BLOCKS = 64;
    int numbers[BLOCKS], sum = 0, *in, *part, *out;
    char bytes[BLOCKS], *letters;
    for (int i = 0; i < BLOCKS; i++) {
        numbers[i] = 3 * i + 1;
        sum += numbers[i];
    }
    CHECK(cudaMalloc(&in, sizeof numbers));
    CHECK(cudaMalloc(&part, sizeof numbers));
    CHECK(cudaMalloc(&out, sizeof numbers));
    CHECK(cudaMalloc(&letters, BLOCKS));
    CHECK(cudaMemcpy(in, numbers, sizeof numbers, cudaMemcpyHostToDevice));

    int result;
    for (int time = 0; time < 2; time++) {
        last_block<<<BLOCKS, 32>>>(in, part, out);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost));
        SAME(result, sum);
    }
    CHECK(cudaMemset(out, 0, sizeof numbers));
    by_cas<<<BLOCKS, 32>>>(out);
    CHECK(cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost));
    SAME(result, 32 * BLOCKS);

    neighbouring_bytes<<<BLOCKS, 1>>>(letters);
    CHECK(cudaMemcpy(bytes, letters, BLOCKS, cudaMemcpyDeviceToHost));
    for (int i = 0; i < BLOCKS; i++)
        SAME(bytes[i], i);

    CHECK(cudaMemset(out, 0, sizeof numbers));
    own_elements<<<BLOCKS / 16, 16>>>(out);
    own_elements<<<BLOCKS / 32, 32>>>(out);  // another launch: what came before it is over
    CHECK(cudaMemcpy(numbers, out, sizeof numbers, cudaMemcpyDeviceToHost));
    for (int i = 0; i < BLOCKS; i++)
        SAME(numbers[i], 2);
    return 0;
}

// How far the max of a row may lie below the max that its P are computed with: one row of 32 keys, P in 16 bits.
//
//   ./learn emulate steps/16_flash_wmma_warp_max/fp16_range.cu

#include <cuda_fp16.h>
#include <math.h>
#include <stdio.h>

// The row's weighted mean of the values 1 … 32, when its largest P is 2^largest. A lane has one key; its score lies up to 3
// powers of two below the row's max.
__global__ void mean(const float *largest,  // [gridDim.x]
                     float *result)         // [gridDim.x]
{
    const int lane = threadIdx.x;
    const float p = exp2f(largest[blockIdx.x] - lane * 7 % 32 / 10.0f);
    float sum = p, values = float(half(p)) * (lane + 1);
    for (int offset = 1; offset < 32; offset *= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
        values += __shfl_xor_sync(0xffffffff, values, offset);
    }
    if (lane == 0)
        result[blockIdx.x] = values / sum;
}

static double exact(void)
{
    double sum = 0, values = 0;
    for (int key = 0; key < 32; key++) {
        const double p = exp2(-(key * 7 % 32) / 10.0);
        sum += p;
        values += p * (key + 1);
    }
    return values / sum;
}

int main(void)
{
    const int below[] = {0, 10, 15, 18, 22, 26, 30, 33, 37, 41}, COUNT = sizeof below / sizeof *below;
    float *largest, *result;
    if (cudaMallocManaged(&largest, 2 * COUNT * sizeof *largest) ||
        cudaMallocManaged(&result, 2 * COUNT * sizeof *result))
        return 1;
    for (int i = 0; i < COUNT; i++) {
        largest[i] = -below[i];
        largest[COUNT + i] = 15 - below[i];
    }
    mean<<<2 * COUNT, 32>>>(largest, result);
    if (cudaDeviceSynchronize())
        return 1;
    printf("error of a row whose max lies g powers of two below m\n\n");
    printf("  g   P = 2^(s - m)   P = 2^(s - m + 15)\n");
    for (int i = 0; i < COUNT; i++)
        printf("%3d %15.1e %20.1e\n", below[i], fabs(result[i] / exact() - 1), fabs(result[COUNT + i] / exact() - 1));
    return 0;
}

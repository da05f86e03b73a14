// Collectives of a warpgroup, which no instruction reaches yet: rows.c has two. The first argument picks the kernel; `right`
// and `product` are right, and of the others `expect NAME: KIND` marks the lines that the report must name.

#include <cuda_fp16.h>
#include <stdio.h>
#include <string.h>

extern "C" SIMT_NOMERGE int warpgroup_sum(int value, unsigned operands);
extern "C" SIMT_NOMERGE void warpgroup_product(const unsigned short *a, const unsigned short *b, float *sums);

// Two warpgroups, which need not meet each other, and whose warps come in another order each time: one lets the others go first.
__global__ void right(int *out)
{
    int t = threadIdx.x, warp = t / 32, sum = 0;
    for (int i = 0; i < 4; i++) {
        if (warp % 4 == i)
            __nanosleep(1000);
        if (t < 128 || i % 2)
            sum += warpgroup_sum(t + i, i);
        if (i == 1)
            __syncthreads();
    }
    out[t] = sum;
}

__global__ void product(const half *a, const half *b, float *c)
{
    float sums[128];
    int lane = threadIdx.x;
    for (int i = 0; i < 128; i++)
        sums[i] = 1;
    for (int twice = 0; twice < 2; twice++)
        warpgroup_product((const unsigned short *)a, (const unsigned short *)b, sums);
    for (int i = 0; i < 128; i++)
        c[(lane / 32 * 16 + i % 4 / 2 * 8 + lane % 32 / 4) * 256 + i / 4 * 8 + lane % 4 * 2 + i % 2] = sums[i];
}

__global__ void a_warp_is_elsewhere(int *out)
{
    int t = threadIdx.x;
    if (t / 32 != 2)
        out[t] = warpgroup_sum(t, 0);  // expect a_warp_is_elsewhere: barrier deadlock
    __syncthreads();                   // expect a_warp_is_elsewhere: barrier deadlock
}

// Its last lane to leave finds that all who are left wait.
__global__ void a_warp_has_left(int *out)
{
    int t = threadIdx.x;
    if (t / 32 == 3)
        return;
    out[t] = warpgroup_sum(t, 0);  // expect a_warp_has_left: divergent collective
}

__global__ void a_lane_leaves_last(int *out)
{
    int t = threadIdx.x;
    if (t == 127)
        return;
    out[t] = warpgroup_sum(t, 0);  // expect a_lane_leaves_last: divergent collective
}

__global__ void other_operands(int *out)
{
    int t = threadIdx.x;
    out[t] = warpgroup_sum(t, t / 32 == 3);  // expect other_operands: divergent collective
}

__global__ void two_lines(int *out)
{
    int t = threadIdx.x;
    if (t < 64)
        out[t] = warpgroup_sum(t, 0);  // expect two_lines: divergent collective
    else
        out[t] = warpgroup_sum(t, 0);  // expect two_lines: divergent collective
}

__global__ void too_few(int *out)
{
    out[threadIdx.x] = warpgroup_sum(1, 0);  // expect too_few: divergent collective
}

static int is(const char *argument, const char *name) { return strcmp(argument, name) == 0; }

static int multiply()
{
    enum { M = 64, N = 256, K = 16 };
    half *a, *b;
    float *c;
    int wrong = 0;
    cudaMallocManaged(&a, M * K * sizeof *a);
    cudaMallocManaged(&b, K * N * sizeof *b);
    cudaMallocManaged(&c, M * N * sizeof *c);
    for (int i = 0; i < M * K; i++)
        a[i] = __float2half((float)(i % 7 - 3));
    for (int i = 0; i < K * N; i++)
        b[i] = __float2half((float)(i % 5 - 2));
    product<<<1, 128>>>(a, b, c);
    if (cudaDeviceSynchronize())
        return 1;
    for (int i = 0; i < M * N; i++) {
        float sum = 1;
        for (int k = 0; k < K; k++)
            sum += 2 * __half2float(a[i / N * K + k]) * __half2float(b[k * N + i % N]);
        wrong += c[i] != sum;
    }
    printf("%d of %d sums are wrong\n", wrong, M * N);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int *out;
    cudaMallocManaged(&out, 256 * sizeof *out);
    if (is(name, "product"))
        return multiply();
    if (is(name, "right"))
        right<<<1, 256>>>(out);
    if (is(name, "a_warp_is_elsewhere"))
        a_warp_is_elsewhere<<<1, 128>>>(out);
    if (is(name, "a_warp_has_left"))
        a_warp_has_left<<<1, 256>>>(out);
    if (is(name, "a_lane_leaves_last"))
        a_lane_leaves_last<<<1, 128>>>(out);
    if (is(name, "other_operands"))
        other_operands<<<1, 128>>>(out);
    if (is(name, "two_lines"))
        two_lines<<<1, 128>>>(out);
    if (is(name, "too_few"))
        too_few<<<1, 96>>>(out);
    if (cudaDeviceSynchronize())
        return 1;
    printf("%d %d\n", out[0], out[255]);
    return 0;
}

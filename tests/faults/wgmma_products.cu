// Products of a warpgroup whose operands, accumulators or threads are not as they must be. `expect NAME: KIND` marks the lines
// that the report must name; `right` has no fault.

#include <cuda_fp16.h>
#include <string.h>

#include "../wgmma.h"

enum { M = 64,
       N = 64,
       K = 64 };

struct tiles {
    alignas(1024) half A[M * K], B[2][N * K];
};

// As a swizzle of 128 bytes has them.
static __device__ __forceinline__ void fill(half *tile, int rows)
{
    for (int i = threadIdx.x; i < rows * K; i += blockDim.x)
        tile[i / K * K + (i % K / 8 ^ i / K % 8) * 8 + i % 8] = __float2half((float)(i % 5));
}

static __device__ __forceinline__ tiles *filled(void)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    tiles *t = (tiles *)memory;
    fill(t->A, M);
    fill(t->B[0], N);
    fill(t->B[1], N);
    FENCE_ASYNC();
    __syncthreads();
    return t;
}

#define MULTIPLY(D, A, B) \
    WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 0, 0", D, descriptor_128(A), descriptor_128(B), 1)
#define MULTIPLY_BY(D, A, B) \
    WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 0, 0", D, A, B, 1)
#define MULTIPLY_INTO(D, A, B, SCALE) \
    WGMMA_SS("m64n64k16.f32.f16.f16", 32, "=f", ", 1, 1, 0, 0", D, descriptor_128(A), descriptor_128(B), SCALE)
#define MULTIPLY_HALF(D, A, B) \
    WGMMA_SS("m64n32k16.f32.f16.f16", 16, "+f", ", 1, 1, 0, 0", D, descriptor_128(A), descriptor_128(B), 1)
#define MULTIPLY_REGISTERS(D, A, B) WGMMA_RS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 0", D, A, descriptor_128(B), 1)

static __device__ __forceinline__ void keep(float *out, const float *d)
{
    for (int i = 0; i < 32; i++)
        out[row_of(i) * N + column_of(i)] = d[i];
}

__global__ void right(float *out)
{
    tiles *t = filled();
    float d[32] = {}, e[32] = {};
    unsigned a[4] = {0x3c003c00, 0x3c003c00, 0x3c003c00, 0x3c003c00};
    WGMMA_FENCE();
    MULTIPLY(d, t->A, t->B[0]);
    MULTIPLY(d, t->A + 16, t->B[0] + 16);
    MULTIPLY_REGISTERS(e, a, t->B[1]);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(d);
    stay(e);
    for (int i = 0; i < 32; i++)
        d[i] += e[i];
    keep(out, d);
}

// ---- accumulators ----

__global__ void sums_without_a_value(float *out)
{
    tiles *t = filled();
    float d[32];
    WGMMA_FENCE();
    MULTIPLY_INTO(d, t->A, t->B[0], 0);
    MULTIPLY_INTO(d, t->A + 16, t->B[0] + 16, 1);  // expect sums_without_a_value: accumulator without a value
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    keep(out, d);
}

__global__ void read_early(float *out)
{
    tiles *t = filled();
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, t->A, t->B[0]);  // expect read_early: accumulator in flight
    WGMMA_COMMIT();
    out[threadIdx.x] = d[7];  // expect read_early: accumulator in flight
    WGMMA_WAIT(0);
    keep(out, d);
}

__global__ void written_early(float *out)
{
    tiles *t = filled();
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, t->A, t->B[0]);  // expect written_early: accumulator in flight
    WGMMA_COMMIT();
    d[threadIdx.x % 32] = 1;  // expect written_early: accumulator in flight
    WGMMA_WAIT(0);
    keep(out, d);
}

__global__ void not_committed(float *out)
{
    tiles *t = filled();
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, t->A, t->B[0]);  // expect not_committed: accumulator in flight
    WGMMA_WAIT(0);               // expect not_committed: accumulator in flight
    out[threadIdx.x] = d[3];     // expect not_committed: accumulator in flight
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
}

__global__ void one_group_left(float *out)
{
    tiles *t = filled();
    float d[32] = {}, e[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, t->A, t->B[0]);
    WGMMA_COMMIT();
    MULTIPLY(e, t->A, t->B[1]);  // expect one_group_left: accumulator in flight
    WGMMA_COMMIT();
    WGMMA_WAIT(1);  // expect one_group_left: accumulator in flight
    out[threadIdx.x] = d[0];
    out[threadIdx.x] += e[0];  // expect one_group_left: accumulator in flight
    WGMMA_WAIT(0);
}

__global__ void in_another_shape(float *out)
{
    tiles *t = filled();
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, t->A, t->B[0]);       // expect in_another_shape: accumulator in flight
    MULTIPLY_HALF(d, t->A, t->B[0]);  // expect in_another_shape: accumulator in flight
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    keep(out, d);
}

__global__ void never_waited_for(float *out)
{
    tiles *t = filled();
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, t->A, t->B[0]);  // expect never_waited_for: product unfinished
    WGMMA_COMMIT();
}

__global__ void not_committed_at_the_end(float *out)
{
    tiles *t = filled();
    float d[32] = {}, e[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, t->A, t->B[0]);
    WGMMA_COMMIT();
    MULTIPLY(e, t->A, t->B[0]);  // expect not_committed_at_the_end: product unfinished
    WGMMA_WAIT(0);
    keep(out, d);
}

// ---- registers of A ----

__global__ void a_changed(float *out)
{
    tiles *t = filled();
    float d[32] = {};
    unsigned a[4] = {1, 2, 3, 4};
    WGMMA_FENCE();
    MULTIPLY_REGISTERS(d, a, t->B[0]);  // expect a_changed: operand register in flight
    WGMMA_COMMIT();
    a[threadIdx.x % 4] = 5;  // expect a_changed: operand register in flight
    WGMMA_WAIT(0);
    keep(out, d);
    out[0] = (float)a[1];
}

// ---- fences ----

__global__ void no_fence(float *out)
{
    tiles *t = filled();
    float d[32] = {};
    MULTIPLY(d, t->A, t->B[0]);  // expect no_fence: missing wgmma.fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    keep(out, d);
}

__global__ void changed_behind_the_fence(float *out)
{
    tiles *t = filled();
    float d[32] = {};
    WGMMA_FENCE();
    for (int twice = 0; twice < 2; twice++) {
        MULTIPLY(d, t->A, t->B[0]);  // expect changed_behind_the_fence: missing wgmma.fence
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        for (int i = 0; i < 32; i++)
            d[i] *= 0.5f;  // expect changed_behind_the_fence: missing wgmma.fence
    }
    keep(out, d);
}

__global__ void a_behind_the_fence(float *out)
{
    tiles *t = filled();
    float d[32] = {};
    unsigned a[4] = {1, 2, 3, 4};
    WGMMA_FENCE();
    a[threadIdx.x % 4] = 5;             // expect a_behind_the_fence: missing wgmma.fence
    MULTIPLY_REGISTERS(d, a, t->B[0]);  // expect a_behind_the_fence: missing wgmma.fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    keep(out, d);
}

// ---- operands in shared memory ----

__global__ void rewritten(float *out)
{
    tiles *t = filled();
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, t->A, t->B[0]);  // expect rewritten: source overwritten in flight
    WGMMA_COMMIT();
    t->B[0][threadIdx.x] = __float2half(1);  // expect rewritten: source overwritten in flight
    WGMMA_WAIT(0);
    keep(out, d);
}

__global__ void rewritten_too_early(float *out)
{
    tiles *t = filled();
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, t->A, t->B[0]);
    WGMMA_COMMIT();
    MULTIPLY(d, t->A, t->B[1]);  // expect rewritten_too_early: source overwritten in flight
    WGMMA_COMMIT();
    WGMMA_WAIT(1);  // expect rewritten_too_early: source overwritten in flight
    __syncthreads();
    t->B[1][threadIdx.x] = __float2half(1);  // expect rewritten_too_early: source overwritten in flight
    WGMMA_WAIT(0);
    keep(out, d);
}

__global__ void refilled_by_others(float *out)
{
    __shared__ volatile int done;
    tiles *t = filled();
    float d[32] = {};
    done = 0;
    __syncthreads();
    if (threadIdx.x < 128) {
        WGMMA_FENCE();
        MULTIPLY(d, t->A, t->B[0]);  // expect refilled_by_others: race in shared memory
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        done = 1;
        keep(out, d);
    } else {
        while (!done)
            ;
        t->B[0][threadIdx.x - 128] = __float2half(1);  // expect refilled_by_others: race in shared memory
    }
}

__global__ void not_behind_the_fill(float *out)
{
    tiles *t = filled();
    float d[32] = {};
    if (threadIdx.x >= 32)
        fill(t->B[1], N);  // perhaps not_behind_the_fill: race in shared memory
    else
        t->B[1][threadIdx.x] = __float2half(7);  // expect not_behind_the_fill: race in shared memory
    FENCE_ASYNC();
    WGMMA_FENCE();
    MULTIPLY(d, t->A, t->B[1]);  // expect not_behind_the_fill: race in shared memory
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    keep(out, d);
}

__global__ void no_proxy_fence(float *out)
{
    tiles *t = filled();
    float d[32] = {};
    t->A[threadIdx.x] = __float2half(2);  // expect no_proxy_fence: missing proxy fence
    __syncthreads();
    WGMMA_FENCE();
    MULTIPLY(d, t->A, t->B[0]);  // expect no_proxy_fence: missing proxy fence
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    keep(out, d);
}

__global__ void beyond_the_array(float *out)
{
    __shared__ __align__(1024) half last[(N - 8) * K];
    tiles *t = filled();
    float d[32] = {};
    fill(last, N - 8);
    FENCE_ASYNC();
    __syncthreads();
    WGMMA_FENCE();
    MULTIPLY(d, t->A, last);  // expect beyond_the_array: out of bounds, in last
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    keep(out, d);
}

__global__ void stride_of_another(float *out)
{
    tiles *t = filled();
    float d[32] = {};
    uint64_t b = descriptor(t->B[1], 16, 2048, SWIZZLE_128);
    WGMMA_FENCE();
    MULTIPLY_BY(d, descriptor_128(t->A), b);  // expect stride_of_another: out of bounds
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    keep(out, d);
}

// ---- threads ----

__global__ void another_descriptor(float *out)
{
    tiles *t = filled();
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, t->A, t->B[threadIdx.x / 32 == 2]);  // expect another_descriptor: divergent collective
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    keep(out, d);
}

__global__ void another_scale(float *out)
{
    tiles *t = filled();
    float d[32] = {};
    WGMMA_FENCE();
    WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 0, 0", d, descriptor_128(t->A), descriptor_128(t->B[0]),  // expect another_scale: divergent collective
             threadIdx.x < 64);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    keep(out, d);
}

__global__ void commits_differ(float *out)
{
    tiles *t = filled();
    float d[32] = {};
    WGMMA_FENCE();
    for (int k = 0; k < K; k += 16) {
        MULTIPLY(d, t->A + k, t->B[0] + k);  // expect commits_differ: divergent collective
        if (threadIdx.x < 96)
            WGMMA_COMMIT();
    }
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    keep(out, d);
}

__global__ void another_line(float *out)
{
    tiles *t = filled();
    float d[32] = {};
    WGMMA_FENCE();
    if (threadIdx.x < 96)
        MULTIPLY(d, t->A, t->B[0]);  // expect another_line: divergent collective
    else
        MULTIPLY(d, t->A, t->B[0]);  // expect another_line: divergent collective
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    keep(out, d);
}

__global__ void a_warp_is_elsewhere(float *out)
{
    tiles *t = filled();
    float d[32] = {};
    WGMMA_FENCE();
    if (threadIdx.x / 32 != 1)
        MULTIPLY(d, t->A, t->B[0]);  // expect a_warp_is_elsewhere: barrier deadlock
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    __syncthreads();  // expect a_warp_is_elsewhere: barrier deadlock
    keep(out, d);
}

__global__ void too_few(float *out)
{
    tiles *t = filled();
    float d[32] = {};
    WGMMA_FENCE();
    MULTIPLY(d, t->A, t->B[0]);  // expect too_few: divergent collective
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    keep(out, d);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*kernel)(float *);
        int threads;
    } kernels[] = {{"right", right, 128},
                   {"sums_without_a_value", sums_without_a_value, 128},
                   {"read_early", read_early, 128},
                   {"written_early", written_early, 128},
                   {"not_committed", not_committed, 128},
                   {"one_group_left", one_group_left, 128},
                   {"in_another_shape", in_another_shape, 128},
                   {"never_waited_for", never_waited_for, 128},
                   {"not_committed_at_the_end", not_committed_at_the_end, 128},
                   {"a_changed", a_changed, 128},
                   {"no_fence", no_fence, 128},
                   {"changed_behind_the_fence", changed_behind_the_fence, 128},
                   {"a_behind_the_fence", a_behind_the_fence, 128},
                   {"rewritten", rewritten, 128},
                   {"rewritten_too_early", rewritten_too_early, 128},
                   {"refilled_by_others", refilled_by_others, 160},
                   {"not_behind_the_fill", not_behind_the_fill, 128},
                   {"no_proxy_fence", no_proxy_fence, 128},
                   {"beyond_the_array", beyond_the_array, 128},
                   {"stride_of_another", stride_of_another, 128},
                   {"another_descriptor", another_descriptor, 128},
                   {"another_scale", another_scale, 128},
                   {"commits_differ", commits_differ, 128},
                   {"another_line", another_line, 128},
                   {"a_warp_is_elsewhere", a_warp_is_elsewhere, 128},
                   {"too_few", too_few, 96}};
    const char *name = argc > 1 ? argv[1] : "";
    float *out;
    cudaMalloc(&out, M * N * sizeof *out);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(name, kernels[i].name) == 0)
            kernels[i].kernel<<<1, kernels[i].threads, sizeof(tiles)>>>(out);
    return cudaDeviceSynchronize() || cudaGetLastError();
}

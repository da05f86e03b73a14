// Variables that stand for registers of wgmma.mma_async, touched too early, changed behind a fence, or gone. The first
// argument picks the kernel; a comment `expect NAME: KIND` marks a line that the report on it must name.
// tests/right/product_registers.cu has the right ways.

#include <cuda_fp16.h>
#include <string.h>
#include "../hopper.h"
#include "../wgmma.h"

struct operands {  // in core matrices of 8 rows of 16 bytes, one behind the other
    half A[64 * 16], B[8 * 16];
};

static __device__ operands *laid_out()
{
    __shared__ __align__(128) operands o;
    for (int i = threadIdx.x; i < 64 * 16; i += 128)
        o.A[i] = __int2half_rn(i % 3);
    o.B[threadIdx.x] = __int2half_rn(1);
    FENCE_ASYNC_SHARED();
    __syncthreads();
    return &o;
}

#define DESCRIPTOR(X) descriptor(X, 128, 256, PLAIN)
#define FROM_SHARED(D) \
    WGMMA_SS("m64n8k16.f32.f16.f16", 4, "+f", ", 1, 1, 0, 0", D, DESCRIPTOR(o->A), DESCRIPTOR(o->B), 1)
#define FROM_REGISTERS(D, A) WGMMA_RS("m64n8k16.f32.f16.f16", 4, "+f", ", 1, 1, 0", D, A, DESCRIPTOR(o->B), 1)
#define WAIT(GROUPS) \
    do { \
        WGMMA_COMMIT(); \
        WGMMA_WAIT(GROUPS); \
    } while (0)

struct fragment {
    int unused;
    float d[4];
};

static __device__ float sum(const float (&d)[4]) { return d[0] + d[1] + d[2] + d[3]; }

// ---- accumulators in flight ----

__global__ void read_before_the_wait(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
    WGMMA_FENCE();
    FROM_SHARED(d);  // expect read_before_the_wait: accumulator in flight
    WGMMA_COMMIT();
    out[threadIdx.x] = d[2];  // expect read_before_the_wait: accumulator in flight, in missing
    WGMMA_WAIT(0);
}

__global__ void read_behind_too_little(float *out)
{
    operands *o = laid_out();
    float d[4] = {}, e[4] = {};
    WGMMA_FENCE();
    FROM_SHARED(d);
    WGMMA_COMMIT();
    FROM_SHARED(e);  // expect read_behind_too_little: accumulator in flight
    WGMMA_COMMIT();
    WGMMA_WAIT(1);  // perhaps read_behind_too_little: accumulator in flight
    out[threadIdx.x] = sum(d);
    out[threadIdx.x] += e[0];  // expect read_behind_too_little: accumulator in flight, in last
    WGMMA_WAIT(0);
}

__global__ void read_uncommitted(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
    WGMMA_FENCE();
    FROM_SHARED(d);           // expect read_uncommitted: accumulator in flight
    WGMMA_WAIT(0);            // perhaps read_uncommitted: accumulator in flight
    out[threadIdx.x] = d[0];  // expect read_uncommitted: accumulator in flight, in committed
}

__global__ void read_by_a_function(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
    WGMMA_FENCE();
    FROM_SHARED(d);  // expect read_by_a_function: accumulator in flight
    WGMMA_COMMIT();
    float s = 0;
    for (const float &x : d)
        s += x;  // expect read_by_a_function: accumulator in flight
    out[threadIdx.x] = s;
    WGMMA_WAIT(0);
}

__global__ void scaled_in_flight(float *out)
{
    operands *o = laid_out();
    fragment f = {};
    WGMMA_FENCE();
    FROM_SHARED(f.d);  // expect scaled_in_flight: accumulator in flight
    WGMMA_COMMIT();
    for (int i = 0; i < 4; i++)
        f.d[i] *= 2;  // expect scaled_in_flight: accumulator in flight
    WGMMA_WAIT(0);
    out[threadIdx.x] = sum(f.d);
}

__global__ void cleared_in_flight(float *out)
{
    operands *o = laid_out();
    float d[2][4] = {};
    WGMMA_FENCE();
    for (int i = 0; i < 2; i++)
        FROM_SHARED(d[i]);  // expect cleared_in_flight: accumulator in flight
    d[1][3] = 0;            // expect cleared_in_flight: accumulator in flight
    WAIT(0);
    out[threadIdx.x] = sum(d[0]) + sum(d[1]);
}

__global__ void copied_in_flight(float *out)
{
    operands *o = laid_out();
    fragment f = {}, copy;
    WGMMA_FENCE();
    FROM_SHARED(f.d);  // expect copied_in_flight: accumulator in flight
    WGMMA_COMMIT();
    copy = f;  // expect copied_in_flight: accumulator in flight
    WGMMA_WAIT(0);
    out[threadIdx.x] = sum(copy.d);
}

__global__ void moved_in_flight(float *out, int bytes)
{
    operands *o = laid_out();
    float d[4] = {}, copy[4];
    WGMMA_FENCE();
    FROM_SHARED(d);  // expect moved_in_flight: accumulator in flight
    WGMMA_COMMIT();
    memcpy(copy, d, bytes);  // expect moved_in_flight: accumulator in flight
    WGMMA_WAIT(0);
    out[threadIdx.x] = sum(copy);
}

__global__ void operand_of_another_statement(float *out)
{
    operands *o = laid_out();
    float d[4] = {}, e;
    WGMMA_FENCE();
    FROM_SHARED(d);                                         // expect operand_of_another_statement: accumulator in flight
    asm volatile("neg.f32 %0, %1;" : "=f"(e) : "f"(d[1]));  // expect operand_of_another_statement: accumulator in flight
    WAIT(0);
    out[threadIdx.x] = e;
}

__global__ void result_of_another_statement(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
    WGMMA_FENCE();
    FROM_SHARED(d);                                        // expect result_of_another_statement: accumulator in flight
    asm volatile("mov.f32 %0, 0f00000000;" : "=f"(d[1]));  // expect result_of_another_statement: accumulator in flight
    WAIT(0);
    out[threadIdx.x] = sum(d);
}

static __device__ __noinline__ void lost(const operands *o)
{
    float d[4] = {};
    WGMMA_FENCE();
    FROM_SHARED(d);  // expect left_by_its_function: accumulator in flight
    WGMMA_COMMIT();
}
__global__ void left_by_its_function(float *out)
{
    lost(laid_out());
    WGMMA_WAIT(0);  // expect left_by_its_function: accumulator in flight
}

static __device__ __noinline__ fragment returned(const operands *o, fragment f)
{
    WGMMA_FENCE();
    FROM_SHARED(f.d);  // expect returned_in_flight: accumulator in flight
    WGMMA_COMMIT();
    return f;  // expect returned_in_flight: accumulator in flight
}
__global__ void returned_in_flight(float *out)
{
    operands *o = laid_out();
    fragment f = {};
    f = returned(o, f);
    WGMMA_WAIT(0);
    out[threadIdx.x] = sum(f.d);
}

// ---- registers of A in flight ----

__global__ void next_a_too_early(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
    uint32_t a[4] = {1, 2, 3, 4};
    WGMMA_FENCE();
    FROM_REGISTERS(d, a);  // expect next_a_too_early: operand register in flight
    WGMMA_COMMIT();
    a[3] = threadIdx.x;  // expect next_a_too_early: operand register in flight
    WGMMA_WAIT(0);
    out[threadIdx.x] = sum(d) + a[3];
}

static __device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], const operands *o)
{
    FROM_REGISTERS(d, a);  // expect loaded_in_a_loop: operand register in flight
}
__global__ void loaded_in_a_loop(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
    uint32_t a[4];
#pragma unroll 1
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 4; i++)
            a[i] = ((const uint32_t *)o->A)[threadIdx.x + i + k];  // expect loaded_in_a_loop: operand register in flight
        WGMMA_FENCE();
        multiply(d, a, o);
        WGMMA_COMMIT();
    }
    WGMMA_WAIT(0);
    out[threadIdx.x] = sum(d);
}

__global__ void packed_again(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
    half2 a[4] = {};
    WGMMA_FENCE();
    FROM_REGISTERS(d, (uint32_t *)a);  // expect packed_again: operand register in flight
    WGMMA_COMMIT();
    a[1] = __floats2half2_rn(1, 2);  // expect packed_again: operand register in flight
    WGMMA_WAIT(0);
    out[threadIdx.x] = sum(d);
}

__global__ void loaded_by_ldmatrix(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
    uint32_t a[4] = {};
    WGMMA_FENCE();
    FROM_REGISTERS(d, a);  // expect loaded_by_ldmatrix: operand register in flight
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(in_shared(o->A + threadIdx.x % 32 * 8)));  // perhaps loaded_by_ldmatrix: operand register in flight
    WAIT(0);
    out[threadIdx.x] = sum(d);
}

// ---- changed behind the fence ----

__global__ void cleared_behind_the_fence(float *out)
{
    operands *o = laid_out();
    float d[4];
    WGMMA_FENCE();
    for (int i = 0; i < 4; i++)
        d[i] = 0;    // expect cleared_behind_the_fence: missing wgmma.fence
    FROM_SHARED(d);  // expect cleared_behind_the_fence: missing wgmma.fence
    WAIT(0);
    out[threadIdx.x] = sum(d);
}

__global__ void scaled_without_a_fence(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
    for (int k = 0; k < 2; k++) {
        if (k == 0)
            WGMMA_FENCE();
        FROM_SHARED(d);  // expect scaled_without_a_fence: missing wgmma.fence
        WAIT(0);
        for (float &x : d)
            x *= 0.5f;  // expect scaled_without_a_fence: missing wgmma.fence
    }
    out[threadIdx.x] = sum(d);
}

__global__ void a_behind_the_fence(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
    uint32_t a[4] = {};
    WGMMA_FENCE();
    a[0] = threadIdx.x;    // expect a_behind_the_fence: missing wgmma.fence
    FROM_REGISTERS(d, a);  // expect a_behind_the_fence: missing wgmma.fence
    WAIT(0);
    out[threadIdx.x] = sum(d);
}

__global__ void copied_behind_the_fence(float *out)
{
    operands *o = laid_out();
    fragment f, zero = {};
    WGMMA_FENCE();
    f = zero;          // expect copied_behind_the_fence: missing wgmma.fence
    FROM_SHARED(f.d);  // expect copied_behind_the_fence: missing wgmma.fence
    WAIT(0);
    out[threadIdx.x] = sum(f.d);
}

__global__ void converted_behind_the_fence(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
    uint32_t a[4] = {};
    WGMMA_FENCE();
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(a[2]) : "f"(out[0]), "f"(out[1]));  // expect converted_behind_the_fence: missing wgmma.fence
    FROM_REGISTERS(d, a);                                                         // expect converted_behind_the_fence: missing wgmma.fence
    WAIT(0);
    out[threadIdx.x] = sum(d);
}

__global__ void no_fence(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
    FROM_SHARED(d);  // expect no_fence: missing wgmma.fence
    WAIT(0);
    out[threadIdx.x] = sum(d);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    float *out;
    cudaMalloc(&out, 128 * sizeof *out);
    cudaMemset(out, 0, 128 * sizeof *out);
#define CASE(KERNEL, ...) \
    if (strcmp(name, #KERNEL) == 0) \
    KERNEL<<<1, 128>>>(out, ##__VA_ARGS__)
    CASE(read_before_the_wait);
    CASE(read_behind_too_little);
    CASE(read_uncommitted);
    CASE(read_by_a_function);
    CASE(scaled_in_flight);
    CASE(cleared_in_flight);
    CASE(copied_in_flight);
    CASE(moved_in_flight, 16);
    CASE(operand_of_another_statement);
    CASE(result_of_another_statement);
    CASE(left_by_its_function);
    CASE(returned_in_flight);
    CASE(next_a_too_early);
    CASE(loaded_in_a_loop);
    CASE(packed_again);
    CASE(loaded_by_ldmatrix);
    CASE(cleared_behind_the_fence);
    CASE(scaled_without_a_fence);
    CASE(a_behind_the_fence);
    CASE(copied_behind_the_fence);
    CASE(converted_behind_the_fence);
    CASE(no_fence);
    return cudaDeviceSynchronize() != cudaSuccess;
}

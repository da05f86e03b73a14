// Variables that stand for registers of wgmma.mma_async, in the forms that kernels have: references, members, rows, values that
// a function packs, registers that are loaded while others are in flight. Each kernel adds the same product four times.

#include <cuda_fp16.h>
#include "../hopper.h"
#include "../wgmma.h"
#include "right.h"

struct operands {  // in core matrices of 8 rows of 16 bytes, one behind the other
    half A[64 * 16], B[8 * 16];
};

// Row i of A holds i % 3, B holds ones.
static __device__ operands *laid_out()
{
    __shared__ __align__(128) operands o;
    for (int i = threadIdx.x; i < 64 * 16; i += 128)
        o.A[i] = __int2half_rn((i / 128 * 8 + i / 8 % 8) % 3);
    o.B[threadIdx.x] = __int2half_rn(1);
    FENCE_ASYNC_SHARED();
    __syncthreads();
    return &o;
}

static __device__ __forceinline__ uint32_t packed(float x)
{
    half2 pair = __floats2half2_rn(x, x);
    return *(uint32_t *)&pair;
}

// Register i of A.
static __device__ __forceinline__ uint32_t factor(int i) { return packed((float)((row_of(0) + i % 2 * 8) % 3)); }

#define DESCRIPTOR(X) descriptor(X, 128, 256, PLAIN)
#define FROM_SHARED(D) \
    WGMMA_SS("m64n8k16.f32.f16.f16", 4, "+f", ", 1, 1, 0, 0", D, DESCRIPTOR(o->A), DESCRIPTOR(o->B), 1)
#define FROM_REGISTERS(D, A) WGMMA_RS("m64n8k16.f32.f16.f16", 4, "+f", ", 1, 1, 0", D, A, DESCRIPTOR(o->B), 1)
#define WAIT(GROUPS) \
    do { \
        WGMMA_COMMIT(); \
        WGMMA_WAIT(GROUPS); \
    } while (0)

static __device__ void keep(float *out, const float *d)
{
    for (int i = 0; i < 4; i++)
        out[threadIdx.x * 4 + i] = d[i];
}

// ---- references, as CuTe has them ----

static __device__ __forceinline__ void fma(uint32_t const &a0, uint32_t const &a1, uint32_t const &a2,
                                           uint32_t const &a3, uint64_t const &b, float &d0, float &d1, float &d2,
                                           float &d3, int const scale = 1)
{
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.b32 p, %9, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
                 "{%0,  %1,  %2,  %3},"
                 "{%4,  %5,  %6,  %7},"
                 " %8,"
                 " p, %10, %11, %12;\n"
                 "}\n"
                 : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b), "r"(int32_t(scale)), "n"(int32_t(1)), "n"(int32_t(1)),
                   "n"(0));
}

__global__ void by_references(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
    uint32_t a[4];
    for (int i = 0; i < 4; i++)
        a[i] = factor(i);
    stay(d);
    WGMMA_FENCE();
    for (int k = 0; k < 4; k++)
        fma(a[0], a[1], a[2], a[3], DESCRIPTOR(o->B), d[0], d[1], d[2], d[3]);
    WGMMA_COMMIT();
    stay(d);
    WGMMA_WAIT(0);
    stay(d);
    keep(out, d);
}

__global__ void others_in_each_turn(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
#pragma unroll 1
    for (int k = 0; k < 4; k++) {
        uint32_t a[4] = {factor(0), factor(1), factor(2), factor(3)};
        WGMMA_FENCE();
        fma(a[0], a[1], a[2], a[3], DESCRIPTOR(o->B), d[0], d[1], d[2], d[3]);
    }
    WAIT(0);
    keep(out, d);
}

// ---- values, which belong to each call of a function ----

static __device__ __forceinline__ void by_value(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                                                const operands *o)
{
    uint32_t a[] = {a0, a1, a2, a3};
    (void)a;
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(DESCRIPTOR(o->B)));
}
__global__ void values_in_a_loop(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
    WGMMA_FENCE();
#pragma unroll 1
    for (int k = 0; k < 4; k++)
        by_value(d, factor(0), factor(1), factor(2), factor(3), o);
    WAIT(0);
    keep(out, d);
}

__global__ void values_of_each_turn(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
#pragma unroll
    for (int k = 0; k < 4; k++) {
        uint32_t a0 = factor(0), a1 = factor(1);
        uint32_t a2;
        a2 = a0;
        WGMMA_FENCE();
        asm volatile(
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a0), "r"(a1), "r"(a2), "r"(a1), "l"(DESCRIPTOR(o->B)));
    }
    WAIT(0);
    keep(out, d);
}

static __device__ __noinline__ void values_of_its_own(float *d, const float *x, const operands *o)
{
    uint32_t a[4] = {packed(x[0]), packed(x[1]), packed(x[0]), packed(x[1])};
    WGMMA_FENCE();
    FROM_REGISTERS(d, a);
}
__global__ void values_of_a_function(float *out)
{
    operands *o = laid_out();
    float d[4] = {}, x[2] = {(float)(row_of(0) % 3), (float)((row_of(0) + 8) % 3)};
    WGMMA_FENCE();
#pragma unroll 1
    for (int k = 0; k < 4; k++)
        values_of_its_own(d, x, o);
    WAIT(0);
    keep(out, d);
}

__global__ void values_of_a_lambda(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
    auto multiply = [&](float x, float y) {
        uint32_t a[4] = {packed(x), packed(y), packed(x), packed(y)};
        WGMMA_FENCE();
        FROM_REGISTERS(d, a);
    };
    WGMMA_FENCE();
#pragma unroll 1
    for (int k = 0; k < 4; k++)
        multiply(row_of(0) % 3, (row_of(0) + 8) % 3);
    WAIT(0);
    keep(out, d);
}

__global__ void rows_in_turns(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
    half2 a[4][4];
    for (int i = 0; i < 16; i++)
        *(uint32_t *)&a[i / 4][i % 4] = factor(i);
    WGMMA_FENCE();
    for (int k = 0; k < 4; k++)
        FROM_REGISTERS(d, (uint32_t *)a[k]);
    WAIT(0);
    keep(out, d);
}

__global__ void neighbours(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
    {
        const uint32_t a[4] = {factor(0), factor(1), factor(2), factor(3)};
        WGMMA_FENCE();
        FROM_REGISTERS(d, a);
    }
    {
        uint32_t b[4] = {factor(0), factor(1), factor(2), factor(3)};
        WGMMA_FENCE();
        FROM_REGISTERS(d, b);
        FROM_REGISTERS(d, b);
    }
    {
        uint32_t c[4] = {factor(0), factor(1), factor(2), factor(3)};
        WGMMA_FENCE();
        FROM_REGISTERS(d, c);
    }
    WAIT(0);
    keep(out, d);
}

__global__ void from_shared_memory(float *out)
{
    operands *o = laid_out();
    __shared__ uint32_t a[128][4];
    float d[4] = {};
    for (int i = 0; i < 4; i++)
        a[threadIdx.x][i] = factor(i);
    WGMMA_FENCE();
    for (int k = 0; k < 4; k++)
        FROM_REGISTERS(d, a[threadIdx.x]);
    a[threadIdx.x][0] = 0;
    WAIT(0);
    keep(out, d);
}

__global__ void the_next_is_loaded(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
    uint32_t a[2][4];
    for (int i = 0; i < 4; i++)
        a[0][i] = factor(i);
    for (int k = 0; k < 4; k++) {
        WGMMA_FENCE();
        FROM_REGISTERS(d, a[k % 2]);
        WGMMA_COMMIT();
        for (int i = 0; i < 4; i++)  // and what is in flight may be read
            a[(k + 1) % 2][i] = a[k % 2][i];
        WGMMA_WAIT(0);
    }
    keep(out, d);
}

// ---- accumulators ----

struct tile {
    int unused;
    float d[2][4];
    __device__ __forceinline__ void multiply(const operands *o, int i) { FROM_SHARED(d[i]); }
};

__global__ void members(float *out)
{
    operands *o = laid_out();
    tile t = {};
    WGMMA_FENCE();
    for (int k = 0; k < 4; k++)
        t.multiply(o, k % 2);
    WAIT(0);
    for (int i = 0; i < 4; i++)
        t.d[0][i] += t.d[1][i];
    keep(out, t.d[0]);
}

__global__ void copied_when_it_has_landed(float *out)
{
    operands *o = laid_out();
    tile t = {}, last = {};
    for (int k = 0; k < 4; k++) {
        t = last;
        WGMMA_FENCE();
        t.multiply(o, 1);
        WAIT(0);
        last = t;
    }
    keep(out, last.d[1]);
}

__global__ void scaled(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
    for (int k = 0; k < 3; k++) {
        WGMMA_FENCE();
        FROM_SHARED(d);
        WAIT(0);
        if (k < 2)
            for (float &x : d)
                x = k ? x - out[0] : x * 2;
    }
    keep(out, d);
}

__global__ void read_between(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
    WGMMA_FENCE();
    for (int k = 0; k < 4; k++) {
        FROM_SHARED(d);
        WAIT(0);
        keep(out, d);
    }
}

// What nobody has written needs no fence: with scale-d 0 nothing is read.
__global__ void declared_behind_the_fence(float *out)
{
    operands *o = laid_out();
    float sum[4] = {};
    WGMMA_FENCE();
    for (int k = 0; k < 4; k++) {
        float d[4];
        WGMMA_SS("m64n8k16.f32.f16.f16", 4, "+f", ", 1, 1, 0, 0", d, DESCRIPTOR(o->A), DESCRIPTOR(o->B), 0);
        WAIT(0);
        for (int i = 0; i < 4; i++)
            sum[i] += d[i];
    }
    keep(out, sum);
}

__global__ void only_written(float *out)
{
    operands *o = laid_out();
    float sum[4] = {};
    for (int k = 0; k < 4; k++) {
        float d[4];
        WGMMA_FENCE();
        WGMMA_SS("m64n8k16.f32.f16.f16", 4, "=f", ", 1, 1, 0, 0", d, DESCRIPTOR(o->A), DESCRIPTOR(o->B), 0);
        WAIT(0);
        for (int i = 0; i < 4; i++)
            sum[i] += d[i];
    }
    keep(out, sum);
}

__global__ void in_halves(float *out)
{
    operands *o = laid_out();
    half2 sums[2] = {};
    uint32_t *d = (uint32_t *)sums;
    float result[4];
    WGMMA_FENCE();
    for (int k = 0; k < 4; k++)
        WGMMA_SS("m64n8k16.f16.f16.f16", 2, "+r", ", 1, 1, 0, 0", d, DESCRIPTOR(o->A), DESCRIPTOR(o->B), 1);
    WAIT(0);
    for (int i = 0; i < 4; i++)
        result[i] = i % 2 ? __high2float(sums[i / 2]) : __low2float(sums[i / 2]);
    keep(out, result);
}

// A predicate that is false: the product is not done, and the statement changes no accumulator.
static __device__ __forceinline__ void perhaps(float (&d)[4], const operands *o, int when)
{
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %6, 0;\n"
                 "@p wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0; }"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(DESCRIPTOR(o->A)), "l"(DESCRIPTOR(o->B)), "r"(when));
}
__global__ void guarded(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
    WGMMA_FENCE();
    for (int k = 0; k < 8; k++)
        perhaps(d, o, k % 2);
    WAIT(0);
    keep(out, d);
}

// Two results of one statement, of which one is there at once.
__global__ void and_something_else(float *out)
{
    operands *o = laid_out();
    float d[4] = {};
    int n = 0;
    WGMMA_FENCE();
    while (n < 4)
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %5, %6, 1, 1, 1, 0, 0;\n"
                     "add.s32 %4, %4, 1;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+r"(n)
                     : "l"(DESCRIPTOR(o->A)), "l"(DESCRIPTOR(o->B)));
    WAIT(0);
    keep(out, d);
}

int main(void)
{
    float *out = to_device<float>(NULL, 128 * 4);
    struct {
        void (*kernel)(float *);
        const char *name;
    } forms[] = {
#define FORM(KERNEL) {KERNEL, #KERNEL}
        FORM(by_references),
        FORM(others_in_each_turn),
        FORM(values_in_a_loop),
        FORM(values_of_each_turn),
        FORM(values_of_a_function),
        FORM(values_of_a_lambda),
        FORM(rows_in_turns),
        FORM(neighbours),
        FORM(from_shared_memory),
        FORM(the_next_is_loaded),
        FORM(members),
        FORM(copied_when_it_has_landed),
        FORM(scaled),
        FORM(read_between),
        FORM(declared_behind_the_fence),
        FORM(only_written),
        FORM(in_halves),
        FORM(guarded),
        FORM(and_something_else),
    };
    for (auto form : forms) {
        CHECK(cudaMemset(out, 0, 128 * 4 * sizeof *out));
        form.kernel<<<1, 128>>>(out);
        float *got = to_host(out, 128 * 4);
        for (int i = 0; i < 128 * 4; i++) {
            int row = i / 4 / 32 * 16 + i / 4 % 32 / 4 + i % 4 / 2 * 8;
            check_same(got[i], 4 * 16 * (row % 3), form.name, __FILE__, __LINE__);
        }
        free(got);
    }
    return 0;
}

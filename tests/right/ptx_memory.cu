// Inline PTX: loads, stores and atomic operations of every space, vectors, orders and addresses.
#include <cuda_fp16.h>
#include "right.h"

__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

// Reverses a block's numbers, four at a time, by way of shared memory.
__global__ void vectors(const float *in, float *out)
{
    __shared__ alignas(16) float s[128];
    unsigned t = threadIdx.x, here = shared_address(&s[4 * t]), there = shared_address(s) + 16 * (31 - t);
    float x[4];
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(x[0]), "=f"(x[1]), "=f"(x[2]), "=f"(x[3])
                 : "l"(in + 4 * t));
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};\n\tst.shared::cta.v2.b32 [%0 + %5], {%3, %4};" ::"r"(here),
                 "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]), "n"(2 * sizeof(float))
                 : "memory");
    __syncthreads();
    asm volatile("ld.volatile.shared.v4.f32 {%3, %2, %1, %0}, [%4];"
                 : "=f"(x[0]), "=f"(x[1]), "=f"(x[2]), "=f"(x[3])
                 : "r"(there)
                 : "memory");
    asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(out + 4 * t), "f"(x[0]), "f"(x[1]), "f"(x[2]),
                 "f"(x[3])
                 : "memory");
}

// 16 bytes at a time, in one register: from global to shared memory and on, with the halves of each exchanged.
__global__ void whole(const int4 *in, int4 *out)
{
    __shared__ int4 s[32];
    int t = threadIdx.x;
    unsigned at = shared_address(&s[t]);
    asm volatile("{.reg .b128 w<2>; .reg .b64 zero;\n\t"
                 "ld.global.nc.L1::no_allocate.b128 w0, [%1];\n\tmov.b128 w1, w0;\n\tmov.b64 zero, 0;\n\t"
                 "mov.b128 w0, {zero, zero};\n\tst.shared.b128 [%0], w1;}" ::"r"(at),
                 "l"(in + t)
                 : "memory");
    __syncwarp();
    long long low, high;
    asm volatile("{.reg .b128 w; ld.relaxed.cta.shared.b128 w, [%2]; mov.b128 {%0, %1}, w;}"
                 : "=l"(low), "=l"(high)
                 : "r"(at + 16 - 32 * (t & 1))
                 : "memory");
    asm volatile(
        "{.reg .b128 w; mov.b128 w, {%1, %2}; st.relaxed.sys.global.L1::no_allocate.b128 [%0], w;}" ::"l"(out + t),
        "l"(high), "l"(low)
        : "memory");
    if (t == 0)  // four parts, and a number
        asm volatile("{.reg .b128 w; .reg .b32 r<4>; ld.global.b128 w, [%0]; mov.b128 {r0, r1, r2, r3}, w;\n\t"
                     "mov.b128 w, {r3, r2, r1, r0}; st.global.b128 [%1], w; st.global.b128 [%1+16], 7;}" ::"l"(in),
                     "l"(out + 32)
                     : "memory");
}

__constant__ int table[4] = {3, -5, 7, 11};

// Numbers narrower than their registers, other spaces, and addresses from one to the other.
__global__ void spaces(int *out, signed char *bytes)
{
    __shared__ int s;
    int local = 9, wide, narrow, from_table, from_local, is_shared, is_global;
    unsigned long long generic, shared = shared_address(&s);
    asm volatile("st.global.u8 [%0], %1;\n\tst.global.u16 [%0+2], %1;" ::"l"(bytes), "r"(-2) : "memory");
    asm volatile("ld.global.s8 %0, [%2];\n\tld.global.u8 %1, [%2+0];"
                 : "=r"(wide), "=r"(narrow)
                 : "l"(bytes)
                 : "memory");
    asm volatile("ld.s32 %0, [%1+4];" : "=r"(from_table) : "l"(table));
    asm volatile("ld.s32 %0, [%1];" : "=r"(from_local) : "l"(&local) : "memory");
    asm("cvta.shared.u64 %0, %1;" : "=l"(generic) : "l"(shared));
    asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(is_shared) : "l"(&s));
    asm volatile("st.u32 [%0], 42;" ::"l"(generic) : "memory");
    bool back = is_shared == (int)shared && generic == (unsigned long long)&s && s == 42;
    asm("{ .reg .pred p; isspacep.shared p, %1; selp.s32 %0, 1, 0, p; }" : "=r"(is_shared) : "l"(&s));
    asm("{ .reg .pred p; isspacep.global p, %1; selp.s32 %0, 1, 0, p; }" : "=r"(is_global) : "l"(&s));
    out[0] = wide == -2 && narrow == 254 && bytes[2] == -2 && bytes[3] == -1 && from_table == -5 && from_local == 9;
    out[1] = back && is_shared && !is_global;
}

__global__ void atomics(int *sums, float *reals, unsigned long long *wide, __half2 *halves)
{
    __shared__ int s;
    int t = threadIdx.x, old;
    if (t == 0)
        s = 0;
    __syncthreads();
    asm volatile("red.global.add.s32 [%0], %1;" ::"l"(sums), "r"(t) : "memory");
    asm volatile("atom.global.max.s32 %0, [%1], %2;" : "=r"(old) : "l"(sums + 1), "r"(t - 64) : "memory");
    asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], 9;" : "=r"(old) : "l"(sums + 2) : "memory");
    asm volatile("red.shared.cta.or.b32 [%0], %1;" ::"r"(shared_address(&s)), "r"(1 << t % 32) : "memory");
    asm volatile("red.global.add.f32 [%0], %1;" ::"l"(reals), "f"(0.5f) : "memory");
    asm volatile("red.add.u64 [%0+8], %1;" ::"l"(wide), "l"(1ull << 32) : "memory");
    asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(halves), "r"(0x40003c00) : "memory");
    asm volatile("atom.global.cas.b32 %0, [%1], 0, %2;" : "=r"(old) : "l"(sums + 3), "r"(t + 1) : "memory");
    __syncthreads();
    if (t == 0)
        sums[4] = s;
}

// One block hands numbers to another: st.release and ld.acquire are all that orders them.
__global__ void message(int *data, int *ready, int *out)
{
    if (blockIdx.x == 0) {
        data[threadIdx.x] = 10 + threadIdx.x;
        __syncthreads();
        if (threadIdx.x == 0)
            asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(ready) : "memory");
    } else {
        int seen = 0;
        while (!seen)
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(ready) : "memory");
        out[threadIdx.x] = data[threadIdx.x];
    }
}

// The same by an atomic operation, and polled within the statement.
__global__ void counter(int *data, int *ready, int *out)
{
    if (blockIdx.x == 0) {
        data[threadIdx.x] = 20 + threadIdx.x;
        asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(ready) : "memory");
    } else {
        asm volatile("{\n\t.reg .pred p;\n\t.reg .s32 n;\n"
                     "WAIT_%=: ld.relaxed.gpu.s32 n, [%0];\n\t"
                     "setp.lt.s32 p, n, 32;\n\t"
                     "@p bra WAIT_%=;\n\t"
                     "fence.acq_rel.gpu;\n\t}" ::"l"(ready)
                     : "memory");
        out[threadIdx.x] = data[threadIdx.x];
    }
}

// Strong accesses of one warp do not race: each lane hands a number to the next.
__global__ void within_a_warp(int *out)
{
    __shared__ int flag[32], data[32];
    int t = threadIdx.x, seen = t == 0;
    flag[t] = 0;
    __syncthreads();
    while (!seen)
        asm volatile("ld.acquire.cta.shared.s32 %0, [%1];" : "=r"(seen) : "r"(shared_address(&flag[t])) : "memory");
    data[t] = t ? data[t - 1] + 1 : 0;
    if (t < 31)
        asm volatile("st.release.cta.shared.s32 [%0], 1;" ::"r"(shared_address(&flag[t + 1])) : "memory");
    out[t] = data[t];
}

int main()
{
    float numbers[128];
    for (int i = 0; i < 128; i++)
        numbers[i] = i;
    float *in = to_device(numbers, 128), *out = to_device<float>(NULL, 128);
    vectors<<<1, 32>>>(in, out);
    float *reversed = to_host(out, 128);
    for (int i = 0; i < 128; i++)
        SAME(reversed[i], 127 - i);

    int numbered[4 * 34];
    for (int i = 0; i < 4 * 34; i++)
        numbered[i] = i;
    int *counted = to_device(numbered, 4 * 32), *moved = to_device<int>(NULL, 4 * 34);
    whole<<<1, 32>>>((int4 *)counted, (int4 *)moved);
    moved = to_host(moved, 4 * 34);
    for (int i = 0; i < 4 * 32; i++)
        SAME(moved[i], (i ^ 4) ^ 2);  // of the neighbour's 16 bytes, the other half
    for (int i = 0; i < 4; i++) {
        SAME(moved[4 * 32 + i], 3 - i);
        SAME(moved[4 * 33 + i], i ? 0 : 7);
    }

    int zeros[64] = {0}, *words = to_device(zeros, 64);
    spaces<<<1, 1>>>(words, (signed char *)(words + 2));
    SAME(to_host(words, 2)[0], 1);
    SAME(to_host(words, 2)[1], 1);

    int *sums = to_device(zeros, 5);
    float *reals = to_device((float *)zeros, 1);
    unsigned long long *wide = to_device((unsigned long long *)zeros, 2);
    __half2 *halves = to_device((__half2 *)zeros, 1);
    atomics<<<1, 64>>>(sums, reals, wide, halves);
    int *s = to_host(sums, 5);
    SAME(s[0], 64 * 63 / 2);
    SAME(s[1], 0);
    SAME(s[2], 4);
    SAME(s[3] >= 1 && s[3] <= 64, 1);
    SAME(s[4], -1);
    SAME(*to_host(reals, 1), 32);
    SAME((double)(to_host(wide, 2)[1] >> 32), 64);
    SAME(((unsigned *)to_host(halves, 1))[0], 0x58005400);

    int *data = to_device<int>(NULL, 64), *ready = to_device(zeros, 2);
    message<<<2, 32>>>(data, ready, data + 32);
    SAME(to_host(data, 64)[63], 41);
    counter<<<2, 32>>>(data, ready + 1, data + 32);
    SAME(to_host(data, 64)[63], 51);
    within_a_warp<<<1, 32>>>(data);
    SAME(to_host(data, 64)[31], 31);
    return 0;
}

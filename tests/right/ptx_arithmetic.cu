// Inline PTX: each instruction beside the C++ that says the same, special values among the operands.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include "right.h"

#define HOLDS(WHAT) \
    do { \
        if (!(WHAT)) \
            *wrong = __LINE__; \
    } while (0)

// Instructions of one to four operands that are numbers: T in registers of the letter R.
#define FROM(NAME, T, R, S, U, A) \
    __device__ T NAME(U a) \
    { \
        T d; \
        asm(S " %0, %1;" : "=" R(d) : A(a)); \
        return d; \
    }
#define ONE(NAME, T, R, S, U) FROM(NAME, T, R, S, U, R)
#define TWO(NAME, T, R, S) \
    __device__ T NAME(T a, T b) \
    { \
        T d; \
        asm(S " %0, %1, %2;" : "=" R(d) : R(a), R(b)); \
        return d; \
    }
#define THREE(NAME, T, R, S) \
    __device__ T NAME(T a, T b, T c) \
    { \
        T d; \
        asm(S " %0, %1, %2, %3;" : "=" R(d) : R(a), R(b), R(c)); \
        return d; \
    }

TWO(add_s32, int, "r", "add.s32")
TWO(add_sat, int, "r", "add.sat.s32")
TWO(sub_sat, int, "r", "sub.sat.s32")
TWO(mul_lo, int, "r", "mul.lo.s32")
TWO(mul_hi, int, "r", "mul.hi.s32")
TWO(mul_hi_u, unsigned, "r", "mul.hi.u32")
TWO(mul_hi_64, long long, "l", "mul.hi.s64")
TWO(mul24, int, "r", "mul24.lo.s32")
TWO(div_s32, int, "r", "div.s32")
TWO(rem_s32, int, "r", "rem.s32")
TWO(div_u64, unsigned long long, "l", "div.u64")
TWO(min_s16, short, "h", "min.s16")
TWO(max_u32, unsigned, "r", "max.u32")
TWO(shl, unsigned, "r", "shl.b32")
TWO(shr_s, int, "r", "shr.s32")
TWO(shr_u, unsigned, "r", "shr.u32")
THREE(bfe_s, int, "r", "bfe.s32")
THREE(bfe_u, unsigned, "r", "bfe.u32")
THREE(sad, int, "r", "sad.s32")
THREE(prmt, unsigned, "r", "prmt.b32")
THREE(prmt_f4e, unsigned, "r", "prmt.b32.f4e")
THREE(prmt_b4e, unsigned, "r", "prmt.b32.b4e")
THREE(shf_l, unsigned, "r", "shf.l.wrap.b32")
THREE(shf_r, unsigned, "r", "shf.r.clamp.b32")
THREE(dp4a, int, "r", "dp4a.s32.s32")
ONE(popc, int, "r", "popc.b32", int)
ONE(clz, int, "r", "clz.b32", int)
ONE(brev, unsigned, "r", "brev.b32", unsigned)
ONE(bfind, unsigned, "r", "bfind.u32", unsigned)
ONE(bfind_s, unsigned, "r", "bfind.s32", int)
ONE(neg, int, "r", "neg.s32", int)
ONE(absolute, int, "r", "abs.s32", int)
ONE(cnot, int, "r", "cnot.b32", int)

__device__ long long mad_wide(int a, int b, long long c)
{
    long long d;
    asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(d) : "r"(a), "r"(b), "l"(c));
    return d;
}

__device__ unsigned bfi(unsigned a, unsigned b, int pos, int len)
{
    unsigned d;
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(a), "r"(b), "r"(pos), "r"(len));
    return d;
}

// 128 bits: carries out of 64 go on.
__device__ void add128(unsigned long long *sum, const unsigned long long *a, const unsigned long long *b)
{
    asm("add.cc.u64 %0, %2, %4;\n\taddc.u64 %1, %3, %5;"
        : "=l"(sum[0]), "=l"(sum[1])
        : "l"(a[0]), "l"(a[1]), "l"(b[0]), "l"(b[1]));
}

__global__ void integers(int *wrong)
{
    const int M = 0x7fffffff, L = -M - 1;
    HOLDS(add_s32(M, 1) == L && add_sat(M, 1) == M && sub_sat(L, 1) == L);
    HOLDS(mul_lo(-7, 100000) == -700000 && mul_hi(-7, 1) == -1 && mul_hi(1 << 30, 8) == 2 && mul24(-3, 5) == -15);
    HOLDS(mul_hi_u(0xffffffffu, 0xffffffffu) == 0xfffffffeu && mul_hi_64(-1, 1) == -1 && mul_hi_64(1ll << 62, 8) == 2);
    HOLDS(mad_wide(-100000, 100000, 5) == -10000000000ll + 5);
    HOLDS(div_s32(-7, 2) == -3 && rem_s32(-7, 2) == -1 && div_s32(L, -1) == L && rem_s32(L, -1) == 0);
    HOLDS(div_u64(~0ull, 3) == ~0ull / 3 && min_s16(-5, 3) == -5 && max_u32(1, 0xffffffffu) == 0xffffffffu);
    HOLDS(shl(1, 31) == 0x80000000u && shl(1, 32) == 0 && shr_s(-8, 1) == -4 && shr_s(-8, 40) == -1 &&
          shr_u(8, 32) == 0);
    HOLDS(bfe_s(0xf0, 4, 4) == -1 && bfe_u(0xf0, 4, 4) == 15 && bfe_s(0x80000000, 28, 8) == -8 &&
          bfe_u(~0u, 30, 8) == 3);
    HOLDS(bfe_s(1, 40, 4) == 0 && bfe_s(-1, 3, 0) == 0 && bfi(0xff, 0, 8, 4) == 0xf00 &&
          bfi(0, ~0u, 28, 8) == 0x0fffffff);
    HOLDS(sad(3, -4, 10) == 17 && popc(0xff0) == 8 && clz(0) == 32 && clz(1) == 31 && brev(1) == 0x80000000u);
    HOLDS(bfind(0) == ~0u && bfind(0x80) == 7 && bfind_s(-1) == ~0u && bfind_s(-3) == 1);
    HOLDS(neg(L) == L && absolute(-5) == 5 && cnot(0) == 1 && cnot(3) == 0);
    HOLDS(prmt(0x03020100, 0x07060504, 0x7531) == 0x07050301 && prmt(0x80, 0, 0x9998) == 0x000000ff);
    HOLDS(prmt_f4e(0x03020100, 0x07060504, 1) == 0x04030201 && prmt_b4e(0x03020100, 0x07060504, 1) == 0x06070001);
    HOLDS(shf_l(0x80000000u, 1, 33) == 3 && shf_r(1, 2, 40) == 2 &&
          dp4a(0x01ff0203, 0x02030405, 7) == 7 + 2 - 3 + 8 + 15);
    unsigned long long a[2] = {~0ull, 1}, b[2] = {2, 5}, sum[2];
    add128(sum, a, b);
    HOLDS(sum[0] == 1 && sum[1] == 7);
    unsigned logic;
    asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(logic) : "r"(0xff00), "r"(0xf0f0), "r"(0xcccc));
    HOLDS(logic == ((0xff00 & 0xf0f0) | (0xff00 & 0xcccc) | (0xf0f0 & 0xcccc)));
    short narrow;
    asm("{ .reg .u16 h; cvt.u16.u32 h, %1; add.u16 %0, h, 1; }" : "=h"(narrow) : "r"(0x1ffff));
    HOLDS(narrow == 0);
}

// Registers of its own, rows of them, predicates, labels and jumps, all in one statement.
__device__ int collatz(int n)
{
    int steps;
    asm volatile("{\n\t"
                 ".reg .pred %%even, is<2>;\n\t"
                 ".reg .b32 r<3>, half;\n\t"
                 "mov.u32 r0, 0; /* steps */\n\t"
                 "mov.b32 r1, %1;  // the number\n"
                 "LOOP:\n\t"
                 "setp.eq.s32 is0, r1, 1;\n\t"
                 "@is0 bra DONE;\n\t"
                 "{ .reg .b32 half; and.b32 half, r1, 1; setp.eq.s32 %%even, half, 0; }\n\t"
                 "shr.s32 half, r1, 1;\n\t"
                 "mad.lo.s32 r2, r1, 3, 1;\n\t"
                 "selp.s32 r1, half, r2, %%even;\n\t"
                 "add.s32 r0, r0, 1;\n\t"
                 "bra.uni LOOP;\n"
                 "DONE:\n\t"
                 "mov.u32 %0, r0;\n\t"
                 "}"
                 : "=r"(steps)
                 : "r"(n));
    return steps;
}

__device__ int between(int x, int low, int high)  // two predicates of one comparison, combined
{
    int in, out;
    asm("{\n\t.reg .pred p, q, r, s, t;\n\t"
        "setp.ge.s32 p, %2, %3;\n\t"
        "setp.le.and.s32 q|r, %2, %4, p;\n\t"
        "not.pred s, q;\n\t"
        "xor.pred t, q, s;\n\t"
        "selp.b32 %0, 1, 0, q;\n\t"
        "selp.b32 %1, 1, 0, r;\n\t"
        "@!t mov.b32 %0, 9;\n\t}"
        : "=r"(in), "=r"(out)
        : "r"(x), "r"(low), "r"(high));
    return in * 10 + out;
}

__global__ void control(int *wrong)
{
    HOLDS(collatz(1) == 0 && collatz(6) == 8 && collatz(27) == 111);
    HOLDS(between(5, 1, 9) == 10 && between(10, 1, 9) == 1 && between(0, 1, 9) == 0);
    unsigned low, high;
    unsigned long long both;
    asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(0x1234567890abcdefull));
    asm("mov.b64 %0, {%2, %1};" : "=l"(both) : "r"(low), "r"(high));
    HOLDS(low == 0x90abcdefu && high == 0x12345678u && both == 0x90abcdef12345678ull);
    unsigned kept = 7, set;
    asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; @p mov.u32 %0, 8;}" : "+r"(kept) : "r"(0));
    asm("set.gt.u32.f32 %0, %1, 0f3f800000;" : "=r"(set) : "f"(2.0f));
    HOLDS(kept == 7 && set == ~0u);
    float one;
    asm("set.lt.f32.s32 %0, %1, -1;" : "=f"(one) : "r"(-2));
    HOLDS(one == 1.0f);
}

TWO(add_f32, float, "f", "add.f32")
TWO(add_ftz, float, "f", "add.ftz.f32")
TWO(add_rz, float, "f", "add.rz.f32")
TWO(add_sat_f, float, "f", "add.sat.f32")
TWO(mul_rp, float, "f", "mul.rp.f32")
TWO(div_rn, float, "f", "div.rn.f32")
TWO(min_f32, float, "f", "min.f32")
TWO(max_nan, float, "f", "max.NaN.f32")
TWO(copysign_f, float, "f", "copysign.f32")
THREE(fma_f32, float, "f", "fma.rn.f32")
THREE(fma_rm, float, "f", "fma.rm.f32")
THREE(fma_f64, double, "d", "fma.rn.f64")
TWO(add_f64, double, "d", "add.rn.f64")
ONE(ex2, float, "f", "ex2.approx.ftz.f32", float)
ONE(lg2, float, "f", "lg2.approx.f32", float)
ONE(rcp, float, "f", "rcp.approx.ftz.f32", float)
ONE(rcp_rn, float, "f", "rcp.rn.f32", float)
ONE(inverse_root, float, "f", "rsqrt.approx.f32", float)
ONE(root, float, "f", "sqrt.rn.f32", float)
ONE(tanh_f, float, "f", "tanh.approx.f32", float)
ONE(neg_f, float, "f", "neg.f32", float)
ONE(abs_f, float, "f", "abs.f32", float)

__device__ unsigned bits(float x) { return __float_as_uint(x); }
__device__ bool near(float x, float y) { return fabsf(x - y) <= 2e-3f * fabsf(y); }

__global__ void floats(int *wrong)
{
    const float I = INFINITY, N = NAN, T = 1e-40f, E = 0x1p-24f;
    HOLDS(add_f32(1, 2) == 3 && bits(add_f32(I, -I)) == 0x7fffffff && bits(add_f32(N, 1)) == 0x7fffffff);
    HOLDS(add_f32(T, 0) == T && bits(add_ftz(-T, -0.0f)) == 0x80000000 && add_ftz(T, 1) == 1);
    HOLDS(add_rz(1, 0.9999999f * E * 2) == 1 && add_sat_f(2, 3) == 1 && add_sat_f(-2, 1) == 0 && add_sat_f(N, 1) == 0);
    HOLDS(mul_rp(1 + 2 * E, 1 + 2 * E) == 1 + 6 * E && div_rn(1, 3) == 1.0f / 3 && div_rn(1, 0) == I);
    HOLDS(min_f32(N, 2) == 2 && min_f32(2, N) == 2 && min_f32(N, N) != min_f32(N, N));
    HOLDS(bits(min_f32(0.0f, -0.0f)) == 0x80000000 && bits(max_nan(N, 1)) == 0x7fffffff && max_nan(1, 3) == 3);
    HOLDS(copysign_f(-2, 3) == -3 && fma_f32(1 + 2 * E, 1 - 2 * E, -1) == -4 * E * E);
    HOLDS(fma_rm(1, 1, -E * E) == 1 - E && fma_f64(3, 4, 0.5) == 12.5 && add_f64(1e16, 1) == 1e16 + 1);
    HOLDS(ex2(3) == 8 && ex2(-I) == 0 && ex2(-140) == 0 && ex2(I) == I && bits(ex2(N)) == 0x7fffffff);
    HOLDS(lg2(8) == 3 && lg2(0) == -I && lg2(-1) != lg2(-1) && near(rcp(3), 1.0f / 3) && rcp(-0.0f) == -I &&
          rcp_rn(4) == 0.25f);
    HOLDS(near(inverse_root(2), 0.70710678f) && inverse_root(0) == I && root(2) == sqrtf(2) &&
          near(tanh_f(0.5f), 0.46211716f));
    HOLDS(neg_f(1) == -1 && bits(abs_f(-0.0f)) == 0);
    float decimal;
    asm("fma.rn.f32 %0, %1, 1.5, 0fC0000000;" : "=f"(decimal) : "f"(4.0f));
    HOLDS(decimal == 4);
}

// ---- 16 bits: f16 1.0 is 0x3c00, bf16 1.0 is 0x3f80 ----

TWO(add_f16x2, unsigned, "r", "add.f16x2")
TWO(mul_bf16x2, unsigned, "r", "mul.rn.bf16x2")
TWO(max_f16x2, unsigned, "r", "max.f16x2")
THREE(fma_f16x2, unsigned, "r", "fma.rn.f16x2")
THREE(fma_relu, unsigned, "r", "fma.rn.relu.bf16x2")
THREE(fma_f16, unsigned short, "h", "fma.rn.f16")
THREE(fma_bf16, unsigned short, "h", "fma.rn.bf16")
ONE(ex2_f16x2, unsigned, "r", "ex2.approx.f16x2", unsigned)
ONE(ex2_bf16x2, unsigned, "r", "ex2.approx.ftz.bf16x2", unsigned)
ONE(tanh_f16x2, unsigned, "r", "tanh.approx.f16x2", unsigned)
ONE(neg_bf16x2, unsigned, "r", "neg.bf16x2", unsigned)

__global__ void halves(int *wrong)
{
    HOLDS(add_f16x2(0x3c004000, 0x3c003c00) == 0x40004200 && mul_bf16x2(0x3f804000, 0x40004000) == 0x40004080);
    HOLDS(add_f16x2(0x7bff0001, 0x7bff0001) == 0x7c000002 && max_f16x2(0x7e003c00, 0xbc00bc00) == 0xbc003c00);
    HOLDS(fma_f16x2(0x40004000, 0x42004200, 0x3c00bc00) == 0x47004500 &&
          fma_relu(0x3f80bf80, 0x3f803f80, 0) == 0x3f800000);
    HOLDS(ex2_f16x2(0x42000000) == 0x48003c00 && ex2_bf16x2(0x40400000) == 0x41003f80 &&
          tanh_f16x2(0x00007c00) == 0x3c00);
    HOLDS(neg_bf16x2(0x3f800000) == 0xbf808000);
    // 1 + 2^-10 + 2^-11 is half way between two numbers, and the product's 2^-22 decides: 0x3c01 * 0x3c01 + 2^-11.
    HOLDS(fma_f16(0x3c01, 0x3c01, 0x1000) == 0x3c03 && fma_f16(0x3c00, 0x3c01, 0x1000) == 0x3c02);
    // 7 * 37 is half way between 258 and 260, and 2^-60, which a double cannot hold beside it, decides.
    HOLDS(fma_bf16(0x40e0, 0x4214, 0x2180) == 0x4382 && fma_bf16(0x40e0, 0x4214, 0xa180) == 0x4381);
    HOLDS(fma_bf16(0x3f80, 0x3f80, 0x3b80) == 0x3f80 && fma_bf16(0x3b80, 0x3f81, 0x3f80) == 0x3f81);
    HOLDS(fma_bf16(0x2080, 0x0080, 0x3f80) == 0x3f80);
}

// ---- conversions ----

FROM(s32_of, int, "r", "cvt.rzi.s32.f32", float, "f")
FROM(s32_rn, int, "r", "cvt.rni.s32.f32", float, "f")
FROM(u8_sat, unsigned, "r", "cvt.rzi.u8.f32", float, "f")
FROM(s64_of, long long, "l", "cvt.rmi.s64.f64", double, "d")
FROM(f32_of, float, "f", "cvt.rn.f32.s32", int, "r")
FROM(f32_up, float, "f", "cvt.rp.f32.u32", unsigned, "r")
FROM(f32_down, float, "f", "cvt.rm.f32.f64", double, "d")
FROM(whole, float, "f", "cvt.rpi.f32.f32", float, "f")
FROM(unit, float, "f", "cvt.sat.f32.f32", float, "f")
FROM(s8_of, int, "r", "cvt.s8.s32", int, "r")
FROM(s8_sat, int, "r", "cvt.sat.s8.s32", int, "r")
FROM(u16_sat, unsigned, "r", "cvt.sat.u16.s32", int, "r")
FROM(f16_of, unsigned short, "h", "cvt.rn.f16.f32", float, "f")
FROM(f16_rz, unsigned short, "h", "cvt.rz.f16.f32", float, "f")
FROM(f32_of_f16, float, "f", "cvt.f32.f16", unsigned short, "h")
FROM(f32_of_bf16, float, "f", "cvt.f32.bf16", unsigned short, "h")
FROM(f16_of_f64, unsigned short, "h", "cvt.rn.f16.f64", double, "d")
FROM(bf16_of_s64, unsigned short, "h", "cvt.rn.bf16.s64", long long, "l")
FROM(tf32_of, unsigned, "r", "cvt.rna.tf32.f32", float, "f")
FROM(tf32_rn, unsigned, "r", "cvt.rn.tf32.f32", float, "f")
FROM(tf32_finite, unsigned, "r", "cvt.rna.satfinite.tf32.f32", float, "f")
FROM(f16_finite, unsigned short, "h", "cvt.rn.satfinite.f16.f32", float, "f")
FROM(f16x2_of_e4m3x2, unsigned, "r", "cvt.rn.f16x2.e4m3x2", unsigned short, "h")
FROM(f16x2_of_e5m2x2, unsigned, "r", "cvt.rn.f16x2.e5m2x2", unsigned short, "h")

#define PAIR(NAME, T, R, S) \
    __device__ T NAME(float high, float low) \
    { \
        T d; \
        asm(S " %0, %1, %2;" : "=" R(d) : "f"(high), "f"(low)); \
        return d; \
    }
PAIR(f16x2_of, unsigned, "r", "cvt.rn.f16x2.f32")
PAIR(f16x2_relu, unsigned, "r", "cvt.rn.relu.f16x2.f32")
PAIR(bf16x2_of, unsigned, "r", "cvt.rn.bf16x2.f32")
PAIR(bf16x2_rz, unsigned, "r", "cvt.rz.bf16x2.f32")
PAIR(e4m3x2_of, unsigned short, "h", "cvt.rn.satfinite.e4m3x2.f32")
PAIR(e5m2x2_of, unsigned short, "h", "cvt.rn.satfinite.e5m2x2.f32")

__global__ void conversions(int *wrong)
{
    const float I = INFINITY, N = NAN;
    HOLDS(s32_of(-2.9f) == -2 && s32_rn(2.5f) == 2 && s32_rn(-3.5f) == -4 && s32_of(3e9f) == 0x7fffffff &&
          s32_of(N) == 0);
    HOLDS(u8_sat(300) == 255 && u8_sat(-3) == 0 && s64_of(-1.5) == -2 && s64_of(N) == (long long)(1ull << 63));
    HOLDS(f32_of(16777217) == 16777216 && f32_up(16777217) == 16777218 && f32_down(1 + 0x1p-30) == 1);
    HOLDS(whole(1.25f) == 2 && whole(-1.25f) == -1 && unit(1.5f) == 1 && unit(-1) == 0 && unit(N) == 0);
    HOLDS(s8_of(200) == -56 && s8_sat(200) == 127 && s8_sat(-200) == -128 && u16_sat(-1) == 0 &&
          u16_sat(70000) == 65535);
    HOLDS(f16_of(1) == 0x3c00 && f16_of(65520) == 0x7c00 && f16_rz(65520) == 0x7bff && f16_of(N) == 0x7fff);
    HOLDS(f16_of(0x1p-24f) == 1 && f16_of(0x1p-25f) == 0 && f16_of(-0x1.8p-25f) == 0x8001 &&
          f16_of(1 + 0x1p-11f) == 0x3c00);
    HOLDS(f32_of_f16(0x0001) == 0x1p-24f && f32_of_f16(0xfc00) == -I && f32_of_bf16(0x3fc0) == 1.5f);
    HOLDS(f16_of_f64(1 + 0x1p-11 + 0x1p-40) == 0x3c01);  // rounded once
    HOLDS(bf16_of_s64((257ll << 54) + 1) == 0x5e81 && bf16_of_s64(-(257ll << 54)) == 0xde80);
    HOLDS(tf32_of(1 + 0x1p-11f) == 0x3f802000 && (tf32_of(1 + 0x1p-12f) & 0xffffe000) == 0x3f800000);
    HOLDS(tf32_rn(1 + 0x1p-11f) == 0x3f800000 && tf32_rn(1 + 0x1.8p-10f) == 0x3f804000 && tf32_of(-I) == 0xff800000);
    HOLDS(tf32_finite(I) == 0x7f7fe000 && tf32_finite(3) == 0x40400000 && f16_finite(-3) == 0xc200 &&
          f16_finite(1e6f) == 0x7bff && f16_finite(-I) == 0xfbff && f16_finite(N) == 0x7fff);
    HOLDS(f16x2_of(1, -2) == 0x3c00c000 && f16x2_relu(-1, 2) == 0x00004000 && bf16x2_of(1, -2) == 0x3f80c000);
    HOLDS(bf16x2_of(1 + 0x1.8p-8f, 3.4e38f) == 0x3f817f80 && bf16x2_rz(1 + 0x1.8p-8f, 3.4e38f) == 0x3f807f7f);
    HOLDS(e4m3x2_of(1, -2) == 0x38c0 && e4m3x2_of(1000, I) == 0x7e7e && e4m3x2_of(N, 0x1p-9f) == 0x7f01);
    HOLDS(e5m2x2_of(1, -2) == 0x3cc0 && e5m2x2_of(1e6f, -I) == 0x7bfb && e5m2x2_of(0x1p-17f, 1.125f) == 0x003c);
    HOLDS(f16x2_of_e4m3x2(0x38c0) == 0x3c00c000 && f16x2_of_e4m3x2(0x017e) == 0x18005f00);
    HOLDS(f16x2_of_e5m2x2(0x3cc0) == 0x3c00c000 && f16x2_of_e5m2x2(0x7cfb) == 0x7c00fb00);
}

int main()
{
    int *wrong = to_device<int>(NULL, 1);
#define RUN(KERNEL) \
    do { \
        CHECK(cudaMemset(wrong, 0, sizeof *wrong)); \
        KERNEL<<<1, 1>>>(wrong); \
        SAME(to_host(wrong, 1)[0], 0); \
    } while (0)
    RUN(integers);
    RUN(control);
    RUN(floats);
    RUN(halves);
    RUN(conversions);
    return 0;
}

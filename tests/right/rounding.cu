// Rounding that the function's name says, in float and double, and conversions that saturate.
#include <string.h>
#include "right.h"

struct results {
    float f[32];
    double d[32];
    long long i[48];
};

__global__ void compute(float one, float tiny, double wide, double least, results *r)
{
    float *f = r->f;
    *f++ = __fadd_rn(one, tiny), *f++ = __fadd_rz(one, tiny), *f++ = __fadd_ru(one, tiny), *f++ = __fadd_rd(one, tiny);
    *f++ = __fadd_rz(one, -tiny), *f++ = __fsub_ru(one, tiny), *f++ = __fsub_rd(one, tiny), *f++ = __fsub_rz(one, tiny);
    *f++ = __fmul_rd(-1e-30f, tiny), *f++ = __fmul_ru(-1e-30f, tiny), *f++ = __fmul_ru(3e38f, 2 * one),
    *f++ = __fmul_rz(3e38f, 2 * one);
    *f++ = __fdiv_rz(one, 3), *f++ = __fdiv_ru(one, 3), *f++ = __frcp_rd(-3 * one), *f++ = __frcp_ru(-3 * one);
    *f++ = __fsqrt_rd(2 * one), *f++ = __fsqrt_ru(2 * one), *f++ = __fsqrt_rn(2 * one), *f++ = __frsqrt_rn(2 * one);
    *f++ = __fmaf_ru(one, one, tiny), *f++ = __fmaf_rd(one, one, -tiny), *f++ = __fmaf_rz(one, -one, tiny),
    *f++ = __fmaf_rn(one, one, tiny);
    *f++ = __double2float_rz(-wide), *f++ = __double2float_ru(-wide), *f++ = __double2float_rd(-wide),
    *f++ = __double2float_rn(-wide);
    *f++ = __int2float_rz(16777217), *f++ = __uint2float_ru(16777217u), *f++ = __ll2float_rd(-16777217ll),
    *f++ = __ull2float_rn(~0ull);

    double *d = r->d;
    *d++ = __dadd_rn(wide, least), *d++ = __dadd_rz(wide, least), *d++ = __dadd_ru(wide, least),
    *d++ = __dadd_rd(wide, -least);
    *d++ = __dsub_rz(wide, least), *d++ = __dsub_ru(wide, least), *d++ = __dmul_ru(wide, 3), *d++ = __dmul_rd(wide, 3);
    *d++ = __ddiv_rz(1, wide), *d++ = __ddiv_ru(1, wide), *d++ = __dsqrt_rd(wide), *d++ = __dsqrt_ru(wide);
    *d++ = __dsqrt_rn(wide), *d++ = __drcp_rn(wide), *d++ = __drcp_rd(-wide), *d++ = __drcp_rz(-wide);
    *d++ = __fma_rn(wide, wide, least), *d++ = __fma_rz(wide, -wide, least), *d++ = __fma_ru(wide, wide, least),
    *d++ = __fma_rd(1, wide, -least);
    *d++ = __ll2double_rz(9007199254740993ll), *d++ = __ll2double_ru(9007199254740993ll), *d++ = __ull2double_rd(~0ull),
    *d++ = __ull2double_rn(~0ull);
    *d++ = __hiloint2double(__double2hiint(wide), __double2loint(wide)), *d++ = __dmul_rz(1e308, 10),
    *d++ = __dmul_ru(1e308, 10);

    long long *i = r->i;
    *i++ = __float2int_rn(2.5f * one), *i++ = __float2int_rz(-2.5f * one), *i++ = __float2int_ru(2.1f * one),
    *i++ = __float2int_rd(-2.1f * one);
    *i++ = __float2int_rz(1e20f * one), *i++ = __float2int_rn(-1e20f * one), *i++ = __float2uint_rz(-5 * one),
    *i++ = __float2uint_rn(1e20f * one);
    *i++ = __float2ll_rn(1e30f * one), *i++ = __float2ll_rd(-1.5f * one), *i++ = (long long)__float2ull_rz(1e30f * one),
    *i++ = (long long)__float2ull_ru(0.1f * one);
    *i++ = __double2int_rn(-3.5 * wide), *i++ = __double2int_ru(1e10 * wide), *i++ = __double2uint_rd(3e9 * wide),
    *i++ = __double2ll_rz(-1e300 * wide);
    *i++ = (long long)__double2ull_rn(1e19 * wide), *i++ = __double2ll_ru(2.0000001 * wide);
    float nan = (tiny - tiny) / (tiny - tiny);
    *i++ = __float2int_rn(nan), *i++ = __float2uint_rz(nan), *i++ = __float2ll_rz(nan), *i++ = __double2int_rz(nan);
    *i++ = umin(3u, 4000000000u), *i++ = umax(3u, 4000000000u), *i++ = llmin(-5ll, 7ll), *i++ = llmax(-5ll, 7ll);
    *i++ = (long long)ullmin(5, ~0ull), *i++ = (long long)ullmax(5, ~0ull), *i++ = (long long)__umul64hi(~0ull, 6),
    *i++ = __mul64hi(-1ll << 62, 6);
    *i++ = __usad(3, 9, 100), *i++ = __sad(-3, 9, 100), *i++ = (long long)__brevll(1),
    *i++ = __funnelshift_lc(1, 2, 40), *i++ = __funnelshift_rc(1, 2, 32);
}

// What an H200 gives.
static const float FLOATS[] = {1,
                               1,
                               0x1.000002p0f,
                               1,
                               0x1.fffffep-1f,
                               1,
                               0x1.fffffep-1f,
                               0x1.fffffep-1f,
                               -0x1p-149f,
                               -0.0f,
                               INFINITY,
                               0x1.fffffep127f,
                               0x1.555554p-2f,
                               0x1.555556p-2f,
                               -0x1.555556p-2f,
                               -0x1.555554p-2f,
                               0x1.6a09e6p0f,
                               0x1.6a09e8p0f,
                               0x1.6a09e6p0f,
                               0x1.6a09e6p-1f,
                               0x1.000002p0f,
                               0x1.fffffep-1f,
                               -0x1.fffffep-1f,
                               1,
                               -1,
                               -1,
                               -0x1.000002p0f,
                               -1,
                               16777216,
                               16777218,
                               -16777218,
                               0x1p64f};
static const double DOUBLES[] = {0x1.0000001p0,        0x1.0000001p0,          0x1.0000001000001p0,
                                 0x1.0000000ffffffp0,  0x1.0000000ffffffp0,    0x1.0000001p0,
                                 0x1.80000018p1,       0x1.80000018p1,         0x1.ffffffep-1,
                                 0x1.ffffffe000001p-1, 0x1.00000007fffffp0,    0x1.00000008p0,
                                 0x1.00000008p0,       0x1.ffffffep-1,         -0x1.ffffffe000001p-1,
                                 -0x1.ffffffep-1,      0x1.0000002p0,          -0x1.0000002p0,
                                 0x1.0000002000001p0,  0x1.0000000ffffffp0,    9007199254740992.0,
                                 9007199254740994.0,   0x1.fffffffffffffp63,   0x1p64,
                                 0x1.0000001p0,        0x1.fffffffffffffp1023, INFINITY};
static const long long INTEGERS[] = {2,
                                     -2,
                                     3,
                                     -3,
                                     2147483647,
                                     -2147483647 - 1,
                                     0,
                                     4294967295,
                                     9223372036854775807,
                                     -2,
                                     -1,
                                     1,
                                     -4,
                                     2147483647,
                                     3000000011,
                                     -9223372036854775807 - 1,
                                     -8446744036456648704,
                                     3,
                                     0,
                                     0,
                                     -9223372036854775807 - 1,
                                     -2147483647 - 1,
                                     3,
                                     4000000000,
                                     -5,
                                     7,
                                     5,
                                     -1,
                                     5,
                                     -2,
                                     106,
                                     112,
                                     -9223372036854775807 - 1,
                                     1,
                                     2};

int main()
{
    results *out = to_device<results>(NULL, 1);
    CHECK(cudaMemset(out, 0, sizeof *out));
    compute<<<1, 1>>>(1, 0x1p-60f, 0x1.0000001p0, 0x1p-80, out);
    results *r = to_host(out, 1);
    for (unsigned i = 0; i < sizeof FLOATS / sizeof *FLOATS; i++)
        if (memcmp(&r->f[i], &FLOATS[i], sizeof(float)))
            printf("float %u is %a, not %a\n", i, r->f[i], FLOATS[i]), exit(1);
    for (unsigned i = 0; i < sizeof DOUBLES / sizeof *DOUBLES; i++)
        if (memcmp(&r->d[i], &DOUBLES[i], sizeof(double)))
            printf("double %u is %a, not %a\n", i, r->d[i], DOUBLES[i]), exit(1);
    for (unsigned i = 0; i < sizeof INTEGERS / sizeof *INTEGERS; i++)
        if (r->i[i] != INTEGERS[i])
            printf("integer %u is %lld, not %lld\n", i, r->i[i], INTEGERS[i]), exit(1);
    return 0;
}

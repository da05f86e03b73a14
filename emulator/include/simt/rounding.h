/* Arithmetic and conversions whose rounding is in their names (CUDA Math API, "Single" and "Double Precision Intrinsics",
 * "Type Casting Intrinsics"): rn to nearest even, rz toward zero, ru up, rd down. */
#ifndef SIMT_ROUNDING_H
#define SIMT_ROUNDING_H

#define SIMT_ARITHMETIC(SUFFIX, HOW) \
    SIMT_INLINE float __fadd_##SUFFIX(float x, float y) { return simt_addf(HOW, x, y, 0); } \
    SIMT_INLINE float __fsub_##SUFFIX(float x, float y) { return simt_addf(HOW, x, -y, 0); } \
    SIMT_INLINE float __fmul_##SUFFIX(float x, float y) { return simt_multiplyf(HOW, x, y, 0); } \
    SIMT_INLINE float __fdiv_##SUFFIX(float x, float y) { return simt_dividef(HOW, x, y, 0); } \
    SIMT_INLINE float __frcp_##SUFFIX(float x) { return simt_dividef(HOW, 1, x, 0); } \
    SIMT_INLINE float __fsqrt_##SUFFIX(float x) { return simt_rootf(HOW, x, 0, 0); } \
    SIMT_INLINE float __fmaf_##SUFFIX(float x, float y, float z) { return simt_fusedf(HOW, x, y, z); } \
    SIMT_INLINE double __dadd_##SUFFIX(double x, double y) { return simt_add(HOW, x, y, 0); } \
    SIMT_INLINE double __dsub_##SUFFIX(double x, double y) { return simt_add(HOW, x, -y, 0); } \
    SIMT_INLINE double __dmul_##SUFFIX(double x, double y) { return simt_multiply(HOW, x, y, 0); } \
    SIMT_INLINE double __ddiv_##SUFFIX(double x, double y) { return simt_divide(HOW, x, y, 0); } \
    SIMT_INLINE double __drcp_##SUFFIX(double x) { return simt_divide(HOW, 1, x, 0); } \
    SIMT_INLINE double __dsqrt_##SUFFIX(double x) { return simt_root(HOW, x, 0, 0); } \
    SIMT_INLINE double __fma_##SUFFIX(double x, double y, double z) { return simt_fused(HOW, x, y, z); }
SIMT_ARITHMETIC(rz, SIMT_ZERO)
SIMT_ARITHMETIC(ru, SIMT_UP)
SIMT_ARITHMETIC(rd, SIMT_DOWN)
#undef SIMT_ARITHMETIC

/* To nearest is what the host does anyway. */
SIMT_INLINE float __fadd_rn(float x, float y) { return x + y; }
SIMT_INLINE float __fsub_rn(float x, float y) { return x - y; }
SIMT_INLINE float __fmul_rn(float x, float y) { return x * y; }
SIMT_INLINE float __fdiv_rn(float x, float y) { return x / y; }
SIMT_INLINE float __frcp_rn(float x) { return 1.0f / x; }
SIMT_INLINE float __fsqrt_rn(float x) { return sqrtf(x); }
SIMT_INLINE float __frsqrt_rn(float x) { return (float)(1.0 / sqrt((double)x)); }
SIMT_INLINE float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
SIMT_INLINE double __dadd_rn(double x, double y) { return x + y; }
SIMT_INLINE double __dsub_rn(double x, double y) { return x - y; }
SIMT_INLINE double __dmul_rn(double x, double y) { return x * y; }
SIMT_INLINE double __ddiv_rn(double x, double y) { return x / y; }
SIMT_INLINE double __drcp_rn(double x) { return 1.0 / x; }
SIMT_INLINE double __dsqrt_rn(double x) { return sqrt(x); }
SIMT_INLINE double __fma_rn(double x, double y, double z) { return fma(x, y, z); }

/* ---- to floating point ---- */

#define SIMT_TO_FLOATING(SUFFIX, HOW) \
    SIMT_INLINE float __double2float_##SUFFIX(double x) { return simt_double_to_float(HOW, x, 0, 0); } \
    SIMT_INLINE float __int2float_##SUFFIX(int x) { return simt_signed_to_float(HOW, x, 0, 0); } \
    SIMT_INLINE float __uint2float_##SUFFIX(unsigned x) { return simt_unsigned_to_float(HOW, x, 0, 0); } \
    SIMT_INLINE float __ll2float_##SUFFIX(long long x) { return simt_signed_to_float(HOW, x, 0, 0); } \
    SIMT_INLINE float __ull2float_##SUFFIX(unsigned long long x) { return simt_unsigned_to_float(HOW, x, 0, 0); } \
    SIMT_INLINE double __ll2double_##SUFFIX(long long x) { return simt_signed_to_double(HOW, x, 0, 0); } \
    SIMT_INLINE double __ull2double_##SUFFIX(unsigned long long x) { return simt_unsigned_to_double(HOW, x, 0, 0); }
SIMT_TO_FLOATING(rn, SIMT_NEAREST)
SIMT_TO_FLOATING(rz, SIMT_ZERO)
SIMT_TO_FLOATING(ru, SIMT_UP)
SIMT_TO_FLOATING(rd, SIMT_DOWN)
#undef SIMT_TO_FLOATING
SIMT_INLINE double __int2double_rn(int x) { return x; }
SIMT_INLINE double __uint2double_rn(unsigned x) { return x; }

/* ---- to integers: what is too large becomes the largest; NaN, as the PTX ISA has it for cvt ---- */

namespace simt
{
template <class I, class F> SIMT_INLINE I to_integer(F whole)
{
    constexpr bool wide = sizeof(I) == 8 || sizeof(F) == 8;
    constexpr I most = std::numeric_limits<I>::max(), least = std::numeric_limits<I>::min();
    if (whole != whole)
        return wide ? (I)(1ull << (8 * sizeof(I) - 1)) : 0;
    if (whole >= (F)most)
        return most;
    return whole <= (F)least ? least : (I)whole;
}
}  // namespace simt
#define SIMT_TO_INTEGER(NAME, I, F) \
    SIMT_INLINE I NAME##_rn(F x) { return simt::to_integer<I>(std::rint(x)); } \
    SIMT_INLINE I NAME##_rz(F x) { return simt::to_integer<I>(std::trunc(x)); } \
    SIMT_INLINE I NAME##_ru(F x) { return simt::to_integer<I>(std::ceil(x)); } \
    SIMT_INLINE I NAME##_rd(F x) { return simt::to_integer<I>(std::floor(x)); }
SIMT_TO_INTEGER(__float2int, int, float)
SIMT_TO_INTEGER(__float2uint, unsigned, float)
SIMT_TO_INTEGER(__float2ll, long long, float)
SIMT_TO_INTEGER(__float2ull, unsigned long long, float)
SIMT_TO_INTEGER(__double2int, int, double)
SIMT_TO_INTEGER(__double2uint, unsigned, double)
SIMT_TO_INTEGER(__double2ll, long long, double)
SIMT_TO_INTEGER(__double2ull, unsigned long long, double)
#undef SIMT_TO_INTEGER

#endif

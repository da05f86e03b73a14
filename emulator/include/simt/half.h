/* What __half and __nv_bfloat16 have in common: 16 bits, arithmetic in float rounded to nearest even, pairs of 4 bytes
 * (CUDA Math API, "Half Arithmetic Functions" and "Bfloat16"). For sums, products and quotients of 16-bit numbers,
 * rounding the float's result gives what one rounding would. */
#ifndef SIMT_HALF_H
#define SIMT_HALF_H

#include "../cuda_runtime.h"

namespace simt
{

SIMT_INLINE unsigned float_bits(float f) { return __float_as_uint(f); }

/* Rounds away the `drop` low bits of a positive number, to nearest, ties to even. */
SIMT_INLINE unsigned round_off(unsigned bits, unsigned drop)
{
    unsigned half = 1u << (drop - 1), rest = bits & ((1u << drop) - 1), kept = bits >> drop;
    return kept + (rest > half || (rest == half && (kept & 1)));
}

/* IEEE 754 binary16: sign 1, exponent 5, fraction 10. */
inline unsigned short half_from(float f)
{
    unsigned bits = float_bits(f), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return (unsigned short)(sign | 0x7fff); /* NaN */
    if (magnitude >= 0x477ff000)
        return (unsigned short)(sign | 0x7c00); /* too large: infinity */
    if (magnitude >= 0x38800000)
        return (unsigned short)(sign | round_off(magnitude - 0x38000000, 13));
    if (magnitude < 0x33000000)
        return (unsigned short)sign; /* less than half of the least */
    unsigned exponent = magnitude >> 23, fraction = (magnitude & 0x7fffff) | 0x800000;
    return (unsigned short)(sign | round_off(fraction, 126 - exponent));
}

inline float half_to(unsigned short h)
{
    unsigned sign = (unsigned)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3ff;
    if (exponent == 31)
        return __uint_as_float(sign | 0x7f800000 | fraction << 13);
    if (exponent)
        return __uint_as_float(sign | (exponent + 112) << 23 | fraction << 13);
    float tiny = (float)fraction * 0x1p-24f;
    return sign ? -tiny : tiny;
}

/* bfloat16: the upper half of a float. */
inline unsigned short bfloat_from(float f)
{
    unsigned bits = float_bits(f);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return 0x7fff;
    return (unsigned short)(bits >> 31 << 15 | round_off(bits & 0x7fffffff, 16));
}
inline float bfloat_to(unsigned short b) { return __uint_as_float((unsigned)b << 16); }

}  // namespace simt

#define SIMT_16BIT_TYPE(T, T2, FROM, TO) \
    struct T { \
        unsigned short bits; \
        T() = default; \
        T(float f) : bits(simt::FROM(f)) {} \
        T(double f) : bits(simt::FROM((float)f)) {} \
        T(int i) : bits(simt::FROM((float)i)) {} \
        T(unsigned i) : bits(simt::FROM((float)i)) {} \
        operator float() const { return simt::TO(bits); } \
        T &operator+=(T o) { return *this = T(float(*this) + float(o)); } \
        T &operator-=(T o) { return *this = T(float(*this) - float(o)); } \
        T &operator*=(T o) { return *this = T(float(*this) * float(o)); } \
        T &operator/=(T o) { return *this = T(float(*this) / float(o)); } \
    }; \
    struct __attribute__((aligned(4))) T2 { \
        T x, y; \
        typedef unsigned simt_move __attribute__((may_alias)); \
        T2() = default; \
        T2(T x_, T y_) : x(x_), y(y_) {} \
        __attribute__((always_inline)) T2(const T2 &o) { *(simt_move *)this = *(const simt_move *)&o; } \
        __attribute__((always_inline)) T2 &operator=(const T2 &o) \
        { \
            *(simt_move *)this = *(const simt_move *)&o; \
            return *this; \
        } \
    }; \
    SIMT_INLINE T operator+(T a, T b) { return T(float(a) + float(b)); } \
    SIMT_INLINE T operator-(T a, T b) { return T(float(a) - float(b)); } \
    SIMT_INLINE T operator*(T a, T b) { return T(float(a) * float(b)); } \
    SIMT_INLINE T operator/(T a, T b) { return T(float(a) / float(b)); } \
    SIMT_INLINE T operator-(T a) { return T(-float(a)); } \
    SIMT_INLINE bool operator==(T a, T b) { return float(a) == float(b); } \
    SIMT_INLINE bool operator!=(T a, T b) { return float(a) != float(b); } \
    SIMT_INLINE bool operator<(T a, T b) { return float(a) < float(b); } \
    SIMT_INLINE bool operator<=(T a, T b) { return float(a) <= float(b); } \
    SIMT_INLINE bool operator>(T a, T b) { return float(a) > float(b); } \
    SIMT_INLINE bool operator>=(T a, T b) { return float(a) >= float(b); } \
    SIMT_INLINE T __hadd(T a, T b) { return a + b; } \
    SIMT_INLINE T __hsub(T a, T b) { return a - b; } \
    SIMT_INLINE T __hmul(T a, T b) { return a * b; } \
    SIMT_INLINE T __hdiv(T a, T b) { return a / b; } \
    SIMT_INLINE T __hfma(T a, T b, T c) { return T((double)a * (double)b + (double)c); } \
    SIMT_INLINE T __hneg(T a) { return -a; } \
    SIMT_INLINE T __habs(T a) { return T(fabsf(a)); } \
    SIMT_INLINE T __hmax(T a, T b) { return T(fmaxf(a, b)); } \
    SIMT_INLINE T __hmin(T a, T b) { return T(fminf(a, b)); } \
    SIMT_INLINE bool __heq(T a, T b) { return a == b; } \
    SIMT_INLINE bool __hne(T a, T b) { return a != b; } \
    SIMT_INLINE bool __hlt(T a, T b) { return a < b; } \
    SIMT_INLINE bool __hle(T a, T b) { return a <= b; } \
    SIMT_INLINE bool __hgt(T a, T b) { return a > b; } \
    SIMT_INLINE bool __hge(T a, T b) { return a >= b; } \
    SIMT_INLINE bool __hisnan(T a) { return isnan(float(a)); } \
    SIMT_INLINE T hexp(T a) { return T(expf(a)); } \
    SIMT_INLINE T hexp2(T a) { return T(exp2f(a)); } \
    SIMT_INLINE T hlog(T a) { return T(logf(a)); } \
    SIMT_INLINE T hsqrt(T a) { return T(sqrtf(a)); } \
    SIMT_INLINE T hrsqrt(T a) { return T(1.0f / sqrtf(a)); } \
    SIMT_INLINE T hrcp(T a) { return T(1.0f / float(a)); } \
    SIMT_INLINE T2 operator+(T2 a, T2 b) { return T2(a.x + b.x, a.y + b.y); } \
    SIMT_INLINE T2 operator-(T2 a, T2 b) { return T2(a.x - b.x, a.y - b.y); } \
    SIMT_INLINE T2 operator*(T2 a, T2 b) { return T2(a.x * b.x, a.y * b.y); } \
    SIMT_INLINE T2 __hadd2(T2 a, T2 b) { return a + b; } \
    SIMT_INLINE T2 __hsub2(T2 a, T2 b) { return a - b; } \
    SIMT_INLINE T2 __hmul2(T2 a, T2 b) { return a * b; } \
    SIMT_INLINE T2 __hfma2(T2 a, T2 b, T2 c) { return T2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)); } \
    SIMT_INLINE T2 __hmax2(T2 a, T2 b) { return T2(__hmax(a.x, b.x), __hmax(a.y, b.y)); } \
    SIMT_INLINE T2 __hmin2(T2 a, T2 b) { return T2(__hmin(a.x, b.x), __hmin(a.y, b.y)); } \
    SIMT_INLINE float __low2float(T2 a) { return a.x; } \
    SIMT_INLINE float __high2float(T2 a) { return a.y; }

#endif

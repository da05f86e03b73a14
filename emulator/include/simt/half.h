/* What __half and __nv_bfloat16 have in common: 16 bits, arithmetic in float rounded to nearest even, pairs of 4 bytes
 * (CUDA Math API, "Half Arithmetic Functions" and "Bfloat16"). For sums, products and quotients of 16-bit numbers,
 * rounding the float's result gives what one rounding would. */
#ifndef SIMT_HALF_H
#define SIMT_HALF_H

#include "../cuda_runtime.h"
#include "half_bits.h"

#define SIMT_16BIT_TYPE(T, T2, FROM, TO, TYPE, TYPE2) \
    struct T { \
        unsigned short bits; \
        T() = default; \
        T(float f) : bits(FROM(f)) {} \
        T(double f) : bits(FROM((float)f)) {} \
        T(int i) : bits(FROM((float)i)) {} \
        T(unsigned i) : bits(FROM((float)i)) {} \
        operator float() const { return TO(bits); } \
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
    SIMT_INLINE float __high2float(T2 a) { return a.y; } \
    template <> constexpr ::simt_type simt::type_of<T>() { return TYPE; } \
    template <> constexpr ::simt_type simt::type_of<T2>() { return TYPE2; } \
    SIMT_INLINE T atomicAdd(T *address, T value) \
    { \
        return simt::atomic(SIMT_ATOMIC_ADD, SIMT_SCOPE_DEVICE, address, value); \
    } \
    SIMT_INLINE T2 atomicAdd(T2 *address, T2 value) \
    { \
        return simt::atomic(SIMT_ATOMIC_ADD, SIMT_SCOPE_DEVICE, address, value); \
    }

#endif

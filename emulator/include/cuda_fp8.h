/* 8-bit floating point (CUDA Math API, "FP8 Intrinsics"): e4m3, which has no infinity, and e5m2. Both only store: to compute
 * with them, one converts. */
#ifndef __CUDA_FP8_H__
#define __CUDA_FP8_H__
#define __CUDA_FP8_TYPES_EXIST__

#include "cuda_bf16.h"

#pragma simt_refuse <cuda_fp8.h> 8-bit scales: __nv_fp8_e8m0* __nv_fp8x2_e8m0* __nv_fp8x4_e8m0* __nv_cvt_e8m0*

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;
typedef enum { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

/* ---- one number ------------------------------------------------------------------------------------------ */

/* Rounds to nearest even. What is too large becomes the largest number if it saturates, else infinity or NaN. */
SIMT_INLINE __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturation,
                                                      __nv_fp8_interpretation_t type)
{
    double largest = type == __NV_E4M3 ? 448 : 57344;
    if (saturation == __NV_SATFINITE && fabs(x) > largest)
        x = copysign(largest, x);
    return (__nv_fp8_storage_t)simt_narrow(type == __NV_E4M3 ? SIMT_E4M3 : SIMT_E5M2, x, SIMT_NEAREST);
}
SIMT_INLINE __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturation,
                                                     __nv_fp8_interpretation_t type)
{
    return __nv_cvt_double_to_fp8(x, saturation, type);
}
SIMT_INLINE __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturation,
                                                       __nv_fp8_interpretation_t type)
{
    return __nv_cvt_double_to_fp8(simt_half_to(x.x), saturation, type);
}
SIMT_INLINE __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t saturation,
                                                           __nv_fp8_interpretation_t type)
{
    return __nv_cvt_double_to_fp8(simt_bfloat_to(x.x), saturation, type);
}
SIMT_INLINE __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t type)
{
    return __half(simt_widen(type == __NV_E4M3 ? SIMT_E4M3 : SIMT_E5M2, x));
}

/* ---- two: the first in the low byte ---------------------------------------------------------------------- */

SIMT_INLINE __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(double2 x, __nv_saturation_t saturation,
                                                           __nv_fp8_interpretation_t type)
{
    return (__nv_fp8x2_storage_t)(__nv_cvt_double_to_fp8(x.x, saturation, type) |
                                  __nv_cvt_double_to_fp8(x.y, saturation, type) << 8);
}
SIMT_INLINE __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t saturation,
                                                          __nv_fp8_interpretation_t type)
{
    return __nv_cvt_double2_to_fp8x2(make_double2(x.x, x.y), saturation, type);
}
SIMT_INLINE __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(__half2_raw x, __nv_saturation_t saturation,
                                                            __nv_fp8_interpretation_t type)
{
    return __nv_cvt_float2_to_fp8x2(__half22float2(x), saturation, type);
}
SIMT_INLINE __nv_fp8x2_storage_t __nv_cvt_bfloat16raw2_to_fp8x2(__nv_bfloat162_raw x, __nv_saturation_t saturation,
                                                                __nv_fp8_interpretation_t type)
{
    return __nv_cvt_float2_to_fp8x2(__bfloat1622float2(x), saturation, type);
}
SIMT_INLINE __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x, __nv_fp8_interpretation_t type)
{
    return {__nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)x, type).x,
            __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)(x >> 8), type).x};
}

/* ---- the types: all conversions are explicit, and saturate ----------------------------------------------- */

namespace simt
{
template <__nv_fp8_interpretation_t TYPE> struct fp8 {
    __nv_fp8_storage_t __x;
    fp8() = default;
    template <class T> explicit fp8(T x) : __x(__nv_cvt_double_to_fp8((double)(float)x, __NV_SATFINITE, TYPE)) {}
    explicit fp8(double x) : __x(__nv_cvt_double_to_fp8(x, __NV_SATFINITE, TYPE)) {}
    explicit operator __half() const { return __nv_cvt_fp8_to_halfraw(__x, TYPE); }
    explicit operator __nv_bfloat16() const { return float(*this); }
    explicit operator float() const { return __half(*this); }
    explicit operator double() const { return float(*this); }
    explicit operator bool() const { return (__x & 0x7f) != 0; }
    template <class I, class = std::enable_if_t<std::is_integral_v<I>>> explicit operator I() const
    {
        return to_integer<I>(std::trunc(float(*this)));
    }
};

template <__nv_fp8_interpretation_t TYPE> struct fp8x2 {
    __nv_fp8x2_storage_t __x;
    fp8x2() = default;
    explicit fp8x2(float2 x) : __x(__nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, TYPE)) {}
    explicit fp8x2(double2 x) : __x(__nv_cvt_double2_to_fp8x2(x, __NV_SATFINITE, TYPE)) {}
    explicit fp8x2(__half2 x) : fp8x2(__half22float2(x)) {}
    explicit fp8x2(__nv_bfloat162 x) : fp8x2(__bfloat1622float2(x)) {}
    explicit operator __half2() const { return __nv_cvt_fp8x2_to_halfraw2(__x, TYPE); }
    explicit operator float2() const { return __half22float2(__half2(*this)); }
};

template <__nv_fp8_interpretation_t TYPE> struct fp8x4 {
    __nv_fp8x4_storage_t __x;
    typedef fp8x2<TYPE> pair;
    fp8x4() = default;
    explicit fp8x4(double4 x) : fp8x4(pair(make_double2(x.x, x.y)), pair(make_double2(x.z, x.w))) {}
    explicit fp8x4(float4 x) : fp8x4(pair(make_float2(x.x, x.y)), pair(make_float2(x.z, x.w))) {}
    fp8x4(__half2 low, __half2 high) : fp8x4(pair(low), pair(high)) {}
    fp8x4(__nv_bfloat162 low, __nv_bfloat162 high) : fp8x4(pair(low), pair(high)) {}
    explicit operator float4() const
    {
        pair low, high;
        low.__x = (__nv_fp8x2_storage_t)__x;
        high.__x = (__nv_fp8x2_storage_t)(__x >> 16);
        float2 a(low), b(high);
        return make_float4(a.x, a.y, b.x, b.y);
    }

private:
    fp8x4(pair low, pair high) : __x(low.__x | (unsigned)high.__x << 16) {}
};
}  // namespace simt

struct __nv_fp8_e4m3 : simt::fp8<__NV_E4M3> {
    using fp8::fp8;
};
struct __nv_fp8_e5m2 : simt::fp8<__NV_E5M2> {
    using fp8::fp8;
};
struct __nv_fp8x2_e4m3 : simt::fp8x2<__NV_E4M3> {
    using fp8x2::fp8x2;
};
struct __nv_fp8x2_e5m2 : simt::fp8x2<__NV_E5M2> {
    using fp8x2::fp8x2;
};
struct __nv_fp8x4_e4m3 : simt::fp8x4<__NV_E4M3> {
    using fp8x4::fp8x4;
};
struct __nv_fp8x4_e5m2 : simt::fp8x4<__NV_E5M2> {
    using fp8x4::fp8x4;
};

#endif

/* Half precision (CUDA Math API, "Half Precision Intrinsics"): see simt/half.h. */
#ifndef __CUDA_FP16_H__
#define __CUDA_FP16_H__

#include "simt/half.h"

SIMT_16BIT_TYPE(__half, __half2, simt_half_from, simt_half_to, SIMT_F16, SIMT_F16X2)
typedef __half half;
typedef __half2 half2;

SIMT_INLINE __half __float2half(float f) { return __half(f); }
SIMT_INLINE __half __float2half_rn(float f) { return __half(f); }
SIMT_INLINE __half __double2half(double f) { return __half(f); }
SIMT_INLINE float __half2float(__half h) { return h; }
SIMT_INLINE __half __int2half_rn(int i) { return __half(i); }
SIMT_INLINE __half __uint2half_rn(unsigned i) { return __half(i); }
SIMT_INLINE int __half2int_rn(__half h) { return (int)rintf(h); }
SIMT_INLINE int __half2int_rz(__half h) { return (int)float(h); }
SIMT_INLINE __half2 __floats2half2_rn(float x, float y) { return __half2(__half(x), __half(y)); }
SIMT_INLINE __half2 __float2half2_rn(float f) { return __half2(__half(f), __half(f)); }
SIMT_INLINE __half2 __float22half2_rn(float2 f) { return __half2(__half(f.x), __half(f.y)); }
SIMT_INLINE float2 __half22float2(__half2 h) { return make_float2(h.x, h.y); }
SIMT_INLINE __half2 __halves2half2(__half x, __half y) { return __half2(x, y); }
SIMT_INLINE __half2 make_half2(__half x, __half y) { return __half2(x, y); }
SIMT_INLINE __half2 __half2half2(__half h) { return __half2(h, h); }
SIMT_INLINE __half __low2half(__half2 h) { return h.x; }
SIMT_INLINE __half __high2half(__half2 h) { return h.y; }
SIMT_INLINE __half2 __lows2half2(__half2 a, __half2 b) { return __half2(a.x, b.x); }
SIMT_INLINE __half2 __highs2half2(__half2 a, __half2 b) { return __half2(a.y, b.y); }
SIMT_INLINE __half2 __lowhigh2highlow(__half2 h) { return __half2(h.y, h.x); }
SIMT_INLINE __half2 h2exp(__half2 h) { return __half2(hexp(h.x), hexp(h.y)); }
SIMT_INLINE __half2 h2exp2(__half2 h) { return __half2(hexp2(h.x), hexp2(h.y)); }
SIMT_INLINE unsigned short __half_as_ushort(__half h) { return h.bits; }
SIMT_INLINE short __half_as_short(__half h) { return (short)h.bits; }
SIMT_INLINE __half __ushort_as_half(unsigned short bits)
{
    __half h;
    h.bits = bits;
    return h;
}

#define CUDART_INF_FP16 __ushort_as_half(0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half(0x7fff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(0x0001)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7bff)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(0x8000)
#define CUDART_ZERO_FP16 __ushort_as_half(0x0000)
#define CUDART_ONE_FP16 __ushort_as_half(0x3c00)

#endif

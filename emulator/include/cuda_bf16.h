/* bfloat16 (CUDA Math API, "Bfloat16 Precision Intrinsics"): see simt/half.h. */
#ifndef SIMT_CUDA_BF16_H
#define SIMT_CUDA_BF16_H

#include "simt/half.h"

SIMT_16BIT_TYPE(__nv_bfloat16, __nv_bfloat162, bfloat_from, bfloat_to)
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

SIMT_INLINE __nv_bfloat16 __float2bfloat16(float f) { return __nv_bfloat16(f); }
SIMT_INLINE __nv_bfloat16 __float2bfloat16_rn(float f) { return __nv_bfloat16(f); }
SIMT_INLINE __nv_bfloat16 __double2bfloat16(double f) { return __nv_bfloat16(f); }
SIMT_INLINE float __bfloat162float(__nv_bfloat16 b) { return b; }
SIMT_INLINE __nv_bfloat162 __floats2bfloat162_rn(float x, float y)
{
    return __nv_bfloat162(__nv_bfloat16(x), __nv_bfloat16(y));
}
SIMT_INLINE __nv_bfloat162 __float2bfloat162_rn(float f) { return __nv_bfloat162(__nv_bfloat16(f), __nv_bfloat16(f)); }
SIMT_INLINE float2 __bfloat1622float2(__nv_bfloat162 b) { return make_float2(b.x, b.y); }
SIMT_INLINE __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return __nv_bfloat162(x, y); }
SIMT_INLINE __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 b) { return __nv_bfloat162(b, b); }
SIMT_INLINE unsigned short __bfloat16_as_ushort(__nv_bfloat16 b) { return b.bits; }
SIMT_INLINE __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits)
{
    __nv_bfloat16 b;
    b.bits = bits;
    return b;
}

#endif

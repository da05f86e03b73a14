/* bfloat16 (CUDA Math API, "Bfloat16 Precision Intrinsics"): see simt/half.h. */
#ifndef __CUDA_BF16_H__
#define __CUDA_BF16_H__

#include "simt/half.h"

SIMT_16BIT_TYPE(__nv_bfloat16, __nv_bfloat162, simt_bfloat_from, simt_bfloat_to, SIMT_BF16, SIMT_BF16X2)
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

#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7f80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16(0x7fff)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7f7f)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0x0000)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3f80)

#endif

/* Half precision (CUDA Math API, "Half Precision Intrinsics"): see simt/half_type.h. */
#ifndef __CUDA_FP16_H__
#define __CUDA_FP16_H__
#define __CUDA_FP16_TYPES_EXIST__

#include "simt/half.h"

#define SIMT_T __half
#define SIMT_T2 __half2
#define SIMT_RAW __half_raw
#define SIMT_RAW2 __half2_raw
#define SIMT_OTHER __nv_bfloat16
#define SIMT_NARROW SIMT_HALF
#define SIMT_TO_FLOAT simt_half_to
#define SIMT_ATOMIC SIMT_F16
#define SIMT_ATOMIC2 SIMT_F16X2
#define SIMT_NAMED(BEFORE, AFTER) BEFORE##half##AFTER
#include "simt/half_type.h"

typedef __half half, nv_half, __nv_half;
typedef __half2 half2, nv_half2, __nv_half2;
typedef __half_raw __nv_half_raw;
typedef __half2_raw __nv_half2_raw;

SIMT_INLINE __half2 __half2half2(__half a) { return __half2(a, a); }

#define CUDART_INF_FP16 __ushort_as_half(0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half(0x7fff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(0x0001)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7bff)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(0x8000)
#define CUDART_ZERO_FP16 __ushort_as_half(0x0000)
#define CUDART_ONE_FP16 __ushort_as_half(0x3c00)

#endif

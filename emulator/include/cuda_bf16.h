/* bfloat16 (CUDA Math API, "Bfloat16 Precision Intrinsics"): see simt/half_type.h. */
#ifndef __CUDA_BF16_H__
#define __CUDA_BF16_H__
#define __CUDA_BF16_TYPES_EXIST__

#include "cuda_fp16.h"

#define SIMT_T __nv_bfloat16
#define SIMT_T2 __nv_bfloat162
#define SIMT_RAW __nv_bfloat16_raw
#define SIMT_RAW2 __nv_bfloat162_raw
#define SIMT_OTHER __half
#define SIMT_NARROW SIMT_BFLOAT
#define SIMT_TO_FLOAT simt_bfloat_to
#define SIMT_ATOMIC SIMT_BF16
#define SIMT_ATOMIC2 SIMT_BF16X2
#define SIMT_NAMED(BEFORE, AFTER) BEFORE##bfloat16##AFTER
#include "simt/half_type.h"

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

inline __half::__half(__nv_bfloat16 other) : __half(float(other)) {}
inline __nv_bfloat16::__nv_bfloat16(__half other) : __nv_bfloat16(float(other)) {}
SIMT_INLINE __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return __nv_bfloat162(a, a); }

#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7f80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16(0x7fff)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7f7f)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0x0000)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3f80)

#endif

/* Complex numbers as pairs of floats and doubles, in C's manner: cuComplex.h of the CUDA toolkit. */
#ifndef CU_COMPLEX_H_
#define CU_COMPLEX_H_

#include "cuda_runtime.h"
#include <math.h>

#define SIMT_COMPLEX(T, R, F, HYPOT) \
    static inline T make_##T(R re, R im) \
    { \
        T z; \
        z.x = re; \
        z.y = im; \
        return z; \
    } \
    static inline R cuCreal##F(T z) { return z.x; } \
    static inline R cuCimag##F(T z) { return z.y; } \
    static inline T cuConj##F(T z) { return make_##T(z.x, -z.y); } \
    static inline T cuCadd##F(T a, T b) { return make_##T(a.x + b.x, a.y + b.y); } \
    static inline T cuCsub##F(T a, T b) { return make_##T(a.x - b.x, a.y - b.y); } \
    static inline T cuCmul##F(T a, T b) { return make_##T(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); } \
    static inline T cuCdiv##F(T a, T b) /* scaled, so that the square of b neither overflows nor vanishes */ \
    { \
        R scale = 1 / ((b.x < 0 ? -b.x : b.x) + (b.y < 0 ? -b.y : b.y)); \
        T c = make_##T(a.x * scale, a.y * scale), d = make_##T(b.x * scale, b.y * scale); \
        R over = 1 / (d.x * d.x + d.y * d.y); \
        return make_##T((c.x * d.x + c.y * d.y) * over, (c.y * d.x - c.x * d.y) * over); \
    } \
    static inline R cuCabs##F(T z) { return HYPOT(z.x, z.y); } \
    static inline T cuCfma##F(T a, T b, T c) { return cuCadd##F(cuCmul##F(a, b), c); }

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;
SIMT_COMPLEX(cuFloatComplex, float, f, hypotf)
SIMT_COMPLEX(cuDoubleComplex, double, , hypot)
static inline cuComplex make_cuComplex(float re, float im) { return make_cuFloatComplex(re, im); }
static inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) { return make_cuDoubleComplex(z.x, z.y); }
static inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z)
{
    return make_cuFloatComplex((float)z.x, (float)z.y);
}

#endif

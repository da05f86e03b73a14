/* What the half types are made of. half_type.h, which cuda_fp16.h and cuda_bf16.h each include once, holds the rest. */
#ifndef SIMT_HALF_H
#define SIMT_HALF_H

#include "../cuda_runtime.h"
#include "half_bits.h"

namespace simt
{
/* Sums, products and quotients of 16-bit numbers are exact in double, or so near that rounding them again is harmless: 53
 * bits are more than twice 11 and two (Figueroa, "When is double rounding innocuous?"). A product plus a number is not. */
SIMT_INLINE double fused(double a, double b, double c) { return simt_odd_sum(a * b, c); }

/* PTX ISA, "max": a number wins over NaN, and +0 over -0. */
SIMT_INLINE float greater(float a, float b)
{
    if (a != a || b != b)
        return a != a ? b : a;
    if (a == b)
        return std::signbit(a) ? b : a;
    return a > b ? a : b;
}
SIMT_INLINE float lesser(float a, float b) { return -greater(-a, -b); }
SIMT_INLINE bool unordered(float a, float b) { return a != a || b != b; }
/* An integer as a double that rounds to a 16-bit number as the integer would. */
template <class I> SIMT_INLINE double exact(I x)
{
    if constexpr (std::is_integral_v<I> && sizeof(I) == 8)
        return simt_odd_sum((double)(x >> 32) * 0x1p32, (double)(unsigned)x);
    return (double)x;
}
}  // namespace simt

#endif

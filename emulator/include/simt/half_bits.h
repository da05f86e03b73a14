/* Floating point of 16 and 8 bits, as bits, in C and C++: from double and back. */
#ifndef SIMT_HALF_BITS_H
#define SIMT_HALF_BITS_H

#include "runtime.h"

/* IEEE 754 binary16; bfloat16, the upper half of a float; and those of 8 bits, named by exponent and fraction. */
enum simt_narrow_type { SIMT_HALF, SIMT_BFLOAT, SIMT_E4M3, SIMT_E5M2 };

#ifdef __cplusplus
extern "C" {
#endif
/* Rounds once. NaN becomes the type's canonical NaN; what is too large infinity, or NaN where there is no infinity, or
 * the largest number where the rounding is toward zero. */
unsigned simt_narrow(enum simt_narrow_type to, double x, enum simt_rounding how) __attribute__((const, nothrow));
double simt_widen(enum simt_narrow_type from, unsigned bits) __attribute__((const, nothrow)); /* exact */
/* a + b rounded to odd: rounding that to a narrow type gives what one rounding of the exact sum would. */
double simt_odd_sum(double a, double b) __attribute__((const, nothrow));
#ifdef __cplusplus
}
#endif

static inline unsigned simt_float_bits(float f)
{
    unsigned bits;
    __builtin_memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline float simt_bits_float(unsigned bits)
{
    float f;
    __builtin_memcpy(&f, &bits, sizeof f);
    return f;
}

static inline unsigned short simt_half_from(double x)
{
    return (unsigned short)simt_narrow(SIMT_HALF, x, SIMT_NEAREST);
}
static inline unsigned short simt_bfloat_from(double x)
{
    return (unsigned short)simt_narrow(SIMT_BFLOAT, x, SIMT_NEAREST);
}

static inline float simt_half_to(unsigned short h)
{
    unsigned sign = (unsigned)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3ff;
    if (exponent == 31)
        return simt_bits_float(fraction ? 0x7fffffff : sign | 0x7f800000);
    if (exponent)
        return simt_bits_float(sign | (exponent + 112) << 23 | fraction << 13);
    float tiny = (float)fraction * 0x1p-24f;
    return sign ? -tiny : tiny;
}

static inline float simt_bfloat_to(unsigned short b) { return simt_bits_float((unsigned)b << 16); }

#endif

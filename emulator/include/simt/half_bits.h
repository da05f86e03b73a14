/* 16-bit floating point as bits, in C and C++: to float, and back with rounding to nearest even. */
#ifndef SIMT_HALF_BITS_H
#define SIMT_HALF_BITS_H

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

/* Rounds away the `drop` low bits of a positive number, to nearest, ties to even. */
static inline unsigned simt_round_off(unsigned bits, unsigned drop)
{
    unsigned half = 1u << (drop - 1), rest = bits & ((1u << drop) - 1), kept = bits >> drop;
    return kept + (rest > half || (rest == half && (kept & 1)));
}

/* IEEE 754 binary16: sign 1, exponent 5, fraction 10. */
static inline unsigned short simt_half_from(float f)
{
    unsigned bits = simt_float_bits(f), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return (unsigned short)(sign | 0x7fff); /* NaN */
    if (magnitude >= 0x477ff000)
        return (unsigned short)(sign | 0x7c00); /* too large: infinity */
    if (magnitude >= 0x38800000)
        return (unsigned short)(sign | simt_round_off(magnitude - 0x38000000, 13));
    if (magnitude < 0x33000000)
        return (unsigned short)sign; /* less than half of the least */
    unsigned exponent = magnitude >> 23, fraction = (magnitude & 0x7fffff) | 0x800000;
    return (unsigned short)(sign | simt_round_off(fraction, 126 - exponent));
}

static inline float simt_half_to(unsigned short h)
{
    unsigned sign = (unsigned)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3ff;
    if (exponent == 31)
        return simt_bits_float(sign | 0x7f800000 | fraction << 13);
    if (exponent)
        return simt_bits_float(sign | (exponent + 112) << 23 | fraction << 13);
    float tiny = (float)fraction * 0x1p-24f;
    return sign ? -tiny : tiny;
}

/* bfloat16: the upper half of a float. */
static inline unsigned short simt_bfloat_from(float f)
{
    unsigned bits = simt_float_bits(f);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return 0x7fff;
    return (unsigned short)(bits >> 31 << 15 | simt_round_off(bits & 0x7fffffff, 16));
}

static inline float simt_bfloat_to(unsigned short b) { return simt_bits_float((unsigned)b << 16); }

#endif

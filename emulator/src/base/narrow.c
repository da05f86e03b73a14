/* Rounding to the narrow types, as simt/half_bits.h declares it for programs and for the rooms. */
#include "base/base.h"
#include "../../include/simt/half_bits.h"
#include <math.h>
#include <string.h>

#define DOUBLE_FRACTION 52
#define DOUBLE_BIAS 1023
#define DOUBLE_SPECIAL 0x7ff /* infinity and NaN */

static const struct format {
    unsigned fraction; /* bits */
    int least;         /* exponent of the least normal number */
    unsigned sign, largest, infinity, nan;
} formats[] = {
    [SIMT_HALF] = {10, -14, 0x8000, 0x7bff, 0x7c00, 0x7fff},
    [SIMT_BFLOAT] = {7, -126, 0x8000, 0x7f7f, 0x7f80, 0x7fff},
    [SIMT_E4M3] = {3, -6, 0x80, 0x7e, 0x7f, 0x7f}, /* has no infinity */
    [SIMT_E5M2] = {2, -14, 0x80, 0x7b, 0x7c, 0x7f},
};

static bool rounds_away(enum simt_rounding how, u64 kept, u64 rest, u64 half, bool negative)
{
    switch (how) {
    case SIMT_NEAREST: return rest > half || (rest == half && (kept & 1));
    case SIMT_ZERO: return false;
    case SIMT_UP: return rest && !negative;
    case SIMT_DOWN: return rest && negative;
    }
    return false;
}

unsigned simt_narrow(enum simt_narrow_type to, double x, enum simt_rounding how)
{
    const struct format *f = &formats[to];
    u64 bits;
    memcpy(&bits, &x, sizeof bits);
    bool negative = bits >> 63;
    unsigned sign = negative ? f->sign : 0, exponent = (unsigned)(bits >> DOUBLE_FRACTION) & DOUBLE_SPECIAL;
    if (exponent == DOUBLE_SPECIAL)
        return isnan(x) ? f->nan : sign | f->infinity;
    u64 significand = bits & ((1ull << DOUBLE_FRACTION) - 1);
    if (exponent)
        significand |= 1ull << DOUBLE_FRACTION;

    /* Below the least normal number, each step of the exponent costs a bit; none is left after 54. */
    int above = (int)exponent - DOUBLE_BIAS - f->least, below = above < 0 ? -above : 0;
    unsigned drop = DOUBLE_FRACTION - f->fraction + (unsigned)below;
    if (drop > DOUBLE_FRACTION + 2)
        drop = DOUBLE_FRACTION + 2;

    u64 kept = significand >> drop, rest = significand & ((1ull << drop) - 1), half = 1ull << (drop - 1);
    bool away = rounds_away(how, kept, rest, half, negative);
    /* The bit before the fraction, and a carry out of it, go into the exponent. */
    u64 magnitude = ((u64)(above + below) << f->fraction) + kept + away;
    if (magnitude <= f->largest)
        return sign | (unsigned)magnitude;
    bool to_largest = how == SIMT_ZERO || how == (negative ? SIMT_UP : SIMT_DOWN);
    return sign | (to_largest ? f->largest : f->infinity);
}

double simt_widen(enum simt_narrow_type from, unsigned bits)
{
    const struct format *f = &formats[from];
    unsigned magnitude = bits & (f->sign - 1), fraction = magnitude & ((1u << f->fraction) - 1);
    int exponent = (int)(magnitude >> f->fraction);
    double x;
    if (magnitude <= f->largest)
        x = exponent ? ldexp(fraction + (1u << f->fraction), exponent - 1 + f->least - (int)f->fraction)
                     : ldexp(fraction, f->least - (int)f->fraction);
    else
        x = magnitude == f->infinity && f->infinity != f->nan ? (double)INFINITY : (double)NAN;
    return bits & f->sign ? -x : x;
}

/* Boldo and Melquiond, "Emulation of FMA and correctly rounded sums" (2008): the sum's error says on which side of it the
 * exact sum lies; where the sum's last bit is even, its odd neighbour on that side takes its place. */
double simt_odd_sum(double a, double b)
{
    double sum = a + b;
    double part = sum - a;
    double error = (a - (sum - part)) + (b - part);
    u64 bits;
    double odd = sum;
    memcpy(&bits, &odd, sizeof bits);
    if (!isfinite(sum) || error == 0 || bits & 1)
        return sum;
    bits += (error > 0) == (sum > 0) ? 1 : (u64)-1;
    memcpy(&odd, &bits, sizeof odd);
    return odd;
}

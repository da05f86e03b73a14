/* Arithmetic with directed rounding, as simt/runtime.h declares it for programs and for the rooms: the host's own
 * instructions, with its rounding mode changed around them. Operands and result are volatile, so that nothing moves out
 * of between. */
#include "../../include/simt/runtime.h"
#include <fenv.h>
#include <math.h>

static int enter(enum simt_rounding how)
{
    static const int modes[] = {
        [SIMT_NEAREST] = FE_TONEAREST, [SIMT_ZERO] = FE_TOWARDZERO, [SIMT_UP] = FE_UPWARD, [SIMT_DOWN] = FE_DOWNWARD};
    int before = fegetround();
    fesetround(modes[how]);
    return before;
}

#define DEFINE(NAME, TO, FROM, EXPRESSION) \
    SIMT_ROUNDED(NAME, TO, FROM) \
    { \
        volatile FROM a = x, b = y, c = z; \
        int before = enter(how); \
        volatile TO result = (EXPRESSION); \
        fesetround(before); \
        (void)a, (void)b, (void)c; \
        return result; \
    }
#define ARITHMETIC(SUFFIX, T) \
    DEFINE(simt_add##SUFFIX, T, T, a + b) \
    DEFINE(simt_multiply##SUFFIX, T, T, a *b) \
    DEFINE(simt_divide##SUFFIX, T, T, a / b)
ARITHMETIC(f, float)
ARITHMETIC(, double)
DEFINE(simt_rootf, float, float, sqrtf(a))
DEFINE(simt_root, double, double, sqrt(a))
DEFINE(simt_fusedf, float, float, fmaf(a, b, c))
DEFINE(simt_fused, double, double, fma(a, b, c))
DEFINE(simt_double_to_float, float, double, (float)a)
DEFINE(simt_signed_to_float, float, long long, (float)a)
DEFINE(simt_unsigned_to_float, float, unsigned long long, (float)a)
DEFINE(simt_signed_to_double, double, long long, (double)a)
DEFINE(simt_unsigned_to_double, double, unsigned long long, (double)a)

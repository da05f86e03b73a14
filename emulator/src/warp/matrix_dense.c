/* Matrices of numbers, wherever they come from: elements become numbers, matrices are multiplied, numbers become elements.
 *
 * Products of inputs are exact. Floating-point sums are made in fp32, c first and then the products in the order of k, each
 * rounded to nearest even; integer-valued sums below 2^24 are therefore exact. Tensor cores differ in the last bits of
 * others: they add several products at once and cut off what lies below (tests/conformance/products.cu compares). A sum
 * in fp16 is rounded once, at the end. What is not a number becomes the one NaN that tensor cores write: 0x7fffffff, or
 * 0x7fff in fp16. */
#include "warp/matrix_dense.h"
#include "warp/matrix_layout.h"
#include "../../include/simt/half_bits.h"
#include <string.h>

#define NAN32 0x7fffffffu
#define NAN16 0x7fffu

/* ---- to numbers and back ---- */

/* Exponent and fraction, moved into those of a float, are off by the difference of the biases alone: also when they are
 * subnormal. */
static union number from_small(uint32_t sign, uint32_t magnitude, uint32_t infinity, float bias, unsigned up)
{
    union number x = {.bits = magnitude << up};
    x.f *= bias;
    x.bits |= (magnitude >= infinity ? 0x7f800000u : 0) | sign;
    return x;
}

static union number from_f16(uint32_t h) { return from_small((h & 0x8000) << 16, h & 0x7fff, 0x7c00, 0x1p112f, 13); }
static union number from_e5m2(uint32_t e) { return from_f16((e & 0xff) << 8); }
static union number from_e4m3(uint32_t e) /* no infinity; 0x7f is NaN */
{
    return from_small((e & 0x80) << 24, e & 0x7f, 0x7f, 0x1p120f, 20);
}

#define LANES(N) ((N) / WARP * WARP) /* so that the compiler knows that no loop has a rest */

void dense_widen(enum element_type type, const void *restrict packed, unsigned elements, union number *restrict out)
{
    unsigned n = LANES(elements);
    const uint8_t *p8 = packed;
    const uint16_t *p16 = packed;
    const uint32_t *p32 = packed;
    switch (type) {
    case E_F16:
        for (unsigned i = 0; i < n; i++)
            out[i] = from_f16(p16[i]);
        return;
    case E_BF16:
        for (unsigned i = 0; i < n; i++)
            out[i].bits = (uint32_t)p16[i] << 16;
        return;
    case E_TF32: /* the 13 low bits are not looked at */
        for (unsigned i = 0; i < n; i++)
            out[i].bits = p32[i] & 0xffffe000u;
        return;
    case E_S8:
        for (unsigned i = 0; i < n; i++)
            out[i].i = (int8_t)p8[i];
        return;
    case E_S4: /* both of a pair */
    case E_U4:
    case E_U8:
        for (unsigned i = 0; i < n; i++)
            out[i].i = p8[i];
        return;
    case E_E4M3:
        for (unsigned i = 0; i < n; i++)
            out[i] = from_e4m3(p8[i]);
        return;
    case E_E5M2:
        for (unsigned i = 0; i < n; i++)
            out[i] = from_e5m2(p8[i]);
        return;
    case E_B1:
    case E_F32:
    case E_S32:
    case E_F64: memcpy(out, packed, n * sizeof *out); return;
    }
}

void dense_narrow(enum element_type type, const union number *restrict sums, unsigned elements, void *restrict packed)
{
    unsigned n = LANES(elements);
    uint16_t *p16 = packed;
    uint32_t *p32 = packed;
    for (unsigned i = 0; i < n; i++) {
        bool nan = type != E_S32 && sums[i].f != sums[i].f;
        if (type == E_F16)
            p16[i] = nan ? NAN16 : simt_half_from(sums[i].f);
        else
            p32[i] = nan ? NAN32 : sums[i].bits;
    }
}

void dense_negate(union number *matrix, unsigned elements)
{
    for (unsigned i = 0; i < elements; i++)
        matrix[i].bits ^= 0x80000000u;
}

/* ---- dense matrices ---- */

#define ACROSS 8 /* columns that are computed at once; every n is a multiple */
typedef float floats __attribute__((vector_size(4 * ACROSS), aligned(4), may_alias));

/* Compiled twice, and chosen by what the processor has; without fused operations, whose sums would differ. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define EIGHT_AT_ONCE __attribute__((target_clones("avx2", "default")))
#else
#define EIGHT_AT_ONCE
#endif

EIGHT_AT_ONCE
static void multiply_floats(const struct product *p, const union number *a, const union number *b, union number *sums)
{
    for (unsigned row = 0; row < p->m; row++)
        for (unsigned column = 0; column < p->n; column += ACROSS) {
            floats *out = (floats *)&sums[row * p->n + column], sum = *out;
            for (unsigned i = 0; i < p->k; i++)
                sum += a[row * p->k + i].f * *(const floats *)&b[i * p->n + column];
            *out = sum;
        }
}

static int32_t fitted(int64_t sum, bool saturates)
{
    if (saturates && sum > INT32_MAX)
        return INT32_MAX;
    if (saturates && sum < INT32_MIN)
        return INT32_MIN;
    return (int32_t)(uint32_t)(uint64_t)sum;
}

static void multiply_integers(const struct product *p, const union number *a, const union number *b, union number *sums)
{
    for (unsigned row = 0; row < p->m; row++)
        for (unsigned column = 0; column < p->n; column++) {
            union number *sum = &sums[row * p->n + column];
            int64_t exact = sum->i;
            for (unsigned i = 0; i < p->k; i++)
                exact += a[row * p->k + i].i * b[i * p->n + column].i;
            sum->i = fitted(exact, p->saturates);
        }
}

/* The product of two pairs of 4 bits, and how many bits two words have in common, or not in common. */
static int32_t nibble(int32_t pair, unsigned i, enum element_type type)
{
    int32_t value = pair >> 4 * i & 15;
    return type == E_S4 && value > 7 ? value - 16 : value;
}
static int32_t multiply_packed(const struct product *p, union number a, union number b)
{
    if (p->a == E_B1)
        return __builtin_popcount(p->conjoins ? a.bits & b.bits : a.bits ^ b.bits);
    return nibble(a.i, 0, p->a) * nibble(b.i, 0, p->b) + nibble(a.i, 1, p->a) * nibble(b.i, 1, p->b);
}

static void multiply_packs(const struct product *p, const union number *a, const union number *b, union number *sums)
{
    unsigned k = p->k / element_numbers(p->a);
    for (unsigned row = 0; row < p->m; row++)
        for (unsigned column = 0; column < p->n; column++) {
            union number *sum = &sums[row * p->n + column];
            int64_t exact = sum->i;
            for (unsigned i = 0; i < k; i++)
                exact += multiply_packed(p, a[row * k + i], b[i * p->n + column]);
            sum->i = fitted(exact, p->saturates);
        }
}

void dense_multiply_doubles(const struct product *p, const double *a, const double *b, double *sums)
{
    for (unsigned row = 0; row < p->m; row++)
        for (unsigned column = 0; column < p->n; column++) {
            double *sum = &sums[row * p->n + column];
            for (unsigned i = 0; i < p->k; i++)
                *sum = __builtin_fma(a[row * p->k + i], b[i * p->n + column], *sum);
        }
}

void dense_multiply(const struct product *p, const union number *a, const union number *b, union number *sums)
{
    if (element_numbers(p->a) > 1)
        multiply_packs(p, a, b, sums);
    else if (p->c == E_S32)
        multiply_integers(p, a, b, sums);
    else
        multiply_floats(p, a, b, sums);
}

struct dense *dense_buffers(void)
{
    static __thread struct dense *buffers __attribute__((tls_model("initial-exec")));
    if (!buffers)
        buffers = base_reserve(sizeof *buffers);
    return buffers;
}

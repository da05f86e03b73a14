/* Matrices of numbers, wherever they come from: elements become numbers, matrices are multiplied, numbers become elements.
 *
 * Products of inputs are exact. Floating-point sums of wgmma are an H200's, bit for bit (below). Others are made in fp32, c
 * first and then the products in the order of k, each rounded to nearest even; integer-valued sums below 2^24 are therefore
 * exact. Tensor cores differ in the last bits of others: they add several products at once and cut off what lies below
 * (tests/conformance/products.cu compares). A sum in fp16 is rounded once, at the end. What is not a number becomes the one NaN
 * that tensor cores write: 0x7fffffff, or 0x7fff in fp16. */
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

/* ---- dense matrices ---- */

#define WORKERS_OWN __attribute__((tls_model("initial-exec")))

/* More than a thread's stack has. */
static void *reserve_once(void **room, size_t bytes)
{
    if (!*room)
        *room = base_reserve(bytes);
    return *room;
}

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

/* ---- sums bit for bit ---- */

/* Of wgmma an H200's sums are these: of all products and c the one with the largest exponent is found; each is cut off below the
 * last bit of fraction that this one has, of 25, or of 13 for fp8; what is left is added exactly, and the sum is cut off again to
 * what fp32 holds, for fp8 to 13 bits of fraction, or rounded to fp16 (tests/conformance/wgmma.cu). */

#define INLINE inline __attribute__((always_inline))
#define HALF (ACROSS / 2) /* as many doubles as fit in a register */
typedef int16_t shorts __attribute__((vector_size(2 * ACROSS)));
typedef int16_t half_shorts __attribute__((vector_size(2 * HALF)));
typedef int32_t wholes __attribute__((vector_size(4 * HALF)));
typedef float singles __attribute__((vector_size(4 * HALF)));
typedef int64_t longs __attribute__((vector_size(8 * HALF)));
typedef double doubles __attribute__((vector_size(8 * HALF)));

/* Exponents. What is not finite has none, and outdoes all others by one that no sum reaches. */
enum { OF_ZERO = -1000, OF_NONE = 3000, LEAST = -300, MOST = 300, LEAST_OF_FLOAT = -126 };
enum { DOUBLE_FRACTION = 52, DOUBLE_BIAS = 1023, FLOAT_FRACTION = 23, FLOAT_BIAS = 127 };

static bool is_fp8(enum element_type type) { return type == E_E4M3 || type == E_E5M2; }

/* Of the smallest normal number. */
static int smallest_exponent(enum element_type type)
{
    switch (type) {
    case E_E4M3: return -6;
    case E_F16:
    case E_E5M2: return -14;
    default: return LEAST_OF_FLOAT;
    }
}

#define HALF_OF_LEAST 0x1p-25f /* what fp16 rounds to 0 */
#define CHOICE(IF, X, Y) (((IF) & (X)) | (~(IF) & (Y)))

/* Significands of subnormal numbers are not normalised. */
static INLINE wholes exponents_of(singles x, int smallest)
{
    wholes bits = (wholes)x & INT32_MAX, exponents = (bits >> FLOAT_FRACTION) - FLOAT_BIAS;
    exponents = CHOICE(exponents < smallest, (wholes){} + smallest, exponents);
    exponents = CHOICE(exponents > FLOAT_BIAS, (wholes){} + OF_NONE, exponents);
    return CHOICE(bits == 0, (wholes){} + OF_ZERO, exponents);
}

#define POWER_OF_TWO(EXPONENTS) \
    ((doubles)(__builtin_convertvector((EXPONENTS) + DOUBLE_BIAS, longs) << DOUBLE_FRACTION))
#define CUT_OFF(X) __builtin_convertvector(X, wholes)

union by_halves {
    shorts all;
    half_shorts half[2];
};

struct factors { /* all of A, and as many columns of B as are multiplied at once */
    union {
        int16_t each[MOST_A];
        half_shorts four[MOST_A / HALF];
    } a_exponents;
    double a[MOST_A];
    union by_halves b_exponents[MOST_K];
    doubles b[MOST_K][ACROSS / HALF];
};

/* HALF of them. */
static INLINE void read_numbers(const union number *x, int smallest, half_shorts *exponents, void *values)
{
    singles singly;
    memcpy(&singly, x, sizeof singly);
    *exponents = __builtin_convertvector(exponents_of(singly, smallest), half_shorts);
    doubles doubly = __builtin_convertvector(singly, doubles);
    memcpy(values, &doubly, sizeof doubly);
}

static INLINE void read_rows(const struct product *p, const union number *a, struct factors *f)
{
    for (unsigned i = 0; i < p->m * p->k; i += HALF)
        read_numbers(&a[i], smallest_exponent(p->a), &f->a_exponents.four[i / HALF], &f->a[i]);
}

static INLINE void read_columns(const struct product *p, const union number *b, struct factors *f)
{
    for (unsigned i = 0; i < p->k; i++)
        for (unsigned half = 0; half < 2; half++)
            read_numbers(&b[i * p->n + half * HALF], smallest_exponent(p->b), &f->b_exponents[i].half[half],
                         &f->b[i][half]);
}

/* Of the products of a row. */
static INLINE shorts largest_exponents(const struct product *p, const struct factors *f, unsigned row)
{
    shorts largest = (shorts){} + 2 * OF_ZERO;
    for (unsigned i = 0; i < p->k; i++) {
        shorts exponents = f->a_exponents.each[row * p->k + i] + f->b_exponents[i].all;
        largest = CHOICE(exponents > largest, exponents, largest);
    }
    return largest;
}

/* As IEEE 754 has it where not all are finite. Nothing overflows on the way. */
static float unaligned_sum(const struct product *p, const struct factors *f, unsigned row, unsigned j, float c)
{
    double sum = c;
    for (unsigned i = 0; i < p->k; i++)
        sum += f->a[row * p->k + i] * f->b[i][j / HALF][j % HALF];
    return (float)sum;
}

/* To half of the columns. */
static INLINE void add_aligned(const struct product *p, const struct factors *f, unsigned row, unsigned half,
                               wholes largest, union number *sums)
{
    int fraction = is_fp8(p->a) ? 13 : 25, kept = p->d == E_F32 && is_fp8(p->a) ? 13 : FLOAT_FRACTION;
    int64_t last = (int64_t)1 << (DOUBLE_FRACTION - kept);
    const double *a = &f->a[row * p->k];
    singles before, after;
    memcpy(&before, sums, sizeof before);
    wholes of_sums = exponents_of(before, smallest_exponent(p->c));
    largest = CHOICE(of_sums > largest, of_sums, largest);
    wholes special = largest > MOST, none = {};
    largest = CHOICE(largest < LEAST, none + LEAST, largest);
    doubles per_unit = POWER_OF_TWO(fraction - largest);
    wholes units = CUT_OFF(__builtin_convertvector(before, doubles) * per_unit),
           others = {}; /* 8 products fit in each */
    for (unsigned i = 0; i < p->k; i += 2) {
        units += CUT_OFF(a[i] * f->b[i][half] * per_unit);
        others += CUT_OFF(a[i + 1] * f->b[i + 1][half] * per_unit);
    }
    doubles sum = __builtin_convertvector(units, doubles) + __builtin_convertvector(others, doubles);
    longs exact = (longs)(sum * POWER_OF_TWO(largest - fraction)), cut = exact & -last;
    if (p->d == E_F16) /* what is cut off still decides how the rest is rounded */
        cut |= (cut != exact) & last;
    after = __builtin_convertvector((doubles)cut, singles);
    after += 0; /* nothing is -0 */
    if (p->d == E_F16)
        after = (singles)((wholes)after & ((after < -HALF_OF_LEAST) | (after > HALF_OF_LEAST)));
    memcpy(sums, &after, sizeof after);
    if (memcmp(&special, &none, sizeof none) == 0)
        return;
    for (unsigned j = 0; j < HALF; j++)
        if (special[j])
            sums[j].f = unaligned_sum(p, f, row, half * HALF + j, before[j]);
}

EIGHT_AT_ONCE
static void multiply_aligned(const struct product *p, const union number *a, const union number *b, union number *sums)
{
    static __thread void *room WORKERS_OWN;
    struct factors *f = reserve_once(&room, sizeof *f);
    read_rows(p, a, f);
    for (unsigned column = 0; column < p->n; column += ACROSS) {
        read_columns(p, &b[column], f);
        for (unsigned row = 0; row < p->m; row++) {
            union number *out = &sums[row * p->n + column];
            union by_halves largest = {largest_exponents(p, f, row)};
            add_aligned(p, f, row, 0, __builtin_convertvector(largest.half[0], wholes), out);
            add_aligned(p, f, row, 1, __builtin_convertvector(largest.half[1], wholes), out + HALF);
        }
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
    else if (p->family == LAYOUT_WGMMA)
        multiply_aligned(p, a, b, sums);
    else
        multiply_floats(p, a, b, sums);
}

struct dense *dense_buffers(void)
{
    static __thread void *room WORKERS_OWN;
    return reserve_once(&room, sizeof(struct dense));
}

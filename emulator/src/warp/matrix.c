/* Products of fragments: gather the lanes' registers into matrices, multiply, scatter the sums.
 *
 * Products of inputs are exact. Floating-point sums are made in fp32, c first and then the products in the order of k, each
 * rounded to nearest even; integer-valued sums below 2^24 are therefore exact. Tensor cores differ in the last bits of
 * others: they add several products at once and cut off what lies below (tests/conformance/products.cu compares). A sum
 * in fp16 is rounded once, at the end. What is not a number becomes the one NaN that tensor cores write: 0x7fffffff, or
 * 0x7fff in fp16. */
#include "warp/matrix.h"
#include "../../include/simt/half_bits.h"
#include "warp/collective.h"
#include "warp/matrix_layout.h"
#include "run/worker.h"
#include <string.h>

#define NAN32 0x7fffffffu
#define NAN16 0x7fffu

/* An element as it is computed with: a float, or a 32-bit integer. */
union number {
    float f;
    int32_t i;
    uint32_t bits;
};

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

/* `n` elements, packed as in registers. */
static void widen(enum element_type type, const void *packed, unsigned n, union number *out)
{
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

static void narrow(enum element_type type, const union number *sums, unsigned n, void *packed)
{
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

#define ACROSS 8 /* columns that are computed at once; every n is a multiple */
typedef float floats __attribute__((vector_size(4 * ACROSS), aligned(4), may_alias));

/* Compiled twice, and chosen by what the processor has; without fused operations, whose sums would differ. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define EIGHT_AT_ONCE __attribute__((target_clones("avx2", "default")))
#else
#define EIGHT_AT_ONCE
#endif

/* sums [m, n] += a [m, k] b [k, n] */
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

/* Each product is added by one fused operation. */
static void multiply_doubles(const struct product *p, const double *a, const double *b, double *sums)
{
    for (unsigned row = 0; row < p->m; row++)
        for (unsigned column = 0; column < p->n; column++) {
            double *sum = &sums[row * p->n + column];
            for (unsigned i = 0; i < p->k; i++)
                *sum = __builtin_fma(a[row * p->k + i], b[i * p->n + column], *sum);
        }
}

/* ---- fragments ---- */

struct multiplication { /* a lane's part */
    const struct product *product;
    const struct product_layouts *layouts;
    const uint32_t *a, *b, *c;
    uint32_t *d;
};

static const uint32_t *registers_of(const struct multiplication *lane, enum operand which)
{
    return which == OPERAND_A ? lane->a : which == OPERAND_B ? lane->b : lane->c;
}

static void gather(struct multiplication *const *lanes, enum operand which, union number *matrix)
{
    const struct layout *l = &lanes[0]->layouts->operands[which];
    unsigned n = WARP * l->distinct, registers = l->distinct * element_bits(l->type) / 32;
    uint32_t packed[MOST_MATRIX];
    union number wide[MOST_MATRIX];
    for (unsigned lane = 0; lane < WARP; lane++) {
        const uint32_t *own = registers_of(lanes[lane], which);
        for (unsigned i = 0; i < registers; i++)
            packed[lane * registers + i] = own[i];
    }
    widen(l->type, packed, n, wide);
    for (unsigned i = 0; i < n; i++)
        matrix[l->at[i]] = wide[i];
}

static void scatter(struct multiplication *const *lanes, const union number *sums)
{
    const struct layout *l = &lanes[0]->layouts->operands[OPERAND_D];
    for (unsigned lane = 0; lane < WARP; lane++) {
        const uint16_t *at = &l->at[lane * l->distinct];
        union number own[MOST_ELEMENTS];
        for (unsigned i = 0; i < l->elements; i++)
            own[i] = sums[at[i]];
        narrow(l->type, own, l->elements, lanes[lane]->d);
    }
}

/* Doubles are half as many, and stand in two registers each. */
#define MOST_DOUBLES (MOST_MATRIX / 2)

static void gather_doubles(struct multiplication *const *lanes, enum operand which, double *matrix)
{
    const struct layout *l = &lanes[0]->layouts->operands[which];
    for (unsigned lane = 0; lane < WARP; lane++)
        for (unsigned i = 0; i < l->distinct; i++)
            memcpy(&matrix[layout_at(l, lane, i)], registers_of(lanes[lane], which) + 2 * i, sizeof *matrix);
}

static void multiply_of_doubles(struct multiplication *const *lanes)
{
    double a[MOST_DOUBLES], b[MOST_DOUBLES], sums[MOST_DOUBLES];
    const struct layout *l = &lanes[0]->layouts->operands[OPERAND_D];
    gather_doubles(lanes, OPERAND_A, a);
    gather_doubles(lanes, OPERAND_B, b);
    gather_doubles(lanes, OPERAND_C, sums);
    multiply_doubles(lanes[0]->product, a, b, sums);
    for (unsigned lane = 0; lane < WARP; lane++)
        for (unsigned i = 0; i < l->distinct; i++)
            memcpy(lanes[lane]->d + 2 * i, &sums[layout_at(l, lane, i)], sizeof *sums);
}

static void multiply(const struct exchange *x)
{
    union number a[MOST_MATRIX], b[MOST_MATRIX], sums[MOST_MATRIX];
    struct multiplication *lanes[WARP];
    for (unsigned lane = 0; lane < WARP; lane++)
        lanes[lane] = collective_payload(x, lane);
    const struct product *p = lanes[0]->product;
    if (p->a == E_F64) {
        multiply_of_doubles(lanes);
        return;
    }
    gather(lanes, OPERAND_A, a);
    gather(lanes, OPERAND_B, b);
    gather(lanes, OPERAND_C, sums);
    if (element_numbers(p->a) > 1)
        multiply_packs(p, a, b, sums);
    else if (p->c == E_S32)
        multiply_integers(p, a, b, sums);
    else
        multiply_floats(p, a, b, sums);
    scatter(lanes, sums);
}

static const struct collective_op mma_op = {COLLECTIVE("mma.sync"), .event = EVENTS, .whole = true,
                                            .exchange = multiply};
static const struct collective_op wmma_op = {COLLECTIVE("wmma::mma_sync"), .event = EVENTS, .whole = true,
                                             .exchange = multiply};

/* The instructions that ptxas makes of it for sm_90: one for each 16 × 8 of sums that mma.sync has; tf32 by WMMA is done
 * in two steps along k. fp8 comes only with sm_89, and on sm_90 is two products of fp16. */
static unsigned instructions(const struct product *p)
{
    unsigned along_k = (p->family == LAYOUT_WMMA && p->a == E_TF32) || p->a == E_E4M3 || p->a == E_E5M2 ? 2 : 1;
    unsigned tiles = p->m * p->n / (16 * 8);
    return along_k * (tiles ? tiles : 1);
}

void matrix_multiply(const struct product *p, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t *d,
                     const void *pc)
{
    struct block *block = running();
    struct multiplication lane = {.product = p, .layouts = matrix_layouts(p), .a = a, .b = b, .c = c, .d = d};
    for (unsigned i = 0; block->counting && i < instructions(p); i++)
        counters_event(block, pc, EVENT_MMA);
    collective_join(p->family == LAYOUT_MMA ? &mma_op : &wmma_op, ~0u, &lane, pc);
}

void simt_wmma_multiply(const struct product *p, const void *a, const void *b, const void *c, void *d)
{
    matrix_multiply(p, a, b, c, d, CALLER());
}

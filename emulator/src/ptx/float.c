/* Inline PTX: arithmetic of floating point (PTX ISA, "Floating-Point Instructions", "Half Precision Floating-Point
 * Instructions"). Results that are NaN are the canonical one. What is .approx is rounded rightly here: hardware's own
 * error differs from GPU to GPU. */
#include "count/counters.h"
#include "ptx/convert.h"
#include "ptx/rows.h"
#include "../../include/simt/half_bits.h"
#include <math.h>

/* Of numbers of one type: neither pairs nor operands to fetch. */
typedef u64 operation(const struct instruction *in, enum type t, u64 a, u64 b, u64 c);

static u64 one(const struct instruction *in, operation *op, enum type t, const u64 *x)
{
    u64 result = op(in, t, ptx_flush(in, t, x[0]), ptx_flush(in, t, x[1]), ptx_flush(in, t, x[2]));
    result = ptx_flush(in, t, result);
    return in->field[SATURATE] || in->field[RELU] ? ptx_clamp(in, t, result) : result;
}

/* Fetches the operands, does it for each half of a pair, and writes the result. */
static void each(struct running *r, const struct instruction *in, operation *op)
{
    enum type t = in->type[0];
    u64 x[3] = {0};
    for (unsigned i = 1; i < in->n; i++)
        x[i - 1] = ptx_get(r, &in->operand[i]);
    if (t != T_F16X2 && t != T_BF16X2) {
        ptx_set(r, &in->operand[0], one(in, op, t, x));
        return;
    }
    enum type half = t == T_F16X2 ? T_F16 : T_BF16;
    u64 low[3], high[3];
    for (unsigned i = 0; i < 3; i++) {
        low[i] = x[i] & 0xffff;
        high[i] = x[i] >> 16 & 0xffff;
    }
    ptx_set(r, &in->operand[0], one(in, op, half, high) << 16 | one(in, op, half, low));
}

static float f32(u64 bits) { return simt_bits_float((unsigned)bits); }
static u64 f32_bits(float x) { return x != x ? 0x7fffffff : simt_float_bits(x); }
static double f64(u64 bits) { return ptx_to_double(bits, T_F64); }
static u64 f64_bits(double x) { return ptx_from_double(x, T_F64, R_RN); }
static bool is_nearest(const struct instruction *in) { return in->field[ROUNDING] <= R_RN; }
static enum simt_rounding host(const struct instruction *in) { return ptx_host_rounding(in->field[ROUNDING]); }

/* ---- sums and products ---- */

static u64 add_op(const struct instruction *in, enum type t, u64 a, u64 b, u64 c)
{
    (void)c;
    if (t == T_F32)
        return f32_bits(is_nearest(in) ? f32(a) + f32(b) : simt_addf(host(in), f32(a), f32(b), 0));
    if (t == T_F64)
        return f64_bits(is_nearest(in) ? f64(a) + f64(b) : simt_add(host(in), f64(a), f64(b), 0));
    return ptx_from_double(simt_odd_sum(ptx_to_double(a, t), ptx_to_double(b, t)), t, R_RN);
}

static u64 sign_of(enum type t) { return (u64)1 << (8 * ptx_types[t].bytes - 1); }

static u64 subtract_op(const struct instruction *in, enum type t, u64 a, u64 b, u64 c)
{
    return add_op(in, t, a, b ^ sign_of(t), c);
}

static u64 multiply_op(const struct instruction *in, enum type t, u64 a, u64 b, u64 c)
{
    (void)c;
    if (t == T_F32)
        return f32_bits(is_nearest(in) ? f32(a) * f32(b) : simt_multiplyf(host(in), f32(a), f32(b), 0));
    if (t == T_F64)
        return f64_bits(is_nearest(in) ? f64(a) * f64(b) : simt_multiply(host(in), f64(a), f64(b), 0));
    return ptx_from_double(ptx_to_double(a, t) * ptx_to_double(b, t), t, R_RN);
}

static u64 fused_op(const struct instruction *in, enum type t, u64 a, u64 b, u64 c)
{
    if (t == T_F32)
        return f32_bits(is_nearest(in) ? fmaf(f32(a), f32(b), f32(c)) : simt_fusedf(host(in), f32(a), f32(b), f32(c)));
    if (t == T_F64)
        return f64_bits(is_nearest(in) ? fma(f64(a), f64(b), f64(c)) : simt_fused(host(in), f64(a), f64(b), f64(c)));
    double product = ptx_to_double(a, t) * ptx_to_double(b, t); /* exact */
    return ptx_from_double(simt_odd_sum(product, ptx_to_double(c, t)), t, R_RN);
}

static u64 divide_op(const struct instruction *in, enum type t, u64 a, u64 b, u64 c)
{
    (void)c;
    if (t == T_F32)
        return f32_bits(is_nearest(in) ? f32(a) / f32(b) : simt_dividef(host(in), f32(a), f32(b), 0));
    return f64_bits(is_nearest(in) ? f64(a) / f64(b) : simt_divide(host(in), f64(a), f64(b), 0));
}

static u64 reciprocal_op(const struct instruction *in, enum type t, u64 a, u64 b, u64 c)
{
    (void)b;
    return divide_op(in, t, ptx_from_double(1, t, R_RN), a, c);
}

static u64 root_op(const struct instruction *in, enum type t, u64 a, u64 b, u64 c)
{
    (void)b, (void)c;
    if (t == T_F32)
        return f32_bits(is_nearest(in) ? sqrtf(f32(a)) : simt_rootf(host(in), f32(a), 0, 0));
    return f64_bits(is_nearest(in) ? sqrt(f64(a)) : simt_root(host(in), f64(a), 0, 0));
}

/* ---- signs, the smaller and the larger ---- */

static u64 absolute_op(const struct instruction *in, enum type t, u64 a, u64 b, u64 c)
{
    (void)in, (void)b, (void)c;
    return a & ~sign_of(t);
}
static u64 negate_op(const struct instruction *in, enum type t, u64 a, u64 b, u64 c)
{
    (void)in, (void)b, (void)c;
    return a ^ sign_of(t);
}
static u64 copy_sign_op(const struct instruction *in, enum type t, u64 a, u64 b, u64 c)
{
    (void)in, (void)c;
    return (b & ~sign_of(t)) | (a & sign_of(t));
}

/* -0 is less than +0; a number wins over NaN, unless .NaN says the contrary. */
static u64 chosen(const struct instruction *in, enum type t, u64 a, u64 b, bool smaller)
{
    double x = ptx_to_double(a, t), y = ptx_to_double(b, t);
    if (x != x || y != y) {
        bool none = (x != x && y != y) || in->field[NAN_WINS];
        return none ? ptx_nan(t) : x != x ? b : a;
    }
    bool a_less = x < y || (x == y && a & sign_of(t));
    return a_less == smaller ? a : b;
}
static u64 minimum_op(const struct instruction *in, enum type t, u64 a, u64 b, u64 c)
{
    (void)c;
    return chosen(in, t, a, b, true);
}
static u64 maximum_op(const struct instruction *in, enum type t, u64 a, u64 b, u64 c)
{
    (void)c;
    return chosen(in, t, a, b, false);
}

/* ---- functions ---- */

#define FUNCTION(NAME, EXPRESSION) \
    static u64 NAME(const struct instruction *in, enum type t, u64 a, u64 b, u64 c) \
    { \
        double x = ptx_to_double(a, t); \
        (void)in, (void)b, (void)c; \
        return ptx_from_double(EXPRESSION, t, R_RN); \
    }
FUNCTION(exponential_op, exp2(x))
FUNCTION(logarithm_op, log2(x))
FUNCTION(reciprocal_root_op, 1 / sqrt(x))
FUNCTION(sine_op, sin(x))
FUNCTION(cosine_op, cos(x))
FUNCTION(tangent_op, tanh(x))

#define RUN(NAME) \
    static void NAME(struct running *r, const struct instruction *in) { each(r, in, NAME##_op); }
RUN(add)
RUN(subtract)
RUN(multiply)
RUN(fused)
RUN(divide)
RUN(reciprocal)
RUN(root)
RUN(absolute)
RUN(negate)
RUN(copy_sign)
RUN(minimum)
RUN(maximum)
static void exponential(struct running *r, const struct instruction *in)
{
    counters_event(block_here(), r->pc, EVENT_EXPONENTIAL);
    each(r, in, exponential_op);
}
RUN(logarithm)
RUN(reciprocal_root)
RUN(sine)
RUN(cosine)
RUN(tangent)

/* ---- what there is ---- */

static bool is_wide(const struct instruction *in) { return TYPE(in->type[0]) & FULL; }

static const char *check_arithmetic(struct instruction *in)
{
    if (in->field[ROUNDING] > R_RP || (!is_wide(in) && in->field[ROUNDING] > R_RN))
        return "that rounding is not one of this type's";
    if (in->field[FTZ] && in->type[0] != T_F32 && in->type[0] != T_F16 && in->type[0] != T_F16X2)
        return ".ftz is for .f32, .f16 and .f16x2";
    return in->field[SATURATE] && in->type[0] == T_F64 ? ".sat is not for .f64" : NULL;
}

static const char *check_fused(struct instruction *in)
{
    return in->field[ROUNDING] ? check_arithmetic(in) : "its rounding is missing";
}

/* Either .approx (or .full), of single precision, or with its rounding. */
static const char *check_quotient(struct instruction *in)
{
    bool approximate = in->field[APPROXIMATE];
    if (approximate && in->type[0] != T_F32)
        return "only that of .f32 is approximate";
    return approximate == (in->field[ROUNDING] != 0) ? "it needs either a rounding or .approx" : check_arithmetic(in);
}

static const char *check_function(struct instruction *in)
{
    return in->field[APPROXIMATE] ? NULL : ".approx is missing";
}

/* Of 16-bit types, bf16 has .ftz and f16 has it not. */
static const char *check_exponential(struct instruction *in)
{
    bool of_bf16 = in->type[0] == T_BF16 || in->type[0] == T_BF16X2;
    if (in->type[0] != T_F32 && in->field[FTZ] != of_bf16)
        return of_bf16 ? ".ftz is missing" : "it has no .ftz";
    return check_function(in);
}

#define ROUNDED (HAS(ROUNDING) | HAS(FTZ) | HAS(SATURATE))

const struct row ptx_float_rows[] = {
    {"add", add, ROUNDED, "dss", FLOATS | PAIRS, check_arithmetic},
    {"sub", subtract, ROUNDED, "dss", FLOATS | PAIRS, check_arithmetic},
    {"mul", multiply, ROUNDED, "dss", FLOATS | PAIRS, check_arithmetic},
    {"fma", fused, ROUNDED | HAS(RELU), "dsss", FLOATS | PAIRS, check_fused},
    {"mad", fused, ROUNDED, "dsss", FULL, check_arithmetic},
    {"div", divide, HAS(ROUNDING) | HAS(FTZ) | HAS(APPROXIMATE), "dss", FULL, check_quotient},
    {"rcp", reciprocal, HAS(ROUNDING) | HAS(FTZ) | HAS(APPROXIMATE), "ds", FULL, check_quotient},
    {"sqrt", root, HAS(ROUNDING) | HAS(FTZ) | HAS(APPROXIMATE), "ds", FULL, check_quotient},
    {"abs", absolute, HAS(FTZ), "ds", FLOATS | PAIRS, check_arithmetic},
    {"neg", negate, HAS(FTZ), "ds", FLOATS | PAIRS, check_arithmetic},
    {"copysign", copy_sign, 0, "dss", FULL, NULL},
    {"min", minimum, HAS(FTZ) | HAS(NAN_WINS), "dss", FLOATS | PAIRS, check_arithmetic},
    {"max", maximum, HAS(FTZ) | HAS(NAN_WINS), "dss", FLOATS | PAIRS, check_arithmetic},
    {"ex2", exponential, HAS(APPROXIMATE) | HAS(FTZ), "ds", TYPE(T_F32) | HALVES | PAIRS, check_exponential},
    {"lg2", logarithm, HAS(APPROXIMATE) | HAS(FTZ), "ds", TYPE(T_F32), check_function},
    {"rsqrt", reciprocal_root, HAS(APPROXIMATE) | HAS(FTZ), "ds", FULL, check_function},
    {"sin", sine, HAS(APPROXIMATE) | HAS(FTZ), "ds", TYPE(T_F32), check_function},
    {"cos", cosine, HAS(APPROXIMATE) | HAS(FTZ), "ds", TYPE(T_F32), check_function},
    {"tanh", tangent, HAS(APPROXIMATE), "ds", TYPE(T_F32) | HALVES | PAIRS, check_function},
    {0},
};

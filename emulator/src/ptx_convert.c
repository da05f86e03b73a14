/* Inline PTX: numbers in all their types, and cvt between them (PTX ISA, "cvt"; "Fundamental Types" and "Alternate Floating-
 * Point Data Formats"). */
#include "ptx.h"
#include "../include/simt/half_bits.h"
#include <math.h>
#include <string.h>

#define INTEGERS \
    (TYPE(T_U8) | TYPE(T_U16) | TYPE(T_U32) | TYPE(T_U64) | TYPE(T_S8) | TYPE(T_S16) | TYPE(T_S32) | TYPE(T_S64))
#define FLOATS (TYPE(T_F16) | TYPE(T_BF16) | TYPE(T_TF32) | TYPE(T_F32) | TYPE(T_F64))
#define PAIRS (TYPE(T_F16X2) | TYPE(T_BF16X2) | TYPE(T_E4M3X2) | TYPE(T_E5M2X2))

/* ---- formats ---- */

/* Floating point narrower than float: bits of the fraction, the least exponent of a normal number, the codes of the
 * largest number, of infinity (0: there is none) and of NaN, and how far left the code stands. */
static const struct format {
    int fraction, least;
    u64 largest, infinity, nan;
    unsigned shift;
    unsigned sign;  /* bit */
    bool saturates; /* numbers too large become the largest: PTX has these only with .satfinite */
} formats[TYPES] = {
    [T_F16] = {10, -14, 0x7bff, 0x7c00, 0x7fff, 0, 15},       [T_BF16] = {7, -126, 0x7f7f, 0x7f80, 0x7fff, 0, 15},
    [T_TF32] = {10, -126, 0x3fbff, 0x3fc00, 0x3ffff, 13, 31}, [T_E4M3] = {3, -6, 0x7e, 0, 0x7f, 0, 7, true},
    [T_E5M2] = {2, -14, 0x7b, 0x7c, 0x7f, 0, 7, true},
};

u64 ptx_nan(enum type t)
{
    return t == T_F32 ? 0x7fffffff : t == T_F64 ? 0x7fffffffffffffff : formats[t].nan << formats[t].shift;
}

static double from_bits(u64 bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static u64 to_bits(double x)
{
    u64 bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* A whole number from a positive one. */
static double to_whole(double x, enum ptx_rounding how, bool negative)
{
    switch (how) {
    case R_RZ: return trunc(x);
    case R_RM: return negative ? ceil(x) : floor(x);
    case R_RP: return negative ? floor(x) : ceil(x);
    case R_RNA: return floor(x + 0.5);
    default: return rint(x);
    }
}

static u64 encode(double x, const struct format *f, enum ptx_rounding how)
{
    u64 bits = to_bits(x), sign = bits >> 63;
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    if (x != x)
        return f->nan << f->shift;
    if (exponent < f->least)
        exponent = f->least;
    if (exponent > 200)
        exponent = 200; /* beyond all of them */
    double whole = to_whole(fabs(x) * from_bits((u64)(1023 + f->fraction - exponent) << 52), how, sign);
    u64 code = isinf(x) ? ~0ull : ((u64)(exponent - f->least) << f->fraction) + (u64)whole;
    bool stays = !isinf(x) && (how == R_RZ || how == (sign ? R_RP : R_RM)); /* rounded towards 0 */
    if (code > f->largest)
        code = stays || f->saturates ? f->largest : f->infinity;
    return code << f->shift | sign << f->sign;
}

static double decode(u64 bits, const struct format *f)
{
    u64 code = (bits & ~((u64)1 << f->sign)) >> f->shift;
    if (code > f->largest)
        return code == f->infinity ? (bits >> f->sign & 1 ? -INFINITY : INFINITY) : NAN;
    u64 fraction = code & ((1ull << f->fraction) - 1), exponent = code >> f->fraction;
    double whole = (double)(exponent ? fraction | 1ull << f->fraction : fraction);
    int scale = (int)(exponent ? exponent - 1 : 0) + f->least - f->fraction;
    double x = whole * from_bits((u64)(1023 + scale) << 52);
    return bits >> f->sign & 1 ? -x : x;
}

double ptx_to_double(u64 bits, enum type t)
{
    switch (t) {
    case T_F64: return from_bits(bits);
    case T_F32:
    case T_TF32: return (double)simt_bits_float((unsigned)bits);
    default: return decode(bits & ptx_bits(ptx_types[t].bytes), &formats[t]);
    }
}

enum simt_rounding ptx_host_rounding(enum ptx_rounding how)
{
    static const enum simt_rounding host[] = {
        [R_NONE] = SIMT_NEAREST, [R_RN] = SIMT_NEAREST, [R_RZ] = SIMT_ZERO, [R_RM] = SIMT_DOWN, [R_RP] = SIMT_UP};
    return host[how];
}

u64 ptx_from_double(double x, enum type t, enum ptx_rounding how)
{
    if (t == T_F64)
        return to_bits(x);
    if (t != T_F32)
        return encode(x, &formats[t], how);
    if (x != x)
        return ptx_nan(t);
    return simt_float_bits(how <= R_RN ? (float)x : simt_double_to_float(ptx_host_rounding(how), x, 0, 0));
}

u64 ptx_clamp(const struct instruction *in, enum type t, u64 bits)
{
    double x = ptx_to_double(bits, t);
    if (in->field[SATURATE] && t != T_E4M3 && t != T_E5M2)
        return x > 0 ? (x > 1 ? ptx_from_double(1, t, R_RN) : bits) : 0;
    return in->field[RELU] && x == x && (x < 0 || bits == ptx_from_double(-0.0, t, R_RN)) ? 0 : bits;
}

/* ---- cvt ---- */

static bool is_integer(enum type t) { return TYPE(t) & INTEGERS; }

static double whole_of(double x, enum ptx_rounding how)
{
    static const enum ptx_rounding plain[] = {[R_RNI] = R_RN, [R_RZI] = R_RZ, [R_RMI] = R_RM, [R_RPI] = R_RP};
    return copysign(to_whole(fabs(x), plain[how], x < 0), x);
}

/* Always the nearest that the type has; NaN as the PTX ISA says. */
static u64 float_to_integer(double x, enum type from, enum type to)
{
    unsigned bits = 8 * ptx_types[to].bytes;
    bool is_signed = ptx_types[to].is_signed;
    double beyond = from_bits((u64)(1023 + bits - is_signed) << 52); /* the largest, and one */
    if (x != x)
        return from == T_F64 || bits == 64 ? (u64)1 << (bits - 1) : 0;
    if (x >= beyond)
        return is_signed ? ((u64)1 << (bits - 1)) - 1 : ptx_bits(bits / 8);
    if (is_signed)
        return x <= -beyond ? (u64)1 << (bits - 1) : (u64)(long long)x;
    return x <= 0 ? 0 : (u64)x;
}

static u64 integer_to_float(u64 x, bool is_signed, enum type to, enum ptx_rounding how)
{
    enum simt_rounding host = ptx_host_rounding(how);
    if (to == T_F64)
        return to_bits(is_signed ? simt_signed_to_double(host, (long long)x, 0, 0)
                                 : simt_unsigned_to_double(host, x, 0, 0));
    if (to == T_F32)
        return simt_float_bits(is_signed ? simt_signed_to_float(host, (long long)x, 0, 0)
                                         : simt_unsigned_to_float(host, x, 0, 0));
    /* What a double cannot hold goes into its last bit: it is only rounded once more. */
    double d = is_signed ? simt_signed_to_double(SIMT_ZERO, (long long)x, 0, 0)
                         : simt_unsigned_to_double(SIMT_ZERO, x, 0, 0);
    bool exact = is_signed ? (long long)d == (long long)x : (u64)d == x;
    return ptx_from_double(exact ? d : from_bits(to_bits(d) | 1), to, how);
}

static u64 integer_to_integer(u64 x, enum type from, enum type to, bool saturates)
{
    unsigned bits = 8 * ptx_types[to].bytes;
    bool negative = ptx_types[from].is_signed && (long long)x < 0;
    u64 most = ptx_types[to].is_signed ? ((u64)1 << (bits - 1)) - 1 : ptx_bits(bits / 8);
    long long least = ptx_types[to].is_signed ? -(long long)most - 1 : 0;
    if (saturates && negative)
        return (long long)x < least ? (u64)least : x;
    return saturates && x > most ? most : x;
}

static u64 float_to_float(const struct instruction *in, u64 x, enum type from, enum type to)
{
    enum ptx_rounding how = in->field[ROUNDING];
    double value = ptx_to_double(ptx_flush(in, from, x), from);
    if (how >= R_RNI && how <= R_RPI)
        value = whole_of(value, how);
    else if (from == to && !in->field[SATURATE] && value != value)
        return x;
    return ptx_clamp(in, to, ptx_flush(in, to, ptx_from_double(value, to, how)));
}

static u64 convert_one(const struct instruction *in, u64 x, enum type from, enum type to)
{
    enum ptx_rounding how = in->field[ROUNDING];
    x = ptx_extend(x, from);
    if (is_integer(from) && is_integer(to))
        return integer_to_integer(x, from, to, in->field[SATURATE]);
    if (is_integer(from))
        return ptx_clamp(in, to, integer_to_float(x, ptx_types[from].is_signed, to, how));
    if (is_integer(to))
        return float_to_integer(whole_of(ptx_to_double(ptx_flush(in, from, x), from), how), from, to);
    return float_to_float(in, x, from, to);
}

/* The type of each half of a pair. */
static enum type half_of(enum type t)
{
    switch (t) {
    case T_F16X2: return T_F16;
    case T_BF16X2: return T_BF16;
    case T_E4M3X2: return T_E4M3;
    case T_E5M2X2: return T_E5M2;
    default: return t;
    }
}

static void convert(struct running *r, const struct instruction *in)
{
    u64 value = convert_one(in, ptx_get(r, &in->operand[1]), in->type[1], in->type[0]);
    ptx_set(r, &in->operand[0], ptx_extend(value, in->type[0]));
}

/* Of two numbers the first becomes the upper half. */
static void convert_pair(struct running *r, const struct instruction *in)
{
    enum type from = in->type[1], to = half_of(in->type[0]);
    u64 low = ptx_get(r, &in->operand[in->n - 1]), high = ptx_get(r, &in->operand[1]);
    if (half_of(from) != from) {
        from = half_of(from);
        high = low >> 8 * ptx_types[from].bytes;
    }
    low = convert_one(in, low, from, to);
    high = convert_one(in, high, from, to);
    ptx_set(r, &in->operand[0], high << 8 * ptx_types[to].bytes | low);
}

static const char *check_pair(struct instruction *in)
{
    enum type to = in->type[0], from = in->type[1];
    bool from_pair = TYPE(from) & PAIRS;
    if (!(TYPE(to) & PAIRS) || !(from_pair || from == T_F32) || in->n != (from_pair ? 2 : 3))
        return "there is no such conversion of pairs";
    if (in->field[ROUNDING] != R_RN && in->field[ROUNDING] != R_RZ)
        return "its rounding is missing";
    in->run = convert_pair;
    return NULL;
}

static bool is_narrower(enum type a, enum type b)
{
    static const unsigned places[TYPES] = {[T_F16] = 1, [T_BF16] = 1, [T_TF32] = 2, [T_F32] = 3, [T_F64] = 4};
    return places[a] < places[b] || (places[a] == 1 && a != b);
}

static const char *check_convert(struct instruction *in)
{
    enum type to = in->type[0], from = in->type[1];
    enum ptx_rounding how = in->field[ROUNDING];
    bool whole = how >= R_RNI && how <= R_RPI;
    if (in->n_types != 2)
        return "it needs two types, the result's and the operand's";
    if ((TYPE(to) | TYPE(from)) & PAIRS)
        return check_pair(in);
    if (in->n != 2)
        return "it has two operands";
    if (is_integer(to) && !is_integer(from) && !whole)
        return "a conversion to integers needs .rni, .rzi, .rmi or .rpi";
    if (!is_integer(to) && (is_integer(from) || is_narrower(to, from)) && (!how || (whole && is_integer(from))))
        return "its rounding is missing";
    return how == R_RNA && to != T_TF32 ? ".rna is for .tf32" : NULL;
}

const struct row ptx_convert_rows[] = {
    {"cvt", convert, HAS(ROUNDING) | HAS(FTZ) | HAS(SATURATE) | HAS(RELU), "DT?T", INTEGERS | FLOATS | PAIRS,
     check_convert},
    {0},
};

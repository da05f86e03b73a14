/* Inline PTX: numbers in all their types, and cvt between them (PTX ISA, "cvt"; "Fundamental Types" and "Alternate Floating-
 * Point Data Formats"). */
#include "ptx/convert.h"
#include "ptx/rows.h"
#include "../../include/simt/half_bits.h"
#include <math.h>
#include <string.h>

#define SMALL_PAIRS (TYPE(T_E4M3X2) | TYPE(T_E5M2X2))

/* ---- formats ---- */

/* Floating point narrower than float. */
static const struct {
    enum simt_narrow_type as;
    u64 nan; /* the one that results are */
    double largest;
} formats[TYPES] = {
    [T_F16] = {SIMT_HALF, 0x7fff, 65504},    [T_BF16] = {SIMT_BFLOAT, 0x7fff, 0x1.fep127},
    [T_TF32] = {0, 0x7fffe000, 0x1.ffcp127}, [T_E4M3] = {SIMT_E4M3, 0x7f, 448},
    [T_E5M2] = {SIMT_E5M2, 0x7f, 57344},
};

u64 ptx_nan(enum type t) { return t == T_F32 ? 0x7fffffff : t == T_F64 ? 0x7fffffffffffffff : formats[t].nan; }

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

double ptx_to_double(u64 bits, enum type t)
{
    switch (t) {
    case T_F64: return from_bits(bits);
    case T_F32:
    case T_TF32: return (double)simt_bits_float((unsigned)bits);
    case T_F16: return (double)simt_half_to((unsigned short)bits);
    case T_BF16: return (double)simt_bfloat_to((unsigned short)bits);
    default: return simt_widen(formats[t].as, (unsigned)(bits & ptx_bits(ptx_types[t].bytes)));
    }
}

enum simt_rounding ptx_host_rounding(enum ptx_rounding how)
{
    switch (how) {
    case R_RZ: return SIMT_ZERO;
    case R_RM: return SIMT_DOWN;
    case R_RP: return SIMT_UP;
    default: return SIMT_NEAREST; /* whole numbers, too: they have been rounded */
    }
}

/* The 13 low bits of a float become zeros; a carry goes into the exponent. */
static u64 to_tf32(float x, enum ptx_rounding how)
{
    u64 bits = simt_float_bits(x), half = 1u << 12, is_odd = bits >> 13 & 1;
    u64 carry = how == R_RZ ? 0 : how == R_RNA ? half : half - 1 + is_odd;
    return (bits + carry) & 0xffffe000;
}

u64 ptx_from_double(double x, enum type t, enum ptx_rounding how)
{
    if (t == T_F64)
        return to_bits(x);
    if (x != x)
        return ptx_nan(t);
    if (t == T_TF32)
        return to_tf32((float)x, how);
    if (t != T_F32)
        return simt_narrow(formats[t].as, x, ptx_host_rounding(how));
    return simt_float_bits(how <= R_RN ? (float)x : simt_double_to_float(ptx_host_rounding(how), x, 0, 0));
}

u64 ptx_clamp(const struct instruction *in, enum type t, u64 bits)
{
    double x = ptx_to_double(bits, t);
    if (in->field[SATURATE])
        return x > 0 ? (x > 1 ? ptx_from_double(1, t, R_RN) : bits) : 0;
    return in->field[RELU] && x == x && (x < 0 || bits == ptx_from_double(-0.0, t, R_RN)) ? 0 : bits;
}

/* ---- cvt ---- */

static bool is_integer(enum type t) { return TYPE(t) & (INTEGERS | BYTES); }

static double whole_of(double x, enum ptx_rounding how)
{
    switch (how) {
    case R_RZI: return trunc(x);
    case R_RMI: return floor(x);
    case R_RPI: return ceil(x);
    default: return rint(x);
    }
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
    if (in->field[FINITE] && fabs(value) > formats[to].largest)
        value = copysign(formats[to].largest, value);
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
    bool from_pair = TYPE(from) & (PAIRS | SMALL_PAIRS);
    if (!(TYPE(to) & (PAIRS | SMALL_PAIRS)) || !(from_pair || from == T_F32) || in->n != (from_pair ? 2 : 3))
        return "there is no such conversion of pairs";
    if (in->field[ROUNDING] != R_RN && in->field[ROUNDING] != R_RZ)
        return "its rounding is missing";
    if (TYPE(to) & SMALL_PAIRS && !in->field[FINITE])
        return ".satfinite is missing";
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
    if ((TYPE(to) | TYPE(from)) & (PAIRS | SMALL_PAIRS))
        return check_pair(in);
    if (in->n != 2)
        return "it has two operands";
    if (is_integer(to) && !is_integer(from) && !whole)
        return "a conversion to integers needs .rni, .rzi, .rmi or .rpi";
    if (!is_integer(to) && (is_integer(from) || is_narrower(to, from)) && (!how || (whole && is_integer(from))))
        return "its rounding is missing";
    if (in->field[FINITE] && (is_integer(to) || !formats[to].largest))
        return ".satfinite is for floating point narrower than .f32";
    return how == R_RNA && to != T_TF32 ? ".rna is for .tf32" : NULL;
}

/* ---- cvt.pack ---- */

static unsigned bits_of(enum type t)
{
    switch (t) {
    case T_U2:
    case T_S2: return 2;
    case T_U4:
    case T_S4: return 4;
    default: return 8 * ptx_types[t].bytes;
    }
}

static u64 fitted(long long x, enum type t)
{
    bool with_sign = ptx_types[t].is_signed;
    long long most = (1ll << (bits_of(t) - with_sign)) - 1, least = with_sign ? -most - 1 : 0;
    return (u64)(x < least ? least : x > most ? most : x) & ((1ull << bits_of(t)) - 1);
}

/* From the low bits on: the second number, the first, and what is left of the third. */
static void pack(struct running *r, const struct instruction *in)
{
    enum type t = in->type[0];
    u64 first = fitted((int32_t)ptx_get(r, &in->operand[1]), t), last = fitted((int32_t)ptx_get(r, &in->operand[2]), t);
    u64 rest = in->n > 3 ? ptx_get(r, &in->operand[3]) : 0;
    ptx_set(r, &in->operand[0], (uint32_t)(rest << 2 * bits_of(t) | first << bits_of(t) | last));
}

static const char *check_pack(struct instruction *in)
{
    bool fills = bits_of(in->type[0]) == 16;
    if (in->type[0] == T_S32 || in->type[0] == T_B32 || in->n_types != (fills ? 2 : 3) || in->type[1] != T_S32 ||
        (!fills && in->type[2] != T_B32))
        return "its types are .u16 or .s16 and .s32, or .u2 to .s8, .s32 and .b32";
    if (!in->field[SATURATE])
        return ".sat is missing";
    return in->n == (fills ? 3 : 4) ? NULL : "numbers of 16 bits fill the result, all else needs a third number";
}

const struct row ptx_convert_rows[] = {
    {"cvt", convert, HAS(ROUNDING) | HAS(FTZ) | HAS(SATURATE) | HAS(FINITE) | HAS(RELU), "DT?T",
     INTEGERS | BYTES | FLOATS | TYPE(T_TF32) | PAIRS | SMALL_PAIRS, check_convert},
    {"cvt.pack", pack, HAS(SATURATE), "mnn?n",
     BYTES | TYPE(T_U16) | TYPE(T_S16) | TYPE(T_U4) | TYPE(T_S4) | TYPE(T_U2) | TYPE(T_S2) | TYPE(T_S32) | TYPE(T_B32),
     check_pack},
    {0},
};

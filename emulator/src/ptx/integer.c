/* Inline PTX: arithmetic of integers, and logic (PTX ISA, "Integer Arithmetic", "Extended-Precision Integer Arithmetic",
 * "Logic and Shift"). */
#include "ptx/rows.h"

#define WORDS (TYPE(T_B32) | TYPE(T_B64))
#define OF_16 (TYPE(T_U16X2) | TYPE(T_S16X2))

typedef __int128 s128;

static unsigned width_of(const struct instruction *in) { return 8 * ptx_types[in->type[0]].bytes; }
static bool is_signed(const struct instruction *in) { return ptx_types[in->type[0]].is_signed; }

/* The result, written as its type has it. */
static void give(const struct running *r, const struct instruction *in, u64 value)
{
    ptx_set(r, &in->operand[0], ptx_extend(value, in->type[0]));
}

/* ---- sums, with carry ---- */

/* a + b + carry, of that many bits; what is carried out of it goes to CC.CF where the instruction says .cc. */
static void add_with(struct running *r, const struct instruction *in, u64 a, u64 b, unsigned carry)
{
    u64 bits = ptx_bits(ptx_types[in->type[0]].bytes);
    u128 sum = (u128)(a & bits) + (b & bits) + carry;
    if (in->field[CARRY])
        r->carry = (unsigned)(sum >> width_of(in)) & 1;
    give(r, in, (u64)sum);
}

/* The carry of a difference is what it borrows. */
static void subtract_with(struct running *r, const struct instruction *in, unsigned borrow)
{
    u64 bits = ptx_bits(ptx_types[in->type[0]].bytes);
    u128 difference = (u128)(ptx_source(r, in, 1) & bits) - (ptx_source(r, in, 2) & bits) - borrow;
    if (in->field[CARRY])
        r->carry = (unsigned)(difference >> 127);
    give(r, in, (u64)difference);
}

static u64 saturated(long long sum) { return (u64)(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum); }

static void add(struct running *r, const struct instruction *in)
{
    u64 a = ptx_source(r, in, 1), b = ptx_source(r, in, 2);
    if (in->field[SATURATE])
        give(r, in, saturated((long long)a + (long long)b));
    else
        add_with(r, in, a, b, 0);
}
static void add_carry(struct running *r, const struct instruction *in)
{
    add_with(r, in, ptx_source(r, in, 1), ptx_source(r, in, 2), r->carry);
}
static void subtract(struct running *r, const struct instruction *in)
{
    if (in->field[SATURATE])
        give(r, in, saturated((long long)ptx_source(r, in, 1) - (long long)ptx_source(r, in, 2)));
    else
        subtract_with(r, in, 0);
}
static void subtract_carry(struct running *r, const struct instruction *in) { subtract_with(r, in, r->carry); }

static const char *check_sum(struct instruction *in)
{
    bool s32 = in->type[0] == T_S32;
    if (in->field[SATURATE] && (!s32 || in->field[CARRY]))
        return ".sat is for .s32, without .cc";
    return in->field[CARRY] && ptx_types[in->type[0]].bytes < 4 ? ".cc is for 32 and 64 bits" : NULL;
}

/* ---- products ---- */

/* .lo, .hi, or .wide: all of it. */
static u64 product(const struct running *r, const struct instruction *in)
{
    u64 a = ptx_source(r, in, 1), b = ptx_source(r, in, 2);
    u128 all = is_signed(in) ? (u128)((s128)(long long)a * (long long)b) : (u128)a * b;
    return (u64)(in->field[PART] == PART_HI ? all >> width_of(in) : all);
}

static enum type doubled(enum type t)
{
    switch (t) {
    case T_U16: return T_U32;
    case T_S16: return T_S32;
    case T_U32: return T_U64;
    default: return T_S64;
    }
}

static void multiply(struct running *r, const struct instruction *in)
{
    bool wide = in->field[PART] == PART_WIDE;
    ptx_set(r, &in->operand[0], ptx_extend(product(r, in), wide ? doubled(in->type[0]) : in->type[0]));
}

static void multiply_and_add(struct running *r, const struct instruction *in)
{
    u64 p = product(r, in), c = ptx_get(r, &in->operand[3]);
    if (in->field[PART] == PART_WIDE)
        ptx_set(r, &in->operand[0], p + c);
    else if (in->field[SATURATE])
        give(r, in, saturated((int32_t)p + (long long)(int32_t)c));
    else
        add_with(r, in, p, c, 0);
}
static void multiply_and_add_carry(struct running *r, const struct instruction *in)
{
    add_with(r, in, product(r, in), ptx_get(r, &in->operand[3]), r->carry);
}

static const char *check_product(struct instruction *in)
{
    bool wide = in->field[PART] == PART_WIDE;
    if (!in->field[PART])
        return ".lo, .hi or .wide is missing";
    if (wide && (ptx_types[in->type[0]].bytes > 4 || in->field[CARRY]))
        return ".wide is for 16 and 32 bits, without .cc";
    if (in->field[SATURATE] && (in->field[PART] != PART_HI || in->field[CARRY]))
        return ".sat goes with .hi, without .cc";
    return check_sum(in);
}

/* Of the lower 24 bits of each: the result's bits 0 to 31 or 16 to 47. */
static u64 product24(const struct running *r, const struct instruction *in)
{
    u64 a = ptx_source(r, in, 1) << 40, b = ptx_source(r, in, 2) << 40;
    u64 all = is_signed(in) ? (u64)(((long long)a >> 40) * ((long long)b >> 40)) : (a >> 40) * (b >> 40);
    return in->field[PART] == PART_HI ? all >> 16 : all;
}
static void multiply24(struct running *r, const struct instruction *in) { give(r, in, product24(r, in)); }
static void multiply_and_add24(struct running *r, const struct instruction *in)
{
    give(r, in, product24(r, in) + ptx_source(r, in, 3));
}

/* Four products of bytes, or two of halves with bytes; each side is signed as its type says. */
static long long field_of(u64 from, unsigned i, unsigned bits, bool is_signed)
{
    u64 at_top = from << (64 - bits * (i + 1));
    return is_signed ? (long long)at_top >> (64 - bits) : (long long)(at_top >> (64 - bits));
}

static void dot(struct running *r, const struct instruction *in, unsigned n, unsigned bits, unsigned first)
{
    u64 a = ptx_get(r, &in->operand[1]), b = ptx_get(r, &in->operand[2]), sum = ptx_get(r, &in->operand[3]);
    for (unsigned i = 0; i < n; i++)
        sum += (u64)(field_of(a, i, bits, in->type[0] == T_S32) * field_of(b, first + i, 8, in->type[1] == T_S32));
    ptx_set(r, &in->operand[0], (uint32_t)sum);
}
static void dot4(struct running *r, const struct instruction *in) { dot(r, in, 4, 8, 0); }
static void dot2(struct running *r, const struct instruction *in)
{
    dot(r, in, 2, 16, in->field[PART] == PART_HI ? 2 : 0);
}
static const char *check_dot(struct instruction *in) { return in->n_types == 2 ? NULL : "it needs two types"; }

/* ---- quotients and the like ---- */

static u64 quotient(const struct instruction *in, u64 a, u64 b)
{
    if (!b)
        return ~0ull; /* undefined; hardware's */
    if (!is_signed(in))
        return a / b;
    return b == ~0ull ? -a : (u64)((long long)a / (long long)b);
}

static void divide(struct running *r, const struct instruction *in)
{
    give(r, in, quotient(in, ptx_source(r, in, 1), ptx_source(r, in, 2)));
}
static void remainder_of(struct running *r, const struct instruction *in)
{
    u64 a = ptx_source(r, in, 1), b = ptx_source(r, in, 2);
    give(r, in, b ? a - quotient(in, a, b) * b : a);
}

static bool is_less(const struct instruction *in, u64 a, u64 b)
{
    return is_signed(in) ? (long long)a < (long long)b : a < b;
}
/* .relu: at least 0. */
static u64 raised(const struct instruction *in, u64 x) { return in->field[RELU] && (long long)x < 0 ? 0 : x; }
static void minimum(struct running *r, const struct instruction *in)
{
    u64 a = ptx_source(r, in, 1), b = ptx_source(r, in, 2);
    give(r, in, raised(in, is_less(in, a, b) ? a : b));
}
static void maximum(struct running *r, const struct instruction *in)
{
    u64 a = ptx_source(r, in, 1), b = ptx_source(r, in, 2);
    give(r, in, raised(in, is_less(in, a, b) ? b : a));
}
static const char *check_extreme(struct instruction *in)
{
    return in->field[RELU] && in->type[0] != T_S32 ? ".relu is for .s32 and .s16x2" : NULL;
}
static void absolute(struct running *r, const struct instruction *in)
{
    u64 a = ptx_source(r, in, 1);
    give(r, in, (long long)a < 0 ? -a : a);
}
static void negate(struct running *r, const struct instruction *in) { give(r, in, -ptx_source(r, in, 1)); }
static void sum_of_difference(struct running *r, const struct instruction *in)
{
    u64 a = ptx_source(r, in, 1), b = ptx_source(r, in, 2);
    give(r, in, (is_less(in, a, b) ? b - a : a - b) + ptx_source(r, in, 3));
}

/* ---- pairs of 16 bits ---- */

/* The row's function, once for each half, by an instruction of its type. */
static void of_pair(struct running *r, const struct instruction *in,
                    void (*one)(struct running *, const struct instruction *))
{
    u64 all = 0, slots[3];
    struct running of_half = *r;
    struct instruction half = *in;
    half.type[0] = in->type[0] == T_S16X2 ? T_S16 : T_U16;
    of_half.slots = slots;
    for (uint16_t i = 0; i < 3; i++)
        half.operand[i] = (struct ptx_operand){.kind = O_SLOT, .slot = i, .value = ptx_bits(2)};
    for (unsigned up = 0; up < 32; up += 16) {
        slots[1] = ptx_get(r, &in->operand[1]) >> up & 0xffff;
        slots[2] = ptx_get(r, &in->operand[2]) >> up & 0xffff;
        one(&of_half, &half);
        all |= (slots[0] & 0xffff) << up;
    }
    ptx_set(r, &in->operand[0], all);
}
static void add_pair(struct running *r, const struct instruction *in) { of_pair(r, in, add); }
static void minimum_of_pair(struct running *r, const struct instruction *in) { of_pair(r, in, minimum); }
static void maximum_of_pair(struct running *r, const struct instruction *in) { of_pair(r, in, maximum); }
static const char *check_extreme_of_pair(struct instruction *in)
{
    return in->field[RELU] && in->type[0] != T_S16X2 ? ".relu is for .s32 and .s16x2" : NULL;
}

/* ---- logic ---- */

/* Of predicates, too, of which each may be negated only in setp and its like. */
static void and_(struct running *r, const struct instruction *in)
{
    ptx_set(r, &in->operand[0], ptx_source(r, in, 1) & ptx_source(r, in, 2));
}
static void or_(struct running *r, const struct instruction *in)
{
    ptx_set(r, &in->operand[0], ptx_source(r, in, 1) | ptx_source(r, in, 2));
}
static void xor_(struct running *r, const struct instruction *in)
{
    ptx_set(r, &in->operand[0], ptx_source(r, in, 1) ^ ptx_source(r, in, 2));
}
static void not_(struct running *r, const struct instruction *in)
{
    bool predicate = in->type[0] == T_PRED;
    u64 a = ptx_source(r, in, 1);
    give(r, in, predicate ? !a : ~a);
}
static void logical_not(struct running *r, const struct instruction *in) { give(r, in, !ptx_source(r, in, 1)); }

/* Any function of three bits: bit a * 4 + b * 2 + c of the table. */
static void logic3(struct running *r, const struct instruction *in)
{
    u64 a = ptx_get(r, &in->operand[1]), b = ptx_get(r, &in->operand[2]), c = ptx_get(r, &in->operand[3]);
    u64 table = ptx_get(r, &in->operand[4]), result = 0;
    for (unsigned i = 0; i < 8; i++)
        if (table >> i & 1)
            result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    ptx_set(r, &in->operand[0], (uint32_t)result);
}

/* ---- shifts ---- */

/* Amounts beyond the width count as the width. */
static void shift_left(struct running *r, const struct instruction *in)
{
    uint32_t by = (uint32_t)ptx_get(r, &in->operand[2]);
    give(r, in, by < width_of(in) ? ptx_source(r, in, 1) << by : 0);
}
static void shift_right(struct running *r, const struct instruction *in)
{
    uint32_t by = (uint32_t)ptx_get(r, &in->operand[2]);
    u64 a = ptx_source(r, in, 1);
    if (by >= width_of(in))
        by = 63;
    u64 logical = by == 63 ? 0 : a >> by;
    give(r, in, is_signed(in) ? (u64)((long long)a >> by) : logical);
}
static void shift_funnel(struct running *r, const struct instruction *in)
{
    u64 both = (u64)(uint32_t)ptx_get(r, &in->operand[2]) << 32 | (uint32_t)ptx_get(r, &in->operand[1]);
    uint32_t by = (uint32_t)ptx_get(r, &in->operand[3]);
    by = in->field[LIMIT] == M_WRAP ? by & 31 : by > 32 ? 32 : by;
    u64 left = both << by >> 32, right = both >> by;
    ptx_set(r, &in->operand[0], (uint32_t)(in->field[MODE] == M_LEFT ? left : right));
}
static const char *check_funnel(struct instruction *in)
{
    bool way = in->field[MODE] == M_LEFT || in->field[MODE] == M_RIGHT;
    bool limit = in->field[LIMIT] == M_WRAP || in->field[LIMIT] == M_CLAMP;
    return way && limit ? NULL : ".l or .r and .wrap or .clamp are missing";
}

/* ---- bits ---- */

static void count_ones(struct running *r, const struct instruction *in)
{
    ptx_set(r, &in->operand[0], (u64)__builtin_popcountll(ptx_source(r, in, 1)));
}
static void count_zeros(struct running *r, const struct instruction *in)
{
    u64 a = ptx_source(r, in, 1);
    unsigned width = width_of(in);
    ptx_set(r, &in->operand[0], a ? (u64)__builtin_clzll(a) - (64 - width) : width);
}
/* The highest bit that is not a sign; all ones where there is none. */
static void find_bit(struct running *r, const struct instruction *in)
{
    u64 a = ptx_source(r, in, 1);
    if (is_signed(in) && (long long)a < 0)
        a = ~a;
    u64 at = a ? 63 - (u64)__builtin_clzll(a) : ~0ull;
    bool from_top = in->field[MODE] == M_SHIFTAMT;
    ptx_set(r, &in->operand[0], a && from_top ? width_of(in) - 1 - at : (uint32_t)at);
}
static void reverse(struct running *r, const struct instruction *in)
{
    u64 a = ptx_source(r, in, 1), result = 0;
    for (unsigned i = 0, width = width_of(in); i < width; i++)
        result |= (a >> i & 1) << (width - 1 - i);
    give(r, in, result);
}

/* Bits pos to pos + len - 1; beyond them, and beyond the top, a signed field goes on with its sign. */
static void extract(struct running *r, const struct instruction *in)
{
    u64 a = ptx_source(r, in, 1), result = 0;
    unsigned pos = ptx_get(r, &in->operand[2]) & 0xff, len = ptx_get(r, &in->operand[3]) & 0xff, top = width_of(in) - 1;
    unsigned last = pos + len - 1 < top ? pos + len - 1 : top;
    u64 sign = is_signed(in) && len ? a >> last & 1 : 0;
    for (unsigned i = 0; i <= top; i++)
        result |= (i < len && pos + i <= top ? a >> (pos + i) & 1 : sign) << i;
    give(r, in, result);
}
static void insert(struct running *r, const struct instruction *in)
{
    u64 a = ptx_get(r, &in->operand[1]), b = ptx_source(r, in, 2);
    unsigned pos = ptx_get(r, &in->operand[3]) & 0xff, len = ptx_get(r, &in->operand[4]) & 0xff;
    u64 ones = len < 64 ? ~(~0ull << len) : ~0ull, mask = pos < 64 ? ones << pos : 0;
    give(r, in, (b & ~mask) | ((pos < 64 ? a << pos : 0) & mask));
}

/* From bit `base` on, up or down, the bit of the mask that is the |offset|-th one set; offset 0: that bit itself. */
static void find_set(struct running *r, const struct instruction *in)
{
    uint32_t mask = (uint32_t)ptx_get(r, &in->operand[1]), base = (uint32_t)ptx_get(r, &in->operand[2]);
    int32_t offset = (int32_t)ptx_get(r, &in->operand[3]);
    uint32_t left = offset < 0 ? -(uint32_t)offset : offset ? (uint32_t)offset : 1;
    uint32_t found = ~0u, last = offset > 0 ? 31 : offset < 0 ? 0 : base;
    for (uint32_t at = base; at < 32; at += offset < 0 ? ~0u : 1) {
        left -= mask >> at & 1;
        if (!left)
            found = at;
        if (!left || at == last)
            break;
    }
    ptx_set(r, &in->operand[0], found);
}

/* So many ones, from that bit on. */
static void make_mask(struct running *r, const struct instruction *in)
{
    uint32_t from = (uint32_t)ptx_get(r, &in->operand[1]), n = (uint32_t)ptx_get(r, &in->operand[2]);
    if (in->field[LIMIT] == M_WRAP)
        from &= 31, n &= 31;
    u64 ones = n < 32 ? ~(~0ull << n) : UINT32_MAX;
    ptx_set(r, &in->operand[0], from < 32 ? (uint32_t)(ones << from) : 0);
}

/* The lowest bits, so many, and above them zeros or copies of the sign. */
static void extend_field(struct running *r, const struct instruction *in)
{
    uint32_t a = (uint32_t)ptx_get(r, &in->operand[1]), n = (uint32_t)ptx_get(r, &in->operand[2]);
    if (in->field[LIMIT] == M_WRAP)
        n &= 31;
    u64 value = n < 32 ? a & ~(~0ull << n) : a;
    if (n && n < 32 && is_signed(in) && value >> (n - 1) & 1)
        value |= ~0ull << n;
    ptx_set(r, &in->operand[0], (uint32_t)value);
}
static const char *check_limit(struct instruction *in)
{
    return in->field[LIMIT] ? NULL : ".clamp or .wrap is missing";
}

/* A selector's bits 0 to 2 name one of the 8 bytes of b:a; bit 3 asks for its sign instead. */
static unsigned selector(enum mode mode, unsigned control, unsigned i)
{
    unsigned by = control & 3;
    switch (mode) {
    case M_F4E: return by + i;
    case M_B4E: return (by + 8 - i) & 7;
    case M_RC8: return by;
    case M_ECL: return i < by ? by : i;
    case M_ECR: return i < by ? i : by;
    case M_RC16: return (by & 1) * 2 + (i & 1);
    default: return control >> 4 * i & 15;
    }
}
static void permute(struct running *r, const struct instruction *in)
{
    u64 both = ptx_get(r, &in->operand[2]) << 32 | (uint32_t)ptx_get(r, &in->operand[1]), result = 0;
    unsigned control = (unsigned)ptx_get(r, &in->operand[3]);
    for (unsigned i = 0; i < 4; i++) {
        unsigned s = selector(in->field[MODE], control, i);
        u64 byte = both >> 8 * (s & 7) & 0xff;
        result |= (s & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << 8 * i;
    }
    ptx_set(r, &in->operand[0], result);
}
static const char *check_permute(struct instruction *in)
{
    enum mode m = in->field[MODE];
    return m && (m < M_F4E || m > M_RC16) ? "that is not a mode of prmt" : NULL;
}

const struct row ptx_integer_rows[] = {
    {"add", add, HAS(SATURATE) | HAS(CARRY), "dss", INTEGERS, check_sum},
    {"addc", add_carry, HAS(CARRY), "dss", WIDE, NULL},
    {"sub", subtract, HAS(SATURATE) | HAS(CARRY), "dss", INTEGERS, check_sum},
    {"subc", subtract_carry, HAS(CARRY), "dss", WIDE, NULL},
    {"mul", multiply, HAS(PART), "dss", INTEGERS, check_product},
    {"mad", multiply_and_add, HAS(PART) | HAS(SATURATE) | HAS(CARRY), "dsss", INTEGERS, check_product},
    {"madc", multiply_and_add_carry, HAS(PART) | HAS(CARRY), "dsss", WIDE, check_product},
    {"mul24", multiply24, HAS(PART), "dss", TYPE(T_U32) | TYPE(T_S32), check_product},
    {"mad24", multiply_and_add24, HAS(PART), "dsss", TYPE(T_U32) | TYPE(T_S32), check_product},
    {"dp4a", dot4, 0, "dsss", TYPE(T_U32) | TYPE(T_S32), check_dot},
    {"dp2a", dot2, HAS(PART), "dsss", TYPE(T_U32) | TYPE(T_S32), check_dot},
    {"div", divide, 0, "dss", INTEGERS, NULL},
    {"rem", remainder_of, 0, "dss", INTEGERS, NULL},
    {"min", minimum, HAS(RELU), "dss", INTEGERS, check_extreme},
    {"max", maximum, HAS(RELU), "dss", INTEGERS, check_extreme},
    {"add", add_pair, 0, "dss", OF_16, NULL},
    {"min", minimum_of_pair, HAS(RELU), "dss", OF_16, check_extreme_of_pair},
    {"max", maximum_of_pair, HAS(RELU), "dss", OF_16, check_extreme_of_pair},
    {"abs", absolute, 0, "ds", TYPE(T_S16) | TYPE(T_S32) | TYPE(T_S64), NULL},
    {"neg", negate, 0, "ds", TYPE(T_S16) | TYPE(T_S32) | TYPE(T_S64), NULL},
    {"sad", sum_of_difference, 0, "dsss", INTEGERS, NULL},
    {"and", and_, 0, "dss", BITS | TYPE(T_PRED), NULL},
    {"or", or_, 0, "dss", BITS | TYPE(T_PRED), NULL},
    {"xor", xor_, 0, "dss", BITS | TYPE(T_PRED), NULL},
    {"not", not_, 0, "ds", BITS | TYPE(T_PRED), NULL},
    {"cnot", logical_not, 0, "ds", BITS, NULL},
    {"lop3", logic3, 0, "dssss", TYPE(T_B32), NULL},
    {"shl", shift_left, 0, "dsn", BITS, NULL},
    {"shr", shift_right, 0, "dsn", BITS | INTEGERS, NULL},
    {"shf", shift_funnel, HAS(MODE) | HAS(LIMIT), "dsss", TYPE(T_B32), check_funnel},
    {"popc", count_ones, 0, "ms", WORDS, NULL},
    {"clz", count_zeros, 0, "ms", WORDS, NULL},
    {"bfind", find_bit, HAS(MODE), "ms", WIDE, NULL},
    {"brev", reverse, 0, "ds", WORDS, NULL},
    {"bfe", extract, 0, "dsnn", WIDE, NULL},
    {"bfi", insert, 0, "dssnn", WORDS, NULL},
    {"fns", find_set, 0, "dnnn", TYPE(T_B32), NULL},
    {"bmsk", make_mask, HAS(LIMIT), "dnn", TYPE(T_B32), check_limit},
    {"szext", extend_field, HAS(LIMIT), "dsn", TYPE(T_U32) | TYPE(T_S32), check_limit},
    {"prmt", permute, HAS(MODE), "dsss", TYPE(T_B32), check_permute},
    {0},
};

/* Inline PTX: video instructions, which choose bytes or halves of their operands, and do a second thing with the result
 * (PTX ISA, "Scalar Video Instructions", "SIMD Video Instructions"). GPUs since sm_50 have most of them no longer: ptxas makes
 * them of others, and of some forms something else than the ISA says. Those are refused (tests/conformance/integers.cu). */
#include "ptx/rows.h"

typedef __int128 s128;

enum video { V_ADD, V_SUBTRACT, V_DIFFERENCE, V_MINIMUM, V_MAXIMUM, V_AVERAGE, V_SET, V_SHIFT_LEFT, V_SHIFT_RIGHT };

static bool is_signed(enum type t) { return ptx_types[t].is_signed; }

/* ---- what both kinds share ---- */

static bool holds(enum comparison how, long long a, long long b)
{
    switch (how) {
    case C_EQ: return a == b;
    case C_NE: return a != b;
    case C_LT: return a < b;
    case C_LE: return a <= b;
    case C_GT: return a > b;
    default: return a >= b;
    }
}

/* A shift by more than 32 counts as one by 32, or begins again. */
static long long shift(const struct instruction *in, enum video what, long long a, long long by)
{
    by = in->field[LIMIT] == M_WRAP ? by & 31 : by > 32 ? 32 : by;
    return what == V_SHIFT_RIGHT ? a >> by : (long long)((u64)a << by);
}

static long long result_of(const struct instruction *in, enum video what, long long a, long long b)
{
    switch (what) {
    case V_ADD: return a + b;
    case V_SUBTRACT: return a - b;
    case V_DIFFERENCE: return a < b ? b - a : a - b;
    case V_MINIMUM: return a < b ? a : b;
    case V_MAXIMUM: return a < b ? b : a;
    case V_AVERAGE: return (a + b + (a + b >= 0)) >> 1;
    case V_SET: return holds(in->field[COMPARISON], a, b);
    default: return shift(in, what, a, b);
    }
}

/* Bytes `at` * bytes and on, with the sign that numbers of that type have. */
static long long part(u64 from, unsigned bytes, unsigned at, enum type t)
{
    unsigned unused = 64 - 8 * bytes;
    u64 top = from >> 8 * bytes * at << unused;
    return is_signed(t) ? (long long)top >> unused : (long long)(top >> unused);
}

static long long fitted(long long x, unsigned bytes, bool with_sign)
{
    long long most = (1ll << (8 * bytes - with_sign)) - 1, least = with_sign ? -most - 1 : 0;
    return x < least ? least : x > most ? most : x;
}

/* Of the result and of both operands; vset has none of the result, which is unsigned. */
static enum type result_type(const struct instruction *in, enum video what)
{
    return what == V_SET ? T_U32 : in->type[0];
}
static enum type operand_type(const struct instruction *in, enum video what, unsigned i)
{
    return in->type[what == V_SET ? i : i + 1];
}

static const char *check_types(const struct instruction *in, enum video what)
{
    bool shifts = what == V_SHIFT_LEFT || what == V_SHIFT_RIGHT;
    if (in->n_types != (what == V_SET ? 2 : 3))
        return "the type of the result, but for comparisons, and those of both operands are needed";
    if (shifts && (in->type[2] != T_U32 || !in->field[LIMIT]))
        return "the amount is of type .u32, and .clamp or .wrap is needed";
    if ((what == V_SET) != (in->field[COMPARISON] != C_NONE) || in->field[COMPARISON] > C_GE)
        return "the comparison is missing, or not one of integers";
    return NULL;
}

/* ---- one number ---- */

static long long selected(const struct running *r, const struct ptx_operand *o, enum type t)
{
    const struct selection *s = &o->selection;
    return part((uint32_t)ptx_get(r, o), s->n ? s->bytes : 4, s->n ? s->at[0] : 0, t);
}

static void scalar(struct running *r, const struct instruction *in, enum video what)
{
    const struct selection *to = &in->operand[0].selection;
    enum type t = result_type(in, what);
    unsigned bytes = to->n ? to->bytes : 4;
    long long a = selected(r, &in->operand[1], operand_type(in, what, 0));
    long long b = selected(r, &in->operand[2], operand_type(in, what, 1));
    u64 c = in->n > 3 ? (uint32_t)ptx_get(r, &in->operand[3]) : 0;
    long long result = result_of(in, what, a, b);
    result = in->field[SATURATE] ? fitted(result, bytes, is_signed(t)) : part((u64)result, 4, 0, t);
    if (!to->n) {
        ptx_set(r, &in->operand[0], (uint32_t)(result + (in->field[OPERATION] ? part(c, 4, 0, t) : 0)));
        return;
    }
    unsigned up = 8 * bytes * to->at[0];
    u64 mask = ptx_bits(bytes) << up;
    ptx_set(r, &in->operand[0], (c & ~mask) | ((u64)result << up & mask));
}

static const char *check_one(const struct ptx_operand *o)
{
    const struct selection *s = &o->selection;
    return s->n > 1 || (s->n && s->at[0] * s->bytes >= 4) ? "of an operand .b0 to .b3, .h0 or .h1 can be chosen" : NULL;
}

#define DIFFERS "hardware does not do what the PTX ISA says of "

/* Forms of which an H200 makes something else than the ISA. */
static const char *why_differs(const struct instruction *in, enum video what)
{
    bool saturates = in->field[SATURATE];
    if (in->operand[0].selection.n && what != V_SET)
        return DIFFERS "a result of which a part is chosen";
    if (in->field[OPERATION] == OP_MIN || in->field[OPERATION] == OP_MAX)
        return DIFFERS "a second operation .min or .max";
    if (saturates && (what == V_SHIFT_LEFT || in->type[0] == T_U32))
        return DIFFERS ".sat of .u32, and of vshl";
    return NULL;
}

static const char *check_scalar(struct instruction *in, enum video what)
{
    bool merges = in->operand[0].selection.n, combines = in->field[OPERATION] != OP_NONE;
    for (unsigned i = 0; i < 3; i++)
        if (check_one(&in->operand[i]))
            return check_one(&in->operand[i]);
    if (combines && (in->field[OPERATION] < OP_ADD || in->field[OPERATION] > OP_MAX))
        return "the second operation is .add, .min or .max";
    if (merges && combines)
        return "a second operation and a part of the result do not go together";
    if ((in->n == 4) != (merges || combines))
        return "a third number is for a second operation, or for the rest of a result of which a part is chosen";
    const char *why = check_types(in, what);
    return why ? why : why_differs(in, what);
}

/* ---- two or four numbers ---- */

/* The default: of a its own, of b its own; they are numbered through both. */
static unsigned chosen(const struct selection *s, unsigned n, unsigned operand, unsigned i)
{
    return s->n ? s->at[i] : operand * n + i;
}

static bool in_mask(const struct selection *s, unsigned i)
{
    bool found = !s->n;
    for (unsigned k = 0; k < s->n; k++)
        found |= s->at[k] == i;
    return found;
}

static void several(struct running *r, const struct instruction *in, enum video what, unsigned n)
{
    unsigned bytes = 4 / n;
    u64 both = (uint32_t)ptx_get(r, &in->operand[2]), c = (uint32_t)ptx_get(r, &in->operand[3]);
    both = both << 32 | (uint32_t)ptx_get(r, &in->operand[1]);
    enum type t = result_type(in, what);
    for (unsigned i = 0; i < n; i++) {
        if (!in_mask(&in->operand[0].selection, i))
            continue;
        unsigned at_a = chosen(&in->operand[1].selection, n, 0, i), at_b = chosen(&in->operand[2].selection, n, 1, i);
        long long result = result_of(in, what, part(both, bytes, at_a, operand_type(in, what, 0)),
                                     part(both, bytes, at_b, operand_type(in, what, 1)));
        u64 mask = ptx_bits(bytes) << 8 * bytes * i;
        if (in->field[SATURATE])
            result = fitted(result, bytes, is_signed(t));
        if (in->field[OPERATION])
            c += (u64)result;
        else
            c = (c & ~mask) | ((u64)result << 8 * bytes * i & mask);
    }
    ptx_set(r, &in->operand[0], (uint32_t)c);
}

/* Of the result each place once, from the highest down; of an operand as many as there are. */
static const char *check_several(struct instruction *in, enum video what, unsigned n)
{
    for (unsigned i = 0; i < 3; i++) {
        const struct selection *s = &in->operand[i].selection;
        if (s->n && s->bytes != 4 / n)
            return n == 2 ? "halves are chosen by .h" : "bytes are chosen by .b";
        if (s->n && i && s->n != n)
            return "of an operand as many parts are chosen as the instruction has";
        for (unsigned k = 0; k < s->n; k++)
            if (s->at[k] >= (i ? 2 * n : n) || (!i && k && s->at[k] <= s->at[k - 1]))
                return "there is no such choice of parts";
    }
    if (in->operand[3].kind != O_SLOT)
        return "the third number is a register";
    if (in->field[OPERATION] && (in->field[OPERATION] != OP_ADD || in->field[SATURATE]))
        return "the second operation is .add, without .sat";
    return check_types(in, what);
}

/* ---- a * b + c ---- */

static bool product_is_negated(const struct instruction *in) { return in->operand[1].minus != in->operand[2].minus; }

static void multiply_and_add(struct running *r, const struct instruction *in)
{
    long long a = selected(r, &in->operand[1], in->type[1]), b = selected(r, &in->operand[2], in->type[2]);
    s128 product = (s128)a * b, c = (int32_t)ptx_get(r, &in->operand[3]);
    s128 result = (product_is_negated(in) ? -product : product) + (in->operand[3].minus ? -c : c);
    result = (result + in->field[PLUS_ONE]) >> in->field[SCALE];
    if (in->field[SATURATE])
        result = result < INT32_MIN ? INT32_MIN : result > INT32_MAX ? INT32_MAX : result;
    ptx_set(r, &in->operand[0], (uint32_t)result);
}

static const char *check_multiply_and_add(struct instruction *in)
{
    bool minus = in->operand[1].minus || in->operand[2].minus || in->operand[3].minus;
    bool with_sign = in->type[1] == T_S32 && in->type[2] == T_S32;
    for (unsigned i = 1; i < 3; i++)
        if (check_one(&in->operand[i]))
            return check_one(&in->operand[i]);
    if (in->operand[0].selection.n)
        return "no part of the result can be chosen";
    if (minus && in->field[PLUS_ONE])
        return ".po and a minus do not go together";
    if (product_is_negated(in) && in->operand[3].minus)
        return "either the product or what is added can have a minus";
    if (in->n_types != 3)
        return "it needs three types, of the result and of both factors";
    return (in->field[SATURATE] || in->field[SCALE]) && !with_sign ? DIFFERS ".sat and .shr with a factor of .u32"
                                                                   : NULL;
}

/* ---- rows ---- */

#define SCALAR(NAME, WHAT) \
    static void NAME(struct running *r, const struct instruction *in) { scalar(r, in, WHAT); } \
    static const char *check_##NAME(struct instruction *in) { return check_scalar(in, WHAT); }
#define SEVERAL(NAME, WHAT, N) \
    static void NAME##N(struct running *r, const struct instruction *in) { several(r, in, WHAT, N); } \
    static const char *check_##NAME##N(struct instruction *in) { return check_several(in, WHAT, N); }
#define ALL(NAME, WHAT) SCALAR(NAME, WHAT) SEVERAL(NAME, WHAT, 2) SEVERAL(NAME, WHAT, 4)

ALL(add, V_ADD)
ALL(subtract, V_SUBTRACT)
ALL(difference, V_DIFFERENCE)
ALL(minimum, V_MINIMUM)
ALL(maximum, V_MAXIMUM)
ALL(set, V_SET)
SEVERAL(average, V_AVERAGE, 2)
SEVERAL(average, V_AVERAGE, 4)
SCALAR(shift_left, V_SHIFT_LEFT)
SCALAR(shift_right, V_SHIFT_RIGHT)

#define NUMBERS (TYPE(T_U32) | TYPE(T_S32))
#define ONE (HAS(SATURATE) | HAS(OPERATION))
#define ROW(NAME, FUNCTION, FIELDS) {NAME, FUNCTION, FIELDS, "eff?n", NUMBERS, check_##FUNCTION}
#define ROWS_OF_SEVERAL(NAME, FUNCTION, FIELDS) \
    {NAME "2", FUNCTION##2, FIELDS, "effn", NUMBERS, check_##FUNCTION##2}, \
        {NAME "4", FUNCTION##4, FIELDS, "effn", NUMBERS, check_##FUNCTION##4}

const struct row ptx_video_rows[] = {
    ROW("vadd", add, ONE),
    ROW("vsub", subtract, ONE),
    ROW("vabsdiff", difference, ONE),
    ROW("vmin", minimum, ONE),
    ROW("vmax", maximum, ONE),
    ROW("vset", set, HAS(COMPARISON) | HAS(OPERATION)),
    ROW("vshl", shift_left, ONE | HAS(LIMIT)),
    ROW("vshr", shift_right, ONE | HAS(LIMIT)),
    {"vmad", multiply_and_add, HAS(SATURATE) | HAS(PLUS_ONE) | HAS(SCALE), "effc", NUMBERS, check_multiply_and_add},
    ROWS_OF_SEVERAL("vadd", add, ONE),
    ROWS_OF_SEVERAL("vsub", subtract, ONE),
    ROWS_OF_SEVERAL("vavrg", average, ONE),
    ROWS_OF_SEVERAL("vabsdiff", difference, ONE),
    ROWS_OF_SEVERAL("vmin", minimum, ONE),
    ROWS_OF_SEVERAL("vmax", maximum, ONE),
    ROWS_OF_SEVERAL("vset", set, HAS(COMPARISON) | HAS(OPERATION)),
    {0},
};

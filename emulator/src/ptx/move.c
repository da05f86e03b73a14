/* Inline PTX: moves, comparisons, choices and control (PTX ISA, "Data Movement and Conversion", "Comparison and Selection",
 * "Control Flow"). */
#include "ptx/move.h"
#include "base/report.h"
#include "order/access.h"
#include "ptx/assembly.h"
#include "ptx/convert.h"
#include "ptx/rows.h"

/* ---- mov ---- */

static u128 packed(const struct running *r, const struct ptx_operand *o, unsigned bytes)
{
    u128 value = 0;
    for (unsigned i = 0; i < o->n; i++)
        value |= (u128)(ptx_get(r, &o->elements[i]) & ptx_bits(bytes)) << 8 * bytes * i;
    return value;
}

static void move(struct running *r, const struct instruction *in)
{
    const struct ptx_operand *to = &in->operand[0], *from = &in->operand[1];
    unsigned bytes = ptx_types[in->type[0]].bytes;
    u128 value = from->kind == O_VECTOR ? packed(r, from, bytes / from->n) : ptx_get_wide(r, from);
    unsigned each = bytes / to->n;
    if (to->kind != O_VECTOR)
        ptx_set_wide(r, to, value);
    else
        for (unsigned i = 0; i < to->n; i++)
            ptx_set(r, &to->elements[i], (u64)(value >> 8 * each * i) & ptx_bits(each));
}

static const char *check_move(struct instruction *in)
{
    unsigned bytes = ptx_types[in->type[0]].bytes;
    for (unsigned i = 0; i < 2; i++) {
        const struct ptx_operand *o = &in->operand[i];
        if (o->kind == O_VECTOR && (o->n < 2 || bytes % o->n))
            return "the type cannot be divided into so many parts";
    }
    return NULL;
}

/* ---- comparisons ---- */

static bool is_float(enum type t) { return TYPE(t) & FLOATS; }

static bool compare_floats(enum comparison how, double a, double b)
{
    bool unordered = a != a || b != b;
    switch (how) {
    case C_EQ: return a == b;
    case C_NE: return !unordered && a != b;
    case C_LT: return a < b;
    case C_LE: return a <= b;
    case C_GT: return a > b;
    case C_GE: return a >= b;
    case C_EQU: return unordered || a == b;
    case C_NEU: return unordered || a != b;
    case C_LTU: return unordered || a < b;
    case C_LEU: return unordered || a <= b;
    case C_GTU: return unordered || a > b;
    case C_GEU: return unordered || a >= b;
    case C_NUM: return !unordered;
    default: return unordered;
    }
}

static bool compare_integers(enum comparison how, bool is_signed, u64 a, u64 b)
{
    bool less = is_signed ? (long long)a < (long long)b : a < b;
    switch (how) {
    case C_EQ: return a == b;
    case C_NE: return a != b;
    case C_LT: return less;
    case C_LE: return less || a == b;
    case C_GT: return !less && a != b;
    case C_GE: return !less;
    case C_LS: return a <= b;
    default: return a >= b;
    }
}

/* .lo and .hi, which elsewhere are halves, compare unsigned numbers. */
static bool compare(const struct running *r, const struct instruction *in, enum type t)
{
    u64 a = ptx_extend(ptx_get(r, &in->operand[1]), t), b = ptx_extend(ptx_get(r, &in->operand[2]), t);
    enum comparison how = in->field[COMPARISON];
    if (in->field[PART])
        return in->field[PART] == PART_LO ? a < b : a > b;
    if (!is_float(t))
        return compare_integers(how, ptx_types[t].is_signed, a, b);
    return compare_floats(how, ptx_to_double(ptx_flush(in, t, a), t), ptx_to_double(ptx_flush(in, t, b), t));
}

static bool combine(const struct running *r, const struct instruction *in, bool value)
{
    if (!in->field[OPERATION])
        return value;
    bool other = ptx_get_predicate(r, &in->operand[3]);
    switch (in->field[OPERATION]) {
    case OP_AND: return value && other;
    case OP_OR: return value || other;
    default: return value != other;
    }
}

static void set_predicates(struct running *r, const struct instruction *in)
{
    bool value = compare(r, in, in->type[0]);
    bool first = combine(r, in, value), second = combine(r, in, !value);
    ptx_set(r, &in->operand[0], first);
    ptx_set_second(r, &in->operand[0], second);
}

/* set: all ones or 1.0 where it holds, else 0. */
static void set_value(struct running *r, const struct instruction *in)
{
    bool value = combine(r, in, compare(r, in, in->type[1]));
    u64 yes = is_float(in->type[0]) ? ptx_from_double(1, in->type[0], R_RN) : ~0ull;
    ptx_set(r, &in->operand[0], value ? yes : 0);
}

static const char *check_comparison(struct instruction *in)
{
    enum type t = in->type[in->n_types - 1];
    enum operation o = in->field[OPERATION];
    enum comparison c = in->field[COMPARISON];
    bool part = in->field[PART] && !is_float(t) && !ptx_types[t].is_signed;
    if (in->field[PART] ? c || !part : !c)
        return "the comparison is missing, or not one of this type's";
    if (!is_float(t) && c > C_HS)
        return "that comparison is one of floating point";
    if (is_float(t) && (c == C_LS || c == C_HS))
        return "that comparison is one of integers";
    if (TYPE(t) & BITS && c > C_NE)
        return "bits can only be compared by .eq and .ne";
    if (o > OP_XOR)
        return "predicates are combined by .and, .or or .xor";
    return (in->n == 4) != (o != OP_NONE) ? "a predicate to combine with and .and, .or or .xor come together" : NULL;
}

static const char *check_set(struct instruction *in)
{
    return in->n_types == 2 ? check_comparison(in) : "it needs two types, the result's and the operands'";
}

/* ---- choices ---- */

static void select_by_predicate(struct running *r, const struct instruction *in)
{
    ptx_set(r, &in->operand[0], ptx_source(r, in, ptx_get_predicate(r, &in->operand[3]) ? 1 : 2));
}

static void select_by_sign(struct running *r, const struct instruction *in)
{
    u64 c = ptx_get(r, &in->operand[3]);
    enum type t = in->type[1];
    bool first = t == T_F32 ? ptx_to_double(ptx_flush(in, t, c), t) >= 0 : (int32_t)c >= 0;
    ptx_set(r, &in->operand[0], ptx_source(r, in, first ? 1 : 2));
}

static const char *check_slct(struct instruction *in)
{
    bool known = in->n_types == 2 && (in->type[1] == T_S32 || in->type[1] == T_F32);
    return known ? NULL : "it needs two types, of which the second is .s32 or .f32";
}

/* ---- control ---- */

static void wait_for_grid(struct running *r, const struct instruction *in)
{
    (void)r, (void)in;
    simt_grid_dependency_wait();
}

static void let_next_begin(struct running *r, const struct instruction *in)
{
    (void)r, (void)in;
    simt_grid_launch_dependents();
}

static void trap(struct running *r, const struct instruction *in)
{
    (void)in;
    report_call("trap", r->pc, "came to the instruction trap", "");
}

static void pause(struct running *r, const struct instruction *in)
{
    (void)in;
    give_way(running(), r->pc);
}

void ptx_nothing(struct running *r, const struct instruction *in) { (void)r, (void)in; }

const struct row ptx_move_rows[] = {
    {"mov", move, 0, "wv", INTEGERS | BITS | TYPE(T_B128) | FLOATS | TYPE(T_PRED), check_move},
    {"setp", set_predicates, HAS(COMPARISON) | HAS(PART) | HAS(OPERATION) | HAS(FTZ), "pss?q", INTEGERS | BITS | FLOATS,
     check_comparison},
    {"set", set_value, HAS(COMPARISON) | HAS(PART) | HAS(OPERATION) | HAS(FTZ), "dtt?q", INTEGERS | BITS | FLOATS,
     check_set},
    {"selp", select_by_predicate, 0, "dssq", INTEGERS | BITS | FLOATS, NULL},
    {"slct", select_by_sign, HAS(FTZ), "dsst", INTEGERS | BITS | FLOATS, check_slct},
    {"bra", ptx_branch, HAS(UNIFORM), "", 0, NULL},
    {"trap", trap, 0, "", 0, NULL},
    {"nanosleep", pause, 0, "s", TYPE(T_U32), NULL},
    {"griddepcontrol.wait", wait_for_grid, 0, "", 0, NULL},
    {"griddepcontrol.launch_dependents", let_next_begin, 0, "", 0, NULL},
    {0},
};

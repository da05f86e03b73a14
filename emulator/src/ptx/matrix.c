/* Inline PTX: matrices that a warp holds together (PTX ISA, "ldmatrix", "stmatrix", "movmatrix", "mma", "wmma"). What they do is the room
 * matrix; here stands which instructions there are. */
#include "warp/matrix.h"
#include "ptx/matrix.h"
#include "ptx/memory.h"
#include "ptx/rows.h"
#include "warp/matrix_fragment.h"
#include "warp/matrix_layout.h"
#include "warp/matrix_load.h"
#include <string.h>

#define SMALL (TYPE(T_S4) | TYPE(T_U4) | TYPE(T_B1))
#define MMA_TYPES (HALVES | BYTES | SMALL | TYPE(T_TF32) | FULL | TYPE(T_S32) | TYPE(T_E4M3) | TYPE(T_E5M2))

/* ---- ldmatrix, stmatrix ---- */

/* The row that the running lane has the address of; of .x1 and .x2 only lanes 0 to 7 and 0 to 15 have one. */
static void *row_of(const struct running *r, const struct instruction *in, unsigned i)
{
    if (block_here()->cur % WARP >= 8u * in->field[COUNT])
        return NULL;
    return ptx_address(r, &in->operand[i], in->field[SPACE]);
}

static void load(struct running *r, const struct instruction *in)
{
    uint32_t words[4];
    matrix_load(in->field[COUNT], in->field[TRANSPOSED], row_of(r, in, 1), words, r->pc);
    ptx_set_words(r, &in->operand[0], words);
}

static void store(struct running *r, const struct instruction *in)
{
    uint32_t words[4];
    ptx_get_words(r, &in->operand[1], words);
    matrix_store(in->field[COUNT], in->field[TRANSPOSED], row_of(r, in, 0), words, r->pc);
}

static const char of_other_blocks[] = "it reaches no other block's shared memory: the space is .shared::cta";

static const char *check_matrices(struct instruction *in, unsigned registers)
{
    const struct product *shape = &in->product;
    if (shape->m != 8 || shape->n != 8 || shape->k)
        return "of shapes, only .m8n8 is known";
    if (!in->field[SYNC] || !in->field[ALIGNED] || !in->field[COUNT])
        return ".sync, .aligned and .x1, .x2 or .x4 are needed";
    if (in->field[SPACE] == S_CLUSTER)
        return of_other_blocks;
    return in->operand[registers].n == in->field[COUNT] ? NULL : "there must be as many registers as matrices";
}
static const char *check_load(struct instruction *in) { return check_matrices(in, 0); }
static const char *check_store(struct instruction *in) { return check_matrices(in, 1); }

/* ---- movmatrix ---- */

static void transpose(struct running *r, const struct instruction *in)
{
    ptx_set(r, &in->operand[0], matrix_transpose((uint32_t)ptx_get(r, &in->operand[1]), r->pc));
}

static const char *check_transpose(struct instruction *in)
{
    const struct product *shape = &in->product;
    bool known = in->field[SYNC] && in->field[ALIGNED] && in->field[TRANSPOSED];
    return known && shape->m == 8 && shape->n == 8 && !shape->k ? NULL : "it is .sync.aligned.m8n8.trans";
}

/* ---- mma, wmma.mma ---- */

#define MOST_REGISTERS 16 /* of 32 bits */

/* Of a fragment, which stands in registers of 32 bits, or of 64 where it is one of doubles. */
static void get_fragment(const struct running *r, const struct ptx_operand *o, enum element_type type, uint32_t *words)
{
    if (type != E_F64) {
        ptx_get_words(r, o, words);
        return;
    }
    for (unsigned i = 0; i < o->n; i++) {
        u64 value = ptx_get(r, &o->elements[i]);
        memcpy(words + 2 * i, &value, sizeof value);
    }
}

static void set_fragment(const struct running *r, const struct ptx_operand *o, enum element_type type,
                         const uint32_t *words)
{
    if (type != E_F64) {
        ptx_set_words(r, o, words);
        return;
    }
    for (unsigned i = 0; i < o->n; i++) {
        u64 value;
        memcpy(&value, words + 2 * i, sizeof value);
        ptx_set(r, &o->elements[i], value);
    }
}

static void multiply(struct running *r, const struct instruction *in)
{
    uint32_t a[MOST_REGISTERS], b[MOST_REGISTERS], c[MOST_REGISTERS];
    get_fragment(r, &in->operand[1], in->product.a, a);
    get_fragment(r, &in->operand[2], in->product.b, b);
    get_fragment(r, &in->operand[3], in->product.c, c);
    matrix_multiply(&in->product, a, b, c, c, r->pc);
    set_fragment(r, &in->operand[0], in->product.d, c);
}

enum element_type ptx_element_of(enum type t)
{
    static const enum element_type of[TYPES] = {
        [T_F16] = E_F16, [T_BF16] = E_BF16, [T_TF32] = E_TF32, [T_F32] = E_F32,   [T_S8] = E_S8,
        [T_U8] = E_U8,   [T_S32] = E_S32,   [T_E4M3] = E_E4M3, [T_E5M2] = E_E5M2, [T_F64] = E_F64,
        [T_S4] = E_S4,   [T_U4] = E_U4,     [T_B1] = E_B1};
    return of[t];
}

static bool is_packed(enum element_type t) { return t == E_S4 || t == E_U4 || t == E_B1; } /* of less than 8 bits */

/* Only sums in fp32 stand in registers of .f32; all else is packed, or has bits of its own, as tf32. */
static bool any_floating(const struct ptx_operand *o)
{
    for (unsigned i = 0; i < o->n; i++)
        if (o->elements[i].floating)
            return true;
    return false;
}

const char *ptx_check_fragment(const struct product *p, enum operand which, enum element_type type,
                               const struct ptx_operand *o)
{
    unsigned n = matrix_registers(p, which);
    if (!n)
        return "there is no such product that the emulator knows";
    if (type != E_F32 && type != E_F64 && any_floating(o))
        return "a register of .f32 holds a sum in fp32, all else needs .b32 (constraint \"r\")";
    for (unsigned i = 0; i < o->n; i++)
        if (o->elements[i].kind == O_SLOT && o->elements[i].bytes != (type == E_F64 ? 8 : 4))
            return "a number of .f64 stands in a register of 64 bits, all else in one of 32";
    return o->n == (type == E_F64 ? n / 2 : n) ? NULL
                                               : "an operand has not as many registers as the shape and the types need";
}

static const char *check_registers(struct instruction *in)
{
    static const enum operand which[] = {OPERAND_D, OPERAND_A, OPERAND_B, OPERAND_C};
    const struct product *p = &in->product;
    const enum element_type elements[] = {p->d, p->a, p->b, p->c};
    for (unsigned i = 0; i < 4; i++) {
        const char *why = ptx_check_fragment(p, which[i], elements[i], &in->operand[i]);
        if (why)
            return why;
    }
    return NULL;
}

/* What may stand behind the types, or before them: .satfinite of integers, and how single bits are multiplied. */
static const char *check_product(struct instruction *in)
{
    struct product *p = &in->product;
    enum operation how = in->field[OPERATION];
    bool of_bits = p->a == E_B1 && (how == OP_AND || how == OP_XOR) && in->field[OPERATION2] == OP_POPC;
    p->saturates = in->field[FINITE];
    p->conjoins = how == OP_AND;
    if (p->a == E_B1 ? !of_bits : how != OP_NONE)
        return ".and.popc or .xor.popc is for .b1, which needs one of them";
    if (in->field[ROUNDING] && (p->a != E_F64 || in->field[ROUNDING] != R_RN))
        return "of roundings, only .rn of .f64 is known";
    if (p->saturates && (p->d != E_S32 || p->a == E_B1))
        return ".satfinite is for integers of 4 and 8 bits";
    return check_registers(in);
}

static const char *check_mma(struct instruction *in)
{
    struct product *p = &in->product;
    if (in->n_types != 4)
        return "it needs four types, of D, A, B and C";
    if (!in->field[SYNC] || !in->field[ALIGNED] || in->field[LAYOUT] != MAJOR_ROW || in->field[LAYOUT2] != MAJOR_COLUMN)
        return ".sync.aligned and .row.col are needed";
    p->family = LAYOUT_MMA;
    p->d = ptx_element_of(in->type[0]);
    p->a = ptx_element_of(in->type[1]);
    p->b = ptx_element_of(in->type[2]);
    p->c = ptx_element_of(in->type[3]);
    return check_product(in);
}

/* wmma: .d.c, where A and B are .f16; else .d.a.b.c */
static const char *check_wmma(struct instruction *in)
{
    struct product *p = &in->product;
    bool of_half = in->n_types == 2;
    if (!of_half && in->n_types != 4)
        return "it needs the types of D and C, or those of D, A, B and C";
    if (!in->field[SYNC] || !in->field[ALIGNED] || !in->field[LAYOUT] || !in->field[LAYOUT2])
        return ".sync.aligned and two layouts are needed";
    bool row_by_column = in->field[LAYOUT] == MAJOR_ROW && in->field[LAYOUT2] == MAJOR_COLUMN;
    p->family = LAYOUT_WMMA;
    p->d = ptx_element_of(in->type[0]);
    p->a = of_half ? E_F16 : ptx_element_of(in->type[1]);
    p->b = of_half ? E_F16 : ptx_element_of(in->type[2]);
    p->c = ptx_element_of(in->type[in->n_types - 1]);
    if (is_packed(p->a) && !row_by_column)
        return "of numbers of less than 8 bits A is .row and B is .col";
    return check_product(in);
}

/* ---- wmma.load, wmma.store ---- */

static enum operand operand_of(const struct instruction *in)
{
    switch (in->row->name[sizeof "wmma.load." - 1]) {
    case 'a': return OPERAND_A;
    case 'b': return OPERAND_B;
    default: return OPERAND_C;
    }
}

/* Where rows are not said to be further apart, they follow each other. */
static unsigned stride_of(const struct running *r, const struct instruction *in, unsigned rows, unsigned columns)
{
    if (in->n > 2)
        return (unsigned)ptx_get(r, &in->operand[2]);
    return in->field[LAYOUT] == MAJOR_ROW ? columns : rows;
}

static void load_fragment(struct running *r, const struct instruction *in)
{
    const struct product *p = &in->product;
    enum operand which = operand_of(in);
    uint32_t words[MOST_REGISTERS];
    enum element_type type = ptx_element_of(in->type[0]);
    unsigned stride = stride_of(r, in, which == OPERAND_B ? p->k : p->m, which == OPERAND_A ? p->k : p->n);
    const void *first = ptx_address(r, &in->operand[1], in->field[SPACE]);
    matrix_load_fragment(p, which, in->field[LAYOUT] == MAJOR_COLUMN, first, stride, words, r->pc);
    set_fragment(r, &in->operand[0], type, words);
}

static void store_fragment(struct running *r, const struct instruction *in)
{
    const struct product *p = &in->product;
    uint32_t words[MOST_REGISTERS];
    void *first = ptx_address(r, &in->operand[0], in->field[SPACE]);
    get_fragment(r, &in->operand[1], p->d, words);
    matrix_store_fragment(p, in->field[LAYOUT] == MAJOR_COLUMN, first, stride_of(r, in, p->m, p->n), words, r->pc);
}

/* Sums of whole numbers: of which, tells the shape. */
static enum element_type whole_factor(unsigned k) { return k == 128 ? E_B1 : k == 32 ? E_S4 : E_S8; }

/* The fragment's type decides those of the others as far as its layout depends on them. */
static void complete_product(struct instruction *in)
{
    struct product *p = &in->product;
    enum element_type e = ptx_element_of(in->type[0]);
    p->family = LAYOUT_WMMA;
    p->a = p->b = e == E_S32 ? whole_factor(p->k) : e == E_F32 ? (p->k == 8 ? E_TF32 : E_F16) : e;
    switch (p->a) {
    case E_F16: p->c = p->d = e == E_F32 ? E_F32 : E_F16; return;
    case E_F64: p->c = p->d = E_F64; return;
    case E_BF16:
    case E_TF32: p->c = p->d = E_F32; return;
    default: p->c = p->d = E_S32; return;
    }
}

static const char *check_fragment(struct instruction *in, unsigned registers, enum operand which)
{
    if (!in->field[SYNC] || !in->field[ALIGNED] || !in->field[LAYOUT] || !in->field[SHAPE])
        return ".sync.aligned, a layout and a shape are needed";
    if (in->field[SPACE] == S_CLUSTER)
        return of_other_blocks;
    complete_product(in);
    const struct product *p = &in->product;
    if (is_packed(p->a) && (which == OPERAND_A || which == OPERAND_B) &&
        in->field[LAYOUT] != (which == OPERAND_A ? MAJOR_ROW : MAJOR_COLUMN))
        return "of numbers of less than 8 bits A is .row and B is .col";
    return ptx_check_fragment(p, which, ptx_element_of(in->type[0]), &in->operand[registers]);
}
static const char *check_fragment_load(struct instruction *in) { return check_fragment(in, 0, operand_of(in)); }
static const char *check_fragment_store(struct instruction *in) { return check_fragment(in, 1, OPERAND_D); }

#define TOGETHER (HAS(SYNC) | HAS(ALIGNED) | HAS(SHAPE))
#define FRAGMENT (TOGETHER | HAS(SPACE) | HAS(LAYOUT))
#define PRODUCT (TOGETHER | HAS(LAYOUT) | HAS(LAYOUT2) | HAS(FINITE) | HAS(OPERATION) | HAS(OPERATION2) | HAS(ROUNDING))
#define MATRICES (TOGETHER | HAS(COUNT) | HAS(TRANSPOSED) | HAS(SPACE))
#define FACTORS (HALVES | BYTES | SMALL | TYPE(T_TF32) | TYPE(T_F64))
#define SUMS (TYPE(T_F16) | FULL | TYPE(T_S32))

const struct row ptx_matrix_rows[] = {
    {"ldmatrix", load, MATRICES, "Ma", TYPE(T_B16), check_load},
    {"stmatrix", store, MATRICES, "aN", TYPE(T_B16), check_store},
    {"movmatrix", transpose, TOGETHER | HAS(TRANSPOSED), "mn", TYPE(T_B16), check_transpose},
    {"mma", multiply, PRODUCT, "GHHH", MMA_TYPES, check_mma},
    {"wmma.mma", multiply, PRODUCT, "GHHH", MMA_TYPES, check_wmma},
    {"wmma.load.a", load_fragment, FRAGMENT, "Ga?n", FACTORS, check_fragment_load},
    {"wmma.load.b", load_fragment, FRAGMENT, "Ga?n", FACTORS, check_fragment_load},
    {"wmma.load.c", load_fragment, FRAGMENT, "Ga?n", SUMS, check_fragment_load},
    {"wmma.store.d", store_fragment, FRAGMENT, "aH?n", SUMS, check_fragment_store},
    {0},
};

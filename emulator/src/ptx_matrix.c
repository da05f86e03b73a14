/* Inline PTX: matrices that a warp holds together (PTX ISA, "ldmatrix", "stmatrix", "mma", "wmma"). What they do is the room
 * matrix; here stands which instructions there are. */
#include "ptx.h"

#define MMA_TYPES (HALVES | BYTES | TYPE(T_TF32) | TYPE(T_F32) | TYPE(T_S32) | TYPE(T_E4M3) | TYPE(T_E5M2))

/* ---- ldmatrix, stmatrix ---- */

/* The row that the running lane has the address of; of .x1 and .x2 only lanes 0 to 7 and 0 to 15 have one. */
static void *row_of(const struct running *r, const struct instruction *in, unsigned i)
{
    if (running()->cur % WARP >= 8u * in->field[COUNT])
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

static const char *check_matrices(struct instruction *in, unsigned registers)
{
    const struct product *shape = &in->product;
    if (shape->m != 8 || shape->n != 8 || shape->k)
        return "of shapes, only .m8n8 is known";
    if (!in->field[SYNC] || !in->field[ALIGNED] || !in->field[COUNT])
        return ".sync, .aligned and .x1, .x2 or .x4 are needed";
    return in->operand[registers].n == in->field[COUNT] ? NULL : "there must be as many registers as matrices";
}
static const char *check_load(struct instruction *in) { return check_matrices(in, 0); }
static const char *check_store(struct instruction *in) { return check_matrices(in, 1); }

/* ---- mma, wmma.mma ---- */

#define MOST_REGISTERS 16

static void multiply(struct running *r, const struct instruction *in)
{
    uint32_t a[MOST_REGISTERS], b[MOST_REGISTERS], c[MOST_REGISTERS];
    ptx_get_words(r, &in->operand[1], a);
    ptx_get_words(r, &in->operand[2], b);
    ptx_get_words(r, &in->operand[3], c);
    matrix_multiply(&in->product, a, b, c, c, r->pc);
    ptx_set_words(r, &in->operand[0], c);
}

static enum element_type element_of(enum type t)
{
    static const enum element_type of[TYPES] = {
        [T_F16] = E_F16, [T_BF16] = E_BF16, [T_TF32] = E_TF32, [T_F32] = E_F32,  [T_S8] = E_S8,
        [T_U8] = E_U8,   [T_S32] = E_S32,   [T_E4M3] = E_E4M3, [T_E5M2] = E_E5M2};
    return of[t];
}

/* Only sums in fp32 stand in registers of .f32; all else is packed, or has bits of its own, as tf32. */
static bool any_floating(const struct ptx_operand *o)
{
    for (unsigned i = 0; i < o->n; i++)
        if (o->elements[i].floating)
            return true;
    return false;
}

static const char *check_registers(struct instruction *in)
{
    static const enum operand which[] = {OPERAND_D, OPERAND_A, OPERAND_B, OPERAND_C};
    const struct product *p = &in->product;
    const enum element_type elements[] = {p->d, p->a, p->b, p->c};
    for (unsigned i = 0; i < 4; i++) {
        unsigned n = matrix_registers(p, which[i]);
        if (!n || n > MOST_REGISTERS)
            return "there is no such product that the emulator knows";
        if (elements[i] != E_F32 && any_floating(&in->operand[i]))
            return "a register of .f32 holds a sum in fp32, all else needs .b32 (constraint \"r\")";
        if (in->operand[i].n != n)
            return "an operand has not as many registers as the shape and the types need";
    }
    return NULL;
}

static const char *check_mma(struct instruction *in)
{
    struct product *p = &in->product;
    if (in->n_types != 4)
        return "it needs four types, of D, A, B and C";
    if (!in->field[SYNC] || !in->field[ALIGNED] || in->field[LAYOUT] != MAJOR_ROW || in->field[LAYOUT2] != MAJOR_COLUMN)
        return ".sync.aligned and .row.col are needed";
    p->family = LAYOUT_MMA;
    p->d = element_of(in->type[0]);
    p->a = element_of(in->type[1]);
    p->b = element_of(in->type[2]);
    p->c = element_of(in->type[3]);
    p->saturates = in->field[FINITE];
    return check_registers(in);
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
    p->family = LAYOUT_WMMA;
    p->d = element_of(in->type[0]);
    p->a = of_half ? E_F16 : element_of(in->type[1]);
    p->b = of_half ? E_F16 : element_of(in->type[2]);
    p->c = element_of(in->type[in->n_types - 1]);
    p->saturates = in->field[FINITE];
    return check_registers(in);
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
    unsigned stride = stride_of(r, in, which == OPERAND_B ? p->k : p->m, which == OPERAND_A ? p->k : p->n);
    const void *first = ptx_address(r, &in->operand[1], in->field[SPACE]);
    matrix_load_fragment(p, which, in->field[LAYOUT] == MAJOR_COLUMN, first, stride, words, r->pc);
    ptx_set_words(r, &in->operand[0], words);
}

static void store_fragment(struct running *r, const struct instruction *in)
{
    const struct product *p = &in->product;
    uint32_t words[MOST_REGISTERS];
    void *first = ptx_address(r, &in->operand[0], in->field[SPACE]);
    ptx_get_words(r, &in->operand[1], words);
    matrix_store_fragment(p, in->field[LAYOUT] == MAJOR_COLUMN, first, stride_of(r, in, p->m, p->n), words, r->pc);
}

/* The fragment's type decides those of the others as far as its layout depends on them. */
static void complete_product(struct instruction *in)
{
    enum element_type e = element_of(in->type[0]);
    bool whole = e == E_S8 || e == E_U8 || e == E_S32, accumulates = e == E_F32 || e == E_S32;
    in->product.family = LAYOUT_WMMA;
    in->product.a = in->product.b = accumulates ? (whole ? E_S8 : in->product.k == 8 ? E_TF32 : E_F16) : e;
    in->product.c = in->product.d = whole ? E_S32 : e == E_F16 ? E_F16 : E_F32;
}

static const char *check_fragment(struct instruction *in, unsigned registers, enum operand which)
{
    if (!in->field[SYNC] || !in->field[ALIGNED] || !in->field[LAYOUT] || !in->field[SHAPE])
        return ".sync.aligned, a layout and a shape are needed";
    complete_product(in);
    unsigned n = matrix_registers(&in->product, which);
    if (!n || n > MOST_REGISTERS)
        return "there is no such fragment that the emulator knows";
    return in->operand[registers].n == n ? NULL : "the fragment has another number of registers";
}
static const char *check_fragment_load(struct instruction *in) { return check_fragment(in, 0, operand_of(in)); }
static const char *check_fragment_store(struct instruction *in) { return check_fragment(in, 1, OPERAND_D); }

#define TOGETHER (HAS(SYNC) | HAS(ALIGNED) | HAS(SHAPE))
#define FRAGMENT (TOGETHER | HAS(SPACE) | HAS(LAYOUT))
#define PRODUCT (TOGETHER | HAS(LAYOUT) | HAS(LAYOUT2) | HAS(FINITE))
#define MATRICES (TOGETHER | HAS(COUNT) | HAS(TRANSPOSED) | HAS(SPACE))
#define FACTORS (HALVES | BYTES | TYPE(T_TF32))
#define SUMS (TYPE(T_F16) | TYPE(T_F32) | TYPE(T_S32))

const struct row ptx_matrix_rows[] = {
    {"ldmatrix", load, MATRICES, "Ma", TYPE(T_B16), check_load},
    {"stmatrix", store, MATRICES, "aN", TYPE(T_B16), check_store},
    {"mma", multiply, PRODUCT, "MNNN", MMA_TYPES, check_mma},
    {"wmma.mma", multiply, PRODUCT, "MNNN", MMA_TYPES, check_wmma},
    {"wmma.load.a", load_fragment, FRAGMENT, "Ma?n", FACTORS, check_fragment_load},
    {"wmma.load.b", load_fragment, FRAGMENT, "Ma?n", FACTORS, check_fragment_load},
    {"wmma.load.c", load_fragment, FRAGMENT, "Ma?n", SUMS, check_fragment_load},
    {"wmma.store.d", store_fragment, FRAGMENT, "aN?n", SUMS, check_fragment_store},
    {0},
};

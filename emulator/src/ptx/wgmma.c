/* Inline PTX: products of a warpgroup (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"). What they do and when
 * says async/wgmma.h. */
#include "async/wgmma.h"
#include "base/report.h"
#include "ptx/matrix.h"
#include "ptx/rows.h"
#include "warp/matrix_layout.h"

/* ---- wgmma.mma_async ---- */

#define MOST_ACCUMULATORS 128 /* of a thread, 32 bits each */

enum { D, A, B, SCALE_D, IMMEDIATES }; /* operands; the latter as many as the types have, in this order: */

struct immediates {
    bool negates, a_transposed, b_transposed;
};

static bool has_registers_of_a(const struct instruction *in) { return in->operand[A].kind == O_VECTOR; }

static bool is_whole(const struct product *p) { return p->d == E_S32; }

/* How many immediates there are: signs of A and B, and of 16-bit types which of the two are transposed. */
static unsigned immediates_of(const struct instruction *in)
{
    const struct product *p = &in->product;
    bool transposes = p->a == E_F16 || p->a == E_BF16;
    if (is_whole(p))
        return 0;
    return !transposes ? 2 : has_registers_of_a(in) ? 3 : 4;
}

static int immediate(const struct instruction *in, unsigned i)
{
    return IMMEDIATES + i < in->n ? (int)in->operand[IMMEDIATES + i].value : 0;
}

static bool accumulates(const struct running *r, const struct ptx_operand *o)
{
    return o->predicate ? ptx_get_predicate(r, o) : o->value != 0;
}

/* They mostly are the statement's operands, one behind the other. */
static void *const *accumulators_of(const struct running *r, const struct ptx_operand *o, void **places)
{
    for (unsigned i = 0; i < o->n && !o->in_order; i++)
        places[i] = r->places[o->elements[i].slot];
    return o->in_order ? &r->places[o->elements[0].slot] : places;
}

static void multiply(struct running *r, const struct instruction *in)
{
    const struct product *p = &in->product;
    const struct ptx_operand *a = &in->operand[A];
    unsigned last = immediates_of(in) - 1;
    void *places[MOST_ACCUMULATORS];
    struct wgmma w = {.product = p, .from_registers = has_registers_of_a(in)};
    w.b = ptx_get(r, &in->operand[B]);
    w.accumulates = accumulates(r, &in->operand[SCALE_D]);
    if (w.accumulates && !in->operand[D].enters)
        report_call("accumulator without a value", r->pc, "adds to registers that are outputs alone (constraint \"=\")",
                    "They hold nothing before the statement: \"+\" is needed, or scale-d 0.");
    w.negates = immediate(in, 0) != immediate(in, 1);
    if (p->a == E_F16 || p->a == E_BF16)
        w.b_is_mn_major = immediate(in, last);
    if (w.from_registers) {
        ptx_get_words(r, a, w.values);
        for (unsigned i = 0; i < a->n; i++)
            w.places[i] = ptx_place(r, &a->elements[i]);
    } else {
        w.a = ptx_get(r, a);
        w.a_is_mn_major = immediate(in, 2);
    }
    w.n = in->operand[D].n;
    w.accumulators = accumulators_of(r, &in->operand[D], places);
    wgmma_issue(&w, r->pc);
}

static const char *check_immediates(const struct instruction *in)
{
    unsigned n = immediates_of(in);
    if (in->n != IMMEDIATES + n)
        return "an operand is missing, or there are too many: behind scale-d come the signs of A and B, of floating point, and "
               "of 16 bits whether A, in shared memory, and B are transposed";
    for (unsigned i = 0; i < n; i++) {
        int value = immediate(in, i);
        if (in->operand[IMMEDIATES + i].kind != O_CONSTANT)
            return "the operands behind scale-d are constants, of constraint \"n\"";
        if (i < 2 ? value != 1 && value != -1 : value != 0 && value != 1)
            return "a sign is 1 or -1, and whether an operand is transposed 0 or 1";
    }
    return NULL;
}

static const char *check_operands(struct instruction *in)
{
    const struct product *p = &in->product;
    const struct ptx_operand *a = &in->operand[A], *scale = &in->operand[SCALE_D];
    struct ptx_operand *d = &in->operand[D];
    const char *why = ptx_check_fragment(p, OPERAND_D, p->d, d);
    d->enters = d->in_order = true;
    for (unsigned i = 0; !why && i < d->n; i++) {
        why = d->elements[i].kind == O_SLOT ? NULL : "D is written to registers, all of them";
        d->enters &= d->elements[i].enters;
        d->in_order &= d->elements[i].slot == d->elements[0].slot + i;
    }
    if (!why && has_registers_of_a(in))
        why = ptx_check_fragment(p, OPERAND_A, p->a, a);
    if (why)
        return why;
    if (!has_registers_of_a(in) && a->kind == O_SLOT && a->bytes != 8)
        return "A is a descriptor of 64 bits (constraint \"l\"), or a vector of registers";
    if (!scale->predicate && (scale->kind != O_CONSTANT || scale->value > 1))
        return "scale-d is a predicate, or the constant 0 or 1";
    return check_immediates(in);
}

static const char *check_product(struct instruction *in)
{
    struct product *p = &in->product;
    bool of_bits = in->field[OPERATION] == OP_AND && in->field[OPERATION2] == OP_POPC;
    if (in->n_types != 3)
        return "it needs three types, of D, A and B";
    if (!in->field[SYNC] || !in->field[ALIGNED] || !in->field[SHAPE])
        return ".sync.aligned and a shape are needed";
    p->family = LAYOUT_WGMMA;
    p->c = p->d = ptx_element_of(in->type[0]);
    p->a = ptx_element_of(in->type[1]);
    p->b = ptx_element_of(in->type[2]);
    p->saturates = in->field[FINITE];
    p->conjoins = of_bits;
    if (p->a == E_B1 ? !of_bits : in->field[OPERATION] != OP_NONE)
        return ".and.popc is for .b1, which needs it";
    if (p->saturates && (!is_whole(p) || p->a == E_B1))
        return ".satfinite is for integers of 8 bits";
    return check_operands(in);
}

/* ---- fences and groups ---- */

static void fence(struct running *r, const struct instruction *in)
{
    (void)in;
    wgmma_fence(r->pc);
}
static void commit(struct running *r, const struct instruction *in)
{
    (void)in;
    wgmma_commit(r->pc);
}
static void wait(struct running *r, const struct instruction *in) { wgmma_wait(ptx_number(r, in, 0), r->pc); }

static const char *check_together(struct instruction *in)
{
    return in->field[SYNC] && in->field[ALIGNED] ? NULL : ".sync.aligned is needed";
}
static const char *check_wait(struct instruction *in)
{
    const char *why = check_together(in);
    return why ? why : ptx_check_groups(in);
}

#define TOGETHER (HAS(SYNC) | HAS(ALIGNED))
#define PRODUCT (TOGETHER | HAS(SHAPE) | HAS(FINITE) | HAS(OPERATION) | HAS(OPERATION2))
#define FACTORS (HALVES | BYTES | TYPE(T_TF32) | TYPE(T_E4M3) | TYPE(T_E5M2) | TYPE(T_B1))

const struct row ptx_wgmma_rows[] = {
    {"wgmma.mma_async", multiply, PRODUCT, "LHlx?nnnn", FACTORS | TYPE(T_F32) | TYPE(T_S32), check_product},
    {"wgmma.fence", fence, TOGETHER, "", 0, check_together},
    {"wgmma.commit_group", commit, TOGETHER, "", 0, check_together},
    {"wgmma.wait_group", wait, TOGETHER, "n", 0, check_wait},
    {0},
};

/* Products of fragments: gather the lanes' registers into matrices, multiply, scatter the sums. */
#include "warp/matrix.h"
#include "block/worker.h"
#include "warp/collective.h"
#include "warp/matrix_dense.h"
#include "warp/matrix_layout.h"
#include <string.h>

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

static void gather(struct multiplication *const *lanes, enum operand which, struct dense *d, union number *matrix)
{
    const struct layout *l = &lanes[0]->layouts->operands[which];
    unsigned n = l->lanes * l->distinct, registers = l->distinct * element_bits(l->type) / 32;
    const uint16_t *at = l->at;
    for (unsigned lane = 0; lane < l->lanes; lane++)
        memcpy(&d->packed[lane * registers], registers_of(lanes[lane], which), registers * sizeof *d->packed);
    dense_widen(l->type, d->packed, n, d->wide);
    for (unsigned i = 0; i < n; i++)
        matrix[at[i]] = d->wide[i];
}

static void scatter(struct multiplication *const *lanes, struct dense *d)
{
    const struct layout *l = &lanes[0]->layouts->operands[OPERAND_D];
    unsigned n = l->lanes * l->distinct, registers = layout_registers(l);
    const uint16_t *at = l->at;
    for (unsigned i = 0; i < n; i++)
        d->wide[i] = d->sums[at[i]];
    dense_narrow(l->type, d->wide, n, d->packed);
    for (unsigned lane = 0; lane < l->lanes; lane++)
        memcpy(lanes[lane]->d, &d->packed[lane * registers], registers * sizeof *d->packed);
}

/* Doubles are half as many, and stand in two registers each. */
#define MOST_DOUBLES (MOST_OF_WARP / 2)

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
    dense_multiply_doubles(lanes[0]->product, a, b, sums);
    for (unsigned lane = 0; lane < WARP; lane++)
        for (unsigned i = 0; i < l->distinct; i++)
            memcpy(lanes[lane]->d + 2 * i, &sums[layout_at(l, lane, i)], sizeof *sums);
}

static void multiply(const struct exchange *x)
{
    struct dense *d = dense_buffers();
    struct multiplication *lanes[WARPGROUP * WARP];
    for (unsigned lane = 0; lane < x->warps * WARP; lane++)
        lanes[lane] = collective_payload(x, lane);
    const struct product *p = lanes[0]->product;
    if (p->a == E_F64) {
        multiply_of_doubles(lanes);
        return;
    }
    gather(lanes, OPERAND_A, d, d->a);
    gather(lanes, OPERAND_B, d, d->b);
    gather(lanes, OPERAND_C, d, d->sums);
    dense_multiply(p, d->a, d->b, d->sums);
    scatter(lanes, d);
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

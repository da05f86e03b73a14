/* Two collectives of a warpgroup, linked into warpgroup.cu: rows of the table (warp/collective.h) as instructions of four
 * warps are. */
#include "warp/collective.h"
#include "warp/matrix_dense.h"
#include "warp/matrix_layout.h"

struct addend {
    int value, sum;
};

static void add(const struct exchange *x)
{
    int sum = 0;
    for (unsigned lane = 0; lane < x->warps * WARP; lane++)
        sum += ((const struct addend *)collective_payload(x, lane))->value;
    for (unsigned lane = 0; lane < x->warps * WARP; lane++)
        ((struct addend *)collective_payload(x, lane))->sum = sum;
}

static const struct collective_op sum_op = {WARPGROUP_COLLECTIVE("warpgroup_sum()"), .event = EVENTS, .exchange = add};

/* The sum of 128 values. */
int warpgroup_sum(int value, unsigned operands)
{
    struct addend a = {.value = value};
    collective_join_as(&sum_op, operands, ~0u, &a, CALLER());
    return a.sum;
}

/* The largest sums that a warpgroup holds: 128 registers of each thread. */
#define M 64
#define N 256
#define K 16

struct factors {
    const uint16_t *a, *b; /* halves: [M, K] and [K, N] */
    float *sums;           /* N / 2 of them */
};

static void multiply(const struct exchange *x)
{
    static const struct product product = {
        .family = LAYOUT_WGMMA, .m = M, .n = N, .k = K, .a = E_F16, .b = E_F16, .c = E_F32, .d = E_F32};
    const struct layout *l = &matrix_layouts(&product)->operands[OPERAND_D];
    const struct factors *first = collective_payload(x, 0);
    struct dense *d = dense_buffers();
    dense_widen(E_F16, first->a, M * K, d->a);
    dense_widen(E_F16, first->b, K * N, d->b);
    for (unsigned lane = 0; lane < WARPGROUP * WARP; lane++)
        for (unsigned i = 0; i < N / 2; i++)
            d->sums[layout_at(l, lane, i)].f = ((const struct factors *)collective_payload(x, lane))->sums[i];
    dense_multiply(&product, d->a, d->b, d->sums);
    for (unsigned lane = 0; lane < WARPGROUP * WARP; lane++)
        for (unsigned i = 0; i < N / 2; i++)
            ((struct factors *)collective_payload(x, lane))->sums[i] = d->sums[layout_at(l, lane, i)].f;
}

static const struct collective_op product_op = {WARPGROUP_COLLECTIVE("warpgroup_product()"), .event = EVENTS,
                                                .exchange = multiply};

/* sums += A B */
void warpgroup_product(const unsigned short *a, const unsigned short *b, float *sums)
{
    struct factors f = {.a = a, .b = b, .sums = sums};
    collective_join(&product_op, ~0u, &f, CALLER());
}

/* Matrices of numbers, row by row: what gathers the operands of a product from registers or memory multiplies them here. */
#ifndef SIMT_MATRIX_DENSE_H
#define SIMT_MATRIX_DENSE_H

#include "../../include/simt/matrix.h"
#include "base/base.h"

/* Elements of the largest operands, of a warpgroup's product of m64n256: k is 32 bytes, of each row of A and column of B. */
#define MOST_K 32
#define MOST_A (64 * MOST_K)
#define MOST_B (MOST_K * 256)
#define MOST_SUMS (64 * 256)

/* An element as it is computed with: a float, or a 32-bit integer. */
union number {
    float f;
    int32_t i;
    uint32_t bits;
};

/* Elements, packed as in registers, to numbers, and sums back; their number is a multiple of 32. */
void dense_widen(enum element_type type, const void *restrict packed, unsigned elements, union number *restrict out);
void dense_narrow(enum element_type type, const union number *restrict sums, unsigned elements, void *restrict packed);
/* sums [m, n] += a [m, k] b [k, n] */
void dense_multiply(const struct product *p, const union number *a, const union number *b, union number *sums);
/* The same; each product is added by one fused operation. */
void dense_multiply_doubles(const struct product *p, const double *a, const double *b, double *sums);

struct dense { /* room for one product: too much for a thread's stack */
    union number a[MOST_A], b[MOST_B], sums[MOST_SUMS];
    uint32_t packed[MOST_SUMS]; /* an operand as its registers hold it, lane after lane */
    union number wide[MOST_SUMS];
};
struct dense *dense_buffers(void); /* the worker's own, for an exchange that is in hand */

#endif

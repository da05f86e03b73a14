/* Tensor cores: what a warp does with fragments, matrices of which each lane holds some elements in its registers. One
 * table of layouts says which; ldmatrix, stmatrix, mma and WMMA are operations on it (PTX ISA, "Warp Level Matrix
 * Multiply-Accumulate Instructions"). All 32 lanes take part, each by a call from the same place of the program, pc. */
#ifndef SIMT_MATRIX_H
#define SIMT_MATRIX_H

#include "../../include/simt/matrix.h"
#include "base/base.h"

/* Registers per lane of one operand: 32 bits each, elements packed from the low bits on. */
unsigned matrix_registers(const struct product *p, enum operand which); /* 0: there is no such product */

/* The running lane's part of a product. d may be c. Sums of whole numbers are exact, others within 2^-22 of the sum of
 * magnitudes of what tensor cores make (matrix.c). */
void matrix_multiply(const struct product *p, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t *d,
                     const void *pc);

/* ldmatrix and stmatrix of n 8 × 8 matrices of 16-bit elements, n 1, 2 or 4: lane i has the address, generic and in shared
 * memory, of row i % 8 of matrix i / 8. */
void matrix_load(unsigned n, bool transposed, const void *row, uint32_t *registers, const void *pc);
void matrix_store(unsigned n, bool transposed, void *row, const uint32_t *registers, const void *pc);

/* movmatrix: of an 8 × 8 matrix of 16-bit elements, as ldmatrix leaves them, what the lane holds of it transposed. */
uint32_t matrix_transpose(uint32_t word, const void *pc);

/* wmma.load and wmma.store of operand `which` of that product: `first` is the address of element (0, 0), the same in every
 * lane; rows, or columns where the matrix is stored column by column, lie `stride` elements apart. */
void matrix_load_fragment(const struct product *p, enum operand which, bool column_major, const void *first,
                          unsigned stride, uint32_t *registers, const void *pc);
void matrix_store_fragment(const struct product *p, bool column_major, void *first, unsigned stride,
                           const uint32_t *registers, const void *pc);

#endif

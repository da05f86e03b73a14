/* ldmatrix, stmatrix and movmatrix, as matrix.h says. */
#ifndef SIMT_MATRIX_LOAD_H
#define SIMT_MATRIX_LOAD_H

#include "base/base.h"

/* ldmatrix and stmatrix of n 8 × 8 matrices of 16-bit elements, n 1, 2 or 4: lane i has the address, generic and in shared
 * memory, of row i % 8 of matrix i / 8. */
void matrix_load(unsigned n, bool transposed, const void *row, uint32_t *registers, const void *pc);
void matrix_store(unsigned n, bool transposed, void *row, const uint32_t *registers, const void *pc);

/* movmatrix: of an 8 × 8 matrix of 16-bit elements, as ldmatrix leaves them, what the lane holds of it transposed. */
uint32_t matrix_transpose(uint32_t word, const void *pc);

#endif

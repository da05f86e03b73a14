/* Tensor cores: what a warp does with fragments, matrices of which each lane holds some elements in its registers. One
 * table of layouts says which; ldmatrix, stmatrix, mma and WMMA are operations on it (PTX ISA, "Warp Level Matrix
 * Multiply-Accumulate Instructions"). All 32 lanes take part, each by a call from the same place of the program, pc. */
#ifndef SIMT_MATRIX_H
#define SIMT_MATRIX_H

#include "../../include/simt/matrix.h"
#include "base/base.h"

/* The running lane's part of a product. d may be c. Sums of whole numbers are exact, others within 2^-22 of the sum of
 * magnitudes of what tensor cores make (matrix_dense.c). */
void matrix_multiply(const struct product *p, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t *d,
                     const void *pc);

#endif

/* wmma.load and wmma.store, as matrix.h says. */
#ifndef SIMT_MATRIX_FRAGMENT_H
#define SIMT_MATRIX_FRAGMENT_H

#include "../../include/simt/matrix.h"
#include "base/base.h"

/* wmma.load and wmma.store of operand `which` of that product: `first` is the address of element (0, 0), the same in every
 * lane; rows, or columns where the matrix is stored column by column, lie `stride` elements apart. */
void matrix_load_fragment(const struct product *p, enum operand which, bool column_major, const void *first,
                          unsigned stride, uint32_t *registers, const void *pc);
void matrix_store_fragment(const struct product *p, bool column_major, void *first, unsigned stride,
                           const uint32_t *registers, const void *pc);

#endif

/* What the rows of matrices share: types and registers of fragments. */
#ifndef SIMT_PTX_MATRIX_H
#define SIMT_PTX_MATRIX_H

#include "ptx/ptx.h"

enum element_type ptx_element_of(enum type t);

/* Registers of that operand: where they are of the wrong kind, or not as many as the shape and the type need, why. */
const char *ptx_check_fragment(const struct product *p, enum operand which, enum element_type type,
                               const struct ptx_operand *o);

#endif

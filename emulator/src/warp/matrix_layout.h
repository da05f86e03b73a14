/* Which element of its matrix does each lane hold, in which register? */
#ifndef SIMT_MATRIX_LAYOUT_H
#define SIMT_MATRIX_LAYOUT_H

#include "../../include/simt/matrix.h"
#include "base/base.h"

#define MOST_OF_WARP 512 /* elements of an operand that one warp holds */

struct layout { /* of one operand */
    enum element_type type;
    unsigned rows, columns;
    unsigned lanes;        /* that hold it: a warp's, or a warpgroup's */
    unsigned elements;     /* in each lane, from the low bits of the first register on */
    unsigned distinct;     /* of them; x[i] is also x[i + distinct], of which the product reads the first */
    uint16_t *at;          /* row * columns + column of each distinct element, lane after lane */
    uint8_t *row, *column; /* the same, apart */
};

struct product_layouts {
    struct product product;
    struct layout operands[4]; /* [enum operand] */
};

/* Registers per lane of one operand: 32 bits each, elements packed from the low bits on. */
unsigned matrix_registers(const struct product *p, enum operand which); /* 0: there is no such product */
/* NULL: there is no such product. */
const struct product_layouts *matrix_layouts(const struct product *p);

/* Numbers of less than 8 bits stand together in one element: two of 4 bits, or 32 of one, neighbours along k. */
static inline unsigned element_bits(enum element_type type)
{
    switch (type) {
    case E_F64: return 64;
    case E_F32:
    case E_TF32:
    case E_B1:
    case E_S32: return 32;
    case E_F16:
    case E_BF16: return 16;
    case E_S8:
    case E_U8:
    case E_S4:
    case E_U4:
    case E_E4M3:
    case E_E5M2: break;
    }
    return 8;
}
unsigned element_numbers(enum element_type type);
/* row * columns + column of that lane's i-th element */
static inline unsigned layout_at(const struct layout *l, unsigned lane, unsigned i)
{
    return l->at[lane * l->distinct + i % l->distinct];
}
static inline unsigned layout_registers(const struct layout *l) { return l->elements * element_bits(l->type) / 32; }

#endif

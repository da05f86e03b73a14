/* Operands of wgmma in shared memory: a descriptor of 64 bits says where each element is (PTX ISA, "Asynchronous
 * Warpgroup Level Matrix Shared Memory Layout"). k is 32 bytes, whatever the type: 16 halves, or two vectors of 16 bytes. */
#ifndef SIMT_DESCRIPTOR_H
#define SIMT_DESCRIPTOR_H

#include "warp/matrix_dense.h"

struct shared_operand { /* a matrix in shared memory, as wgmma reads it: A [64, k] or B [k, n] */
    u64 descriptor;
    enum operand operand; /* OPERAND_A or OPERAND_B */
    enum element_type type;
    unsigned lines; /* rows of A, columns of B */
    bool mn_major;  /* the elements of a column of A, of a row of B are neighbours (16-bit types only) */
};

struct descriptor { /* what its bits say, in bytes; those between its fields are not looked at */
    uint32_t start, leading, stride, base;
    unsigned width; /* of the swizzle, in vectors: 1 is none */
};

struct descriptor descriptor_of(u64 bits);

#define MOST_VECTORS 512 /* lines * 2 */

/* Offsets in the block's shared window of each vector that it reads; returns how many. By lines: of each the first half of
 * k, then the second. With mn_major a vector holds eight lines of one k: those of the first eight lines for every k, then
 * the next eight. */
unsigned descriptor_vectors(const struct shared_operand *o, uint32_t offsets[MOST_VECTORS]);

/* Its elements as numbers, where the product wants them: of A [line][k], of B [k][line]. shared: the block's arena. */
void descriptor_gather(const struct shared_operand *o, const unsigned char *shared, struct dense *d,
                       union number *matrix);

#endif

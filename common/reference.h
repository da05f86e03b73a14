// What the output should be: computed in double, from the very inputs that the kernel gets, for a sample of its rows.
#ifndef REFERENCE_H
#define REFERENCE_H

#include <stddef.h>
#include <stdint.h>

struct reference {
    size_t rows, cols;
    size_t *row;    // [rows] which rows of the output, ascending
    double *value;  // [rows, cols]
    double *scale;  // [rows] what an error in that row is measured against
};

// C = A B with A [m, k], B [k, n]. All rows where that is a second's work; else at least 16, among them the first, the
// last and those on either side of a tile's edge, the others spread evenly, each drawn from its share of the rows.
struct reference matmul_reference(const float *A, const float *B, int m, int n, int k, uint64_t seed);

void reference_free(struct reference *reference);

#endif

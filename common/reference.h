// What the output should be: computed in double, from the very inputs that the kernel gets, for a sample of its rows.
#ifndef REFERENCE_H
#define REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reference {
    size_t rows, cols;
    size_t parts;  // of the output, one after the other, such as attention's heads
    size_t part_rows;
    size_t *row;        // [rows] which rows of the output, ascending
    double *value;      // [rows, cols]
    double *scale;      // [rows] what an error in that row is measured against
    size_t empty_rows;  // the first rows of each part that are −∞, because they are the logarithm of an empty sum
};

// Which of an output's rows to compare, where one row costs `work` multiply-adds: all where that is a second's work; else
// at least 16, among them the first, the last and those on either side of a tile's edge, the others spread evenly, each
// drawn from its share of the rows. The values and scales are still to be filled in.
struct reference reference_sample(size_t rows, size_t cols, double work, uint64_t seed);

// The same for an output of `parts` such pieces, one after the other: each of them is sampled so.
struct reference reference_sample_parts(size_t parts, size_t rows, size_t cols, double work, uint64_t seed);

// The same rows again, of an output with so many columns.
struct reference reference_same_rows(const struct reference *other, size_t cols);

// C = A B with A [m, k] and B [k, n], or transposed [n, k].
struct reference matmul_reference(const float *A, const float *B, bool B_transposed, int m, int n, int k,
                                  uint64_t seed);

// The softmax of each row of X [rows, cols].
struct reference softmax_reference(const float *X, size_t rows, size_t cols, uint64_t seed);

struct attention_args;

// O of args, whose Q, K and V are here on the host, in fp32 and with no gaps; and, unless NULL, of the same rows the
// log-sum-exp. All heads of all batches are sampled.
struct reference attention_reference(const struct attention_args *args, uint64_t seed, struct reference *lse);

void reference_free(struct reference *reference);

#endif

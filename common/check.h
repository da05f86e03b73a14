// Whether an output is right: complete, and near enough to the reference.
#ifndef CHECK_H
#define CHECK_H

#include "reference.h"

#include <stdbool.h>

// The largest relative error that is still right, as a norm over all that is checked and in any one row.
struct bound {
    double all, row;
};

struct check {
    bool right;
    char fault[240];   // what is wrong, in words
    double error;      // |got - reference| / |reference|, over all rows checked
    double worst_row;  // the same in the worst row
    double max_abs;    // the largest single difference
    struct bound bound;
    size_t rows;  // that were compared
};

// For sums of `terms` products in fp32: 2 √terms roundings, but never less than 16.
struct bound bound_fp32(int terms);

// got: [rows, cols], all of it; the reference has some of those rows.
struct check check_output(const float *got, size_t rows, const struct reference *reference, struct bound bound);

// A verdict from elsewhere: the output is wrong whatever its numbers say.
void check_fail(struct check *check, const char *fault);

// Puts in front of a fault which launch left it, such as "the second"; of a right output there is nothing to say.
void check_says_launch(struct check *check, const char *launch);

#endif

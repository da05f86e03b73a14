// Whether an output is right: complete, and near enough to the reference.
#ifndef CHECK_H
#define CHECK_H

#include "dtype.h"
#include "reference.h"

#include <stdbool.h>

struct check {
    bool right;
    char fault[320];   // what is wrong, in words
    double error;      // |got - reference| / |reference|, over all rows checked
    double worst_row;  // the same in the worst row
    double max_abs;    // the largest single difference
    struct bound bound;
    size_t rows;  // that were compared
};

// got: [rows, cols], all of an output of that type, whose elements are sums of `terms` products; the reference has some
// of its rows.
struct check check_output(const float *got, size_t rows, const struct reference *reference, enum dtype dtype,
                          int terms);

// A verdict from elsewhere: the output is wrong whatever its numbers say.
void check_fail(struct check *check, const char *fault);

// Puts in front of a fault which launch left it, such as "the second"; of a right output there is nothing to say.
void check_says_launch(struct check *check, const char *launch);

#endif

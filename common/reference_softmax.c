#include "reference.h"

#include "parallel.h"

#include <math.h>

struct rows {
    struct reference *reference;
    const float *X;
};

// exp(x − max) / sum, and the norm of that, which an error in the row is measured against. A row has a number in it, so
// its largest element contributes 1 to the sum.
static void softmax_row(const float *x, size_t cols, double *value, double *scale)
{
    double max = -INFINITY, sum = 0, squares = 0;
    for (size_t col = 0; col < cols; col++)
        max = fmax(max, x[col]);
    for (size_t col = 0; col < cols; col++)
        sum += value[col] = exp(x[col] - max);
    for (size_t col = 0; col < cols; col++) {
        value[col] /= sum;
        squares += value[col] * value[col];
    }
    *scale = sqrt(squares);
}

static void softmax_rows(void *context, size_t first, size_t last)
{
    const struct rows *rows = context;
    struct reference *reference = rows->reference;
    size_t cols = reference->cols;
    for (size_t r = first; r < last; r++)
        softmax_row(rows->X + reference->row[r] * cols, cols, reference->value + r * cols, &reference->scale[r]);
}

struct reference softmax_reference(const float *X, size_t rows, size_t cols, uint64_t seed)
{
    const double exp_work = 16;  // an exponential in double costs about as much as so many multiply-adds
    struct reference reference = reference_sample(rows, cols, exp_work * cols, seed);
    struct rows work = {&reference, X};
    parallel_for(reference.rows, softmax_rows, &work);
    return reference;
}

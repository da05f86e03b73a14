#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void check_fail(struct check *check, const char *fault)
{
    check->right = false;
    snprintf(check->fault, sizeof check->fault, "%s", fault);
}

void check_says_launch(struct check *check, const char *launch)
{
    if (check->right)
        return;
    char fault[sizeof check->fault];
    memcpy(fault, check->fault, sizeof fault);
    snprintf(check->fault, sizeof check->fault, "%s launch on the same input left a wrong result: %.240s", launch,
             fault);
}

// Where an element is, in words: a list has no columns; heads are counted through all batches.
static const char *place_words(const struct reference *reference, size_t row, size_t col)
{
    static char words[96];
    int used = 0;
    if (reference->parts > 1)
        used = snprintf(words, sizeof words, "head %zu, ", row / reference->part_rows);
    row %= reference->part_rows;
    if (reference->cols == 1)
        snprintf(words + used, sizeof words - used, "element %zu", row);
    else
        snprintf(words + used, sizeof words - used, "row %zu, column %zu", row, col);
    return words;
}

// Every element has to be a number, also in the rows that are not compared, but where −∞ is the right one. One that still has
// the poison's bits was never written.
static void check_complete(struct check *check, const float *got, size_t rows, const struct reference *reference)
{
    const size_t cols = reference->cols;
    for (size_t i = 0; i < rows * cols; i++) {
        const bool empty = i / cols % reference->part_rows < reference->empty_rows;
        if (empty ? got[i] == -INFINITY : isfinite(got[i]))
            continue;
        uint32_t bits;
        memcpy(&bits, &got[i], sizeof bits);
        char fault[sizeof check->fault];
        snprintf(fault, sizeof fault, "%s %s", place_words(reference, i / cols, i % cols),
                 bits == UINT32_MAX ? "was never written"
                 : isnan(got[i])    ? "is NaN"
                 : isinf(got[i])    ? "is infinite"
                                    : "is not −∞, although its row sees no key");
        check_fail(check, fault);
        return;
    }
}

// An element, a place to start looking.
struct place {
    bool found;
    size_t row, col;
    double got, want;
};

struct places {
    struct place first;    // whose difference alone is more than its row may have
    struct place largest;  // of all differences
};

// Compares one row of the reference; returns the square of the norm of the difference.
static double compare_row(struct check *check, struct places *places, const float *got,
                          const struct reference *reference, size_t r)
{
    double sum = 0;
    for (size_t col = 0; col < reference->cols; col++) {
        double want = reference->value[r * reference->cols + col];
        struct place place = {true, reference->row[r], col, got[reference->row[r] * reference->cols + col], want};
        double difference = place.got == want ? 0 : fabs(place.got - want);  // −∞ less −∞ is no number
        sum += difference * difference;
        if (!places->first.found && difference > check->bound.row * reference->scale[r])
            places->first = place;
        if (difference > check->max_abs) {
            check->max_abs = difference;
            places->largest = place;
        }
    }
    return sum;
}

// Says in words where an output is wrong. text: [bytes]
static void say_wrong(char *text, size_t bytes, const struct places *places, const struct reference *reference)
{
    const struct place *first = &places->first, *largest = &places->largest;
    const bool same = first->row == largest->row && first->col == largest->col;
    int used = 0;
    if (first->found)
        used = snprintf(text, bytes, "the first wrong element is %s: %.9g, should be %.9g",
                        place_words(reference, first->row, first->col), first->got, first->want);
    if (!first->found || !same)
        snprintf(text + used, bytes - used, "%sthe largest difference is in %s: %.9g, should be %.9g", used ? "; " : "",
                 place_words(reference, largest->row, largest->col), largest->got, largest->want);
}

// The error of the reference itself, once its elements are rounded to the type.
static double rounded_error(const struct reference *reference, enum dtype dtype)
{
    double difference = 0, norm = 0;
    for (size_t r = 0; r < reference->rows; r++) {
        norm += reference->scale[r] * reference->scale[r];
        for (size_t col = 0; col < reference->cols; col++) {
            double value = reference->value[r * reference->cols + col];
            float rounded = (float)value;
            dtype_round(dtype, &rounded, 1);
            difference += (rounded - value) * (rounded - value);
        }
    }
    return sqrt(difference / norm);
}

// ---- rounded, or cut off ----

// Rounding to nearest errs to either side, which over many rows comes to nothing. To cut off the digits that there is no room for
// makes every number smaller, by about 0.7 of 2^-digits in the mean, and has twice the error: the bound alone would let most of
// that pass. Half as much is more than so many rows can have in common by chance, even if each has one error in all its columns.
enum { ROWS_TO_JUDGE = 64 };
static const double MOST_CUT_OFF = 0.375;

// By what share of itself an output is smaller than its reference rounded to the type; 0 where too few rows count for that to mean
// anything. A row much larger than the others counts almost alone.
static double share_cut_off(const float *got, const struct reference *reference, enum dtype dtype)
{
    double along = 0, squares = 0, fourths = 0;
    for (size_t r = 0; r < reference->rows; r++) {
        const double square = reference->scale[r] * reference->scale[r];
        for (size_t col = 0; col < reference->cols; col++) {
            const double want = reference->value[r * reference->cols + col];
            float rounded = (float)want;
            dtype_round(dtype, &rounded, 1);
            along += (rounded - got[reference->row[r] * reference->cols + col]) * want;
        }
        squares += square;
        fourths += square * square;
    }
    return squares * squares < ROWS_TO_JUDGE * fourths ? 0 : along / squares;
}

static void check_rounding(struct check *check, const float *got, const struct reference *reference, enum dtype dtype)
{
    const double share = share_cut_off(got, reference, dtype);
    if (fabs(share) <= ldexp(MOST_CUT_OFF, -dtype_digits(dtype)))
        return;
    char fault[sizeof check->fault];
    snprintf(fault, sizeof fault,
             "on the whole it is %.2g %% too %s: numbers are %s somewhere in place of rounded to the nearest %s",
             100 * fabs(share), share > 0 ? "small" : "large", share > 0 ? "cut off" : "rounded up", dtype_name(dtype));
    check_fail(check, fault);
}

// ---- an output ----

struct check check_output(const float *got, size_t rows, const struct reference *reference, enum dtype dtype, int terms)
{
    struct bound bound = dtype_bound(dtype, terms, dtype == FP32 ? 0 : rounded_error(reference, dtype));
    struct check check = {.right = true, .bound = bound, .rows = reference->rows};
    struct places places = {0};
    double difference = 0, norm = 0;
    for (size_t r = 0; r < reference->rows; r++) {
        double row = compare_row(&check, &places, got, reference, r), scale = reference->scale[r];
        double error = sqrt(row) / scale;
        if (!(error <= check.worst_row) && !isnan(check.worst_row))
            check.worst_row = error;
        difference += row;
        norm += scale * scale;
    }
    check.error = sqrt(difference / norm);
    // So that NaN fails.
    if (!(check.error <= bound.all && check.worst_row <= bound.row)) {
        char fault[sizeof check.fault];
        say_wrong(fault, sizeof fault, &places, reference);
        check_fail(&check, fault);
    } else if (dtype != FP32) {
        check_rounding(&check, got, reference, dtype);
    }
    check_complete(&check, got, rows, reference);
    return check;
}

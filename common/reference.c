#include "reference.h"

#include "exit.h"
#include "parallel.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE_STREAM = 100 };  // of random.h; the inputs have the small numbers

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        stop(EXIT_USAGE, "not enough host memory for the reference: ask for a smaller shape, or --no-check");
    return memory;
}

// ---- which rows ----

static int ascending(const void *a, const void *b)
{
    size_t left = *(const size_t *)a, right = *(const size_t *)b;
    return (left > right) - (left < right);
}

static size_t sort_unique(size_t *row, size_t count)
{
    qsort(row, count, sizeof *row, ascending);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || row[kept - 1] != row[i])
            row[kept++] = row[i];
    return kept;
}

enum { SMALLEST_TILE = 16, LARGEST_TILE = 256, EDGE_ROWS = 2 + 5 * 4 };

// One row from each of `wanted` equal shares, and the rows where kernels go wrong. row: [wanted + EDGE_ROWS]; returns how
// many.
static size_t choose_rows(size_t *row, size_t rows, size_t wanted, uint64_t seed, uint64_t part)
{
    size_t count = 0;
    for (size_t share = 0; share < wanted; share++) {
        size_t first = share * rows / wanted, next = (share + 1) * rows / wanted;
        row[count++] = first + random_bits(seed, SAMPLE_STREAM, part * wanted + share) % (next - first);
    }
    row[count++] = 0;
    row[count++] = rows - 1;
    for (size_t tile = SMALLEST_TILE; tile <= LARGEST_TILE && tile < rows; tile *= 2) {
        size_t last_tile = (rows - 1) / tile * tile;
        row[count++] = tile - 1;
        row[count++] = tile;
        row[count++] = last_tile - 1;
        row[count++] = last_tile;
    }
    return sort_unique(row, count);
}

// As many rows as cost about a second, at `work` multiply-adds a row, and fit into half a gigabyte.
static size_t affordable_rows(size_t rows, size_t cols, double work)
{
    double wanted = fmin(0x1p31 / work, 0x1p26 / cols);
    wanted = fmax(wanted, 16);
    return wanted < rows ? (size_t)wanted : rows;
}

struct reference reference_sample_parts(size_t parts, size_t rows, size_t cols, double work, uint64_t seed)
{
    struct reference reference = {.cols = cols, .parts = parts, .part_rows = rows};
    size_t wanted = affordable_rows(rows, parts * cols, parts * work);
    reference.row = allocate(parts * (wanted + EDGE_ROWS), sizeof *reference.row);
    for (size_t part = 0; part < parts; part++) {
        size_t *row = reference.row + reference.rows, count = choose_rows(row, rows, wanted, seed, part);
        for (size_t i = 0; i < count; i++)
            row[i] += part * rows;
        reference.rows += count;
    }
    reference.value = allocate(reference.rows * cols, sizeof *reference.value);
    reference.scale = allocate(reference.rows, sizeof *reference.scale);
    return reference;
}

struct reference reference_sample(size_t rows, size_t cols, double work, uint64_t seed)
{
    return reference_sample_parts(1, rows, cols, work, seed);
}

struct reference reference_same_rows(const struct reference *other, size_t cols)
{
    struct reference reference = *other;
    reference.cols = cols;
    reference.row = allocate(reference.rows, sizeof *reference.row);
    reference.value = allocate(reference.rows * cols, sizeof *reference.value);
    reference.scale = allocate(reference.rows, sizeof *reference.scale);
    memcpy(reference.row, other->row, reference.rows * sizeof *reference.row);
    return reference;
}

// ---- matmul ----

// A task is a group of rows times a stretch of columns: B's stretch is read once for the group, and the sums of both
// stay in L1.
enum { ROW_GROUP = 8, STRETCH = 256 };

struct product {
    struct reference *reference;
    const float *A, *B;
    bool B_transposed;
    size_t n, k;
};

static void product_task(const struct product *p, size_t first_row, size_t first_col)
{
    struct reference *reference = p->reference;
    size_t rows = reference->rows - first_row < ROW_GROUP ? reference->rows - first_row : ROW_GROUP;
    size_t cols = p->n - first_col < STRETCH ? p->n - first_col : STRETCH;
    double sum[ROW_GROUP][STRETCH] = {0}, b[STRETCH];
    for (size_t i = 0; i < p->k; i++) {
        for (size_t j = 0; j < cols; j++)
            b[j] = p->B[p->B_transposed ? (first_col + j) * p->k + i : i * p->n + first_col + j];
        for (size_t r = 0; r < rows; r++) {
            double a = p->A[reference->row[first_row + r] * p->k + i];
            for (size_t j = 0; j < cols; j++)
                sum[r][j] += a * b[j];
        }
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < cols; j++)
            reference->value[(first_row + r) * p->n + first_col + j] = sum[r][j];
}

static void product_tasks(void *context, size_t first, size_t last)
{
    const struct product *p = context;
    size_t groups = (p->reference->rows + ROW_GROUP - 1) / ROW_GROUP;
    for (size_t task = first; task < last; task++)
        product_task(p, task % groups * ROW_GROUP, task / groups * STRETCH);
}

static double sum_of_squares(const float *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)x[i] * x[i];
    return sum;
}

// An error is measured against the norm of its row. Where the sums of a short row happen to cancel, that norm says
// nothing of how large the numbers were that were rounded on the way; then it is the norm that sums of random signs
// would have: |A row| |B| / √k.
static void product_scale(const struct product *p)
{
    struct reference *reference = p->reference;
    double norm_B = sum_of_squares(p->B, p->k * p->n);
    for (size_t r = 0; r < reference->rows; r++) {
        double random_signs = sum_of_squares(p->A + reference->row[r] * p->k, p->k) * norm_B / p->k;
        double norm = 0;
        for (size_t j = 0; j < p->n; j++)
            norm += reference->value[r * p->n + j] * reference->value[r * p->n + j];
        reference->scale[r] = sqrt(fmax(norm, random_signs));
    }
}

struct reference matmul_reference(const float *A, const float *B, bool B_transposed, int m, int n, int k, uint64_t seed)
{
    struct reference reference = reference_sample(m, n, (double)n * k, seed);
    struct product product = {&reference, A, B, B_transposed, n, k};
    size_t groups = (reference.rows + ROW_GROUP - 1) / ROW_GROUP;
    size_t stretches = (product.n + STRETCH - 1) / STRETCH;
    parallel_for(groups * stretches, product_tasks, &product);
    product_scale(&product);
    return reference;
}

void reference_free(struct reference *reference)
{
    free(reference->row);
    free(reference->value);
    free(reference->scale);
}

#define _GNU_SOURCE  // madvise
#include "matmul.h"

#include "tensors.h"

// A matrix of the step's first element type.
struct matrix {
    enum dtype dtype;
    int rows, pitch;
    char *elements;  // [rows, pitch]
};

static struct matrix matrix_of(const struct matmul_step *step, int rows, int cols)
{
    const size_t bytes = dtype_bytes(step->dtypes[0]);
    const int multiple = step->row_bytes ? step->row_bytes / (int)bytes : 1,
              pitch = ceil_div(cols, multiple) * multiple;
    return (struct matrix){step->dtypes[0], rows, pitch, reserve(bytes * rows * pitch)};
}

static char *place(const struct matrix *matrix, size_t row, size_t col)
{
    return matrix->elements + (row * matrix->pitch + col) * dtype_bytes(matrix->dtype);
}

static double element(const struct matrix *matrix, size_t row, size_t col)
{
    float value;
    dtype_decode(matrix->dtype, place(matrix, row, col), &value, 1);
    return value;
}

// Rows from `row` and columns from `col` on, to the end.
static void fill_matrix(const struct matrix *matrix, int row, int col)
{
    for (size_t r = (size_t)larger(row, 0); r < (size_t)matrix->rows; r++)
        for (size_t c = (size_t)larger(col, 0); c < (size_t)matrix->pitch; c++) {
            const float value = value_at(r * matrix->pitch + c);
            dtype_encode(matrix->dtype, &value, place(matrix, r, c), 1);
        }
}

// program VARIANT M N K
int matmul_main(int argc, char **argv, const struct matmul_step *step)
{
    const int m = number(argv, 1), n = number(argv, 2), k = number(argv, 3);
    const struct matrix A = matrix_of(step, m, k), B = matrix_of(step, k, n), C = matrix_of(step, m, n);
    static _Alignas(PREPARED_ALIGN) char prepared[PREPARED_BYTES];
    (void)argc;
    fill_matrix(&A, m - LAST, 0);
    fill_matrix(&B, 0, n - LAST);
    const struct matmul_args args = {.A = A.elements,
                                     .B = B.elements,
                                     .C = C.elements,
                                     .prepared = prepared,
                                     .m = m,
                                     .n = n,
                                     .k = k,
                                     .A_pitch = A.pitch,
                                     .B_pitch = B.pitch,
                                     .C_pitch = C.pitch,
                                     .dtype = A.dtype,
                                     .C_dtype = C.dtype,
                                     .variant = variant_of(argv, step->variants)};
    cudaError_t error = step->prepare ? (cudaError_t)step->prepare(&args) : cudaSuccess;
    if (error == cudaSuccess)
        error = (cudaError_t)step->launch(&args, NULL);
    const double share = dtype_bound(C.dtype, k, 0).row;  // of 16 bits, more than a rounding
    bool right = true;
    for (size_t row = m - CHECKED; row < (size_t)m; row++)
        for (size_t col = n - CHECKED; col < (size_t)n; col++) {
            double sum = 0;
            for (size_t i = 0; i < (size_t)k; i++)
                sum += element(&A, row, i) * element(&B, i, col);
            right &= near_within(share, "C", row, col, element(&C, row, col), sum);
        }
    return status_of(error, right);
}

#include "tensor.h"

#include "exit.h"
#include "parallel.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *allocate(size_t bytes, const struct tensor *tensor)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        stop(EXIT_USAGE, "not enough host memory for %s, %.2f GB: ask for a smaller shape", tensor->name, 1e-9 * bytes);
    return memory;
}

enum { GAP_POISON = 0xa5 };

static bool has_gaps(const struct tensor *tensor) { return tensor->pitch > tensor->cols; }

size_t row_pitch(enum dtype dtype, size_t cols, struct row_layout layout)
{
    size_t multiple = layout.bytes ? (size_t)layout.bytes / dtype_bytes(dtype) : 1;
    return (cols + multiple - 1) / multiple * multiple + (size_t)layout.padding;
}

struct tensor tensor_describe(const char *name, enum dtype dtype, double rows, size_t cols, struct row_layout layout)
{
    struct tensor tensor = {.name = name, .dtype = dtype, .rows = (size_t)fmin(rows, 0x1p60), .cols = cols};
    tensor.pitch = row_pitch(dtype, cols, layout);
    tensor.bytes = (size_t)fmin(rows * (double)tensor.pitch * (double)dtype_bytes(dtype), 0x1p62);
    return tensor;
}

double tensor_data_bytes(const struct tensor *tensor)
{
    return (double)tensor->rows * (double)tensor->cols * (double)dtype_bytes(tensor->dtype);
}

void tensor_allocate_host(struct tensor *tensor)
{
    tensor->host = allocate(tensor->rows * tensor->cols * sizeof *tensor->host, tensor);
}

void tensor_free(struct tensor *tensor)
{
    free(tensor->host);
    tensor->host = NULL;
    buffer_free(&tensor->device);
}

// Rows on their way between numbers and the bytes of the type.
struct conversion {
    const struct tensor *tensor;
    float *values;  // [rows, cols]
    char *bytes;    // of a row, and of the next `row_bytes` further on
    size_t row_bytes;
};

static void encode_rows(void *context, size_t first, size_t last)
{
    const struct conversion *c = context;
    for (size_t row = first; row < last; row++) {
        float *values = c->values + row * c->tensor->cols;
        dtype_round(c->tensor->dtype, values, c->tensor->cols);
        dtype_encode(c->tensor->dtype, values, c->bytes + row * c->row_bytes, c->tensor->cols);
    }
}

static void decode_rows(void *context, size_t first, size_t last)
{
    const struct conversion *c = context;
    for (size_t row = first; row < last; row++)
        dtype_decode(c->tensor->dtype, c->bytes + row * c->row_bytes, c->values + row * c->tensor->cols,
                     c->tensor->cols);
}

void tensor_upload(struct tensor *tensor)
{
    size_t element = dtype_bytes(tensor->dtype), width = tensor->cols * element;
    void *bytes = tensor->host;
    if (tensor->dtype != FP32) {
        bytes = allocate(tensor->rows * width, tensor);
        parallel_for(tensor->rows, encode_rows, &(struct conversion){tensor, tensor->host, bytes, width});
    }
    buffer_upload_rows(&tensor->device, bytes, tensor->rows, width, tensor->pitch * element);
    if (bytes != tensor->host)
        free(bytes);
}

void tensor_poison(const struct tensor *tensor)
{
    size_t width = tensor->cols * dtype_bytes(tensor->dtype), pitch = tensor->pitch * dtype_bytes(tensor->dtype);
    buffer_poison(&tensor->device);
    if (has_gaps(tensor))
        CUDA(cudaMemset2D(tensor->device.first + width, pitch, GAP_POISON, pitch - width, tensor->rows));
}

// A byte between the rows that is no poison any more: in which row, or `rows` where there is none.
static size_t written_gap(const struct tensor *tensor, const unsigned char *bytes)
{
    size_t width = tensor->cols * dtype_bytes(tensor->dtype), pitch = tensor->pitch * dtype_bytes(tensor->dtype);
    for (size_t row = 0; row < tensor->rows; row++)
        for (size_t byte = width; byte < pitch; byte++)
            if (bytes[row * pitch + byte] != GAP_POISON)
                return row;
    return tensor->rows;
}

float *tensor_download(const struct tensor *tensor, const char **overrun)
{
    static char where[96];
    *overrun = NULL;
    void *bytes = allocate(tensor->bytes, tensor);
    buffer_download(&tensor->device, bytes);
    if (tensor->dtype == FP32 && !has_gaps(tensor))
        return bytes;

    size_t row_bytes = tensor->pitch * dtype_bytes(tensor->dtype), gap = written_gap(tensor, bytes);
    if (gap < tensor->rows) {
        snprintf(where, sizeof where, "the launch wrote behind row %zu of %s, before the next row begins", gap,
                 tensor->name);
        *overrun = where;
    }
    float *values = allocate(tensor->rows * tensor->cols * sizeof *values, tensor);
    parallel_for(tensor->rows, decode_rows, &(struct conversion){tensor, values, bytes, row_bytes});
    free(bytes);
    return values;
}

void tensor_write(const struct tensor *tensor, FILE *file)
{
    size_t width = tensor->cols * dtype_bytes(tensor->dtype), pitch = tensor->pitch * dtype_bytes(tensor->dtype);
    char *bytes = allocate(tensor->bytes, tensor);
    buffer_download(&tensor->device, bytes);
    for (size_t row = 0; row < tensor->rows; row++)
        if (fwrite(bytes + row * pitch, 1, width, file) != width)
            stop(EXIT_USAGE, "%s cannot be written to its file: %s", tensor->name, strerror(errno));
    free(bytes);
}

float *tensor_read(const struct tensor *tensor, FILE *file)
{
    size_t width = tensor->cols * dtype_bytes(tensor->dtype);
    float *values = allocate(tensor->rows * tensor->cols * sizeof *values, tensor);
    char *bytes = allocate(tensor->rows * width, tensor);
    memset(bytes, BUFFER_POISON, tensor->rows * width);
    fread(bytes, 1, tensor->rows * width, file);
    parallel_for(tensor->rows, decode_rows, &(struct conversion){tensor, values, bytes, width});
    free(bytes);
    return values;
}

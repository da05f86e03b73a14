// A tensor: on the host its numbers, already rounded to its type, and on the device as many copies as timing rotates
// over. However many dimensions it has, it is a list of rows.
#ifndef TENSOR_H
#define TENSOR_H

#include "dtype.h"
#include "memory.h"

#include <stdio.h>

struct tensor {
    const char *name;
    enum dtype dtype;
    size_t rows, cols;  // all rows: of each head of each batch, one after another
    size_t pitch;       // elements from one row to the next; those beyond `cols` are poison and stay so
    size_t bytes;       // of one copy
    float *host;        // [rows, cols], with no gaps; NULL: there is nothing on the host, as of an output
    struct buffer device;
};

// How far apart the rows of a tensor are.
struct row_layout {
    int bytes;    // rows begin at multiples of so many bytes; 0: as they come
    int padding;  // elements beside
};

// The pitch of rows of so many columns, in elements.
size_t row_pitch(enum dtype dtype, size_t cols, struct row_layout layout);

// A tensor that has no memory yet. The number of rows is a double because it may exceed any memory; memory_plan says so.
struct tensor tensor_describe(const char *name, enum dtype dtype, double rows, size_t cols, struct row_layout layout);

// Bytes of its elements alone, without what lies between the rows.
double tensor_data_bytes(const struct tensor *tensor);

void tensor_allocate_host(struct tensor *tensor);
void tensor_free(struct tensor *tensor);

// Rounds the host's numbers to the type, and fills every copy on the device with them.
void tensor_upload(struct tensor *tensor);

// Poisons copy 0 of an output again. What lies between its rows gets bytes that are no NaN: one that a launch computed, or
// loaded, would not differ from the poison of the elements.
void tensor_poison(const struct tensor *tensor);

// Copy 0 as [rows, cols] numbers with no gaps, to be freed. What was never written is the NaN whose bits are all 1.
// *overrun becomes NULL, or the first row behind which something was written before the next row begins, in words.
float *tensor_download(const struct tensor *tensor, const char **overrun);

// Copy 0's elements, in its type and with no gaps, to a file; and from such a file, as tensor_download() returns them. What the
// file is too short for was never written.
void tensor_write(const struct tensor *tensor, FILE *file);
float *tensor_read(const struct tensor *tensor, FILE *file);

#endif

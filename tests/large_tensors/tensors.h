// The other half of last_blocks.h: what the mains in place of common/'s need. Tensors of 2^32 elements, whose pages exist
// where they are touched, and around them nothing: an index that overflowed ends in a segmentation fault, or finds zeros.
//
//   program VARIANT SIZE…    status 0: the last elements are right
#ifndef TENSORS_H
#define TENSORS_H

#include <cuda_runtime_api.h>
#include "step.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LAST = 128, CHECKED = 3 };  // rows or columns at a tensor's end that have numbers in them; that are compared
static const size_t NOWHERE = (size_t)64 << 30, PAGE = 1 << 12;  // bytes

static inline void *reserve(size_t bytes)
{
    bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    char *all = mmap(NULL, bytes + 2 * NOWHERE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED || mprotect(all + NOWHERE, bytes, PROT_READ | PROT_WRITE) ||
        madvise(all + NOWHERE, bytes, MADV_NOHUGEPAGE)) {
        perror("this machine reserves no addresses for a tensor of 2^32 elements");
        exit(77);
    }
    return all + NOWHERE;
}

static inline int number(char **argv, int i) { return atoi(argv[1 + i]); }

static inline int variant_of(char **argv, const struct variant *variants)
{
    int variant = 0;
    while (strcmp(variants[variant].name, argv[1]) != 0)
        variant++;
    return variant;
}

static inline int larger(int a, int b) { return a > b ? a : b; }

// From 1 to 2; not the same again 2^31 or 2^32 elements further on.
static inline float value_at(size_t i) { return 1 + (float)(i * 0x9e3779b97f4a7c15 >> 54) / 1024; }

// Rows from `row` and columns from `col` on, to the end.
static inline void fill(float *x, int rows, int cols, int row, int col)
{
    for (size_t r = (size_t)larger(row, 0); r < (size_t)rows; r++)
        for (size_t c = (size_t)larger(col, 0); c < (size_t)cols; c++)
            x[r * cols + c] = value_at(r * cols + c);
}

static inline bool near_within(double share, const char *name, size_t row, size_t col, double got, double want)
{
    if (fabs(got - want) <= share * fabs(want))
        return true;
    printf("WRONG: %s, row %zu, column %zu: %g, should be %g\n", name, row, col, got, want);
    return false;
}

static inline bool near(const char *name, size_t row, size_t col, double got, double want)
{
    return near_within(1e-4, name, row, col, got, want);
}

static inline int status_of(cudaError_t error, bool right)
{
    if (error != cudaSuccess)
        printf("the launch was refused: %s\n", cudaGetErrorString(error));
    return error == cudaSuccess && right ? 0 : 1;
}

#endif

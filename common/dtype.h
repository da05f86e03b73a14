// The element types of tensors, and all that depends on them: bytes, rounding, and how near a result has to come.
#ifndef DTYPE_H
#define DTYPE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// fp32 is IEEE 754's binary32, fp16 its binary16, and bf16 the upper half of an fp32. A list of types ends with 0.
enum dtype { FP32 = 1, FP16, BF16, DTYPE_COUNT };

const char *dtype_name(enum dtype dtype);  // "fp16"

// Of one element.
static inline size_t dtype_bytes(enum dtype dtype) { return dtype == FP32 ? 4 : 2; }

// Rounds values[0…count), in place, to the nearest numbers of the type: of two equally near, to the even one.
void dtype_round(enum dtype dtype, float *values, size_t count);

// Between numbers and their bits in memory, for count elements. What is encoded is rounded, as above. Bytes that are all
// 0xff, the poison of memory.h, become the NaN whose bits are all 1, whatever the type.
void dtype_encode(enum dtype dtype, const float *values, void *bits, size_t count);
void dtype_decode(enum dtype dtype, const void *bits, float *values, size_t count);

// Of a number of the type, in binary. Rounding changes a number by at most 2^-digits of itself; to cut digits off, by less than twice that.
int dtype_digits(enum dtype dtype);

// The largest relative error that is still right, as a norm over all that is checked and in any one row.
struct bound {
    double all, row;
};

// Of an output of this type, whose elements are sums of `terms` products in fp32. fp32: 2 √terms roundings, but never
// less than 16. Half as wide: twice `rounded`, the error that the reference itself has once it is rounded to the type,
// but never less than 2^-12; and in a row 2^-9 for fp16, 2^-7 for bf16.
struct bound dtype_bound(enum dtype dtype, int terms, double rounded);

#ifdef __cplusplus
}
#endif
#endif

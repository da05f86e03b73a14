// Random inputs that depend on nothing but seed, stream and position: the same bits on every machine and backend,
// however many threads make them.
#ifndef RANDOM_H
#define RANDOM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The 64 bits at a position of a stream: each tensor, or each other use of chance, has a stream of its own.
uint64_t random_bits(uint64_t seed, uint64_t stream, uint64_t position);

// Fills values[0…count) with normal numbers.
void random_normal(float *values, size_t count, uint64_t seed, uint64_t stream, float mean, float deviation);

#ifdef __cplusplus
}
#endif
#endif

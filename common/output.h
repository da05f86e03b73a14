// For a program that checks its result by itself, as some exercises do: lets another process check it.
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// To be called with each result, in host memory, between its computation and its check. Where the environment has
// FLASH_STEPS_WRITE_OUTPUT=FILE, the result goes to FILE, too; where it has FLASH_STEPS_CHECK_OUTPUT=FILE, the result becomes
// what FILE has in its place, so that the check is about that: bytes that FILE is too short for become 0xff, a NaN.
void output_exchange(void *data, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif

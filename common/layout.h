// A tile in shared memory as its banks see it, printed for a person.
#ifndef LAYOUT_H
#define LAYOUT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// Prints, for each vector of 16 bytes in the first eight rows of a tile, which of the eight bank quads, four banks each, it lies in, and
// how many vectors of a column at the most share one: so many wavefronts take an ldmatrix of that column.
// offset: bytes from the tile's first byte to that vector, a multiple of 16.
void layout_print(const char *tile, int vectors, size_t (*offset)(int row, int vector));

#ifdef __cplusplus
}
#endif
#endif

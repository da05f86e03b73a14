// What every step's program says about itself, whatever it computes.
//
// In a step's source, `// [name]` opens a piece that its README walks through or an exercise leaves to the reader. The piece ends where
// the next one begins; one that ends with `// [end name]` is a part of the piece that it stands in.
#ifndef STEP_H
#define STEP_H

#include "dtype.h"

#include <stdbool.h>
#include <stddef.h>

// One way of running a step's kernel. A step lists its variants, at most MAX_VARIANTS, and ends the list with {}; the
// last one runs unless --variant names another.
struct variant {
    const char *name;
    const char *idea;  // one line
    int shared_bytes;  // of dynamic shared memory that a block asks for; a GPU with less cannot run the variant
};

enum { MAX_VARIANTS = 8, MAX_DTYPES = DTYPE_COUNT };

// Host memory that a step's prepare() fills and its launch() reads, of each set of arguments: eight tensor maps.
enum { PREPARED_BYTES = 1024, PREPARED_ALIGN = 128 };

// Whether rows that lie so many elements apart all begin at multiples of so many bytes, a power of two.
static inline bool rows_are_aligned(const void *first, int pitch, enum dtype dtype, int bytes)
{
    return ((size_t)first | (size_t)pitch * dtype_bytes(dtype)) % (size_t)bytes == 0;
}

// How many blocks of `size` cover `count` things. No sum here can overflow.
static inline int ceil_div(int count, int size) { return (count - 1) / size + 1; }

#endif

/* Initialisation: a bit for each byte of an object. */
#ifndef SIMT_WRITTEN_H
#define SIMT_WRITTEN_H

#include "memory/place.h"

void *written_reserve(size_t object_bytes);
void written_release(void *written, size_t object_bytes);
void written_mark(const struct object *object, size_t offset, size_t bytes);
void written_clear(const struct object *object, size_t offset, size_t bytes);
bool written_any(const struct object *object, size_t offset, size_t bytes); /* has any of them been written? */
void written_copy(const struct object *to, size_t to_offset, const struct object *from, size_t from_offset,
                  size_t bytes);

#endif

/* Global memory: what cudaMalloc and its like hand out, and what new and malloc in kernels do (heap.h). Variables:
 * symbols.h. */
#ifndef SIMT_MEMORY_H
#define SIMT_MEMORY_H

#include "memory/place.h"

/* One reserved span. The lower half is the kernels' alone, and its end is their heap; the upper half holds what
 * the host may touch too. */
#ifndef MEMORY_SPAN
#define MEMORY_SPAN ((size_t)256 << 30)
#endif
#define MEMORY_HALF (MEMORY_SPAN / 2)
#define MEMORY_GRANULE 4096u
#define MEMORY_HEAP_SPAN (MEMORY_HALF / 8)
#define MEMORY_HEAP_START (MEMORY_HALF - MEMORY_HEAP_SPAN)
#define MEMORY_HEAP_GRANULE 64u

extern unsigned char *memory_base;    /* NULL before the first allocation; then it never changes */
extern uint32_t *memory_map;          /* granule → index into memory_objects, 0 for none; the heap has its own: */
extern uint32_t *memory_heap_map;     /* granule of the heap → index into memory_objects */
extern struct object *memory_objects; /* never moves */

/* From memory_base; MEMORY_SPAN or more for an address that is not in the span. */
static inline size_t memory_offset(const void *address)
{
    const unsigned char *base = __atomic_load_n(&memory_base, __ATOMIC_ACQUIRE);
    return base ? (size_t)((uintptr_t)address - (uintptr_t)base) : MEMORY_SPAN;
}

static inline bool memory_covers(const void *address) { return memory_offset(address) < MEMORY_SPAN; }

/* The object whose granule that is, live or freed; the address may lie behind its last byte. NULL: none. */
static inline const struct object *memory_find(const void *address)
{
    size_t offset = memory_offset(address);
    const uint32_t *entry;
    if (offset >= MEMORY_SPAN)
        return NULL;
    entry = &memory_map[offset / MEMORY_GRANULE];
    if (offset - MEMORY_HEAP_START < MEMORY_HEAP_SPAN)
        entry = &memory_heap_map[(offset - MEMORY_HEAP_START) / MEMORY_HEAP_GRANULE];
    uint32_t index = __atomic_load_n(entry, __ATOMIC_ACQUIRE);
    return index ? &memory_objects[index] : NULL;
}

/* In the half that holds managed and pinned memory? */
static inline bool memory_is_unified(const void *address) { return memory_offset(address) - MEMORY_HALF < MEMORY_HALF; }

/* Another thread may be freeing it. */
static inline bool memory_freed(const struct object *object)
{
    return __atomic_load_n(&object->freed, __ATOMIC_ACQUIRE);
}

/* An allocation like that object, which has no base yet; all but the heap's. NULL: there is no room. */
void *memory_new(const struct object *like);
/* Frees it: its size. pinned: as cudaFreeHost, else as cudaFree. Reports what may not be freed so, at pc. */
size_t memory_delete(void *pointer, bool pinned, const void *pc);
void memory_room(size_t *free_bytes, size_t *total_bytes);

#endif

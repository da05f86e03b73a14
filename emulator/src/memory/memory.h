/* Global memory: what cudaMalloc and its like hand out, the device heap, and the program's own variables. */
#ifndef SIMT_MEMORY_H
#define SIMT_MEMORY_H

#include "memory/place.h"

/* One reserved span. The lower half is the device's alone, and its end is the kernels' heap; the upper half holds what
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

const struct object *memory_nearest(const void *address); /* for reports, and safe in a signal handler; NULL: none */
/* Of an address that is none of the above: is something there at all, and is it not the emulator's own? */
bool memory_is_host(const void *address);
/* Of allocations and variables, that which is the fewest bytes away from any address; NULL: there is none. */
const struct object *memory_closest(const void *address);
bool memory_is_constant(const void *address); /* in a read-only part of the program */

/* Opens device and managed memory to this process while a launch or a copy runs; calls nest, and host threads may call
 * at once. */
void memory_open(void);
void memory_close(void);

/* Managed memory belongs to the kernels from a launch until the host synchronises; what they have touched by atomic
 * operations of system scope alone, the host may go on with. */
static inline void memory_touched(const struct object *managed, bool by_system_atomic)
{
    unsigned char bit = by_system_atomic ? TOUCHED_BY_SYSTEM_ATOMICS : TOUCHED_OTHERWISE;
    if (!(__atomic_load_n(&managed->touched, __ATOMIC_RELAXED) & bit))
        __atomic_fetch_or((unsigned char *)&managed->touched, bit, __ATOMIC_RELAXED);
}
void memory_launched(void);
void memory_synchronised(void);
unsigned long memory_launches(void); /* so far: an event that is older than a launch does not end it */

/* As cudaMalloc and cudaFree, called at pc. */
cudaError_t memory_allocate(void **pointer, size_t bytes, const void *pc);
cudaError_t memory_free(void *pointer, const void *pc);

/* Why may the host not touch that address? *object: the one there or nearest, or NULL. For signal handlers too. */
enum memory_state {
    MEMORY_FINE,             /* it may, or the address is not ours */
    MEMORY_NOT_SYNCHRONISED, /* managed, and kernels may still use it */
    MEMORY_FREED,
    MEMORY_BEYOND,   /* in no allocation */
    MEMORY_OF_DEVICE /* live, but not the host's */
};
enum memory_state memory_host_fault(const void *address, const struct object **object);

/* An access of checked host code, at code address pc: reports it unless the host may do that. */
void memory_host_access(const void *address, size_t bytes, enum access_kind kind, const void *pc);

/* Calls `visit` on every live object that has cells, variables included. It may not allocate or free device memory. */
void memory_each(void (*visit)(const struct object *object));

/* new, delete, malloc and free of kernels. NULL: the heap is full. */
void *memory_heap_allocate(size_t bytes, const void *pc);
void memory_heap_free(void *pointer, const void *pc);
cudaError_t memory_heap_limit(size_t bytes); /* cudaErrorInvalidValue once a kernel has used the heap */
size_t memory_heap_limit_now(void);

/* ---- symbols.c ---- */
const struct object *symbol_find(const void *address);        /* the variable there; NULL: none */
const struct object *symbol_closest(const void *address);     /* however far; NULL: there is none */
const struct object *symbol_nearest(const void *address);     /* within 256 bytes of one; NULL: none is near */
void symbol_each(void (*visit)(const struct object *object)); /* of those with cells */

/* ---- registered.c: the host's memory that cudaHostRegister has opened to kernels ---- */
const struct object *registered_find(const void *address);        /* NULL: that is in none */
void registered_each(void (*visit)(const struct object *object)); /* of those with cells */

/* ---- copies.c: copies and fills by the API, called at pc ---- */
cudaError_t copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                      enum cudaMemcpyKind kind, cudaStream_t stream, const void *pc);
cudaError_t fill_rows(void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream,
                      const void *pc); /* as cudaMemset2DAsync */

/* ---- written.c: initialisation, a bit for each byte of an object ---- */
void *written_reserve(size_t object_bytes);
void written_release(void *written, size_t object_bytes);
void written_mark(const struct object *object, size_t offset, size_t bytes);
void written_clear(const struct object *object, size_t offset, size_t bytes);
bool written_any(const struct object *object, size_t offset, size_t bytes); /* has any of them been written? */
void written_copy(const struct object *to, size_t to_offset, const struct object *from, size_t from_offset,
                  size_t bytes);

/* ---- poison.c ---- */
void poison(unsigned char *start, size_t bytes); /* whole pages that may be written: their bytes become 0xff */

#endif

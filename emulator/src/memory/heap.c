/* The kernels' heap: blocks in an area of their own, whose addresses are used again late. */
#include "memory/heap.h"
#include "base/report.h"
#include "memory/areas.h"
#include "memory/memory.h"

#define HEAP_LIMIT ((size_t)8 << 20)
#define HEAP_ROOM 4 /* addresses for so many times the heap's limit: freed blocks stay recognisable */

static size_t limit = HEAP_LIMIT;

static size_t room(void) { return limit < MEMORY_HEAP_SPAN / HEAP_ROOM ? limit * HEAP_ROOM : MEMORY_HEAP_SPAN; }

void *heap_allocate(size_t bytes, const void *pc)
{
    struct area *a = &areas[AREA_HEAP];
    struct object like = {.bytes = bytes ? bytes : 1, .heap = true, .made_at = pc};
    void *pointer = NULL;
    pthread_mutex_lock(&area_lock);
    areas_reserve();
    a->ranges.limit = MEMORY_HEAP_START + room();
    if (a->live <= limit && like.bytes <= limit - a->live)
        pointer = area_cut(AREA_HEAP, &like);
    pthread_mutex_unlock(&area_lock);
    return pointer;
}

void heap_free(void *pointer, const void *pc)
{
    const char *kind, *why;
    if (!pointer)
        return;
    pthread_mutex_lock(&area_lock);
    struct object *o = area_to_free(pointer, true, &kind, &why);
    if (o)
        area_release(o, pc);
    pthread_mutex_unlock(&area_lock);
    if (!o)
        report_host(kind, pc, why);
}

cudaError_t heap_set_limit(size_t bytes)
{
    cudaError_t error = cudaSuccess;
    pthread_mutex_lock(&area_lock);
    if (areas[AREA_HEAP].high > areas[AREA_HEAP].start)
        error = cudaErrorInvalidValue;
    else if (bytes > MEMORY_HEAP_SPAN)
        error = cudaErrorMemoryAllocation;
    else
        limit = bytes;
    pthread_mutex_unlock(&area_lock);
    return error;
}

size_t heap_limit(void)
{
    pthread_mutex_lock(&area_lock);
    size_t now = limit;
    pthread_mutex_unlock(&area_lock);
    return now;
}

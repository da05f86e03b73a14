/* Which objects there are, and which is nearest to an address. */
#define _GNU_SOURCE
#include "memory/lookup.h"
#include "block/fiber.h"
#include "memory/areas.h"
#include "memory/registered.h"
#include "memory/symbols.h"
#include <sys/mman.h>
#include <unistd.h>

void memory_each(void (*visit)(const struct object *object))
{
    pthread_mutex_lock(&area_lock);
    for (uint32_t i = area_lists[LIST_LIVE]; i; i = area_details[i].next[LIST_LIVE])
        if (memory_objects[i].cells)
            visit(&memory_objects[i]);
    pthread_mutex_unlock(&area_lock);
    symbol_each(visit);
    registered_each(visit);
}

/* The first object that the map names, from a granule on, upwards or downwards (step 1 or -1). */
static const struct object *toward(const struct area *a, size_t granule, size_t granules, int step)
{
    for (; granule < granules; granule += (size_t)step) { /* below 0 it wraps round, and ends as well */
        uint32_t index = __atomic_load_n(area_map_at(a, a->start + granule * a->granule), __ATOMIC_ACQUIRE);
        if (index)
            return &memory_objects[index];
    }
    return NULL;
}

static size_t distance(const struct object *o, const unsigned char *p)
{
    if (!o)
        return ~(size_t)0;
    if (p < o->base)
        return (size_t)(o->base - p);
    if (p < o->base + o->bytes)
        return 0;
    return (size_t)(p - (o->base + o->bytes));
}

static const struct object *nearest_in(const struct area *a, const void *address)
{
    if (!a->granule)
        return NULL; /* before the first allocation */
    const unsigned char *start = memory_base + a->start;
    size_t granules = (__atomic_load_n(&a->high, __ATOMIC_ACQUIRE) - a->start) / a->granule;
    size_t here = (const unsigned char *)address < start
                      ? 0
                      : (size_t)((const unsigned char *)address - start) / a->granule;
    if (!granules)
        return NULL;
    const struct object *below = toward(a, here < granules ? here : granules - 1, granules, -1);
    const struct object *above = toward(a, here, granules, 1);
    return distance(below, address) <= distance(above, address) ? below : above;
}

const struct object *memory_nearest(const void *address)
{
    size_t offset = memory_offset(address);
    if (offset >= MEMORY_SPAN)
        return NULL;
    if (offset >= MEMORY_HALF)
        return nearest_in(&areas[AREA_UNIFIED], address);
    return nearest_in(&areas[offset >= MEMORY_HEAP_START ? AREA_HEAP : AREA_PLAIN], address);
}

bool memory_is_host(const void *address)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char resident;
    if (fiber_is_reserved(address) || base_is_reserved(address) || memory_covers(address))
        return false;
    return mincore((void *)((uintptr_t)address / page * page), 1, &resident) == 0;
}

const struct object *memory_closest(const void *address)
{
    const struct object *best = symbol_closest(address);
    for (unsigned i = 0; i < AREAS; i++) {
        const struct object *o = nearest_in(&areas[i], address);
        if (distance(o, address) < distance(best, address))
            best = o;
    }
    return best;
}

/* Global memory: one reserved span of addresses, from which allocations are cut. Between them lies a gap of nothing,
 * and a freed range is used again only when no fresh one is left, so that a stale pointer stays recognisable. */
#define _GNU_SOURCE
#include "memory/areas.h"
#include "base/signals.h"
#include "memory/protection.h"
#include "memory/records.h"
#include "memory/written.h"
#include <stdlib.h>
#include <sys/mman.h>

#define GAP (64u << 10)
#define HEAP_GAP 64u
#define MOST_OBJECTS ((uint32_t)4 << 20)

unsigned char *memory_base;
uint32_t *memory_map, *memory_heap_map;
struct object *memory_objects;

pthread_mutex_t area_lock = PTHREAD_MUTEX_INITIALIZER;
struct area areas[AREAS];
struct detail *area_details;
uint32_t area_lists[LISTS];
static uint32_t n_objects = 1, spare_objects; /* index 0 means none */

/* ---- start ---- */

static void start_areas(void)
{
    areas[AREA_PLAIN] = (struct area){.granule = MEMORY_GRANULE, .gap = GAP, .step = MEMORY_GRANULE, .map = memory_map};
    areas[AREA_UNIFIED] = areas[AREA_PLAIN];
    areas[AREA_HEAP] = (struct area){.granule = MEMORY_HEAP_GRANULE,
                                     .gap = HEAP_GAP,
                                     .step = HEAP_STEP,
                                     .start = MEMORY_HEAP_START,
                                     .map = memory_heap_map,
                                     .map_start = MEMORY_HEAP_START};
    areas[AREA_UNIFIED].start = MEMORY_HALF;
    areas[AREA_PLAIN].ranges.limit = MEMORY_HEAP_START;
    areas[AREA_UNIFIED].ranges.limit = MEMORY_SPAN;
    for (int i = 0; i < AREAS; i++) {
        areas[i].high = areas[i].start;
        areas[i].ranges.next = areas[i].start + areas[i].gap;
    }
}

void areas_reserve(void)
{
    if (memory_base)
        return;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *base = mmap(NULL, MEMORY_SPAN + SLAB, PROT_NONE, flags, -1, 0);
    if (base == MAP_FAILED) {
        perror("simt: no address space for global memory");
        exit(2);
    }
    memory_map = base_reserve(MEMORY_SPAN / MEMORY_GRANULE * sizeof *memory_map);
    memory_heap_map = base_reserve(MEMORY_HEAP_SPAN / MEMORY_HEAP_GRANULE * sizeof *memory_heap_map);
    memory_objects = base_reserve(MOST_OBJECTS * sizeof *memory_objects);
    area_details = base_reserve(MOST_OBJECTS * sizeof *area_details);
    start_areas();
    signals_install();
    uintptr_t aligned = ((uintptr_t)base + SLAB - 1) / SLAB * SLAB;
    __atomic_store_n(&memory_base, (unsigned char *)aligned, __ATOMIC_RELEASE);
}

/* ---- lists of objects ---- */

void area_list_add(enum list list, uint32_t index)
{
    struct detail *d = &area_details[index];
    d->listed[list] = true;
    d->before[list] = 0;
    d->next[list] = area_lists[list];
    if (area_lists[list])
        area_details[area_lists[list]].before[list] = index;
    area_lists[list] = index;
}

void area_list_remove(enum list list, uint32_t index)
{
    struct detail *d = &area_details[index];
    if (!d->listed[list])
        return;
    d->listed[list] = false;
    if (d->before[list])
        area_details[d->before[list]].next[list] = d->next[list];
    else
        area_lists[list] = d->next[list];
    if (d->next[list])
        area_details[d->next[list]].before[list] = d->before[list];
}

static uint32_t take_entry(void)
{
    uint32_t index = spare_objects;
    if (index) {
        spare_objects = area_details[index].spare;
        return index;
    }
    if (n_objects >= MOST_OBJECTS)
        return 0;
    index = n_objects;
    n_objects++;
    return index;
}

static void give_entry(uint32_t index)
{
    area_details[index].spare = spare_objects;
    spare_objects = index;
}

/* ---- maps ---- */

/* Objects that lay in that range before are forgotten there, and for good when no granule names them any more. */
static void forget(struct area *a, size_t start, size_t bytes)
{
    size_t end = start + bytes < a->high ? start + bytes : a->high;
    for (size_t at = start; at < end; at += a->granule) {
        uint32_t *entry = area_map_at(a, at), index = *entry;
        if (!index)
            continue;
        __atomic_store_n(entry, 0, __ATOMIC_RELAXED);
        area_details[index].granules--;
        if (!area_details[index].granules)
            give_entry(index);
    }
}

static void name(struct area *a, size_t start, uint32_t index)
{
    size_t granules = area_rounded(a, memory_objects[index].bytes) / a->granule;
    uint32_t *entry = area_map_at(a, start);
    for (size_t i = 0; i < granules; i++)
        __atomic_store_n(&entry[i], index, __ATOMIC_RELEASE);
    area_details[index].granules = granules;
}

/* ---- allocation, with the lock held ---- */

static void raise_high(struct area *a, size_t end)
{
    size_t high = a->high;
    if (end <= high)
        return;
    high += (end - high + a->step - 1) / a->step * a->step;
    __atomic_store_n(&a->high, high, __ATOMIC_RELEASE);
}

/* Heap blocks are many and small: their bits are one bitmap for the whole heap. */
static unsigned char *heap_bits(size_t start)
{
    static unsigned char *bits;
    if (!bits)
        bits = written_reserve(MEMORY_HEAP_SPAN);
    return bits + (start - MEMORY_HEAP_START) / 8;
}

/* The host may fill unified memory unseen, so of that nobody asks what has been written. */
static void watch(struct object *o, size_t start)
{
    if (!simt_checked)
        return;
    o->cells = race_cells(o->bytes, GLOBAL_READERS);
    if (o->unified)
        return;
    o->written = o->heap ? heap_bits(start) : written_reserve(o->bytes);
    if (o->heap)
        written_clear(o, 0, o->bytes);
}

static void unwatch(struct object *o)
{
    if (o->cells)
        race_cells_free(o->cells);
    if (o->written && !o->heap)
        written_release(o->written, o->bytes);
    o->cells = NULL;
    o->written = NULL;
}

static bool fill_entry(uint32_t index, size_t start, const struct object *like)
{
    struct area *a = &areas[like->heap ? AREA_HEAP : like->unified ? AREA_UNIFIED : AREA_PLAIN];
    memory_objects[index] = *like;
    memory_objects[index].base = memory_base + start;
    area_details[index] = (struct detail){.area = (enum area_kind)(a - areas)};
    raise_high(a, start + area_rounded(a, like->bytes) + a->gap);
    if (!protection_prepare(index, start, area_rounded(a, like->bytes)))
        return false;
    watch(&memory_objects[index], start);
    area_list_add(LIST_LIVE, index);
    if (protection_is_guarded(like))
        area_list_add(LIST_MANAGED, index);
    protection_count(&memory_objects[index], 1);
    name(a, start, index);
    a->live += like->bytes;
    return true;
}

void *area_cut(enum area_kind area, const struct object *like)
{
    struct area *a = &areas[area];
    size_t length = area_rounded(a, like->bytes) + a->gap;
    size_t start = ranges_take(&a->ranges, length);
    if (start == RANGES_NONE)
        return NULL;
    forget(a, start, length);
    uint32_t index = take_entry();
    if (index && fill_entry(index, start, like))
        return memory_base + start;
    if (index)
        give_entry(index);
    ranges_give(&a->ranges, start, length);
    return NULL;
}

struct object *area_to_free(const void *pointer, bool heap, const char **kind, const char **why)
{
    struct object *o = (struct object *)memory_find(pointer);
    *kind = "bad free";
    *why = heap ? "The pointer is not one that new or malloc in a kernel returned."
                : "The pointer is not one that an allocation of the CUDA API returned.";
    if (!o || o->base != pointer)
        return NULL;
    if (o->heap && !heap)
        *why = "What new or malloc in a kernel returned is freed in a kernel, by delete or free.";
    if (!o->heap && heap)
        *why = "What an allocation of the CUDA API returned is freed by cudaFree.";
    if (o->heap != heap)
        return NULL;
    *kind = "double free";
    *why = "This allocation was freed before.";
    return memory_freed(o) ? NULL : o;
}

void area_release(struct object *o, const void *pc)
{
    uint32_t index = (uint32_t)(o - memory_objects);
    struct area *a = &areas[area_details[index].area];
    bool touched = !area_details[index].listed[LIST_UNPOISONED];
    for (int list = 0; list < LISTS; list++)
        area_list_remove((enum list)list, index);
    o->freed_at = pc;
    __atomic_store_n(&o->freed, true, __ATOMIC_RELEASE);
    unwatch(o);
    protection_count(o, (uint32_t)-1);
    if (touched)
        protection_give_pages_back(o);
    a->live -= o->bytes;
    ranges_give(&a->ranges, (size_t)(o->base - memory_base), area_rounded(a, o->bytes) + a->gap);
}

/* The areas that allocations are cut from, for the files of this room that look into them. One lock guards the tables;
 * kernels look addresses up without it (memory.h). */
#ifndef SIMT_AREAS_H
#define SIMT_AREAS_H

#include "memory/memory.h"
#include "memory/ranges.h"
#include <pthread.h>

#define SLAB ((size_t)16 << 20) /* plain memory is opened by slabs: of those that hold nothing, the pages are gone */
#define HEAP_STEP ((size_t)1 << 20) /* the heap grows in slabs of this size */

/* What only kernels may touch; what both sides may (managed, pinned); and the heap of the kernels, whose blocks are small and
 * lie closer together. */
enum area_kind { AREA_PLAIN, AREA_UNIFIED, AREA_HEAP, AREAS };

struct area {
    struct ranges ranges;
    size_t granule, gap, step; /* step: by which `high` grows */
    size_t start, high;        /* nothing at or behind `high` was ever handed out */
    size_t live;               /* bytes */
    uint32_t *map;
    size_t map_start;
};

/* Objects are in lists, by their index. LIST_MANAGED: of what the host may not touch while kernels may use it. */
enum list { LIST_LIVE, LIST_UNPOISONED, LIST_MANAGED, LISTS };

struct detail { /* of the object of that index */
    enum area_kind area;
    size_t granules; /* of the map that name it */
    bool listed[LISTS];
    uint32_t next[LISTS], before[LISTS];
    uint32_t spare; /* the next element that is not in use */
};

extern pthread_mutex_t area_lock;
extern struct area areas[AREAS];
extern struct detail *area_details;
extern uint32_t area_lists[LISTS]; /* the first of each */

static inline size_t area_rounded(const struct area *a, size_t bytes)
{
    return (bytes + a->granule - 1) / a->granule * a->granule;
}
static inline uint32_t *area_map_at(const struct area *a, size_t offset)
{
    return &a->map[(offset - a->map_start) / a->granule];
}

/* All of these with the lock held: */

void area_list_add(enum list list, uint32_t index);
void area_list_remove(enum list list, uint32_t index); /* does nothing where it is not in it */

void areas_reserve(void); /* the span, unless it has been */
/* An object like that one, which has no base yet. NULL: there is no room. */
void *area_cut(enum area_kind area, const struct object *like);
/* The object that begins there, whose freeing is asked for. NULL, and *why: there is none, or it is freed already. */
struct object *area_to_free(const void *pointer, bool heap, const char **kind, const char **why);
void area_release(struct object *o, const void *pc); /* it stays in the map, as freed */

#endif

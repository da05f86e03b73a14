/* While the host runs, what only kernels may touch is inaccessible, and managed memory is while kernels may use it; a
 * launch or a copy opens both. */
#define _GNU_SOURCE
#include "memory/protection.h"
#include "memory/areas.h"
#include "memory/lookup.h"
#include "memory/poison.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint32_t slab_live[MEMORY_HEAP_START / SLAB]; /* how many live objects reach into each */
static uint32_t heap_live[MEMORY_HEAP_SPAN / HEAP_STEP];
static bool heap_touched[MEMORY_HEAP_SPAN / HEAP_STEP]; /* since it gave its pages back */
static unsigned users;                                  /* of memory_open */
static bool launched;                                   /* managed memory is the kernels' */
static unsigned long launches;

static bool try_protect(size_t start, size_t bytes, int protection)
{
    return !bytes || !mprotect(memory_base + start, bytes, protection);
}

static void protect(size_t start, size_t bytes, int protection)
{
    if (try_protect(start, bytes, protection))
        return;
    perror("simt: cannot change the protection of global memory");
    exit(2);
}

/* The slabs with something in them, run by run. */
static void protect_plain(int protection)
{
    size_t slabs = (areas[AREA_PLAIN].high + SLAB - 1) / SLAB, first = 0;
    while (first < slabs) {
        size_t end = first;
        while (end < slabs && slab_live[end])
            end++;
        protect(first * SLAB, (end - first) * SLAB, protection);
        first = end + 1;
    }
}

/* Of the heap, only slabs that have been touched are opened. */
static void protect_heap(int protection)
{
    size_t slabs = (areas[AREA_HEAP].high - areas[AREA_HEAP].start) / HEAP_STEP, first = 0;
    while (first < slabs) {
        size_t end = first;
        while (end < slabs && heap_touched[end])
            end++;
        protect(MEMORY_HEAP_START + first * HEAP_STEP, (end - first) * HEAP_STEP, protection);
        first = end + 1;
    }
}

static void touch_heap(size_t start, size_t bytes)
{
    size_t first = (start - MEMORY_HEAP_START) / HEAP_STEP, last = (start + bytes - 1 - MEMORY_HEAP_START) / HEAP_STEP;
    for (size_t i = first; i <= last; i++) {
        if (heap_touched[i])
            continue;
        heap_touched[i] = true;
        if (users)
            protect(MEMORY_HEAP_START + i * HEAP_STEP, HEAP_STEP, PROT_READ | PROT_WRITE);
    }
}

void protection_count(const struct object *o, uint32_t change)
{
    size_t start = (size_t)(o->base - memory_base);
    if (o->unified)
        return;
    if (!o->heap) {
        for (size_t slab = start / SLAB; slab <= (start + o->bytes - 1) / SLAB; slab++)
            slab_live[slab] += change;
        return;
    }
    start -= MEMORY_HEAP_START;
    for (size_t slab = start / HEAP_STEP; slab <= (start + o->bytes - 1) / HEAP_STEP; slab++)
        heap_live[slab] += change;
}

/* Slabs of the heap in which no block lives. */
static void give_heap_pages_back(void)
{
    size_t slabs = (areas[AREA_HEAP].high - MEMORY_HEAP_START) / HEAP_STEP;
    for (size_t i = 0; i < slabs; i++) {
        if (heap_live[i] || !heap_touched[i])
            continue;
        heap_touched[i] = false;
        madvise(memory_base + MEMORY_HEAP_START + i * HEAP_STEP, HEAP_STEP, MADV_DONTNEED);
    }
}

static void protect_managed(int protection)
{
    for (uint32_t i = area_lists[LIST_MANAGED]; i; i = area_details[i].next[LIST_MANAGED]) {
        const struct object *o = &memory_objects[i];
        if (protection != PROT_NONE || o->touched != TOUCHED_BY_SYSTEM_ATOMICS)
            protect((size_t)(o->base - memory_base), area_rounded(&areas[AREA_UNIFIED], o->bytes), protection);
    }
}

static void poison_object(uint32_t index)
{
    const struct object *o = &memory_objects[index];
    if (o->heap)
        memset(o->base, 0xff, o->bytes);
    else
        poison(o->base, area_rounded(&areas[AREA_PLAIN], o->bytes));
}

static void poison_waiting(void)
{
    while (area_lists[LIST_UNPOISONED]) {
        uint32_t index = area_lists[LIST_UNPOISONED];
        poison_object(index);
        area_list_remove(LIST_UNPOISONED, index);
    }
}

static void open_memory(void)
{
    protect_plain(PROT_READ | PROT_WRITE);
    protect_heap(PROT_READ | PROT_WRITE);
    if (launched)
        protect_managed(PROT_READ | PROT_WRITE);
    poison_waiting();
}

static void close_memory(void)
{
    protect_plain(PROT_NONE);
    protect_heap(PROT_NONE);
    give_heap_pages_back();
    if (launched)
        protect_managed(PROT_NONE);
}

void memory_open(void)
{
    pthread_mutex_lock(&area_lock);
    if (!users && memory_base)
        open_memory();
    users++;
    pthread_mutex_unlock(&area_lock);
}

void memory_close(void)
{
    pthread_mutex_lock(&area_lock);
    users--;
    if (!users && memory_base)
        close_memory();
    pthread_mutex_unlock(&area_lock);
}

void memory_launched(void)
{
    pthread_mutex_lock(&area_lock);
    if (!users && !launched)
        protect_managed(PROT_NONE);
    __atomic_store_n(&launched, true, __ATOMIC_RELEASE);
    __atomic_store_n(&launches, launches + 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&area_lock);
}

void memory_synchronised(void)
{
    pthread_mutex_lock(&area_lock);
    if (!users && launched)
        protect_managed(PROT_READ | PROT_WRITE);
    for (uint32_t i = area_lists[LIST_MANAGED]; i && !users; i = area_details[i].next[LIST_MANAGED])
        memory_objects[i].touched = 0;
    __atomic_store_n(&launched, false, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&area_lock);
}

unsigned long memory_launches(void) { return __atomic_load_n(&launches, __ATOMIC_ACQUIRE); }

bool protection_prepare(uint32_t index, size_t start, size_t bytes)
{
    const struct object *o = &memory_objects[index];
    if (o->heap)
        touch_heap(start, bytes);
    if (!o->unified && !users) {
        area_list_add(LIST_UNPOISONED, index);
        return true;
    }
    if (!o->heap && !try_protect(start, bytes, PROT_READ | PROT_WRITE))
        return false;
    poison_object(index);
    if (protection_is_guarded(o) && launched && !users)
        protect(start, bytes, PROT_NONE);
    return true;
}

/* The system forgets those pages, and its tables of them where [start, end) is a slab. */
static void drop_pages(uintptr_t start, uintptr_t end)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (mmap((void *)start, end - start, PROT_NONE, flags, -1, 0) == MAP_FAILED)
        madvise((void *)start, end - start, MADV_DONTNEED);
}

/* And those of the first and the last slab that it lay in, where it was the only one. */
static void give_plain_pages_back(const struct object *o)
{
    size_t start = (size_t)(o->base - memory_base), end = start + area_rounded(&areas[AREA_PLAIN], o->bytes);
    size_t last = (end - 1) / SLAB;
    if (!slab_live[start / SLAB])
        start = start / SLAB * SLAB;
    if (!slab_live[last])
        end = (last + 1) * SLAB;
    drop_pages((uintptr_t)memory_base + start, (uintptr_t)memory_base + end);
}

void protection_give_pages_back(const struct object *o)
{
    if (o->heap)
        return; /* at the end of the launch, by slabs */
    if (!o->unified)
        give_plain_pages_back(o);
    else
        drop_pages((uintptr_t)o->base, (uintptr_t)o->base + area_rounded(&areas[AREA_UNIFIED], o->bytes));
}

static void attach(struct object *o, bool to_host)
{
    uint32_t index = (uint32_t)(o - memory_objects);
    area_list_remove(LIST_MANAGED, index);
    o->attached = to_host;
    if (protection_is_guarded(o))
        area_list_add(LIST_MANAGED, index);
    if (launched && !users)
        protect(memory_offset(o->base), area_rounded(&areas[AREA_UNIFIED], o->bytes),
                protection_is_guarded(o) ? PROT_NONE : PROT_READ | PROT_WRITE);
}

bool memory_attach(const void *pointer, bool to_host)
{
    pthread_mutex_lock(&area_lock);
    struct object *o = (struct object *)memory_find(pointer);
    bool ours = o && o->managed && !o->freed && o->base == pointer;
    if (ours)
        attach(o, to_host);
    pthread_mutex_unlock(&area_lock);
    return ours;
}

bool memory_is_synchronised(void) { return !__atomic_load_n(&launched, __ATOMIC_ACQUIRE); }

enum memory_state memory_host_fault(const void *address, const struct object **object)
{
    const struct object *o = memory_find(address);
    *object = o;
    if (!memory_covers(address))
        return MEMORY_FINE;
    if (!o)
        *object = memory_nearest(address);
    if (!o)
        return MEMORY_BEYOND;
    if (memory_freed(o))
        return MEMORY_FREED;
    if (!o->unified)
        return MEMORY_OF_KERNELS;
    if ((const unsigned char *)address >= o->base + o->bytes)
        return MEMORY_BEYOND;
    bool shared = __atomic_load_n(&o->touched, __ATOMIC_RELAXED) == TOUCHED_BY_SYSTEM_ATOMICS;
    return protection_is_guarded(o) && !shared && !memory_is_synchronised() ? MEMORY_NOT_SYNCHRONISED : MEMORY_FINE;
}

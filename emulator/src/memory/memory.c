/* Device memory: one reserved span of addresses, from which allocations are cut. Between them lies a gap of nothing,
 * and a freed range is used again only when no fresh one is left, so that a stale pointer stays recognisable. While the
 * host runs, the lower half is inaccessible; a launch or a copy opens it.
 *
 * Three areas share the table of objects: device memory, what both sides may touch (managed, pinned), and the heap of
 * the kernels, whose blocks are small and lie closer together. One lock guards the tables; kernels look addresses up
 * without it. */
#define _GNU_SOURCE
#include "memory/memory.h"
#include "run/device.h"
#include "run/fiber.h"
#include "api/graph.h"
#include "order/overlap.h"
#include "order/race.h"
#include "memory/ranges.h"
#include "report/report.h"
#include "report/signals.h"
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GAP (64u << 10)
#define SLAB ((size_t)16 << 20) /* device memory is opened by slabs: of those that hold nothing, the pages are gone */
#define HEAP_GAP 64u
#define HEAP_STEP ((size_t)1 << 20) /* the heap grows in slabs of this size */
#define HEAP_LIMIT ((size_t)8 << 20)
#define HEAP_ROOM 4 /* addresses for so many times the heap's limit: freed blocks stay recognisable */
#define MOST_OBJECTS ((uint32_t)4 << 20)

unsigned char *memory_base;
uint32_t *memory_map, *memory_heap_map;
struct object *memory_objects;

enum area_kind { AREA_DEVICE, AREA_UNIFIED, AREA_HEAP, AREAS };

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

struct detail {
    enum area_kind area;
    size_t granules; /* of the map that name it */
    bool listed[LISTS];
    uint32_t next[LISTS], before[LISTS];
    uint32_t spare; /* the next element that is not in use */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct area areas[AREAS];
static struct detail *details;
static uint32_t n_objects = 1, spare_objects; /* index 0 means none */
static uint32_t lists[LISTS];
static uint32_t slab_live[MEMORY_HEAP_START / SLAB]; /* how many live objects reach into each */
static uint32_t heap_live[MEMORY_HEAP_SPAN / HEAP_STEP];
static bool heap_touched[MEMORY_HEAP_SPAN / HEAP_STEP]; /* since it gave its pages back */
static unsigned users;                                  /* of memory_open */
static bool launched;                                   /* managed memory is the kernels' */
static unsigned long launches;
static size_t heap_limit = HEAP_LIMIT;

/* ---- start ---- */

static void start_areas(void)
{
    areas[AREA_DEVICE] = (struct area){
        .granule = MEMORY_GRANULE, .gap = GAP, .step = MEMORY_GRANULE, .map = memory_map};
    areas[AREA_UNIFIED] = areas[AREA_DEVICE];
    areas[AREA_HEAP] = (struct area){.granule = MEMORY_HEAP_GRANULE,
                                     .gap = HEAP_GAP,
                                     .step = HEAP_STEP,
                                     .start = MEMORY_HEAP_START,
                                     .map = memory_heap_map,
                                     .map_start = MEMORY_HEAP_START};
    areas[AREA_UNIFIED].start = MEMORY_HALF;
    areas[AREA_DEVICE].ranges.limit = MEMORY_HEAP_START;
    areas[AREA_UNIFIED].ranges.limit = MEMORY_SPAN;
    for (int i = 0; i < AREAS; i++) {
        areas[i].high = areas[i].start;
        areas[i].ranges.next = areas[i].start + areas[i].gap;
    }
}

static void reserve(void)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *base = mmap(NULL, MEMORY_SPAN + SLAB, PROT_NONE, flags, -1, 0);
    if (base == MAP_FAILED) {
        perror("simt: no address space for device memory");
        exit(2);
    }
    memory_map = base_reserve(MEMORY_SPAN / MEMORY_GRANULE * sizeof *memory_map);
    memory_heap_map = base_reserve(MEMORY_HEAP_SPAN / MEMORY_HEAP_GRANULE * sizeof *memory_heap_map);
    memory_objects = base_reserve(MOST_OBJECTS * sizeof *memory_objects);
    details = base_reserve(MOST_OBJECTS * sizeof *details);
    start_areas();
    signals_install();
    uintptr_t aligned = ((uintptr_t)base + SLAB - 1) / SLAB * SLAB;
    __atomic_store_n(&memory_base, (unsigned char *)aligned, __ATOMIC_RELEASE);
}

/* ---- lists of objects ---- */

static void list_add(enum list list, uint32_t index)
{
    struct detail *d = &details[index];
    d->listed[list] = true;
    d->before[list] = 0;
    d->next[list] = lists[list];
    if (lists[list])
        details[lists[list]].before[list] = index;
    lists[list] = index;
}

static void list_remove(enum list list, uint32_t index)
{
    struct detail *d = &details[index];
    if (!d->listed[list])
        return;
    d->listed[list] = false;
    if (d->before[list])
        details[d->before[list]].next[list] = d->next[list];
    else
        lists[list] = d->next[list];
    if (d->next[list])
        details[d->next[list]].before[list] = d->before[list];
}

static uint32_t take_entry(void)
{
    uint32_t index = spare_objects;
    if (index) {
        spare_objects = details[index].spare;
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
    details[index].spare = spare_objects;
    spare_objects = index;
}

/* ---- maps ---- */

static size_t rounded(const struct area *a, size_t bytes) { return (bytes + a->granule - 1) / a->granule * a->granule; }

static uint32_t *map_at(const struct area *a, size_t offset) { return &a->map[(offset - a->map_start) / a->granule]; }

/* Objects that lay in that range before are forgotten there, and for good when no granule names them any more. */
static void forget(struct area *a, size_t start, size_t bytes)
{
    size_t end = start + bytes < a->high ? start + bytes : a->high;
    for (size_t at = start; at < end; at += a->granule) {
        uint32_t *entry = map_at(a, at), index = *entry;
        if (!index)
            continue;
        __atomic_store_n(entry, 0, __ATOMIC_RELAXED);
        details[index].granules--;
        if (!details[index].granules)
            give_entry(index);
    }
}

static void name(struct area *a, size_t start, uint32_t index)
{
    size_t granules = rounded(a, memory_objects[index].bytes) / a->granule;
    uint32_t *entry = map_at(a, start);
    for (size_t i = 0; i < granules; i++)
        __atomic_store_n(&entry[i], index, __ATOMIC_RELEASE);
    details[index].granules = granules;
}

/* ---- protection ---- */

static bool is_guarded(const struct object *o) { return o->managed && !o->attached; }

static bool try_protect(size_t start, size_t bytes, int protection)
{
    return !bytes || !mprotect(memory_base + start, bytes, protection);
}

static void protect(size_t start, size_t bytes, int protection)
{
    if (try_protect(start, bytes, protection))
        return;
    perror("simt: cannot change the protection of device memory");
    exit(2);
}

/* The slabs with something in them, run by run. */
static void protect_device(int protection)
{
    size_t slabs = (areas[AREA_DEVICE].high + SLAB - 1) / SLAB, first = 0;
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

static void count_in_slabs(const struct object *o, uint32_t change)
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
    for (uint32_t i = lists[LIST_MANAGED]; i; i = details[i].next[LIST_MANAGED]) {
        const struct object *o = &memory_objects[i];
        if (protection != PROT_NONE || o->touched != TOUCHED_BY_SYSTEM_ATOMICS)
            protect((size_t)(o->base - memory_base), rounded(&areas[AREA_UNIFIED], o->bytes), protection);
    }
}

static void poison_object(uint32_t index)
{
    const struct object *o = &memory_objects[index];
    if (o->heap)
        memset(o->base, 0xff, o->bytes);
    else
        poison(o->base, rounded(&areas[AREA_DEVICE], o->bytes));
}

static void poison_waiting(void)
{
    while (lists[LIST_UNPOISONED]) {
        uint32_t index = lists[LIST_UNPOISONED];
        poison_object(index);
        list_remove(LIST_UNPOISONED, index);
    }
}

static void open_memory(void)
{
    protect_device(PROT_READ | PROT_WRITE);
    protect_heap(PROT_READ | PROT_WRITE);
    if (launched)
        protect_managed(PROT_READ | PROT_WRITE);
    poison_waiting();
}

static void close_memory(void)
{
    protect_device(PROT_NONE);
    protect_heap(PROT_NONE);
    give_heap_pages_back();
    if (launched)
        protect_managed(PROT_NONE);
}

void memory_open(void)
{
    pthread_mutex_lock(&lock);
    if (!users && memory_base)
        open_memory();
    users++;
    pthread_mutex_unlock(&lock);
}

void memory_close(void)
{
    pthread_mutex_lock(&lock);
    users--;
    if (!users && memory_base)
        close_memory();
    pthread_mutex_unlock(&lock);
}

void memory_launched(void)
{
    pthread_mutex_lock(&lock);
    if (!users && !launched)
        protect_managed(PROT_NONE);
    __atomic_store_n(&launched, true, __ATOMIC_RELEASE);
    __atomic_store_n(&launches, launches + 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

void memory_synchronised(void)
{
    pthread_mutex_lock(&lock);
    if (!users && launched)
        protect_managed(PROT_READ | PROT_WRITE);
    for (uint32_t i = lists[LIST_MANAGED]; i && !users; i = details[i].next[LIST_MANAGED])
        memory_objects[i].touched = 0;
    __atomic_store_n(&launched, false, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

unsigned long memory_launches(void) { return __atomic_load_n(&launches, __ATOMIC_ACQUIRE); }

/* ---- allocation, with the lock held ---- */

static void raise_high(struct area *a, size_t end)
{
    size_t high = a->high;
    if (end <= high)
        return;
    high += (end - high + a->step - 1) / a->step * a->step;
    __atomic_store_n(&a->high, high, __ATOMIC_RELEASE);
}

/* A new range becomes accessible if it is to be, and poisoned, or waits for that until memory is opened. */
static bool prepare(uint32_t index, size_t start, size_t bytes)
{
    const struct object *o = &memory_objects[index];
    if (o->heap)
        touch_heap(start, bytes);
    if (!o->unified && !users) {
        list_add(LIST_UNPOISONED, index);
        return true;
    }
    if (!o->heap && !try_protect(start, bytes, PROT_READ | PROT_WRITE))
        return false;
    poison_object(index);
    if (is_guarded(o) && launched && !users)
        protect(start, bytes, PROT_NONE);
    return true;
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
    struct area *a = &areas[like->heap ? AREA_HEAP : like->unified ? AREA_UNIFIED : AREA_DEVICE];
    memory_objects[index] = *like;
    memory_objects[index].base = memory_base + start;
    details[index] = (struct detail){.area = (enum area_kind)(a - areas)};
    raise_high(a, start + rounded(a, like->bytes) + a->gap);
    if (!prepare(index, start, rounded(a, like->bytes)))
        return false;
    watch(&memory_objects[index], start);
    list_add(LIST_LIVE, index);
    if (is_guarded(like))
        list_add(LIST_MANAGED, index);
    count_in_slabs(&memory_objects[index], 1);
    name(a, start, index);
    a->live += like->bytes;
    return true;
}

/* An object like that one, which has no base yet. NULL: there is no room. */
static void *cut(struct area *a, const struct object *like)
{
    size_t length = rounded(a, like->bytes) + a->gap;
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

/* The system forgets those pages, and its tables of them where [start, end) is a slab. */
static void drop_pages(uintptr_t start, uintptr_t end)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (mmap((void *)start, end - start, PROT_NONE, flags, -1, 0) == MAP_FAILED)
        madvise((void *)start, end - start, MADV_DONTNEED);
}

/* And those of the first and the last slab that it lay in, where it was the only one. */
static void give_device_pages_back(const struct object *o)
{
    size_t start = (size_t)(o->base - memory_base), end = start + rounded(&areas[AREA_DEVICE], o->bytes);
    size_t last = (end - 1) / SLAB;
    if (!slab_live[start / SLAB])
        start = start / SLAB * SLAB;
    if (!slab_live[last])
        end = (last + 1) * SLAB;
    drop_pages((uintptr_t)memory_base + start, (uintptr_t)memory_base + end);
}

static void give_pages_back(const struct object *o)
{
    if (o->heap)
        return; /* at the end of the launch, by slabs */
    if (!o->unified)
        give_device_pages_back(o);
    else
        drop_pages((uintptr_t)o->base, (uintptr_t)o->base + rounded(&areas[AREA_UNIFIED], o->bytes));
}

/* It stays in the map, as freed. */
static void release(struct object *o, const void *pc)
{
    uint32_t index = (uint32_t)(o - memory_objects);
    struct area *a = &areas[details[index].area];
    bool touched = !details[index].listed[LIST_UNPOISONED];
    for (int list = 0; list < LISTS; list++)
        list_remove((enum list)list, index);
    o->freed_at = pc;
    __atomic_store_n(&o->freed, true, __ATOMIC_RELEASE);
    unwatch(o);
    count_in_slabs(o, (uint32_t)-1);
    if (touched)
        give_pages_back(o);
    a->live -= o->bytes;
    ranges_give(&a->ranges, (size_t)(o->base - memory_base), rounded(a, o->bytes) + a->gap);
}

/* ---- the API ---- */

static size_t capacity(void)
{
    size_t host = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 4 * 3;
    size_t gpu = device_gpu()->memory;
    return host < gpu ? host : gpu;
}

static size_t live_bytes(void) { return areas[AREA_DEVICE].live + areas[AREA_UNIFIED].live; }

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    if (!free_bytes || !total_bytes)
        return simt_fail(cudaErrorInvalidValue);
    pthread_mutex_lock(&lock);
    *total_bytes = capacity();
    *free_bytes = *total_bytes - live_bytes();
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

static cudaError_t allocate(void **pointer, const struct object *like)
{
    if (!pointer)
        return simt_fail(cudaErrorInvalidValue);
    *pointer = NULL;
    if (like->bytes == 0)
        return cudaSuccess;
    pthread_mutex_lock(&lock);
    if (!memory_base)
        reserve();
    if (like->bytes <= capacity() - live_bytes())
        *pointer = cut(&areas[like->unified ? AREA_UNIFIED : AREA_DEVICE], like);
    pthread_mutex_unlock(&lock);
    return *pointer ? cudaSuccess : simt_fail(cudaErrorMemoryAllocation);
}

cudaError_t memory_allocate(void **pointer, size_t bytes, const void *pc)
{
    return allocate(pointer, &(struct object){.bytes = bytes, .made_at = pc});
}

static cudaError_t allocate_pinned(void **pointer, size_t bytes, unsigned flags, const void *pc)
{
    return allocate(pointer, &(struct object){.bytes = bytes, .unified = true, .host_flags = flags, .made_at = pc});
}

/* The object that begins there, whose freeing is asked for. NULL, and *why: there is none, or it is freed already. */
static struct object *to_free(const void *pointer, bool heap, const char **kind, const char **why)
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

/* Pinned memory is freed by one function of the API, all other memory by another. */
static cudaError_t free_object(void *pointer, bool pinned, const void *pc)
{
    const char *kind, *why;
    if (!pointer)
        return cudaSuccess;
    pthread_mutex_lock(&lock);
    struct object *o = to_free(pointer, false, &kind, &why);
    size_t bytes = o ? o->bytes : 0;
    if (o && (o->unified && !o->managed) != pinned) {
        kind = "bad free";
        why = !pinned      ? "Pinned memory is freed by cudaFreeHost, not by cudaFree."
              : o->managed ? "Managed memory is freed by cudaFree, not by cudaFreeHost."
                           : "Device memory is freed by cudaFree, not by cudaFreeHost.";
        o = NULL;
    }
    if (o)
        release(o, pc);
    pthread_mutex_unlock(&lock);
    if (!o)
        report_host(kind, pc, why);
    overlap_forget(pointer, bytes);
    return cudaSuccess;
}

/* It waits for all that the device has to do, but not where the memory is a stream's. */
static cudaError_t free_when_done(void *pointer, bool pinned, const void *pc)
{
    const struct object *o = memory_find(pointer);
    if (o && o->of_stream && !o->freed && o->base == pointer)
        overlap_host_frees(pointer, o->bytes, pc);
    else if (pointer)
        work_host_waits_for_all();
    return free_object(pointer, pinned, pc);
}

cudaError_t memory_free(void *pointer, const void *pc) { return free_when_done(pointer, false, pc); }

/* Memory that comes or goes as an operation of a stream: nobody may use it before, or behind. */
static void in_stream(cudaStream_t stream, const void *pointer, const char *what, const char *does, const char *did,
                      const void *pc)
{
    const struct object *o = memory_covers(pointer) ? memory_find(pointer) : NULL;
    if (!o || o->base != pointer || memory_freed(o) || graph_awaits(stream))
        return;
    struct work w = work_begin(stream, WORK_OTHER);
    overlap_touch(&w, (struct touch){.start = o->base,
                                     .pitch = o->bytes,
                                     .width = o->bytes,
                                     .height = 1,
                                     .store = true,
                                     .what = what,
                                     .does = does,
                                     .did = did,
                                     .pc = pc});
    work_end(&w);
}

static cudaError_t allocate_in_stream(void **pointer, size_t bytes, cudaStream_t stream, const void *pc)
{
    cudaError_t error = allocate(pointer, &(struct object){.bytes = bytes, .of_stream = true, .made_at = pc});
    if (error == cudaSuccess && *pointer)
        in_stream(stream, *pointer, "allocation", "makes", "made", pc);
    return error;
}

cudaError_t cudaMalloc(void **pointer, size_t bytes) { return memory_allocate(pointer, bytes, CALLER()); }

cudaError_t cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t stream)
{
    return allocate_in_stream(pointer, bytes, stream, CALLER());
}

cudaError_t cudaMallocFromPoolAsync(void **pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    return pool ? allocate_in_stream(pointer, bytes, stream, CALLER()) : simt_fail(cudaErrorInvalidValue);
}

cudaError_t cudaMallocPitch(void **pointer, size_t *pitch, size_t width_bytes, size_t height)
{
    size_t bytes;
    if (!pitch || width_bytes > MEMORY_SPAN)
        return simt_fail(cudaErrorInvalidValue);
    *pitch = (width_bytes + 511) / 512 * 512;
    if (__builtin_mul_overflow(*pitch, height, &bytes))
        return simt_fail(cudaErrorMemoryAllocation);
    return memory_allocate(pointer, bytes, CALLER());
}

cudaError_t cudaMallocManaged(void **pointer, size_t bytes, unsigned flags)
{
    struct object like = {
        .bytes = bytes, .unified = true, .managed = true, .attached = flags == cudaMemAttachHost, .made_at = CALLER()};
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)
        return simt_fail(cudaErrorInvalidValue);
    return allocate(pointer, &like);
}

/* Attached to one stream, it is the kernels' as any other. */
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *pointer, size_t bytes, unsigned flags)
{
    (void)stream, (void)bytes;
    pthread_mutex_lock(&lock);
    struct object *o = (struct object *)memory_find(pointer);
    bool ours = o && o->managed && !o->freed && o->base == pointer;
    if (ours) {
        uint32_t index = (uint32_t)(o - memory_objects);
        list_remove(LIST_MANAGED, index);
        o->attached = flags == cudaMemAttachHost;
        if (is_guarded(o))
            list_add(LIST_MANAGED, index);
        if (launched && !users)
            protect(memory_offset(pointer), rounded(&areas[AREA_UNIFIED], o->bytes),
                    is_guarded(o) ? PROT_NONE : PROT_READ | PROT_WRITE);
    }
    pthread_mutex_unlock(&lock);
    return ours ? cudaSuccess : simt_fail(cudaErrorInvalidValue);
}

cudaError_t cudaMallocHost(void **pointer, size_t bytes)
{
    return allocate_pinned(pointer, bytes, cudaHostAllocDefault, CALLER());
}

cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    return allocate_pinned(pointer, bytes, flags, CALLER());
}

cudaError_t cudaFree(void *pointer) { return memory_free(pointer, CALLER()); }

cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream)
{
    const void *pc = CALLER();
    if (graph_awaits(stream))
        return cudaSuccess; /* the next launch of the graph needs it again */
    in_stream(stream, pointer, "call of cudaFreeAsync", "frees", "freed", pc);
    return free_object(pointer, false, pc);
}

cudaError_t cudaFreeHost(void *pointer) { return free_when_done(pointer, true, CALLER()); }

/* ---- the kernels' heap ---- */

static size_t heap_room(void)
{
    return heap_limit < MEMORY_HEAP_SPAN / HEAP_ROOM ? heap_limit * HEAP_ROOM : MEMORY_HEAP_SPAN;
}

void *memory_heap_allocate(size_t bytes, const void *pc)
{
    struct area *a = &areas[AREA_HEAP];
    struct object like = {.bytes = bytes ? bytes : 1, .heap = true, .made_at = pc};
    void *pointer = NULL;
    pthread_mutex_lock(&lock);
    if (!memory_base)
        reserve();
    a->ranges.limit = MEMORY_HEAP_START + heap_room();
    if (a->live <= heap_limit && like.bytes <= heap_limit - a->live)
        pointer = cut(a, &like);
    pthread_mutex_unlock(&lock);
    return pointer;
}

void memory_heap_free(void *pointer, const void *pc)
{
    const char *kind, *why;
    if (!pointer)
        return;
    pthread_mutex_lock(&lock);
    struct object *o = to_free(pointer, true, &kind, &why);
    if (o)
        release(o, pc);
    pthread_mutex_unlock(&lock);
    if (!o)
        report_host(kind, pc, why);
}

cudaError_t memory_heap_limit(size_t bytes)
{
    cudaError_t error = cudaSuccess;
    pthread_mutex_lock(&lock);
    if (areas[AREA_HEAP].high > areas[AREA_HEAP].start)
        error = cudaErrorInvalidValue;
    else if (bytes > MEMORY_HEAP_SPAN)
        error = cudaErrorMemoryAllocation;
    else
        heap_limit = bytes;
    pthread_mutex_unlock(&lock);
    return error;
}

size_t memory_heap_limit_now(void)
{
    pthread_mutex_lock(&lock);
    size_t limit = heap_limit;
    pthread_mutex_unlock(&lock);
    return limit;
}

/* ---- looking up ---- */

void memory_each(void (*visit)(const struct object *object))
{
    pthread_mutex_lock(&lock);
    for (uint32_t i = lists[LIST_LIVE]; i; i = details[i].next[LIST_LIVE])
        if (memory_objects[i].cells)
            visit(&memory_objects[i]);
    pthread_mutex_unlock(&lock);
    symbol_each(visit);
    registered_each(visit);
}

/* The first object that the map names, from a granule on, upwards or downwards (step 1 or -1). */
static const struct object *toward(const struct area *a, size_t granule, size_t granules, int step)
{
    for (; granule < granules; granule += (size_t)step) { /* below 0 it wraps round, and ends as well */
        uint32_t index = __atomic_load_n(map_at(a, a->start + granule * a->granule), __ATOMIC_ACQUIRE);
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
    return nearest_in(&areas[offset >= MEMORY_HEAP_START ? AREA_HEAP : AREA_DEVICE], address);
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
        return MEMORY_OF_DEVICE;
    if ((const unsigned char *)address >= o->base + o->bytes)
        return MEMORY_BEYOND;
    bool shared = __atomic_load_n(&o->touched, __ATOMIC_RELAXED) == TOUCHED_BY_SYSTEM_ATOMICS;
    return is_guarded(o) && !shared && __atomic_load_n(&launched, __ATOMIC_ACQUIRE) ? MEMORY_NOT_SYNCHRONISED
                                                                                    : MEMORY_FINE;
}

/* ---- what the host does with it ---- */

static const char device_pointer[] = "device pointer on the host";
static const char not_synchronised[] = "managed memory before synchronising";
static const char synchronise_first
    [] = "A kernel may still be using that memory: call cudaDeviceSynchronize() before the host touches it.";

static void host_variable_access(const struct object *o, const unsigned char *p, size_t bytes, const void *pc)
{
    if (!o->managed)
        report_host(device_pointer, pc,
                    "A __device__ or __constant__ variable is the kernels': use cudaMemcpyToSymbol "
                    "and cudaMemcpyFromSymbol.");
    if (bytes > (size_t)(o->base + o->bytes - p))
        report_host("out of bounds", pc, "The access goes over the end of a __managed__ variable.");
    if (__atomic_load_n(&launched, __ATOMIC_ACQUIRE))
        report_host(not_synchronised, pc, synchronise_first);
}

void memory_host_access(const void *address, size_t bytes, enum access_kind kind, const void *pc)
{
    const struct object *o;
    bool store = access_stores(kind);
    bool strong = kind == ACCESS_VOLATILE_LOAD || kind == ACCESS_VOLATILE_STORE;
    if (!memory_covers(address)) {
        o = symbol_find(address);
        if (o)
            host_variable_access(o, address, bytes, pc);
        if (__atomic_load_n(&work_pending, __ATOMIC_RELAXED))
            overlap_host_access(address, bytes, store, strong, pc);
        return;
    }
    enum memory_state state = memory_host_fault(address, &o);
    bool over = state == MEMORY_FINE && bytes > (size_t)(o->base + o->bytes - (const unsigned char *)address);
    if (state == MEMORY_FREED)
        report_host("use after free", pc,
                    store ? "The host writes memory that the program has freed."
                          : "The host reads memory that the program has freed.");
    if (state == MEMORY_BEYOND || over)
        report_host("out of bounds", pc,
                    store ? "The host writes outside of any allocation." : "The host reads outside of any allocation.");
    if (state == MEMORY_OF_DEVICE)
        report_host(device_pointer, pc,
                    "Only kernels and the CUDA API may touch that memory: copy it with cudaMemcpy "
                    "first.");
    if (state == MEMORY_NOT_SYNCHRONISED)
        report_host(not_synchronised, pc, synchronise_first);
    if (__atomic_load_n(&work_pending, __ATOMIC_RELAXED))
        overlap_host_access(address, bytes, store, strong, pc);
}

/* ---- read-only parts of the program ---- */

struct segment {
    uintptr_t address, start, bytes; /* of which the address lies in */
};

static int find_read_only(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct segment *s = arg;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        bool read_only = (ph->p_type == PT_LOAD && !(ph->p_flags & PF_W)) || ph->p_type == PT_GNU_RELRO;
        uintptr_t start = info->dlpi_addr + ph->p_vaddr;
        if (!read_only || s->address - start >= ph->p_memsz)
            continue;
        s->start = start;
        s->bytes = ph->p_memsz;
        return 1;
    }
    return 0;
}

bool memory_is_constant(const void *address)
{
    static __thread struct segment last; /* found before */
    if ((uintptr_t)address - last.start < last.bytes)
        return true;
    struct segment s = {.address = (uintptr_t)address};
    if (!dl_iterate_phdr(find_read_only, &s))
        return false;
    last = s;
    return true;
}

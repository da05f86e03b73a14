/* Allocations, as the API asks for them: cut from the areas, no more than GPU and host have memory for. */
#include "memory/memory.h"
#include "base/gpu.h"
#include "base/report.h"
#include "memory/areas.h"
#include <unistd.h>

static size_t capacity(void)
{
    size_t host = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 4 * 3;
    size_t gpu = gpu_described()->memory;
    return host < gpu ? host : gpu;
}

static size_t live_bytes(void) { return areas[AREA_PLAIN].live + areas[AREA_UNIFIED].live; }

void memory_room(size_t *free_bytes, size_t *total_bytes)
{
    pthread_mutex_lock(&area_lock);
    *total_bytes = capacity();
    *free_bytes = *total_bytes - live_bytes();
    pthread_mutex_unlock(&area_lock);
}

void *memory_new(const struct object *like)
{
    void *pointer = NULL;
    pthread_mutex_lock(&area_lock);
    areas_reserve();
    if (like->bytes <= capacity() - live_bytes())
        pointer = area_cut(like->unified ? AREA_UNIFIED : AREA_PLAIN, like);
    pthread_mutex_unlock(&area_lock);
    return pointer;
}

size_t memory_delete(void *pointer, bool pinned, const void *pc)
{
    const char *kind, *why;
    pthread_mutex_lock(&area_lock);
    struct object *o = area_to_free(pointer, false, &kind, &why);
    size_t bytes = o ? o->bytes : 0;
    if (o && (o->unified && !o->managed) != pinned) {
        kind = "bad free";
        why = !pinned      ? "Pinned memory is freed by cudaFreeHost, not by cudaFree."
              : o->managed ? "Managed memory is freed by cudaFree, not by cudaFreeHost."
                           : "Device memory is freed by cudaFree, not by cudaFreeHost.";
        o = NULL;
    }
    if (o)
        area_release(o, pc);
    pthread_mutex_unlock(&area_lock);
    if (!o)
        report_host(kind, pc, why);
    return bytes;
}

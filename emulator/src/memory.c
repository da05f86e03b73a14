/* Device memory: one reserved range, from which allocations are cut and never given again, so that a stale pointer
 * stays recognisable. Between allocations lies at least a granule of nothing. While the host runs, the range is
 * inaccessible; a launch or a copy opens it. The upper half holds memory that both sides may touch (managed, pinned). */
#define _GNU_SOURCE
#include "simt.h"
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HALF (MEMORY_SPAN / 2)
#define GAP (64u << 10)

unsigned char *memory_base;
uint32_t *memory_map;
struct allocation *memory_allocations;
static unsigned n_allocations = 1, room; /* index 0 means none */
static size_t used[2] = {GAP, GAP};      /* bytes cut from each half */
static size_t live_bytes;

static void reserve(void)
{
    memory_base = mmap(NULL, MEMORY_SPAN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    memory_map = mmap(NULL, MEMORY_SPAN / MEMORY_GRANULE * sizeof *memory_map, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory_base == MAP_FAILED || memory_map == MAP_FAILED) perror("simt: no address space for device memory"), exit(2);
    report_install_handlers();
}

static size_t capacity(void)
{
    size_t host = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 4 * 3, gpu = device_gpu()->memory;
    return host < gpu ? host : gpu;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    *total_bytes = capacity();
    *free_bytes = *total_bytes - live_bytes;
    return cudaSuccess;
}

static size_t rounded(size_t bytes) { return (bytes + MEMORY_GRANULE - 1) / MEMORY_GRANULE * MEMORY_GRANULE; }

static cudaError_t allocate(void **pointer, size_t bytes, bool unified, const void *caller)
{
    if (!pointer) return simt_fail(cudaErrorInvalidValue);
    *pointer = NULL;
    if (bytes == 0) return cudaSuccess;
    if (!memory_base) reserve();
    if (bytes > capacity() - live_bytes || rounded(bytes) + GAP > HALF - used[unified]) return simt_fail(cudaErrorMemoryAllocation);
    if (n_allocations >= room) {
        room = room ? 2 * room : 256;
        memory_allocations = realloc(memory_allocations, room * sizeof *memory_allocations);
        if (!memory_allocations) perror("simt"), exit(2);
    }
    unsigned char *base = memory_base + unified * HALF + used[unified];
    if (unified && mprotect(base, rounded(bytes), PROT_READ | PROT_WRITE)) return simt_fail(cudaErrorMemoryAllocation);
    used[unified] += rounded(bytes) + GAP;
    live_bytes += bytes;
    void *shadow = simt_checked ? mmap(NULL, race_global_shadow_bytes(bytes), PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : NULL;
    memory_allocations[n_allocations] = (struct allocation){base, bytes, false, unified, caller, NULL, shadow == MAP_FAILED ? NULL : shadow};
    size_t first = (size_t)(base - memory_base) / MEMORY_GRANULE;
    for (size_t i = 0; i < rounded(bytes) / MEMORY_GRANULE; i++) memory_map[first + i] = n_allocations;
    n_allocations++;
    *pointer = base;
    return cudaSuccess;
}

static cudaError_t release(void *pointer, bool unified, const void *caller)
{
    if (!pointer) return cudaSuccess;
    struct allocation *a = (struct allocation *)memory_find(pointer);
    if (!a || a->base != pointer)
        report_host("bad free", caller, "The pointer is not one that an allocation of the CUDA API returned.");
    if (a->freed) report_host("double free", caller, "This allocation was freed before.");
    if (a->unified != unified && unified)
        report_host("bad free", caller, "Device memory is freed by cudaFree, not by cudaFreeHost.");
    a->freed = true;
    a->freed_at = caller;
    live_bytes -= a->bytes;
    madvise(a->base, rounded(a->bytes), MADV_DONTNEED);
    if (a->shadow) munmap(a->shadow, race_global_shadow_bytes(a->bytes));
    a->shadow = NULL;
    return cudaSuccess;
}

bool memory_is_device(const void *address)
{
    return memory_base && (size_t)((const unsigned char *)address - memory_base) < HALF;
}

bool memory_is_unified(const void *address)
{
    return memory_base && (size_t)((const unsigned char *)address - memory_base) - HALF < HALF;
}

const struct allocation *memory_find(const void *address)
{
    size_t offset = (size_t)((const unsigned char *)address - memory_base);
    if (!memory_base || offset >= MEMORY_SPAN || !memory_map[offset / MEMORY_GRANULE]) return NULL;
    return &memory_allocations[memory_map[offset / MEMORY_GRANULE]];
}

const struct allocation *memory_nearest(const void *address)
{
    const unsigned char *p = address;
    const struct allocation *best = NULL;
    size_t distance = ~(size_t)0;
    for (unsigned i = 1; i < n_allocations; i++) {
        const struct allocation *a = &memory_allocations[i];
        size_t d = p < a->base ? (size_t)(a->base - p) : (size_t)(p - (a->base + a->bytes));
        if (p >= a->base && p < a->base + a->bytes) d = 0;
        if (d < distance) distance = d, best = a;
    }
    return best;
}

void memory_device_mode(bool on)
{
    if (memory_base && mprotect(memory_base, used[0], on ? PROT_READ | PROT_WRITE : PROT_NONE))
        perror("simt: cannot change the protection of device memory"), exit(2);
}

/* ---- the program's own variables ---- */

/* The linker marks where the sections that simt-translate names begin and end. */
extern char __start_simt_device[] __attribute__((weak)), __stop_simt_device[] __attribute__((weak));
extern char __start_simt_managed[] __attribute__((weak)), __stop_simt_managed[] __attribute__((weak));

static bool within(const void *address, const char *start, const char *stop)
{
    return start && (const char *)address >= start && (const char *)address < stop;
}

bool memory_is_managed(const void *address) { return within(address, __start_simt_managed, __stop_simt_managed); }

bool memory_is_symbol(const void *address)
{
    return within(address, __start_simt_device, __stop_simt_device) || memory_is_managed(address);
}

size_t memory_symbols(const char **start)
{
    const char *first = __start_simt_device, *last = __stop_simt_device;
    if (!first || (__start_simt_managed && __start_simt_managed < first)) first = __start_simt_managed;
    if (!last || (__stop_simt_managed && __stop_simt_managed > last)) last = __stop_simt_managed;
    *start = (const char *)((uintptr_t)first & ~(uintptr_t)3);
    return (size_t)(last - *start);
}

static int find_read_only(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        bool read_only = (ph->p_type == PT_LOAD && !(ph->p_flags & PF_W)) || ph->p_type == PT_GNU_RELRO;
        if (read_only && *(uintptr_t *)arg - (info->dlpi_addr + ph->p_vaddr) < ph->p_memsz) return 1;
    }
    return 0;
}

bool memory_is_constant(const void *address)
{
    uintptr_t p = (uintptr_t)address;
    return dl_iterate_phdr(find_read_only, &p) != 0;
}

/* ---- the API ---- */

cudaError_t cudaMalloc(void **pointer, size_t bytes) { return allocate(pointer, bytes, false, CALLER()); }
cudaError_t cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t stream)
{
    (void)stream;
    return allocate(pointer, bytes, false, CALLER());
}
cudaError_t cudaMallocManaged(void **pointer, size_t bytes, unsigned flags)
{
    (void)flags;
    return allocate(pointer, bytes, true, CALLER());
}
cudaError_t cudaMallocHost(void **pointer, size_t bytes) { return allocate(pointer, bytes, true, CALLER()); }
cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    (void)flags;
    return allocate(pointer, bytes, true, CALLER());
}
cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    (void)flags;
    *device = host;
    return memory_is_unified(host) ? cudaSuccess : simt_fail(cudaErrorInvalidValue);
}
cudaError_t cudaMallocPitch(void **pointer, size_t *pitch, size_t width_bytes, size_t height)
{
    *pitch = (width_bytes + 511) / 512 * 512;
    return allocate(pointer, *pitch * height, false, CALLER());
}
cudaError_t cudaFree(void *pointer) { return release(pointer, false, CALLER()); }
cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream)
{
    (void)stream;
    return release(pointer, false, CALLER());
}
cudaError_t cudaFreeHost(void *pointer) { return release(pointer, true, CALLER()); }

/* Is [p, p + bytes) memory of the side asked for? Device: wholly inside one live allocation or a symbol. */
static bool on_side(const void *p, size_t bytes, bool device)
{
    const struct allocation *a = memory_find(p);
    if (memory_is_device(p) || memory_is_unified(p)) {
        if (!a || a->freed || (size_t)((const unsigned char *)p - a->base) > a->bytes ||
            bytes > a->bytes - (size_t)((const unsigned char *)p - a->base))
            return false;
        return device || a->unified;
    }
    return device ? memory_is_symbol(p) : true;
}

static cudaError_t check_copy(const void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    if (kind == cudaMemcpyDefault) {
        to_device = memory_is_device(to);
        from_device = memory_is_device(from);
    }
    return on_side(to, bytes, to_device) && on_side(from, bytes, from_device) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width_bytes,
                         size_t height, enum cudaMemcpyKind kind)
{
    if (width_bytes == 0 || height == 0) return cudaSuccess;
    if (height > 1 && (width_bytes > to_pitch || width_bytes > from_pitch)) return simt_fail(cudaErrorInvalidPitchValue);
    cudaError_t error = check_copy(to, from, width_bytes, kind);
    if (error == cudaSuccess)
        error = check_copy((char *)to + (height - 1) * to_pitch, (const char *)from + (height - 1) * from_pitch,
                           width_bytes, kind);
    if (simt_fail(error) != cudaSuccess) return error;
    memory_device_mode(true);
    for (size_t row = 0; row < height; row++)
        memmove((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width_bytes);
    memory_device_mode(false);
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    return cudaMemcpy2D(to, bytes, from, bytes, bytes, 1, kind);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    (void)stream;
    return cudaMemcpy2D(to, bytes, from, bytes, bytes, 1, kind);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width_bytes,
                              size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    (void)stream;
    return cudaMemcpy2D(to, to_pitch, from, from_pitch, width_bytes, height, kind);
}

cudaError_t cudaMemset2D(void *pointer, size_t pitch, int value, size_t width_bytes, size_t height)
{
    if (width_bytes == 0 || height == 0) return cudaSuccess;
    if (height > 1 && width_bytes > pitch) return simt_fail(cudaErrorInvalidPitchValue);
    if (!on_side(pointer, width_bytes, true) || !on_side((char *)pointer + (height - 1) * pitch, width_bytes, true))
        return simt_fail(cudaErrorInvalidValue);
    memory_device_mode(true);
    for (size_t row = 0; row < height; row++) memset((char *)pointer + row * pitch, value, width_bytes);
    memory_device_mode(false);
    return cudaSuccess;
}

cudaError_t cudaMemset(void *pointer, int value, size_t bytes) { return cudaMemset2D(pointer, bytes, value, bytes, 1); }

cudaError_t cudaMemsetAsync(void *pointer, int value, size_t bytes, cudaStream_t stream)
{
    (void)stream;
    return cudaMemset2D(pointer, bytes, value, bytes, 1);
}

cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t bytes, int device, cudaStream_t stream)
{
    (void)device, (void)stream;
    return on_side(pointer, bytes, true) ? cudaSuccess : simt_fail(cudaErrorInvalidValue);
}

cudaError_t cudaMemAdvise(const void *pointer, size_t bytes, int advice, int device)
{
    return (void)advice, cudaMemPrefetchAsync(pointer, bytes, device, NULL);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer)
{
    bool device = memory_is_device(pointer), unified = memory_is_unified(pointer);
    attributes->type = device ? cudaMemoryTypeDevice : unified ? cudaMemoryTypeManaged : cudaMemoryTypeUnregistered;
    attributes->device = 0;
    attributes->devicePointer = device || unified ? (void *)pointer : NULL;
    attributes->hostPointer = device ? NULL : (void *)pointer;
    return cudaSuccess;
}

/* Where may a kernel's access go? To shared memory, inside an array; to device memory, inside a live allocation; to
 * __device__ and __constant__ variables; to its own stack (local memory); to the launch's parameters; and, for reading,
 * to the program's constants. Everything else is the host's. */
#include "simt.h"

void check_access(struct worker *w, const void *pc, const void *address, unsigned bytes, enum access kind)
{
    const unsigned char *p = address;
    size_t offset = (size_t)(p - w->arena);
    if (offset < SHARED_BYTES) {
        if ((uintptr_t)p & (bytes - 1)) report_access(w, "misaligned access", pc, p, bytes, kind, "");
        if (!shared_region(w, (unsigned)offset, bytes)) report_access(w, "out of bounds", pc, p, bytes, kind, "");
        if (kind == ACCESS_VOLATILE_LOAD) kind = ACCESS_LOAD; /* volatile orders nothing between threads of a block */
        if (kind == ACCESS_VOLATILE_STORE) kind = ACCESS_STORE;
        race_access(w, pc, (unsigned)offset, bytes, kind);
        return;
    }
    offset = (size_t)(p - memory_base);
    if (offset < MEMORY_SPAN && memory_base) {
        uint32_t index = memory_map[offset / MEMORY_GRANULE];
        const struct allocation *a = &memory_allocations[index];
        if ((uintptr_t)p & (bytes - 1)) report_access(w, "misaligned access", pc, p, bytes, kind, "");
        if (!index || p + bytes > a->base + a->bytes) report_access(w, "out of bounds", pc, p, bytes, kind, "");
        if (a->freed) report_access(w, "use after free", pc, p, bytes, kind, "");
        if (w->launch->blocks > 1 && a->shadow) race_global_access(w, pc, p, bytes, kind, a->shadow, (size_t)(p - a->base));
        return;
    }
    if ((size_t)(p - w->stacks) < (size_t)MAX_THREADS * STACK_SLOT) return;
    if ((size_t)(p - (const unsigned char *)w->launch->call->params) < w->launch->call->params_bytes) return;
    if ((size_t)((const char *)address - (const char *)simt_block_dim) < sizeof simt_block_dim ||
        (size_t)((const char *)address - (const char *)simt_grid_dim) < sizeof simt_grid_dim)
        return;
    if (memory_is_symbol(p)) {
        if (w->launch->blocks > 1) race_global_symbol(w, pc, p, bytes, kind);
        return;
    }
    if ((kind == ACCESS_LOAD || kind == ACCESS_VOLATILE_LOAD) && memory_is_constant(p)) return;
    if ((uintptr_t)p < 65536)
        report_access(w, "invalid address", pc, p, bytes, kind, "That is a null pointer, or next to one.");
    report_access(w, "host pointer in a kernel", pc, p, bytes, kind,
                  "That memory belongs to the host; a kernel sees what cudaMalloc and its like returned.");
}

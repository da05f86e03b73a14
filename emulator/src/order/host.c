/* The host may touch what is its own: not what only kernels may, and managed memory only once it has synchronised. */
#include "order/host.h"
#include "base/report.h"
#include "memory/memory.h"
#include "memory/protection.h"
#include "memory/symbols.h"
#include "order/overlap.h"

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
    if (!memory_is_synchronised())
        report_host(not_synchronised, pc, synchronise_first);
}

void host_access(const void *address, size_t bytes, enum access_kind kind, const void *pc)
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
    if (state == MEMORY_OF_KERNELS)
        report_host(device_pointer, pc,
                    "Only kernels and the CUDA API may touch that memory: copy it with cudaMemcpy "
                    "first.");
    if (state == MEMORY_NOT_SYNCHRONISED)
        report_host(not_synchronised, pc, synchronise_first);
    if (__atomic_load_n(&work_pending, __ATOMIC_RELAXED))
        overlap_host_access(address, bytes, store, strong, pc);
}

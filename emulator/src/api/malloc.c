/* new, delete, malloc and free as kernels call them. simtcc gives the calls in a .cu file these names; on the host they
 * are the C and C++ libraries' own, which are called by their mangled names. Only the program calls this. */
#include "base/report.h"
#include "block/worker.h"
#include "memory/heap.h"
#include "memory/memory.h"
#include "order/overlap.h"
#include <stdlib.h>

/* The C++ library's. Where a program is linked without it, the C library's take their place. */
void *_Znwm(size_t) __attribute__((weak));
void *_Znam(size_t) __attribute__((weak));
void *_ZnwmSt11align_val_t(size_t, size_t) __attribute__((weak));
void *_ZnamSt11align_val_t(size_t, size_t) __attribute__((weak));
void *_ZnwmRKSt9nothrow_t(size_t, const void *) __attribute__((weak));
void *_ZnamRKSt9nothrow_t(size_t, const void *) __attribute__((weak));
void _ZdlPv(void *) __attribute__((weak));
void _ZdaPv(void *) __attribute__((weak));
void _ZdlPvm(void *, size_t) __attribute__((weak));
void _ZdaPvm(void *, size_t) __attribute__((weak));
void _ZdlPvSt11align_val_t(void *, size_t) __attribute__((weak));
void _ZdaPvSt11align_val_t(void *, size_t) __attribute__((weak));
void _ZdlPvmSt11align_val_t(void *, size_t, size_t) __attribute__((weak));
void _ZdaPvmSt11align_val_t(void *, size_t, size_t) __attribute__((weak));
void _ZdlPvRKSt9nothrow_t(void *, const void *) __attribute__((weak));
void _ZdaPvRKSt9nothrow_t(void *, const void *) __attribute__((weak));

/* A program that defines its own operator new defines it under these names: then ours give way. */
#define OURS __attribute__((weak))

/* Blocks lie at multiples of 64 bytes, so no alignment up to that needs anything. */
static void *from_heap(size_t bytes, size_t alignment, const void *pc)
{
    return alignment <= MEMORY_HEAP_GRANULE ? heap_allocate(bytes, pc) : NULL;
}

/* Before the host frees something. */
static void check_host_free(void *pointer, const void *pc)
{
    const struct object *o = memory_covers(pointer) ? memory_find(pointer) : NULL;
    if (!memory_covers(pointer)) {
        overlap_forget_block(pointer);
        return;
    }
    if (o && o->heap)
        report_host("bad free", pc, "What new or malloc in a kernel returned is freed in a kernel, not on the host.");
    report_host("bad free", pc, "What an allocation of the CUDA API returned is freed by cudaFree or cudaFreeHost.");
}

/* What the host has been given, nobody else uses any more. */
static void *fresh(void *block)
{
    overlap_forget_block(block);
    return block;
}

OURS void *simt_malloc(size_t bytes) { return simt_worker ? heap_allocate(bytes, CALLER()) : fresh(malloc(bytes)); }

OURS void simt_free(void *pointer)
{
    if (simt_worker) {
        heap_free(pointer, CALLER());
        return;
    }
    check_host_free(pointer, CALLER());
    free(pointer);
}

#define NEW(NAME, HOST) \
    OURS void *NAME(size_t bytes) \
    { \
        if (simt_worker) \
            return heap_allocate(bytes, CALLER()); \
        return fresh(HOST ? HOST(bytes) : malloc(bytes)); \
    }
NEW(simt_new, _Znwm)
NEW(simt_new_array, _Znam)

#define NEW_ALIGNED(NAME, HOST) \
    OURS void *NAME(size_t bytes, size_t alignment) \
    { \
        if (simt_worker) \
            return from_heap(bytes, alignment, CALLER()); \
        return fresh(HOST ? HOST(bytes, alignment) : aligned_alloc(alignment, bytes)); \
    }
NEW_ALIGNED(simt_new_aligned, _ZnwmSt11align_val_t)
NEW_ALIGNED(simt_new_array_aligned, _ZnamSt11align_val_t)

#define NEW_NOTHROW(NAME, HOST) \
    OURS void *NAME(size_t bytes, const void *nothrow) \
    { \
        if (simt_worker) \
            return heap_allocate(bytes, CALLER()); \
        return fresh(HOST ? HOST(bytes, nothrow) : malloc(bytes)); \
    }
NEW_NOTHROW(simt_new_nothrow, _ZnwmRKSt9nothrow_t)
NEW_NOTHROW(simt_new_array_nothrow, _ZnamRKSt9nothrow_t)

/* PARAMETERS and ARGUMENTS: what comes after the pointer. */
#define DELETE(NAME, HOST, PARAMETERS, ARGUMENTS) \
    OURS void NAME PARAMETERS \
    { \
        if (simt_worker) { \
            heap_free(pointer, CALLER()); \
            return; \
        } \
        check_host_free(pointer, CALLER()); \
        if (HOST) \
            HOST ARGUMENTS; \
        else \
            free(pointer); \
    }
DELETE(simt_delete, _ZdlPv, (void *pointer), (pointer))
DELETE(simt_delete_array, _ZdaPv, (void *pointer), (pointer))
DELETE(simt_delete_sized, _ZdlPvm, (void *pointer, size_t bytes), (pointer, bytes))
DELETE(simt_delete_array_sized, _ZdaPvm, (void *pointer, size_t bytes), (pointer, bytes))
DELETE(simt_delete_aligned, _ZdlPvSt11align_val_t, (void *pointer, size_t alignment), (pointer, alignment))
DELETE(simt_delete_array_aligned, _ZdaPvSt11align_val_t, (void *pointer, size_t alignment), (pointer, alignment))
DELETE(simt_delete_sized_aligned, _ZdlPvmSt11align_val_t, (void *pointer, size_t bytes, size_t alignment),
       (pointer, bytes, alignment))
DELETE(simt_delete_array_sized_aligned, _ZdaPvmSt11align_val_t, (void *pointer, size_t bytes, size_t alignment),
       (pointer, bytes, alignment))
DELETE(simt_delete_nothrow, _ZdlPvRKSt9nothrow_t, (void *pointer, const void *nothrow), (pointer, nothrow))
DELETE(simt_delete_array_nothrow, _ZdaPvRKSt9nothrow_t, (void *pointer, const void *nothrow), (pointer, nothrow))

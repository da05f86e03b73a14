/* cudaMalloc, cudaFree and their like. */
#include "api/allocate.h"
#include "api/graph.h"
#include "base/errors.h"
#include "memory/memory.h"
#include "memory/protection.h"
#include "memory/registered.h"
#include "order/overlap.h"

static cudaError_t allocate(void **pointer, const struct object *like)
{
    if (!pointer)
        return simt_fail(cudaErrorInvalidValue);
    *pointer = NULL;
    if (like->bytes == 0)
        return cudaSuccess;
    *pointer = memory_new(like);
    return *pointer ? cudaSuccess : simt_fail(cudaErrorMemoryAllocation);
}

cudaError_t allocate_plain(void **pointer, size_t bytes, const void *pc)
{
    return allocate(pointer, &(struct object){.bytes = bytes, .made_at = pc});
}

static cudaError_t allocate_pinned(void **pointer, size_t bytes, unsigned flags, const void *pc)
{
    return allocate(pointer, &(struct object){.bytes = bytes, .unified = true, .host_flags = flags, .made_at = pc});
}

/* Pinned memory is freed by one function of the API, all other memory by another. */
static cudaError_t free_object(void *pointer, bool pinned, const void *pc)
{
    if (pointer)
        overlap_forget(pointer, memory_delete(pointer, pinned, pc));
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

cudaError_t free_plain(void *pointer, const void *pc) { return free_when_done(pointer, false, pc); }

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

cudaError_t cudaMalloc(void **pointer, size_t bytes) { return allocate_plain(pointer, bytes, CALLER()); }

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
    return allocate_plain(pointer, bytes, CALLER());
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
    return memory_attach(pointer, flags == cudaMemAttachHost) ? cudaSuccess : simt_fail(cudaErrorInvalidValue);
}

cudaError_t cudaMallocHost(void **pointer, size_t bytes)
{
    return allocate_pinned(pointer, bytes, cudaHostAllocDefault, CALLER());
}

cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    return allocate_pinned(pointer, bytes, flags, CALLER());
}

cudaError_t cudaFree(void *pointer) { return free_plain(pointer, CALLER()); }

cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream)
{
    const void *pc = CALLER();
    if (graph_awaits(stream))
        return cudaSuccess; /* the next launch of the graph needs it again */
    in_stream(stream, pointer, "call of cudaFreeAsync", "frees", "freed", pc);
    return free_object(pointer, false, pc);
}

cudaError_t cudaFreeHost(void *pointer) { return free_when_done(pointer, true, CALLER()); }

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    if (!free_bytes || !total_bytes)
        return simt_fail(cudaErrorInvalidValue);
    memory_room(free_bytes, total_bytes);
    return cudaSuccess;
}

cudaError_t cudaHostRegister(void *host, size_t bytes, unsigned flags)
{
    unsigned known = cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterReadOnly;
    if (!host || !bytes || flags & ~known || memory_covers(host))
        return simt_fail(cudaErrorInvalidValue);
    return simt_fail(registered_add(host, bytes, flags, CALLER()));
}

cudaError_t cudaHostUnregister(void *host)
{
    work_host_waits_for_all();
    if (registered_remove(host))
        return cudaSuccess;
    return simt_fail(host ? cudaErrorHostMemoryNotRegistered : cudaErrorInvalidValue);
}

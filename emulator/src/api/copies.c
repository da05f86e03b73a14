/* Copies and fills of the runtime API. Both sides are looked at before a byte moves: wholly inside one live allocation
 * or one variable, or the host's. What is copied to device memory counts as written, unless it comes from device memory
 * that nobody has written. */
#include "api/copies.h"
#include "api/graph.h"
#include "base/errors.h"
#include "base/report.h"
#include "memory/memory.h"
#include "memory/protection.h"
#include "memory/registered.h"
#include "memory/symbols.h"
#include "memory/written.h"
#include "order/overlap.h"
#include <string.h>

/* One side: rows of some bytes, `pitch` bytes apart. */
struct side {
    unsigned char *start;
    size_t pitch;
    const struct object *object; /* NULL: the host's own memory */
};

/* Bytes from the first row's start to the last one's end. */
static bool span_of(size_t pitch, size_t width, size_t height, size_t *span)
{
    size_t rows;
    if (__builtin_mul_overflow(pitch, height - 1, &rows))
        return false;
    return !__builtin_add_overflow(rows, width, span);
}

/* False: it is nobody's, or freed, or goes over an end. The API knows nothing of the kernels' heap. */
static bool look(struct side *s, size_t width, size_t height)
{
    size_t span;
    if (!s->start || !span_of(s->pitch, width, height, &span))
        return false;
    s->object = memory_covers(s->start) ? memory_find(s->start) : symbol_find(s->start);
    if (!s->object)
        return !memory_covers(s->start);
    if (memory_freed(s->object) || s->object->heap)
        return false;
    size_t offset = (size_t)(s->start - s->object->base);
    return offset < s->object->bytes && span <= s->object->bytes - offset;
}

static bool may_be_host(const struct side *s) { return !s->object || s->object->unified; }

static cudaError_t check_direction(const struct side *to, const struct side *from, enum cudaMemcpyKind kind)
{
    bool fits = true;
    switch (kind) {
    case cudaMemcpyHostToHost: fits = may_be_host(to) && may_be_host(from); break;
    case cudaMemcpyHostToDevice: fits = to->object && may_be_host(from); break;
    case cudaMemcpyDeviceToHost: fits = may_be_host(to) && from->object; break;
    case cudaMemcpyDeviceToDevice: fits = to->object && from->object; break;
    case cudaMemcpyDefault: break;
    default: return cudaErrorInvalidMemcpyDirection;
    }
    return fits ? cudaSuccess : cudaErrorInvalidValue;
}

static size_t offset_of(const struct side *s, size_t row)
{
    return (size_t)(s->start - s->object->base) + row * s->pitch;
}

static void copy_row(const struct side *to, const struct side *from, size_t row, size_t width)
{
    memmove(to->start + row * to->pitch, from->start + row * from->pitch, width);
    if (!to->object)
        return;
    if (from->object)
        written_copy(to->object, offset_of(to, row), from->object, offset_of(from, row), width);
    else
        written_mark(to->object, offset_of(to, row), width);
}

/* A copy to the host of what neither a copy nor a kernel has written any byte of: the kernel that was to was forgotten.
 */
static void check_written(const struct side *to, const struct side *from, size_t width, size_t height, const void *pc)
{
    if (to->object || !from->object || !from->object->written)
        return;
    for (size_t row = 0; row < height; row++)
        if (written_any(from->object, offset_of(from, row), width))
            return;
    report_host("uninitialised global memory", pc,
                "Neither a copy nor a kernel has written any of what is copied to the host.");
}

/* A copy as a stream or a graph has it. */
struct kept_copy {
    struct side to, from;
    size_t width, height;
    enum cudaMemcpyKind kind;
    cudaStream_t stream;
    const void *pc;
};

static bool is_pageable(const struct side *s) { return !s->object && !registered_find(s->start); }

static void touch(const struct work *w, const struct side *s, size_t width, size_t height, bool store, const char *what,
                  const void *pc)
{
    overlap_touch(w, (struct touch){.start = s->start,
                                    .pitch = s->pitch,
                                    .width = width,
                                    .height = height,
                                    .store = store,
                                    .what = what,
                                    .pc = pc});
}

/* Its place among the operations of streams. What lies in pageable memory is staged before the call returns, or the host
 * waits for it; in a graph it is written when the graph comes to it. */
static void order_copy(const struct kept_copy *k, const struct side *to, const struct side *from)
{
    struct work w = work_begin(k->stream, WORK_OTHER);
    bool in_graph = work_in_branch();
    if (!is_pageable(from))
        touch(&w, from, k->width, k->height, false, "copy", k->pc);
    if (!is_pageable(to) || in_graph)
        touch(&w, to, k->width, k->height, true, "copy", k->pc);
    bool host_to_host = (!from->object || from->object->unified) && (!to->object || to->object->unified);
    if (!in_graph && (is_pageable(to) || (host_to_host && (is_pageable(from) || is_pageable(to)))))
        work_host_waits_for(&w);
    work_end(&w);
}

static cudaError_t copy(const struct kept_copy *k)
{
    struct side to = k->to, from = k->from;
    size_t width = k->width, height = k->height;
    enum cudaMemcpyKind kind = k->kind;
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
        return simt_fail(cudaErrorInvalidMemcpyDirection);
    if (width == 0 || height == 0)
        return cudaSuccess;
    if (height > 1 && (width > to.pitch || width > from.pitch))
        return simt_fail(cudaErrorInvalidPitchValue);
    if (!look(&to, width, height) || !look(&from, width, height))
        return simt_fail(cudaErrorInvalidValue);
    cudaError_t error = check_direction(&to, &from, kind);
    if (error != cudaSuccess)
        return simt_fail(error);
    check_written(&to, &from, width, height, k->pc);
    order_copy(k, &to, &from);
    memory_open();
    for (size_t row = 0; row < height; row++)
        copy_row(&to, &from, row, width);
    memory_close();
    return cudaSuccess;
}

/* The host waits for a copy that is not asynchronous, except for one from device to device. */
static cudaError_t synchronise_after(cudaError_t error, enum cudaMemcpyKind kind)
{
    if (error != cudaSuccess || kind == cudaMemcpyDeviceToDevice)
        return error;
    memory_synchronised();
    work_host_waits_for_stream(NULL);
    return cudaSuccess;
}

static struct side side(const void *start, size_t pitch) { return (struct side){(unsigned char *)start, pitch, NULL}; }

static cudaError_t copy_kept(void *payload) { return copy(payload); }

static cudaError_t copy_in(struct kept_copy k)
{
    return graph_takes(k.stream, cudaGraphNodeTypeMemcpy, copy_kept, &k, sizeof k) ? cudaSuccess : copy(&k);
}

cudaError_t copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                      enum cudaMemcpyKind kind, cudaStream_t stream, const void *pc)
{
    return copy_in((struct kept_copy){side(to, to_pitch), side(from, from_pitch), width, height, kind, stream, pc});
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width_bytes,
                              size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy_rows(to, to_pitch, from, from_pitch, width_bytes, height, kind, stream, CALLER());
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width_bytes,
                         size_t height, enum cudaMemcpyKind kind)
{
    return synchronise_after(copy_rows(to, to_pitch, from, from_pitch, width_bytes, height, kind, NULL, CALLER()),
                             kind);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy_rows(to, bytes, from, bytes, bytes, 1, kind, stream, CALLER());
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    return synchronise_after(copy_rows(to, bytes, from, bytes, bytes, 1, kind, NULL, CALLER()), kind);
}

static cudaError_t between(void *to, int to_device, const void *from, int from_device, size_t bytes,
                           cudaStream_t stream, const void *pc)
{
    if (to_device || from_device)
        return simt_fail(cudaErrorInvalidDevice);
    return copy_rows(to, bytes, from, bytes, bytes, 1, cudaMemcpyDeviceToDevice, stream, pc);
}

/* In turn with all other work of the device. */
cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    work_host_waits_for_all();
    cudaError_t error = between(to, to_device, from, from_device, bytes, NULL, CALLER());
    work_host_waits_for_all();
    return error;
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                                cudaStream_t stream)
{
    return between(to, to_device, from, from_device, bytes, stream, CALLER());
}

/* ---- fills ---- */

struct kept_fill {
    struct side side;
    int value;
    size_t width, height;
    cudaStream_t stream;
    const void *pc;
};

static cudaError_t fill(const struct kept_fill *k)
{
    struct side s = k->side;
    size_t width = k->width, height = k->height;
    if (width == 0 || height == 0)
        return cudaSuccess;
    if (height > 1 && width > s.pitch)
        return simt_fail(cudaErrorInvalidPitchValue);
    if (!look(&s, width, height) || !s.object)
        return simt_fail(cudaErrorInvalidValue);
    struct work w = work_begin(k->stream, WORK_OTHER);
    touch(&w, &s, width, height, true, "fill", k->pc);
    work_end(&w);
    memory_open();
    for (size_t row = 0; row < height; row++) {
        memset(s.start + row * s.pitch, k->value, width);
        written_mark(s.object, offset_of(&s, row), width);
    }
    memory_close();
    return cudaSuccess;
}

static cudaError_t fill_kept(void *payload) { return fill(payload); }

static cudaError_t fill_in(struct kept_fill k)
{
    return graph_takes(k.stream, cudaGraphNodeTypeMemset, fill_kept, &k, sizeof k) ? cudaSuccess : fill(&k);
}

cudaError_t fill_rows(void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream,
                      const void *pc)
{
    return fill_in((struct kept_fill){side(to, pitch), value, width, height, stream, pc});
}

/* The host waits only where it could see the bytes. */
static cudaError_t fill_at_once(struct kept_fill k)
{
    cudaError_t error = fill(&k);
    if (error == cudaSuccess && memory_is_unified(k.side.start))
        work_host_waits_for_stream(NULL);
    return error;
}

cudaError_t cudaMemset2D(void *pointer, size_t pitch, int value, size_t width_bytes, size_t height)
{
    return fill_at_once((struct kept_fill){side(pointer, pitch), value, width_bytes, height, NULL, CALLER()});
}

cudaError_t cudaMemset2DAsync(void *pointer, size_t pitch, int value, size_t width_bytes, size_t height,
                              cudaStream_t stream)
{
    return fill_rows(pointer, pitch, value, width_bytes, height, stream, CALLER());
}

cudaError_t cudaMemset(void *pointer, int value, size_t bytes)
{
    return fill_at_once((struct kept_fill){side(pointer, bytes), value, bytes, 1, NULL, CALLER()});
}

cudaError_t cudaMemsetAsync(void *pointer, int value, size_t bytes, cudaStream_t stream)
{
    return fill_rows(pointer, bytes, value, bytes, 1, stream, CALLER());
}

/* ---- variables ---- */

/* The bytes of the variable that begins at `symbol`. */
static cudaError_t part_of(const void *symbol, size_t offset, size_t bytes)
{
    const struct object *o = symbol_find(symbol);
    if (!o || o->base != symbol)
        return cudaErrorInvalidSymbol;
    return offset <= o->bytes && bytes <= o->bytes - offset ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t simt_copy_to_symbol(void *symbol, const void *from, size_t bytes, size_t offset, enum cudaMemcpyKind kind,
                                cudaStream_t stream)
{
    cudaError_t error = part_of(symbol, offset, bytes);
    if (error == cudaSuccess && kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice &&
        kind != cudaMemcpyDefault)
        error = cudaErrorInvalidMemcpyDirection;
    if (error != cudaSuccess)
        return simt_fail(error);
    return copy_rows((char *)symbol + offset, bytes, from, bytes, bytes, 1, kind, stream, CALLER());
}

cudaError_t simt_copy_from_symbol(void *to, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind,
                                  cudaStream_t stream)
{
    cudaError_t error = part_of(symbol, offset, bytes);
    if (error == cudaSuccess && kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice &&
        kind != cudaMemcpyDefault)
        error = cudaErrorInvalidMemcpyDirection;
    if (error != cudaSuccess)
        return simt_fail(error);
    return copy_rows(to, bytes, (const char *)symbol + offset, bytes, bytes, 1, kind, stream, CALLER());
}

cudaError_t simt_copy_waits(cudaError_t error, enum cudaMemcpyKind kind) { return synchronise_after(error, kind); }

cudaError_t simt_symbol_address(void **address, const void *symbol)
{
    if (!address)
        return simt_fail(cudaErrorInvalidValue);
    cudaError_t error = part_of(symbol, 0, 0);
    if (error == cudaSuccess)
        *address = (void *)symbol;
    return simt_fail(error);
}

/* ---- what memory is that? ---- */

cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t bytes, int device, cudaStream_t stream)
{
    struct side s = side(pointer, bytes);
    (void)device;
    (void)stream;
    if (bytes == 0 || !look(&s, bytes, 1) || !s.object || !s.object->managed)
        return simt_fail(cudaErrorInvalidValue);
    return cudaSuccess;
}

cudaError_t cudaMemAdvise(const void *pointer, size_t bytes, enum cudaMemoryAdvise advice, int device)
{
    (void)advice;
    return cudaMemPrefetchAsync(pointer, bytes, device, NULL);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer)
{
    struct side s = side(pointer, 1);
    if (!attributes)
        return simt_fail(cudaErrorInvalidValue);
    bool known = look(&s, 1, 1) && s.object;
    if (!known && (s.object = registered_find(pointer)))
        known = true;
    bool device = known && !s.object->unified;
    *attributes = (struct cudaPointerAttributes){.type = cudaMemoryTypeUnregistered, .device = known ? 0 : -2};
    if (device)
        attributes->type = cudaMemoryTypeDevice;
    else if (known)
        attributes->type = s.object->managed ? cudaMemoryTypeManaged : cudaMemoryTypeHost;
    if (known)
        attributes->devicePointer = (void *)pointer;
    if (!device)
        attributes->hostPointer = (void *)pointer;
    return cudaSuccess;
}

/* Pinned or registered, or NULL. */
static const struct object *host_object(void *host)
{
    struct side s = side(host, 1);
    if (memory_is_unified(host))
        return look(&s, 1, 1) ? s.object : NULL;
    return registered_find(host);
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    if (!device || flags || !host_object(host))
        return simt_fail(cudaErrorInvalidValue);
    *device = host;
    return cudaSuccess;
}

/* All of it is mapped, whatever was asked for. */
cudaError_t cudaHostGetFlags(unsigned *flags, void *host)
{
    const struct object *o = host_object(host);
    if (!flags || !o || o->managed)
        return simt_fail(cudaErrorInvalidValue);
    *flags = o->host_flags | cudaHostAllocMapped;
    return cudaSuccess;
}

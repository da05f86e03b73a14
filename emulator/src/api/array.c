/* CUDA arrays: device memory that textures and surfaces see, and the copies to and from it. Rows follow each other
 * without gaps, slices and layers too; a GPU's own order does not show. */
#include "api/array.h"
#include "api/allocate.h"
#include "api/copies.h"
#include "base/errors.h"
#include <stdlib.h>

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind f)
{
    return (struct cudaChannelFormatDesc){x, y, z, w, f};
}

/* One, two or four components of 8, 16 or 32 bits, all alike. */
unsigned array_texel_bytes(const struct cudaChannelFormatDesc *d)
{
    int n = 1 + (d->y != 0) + (d->z != 0) + (d->w != 0);
    bool alike = (!d->y || d->y == d->x) && (!d->z || d->z == d->x) && (!d->w || d->w == d->x);
    bool whole = d->x == 8 || d->x == 16 || d->x == 32;
    if (!alike || !whole || n == 3 || d->f == cudaChannelFormatKindNone)
        return 0;
    return d->f == cudaChannelFormatKindFloat && d->x == 8 ? 0 : (unsigned)(n * d->x / 8);
}

static size_t at_least_one(size_t n) { return n ? n : 1; }

static cudaError_t make(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                        unsigned flags, const void *pc)
{
    unsigned texel = desc ? array_texel_bytes(desc) : 0;
    bool cube = flags & cudaArrayCubemap, layered = flags & cudaArrayLayered;
    if (!array || !texel || !extent.width || (cube && (extent.width != extent.height || extent.depth % 6)) ||
        ((cube || layered) && !extent.depth) || (!extent.height && extent.depth && !layered))
        return simt_fail(cudaErrorInvalidValue);
    struct cudaArray *a = calloc(1, sizeof *a);
    if (!a)
        return simt_fail(cudaErrorMemoryAllocation);
    *a = (struct cudaArray){.desc = *desc, .extent = extent, .flags = flags, .texel = texel};
    a->pitch = extent.width * texel;
    a->slice = a->pitch * at_least_one(extent.height);
    cudaError_t error = allocate_plain((void **)&a->data, a->slice * at_least_one(extent.depth), pc);
    if (error != cudaSuccess) {
        free(a);
        return error;
    }
    *array = a;
    return cudaSuccess;
}

cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                              unsigned flags)
{
    return make(array, desc, extent, flags, CALLER());
}

cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, size_t width, size_t height,
                            unsigned flags)
{
    if (flags & (cudaArrayLayered | cudaArrayCubemap))
        return simt_fail(cudaErrorInvalidValue);
    return make(array, desc, make_cudaExtent(width, height, 0), flags, CALLER());
}

cudaError_t cudaFreeArray(cudaArray_t array)
{
    if (!array)
        return cudaSuccess;
    cudaError_t error = free_plain(array->data, CALLER());
    free(array);
    return error;
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent, unsigned *flags,
                             cudaArray_t array)
{
    if (!array)
        return simt_fail(cudaErrorInvalidResourceHandle);
    if (desc)
        *desc = array->desc;
    if (extent)
        *extent = array->extent;
    if (flags)
        *flags = array->flags;
    return cudaSuccess;
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
    return cudaArrayGetInfo(desc, NULL, NULL, (cudaArray_t)array);
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitched, struct cudaExtent extent)
{
    void *data;
    size_t pitch = (extent.width + 511) / 512 * 512;
    cudaError_t error = allocate_plain(&data, pitch * extent.height * extent.depth, CALLER());
    if (error == cudaSuccess)
        *pitched = make_cudaPitchedPtr(data, pitch, extent.width, extent.height);
    return error;
}

/* ---- copies ---- */

/* Bytes of one row from `x` on, rows from `y` on: inside? */
static bool holds(cudaArray_const_t a, size_t x, size_t y, size_t width, size_t height)
{
    size_t rows = at_least_one(a->extent.height);
    return a && x <= a->pitch && width <= a->pitch - x && y <= rows && height <= rows - y;
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
                                     size_t width_bytes, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    if (!to || !holds(to, x, y, width_bytes, height))
        return simt_fail(cudaErrorInvalidValue);
    return copy_rows(to->data + y * to->pitch + x, to->pitch, from, pitch, width_bytes, height, kind, stream, CALLER());
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width_bytes,
                                size_t height, enum cudaMemcpyKind kind)
{
    if (!to || !holds(to, x, y, width_bytes, height))
        return simt_fail(cudaErrorInvalidValue);
    unsigned char *start = to->data + y * to->pitch + x;
    return simt_copy_waits(copy_rows(start, to->pitch, from, pitch, width_bytes, height, kind, NULL, CALLER()), kind);
}

cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                  size_t width_bytes, size_t height, enum cudaMemcpyKind kind)
{
    if (!from || !holds(from, x, y, width_bytes, height))
        return simt_fail(cudaErrorInvalidValue);
    const unsigned char *start = from->data + y * from->pitch + x;
    return simt_copy_waits(copy_rows(to, pitch, start, from->pitch, width_bytes, height, kind, NULL, CALLER()), kind);
}

/* These go on in the next row. */
cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes,
                              enum cudaMemcpyKind kind)
{
    if (!to || x > to->pitch || y * to->pitch + x + bytes > to->slice)
        return simt_fail(cudaErrorInvalidValue);
    unsigned char *start = to->data + y * to->pitch + x;
    return simt_copy_waits(copy_rows(start, bytes, from, bytes, bytes, 1, kind, NULL, CALLER()), kind);
}

cudaError_t cudaMemcpyFromArray(void *to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                enum cudaMemcpyKind kind)
{
    if (!from || x > from->pitch || y * from->pitch + x + bytes > from->slice)
        return simt_fail(cudaErrorInvalidValue);
    const unsigned char *start = from->data + y * from->pitch + x;
    return simt_copy_waits(copy_rows(to, bytes, start, bytes, bytes, 1, kind, NULL, CALLER()), kind);
}

/* One side of a copy in three dimensions; false: there is nothing, or not enough. Widths are elements of the array that
 * is involved, else bytes. */
struct box {
    unsigned char *start;
    size_t pitch, slice;
};

static bool take_box(struct box *box, cudaArray_const_t a, const struct cudaPitchedPtr *p, struct cudaPos at,
                     const struct cudaExtent *e, size_t texel)
{
    if ((a != NULL) == (p->ptr != NULL))
        return false;
    *box = (struct box){a ? a->data : p->ptr, a ? a->pitch : p->pitch, a ? a->slice : p->pitch * p->ysize};
    if (a &&
        (!holds(a, at.x * texel, at.y, e->width * texel, e->height) || at.z + e->depth > at_least_one(a->extent.depth)))
        return false;
    box->start += at.z * box->slice + at.y * box->pitch + at.x * (a ? texel : 1);
    return true;
}

cudaError_t array_copy_box(const struct cudaMemcpy3DParms *p, cudaStream_t stream, const void *pc)
{
    struct box to, from;
    struct cudaExtent e = p->extent;
    cudaArray_const_t any = p->srcArray ? p->srcArray : p->dstArray;
    size_t texel = any ? any->texel : 1;
    if (!take_box(&to, p->dstArray, &p->dstPtr, p->dstPos, &e, texel) ||
        !take_box(&from, p->srcArray, &p->srcPtr, p->srcPos, &e, texel))
        return simt_fail(cudaErrorInvalidValue);
    cudaError_t error = cudaSuccess;
    for (size_t z = 0; z < e.depth && error == cudaSuccess; z++)
        error = copy_rows(to.start + z * to.slice, to.pitch, from.start + z * from.slice, from.pitch, e.width * texel,
                          e.height, p->kind, stream, pc);
    return error;
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *parameters, cudaStream_t stream)
{
    return array_copy_box(parameters, stream, CALLER());
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *parameters)
{
    return simt_copy_waits(array_copy_box(parameters, NULL, CALLER()), parameters->kind);
}

/* Textures and surfaces: objects by number, fetches with addressing and filtering as the CUDA C++ Programming Guide has
 * them ("Texture Fetching"). A texel is read as any other memory: freed, unwritten or contested, it is reported. Only
 * the program calls this. */
#include "api/array.h"
#include "base/errors.h"
#include "base/report.h"
#include "order/access.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct image { /* a texture's, or a surface's */
    struct cudaChannelFormatDesc desc;
    struct cudaTextureDesc how;
    unsigned char *data;
    unsigned texel;
    size_t pitch, slice;
    int extent[3]; /* in texels; 1 where it has no such dimension; [2]: slices, layers or faces */
    bool surface, alive;
};

#define MOST_IMAGES (1u << 20)
static struct image
    *images[MOST_IMAGES]; /* by number; [0] is none; never freed, so that no fetch meets one half gone */
static unsigned n_images = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static cudaError_t add(unsigned long long *number, const struct image *like)
{
    struct image *image = malloc(sizeof *image);
    if (!image)
        return simt_fail(cudaErrorMemoryAllocation);
    *image = *like;
    image->alive = true;
    pthread_mutex_lock(&lock);
    bool room = n_images < MOST_IMAGES;
    if (room) {
        images[n_images] = image;
        *number = n_images++;
    }
    pthread_mutex_unlock(&lock);
    if (room)
        return cudaSuccess;
    free(image);
    return simt_fail(cudaErrorMemoryAllocation);
}

static struct image *find(unsigned long long number, bool surface)
{
    struct image *image = number < MOST_IMAGES ? images[number] : NULL;
    return image && image->surface == surface && image->alive ? image : NULL;
}

static cudaError_t destroy(unsigned long long number, bool surface)
{
    struct image *image = find(number, surface);
    if (!image)
        return number ? simt_fail(cudaErrorInvalidValue) : cudaSuccess;
    image->alive = false;
    return cudaSuccess;
}

static int least(size_t n) { return n ? (int)n : 1; }

static bool take_resource(struct image *image, const struct cudaResourceDesc *r)
{
    const struct cudaArray *a = r->res.array.array;
    switch (r->resType) {
    case cudaResourceTypeArray:
        if (!a)
            return false;
        image->desc = a->desc;
        image->data = a->data;
        image->pitch = a->pitch;
        image->slice = a->slice;
        image->extent[0] = least(a->extent.width);
        image->extent[1] = least(a->extent.height);
        image->extent[2] = least(a->extent.depth);
        break;
    case cudaResourceTypeLinear:
        image->desc = r->res.linear.desc;
        image->data = r->res.linear.devPtr;
        image->extent[0] = least(r->res.linear.sizeInBytes / least(array_texel_bytes(&image->desc)));
        image->extent[1] = image->extent[2] = 1;
        break;
    case cudaResourceTypePitch2D:
        image->desc = r->res.pitch2D.desc;
        image->data = r->res.pitch2D.devPtr;
        image->pitch = r->res.pitch2D.pitchInBytes;
        image->extent[0] = least(r->res.pitch2D.width);
        image->extent[1] = least(r->res.pitch2D.height);
        image->extent[2] = 1;
        break;
    default: return false;
    }
    image->texel = array_texel_bytes(&image->desc);
    return image->data && image->texel;
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *texture, const struct cudaResourceDesc *resource,
                                    const struct cudaTextureDesc *how, const struct cudaResourceViewDesc *view)
{
    struct image image = {0};
    if (!texture || !resource || !how)
        return simt_fail(cudaErrorInvalidValue);
    if (view || resource->resType == cudaResourceTypeMipmappedArray || how->sRGB)
        return simt_fail(cudaErrorNotSupported);
    if (!take_resource(&image, resource))
        return simt_fail(cudaErrorInvalidValue);
    image.how = *how;
    bool floats = image.desc.f == cudaChannelFormatKindFloat;
    if (how->readMode == cudaReadModeNormalizedFloat && !floats && image.desc.x == 32)
        return simt_fail(cudaErrorInvalidValue);
    if (how->filterMode == cudaFilterModeLinear && !floats && how->readMode == cudaReadModeElementType)
        return simt_fail(cudaErrorInvalidValue);
    return add(texture, &image);
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *surface, const struct cudaResourceDesc *resource)
{
    struct image image = {.surface = true};
    if (!surface || !resource || resource->resType != cudaResourceTypeArray || !take_resource(&image, resource) ||
        !(resource->res.array.array->flags & cudaArraySurfaceLoadStore))
        return simt_fail(cudaErrorInvalidValue);
    return add(surface, &image);
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) { return destroy(texture, false); }
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface) { return destroy(surface, true); }

/* ---- fetches ---- */

static const struct image *of_kernel(unsigned long long number, bool surface, const void *pc)
{
    const struct image *image = find(number, surface);
    if (!image)
        report_signal("invalid object", pc, NULL, surface ? "uses a surface object" : "uses a texture object",
                      surface ? "No such surface object exists: it was destroyed, or never created."
                              : "No such texture object exists: it was destroyed, or never created.");
    return image;
}

/* Textures have counters of their own on a GPU; here their reads are not counted. */
static void check(const unsigned char *texel, unsigned bytes, enum access_kind kind, const void *pc)
{
    struct block *b = running();
    struct counting *counting = b->counting;
    if (!simt_checked)
        return;
    b->counting = NULL;
    for (unsigned done = 0; done < bytes; done += 16) {
        struct access a = access_of(b, pc, texel + done, bytes - done < 16 ? bytes - done : 16, kind);
        access_check(&a);
    }
    b->counting = counting;
}

static float half(unsigned bits)
{
    unsigned exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
    float value = exponent == 31 ? (fraction ? NAN : INFINITY)
                  : exponent     ? ldexpf((float)(fraction + 1024), (int)exponent - 25)
                                 : ldexpf((float)fraction, -24);
    return bits & 0x8000 ? -value : value;
}

static void component(const struct image *image, unsigned bits, struct simt_texel *out, int i)
{
    int width = image->desc.x;
    bool is_signed = image->desc.f == cudaChannelFormatKindSigned;
    if (image->desc.f == cudaChannelFormatKindFloat && width == 16) {
        out->floats[i] = half(bits);
        return;
    }
    int number = is_signed ? (int)(bits << (32 - width)) >> (32 - width) : 0;
    if (image->how.readMode == cudaReadModeNormalizedFloat && image->desc.f != cudaChannelFormatKindFloat) {
        float top = (float)((1u << (width - is_signed)) - 1);
        out->floats[i] = is_signed ? fmaxf((float)number / top, -1) : (float)bits / top;
        return;
    }
    out->words[i] = is_signed ? (unsigned)number : bits;
}

static void read_texel(const struct image *image, const int *at, struct simt_texel *out, const void *pc)
{
    const unsigned char *texel = image->data + (size_t)at[2] * image->slice + (size_t)at[1] * image->pitch +
                                 (size_t)at[0] * image->texel;
    unsigned width = (unsigned)image->desc.x / 8;
    check(texel, image->texel, ACCESS_LOAD, pc);
    memset(out, 0, sizeof *out);
    for (unsigned i = 0; i * width < image->texel; i++) {
        unsigned bits = 0;
        memcpy(&bits, texel + i * width, width);
        component(image, bits, out, (int)i);
    }
}

/* The texel that stands for the i-th of n; -1: the border. */
static int addressed(long i, int n, enum cudaTextureAddressMode mode, bool normalized)
{
    if (!normalized && mode != cudaAddressModeBorder)
        mode = cudaAddressModeClamp;
    long around = (i % (2 * n) + 2 * n) % (2 * n);
    switch (mode) {
    case cudaAddressModeWrap: return (int)(around % n);
    case cudaAddressModeMirror: return (int)(around < n ? around : 2 * n - 1 - around);
    case cudaAddressModeBorder: return i >= 0 && i < n ? (int)i : -1;
    default: return i < 0 ? 0 : i < n ? (int)i : n - 1;
    }
}

static void texel_at(const struct image *image, const long *at, int dimensions, int slice, struct simt_texel *out,
                     const void *pc)
{
    int index[3] = {0, 0, slice};
    for (int d = 0; d < dimensions; d++) {
        index[d] = addressed(at[d], image->extent[d], image->how.addressMode[d], image->how.normalizedCoords);
        if (index[d] < 0) {
            memcpy(out->floats, image->how.borderColor, sizeof out->floats);
            return;
        }
    }
    read_texel(image, index, out, pc);
}

/* The weighted mean of the two texels on either side in each dimension, by weights of eight bits. */
static void filter(const struct image *image, const float *at, int dimensions, int slice, struct simt_texel *out,
                   const void *pc)
{
    long first[3];
    float weight[3];
    memset(out, 0, sizeof *out);
    for (int d = 0; d < dimensions; d++) {
        float place = at[d] - 0.5f;
        first[d] = (long)floorf(place);
        weight[d] = floorf((place - (float)first[d]) * 256 + 0.5f) / 256;
    }
    for (unsigned corner = 0; corner < 1u << dimensions; corner++) {
        struct simt_texel texel;
        long where[3];
        float share = 1;
        for (int d = 0; d < dimensions; d++) {
            bool second = corner >> d & 1;
            where[d] = first[d] + second;
            share *= second ? weight[d] : 1 - weight[d];
        }
        if (share == 0)
            continue;
        texel_at(image, where, dimensions, slice, &texel, pc);
        for (int i = 0; i < 4; i++)
            out->floats[i] += share * texel.floats[i];
    }
}

/* A direction becomes a face, and a place on it from 0 to 1. */
static int face_of(const float *d, float *place)
{
    float x = fabsf(d[0]), y = fabsf(d[1]), z = fabsf(d[2]), major, s, t;
    int face;
    if (x >= y && x >= z) {
        face = d[0] < 0, major = x, s = d[0] < 0 ? d[2] : -d[2], t = -d[1];
    } else if (y >= z) {
        face = 2 + (d[1] < 0), major = y, s = d[0], t = d[1] < 0 ? -d[2] : d[2];
    } else {
        face = 4 + (d[2] < 0), major = z, s = d[2] < 0 ? -d[0] : d[0], t = -d[1];
    }
    place[0] = (s / major + 1) / 2;
    place[1] = (t / major + 1) / 2;
    return face;
}

static bool is_layered(enum simt_texture_way way) { return way == SIMT_IN_LAYER || way == SIMT_IN_CUBE; }

void simt_texture(unsigned long long texture, const struct simt_coordinates *where, struct simt_texel *texel)
{
    const void *pc = CALLER();
    const struct image *image = of_kernel(texture, false, pc);
    if (where->way == SIMT_BY_INDEX) {
        int index[3] = {where->layer, 0, 0};
        memset(texel, 0, sizeof *texel);
        if (where->layer >= 0 && where->layer < image->extent[0])
            read_texel(image, index, texel, pc);
        return;
    }
    float at[3] = {where->at[0], where->at[1], where->at[2]};
    int slice = where->layer, dimensions = where->dimensions;
    if (where->way == SIMT_IN_CUBE)
        slice = 6 * where->layer + face_of(where->at, at);
    if (is_layered(where->way))
        slice = slice < 0 ? 0 : slice < image->extent[2] ? slice : image->extent[2] - 1;
    for (int d = 0; d < dimensions; d++) {
        if (image->how.normalizedCoords || where->way == SIMT_IN_CUBE)
            at[d] *= (float)image->extent[d];
        at[d] = fminf(fmaxf(at[d], -0x1p30f), 0x1p30f); /* NaN becomes the former */
    }
    if (image->how.filterMode == cudaFilterModeLinear) {
        filter(image, at, dimensions, slice, texel, pc);
        return;
    }
    long index[3];
    for (int d = 0; d < dimensions; d++)
        index[d] = (long)floorf(at[d]);
    texel_at(image, index, dimensions, slice, texel, pc);
}

/* ---- surfaces ---- */

/* Where the access goes; NULL: nowhere. */
static unsigned char *surface_place(const struct image *image, const int *at, int mode, unsigned bytes, const void *pc)
{
    int last[3] = {(int)image->pitch - (int)bytes, image->extent[1] - 1, image->extent[2] - 1}, to[3];
    for (int d = 0; d < 3; d++) {
        to[d] = at[d] < 0 ? 0 : at[d] <= last[d] ? at[d] : last[d];
        if (to[d] == at[d] || mode == cudaBoundaryModeClamp)
            continue;
        if (mode == cudaBoundaryModeZero)
            return NULL;
        report_signal("out of bounds", pc, NULL, "goes beyond the edge of a surface",
                      "x counts in bytes; cudaBoundaryModeZero and cudaBoundaryModeClamp allow it.");
    }
    return image->data + (size_t)to[2] * image->slice + (size_t)to[1] * image->pitch + (size_t)to[0];
}

void simt_surface_read(unsigned long long surface, const int *at, int mode, void *value, unsigned bytes)
{
    const void *pc = CALLER();
    const struct image *image = of_kernel(surface, true, pc);
    unsigned char *place = surface_place(image, at, mode, bytes, pc);
    memset(value, 0, bytes);
    if (!place)
        return;
    check(place, bytes, ACCESS_LOAD, pc);
    memcpy(value, place, bytes);
}

void simt_surface_write(unsigned long long surface, const int *at, int mode, const void *value, unsigned bytes)
{
    const void *pc = CALLER();
    const struct image *image = of_kernel(surface, true, pc);
    unsigned char *place = surface_place(image, at, mode, bytes, pc);
    if (!place)
        return;
    check(place, bytes, ACCESS_STORE, pc);
    memcpy(place, value, bytes);
}

/* CUDA arrays, texture and surface objects: the C part of the runtime API ("CUDA Runtime API", "Texture Object
 * Management"; numbers as there). What kernels call is in simt/texture.h. */
#ifndef SIMT_TEXTURE_TYPES_H
#define SIMT_TEXTURE_TYPES_H

#include "cuda_runtime_api.h"

#ifdef __cplusplus
extern "C" {
#define SIMT_DEFAULT(value) = value
#else
#define SIMT_DEFAULT(value)
#endif

enum cudaChannelFormatKind {
    cudaChannelFormatKindSigned,
    cudaChannelFormatKindUnsigned,
    cudaChannelFormatKindFloat,
    cudaChannelFormatKindNone
};
struct cudaChannelFormatDesc {
    int x, y, z, w; /* bits of each component */
    enum cudaChannelFormatKind f;
};
struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind f);

/* ---- places and extents: in elements where an array is involved, else in bytes ---- */

struct cudaExtent {
    size_t width, height, depth;
};
struct cudaPos {
    size_t x, y, z;
};
struct cudaPitchedPtr {
    void *ptr;
    size_t pitch, xsize, ysize;
};
static inline struct cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth)
{
    struct cudaExtent extent = {width, height, depth};
    return extent;
}
static inline struct cudaPos make_cudaPos(size_t x, size_t y, size_t z)
{
    struct cudaPos pos = {x, y, z};
    return pos;
}
static inline struct cudaPitchedPtr make_cudaPitchedPtr(void *ptr, size_t pitch, size_t xsize, size_t ysize)
{
    struct cudaPitchedPtr pitched = {ptr, pitch, xsize, ysize};
    return pitched;
}

/* ---- arrays ---- */

typedef struct cudaArray *cudaArray_t;
typedef const struct cudaArray *cudaArray_const_t;
typedef struct cudaMipmappedArray *cudaMipmappedArray_t;
enum {
    cudaArrayDefault = 0,
    cudaArrayLayered = 1,
    cudaArraySurfaceLoadStore = 2,
    cudaArrayCubemap = 4,
    cudaArrayTextureGather = 8
};
struct cudaMemcpy3DParms {
    cudaArray_t srcArray;
    struct cudaPos srcPos;
    struct cudaPitchedPtr srcPtr;
    cudaArray_t dstArray;
    struct cudaPos dstPos;
    struct cudaPitchedPtr dstPtr;
    struct cudaExtent extent;
    enum cudaMemcpyKind kind;
};

cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, size_t width,
                            size_t height SIMT_DEFAULT(0), unsigned flags SIMT_DEFAULT(0));
cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                              unsigned flags SIMT_DEFAULT(0));
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent, unsigned *flags,
                             cudaArray_t array);
cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array);
cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitched, struct cudaExtent extent);

/* x in bytes, as widths are */
cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes,
                              enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyFromArray(void *to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width_bytes,
                                size_t height, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
                                     size_t width_bytes, size_t height, enum cudaMemcpyKind kind,
                                     cudaStream_t stream SIMT_DEFAULT(0));
cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                  size_t width_bytes, size_t height, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *parameters);
cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *parameters, cudaStream_t stream SIMT_DEFAULT(0));

/* ---- textures and surfaces ---- */

typedef unsigned long long cudaTextureObject_t, cudaSurfaceObject_t;
enum cudaTextureAddressMode { cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder };
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero, cudaBoundaryModeClamp, cudaBoundaryModeTrap };
enum cudaResourceType {
    cudaResourceTypeArray,
    cudaResourceTypeMipmappedArray,
    cudaResourceTypeLinear,
    cudaResourceTypePitch2D
};
struct cudaResourceDesc {
    enum cudaResourceType resType;
    union {
        struct {
            cudaArray_t array;
        } array;
        struct {
            cudaMipmappedArray_t mipmap;
        } mipmap;
        struct {
            void *devPtr;
            struct cudaChannelFormatDesc desc;
            size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            struct cudaChannelFormatDesc desc;
            size_t width, height, pitchInBytes;
        } pitch2D;
    } res;
};
struct cudaTextureDesc {
    enum cudaTextureAddressMode addressMode[3];
    enum cudaTextureFilterMode filterMode;
    enum cudaTextureReadMode readMode;
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned maxAnisotropy;
    enum cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization, seamlessCubemap;
};
struct cudaResourceViewDesc;

/* Of arrays without mipmaps, and without a view: anything else is cudaErrorNotSupported. */
cudaError_t cudaCreateTextureObject(cudaTextureObject_t *texture, const struct cudaResourceDesc *resource,
                                    const struct cudaTextureDesc *how, const struct cudaResourceViewDesc *view);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture);
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *surface, const struct cudaResourceDesc *resource);
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface);

#ifdef __cplusplus
}
#endif
#undef SIMT_DEFAULT
#endif

/* Texture and surface functions of kernels (CUDA C++ Programming Guide, "Texture Functions", "Surface Functions"). The
 * runtime reads and filters; here its four components become what the program asked for. There are no mipmaps, so a
 * level of detail changes nothing. */
#ifndef SIMT_TEXTURE_H
#define SIMT_TEXTURE_H

#include "runtime.h"
#include "../texture_types.h"

namespace simt
{

template <class E> SIMT_INLINE E component(const ::simt_texel &texel, int i)
{
    return std::is_floating_point<E>::value ? (E)texel.floats[i] : (E)texel.words[i];
}
template <class T, class = void> struct Components { /* of a scalar */
    SIMT_INLINE T from(const ::simt_texel &texel) { return component<T>(texel, 0); }
    SIMT_INLINE cudaChannelFormatDesc format()
    {
        return cudaCreateChannelDesc(8 * sizeof(T), 0, 0, 0,
                                     std::is_floating_point<T>::value ? cudaChannelFormatKindFloat
                                     : std::is_signed<T>::value       ? cudaChannelFormatKindSigned
                                                                      : cudaChannelFormatKindUnsigned);
    }
};
template <class T> struct Components<T, std::void_t<decltype(T::x)>> { /* of a vector */
    using E = decltype(T::x);
    static constexpr int n = sizeof(T) / sizeof(E);
    SIMT_INLINE T from(const ::simt_texel &texel)
    {
        T value;
        E each[n];
        for (int i = 0; i < n; i++)
            each[i] = component<E>(texel, i);
        __builtin_memcpy((void *)&value, each, sizeof value);
        return value;
    }
    SIMT_INLINE cudaChannelFormatDesc format()
    {
        cudaChannelFormatDesc one = Components<E>::format();
        int bits = one.x;
        return cudaCreateChannelDesc(bits, n > 1 ? bits : 0, n > 2 ? bits : 0, n > 3 ? bits : 0, one.f);
    }
};

template <class T> SIMT_INLINE T fetch(cudaTextureObject_t texture, const ::simt_coordinates &at)
{
    ::simt_texel texel;
    ::simt_texture(texture, &at, &texel);
    return Components<T>::from(texel);
}

}  // namespace simt

template <class T> SIMT_INLINE cudaChannelFormatDesc cudaCreateChannelDesc() { return simt::Components<T>::format(); }

/* Each function returns the value; an older form stores it. `AT` is {dimensions, layered, cubemap, {x, y, z}, layer}. */
#define SIMT_TEXTURE(NAME, PARAMETERS, ARGUMENTS, ...) \
    template <class T> SIMT_INLINE T NAME PARAMETERS \
    { \
        return simt::fetch<T>(texture, ::simt_coordinates __VA_ARGS__); \
    } \
    template <class T> SIMT_INLINE void NAME(T *value, SIMT_REST PARAMETERS) { *value = NAME<T> ARGUMENTS; }
#define SIMT_REST(...) __VA_ARGS__

SIMT_TEXTURE(tex1Dfetch, (cudaTextureObject_t texture, int x), (texture, x), {1, SIMT_BY_INDEX, {(float)0, 0, 0}, x})
SIMT_TEXTURE(tex1D, (cudaTextureObject_t texture, float x), (texture, x), {1, SIMT_BY_PLACE, {x, 0, 0}, 0})
SIMT_TEXTURE(tex2D, (cudaTextureObject_t texture, float x, float y), (texture, x, y), {2, SIMT_BY_PLACE, {x, y, 0}, 0})
SIMT_TEXTURE(tex3D, (cudaTextureObject_t texture, float x, float y, float z), (texture, x, y, z),
             {3, SIMT_BY_PLACE, {x, y, z}, 0})
SIMT_TEXTURE(tex1DLayered, (cudaTextureObject_t texture, float x, int layer), (texture, x, layer),
             {1, SIMT_IN_LAYER, {x, 0, 0}, layer})
SIMT_TEXTURE(tex2DLayered, (cudaTextureObject_t texture, float x, float y, int layer), (texture, x, y, layer),
             {2, SIMT_IN_LAYER, {x, y, 0}, layer})
SIMT_TEXTURE(texCubemap, (cudaTextureObject_t texture, float x, float y, float z), (texture, x, y, z),
             {2, SIMT_IN_CUBE, {x, y, z}, 0})
SIMT_TEXTURE(texCubemapLayered, (cudaTextureObject_t texture, float x, float y, float z, int layer),
             (texture, x, y, z, layer), {2, SIMT_IN_CUBE, {x, y, z}, layer})
SIMT_TEXTURE(tex1DLod, (cudaTextureObject_t texture, float x, float), (texture, x, 0), {1, SIMT_BY_PLACE, {x, 0, 0}, 0})
SIMT_TEXTURE(tex2DLod, (cudaTextureObject_t texture, float x, float y, float), (texture, x, y, 0),
             {2, SIMT_BY_PLACE, {x, y, 0}, 0})
SIMT_TEXTURE(tex3DLod, (cudaTextureObject_t texture, float x, float y, float z, float), (texture, x, y, z, 0),
             {3, SIMT_BY_PLACE, {x, y, z}, 0})
#undef SIMT_TEXTURE

/* Surfaces: x in bytes. */
#define SIMT_SURFACE(SUFFIX, WHERE, ...) \
    template <class T> \
    SIMT_INLINE T surf##SUFFIX##read(cudaSurfaceObject_t surface, SIMT_REST WHERE, \
                                     cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) \
    { \
        T value; \
        const int at[] = __VA_ARGS__; \
        ::simt_surface_read(surface, at, mode, &value, sizeof value); \
        return value; \
    } \
    template <class T> \
    SIMT_INLINE void surf##SUFFIX##read(T *value, cudaSurfaceObject_t surface, SIMT_REST WHERE, \
                                        cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) \
    { \
        const int at[] = __VA_ARGS__; \
        T read; \
        ::simt_surface_read(surface, at, mode, &read, sizeof read); \
        *value = read; \
    } \
    template <class T> \
    SIMT_INLINE void surf##SUFFIX##write(T value, cudaSurfaceObject_t surface, SIMT_REST WHERE, \
                                         cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) \
    { \
        const int at[] = __VA_ARGS__; \
        ::simt_surface_write(surface, at, mode, &value, sizeof value); \
    }
SIMT_SURFACE(1D, (int x), {x, 0, 0})
SIMT_SURFACE(2D, (int x, int y), {x, y, 0})
SIMT_SURFACE(3D, (int x, int y, int z), {x, y, z})
SIMT_SURFACE(1DLayered, (int x, int layer), {x, 0, layer})
SIMT_SURFACE(2DLayered, (int x, int y, int layer), {x, y, layer})
#undef SIMT_SURFACE

#endif

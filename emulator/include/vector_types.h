/* CUDA's built-in vector types: char1 … double4, and dim3.
 *
 * In C++ the 8- and 16-byte ones copy through one opaque vector move. A plain struct copy is split into its
 * members by the compiler; one 16-byte access would then be seen, and counted, as four of 4 bytes. */
#ifndef __VECTOR_TYPES_H__
#define __VECTOR_TYPES_H__

#ifdef __cplusplus
#define SIMT_COPY(T, BYTES) \
    typedef char simt_move __attribute__((vector_size(BYTES), may_alias)); \
    __attribute__((always_inline)) T(const T &o) { *(simt_move *)this = *(const simt_move *)&o; } \
    __attribute__((always_inline)) T &operator=(const T &o) \
    { \
        *(simt_move *)this = *(const simt_move *)&o; \
        return *this; \
    } \
    __attribute__((always_inline)) T(const volatile T &o) { *(simt_move *)this = *(const volatile simt_move *)&o; } \
    __attribute__((always_inline)) void operator=(const T &o) volatile \
    { \
        *(volatile simt_move *)this = *(const simt_move *)&o; \
    }
#define SIMT_VEC2(T, E, BYTES) \
    struct __attribute__((aligned(BYTES))) T { \
        E x, y; \
        T() = default; \
        constexpr T(E x_, E y_ = {}) : x(x_), y(y_) {} \
        SIMT_COPY(T, BYTES) \
    };
#define SIMT_VEC4(T, E, BYTES) \
    struct __attribute__((aligned(BYTES))) T { \
        E x, y, z, w; \
        T() = default; \
        constexpr T(E x_, E y_ = {}, E z_ = {}, E w_ = {}) : x(x_), y(y_), z(z_), w(w_) {} \
        SIMT_COPY(T, BYTES) \
    };
#else
#define SIMT_VEC2(T, E, BYTES) \
    typedef struct __attribute__((aligned(BYTES))) T { \
        E x, y; \
    } T;
#define SIMT_VEC4(T, E, BYTES) \
    typedef struct __attribute__((aligned(BYTES))) T { \
        E x, y, z, w; \
    } T;
#endif

#define SIMT_VECTORS(T, E, BYTES2, BYTES4) \
    typedef struct T##1 { E x; } \
    T##1; \
    SIMT_VEC2(T##2, E, BYTES2) \
    typedef struct T##3 { E x, y, z; } \
    T##3; \
    SIMT_VEC4(T##4, E, BYTES4)

SIMT_VECTORS(char, signed char, 2, 4)
SIMT_VECTORS(uchar, unsigned char, 2, 4)
SIMT_VECTORS(short, short, 4, 8)
SIMT_VECTORS(ushort, unsigned short, 4, 8)
SIMT_VECTORS(int, int, 8, 16)
SIMT_VECTORS(uint, unsigned, 8, 16)
SIMT_VECTORS(float, float, 8, 16)

/* The 32-byte ones move as two 16-byte halves, on a GPU too; CUDA 13 has them by two names more, which say how they are aligned. */
#define SIMT_WIDE_VECTORS(T, E) \
    typedef struct T##1 { E x; } \
    T##1; \
    SIMT_VEC2(T##2, E, 16) \
    typedef struct T##3 { E x, y, z; } \
    T##3; \
    typedef struct __attribute__((aligned(16))) T##4 { E x, y, z, w; } \
    T##4; \
    typedef struct __attribute__((aligned(16))) T##4_16a { E x, y, z, w; } \
    T##4_16a; \
    typedef struct __attribute__((aligned(32))) T##4_32a { E x, y, z, w; } \
    T##4_32a;

SIMT_WIDE_VECTORS(long, long)
SIMT_WIDE_VECTORS(ulong, unsigned long)
SIMT_WIDE_VECTORS(longlong, long long)
SIMT_WIDE_VECTORS(ulonglong, unsigned long long)
SIMT_WIDE_VECTORS(double, double)

#undef SIMT_VECTORS
#undef SIMT_WIDE_VECTORS
#undef SIMT_VEC2
#undef SIMT_VEC4
#undef SIMT_COPY

typedef struct dim3 {
    unsigned x, y, z;
#ifdef __cplusplus
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
    constexpr dim3(const uint3 &v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
#endif
} dim3;

#endif

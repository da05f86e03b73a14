/* Device mathematics beyond C's own <math.h> (CUDA Math API reference). Fast-math forms compute the accurate
 * result: their lower precision is not emulated. */
#ifndef SIMT_MATH_H
#define SIMT_MATH_H

#include "rounding.h"

/* glibc declares some of CUDA's names for itself, so these are macros. */
#define __expf(x) expf(x)
#define __exp10f(x) exp10f(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __log10f(x) log10f(x)
#define __powf(x, y) powf(x, y)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
#define __sincosf(x, s, c) sincosf(x, s, c)

SIMT_INLINE float rsqrtf(float x) { return 1.0f / sqrtf(x); }
SIMT_INLINE double rsqrt(double x) { return 1.0 / sqrt(x); }
SIMT_INLINE float __fdividef(float x, float y) { return x / y; }
SIMT_INLINE float fdividef(float x, float y) { return x / y; }
SIMT_INLINE float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
SIMT_INLINE float rcbrtf(float x) { return 1.0f / cbrtf(x); }
SIMT_INLINE float rhypotf(float x, float y) { return 1.0f / hypotf(x, y); }
SIMT_INLINE float norm3df(float x, float y, float z) { return sqrtf(x * x + y * y + z * z); }
SIMT_INLINE float normcdff(float x) { return 0.5f * erfcf(-x * 0.70710678f); }
SIMT_INLINE float sinpif(float x) { return sinf(x * (float)M_PI); }
SIMT_INLINE float cospif(float x) { return cosf(x * (float)M_PI); }

/* min and max of each arithmetic type, mixed ones converted as C does. */
#define SIMT_MIN_MAX(T) \
    SIMT_INLINE constexpr T min(T a, T b) { return b < a ? b : a; } \
    SIMT_INLINE constexpr T max(T a, T b) { return a < b ? b : a; }
SIMT_MIN_MAX(int)
SIMT_MIN_MAX(unsigned)
SIMT_MIN_MAX(long)
SIMT_MIN_MAX(unsigned long)
SIMT_MIN_MAX(long long)
SIMT_MIN_MAX(unsigned long long)
#undef SIMT_MIN_MAX
SIMT_INLINE constexpr unsigned umin(unsigned a, unsigned b) { return min(a, b); }
SIMT_INLINE constexpr unsigned umax(unsigned a, unsigned b) { return max(a, b); }
SIMT_INLINE constexpr long long llmin(long long a, long long b) { return min(a, b); }
SIMT_INLINE constexpr long long llmax(long long a, long long b) { return max(a, b); }
SIMT_INLINE constexpr unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
SIMT_INLINE constexpr unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }
SIMT_INLINE float min(float a, float b) { return fminf(a, b); }
SIMT_INLINE float max(float a, float b) { return fmaxf(a, b); }
SIMT_INLINE double min(double a, double b) { return fmin(a, b); }
SIMT_INLINE double max(double a, double b) { return fmax(a, b); }
#define SIMT_MIXED(A, B, T) \
    SIMT_INLINE T min(A a, B b) { return min((T)a, (T)b); } \
    SIMT_INLINE T min(B a, A b) { return min((T)a, (T)b); } \
    SIMT_INLINE T max(A a, B b) { return max((T)a, (T)b); } \
    SIMT_INLINE T max(B a, A b) { return max((T)a, (T)b); }
SIMT_MIXED(int, unsigned, unsigned)
SIMT_MIXED(int, long, long)
SIMT_MIXED(int, unsigned long, unsigned long)
SIMT_MIXED(unsigned, unsigned long, unsigned long)
SIMT_MIXED(int, long long, long long)
SIMT_MIXED(float, double, double)
SIMT_MIXED(int, float, float)
SIMT_MIXED(int, double, double)
#undef SIMT_MIXED

#define SIMT_BITCAST(NAME, FROM, TO) \
    SIMT_INLINE TO NAME(FROM x) \
    { \
        TO y; \
        __builtin_memcpy(&y, &x, sizeof y); \
        return y; \
    }
SIMT_BITCAST(__float_as_int, float, int)
SIMT_BITCAST(__float_as_uint, float, unsigned)
SIMT_BITCAST(__int_as_float, int, float)
SIMT_BITCAST(__uint_as_float, unsigned, float)
SIMT_BITCAST(__double_as_longlong, double, long long)
SIMT_BITCAST(__longlong_as_double, long long, double)
#undef SIMT_BITCAST
SIMT_INLINE int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
SIMT_INLINE int __double2loint(double x) { return (int)__double_as_longlong(x); }
SIMT_INLINE double __hiloint2double(int hi, int lo)
{
    return __longlong_as_double((long long)((unsigned long long)(unsigned)hi << 32 | (unsigned)lo));
}

SIMT_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
SIMT_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
SIMT_INLINE int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
SIMT_INLINE int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
SIMT_INLINE int __ffs(int x) { return __builtin_ffs(x); }
SIMT_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
/* Products of the lower 24 bits. */
SIMT_INLINE int __mul24(int a, int b)
{
    long long x = (int)((unsigned)a << 8) >> 8, y = (int)((unsigned)b << 8) >> 8;
    return (int)(x * y);
}
SIMT_INLINE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
/* Averages, rounded down or, by __rhadd and __urhadd, up. */
SIMT_INLINE int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
SIMT_INLINE int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
SIMT_INLINE unsigned __uhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b) >> 1); }
SIMT_INLINE unsigned __urhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b + 1) >> 1); }
SIMT_INLINE int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
SIMT_INLINE unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }
SIMT_INLINE long long __mul64hi(long long a, long long b) { return (long long)(((__int128)a * b) >> 64); }
SIMT_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
SIMT_INLINE unsigned __sad(int a, int b, unsigned c)
{
    return c + (a < b ? (unsigned)b - (unsigned)a : (unsigned)a - (unsigned)b);
}
SIMT_INLINE unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a < b ? b - a : a - b); }
SIMT_INLINE unsigned __brev(unsigned x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
SIMT_INLINE unsigned long long __brevll(unsigned long long x)
{
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
SIMT_INLINE unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n)
{
    return (unsigned)((((unsigned long long)hi << 32 | lo) << (n & 31)) >> 32);
}
SIMT_INLINE unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n)
{
    return (unsigned)(((unsigned long long)hi << 32 | lo) >> (n & 31));
}
/* These shift by at most 32. */
SIMT_INLINE unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned n)
{
    return n < 32 ? __funnelshift_l(lo, hi, n) : lo;
}
SIMT_INLINE unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned n)
{
    return n < 32 ? __funnelshift_r(lo, hi, n) : hi;
}
/* Byte i of the result is byte (selector >> 4i & 7) of the eight bytes y:x (PTX ISA, prmt). */
SIMT_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector)
{
    unsigned long long bytes = (unsigned long long)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; i++)
        result |= (unsigned)(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
    return result;
}

/* Loads and stores with a hint to the caches, of which there are none here. */
#define SIMT_LOAD(NAME) \
    template <class T> SIMT_INLINE T NAME(const T *p) { return *p; }
#define SIMT_STORE(NAME) \
    template <class T> SIMT_INLINE void NAME(T *p, std::enable_if_t<true, T> value) { *p = value; }
SIMT_LOAD(__ldcg)
SIMT_LOAD(__ldca)
SIMT_LOAD(__ldcs)
SIMT_LOAD(__ldlu)
SIMT_LOAD(__ldcv)
SIMT_STORE(__stwb)
SIMT_STORE(__stcg)
SIMT_STORE(__stcs)
SIMT_STORE(__stwt)
template <class T> SIMT_INLINE T __ldg(const T *p)
{
    simt_read_only(p, sizeof *p);
    return *p;
}
#undef SIMT_LOAD
#undef SIMT_STORE

/* make_float4 and its like */
#define SIMT_MAKE(T, E) \
    SIMT_INLINE T##1 make_##T##1(E x) { return T##1 {x}; } \
    SIMT_INLINE T##2 make_##T##2(E x, E y) { return T##2 {x, y}; } \
    SIMT_INLINE T##3 make_##T##3(E x, E y, E z) { return T##3 {x, y, z}; } \
    SIMT_INLINE T##4 make_##T##4(E x, E y, E z, E w) { return T##4 {x, y, z, w}; }
SIMT_MAKE(char, signed char)
SIMT_MAKE(uchar, unsigned char)
SIMT_MAKE(short, short)
SIMT_MAKE(ushort, unsigned short)
SIMT_MAKE(int, int)
SIMT_MAKE(uint, unsigned)
SIMT_MAKE(long, long)
SIMT_MAKE(ulong, unsigned long)
SIMT_MAKE(longlong, long long)
SIMT_MAKE(ulonglong, unsigned long long)
SIMT_MAKE(float, float)
SIMT_MAKE(double, double)
#undef SIMT_MAKE

#define SIMT_MAKE_WIDE(T, E) \
    SIMT_INLINE T##4_16a make_##T##4_16a(E x, E y, E z, E w) { return T##4_16a {x, y, z, w}; } \
    SIMT_INLINE T##4_32a make_##T##4_32a(E x, E y, E z, E w) { return T##4_32a {x, y, z, w}; }
SIMT_MAKE_WIDE(long, long)
SIMT_MAKE_WIDE(ulong, unsigned long)
SIMT_MAKE_WIDE(longlong, long long)
SIMT_MAKE_WIDE(ulonglong, unsigned long long)
SIMT_MAKE_WIDE(double, double)
#undef SIMT_MAKE_WIDE

#endif

/* Dot products of bytes and of 16-bit numbers packed into 32 bits, added to a third operand (CUDA Math API, "Integer
 * Intrinsics"). In the CUDA toolkit a part of cuda_runtime.h; here that includes it. */
#ifndef SIMT_SM_61_INTRINSICS_H
#define SIMT_SM_61_INTRINSICS_H

#include "cuda_runtime.h"

namespace simt
{
/* The i-th E of those packed. */
template <class E, class Packed> SIMT_INLINE E packed(Packed from, int i)
{
    E value;
    __builtin_memcpy(&value, (const char *)__builtin_addressof(from) + i * sizeof(E), sizeof value);
    return value;
}
template <class A, class B, int n, class P, class Q, class C> SIMT_INLINE C dot(P a, Q b, int first, C c)
{
    for (int i = 0; i < n; i++)
        c += (C)packed<A>(a, i) * (C)packed<B>(b, first + i);
    return c;
}
}  // namespace simt

SIMT_INLINE int __dp4a(int a, int b, int c) { return simt::dot<signed char, signed char, 4>(a, b, 0, c); }
SIMT_INLINE int __dp4a(char4 a, char4 b, int c) { return simt::dot<signed char, signed char, 4>(a, b, 0, c); }
SIMT_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c)
{
    return simt::dot<unsigned char, unsigned char, 4>(a, b, 0, c);
}
SIMT_INLINE unsigned __dp4a(uchar4 a, uchar4 b, unsigned c)
{
    return simt::dot<unsigned char, unsigned char, 4>(a, b, 0, c);
}
#define SIMT_DP2A(NAME, FIRST) \
    SIMT_INLINE int NAME(int a, int b, int c) { return simt::dot<short, signed char, 2>(a, b, FIRST, c); } \
    SIMT_INLINE int NAME(short2 a, char4 b, int c) { return simt::dot<short, signed char, 2>(a, b, FIRST, c); } \
    SIMT_INLINE unsigned NAME(unsigned a, unsigned b, unsigned c) \
    { \
        return simt::dot<unsigned short, unsigned char, 2>(a, b, FIRST, c); \
    } \
    SIMT_INLINE unsigned NAME(ushort2 a, uchar4 b, unsigned c) \
    { \
        return simt::dot<unsigned short, unsigned char, 2>(a, b, FIRST, c); \
    }
SIMT_DP2A(__dp2a_lo, 0)
SIMT_DP2A(__dp2a_hi, 2)
#undef SIMT_DP2A

#endif

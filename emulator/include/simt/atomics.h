/* Atomic functions (CUDA C++ Programming Guide, "Atomic Functions"); each returns the old value. Those on 16-bit floating
 * point stand with its types, in half.h. The _block and _system forms differ from the plain one in scope: whom they are atomic for. */
#ifndef SIMT_ATOMICS_H
#define SIMT_ATOMICS_H

namespace simt
{
template <class T> constexpr ::simt_type type_of()
{
    if constexpr (std::is_same_v<T, float>)
        return SIMT_F32;
    else if constexpr (std::is_same_v<T, double>)
        return SIMT_F64;
    else if constexpr (sizeof(T) == 2)
        return SIMT_U16;
    else if constexpr (sizeof(T) == 4)
        return std::is_signed_v<T> ? SIMT_I32 : SIMT_U32;
    else
        return std::is_signed_v<T> ? SIMT_I64 : SIMT_U64;
}
template <class T> SIMT_INLINE T atomic(::simt_atomic_op op, ::simt_scope scope, volatile T *address, T value,
                                        T compare = T())
{
    unsigned long long bits = 0, compare_bits = 0;
    __builtin_memcpy(&bits, (const void *)&value, sizeof(T));
    __builtin_memcpy(&compare_bits, (const void *)&compare, sizeof(T));
    bits = simt_atomic(op, type_of<T>(), scope, (void *)address, bits, compare_bits);
    __builtin_memcpy((void *)&value, &bits, sizeof(T));
    return value;
}
}  // namespace simt

#define SIMT_ATOMIC(NAME, OP, T) \
    SIMT_INLINE T NAME(T *address, T value) { return simt::atomic<T>(OP, SIMT_SCOPE_DEVICE, address, value); } \
    SIMT_INLINE T NAME##_block(T *address, T value) { return simt::atomic<T>(OP, SIMT_SCOPE_BLOCK, address, value); } \
    SIMT_INLINE T NAME##_system(T *address, T value) { return simt::atomic<T>(OP, SIMT_SCOPE_SYSTEM, address, value); }
#define SIMT_ATOMIC_CAS_WITH(SUFFIX, SCOPE, T) \
    SIMT_INLINE T atomicCAS##SUFFIX(T *address, T compare, T value) \
    { \
        return simt::atomic<T>(SIMT_ATOMIC_CAS, SCOPE, address, value, compare); \
    }
#define SIMT_ATOMIC_CAS_OF(T) \
    SIMT_ATOMIC_CAS_WITH(, SIMT_SCOPE_DEVICE, T) \
    SIMT_ATOMIC_CAS_WITH(_block, SIMT_SCOPE_BLOCK, T) \
    SIMT_ATOMIC_CAS_WITH(_system, SIMT_SCOPE_SYSTEM, T)

SIMT_ATOMIC(atomicAdd, SIMT_ATOMIC_ADD, int)
SIMT_ATOMIC(atomicAdd, SIMT_ATOMIC_ADD, unsigned)
SIMT_ATOMIC(atomicAdd, SIMT_ATOMIC_ADD, unsigned long long)
SIMT_ATOMIC(atomicAdd, SIMT_ATOMIC_ADD, float)
SIMT_ATOMIC(atomicAdd, SIMT_ATOMIC_ADD, double)
SIMT_ATOMIC(atomicSub, SIMT_ATOMIC_SUB, int)
SIMT_ATOMIC(atomicSub, SIMT_ATOMIC_SUB, unsigned)
SIMT_ATOMIC(atomicExch, SIMT_ATOMIC_EXCHANGE, int)
SIMT_ATOMIC(atomicExch, SIMT_ATOMIC_EXCHANGE, unsigned)
SIMT_ATOMIC(atomicExch, SIMT_ATOMIC_EXCHANGE, unsigned long long)
SIMT_ATOMIC(atomicExch, SIMT_ATOMIC_EXCHANGE, float)
SIMT_ATOMIC(atomicMin, SIMT_ATOMIC_MIN, int)
SIMT_ATOMIC(atomicMin, SIMT_ATOMIC_MIN, unsigned)
SIMT_ATOMIC(atomicMin, SIMT_ATOMIC_MIN, long long)
SIMT_ATOMIC(atomicMin, SIMT_ATOMIC_MIN, unsigned long long)
SIMT_ATOMIC(atomicMax, SIMT_ATOMIC_MAX, int)
SIMT_ATOMIC(atomicMax, SIMT_ATOMIC_MAX, unsigned)
SIMT_ATOMIC(atomicMax, SIMT_ATOMIC_MAX, long long)
SIMT_ATOMIC(atomicMax, SIMT_ATOMIC_MAX, unsigned long long)
SIMT_ATOMIC(atomicInc, SIMT_ATOMIC_INC, unsigned)
SIMT_ATOMIC(atomicDec, SIMT_ATOMIC_DEC, unsigned)
SIMT_ATOMIC(atomicAnd, SIMT_ATOMIC_AND, int)
SIMT_ATOMIC(atomicAnd, SIMT_ATOMIC_AND, unsigned)
SIMT_ATOMIC(atomicAnd, SIMT_ATOMIC_AND, unsigned long long)
SIMT_ATOMIC(atomicOr, SIMT_ATOMIC_OR, int)
SIMT_ATOMIC(atomicOr, SIMT_ATOMIC_OR, unsigned)
SIMT_ATOMIC(atomicOr, SIMT_ATOMIC_OR, unsigned long long)
SIMT_ATOMIC(atomicXor, SIMT_ATOMIC_XOR, int)
SIMT_ATOMIC(atomicXor, SIMT_ATOMIC_XOR, unsigned)
SIMT_ATOMIC(atomicXor, SIMT_ATOMIC_XOR, unsigned long long)
SIMT_ATOMIC_CAS_OF(int)
SIMT_ATOMIC_CAS_OF(unsigned)
SIMT_ATOMIC_CAS_OF(unsigned long long)
SIMT_ATOMIC_CAS_OF(unsigned short)
/* Of a vector, each element is atomic by itself. */
namespace simt
{
template <class V, unsigned n> SIMT_INLINE V atomic_add(::simt_scope scope, V *address, V value)
{
    unsigned long long values[n] = {};
    for (unsigned i = 0; i < n; i++)
        __builtin_memcpy(&values[i], (const char *)&value + i * sizeof(float), sizeof(float));
    simt_atomic_vector(SIMT_ATOMIC_ADD, SIMT_F32, scope, address, n, values);
    for (unsigned i = 0; i < n; i++)
        __builtin_memcpy((char *)&value + i * sizeof(float), &values[i], sizeof(float));
    return value;
}
/* Whole values of 16 bytes. */
template <class T> inline constexpr bool is_wide = sizeof(T) == 16 && alignof(T) >= 16 &&
                                                   std::is_trivially_copyable_v<T>;
template <class T>
SIMT_INLINE T atomic_wide(::simt_atomic_op op, ::simt_scope scope, T *address, T value, const T *compare)
{
    simt_atomic_wide(op, scope, (void *)address, (void *)&value, (const void *)compare);
    return value;
}
}  // namespace simt
#define SIMT_ATOMIC_OF_SCOPE(SUFFIX, SCOPE) \
    SIMT_INLINE float2 atomicAdd##SUFFIX(float2 *address, float2 value) \
    { \
        return simt::atomic_add<float2, 2>(SCOPE, address, value); \
    } \
    SIMT_INLINE float4 atomicAdd##SUFFIX(float4 *address, float4 value) \
    { \
        return simt::atomic_add<float4, 4>(SCOPE, address, value); \
    } \
    template <class T> SIMT_INLINE std::enable_if_t<simt::is_wide<T>, T> atomicExch##SUFFIX(T *address, T value) \
    { \
        return simt::atomic_wide<T>(SIMT_ATOMIC_EXCHANGE, SCOPE, address, value, nullptr); \
    } \
    template <class T> \
    SIMT_INLINE std::enable_if_t<simt::is_wide<T>, T> atomicCAS##SUFFIX(T *address, T compare, T value) \
    { \
        return simt::atomic_wide<T>(SIMT_ATOMIC_CAS, SCOPE, address, value, &compare); \
    }
SIMT_ATOMIC_OF_SCOPE(, SIMT_SCOPE_DEVICE)
SIMT_ATOMIC_OF_SCOPE(_block, SIMT_SCOPE_BLOCK)
SIMT_ATOMIC_OF_SCOPE(_system, SIMT_SCOPE_SYSTEM)
#undef SIMT_ATOMIC_OF_SCOPE
#undef SIMT_ATOMIC
#undef SIMT_ATOMIC_CAS_OF
#undef SIMT_ATOMIC_CAS_WITH

#endif

/* WMMA (CUDA C++ Programming Guide, "Warp Matrix Functions"): fragments, and what a warp does with them. */
#ifndef __CUDA_MMA_H__
#define __CUDA_MMA_H__

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "simt/matrix.h"

#if SIMT_ARCH < 750
#pragma simt_refuse <mma.h> WMMA of compute capability 7.0, where fragments are laid out otherwise: nvcuda
#endif

namespace nvcuda
{
namespace wmma
{

struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
namespace precision
{
struct tf32;
}
namespace experimental
{
namespace precision
{
struct u4;
struct s4;
struct b1;
}  // namespace precision
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 };
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 };
}  // namespace experimental

enum layout_t { mem_row_major, mem_col_major };

/* To tf32, whose fraction has 10 bits: to nearest, ties away from zero (PTX ISA, cvt.rna.tf32.f32). */
SIMT_INLINE float __float_to_tf32(float in)
{
    unsigned bits = simt_float_bits(in);
    if ((bits & 0x7f800000) != 0x7f800000)
        bits = (bits + 0x1000) & 0xffffe000;
    return simt_bits_float(bits);
}

/* ---- which elements there are ---- */

template <typename T, simt::element_type TYPE, simt::element_type SUMS, int BITS = 8 * sizeof(T)> struct simt_element {
    static constexpr bool known = true;
    static constexpr simt::element_type type = TYPE;
    static constexpr simt::element_type sums = SUMS; /* of products of them; of sums, themselves */
    static constexpr int bits = BITS;                /* of less than 8, as many as fit stand in one T */
    typedef T stored;
    typedef std::conditional_t<(BITS < 8), void, T> in_memory;
};
template <typename T> struct simt_offered : simt_element<char, simt::E_F64, simt::E_F64> {
    static constexpr bool known = false;
};
template <> struct simt_offered<double> : simt_element<double, simt::E_F64, simt::E_F64> {};
template <> struct simt_offered<experimental::precision::s4> : simt_element<int, simt::E_S4, simt::E_S32, 4> {};
template <> struct simt_offered<experimental::precision::u4> : simt_element<unsigned, simt::E_U4, simt::E_S32, 4> {};
template <> struct simt_offered<experimental::precision::b1> : simt_element<unsigned, simt::E_B1, simt::E_S32, 1> {};
template <> struct simt_offered<__half> : simt_element<__half, simt::E_F16, simt::E_F32> {};
template <> struct simt_offered<__nv_bfloat16> : simt_element<__nv_bfloat16, simt::E_BF16, simt::E_F32> {};
template <> struct simt_offered<precision::tf32> : simt_element<float, simt::E_TF32, simt::E_F32> {};
template <> struct simt_offered<signed char> : simt_element<signed char, simt::E_S8, simt::E_S32> {};
template <> struct simt_offered<unsigned char> : simt_element<unsigned char, simt::E_U8, simt::E_S32> {};
template <> struct simt_offered<float> : simt_element<float, simt::E_F32, simt::E_F32> {};
template <> struct simt_offered<int> : simt_element<int, simt::E_S32, simt::E_S32> {};

/* Is there a fragment of such elements for products of that shape? */
constexpr bool simt_has(simt::element_type type, int m, int n, int k)
{
    if (m == 16 && n == 16 && k == 8)
        return type == simt::E_TF32 || type == simt::E_F32;
    if (m == 8 && n == 8) {
        bool whole = type == simt::E_S32, nibble = type == simt::E_S4 || type == simt::E_U4;
        return (k == 4 && type == simt::E_F64) || (k == 32 && (whole || nibble)) ||
               (k == 128 && (whole || type == simt::E_B1));
    }
    if (type == simt::E_S4 || type == simt::E_U4 || type == simt::E_B1)
        return false;
    bool shape = (m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32);
    return shape && k == 16 && type != simt::E_TF32 && type != simt::E_F64;
}

/* A product of that shape in which sums of T stand, or, of inputs, T itself. */
template <int m, int n, int k, typename T> constexpr simt::product simt_product()
{
    constexpr simt::element_type type = simt_offered<T>::type;
    constexpr simt::element_type whole = k == 128 ? simt::E_B1 : k == 32 ? simt::E_S4 : simt::E_S8;
    constexpr simt::element_type input = type == simt::E_S32  ? whole
                                         : type != simt::E_F32 ? type
                                         : k == 8              ? simt::E_TF32
                                                               : simt::E_F16;
    constexpr simt::element_type sums = type == simt::E_F16 ? type : simt_offered<T>::sums;
    return {simt::LAYOUT_WMMA, m, n, k, input, input, sums, sums, false, false};
}

/* How many elements a fragment holds: a lane's share of the matrix; but 16 of half inputs, some of them twice or more. */
template <typename Use, int m, int n, int k, typename T> struct simt_count {
    static constexpr int value = m * n / 32;
};
template <int m, int n, int k, typename T> struct simt_count<matrix_a, m, n, k, T> {
    static constexpr int value = simt_offered<T>::type == simt::E_F16 ? 16 : m * k / 32;
};
template <int m, int n, int k, typename T> struct simt_count<matrix_b, m, n, k, T> {
    static constexpr int value = simt_offered<T>::type == simt::E_F16 ? 16 : k * n / 32;
};

template <typename Use, int m, int n, int k, typename T, typename Layout = void> class __align__(8) fragment
{
    static_assert(simt_offered<T>::known && simt_has(simt_offered<T>::type, m, n, k),
                  "the emulator does not offer WMMA fragments of this shape and type");
    static_assert(simt_offered<T>::bits >= 8 ||
                      std::is_same<Layout, std::conditional_t<std::is_same<Use, matrix_a>::value, row_major,
                                                              col_major>>::value,
                  "of numbers of less than 8 bits matrix_a is row_major and matrix_b is col_major");
    static constexpr int together = simt_offered<T>::bits < 8 ? 32 / simt_offered<T>::bits : 1;

  public:
    enum {
        num_elements = simt_count<Use, m, n, k, T>::value,
        num_storage_elements = num_elements / together
    };
    typedef T element_type;
    typedef typename simt_offered<T>::stored storage_element_type;
    storage_element_type x[num_storage_elements];
};

/* ---- what a warp does with them ---- */

template <typename Use, int m, int n, int k, typename T, typename Layout, typename V>
SIMT_INLINE void fill_fragment(fragment<Use, m, n, k, T, Layout> &f, const V &value)
{
    constexpr int bits = simt_offered<T>::bits;
    for (int i = 0; i < f.num_storage_elements; i++)
        if constexpr (bits < 8)
            f.x[i] = (typename simt_offered<T>::stored)(((unsigned)value & ((1u << bits) - 1)) * (~0u / ((1u << bits) - 1)));
        else
            f.x[i] = (typename simt_offered<T>::stored)value;
}

template <typename T> using simt_stored = typename simt_offered<T>::in_memory;

template <int m, int n, int k, typename T, typename Layout>
SIMT_INLINE void load_matrix_sync(fragment<matrix_a, m, n, k, T, Layout> &a, const simt_stored<T> *p, unsigned ldm)
{
    static constexpr simt::product product = simt_product<m, n, k, T>();
    simt_wmma_load(&product, simt::OPERAND_A, std::is_same<Layout, col_major>::value, p, ldm, a.x);
}
template <int m, int n, int k, typename T, typename Layout>
SIMT_INLINE void load_matrix_sync(fragment<matrix_b, m, n, k, T, Layout> &b, const simt_stored<T> *p, unsigned ldm)
{
    static constexpr simt::product product = simt_product<m, n, k, T>();
    simt_wmma_load(&product, simt::OPERAND_B, std::is_same<Layout, col_major>::value, p, ldm, b.x);
}
template <int m, int n, int k, typename T>
SIMT_INLINE void load_matrix_sync(fragment<accumulator, m, n, k, T> &c, const simt_stored<T> *p, unsigned ldm,
                                  layout_t layout)
{
    static constexpr simt::product product = simt_product<m, n, k, T>();
    simt_wmma_load(&product, simt::OPERAND_C, layout == mem_col_major, p, ldm, c.x);
}

template <int m, int n, int k, typename T>
SIMT_INLINE void store_matrix_sync(simt_stored<T> *p, const fragment<accumulator, m, n, k, T> &d, unsigned ldm,
                                   layout_t layout)
{
    static constexpr simt::product product = simt_product<m, n, k, T>();
    simt_wmma_store(&product, layout == mem_col_major, p, ldm, d.x);
}

template <int m, int n, int k, typename T, typename A, typename B, typename C, typename D>
SIMT_INLINE void mma_sync(fragment<accumulator, m, n, k, D> &d, const fragment<matrix_a, m, n, k, T, A> &a,
                          const fragment<matrix_b, m, n, k, T, B> &b, const fragment<accumulator, m, n, k, C> &c,
                          bool satf = false)
{
    constexpr simt::element_type type = simt_offered<T>::type;
    static_assert(type == simt::E_F16 || (simt_offered<C>::type == simt_offered<T>::sums &&
                                          simt_offered<D>::type == simt_offered<T>::sums),
                  "mma_sync has no such type of sums");
    static_assert(type != simt::E_B1, "products of single bits are bmma_sync's");
    simt::product product = {simt::LAYOUT_WMMA,     m,    n,    k, type, type, simt_offered<C>::type,
                             simt_offered<D>::type, satf, false};
    simt_wmma_multiply(&product, a.x, b.x, c.x, d.x);
}

template <typename A, typename B>
SIMT_INLINE void bmma_sync(fragment<accumulator, 8, 8, 128, int> &d,
                           const fragment<matrix_a, 8, 8, 128, experimental::precision::b1, A> &a,
                           const fragment<matrix_b, 8, 8, 128, experimental::precision::b1, B> &b,
                           const fragment<accumulator, 8, 8, 128, int> &c,
                           experimental::bmmaBitOp how = experimental::bmmaBitOpXOR,
                           experimental::bmmaAccumulateOp = experimental::bmmaAccumulateOpPOPC)
{
    simt::product product = {simt::LAYOUT_WMMA, 8,           8,     128, simt::E_B1, simt::E_B1, simt::E_S32,
                             simt::E_S32,       false, how == experimental::bmmaBitOpAND};
    simt_wmma_multiply(&product, a.x, b.x, c.x, d.x);
}

}  // namespace wmma
}  // namespace nvcuda
#endif

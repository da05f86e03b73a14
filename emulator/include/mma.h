/* WMMA (CUDA C++ Programming Guide, "Warp Matrix Functions"): fragments, and what a warp does with them. */
#ifndef __CUDA_MMA_H__
#define __CUDA_MMA_H__

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "simt/matrix.h"

#if SIMT_ARCH < 750
#pragma simt_refuse <mma.h> WMMA of compute capability 7.0, where fragments are laid out otherwise: nvcuda
#endif
#pragma simt_refuse <mma.h> WMMA with 4- and 1-bit integers: experimental bmma_sync

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

template <typename T, simt::element_type TYPE, simt::element_type SUMS> struct simt_element {
    static constexpr simt::element_type type = TYPE;
    static constexpr simt::element_type sums = SUMS; /* of products of them; of sums, themselves */
    typedef T stored;
};
template <typename T> struct simt_offered : simt_element<T, simt::E_F64, simt::E_F64> {}; /* not offered */
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
    bool shape = (m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32);
    return shape && k == 16 && type != simt::E_TF32 && type != simt::E_F64;
}

/* A product of that shape in which sums of T stand, or, of inputs, T itself. */
template <int m, int n, int k, typename T> constexpr simt::product simt_product()
{
    constexpr simt::element_type type = simt_offered<T>::type;
    constexpr simt::element_type input = type == simt::E_S32  ? simt::E_S8
                                         : type != simt::E_F32 ? type
                                         : k == 8              ? simt::E_TF32
                                                               : simt::E_F16;
    constexpr simt::element_type sums = type == simt::E_F16 ? type : simt_offered<T>::sums;
    return {simt::LAYOUT_WMMA, m, n, k, input, input, sums, sums, false};
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
    static_assert(simt_has(simt_offered<T>::type, m, n, k),
                  "the emulator does not offer WMMA fragments of this shape and type");

  public:
    enum { num_elements = simt_count<Use, m, n, k, T>::value, num_storage_elements = num_elements };
    typedef T element_type;
    typedef typename simt_offered<T>::stored storage_element_type;
    storage_element_type x[num_elements];
};

/* ---- what a warp does with them ---- */

template <typename Use, int m, int n, int k, typename T, typename Layout, typename V>
SIMT_INLINE void fill_fragment(fragment<Use, m, n, k, T, Layout> &f, const V &value)
{
    for (int i = 0; i < f.num_elements; i++)
        f.x[i] = (typename simt_offered<T>::stored)value;
}

template <typename T> using simt_stored = typename simt_offered<T>::stored;

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
    simt::product product = {simt::LAYOUT_WMMA,     m, n, k, type, type, simt_offered<C>::type,
                             simt_offered<D>::type, satf};
    simt_wmma_multiply(&product, a.x, b.x, c.x, d.x);
}

}  // namespace wmma
}  // namespace nvcuda
#endif

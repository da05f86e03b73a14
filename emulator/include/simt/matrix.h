/* Products of matrices by a warp, as mma.h asks the runtime for them, and the runtime's rooms each other. */
#ifndef SIMT_PRODUCT_H
#define SIMT_PRODUCT_H

#include "runtime.h"

#ifdef __cplusplus
namespace simt
{
extern "C" {
#endif

enum element_type { E_F16, E_BF16, E_TF32, E_F32, E_F64, E_S8, E_U8, E_S32, E_E4M3, E_E5M2, E_S4, E_U4, E_B1 };

/* Which family of layouts: those of mma.sync and of wgmma, by a whole warpgroup, are documented, those of wmma and of
 * nvcuda::wmma were dumped from hardware. */
enum layout_family { LAYOUT_MMA, LAYOUT_WMMA, LAYOUT_WGMMA };

/* D = A B + C, [m, n] = [m, k] [k, n] + [m, n]. */
struct product {
    enum layout_family family;
    unsigned m, n, k;
    enum element_type a, b, c, d;
    bool saturates; /* .satfinite, of integers */
    bool conjoins;  /* of single bits: their and is counted, else their exclusive or */
};

enum operand { OPERAND_A, OPERAND_B, OPERAND_C, OPERAND_D };

/* By all lanes of a warp; `first` and `stride` as load_matrix_sync() and store_matrix_sync() take them, fragments as the
 * addresses of their x. */
SIMT_NOMERGE void simt_wmma_load(const struct product *p, enum operand which, bool column_major, const void *first,
                                 unsigned stride, void *fragment);
SIMT_NOMERGE void simt_wmma_store(const struct product *p, bool column_major, void *first, unsigned stride,
                                  const void *fragment);
SIMT_NOMERGE void simt_wmma_multiply(const struct product *p, const void *a, const void *b, const void *c, void *d);

#ifdef __cplusplus
}
}  // namespace simt
#endif
#endif

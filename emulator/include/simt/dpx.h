/* Sums, minima and maxima of two and three numbers in one step (CUDA Math API, "Integer Intrinsics", DPX): of s32, of u32,
 * and of pairs of 16 bits. Sums wrap around; _relu is 0 where it would be negative. */
#ifndef SIMT_DPX_H
#define SIMT_DPX_H

#include "simd.h"

namespace simt
{
SIMT_INLINE int wrapped_sum(int a, int b) { return (int)((unsigned)a + (unsigned)b); }
SIMT_INLINE unsigned wrapped_sum(unsigned a, unsigned b) { return a + b; }
}  // namespace simt

/* Of numbers of type T, or pairs of them: SUM, MAX and MIN of two. */
#define SIMT_DPX(KIND, T, SUM, MAX, MIN) \
    SIMT_INLINE T __viaddmax_##KIND(const T a, const T b, const T c) { return MAX(SUM(a, b), c); } \
    SIMT_INLINE T __viaddmin_##KIND(const T a, const T b, const T c) { return MIN(SUM(a, b), c); } \
    SIMT_INLINE T __vimax3_##KIND(const T a, const T b, const T c) { return MAX(MAX(a, b), c); } \
    SIMT_INLINE T __vimin3_##KIND(const T a, const T b, const T c) { return MIN(MIN(a, b), c); }
#define SIMT_DPX_RELU(KIND, T, SUM, MAX, MIN) \
    SIMT_INLINE T __viaddmax_##KIND##_relu(const T a, const T b, const T c) { return MAX(MAX(SUM(a, b), c), 0); } \
    SIMT_INLINE T __viaddmin_##KIND##_relu(const T a, const T b, const T c) { return MAX(MIN(SUM(a, b), c), 0); } \
    SIMT_INLINE T __vimax_##KIND##_relu(const T a, const T b) { return MAX(MAX(a, b), 0); } \
    SIMT_INLINE T __vimin_##KIND##_relu(const T a, const T b) { return MAX(MIN(a, b), 0); } \
    SIMT_INLINE T __vimax3_##KIND##_relu(const T a, const T b, const T c) { return MAX(MAX(MAX(a, b), c), 0); } \
    SIMT_INLINE T __vimin3_##KIND##_relu(const T a, const T b, const T c) { return MAX(MIN(MIN(a, b), c), 0); }
/* Whether it is the first; also where both are equal. */
#define SIMT_DPX_WHICH(NAME, T, BEST) \
    SIMT_INLINE T NAME(const T a, const T b, bool *const first) \
    { \
        T best = BEST(a, b); \
        *first = best == a; \
        return best; \
    }
#define SIMT_DPX_WHICH_OF_PAIR(NAME, BEST) \
    SIMT_INLINE unsigned NAME(const unsigned a, const unsigned b, bool *const first_high, bool *const first_low) \
    { \
        unsigned best = BEST(a, b); \
        *first_high = best >> 16 == a >> 16; \
        *first_low = (best & 0xffff) == (a & 0xffff); \
        return best; \
    }

SIMT_DPX(s32, int, simt::wrapped_sum, max, min)
SIMT_DPX(u32, unsigned, simt::wrapped_sum, max, min)
SIMT_DPX(s16x2, unsigned, __vadd2, __vmaxs2, __vmins2)
SIMT_DPX(u16x2, unsigned, __vadd2, __vmaxu2, __vminu2)
SIMT_DPX_RELU(s32, int, simt::wrapped_sum, max, min)
SIMT_DPX_RELU(s16x2, unsigned, __vadd2, __vmaxs2, __vmins2)
SIMT_DPX_WHICH(__vibmax_s32, int, max)
SIMT_DPX_WHICH(__vibmax_u32, unsigned, max)
SIMT_DPX_WHICH(__vibmin_s32, int, min)
SIMT_DPX_WHICH(__vibmin_u32, unsigned, min)
SIMT_DPX_WHICH_OF_PAIR(__vibmax_s16x2, __vmaxs2)
SIMT_DPX_WHICH_OF_PAIR(__vibmax_u16x2, __vmaxu2)
SIMT_DPX_WHICH_OF_PAIR(__vibmin_s16x2, __vmins2)
SIMT_DPX_WHICH_OF_PAIR(__vibmin_u16x2, __vminu2)
#undef SIMT_DPX
#undef SIMT_DPX_RELU
#undef SIMT_DPX_WHICH
#undef SIMT_DPX_WHICH_OF_PAIR

#endif

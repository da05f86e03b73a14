/* Two or four numbers in one word of 32 bits, and what is done with each of them by itself (CUDA Math API, "SIMD
 * Intrinsics"): of __vadd2 two of 16 bits, of __vadd4 four of 8. */
#ifndef SIMT_SIMD_H
#define SIMT_SIMD_H

/* RESULT is an expression of x and y, those of a and b at one place, and of the least and the most that an E holds. */
#define SIMT_EACH(NAME, E, RESULT) \
    SIMT_INLINE unsigned NAME(unsigned a, unsigned b) \
    { \
        constexpr int least = std::numeric_limits<E>::min(), most = std::numeric_limits<E>::max(); \
        unsigned all = 0; \
        for (int at = 0; at < 32; at += 8 * (int)sizeof(E)) { \
            int x = (E)(a >> at), y = (E)(b >> at); \
            all |= (unsigned)(std::make_unsigned_t<E>)(RESULT) << at; \
        } \
        (void)least, (void)most; \
        return all; \
    }
#define SIMT_SIGNED(NAME, RESULT) SIMT_EACH(NAME##2, short, RESULT) SIMT_EACH(NAME##4, signed char, RESULT)
#define SIMT_UNSIGNED(NAME, RESULT) \
    SIMT_EACH(NAME##2, unsigned short, RESULT) \
    SIMT_EACH(NAME##4, unsigned char, RESULT)
#define SIMT_EITHER(NAME, RESULT) SIMT_SIGNED(NAME##s, RESULT) SIMT_UNSIGNED(NAME##u, RESULT)
#define SIMT_SATURATED(X) ((X) < least ? least : (X) > most ? most : (X))

SIMT_UNSIGNED(__vadd, x + y)
SIMT_SIGNED(__vaddss, SIMT_SATURATED(x + y))
SIMT_UNSIGNED(__vaddus, SIMT_SATURATED(x + y))
SIMT_UNSIGNED(__vsub, x - y)
SIMT_SIGNED(__vsubss, SIMT_SATURATED(x - y))
SIMT_UNSIGNED(__vsubus, SIMT_SATURATED(x - y))
SIMT_SIGNED(__vavgs, (x + y + (x + y >= 0)) >> 1) /* halves are rounded away from zero */
SIMT_UNSIGNED(__vavgu, (x + y + 1) >> 1)
SIMT_UNSIGNED(__vhaddu, (x + y) >> 1)
SIMT_EITHER(__vabsdiff, x < y ? y - x : x - y)
SIMT_EITHER(__vmax, x < y ? y : x)
SIMT_EITHER(__vmin, x < y ? x : y)

/* __vcmp…: all ones where it holds; __vset…: 1. */
#define SIMT_COMPARED(NAME, KIND, CONDITION) \
    KIND(__vcmp##NAME, CONDITION ? -1 : 0) \
    KIND(__vset##NAME, CONDITION)
SIMT_COMPARED(eq, SIMT_UNSIGNED, x == y)
SIMT_COMPARED(ne, SIMT_UNSIGNED, x != y)
SIMT_COMPARED(ge, SIMT_EITHER, x >= y)
SIMT_COMPARED(gt, SIMT_EITHER, x > y)
SIMT_COMPARED(le, SIMT_EITHER, x <= y)
SIMT_COMPARED(lt, SIMT_EITHER, x < y)

#undef SIMT_COMPARED
#undef SIMT_SATURATED
#undef SIMT_EITHER
#undef SIMT_UNSIGNED
#undef SIMT_SIGNED
#undef SIMT_EACH

#define SIMT_UNARY(N) \
    SIMT_INLINE unsigned __vneg##N(unsigned a) { return __vsub##N(0, a); } \
    SIMT_INLINE unsigned __vnegss##N(unsigned a) { return __vsubss##N(0, a); } \
    SIMT_INLINE unsigned __vabs##N(unsigned a) { return __vabsdiffs##N(a, 0); } /* of the least, itself */ \
    SIMT_INLINE unsigned __vabsss##N(unsigned a) { return __vmaxs##N(a, __vnegss##N(a)); }
SIMT_UNARY(2)
SIMT_UNARY(4)
#undef SIMT_UNARY

/* Sums of absolute differences. */
#define SIMT_SUMS(SIGN) \
    SIMT_INLINE unsigned __vsad##SIGN##2(unsigned a, unsigned b) \
    { \
        unsigned all = __vabsdiff##SIGN##2(a, b); \
        return (all & 0xffff) + (all >> 16); \
    } \
    SIMT_INLINE unsigned __vsad##SIGN##4(unsigned a, unsigned b) \
    { \
        unsigned all = __vabsdiff##SIGN##4(a, b); \
        return (all & 0xff) + (all >> 8 & 0xff) + (all >> 16 & 0xff) + (all >> 24); \
    }
SIMT_SUMS(s)
SIMT_SUMS(u)
#undef SIMT_SUMS

#endif

/* One type of 16-bit floating point, its pair, and what CUDA's headers offer for both (CUDA Math API, "Half Precision"
 * and "Bfloat16 Precision Intrinsics"). Included once for each type, with
 *
 *     SIMT_T, SIMT_T2              the type and its pair
 *     SIMT_RAW, SIMT_RAW2          the structs of the same bits
 *     SIMT_OTHER                   the other type, which converts explicitly
 *     SIMT_NARROW                  its enum simt_narrow_type
 *     SIMT_TO_FLOAT                what makes a float of its bits
 *     SIMT_ATOMIC, SIMT_ATOMIC2    their enum simt_type
 *     SIMT_NAMED(BEFORE, AFTER)    a name with the type's in it: SIMT_NAMED(__float2, _rn)
 *
 * Arithmetic is exact or in double, and rounded once. That of pairs is that of their halves. */

typedef struct __attribute__((aligned(2))) {
    unsigned short x;
} SIMT_RAW;
typedef struct __attribute__((aligned(4))) {
    unsigned short x, y;
} SIMT_RAW2;

struct SIMT_OTHER;

struct __attribute__((aligned(2))) SIMT_T {
    unsigned short bits;
    SIMT_T() = default;
    constexpr SIMT_T(const SIMT_RAW &raw) : bits(raw.x) {}
    SIMT_T(float f) : bits((unsigned short)simt_narrow(SIMT_NARROW, f, SIMT_NEAREST)) {}
    SIMT_T(double f) : bits((unsigned short)simt_narrow(SIMT_NARROW, f, SIMT_NEAREST)) {}
    explicit SIMT_T(SIMT_OTHER other);
    operator SIMT_RAW() const { return {bits}; }
    operator float() const { return SIMT_TO_FLOAT(bits); }
    operator bool() const { return (bits & 0x7fff) != 0; }

    /* Integers become the nearest number; a number becomes an integer toward zero, the largest if it is too large. */
#define SIMT_INTEGER(I) \
    operator I() const { return simt::to_integer<I>(std::trunc(float(*this))); }
    SIMT_INTEGER(char)
    SIMT_INTEGER(signed char)
    SIMT_INTEGER(unsigned char)
#undef SIMT_INTEGER
#define SIMT_INTEGER(I) \
    SIMT_T(I i) : SIMT_T(simt::exact(i)) {} \
    operator I() const { return simt::to_integer<I>(std::trunc(float(*this))); }
    SIMT_INTEGER(short)
    SIMT_INTEGER(unsigned short)
    SIMT_INTEGER(int)
    SIMT_INTEGER(unsigned)
    SIMT_INTEGER(long)
    SIMT_INTEGER(unsigned long)
    SIMT_INTEGER(long long)
    SIMT_INTEGER(unsigned long long)
#undef SIMT_INTEGER
};

/* Copied by one access of 4 bytes. */
struct __attribute__((aligned(4))) SIMT_T2 {
    SIMT_T x, y;
    typedef unsigned simt_move __attribute__((may_alias));
    SIMT_T2() = default;
    constexpr SIMT_T2(const SIMT_T &x_, const SIMT_T &y_) : x(x_), y(y_) {}
    constexpr SIMT_T2(const SIMT_RAW2 &raw) : x(SIMT_RAW{raw.x}), y(SIMT_RAW{raw.y}) {}
    __attribute__((always_inline)) SIMT_T2(const SIMT_T2 &o) { *(simt_move *)this = *(const simt_move *)&o; }
    __attribute__((always_inline)) SIMT_T2 &operator=(const SIMT_T2 &o)
    {
        *(simt_move *)this = *(const simt_move *)&o;
        return *this;
    }
    operator SIMT_RAW2() const { return {x.bits, y.bits}; }
};

/* ---- bits ------------------------------------------------------------------------------------------------ */

SIMT_INLINE unsigned short SIMT_NAMED(__, _as_ushort)(SIMT_T a) { return a.bits; }
SIMT_INLINE short SIMT_NAMED(__, _as_short)(SIMT_T a) { return (short)a.bits; }
SIMT_INLINE SIMT_T SIMT_NAMED(__ushort_as_, )(unsigned short bits) { return SIMT_RAW{bits}; }
SIMT_INLINE SIMT_T SIMT_NAMED(__short_as_, )(short bits) { return SIMT_RAW{(unsigned short)bits}; }

/* ---- pairs ----------------------------------------------------------------------------------------------- */

SIMT_INLINE SIMT_T2 SIMT_NAMED(make_, 2)(SIMT_T x, SIMT_T y) { return SIMT_T2(x, y); }
SIMT_INLINE SIMT_T2 SIMT_NAMED(__halves2, 2)(SIMT_T x, SIMT_T y) { return SIMT_T2(x, y); }
SIMT_INLINE SIMT_T SIMT_NAMED(__low2, )(SIMT_T2 a) { return a.x; }
SIMT_INLINE SIMT_T SIMT_NAMED(__high2, )(SIMT_T2 a) { return a.y; }
SIMT_INLINE SIMT_T2 SIMT_NAMED(__low2, 2)(SIMT_T2 a) { return SIMT_T2(a.x, a.x); }
SIMT_INLINE SIMT_T2 SIMT_NAMED(__high2, 2)(SIMT_T2 a) { return SIMT_T2(a.y, a.y); }
SIMT_INLINE SIMT_T2 SIMT_NAMED(__lows2, 2)(SIMT_T2 a, SIMT_T2 b) { return SIMT_T2(a.x, b.x); }
SIMT_INLINE SIMT_T2 SIMT_NAMED(__highs2, 2)(SIMT_T2 a, SIMT_T2 b) { return SIMT_T2(a.y, b.y); }
SIMT_INLINE SIMT_T2 __lowhigh2highlow(SIMT_T2 a) { return SIMT_T2(a.y, a.x); }

/* ---- conversions ----------------------------------------------------------------------------------------- */

SIMT_INLINE float SIMT_NAMED(__, 2float)(SIMT_T a) { return a; }
SIMT_INLINE float __low2float(SIMT_T2 a) { return a.x; }
SIMT_INLINE float __high2float(SIMT_T2 a) { return a.y; }
SIMT_INLINE float2 SIMT_NAMED(__, 22float2)(SIMT_T2 a) { return make_float2(a.x, a.y); }
SIMT_INLINE SIMT_T SIMT_NAMED(__float2, )(float f) { return SIMT_T(f); }
SIMT_INLINE SIMT_T SIMT_NAMED(__double2, )(double f) { return SIMT_T(f); }
SIMT_INLINE SIMT_T2 SIMT_NAMED(__float2, 2_rn)(float f) { return SIMT_T2(f, f); }
SIMT_INLINE SIMT_T2 SIMT_NAMED(__floats2, 2_rn)(float x, float y) { return SIMT_T2(x, y); }
SIMT_INLINE SIMT_T2 SIMT_NAMED(__float22, 2_rn)(float2 f) { return SIMT_T2(f.x, f.y); }

#define SIMT_FROM(SUFFIX, HOW, WORD, FROM) \
    SIMT_INLINE SIMT_T SIMT_NAMED(__##WORD##2, SUFFIX)(FROM a) \
    { \
        return SIMT_RAW{(unsigned short)simt_narrow(SIMT_NARROW, simt::exact(a), HOW)}; \
    }
#define SIMT_TO(SUFFIX, ROUND, WORD, TO) \
    SIMT_INLINE TO SIMT_NAMED(__, 2##WORD##SUFFIX)(SIMT_T a) { return simt::to_integer<TO>(std::ROUND(float(a))); }
#define SIMT_ROUNDINGS(SUFFIX, HOW, ROUND) \
    SIMT_FROM(SUFFIX, HOW, float, float) \
    SIMT_FROM(SUFFIX, HOW, short, short) \
    SIMT_FROM(SUFFIX, HOW, ushort, unsigned short) \
    SIMT_FROM(SUFFIX, HOW, int, int) \
    SIMT_FROM(SUFFIX, HOW, uint, unsigned) \
    SIMT_FROM(SUFFIX, HOW, ll, long long) \
    SIMT_FROM(SUFFIX, HOW, ull, unsigned long long) \
    SIMT_TO(SUFFIX, ROUND, short, short) \
    SIMT_TO(SUFFIX, ROUND, ushort, unsigned short) \
    SIMT_TO(SUFFIX, ROUND, int, int) \
    SIMT_TO(SUFFIX, ROUND, uint, unsigned) \
    SIMT_TO(SUFFIX, ROUND, ll, long long) \
    SIMT_TO(SUFFIX, ROUND, ull, unsigned long long)
SIMT_ROUNDINGS(_rn, SIMT_NEAREST, rint)
SIMT_ROUNDINGS(_rz, SIMT_ZERO, trunc)
SIMT_ROUNDINGS(_ru, SIMT_UP, ceil)
SIMT_ROUNDINGS(_rd, SIMT_DOWN, floor)
SIMT_TO(_rz, trunc, char, signed char)
SIMT_TO(_rz, trunc, uchar, unsigned char)
#undef SIMT_FROM
#undef SIMT_TO
#undef SIMT_ROUNDINGS

/* ---- arithmetic ------------------------------------------------------------------------------------------ */

#define SIMT_UNARY(NAME, NAME2, X) \
    SIMT_INLINE SIMT_T NAME(SIMT_T a) { return X; } \
    SIMT_INLINE SIMT_T2 NAME2(SIMT_T2 a) { return SIMT_T2(NAME(a.x), NAME(a.y)); }
#define SIMT_BINARY(NAME, NAME2, X) \
    SIMT_INLINE SIMT_T NAME(SIMT_T a, SIMT_T b) { return X; } \
    SIMT_INLINE SIMT_T2 NAME2(SIMT_T2 a, SIMT_T2 b) { return SIMT_T2(NAME(a.x, b.x), NAME(a.y, b.y)); }
#define SIMT_TERNARY(NAME, NAME2, X) \
    SIMT_INLINE SIMT_T NAME(SIMT_T a, SIMT_T b, SIMT_T c) { return X; } \
    SIMT_INLINE SIMT_T2 NAME2(SIMT_T2 a, SIMT_T2 b, SIMT_T2 c) \
    { \
        return SIMT_T2(NAME(a.x, b.x, c.x), NAME(a.y, b.y, c.y)); \
    }

/* PTX ISA: .sat makes it 0 … 1, NaN becoming 0; .relu makes negative numbers 0 and leaves NaN. */
namespace simt
{
SIMT_INLINE SIMT_T saturate(SIMT_T a) { return __saturatef(a); }
SIMT_INLINE SIMT_T rectify(SIMT_T a) { return float(a) < 0 ? SIMT_T(0.0f) : a; }
}  // namespace simt

/* With _rn in its name, no product and sum become one operation; here they never do. */
#define SIMT_ARITHMETIC(NAME, OP) \
    SIMT_BINARY(__h##NAME, __h##NAME##2, SIMT_T((double)float(a) OP(double) float(b))) \
    SIMT_BINARY(__h##NAME##_rn, __h##NAME##2_rn, __h##NAME(a, b)) \
    SIMT_BINARY(__h##NAME##_sat, __h##NAME##2_sat, simt::saturate(__h##NAME(a, b)))
SIMT_ARITHMETIC(add, +)
SIMT_ARITHMETIC(sub, -)
SIMT_ARITHMETIC(mul, *)
#undef SIMT_ARITHMETIC
SIMT_BINARY(__hdiv, __h2div, SIMT_T((double)float(a) / (double)float(b)))
SIMT_TERNARY(__hfma, __hfma2, SIMT_T(simt::fused(float(a), float(b), float(c))))
SIMT_TERNARY(__hfma_sat, __hfma2_sat, simt::saturate(__hfma(a, b, c)))
SIMT_TERNARY(__hfma_relu, __hfma2_relu, simt::rectify(__hfma(a, b, c)))
SIMT_UNARY(__hneg, __hneg2, SIMT_T(-float(a)))
SIMT_UNARY(__habs, __habs2, SIMT_T(fabsf(a)))
SIMT_BINARY(__hmax, __hmax2, SIMT_T(simt::greater(a, b)))
SIMT_BINARY(__hmin, __hmin2, SIMT_T(simt::lesser(a, b)))
SIMT_BINARY(__hmax_nan, __hmax2_nan, simt::unordered(a, b) ? SIMT_T(NAN) : __hmax(a, b))
SIMT_BINARY(__hmin_nan, __hmin2_nan, simt::unordered(a, b) ? SIMT_T(NAN) : __hmin(a, b))

/* a b + c of complex numbers */
SIMT_INLINE SIMT_T2 __hcmadd(SIMT_T2 a, SIMT_T2 b, SIMT_T2 c)
{
    SIMT_T2 sum = __hfma2(SIMT_T2(a.x, a.x), b, c);
    return SIMT_T2(__hfma(__hneg(a.y), b.y, sum.x), __hfma(a.y, b.x, sum.y));
}

/* ---- comparisons ----------------------------------------------------------------------------------------- */

/* With NaN the plain form is false and the one with u (unordered) true. Of pairs: both; 1.0 or 0.0 each; all bits or
 * none each. */
#define SIMT_COMPARED(NAME, X) \
    SIMT_INLINE bool __h##NAME(SIMT_T a, SIMT_T b) { return X; } \
    SIMT_INLINE bool __hb##NAME##2(SIMT_T2 a, SIMT_T2 b) { return __h##NAME(a.x, b.x) && __h##NAME(a.y, b.y); } \
    SIMT_INLINE SIMT_T2 __h##NAME##2(SIMT_T2 a, SIMT_T2 b) \
    { \
        return SIMT_T2((float)__h##NAME(a.x, b.x), (float)__h##NAME(a.y, b.y)); \
    } \
    SIMT_INLINE unsigned __h##NAME##2_mask(SIMT_T2 a, SIMT_T2 b) \
    { \
        return (__h##NAME(a.x, b.x) ? 0xffffu : 0) | (__h##NAME(a.y, b.y) ? 0xffff0000u : 0); \
    }
#define SIMT_COMPARISON(NAME, OP) \
    SIMT_COMPARED(NAME, !simt::unordered(a, b) && float(a) OP float(b)) \
    SIMT_COMPARED(NAME##u, simt::unordered(a, b) || float(a) OP float(b))
SIMT_COMPARISON(eq, ==)
SIMT_COMPARISON(ne, !=)
SIMT_COMPARISON(lt, <)
SIMT_COMPARISON(le, <=)
SIMT_COMPARISON(gt, >)
SIMT_COMPARISON(ge, >=)
#undef SIMT_COMPARISON
#undef SIMT_COMPARED
SIMT_INLINE bool __hisnan(SIMT_T a) { return simt::unordered(a, a); }
SIMT_INLINE SIMT_T2 __hisnan2(SIMT_T2 a) { return __hneu2(a, a); }
SIMT_INLINE int __hisinf(SIMT_T a) { return std::isinf(float(a)) ? (a.bits & 0x8000 ? -1 : 1) : 0; }

/* ---- operators ------------------------------------------------------------------------------------------- */

#define SIMT_OPERATORS(T, ADD, SUB, MUL, DIV, NEGATE, ONE) \
    SIMT_INLINE T operator+(const T &a, const T &b) { return ADD(a, b); } \
    SIMT_INLINE T operator-(const T &a, const T &b) { return SUB(a, b); } \
    SIMT_INLINE T operator*(const T &a, const T &b) { return MUL(a, b); } \
    SIMT_INLINE T operator/(const T &a, const T &b) { return DIV(a, b); } \
    SIMT_INLINE T &operator+=(T &a, const T &b) { return a = ADD(a, b); } \
    SIMT_INLINE T &operator-=(T &a, const T &b) { return a = SUB(a, b); } \
    SIMT_INLINE T &operator*=(T &a, const T &b) { return a = MUL(a, b); } \
    SIMT_INLINE T &operator/=(T &a, const T &b) { return a = DIV(a, b); } \
    SIMT_INLINE T operator+(const T &a) { return a; } \
    SIMT_INLINE T operator-(const T &a) { return NEGATE(a); } \
    SIMT_INLINE T &operator++(T &a) { return a = ADD(a, ONE); } \
    SIMT_INLINE T &operator--(T &a) { return a = SUB(a, ONE); } \
    SIMT_INLINE T operator++(T &a, int) \
    { \
        T old = a; \
        ++a; \
        return old; \
    } \
    SIMT_INLINE T operator--(T &a, int) \
    { \
        T old = a; \
        --a; \
        return old; \
    }
SIMT_OPERATORS(SIMT_T, __hadd, __hsub, __hmul, __hdiv, __hneg, SIMT_T(1.0f))
SIMT_OPERATORS(SIMT_T2, __hadd2, __hsub2, __hmul2, __h2div, __hneg2, SIMT_T2(1.0f, 1.0f))
#undef SIMT_OPERATORS
#define SIMT_OPERATORS(T, EQUAL, UNEQUAL, LESS, AT_MOST, GREATER, AT_LEAST) \
    SIMT_INLINE bool operator==(const T &a, const T &b) { return EQUAL(a, b); } \
    SIMT_INLINE bool operator!=(const T &a, const T &b) { return UNEQUAL(a, b); } \
    SIMT_INLINE bool operator<(const T &a, const T &b) { return LESS(a, b); } \
    SIMT_INLINE bool operator<=(const T &a, const T &b) { return AT_MOST(a, b); } \
    SIMT_INLINE bool operator>(const T &a, const T &b) { return GREATER(a, b); } \
    SIMT_INLINE bool operator>=(const T &a, const T &b) { return AT_LEAST(a, b); }
SIMT_OPERATORS(SIMT_T, __heq, __hneu, __hlt, __hle, __hgt, __hge)
SIMT_OPERATORS(SIMT_T2, __hbeq2, __hbneu2, __hblt2, __hble2, __hbgt2, __hbge2)
#undef SIMT_OPERATORS

/* ---- mathematics: the double's result, rounded ------------------------------------------------------------ */

#define SIMT_FUNCTION(NAME, X) \
    SIMT_INLINE SIMT_T h##NAME(SIMT_T h) \
    { \
        double a = float(h); \
        return SIMT_T(X); \
    } \
    SIMT_INLINE SIMT_T2 h2##NAME(SIMT_T2 a) { return SIMT_T2(h##NAME(a.x), h##NAME(a.y)); }
SIMT_FUNCTION(exp, exp(a))
SIMT_FUNCTION(exp2, exp2(a))
SIMT_FUNCTION(exp10, exp10(a))
SIMT_FUNCTION(log, log(a))
SIMT_FUNCTION(log2, log2(a))
SIMT_FUNCTION(log10, log10(a))
SIMT_FUNCTION(sin, sin(a))
SIMT_FUNCTION(cos, cos(a))
SIMT_FUNCTION(tanh, tanh(a))
SIMT_FUNCTION(tanh_approx, tanh(a))
SIMT_FUNCTION(sqrt, sqrt(a))
SIMT_FUNCTION(rsqrt, 1 / sqrt(a))
SIMT_FUNCTION(rcp, 1 / a)
SIMT_FUNCTION(floor, floor(a))
SIMT_FUNCTION(ceil, ceil(a))
SIMT_FUNCTION(trunc, trunc(a))
SIMT_FUNCTION(rint, rint(a))
#undef SIMT_FUNCTION
#undef SIMT_UNARY
#undef SIMT_BINARY
#undef SIMT_TERNARY

/* ---- atomics --------------------------------------------------------------------------------------------- */

template <> constexpr ::simt_type simt::type_of<SIMT_T>() { return SIMT_ATOMIC; }
template <> constexpr ::simt_type simt::type_of<SIMT_T2>() { return SIMT_ATOMIC2; }
SIMT_INLINE SIMT_T atomicAdd(SIMT_T *address, SIMT_T value)
{
    return simt::atomic(SIMT_ATOMIC_ADD, SIMT_SCOPE_DEVICE, address, value);
}
SIMT_INLINE SIMT_T2 atomicAdd(SIMT_T2 *address, SIMT_T2 value)
{
    return simt::atomic(SIMT_ATOMIC_ADD, SIMT_SCOPE_DEVICE, address, value);
}

#undef SIMT_T
#undef SIMT_T2
#undef SIMT_RAW
#undef SIMT_RAW2
#undef SIMT_OTHER
#undef SIMT_NARROW
#undef SIMT_TO_FLOAT
#undef SIMT_ATOMIC
#undef SIMT_ATOMIC2
#undef SIMT_NAMED

// half and bfloat16: numbers of every size, one rounding. What is expected comes from the line of all numbers of the type.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <algorithm>
#include "right.h"

const int N = 16384;

enum {
    ADD,
    SUB,
    MUL,
    DIV,
    FMA,
    ADD_SAT,
    FMA_RELU,
    MAX,
    MIN,
    MAX_NAN,
    NEG,
    ABS,
    SQRT,
    RCP,
    FLOOR,
    CEIL,
    TRUNC,
    RINT,
    FLOAT_RN,
    FLOAT_RZ,
    FLOAT_RU,
    FLOAT_RD,
    DOUBLE,
    INT_RN,
    INT_RZ,
    INT_RU,
    INT_RD,
    LL_RN,
    ULL_RN,
    SHORT_RN,
    N_EXACT,
    EXP = N_EXACT,
    EXP2,
    LOG,
    LOG2,
    TANH,
    RSQRT,
    N_NUMBERS
};
enum { TO_INT_RN, TO_INT_RZ, TO_INT_RU, TO_INT_RD, TO_SHORT, TO_UCHAR, TO_UINT, TO_ULL, COMPARED, N_INTEGERS };

__host__ __device__ half from_bits(unsigned bits, half) { return __ushort_as_half((unsigned short)bits); }
__host__ __device__ __nv_bfloat16 from_bits(unsigned bits, __nv_bfloat16)
{
    return __ushort_as_bfloat16((unsigned short)bits);
}
__host__ __device__ unsigned short to_bits(half h) { return __half_as_ushort(h); }
__host__ __device__ unsigned short to_bits(__nv_bfloat16 h) { return __bfloat16_as_ushort(h); }

// The operands, and a float of any size, from the number of a thread.
__host__ __device__ unsigned first(unsigned i) { return 4 * i + i % 4; }
__host__ __device__ unsigned second(unsigned i) { return i % 64 ? (i * 40503u + 7) & 0xffff : first(i) ^ 0x8000; }
__host__ __device__ unsigned third(unsigned i) { return (i * 25173u + 13849u) & 0xffff; }
__host__ __device__ unsigned mixed(unsigned i) { return first(i) << 16 | second(i); }

// An integer of any size; every eighth has 16 bits, a gap, and perhaps one more: nearly halfway between two numbers.
__host__ __device__ long long integer(unsigned i)
{
    if (i % 8 == 0)
        return (long long)mixed(i) >> 16 << 47 | (i / 8 & 1);
    return (long long)((unsigned long long)mixed(i) << 32 | mixed(i * 3)) >> (i & 63);
}

#define CONVERSIONS(T, T2, WORD) \
    __device__ void convert(unsigned i, T *out, long long *integers, T a) \
    { \
        float f = __uint_as_float(mixed(i)); \
        int n = (int)mixed(i) >> (i & 31); \
        long long wide = integer(i); \
        out[FLOAT_RN] = i & 1 ? __floats2##WORD##2_rn(f, 1).x : __float2##WORD##_rn(f); \
        out[FLOAT_RZ] = __float2##WORD##_rz(f), out[FLOAT_RU] = __float2##WORD##_ru(f); \
        out[FLOAT_RD] = __float2##WORD##_rd(f), out[DOUBLE] = __double2##WORD(1 / (double)f); \
        out[INT_RN] = __int2##WORD##_rn(n), out[INT_RZ] = __int2##WORD##_rz(n); \
        out[INT_RU] = __int2##WORD##_ru(n), out[INT_RD] = __int2##WORD##_rd(n); \
        out[LL_RN] = __ll2##WORD##_rn(wide), out[ULL_RN] = __ull2##WORD##_rn((unsigned long long)wide); \
        out[SHORT_RN] = T((short)n); \
        integers[TO_INT_RN] = __##WORD##2int_rn(a), integers[TO_INT_RZ] = (int)a; \
        integers[TO_INT_RU] = __##WORD##2int_ru(a), integers[TO_INT_RD] = __##WORD##2int_rd(a); \
        integers[TO_SHORT] = __##WORD##2short_rn(a), integers[TO_UCHAR] = __##WORD##2uchar_rz(a); \
        integers[TO_UINT] = __##WORD##2uint_rz(a), integers[TO_ULL] = (long long)__##WORD##2ull_rn(a); \
    } \
    __device__ T2 pair(T x, T y) { return __halves2##WORD##2(x, y); }
CONVERSIONS(half, half2, half)
CONVERSIONS(__nv_bfloat16, __nv_bfloat162, bfloat16)

// An odd thread asks the pair's function.
#define UNARY(OUT, NAME, NAME2) out[OUT] = i & 1 ? NAME2(pair(b, a)).y : NAME(a)
#define BINARY(OUT, NAME, NAME2) out[OUT] = i & 1 ? NAME2(pair(a, b), pair(b, a)).x : NAME(a, b)
#define TERNARY(OUT, NAME, NAME2) out[OUT] = i & 1 ? NAME2(pair(b, a), pair(a, b), pair(a, c)).y : NAME(a, b, c)

template <class T> __device__ void calculate(unsigned i, T a, T b, T c, T *out)
{
    BINARY(ADD, __hadd, __hadd2), BINARY(SUB, __hsub, __hsub2), BINARY(MUL, __hmul, __hmul2);
    BINARY(DIV, __hdiv, __h2div), BINARY(ADD_SAT, __hadd_sat, __hadd2_sat), BINARY(MAX, __hmax, __hmax2);
    BINARY(MIN, __hmin, __hmin2), BINARY(MAX_NAN, __hmax_nan, __hmax2_nan);
    TERNARY(FMA, __hfma, __hfma2), TERNARY(FMA_RELU, __hfma_relu, __hfma2_relu);
    UNARY(NEG, __hneg, __hneg2), UNARY(ABS, __habs, __habs2), UNARY(SQRT, hsqrt, h2sqrt), UNARY(RCP, hrcp, h2rcp);
    UNARY(FLOOR, hfloor, h2floor), UNARY(CEIL, hceil, h2ceil), UNARY(TRUNC, htrunc, h2trunc);
    UNARY(RINT, hrint, h2rint), UNARY(EXP, hexp, h2exp), UNARY(EXP2, hexp2, h2exp2), UNARY(LOG, hlog, h2log);
    UNARY(LOG2, hlog2, h2log2), UNARY(TANH, htanh, h2tanh), UNARY(RSQRT, hrsqrt, h2rsqrt);
}

template <class T> __device__ unsigned compare(unsigned i, T a, T b)
{
    auto p = pair(a, a), q = pair(b, b);
    if (i & 1)
        return (__heq2_mask(p, q) & 1) | (__hne2_mask(p, q) & 2) | (__hlt2_mask(p, q) & 4) | (__hle2_mask(p, q) & 8) |
               (__hgt2_mask(p, q) & 16) | (__hge2_mask(p, q) & 32) | (__hequ2_mask(p, q) & 64) |
               (__hneu2_mask(p, q) & 128) | (p != q) << 8 | (p >= q) << 9;
    return __heq(a, b) | __hne(a, b) << 1 | __hlt(a, b) << 2 | __hle(a, b) << 3 | __hgt(a, b) << 4 | __hge(a, b) << 5 |
           __hequ(a, b) << 6 | __hneu(a, b) << 7 | (a != b) << 8 | (a >= b) << 9;
}

template <class T> __global__ void compute(unsigned short *numbers, long long *integers)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    T a = from_bits(first(i), T()), b = from_bits(second(i), T()), c = from_bits(third(i), T()), out[N_NUMBERS];
    long long whole[N_INTEGERS];
    calculate(i, a, b, c, out);
    convert(i, out, whole, a);
    whole[COMPARED] = compare(i, a, b);
    for (int k = 0; k < N_NUMBERS; k++)
        numbers[k * N + i] = to_bits(out[k]);
    for (int k = 0; k < N_INTEGERS; k++)
        integers[k * N + i] = whole[k];
}

// ---- what is expected ----

enum rounding { NEAREST, ZERO, UP, DOWN };

// All numbers from 0 to infinity, at their bits; infinity as what would come after the largest.
template <class T> struct line {
    double values[32768];
    unsigned infinity;
    line()
    {
        for (infinity = 0; isfinite((float)from_bits(infinity, T())); infinity++)
            values[infinity] = (float)from_bits(infinity, T());
        values[infinity] = 2 * values[infinity - 1] - values[infinity - 2];
    }
    // Of x + beyond, of which the second is nothing but a direction.
    int round(double x, rounding how = NEAREST, double beyond = 0) const
    {
        int sign = std::signbit(x) ? 0x8000 : 0;
        if (isnan(x))
            return 0x7fff;
        double m = fabs(x), d = sign ? -beyond : beyond;
        bool away = how == UP ? !sign : how == DOWN && sign;
        if (m >= values[infinity])
            return sign | (isinf(x) || how == NEAREST || away ? infinity : infinity - 1);
        unsigned below = (unsigned)(std::upper_bound(values, values + infinity, m) - values) - 1;
        if (m == values[below] && how != NEAREST)
            return sign | (int)below;
        double middle = (values[below] + values[below + 1]) / 2;
        bool up = how == NEAREST ? m > middle || (m == middle && (d > 0 || (d == 0 && (below & 1)))) : away;
        return sign | (int)(below + up);
    }
};

static double clamp(double x) { return x > 0 ? fmin(x, 1) : 0; }
static double largest(double a, double b) { return a == b ? (std::signbit(a) ? b : a) : fmax(a, b); }
template <class I> static long long whole(double x, I least, I most)
{
    if (isnan(x))
        return sizeof(I) == 8 ? (long long)(1ull << 63) : 0;
    return x >= (double)most ? (long long)most : x <= (double)least ? (long long)least : (long long)(I)x;
}

template <class T> static void check(const char *name)
{
    static line<T> l;
    unsigned short *numbers = to_device<unsigned short>(NULL, N_NUMBERS * N);
    long long *integers = to_device<long long>(NULL, N_INTEGERS * N);
    compute<T><<<N / 128, 128>>>(numbers, integers);
    numbers = to_host(numbers, N_NUMBERS * N);
    integers = to_host(integers, N_INTEGERS * N);
    for (unsigned i = 0; i < N; i++) {
        double a = (float)from_bits(first(i), T()), b = (float)from_bits(second(i), T()),
               c = (float)from_bits(third(i), T());
        unsigned m = mixed(i);
        float f;
        memcpy(&f, &m, sizeof f);
        int n = (int)m >> (i & 31);
        long long wide = integer(i);
        unsigned long long uwide = (unsigned long long)wide;
        double ab = a * b, sum = ab + c, part = sum - ab, error = (ab - (sum - part)) + (c - part);
        int fused = l.round(sum, NEAREST, isfinite(sum) ? error : 0);
        // A 64-bit integer may be too long for a double: its upper bits, and whether anything is below.
        long long below = llabs(wide) >> 53 ? wide & 2047 : 0;
        unsigned long long ubelow = uwide >> 53 ? uwide & 2047 : 0;
        bool nan = isnan(a) || isnan(b);
        const int want[N_EXACT] = {l.round(a + b),
                                   l.round(a - b),
                                   l.round(ab),
                                   l.round(a / b),
                                   fused,
                                   l.round(clamp(a + b)),
                                   fused & 0x8000 && fused != 0x8000 && sum == sum ? 0 : fused,
                                   l.round(largest(a, b)),
                                   l.round(-largest(-a, -b)),
                                   nan ? 0x7fff : l.round(largest(a, b)),
                                   l.round(-a),
                                   l.round(fabs(a)),
                                   l.round(sqrt(a)),
                                   l.round(1 / a),
                                   l.round(floor(a)),
                                   l.round(ceil(a)),
                                   l.round(trunc(a)),
                                   l.round(rint(a)),
                                   l.round(f),
                                   l.round(f, ZERO),
                                   l.round(f, UP),
                                   l.round(f, DOWN),
                                   l.round(1 / (double)f),
                                   l.round(n),
                                   l.round(n, ZERO),
                                   l.round(n, UP),
                                   l.round(n, DOWN),
                                   l.round((double)(wide - below), NEAREST, (double)below),
                                   l.round((double)(uwide - ubelow), NEAREST, (double)ubelow),
                                   l.round((short)n)};
        const double near[] = {exp(a), exp2(a), log(a), log2(a), tanh(a), 1 / sqrt(a)};
        for (int k = 0; k < N_NUMBERS; k++) {
            int got = numbers[k * N + i], wanted = k < N_EXACT ? want[k] : l.round(near[k - N_EXACT]);
            bool both_nan = (got & 0x7fff) > (int)l.infinity && (wanted & 0x7fff) > (int)l.infinity;
            if (!both_nan && abs(got - wanted) > (k < N_EXACT ? 0 : 2))
                printf("%s: number %d of %04x, %04x, %04x, %g, %lld is %04x, not %04x\n", name, k, first(i), second(i),
                       third(i), f, wide, got, wanted),
                    exit(1);
        }
        const long long integer[] = {whole(rint(a), INT_MIN, INT_MAX),
                                     whole(trunc(a), INT_MIN, INT_MAX),
                                     whole(ceil(a), INT_MIN, INT_MAX),
                                     whole(floor(a), INT_MIN, INT_MAX),
                                     whole<short>(rint(a), -32768, 32767),
                                     whole<unsigned char>(a, 0, 255),
                                     whole(trunc(a), 0u, UINT_MAX),
                                     whole(rint(a), 0ull, ULLONG_MAX),
                                     (a == b) | (a < b || a > b) << 1 | (a < b) << 2 | (a <= b) << 3 | (a > b) << 4 |
                                         (a >= b) << 5 | (nan || a == b) << 6 | (a != b) << 7 | (a != b) << 8 |
                                         (a >= b) << 9};
        for (int k = 0; k < N_INTEGERS; k++)
            if (integers[k * N + i] != integer[k])
                printf("%s: integer %d of %04x, %04x is %lld, not %lld\n", name, k, first(i), second(i),
                       integers[k * N + i], integer[k]),
                    exit(1);
    }
}

int main()
{
    check<half>("half");
    check<__nv_bfloat16>("bfloat16");
    return 0;
}

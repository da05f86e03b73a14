// Instructions on bytes, halves and words: CUDA's SIMD and DPX intrinsics, PTX's video instructions and their like, each
// against the same in plain C.
#include <stdint.h>
#include <string.h>
#include "right.h"

constexpr int INPUTS = 256, MOST = 160;

// ---- what a kernel computes, and what it should be ----

typedef long long (*number_function)(long long x, long long y);

static int wrong, n_checks;

static void expect(const char *what, const unsigned *got, const unsigned *want)
{
    n_checks++;
    for (int i = 0; i < INPUTS; i++)
        if (got[i] != want[i]) {
            printf("%s: input %d gives %08x, not %08x\n", what, i, got[i], want[i]);
            wrong = 1;
            return;
        }
}

__host__ __device__ unsigned scrambled(unsigned x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}
__host__ __device__ unsigned input(unsigned i, unsigned which)
{
    const unsigned corners[8] = {0, 0x80008000, 0x7fff7fff, 0xffffffff, 0x80808080, 0x7f7f0101, 0x0000ffff, 0x80000000};
    return i < 64 ? corners[(which ? i / 8 : i) % 8] : scrambled(3 * i + which);
}

// One operation on each of the parts of two words.
static unsigned of_parts(number_function f, int bits, bool with_sign, unsigned a, unsigned b)
{
    unsigned all = 0, mask = bits == 8 ? 0xff : 0xffff;
    for (int at = 0; at < 32; at += bits) {
        long long x = a >> at & mask, y = b >> at & mask, most = mask;
        if (with_sign && x > most / 2)
            x -= most + 1;
        if (with_sign && y > most / 2)
            y -= most + 1;
        all |= ((unsigned)f(x, y) & mask) << at;
    }
    return all;
}

static long long bounded(long long x, long long least, long long most)
{
    return x < least ? least : x > most ? most : x;
}
static long long magnitude(long long x) { return x < 0 ? -x : x; }

#define FUNCTION(NAME, RESULT) \
    static long long NAME(long long x, long long y) { return RESULT; }
FUNCTION(sum, x + y)
FUNCTION(difference, x - y)
FUNCTION(sum_s16, bounded(x + y, -32768, 32767))
FUNCTION(sum_s8, bounded(x + y, -128, 127))
FUNCTION(sum_u16, bounded(x + y, 0, 65535))
FUNCTION(sum_u8, bounded(x + y, 0, 255))
FUNCTION(difference_s16, bounded(x - y, -32768, 32767))
FUNCTION(difference_s8, bounded(x - y, -128, 127))
FUNCTION(difference_u, bounded(x - y, 0, 65535))
FUNCTION(distance, magnitude(x - y))
FUNCTION(average, x + y >= 0 ? (x + y + 1) / 2 : -((1 - x - y) / 2))
FUNCTION(lower_average, (x + y) / 2)
FUNCTION(least, x < y ? x : y)
FUNCTION(most, x > y ? x : y)
FUNCTION(negative, -x)
FUNCTION(negative_s16, bounded(-x, -32768, 32767))
FUNCTION(negative_s8, bounded(-x, -128, 127))
FUNCTION(absolute, magnitude(x))
FUNCTION(absolute_s16, bounded(magnitude(x), 0, 32767))
FUNCTION(absolute_s8, bounded(magnitude(x), 0, 127))
FUNCTION(equal, x == y)
FUNCTION(unequal, x != y)
FUNCTION(greater, x > y)
FUNCTION(at_least, x >= y)
FUNCTION(less, x < y)
FUNCTION(at_most, x <= y)
FUNCTION(all_if_equal, -(x == y))
FUNCTION(all_if_unequal, -(x != y))
FUNCTION(all_if_greater, -(x > y))
FUNCTION(all_if_at_least, -(x >= y))
FUNCTION(all_if_less, -(x < y))
FUNCTION(all_if_at_most, -(x <= y))

// clang-format off: it never comes to an end with lists in macros
#define SIMD(X) \
    X(__vadd2, 16, false, sum) X(__vadd4, 8, false, sum) X(__vsub2, 16, false, difference) \
    X(__vsub4, 8, false, difference) X(__vaddss2, 16, true, sum_s16) X(__vaddss4, 8, true, sum_s8) \
    X(__vaddus2, 16, false, sum_u16) X(__vaddus4, 8, false, sum_u8) X(__vsubss2, 16, true, difference_s16) \
    X(__vsubss4, 8, true, difference_s8) X(__vsubus2, 16, false, difference_u) X(__vsubus4, 8, false, difference_u) \
    X(__vabsdiffs2, 16, true, distance) X(__vabsdiffs4, 8, true, distance) X(__vabsdiffu2, 16, false, distance) \
    X(__vabsdiffu4, 8, false, distance) X(__vavgs2, 16, true, average) X(__vavgs4, 8, true, average) \
    X(__vavgu2, 16, false, average) X(__vavgu4, 8, false, average) X(__vhaddu2, 16, false, lower_average) \
    X(__vhaddu4, 8, false, lower_average) X(__vmins2, 16, true, least) X(__vmins4, 8, true, least) \
    X(__vminu2, 16, false, least) X(__vminu4, 8, false, least) X(__vmaxs2, 16, true, most) X(__vmaxs4, 8, true, most) \
    X(__vmaxu2, 16, false, most) X(__vmaxu4, 8, false, most) X(__vseteq2, 16, true, equal) \
    X(__vseteq4, 8, true, equal) X(__vsetne2, 16, true, unequal) X(__vsetne4, 8, true, unequal) \
    X(__vsetgts2, 16, true, greater) X(__vsetgtu4, 8, false, greater) X(__vsetges4, 8, true, at_least) \
    X(__vsetgeu2, 16, false, at_least) X(__vsetlts2, 16, true, less) X(__vsetltu4, 8, false, less) \
    X(__vsetles4, 8, true, at_most) X(__vsetleu2, 16, false, at_most) X(__vcmpeq2, 16, true, all_if_equal) \
    X(__vcmpne4, 8, true, all_if_unequal) X(__vcmpgts4, 8, true, all_if_greater) \
    X(__vcmpgtu2, 16, false, all_if_greater) X(__vcmpges2, 16, true, all_if_at_least) \
    X(__vcmpgeu4, 8, false, all_if_at_least) X(__vcmplts4, 8, true, all_if_less) \
    X(__vcmpltu2, 16, false, all_if_less) X(__vcmples2, 16, true, all_if_at_most) \
    X(__vcmpleu4, 8, false, all_if_at_most)
#define UNARY(X) \
    X(__vneg2, 16, true, negative) X(__vneg4, 8, true, negative) X(__vnegss2, 16, true, negative_s16) \
    X(__vnegss4, 8, true, negative_s8) X(__vabs2, 16, true, absolute) X(__vabs4, 8, true, absolute) \
    X(__vabsss2, 16, true, absolute_s16) X(__vabsss4, 8, true, absolute_s8)
// clang-format on

__global__ void simd(unsigned *out)
{
    unsigned i = threadIdx.x, a = input(i, 0), b = input(i, 1);
    out += i;
#define COMPUTE(NAME, BITS, SIGN, F) *out = NAME(a, b), out += INPUTS;
#define COMPUTE_UNARY(NAME, BITS, SIGN, F) *out = NAME(a), out += INPUTS;
    SIMD(COMPUTE)
    UNARY(COMPUTE_UNARY)
}

static void check_simd(const unsigned *got)
{
    static unsigned want[INPUTS];
#define COMPARE(NAME, BITS, SIGN, F) \
    for (int i = 0; i < INPUTS; i++) \
        want[i] = of_parts(F, BITS, SIGN, input(i, 0), input(i, 1)); \
    expect(#NAME, got, want), got += INPUTS;
    SIMD(COMPARE)
    UNARY(COMPARE)
}

// ---- words ----

static int32_t s32(long long x) { return (int32_t)(uint32_t)(unsigned long long)x; }
static long long part(unsigned x, int bits, int at, bool with_sign)
{
    long long value = x >> bits * at & ((1ll << bits) - 1);
    return with_sign && value >> (bits - 1) ? value - (1ll << bits) : value;
}
static unsigned nibbles(int a, int b, unsigned c)
{
    return (c << 8) | ((unsigned)bounded(a, -8, 7) & 15) << 4 | ((unsigned)bounded(b, -8, 7) & 15);
}
static unsigned set_bit(unsigned mask, int base, int offset)
{
    int step = offset < 0 ? -1 : 1, left = offset < 0 ? -offset : offset;
    if (!offset)
        return mask >> base & 1 ? base : ~0u;
    for (int at = base; at >= 0 && at < 32; at += step)
        if (mask >> at & 1 && --left == 0)
            return at;
    return ~0u;
}
static unsigned pair_of(long long low, long long high)
{
    return ((unsigned)low & 0xffff) | ((unsigned)high & 0xffff) << 16;
}
static unsigned distances(unsigned a, unsigned b, int bits, bool with_sign)
{
    unsigned all = 0;
    for (int at = 0; at < 32 / bits; at++)
        all += (unsigned)magnitude(part(a, bits, at, with_sign) - part(b, bits, at, with_sign));
    return all;
}

#define LOW(X) part(X, 16, 0, true)
#define HIGH(X) part(X, 16, 1, true)
#define MAX3(X, Y, Z) most(most(X, Y), Z)

// What the GPU does with a, b and c, and what comes of it.
// clang-format off
#define WORDS(X) \
    X(__vsads2(a, b), distances(a, b, 16, true)) X(__vsads4(a, b), distances(a, b, 8, true)) \
    X(__vsadu2(a, b), distances(a, b, 16, false)) X(__vsadu4(a, b), distances(a, b, 8, false)) \
    X(__viaddmax_s32(a, b, c), (unsigned)most(s32((long long)a + b), s32(c))) \
    X(__viaddmax_s32_relu(a, b, c), (unsigned)MAX3(s32((long long)a + b), s32(c), 0)) \
    X(__viaddmin_u32(a, b, c), (unsigned)least(a + b, c)) \
    X(__vimax3_s32(a, b, c), (unsigned)MAX3(s32(a), s32(b), s32(c))) \
    X(__vimin3_u32(a, b, c), (unsigned)least(least(a, b), c)) \
    X(__vimin3_s32_relu(a, b, c), (unsigned)most( least(least(s32(a), s32(b)), s32(c)), 0)) \
    X(__vimax_s32_relu(a, b), (unsigned)MAX3(s32(a), s32(b), 0)) \
    X(__viaddmax_s16x2(a, b, c), pair_of( most(LOW(pair_of(LOW(a) + LOW(b), 0)), LOW(c)), most( LOW(pair_of(HIGH(a) + HIGH(b), 0)), HIGH(c)))) \
    X(__vimax3_s16x2_relu(a, b, c), pair_of( most(MAX3(LOW(a), LOW(b), LOW(c)), 0), most(MAX3(HIGH(a), HIGH(b), HIGH(c)), 0))) \
    X(__vimin_s16x2_relu(a, b), pair_of(most(least(LOW(a), LOW(b)), 0), most(least(HIGH(a), HIGH(b)), 0))) \
    X( greater_of(a, b), (unsigned)most(s32(a), s32(b)) * 2 + (s32(a) >= s32(b))) \
    X(lesser_of(a, b), (unsigned)least(a, b) * 2 + (a <= b)) \
    X(greater_of_pairs(a, b), (pair_of(most(LOW(a), LOW(b)), most(HIGH(a), HIGH(b))) * 2 + (HIGH(a) >= HIGH(b))) * 2 + (LOW(a) >= LOW(b))) \
    X(__fns(a, b & 31, (int)(c % 7) - 3), set_bit(a, b & 31, (int)(c % 7) - 3)) \
    X(__mul24(a, b), (unsigned)((part(a, 24, 0, true) * part(b, 24, 0, true)))) \
    X(__hadd(a, b), (unsigned)(((long long)s32(a) + s32(b)) >> 1)) \
    X(__urhadd(a, b), (unsigned)(((long long)a + b + 1) >> 1)) \
    X( PTX("vadd.s32.s32.u32.sat %0, %1, %2;"), ( unsigned)bounded((long long)s32(a) + b, INT32_MIN, INT32_MAX)) \
    X(PTX("vsub.s32.u32.u32.sat %0, %1, %2.b3;"), (unsigned) bounded( (long long)a - part(b, 8, 3, false), INT32_MIN, INT32_MAX)) \
    X(PTX("vabsdiff.s32.s32.s32.add %0, %1.b0, %2.h0, %3;"), ( unsigned)(magnitude(part(a, 8, 0, true) - LOW(b)) + c)) \
    X(PTX("vmin.s32.s32.s32 %0, %1, %2.b1;"), (unsigned)least(s32(a), part(b, 8, 1, true))) \
    X( PTX("vmad.s32.s32.s32.sat %0, %1.h0, -%2.h1, %3;"), (unsigned) bounded( s32(c) - LOW(a) * HIGH(b), INT32_MIN, INT32_MAX)) \
    X(PTX("vset.s32.s32.lt %0, %1, %2;"), (unsigned)(s32(a) < s32(b))) \
    X(PTX("vshl.u32.u32.u32.wrap %0, %1, %2;"), a << (b & 31)) \
    X( PTX("vshr.s32.s32.u32.clamp %0, %1, %2;"), (unsigned)((long long)s32(a) >> (b > 32 ? 32 : b))) \
    X(PTX("vadd2.s32.s32.s32.sat %0, %1, %2, %3;"), of_parts(sum_s16, 16, true, a, b)) \
    X(PTX("vavrg4.u32.u32.u32 %0, %1, %2, %3;"), of_parts(average, 8, false, a, b)) \
    X( PTX("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;"), distances(a, b, 8, false) + c) \
    X(PTX("vset2.s32.s32.gt %0.h0, %1.h32, %2.h10, %3;"), (c & 0xffff0000u) | (LOW(b) > LOW(a))) \
    X(PTX("cvt.pack.sat.s16.s32 %0, %1, %2;"), pair_of( bounded(s32(b), -32768, 32767), bounded(s32(a), -32768, 32767))) \
    X(PTX("cvt.pack.sat.s4.s32.b32 %0, %1, %2, %3;"), nibbles(a, b, c)) \
    X( PTX("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;"), c << 16 | (unsigned)bounded(s32(a), 0, 255) << 8 | (unsigned) bounded(s32(b), 0, 255)) \
    X(PTX("{.reg .b32 x; and.b32 x, %2, 31; fns.b32 %0, %1, x, -2;}"), set_bit(a, b & 31, -2)) \
    X(PTX("{.reg .pred p; setp.lt.u32 p, %1, %2; mov.b32 %0, %3; @p vmax.u32.u32.u32 %0, %0, %1;}"), a < b ? (unsigned)most(c, a) : c) \
    X(PTX("{.reg .b32 r<2>; mov.b32 r1, %1; vadd4.u32.u32.u32.sat r1, r1, r1, r1; mov.b32 %0, r1;}"), of_parts(sum_u8, 8, false, a, a))
// clang-format on

__device__ unsigned greater_of(int a, int b)
{
    bool first;
    unsigned value = (unsigned)__vibmax_s32(a, b, &first);
    return value * 2 + first;
}
__device__ unsigned lesser_of(unsigned a, unsigned b)
{
    bool first;
    unsigned value = __vibmin_u32(a, b, &first);
    return value * 2 + first;
}
__device__ unsigned greater_of_pairs(unsigned a, unsigned b)
{
    bool high, low;
    unsigned value = __vibmax_s16x2(a, b, &high, &low);
    return (value * 2 + high) * 2 + low;
}

#define PTX(TEXT) \
    [&] { \
        unsigned d = 0; \
        asm volatile(TEXT : "+r"(d) : "r"(a), "r"(b), "r"(c)); \
        return d; \
    }()

__global__ void words(unsigned *out)
{
    unsigned i = threadIdx.x, a = input(i, 0), b = input(i, 1), c = input(i, 2);
    out += i;
#define COMPUTE_WORD(GOT, WANT) *out = (unsigned)(GOT), out += INPUTS;
    WORDS(COMPUTE_WORD)
}

static void check_words(const unsigned *got)
{
    static unsigned want[INPUTS];
#define COMPARE_WORD(GOT, WANT) \
    for (int i = 0; i < INPUTS; i++) { \
        unsigned a = input(i, 0), b = input(i, 1), c = input(i, 2); \
        (void)c; \
        want[i] = (unsigned)(WANT); \
    } \
    expect(#GOT, got, want), got += INPUTS;
    WORDS(COMPARE_WORD)
}

int main()
{
    unsigned *out = to_device<unsigned>(NULL, MOST * INPUTS);
    simd<<<1, INPUTS>>>(out);
    check_simd(to_host(out, MOST * INPUTS));
    words<<<1, INPUTS>>>(out);
    check_words(to_host(out, MOST * INPUTS));
    SAME(n_checks, 99);
    return wrong;
}

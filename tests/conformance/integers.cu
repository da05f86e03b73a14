// What do instructions on bytes, halves and words of integers give on a GPU: CUDA's SIMD and DPX intrinsics, PTX's video
// instructions and others? Prints a line of JSON for each: a hash of its results over corner cases and random numbers. Left
// out are the forms of scalar video instructions that give something else there than the PTX ISA says: a result of which a
// part is chosen, a second operation .min or .max, .sat of .u32 or of vshl, vmad with .sat or .shr and a factor of .u32.
//
//   nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a integers.cu -o integers && ./integers > integers_h200.jsonl

#include <stdio.h>
#include <stdlib.h>

enum { INPUTS = 512, MOST = 512 };

#define CHECK(call) \
    do { \
        cudaError_t error_ = (call); \
        if (error_ != cudaSuccess) { \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_)); \
            exit(1); \
        } \
    } while (0)

__device__ unsigned mixed(unsigned x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

// Every corner case with every other; then random numbers, of which some are small.
__device__ unsigned input(unsigned i, unsigned which)
{
    const unsigned corners[] = {0,          1,          0x7fffffff, 0x80000000, 0xffffffff, 0x7fff8000,
                                0x80007fff, 0x80808080, 0x7f7f7f7f, 0x00010001, 0xffff0000, 0x0000ffff,
                                0x01ff807f, 0x00000020, 0x0000001f, 0xfffefffe};
    if (i < 256)
        return corners[which == 0 ? i % 16 : which == 1 ? i / 16 : (7 * i + i / 16 + 3) % 16];
    unsigned x = mixed(3 * i + which + 1);
    return i % 4 == 3 ? (unsigned)((int)x >> (x & 31)) : x;
}

// clang-format off: it never comes to an end with lists in macros

// ---- intrinsics ----

#define BOTH(X, NAME) X(NAME##2(a, b)) X(NAME##4(a, b))
#define SIGNED(X, NAME) BOTH(X, NAME##s) BOTH(X, NAME##u)
#define UNARY(X, NAME) X(NAME##2(a)) X(NAME##4(a))
#define COMPARED(X, NAME) \
    BOTH(X, NAME##eq) BOTH(X, NAME##ne) SIGNED(X, NAME##ge) SIGNED(X, NAME##gt) SIGNED(X, NAME##le) \
    SIGNED(X, NAME##lt)
#define SIMD(X) \
    BOTH(X, __vadd) BOTH(X, __vaddss) BOTH(X, __vaddus) BOTH(X, __vsub) BOTH(X, __vsubss) BOTH(X, __vsubus) \
    SIGNED(X, __vavg) BOTH(X, __vhaddu) SIGNED(X, __vabsdiff) SIGNED(X, __vmax) SIGNED(X, __vmin) SIGNED(X, __vsad) \
    UNARY(X, __vneg) UNARY(X, __vnegss) UNARY(X, __vabs) UNARY(X, __vabsss) COMPARED(X, __vcmp) COMPARED(X, __vset)

#define WITH_PREDICATE(NAME) \
    __device__ unsigned with##NAME(unsigned a, unsigned b) \
    { \
        bool first = false; \
        unsigned value = NAME(a, b, &first); \
        return value * 3 + first; \
    }
#define WITH_PREDICATES(NAME) \
    __device__ unsigned with##NAME(unsigned a, unsigned b) \
    { \
        bool high = false, low = false; \
        unsigned value = NAME(a, b, &high, &low); \
        return value * 5 + 2 * high + low; \
    }
WITH_PREDICATE(__vibmax_s32)
WITH_PREDICATE(__vibmin_s32)
WITH_PREDICATE(__vibmax_u32)
WITH_PREDICATE(__vibmin_u32)
WITH_PREDICATES(__vibmax_s16x2)
WITH_PREDICATES(__vibmin_s16x2)
WITH_PREDICATES(__vibmax_u16x2)
WITH_PREDICATES(__vibmin_u16x2)

#define DPX_OF(X, KIND) \
    X(__viaddmax_##KIND(a, b, c)) X(__viaddmin_##KIND(a, b, c)) X(__vimax3_##KIND(a, b, c)) \
    X(__vimin3_##KIND(a, b, c))
#define DPX_RELU(X, KIND) \
    X(__viaddmax_##KIND##_relu(a, b, c)) X(__viaddmin_##KIND##_relu(a, b, c)) X(__vimax_##KIND##_relu(a, b)) \
    X(__vimin_##KIND##_relu(a, b)) X(__vimax3_##KIND##_relu(a, b, c)) X(__vimin3_##KIND##_relu(a, b, c))
#define DPX(X) \
    DPX_OF(X, s32) DPX_OF(X, u32) DPX_OF(X, s16x2) DPX_OF(X, u16x2) DPX_RELU(X, s32) DPX_RELU(X, s16x2) \
    X(with__vibmax_s32(a, b)) X(with__vibmin_s32(a, b)) X(with__vibmax_u32(a, b)) X(with__vibmin_u32(a, b)) \
    X(with__vibmax_s16x2(a, b)) X(with__vibmin_s16x2(a, b)) X(with__vibmax_u16x2(a, b)) X(with__vibmin_u16x2(a, b))
#define OTHERS(X) \
    X(__fns(a, b & 31, (int)(c % 9) - 4)) X(__fns(a, 0, (int)(c % 40) - 20)) X(__byte_perm(a, b, c & 0x7777)) \
    X(__mul24(a, b)) X(__umul24(a, b)) X(__sad(a, b, c)) X(__usad(a, b, c)) X(__hadd(a, b)) X(__rhadd(a, b)) \
    X(__uhadd(a, b)) X(__urhadd(a, b)) X(__dp4a((int)a, (int)b, (int)c)) X(__dp4a(a, b, c)) \
    X(__dp2a_lo((int)a, (int)b, (int)c)) X(__dp2a_hi(a, b, c))

// ---- PTX: %0 holds something of its own before; %1, %2 and %3 are the inputs ----

#define TYPES(X, OP, REST, OPERANDS) \
    X(OP ".u32.u32.u32" REST OPERANDS) X(OP ".u32.u32.s32" REST OPERANDS) X(OP ".u32.s32.u32" REST OPERANDS) \
    X(OP ".u32.s32.s32" REST OPERANDS) X(OP ".s32.u32.u32" REST OPERANDS) X(OP ".s32.u32.s32" REST OPERANDS) \
    X(OP ".s32.s32.u32" REST OPERANDS) X(OP ".s32.s32.s32" REST OPERANDS)
#define WITH_SIGN(X, OP, REST, OPERANDS) \
    X(OP ".s32.u32.u32" REST OPERANDS) X(OP ".s32.u32.s32" REST OPERANDS) X(OP ".s32.s32.u32" REST OPERANDS) \
    X(OP ".s32.s32.s32" REST OPERANDS)
#define SCALAR(X, OP) \
    TYPES(X, OP, "", " %0, %1, %2;") WITH_SIGN(X, OP, ".sat", " %0, %1.h1, %2.b2;") \
    WITH_SIGN(X, OP, ".sat", " %0, %1, %2;") TYPES(X, OP, ".add", " %0, %1.b3, %2.h0, %3;")
#define SCALARS(X) SCALAR(X, "vadd") SCALAR(X, "vsub") SCALAR(X, "vabsdiff") SCALAR(X, "vmin") SCALAR(X, "vmax")

#define SHIFTED(X, OP, TYPE) \
    X(OP TYPE ".clamp %0, %1, %2;") X(OP TYPE ".wrap %0, %1, %2;") X(OP TYPE ".clamp.add %0, %1.b2, %2.b0, %3;")
#define SHIFTS_OF(X, OP) \
    SHIFTED(X, OP, ".u32.u32.u32") SHIFTED(X, OP, ".u32.s32.u32") SHIFTED(X, OP, ".s32.u32.u32") \
    SHIFTED(X, OP, ".s32.s32.u32")
#define SHIFTS(X) \
    SHIFTS_OF(X, "vshl") SHIFTS_OF(X, "vshr") X("vshr" ".s32.u32.u32" ".sat.clamp %0, %1, %2.b0;") \
    X("vshr" ".s32.u32.u32" ".sat.wrap %0, %1.h1, %2.b1;") X("vshr" ".s32.s32.u32" ".sat.clamp %0, %1, %2.b0;") \
    X("vshr" ".s32.s32.u32" ".sat.wrap %0, %1.h1, %2.b1;")

#define PRODUCT(X, TYPE) X("vmad" TYPE " %0, %1, %2, %3;") X("vmad" TYPE ".po %0, %1.h0, %2.h1, %3;")
#define PRODUCTS(X) \
    PRODUCT(X, ".u32.u32.u32") PRODUCT(X, ".s32.u32.s32") PRODUCT(X, ".s32.s32.u32") PRODUCT(X, ".s32.s32.s32") \
    X("vmad" ".s32.s32.s32" ".sat %0, %1, %2, %3;") X("vmad" ".s32.s32.s32" ".shr7 %0, %1, %2, %3;") \
    X("vmad" ".s32.s32.s32" ".sat.shr15 %0, %1, %2, %3;") X("vmad" ".s32.s32.s32" ".sat.shr7 %0, %1.h1, %2.b2, %3;") \
    X("vmad" ".s32.s32.s32" ".po.sat.shr15 %0, %1, %2.h0, %3;") X("vmad" ".s32.s32.s32" ".sat %0, -%1, %2, %3;") \
    X("vmad" ".s32.s32.s32" ".sat.shr7 %0, %1.h0, -%2.h1, %3;") \
    X("vmad" ".s32.s32.s32" ".sat.shr15 %0, %1, %2, -%3;") X("vmad" ".s32.u32.u32" " %0, %1.b0, %2.b3, -%3;") \
    X("vmad" ".s32.u32.s32" " %0, %1.b0, %2.b3, -%3;") X("vmad" ".s32.s32.s32" " %0, %1.b0, %2.b3, -%3;") \
    X("vmad" ".s32.s32.s32" ".sat %0, -%1, -%2, %3;")

#define COMPARISONS(X, OP, TYPE, OPERANDS) \
    X(OP TYPE ".eq" OPERANDS) X(OP TYPE ".ne" OPERANDS) X(OP TYPE ".lt" OPERANDS) X(OP TYPE ".le" OPERANDS) \
    X(OP TYPE ".gt" OPERANDS) X(OP TYPE ".ge" OPERANDS)
#define SETS(X) \
    COMPARISONS(X, "vset", ".u32.u32", " %0, %1, %2;") COMPARISONS(X, "vset", ".s32.u32", " %0, %1.h0, %2.b1;") \
    COMPARISONS(X, "vset", ".u32.s32", ".add %0, %1.h0, %2.h1, %3;") \
    COMPARISONS(X, "vset", ".s32.s32", " %0.b3, %1.b0, %2.b3, %3;") \
    COMPARISONS(X, "vset2", ".u32.s32", " %0, %1, %2, %3;") \
    COMPARISONS(X, "vset2", ".s32.s32", ".add %0.h1, %1.h31, %2.h02, %3;") \
    COMPARISONS(X, "vset4", ".u32.u32", " %0, %1, %2, %3;") \
    COMPARISONS(X, "vset4", ".s32.s32", ".add %0, %1, %2, %3;") \
    COMPARISONS(X, "vset4", ".s32.u32", " %0.b210, %1.b7531, %2.b0246, %3;")

#define TWO(X, OP) \
    TYPES(X, OP, "", " %0, %1, %2, %3;") TYPES(X, OP, ".sat", " %0, %1, %2, %3;") \
    TYPES(X, OP, ".add", " %0, %1, %2, %3;") TYPES(X, OP, ".sat", " %0.h1, %1.h32, %2.h00, %3;") \
    TYPES(X, OP, ".add", " %0.h0, %1.h13, %2.h20, %3;")
#define FOUR(X, OP) \
    TYPES(X, OP, "", " %0, %1, %2, %3;") TYPES(X, OP, ".sat", " %0, %1, %2, %3;") \
    TYPES(X, OP, ".add", " %0, %1, %2, %3;") TYPES(X, OP, ".sat", " %0.b310, %1.b7531, %2.b0123, %3;") \
    TYPES(X, OP, ".add", " %0.b32, %1.b4444, %2.b0246, %3;")
#define TWOS(X) \
    TWO(X, "vadd2") TWO(X, "vsub2") TWO(X, "vavrg2") TWO(X, "vabsdiff2") TWO(X, "vmin2") TWO(X, "vmax2")
#define FOURS(X) \
    FOUR(X, "vadd4") FOUR(X, "vsub4") FOUR(X, "vavrg4") FOUR(X, "vabsdiff4") FOUR(X, "vmin4") FOUR(X, "vmax4")

#define PACKED(X) \
    X("cvt.pack.sat.s16.s32 %0, %1, %2;") X("cvt.pack.sat.u16.s32 %0, %1, %2;") \
    X("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;") X("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;") \
    X("cvt.pack.sat.s4.s32.b32 %0, %1, %2, %3;") X("cvt.pack.sat.u4.s32.b32 %0, %1, %2, %3;") \
    X("cvt.pack.sat.s2.s32.b32 %0, %1, %2, %3;") X("cvt.pack.sat.u2.s32.b32 %0, %1, %2, %3;") \
    X("add.u16x2 %0, %1, %2;") X("add.s16x2 %0, %1, %2;") X("min.u16x2 %0, %1, %2;") X("min.s16x2 %0, %1, %2;") \
    X("max.u16x2 %0, %1, %2;") X("max.s16x2 %0, %1, %2;") X("min.s16x2.relu %0, %1, %2;") \
    X("max.s16x2.relu %0, %1, %2;") X("min.relu.s32 %0, %1, %2;") X("max.relu.s32 %0, %1, %2;") \
    X("bmsk.clamp.b32 %0, %1, %2;") X("bmsk.wrap.b32 %0, %1, %2;") X("szext.clamp.s32 %0, %1, %2;") \
    X("szext.wrap.s32 %0, %1, %2;") X("szext.clamp.u32 %0, %1, %2;") X("szext.wrap.u32 %0, %1, %2;")

// clang-format on

// ---- all of them ----

#define NAME(...) #__VA_ARGS__,
#define CALL(...) *out = (unsigned)(__VA_ARGS__), out += INPUTS;
#define STATEMENT(TEXT) \
    result = ~a; \
    asm volatile(TEXT : "+r"(result) : "r"(a), "r"(b), "r"(c)); \
    *out = result, out += INPUTS;
#define GROUP(LIST, EACH) \
    __global__ void run_##LIST(unsigned *out) \
    { \
        unsigned i = threadIdx.x, a = input(i, 0), b = input(i, 1), c = input(i, 2), result = 0; \
        out += i; \
        LIST(EACH) \
        (void)result, (void)c; \
    } \
    static const char *const names_of_##LIST[] = {LIST(NAME)};

GROUP(SIMD, CALL)
GROUP(DPX, CALL)
GROUP(OTHERS, CALL)
GROUP(SCALARS, STATEMENT)
GROUP(SHIFTS, STATEMENT)
GROUP(PRODUCTS, STATEMENT)
GROUP(SETS, STATEMENT)
GROUP(TWOS, STATEMENT)
GROUP(FOURS, STATEMENT)
GROUP(PACKED, STATEMENT)

// Without the quotes and backslashes that a name written as text has.
static void print_name(const char *name)
{
    for (; *name; name++)
        if (*name != '"' && *name != '\\')
            putchar(*name);
}

static void print_group(void (*kernel)(unsigned *), const char *const *names, int n)
{
    static unsigned found[MOST * INPUTS];
    unsigned *out;
    CHECK(cudaMalloc(&out, sizeof found));
    kernel<<<1, INPUTS>>>(out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(found, out, (size_t)n * INPUTS * sizeof *found, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(out));
    for (int k = 0; k < n; k++) {
        unsigned long long hash = 14695981039346656037ull;
        for (int i = 0; i < INPUTS; i++)
            hash = (hash ^ found[k * INPUTS + i]) * 1099511628211ull;
        printf("{\"operation\": \"");
        print_name(names[k]);
        printf("\", \"hash\": \"%016llx\"}\n", hash);
    }
}

#define PRINT(LIST) print_group(run_##LIST, names_of_##LIST, sizeof names_of_##LIST / sizeof *names_of_##LIST)

int main(void)
{
    PRINT(SIMD);
    PRINT(DPX);
    PRINT(OTHERS);
    PRINT(SCALARS);
    PRINT(SHIFTS);
    PRINT(PRODUCTS);
    PRINT(SETS);
    PRINT(TWOS);
    PRINT(FOURS);
    PRINT(PACKED);
    return 0;
}

// What wgmma.mma_async reads and makes: every N, both majors of A and B, each swizzle and each type, A from shared memory and
// from registers. Prints a line of JSON for each case:
//
//   nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a wgmma.cu -o wgmma && ./wgmma > wgmma_h200.jsonl
//
// "hash": of all bits that came out, where they are determined: integers, integer-valued sums, and elements that were
// multiplied by one and are all different, which tells from where each was read. Else "words", what 16 lanes of four warps
// hold of the sums, and "scale", what they would if nothing had a sign: the rounding is relative to it. `./wgmma vectors`
// prints for each case of the second kind the numbers of the vectors of 16 bytes that were read, in hexadecimal.

#include "elements.h"

enum {
    THREADS = 128,
    MOST_REGISTERS = 128,
    IMAGE = 48 << 10,    // bytes of shared memory
    PLACE_B = 12 << 10,  // of a product's B in it; its A is at 0
    IDENTITY = IMAGE - 512,
    VECTOR = 16,
    PRINTED_LANES = 16,
    MOST_NAME = 120
};

// ---- the instruction ----

struct operands {
    const uint4 *image;         // all of shared memory
    unsigned a_start, b_start;  // in it
    unsigned long long a, b;    // the descriptors, but for the start
    int accumulates;
    const unsigned *a_registers, *c;  // of each thread, 4 and MOST_REGISTERS
    unsigned *d;
};

static __device__ unsigned load_image(const operands &o)
{
    extern __shared__ __align__(1024) uint4 image[];
    for (int i = threadIdx.x; i < IMAGE / VECTOR; i += THREADS)
        image[i] = o.image[i];
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    return (unsigned)__cvta_generic_to_shared(image);
}

static __device__ unsigned long long descriptor(unsigned base, unsigned start, unsigned long long fields)
{
    return fields | (base + start & 0x3ffff) >> 4;
}

#define BEGIN() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define END() \
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); \
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory")

#define FOUR(C, d, i) C(d[i]), C(d[i + 1]), C(d[i + 2]), C(d[i + 3])
#define SIXTEEN(C, d, i) FOUR(C, d, i), FOUR(C, d, i + 4), FOUR(C, d, i + 8), FOUR(C, d, i + 12)
#define ALL(C, d) \
    SIXTEEN(C, d, 0), SIXTEEN(C, d, 16), SIXTEEN(C, d, 32), SIXTEEN(C, d, 48), SIXTEEN(C, d, 64), SIXTEEN(C, d, 80), \
        SIXTEEN(C, d, 96), SIXTEEN(C, d, 112)

// Of each kernel all 128 registers are operands, as many as N needs are named: the other operands' numbers are constants.
#define LIST_2 "%0,%1"
#define LIST_4 LIST_2 ",%2,%3"
#define LIST_6 LIST_4 ",%4,%5"
#define LIST_8 LIST_6 ",%6,%7"
#define LIST_10 LIST_8 ",%8,%9"
#define LIST_12 LIST_10 ",%10,%11"
#define LIST_14 LIST_12 ",%12,%13"
#define LIST_16 LIST_14 ",%14,%15"
#define LIST_18 LIST_16 ",%16,%17"
#define LIST_20 LIST_18 ",%18,%19"
#define LIST_22 LIST_20 ",%20,%21"
#define LIST_24 LIST_22 ",%22,%23"
#define LIST_26 LIST_24 ",%24,%25"
#define LIST_28 LIST_26 ",%26,%27"
#define LIST_30 LIST_28 ",%28,%29"
#define LIST_32 LIST_30 ",%30,%31"
#define LIST_34 LIST_32 ",%32,%33"
#define LIST_36 LIST_34 ",%34,%35"
#define LIST_38 LIST_36 ",%36,%37"
#define LIST_40 LIST_38 ",%38,%39"
#define LIST_42 LIST_40 ",%40,%41"
#define LIST_44 LIST_42 ",%42,%43"
#define LIST_46 LIST_44 ",%44,%45"
#define LIST_48 LIST_46 ",%46,%47"
#define LIST_50 LIST_48 ",%48,%49"
#define LIST_52 LIST_50 ",%50,%51"
#define LIST_54 LIST_52 ",%52,%53"
#define LIST_56 LIST_54 ",%54,%55"
#define LIST_58 LIST_56 ",%56,%57"
#define LIST_60 LIST_58 ",%58,%59"
#define LIST_62 LIST_60 ",%60,%61"
#define LIST_64 LIST_62 ",%62,%63"
#define LIST_68 LIST_64 ",%64,%65,%66,%67"
#define LIST_72 LIST_68 ",%68,%69,%70,%71"
#define LIST_76 LIST_72 ",%72,%73,%74,%75"
#define LIST_80 LIST_76 ",%76,%77,%78,%79"
#define LIST_84 LIST_80 ",%80,%81,%82,%83"
#define LIST_88 LIST_84 ",%84,%85,%86,%87"
#define LIST_92 LIST_88 ",%88,%89,%90,%91"
#define LIST_96 LIST_92 ",%92,%93,%94,%95"
#define LIST_100 LIST_96 ",%96,%97,%98,%99"
#define LIST_104 LIST_100 ",%100,%101,%102,%103"
#define LIST_108 LIST_104 ",%104,%105,%106,%107"
#define LIST_112 LIST_108 ",%108,%109,%110,%111"
#define LIST_116 LIST_112 ",%112,%113,%114,%115"
#define LIST_120 LIST_116 ",%116,%117,%118,%119"
#define LIST_124 LIST_120 ",%120,%121,%122,%123"
#define LIST_128 LIST_124 ",%124,%125,%126,%127"

// T: the type of a register, C: its constraint. Integers have no signs, and only types of 16 bits can be transposed.
#define KERNEL(NAME, T, C, TEXT, ...) \
    template <int SIGN_A, int SIGN_B, int MN_A, int MN_B> __global__ void NAME(operands o) \
    { \
        T d[MOST_REGISTERS]; \
        unsigned base = load_image(o), t = threadIdx.x; \
        unsigned long long a = descriptor(base, o.a_start, o.a), b = descriptor(base, o.b_start, o.b); \
        const unsigned *r = o.a_registers + 4 * t; \
        (void)a, (void)r; \
        for (int i = 0; i < MOST_REGISTERS; i++) \
            d[i] = ((const T *)o.c)[t * MOST_REGISTERS + i]; \
        BEGIN(); \
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %128, 0;" TEXT ";}" \
                     : ALL(C, d) \
                     : "r"(o.accumulates), "l"(b), __VA_ARGS__); \
        END(); \
        for (int i = 0; i < MOST_REGISTERS; i++) \
            ((T *)o.d)[t * MOST_REGISTERS + i] = d[i]; \
    }

#define INSTRUCTION(N, SHAPE, TYPES, LIST, A) \
    "wgmma.mma_async.sync.aligned.m64n" #N SHAPE "." TYPES " {" LIST "}, " A ", %129, p"
#define OF_SHARED "%130"
#define OF_REGISTERS "{%130,%131,%132,%133}"
#define A_SHARED "l"(a)
#define A_REGISTERS "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])

// Of 16 bits; of others that have signs; of those that have none.
#define HALVES(NAME, N, LIST, T, C, TYPES) \
    KERNEL(NAME##_ss, T, C, INSTRUCTION(N, "k16", TYPES, LIST, OF_SHARED) ", %131, %132, %133, %134", A_SHARED, \
           "n"(SIGN_A), "n"(SIGN_B), "n"(MN_A), "n"(MN_B)) \
    KERNEL(NAME##_rs, T, C, INSTRUCTION(N, "k16", TYPES, LIST, OF_REGISTERS) ", %134, %135, %136", A_REGISTERS, \
           "n"(SIGN_A), "n"(SIGN_B), "n"(MN_B))
#define FLOATS(NAME, N, SHAPE, LIST, T, C, TYPES) \
    KERNEL(NAME##_ss, T, C, INSTRUCTION(N, SHAPE, TYPES, LIST, OF_SHARED) ", %131, %132", A_SHARED, "n"(SIGN_A), \
           "n"(SIGN_B)) \
    KERNEL(NAME##_rs, T, C, INSTRUCTION(N, SHAPE, TYPES, LIST, OF_REGISTERS) ", %134, %135", A_REGISTERS, "n"(SIGN_A), \
           "n"(SIGN_B))
#define INTEGERS(NAME, N, SHAPE, LIST, TYPES) \
    KERNEL(NAME##_ss, int, "+r", INSTRUCTION(N, SHAPE, TYPES, LIST, OF_SHARED), A_SHARED) \
    KERNEL(NAME##_rs, int, "+r", INSTRUCTION(N, SHAPE, TYPES, LIST, OF_REGISTERS), A_REGISTERS)

// N, and its registers of 32-bit and of 16-bit sums.
#define EACH_N(X) \
    X(8, 4, 2) \
    X(16, 8, 4) X(24, 12, 6) X(32, 16, 8) X(40, 20, 10) X(48, 24, 12) X(56, 28, 14) X(64, 32, 16) X(72, 36, 18) \
        X(80, 40, 20) X(88, 44, 22) X(96, 48, 24) X(104, 52, 26) X(112, 56, 28) X(120, 60, 30) X(128, 64, 32) \
            X(136, 68, 34) X(144, 72, 36) X(152, 76, 38) X(160, 80, 40) X(168, 84, 42) X(176, 88, 44) X(184, 92, 46) \
                X(192, 96, 48) X(200, 100, 50) X(208, 104, 52) X(216, 108, 54) X(224, 112, 56) X(232, 116, 58) \
                    X(240, 120, 60) X(248, 124, 62) X(256, 128, 64)
#define SOME_N(X) X(8, 4, 2) X(16, 8, 4) X(40, 20, 10) X(64, 32, 16) X(248, 124, 62) X(256, 128, 64)
#define SOME_N_OF_INTEGERS(X) X(8, 4, 2) X(16, 8, 4) X(24, 12, 6) X(48, 24, 12) X(240, 120, 60) X(256, 128, 64)

#define F16_F32(N, WORDS, HALVES_OF) HALVES(f16_f32_##N, N, LIST_##WORDS, float, "+f", "f32.f16.f16")
#define F16_F16(N, WORDS, HALVES_OF) HALVES(f16_f16_##N, N, LIST_##HALVES_OF, unsigned, "+r", "f16.f16.f16")
#define BF16(N, WORDS, HALVES_OF) HALVES(bf16_##N, N, LIST_##WORDS, float, "+f", "f32.bf16.bf16")
#define TF32(N, WORDS, HALVES_OF) FLOATS(tf32_##N, N, "k8", LIST_##WORDS, float, "+f", "f32.tf32.tf32")
#define FP8(N, WORDS, HALVES_OF) \
    FLOATS(e4m3_f32_##N, N, "k32", LIST_##WORDS, float, "+f", "f32.e4m3.e4m3") \
    FLOATS(e5m2_f32_##N, N, "k32", LIST_##WORDS, float, "+f", "f32.e5m2.e5m2") \
    FLOATS(e4m3_e5m2_##N, N, "k32", LIST_##WORDS, float, "+f", "f32.e4m3.e5m2") \
    FLOATS(e5m2_e4m3_##N, N, "k32", LIST_##WORDS, float, "+f", "f32.e5m2.e4m3") \
    FLOATS(e4m3_f16_##N, N, "k32", LIST_##HALVES_OF, unsigned, "+r", "f16.e4m3.e4m3") \
    FLOATS(e5m2_f16_##N, N, "k32", LIST_##HALVES_OF, unsigned, "+r", "f16.e5m2.e5m2")
#define WHOLES(N, WORDS, HALVES_OF) \
    INTEGERS(s8_##N, N, "k32", LIST_##WORDS, "s32.s8.s8") \
    INTEGERS(u8_##N, N, "k32", LIST_##WORDS, "s32.u8.u8") \
    INTEGERS(s8_u8_##N, N, "k32", LIST_##WORDS, "s32.s8.u8") \
    INTEGERS(u8_s8_##N, N, "k32", LIST_##WORDS, "s32.u8.s8") \
    INTEGERS(s8_sat_##N, N, "k32", LIST_##WORDS, "satfinite.s32.s8.s8") \
    INTEGERS(u8_sat_##N, N, "k32", LIST_##WORDS, "satfinite.s32.u8.u8") \
    INTEGERS(b1_##N, N, "k256", LIST_##WORDS, "s32.b1.b1.and.popc")

EACH_N(F16_F32)
EACH_N(F16_F16)
SOME_N(BF16)
SOME_N(TF32)
SOME_N(FP8)
SOME_N_OF_INTEGERS(WHOLES)

struct form {
    const char *name;
    int n;
    enum type a, b, sums;
    bool a_in_registers;
    int sign_a, sign_b, mn_a, mn_b;
    void (*run)(operands);
};

#define FORM(NAME, N, A, B, D, FROM, ...) \
    {#NAME, N, A, B, D, #FROM[0] == 'r', __VA_ARGS__, NAME##_##N##_##FROM<__VA_ARGS__>},
#define BOTH(NAME, N, A, B, D) \
    FORM(NAME, N, A, B, D, ss, 1, 1, 0, 0) \
    FORM(NAME, N, A, B, D, rs, 1, 1, 0, 0)
#define MAJORS(NAME, N, A, B, D) \
    BOTH(NAME, N, A, B, D) \
    FORM(NAME, N, A, B, D, ss, 1, 1, 1, 1) \
    FORM(NAME, N, A, B, D, rs, 1, 1, 0, 1)
#define MIXED(NAME, N, A, B, D) \
    FORM(NAME, N, A, B, D, ss, 1, 1, 0, 1) \
    FORM(NAME, N, A, B, D, ss, 1, 1, 1, 0)
#define SIGNS(NAME, N, A, B, D) \
    FORM(NAME, N, A, B, D, ss, -1, 1, 0, 0) \
    FORM(NAME, N, A, B, D, ss, 1, -1, 0, 0) \
    FORM(NAME, N, A, B, D, rs, -1, -1, 0, 0)

#define FORMS_F16_F32(N, WORDS, HALVES_OF) MAJORS(f16_f32, N, F16, F16, F32)
#define FORMS_F16_F16(N, WORDS, HALVES_OF) BOTH(f16_f16, N, F16, F16, F16)
#define FORMS_BF16(N, WORDS, HALVES_OF) MAJORS(bf16, N, BF16, BF16, F32)
#define FORMS_TF32(N, WORDS, HALVES_OF) BOTH(tf32, N, TF32, TF32, F32)
#define FORMS_FP8(N, WORDS, HALVES_OF) \
    BOTH(e4m3_f32, N, E4M3, E4M3, F32) \
    BOTH(e5m2_f32, N, E5M2, E5M2, F32) \
    BOTH(e4m3_e5m2, N, E4M3, E5M2, F32) \
    BOTH(e5m2_e4m3, N, E5M2, E4M3, F32) \
    BOTH(e4m3_f16, N, E4M3, E4M3, F16) \
    BOTH(e5m2_f16, N, E5M2, E5M2, F16)
#define FORMS_WHOLES(N, WORDS, HALVES_OF) \
    BOTH(s8, N, S8, S8, S32) \
    BOTH(u8, N, U8, U8, S32) \
    BOTH(s8_u8, N, S8, U8, S32) \
    BOTH(u8_s8, N, U8, S8, S32) \
    BOTH(s8_sat, N, S8, S8, S32) \
    BOTH(u8_sat, N, U8, U8, S32) \
    BOTH(b1, N, U8, U8, S32)

static const form forms[] = {
    EACH_N(FORMS_F16_F32) EACH_N(FORMS_F16_F16) SOME_N(FORMS_BF16) SOME_N(FORMS_TF32) SOME_N(FORMS_FP8)
        SOME_N_OF_INTEGERS(FORMS_WHOLES) MIXED(f16_f32, 8, F16, F16, F32) MIXED(f16_f32, 256, F16, F16, F32)
            MIXED(f16_f16, 64, F16, F16, F16) MIXED(bf16, 64, BF16, BF16, F32) SIGNS(f16_f32, 64, F16, F16, F32)
                SIGNS(f16_f16, 16, F16, F16, F16) SIGNS(bf16, 16, BF16, BF16, F32) SIGNS(tf32, 16, TF32, TF32, F32)
                    SIGNS(e4m3_f32, 16, E4M3, E4M3, F32) SIGNS(e5m2_f16, 16, E5M2, E5M2, F16)};

// ---- descriptors ----

enum { NONE, WIDTH_128, WIDTH_64, WIDTH_32 };  // swizzles, as descriptors number them
static const int widths[] = {16, 128, 64, 32};

struct layout {
    int swizzle;
    unsigned start, base, leading, stride;  // in bytes but for the base
    unsigned long long others;              // bits that the PTX ISA does not name
};

static unsigned long long fields(const layout &l)
{
    return (unsigned long long)(l.leading / VECTOR) << 16 | (unsigned long long)(l.stride / VECTOR) << 32 |
           (unsigned long long)l.base << 49 | (unsigned long long)l.swizzle << 62 | l.others;
}

// The tightest of so many rows of A or columns of B.
static layout canonical(int swizzle, bool mn_major, int lines)
{
    unsigned atom = 8 * widths[swizzle];
    if (swizzle == NONE)
        return mn_major ? layout{swizzle, 0, 0, atom * lines / 8, atom} : layout{swizzle, 0, 0, atom, 2 * atom};
    return layout{swizzle, 0, 0, mn_major ? 2 * atom : VECTOR, atom};
}

// ---- the device's memory ----

static struct {
    unsigned *image, *a, *c, *d;  // there
    unsigned host_image[IMAGE / 4], host_a[THREADS * 4], host_c[THREADS * MOST_REGISTERS],
        out[THREADS * MOST_REGISTERS];
} memory;

static void reserve(void)
{
    CHECK(cudaMalloc(&memory.image, sizeof memory.host_image));
    CHECK(cudaMalloc(&memory.a, sizeof memory.host_a));
    CHECK(cudaMalloc(&memory.c, sizeof memory.host_c));
    CHECK(cudaMalloc(&memory.d, sizeof memory.out));
}

// The sums of all lanes, one after the other, as many as the product has of each.
static int run(const form &f, const layout &a, const layout &b, unsigned place_b, int accumulates, unsigned *sums)
{
    int registers = f.sums == F16 ? f.n / 4 : f.n / 2;
    CHECK(cudaMemcpy(memory.image, memory.host_image, sizeof memory.host_image, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(memory.a, memory.host_a, sizeof memory.host_a, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(memory.c, memory.host_c, sizeof memory.host_c, cudaMemcpyHostToDevice));
    operands o = {(const uint4 *)memory.image,
                  a.start,
                  place_b + b.start,
                  fields(a),
                  fields(b),
                  accumulates,
                  memory.a,
                  memory.c,
                  memory.d};
    f.run<<<1, THREADS, IMAGE>>>(o);
    finish();
    CHECK(cudaMemcpy(memory.out, memory.d, sizeof memory.out, cudaMemcpyDeviceToHost));
    for (int t = 0; t < THREADS; t++)
        memcpy(&sums[t * registers], &memory.out[t * MOST_REGISTERS], registers * sizeof *sums);
    return registers;
}

// ---- sums ----

static void fill(const form &f, enum kind kind)
{
    for (int i = 0; i < IMAGE / 4; i++)
        memory.host_image[i] = packed(i < PLACE_B / 4 ? f.a : f.b, kind);
    for (unsigned &word : memory.host_a)
        word = packed(f.a, kind);
    for (unsigned &word : memory.host_c) {
        word = packed(f.sums, kind);
        if (f.sums == S32 && draw() % 2)
            word = ~word;
    }
}

static void drop_signs(const form &f)
{
    for (int i = 0; i < IMAGE / 4; i++)
        memory.host_image[i] = without_signs(i < PLACE_B / 4 ? f.a : f.b, memory.host_image[i]);
    for (unsigned &word : memory.host_a)
        word = without_signs(f.a, word);
    for (unsigned &word : memory.host_c)
        word = without_signs(f.sums, word);
}

static void print_lanes(const char *key, const unsigned *sums, int registers)
{
    unsigned words[PRINTED_LANES * MOST_REGISTERS];
    for (int i = 0; i < PRINTED_LANES; i++)
        memcpy(&words[i * registers], &sums[(i * THREADS / PRINTED_LANES + i % 4) * registers],
               registers * sizeof *words);
    print_words(key, words, PRINTED_LANES * registers);
}

static void multiply(const form &f, int swizzle, enum kind kind, int accumulates)
{
    static unsigned sums[THREADS * MOST_REGISTERS], scale[THREADS * MOST_REGISTERS];
    layout a = canonical(swizzle, f.mn_a, 64), b = canonical(swizzle, f.mn_b, f.n);
    char name[MOST_NAME];
    snprintf(name, sizeof name, "%s n%d a %s%s%s b %s%s swizzle %d %s%s", f.name, f.n, f.sign_a < 0 ? "-" : "",
             f.mn_a ? "mn" : "k", f.a_in_registers ? " registers" : "", f.sign_b < 0 ? "-" : "", f.mn_b ? "mn" : "k",
             swizzle == NONE ? 0 : widths[swizzle], kinds[kind], accumulates ? "" : " fresh");
    seed = hash(name, strlen(name));
    fill(f, kind);
    int registers = run(f, a, b, PLACE_B, accumulates, sums);
    if (kind == WHOLE) {
        print_hash(name, sums, (size_t)THREADS * registers * sizeof *sums);
        return;
    }
    drop_signs(f);
    run(f, a, b, PLACE_B, accumulates, scale);
    printf("{\"case\": \"%s\", \"sums\": \"%s\"", name, f.sums == F16 ? "f16" : "f32");
    print_lanes("words", sums, registers);
    print_lanes("scale", scale, registers);
    printf("}\n");
}

static void multiply_all(void)
{
    for (const form &f : forms)
        for (int swizzle = NONE; swizzle <= WIDTH_32; swizzle++)
            if (!f.a_in_registers || swizzle == WIDTH_128 || f.n % 64 == 0)
                multiply(f, swizzle, WHOLE, 1);
    for (const form &f : forms)
        if (f.n == 16 && !f.mn_a && !f.mn_b && f.sign_a > 0 && f.sign_b > 0) {
            multiply(f, WIDTH_128, WHOLE, 0);
            if (formats[f.a].fraction == 0)
                continue;
            multiply(f, WIDTH_128, RANDOM, 1);
            multiply(f, WIDTH_128, SPECIAL, 1);
            multiply(f, WIDTH_128, SPECIAL, 0);
        }
}

// ---- places ----

// Halves that are all different, finite numbers.
static void fill_with_places(void)
{
    for (int i = 0; i < IMAGE / 4; i++)
        memory.host_image[i] = (unsigned)(2 * i + 1) | (unsigned)(2 * i + 2) << 16;
}

// A of registers: row m has its one in column m. In shared memory, at IDENTITY: column n of B has its one in row n.
static const unsigned one = 0x3c00;
static void fill_identities(void)
{
    memset(memory.host_a, 0, sizeof memory.host_a);
    for (int m = 0; m < 16; m++) {
        int lane = m % 8 * 4 + m % 8 / 2, i = m < 8 ? 0 : 3;
        memory.host_a[4 * lane + i] = one << 16 * (m % 2);
    }
    unsigned *b = &memory.host_image[IDENTITY / 4];
    memset(b, 0, IMAGE - IDENTITY);
    for (int n = 0; n < 16; n++)
        b[(n / 8 * 256 + n % 8 * VECTOR + n / 8 * 128 + n % 8 / 2 * 4) / 4] = one << 16 * (n % 2);
}

static bool prints_vectors;

// The halves of vectors that lie together have numbers that follow each other. Sums are exact: as floats they are the halves.
static void print_vectors(const char *name, const unsigned *numbers, int n)
{
    printf("{\"case\": \"%s\", \"vectors\": \"", name);
    for (int i = 0; i < n; i += 8) {
        bool together = numbers[i] % 8 == 0;
        for (int j = 1; j < 8; j++)
            together &= numbers[i + j] == numbers[i] + j;
        if (together)
            printf("%s%x", i ? " " : "", numbers[i] / 8);
        else
            printf("%s?%x", i ? " " : "", numbers[i]);
    }
    printf("\"}\n");
}

static unsigned place_of(unsigned word)
{
    float f;
    memcpy(&f, &word, sizeof f);
    for (unsigned exponent = 0; exponent < 31; exponent++) {  // that half's bits
        float scaled = exponent ? f * (1 << 24) / (1 << (exponent - 1)) : f * (1 << 24);
        if (exponent ? scaled >= 1024 && scaled < 2048 : scaled < 1024)
            return (exponent << 10) + (unsigned)scaled - (exponent ? 1024 : 0) - 1;
    }
    return 0xffffffff;
}

// D[row][column] of sums as run() leaves them
static unsigned sum_at(const unsigned *sums, int registers, int row, int column)
{
    int lane = row / 16 * 32 + row % 8 * 4 + column % 8 / 2;
    return sums[lane * registers + column / 8 * 4 + row % 16 / 8 * 2 + column % 2];
}

static void places(const char *operand, bool mn_major, const layout &l)
{
    static unsigned sums[THREADS * MOST_REGISTERS], numbers[64 * 256];
    static const form of_a[] = {FORM(f16_f32, 16, F16, F16, F32, ss, 1, 1, 0, 0)
                                    FORM(f16_f32, 16, F16, F16, F32, ss, 1, 1, 1, 0)};
    static const form of_b[] = {FORM(f16_f32, 256, F16, F16, F32, rs, 1, 1, 0, 0)
                                    FORM(f16_f32, 256, F16, F16, F32, rs, 1, 1, 0, 1)};
    static const layout identity = {NONE, 0, 0, 128, 256};
    char name[MOST_NAME];
    bool is_a = operand[0] == 'a';
    const form &f = is_a ? of_a[mn_major] : of_b[mn_major];
    snprintf(name, sizeof name, "%s %s swizzle %d start %u base %u leading %u stride %u others %llx", operand,
             mn_major ? "mn" : "k", l.swizzle == NONE ? 0 : widths[l.swizzle], l.start, l.base, l.leading, l.stride,
             l.others);
    int registers = is_a ? run(f, l, identity, IDENTITY, 0, sums) : run(f, layout{}, l, 0, 0, sums);
    if (!prints_vectors) {
        print_hash(name, sums, (size_t)THREADS * registers * sizeof *sums);
        return;
    }
    int lines = is_a ? 64 : 256, n = 0;
    for (int i = 0; i < (mn_major ? lines / 8 : lines); i++)
        for (int j = 0; j < (mn_major ? 128 : 16); j++) {
            int line = mn_major ? 8 * i + j % 8 : i, k = mn_major ? j / 8 : j;
            numbers[n++] = place_of(is_a ? sum_at(sums, registers, line, k) : sum_at(sums, registers, k, line));
        }
    print_vectors(name, numbers, n);
}

static void places_of(const char *operand, bool mn_major, int swizzle)
{
    const layout l = canonical(swizzle, mn_major, operand[0] == 'a' ? 64 : 256);
    auto with = [&](unsigned start, unsigned base, unsigned leading, unsigned stride, unsigned long long others = 0) {
        places(operand, mn_major, layout{swizzle, start, base, leading, stride, others});
    };
    for (unsigned start = 0; start <= 1024; start += start < 256 ? 16 : 128)
        with(start, 0, l.leading, l.stride);
    for (unsigned start : {1040u, 1120u, 1184u, 1968u, 2048u})
        with(start, 0, l.leading, l.stride);
    for (unsigned base = 1; base < 8; base++) {
        with(0, base, l.leading, l.stride);
        with(128 * base, base, l.leading, l.stride);
        with(128 * base + 32, base, l.leading, l.stride);
        with(1024 - 128 * base, base, l.leading, l.stride);
    }
    for (unsigned leading : {0u, 16u, 48u, 128u, 144u, 272u, 1040u, 2032u})
        with(0, 0, leading, l.stride);
    for (unsigned stride : {0u, 16u, 48u, 128u, 144u, 272u, 1040u, 1168u})
        with(0, 0, l.leading, stride);
    with(32, 0, 1040, 1168);
    with(112, 3, 144, 272);
    for (int bit : {14, 15, 30, 31, 46, 47, 48, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61})
        with(0, 0, l.leading, l.stride, 1ull << bit);
}

static void places_all(void)
{
    fill_with_places();
    fill_identities();
    for (int swizzle = NONE; swizzle <= WIDTH_32; swizzle++)
        for (int mn_major = 0; mn_major < 2; mn_major++) {
            places_of("a", mn_major, swizzle);
            places_of("b", mn_major, swizzle);
        }
}

int main(int argc, char **argv)
{
    prints_vectors = argc > 1 && !strcmp(argv[1], "vectors");
    reserve();
    if (!prints_vectors)
        multiply_all();
    places_all();
    return 0;
}

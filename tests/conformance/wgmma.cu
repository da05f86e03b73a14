// What wgmma.mma_async reads and makes: every N, both majors of A and B, each swizzle and each type, A from shared memory and
// from registers. Prints a line of JSON for each case:
//
//   nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a wgmma.cu -o wgmma && ./wgmma > wgmma_h200.jsonl
//
// "hash": of all bits of the sums. Where an operand is read from is seen in products with ones of halves that are all different:
// `./wgmma vectors` prints for each of these cases the numbers of the vectors of 16 bytes that were read, in hexadecimal.

#include "elements.h"

enum {
    THREADS = 128,
    MOST_REGISTERS = 128,
    IMAGE = 48 << 10,    // bytes of shared memory
    PLACE_B = 12 << 10,  // of a product's B in it; its A is at 0
    IDENTITY = IMAGE - 512,
    VECTOR = 16,
    MOST_TASKS = 96,
    MOST_NAME = 120
};

// ---- the instruction ----

struct task {
    unsigned a_start, b_start;  // in shared memory
    unsigned long long a, b;    // the descriptors, but for the start
    int accumulates, times;     // how often the product is added
};

struct operands {
    const uint4 *image;  // all of shared memory
    const task *tasks;
    int n;
    const unsigned *a, *c;  // in registers: of each thread 4, and MOST_REGISTERS
    unsigned *d;            // of each task and thread MOST_REGISTERS
};

static __device__ unsigned load_image(const uint4 *from)
{
    extern __shared__ __align__(1024) uint4 image[];
    for (int i = threadIdx.x; i < IMAGE / VECTOR; i += THREADS)
        image[i] = from[i];
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    return (unsigned)__cvta_generic_to_shared(image);
}

static __device__ unsigned long long descriptor(unsigned base, unsigned start, unsigned long long fields)
{
    return fields | (base + start & 0x3ffff) >> 4;
}

#define FENCE() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define WAIT() \
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

// COUNT: how many that are; T: the type of a register, C: its constraint. Integers have no signs, and only types of 16 bits can be transposed.
#define KERNEL(NAME, COUNT, T, C, TEXT, ...) \
    template <int SIGN_A, int SIGN_B, int MN_A, int MN_B> __global__ void NAME(operands o) \
    { \
        T d[MOST_REGISTERS] = {}; \
        unsigned base = load_image(o.image), t = threadIdx.x, r[4]; \
        for (int i = 0; i < 4; i++) \
            r[i] = o.a[4 * t + i]; \
        (void)r; \
        for (int i = 0; i < o.n; i++) { \
            const task &task = o.tasks[i]; \
            unsigned long long a = descriptor(base, task.a_start, task.a), b = descriptor(base, task.b_start, task.b); \
            (void)a; \
            for (int j = 0; j < COUNT; j++) \
                d[j] = ((const T *)o.c)[t * MOST_REGISTERS + j]; \
            FENCE(); \
            for (int times = 0; times < task.times; times++) \
                asm volatile("{ .reg .pred p; setp.ne.b32 p, %128, 0;" TEXT ";}" \
                             : ALL(C, d) \
                             : "r"(task.accumulates), "l"(b), __VA_ARGS__); \
            WAIT(); \
            for (int j = 0; j < COUNT; j++) \
                ((T *)o.d)[(i * THREADS + t) * MOST_REGISTERS + j] = d[j]; \
        } \
    }

#define INSTRUCTION(N, SHAPE, TYPES, COUNT, A) \
    "wgmma.mma_async.sync.aligned.m64n" #N SHAPE "." TYPES " {" LIST_##COUNT "}, " A ", %129, p"
#define OF_SHARED "%130"
#define OF_REGISTERS "{%130,%131,%132,%133}"
#define A_SHARED "l"(a)
#define A_REGISTERS "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])

// Of 16 bits; of others that have signs; of those that have none.
#define HALVES(NAME, N, COUNT, T, C, TYPES) \
    KERNEL(NAME##_ss, COUNT, T, C, INSTRUCTION(N, "k16", TYPES, COUNT, OF_SHARED) ", %131, %132, %133, %134", \
           A_SHARED, "n"(SIGN_A), "n"(SIGN_B), "n"(MN_A), "n"(MN_B)) \
    KERNEL(NAME##_rs, COUNT, T, C, INSTRUCTION(N, "k16", TYPES, COUNT, OF_REGISTERS) ", %134, %135, %136", \
           A_REGISTERS, "n"(SIGN_A), "n"(SIGN_B), "n"(MN_B))
#define FLOATS(NAME, N, SHAPE, COUNT, T, C, TYPES) \
    KERNEL(NAME##_ss, COUNT, T, C, INSTRUCTION(N, SHAPE, TYPES, COUNT, OF_SHARED) ", %131, %132", A_SHARED, \
           "n"(SIGN_A), "n"(SIGN_B)) \
    KERNEL(NAME##_rs, COUNT, T, C, INSTRUCTION(N, SHAPE, TYPES, COUNT, OF_REGISTERS) ", %134, %135", A_REGISTERS, \
           "n"(SIGN_A), "n"(SIGN_B))
#define INTEGERS(NAME, N, SHAPE, COUNT, TYPES) \
    KERNEL(NAME##_ss, COUNT, int, "+r", INSTRUCTION(N, SHAPE, TYPES, COUNT, OF_SHARED), A_SHARED) \
    KERNEL(NAME##_rs, COUNT, int, "+r", INSTRUCTION(N, SHAPE, TYPES, COUNT, OF_REGISTERS), A_REGISTERS)

// clang-format off: it never comes to an end with lists in macros
// N, and its registers of 32-bit and of 16-bit sums.
#define EACH_N_TO_64(X) \
    X(8, 4, 2) X(16, 8, 4) X(24, 12, 6) X(32, 16, 8) X(40, 20, 10) X(48, 24, 12) X(56, 28, 14) X(64, 32, 16)
#define EACH_N_TO_128(X) \
    X(72, 36, 18) X(80, 40, 20) X(88, 44, 22) X(96, 48, 24) X(104, 52, 26) X(112, 56, 28) X(120, 60, 30) X(128, 64, 32)
#define EACH_N_TO_192(X) \
    X(136, 68, 34) \
    X(144, 72, 36) X(152, 76, 38) X(160, 80, 40) X(168, 84, 42) X(176, 88, 44) X(184, 92, 46) X(192, 96, 48)
#define EACH_N_TO_256(X) \
    X(200, 100, 50) \
    X(208, 104, 52) X(216, 108, 54) X(224, 112, 56) X(232, 116, 58) X(240, 120, 60) X(248, 124, 62) X(256, 128, 64)
#define EACH_N(X) EACH_N_TO_64(X) EACH_N_TO_128(X) EACH_N_TO_192(X) EACH_N_TO_256(X)
#define SOME_N(X) X(8, 4, 2) X(16, 8, 4) X(40, 20, 10) X(64, 32, 16) X(248, 124, 62) X(256, 128, 64)
#define SOME_N_OF_INTEGERS(X) X(8, 4, 2) X(16, 8, 4) X(24, 12, 6) X(48, 24, 12) X(240, 120, 60) X(256, 128, 64)
// clang-format on

#define F16_F32(N, WORDS, HALVES_OF) HALVES(f16_f32_##N, N, WORDS, float, "+f", "f32.f16.f16")
#define F16_F16(N, WORDS, HALVES_OF) HALVES(f16_f16_##N, N, HALVES_OF, unsigned, "+r", "f16.f16.f16")
#define BF16(N, WORDS, HALVES_OF) HALVES(bf16_##N, N, WORDS, float, "+f", "f32.bf16.bf16")
#define TF32(N, WORDS, HALVES_OF) FLOATS(tf32_##N, N, "k8", WORDS, float, "+f", "f32.tf32.tf32")
#define FP8(N, WORDS, HALVES_OF) \
    FLOATS(e4m3_f32_##N, N, "k32", WORDS, float, "+f", "f32.e4m3.e4m3") \
    FLOATS(e5m2_f32_##N, N, "k32", WORDS, float, "+f", "f32.e5m2.e5m2") \
    FLOATS(e4m3_e5m2_##N, N, "k32", WORDS, float, "+f", "f32.e4m3.e5m2") \
    FLOATS(e5m2_e4m3_##N, N, "k32", WORDS, float, "+f", "f32.e5m2.e4m3") \
    FLOATS(e4m3_f16_##N, N, "k32", HALVES_OF, unsigned, "+r", "f16.e4m3.e4m3") \
    FLOATS(e5m2_f16_##N, N, "k32", HALVES_OF, unsigned, "+r", "f16.e5m2.e5m2")
#define WHOLES(N, WORDS, HALVES_OF) \
    INTEGERS(s8_##N, N, "k32", WORDS, "s32.s8.s8") \
    INTEGERS(u8_##N, N, "k32", WORDS, "s32.u8.u8") \
    INTEGERS(s8_u8_##N, N, "k32", WORDS, "s32.s8.u8") \
    INTEGERS(u8_s8_##N, N, "k32", WORDS, "s32.u8.s8") \
    INTEGERS(s8_sat_##N, N, "k32", WORDS, "satfinite.s32.s8.s8") \
    INTEGERS(u8_sat_##N, N, "k32", WORDS, "satfinite.s32.u8.u8") \
    INTEGERS(b1_##N, N, "k256", WORDS, "s32.b1.b1.and.popc")

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
    task *tasks;
    unsigned host_image[IMAGE / 4], host_a[THREADS * 4], host_c[THREADS * MOST_REGISTERS];
    unsigned out[MOST_TASKS][THREADS * MOST_REGISTERS];
} memory;

static struct {
    task tasks[MOST_TASKS];
    char names[MOST_TASKS][MOST_NAME];
    int n;
} todo;

static void reserve(void)
{
    CHECK(cudaMalloc(&memory.image, sizeof memory.host_image));
    CHECK(cudaMalloc(&memory.a, sizeof memory.host_a));
    CHECK(cudaMalloc(&memory.c, sizeof memory.host_c));
    CHECK(cudaMalloc(&memory.d, sizeof memory.out));
    CHECK(cudaMalloc(&memory.tasks, sizeof todo.tasks));
}

static void add(const char *name, const layout &a, const layout &b, unsigned place_b, int accumulates, int times)
{
    snprintf(todo.names[todo.n], MOST_NAME, "%s", name);
    todo.tasks[todo.n++] = {a.start, place_b + b.start, fields(a), fields(b), accumulates, times};
}

// What is to do, in one launch. `show` gets the sums of all lanes, one after the other, as many as the product has of each.
template <typename Show> static void run(const form &f, Show show)
{
    static unsigned sums[THREADS * MOST_REGISTERS];
    int registers = f.sums == F16 ? f.n / 4 : f.n / 2;
    CHECK(cudaMemcpy(memory.image, memory.host_image, sizeof memory.host_image, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(memory.a, memory.host_a, sizeof memory.host_a, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(memory.c, memory.host_c, sizeof memory.host_c, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(memory.tasks, todo.tasks, sizeof todo.tasks, cudaMemcpyHostToDevice));
    f.run<<<1, THREADS, IMAGE>>>({(const uint4 *)memory.image, memory.tasks, todo.n, memory.a, memory.c, memory.d});
    finish();
    CHECK(cudaMemcpy(memory.out, memory.d, todo.n * sizeof *memory.out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < todo.n; i++) {
        for (int t = 0; t < THREADS; t++)
            memcpy(&sums[t * registers], &memory.out[i][t * MOST_REGISTERS], registers * sizeof *sums);
        show(todo.names[i], sums, registers);
    }
    todo.n = 0;
}

static void show_hash(const char *name, const unsigned *sums, int registers)
{
    print_hash(name, sums, (size_t)THREADS * registers * sizeof *sums);
}

// ---- sums ----

static void fill(const form &f, enum kind kind)
{
    for (int i = 0; i < IMAGE / 4; i++)
        memory.host_image[i] = i < PLACE_B / 4 ? packed(f.a, kind) : packed(f.b, kind == SMALL ? WHOLE : kind);
    for (unsigned &word : memory.host_a)
        word = packed(f.a, kind);
    for (unsigned &word : memory.host_c) {
        word = packed(f.sums, kind);
        if (f.sums == S32 && draw() % 2)
            word = ~word;
    }
}

static void multiply(const form &f, enum kind kind)
{
    char product[MOST_NAME], name[MOST_NAME + 40];
    snprintf(product, sizeof product, "%s n%d a %s%s%s b %s%s %s", f.name, f.n, f.sign_a < 0 ? "-" : "",
             f.mn_a ? "mn" : "k", f.a_in_registers ? " registers" : "", f.sign_b < 0 ? "-" : "", f.mn_b ? "mn" : "k",
             kinds[kind]);
    auto with = [&](int swizzle, int accumulates, int times) {
        snprintf(name, sizeof name, "%s swizzle %d%s%s", product, swizzle == NONE ? 0 : widths[swizzle],
                 accumulates ? "" : " fresh", times > 1 ? " twice" : "");
        add(name, canonical(swizzle, f.mn_a, 64), canonical(swizzle, f.mn_b, f.n), PLACE_B, accumulates, times);
    };
    seed = hash(product, strlen(product));
    fill(f, kind);
    for (int swizzle = NONE; swizzle <= WIDTH_32; swizzle++)
        if (kind == WHOLE && (!f.a_in_registers || swizzle == WIDTH_128 || f.n % 64 == 0))
            with(swizzle, 1, 1);
    if (kind != WHOLE || f.n == 16 || f.n == 256) {
        with(WIDTH_128, 1, 2);
        with(WIDTH_128, 0, 1);
    }
    run(f, show_hash);
}

static void multiply_all(void)
{
    for (const form &f : forms)
        multiply(f, WHOLE);
    for (const form &f : forms)
        if (formats[f.a].fraction && (f.n == 16 || f.n == 256 || f.sign_a < 0)) {
            multiply(f, RANDOM);
            multiply(f, SPECIAL);
            if (f.n == 16) {
                multiply(f, SMALL);
                multiply(f, TINY);
            }
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

static const form of_a[] = {FORM(f16_f32, 16, F16, F16, F32, ss, 1, 1, 0, 0)
                                FORM(f16_f32, 16, F16, F16, F32, ss, 1, 1, 1, 0)};
static const form of_b[] = {FORM(f16_f32, 256, F16, F16, F32, rs, 1, 1, 0, 0)
                                FORM(f16_f32, 256, F16, F16, F32, rs, 1, 1, 0, 1)};

static void show_vectors(bool is_a, bool mn_major, const char *name, const unsigned *sums, int registers)
{
    static unsigned numbers[64 * 256];
    int lines = is_a ? 64 : 256, n = 0;
    for (int i = 0; i < (mn_major ? lines / 8 : lines); i++)
        for (int j = 0; j < (mn_major ? 128 : 16); j++) {
            int line = mn_major ? 8 * i + j % 8 : i, k = mn_major ? j / 8 : j;
            numbers[n++] = place_of(is_a ? sum_at(sums, registers, line, k) : sum_at(sums, registers, k, line));
        }
    print_vectors(name, numbers, n);
}

static void add_place(bool is_a, bool mn_major, const layout &l)
{
    static const layout identity = {NONE, 0, 0, 128, 256};
    char name[MOST_NAME];
    snprintf(name, sizeof name, "%s %s swizzle %d start %u base %u leading %u stride %u others %llx", is_a ? "a" : "b",
             mn_major ? "mn" : "k", l.swizzle == NONE ? 0 : widths[l.swizzle], l.start, l.base, l.leading, l.stride,
             l.others);
    if (is_a)
        add(name, l, identity, IDENTITY, 0, 1);
    else
        add(name, layout{}, l, 0, 0, 1);
}

static void places_of(bool is_a, bool mn_major, int swizzle)
{
    const layout l = canonical(swizzle, mn_major, is_a ? 64 : 256);
    auto with = [&](unsigned start, unsigned base, unsigned leading, unsigned stride, unsigned long long others = 0) {
        add_place(is_a, mn_major, layout{swizzle, start, base, leading, stride, others});
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
    run(is_a ? of_a[mn_major] : of_b[mn_major], [&](const char *name, const unsigned *sums, int registers) {
        if (prints_vectors)
            show_vectors(is_a, mn_major, name, sums, registers);
        else
            show_hash(name, sums, registers);
    });
}

static void places_all(void)
{
    fill_with_places();
    fill_identities();
    for (int swizzle = NONE; swizzle <= WIDTH_32; swizzle++)
        for (int mn_major = 0; mn_major < 2; mn_major++) {
            places_of(true, mn_major, swizzle);
            places_of(false, mn_major, swizzle);
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

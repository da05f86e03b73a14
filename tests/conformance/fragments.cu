// Products of doubles, of 4-bit integers and of single bits by tensor cores, and movmatrix: what comes out of known
// registers and matrices, by mma.sync and by WMMA. Prints a line of JSON for each case, with a hash of all bits:
//
//   nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a fragments.cu -o fragments && ./fragments > fragments_h200.jsonl

#include <mma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

using namespace nvcuda;

enum { WARP = 32, MOST_WORDS = 16, ROUNDS = 4 };

#define CHECK(call) \
    do { \
        cudaError_t error_ = (call); \
        if (error_ != cudaSuccess) { \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_)); \
            exit(1); \
        } \
    } while (0)

__host__ __device__ unsigned mixed(unsigned x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

// Small whole numbers, whose sums are exact; or ones with all bits of the fraction.
__host__ __device__ double number(unsigned seed, bool whole)
{
    double x = (int)(mixed(seed) % 64) - 31;
    return whole ? x : x + mixed(seed + 77777) * 0x1p-32 + mixed(seed + 99999) * 0x1p-51;
}

// ---- mma.sync ----

template <int A, int B, int C> struct integers {  // registers of each operand in one lane
    unsigned a[A], b[B];
    int c[C];
    __device__ void fill(unsigned seed, bool whole)
    {
        for (int i = 0; i < A; i++)
            a[i] = mixed(seed++);
        for (int i = 0; i < B; i++)
            b[i] = mixed(seed++);
        for (int i = 0; i < C; i++) {  // near the ends now and then, for .satfinite
            int x = (int)mixed(seed++);
            c[i] = i % 2 ? x >> 16 : x > 0 ? 0x7fffffff - (x & 255) : (int)0x80000000 + (x & 255);
        }
    }
    __device__ unsigned word(int i) const { return i < C ? (unsigned)c[i] : 0; }
};
template <int A, int B, int C> struct doubles {
    double a[A], b[B], c[C];
    __device__ void fill(unsigned seed, bool whole)
    {
        for (int i = 0; i < A; i++)
            a[i] = number(seed++, whole);
        for (int i = 0; i < B; i++)
            b[i] = number(seed++, whole);
        for (int i = 0; i < C; i++)
            c[i] = number(seed++, whole);
    }
    __device__ unsigned word(int i) const
    {
        unsigned words[2 * C];
        memcpy(words, c, sizeof words);
        return i < 2 * C ? words[i] : 0;
    }
};

template <typename Case> __global__ void run(unsigned *out, bool whole)
{
    for (int round = 0; round < ROUNDS; round++) {
        typename Case::registers r;
        r.fill(1000 * round + 32 * (threadIdx.x + 1), whole);
        Case::multiply(r);
        for (int i = 0; i < MOST_WORDS; i++)
            out[(round * WARP + threadIdx.x) * MOST_WORDS + i] = r.word(i);
    }
}

static void print(const char *name, const unsigned *words, int n)
{
    unsigned long long hash = 14695981039346656037ull;
    for (int i = 0; i < n; i++)
        hash = (hash ^ words[i]) * 1099511628211ull;
    printf("{\"case\": \"%s\", \"hash\": \"%016llx\", \"first\": \"", name, hash);
    for (int i = 0; i < 8; i++)
        printf("%s%08x", i ? " " : "", words[i]);
    printf("\"}\n");
}

static unsigned found[ROUNDS * WARP * MOST_WORDS];

template <typename Case> static void print_case(const char *name, bool whole)
{
    unsigned *out;
    CHECK(cudaMalloc(&out, sizeof found));
    run<Case><<<1, WARP>>>(out, whole);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(found, out, sizeof found, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(out));
    print(name, found, sizeof found / sizeof *found);
}

#define CASE(NAME, REGISTERS, ...) \
    struct NAME { \
        using registers = REGISTERS; \
        static __device__ void multiply(registers &r) { asm volatile(__VA_ARGS__); } \
    };

#define C2 "+r"(r.c[0]), "+r"(r.c[1])
#define C4 C2, "+r"(r.c[2]), "+r"(r.c[3])
#define A1B1 "r"(r.a[0]), "r"(r.b[0])
#define A2B1 "r"(r.a[0]), "r"(r.a[1]), "r"(r.b[0])
#define A4B2 "r"(r.a[0]), "r"(r.a[1]), "r"(r.a[2]), "r"(r.a[3]), "r"(r.b[0]), "r"(r.b[1])
using small = integers<1, 1, 2>;
using middle = integers<2, 1, 4>;
using large = integers<4, 2, 4>;
#define SMALL(NAME, TEXT) CASE(NAME, small, TEXT " {%0,%1}, {%2}, {%3}, {%0,%1};" : C2 : A1B1)
#define MIDDLE(NAME, TEXT) CASE(NAME, middle, TEXT " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" : C4 : A2B1)
#define LARGE(NAME, TEXT) CASE(NAME, large, TEXT " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : C4 : A4B2)
#define OF_4_BITS(NAME, A, B) \
    SMALL(small_##NAME, "mma.sync.aligned.m8n8k32.row.col.s32." A "." B ".s32") \
    SMALL(small_sat_##NAME, "mma.sync.aligned.m8n8k32.row.col.satfinite.s32." A "." B ".s32") \
    MIDDLE(middle_##NAME, "mma.sync.aligned.m16n8k32.row.col.s32." A "." B ".s32") \
    MIDDLE(middle_sat_##NAME, "mma.sync.aligned.m16n8k32.row.col.satfinite.s32." A "." B ".s32") \
    LARGE(large_##NAME, "mma.sync.aligned.m16n8k64.row.col.s32." A "." B ".s32") \
    LARGE(large_sat_##NAME, "mma.sync.aligned.m16n8k64.row.col.satfinite.s32." A "." B ".s32")
OF_4_BITS(s4s4, "s4", "s4")
OF_4_BITS(s4u4, "s4", "u4")
OF_4_BITS(u4s4, "u4", "s4")
OF_4_BITS(u4u4, "u4", "u4")
#define OF_BITS(NAME, HOW) \
    SMALL(small_##NAME, "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32" HOW) \
    MIDDLE(middle_##NAME, "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32" HOW) \
    LARGE(large_##NAME, "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32" HOW)
OF_BITS(xor, ".xor.popc")
OF_BITS(and, ".and.popc")

#define D2 "+d"(r.c[0]), "+d"(r.c[1])
#define D4 D2, "+d"(r.c[2]), "+d"(r.c[3])
#define A4_OF_DOUBLES "d"(r.a[0]), "d"(r.a[1]), "d"(r.a[2]), "d"(r.a[3])
using doubles4 = doubles<1, 1, 2>;
using doubles16k4 = doubles<2, 1, 4>;
using doubles16k8 = doubles<4, 2, 4>;
using doubles16k16 = doubles<8, 4, 4>;
CASE(f64_m8n8k4, doubles4,
     "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : D2 : "d"(r.a[0]), "d"(r.b[0]))
CASE(f64_m16n8k4, doubles16k4,
     "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" : D4 : "d"(r.a[0]),
     "d"(r.a[1]), "d"(r.b[0]))
CASE(
    f64_m16n8k8, doubles16k8,
    "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : D4 : A4_OF_DOUBLES,
    "d"(r.b[0]), "d"(r.b[1]))
CASE(f64_m16n8k16, doubles16k16,
     "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, "
     "{%0,%1,%2,%3};" : D4 : A4_OF_DOUBLES,
     "d"(r.a[4]), "d"(r.a[5]), "d"(r.a[6]), "d"(r.a[7]), "d"(r.b[0]), "d"(r.b[1]), "d"(r.b[2]), "d"(r.b[3]))
CASE(movmatrix, small, "movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r.c[0]) : "r"(r.a[0]))

// ---- WMMA: what the fragments hold, and the product ----

struct memory {  // of one warp; of every shape at most 8 rows of 128 bits, or doubles
    __align__(32) unsigned a[128], b[128];
    __align__(32) int c[64], d[64];
    __align__(32) double fa[64], fb[64], fc[64], fd[64];
    unsigned held[3][WARP];
    double fheld[4][WARP];
};

__global__ void fill(memory *m, bool whole)
{
    for (int i = threadIdx.x; i < 128; i += WARP) {
        m->a[i] = mixed(i + 1);
        m->b[i] = mixed(i + 1001);
    }
    for (int i = threadIdx.x; i < 64; i += WARP) {
        m->c[i] = (int)mixed(i + 2001) >> 8;
        m->fa[i] = number(i + 1, whole);
        m->fb[i] = number(i + 501, whole);
        m->fc[i] = number(i + 901, whole);
    }
}

// Rows of A and columns of B lie 4 * words numbers apart.
template <int K, typename T> struct factors {
    wmma::fragment<wmma::matrix_a, 8, 8, K, T, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 8, 8, K, T, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 8, 8, K, int> c;
    __device__ void load(const memory *m, wmma::layout_t layout)
    {
        wmma::load_matrix_sync(a, m->a, 2 * K);
        wmma::load_matrix_sync(b, m->b, K);
        wmma::load_matrix_sync(c, m->c, 8, layout);
    }
    __device__ void keep(memory *m)
    {
        m->held[0][threadIdx.x] = (unsigned)a.x[0];
        m->held[1][threadIdx.x] = (unsigned)b.x[0];
        m->held[2][threadIdx.x] = (unsigned)c.x[0] * 3 + (unsigned)c.x[1] + 1000 * a.num_elements +
                                  a.num_storage_elements;
    }
};

template <typename T> __global__ void multiply_nibbles(memory *m, wmma::layout_t layout, bool saturates)
{
    factors<32, T> f;
    f.load(m, layout);
    f.keep(m);
    wmma::mma_sync(f.c, f.a, f.b, f.c, saturates);
    wmma::store_matrix_sync(m->d, f.c, 8, layout);
}
__global__ void multiply_bits(memory *m, wmma::layout_t layout, bool conjoins)
{
    factors<128, wmma::experimental::precision::b1> f;
    f.load(m, layout);
    f.keep(m);
    if (conjoins)
        wmma::bmma_sync(f.c, f.a, f.b, f.c, wmma::experimental::bmmaBitOpAND);
    else
        wmma::bmma_sync(f.c, f.a, f.b, f.c);
    wmma::store_matrix_sync(m->d, f.c, 8, layout);
}
template <typename T> __global__ void fill_small(memory *m, unsigned value)
{
    wmma::fragment<wmma::matrix_a, 8, 8, 32, T, wmma::row_major> a;
    wmma::fill_fragment(a, value);
    m->held[0][threadIdx.x] = (unsigned)a.x[0];
}
template <typename A, typename B> __global__ void multiply_doubles(memory *m, wmma::layout_t layout)
{
    wmma::fragment<wmma::matrix_a, 8, 8, 4, double, A> a;
    wmma::fragment<wmma::matrix_b, 8, 8, 4, double, B> b;
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> c;
    wmma::load_matrix_sync(a, m->fa, std::is_same<A, wmma::row_major>::value ? 4 : 8);
    wmma::load_matrix_sync(b, m->fb, std::is_same<B, wmma::row_major>::value ? 8 : 4);
    wmma::load_matrix_sync(c, m->fc, 8, layout);
    m->fheld[0][threadIdx.x] = a.x[0];
    m->fheld[1][threadIdx.x] = b.x[0];
    m->fheld[2][threadIdx.x] = c.x[0];
    m->fheld[3][threadIdx.x] = c.x[1];
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(m->fd, c, 8, layout);
}

template <typename Launch> static void print_wmma(const char *name, bool whole, Launch launch)
{
    static memory host;
    memory *m;
    CHECK(cudaMalloc(&m, sizeof *m));
    CHECK(cudaMemset(m, 0, sizeof *m));
    fill<<<1, WARP>>>(m, whole);
    launch(m);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&host, m, sizeof *m, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(m));
    static unsigned words[sizeof host.d / 4 + sizeof host.fd / 4 + sizeof host.held / 4 + sizeof host.fheld / 4];
    unsigned *at = words;
    memcpy(at, host.d, sizeof host.d), at += sizeof host.d / 4;
    memcpy(at, host.fd, sizeof host.fd), at += sizeof host.fd / 4;
    memcpy(at, host.held, sizeof host.held), at += sizeof host.held / 4;
    memcpy(at, host.fheld, sizeof host.fheld);
    print(name, words, sizeof words / sizeof *words);
}

#define PRINT(NAME) print_case<NAME>(#NAME, true)
#define PRINT_4(NAME) \
    PRINT(small_##NAME), PRINT(small_sat_##NAME), PRINT(middle_##NAME), PRINT(middle_sat_##NAME), PRINT(large_##NAME), \
        PRINT(large_sat_##NAME)
#define PRINT_1(NAME) PRINT(small_##NAME), PRINT(middle_##NAME), PRINT(large_##NAME)
#define PRINT_64(NAME) print_case<NAME>(#NAME " whole", true), print_case<NAME>(#NAME " fractions", false)
#define WMMA(NAME, KERNEL, ...) print_wmma(NAME, true, [](memory *m) { KERNEL<<<1, WARP>>>(m, __VA_ARGS__); })
#define WMMA_64(NAME, A, B, LAYOUT) \
    print_wmma("wmma f64 " NAME " whole", true, [](memory *m) { multiply_doubles<A, B><<<1, WARP>>>(m, LAYOUT); }); \
    print_wmma("wmma f64 " NAME " fractions", false, [](memory *m) { multiply_doubles<A, B><<<1, WARP>>>(m, LAYOUT); })

int main(void)
{
    using namespace wmma::experimental::precision;
    using row = wmma::row_major;
    using col = wmma::col_major;
    PRINT_4(s4s4), PRINT_4(s4u4), PRINT_4(u4s4), PRINT_4(u4u4);
    PRINT_1(xor), PRINT_1(and);
    PRINT_64(f64_m8n8k4), PRINT_64(f64_m16n8k4), PRINT_64(f64_m16n8k8), PRINT_64(f64_m16n8k16);
    PRINT(movmatrix);
    WMMA("wmma s4", multiply_nibbles<s4>, wmma::mem_row_major, false);
    WMMA("wmma s4 sat col", multiply_nibbles<s4>, wmma::mem_col_major, true);
    WMMA("wmma u4", multiply_nibbles<u4>, wmma::mem_row_major, false);
    WMMA("wmma u4 sat col", multiply_nibbles<u4>, wmma::mem_col_major, true);
    WMMA("wmma b1 xor", multiply_bits, wmma::mem_row_major, false);
    WMMA("wmma b1 and col", multiply_bits, wmma::mem_col_major, true);
    WMMA("wmma fill s4", fill_small<s4>, 13);
    WMMA("wmma fill u4", fill_small<u4>, 6);
    WMMA_64("row row", row, row, wmma::mem_row_major);
    WMMA_64("row col", row, col, wmma::mem_col_major);
    WMMA_64("col row", col, row, wmma::mem_row_major);
    WMMA_64("col col", col, col, wmma::mem_col_major);
    return 0;
}

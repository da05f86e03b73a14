// What tensor cores make of known registers: mma.sync, ldmatrix, stmatrix and WMMA, of every shape and type that the
// emulator offers. Prints a line of JSON for each case:
//
//   nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a products.cu -o products && ./products > products_h200.jsonl
//
// "hash": of all bits that came out, where they are determined: data movement, integers, integer-valued sums. Else "words",
// what lanes 0 to 7 hold of the sums, and "scale", what they would if nothing had a sign: the rounding is relative to it.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <string.h>

#include "../matrices.h"
#include "elements.h"

using namespace nvcuda;

enum { WARP = 32, PRINTED_LANES = 8 };

// ---- mma.sync ----

struct registers {  // of all lanes
    unsigned a[WARP][4], b[WARP][2], c[WARP][4], d[WARP][4];
};

#define MMA_F32(NAME, A, B, AS, BS, SUMS, ...) \
    __global__ void NAME(registers *all) \
    { \
        const unsigned *a = all->a[threadIdx.x], *b = all->b[threadIdx.x]; \
        const float *c = (const float *)all->c[threadIdx.x]; \
        float *d = (float *)all->d[threadIdx.x]; \
        (void)a, (void)b; \
        asm volatile("mma.sync.aligned." __VA_ARGS__ " {%0,%1,%2,%3}, " AS ", " BS ", " SUMS ";" \
                     : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) \
                     : A, B, "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3])); \
    }
#define MMA_S32(NAME, A, B, AS, BS, SUMS, ...) \
    __global__ void NAME(registers *all) \
    { \
        const unsigned *a = all->a[threadIdx.x], *b = all->b[threadIdx.x], *c = all->c[threadIdx.x]; \
        unsigned *d = all->d[threadIdx.x]; \
        asm volatile("mma.sync.aligned." __VA_ARGS__ " {%0,%1,%2,%3}, " AS ", " BS ", " SUMS ";" \
                     : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) \
                     : A, B, "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3])); \
    }
#define MMA_2(NAME, A, B, AS, BS, SUMS, ...) \
    __global__ void NAME(registers *all) \
    { \
        const unsigned *a = all->a[threadIdx.x], *b = all->b[threadIdx.x], *c = all->c[threadIdx.x]; \
        unsigned *d = all->d[threadIdx.x]; \
        asm volatile("mma.sync.aligned." __VA_ARGS__ " {%0,%1}, " AS ", " BS ", " SUMS ";" \
                     : "=r"(d[0]), "=r"(d[1]) \
                     : A, B, "r"(c[0]), "r"(c[1])); \
    }
#define ONE(x) "r"(x[0])
#define TWO(x) "r"(x[0]), "r"(x[1])
#define FOUR(x) "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
#define LARGE(FORM, NAME, TEXT) FORM(NAME, FOUR(a), TWO(b), "{%4,%5,%6,%7}", "{%8,%9}", "{%10,%11,%12,%13}", TEXT)
#define SMALL(FORM, NAME, TEXT) FORM(NAME, TWO(a), ONE(b), "{%4,%5}", "{%6}", "{%7,%8,%9,%10}", TEXT)
#define LARGE_2(NAME, TEXT) MMA_2(NAME, FOUR(a), TWO(b), "{%2,%3,%4,%5}", "{%6,%7}", "{%8,%9}", TEXT)
#define SMALL_2(NAME, TEXT) MMA_2(NAME, TWO(a), ONE(b), "{%2,%3}", "{%4}", "{%5,%6}", TEXT)

LARGE(MMA_F32, f16_k16, "m16n8k16.row.col.f32.f16.f16.f32")
SMALL(MMA_F32, f16_k8, "m16n8k8.row.col.f32.f16.f16.f32")
LARGE_2(f16_k16_f16, "m16n8k16.row.col.f16.f16.f16.f16")
SMALL_2(f16_k8_f16, "m16n8k8.row.col.f16.f16.f16.f16")
LARGE(MMA_F32, bf16_k16, "m16n8k16.row.col.f32.bf16.bf16.f32")
SMALL(MMA_F32, bf16_k8, "m16n8k8.row.col.f32.bf16.bf16.f32")
LARGE(MMA_F32, tf32_k8, "m16n8k8.row.col.f32.tf32.tf32.f32")
SMALL(MMA_F32, tf32_k4, "m16n8k4.row.col.f32.tf32.tf32.f32")
LARGE(MMA_F32, e4m3, "m16n8k32.row.col.f32.e4m3.e4m3.f32")
LARGE(MMA_F32, e5m2, "m16n8k32.row.col.f32.e5m2.e5m2.f32")
LARGE(MMA_F32, e4m3_e5m2, "m16n8k32.row.col.f32.e4m3.e5m2.f32")
LARGE(MMA_S32, s8_k32, "m16n8k32.row.col.s32.s8.s8.s32")
LARGE(MMA_S32, u8_k32, "m16n8k32.row.col.s32.u8.u8.s32")
LARGE(MMA_S32, s8_u8_k32, "m16n8k32.row.col.s32.s8.u8.s32")
LARGE(MMA_S32, s8_k32_sat, "m16n8k32.row.col.satfinite.s32.s8.s8.s32")
SMALL(MMA_S32, s8_k16, "m16n8k16.row.col.s32.s8.s8.s32")
SMALL(MMA_S32, u8_s8_k16, "m16n8k16.row.col.s32.u8.s8.s32")
MMA_2(s8_m8, ONE(a), ONE(b), "{%2}", "{%3}", "{%4,%5}", "m8n8k16.row.col.s32.s8.s8.s32")

static const struct product {
    const char *name;
    void (*run)(registers *all);
    enum type a, b, sums;
    int sum_registers;
} products[] = {
    {"m16n8k16 f16 f32", f16_k16, F16, F16, F32, 4},
    {"m16n8k8 f16 f32", f16_k8, F16, F16, F32, 4},
    {"m16n8k16 f16 f16", f16_k16_f16, F16, F16, F16, 2},
    {"m16n8k8 f16 f16", f16_k8_f16, F16, F16, F16, 2},
    {"m16n8k16 bf16 f32", bf16_k16, BF16, BF16, F32, 4},
    {"m16n8k8 bf16 f32", bf16_k8, BF16, BF16, F32, 4},
    {"m16n8k8 tf32 f32", tf32_k8, TF32, TF32, F32, 4},
    {"m16n8k4 tf32 f32", tf32_k4, TF32, TF32, F32, 4},
    {"m16n8k32 e4m3 f32", e4m3, E4M3, E4M3, F32, 4},
    {"m16n8k32 e5m2 f32", e5m2, E5M2, E5M2, F32, 4},
    {"m16n8k32 e4m3 e5m2 f32", e4m3_e5m2, E4M3, E5M2, F32, 4},
    {"m16n8k32 s8 s32", s8_k32, S8, S8, S32, 4},
    {"m16n8k32 u8 s32", u8_k32, U8, U8, S32, 4},
    {"m16n8k32 s8 u8 s32", s8_u8_k32, S8, U8, S32, 4},
    {"m16n8k32 s8 s32 satfinite", s8_k32_sat, S8, S8, S32, 4},
    {"m16n8k16 s8 s32", s8_k16, S8, S8, S32, 4},
    {"m16n8k16 u8 s8 s32", u8_s8_k16, U8, S8, S32, 4},
    {"m8n8k16 s8 s32", s8_m8, S8, S8, S32, 2},
};

static void fill(registers *all, const product &p, enum kind kind)
{
    for (int lane = 0; lane < WARP; lane++) {
        for (unsigned &word : all->a[lane])
            word = packed(p.a, kind);
        for (unsigned &word : all->b[lane])
            word = packed(p.b, kind);
        for (unsigned &word : all->c[lane])
            word = packed(p.sums, kind);
    }
}

static void drop_signs(registers *all, const product &p)
{
    for (int lane = 0; lane < WARP; lane++) {
        for (unsigned &word : all->a[lane])
            word = without_signs(p.a, word);
        for (unsigned &word : all->b[lane])
            word = without_signs(p.b, word);
        for (unsigned &word : all->c[lane])
            word = without_signs(p.sums, word);
    }
}

static int run(registers *all, const product &p, unsigned *out)
{
    int n = 0;
    p.run<<<1, WARP>>>(all);
    finish();
    for (int lane = 0; lane < WARP; lane++)
        for (int i = 0; i < p.sum_registers; i++)
            out[n++] = all->d[lane][i];
    return n;
}

static void multiply(const product &p, enum kind kind)
{
    static registers *all = managed<registers>(1);
    unsigned out[WARP * 4], scale[WARP * 4];
    char name[80];
    snprintf(name, sizeof name, "mma %s %s", p.name, kinds[kind]);
    seed = hash(name, strlen(name));
    fill(all, p, kind);
    int n = run(all, p, out);
    if (kind == WHOLE) {
        print_hash(name, out, (size_t)n * sizeof *out);
        return;
    }
    drop_signs(all, p);
    run(all, p, scale);
    printf("{\"case\": \"%s\"", name);
    print_words("words", out, n * PRINTED_LANES / WARP);
    print_words("scale", scale, n * PRINTED_LANES / WARP);
    printf("}\n");
}

// ---- ldmatrix and stmatrix ----

enum { TILE_ROWS = 32, PITCH = 5 };  // rows of 16 bytes, 80 bytes apart

struct moved {
    uint4 tile[TILE_ROWS * PITCH];
    unsigned lanes[WARP][4];
};

// Lanes that ldmatrix does not ask for an address have one of nothing.
template <int N, bool TRANSPOSED, bool STORES> __global__ void move(moved *all)
{
    __shared__ uint4 tile[TILE_ROWS * PITCH];
    int lane = threadIdx.x;
    for (int i = lane; i < TILE_ROWS * PITCH; i += WARP)
        tile[i] = all->tile[i];
    __syncwarp();
    int row = lane * 13 % TILE_ROWS;
    unsigned address = lane < 8 * N ? (unsigned)__cvta_generic_to_shared(&tile[row * PITCH + row % PITCH]) : 1;
    if (STORES)
        store_matrices<N, TRANSPOSED>(address, all->lanes[lane]);
    else
        load_matrices<N, TRANSPOSED>(address, all->lanes[lane]);
    __syncwarp();
    for (int i = lane; i < TILE_ROWS * PITCH; i += WARP)
        all->tile[i] = tile[i];
}

template <int N, bool TRANSPOSED, bool STORES> static void movement(void)
{
    moved *all = managed<moved>(1);
    char name[80];
    snprintf(name, sizeof name, "%s x%d%s", STORES ? "stmatrix" : "ldmatrix", N, TRANSPOSED ? " trans" : "");
    seed = hash(name, strlen(name));
    for (size_t i = 0; i < sizeof *all / sizeof(unsigned); i++)
        ((unsigned *)all)[i] = draw();
    move<N, TRANSPOSED, STORES><<<1, WARP>>>(all);
    finish();
    print_hash(name, all, sizeof *all);
    CHECK(cudaFree(all));
}

template <int N> static void movements(void)
{
    movement<N, false, false>();
    movement<N, true, false>();
    movement<N, false, true>();
    movement<N, true, true>();
}

// ---- WMMA ----

template <int M, int N, int K, typename T, typename S, typename LA, typename LB>
__global__ void multiply(const stored_t<T> *A, const stored_t<T> *B, S *C, int lda, int ldb, int ldc,
                         wmma::layout_t layout)
{
    wmma::fragment<wmma::matrix_a, M, N, K, T, LA> a;
    wmma::fragment<wmma::matrix_b, M, N, K, T, LB> b;
    wmma::fragment<wmma::accumulator, M, N, K, S> c;
    wmma::load_matrix_sync(a, A, lda);
    wmma::load_matrix_sync(b, B, ldb);
    wmma::load_matrix_sync(c, C, ldc, layout);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(C, c, ldc, layout);
}

enum { ROOM = 1024 };  // words for a matrix, its stride included

template <int M, int N, int K, typename T, typename S, typename LA, typename LB>
static void wmma_case(const char *types, enum type type, enum type sums, enum kind kind)
{
    constexpr bool a_by_columns = std::is_same<LA, wmma::col_major>::value;
    constexpr bool b_by_columns = std::is_same<LB, wmma::col_major>::value;
    int lda = (a_by_columns ? M : K) + 16, ldb = (b_by_columns ? K : N) + 16, ldc = (a_by_columns ? M : N) + 8;
    unsigned *A = managed<unsigned>(ROOM), *B = managed<unsigned>(ROOM), *C = managed<unsigned>(ROOM), C_before[ROOM],
             out[ROOM];
    char name[80];
    snprintf(name, sizeof name, "wmma m%dn%dk%d %s a %s b %s %s", M, N, K, types, a_by_columns ? "col" : "row",
             b_by_columns ? "col" : "row", kinds[kind]);
    seed = hash(name, strlen(name));
    for (int i = 0; i < ROOM; i++) {
        A[i] = packed(type, kind);
        B[i] = packed(type, kind);
        C[i] = C_before[i] = packed(sums, kind);
    }
    auto launch = [&] {
        multiply<M, N, K, T, S, LA, LB><<<1, WARP>>>((stored_t<T> *)A, (stored_t<T> *)B, (S *)C, lda, ldb, ldc,
                                                     a_by_columns ? wmma::mem_col_major : wmma::mem_row_major);
        finish();
    };
    launch();
    if (kind == WHOLE) {
        print_hash(name, C, ROOM * sizeof *C);
    } else {
        memcpy(out, C, sizeof out);
        for (int i = 0; i < ROOM; i++) {
            A[i] = without_signs(type, A[i]);
            B[i] = without_signs(type, B[i]);
            C[i] = without_signs(sums, C_before[i]);
        }
        launch();
        int n = (a_by_columns ? M : N) * (int)sizeof(S) / 4;  // the first row or column
        printf("{\"case\": \"%s\"", name);
        print_words("words", out, n);
        print_words("scale", C, n);
        printf("}\n");
    }
    CHECK(cudaFree(A));
    CHECK(cudaFree(B));
    CHECK(cudaFree(C));
}

template <int M, int N, int K, typename T, typename S>
static void wmma_layouts(const char *types, enum type type, enum type sums)
{
    using rows = wmma::row_major;
    using columns = wmma::col_major;
    wmma_case<M, N, K, T, S, rows, columns>(types, type, sums, WHOLE);
    wmma_case<M, N, K, T, S, columns, rows>(types, type, sums, WHOLE);
    if (formats[type].fraction)
        wmma_case<M, N, K, T, S, rows, columns>(types, type, sums, RANDOM);
}

template <typename T, typename S> static void wmma_shapes(const char *types, enum type type, enum type sums)
{
    wmma_layouts<16, 16, 16, T, S>(types, type, sums);
    wmma_layouts<32, 8, 16, T, S>(types, type, sums);
    wmma_layouts<8, 32, 16, T, S>(types, type, sums);
}

int main(void)
{
    for (const product &p : products) {
        multiply(p, WHOLE);
        if (formats[p.a].fraction) {
            multiply(p, RANDOM);
            multiply(p, SPECIAL);
        }
    }
    movements<1>();
    movements<2>();
    movements<4>();
    wmma_shapes<half, float>("f16 f32", F16, F32);
    wmma_shapes<half, half>("f16 f16", F16, F16);
    wmma_shapes<__nv_bfloat16, float>("bf16 f32", BF16, F32);
    wmma_shapes<signed char, int>("s8 s32", S8, S32);
    wmma_shapes<unsigned char, int>("u8 s32", U8, S32);
    wmma_layouts<16, 16, 8, wmma::precision::tf32, float>("tf32 f32", TF32, F32);
    return 0;
}

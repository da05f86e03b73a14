// Every way a warp can move matrices, and every product: what a GPU's counters say of it, and the emulator's must.
//
//   nvcc -std=c++20 -gencode=arch=compute_90a,code=sm_90a matrix.cu -o matrix && ./matrix
//
// As banks.cu: each launch is one warp, and does once what its kernel is named after, in a fixed order. --list prints
// without running. The rows that ldmatrix and stmatrix touch lie `pitch` bytes apart, with an xor swizzle of their 16-byte
// chunks, or anywhere; the matrices of WMMA have a stride of `pitch` elements.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_profiler_api.h>
#include <mma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../matrices.h"

using namespace nvcuda;

enum { CHUNKS = 2048 };  // of 16 bytes, of shared memory

struct pattern {
    int pitch;
    int shift, factor;  // xor swizzle of the chunk's number: (row >> shift) % 8 * factor
    unsigned scatter;   // not 0: the seed of pseudo-random chunks below `pitch`, in place of all of these
};

__device__ int chunk(struct pattern p, int row)
{
    if (p.scatter)
        return (int)(((row + 1) * 2654435761u * p.scatter >> 12) % (unsigned)p.pitch);
    return row * (p.pitch / 16) ^ (row >> p.shift) % 8 * p.factor;
}

// `never` is 1, but the compiler does not know; what nobody has written is not 1 either. So nothing is stored.

template <int N, bool TRANSPOSED> __global__ void ldmatrix(unsigned *buffer, struct pattern p, unsigned never)
{
    __shared__ uint4 tile[CHUNKS];
    unsigned address = (unsigned)__cvta_generic_to_shared(&tile[chunk(p, threadIdx.x)]), r[4] = {};
    load_matrices<N, TRANSPOSED>(address, r);
    if ((r[0] ^ r[1] ^ r[2] ^ r[3]) == never)
        buffer[threadIdx.x] = r[0];
}

template <int N, bool TRANSPOSED> __global__ void stmatrix(unsigned *buffer, struct pattern p, unsigned never)
{
    __shared__ uint4 tile[CHUNKS];
    unsigned address = (unsigned)__cvta_generic_to_shared(&tile[chunk(p, threadIdx.x)]);
    const unsigned r[4] = {threadIdx.x, threadIdx.x, threadIdx.x, threadIdx.x};
    store_matrices<N, TRANSPOSED>(address, r);
    __syncthreads();
    if (never == 0)
        buffer[threadIdx.x] = tile[p.pitch].x;
}

// ---- WMMA ----

template <typename F> __device__ bool is(const F &f, unsigned never)
{
    unsigned bits = 0;
    for (int i = 0; i < f.num_elements; i++) {
        unsigned element = 0;
        memcpy(&element, &f.x[i], sizeof f.x[i]);
        bits = bits * 31 + element;
    }
    return bits == never;
}

template <typename Use, int M, int N, int K, typename T, typename Layout, bool SHARED>
__global__ void wmma_ld(unsigned *buffer, struct pattern p, unsigned never)
{
    __shared__ __align__(128) uint4 tile[CHUNKS];
    wmma::fragment<Use, M, N, K, T, Layout> f;
    if (SHARED)
        wmma::load_matrix_sync(f, (const stored_t<T> *)tile, p.pitch);
    else
        wmma::load_matrix_sync(f, (const stored_t<T> *)buffer, p.pitch);
    if (is(f, never))
        buffer[threadIdx.x] = 1;
}

template <int M, int N, int K, typename T, wmma::layout_t LAYOUT, bool SHARED>
__global__ void wmma_ld_sums(unsigned *buffer, struct pattern p, unsigned never)
{
    __shared__ __align__(128) uint4 tile[CHUNKS];
    wmma::fragment<wmma::accumulator, M, N, K, T> f;
    if (SHARED)
        wmma::load_matrix_sync(f, (const T *)tile, p.pitch, LAYOUT);
    else
        wmma::load_matrix_sync(f, (const T *)buffer, p.pitch, LAYOUT);
    if (is(f, never))
        buffer[threadIdx.x] = 1;
}

template <int M, int N, int K, typename T, wmma::layout_t LAYOUT, bool SHARED>
__global__ void wmma_st_sums(unsigned *buffer, struct pattern p, unsigned never)
{
    __shared__ __align__(128) uint4 tile[CHUNKS];
    wmma::fragment<wmma::accumulator, M, N, K, T> f;
    wmma::fill_fragment(f, T(never));
    if (SHARED)
        wmma::store_matrix_sync((T *)tile, f, p.pitch, LAYOUT);
    else
        wmma::store_matrix_sync((T *)buffer, f, p.pitch, LAYOUT);
    __syncthreads();
    if (never == 0)
        buffer[threadIdx.x] = tile[p.pitch].x;
}

template <int M, int N, int K, typename T, typename S>
__global__ void wmma_mma(unsigned *buffer, struct pattern p, unsigned never)
{
    wmma::fragment<wmma::matrix_a, M, N, K, T, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, M, N, K, T, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, M, N, K, S> c;
    for (int i = 0; i < a.num_elements; i++)
        a.x[i] = stored_t<T>((float)(threadIdx.x + i * never));
    for (int i = 0; i < b.num_elements; i++)
        b.x[i] = stored_t<T>((float)(threadIdx.x + 2 * i * never));
    for (int i = 0; i < c.num_elements; i++)
        c.x[i] = S((float)(i * never));
    wmma::mma_sync(c, a, b, c);
    if (is(c, never))
        buffer[threadIdx.x] = 1;
}

// ---- mma.sync ----

#define LARGE(NAME, TYPE, TEXT) \
    __global__ void NAME(unsigned *buffer, struct pattern p, unsigned never) \
    { \
        TYPE c[4] = {}; \
        asm volatile("mma.sync.aligned." TEXT " {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};" \
                     : LARGE_##TYPE(c) \
                     : "r"(never)); \
        if (c[0] + c[1] + c[2] + c[3] == TYPE(17 * never)) \
            buffer[threadIdx.x] = 1; \
    }
#define SMALL(NAME, TYPE, TEXT) \
    __global__ void NAME(unsigned *buffer, struct pattern p, unsigned never) \
    { \
        TYPE c[4] = {}; \
        asm volatile("mma.sync.aligned." TEXT " {%0,%1,%2,%3}, {%4,%4}, {%4}, {%0,%1,%2,%3};" \
                     : LARGE_##TYPE(c) \
                     : "r"(never)); \
        if (c[0] + c[1] + c[2] + c[3] == TYPE(17 * never)) \
            buffer[threadIdx.x] = 1; \
    }
#define LARGE_float(c) "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
#define LARGE_unsigned(c) "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
LARGE(mma_m16n8k16_f16, float, "m16n8k16.row.col.f32.f16.f16.f32")
SMALL(mma_m16n8k8_f16, float, "m16n8k8.row.col.f32.f16.f16.f32")
LARGE(mma_m16n8k16_bf16, float, "m16n8k16.row.col.f32.bf16.bf16.f32")
LARGE(mma_m16n8k8_tf32, float, "m16n8k8.row.col.f32.tf32.tf32.f32")
SMALL(mma_m16n8k4_tf32, float, "m16n8k4.row.col.f32.tf32.tf32.f32")
LARGE(mma_m16n8k32_e4m3, float, "m16n8k32.row.col.f32.e4m3.e4m3.f32")
LARGE(mma_m16n8k32_s8, unsigned, "m16n8k32.row.col.s32.s8.s8.s32")
SMALL(mma_m16n8k16_s8, unsigned, "m16n8k16.row.col.s32.s8.s8.s32")

// ---- launches ----

using kernel = void (*)(unsigned *buffer, struct pattern p, unsigned never);

static unsigned *buffer;
static bool list_only;

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "matrix: %s\n", cudaGetErrorString(error));
        exit(1);
    }
}

static void launch(const char *name, kernel run, struct pattern p)
{
    printf("%s pitch=%d shift=%d factor=%d scatter=%u\n", name, p.pitch, p.shift, p.factor, p.scatter);
    if (list_only)
        return;
    check(cudaProfilerStart());
    run<<<1, 32>>>(buffer, p, 1);
    check(cudaGetLastError());
    check(cudaDeviceSynchronize());
    check(cudaProfilerStop());
}

static void launch_rows(const char *name, kernel run)
{
    for (int pitch = 16; pitch <= 272; pitch += 16)
        launch(name, run, {pitch, 0, 0, 0});
    const int swizzles[][3] = {{64, 1, 1}, {64, 0, 1}, {128, 0, 1}, {128, 1, 2}, {256, 0, 1}};
    for (auto s : swizzles)
        launch(name, run, {s[0], s[1], s[2], 0});
    const int windows[] = {8, 32, 128, CHUNKS};
    for (int window : windows)
        for (unsigned seed = 1; seed <= 2; seed++)
            launch(name, run, {window, 0, 0, seed});
}

// In elements of that many bytes. Rows that ldmatrix reads begin at multiples of 16 bytes.
static void launch_strides(const char *name, kernel run, int bytes)
{
    const int strides[] = {16, 24, 32, 40, 64, 72, 128, 136};
    for (int stride : strides)
        if (stride * bytes % 16 == 0)
            launch(name, run, {stride, 0, 0, 0});
}

template <typename Use, int M, int N, int K, typename T> static void launch_inputs(const char *which)
{
    char name[80];
    auto named = [&](const char *order, const char *space) {
        snprintf(name, sizeof name, "wmma_ld what=%s order=%s space=%s", which, order, space);
        return name;
    };
    launch_strides(named("row", "shared"), wmma_ld<Use, M, N, K, T, wmma::row_major, true>, sizeof(stored_t<T>));
    launch_strides(named("col", "shared"), wmma_ld<Use, M, N, K, T, wmma::col_major, true>, sizeof(stored_t<T>));
    launch_strides(named("row", "global"), wmma_ld<Use, M, N, K, T, wmma::row_major, false>, sizeof(stored_t<T>));
    launch_strides(named("col", "global"), wmma_ld<Use, M, N, K, T, wmma::col_major, false>, sizeof(stored_t<T>));
}

template <int M, int N, int K, typename T> static void launch_sums(const char *which)
{
    char name[80];
    auto named = [&](const char *does, const char *order, const char *space) {
        snprintf(name, sizeof name, "wmma_%s_sums what=%s order=%s space=%s", does, which, order, space);
        return name;
    };
    launch_strides(named("ld", "row", "shared"), wmma_ld_sums<M, N, K, T, wmma::mem_row_major, true>, sizeof(T));
    launch_strides(named("ld", "col", "shared"), wmma_ld_sums<M, N, K, T, wmma::mem_col_major, true>, sizeof(T));
    launch_strides(named("ld", "row", "global"), wmma_ld_sums<M, N, K, T, wmma::mem_row_major, false>, sizeof(T));
    launch_strides(named("st", "row", "shared"), wmma_st_sums<M, N, K, T, wmma::mem_row_major, true>, sizeof(T));
    launch_strides(named("st", "col", "shared"), wmma_st_sums<M, N, K, T, wmma::mem_col_major, true>, sizeof(T));
    launch_strides(named("st", "row", "global"), wmma_st_sums<M, N, K, T, wmma::mem_row_major, false>, sizeof(T));
}

int main(int argc, char **argv)
{
    list_only = argc > 1 && strcmp(argv[1], "--list") == 0;
    if (!list_only) {
        check(cudaMalloc(&buffer, CHUNKS * sizeof(uint4)));
        check(cudaMemset(buffer, 0, CHUNKS * sizeof(uint4)));
    }
    launch_rows("ldmatrix n=1 trans=0", ldmatrix<1, false>);
    launch_rows("ldmatrix n=2 trans=0", ldmatrix<2, false>);
    launch_rows("ldmatrix n=4 trans=0", ldmatrix<4, false>);
    launch_rows("ldmatrix n=1 trans=1", ldmatrix<1, true>);
    launch_rows("ldmatrix n=2 trans=1", ldmatrix<2, true>);
    launch_rows("ldmatrix n=4 trans=1", ldmatrix<4, true>);
    launch_rows("stmatrix n=1 trans=0", stmatrix<1, false>);
    launch_rows("stmatrix n=2 trans=0", stmatrix<2, false>);
    launch_rows("stmatrix n=4 trans=0", stmatrix<4, false>);
    launch_rows("stmatrix n=1 trans=1", stmatrix<1, true>);
    launch_rows("stmatrix n=2 trans=1", stmatrix<2, true>);
    launch_rows("stmatrix n=4 trans=1", stmatrix<4, true>);
    launch_inputs<wmma::matrix_a, 16, 16, 16, half>("a_half_m16n16k16");
    launch_inputs<wmma::matrix_b, 16, 16, 16, half>("b_half_m16n16k16");
    launch_inputs<wmma::matrix_a, 32, 8, 16, half>("a_half_m32n8k16");
    launch_inputs<wmma::matrix_b, 8, 32, 16, half>("b_half_m8n32k16");
    launch_inputs<wmma::matrix_a, 16, 16, 16, __nv_bfloat16>("a_bf16_m16n16k16");
    launch_inputs<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32>("a_tf32_m16n16k8");
    launch_inputs<wmma::matrix_a, 16, 16, 16, signed char>("a_s8_m16n16k16");
    launch_sums<16, 16, 16, float>("c_float_m16n16k16");
    launch_sums<16, 16, 16, half>("c_half_m16n16k16");
    launch_sums<8, 32, 16, float>("c_float_m8n32k16");
    launch("wmma_mma what=half_m16n16k16", wmma_mma<16, 16, 16, half, float>, {});
    launch("wmma_mma what=half_m32n8k16", wmma_mma<32, 8, 16, half, float>, {});
    launch("wmma_mma what=half_m8n32k16", wmma_mma<8, 32, 16, half, float>, {});
    launch("wmma_mma what=bf16_m16n16k16", wmma_mma<16, 16, 16, __nv_bfloat16, float>, {});
    launch("wmma_mma what=tf32_m16n16k8", wmma_mma<16, 16, 8, wmma::precision::tf32, float>, {});
    launch("wmma_mma what=s8_m16n16k16", wmma_mma<16, 16, 16, signed char, int>, {});
    launch("mma_m16n8k16_f16", mma_m16n8k16_f16, {});
    launch("mma_m16n8k8_f16", mma_m16n8k8_f16, {});
    launch("mma_m16n8k16_bf16", mma_m16n8k16_bf16, {});
    launch("mma_m16n8k8_tf32", mma_m16n8k8_tf32, {});
    launch("mma_m16n8k4_tf32", mma_m16n8k4_tf32, {});
    launch("mma_m16n8k32_e4m3", mma_m16n8k32_e4m3, {});
    launch("mma_m16n8k32_s8", mma_m16n8k32_s8, {});
    launch("mma_m16n8k16_s8", mma_m16n8k16_s8, {});
    return 0;
}

// What ptxas makes of each WMMA operation: one kernel for each, to be read with cuobjdump or counted with ncu.
//
//   nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a -cubin wmma_sass.cu -o wmma_sass.cubin
//   cuobjdump -sass wmma_sass.cubin | grep -E 'Function|LDS|LDG|LD\.|STS|STG|ST\.|MOVM|MMA'
//
// Loads come from an array in shared memory, whose address space ptxas can prove, and from a pointer, where it cannot
// unless the kernel's parameter says that it is global.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "../matrices.h"

using namespace nvcuda;

// The fragment is handed on as it is, so that nothing but the load is seen.
template <typename F> __device__ void keep(const F &fragment, void *out)
{
    for (int i = 0; i < fragment.num_elements; i++)
        ((decltype(fragment.x[0] + fragment.x[0]) *)out)[threadIdx.x * fragment.num_elements + i] = fragment.x[i];
}

#define LOADS(NAME, USE, M, N, K, T, LAYOUT) \
    extern "C" __global__ void NAME##_shared(void *out, int ld) \
    { \
        __shared__ __align__(128) stored_t<T> tile[4096]; \
        for (int i = threadIdx.x; i < 4096; i += 32) \
            tile[i] = ((stored_t<T> *)out)[i]; \
        __syncthreads(); \
        wmma::fragment<wmma::USE, M, N, K, T, wmma::LAYOUT> f; \
        wmma::load_matrix_sync(f, tile, ld); \
        keep(f, out); \
    } \
    extern "C" __global__ void NAME##_global(const stored_t<T> *in, void *out, int ld) \
    { \
        wmma::fragment<wmma::USE, M, N, K, T, wmma::LAYOUT> f; \
        wmma::load_matrix_sync(f, in, ld); \
        keep(f, out); \
    }
#define BOTH(NAME, M, N, K, T) \
    LOADS(NAME##_a_row, matrix_a, M, N, K, T, row_major) \
    LOADS(NAME##_a_col, matrix_a, M, N, K, T, col_major) \
    LOADS(NAME##_b_row, matrix_b, M, N, K, T, row_major) \
    LOADS(NAME##_b_col, matrix_b, M, N, K, T, col_major)
BOTH(half_m16n16k16, 16, 16, 16, half)
BOTH(half_m32n8k16, 32, 8, 16, half)
BOTH(half_m8n32k16, 8, 32, 16, half)
BOTH(bf16_m16n16k16, 16, 16, 16, __nv_bfloat16)
BOTH(tf32_m16n16k8, 16, 16, 8, wmma::precision::tf32)
BOTH(s8_m16n16k16, 16, 16, 16, signed char)
BOTH(s8_m32n8k16, 32, 8, 16, signed char)
BOTH(s8_m8n32k16, 8, 32, 16, signed char)

#define SUMS(NAME, M, N, K, T, LAYOUT) \
    extern "C" __global__ void NAME##_shared(T *out, int ld) \
    { \
        __shared__ __align__(128) T tile[4096]; \
        for (int i = threadIdx.x; i < 4096; i += 32) \
            tile[i] = out[i]; \
        __syncthreads(); \
        wmma::fragment<wmma::accumulator, M, N, K, T> f; \
        wmma::load_matrix_sync(f, tile, ld, wmma::LAYOUT); \
        for (int i = 0; i < f.num_elements; i++) \
            f.x[i] = f.x[i] + f.x[i]; \
        wmma::store_matrix_sync(tile + 2048, f, ld, wmma::LAYOUT); \
        __syncthreads(); \
        for (int i = threadIdx.x; i < 4096; i += 32) \
            out[i] = tile[i]; \
    } \
    extern "C" __global__ void NAME##_global(T *out, int ld) \
    { \
        wmma::fragment<wmma::accumulator, M, N, K, T> f; \
        wmma::load_matrix_sync(f, out, ld, wmma::LAYOUT); \
        for (int i = 0; i < f.num_elements; i++) \
            f.x[i] = f.x[i] + f.x[i]; \
        wmma::store_matrix_sync(out + 2048, f, ld, wmma::LAYOUT); \
    }
#define SUM(NAME, M, N, K, T) \
    SUMS(NAME##_row, M, N, K, T, mem_row_major) \
    SUMS(NAME##_col, M, N, K, T, mem_col_major)
SUM(float_c_m16n16k16, 16, 16, 16, float)
SUM(float_c_m32n8k16, 32, 8, 16, float)
SUM(float_c_m8n32k16, 8, 32, 16, float)
SUM(half_c_m16n16k16, 16, 16, 16, half)
SUM(half_c_m32n8k16, 32, 8, 16, half)
SUM(half_c_m8n32k16, 8, 32, 16, half)
SUM(int_c_m16n16k16, 16, 16, 16, int)

#define PRODUCT(NAME, M, N, K, T, S) \
    extern "C" __global__ void NAME(const stored_t<T> *in, S *out) \
    { \
        wmma::fragment<wmma::matrix_a, M, N, K, T, wmma::row_major> a; \
        wmma::fragment<wmma::matrix_b, M, N, K, T, wmma::col_major> b; \
        wmma::fragment<wmma::accumulator, M, N, K, S> c; \
        wmma::fill_fragment(c, S(0)); \
        wmma::load_matrix_sync(a, in, 16); \
        wmma::load_matrix_sync(b, in + 1024, 16); \
        wmma::mma_sync(c, a, b, c); \
        wmma::store_matrix_sync(out, c, 32, wmma::mem_row_major); \
    }
PRODUCT(mma_half_float_m16n16k16, 16, 16, 16, half, float)
PRODUCT(mma_half_float_m32n8k16, 32, 8, 16, half, float)
PRODUCT(mma_half_float_m8n32k16, 8, 32, 16, half, float)
PRODUCT(mma_half_half_m16n16k16, 16, 16, 16, half, half)
PRODUCT(mma_half_half_m32n8k16, 32, 8, 16, half, half)
PRODUCT(mma_half_half_m8n32k16, 8, 32, 16, half, half)
PRODUCT(mma_bf16_m16n16k16, 16, 16, 16, __nv_bfloat16, float)
PRODUCT(mma_tf32_m16n16k8, 16, 16, 8, wmma::precision::tf32, float)
PRODUCT(mma_s8_m16n16k16, 16, 16, 16, signed char, int)
PRODUCT(mma_s8_m32n8k16, 32, 8, 16, signed char, int)
PRODUCT(mma_s8_m8n32k16, 8, 32, 16, signed char, int)

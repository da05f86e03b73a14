// Products of warpgroups in tf32, fp8 and integers of 8 bits, in which k is 32 bytes long: operands from shared memory, and A from
// registers.

#include <cuda_fp8.h>
#include <type_traits>
#include "../hopper.h"
#include "../wgmma.h"
#include "right.h"

#define M 64
#define ROW 128  // bytes of k, a row of the swizzled tiles

template <typename SUM, int R> struct sums {
    SUM d[R];

    __device__ sums()
    {
        for (int i = 0; i < R; i++)
            d[i] = 1;
    }
};

#define OF_TYPE(NAME, TYPES, SUM, CONSTRAINT, TAIL, N, R) \
    struct NAME : sums<SUM, R> { \
        static constexpr int COLUMNS = N; \
        typedef SUM sum; \
        __device__ void multiply(uint64_t a, uint64_t b, bool more) \
        { \
            WGMMA_SS("m64n" #N TYPES, R, CONSTRAINT, TAIL, d, a, b, more); \
        } \
        __device__ void multiply(const unsigned *a, uint64_t b) \
        { \
            WGMMA_RS("m64n" #N TYPES, R, CONSTRAINT, TAIL, d, a, b, 1); \
        } \
    }

OF_TYPE(tf32, "k8.f32.tf32.tf32", float, "+f", ", 1, 1", 64, 32);
OF_TYPE(minus_tf32, "k8.f32.tf32.tf32", float, "+f", ", 1, -1", 8, 4);
OF_TYPE(e4m3, "k32.f32.e4m3.e4m3", float, "+f", ", 1, 1", 96, 48);
OF_TYPE(e4m3_by_e5m2, "k32.f32.e4m3.e5m2", float, "+f", ", -1, 1", 24, 12);
OF_TYPE(e5m2, "k32.f32.e5m2.e5m2", float, "+f", ", 1, 1", 16, 8);
OF_TYPE(s8, "k32.s32.s8.s8", int, "+r", "", 64, 32);
OF_TYPE(u8_by_s8, "k32.s32.u8.s8", int, "+r", "", 8, 4);
OF_TYPE(u8, "k32.s32.u8.u8", int, "+r", "", 24, 12);

// Rows of 128 bytes, as memory has them, into a tile with the swizzle of 128 bytes.
static __device__ void fill(uint4 *to, const uint4 *from, int rows)
{
    for (int i = threadIdx.x; i < rows * 8; i += blockDim.x)
        to[i / 8 * 8 + (i % 8 ^ i / 8 % 8)] = from[i];
    FENCE_ASYNC_SHARED();
}

// 1 + A B, or A B where the first product of the chain leaves out what D holds.
template <typename TYPE> __global__ void __launch_bounds__(128)
    from_shared(const uint4 *A, const uint4 *B, typename TYPE::sum *D, int first)
{
    __shared__ alignas(1024) uint4 A_smem[M * 8], B_smem[TYPE::COLUMNS * 8];
    fill(A_smem, A, M);
    fill(B_smem, B, TYPE::COLUMNS);
    __syncthreads();
    TYPE p;
    stay(p.d);
    WGMMA_FENCE();
#pragma unroll
    for (int k = 0; k < ROW / 16; k += 2)
        p.multiply(descriptor_128(A_smem + k), descriptor_128(B_smem + k), k || first);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(p.d);
#pragma unroll
    for (int i = 0; i < TYPE::COLUMNS / 2; i++)
        D[row_of(i) * TYPE::COLUMNS + column_of(i)] = p.d[i];
}

// Of any type a register holds 4 bytes of a row: the lane's own row and the one 8 below, its 4 bytes of k and those 16 further on.
template <typename TYPE> __global__ void __launch_bounds__(128)
    from_registers(const uint4 *A, const uint4 *B, typename TYPE::sum *D)
{
    __shared__ alignas(1024) uint4 B_smem[TYPE::COLUMNS * 8];
    const unsigned *words = (const unsigned *)A;
    unsigned a[4][4];
    fill(B_smem, B, TYPE::COLUMNS);
    __syncthreads();
    TYPE p;
#pragma unroll
    for (int i = 0; i < 16; i++)
        a[i / 4][i % 4] = words[(threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i % 2 * 8) * (ROW / 4) + i / 4 * 8 +
                                i / 2 % 2 * 4 + threadIdx.x % 4];
    WGMMA_FENCE();
#pragma unroll
    for (int k = 0; k < 4; k++)
        p.multiply(a[k], descriptor_128(B_smem + 2 * k));
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(p.d);
#pragma unroll
    for (int i = 0; i < TYPE::COLUMNS / 2; i++)
        D[row_of(i) * TYPE::COLUMNS + column_of(i)] = p.d[i];
}

// Rows of 128 bytes of small whole numbers that T has; and each as a number.
template <typename T> static T *matrix(int rows, unsigned seed, double *as_numbers)
{
    int count = rows * ROW / (int)sizeof(T);
    float *x = numbers(count, seed);
    T *made = (T *)malloc(rows * ROW);
    for (int i = 0; i < count; i++) {
        float small = (float)((int)x[i] / 2 + (std::is_unsigned<T>::value ? 3 : 0));
        made[i] = (T)small;
        as_numbers[i] = (float)made[i];
    }
    free(x);
    return made;
}

template <typename TYPE, typename T_A, typename T_B> static void try_type(int sign, bool registers)
{
    constexpr int N = TYPE::COLUMNS, K = ROW / sizeof(T_A);
    static double a[M * K], b[N * K];
    const T_A *A = to_device(matrix<T_A>(M, 5, a), M * K);
    const T_B *B = to_device(matrix<T_B>(N, 6, b), N * K);
    typename TYPE::sum *D = to_device<typename TYPE::sum>(NULL, M * N);
    for (int way = 0; way < (registers ? 3 : 2); way++) {
        CHECK(cudaMemset(D, 0xff, M * N * 4));
        if (way == 2)
            from_registers<TYPE><<<1, 128>>>((const uint4 *)A, (const uint4 *)B, D);
        else
            from_shared<TYPE><<<1, 128>>>((const uint4 *)A, (const uint4 *)B, D, way);
        typename TYPE::sum *got = to_host(D, M * N);
        for (int i = 0; i < M * N; i++) {
            double want = way > 0;
            for (int k = 0; k < K; k++)
                want += sign * a[i / N * K + k] * b[i % N * K + k];
            SAME(got[i], want);
        }
    }
}

int main(void)
{
    try_type<tf32, float, float>(1, true);
    try_type<minus_tf32, float, float>(-1, false);
    try_type<e4m3, __nv_fp8_e4m3, __nv_fp8_e4m3>(1, true);
    try_type<e4m3_by_e5m2, __nv_fp8_e4m3, __nv_fp8_e5m2>(-1, true);
    try_type<e5m2, __nv_fp8_e5m2, __nv_fp8_e5m2>(1, false);
    try_type<s8, signed char, signed char>(1, true);
    try_type<u8_by_s8, unsigned char, signed char>(1, true);
    try_type<u8, unsigned char, unsigned char>(1, false);
    return 0;
}

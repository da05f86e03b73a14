// Products of warpgroups whose operands threads have laid out in shared memory: with every swizzle and without, k or lines
// contiguous, A from shared memory and from registers, every sign, sums in f32 and f16, from the narrowest D to the widest.

#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include "../hopper.h"
#include "../wgmma.h"
#include "right.h"

#define M 64
#define K 64

// A matrix of 16-bit elements in shared memory: `lines` rows of A or columns of B. A slab is as wide as the swizzle, of k or of
// lines, and slab follows slab; without a swizzle the slabs are core matrices, one behind the other along the contiguous
// direction (or the other way round).
template <int LINES, enum swizzle SWIZZLE, bool LINES_ARE_CONTIGUOUS> struct operand {
    static constexpr int WIDTH = SWIZZLE == SWIZZLE_128  ? 128
                                 : SWIZZLE == SWIZZLE_64 ? 64
                                 : SWIZZLE == SWIZZLE_32 ? 32
                                                         : 16;  // bytes
    static constexpr int LONG = LINES_ARE_CONTIGUOUS ? LINES : K, SHORT = LINES_ARE_CONTIGUOUS ? K : LINES;
    static constexpr int SLAB = SHORT * WIDTH, SLABS = (LONG * 2 + WIDTH - 1) / WIDTH, BYTES = SLABS * SLAB;

    static __device__ int offset(int line, int k)
    {
        int along = LINES_ARE_CONTIGUOUS ? line : k, across = LINES_ARE_CONTIGUOUS ? k : line;
        int at = along * 2 / WIDTH * SLAB + across * WIDTH + along * 2 % WIDTH;
        return at ^ (at >> 7 & (WIDTH / 16 - 1)) << 4;
    }
    static __device__ uint64_t describe(const unsigned char *memory, int k)
    {
        if (LINES_ARE_CONTIGUOUS && SWIZZLE == PLAIN)
            return descriptor(memory + k * WIDTH, 8 * WIDTH, SLAB, SWIZZLE);
        if (LINES_ARE_CONTIGUOUS)
            return descriptor(memory + k * WIDTH, SLAB, 8 * WIDTH, SWIZZLE);
        return descriptor(memory + k * 2 / WIDTH * SLAB + k * 2 % WIDTH, SWIZZLE == PLAIN ? SLAB : 16, 8 * WIDTH,
                          SWIZZLE);
    }
};

template <int N> struct product;

#define PRODUCT_OF(N, R) \
    template <> struct product<N> { \
        float d[R]; \
        template <bool A_LINES, bool B_LINES> __device__ void multiply(uint64_t a, uint64_t b, bool more) \
        { \
            if constexpr (!A_LINES && !B_LINES) \
                WGMMA_SS("m64n" #N "k16.f32.f16.f16", R, "+f", ", 1, 1, 0, 0", d, a, b, more); \
            else if constexpr (!A_LINES) \
                WGMMA_SS("m64n" #N "k16.f32.f16.f16", R, "+f", ", 1, 1, 0, 1", d, a, b, more); \
            else if constexpr (!B_LINES) \
                WGMMA_SS("m64n" #N "k16.f32.f16.f16", R, "+f", ", 1, 1, 1, 0", d, a, b, more); \
            else \
                WGMMA_SS("m64n" #N "k16.f32.f16.f16", R, "+f", ", 1, 1, 1, 1", d, a, b, more); \
        } \
    }

PRODUCT_OF(8, 4);
PRODUCT_OF(24, 12);
PRODUCT_OF(64, 32);
PRODUCT_OF(136, 68);
PRODUCT_OF(256, 128);

template <typename LAYOUT, typename T> static __device__ void fill(unsigned char *to, const T *from,
                                                                   int lines)  // [lines, K]
{
    for (int i = threadIdx.x; i < lines * K; i += blockDim.x)
        *(T *)(to + LAYOUT::offset(i / K, i % K)) = from[i];
    FENCE_ASYNC_SHARED();
}

// D [M, N] = A [M, K] B [K, N], where memory has B by its columns.
template <int N, enum swizzle SWIZZLE, bool A_LINES, bool B_LINES>
__global__ void __launch_bounds__(128) laid_out(const half *A, const half *B, float *D)
{
    using layout_A = operand<M, SWIZZLE, A_LINES>;
    using layout_B = operand<N, SWIZZLE, B_LINES>;
    __shared__ alignas(1024) unsigned char A_smem[layout_A::BYTES];
    __shared__ alignas(1024) unsigned char B_smem[layout_B::BYTES];
    fill<layout_A>(A_smem, A, M);
    fill<layout_B>(B_smem, B, N);
    __syncthreads();
    product<N> p;
    WGMMA_FENCE();
#pragma unroll
    for (int k = 0; k < K; k += 16)
        p.template multiply<A_LINES, B_LINES>(layout_A::describe(A_smem, k), layout_B::describe(B_smem, k), k > 0);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(p.d);
#pragma unroll
    for (int i = 0; i < N / 2; i++)
        D[row_of(i) * N + column_of(i)] = p.d[i];
}

using K_A = operand<M, SWIZZLE_128, false>;
using K_B = operand<64, SWIZZLE_128, false>;

// D = -A B + A' B', where A' is -A and B' is -B: each sign is an immediate operand.
__global__ void __launch_bounds__(128) negated(const half *A, const half *B, float *D)
{
    __shared__ alignas(1024) unsigned char A_smem[K_A::BYTES], B_smem[K_B::BYTES];
    fill<K_A>(A_smem, A, M);
    fill<K_B>(B_smem, B, 64);
    __syncthreads();
    float d[32] = {};
    WGMMA_FENCE();
    uint64_t a = K_A::describe(A_smem, 0), b = K_B::describe(B_smem, 0);
    WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", ", -1, 1, 0, 0", d, a, b, 0);
    WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, -1, 0, 0", d, a, b, 1);
    WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", ", -1, -1, 0, 0", d, a, b, 1);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(d);
#pragma unroll
    for (int i = 0; i < 32; i++)
        D[row_of(i) * 64 + column_of(i)] = d[i];
}

// Sums in f16, two to a register; they begin as what D holds already.
__global__ void __launch_bounds__(128) sums_in_f16(const half *A, const half *B, half *D)
{
    __shared__ alignas(1024) unsigned char A_smem[K_A::BYTES], B_smem[K_B::BYTES];
    fill<K_A>(A_smem, A, M);
    fill<K_B>(B_smem, B, 64);
    __syncthreads();
    unsigned d[16];
    for (int i = 0; i < 16; i++)
        d[i] = *(unsigned *)&D[row_of(2 * i) * 64 + column_of(2 * i)];
    WGMMA_FENCE();
    WGMMA_SS("m64n64k16.f16.f16.f16", 16, "+r", ", 1, 1, 0, 0", d, K_A::describe(A_smem, 0), K_B::describe(B_smem, 0),
             1);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(d);
    for (int i = 0; i < 16; i++)
        *(unsigned *)&D[row_of(2 * i) * 64 + column_of(2 * i)] = d[i];
}

// A in registers: element e of register r is that of mma.sync's fragments, for each warp its 16 rows.
__global__ void __launch_bounds__(128) a_in_registers(const __nv_bfloat16 *A, const __nv_bfloat16 *B, float *D)
{
    using layout_B = operand<64, SWIZZLE_128, true>;
    __shared__ alignas(1024) unsigned char B_smem[layout_B::BYTES];
    unsigned a[K / 16][4];
    float d[32];
    fill<layout_B>(B_smem, B, 64);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < K / 4; i++) {
        int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i % 2 * 8;
        int k = i / 4 * 16 + i / 2 % 2 * 8 + threadIdx.x % 4 * 2;
        a[i / 4][i % 4] = *(const unsigned *)&A[row * K + k];
    }
    for (int i = 0; i < 32; i++)
        d[i] = 1;
    WGMMA_FENCE();
#pragma unroll
    for (int k = 0; k < K / 16; k++)
        WGMMA_RS("m64n64k16.f32.bf16.bf16", 32, "+f", ", 1, 1, 1", d, a[k], layout_B::describe(B_smem, k * 16), 1);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(d);
#pragma unroll
    for (int i = 0; i < 32; i++)
        D[row_of(i) * 64 + column_of(i)] = d[i];
}

// Two warpgroups, each with 64 rows of its own of A and the same B.
__global__ void __launch_bounds__(256) two_warpgroups(const half *A, const half *B, float *D)
{
    __shared__ alignas(1024) unsigned char A_smem[2][K_A::BYTES], B_smem[K_B::BYTES];
    for (int half_of_A = 0; half_of_A < 2; half_of_A++)
        fill<K_A>(A_smem[half_of_A], A + half_of_A * M * K, M);
    fill<K_B>(B_smem, B, 64);
    __syncthreads();
    int group = threadIdx.x / 128;
    float d[32];
    WGMMA_FENCE();
#pragma unroll
    for (int k = 0; k < K; k += 16)
        WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 0, 0", d, K_A::describe(A_smem[group], k),
                 K_B::describe(B_smem, k), k);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(d);
#pragma unroll
    for (int i = 0; i < 32; i++)
        D[(group * M + row_of(i)) * 64 + column_of(i)] = d[i];
}

static float dot(const float *a, const float *b, int count)
{
    float sum = 0;
    for (int k = 0; k < count; k++)
        sum += a[k] * b[k];
    return sum;
}

static const float *a, *b;  // [2 * M, K] and [256, K], on the host
static const half *A, *B;

template <int N, enum swizzle SWIZZLE, bool A_LINES, bool B_LINES> static void try_layout(void)
{
    float *D = to_device<float>(NULL, M * N);
    laid_out<N, SWIZZLE, A_LINES, B_LINES><<<1, 128>>>(A, B, D);
    float *got = to_host(D, M * N);
    for (int i = 0; i < M * N; i++)
        SAME(got[i], dot(a + i / N * K, b + i % N * K, K));
    free(got);
    CHECK(cudaFree(D));
}

template <int N, enum swizzle SWIZZLE> static void both_majors(void)
{
    try_layout<N, SWIZZLE, false, false>();
    try_layout<N, SWIZZLE, true, true>();
}

template <typename T> static const T *converted(const float *x, int count)
{
    T *y = (T *)malloc(count * sizeof(T));
    for (int i = 0; i < count; i++)
        y[i] = (T)x[i];
    return to_device(y, count);
}

int main(void)
{
    a = numbers(2 * M * K, 1), b = numbers(256 * K, 2);
    A = converted<half>(a, 2 * M * K), B = converted<half>(b, 256 * K);
    both_majors<64, PLAIN>();
    both_majors<64, SWIZZLE_32>();
    both_majors<64, SWIZZLE_64>();
    both_majors<64, SWIZZLE_128>();
    both_majors<8, PLAIN>();
    both_majors<8, SWIZZLE_128>();
    both_majors<24, SWIZZLE_64>();
    both_majors<24, PLAIN>();
    try_layout<136, SWIZZLE_128, false, true>();
    try_layout<136, SWIZZLE_32, true, false>();
    try_layout<256, SWIZZLE_128, false, false>();
    try_layout<256, SWIZZLE_64, true, true>();

    float *D = to_device<float>(NULL, 2 * M * 64);
    negated<<<1, 128>>>(A, B, D);
    float *got = to_host(D, M * 64);
    for (int i = 0; i < M * 64; i++)
        SAME(got[i], -dot(a + i / 64 * K, b + i % 64 * K, 16));
    a_in_registers<<<1, 128>>>(converted<__nv_bfloat16>(a, M * K), converted<__nv_bfloat16>(b, 64 * K), D);
    got = to_host(D, M * 64);
    for (int i = 0; i < M * 64; i++)
        SAME(got[i], 1 + dot(a + i / 64 * K, b + i % 64 * K, K));
    two_warpgroups<<<1, 256>>>(A, B, D);
    got = to_host(D, 2 * M * 64);
    for (int i = 0; i < 2 * M * 64; i++)
        SAME(got[i], dot(a + i / 64 * K, b + i % 64 * K, K));

    half *H = to_device<half>(NULL, M * 64);
    CHECK(cudaMemcpy(H, A, M * 64 * sizeof *H, cudaMemcpyDeviceToDevice));
    sums_in_f16<<<1, 128>>>(A, B, H);
    half *h = to_host(H, M * 64);
    for (int i = 0; i < M * 64; i++)
        SAME(__half2float(h[i]), a[i] + dot(a + i / 64 * K, b + i % 64 * K, 16));
    return 0;
}

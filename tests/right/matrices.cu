// ldmatrix, stmatrix and mma.sync as kernels use them: operands from shared memory with and without .trans, a swizzle, sums
// that are inputs of the next product, a tile that is overwritten as soon as its warp has read it.

#include <cuda_fp16.h>

#include "right.h"

enum { M = 16, N = 8, K = 16 };

__device__ unsigned address_of(const void *shared) { return (unsigned)__cvta_generic_to_shared(shared); }

#define MULTIPLY(d, a, b) \
    asm volatile( \
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

// D = (A B) B', where B' is B above its own transposed: the sums of the first product are the A of the second.
__global__ void twice(const half *A,  // [M, K]
                      const half *B,  // [K, N], by rows
                      float *D)       // [M, N]
{
    __shared__ half A_smem[M * K], B_smem[K * N];
    int lane = threadIdx.x;
    for (int i = lane; i < M * K; i += 32)
        A_smem[i / K * K + ((i % K / 8) ^ (i / K / 4 % 2)) * 8 + i % 8] = A[i];  // chunks of 8 swizzled by the row
    for (int i = lane; i < K * N; i += 32)
        B_smem[i] = B[i];
    __syncwarp();
    unsigned a[4], b[2];
    int row = lane % 16;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(address_of(&A_smem[row * K + ((lane / 16) ^ (row / 4 % 2)) * 8])));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                 : "=r"(b[0]), "=r"(b[1])
                 : "r"(address_of(&B_smem[lane % 16 * N])));
    for (int i = lane; i < M * K; i += 32)
        A_smem[i] = __float2half(0.0f);  // nothing stands between: the warp has read it as one
    float sums[4] = {}, d[4] = {};
    MULTIPLY(sums, a, b);
    // S [M, 8] as the left half of A [M, K]; its right half is S again.
    half2 upper = __floats2half2_rn(sums[0], sums[1]), lower = __floats2half2_rn(sums[2], sums[3]);
    memcpy(&a[0], &upper, 4);
    memcpy(&a[1], &lower, 4);
    a[2] = a[0];
    a[3] = a[1];
    MULTIPLY(d, a, b);
    for (int i = 0; i < 4; i++)
        D[(lane / 4 + i / 2 * 8) * N + lane % 4 * 2 + i % 2] = d[i];
}

static void check_twice(void)
{
    half A[M * K], B[K * N];
    float S[M][N], D[M * N];
    for (int i = 0; i < M * K; i++)
        A[i] = __float2half((float)(i * 7 % 5 - 2));
    for (int i = 0; i < K * N; i++)
        B[i] = __float2half((float)(i * 3 % 7 - 3));
    float *out = to_device<float>(NULL, M * N);
    twice<<<1, 32>>>(to_device(A, M * K), to_device(B, K * N), out);
    finish();
    CHECK(cudaMemcpy(D, out, sizeof D, cudaMemcpyDeviceToHost));
    for (int row = 0; row < M; row++)
        for (int col = 0; col < N; col++) {
            S[row][col] = 0;
            for (int i = 0; i < K; i++)
                S[row][col] += (float)A[row * K + i] * (float)B[i * N + col];
        }
    for (int row = 0; row < M; row++)
        for (int col = 0; col < N; col++) {
            float want = 0;
            for (int i = 0; i < K; i++)
                want += S[row][i % N] * (float)B[i * N + col];
            SAME(D[row * N + col], want);
        }
}

// stmatrix takes what ldmatrix gave, and .trans turns it over; rows that nobody has written are carried, and of .x1 only
// the first 8 lanes have an address.
__global__ void turned_over(unsigned short *out)  // [8, 8]
{
    __shared__ unsigned short tile[32][8];
    int lane = threadIdx.x;
    if (lane < 8)
        for (int i = 0; i < 8; i++)
            tile[lane][i] = (unsigned short)(lane * 8 + i);
    __syncwarp();
    unsigned r[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address_of(tile[lane])));
    unsigned to = lane < 8 ? address_of(tile[8 + lane]) : ~0u;
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(to), "r"(r[0]));
    __syncwarp();
    for (int i = lane; i < 64; i += 32)
        out[i] = tile[8 + i / 8][i % 8];
}

static void check_turned_over(void)
{
    unsigned short *out = to_device<unsigned short>(NULL, 64), host[64];
    turned_over<<<1, 32>>>(out);
    finish();
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        SAME(host[i], i % 8 * 8 + i / 8);
}

// 8-bit integers, each lane's registers filled from memory by the PTX ISA's figures.
__global__ void bytes(const signed char *A,    // [16, 32]
                      const unsigned char *B,  // [32, 8], by columns
                      int *D)                  // [16, 8]
{
    int group = threadIdx.x / 4, number = threadIdx.x % 4, d[4] = {};
    const unsigned *rows = (const unsigned *)A, *columns = (const unsigned *)B;
    unsigned a[4], b[2];
    for (int i = 0; i < 4; i++)
        a[i] = rows[(group + i % 2 * 8) * 8 + i / 2 * 4 + number];
    for (int i = 0; i < 2; i++)
        b[i] = columns[group * 8 + i * 4 + number];
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    for (int i = 0; i < 4; i++)
        D[(group + i / 2 * 8) * 8 + number * 2 + i % 2] = d[i];
}

static void check_bytes(void)
{
    signed char A[16 * 32];
    unsigned char B[32 * 8];
    int D[16 * 8], *out = to_device<int>(NULL, 16 * 8);
    for (int i = 0; i < 16 * 32; i++)
        A[i] = (signed char)(i * 37 % 256);
    for (int i = 0; i < 32 * 8; i++)
        B[i] = (unsigned char)(i * 91 % 256);
    bytes<<<1, 32>>>(to_device(A, 16 * 32), to_device(B, 32 * 8), out);
    finish();
    CHECK(cudaMemcpy(D, out, sizeof D, cudaMemcpyDeviceToHost));
    for (int row = 0; row < 16; row++)
        for (int col = 0; col < 8; col++) {
            int want = 0;
            for (int i = 0; i < 32; i++)
                want += A[row * 32 + i] * B[col * 32 + i];
            SAME(D[row * 8 + col], want);
        }
}

int main(void)
{
    check_twice();
    check_turned_over();
    check_bytes();
    return 0;
}

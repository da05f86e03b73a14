// Attention of a block of 64 or 128 queries: S = Q K^T, a softmax in registers, P as the A of the next product without a detour through shared
// memory, O += P V with V as memory has it, and O scaled between the products: step by step, and with QK of the next keys beside
// PV of these.

#include <cuda_fp16.h>
#include "../hopper.h"
#include "../wgmma.h"
#include "right.h"

#define MAP const __grid_constant__ CUtensorMap
#define D 64   // of a head
#define BC 64  // keys a tile

static __device__ __forceinline__ unsigned packed(float x, float y)
{
    half2 pair = __floats2half2_rn(x, y);
    return *(unsigned *)&pair;
}

struct softmax {
    float max[2], sum[2];  // of the two rows that a thread has parts of

    __device__ __forceinline__ softmax()
    {
        max[0] = max[1] = -INFINITY;
        sum[0] = sum[1] = 0;
    }

    // S to exp(S - max), and by what O has to be scaled.
    __device__ __forceinline__ void take(float (&S)[32], float (&scale)[2])
    {
#pragma unroll
        for (int row = 0; row < 2; row++) {
            float highest = max[row];
#pragma unroll
            for (int i = 0; i < 32; i++)
                if (i / 2 % 2 == row)
                    highest = fmaxf(highest, S[i]);
            highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, 1));
            highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, 2));
            scale[row] = __expf(max[row] - highest);
            max[row] = highest;
            sum[row] *= scale[row];
        }
#pragma unroll
        for (int i = 0; i < 32; i++) {
            S[i] = __expf(S[i] - max[i / 2 % 2]);
            sum[i / 2 % 2] += S[i];
        }
    }
    __device__ __forceinline__ float whole(int row) const
    {
        float x = sum[row] + __shfl_xor_sync(~0u, sum[row], 1);
        return x + __shfl_xor_sync(~0u, x, 2);
    }
};

static __device__ __forceinline__ void rescale(float (&O)[32], const float (&scale)[2])
{
#pragma unroll
    for (int i = 0; i < 32; i++)
        O[i] *= scale[i / 2 % 2];
}

static __device__ __forceinline__ void pack(unsigned (&P)[4][4], const float (&S)[32])  // sums as fragments of A
{
#pragma unroll
    for (int i = 0; i < 16; i++)
        P[i / 4][i % 4] = packed(S[2 * i], S[2 * i + 1]);
}

static __device__ __forceinline__ void query_key(float (&S)[32], const half *Q, const half *K)
{
#pragma unroll
    for (int d = 0; d < D; d += 16)
        WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 0, 0", S, descriptor_128(Q + d), descriptor_128(K + d),
                 d > 0);
}

static __device__ __forceinline__ void value(float (&O)[32], const unsigned (&P)[4][4], const half *V)
{
#pragma unroll
    for (int k = 0; k < BC / 16; k++)
        WGMMA_RS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 1", O, P[k],
                 descriptor(V + k * 16 * D, 16, 1024, SWIZZLE_128), 1);
}

static __device__ __forceinline__ void write(float *out, const float (&O)[32], const softmax &s)
{
    float whole[2] = {s.whole(0), s.whole(1)};
#pragma unroll
    for (int i = 0; i < 32; i++)
        out[(blockIdx.x * (blockDim.x / 128) + threadIdx.x / 128 % 2) * 64 * D + row_of(i) * D +
            column_of(i)] = O[i] / whole[i / 2 % 2];
}

// Everything is waited for at once.
__global__ void __launch_bounds__(128) step_by_step(MAP Q_map, MAP K_map, MAP V_map, float *out, int keys)
{
    __shared__ alignas(1024) half Q[64 * D], K[BC * D], V[BC * D];
    __shared__ uint64_t full[3];
    SET_UP(full, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&full[0], (unsigned)sizeof Q);
        TMA_LOAD_2D(Q, &Q_map, 0, (int)(blockIdx.x * 64), &full[0]);
    }
    MBARRIER_WAIT(&full[0], 0);
    softmax soft;
    float O[32] = {};
    for (int j = 0; j < keys / BC; j++) {
        float S[32], scale[2];
        unsigned P[4][4];
        if (threadIdx.x == 0) {
            MBARRIER_ARRIVE_EXPECT(&full[1], (unsigned)sizeof K);
            TMA_LOAD_2D(K, &K_map, 0, j * BC, &full[1]);
            MBARRIER_ARRIVE_EXPECT(&full[2], (unsigned)sizeof V);
            TMA_LOAD_2D(V, &V_map, 0, j * BC, &full[2]);
        }
        MBARRIER_WAIT(&full[1], j % 2);
        stay(S);
        WGMMA_FENCE();
        query_key(S, Q, K);
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        stay(S);
        soft.take(S, scale);
        rescale(O, scale);
        pack(P, S);
        MBARRIER_WAIT(&full[2], j % 2);
        stay(O);
        for (int i = 0; i < 4; i++)
            stay(P[i]);
        WGMMA_FENCE();
        value(O, P, V);
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        stay(O);
        __syncthreads();
    }
    write(out, O, soft);
}

// A producer warp, two warpgroups, two stages of K and of V: while PV of these keys runs, QK of the next is waited for and its
// softmax is made. P is packed behind the wait for the PV that reads it.
__global__ void __launch_bounds__(288) overlapped(MAP Q_map, MAP K_map, MAP V_map, float *out, int keys)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    half(*Q)[64 * D] = (half(*)[64 * D]) memory, (*K)[BC * D] = Q + 2, (*V)[BC * D] = K + 2;
    __shared__ uint64_t Q_full, K_full[2], K_empty[2], V_full[2], V_empty[2];
    SET_UP(Q_full, 1);
    SET_UP(K_full, 1);
    SET_UP(V_full, 1);
    SET_UP(K_empty, 2);
    SET_UP(V_empty, 2);
    int tiles = keys / BC, group = threadIdx.x / 128;
    if (group == 2) {
        if (threadIdx.x == 256) {
            MBARRIER_ARRIVE_EXPECT(&Q_full, (unsigned)sizeof *Q * 2);
            for (int i = 0; i < 2; i++)
                TMA_LOAD_2D(Q[i], &Q_map, 0, (int)(blockIdx.x * 128 + i * 64), &Q_full);
            for (int j = 0; j < tiles; j++) {
                MBARRIER_WAIT(&K_empty[j % 2], (j / 2 + 1) % 2);
                MBARRIER_ARRIVE_EXPECT(&K_full[j % 2], (unsigned)sizeof *K);
                TMA_LOAD_2D(K[j % 2], &K_map, 0, j * BC, &K_full[j % 2]);
                MBARRIER_WAIT(&V_empty[j % 2], (j / 2 + 1) % 2);
                MBARRIER_ARRIVE_EXPECT(&V_full[j % 2], (unsigned)sizeof *V);
                TMA_LOAD_2D(V[j % 2], &V_map, 0, j * BC, &V_full[j % 2]);
            }
        }
        return;
    }
    bool elected = threadIdx.x % 128 == 0;
    softmax soft;
    float O[32] = {}, S[32], scale[2];
    unsigned P[4][4];
    MBARRIER_WAIT(&Q_full, 0);
    MBARRIER_WAIT(&K_full[0], 0);
    stay(S);
    WGMMA_FENCE();
    query_key(S, Q[group], K[0]);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(S);
    if (elected)
        MBARRIER_ARRIVE(&K_empty[0]);
    soft.take(S, scale);
    pack(P, S);
    for (int j = 1; j < tiles; j++) {
        MBARRIER_WAIT(&K_full[j % 2], j / 2 % 2);
        MBARRIER_WAIT(&V_full[(j - 1) % 2], (j - 1) / 2 % 2);
        stay(S);
        stay(O);
        for (int i = 0; i < 4; i++)
            stay(P[i]);
        WGMMA_FENCE();
        query_key(S, Q[group], K[j % 2]);
        WGMMA_COMMIT();
        value(O, P, V[(j - 1) % 2]);
        WGMMA_COMMIT();
        WGMMA_WAIT(1);
        stay(S);
        if (elected)
            MBARRIER_ARRIVE(&K_empty[j % 2]);
        soft.take(S, scale);
        WGMMA_WAIT(0);
        stay(O);
        for (int i = 0; i < 4; i++)
            stay(P[i]);
        if (elected)
            MBARRIER_ARRIVE(&V_empty[(j - 1) % 2]);
        rescale(O, scale);
        pack(P, S);
    }
    MBARRIER_WAIT(&V_full[(tiles - 1) % 2], (tiles - 1) / 2 % 2);
    stay(O);
    for (int i = 0; i < 4; i++)
        stay(P[i]);
    WGMMA_FENCE();
    value(O, P, V[(tiles - 1) % 2]);
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    stay(O);
    write(out, O, soft);
}

static void check(const float *out, const float *q, const float *k, const float *v, int queries, int keys)
{
    float *got = to_host(out, queries * D), *p = (float *)malloc(keys * sizeof *p);
    for (int i = 0; i < queries; i++) {
        float max = -INFINITY, sum = 0;
        for (int j = 0; j < keys; j++) {
            p[j] = 0;
            for (int d = 0; d < D; d++)
                p[j] += q[i * D + d] * k[j * D + d];
            max = fmaxf(max, p[j]);
        }
        for (int j = 0; j < keys; j++)
            sum += p[j] = expf(p[j] - max);
        for (int d = 0; d < D; d++) {
            float want = 0;
            for (int j = 0; j < keys; j++)
                want += p[j] / sum * v[j * D + d];
            if (!(fabsf(got[i * D + d] - want) < 4e-3f)) {
                printf("query %d, %d: %g, not %g\n", i, d, got[i * D + d], want);
                exit(1);
            }
        }
    }
    free(got);
    free(p);
}

static const half *in_halves(float *x, int count, float scale)
{
    half *y = (half *)malloc(count * sizeof *y);
    for (int i = 0; i < count; i++) {
        y[i] = __float2half(x[i] * scale);
        x[i] = __half2float(y[i]);
    }
    return to_device(y, count);
}

static CUtensorMap map_of(const half *memory, int rows)
{
    return tensor_map(
        memory, {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, 2, {D, (unsigned)rows}, {}, {D, 64}, CU_TENSOR_MAP_SWIZZLE_128B});
}

int main(void)
{
    const int queries = 256;
    for (int keys : {64, 128, 320}) {
        float *q = numbers(queries * D, 1), *k = numbers(keys * D, 2), *v = numbers(keys * D, 3);
        CUtensorMap Q = map_of(in_halves(q, queries * D, 1 / 16.f), queries),
                    K = map_of(in_halves(k, keys * D, 1 / 16.f), keys),
                    V = map_of(in_halves(v, keys * D, 1 / 8.f), keys);
        float *out = to_device<float>(NULL, queries * D);
        CHECK(cudaMemset(out, 0xff, queries * D * sizeof *out));
        step_by_step<<<queries / 64, 128>>>(Q, K, V, out, keys);
        check(out, q, k, v, queries, keys);
        CHECK(cudaMemset(out, 0xff, queries * D * sizeof *out));
        CHECK(cudaFuncSetAttribute(overlapped, cudaFuncAttributeMaxDynamicSharedMemorySize, 6 * 64 * D * 2));
        overlapped<<<queries / 128, 288, 6 * 64 * D * sizeof(half)>>>(Q, K, V, out, keys);
        check(out, q, k, v, queries, keys);
    }
    return 0;
}

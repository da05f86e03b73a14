// Matmuls of one warpgroup a block, C = A B: tiles that come by tensor maps or by cp.async, k contiguous or not, in stages, at the
// edges of the matrices; results that leave by stmatrix and a tensor map.

#include <cuda_fp16.h>
#include "../hopper.h"
#include "../wgmma.h"
#include "right.h"

#define MAP const __grid_constant__ CUtensorMap
#define BM 64
#define BK 64

static __device__ __forceinline__ void write_sums(float *C, const float *d, int columns, int row, int column, int M,
                                                  int N)
{
#pragma unroll
    for (int i = 0; i < columns / 2; i++)
        if (row + row_of(i) < M && column + column_of(i) < N)
            C[(row + row_of(i)) * N + column + column_of(i)] = d[i];
}

// One tile of each, loaded, multiplied, waited for, and loaded again when the whole warpgroup is through.
__global__ void __launch_bounds__(128) one_stage(MAP A_map, MAP B_map, float *C, int M, int N, int K)
{
    __shared__ alignas(1024) half A[BM * BK], B[64 * BK];
    __shared__ uint64_t full;
    SET_UP(full, 1);
    int row = blockIdx.y * BM, column = blockIdx.x * 64;
    float d[32] = {};
    stay(d);
    for (int k = 0, tile = 0; k < K; k += BK, tile++) {
        if (threadIdx.x == 0) {
            MBARRIER_ARRIVE_EXPECT(&full, (unsigned)(sizeof A + sizeof B));
            TMA_LOAD_2D(A, &A_map, k, row, &full);
            TMA_LOAD_2D(B, &B_map, k, column, &full);
        }
        MBARRIER_WAIT(&full, tile % 2);
        WGMMA_FENCE();
#pragma unroll
        for (int i = 0; i < BK; i += 16)
            WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 0, 0", d, descriptor_128(A + i), descriptor_128(B + i),
                     1);
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        stay(d);
        __syncthreads();
    }
    write_sums(C, d, 64, row, column, M, N);
}

// B as memory has it, rows of n: a slab is 64 columns wide, and D has 128.
template <bool A_TRANSPOSED> __global__ void __launch_bounds__(128)
    rows_of_b(MAP A_map, MAP B_map, float *C, int M, int N, int K)
{
    __shared__ alignas(1024) half A[BM * BK], B[2][BK * 64];
    __shared__ uint64_t full;
    SET_UP(full, 1);
    int row = blockIdx.y * BM, column = blockIdx.x * 128;
    float d[64];
    for (int k = 0; k < K; k += BK) {
        if (threadIdx.x == 0) {
            MBARRIER_ARRIVE_EXPECT(&full, (unsigned)(sizeof A + sizeof B));
            if (A_TRANSPOSED)
                TMA_LOAD_2D(A, &A_map, row, k, &full);
            else
                TMA_LOAD_2D(A, &A_map, k, row, &full);
            TMA_LOAD_2D(B[0], &B_map, column, k, &full);
            TMA_LOAD_2D(B[1], &B_map, column + 64, k, &full);
        }
        MBARRIER_WAIT(&full, k / BK % 2);
        stay(d);
        WGMMA_FENCE();
#pragma unroll
        for (int i = 0; i < BK; i += 16) {
            uint64_t b = descriptor(&B[0][i * 64], sizeof B[0], 1024, SWIZZLE_128);
            if constexpr (A_TRANSPOSED)
                WGMMA_SS("m64n128k16.f32.f16.f16", 64, "+f", ", 1, 1, 1, 1", d,
                         descriptor(A + i * BM, sizeof A, 1024, SWIZZLE_128), b, k + i);
            else
                WGMMA_SS("m64n128k16.f32.f16.f16", 64, "+f", ", 1, 1, 0, 1", d, descriptor_128(A + i), b, k + i);
        }
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        stay(d);
        __syncthreads();
    }
    write_sums(C, d, 128, row, column, M, N);
}

// Rows of 64 or 32 bytes, swizzled as such: boxes of 32 or 16 of k.
template <enum swizzle SWIZZLE, int DEPTH> __global__ void __launch_bounds__(128)
    narrow(MAP A_map, MAP B_map, float *C, int M, int N, int K)
{
    __shared__ alignas(512) half A[BM * DEPTH], B[64 * DEPTH];
    __shared__ uint64_t full;
    SET_UP(full, 1);
    int row = blockIdx.y * BM, column = blockIdx.x * 64;
    float d[32] = {};
    stay(d);
    for (int k = 0; k < K; k += DEPTH) {
        if (threadIdx.x == 96) {
            MBARRIER_ARRIVE_EXPECT(&full, (unsigned)(sizeof A + sizeof B));
            TMA_LOAD_2D(A, &A_map, k, row, &full);
            TMA_LOAD_2D(B, &B_map, k, column, &full);
        }
        MBARRIER_WAIT(&full, k / DEPTH % 2);
        WGMMA_FENCE();
#pragma unroll
        for (int i = 0; i < DEPTH; i += 16)
            WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 0, 0", d, descriptor(A + i, 16, DEPTH * 16, SWIZZLE),
                     descriptor(B + i, 16, DEPTH * 16, SWIZZLE), 1);
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        stay(d);
        __syncthreads();
    }
    write_sums(C, d, 64, row, column, M, N);
}

// Stages: while the products of one tile are in flight, the stage of the tile before is filled again.
template <int STAGES> __global__ void __launch_bounds__(128)
    in_stages(MAP A_map, MAP B_map, float *C, int M, int N, int K)
{
    __shared__ alignas(1024) half A[STAGES][BM * BK], B[STAGES][64 * BK];
    __shared__ uint64_t full[STAGES];
    SET_UP(full, 1);
    int row = blockIdx.y * BM, column = blockIdx.x * 64, tiles = (K + BK - 1) / BK;
    auto load = [&](int tile) {
        if (threadIdx.x == 0 && tile < tiles) {
            MBARRIER_ARRIVE_EXPECT(&full[tile % STAGES], (unsigned)(sizeof A[0] + sizeof B[0]));
            TMA_LOAD_2D(A[tile % STAGES], &A_map, tile * BK, row, &full[tile % STAGES]);
            TMA_LOAD_2D(B[tile % STAGES], &B_map, tile * BK, column, &full[tile % STAGES]);
        }
    };
    for (int tile = 0; tile < STAGES - 1; tile++)
        load(tile);
    float d[32] = {};
    for (int tile = 0; tile < tiles; tile++) {
        int stage = tile % STAGES;
        MBARRIER_WAIT(&full[stage], tile / STAGES % 2);
        stay(d);
        WGMMA_FENCE();
#pragma unroll
        for (int i = 0; i < BK; i += 16)
            WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 0, 0", d, descriptor_128(A[stage] + i),
                     descriptor_128(B[stage] + i), 1);
        WGMMA_COMMIT();
        WGMMA_WAIT(1);
        stay(d);
        __syncthreads();
        load(tile + STAGES - 1);
    }
    WGMMA_WAIT(0);
    stay(d);
    write_sums(C, d, 64, row, column, M, N);
}

// Tiles by cp.async, 16 bytes a thread, into the places that the swizzle gives them; whole tiles only.
__global__ void __launch_bounds__(128)
    by_cp_async(const half *A_gmem, const half *B_gmem, float *C, int M, int N, int K)
{
    __shared__ alignas(1024) half A[2][BM * BK], B[2][64 * BK];
    int row = blockIdx.y * BM, column = blockIdx.x * 64;
    auto load = [&](int stage, int k) {
        for (int i = threadIdx.x; i < 64 * 8; i += 128) {
            int to = i / 8 * BK + (i % 8 ^ i / 8 % 8) * 8;
            CP_ASYNC(&A[stage][to], A_gmem + (row + i / 8) * K + k + i % 8 * 8);
            CP_ASYNC(&B[stage][to], B_gmem + (column + i / 8) * K + k + i % 8 * 8);
        }
    };
    load(0, 0);
    float d[32] = {};
    for (int k = 0; k < K; k += BK) {
        int stage = k / BK % 2;
        CP_ASYNC_WAIT();
        FENCE_ASYNC_SHARED();
        __syncthreads();
        stay(d);
        WGMMA_FENCE();
#pragma unroll
        for (int i = 0; i < BK; i += 16)
            WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 0, 0", d, descriptor_128(A[stage] + i),
                     descriptor_128(B[stage] + i), 1);
        WGMMA_COMMIT();
        if (k + BK < K)
            load(1 - stage, k + BK);
        WGMMA_WAIT(0);
        stay(d);
    }
    write_sums(C, d, 64, row, column, M, N);
}

// The result in fp16: by stmatrix into a swizzled tile, in place of A, and from there by the tensor map of C, by one thread or, as
// CUTLASS does it, by all of a warp alike.
template <int LANES> __global__ void __launch_bounds__(128) by_stmatrix(MAP A_map, MAP B_map, MAP C_map, int K)
{
    __shared__ alignas(1024) half A[BM * BK], B[64 * BK];
    __shared__ uint64_t full;
    SET_UP(full, 1);
    int row = blockIdx.y * BM, column = blockIdx.x * 64, lane = threadIdx.x % 32;
    float d[32];
    for (int k = 0; k < K; k += BK) {
        if (threadIdx.x == 0) {
            MBARRIER_ARRIVE_EXPECT(&full, (unsigned)(sizeof A + sizeof B));
            TMA_LOAD_2D(A, &A_map, k, row, &full);
            TMA_LOAD_2D(B, &B_map, k, column, &full);
        }
        MBARRIER_WAIT(&full, k / BK % 2);
        stay(d);
        WGMMA_FENCE();
#pragma unroll
        for (int i = 0; i < BK; i += 16)
            WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 0, 0", d, descriptor_128(A + i), descriptor_128(B + i),
                     k + i);
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        stay(d);
        __syncthreads();
    }
    int line = threadIdx.x / 32 * 16 + lane % 16;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        unsigned r[4];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            half2 pair = __floats2half2_rn(d[i * 8 + j * 2], d[i * 8 + j * 2 + 1]);
            r[j] = *(unsigned *)&pair;
        }
        STMATRIX_4(in_shared(A) + line * 128 + ((i * 2 + lane / 16) ^ line % 8) * 16, r[0], r[1], r[2], r[3]);
    }
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x < LANES) {
        TMA_STORE_2D(&C_map, column, row, A);
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

struct matrices {  // of A [M, K], its columns, B [K, N] and its columns
    int M, N, K;
    float *a, *b;
    half *A, *A_columns, *B, *B_columns;
    float *C;
};

static matrices some(int M, int N, int K)
{
    matrices m = {M, N, K, numbers(M * K, M), numbers(K * N, N)};
    half *x = (half *)malloc((M * K + K * N) * sizeof *x);
    for (int i = 0; i < M * K; i++)
        x[i] = __float2half(m.a[i]);
    m.A = to_device(x, M * K);
    for (int i = 0; i < M * K; i++)
        x[i] = __float2half(m.a[i % M * K + i / M]);
    m.A_columns = to_device(x, M * K);
    for (int i = 0; i < K * N; i++)
        x[i] = __float2half(m.b[i]);
    m.B = to_device(x, K * N);
    for (int i = 0; i < K * N; i++)
        x[i] = __float2half(m.b[i % K * N + i / K]);
    m.B_columns = to_device(x, K * N);
    free(x);
    m.C = to_device<float>(NULL, M * N);
    CHECK(cudaMemset(m.C, 0xff, M * N * sizeof *m.C));
    return m;
}

static float sum_of(const matrices &m, int i)
{
    float sum = 0;
    for (int k = 0; k < m.K; k++)
        sum += m.a[i / m.N * m.K + k] * m.b[k * m.N + i % m.N];
    return sum;
}

static void check(const matrices &m)
{
    float *got = to_host(m.C, m.M * m.N);
    for (int i = 0; i < m.M * m.N; i++)
        SAME(got[i], sum_of(m, i));
    free(got);
    CHECK(cudaMemset(m.C, 0xff, m.M * m.N * sizeof *m.C));
}

static CUtensorMap map_of(const half *memory, int width, int height, int box_width, int box_height,
                          CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B)
{
    struct tensor t = {CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                       2,
                       2,
                       {(unsigned)width, (unsigned)height},
                       {},
                       {(unsigned)box_width, (unsigned)box_height},
                       swizzle};
    return tensor_map(memory, t);
}

int main(void)
{
    for (int edge = 0; edge < 2; edge++) {
        matrices m = edge ? some(72, 104, 136) : some(128, 128, 192);
        dim3 grid((m.N + 63) / 64, (m.M + 63) / 64), wide((m.N + 127) / 128, (m.M + 63) / 64);
        CUtensorMap A = map_of(m.A, m.K, m.M, BK, BM), B = map_of(m.B_columns, m.K, m.N, BK, 64);
        one_stage<<<grid, 128>>>(A, B, m.C, m.M, m.N, m.K);
        check(m);
        in_stages<2><<<grid, 128>>>(A, B, m.C, m.M, m.N, m.K);
        check(m);
        CUtensorMap rows = map_of(m.B, m.N, m.K, 64, BK);
        rows_of_b<false><<<wide, 128>>>(A, rows, m.C, m.M, m.N, m.K);
        check(m);
        rows_of_b<true><<<wide, 128>>>(map_of(m.A_columns, m.M, m.K, BM, BK), rows, m.C, m.M, m.N, m.K);
        check(m);
        narrow<SWIZZLE_64, 32><<<grid, 128>>>(map_of(m.A, m.K, m.M, 32, BM, CU_TENSOR_MAP_SWIZZLE_64B),
                                              map_of(m.B_columns, m.K, m.N, 32, 64, CU_TENSOR_MAP_SWIZZLE_64B), m.C,
                                              m.M, m.N, m.K);
        check(m);
        narrow<SWIZZLE_32, 16><<<grid, 128>>>(map_of(m.A, m.K, m.M, 16, BM, CU_TENSOR_MAP_SWIZZLE_32B),
                                              map_of(m.B_columns, m.K, m.N, 16, 64, CU_TENSOR_MAP_SWIZZLE_32B), m.C,
                                              m.M, m.N, m.K);
        check(m);
        if (!edge) {
            by_cp_async<<<grid, 128>>>(m.A, m.B_columns, m.C, m.M, m.N, m.K);
            check(m);
        }
        half *C = to_device<half>(NULL, m.M * m.N);
        for (auto kernel : {by_stmatrix<1>, by_stmatrix<32>}) {
            CHECK(cudaMemset(C, 0xff, m.M * m.N * sizeof *C));
            kernel<<<grid, 128>>>(A, B, map_of(C, m.N, m.M, 64, 64), m.K);
            half *got = to_host(C, m.M * m.N);
            for (int i = 0; i < m.M * m.N; i++)
                SAME(__half2float(got[i]), __half2float(__float2half(sum_of(m, i))));
        }
    }
    return 0;
}

// Matmuls by warps with roles: a producer that fills a ring of stages by tensor maps, warpgroups that consume it, registers that go
// from the one to the others, stages that one thread of a warpgroup lets go of by what it has waited for, consumers that take turns.

#include <cuda_fp16.h>
#include "../hopper.h"
#include "../wgmma.h"
#include "right.h"

#define MAP const __grid_constant__ CUtensorMap
#define BK 64
#define BN 64

template <int STAGES, int BM> struct ring {
    alignas(1024) half A[STAGES][BM * BK], B[STAGES][BN * BK];
    uint64_t full[STAGES], empty[STAGES];

    __device__ void set_up(unsigned consumers)
    {
        if (threadIdx.x == 0) {
            for (int i = 0; i < STAGES; i++) {
                MBARRIER_INIT(&full[i], 1);
                MBARRIER_INIT(&empty[i], consumers);
            }
            FENCE_MBARRIER_INIT();
        }
        __syncthreads();
    }
    __device__ void fill(int stage, const CUtensorMap *A_map, const CUtensorMap *B_map, int k, int row, int column)
    {
        MBARRIER_ARRIVE_EXPECT(&full[stage], (unsigned)(sizeof A[0] + sizeof B[0]));
        TMA_LOAD_2D(A[stage], A_map, k, row, &full[stage]);
        TMA_LOAD_2D(B[stage], B_map, k, column, &full[stage]);
    }
};

struct state {
    int stage;
    unsigned phase;

    template <int STAGES> __device__ __forceinline__ void next(int steps = 1)
    {
        stage += steps;
        phase ^= stage / STAGES & 1;
        stage %= STAGES;
    }
};

static __device__ __forceinline__ void multiply(float (&d)[32], const half *A, const half *B, bool anew)
{
#pragma unroll
    for (int i = 0; i < BK; i += 16)
        WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 0, 0", d, descriptor_128(A + i), descriptor_128(B + i),
                 !(anew && i == 0));
}

static __device__ __forceinline__ void write_sums(float *C, const float (&d)[32], int row, int column, int N)
{
#pragma unroll
    for (int i = 0; i < 32; i++)
        C[(row + row_of(i)) * N + column + column_of(i)] = d[i];
}

// A producer warpgroup, of which one thread works, gives its registers to two consumers of 64 rows each. Behind its wait one
// thread of a warpgroup lets go of the stage for all.
template <int STAGES> __global__ void __launch_bounds__(384, 1)
    specialized(MAP A_map, MAP B_map, float *C, int M, int N, int K)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    auto *r = (ring<STAGES, 128> *)memory;
    r->set_up(2);
    int row = blockIdx.y * 128, column = blockIdx.x * BN, tiles = K / BK, group = threadIdx.x / 128;
    if (group == 0) {
        SETMAXNREG_DEC(40);
        if (threadIdx.x == 0) {
            state s = {0, 1};
            for (int tile = 0; tile < tiles; tile++, s.next<STAGES>()) {
                MBARRIER_WAIT(&r->empty[s.stage], s.phase);
                r->fill(s.stage, &A_map, &B_map, tile * BK, row, column);
            }
        }
    } else {
        SETMAXNREG_INC(232);
        float d[32];
        state s = {0, 0};
        for (int tile = 0; tile < tiles; tile++, s.next<STAGES>()) {
            MBARRIER_WAIT(&r->full[s.stage], s.phase);
            stay(d);
            WGMMA_FENCE();
            multiply(d, r->A[s.stage] + (group - 1) * 64 * BK, r->B[s.stage], tile == 0);
            WGMMA_COMMIT();
            WGMMA_WAIT(0);
            stay(d);
            if (threadIdx.x % 128 == 0)
                MBARRIER_ARRIVE(&r->empty[s.stage]);
        }
        write_sums(C, d, row + (group - 1) * 64, column, N);
    }
}

// The same with a stage that is let go of one step later, while the next products are in flight, and with an arrival of each warp.
// The producer is a single warp, behind the consumers.
template <int STAGES> __global__ void __launch_bounds__(288)
    one_in_flight(MAP A_map, MAP B_map, float *C, int M, int N, int K)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    auto *r = (ring<STAGES, 128> *)memory;
    r->set_up(8);
    int row = blockIdx.y * 128, column = blockIdx.x * BN, tiles = K / BK, warp = threadIdx.x / 32;
    if (warp == 8) {
        if (threadIdx.x % 32 == 0) {
            state s = {0, 1};
            for (int tile = 0; tile < tiles; tile++, s.next<STAGES>()) {
                MBARRIER_WAIT(&r->empty[s.stage], s.phase);
                r->fill(s.stage, &A_map, &B_map, tile * BK, row, column);
            }
        }
        return;
    }
    float d[32];
    state s = {0, 0}, before = s;
    const half *A_half = r->A[0] + warp / 4 * 64 * BK;
    MBARRIER_WAIT(&r->full[0], 0);
    stay(d);
    WGMMA_FENCE();
    multiply(d, A_half, r->B[0], true);
    WGMMA_COMMIT();
    s.next<STAGES>();
    for (int tile = 1; tile < tiles; tile++, s.next<STAGES>(), before.next<STAGES>()) {
        MBARRIER_WAIT(&r->full[s.stage], s.phase);
        stay(d);
        WGMMA_FENCE();
        multiply(d, A_half + s.stage * 128 * BK, r->B[s.stage], false);
        WGMMA_COMMIT();
        WGMMA_WAIT(1);
        stay(d);
        if (threadIdx.x % 32 == 0)
            MBARRIER_ARRIVE(&r->empty[before.stage]);
    }
    WGMMA_WAIT(0);
    stay(d);
    write_sums(C, d, row + warp / 4 * 64, column, N);
}

// A library's main loop: pipelines as objects, a first step without a sum, as many products in flight as PIPE says, a release of
// the stage that many steps back, and a tail that waits and lets go of the rest. Blocks go over many tiles.
template <int STAGES> struct pipeline {
    ring<STAGES, 128> *r;

    __device__ __forceinline__ void producer_acquire(state s) { MBARRIER_WAIT(&r->empty[s.stage], s.phase); }
    __device__ __forceinline__ unsigned consumer_try_wait(state s)
    {
        unsigned done;
        MBARRIER_TRY(done, &r->full[s.stage], s.phase);
        return done;
    }
    __device__ __forceinline__ void consumer_wait(state s, unsigned token)
    {
        if (!token)
            MBARRIER_WAIT(&r->full[s.stage], s.phase);
    }
    __device__ __forceinline__ void consumer_release(state s)
    {
        if (threadIdx.x % 128 == 37)
            MBARRIER_ARRIVE(&r->empty[s.stage]);
    }
};

template <int PIPE, int STAGES> static __device__ void main_loop(pipeline<STAGES> p, state read, float (&d)[32],
                                                                 int tiles, int part)
{
    state release = read;
    int first = PIPE < tiles ? PIPE : tiles;
    unsigned token = p.consumer_try_wait(read);
    for (int tile = 0; tile < first; tile++) {
        p.consumer_wait(read, token);
        stay(d);
        WGMMA_FENCE();
        multiply(d, p.r->A[read.stage] + part * 64 * BK, p.r->B[read.stage], tile == 0);
        WGMMA_COMMIT();
        read.next<STAGES>();
        token = tile + 1 < tiles ? p.consumer_try_wait(read) : 0;
    }
    stay(d);
    for (int left = tiles - first; left > 0; left--) {
        p.consumer_wait(read, token);
        stay(d);
        WGMMA_FENCE();
        multiply(d, p.r->A[read.stage] + part * 64 * BK, p.r->B[read.stage], left == tiles);
        WGMMA_COMMIT();
        WGMMA_WAIT(PIPE);
        stay(d);
        p.consumer_release(release);
        read.next<STAGES>();
        release.next<STAGES>();
        token = left > 1 ? p.consumer_try_wait(read) : 0;
    }
    WGMMA_WAIT(0);
    stay(d);
    for (int i = 0; i < first; i++, release.next<STAGES>())
        p.consumer_release(release);
}

template <int STAGES, int PIPE> __global__ void __launch_bounds__(384, 1)
    persistent(MAP A_map, MAP B_map, float *C, int M, int N, int K)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    pipeline<STAGES> p = {(ring<STAGES, 128> *)memory};
    p.r->set_up(2);
    int tiles = K / BK, across = N / BN, all = across * (M / 128), group = threadIdx.x / 128;
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;\n" ::);
        if (threadIdx.x == 32) {
            state s = {0, 1};
            for (int t = blockIdx.x; t < all; t += gridDim.x)
                for (int tile = 0; tile < tiles; tile++, s.next<STAGES>()) {
                    p.producer_acquire(s);
                    p.r->fill(s.stage, &A_map, &B_map, tile * BK, t / across * 128, t % across * BN);
                }
            for (int i = 0; i < STAGES; i++, s.next<STAGES>())
                p.producer_acquire(s);
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;\n" ::);
        state s = {0, 0};
        for (int t = blockIdx.x; t < all; t += gridDim.x) {
            float d[32];
            main_loop<PIPE>(p, s, d, tiles, group - 1);
            s.next<STAGES>(tiles % (2 * STAGES));
            write_sums(C, d, t / across * 128 + (group - 1) * 64, t % across * BN, N);
        }
    }
}

// Consumers that take turns: each has tiles of its own, and while one multiplies the other writes. Named barriers say whose turn
// it is: who comes to its own waits for what the other arrives at.
template <int STAGES> __global__ void __launch_bounds__(384, 1)
    in_turns(MAP A_map, MAP B_map, float *C, int M, int N, int K)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    auto *r = (ring<STAGES, 64> *)memory;
    r->set_up(128);
    int tiles = K / BK, across = N / BN, all = across * (M / 64), group = threadIdx.x / 128;
    if (group == 2) {
        SETMAXNREG_DEC(32);
        if (threadIdx.x == 256) {
            state s = {0, 1};
            for (int t = 0; t < all; t++)
                for (int tile = 0; tile < tiles; tile++, s.next<STAGES>()) {
                    MBARRIER_WAIT(&r->empty[s.stage], s.phase);
                    r->fill(s.stage, &A_map, &B_map, tile * BK, t / across * 64, t % across * BN);
                }
        }
    } else {
        SETMAXNREG_INC(232);
        state s = {0, 0};
        s.next<STAGES>(group * tiles % (2 * STAGES));
        if (group == 1)
            NAMED_ARRIVE(2, 256);  // the first turn is warpgroup 0's
        for (int t = group; t < all; t += 2) {
            float d[32];
            NAMED_SYNC(2 + group, 256);
            for (int tile = 0; tile < tiles; tile++, s.next<STAGES>()) {
                MBARRIER_WAIT(&r->full[s.stage], s.phase);
                stay(d);
                WGMMA_FENCE();
                multiply(d, r->A[s.stage], r->B[s.stage], tile == 0);
                WGMMA_COMMIT();
                WGMMA_WAIT(0);
                stay(d);
                MBARRIER_ARRIVE(&r->empty[s.stage]);
            }
            if (t + 1 < all)
                NAMED_ARRIVE(3 - group, 256);
            s.next<STAGES>(tiles % (2 * STAGES));
            write_sums(C, d, t / across * 64, t % across * BN, N);
        }
    }
}

static CUtensorMap map_of(const half *memory, int K, int lines, int box)
{
    struct tensor t = {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, 2, {(unsigned)K, (unsigned)lines}, {}, {BK, (unsigned)box},
                       CU_TENSOR_MAP_SWIZZLE_128B};
    return tensor_map(memory, t);
}

typedef void kernel_of_maps(CUtensorMap, CUtensorMap, float *, int, int, int);

static void multiply_by(kernel_of_maps *kernel, dim3 grid, int threads, int box, size_t bytes, int K)
{
    const int M = 256, N = 128;
    float *a = numbers(M * K, 1), *b = numbers(N * K, 2), *C = to_device<float>(NULL, M * N);
    half *x = (half *)malloc((M + N) * K * sizeof *x);
    for (int i = 0; i < (M + N) * K; i++)
        x[i] = __float2half(i < M * K ? a[i] : b[i - M * K]);
    const half *A = to_device(x, (M + N) * K), *B = A + M * K;
    CHECK(cudaMemset(C, 0xff, M * N * sizeof *C));
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    kernel<<<grid, threads, bytes>>>(map_of(A, K, M, box), map_of(B, K, N, BN), C, M, N, K);
    float *got = to_host(C, M * N);
    for (int i = 0; i < M * N; i++) {
        float sum = 0;
        for (int k = 0; k < K; k++)
            sum += a[i / N * K + k] * b[i % N * K + k];
        SAME(got[i], sum);
    }
    free(a);
    free(b);
    free(x);
    free(got);
}

int main(void)
{
    for (int K : {64, 192, 576}) {
        multiply_by(specialized<2>, dim3(2, 2), 384, 128, sizeof(ring<2, 128>), K);
        multiply_by(specialized<4>, dim3(2, 2), 384, 128, sizeof(ring<4, 128>), K);
        multiply_by(one_in_flight<3>, dim3(2, 2), 288, 128, sizeof(ring<3, 128>), K);
        multiply_by(persistent<4, 1>, dim3(3), 384, 128, sizeof(ring<4, 128>), K);
        multiply_by(persistent<3, 2>, dim3(1), 384, 128, sizeof(ring<3, 128>), K);
        multiply_by(persistent<2, 0>, dim3(2), 384, 128, sizeof(ring<2, 128>), K);
        multiply_by(in_turns<4>, dim3(1), 384, 64, sizeof(ring<4, 64>), K);
    }
    return 0;
}

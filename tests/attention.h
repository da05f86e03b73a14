// Attention of one head by products of a warpgroup, for the programs that test it: tiles of fp16 in panels of 64 columns, rows of 128
// bytes with their swizzle; S and O in registers, P as they are packed there. What may touch a register or shared memory is a macro, so
// that a report names the line of the program that uses it. A thread has elements of two rows of S and of O, i / 2 % 2 of element i.
#pragma once

#include <cuda_fp16.h>
#include <math.h>
#include "cluster.h"
#include "wgmma.h"

#define MAP const __grid_constant__ CUtensorMap
#define WARPGROUP 128
#define ROWS 64  // of Q, S and O, a warpgroup's

// One product of 16 of k, to N columns: A in shared memory, then in registers. A program whose products have 64 columns, all of
// them, says so, and is compiled sooner.
#ifdef COLUMNS_64
#define PRODUCT_SS(N, D, A, B, TAIL, SCALE) WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", TAIL, D, A, B, SCALE)
#define PRODUCT_RS(N, D, A, B, SCALE) WGMMA_RS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 1", D, A, B, SCALE)
#else
#define PRODUCT_SS(N, D, A, B, TAIL, SCALE) \
    do { \
        if constexpr (N == 64) \
            WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", TAIL, D, A, B, SCALE); \
        else if constexpr (N == 128) \
            WGMMA_SS("m64n128k16.f32.f16.f16", 64, "+f", TAIL, D, A, B, SCALE); \
        else \
            WGMMA_SS("m64n256k16.f32.f16.f16", 128, "+f", TAIL, D, A, B, SCALE); \
    } while (0)
#define PRODUCT_RS(N, D, A, B, SCALE) \
    do { \
        if constexpr (N == 64) \
            WGMMA_RS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 1", D, A, B, SCALE); \
        else if constexpr (N == 128) \
            WGMMA_RS("m64n128k16.f32.f16.f16", 64, "+f", ", 1, 1, 1", D, A, B, SCALE); \
        else \
            WGMMA_RS("m64n256k16.f32.f16.f16", 128, "+f", ", 1, 1, 1", D, A, B, SCALE); \
    } while (0)
#endif

// S = Q K^T, of head dimension D and TILE keys: the first product begins at 0. O += P V, where P holds fragments of 16 keys each,
// or lies in shared memory as Q does, and V is read as memory has it.
#define SCORES(D, TILE, S, Q, K) \
    _Pragma("unroll") for (int d_ = 0; d_ < (D); d_ += 16) \
        PRODUCT_SS(TILE, S, descriptor_128((Q) + d_ / 64 * ROWS * 64 + d_ % 64), \
                   descriptor_128((K) + d_ / 64 * (TILE) * 64 + d_ % 64), ", 1, 1, 0, 0", d_ > 0)
#define OF_VALUES(TILE, V, KEY) descriptor((V) + (KEY) * 64, (TILE) * 128, 1024, SWIZZLE_128)
#define VALUES(D, TILE, O, P, V) \
    _Pragma("unroll") for (int k_ = 0; k_ < (TILE); k_ += 16) PRODUCT_RS(D, O, (P)[k_ / 16], OF_VALUES(TILE, V, k_), 1)
#define VALUES_SS(D, TILE, O, P, V) \
    _Pragma("unroll") for (int k_ = 0; k_ < (TILE); k_ += 16) PRODUCT_SS( \
        D, O, descriptor_128((P) + k_ / 64 * ROWS * 64 + k_ % 64), OF_VALUES(TILE, V, k_), ", 1, 1, 0, 1", 1)

struct softmax {
    float max[2] = {-INFINITY, -INFINITY};
    float sum[2] = {};  // of this thread's elements
    float scale[2];     // by what O has to be scaled
};

static __device__ __forceinline__ float largest_of_row(float x)
{
    x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
    return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}
static __device__ __forceinline__ float sum_of_row(float x)
{
    x += __shfl_xor_sync(~0u, x, 1);
    return x + __shfl_xor_sync(~0u, x, 2);
}

// Keys from N on, of the tile that begins at FIRST, have no weight.
#define MASK(TILE, S, FIRST, N) \
    do { \
        if ((FIRST) + (TILE) > (N)) \
            _Pragma("unroll") for (int i_ = 0; i_ < (TILE) / 2; \
                                   i_++)(S)[i_] = (FIRST) + column_of(i_) < (N) ? (S)[i_] : -INFINITY; \
    } while (0)
// S to exp(S - its row's largest so far).
#define SOFTMAX(TILE, S, SOFT) \
    do { \
        float highest_[2] = {(SOFT).max[0], (SOFT).max[1]}; \
        _Pragma("unroll") for (int i_ = 0; i_ < (TILE) / 2; i_++) \
            highest_[i_ / 2 % 2] = fmaxf(highest_[i_ / 2 % 2], (S)[i_]); \
        _Pragma("unroll") for (int row_ = 0; row_ < 2; row_++) \
        { \
            highest_[row_] = largest_of_row(highest_[row_]); \
            (SOFT).scale[row_] = __expf((SOFT).max[row_] - highest_[row_]); \
            (SOFT).max[row_] = highest_[row_]; \
            (SOFT).sum[row_] *= (SOFT).scale[row_]; \
        } \
        _Pragma("unroll") for (int i_ = 0; i_ < (TILE) / 2; i_++) \
        { \
            (S)[i_] = __expf((S)[i_] - highest_[i_ / 2 % 2]); \
            (SOFT).sum[i_ / 2 % 2] += (S)[i_]; \
        } \
    } while (0)
#define RESCALE(D, O, SOFT) _Pragma("unroll") for (int i_ = 0; i_ < (D) / 2; i_++)(O)[i_] *= (SOFT).scale[i_ / 2 % 2]
#define DIVIDE(D, O, SOFT) \
    do { \
        float whole_[2] = {sum_of_row((SOFT).sum[0]), sum_of_row((SOFT).sum[1])}; \
        _Pragma("unroll") for (int i_ = 0; i_ < (D) / 2; i_++)(O)[i_] /= whole_[i_ / 2 % 2]; \
    } while (0)

static __device__ __forceinline__ unsigned packed(float x, float y)
{
    half2 pair = __floats2half2_rn(x, y);
    return *(unsigned *)&pair;
}
// S as fragments of A.
#define PACK(TILE, P, S) \
    _Pragma("unroll") for (int i_ = 0; i_ < (TILE) / 4; i_++)(P)[i_ / 4][i_ % 4] = packed((S)[2 * i_], (S)[2 * i_ + 1])
#define STAY_ALL(P) _Pragma("unroll") for (unsigned k_ = 0; k_ < sizeof(P) / sizeof(P)[0]; k_++) stay((P)[k_])

// Where lane's row of a 16 x 16 piece lies, that begins at COLUMN, of this warp's 16 rows of a tile of 64.
static __device__ __forceinline__ unsigned piece_of_rows(const half *tile, int column)
{
    int row = threadIdx.x % 128 / 32 * 16 + threadIdx.x % 16, vector = column % 64 / 8 + threadIdx.x % 32 / 16;
    return in_shared(tile) + column / 64 * ROWS * 128 + row * 128 + (vector ^ row % 8) * 16;
}
// A warp's 16 rows of sums go to a tile of 64 rows in shared memory.
#define TO_SHARED(COLUMNS, TILE, X) \
    _Pragma("unroll") for (int j_ = 0; j_ < (COLUMNS); j_ += 16) STMATRIX_4( \
        piece_of_rows(TILE, j_), packed((X)[j_ / 2], (X)[j_ / 2 + 1]), packed((X)[j_ / 2 + 2], (X)[j_ / 2 + 3]), \
        packed((X)[j_ / 2 + 4], (X)[j_ / 2 + 5]), packed((X)[j_ / 2 + 6], (X)[j_ / 2 + 7]))
// A tile of D columns, panel by panel, of the head Z; a store leaves out what lies beyond the edge.
#define LOAD_TILE(D, HEIGHT, TO, MAP_, FIRST, Z, BAR) \
    _Pragma("unroll") for (int d_ = 0; d_ < (D); d_ += 64) TMA_LOAD_3D((TO) + d_ * (HEIGHT), &(MAP_), d_, FIRST, Z, BAR)
#define STORE_TILE(D, MAP_, FIRST, Z, FROM) \
    _Pragma("unroll") for (int d_ = 0; d_ < (D); d_ += 64) TMA_STORE_3D(&(MAP_), d_, FIRST, Z, (FROM) + d_ * ROWS)

// The same to the blocks of the cluster that MASK names: as many rows from row BEGIN of the tile on as the map's box has.
#define LOAD_PART(D, TILE, TO, BEGIN, MAP_, FIRST, Z, BAR, MASK) \
    _Pragma("unroll") for (int d_ = 0; d_ < (D); d_ += 64) \
        TMA_MULTICAST_3D((TO) + d_ * (TILE) + (BEGIN) * 64, &(MAP_), d_, (FIRST) + (BEGIN), Z, BAR, MASK)
#define TMA_MULTICAST_3D(TO, MAP_, X, Y, Z, BAR, MASK) \
    asm volatile( \
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster " \
        "[%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(in_shared(TO)), \
        "l"(MAP_), "r"(X), "r"(Y), "r"(Z), "r"(in_shared(BAR)), "h"((unsigned short)(MASK)) \
        : "memory")

// ---- the host ----

struct problem {
    int D, n, heads;
    float *q, *k, *v;     // as the device has them, of the host
    half *Q, *K, *V, *O;  // of the device: [heads][n][D]
    CUtensorMap q_map, k_map, v_map, o_map;
};

static inline half *attention_input(float **host, int count, unsigned seed, float scale)
{
    half *halves = (half *)malloc(count * sizeof *halves), *device;
    *host = (float *)malloc(count * sizeof **host);
    for (int i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        halves[i] = __float2half(((int)(seed >> 24) % 16 - 5) * scale);
        (*host)[i] = __half2float(halves[i]);
    }
    cudaMalloc(&device, count * sizeof *device);
    cudaMemcpy(device, halves, count * sizeof *device, cudaMemcpyHostToDevice);
    free(halves);
    return device;
}

// Boxes of one panel and as many rows.
static inline CUtensorMap heads_map(const half *memory, int D, int n, int heads, int rows)
{
    return tensor_map(memory, {CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                               2,
                               3,
                               {(cuuint64_t)D, (cuuint64_t)n, (cuuint64_t)heads},
                               {},
                               {64, (cuuint32_t)rows, 1},
                               CU_TENSOR_MAP_SWIZZLE_128B});
}

static inline struct problem problem_of(int D, int n, int heads, int tile)
{
    struct problem p = {D, n, heads};
    int count = heads * n * D;
    p.Q = attention_input(&p.q, count, 1, 1 / 8.f);
    p.K = attention_input(&p.k, count, 2, 1 / 8.f);
    p.V = attention_input(&p.v, count, 3, 1 / 8.f);
    cudaMalloc(&p.O, count * sizeof *p.O);
    cudaMemset(p.O, 0xff, count * sizeof *p.O);
    p.q_map = heads_map(p.Q, D, n, heads, ROWS);
    p.k_map = heads_map(p.K, D, n, heads, tile);
    p.v_map = heads_map(p.V, D, n, heads, tile);
    p.o_map = heads_map(p.O, D, n, heads, ROWS);
    return p;
}

static inline void one_query(const struct problem *p, int head, int row, float *weights, float *out)
{
    const float *q = p->q + ((long)head * p->n + row) * p->D, *k = p->k + (long)head * p->n * p->D,
                *v = p->v + (long)head * p->n * p->D;
    float max = -INFINITY, sum = 0;
    for (int j = 0; j < p->n; j++) {
        weights[j] = 0;
        for (int d = 0; d < p->D; d++)
            weights[j] += q[d] * k[j * p->D + d];
        max = fmaxf(max, weights[j]);
    }
    for (int d = 0; d < p->D; d++)
        out[d] = 0;
    for (int j = 0; j < p->n; j++) {
        float weight = expf(weights[j] - max);
        sum += weight;
        for (int d = 0; d < p->D; d++)
            out[d] += weight * v[j * p->D + d];
    }
    for (int d = 0; d < p->D; d++)
        out[d] /= sum;
}

// Whether O is right; the first element that is not is printed. What belongs to the problem is freed.
static inline bool is_right(struct problem *p, const char *name)
{
    int count = p->heads * p->n * p->D;
    half *got = (half *)malloc(count * sizeof *got);
    float *weights = (float *)malloc(p->n * sizeof *weights), *want = (float *)malloc(p->D * sizeof *want);
    cudaError_t error = cudaDeviceSynchronize();
    bool right = error == cudaSuccess;
    if (!right)
        printf("%s: %s\n", name, cudaGetErrorString(error));
    cudaMemcpy(got, p->O, count * sizeof *got, cudaMemcpyDeviceToHost);
    for (int row = 0; right && row < p->heads * p->n; row++) {
        one_query(p, row / p->n, row % p->n, weights, want);
        for (int d = 0; right && d < p->D; d++) {
            float x = __half2float(got[row * p->D + d]);
            right = fabsf(x - want[d]) < 4e-3f;
            if (!right)
                printf("%s, head dimension %d, %d keys: query %d, %d is %g, not %g\n", name, p->D, p->n, row, d, x,
                       want[d]);
        }
    }
    free(got);
    free(weights);
    free(want);
    free(p->q);
    free(p->k);
    free(p->v);
    cudaFree(p->Q);
    cudaFree(p->K);
    cudaFree(p->V);
    cudaFree(p->O);
    return right;
}

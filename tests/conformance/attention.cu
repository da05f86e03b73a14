// What attention is made of on Hopper, put together: tiles of every head by maps of three dimensions, scores whose registers become the next
// product's A, V of either major, rows beyond the last; and the turns of warpgroups at named barriers. Prints a line of JSON
// for each case:
//
//   nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a attention.cu -o attention && ./attention > attention_h200.jsonl
//
// "hash": of O, [HEADS, n, D], and of what lies around it. O = Σ factor^j (Q Kᵀ / 8) V over tiles j of keys, with no softmax: all
// operations but the products are exact or rounded once.

#include "elements.h"
#include "../wgmma.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

enum { THREADS = 128, HEADS = 3, ROWS = 64, PANEL = 64, AROUND = 4096, MOST_N = 400, MOST_D = 256 };

// ---- products ----

#define SHAPE_f16(N) "m64n" #N "k16.f32.f16.f16"
#define SHAPE_bf16(N) "m64n" #N "k16.f32.bf16.bf16"
#define TYPE_f16 half
#define TYPE_bf16 __nv_bfloat16

// D = A B, both K-major; and D += A B with A in registers.
#define SCORES(T, N, REGISTERS) \
    static __device__ __forceinline__ void scores(float(&d)[REGISTERS], uint64_t a, uint64_t b, int accumulates, \
                                                  TYPE_##T) \
    { \
        WGMMA_SS(SHAPE_##T(N), REGISTERS, "+f", ", 1, 1, 0, 0", d, a, b, accumulates); \
    }
#define OUTPUT(T, N, REGISTERS) \
    template <int MN> \
    static __device__ __forceinline__ void add_output(float(&d)[REGISTERS], const unsigned(&a)[4], uint64_t b, \
                                                      TYPE_##T) \
    { \
        if (MN) \
            WGMMA_RS(SHAPE_##T(N), REGISTERS, "+f", ", 1, 1, 1", d, a, b, 1); \
        else \
            WGMMA_RS(SHAPE_##T(N), REGISTERS, "+f", ", 1, 1, 0", d, a, b, 1); \
    }
#define PRODUCTS(T) \
    SCORES(T, 32, 16) \
    SCORES(T, 64, 32) \
    SCORES(T, 80, 40) \
    SCORES(T, 96, 48) \
    SCORES(T, 128, 64) \
    SCORES(T, 176, 88) \
    SCORES(T, 192, 96) \
    OUTPUT(T, 64, 32) \
    OUTPUT(T, 128, 64) \
    OUTPUT(T, 192, 96) \
    OUTPUT(T, 256, 128)
PRODUCTS(f16)
PRODUCTS(bf16)

static __device__ __forceinline__ unsigned pack(float first, float second, half)
{
    half2 both = __floats2half2_rn(first, second);
    return *(unsigned *)&both;
}
static __device__ __forceinline__ unsigned pack(float first, float second, __nv_bfloat16)
{
    __nv_bfloat162 both = __floats2bfloat162_rn(first, second);
    return *(unsigned *)&both;
}

// ---- the kernel: a warpgroup for 64 rows of a head ----

template <class T, int D, int TILE, int MN> struct tiles {
    static constexpr int KEY_PANELS = (TILE + PANEL - 1) / PANEL;
    alignas(1024) T Q[D / PANEL][ROWS][PANEL];
    alignas(1024) T K[D / PANEL][TILE][PANEL];
    alignas(1024) T V[MN ? D / PANEL * TILE : KEY_PANELS * D][PANEL];  // or Vᵀ, panels of 64 keys
    uint64_t full;
};

struct maps {
    CUtensorMap q, k, v, o;
};

template <class T, int D, int TILE, int MN>
__global__ void __launch_bounds__(THREADS, 1) attend(const __grid_constant__ maps maps, int n, float factor)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    auto *smem = (tiles<T, D, TILE, MN> *)memory;
    const int row = blockIdx.x * ROWS, head = blockIdx.y, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float o[D / 2] = {};
    SET_UP(smem->full, 1);
    for (int key = 0, parity = 0; key < n; key += TILE, parity ^= 1) {
        if (threadIdx.x == 0) {
            unsigned bytes = (key ? 0 : sizeof smem->Q) + sizeof smem->K + sizeof smem->V;
            MBARRIER_ARRIVE_EXPECT(&smem->full, bytes);
            for (int d = 0; d < D / PANEL; d++) {
                if (key == 0)
                    TMA_LOAD_3D(smem->Q[d], &maps.q, d * PANEL, row, head, &smem->full);
                TMA_LOAD_3D(smem->K[d], &maps.k, d * PANEL, key, head, &smem->full);
                if (MN)
                    TMA_LOAD_3D(smem->V[d * TILE], &maps.v, d * PANEL, key, head, &smem->full);
            }
            for (int panel = 0; panel < tiles<T, D, TILE, MN>::KEY_PANELS && !MN; panel++)
                TMA_LOAD_3D(smem->V[panel * D], &maps.v, key + panel * PANEL, 0, head, &smem->full);
        }
        MBARRIER_WAIT(&smem->full, parity);
        float s[TILE / 2];
        unsigned p[TILE / 16][4];
        WGMMA_FENCE();
#pragma unroll
        for (int d = 0; d < D; d += 16)
            scores(s, descriptor_128(&smem->Q[d / PANEL][0][d % PANEL]),
                   descriptor_128(&smem->K[d / PANEL][0][d % PANEL]), d > 0, T());
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        stay(s);
#pragma unroll
        for (int i = 0; i < TILE / 2; i++)  // in tiles of 16 x 8, as the next product wants its A
            s[i] = key + i / 4 * 8 + lane % 4 * 2 + i % 2 < n ? s[i] * 0.125f : 0;
#pragma unroll
        for (int i = 0; i < TILE / 4; i++)
            p[i / 4][i % 4] = pack(s[2 * i], s[2 * i + 1], T());
#pragma unroll
        for (int i = 0; i < D / 2; i++)
            o[i] *= factor;
        WGMMA_FENCE();
#pragma unroll
        for (int i = 0; i < TILE; i += 16) {
            uint64_t v = MN ? descriptor(smem->V[i], TILE * 128, 1024, SWIZZLE_128)
                            : descriptor_128(&smem->V[i / PANEL * D][i % PANEL]);
            add_output<MN>(o, p[i / 16], v, T());
        }
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        stay(o);
        __syncthreads();  // all have read the tiles
    }
#pragma unroll
    for (int x = 0; x < D / 8; x += 2) {
        int col = x * 8 + lane / 16 * 8, to = warp * 16 + lane % 16;
        T *first = &smem->Q[col / PANEL][to][(col % PANEL / 8 ^ to % 8) * 8];
        STMATRIX_4(in_shared(first), pack(o[4 * x], o[4 * x + 1], T()), pack(o[4 * x + 2], o[4 * x + 3], T()),
                   pack(o[4 * x + 4], o[4 * x + 5], T()), pack(o[4 * x + 6], o[4 * x + 7], T()));
    }
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int d = 0; d < D / PANEL; d++)
            TMA_STORE_3D(&maps.o, d * PANEL, row, head, smem->Q[d]);
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

// ---- cases ----

static struct {
    unsigned short *q, *k, *v, *o;  // on the device
    unsigned short host[HEADS * (MOST_N + 8) * MOST_D + 2 * AROUND];
} tensors;

static const char *const names_of_types[] = {"f16", "bf16"};

static CUtensorMap map_of(const void *tensor, enum type type, unsigned columns, unsigned pitch, unsigned rows,
                          unsigned box_rows)
{
    struct tensor t = {type == F16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, 3};
    t.dims[0] = columns, t.dims[1] = rows, t.dims[2] = HEADS;
    t.pitch[0] = 2 * pitch, t.pitch[1] = 2ull * pitch * rows, t.pitch[2] = HEADS * t.pitch[1];
    t.box[0] = PANEL, t.box[1] = box_rows, t.box[2] = 1;
    t.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    return tensor_map(tensor, t);
}

static void fill(unsigned short *to, enum type type, enum kind kind, size_t count)
{
    for (size_t i = 0; i < count; i += 2) {
        unsigned two = packed(type, kind);
        memcpy(&tensors.host[i], &two, sizeof two);
    }
    CHECK(cudaMemcpy(to, tensors.host, count * sizeof *to, cudaMemcpyHostToDevice));
}

template <class T, int D, int TILE, int MN> static void attention(enum type type, enum kind kind, int n)
{
    char name[120];
    snprintf(name, sizeof name, "%s d %d keys %d v %s n %d %s", names_of_types[type], D, TILE, MN ? "mn" : "k", n,
             kinds[kind]);
    seed = hash(name, strlen(name));
    const int pitch = MN ? D : (n + 7) / 8 * 8, rows = MN ? n : D;
    const size_t count = (size_t)HEADS * n * D, all = count + 2 * AROUND, bytes = sizeof(tiles<T, D, TILE, MN>);
    fill(tensors.q, type, kind, count);
    fill(tensors.k, type, kind, count);
    fill(tensors.v, type, kind, (size_t)HEADS * rows * pitch);
    CHECK(cudaMemset(tensors.o, 0x5a, all * 2));
    maps maps = {map_of(tensors.q, type, D, D, n, ROWS), map_of(tensors.k, type, D, D, n, TILE),
                 map_of(tensors.v, type, MN ? D : n, pitch, rows, MN ? TILE : D),
                 map_of(tensors.o + AROUND, type, D, D, n, ROWS)};
    CHECK(cudaFuncSetAttribute(attend<T, D, TILE, MN>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    attend<T, D, TILE, MN><<<dim3((n + ROWS - 1) / ROWS, HEADS), THREADS, bytes>>>(maps, n, 0.75f);
    finish();
    CHECK(cudaMemcpy(tensors.host, tensors.o, all * 2, cudaMemcpyDeviceToHost));
    print_hash(name, tensors.host, all * 2);
}

template <int D, int TILE> static void attention_all()
{
    for (enum kind kind : {WHOLE, RANDOM})
        for (int n : {1, 64, 65, TILE + 9}) {
            attention<half, D, TILE, 1>(F16, kind, n);
            attention<half, D, TILE, 0>(F16, kind, n);
            attention<__nv_bfloat16, D, TILE, 1>(BF16, kind, n);
        }
}

// ---- turns ----

enum { MOST_EVENTS = 40 };

struct events {
    int n, of[MOST_EVENTS];
};

static __device__ void note(events *e, int what)
{
    if (threadIdx.x % 32 == 0 && threadIdx.x / 32 % 4 == 0)
        e->of[atomicAdd(&e->n, 1)] = what;
}

static __global__ void two_in_turns(events *e)
{
    int group = threadIdx.x / 128;
    if (group == 1)
        NAMED_ARRIVE(1, 256);
    for (int i = 0; i < 5; i++) {
        NAMED_SYNC(1 + group, 256);
        note(e, group);
        __threadfence_block();
        if (i < 4 || group == 0)
            NAMED_ARRIVE(2 - group, 256);
    }
}

static __global__ void a_ring_of_three(events *e)
{
    int group = threadIdx.x / 128;
    if (group == 2)
        NAMED_ARRIVE(4, 256);
    for (int i = 0; i < 4; i++) {
        NAMED_SYNC(4 + group, 256);
        note(e, group);
        __threadfence_block();
        if (i < 3 || group < 2)
            NAMED_ARRIVE(4 + (group + 1) % 3, 256);
    }
}

// Two arrivals of one warpgroup count as those of two.
static __global__ void arrives_for_two(events *e)
{
    if (threadIdx.x < 128) {
        note(e, 7);
        __threadfence_block();
        NAMED_ARRIVE(8, 384);
        NAMED_ARRIVE(8, 384);
    } else if (threadIdx.x < 256) {
        NAMED_SYNC(8, 384);
        note(e, 8);
    }
}

// An arrival stays until somebody waits for it.
static __global__ void arrives_long_before(events *e)
{
    int group = threadIdx.x / 128;
    if (group == 0) {
        note(e, 1);
        __threadfence_block();
        NAMED_ARRIVE(9, 256);
    }
    __syncthreads();
    if (group == 1) {
        note(e, 2);
        NAMED_SYNC(9, 256);
        note(e, 3);
    }
}

// Of 12 warps the named number meets, by numbers 1 to 15; how many of them were odd.
static __global__ void by_each_number(events *e)
{
    for (int id = 1; id < 16; id++) {
        int warps = id % 12 + 1, warp = threadIdx.x / 32, odd = -1;
        if (warp < warps)
            asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; bar.red.popc.u32 %0, %1, %2, p; }"
                         : "=r"(odd)
                         : "r"(id), "r"(32 * warps), "r"((int)(threadIdx.x % 3 == 1))
                         : "memory");
        __syncthreads();
        if (threadIdx.x == 0)
            e->of[e->n++] = odd;
    }
}

static void turns(const char *name, void (*kernel)(events *), int threads)
{
    static events *e = managed<events>(1);
    *e = events{};
    kernel<<<1, threads>>>(e);
    finish();
    printf("{\"case\": \"%s\", \"events\": [", name);
    for (int i = 0; i < e->n; i++)
        printf("%s%d", i ? ", " : "", e->of[i]);
    printf("]}\n");
}

int main()
{
    const size_t bytes = sizeof tensors.host;
    CHECK(cudaMalloc(&tensors.q, bytes));
    CHECK(cudaMalloc(&tensors.k, bytes));
    CHECK(cudaMalloc(&tensors.v, bytes));
    CHECK(cudaMalloc(&tensors.o, bytes));
    attention_all<64, 64>();
    attention_all<64, 128>();
    attention_all<64, 192>();
    attention_all<128, 64>();
    attention_all<128, 128>();
    attention_all<128, 176>();
    attention_all<192, 96>();
    attention_all<256, 32>();
    attention_all<256, 64>();
    attention_all<256, 80>();
    turns("two in turns", two_in_turns, 256);
    turns("a ring of three", a_ring_of_three, 384);
    turns("arrives for two", arrives_for_two, 384);
    turns("arrives long before", arrives_long_before, 256);
    turns("by each number", by_each_number, 384);
    return 0;
}

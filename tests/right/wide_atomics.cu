// Atomic operations on vectors, of which each element is atomic by itself, and on 16 bytes as a whole.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <string.h>
#include "right.h"

enum { BLOCKS = 4, THREADS = 64, N = BLOCKS * THREADS };

struct __align__(16) pair {
    unsigned long long count, sum;
};

struct __align__(16) sums {
    float2 two, two_block, two_system;
    float4 four, four_block, four_system, red4, atom4;
    float red2[4];
    __align__(16) __half halves[8], least[8], most[8];
    __align__(16) __nv_bfloat16 bfloats[8], least_bf[4];
    __align__(16) __half2 pairs[4];
    __align__(16) __nv_bfloat162 bf_pairs[2];
    pair whole, last, by_ptx, exchanged;
    float olds;
    int failed;
};

#if __CUDA_ARCH__ >= 900
__device__ void by_cplusplus(sums *s, int i)
{
    atomicAdd(&s->two, make_float2(1, 2));
    float4 old = atomicAdd(&s->four, make_float4(1, 2, 3, 4));
    if (old.y != 2 * old.x && old.x > N)
        atomicAdd(&s->failed, 1);
    atomicAdd_system(&s->two_system, make_float2(1, -1));
    atomicAdd_system(&s->four_system, make_float4(1, -1, 1, -1));
    if (blockIdx.x == 0) {
        atomicAdd_block(&s->two_block, make_float2(0.5f, 2));
        atomicAdd_block(&s->four_block, make_float4(1, 0, 0, 2));
    }
    pair seen = {0, 0}, expected;
    do {  // both halves change together
        expected = seen;
        pair wanted = {expected.count + 1, expected.sum + i};
        seen = atomicCAS(&s->whole, expected, wanted);
    } while (seen.count != expected.count || seen.sum != expected.sum);
    pair mine = {(unsigned long long)i, ~(unsigned long long)i};
    pair before = atomicExch(&s->last, mine);
    if (before.sum != ~before.count && (before.sum || before.count))
        atomicAdd(&s->failed, 1);
}

__device__ void by_ptx(sums *s, int i)
{
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %1};" ::"l"(&s->red4), "f"(1.0f), "f"(-1.0f), "f"(2.5f)
                 : "memory");
    asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0+8], {%1, %1};" ::"l"(s->red2), "f"(3.0f) : "memory");
    float a, b, c, d;
    asm volatile("atom.global.add.v4.f32 {%0, %1, %2, %3}, [%4], {%5, %5, %5, %5};"
                 : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
                 : "l"(&s->atom4), "f"(1.0f)
                 : "memory");
    atomicAdd(&s->olds, a);
    if (b < 0 || c < 0 || d < 0)
        atomicAdd(&s->failed, 1);
    unsigned short one = 0x3c00, i_half = __half_as_ushort(__int2half_rn(i)), minus = i_half ^ 0x8000;
    asm volatile("red.global.add.noftz.v8.f16 [%0], {%1, %1, %1, %1, %1, %1, %1, %1};" ::"l"(s->halves), "h"(one)
                 : "memory");
    asm volatile("red.global.min.noftz.v4.f16 [%0], {%1, %2, %1, %2};" ::"l"(s->least), "h"(i_half), "h"(minus)
                 : "memory");
    asm volatile("red.global.max.noftz.v2.f16 [%0], {%1, %2};" ::"l"(s->most), "h"(i_half), "h"(minus) : "memory");
    unsigned short bf_one = 0x3f80, old[4];
    asm volatile("red.global.add.noftz.v4.bf16 [%0], {%1, %1, %1, %1};" ::"l"(s->bfloats), "h"(bf_one) : "memory");
    asm volatile("atom.global.min.noftz.v4.bf16 {%0, %1, %2, %3}, [%4], {%5, %5, %6, %6};"
                 : "=h"(old[0]), "=h"(old[1]), "=h"(old[2]), "=h"(old[3])
                 : "l"(s->least_bf), "h"((unsigned short)0xbf80), "h"((unsigned short)0x7fc0)  // -1, and NaN
                 : "memory");
    if (old[0] != 0 && old[0] != 0xbf80)
        atomicAdd(&s->failed, 1);
    asm volatile("red.global.add.noftz.v4.f16x2 [%0], {%1, %1, %1, %1};" ::"l"(s->pairs), "r"(0x3c00c000u) : "memory");
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %0, 0.5;" : "=l"(policy));
    asm volatile("red.global.max.noftz.L2::cache_hint.v2.bf16x2 [%0], {%1, %1}, %2;" ::"l"(s->bf_pairs),
                 "r"(0x3f80bf80u), "l"(policy)
                 : "memory");
    asm volatile("{ .reg .b128 new, old, expected; .reg .b64 lo, hi; .reg .pred same;\n"
                 "  mov.b128 old, {%1, %1};\n"
                 "AGAIN:\n"
                 "  mov.b128 expected, old;\n"
                 "  mov.b128 {lo, hi}, expected;\n"
                 "  add.u64 lo, lo, 1; add.u64 hi, hi, %2;\n"
                 "  mov.b128 new, {lo, hi};\n"
                 "  atom.global.cas.b128 old, [%0], expected, new;\n"
                 "  mov.b128 {lo, hi}, old;\n"
                 "  { .reg .b64 l, h; .reg .pred p; mov.b128 {l, h}, expected; setp.ne.b64 p, l, lo;\n"
                 "    setp.ne.or.b64 same, h, hi, p; }\n"
                 "  @same bra AGAIN; }" ::"l"(&s->by_ptx),
                 "l"(0ull), "l"((unsigned long long)i)
                 : "memory");
    asm volatile(
        "{ .reg .b128 new, old; mov.b128 new, {%1, %1}; atom.global.exch.b128 old, [%0], new; }" ::"l"(&s->exchanged),
        "l"((unsigned long long)i)
        : "memory");
}
#endif

__global__ void add(sums *s)
{
#if __CUDA_ARCH__ >= 900
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    by_cplusplus(s, i);
    by_ptx(s, i);
#endif
}

// In shared memory only whole 16 bytes.
__global__ void count_in_block(pair *out)
{
#if __CUDA_ARCH__ >= 900
    __shared__ pair all;
    if (threadIdx.x == 0)
        all = {0, 0};
    __syncthreads();
    pair seen = {0, 0}, expected;
    do {
        expected = seen;
        seen = atomicCAS_block(&all, expected, pair{expected.count + 1, expected.sum + threadIdx.x});
    } while (seen.count != expected.count || seen.sum != expected.sum);
    __syncthreads();
    if (threadIdx.x == 0)
        *out = all;
#endif
}

int main()
{
    int major;
    CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    if (major < 9)
        return 0;
    sums *zero = (sums *)calloc(1, sizeof(sums));
    sums *s = to_device(zero, 1);
    pair *shared = to_device<pair>(NULL, 1);
    add<<<BLOCKS, THREADS>>>(s);
    count_in_block<<<1, THREADS>>>(shared);
    sums *r = to_host(s, 1);
    pair *c = to_host(shared, 1);
    const double all = N * (N - 1) / 2;
    SAME(r->two.x, N), SAME(r->two.y, 2 * N);
    SAME(r->four.x, N), SAME(r->four.y, 2 * N), SAME(r->four.z, 3 * N), SAME(r->four.w, 4 * N);
    SAME(r->two_system.x, N), SAME(r->two_system.y, -N);
    SAME(r->four_system.z, N), SAME(r->four_system.w, -N);
    SAME(r->two_block.x, THREADS / 2), SAME(r->two_block.y, 2 * THREADS);
    SAME(r->four_block.x, THREADS), SAME(r->four_block.y, 0), SAME(r->four_block.w, 2 * THREADS);
    SAME(r->failed, 0);
    SAME(r->whole.count, N), SAME(r->whole.sum, all);
    SAME(r->last.sum, ~r->last.count), SAME(r->last.count < N, 1);
    SAME(r->red4.x, N), SAME(r->red4.y, -N), SAME(r->red4.z, 5 * N / 2), SAME(r->red4.w, N);
    SAME(r->red2[0], 0), SAME(r->red2[1], 0), SAME(r->red2[2], 3 * N), SAME(r->red2[3], 3 * N);
    SAME(r->atom4.x, N), SAME(r->atom4.w, N), SAME(r->olds, all);
    for (int i = 0; i < 8; i++)
        SAME(__half2float(r->halves[i]), N);
    for (int i = 0; i < 4; i++) {
        SAME(__half2float(r->least[i]), i % 2 ? -(N - 1) : 0);
        SAME(__bfloat162float(r->bfloats[i]), N);
        SAME(__bfloat162float(r->least_bf[i]), i < 2 ? -1 : 0);
        SAME(__low2float(r->pairs[i]), -2 * N), SAME(__high2float(r->pairs[i]), N);
    }
    SAME(__half2float(r->least[4]), 0), SAME(__bfloat162float(r->bfloats[4]), 0);
    SAME(__half2float(r->most[0]), N - 1), SAME(__half2float(r->most[1]), 0);
    SAME(__low2float(r->bf_pairs[0]), 0), SAME(__high2float(r->bf_pairs[1]), 1);
    SAME(r->by_ptx.count, N), SAME(r->by_ptx.sum, all);
    SAME(r->exchanged.count, r->exchanged.sum), SAME(r->exchanged.count < N, 1);
    SAME(c->count, THREADS), SAME(c->sum, THREADS * (THREADS - 1) / 2);
    return 0;
}

// Barriers that count bytes, in every order of arrivals, expectations and completions that PTX allows.

#include "../hopper.h"
#include "right.h"

#define TILE 64
#define BYTES (TILE * 4)

__global__ void expected_first(const float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);
        MBARRIER_ARRIVE(&bar);
    }
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void expected_behind_the_copy(const float *in,
                                         float *out)  // its bytes may come first: an arrival is missing
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        BULK_LOAD(tile, in, BYTES, &bar);
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
    }
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void completed_by_hand(const float *in, float *out)  // before and behind its expectation
{
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_COMPLETE(&bar, 48);
        MBARRIER_EXPECT(&bar, 64);
        MBARRIER_COMPLETE(&bar, 16);
        MBARRIER_ARRIVE(&bar);
        MBARRIER_WAIT(&bar, 0);
        MBARRIER_ARRIVE_EXPECT(&bar, 32);
        MBARRIER_COMPLETE(&bar, 16);
        MBARRIER_COMPLETE(&bar, 16);
        MBARRIER_WAIT(&bar, 1);
    }
    __syncthreads();
    out[threadIdx.x] = in[threadIdx.x];
}

__global__ void one_of_several_expects(const float *in, float *out)  // every thread arrives
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, blockDim.x);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);
    } else {
        MBARRIER_ARRIVE(&bar);
    }
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[63 - threadIdx.x];
}

__global__ void threads_and_a_copy(const float *in, float *out)  // write different parts, for one phase
{
    __shared__ alignas(16) float tile[2][TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, blockDim.x);
    tile[1][threadIdx.x] = in[TILE + threadIdx.x];
    if (threadIdx.x == 63) {
        BULK_LOAD(tile[0], in, BYTES, &bar);
        MBARRIER_EXPECT(&bar, BYTES);
    }
    MBARRIER_ARRIVE(&bar);
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[0][threadIdx.x] + tile[1][63 - threadIdx.x];
}

__global__ void with_a_state(const float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    uint64_t state;
    SET_UP(bar, blockDim.x);
    for (int i = 0; i < 3; i++) {
        if (threadIdx.x == 32) {
            asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %0, [%1], %2;"
                         : "=l"(state)
                         : "r"(in_shared(&bar)), "r"(BYTES)
                         : "memory");
            BULK_LOAD(tile, in + i * TILE, BYTES, &bar);
        } else {
            asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 %0, [%1];"
                         : "=l"(state)
                         : "r"(in_shared(&bar))
                         : "memory");
        }
        for (unsigned done = 0; !done;)
            asm volatile(
                "{ .reg .pred p; mbarrier.test_wait.acquire.cta.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                : "=r"(done)
                : "r"(in_shared(&bar)), "l"(state)
                : "memory");
        out[i * TILE + threadIdx.x] = tile[threadIdx.x];
        __syncthreads();
    }
}

__global__ void counts_of_several(const float *in,
                                  float *out)  // an arrival that counts for a warp, expectations in parts
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 64);
    if (threadIdx.x % 32 == 0) {
        MBARRIER_EXPECT(&bar, BYTES / 2);
        BULK_LOAD(tile + threadIdx.x, in + threadIdx.x, BYTES / 2, &bar);
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 32;" ::"r"(in_shared(&bar)) : "memory");
    }
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void drops_out(const float *in, float *out)  // warp 1 takes part in the first phase only
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 2);
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++) {
            MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
            BULK_LOAD(tile, in + i * TILE, BYTES, &bar);
            MBARRIER_WAIT(&bar, i);
        }
        for (int i = 0; i < TILE; i++)
            out[i] = tile[i];
    }
    if (threadIdx.x == 32)
        asm volatile("mbarrier.arrive_drop.expect_tx.shared::cta.b64 _, [%0], 0;" ::"r"(in_shared(&bar)) : "memory");
}

__global__ void remote_forms(const float *in, float *out)  // that reach any block of a cluster, of the own one
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 65);
    unsigned rank, block, own;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(own) : "r"(in_shared(&bar)), "r"(rank));
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(block) : "r"(own));
    uint64_t generic;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(generic) : "l"(&bar), "r"(block));
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(own), "r"(BYTES)
                     : "memory");
        BULK_LOAD(tile, in, BYTES, &bar);
    }
    if (threadIdx.x < 32)
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(own) : "memory");
    else
        asm volatile("mbarrier.arrive.b64 _, [%0];" ::"l"(generic) : "memory");
    for (unsigned done = 0; !done;)
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.b32 %0, 1, 0, p; }"
            : "=r"(done)
            : "r"(in_shared(&bar))
            : "memory");
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void invalidated_and_reused(const float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ alignas(16) union {
        uint64_t bar[2];
        float data[4];
    } u;
    for (int i = 0; i < 2; i++) {
        SET_UP(u.bar, 1);
        if (threadIdx.x == 0) {
            MBARRIER_ARRIVE_EXPECT(&u.bar[0], BYTES);
            BULK_LOAD(tile, in + i * TILE, BYTES, &u.bar[0]);
        }
        MBARRIER_WAIT(&u.bar[0], 0);
        out[i * TILE + threadIdx.x] = tile[threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0)
            MBARRIER_INVAL(&u.bar[0]);
        if (threadIdx.x == 0)
            MBARRIER_INVAL(&u.bar[1]);
        __syncthreads();
        if (threadIdx.x < 4)
            u.data[threadIdx.x] = 0;
        __syncthreads();
    }
}

__global__ void many_phases(const float *in, float *out)  // of one barrier, and nobody reads
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0)
        for (int i = 0; i < 200; i++) {
            MBARRIER_ARRIVE_EXPECT(&bar, 16 + i % 3 * 16);
            BULK_LOAD(tile, in, 16 + i % 3 * 16, &bar);
            MBARRIER_WAIT(&bar, i % 2);
        }
    if (threadIdx.x == 0)
        out[0] = tile[0];
}

__global__ void many_copies(const float *in, float *out)  // of one phase: 1,024 of 16 bytes
{
    extern __shared__ __align__(16) float dynamic[];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0)
        MBARRIER_EXPECT(&bar, 16384);
    for (int i = threadIdx.x; i < 1024; i += blockDim.x)
        BULK_LOAD(dynamic + 4 * i, in + i % 16 * 4, 16, &bar);
    __syncthreads();
    if (threadIdx.x == 0)
        MBARRIER_ARRIVE(&bar);
    MBARRIER_WAIT(&bar, 0);
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        out[i] = dynamic[4096 - TILE + i];
}

__global__ void nothing_at_all(const float *in, float *out)  // a phase of 0 bytes, expected and not
{
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, 0);
        MBARRIER_WAIT(&bar, 0);
        MBARRIER_ARRIVE(&bar);
        MBARRIER_WAIT(&bar, 1);
    }
    __syncthreads();
    out[threadIdx.x] = in[threadIdx.x];
}

__global__ void elected(const float *in, float *out)  // one lane of a converged warp, by elect.sync
{
    __shared__ alignas(16) float tile[2][TILE];
    __shared__ uint64_t bar[2];
    SET_UP(bar, 1);
    int warp = threadIdx.x / 32;
    unsigned leader;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p; }" : "=r"(leader));
    if (leader) {
        MBARRIER_ARRIVE_EXPECT(&bar[warp], BYTES);
        BULK_LOAD(tile[warp], in + warp * TILE, BYTES, &bar[warp]);
    }
    __syncwarp();
    MBARRIER_WAIT(&bar[1 - warp], 0);
    for (int i = threadIdx.x % 32; i < TILE; i += 32)
        out[(1 - warp) * TILE + i] = tile[1 - warp][i];
}

int main(void)
{
    float *x = numbers(8 * TILE, 2), *in = to_device(x, 8 * TILE), *out = to_device<float>(NULL, 8 * TILE);
    float *got;
#define CASE(NAME, COUNT, WANT, ...) \
    CHECK(cudaMemset(out, 0, 8 * BYTES)); \
    NAME<<<1, 64, ##__VA_ARGS__>>>(in, out); \
    got = to_host(out, 8 * TILE); \
    for (int i = 0; i < (COUNT); i++) \
    SAME(got[i], WANT)
    CASE(expected_first, TILE, x[i]);
    CASE(expected_behind_the_copy, TILE, x[i]);
    CASE(completed_by_hand, TILE, x[i]);
    CASE(one_of_several_expects, TILE, x[63 - i]);
    CASE(threads_and_a_copy, TILE, x[i] + x[TILE + 63 - i]);
    CASE(with_a_state, 3 * TILE, x[i]);
    CASE(counts_of_several, TILE, x[i]);
    CASE(drops_out, TILE, x[TILE + i]);
    CASE(remote_forms, TILE, x[i]);
    CASE(invalidated_and_reused, 2 * TILE, x[i]);
    CASE(many_phases, 1, x[i]);
    CASE(many_copies, TILE, x[i], 16384);
    CASE(nothing_at_all, TILE, x[i]);
    CASE(elected, 2 * TILE, x[i]);
    return 0;
}

// Stores and reductions that an mbarrier of another block counts, in every form, and copies from block to block: what goes on behind
// the wait, who may leave meanwhile, what is carried along.

#include <string.h>
#include "../cluster.h"
#include "right.h"

#define COUNTED ".mbarrier::complete_tx::bytes"

// ---- every form ----

struct forms {
    unsigned u32[2], pair[2], four[4], of_scope, generic;
    int s32;
    float f32, floats[4];
    unsigned long long u64[2], wide_pair[2];
    long long s64;
    double f64, doubles[2];
};
enum { FORM_BYTES = 4 * (2 + 2 + 4 + 2 + 1 + 5) + 8 * (2 + 2 + 1 + 3) };

#define SEND(FORM, TO, CONSTRAINT, VALUE) \
    asm volatile("st.async" FORM " [%0], %1, [%2];" ::"r"(mapped(&(TO), other)), CONSTRAINT(VALUE), "r"(remote_bar) \
                 : "memory")
#define SEND_TWO(FORM, TO, CONSTRAINT, A, B) \
    asm volatile("st.async" FORM " [%0], {%1, %2}, [%3];" ::"r"(mapped(&(TO), other)), CONSTRAINT(A), CONSTRAINT(B), \
                 "r"(remote_bar) \
                 : "memory")
#define SEND_FOUR(FORM, TO, CONSTRAINT, A, B, C, D) \
    asm volatile("st.async" FORM " [%0], {%1, %2, %3, %4}, [%5];" ::"r"(mapped(&(TO), other)), CONSTRAINT(A), \
                 CONSTRAINT(B), CONSTRAINT(C), CONSTRAINT(D), "r"(remote_bar) \
                 : "memory")

__global__ void __cluster_dims__(2) all_forms(struct forms *out)
{
    __shared__ alignas(16) struct forms got;
    __shared__ uint64_t bar;
    unsigned other = cluster_rank() ^ 1, r = cluster_rank() + 1, remote_bar = mapped(&bar, other);
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, FORM_BYTES);
        SEND(".shared::cluster" COUNTED ".b32", got.u32[0], "r", 10 * r);
        SEND(".weak.shared::cluster" COUNTED ".u32", got.u32[1], "r", 11 * r);
        SEND(".shared::cluster" COUNTED ".s32", got.s32, "r", -12 * (int)r);
        SEND(".shared::cluster" COUNTED ".f32", got.f32, "f", 1.5f * r);
        SEND(".shared::cluster" COUNTED ".b64", got.u64[0], "l", 13ull * r << 32);
        SEND(".shared::cluster" COUNTED ".u64", got.u64[1], "l", 14ull * r << 32);
        SEND(".shared::cluster" COUNTED ".s64", got.s64, "l", -(15ll * r << 32));
        SEND(".shared::cluster" COUNTED ".f64", got.f64, "d", 2.5 * r);
        SEND(".cluster.shared::cluster" COUNTED ".u32", got.of_scope, "r", 16 * r);
        SEND_TWO(".shared::cluster" COUNTED ".v2.b32", got.pair[0], "r", 17 * r, 18 * r);
        SEND_TWO(".shared::cluster" COUNTED ".v2.u64", got.wide_pair[0], "l", 19ull * r << 32, 20ull * r);
        SEND_TWO(".weak.shared::cluster" COUNTED ".v2.f64", got.doubles[0], "d", 3.5 * r, 4.5 * r);
        SEND_FOUR(".shared::cluster" COUNTED ".v4.s32", got.four[0], "r", 21 * r, 22 * r, 23 * r, 24 * r);
        SEND_FOUR(".shared::cluster" COUNTED ".v4.f32", got.floats[0], "f", 5.5f * r, 6.5f * r, 7.5f * r, 8.5f * r);
        unsigned long long place, barrier;
        asm volatile("mapa.u64 %0, %1, %2;" : "=l"(place) : "l"(&got.generic), "r"(other));
        asm volatile("mapa.u64 %0, %1, %2;" : "=l"(barrier) : "l"(&bar), "r"(other));
        asm volatile("st.async" COUNTED ".u32 [%0], %1, [%2];" ::"l"(place), "r"(25 * r), "l"(barrier) : "memory");
        CLUSTER_MBARRIER_WAIT(&bar, 0);
        struct forms *o = &out[blockIdx.x];
        o->u32[0] = got.u32[0], o->u32[1] = got.u32[1], o->pair[0] = got.pair[0], o->pair[1] = got.pair[1];
        for (int i = 0; i < 4; i++)
            o->four[i] = got.four[i], o->floats[i] = got.floats[i];
        o->of_scope = got.of_scope, o->generic = got.generic, o->s32 = got.s32, o->f32 = got.f32;
        for (int i = 0; i < 2; i++)
            o->u64[i] = got.u64[i], o->wide_pair[i] = got.wide_pair[i], o->doubles[i] = got.doubles[i];
        o->s64 = got.s64, o->f64 = got.f64;
    }
    CLUSTER_SYNC();
}

// ---- reductions: all lanes of both blocks into the same words, beside the owner's own atomic operations ----

enum { OPERATIONS = 8 };

__global__ void __cluster_dims__(2) operations(unsigned *out, unsigned long long *wide)
{
    __shared__ unsigned word[OPERATIONS];
    __shared__ unsigned long long sums[2];
    __shared__ uint64_t bar;
    unsigned rank = cluster_rank(), i = threadIdx.x, x = 32 * rank + i;
    if (i < OPERATIONS)
        word[i] = i == 1 || i == 6 ? 500 : i == 5 ? ~0u : 0;
    if (i < 2)
        sums[i] = 1ull << 40;
    CLUSTER_SET_UP(bar, 1);
    if (i == 0)
        MBARRIER_ARRIVE_EXPECT(&bar, 64 * (4 * OPERATIONS + 16));
    for (unsigned to = 0; to < 2; to++) {
        unsigned b = mapped(&bar, to);
        RED_ASYNC("add.u32", mapped(&word[0], to), x, b);
        RED_ASYNC("min.u32", mapped(&word[1], to), 100 + x, b);
        RED_ASYNC("max.s32", mapped(&word[2], to), -5 + (int)x, b);
        RED_ASYNC("inc.u32", mapped(&word[3], to), 99, b);
        RED_ASYNC("or.b32", mapped(&word[4], to), 1u << x % 32, b);
        RED_ASYNC("and.b32", mapped(&word[5], to), ~(1u << x % 16), b);
        RED_ASYNC("dec.u32", mapped(&word[6], to), 1000, b);
        RED_ASYNC("xor.b32", mapped(&word[7], to), 1u << x % 3, b);
        asm volatile("red.async.relaxed.cluster.shared::cluster" COUNTED
                     ".add.u64 [%0], %1, [%2];" ::"r"(mapped(&sums[0], to)),
                     "l"((unsigned long long)x << 32), "r"(b)
                     : "memory");
        asm volatile("red.async.relaxed.cluster.shared::cluster" COUNTED
                     ".add.s64 [%0], %1, [%2];" ::"r"(mapped(&sums[1], to)),
                     "l"(-(long long)x), "r"(b)
                     : "memory");
    }
    atomicAdd(&word[0], 1);
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    __syncwarp();
    if (i < OPERATIONS)
        out[blockIdx.x * OPERATIONS + i] = word[i];
    if (i < 2)
        wide[blockIdx.x * 2 + i] = sums[i];
    CLUSTER_SYNC();
}

// In bulk, by both blocks into the first.
#define BULK_REDUCE(OP, TO, FROM) \
    asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta" COUNTED "." OP \
                 " [%0], [%1], 16, [%2];" ::"r"(mapped(TO, 0)), \
                 "r"(in_shared(FROM)), "r"(mapped(&bar, 0)) \
                 : "memory")

__global__ void __cluster_dims__(2) bulk_operations(unsigned *out)
{
    __shared__ alignas(16) unsigned row[4], to[OPERATIONS][4];
    __shared__ uint64_t bar;
    unsigned rank = cluster_rank(), i = threadIdx.x;
    if (i < 4)
        row[i] = 3 * rank + i + 3;
    to[i / 4][i % 4] = i / 4 == 1 ? 50 : i / 4 == 5 ? ~0u : 0;
    FENCE_ASYNC();
    CLUSTER_SET_UP(bar, 1);
    if (i == 0) {
        if (rank == 0)
            MBARRIER_ARRIVE_EXPECT(&bar, 2 * OPERATIONS * 16);
        BULK_REDUCE("add.u32", to[0], row);
        BULK_REDUCE("min.u32", to[1], row);
        BULK_REDUCE("max.s32", to[2], row);
        BULK_REDUCE("inc.u32", to[3], row);
        BULK_REDUCE("or.b32", to[4], row);
        BULK_REDUCE("and.b32", to[5], row);
        BULK_REDUCE("add.u64", to[6], row);
        BULK_REDUCE("xor.b32", to[7], row);
    }
    if (rank == 0) {
        CLUSTER_MBARRIER_WAIT(&bar, 0);
        out[blockIdx.x / 2 * 32 + i] = to[i / 4][i % 4];
    }
    CLUSTER_SYNC();
}

// ---- what comes behind ----

// What has come by st.async, which is of the generic proxy, goes on in bulk behind a fence: to the next block, and to global memory.
__global__ void goes_on(unsigned *out)
{
    __shared__ alignas(128) unsigned came[32], went[32];
    __shared__ uint64_t bar[2];
    unsigned rank = cluster_rank(), size = cluster_size(), next = (rank + 1) % size, i = threadIdx.x;
    CLUSTER_SET_UP(bar, 1);
    if (i < 2)
        MBARRIER_ARRIVE_EXPECT(&bar[i], 128);
    ST_ASYNC(mapped(&came[i], next), 100 * rank + i, mapped(&bar[0], next));
    CLUSTER_MBARRIER_WAIT(&bar[0], 0);
    FENCE_ASYNC_SHARED();
    __syncwarp();
    if (i == 0) {
        BULK_SEND(mapped(went, next), came, 128, mapped(&bar[1], next));
        BULK_STORE(out + blockIdx.x * 64, came, 128);
        BULK_COMMIT();
    }
    CLUSTER_MBARRIER_WAIT(&bar[1], 0);
    out[blockIdx.x * 64 + 32 + i] = went[i];
    if (i == 0)
        BULK_WAIT(0);
    CLUSTER_SYNC();
}

// Who has stored may leave at once.
__global__ void __cluster_dims__(2) sender_leaves(unsigned *out)
{
    __shared__ unsigned got[32];
    __shared__ uint64_t bar;
    unsigned i = threadIdx.x;
    CLUSTER_SET_UP(bar, 1);
    if (cluster_rank() == 0) {
        ST_ASYNC(mapped(&got[i], 1), 7 * i, mapped(&bar, 1));
        return;
    }
    if (i == 0)
        MBARRIER_ARRIVE_EXPECT(&bar, 128);
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x / 2 * 32 + i] = got[31 - i];
}

// Rows that nobody fills are carried along, and not read.
__global__ void __cluster_dims__(2) partly_filled(unsigned *out)
{
    __shared__ alignas(128) unsigned from[2][32], to[2][32];
    __shared__ uint64_t bar;
    unsigned other = cluster_rank() ^ 1, i = threadIdx.x;
    from[0][i] = 5 * i + cluster_rank();
    FENCE_ASYNC_SHARED();
    CLUSTER_SET_UP(bar, 1);
    if (i == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, 256);
        BULK_SEND(mapped(to, other), from, 256, mapped(&bar, other));
    }
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * 32 + i] = to[0][31 - i];
    CLUSTER_SYNC();
}

// All lanes store the same to one word, whose bytes count each time; then another value, once the word has been read.
__global__ void __cluster_dims__(2) one_word(unsigned *out, int rounds)
{
    __shared__ unsigned word;
    __shared__ uint64_t bar, read;
    unsigned rank = cluster_rank(), i = threadIdx.x;
    CLUSTER_SET_UP(bar, 1);
    CLUSTER_SET_UP(read, 32);
    for (int round = 0; round < rounds; round++)
        if (rank == 0) {
            ST_ASYNC(mapped(&word, 1), 1000 + round, mapped(&bar, 1));
            CLUSTER_MBARRIER_WAIT(&read, round % 2);
        } else {
            if (i == 0)
                MBARRIER_ARRIVE_EXPECT(&bar, 128);
            CLUSTER_MBARRIER_WAIT(&bar, round % 2);
            out[(blockIdx.x / 2 * rounds + round) * 32 + i] = word + i;
            REMOTE_ARRIVE(mapped(&read, 0));
        }
    CLUSTER_SYNC();
}

// What was sent says that what its sender read before has been read: the one that it goes to writes there again.
__global__ void __cluster_dims__(2) answered(unsigned *out, int rounds)
{
    __shared__ unsigned question[32], answer[32];
    __shared__ uint64_t asked, replied;
    unsigned rank = cluster_rank(), i = threadIdx.x;
    CLUSTER_SET_UP(asked, 1);
    CLUSTER_SET_UP(replied, 1);
    for (int round = 0; round < rounds; round++)
        if (rank == 0) {
            if (i == 0)
                MBARRIER_ARRIVE_EXPECT(&replied, 128);
            ST_ASYNC(mapped(&question[i], 1), 10 * round + i, mapped(&asked, 1));
            CLUSTER_MBARRIER_WAIT(&replied, round % 2);
            out[(blockIdx.x / 2 * rounds + round) * 32 + i] = answer[31 - i];
        } else {
            if (i == 0)
                MBARRIER_ARRIVE_EXPECT(&asked, 128);
            CLUSTER_MBARRIER_WAIT(&asked, round % 2);
            ST_ASYNC(mapped(&answer[i], 0), 2 * question[31 - i], mapped(&replied, 0));
        }
    CLUSTER_SYNC();
}

int main(void)
{
    struct forms *forms = to_device<struct forms>(NULL, 4), *f;
    CHECK(cudaMemset(forms, 0, 4 * sizeof *forms));
    all_forms<<<4, 32>>>(forms);
    f = to_host(forms, 4);
    for (int block = 0; block < 4; block++) {
        unsigned r = 2 - block % 2;  // of the one that sent it
        const struct forms *got = &f[block];
        SAME(got->u32[0], 10 * r);
        SAME(got->u32[1], 11 * r);
        SAME(got->s32, -12 * (int)r);
        SAME(got->f32, 1.5 * r);
        SAME(got->u64[0] >> 32, 13 * r);
        SAME(got->u64[1] >> 32, 14 * r);
        SAME(-got->s64 >> 32, 15 * r);
        SAME(got->f64, 2.5 * r);
        SAME(got->of_scope, 16 * r);
        for (int i = 0; i < 2; i++) {
            SAME(got->pair[i], (17 + i) * r);
            SAME(got->doubles[i], (3.5 + i) * r);
        }
        SAME(got->wide_pair[0] >> 32, 19 * r);
        SAME(got->wide_pair[1], 20 * r);
        for (int i = 0; i < 4; i++) {
            SAME(got->four[i], (21 + i) * r);
            SAME(got->floats[i], (5.5 + i) * r);
        }
        SAME(got->generic, 25 * r);
    }

    unsigned *out = to_device<unsigned>(NULL, 1024), *got;
    unsigned long long *sums = to_device<unsigned long long>(NULL, 8), *sum;
    operations<<<4, 32>>>(out, sums);
    got = to_host(out, 4 * OPERATIONS);
    sum = to_host(sums, 8);
    for (int block = 0; block < 4; block++) {
        const unsigned want[OPERATIONS] = {32 + 63 * 32, 100, 58, 64, ~0u, 0xffff0000, 500 - 64, 0};
        unsigned of_xor = 0;
        for (int x = 0; x < 64; x++)
            of_xor ^= 1u << x % 3;
        for (int i = 0; i < OPERATIONS; i++)
            SAME(got[block * OPERATIONS + i], i == 7 ? of_xor : want[i]);
        SAME(sum[block * 2] == (1ull << 40) + (63ull * 32 << 32), 1);
        SAME(sum[block * 2 + 1] == (1ull << 40) - 63 * 32, 1);
    }
    bulk_operations<<<2, 32>>>(out);
    got = to_host(out, 32);
    for (int i = 0; i < 4; i++) {
        unsigned a = i + 3, b = i + 6;
        const unsigned want[OPERATIONS] = {a + b, a, b, 2, a | b, a & b, a + b, a ^ b};
        for (int o = 0; o < OPERATIONS; o++)
            SAME(got[o * 4 + i], want[o]);
    }

    for (int size : {1, 2, 4}) {
        CHECK(launch_clusters(size, 4, 32, 0, false, goes_on, out));
        got = to_host(out, 4 * 64);
        for (int i = 0; i < 4 * 64; i++) {
            int block = i / 64, back = i % 64 < 32 ? 1 : 2;
            SAME(got[i], 100 * ((block % size + 2 * size - back) % size) + i % 32);
        }
    }
    sender_leaves<<<4, 32>>>(out);
    got = to_host(out, 64);
    for (int i = 0; i < 64; i++)
        SAME(got[i], 7 * (31 - i % 32));
    partly_filled<<<4, 32>>>(out);
    got = to_host(out, 128);
    for (int i = 0; i < 128; i++)
        SAME(got[i], 5 * (31 - i % 32) + 1 - i / 32 % 2);
    for (int rounds : {1, 5}) {
        one_word<<<2, 32>>>(out, rounds);
        got = to_host(out, rounds * 32);
        for (int i = 0; i < rounds * 32; i++)
            SAME(got[i], 1000 + i / 32 + i % 32);
        answered<<<4, 32>>>(out, rounds);
        got = to_host(out, 2 * rounds * 32);
        for (int i = 0; i < 2 * rounds * 32; i++)
            SAME(got[i], 2 * (10 * (i / 32 % rounds) + i % 32));
    }
    return 0;
}

// Clusters of blocks: their numbers and ranks, addresses in another block's shared memory and each access to it, remote
// mbarriers, st.async and red.async, multicast, and copies from one block's shared memory to another's. Prints a line of JSON for
// each case:
//
//   nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a cluster.cu -o cluster && ./cluster > cluster_h200.jsonl
//
// "words" are what the kernel wrote, "hash" is of all that all blocks of the cluster hold afterwards. Addresses are not printed, but
// what is told of them: a rank, and whether two are equal.

#include "elements.h"

#include <cooperative_groups.h>
#include <cuda.h>

namespace cg = cooperative_groups;

enum {
    THREADS = 32,
    MOST_BLOCKS = 64,
    EACH = 600,      // words of 32 bits that a block may give back
    WINDOW = 2048,   // bytes of shared memory of a block that copies touch
    MEMORY = 16384,  // bytes of global memory
    POLLS = 200000,
    OFFSET = 0x3ffff  // of shared addresses: the bits below the rank's
};

static unsigned *given;  // of the device: EACH words of each block
static unsigned char *memory;
static char name[200];

static __device__ unsigned here(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
static __device__ unsigned rank()
{
    unsigned r;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
}
static __device__ unsigned ranks()
{
    unsigned r;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(r));
    return r;
}
static __device__ unsigned at_rank(unsigned address, unsigned r)
{
    unsigned a;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(address), "r"(r));
    return a;
}
static __device__ void meet()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
static __device__ void begin_barrier(unsigned barrier, unsigned count)
{
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
}
static __device__ bool is_over(unsigned barrier, unsigned parity)
{
    unsigned over;
    asm volatile("{ .reg .pred p;\n"
                 "mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(over)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    return over;
}
static __device__ bool wait(unsigned barrier, unsigned parity)
{
    for (int i = 0; i < POLLS; i++)
        if (is_over(barrier, parity))
            return true;
    return false;
}
static __device__ void expect(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// ---- the host ----

template <typename... Parameters, typename... Arguments>
static void launch(dim3 grid, dim3 cluster, void (*kernel)(Parameters...), Arguments... arguments)
{
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = cluster.x;
    attribute.val.clusterDim.y = cluster.y;
    attribute.val.clusterDim.z = cluster.z;
    config.gridDim = grid;
    config.blockDim = dim3(THREADS);
    config.attrs = &attribute;
    config.numAttrs = cluster.x != 0;  // else: as <<<>>> launches
    CHECK(cudaMemset(given, 0, MOST_BLOCKS * EACH * 4));
    CHECK(cudaLaunchKernelEx(&config, kernel, (Parameters)arguments...));
    CHECK(cudaDeviceSynchronize());
}

static unsigned seen[MOST_BLOCKS * EACH];

static void show_words(int blocks, int words)
{
    CHECK(cudaMemcpy(seen, given, sizeof seen, cudaMemcpyDeviceToHost));
    printf("{\"case\": \"%s\", \"words\": \"", name);
    for (int b = 0; b < blocks; b++)
        for (int i = 0; i < words; i++)
            printf("%s%x", i ? " " : b ? ", " : "", seen[b * EACH + i]);
    printf("\"}\n");
    fflush(stdout);
}

// The first words of each block are shown, the others make the hash.
static void show_hash(int blocks, int words, int shown)
{
    CHECK(cudaMemcpy(seen, given, sizeof seen, cudaMemcpyDeviceToHost));
    unsigned long long h = 14695981039346656037ull;
    printf("{\"case\": \"%s\", \"words\": \"", name);
    for (int b = 0; b < blocks; b++) {
        for (int i = 0; i < shown; i++)
            printf("%s%x", i ? " " : b ? ", " : "", seen[b * EACH + i]);
        for (int i = shown; i < words; i++)
            h = (h ^ seen[b * EACH + i]) * 1099511628211ull, h ^= h >> 31;
    }
    printf("\", \"hash\": \"%016llx\"}\n", h);
    fflush(stdout);
}

// ---- numbers ----

#define REGISTER(NAME) \
    asm volatile("mov.u32 %0, %%" NAME ";" : "=r"(word)); \
    *out++ = word;
#define REGISTERS(NAME) REGISTER(NAME ".x") REGISTER(NAME ".y") REGISTER(NAME ".z")

static __device__ void write_numbers(unsigned *given)
{
    unsigned word, *out = given + (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)) * EACH;
    if (threadIdx.x)
        return;
    // clang-format off: as below
    REGISTERS("ctaid") REGISTERS("clusterid") REGISTERS("nclusterid") REGISTERS("cluster_ctaid") REGISTERS("cluster_nctaid")
    REGISTER("cluster_ctarank") REGISTER("cluster_nctarank")
        // clang-format on
        asm volatile("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(word));
    *out++ = word;
    dim3 index = __clusterIdx(), in = __clusterRelativeBlockIdx(), blocks = __clusterDim(),
         clusters = __clusterGridDimInClusters();
    *out++ = index.x + 100 * index.y + 10000 * index.z;
    *out++ = in.x + 100 * in.y + 10000 * in.z;
    *out++ = blocks.x + 100 * blocks.y + 10000 * blocks.z;
    *out++ = clusters.x + 100 * clusters.y + 10000 * clusters.z;
    *out++ = __clusterRelativeBlockRank();
    *out++ = __clusterSizeInBlocks();
    *out++ = __clusterDimIsSpecified();
    auto cluster = cg::this_cluster();
    *out++ = cluster.block_rank();
    *out++ = cluster.num_blocks();
    *out++ = cluster.thread_rank();
    *out++ = cluster.num_threads();
    *out++ = cluster.block_index().x + 100 * cluster.block_index().y + 10000 * cluster.block_index().z;
    *out++ = cluster.dim_blocks().x + 100 * cluster.dim_blocks().y + 10000 * cluster.dim_blocks().z;
    *out++ = cluster.dim_threads().x + 100 * cluster.dim_threads().y + 10000 * cluster.dim_threads().z;
    *out++ = cg::this_grid().cluster_rank();
    *out++ = cg::this_grid().num_clusters();
    *out++ = cg::this_grid().block_rank();
}
__global__ void numbers(unsigned *given) { write_numbers(given); }
__global__ void __cluster_dims__(1, 1, 1) numbers_of_one(unsigned *given) { write_numbers(given); }
__global__ void __cluster_dims__(2, 1, 2) numbers_of_four(unsigned *given) { write_numbers(given); }
enum { NUMBERS = 35 };

static void show_numbers()
{
    const struct {
        dim3 grid, cluster;
    } shapes[] = {{{3, 2, 1}, {0, 0, 0}}, {{3, 2, 1}, {1, 1, 1}}, {{4, 1, 1}, {2, 1, 1}}, {{2, 4, 1}, {1, 2, 1}},
                  {{4, 2, 2}, {2, 2, 2}}, {{2, 2, 4}, {1, 1, 2}}, {{8, 2, 1}, {8, 1, 1}}, {{3, 3, 2}, {3, 1, 1}},
                  {{2, 6, 1}, {2, 3, 1}}, {{5, 2, 2}, {5, 1, 1}}, {{1, 7, 2}, {1, 7, 1}}, {{2, 2, 8}, {1, 1, 8}},
                  {{4, 4, 2}, {2, 4, 1}}, {{4, 4, 4}, {4, 1, 2}}, {{2, 3, 4}, {1, 3, 2}}};
    for (auto s : shapes) {
        snprintf(name, sizeof name, "numbers grid %ux%ux%u cluster %ux%ux%u", s.grid.x, s.grid.y, s.grid.z, s.cluster.x,
                 s.cluster.y, s.cluster.z);
        launch(s.grid, s.cluster, numbers, given);
        show_words(s.grid.x * s.grid.y * s.grid.z, NUMBERS);
    }
    strcpy(name, "numbers __cluster_dims__ 1");
    launch(dim3(2), dim3(0, 0, 0), numbers_of_one, given);
    show_words(2, NUMBERS);
    strcpy(name, "numbers __cluster_dims__ 2x1x2");
    launch(dim3(4, 2, 2), dim3(0, 0, 0), numbers_of_four, given);
    show_words(16, NUMBERS);
}

// ---- addresses ----

#define ASKED(SPACE, GENERIC) \
    asm volatile("{ .reg .pred p; isspacep." SPACE " p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(word) : "l"(GENERIC)); \
    *out++ = word;

__global__ void addresses(unsigned *given, const unsigned char *memory)
{
    __shared__ alignas(16) unsigned mine[64];
    unsigned *out = given + blockIdx.x * EACH, word, local;
    if (threadIdx.x == 0) {
        unsigned own = here(mine + 5);
        unsigned long long generic = (unsigned long long)(mine + 5);
        for (unsigned r = 0; r < ranks(); r++) {
            unsigned a = at_rank(own, r), again = at_rank(a, r), back = at_rank(a, rank()), asked;
            unsigned long long wide, cvta, from;
            asm volatile("mapa.u64 %0, %1, %2;" : "=l"(wide) : "l"(generic), "r"(r));
            asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(asked) : "r"(a));
            *out++ = asked;
            asm volatile("getctarank.u64 %0, %1;" : "=r"(asked) : "l"(wide));
            *out++ = asked;
            asm volatile("cvta.shared::cluster.u64 %0, %1;" : "=l"(cvta) : "l"((unsigned long long)a));
            asm volatile("cvta.to.shared::cluster.u64 %0, %1;" : "=l"(from) : "l"(wide));
            *out++ = cvta == wide;
            *out++ = from == a;
            *out++ = again == a;
            *out++ = at_rank(back, r) == a;
            *out++ = (a & OFFSET) == (own & OFFSET);
            *out++ = a - at_rank(own, 0) == r * (ranks() > 1 ? at_rank(own, 1) - at_rank(own, 0) : 0);
            *out++ = a == own;
            *out++ = wide == generic;
            ASKED("shared", wide)
            ASKED("shared::cta", wide)
            ASKED("shared::cluster", wide)
            ASKED("global", wide)
            ASKED("local", wide)
            unsigned *there = cg::this_cluster().map_shared_rank(mine + 5, r);
            *out++ = (unsigned long long)there == wide;
            *out++ = cg::this_cluster().query_shared_rank(there);
            *out++ = __cluster_map_shared_rank(mine + 5, r) == (void *)there;
            *out++ = __cluster_query_shared_rank(there);
            *out++ = __isShared(there);
            *out++ = __isClusterShared(there);
            *out++ = __isGlobal(there);
            *out++ = here(there) == a;
        }
        unsigned plain;
        asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(plain) : "r"(own));
        *out++ = plain == rank();
        ASKED("shared", generic)
        ASKED("shared::cta", generic)
        ASKED("shared::cluster", generic)
        ASKED("shared::cluster", memory)
        ASKED("shared::cluster", &local)
        *out++ = __isClusterShared(memory);
        asm volatile("" ::"l"(&local) : "memory");
    }
    meet();
}

static void show_addresses()
{
    for (int n : {1, 2, 3, 4, 8}) {
        snprintf(name, sizeof name, "addresses cluster %d", n);
        launch(dim3(2 * n), dim3(n), addresses, given, memory);
        show_words(2 * n, 23 * n + 7);
    }
}

// ---- accesses ----

// Loads: name, constraint, type of the register. Of vectors: two or four.
// clang-format off: it never comes to an end with lists in macros
#define LOADS(X) \
    X("ld.shared::cluster.u8", "=r", unsigned) \
    X("ld.shared::cluster.s8", "=r", int) X("ld.shared::cluster.u16", "=r", unsigned) \
        X("ld.shared::cluster.s16", "=r", int) X("ld.shared::cluster.b32", "=r", unsigned) \
            X("ld.shared::cluster.u32", "=r", unsigned) X("ld.shared::cluster.s32", "=r", int) \
                X("ld.shared::cluster.f32", "=f", float) X("ld.shared::cluster.b64", "=l", unsigned long long) \
                    X("ld.shared::cluster.u64", "=l", unsigned long long) X("ld.shared::cluster.s64", "=l", long long) \
                        X("ld.shared::cluster.f64", "=d", double) X("ld.volatile.shared::cluster.u32", "=r", unsigned) \
                            X("ld.relaxed.cluster.shared::cluster.u32", "=r", unsigned) \
                                X("ld.acquire.cluster.shared::cluster.u32", "=r", unsigned) \
                                    X("ld.acquire.gpu.shared::cluster.u64", "=l", unsigned long long)
#define VECTOR_LOADS(X) \
    X("ld.shared::cluster.v2.u8", 2, "=r", unsigned) \
    X("ld.shared::cluster.v4.u8", 4, "=r", unsigned) X("ld.shared::cluster.v2.u16", 2, "=r", unsigned) \
        X("ld.shared::cluster.v4.s16", 4, "=r", unsigned) X("ld.shared::cluster.v2.u32", 2, "=r", unsigned) \
            X("ld.shared::cluster.v4.u32", 4, "=r", unsigned) X("ld.shared::cluster.v2.f32", 2, "=f", float) \
                X("ld.shared::cluster.v4.f32", 4, "=f", float) \
                    X("ld.shared::cluster.v2.u64", 2, "=l", unsigned long long) \
                        X("ld.shared::cluster.v2.f64", 2, "=d", double)
#define STORES(X) \
    X("st.shared::cluster.u8", "r", unsigned) \
    X("st.shared::cluster.b16", "h", unsigned short) X("st.shared::cluster.u32", "r", unsigned) \
        X("st.shared::cluster.f32", "f", float) X("st.shared::cluster.u64", "l", unsigned long long) \
            X("st.shared::cluster.f64", "d", double) X("st.volatile.shared::cluster.u32", "r", unsigned) \
                X("st.relaxed.cluster.shared::cluster.u32", "r", unsigned) \
                    X("st.release.cluster.shared::cluster.u32", "r", unsigned)
#define VECTOR_STORES(X) \
    X("st.shared::cluster.v2.u8", 2, "r", unsigned) \
    X("st.shared::cluster.v4.u8", 4, "r", unsigned) X("st.shared::cluster.v2.u32", 2, "r", unsigned) \
        X("st.shared::cluster.v4.u32", 4, "r", unsigned) X("st.shared::cluster.v4.f32", 4, "f", float) \
            X("st.shared::cluster.v2.u64", 2, "l", unsigned long long)
// Operation and type, and the constraint and the type of the register. atom and red; CAS takes another operand.
#define ATOMICS(X) \
    X("add.u32", "r", unsigned) \
    X("add.s32", "r", int) X("add.u64", "l", unsigned long long) X("add.f32", "f", float) X("add.f64", "d", double) \
        X("inc.u32", "r", unsigned) X("dec.u32", "r", unsigned) X("min.u32", "r", unsigned) X("min.s32", "r", int) \
            X("min.u64", "l", unsigned long long) X("min.s64", "l", long long) X("max.u32", "r", unsigned) \
                X("max.s32", "r", int) X("max.u64", "l", unsigned long long) X("max.s64", "l", long long) \
                    X("and.b32", "r", unsigned) X("and.b64", "l", unsigned long long) X("or.b32", "r", unsigned) \
                        X("or.b64", "l", unsigned long long) X("xor.b32", "r", unsigned) \
                            X("xor.b64", "l", unsigned long long)
// What atom returns of these is not compared: nvcc 13.0 loses the low byte of it, also in the block's own shared memory.
#define SUMS_OF_HALVES(X) X("add.noftz.f16", "h", unsigned short) X("add.noftz.bf16", "h", unsigned short)
#define EXCHANGES(X) X("exch.b32", "r", unsigned) X("exch.b64", "l", unsigned long long)
#define SWAPS(X) X("cas.b16", "h", unsigned short) X("cas.b32", "r", unsigned) X("cas.b64", "l", unsigned long long)

// clang-format on

template <typename T> static __device__ T number(unsigned long long bits)
{
    T t;
    memcpy(&t, &bits, sizeof t);
    return t;
}
template <typename T> static __device__ void keep(unsigned *out, const T &t) { memcpy(out, &t, sizeof t); }

#define LOAD(TEXT, C, T) \
    if (what == k++) { \
        T x; \
        asm volatile(TEXT " %0, [%1];" : C(x) : "r"(a) : "memory"); \
        keep(out, x); \
    }
#define LOAD_VECTOR(TEXT, N, C, T) \
    if (what == k++) { \
        T x[4] = {}; \
        if (N == 2) \
            asm volatile(TEXT " {%0, %1}, [%2];" : C(x[0]), C(x[1]) : "r"(a) : "memory"); \
        LOAD_FOUR_##N(TEXT, C) keep(out, x); \
    }
#define LOAD_FOUR_2(TEXT, C)
#define LOAD_FOUR_4(TEXT, C) \
    asm volatile(TEXT " {%0, %1, %2, %3}, [%4];" : C(x[0]), C(x[1]), C(x[2]), C(x[3]) : "r"(a) : "memory");
#define STORE(TEXT, C, T) \
    if (what == k++) \
        asm volatile(TEXT " [%0], %1;" ::"r"(a), C(number<T>(value)) : "memory");
#define STORE_VECTOR(TEXT, N, C, T) \
    if (what == k++) { \
        T x = number<T>(value), y = number<T>(value + 257), z = number<T>(value + 3), w = number<T>(value * 5); \
        STORE_##N(TEXT, C) \
    }
#define STORE_2(TEXT, C) \
    asm volatile(TEXT " [%0], {%1, %2};" ::"r"(a), C(x), C(y) : "memory"); \
    (void)z, (void)w;
#define STORE_4(TEXT, C) asm volatile(TEXT " [%0], {%1, %2, %3, %4};" ::"r"(a), C(x), C(y), C(z), C(w) : "memory");
#define ATOM(TEXT, C, T) \
    if (what == k++) { \
        T x; \
        asm volatile("atom.shared::cluster." TEXT " %0, [%1], %2;" \
                     : "=" C(x) \
                     : "r"(a), C(number<T>(value)) \
                     : "memory"); \
        keep(out, x); \
    }
#define ATOM_OF_CLUSTER(TEXT, C, T) \
    if (what == k++) { \
        T x; \
        asm volatile("atom.acq_rel.cluster.shared::cluster." TEXT " %0, [%1], %2;" \
                     : "=" C(x) \
                     : "r"(a), C(number<T>(value)) \
                     : "memory"); \
        keep(out, x); \
    }
#define ATOM_GENERIC(TEXT, C, T) \
    if (what == k++) { \
        T x; \
        asm volatile("atom." TEXT " %0, [%1], %2;" : "=" C(x) : "l"(generic), C(number<T>(value)) : "memory"); \
        keep(out, x); \
    }
#define RED(TEXT, C, T) \
    if (what == k++) \
        asm volatile("red.shared::cluster." TEXT " [%0], %1;" ::"r"(a), C(number<T>(value)) : "memory");
#define SWAP(TEXT, C, T) \
    if (what == k++) { \
        T x; \
        asm volatile("atom.shared::cluster." TEXT " %0, [%1], %2, %3;" \
                     : "=" C(x) \
                     : "r"(a), C(number<T>(before)), C(number<T>(value)) \
                     : "memory"); \
        keep(out, x); \
    }
#define NAMED(TEXT, ...) TEXT,
#define NAMED_ATOM(TEXT, ...) "atom.shared::cluster." TEXT,
#define NAMED_ATOM_OF_CLUSTER(TEXT, ...) "atom.acq_rel.cluster.shared::cluster." TEXT,
#define NAMED_GENERIC(TEXT, ...) "atom." TEXT,
#define NAMED_RED(TEXT, ...) "red.shared::cluster." TEXT,
static const char *const access_names[] = {LOADS(NAMED) VECTOR_LOADS(NAMED) STORES(NAMED) VECTOR_STORES(NAMED)
                                               ATOMICS(NAMED_ATOM) EXCHANGES(NAMED_ATOM) SWAPS(NAMED_ATOM)
                                                   ATOMICS(NAMED_ATOM_OF_CLUSTER) ATOMICS(NAMED_GENERIC)
                                                       ATOMICS(NAMED_RED) SUMS_OF_HALVES(NAMED_RED) "*p",
                                           "*p = x",
                                           "atomicAdd",
                                           "atomicCAS",
                                           "atomicExch",
                                           "float4",
                                           "= float4"};

// Thread 0 of each block works on the next block's shared memory.
__global__ void accesses(unsigned *given, int what, unsigned long long value)
{
    __shared__ alignas(16) unsigned mine[16];
    unsigned *out = given + blockIdx.x * EACH;
    if (threadIdx.x < 16)
        mine[threadIdx.x] = (threadIdx.x + 1) * 0x3c00f913 ^ rank() * 0x01000193;
    meet();
    if (threadIdx.x == 0) {
        unsigned next = (rank() + 1) % ranks(), a = at_rank(here(mine + 4), next);
        unsigned *there = cg::this_cluster().map_shared_rank(mine + 4, next);
        unsigned long long generic = (unsigned long long)there;
        unsigned long long before = (6 * 0x3c00f913u ^ next * 0x01000193) * (1ull << 32) |
                                    (5 * 0x3c00f913u ^ next * 0x01000193);
        int k = 0;
        // clang-format off: as above
        LOADS(LOAD) VECTOR_LOADS(LOAD_VECTOR) STORES(STORE) VECTOR_STORES(STORE_VECTOR) ATOMICS(ATOM) EXCHANGES(ATOM) SWAPS(SWAP)
        ATOMICS(ATOM_OF_CLUSTER) ATOMICS(ATOM_GENERIC) ATOMICS(RED) SUMS_OF_HALVES(RED)
        if (what == k++)
            *out = *there;
        // clang-format on
        if (what == k++)
            *there = (unsigned)value;
        if (what == k++)
            *out = atomicAdd(there, (unsigned)value);
        if (what == k++)
            *out = atomicCAS(there, (unsigned)before, (unsigned)value);
        if (what == k++)
            *out = atomicExch(there, (unsigned)value);
        if (what == k++)
            keep(out, *(float4 *)there);
        if (what == k++)
            *(float4 *)there = make_float4(1, 2, 3, (float)value);
    }
    meet();
    if (threadIdx.x < 16)
        out[8 + threadIdx.x] = mine[threadIdx.x];
}

static void show_accesses()
{
    const unsigned long long values[] = {0x40091eb851eb851full, 0xbff0000080003c01ull, 3};
    for (size_t i = 0; i < sizeof access_names / sizeof *access_names; i++)
        for (unsigned long long value : values)
            for (int n = 1; n <= 4; n += 3) {
                snprintf(name, sizeof name, "%s %llx cluster %d", access_names[i], value, n);
                launch(dim3(n), dim3(n), accesses, given, (int)i, value);
                show_hash(n, 24, 2);
            }
}

// ---- mbarriers ----

#define REMOTE(X) \
    X("nothing", "") \
    X("arrive", "mbarrier.arrive.shared::cluster.b64 _, [%0];") \
    X("arrive release", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];") \
    X("arrive 2", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], 2;") \
    X("arrive relaxed", "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];") \
    X("arrive 5", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], 5;") \
    X("arrive 5, 3", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], 5;\n" \
                     "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], 3;") \
    X("arrive expect_tx 16", "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], 16;") \
    X("arrive expect_tx 0", "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], 0;") \
    X("expect_tx 32", "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%0], 32;") \
    X("expect_tx 32, 12", "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%0], 32;\n" \
                          "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%0], 12;") \
    X("expect_tx 16, complete_tx 16", "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%0], 16;\n" \
                                      "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], 16;") \
    X("complete_tx 16, expect_tx 20", "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], 16;\n" \
                                      "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%0], 20;") \
    X("arrive_drop", "mbarrier.arrive_drop.release.cluster.shared::cluster.b64 _, [%0];") \
    X("arrive_drop 2", "mbarrier.arrive_drop.release.cluster.shared::cluster.b64 _, [%0], 2;") \
    X("arrive_drop relaxed", "mbarrier.arrive_drop.relaxed.cluster.shared::cluster.b64 _, [%0];") \
    X("arrive_drop expect_tx 16", "mbarrier.arrive_drop.expect_tx.release.cluster.shared::cluster.b64 _, [%0], 16;")
#define DO_REMOTE(NAME, TEXT) \
    if (what == k++) \
        asm volatile(TEXT ::"r"(there) : "memory");
static const char *const remote_names[] = {REMOTE(NAMED)};

static __device__ unsigned pending_before_arriving(unsigned barrier)
{
    unsigned long long state;
    unsigned pending;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(barrier) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
    return pending;
}

// Block 0 works on the mbarrier of the last block, of 5 arrivals, which then looks at it: is the phase over, how many arrivals are
// pending, how many bytes are left, and how many arrivals the next phase has.
__global__ void remote(unsigned *given, int what)
{
    __shared__ alignas(8) unsigned long long mine;
    unsigned *out = given + blockIdx.x * EACH, barrier = here(&mine);
    begin_barrier(barrier, 5);
    meet();
    if (threadIdx.x == 0 && rank() == 0) {
        unsigned there = at_rank(barrier, ranks() - 1);
        int k = 0;
        REMOTE(DO_REMOTE)
    }
    meet();
    if (threadIdx.x == 0 && rank() == ranks() - 1) {
        unsigned parity = is_over(barrier, 0), pending = pending_before_arriving(barrier);
        *out++ = parity;
        *out++ = pending;
        if (pending > 1)
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(pending - 1) : "memory");
        int more = 0;
        for (; more < 64 && !is_over(barrier, parity); more++)
            asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 4;" ::"r"(barrier) : "memory");
        *out++ = more;
        *out++ = pending_before_arriving(barrier);
    }
    meet();
}

// complete_tx in front of expect_tx: the owner expects the bytes.
__global__ void completed_early(unsigned *given)
{
    __shared__ alignas(8) unsigned long long mine;
    unsigned *out = given + blockIdx.x * EACH, barrier = here(&mine);
    begin_barrier(barrier, 1);
    meet();
    if (threadIdx.x == 0 && rank() == 0)
        asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], 16;" ::"r"(at_rank(barrier, 1))
                     : "memory");
    meet();
    if (threadIdx.x == 0 && rank() == 1) {
        *out++ = is_over(barrier, 0);
        asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 12;" ::"r"(barrier) : "memory");
        *out++ = is_over(barrier, 0);
        expect(barrier, 4);
        *out++ = is_over(barrier, 0);
        *out++ = pending_before_arriving(barrier);
    }
    meet();
}

// All threads of all blocks arrive at the mbarrier of each block, in several phases.
__global__ void all_arrive(unsigned *given)
{
    __shared__ alignas(8) unsigned long long mine;
    unsigned *out = given + blockIdx.x * EACH, barrier = here(&mine), n = ranks(), phases = 0;
    begin_barrier(barrier, n * THREADS);
    meet();
    for (int phase = 0; phase < 5; phase++) {
        for (unsigned r = 0; r < n; r++)
            asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(at_rank(barrier, r))
                         : "memory");
        phases += wait(barrier, phase & 1);
    }
    out[threadIdx.x] = phases;
    meet();
}

static void show_barriers()
{
    for (size_t i = 0; i < sizeof remote_names / sizeof *remote_names; i++)
        for (int n = 1; n <= 3; n++) {
            snprintf(name, sizeof name, "mbarrier %s cluster %d", remote_names[i], n);
            launch(dim3(n), dim3(n), remote, given, (int)i);
            show_words(n, 4);
        }
    strcpy(name, "mbarrier complete_tx before expect_tx");
    launch(dim3(2), dim3(2), completed_early, given);
    show_words(2, 4);
    for (int n : {1, 2, 4, 8}) {
        snprintf(name, sizeof name, "mbarrier all arrive cluster %d", n);
        launch(dim3(n), dim3(n), all_arrive, given);
        show_words(n, THREADS);
    }
}

// ---- st.async, red.async ----

#define BYTES_OF ".mbarrier::complete_tx::bytes"
// clang-format off: it never comes to an end with lists in macros
#define SENT(X) \
    X("b32", "r", unsigned, 1) \
    X("u32", "r", unsigned, 1) X("s32", "r", int, 1) X("f32", "f", float, 1) X("b64", "l", unsigned long long, 1) \
        X("u64", "l", unsigned long long, 1) X("s64", "l", long long, 1) X("f64", "d", double, 1) \
            X("v2.b32", "r", unsigned, 2) X("v2.u32", "r", unsigned, 2) X("v2.s32", "r", int, 2) \
                X("v2.f32", "f", float, 2) X("v2.b64", "l", unsigned long long, 2) \
                    X("v2.u64", "l", unsigned long long, 2) X("v2.s64", "l", long long, 2) X("v2.f64", "d", double, 2) \
                        X("v4.b32", "r", unsigned, 4) X("v4.u32", "r", unsigned, 4) X("v4.s32", "r", int, 4) \
                            X("v4.f32", "f", float, 4)
#define REDUCED(X) \
    X("inc.u32", "r", unsigned, 1) \
    X("dec.u32", "r", unsigned, 1) X("min.u32", "r", unsigned, 1) X("min.s32", "r", int, 1) \
        X("max.u32", "r", unsigned, 1) X("max.s32", "r", int, 1) X("add.u32", "r", unsigned, 1) \
            X("add.s32", "r", int, 1) X("and.b32", "r", unsigned, 1) X("or.b32", "r", unsigned, 1) \
                X("xor.b32", "r", unsigned, 1) X("add.u64", "l", unsigned long long, 1)
// clang-format on

#define SEND(TEXT, C, T, N) \
    if (what == k++) { \
        T x = number<T>(value), y = number<T>(value + 257), z = number<T>(value + 3), w = number<T>(value * 5); \
        (void)y, (void)z, (void)w; \
        SEND_##N(TEXT, C) bytes = N * sizeof(T); \
    }
#define SEND_1(TEXT, C) \
    asm volatile("st.async.shared::cluster" BYTES_OF "." TEXT " [%0], %1, [%2];" ::"r"(a), C(x), "r"(b) : "memory");
#define SEND_2(TEXT, C) \
    asm volatile("st.async.weak.shared::cluster" BYTES_OF "." TEXT " [%0], {%1, %2}, [%3];" ::"r"(a), C(x), C(y), \
                 "r"(b) \
                 : "memory");
#define SEND_4(TEXT, C) \
    asm volatile("st.async.shared::cluster" BYTES_OF "." TEXT " [%0], {%1, %2, %3, %4}, [%5];" ::"r"(a), C(x), C(y), \
                 C(z), C(w), "r"(b) \
                 : "memory");
#define REDUCE(TEXT, C, T, N) \
    if (what == k++) { \
        asm volatile("red.async.relaxed.cluster.shared::cluster" BYTES_OF "." TEXT " [%0], %1, [%2];" ::"r"(a), \
                     C(number<T>(value)), "r"(b) \
                     : "memory"); \
        bytes = sizeof(T); \
    }
#define NAMED_SENT(TEXT, ...) "st.async " TEXT,
#define NAMED_REDUCED(TEXT, ...) "red.async " TEXT,
static const char *const sent_names[] = {SENT(NAMED_SENT) REDUCED(NAMED_REDUCED)};

// Each block sends to the next one: its lanes 0 to 3 one each.
__global__ void sends(unsigned *given, int what, unsigned long long value)
{
    __shared__ alignas(16) unsigned mine[32];
    __shared__ alignas(8) unsigned long long barrier;
    unsigned *out = given + blockIdx.x * EACH;
    mine[threadIdx.x] = (threadIdx.x + 1) * 0x3c00f913 ^ rank() * 0x01000193;
    begin_barrier(here(&barrier), 1);
    meet();
    int bytes = 0, k = 0;
    if (threadIdx.x < 4) {
        unsigned next = (rank() + 1) % ranks(), a = at_rank(here(mine + 4 + 4 * threadIdx.x), next),
                 b = at_rank(here(&barrier), next);
        value += threadIdx.x;
        SENT(SEND) REDUCED(REDUCE)
    }
    if (threadIdx.x == 0)
        expect(here(&barrier), 4 * bytes);
    bool done = wait(here(&barrier), 0);
    if (threadIdx.x == 0)
        *out = done;
    if (done)
        out[8 + threadIdx.x] = mine[threadIdx.x];
    meet();
}

static void show_sends()
{
    const unsigned long long values[] = {0x40091eb851eb851full, 0xbff0000080003c01ull, 3};
    for (size_t i = 0; i < sizeof sent_names / sizeof *sent_names; i++)
        for (unsigned long long value : values)
            for (int n = 1; n <= 4; n += n == 1 ? 1 : 2) {
                snprintf(name, sizeof name, "%s %llx cluster %d", sent_names[i], value, n);
                launch(dim3(n), dim3(n), sends, given, (int)i, value);
                show_hash(n, 40, 1);
            }
}

// ---- copies ----

struct copy {
    int from;           // rank of the block that begins it
    unsigned mask, at;  // of multicast; place in the window
    unsigned bytes;
    int to;               // whose shared memory the address names: a rank, or -1: as the block itself writes it
    int rank, corner[3];  // of a tensor
};

static __device__ void fill(unsigned *window, unsigned barrier)
{
    for (int i = threadIdx.x; i < WINDOW / 4; i += THREADS)
        window[i] = i * 0x9e3779b1 ^ rank() * 0x01000193;
    asm volatile("fence.proxy.async;" ::: "memory");
    begin_barrier(barrier, 1);
}
static __device__ void finish_copy(unsigned *given, const unsigned *window, unsigned barrier, bool receives)
{
    unsigned *out = given + blockIdx.x * EACH;
    bool done = receives && wait(barrier, 0);
    if (threadIdx.x == 0)
        *out = done;
    if (done == receives)
        for (int i = threadIdx.x; i < WINDOW / 4; i += THREADS)
            out[8 + i] = window[i];
    meet();
}
#define WINDOW_AND_BARRIER \
    __shared__ alignas(1024) unsigned window[WINDOW / 4]; \
    __shared__ alignas(8) unsigned long long mbarrier; \
    unsigned barrier = here(&mbarrier), tile = here(window) + c.at; \
    fill(window, barrier);

__global__ void multicast(unsigned *given, const unsigned char *memory, copy c)
{
    WINDOW_AND_BARRIER
    bool receives = c.mask >> rank() & 1;
    if (receives && threadIdx.x == 0)
        expect(barrier, c.bytes);
    meet();
    if (rank() == c.from && threadIdx.x == 0) {
        if (c.to >= 0)
            tile = at_rank(tile, c.to);
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::
                "r"(tile),
            "l"(memory + 16 * c.from), "r"(c.bytes), "r"(c.to >= 0 ? at_rank(barrier, c.to) : barrier),
            "h"((unsigned short)c.mask)
            : "memory");
    }
    finish_copy(given, window, barrier, receives);
}

// To one other block, without multicast.
__global__ void to_another(unsigned *given, const unsigned char *memory, copy c)
{
    WINDOW_AND_BARRIER
    bool receives = rank() == c.to;
    meet();
    if (rank() == c.from && threadIdx.x == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         at_rank(tile, c.to)),
                     "l"(memory + 16 * c.from), "r"(c.bytes), "r"(at_rank(barrier, c.to))
                     : "memory");
    if (receives && threadIdx.x == 0)
        expect(barrier, c.bytes);
    finish_copy(given, window, barrier, receives);
}

__global__ void multicast_tensor(unsigned *given, const __grid_constant__ CUtensorMap map, copy c)
{
    WINDOW_AND_BARRIER
    bool receives = c.mask >> rank() & 1;
    if (receives && threadIdx.x == 0)
        expect(barrier, c.bytes);
    meet();
    if (rank() == c.from && threadIdx.x == 0) {
        if (c.to >= 0) {
            tile = at_rank(tile, c.to);
            barrier = at_rank(barrier, c.to);
        }
#define TENSOR(D, CORNER, ...) \
    asm volatile("cp.async.bulk.tensor." D \
                 ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {" CORNER \
                 "}], [%2], %3;" ::"r"(tile), \
                 "l"(&map), "r"(barrier), "h"((unsigned short)c.mask), __VA_ARGS__ \
                 : "memory")
        if (c.rank == 1)
            TENSOR("1d", "%4", "r"(c.corner[0]));
        if (c.rank == 2)
            TENSOR("2d", "%4, %5", "r"(c.corner[0]), "r"(c.corner[1]));
        if (c.rank == 3)
            TENSOR("3d", "%4, %5, %6", "r"(c.corner[0]), "r"(c.corner[1]), "r"(c.corner[2]));
        barrier = here(&mbarrier);
    }
    finish_copy(given, window, barrier, receives);
}

#define REDUCTIONS(X) \
    X("copy", "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes") \
    X("add.u32", "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32") \
    X("add.s32", "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.s32") \
    X("add.u64", "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u64") \
    X("inc.u32", "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.inc.u32") \
    X("dec.u32", "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.dec.u32") \
    X("min.u32", "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.min.u32") \
    X("min.s32", "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.min.s32") \
    X("max.u32", "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.max.u32") \
    X("max.s32", "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.max.s32") \
    X("and.b32", "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.and.b32") \
    X("or.b32", "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.or.b32") \
    X("xor.b32", "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.xor.b32")
#define COPY_WITHIN(NAME, TEXT) \
    if (what == k++) \
        asm volatile(TEXT " [%0], [%1], %2, [%3];" ::"r"(at_rank(tile, c.to)), "r"(here(window) + WINDOW / 2), \
                     "r"(c.bytes), "r"(at_rank(barrier, c.to)) \
                     : "memory");
static const char *const reduction_names[] = {REDUCTIONS(NAMED)};

// From the second half of the window to the first half of another block's.
__global__ void within(unsigned *given, int what, copy c)
{
    WINDOW_AND_BARRIER
    bool receives = rank() == c.to;
    if (receives && threadIdx.x == 0)
        expect(barrier, c.bytes);
    meet();
    int k = 0;
    if (rank() == c.from && threadIdx.x == 0) {
        REDUCTIONS(COPY_WITHIN)
    }
    finish_copy(given, window, barrier, receives);
}

enum { COPIED = 8 + WINDOW / 4 };

static void show_multicast(int n, copy c)
{
    snprintf(name, sizeof name, "multicast cluster %d from %d mask %x at %u bytes %u to %d", n, c.from, c.mask, c.at,
             c.bytes, c.to);
    launch(dim3(n), dim3(n), multicast, given, memory, c);
    show_hash(n, COPIED, 1);
}

static void show_copies()
{
    for (int n = 1; n <= 8; n *= 2)
        for (unsigned mask = 1; mask < 1u << n; mask++) {
            show_multicast(n, {(int)mask % n, mask, mask % 8 * 16, 16 + mask % 5 * 112, -1});
            if (n == 4)
                show_multicast(n, {3 - (int)mask % n, mask, 128, 1024, 2});
        }
    for (unsigned n : {3, 5, 6, 7})
        show_multicast(n, {1, (1u << n) - 1, 64, 256, -1});
    for (int from = 0; from < 3; from++)
        for (int to = 0; to < 3; to++) {
            copy c = {from, 0, 32, 400, to};
            snprintf(name, sizeof name, "to another from %d to %d", from, to);
            launch(dim3(3), dim3(3), to_another, given, memory, c);
            show_hash(3, COPIED, 1);
        }
    for (size_t i = 0; i < sizeof reduction_names / sizeof *reduction_names; i++)
        for (int n = 1; n <= 3; n++)
            for (int to = 0; to < n; to++)
                for (unsigned bytes = 16; bytes <= 1024; bytes *= 8) {
                    copy c = {n / 2, 0, 16, bytes < 1024 ? bytes : 1024 - 16, to};
                    snprintf(name, sizeof name, "within %s cluster %d from %d to %d bytes %u", reduction_names[i], n,
                             c.from, to, c.bytes);
                    launch(dim3(n), dim3(n), within, given, (int)i, c);
                    show_hash(n, COPIED, 1);
                }
}

typedef CUresult encode_t(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                          const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,
                          CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

static void show_tensors()
{
    void *function = NULL;
    cudaDriverEntryPointQueryResult query;
    CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &query));
    encode_t *encode = (encode_t *)function;
    const cuuint32_t inner[] = {32, 16, 32, 64};  // elements of 2 bytes: as much as a swizzle spans
    for (int swizzle = 0; swizzle < 4; swizzle++)
        for (int rank = 1; rank <= 3; rank++)
            for (int outside = 0; outside < 2; outside++)
                for (int n = 2; n <= 8; n *= 2)
                    for (unsigned mask = 1; mask < 1u << n; mask += n < 8 ? 1 : 37) {
                        cuuint64_t sizes[] = {96, 10, 4}, strides[] = {208, 2096};
                        cuuint32_t box[] = {inner[swizzle], 4, 3}, steps[] = {1, 1, 1};
                        if (rank == 1)
                            box[0] = inner[swizzle] < 64 || !swizzle ? inner[swizzle] : 64;
                        copy c = {(int)mask * 5 % n,
                                  mask,
                                  mask % 2 && rank == 1 ? 1024u : 0,
                                  2 * box[0],
                                  mask % 3 ? -1 : (int)mask % n,
                                  rank,
                                  {8, 2, 1}};
                        for (int i = 1; i < rank; i++)
                            c.bytes *= box[i];
                        if (outside)
                            c.corner[0] = 96 - 8, c.corner[1] = -2, c.corner[2] = 2;
                        CUtensorMap map;
                        if (encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT16, rank, memory, sizes, strides, box, steps,
                                   CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)swizzle,
                                   CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS) {
                            printf("no map\n");
                            exit(1);
                        }
                        snprintf(name, sizeof name, "multicast %dd swizzle %d%s cluster %d from %d mask %x to %d", rank,
                                 swizzle, outside ? " outside" : "", n, c.from, mask, c.to);
                        launch(dim3(n), dim3(n), multicast_tensor, given, map, c);
                        show_hash(n, COPIED, 1);
                    }
}

int main()
{
    unsigned char bytes[MEMORY];
    for (int i = 0; i < MEMORY; i++)
        bytes[i] = (unsigned char)(i * 167 + i / 251);
    CHECK(cudaMalloc(&given, sizeof seen));
    CHECK(cudaMalloc(&memory, MEMORY));
    CHECK(cudaMemcpy(memory, bytes, MEMORY, cudaMemcpyHostToDevice));
    show_numbers();
    show_addresses();
    show_accesses();
    show_barriers();
    show_sends();
    show_copies();
    show_tensors();
    return 0;
}

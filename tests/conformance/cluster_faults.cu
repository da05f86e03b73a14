// What an H200 does with what a program of clusters must not do, or need not know: ranks that are not there, blocks that have
// ended, barriers of a cluster that are used amiss. Each case is a process of its own; what stands in a line is the error, "hang", or
// the words that the blocks wrote.
//
//   nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a cluster_faults.cu -o cluster_faults &&
//       ./cluster_faults > cluster_faults_h200.jsonl
//
// With the names of cases as arguments it runs these, with --list it names all.

#include "elements.h"

#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 32, WORDS = 8, MOST_BLOCKS = 4, SECONDS = 6, POLLS = 200000, FAULT = 3, LONG = 2000000 };

static __device__ unsigned here(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
static __device__ unsigned rank()
{
    unsigned r;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
}
static __device__ unsigned at_rank(unsigned address, unsigned r)
{
    unsigned a;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(address), "r"(r));
    return a;
}
static __device__ void arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
static __device__ void await() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }
static __device__ void meet()
{
    arrive();
    await();
}
static __device__ void meet_aligned()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
static __device__ bool is_over(unsigned barrier)
{
    unsigned over;
    asm volatile("{ .reg .pred p;\n"
                 "mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;\n"
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(over)
                 : "r"(barrier)
                 : "memory");
    return over;
}
static __device__ unsigned wait(unsigned barrier)
{
    for (int i = 0; i < POLLS; i++)
        if (is_over(barrier))
            return 1;
    return 0;
}
static __device__ void expect(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
static __device__ void delay()
{
    for (long long begin = clock64(); clock64() - begin < LONG;)
        ;
}
static __device__ unsigned load(unsigned address)
{
    unsigned word;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
    return word;
}
static __device__ void store(unsigned address, unsigned word)
{
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}
static __device__ unsigned add(unsigned address, unsigned word)
{
    unsigned before;
    asm volatile("atom.shared::cluster.add.u32 %0, [%1], %2;" : "=r"(before) : "r"(address), "r"(word) : "memory");
    return before;
}
static __device__ void arrive_at(unsigned barrier)
{
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}
static __device__ void send(unsigned address, unsigned barrier)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(address), "r"(77),
                 "r"(barrier)
                 : "memory");
}
static __device__ void reduce(unsigned address, unsigned barrier)
{
    asm volatile(
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(address),
        "r"(77), "r"(barrier)
        : "memory");
}
static __device__ void multicast(unsigned address, const void *from, unsigned bytes, unsigned barrier, unsigned mask)
{
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::
            "r"(address),
        "l"(from), "r"(bytes), "r"(barrier), "h"((unsigned short)mask)
        : "memory");
}
static __device__ void bulk(unsigned address, const void *from, unsigned bytes, unsigned barrier)
{
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(address),
        "l"(from), "r"(bytes), "r"(barrier)
        : "memory");
}
static __device__ void within(unsigned address, unsigned from, unsigned bytes, unsigned barrier)
{
    asm volatile(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(address),
        "r"(from), "r"(bytes), "r"(barrier)
        : "memory");
}

// name, blocks of the cluster (0: the launch asks for none), what each thread does
#define CASES(X) \
    X(mask_names_only_an_absent_rank, 2, MASK(4, 1)) \
    X(mask_names_an_absent_rank_too, 2, MASK(7, 1)) \
    X(mask_names_rank_15, 2, MASK(0x8001, 1)) \
    X(mask_of_none, 2, MASK(0, 1)) \
    X(mask_1_of_no_cluster, 0, MASK(1, 1)) \
    X(mask_2_of_no_cluster, 0, MASK(2, 1)) \
    X(mask_3_of_one, 1, MASK(3, 1)) \
    X( \
        mapa_of_absent_rank, 2, if (first) { \
            unsigned a = at_rank(mine, 2), r; \
            asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(r) : "r"(a)); \
            out[0] = r, out[1] = a - at_rank(mine, 0), out[2] = at_rank(mine, 1) - at_rank(mine, 0), \
            out[3] = a == mine, out[4] = at_rank(mine, 17) - at_rank(mine, 0), out[5] = a, out[6] = at_rank(mine, 0), \
            out[7] = mine; \
        } meet();) \
    X( \
        mapa_in_no_cluster, 0, if (first) { \
            unsigned a = at_rank(mine, 1), r; \
            asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(r) : "r"(a)); \
            out[0] = r, out[1] = a - at_rank(mine, 0), out[2] = at_rank(mine, 0) == mine, out[5] = a, out[7] = mine; \
        }) \
    X(load_of_absent_rank, 2, if (first) out[0] = load(at_rank(mine, 2)); meet();) \
    X(store_of_absent_rank, 2, if (first) store(at_rank(mine, 2), 7); meet();) \
    X(atomic_of_absent_rank, 2, if (first) out[0] = add(at_rank(mine, 2), 7); meet();) \
    X(arrival_of_absent_rank, 2, if (first) arrive_at(at_rank(bar, 2)); meet();) \
    X(send_to_absent_rank, 2, if (first) send(at_rank(mine, 2), at_rank(bar, 2)); delay(); meet();) \
    X(copy_to_absent_rank, 2, if (first) within(at_rank(mine, 2), mine, 16, at_rank(bar, 2)); delay(); meet();) \
    X(bulk_to_absent_rank, 2, if (first) bulk(at_rank(mine, 2), memory, 16, at_rank(bar, 2)); delay(); meet();) \
    X(load_of_ended, 2, ENDED(out[0] = load(at_rank(mine, 1)))) \
    X(store_of_ended, 2, ENDED(store(at_rank(mine, 1), 7))) \
    X(atomic_of_ended, 2, ENDED(out[0] = add(at_rank(mine, 1), 7))) \
    X(arrival_at_ended, 2, ENDED(arrive_at(at_rank(bar, 1)))) \
    X(send_to_ended, 2, ENDED(send(at_rank(mine, 1), at_rank(bar, 1)); delay())) \
    X(reduce_in_ended, 2, ENDED(reduce(at_rank(mine, 1), at_rank(bar, 1)); delay())) \
    X(copy_to_ended, 2, ENDED(within(at_rank(mine, 1), mine, 16, at_rank(bar, 1)); delay())) \
    X(bulk_to_ended, 2, ENDED(bulk(at_rank(mine, 1), memory, 16, at_rank(bar, 1)); delay())) \
    X(multicast_to_ended, 2, ENDED(multicast(mine, memory, 16, bar, 3); delay(); out[0] = is_over(bar))) \
    X( \
        ends_in_flight, 2, if (first) expect(bar, 8192); meet(); if (rank() == 0 && first) { \
            multicast(mine, memory, 8192, bar, 3); \
            out[0] = wait(bar); \
        }) \
    X( \
        issuer_ends_in_flight, 2, if (first) expect(bar, 8192); meet(); if (rank() == 0) { \
            if (first) \
                multicast(mine, memory, 8192, bar, 2); \
            return; \
        } out[0] = wait(bar); \
        out[1] = window[5];) \
    X(load_beyond_shared, 2, meet(); if (rank() == 0 && first) out[0] = load(at_rank(mine, 1) + (200 << 10)); meet();) \
    X(load_beyond_all_shared, 2, meet(); if (rank() == 0 && first) out[0] = load(at_rank(mine, 1) + (400 << 10)); \
      meet();) \
    X(arrive_twice, 2, arrive(); arrive(); await(); out[0] = 1;) \
    X(wait_without_arrival, 2, await(); out[0] = 1;) \
    X(wait_twice, 2, arrive(); await(); await(); out[0] = 1;) \
    X(arrive_and_end, 2, arrive(); out[0] = 1;) \
    X(one_block_arrives_and_ends, 2, arrive(); if (rank() == 0) return; await(); out[0] = 1; arrive(); await(); \
      out[1] = 1;) \
    X(one_block_ends, 2, if (rank() == 1) return; meet(); out[0] = 1;) \
    X(half_a_warp_ends, 2, if (threadIdx.x >= 16) return; meet(); out[0] = 1;) \
    X(half_a_warp_ends_aligned, 2, if (threadIdx.x >= 16) return; meet_aligned(); out[0] = 1;) \
    X(one_lane_does_not_come, 2, if (threadIdx.x != 5) meet(); out[0] = 1;) \
    X( \
        lane_comes_later, 2, \
        if (threadIdx.x == 0) { \
            delay(); \
            meet(); \
        } else meet(); \
        out[0] = 1;) \
    X( \
        lane_comes_later_aligned, 2, \
        if (threadIdx.x == 0) { \
            delay(); \
            meet_aligned(); \
        } else meet_aligned(); \
        out[0] = 1;) \
    X(one_lane_aligned, 2, if (threadIdx.x == 0) meet_aligned(); else if (threadIdx.x == 1) meet_aligned(); \
      else meet_aligned(); out[0] = 1;) \
    X(aligned_wait_of_plain_arrival, 2, arrive(); asm volatile("barrier.cluster.wait.acquire.aligned;" :: : "memory"); \
      out[0] = 1;) \
    X(barrier_in_no_cluster, 0, meet(); out[0] = 1; meet_aligned(); out[1] = 1;) \
    X( \
        accesses_in_no_cluster, 0, if (first) { \
            unsigned a = at_rank(mine, 0); \
            store(a, 5); \
            out[0] = load(a); \
            out[1] = add(a, 3); \
            out[2] = load(mine); \
            arrive_at(at_rank(bar, 0)); \
            out[3] = is_over(bar); \
        }) \
    X( \
        own_address_as_clusters, 2, if (first) { \
            store(mine, 5 + rank()); \
            out[0] = load(mine); \
            out[1] = add(mine, 3); \
            out[2] = window[0]; \
            arrive_at(bar); \
            out[3] = is_over(bar); \
        } meet();) \
    X( \
        send_in_no_cluster, 0, if (first) { \
            expect(bar, 4); \
            send(at_rank(mine, 0), at_rank(bar, 0)); \
            out[0] = wait(bar); \
            out[1] = window[0]; \
        }) \
    X( \
        reduce_in_no_cluster, 0, if (first) { \
            expect(bar, 4); \
            reduce(at_rank(mine, 0), at_rank(bar, 0)); \
            out[0] = wait(bar); \
            out[1] = window[0]; \
        }) \
    X( \
        send_by_own_address, 2, if (first) { \
            expect(bar, 4); \
            send(mine, bar); \
            out[0] = wait(bar); \
            out[1] = window[0]; \
        } meet();) \
    X( \
        copy_in_no_cluster, 0, if (first) { \
            expect(bar, 16); \
            within(at_rank(mine, 0) + 64, mine, 16, at_rank(bar, 0)); \
            out[0] = wait(bar); \
            out[1] = window[16]; \
        }) \
    X( \
        bulk_tells_own_barrier, 2, if (first && rank() == 0) expect(bar, 64); meet(); if (first && rank() == 0) { \
            bulk(at_rank(mine, 1), memory, 64, bar); \
            out[0] = wait(bar); \
        } meet(); \
        if (first) out[1] = window[2], out[2] = is_over(bar);) \
    X(bulk_here_tells_others_barrier, 2, if (first && rank() == 1) expect(bar, 64); meet(); \
      if (first && rank() == 0) bulk(mine, memory, 64, at_rank(bar, 1)); if (first && rank() == 1) out[0] = wait(bar); \
      meet(); if (first) out[1] = window[2], out[2] = is_over(bar);) \
    X( \
        send_tells_own_barrier, 2, if (first && rank() == 0) expect(bar, 4); meet(); if (first && rank() == 0) { \
            send(at_rank(mine, 1), bar); \
            out[0] = wait(bar); \
        } meet(); \
        if (first) out[1] = window[0], out[2] = is_over(bar);) \
    X( \
        copy_tells_own_barrier, 2, if (first && rank() == 0) expect(bar, 16); meet(); if (first && rank() == 0) { \
            within(at_rank(mine, 1), mine + 64, 16, bar); \
            out[0] = wait(bar); \
        } meet(); \
        if (first) out[1] = window[0], out[2] = is_over(bar);) \
    X(multicast_of_another_tells_own, 2, if (first) expect(bar, 64); meet(); \
      if (first && rank() == 0) multicast(at_rank(mine, 1), memory, 64, bar, 3); if (first) out[0] = wait(bar); \
      meet(); if (first) out[1] = window[2];) \
    X(generic_arrival_elsewhere, 2, meet(); if (first && rank() == 0) asm volatile( \
          "{ .reg .b64 s; mbarrier.arrive.b64 s, [%0]; }" ::"l"(at_rank_generic(barrier, 1)) : "memory"); \
      meet(); if (first) out[0] = is_over(bar);) \
    X( \
        generic_test_elsewhere, 2, meet(); if (first && rank() == 0) { \
            unsigned over; \
            asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.b64 p, [%1], 1; selp.u32 %0, 1, 0, p; }" \
                         : "=r"(over) \
                         : "l"(at_rank_generic(barrier, 1)) \
                         : "memory"); \
            out[0] = over; \
        } meet();) \
    X( \
        shared_load_of_own_mapped, 2, if (first) { \
            unsigned word; \
            window[0] = 9 + rank(); \
            asm volatile("ld.shared::cta.u32 %0, [%1];" : "=r"(word) : "r"(at_rank(mine, rank())) : "memory"); \
            out[0] = word; \
        } meet();) \
    X( \
        shared_load_of_others_mapped, 2, if (first) window[0] = 9 + rank(); meet(); if (first) { \
            unsigned word; \
            asm volatile("ld.shared::cta.u32 %0, [%1];" : "=r"(word) : "r"(at_rank(mine, 1 - rank())) : "memory"); \
            out[0] = word; \
        } meet();) \
    X( \
        shared_atomic_of_others_mapped, 2, if (first) window[0] = 9 + rank(); meet(); if (first) { \
            unsigned word; \
            asm volatile("atom.shared::cta.add.u32 %0, [%1], 1;" \
                         : "=r"(word) \
                         : "r"(at_rank(mine, 1 - rank())) \
                         : "memory"); \
            out[0] = word; \
        } meet();) \
    X( \
        bulk_store_of_others, 2, meet(); if (first && rank() == 0) { \
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 16;\n" \
                         "cp.async.bulk.commit_group;\n cp.async.bulk.wait_group 0;" ::"l"(memory), \
                         "r"(at_rank(mine, 1)) \
                         : "memory"); \
            out[0] = *(volatile unsigned *)memory; \
            out[1] = window[0]; \
        } meet();) \
    X( \
        async_copy_to_another, 2, meet(); if (first && rank() == 0) { \
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n cp.async.wait_all;" ::"r"(at_rank(mine, 1)), \
                         "l"(memory) \
                         : "memory"); \
        } meet(); \
        if (first) out[0] = window[0];) \
    X( \
        matrix_of_another, 2, meet(); { \
            unsigned word; \
            asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" \
                         : "=r"(word) \
                         : "r"(at_rank(mine, 1 - rank()) + 16 * (threadIdx.x % 8)) \
                         : "memory"); \
            if (first) \
                out[0] = word; \
        } meet();) \
    X( \
        plain_pointer_of_another, 2, \
        if (first && rank() == 1) { \
            *(unsigned long long *)memory = (unsigned long long)window; \
            ((unsigned *)memory)[2] = mine; \
            __threadfence(); \
        } meet(); \
        if (first && rank() == 0) { \
            unsigned *p = *(unsigned **)memory; \
            out[0] = *(volatile unsigned *)p; \
            out[1] = load(((unsigned *)memory)[2]); \
            out[2] = ((unsigned *)memory)[2]; \
            out[3] = mine; \
            out[4] = (unsigned long long)p >> 32, out[5] = (unsigned long long)p, \
            out[6] = (unsigned long long)window >> 32, out[7] = (unsigned long long)window; \
        } meet();) \
    X(misaligned_load, 2, meet(); if (first) out[0] = load(at_rank(mine, 1 - rank()) + 2); meet();) \
    X(misaligned_send, 2, meet(); if (first && rank() == 0) send(at_rank(mine, 1) + 2, at_rank(bar, 1)); delay(); \
      meet();) \
    X(generic_load_of_ended, 2, ENDED(out[0] = *(volatile unsigned *)at_rank_generic(window, 1))) \
    X( \
        no_meeting_at_the_end, 2, \
        if (rank() == 1) { \
            window[3] = 5; \
            meet(); \
            return; \
        } meet(); \
        delay(); out[0] = load(at_rank(mine, 1) + 12);)

// Each block's window holds its words; block 0 begins the copy, each block in the mask waits.
#define MASK(M, UNUSED) \
    if (first && (M >> rank() & 1)) \
        expect(bar, 64); \
    meet(); \
    if (first && rank() == 0) \
        multicast(mine, memory, 64, bar, M); \
    if (first && (M >> rank() & 1)) \
        out[0] = wait(bar); \
    delay(); \
    if (first) \
        out[1] = window[2]; \
    meet();
#define ENDED(...) \
    meet(); \
    if (rank() == 1) \
        return; \
    delay(); \
    if (first) { \
        __VA_ARGS__; \
        out[6] = 1; \
    }

static __device__ unsigned long long at_rank_generic(const void *p, unsigned r)
{
    unsigned long long a;
    asm("mapa.u64 %0, %1, %2;" : "=l"(a) : "l"((unsigned long long)p), "r"(r));
    return a;
}

#define KERNEL(NAME, BLOCKS, ...) \
    __global__ void NAME(unsigned *given, unsigned char *memory) \
    { \
        __shared__ alignas(128) unsigned window[2048]; \
        __shared__ alignas(8) unsigned long long barrier[2]; \
        unsigned mine = here(window), bar = here(barrier), *out = given + blockIdx.x * WORDS; \
        bool first = threadIdx.x == 0; \
        for (int i = threadIdx.x; i < 2048; i += THREADS) \
            window[i] = i + 1000 * blockIdx.x; \
        if (first) { \
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory"); \
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); \
        } \
        asm volatile("fence.proxy.async;" ::: "memory"); \
        meet(); \
        __VA_ARGS__ \
    }
CASES(KERNEL)

static const struct trial {
    const char *name;
    int blocks;
    void (*kernel)(unsigned *, unsigned char *);
} trials[] = {
#define ROW(NAME, BLOCKS, ...) {#NAME, BLOCKS, NAME},
    CASES(ROW)};

#define SAY(call) \
    do { \
        cudaError_t error_ = (call); \
        if (error_ != cudaSuccess) { \
            printf("{\"case\": \"%s\", \"fault\": \"%s\"}\n", t.name, cudaGetErrorName(error_)); \
            fflush(stdout); \
            _exit(FAULT); \
        } \
    } while (0)

static void try_it(const trial &t)
{
    unsigned *given, seen[MOST_BLOCKS * WORDS];
    unsigned char *memory, bytes[8192];
    for (int i = 0; i < 8192; i++)
        bytes[i] = (unsigned char)(i * 167 + i / 251);
    SAY(cudaMalloc(&given, sizeof seen));
    SAY(cudaMemset(given, 0, sizeof seen));
    SAY(cudaMalloc(&memory, sizeof bytes));
    SAY(cudaMemcpy(memory, bytes, sizeof bytes, cudaMemcpyHostToDevice));
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = t.blocks;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    int blocks = t.blocks ? t.blocks : 1;
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(THREADS);
    config.attrs = &attribute;
    config.numAttrs = t.blocks > 0;
    alarm(SECONDS);
    SAY(cudaLaunchKernelEx(&config, t.kernel, given, memory));
    SAY(cudaDeviceSynchronize());
    SAY(cudaMemcpy(seen, given, sizeof seen, cudaMemcpyDeviceToHost));
    printf("{\"case\": \"%s\", \"words\": \"", t.name);
    for (int b = 0; b < blocks; b++)
        for (int i = 0; i < WORDS; i++)
            printf("%s%x", i ? " " : b ? ", " : "", seen[b * WORDS + i]);
    printf("\"}\n");
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    for (const trial &t : trials) {
        bool asked = argc == 1;
        for (int i = 1; i < argc; i++)
            asked = asked || !strcmp(argv[i], t.name);
        if (argc == 2 && !strcmp(argv[1], "--list"))
            printf("%s\n", t.name);
        if (!asked)
            continue;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            try_it(t);
        int status;
        waitpid(child, &status, 0);
        bool printed = WIFEXITED(status) && (WEXITSTATUS(status) == FAULT || WEXITSTATUS(status) == 0);
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
            printf("{\"case\": \"%s\", \"fault\": \"hang\"}\n", t.name);
        else if (!printed)
            printf("{\"case\": \"%s\", \"fault\": \"status %d\"}\n", t.name, status);
    }
    return 0;
}

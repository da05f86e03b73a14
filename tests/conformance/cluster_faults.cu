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

enum {
    THREADS = 32,
    WORDS = 8,
    WINDOW = 2048,
    MOST_BLOCKS = 4,
    SECONDS = 6,
    POLLS = 200000,
    FAULT = 3,
    LONG = 2000000
};

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

// ---- what each block has, and does first ----

struct own {
    unsigned mine, bar, *out;  // its window and its mbarrier in shared memory, and its words
    bool first;                // is it thread 0?
};

static __device__ own begin(unsigned *window, unsigned long long *barrier, unsigned *given)
{
    own c = {here(window), here(barrier), given + blockIdx.x * WORDS, threadIdx.x == 0};
    for (int i = threadIdx.x; i < WINDOW; i += THREADS)
        window[i] = i + 1000 * blockIdx.x;
    if (c.first) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(c.bar) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    meet();
    return c;
}
#define BEGIN \
    __shared__ alignas(128) unsigned window[WINDOW]; \
    __shared__ alignas(8) unsigned long long barrier; \
    own c = begin(window, &barrier, given); \
    (void)c, (void)memory;

// Block 0 begins the copy, each block that is there and in the mask waits.
static __device__ void multicast_to(unsigned mask, const void *memory, own c)
{
    bool receives = c.first && (mask >> rank() & 1);
    if (receives)
        expect(c.bar, 64);
    meet();
    if (c.first && rank() == 0)
        multicast(c.mine, memory, 64, c.bar, mask);
    if (receives)
        c.out[0] = wait(c.bar);
    delay();
    if (c.first)
        c.out[1] = load(c.mine + 8);
    meet();
}

// The second block ends, and then the first goes on.
static __device__ bool end_second()
{
    meet();
    if (rank() == 0)
        delay();
    return rank() == 1;
}

static __device__ unsigned long long at_rank_generic(const void *p, unsigned r)
{
    unsigned long long a;
    asm("mapa.u64 %0, %1, %2;" : "=l"(a) : "l"((unsigned long long)p), "r"(r));
    return a;
}

// ---- cases ----

__global__ void mask_names_only_an_absent_rank(unsigned *given, unsigned char *memory)
{
    BEGIN
    multicast_to(4, memory, c);
}

__global__ void mask_names_an_absent_rank_too(unsigned *given, unsigned char *memory)
{
    BEGIN
    multicast_to(7, memory, c);
}

__global__ void mask_names_rank_15(unsigned *given, unsigned char *memory)
{
    BEGIN
    multicast_to(0x8001, memory, c);
}

__global__ void mask_of_none(unsigned *given, unsigned char *memory)
{
    BEGIN
    multicast_to(0, memory, c);
}

__global__ void mask_1_of_no_cluster(unsigned *given, unsigned char *memory)
{
    BEGIN
    multicast_to(1, memory, c);
}

__global__ void mask_2_of_no_cluster(unsigned *given, unsigned char *memory)
{
    BEGIN
    multicast_to(2, memory, c);
}

__global__ void mask_3_of_one(unsigned *given, unsigned char *memory)
{
    BEGIN
    multicast_to(3, memory, c);
}

__global__ void mapa_of_absent_rank(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first) {
        unsigned a = at_rank(c.mine, 2), r;
        asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(r) : "r"(a));
        c.out[0] = r, c.out[1] = a - at_rank(c.mine, 0), c.out[2] = at_rank(c.mine, 1) - at_rank(c.mine, 0),
        c.out[3] = a == c.mine, c.out[4] = at_rank(c.mine, 17) - at_rank(c.mine, 0), c.out[5] = a,
        c.out[6] = at_rank(c.mine, 0), c.out[7] = c.mine;
    }
    meet();
}

__global__ void mapa_in_no_cluster(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first) {
        unsigned a = at_rank(c.mine, 1), r;
        asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(r) : "r"(a));
        c.out[0] = r, c.out[1] = a - at_rank(c.mine, 0), c.out[2] = at_rank(c.mine, 0) == c.mine, c.out[5] = a,
        c.out[7] = c.mine;
    }
}

__global__ void load_of_absent_rank(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first)
        c.out[0] = load(at_rank(c.mine, 2));
    meet();
}

__global__ void store_of_absent_rank(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first)
        store(at_rank(c.mine, 2), 7);
    meet();
}

__global__ void atomic_of_absent_rank(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first)
        c.out[0] = add(at_rank(c.mine, 2), 7);
    meet();
}

__global__ void arrival_of_absent_rank(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first)
        arrive_at(at_rank(c.bar, 2));
    meet();
}

__global__ void send_to_absent_rank(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first)
        send(at_rank(c.mine, 2), at_rank(c.bar, 2));
    delay();
    meet();
}

__global__ void copy_to_absent_rank(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first)
        within(at_rank(c.mine, 2), c.mine, 16, at_rank(c.bar, 2));
    delay();
    meet();
}

__global__ void bulk_to_absent_rank(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first)
        bulk(at_rank(c.mine, 2), memory, 16, at_rank(c.bar, 2));
    delay();
    meet();
}

__global__ void load_of_ended(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (end_second())
        return;
    if (c.first) {
        c.out[0] = load(at_rank(c.mine, 1));
        c.out[6] = 1;
    }
}

__global__ void store_of_ended(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (end_second())
        return;
    if (c.first) {
        store(at_rank(c.mine, 1), 7);
        c.out[6] = 1;
    }
}

__global__ void atomic_of_ended(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (end_second())
        return;
    if (c.first) {
        c.out[0] = add(at_rank(c.mine, 1), 7);
        c.out[6] = 1;
    }
}

__global__ void arrival_at_ended(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (end_second())
        return;
    if (c.first) {
        arrive_at(at_rank(c.bar, 1));
        c.out[6] = 1;
    }
}

__global__ void send_to_ended(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (end_second())
        return;
    if (c.first) {
        send(at_rank(c.mine, 1), at_rank(c.bar, 1));
        delay();
        c.out[6] = 1;
    }
}

__global__ void reduce_in_ended(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (end_second())
        return;
    if (c.first) {
        reduce(at_rank(c.mine, 1), at_rank(c.bar, 1));
        delay();
        c.out[6] = 1;
    }
}

__global__ void copy_to_ended(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (end_second())
        return;
    if (c.first) {
        within(at_rank(c.mine, 1), c.mine, 16, at_rank(c.bar, 1));
        delay();
        c.out[6] = 1;
    }
}

__global__ void bulk_to_ended(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (end_second())
        return;
    if (c.first) {
        bulk(at_rank(c.mine, 1), memory, 16, at_rank(c.bar, 1));
        delay();
        c.out[6] = 1;
    }
}

__global__ void multicast_to_ended(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (end_second())
        return;
    if (c.first) {
        multicast(c.mine, memory, 16, c.bar, 3);
        delay();
        c.out[0] = is_over(c.bar);
        c.out[6] = 1;
    }
}

__global__ void ends_in_flight(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first)
        expect(c.bar, 8192);
    meet();
    if (rank() == 0 && c.first) {
        multicast(c.mine, memory, 8192, c.bar, 3);
        c.out[0] = wait(c.bar);
    }
}

__global__ void issuer_ends_in_flight(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first)
        expect(c.bar, 8192);
    meet();
    if (rank() == 0) {
        if (c.first)
            multicast(c.mine, memory, 8192, c.bar, 2);
        return;
    }
    c.out[0] = wait(c.bar);
    c.out[1] = window[5];
}

__global__ void load_beyond_shared(unsigned *given, unsigned char *memory)
{
    BEGIN
    meet();
    if (rank() == 0 && c.first)
        c.out[0] = load(at_rank(c.mine, 1) + (200 << 10));
    meet();
}

__global__ void load_beyond_all_shared(unsigned *given, unsigned char *memory)
{
    BEGIN
    meet();
    if (rank() == 0 && c.first)
        c.out[0] = load(at_rank(c.mine, 1) + (400 << 10));
    meet();
}

__global__ void arrive_twice(unsigned *given, unsigned char *memory)
{
    BEGIN
    arrive();
    arrive();
    await();
    c.out[0] = 1;
}

__global__ void wait_without_arrival(unsigned *given, unsigned char *memory)
{
    BEGIN
    await();
    c.out[0] = 1;
}

__global__ void wait_twice(unsigned *given, unsigned char *memory)
{
    BEGIN
    arrive();
    await();
    await();
    c.out[0] = 1;
}

__global__ void arrive_and_end(unsigned *given, unsigned char *memory)
{
    BEGIN
    arrive();
    c.out[0] = 1;
}

__global__ void one_block_arrives_and_ends(unsigned *given, unsigned char *memory)
{
    BEGIN
    arrive();
    if (rank() == 0)
        return;
    await();
    c.out[0] = 1;
    arrive();
    await();
    c.out[1] = 1;
}

__global__ void one_block_ends(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (rank() == 1)
        return;
    meet();
    c.out[0] = 1;
}

__global__ void half_a_warp_ends(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (threadIdx.x >= 16)
        return;
    meet();
    c.out[0] = 1;
}

__global__ void half_a_warp_ends_aligned(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (threadIdx.x >= 16)
        return;
    meet_aligned();
    c.out[0] = 1;
}

__global__ void one_lane_does_not_come(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (threadIdx.x != 5)
        meet();
    c.out[0] = 1;
}

__global__ void lane_comes_later(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (threadIdx.x == 0) {
        delay();
        meet();
    } else
        meet();
    c.out[0] = 1;
}

__global__ void lane_comes_later_aligned(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (threadIdx.x == 0) {
        delay();
        meet_aligned();
    } else
        meet_aligned();
    c.out[0] = 1;
}

__global__ void one_lane_aligned(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (threadIdx.x == 0)
        meet_aligned();
    else if (threadIdx.x == 1)
        meet_aligned();
    else
        meet_aligned();
    c.out[0] = 1;
}

__global__ void aligned_wait_of_plain_arrival(unsigned *given, unsigned char *memory)
{
    BEGIN
    arrive();
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    c.out[0] = 1;
}

__global__ void barrier_in_no_cluster(unsigned *given, unsigned char *memory)
{
    BEGIN
    meet();
    c.out[0] = 1;
    meet_aligned();
    c.out[1] = 1;
}

__global__ void accesses_in_no_cluster(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first) {
        unsigned a = at_rank(c.mine, 0);
        store(a, 5);
        c.out[0] = load(a);
        c.out[1] = add(a, 3);
        c.out[2] = load(c.mine);
        arrive_at(at_rank(c.bar, 0));
        c.out[3] = is_over(c.bar);
    }
}

__global__ void own_address_as_clusters(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first) {
        store(c.mine, 5 + rank());
        c.out[0] = load(c.mine);
        c.out[1] = add(c.mine, 3);
        c.out[2] = window[0];
        arrive_at(c.bar);
        c.out[3] = is_over(c.bar);
    }
    meet();
}

__global__ void send_in_no_cluster(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first) {
        expect(c.bar, 4);
        send(at_rank(c.mine, 0), at_rank(c.bar, 0));
        c.out[0] = wait(c.bar);
        c.out[1] = window[0];
    }
}

__global__ void reduce_in_no_cluster(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first) {
        expect(c.bar, 4);
        reduce(at_rank(c.mine, 0), at_rank(c.bar, 0));
        c.out[0] = wait(c.bar);
        c.out[1] = window[0];
    }
}

__global__ void send_by_own_address(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first) {
        expect(c.bar, 4);
        send(c.mine, c.bar);
        c.out[0] = wait(c.bar);
        c.out[1] = window[0];
    }
    meet();
}

__global__ void copy_in_no_cluster(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first) {
        expect(c.bar, 16);
        within(at_rank(c.mine, 0) + 64, c.mine, 16, at_rank(c.bar, 0));
        c.out[0] = wait(c.bar);
        c.out[1] = window[16];
    }
}

__global__ void bulk_tells_own_barrier(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first && rank() == 0)
        expect(c.bar, 64);
    meet();
    if (c.first && rank() == 0) {
        bulk(at_rank(c.mine, 1), memory, 64, c.bar);
        c.out[0] = wait(c.bar);
    }
    meet();
    if (c.first)
        c.out[1] = window[2], c.out[2] = is_over(c.bar);
}

__global__ void bulk_here_tells_others_barrier(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first && rank() == 1)
        expect(c.bar, 64);
    meet();
    if (c.first && rank() == 0)
        bulk(c.mine, memory, 64, at_rank(c.bar, 1));
    if (c.first && rank() == 1)
        c.out[0] = wait(c.bar);
    meet();
    if (c.first)
        c.out[1] = window[2], c.out[2] = is_over(c.bar);
}

__global__ void send_tells_own_barrier(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first && rank() == 0)
        expect(c.bar, 4);
    meet();
    if (c.first && rank() == 0) {
        send(at_rank(c.mine, 1), c.bar);
        c.out[0] = wait(c.bar);
    }
    meet();
    if (c.first)
        c.out[1] = window[0], c.out[2] = is_over(c.bar);
}

__global__ void copy_tells_own_barrier(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first && rank() == 0)
        expect(c.bar, 16);
    meet();
    if (c.first && rank() == 0) {
        within(at_rank(c.mine, 1), c.mine + 64, 16, c.bar);
        c.out[0] = wait(c.bar);
    }
    meet();
    if (c.first)
        c.out[1] = window[0], c.out[2] = is_over(c.bar);
}

__global__ void multicast_of_another_tells_own(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first)
        expect(c.bar, 64);
    meet();
    if (c.first && rank() == 0)
        multicast(at_rank(c.mine, 1), memory, 64, c.bar, 3);
    if (c.first)
        c.out[0] = wait(c.bar);
    meet();
    if (c.first)
        c.out[1] = window[2];
}

__global__ void generic_arrival_elsewhere(unsigned *given, unsigned char *memory)
{
    BEGIN
    meet();
    if (c.first && rank() == 0)
        asm volatile("{ .reg .b64 s; mbarrier.arrive.b64 s, [%0]; }" ::"l"(at_rank_generic(&barrier, 1)) : "memory");
    meet();
    if (c.first)
        c.out[0] = is_over(c.bar);
}

__global__ void generic_test_elsewhere(unsigned *given, unsigned char *memory)
{
    BEGIN
    meet();
    if (c.first && rank() == 0) {
        unsigned over;
        asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.b64 p, [%1], 1; selp.u32 %0, 1, 0, p; }"
                     : "=r"(over)
                     : "l"(at_rank_generic(&barrier, 1))
                     : "memory");
        c.out[0] = over;
    }
    meet();
}

__global__ void shared_load_of_own_mapped(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first) {
        unsigned word;
        window[0] = 9 + rank();
        asm volatile("ld.shared::cta.u32 %0, [%1];" : "=r"(word) : "r"(at_rank(c.mine, rank())) : "memory");
        c.out[0] = word;
    }
    meet();
}

__global__ void shared_load_of_others_mapped(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first)
        window[0] = 9 + rank();
    meet();
    if (c.first) {
        unsigned word;
        asm volatile("ld.shared::cta.u32 %0, [%1];" : "=r"(word) : "r"(at_rank(c.mine, 1 - rank())) : "memory");
        c.out[0] = word;
    }
    meet();
}

__global__ void shared_atomic_of_others_mapped(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first)
        window[0] = 9 + rank();
    meet();
    if (c.first) {
        unsigned word;
        asm volatile("atom.shared::cta.add.u32 %0, [%1], 1;"
                     : "=r"(word)
                     : "r"(at_rank(c.mine, 1 - rank()))
                     : "memory");
        c.out[0] = word;
    }
    meet();
}

__global__ void bulk_store_of_others(unsigned *given, unsigned char *memory)
{
    BEGIN
    meet();
    if (c.first && rank() == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 16;\n"
                     "cp.async.bulk.commit_group;\n cp.async.bulk.wait_group 0;" ::"l"(memory),
                     "r"(at_rank(c.mine, 1))
                     : "memory");
        c.out[0] = *(volatile unsigned *)memory;
        c.out[1] = window[0];
    }
    meet();
}

__global__ void async_copy_to_another(unsigned *given, unsigned char *memory)
{
    BEGIN
    meet();
    if (c.first && rank() == 0) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n cp.async.wait_all;" ::"r"(at_rank(c.mine, 1)),
                     "l"(memory)
                     : "memory");
    }
    meet();
    if (c.first)
        c.out[0] = window[0];
}

__global__ void matrix_of_another(unsigned *given, unsigned char *memory)
{
    BEGIN
    meet();
    {
        unsigned word;
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                     : "=r"(word)
                     : "r"(at_rank(c.mine, 1 - rank()) + 16 * (threadIdx.x % 8))
                     : "memory");
        if (c.first)
            c.out[0] = word;
    }
    meet();
}

__global__ void plain_pointer_of_another(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (c.first && rank() == 1) {
        *(unsigned long long *)memory = (unsigned long long)window;
        ((unsigned *)memory)[2] = c.mine;
        __threadfence();
    }
    meet();
    if (c.first && rank() == 0) {
        unsigned *p = *(unsigned **)memory;
        c.out[0] = *(volatile unsigned *)p;
        c.out[1] = load(((unsigned *)memory)[2]);
        c.out[2] = ((unsigned *)memory)[2];
        c.out[3] = c.mine;
        c.out[4] = (unsigned long long)p >> 32, c.out[5] = (unsigned long long)p,
        c.out[6] = (unsigned long long)window >> 32, c.out[7] = (unsigned long long)window;
    }
    meet();
}

__global__ void misaligned_load(unsigned *given, unsigned char *memory)
{
    BEGIN
    meet();
    if (c.first)
        c.out[0] = load(at_rank(c.mine, 1 - rank()) + 2);
    meet();
}

__global__ void misaligned_send(unsigned *given, unsigned char *memory)
{
    BEGIN
    meet();
    if (c.first && rank() == 0)
        send(at_rank(c.mine, 1) + 2, at_rank(c.bar, 1));
    delay();
    meet();
}

__global__ void generic_load_of_ended(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (end_second())
        return;
    if (c.first) {
        c.out[0] = *(volatile unsigned *)at_rank_generic(window, 1);
        c.out[6] = 1;
    }
}

__global__ void no_meeting_at_the_end(unsigned *given, unsigned char *memory)
{
    BEGIN
    if (rank() == 1) {
        window[3] = 5;
        meet();
        return;
    }
    meet();
    delay();
    c.out[0] = load(at_rank(c.mine, 1) + 12);
}

static const struct trial {
    const char *name;
    int blocks;  // of the cluster; 0: the launch asks for none
    void (*kernel)(unsigned *, unsigned char *);
} trials[] = {
    {"mask_names_only_an_absent_rank", 2, mask_names_only_an_absent_rank},
    {"mask_names_an_absent_rank_too", 2, mask_names_an_absent_rank_too},
    {"mask_names_rank_15", 2, mask_names_rank_15},
    {"mask_of_none", 2, mask_of_none},
    {"mask_1_of_no_cluster", 0, mask_1_of_no_cluster},
    {"mask_2_of_no_cluster", 0, mask_2_of_no_cluster},
    {"mask_3_of_one", 1, mask_3_of_one},
    {"mapa_of_absent_rank", 2, mapa_of_absent_rank},
    {"mapa_in_no_cluster", 0, mapa_in_no_cluster},
    {"load_of_absent_rank", 2, load_of_absent_rank},
    {"store_of_absent_rank", 2, store_of_absent_rank},
    {"atomic_of_absent_rank", 2, atomic_of_absent_rank},
    {"arrival_of_absent_rank", 2, arrival_of_absent_rank},
    {"send_to_absent_rank", 2, send_to_absent_rank},
    {"copy_to_absent_rank", 2, copy_to_absent_rank},
    {"bulk_to_absent_rank", 2, bulk_to_absent_rank},
    {"load_of_ended", 2, load_of_ended},
    {"store_of_ended", 2, store_of_ended},
    {"atomic_of_ended", 2, atomic_of_ended},
    {"arrival_at_ended", 2, arrival_at_ended},
    {"send_to_ended", 2, send_to_ended},
    {"reduce_in_ended", 2, reduce_in_ended},
    {"copy_to_ended", 2, copy_to_ended},
    {"bulk_to_ended", 2, bulk_to_ended},
    {"multicast_to_ended", 2, multicast_to_ended},
    {"ends_in_flight", 2, ends_in_flight},
    {"issuer_ends_in_flight", 2, issuer_ends_in_flight},
    {"load_beyond_shared", 2, load_beyond_shared},
    {"load_beyond_all_shared", 2, load_beyond_all_shared},
    {"arrive_twice", 2, arrive_twice},
    {"wait_without_arrival", 2, wait_without_arrival},
    {"wait_twice", 2, wait_twice},
    {"arrive_and_end", 2, arrive_and_end},
    {"one_block_arrives_and_ends", 2, one_block_arrives_and_ends},
    {"one_block_ends", 2, one_block_ends},
    {"half_a_warp_ends", 2, half_a_warp_ends},
    {"half_a_warp_ends_aligned", 2, half_a_warp_ends_aligned},
    {"one_lane_does_not_come", 2, one_lane_does_not_come},
    {"lane_comes_later", 2, lane_comes_later},
    {"lane_comes_later_aligned", 2, lane_comes_later_aligned},
    {"one_lane_aligned", 2, one_lane_aligned},
    {"aligned_wait_of_plain_arrival", 2, aligned_wait_of_plain_arrival},
    {"barrier_in_no_cluster", 0, barrier_in_no_cluster},
    {"accesses_in_no_cluster", 0, accesses_in_no_cluster},
    {"own_address_as_clusters", 2, own_address_as_clusters},
    {"send_in_no_cluster", 0, send_in_no_cluster},
    {"reduce_in_no_cluster", 0, reduce_in_no_cluster},
    {"send_by_own_address", 2, send_by_own_address},
    {"copy_in_no_cluster", 0, copy_in_no_cluster},
    {"bulk_tells_own_barrier", 2, bulk_tells_own_barrier},
    {"bulk_here_tells_others_barrier", 2, bulk_here_tells_others_barrier},
    {"send_tells_own_barrier", 2, send_tells_own_barrier},
    {"copy_tells_own_barrier", 2, copy_tells_own_barrier},
    {"multicast_of_another_tells_own", 2, multicast_of_another_tells_own},
    {"generic_arrival_elsewhere", 2, generic_arrival_elsewhere},
    {"generic_test_elsewhere", 2, generic_test_elsewhere},
    {"shared_load_of_own_mapped", 2, shared_load_of_own_mapped},
    {"shared_load_of_others_mapped", 2, shared_load_of_others_mapped},
    {"shared_atomic_of_others_mapped", 2, shared_atomic_of_others_mapped},
    {"bulk_store_of_others", 2, bulk_store_of_others},
    {"async_copy_to_another", 2, async_copy_to_another},
    {"matrix_of_another", 2, matrix_of_another},
    {"plain_pointer_of_another", 2, plain_pointer_of_another},
    {"misaligned_load", 2, misaligned_load},
    {"misaligned_send", 2, misaligned_send},
    {"generic_load_of_ended", 2, generic_load_of_ended},
    {"no_meeting_at_the_end", 2, no_meeting_at_the_end},
};

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

// Stages that a multicast fills in several blocks of a cluster, and that are filled again before the readers of every block have let go of
// them; masks, bytes and barriers that do not fit together. The first argument picks the kernel; a comment `expect NAME: KIND` marks a line
// that the report on it must name. tests/right/cluster_multicast.cu has the right ways.

#include "cluster_kernels.h"

enum { TILE = 64,
       BYTES = TILE * 4,
       TILES = 6 };

// Warps 0 and 1 of each block read; the last warp of the first block fills the stages of all blocks.
#define RING(STAGES, READERS) \
    __shared__ alignas(128) float stage[STAGES][TILE]; \
    __shared__ uint64_t full[STAGES], empty[STAGES]; \
    unsigned rank = cluster_rank(), size = cluster_size(), mask = (1 << size) - 1, i = threadIdx.x; \
    bool filler = i == 64 && rank == 0; \
    CLUSTER_SET_UP(full, 1); \
    CLUSTER_SET_UP(empty, READERS); \
    (void)mask, (void)filler

#define FULL_PARITY(STAGES) (t / (STAGES) % 2)
#define EMPTY_PARITY(STAGES) ((t / (STAGES) + 1) % 2)

// What a reader does ahead of its loads: the last warp's first lane of each block, or of the others, expects the bytes.
#define EXPECT(STAGES) \
    if (i == 0 && rank > 0) \
    MBARRIER_ARRIVE_EXPECT(&full[t % (STAGES)], BYTES)
#define FILL(STAGES) \
    do { \
        MBARRIER_ARRIVE_EXPECT(&full[t % (STAGES)], BYTES); \
        BULK_MULTICAST(stage[t % (STAGES)], in + t * TILE, BYTES, &full[t % (STAGES)], mask); \
    } while (0)
#define FINISH() \
    __syncwarp(); \
    CLUSTER_SYNC()

__global__ void only_own_readers_are_waited_for(const float *in, float *out)
{
    RING(2, 64);
    if (filler)
        for (int t = 0; t < TILES; t++) {
            CLUSTER_MBARRIER_WAIT(&empty[t % 2], EMPTY_PARITY(2));
            FILL(2);  // expect only_own_readers_are_waited_for: race in shared memory
        }
    if (i < 64)
        for (int t = 0; t < TILES; t++) {
            EXPECT(2);
            CLUSTER_MBARRIER_WAIT(&full[t % 2], FULL_PARITY(2));
            out[rank * 64 + i] += stage[t % 2][i];  // expect only_own_readers_are_waited_for: race in shared memory
            if (rank == 0)
                MBARRIER_ARRIVE(&empty[t % 2]);
        }
    FINISH();
}

__global__ void each_arrives_at_its_own(const float *in, float *out)  // empty barrier, of which the other block's nobody looks at
{
    RING(2, 64);
    if (filler)
        for (int t = 0; t < TILES; t++) {
            CLUSTER_MBARRIER_WAIT(&empty[t % 2], EMPTY_PARITY(2));
            FILL(2);  // expect each_arrives_at_its_own: race in shared memory
        }
    if (i < 64)
        for (int t = 0; t < TILES; t++) {
            EXPECT(2);
            CLUSTER_MBARRIER_WAIT(&full[t % 2], FULL_PARITY(2));
            out[rank * 64 + i] = stage[t % 2][i];  // expect each_arrives_at_its_own: race in shared memory
            MBARRIER_ARRIVE(&empty[t % 2]);
        }
    FINISH();
}

__global__ void counts_one_block(const float *in, float *out)  // where two let go: a phase ends with half of them
{
    RING(2, 64);
    if (filler)
        for (int t = 0; t < TILES; t++) {
            CLUSTER_MBARRIER_WAIT(&empty[t % 2], EMPTY_PARITY(2));
            FILL(2);  // expect counts_one_block: race in shared memory
        }
    if (i < 64)
        for (int t = 0; t < TILES; t++) {
            EXPECT(2);
            CLUSTER_MBARRIER_WAIT(&full[t % 2], FULL_PARITY(2));
            out[rank * 64 + i] = stage[t % 2][i];  // expect counts_one_block: race in shared memory
            REMOTE_ARRIVE(mapped(&empty[t % 2], 0));
        }
    FINISH();
}

__global__ void one_warp_of_two_lets_go(const float *in, float *out)  // of each block
{
    RING(2, 2);
    if (filler)
        for (int t = 0; t < TILES; t++) {
            CLUSTER_MBARRIER_WAIT(&empty[t % 2], EMPTY_PARITY(2));
            FILL(2);  // expect one_warp_of_two_lets_go: race in shared memory
        }
    if (i < 64)
        for (int t = 0; t < TILES; t++) {
            EXPECT(2);
            CLUSTER_MBARRIER_WAIT(&full[t % 2], FULL_PARITY(2));
            out[rank * 64 + i] = stage[t % 2][i];  // expect one_warp_of_two_lets_go: race in shared memory
            __syncwarp();
            if (i == 0)
                REMOTE_ARRIVE(mapped(&empty[t % 2], 0));
        }
    FINISH();
}

__global__ void lets_go_before_it_reads(const float *in, float *out)
{
    RING(2, 128);
    if (filler)
        for (int t = 0; t < TILES; t++) {
            CLUSTER_MBARRIER_WAIT(&empty[t % 2], EMPTY_PARITY(2));
            FILL(2);  // expect lets_go_before_it_reads: race in shared memory
        }
    if (i < 64)
        for (int t = 0; t < TILES; t++) {
            EXPECT(2);
            CLUSTER_MBARRIER_WAIT(&full[t % 2], FULL_PARITY(2));
            REMOTE_ARRIVE(mapped(&empty[t % 2], 0));
            out[rank * 64 + i] = stage[t % 2][i];  // expect lets_go_before_it_reads: race in shared memory
        }
    FINISH();
}

__global__ void elected_lane_without_its_warp(const float *in, float *out)
{
    RING(2, 4);
    if (filler)
        for (int t = 0; t < TILES; t++) {
            CLUSTER_MBARRIER_WAIT(&empty[t % 2], EMPTY_PARITY(2));
            FILL(2);  // expect elected_lane_without_its_warp: race in shared memory
        }
    if (i < 64)
        for (int t = 0; t < TILES; t++) {
            EXPECT(2);
            CLUSTER_MBARRIER_WAIT(&full[t % 2], FULL_PARITY(2));
            out[rank * 64 + i] = stage[t % 2][i];  // expect elected_lane_without_its_warp: race in shared memory
            if (i % 32 == 0)
                REMOTE_ARRIVE(mapped(&empty[t % 2], 0));
        }
    FINISH();
}

__global__ void syncthreads_for_the_cluster(const float *in, float *out)  // no empty barriers: each block meets alone
{
    RING(2, 1);
    for (int t = 0; t < TILES; t++) {
        if (filler)
            FILL(2);  // expect syncthreads_for_the_cluster: race in shared memory
        EXPECT(2);
        CLUSTER_MBARRIER_WAIT(&full[t % 2], FULL_PARITY(2));
        if (i < 64)
            out[rank * 64 + i] = stage[t % 2][i];  // expect syncthreads_for_the_cluster: race in shared memory
        __syncthreads();
    }
    FINISH();
}

__global__ void relaxed_release(const float *in, float *out)  // says nothing of the loads in front of it
{
    RING(2, 128);
    if (filler)
        for (int t = 0; t < TILES; t++) {
            CLUSTER_MBARRIER_WAIT(&empty[t % 2], EMPTY_PARITY(2));
            FILL(2);  // expect relaxed_release: race in shared memory
        }
    if (i < 64)
        for (int t = 0; t < TILES; t++) {
            EXPECT(2);
            CLUSTER_MBARRIER_WAIT(&full[t % 2], FULL_PARITY(2));
            out[rank * 64 + i] = stage[t % 2][i];  // expect relaxed_release: race in shared memory
            asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(mapped(&empty[t % 2], 0)) : "memory");
        }
    FINISH();
}

__global__ void parity_stands_still(const float *in, float *out)  // of empty: the wait is for what is over
{
    RING(2, 128);
    if (filler)
        for (int t = 0; t < TILES; t++) {
            CLUSTER_MBARRIER_WAIT(&empty[t % 2], 1);
            FILL(2);  // expect parity_stands_still: too many arrivals
        }
    if (i < 64)
        for (int t = 0; t < TILES; t++) {
            EXPECT(2);
            CLUSTER_MBARRIER_WAIT(&full[t % 2], FULL_PARITY(2));
            out[rank * 64 + i] = stage[t % 2][i];
            REMOTE_ARRIVE(mapped(&empty[t % 2], 0));
        }
    FINISH();
}

__global__ void read_before_it_is_full(const float *in, float *out)  // in the other block, which takes full's parity from the tile before
{
    RING(2, 128);
    if (filler)
        for (int t = 0; t < TILES; t++) {
            CLUSTER_MBARRIER_WAIT(&empty[t % 2], EMPTY_PARITY(2));
            FILL(2);  // expect read_before_it_is_full: copy still in flight
        }
    if (i < 64)
        for (int t = 0; t < TILES; t++) {
            EXPECT(2);
            CLUSTER_MBARRIER_WAIT(&full[t % 2], FULL_PARITY(2) ^ (rank == 1));  // perhaps read_before_it_is_full: copy still in flight
            out[rank * 64 + i] = stage[t % 2][i];                               // expect read_before_it_is_full: copy still in flight
            REMOTE_ARRIVE(mapped(&empty[t % 2], 0));
        }
    FINISH();
}

__global__ void other_block_does_not_wait(const float *in, float *out)
{
    __shared__ alignas(128) float tile[TILE];
    __shared__ uint64_t bar;
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        if (cluster_rank() == 0)
            BULK_MULTICAST(tile, in, BYTES, &bar, 3);  // expect other_block_does_not_wait: copy still in flight
    }
    CLUSTER_SYNC();
    if (cluster_rank() == 0)
        CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * TILE + threadIdx.x] = tile[threadIdx.x];  // expect other_block_does_not_wait: copy still in flight
    CLUSTER_SYNC();
}

__global__ void other_block_writes_its_tile(const float *in, float *out)  // while a multicast is on its way to it
{
    __shared__ alignas(128) float tile[TILE];
    __shared__ uint64_t bar;
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        if (cluster_rank() == 0)
            BULK_MULTICAST(tile, in, BYTES, &bar, 3);  // expect other_block_writes_its_tile: target overwritten in flight
    }
    CLUSTER_SYNC();
    if (cluster_rank() == 1)
        tile[threadIdx.x] = 0;  // expect other_block_writes_its_tile: target overwritten in flight
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * TILE + threadIdx.x] = tile[threadIdx.x];
    CLUSTER_SYNC();
}

__global__ void both_load_all(const float *in, float *out)  // where each was to load its half: the same bytes twice
{
    __shared__ alignas(128) float tile[TILE];
    __shared__ uint64_t bar;
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, 2 * BYTES);
        BULK_MULTICAST(tile, in, BYTES, &bar, 3);  // expect both_load_all: target overwritten in flight
    }
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * TILE + threadIdx.x] = tile[threadIdx.x];
    CLUSTER_SYNC();
}

__global__ void cleared_without_a_proxy_fence(const float *in, float *out)  // by its owner, before the other block's copy
{
    __shared__ alignas(128) float tile[TILE];
    __shared__ uint64_t bar;
    tile[threadIdx.x] = 0;  // expect cleared_without_a_proxy_fence: missing proxy fence
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES / 2);
        if (cluster_rank() == 0)
            BULK_MULTICAST(tile, in, BYTES / 2, &bar, 3);  // expect cleared_without_a_proxy_fence: missing proxy fence
    }
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * TILE + threadIdx.x] = tile[threadIdx.x];
    CLUSTER_SYNC();
}

// ---- nobody comes, or not enough ----

__global__ void expects_half_of_the_bytes(const float *in, float *out)
{
    RING(2, 128);
    if (filler)
        for (int t = 0; t < TILES; t++) {
            CLUSTER_MBARRIER_WAIT(&empty[t % 2], EMPTY_PARITY(2));  // perhaps expects_half_of_the_bytes: barrier deadlock
            FILL(2);                                                // perhaps expects_half_of_the_bytes: barrier deadlock
        }
    if (i < 64)
        for (int t = 0; t < TILES; t++) {
            if (i == 0 && rank > 0)
                MBARRIER_ARRIVE_EXPECT(&full[t % 2], BYTES / 2);
            CLUSTER_MBARRIER_WAIT(&full[t % 2], FULL_PARITY(2));  // expect expects_half_of_the_bytes: barrier deadlock
            out[rank * 64 + i] = stage[t % 2][i];
            REMOTE_ARRIVE(mapped(&empty[t % 2], 0));
        }
    __syncwarp();    // perhaps expects_half_of_the_bytes: barrier deadlock
    CLUSTER_SYNC();  // perhaps expects_half_of_the_bytes: barrier deadlock
}

__global__ void expects_twice_the_bytes(const float *in, float *out)
{
    __shared__ alignas(128) float tile[TILE];
    __shared__ uint64_t bar;
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, 2 * BYTES);
        if (cluster_rank() == 0)
            BULK_MULTICAST(tile, in, BYTES, &bar, 3);
    }
    CLUSTER_MBARRIER_WAIT(&bar, 0);  // expect expects_twice_the_bytes: barrier deadlock, in bytes
    out[blockIdx.x * TILE + threadIdx.x] = tile[threadIdx.x];
    CLUSTER_SYNC();
}

__global__ void mask_without_the_third(const float *in, float *out)
{
    __shared__ alignas(128) float tile[TILE];
    __shared__ uint64_t bar;
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        if (cluster_rank() == 0)
            BULK_MULTICAST(tile, in, BYTES, &bar, 11);
    }
    CLUSTER_MBARRIER_WAIT(&bar, 0);  // expect mask_without_the_third: barrier deadlock, in bytes
    out[blockIdx.x * TILE + threadIdx.x] = tile[threadIdx.x];
    CLUSTER_SYNC();  // expect mask_without_the_third: barrier deadlock
}

__global__ void mask_of_a_block_that_is_not_there(const float *in, float *out)
{
    __shared__ alignas(128) float tile[TILE];
    __shared__ uint64_t bar;
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        if (cluster_rank() == 0)
            BULK_MULTICAST(tile, in, BYTES, &bar, 7);  // expect mask_of_a_block_that_is_not_there: invalid copy
    }
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * TILE + threadIdx.x] = tile[threadIdx.x];
    CLUSTER_SYNC();
}

__global__ void only_the_issuer_expects(const float *in, float *out)
{
    __shared__ alignas(128) float tile[TILE];
    __shared__ uint64_t bar;
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0 && cluster_rank() == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_MULTICAST(tile, in, BYTES, &bar, 3);
    }
    CLUSTER_MBARRIER_WAIT(&bar, 0);  // expect only_the_issuer_expects: barrier deadlock
    out[blockIdx.x * TILE + threadIdx.x] = tile[threadIdx.x];
    CLUSTER_SYNC();  // expect only_the_issuer_expects: barrier deadlock
}

__global__ void counts_readers_that_do_not_come(const float *in, float *out)  // two blocks' readers, and one block's arrive
{
    RING(2, 128);
    if (filler)
        for (int t = 0; t < TILES; t++) {
            CLUSTER_MBARRIER_WAIT(&empty[t % 2], EMPTY_PARITY(2));  // expect counts_readers_that_do_not_come: barrier deadlock
            FILL(2);
        }
    if (i < 64)
        for (int t = 0; t < TILES; t++) {
            EXPECT(2);
            CLUSTER_MBARRIER_WAIT(&full[t % 2], FULL_PARITY(2));  // expect counts_readers_that_do_not_come: barrier deadlock
            out[rank * 64 + i] = stage[t % 2][i];
            if (rank == 0)
                REMOTE_ARRIVE(mapped(&empty[t % 2], 0));
        }
    __syncwarp();    // perhaps counts_readers_that_do_not_come: barrier deadlock
    CLUSTER_SYNC();  // perhaps counts_readers_that_do_not_come: barrier deadlock
}

__global__ void lets_go_at_the_wrong_block(const float *in, float *out)  // each at the other's, where the first has to know
{
    RING(2, 128);
    if (filler)
        for (int t = 0; t < TILES; t++) {
            CLUSTER_MBARRIER_WAIT(&empty[t % 2], EMPTY_PARITY(2));  // expect lets_go_at_the_wrong_block: barrier deadlock
            FILL(2);
        }
    if (i < 64)
        for (int t = 0; t < TILES; t++) {
            EXPECT(2);
            CLUSTER_MBARRIER_WAIT(&full[t % 2], FULL_PARITY(2));  // expect lets_go_at_the_wrong_block: barrier deadlock
            out[rank * 64 + i] = stage[t % 2][i];
            REMOTE_ARRIVE(mapped(&empty[t % 2], rank ^ 1));
        }
    __syncwarp();    // perhaps lets_go_at_the_wrong_block: barrier deadlock
    CLUSTER_SYNC();  // perhaps lets_go_at_the_wrong_block: barrier deadlock
}

__global__ void filler_begins_with_parity_0(const float *in, float *out)
{
    RING(2, 128);
    if (filler)
        for (int t = 0; t < TILES; t++) {
            CLUSTER_MBARRIER_WAIT(&empty[t % 2], FULL_PARITY(2));  // expect filler_begins_with_parity_0: barrier deadlock
            FILL(2);
        }
    if (i < 64)
        for (int t = 0; t < TILES; t++) {
            EXPECT(2);
            CLUSTER_MBARRIER_WAIT(&full[t % 2], FULL_PARITY(2));  // expect filler_begins_with_parity_0: barrier deadlock
            out[rank * 64 + i] = stage[t % 2][i];
            REMOTE_ARRIVE(mapped(&empty[t % 2], 0));
        }
    __syncwarp();    // perhaps filler_begins_with_parity_0: barrier deadlock
    CLUSTER_SYNC();  // perhaps filler_begins_with_parity_0: barrier deadlock
}

int main(int argc, char **argv)
{
#define KERNEL(NAME, BLOCKS, THREADS) {#NAME, NAME, BLOCKS, THREADS}
    const struct faulty kernels[] = {
        KERNEL(only_own_readers_are_waited_for, 2, 96),
        KERNEL(each_arrives_at_its_own, 2, 96),
        KERNEL(counts_one_block, 2, 96),
        KERNEL(one_warp_of_two_lets_go, 2, 96),
        KERNEL(lets_go_before_it_reads, 2, 96),
        KERNEL(elected_lane_without_its_warp, 2, 96),
        KERNEL(syncthreads_for_the_cluster, 4, 96),
        KERNEL(relaxed_release, 2, 96),
        KERNEL(parity_stands_still, 2, 96),
        KERNEL(read_before_it_is_full, 2, 96),
        KERNEL(other_block_does_not_wait, 2, TILE),
        KERNEL(other_block_writes_its_tile, 2, TILE),
        KERNEL(both_load_all, 2, TILE),
        KERNEL(cleared_without_a_proxy_fence, 2, TILE),
        KERNEL(expects_half_of_the_bytes, 2, 96),
        KERNEL(expects_twice_the_bytes, 2, TILE),
        KERNEL(mask_without_the_third, 4, TILE),
        KERNEL(mask_of_a_block_that_is_not_there, 2, TILE),
        KERNEL(only_the_issuer_expects, 2, TILE),
        KERNEL(counts_readers_that_do_not_come, 2, 96),
        KERNEL(lets_go_at_the_wrong_block, 2, 96),
        KERNEL(filler_begins_with_parity_0, 2, 96),
    };
    return run_named(argc, argv, kernels, sizeof kernels / sizeof *kernels);
}

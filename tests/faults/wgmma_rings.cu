// Rings of stages between a producer and warpgroups that multiply: let go of too early or by too few, asked for with the wrong
// parity, read before they are full. The first argument picks the kernel; a comment `expect NAME: KIND` marks a line that the
// report on it must name. tests/right/wgmma_rings.cu has the right ways.

#include "wgmma_operands.h"

#define TILES 8
#define STAGES 2

// Consumers are the first warpgroups, the producer is the warp behind them.
#define RING(CONSUMERS) \
    __shared__ alignas(1024) half A[STAGES][TILE], B[STAGES][TILE]; \
    __shared__ uint64_t full[STAGES], empty[STAGES]; \
    SET_UP(full, 1); \
    SET_UP(empty, CONSUMERS); \
    float d[32] = {}; \
    int group = threadIdx.x / 128, last = blockDim.x / 128

// What a producer does for each tile.
#define PRODUCE(PARITY) \
    if (group == last) { \
        if (threadIdx.x % 32 == 0) \
            for (int i = 0; i < TILES; i++) { \
                MBARRIER_WAIT(&empty[i % STAGES], PARITY); \
                MBARRIER_ARRIVE_EXPECT(&full[i % STAGES], 2 * BYTES); \
                BULK_LOAD(A[i % STAGES], in + i * TILE, BYTES, &full[i % STAGES]); \
                BULK_LOAD(B[i % STAGES], in + i * TILE, BYTES, &full[i % STAGES]); \
            } \
        return; \
    }

#define EMPTY_PARITY ((i / STAGES + 1) % 2)
#define FULL_PARITY (i / STAGES % 2)

__global__ void arrives_before_the_wait(const half *in, float *out)
{
    RING(1);
    PRODUCE(EMPTY_PARITY)  // expect arrives_before_the_wait: race in shared memory
    for (int i = 0; i < TILES; i++) {
        MBARRIER_WAIT(&full[i % STAGES], FULL_PARITY);
        WGMMA_FENCE();
        MULTIPLY(d, A[i % STAGES], B[i % STAGES]);  // expect arrives_before_the_wait: race in shared memory
        WGMMA_COMMIT();
        if (threadIdx.x == 0)
            MBARRIER_ARRIVE(&empty[i % STAGES]);
        WGMMA_WAIT(0);
    }
    write_sums(out, d);
}

__global__ void stage_of_the_product_in_flight(const half *in, float *out)  // is let go of, where the one before is meant
{
    RING(1);
    PRODUCE(EMPTY_PARITY)  // expect stage_of_the_product_in_flight: source overwritten in flight
    for (int i = 0; i < TILES; i++) {
        MBARRIER_WAIT(&full[i % STAGES], FULL_PARITY);
        WGMMA_FENCE();
        MULTIPLY(d, A[i % STAGES], B[i % STAGES]);  // expect stage_of_the_product_in_flight: source overwritten in flight
        WGMMA_COMMIT();
        WGMMA_WAIT(1);  // perhaps stage_of_the_product_in_flight: source overwritten in flight
        if (threadIdx.x == 0)
            MBARRIER_ARRIVE(&empty[i % STAGES]);
    }
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void commit_is_forgotten(const half *in, float *out)  // so that the wait covers nothing
{
    RING(1);
    PRODUCE(EMPTY_PARITY)  // expect commit_is_forgotten: source overwritten in flight
    WGMMA_FENCE();
    for (int i = 0; i < TILES; i++) {
        MBARRIER_WAIT(&full[i % STAGES], FULL_PARITY);
        MULTIPLY(d, A[i % STAGES], B[i % STAGES]);  // expect commit_is_forgotten: source overwritten in flight
        WGMMA_WAIT(0);                              // perhaps commit_is_forgotten: source overwritten in flight
        if (threadIdx.x == 0)
            MBARRIER_ARRIVE(&empty[i % STAGES]);
    }
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void one_of_two_lets_go(const half *in, float *out)  // for both, when the other may still read B
{
    RING(1);
    PRODUCE(EMPTY_PARITY)  // expect one_of_two_lets_go: race in shared memory
    for (int i = 0; i < TILES; i++) {
        MBARRIER_WAIT(&full[i % STAGES], FULL_PARITY);  // perhaps one_of_two_lets_go: race in shared memory
        WGMMA_FENCE();
        MULTIPLY(d, A[i % STAGES], B[i % STAGES]);  // expect one_of_two_lets_go: race in shared memory
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        if (threadIdx.x == 0)
            MBARRIER_ARRIVE(&empty[i % STAGES]);
    }
    write_sums(out, d);
}

__global__ void second_is_not_through(const half *in, float *out)  // it waits for its products one step later than it lets go
{
    RING(2);
    PRODUCE(EMPTY_PARITY)  // expect second_is_not_through: source overwritten in flight
    for (int i = 0; i < TILES; i++) {
        MBARRIER_WAIT(&full[i % STAGES], FULL_PARITY);
        WGMMA_FENCE();
        MULTIPLY(d, A[i % STAGES], B[i % STAGES]);  // expect second_is_not_through: source overwritten in flight
        WGMMA_COMMIT();
        if (group == 0)
            WGMMA_WAIT(0);
        else
            WGMMA_WAIT(1);  // perhaps second_is_not_through: source overwritten in flight
        if (threadIdx.x % 128 == 0)
            MBARRIER_ARRIVE(&empty[i % STAGES]);
    }
    WGMMA_WAIT(0);
    write_sums(out, d);
}

__global__ void producer_begins_with_parity_0(const half *in, float *out)
{
    RING(1);
    PRODUCE(i / STAGES % 2)  // expect producer_begins_with_parity_0: barrier deadlock
    for (int i = 0; i < TILES; i++) {
        MBARRIER_WAIT(&full[i % STAGES], FULL_PARITY);  // expect producer_begins_with_parity_0: barrier deadlock
        WGMMA_FENCE();
        MULTIPLY(d, A[i % STAGES], B[i % STAGES]);
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        if (threadIdx.x == 0)
            MBARRIER_ARRIVE(&empty[i % STAGES]);
    }
    write_sums(out, d);
}

__global__ void parity_flips_every_tile(const half *in, float *out)
{
    RING(1);
    PRODUCE(EMPTY_PARITY)  // perhaps parity_flips_every_tile: copy still in flight
    for (int i = 0; i < TILES; i++) {
        MBARRIER_WAIT(&full[i % STAGES], i % 2);  // perhaps parity_flips_every_tile: copy still in flight
        WGMMA_FENCE();
        MULTIPLY(d, A[i % STAGES], B[i % STAGES]);  // expect parity_flips_every_tile: copy still in flight
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        if (threadIdx.x == 0)
            MBARRIER_ARRIVE(&empty[i % STAGES]);
    }
    write_sums(out, d);
}

__global__ void b_of_the_next_stage(const half *in, float *out)
{
    RING(1);
    PRODUCE(EMPTY_PARITY)  // expect b_of_the_next_stage: copy still in flight
    for (int i = 0; i < TILES; i++) {
        MBARRIER_WAIT(&full[i % STAGES], FULL_PARITY);
        WGMMA_FENCE();
        MULTIPLY(d, A[i % STAGES], B[(i + 1) % STAGES]);  // expect b_of_the_next_stage: copy still in flight
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        if (threadIdx.x == 0)
            MBARRIER_ARRIVE(&empty[i % STAGES]);
    }
    write_sums(out, d);
}

__global__ void only_the_first_warp_waits(const half *in, float *out)  // for the tile, and nothing tells the others
{
    RING(1);
    PRODUCE(EMPTY_PARITY)  // perhaps only_the_first_warp_waits: race in shared memory
    for (int i = 0; i < TILES; i++) {
        if (threadIdx.x < 32)
            MBARRIER_WAIT(&full[i % STAGES], FULL_PARITY);
        WGMMA_FENCE();
        MULTIPLY(d, A[i % STAGES], B[i % STAGES]);  // expect only_the_first_warp_waits: race in shared memory
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        if (threadIdx.x == 0)
            MBARRIER_ARRIVE(&empty[i % STAGES]);
    }
    write_sums(out, d);
}

__global__ void half_of_the_bytes(const half *in, float *out)  // are expected: B's come when they come
{
    RING(1);
    if (group == last) {
        if (threadIdx.x % 32 == 0)
            for (int i = 0; i < TILES; i++) {
                MBARRIER_WAIT(&empty[i % STAGES], EMPTY_PARITY);
                MBARRIER_ARRIVE_EXPECT(&full[i % STAGES], BYTES);
                BULK_LOAD(A[i % STAGES], in + i * TILE, BYTES, &full[i % STAGES]);  // perhaps half_of_the_bytes: copy still in flight
                BULK_LOAD(B[i % STAGES], in + i * TILE, BYTES, &full[i % STAGES]);  // perhaps half_of_the_bytes: copy still in flight
            }
        return;
    }
    for (int i = 0; i < TILES; i++) {
        MBARRIER_WAIT(&full[i % STAGES], FULL_PARITY);  // perhaps half_of_the_bytes: copy still in flight
        WGMMA_FENCE();
        MULTIPLY(d, A[i % STAGES], B[i % STAGES]);  // expect half_of_the_bytes: copy still in flight
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        if (threadIdx.x == 0)
            MBARRIER_ARRIVE(&empty[i % STAGES]);
    }
    write_sums(out, d);
}

__global__ void producer_does_not_wait(const half *in, float *out)  // in its third round
{
    RING(1);
    if (group == last) {
        if (threadIdx.x % 32 == 0)
            for (int i = 0; i < TILES; i++) {
                if (i < 2 * STAGES)
                    MBARRIER_WAIT(&empty[i % STAGES], EMPTY_PARITY);
                else
                    MBARRIER_WAIT(&full[i % STAGES], (i / STAGES + 1) % 2);
                MBARRIER_ARRIVE_EXPECT(&full[i % STAGES], 2 * BYTES);
                BULK_LOAD(A[i % STAGES], in + i * TILE, BYTES, &full[i % STAGES]);  // expect producer_does_not_wait: copy still in flight
                BULK_LOAD(B[i % STAGES], in + i * TILE, BYTES, &full[i % STAGES]);  // perhaps producer_does_not_wait: copy still in flight
            }
        return;
    }
    for (int i = 0; i < TILES; i++) {
        MBARRIER_WAIT(&full[i % STAGES], FULL_PARITY);  // perhaps producer_does_not_wait: copy still in flight
        WGMMA_FENCE();
        MULTIPLY(d, A[i % STAGES], B[i % STAGES]);  // expect producer_does_not_wait: copy still in flight
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        if (threadIdx.x == 0)
            MBARRIER_ARRIVE(&empty[i % STAGES]);
    }
    write_sums(out, d);
}

__global__ void another_warp_lets_go(const half *in, float *out)  // one that has not waited for the product
{
    RING(1);
    PRODUCE(EMPTY_PARITY)  // expect another_warp_lets_go: source overwritten in flight
    for (int i = 0; i < TILES; i++) {
        MBARRIER_WAIT(&full[i % STAGES], FULL_PARITY);
        WGMMA_FENCE();
        MULTIPLY(d, A[i % STAGES], B[i % STAGES]);  // expect another_warp_lets_go: source overwritten in flight
        WGMMA_COMMIT();
        if (threadIdx.x == 96)
            MBARRIER_ARRIVE(&empty[i % STAGES]);
        NAMED_SYNC(1, 128);
        WGMMA_WAIT(0);
    }
    write_sums(out, d);
}

int main(int argc, char **argv)
{
    const struct faulty kernels[] = {
        KERNEL(arrives_before_the_wait, 160),
        KERNEL(stage_of_the_product_in_flight, 160),
        KERNEL(commit_is_forgotten, 160),
        KERNEL(one_of_two_lets_go, 288),
        KERNEL(second_is_not_through, 288),
        KERNEL(producer_begins_with_parity_0, 160),
        KERNEL(parity_flips_every_tile, 160),
        KERNEL(b_of_the_next_stage, 160),
        KERNEL(only_the_first_warp_waits, 160),
        KERNEL(half_of_the_bytes, 160),
        KERNEL(producer_does_not_wait, 160),
        KERNEL(another_warp_lets_go, 160),
    };
    return run_named(argc, argv, kernels, sizeof kernels / sizeof *kernels);
}

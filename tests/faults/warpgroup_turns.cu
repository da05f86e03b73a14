// Named barriers between warpgroups that are numbered, counted or paired wrongly. The first argument picks the kernel.
#include "named.h"

#define SYNC(ID, COUNT) asm volatile("bar.sync %0, %1;" ::"r"(ID), "r"(COUNT) : "memory")
#define ARRIVE(ID, COUNT) asm volatile("bar.arrive %0, %1;" ::"r"(ID), "r"(COUNT) : "memory")

// Two warpgroups take turns, and nobody lets the first begin.
__global__ void nobody_begins(int *out)
{
    int group = threadIdx.x / 128;
    for (int i = 0; i < 3; i++) {
        SYNC(1 + group, 256);  // expect nobody_begins: barrier deadlock, in number
        out[threadIdx.x] += i;
        ARRIVE(2 - group, 256);
    }
}

// The last turn is let go of, and once more waited for.
__global__ void one_turn_too_many(int *out)
{
    int group = threadIdx.x / 128;
    if (group == 1)
        ARRIVE(1, 256);
    for (int i = 0; i < 3 + group; i++) {
        SYNC(1 + group, 256);  // expect one_turn_too_many: barrier deadlock, in number
        out[threadIdx.x] += i;
        ARRIVE(2 - group, 256);
    }
}

// A producer fills a buffer for each of two pairs of warpgroups, and both pairs have one number: the wrong two meet.
__global__ void one_number_for_two_pairs(int *out)
{
    __shared__ int buffer[2][128];
    int group = threadIdx.x / 128, lane = threadIdx.x % 128, pair = group % 2;
    if (group < 2) {
        buffer[pair][lane] = lane;  // expect one_number_for_two_pairs: race in shared memory
        ARRIVE(1, 256);
    } else {
        SYNC(1, 256);
        out[threadIdx.x] = buffer[pair][127 - lane];  // expect one_number_for_two_pairs: race in shared memory
    }
}

// Filled and emptied by one number.
__global__ void full_is_empty(int *out)
{
    __shared__ int buffer[128];
    int lane = threadIdx.x % 128, sum = 0;
    for (int i = 0; i < 4; i++) {
        if (threadIdx.x < 128) {
            buffer[lane] = i;  // expect full_is_empty: race in shared memory
            ARRIVE(1, 256);
        } else {
            SYNC(1, 256);
            sum += buffer[127 - lane];  // expect full_is_empty: race in shared memory
        }
    }
    out[threadIdx.x] = sum;
}

// Each warpgroup meets itself alone.
__global__ void counts_one_warpgroup(int *out)
{
    __shared__ int buffer[128];
    int lane = threadIdx.x % 128;
    if (threadIdx.x < 128)
        buffer[lane] = lane;  // expect counts_one_warpgroup: race in shared memory
    SYNC(1, 128);
    if (threadIdx.x >= 128)
        out[threadIdx.x] = buffer[127 - lane];  // expect counts_one_warpgroup: race in shared memory
}

__global__ void counts_the_producer(int *out)  // which does not come
{
    if (threadIdx.x >= 128)
        SYNC(3, 384);  // expect counts_the_producer: barrier deadlock, in 256
    out[threadIdx.x] = 1;
}

__global__ void counts_no_warps(int *out)
{
    if (threadIdx.x < 128)
        ARRIVE(1, 250);  // expect counts_no_warps: invalid barrier
    else
        SYNC(1, 250);  // perhaps counts_no_warps: invalid barrier
    out[threadIdx.x] = 1;
}

__global__ void two_counts(int *out)
{
    if (threadIdx.x < 128)
        ARRIVE(4, 384);
    else
        SYNC(4, 256);  // expect two_counts: invalid barrier
    out[threadIdx.x] = 1;
}

__global__ void sixteenth_number(int *out)
{
    SYNC(16, 256);  // expect sixteenth_number: invalid barrier
    out[threadIdx.x] = 1;
}

// Two arrivals of one warpgroup are as many as the barrier counts: it is over before the other comes.
__global__ void arrives_twice(int *out)
{
    if (threadIdx.x < 128) {
        ARRIVE(5, 256);
        ARRIVE(5, 256);
    } else {
        SYNC(6, 128);
        SYNC(5, 256);  // expect arrives_twice: barrier deadlock, in number
    }
    out[threadIdx.x] = 1;
}

// Two consumers take turns by one number: who has let the other begin may complete the turn that it waits for by itself.
__global__ void one_number_for_two_turns(int *out)
{
    int group = threadIdx.x / 128;
    if (group == 1)
        ARRIVE(1, 256);  // perhaps one_number_for_two_turns: mixed barrier
    for (int i = 0; i < 3; i++) {
        SYNC(1, 256);  // expect one_number_for_two_turns: mixed barrier
        out[threadIdx.x] += i;
        if (group == 0 || i < 2)
            ARRIVE(1, 256);  // perhaps one_number_for_two_turns: mixed barrier
    }
}

// Each warpgroup meets itself alone, and both by one number: warps of the two may complete it.
__global__ void one_number_for_two_groups(int *out)
{
    __shared__ int buffer[2][128];
    int group = threadIdx.x / 128, lane = threadIdx.x % 128;
    buffer[group][lane] = threadIdx.x;
    SYNC(8, 128);  // expect one_number_for_two_groups: mixed barrier
    out[threadIdx.x] = buffer[group][127 - lane];
}

// The turns of a ring of three, of which the third has the first one's number.
__global__ void a_ring_of_two_numbers(int *out)
{
    int group = threadIdx.x / 128, mine = 1 + group % 2, next = 1 + (group + 1) % 3 % 2;
    if (group == 2)
        ARRIVE(1, 256);  // perhaps a_ring_of_two_numbers: mixed barrier
    for (int i = 0; i < 2; i++) {
        SYNC(mine, 256);  // expect a_ring_of_two_numbers: mixed barrier
        out[threadIdx.x] += i;
        if (group < 2 || i < 1)
            ARRIVE(next, 256);  // perhaps a_ring_of_two_numbers: mixed barrier
    }
}

int main(int argc, char **argv)
{
    const struct named kernels[] = {
        KERNEL(nobody_begins, 256),
        KERNEL(one_turn_too_many, 256),
        KERNEL(one_number_for_two_pairs, 512),
        KERNEL(full_is_empty, 256),
        KERNEL(counts_one_warpgroup, 256),
        KERNEL(counts_the_producer, 384),
        KERNEL(counts_no_warps, 256),
        KERNEL(two_counts, 256),
        KERNEL(sixteenth_number, 256),
        KERNEL(arrives_twice, 256),
        KERNEL(one_number_for_two_turns, 256),
        KERNEL(one_number_for_two_groups, 256),
        KERNEL(a_ring_of_two_numbers, 384),
    };
    return run_named(argc, argv, kernels, sizeof kernels / sizeof *kernels);
}

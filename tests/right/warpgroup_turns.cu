// Named barriers between warpgroups: one arrives and another waits, buffers that are filled and emptied, consumers that take turns.
#include "right.h"

#define SYNC(ID, COUNT) asm volatile("bar.sync %0, %1;" ::"r"(ID), "r"(COUNT) : "memory")
#define ARRIVE(ID, COUNT) asm volatile("bar.arrive %0, %1;" ::"r"(ID), "r"(COUNT) : "memory")

enum { STAGES = 2, TILES = 7, FULL = 1, EMPTY = FULL + STAGES, TURN = EMPTY + STAGES };

// A producer and a consumer, with two numbers for each of two buffers. What is empty at last nobody waits for.
__global__ void filled_and_emptied(int *out)
{
    __shared__ int buffer[STAGES][128];
    int lane = threadIdx.x % 128, sum = 0;
    for (int i = 0; i < TILES; i++) {
        int stage = i % STAGES;
        if (threadIdx.x < 128) {
            if (i >= STAGES)
                SYNC(EMPTY + stage, 256);
            buffer[stage][lane] = 100 * i + lane;
            ARRIVE(FULL + stage, 256);
        } else {
            SYNC(FULL + stage, 256);
            sum += buffer[stage][127 - lane];
            ARRIVE(EMPTY + stage, 256);
        }
    }
    out[threadIdx.x] = sum;
}

// Two consumers behind one producer take turns, as in FlashAttention-3: the one lets the other multiply while it does something else.
__global__ void turns(int *out)
{
    __shared__ int order[2 * TILES], at;
    int group = threadIdx.x / 128;
    if (threadIdx.x == 0)
        at = 0;
    __syncthreads();
    if (group == 2)
        return;
    if (group == 1)
        ARRIVE(TURN, 256);
    for (int i = 0; i < TILES; i++) {
        asm volatile("barrier.sync.aligned %0, 256;" ::"r"(TURN + group) : "memory");
        if (threadIdx.x % 128 == 0)
            order[at++] = group;
        asm volatile("barrier.arrive.aligned %0, 256;" ::"r"(TURN + 1 - group) : "memory");
    }
    SYNC(15, 256);
    if (threadIdx.x < 2 * TILES)
        out[threadIdx.x] = order[threadIdx.x];
}

// Three warpgroups: two arrive, and the third waits for both.
__global__ void two_arrive(int *out)
{
    __shared__ int parts[2][128];
    int group = threadIdx.x / 128, lane = threadIdx.x % 128;
    if (group < 2) {
        parts[group][lane] = threadIdx.x;
        ARRIVE(9, 384);
    } else {
        SYNC(9, 384);
        out[lane] = parts[0][127 - lane] + parts[1][127 - lane];
    }
}

// Three consumers take turns in a ring, each with a number of its own.
__global__ void ring(int *out)
{
    __shared__ int order[3 * TILES], at;
    int group = threadIdx.x / 128;
    if (threadIdx.x == 0)
        at = 0;
    __syncthreads();
    if (group == 2)
        ARRIVE(TURN, 256);
    for (int i = 0; i < TILES; i++) {
        SYNC(TURN + group, 256);
        if (threadIdx.x % 128 == 0)
            order[at++] = group;
        if (group < 2 || i + 1 < TILES)
            ARRIVE(TURN + (group + 1) % 3, 256);
    }
    SYNC(15, 384);
    if (threadIdx.x < 3 * TILES)
        out[threadIdx.x] = order[threadIdx.x];
}

// Two groups meet in one barrier, each by itself, and something else keeps their turns apart: a flag, which orders no data, then
// an arrival, then a barrier of all.
__global__ void one_number(int *out)
{
    __shared__ volatile int flag;
    __shared__ int buffer[2][128];
    int group = threadIdx.x / 128, lane = threadIdx.x % 128;
    if (threadIdx.x == 0)
        flag = 0;
    __syncthreads();
    buffer[group][lane] = threadIdx.x;
    while (group == 1 && flag == 0) {
    }
    SYNC(1, 128);
    if (threadIdx.x == 0)
        flag = 1;
    int sum = buffer[group][127 - lane];
    __syncthreads();
    if (group == 1)
        SYNC(2, 256);
    buffer[group][lane] = sum;
    SYNC(1, 128);
    if (group == 0)
        ARRIVE(2, 256);
    sum += buffer[group][127 - lane];
    __syncthreads();
    SYNC(1, 256);
    out[threadIdx.x] = sum;
}

// Two arrivals of one warpgroup count as those of two, though its threads have left when the last come.
__global__ void arrives_for_two(int *out)
{
    __shared__ int parts[128];
    int group = threadIdx.x / 128, lane = threadIdx.x % 128;
    if (group == 0) {
        parts[lane] = lane;
        ARRIVE(8, 384);
        ARRIVE(8, 384);
    } else {
        SYNC(8, 384);
        out[lane] = parts[127 - lane];
    }
}

int main()
{
    int *out;
    CHECK(cudaMalloc(&out, 512 * sizeof *out));
    filled_and_emptied<<<2, 256>>>(out);
    const int *h = to_host(out, 256);
    for (int lane = 0; lane < 128; lane++)
        SAME(h[128 + lane], 100 * (TILES * (TILES - 1) / 2) + TILES * (127 - lane));
    turns<<<1, 384>>>(out);
    h = to_host(out, 2 * TILES);
    for (int i = 0; i < 2 * TILES; i++)
        SAME(h[i], i % 2);
    two_arrive<<<2, 384>>>(out);
    h = to_host(out, 128);
    for (int lane = 0; lane < 128; lane++)
        SAME(h[lane], 127 - lane + 255 - lane);
    ring<<<1, 384>>>(out);
    h = to_host(out, 3 * TILES);
    for (int i = 0; i < 3 * TILES; i++)
        SAME(h[i], i % 3);
    one_number<<<2, 256>>>(out);
    h = to_host(out, 256);
    for (int i = 0; i < 256; i++)
        SAME(h[i], i / 128 * 256 + 127);
    arrives_for_two<<<2, 256>>>(out);
    h = to_host(out, 128);
    for (int lane = 0; lane < 128; lane++)
        SAME(h[lane], 127 - lane);
    return 0;
}

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
    return 0;
}

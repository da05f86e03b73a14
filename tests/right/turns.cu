// Lanes of a warp that take turns under __syncwarp() with full and partial masks; leaders, queues, scans and sorts of
// one warp. tests/faults/turns.cu has the same with a __syncwarp() left out or too small.
#include "right.h"

#define FULL 0xffffffffu

__global__ void write_then_read_then_write(int *out)
{
    __shared__ int s;
    int lane = threadIdx.x;
    if (lane == 0)
        s = 1;
    __syncwarp();
    int v = s;
    __syncwarp();
    if (lane == 1)
        s = 2;
    __syncwarp();
    out[lane] = v + s;
}

__global__ void everyone_once(int *out)  // lane i writes in turn i what all read
{
    __shared__ int words[2];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, sum = 0;
    for (int i = 0; i < 32; i++) {
        if (lane == i)
            words[warp] = i * i;
        __syncwarp();
        sum += words[warp];
        __syncwarp();
    }
    out[threadIdx.x] = sum;
}

__global__ void two_slots_one_barrier(int *out)  // a second slot saves the second __syncwarp()
{
    __shared__ int words[2];
    int lane = threadIdx.x, sum = 0;
    for (int i = 0; i < 16; i++) {
        if (lane == i)
            words[i % 2] = i + 1;
        __syncwarp();
        sum += words[i % 2];
    }
    out[lane] = sum;
}

__global__ void halves_meet_unequally_often(int *out)
{
    __shared__ int words[2];
    int lane = threadIdx.x, half = lane / 16, sum = 0;
    unsigned mask = half ? 0xffff0000u : 0x0000ffffu;
    for (int i = 0; i < (half ? 5 : 3); i++) {
        if (lane % 16 == i)
            words[half] = 10 * half + i;
        __syncwarp(mask);
        sum += words[half];
        __syncwarp(mask);
    }
    __syncwarp();
    out[lane] = sum + words[1 - half];
}

__global__ void pairs_meet_unequally_often(int *out)
{
    __shared__ int words[32];
    int lane = threadIdx.x, pair = lane / 2;
    unsigned mask = 3u << 2 * pair;
    words[lane] = lane;
    for (int i = 0; i < pair % 4; i++) {
        __syncwarp(mask);
        int v = words[lane ^ 1];
        __syncwarp(mask);
        words[lane] = v + 1;
    }
    __syncwarp();
    out[lane] = words[31 - lane];
}

__global__ void quads(int *out)
{
    __shared__ int words[32];
    int lane = threadIdx.x;
    unsigned mask = 0xfu << lane / 4 * 4;
    words[lane] = lane;
    __syncwarp(mask);
    int sum = 0;
    for (int i = 0; i < 4; i++)
        sum += words[lane / 4 * 4 + i];
    out[lane] = sum;
}

__global__ void in_branches(int *out)  // each branch of the warp has a barrier of its own
{
    __shared__ int words[32];
    int lane = threadIdx.x;
    if (lane % 2) {
        words[lane] = lane;
        __syncwarp(0xaaaaaaaau);
        out[lane] = words[(lane + 2) % 32];
    } else {
        words[lane] = 100 + lane;
        __syncwarp(0x55555555u);
        out[lane] = words[(lane + 2) % 32];
    }
}

__global__ void who_is_left(int *out)  // lanes that have ended are not waited for
{
    __shared__ int words[32];
    int lane = threadIdx.x;
    words[lane] = lane;
    if (lane >= 20)
        return;
    __syncwarp(0xfffffu);
    out[lane] = words[19 - lane];
    __syncwarp(0xfffffu);
    words[lane] = 1;
    __syncwarp();  // names the ended ones too: they are discounted
    out[lane] += words[19 - lane];
}

__global__ void leaders_one_after_another(int *out)  // the leader of each turn is found by a vote
{
    __shared__ int word;
    int lane = threadIdx.x, sum = 0;
    bool waiting = lane % 3 == 0;
    for (unsigned left; (left = __ballot_sync(FULL, waiting));) {
        int leader = __ffs(left) - 1;
        if (lane == leader) {
            word = lane + 1;
            waiting = false;
        }
        __syncwarp();
        sum += word;
        __syncwarp();
    }
    out[lane] = sum;
}

__global__ void queue_by_shuffle(int *next, int *out, int n)  // warps draw 32 items at a time
{
    int lane = threadIdx.x % 32;
    for (;;) {
        int first = 0;
        if (lane == 0)
            first = atomicAdd(next, 32);
        first = __shfl_sync(FULL, first, 0);
        if (first >= n)
            break;
        if (first + lane < n)
            out[first + lane] = 2 * (first + lane);
    }
}

__global__ void queue_by_shared_memory(int *next, int *out, int n)
{
    __shared__ int first[4];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (;;) {
        if (lane == 0)
            first[warp] = atomicAdd(next, 32);
        __syncwarp();
        int mine = first[warp] + lane;
        __syncwarp();
        if (mine - lane >= n)
            break;
        if (mine < n)
            out[mine] = 3 * mine;
    }
}

__global__ void one_adds_for_all(int *counters, int *place)  // lanes of one bin are added by their first
{
    int lane = threadIdx.x, bin = lane * 7 % 5;
    unsigned peers = __match_any_sync(FULL, bin);
    int leader = __ffs(peers) - 1, base = 0;
    if (lane == leader)
        base = atomicAdd(&counters[bin], __popc(peers));
    base = __shfl_sync(peers, base, leader);
    place[lane] = base + __popc(peers & ((1u << lane) - 1));
}

__global__ void some_by_ballot(int *out)  // those who go in name each other
{
    __shared__ int words[32];
    int lane = threadIdx.x;
    unsigned inside = __ballot_sync(FULL, lane * 5 % 7 < 3);
    out[lane] = -1;
    if (inside >> lane & 1) {
        words[lane] = lane;
        __syncwarp(inside);
        int next = __ffs(inside & ~((2u << lane) - 1)) - 1;
        out[lane] = next < 0 ? 99 : words[next];
    }
}

__global__ void scan(int *out)
{
    __shared__ int words[32];
    int lane = threadIdx.x;
    words[lane] = lane;
    __syncwarp();
    for (int step = 1; step < 32; step *= 2) {
        int add = lane >= step ? words[lane - step] : 0;
        __syncwarp();
        words[lane] += add;
        __syncwarp();
    }
    out[lane] = words[lane];
}

__global__ void sort(const int *in, int *out)  // bitonic, in place
{
    __shared__ int words[32];
    int lane = threadIdx.x;
    words[lane] = in[lane];
    __syncwarp();
    for (int size = 2; size <= 32; size *= 2)
        for (int step = size / 2; step > 0; step /= 2) {
            int other = lane ^ step;
            if (other > lane) {
                int a = words[lane], b = words[other];
                if ((a > b) == ((lane & size) == 0)) {
                    words[lane] = b;
                    words[other] = a;
                }
            }
            __syncwarp();
        }
    out[lane] = words[lane];
}

__global__ void butterfly(int *out)
{
    __shared__ int words[32];
    int lane = threadIdx.x, sum = lane;
    for (int step = 16; step; step /= 2) {
        words[lane] = sum;
        __syncwarp();
        sum += words[lane ^ step];
        __syncwarp();
    }
    out[lane] = sum;
}

__global__ void first_lane_works_alone(int *out)
{
    __shared__ int words[32];
    int lane = threadIdx.x;
    if (lane == 0) {
        words[0] = 1;
        for (int i = 1; i < 32; i++)
            words[i] = words[i - 1] * 3 % 101;
    }
    __syncwarp();
    out[lane] = words[lane];
}

__global__ void unequal_loops(int *out)  // then all meet
{
    __shared__ int words[32];
    int lane = threadIdx.x;
    words[lane] = 0;
    for (int i = 0; i < lane; i++)
        words[lane] += i;
    __syncwarp();
    out[lane] = words[31 - lane];
}

__global__ void one_store_of_many_lanes(int *out)  // one of them wins; which, no one says
{
    __shared__ int winner;
    int lane = threadIdx.x;
    winner = lane;
    __syncwarp();
    out[lane] = winner;
}

__global__ void in_global_memory(int *a, int *out)  // __syncwarp() orders global memory as well
{
    int lane = threadIdx.x % 32, *mine = a + threadIdx.x / 32 * 32;
    mine[lane] = lane;
    __syncwarp();
    int v = mine[31 - lane];
    __syncwarp();
    mine[lane] = v + 1;
    __syncwarp();
    out[threadIdx.x] = mine[lane ^ 1];
}

__global__ void exchange_by_shuffle(int *out)  // nothing shared, so no barrier
{
    int lane = threadIdx.x, v = lane;
    for (int step = 1; step < 32; step *= 2)
        v += __shfl_xor_sync(FULL, v, step);
    out[lane] = v;
}

int main()
{
    int *out = to_device<int>(NULL, 256), *got;
#define RUN(kernel, threads, ...) (kernel<<<1, threads>>>(__VA_ARGS__), got = to_host(out, 256))
    RUN(write_then_read_then_write, 32, out);
    SAME(got[31], 3);
    RUN(everyone_once, 64, out);
    SAME(got[40], 31 * 32 * 63 / 6);
    RUN(two_slots_one_barrier, 32, out);
    SAME(got[20], 136);
    RUN(halves_meet_unequally_often, 32, out);
    SAME(got[0], 0 + 1 + 2 + 14);
    SAME(got[31], 50 + 10 + 2);
    RUN(pairs_meet_unequally_often, 32, out);
    SAME(got[0], 30 + 3);
    SAME(got[31], 0);
    RUN(quads, 32, out);
    SAME(got[9], 8 + 9 + 10 + 11);
    RUN(in_branches, 32, out);
    SAME(got[31], 1);
    SAME(got[30], 100);
    RUN(who_is_left, 32, out);
    SAME(got[3], 17);
    RUN(leaders_one_after_another, 32, out);
    SAME(got[5], 165 + 11);

    int zero = 0, host[32];
    queue_by_shuffle<<<2, 64>>>(to_device(&zero, 1), out, 200);
    SAME(to_host(out, 256)[199], 398);
    queue_by_shared_memory<<<2, 128>>>(to_device(&zero, 1), out, 200);
    SAME(to_host(out, 256)[199], 597);
    int zeros[5] = {0}, *counters = to_device(zeros, 5), sum = 0;
    RUN(one_adds_for_all, 32, counters, out);
    for (int i = 0; i < 5; i++)
        sum += to_host(counters, 5)[i];
    SAME(sum, 32);
    SAME(got[5], 1);
    RUN(some_by_ballot, 32, out);
    SAME(got[0], 3);
    SAME(got[1], -1);
    RUN(scan, 32, out);
    SAME(got[31], 31 * 16);
    for (int i = 0; i < 32; i++)
        host[i] = i * 37 % 32;
    RUN(sort, 32, to_device(host, 32), out);
    for (int i = 0; i < 32; i++)
        SAME(got[i], i);
    RUN(butterfly, 32, out);
    SAME(got[17], 31 * 16);
    RUN(first_lane_works_alone, 32, out);
    SAME(got[2], 9);
    RUN(unequal_loops, 32, out);
    SAME(got[0], 31 * 15);
    RUN(one_store_of_many_lanes, 32, out);
    SAME(got[0], got[31]);
    RUN(in_global_memory, 64, to_device<int>(NULL, 64), out);
    SAME(got[33], 32);
    RUN(exchange_by_shuffle, 32, out);
    SAME(got[7], 31 * 16);
    return 0;
}

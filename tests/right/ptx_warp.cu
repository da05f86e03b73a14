// Inline PTX: what the lanes of a warp do together, barriers by number, and how threads hand work over with bar.arrive.
#include "right.h"

#define HOLDS(WHAT) \
    do { \
        if (!(WHAT)) \
            atomicExch(wrong, __LINE__); \
    } while (0)

struct shuffled {
    int value, within;
};

#define SHUFFLE(NAME) \
    __device__ shuffled NAME(int x, int by, int c) \
    { \
        shuffled d; \
        asm volatile("{\n\t.reg .pred p;\n\t" \
                     "shfl.sync." #NAME ".b32 %0|p, %2, %3, %4, 0xffffffff;\n\t" \
                     "selp.s32 %1, 1, 0, p;\n\t}" \
                     : "=r"(d.value), "=r"(d.within) \
                     : "r"(x), "r"(by), "r"(c)); \
        return d; \
    }
SHUFFLE(up)
SHUFFLE(down)
SHUFFLE(bfly)
SHUFFLE(idx)

__global__ void shuffles(int *wrong)
{
    int t = threadIdx.x;
    shuffled d = up(t, 3, 0);
    HOLDS(d.value == (t < 3 ? t : t - 3) && d.within == (t >= 3));
    d = down(t, 3, 31);
    HOLDS(d.value == (t > 28 ? t : t + 3) && d.within == (t <= 28));
    d = bfly(t, 5, 31);
    HOLDS(d.value == (t ^ 5) && d.within);
    d = idx(t, 2, (24 << 8) | 31);  // of each 8 lanes the third
    HOLDS(d.value == (t / 8 * 8 + 2) && d.within);
    d = down(t, 2, (24 << 8) | 31);
    HOLDS(d.value == (t % 8 > 5 ? t : t + 2) && d.within == (t % 8 <= 5));
    int plain;
    asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 0x1f, -1;" : "=r"(plain) : "r"(t));
    HOLDS(plain == (t ^ 1));
}

__global__ void votes(int *wrong)
{
    int t = threadIdx.x, ballot, all, any, uniform, same, every, agree, sum, most, bits, active, leader, leads;
    asm volatile("{\n\t.reg .pred p, q;\n\t"
                 "setp.lt.s32 p, %4, 3;\n\t"
                 "vote.sync.ballot.b32 %0, p, 0xffffffff;\n\t"
                 "vote.sync.all.pred q, p, 0xffffffff;\n\tselp.s32 %1, 1, 0, q;\n\t"
                 "vote.sync.any.pred q, p, 0xffffffff;\n\tselp.s32 %2, 1, 0, q;\n\t"
                 "vote.sync.uni.pred q, !p, 0xffffffff;\n\tselp.s32 %3, 1, 0, q;\n\t}"
                 : "=r"(ballot), "=r"(all), "=r"(any), "=r"(uniform)
                 : "r"(t));
    HOLDS(ballot == 7 && !all && any && !uniform);
    asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(same) : "r"(t / 8));
    HOLDS(same == (int)(0xffu << t / 8 * 8));
    asm volatile("{.reg .pred p; match.all.sync.b64 %0|p, %2, -1; selp.s32 %1, 1, 0, p;}"
                 : "=r"(every), "=r"(agree)
                 : "l"(5ll));
    HOLDS(every == -1 && agree);
    asm volatile("{.reg .pred p; match.all.sync.b32 %0|p, %2, -1; selp.s32 %1, 1, 0, p;}"
                 : "=r"(every), "=r"(agree)
                 : "r"(t));
    HOLDS(every == 0 && !agree);
    asm volatile("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(sum) : "r"(t));
    asm volatile("redux.sync.max.s32 %0, %1, 0xffffffff;" : "=r"(most) : "r"(t - 40));
    asm volatile("redux.sync.xor.b32 %0, %1, 0xffffffff;" : "=r"(bits) : "r"(1 << t));
    HOLDS(sum == 496 && most == -9 && bits == -1);
    asm volatile("activemask.b32 %0;" : "=r"(active));
    HOLDS(active == -1);
    asm volatile("{.reg .pred p; elect.sync %0|p, 0xffffffff; selp.s32 %1, 1, 0, p;}" : "=r"(leader), "=r"(leads));
    HOLDS(leader == 0 && leads == (t == 0));
}

// Warp 0 makes, warp 1 takes: full and empty are two barriers; who only tells the other does not wait.
__global__ void handed_over(int *wrong)
{
    __shared__ int s[32];
    int t = threadIdx.x % 32, full = 1, empty = 2;
    for (int i = 0; i < 5; i++) {
        if (threadIdx.x < 32) {
            if (i > 0)
                asm volatile("bar.sync %0, 64;" ::"r"(empty) : "memory");
            s[t] = 100 * i + t;
            asm volatile("bar.arrive %0, 64;" ::"r"(full) : "memory");
        } else {
            asm volatile("barrier.sync %0, %1;" ::"r"(full), "r"(64) : "memory");
            HOLDS(s[31 - t] == 100 * i + 31 - t);
            if (i < 4)
                asm volatile("barrier.arrive.aligned %0, %1;" ::"r"(empty), "r"(64) : "memory");
        }
    }
}

// A barrier that is given a number counts whole warps: 48 threads are two.
__global__ void part_of_a_warp(int *wrong)
{
    __shared__ int s[48];
    s[threadIdx.x] = threadIdx.x;
    asm volatile("bar.sync 5, 64;" ::: "memory");
    HOLDS(s[47 - threadIdx.x] == 47 - threadIdx.x);
}

__global__ void reduced(int *wrong)
{
    int t = threadIdx.x, count, all, any;
    asm volatile("{\n\t.reg .pred p, q;\n\t"
                 "setp.lt.s32 p, %3, 50;\n\t"
                 "bar.red.popc.u32 %0, 0, p;\n\t"
                 "bar.red.and.pred q, 0, p;\n\tselp.s32 %1, 1, 0, q;\n\t"
                 "barrier.cta.red.or.pred q, 3, 64, !p;\n\tselp.s32 %2, 1, 0, q;\n\t}"
                 : "=r"(count), "=r"(all), "=r"(any)
                 : "r"(t)
                 : "memory");
    HOLDS(count == 50 && !all && any);
}

int main()
{
    int *wrong = to_device<int>(NULL, 1);
#define RUN(KERNEL, THREADS) \
    do { \
        CHECK(cudaMemset(wrong, 0, sizeof *wrong)); \
        KERNEL<<<1, THREADS>>>(wrong); \
        SAME(to_host(wrong, 1)[0], 0); \
    } while (0)
    RUN(shuffles, 32);
    RUN(votes, 32);
    RUN(handed_over, 64);
    RUN(part_of_a_warp, 48);
    RUN(reduced, 64);
    return 0;
}

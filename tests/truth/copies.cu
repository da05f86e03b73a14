// Every way a warp can copy from global to shared memory by cp.async: what a GPU's counters say of it, and the
// emulator's must.
//
//   nvcc -std=c++20 -gencode=arch=compute_90a,code=sm_90a copies.cu -o copies && ./copies
//
// {4, 8, 16} bytes through L1 (.ca), 16 past it (.cg) x the address patterns and active lanes listed in patterns.h. The
// pattern is that of the sources, while the targets lie side by side, or (target=1) the other way round. tail=n: lanes
// from n on have a source size of 0. Each launch is one warp, and runs exactly one cp.async. The launches come in a
// fixed order, so that counters can be joined to the printed lines by position. --list prints without running.

#include <cuda_profiler_api.h>
#include <string.h>
#include "patterns.h"

struct launch {
    struct pattern source, target;  // of one mask
    int tail;
};

template <int BYTES, bool PAST_L1> __device__ void copy_async(unsigned to, const void *from, int source_bytes)
{
    if (PAST_L1)
        asm volatile("cp.async.cg.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(BYTES),
                     "r"(source_bytes));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(BYTES),
                     "r"(source_bytes));
}

template <int BYTES, bool PAST_L1> __global__ void copy(const unsigned char *buffer, struct launch l)
{
    __shared__ alignas(16) unsigned char tile[ELEMENTS * BYTES];
    int lane = threadIdx.x;
    if (l.source.mask >> lane & 1) {
        unsigned to = (unsigned)__cvta_generic_to_shared(tile + element(l.target, lane) * BYTES);
        const unsigned char *from = buffer + element(l.source, lane) * BYTES;
        copy_async<BYTES, PAST_L1>(to, from, lane < l.tail ? BYTES : 0);
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
}

struct kernel {
    int bytes, past_l1;
    void (*run)(const unsigned char *buffer, struct launch l);
};

static const struct kernel kernels[] = {
    {4, 0, copy<4, false>},
    {8, 0, copy<8, false>},
    {16, 0, copy<16, false>},
    {16, 1, copy<16, true>},
};

static const unsigned char *buffer;  // NULL: only list

static void run(const struct kernel *k, struct launch l, int by_target)
{
    printf("copy bytes=%d cg=%d target=%d tail=%d", k->bytes, k->past_l1, by_target, l.tail == 32 ? 0 : l.tail);
    print_pattern(by_target ? l.target : l.source);
    if (!buffer)
        return;
    check(cudaProfilerStart());
    k->run<<<1, 32>>>(buffer, l);
    check(cudaGetLastError());
    check(cudaDeviceSynchronize());
    check(cudaProfilerStop());
}

int main(int argc, char **argv)
{
    int list_only = argc > 1 && strcmp(argv[1], "--list") == 0;
    if (!list_only) {
        void *zeros;
        check(cudaMalloc(&zeros, ELEMENTS * 16));
        check(cudaMemset(zeros, 0, ELEMENTS * 16));
        buffer = (const unsigned char *)zeros;
    }
    list_patterns();
    const int tails[] = {1, 8, 20, 31};
    for (const struct kernel &k : kernels) {
        for (int i = 0; i < pattern_count; i++) {
            struct pattern p = patterns[i], linear = {p.mask, 1, 0, 0, 0, 0, 0, 0};
            run(&k, {p, linear, 32}, 0);
            run(&k, {linear, p, 32}, 1);
        }
        for (int tail : tails)
            for (int stride = 1; stride <= 8; stride *= 8)
                run(&k, {patterns[1], {0xffffffff, stride, 0, 0, 0, 0, 0, 0}, tail}, 1);
    }
    return 0;
}

// Every way a warp can touch memory, one access a launch: what a GPU's counters say of it, and the emulator's must.
//
//   nvcc -std=c++20 -gencode=arch=compute_90a,code=sm_90a banks.cu -o banks && ./banks
//
// {ld, st} x {shared, global} x {1, 2, 4, 8, 16} bytes x the address patterns and active lanes listed in main. Each
// launch is one warp, and runs exactly one instruction of the kind that its kernel is named after. The launches come
// in a fixed order, so that counters can be joined to the printed lines by position. --list prints without running.

#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 2048 };  // every pattern stays below: 32 KiB of the widest type

struct pattern {
    unsigned mask;  // active lanes
    int stride;     // elements from one lane to the next
    int offset;     // elements
    int group;      // 2^group neighbouring lanes share an element
    int same;       // lanes that differ in these bits of their number alone share an element
    int shift;      // xor swizzle: (lane >> shift) * factor
    int factor;
    unsigned scatter;  // not 0: the seed of pseudo-random elements below `stride`, in place of all of these
};

__device__ int element(struct pattern p, int lane)
{
    if (p.scatter)
        return (int)(((lane + 1) * 2654435761u * p.scatter >> 12) % (unsigned)p.stride);
    return (((lane & ~p.same) >> p.group) * p.stride + p.offset) ^ ((lane >> p.shift) * p.factor);
}

// Uses every bit of the value, so that no compiler narrows the load of it.
__device__ unsigned fold(unsigned v) { return v; }
__device__ unsigned fold(uint2 v) { return v.x ^ v.y; }
__device__ unsigned fold(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }

template <typename T> __device__ T spread(unsigned v) { return (T)v; }
template <> __device__ uint2 spread<uint2>(unsigned v) { return make_uint2(v, v); }
template <> __device__ uint4 spread<uint4>(unsigned v) { return make_uint4(v, v, v, v); }

// `buffer` holds zeros and `never` is not 0, but the compiler knows neither: the stores under `never` are never
// reached, and keep the access that comes before them alive.

template <typename T> __global__ void shared_ld(void *buffer, struct pattern p, unsigned never)
{
    __shared__ T tile[ELEMENTS];
    int lane = threadIdx.x;
    for (int i = lane; i < ELEMENTS; i += 32)
        tile[i] = spread<T>(never - 1);
    __syncthreads();
    if (p.mask >> lane & 1) {
        T value = tile[element(p, lane)];
        if (fold(value) == never)
            *(T *)buffer = value;
    }
}

template <typename T> __global__ void shared_st(void *buffer, struct pattern p, unsigned never)
{
    __shared__ T tile[ELEMENTS];
    int lane = threadIdx.x;
    if (p.mask >> lane & 1)
        tile[element(p, lane)] = spread<T>(never);
    __syncthreads();
    if (never == 0)
        *(T *)buffer = tile[p.offset];
}

template <typename T> __global__ void global_ld(void *buffer, struct pattern p, unsigned never)
{
    int lane = threadIdx.x;
    if (p.mask >> lane & 1) {
        T value = ((T *)buffer)[element(p, lane)];
        if (fold(value) == never)
            *(T *)buffer = value;
    }
}

template <typename T> __global__ void global_st(void *buffer, struct pattern p, unsigned never)
{
    int lane = threadIdx.x;
    if (p.mask >> lane & 1)
        ((T *)buffer)[element(p, lane)] = spread<T>(never - 1);
}

struct kernel {
    const char *name;
    int bytes;
    void (*run)(void *buffer, struct pattern p, unsigned never);
};

static const struct kernel kernels[] = {
    {"shared_ld", 1, shared_ld<unsigned char>},  {"shared_ld", 2, shared_ld<unsigned short>},
    {"shared_ld", 4, shared_ld<unsigned>},       {"shared_ld", 8, shared_ld<uint2>},
    {"shared_ld", 16, shared_ld<uint4>},         {"shared_st", 1, shared_st<unsigned char>},
    {"shared_st", 2, shared_st<unsigned short>}, {"shared_st", 4, shared_st<unsigned>},
    {"shared_st", 8, shared_st<uint2>},          {"shared_st", 16, shared_st<uint4>},
    {"global_ld", 1, global_ld<unsigned char>},  {"global_ld", 2, global_ld<unsigned short>},
    {"global_ld", 4, global_ld<unsigned>},       {"global_ld", 8, global_ld<uint2>},
    {"global_ld", 16, global_ld<uint4>},         {"global_st", 1, global_st<unsigned char>},
    {"global_st", 2, global_st<unsigned short>}, {"global_st", 4, global_st<unsigned>},
    {"global_st", 8, global_st<uint2>},          {"global_st", 16, global_st<uint4>},
};

static struct pattern patterns[256];
static int pattern_count;

static void add(struct pattern p) { patterns[pattern_count++] = p; }

static void list_patterns(void)
{
    const unsigned ALL = 0xffffffff;
    const int strides[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 31, 32, 33, 64};
    for (int stride : strides)
        add({ALL, stride, 0, 0, 0, 0, 0, 0});

    const int backwards[] = {1, 2, 8};
    for (int stride : backwards)
        add({ALL, -stride, 31 * stride, 0, 0, 0, 0, 0});

    const int offsets[] = {1, 3, 8, 31};  // 1 and 3: across 32-byte sectors, at every size
    for (int offset : offsets) {
        add({ALL, 1, offset, 0, 0, 0, 0, 0});
        add({ALL, 2, offset, 0, 0, 0, 0, 0});
    }

    for (int group = 1; group <= 4; group++) {
        add({ALL, 1, 0, group, 0, 0, 0, 0});
        add({ALL, 32, 0, group, 0, 0, 0, 0});
    }

    const int swizzles[][3] = {{32, 0, 1}, {32, 1, 1}, {16, 1, 1}, {8, 0, 1}, {8, 2, 1}, {64, 0, 2}, {1, 2, 8}};
    for (auto s : swizzles)
        add({ALL, s[0], 0, 0, 0, s[1], s[2], 0});

    const unsigned masks[] = {0x0000ffff, 0xffff0000,                          // halves
                              0x000000ff, 0x00ff0000, 0x00ff00ff, 0xff00ff00,  // quarters
                              0x55555555, 0xaaaaaaaa, 0x0f0f0f0f, 0x00000001,
                              0x80000000, 0x9e3779b9, 0x40101004};  // any
    for (unsigned mask : masks) {
        add({mask, 1, 0, 0, 0, 0, 0, 0});
        add({mask, 8, 0, 0, 0, 0, 0, 0});
        add({mask, 64, 0, 0, 0, 0, 0, 3});
    }

    // An access of 8 or 16 bytes may take fewer phases when of each pair of lanes, l and l ^ 1, or l and l ^ 2, one is
    // inactive or both want the same: so everywhere, and in a part of the warp.
    const int sames[] = {1, 2, 4, 8, 3, 5};
    for (int same : sames) {
        add({ALL, 1, 0, 0, same, 0, 0, 0});
        add({ALL, 8, 0, 0, same, 0, 0, 0});
        add({ALL, 33, 0, 0, same, 0, 0, 0});
    }
    const unsigned parts[] = {0x33333333, 0xcccccccc, 0x5555ffff, 0xffff5555, 0x3333ffff, 0xffff3333, 0x33335555,
                              0x55553333, 0x33555533, 0x55ff55ff, 0x00005555, 0x00ff5555, 0x33333337, 0x12481248};
    for (unsigned mask : parts) {
        add({mask, 1, 0, 0, 0, 0, 0, 0});
        add({mask, 8, 0, 0, 0, 0, 0, 0});
        add({mask, 64, 0, 0, 0, 0, 0, 3});
    }

    const int windows[] = {8, 32, 64, 256, ELEMENTS};
    for (int window : windows)
        for (unsigned seed = 1; seed <= 2; seed++)
            add({ALL, window, 0, 0, 0, 0, 0, seed});
}

static void check(cudaError_t error)
{
    if (error) {
        fprintf(stderr, "banks: %s\n", cudaGetErrorString(error));
        exit(1);
    }
}

int main(int argc, char **argv)
{
    int list_only = argc > 1 && strcmp(argv[1], "--list") == 0;
    void *buffer = NULL;
    if (!list_only) {
        check(cudaMalloc(&buffer, ELEMENTS * sizeof(uint4)));
        check(cudaMemset(buffer, 0, ELEMENTS * sizeof(uint4)));
    }
    list_patterns();
    for (const struct kernel &k : kernels)
        for (int i = 0; i < pattern_count; i++) {
            struct pattern p = patterns[i];
            printf("%s bytes=%d mask=%08x stride=%d offset=%d group=%d same=%d shift=%d factor=%d scatter=%u\n", k.name,
                   k.bytes, p.mask, p.stride, p.offset, p.group, p.same, p.shift, p.factor, p.scatter);
            if (list_only)
                continue;
            check(cudaProfilerStart());
            k.run<<<1, 32>>>(buffer, p, 1);
            check(cudaGetLastError());
            check(cudaDeviceSynchronize());
            check(cudaProfilerStop());
        }
    return 0;
}

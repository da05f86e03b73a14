// Every way a warp can touch memory, one access a launch: what a GPU's counters say of it, and the emulator's must.
//
//   nvcc -std=c++20 -gencode=arch=compute_90a,code=sm_90a banks.cu -o banks && ./banks
//
// {ld, st} x {shared, global} x {1, 2, 4, 8, 16} bytes x the address patterns and active lanes listed in patterns.h. Each
// launch is one warp, and runs exactly one instruction of the kind that its kernel is named after. The launches come
// in a fixed order, so that counters can be joined to the printed lines by position. --list prints without running.

#include <cuda_profiler_api.h>
#include <string.h>
#include "patterns.h"

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
            printf("%s bytes=%d", k.name, k.bytes);
            print_pattern(p);
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

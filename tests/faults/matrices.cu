// ldmatrix, stmatrix and mma.sync where they must not be. The first argument picks the kernel; `expect NAME: KIND` marks
// the lines that the report must name.

#include <cuda_runtime.h>
#include <string.h>

enum { ROWS = 32 };
enum { WORDS = 4 };  // 8 elements of 16 bits: a row

__device__ unsigned address_of(const void *shared) { return (unsigned)__cvta_generic_to_shared(shared); }

#define LOAD_4_FROM(space, r, address) \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" space ".b16 {%0,%1,%2,%3}, [%4];" \
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) \
                 : address)
#define LOAD_4(r, address) LOAD_4_FROM(".shared", r, "r"(address))
#define MULTIPLY_ONES(d) \
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4}, {%4}, {%0,%1,%2,%3};" \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) \
                 : "r"(0x3c003c00))

__global__ void load_without_syncwarp(unsigned *out)
{
    __shared__ uint4 tile[ROWS];
    unsigned r[4];
    tile[31 - threadIdx.x] = make_uint4(1, 2, 3, 4);  // expect load_without_syncwarp: race in shared memory
    LOAD_4(r, address_of(&tile[threadIdx.x]));        // expect load_without_syncwarp: race in shared memory
    out[threadIdx.x] = r[0];
}

__global__ void refilled_by_another_warp(unsigned *out)
{
    __shared__ uint4 tile[ROWS];
    unsigned r[4] = {};
    if (threadIdx.x >= 32)
        tile[threadIdx.x - 32] = make_uint4(1, 2, 3, 4);
    __syncthreads();
    if (threadIdx.x < 32)
        LOAD_4(r, address_of(&tile[threadIdx.x]));  // expect refilled_by_another_warp: race in shared memory
    if (threadIdx.x >= 32) {
        __nanosleep(100);                                 // so that the other warp has read it, mostly
        tile[threadIdx.x - 32] = make_uint4(5, 6, 7, 8);  // expect refilled_by_another_warp: race in shared memory
    }
    out[threadIdx.x] = r[0];
}

__global__ void read_back_without_syncwarp(unsigned *out)
{
    __shared__ __align__(16) unsigned tile[8 * WORDS];
    unsigned r = threadIdx.x, address = address_of(&tile[threadIdx.x % 8 * WORDS]);
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(address), "r"(r));  // expect read_back_without_syncwarp: race in shared memory
    out[threadIdx.x] = tile[threadIdx.x];                                                         // expect read_back_without_syncwarp: race in shared memory
}

__global__ void row_of_eight_bytes(unsigned *out)
{
    __shared__ uint2 tile[2 * ROWS];
    unsigned r[4];
    LOAD_4(r, address_of(&tile[threadIdx.x]));  // expect row_of_eight_bytes: misaligned access
    out[threadIdx.x] = r[0];
}

__global__ void behind_the_tile(unsigned *out)
{
    __shared__ uint4 tile[ROWS - 1];
    unsigned r[4];
    LOAD_4(r, address_of(&tile[threadIdx.x]));  // expect behind_the_tile: out of bounds, in tile
    out[threadIdx.x] = r[0];
}

__global__ void stored_behind_the_tile(unsigned *out)
{
    __shared__ uint4 tile[7];
    unsigned address = address_of(&tile[threadIdx.x % 8]);
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(address), "r"(0));  // expect stored_behind_the_tile: out of bounds, in tile
}

__global__ void in_global_memory(unsigned *out)
{
    unsigned r[4];
    LOAD_4_FROM("", r, "l"(out + threadIdx.x % 2 * WORDS));  // expect in_global_memory: wrong memory space
    out[threadIdx.x] = r[0];
}

__global__ void half_a_warp(float *out)
{
    float c[4] = {};
    MULTIPLY_ONES(c);  // expect half_a_warp: divergent collective
    out[threadIdx.x] = c[0];
}

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        void (*run)(unsigned *out);
        int threads;
    } kernels[] = {
        {"load_without_syncwarp", load_without_syncwarp, 32},
        {"refilled_by_another_warp", refilled_by_another_warp, 64},
        {"read_back_without_syncwarp", read_back_without_syncwarp, 32},
        {"row_of_eight_bytes", row_of_eight_bytes, 32},
        {"behind_the_tile", behind_the_tile, 32},
        {"stored_behind_the_tile", stored_behind_the_tile, 32},
        {"in_global_memory", in_global_memory, 32},
    };
    unsigned *out;
    cudaMalloc(&out, 64 * sizeof *out);
    cudaMemset(out, 0, 64 * sizeof *out);
    for (auto &kernel : kernels)
        if (argc > 1 && strcmp(argv[1], kernel.name) == 0)
            kernel.run<<<1, kernel.threads>>>(out);
    if (argc > 1 && strcmp(argv[1], "half_a_warp") == 0)
        half_a_warp<<<1, 16>>>((float *)out);
    return cudaDeviceSynchronize();
}

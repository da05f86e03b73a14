// Faults that inline PTX commits: found as those of C++ are, and named by the line of the statement.
#include <stdio.h>
#include <string.h>

__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__global__ void reads_behind(float *out)
{
    __shared__ float s[32];
    unsigned at = shared_address(s) + 4 * threadIdx.x;
    s[threadIdx.x] = 1;
    __syncthreads();
    asm volatile("ld.shared.f32 %0, [%1+4];" : "=f"(out[threadIdx.x]) : "r"(at) : "memory");  // expect reads_behind: out of bounds
}

__global__ void writes_behind(float *out)
{
    asm volatile("st.global.v2.f32 [%0], {%1, %1};" ::"l"(out + 62 + 2 * threadIdx.x), "f"(1.0f) : "memory");  // expect writes_behind: out of bounds
}

__global__ void no_barrier(float *out)
{
    __shared__ float s[64];
    unsigned at = shared_address(s) + 4 * threadIdx.x;
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(at), "f"(2.0f) : "memory");  // expect no_barrier: race in shared memory
    out[threadIdx.x] = s[63 - threadIdx.x];                                   // expect no_barrier: race in shared memory
}

__global__ void half_way(float4 *out)  // 8 beyond a multiple of 16
{
    __shared__ alignas(16) float s[64];
    float4 x;
    s[threadIdx.x] = s[threadIdx.x + 32] = 1;
    __syncthreads();
    asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w) : "r"(shared_address(s + 2)));  // expect half_way: misaligned access
    out[threadIdx.x % 8] = x;
}

__global__ void half_way_in_one(float *out)
{
    __shared__ alignas(16) float s[128];
    unsigned at = shared_address(s) + 16 * (threadIdx.x % 16) + 8;
    asm volatile("{.reg .b128 w; mov.b128 w, {%1, %1}; st.shared.b128 [%0], w;}" ::"r"(at), "l"(0ll) : "memory");  // expect half_way_in_one: misaligned access
    out[threadIdx.x] = s[2];
}

__device__ __forceinline__ unsigned word_at(unsigned address)
{
    unsigned word;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");  // expect in_a_function: misaligned access
    return word;
}

__global__ void in_a_function(float *out)
{
    __shared__ unsigned s[64];
    s[threadIdx.x] = s[threadIdx.x + 32] = 1;
    __syncthreads();
    out[threadIdx.x] = word_at(shared_address(s));
    out[threadIdx.x] += word_at(shared_address(s) + 2);  // in_a_function calls
}

__device__ __forceinline__ void all_warps_meet() { asm volatile("bar.sync 2, 64;" ::: "memory"); }  // expect in_a_branch: barrier deadlock

__global__ void in_a_branch(float *out)
{
    if (threadIdx.x < 32)
        all_warps_meet();  // in_a_branch calls
    out[threadIdx.x] = 1;
}

__global__ void half_written(float *out)  // every second word
{
    __shared__ alignas(16) float s[64];
    float x, y;
    s[2 * threadIdx.x] = 1;
    __syncthreads();
    asm volatile("ld.shared.v2.f32 {%0,%1}, [%2];" : "=f"(x), "=f"(y) : "r"(shared_address(s)) : "memory");  // expect half_written: uninitialised shared memory
    out[threadIdx.x] = x + y;
}

__global__ void pointer_as_offset(float *out)  // the low half of a generic address
{
    __shared__ float s[32];
    s[threadIdx.x] = 1;
    unsigned at = (unsigned)(unsigned long long)s | 0x80000000u;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(out[threadIdx.x]) : "r"(at) : "memory");  // expect pointer_as_offset: out of bounds
}

__global__ void wrong_space(float *out)
{
    __shared__ float s[32];
    s[threadIdx.x] = 1;
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(out[threadIdx.x]) : "l"(s + threadIdx.x) : "memory");  // expect wrong_space: wrong memory space
}

__global__ void not_released(int *data)  // .relaxed where .release is needed
{
    int seen = 0;
    if (blockIdx.x == 0) {
        data[1] = 5;  // expect not_released: race in global memory
        asm volatile("st.relaxed.gpu.global.s32 [%0], 1;" ::"l"(data) : "memory");
    } else {
        while (!seen)
            asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(data) : "memory");
        data[2] = data[1];  // expect not_released: race in global memory
    }
}

__global__ void trapped(float *out)
{
    asm volatile("{.reg .pred p; setp.eq.u32 p, %0, 3; @p trap;}" ::"r"(threadIdx.x));  // expect trapped: trap
    out[threadIdx.x] = 1;
}

__global__ void nobody_arrives(float *out)
{
    if (threadIdx.x < 32)
        asm volatile("bar.arrive 1, 96;" ::: "memory");
    else
        asm volatile("bar.sync 1, 96;" ::: "memory");  // expect nobody_arrives: barrier deadlock
    out[threadIdx.x] = 1;
}

__global__ void written_after_arrival(float *out)
{
    __shared__ float s[32];
    if (threadIdx.x < 32) {
        asm volatile("bar.arrive 1, 64;" ::: "memory");
        s[threadIdx.x] = 1;  // expect written_after_arrival: race in shared memory
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[threadIdx.x] = s[threadIdx.x - 32];  // expect written_after_arrival: race in shared memory
    }
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    void *out;
    cudaMalloc(&out, 64 * sizeof(float));
    cudaMemset(out, 0, 64 * sizeof(float));
#define RUN(KERNEL, BLOCKS, THREADS, T) \
    if (!strcmp(name, #KERNEL)) \
    KERNEL<<<BLOCKS, THREADS>>>((T *)out)
    RUN(reads_behind, 1, 32, float);
    RUN(writes_behind, 1, 32, float);
    RUN(no_barrier, 1, 64, float);
    RUN(half_way, 1, 32, float4);
    RUN(half_way_in_one, 1, 32, float);
    RUN(in_a_function, 1, 32, float);
    RUN(in_a_branch, 1, 64, float);
    RUN(half_written, 1, 32, float);
    RUN(pointer_as_offset, 1, 32, float);
    RUN(wrong_space, 1, 32, float);
    RUN(not_released, 2, 1, int);
    RUN(trapped, 1, 32, float);
    RUN(nobody_arrives, 1, 64, float);
    RUN(written_after_arrival, 1, 64, float);
    return cudaDeviceSynchronize();
}

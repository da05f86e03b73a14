// Threads that touch the same shared memory with nothing to order them. The first argument picks the kernel.
// A comment `expect NAME: KIND` marks a line that the report on kernel NAME must name; tests/right/twins.cu has the
// same kernels put right.

#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

__global__ void missing_first_barrier(float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = t;                              // expect missing_first_barrier: race in shared memory
    out[blockIdx.x * 64 + t] = tile[63 - t];  // expect missing_first_barrier: race in shared memory
}

__global__ void missing_second_barrier(float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    float sum = 0;
    for (int step = 0; step < 3; step++) {
        tile[t] = t + step;  // expect missing_second_barrier: race in shared memory
        __syncthreads();
        sum += tile[63 - t];  // expect missing_second_barrier: race in shared memory
    }
    out[t] = sum;
}

__global__ void two_writers(float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = 1;       // expect two_writers: race in shared memory
    tile[63 - t] = 2;  // expect two_writers: race in shared memory
    __syncthreads();
    out[t] = tile[t];
}

__global__ void last_writer(float *out)
{
    __shared__ float last;
    last = threadIdx.x;  // expect last_writer: race in shared memory
    __syncthreads();
    out[threadIdx.x] = last;
}

__global__ void two_turns(float *out)  // in one warp, by one line, but not by one instruction
{
    __shared__ float tile[32];
    int t = threadIdx.x;
    if (t < 32) {
        for (int turn = 0; turn < 2; turn++)
            tile[t ^ turn] = turn;  // expect two_turns: race in shared memory
        __syncwarp();
        out[t] = tile[t];
    }
}

__global__ void not_atomic(float *out)
{
    __shared__ int count;
    if (threadIdx.x == 0)
        count = 0;
    __syncthreads();
    count += 1;  // expect not_atomic: race in shared memory
    __syncthreads();
    out[threadIdx.x] = count;
}

__global__ void index_of_the_warp(float *out)  // meant to be the thread's: one instruction of a warp stores in one place
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = t;
    __syncthreads();
    tile[t / 32] = 2 * tile[t / 32] + 1;  // expect index_of_the_warp: race in shared memory
    out[t] = tile[t];                     // perhaps index_of_the_warp: race in shared memory
}

__global__ void and_another_fault(float *out)  // which ends the launch before its end
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = t;                // expect and_another_fault: race in shared memory
    float other = tile[t ^ 1];  // expect and_another_fault: race in shared memory
    __syncthreads();
    out[128 + t] = other;
}

__global__ void cleared_without_barrier(float *out)  // the one that clears counts at once, and so hides its store
{
    __shared__ int count;
    if (threadIdx.x == 0)
        count = 0;                            // expect cleared_without_barrier: race in shared memory
    out[threadIdx.x] = atomicAdd(&count, 1);  // expect cleared_without_barrier: race in shared memory
}

__global__ void atomic_then_read(float *out)
{
    __shared__ int count;
    if (threadIdx.x == 0)
        count = 0;
    __syncthreads();
    atomicAdd(&count, 1);      // expect atomic_then_read: race in shared memory
    out[threadIdx.x] = count;  // expect atomic_then_read: race in shared memory
}

__global__ void missing_syncwarp(float *out)
{
    __shared__ float tile[32];
    int lane = threadIdx.x;
    if (lane < 32) {
        tile[lane] = lane;           // expect missing_syncwarp: race in shared memory
        out[lane] = tile[lane ^ 1];  // expect missing_syncwarp: race in shared memory
    }
}

__global__ void syncwarp_of_halves(float *out)
{
    __shared__ float tile[32];
    int lane = threadIdx.x;
    if (lane < 32) {
        tile[lane] = lane;  // expect syncwarp_of_halves: race in shared memory
        __syncwarp(lane < 16 ? 0x0000ffff : 0xffff0000);
        out[lane] = tile[31 - lane];  // expect syncwarp_of_halves: race in shared memory
    }
}

__global__ void syncwarp_for_block(float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = t;  // expect syncwarp_for_block: race in shared memory
    __syncwarp();
    out[t] = tile[63 - t];  // expect syncwarp_for_block: race in shared memory
}

__global__ void reduction(float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = t;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2)
        if (t < half)
            tile[t] += tile[t + half];  // expect reduction: race in shared memory
    __syncthreads();
    out[t] = tile[0];
}

__global__ void maximum(float *out)  // most stores write what was there, and only thread 3's last one does not
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = t == 7 ? 1 : -t;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2)
        if (t < half)
            tile[t] = fmaxf(tile[t], tile[t + half]);  // expect maximum: race in shared memory
    __syncthreads();
    out[t] = tile[0];
}

__global__ void dynamic_memory(float *out)
{
    extern __shared__ float stage[];
    int t = threadIdx.x;
    stage[t] = t;            // expect dynamic_memory: race in shared memory
    out[t] = stage[63 - t];  // expect dynamic_memory: race in shared memory
}

__global__ void overlap(float *out)
{
    __shared__ float4 wide[64];
    int t = threadIdx.x;
    wide[t] = make_float4(t, t, t, t);  // expect overlap: race in shared memory
    out[t] = ((float *)wide)[t];        // expect overlap: race in shared memory
}

__device__ __forceinline__ void put(float *slot, float value)
{
    *slot = value;  // expect in_a_function: race in shared memory
}

__device__ __forceinline__ void put_own(float *tile, int i) { put(&tile[i], i); }

__global__ void in_a_function(float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    put_own(tile, t);       // in_a_function calls
    out[t] = tile[63 - t];  // expect in_a_function: race in shared memory
}

static int is(const char *argument, const char *name) { return strcmp(argument, name) == 0; }

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    float *out;
    cudaMalloc(&out, 128 * sizeof(float));
    if (is(name, "missing_first_barrier"))
        missing_first_barrier<<<2, 64>>>(out);
    if (is(name, "missing_second_barrier"))
        missing_second_barrier<<<1, 64>>>(out);
    if (is(name, "two_writers"))
        two_writers<<<1, 64>>>(out);
    if (is(name, "last_writer"))
        last_writer<<<1, 64>>>(out);
    if (is(name, "two_turns"))
        two_turns<<<1, 64>>>(out);
    if (is(name, "not_atomic"))
        not_atomic<<<1, 64>>>(out);
    if (is(name, "index_of_the_warp"))
        index_of_the_warp<<<1, 64>>>(out);
    if (is(name, "and_another_fault"))
        and_another_fault<<<1, 64>>>(out);
    if (is(name, "cleared_without_barrier"))
        cleared_without_barrier<<<1, 64>>>(out);
    if (is(name, "atomic_then_read"))
        atomic_then_read<<<1, 64>>>(out);
    if (is(name, "missing_syncwarp"))
        missing_syncwarp<<<1, 64>>>(out);
    if (is(name, "syncwarp_of_halves"))
        syncwarp_of_halves<<<1, 64>>>(out);
    if (is(name, "syncwarp_for_block"))
        syncwarp_for_block<<<1, 64>>>(out);
    if (is(name, "reduction"))
        reduction<<<1, 64>>>(out);
    if (is(name, "maximum"))
        maximum<<<1, 64>>>(out);
    if (is(name, "dynamic_memory"))
        dynamic_memory<<<1, 64, 64 * sizeof(float)>>>(out);
    if (is(name, "overlap"))
        overlap<<<1, 64>>>(out);
    if (is(name, "in_a_function"))
        in_a_function<<<1, 64>>>(out);
    return cudaDeviceSynchronize();
}

// The kernels of tests/faults, put right, most by the smallest change that takes the fault away. Each of 64 threads
// leaves 63 - t in out[t].

#include "right.h"

// races.cu

__global__ void missing_first_barrier(const float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = t;
    __syncthreads();
    out[t] = tile[63 - t];
}

__global__ void missing_second_barrier(const float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    float sum = 0;
    for (int step = -1; step <= 1; step++) {
        tile[t] = t + step;
        __syncthreads();
        sum += tile[63 - t];
        __syncthreads();
    }
    out[t] = sum / 3;
}

__global__ void two_writers(const float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = 1;
    __syncthreads();
    tile[63 - t] = t;
    __syncthreads();
    out[t] = tile[t];
}

__global__ void last_writer(const float *in, float *out)
{
    __shared__ float last;
    if (threadIdx.x == 63)
        last = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = last - threadIdx.x;
}

__global__ void not_atomic(const float *in, float *out)
{
    __shared__ int count;
    if (threadIdx.x == 0)
        count = -1;
    __syncthreads();
    atomicAdd(&count, 1);
    __syncthreads();
    int first = count;
    __syncthreads();
    if (threadIdx.x == 63)
        count += 5;  // a plain write, apart from the atomics by barriers
    __syncthreads();
    out[threadIdx.x] = first - (int)threadIdx.x + (count - 68);
}

__global__ void missing_syncwarp(const float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = 63 - (t ^ 1);
    __syncwarp();
    out[t] = tile[t ^ 1];
}

__global__ void syncwarp_of_halves(const float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = 63 - (t ^ 15);
    __syncwarp(t % 32 < 16 ? 0x0000ffff : 0xffff0000);
    out[t] = tile[t ^ 15];
}

// __syncwarp, unlike shuffles, may be met from different lines.
__global__ void syncwarp_in_branches(const float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    if (t % 2) {
        tile[t] = 63 - (t ^ 1);
        __syncwarp();
    } else {
        tile[t] = 62 - t;
        __syncwarp();
    }
    out[t] = tile[t ^ 1];
}

__global__ void two_turns(const float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    for (int turn = 0; turn < 2; turn++) {
        tile[t ^ turn] = 63 - (t ^ turn);
        __syncwarp();
    }
    out[t] = tile[t];
}

// Many lanes store to one element in one instruction: one of the stores happens.
__global__ void one_store_by_a_warp(const float *in, float *out)
{
    __shared__ int last[2];
    int t = threadIdx.x;
    last[t / 32] = 7;
    __syncwarp();
    out[t] = 56 - t + last[t / 32];
}

__global__ void reduction(const float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = 1;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (t < half)
            tile[t] += tile[t + half];
        __syncthreads();
    }
    out[t] = tile[0] - 1 - t;
}

__global__ void dynamic_memory(const float *in, float *out)
{
    extern __shared__ float stage[];
    int t = threadIdx.x;
    stage[t] = t;
    __syncthreads();
    out[t] = stage[63 - t];
}

__global__ void overlap(const float *in, float *out)
{
    __shared__ float4 wide[64];
    int t = threadIdx.x;
    wide[t] = make_float4(t, 0, 0, 0);
    __syncthreads();
    out[t] = ((float *)wide)[4 * (63 - t)];
}

__device__ void put(float *slot, float value) { *slot = value; }

__global__ void in_a_function(const float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    put(&tile[t], t);
    __syncthreads();
    out[t] = tile[63 - t];
}

// Threads of a block read one element, and one thread at a time writes it.
__global__ void taking_turns(const float *in, float *out)
{
    __shared__ int turn;
    int t = threadIdx.x;
    if (t == 0)
        turn = 0;
    __syncthreads();
    int mine = 0;
    for (int i = 0; i < 64; i++) {
        if (turn == t)
            mine = 63 - i;
        __syncthreads();
        if (i == t)
            turn = i + 1;
        __syncthreads();
    }
    out[t] = mine;
}

// uninitialised.cu

__global__ void one_component(const float *in, float *out)
{
    __shared__ float4 wide[64];
    int t = threadIdx.x;
    wide[t].x = wide[t].y = wide[t].z = 0;
    wide[t].w = t;
    __syncthreads();
    float4 v = wide[63 - t];
    out[t] = v.x + v.y + v.z + v.w;
}

__global__ void partly_used(const float *in, float *out)
{
    __shared__ float tile[1000];
    int t = threadIdx.x;
    if (t < 32)
        tile[10 * t] = 63 - t;
    __syncthreads();
    out[t] = t < 32 ? tile[10 * t] : 63 - t;
}

// bounds.cu

__global__ void last_elements(const float *in, float *out)
{
    int t = threadIdx.x;
    float edge = (t < 63 ? in[t + 1] : 0) + (t > 0 ? in[t - 1] : 0);
    out[t] = edge - edge + 63 - t;
}

__global__ void shared_edges(const float *in, float *out)
{
    __shared__ float before[64], tile[64], after[3];
    int t = threadIdx.x;
    before[t] = tile[t] = t;
    if (t < 3)
        after[t] = 0;
    __syncthreads();
    float edge = t < 63 ? tile[t + 1] : after[0];
    out[t] = before[63 - t] + (edge > 1000) + (t > 0 ? tile[t - 1] : after[2]) * 0;
}

__global__ void whole_dynamic(const float *in, float *out)
{
    extern __shared__ float stage[];
    stage[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = stage[63 - threadIdx.x];
}

// misaligned.cu

__global__ void aligned_vectors(const float *in, float *out)
{
    __shared__ __align__(16) float tile[64];
    int t = threadIdx.x;
    tile[t] = in[t + 1];
    __syncthreads();
    if (t < 16) {
        float4 v = *(const float4 *)(in + 4 * t), w = *(float4 *)&tile[4 * t];
        float zero = v.y - w.x;
        *(float2 *)(out + 4 * t) = make_float2(63 - 4 * t + zero, 62 - 4 * t + zero);
        out[4 * t + 2] = 61 - 4 * t;
        out[4 * t + 3] = 60 - 4 * t;
    }
}

// barriers.cu

__global__ void two_kinds_of_barrier(const float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = t;
    if (t < 16)
        __syncwarp(0x0000ffff);
    __syncthreads();
    out[t] = tile[63 - t];
}

__global__ void same_trip_counts(const float *in, float *out)
{
    float v = 0;
    for (int i = 0; i < 5; i++) {
        if (threadIdx.x < 32)
            v += 1;
        __syncthreads();
    }
    out[threadIdx.x] = 63.0f - threadIdx.x + (v > 10);
}

// collectives.cu

__global__ void only_those_in_the_mask(const float *in, float *out)
{
    int t = threadIdx.x, lane = t % 32, v = t;
    if (lane < 16)
        v = __shfl_xor_sync(0x0000ffff, v, 15);
    else
        v = __shfl_xor_sync(0xffff0000, v, 15);
    v = __shfl_xor_sync(0xffffffff, v, lane < 16 ? 15 : 15);
    if (lane % 2)
        v += __any_sync(0xaaaaaaaa, lane == 2);
    else
        v += __popc(__ballot_sync(0x55555555, lane == 2)) - 1;
    out[t] = 63 - v;
}

__global__ void whoever_is_here(const float *in, float *out)
{
    int t = threadIdx.x;
    if (t % 32 < 10) {
        unsigned mask = __activemask();
        __syncwarp(mask);
        out[t] = 63 - t;
    } else {
        out[t] = 63 - __shfl_sync(0xfffffc00, t, t % 32);
    }
}

// stack.cu

__device__ __noinline__ int deeper(int depth)
{
    volatile int room[8];
    room[depth % 8] = depth;
    return depth == 0 ? 0 : deeper(depth - 1) + room[depth % 8] - depth + 1;
}

__global__ void no_overflow(const float *in, float *out)
{
    out[threadIdx.x] = 63 - deeper(threadIdx.x % 4) - (int)threadIdx.x / 4 * 4;
}

int main(void)
{
    struct {
        const char *name;
        void (*kernel)(const float *, float *);
    } kernels[] = {
        {"missing_first_barrier", missing_first_barrier},
        {"missing_second_barrier", missing_second_barrier},
        {"two_writers", two_writers},
        {"last_writer", last_writer},
        {"not_atomic", not_atomic},
        {"missing_syncwarp", missing_syncwarp},
        {"syncwarp_of_halves", syncwarp_of_halves},
        {"syncwarp_in_branches", syncwarp_in_branches},
        {"two_turns", two_turns},
        {"one_store_by_a_warp", one_store_by_a_warp},
        {"reduction", reduction},
        {"dynamic_memory", dynamic_memory},
        {"overlap", overlap},
        {"in_a_function", in_a_function},
        {"taking_turns", taking_turns},
        {"one_component", one_component},
        {"partly_used", partly_used},
        {"last_elements", last_elements},
        {"shared_edges", shared_edges},
        {"whole_dynamic", whole_dynamic},
        {"aligned_vectors", aligned_vectors},
        {"two_kinds_of_barrier", two_kinds_of_barrier},
        {"same_trip_counts", same_trip_counts},
        {"only_those_in_the_mask", only_those_in_the_mask},
        {"whoever_is_here", whoever_is_here},
        {"no_overflow", no_overflow},
    };
    float *host = numbers(65, 11), *in = to_device(host, 65);
    for (auto k : kernels) {
        float *out = to_device<float>(NULL, 64);  // freed and allocated anew: an old address may come back
        k.kernel<<<1, 64, 64 * sizeof(float)>>>(in, out);
        float *got = to_host(out, 64);
        for (int t = 0; t < 64; t++)
            if (got[t] != 63 - t) {
                printf("%s: thread %d left %g\n", k.name, t, got[t]);
                return 1;
            }
        CHECK(cudaFree(out));
        free(got);
    }
    return 0;
}

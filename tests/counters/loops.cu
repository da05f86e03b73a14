// Which lanes execute an access together: each line that ends in "// N together" makes N requests of a warp.
//
// The rules of SIMT execution: an instruction is issued once for all lanes that are there together. Where lanes part,
// at a branch or at the end of a loop, each way is executed on its own; they are together again where the ways join:
// after the branch, at the next turn of the loop, after the loop. One launch of each kernel, one warp.

#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

#define LANE ((int)threadIdx.x)

// One lane at each turn: 32 turns of one lane.
__global__ void one_lane_a_turn(const float *in, float *out)
{
    float x = 0;
    for (int i = 0; i < 32; i++)
        if (LANE == i)
            x += in[i];  // 32 together
    out[LANE] = x;       // 1 together
}

// The halves of the warp go two ways.
__global__ void halves(const float *in, float *out)
{
    float x;
    if (LANE < 16)
        x = in[LANE] + 1;  // 1 together
    else
        x = in[LANE ^ 1] * 2;  // 1 together
    out[LANE] = x;             // 1 together
}

// Lane l turns l times: 31 turns, with ever fewer lanes.
__global__ void shrinking(const float *in, float *out)
{
    float x = 0;
    int n = LANE;
    while (n > 0) {
        x += in[n];  // 31 together
        n--;
    }
    out[LANE] = x + in[LANE];  // 2 together
}

// The lanes take 0 to 3 turns of the inner loop, and meet again after it at each turn of the outer one.
__global__ void nested(const float *in, float *out)
{
    float x = 0;
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < LANE % 4; j++)
            x += in[i + j];  // 15 together
        x *= in[i];          // 5 together
    }
    out[LANE] = x;  // 1 together
}

// The same, where the inner loop is all there is in the outer one.
__global__ void only_nested(const float *in, float *out)
{
    float x = 0;
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < LANE % 4; j++)
            x += in[i + j];  // 15 together
    out[LANE] = x;           // 1 together
}

// Lane l starts at row l % 4: four turns for the first, one for the last, all at once.
__global__ void from_different_starts(const float *in, float *out)
{
    float x = 0;
    for (int i = LANE % 4; i < 4; i++)
        for (int j = 0; j <= i; j++)
            x += in[i + j];  // 16 together
    out[LANE] = x;           // 1 together
}

// Two ways in each turn, and together again before the next.
__global__ void ways_in_a_loop(const float *in, float *out)
{
    float x = 0;
    for (int i = 0; i < 6; i++) {
        if ((LANE + i) % 2)
            x += in[LANE];  // 6 together
        else
            x *= in[LANE + i];  // 6 together
        x -= in[i];             // 6 together
    }
    out[LANE] = x;  // 1 together
}

// A lane that continues skips the rest of its turn, no more.
__global__ void continues(const float *in, float *out)
{
    float x = 0;
    for (int i = 0; i < 6; i++) {
        x += in[i];  // 6 together
        if ((LANE + i) % 3 == 0)
            continue;
        x *= in[LANE];  // 6 together
    }
    out[LANE] = x;  // 1 together
}

// Lane l leaves at turn l. What it does on its way out, it does before the others go on.
__global__ void breaks(const float *in, float *out)
{
    float x = 1;
    for (int i = 0; i < 32; i++) {
        x += in[i];  // 32 together
        if (LANE == i) {
            x *= in[LANE];  // 32 together
            break;
        }
    }
    out[LANE] = x;  // 1 together
}

__global__ void early_return(const float *in, float *out)
{
    if (LANE % 2)
        return;
    out[LANE] = in[LANE];  // 2 together
}

__global__ void four_cases(const float *in, float *out)
{
    float x = 0;
    switch (LANE % 4) {
    case 0:
        x = in[LANE];  // 1 together
        break;
    case 1:
        x = in[LANE + 1] * 3;  // 1 together
        break;
    case 2:
        x += in[LANE + 2];  // 1 together
        break;
    default: x = 5;
    }
    out[LANE] = x;  // 1 together
}

// Every lane takes five turns, each at places of its own.
__global__ void binary_search(const float *in, float *out)
{
    int low = 0, high = 32;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (in[middle] <= LANE)  // 5 together
            low = middle;
        else
            high = middle;
    }
    out[LANE] = low;  // 1 together
}

__device__ __noinline__ float called(const float *in, int n)
{
    float x = 0;
    for (int i = 0; i < n; i++)
        x += in[i];
    return x + in[n];
}

// A call in each of two branches, and one in a loop: within the function as if it were written there.
__global__ void calls(const float *in, float *out)
{
    float x = 0;
    if (LANE < 8)
        x += called(in, 1);
    else
        x -= called(in, 2);
    for (int i = 0; i < LANE; i++)
        x += called(in + i, 0);
    out[LANE] = x;  // 1 together
}

// One load in a loop without an end of its own, and two ways to its next turn.
__global__ void endless_with_two_ways(const float *in, float *out)
{
    float x = 0;
    int n = 0;
    for (;;) {
        x += in[n];  // 8 together
        if (n >= 7)
            break;
        if ((LANE + n) % 2) {
            n++;
            x *= in[LANE];  // 7 together
            continue;
        }
        x -= in[LANE + 1];  // 7 together
        n++;
    }
    out[LANE] = x;  // 1 together
}

// Lanes that return from within a loop are gone; the others are together after it.
__global__ void returns_in_a_loop(const float *in, float *out)
{
    float x = 0;
    for (int i = 0; i < 16; i++) {
        if (LANE == i)
            return;
        x += in[i];  // 16 together
    }
    out[LANE] = x;  // 1 together
}

// Every lane leaves at the third turn, by one of two ways out; what follows, they do together.
__global__ void two_ways_out(const float *in, float *out)
{
    float x = 0;
    for (int i = 0; i < 8; i++) {
        if (LANE % 2 && i == 2)
            break;
        x += in[i];  // 3 together
        if (i == 2)
            break;
    }
    out[LANE] = x;  // 1 together
}

// Lanes with a number of turns of their own, twice, and one after the other.
__global__ void loop_after_loop(const float *in, float *out)
{
    float x = 0;
    for (int i = 0; i < LANE % 8; i++)
        x += in[i];  // 7 together
    x *= in[LANE];   // 1 together
    for (int i = LANE % 8; i < 8; i++)
        x += in[i];  // 8 together
    out[LANE] = x;   // 1 together
}

// Barriers and atomic operations are instructions like any other.
__global__ void events(const float *in, float *out)
{
    for (int i = 0; i < 32; i++)
        if (LANE == i)
            atomicAdd(out, in[i]);  // 32 together, 32 atomics
    for (int i = 0; i < 3; i++)
        __syncthreads();  // 3 barriers
    if (LANE < 16)
        __syncwarp(0xffff);  // 1 warp_barriers
}

int main()
{
    float *in, *out, values[64];
    for (int i = 0; i < 64; i++)
        values[i] = (float)i;
    if (cudaMalloc(&in, sizeof values) || cudaMalloc(&out, sizeof values))
        return 1;
    cudaMemcpy(in, values, sizeof values, cudaMemcpyHostToDevice);
    cudaMemset(out, 0, sizeof values);
    void (*const kernels[])(const float *, float *) = {one_lane_a_turn,
                                                       halves,
                                                       shrinking,
                                                       nested,
                                                       only_nested,
                                                       from_different_starts,
                                                       ways_in_a_loop,
                                                       continues,
                                                       breaks,
                                                       early_return,
                                                       four_cases,
                                                       binary_search,
                                                       calls,
                                                       loop_after_loop,
                                                       events,
                                                       endless_with_two_ways,
                                                       returns_in_a_loop,
                                                       two_ways_out};
    cudaProfilerStart();
    for (auto kernel : kernels)
        kernel<<<1, 32>>>(in, out);
    if (cudaDeviceSynchronize())
        return 1;
    cudaProfilerStop();
    return 0;
}

// Recursion that no one bounded, with frames of different sizes and through pointers. `perhaps NAME: KIND` marks the lines
// that the report may name.
#include <string.h>

__device__ __noinline__ int deep(int n, int *p)            // perhaps large_frames: stack overflow
{                                                          // perhaps large_frames: stack overflow
    int a[64];                                             // perhaps large_frames: stack overflow
    for (int i = 0; i < 64; i++)                           // perhaps large_frames: stack overflow
        a[i] = n + p[i];                                   // perhaps large_frames: stack overflow
    return n == 0 ? a[p[0]] : deep(n - 1, p) + a[n % 64];  // perhaps large_frames: stack overflow
}

__global__ void large_frames(int *p, int *out)
{
    out[threadIdx.x] = deep(1000000, p);  // perhaps large_frames: stack overflow
}

__device__ __noinline__ int small(int n, int *p)         // perhaps small_frames: stack overflow
{                                                        // perhaps small_frames: stack overflow
    return n == 0 ? p[0] : small(n - 1, p) + p[n % 64];  // perhaps small_frames: stack overflow
}

__global__ void small_frames(int *p, int *out)
{
    out[threadIdx.x] = small(10000000, p);  // perhaps small_frames: stack overflow
}

__device__ __noinline__ int odd(int n, int *p);

__device__ __noinline__ int even(int n, int *p)        // perhaps two_by_turns: stack overflow
{                                                      // perhaps two_by_turns: stack overflow
    volatile int room[32];                             // perhaps two_by_turns: stack overflow
    room[n % 32] = p[n % 64];                          // perhaps two_by_turns: stack overflow
    return n == 0 ? 1 : odd(n - 1, p) + room[n % 32];  // perhaps two_by_turns: stack overflow
}

__device__ __noinline__ int odd(int n, int *p)       // perhaps two_by_turns: stack overflow
{                                                    // perhaps two_by_turns: stack overflow
    return n == 0 ? 0 : even(n - 1, p) + p[n % 64];  // perhaps two_by_turns: stack overflow
}

__global__ void two_by_turns(int *p, int *out)
{
    out[threadIdx.x] = even(1000000, p);  // perhaps two_by_turns: stack overflow
}

#define CASE(kernel) \
    if (strcmp(name, #kernel) == 0) \
    kernel

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int *p, *out;
    cudaMalloc(&p, 64 * sizeof(int));
    cudaMemset(p, 0, 64 * sizeof(int));
    cudaMalloc(&out, 32 * sizeof(int));
    CASE(large_frames)<<<1, 1>>>(p, out);
    CASE(small_frames)<<<1, 32>>>(p, out);
    CASE(two_by_turns)<<<1, 1>>>(p, out);
    return cudaDeviceSynchronize();
}

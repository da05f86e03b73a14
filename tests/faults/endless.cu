// Kernels that never end. The first argument picks the kernel; `perhaps NAME: KIND` marks the lines where its threads may
// be found.
#include <string.h>

__device__ int lock, flag, first, second, arrived;

__global__ void nobody_raises_the_flag(volatile int *up)
{
    while (*up == 0)  // perhaps nobody_raises_the_flag: endless kernel
        ;             // perhaps nobody_raises_the_flag: endless kernel
}

__global__ void nobody_adds(int *)
{
    while (atomicAdd(&flag, 0) == 0)  // perhaps nobody_adds: endless kernel
        ;                             // perhaps nobody_adds: endless kernel
}

__global__ void condition_never_changes(int *a)
{                      // perhaps condition_never_changes: endless kernel
    while (a[0] == 0)  // perhaps condition_never_changes: endless kernel
        a[1] = 3;      // perhaps condition_never_changes: endless kernel
}

__global__ void lock_never_released(int *a)
{
    while (atomicCAS(&lock, 0, 1) != 0)  // perhaps lock_never_released: endless kernel
        ;                                // perhaps lock_never_released: endless kernel
    a[blockIdx.x] = 1;
}

__global__ void taken_twice(int *a)
{
    while (atomicExch(&lock, 1) != 0)
        ;
    a[0] = 1;
    while (atomicExch(&lock, 1) != 0)  // perhaps taken_twice: endless kernel
        ;                              // perhaps taken_twice: endless kernel
    atomicExch(&lock, 0);
}

__global__ void locks_in_opposite_order(int *)  // each holds one, and both know it, before they want the other
{
    int *mine = blockIdx.x ? &first : &second, *other = blockIdx.x ? &second : &first;
    while (atomicCAS(mine, 0, 1) != 0)
        ;
    atomicAdd(&arrived, 1);
    while (atomicAdd(&arrived, 0) < 2)
        ;
    while (atomicCAS(other, 0, 1) != 0)  // perhaps locks_in_opposite_order: endless kernel
        ;                                // perhaps locks_in_opposite_order: endless kernel
}

__global__ void barrier_expects_one_more(int *)  // a barrier of the grid with a wrong count
{
    atomicAdd(&arrived, 1);
    while (atomicAdd(&arrived, 0) < (int)gridDim.x + 1)  // perhaps barrier_expects_one_more: endless kernel
        ;                                                // perhaps barrier_expects_one_more: endless kernel
}

__global__ void only_its_own_stack(int *a)
{
    volatile unsigned x = a[0] + 1;
    while (x != 0)                   // perhaps only_its_own_stack: endless kernel
        x = (x * 1664525u + 1) | 1;  // perhaps only_its_own_stack: endless kernel
    a[1] = x;
}

__global__ void step_of_zero(int *a)
{                                       // perhaps step_of_zero: endless kernel
    for (int i = 0; i < 10; i += a[0])  // perhaps step_of_zero: endless kernel
        a[1] = i;                       // perhaps step_of_zero: endless kernel
}

__global__ void one_lane_of_many(volatile int *up)  // the other lanes wait for it
{
    if (threadIdx.x == 3)
        while (*up == 0)  // perhaps one_lane_of_many: endless kernel
            ;             // perhaps one_lane_of_many: endless kernel
    __syncthreads();      // perhaps one_lane_of_many: endless kernel
}

__global__ void wrong_turn(volatile int *turn)  // waits for a turn that nobody gives
{
    while (*turn != (int)blockIdx.x)  // perhaps wrong_turn: endless kernel
        ;                             // perhaps wrong_turn: endless kernel
    __threadfence();
    *turn = blockIdx.x + 2;
}

#define CASE(kernel) \
    if (strcmp(name, #kernel) == 0) \
    kernel

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int *a;
    cudaMalloc(&a, 64 * sizeof(int));
    cudaMemset(a, 0, 64 * sizeof(int));
    CASE(nobody_raises_the_flag)<<<1, 32>>>(a);
    CASE(nobody_adds)<<<2, 32>>>(a);
    CASE(condition_never_changes)<<<1, 1>>>(a);
    CASE(lock_never_released)<<<2, 1>>>(a);
    CASE(taken_twice)<<<1, 1>>>(a);
    CASE(locks_in_opposite_order)<<<2, 1>>>(a);
    CASE(barrier_expects_one_more)<<<3, 1>>>(a);
    CASE(only_its_own_stack)<<<1, 1>>>(a);
    CASE(step_of_zero)<<<1, 1>>>(a);
    CASE(one_lane_of_many)<<<1, 64>>>(a);
    CASE(wrong_turn)<<<3, 1>>>(a);
    return cudaDeviceSynchronize();
}

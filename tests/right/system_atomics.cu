// Managed memory that a kernel and the host use at once, both by atomic operations of system scope: Linux, and a GPU that
// allows it (concurrentManagedAccess).
#include "right.h"

__global__ void count(int *counters)
{
    atomicAdd_system(&counters[0], 1);
    atomicMax_system(&counters[1], (int)threadIdx.x);
}

__global__ void clear(int *counters) { counters[0] = 0; }

int main()
{
    int *counters;
    CHECK(cudaMallocManaged(&counters, 2 * sizeof *counters));
    counters[0] = counters[1] = 0;
    for (int round = 0; round < 2; round++) {
        count<<<4, 64>>>(counters);
        for (int i = 0; i < 100; i++) {
            int before = counters[0];  // the first guess of a loop
            while (!__atomic_compare_exchange_n(&counters[0], &before, before + 1, false, 5, 5)) {
            }
        }
        CHECK(cudaDeviceSynchronize());
        SAME(counters[0], 356);
        SAME(counters[1], 63);
        clear<<<1, 1>>>(counters);
        CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaFree(counters));
    return 0;
}

// clock() counts a kernel's ticks as clock64() does; on the host it is the C library's.
#include "right.h"
#include <time.h>

__global__ void wait(long long ticks, long long *waited)
{
    long long start64 = clock64();
    clock_t start = clock();
    while (clock64() - start64 < ticks) {
    }
    *waited = clock() - start;
}

int main(void)
{
    const long long ticks = 1000000;
    long long *waited, on_host;
    CHECK(cudaMalloc(&waited, sizeof *waited));
    wait<<<1, 1>>>(ticks, waited);
    CHECK(cudaMemcpy(&on_host, waited, sizeof on_host, cudaMemcpyDeviceToHost));
    SAME(on_host > ticks / 2, 1);
    SAME(clock() < 600 * (clock_t)CLOCKS_PER_SEC, 1);  // of this process, in microseconds
    return 0;
}

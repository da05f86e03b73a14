// Managed memory, touched by the host whenever no kernel runs: before a launch, and after each way to wait for one.
#include <string.h>
#include "right.h"

__managed__ int counter = 5, table[8];

__global__ void add(int *a, int n) { a[threadIdx.x] += n; }
__global__ void count() { atomicAdd(&counter, 1); }
__global__ void from_host(int *a) { table[threadIdx.x] = a[threadIdx.x]; }

int main()
{
    int *a, host[64];
    CHECK(cudaMallocManaged(&a, 64 * sizeof(int)));
    for (int i = 0; i < 64; i++)
        a[i] = i;
    add<<<1, 64>>>(a, 1);
    CHECK(cudaDeviceSynchronize());
    SAME(a[63], 64);

    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    add<<<1, 64, 0, stream>>>(a, 1);
    CHECK(cudaStreamSynchronize(stream));
    SAME(a[63], 65);

    cudaEvent_t done;
    CHECK(cudaEventCreate(&done));
    add<<<1, 64>>>(a, 1);
    CHECK(cudaEventRecord(done));
    CHECK(cudaEventSynchronize(done));
    SAME(a[63], 66);

    add<<<1, 64>>>(a, 1);
    CHECK(cudaMemcpy(host, a, sizeof host, cudaMemcpyDeviceToHost));  // waits, as every copy to the host does
    SAME(host[63], 67);
    SAME(a[63], 67);

    count<<<2, 32>>>();
    CHECK(cudaDeviceSynchronize());
    SAME(counter, 69);
    counter = 1;
    count<<<1, 32>>>();
    CHECK(cudaDeviceSynchronize());
    SAME(counter, 33);
    from_host<<<1, 8>>>(a);
    CHECK(cudaDeviceSynchronize());
    SAME(table[7], 11);
    memset(a, 0, 64 * sizeof(int));
    memcpy(host, a, sizeof host);
    SAME(host[5], 0);

    add<<<1, 64>>>(a, 2);
    add<<<1, 64>>>(a, 3);
    while (cudaStreamQuery(0) == cudaErrorNotReady)
        ;
    SAME(a[0], 5);
    CHECK(cudaFree(a));
    return 0;
}

// Kernels of clusters that begin before the one in front of them has ended, and touch what it writes or reads without waiting for it. The
// first argument picks the kernel that is launched behind `first`; a comment `expect NAME: KIND` marks a line that the report on it must
// name. tests/right/cluster_persistent.cu has the right ways.

#include "cluster_kernels.h"

enum { TILE = 64,
       BYTES = TILE * 4 };

#define WAIT_FOR_THE_FIRST() asm volatile("griddepcontrol.wait;" ::: "memory")
#define LET_THE_NEXT_BEGIN() asm volatile("griddepcontrol.launch_dependents;" ::: "memory")

__global__ void first(const float *in, float *out)
{
    LET_THE_NEXT_BEGIN();
    float x = in[blockIdx.x * TILE + threadIdx.x];  // perhaps all: race between streams
    out[blockIdx.x * TILE + threadIdx.x] = x + 1;   // perhaps all: race between streams
}

__global__ void read_ahead_of_the_wait(float *in, const float *data)
{
    __shared__ float tile[TILE];
    tile[threadIdx.x] = data[blockIdx.x * TILE + threadIdx.x];  // expect read_ahead_of_the_wait: race between streams
    CLUSTER_SYNC();
    WAIT_FOR_THE_FIRST();
    in[2048 + blockIdx.x * TILE + threadIdx.x] = tile[63 - threadIdx.x];
}

__global__ void multicast_ahead_of_the_wait(float *in, const float *data)
{
    __shared__ alignas(128) float tile[TILE];
    __shared__ uint64_t bar;
    CLUSTER_SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        if (cluster_rank() == 0)
            BULK_MULTICAST(tile, data, BYTES, &bar, 3);  // expect multicast_ahead_of_the_wait: race between streams
    }
    WAIT_FOR_THE_FIRST();
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    in[2048 + blockIdx.x * TILE + threadIdx.x] = tile[63 - threadIdx.x];
    CLUSTER_SYNC();
}

__global__ void only_the_other_block_waits(float *in, const float *data)
{
    __shared__ float tile[TILE];
    if (cluster_rank() == 1)
        WAIT_FOR_THE_FIRST();
    tile[threadIdx.x] = data[blockIdx.x * TILE + threadIdx.x];  // expect only_the_other_block_waits: race between streams
    CLUSTER_SYNC();
    in[2048 + blockIdx.x * TILE + threadIdx.x] = tile[63 - threadIdx.x];
}

__global__ void never_waits(float *in, const float *data)
{
    in[2048 + blockIdx.x * TILE + threadIdx.x] = data[blockIdx.x * TILE + threadIdx.x];  // expect never_waits: race between streams
}

__global__ void overwrites_what_the_first_reads(float *in, const float *data)
{
    in[blockIdx.x * TILE + threadIdx.x] = 0;  // expect overwrites_what_the_first_reads: race between streams
    WAIT_FOR_THE_FIRST();
}

__global__ void one_thread_waits_for_all(float *in, const float *data)  // and hands nothing on
{
    if (threadIdx.x == 0)
        WAIT_FOR_THE_FIRST();
    in[2048 + blockIdx.x * TILE + threadIdx.x] = data[blockIdx.x * TILE + threadIdx.x];  // expect one_thread_waits_for_all: race between streams
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    float *in, *data;
    cudaMalloc(&in, 4096 * sizeof *in);
    cudaMalloc(&data, 4096 * sizeof *data);
    cudaMemset(in, 0, 4096 * sizeof *in);
    cudaMemset(data, 0, 4096 * sizeof *data);
    struct {
        const char *name;
        void (*kernel)(float *, const float *);
    } kernels[] = {
#define KERNEL(NAME) {#NAME, NAME}
        KERNEL(read_ahead_of_the_wait),
        KERNEL(multicast_ahead_of_the_wait),
        KERNEL(only_the_other_block_waits),
        KERNEL(never_waits),
        KERNEL(overwrites_what_the_first_reads),
        KERNEL(one_thread_waits_for_all),
    };
    for (auto k : kernels)
        if (strcmp(name, k.name) == 0) {
            launch_clusters(2, 4, TILE, 0, true, first, (const float *)in, data);
            launch_clusters(2, 4, TILE, 0, true, k.kernel, in, (const float *)data);
        }
    return cudaDeviceSynchronize();
}

// The default stream of each thread, which `--default-stream per-thread` makes of <<<…>>>, or the legacy one, without it.
// `expect other_stream: KIND` marks the lines that the report must name where nothing has made it so.
#include <stdio.h>

__global__ void write(int *x) { x[threadIdx.x] = threadIdx.x; }  // perhaps all: race between host and stream

int main()
{
    int *pinned;
    cudaMallocHost(&pinned, 32 * sizeof(int));
    write<<<1, 32>>>(pinned);  // expect other_stream: race between host and stream
    cudaStreamSynchronize(cudaStreamPerThread);
    printf("%d\n", pinned[5]);  // expect other_stream: race between host and stream
    return 0;
}

// Managed memory that the host touches while a kernel may run, after it was freed, or past its end. The first argument
// picks the fault; `expect NAME: KIND` marks the line that the report must name.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__managed__ int counter;

__global__ void fill(int *a)
{
    a[threadIdx.x] = threadIdx.x;  // expect kernel_past_the_end: out of bounds
}

__global__ void count() { atomicAdd(&counter, 1); }

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int *a, *b;
    cudaMallocManaged(&a, 64 * sizeof(int));
    cudaMallocManaged(&b, 64 * sizeof(int));
    for (int i = 0; i < 64; i++)
        a[i] = b[i] = 0;
    fill<<<1, 64>>>(a);
    cudaDeviceSynchronize();
    if (a[5] != 5)
        return 7;
    cudaStream_t one, two;
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
#define IS(fault) (strcmp(name, #fault) == 0)
    if (IS(read_too_early)) {
        fill<<<1, 64>>>(a);
        printf("%d\n", a[3]);  // expect read_too_early: managed memory before synchronising
    }
    if (IS(write_too_early)) {
        fill<<<1, 64>>>(a);
        a[3] = 1;  // expect write_too_early: managed memory before synchronising
    }
    if (IS(read_by_memcpy)) {
        int host[64];
        fill<<<1, 64>>>(a);
        memcpy(host, a, sizeof host);  // expect read_by_memcpy: managed memory before synchronising
        printf("%d\n", host[3]);       // perhaps read_by_memcpy: managed memory before synchronising
    }
    if (IS(variable_too_early)) {
        count<<<1, 64>>>();
        printf("%d\n", counter);  // expect variable_too_early: managed memory before synchronising
    }
    if (IS(cleared_after_the_launch)) {
        count<<<1, 64>>>();
        counter = 0;  // expect cleared_after_the_launch: managed memory before synchronising
    }
    if (IS(second_launch)) {
        fill<<<1, 64>>>(a);
        cudaDeviceSynchronize();
        fill<<<1, 64>>>(a);
        if (a[1] == 1)  // expect second_launch: managed memory before synchronising
            puts("early");
    }
    if (IS(get_last_error_is_no_wait)) {
        fill<<<1, 64>>>(a);
        if (cudaGetLastError() != cudaSuccess)
            return 8;
        printf("%d\n", a[3]);  // expect get_last_error_is_no_wait: managed memory before synchronising
    }
    if (IS(memset_is_no_wait)) {
        fill<<<1, 64>>>(a);
        cudaMemsetAsync(b, 0, 64 * sizeof(int), 0);
        printf("%d\n", a[3]);  // expect memset_is_no_wait: managed memory before synchronising
    }
    if (IS(event_recorded_only)) {
        cudaEvent_t done;
        cudaEventCreate(&done);
        fill<<<1, 64>>>(a);
        cudaEventRecord(done);
        printf("%d\n", a[3]);  // expect event_recorded_only: managed memory before synchronising
    }
    if (IS(freed)) {
        cudaFree(a);
        printf("%d\n", a[3]);  // expect freed: use after free
    }
    if (IS(freed_and_written)) {
        cudaFree(a);
        a[3] = 1;  // expect freed_and_written: use after free
    }
    if (IS(past_the_end)) {
        int sum = 0;
        for (int i = 0; i <= 64; i++)
            sum += a[i];  // expect past_the_end: out of bounds
        printf("%d\n", sum);
    }
    if (IS(written_past_the_end))
        a[64] = 1;  // expect written_past_the_end: out of bounds
    if (IS(kernel_past_the_end))
        fill<<<1, 65>>>(a);
    return cudaDeviceSynchronize();
}

// What a kernel itself calls wrong.
#include <assert.h>
#include <string.h>

__global__ void asserts(int n)
{
    assert((int)threadIdx.x < n);  // expect asserts: assertion failed
}

__global__ void traps()
{
    if (threadIdx.x == 3)
        __trap();  // expect traps: trap
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (!strcmp(name, "asserts"))
        asserts<<<1, 32>>>(31);
    if (!strcmp(name, "traps"))
        traps<<<1, 32>>>();
    return cudaDeviceSynchronize();
}

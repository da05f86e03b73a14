// setmaxnreg with numbers that ptxas refuses: nvcc does not compile this.
#include "named.h"

__global__ void __launch_bounds__(128, 1) no_multiple_of_8(int *out)
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 100;");  // expect no_multiple_of_8: invalid register count
    out[threadIdx.x] = 1;
}

__global__ void __launch_bounds__(128, 1) too_few(int *out)
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 16;");  // expect too_few: invalid register count
    out[threadIdx.x] = 1;
}

__global__ void __launch_bounds__(128, 1) too_many(int *out)
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 264;");  // expect too_many: invalid register count
    out[threadIdx.x] = 1;
}

int main(int argc, char **argv)
{
    const struct named kernels[] = {
        KERNEL(no_multiple_of_8, 128),
        KERNEL(too_few, 128),
        KERNEL(too_many, 128),
    };
    return run_named(argc, argv, kernels, sizeof kernels / sizeof *kernels);
}

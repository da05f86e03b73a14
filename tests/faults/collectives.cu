// Warp-wide operations whose lanes do not all come, or come to different ones. The first argument picks the kernel;
// `expect NAME: KIND` marks the lines that the report must name.

#include <cuda_runtime.h>
#include <string.h>

__global__ void absent_lanes(int *out)
{
    int lane = threadIdx.x;
    int v = lane;
    if (lane < 16)
        v = __shfl_sync(0xffffffff, v, 0);  // expect absent_lanes: divergent collective
    out[lane] = v;
    __syncwarp();  // expect absent_lanes: divergent collective
}

__global__ void two_directions(int *out)
{
    int lane = threadIdx.x, v;
    if (lane < 16)
        v = __shfl_down_sync(0xffffffff, lane, 1);  // expect two_directions: divergent collective
    else
        v = __shfl_up_sync(0xffffffff, lane, 1);  // expect two_directions: divergent collective
    out[lane] = v;
}

__global__ void two_widths(int *out)
{
    int lane = threadIdx.x;
    if (lane < 16)
        out[lane] = __shfl_xor_sync(0xffffffff, lane, 1);  // expect two_widths: divergent collective
    else
        out[lane] = (int)__shfl_xor_sync(0xffffffff, 1ll * lane, 1);  // expect two_widths: divergent collective
}

__global__ void two_votes(int *out)
{
    int lane = threadIdx.x;
    if (lane < 16)
        out[lane] = __any_sync(0xffffffff, lane == 3);  // expect two_votes: divergent collective
    else
        out[lane] = __all_sync(0xffffffff, lane != 3);  // expect two_votes: divergent collective
}

__global__ void two_reductions(unsigned *out)
{
    unsigned lane = threadIdx.x;
    if (lane < 16)
        asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(out[lane]) : "r"(lane));  // expect two_reductions: divergent collective
    else
        out[lane] = __reduce_max_sync(0xffffffff, lane);  // expect two_reductions: divergent collective
}

__global__ void two_operations(int *out)
{
    int lane = threadIdx.x, v;
    if (lane % 2)
        v = __ballot_sync(0xffffffff, lane > 3);  // expect two_operations: divergent collective
    else
        v = __shfl_xor_sync(0xffffffff, lane, 1);  // expect two_operations: divergent collective
    out[lane] = v;
}

__global__ void not_in_the_mask(int *out)
{
    int lane = threadIdx.x;
    out[lane] = __shfl_sync(0x0000ffff, lane, 0);  // expect not_in_the_mask: divergent collective
}

__global__ void masks_differ(int *out)
{
    int lane = threadIdx.x;
    unsigned mask = lane < 8 ? 0xffffffff : 0xffffff00;
    out[lane] = __any_sync(mask, lane == 3);  // expect masks_differ: divergent collective
    __syncwarp();                             // expect masks_differ: divergent collective
}

static int is(const char *argument, const char *name) { return strcmp(argument, name) == 0; }

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int *out;
    cudaMalloc(&out, 32 * sizeof(int));
    if (is(name, "absent_lanes"))
        absent_lanes<<<1, 32>>>(out);
    if (is(name, "two_directions"))
        two_directions<<<1, 32>>>(out);
    if (is(name, "two_widths"))
        two_widths<<<1, 32>>>(out);
    if (is(name, "two_votes"))
        two_votes<<<1, 32>>>(out);
    if (is(name, "two_reductions"))
        two_reductions<<<1, 32>>>((unsigned *)out);
    if (is(name, "two_operations"))
        two_operations<<<1, 32>>>(out);
    if (is(name, "not_in_the_mask"))
        not_in_the_mask<<<1, 32>>>(out);
    if (is(name, "masks_differ"))
        masks_differ<<<1, 32>>>(out);
    return cudaDeviceSynchronize();
}

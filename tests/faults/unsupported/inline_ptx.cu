// Inline PTX: the emulator does not know it yet.

__global__ void lane_number(int *out)
{
    int lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));  // expect: inline PTX
    out[threadIdx.x] = lane;
}

int main(void)
{
    int *out;
    cudaMalloc(&out, 32 * sizeof(int));
    lane_number<<<1, 32>>>(out);
    return cudaDeviceSynchronize();
}

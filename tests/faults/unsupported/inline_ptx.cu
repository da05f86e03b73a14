// Inline PTX that the emulator does not know, among other instructions that it does.

__global__ void three_lanes(int *out)
{
    int lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("{\n\t"  // expect: inline PTX `tcgen05.wait::ld.sync.aligned`: tensor memory is not supported
                 "membar.cta;\n\t"
                 "mad.lo.s32 %0, %0, 3, 1;\n\t"
                 "tcgen05.wait::ld.sync.aligned;\n\t"
                 "}"
                 : "+r"(lane));
    out[threadIdx.x] = lane;
}

int main(void)
{
    int *out;
    cudaMalloc(&out, 32 * sizeof(int));
    three_lanes<<<1, 32>>>(out);
    return cudaDeviceSynchronize();
}

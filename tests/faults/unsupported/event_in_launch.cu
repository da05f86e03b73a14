// Events that a launch itself records, when its blocks say so or have begun: nothing orders what they would.

__global__ void fill(int *out)
{
    out[threadIdx.x] = 1;
}

int main(void)
{
    int *out;
    cudaEvent_t event;
    cudaMalloc(&out, 32 * sizeof(int));
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticEvent;
    attribute.val.programmaticEvent.event = event;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1), config.blockDim = dim3(32);
    config.attrs = &attribute, config.numAttrs = 1;
    cudaLaunchKernelEx(&config, fill, out);  // expect: cudaLaunchAttributeProgrammaticEvent
    return cudaDeviceSynchronize();
}

// A cluster that only the launch asks for.

__global__ void pair(int *out) { out[blockIdx.x] = 1; }

int main(void)
{
    int *out;
    cudaMalloc(&out, 2 * sizeof(int));
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 2;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = 2;
    config.blockDim = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, pair, out);  // expect: clusters of more than one block
    return cudaDeviceSynchronize();
}

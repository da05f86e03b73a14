// Thread block clusters.

__global__ void __cluster_dims__(2, 1, 1) pair(int *out)  // expect: clusters of more than one block (__cluster_dims__)
{
    out[blockIdx.x] = 1;
}

int main(void)
{
    int *out;
    cudaMalloc(&out, 2 * sizeof(int));
    pair<<<2, 1>>>(out);
    return cudaDeviceSynchronize();
}

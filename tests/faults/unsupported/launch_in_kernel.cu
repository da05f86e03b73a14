// Dynamic parallelism: a kernel that launches a kernel.

__global__ void child(int *out)
{
    out[threadIdx.x] = 1;
}

__global__ void parent(int *out)
{
    child<<<1, 32>>>(out);  // expect: launch from inside a kernel
}

int main(void)
{
    int *out;
    cudaMalloc(&out, 32 * sizeof(int));
    parent<<<1, 1>>>(out);
    return cudaDeviceSynchronize();
}

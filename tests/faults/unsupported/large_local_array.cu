// A local array larger than the stack that the emulator gives a thread.

__global__ void large(const int *in, int *out)  // expect: not supported
{                                               // expect: not supported
    float table[20000];                         // expect: not supported
    for (int i = 0; i < 20000; i++)             // expect: not supported
        table[i] = i;                           // expect: not supported
    out[0] = (int)table[in[3] * 100];           // expect: not supported
}

int main(void)
{
    int *in, *out;
    cudaMalloc(&in, 4 * sizeof(int));
    cudaMemset(in, 0, 4 * sizeof(int));
    cudaMalloc(&out, sizeof(int));
    large<<<1, 1>>>(in, out);
    return cudaDeviceSynchronize();
}

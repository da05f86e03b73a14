// A texture read.

__global__ void sample(cudaTextureObject_t image, float *out)
{
    out[threadIdx.x] = tex1D<float>(image, threadIdx.x);  // expect: tex1D
}

int main(void) { return 0; }

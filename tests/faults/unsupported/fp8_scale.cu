// Of fp8, the type of scales is not offered.

#include <cuda_fp8.h>

__global__ void scale(float *out, const unsigned char *in)
{
    __nv_fp8_e8m0 factor;  // expect: 8-bit scales
    factor.__x = in[0];
    out[0] *= (float)factor;
}

int main(void) { return 0; }

// Products of registers that nobody has loaded: ones times ones, 16 of them, but for what is left out. Prints the sum.
#include <stdio.h>
#include <string.h>

enum operand { NOTHING, A, B, C };

template <operand left_out>
__global__ void product(float *out)
{
    unsigned a[4], b[2];
    float c[4];
    for (int i = 0; i < 4; i++) {
        if (left_out != A || i > 0)
            a[i] = 0x3c003c00;
        if (left_out != B)
            b[i % 2] = 0x3c003c00;
        if (left_out != C)
            c[i] = 0;
    }
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    *out = c[0];
}

int main(int argc, char **argv)
{
    void (*kernels[])(float *) = {product<NOTHING>, product<A>, product<B>, product<C>};
    float *out, sum;
    cudaMalloc(&out, sizeof sum);
    kernels[argc > 1 ? strcspn("-ABC", argv[1]) : 0]<<<1, 32>>>(out);
    cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost);
    printf("%g\n", sum);
    return cudaDeviceSynchronize();
}

// A float is not what a register of 32 bits without a type stands for; nvcc refuses it, too.

__global__ void bits(int *out)
{
    float x = 1;
    asm("mov.b32 %0, %1;" : "=r"(out[0]) : "r"(x));
}

int main(void) { return 0; }

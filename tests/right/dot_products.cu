// Dot products of packed bytes and 16-bit numbers: signed, unsigned, as integers and as vectors.
#include "right.h"

__global__ void dot(int a, int b, int *numbers, unsigned *naturals)
{
    numbers[0] = __dp4a(a, b, 5);
    numbers[1] = __dp4a(make_char4(1, -2, 3, -4), make_char4(-128, 127, 0, 1), 0);
    numbers[2] = __dp2a_lo(a, b, 1);
    numbers[3] = __dp2a_hi(make_short2(-1000, 2), make_char4(1, 1, 100, -1), 0);
    naturals[0] = __dp4a((unsigned)a, (unsigned)b, 5u);
    naturals[1] = __dp2a_hi((unsigned)a, (unsigned)b, 1u);
}

int main()
{
    int *numbers = to_device<int>(NULL, 4), got[4];
    unsigned *naturals = to_device<unsigned>(NULL, 2), natural[2];
    dot<<<1, 1>>>((int)0xff02fe01u, 0x7f80ff03, numbers, naturals);  // bytes 1, -2, 2, -1 and 3, -1, -128, 127
    CHECK(cudaMemcpy(got, numbers, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(natural, naturals, sizeof natural, cudaMemcpyDeviceToHost));
    SAME(got[0], 5 + 3 + 2 - 256 - 127);
    SAME(got[1], -128 - 254 - 4);
    SAME(got[2], 1 + (short)0xfe01 * 3 + (short)0xff02 * -1);
    SAME(got[3], -100000 - 2);
    SAME(natural[0], 5 + 3 + 254 * 255 + 2 * 128 + 255 * 127);
    SAME(natural[1], 1 + 0xfe01 * 128 + 0xff02 * 127);
    finish();
    return 0;
}

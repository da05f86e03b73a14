// The special function unit's power of two.
#ifndef PTX_EX2_H
#define PTX_EX2_H

// [ex2] ex2.approx.ftz.f32 (PTX ISA, "Floating Point Instructions: ex2"): 2^x, to within 2 units in the last place or so, and 0
// for −∞. Results below 2^-126 are 0, too: exp2f() spends instructions on those.
__device__ __forceinline__ float ex2(float x)
{
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
}
// [end ex2]

#endif

// Which numbers a half can hold, and what becomes of a sum whose every value has to be a half.

#include <math.h>

// The half nearest to x; where two are equally near, the one whose last bit is 0.
float nearest_half(float x)
{
    int exponent;
    frexpf(x, &exponent);  // |x| is at least 2^(exponent − 1) and less than 2^exponent
    const float spacing = ldexpf(1, exponent > -13 ? exponent - 11 : -24);  // between the halves there
    const float nearest = nearbyintf(x / spacing) * spacing;
    return fabsf(nearest) > 65504 ? copysignf(INFINITY, x) : nearest;
}

// n ones, added one by one.
float sum_of_ones(int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum = nearest_half(sum + 1);
    return sum;
}

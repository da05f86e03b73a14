// One head of attention in one loop over the keys: O is rescaled together with the sum, and no array has n elements.

#include <math.h>

void attention(const float *Q, const float *K, const float *V, float *O, int n, int d)  // [n, d] each
{
    for (int row = 0; row < n; row++) {
        const float *q = Q + row * d;
        float *o = O + row * d, m = -INFINITY, l = 0;
        for (int i = 0; i < d; i++)
            o[i] = 0;
        for (int key = 0; key < n; key++) {
            float s = 0;
            for (int i = 0; i < d; i++)
                s += q[i] * K[key * d + i];
            const float m_new = fmaxf(m, s);
            const float factor = expf((m - m_new) / sqrtf(d));  // for what was summed up under the old maximum
            const float p = expf((s - m_new) / sqrtf(d));
            l = l * factor + p;
            for (int i = 0; i < d; i++)
                o[i] = o[i] * factor + p * V[key * d + i];
            m = m_new;
        }
        for (int i = 0; i < d; i++)
            o[i] /= l;
    }
}

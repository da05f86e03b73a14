// One head of attention as it is written down: S = Q Kᵀ, P = softmax(S / √d), O = P V. S has n² elements.

#include <math.h>
#include <stdlib.h>

void attention(const float *Q, const float *K, const float *V, float *O, int n, int d)  // [n, d] each
{
    float(*S)[n] = calloc(n, sizeof *S);  // [n, n], all 0
    if (S == NULL)
        abort();
    for (int row = 0; row < n; row++)
        for (int col = 0; col < n; col++)
            for (int i = 0; i < d; i++)
                S[row][col] += Q[row * d + i] * K[col * d + i];
    for (int row = 0; row < n; row++) {
        float m = -INFINITY, l = 0;
        for (int col = 0; col < n; col++)
            m = fmaxf(m, S[row][col]);
        for (int col = 0; col < n; col++)
            l += expf((S[row][col] - m) / sqrtf(d));
        for (int col = 0; col < n; col++)
            S[row][col] = expf((S[row][col] - m) / sqrtf(d)) / l;  // from here on it is P
    }
    for (int row = 0; row < n; row++)
        for (int col = 0; col < d; col++) {
            O[row * d + col] = 0;
            for (int i = 0; i < n; i++)
                O[row * d + col] += S[row][i] * V[i * d + col];
        }
    free(S);
}

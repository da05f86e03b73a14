// Runs the kernel of step 13 on the example in its README. Reads the number of keys, each query's scores in units of
// ln 2, and the one column of V; prints O, a line for each variant. `echo 2  1 0  0 3  5 6 | example`

#define main step_main
#include "../../steps/13_flash_scalar/flash_scalar.cu"
#undef main

#include <stdio.h>
#include <stdlib.h>

constexpr int D = 32, MAX_KEYS = D;

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "example: %s\n", what);
    exit(1);
}

// Query r is 1 in column r and 0 elsewhere: what stands in column r of a key is, times the scale of ln 2, their score.
static void read_example(int n, float *Q, float *K, float *V)  // [n, D] each, all 0
{
    for (int query = 0; query < n; query++) {
        Q[query * D + query] = 1;
        for (int key = 0; key < n; key++)
            must(scanf("%f", &K[key * D + query]) == 1, "a score is missing");
    }
    for (int key = 0; key < n; key++)
        must(scanf("%f", &V[key * D]) == 1, "a value is missing");
}

int main()
{
    int n;
    must(scanf("%d", &n) == 1 && n >= 1 && n <= MAX_KEYS, "the number of keys is from 1 to 32");
    const size_t bytes = (size_t)n * D * sizeof(float);
    static float host[3][MAX_KEYS * D], O[MAX_KEYS * D];
    float *device[4];
    read_example(n, host[0], host[1], host[2]);
    for (int i = 0; i < 4; i++)
        must(cudaMalloc((void **)&device[i], bytes) == cudaSuccess, "no device memory");
    for (int i = 0; i < 3; i++)
        must(cudaMemcpy(device[i], host[i], bytes, cudaMemcpyHostToDevice) == cudaSuccess, "no copy to the device");

    for (int variant = ONE_ROW; variant <= TWO_ROWS; variant++) {
        const struct strides packed = attention_strides(1, n, D);
        const struct attention_args args = {
            .Q = device[0],
            .K = device[1],
            .V = device[2],
            .O = device[3],
            .Q_strides = packed,
            .K_strides = packed,
            .V_strides = packed,
            .O_strides = packed,
            .batch = 1,
            .heads = 1,
            .kv_heads = 1,
            .seqlen = n,
            .kv_seqlen = n,
            .head_dim = D,
            .scale = logf(2),
            .dtype = FP32,
            .variant = variant,
        };
        must(launch(&args, NULL) == cudaSuccess, "no launch");
        must(cudaMemcpy(O, device[3], bytes, cudaMemcpyDeviceToHost) == cudaSuccess, "the launch failed");
        for (int query = 0; query < n; query++)
            printf("%.9g%c", O[query * D], query + 1 < n ? ' ' : '\n');
    }
    for (int i = 0; i < 4; i++)
        cudaFree(device[i]);
    return 0;
}

// Barriers by number, for some of a block's warps; shared addresses as PTX has them; structs that need less alignment than
// they have bytes.
#include "right.h"

__global__ void two_halves(int *out)  // each half of the block has a barrier of its own, then all have one
{
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = t;
    if (t < 64)
        __barrier_sync_count(1, 64);
    else
        __barrier_sync_count(2, 64);
    int other = t < 64 ? s[63 - t] : s[191 - t];
    __barrier_sync(3);
    out[t] = 1000 * other + s[127 - t];
}

__global__ void turns_of_two_warps(int *out)  // two warps hand a buffer to and fro by two barriers
{
    __shared__ int buffer[32];
    int t = threadIdx.x, lane = t % 32, sum = 0;
    for (int i = 0; i < 4; i++) {
        if (t < 32)
            buffer[lane] = 10 * i + lane;
        __barrier_sync_count(5, 64);
        if (t >= 32)
            sum += buffer[31 - lane];
        __barrier_sync_count(6, 64);
    }
    out[t] = sum;
}

__global__ void to_and_fro(int *out)
{
    __shared__ int s[32];
    int t = threadIdx.x;
    unsigned first = (unsigned)__cvta_generic_to_shared(s), own = (unsigned)__cvta_generic_to_shared(&s[t]);
    *(int *)__cvta_shared_to_generic(own) = own - first;
    __syncwarp();
    out[t] = s[31 - t];
}

__device__ int arrived, generation;

__device__ void whole_grid()  // the last to arrive sets the counter back by a plain store: nobody else is there yet
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        int now = atomicAdd(&generation, 0);
        if (atomicAdd(&arrived, 1) == (int)gridDim.x - 1) {
            arrived = 0;
            __threadfence();
            atomicAdd(&generation, 1);
        } else {
            while (atomicAdd(&generation, 0) == now)
                ;
        }
        __threadfence();
    }
    __syncthreads();
}

__global__ void round_and_round(int *a, int *b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    for (int turn = 0; turn < 3; turn++) {
        b[i] = a[(i + 64) % n] + 1;
        whole_grid();
        a[i] = b[n - 1 - i];
        whole_grid();
    }
}

struct pair_of_doubles {
    double a, b;
};

__global__ void between(pair_of_doubles *out, const pair_of_doubles *in) { out[threadIdx.x] = in[threadIdx.x]; }

int main()
{
    int *out;
    CHECK(cudaMalloc(&out, 128 * sizeof *out));
    two_halves<<<1, 128>>>(out);
    const int *h = to_host(out, 128);
    for (int t = 0; t < 128; t++)
        SAME(h[t], 1000 * (t < 64 ? 63 - t : 191 - t) + 127 - t);
    turns_of_two_warps<<<1, 64>>>(out);
    h = to_host(out, 64);
    for (int t = 32; t < 64; t++)
        SAME(h[t], 60 + 4 * (63 - t));
    to_and_fro<<<1, 32>>>(out);
    h = to_host(out, 32);
    for (int t = 0; t < 32; t++)
        SAME(h[t], 4 * (31 - t));

    int *a, *b;
    CHECK(cudaMalloc(&a, 512 * sizeof *a));
    CHECK(cudaMalloc(&b, 512 * sizeof *b));
    CHECK(cudaMemset(a, 0, 512 * sizeof *a));
    round_and_round<<<8, 64>>>(a, b);
    h = to_host(a, 512);
    for (int t = 0; t < 512; t++)
        SAME(h[t], 3);

    char *bytes;
    CHECK(cudaMalloc(&bytes, 1024));
    CHECK(cudaMemset(bytes, 0, 1024));
    between<<<1, 8>>>((pair_of_doubles *)(bytes + 8), (pair_of_doubles *)(bytes + 520));
    CHECK(cudaDeviceSynchronize());
    return 0;
}

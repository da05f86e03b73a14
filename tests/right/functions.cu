// What C++ lets a kernel be: device functions with shared memory of their own, templates, namespaces, lambdas, function
// pointers, recursion, early returns, launch bounds, 1,024 threads a block, dynamic shared memory of two types.

#include "right.h"

// Both kernels below call it, and each gets its own array.
__device__ float block_sum(float v)
{
    __shared__ float sums[64];
    int t = threadIdx.x;
    sums[t] = v;
    __syncthreads();
    for (int half = blockDim.x / 2; half; half /= 2) {
        if (t < half)
            sums[t] += sums[t + half];
        __syncthreads();
    }
    float sum = sums[0];
    __syncthreads();  // before the next call writes sums
    return sum;
}

__global__ void sum_and_squares(const float *in, float *out)
{
    float v = in[threadIdx.x];
    float sum = block_sum(v), squares = block_sum(v * v);
    if (threadIdx.x == 0) {
        out[0] = sum;
        out[1] = squares;
    }
}

__global__ void subtract_mean(const float *in, float *out)
{
    float v = in[threadIdx.x];
    out[threadIdx.x] = v - block_sum(v) / blockDim.x;
}

namespace shapes
{
template <typename T, int N> struct stack {
    T items[N];
    int size;
};

template <typename T, int N> __device__ void push(struct stack<T, N> *s, T item) { s->items[s->size++] = item; }

namespace deep
{
template <typename T, int N> __global__ void __launch_bounds__(64, 2) reverse(const T *in, T *out)
{
    __shared__ struct stack<T, N> stacks[8];
    if (threadIdx.x >= 8)
        return;
    struct stack<T, N> *mine = &stacks[threadIdx.x];
    mine->size = 0;
    for (int i = 0; i < N; i++)
        push(mine, in[threadIdx.x * N + i]);
    for (int i = 0; i < N; i++)
        out[threadIdx.x * N + i] = mine->items[--mine->size];
}
}  // namespace deep
}  // namespace shapes

__host__ __device__ int gcd(int a, int b) { return b == 0 ? a : gcd(b, a % b); }

__global__ void greatest_divisors(int *out) { out[threadIdx.x] = gcd(threadIdx.x + 1, 24); }

typedef float (*unary)(float);
__device__ float twice(float x) { return 2 * x; }
__device__ float negative(float x) { return -x; }

__global__ void through_pointers(float *out)
{
    unary functions[2] = {twice, negative};
    out[threadIdx.x] = functions[threadIdx.x % 2](threadIdx.x);
}

template <typename F> __global__ void for_each(int n, F f)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        f(i);
}

struct axpy {
    float a;
    const float *x;
    float *y;
    __device__ void operator()(int i) const { y[i] += a * x[i]; }
};

__global__ void full_block(int *out)
{
    __shared__ int order[1024];
    int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    order[1023 - t] = t;
    __syncthreads();
    out[t] = order[t];
}

__global__ void two_types(float *out, int n)
{
    extern __shared__ __align__(16) unsigned char arena[];
    float *reals = (float *)arena;
    int *ints = (int *)(reals + n);
    int t = threadIdx.x;
    reals[t] = t + 0.5f;
    ints[n - 1 - t] = t;
    __syncthreads();
    out[t] = reals[n - 1 - t] + ints[t];
}

// Threads that leave early, where no barrier follows for them or anyone.
__global__ void early_return(float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    if (i % 3 == 0) {
        out[i] = 3;
        return;
    }
    for (int tries = 0;; tries++)
        if (tries == i % 5) {
            out[i] = tries;
            return;
        }
}

// A warp that has no work skips the barriers of the others only by all of it staying.
__global__ void uniform_branch(float *out)
{
    __shared__ float tile[96];
    int t = threadIdx.x;
    if (blockIdx.x % 2 == 0) {
        tile[t] = t;
        __syncthreads();
        out[blockIdx.x * 96 + t] = tile[95 - t];
    } else {
        tile[95 - t] = t;
        __syncthreads();
        out[blockIdx.x * 96 + t] = tile[t];
    }
}

__global__ void mathematics(const float *in, float *out)
{
    float x = fabsf(in[threadIdx.x]) + 1;
    out[threadIdx.x] = expf(logf(x)) + sqrtf(x) * rsqrtf(x) + fmaxf(x, 0.0f) - fminf(x, 1e9f) + __expf(0.0f) +
                       powf(x, 2) / __fdividef(x, 1.0f) + exp2f(log2f(x)) + sinf(0) + cosf(0) + truncf(0.7f) +
                       max(1, 2) + min(3u, 4u) + __fmaf_rn(1, 2, 3) + fma(1.0, 2.0, 3.0) + __float2int_rn(2.6f) +
                       __int_as_float(__float_as_int(1.5f)) + __ldg(&in[threadIdx.x]) + (float)isnan(x) + tanhf(0) +
                       (1 << __ffs(1)) + (float)CUDART_VERSION * 0;
}

int main(void)
{
    float *host = numbers(256, 10), *in = to_device(host, 256), *out = to_device<float>(NULL, 1024), *got;
    double sum = 0, squares = 0;
    for (int i = 0; i < 64; i++) {
        sum += host[i];
        squares += host[i] * host[i];
    }
    sum_and_squares<<<1, 64>>>(in, out);
    got = to_host(out, 2);
    SAME(got[0], sum);
    SAME(got[1], squares);
    subtract_mean<<<1, 64>>>(in, out);
    got = to_host(out, 64);
    for (int i = 0; i < 64; i++)
        SAME(got[i], host[i] - sum / 64);

    shapes::deep::reverse<float, 5><<<1, 64>>>(in, out);
    got = to_host(out, 40);
    for (int i = 0; i < 40; i++)
        SAME(got[i], host[i / 5 * 5 + 4 - i % 5]);

    int *ints = to_device<int>(NULL, 1024);
    greatest_divisors<<<1, 48>>>(ints);
    int *whole = to_host(ints, 48);
    for (int i = 0; i < 48; i++)
        SAME(whole[i], gcd(i + 1, 24));

    through_pointers<<<1, 32>>>(out);
    got = to_host(out, 32);
    for (int i = 0; i < 32; i++)
        SAME(got[i], i % 2 ? -i : 2 * i);

    CHECK(cudaMemset(out, 0, 256 * sizeof(float)));
    struct axpy f = {3, in, out};
    for_each<<<2, 64>>>(256, f);
    for_each<struct axpy><<<2, 64>>>(256, f);
    got = to_host(out, 256);
    for (int i = 0; i < 256; i++)
        SAME(got[i], 6 * host[i]);

    full_block<<<1, dim3(16, 8, 8)>>>(ints);
    whole = to_host(ints, 1024);
    for (int i = 0; i < 1024; i++)
        SAME(whole[i], 1023 - i);

    two_types<<<1, 40, 40 * (sizeof(float) + sizeof(int))>>>(out, 40);
    got = to_host(out, 40);
    for (int i = 0; i < 40; i++)
        SAME(got[i], 2 * (39 - i) + 0.5);

    early_return<<<3, 64>>>(out, 150);
    got = to_host(out, 150);
    for (int i = 0; i < 150; i++)
        SAME(got[i], i % 3 ? i % 5 : 3);

    uniform_branch<<<4, 96>>>(out);
    got = to_host(out, 4 * 96);
    for (int i = 0; i < 4 * 96; i++)
        SAME(got[i], 95 - i % 96);

    mathematics<<<1, 64>>>(in, out);
    got = to_host(out, 64);
    for (int i = 0; i < 64; i++) {
        double x = fabs(host[i]) + 1;
        SAME(got[i], x + 1 + 0 + 1 + x + x + 0 + 1 + 0 + 2 + 3 + 5 + 5 + 3 + 1.5 + host[i] + 0 + 0 + 2);
    }
    return 0;
}

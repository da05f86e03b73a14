// Threads of one block, and neighbours of several, in global memory: what a barrier, an atomic or the sameness of a value
// makes right. tests/faults/global_races.cu has the same without.
#include <string.h>
#include "right.h"

enum { THREADS = 128 };

__global__ void reverse_in_place(int *a)
{
    int t = threadIdx.x, v = a[THREADS - 1 - t];
    __syncthreads();
    a[t] = v;
}

__global__ void write_then_read(int *a, int *out)
{
    int t = threadIdx.x;
    a[t] = 2 * t;
    __syncthreads();
    out[t] = a[(t + 50) % THREADS];
}

__global__ void stencil(int *a, int *b, int steps)
{
    int t = threadIdx.x;
    for (int i = 0; i < steps; i++) {
        b[t] = a[t] + (t > 0 ? a[t - 1] : 0);
        __syncthreads();
        int *other = a;
        a = b;
        b = other;
    }
}

__global__ void scan(int *a)
{
    int t = threadIdx.x;
    for (int step = 1; step < THREADS; step *= 2) {
        int add = t >= step ? a[t - step] : 0;
        __syncthreads();
        a[t] += add;
        __syncthreads();
    }
}

__global__ void reduce(int *a)
{
    int t = threadIdx.x;
    for (int half = THREADS / 2; half; half /= 2) {
        if (t < half)
            a[t] += a[t + half];
        __syncthreads();
    }
}

__global__ void wide_then_narrow(float *a, float *out)
{
    int t = threadIdx.x;
    if (t < THREADS / 4)
        ((float4 *)a)[t] = make_float4(4 * t, 4 * t + 1, 4 * t + 2, 4 * t + 3);
    __syncthreads();
    out[t] = a[THREADS - 1 - t];
}

__global__ void narrow_then_wide(float *a, double *out)
{
    int t = threadIdx.x;
    a[t] = t;
    __syncthreads();
    if (t < THREADS / 2) {
        float2 v = ((float2 *)a)[t];
        out[t] = (double)v.x + v.y;
    }
}

__global__ void own_bytes(unsigned char *a) { a[threadIdx.x] = threadIdx.x + 1; }

__global__ void own_halves(short *a) { a[threadIdx.x] = threadIdx.x + 1; }

__global__ void bytes_of_one_word(unsigned char *a)  // each thread adds to its own byte, many times
{
    for (int i = 0; i < 3; i++)
        a[threadIdx.x] += threadIdx.x;
}

__global__ void own_then_neighbour_byte(unsigned char *a, int *out)
{
    int t = threadIdx.x;
    a[t] = t;
    __syncthreads();
    out[t] = a[t ^ 1] + a[t ^ 2];
}

struct of_three {
    char a;
    short b;
    int c;
};

__global__ void own_members(of_three *p)  // three threads write three members of one struct
{
    int t = threadIdx.x;
    if (t % 3 == 0)
        p[t / 3].a = t;
    else if (t % 3 == 1)
        p[t / 3].b = t;
    else
        p[t / 3].c = t;
}

__global__ void all_say_the_same(const int *in, int *any)
{
    if (in[threadIdx.x] > 10)
        *any = 1;
}

__global__ void histogram(const int *in, int *bins, int *out)
{
    int t = threadIdx.x;
    atomicAdd(&bins[in[t] % 8], 1);
    __syncthreads();
    if (t < 8)
        out[t] = bins[t];
}

__global__ void places_by_atomic(const int *in, int *count, int *kept)  // each writes where no other does
{
    int t = threadIdx.x;
    if (in[t] % 3 == 0)
        kept[atomicAdd(count, 1)] = in[t];
}

__global__ void places_by_atomic_in_block(const int *in, int *count, int *kept)
{
    int t = threadIdx.x;
    if (in[t] % 3 == 0)
        kept[atomicAdd_block(count, 1)] = in[t];
}

__device__ float largest;

__global__ void maximum_of_floats(const float *in)  // by compare and swap; what may stand is read atomically
{
    int *word = (int *)&largest, seen = atomicOr(word, 0), assumed;
    do {
        assumed = seen;
        if (__int_as_float(assumed) >= in[threadIdx.x])
            break;
        seen = atomicCAS(word, assumed, __float_as_int(in[threadIdx.x]));
    } while (seen != assumed);
}

__global__ void many_turns_with_a_barrier(int *a, int *out)  // one word, a writer for each turn
{
    int t = threadIdx.x, sum = 0;
    for (int i = 0; i < 5; i++) {
        if (t == 20 * i)
            *a = i + 1;
        __syncthreads();
        sum += *a;
        __syncthreads();
    }
    out[t] = sum;
}

__global__ void strong_words_of_two_warps(volatile int *a)  // read and written at once: strong on both sides
{
    if (threadIdx.x == 0)
        a[0] = 1;
    if (threadIdx.x == 32)
        a[1] = a[0];
}

__global__ void atomics_of_many_kinds(int *a)
{
    atomicAdd(a, 1);
    atomicMax(a + 1, (int)threadIdx.x);
    atomicExch(a + 2, (int)threadIdx.x);
    atomicAdd_system(a + 3, 1);
    atomicAdd(a + 3, 1);
}

__global__ void barrier_with_a_count(int *a, int *out)  // __syncthreads_or orders as __syncthreads does
{
    int t = threadIdx.x;
    a[t] = t;
    int any = __syncthreads_or(t == 77);
    out[t] = a[THREADS - 1 - t] + any;
}

static int *counting(int count)
{
    int *host = (int *)malloc(count * sizeof(int));
    for (int i = 0; i < count; i++)
        host[i] = i;
    return to_device(host, count);
}

int main()
{
    int *a = counting(THREADS), *out = counting(THREADS), *got;
    reverse_in_place<<<1, THREADS>>>(a);
    SAME(to_host(a, THREADS)[1], THREADS - 2);
    write_then_read<<<1, THREADS>>>(a, out);
    SAME(to_host(out, THREADS)[100], 2 * 22);
    stencil<<<1, THREADS>>>(a, out, 4);
    SAME(to_host(a, THREADS)[10], 2 * (10 + 4 * 9 + 6 * 8 + 4 * 7 + 6));
    scan<<<1, THREADS>>>(a = counting(THREADS));
    SAME(to_host(a, THREADS)[THREADS - 1], THREADS * (THREADS - 1) / 2);
    reduce<<<1, THREADS>>>(a = counting(THREADS));
    SAME(to_host(a, 1)[0], THREADS * (THREADS - 1) / 2);

    float *f = to_device<float>(NULL, THREADS), *g = to_device<float>(NULL, THREADS);
    double *d = to_device<double>(NULL, THREADS);
    wide_then_narrow<<<1, THREADS>>>(f, g);
    SAME(to_host(g, THREADS)[0], THREADS - 1);
    narrow_then_wide<<<1, THREADS>>>(f, d);
    SAME(to_host(d, THREADS / 2)[5], 10 + 11);

    unsigned char *bytes = to_device<unsigned char>(NULL, THREADS);
    own_bytes<<<1, THREADS>>>(bytes);
    bytes_of_one_word<<<1, THREADS>>>(bytes);
    SAME(to_host(bytes, THREADS)[60], 241);
    short *halves = to_device<short>(NULL, THREADS);
    own_halves<<<1, THREADS>>>(halves);
    SAME(to_host(halves, THREADS)[60], 61);
    own_then_neighbour_byte<<<1, THREADS>>>(bytes, out);
    SAME(to_host(out, THREADS)[8], 9 + 10);
    of_three *structs = to_device<of_three>(NULL, 64);
    own_members<<<1, 120>>>(structs);
    SAME(to_host(structs, 40)[3].b, 10);

    int zeros[8] = {0}, *in = counting(THREADS), *zero = to_device(zeros, 8);
    all_say_the_same<<<1, THREADS>>>(in, zero);
    SAME(to_host(zero, 1)[0], 1);
    histogram<<<1, THREADS>>>(in, to_device(zeros, 8), out);
    SAME(to_host(out, 8)[7], THREADS / 8);
    places_by_atomic<<<1, THREADS>>>(in, zero = to_device(zeros, 1), out);
    SAME(to_host(zero, 1)[0], 43);
    places_by_atomic_in_block<<<1, THREADS>>>(in, zero, a);
    SAME(to_host(zero, 1)[0], 86);

    float host[THREADS];
    for (int i = 0; i < THREADS; i++)
        host[i] = i * 29 % THREADS;
    maximum_of_floats<<<1, THREADS>>>(to_device(host, THREADS));
    finish();
    CHECK(cudaMemcpyFromSymbol(host, largest, sizeof(float)));
    SAME(host[0], THREADS - 1);
    many_turns_with_a_barrier<<<1, THREADS>>>(zero, out);
    SAME(to_host(out, THREADS)[9], 15);
    strong_words_of_two_warps<<<1, 64>>>(to_device(zeros, 2));
    atomics_of_many_kinds<<<3, THREADS>>>(zero = to_device(zeros, 4));
    got = to_host(zero, 4);
    SAME(got[0], 3 * THREADS);
    SAME(got[1], THREADS - 1);
    SAME(got[3], 6 * THREADS);
    barrier_with_a_count<<<1, THREADS>>>(a = counting(2 * THREADS), out);
    SAME(to_host(out, 1)[0], THREADS);
    return 0;
}

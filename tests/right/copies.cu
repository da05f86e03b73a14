// Every element type moved through global and shared memory at several strides, structs by value and in arrays, and
// neighbouring bytes written by different threads: none of it is a fault.

#include "right.h"

template <typename T> __global__ void strided(const T *in, T *out, int stride)
{
    __shared__ T tile[64 * 3];
    int t = threadIdx.x;
    tile[t * stride] = in[blockIdx.x * blockDim.x + t];
    __syncthreads();
    out[blockIdx.x * blockDim.x + t] = tile[(63 - t) * stride];
}

template <typename T> static void copy(const char *type)
{
    enum { COUNT = 128 };
    unsigned char *bytes = (unsigned char *)malloc(COUNT * sizeof(T));
    for (int i = 0; i < COUNT * (int)sizeof(T); i++)
        bytes[i] = i * 37 + (i >> 8);
    T *in = to_device((T *)bytes, COUNT), *out = to_device<T>(NULL, COUNT);
    for (int stride = 1; stride <= 3; stride++) {
        strided<T><<<2, 64>>>(in, out, stride);
        unsigned char *got = (unsigned char *)to_host(out, COUNT);
        for (int i = 0; i < COUNT; i++)
            for (int b = 0; b < (int)sizeof(T); b++) {
                int from = i / 64 * 64 + 63 - i % 64;
                if (got[i * sizeof(T) + b] != bytes[from * sizeof(T) + b]) {
                    printf("%s: element %d at stride %d differs\n", type, i, stride);
                    exit(1);
                }
            }
    }
}

struct particle {
    float x, y, z;
    char kind;
    short charge;
};

struct job {
    const struct particle *in;
    float *out;
    int n;
    float scale[3];
};

__global__ void weigh(struct job job)
{
    __shared__ struct particle near[32];
    int t = threadIdx.x;
    if (t < job.n)
        near[t] = job.in[t];
    __syncthreads();
    if (t < job.n) {
        struct particle p = near[job.n - 1 - t];
        job.out[t] = p.x * job.scale[0] + p.y * job.scale[1] + p.z * job.scale[2] + p.kind + p.charge;
    }
}

__global__ void fields(float *out)  // threads write different fields of the same element
{
    __shared__ struct particle p[8];
    int t = threadIdx.x, i = t / 4;
    if (t % 4 == 0)
        p[i].x = t;
    else if (t % 4 == 1)
        p[i].y = t;
    else if (t % 4 == 2)
        p[i].kind = t;
    else
        p[i].charge = t;
    __syncthreads();
    if (t < 8)
        out[t] = p[t].x + p[t].y + p[t].kind + p[t].charge;
}

__global__ void bytes_and_shorts(float *out)
{
    __shared__ unsigned char bytes[96];
    __shared__ short shorts[96];
    int t = threadIdx.x;
    bytes[t] = t;
    shorts[95 - t] = -t;
    __syncthreads();
    out[t] = bytes[95 - t] + shorts[t / 2] + *(short *)(shorts + t);
}

__global__ void words_of_a_vector(float *out)  // written as floats by four threads, read as one float4 by another
{
    __shared__ float4 wide[16];
    int t = threadIdx.x;
    ((float *)wide)[t] = t;
    __syncthreads();
    if (t < 16) {
        float4 v = wide[15 - t];
        out[t] = v.x + 2 * v.y + 3 * v.z + 4 * v.w;
    }
}

__global__ void saxpy4(const float4 *x, float4 *y, float a, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 u = x[i], v = y[i];
        y[i] = make_float4(a * u.x + v.x, a * u.y + v.y, a * u.z + v.z, a * u.w + v.w);
    }
}

int main(void)
{
    copy<char>("char");
    copy<unsigned short>("unsigned short");
    copy<int>("int");
    copy<float>("float");
    copy<double>("double");
    copy<long long>("long long");
    copy<char2>("char2");
    copy<char3>("char3");
    copy<uchar4>("uchar4");
    copy<short2>("short2");
    copy<ushort4>("ushort4");
    copy<int2>("int2");
    copy<int3>("int3");
    copy<uint4>("uint4");
    copy<float2>("float2");
    copy<float3>("float3");
    copy<float4>("float4");
    copy<double2>("double2");
    copy<longlong2>("longlong2");

    struct particle host[32];
    for (int i = 0; i < 32; i++)
        host[i] = {(float)i, 2.0f * i, -1.0f * i, (char)(i % 5), (short)(-i)};
    float *out = to_device<float>(NULL, 96);
    struct job job = {to_device(host, 32), out, 20, {1, 10, 100}};
    weigh<<<1, 32>>>(job);
    float *got = to_host(out, 20);
    for (int t = 0; t < 20; t++) {
        int i = 19 - t;
        SAME(got[t], i + 20.0 * i - 100.0 * i + i % 5 - i);
    }

    fields<<<1, 32>>>(out);
    got = to_host(out, 8);
    for (int i = 0; i < 8; i++)
        SAME(got[i], 16 * i + 6);

    bytes_and_shorts<<<1, 96>>>(out);
    got = to_host(out, 96);
    for (int t = 0; t < 96; t++)
        SAME(got[t], (95 - t) - (95 - t / 2) - (95 - t));

    words_of_a_vector<<<1, 64>>>(out);
    got = to_host(out, 16);
    for (int t = 0; t < 16; t++)
        SAME(got[t], 10 * 4 * (15 - t) + 20);

    float *x = numbers(400, 7), *y = numbers(400, 8);
    float *x_gmem = to_device(x, 400), *y_gmem = to_device(y, 400);
    saxpy4<<<2, 32>>>((float4 *)x_gmem, (float4 *)y_gmem, 2, 100);
    got = to_host(y_gmem, 400);
    for (int i = 0; i < 400; i++)
        SAME(got[i], 2 * x[i] + y[i]);
    return 0;
}

// The runtime API around kernels: copies in two dimensions, streams, events, symbols, pinned memory, errors, printf.

#include <string.h>

#include "right.h"

__constant__ float coefficients[4] = {1, 10, 100, 1000};
__constant__ int limit;
__device__ float table[32];
__device__ int calls = 5;
static __device__ unsigned char small[3];

__global__ void polynomial(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && i < limit)
        y[i] = coefficients[0] + x[i] * (coefficients[1] + x[i] * (coefficients[2] + x[i] * coefficients[3]));
}

__global__ void use_table(float *out)
{
    out[threadIdx.x] = table[threadIdx.x];
    table[threadIdx.x] += 1;
    if (threadIdx.x == 0) {
        calls += 1;
        small[2] = 9;
    }
}

__global__ void fill_pitched(char *base, size_t pitch, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        ((float *)(base + y * pitch))[x] = 100 * y + x;
}

__global__ void increment(int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] += 1;
}

__global__ void talk(void)
{
    if (threadIdx.x == 0 && blockIdx.x < 2)
        printf("block %d of %d says %.1f %s\n", blockIdx.x, gridDim.x, 1.5, "hello");
}

static void symbols(void)
{
    int n = 20;
    float *x = numbers(32, 9), *x_gmem = to_device(x, 32), *y = to_device<float>(NULL, 32);
    CHECK(cudaMemset(y, 0, 32 * sizeof(float)));
    CHECK(cudaMemcpyToSymbol(limit, &n, sizeof n));
    polynomial<<<1, 32>>>(x_gmem, y, 32);
    float *got = to_host(y, 32);
    for (int i = 0; i < 32; i++)
        SAME(got[i], i < n ? 1 + x[i] * (10 + x[i] * (100 + x[i] * 1000)) : 0);

    CHECK(cudaMemcpyToSymbol(table, x, sizeof(float) * 32));
    use_table<<<1, 32>>>(y);
    got = to_host(y, 32);
    float after[32];
    int count;
    unsigned char bytes[3];
    CHECK(cudaMemcpyFromSymbol(after, table, sizeof after));
    CHECK(cudaMemcpyFromSymbol(&count, calls, sizeof count));
    CHECK(cudaMemcpyFromSymbol(bytes, small, sizeof bytes));
    for (int i = 0; i < 32; i++) {
        SAME(got[i], x[i]);
        SAME(after[i], x[i] + 1);
    }
    SAME(count, 6);
    SAME(bytes[2], 9);
    void *address;
    CHECK(cudaGetSymbolAddress(&address, table));
    CHECK(cudaMemset(address, 0, sizeof after));
    CHECK(cudaMemcpyFromSymbol(after, table, sizeof after));
    SAME(after[31], 0);
}

static void two_dimensions(void)
{
    const int width = 37, height = 11;
    char *base;
    size_t pitch;
    CHECK(cudaMallocPitch((void **)&base, &pitch, width * sizeof(float), height));
    SAME(pitch >= width * sizeof(float) && pitch % 16 == 0, 1);
    CHECK(cudaMemset2D(base, pitch, 0, width * sizeof(float), height));
    fill_pitched<<<dim3(2, 2), dim3(32, 8)>>>(base, pitch, width, height);
    finish();
    float tight[11][37], part[3][5];
    CHECK(cudaMemcpy2D(tight, sizeof tight[0], base, pitch, sizeof tight[0], height, cudaMemcpyDeviceToHost));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            SAME(tight[y][x], 100 * y + x);
    CHECK(cudaMemcpy2D(part, sizeof part[0], base + 2 * pitch + 4 * sizeof(float), pitch, sizeof part[0], 3,
                       cudaMemcpyDefault));
    SAME(part[2][4], 408);
    CHECK(cudaFree(base));
}

static void streams_and_events(void)
{
    const int n = 1000;
    int *pinned, *device;
    cudaStream_t streams[2];
    cudaEvent_t start, stop;
    CHECK(cudaMallocHost((void **)&pinned, n * sizeof(int)));
    CHECK(cudaMalloc((void **)&device, n * sizeof(int)));
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreateWithFlags(&stop, cudaEventDefault));
    for (int i = 0; i < n; i++)
        pinned[i] = i;
    for (int s = 0; s < 2; s++)
        CHECK(s ? cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking) : cudaStreamCreate(&streams[s]));

    CHECK(cudaEventRecord(start, streams[0]));
    CHECK(cudaMemcpyAsync(device, pinned, n * sizeof(int), cudaMemcpyHostToDevice, streams[0]));
    increment<<<(n + 127) / 128, 128, 0, streams[0]>>>(device, n);
    CHECK(cudaEventRecord(stop, streams[0]));
    CHECK(cudaStreamWaitEvent(streams[1], stop, 0));
    increment<<<(n + 127) / 128, 128, 0, streams[1]>>>(device, n);
    CHECK(cudaMemcpyAsync(pinned, device, n * sizeof(int), cudaMemcpyDeviceToHost, streams[1]));
    CHECK(cudaStreamSynchronize(streams[1]));
    CHECK(cudaEventSynchronize(stop));
    SAME(cudaEventQuery(stop), cudaSuccess);
    SAME(cudaStreamQuery(streams[0]), cudaSuccess);
    float ms = -1;
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    SAME(ms >= 0, 1);
    for (int i = 0; i < n; i++)
        SAME(pinned[i], i + 2);

    CHECK(cudaMemsetAsync(device, 0, n * sizeof(int), streams[0]));
    CHECK(cudaDeviceSynchronize());
    SAME(to_host(device, n)[n - 1], 0);
    for (int s = 0; s < 2; s++)
        CHECK(cudaStreamDestroy(streams[s]));
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(device));
}

static void managed(void)
{
    int *x;
    CHECK(cudaMallocManaged(&x, 64 * sizeof(int)));
    for (int i = 0; i < 64; i++)
        x[i] = i;
    increment<<<2, 32>>>(x, 64);
    finish();
    for (int i = 0; i < 64; i++)
        SAME(x[i], i + 1);
    CHECK(cudaFree(x));
}

static void questions(void)
{
    int count = 0, device = -1, threads = 0, blocks = 0;
    cudaDeviceProp properties;
    size_t unused, total;
    CHECK(cudaGetDeviceCount(&count));
    CHECK(cudaSetDevice(0));
    CHECK(cudaGetDevice(&device));
    CHECK(cudaGetDeviceProperties(&properties, device));
    CHECK(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerBlock, device));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, increment, 128, 0));
    CHECK(cudaMemGetInfo(&unused, &total));
    SAME(count >= 1, 1);
    SAME(threads, 1024);
    SAME(blocks >= 1, 1);
    SAME(unused <= total, 1);
    SAME(properties.warpSize, 32);
    SAME(properties.multiProcessorCount > 0, 1);
    SAME(properties.name[0] != 0, 1);
    SAME(cudaFree(NULL), cudaSuccess);
}

static void errors(void)
{
    int *x = to_device<int>(NULL, 4);
    // Impossible launches: an error each, sticky until it is asked for, and the kernel does not run.
    increment<<<1, 1025>>>(x, 4);
    SAME(cudaPeekAtLastError() != cudaSuccess, 1);
    SAME(cudaGetLastError() != cudaSuccess, 1);
    SAME(cudaGetLastError(), cudaSuccess);
    increment<<<0, 32>>>(x, 4);
    SAME(cudaGetLastError() != cudaSuccess, 1);
    increment<<<dim3(1, 65536), 32>>>(x, 4);
    SAME(cudaGetLastError() != cudaSuccess, 1);
    increment<<<1, dim3(1, 1, 65)>>>(x, 4);
    SAME(cudaGetLastError() != cudaSuccess, 1);
    increment<<<1, 32, 1 << 20>>>(x, 4);  // more shared memory than a block can have
    SAME(cudaGetLastError() != cudaSuccess, 1);
    void *huge;
    SAME(cudaMalloc(&huge, (size_t)1 << 50), cudaErrorMemoryAllocation);
    SAME(cudaGetLastError(), cudaErrorMemoryAllocation);
    SAME(strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation"), 0);
    SAME(strcmp(cudaGetErrorString(cudaSuccess), "no error"), 0);
    CHECK(cudaFree(x));
}

int main(void)
{
    symbols();
    two_dimensions();
    streams_and_events();
    managed();
    questions();
    errors();
    talk<<<3, 32>>>();
    finish();
    CHECK(cudaDeviceReset());
    return 0;
}

// Transposes through shared memory, with and without padding and by xor swizzle; 2-D and 3-D grids and blocks.

#include "right.h"

enum { TILE = 32, ROWS = 8 };

__global__ void plain(const float *in, float *out, int width, int height)
{
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < width && y + j < height)
            out[x * height + y + j] = in[(y + j) * width + x];
}

template <int PAD> __global__ void tiles(const float *in, float *out, int width, int height)
{
    __shared__ float tile[TILE][TILE + PAD];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < width && y + j < height)
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < height && y + j < width)
            out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void swizzled(const float *in, float *out, int width, int height)
{
    __shared__ float tile[TILE * TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * TILE + tx, y = blockIdx.y * TILE + ty;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < width && y + j < height)
            tile[(ty + j) * TILE + (tx ^ (ty + j))] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + tx;
    y = blockIdx.x * TILE + ty;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < height && y + j < width)
            out[(y + j) * height + x] = tile[tx * TILE + ((ty + j) ^ tx)];
}

// [planes, rows, cols] -> [cols, rows, planes]: every index of a 3-D launch is used.
__global__ void three_axes(const int *in, int *out, int planes, int rows, int cols)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int plane = blockIdx.z * blockDim.z + threadIdx.z;
    if (col < cols && row < rows && plane < planes)
        out[(col * rows + row) * planes + plane] = in[(plane * rows + row) * cols + col];
}

__global__ void identity(int *out)
{
    int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    int size = blockDim.x * blockDim.y * blockDim.z;
    out[block * size + thread] = 10000 * block + thread;
}

static void expect_transpose(const float *in, float *out, int width, int height)
{
    float *got = to_host(out, width * height);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            SAME(got[x * height + y], in[y * width + x]);
    free(got);
    CHECK(cudaMemset(out, 0xff, width * height * sizeof(float)));
}

int main(void)
{
    const int shapes[][2] = {{64, 64}, {33, 70}, {1, 5}};
    for (auto shape : shapes) {
        int width = shape[0], height = shape[1], n = width * height;
        float *host = numbers(n, 5), *in = to_device(host, n), *out = to_device<float>(NULL, n);
        dim3 grid((width + TILE - 1) / TILE, (height + TILE - 1) / TILE), block(TILE, ROWS);
        plain<<<grid, block>>>(in, out, width, height);
        expect_transpose(host, out, width, height);
        tiles<0><<<grid, block>>>(in, out, width, height);
        expect_transpose(host, out, width, height);
        tiles<1><<<grid, block>>>(in, out, width, height);
        expect_transpose(host, out, width, height);
        swizzled<<<grid, block>>>(in, out, width, height);
        expect_transpose(host, out, width, height);
    }

    int planes = 5, rows = 6, cols = 7, n = planes * rows * cols;
    int *host = (int *)malloc(n * sizeof(int));
    for (int i = 0; i < n; i++)
        host[i] = i;
    int *in = to_device(host, n), *out = to_device<int>(NULL, n);
    three_axes<<<dim3(2, 3, 2), dim3(4, 2, 3)>>>(in, out, planes, rows, cols);
    int *got = to_host(out, n);
    for (int i = 0; i < n; i++)
        SAME(got[(i % cols * rows + i / cols % rows) * planes + i / cols / rows], i);

    out = to_device<int>(NULL, 24 * 30);
    identity<<<dim3(2, 3, 4), dim3(5, 3, 2)>>>(out);
    got = to_host(out, 24 * 30);
    for (int i = 0; i < 24 * 30; i++)
        SAME(got[i], i / 30 * 10000 + i % 30);
    return 0;
}

// Matrix products as people write them: naive, tiled with static and with dynamic shared memory, templates, tails.

#include "right.h"

__global__ void naive(const float *A, const float *B, float *C, int m, int n, int k)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || col >= n)
        return;
    float sum = 0;
    for (int i = 0; i < k; i++)
        sum += A[row * k + i] * B[i * n + col];
    C[row * n + col] = sum;
}

template <int TILE, int PAD> __global__ void __launch_bounds__(TILE *TILE)
    tiled(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, int m, int n, int k)
{
    __shared__ float A_smem[TILE][TILE + PAD], B_smem[TILE][TILE + PAD];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int base = 0; base < k; base += TILE) {
        int a_col = base + threadIdx.x, b_row = base + threadIdx.y;
        A_smem[threadIdx.y][threadIdx.x] = row < m && a_col < k ? A[row * k + a_col] : 0.0f;
        B_smem[threadIdx.y][threadIdx.x] = b_row < k && col < n ? B[b_row * n + col] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++)
            sum += A_smem[threadIdx.y][i] * B_smem[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n)
        C[row * n + col] = sum;
}

__global__ void dynamic_tiles(const float *A, const float *B, float *C, int m, int n, int k)
{
    extern __shared__ float smem[];
    int tile = blockDim.x;
    float *A_smem = smem, *B_smem = smem + tile * tile;
    int row = blockIdx.y * tile + threadIdx.y;
    int col = blockIdx.x * tile + threadIdx.x;
    int here = threadIdx.y * tile + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < (k + tile - 1) / tile; t++) {
        A_smem[here] = row < m && t * tile + threadIdx.x < k ? A[row * k + t * tile + threadIdx.x] : 0.0f;
        B_smem[here] = col < n && t * tile + threadIdx.y < k ? B[(t * tile + threadIdx.y) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < tile; i++)
            sum = fmaf(A_smem[threadIdx.y * tile + i], B_smem[i * tile + threadIdx.x], sum);
        __syncthreads();
    }
    if (row < m && col < n)
        C[row * n + col] = sum;
}

// Each thread computes four outputs of a column, from two buffers that take turns: one barrier a tile.
__global__ void double_buffered(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float A_smem[2][32][8], B_smem[2][8][32];
    int tx = threadIdx.x, ty = threadIdx.y;  // 32 x 8
    int top = blockIdx.y * 32, col = blockIdx.x * 32 + tx;
    float sum[4] = {0};
    int now = 0;
    for (int base = 0; base < k; base += 8, now ^= 1) {
        int i = ty * 32 + tx, a_row = top + i / 8, a_col = base + i % 8;
        A_smem[now][i / 8][i % 8] = a_row < m && a_col < k ? A[a_row * k + a_col] : 0;
        B_smem[now][ty][tx] = base + ty < k && col < n ? B[(base + ty) * n + col] : 0;
        __syncthreads();
        for (int j = 0; j < 8; j++)
            for (int r = 0; r < 4; r++)
                sum[r] += A_smem[now][ty + 8 * r][j] * B_smem[now][j][tx];
    }
    for (int r = 0; r < 4; r++)
        if (top + ty + 8 * r < m && col < n)
            C[(top + ty + 8 * r) * n + col] = sum[r];
}

static void expect_product(const float *A, const float *B, float *C, int m, int n, int k)
{
    float *got = to_host(C, m * n);
    for (int row = 0; row < m; row++)
        for (int col = 0; col < n; col++) {
            double want = 0;
            for (int i = 0; i < k; i++)
                want += (double)A[row * k + i] * B[i * n + col];
            SAME(got[row * n + col], want);
        }
    free(got);
    CHECK(cudaMemset(C, 0xff, m * n * sizeof(float)));
}

int main(void)
{
    const int shapes[][3] = {{1, 1, 1}, {16, 16, 16}, {33, 17, 50}, {64, 40, 31}};
    for (auto shape : shapes) {
        int m = shape[0], n = shape[1], k = shape[2];
        float *A_host = numbers(m * k, 1), *B_host = numbers(k * n, 2);
        float *A = to_device(A_host, m * k), *B = to_device(B_host, k * n), *C = to_device<float>(NULL, m * n);

        dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);
        naive<<<grid, block>>>(A, B, C, m, n, k);
        expect_product(A_host, B_host, C, m, n, k);
        tiled<16, 0><<<grid, block>>>(A, B, C, m, n, k);
        expect_product(A_host, B_host, C, m, n, k);
        tiled<16, 1><<<grid, block>>>(A, B, C, m, n, k);
        expect_product(A_host, B_host, C, m, n, k);
        tiled<8, 1><<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8)>>>(A, B, C, m, n, k);
        expect_product(A_host, B_host, C, m, n, k);
        dynamic_tiles<<<grid, block, 2 * 16 * 16 * sizeof(float)>>>(A, B, C, m, n, k);
        expect_product(A_host, B_host, C, m, n, k);
        double_buffered<<<dim3((n + 31) / 32, (m + 31) / 32), dim3(32, 8)>>>(A, B, C, m, n, k);
        expect_product(A_host, B_host, C, m, n, k);

        CHECK(cudaFree(A));
        CHECK(cudaFree(B));
        CHECK(cudaFree(C));
        free(A_host);
        free(B_host);
    }
    return 0;
}

// Fragments that are loaded, stored or multiplied where they must not be. The first argument picks the kernel;
// `expect NAME: KIND` marks the lines that the report must name.

#include <cuda_fp16.h>
#include <mma.h>
#include <string.h>

using namespace nvcuda;

using fragment_a = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>;
using fragment_b = wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major>;
using fragment_c = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

__global__ void load_without_syncwarp(half *matrix, float *out)
{
    __shared__ __align__(32) half tile[16 * 16];
    fragment_a a;
    for (int i = threadIdx.x; i < 256; i += 32)
        tile[i] = matrix[i];              // expect load_without_syncwarp: race in shared memory
    wmma::load_matrix_sync(a, tile, 16);  // expect load_without_syncwarp: race in shared memory
    out[threadIdx.x] = a.x[0];
}

__global__ void read_back_without_syncwarp(half *matrix, float *out)
{
    __shared__ __align__(32) float tile[16 * 16];
    fragment_c c;
    wmma::fill_fragment(c, 1.0f);
    wmma::store_matrix_sync(tile, c, 16, wmma::mem_row_major);  // expect read_back_without_syncwarp: race in shared memory
    out[threadIdx.x] = tile[threadIdx.x * 8];                   // expect read_back_without_syncwarp: race in shared memory
}

__global__ void refilled_too_early(half *matrix, float *out)
{
    __shared__ __align__(32) half tile[16 * 16];
    fragment_a a;
    float sum = 0;
    for (int step = 0; step < 2; step++) {
        for (int i = threadIdx.x; i < 256; i += 64)
            tile[i] = matrix[256 * step + i];  // expect refilled_too_early: race in shared memory
        __syncthreads();
        wmma::load_matrix_sync(a, tile, 16);  // expect refilled_too_early: race in shared memory
        sum += (float)a.x[0];
    }
    out[threadIdx.x] = sum;
}

__global__ void behind_the_matrix(half *matrix, float *out)
{
    fragment_a a;
    wmma::load_matrix_sync(a, matrix + 2 * 256 - 128, 16);  // expect behind_the_matrix: out of bounds, in matrix
    out[threadIdx.x] = a.x[0];
}

__global__ void tile_too_small(half *matrix, float *out)
{
    __shared__ __align__(32) float tile[16 * 12];
    fragment_c c;
    wmma::fill_fragment(c, 1.0f);
    wmma::store_matrix_sync(tile, c, 16, wmma::mem_row_major);  // expect tile_too_small: out of bounds, in tile
}

__global__ void rows_off_ldmatrix(half *matrix, float *out)
{
    __shared__ __align__(32) half tile[16 * 17];
    fragment_a a;
    wmma::load_matrix_sync(a, tile + 4, 16);  // expect rows_off_ldmatrix: misaligned access
    out[threadIdx.x] = a.x[0];
}

__global__ void odd_stride(half *matrix, float *out)
{
    fragment_a a;
    wmma::load_matrix_sync(a, matrix, 17);  // expect odd_stride: invalid stride
    out[threadIdx.x] = a.x[0];
}

__global__ void pointers_differ(half *matrix, float *out)
{
    fragment_a a;
    wmma::load_matrix_sync(a, matrix + 16 * (threadIdx.x / 16), 16);  // expect pointers_differ: divergent collective
    out[threadIdx.x] = a.x[0];
}

__global__ void half_a_warp(half *matrix, float *out)
{
    fragment_a a;
    wmma::load_matrix_sync(a, matrix, 16);  // expect half_a_warp: divergent collective
    out[threadIdx.x] = a.x[0];
}

__global__ void in_a_branch(half *matrix, float *out)
{
    fragment_a a;
    fragment_b b;
    fragment_c c;
    wmma::fill_fragment(a, 1.0f);
    wmma::fill_fragment(b, 1.0f);
    wmma::fill_fragment(c, 0.0f);
    if (threadIdx.x < 16)
        wmma::mma_sync(c, a, b, c);  // expect in_a_branch: divergent collective
    out[threadIdx.x] = c.x[0];
    __syncwarp();  // expect in_a_branch: divergent collective
}

__global__ void in_two_branches(half *matrix, float *out)
{
    fragment_a a;
    if (threadIdx.x < 16)
        wmma::load_matrix_sync(a, matrix, 16);  // expect in_two_branches: divergent collective
    else
        wmma::load_matrix_sync(a, matrix + 256, 16);  // expect in_two_branches: divergent collective
    out[threadIdx.x] = a.x[0];
}

__global__ void unwritten(half *matrix, float *out)
{
    fragment_c c;
    wmma::load_matrix_sync(c, out, 16, wmma::mem_row_major);  // expect unwritten: uninitialised global memory
    out[threadIdx.x] = c.x[0];
}

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        void (*run)(half *matrix, float *out);
        int threads;
    } kernels[] = {
        {"load_without_syncwarp", load_without_syncwarp, 32},
        {"read_back_without_syncwarp", read_back_without_syncwarp, 32},
        {"refilled_too_early", refilled_too_early, 64},
        {"behind_the_matrix", behind_the_matrix, 32},
        {"tile_too_small", tile_too_small, 32},
        {"rows_off_ldmatrix", rows_off_ldmatrix, 32},
        {"odd_stride", odd_stride, 32},
        {"pointers_differ", pointers_differ, 32},
        {"half_a_warp", half_a_warp, 16},
        {"in_a_branch", in_a_branch, 32},
        {"in_two_branches", in_two_branches, 32},
        {"unwritten", unwritten, 32},
    };
    half *matrix;
    float *out;
    cudaMalloc(&matrix, 2 * 256 * sizeof(half));
    cudaMalloc(&out, 256 * sizeof(float));
    cudaMemset(matrix, 0, 2 * 256 * sizeof(half));
    for (auto &kernel : kernels)
        if (argc > 1 && strcmp(argv[1], kernel.name) == 0)
            kernel.run<<<1, kernel.threads>>>(matrix, out);
    return cudaDeviceSynchronize();
}

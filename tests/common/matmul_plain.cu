// The plainest matmul there is, with all that matmul_main offers: types, pitches, B transposed, a workspace, and pointers
// that prepare() hands to launch(). One thread computes one element; a second kernel rounds it to the type of C.

#include "matmul.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int THREADS = 64;

// What prepare() leaves: in a real step, tensor maps of these.
struct prepared {
    const void *A, *B;
};

template <class T>
__global__ void product(const T *A,   // [m, k]
                        const T *B,   // [k, n], or transposed [n, k]
                        float *sums,  // [m, n]
                        struct matmul_args shape)
{
    const int row = blockIdx.y, col = blockIdx.x * THREADS + threadIdx.x;
    if (col >= shape.n)
        return;
    float sum = 0;
    for (int i = 0; i < shape.k; i++) {
        const T b = shape.B_transposed ? B[(size_t)col * shape.B_pitch + i] : B[(size_t)i * shape.B_pitch + col];
        sum += (float)A[(size_t)row * shape.A_pitch + i] * (float)b;
    }
    sums[(size_t)row * shape.n + col] = sum;
}

template <class T>
__global__ void rounded(const float *sums,  // [m, n]
                        T *C,               // [m, n]
                        struct matmul_args shape)
{
    const int row = blockIdx.y, col = blockIdx.x * THREADS + threadIdx.x, cols = shape.n;
    if (col < cols)
        C[(size_t)row * shape.C_pitch + col] = T(sums[(size_t)row * shape.n + col]);
}

static size_t workspace(const struct matmul_args *args) { return (size_t)args->m * args->n * sizeof(float); }

int prepare(const struct matmul_args *args)
{
    *(struct prepared *)args->prepared = (struct prepared){args->A, args->B};
    return cudaSuccess;
}

template <class T>
static void start_product(const struct matmul_args *args, dim3 blocks, cudaStream_t stream)
{
    const struct prepared *from = (const struct prepared *)args->prepared;
    product<<<blocks, THREADS, 0, stream>>>((const T *)from->A, (const T *)from->B, (float *)args->workspace, *args);
}

template <class T>
static void start_rounded(const struct matmul_args *args, dim3 blocks, cudaStream_t stream)
{
    rounded<<<blocks, THREADS, 0, stream>>>((const float *)args->workspace, (T *)args->C, *args);
}

int launch(const struct matmul_args *args, cudaStream_t stream)
{
    const dim3 blocks(ceil_div(args->n, THREADS), args->m);
    if (args->dtype == FP32)
        start_product<float>(args, blocks, stream);
    else if (args->dtype == FP16)
        start_product<__half>(args, blocks, stream);
    else
        start_product<__nv_bfloat16>(args, blocks, stream);
    if (args->C_dtype == FP32)
        start_rounded<float>(args, blocks, stream);
    else if (args->C_dtype == FP16)
        start_rounded<__half>(args, blocks, stream);
    else
        start_rounded<__nv_bfloat16>(args, blocks, stream);
    return cudaGetLastError();
}

static const struct variant variants[] = {{"plain", "one thread for each element"}, {}};

int main(int argc, char **argv)
{
    const struct matmul_step step = {
        .name = "matmul_plain",
        .dtypes = {FP16, BF16, FP32},
        .C_dtypes = {FP32},
        .arch = "75",
        .row_bytes = 16,
        .B_transposed = true,
        .variants = variants,
        .workspace = workspace,
        .prepare = prepare,
        .launch = launch,
    };
    return matmul_main(argc, argv, &step);
}

// The plainest softmax there is, with all that softmax_main offers: types and pitches. One thread computes one row.

#include "softmax.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int THREADS = 64;

template <class T>
__global__ void plain(const T *X,  // [rows, cols]
                      T *Y,        // [rows, cols]
                      struct softmax_args shape)
{
    const int row = blockIdx.x * THREADS + threadIdx.x;
    if (row >= shape.rows)
        return;
    const T *x = X + (size_t)row * shape.X_pitch;
    T *y = Y + (size_t)row * shape.Y_pitch;
    float m = -INFINITY, l = 0;
    for (int col = 0; col < shape.cols; col++)
        m = fmaxf(m, (float)x[col]);
    for (int col = 0; col < shape.cols; col++)
        l += expf((float)x[col] - m);
    for (int col = 0; col < shape.cols; col++)
        y[col] = T(expf((float)x[col] - m) / l);
}

int launch(const struct softmax_args *args, cudaStream_t stream)
{
    const int blocks = ceil_div(args->rows, THREADS);
    if (args->dtype == FP32)
        plain<<<blocks, THREADS, 0, stream>>>((const float *)args->X, (float *)args->Y, *args);
    else if (args->dtype == FP16)
        plain<<<blocks, THREADS, 0, stream>>>((const __half *)args->X, (__half *)args->Y, *args);
    else
        plain<<<blocks, THREADS, 0, stream>>>((const __nv_bfloat16 *)args->X, (__nv_bfloat16 *)args->Y, *args);
    return cudaGetLastError();
}

static const struct variant variants[] = {{"plain", "one thread for each row"}, {}};

int main(int argc, char **argv)
{
    const struct softmax_step step = {
        .name = "softmax_plain",
        .dtypes = {FP32, FP16, BF16},
        .arch = "75",
        .row_bytes = 16,
        .variants = variants,
        .launch = launch,
    };
    return softmax_main(argc, argv, &step);
}

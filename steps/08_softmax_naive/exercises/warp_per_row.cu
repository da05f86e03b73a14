// Softmax of each row in three passes over it, by one warp.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o warp_per_row steps/08_softmax_naive/exercises/warp_per_row.cu common/*.c

#include "softmax.h"

constexpr int WARP = 32;                    // threads of a warp
constexpr unsigned ALL_LANES = 0xffffffff;  // of a warp take part in a shuffle
constexpr int THREADS = 256;                // of a block
constexpr int WARPS = THREADS / WARP;       // of a block, which has a row each

// [reduce_lanes] The largest value of 2, 4, … 32 neighbouring lanes, or their sum; all of them get the result.
template <bool largest>
__device__ float reduce_lanes(float value, int lanes)
{
    for (int offset = lanes / 2; offset > 0; offset /= 2) {
        const float other = __shfl_xor_sync(ALL_LANES, value, offset);
        value = largest ? fmaxf(value, other) : value + other;
    }
    return value;
}

// [kernel]
__global__ void warp_per_row(const float *X,  // [rows, cols]
                             float *Y,        // [rows, cols]
                             int rows, int cols)
{
    // [body]
    const int row = blockIdx.x * WARPS + threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const int end = row < rows ? cols : 0;
    const float *x = X + (size_t)row * cols;  // [cols]
    float *y = Y + (size_t)row * cols;        // [cols]

    float m = -INFINITY;
    for (int col = lane; col < end; col += WARP)
        m = fmaxf(m, x[col]);
    m = reduce_lanes<true>(m, WARP);

    float l = 0;
    for (int col = lane; col < end; col += WARP)
        l += expf(x[col] - m);
    l = reduce_lanes<false>(l, WARP);

    for (int col = lane; col < end; col += WARP)
        y[col] = expf(x[col] - m) / l;
    // [end body]
}

// [launch]
int launch(const struct softmax_args *args, cudaStream_t stream)
{
    if (!softmax_is_plain(args, FP32))
        return cudaErrorInvalidValue;
    warp_per_row<<<ceil_div(args->rows, WARPS), THREADS, 0, stream>>>((const float *)args->X, (float *)args->Y,
                                                                      args->rows, args->cols);
    return cudaGetLastError();
}

// [main]
static const struct variant variants[] = {
    {"warp_per_row", "32 threads share a row: shuffles alone find its maximum and its sum"},
    {},
};

int main(int argc, char **argv)
{
    const struct softmax_step step = {
        .name = "08_softmax_naive",
        .dtypes = {FP32},
        .arch = "75",
        .variants = variants,
        .launch = launch,
    };
    return softmax_main(argc, argv, &step);
}

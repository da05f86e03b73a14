// Softmax of rows that stay on chip, each shared by as many threads as suit its length.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o softmax_shaped steps/11_softmax_shaped/softmax_shaped.cu common/*.c
//   ./learn run 11

#include "softmax.h"

constexpr int WARP = 32;                     // threads of a warp
constexpr unsigned ALL_LANES = 0xffffffff;   // of a warp take part in a shuffle
constexpr int MAX_WARPS = 32;                // of a block
constexpr int MIN_THREADS = 8, BLOCK = 128;  // of a row; of a block that has several rows

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

// [part] What some of a row's elements come to: the largest, and the sum of exp(x − m). Of no elements: −∞ and 0.
struct part {
    float m, l;
};

// [weight] exp(x − m), where m is at least x. If m is −∞, so is x, and −∞ − −∞ would be NaN: such an x weighs 0.
__device__ float weight(float x, float m) { return expf(x - (m == -INFINITY ? 0 : m)); }

// [vector] Four neighbouring elements of a row: 16 bytes, one load or one store. Those of NONE weigh 0.
constexpr float4 NONE = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};

__device__ float largest_of(float4 x) { return fmaxf(fmaxf(x.x, x.y), fmaxf(x.z, x.w)); }

__device__ float sum_of(float4 x) { return (x.x + x.y) + (x.z + x.w); }

__device__ float4 weight(float4 x, float m) { return {weight(x.x, m), weight(x.y, m), weight(x.z, m), weight(x.w, m)}; }

__device__ float4 scale(float4 x, float factor) { return {x.x * factor, x.y * factor, x.z * factor, x.w * factor}; }

// [add] A part and a vector as one: five exponentials.
__device__ part add(part a, float4 x)
{
    const float m = fmaxf(a.m, largest_of(x));
    return {m, a.l * weight(a.m, m) + sum_of(weight(x, m))};
}

// [merge_lanes] The parts of 2, 4, … 32 neighbouring lanes as one: the largest m first, then one weight for each l.
__device__ part merge_lanes(part mine, int lanes)
{
    const float m = reduce_lanes<true>(mine.m, lanes);
    return {m, reduce_lanes<false>(mine.l * weight(mine.m, m), lanes)};
}

// [merge_threads] The parts of a row's threads as one: first those of a warp's lanes, then those of the warps that share a row.
__device__ part merge_threads(part mine,
                              part *partial)  // [MAX_WARPS], shared
{
    // [lanes]
    const int warps = blockDim.x / WARP;
    mine = merge_lanes(mine, min(blockDim.x, WARP));
    // [end lanes]
    if (warps > 1) {
        if (threadIdx.x % WARP == 0)
            partial[threadIdx.x / WARP] = mine;
        __syncthreads();  // the parts of all warps are there
        mine = partial[threadIdx.x % warps];
        mine = merge_lanes(mine, warps);
        // [barrier]
        __syncthreads();  // every warp has read them before those of the next row replace them
        // [end barrier]
    }
    return mine;
}

// [max_threads] The most threads of a block: the SM's registers must suffice for all of them.
constexpr int max_threads(int vectors) { return vectors > 8 ? 512 : 1024; }

// [kernel] Each thread holds VECTORS vectors of its row in registers. The next `capacity` of the row's vectors are in shared
// memory. What is beyond that is read twice.
template <int VECTORS, int ROWS>
__global__ void __launch_bounds__(max_threads(VECTORS))
    softmax_shaped(const float *X,  // [rows, X_pitch]
                   float *Y,        // [rows, Y_pitch]
                   int rows, int cols, int X_pitch, int Y_pitch, int capacity)
{
    // [partial]
    __shared__ part partial[MAX_WARPS];
    // [end partial]
    extern __shared__ float4 rest_smem[];  // [capacity]
    float4 p[VECTORS];                     // x, then exp(x − m) with the thread's own m

    // [rows] The threads of a row differ in threadIdx.x alone, and take every blockDim.xth vector of it.
    for (int r = 0; r < ROWS; r++) {
        // [index]
        const int row = (blockIdx.x * ROWS + r) * blockDim.y + threadIdx.y;
        const int first = threadIdx.x, step = blockDim.x, rest = first + VECTORS * step;
        const int vectors = row < rows ? cols / 4 : 0, tail = row < rows ? 4 * vectors + first : cols;
        // [end index]
        const float *x = X + (size_t)row * X_pitch;  // [cols]
        float *y = Y + (size_t)row * Y_pitch;        // [cols]
        const float4 *x4 = (const float4 *)x;        // [vectors]
        float4 *y4 = (float4 *)y;                    // [vectors]

        // [beyond] What the registers do not hold: up to three elements behind the last vector, and the end of a long row.
        part mine = {-INFINITY, 0};
        if (tail < cols)
            mine = {x[tail], 1};
#pragma unroll 4
        for (int i = rest; i < vectors; i += step) {
            const float4 v = x4[i];
            // [rest]
            if (i - VECTORS * step < capacity)
                rest_smem[i - VECTORS * step] = v;  // for this thread alone
            // [end rest]
            mine = add(mine, v);
        }

        // [hold] All loads are under way before the first value is needed.
        float m = mine.m;
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
            p[i] = first + i * step < vectors ? x4[first + i * step] : NONE;
            m = fmaxf(m, largest_of(p[i]));
        }

        // [online] The thread's own m is known: each element that is held costs one exponential.
        float l = mine.l * weight(mine.m, m);
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
            p[i] = weight(p[i], m);
            l += sum_of(p[i]);
        }
        // [call]
        const part all = merge_threads({m, l}, partial);
        // [end call]

        // [write] One factor takes a thread's exponentials from its own m to the row's, and multiplies by 1 / l.
        const float inverse = 1 / all.l, factor = weight(m, all.m) * inverse;
#pragma unroll
        for (int i = 0; i < VECTORS; i++)
            if (first + i * step < vectors)
                y4[first + i * step] = scale(p[i], factor);
        for (int i = rest; i < vectors; i += step) {
            // [write_rest]
            const float4 v = i - VECTORS * step < capacity ? rest_smem[i - VECTORS * step] : x4[i];
            // [end write_rest]
            y4[i] = scale(weight(v, all.m), inverse);
        }
        if (tail < cols)
            y[tail] = weight(x[tail], all.m) * inverse;
    }
}

// [launch] A thread gets as many vectors as hold the row, or else as many as so many threads have registers for.
template <int VECTORS, int ROWS>
static cudaError_t launch_shape(const struct softmax_args *args, int threads, cudaStream_t stream)
{
    constexpr int MORE = VECTORS < 16 ? 2 * VECTORS : 24;
    const int rest = max(args->cols / 4 - VECTORS * threads, 0);  // vectors that the registers do not hold
    if constexpr (VECTORS < MORE && MORE * ROWS <= 24)
        if (rest > 0 && threads <= max_threads(MORE))
            return launch_shape<MORE, ROWS>(args, threads, stream);

    const dim3 block(threads, threads > WARP ? 1 : BLOCK / threads);
    int device, bytes;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    const int capacity = block.y > 1 ? 0 : min(rest, (bytes - (int)sizeof(part[MAX_WARPS])) / (int)sizeof(float4));
    cudaFuncSetAttribute(softmax_shaped<VECTORS, ROWS>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         capacity * sizeof(float4));
    softmax_shaped<VECTORS, ROWS><<<ceil_div(args->rows, block.y * ROWS), block, capacity * sizeof(float4), stream>>>(
        (const float *)args->X, (float *)args->Y, args->rows, args->cols, args->X_pitch, args->Y_pitch, capacity);
    return cudaGetLastError();
}

// [rule] A thread has 32 elements of a row, as far as 512 threads go; then it has more. It has one row, unless asked for more.
int launch(const struct softmax_args *args, cudaStream_t stream)
{
    if (!softmax_is_aligned(args, FP32, 16))
        return cudaErrorInvalidValue;
    int threads = args->threads_per_row ? args->threads_per_row : MIN_THREADS;
    while (!args->threads_per_row && threads < 512 && 32 * threads < args->cols)
        threads *= 2;
    const int rows = args->rows_per_thread;
    const auto launch_rows = rows == 4 ? launch_shape<1, 4> : rows == 2 ? launch_shape<1, 2> : launch_shape<1, 1>;
    return launch_rows(args, threads, stream);
}

// [main]
static const struct variant variants[] = {
    {"shaped", "threads for each row by the number of columns, or as the options say"},
    {},
};

int main(int argc, char **argv)
{
    static const int threads_per_row[] = {8, 16, 32, 64, 128, 256, 512, 1024, 0}, rows_per_thread[] = {1, 2, 4, 0};
    const struct softmax_step step = {
        .name = "11_softmax_shaped",
        .dtypes = {FP32},
        .arch = "75",
        .row_bytes = 16,
        .variants = variants,
        .launch = launch,
        .threads_per_row = threads_per_row,
        .rows_per_thread = rows_per_thread,
    };
    return softmax_main(argc, argv, &step);
}

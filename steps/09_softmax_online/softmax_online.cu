// Softmax in one pass over each row, carrying the maximum so far and the sum that goes with it; then as fast as a copy.
//
//   nvcc -O3 -std=c++20 -arch=native -Icommon -o softmax_online steps/09_softmax_online/softmax_online.cu common/*.c
//   ./learn run 09

#include "softmax.h"

constexpr int WARP = 32;              // threads
constexpr unsigned ALL = 0xffffffff;  // lanes of a warp
constexpr int MAX_WARPS = 32;         // of a block
constexpr int THREADS = 256;          // of a block that shares a row

// [part] What some of a row's elements come to: the largest, and the sum of exp(x − m). Of none: −∞ and 0.
struct part {
    float m, l;
};

// exp(x − m), where m is at least x. If m is −∞, so is x, and −∞ − −∞ would be NaN: nothing yet counts for nothing.
__device__ float weight(float x, float m) { return expf(x - (m == -INFINITY ? 0 : m)); }

// [merge] Two parts as one.
// exercise: begin merge
__device__ part merge(part a, part b)
{
    const float m = fmaxf(a.m, b.m);
    return {m, a.l * weight(a.m, m) + b.l * weight(b.m, m)};
}
// exercise: end merge

// [tree] The parts of a block's threads, halving their number in each round.
__device__ part merge_tree(part mine,
                           part *partial)  // [THREADS], shared
{
    partial[threadIdx.x] = mine;
    __syncthreads();  // all parts are there
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            const part other = partial[threadIdx.x + half];
            partial[threadIdx.x] = mine = merge(mine, other);
        }
        __syncthreads();  // this round's parts are there before the next round reads them
    }
    return partial[0];
}

// [lanes] The parts of 2, 4, … 32 neighbouring lanes, all as one: the largest m, one weight for each l, the sum.
__device__ part merge_lanes(part mine, int lanes)
{
    float m = mine.m;
    for (int far = lanes / 2; far > 0; far /= 2)
        m = fmaxf(m, __shfl_xor_sync(ALL, m, far));
    float l = mine.l * weight(mine.m, m);
    for (int far = lanes / 2; far > 0; far /= 2)
        l += __shfl_xor_sync(ALL, l, far);
    return {m, l};
}

// [warps] The parts of the threads that differ in threadIdx.x alone, for each of their rows.
template <int ROWS>
__device__ void merge_threads(part (&mine)[ROWS])
{
    __shared__ part partial[ROWS][MAX_WARPS];
    const int warps = blockDim.x / WARP, first = threadIdx.y * warps;
    for (int r = 0; r < ROWS; r++) {
        mine[r] = merge_lanes(mine[r], min(blockDim.x, WARP));
        if (warps > 1 && threadIdx.x % WARP == 0)
            partial[r][first + threadIdx.x / WARP] = mine[r];
    }
    if (warps > 1) {
        __syncthreads();  // the parts of all warps are there
        for (int r = 0; r < ROWS; r++) {
            mine[r] = partial[r][first + threadIdx.x % warps];
            mine[r] = merge_lanes(mine[r], warps);
        }
    }
}

// [scalar] One element at a time; the row is read twice.
template <bool shuffled>
__global__ void softmax_scalar(const float *X,  // [rows, cols]
                               float *Y,        // [rows, cols]
                               int cols)
{
    __shared__ part partial[THREADS];
    const float *x = X + (size_t)blockIdx.x * cols;  // [cols]
    float *y = Y + (size_t)blockIdx.x * cols;        // [cols]

    part mine[1] = {{-INFINITY, 0}};
    for (int col = threadIdx.x; col < cols; col += THREADS)
        mine[0] = merge(mine[0], {x[col], 1});
    if (shuffled)
        merge_threads(mine);
    else
        mine[0] = merge_tree(mine[0], partial);

    const float m = mine[0].m, l = mine[0].l;
    for (int col = threadIdx.x; col < cols; col += THREADS)
        y[col] = weight(x[col], m) / l;
}

// [four] Four elements at a time.
constexpr float4 NONE = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};

__device__ float largest(float4 x) { return fmaxf(fmaxf(x.x, x.y), fmaxf(x.z, x.w)); }

__device__ float sum(float4 x) { return (x.x + x.y) + (x.z + x.w); }

__device__ float4 weights(float4 x, float m)
{
    return {weight(x.x, m), weight(x.y, m), weight(x.z, m), weight(x.w, m)};
}

__device__ float4 times(float4 x, float factor) { return {x.x * factor, x.y * factor, x.z * factor, x.w * factor}; }

// [row] `vectors` of four floats each, from the first multiple of 16 bytes on; before and behind them together `ends`
// floats, at most six: a thread has at most one.
struct row {
    const float4 *x4;  // [vectors]
    float4 *y4;        // [vectors]
    const float *x;    // [cols]
    float *y;          // [cols]
    int head, vectors, ends;
};

__device__ row row_at(const float *X, float *Y, int index, int rows, int cols)
{
    const float *x = X + (size_t)index * cols;
    float *y = Y + (size_t)index * cols;
    const int count = index < rows ? cols : 0;
    const int head = min((int)(-(size_t)index * cols % 4), count), vectors = (count - head) / 4;
    return {(const float4 *)(x + head), (float4 *)(y + head), x, y, head, vectors, count - 4 * vectors};
}

__device__ int end_col(const row &at, int end) { return end < at.head ? end : end + 4 * at.vectors; }

// [held] A thread has ROWS rows, shared with the threads of the same threadIdx.y. Of each it holds VECTORS vectors in
// registers; `room` more of the row's are in shared memory; what is beyond that is read again.
template <int VECTORS, int ROWS>
constexpr int MAX_THREADS = VECTORS > 8 || ROWS > 1 ? 512 : 1024;  // of a block, whose registers must suffice for all

template <int VECTORS, int ROWS>
__global__ void __launch_bounds__(MAX_THREADS<VECTORS, ROWS>, 1) softmax_held(const float *X,  // [rows, cols]
                                                                              float *Y,        // [rows, cols]
                                                                              int rows, int cols, int room)
{
    extern __shared__ float4 rest_smem[];  // [room]
    const int thread = threadIdx.x, threads = blockDim.x, held = VECTORS * threads;
    const int first = (blockIdx.x * blockDim.y + threadIdx.y) * ROWS;
    float4 p[ROWS][VECTORS ? VECTORS : 1];  // x, then exp(x − m) with the thread's own m
    float p_end[ROWS];
    part mine[ROWS], all[ROWS];

#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const row at = row_at(X, Y, first + r, rows, cols);

        // [rest] What the registers have no place for: as one part at once.
        mine[r] = {-INFINITY, 0};
#pragma unroll 4
        for (int v = held + thread; ROWS == 1 && v < at.vectors; v += threads) {
            const float4 x = at.x4[v];
            if (v - held < room)
                rest_smem[v - held] = x;  // for this thread alone
            const float m = fmaxf(mine[r].m, largest(x));
            mine[r] = {m, mine[r].l * weight(mine[r].m, m) + sum(weights(x, m))};
        }

        // [load] All loads are under way before the first value is needed.
#pragma unroll
        for (int i = 0; i < VECTORS; i++)
            p[r][i] = i * threads + thread < at.vectors ? at.x4[i * threads + thread] : NONE;
        p_end[r] = thread < at.ends ? at.x[end_col(at, thread)] : -INFINITY;
    }

    // [exp] The thread's own m first: then each element costs one exponential.
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        float m = fmaxf(mine[r].m, p_end[r]);
#pragma unroll
        for (int i = 0; i < VECTORS; i++)
            m = fmaxf(m, largest(p[r][i]));
        p_end[r] = weight(p_end[r], m);
        float l = mine[r].l * weight(mine[r].m, m) + p_end[r];
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
            p[r][i] = weights(p[r][i], m);
            l += sum(p[r][i]);
        }
        all[r] = mine[r] = {m, l};
    }
    merge_threads(all);

    // [store] One factor takes a thread's exponentials to the row's m, and divides by its l.
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const row at = row_at(X, Y, first + r, rows, cols);
        const float factor = weight(mine[r].m, all[r].m) / all[r].l;
#pragma unroll
        for (int i = 0; i < VECTORS; i++)
            if (i * threads + thread < at.vectors)
                at.y4[i * threads + thread] = times(p[r][i], factor);
        if (thread < at.ends)
            at.y[end_col(at, thread)] = p_end[r] * factor;
#pragma unroll 4
        for (int v = held + thread; ROWS == 1 && v < at.vectors; v += threads) {
            const float4 x = v - held < room ? rest_smem[v - held] : at.x4[v];
            at.y4[v] = times(weights(x, all[r].m), 1 / all[r].l);
        }
    }
}

// [launch]
enum { ONE_PASS, SHUFFLED, WIDE, HELD, SHAPED };
constexpr int MIN_THREADS = 8, BLOCK = 128;  // threads of a row at the least: one for each end; of a block

template <int VECTORS, int ROWS>
static cudaError_t launch_held(const struct softmax_args *args, int threads, bool in_shared, cudaStream_t stream)
{
    const int beside = max(BLOCK / threads, 1), blocks = ceil_div(args->rows, beside * ROWS);
    if (threads > MAX_THREADS<VECTORS, ROWS> || (ROWS > 1 && args->cols > 4 * VECTORS * threads))
        return cudaErrorInvalidConfiguration;
    int room = 0;  // vectors
    if (in_shared && ROWS == 1 && beside == 1 && args->cols > 4 * VECTORS * threads) {
        int device, bytes;
        cudaGetDevice(&device);
        cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
        bytes -= (int)sizeof(part) * MAX_WARPS;
        room = min(ceil_div(args->cols, 4) - VECTORS * threads, bytes / (int)sizeof(float4));
        cudaFuncSetAttribute(softmax_held<VECTORS, ROWS>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             room * (int)sizeof(float4));
    }
    softmax_held<VECTORS, ROWS><<<blocks, dim3(threads, beside), room * sizeof(float4), stream>>>(
        (const float *)args->X, (float *)args->Y, args->rows, args->cols, room);
    return cudaGetLastError();
}

// [rule] 32 floats of a row for each thread, as far as 512 threads go; longer rows fill the registers, then shared memory.
static int choose_threads(int cols)
{
    int threads = MIN_THREADS;
    while (threads < 512 && 32 * threads < cols)
        threads *= 2;
    return threads;
}

static cudaError_t launch_shaped(const struct softmax_args *args, cudaStream_t stream)
{
    static const int vectors[] = {1, 2, 4, 8, 16, 24};
    static cudaError_t (*const by_rows[][6])(const struct softmax_args *, int, bool, cudaStream_t) = {
        {launch_held<1, 1>, launch_held<2, 1>, launch_held<4, 1>, launch_held<8, 1>, launch_held<16, 1>,
         launch_held<24, 1>},
        {launch_held<1, 2>, launch_held<2, 2>, launch_held<4, 2>, launch_held<8, 2>},
        {launch_held<1, 4>, launch_held<2, 4>, launch_held<4, 4>},
    };
    const int threads = args->threads_per_row ? args->threads_per_row : choose_threads(args->cols);
    const int rows = args->rows_per_thread ? args->rows_per_thread : 1;
    const auto *launchers = by_rows[rows == 1 ? 0 : rows / 2];
    int i = 0;
    while (i < 5 && launchers[i + 1] && 4 * vectors[i] * threads < args->cols)
        i++;
    return launchers[i](args, threads, true, stream);
}

int launch(const struct softmax_args *args, cudaStream_t stream)
{
    if (!softmax_is_plain(args, FP32))
        return cudaErrorInvalidValue;
    const float *X = (const float *)args->X;
    float *Y = (float *)args->Y;
    if (args->variant == WIDE)
        return launch_held<0, 1>(args, THREADS, false, stream);
    if (args->variant == HELD)
        return launch_held<8, 1>(args, THREADS, false, stream);
    if (args->variant == SHAPED)
        return launch_shaped(args, stream);
    if (args->variant == ONE_PASS)
        softmax_scalar<false><<<args->rows, THREADS, 0, stream>>>(X, Y, args->cols);
    else
        softmax_scalar<true><<<args->rows, THREADS, 0, stream>>>(X, Y, args->cols);
    return cudaGetLastError();
}

// [main]
static const struct variant variants[] = {
    {"one_pass", "maximum and sum in one pass, parts merged in shared memory"},
    {"shuffled", "parts merged by warp shuffles, then once across warps"},
    {"wide", "16 bytes a load and a store, the row's ends apart"},
    {"held", "the row stays in registers: read once"},
    {"shaped", "threads for a row and rows for a block follow the number of columns"},
    {},
};

int main(int argc, char **argv)
{
    static const int threads_per_row[] = {8, 16, 32, 64, 128, 256, 512, 1024, 0}, rows_per_thread[] = {1, 2, 4, 0};
    const struct softmax_step step = {
        .name = "09_softmax_online",
        .dtypes = {FP32},
        .arch = "75",
        .variants = variants,
        .launch = launch,
        .threads_per_row = threads_per_row,
        .rows_per_thread = rows_per_thread,
    };
    return softmax_main(argc, argv, &step);
}

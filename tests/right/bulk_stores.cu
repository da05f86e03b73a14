// Bulk copies and reductions out of shared memory: buffers in turn, groups of several copies, sums of many blocks in one place.

#include "../hopper.h"
#include "right.h"
#include <cuda_fp16.h>

#define TILE 128
#define BYTES (TILE * 4)

// Two buffers in turn: before one is written again, all groups but the last have been read.
template <int BUFFERS> __global__ void in_turns(const float *in, float *out, int tiles)
{
    __shared__ alignas(16) float tile[BUFFERS][TILE];
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
        int buffer = t / gridDim.x % BUFFERS;
        if (threadIdx.x == 0)
            BULK_WAIT_READ(BUFFERS - 1);
        __syncthreads();
        for (int i = threadIdx.x; i < TILE; i += blockDim.x)
            tile[buffer][i] = 2 * in[t * TILE + i];
        FENCE_ASYNC_SHARED();
        __syncthreads();
        if (threadIdx.x == 0) {
            BULK_STORE(out + t * TILE, tile[buffer], BYTES);
            BULK_COMMIT();
        }
    }
    if (threadIdx.x == 0)
        BULK_WAIT_READ(0);
}

__global__ void one_group_of_many(const float *in, float *out)  // by a thread of the second warp
{
    __shared__ alignas(16) float tile[TILE];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i] = 2 * in[i];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 33) {
        for (int i = 0; i < TILE; i += 4)
            BULK_STORE(out + i, tile + i, 16);
        BULK_COMMIT();
        BULK_WAIT_READ(0);
        tile[0] = 0;
    }
}

__global__ void empty_groups(const float *in, float *out)  // count like others
{
    __shared__ alignas(16) float tile[TILE];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i] = 2 * in[i];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_WAIT(0);
        BULK_COMMIT();
        BULK_STORE(out, tile, BYTES);
        BULK_COMMIT();
        BULK_COMMIT();
        BULK_WAIT_READ(1);
        tile[5] = 0;
        BULK_WAIT(3);
    }
}

__global__ void every_lane_its_row(const float *in, float *out)  // and its groups
{
    __shared__ alignas(16) float tile[32][4];
    for (int i = 0; i < 4; i++)
        tile[threadIdx.x][i] = 2 * in[threadIdx.x * 4 + i];
    FENCE_ASYNC_SHARED();
    BULK_STORE(out + threadIdx.x * 4, tile[threadIdx.x], 16);
    BULK_COMMIT();
    BULK_WAIT_READ(0);
    tile[threadIdx.x][0] = 0;
}

__global__ void read_meanwhile(const float *in, float *out)  // a source may be read by anyone
{
    __shared__ alignas(16) float tile[TILE];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i] = in[i];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);
        BULK_STORE(out + TILE, tile, BYTES);
        BULK_COMMIT();
    }
    out[2 * TILE + threadIdx.x] = tile[threadIdx.x];
    if (threadIdx.x == 0)
        BULK_WAIT(0);
}

__global__ void source_loaded_again(const float *in, float *out, int tiles)  // a load, once the store has read
{
    __shared__ alignas(16) float tile[2][TILE];
    __shared__ uint64_t full[2];
    SET_UP(full, 1);
    if (threadIdx.x == 0) {
        for (int t = 0; t < tiles; t++) {
            int s = t % 2;
            BULK_WAIT_READ(1);
            MBARRIER_ARRIVE_EXPECT(&full[s], BYTES);
            BULK_LOAD(tile[s], in + t * TILE, BYTES, &full[s]);
            MBARRIER_WAIT(&full[s], t / 2 % 2);
            BULK_STORE(out + t * TILE, tile[s], BYTES);
            BULK_COMMIT();
        }
        BULK_WAIT(0);
    }
}

__global__ void summed(const float *in, float *out, int n)  // every block adds its part to one place
{
    __shared__ alignas(16) float sums[TILE];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x) {
        float sum = 0;
        for (int k = blockIdx.x * TILE + i; k < n; k += gridDim.x * TILE)
            sum += in[k];
        sums[i] = sum;
    }
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_ADD("f32", out, sums, BYTES);
        BULK_COMMIT();
        BULK_WAIT_READ(0);
    }
}

__global__ void summed_by_atomics_too(float *out)
{
    __shared__ alignas(16) float ones[TILE];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x) {
        ones[i] = 1;
        if (blockIdx.x % 2)
            atomicAdd(&out[i], 1.0f);
    }
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0 && blockIdx.x % 2 == 0) {
        BULK_ADD("f32", out, ones, BYTES);
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void several_sums_in_flight(float *out)  // of one thread onto one place
{
    __shared__ alignas(16) float ones[TILE];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        ones[i] = 1;
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < 3; i++) {
            BULK_ADD("f32", out, ones, BYTES);
            BULK_COMMIT();
        }
        BULK_WAIT(0);
    }
}

#define REDUCE(OP, TO, FROM, BYTES_) \
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." OP " [%0], [%1], %2;" ::"l"(TO), \
                 "r"(in_shared(FROM)), "r"(BYTES_) \
                 : "memory")

__global__ void other_operations(int *out, unsigned long long *wide, __half *halves)
{
    __shared__ alignas(16) int numbers[32];
    __shared__ alignas(16) unsigned long long big[32];
    __shared__ alignas(16) __half small[32];
    int t = threadIdx.x;
    numbers[t] = 3 * t - 40;
    big[t] = 1ull << (t + 20);
    small[t] = __float2half(t);
    FENCE_ASYNC();
    __syncwarp();
    if (t == 0) {
        REDUCE("min.s32", out, numbers, 128);
        REDUCE("max.s32", out + 32, numbers, 128);
        REDUCE("and.b32", out + 64, numbers, 128);
        REDUCE("or.b32", out + 96, numbers, 128);
        REDUCE("xor.b32", out + 128, numbers, 128);
        REDUCE("add.s32", out + 160, numbers, 128);
        REDUCE("add.u64", wide, big, 256);
        REDUCE("add.noftz.f16", halves, small, 64);
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void last_block_adds_up(const float *in, float *parts, float *out, unsigned *count)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ bool last;
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i] = 2 * in[blockIdx.x * TILE + i];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(parts + blockIdx.x * TILE, tile, BYTES);
        BULK_COMMIT();
        BULK_WAIT(0);
        __threadfence();
        last = atomicAdd(count, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last)
        for (int i = threadIdx.x; i < TILE; i += blockDim.x) {
            float sum = 0;
            for (unsigned b = 0; b < gridDim.x; b++)
                sum += parts[b * TILE + i];
            out[i] = sum;
        }
}

static void expect_doubled(const char *name, const float *in, const float *out, int n, float factor = 2)
{
    float *got = to_host(out, n);
    for (int i = 0; i < n; i++)
        if (got[i] != factor * in[i]) {
            printf("%s: element %d is %g, not %g\n", name, i, got[i], factor * in[i]);
            exit(1);
        }
    free(got);
}

int main(void)
{
    const int n = 16 * TILE;
    float *x = numbers(n, 5), *in = to_device(x, n), *out = to_device<float>(NULL, n),
          *parts = to_device<float>(NULL, n);
    unsigned *count = to_device<unsigned>(NULL, 1);
    in_turns<1><<<1, 64>>>(in, out, 5);
    expect_doubled("in_turns<1>", x, out, 5 * TILE);
    in_turns<2><<<3, 64>>>(in, out, 16);
    expect_doubled("in_turns<2>", x, out, n);
    in_turns<4><<<2, 64>>>(in, out, 15);
    expect_doubled("in_turns<4>", x, out, 15 * TILE);
    CHECK(cudaMemset(out, 0, n * sizeof(float)));
    one_group_of_many<<<1, 64>>>(in, out);
    expect_doubled("one_group_of_many", x, out, TILE);
    CHECK(cudaMemset(out, 0, n * sizeof(float)));
    empty_groups<<<1, 64>>>(in, out);
    expect_doubled("empty_groups", x, out, TILE);
    CHECK(cudaMemset(out, 0, n * sizeof(float)));
    every_lane_its_row<<<1, 32>>>(in, out);
    expect_doubled("every_lane_its_row", x, out, TILE);
    read_meanwhile<<<1, TILE>>>(in, out);
    for (int i = 0; i < 3; i++)
        expect_doubled("read_meanwhile", x, out + i * TILE, TILE, 1);
    source_loaded_again<<<1, 32>>>(in, out, 16);
    expect_doubled("source_loaded_again", x, out, n, 1);

    CHECK(cudaMemset(out, 0, n * sizeof(float)));
    summed<<<5, 64>>>(in, out, n);
    float *got = to_host(out, TILE);
    for (int i = 0; i < TILE; i++) {
        float sum = 0;
        for (int k = i; k < n; k += TILE)
            sum += x[k];
        SAME(got[i], sum);
    }
    CHECK(cudaMemset(out, 0, n * sizeof(float)));
    summed_by_atomics_too<<<6, 64>>>(out);
    several_sums_in_flight<<<1, 64>>>(out);
    got = to_host(out, TILE);
    for (int i = 0; i < TILE; i++)
        SAME(got[i], 9);

    int start[192];
    for (int i = 0; i < 192; i++)
        start[i] = i % 32;
    int *integers = to_device(start, 192);
    unsigned long long *wide = to_device<unsigned long long>(NULL, 32);
    __half *halves = to_device<__half>(NULL, 32);
    CHECK(cudaMemset(wide, 0, 32 * sizeof *wide));
    CHECK(cudaMemset(halves, 0, 32 * sizeof *halves));
    other_operations<<<1, 32>>>(integers, wide, halves);
    int *reduced = to_host(integers, 192);
    unsigned long long *big = to_host(wide, 32);
    __half *small = to_host(halves, 32);
    for (int i = 0; i < 32; i++) {
        int y = 3 * i - 40;
        SAME(reduced[i], y < i ? y : i);
        SAME(reduced[32 + i], y > i ? y : i);
        SAME(reduced[64 + i], y & i);
        SAME(reduced[96 + i], y | i);
        SAME(reduced[128 + i], y ^ i);
        SAME(reduced[160 + i], y + i);
        SAME((double)big[i], (double)(1ull << (i + 20)));
        SAME(__half2float(small[i]), i);
    }
    CHECK(cudaMemset(count, 0, sizeof *count));
    last_block_adds_up<<<8, 64>>>(in, parts, out, count);
    got = to_host(out, TILE);
    for (int i = 0; i < TILE; i++) {
        float sum = 0;
        for (int b = 0; b < 8; b++)
            sum += 2 * x[b * TILE + i];
        SAME(got[i], sum);
    }
    return 0;
}

// What copies are in flight when a warpgroup multiplies: the lines say it at their ends.
//
// Of a product count the bulk copies of its block that mbarriers count and that have not landed, with their bytes, once for each of
// the four warps. One launch of each kernel, of one block.

#include <cuda_profiler_api.h>
#include "../hopper.h"
#include "../wgmma.h"

constexpr int TILES = 8, THREADS = 128;
constexpr int A_BYTES = 64 * 16 * 2, B_BYTES = 16 * 8 * 2;  // K-major, in core matrices of 128 bytes

struct tiles {
    unsigned char A[A_BYTES], B[B_BYTES];
};

static __device__ void load(struct tiles *to, const struct tiles *from, unsigned long long *full)
{
    MBARRIER_ARRIVE_EXPECT(full, (unsigned)sizeof *to);
    BULK_LOAD(to, from, (unsigned)sizeof *to, full);
}

#define DESCRIBED(FIRST) descriptor(FIRST, 128, 256, PLAIN)
#define MULTIPLY(D, TILE) \
    WGMMA_SS("m64n8k16.f32.f16.f16", 4, "+f", ", 1, 1, 0, 0", D, DESCRIBED((TILE)->A), DESCRIBED((TILE)->B), 1)

#define BEGIN(STAGES) \
    __shared__ alignas(128) struct tiles ring[STAGES]; \
    __shared__ unsigned long long full[STAGES]; \
    const bool issuer = threadIdx.x == 0; \
    float d[4] = {}; \
    if (issuer) { \
        for (int i = 0; i < STAGES; i++) \
            MBARRIER_INIT(&full[i], 1); \
        FENCE_MBARRIER_INIT(); \
    } \
    __syncthreads()

// Each tile is waited for as soon as it is asked for.
__global__ void synchronous(const struct tiles *in, float *out)
{
    BEGIN(1);
    for (int i = 0; i < TILES; i++) {
        if (issuer)
            load(&ring[0], &in[i], &full[0]);
        MBARRIER_WAIT(&full[0], i % 2);
        WGMMA_FENCE();
        MULTIPLY(d, &ring[0]);  // 32 wgmma, 0 wgmma_with_copies, 0 wgmma_bytes_in_flight
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        __syncthreads();
    }
    out[threadIdx.x] = d[0];
}

// Three tiles in turn: two are ahead, and towards the end one, and none. 4 warps, 2304 bytes each: 4 * 2304 * (6 * 2 + 1).
__global__ void two_ahead(const struct tiles *in, float *out)
{
    BEGIN(3);
    for (int i = 0; i < 3 && issuer; i++)
        load(&ring[i], &in[i], &full[i]);
    for (int i = 0; i < TILES; i++) {
        MBARRIER_WAIT(&full[i % 3], i / 3 % 2);
        WGMMA_FENCE();
        MULTIPLY(d, &ring[i % 3]);  // 32 wgmma, 28 wgmma_with_copies, 119808 wgmma_bytes_in_flight
        WGMMA_COMMIT();
        WGMMA_WAIT(0);
        __syncthreads();
        if (issuer && i + 3 < TILES)
            load(&ring[i % 3], &in[i + 3], &full[i % 3]);
    }
    out[threadIdx.x] = d[0];
}

int main()
{
    struct tiles *in;
    float *out;
    if (cudaMalloc(&in, TILES * sizeof *in) || cudaMalloc(&out, THREADS * sizeof *out) ||
        cudaMemset(in, 0, TILES * sizeof *in))
        return 1;
    cudaProfilerStart();
    synchronous<<<1, THREADS>>>(in, out);
    two_ahead<<<1, THREADS>>>(in, out);
    const cudaError_t error = cudaDeviceSynchronize();
    cudaProfilerStop();
    return error != cudaSuccess;
}

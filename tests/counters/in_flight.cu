// What copies are in flight when a warp loads from shared memory, shuffles or multiplies: the lines say it at their ends.
//
// Of a request count the copies by cp.async that its own lanes have begun and not waited for, with the bytes that they
// read. One launch of each kernel; a block has one warp, where nothing else is said.

#include <cuda_pipeline.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <mma.h>

#define LANE ((int)threadIdx.x % 32)
#define LDMATRIX "ldmatrix.sync.aligned.m8n8.x1.shared.b16 %0, [%1];"

constexpr int TILES = 8, STAGES = 4, THREADS = 32;

__device__ void copy(float *to, const float *from)
{
    __pipeline_memcpy_async(to, from, 4);
    __pipeline_commit();
}

// A wait right behind the copy: nothing overlaps.
__global__ void synchronous(const float *in, float *out)
{
    __shared__ float tile[2][THREADS];
    float x = 0;
    copy(&tile[0][LANE], &in[LANE]);
    for (int i = 0; i < TILES; i++) {
        copy(&tile[(i + 1) % 2][LANE], &in[(i + 1) * THREADS + LANE]);
        __pipeline_wait_prior(0);
        x += tile[i % 2][LANE];  // 8 shared_ld_requests, 0 shared_ld_with_copies, 0 shared_ld_bytes_in_flight
    }
    out[LANE] = x;
}

// The same copies, begun behind the wait: of the last tile, too, which nobody reads.
__global__ void one_ahead(const float *in, float *out)
{
    __shared__ float tile[2][THREADS];
    float x = 0;
    copy(&tile[0][LANE], &in[LANE]);
    for (int i = 0; i < TILES; i++) {
        __pipeline_wait_prior(0);
        copy(&tile[(i + 1) % 2][LANE], &in[(i + 1) * THREADS + LANE]);
        x += tile[i % 2][LANE];  // 8 shared_ld_requests, 8 shared_ld_with_copies, 1024 shared_ld_bytes_in_flight
    }
    __pipeline_wait_prior(0);
    x += tile[TILES % 2][LANE];  // 1 shared_ld_requests, 0 shared_ld_with_copies, 0 shared_ld_bytes_in_flight
    out[LANE] = x;
}

// Three tiles ahead; towards the end groups are empty. 5 passes with 3 tiles in flight, then 2, 1 and none.
__global__ void ring(const float *in, float *out)
{
    __shared__ float tile[STAGES][THREADS];
    float x = 0;
    for (int i = 0; i < STAGES - 1; i++)
        copy(&tile[i][LANE], &in[i * THREADS + LANE]);
    for (int i = 0; i < TILES; i++) {
        int next = i + STAGES - 1;
        if (next < TILES)
            __pipeline_memcpy_async(&tile[next % STAGES][LANE], &in[next * THREADS + LANE], 4);
        __pipeline_commit();
        __pipeline_wait_prior(STAGES - 1);
        x += tile[i % STAGES][LANE];  // 7 shared_ld_with_copies, 2304 shared_ld_bytes_in_flight
    }
    out[LANE] = x;
}

// A copy need not be committed to be in flight; wait_all waits for it, too.
__global__ void uncommitted(const float *in, float *out)
{
    __shared__ float tile[2][THREADS];
    tile[0][LANE] = in[LANE];
    __pipeline_memcpy_async(&tile[1][LANE], &in[LANE], 4);
    float x = tile[0][LANE];  // 1 shared_ld_with_copies, 128 shared_ld_bytes_in_flight
    asm volatile("cp.async.wait_all;" ::: "memory");
    x += tile[1][LANE];  // 0 shared_ld_with_copies, 0 shared_ld_bytes_in_flight
    out[LANE] = x;
}

// What is filled with zeros reads nothing, and of 16 bytes these copies read 8.
__global__ void filled(const float *in, float *out)
{
    __shared__ alignas(16) float tile[THREADS][4], other[THREADS];
    other[LANE] = 1;
    __pipeline_memcpy_async(tile[LANE], in, 16, 16);
    float x = other[LANE];  // 0 shared_ld_with_copies, 0 shared_ld_bytes_in_flight
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __pipeline_memcpy_async(tile[LANE], &in[4 * LANE], 16, 8);
    x += other[LANE];  // 1 shared_ld_with_copies, 256 shared_ld_bytes_in_flight
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[LANE] = x + tile[LANE][3];  // 0 shared_ld_with_copies, 0 shared_ld_bytes_in_flight
}

// Lanes begin different numbers of copies, and half of them have waited when all load together.
__global__ void lanes_apart(const float *in, float *out)
{
    __shared__ float tile[THREADS][2], other[THREADS];
    other[LANE] = 1;
    for (int i = 0; i < LANE % 3; i++)
        copy(&tile[LANE][i], &in[LANE]);
    if (LANE < 16)
        __pipeline_wait_prior(0);
    float x = other[LANE];  // 1 shared_ld_with_copies, 64 shared_ld_bytes_in_flight
    __pipeline_wait_prior(0);
    out[LANE] = x;
}

// A warp's own copies count, and not those of the block's other warp.
__global__ void other_warp(const float *in, float *out)
{
    __shared__ float tile[64], other[64];
    other[threadIdx.x] = 1;
    if (threadIdx.x < 32)
        copy(&tile[threadIdx.x], &in[threadIdx.x]);
    float x = other[threadIdx.x];  // 2 shared_ld_requests, 1 shared_ld_with_copies, 128 shared_ld_bytes_in_flight
    __pipeline_wait_prior(0);
    __syncthreads();
    out[threadIdx.x] = x + tile[threadIdx.x ^ 32 * (threadIdx.x > 31)];
}

// For which copies an mbarrier waits is not its thread's to say: from the arrival on they do not count.
__global__ void attached(const float *in, float *out)
{
    __shared__ float tile[2][THREADS], other[THREADS];
    __shared__ __mbarrier_t full;
    other[LANE] = 1;
    if (LANE == 0)
        __mbarrier_init(&full, THREADS);
    __syncthreads();
    __pipeline_memcpy_async(&tile[0][LANE], &in[LANE], 4);
    float x = other[LANE];  // 1 shared_ld_with_copies, 128 shared_ld_bytes_in_flight
    __pipeline_arrive_on(&full);
    x += other[LANE];  // 0 shared_ld_with_copies, 0 shared_ld_bytes_in_flight
    copy(&tile[1][LANE], &in[LANE]);
    x += other[LANE];  // 1 shared_ld_with_copies, 128 shared_ld_bytes_in_flight
    __mbarrier_token_t token = __mbarrier_arrive(&full);
    while (!__mbarrier_test_wait(&full, token))
        ;
    x += tile[0][LANE];  // 1 shared_ld_with_copies, 128 shared_ld_bytes_in_flight
    __pipeline_wait_prior(0);
    out[LANE] = x + tile[1][LANE];  // 0 shared_ld_with_copies, 0 shared_ld_bytes_in_flight
}

// Copies that their block has not waited for are none of the next one's. 4 blocks.
__global__ void never_waited(const float *in, float *out)
{
    __shared__ float tile[THREADS], other[THREADS];
    other[LANE] = 1;
    __syncwarp();
    float x = other[LANE];  // 4 shared_ld_requests, 0 shared_ld_with_copies, 0 shared_ld_bytes_in_flight
    copy(&tile[LANE], &in[LANE]);
    out[LANE + blockIdx.x * THREADS] = x;
}

// A product of WMMA is two instructions; the second line's is under way with the copies.
__global__ void products(const half *in, float *out)
{
    using namespace nvcuda;
    __shared__ alignas(32) half tile[2][16 * 16];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(a, __float2half(1));
    wmma::fill_fragment(b, __float2half(1));
    wmma::fill_fragment(c, 0.0f);
    wmma::mma_sync(c, a, b, c);  // 2 mma, 0 mma_with_copies, 0 mma_bytes_in_flight
    __pipeline_memcpy_async(&tile[0][LANE * 8], &in[LANE * 8], 16);
    __pipeline_commit();
    __pipeline_memcpy_async(&tile[1][LANE * 8], &in[LANE * 8], 16);
    __pipeline_commit();
    wmma::mma_sync(c, a, b, c);  // 2 mma, 2 mma_with_copies, 2048 mma_bytes_in_flight
    __pipeline_wait_prior(1);
    for (int i = 0; i < 3; i++)
        wmma::mma_sync(c, a, b, c);  // 6 mma, 6 mma_with_copies, 3072 mma_bytes_in_flight
    __pipeline_wait_prior(0);
    wmma::mma_sync(c, a, b, c);  // 2 mma, 0 mma_with_copies, 0 mma_bytes_in_flight
    wmma::store_matrix_sync(out, c, 16, wmma::mem_row_major);
}

// Lanes 8 to 31 give no address, and the whole warp's copies count; also those of lanes that begin none of their own.
__global__ void matrices(const half *in, float *out)
{
    __shared__ alignas(16) half tile[8][8], other[THREADS][8];
    unsigned x, row = __cvta_generic_to_shared(tile[LANE % 8]);
    for (int i = 0; i < 8; i++)
        tile[LANE % 8][i] = in[i];
    __syncwarp();
    if (LANE >= 4)
        __pipeline_memcpy_async(other[LANE], &in[LANE * 8], 16);
    asm volatile(LDMATRIX : "=r"(x) : "r"(row) : "memory");  // 1 ldmatrix_with_copies, 448 ldmatrix_bytes_in_flight
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[LANE] = x;
}

// While a copy is in flight, the lanes of the lower half exchange numbers; when it has landed, all do.
__global__ void shuffles(const float *in, float *out)
{
    __shared__ float tile[THREADS];
    copy(&tile[LANE], &in[LANE]);
    float x = 1;
    if (LANE < 16)
        x = __shfl_xor_sync(0xffff, x, 1);  // 1 shuffles, 1 shuffle_with_copies, 64 shuffle_bytes_in_flight
    __pipeline_wait_prior(0);
    x += __shfl_xor_sync(~0u, x, 1);  // 1 shuffles, 0 shuffle_with_copies, 0 shuffle_bytes_in_flight
    out[LANE] = x + tile[LANE];
}

int main(void)
{
    float *in, *out;
    if (cudaMalloc((void **)&in, 4096) || cudaMalloc((void **)&out, 4096) || cudaMemset(in, 0, 4096))
        return 1;
    cudaProfilerStart();
    synchronous<<<1, 32>>>(in, out);
    one_ahead<<<1, 32>>>(in, out);
    ring<<<1, 32>>>(in, out);
    uncommitted<<<1, 32>>>(in, out);
    filled<<<1, 32>>>(in, out);
    lanes_apart<<<1, 32>>>(in, out);
    other_warp<<<1, 64>>>(in, out);
    attached<<<1, 32>>>(in, out);
    never_waited<<<4, 32>>>(in, out);
    products<<<1, 32>>>((const half *)in, out);
    matrices<<<1, 32>>>((const half *)in, out);
    shuffles<<<1, 32>>>(in, out);
    const cudaError_t error = cudaDeviceSynchronize();
    cudaProfilerStop();
    return error != cudaSuccess;
}

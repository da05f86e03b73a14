// What threads write by the generic proxy, bulk copies read or overwrite by the async proxy, and a fence between the two is
// missing, in the wrong place, or of the wrong space. Everything else is in order. The first argument picks the kernel; a
// comment `expect NAME: KIND` marks a line that the report on it must name. tests/right/bulk_copies.cu has the right ways.

#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda_pipeline.h>
#include <string.h>
#include "../hopper.h"

#define TILE 256
#define BYTES (TILE * 4)

namespace ptx = cuda::ptx;
namespace cde = cuda::device::experimental;

__global__ void none(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i] = in[i];  // expect none: missing proxy fence
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);  // expect none: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void of_one_thread(float *in, float *out)
{
    __shared__ alignas(16) float tile[4];
    if (threadIdx.x == 0) {
        float4 x = *(float4 *)in;
        *(float4 *)tile = x;         // expect of_one_thread: missing proxy fence
        BULK_STORE(out, tile, 16u);  // expect of_one_thread: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void of_memory(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i] = 2 * in[i];  // expect of_memory: missing proxy fence
    __threadfence();
    __syncthreads();
    __threadfence_block();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);  // expect of_memory: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void before_the_write(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    FENCE_ASYNC();  // perhaps before_the_write: missing proxy fence
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i] = in[i];  // expect before_the_write: missing proxy fence
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);  // expect before_the_write: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void behind_the_copy(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i] = in[i];  // expect behind_the_copy: missing proxy fence
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);  // expect behind_the_copy: missing proxy fence
        FENCE_ASYNC_SHARED();          // perhaps behind_the_copy: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void by_a_bystander(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i] = in[i];  // expect by_a_bystander: missing proxy fence
    __syncthreads();
    if (threadIdx.x == 32)
        FENCE_ASYNC_SHARED();  // perhaps by_a_bystander: missing proxy fence
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);  // expect by_a_bystander: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void by_the_other_lanes(float *in, float *out)  // the barrier is behind the writes, the fence behind the barrier
{
    __shared__ alignas(16) float tile[TILE];
    int t = threadIdx.x;
    for (int i = t; i < TILE; i += blockDim.x)
        tile[i] = in[i];  // expect by_the_other_lanes: missing proxy fence
    __syncthreads();
    if (t != 0) {
        FENCE_ASYNC();  // perhaps by_the_other_lanes: missing proxy fence
    } else {
        BULK_STORE(out, tile, BYTES);  // expect by_the_other_lanes: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void by_one_of_the_writers(float *in, float *out)  // for itself, and nobody else
{
    __shared__ alignas(16) float tile[TILE];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i] = in[i];  // expect by_one_of_the_writers: missing proxy fence
    if (threadIdx.x == 0)
        FENCE_ASYNC_SHARED();  // perhaps by_one_of_the_writers: missing proxy fence
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);  // expect by_one_of_the_writers: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void by_one_of_two_warps(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    int t = threadIdx.x, warp = t / 32;
    for (int i = t; i < TILE; i += blockDim.x)
        tile[i] = in[i] + 1;  // expect by_one_of_two_warps: missing proxy fence
    if (warp == 0)
        FENCE_ASYNC_SHARED();  // perhaps by_one_of_two_warps: missing proxy fence
    __syncthreads();
    if (t == 0) {
        BULK_STORE(out, tile, BYTES);  // expect by_one_of_two_warps: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void of_global_memory(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i] = in[i];   // expect of_global_memory: missing proxy fence
    FENCE_ASYNC_GLOBAL();  // perhaps of_global_memory: missing proxy fence
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);  // expect of_global_memory: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void of_shared_memory(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        out[i] = i;        // expect of_shared_memory: missing proxy fence
    FENCE_ASYNC_SHARED();  // perhaps of_shared_memory: missing proxy fence
    __syncthreads();
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, out, BYTES, &bar);  // expect of_shared_memory: missing proxy fence
    }
    MBARRIER_WAIT(&bar, 0);
    in[threadIdx.x] = tile[threadIdx.x];
}

__global__ void written_in_two_halves(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    int t = threadIdx.x;
    for (int i = t; i < TILE / 2; i += blockDim.x)
        tile[i] = in[i];
    FENCE_ASYNC_SHARED();  // perhaps written_in_two_halves: missing proxy fence
    for (int i = t + TILE / 2; i < TILE; i += blockDim.x)
        tile[i] = 0;  // expect written_in_two_halves: missing proxy fence
    __syncthreads();
    if (t == 0) {
        BULK_STORE(out, tile, BYTES);  // expect written_in_two_halves: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void cleared_and_loaded(float *in, float *out)  // the copy writes over what threads wrote
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i] = 0;  // expect cleared_and_loaded: missing proxy fence
    __syncthreads();
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES / 2);
        BULK_LOAD(tile, in, BYTES / 2, &bar);  // expect cleared_and_loaded: missing proxy fence
    }
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[2 * threadIdx.x];
}

__global__ void scaled_in_place(float *in, float *out)  // a ring of two stages, whose readers write
{
    __shared__ alignas(16) float tile[2][TILE];
    __shared__ uint64_t full[2], empty[2];
    int t = threadIdx.x;
    SET_UP(full, 1);
    SET_UP(empty, 32);
    if (t == 32)
        for (int i = 0; i < 6; i++) {
            MBARRIER_WAIT(&empty[i % 2], (i / 2 + 1) % 2);
            MBARRIER_ARRIVE_EXPECT(&full[i % 2], BYTES);
            BULK_LOAD(tile[i % 2], in + i * TILE, BYTES, &full[i % 2]);  // expect scaled_in_place: missing proxy fence
        }
    if (t < 32)
        for (int i = 0; i < 6; i++) {
            MBARRIER_WAIT(&full[i % 2], i / 2 % 2);
            float sum = 0;
            for (int k = t; k < TILE; k += 32)
                sum += tile[i % 2][k] *= 2;  // expect scaled_in_place: missing proxy fence
            out[i * 32 + t] = sum;
            MBARRIER_ARRIVE(&empty[i % 2]);
        }
}

template <int STAGES, bool FENCE> __device__ __forceinline__ void write_out(float *out, float (*stage)[TILE], int tiles)
{
    for (int i = 0; i < tiles; i++) {
        if (threadIdx.x == 0 && i >= STAGES)
            BULK_WAIT_READ(STAGES - 1);
        __syncthreads();
        for (int k = threadIdx.x; k < TILE; k += blockDim.x)
            stage[i % STAGES][k] = i + k;  // expect in_a_template: missing proxy fence
        if (FENCE)
            FENCE_ASYNC_SHARED();
        __syncthreads();
        if (threadIdx.x == 0) {
            BULK_STORE(out + i * TILE, stage[i % STAGES], BYTES);  // expect in_a_template: missing proxy fence
            BULK_COMMIT();
        }
    }
    if (threadIdx.x == 0)
        BULK_WAIT(0);
}

__global__ void in_a_template(float *in, float *out)
{
    __shared__ alignas(16) float stage[3][TILE];
    write_out<3, false>(out, stage, 5);
}

__global__ void added(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i] = 1;  // expect added: missing proxy fence
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_ADD("f32", out, tile, BYTES);  // expect added: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void counted_by_atomics(float *in, float *out)
{
    __shared__ alignas(16) unsigned bins[TILE];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        bins[i] = 0;  // perhaps counted_by_atomics: missing proxy fence
    __syncthreads();
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        atomicAdd(&bins[i / 2], 1u);  // expect counted_by_atomics: missing proxy fence
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_ADD("u32", (unsigned *)out, bins, 512u);  // expect counted_by_atomics: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void by_stmatrix(float *in, float *out)
{
    __shared__ alignas(16) float tile[32];
    if (threadIdx.x < 32) {
        unsigned x = threadIdx.x, row = in_shared(tile) + threadIdx.x % 8 * 16;
        asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(row), "r"(x) : "memory");  // expect by_stmatrix: missing proxy fence
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, 128u);  // expect by_stmatrix: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void by_inline_ptx(float *in, float *out)
{
    __shared__ alignas(16) float tile[64];
    float x = in[threadIdx.x];
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(in_shared(&tile[threadIdx.x])), "f"(x) : "memory");  // expect by_inline_ptx: missing proxy fence
    asm volatile("bar.sync 1, 64;" ::: "memory");
    if (threadIdx.x == 63) {
        BULK_STORE(out, tile, 256u);  // expect by_inline_ptx: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void by_small_copies(float *in, float *out)  // cp.async writes by the generic proxy
{
    __shared__ alignas(16) float tile[TILE];
    __pipeline_memcpy_async(&tile[4 * threadIdx.x], &in[4 * threadIdx.x], 16);  // expect by_small_copies: missing proxy fence
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, tile, BYTES);  // expect by_small_copies: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void __cluster_dims__(1) within_shared_memory(float *in, float *out)
{
    __shared__ alignas(16) float from[TILE], to[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        from[i] = in[i];  // expect within_shared_memory: missing proxy fence
    __syncthreads();
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_MOVE(to, from, BYTES, &bar);  // expect within_shared_memory: missing proxy fence
    }
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = to[255 - threadIdx.x];
}

__global__ void behind_a_flag(float *in, float *out)  // one block writes, another loads what it wrote
{
    __shared__ alignas(16) float tile[64];
    __shared__ uint64_t bar;
    int *flag = (int *)(out + 1024);
    if (blockIdx.x == 0) {
        out[threadIdx.x] = in[threadIdx.x];  // expect behind_a_flag: missing proxy fence
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicExch(flag, 1);
        }
        return;
    }
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        while (atomicAdd(flag, 0) == 0)
            ;
        __threadfence();
        MBARRIER_ARRIVE_EXPECT(&bar, 256u);
        BULK_LOAD(tile, out, 256u, &bar);  // expect behind_a_flag: missing proxy fence
    }
    MBARRIER_WAIT(&bar, 0);
    in[threadIdx.x] = tile[threadIdx.x];
}

__global__ void over_a_result(float *in, float *out)  // a bulk store over what a thread wrote to global memory
{
    __shared__ alignas(16) float tile[64];
    int t = threadIdx.x;
    out[t] = 0;  // expect over_a_result: missing proxy fence
    tile[t] = in[t];
    FENCE_ASYNC_SHARED();  // perhaps over_a_result: missing proxy fence
    __syncthreads();
    if (t == 0) {
        BULK_STORE(out, tile, 256u);  // expect over_a_result: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void by_cuda_ptx(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i] = in[i];  // expect by_cuda_ptx: missing proxy fence
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, tile, BYTES);  // expect by_cuda_ptx: missing proxy fence
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

__global__ void of_cde(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    if (threadIdx.x == 0)
        cde::fence_proxy_async_shared_cta();  // perhaps of_cde: missing proxy fence
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i] = in[i] * in[i];  // expect of_cde: missing proxy fence
    __syncthreads();
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_shared_to_global(out, tile, BYTES);  // expect of_cde: missing proxy fence
        cde::cp_async_bulk_commit_group();
        cde::cp_async_bulk_wait_group_read<0>();
    }
}

struct accumulator {
    float *tile;

    __device__ void add(int i, float x) const
    {
        tile[i] += x;  // expect in_a_method: missing proxy fence
    }
    __device__ void flush(float *out) const
    {
        BULK_ADD("f32", out, tile, BYTES);  // expect in_a_method: missing proxy fence
        BULK_COMMIT();
        BULK_WAIT(0);
    }
};

__global__ void in_a_method(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    accumulator sums = {tile};
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        tile[i] = 0;
    FENCE_ASYNC_SHARED();  // perhaps in_a_method: missing proxy fence
    __syncthreads();
    for (int i = threadIdx.x; i < TILE; i += blockDim.x)
        sums.add(i, in[i]);
    __syncthreads();
    if (threadIdx.x == 0)
        sums.flush(out);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    static float numbers[2048];
    for (int i = 0; i < 2048; i++)
        numbers[i] = i;
    float *in, *out;
    cudaMalloc(&in, sizeof numbers);
    cudaMalloc(&out, sizeof numbers);
    cudaMemcpy(in, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    cudaMemset(out, 0, sizeof numbers);
    struct {
        const char *name;
        void (*kernel)(float *, float *);
    } kernels[] = {
#define KERNEL(NAME) {#NAME, NAME}
        KERNEL(none),
        KERNEL(of_one_thread),
        KERNEL(of_memory),
        KERNEL(before_the_write),
        KERNEL(behind_the_copy),
        KERNEL(by_a_bystander),
        KERNEL(by_the_other_lanes),
        KERNEL(by_one_of_the_writers),
        KERNEL(by_one_of_two_warps),
        KERNEL(of_global_memory),
        KERNEL(of_shared_memory),
        KERNEL(written_in_two_halves),
        KERNEL(cleared_and_loaded),
        KERNEL(scaled_in_place),
        KERNEL(in_a_template),
        KERNEL(added),
        KERNEL(counted_by_atomics),
        KERNEL(by_stmatrix),
        KERNEL(by_inline_ptx),
        KERNEL(by_small_copies),
        KERNEL(within_shared_memory),
        KERNEL(behind_a_flag),
        KERNEL(over_a_result),
        KERNEL(by_cuda_ptx),
        KERNEL(of_cde),
        KERNEL(in_a_method),
    };
    for (auto k : kernels)
        if (strcmp(name, k.name) == 0)
            k.kernel<<<strcmp(name, "behind_a_flag") == 0 ? 2 : 1, 64>>>(in, out);
    return cudaDeviceSynchronize();
}

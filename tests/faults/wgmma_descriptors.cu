// Descriptors that lead outside of their array. The first argument picks the kernel; a comment `expect NAME: KIND` marks a line that
// the report on it must name. tests/right/wgmma_layouts.cu has the right ways.

#include "wgmma_operands.h"

#define PRODUCT(D, A, B) WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 0, 0", D, A, B, 1)
#define PRODUCT_OF_ROWS(D, A, B) WGMMA_SS("m64n64k16.f32.f16.f16", 32, "+f", ", 1, 1, 0, 1", D, A, B, 1)  // of B

#define BEGIN() \
    float d[32] = {}; \
    WGMMA_FENCE()
#define END() \
    WGMMA_COMMIT(); \
    WGMMA_WAIT(0); \
    write_sums(out, d)

__global__ void one_step_too_many(const half *in, float *out)  // the last rows' fifth 32 bytes belong to nobody
{
    OPERANDS(A, B);
    BEGIN();
    for (int k = 0; k < 80; k += 16)
        PRODUCT(d, descriptor_128(A + k), descriptor_128(B));  // expect one_step_too_many: out of bounds
    END();
}

__global__ void stride_of_two_groups(const half *in, float *out)
{
    OPERANDS(A, B);
    BEGIN();
    PRODUCT(d, descriptor(A, 16, 2048, SWIZZLE_128), descriptor_128(B));  // expect stride_of_two_groups: out of bounds, in stride
    END();
}

__global__ void stride_in_units_of_16(const half *in, float *out)  // of bytes, which the function divides by 16 again
{
    OPERANDS(A, B);
    BEGIN();
    uint64_t wrong = descriptor_128(B) & ~(0x3fffull << 32) | 1024ull << 32;
    PRODUCT(d, descriptor_128(A), wrong);  // expect stride_in_units_of_16: out of bounds, in stride
    END();
}

__global__ void address_not_divided(const half *in, float *out)
{
    OPERANDS(A, B);
    BEGIN();
    uint64_t wrong = (descriptor_128(B) & ~0x3fffull) | ((in_shared(B) + 1024) & 0x3fff);
    PRODUCT(d, descriptor_128(A), wrong);  // expect address_not_divided: out of bounds
    END();
}

__global__ void a_of_48_rows(const half *in, float *out)
{
    __shared__ alignas(1024) half A[48 * 64];
    __shared__ alignas(1024) half B[TILE];
    for (int i = threadIdx.x; i < TILE; i += blockDim.x) {
        if (i < 48 * 64)
            A[i] = in[i];
        B[i] = in[i];
    }
    FENCE_ASYNC_SHARED();
    __syncthreads();
    BEGIN();
    PRODUCT(d, descriptor_128(A), descriptor_128(B));  // expect a_of_48_rows: out of bounds
    END();
}

__global__ void wider_than_b(const half *in, float *out)  // 128 columns of an array that has 64
{
    OPERANDS(A, B);
    float d[64] = {};
    WGMMA_FENCE();
    WGMMA_SS("m64n128k16.f32.f16.f16", 64, "+f", ", 1, 1, 0, 0", d, descriptor_128(A), descriptor_128(B), 1);  // expect wider_than_b: out of bounds
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    out[threadIdx.x] = d[0];
}

__global__ void stage_behind_the_last(const half *in, float *out)  // the ring has three, and the fourth pass has no turn back
{
    OPERANDS(A, B);
    extern __shared__ __align__(1024) half stages[];
    for (int i = 0; i < 3; i++)
        fill(stages + i * TILE, in);
    FENCE_ASYNC_SHARED();
    __syncthreads();
    BEGIN();
    for (int i = 0; i < 4; i++) {
        int stage = i > 3 ? i - 3 : i;
        PRODUCT(d, descriptor_128(A), descriptor_128(stages + stage * TILE));  // expect stage_behind_the_last: out of bounds
    }
    END();
}

__global__ void steps_in_bytes(const half *in, float *out)  // where elements are meant: twice as far
{
    OPERANDS(A, B);
    BEGIN();
    for (int k = 0; k < 64; k += 16)
        PRODUCT(d, descriptor_128(A + k), descriptor_128(B + k * 2));  // expect steps_in_bytes: out of bounds
    END();
}

__global__ void leading_of_the_other_operand(const half *in, float *out)  // B is in rows, its slabs of 64 columns one behind the other
{
    __shared__ alignas(1024) half A[TILE], B[TILE];
    fill(A, in);
    fill(B, in);
    FENCE_ASYNC_SHARED();
    __syncthreads();
    float d[64] = {};
    WGMMA_FENCE();
    WGMMA_SS("m64n128k16.f32.f16.f16", 64, "+f", ", 1, 1, 0, 1", d, descriptor_128(A), descriptor(B, BYTES, 1024, SWIZZLE_128), 1);  // expect leading_of_the_other_operand: out of bounds, in leading
    WGMMA_COMMIT();
    WGMMA_WAIT(0);
    out[threadIdx.x] = d[0];
}

__global__ void step_of_k_along_columns(const half *in, float *out)  // in rows of B k is 2048 bytes further on, not 32, and not 4096
{
    OPERANDS(A, B);
    BEGIN();
    for (int k = 0; k < 64; k += 16)
        PRODUCT_OF_ROWS(d, descriptor_128(A + k), descriptor(B + k * 128, BYTES, 1024, SWIZZLE_128));  // expect step_of_k_along_columns: out of bounds
    END();
}

__global__ void core_matrices_too_far_apart(const half *in, float *out)  // not swizzled: 16 of k are two, and their offset is 8192 bytes
{
    OPERANDS(A, B);
    BEGIN();
    PRODUCT(d, descriptor(A, 8192, 128, PLAIN), descriptor(B, 128, 256, PLAIN));  // expect core_matrices_too_far_apart: out of bounds, in leading
    END();
}

__global__ void dynamic_memory_is_short(const half *in, float *out)  // half of B lies behind the block's last byte
{
    extern __shared__ __align__(1024) half memory[];
    for (int i = threadIdx.x; i < TILE + TILE / 2; i += blockDim.x)
        memory[i] = in[i];
    FENCE_ASYNC_SHARED();
    __syncthreads();
    BEGIN();
    PRODUCT(d, descriptor_128(memory), descriptor_128(memory + TILE));  // expect dynamic_memory_is_short: out of bounds
    END();
}

__global__ void second_warpgroup_has_no_tile(const half *in, float *out)
{
    OPERANDS(A, B);
    BEGIN();
    int group = threadIdx.x / 128;
    PRODUCT(d, descriptor_128(A + group * TILE), descriptor_128(B + group * TILE));  // expect second_warpgroup_has_no_tile: out of bounds
    END();
}

int main(int argc, char **argv)
{
#define WITH_BYTES(NAME, THREADS, BYTES_) {#NAME, NAME, THREADS, BYTES_}
    const struct faulty kernels[] = {
        WITH_BYTES(one_step_too_many, 128, 0),
        WITH_BYTES(stride_of_two_groups, 128, 0),
        WITH_BYTES(stride_in_units_of_16, 128, 0),
        WITH_BYTES(address_not_divided, 128, 0),
        WITH_BYTES(a_of_48_rows, 128, 0),
        WITH_BYTES(wider_than_b, 128, 0),
        WITH_BYTES(stage_behind_the_last, 128, 3 * BYTES),
        WITH_BYTES(steps_in_bytes, 128, 0),
        WITH_BYTES(leading_of_the_other_operand, 128, 0),
        WITH_BYTES(step_of_k_along_columns, 128, 0),
        WITH_BYTES(core_matrices_too_far_apart, 128, 0),
        WITH_BYTES(dynamic_memory_is_short, 128, BYTES + BYTES / 2),
        WITH_BYTES(second_warpgroup_has_no_tile, 256, 0),
    };
    return run_named(argc, argv, kernels, sizeof kernels / sizeof *kernels);
}

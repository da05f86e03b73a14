// Flags, hand-overs and barriers of the grid with a fence, a scope or an atomic left out; tests/right/flags.cu has them
// whole. The first argument picks the kernel. `expect NAME: KIND` marks lines that the report must name.
#include <stdio.h>
#include <string.h>

__device__ int box[64], flag, far_flag, count, part[64], ready[8];

// ---- one hop ----

__global__ void no_fences(int *out)
{
    if (blockIdx.x == 0) {
        box[0] = 42;  // expect no_fences: race in global memory, in box
        atomicExch(&flag, 1);
    } else {
        while (atomicAdd(&flag, 0) == 0)
            ;
        *out = box[0];  // expect no_fences: race in global memory, in box
    }
}

__global__ void no_release(int *out)
{
    if (blockIdx.x == 0) {
        box[0] = 42;  // expect no_release: race in global memory, in box
        atomicExch(&flag, 1);
    } else {
        while (atomicAdd(&flag, 0) == 0)
            ;
        __threadfence();
        *out = box[0];  // expect no_release: race in global memory, in box
    }
}

__global__ void no_acquire(int *out)
{
    if (blockIdx.x == 0) {
        box[0] = 42;  // expect no_acquire: race in global memory, in box
        __threadfence();
        atomicExch(&flag, 1);
    } else {
        while (atomicAdd(&flag, 0) == 0)
            ;
        *out = box[0];  // expect no_acquire: race in global memory, in box
    }
}

__global__ void release_of_the_block(int *out)
{
    if (blockIdx.x == 0) {
        box[0] = 42;  // expect release_of_the_block: race in global memory, in box
        __threadfence_block();
        atomicExch(&flag, 1);
    } else {
        while (atomicAdd(&flag, 0) == 0)
            ;
        __threadfence();
        *out = box[0];  // expect release_of_the_block: race in global memory, in box
    }
}

__global__ void acquire_of_the_block(int *out)
{
    if (blockIdx.x == 0) {
        box[0] = 42;  // expect acquire_of_the_block: race in global memory, in box
        __threadfence();
        atomicExch(&flag, 1);
    } else {
        while (atomicAdd(&flag, 0) == 0)
            ;
        __threadfence_block();
        *out = box[0];  // expect acquire_of_the_block: race in global memory, in box
    }
}

__global__ void flag_of_the_block(int *out)
{
    if (blockIdx.x == 0) {
        box[0] = 42;  // perhaps flag_of_the_block: race in global memory
        __threadfence();
        atomicExch_block(&flag, 1);  // perhaps flag_of_the_block: race in global memory
    } else {
        while (atomicAdd(&flag, 0) == 0)  // perhaps flag_of_the_block: race in global memory
            ;
        __threadfence();
        *out = box[0];  // perhaps flag_of_the_block: race in global memory
    }
}

__global__ void poll_of_the_block(int *out)
{
    if (blockIdx.x == 0) {
        box[0] = 42;  // perhaps poll_of_the_block: race in global memory
        __threadfence();
        atomicExch(&flag, 1);  // perhaps poll_of_the_block: race in global memory
    } else {
        while (atomicAdd_block(&flag, 0) == 0)  // perhaps poll_of_the_block: race in global memory
            ;
        __threadfence();
        *out = box[0];  // perhaps poll_of_the_block: race in global memory
    }
}

__global__ void fence_too_early(int *out)  // it orders nothing that comes after it
{
    if (blockIdx.x == 0) {
        __threadfence();
        box[0] = 42;  // expect fence_too_early: race in global memory, in box
        atomicExch(&flag, 1);
    } else {
        while (atomicAdd(&flag, 0) == 0)
            ;
        __threadfence();
        *out = box[0];  // expect fence_too_early: race in global memory, in box
    }
}

__global__ void fence_too_late(int *out)
{
    if (blockIdx.x == 0) {
        box[0] = 42;  // expect fence_too_late: race in global memory, in box
        atomicExch(&flag, 1);
        __threadfence();
    } else {
        while (atomicAdd(&flag, 0) == 0)
            ;
        __threadfence();
        *out = box[0];  // expect fence_too_late: race in global memory, in box
    }
}

__global__ void acquire_too_late(int *out)
{
    if (blockIdx.x == 0) {
        box[0] = 42;  // expect acquire_too_late: race in global memory, in box
        __threadfence();
        atomicExch(&flag, 1);
    } else {
        while (atomicAdd(&flag, 0) == 0)
            ;
        int seen = box[0];  // expect acquire_too_late: race in global memory, in box
        __threadfence();
        *out = seen;
    }
}

__global__ void volatile_flag_no_fences(int *out)
{
    volatile int *up = &flag;
    if (blockIdx.x == 0) {
        box[0] = 42;  // expect volatile_flag_no_fences: race in global memory, in box
        *up = 1;
    } else {
        while (*up == 0)
            ;
        *out = box[0];  // expect volatile_flag_no_fences: race in global memory, in box
    }
}

__global__ void volatile_flag_no_acquire(int *out)
{
    volatile int *up = &flag;
    if (blockIdx.x == 0) {
        box[0] = 42;  // expect volatile_flag_no_acquire: race in global memory, in box
        __threadfence();
        *up = 1;
    } else {
        while (*up == 0)
            ;
        *out = box[0];  // expect volatile_flag_no_acquire: race in global memory, in box
    }
}

__global__ void volatile_flag_fences_of_the_block(int *out)
{
    volatile int *up = &flag;
    if (blockIdx.x == 0) {
        box[0] = 42;  // expect volatile_flag_fences_of_the_block: race in global memory, in box
        __threadfence_block();
        *up = 1;
    } else {
        while (*up == 0)
            ;
        __threadfence_block();
        *out = box[0];  // expect volatile_flag_fences_of_the_block: race in global memory, in box
    }
}

__global__ void volatile_data_fence_of_the_block(int *out)
{
    volatile int *data = box;
    if (blockIdx.x == 0) {
        data[0] = 42;  // expect volatile_data_fence_of_the_block: race in global memory, in box
        __threadfence_block();
        atomicExch(&flag, 1);
    } else {
        while (atomicAdd(&flag, 0) == 0)
            ;
        *out = data[0];  // expect volatile_data_fence_of_the_block: race in global memory, in box
    }
}

__global__ void plain_flag(int *out)  // polled a thousand times at most: a compiler may read it once
{
    if (blockIdx.x == 0) {
        box[0] = 42;  // perhaps plain_flag: race in global memory
        __threadfence();
        flag = 1;  // perhaps plain_flag: race in global memory
    } else {
        int seen = 0;
        for (int i = 0; i < 1000 && !seen; i++) {
            seen = flag;  // perhaps plain_flag: race in global memory
            __threadfence();
        }
        if (seen)
            *out = box[0];  // perhaps plain_flag: race in global memory
    }
}

__global__ void not_all_is_written_before(int *out)
{
    if (blockIdx.x == 0) {
        box[0] = 42;
        __threadfence();
        atomicExch(&flag, 1);
        box[1] = 43;  // expect not_all_is_written_before: race in global memory, in box
    } else {
        while (atomicAdd(&flag, 0) == 0)
            ;
        __threadfence();
        *out = box[0] + box[1];  // expect not_all_is_written_before: race in global memory, in box
    }
}

__global__ void read_before_the_flag(int *out)
{
    if (blockIdx.x == 0) {
        box[0] = 42;  // expect read_before_the_flag: race in global memory, in box
        __threadfence();
        atomicExch(&flag, 1);
    } else {
        int early = box[0];  // expect read_before_the_flag: race in global memory, in box
        while (atomicAdd(&flag, 0) == 0)
            ;
        __threadfence();
        *out = early;
    }
}

// ---- several hops, whole blocks ----

__global__ void second_hop_no_fence(int *out)  // block 1 hears of it and passes it on, but fences nothing
{
    if (blockIdx.x == 0) {
        box[0] = 42;  // expect second_hop_no_fence: race in global memory, in box
        __threadfence();
        atomicExch(&flag, 1);
    } else if (blockIdx.x == 1) {
        while (atomicAdd(&flag, 0) == 0)
            ;
        atomicExch(&far_flag, 1);
    } else {
        while (atomicAdd(&far_flag, 0) == 0)
            ;
        __threadfence();
        *out = box[0];  // expect second_hop_no_fence: race in global memory, in box
    }
}

__global__ void second_hop_for_the_block(int *out)
{
    if (blockIdx.x == 0) {
        box[0] = 42;  // expect second_hop_for_the_block: race in global memory, in box
        __threadfence();
        atomicExch(&flag, 1);
    } else if (blockIdx.x == 1) {
        while (atomicAdd(&flag, 0) == 0)
            ;
        __threadfence_block();
        atomicExch(&far_flag, 1);
    } else {
        while (atomicAdd(&far_flag, 0) == 0)
            ;
        __threadfence();
        *out = box[0];  // expect second_hop_for_the_block: race in global memory, in box
    }
}

__global__ void wrong_flag(int *out)  // waits for block 1, reads what block 0 wrote
{
    if (blockIdx.x == 0) {
        box[0] = 42;  // expect wrong_flag: race in global memory, in box
        __threadfence();
        atomicExch(&flag, 1);
    } else if (blockIdx.x == 1) {
        __threadfence();
        atomicExch(&far_flag, 1);
    } else {
        while (atomicAdd(&far_flag, 0) == 0)
            ;
        __threadfence();
        *out = box[0];  // expect wrong_flag: race in global memory, in box
    }
}

__global__ void block_writes_without_barrier(int *out)
{
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        box[t] = t + 1;  // expect block_writes_without_barrier: race in global memory, in box
        if (t == 0) {
            __threadfence();
            atomicExch(&flag, 1);
        }
    } else {
        if (t == 0) {
            while (atomicAdd(&flag, 0) == 0)
                ;
            __threadfence();
        }
        __syncthreads();
        out[t] = box[t];  // expect block_writes_without_barrier: race in global memory, in box
    }
}

__global__ void block_reads_without_barrier(int *out)
{
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        box[t] = t + 1;  // expect block_reads_without_barrier: race in global memory, in box
        __syncthreads();
        if (t == 0) {
            __threadfence();
            atomicExch(&flag, 1);
        }
    } else {
        if (t == 0) {
            while (atomicAdd(&flag, 0) == 0)
                ;
            __threadfence();
        }
        out[t] = box[t];  // expect block_reads_without_barrier: race in global memory, in box
    }
}

__global__ void barrier_of_the_wrong_warp(int *out)
{
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        box[t] = t + 1;  // expect barrier_of_the_wrong_warp: race in global memory, in box
        __syncwarp();
        if (t == 0) {
            __threadfence();
            atomicExch(&flag, 1);
        }
    } else {
        if (t == 0) {
            while (atomicAdd(&flag, 0) == 0)
                ;
            __threadfence();
        }
        __syncthreads();
        out[t] = box[t];  // expect barrier_of_the_wrong_warp: race in global memory, in box
    }
}

__global__ void slot_used_again_too_early(int *out)  // the producer does not wait until the slot was read
{
    if (blockIdx.x == 0) {
        box[0] = 1;
        __threadfence();
        atomicExch(&flag, 1);
        box[0] = 2;  // expect slot_used_again_too_early: race in global memory, in box
    } else {
        while (atomicAdd(&flag, 0) == 0)
            ;
        __threadfence();
        *out = box[0];  // expect slot_used_again_too_early: race in global memory, in box
    }
}

__global__ void taken_without_a_fence(int *out)  // the consumer says "taken" with nothing behind its read
{
    if (blockIdx.x == 0) {
        box[0] = 1;
        __threadfence();
        atomicExch(&flag, 1);
        while (atomicAdd(&far_flag, 0) == 0)
            ;
        __threadfence();
        box[0] = 2;  // expect taken_without_a_fence: race in global memory, in box
    } else {
        while (atomicAdd(&flag, 0) == 0)
            ;
        __threadfence();
        *out = box[0];  // expect taken_without_a_fence: race in global memory, in box
        atomicExch(&far_flag, 1);
    }
}

__global__ void ball_without_fences(int *)
{
    volatile int *turn = &flag;
    int me = blockIdx.x;
    for (int round = 0; round < 3; round++) {  // perhaps ball_without_fences: race in global memory
        while (*turn != me)
            ;
        box[0] = box[0] * 2 + me + 1;  // perhaps ball_without_fences: race in global memory, in box
        *turn = 1 - me;
    }
}

// ---- the last block; barriers of the grid; scans ----

__global__ void last_block_no_fence(int *out)
{
    part[blockIdx.x] = blockIdx.x + 1;  // expect last_block_no_fence: race in global memory, in part
    if (atomicAdd(&count, 1) == (int)gridDim.x - 1) {
        __threadfence();
        for (unsigned b = 0; b < gridDim.x; b++)
            *out += part[b];  // expect last_block_no_fence: race in global memory, in part
    }
}

__global__ void last_block_fence_of_the_block(int *out)
{
    part[blockIdx.x] = blockIdx.x + 1;  // expect last_block_fence_of_the_block: race in global memory, in part
    __threadfence_block();
    if (atomicAdd(&count, 1) == (int)gridDim.x - 1) {
        __threadfence();
        for (unsigned b = 0; b < gridDim.x; b++)
            *out += part[b];  // expect last_block_fence_of_the_block: race in global memory, in part
    }
}

__global__ void last_block_count_of_the_block(int *out)
{
    part[blockIdx.x] = blockIdx.x + 1;  // perhaps last_block_count_of_the_block: race in global memory
    __threadfence();
    if (atomicAdd_block(&count, 1) == (int)gridDim.x - 1) {  // perhaps last_block_count_of_the_block: race in global memory
        __threadfence();
        for (unsigned b = 0; b < gridDim.x; b++)
            *out += part[b];  // perhaps last_block_count_of_the_block: race in global memory
    }
}

__global__ void last_block_counts_before_the_barrier(int *out)
{
    __shared__ bool last;
    if (threadIdx.x == 32) {
        __threadfence();
        last = atomicAdd(&count, 1) == (int)gridDim.x - 1;
        __threadfence();
    } else if (threadIdx.x < 32)
        part[blockIdx.x * 32 + threadIdx.x] = threadIdx.x + 1;  // expect last_block_counts_before_the_barrier: race in global memory, in part
    __syncthreads();
    if (last && threadIdx.x < 32)
        atomicAdd(out, part[threadIdx.x] + part[32 + threadIdx.x]);  // expect last_block_counts_before_the_barrier: race in global memory, in part
}

__global__ void last_block_decided_by_one_read_by_all(int *out)  // no barrier behind the shared flag
{
    __shared__ bool last;
    if (threadIdx.x == 0)
        last = false;
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(&count, 1) == (int)gridDim.x - 1;  // expect last_block_decided_by_one_read_by_all: race in shared memory
    if (threadIdx.x >= 32 && last)                          // expect last_block_decided_by_one_read_by_all: race in shared memory
        out[threadIdx.x] = 1;
}

__global__ void grid_barrier_no_release(int *out)
{
    part[blockIdx.x] = blockIdx.x + 1;  // expect grid_barrier_no_release: race in global memory, in part
    atomicAdd(&count, 1);
    while (atomicAdd(&count, 0) < (int)gridDim.x)
        ;
    __threadfence();
    out[blockIdx.x] = part[(blockIdx.x + 1) % gridDim.x];  // expect grid_barrier_no_release: race in global memory, in part
}

__global__ void grid_barrier_no_acquire(int *out)
{
    part[blockIdx.x] = blockIdx.x + 1;  // expect grid_barrier_no_acquire: race in global memory, in part
    __threadfence();
    atomicAdd(&count, 1);
    while (atomicAdd(&count, 0) < (int)gridDim.x)
        ;
    out[blockIdx.x] = part[(blockIdx.x + 1) % gridDim.x];  // expect grid_barrier_no_acquire: race in global memory, in part
}

__global__ void grid_barrier_of_leaders_only(int *out)  // the other threads of a block do not wait for theirs
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    part[i] = i + 1;  // expect grid_barrier_of_leaders_only: race in global memory, in part
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(&count, 1);
        while (atomicAdd(&count, 0) < (int)gridDim.x)
            ;
        __threadfence();
    }
    out[i] = part[(i + blockDim.x) % n];  // expect grid_barrier_of_leaders_only: race in global memory, in part
}

__global__ void grid_barrier_too_few(int *out)  // waits for all but one
{
    part[blockIdx.x] = blockIdx.x + 1;  // expect grid_barrier_too_few: race in global memory, in part
    if (blockIdx.x > 0) {
        __threadfence();
        atomicAdd(&count, 1);
    }
    while (atomicAdd(&count, 0) < (int)gridDim.x - 1)
        ;
    __threadfence();
    out[blockIdx.x] = part[(blockIdx.x + 1) % gridDim.x];  // expect grid_barrier_too_few: race in global memory, in part
}

__global__ void no_barrier_of_the_grid(int *out)  // __syncthreads() ends at the block
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    part[i] = i + 1;  // expect no_barrier_of_the_grid: race in global memory, in part
    __threadfence();
    __syncthreads();
    out[i] = part[(i + blockDim.x) % n];  // expect no_barrier_of_the_grid: race in global memory, in part
}

__global__ void look_back_without_fences(int *out)
{
    int b = blockIdx.x;
    part[b] = b + 1;  // expect look_back_without_fences: race in global memory, in part
    atomicExch(&ready[b], 1);
    if (b > 0) {
        while (atomicAdd(&ready[b - 1], 0) == 0)
            ;
        out[b] = part[b - 1];  // expect look_back_without_fences: race in global memory, in part
    }
}

__global__ void look_back_state_first(int *out)
{
    int b = blockIdx.x;
    atomicExch(&ready[b], 1);
    __threadfence();
    part[b] = b + 1;  // expect look_back_state_first: race in global memory, in part
    if (b > 0) {
        while (atomicAdd(&ready[b - 1], 0) == 0)
            ;
        __threadfence();
        out[b] = part[b - 1];  // expect look_back_state_first: race in global memory, in part
    }
}

// ---- warps of one block, shared memory ----

__global__ void warps_no_release(int *out)
{
    __shared__ int word;
    __shared__ volatile int up;
    if (threadIdx.x == 0)
        word = up = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        word = 5;  // expect warps_no_release: race in shared memory
        up = 1;
    } else if (threadIdx.x == 32) {
        while (!up)
            ;
        __threadfence_block();
        *out = word;  // expect warps_no_release: race in shared memory
    }
}

__global__ void warps_no_acquire(int *out)
{
    __shared__ int word, up;
    if (threadIdx.x == 0)
        word = up = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        word = 5;  // expect warps_no_acquire: race in shared memory
        __threadfence_block();
        atomicExch(&up, 1);
    } else if (threadIdx.x == 32) {
        while (atomicAdd(&up, 0) == 0)
            ;
        *out = word;  // expect warps_no_acquire: race in shared memory
    }
}

__global__ void warps_leader_waits_alone(int *out)
{
    __shared__ int words[32], up;
    if (threadIdx.x < 32)
        words[threadIdx.x] = up = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        words[threadIdx.x] = threadIdx.x + 1;  // expect warps_leader_waits_alone: race in shared memory
        __syncwarp();
        if (threadIdx.x == 0) {
            __threadfence_block();
            atomicExch(&up, 1);
        }
        return;
    }
    if (threadIdx.x == 32) {
        while (atomicAdd(&up, 0) == 0)
            ;
        __threadfence_block();
    }
    out[threadIdx.x % 32] = threadIdx.x > 32 ? words[threadIdx.x % 32] : 0;  // expect warps_leader_waits_alone: race in shared memory
}

__global__ void warps_counted_without_fences(int *out)
{
    __shared__ int words[4], arrived;
    if (threadIdx.x < 4)
        words[threadIdx.x] = arrived = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        words[threadIdx.x / 32] = threadIdx.x + 1;  // expect warps_counted_without_fences: race in shared memory
        if (atomicAdd(&arrived, 1) == 3)
            *out = words[0] + words[1] + words[2] + words[3];  // expect warps_counted_without_fences: race in shared memory
    }
}

#define CASE(kernel) \
    if (strcmp(name, #kernel) == 0) \
    kernel

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int *out;
    cudaMalloc(&out, 64 * sizeof(int));
    cudaMemset(out, 0, 64 * sizeof(int));
    CASE(no_fences)<<<2, 1>>>(out);
    CASE(no_release)<<<2, 1>>>(out);
    CASE(no_acquire)<<<2, 1>>>(out);
    CASE(release_of_the_block)<<<2, 1>>>(out);
    CASE(acquire_of_the_block)<<<2, 1>>>(out);
    CASE(flag_of_the_block)<<<2, 1>>>(out);
    CASE(poll_of_the_block)<<<2, 1>>>(out);
    CASE(fence_too_early)<<<2, 1>>>(out);
    CASE(fence_too_late)<<<2, 1>>>(out);
    CASE(acquire_too_late)<<<2, 1>>>(out);
    CASE(volatile_flag_no_fences)<<<2, 1>>>(out);
    CASE(volatile_flag_no_acquire)<<<2, 1>>>(out);
    CASE(volatile_flag_fences_of_the_block)<<<2, 1>>>(out);
    CASE(volatile_data_fence_of_the_block)<<<2, 1>>>(out);
    CASE(plain_flag)<<<2, 1>>>(out);
    CASE(not_all_is_written_before)<<<2, 1>>>(out);
    CASE(read_before_the_flag)<<<2, 1>>>(out);
    CASE(second_hop_no_fence)<<<3, 1>>>(out);
    CASE(second_hop_for_the_block)<<<3, 1>>>(out);
    CASE(wrong_flag)<<<3, 1>>>(out);
    CASE(block_writes_without_barrier)<<<2, 64>>>(out);
    CASE(block_reads_without_barrier)<<<2, 64>>>(out);
    CASE(barrier_of_the_wrong_warp)<<<2, 64>>>(out);
    CASE(slot_used_again_too_early)<<<2, 1>>>(out);
    CASE(taken_without_a_fence)<<<2, 1>>>(out);
    CASE(ball_without_fences)<<<2, 1>>>(out);
    CASE(last_block_no_fence)<<<8, 1>>>(out);
    CASE(last_block_fence_of_the_block)<<<8, 1>>>(out);
    CASE(last_block_count_of_the_block)<<<8, 1>>>(out);
    CASE(last_block_counts_before_the_barrier)<<<2, 64>>>(out);
    CASE(last_block_decided_by_one_read_by_all)<<<1, 64>>>(out);
    CASE(grid_barrier_no_release)<<<4, 1>>>(out);
    CASE(grid_barrier_no_acquire)<<<4, 1>>>(out);
    CASE(grid_barrier_of_leaders_only)<<<2, 32>>>(out);
    CASE(grid_barrier_too_few)<<<4, 1>>>(out);
    CASE(no_barrier_of_the_grid)<<<2, 32>>>(out);
    CASE(look_back_without_fences)<<<8, 1>>>(out);
    CASE(look_back_state_first)<<<8, 1>>>(out);
    CASE(warps_no_release)<<<1, 64>>>(out);
    CASE(warps_no_acquire)<<<1, 64>>>(out);
    CASE(warps_leader_waits_alone)<<<1, 64>>>(out);
    CASE(warps_counted_without_fences)<<<1, 128>>>(out);
    return cudaDeviceSynchronize();
}

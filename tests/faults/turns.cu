// Lanes of a warp that rely on running in step: a __syncwarp() left out, or with too few lanes. tests/right/turns.cu has
// them whole. The first argument picks the kernel. `expect NAME: KIND` marks lines that the report must name.
#include <string.h>

#define FULL 0xffffffffu

__global__ void no_barrier_after_write(int *out)
{
    __shared__ int s;
    if (threadIdx.x == 0)
        s = 0;
    __syncwarp();
    if (threadIdx.x == 0)
        s = 1;             // expect no_barrier_after_write: race in shared memory
    out[threadIdx.x] = s;  // expect no_barrier_after_write: race in shared memory
}

__global__ void no_barrier_after_read(int *out)
{
    __shared__ int s;
    if (threadIdx.x == 0)
        s = 1;
    __syncwarp();
    int v = s;  // expect no_barrier_after_read: race in shared memory
    if (threadIdx.x == 1)
        s = 2;  // expect no_barrier_after_read: race in shared memory
    __syncwarp();
    out[threadIdx.x] = v + s;
}

__global__ void broadcast_one_barrier(int *out)
{
    __shared__ int word;
    int lane = threadIdx.x, sum = 0;
    for (int i = 0; i < 32; i++) {
        if (lane == i)
            word = i + 1;  // expect broadcast_one_barrier: race in shared memory
        __syncwarp();
        sum += word;  // expect broadcast_one_barrier: race in shared memory
    }
    out[lane] = sum;
}

__global__ void warps_share_one_slot(int *out)
{
    __shared__ int word;
    int lane = threadIdx.x % 32;
    if (lane == 0)
        word = threadIdx.x + 1;  // expect warps_share_one_slot: race in shared memory
    __syncwarp();
    out[threadIdx.x] = word;  // perhaps warps_share_one_slot: race in shared memory
}

__global__ void mask_of_the_others(int *out)  // the writer's half meets, the readers' half meets, but not each other
{
    __shared__ int word;
    int lane = threadIdx.x;
    if (lane == 0)
        word = 0;
    __syncwarp();
    if (lane == 0)
        word = 7;  // expect mask_of_the_others: race in shared memory
    __syncwarp(lane < 16 ? 0x0000ffffu : 0xffff0000u);
    out[lane] = word;  // expect mask_of_the_others: race in shared memory
}

__global__ void quads_read_too_far(int *out)
{
    __shared__ int words[32];
    int lane = threadIdx.x;
    words[lane] = 0;
    __syncwarp();
    words[lane] = lane + 1;  // expect quads_read_too_far: race in shared memory
    __syncwarp(0xfu << lane / 4 * 4);
    out[lane] = words[(lane + 1) % 32];  // expect quads_read_too_far: race in shared memory
}

__global__ void branches_read_each_other(int *out)
{
    __shared__ int words[32];
    int lane = threadIdx.x;
    words[lane] = 0;
    __syncwarp();
    if (lane % 2) {
        words[lane] = lane;  // perhaps branches_read_each_other: race in shared memory
        __syncwarp(0xaaaaaaaau);
        out[lane] = words[lane - 1];  // perhaps branches_read_each_other: race in shared memory
    } else {
        words[lane] = lane + 1;  // perhaps branches_read_each_other: race in shared memory
        __syncwarp(0x55555555u);
        out[32 + lane] = 2 * words[lane + 1];  // perhaps branches_read_each_other: race in shared memory
    }
}

__global__ void scan_in_place(int *out)
{
    __shared__ int words[32];
    int lane = threadIdx.x;
    words[lane] = lane + 1;
    __syncwarp();
    for (int step = 1; step < 32; step *= 2) {
        int add = lane >= step ? words[lane - step] : 0;  // perhaps scan_in_place: race in shared memory
        words[lane] += add;                               // expect scan_in_place: race in shared memory
        __syncwarp();
    }
    out[lane] = words[lane];
}

__global__ void scan_without_barriers(int *out)  // as written before Volta
{
    __shared__ volatile int words[32];
    int lane = threadIdx.x;
    words[lane] = lane + 1;  // perhaps scan_without_barriers: race in shared memory
    if (lane >= 1)
        words[lane] = words[lane] + words[lane - 1];  // perhaps scan_without_barriers: race in shared memory
    if (lane >= 2)
        words[lane] = words[lane] + words[lane - 2];  // perhaps scan_without_barriers: race in shared memory
    out[lane] = words[lane];
}

__global__ void volatile_reduction(int *out)  // warp-synchronous, as written before Volta
{
    __shared__ volatile int words[32];
    int lane = threadIdx.x;
    words[lane] = lane + 1;  // perhaps volatile_reduction: race in shared memory
    if (lane < 16) {
        words[lane] = words[lane] + words[lane + 16];  // perhaps volatile_reduction: race in shared memory
        words[lane] = words[lane] + words[lane + 8];   // perhaps volatile_reduction: race in shared memory
    }
    out[lane] = words[0];  // perhaps volatile_reduction: race in shared memory
}

__global__ void fence_is_no_barrier(int *out)
{
    __shared__ int words[32];
    int lane = threadIdx.x;
    words[lane] = 0;
    __syncwarp();
    words[lane] = lane + 1;  // expect fence_is_no_barrier: race in shared memory
    __threadfence_block();
    out[lane] = words[31 - lane];  // expect fence_is_no_barrier: race in shared memory
}

__global__ void shuffle_is_no_barrier(int *out)
{
    __shared__ int words[32];
    int lane = threadIdx.x;
    words[lane] = 0;
    __syncwarp();
    words[lane] = lane + 1;  // expect shuffle_is_no_barrier: race in shared memory
    int v = __shfl_xor_sync(FULL, lane, 1);
    out[lane] = v + words[31 - lane];  // expect shuffle_is_no_barrier: race in shared memory
}

__global__ void vote_is_no_barrier(int *out)
{
    __shared__ int words[32];
    int lane = threadIdx.x;
    words[lane] = 0;
    __syncwarp();
    words[lane] = lane + 1;  // expect vote_is_no_barrier: race in shared memory
    bool any = __any_sync(FULL, lane == 3);
    out[lane] = any + words[31 - lane];  // expect vote_is_no_barrier: race in shared memory
}

__global__ void queue_slot_overwritten(int *out)  // the leader draws again before all have read
{
    __shared__ int first;
    int lane = threadIdx.x;
    for (int i = 0; i < 3; i++) {
        if (lane == 0)
            first = 32 * i + 1;  // expect queue_slot_overwritten: race in shared memory
        __syncwarp();
        out[lane] = first;  // expect queue_slot_overwritten: race in shared memory
    }
}

__global__ void sort_without_barriers(int *out)
{
    __shared__ int words[32];
    int lane = threadIdx.x;
    words[lane] = 31 - lane;
    __syncwarp();
    for (int step = 16; step > 0; step /= 2)
        if ((lane & step) == 0) {
            int a = words[lane], b = words[lane + step];  // perhaps sort_without_barriers: race in shared memory
            if (a > b) {
                words[lane] = b;         // perhaps sort_without_barriers: race in shared memory
                words[lane + step] = a;  // perhaps sort_without_barriers: race in shared memory
            }
        }
    __syncwarp();
    out[lane] = words[lane];
}

__global__ void last_lane_of_a_loop(int *out)  // one lane stays longer and writes what the others already read
{
    __shared__ int word;
    int lane = threadIdx.x;
    if (lane == 0)
        word = 0;
    __syncwarp();
    for (int i = 0; i < lane; i++)
        if (i == 30)
            word = 5;  // expect last_lane_of_a_loop: race in shared memory
    out[lane] = word;  // expect last_lane_of_a_loop: race in shared memory
}

__global__ void one_store_each_turn(int *out)  // one instruction, but not at one time
{
    __shared__ int word;
    int lane = threadIdx.x;
    for (int i = 0; i < 6; i++)
        if (i % 2 == lane % 2)
            word = 10 * lane + i + 1;  // expect one_store_each_turn: race in shared memory
    __syncwarp();
    out[lane] = word;
}

__global__ void in_global_memory(int *out)
{
    int lane = threadIdx.x;
    out[lane] = lane + 1;            // expect in_global_memory: race in global memory
    out[32 + lane] = out[lane ^ 1];  // expect in_global_memory: race in global memory
}

__global__ void in_global_memory_by_halves(int *out)
{
    int lane = threadIdx.x;
    out[lane] = lane + 1;  // expect in_global_memory_by_halves: race in global memory
    __syncwarp(lane < 16 ? 0x0000ffffu : 0xffff0000u);
    out[32 + lane] = out[lane ^ 16];  // expect in_global_memory_by_halves: race in global memory
}

__global__ void volatile_in_global_memory(volatile int *out)
{
    int lane = threadIdx.x;
    out[lane] = lane + 1;            // expect volatile_in_global_memory: race in global memory
    out[32 + lane] = out[lane ^ 1];  // expect volatile_in_global_memory: race in global memory
}

// ---- collectives ----

__global__ void shuffle_in_a_branch(int *out)
{
    int lane = threadIdx.x, v = lane;
    if (lane < 16)
        v += __shfl_down_sync(FULL, v, 8);  // expect shuffle_in_a_branch: divergent collective
    out[lane] = v;                          // perhaps shuffle_in_a_branch: divergent collective
}

__global__ void shuffle_from_outside_the_mask(int *out)  // lane 8 looks at lane 16, which is not named
{
    int lane = threadIdx.x, v = lane;
    if (lane < 16)
        v += __shfl_down_sync(0x0000ffffu, v, 8);  // expect shuffle_from_outside_the_mask: divergent collective
    out[lane] = v;                                 // perhaps shuffle_from_outside_the_mask: divergent collective
}

__global__ void shuffle_from_one_that_left(int *out)
{
    int lane = threadIdx.x;
    if (lane >= 16)
        return;
    out[lane] = __shfl_sync(FULL, lane, 20);  // expect shuffle_from_one_that_left: divergent collective
}

__global__ void shuffle_xor_with_one_that_left(int *out)
{
    int lane = threadIdx.x;
    if (lane == 31)
        return;
    out[lane] = __shfl_xor_sync(FULL, lane, 1);  // expect shuffle_xor_with_one_that_left: divergent collective
}

__global__ void vote_not_in_the_mask(int *out)
{
    int lane = threadIdx.x;
    out[lane] = __ballot_sync(0x00ffffffu, lane & 1);  // expect vote_not_in_the_mask: divergent collective
}

__global__ void barrier_not_in_the_mask(int *out)
{
    int lane = threadIdx.x;
    __syncwarp(0xfffffffeu);  // expect barrier_not_in_the_mask: divergent collective
    out[lane] = lane;
}

__global__ void tail_of_a_block(int *out)  // a loop that not all lanes go through as often
{
    int lane = threadIdx.x, v = lane;
    for (int i = lane; i < 40; i += 32)
        v += __shfl_xor_sync(FULL, v, 1);  // expect tail_of_a_block: divergent collective
    out[lane] = v;
    __syncwarp();  // perhaps tail_of_a_block: divergent collective
}

__global__ void match_in_a_branch(int *out)
{
    int lane = threadIdx.x;
    if (lane != 5)
        out[lane] = __match_any_sync(FULL, lane % 3);  // expect match_in_a_branch: divergent collective
    __syncwarp();                                      // expect match_in_a_branch: divergent collective
}

#define CASE(kernel) \
    if (strcmp(name, #kernel) == 0) \
    kernel

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int *out;
    cudaMalloc(&out, 128 * sizeof(int));
    cudaMemset(out, 0, 128 * sizeof(int));
    CASE(no_barrier_after_write)<<<1, 32>>>(out);
    CASE(no_barrier_after_read)<<<1, 32>>>(out);
    CASE(broadcast_one_barrier)<<<1, 32>>>(out);
    CASE(warps_share_one_slot)<<<1, 64>>>(out);
    CASE(mask_of_the_others)<<<1, 32>>>(out);
    CASE(quads_read_too_far)<<<1, 32>>>(out);
    CASE(branches_read_each_other)<<<1, 32>>>(out);
    CASE(scan_in_place)<<<1, 32>>>(out);
    CASE(scan_without_barriers)<<<1, 32>>>(out);
    CASE(volatile_reduction)<<<1, 32>>>(out);
    CASE(fence_is_no_barrier)<<<1, 32>>>(out);
    CASE(shuffle_is_no_barrier)<<<1, 32>>>(out);
    CASE(vote_is_no_barrier)<<<1, 32>>>(out);
    CASE(queue_slot_overwritten)<<<1, 32>>>(out);
    CASE(sort_without_barriers)<<<1, 32>>>(out);
    CASE(last_lane_of_a_loop)<<<1, 32>>>(out);
    CASE(one_store_each_turn)<<<1, 32>>>(out);
    CASE(in_global_memory)<<<1, 32>>>(out);
    CASE(in_global_memory_by_halves)<<<1, 32>>>(out);
    CASE(volatile_in_global_memory)<<<1, 32>>>(out);
    CASE(shuffle_in_a_branch)<<<1, 32>>>(out);
    CASE(shuffle_from_outside_the_mask)<<<1, 32>>>(out);
    CASE(shuffle_from_one_that_left)<<<1, 32>>>(out);
    CASE(shuffle_xor_with_one_that_left)<<<1, 32>>>(out);
    CASE(vote_not_in_the_mask)<<<1, 32>>>(out);
    CASE(barrier_not_in_the_mask)<<<1, 32>>>(out);
    CASE(tail_of_a_block)<<<1, 32>>>(out);
    CASE(match_in_a_branch)<<<1, 32>>>(out);
    return cudaDeviceSynchronize();
}

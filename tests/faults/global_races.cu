// Races in global memory: within a block, between blocks, on variables, by accesses of different widths. The first
// argument picks the kernel. `expect NAME: KIND` marks lines that the report must name, `perhaps NAME: KIND` may; a word
// after `, in` must stand in the report too.
#include <string.h>

__device__ int total, table[256], guesses[4];
__device__ unsigned char letters[64];
__managed__ int shared_by_host;

// ---- one block, several warps ----

__global__ void read_after_write(int *a)
{
    int t = threadIdx.x;
    a[t] = t + 1;                        // expect read_after_write: race in global memory
    a[128 + t] = a[(t + 32) % 128] * 2;  // expect read_after_write: race in global memory
}

__global__ void write_after_read(int *a)
{
    int t = threadIdx.x, v = a[(t + 32) % 128];  // expect write_after_read: race in global memory
    a[t] = v + 1;                                // expect write_after_read: race in global memory
}

__global__ void write_after_write(int *a)
{
    int t = threadIdx.x;
    a[t] = 1;        // expect write_after_write: race in global memory
    a[127 - t] = 2;  // expect write_after_write: race in global memory
}

__global__ void all_to_one(int *a)
{
    a[0] = threadIdx.x + 1;  // expect all_to_one: race in global memory
}

__global__ void neighbour_added(int *a)
{
    int t = threadIdx.x;
    a[t] = t + 1;  // perhaps neighbour_added: race in global memory
    if (t > 0)
        a[t - 1] += a[t];  // expect neighbour_added: race in global memory
}

__global__ void count_without_atomic(int *a)
{
    a[0] += 1;  // expect count_without_atomic: race in global memory
}

__global__ void histogram_without_atomics(int *a)
{
    int bin = threadIdx.x % 8;
    a[bin]++;  // expect histogram_without_atomics: race in global memory
}

__global__ void histogram_read_too_early(int *a)
{
    int t = threadIdx.x;
    atomicAdd(&a[t % 8], 1);  // expect histogram_read_too_early: race in global memory
    if (t < 8)
        a[8 + t] = a[t];  // expect histogram_read_too_early: race in global memory
}

__global__ void histogram_cleared_late(int *a)
{
    int t = threadIdx.x;
    if (t >= 120)
        a[t - 120] = -1;      // expect histogram_cleared_late: race in global memory
    atomicAdd(&a[t % 8], 1);  // expect histogram_cleared_late: race in global memory
}

__global__ void stencil_in_place(int *a)
{
    int t = threadIdx.x;
    a[t] = a[t] + a[t + 1] + t;  // expect stencil_in_place: race in global memory
}

__global__ void stencil_one_barrier(int *a)  // none between the reads of one turn and the writes of the next
{
    int t = threadIdx.x, v = 0;
    for (int i = 0; i < 3; i++) {
        a[t] = t + i + v;  // expect stencil_one_barrier: race in global memory
        __syncthreads();
        v = a[(t + 64) % 128];  // expect stencil_one_barrier: race in global memory
    }
    a[128 + t] = v;
}

__global__ void reverse_in_place(int *a)
{
    int t = threadIdx.x;
    a[t] = a[127 - t] + 1;  // expect reverse_in_place: race in global memory
}

__global__ void reduction_without_barrier(int *a)
{
    int t = threadIdx.x;
    for (int half = 64; half; half /= 2)
        if (t < half)
            a[t] += a[t + half] + 1;  // expect reduction_without_barrier: race in global memory
}

__global__ void scan_one_barrier(int *a)
{
    int t = threadIdx.x;
    for (int step = 1; step < 128; step *= 2) {
        int add = t >= step ? a[t - step] : 0;  // perhaps scan_one_barrier: race in global memory
        a[t] += add + 1;                        // expect scan_one_barrier: race in global memory
        __syncthreads();
    }
}

__global__ void barrier_of_the_warp(int *a)
{
    int t = threadIdx.x;
    a[t] = t + 1;  // expect barrier_of_the_warp: race in global memory
    __syncwarp();
    a[128 + t] = a[127 - t];  // expect barrier_of_the_warp: race in global memory
}

__global__ void fence_of_the_device(int *a)  // a fence waits for nobody
{
    int t = threadIdx.x;
    a[t] = t + 1;  // expect fence_of_the_device: race in global memory
    __threadfence();
    a[128 + t] = a[127 - t];  // expect fence_of_the_device: race in global memory
}

__global__ void two_barriers_too_early(int *a)
{
    int t = threadIdx.x;
    __syncthreads();
    a[t] = t + 1;             // expect two_barriers_too_early: race in global memory
    a[128 + t] = a[127 - t];  // expect two_barriers_too_early: race in global memory
    __syncthreads();
}

__global__ void guard_forgotten(int *a)  // every thread writes what only the first should
{
    int t = threadIdx.x;
    a[1 + t] = t;
    a[0] = 2 * t + 1;  // expect guard_forgotten: race in global memory
}

__global__ void missing_guard_on_the_tail(int *a)  // threads beyond n fold back on the last element
{
    int t = threadIdx.x, n = 90;
    a[t < n ? t : n - 1] = t + 1;  // expect missing_guard_on_the_tail: race in global memory
}

__global__ void plain_beside_atomic(int *a)
{
    if (threadIdx.x == 40)
        a[0] = 100;  // expect plain_beside_atomic: race in global memory
    else
        atomicAdd(&a[0], 1);  // expect plain_beside_atomic: race in global memory
}

__global__ void guard_before_the_atomic(int *a)  // reads plainly to spare atomics
{
    int t = threadIdx.x;
    if (a[0] < t)             // expect guard_before_the_atomic: race in global memory
        atomicMax(&a[0], t);  // expect guard_before_the_atomic: race in global memory
}

__global__ void cas_on_another_word(int *a)  // the first guess of one loop, the swap of another
{
    int t = threadIdx.x, guess = a[0];  // expect cas_on_another_word: race in global memory
    atomicCAS(&a[1], guess, t);
    atomicAdd(&a[0], 1);  // expect cas_on_another_word: race in global memory
}

__global__ void result_of_all_read_by_one(int *a)
{
    int t = threadIdx.x;
    atomicAdd(&a[0], t);  // expect result_of_all_read_by_one: race in global memory
    if (t == 127)
        a[1] = a[0];  // expect result_of_all_read_by_one: race in global memory
}

// ---- different widths ----

__global__ void byte_of_a_word(int *a)
{
    if (threadIdx.x == 0)
        a[0] = 0x01020304;  // expect byte_of_a_word: race in global memory
    if (threadIdx.x == 32)
        ((unsigned char *)a)[2] = 9;  // expect byte_of_a_word: race in global memory
}

__global__ void half_of_a_word(int *a)
{
    if (threadIdx.x == 32)
        ((short *)a)[1] = 7;  // expect half_of_a_word: race in global memory
    if (threadIdx.x == 0)
        a[8] = a[0];  // expect half_of_a_word: race in global memory
}

__global__ void word_of_a_vector(float *a)
{
    int t = threadIdx.x;
    if (t < 32)
        ((float4 *)a)[t] = make_float4(1, 2, 3, 4);  // expect word_of_a_vector: race in global memory
    if (t == 99)
        a[6] = 5;  // expect word_of_a_vector: race in global memory
}

__global__ void vectors_that_overlap(float *a)
{
    int t = threadIdx.x;
    if (t == 0)
        *(float4 *)(a + 4) = make_float4(1, 2, 3, 4);  // expect vectors_that_overlap: race in global memory
    if (t == 64) {
        float2 v = *(float2 *)(a + 6);  // expect vectors_that_overlap: race in global memory
        a[0] = v.x + v.y;
    }
}

__global__ void half_of_a_double(double *a)
{
    if (threadIdx.x == 0)
        a[1] = 3.5;  // expect half_of_a_double: race in global memory
    if (threadIdx.x == 32)
        ((float *)a)[3] = 1;  // expect half_of_a_double: race in global memory
}

__global__ void same_byte(int *a)
{
    unsigned char *bytes = (unsigned char *)a;
    bytes[threadIdx.x % 64] = threadIdx.x + 1;  // expect same_byte: race in global memory
}

__global__ void byte_beside_an_atomic(int *a)
{
    if (threadIdx.x == 0)
        atomicAdd(&a[0], 1);  // expect byte_beside_an_atomic: race in global memory
    if (threadIdx.x == 32)
        ((unsigned char *)a)[3] = 1;  // expect byte_beside_an_atomic: race in global memory
}

struct packed {
    short key, value;
};

__global__ void copy_of_a_struct(packed *a)  // a member written while the whole is copied
{
    if (threadIdx.x == 0)
        a[1] = a[0];  // expect copy_of_a_struct: race in global memory
    if (threadIdx.x == 32)
        a[0].value = 5;  // expect copy_of_a_struct: race in global memory
}

// ---- between blocks ----

struct wide {
    int first[8], last[8];
};

__global__ void structs_that_end_alike(wide *a)  // of what both write, the last bytes are there already
{
    a[1 + blockIdx.x].first[0] = 5 + blockIdx.x;
    a[0] = a[1 + blockIdx.x];  // expect structs_that_end_alike: race in global memory
}

__global__ void structs_that_begin_alike(wide *a)
{
    a[1 + blockIdx.x].last[7] = 5 + blockIdx.x;
    a[0] = a[1 + blockIdx.x];  // expect structs_that_begin_alike: race in global memory
}

__global__ void blocks_overlap_by_one(int *a)
{
    int i = blockIdx.x * 31 + threadIdx.x;
    a[i] = blockIdx.x + 1;  // expect blocks_overlap_by_one: race in global memory
}

__global__ void halo_of_the_neighbour(int *a)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    int right = a[(i + 1) % 128];  // expect halo_of_the_neighbour: race in global memory
    __syncthreads();
    a[i] = right + i + 1;  // expect halo_of_the_neighbour: race in global memory
}

__global__ void same_rows(int *a)  // blockIdx.y forgotten
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = 10 * blockIdx.y + 1;  // expect same_rows: race in global memory
}

__global__ void partial_sums_to_one_word(int *a)
{
    __shared__ int sum;
    if (threadIdx.x == 0)
        sum = blockIdx.x + 1;
    __syncthreads();
    if (threadIdx.x == 5)
        a[0] += sum;  // expect partial_sums_to_one_word: race in global memory
}

__global__ void block_scope_add(int *a)
{
    atomicAdd_block(a, 1);  // expect block_scope_add: race in global memory
}

__global__ void block_scope_beside_device_scope(int *a)
{
    if (blockIdx.x == 0)
        atomicAdd_block(a, 1);  // expect block_scope_beside_device_scope: race in global memory
    else
        atomicAdd(a, 1);  // expect block_scope_beside_device_scope: race in global memory
}

__global__ void block_scope_maximum(int *a)
{
    atomicMax_block(&a[threadIdx.x % 4], (int)(blockIdx.x * 32 + threadIdx.x));  // expect block_scope_maximum: race in global memory
}

__global__ void bytes_of_two_blocks(unsigned char *a)
{
    a[threadIdx.x] = blockIdx.x + 1;  // expect bytes_of_two_blocks: race in global memory
}

__global__ void places_by_a_plain_count(int *a)  // a worklist without an atomic
{
    int place = a[0];                     // perhaps places_by_a_plain_count: race in global memory
    a[0] = place + 1;                     // perhaps places_by_a_plain_count: race in global memory
    a[1 + place % 100] = blockIdx.x + 1;  // perhaps places_by_a_plain_count: race in global memory
}

// ---- variables ----

__global__ void variable_counted(int *)
{
    total++;  // expect variable_counted: race in global memory, in total
}

__global__ void variable_in_a_block(int *out)
{
    if (threadIdx.x == 0)
        total = 7;             // expect variable_in_a_block: race in global memory, in total
    out[threadIdx.x] = total;  // expect variable_in_a_block: race in global memory, in total
}

__global__ void variable_table(int *)
{
    int t = threadIdx.x;
    table[t] = t + 1;                              // expect variable_table: race in global memory, in table
    table[128 + t] = table[(t + 77) % 128] + 100;  // expect variable_table: race in global memory, in table
}

__global__ void variable_letters(int *)
{
    letters[threadIdx.x % 64] = 1 + threadIdx.x / 64;  // expect variable_letters: race in global memory, in letters
}

__device__ void add_to(int *word, int n)
{
    *word += n;  // expect variable_through_a_function: race in global memory, in guesses
}

__global__ void variable_through_a_function(int *)
{
    add_to(&guesses[2], threadIdx.x + 1);
}

__global__ void managed_variable(int *)
{
    shared_by_host += 1;  // expect managed_variable: race in global memory, in shared_by_host
}

template <int N> __global__ void in_a_template(int *a)
{
    a[threadIdx.x % N] = threadIdx.x + 1;  // expect a_template: race in global memory
}

// The block that stores has added to it by then, too.
__global__ void started_and_counted(int *a)
{
    if (blockIdx.x == 0 && threadIdx.x == 0)
        table[0] = 5;  // expect started_and_counted: race in global memory, in table
    __syncthreads();
    atomicAdd(&table[0], 1);  // expect started_and_counted: race in global memory, in table
}

#define CASE(kernel) \
    if (strcmp(name, #kernel) == 0) \
    kernel

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int *a;
    cudaMalloc(&a, 256 * sizeof(int));
    cudaMemset(a, 0, 256 * sizeof(int));
    CASE(read_after_write)<<<1, 128>>>(a);
    CASE(started_and_counted)<<<2, 128>>>(a);
    CASE(write_after_read)<<<1, 128>>>(a);
    CASE(write_after_write)<<<1, 128>>>(a);
    CASE(all_to_one)<<<1, 128>>>(a);
    CASE(neighbour_added)<<<1, 128>>>(a);
    CASE(count_without_atomic)<<<1, 128>>>(a);
    CASE(histogram_without_atomics)<<<1, 128>>>(a);
    CASE(histogram_read_too_early)<<<1, 128>>>(a);
    CASE(histogram_cleared_late)<<<1, 128>>>(a);
    CASE(stencil_in_place)<<<1, 128>>>(a);
    CASE(stencil_one_barrier)<<<1, 128>>>(a);
    CASE(reverse_in_place)<<<1, 128>>>(a);
    CASE(reduction_without_barrier)<<<1, 128>>>(a);
    CASE(scan_one_barrier)<<<1, 128>>>(a);
    CASE(barrier_of_the_warp)<<<1, 128>>>(a);
    CASE(fence_of_the_device)<<<1, 128>>>(a);
    CASE(two_barriers_too_early)<<<1, 128>>>(a);
    CASE(guard_forgotten)<<<1, 128>>>(a);
    CASE(missing_guard_on_the_tail)<<<1, 128>>>(a);
    CASE(plain_beside_atomic)<<<1, 128>>>(a);
    CASE(guard_before_the_atomic)<<<1, 128>>>(a);
    CASE(cas_on_another_word)<<<1, 128>>>(a);
    CASE(result_of_all_read_by_one)<<<1, 128>>>(a);
    CASE(byte_of_a_word)<<<1, 64>>>(a);
    CASE(half_of_a_word)<<<1, 64>>>(a);
    CASE(word_of_a_vector)<<<1, 128>>>((float *)a);
    CASE(vectors_that_overlap)<<<1, 128>>>((float *)a);
    CASE(half_of_a_double)<<<1, 64>>>((double *)a);
    CASE(same_byte)<<<1, 128>>>(a);
    CASE(byte_beside_an_atomic)<<<1, 64>>>(a);
    CASE(copy_of_a_struct)<<<1, 64>>>((packed *)a);
    CASE(structs_that_end_alike)<<<2, 1>>>((wide *)a);
    CASE(structs_that_begin_alike)<<<2, 1>>>((wide *)a);
    CASE(blocks_overlap_by_one)<<<4, 32>>>(a);
    CASE(halo_of_the_neighbour)<<<4, 32>>>(a);
    CASE(same_rows)<<<dim3(2, 2), 32>>>(a);
    CASE(partial_sums_to_one_word)<<<4, 32>>>(a);
    CASE(block_scope_add)<<<4, 32>>>(a);
    CASE(block_scope_beside_device_scope)<<<4, 32>>>(a);
    CASE(block_scope_maximum)<<<4, 32>>>(a);
    CASE(bytes_of_two_blocks)<<<2, 32>>>((unsigned char *)a);
    CASE(places_by_a_plain_count)<<<4, 1>>>(a);
    CASE(variable_counted)<<<1, 64>>>(a);
    CASE(variable_in_a_block)<<<1, 64>>>(a);
    CASE(variable_table)<<<1, 128>>>(a);
    CASE(variable_letters)<<<1, 128>>>(a);
    CASE(variable_through_a_function)<<<1, 64>>>(a);
    CASE(managed_variable)<<<2, 32>>>(a);
    if (strcmp(name, "a_template") == 0)
        in_a_template<8><<<1, 128>>>(a);
    return cudaDeviceSynchronize();
}

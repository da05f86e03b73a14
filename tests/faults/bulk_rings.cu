// Stages of shared memory that a producer fills by bulk copies, and that are filled again before all of their readers have
// let go of them, or written while a copy is on its way to them. The first argument picks the kernel; a comment
// `expect NAME: KIND` marks a line that the report on it must name. tests/right/bulk_rings.cu has the right ways.

#include <string.h>
#include "../hopper.h"

#define TILE 64
#define BYTES (TILE * 4)

__global__ void nobody_releases(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    float sum = 0;
    SET_UP(bar, 1);
    for (int i = 0; i < 3; i++) {
        if (threadIdx.x == 0) {
            MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
            BULK_LOAD(tile, in + i * TILE, BYTES, &bar);  // expect nobody_releases: race in shared memory
        }
        MBARRIER_WAIT(&bar, i % 2);
        sum += tile[63 - threadIdx.x];  // expect nobody_releases: race in shared memory
    }
    out[threadIdx.x] = sum;
}

__global__ void reader_is_first(float *in, float *out)  // and the last warp, which fills, does not know that it has read
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 63) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);
    }
    if (threadIdx.x < 32) {
        MBARRIER_WAIT(&bar, 0);
        out[threadIdx.x] = tile[threadIdx.x];  // expect reader_is_first: race in shared memory
    }
    if (threadIdx.x == 63) {
        MBARRIER_WAIT(&bar, 0);
        for (volatile int i = 0; i < 100; i = i + 1)
            __nanosleep(10);
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in + TILE, BYTES, &bar);  // expect reader_is_first: race in shared memory
        MBARRIER_WAIT(&bar, 1);
    }
}

__global__ void released_before_it_is_read(float *in, float *out)
{
    __shared__ alignas(16) float tile[2][TILE];
    __shared__ uint64_t full[2], empty[2];
    SET_UP(full, 1);
    SET_UP(empty, 32);
    if (threadIdx.x >= 32) {
        float sum = 0;
        for (int i = 0; i < 6; i++) {
            MBARRIER_WAIT(&full[i % 2], i / 2 % 2);
            MBARRIER_ARRIVE(&empty[i % 2]);
            sum += tile[i % 2][threadIdx.x];  // expect released_before_it_is_read: race in shared memory
        }
        out[threadIdx.x] = sum;
    }
    if (threadIdx.x == 0)
        for (int i = 0; i < 6; i++) {
            MBARRIER_WAIT(&empty[i % 2], (i / 2 + 1) % 2);
            MBARRIER_ARRIVE_EXPECT(&full[i % 2], BYTES);
            BULK_LOAD(tile[i % 2], in + i * TILE, BYTES, &full[i % 2]);  // expect released_before_it_is_read: race in shared memory
        }
}

__global__ void one_of_two_counts_as_both(float *in, float *out)
{
    __shared__ alignas(16) float tile[2][TILE];
    __shared__ uint64_t full[2], empty[2];
    SET_UP(full, 1);
    SET_UP(empty, 1);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (warp == 0 && lane == 0)
        for (int i = 0; i < 6; i++) {
            MBARRIER_WAIT(&empty[i % 2], (i / 2 + 1) % 2);
            MBARRIER_ARRIVE_EXPECT(&full[i % 2], BYTES);
            BULK_LOAD(tile[i % 2], in + i * TILE, BYTES, &full[i % 2]);  // expect one_of_two_counts_as_both: race in shared memory
        }
    if (warp > 0) {
        float sum = 0;
        for (int i = 0; i < 6; i++) {
            MBARRIER_WAIT(&full[i % 2], i / 2 % 2);
            sum += tile[i % 2][lane + 32 * (warp - 1)];  // expect one_of_two_counts_as_both: race in shared memory
            __syncwarp();
            if (warp == 1 && lane == 0)
                MBARRIER_ARRIVE(&empty[i % 2]);
        }
        out[threadIdx.x - 32] = sum;
    }
}

__global__ void elected_lane_does_not_ask(float *in, float *out)  // its warp whether they have read: __syncwarp is missing
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t full, empty;
    SET_UP(full, 1);
    SET_UP(empty, 1);
    if (threadIdx.x < 32) {
        float sum = 0;
        for (int i = 0; i < 4; i++) {
            MBARRIER_WAIT(&full, i % 2);
            sum += tile[threadIdx.x];  // expect elected_lane_does_not_ask: race in shared memory
            if (threadIdx.x == 0)
                MBARRIER_ARRIVE(&empty);
        }
        out[threadIdx.x] = sum;
    }
    if (threadIdx.x == 32)
        for (int i = 0; i < 4; i++) {
            MBARRIER_WAIT(&empty, (i + 1) % 2);
            MBARRIER_ARRIVE_EXPECT(&full, BYTES);
            BULK_LOAD(tile, in + i * TILE, BYTES, &full);  // expect elected_lane_does_not_ask: race in shared memory
        }
}

__global__ void producer_waits_for_the_tile_before(float *in, float *out)
{
    __shared__ alignas(16) float tile[3][TILE];
    __shared__ uint64_t full[3], empty[3];
    SET_UP(full, 1);
    SET_UP(empty, 32);
    if (threadIdx.x < 32) {
        float sum = 0;
        for (int i = 0; i < 9; i++) {
            MBARRIER_WAIT(&full[i % 3], i / 3 % 2);
            sum += tile[i % 3][threadIdx.x];
            MBARRIER_ARRIVE(&empty[i % 3]);
        }
        out[threadIdx.x] = sum;
    }
    if (threadIdx.x == 32)
        for (int i = 0; i < 9; i++) {
            if (i >= 4)
                MBARRIER_WAIT(&empty[(i + 2) % 3], (i + 2) / 3 % 2);  // of tile i - 4, and not i - 3
            MBARRIER_ARRIVE_EXPECT(&full[i % 3], BYTES);              // expect producer_waits_for_the_tile_before: too many arrivals
            BULK_LOAD(tile[i % 3], in + i * TILE, BYTES, &full[i % 3]);
        }
}

__global__ void producers_phase_stands_still(float *in, float *out)  // so that it waits for what is over
{
    __shared__ alignas(16) float tile[2][TILE];
    __shared__ uint64_t full[2], empty[2];
    SET_UP(full, 1);
    SET_UP(empty, 32);
    if (threadIdx.x == 32)
        for (int i = 0; i < 4; i++) {
            MBARRIER_WAIT(&empty[i % 2], 1);
            MBARRIER_ARRIVE_EXPECT(&full[i % 2], BYTES);  // expect producers_phase_stands_still: too many arrivals
            BULK_LOAD(tile[i % 2], in + i * TILE, BYTES, &full[i % 2]);
        }
    if (threadIdx.x < 32) {
        float sum = 0;
        for (int i = 0; i < 4; i++) {
            MBARRIER_WAIT(&full[i % 2], i / 2 % 2);
            sum += tile[i % 2][threadIdx.x];
            MBARRIER_ARRIVE(&empty[i % 2]);
        }
        out[threadIdx.x] = sum;
    }
}

__global__ void one_stage_too_many(float *in, float *out)  // three tiles are asked for ahead, and there are two stages
{
    __shared__ alignas(16) float tile[2][TILE];
    __shared__ uint64_t full[2];
    float sum = 0;
    SET_UP(full, 1);
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; i++) {
            MBARRIER_ARRIVE_EXPECT(&full[i], BYTES);
            BULK_LOAD(tile[i], in + i * TILE, BYTES, &full[i]);
        }
    for (int i = 0; i < 4; i++) {
        MBARRIER_WAIT(&full[i % 2], i / 2 % 2);
        if (threadIdx.x == 0 && i + 2 < 4) {
            MBARRIER_ARRIVE_EXPECT(&full[i % 2], BYTES);
            BULK_LOAD(tile[i % 2], in + (i + 2) * TILE, BYTES, &full[i % 2]);  // expect one_stage_too_many: race in shared memory
        }
        sum += tile[i % 2][threadIdx.x];  // expect one_stage_too_many: race in shared memory
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}

__global__ void read_again_in_the_epilogue(float *in, float *out)
{
    __shared__ alignas(16) float tile[2][TILE];
    __shared__ uint64_t full[2], empty[2];
    SET_UP(full, 1);
    SET_UP(empty, 32);
    if (threadIdx.x < 32) {
        float sum = 0;
        for (int i = 0; i < 4; i++) {
            MBARRIER_WAIT(&full[i % 2], i / 2 % 2);
            sum += tile[i % 2][threadIdx.x];
            MBARRIER_ARRIVE(&empty[i % 2]);
            if (i == 1)
                sum *= tile[1][0];  // expect read_again_in_the_epilogue: race in shared memory
        }
        out[threadIdx.x] = sum;
    }
    if (threadIdx.x == 32)
        for (int i = 0; i < 4; i++) {
            MBARRIER_WAIT(&empty[i % 2], (i / 2 + 1) % 2);
            MBARRIER_ARRIVE_EXPECT(&full[i % 2], BYTES);
            BULK_LOAD(tile[i % 2], in + i * TILE, BYTES, &full[i % 2]);  // expect read_again_in_the_epilogue: race in shared memory
        }
}

__global__ void read_by_ldmatrix(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t full, empty;
    SET_UP(full, 1);
    SET_UP(empty, 1);
    if (threadIdx.x < 32) {
        unsigned x, sum = 0;
        for (int i = 0; i < 3; i++) {
            MBARRIER_WAIT(&full, i % 2);  // perhaps read_by_ldmatrix: copy still in flight
            if (threadIdx.x == 0)
                MBARRIER_ARRIVE(&empty);  // before the warp has read
            __syncwarp();
            asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(x) : "r"(in_shared(tile) + threadIdx.x % 8 * 16) : "memory");  // expect read_by_ldmatrix: copy still in flight
            sum += x;
        }
        out[threadIdx.x] = sum;
    }
    if (threadIdx.x == 32)
        for (int i = 0; i < 3; i++) {
            MBARRIER_WAIT(&empty, (i + 1) % 2);
            MBARRIER_ARRIVE_EXPECT(&full, BYTES);
            BULK_LOAD(tile, in + i * TILE, BYTES, &full);  // expect read_by_ldmatrix: copy still in flight
        }
}

template <int STAGES> struct ring {
    float (*tile)[TILE];
    uint64_t *full, *empty;
    int stage = 0;
    unsigned phase = 0;

    __device__ void next()
    {
        if (++stage == STAGES)
            stage = 0, phase ^= 1;
    }
    __device__ void fill(const float *from)
    {
        for (unsigned done = 0; !done;)
            MBARRIER_TRY(done, &empty[stage], phase ^ 1);
        MBARRIER_ARRIVE_EXPECT(&full[stage], BYTES);
        BULK_LOAD(tile[stage], from, BYTES, &full[stage]);  // expect two_readers_count_as_one: race in shared memory
        next();
    }
    __device__ float take(int i)
    {
        for (unsigned done = 0; !done;)
            MBARRIER_TRY(done, &full[stage], phase);
        float x = tile[stage][i];  // expect two_readers_count_as_one: race in shared memory
        __syncwarp();
        return x;
    }
    __device__ void release()
    {
        if (threadIdx.x % 32 == 0)
            MBARRIER_ARRIVE(&empty[stage]);
        next();
    }
};

__global__ void two_readers_count_as_one(float *in, float *out)  // two consumer warps, and empty is over with one arrival of them
{
    __shared__ alignas(16) float tile[4][TILE];
    __shared__ uint64_t full[4], empty[4];
    SET_UP(full, 1);
    SET_UP(empty, 1);
    ring<4> r = {tile, full, empty};
    if (threadIdx.x == 64)
        for (int i = 0; i < 8; i++)
            r.fill(in + i * TILE);
    if (threadIdx.x < 32) {
        float sum = 0;
        for (int i = 0; i < 8; i++) {
            sum += r.take(threadIdx.x % 32);
            r.release();
        }
        out[threadIdx.x] = sum;
    } else if (threadIdx.x < 64) {
        float sum = 0;
        for (int i = 0; i < 8; i++) {
            sum += r.take(threadIdx.x);
            r.next();
        }
        out[threadIdx.x] = sum;
    }
}

__global__ void written_in_flight(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);  // expect written_in_flight: target overwritten in flight
    }
    __syncthreads();
    if (threadIdx.x == 40)
        tile[40] = 0;  // expect written_in_flight: target overwritten in flight
    __syncthreads();
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void padded_in_flight(float *in, float *out)  // rows behind the last are cleared, one too many of them
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    const int valid = 48;
    SET_UP(bar, 1);
    if (threadIdx.x == 32) {
        MBARRIER_ARRIVE_EXPECT(&bar, valid * 4);
        BULK_LOAD(tile, in, valid * 4, &bar);  // expect padded_in_flight: target overwritten in flight
    }
    __syncthreads();
    for (int i = valid - 1 + threadIdx.x; i < TILE; i += blockDim.x)
        tile[i] = 0;  // expect padded_in_flight: target overwritten in flight
    __syncthreads();
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void two_copies_to_one_place(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, 2 * BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);         // expect two_copies_to_one_place: target overwritten in flight
        BULK_LOAD(tile, in + TILE, BYTES, &bar);  // expect two_copies_to_one_place: target overwritten in flight
    }
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void copies_that_overlap(float *in, float *out)  // by 16 bytes, and from two threads
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 2);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, 144);
        BULK_LOAD(tile, in, 144, &bar);  // expect copies_that_overlap: target overwritten in flight
    }
    if (threadIdx.x == 32) {
        MBARRIER_ARRIVE_EXPECT(&bar, 128);
        BULK_LOAD(tile + 32, in + 32, 128, &bar);  // expect copies_that_overlap: target overwritten in flight
    }
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void loaded_by_two_warps(float *in, float *out)  // each thinks that it is the producer
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 2);
    if (threadIdx.x % 32 == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in + threadIdx.x, BYTES, &bar);  // expect loaded_by_two_warps: target overwritten in flight
    }
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void small_copies_into_flight(float *in, float *out)  // cp.async fills the tail of what a bulk copy fills
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);                                                                               // expect small_copies_into_flight: target overwritten in flight
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(in_shared(&tile[60])), "l"(in + 70) : "memory");  // expect small_copies_into_flight: target overwritten in flight
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void atomics_in_flight(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);  // expect atomics_in_flight: target overwritten in flight
    }
    __syncthreads();
    atomicAdd(&tile[threadIdx.x / 2], 1.0f);  // expect atomics_in_flight: target overwritten in flight
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void not_waited_for_at_the_end(float *in, float *out)  // a buffer is reused for something else while a prefetch is on its way
{
    __shared__ alignas(16) float tile[2][TILE];
    __shared__ uint64_t full[2];
    float sum = 0;
    SET_UP(full, 1);
    for (int i = -1; i < 4; i++) {
        if (threadIdx.x == 0) {
            MBARRIER_ARRIVE_EXPECT(&full[(i + 1) % 2], BYTES);
            BULK_LOAD(tile[(i + 1) % 2], in + (i + 1) * TILE, BYTES, &full[(i + 1) % 2]);  // expect not_waited_for_at_the_end: target overwritten in flight
        }
        if (i >= 0) {
            MBARRIER_WAIT(&full[i % 2], i / 2 % 2);  // perhaps not_waited_for_at_the_end: target overwritten in flight
            sum += tile[i % 2][threadIdx.x];
            __syncthreads();
        }
    }
    tile[0][threadIdx.x] = sum;  // expect not_waited_for_at_the_end: target overwritten in flight
    __syncthreads();
    out[threadIdx.x] = tile[0][63 - threadIdx.x];
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
        KERNEL(nobody_releases),
        KERNEL(reader_is_first),
        KERNEL(released_before_it_is_read),
        KERNEL(one_of_two_counts_as_both),
        KERNEL(elected_lane_does_not_ask),
        KERNEL(producer_waits_for_the_tile_before),
        KERNEL(producers_phase_stands_still),
        KERNEL(one_stage_too_many),
        KERNEL(read_again_in_the_epilogue),
        KERNEL(read_by_ldmatrix),
        KERNEL(two_readers_count_as_one),
        KERNEL(written_in_flight),
        KERNEL(padded_in_flight),
        KERNEL(two_copies_to_one_place),
        KERNEL(copies_that_overlap),
        KERNEL(loaded_by_two_warps),
        KERNEL(small_copies_into_flight),
        KERNEL(atomics_in_flight),
        KERNEL(not_waited_for_at_the_end),
    };
    for (auto k : kernels)
        if (strcmp(name, k.name) == 0)
            k.kernel<<<1, strstr(name, "_as_") ? 96 : 64>>>(in, out);
    return cudaDeviceSynchronize();
}

// Barriers that count bytes: more or fewer are expected than come, arrivals are missing, parities are wrong, objects are used
// too early, too late or for something else. The first argument picks the kernel; a comment `expect NAME: KIND` marks a line
// that the report on it must name. tests/right/bulk_bytes.cu has the right ways.

#include <cuda/barrier>
#include <cuda/ptx>
#include <string.h>
#include "../hopper.h"

#define TILE 256
#define BYTES (TILE * 4)

namespace ptx = cuda::ptx;
namespace cde = cuda::device::experimental;

__global__ void twice_as_many(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, 2 * BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);
    }
    MBARRIER_WAIT(&bar, 0);  // expect twice_as_many: barrier deadlock, in bytes
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void elements_for_bytes(float *in, float *out)  // fewer are expected than come
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, TILE);
        BULK_LOAD(tile, in, BYTES, &bar);
    }
    MBARRIER_WAIT(&bar, 0);  // expect elements_for_bytes: barrier deadlock, in bytes
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void size_of_a_pointer(float *in, float *out)
{
    extern __shared__ __align__(16) float dynamic[];
    __shared__ uint64_t bar;
    float *tile = dynamic;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, (unsigned)sizeof tile);
        BULK_LOAD(tile, in, BYTES, &bar);
    }
    MBARRIER_WAIT(&bar, 0);  // expect size_of_a_pointer: barrier deadlock, in bytes
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void whole_tiles_at_the_edge(float *in, float *out)  // where the copy is shorter
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    const int n = 600;
    float sum = 0;
    SET_UP(bar, 1);
    for (int i = 0; i * TILE < n; i++) {
        if (threadIdx.x == 0) {
            int left = n - i * TILE;
            MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
            BULK_LOAD(tile, in + i * TILE, left < TILE ? left * 4 : BYTES, &bar);
        }
        MBARRIER_WAIT(&bar, i % 2);  // expect whole_tiles_at_the_edge: barrier deadlock, in bytes
        sum += tile[threadIdx.x];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}

__global__ void one_of_two_copies_left_out(float *in, float *out)
{
    __shared__ alignas(16) float a[TILE], b[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, 2 * BYTES);
        BULK_LOAD(a, in, BYTES, &bar);
        if (blockIdx.x > 0)
            BULK_LOAD(b, in + TILE, BYTES, &bar);
    }
    MBARRIER_WAIT(&bar, 0);  // expect one_of_two_copies_left_out: barrier deadlock, in bytes
    out[threadIdx.x] = a[threadIdx.x];
}

__global__ void expected_by_every_thread(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 64);
    MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
    if (threadIdx.x == 0)
        BULK_LOAD(tile, in, BYTES, &bar);
    MBARRIER_WAIT(&bar, 0);  // expect expected_by_every_thread: barrier deadlock, in bytes
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void expected_elsewhere(float *in, float *out)  // by the barrier of another stage
{
    __shared__ alignas(16) float tile[2][TILE];
    __shared__ uint64_t full[2];
    SET_UP(full, 1);
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; i++) {
            MBARRIER_ARRIVE_EXPECT(&full[0], BYTES);  // expect expected_elsewhere: too many arrivals
            BULK_LOAD(tile[i], in + i * TILE, BYTES, &full[i]);
        }
    for (int i = 0; i < 2; i++) {
        MBARRIER_WAIT(&full[i], 0);
        out[threadIdx.x] = tile[i][threadIdx.x];
    }
}

__global__ void counted_elsewhere(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar[2];
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar[0], BYTES);
        BULK_LOAD(tile, in, BYTES, &bar[1]);
    }
    MBARRIER_WAIT(&bar[0], 0);  // expect counted_elsewhere: barrier deadlock, in bytes
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void completed_by_hand_too(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);
        MBARRIER_COMPLETE(&bar, 16);
    }
    MBARRIER_WAIT(&bar, 0);  // expect completed_by_hand_too: barrier deadlock, in bytes
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void expected_once_more_each_round(float *in, float *out)  // by arrive.expect_tx, and by expect_tx before it
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    for (int i = 0; i < 2; i++) {
        if (threadIdx.x == 0) {
            if (i > 0)
                MBARRIER_EXPECT(&bar, BYTES);
            MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
            BULK_LOAD(tile, in, BYTES, &bar);
        }
        MBARRIER_WAIT(&bar, i);  // expect expected_once_more_each_round: barrier deadlock, in bytes
        out[threadIdx.x] = tile[threadIdx.x];
        __syncthreads();
    }
}

// ---- arrivals ----

__global__ void one_of_two_arrivals(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 2);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);
    }
    MBARRIER_WAIT(&bar, 0);  // expect one_of_two_arrivals: barrier deadlock, in arrivals
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void expect_is_no_arrival(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);
    }
    MBARRIER_WAIT(&bar, 0);  // expect expect_is_no_arrival: barrier deadlock, in arrivals
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void counted_for_the_block(float *in, float *out)  // and one thread arrives
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, blockDim.x);
    if (threadIdx.x == 0) {
        BULK_LOAD(tile, in, BYTES, &bar);
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
    }
    MBARRIER_WAIT(&bar, 0);  // expect counted_for_the_block: barrier deadlock, in arrivals
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void one_consumer_of_two_releases(float *in, float *out)  // so that the producer waits for ever, and then they
{
    __shared__ alignas(16) float tile[2][64];
    __shared__ uint64_t full[2], empty[2];
    SET_UP(full, 1);
    SET_UP(empty, 2);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (warp == 2 && lane == 0)
        for (int i = 0; i < 4; i++) {
            MBARRIER_WAIT(&empty[i % 2], (i / 2 + 1) % 2);  // expect one_consumer_of_two_releases: barrier deadlock, in arrivals
            MBARRIER_ARRIVE_EXPECT(&full[i % 2], 256u);
            BULK_LOAD(tile[i % 2], in + i * 64, 256u, &full[i % 2]);
        }
    if (warp < 2) {
        float sum = 0;
        for (int i = 0; i < 4; i++) {
            MBARRIER_WAIT(&full[i % 2], i / 2 % 2);  // expect one_consumer_of_two_releases: barrier deadlock, in arrivals
            sum += tile[i % 2][threadIdx.x];
            __syncwarp();
            if (lane == 0 && warp == i % 2)
                MBARRIER_ARRIVE(&empty[i % 2]);
        }
        out[threadIdx.x] = sum;
    }
}

__global__ void everybody_arrives(float *in, float *out)  // where one is expected
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);
    }
    __syncthreads();
    MBARRIER_ARRIVE(&bar);  // expect everybody_arrives: too many arrivals
    __syncthreads();
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void arrives_before_and_with_the_bytes(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_EXPECT(&bar, BYTES);
        MBARRIER_ARRIVE(&bar);
        BULK_LOAD(tile, in, BYTES, &bar);
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);  // expect arrives_before_and_with_the_bytes: too many arrivals
    }
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void dropped_and_still_counted(float *in, float *out)  // one who has dropped out arrives in the next phase
{
    __shared__ uint64_t bar;
    SET_UP(bar, 2);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive_drop.shared::cta.b64 _, [%0];" ::"r"(in_shared(&bar)) : "memory");
        MBARRIER_ARRIVE(&bar);
        MBARRIER_WAIT(&bar, 0);
        MBARRIER_ARRIVE_EXPECT(&bar, 64);
        MBARRIER_ARRIVE(&bar);  // expect dropped_and_still_counted: too many arrivals
    }
}

// ---- parities ----

__global__ void producer_begins_with_zero(float *in, float *out)  // every stage is empty, and nobody has arrived to say so
{
    __shared__ alignas(16) float tile[2][64];
    __shared__ uint64_t full[2], empty[2];
    SET_UP(full, 1);
    SET_UP(empty, 32);
    if (threadIdx.x == 0)
        for (int i = 0; i < 4; i++) {
            MBARRIER_WAIT(&empty[i % 2], i / 2 % 2);  // expect producer_begins_with_zero: barrier deadlock, in parity
            MBARRIER_ARRIVE_EXPECT(&full[i % 2], 256u);
            BULK_LOAD(tile[i % 2], in + i * 64, 256u, &full[i % 2]);
        }
    if (threadIdx.x >= 32) {
        float sum = 0;
        for (int i = 0; i < 4; i++) {
            MBARRIER_WAIT(&full[i % 2], i / 2 % 2);  // expect producer_begins_with_zero: barrier deadlock, in parity
            sum += tile[i % 2][threadIdx.x];
            MBARRIER_ARRIVE(&empty[i % 2]);
        }
        out[threadIdx.x] = sum;
    }
}

__global__ void second_phase_of_one(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);
    }
    for (int i = 0; i < 2; i++)
        MBARRIER_WAIT(&bar, i);  // expect second_phase_of_one: barrier deadlock, in parity
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void phase_kept_over_tiles(float *in, float *out)  // reset for each tile of a persistent loop of an odd length
{
    __shared__ alignas(16) float tile[64];
    __shared__ uint64_t bar;
    float sum = 0;
    SET_UP(bar, 1);
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 3; i++) {
            if (threadIdx.x == 0) {
                MBARRIER_ARRIVE_EXPECT(&bar, 256u);
                BULK_LOAD(tile, in + (j * 3 + i) * 64, 256u, &bar);  // expect phase_kept_over_tiles: race in shared memory
            }
            MBARRIER_WAIT(&bar, i % 2);  // perhaps phase_kept_over_tiles: race in shared memory
            sum += tile[threadIdx.x];    // expect phase_kept_over_tiles: race in shared memory
            __syncthreads();
        }
    out[threadIdx.x] = sum;
}

__global__ void polls_a_parity_that_does_not_come(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);
        BULK_LOAD(tile, in, BYTES, &bar);
    }
    MBARRIER_WAIT(&bar, 0);
    for (unsigned done = 0; !done;)
        asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 1; selp.b32 %0, 1, 0, p; }" : "=r"(done) : "r"(in_shared(&bar)) : "memory");  // expect polls_a_parity_that_does_not_come: barrier deadlock
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void parity_of_two_phases_ago(float *in, float *out)  // a reader that nobody waits for may be two phases late
{
    __shared__ alignas(16) float tile[64];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; i++) {
            MBARRIER_ARRIVE_EXPECT(&bar, 256u);
            BULK_LOAD(tile, in + i * 64, 256u, &bar);
            MBARRIER_WAIT(&bar, i);
        }
    if (threadIdx.x == 32)
        MBARRIER_WAIT(&bar, 0);  // expect parity_of_two_phases_ago: stale mbarrier phase, in parity
}

// ---- objects ----

__global__ void never_initialised(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    if (threadIdx.x == 0)
        BULK_LOAD(tile, in, BYTES, &bar);  // expect never_initialised: no mbarrier
}

__global__ void expects_nothing(float *in, float *out)  // nobody has initialised the second
{
    __shared__ uint64_t full[2];
    if (threadIdx.x == 0) {
        MBARRIER_INIT(&full[0], 1);
        FENCE_MBARRIER_INIT();
    }
    __syncthreads();
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; i++)
            MBARRIER_ARRIVE_EXPECT(&full[i], 64);  // expect expects_nothing: no mbarrier
}

__global__ void invalidated(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_INVAL(&bar);
        BULK_LOAD(tile, in, BYTES, &bar);  // expect invalidated: no mbarrier
    }
}

__global__ void initialised_by_another(float *in, float *out)  // no barrier between
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    if (threadIdx.x == 0) {
        MBARRIER_INIT(&bar, 1);  // expect initialised_by_another: race in shared memory
        FENCE_MBARRIER_INIT();
    }
    if (threadIdx.x == 32) {
        MBARRIER_ARRIVE_EXPECT(&bar, BYTES);  // expect initialised_by_another: race in shared memory
        BULK_LOAD(tile, in, BYTES, &bar);     // perhaps initialised_by_another: race in shared memory
        MBARRIER_WAIT(&bar, 0);               // perhaps initialised_by_another: race in shared memory
    }
}

__global__ void initialised_for_each_tile(float *in, float *out)  // while a copy counts on it
{
    __shared__ alignas(16) float tile[2][64];
    __shared__ uint64_t bar;
    for (int i = 0; i < 2; i++) {
        if (threadIdx.x == 0) {
            MBARRIER_INIT(&bar, 1);  // expect initialised_for_each_tile: mbarrier in use
            FENCE_MBARRIER_INIT();
            MBARRIER_ARRIVE_EXPECT(&bar, 256u);
            BULK_LOAD(tile[i], in + i * 64, 256u, &bar);  // perhaps initialised_for_each_tile: mbarrier in use
        }
        __syncthreads();
    }
    MBARRIER_WAIT(&bar, 0);
    out[threadIdx.x] = tile[1][threadIdx.x];
}

__global__ void initialised_under_waiters(float *in, float *out)
{
    __shared__ alignas(16) float tile[64];
    __shared__ uint64_t bar;
    SET_UP(bar, 2);
    if (threadIdx.x < 32) {
        MBARRIER_WAIT(&bar, 0);
    } else if (threadIdx.x == 32) {
        MBARRIER_ARRIVE_EXPECT(&bar, 256u);
        BULK_LOAD(tile, in, 256u, &bar);  // perhaps initialised_under_waiters: mbarrier in use
        MBARRIER_INIT(&bar, 1);           // expect initialised_under_waiters: mbarrier in use
        MBARRIER_ARRIVE_EXPECT(&bar, 256u);
    }
}

__global__ void invalidated_in_flight(float *in, float *out)
{
    __shared__ alignas(16) float tile[64];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, 256u);
        BULK_LOAD(tile, in, 256u, &bar);  // perhaps invalidated_in_flight: mbarrier in use
        MBARRIER_INVAL(&bar);             // expect invalidated_in_flight: mbarrier in use
    }
}

__global__ void reset_between_kernels_parts(float *in, float *out)  // bytes are expected, and none are under way
{
    __shared__ alignas(16) float tile[64];
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, 512u);
        BULK_LOAD(tile, in, 256u, &bar);  // perhaps reset_between_kernels_parts: mbarrier in use
    }
    __syncthreads();
    if (threadIdx.x == 32)
        MBARRIER_INIT(&bar, 1);  // expect reset_between_kernels_parts: mbarrier in use
}

__global__ void copied_over(float *in, float *out)  // the barrier lies in the tile's padding
{
    __shared__ struct {
        alignas(16) float tile[60];
        uint64_t bar;
        float rest[2];
    } s;
    SET_UP(s.bar, 1);  // perhaps copied_over: access to an mbarrier
    if (threadIdx.x == 0) {
        MBARRIER_ARRIVE_EXPECT(&s.bar, 256u);
        BULK_LOAD(s.tile, in, 256u, &s.bar);  // expect copied_over: access to an mbarrier
    }
    MBARRIER_WAIT(&s.bar, 0);
}

__global__ void stored_as_data(float *in, float *out)
{
    __shared__ struct {
        alignas(16) float tile[60];
        uint64_t bar;
        float rest[2];
    } s;
    SET_UP(s.bar, 1);  // perhaps stored_as_data: access to an mbarrier
    if (threadIdx.x < 60)
        s.tile[threadIdx.x] = 1;
    FENCE_ASYNC_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        BULK_STORE(out, s.tile, 256u);  // expect stored_as_data: access to an mbarrier
        BULK_COMMIT();
        BULK_WAIT(0);
    }
}

__global__ void more_than_a_phase_counts(float *in, float *out)
{
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0)
        for (int i = 0; i < 3; i++)
            MBARRIER_EXPECT(&bar, 400000);  // expect more_than_a_phase_counts: too many bytes
}

__global__ void negative_bytes(float *in, float *out)
{
    __shared__ uint64_t bar;
    SET_UP(bar, 1);
    if (threadIdx.x == 0)
        MBARRIER_ARRIVE_EXPECT(&bar, 64 - 1152);  // expect negative_bytes: too many bytes
}

__global__ void misplaced_by_four(float *in, float *out)
{
    __shared__ alignas(16) float tile[64];
    __shared__ alignas(8) unsigned words[4];
    if (threadIdx.x == 0) {
        uint64_t *bar = (uint64_t *)&words[1];
        MBARRIER_INIT(bar, 1);  // expect misplaced_by_four: misaligned access
        FENCE_MBARRIER_INIT();
        MBARRIER_ARRIVE_EXPECT(bar, 256u);
        BULK_LOAD(tile, in, 256u, bar);
    }
}

__global__ void of_a_block_that_is_not_there(float *in, float *out)  // the launch asks for no clusters
{
    __shared__ uint64_t bar;
    unsigned other;
    SET_UP(bar, 1);
    asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(other) : "r"(in_shared(&bar)));  // expect of_a_block_that_is_not_there: invalid rank
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(other) : "memory");
}

// ---- by cuda::barrier and cuda::ptx ----

using barrier = cuda::barrier<cuda::thread_scope_block>;
#pragma nv_diag_suppress static_var_with_dynamic_init

__global__ void too_many_by_arrive_tx(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ barrier bar;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_global_to_shared(tile, in, BYTES / 2, bar);
        token = cuda::device::barrier_arrive_tx(bar, 1, BYTES);
    } else {
        token = bar.arrive();
    }
    bar.wait(std::move(token));  // expect too_many_by_arrive_tx: barrier deadlock, in bytes
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void arrives_for_the_block(float *in, float *out)  // and so do the others
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ barrier bar;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_global_to_shared(tile, in, BYTES, bar);
        token = cuda::device::barrier_arrive_tx(bar, blockDim.x, BYTES);  // perhaps arrives_for_the_block: too many arrivals
    } else {
        token = bar.arrive();  // expect arrives_for_the_block: too many arrivals
    }
    bar.wait(std::move(token));
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void expects_twice_by_ptx(float *in, float *out)
{
    __shared__ alignas(16) float tile[TILE];
    __shared__ uint64_t bar;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::mbarrier_expect_tx(ptx::sem_relaxed, ptx::scope_cta, ptx::space_shared, &bar, BYTES);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in, BYTES, &bar);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, BYTES);
    }
    while (!ptx::mbarrier_try_wait_parity(&bar, 0))  // expect expects_twice_by_ptx: barrier deadlock, in bytes
        ;
    out[threadIdx.x] = tile[threadIdx.x];
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
        KERNEL(twice_as_many),
        KERNEL(elements_for_bytes),
        KERNEL(size_of_a_pointer),
        KERNEL(whole_tiles_at_the_edge),
        KERNEL(one_of_two_copies_left_out),
        KERNEL(expected_by_every_thread),
        KERNEL(expected_elsewhere),
        KERNEL(counted_elsewhere),
        KERNEL(completed_by_hand_too),
        KERNEL(expected_once_more_each_round),
        KERNEL(one_of_two_arrivals),
        KERNEL(expect_is_no_arrival),
        KERNEL(counted_for_the_block),
        KERNEL(one_consumer_of_two_releases),
        KERNEL(everybody_arrives),
        KERNEL(arrives_before_and_with_the_bytes),
        KERNEL(dropped_and_still_counted),
        KERNEL(producer_begins_with_zero),
        KERNEL(second_phase_of_one),
        KERNEL(phase_kept_over_tiles),
        KERNEL(polls_a_parity_that_does_not_come),
        KERNEL(parity_of_two_phases_ago),
        KERNEL(never_initialised),
        KERNEL(expects_nothing),
        KERNEL(invalidated),
        KERNEL(initialised_by_another),
        KERNEL(initialised_for_each_tile),
        KERNEL(initialised_under_waiters),
        KERNEL(invalidated_in_flight),
        KERNEL(reset_between_kernels_parts),
        KERNEL(copied_over),
        KERNEL(stored_as_data),
        KERNEL(more_than_a_phase_counts),
        KERNEL(negative_bytes),
        KERNEL(misplaced_by_four),
        KERNEL(of_a_block_that_is_not_there),
        KERNEL(too_many_by_arrive_tx),
        KERNEL(arrives_for_the_block),
        KERNEL(expects_twice_by_ptx),
    };
    for (auto k : kernels)
        if (strcmp(name, k.name) == 0)
            k.kernel<<<1, strcmp(name, "one_consumer_of_two_releases") == 0 ? 96 : 64, BYTES>>>(in, out);
    return cudaDeviceSynchronize();
}

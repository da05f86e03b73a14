// Mbarriers of another block, by what a GPU has no such operation for, or which orders nothing.
#include "cluster_kernels.h"

#define SET_UP_PAIR(BAR, COUNT) \
    __shared__ uint64_t BAR; \
    unsigned other = cluster_rank() ^ 1, i = threadIdx.x; \
    (void)i; \
    CLUSTER_SET_UP(BAR, COUNT)

// The generic address of the same in the other block.
template <typename T> static __device__ __forceinline__ T *elsewhere(T *own, unsigned rank)
{
    unsigned long long there;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(own), "r"(rank));
    return (T *)there;
}

__global__ void tests_elsewhere(const float *in, float *out)
{
    unsigned over;
    SET_UP_PAIR(bar, 32);
    REMOTE_ARRIVE(mapped(&bar, other));
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(over)
                 : "l"(elsewhere(&bar, other))
                 : "memory");  // expect tests_elsewhere: invalid mbarrier
    out[blockIdx.x * 32 + i] = over;
    CLUSTER_SYNC();
}

__global__ void initialises_elsewhere(const float *in, float *out)
{
    SET_UP_PAIR(bar, 32);
    if (i == 0)
        asm volatile("mbarrier.init.b64 [%0], 1;" ::"l"(elsewhere(&bar, other)) : "memory");  // expect initialises_elsewhere: invalid mbarrier
    CLUSTER_SYNC();
}

__global__ void invalidates_elsewhere(const float *in, float *out)
{
    SET_UP_PAIR(bar, 32);
    if (i == 0)
        asm volatile("mbarrier.inval.b64 [%0];" ::"l"(elsewhere(&bar, other)) : "memory");  // expect invalidates_elsewhere: invalid mbarrier
    CLUSTER_SYNC();
}

__global__ void arrives_elsewhere_behind_copies(const float *in, float *out)
{
    SET_UP_PAIR(bar, 32);
    asm volatile("cp.async.mbarrier.arrive.noinc.b64 [%0];" ::"l"(elsewhere(&bar, other)) : "memory");  // expect arrives_elsewhere_behind_copies: invalid mbarrier
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    CLUSTER_SYNC();
}

__global__ void releases_to_its_own_block(const float *in, float *out)  // whereas the other one waits
{
    __shared__ unsigned got[32];
    SET_UP_PAIR(bar, 32);
    REMOTE_STORE(mapped(&got[i], other), 5);  // expect releases_to_its_own_block: race in shared memory
    asm volatile("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0];" ::"r"(mapped(&bar, other)) : "memory");
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * 32 + i] = got[i];  // expect releases_to_its_own_block: race in shared memory
    CLUSTER_SYNC();
}

__global__ void relaxed_arrival(const float *in, float *out)
{
    __shared__ unsigned got[32];
    SET_UP_PAIR(bar, 32);
    REMOTE_STORE(mapped(&got[i], other), 5);  // expect relaxed_arrival: race in shared memory
    asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(mapped(&bar, other)) : "memory");
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * 32 + i] = got[i];  // expect relaxed_arrival: race in shared memory
    CLUSTER_SYNC();
}

__global__ void bytes_order_nothing(const float *in, float *out)  // of a thread that completes them, and does not arrive
{
    __shared__ unsigned got[32];
    SET_UP_PAIR(bar, 1);
    if (i == 0) {
        MBARRIER_ARRIVE_EXPECT(&bar, 32);
    }
    REMOTE_STORE(mapped(&got[i], other), 5);  // expect bytes_order_nothing: race in shared memory
    asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], 1;" ::"r"(mapped(&bar, other)) : "memory");
    CLUSTER_MBARRIER_WAIT(&bar, 0);
    out[blockIdx.x * 32 + i] = got[i];  // expect bytes_order_nothing: race in shared memory
    CLUSTER_SYNC();
}

__global__ void expects_too_many(const float *in, float *out)
{
    SET_UP_PAIR(bar, 1);
    if (i < 2)
        asm volatile("mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%0], 1048575;" ::"r"(mapped(&bar, other)) : "memory");  // expect expects_too_many: too many bytes
    CLUSTER_SYNC();
}

__global__ void drops_more_than_there_are(const float *in, float *out)
{
    SET_UP_PAIR(bar, 32);
    asm volatile("mbarrier.arrive_drop.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(mapped(&bar, other)) : "memory");
    CLUSTER_SYNC();
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], 2;" ::"r"(mapped(&bar, other)) : "memory");  // expect drops_more_than_there_are: too many arrivals
    CLUSTER_SYNC();
}

int main(int argc, char **argv)
{
#define KERNEL(NAME) {#NAME, NAME, 2, 32}
    static const struct faulty kernels[] = {KERNEL(tests_elsewhere),
                                            KERNEL(initialises_elsewhere),
                                            KERNEL(invalidates_elsewhere),
                                            KERNEL(arrives_elsewhere_behind_copies),
                                            KERNEL(releases_to_its_own_block),
                                            KERNEL(relaxed_arrival),
                                            KERNEL(bytes_order_nothing),
                                            KERNEL(expects_too_many),
                                            KERNEL(drops_more_than_there_are)};
    return run_named(argc, argv, kernels, sizeof kernels / sizeof *kernels);
}

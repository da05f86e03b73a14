// What threads do with mbarriers of another block of the cluster, in every form, and who may leave behind it.

#include "../cluster.h"
#include "right.h"

#define REMOTE(FORM, ADDRESS) asm volatile("mbarrier." FORM " [%0];" ::"r"(ADDRESS) : "memory")
#define REMOTE_ANY(FORM, ADDRESS, N) asm volatile("mbarrier." FORM " [%0], %1;" ::"r"(ADDRESS), "r"(N) : "memory")

// Every form of an arrival, by the first thread of the other block; what it stored before lies open behind a .release.
__global__ void __cluster_dims__(2) forms(unsigned *out)
{
    __shared__ unsigned got[8];
    __shared__ uint64_t bar[8];
    unsigned other = cluster_rank() ^ 1, value = 10 * cluster_rank();
    CLUSTER_SET_UP(bar, 4);
    if (threadIdx.x == 0) {
        for (unsigned k = 0; k < 8; k++)
            REMOTE_STORE(mapped(&got[k], other), value + k);
        REMOTE_ANY("arrive.shared::cluster.b64 _,", mapped(&bar[0], other), 4);
        REMOTE_ANY("arrive.release.cluster.shared::cluster.b64 _,", mapped(&bar[1], other), 3);
        REMOTE("arrive.release.cluster.shared::cluster.b64 _,", mapped(&bar[1], other));
        REMOTE_ANY("arrive_drop.release.cluster.shared::cluster.b64 _,", mapped(&bar[2], other), 2);
        REMOTE_ANY("arrive_drop.shared::cluster.b64 _,", mapped(&bar[2], other), 2);
        REMOTE_ANY("arrive.expect_tx.release.cluster.shared::cluster.b64 _,", mapped(&bar[3], other), 100);
        REMOTE_ANY("complete_tx.relaxed.cluster.shared::cluster.b64", mapped(&bar[3], other), 100);
        REMOTE_ANY("arrive.shared::cluster.b64 _,", mapped(&bar[3], other), 3);
        REMOTE_ANY("complete_tx.shared::cluster.b64", mapped(&bar[4], other), 30);  // before they are expected
        REMOTE_ANY("expect_tx.relaxed.cluster.shared::cluster.b64", mapped(&bar[4], other), 30);
        REMOTE_ANY("arrive.shared::cluster.b64 _,", mapped(&bar[4], other), 4);
        REMOTE_ANY("arrive_drop.expect_tx.release.cluster.shared::cluster.b64 _,", mapped(&bar[5], other), 8);
        REMOTE_ANY("complete_tx.shared::cluster.b64", mapped(&bar[5], other), 8);
        REMOTE_ANY("arrive.shared::cluster.b64 _,", mapped(&bar[5], other), 3);
        unsigned long long there, token;
        asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(&bar[6]), "r"(other));
        for (int n = 0; n < 4; n++)
            asm volatile("mbarrier.arrive.b64 %0, [%1];" : "=l"(token) : "l"(there) : "memory");
        asm volatile("fence.acq_rel.cluster;" ::: "memory");
        REMOTE_ANY("arrive.relaxed.cluster.shared::cluster.b64 _,", mapped(&bar[7], other), 4);  // the fence releases
    }
    __syncwarp();
    if (threadIdx.x < 8) {
        CLUSTER_MBARRIER_WAIT(&bar[threadIdx.x], 0);
        out[blockIdx.x * 8 + threadIdx.x] = got[threadIdx.x];
    }
    CLUSTER_SYNC();
}

// The second block arrives and leaves; what it did is done when the first has waited, also where it orders nothing.
__global__ void __cluster_dims__(2) arrives_and_leaves(unsigned *out)
{
    __shared__ uint64_t bar[2];
    CLUSTER_SET_UP(bar, 32);
    if (cluster_rank() == 1) {
        REMOTE("arrive.relaxed.cluster.shared::cluster.b64 _,", mapped(&bar[0], 0));
        REMOTE_ANY("expect_tx.relaxed.cluster.shared::cluster.b64", mapped(&bar[1], 0), 4);
        REMOTE_ANY("complete_tx.relaxed.cluster.shared::cluster.b64", mapped(&bar[1], 0), 4);
        REMOTE("arrive.release.cta.shared::cluster.b64 _,", mapped(&bar[1], 0));
        return;
    }
    CLUSTER_MBARRIER_WAIT(&bar[0], 0);
    CLUSTER_MBARRIER_WAIT(&bar[1], 0);
    out[threadIdx.x] = 1;
}

// Two blocks take turns, by an arrival of one thread for its warp, over more phases than parities tell apart.
__global__ void __cluster_dims__(2) turns(unsigned *out, int rounds)
{
    __shared__ unsigned count;
    __shared__ uint64_t mine;
    unsigned rank = cluster_rank(), other = rank ^ 1;
    if (threadIdx.x == 0)
        count = 0;
    CLUSTER_SET_UP(mine, 1);
    for (int round = 0; round < rounds; round++) {
        if (rank == 1 || round > 0)
            CLUSTER_MBARRIER_WAIT(&mine, (rank == 1 ? round : round - 1) % 2);
        unsigned seen;
        REMOTE_LOAD(seen, mapped(&count, 0));
        __syncwarp();
        if (threadIdx.x == 0) {
            REMOTE_STORE(mapped(&count, 0), seen + 1);
            REMOTE_ARRIVE(mapped(&mine, other));
        }
        __syncwarp();
    }
    CLUSTER_SYNC();
    if (rank == 0)
        out[threadIdx.x] = count;
}

int main()
{
    unsigned *out;
    CHECK(cudaMallocManaged(&out, 64 * sizeof *out));
    forms<<<2, 32>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (unsigned i = 0; i < 16; i++)
        SAME(out[i], 10 * (1 - i / 8) + i % 8);
    arrives_and_leaves<<<2, 32>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 32; i++)
        SAME(out[i], 1);
    turns<<<2, 32>>>(out, 9);
    CHECK(cudaDeviceSynchronize());
    SAME(out[31], 18);
    finish();
}

// As many clusters as the GPU holds at once may wait for each other, however many SMs it has. tests/test_right.py runs it on few SMs, whose
// number the emulator's workers do not divide.
#include "../cluster.h"
#include "right.h"

enum { THREADS = 64, SHARED = 150 * 1024 };  // bytes, of which an SM holds one block's

// All blocks meet ROUNDS times: none goes on before all have come.
enum { ROUNDS = 3 };
__global__ void meet(unsigned *arrived)
{
    for (unsigned round = 1; round <= ROUNDS; round++) {
        if (threadIdx.x == 0) {
            atomicAdd(arrived, 1);
            while (atomicAdd(arrived, 0) < round * gridDim.x)
                ;
        }
        __syncthreads();
    }
}

static void expect_meeting(unsigned cluster)
{
    unsigned *arrived;
    int clusters;
    CHECK(cudaFuncSetAttribute(meet, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED));
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = cluster, attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = cluster, config.blockDim = THREADS, config.dynamicSmemBytes = SHARED;
    config.attrs = &attribute, config.numAttrs = 1;
    CHECK(cudaOccupancyMaxActiveClusters(&clusters, meet, &config));
    CHECK(cudaMalloc(&arrived, sizeof *arrived));
    CHECK(cudaMemset(arrived, 0, sizeof *arrived));
    config.gridDim = clusters * cluster;
    CHECK(cudaLaunchKernelEx(&config, meet, arrived));
    unsigned came;
    CHECK(cudaMemcpy(&came, arrived, sizeof came, cudaMemcpyDeviceToHost));
    SAME(clusters > 0, 1);
    SAME(came, ROUNDS * clusters * cluster);
    CHECK(cudaFree(arrived));
}

int main()
{
    expect_meeting(1);
    expect_meeting(2);
    return 0;
}

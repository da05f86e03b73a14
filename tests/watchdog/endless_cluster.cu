// One block of a cluster polls for what the other does behind the cluster's barrier, to which the first does not come.
#include "../cluster.h"

__global__ void __cluster_dims__(2) polls()
{
    __shared__ int flag;
    flag = 0;
    CLUSTER_SYNC();
    if (cluster_rank() == 0)
        while (atomicAdd(&flag, 0) == 0) {
        }
    CLUSTER_SYNC();
    if (cluster_rank() == 1)
        REMOTE_STORE(mapped(&flag, 0), 1);
    CLUSTER_SYNC();
}

int main()
{
    polls<<<2, 1>>>();
    return cudaDeviceSynchronize();
}

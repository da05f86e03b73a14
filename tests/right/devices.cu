// What there is to ask of devices, peers and streams where there may be one GPU alone.
#include "right.h"
#include <string.h>

__global__ void twice(int *x) { *x *= 2; }

int main(void)
{
    cudaDeviceProp prop;
    char bus[32];
    CHECK(cudaGetDeviceProperties(&prop, 0));
    SAME(prop.maxTexture2D[0] >= 65536 && prop.maxTexture3D[2] >= 4096 && prop.surfaceAlignment > 0, 1);
    CHECK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
    SAME(strlen(bus) >= 12, 1);

    int host = 21, *from = to_device(&host, 1), *to = to_device<int>(NULL, 1), got;
    CHECK(cudaMemcpyPeer(to, 0, from, 0, sizeof host));
    CHECK(cudaMemcpyPeerAsync(from, 0, to, 0, sizeof host));
    CHECK(cudaMemcpy(&got, from, sizeof got, cudaMemcpyDeviceToHost));
    SAME(got, 21);

    cudaStream_t stream;
    cudaStreamAttrValue value = {};
    CHECK(cudaStreamCreate(&stream));
    value.accessPolicyWindow.base_ptr = to;
    value.accessPolicyWindow.hitProp = cudaAccessPropertyStreaming;
    value.accessPolicyWindow.missProp = cudaAccessPropertyNormal;
    CHECK(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value));
    CHECK(cudaCtxResetPersistingL2Cache());

    cudaMemPool_t pool;
    cudaMemAccessDesc access = {};
    access.location.type = cudaMemLocationTypeDevice;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolSetAccess(pool, &access, 1));

    int *hosts, *kernels;  // of two managed variables, the host may touch the one that no kernel has
    CHECK(cudaMallocManaged(&hosts, sizeof *hosts));
    CHECK(cudaMallocManaged(&kernels, sizeof *kernels));
    *kernels = 4;
    CHECK(cudaStreamAttachMemAsync(stream, hosts, 0, cudaMemAttachHost));
    CHECK(cudaStreamSynchronize(stream));
    twice<<<1, 1, 0, stream>>>(kernels);
    *hosts = 5;
    CHECK(cudaStreamSynchronize(stream));
    SAME(*kernels + *hosts, 13);
    finish();
    return 0;
}

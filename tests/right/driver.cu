// The driver API beside tensor maps, as the runtime finds it; and parameters of the grid, which each thread sees at one place.
#include "right.h"
#include <cuda.h>
#include <cudaTypedefs.h>
#include <string.h>

template <typename F> static F found(const char *name)
{
    void *function = NULL;
    cudaDriverEntryPointQueryResult query;
    CHECK(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &query));
    SAME(query, cudaDriverEntryPointSuccess);
    return (F)function;
}

static void about_the_device()
{
    int version = 0, count = 0, major = 0, same = 0;
    CUdevice device = -1, none = -1;
    size_t bytes = 0;
    char name[64] = "";
    CUcontext context = NULL, current = NULL;
    SAME(found<CUresult (*)(unsigned)>("cuInit")(0), CUDA_SUCCESS);
    SAME(found<CUresult (*)(int *)>("cuDriverGetVersion")(&version), CUDA_SUCCESS);
    SAME(version >= 12000, true);
    SAME(found<CUresult (*)(int *)>("cuDeviceGetCount")(&count), CUDA_SUCCESS);
    SAME(count >= 1, true);
    auto get = found<CUresult (*)(CUdevice *, int)>("cuDeviceGet");
    SAME(get(&device, 0), CUDA_SUCCESS);
    SAME(get(&none, count), CUDA_ERROR_INVALID_DEVICE);
    SAME(get(NULL, 0), CUDA_ERROR_INVALID_VALUE);
    SAME(found<CUresult (*)(char *, int, CUdevice)>("cuDeviceGetName")(name, sizeof name, device), CUDA_SUCCESS);
    SAME(strlen(name) > 0, true);
    auto attribute = found<CUresult (*)(int *, CUdevice_attribute, CUdevice)>("cuDeviceGetAttribute");
    SAME(attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device), CUDA_SUCCESS);
    CHECK(cudaDeviceGetAttribute(&same, cudaDevAttrComputeCapabilityMajor, 0));
    SAME(major, same);
    SAME(attribute(&same, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, device), CUDA_SUCCESS);
    SAME(same, major >= 9);
    SAME(found<CUresult (*)(size_t *, CUdevice)>("cuDeviceTotalMem")(&bytes, device), CUDA_SUCCESS);
    SAME(bytes > 1 << 30, true);
    SAME(found<CUresult (*)(CUcontext *, CUdevice)>("cuDevicePrimaryCtxRetain")(&context, device), CUDA_SUCCESS);
    SAME(found<CUresult (*)(CUcontext)>("cuCtxSetCurrent")(context), CUDA_SUCCESS);
    SAME(found<CUresult (*)(CUcontext *)>("cuCtxGetCurrent")(&current), CUDA_SUCCESS);
    SAME(current == context, true);
    SAME(found<CUresult (*)(CUdevice *)>("cuCtxGetDevice")(&none), CUDA_SUCCESS);
    SAME(none, device);
    SAME(found<CUresult (*)()>("cuCtxSynchronize")(), CUDA_SUCCESS);
    SAME(found<CUresult (*)(CUdevice)>("cuDevicePrimaryCtxRelease")(device), CUDA_SUCCESS);
}

struct constants {
    int n;
    float values[32];
};

// Each thread leaves where it sees the parameters, and what it reads there.
template <typename T>
__global__ void seen(const __grid_constant__ T c, int copied, const __grid_constant__ int scale, const void **places,
                     float *out)
{
    const T *all = &c;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    copied += i;
    places[2 * i] = all;
    places[2 * i + 1] = &scale;
    out[i] = all->values[i % all->n] * scale + copied;
    if (c.n == 0)
        return;
    out[i] += c.values[0];
}

// Parameters that have no name, or come behind a pack; one that no name hides is seen through a lambda.
template <class... A>
__global__ void behind_others(const __grid_constant__ constants, A... a, const __grid_constant__ constants c,
                              float *out)
{
    auto last = [&] { return c.values[c.n - 1]; };
    *out = (a + ... + last());
}

int main()
{
    enum { BLOCKS = 3, THREADS = 40, ALL = BLOCKS * THREADS };
    about_the_device();
    constants c = {5, {1, 2, 3, 4, 5}};
    const void **places = to_device<const void *>(NULL, 2 * ALL);
    float *out = to_device<float>(NULL, ALL);
    seen<<<BLOCKS, THREADS>>>(c, 100, 10, places, out);
    const void **at = to_host(places, 2 * ALL);
    float *got = to_host(out, ALL);
    for (int i = 0; i < ALL; i++) {
        SAME(got[i], (i % 5 + 1) * 10 + 100 + i + 1);
        SAME(at[2 * i] == at[0] && at[2 * i + 1] == at[1], true);
    }
    behind_others<int, int><<<1, 1>>>(constants{}, 10, 20, c, out);
    SAME(to_host(out, 1)[0], 10 + 20 + 5);
    return 0;
}

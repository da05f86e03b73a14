// Headers of the toolkit beside cuda_runtime.h: what cuda::std has of the standard library, complex numbers, thrust's
// vectors, and the types of tensor maps.
#include "right.h"
#include <cuComplex.h>
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_bf16.h>
#include <cuda_bf16.hpp>
#include <cuda_fp16.h>
#include <cuda_fp16.hpp>
#include <cuda_fp8.h>
#include <cuda_fp8.hpp>
#include <cuda/std/array>
#include <cuda/std/cassert>
#include <cuda/std/complex>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <cuda/std/optional>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>

class secret
{
    int value;
    friend __global__ void reveal(secret s, int *out);

public:
    __host__ __device__ secret(int v) : value(v) {}
};
__global__ void reveal(secret s, int *out) { *out = s.value; }

__global__ void standard(int *out, cuda::std::array<int, 3> a)
{
    cuda::std::tuple<int, float> two(1, 2.5f);
    cuda::std::optional<int> perhaps;
    if (threadIdx.x == 0)
        perhaps = 4;
    cuda::std::pair<int, int> both = cuda::std::make_pair(5, 6);
    cuda::std::swap(both.first, both.second);
    assert(a[0] == 1);
    cuda::std::plus<> plus;
    cuda::std::complex<float> z(1, 2);
    z *= z;
    static_assert(cuda::std::is_same<decltype(z)::value_type, float>::value, "");
    *out = cuda::std::get<0>(two) + (int)cuda::std::get<1>(two) + perhaps.value_or(0) + both.first + plus(a[1], a[2]) +
           (int)z.imag() + cuda::std::numeric_limits<signed char>::max();
}

__global__ void complex_numbers(double *out, cuComplex a, cuDoubleComplex b)
{
    cuComplex turned = cuCmulf(a, make_cuFloatComplex(0, 1)), back = cuCdivf(turned, a);
    out[0] = cuCrealf(turned);
    out[1] = cuCimagf(back);
    out[2] = cuCabsf(make_cuComplex(3, 4));
    out[3] = cuCimag(cuCadd(b, cuConj(b)));
    out[4] = cuCimagf(cuCfmaf(a, a, a));
    out[5] = cuCreal(cuCdiv(make_cuDoubleComplex(1e300, 0), make_cuDoubleComplex(0.5e300, 0)));
}

__global__ void mapped(const __grid_constant__ CUtensorMap map, int *out)
{
    *out = sizeof(map) + (alignof(CUtensorMap) >= 64);
}

__global__ void twice(float *values) { values[threadIdx.x] *= 2; }

int main()
{
    int *out = to_device<int>(NULL, 1);
    double *numbers = to_device<double>(NULL, 6);
    reveal<<<1, 1>>>(6, out);
    SAME(to_host(out, 1)[0], 6);
    standard<<<1, 1>>>(out, {1, 2, 3});
    SAME(to_host(out, 1)[0], 1 + 2 + 4 + 6 + 5 + 4 + 127);
    complex_numbers<<<1, 1>>>(numbers, make_cuComplex(1, 2), make_cuDoubleComplex(1, 5));
    double want[] = {-2, 1, 5, 0, 6, 2};
    for (int i = 0; i < 6; i++)
        SAME(to_host(numbers, 6)[i], want[i]);
    mapped<<<1, 1>>>(CUtensorMap{}, out);
    SAME(to_host(out, 1)[0], 129);

    thrust::host_vector<float> host(8, 1.5f);
    thrust::device_vector<float> device = host, zeros(8);
    twice<<<1, 8>>>(thrust::raw_pointer_cast(device.data()));
    device[3] = 7;
    host = device;
    SAME(host[2] + host[3] + device[4], 3 + 7 + 3);
    thrust::copy(zeros.begin(), zeros.end(), device.begin());
    thrust::copy(host.begin(), host.begin() + 4, device.begin() + 4);
    thrust::copy(device.begin() + 3, device.end(), host.begin());
    SAME(host[0] + host[1] + host[4] + device.size(), 0 + 3 + 7 + 8);
    return 0;
}

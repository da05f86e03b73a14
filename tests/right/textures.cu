// Textures and surfaces: formats, addressing, filtering, arrays in one to three dimensions, layers and cubes.
#include "right.h"

enum { W = 8, H = 4, D = 2 };

template <typename T> static cudaArray_t array_of(const T *host, int w, int h, int d, unsigned flags)
{
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
    CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(w, h, d), flags));
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr((void *)host, w * sizeof(T), w, h ? h : 1);
    p.dstArray = array;
    p.extent = make_cudaExtent(w, h ? h : 1, d ? d : 1);
    p.kind = cudaMemcpyHostToDevice;
    if (host)
        CHECK(cudaMemcpy3D(&p));
    return array;
}

static cudaResourceDesc resource_of(cudaArray_t array)
{
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeArray;
    r.res.array.array = array;
    return r;
}

static cudaTextureObject_t texture_of(cudaResourceDesc r, cudaTextureAddressMode address, bool linear, bool normalized,
                                      cudaTextureReadMode read = cudaReadModeElementType)
{
    cudaTextureObject_t texture;
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = address;
    how.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
    how.normalizedCoords = normalized;
    how.readMode = read;
    CHECK(cudaCreateTextureObject(&texture, &r, &how, NULL));
    return texture;
}

__global__ void sample1(cudaTextureObject_t t, const float *at, float *out)
{
    out[threadIdx.x] = tex1D<float>(t, at[threadIdx.x]);
}
__global__ void sample2(cudaTextureObject_t t, float2 at, float *out) { *out = tex2D<float>(t, at.x, at.y); }
__global__ void sample3(cudaTextureObject_t t, float x, float y, float z, float *out)
{
    *out = tex3D<float>(t, x, y, z);
}
__global__ void sample_layer(cudaTextureObject_t t, float x, float y, int layer, float *out)
{
    tex2DLayered(out, t, x, y, layer);
}
__global__ void sample_cube(cudaTextureObject_t t, const float3 *d, float *out)
{
    out[threadIdx.x] = texCubemap<float>(t, d[threadIdx.x].x, d[threadIdx.x].y, d[threadIdx.x].z);
}
__global__ void sample_bytes(cudaTextureObject_t raw, cudaTextureObject_t normalized, int4 *numbers, float4 *shares)
{
    uchar4 v = tex2D<uchar4>(raw, 1, 0);
    *numbers = make_int4(v.x, v.y, v.z, v.w);
    *shares = tex2D<float4>(normalized, 1, 0);
}
__global__ void sample_shorts(cudaTextureObject_t raw, cudaTextureObject_t normalized, float *out)
{
    out[0] = tex1Dfetch<short>(raw, 1);
    out[1] = tex1Dfetch<float>(normalized, 1);
    out[2] = tex1Dfetch<short>(raw, 99);
}
__global__ void fill(cudaSurfaceObject_t s)
{
    surf2Dwrite(10.0f * threadIdx.y + threadIdx.x, s, threadIdx.x * (int)sizeof(float), threadIdx.y);
}
__global__ void turn(cudaSurfaceObject_t s, float *out)
{
    float v;
    surf2Dread(&v, s, threadIdx.x * (int)sizeof(float), threadIdx.y);
    float outside = surf2Dread<float>(s, -4, 0, cudaBoundaryModeZero);
    float edge = surf2Dread<float>(s, 400, 0, cudaBoundaryModeClamp);
    out[threadIdx.y * W + threadIdx.x] = v + outside + edge;
}

static void in_one_dimension(void)
{
    const float host[4] = {0, 10, 20, 30};
    const float at[5] = {-0.5f, 0.5f, 1.25f, 3.75f, 9};
    const float unit[5] = {-0.125f, 0.125f, 0.3125f, 0.9375f, 1.125f};
    float *places = to_device(at, 5), *units = to_device(unit, 5), *out = to_device<float>(NULL, 5), got[5];
    cudaArray_t array = array_of(host, 4, 0, 0, 0);
    struct {
        cudaTextureAddressMode address;
        bool linear, normalized;
        float want[5];
    } cases[] = {
        {cudaAddressModeClamp, false, false, {0, 0, 10, 30, 30}},
        {cudaAddressModeClamp, true, false, {0, 0, 7.5f, 30, 30}},
        {cudaAddressModeBorder, false, false, {0, 0, 10, 30, 0}},
        {cudaAddressModeWrap, false, true, {30, 0, 10, 30, 0}},
        {cudaAddressModeWrap, true, true, {30, 0, 7.5f, 22.5f, 0}},
        {cudaAddressModeMirror, false, true, {0, 0, 10, 30, 30}},
    };
    for (auto &c : cases) {
        cudaTextureObject_t t = texture_of(resource_of(array), c.address, c.linear, c.normalized);
        sample1<<<1, 5>>>(t, c.normalized ? units : places, out);
        CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
        for (int i = 0; i < 5; i++)
            SAME(got[i], c.want[i]);
        CHECK(cudaDestroyTextureObject(t));
    }
    CHECK(cudaFreeArray(array));
}

static void in_more_dimensions(void)
{
    float host[D * H * W], *out = to_device<float>(NULL, 1), got;
    for (int i = 0; i < D * H * W; i++)
        host[i] = i;
    cudaArray_t plane = array_of(host, W, H, 0, 0), volume = array_of(host, W, H, D, 0);
    cudaArray_t layers = array_of(host, W, H, D, cudaArrayLayered);
    cudaTextureObject_t t = texture_of(resource_of(plane), cudaAddressModeClamp, true, false);
    sample2<<<1, 1>>>(t, make_float2(3, 2), out);  // between four: (10 + 11 + 18 + 19) / 4
    CHECK(cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost));
    SAME(got, 14.5);
    t = texture_of(resource_of(volume), cudaAddressModeClamp, true, false);
    sample3<<<1, 1>>>(t, 3, 2, 1, out);
    CHECK(cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost));
    SAME(got, 14.5 + W * H / 2);
    t = texture_of(resource_of(layers), cudaAddressModeClamp, true, false);
    sample_layer<<<1, 1>>>(t, 3, 2, 1, out);
    CHECK(cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost));
    SAME(got, 14.5 + W * H);

    float *pitched;  // memory of rows, without an array
    size_t pitch;
    CHECK(cudaMallocPitch(&pitched, &pitch, W * sizeof(float), H));
    CHECK(cudaMemcpy2D(pitched, pitch, host, W * sizeof(float), W * sizeof(float), H, cudaMemcpyHostToDevice));
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypePitch2D;
    r.res.pitch2D.devPtr = pitched;
    r.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    r.res.pitch2D.width = W, r.res.pitch2D.height = H, r.res.pitch2D.pitchInBytes = pitch;
    sample2<<<1, 1>>>(texture_of(r, cudaAddressModeClamp, false, false), make_float2(3.5f, 2.5f), out);
    CHECK(cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost));
    SAME(got, 2 * W + 3);
}

static void of_cubes(void)
{
    float host[6 * 4];
    for (int i = 0; i < 6 * 4; i++)
        host[i] = i / 4;  // the face
    cudaArray_t cube = array_of(host, 2, 2, 6, cudaArrayCubemap);
    const float3 d[6] = {{2, .5f, 1}, {-2, 0, 0}, {0, 3, .5f}, {0, -3, 0}, {1, 0, 4}, {0, 1, -4}};
    float3 *directions = to_device(d, 6);
    float *out = to_device<float>(NULL, 6), got[6];
    sample_cube<<<1, 6>>>(texture_of(resource_of(cube), cudaAddressModeClamp, false, true), directions, out);
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 6; i++)
        SAME(got[i], i);
}

static void of_integers(void)
{
    const uchar4 bytes[2] = {make_uchar4(0, 0, 0, 0), make_uchar4(0, 51, 102, 255)};
    cudaArray_t array = array_of(bytes, 2, 1, 0, 0);
    int4 *numbers = to_device<int4>(NULL, 1), n;
    float4 *shares = to_device<float4>(NULL, 1), f;
    sample_bytes<<<1, 1>>>(
        texture_of(resource_of(array), cudaAddressModeClamp, false, false),
        texture_of(resource_of(array), cudaAddressModeClamp, false, false, cudaReadModeNormalizedFloat), numbers,
        shares);
    CHECK(cudaMemcpy(&n, numbers, sizeof n, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&f, shares, sizeof f, cudaMemcpyDeviceToHost));
    SAME(n.x + 1000 * n.y + 1e6 * n.w, 51000 + 255e6);
    SAME(f.y + 10 * f.z + 100 * f.w, 0.2 + 4 + 100);

    const short shorts[2] = {5, -32767};
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = to_device(shorts, 2);
    r.res.linear.desc = cudaCreateChannelDesc<short>();
    r.res.linear.sizeInBytes = sizeof shorts;
    float *out = to_device<float>(NULL, 3), got[3];
    sample_shorts<<<1, 1>>>(texture_of(r, cudaAddressModeClamp, false, false),
                            texture_of(r, cudaAddressModeClamp, false, false, cudaReadModeNormalizedFloat), out);
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    SAME(got[0], -32767);
    SAME(got[1], -1);
    SAME(got[2], 0);
}

static void of_surfaces(void)
{
    cudaArray_t array = array_of<float>(NULL, W, H, 0, cudaArraySurfaceLoadStore);
    cudaResourceDesc r = resource_of(array);
    cudaSurfaceObject_t s;
    CHECK(cudaCreateSurfaceObject(&s, &r));
    float *out = to_device<float>(NULL, W * H), got[W * H], back[W * H];
    fill<<<1, dim3(W, H)>>>(s);
    turn<<<1, dim3(W, H)>>>(s, out);
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy2DFromArray(back, W * 4, array, 0, 0, W * 4, H, cudaMemcpyDeviceToHost));
    for (int i = 0; i < W * H; i++) {
        SAME(back[i], 10 * (i / W) + i % W);
        SAME(got[i], back[i] + W - 1);
    }
    CHECK(cudaDestroySurfaceObject(s));
    CHECK(cudaFreeArray(array));
}

int main(void)
{
    in_one_dimension();
    in_more_dimensions();
    of_cubes();
    of_integers();
    of_surfaces();
    finish();
    return 0;
}

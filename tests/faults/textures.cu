// What goes wrong with textures and surfaces. The first argument picks the case; `expect NAME: KIND` marks the line that
// the report must name.

#include <cuda_runtime.h>
#include <string.h>

__global__ void freed_array(cudaTextureObject_t t, float *out)
{
    *out = tex2D<float>(t, 0.5f, 0.5f);  // expect freed_array: use after free
}

__global__ void destroyed(cudaTextureObject_t t, float *out)
{
    *out = tex2D<float>(t, 0.5f, 0.5f);  // expect destroyed: invalid object
}

__global__ void unwritten(cudaTextureObject_t t, float *out)
{
    *out = tex2D<float>(t, 0.5f, 0.5f);  // expect unwritten: uninitialised global memory
}

__global__ void x_in_elements(cudaSurfaceObject_t s, float *out)
{
    surf2Dwrite(*out, s, 5, 0);  // expect x_in_elements: misaligned access
}

__global__ void beyond(cudaSurfaceObject_t s, float *out)
{
    *out = surf2Dread<float>(s, 16, 4);  // expect beyond: out of bounds
}

__global__ void contested(cudaSurfaceObject_t s, float *out)
{
    int column = threadIdx.x / 2;
    surf2Dwrite(1.0f + threadIdx.x, s, 4 * column, 0);  // expect contested: race in global memory
    *out = surf2Dread<float>(s, 4, 0);                  // expect contested: race in global memory
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    const float host[32] = {0};
    float *out;
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaMalloc(&out, sizeof *out);
    cudaMemset(out, 0, sizeof *out);
    cudaMallocArray(&array, &format, 8, 4, cudaArraySurfaceLoadStore);
    if (strcmp(name, "unwritten"))
        cudaMemcpy2DToArray(array, 0, 0, host, 32, 32, 4, cudaMemcpyHostToDevice);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how = {};
    cudaTextureObject_t texture;
    cudaSurfaceObject_t surface;
    cudaCreateTextureObject(&texture, &resource, &how, NULL);
    cudaCreateSurfaceObject(&surface, &resource);

    if (!strcmp(name, "freed_array"))
        cudaFreeArray(array), freed_array<<<1, 1>>>(texture, out);
    if (!strcmp(name, "destroyed"))
        cudaDestroyTextureObject(texture), destroyed<<<1, 1>>>(texture, out);
    if (!strcmp(name, "unwritten"))
        unwritten<<<1, 1>>>(texture, out);
    if (!strcmp(name, "x_in_elements"))
        x_in_elements<<<1, 1>>>(surface, out);
    if (!strcmp(name, "beyond"))
        beyond<<<1, 1>>>(surface, out);
    if (!strcmp(name, "contested"))
        contested<<<1, 16>>>(surface, out);
    return cudaDeviceSynchronize() != cudaSuccess;
}

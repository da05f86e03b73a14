// Objects with virtual functions, made in a kernel, in memory of the kernel's heap and of shared memory.
#include "right.h"
#include <new>

struct Shape {
    float width;
    __device__ Shape(float w) : width(w) {}
    __device__ virtual float area() const { return 0; }
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    __device__ Square(float w) : Shape(w) {}
    __device__ float area() const override { return width * width; }
};
struct Box : Shape {
    float height;
    __device__ Box(float w, float h) : Shape(w), height(h) {}
    __device__ float area() const override { return width * height; }
};

__device__ Shape *shapes[2];

__global__ void make()
{
    shapes[0] = new Square(3);
    shapes[1] = new Box(3, 4);
}

__global__ void measure(float *out)
{
    __shared__ __align__(16) unsigned char place[sizeof(Box)];
    __shared__ Shape *shared;
    if (threadIdx.x == 0)
        shared = new (place) Box(5, 6);
    __syncthreads();
    out[threadIdx.x] = shapes[threadIdx.x]->area() + shared->area();
}

__global__ void destroy()
{
    for (Shape *shape : shapes)
        delete shape;
}

int main(void)
{
    float *out = to_device<float>(NULL, 2), got[2];
    make<<<1, 1>>>();
    measure<<<1, 2>>>(out);
    destroy<<<1, 1>>>();
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    SAME(got[0], 9 + 30);
    SAME(got[1], 12 + 30);
    finish();
    return 0;
}

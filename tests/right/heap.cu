// new, delete, malloc and free in kernels: memory that lives on when its kernel has ended.
#include "right.h"

__device__ int *kept;

__global__ void make() { kept = new int[4]{7, 8, 9, 10}; }

__global__ void take(int *out)
{
    *out = kept[0] + kept[3];
    delete[] kept;
}

__global__ void each_its_own(int *out)
{
    int n = 1 + threadIdx.x % 5, *mine = (int *)malloc(n * sizeof(int)), sum = 0;
    for (int i = 0; i < n; i++)
        mine[i] = threadIdx.x;
    for (int i = 0; i < n; i++)
        sum += mine[i];
    free(mine);
    out[threadIdx.x] = sum;
}

struct node {
    int value;
    node *next;
};

__device__ node *head;

__global__ void build(int n)  // by one thread
{
    head = nullptr;
    for (int i = 0; i < n; i++)
        head = new node{i, head};
}

__global__ void walk(int *out)
{
    int sum = 0;
    for (node *at = head; at; at = at->next)
        sum += at->value;
    out[threadIdx.x] = sum;
}

__global__ void tear_down()
{
    while (head) {
        node *next = head->next;
        delete head;
        head = next;
    }
}

__global__ void push_all()  // by many threads, without a lock
{
    node *mine = new node{(int)(blockIdx.x * blockDim.x + threadIdx.x), nullptr};
    unsigned long long *word = (unsigned long long *)&head, seen = atomicAdd(word, 0ull), assumed;
    do {
        assumed = seen;
        mine->next = (node *)assumed;
        __threadfence();
        seen = atomicCAS(word, assumed, (unsigned long long)mine);
    } while (seen != assumed);
}

__global__ void for_the_whole_block(int *out)  // one allocates, all use it, one frees
{
    __shared__ int *data;
    int t = threadIdx.x;
    if (t == 0)
        data = (int *)malloc(blockDim.x * sizeof(int));
    __syncthreads();
    data[t] = 2 * t;
    __syncthreads();
    out[blockIdx.x * blockDim.x + t] = data[blockDim.x - 1 - t];
    __syncthreads();
    if (t == 0)
        free(data);
}

__global__ void again_and_again(int *out)  // more in all than the heap of 8 MiB holds at once
{
    int sum = 0;
    for (int i = 0; i < 3000; i++) {
        char *p = new char[4096];
        p[i] = 1;
        sum += p[i];
        delete[] p;
    }
    *out = sum;
}

__global__ void of_nothing(int *out)
{
    free(nullptr);
    delete (int *)nullptr;
    *out = 1;
}

int main()
{
    int *out = to_device<int>(NULL, 128);
    make<<<1, 1>>>();
    take<<<1, 1>>>(out);
    SAME(*to_host(out, 1), 17);
    each_its_own<<<1, 64>>>(out);
    SAME(to_host(out, 64)[13], 13 * 4);
    build<<<1, 1>>>(20);
    walk<<<1, 32>>>(out);
    SAME(to_host(out, 32)[31], 190);
    tear_down<<<1, 1>>>();
    push_all<<<2, 32>>>();
    walk<<<1, 1>>>(out);
    SAME(*to_host(out, 1), 63 * 32);
    tear_down<<<1, 1>>>();
    for_the_whole_block<<<2, 64>>>(out);
    SAME(to_host(out, 128)[64], 126);
    again_and_again<<<1, 1>>>(out);
    SAME(*to_host(out, 1), 3000);
    of_nothing<<<1, 1>>>(out);
    SAME(*to_host(out, 1), 1);
    return 0;
}

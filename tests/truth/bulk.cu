// Bulk copies of every size, place and number: what a GPU's counters say of them, and the emulator's must.
//
//   nvcc -std=c++20 -gencode=arch=compute_90a,code=sm_90a bulk.cu -o bulk && ./bulk
//
// {load, store, reduce, prefetch} x bytes x where the source and the target lie behind a multiple of 128 bytes x how many copies a
// thread begins x how many threads do. "reduce" adds whole numbers. Each launch is one warp. The launches come in a fixed
// order, so that counters can be joined to the printed lines by position. --list prints without running.

#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32768, LINE = 128, BUFFER = MOST + LINE };  // bytes that a launch copies, and room for its offsets

struct launch {
    int bytes, source, target;  // the latter two: bytes behind a multiple of 128
    int copies, lanes;          // each lane of the first so many begins so many copies, which lie side by side
};

static void check(cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "bulk: %s\n", cudaGetErrorString(error));
    exit(1);
}

static __device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

static __device__ void begin_barrier(unsigned barrier, int arrivals)
{
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncwarp();
}

static __device__ void expect(unsigned barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

static __device__ void wait(unsigned barrier)
{
    unsigned over = 0;
    while (!over)
        asm volatile("{ .reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n"
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(over)
                     : "r"(barrier)
                     : "memory");
}

static __device__ void commit_and_wait()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Where the thread's first copy lies, from the first byte.
static __device__ int place(struct launch l) { return (int)threadIdx.x * l.copies * l.bytes; }

// What goes out of shared memory is written first, and seen by the copies.
static __device__ void fill(unsigned char *tile, struct launch l)
{
    for (int i = (int)threadIdx.x * 4; i < BUFFER; i += 32 * 4)
        *(unsigned *)(tile + i) = (unsigned)i;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
}

__global__ void bulk_load(unsigned char *buffer, struct launch l)
{
    __shared__ alignas(LINE) unsigned char tile[BUFFER];
    __shared__ alignas(8) unsigned long long barrier;
    unsigned to = shared_address(tile) + l.target, bar = shared_address(&barrier);
    begin_barrier(bar, l.lanes);
    if (threadIdx.x < l.lanes) {
        expect(bar, l.copies * l.bytes);
        for (int i = 0, at = place(l); i < l.copies; i++, at += l.bytes)
            asm volatile(
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to +
                                                                                                                at),
                "l"(buffer + l.source + at), "r"(l.bytes), "r"(bar)
                : "memory");
        wait(bar);
    }
}

__global__ void bulk_store(unsigned char *buffer, struct launch l)
{
    __shared__ alignas(LINE) unsigned char tile[BUFFER];
    unsigned from = shared_address(tile) + l.source;
    fill(tile, l);
    if (threadIdx.x < l.lanes) {
        for (int i = 0, at = place(l); i < l.copies; i++, at += l.bytes)
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(buffer + l.target + at),
                         "r"(from + at), "r"(l.bytes)
                         : "memory");
        commit_and_wait();
    }
}

__global__ void bulk_reduce(unsigned char *buffer, struct launch l)
{
    __shared__ alignas(LINE) unsigned char tile[BUFFER];
    unsigned from = shared_address(tile) + l.source;
    fill(tile, l);
    if (threadIdx.x < l.lanes) {
        for (int i = 0, at = place(l); i < l.copies; i++, at += l.bytes)
            asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(
                             buffer + l.target + at),
                         "r"(from + at), "r"(l.bytes)
                         : "memory");
        commit_and_wait();
    }
}

__global__ void bulk_prefetch(unsigned char *buffer, struct launch l)
{
    if (threadIdx.x < l.lanes)
        for (int i = 0, at = place(l); i < l.copies; i++, at += l.bytes)
            asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(buffer + l.source + at), "r"(l.bytes)
                         : "memory");
}

static const struct kernel {
    const char *name;
    void (*run)(unsigned char *buffer, struct launch l);
} kernels[] = {
    {"bulk_load", bulk_load},
    {"bulk_store", bulk_store},
    {"bulk_reduce", bulk_reduce},
    {"bulk_prefetch", bulk_prefetch},
};

static unsigned char *buffer;  // NULL: only list

static void run(const struct kernel *k, struct launch l)
{
    printf("%s bytes=%d source=%d target=%d copies=%d lanes=%d\n", k->name, l.bytes, l.source, l.target, l.copies,
           l.lanes);
    if (!buffer)
        return;
    check(cudaProfilerStart());
    k->run<<<1, 32>>>(buffer, l);
    check(cudaGetLastError());
    check(cudaDeviceSynchronize());
    check(cudaProfilerStop());
}

int main(int argc, char **argv)
{
    bool list_only = argc > 1 && strcmp(argv[1], "--list") == 0;
    const int sizes[] = {16, 48, 112, 144, 272, 1024, 4096, 32768}, moved[] = {32, 1024};
    const int several[][2] = {{2, 16}, {2, 1024}, {8, 64}, {32, 256}};  // so many, of so many bytes
    if (!list_only) {
        void *zeros;
        check(cudaMalloc(&zeros, BUFFER));
        check(cudaMemset(zeros, 0, BUFFER));
        buffer = (unsigned char *)zeros;
    }
    for (const struct kernel &k : kernels) {
        for (int bytes : sizes)
            run(&k, {bytes, 0, 0, 1, 1});
        for (int bytes : moved)
            for (int by = 16; by < LINE; by += 64) {
                run(&k, {bytes, by, 0, 1, 1});
                run(&k, {bytes, 0, by, 1, 1});
            }
        for (auto n : several) {
            run(&k, {n[1], 0, 0, n[0], 1});
            run(&k, {n[1], 0, 0, 1, n[0]});
        }
    }
    return 0;
}

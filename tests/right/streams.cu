// Streams, events, host functions and graphs, each with the order that it needs and no more: nothing to report.
#include "right.h"

#include <atomic>
#include <condition_variable>
#include <cuda/atomic>
#include <mutex>
#include <string.h>
#include <thread>
#include <vector>

enum { N = 1 << 10, CHUNKS = 4, CHUNK = N / CHUNKS, BYTES = N * sizeof(int) };

__global__ void set(int *x, int value) { x[blockIdx.x * blockDim.x + threadIdx.x] = value; }
__global__ void add(int *x, int by) { x[blockIdx.x * blockDim.x + threadIdx.x] += by; }
__global__ void sum(int *out, const int *a, const int *b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = a[i] + b[i];
}
__global__ void count(int *counter) { atomicAdd(counter, 1); }

static cudaStream_t one, two, three;  // non-blocking
static cudaStream_t plain, other;     // blocking
static cudaEvent_t event, second;

static int *device()
{
    int *x;
    CHECK(cudaMalloc(&x, BYTES));
    CHECK(cudaMemset(x, 0, BYTES));
    CHECK(cudaDeviceSynchronize());
    return x;
}

static int *pinned(int value)
{
    int *x;
    CHECK(cudaMallocHost(&x, BYTES));
    for (int i = 0; i < N; i++)
        x[i] = value;
    return x;
}

static void expect_all(const int *x, int want)
{
    std::vector<int> host(N);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host.data(), x, BYTES, cudaMemcpyDeviceToHost));
    for (int each : host)
        SAME(each, want);
}

// Each chunk of one buffer has its own stream: copied in, worked on, copied out.
static void chunks()
{
    int *in = pinned(3), *out = pinned(0), *x = device();
    cudaStream_t streams[CHUNKS];
    for (cudaStream_t &s : streams)
        CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (int lap = 0; lap < 3; lap++) {
        for (int c = 0; c < CHUNKS; c++) {
            int at = c * CHUNK;
            CHECK(cudaMemcpyAsync(x + at, in + at, CHUNK * sizeof(int), cudaMemcpyHostToDevice, streams[c]));
            add<<<CHUNK / 128, 128, 0, streams[c]>>>(x + at, 4);
            CHECK(cudaMemcpyAsync(out + at, x + at, CHUNK * sizeof(int), cudaMemcpyDeviceToHost, streams[c]));
        }
        for (int c = 0; c < CHUNKS; c++) {
            CHECK(cudaStreamSynchronize(streams[c]));
            for (int i = 0; i < CHUNK; i++)
                SAME(out[c * CHUNK + i], 7);
        }
    }
    for (cudaStream_t s : streams)
        CHECK(cudaStreamDestroy(s));
    CHECK(cudaFreeHost(in));
    CHECK(cudaFreeHost(out));
    CHECK(cudaFree(x));
}

// Two buffers take turns between a stream that fills them and one that uses them; events say when each is free.
static void two_buffers()
{
    int *staging[2] = {pinned(0), pinned(0)}, *x[2] = {device(), device()}, *total = device();
    cudaEvent_t full[2], empty[2];
    for (int i = 0; i < 2; i++) {
        CHECK(cudaEventCreateWithFlags(&full[i], cudaEventDisableTiming));
        CHECK(cudaEventCreateWithFlags(&empty[i], cudaEventDisableTiming));
    }
    for (int lap = 0; lap < 6; lap++) {
        int b = lap % 2;
        CHECK(cudaEventSynchronize(full[b]));  // the host may fill the staging buffer again
        for (int i = 0; i < N; i++)
            staging[b][i] = lap;
        CHECK(cudaStreamWaitEvent(one, empty[b], 0));
        CHECK(cudaMemcpyAsync(x[b], staging[b], BYTES, cudaMemcpyHostToDevice, one));
        CHECK(cudaEventRecord(full[b], one));
        CHECK(cudaStreamWaitEvent(two, full[b], 0));
        sum<<<N / 128, 128, 0, two>>>(total, total, x[b]);
        CHECK(cudaEventRecord(empty[b], two));
    }
    expect_all(total, 15);
}

static void fork_and_join()
{
    int *a = device(), *b = device(), *c = device();
    set<<<N / 128, 128, 0, one>>>(a, 1);
    CHECK(cudaEventRecord(event, one));
    CHECK(cudaStreamWaitEvent(two, event, 0));
    CHECK(cudaStreamWaitEvent(three, event, 0));
    sum<<<N / 128, 128, 0, two>>>(b, a, a);
    sum<<<N / 128, 128, 0, three>>>(c, a, a);
    CHECK(cudaEventRecord(event, two));
    CHECK(cudaEventRecord(second, three));
    CHECK(cudaStreamWaitEvent(one, event, 0));
    CHECK(cudaStreamWaitEvent(one, second, 0));
    sum<<<N / 128, 128, 0, one>>>(a, b, c);
    CHECK(cudaStreamSynchronize(one));
    expect_all(a, 4);
}

// Order is handed on: one, two, three, and the host waits for the last.
static void chain()
{
    int *x = device(), *out = pinned(0);
    add<<<N / 128, 128, 0, one>>>(x, 1);
    CHECK(cudaEventRecord(event, one));
    CHECK(cudaStreamWaitEvent(two, event, 0));
    CHECK(cudaEventRecord(second, two));
    CHECK(cudaStreamWaitEvent(three, second, 0));
    add<<<N / 128, 128, 0, three>>>(x, 1);
    CHECK(cudaMemcpyAsync(out, x, BYTES, cudaMemcpyDeviceToHost, three));
    CHECK(cudaEventRecord(event, three));
    CHECK(cudaEventSynchronize(event));
    SAME(out[17], 2);
    out[17] = 0;
    add<<<N / 128, 128, 0, one>>>(x, 1);  // the host has waited for all of it
    CHECK(cudaStreamSynchronize(one));
    expect_all(x, 3);
}

// The legacy stream and blocking ones wait for each other.
static void legacy()
{
    int *x = device(), *out = pinned(0), ordinary[4];
    add<<<N / 128, 128, 0, plain>>>(x, 1);
    add<<<N / 128, 128>>>(x, 1);
    add<<<N / 128, 128, 0, other>>>(x, 1);
    add<<<N / 128, 128, 0, cudaStreamLegacy>>>(x, 1);
    add<<<N / 128, 128, 0, cudaStreamPerThread>>>(x, 1);
    CHECK(cudaMemset(x, 1, 4));
    CHECK(cudaMemcpyAsync(out, x, BYTES, cudaMemcpyDeviceToHost, plain));
    CHECK(cudaMemcpy(ordinary, x, sizeof ordinary, cudaMemcpyDeviceToHost));  // waits for both streams, so:
    SAME(ordinary[1], 5);
    SAME(out[0], 0x01010101);
    SAME(out[N - 1], 5);
    add<<<N / 128, 128, 0, plain>>>(x, 1);
    CHECK(cudaStreamSynchronize(0));
    add<<<N / 128, 128, 0, one>>>(x, 1);
    CHECK(cudaStreamSynchronize(one));
}

static void polls()
{
    int *x = device(), *out = pinned(0);
    add<<<N / 128, 128, 0, one>>>(x, 5);
    CHECK(cudaMemcpyAsync(out, x, BYTES, cudaMemcpyDeviceToHost, one));
    CHECK(cudaEventRecord(event, one));
    while (cudaEventQuery(event) == cudaErrorNotReady)
        std::this_thread::yield();
    SAME(out[3], 5);
    CHECK(cudaMemsetAsync(x, 0, BYTES, two));
    CHECK(cudaMemcpyAsync(out, x, BYTES, cudaMemcpyDeviceToHost, two));
    while (cudaStreamQuery(two) != cudaSuccess) {
    }
    SAME(out[3], 0);
    cudaGetLastError();  // cudaErrorNotReady, perhaps
}

static std::mutex mutex;
static std::condition_variable woken;
static bool done;
static std::atomic<int> calls;

static void notify(void *)
{
    std::lock_guard<std::mutex> held(mutex);
    done = true;
    woken.notify_one();
}

static void increment(void *p) { ++*(int *)p; }
static void call_atomically(void *p)
{
    ((int *)p)[1] = 9;
    calls.fetch_add(1);
}
static void CUDART_CB back(cudaStream_t, cudaError_t error, void *p) { *(int *)p = error == cudaSuccess ? 8 : 0; }

struct payload {
    int values[20], *result;
};

static void free_payload(void *p)
{
    payload *mine = (payload *)p;
    *mine->result += mine->values[7];
    delete mine;
}

static void host_functions()
{
    int *x = device(), *out = pinned(0), here = 0, values[2] = {};
    add<<<N / 128, 128, 0, one>>>(x, 5);
    CHECK(cudaMemcpyAsync(out, x, BYTES, cudaMemcpyDeviceToHost, one));
    CHECK(cudaLaunchHostFunc(one, increment, &out[0]));
    CHECK(cudaLaunchHostFunc(one, increment, &here));
    CHECK(cudaMemcpyAsync(x, out, BYTES, cudaMemcpyHostToDevice, one));
    CHECK(cudaStreamAddCallback(one, back, &out[1], 0));
    CHECK(cudaStreamSynchronize(one));
    SAME(here, 1);
    SAME(out[0], 6);
    SAME(out[1], 8);
    CHECK(cudaLaunchHostFunc(two, notify, NULL));
    {
        std::unique_lock<std::mutex> held(mutex);
        woken.wait(held, [] { return done; });
    }
    CHECK(cudaLaunchHostFunc(two, call_atomically, values));
    while (calls.load() == 0)
        std::this_thread::yield();
    SAME(values[1], 9);
    out[2] = 0;
    for (int i = 0; i < 8; i++) {  // payloads that their host functions free: the host may be given that memory again
        payload *p = new payload;
        p->values[7] = i, p->result = &out[2];
        CHECK(cudaLaunchHostFunc(two, free_payload, p));
        std::vector<int> others(20, i);
        SAME(others[7], i);
    }
    CHECK(cudaStreamSynchronize(two));
    SAME(out[2], 28);
    CHECK(cudaDeviceSynchronize());
}

static void pools()
{
    int *a, *b, *out = pinned(0);
    CHECK(cudaMallocAsync(&a, BYTES, one));
    set<<<N / 128, 128, 0, one>>>(a, 2);
    CHECK(cudaEventRecord(event, one));
    CHECK(cudaStreamWaitEvent(two, event, 0));
    CHECK(cudaMallocAsync(&b, BYTES, two));
    sum<<<N / 128, 128, 0, two>>>(b, a, a);
    CHECK(cudaFreeAsync(a, two));
    CHECK(cudaMemcpyAsync(out, b, BYTES, cudaMemcpyDeviceToHost, two));
    CHECK(cudaFreeAsync(b, two));
    CHECK(cudaStreamSynchronize(two));
    SAME(out[N - 1], 4);
    CHECK(cudaMallocAsync(&a, BYTES, one));
    CHECK(cudaStreamSynchronize(one));
    set<<<N / 128, 128, 0, two>>>(a, 2);
    CHECK(cudaStreamSynchronize(two));
    CHECK(cudaFree(a));  // which does not wait for memory of a stream
    int *x = device();
    set<<<N / 128, 128, 0, two>>>(x, 2);
    CHECK(cudaFree(x));  // but for this
}

// Readers need no order among themselves, nor do atomic operations.
static void readers()
{
    int *x = device(), *a = device(), *b = device(), *in = pinned(2);
    CHECK(cudaMemcpyAsync(x, in, BYTES, cudaMemcpyHostToDevice, one));
    CHECK(cudaStreamSynchronize(one));
    sum<<<N / 128, 128, 0, one>>>(a, x, x);
    sum<<<N / 128, 128, 0, two>>>(b, x, x);
    CHECK(cudaMemcpyAsync(in + 8, x, 32, cudaMemcpyDeviceToHost, three));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemset(x, 0, BYTES));
    CHECK(cudaDeviceSynchronize());
    count<<<4, 128, 0, one>>>(x);
    count<<<4, 128, 0, two>>>(x);
    count<<<4, 128, 0, three>>>(x);
    CHECK(cudaMemcpyAsync(a, in, BYTES, cudaMemcpyHostToDevice, two));
    SAME(in[100], 2);  // the copy only reads it
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(in, x, 4, cudaMemcpyDeviceToHost));
    SAME(in[0], 1536);
}

// Pageable memory is staged, or waited for, before the call returns.
static void pageable()
{
    std::vector<int> values(N, 6), back(N);
    int *x = device();
    CHECK(cudaMemcpyAsync(x, values.data(), BYTES, cudaMemcpyHostToDevice, one));
    values[0] = 0;
    add<<<N / 128, 128, 0, one>>>(x, 1);
    CHECK(cudaMemcpyAsync(back.data(), x, BYTES, cudaMemcpyDeviceToHost, one));
    SAME(back[9], 7);
    CHECK(cudaStreamSynchronize(one));
}

__global__ void flagged(int *data, volatile int *flag)
{
    *data = 5;
    __threadfence_system();
    *flag = 1;
}

// A kernel signals the host through mapped memory.
static void mapped_flag()
{
    int *shared;
    CHECK(cudaHostAlloc(&shared, 2 * sizeof(int), cudaHostAllocMapped));
    shared[0] = shared[1] = 0;
    flagged<<<1, 1, 0, one>>>(&shared[0], &shared[1]);
    while (*(volatile int *)&shared[1] == 0) {
    }
    SAME(shared[0], 5);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeHost(shared));
}

static void mapped_atomic_flag()
{
    int *shared;
    CHECK(cudaHostAlloc(&shared, 2 * sizeof(int), cudaHostAllocMapped));
    shared[0] = shared[1] = 0;
    flagged<<<1, 1, 0, one>>>(&shared[0], &shared[1]);
    cuda::atomic_ref<int, cuda::thread_scope_system> flag(shared[1]);
    while (flag.load(cuda::memory_order_acquire) == 0) {
    }
    SAME(shared[0], 5);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeHost(shared));
}

static void captured()
{
    int *a = device(), *b = device(), *c = device(), *out = pinned(0);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal));
    set<<<N / 128, 128, 0, one>>>(a, 1);
    CHECK(cudaEventRecord(event, one));
    CHECK(cudaStreamWaitEvent(two, event, 0));
    sum<<<N / 128, 128, 0, one>>>(b, a, a);
    sum<<<N / 128, 128, 0, two>>>(c, a, a);
    CHECK(cudaEventRecord(second, two));
    CHECK(cudaStreamWaitEvent(one, second, 0));
    sum<<<N / 128, 128, 0, one>>>(a, b, c);
    CHECK(cudaMemcpyAsync(out, a, BYTES, cudaMemcpyDeviceToHost, one));
    CHECK(cudaStreamEndCapture(one, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int lap = 0; lap < 3; lap++) {
        CHECK(cudaGraphLaunch(exec, lap % 2 ? one : plain));
        CHECK(cudaGraphLaunch(exec, two));  // launches of one exec come one behind the other
    }
    add<<<N / 128, 128, 0, two>>>(c, 1);
    CHECK(cudaDeviceSynchronize());
    SAME(out[5], 4);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

// Memory of a graph; and a capture that its second stream has not come back to.
static void captured_memory()
{
    int *x, *out = pinned(0);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(&x, BYTES, one));
    set<<<N / 128, 128, 0, one>>>(x, 4);
    CHECK(cudaMemcpyAsync(out, x, BYTES, cudaMemcpyDeviceToHost, one));
    CHECK(cudaFreeAsync(x, one));
    CHECK(cudaStreamEndCapture(one, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int lap = 0; lap < 2; lap++)
        CHECK(cudaGraphLaunch(exec, one));
    CHECK(cudaStreamSynchronize(one));
    SAME(out[9], 4);

    CHECK(cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(event, one));
    CHECK(cudaStreamWaitEvent(two, event, 0));
    set<<<N / 128, 128, 0, two>>>(out, 4);
    SAME(cudaStreamEndCapture(one, &graph), cudaErrorStreamCaptureUnjoined);
    cudaGetLastError();
}

static void streams_come_and_go()
{
    int *x = device();
    for (int lap = 0; lap < 100; lap++) {
        cudaStream_t s;
        CHECK(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, -1));
        add<<<N / 128, 128, 0, s>>>(x, 1);
        CHECK(cudaStreamSynchronize(s));
        CHECK(cudaStreamDestroy(s));
    }
    expect_all(x, 100);
}

__constant__ int constant[4];
__device__ int variable[N];
__global__ void use_constant() { variable[threadIdx.x] = constant[threadIdx.x % 4]; }

static void symbols()
{
    int *values = pinned(3), *out = pinned(0);
    CHECK(cudaMemcpyToSymbolAsync(constant, values, sizeof constant, 0, cudaMemcpyHostToDevice, one));
    use_constant<<<1, 128, 0, one>>>();
    CHECK(cudaMemcpyFromSymbolAsync(out, variable, 512, 0, cudaMemcpyDeviceToHost, one));
    CHECK(cudaStreamSynchronize(one));
    SAME(out[100], 3);
    values[0] = 4;
    CHECK(cudaMemcpyToSymbol(constant, values, sizeof constant));
    use_constant<<<1, 128, 0, two>>>();
    CHECK(cudaStreamSynchronize(two));
}

// Columns of one matrix belong to two streams.
static void columns()
{
    int *x = device(), *in = pinned(1), *out = pinned(0);
    const size_t row = 64 * sizeof(int), half = row / 2;
    CHECK(cudaMemcpy2DAsync(x, row, in, row, half, 16, cudaMemcpyHostToDevice, one));
    CHECK(cudaMemcpy2DAsync(x + 32, row, in + 32, row, half, 16, cudaMemcpyHostToDevice, two));
    CHECK(cudaMemcpy2DAsync(out, row, x, row, half, 16, cudaMemcpyDeviceToHost, one));
    CHECK(cudaMemset2DAsync(x + 32, row, 0, half, 16, two));
    CHECK(cudaStreamSynchronize(one));
    SAME(out[0], 1);
    SAME(out[32], 0);  // nobody writes that one
    CHECK(cudaStreamSynchronize(two));
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define SINCE_HOPPER(...) __VA_ARGS__
#else
#define SINCE_HOPPER(...)
#endif

__global__ void primary(int *x)
{
    SINCE_HOPPER(cudaTriggerProgrammaticLaunchCompletion();)
    x[threadIdx.x] = threadIdx.x;
}

__global__ void secondary(const int *x, int *y, const int *untouched)
{
    int own = untouched[threadIdx.x];
    SINCE_HOPPER(cudaGridDependencySynchronize();)
    y[threadIdx.x] = x[127 - threadIdx.x] + own;
}

__global__ void secondary_by_one(const int *x, int *y)
{
    if (threadIdx.x == 0)
        SINCE_HOPPER(asm volatile("griddepcontrol.wait;" :: : "memory");)
    __syncthreads();
    y[threadIdx.x] = x[127 - threadIdx.x];
}

// The third kernel knows what the first wrote where the second has waited before it let the third begin, and where it waits itself,
// even if the second has not.
__global__ void waits_and_begins_the_next(const int *x, int *y)
{
    SINCE_HOPPER(cudaGridDependencySynchronize();)
    SINCE_HOPPER(cudaTriggerProgrammaticLaunchCompletion();)
    y[threadIdx.x] = x[threadIdx.x] + 1;
}
__global__ void begins_the_next(const int *, int *)
{
    SINCE_HOPPER(asm volatile("griddepcontrol.launch_dependents;" :: : "memory");)
}
__global__ void reads_at_once(const int *x, int *y) { y[threadIdx.x] = x[127 - threadIdx.x]; }
__global__ void waits_and_reads(const int *x, int *y)
{
    SINCE_HOPPER(cudaGridDependencySynchronize();)
    y[threadIdx.x] = x[127 - threadIdx.x];
}

template <typename... Parameters, typename... Arguments>
static void launch_programmatically(void (*kernel)(Parameters...), Arguments... arguments)
{
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = dim3(1), config.blockDim = dim3(128), config.stream = one;
    config.attrs = &attribute, config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, kernel, arguments...));
}

static void programmatic()
{
    int *x = device(), *y = device(), *z = device(), *out = pinned(0), major;
    CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    for (int lap = 0; lap < 2 && major >= 9; lap++) {
        primary<<<1, 128, 0, one>>>(x);
        launch_programmatically(secondary, (const int *)x, y, (const int *)z);
        launch_programmatically(secondary_by_one, (const int *)y, z);
        CHECK(cudaMemcpyAsync(out, z, 512, cudaMemcpyDeviceToHost, one));
        CHECK(cudaMemsetAsync(z, 0, BYTES, one));
        CHECK(cudaStreamSynchronize(one));
        SAME(out[5], 5);
        primary<<<1, 128, 0, one>>>(x);
        launch_programmatically(waits_and_begins_the_next, (const int *)x, y);
        launch_programmatically(reads_at_once, (const int *)x, z);
        CHECK(cudaMemcpyAsync(out, z, 512, cudaMemcpyDeviceToHost, one));
        CHECK(cudaStreamSynchronize(one));
        SAME(out[5], 122);
        primary<<<1, 128, 0, one>>>(x);
        launch_programmatically(begins_the_next, (const int *)x, y);
        launch_programmatically(waits_and_reads, (const int *)x, z);
        CHECK(cudaMemcpyAsync(out, z, 512, cudaMemcpyDeviceToHost, one));
        CHECK(cudaStreamSynchronize(one));
        SAME(out[5], 122);
        CHECK(cudaMemsetAsync(z, 0, BYTES, one));
        CHECK(cudaStreamSynchronize(one));
    }
}

int main()
{
    for (cudaStream_t *s : {&one, &two, &three})
        CHECK(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    CHECK(cudaStreamCreate(&plain));
    CHECK(cudaStreamCreate(&other));
    CHECK(cudaEventCreate(&event));
    CHECK(cudaEventCreate(&second));
    chunks();
    two_buffers();
    fork_and_join();
    chain();
    legacy();
    polls();
    host_functions();
    pools();
    readers();
    pageable();
    mapped_flag();
    mapped_atomic_flag();
    captured();
    captured_memory();
    streams_come_and_go();
    symbols();
    columns();
    programmatic();
    finish();
    return 0;
}

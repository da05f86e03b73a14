// Work of streams that nothing orders, and hosts that do not wait. The first argument picks the fault; `expect NAME: KIND`
// marks the lines that the report must name: of a kernel's part, the launch.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 256
#define BYTES (N * sizeof(int))

__global__ void write(int *x, int value)
{
    x[threadIdx.x] = value + threadIdx.x;  // perhaps all: race between streams
}

__global__ void read(const int *x, int *y)
{
    y[threadIdx.x] = x[N - 1 - threadIdx.x];  // perhaps all: race between streams
}

__global__ void read_all(const int *x, int *y)
{
    int sum = 0;
    for (int i = 0; i < 32; i++)
        sum += x[i];  // perhaps all: race between streams
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void write_part(int *x, int from, int to)
{
    for (int i = from + threadIdx.x; i < to; i += blockDim.x)
        x[i] = i + from + 1;  // perhaps all: race between streams
}

__global__ void read_before_the_wait(const int *x, int *y)
{
    y[threadIdx.x] = x[N - 1 - threadIdx.x];  // perhaps all: race between streams
    cudaGridDependencySynchronize();
}

__global__ void primary(int *x)
{
    cudaTriggerProgrammaticLaunchCompletion();
    x[threadIdx.x] = threadIdx.x;  // perhaps all: race between streams
}

__global__ void begins_the_next_and_waits(const int *x, int *y)
{
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
    y[threadIdx.x] = x[threadIdx.x];
}

__global__ void begins_the_next(const int *, int *) { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

__global__ void does_not_begin_the_next(int *x)
{
    x[threadIdx.x] = threadIdx.x;  // perhaps all: race between streams
}

__constant__ int table[N];

__global__ void look_up(int *y)
{
    y[threadIdx.x] = table[threadIdx.x];  // perhaps all: race between streams
}

__device__ int counter[N];

__global__ void count() { counter[threadIdx.x] = threadIdx.x; }  // perhaps all: race between streams

__managed__ int managed;

__global__ void count_managed() { managed = 1; }  // perhaps all: race between host and stream

static cudaStream_t one, two, blocking;
static cudaEvent_t event, other;
static int *x, *y, *z;       // device memory
static int *pinned, *again;  // the host's

static void launch_programmatically(void (*kernel)(const int *, int *), cudaStream_t stream)
{
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = dim3(1), config.blockDim = dim3(N), config.stream = stream;
    config.attrs = &attribute, config.numAttrs = 1;
    cudaLaunchKernelEx(&config, kernel, (const int *)x, y);  // perhaps all: race between streams
}

static void store(void *to) { *(int *)to = 1; }  // perhaps all: race between host and stream

static void run_graph(cudaGraph_t graph)
{
    cudaGraphExec_t exec;
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, one);
    cudaStreamSynchronize(one);
}

static cudaKernelNodeParams node_of(void *kernel, void **arguments)
{
    cudaKernelNodeParams p = {};
    p.func = kernel, p.gridDim = dim3(1), p.blockDim = dim3(N), p.kernelParams = arguments;
    return p;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
    cudaStreamCreate(&blocking);
    cudaEventCreate(&event);
    cudaEventCreate(&other);
    cudaMalloc(&x, BYTES);
    cudaMalloc(&y, BYTES);
    cudaMalloc(&z, BYTES);
    cudaMallocHost(&pinned, BYTES);
    cudaHostAlloc(&again, BYTES, cudaHostAllocMapped);
    cudaMemset(x, 0, BYTES);
    cudaMemset(y, 0, BYTES);
    memset(pinned, 0, BYTES);
    memset(again, 0, BYTES);
    cudaDeviceSynchronize();
#define IS(fault) (strcmp(name, #fault) == 0)

    // ---- two kernels ----
    if (IS(no_event)) {
        write<<<1, N, 0, one>>>(x, 1);  // expect no_event: race between streams
        read<<<1, N, 0, two>>>(x, y);   // expect no_event: race between streams
    }
    if (IS(event_too_early)) {
        cudaEventRecord(event, one);
        write<<<1, N, 0, one>>>(x, 1);  // expect event_too_early: race between streams
        cudaStreamWaitEvent(two, event, 0);
        read<<<1, N, 0, two>>>(x, y);  // expect event_too_early: race between streams
    }
    if (IS(wait_too_late)) {
        write<<<1, N, 0, one>>>(x, 1);  // expect wait_too_late: race between streams
        cudaEventRecord(event, one);
        read<<<1, N, 0, two>>>(x, y);  // expect wait_too_late: race between streams
        cudaStreamWaitEvent(two, event, 0);
    }
    if (IS(wait_in_the_wrong_stream)) {
        write<<<1, N, 0, one>>>(x, 1);  // expect wait_in_the_wrong_stream: race between streams
        cudaEventRecord(event, one);
        cudaStreamWaitEvent(one, event, 0);
        read<<<1, N, 0, two>>>(x, y);  // expect wait_in_the_wrong_stream: race between streams
    }
    if (IS(another_event)) {
        cudaEventRecord(other, one);
        write<<<1, N, 0, one>>>(x, 1);  // expect another_event: race between streams
        cudaEventRecord(event, one);
        cudaStreamWaitEvent(two, other, 0);
        read<<<1, N, 0, two>>>(x, y);  // expect another_event: race between streams
    }
    if (IS(never_recorded)) {
        write<<<1, N, 0, one>>>(x, 1);  // expect never_recorded: race between streams
        cudaStreamWaitEvent(two, event, 0);
        read<<<1, N, 0, two>>>(x, y);  // expect never_recorded: race between streams
    }
    if (IS(overwritten_while_read)) {
        read<<<1, N, 0, one>>>(x, y);   // expect overwritten_while_read: race between streams
        write<<<1, N, 0, two>>>(x, 1);  // expect overwritten_while_read: race between streams
    }
    if (IS(both_write_the_same)) {
        write<<<1, N, 0, one>>>(x, 1);  // expect both_write_the_same: race between streams
        write<<<1, N, 0, two>>>(x, 1);  // expect both_write_the_same: race between streams
    }
    if (IS(overwritten_by_one_reader)) {
        read_all<<<4, 64, 0, one>>>(x, y);  // expect overwritten_by_one_reader: race between streams
        for (int lap = 0; lap < 3; lap++)
            read_all<<<4, 64, 0, two>>>(x, z);
        write<<<1, N, 0, two>>>(x, 1);  // expect overwritten_by_one_reader: race between streams
    }
    if (IS(filled_by_one_reader)) {
        read_all<<<4, 64, 0, one>>>(x, y);  // expect filled_by_one_reader: race between streams
        for (int lap = 0; lap < 3; lap++)
            read_all<<<4, 64, 0, two>>>(x, z);
        cudaMemsetAsync(x, 0, BYTES, two);  // expect filled_by_one_reader: race between streams
    }
    if (IS(both_write)) {
        write<<<1, N, 0, one>>>(x, 1);  // expect both_write: race between streams
        write<<<1, N, 0, two>>>(x, 2);  // expect both_write: race between streams
    }
    if (IS(parts_overlap)) {
        write_part<<<1, 64, 0, one>>>(x, 0, N / 2 + 1);  // expect parts_overlap: race between streams
        write_part<<<1, 64, 0, two>>>(x, N / 2, N);      // expect parts_overlap: race between streams
    }
    if (IS(legacy_and_non_blocking)) {
        write<<<1, N>>>(x, 1);         // expect legacy_and_non_blocking: race between streams
        read<<<1, N, 0, one>>>(x, y);  // expect legacy_and_non_blocking: race between streams
    }
    if (IS(per_thread_and_non_blocking)) {
        write<<<1, N, 0, cudaStreamPerThread>>>(x, 1);  // expect per_thread_and_non_blocking: race between streams
        read<<<1, N, 0, one>>>(x, y);                   // expect per_thread_and_non_blocking: race between streams
    }
    if (IS(second_lap)) {
        for (int lap = 0; lap < 3; lap++) {
            write<<<1, N, 0, one>>>(x, lap);  // expect second_lap: race between streams
            cudaEventRecord(event, one);
            cudaStreamWaitEvent(two, event, 0);
            read<<<1, N, 0, two>>>(x, y);  // expect second_lap: race between streams
        }
    }
    if (IS(join_of_one)) {
        write_part<<<1, 64, 0, one>>>(x, 0, N / 2);
        write_part<<<1, 64, 0, two>>>(x, N / 2, N);  // expect join_of_one: race between streams
        cudaEventRecord(event, one);
        cudaStreamWaitEvent(blocking, event, 0);
        read<<<1, N, 0, blocking>>>(x, y);  // expect join_of_one: race between streams
    }
    if (IS(before_there_were_streams)) {
        cudaStream_t late;
        write<<<1, N>>>(x, 1);  // expect before_there_were_streams: race between streams
        cudaStreamCreateWithFlags(&late, cudaStreamNonBlocking);
        read<<<1, N, 0, late>>>(x, y);  // expect before_there_were_streams: race between streams
    }
    if (IS(constant_changed)) {
        look_up<<<1, N, 0, one>>>(y);                     // expect constant_changed: race between streams
        cudaMemcpyToSymbolAsync(table, pinned, BYTES, 0,  // expect constant_changed: race between streams
                                cudaMemcpyHostToDevice, two);
    }
    if (IS(constant_not_there)) {
        cudaMemcpyToSymbolAsync(table, pinned, BYTES, 0,  // expect constant_not_there: race between streams
                                cudaMemcpyHostToDevice, two);
        look_up<<<1, N, 0, one>>>(y);  // expect constant_not_there: race between streams
    }
    if (IS(variable_read_too_early)) {
        count<<<1, N, 0, one>>>();                     // expect variable_read_too_early: race between streams
        cudaMemcpyFromSymbol(pinned, counter, BYTES);  // expect variable_read_too_early: race between streams
    }
    if (IS(programmatic_without_wait)) {
        primary<<<1, N, 0, one>>>(x);  // expect programmatic_without_wait: race between streams
        launch_programmatically(read, one);
    }
    if (IS(programmatic_before_wait)) {
        primary<<<1, N, 0, one>>>(x);  // expect programmatic_before_wait: race between streams
        launch_programmatically(read_before_the_wait, one);
    }
    if (IS(programmatic_behind_all_of_it)) {
        does_not_begin_the_next<<<1, N, 0, one>>>(x);  // expect programmatic_behind_all_of_it: race between streams
        launch_programmatically(read, one);
    }
    if (IS(programmatic_behind_an_event)) {
        primary<<<1, N, 0, one>>>(x);  // expect programmatic_behind_an_event: race between streams
        cudaEventRecord(event, one);
        launch_programmatically(read, one);
    }
    if (IS(programmatic_third_without_wait)) {
        primary<<<1, N, 0, one>>>(x);  // expect programmatic_third_without_wait: race between streams
        launch_programmatically(begins_the_next_and_waits, one);
        launch_programmatically(read, one);
    }
    if (IS(programmatic_third_behind_no_wait)) {
        primary<<<1, N, 0, one>>>(x);  // expect programmatic_third_behind_no_wait: race between streams
        launch_programmatically(begins_the_next, one);
        launch_programmatically(read_before_the_wait, one);
    }

    // ---- copies, fills and allocations ----
    if (IS(copied_too_early)) {
        write<<<1, N, 0, one>>>(x, 1);                                   // expect copied_too_early: race between streams
        cudaMemcpyAsync(pinned, x, BYTES, cudaMemcpyDeviceToHost, two);  // expect copied_too_early: race between streams
    }
    if (IS(blocking_copy_of_non_blocking)) {
        static int result[N];
        write<<<1, N, 0, one>>>(x, 1);                         // expect blocking_copy_of_non_blocking: race between streams
        cudaMemcpy(result, x, BYTES, cudaMemcpyDeviceToHost);  // expect blocking_copy_of_non_blocking: race between streams
    }
    if (IS(read_before_copied)) {
        cudaMemcpyAsync(x, pinned, BYTES, cudaMemcpyHostToDevice, one);  // expect read_before_copied: race between streams
        read<<<1, N, 0, two>>>(x, y);                                    // expect read_before_copied: race between streams
    }
    if (IS(filled_while_written)) {
        cudaMemset(x, 0, BYTES);        // expect filled_while_written: race between streams
        write<<<1, N, 0, one>>>(x, 1);  // expect filled_while_written: race between streams
    }
    if (IS(filled_too_late)) {
        write<<<1, N, 0, one>>>(x, 1);      // expect filled_too_late: race between streams
        cudaMemsetAsync(x, 0, BYTES, two);  // expect filled_too_late: race between streams
    }
    if (IS(two_copies)) {
        cudaMemcpyAsync(x, pinned, BYTES, cudaMemcpyHostToDevice, one);  // expect two_copies: race between streams
        cudaMemcpyAsync(again, x, BYTES, cudaMemcpyDeviceToHost, two);   // expect two_copies: race between streams
    }
    if (IS(device_to_device)) {
        cudaMemcpy(x, z, BYTES, cudaMemcpyDeviceToDevice);  // expect device_to_device: race between streams
        read<<<1, N, 0, one>>>(x, y);                       // expect device_to_device: race between streams
    }
    if (IS(rows)) {
        cudaMemcpy2DAsync(x, 64, pinned, 64, 16, 4, cudaMemcpyHostToDevice, one);  // expect rows: race between streams
        cudaMemsetAsync(x + 16, 0, 64, two);                                       // expect rows: race between streams
    }
    if (IS(allocated_elsewhere)) {
        int *fresh;
        cudaMallocAsync(&fresh, BYTES, one);  // expect allocated_elsewhere: race between streams
        write<<<1, N, 0, two>>>(fresh, 1);    // expect allocated_elsewhere: race between streams
    }
    if (IS(freed_elsewhere)) {
        int *fresh;
        cudaMallocAsync(&fresh, BYTES, one);
        cudaStreamSynchronize(one);
        write<<<1, N, 0, one>>>(fresh, 1);  // expect freed_elsewhere: race between streams
        cudaFreeAsync(fresh, two);          // expect freed_elsewhere: race between streams
    }

    if (IS(freed_by_the_host)) {
        int *fresh;
        cudaMallocAsync(&fresh, BYTES, one);
        write<<<1, N, 0, one>>>(fresh, 1);  // expect freed_by_the_host: race between host and stream
        cudaFree(fresh);                    // expect freed_by_the_host: race between host and stream
    }

    // ---- the host ----
    if (IS(read_too_early)) {
        cudaMemcpyAsync(pinned, x, BYTES, cudaMemcpyDeviceToHost, one);  // expect read_too_early: race between host and stream
        printf("%d\n", pinned[5]);                                       // expect read_too_early: race between host and stream
    }
    if (IS(other_stream_synchronised)) {
        cudaMemcpyAsync(pinned, x, BYTES, cudaMemcpyDeviceToHost, one);  // expect other_stream_synchronised: race between host and stream
        cudaStreamSynchronize(two);
        printf("%d\n", pinned[5]);  // expect other_stream_synchronised: race between host and stream
    }
    if (IS(earlier_event_synchronised)) {
        cudaEventRecord(event, one);
        cudaMemcpyAsync(pinned, x, BYTES, cudaMemcpyDeviceToHost, one);  // expect earlier_event_synchronised: race between host and stream
        cudaEventSynchronize(event);
        printf("%d\n", pinned[5]);  // expect earlier_event_synchronised: race between host and stream
    }
    if (IS(query_ignored)) {
        cudaMemcpyAsync(pinned, x, BYTES, cudaMemcpyDeviceToHost, one);  // expect query_ignored: race between host and stream
        cudaStreamQuery(one);
        printf("%d\n", pinned[5]);  // expect query_ignored: race between host and stream
    }
    if (IS(source_changed)) {
        cudaMemcpyAsync(x, pinned, BYTES, cudaMemcpyHostToDevice, one);  // expect source_changed: race between host and stream
        pinned[7] = 1;                                                   // expect source_changed: race between host and stream
        cudaStreamSynchronize(one);
    }
    if (IS(source_filled)) {
        cudaMemcpyAsync(x, pinned, BYTES, cudaMemcpyHostToDevice, one);  // expect source_filled: race between host and stream
        memset(pinned, 0, BYTES);                                        // expect source_filled: race between host and stream
        cudaStreamSynchronize(one);
    }
    if (IS(mapped_read_too_early)) {
        write<<<1, N, 0, one>>>(again, 1);  // expect mapped_read_too_early: race between host and stream
        printf("%d\n", again[5]);           // expect mapped_read_too_early: race between host and stream
    }
    if (IS(mapped_changed)) {
        read<<<1, N, 0, one>>>(again, y);  // expect mapped_changed: race between host and stream
        again[5] = 1;                      // expect mapped_changed: race between host and stream
    }
    if (IS(registered_read_too_early)) {
        static int ours[N];
        cudaHostRegister(ours, BYTES, cudaHostRegisterDefault);
        cudaMemcpyAsync(ours, x, BYTES, cudaMemcpyDeviceToHost, one);  // expect registered_read_too_early: race between host and stream
        printf("%d\n", ours[5]);                                       // expect registered_read_too_early: race between host and stream
    }
    if (IS(managed_in_another_stream)) {
        int *managed;
        cudaMallocManaged(&managed, BYTES);
        write<<<1, N, 0, one>>>(managed, 1);  // expect managed_in_another_stream: race between host and stream
        cudaStreamSynchronize(two);
        printf("%d\n", managed[5]);  // expect managed_in_another_stream: race between host and stream
    }
    if (IS(managed_variable)) {
        count_managed<<<1, 1, 0, one>>>();  // expect managed_variable: race between host and stream
        cudaStreamSynchronize(two);
        printf("%d\n", managed);  // expect managed_variable: race between host and stream
    }
    if (IS(result_of_host_function)) {
        int result = 0;
        cudaLaunchHostFunc(one, store, &result);
        printf("%d\n", result);  // expect result_of_host_function: race between host and stream
        cudaStreamSynchronize(one);
    }
    if (IS(host_function_without_event)) {
        cudaMemcpyAsync(pinned, x, BYTES, cudaMemcpyDeviceToHost, one);  // expect host_function_without_event: race between streams
        cudaLaunchHostFunc(two, [](void *p) {
            *(int *)p += 1;  // expect host_function_without_event: race between streams
        },
                           pinned);
    }

    // ---- graphs ----
    if (IS(nodes_without_edge)) {
        cudaGraph_t graph;
        cudaGraphNode_t a, b;
        int value = 1;
        void *of_write[] = {&x, &value}, *of_read[] = {&x, &y};
        cudaGraphCreate(&graph, 0);
        cudaKernelNodeParams first = node_of((void *)write, of_write), second = node_of((void *)read, of_read);
        cudaGraphAddKernelNode(&a, graph, NULL, 0, &first);   // expect nodes_without_edge: race between streams
        cudaGraphAddKernelNode(&b, graph, NULL, 0, &second);  // expect nodes_without_edge: race between streams
        run_graph(graph);
    }
    if (IS(captured_without_join)) {
        cudaGraph_t graph;
        cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal);
        cudaEventRecord(event, one);
        cudaStreamWaitEvent(two, event, 0);
        write<<<1, N, 0, one>>>(x, 1);  // expect captured_without_join: race between streams
        read<<<1, N, 0, two>>>(x, y);   // expect captured_without_join: race between streams
        cudaEventRecord(other, two);
        cudaStreamWaitEvent(one, other, 0);
        cudaStreamEndCapture(one, &graph);
        run_graph(graph);
    }
    if (IS(graph_and_stream)) {
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal);
        write<<<1, N, 0, one>>>(x, 1);  // expect graph_and_stream: race between streams
        cudaStreamEndCapture(one, &graph);
        cudaGraphInstantiate(&exec, graph, 0);
        cudaGraphLaunch(exec, one);
        read<<<1, N, 0, two>>>(x, y);  // expect graph_and_stream: race between streams
    }
    if (IS(graph_not_waited_for)) {
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal);
        cudaMemcpyAsync(pinned, x, BYTES, cudaMemcpyDeviceToHost, one);  // expect graph_not_waited_for: race between host and stream
        cudaStreamEndCapture(one, &graph);
        cudaGraphInstantiate(&exec, graph, 0);
        cudaGraphLaunch(exec, one);
        printf("%d\n", pinned[3]);  // expect graph_not_waited_for: race between host and stream
    }
    printf("%s: not found\n", name);
    return cudaDeviceSynchronize();
}

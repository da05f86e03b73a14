// Graphs: made node by node, captured from streams, changed, one inside another, launched more than once.
#include "right.h"

enum { N = 256 };

__global__ void add(float *x, float by) { x[blockIdx.x * blockDim.x + threadIdx.x] += by; }

__global__ void sum(const float *x, const float *y, float *out)
{
    int i = threadIdx.x;
    out[i] = x[i] + y[i];
}

static cudaError_t depend(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to)
{
#if CUDART_VERSION >= 13000
    cudaGraphEdgeData ordinary = {};
    return cudaGraphAddDependencies(graph, from, to, &ordinary, 1);
#else
    return cudaGraphAddDependencies(graph, from, to, 1);
#endif
}

static void count(void *calls) { ++*(int *)calls; }

static void expect_all(const float *device, float want)
{
    float host[N];
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (float each : host)
        SAME(each, want);
}

static cudaKernelNodeParams adding(float **x, float *by, void **arguments)
{
    cudaKernelNodeParams p = {};
    arguments[0] = x, arguments[1] = by;
    p.func = (void *)add;
    p.gridDim = dim3(2), p.blockDim = dim3(N / 2);
    p.kernelParams = arguments;
    return p;
}

static void by_nodes(cudaStream_t stream)
{
    float *x = to_device<float>(NULL, N), by = 3, host[N];
    int calls = 0;
    void *arguments[2];
    size_t n_nodes;
    cudaGraph_t graph, outer;
    cudaGraphNode_t zero, first, second, back, told;
    cudaGraphExec_t exec;
    CHECK(cudaGraphCreate(&graph, 0));

    cudaKernelNodeParams kernel = adding(&x, &by, arguments);
    CHECK(cudaGraphAddKernelNode(&second, graph, NULL, 0, &kernel));  // the last to be done, of three
    by = 4;
    CHECK(cudaGraphAddKernelNode(&first, graph, NULL, 0, &kernel));
    cudaMemsetParams fill = {};
    fill.dst = x, fill.elementSize = 4, fill.width = N, fill.height = 1;
    CHECK(cudaGraphAddMemsetNode(&zero, graph, NULL, 0, &fill));
    CHECK(depend(graph, &zero, &first));
    CHECK(depend(graph, &first, &second));
    CHECK(cudaGraphAddMemcpyNode1D(&back, graph, &second, 1, host, x, sizeof host, cudaMemcpyDeviceToHost));
    cudaHostNodeParams call = {};
    call.fn = count, call.userData = &calls;
    CHECK(cudaGraphAddHostNode(&told, graph, &back, 1, &call));
    CHECK(cudaGraphGetNodes(graph, NULL, &n_nodes));
    SAME(n_nodes, 5);

    CHECK(cudaGraphInstantiate(&exec, graph, NULL, NULL, 0));
    for (int i = 0; i < 2; i++)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    SAME(host[N - 1], 7);
    SAME(calls, 2);

    by = 10;
    CHECK(cudaGraphExecKernelNodeSetParams(exec, second, &kernel));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    SAME(host[0], 14);

    CHECK(cudaGraphCreate(&outer, 0));
    CHECK(cudaGraphAddChildGraphNode(&back, outer, NULL, 0, graph));
    CHECK(cudaGraphAddKernelNode(&told, outer, &back, 1, &kernel));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphInstantiate(&exec, outer, 0));
    CHECK(cudaGraphDestroy(outer));
    CHECK(cudaGraphLaunch(exec, stream));
    expect_all(x, 17);
    SAME(calls, 4);
    CHECK(cudaGraphExecDestroy(exec));
}

static void by_capture(cudaStream_t stream)
{
    float *x = to_device<float>(NULL, N), *y = to_device<float>(NULL, N), *out = to_device<float>(NULL, N);
    cudaStream_t other;
    cudaEvent_t forked, joined;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamCreate(&other));
    CHECK(cudaEventCreate(&forked));
    CHECK(cudaEventCreate(&joined));
    CHECK(cudaMemset(x, 0, N * sizeof(float)));
    CHECK(cudaMemset(y, 0, N * sizeof(float)));

    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(forked, stream));
    CHECK(cudaStreamWaitEvent(other, forked, 0));
    add<<<2, N / 2, 0, stream>>>(x, 1);
    add<<<2, N / 2, 0, other>>>(y, 2);
    CHECK(cudaEventRecord(joined, other));
    CHECK(cudaStreamWaitEvent(stream, joined, 0));
    sum<<<1, N, 0, stream>>>(x, y, out);
    CHECK(cudaStreamIsCapturing(other, &status));
    SAME(status, cudaStreamCaptureStatusActive);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaStreamIsCapturing(other, &status));
    SAME(status, cudaStreamCaptureStatusNone);
    expect_all(x, 0);  // nothing has run

    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++)
        CHECK(cudaGraphLaunch(exec, stream));
    expect_all(out, 9);
    add<<<2, N / 2, 0, other>>>(out, 1);
    expect_all(out, 10);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(other));
}

int main(void)
{
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    by_nodes(stream);
    by_capture(stream);
    finish();
    return 0;
}

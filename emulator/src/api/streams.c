/* Streams, events and host functions of the runtime API. Work is done before a call returns; what the calls say of its
 * order goes to work.c. A query is pessimistic: of work that the host does not know to be done, it says once that it is
 * not. Only the program calls this. */
#include "api/graph.h"
#include "base/errors.h"
#include "memory/protection.h"
#include "order/overlap.h"
#include "order/work.h"
#include <stdlib.h>
#include <time.h>

struct CUevent_st {
    double ms;
    bool recorded;
    bool asked;             /* cudaEventQuery has said that it is not done */
    unsigned long launches; /* how many came before it was recorded */
    struct past past;       /* what it stands for */
};

static cudaError_t make(void **out, size_t bytes)
{
    *out = calloc(1, bytes);
    return *out ? cudaSuccess : simt_fail(cudaErrorMemoryAllocation);
}

/* ---- streams ---- */

#define GREATEST_PRIORITY -5 /* the least is 0 */

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = GREATEST_PRIORITY;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    cudaError_t error = make((void **)stream, sizeof **stream);
    if (error != cudaSuccess)
        return error;
    (*stream)->flags = flags;
    (*stream)->priority = priority > 0 ? 0 : priority < GREATEST_PRIORITY ? GREATEST_PRIORITY : priority;
    (*stream)->queue = work_queue_new(!(flags & cudaStreamNonBlocking));
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }

static bool is_own(cudaStream_t stream)
{
    return stream && stream != cudaStreamLegacy && stream != cudaStreamPerThread;
}

static const struct CUstream_st *settings_of(cudaStream_t stream)
{
    static const struct CUstream_st usual;
    return is_own(stream) ? stream : &usual;
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    return *priority = settings_of(stream)->priority, cudaSuccess;
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags)
{
    return *flags = settings_of(stream)->flags, cudaSuccess;
}

cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID attribute, const cudaStreamAttrValue *value)
{
    return (void)stream, (void)attribute, value ? cudaSuccess : simt_fail(cudaErrorInvalidValue);
}

/* What was issued to it goes on. */
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    if (!is_own(stream))
        return simt_fail(cudaErrorInvalidResourceHandle);
    work_queue_end(stream->queue);
    free(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    if (graph_awaits(stream))
        return simt_fail(cudaErrorStreamCaptureUnsupported);
    memory_synchronised();
    work_host_waits_for_stream(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    if (!graph_awaits(stream) && !work_seems_done(stream))
        return cudaErrorNotReady;
    return cudaStreamSynchronize(stream);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    if (!event)
        return simt_fail(cudaErrorInvalidResourceHandle);
    graph_event_awaited(event, stream);
    if (!graph_awaits(stream))
        work_stream_waits(stream, &event->past);
    return cudaSuccess;
}

/* ---- host functions ---- */

struct kept_call {
    struct cudaHostNodeParams call;
    cudaStream_t stream;
};

static void call_function(void *context)
{
    const struct cudaHostNodeParams *p = context;
    p->fn(p->userData);
}

/* It is called once what its stream has done before is done. */
static cudaError_t call(void *payload)
{
    struct kept_call *k = payload;
    struct work w = work_begin(k->stream, WORK_OTHER);
    memory_synchronised();
    work_call(&w, call_function, &k->call);
    work_end(&w);
    return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    struct kept_call k = {{function, data}, stream};
    return graph_takes(stream, cudaGraphNodeTypeHost, call, &k, sizeof k) ? cudaSuccess : call(&k);
}

struct callback {
    cudaStreamCallback_t function;
    cudaStream_t stream;
    void *data;
};

static void call_back(void *context)
{
    const struct callback *c = context;
    c->function(c->stream, cudaSuccess, c->data);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned flags)
{
    struct callback c = {callback, stream, data};
    (void)flags;
    return graph_awaits(stream) ? simt_fail(cudaErrorStreamCaptureUnsupported)
                                : cudaLaunchHostFunc(stream, call_back, &c);
}

/* ---- events ---- */

cudaError_t cudaEventCreate(cudaEvent_t *event) { return make((void **)event, sizeof **event); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) { return (void)flags, cudaEventCreate(event); }

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    if (!event)
        return simt_fail(cudaErrorInvalidResourceHandle);
    graph_event_destroyed(event);
    past_free(&event->past);
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    struct timespec now;
    if (!event)
        return simt_fail(cudaErrorInvalidResourceHandle);
    graph_event_recorded(event, stream);
    clock_gettime(CLOCK_MONOTONIC, &now);
    event->ms = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
    event->launches = memory_launches();
    event->recorded = true;
    event->asked = false;
    if (!graph_awaits(stream))
        work_of_stream(stream, &event->past);
    return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    return (void)flags, cudaEventRecord(event, stream);
}

/* An event says nothing of a kernel that was launched after it. */
cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    if (!event)
        return simt_fail(cudaErrorInvalidResourceHandle);
    if (event->recorded && event->launches == memory_launches())
        memory_synchronised();
    work_host_waits(&event->past);
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    if (event && !event->asked && !work_host_knows(&event->past)) {
        event->asked = true;
        return cudaErrorNotReady;
    }
    return cudaEventSynchronize(event);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    if (!start || !end || !start->recorded || !end->recorded)
        return simt_fail(cudaErrorInvalidResourceHandle);
    if (!work_host_knows(&start->past) || !work_host_knows(&end->past))
        return simt_fail(cudaErrorNotReady);
    *ms = (float)(end->ms - start->ms);
    return cudaSuccess;
}

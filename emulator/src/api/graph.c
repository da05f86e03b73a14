/* CUDA graphs. A node is a list of operations, each the function that would have done it and a copy of what that needs. A
 * node is made by asking for its operation as a program does, while this thread is said to make a node; a captured
 * stream's operations come the same way. A launch does one node after the other: an order of them that the
 * dependencies allow. What else they allow stands in the clocks of work.c: nodes of which each has only to follow the other are one
 * queue of it, branches are several. */
#include "api/graph.h"
#include "api/array.h"
#include "api/copies.h"
#include "api/launch_api.h"
#include "base/errors.h"
#include "block/launch.h"
#include "order/work.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct operation {
    struct operation *next;
    cudaError_t (*run)(void *payload);
    size_t bytes;
    _Alignas(16) unsigned char payload[];
};

struct CUgraphNode_st {
    struct CUgraph_st *graph;
    size_t index; /* in it */
    enum cudaGraphNodeType type;
    struct operation *first;
    struct CUgraph_st *child; /* NULL, or the graph that it stands for */
    size_t *after, n_after;   /* indices of nodes that come first */
};

struct CUgraph_st {
    struct CUgraphNode_st **nodes;
    size_t n_nodes, room;
};

struct CUgraphExec_st {
    struct CUgraph_st *graph; /* a copy */
    size_t *order;
    unsigned *queues; /* of its branches, but the first, which is the stream's own */
    unsigned n_queues;
    struct past end; /* of its last launch, which the next one waits for */
};

static void *allocated(void *memory)
{
    if (!memory)
        abort(); /* a few bytes */
    return memory;
}

/* ---- nodes ---- */

static struct CUgraphNode_st *add_node(cudaGraph_t graph, enum cudaGraphNodeType type)
{
    struct CUgraphNode_st *node = allocated(calloc(1, sizeof *node));
    *node = (struct CUgraphNode_st){.graph = graph, .index = graph->n_nodes, .type = type};
    if (graph->n_nodes == graph->room) {
        graph->room = graph->room ? 2 * graph->room : 8;
        graph->nodes = allocated(realloc(graph->nodes, graph->room * sizeof *graph->nodes));
    }
    graph->nodes[graph->n_nodes++] = node;
    return node;
}

static void add_after(struct CUgraphNode_st *node, size_t index)
{
    node->after = allocated(realloc(node->after, (node->n_after + 1) * sizeof *node->after));
    node->after[node->n_after++] = index;
}

static void add_operation(struct CUgraphNode_st *node, cudaError_t (*run)(void *), const void *payload, size_t bytes)
{
    struct operation *o = allocated(malloc(sizeof *o + bytes)), **end = &node->first;
    *o = (struct operation){.run = run, .bytes = bytes};
    memcpy(o->payload, payload, bytes);
    while (*end)
        end = &(*end)->next;
    *end = o;
}

static void drop_operations(struct CUgraphNode_st *node)
{
    for (struct operation *o = node->first, *next; o; o = next) {
        next = o->next;
        free(o);
    }
    node->first = NULL;
}

static void destroy(cudaGraph_t graph)
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        struct CUgraphNode_st *node = graph->nodes[i];
        drop_operations(node);
        if (node->child)
            destroy(node->child);
        free(node->after);
        free(node);
    }
    free(graph->nodes);
    free(graph);
}

static cudaGraph_t copy_of(cudaGraph_t graph)
{
    cudaGraph_t copy = allocated(calloc(1, sizeof *copy));
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const struct CUgraphNode_st *from = graph->nodes[i];
        struct CUgraphNode_st *to = add_node(copy, from->type);
        for (const struct operation *o = from->first; o; o = o->next)
            add_operation(to, o->run, o->payload, o->bytes);
        for (size_t j = 0; j < from->n_after; j++)
            add_after(to, from->after[j]);
        to->child = from->child ? copy_of(from->child) : NULL;
    }
    return copy;
}

cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned flags)
{
    if (!graph || flags)
        return simt_fail(cudaErrorInvalidValue);
    *graph = allocated(calloc(1, sizeof **graph));
    return cudaSuccess;
}

cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph)
{
    if (!clone || !graph)
        return simt_fail(cudaErrorInvalidValue);
    *clone = copy_of(graph);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    if (!graph)
        return simt_fail(cudaErrorInvalidValue);
    destroy(graph);
    return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    if (!graph || !count)
        return simt_fail(cudaErrorInvalidValue);
    if (!nodes) {
        *count = graph->n_nodes;
        return cudaSuccess;
    }
    for (size_t i = 0; i < *count; i++)
        nodes[i] = i < graph->n_nodes ? graph->nodes[i] : NULL;
    *count = *count < graph->n_nodes ? *count : graph->n_nodes;
    return cudaSuccess;
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
    if (!node || !type)
        return simt_fail(cudaErrorInvalidValue);
    *type = node->type;
    return cudaSuccess;
}

/* ---- captures ---- */

/* Streams and events that belong to a capture: few, and only while it lasts. */
struct captured {
    const void *member; /* a stream or an event */
    bool is_stream;
    cudaStream_t origin;
    cudaGraph_t graph;
    size_t *tails, n_tails; /* the nodes that its next one follows */
};
static struct captured *captured;
static size_t n_captured, room;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct captured *find(const void *member)
{
    for (size_t i = 0; member && i < n_captured; i++)
        if (captured[i].member == member)
            return &captured[i];
    return NULL;
}

static struct captured *join(const void *member, cudaStream_t origin, cudaGraph_t graph)
{
    struct captured *c = find(member);
    if (c) {
        free(c->tails);
    } else {
        if (n_captured == room)
            captured = allocated(realloc(captured, (room = room ? 2 * room : 8) * sizeof *captured));
        c = &captured[n_captured++];
    }
    *c = (struct captured){.member = member, .origin = origin, .graph = graph};
    return c;
}

static void take_out(struct captured *c)
{
    free(c->tails);
    n_captured--;
    *c = captured[n_captured];
}

static void leave(const void *member)
{
    struct captured *c = find(member);
    if (c)
        take_out(c);
}

static void add_tail(struct captured *c, size_t index)
{
    for (size_t i = 0; i < c->n_tails; i++)
        if (c->tails[i] == index)
            return;
    c->tails = allocated(realloc(c->tails, (c->n_tails + 1) * sizeof *c->tails));
    c->tails[c->n_tails] = index;
    c->n_tails++;
}

/* What the one does next also follows what the other has done. */
static void follow(const void *member, const void *other)
{
    struct captured *c = find(member);
    const struct captured *from = find(other);
    for (size_t i = 0; i < from->n_tails; i++)
        add_tail(c, from->tails[i]);
}

void graph_event_recorded(cudaEvent_t event, cudaStream_t stream)
{
    pthread_mutex_lock(&lock);
    const struct captured *c = find(stream);
    if (c) {
        join(event, c->origin, c->graph);
        follow(event, stream);
    } else {
        leave(event);
    }
    pthread_mutex_unlock(&lock);
}

void graph_event_awaited(cudaEvent_t event, cudaStream_t stream)
{
    pthread_mutex_lock(&lock);
    const struct captured *c = find(event);
    if (c && !find(stream))
        join(stream, c->origin, c->graph)->is_stream = true;
    if (c)
        follow(stream, event);
    pthread_mutex_unlock(&lock);
}

void graph_event_destroyed(cudaEvent_t event)
{
    pthread_mutex_lock(&lock);
    leave(event);
    pthread_mutex_unlock(&lock);
}

static cudaGraph_t graph_of(cudaStream_t stream)
{
    if (!stream)
        return NULL;
    pthread_mutex_lock(&lock);
    const struct captured *c = find(stream);
    cudaGraph_t graph = c ? c->graph : NULL;
    pthread_mutex_unlock(&lock);
    return graph;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    (void)mode;
    if (!stream || stream == cudaStreamLegacy)
        return simt_fail(cudaErrorStreamCaptureUnsupported);
    if (graph_of(stream))
        return simt_fail(cudaErrorIllegalState);
    cudaGraph_t graph = allocated(calloc(1, sizeof *graph));
    pthread_mutex_lock(&lock);
    join(stream, stream, graph)->is_stream = true;
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

/* Marks that node, and those that come before it. */
static void mark(cudaGraph_t graph, size_t index, bool *marked)
{
    if (marked[index])
        return;
    marked[index] = true;
    for (size_t i = 0; i < graph->nodes[index]->n_after; i++)
        mark(graph, graph->nodes[index]->after[i], marked);
}

/* Does what all streams of a capture have done come before what its first one does next? */
static bool is_joined(const struct captured *origin)
{
    bool *marked = allocated(calloc(origin->graph->n_nodes + 1, sizeof *marked));
    bool joined = true;
    for (size_t i = 0; i < origin->n_tails; i++)
        mark(origin->graph, origin->tails[i], marked);
    for (size_t i = 0; i < n_captured; i++)
        for (size_t j = 0; captured[i].graph == origin->graph && captured[i].is_stream && j < captured[i].n_tails; j++)
            joined = joined && marked[captured[i].tails[j]];
    free(marked);
    return joined;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    pthread_mutex_lock(&lock);
    const struct captured *c = find(stream);
    bool ours = c && c->origin == stream;
    bool joined = ours && is_joined(c);
    cudaGraph_t made = ours ? c->graph : NULL;
    for (size_t i = n_captured; i-- && ours;)
        if (captured[i].graph == made)
            take_out(&captured[i]);
    pthread_mutex_unlock(&lock);
    if (!ours)
        return simt_fail(c ? cudaErrorStreamCaptureUnmatched : cudaErrorIllegalState);
    *graph = joined ? made : NULL;
    if (joined)
        return cudaSuccess;
    destroy(made);
    return simt_fail(cudaErrorStreamCaptureUnjoined);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    *status = graph_of(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

/* ---- operations become nodes ---- */

static __thread struct CUgraphNode_st *making;

/* The next one of a captured stream; NULL: it is not captured. */
static struct CUgraphNode_st *next_node(cudaStream_t stream, enum cudaGraphNodeType type)
{
    pthread_mutex_lock(&lock);
    struct captured *c = find(stream);
    struct CUgraphNode_st *node = c ? add_node(c->graph, type) : NULL;
    for (size_t i = 0; c && i < c->n_tails; i++)
        add_after(node, c->tails[i]);
    if (c) {
        c->n_tails = 0;
        add_tail(c, node->index);
    }
    pthread_mutex_unlock(&lock);
    return node;
}

bool graph_awaits(cudaStream_t stream) { return making || graph_of(stream); }

bool graph_takes(cudaStream_t stream, enum cudaGraphNodeType type, cudaError_t (*run)(void *payload),
                 const void *payload, size_t bytes)
{
    struct CUgraphNode_st *node = making ? making : next_node(stream, type);
    if (node)
        add_operation(node, run, payload, bytes);
    return node != NULL;
}

/* Adds a node that comes after `count` others; NULL if one of them is none of this graph's. */
static struct CUgraphNode_st *begin(cudaGraph_t graph, enum cudaGraphNodeType type, const cudaGraphNode_t *after,
                                    size_t count)
{
    if (!graph || (count && !after))
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!after[i] || after[i]->graph != graph)
            return NULL;
    struct CUgraphNode_st *node = add_node(graph, type);
    for (size_t i = 0; i < count; i++)
        add_after(node, after[i]->index);
    return making = node;
}

static cudaError_t end(cudaGraphNode_t *node, cudaError_t error)
{
    struct CUgraphNode_st *made = making;
    making = NULL;
    if (error != cudaSuccess) {
        made->graph->n_nodes--;
        drop_operations(made);
        free(made->after);
        free(made);
        return simt_fail(error);
    }
    *node = made;
    return cudaSuccess;
}

static cudaError_t ask_kernel(const struct cudaKernelNodeParams *p, const void *pc)
{
    if (p->extra || !p->func)
        return cudaErrorInvalidValue;
    return launch_at(p->func, p->gridDim, p->blockDim, p->kernelParams, p->sharedMemBytes, NULL, pc);
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                   const struct cudaKernelNodeParams *parameters)
{
    if (!begin(graph, cudaGraphNodeTypeKernel, after, count))
        return simt_fail(cudaErrorInvalidValue);
    return end(node, ask_kernel(parameters, CALLER()));
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                   const struct cudaMemcpy3DParms *parameters)
{
    if (!begin(graph, cudaGraphNodeTypeMemcpy, after, count))
        return simt_fail(cudaErrorInvalidValue);
    return end(node, array_copy_box(parameters, NULL, CALLER()));
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                     size_t count, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    if (!begin(graph, cudaGraphNodeTypeMemcpy, after, count))
        return simt_fail(cudaErrorInvalidValue);
    return end(node, copy_rows(to, bytes, from, bytes, bytes, 1, kind, NULL, CALLER()));
}

/* Elements of several bytes, all alike; others are cudaErrorNotSupported. */
static cudaError_t ask_fill(const struct cudaMemsetParams *p, const void *pc)
{
    unsigned byte = p->value & 0xff, all = byte * 0x01010101u;
    unsigned mask = p->elementSize == 4 ? ~0u : (1u << 8 * p->elementSize) - 1;
    if (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4)
        return cudaErrorInvalidValue;
    if ((p->value & mask) != (all & mask))
        return cudaErrorNotSupported;
    size_t width = p->width * p->elementSize;
    return fill_rows(p->dst, p->height > 1 ? p->pitch : width, (int)byte, width, p->height, NULL, pc);
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                   const struct cudaMemsetParams *parameters)
{
    if (!begin(graph, cudaGraphNodeTypeMemset, after, count))
        return simt_fail(cudaErrorInvalidValue);
    return end(node, ask_fill(parameters, CALLER()));
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                 const struct cudaHostNodeParams *parameters)
{
    if (!begin(graph, cudaGraphNodeTypeHost, after, count))
        return simt_fail(cudaErrorInvalidValue);
    return end(node, cudaLaunchHostFunc(NULL, parameters->fn, parameters->userData));
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                       size_t count, cudaGraph_t child)
{
    struct CUgraphNode_st *made = child ? begin(graph, cudaGraphNodeTypeGraph, after, count) : NULL;
    if (!made)
        return simt_fail(cudaErrorInvalidValue);
    made->child = copy_of(child);
    return end(node, cudaSuccess);
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count)
{
    if (!begin(graph, cudaGraphNodeTypeEmpty, after, count))
        return simt_fail(cudaErrorInvalidValue);
    return end(node, cudaSuccess);
}

static bool is_ordinary(const cudaGraphEdgeData *edge) { return !edge->from_port && !edge->to_port && !edge->type; }

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                     const cudaGraphEdgeData *edges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!from[i] || !to[i] || from[i]->graph != graph || to[i]->graph != graph)
            return simt_fail(cudaErrorInvalidValue);
        if (edges && !is_ordinary(&edges[i]))
            return simt_fail(cudaErrorNotSupported);
    }
    for (size_t i = 0; i < count; i++)
        add_after(to[i], from[i]->index);
    return cudaSuccess;
}

/* ---- launches ---- */

/* Nodes in an order that their dependencies allow; NULL: they go round in a circle. */
static size_t *order_of(cudaGraph_t graph)
{
    size_t n = graph->n_nodes, done = 0;
    size_t *order = allocated(malloc((n + 1) * sizeof *order));
    bool *placed = allocated(calloc(n + 1, sizeof *placed));
    for (size_t before = 1; before != done && done < n;) {
        before = done;
        for (size_t i = 0; i < n; i++) {
            bool ready = !placed[i];
            for (size_t j = 0; j < graph->nodes[i]->n_after && ready; j++)
                ready = placed[graph->nodes[i]->after[j]];
            if (ready) {
                placed[i] = true;
                order[done++] = i;
            }
        }
    }
    free(placed);
    if (done == n)
        return order;
    free(order);
    return NULL;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    (void)flags;
    size_t *order = exec && graph ? order_of(graph) : NULL;
    if (!order)
        return simt_fail(cudaErrorInvalidValue);
    *exec = allocated(calloc(1, sizeof **exec));
    **exec = (struct CUgraphExec_st){.graph = copy_of(graph), .order = order};
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    return cudaGraphInstantiate(exec, graph, flags);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    if (!exec)
        return simt_fail(cudaErrorInvalidValue);
    for (unsigned i = 0; i < exec->n_queues; i++)
        work_queue_end(exec->queues[i]);
    past_free(&exec->end);
    destroy(exec->graph);
    free(exec->queues);
    free(exec->order);
    free(exec);
    return cudaSuccess;
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const struct cudaKernelNodeParams *parameters)
{
    if (!exec || !node || node->type != cudaGraphNodeTypeKernel || node->index >= exec->graph->n_nodes)
        return simt_fail(cudaErrorInvalidValue);
    making = exec->graph->nodes[node->index];
    drop_operations(making);
    cudaError_t error = ask_kernel(parameters, CALLER());
    making = NULL;
    return simt_fail(error);
}

static bool alike(cudaGraph_t a, cudaGraph_t b)
{
    bool same = a->n_nodes == b->n_nodes;
    for (size_t i = 0; i < a->n_nodes && same; i++)
        same = a->nodes[i]->type == b->nodes[i]->type && a->nodes[i]->n_after == b->nodes[i]->n_after;
    return same;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info)
{
    if (!exec || !graph || !info)
        return simt_fail(cudaErrorInvalidValue);
    bool possible = alike(exec->graph, graph);
    *info = (cudaGraphExecUpdateResultInfo){.result = possible ? cudaGraphExecUpdateSuccess
                                                               : cudaGraphExecUpdateErrorTopologyChanged};
    if (!possible)
        return simt_fail(cudaErrorGraphExecUpdateFailure);
    destroy(exec->graph);
    exec->graph = copy_of(graph);
    return cudaSuccess;
}

/* A launch under way. */
struct run {
    cudaGraphExec_t exec;
    unsigned first; /* the stream's queue */
    unsigned taken; /* queues, of the exec's own and that one */
};

static unsigned take_queue(struct run *r)
{
    cudaGraphExec_t exec = r->exec;
    unsigned index = r->taken;
    r->taken++;
    if (index == 0)
        return r->first;
    if (index > exec->n_queues) {
        exec->queues = allocated(realloc(exec->queues, index * sizeof *exec->queues));
        exec->queues[index - 1] = work_queue_new(false);
        exec->n_queues = index;
    }
    return exec->queues[index - 1];
}

struct done { /* a node of the graph in hand */
    struct past past;
    unsigned queue;
    bool continued; /* in its queue, by a node that follows it */
};

/* Of the first node before it that none has followed yet; else another. */
static unsigned queue_for(struct run *r, const struct CUgraphNode_st *node, struct done *done)
{
    for (size_t i = 0; i < node->n_after; i++) {
        struct done *before = &done[node->after[i]];
        if (!before->continued) {
            before->continued = true;
            return before->queue;
        }
    }
    return take_queue(r);
}

static cudaError_t run_graph(struct run *r, cudaGraph_t graph, const size_t *order, const struct past *start,
                             struct past *end);

/* Behind what `done` already says of it. */
static cudaError_t run_node(struct run *r, struct CUgraphNode_st *node, struct done *done)
{
    cudaError_t error = cudaSuccess;
    work_branch(done->queue, &done->past);
    for (struct operation *o = node->first; o && error == cudaSuccess; o = o->next)
        error = o->run(o->payload);
    work_of_branch(done->queue, &done->past);
    size_t *inner = node->child ? order_of(node->child) : NULL;
    if (inner) {
        struct past start = {0};
        past_copy(&start, &done->past);
        error = run_graph(r, node->child, inner, &start, &done->past);
        past_free(&start);
    }
    free(inner);
    return error;
}

static cudaError_t run_graph(struct run *r, cudaGraph_t graph, const size_t *order, const struct past *start,
                             struct past *end)
{
    cudaError_t error = cudaSuccess;
    struct done *done = allocated(calloc(graph->n_nodes + 1, sizeof *done));
    for (size_t i = 0; i < graph->n_nodes && error == cudaSuccess; i++) {
        struct CUgraphNode_st *node = graph->nodes[order[i]];
        struct done *d = &done[order[i]];
        past_copy(&d->past, start);
        for (size_t j = 0; j < node->n_after; j++)
            past_join(&d->past, &done[node->after[j]].past);
        d->queue = queue_for(r, node, done);
        error = run_node(r, node, d);
        past_join(end, &d->past);
    }
    for (size_t i = 0; i < graph->n_nodes; i++)
        past_free(&done[i].past);
    free(done);
    return error;
}

static cudaError_t run(cudaGraphExec_t exec, cudaStream_t stream)
{
    struct work w = work_begin(stream, WORK_OTHER);
    struct run r = {.exec = exec, .first = w.queue};
    struct past start = {0};
    work_of_branch(w.queue, &start);
    past_join(&start, &exec->end);
    cudaError_t error = run_graph(&r, exec->graph, exec->order, &start, &exec->end);
    work_branch(0, NULL);
    work_stream_waits(stream, &exec->end);
    past_free(&start);
    work_end(&w);
    return error;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
    (void)stream;
    return exec ? cudaSuccess : simt_fail(cudaErrorInvalidValue);
}

/* In a captured stream, the graph becomes a node of the other. */
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    if (!exec)
        return simt_fail(cudaErrorInvalidValue);
    struct CUgraphNode_st *node = next_node(stream, cudaGraphNodeTypeGraph);
    if (!node)
        return run(exec, stream);
    node->child = copy_of(exec->graph);
    return cudaSuccess;
}

/* Operations that may become a graph's nodes instead of being done. */
#ifndef SIMT_GRAPH_H
#define SIMT_GRAPH_H

#include "base/base.h"
#include "../../include/graph_types.h"

/* An operation asked of that stream: false: do it now. True: the stream is being captured, or a node being made, and
 * `run` will be called with a copy of the payload's bytes at every launch of the graph. */
bool graph_takes(cudaStream_t stream, enum cudaGraphNodeType type, cudaError_t (*run)(void *payload),
                 const void *payload, size_t bytes);

/* A capture goes over to the streams that wait for its events. */
void graph_event_recorded(cudaEvent_t event, cudaStream_t stream);
void graph_event_awaited(cudaEvent_t event, cudaStream_t stream);
void graph_event_destroyed(cudaEvent_t event);

bool graph_awaits(cudaStream_t stream); /* would it take an operation of that stream now? */

#endif

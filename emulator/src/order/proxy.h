/* The two ways to memory: bulk copies go by the async proxy, all else by the generic one. What was written by the latter is
 * seen by the former behind a fence between the two, fence.proxy.async, which any thread may have done on the way from one to
 * the other. The other way round a wait for the copy is enough. */
#ifndef SIMT_PROXY_H
#define SIMT_PROXY_H

#include "base/access.h"

enum proxy_space { PROXY_SHARED = 1, PROXY_GLOBAL = 2 };

void proxy_begin_block(struct block *b);
/* fence.proxy.async of the running thread, for memory of these spaces. */
void proxy_fence(struct block *b, unsigned spaces);
/* Has what that actor of a block wrote at that stamp, in memory of that space, been fenced before what the thread does now?
 * True as well where it cannot be known: fences of other blocks are only counted. */
bool proxy_fenced(struct block *b, unsigned thread, enum proxy_space space, uint32_t serial, unsigned writer,
                  uint32_t stamp);

#endif

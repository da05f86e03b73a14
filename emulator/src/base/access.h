/* An access: who does what. It goes through every room that has to say something about it. */
#ifndef SIMT_BASE_ACCESS_H
#define SIMT_BASE_ACCESS_H

#include "base/base.h"

struct block;

struct access {
    struct block *block;
    const void *pc;      /* of the code that does it, */
    const void *address; /* and of the memory */
    unsigned bytes;
    unsigned
        thread; /* of the block: that does it, or for whom an engine does: what this one knows has happened before */
    unsigned engine; /* 0: none, the thread itself */
    uint32_t serial; /* of the block, or of the engine's, which may be another of the cluster */
    uint32_t stamp;  /* the engine's, or of the block's clock */
    enum access_kind kind;
    enum simt_scope scope; /* of a strong one */
    enum manner manner;
    enum proxy proxy;
    bool compares; /* atomicCAS, which may write nothing */
};

struct worker;
void access_settle(struct worker *w); /* the last access of the worker's thread is done */

#endif

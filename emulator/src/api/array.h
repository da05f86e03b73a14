/* A CUDA array, as the copies, textures and surfaces see it. */
#ifndef SIMT_ARRAY_H
#define SIMT_ARRAY_H

#include "base/base.h"
#include "../../include/texture_types.h"

struct cudaArray {
    struct cudaChannelFormatDesc desc;
    struct cudaExtent
        extent;            /* as it was asked for: 0 where it has no such dimension; depth: slices, layers or faces */
    unsigned flags, texel; /* texel: bytes */
    size_t pitch, slice;   /* bytes from row to row, and from slice to slice */
    unsigned char *data;
};

unsigned array_texel_bytes(const struct cudaChannelFormatDesc *desc); /* 0: no such format */

/* cudaMemcpy3DAsync(), called at pc. */
cudaError_t array_copy_box(const struct cudaMemcpy3DParms *p, cudaStream_t stream, const void *pc);

#endif

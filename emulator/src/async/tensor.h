/* Tensors in global memory, and the boxes of them that are copied (PTX ISA, "Tensors"; CUDA Driver API, "Tensor Map Object
 * Management").
 *
 * A tensor map says where a tensor lies and how a box of it stands in shared memory: row behind row, without gaps, or as far apart
 * as a swizzle is wide. That then exchanges the 16-byte pieces of a row, by bits of the address in shared memory. */
#ifndef SIMT_TENSOR_H
#define SIMT_TENSOR_H

#include "async/transfer.h"
#include "../../include/cuda.h"

#define MOST_RANK 5
#define TENSOR_MOST_SIZE (1ull << 32) /* elements of a dimension */

/* What stands in a CUtensorMap. The first dimension is that of neighbours in memory. */
struct tensor_map {
    unsigned char *address;
    u64 mark;                   /* MAP_MARK */
    u64 sizes[MOST_RANK];       /* in elements */
    u64 strides[MOST_RANK - 1]; /* in bytes, of the second dimension and those behind it */
    uint32_t box[MOST_RANK];    /* what is walked over, in elements */
    uint16_t steps[MOST_RANK];  /* of these every so manieth is copied */
    uint8_t rank, type, interleave, swizzle, promotion, fill; /* as the driver numbers them */
};
/* CUTLASS clears bit 21 of a small tensor's second word, against an error of drivers up to 13.1: here it is clear. */
#define MAP_MARK 0x70616d726f536e74ull /* "tnSormap" */
_Static_assert(sizeof(struct tensor_map) <= sizeof(CUtensorMap), "a map has a place of 128 bytes");

extern const struct tensor_type {
    const char *name;
    unsigned bytes;
    bool floating;
    enum simt_type reduced_as;
} tensor_types[];                        /* by CUtensorMapDataType */
#define TENSOR_TYPES 13                  /* behind them come those of 4 and 6 bits */
#define TENSOR_NAN 0x7ff77ff77ff77ff7ull /* beyond the edges, of every type, where a map asks for NaN */

/* What is wrong with it, in a sentence; NULL: nothing. */
const char *tensor_map_fault(const struct tensor_map *m);

/* The pieces of a copy of the box that begins at that corner: into shared memory, out of it, or of global memory alone. They
 * are valid until the next call on this OS thread. */
enum tensor_way { TENSOR_LOAD, TENSOR_STORE, TENSOR_PREFETCH };
unsigned tensor_pieces(const struct tensor_map *m, const int *corner, enum tensor_way way, unsigned char *shared,
                       unsigned shared_address, struct piece **pieces);
u64 tensor_box_bytes(const struct tensor_map *m);

#endif

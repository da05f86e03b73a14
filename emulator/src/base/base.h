/* What every room of the runtime uses: the API's types, sizes, the kinds of access. */
#ifndef SIMT_BASE_H
#define SIMT_BASE_H

#include "../../include/cuda_runtime_api.h"
#include "../../include/simt/runtime.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define WARP 32
#define WARPGROUP 4     /* warps with consecutive numbers, the first of which is a multiple of that */
#define VECTOR_BYTES 16 /* that lie together in shared memory, whatever the swizzle */
#define MAX_THREADS 1024
#define MAX_WARPS (MAX_THREADS / WARP)
#define MAX_WORKERS 16
#define SHARED_BYTES (512u << 10) /* one block's arena: 227 KiB of arrays and the gaps around them */
#define CALLER() __builtin_return_address(0)

typedef unsigned long long u64;
typedef unsigned __int128 u128;

extern bool simt_checked; /* was any of the program compiled with hooks? */

enum access_kind {
    ACCESS_LOAD,
    ACCESS_STORE,
    ACCESS_ATOMIC,
    ACCESS_VOLATILE_LOAD,
    ACCESS_VOLATILE_STORE,
    ACCESS_MATRIX_LOAD, /* a row, by ldmatrix; and stmatrix */
    ACCESS_MATRIX_STORE,
    ACCESS_FRAGMENT_LOAD /* a piece of a WMMA fragment */
};

/* By which way to memory: bulk copies and wgmma go by the async proxy, all else by the generic one. */
enum proxy { GENERIC_PROXY, ASYNC_PROXY };

/* What an access is, that its address does not tell. */
enum manner {
    AS_WRITTEN, /* of C++: whether it is of a vector, or of a struct with padding, the line says */
    AS_COPY,    /* of a part of something of which a part has been written */
    AS_VECTOR,  /* of a number or a vector */
    AS_RELAXED  /* that, and a volatile access which is strong also within its warp (PTX: .relaxed) */
};

static inline bool access_stores(enum access_kind kind)
{
    return kind == ACCESS_STORE || kind == ACCESS_ATOMIC || kind == ACCESS_VOLATILE_STORE ||
           kind == ACCESS_MATRIX_STORE;
}

/* By a warp as one: its lanes have met for it, and it is done before any of them goes on. */
static inline bool access_collective_load(enum access_kind kind)
{
    return kind == ACCESS_MATRIX_LOAD || kind == ACCESS_FRAGMENT_LOAD;
}

/* Zeroed memory that costs nothing until it is touched. Ends the program with status 2 where there is none. */
void *base_reserve(size_t bytes);
void base_release(void *memory, size_t bytes);
bool base_is_reserved(const void *address);
void base_populate(void *memory, size_t bytes); /* soon all of it is written */
void base_forget(void *memory, size_t bytes);   /* zeroes it, and gives its pages back */

void base_json_string(FILE *f, const char *s); /* quoted, as JSON has it */

void base_out_of_memory(void) __attribute__((noreturn)); /* ends the program with status 2 */

#endif

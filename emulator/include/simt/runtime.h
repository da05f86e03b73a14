/* What kernels ask of the emulator's runtime: the C functions behind the CUDA words of cuda_runtime.h.
 * All but the launch are called by a CUDA thread, on its own fiber. */
#ifndef SIMT_RUNTIME_H
#define SIMT_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../driver_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Two calls, in two branches, are never merged into one: which of them a thread is in tells where it waits. g++ is told
 * so by flags (see simtcc). */
#if defined(__clang__)
#define SIMT_NOMERGE __attribute__((nomerge))
#else
#define SIMT_NOMERGE
#endif

/* One `__shared__` declaration. The translator makes one per declaration (and template instance). */
struct simt_shared_site {
    const char *name, *file;
    int line;
    unsigned bytes, align, element_bytes, dimensions[4]; /* dimensions: extents, 0 after the last */
    unsigned long launch;                                /* the launch that offset belongs to */
    unsigned offset;
};
/* Where it lies in this block's shared memory; extern __shared__: after all the declared arrays. For a thread neither
 * ever changes, so the compiler may ask once. */
void *simt_shared(struct simt_shared_site *site) __attribute__((const, nothrow));
void *simt_shared_dynamic(void) __attribute__((const, nothrow));

/* One `__device__`, `__constant__` or `__managed__` variable. Those outside of functions are listed by the section
 * simt_symbols, of pointers, some perhaps more than once; the others register when a thread reaches them. */
enum simt_symbol_kind { SIMT_DEVICE, SIMT_CONSTANT, SIMT_MANAGED };
struct simt_symbol {
    void *address;
    size_t bytes;
    const char *name, *file;
    int line;
    enum simt_symbol_kind kind;
    struct simt_symbol *next; /* the runtime's own; NULL until it knows of it */
};
void simt_symbol_here(struct simt_symbol *symbol);

/* One `asm` statement, and its operands: outputs, then inputs, as they are numbered in the text. A constraint begins
 * with `=` or `+` where the operand is written, and with `[name]`, before that, where it has one. */
struct simt_asm_operand {
    const char *constraint;
    unsigned bytes;
    bool enters;   /* its value is read */
    bool variable; /* the runtime reads and writes it itself */
};
struct simt_assembly_site {
    const char *text, *file; /* file NULL: a header's of the emulator, which has no line of its own */
    int line, n_outputs, n_inputs;
    void *parsed; /* the runtime's own; NULL at first */
};
/* Then, for each operand: of a variable its address; else of an output its address, and of one that enters its bits, as
 * unsigned long long. */
SIMT_NOMERGE void simt_assembly(struct simt_assembly_site *site, const struct simt_asm_operand *operands, ...);

/* A variable of so many bytes, which products in flight may read as registers, is none of them any more. */
void simt_registers_end(const void *variable, size_t bytes);

/* An address in shared memory as the 32 bits that PTX has for it, from the start of the block's, and back. */
unsigned simt_shared_address(const void *generic);
void *simt_shared_generic(unsigned shared);

/* In which space does a generic address lie? */
enum simt_space {
    SIMT_IN_GLOBAL,
    SIMT_IN_SHARED,  /* the block's own */
    SIMT_IN_CLUSTER, /* shared memory of any block of its cluster */
    SIMT_IN_LOCAL,
    SIMT_IN_CONSTANT
};
bool simt_is_in(enum simt_space space, const void *generic);

/* The same place in the shared memory of the block of that rank in the cluster, and the rank of the block whose shared memory
 * it is. */
void *simt_cluster_map(const void *generic, unsigned rank);
unsigned simt_cluster_rank_of(const void *generic);

/* Index functions never change for a thread, so the compiler may call them once. dim: 0 x, 1 y, 2 z. */
unsigned simt_thread_idx(int dim) __attribute__((const, nothrow));
unsigned simt_block_idx(int dim) __attribute__((const, nothrow));

/* In the cluster: the place of the block, and how many blocks there are. And is the launch one with clusters? */
unsigned simt_cluster_idx(int dim) __attribute__((const, nothrow));
unsigned simt_cluster_dim(int dim) __attribute__((const, nothrow));
bool simt_cluster_is_explicit(void) __attribute__((const, nothrow));

SIMT_NOMERGE void simt_syncthreads(void);
SIMT_NOMERGE void simt_barrier(unsigned id, unsigned threads); /* 0 to 15; threads 0: all that have not left */
SIMT_NOMERGE int simt_syncthreads_count(int predicate);
SIMT_NOMERGE int simt_syncthreads_and(int predicate);
SIMT_NOMERGE int simt_syncthreads_or(int predicate);
SIMT_NOMERGE void simt_warp_sync(unsigned mask);
enum simt_scope { SIMT_SCOPE_BLOCK, SIMT_SCOPE_CLUSTER, SIMT_SCOPE_DEVICE, SIMT_SCOPE_SYSTEM };
SIMT_NOMERGE void simt_fence(enum simt_scope scope);
void simt_yield(void); /* lets the block's other threads run */
long long simt_clock(void);
void simt_trap(void);

/* Groups of several warps, `size` neighbouring threads of the block: their barrier, and what each offers to the others, which
 * they take behind it; thread: its number in the block. */
SIMT_NOMERGE void simt_tile_sync(unsigned size);
void simt_tile_offer(const void *value, unsigned bytes);
void simt_tile_take(unsigned thread, void *value, unsigned bytes);

/* A group of threads was to be cut into parts of so many, and cannot be. */
void simt_bad_partition(unsigned size) __attribute__((noreturn));

/* The grid as a group: was the launch cooperative? Only then may its blocks wait for each other. */
bool simt_grid_is_whole(void);
SIMT_NOMERGE void simt_grid_sync(void);
/* The two halves of the block's barrier, and of the grid's. */
SIMT_NOMERGE void simt_barrier_arrive(void);
SIMT_NOMERGE void simt_barrier_wait(void);
SIMT_NOMERGE void simt_grid_arrive(void);
SIMT_NOMERGE void simt_grid_wait(void);
/* The two halves of the cluster's. Relaxed: what its thread has done is not ordered by it. */
SIMT_NOMERGE void simt_cluster_arrive(bool relaxed);
SIMT_NOMERGE void simt_cluster_wait(void);

enum simt_shuffle { SIMT_SHUFFLE_INDEX, SIMT_SHUFFLE_UP, SIMT_SHUFFLE_DOWN, SIMT_SHUFFLE_XOR };
#define SIMT_SHUFFLE_WIDE 4u /* added to one of these: of 8 bytes, two instructions on a GPU */
SIMT_NOMERGE unsigned long long simt_warp_shuffle(enum simt_shuffle how, unsigned mask, unsigned long long bits, int by,
                                                  int width);
enum simt_vote { SIMT_VOTE_BALLOT, SIMT_VOTE_ANY, SIMT_VOTE_ALL, SIMT_VOTE_UNIFORM, SIMT_VOTE_ELECT };
SIMT_NOMERGE unsigned simt_warp_vote(enum simt_vote how, unsigned mask, int predicate); /* the lanes that say yes */
SIMT_NOMERGE unsigned simt_warp_active(void);
enum simt_match { SIMT_MATCH_ANY, SIMT_MATCH_ALL };
/* The lanes with the same bits. */
SIMT_NOMERGE unsigned simt_warp_match(enum simt_match how, unsigned mask, unsigned long long bits, unsigned bytes);
enum simt_reduce {
    SIMT_REDUCE_ADD,
    SIMT_REDUCE_MIN,
    SIMT_REDUCE_MAX,
    SIMT_REDUCE_UMIN,
    SIMT_REDUCE_UMAX,
    SIMT_REDUCE_AND,
    SIMT_REDUCE_OR,
    SIMT_REDUCE_XOR
};
SIMT_NOMERGE unsigned simt_warp_reduce(enum simt_reduce how, unsigned mask, unsigned value);

enum simt_atomic_op {
    SIMT_ATOMIC_ADD,
    SIMT_ATOMIC_SUB,
    SIMT_ATOMIC_EXCHANGE,
    SIMT_ATOMIC_MIN,
    SIMT_ATOMIC_MAX,
    SIMT_ATOMIC_INC,
    SIMT_ATOMIC_DEC,
    SIMT_ATOMIC_CAS,
    SIMT_ATOMIC_AND,
    SIMT_ATOMIC_OR,
    SIMT_ATOMIC_XOR
};
/* X2: a pair, of which each half is atomic by itself. */
enum simt_type {
    SIMT_I32,
    SIMT_U32,
    SIMT_I64,
    SIMT_U64,
    SIMT_F32,
    SIMT_F64,
    SIMT_U16,
    SIMT_I16,
    SIMT_U8,
    SIMT_I8,
    SIMT_F16,
    SIMT_BF16,
    SIMT_F16X2,
    SIMT_BF16X2,
    SIMT_B128
};
/* Value and compare as bit patterns; returns the old value's. */
SIMT_NOMERGE unsigned long long simt_atomic(enum simt_atomic_op op, enum simt_type type, enum simt_scope scope,
                                            void *address, unsigned long long value, unsigned long long compare);
/* Of n neighbours, each by itself; the values become the old ones. */
SIMT_NOMERGE void simt_atomic_vector(enum simt_atomic_op op, enum simt_type type, enum simt_scope scope, void *address,
                                     unsigned n, unsigned long long *values);
/* Of 16 bytes, by exchange or comparison; the value becomes the old one. */
SIMT_NOMERGE void simt_atomic_wide(enum simt_atomic_op op, enum simt_scope scope, void *address, void *value,
                                   const void *compare);

/* As cuda::atomic has them, with the orders of C++, numbered as its memory_order; also by the host. A value comes from and
 * goes to that address. */
enum simt_order { SIMT_RELAXED, SIMT_CONSUME, SIMT_ACQUIRE, SIMT_RELEASE, SIMT_ACQUIRE_RELEASE, SIMT_SEQUENTIAL };
struct simt_ordering {
    enum simt_scope scope;
    enum simt_order order, failure; /* failure: of a comparison that does not hold */
};
SIMT_NOMERGE void simt_ordered_load(struct simt_ordering how, const void *address, void *value, unsigned bytes);
SIMT_NOMERGE void simt_ordered_store(struct simt_ordering how, void *address, const void *value, unsigned bytes);
/* The value becomes the old one. Was something written? */
SIMT_NOMERGE bool simt_ordered_change(struct simt_ordering how, enum simt_atomic_op op, enum simt_type type,
                                      void *address, void *value, const void *compare);
SIMT_NOMERGE void simt_ordered_fence(enum simt_order order, enum simt_scope scope);

/* The load that follows takes memory for constant as long as the kernel runs, as __ldg() does. */
SIMT_NOMERGE void simt_read_only(const void *address, unsigned bytes);

/* A texture fetch: where, and the texel's components as 32 bits each. An object is a number, as in CUDA. */
enum simt_texture_way { SIMT_BY_PLACE, SIMT_BY_INDEX, SIMT_IN_LAYER, SIMT_IN_CUBE };
struct simt_coordinates {
    int dimensions;
    enum simt_texture_way way;
    float at[3];
    int layer; /* SIMT_BY_INDEX: the index */
};
struct simt_texel {
    union {
        float floats[4];
        unsigned words[4]; /* sign-extended where the format is signed */
    };
};
void simt_texture(unsigned long long texture, const struct simt_coordinates *where, struct simt_texel *texel);
/* at: x in bytes, y, then z or layer. mode: enum cudaSurfaceBoundaryMode. */
void simt_surface_read(unsigned long long surface, const int *at, int mode, void *value, unsigned bytes);
void simt_surface_write(unsigned long long surface, const int *at, int mode, const void *value, unsigned bytes);

/* Arithmetic and conversions that are rounded as the first argument says; operands that an operation does not have are ignored. */
enum simt_rounding { SIMT_NEAREST, SIMT_ZERO, SIMT_UP, SIMT_DOWN };
#define SIMT_ROUNDED(NAME, TO, FROM) TO NAME(enum simt_rounding how, FROM x, FROM y, FROM z)
SIMT_ROUNDED(simt_addf, float, float);
SIMT_ROUNDED(simt_multiplyf, float, float);
SIMT_ROUNDED(simt_dividef, float, float);
SIMT_ROUNDED(simt_rootf, float, float);
SIMT_ROUNDED(simt_fusedf, float, float);
SIMT_ROUNDED(simt_add, double, double);
SIMT_ROUNDED(simt_multiply, double, double);
SIMT_ROUNDED(simt_divide, double, double);
SIMT_ROUNDED(simt_root, double, double);
SIMT_ROUNDED(simt_fused, double, double);
SIMT_ROUNDED(simt_double_to_float, float, double);
SIMT_ROUNDED(simt_signed_to_float, float, long long);
SIMT_ROUNDED(simt_unsigned_to_float, float, unsigned long long);
SIMT_ROUNDED(simt_signed_to_double, double, long long);
SIMT_ROUNDED(simt_unsigned_to_double, double, unsigned long long);

/* Is it a CUDA thread that asks? Never changes within a function, so the compiler may ask once. */
bool simt_on_device(void) __attribute__((const, nothrow));
const void *simt_launch_params(void); /* of the kernel that runs */

/* One kernel, or one instance of a template; simt-translate makes it in the kernel's own body. */
struct simt_kernel {
    const char *name, *file; /* the plain name, and the line that defines it */
    int line;
    const void *function;
    /* Launches it with parameters copied from these addresses; caller: as simt_launch() takes it. */
    enum cudaError (*launch)(struct simt_kernel *kernel, const void *caller, void **arguments);
    const char *parameters; /* their names, "A B n"; "" where a pack stands among them */
    /* The value of the parameter with that index, where it is a pointer; else NULL. */
    const void *(*pointer)(const void *params, unsigned index);
    unsigned max_threads, min_blocks, most_in_cluster; /* __launch_bounds__; 0: none */
    unsigned cluster[3];                               /* __cluster_dims__; likewise */
    unsigned registers;                                /* __maxnreg__; likewise */
    /* functions.c; zero at first */
    size_t static_bytes, dynamic_limit;
    struct simt_kernel *next;
    bool opted_in; /* the limit is what the program has asked for */
    struct {
        int required[3]; /* extents of its clusters, where __cluster_dims__ says none */
        int non_portable, policy;
    } asked_of_clusters; /* by cudaFuncSetAttribute() */
};
bool simt_kernel_known(struct simt_kernel *kernel); /* before main(): the API finds it by its address; true */

/* What stands between <<< and >>>. Kept for the host thread's next launch; a launch among that one's arguments comes
 * between. */
struct simt_configuration {
    unsigned grid[3], block[3];
    size_t dynamic_shared;
    void *stream;
    const char *text, *file; /* the kernel as the launch names it */
    int line;
    bool cooperative;
    bool programmatic;     /* it may begin before the launch in front of it has ended */
    unsigned cluster[3];   /* cudaLaunchAttributeClusterDimension; 0: the kernel says */
    unsigned preferred[3]; /* cudaLaunchAttributePreferredClusterDimension; 0: none */
};
void simt_grid_dependency_wait(void);         /* for the launch in front, by a kernel of a programmatic one */
void simt_grid_launch_dependents(void);       /* the next launch may begin, if it is a programmatic one */
bool simt_default_stream_is_per_thread(void); /* from now on */
void simt_configure(const struct simt_configuration *configuration);

/* `thread(params)` is run once per CUDA thread. params is the block of kernel arguments, of `params_bytes` bytes,
 * readable by every thread. caller: a return address on the line of the launch. Errors go where cudaGetLastError finds
 * them, too. */
enum cudaError simt_launch(struct simt_kernel *kernel, const void *caller, void (*thread)(const void *params),
                           const void *params, size_t params_bytes);

#ifdef __cplusplus
}
#endif
#endif

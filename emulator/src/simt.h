/* The emulator's own view of itself: what its rooms offer one another.
 *
 *   launch.c    grids, workers            fiber.c     stacks and the switch between them
 *   block.c     the threads of one block: who runs, who waits, barriers, deadlock
 *   collective.c shuffles and votes       atomic.c    atomic functions
 *   memory.c    device memory and copies  shared.c    a block's shared memory
 *   hooks.c     every access of a kernel  check.c     where an access may go
 *   race.c      happens-before in a block race_global.c between blocks
 *   counters.c  warp requests, banks, sectors
 *   profile.c   the tables of counters    lines.c     code address → source line
 *   report.c    faults in words           device.c    the GPU described, runtime_api.c the rest of the API
 *
 * One OS thread (a worker) runs one block at a time. Each CUDA thread of the block is a fiber. */
#ifndef SIMT_H
#define SIMT_H

#include "../include/cuda_runtime_api.h"
#include "../include/simt/runtime.h"
#include <stdbool.h>
#include <stdio.h>

#define WARP 32
#define MAX_THREADS 1024
#define MAX_WARPS (MAX_THREADS / WARP)
#define MAX_WORKERS 16
#define SHARED_BYTES (512u << 10) /* one worker's arena: 227 KiB of arrays and the gaps around them */
#define MAX_REGIONS 64
#define CALLER() __builtin_return_address(0)

typedef unsigned long long u64;

/* ---- state ---- */

enum wait { WAIT_NONE, WAIT_BLOCK, WAIT_WARP };

struct collective { /* what a lane brings to a warp collective, and takes away */
    enum collective_kind { COLLECTIVE_SYNC, COLLECTIVE_SHUFFLE, COLLECTIVE_BALLOT, COLLECTIVE_MATCH, COLLECTIVE_REDUCE, COLLECTIVE_ACTIVE } kind;
    unsigned mask;
    u64 bits, result;
    enum simt_shuffle how;
    enum simt_reduce reduce;
    int by, width, predicate;
};

struct thread {
    void *sp;             /* saved while it does not run */
    unsigned char *stack; /* its slot; NULL before it starts and after it ends */
    unsigned idx[3];
    enum wait wait;
    const void *pc; /* the call it waits in */
    struct collective *call;
    uint32_t clock; /* steps at every release: happens-before, see race.c */
    uint8_t turns[16]; /* shared stores since it last met others, by their place in the program */
};

struct warp {
    uint32_t live, ready;            /* lanes that have not left; lanes that could run */
    uint32_t known[WARP][WARP];      /* known[i][j]: lane i has seen what lane j did up to this clock */
};

struct region { /* one array in shared memory */
    unsigned offset, bytes;
    const struct simt_shared_site *site; /* NULL: the dynamic one */
};

struct launch {
    const struct simt_kernel_launch *call;
    unsigned long number;
    unsigned threads; /* per block */
    u64 blocks, next_block;
    unsigned dynamic_offset; /* of the dynamic region, 0 when there is none */
    unsigned static_bytes, arena_bytes;
    struct releases *releases; /* race_global.c: per block, once one has published something */
    unsigned n_regions;
    struct region regions[MAX_REGIONS];
};

struct worker;

/* A store that races, unless it stores what is there already: known once it has been done. */
struct suspicion {
    const unsigned char *address; /* NULL: none */
    unsigned bytes;
    unsigned char before[16];
    void (*report)(struct worker *w, const struct suspicion *s);
    const void *pc, *other_pc;
    const char *verb;
    unsigned other; /* thread of this block, or block */
};

struct worker {
    struct launch *launch;
    unsigned cur; /* the running thread */
    unsigned n_live; /* threads of the block that have not left */
    unsigned block[3];
    u64 block_number; /* in the grid */
    struct thread *threads;
    struct warp *warps;
    /* the block-wide barrier */
    unsigned arrived, count, count_result;
    const void *barrier_pc;
    /* shared memory */
    unsigned char *arena;
    unsigned last_region;
    struct cell *cells, *byte_cells; /* race.c */
    uint32_t epoch, block_epoch;     /* barriers passed by this worker; value when the block began */
    bool fenced;                     /* race_global.c: the block has done a __threadfence() */
    unsigned n_releases;             /* and published so often */
    bool acquires;                   /* and done an atomic operation since it last looked at */
    u64 acquired;                    /* how many atomic operations had then been done */
    struct counting *counting;       /* counters.c; NULL when nothing is counted */
    unsigned char *stacks;           /* fiber.c */
    unsigned char *free_stacks[MAX_THREADS];
    unsigned n_free_stacks, n_stacks;
    void *main_sp;
    unsigned quiet; /* accesses since the thread last gave way */
    struct suspicion suspicion;
    const void *storing; /* the store that its thread was last about to do; cleared when it does something else */
};
extern struct worker simt_workers[MAX_WORKERS];

extern __thread struct worker *simt_worker; /* NULL on the host */

static inline struct thread *current(struct worker *w) { return &w->threads[w->cur]; }
static inline struct warp *warp_of(struct worker *w, unsigned t) { return &w->warps[t / WARP]; }

/* ---- fiber.c ---- */
#define STACK_SLOT (64u << 10)
void fiber_init(struct worker *w);
void fiber_start(struct worker *w, unsigned thread);            /* from the worker's own stack; returns when all left */
void fiber_switch(struct worker *w, unsigned from, unsigned to); /* `to` may not have started yet */
void fiber_exit(struct worker *w, unsigned next) __attribute__((noreturn)); /* next: a thread, or NO_THREAD */
#define NO_THREAD (~0u)
bool fiber_guard_hit(const void *address); /* is it in the guard page under a stack? */
const char *fiber_kind(void);

/* ---- block.c ---- */
void block_run(struct worker *w, u64 index);
void block_thread_done(struct worker *w); /* called by a fiber at the end of its kernel */
void block_wait(struct worker *w);        /* the running thread has set its wait; run others until it is woken */
void block_wake(struct worker *w, unsigned thread);

/* ---- collective.c ---- */
void collective_lane_left(struct worker *w, unsigned warp); /* the lanes that remain may be complete now */
bool collective_resolve_active(struct worker *w);           /* nobody can run: those in __activemask() may go on */

/* ---- launch.c ---- */
extern unsigned simt_n_workers, simt_block_dim[3], simt_grid_dim[3];

/* ---- memory.c ---- */
struct allocation {
    unsigned char *base;
    size_t bytes;
    bool freed, unified;
    const void *made_at, *freed_at;
    void *shadow; /* who touched it: race_global.c */
};
void memory_device_mode(bool on);                                /* may device memory be touched? */
bool memory_is_device(const void *address);                      /* in the range that cudaMalloc hands out */
bool memory_is_unified(const void *address);
const struct allocation *memory_find(const void *address);       /* NULL: between allocations */
const struct allocation *memory_nearest(const void *address);
bool memory_is_symbol(const void *address);                      /* a __device__, __constant__ or __managed__ variable */
bool memory_is_managed(const void *address);                     /* a __managed__ one */
size_t memory_symbols(const char **start);                       /* bytes of those variables, and where they begin */
bool memory_is_constant(const void *address);                    /* read-only parts of the program */
extern unsigned char *memory_base;
#define MEMORY_SPAN ((size_t)64 << 30)
#define MEMORY_GRANULE 4096u
extern uint32_t *memory_map; /* granule → index into memory_allocations, 0 for none */
extern struct allocation *memory_allocations;

/* ---- shared.c ---- */
void shared_init(struct worker *w);
void shared_begin_launch(struct launch *l);
void shared_begin_block(struct worker *w);
const struct region *shared_region(struct worker *w, unsigned offset, unsigned bytes); /* NULL: in no array */
void shared_name(const struct launch *l, unsigned offset, char *out, size_t size);     /* "A_smem[1][3]" */

/* ---- hooks.c, check.c, race.c, counters.c ---- */
extern bool simt_checked; /* was any of the program compiled with hooks? */
enum access { ACCESS_LOAD, ACCESS_STORE, ACCESS_ATOMIC, ACCESS_VOLATILE_LOAD, ACCESS_VOLATILE_STORE };
void check_access(struct worker *w, const void *pc, const void *address, unsigned bytes, enum access kind);
void race_init(struct worker *w);
void race_access(struct worker *w, const void *pc, unsigned offset, unsigned bytes, enum access kind);
void race_block_barrier(struct worker *w);
void race_warp_sync(struct worker *w, unsigned warp, uint32_t lanes);

void race_suspect(struct worker *w, struct suspicion s); /* of the running thread, about to store */
void race_judge(struct worker *w);
static inline void race_moves_on(struct worker *w) /* called before a thread does anything else: its last store is done */
{
    __atomic_store_n(&w->storing, NULL, __ATOMIC_RELEASE);
    if (w->suspicion.address) race_judge(w);
}
void race_global_access(struct worker *w, const void *pc, const void *address, unsigned bytes, enum access kind, void *shadow,
                        size_t offset); /* in an allocation with that shadow */
void race_global_symbol(struct worker *w, const void *pc, const void *address, unsigned bytes, enum access kind);
void race_global_atomic(struct worker *w);
void race_global_end_launch(struct launch *l);
size_t race_global_shadow_bytes(size_t bytes);

enum counted { SHARED_LD, SHARED_ST, GLOBAL_LD, GLOBAL_ST, COUNTED_ACCESSES };
enum event { EVENT_BARRIER, EVENT_WARP_BARRIER, EVENT_SHUFFLE, EVENT_VOTE, EVENT_ATOMIC, EVENTS };
struct access_counts { u64 requests, bytes, wavefronts, conflicts, sectors; };
struct counts {
    struct access_counts access[COUNTED_ACCESSES];
    u64 event[EVENTS];
};
struct line_counts { const void *pc; struct counts counts; };
extern bool counters_on;
void counters_begin(struct worker *w);  /* at a launch */
void counters_end(struct worker *w);    /* adds this worker's counts to the kernel's */
void counters_access(struct worker *w, const void *pc, enum counted what, const void *address, unsigned bytes);
void counters_event(struct worker *w, const void *pc, enum event what);
void counters_warp_joined(struct worker *w, unsigned warp); /* all lanes have met: requests are complete */
void counters_block_joined(struct worker *w);
void counters_merge(struct counts *into, const struct counts *from);

/* ---- profile.c ---- */
void profile_launch(const struct launch *l);
void profile_add(const struct launch *l, const struct line_counts *lines, unsigned n);

/* ---- lines.c ---- */
struct source_line { char file[512]; char function[256]; int line; };
void lines_resolve(const void *const *pcs, unsigned n, struct source_line *out);
struct source_line lines_of(const void *pc);
bool lines_same(const void *pc, const void *other);

/* ---- report.c ---- */
void report_install_handlers(void);
void report_thread_handlers(void); /* once per OS thread: the alternate signal stack */
/* Each says what happened and ends the program with status 1: races and uninitialised reads at the launch's end. */
void report_race(struct worker *w, const void *address, unsigned bytes, const char *now, const void *pc, unsigned other,
                 const char *before, const void *other_pc);
void report_global_race(struct worker *w, const void *pc, const void *address, unsigned bytes, bool store, unsigned other_block,
                        const char *before, const void *other_pc);
void report_uninitialised(struct worker *w, unsigned offset, unsigned bytes, const void *pc, enum access access);
void report_access(struct worker *w, const char *kind, const void *pc, const void *address, unsigned bytes,
                   enum access access, const char *why) __attribute__((noreturn));
void report_waiting(struct worker *w) __attribute__((noreturn));
void report_divergence(struct worker *w, unsigned thread, unsigned other) __attribute__((noreturn));
void report_host(const char *kind, const void *pc, const char *why) __attribute__((noreturn));
void report_unsupported(const char *what, const char *file, int line) __attribute__((noreturn)); /* status 2 */
const char *report_thread_name(struct worker *w, unsigned thread, char *out, size_t size);
void report_finish_launch(void); /* ends the program when the launch was faulty */

/* ---- device.c ---- */
struct gpu {
    const char *name, *title, *source;
    int major, minor, sms, fp32_lanes_per_sm;
    double clock_ghz, dram_gbps;
    int memory_clock_khz, bus_width_bits;
    size_t memory, l2, shared_per_sm, shared_optin;
    int threads_per_sm, blocks_per_sm;
};
const struct gpu *device_gpu(void);

/* ---- runtime_api.c ---- */
cudaError_t simt_fail(cudaError_t error);

#endif

/* Which turn of which loops is a thread in?
 *
 * Lanes of a warp execute an instruction together only when they came to it together. Kernels are compiled with
 * -fsanitize-coverage=trace-pc, which puts a call at the start of each basic block; flow.c knows the loops. Each time a
 * thread comes to the header of a loop it begins another turn. So lanes that took different numbers of turns have
 * different keys inside the loop, and the same key again after it, where hardware lets them reconverge. Each call of a
 * function that was not inlined is kept apart, by its frame and the address that it returns to.
 *
 * The key follows from the blocks that the thread came through and from nothing else: lanes that take the same way
 * always have the same. */
#include "count/path.h"
#include "block/launch.h"
#include "block/worker.h"
#include "count/counters.h"
#include "count/flow.h"
#include <stdlib.h>

#define MOST_CALLS 32
#define MOST_LOOPS 32
#define NEAR 1024 /* a power of two */

struct turns {
    const struct flow_loop *loop;
    u64 n;
    u64 key; /* of this loop and all around it */
};

struct call {
    uintptr_t frame, returns_to;
    const struct flow_block *block; /* the one it is in; NULL: not known */
    unsigned outer_loops;           /* those entered before the call */
    u64 key;                        /* outside of the loops of this call */
};

struct path {
    unsigned n_calls, n_loops;
    struct call calls[MOST_CALLS];
    struct turns loops[MOST_LOOPS];
};

struct paths {
    struct path path[MAX_THREADS];
    struct {
        const void *pc;
        const struct flow_block *block;
    } near[NEAR]; /* answers of flow_block() */
};

static u64 mixed(u64 key, u64 value)
{
    key = (key ^ value) * 0x9e3779b97f4a7c15u;
    return key ^ key >> 29;
}

static const struct flow_block *block_at(struct paths *all, const void *pc)
{
    unsigned at = (unsigned)(mixed(0, (uintptr_t)pc) >> 40) % NEAR;
    if (all->near[at].pc != pc) {
        all->near[at].block = flow_block(pc);
        all->near[at].pc = pc;
    }
    return all->near[at].block;
}

static struct call *last_call(struct path *p) { return &p->calls[p->n_calls - 1]; }

static u64 key_of(const struct path *p)
{
    const struct call *c = &p->calls[p->n_calls - 1];
    return p->n_loops > c->outer_loops ? p->loops[p->n_loops - 1].key : c->key;
}

u64 path_key(const struct block *b, unsigned thread)
{
    const struct path *p = &b->paths->path[thread];
    return p->n_calls ? key_of(p) : 0;
}

static void enter_call(struct path *p, uintptr_t frame, uintptr_t returns_to)
{
    u64 key = p->n_calls ? mixed(key_of(p), returns_to) : 0;
    p->calls[p->n_calls] = (struct call){
        .frame = frame, .returns_to = returns_to, .outer_loops = p->n_loops, .key = key};
    p->n_calls++;
}

static void leave_call(struct path *p)
{
    p->n_loops = last_call(p)->outer_loops;
    p->n_calls--;
}

/* One more turn of the loop; the first of them leaves the key as it is. */
static void turn(struct path *p, const struct flow_loop *loop)
{
    const struct call *c = last_call(p);
    if (p->n_loops == c->outer_loops || p->loops[p->n_loops - 1].loop != loop) {
        if (p->n_loops == MOST_LOOPS)
            return;
        p->loops[p->n_loops] = (struct turns){.loop = loop, .key = key_of(p)};
        p->n_loops++;
        return;
    }
    struct turns *t = &p->loops[p->n_loops - 1];
    u64 around = p->n_loops - 1 > c->outer_loops ? t[-1].key : c->key;
    t->n++;
    t->key = mixed(mixed(around, loop->header + 1), t->n);
}

/* The thread comes to block number `at` of that function. */
static void step(struct path *p, const struct flow *f, unsigned at)
{
    const struct call *c = last_call(p);
    while (p->n_loops > c->outer_loops) {
        const u64 *region = p->loops[p->n_loops - 1].loop->region;
        if (region[at / 64] >> at % 64 & 1)
            break;
        p->n_loops--;
    }
    unsigned loop = f->blocks[at].loop;
    if (loop != ~0u)
        turn(p, &f->loops[loop]);
}

static const struct flow_way *way_to(const struct flow_block *from, unsigned to)
{
    for (unsigned i = 0; i < from->n_ways; i++)
        if (from->ways[i].to == to)
            return &from->ways[i];
    return NULL;
}

static void move(struct path *p, const struct flow_block *block)
{
    struct call *c = last_call(p);
    const struct flow_block *from = c->block;
    c->block = block;
    if (!block)
        return;
    unsigned at = (unsigned)(block - block->flow->blocks);
    if (from && from->flow != block->flow)
        p->n_loops = c->outer_loops; /* a second call, from the same place */
    const struct flow_way *way = from && from->flow == block->flow ? way_to(from, at) : NULL;
    for (unsigned i = way ? way->n : 0; i > 0; i--)
        step(p, block->flow, way->steps[i - 1]);
    step(p, block->flow, at);
}

static void visit(struct path *p, const struct flow_block *block, uintptr_t frame, uintptr_t returns_to)
{
    while (p->n_calls && last_call(p)->frame < frame)
        leave_call(p);
    if (p->n_calls && last_call(p)->frame == frame && last_call(p)->returns_to != returns_to)
        leave_call(p);
    if (!p->n_calls || last_call(p)->frame > frame) {
        if (p->n_calls == MOST_CALLS)
            return;
        enter_call(p, frame, returns_to);
    }
    move(p, block);
}

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    if (__builtin_expect(!counters_on, 1))
        return;
    if (!simt_worker || !block_here()->paths)
        return;
    struct block *b = block_here();
    const uintptr_t *own = __builtin_frame_address(0);
    const uintptr_t *frame = (const uintptr_t *)own[0]; /* the caller's: kernels are compiled with frame pointers */
    visit(&b->paths->path[b->cur], block_at(b->paths, CALLER()), (uintptr_t)frame, frame[1]);
}

void path_begin(struct block *b)
{
    if (!b->paths)
        b->paths = base_reserve(sizeof *b->paths); /* kept: most of it is never touched */
}

void path_begin_block(struct block *b)
{
    for (unsigned t = 0; t < b->launch->threads; t++) {
        b->paths->path[t].n_calls = 0;
        b->paths->path[t].n_loops = 0;
    }
}

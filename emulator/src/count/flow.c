/* The control flow of kernels: which basic blocks follow which, where loops begin, and where the ways out of a
 * loop meet.
 *
 * It is read off the machine code, as objdump from binutils prints it, once for each program or shared object in which
 * a counted kernel runs. A loop is what hardware's reconvergence makes of one: from its header, until the first block
 * that every way out of it comes through. The way to a `break` belongs to the turn that it ends. */
#define _GNU_SOURCE
#include "count/flow.h"
#include "base/lines.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BLOCKS 4096 /* of one function: a larger one has no loops, as far as counting goes */
#define NONE (~0u)

struct instruction {
    uintptr_t at, target; /* target: of a jump within the function; else 0 */
    bool traces, jumps, falls_through, calls, returns;
};

struct reader { /* the function that is being read */
    struct instruction *code;
    size_t n, room;
    uintptr_t base;
};

struct traced {
    uintptr_t pc;
    const struct flow_block *block;
};

struct object {
    struct code_object code;
    struct traced *traced; /* in order of their addresses */
    size_t n_traced, room;
    struct object *next;
};

static struct object *objects;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *grown(void *p, size_t bytes)
{
    p = realloc(p, bytes + 1);
    if (!p) {
        perror("simt: no memory for control flow");
        exit(2);
    }
    return p;
}

static void *zeros(size_t bytes) { return memset(grown(NULL, bytes), 0, bytes); }

/* ---- sets of blocks ---- */

static size_t words(unsigned n) { return (n + 63) / 64; }
static bool has(const u64 *set, unsigned i) { return set[i / 64] >> i % 64 & 1; }
static void put(u64 *set, unsigned i) { set[i / 64] |= 1ull << i % 64; }

/* ---- instructions ---- */

static bool starts_with(const char *s, const char *start) { return !strncmp(s, start, strlen(start)); }

static bool never_returns(const char *operands)
{
    static const char *const names[] = {"<simt_assert_fail", "<simt_trap", "<abort", "<exit",
                                        "<_Unwind_Resume",   "<__cxa_"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(operands, names[i]))
            return true;
    return false;
}

/* The address that stands before the last "<name>", as in `jne 2727 <k+0x11>` or `cbz x0, 2727 <k+0x11>`. */
static uintptr_t target_of(const char *operands)
{
    const char *name = strrchr(operands, '<');
    if (!name || name - operands < 2)
        return 0;
    const char *start = name - 1;
    while (start > operands && start[-1] != ' ' && start[-1] != '\t' && start[-1] != ',')
        start--;
    return strtoull(start, NULL, 16);
}

static struct instruction decoded(uintptr_t at, const char *text)
{
    struct instruction i = {.at = at, .falls_through = true};
    while (starts_with(text, "bnd ") || starts_with(text, "notrack ") || starts_with(text, "repz ")) {
        const char *space = strchr(text, ' ');
        if (!space)
            break;
        text = space + strspn(space, " ");
    }
    bool always = starts_with(text, "jmp") || starts_with(text, "b ") || starts_with(text, "b\t") ||
                  starts_with(text, "br");
    bool sometimes = (text[0] == 'j' && !always) || starts_with(text, "b.") || starts_with(text, "cbz") ||
                     starts_with(text, "cbnz") || starts_with(text, "tbz") || starts_with(text, "tbnz");
    i.calls = starts_with(text, "call") || starts_with(text, "bl");
    i.traces = i.calls && strstr(text, "<__sanitizer_cov_trace_pc");
    i.jumps = always || sometimes;
    if (i.jumps)
        i.target = target_of(text);
    i.returns = starts_with(text, "ret");
    if (always || i.returns || starts_with(text, "ud2") || starts_with(text, "hlt"))
        i.falls_through = false;
    if (i.calls && never_returns(text))
        i.falls_through = false;
    return i;
}

/* ---- the graph of one function ---- */

static size_t index_of(const struct reader *r, uintptr_t at)
{
    size_t low = 0, high = r->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (r->code[middle].at < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->n && r->code[low].at == at ? low : r->n;
}

/* block_of[i]: the block that instruction i is in. Returns how many blocks there are. */
static unsigned find_blocks(const struct reader *r, unsigned *block_of)
{
    bool *leads = zeros(r->n);
    unsigned n = 0;
    for (size_t i = 0; i < r->n; i++) {
        const struct instruction *code = &r->code[i];
        size_t target = code->target ? index_of(r, code->target) : r->n;
        if (code->jumps && target < r->n)
            leads[target] = true;
        if (code->traces)
            leads[i] = true;
        if ((code->jumps || !code->falls_through) && i + 1 < r->n)
            leads[i + 1] = true;
    }
    for (size_t i = 0; i < r->n; i++) {
        if (i == 0 || leads[i])
            n++;
        block_of[i] = n - 1;
    }
    free(leads);
    return n;
}

static void connect_blocks(const struct reader *r, const unsigned *block_of, struct flow *f)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct instruction *code = &r->code[i];
        struct flow_block *b = &f->blocks[block_of[i]];
        if (code->returns)
            b->returns = true;
        if (code->traces)
            b->traced = r->base + r->code[i + 1 < r->n ? i + 1 : i].at;
        if (i + 1 < r->n && block_of[i + 1] == block_of[i])
            continue;
        size_t target = code->target && code->jumps ? index_of(r, code->target) : r->n;
        if (target < r->n)
            b->next[0] = block_of[target];
        if (code->falls_through && i + 1 < r->n)
            b->next[1] = block_of[i + 1];
    }
}

/* What fills the gaps between blocks leads nowhere. */
static void cut_unreachable(struct flow *f)
{
    bool *reached = zeros(f->n);
    unsigned *todo = zeros(f->n * sizeof *todo), n = 1;
    reached[0] = true;
    while (n) {
        n--;
        const struct flow_block *b = &f->blocks[todo[n]];
        for (int way = 0; way < 2; way++) {
            unsigned to = b->next[way];
            if (to == NONE || reached[to])
                continue;
            reached[to] = true;
            todo[n] = to;
            n++;
        }
    }
    for (unsigned b = 0; b < f->n; b++)
        if (!reached[b])
            f->blocks[b].next[0] = f->blocks[b].next[1] = NONE;
    free(reached);
    free(todo);
}

/* before[b]: the blocks that every way from the start to b comes through, b among them. Backwards: every way from b to
 * the end, which is block number n of n + 1. */
static u64 *dominators(const struct flow *f, bool backwards)
{
    unsigned n = f->n + 1, start = backwards ? f->n : 0;
    size_t row = words(n);
    u64 *before = grown(NULL, n * row * sizeof *before);
    memset(before, 0xff, n * row * sizeof *before);
    memset(before + start * row, 0, row * sizeof *before);
    put(before + start * row, start);
    u64 *meets = zeros(n * row * sizeof *meets);
    for (bool changed = true; changed;) {
        changed = false;
        memset(meets, 0xff, n * row * sizeof *meets);
        for (unsigned b = 0; b < f->n; b++) {
            for (int way = 0; way < 2; way++) {
                unsigned to = f->blocks[b].next[way];
                if (to == NONE)
                    continue;
                unsigned into = backwards ? b : to, from = backwards ? to : b;
                for (size_t i = 0; i < row; i++)
                    meets[into * row + i] &= before[from * row + i];
            }
            if (!backwards || !f->blocks[b].returns)
                continue;
            for (size_t i = 0; i < row; i++)
                meets[b * row + i] &= before[f->n * row + i];
        }
        for (unsigned b = 0; b < f->n; b++) {
            if (b == start)
                continue;
            put(meets + b * row, b);
            if (!memcmp(before + b * row, meets + b * row, row * sizeof *before))
                continue;
            memcpy(before + b * row, meets + b * row, row * sizeof *before);
            changed = true;
        }
    }
    free(meets);
    return before;
}

/* All that can be reached from the header without coming through a block that every way out of the loop comes to. */
static void fill_region(const struct flow *f, struct flow_loop *l, const u64 *after, const u64 *body)
{
    unsigned *todo = zeros((f->n + 1) * sizeof *todo), n = 1;
    size_t row = words(f->n + 1);
    l->region = zeros(row * sizeof *l->region);
    put(l->region, l->header);
    todo[0] = l->header;
    while (n) {
        n--;
        const struct flow_block *b = &f->blocks[todo[n]];
        for (int way = 0; way < 2; way++) {
            unsigned to = b->next[way];
            if (to == NONE || has(l->region, to))
                continue;
            if (!has(body, to) && has(after + l->header * row, to))
                continue;
            put(l->region, to);
            todo[n] = to;
            n++;
        }
    }
    free(todo);
}

/* The blocks from which the header is reached again, within the blocks that it dominates. */
static u64 *body_of(const struct flow *f, unsigned header, const u64 *before)
{
    size_t row = words(f->n + 1);
    u64 *body = zeros(row * sizeof *body);
    bool any = false;
    for (bool changed = true; changed;) {
        changed = false;
        for (unsigned b = 0; b < f->n; b++) {
            if (has(body, b) || !has(before + b * row, header))
                continue;
            for (int way = 0; way < 2; way++) {
                unsigned to = f->blocks[b].next[way];
                if (to == NONE || has(body, b) || (to != header && !has(body, to)))
                    continue;
                put(body, b);
                changed = any = true;
            }
        }
        if (changed && !has(body, header))
            put(body, header);
    }
    if (any)
        return body;
    free(body);
    return NULL;
}

static void find_loops(struct flow *f)
{
    u64 *before = dominators(f, false), *after = dominators(f, true);
    for (unsigned header = 0; header < f->n; header++) {
        u64 *body = body_of(f, header, before);
        if (!body)
            continue;
        f->loops = grown(f->loops, (f->n_loops + 1) * sizeof *f->loops);
        f->loops[f->n_loops] = (struct flow_loop){.header = header};
        fill_region(f, &f->loops[f->n_loops], after, body);
        f->blocks[header].loop = f->n_loops;
        f->n_loops++;
        free(body);
    }
    free(before);
    free(after);
}

/* From one traced block to the next there may be others without a call of their own: they are noted with the way. */
static void find_ways(struct flow *f, unsigned start)
{
    struct flow_block *b = &f->blocks[start];
    unsigned *from = zeros((f->n + 1) * sizeof *from), *todo = zeros((f->n + 1) * sizeof *todo), n = 0, done = 0;
    for (unsigned i = 0; i < f->n; i++)
        from[i] = NONE;
    todo[0] = start;
    n++;
    while (done < n) {
        unsigned at = todo[done];
        done++;
        for (int way = 0; way < 2; way++) {
            unsigned to = f->blocks[at].next[way];
            if (to == NONE || from[to] != NONE)
                continue;
            from[to] = at;
            if (!f->blocks[to].traced) {
                todo[n] = to;
                n++;
                continue;
            }
            struct flow_way w = {.to = to};
            for (unsigned i = at; i != start && w.n < MOST_STEPS; i = from[i]) {
                w.steps[w.n] = i;
                w.n++;
            }
            b->ways = grown(b->ways, (b->n_ways + 1) * sizeof *b->ways);
            b->ways[b->n_ways] = w;
            b->n_ways++;
        }
    }
    free(from);
    free(todo);
}

static void add_traced(struct object *o, const struct flow_block *b)
{
    if (o->n_traced == o->room) {
        o->room = o->room ? 2 * o->room : 256;
        o->traced = grown(o->traced, o->room * sizeof *o->traced);
    }
    o->traced[o->n_traced] = (struct traced){b->traced, b};
    o->n_traced++;
}

/* The graph of the function that has been read. */
static struct flow *flow_of(const struct reader *r)
{
    unsigned *block_of = zeros(r->n * sizeof *block_of);
    struct flow *f = zeros(sizeof *f);
    f->n = find_blocks(r, block_of);
    f->blocks = zeros(f->n * sizeof *f->blocks);
    for (unsigned b = 0; b < f->n; b++)
        f->blocks[b] = (struct flow_block){.flow = f, .next = {NONE, NONE}, .loop = NONE};
    connect_blocks(r, block_of, f);
    cut_unreachable(f);
    if (f->n <= MOST_BLOCKS)
        find_loops(f);
    free(block_of);
    return f;
}

static void end_function(struct object *o, struct reader *r)
{
    bool any = false;
    for (size_t i = 0; i < r->n; i++)
        any |= r->code[i].traces;
    struct flow *f = any ? flow_of(r) : NULL;
    for (unsigned b = 0; f && b < f->n; b++) {
        if (!f->blocks[b].traced)
            continue;
        find_ways(f, b);
        add_traced(o, &f->blocks[b]);
    }
    r->n = 0;
}

static void read_line(struct object *o, struct reader *r, char *line)
{
    char *end;
    uintptr_t at = strtoull(line, &end, 16);
    if (end != line && starts_with(end, " <") && strstr(end, ">:"))
        end_function(o, r);
    if (end == line || *end != ':' || end[1] != '\t')
        return;
    if (r->n == r->room) {
        r->room = r->room ? 2 * r->room : 1024;
        r->code = grown(r->code, r->room * sizeof *r->code);
    }
    r->code[r->n] = decoded(at, end + 2 + strspn(end + 2, " "));
    r->n++;
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = ((const struct traced *)a)->pc, y = ((const struct traced *)b)->pc;
    return (x > y) - (x < y);
}

static void read_object(struct object *o)
{
    char *const command[] = {"objdump", "-d", "-j", ".text", "-w", "--no-show-raw-insn", o->code.file, NULL};
    struct reader r = {.base = o->code.base};
    char *line = NULL;
    size_t size = 0;
    FILE *f = lines_tool(command);
    while (f && getline(&line, &size, f) > 0)
        read_line(o, &r, line + strspn(line, " "));
    if (f)
        lines_tool_end(f);
    end_function(o, &r);
    free(line);
    free(r.code);
    if (o->n_traced)
        qsort(o->traced, o->n_traced, sizeof *o->traced, by_address);
}

static const struct object *object_of(const void *pc)
{
    struct code_object code;
    if (!lines_object(pc, &code))
        return NULL;
    for (const struct object *o = objects; o; o = o->next)
        if (o->code.base == code.base && !strcmp(o->code.file, code.file))
            return o;
    struct object *o = zeros(sizeof *o);
    o->code = code;
    o->next = objects;
    read_object(o);
    objects = o;
    return o;
}

static const struct traced *traced_at(const struct object *o, const void *pc)
{
    struct traced key = {.pc = (uintptr_t)pc};
    return o && o->n_traced ? bsearch(&key, o->traced, o->n_traced, sizeof key, by_address) : NULL;
}

const struct flow_block *flow_block(const void *pc)
{
    const struct traced *t = NULL;
    pthread_mutex_lock(&lock);
    for (const struct object *o = objects; o && !t; o = o->next)
        t = traced_at(o, pc);
    if (!t)
        t = traced_at(object_of(pc), pc); /* which asks the system */
    pthread_mutex_unlock(&lock);
    return t ? t->block : NULL;
}

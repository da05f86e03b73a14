/* What a thread does with the variables that stand for registers of wgmma.mma_async. From its first wgmma.fence on a thread
 * is watched: the fast path of the hooks takes none of its accesses for local ones (fiber_watch()), and those of its own
 * stack come here. Others pay nothing. */
#include "order/registers.h"
#include "base/lines.h"
#include "base/report.h"
#include "block/async.h"
#include "memory/records.h"
#include "order/access.h"
#include <stdlib.h>
#include <string.h>

#define WORD 4
#define WORDS (STACK_SLOT / WORD)
#define ANY_WORD 0xffffu

struct issue { /* of a product in flight: the variables that it keeps, by their words in the stack */
    const char *call;
    const void *pc;
    bool accumulators;
    unsigned n, lowest;
    uint16_t *words; /* ANY_WORD: of a variable that has ended */
};

/* Of a thread's stack. */
struct word {
    uint32_t written_at; /* where the thread last wrote it (code_place()), */
    uint16_t fence;      /* behind that fence; 0: it has not */
    uint16_t closed : 4; /* how many products in flight forbid to touch it, */
    uint16_t held : 12;  /* and how many to write it */
};

struct registers {  /* of a thread */
    uint16_t fence; /* the last, from 1 on */
    unsigned n_forbidden, n_issues, room;
    struct issue *issues; /* oldest first */
    struct word words[WORDS];
};

static struct registers *registers_of(struct block *b, unsigned thread)
{
    if (!b->registers)
        b->registers = base_reserve(MAX_THREADS * sizeof *b->registers);
    return &b->registers[thread];
}

static size_t word_of(const struct block *b, unsigned thread, const void *address)
{
    return (size_t)((const unsigned char *)address - b->threads[thread].stack) / WORD;
}

struct words {
    size_t first, end;
};

/* Those of a variable; none where it is not in the thread's own stack. */
static struct words words_at(const struct block *b, unsigned thread, const void *variable, unsigned bytes)
{
    if (!variable || !block_is_own_stack(b, thread, variable))
        return (struct words){0, 0};
    return (struct words){word_of(b, thread, variable),
                          word_of(b, thread, (const unsigned char *)variable + bytes - 1) + 1};
}

/* When the numbers of fences begin anew, no word may have one of before. */
static void forget_written(struct registers *r)
{
    r->fence++;
    for (unsigned i = 0; !r->fence && i < WORDS; i++)
        r->words[i].fence = 0;
    r->fence = r->fence ? r->fence : 1;
}

static bool is_written(const struct registers *r, size_t word) { return r->fence && r->words[word].fence == r->fence; }

static void forbid_word(struct registers *r, const struct issue *issue, unsigned i, int by)
{
    struct word *w = &r->words[issue->words[i]];
    if (issue->words[i] == ANY_WORD)
        return;
    if (issue->accumulators)
        w->closed = (w->closed + (unsigned)by) & 0xf;
    else
        w->held = (w->held + (unsigned)by) & 0xfff;
    r->n_forbidden += (unsigned)by;
}

static void forbid(struct registers *r, const struct issue *issue, int by)
{
    for (unsigned i = 0; i < issue->n; i++)
        forbid_word(r, issue, i, by);
}

static void remove_issue(struct registers *r, unsigned i)
{
    forbid(r, &r->issues[i], -1);
    free(r->issues[i].words);
    r->n_issues--;
    memmove(&r->issues[i], &r->issues[i + 1], (r->n_issues - i) * sizeof *r->issues);
}

void registers_begin_block(struct block *b)
{
    for (unsigned t = 0; t < MAX_THREADS && b->registers; t++) {
        struct registers *r = &b->registers[t];
        if (!b->threads[t].watched)
            continue;
        forget_written(r);
        while (r->n_issues)
            remove_issue(r, r->n_issues - 1);
        b->threads[t].watched = false;
    }
}

/* ---- fences ---- */

/* Those of the stack as it is come into memory together: they are read and written soon. */
static void expect_words(const struct block *b, unsigned thread, struct registers *r)
{
    const void *sp = thread == b->cur ? __builtin_frame_address(0) : b->threads[thread].sp;
    struct word *first = &r->words[word_of(b, thread, sp)];
    base_populate(first, (size_t)((unsigned char *)(r + 1) - (unsigned char *)first));
}

void registers_fence(struct block *b, unsigned thread)
{
    if (!simt_checked)
        return;
    struct registers *r = registers_of(b, thread);
    if (!r->fence)
        expect_words(b, thread, r);
    forget_written(r);
    fiber_watch(b, thread);
}

bool registers_unfenced(struct block *b, unsigned thread, void *const *addresses, unsigned n, unsigned bytes,
                        struct unfenced *found)
{
    if (!simt_checked)
        return false;
    *found = (struct unfenced){.never = !b->threads[thread].watched};
    if (found->never)
        return true;
    const struct registers *r = registers_of(b, thread);
    for (unsigned i = 0; i < n; i++) {
        struct words at = words_at(b, thread, addresses[i], bytes);
        for (size_t word = at.first; word < at.end; word++)
            if (is_written(r, word)) {
                found->address = addresses[i];
                found->pc = code_at(r->words[word].written_at);
                return true;
            }
    }
    return false;
}

/* ---- in flight ---- */

#define MOST_WORDS_OF(n, bytes) ((n) * ((bytes) / WORD + 2))

static unsigned words_of(const struct block *b, unsigned thread, void *const *addresses, unsigned n, unsigned bytes,
                         uint16_t *words)
{
    unsigned n_words = 0;
    for (unsigned i = 0; i < n; i++) {
        struct words at = words_at(b, thread, addresses[i], bytes);
        for (size_t word = at.first; word < at.end; word++)
            words[n_words++] = (uint16_t)word;
    }
    return n_words;
}

void registers_close(struct block *b, unsigned thread, void *const *addresses, unsigned n, unsigned bytes,
                     bool accumulators, const char *call, const void *pc)
{
    if (!simt_checked || !n)
        return;
    struct registers *r = registers_of(b, thread);
    struct issue issue = {.call = call, .pc = pc, .accumulators = accumulators, .lowest = WORDS};
    uint16_t words[MOST_WORDS_OF(n, bytes)];
    issue.n = words_of(b, thread, addresses, n, bytes, words);
    if (r->n_issues == r->room) {
        r->room = r->room ? 2 * r->room : 8;
        r->issues = realloc(r->issues, r->room * sizeof *r->issues);
    }
    issue.words = malloc(issue.n * sizeof *issue.words + 1);
    if (!r->issues || !issue.words)
        base_out_of_memory();
    memcpy(issue.words, words, issue.n * sizeof *words);
    for (unsigned i = 0; i < issue.n; i++)
        if (issue.words[i] < issue.lowest)
            issue.lowest = issue.words[i];
    forbid(r, &issue, 1);
    r->issues[r->n_issues++] = issue;
    fiber_watch(b, thread);
}

static bool is_of(const struct issue *issue, const uint16_t *words, unsigned n, bool accumulators)
{
    bool same = issue->accumulators == accumulators && issue->n == n;
    for (unsigned i = 0; i < n && same; i++)
        same = issue->words[i] == words[i] || issue->words[i] == ANY_WORD;
    return same;
}

/* The oldest of the same registers: waits cover the oldest groups first. */
void registers_open(struct block *b, unsigned thread, void *const *addresses, unsigned n, unsigned bytes,
                    bool accumulators)
{
    if (!simt_checked || !n)
        return;
    struct registers *r = registers_of(b, thread);
    uint16_t words[MOST_WORDS_OF(n, bytes)];
    unsigned n_words = words_of(b, thread, addresses, n, bytes, words);
    for (unsigned i = 0; i < r->n_issues; i++)
        if (is_of(&r->issues[i], words, n_words, accumulators)) {
            remove_issue(r, i);
            return;
        }
}

void simt_registers_end(const void *variable, size_t bytes)
{
    struct block *b = simt_worker ? block_here() : NULL;
    if (!b || !current(b)->watched || !block_is_own_stack(b, b->cur, variable))
        return;
    struct registers *r = registers_of(b, b->cur);
    size_t first = word_of(b, b->cur, variable), end = first + bytes / WORD;
    for (size_t word = first; word < end; word++)
        if (is_written(r, word))
            r->words[word].fence = 0;
    for (unsigned i = 0; i < r->n_issues; i++)
        for (unsigned j = 0; j < r->issues[i].n && !r->issues[i].accumulators; j++)
            if (r->issues[i].words[j] >= first && r->issues[i].words[j] < end) {
                forbid_word(r, &r->issues[i], j, -1);
                r->issues[i].words[j] = ANY_WORD;
            }
}

/* The last that forbids it. */
static const struct issue *issue_of(const struct registers *r, size_t word, bool store)
{
    for (unsigned i = r->n_issues; i-- > 0;)
        for (unsigned j = 0; j < r->issues[i].n; j++)
            if (r->issues[i].words[j] == word && (store || r->issues[i].accumulators))
                return &r->issues[i];
    return NULL;
}

static __attribute__((noinline)) void report_touch(struct block *b, const void *address, unsigned bytes, bool stores,
                                                   const void *pc, size_t word)
{
    const struct issue *issue = issue_of(registers_of(b, b->cur), word, stores);
    const void *variable = current(b)->stack + word * WORD;
    struct access a = access_of(b, pc, address, bytes, stores ? ACCESS_STORE : ACCESS_LOAD);
    struct actor other = {b->serial, b->cur, issue->pc};
    char did[160], why[640];
    snprintf(did, sizeof did, "issued %s, which %s", issue->call,
             issue->accumulators ? "adds to it," : "reads it as a register of A,");
    async_say_unlanded(b, b->cur, variable, WORD, why, sizeof why);
    report_meeting(&a, issue->accumulators ? "accumulator in flight" : "operand register in flight", &other, did, why);
}

static void report_lost(const struct issue *issue, const void *pc)
{
    char did[800];
    struct source_line l = lines_of(issue->pc);
    snprintf(did, sizeof did, "has left the function whose variables the %s at %s:%d is to write", issue->call, l.file,
             l.line);
    report_call("accumulator in flight", pc, did,
                "Accumulators have to live until wgmma.wait_group has waited for the product.");
}

void registers_access(struct block *b, const void *address, unsigned bytes, bool stores, const void *pc)
{
    struct registers *r = &b->registers[b->cur];
    size_t first = word_of(b, b->cur, address), last = word_of(b, b->cur, (const unsigned char *)address + bytes - 1);
    if (!stores && !r->n_forbidden)
        return;
    for (size_t word = first; word <= last && word < WORDS; word++) {
        struct word *w = &r->words[word];
        if (r->n_forbidden && (w->closed || (stores && w->held)))
            report_touch(b, address, bytes, stores, pc, word);
        if (!stores)
            continue;
        w->written_at = code_place(pc);
        w->fence = r->fence;
    }
}

void registers_check_frames(struct block *b, const void *frame, const void *pc)
{
    const struct registers *r = registers_of(b, b->cur);
    size_t lowest = word_of(b, b->cur, frame);
    for (unsigned i = 0; i < r->n_issues; i++) {
        const struct issue *issue = &r->issues[i];
        if (issue->accumulators && issue->lowest < lowest)
            report_lost(issue, pc);
    }
}

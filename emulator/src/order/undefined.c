/* Is a value that a shuffle took from an absent lane used, or dropped (`if (lane + by < n) v += other;`)?
 *
 * Registers cannot be watched. But when a block reads such a value for the first time, the process is copied. That copy, in
 * which nothing else runs, copies itself again, for each of a few numbers that the value may be; each of these goes on with
 * the block up to its end, and what they have then stored in global memory is compared. Numbers that were dropped leave no
 * trace; one that was used makes them differ, in a store, in how many there are, or in a fault. The program itself goes on
 * with a zero meanwhile.
 *
 * A shuffle is looked at in a few blocks for each set of lanes, and a copy that runs for too long (it may wait for another
 * block) says nothing. */
#define _GNU_SOURCE
#include "order/undefined.h"
#include "base/report.h"
#include "block/worker.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define COPIES 4
#define MOST_STORES 65536 /* that are compared */
#define MOST_READS 128    /* that differ in place, mask or lanes */
#define MOST_TRIALS 4     /* of one */
#define MOST_SECONDS 3    /* of a copy's own time */
#define MOST_WAITING 30   /* and of anybody's */

/* As numbers of either kind large, small and zero, so that a minimum, a maximum, a sum and a test show them; and one of which
 * a few times as much is still large and positive. */
static const u64 numbers[COPIES] = {0x7bff7bff7bff7bff, 0xfbfffbfffbfffbff, 0, 0x05a7c3e105a7c3e1};
#define NUMBER_WITHOUT_TRIAL 0x7ffb7ead7ffb7ead /* a NaN as a float, a half or a double */

struct stored {
    const void *address, *pc;
    u64 content;
    unsigned bytes, thread;
};

struct log {
    unsigned n;
    bool finished;
    struct stored stores[MOST_STORES];
};

struct verdict {
    bool used;
    const void *pc; /* the first store that differs, or NULL */
    unsigned thread;
};

struct trial {
    struct undefined_read read;
    struct verdict *verdict; /* shared with the judge, the process that compares */
    pid_t judge;
    struct log *logs; /* shared by the judge and its copies */
    unsigned self;    /* in a copy: which */
};

bool undefined_on_trial;

/* In a copy: is it this block's? Others may be in hand. */
static bool is_own(const struct block *b) { return undefined_on_trial && b->trial && b->trial->logs; }

/* ---- how often ---- */

/* Has this read been looked at in fewer blocks than MOST_TRIALS? One more, then. */
static bool is_worth_a_trial(const struct undefined_read *read)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct {
        struct undefined_read read;
        unsigned n;
    } known[MOST_READS];
    static unsigned n_known;
    bool worth = false;
    pthread_mutex_lock(&lock);
    unsigned i = 0;
    while (i < n_known && (known[i].read.pc != read->pc || known[i].read.mask != read->mask ||
                           known[i].read.from != read->from || known[i].read.thread % WARP != read->thread % WARP))
        i++;
    if (i == n_known && n_known < MOST_READS) {
        known[i].read = *read;
        n_known++;
    }
    if (i < n_known) {
        worth = known[i].n < MOST_TRIALS;
        known[i].n++;
    }
    pthread_mutex_unlock(&lock);
    return worth;
}

/* ---- in a copy ---- */

static void be_silent(void)
{
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
}

static void begin_copy(struct trial *t, unsigned number)
{
    struct itimerval limit = {.it_value.tv_sec = MOST_SECONDS};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setitimer(ITIMER_PROF, &limit, NULL);
    alarm(MOST_WAITING);
    t->self = number;
    undefined_on_trial = true;
}

void undefined_store(const struct access *a)
{
    if (!is_own(a->block))
        return;
    const struct trial *t = a->block->trial;
    struct log *log = &t->logs[t->self];
    if (log->n == MOST_STORES)
        return;
    log->stores[log->n] = (struct stored){.address = a->address, .pc = a->pc, .bytes = a->bytes, .thread = a->thread};
    log->n++;
}

/* FNV-1a. */
static u64 hash_of(const unsigned char *bytes, unsigned n)
{
    u64 hash = 0xcbf29ce484222325;
    for (unsigned i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3;
    return hash;
}

static void end_copy(struct trial *t) __attribute__((noreturn));
static void end_copy(struct trial *t)
{
    struct log *log = &t->logs[t->self];
    for (unsigned i = 0; i < log->n; i++)
        log->stores[i].content = hash_of(log->stores[i].address, log->stores[i].bytes);
    log->finished = true;
    _exit(0);
}

/* ---- the judge ---- */

static bool stored_alike(const struct stored *x, const struct stored *y)
{
    return x->address == y->address && x->pc == y->pc && x->content == y->content && x->bytes == y->bytes &&
           x->thread == y->thread;
}

/* The first store in which the two differ; NULL: they do not. */
static const struct stored *difference(const struct log *a, const struct log *b)
{
    for (unsigned i = 0; i < a->n || i < b->n; i++) {
        if (i >= a->n || i >= b->n)
            return &(i < a->n ? a : b)->stores[i];
        if (!stored_alike(&a->stores[i], &b->stores[i]))
            return &a->stores[i];
    }
    return NULL;
}

static struct verdict compare(const struct log *logs, const pid_t *copies)
{
    const struct log *first = NULL;
    const struct stored *other = NULL;
    bool fault = false;
    for (unsigned i = 0; i < COPIES; i++) {
        int status = 0;
        if (copies[i] < 0 || waitpid(copies[i], &status, 0) < 0 || WIFSIGNALED(status))
            return (struct verdict){0};
        fault |= !logs[i].finished; /* it reported something */
        if (!logs[i].finished)
            continue;
        if (first && !other)
            other = difference(first, &logs[i]);
        first = &logs[i];
    }
    if (other)
        return (struct verdict){.used = true, .pc = other->pc, .thread = other->thread};
    return (struct verdict){.used = fault && first};
}

/* Returns in the copies alone. */
static void be_judge(struct trial *t)
{
    pid_t copies[COPIES];
    size_t bytes = COPIES * sizeof *t->logs;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGALRM, SIG_DFL);
    signal(SIGPROF, SIG_DFL);
    be_silent();
    t->logs = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (t->logs == MAP_FAILED)
        _exit(0);
    for (unsigned i = 0; i < COPIES; i++) {
        copies[i] = fork();
        if (copies[i])
            continue;
        begin_copy(t, i);
        return;
    }
    *t->verdict = compare(t->logs, copies);
    _exit(0);
}

/* ---- in the program ---- */

static void free_trial(struct block *b)
{
    munmap(b->trial->verdict, sizeof *b->trial->verdict);
    free(b->trial);
    b->trial = NULL;
}

void undefined_drop(struct block *b)
{
    if (!b->trial || undefined_on_trial)
        return;
    kill(b->trial->judge, SIGKILL);
    waitpid(b->trial->judge, NULL, 0);
    free_trial(b);
}

static bool begin_trial(struct block *b, const struct undefined_read *read)
{
    struct trial *t = calloc(1, sizeof *t);
    if (!t)
        base_out_of_memory();
    b->trial = t;
    t->read = *read;
    t->verdict = mmap(NULL, sizeof *t->verdict, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    t->judge = t->verdict == MAP_FAILED ? -1 : fork();
    if (t->judge == 0)
        be_judge(t);
    if (t->judge >= 0)
        return true;
    free_trial(b);
    return false;
}

u64 undefined_read(struct block *b, const struct undefined_read *read)
{
    if (!b->trial && (!simt_checked || undefined_on_trial || !is_worth_a_trial(read) || !begin_trial(b, read)))
        return NUMBER_WITHOUT_TRIAL;
    return is_own(b) ? numbers[b->trial->self] : 0;
}

void undefined_end(struct block *b)
{
    if (is_own(b))
        end_copy(b->trial);
    if (!b->trial || undefined_on_trial)
        return;
    waitpid(b->trial->judge, NULL, 0);
    const struct verdict *v = b->trial->verdict;
    if (v->used)
        report_undefined(b, &b->trial->read, v->pc, v->thread);
    free_trial(b);
}

/* Kernels that never end: somebody has to notice, and to ask the workers where they are.
 *
 * An OS thread of its own sleeps while no launch runs. During one it looks, a few times in SIMT_TIMEOUT seconds,
 * whether a CUDA thread has ended since. Workers are stopped by a signal, whose handler notes the interrupted
 * place and parks. */
#define _GNU_SOURCE
#include "run/watchdog.h"
#include "base/base.h"
#include <errno.h>
#include <execinfo.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define LOOKS 4 /* in the time that is allowed */
#define MOST_SECONDS 1e6
#define REPORT_SECONDS 10
#define STOP_SIGNAL SIGRTMAX

/* ---- time ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed; /* by the monotonic clock */
static unsigned n_running;     /* launches */
static unsigned long n_begun;
static bool moved;     /* a CUDA thread has ended since the last look */
static double allowed; /* seconds; 0: not watched */

unsigned watchdog_seconds(void) { return (unsigned)allowed; }

static double seconds_allowed(void)
{
    const char *wish = getenv("SIMT_TIMEOUT");
    char *end;
    if (!wish)
        return 60;
    double seconds = strtod(wish, &end);
    if (end != wish && !*end && seconds >= 0 && seconds <= MOST_SECONDS)
        return seconds;
    fprintf(stderr, "simt: SIMT_TIMEOUT=%s is not a number of seconds; accepted are 0 (never) to %.0f\n", wish,
            MOST_SECONDS);
    exit(2);
}

static struct timespec after(double seconds)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    double fraction = seconds - (double)(time_t)seconds + (double)t.tv_nsec / 1e9;
    t.tv_sec += (time_t)seconds + (time_t)fraction;
    t.tv_nsec = (long)((fraction - (double)(time_t)fraction) * 1e9);
    return t;
}

/* ---- the watchdog's thread ---- */

static void give_up(int number)
{
    static const char text[] = "simt: endless kernel: the report of where it is did not come to its end\n";
    (void)number;
    if (write(2, text, sizeof text - 1) < 0)
        _exit(1);
    _exit(1);
}

/* A worker may have been stopped while it held a lock that the report needs. */
static void report(void)
{
    struct sigaction action = {.sa_handler = give_up};
    sigset_t alarms;
    sigaction(SIGALRM, &action, NULL);
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    alarm(REPORT_SECONDS);
    report_endless();
    _exit(1);
}

/* Waits for the end of the launch, or until it has made no progress for too long. Called with the lock held. */
static void watch_launch(void)
{
    unsigned long launch = n_begun;
    unsigned quiet = 0;
    while (n_running && n_begun == launch) {
        struct timespec look = after(allowed / LOOKS);
        int error = 0;
        while (!error && n_running && n_begun == launch)
            error = pthread_cond_timedwait(&changed, &lock, &look);
        if (error != ETIMEDOUT)
            continue;
        if (__atomic_exchange_n(&moved, false, __ATOMIC_RELAXED))
            quiet = 0;
        else
            quiet++;
        if (quiet == LOOKS)
            report();
    }
}

static void *watch(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!n_running)
            pthread_cond_wait(&changed, &lock);
        watch_launch();
    }
    return NULL;
}

/* Detached, and deaf to signals: those are the program's. It ends with the program. */
static void start(void)
{
    pthread_attr_t detached;
    pthread_condattr_t monotonic;
    pthread_t id;
    sigset_t all, before;
    void *first[1];
    allowed = seconds_allowed();
    if (allowed == 0)
        return;
    backtrace(first, 1); /* loads what it needs now: a signal handler could not */
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &monotonic);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    if (pthread_create(&id, &detached, watch, NULL))
        allowed = 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&detached);
    pthread_condattr_destroy(&monotonic);
}

static void change_running(unsigned by)
{
    if (allowed == 0)
        return;
    pthread_mutex_lock(&lock);
    bool asleep = n_running == 0;
    n_running += by;
    if (by == 1)
        n_begun++;
    if (asleep || n_running == 0)
        pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

void watchdog_begin(void)
{
    pthread_once(&once, start);
    __atomic_store_n(&moved, false, __ATOMIC_RELAXED);
    change_running(1);
}

void watchdog_progress(void) { __atomic_store_n(&moved, true, __ATOMIC_RELAXED); }

void watchdog_end(void) { change_running(-1u); }

/* ---- stopping workers ---- */

static struct {
    const pthread_t *ids;
    unsigned n;
    const void **pcs;
    sem_t answered;
} stopped;

static const void *interrupted_at(const void *context)
{
#if defined(__x86_64__)
    return (const void *)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (const void *)((const ucontext_t *)context)->uc_mcontext.pc;
#else
    (void)context;
    return NULL;
#endif
}

/* The frames of the handler itself come first: they are left out. */
static void note_place(const void **row, const void *pc)
{
    void *frames[WATCHDOG_FRAMES + 8];
    int n = backtrace(frames, WATCHDOG_FRAMES + 8), first = 0;
    while (first < n && frames[first] != pc)
        first++;
    row[0] = pc;
    for (int i = 1; i < WATCHDOG_FRAMES && first + i < n; i++)
        row[i] = frames[first + i];
}

static void park(int number, siginfo_t *info, void *context)
{
    sigset_t all;
    (void)number;
    (void)info;
    for (unsigned i = 0; i < stopped.n; i++)
        if (pthread_equal(stopped.ids[i], pthread_self()))
            note_place(stopped.pcs + i * WATCHDOG_FRAMES, interrupted_at(context));
    sem_post(&stopped.answered);
    sigfillset(&all);
    for (;;)
        sigsuspend(&all);
}

void watchdog_stop_workers(const pthread_t *ids, unsigned n, const void **pcs)
{
    struct sigaction action = {.sa_sigaction = park, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct timespec limit;
    memset(pcs, 0, n * WATCHDOG_FRAMES * sizeof *pcs);
    stopped.ids = ids;
    stopped.n = n;
    stopped.pcs = pcs;
    sem_init(&stopped.answered, 0, 0);
    sigfillset(&action.sa_mask);
    sigaction(STOP_SIGNAL, &action, NULL);
    unsigned waiting = 0;
    for (unsigned i = 0; i < n; i++)
        if (!pthread_kill(ids[i], STOP_SIGNAL))
            waiting++;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec++;
    while (waiting) {
        if (!sem_timedwait(&stopped.answered, &limit))
            waiting--;
        else if (errno != EINTR)
            return;
    }
}

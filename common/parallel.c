#define _POSIX_C_SOURCE 200809L  // sysconf
#include "parallel.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

enum { MAX_THREADS = 64 };

struct range {
    void (*body)(void *context, size_t first, size_t last);
    void *context;
    size_t first, last;
    pthread_t thread;
    bool started;
};

static void *run_range(void *argument)
{
    struct range *range = argument;
    range->body(range->context, range->first, range->last);
    return NULL;
}

void parallel_for(size_t count, void (*body)(void *context, size_t first, size_t last), void *context)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t threads = cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (size_t)cores;
    if (threads > count)
        threads = count;

    struct range ranges[MAX_THREADS];
    size_t first = 0;
    for (size_t i = 0; i < threads; i++) {
        size_t last = first + (count - first) / (threads - i);
        ranges[i] = (struct range){.body = body, .context = context, .first = first, .last = last};
        first = last;
        // The caller takes the last range, and any for which there is no thread to be had.
        if (i + 1 < threads)
            ranges[i].started = pthread_create(&ranges[i].thread, NULL, run_range, &ranges[i]) == 0;
        if (!ranges[i].started)
            run_range(&ranges[i]);
    }
    for (size_t i = 0; i < threads; i++)
        if (ranges[i].started)
            pthread_join(ranges[i].thread, NULL);
}

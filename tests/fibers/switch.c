/* How long one switch from fiber to fiber takes: between two, and around all the 1,024 threads of a large block.
 *
 *   cc -O2 -I ../../emulator/src -o switch switch.c ../../build/cpu/libsimt.a -lpthread -lm -ldl && ./switch */
#define _GNU_SOURCE
#include "../../emulator/src/block/fiber.h"
#include "../../emulator/src/block/launch.h"
#include "../../emulator/src/block/worker.h"
#include <stdlib.h>
#include <time.h>

enum { SWITCHES = 1 << 20 };

static unsigned n_fibers, left;

static void take_turns(const void *block)
{
    struct block *b = (struct block *)block;
    while (left--)
        fiber_switch(b, b->cur, b->cur + 1 == n_fibers ? 0 : b->cur + 1);
    fiber_exit(b, NO_THREAD); /* back to main; the others are left where they stand */
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double nanoseconds_per_switch(unsigned fibers)
{
    struct worker *w = calloc(1, sizeof *w);
    struct block *b = calloc(1, sizeof *b);
    struct launch launch = {.thread = take_turns, .params = b, .threads = fibers};
    b->threads = calloc(fibers, sizeof *b->threads);
    b->worker = w;
    b->launch = &launch;
    w->block = b;
    simt_worker = w;
    fiber_init(w);
    n_fibers = fibers;
    left = SWITCHES;
    double start = seconds();
    fiber_run(w, b);
    return 1e9 * (seconds() - start) / SWITCHES;
}

int main(void)
{
    printf("%s: %.1f ns between 2 fibers, ", fiber_kind(), nanoseconds_per_switch(2));
    printf("%.1f ns around 1024\n", nanoseconds_per_switch(1024));
    return 0;
}

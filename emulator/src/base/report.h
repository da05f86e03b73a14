/* Faults in plain words. */
#ifndef SIMT_REPORT_H
#define SIMT_REPORT_H

#include "base/access.h"

struct actor;
struct cluster;
struct conflict;
struct undefined_read;

/* Each says what happened and ends the program with status 1: races, uninitialised reads and mixed barriers at the launch's end. */
void report_race(const struct conflict *c);
/* Lanes of a warp store to one place by the instruction at pc: no race, but it tells what a race there comes of. */
void report_stored_together(const void *pc);
bool report_has_races(void);
void report_races(void); /* prints those that are kept: the launch is at its end */
void report_uninitialised(const struct access *a, bool shared);
/* An access to the shared memory of another block of the cluster, which may not have begun, or of which that thread was the last to
 * leave: that at once. */
void report_not_begun(const struct access *a);
void report_left(const struct access *a, const struct block *owner, unsigned last) __attribute__((noreturn));
/* An access to what is nobody's memory, far from every object. */
void report_far(const struct access *a) __attribute__((noreturn));
void report_access(const struct access *a, const char *kind, const char *why) __attribute__((noreturn));
/* An access, and what another did, which does not go with it. */
void report_meeting(const struct access *a, const char *kind, const struct actor *other, const char *did,
                    const char *why) __attribute__((noreturn));
/* That thread comes, at pc, to a barrier to whose last turn the other came, at other_pc. */
void report_mixed_barrier(const struct block *b, unsigned id, unsigned thread, const void *pc, unsigned other,
                          const void *other_pc);
void report_deadlock(const struct cluster *c) __attribute__((noreturn));
/* Two threads came to what is called so at two places. */
void report_divergence(struct block *b, const char *call, unsigned thread, const void *pc, unsigned other,
                       const void *other_pc) __attribute__((noreturn));
/* A thread is, at pc, in a barrier that is called so, and that a lane of its warp has been in, and then left the kernel. */
void report_left_loop(struct block *b, const char *call, unsigned thread, const void *pc, unsigned left)
    __attribute__((noreturn));
void report_outside_mask(struct block *b, unsigned thread) __attribute__((noreturn));
/* It is used: that thread writes what came of it at pc, or with NULL something else does. */
void report_undefined(struct block *b, const struct undefined_read *u, const void *pc, unsigned thread)
    __attribute__((noreturn));
/* A signal at pc; `did` is what the thread did, to `address` unless that is NULL. */
void report_signal(const char *kind, const void *pc, const void *address, const char *did, const char *why)
    __attribute__((noreturn));
void report_endless(void) __attribute__((noreturn)); /* by the watchdog */
/* What the running thread calls at pc, and must not. */
void report_call(const char *kind, const void *pc, const char *did, const char *why) __attribute__((noreturn));
void report_call_of(const struct block *b, unsigned thread, const char *kind, const void *pc, const char *did,
                    const char *why) __attribute__((noreturn)); /* the same of another */
/* The same of two: it did the second before. */
void report_two_calls(const struct block *b, unsigned thread, const char *kind, const void *pc, const char *did,
                      const void *before, const char *did_before, const char *why) __attribute__((noreturn));
/* An access, and what was done before, which nothing orders. */
void report_unordered_access(const struct access *a, const char *kind, const char *before, const char *why)
    __attribute__((noreturn));
/* The same of what no kernel does. */
void report_overlap(const char *kind, const void *pc, const char *now, const char *before, const void *address,
                    const char *why) __attribute__((noreturn));
void report_host(const char *kind, const void *pc, const char *why) __attribute__((noreturn));
void report_unsupported(const char *what, const char *file, int line) __attribute__((noreturn)); /* status 2 */
void report_unsupported_at(const char *what, const void *pc) __attribute__((noreturn));
void report_finish_launch(void); /* ends the program when the launch was faulty */

#endif

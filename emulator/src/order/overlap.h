/* Overlap: what streams, and the host, do to the same bytes though nothing orders them. Copies and fills leave a record of
 * the rows that they touch, kernels the records that race.c keeps of each word, and host functions one of each access. */
#ifndef SIMT_OVERLAP_H
#define SIMT_OVERLAP_H

#include "block/block.h"
#include "order/order.h"
#include "order/work.h"

struct touch { /* rows of bytes, `pitch` bytes apart */
    const unsigned char *start;
    size_t pitch, width, height;
    bool store;
    const char *what;       /* "copy", … */
    const char *does, *did; /* NULL: it reads or writes, and did */
    const void *pc;
    unsigned queue; /* set by overlap_touch() */
    uint32_t number;
    u64 issued;
};

/* This operation touches that: reported if something did before that nothing orders; else remembered. */
void overlap_touch(const struct work *w, struct touch t);
/* This memory is being freed: there is nothing to race with any more. */
void overlap_forget(const void *start, size_t bytes);
void overlap_forget_block(void *block); /* the same of what the host's malloc has returned, or free is to be given */
void overlap_forget_launches(void);     /* serials begin again */

/* A load or store of the host's code; strong: volatile or atomic, so that it may be how the host waits. */
void overlap_host_access(const void *address, size_t bytes, bool store, bool strong, const void *pc);
void overlap_host_frees(const void *address, size_t bytes, const void *pc);
/* An atomic operation of the host's: one in a host function may tell others that they need not wait any longer. */
void overlap_host_atomic(const void *address, size_t bytes, bool store, const void *pc);
void overlap_host_function_signals(void);

/* What a launch may meet, looked up when it begins. */
struct overlap;
struct overlap *overlap_begin_launch(const struct work *w, uint32_t first_serial, uint32_t *least_serial);
void overlap_end_launch(struct overlap *o);
/* Did the launch that a block of this serial is of, another launch, happen before what that thread does? */
bool overlap_ordered(struct block *b, unsigned thread, uint32_t serial);
/* Are the blocks of these two serials of one launch, which this block's did not wait for? */
bool overlap_same_launch(const struct block *b, uint32_t serial, uint32_t other);
void overlap_access(const struct access *a); /* of a launch that has an overlap */

void overlap_say_launch(FILE *f, uint32_t serial); /* "kernel k, launched at FILE:LINE" */

#endif

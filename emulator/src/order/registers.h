/* Variables of a thread that stand for registers which the tensor core reads and writes after the statement that names
 * them (wgmma.mma_async): which of them the thread has written since its last wgmma.fence, and which it must not touch
 * yet. Without checks the functions do nothing. */
#ifndef SIMT_REGISTERS_H
#define SIMT_REGISTERS_H

#include "block/worker.h"

void registers_begin_block(struct block *b);

/* wgmma.fence of that thread: products issued from now on see what it has written so far. */
void registers_fence(struct block *b, unsigned thread);

/* A variable that the thread has written since its last fence, or that it had none yet. */
struct unfenced {
    void *address;  /* NULL where there was no fence */
    const void *pc; /* of the store */
    bool never;
};
/* Is there any among these, of so many bytes each? NULL is the register of a value that has no variable. What products
 * have written needs no fence. */
bool registers_unfenced(struct block *b, unsigned thread, void *const *addresses, unsigned n, unsigned bytes,
                        struct unfenced *found);

/* From now until registers_open() it is reported when the thread reads or writes one of them (accumulators), or writes one
 * (others: of A), with the place of the issue. Several products may close one variable; each opens it once. */
void registers_close(struct block *b, unsigned thread, void *const *addresses, unsigned n, unsigned bytes,
                     bool accumulators, const char *call, const void *pc);
void registers_open(struct block *b, unsigned thread, void *const *addresses, unsigned n, unsigned bytes,
                    bool accumulators);

/* The running thread is at a statement whose function's frame begins there: it is reported if accumulators in flight lie in
 * the frame of a function that has returned, since they would land on top of other variables. */
void registers_check_frames(struct block *b, const void *frame, const void *pc);

/* A load or store of the running thread in its own stack, while the thread is watched. */
void registers_access(struct block *b, const void *address, unsigned bytes, bool stores, const void *pc);

#endif

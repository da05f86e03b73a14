/* What a thread does with the variables that stand for registers of wgmma.mma_async. */
#include "order/registers.h"

void registers_begin_block(struct block *b) { (void)b; }

void registers_fence(struct block *b, unsigned thread) { (void)b, (void)thread; }

bool registers_unfenced(struct block *b, unsigned thread, void *const *addresses, unsigned n, unsigned bytes,
                        struct unfenced *found)
{
    (void)b, (void)thread, (void)addresses, (void)n, (void)bytes, (void)found;
    return false;
}

void registers_close(struct block *b, unsigned thread, void *const *addresses, unsigned n, unsigned bytes,
                     bool accumulators, const char *call, const void *pc)
{
    (void)b, (void)thread, (void)addresses, (void)n, (void)bytes, (void)accumulators, (void)call, (void)pc;
}

void registers_open(struct block *b, unsigned thread, void *const *addresses, unsigned n, unsigned bytes,
                    bool accumulators)
{
    (void)b, (void)thread, (void)addresses, (void)n, (void)bytes, (void)accumulators;
}

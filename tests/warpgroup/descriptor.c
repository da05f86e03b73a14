/* Where the vectors of an operand of wgmma are: prints for each line of its input, OPERAND MN_MAJOR LINES DESCRIPTOR, the
 * offset of each. */
#include "warp/descriptor.h"

int main(void)
{
    struct shared_operand o = {.type = E_F16};
    unsigned mn_major;
    char operand;
    uint32_t offsets[MOST_VECTORS];
    while (scanf(" %c %u %u %llx", &operand, &mn_major, &o.lines, &o.descriptor) == 4) {
        o.operand = operand == 'a' ? OPERAND_A : OPERAND_B;
        o.mn_major = mn_major;
        unsigned n = descriptor_vectors(&o, offsets);
        for (unsigned i = 0; i < n; i++)
            printf("%u ", offsets[i]);
        printf("\n");
    }
    return 0;
}

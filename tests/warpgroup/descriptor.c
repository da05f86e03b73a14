/* Where the vectors of an operand of wgmma are: prints for each line of its input, OPERAND MN_MAJOR LINES RANK DESCRIPTOR, the
 * offset of each, and, behind a bar, what is wrong with the descriptor. */
#include "warp/descriptor.h"

int main(void)
{
    struct shared_operand o = {.type = E_F16};
    unsigned mn_major, rank;
    char operand, sentence[400];
    uint32_t offsets[MOST_VECTORS];
    while (scanf(" %c %u %u %u %llx", &operand, &mn_major, &o.lines, &rank, &o.descriptor) == 5) {
        o.operand = operand == 'a' ? OPERAND_A : OPERAND_B;
        o.mn_major = mn_major;
        unsigned n = descriptor_vectors(&o, offsets);
        for (unsigned i = 0; i < n; i++)
            printf("%u ", offsets[i]);
        const char *fault = descriptor_fault(&o, rank, sentence, sizeof sentence);
        printf("|%s\n", fault ? fault : "");
    }
    return 0;
}

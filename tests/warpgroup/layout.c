/* Where the sums of a product of 64 by 32 lie in the first warp's registers, of a shape that no table has yet. */
#include "warp/matrix_layout.c"

int main(void)
{
    const struct product p = {
        .family = LAYOUT_MMA, .m = 64, .n = 32, .k = 16, .a = E_F16, .b = E_F16, .c = E_F32, .d = E_F32};
    for (unsigned lane = 0; lane < WARP; lane++)
        for (unsigned i = 0; i < p.n / 2; i++) {
            struct position at = position_of(&p, OPERAND_D, lane, i);
            printf("%u,%u\n", at.row, at.column);
        }
    return 0;
}

/* Which products a warpgroup has, and where their elements lie in its registers: prints for each line of its input, N K A B D
 * (types by their numbers), row,column of each element that its 128 threads hold of the sums, and, behind a bar, of A; or
 * that there is no such product. */
#include "warp/matrix_layout.h"

static void print_places(const struct layout *l)
{
    for (unsigned lane = 0; lane < l->lanes; lane++)
        for (unsigned i = 0; i < l->distinct; i++)
            printf("%u,%u ", layout_at(l, lane, i) / l->columns, layout_at(l, lane, i) % l->columns);
}

int main(void)
{
    struct product p = {.family = LAYOUT_WGMMA, .m = 64};
    unsigned a, b, d;
    while (scanf("%u %u %u %u %u", &p.n, &p.k, &a, &b, &d) == 5) {
        p.a = (enum element_type)a;
        p.b = (enum element_type)b;
        p.c = p.d = (enum element_type)d;
        const struct product_layouts *layouts = matrix_layouts(&p);
        if (!layouts) {
            printf("none\n");
            continue;
        }
        print_places(&layouts->operands[OPERAND_D]);
        printf("| ");
        print_places(&layouts->operands[OPERAND_A]);
        printf("\n");
    }
    return 0;
}

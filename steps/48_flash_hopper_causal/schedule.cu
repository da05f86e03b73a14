// How evenly each variant spreads the pieces of work of causal heads over the SMs of an H200: arithmetic, no launch.
//
//   nvcc -O3 -std=c++20 -o schedule steps/48_flash_hopper_causal/schedule.cu
//   ./learn emulate steps/48_flash_hopper_causal/schedule.cu -I common

#include <cstdio>
#include <cuda_runtime_api.h>

constexpr int SMS = 132;             // of an H200, each with one block at a time
constexpr long L2_BYTES = 32 << 20;  // that the heads of a group have in K and V
constexpr int ELEMENT = 2;           // bytes

// [shape] What is computed, n queries and n keys for each head, and the rows of a piece.
struct shape {
    int batch, heads, n, head_dim, rows;
};

// [work] A piece's time in units: as many as it has rows of keys, which is right up to its diagonal.
static int units(const struct shape *shape, int work)
{
    const int tiles = shape->n / shape->rows, all = shape->batch * shape->heads;
    const long fit = L2_BYTES / (2L * shape->n * shape->head_dim * ELEMENT);
    const int group = fit < all ? (fit > 1 ? (int)fit : 1) : all;
    const int whole = group * tiles, first = work / whole * group, heads = group < all - first ? group : all - first;
    return tiles - work % whole / heads;
}

// [ends] When the last SM is done. Each SM begins with the piece of its number. Whoever is free first goes on first: `blocks` with the next
// piece that nobody has, `persistent` SMS further on, and `ordered` with the number that it took when it began with the piece before.
enum { BLOCKS, PERSISTENT, ORDERED };
constexpr int WIDTHS[] = {6, 10, 7};  // of their columns, without the sign

static long ends(const struct shape *shape, int variant)
{
    const int pieces = shape->n / shape->rows * shape->batch * shape->heads;
    long at[SMS] = {}, end = 0;
    int next[SMS], taken = SMS;
    for (int sm = 0; sm < SMS; sm++)
        next[sm] = sm;
    if (variant == BLOCKS)
        taken = 0;
    for (;;) {
        int sm = -1;
        for (int i = 0; i < SMS; i++)
            if ((variant == BLOCKS ? taken : next[i]) < pieces && (sm < 0 || at[i] < at[sm]))
                sm = i;
        if (sm < 0)
            return end;
        const int work = variant == BLOCKS ? taken++ : next[sm];
        next[sm] = variant == ORDERED ? taken++ : work + SMS;
        at[sm] += units(shape, work);
        end = at[sm] > end ? at[sm] : end;
    }
}

// [main] The time if all SMs were busy to the end, in per cent of the time that each variant takes.
int main()
{
    const struct shape shapes[] = {{1, 8, 8192, 64, 256},
                                   {8, 32, 2048, 64, 256},
                                   {8, 16, 2048, 128, 128},
                                   {1, 16, 16384, 128, 128},
                                   {2, 8, 8192, 256, 128}};
    printf("%-20s %7s %8s %12s %9s\n", "", "pieces", "blocks", "persistent", "ordered");
    for (const struct shape &shape : shapes) {
        const int pieces = shape.n / shape.rows * shape.batch * shape.heads;
        long all = 0;
        for (int work = 0; work < pieces; work++)
            all += units(&shape, work);
        char words[32];
        snprintf(words, sizeof(words), "B%d H%d N%d D%d", shape.batch, shape.heads, shape.n, shape.head_dim);
        printf("%-20s %7d", words, pieces);
        for (int variant = BLOCKS; variant <= ORDERED; variant++)
            printf(" %*.0f %%", WIDTHS[variant], 100. * all / SMS / ends(&shape, variant));
        printf("\n");
    }
}

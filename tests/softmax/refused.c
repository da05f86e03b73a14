// In place of softmax_main: how many of five launches whose rows are not all at multiples of 16 bytes the step refuses.
#include "softmax.h"

#include <stdio.h>

int softmax_main(int argc, char **argv, const struct softmax_step *step)
{
    enum { ROWS = 2, COLS = 5, PITCH = 8 };
    static _Alignas(16) float X[ROWS * PITCH + 4], Y[ROWS * PITCH + 4];
    (void)argc, (void)argv;
    const struct softmax_args right = {
        .X = X, .Y = Y, .rows = ROWS, .cols = COLS, .X_pitch = PITCH, .Y_pitch = PITCH, .dtype = FP32};
    struct softmax_args wrong[] = {right, right, right, right, right};
    wrong[0].X_pitch = COLS;
    wrong[1].Y_pitch = COLS + 1;
    wrong[2].X = X + 1;
    wrong[3].Y = Y + 2;
    wrong[4].dtype = FP16;
    int refused = 0;
    for (int i = 0; i < (int)(sizeof wrong / sizeof *wrong); i++)
        refused += step->launch(&wrong[i], NULL) == cudaErrorInvalidValue;
    printf("refused: %d\n", refused);
    return 0;
}

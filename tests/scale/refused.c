// In place of scale_main: how many of five launches whose rows are not all at multiples of 16 bytes the step refuses, when it prepares
// them or when it launches.
#include "scale.h"

#include <stdio.h>

int scale_main(int argc, char **argv, const struct scale_step *step)
{
    enum { ROWS = 2, COLS = 5, PITCH = 8 };
    static _Alignas(16) float X[ROWS * PITCH + 4], Y[ROWS * PITCH + 4];
    static _Alignas(PREPARED_ALIGN) char prepared[PREPARED_BYTES];
    (void)argc, (void)argv;
    const int pitch = step->row_bytes ? PITCH : COLS;
    const struct scale_args right = {.a = 2,
                                     .X = X,
                                     .Y = Y,
                                     .prepared = prepared,
                                     .rows = ROWS,
                                     .cols = COLS,
                                     .X_pitch = pitch,
                                     .Y_pitch = pitch,
                                     .dtype = FP32};
    struct scale_args wrong[] = {right, right, right, right, right};
    wrong[0].X_pitch = pitch + 1;
    wrong[1].Y_pitch = pitch + 2;
    wrong[2].X = X + 1;
    wrong[3].Y = Y + 2;
    wrong[4].dtype = FP16;
    int refused = 0;
    for (int i = 0; i < (int)(sizeof wrong / sizeof *wrong); i++) {
        const int status = step->prepare ? step->prepare(&wrong[i]) : cudaSuccess;
        refused += (status != cudaSuccess ? status : step->launch(&wrong[i], NULL)) == cudaErrorInvalidValue;
    }
    printf("refused: %d\n", refused);
    return 0;
}

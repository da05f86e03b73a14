#include "layout.h"

#include <stdio.h>

// Eight rows of 16 bytes are a matrix of ldmatrix; they take as many bytes as all banks have in a clock.
enum { ROWS = 8, QUADS = 8, VECTOR_BYTES = 16 };

static int quad_of(size_t offset) { return (int)(offset / VECTOR_BYTES % QUADS); }

// Of a column of vectors, the most that lie in the same bank quad.
static int most_in_a_quad(int vector, size_t (*offset)(int row, int vector))
{
    int counts[QUADS] = {0}, most = 0;
    for (int row = 0; row < ROWS; row++) {
        const int count = ++counts[quad_of(offset(row, vector))];
        most = count > most ? count : most;
    }
    return most;
}

void layout_print(const char *tile, int vectors, size_t (*offset)(int row, int vector))
{
    printf("%s: each vector's bank quad\n  vector", tile);
    for (int vector = 0; vector < vectors; vector++)
        printf("%3d", vector);
    for (int row = 0; row < ROWS; row++) {
        printf("\n  row %d ", row);
        for (int vector = 0; vector < vectors; vector++)
            printf("%3d", quad_of(offset(row, vector)));
    }
    int most = 0;
    for (int vector = 0; vector < vectors; vector++) {
        const int here = most_in_a_quad(vector, offset);
        most = here > most ? here : most;
    }
    printf("\n  of a column, at most %d in the same bank quad: ldmatrix reads it in %d wavefront%s\n", most, most,
           most == 1 ? "" : "s");
}

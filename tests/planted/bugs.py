"""Bugs to plant in the steps: each is one edit of a step's source, and must be caught twice.

`plain` says how the step's own check must end a program that was built without the emulator's checks: a part of its
complaint. `checked` is what the same program must say when the emulator watches: the kind of a report, or again the
step's complaint where the bug breaks no rule of CUDA. A race may be reported on any line that it involves."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Bug:
    step: str
    name: str
    before: str
    after: str
    plain: str = "WRONG"
    checked: str = "WRONG"
    variant: str = ""
    input: str = ""
    shape: tuple = (70, 45, 50)  # m, n, k, or rows, cols: no multiples of the tile, and no two alike


NAIVE, TILED = "01_matmul_naive", "04_matmul_tiled"
SUM = "sum += A[(size_t)row * k + i] * B[(size_t)i * n + col];"
STORE = "C[(size_t)row * n + col] = sum;"
LOAD_A = "const float a = row < m && A_col < k ? A[(size_t)row * k + A_col] : 0;"
LOAD_B = "const float b = B_row < k && col < n ? B[(size_t)B_row * n + col] : 0;"
KEEP_B = "B_smem[threadIdx.y][threadIdx.x] = b;"
FIRST_BARRIER = "__syncthreads();  // both tiles are whole before any thread reads them"
SECOND_BARRIER = "__syncthreads();  // every thread has read both tiles before the next two replace them"
TILES = "for (int tile = 0; tile < k; tile += TILE) {"
TWO_DIMS = "if (row < m && col < n)\n        C["

BUGS = [
    Bug(NAIVE, "zeros", STORE, "C[(size_t)row * n + col] = 0;"),
    Bug(NAIVE, "nan", STORE, "C[(size_t)row * n + col] = row == m - 1 && col == n - 1 ? sum / 0 - sum / 0 : sum;"),
    Bug(NAIVE, "never_written", TWO_DIMS, "if (row < m && col < n - 1)\n        C[", plain="was never written",
        checked="was never written"),
    Bug(NAIVE, "lost_tail", "i < k; i++)", "i < k - 1; i++)"),
    Bug(NAIVE, "lost_tail_of_a_block", "tiles_m = ceil_div(m, TILE)", "tiles_m = m / TILE", plain="was never written",
        checked="was never written"),
    Bug(NAIVE, "swapped_indices", SUM, "sum += A[(size_t)i * m + row] * B[(size_t)i * n + col];"),
    Bug(NAIVE, "swapped_output", STORE, "C[(size_t)col * m + row] = sum;"),
    Bug(NAIVE, "wrong_pitch", SUM, "sum += A[(size_t)row * k + i] * B[(size_t)i * (n - 1) + col];"),
    Bug(NAIVE, "write_out_of_bounds", TWO_DIMS, "if (row <= m && col < n)\n        C[", plain="past the end of C",
        checked="out of bounds"),
    Bug(NAIVE, "write_one_element_further", STORE, "C[(size_t)row * n + col + 1] = sum;", checked="out of bounds"),
    Bug(NAIVE, "read_out_of_bounds", "i < k; i++)", "i <= k; i++)", checked="out of bounds"),
    Bug(NAIVE, "strided_swapped", "dim3(tiles_m, tiles_n)", "dim3(tiles_n, tiles_m)", variant="strided",
        plain="was never written", checked="was never written", shape=(70, 20, 50)),

    Bug(TILED, "missing_first_barrier", FIRST_BARRIER, "", checked="race in shared memory"),
    Bug(TILED, "missing_second_barrier", SECOND_BARRIER, "", checked="race in shared memory"),
    Bug(TILED, "missing_second_barrier_tiled", SECOND_BARRIER, "", checked="race in shared memory", variant="tiled"),
    Bug(TILED, "barrier_in_the_tail_only", SECOND_BARRIER, "if (tile + TILE >= k) __syncthreads();",
        checked="race in shared memory"),
    Bug(TILED, "zeros", STORE, "C[(size_t)row * n + col] = 0;"),
    Bug(TILED, "nan", STORE, "C[(size_t)row * n + col] = row == 0 && col == 0 ? sum / 0 - sum / 0 : sum;"),
    Bug(TILED, "lost_last_tile", TILES, "for (int tile = 0; tile < k - TILE; tile += TILE) {"),
    Bug(TILED, "lost_tail_of_k", TILES, "for (int tile = 0; tile + TILE <= k; tile += TILE) {"),
    Bug(TILED, "tail_read_as_it_comes", LOAD_A, "const float a = row < m ? A[(size_t)row * k + A_col] : 0;",
        checked="out of bounds"),
    Bug(TILED, "tail_of_b_read", LOAD_B, "const float b = col < n ? B[(size_t)B_row * n + col] : 0;",
        checked="out of bounds"),
    Bug(TILED, "swapped_indices", KEEP_B, "B_smem[threadIdx.x][threadIdx.y] = b;"),
    Bug(TILED, "wrong_shape", LOAD_B, "const float b = B_row < k && col < n ? B[(size_t)B_row * k + col] : 0;",
        checked="out of bounds"),
    Bug(TILED, "old_tile", TILES, TILES + " if (tile == 2 * TILE) break;", shape=(70, 45, 100)),
    Bug(TILED, "write_out_of_bounds", TWO_DIMS, "if (row <= m && col < n)\n        C[", plain="past the end of C",
        checked="out of bounds"),
    Bug(TILED, "lost_tail_of_a_block", "ceil_div(m, TILE));", "m / TILE);", plain="was never written",
        checked="was never written"),
]

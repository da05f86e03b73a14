"""Bugs that the default run may well overlook: in the sixth tile, beyond row 512, in the last head, in the second launch.

Each is one edit of a step's source. `run` is the command line at which it shows: one of those that tests/test_reach.py
runs every step at, "" being the default run, or PROFILE. `by` is what must then be said. Those that are `checked` show
where the emulator watches; the others are built without its checks, and the step's own check must see them."""

import dataclasses

from bugs import (ATTENTION, DEVICE, FLASH, NAIVE, ONLINE, PUT, QUOTIENT, REGISTER, SOFTMAX, STORE, SUMMAND, TILED,
                  FIRST_BARRIER)

# What every step is right at, all its variants: past the fifth tile and past 512 rows, with the emulator's checks off.
REACH = {
    "device": ["-n 1048579 --rounds 40"],
    "matmul": ["-m 700 -n 661 -k 43", "-m 700 -n 660 -k 44", "-m 33 -n 70 -k 700", "-m 132 -n 36 -k 700", "-m 44 -n 700 -k 36"],
    "softmax": ["--rows 700 --cols 45 --input masked", "--rows 515 --cols 1100", "--rows 3 --cols 40001",
                "--rows 3 --cols 200001 --input masked"],
    "attention": [*(f"--heads 1 --seqlen 700 --head-dim {d} --input {kind}"
                    for d, kind in ((32, "normal"), (64, "normal"), (96, "scaled"), (128, "huge"))),
                  "--batch 2 --heads 3 --seqlen 70 --head-dim 32"],
}
# The same with the checks on, small because those take their time.
WATCHED = {
    "device": ["-n 4099 --rounds 3"],
    "matmul": ["-m 33 -n 70 -k 41", "-m 33 -n 68 -k 41", "-m 36 -n 36 -k 20"],
    "softmax": ["--rows 5 --cols 45", "--rows 1 --cols 200001"],
    "attention": ["--batch 2 --heads 3 --seqlen 40 --head-dim 96"],
}
PROFILE = "--profile"  # and what it counts is compared with what ncu counted


@dataclasses.dataclass(frozen=True)
class Subtle:
    step: str
    name: str
    before: str
    after: str
    by: str
    run: str = ""
    variant: str = ""
    checked: bool = False
    status: int = 1


SECOND = "the second launch on the same input left a wrong result"
NEVER = "was never written"
REFUSED = "the launch was refused"
EACH_SUM = "for (int col = threadIdx.x; col < n; col += THREADS)\n        l +="

ROW_512, SIX_HEADS = "--rows 700 --cols 45 --input masked", "--batch 2 --heads 3 --seqlen 70 --head-dim 32"
KEYS_32, KEYS_64, KEYS_96, KEYS_128 = REACH["attention"][:4]

SUBTLE = [
    # What an earlier launch left.
    Subtle(NAIVE, "done_once", "    const dim3 threads(TILE, TILE);\n    const unsigned tiles_m",
           "    static bool done;\n    if (done)\n        return cudaSuccess;\n    done = true;\n"
           "    const dim3 threads(TILE, TILE);\n    const unsigned tiles_m", f"{SECOND}: row 0, column 0 {NEVER}"),
    Subtle(SOFTMAX, "input_overwritten", QUOTIENT, "((float *)x)[col] = y[col] = expf(x[col] - m) / l;", SECOND),
    Subtle(TILED, "counter_never_reset", STORE,
           "{ static __device__ unsigned stored; if (atomicAdd(&stored, 1) < (unsigned)(m * n)) " + STORE + " }",
           f"{SECOND}: row 0, column 0 {NEVER}"),
    Subtle(ATTENTION, "transposed_once", "        transpose<<<",
           "        static bool transposed;\n        if (!transposed && (transposed = true))\n            transpose<<<",
           SECOND),
    Subtle(DEVICE, "copied_once", "case COPY: copy<<<", "case COPY: static int copied; if (copied++ < 1) copy<<<",
           SECOND, variant="copy"),

    # Beyond the fifth tile, and row, column, key or block 512.
    Subtle(NAIVE, "row_512", STORE, "C[(size_t)row * n + col] = row < 512 ? sum : sum * 1.0001f;", "should be",
           "-m 700 -n 661 -k 43"),
    Subtle(SOFTMAX, "row_512", "const int end = row < rows ? cols : 0;", "const int end = row < rows ? cols - (row > 512) : 0;",
           NEVER, ROW_512, "thread_per_row"),
    Subtle(SOFTMAX, "block_of_rows_too_small", "blockIdx.x * BLOCK_ROWS + threadIdx.x", "blockIdx.x * (BLOCK_ROWS - 1) + threadIdx.x",
           NEVER, ROW_512, "thread_per_row"),
    Subtle(ONLINE, "row_512", "const int count = index < rows ? cols : 0;", "const int count = index < min(rows, 512) ? cols : 0;",
           NEVER, "--rows 515 --cols 1100"),
    Subtle(TILED, "sixth_tile", "row < m && A_col < k ?", "row < m && A_col < k && tile != 5 * TILE ?", "should be",
           "-m 33 -n 70 -k 700"),
    Subtle(TILED, "grid_swapped", "blocks(ceil_div(n, TILE), ceil_div(m, TILE))", "blocks(ceil_div(m, TILE), ceil_div(n, TILE))",
           NEVER, "-m 700 -n 661 -k 43"),
    Subtle(REGISTER, "sixth_row_of_tiles", "C_row = blockIdx.y * TILE + row", "C_row = blockIdx.y % 5 * TILE + row", NEVER,
           "-m 700 -n 661 -k 43"),
    Subtle(REGISTER, "row_512_of_b", "B_row < k && B_col < n ?", "B_row < min(k, 512) && B_col < n ?", "should be",
           "-m 33 -n 70 -k 700", "register"),
    Subtle(ATTENTION, "key_512", EACH_SUM, EACH_SUM.replace("col < n", "col < min(n, 512)"), "should be", KEYS_64),
    Subtle(FLASH, "sixth_tile_not_rescaled", "o[r][c] = add_scaled(sum[r], factor[r], o[r][c]);",
           "o[r][c] = add_scaled(sum[r], tile == 6 * TILE<D> ? 1 : factor[r], o[r][c]);", "should be", KEYS_64),
    Subtle(FLASH, "sum_of_the_sixth_tile_not_rescaled", "l[r] = l[r] * factor[r] + sum;",
           "l[r] = l[r] * (tile == 6 * TILE<D> ? 1 : factor[r]) + sum;", "should be", KEYS_64, "one_row"),
    Subtle(FLASH, "fifth_block_of_rows", "row = blockIdx.x * BLOCK_ROWS<D, ROWS>", "row = blockIdx.x % 4 * BLOCK_ROWS<D, ROWS>",
           NEVER, KEYS_128),
    Subtle(FLASH, "tail_unmasked_from_512_on", "if (tile + first + key >= n)", "if (tile < 512 && tile + first + key >= n)",
           "should be", KEYS_32),
    Subtle(DEVICE, "copy_ends_at_2_17", "if (i < whole)", "if (i < min(whole, (size_t)1 << 17))", "the output differs",
           "-n 1048579 --rounds 40", "copy"),

    # The last row, head, batch, word, end.
    Subtle(NAIVE, "last_row", "i < k; i++)", "i < k - (row == m - 1); i++)", "should be"),
    Subtle(ATTENTION, "last_head", "V += (size_t)blockIdx.z * n * d;", "V += (size_t)min(blockIdx.z, 4) * n * d;", "should be",
           SIX_HEADS),
    Subtle(ATTENTION, "first_batch_only", "const int heads = args->batch * args->heads", "const int heads = args->heads", NEVER,
           SIX_HEADS),
    Subtle(FLASH, "first_batch_only", "args->batch * args->heads);", "args->heads);", NEVER, SIX_HEADS),
    Subtle(FLASH, "heads_wrap", "head = (size_t)blockIdx.y * n * C", "head = (size_t)(blockIdx.y % 4) * n * C", NEVER, SIX_HEADS),
    Subtle(ONLINE, "end_too_early", "end < at.head ? end", "end <= at.head ? end", "", ROW_512),
    Subtle(DEVICE, "last_word", "i + j * threads < n ?", "i + j * threads < n - 1 ?", "not that of the input", variant="littles_law"),
    Subtle(DEVICE, "paths_divided", "threadIdx.x / width % paths", "threadIdx.x / width / paths", "the output differs",
           variant="divergence"),

    # The launch.
    Subtle(NAIVE, "wrong_variant", "if (args->variant == STRIDED)", "if (args->variant != STRIDED)", "", PROFILE),
    Subtle(ONLINE, "opt_in_forgotten",
           "cudaFuncSetAttribute(softmax_held<VECTORS, ROWS>, cudaFuncAttributeMaxDynamicSharedMemorySize,\n"
           "                             room * (int)sizeof(float4));", "", REFUSED, "--rows 3 --cols 200001 --input masked",
           status=2),
    Subtle(ONLINE, "launch_bounds_too_low", "__launch_bounds__(MAX_THREADS<VECTORS, ROWS>, 1)", "__launch_bounds__(256, 1)", REFUSED,
           "--rows 3 --cols 40001", status=2),
    Subtle(REGISTER, "launch_bounds_too_low", "__launch_bounds__(THREADS, BLOCKS) matmul_vector",
           "__launch_bounds__(THREADS / 2, BLOCKS) matmul_vector", REFUSED, status=2),
    Subtle(ONLINE, "reads_a_vector_before", "rest_smem[v - held] : at.x4[v];", "rest_smem[v - held] : at.x4[v - 1];", "",
           "--rows 3 --cols 200001 --input masked"),

    # Barriers, masks, places: what the emulator watches.
    Subtle(SOFTMAX, "barrier_in_a_branch", "        }\n        __syncthreads();  // this round's results are there",
           "            __syncthreads(); }\n        // this round's results are there", "divergent barrier", checked=True),
    Subtle(ONLINE, "half_a_warps_mask", "m = fmaxf(m, __shfl_xor_sync(ALL, m, far));", "m = fmaxf(m, __shfl_xor_sync(ALL >> 16, m, far));",
           "divergent collective", checked=True),
    Subtle(FLASH, "half_a_warps_mask", "__shfl_xor_sync(0xffffffff, s[r][key], far)", "__shfl_xor_sync(0xffff, s[r][key], far)",
           "divergent collective", checked=True),
    Subtle(TILED, "no_barrier_in_the_last_tile", FIRST_BARRIER, "if (tile + TILE < k) __syncthreads();", "race in shared memory",
           checked=True),
    Subtle(REGISTER, "second_buffers_tail", "const int next = left - (now + 1) * TILE_K;", "const int next = left - TILE_K;",
           "out of bounds", "-m 33 -n 70 -k 41", checked=True),
    Subtle(REGISTER, "second_buffer_keeps_no_last_tile", "keep<ordered>(&smem[1 - now], a, b);",
           "if (now == 0 || next > TILE_K) keep<ordered>(&smem[1 - now], a, b);", "should be", "-m 44 -n 700 -k 36"),
    Subtle(REGISTER, "rows_not_aligned", "args->n % 4 == 0 && args->k % 4 == 0 &&", "args->n % 4 == 0 &&", "misaligned access",
           "-m 33 -n 68 -k 41", checked=True),
    Subtle(REGISTER, "a_vector_beyond_the_row", "if (aligned && C_row < m && C_col < n)", "if (aligned && C_row < m && C_col <= n)",
           "race in global memory", "-m 36 -n 36 -k 20", checked=True),
    Subtle(ONLINE, "a_vector_beyond_the_room", "if (v - held < room)\n                rest_smem", "if (v - held <= room)\n                rest_smem",
           "out of bounds", "--rows 1 --cols 200001", checked=True),

    # Numbers.
    Subtle(FLASH, "exp_for_exp2", "factor[r] = exp2f(m[r] - m_new);", "factor[r] = expf(m[r] - m_new);", "should be"),
    Subtle(FLASH, "no_log2_e", "1.44269504f * args->scale", "args->scale", "should be"),
    Subtle(ATTENTION, "scale_of_64_columns", "args->scale", "0.125f", "should be", KEYS_96),
    Subtle(SOFTMAX, "exp2_for_exp", SUMMAND, "l += exp2f(x[col] - m);", "should be"),
    Subtle(SOFTMAX, "sum_begins_above_0", "float l = 0;", "float l = 1e-5f;", "should be"),
    Subtle(SOFTMAX, "masked_counts", SUMMAND, "l += x[col] == -INFINITY ? 1 : expf(x[col] - m);", "should be", ROW_512),
    Subtle(ONLINE, "nothing_minus_nothing", "float l = mine.l * weight(mine.m, m);", "float l = mine.l * expf(mine.m - m);", "is NaN",
           ROW_512, "shuffled"),
]

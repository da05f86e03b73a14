"""Bugs that the default run may well overlook: in the sixth tile, beyond row 512, in the last head, in the second launch.

Each is one edit of a step's source. `run` is the command line at which it shows: one of those that tests/test_reach.py
runs every step at, "" being the default run, or PROFILE. `by` is what must then be said. Those that are `checked` show
where the emulator watches; the others are built without its checks, and the step's own check must see them."""

import dataclasses

from bugs import (ATTENTION, BLOCK_SUM, DEVICE, DOUBLE, EACH_ROUND, FIRST, FIRST_BARRIER, FLASH, HELD, LANES, MMA, NAIVE, NEXT,
                  ONLINE, PUT, QUOTIENT, REGISTER, SHAPED, SOFTMAX, STORE, STORE_VECTOR, SUMMAND, TILED, VECTOR, WARP_SUM,
                  WHOLE_FRAGMENT, WHOLE_TILES, WHOLE_VECTOR, WMMA)

# What every step is right at, all its variants: past the fifth tile and past 512 rows, with the emulator's checks off.
REACH = {
    "axpy": ["-n 1000003"],
    "sum": ["-n 1000003", "-n 1000003 --input normal"],
    "device": ["-n 1048579 --rounds 40"],
    "matmul": ["-m 700 -n 661 -k 43", "-m 700 -n 660 -k 44", "-m 33 -n 70 -k 700", "-m 132 -n 36 -k 700", "-m 44 -n 700 -k 36"],
    "softmax": ["--rows 700 --cols 45 --input masked", "--rows 515 --cols 1100", "--rows 3 --cols 40001",
                "--rows 3 --cols 200001 --input masked", "--rows 7 --cols 1103"],
    "attention": [*(f"--heads 1 --seqlen 700 --head-dim {d} --input {kind}"
                    for d, kind in ((32, "normal"), (64, "normal"), (96, "scaled"), (128, "huge"))),
                  "--batch 2 --heads 3 --seqlen 70 --head-dim 32"],
}
# The same with the checks on, small because those take their time.
WATCHED = {
    "axpy": ["-n 4099"],
    "sum": ["-n 4099", "-n 255", "-n 8190"],
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
    # Of lists: beyond element 2^17, in the second launch, in the launch itself.
    Subtle(FIRST, "element_2_17", "if (i < n)", "if (i < min(n, 1 << 17))", "should be", "-n 1000003"),
    Subtle(FIRST, "blocks_rounded_down", "axpy<<<ceil_div(n, THREADS), THREADS, 0, stream>>>", "axpy<<<n / THREADS, THREADS, 0, stream>>>",
           "should be", "-n 1000003"),
    Subtle(FIRST, "launched_once", "    const int n = args->n;\n    axpy<<<",
           "    static int done;\n    const int n = args->n;\n    if (done++ == 0)\n        axpy<<<", SECOND),
    Subtle(FIRST, "not_copied_back", "CUDA(cudaMemcpy(result, y, bytes, cudaMemcpyDeviceToHost));",
           "CUDA(cudaMemcpy(result, x, bytes, cudaMemcpyDeviceToHost));", "y as main computed it"),
    Subtle(FIRST, "no_bounds", "if (i < n)", "if (i >= 0)", "out of bounds", "-n 4099", checked=True),
    Subtle(FIRST, "host_pointer", "axpy<<<blocks, THREADS>>>(host.a, x, y, n);", "axpy<<<blocks, THREADS>>>(host.a, host.x, y, n);",
           "host pointer in a kernel", checked=True),
    Subtle(BLOCK_SUM, "no_atomic", "atomicAdd(total, partial[0]);", "*total = *total + partial[0];", "race in global memory", "-n 4099",
           checked=True),
    Subtle(BLOCK_SUM, "share_243_lost", "const int end = min(begin + SHARE, n);", "const int end = blockIdx.x == 243 ? begin : min(begin + SHARE, n);",
           "should be", "-n 1000003"),
    Subtle(BLOCK_SUM, "total_never_reset", "    cudaMemsetAsync(total, 0, sizeof *total, stream);",
           "    static int reset;\n    if (reset++ == 0)\n        cudaMemsetAsync(total, 0, sizeof *total, stream);", SECOND),
    Subtle(BLOCK_SUM, "a_warp_needs_no_barrier", EACH_ROUND, "if (half > 32) " + EACH_ROUND, "race in shared memory", checked=True),
    Subtle(ATTENTION, "missing_second_barrier", "__syncthreads();  // every warp has read them before the array is used again", "",
           "race in shared memory", checked=True),
    Subtle(BLOCK_SUM, "one_element_twice", "float sum = 0;", "float sum = begin + threadIdx.x == 4096 * 200 ? x[4096 * 200] : 0;", "should be",
           "-n 1000003"),
    Subtle(WARP_SUM, "half_a_warps_mask", "__shfl_down_sync(ALL_LANES, sum, offset)", "__shfl_down_sync(ALL_LANES >> 16, sum, offset)",
           "divergent collective", checked=True),
    Subtle(WARP_SUM, "a_warp_too_many", "lane < WARPS ? partial[lane] : 0", "lane <= WARPS ? partial[lane] : 0", "out of bounds", "-n 255",
           checked=True),
    Subtle(WARP_SUM, "whole_share_by_less_than", "end - begin >= SHARE;", "end - begin > SHARE - 4;", "out of bounds", "-n 8190", checked=True),
    Subtle(WARP_SUM, "last_load_of_share_200", "sum += (loaded[i].x + loaded[i].y) + (loaded[i].z + loaded[i].w);",
           "sum += (loaded[i].x + loaded[i].y) + (loaded[i].z + (blockIdx.x == 50 && i == 3 && threadIdx.x == 255 ? 0 : loaded[i].w));",
           "should be", "-n 1000003"),
    Subtle(WARP_SUM, "wrong_variant", "if (args->variant == ATOMICS)", "if (args->variant != ATOMICS)", "", PROFILE),

    # What an earlier launch left.
    Subtle(NAIVE, "done_once", "    const dim3 threads(TILE, TILE);\n    const unsigned tiles_m",
           "    static bool done;\n    if (done)\n        return cudaSuccess;\n    done = true;\n"
           "    const dim3 threads(TILE, TILE);\n    const unsigned tiles_m", f"{SECOND}: row 0, column 0 {NEVER}"),
    Subtle(SOFTMAX, "input_overwritten", QUOTIENT, "((float *)x)[col] = y[col] = expf(x[col] - m) / l;", SECOND),
    Subtle(WMMA, "done_once", "    kernel<<<", "    static int done;\n    if (done++ == 0)\n        kernel<<<", SECOND),
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
    Subtle(ONLINE, "row_512", "y[col] = weight(x[col], all.m) / all.l;",
           "y[col] = weight(x[col], all.m) / (row < 512 ? all.l : 1.0001f * all.l);", "should be", "--rows 515 --cols 1100"),
    Subtle(HELD, "row_512", STORE_VECTOR, "if (row < 512) " + STORE_VECTOR, NEVER, "--rows 515 --cols 1100"),
    Subtle(SHAPED, "row_512", "row < rows ? cols / 4 : 0", "row < min(rows, 512) ? cols / 4 : 0", NEVER, "--rows 515 --cols 1100"),
    Subtle(TILED, "sixth_tile", "row < m && A_col < k ?", "row < m && A_col < k && tile != 5 * TILE ?", "should be",
           "-m 33 -n 70 -k 700"),
    Subtle(TILED, "grid_swapped", "blocks(ceil_div(n, TILE), ceil_div(m, TILE))", "blocks(ceil_div(m, TILE), ceil_div(n, TILE))",
           NEVER, "-m 700 -n 661 -k 43"),
    *(Subtle(step, "sixth_row_of_tiles", "C_row = blockIdx.y * TILE + row", "C_row = blockIdx.y % 5 * TILE + row", NEVER,
             "-m 700 -n 661 -k 43") for step in (REGISTER, VECTOR, DOUBLE)),
    Subtle(REGISTER, "row_512_of_b", "B_row < k && B_col < n ?", "B_row < min(k, 512) && B_col < n ?", "should be",
           "-m 33 -n 70 -k 700"),
    Subtle(VECTOR, "row_512_of_b", "tile + B_row < k ?", "tile + B_row < min(k, 512) ?", "should be", "-m 33 -n 70 -k 700"),
    Subtle(VECTOR, "end_of_the_sixth_tile", "k - (tile + A_col)", "k - (tile + A_col) - (tile == 5 * TILE_K)", "should be",
           "-m 700 -n 661 -k 43"),
    Subtle(DOUBLE, "sixth_tile_of_a", "A_from, next >= 0 ?", "A_from, next >= max(last - 4 * TILE_K, 0) ?", "should be",
           "-m 700 -n 661 -k 43"),
    Subtle(WMMA, "row_512_of_b", "tile + B_row + y < k ?", "tile + B_row + y < min(k, 512) ?", "should be", "-m 33 -n 70 -k 700"),
    Subtle(WMMA, "sixth_tile", "wmma::mma_sync(sum[y][x], a[y], b, sum[y][x]);",
           "if (tile != 5 * TILE_K) wmma::mma_sync(sum[y][x], a[y], b, sum[y][x]);", "should be", "-m 33 -n 70 -k 700"),
    Subtle(LANES, "sixth_tile", "&A_smem[lane % 16][lane / 16 * 8]", "&A_smem[tile == 5 * MMA_K ? lane / 2 : lane % 16][lane / 16 * 8]",
           "should be", "-m 33 -n 70 -k 700"),
    Subtle(LANES, "row_512", "if (row < m && col < n)", "if (row < min(m, 512) && col < n)", NEVER, "-m 700 -n 661 -k 43"),
    Subtle(LANES, "last_blocks_lost", "ceil_div(args->m, MMA_M) * ceil_div(args->n, MMA_N);",
           "min(ceil_div(args->m, MMA_M) * ceil_div(args->n, MMA_N), 3600);", NEVER, "-m 700 -n 661 -k 43"),
    Subtle(LANES, "pair_across_the_end", "element(A, row, col + 1, m, k, A_pitch)", "element(A, row, col + 1, m, k + 1, A_pitch)",
           "is NaN", "-m 700 -n 661 -k 43", "registers"),
    Subtle(LANES, "rows_that_follow_with_no_gap", ".row_bytes = 16,", "",
           "rows of A, B and C have to begin at multiples of 16 bytes: their pitches are 43, 661 and 661 elements",
           "-m 700 -n 661 -k 43", status=2),
    Subtle(LANES, "missing_syncwarp", "__syncwarp();  // both tiles are whole before any lane reads them", "", "race in shared memory",
           checked=True),
    Subtle(LANES, "half_a_warp_waits", "__syncwarp();  // both tiles are whole", "if (lane < 16) __syncwarp(0xffff);  // both tiles are whole",
           "race in shared memory", checked=True),
    Subtle(LANES, "a_row_of_b_never_stored", "else if (lane < 16)", "else if (lane < 15)", "is NaN"),
    Subtle(LANES, "row_beyond_the_tile", "&B_smem[lane % 16][0]", "&B_smem[lane % 16 + 1][0]", "out of bounds", checked=True),
    Subtle(MMA, "row_512_of_b", "tile + B_row + y < k ?", "tile + B_row + y < min(k, 512) ?", "should be", "-m 33 -n 70 -k 700"),
    Subtle(MMA, "sixth_row_of_tiles", "C_row = blockIdx.y * TILE + row", "C_row = blockIdx.y % 5 * TILE + row", NEVER,
           "-m 700 -n 661 -k 43"),
    Subtle(MMA, "sixth_tile_of_a", "row + y < m ? k - (tile + A_col) : 0", "row + y < m && tile != 5 * TILE_K ? k - (tile + A_col) : 0",
           "should be", "-m 33 -n 70 -k 700"),
    Subtle(MMA, "launch_bounds_too_low", "__launch_bounds__(THREADS, BLOCKS)", "__launch_bounds__(THREADS / 2, BLOCKS)", REFUSED,
           status=2),
    Subtle(WMMA, "missing_second_barrier", "__syncthreads();  // every warp has read both tiles before the next two replace them", "",
           "race in shared memory", checked=True),
    Subtle(WMMA, "no_barrier_in_the_last_tile", WHOLE_TILES, "if (tile + TILE_K < k) __syncthreads();", "race in shared memory",
           checked=True),
    Subtle(WMMA, "no_syncwarp_after_the_store", WHOLE_FRAGMENT, "", "race in shared memory", checked=True),
    Subtle(WMMA, "fragment_replaced_while_read", "__syncwarp();  // every lane has read its part before the next fragment replaces it", "",
           "race in shared memory", checked=True),
    Subtle(WMMA, "one_fragment_for_all_warps", "wmma::store_matrix_sync(&C_smem[warp][0][0]", "wmma::store_matrix_sync(&C_smem[0][0][0]",
           "race in shared memory", checked=True),
    Subtle(MMA, "missing_second_barrier", "__syncthreads();  // every warp has read both tiles before the next two replace them", "",
           "race in shared memory", checked=True),
    Subtle(MMA, "no_barrier_in_the_last_tile", WHOLE_TILES, "if (tile + TILE_K < k) __syncthreads();", "race in shared memory",
           checked=True),
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
    Subtle(ONLINE, "first_element_twice", "part mine = {-INFINITY, 0};", "part mine = {x[0], 1e-4f};", "should be"),
    Subtle(HELD, "third_of_the_tail", "if (tail < cols)\n        mine", "if (tail < min(cols, 4 * vectors + 2))\n        mine",
           "should be", "--rows 7 --cols 1103"),
    Subtle(SHAPED, "third_of_the_tail", "if (tail < cols)\n            mine", "if (tail < min(cols, 4 * vectors + 2))\n            mine",
           "should be", "--rows 7 --cols 1103"),
    Subtle(DEVICE, "last_word", "i + j * threads < n ?", "i + j * threads < n - 1 ?", "not that of the input", variant="littles_law"),
    Subtle(DEVICE, "paths_divided", "threadIdx.x / width % paths", "threadIdx.x / width / paths", "the output differs",
           variant="divergence"),

    # The launch.
    Subtle(NAIVE, "wrong_variant", "if (args->variant == STRIDED)", "if (args->variant != STRIDED)", "", PROFILE),
    Subtle(SHAPED, "opt_in_forgotten", "cudaFuncAttributeMaxDynamicSharedMemorySize,\n                         capacity * sizeof(float4));",
           "cudaFuncAttributeMaxDynamicSharedMemorySize,\n                         0);", REFUSED,
           "--rows 3 --cols 200001 --input masked", status=2),
    Subtle(SHAPED, "launch_bounds_too_low", "__launch_bounds__(max_threads(VECTORS))", "__launch_bounds__(256)", REFUSED,
           "--rows 3 --cols 40001", status=2),
    *(Subtle(step, "launch_bounds_too_low", "__launch_bounds__(THREADS, BLOCKS)", "__launch_bounds__(THREADS / 2, BLOCKS)", REFUSED,
             status=2) for step in (REGISTER, VECTOR, DOUBLE)),
    *(Subtle(step, "rows_that_follow_with_no_gap", ".row_bytes = 16,", "",
             "rows of A, B and C have to begin at multiples of 16 bytes: their pitches are 43, 661 and 661 elements",
             "-m 700 -n 661 -k 43", status=2) for step in (VECTOR, DOUBLE)),
    Subtle(SHAPED, "reads_a_vector_before", ": x4[i];", ": x4[i - 1];", "", "--rows 3 --cols 200001 --input masked"),
    Subtle(HELD, "rest_begins_a_step_late", "rest = first + VECTORS * step,", "rest = first + (VECTORS + 1) * step,", NEVER,
           "--rows 3 --cols 40001"),

    # Barriers, masks, places: what the emulator watches.
    Subtle(SOFTMAX, "barrier_in_a_branch", "__syncthreads();  // the results of all warps are there",
           "if (threadIdx.x % WARP == 0) __syncthreads();", "barrier deadlock", checked=True),
    Subtle(SOFTMAX, "used_again_too_early", "__syncthreads();  // every warp has read them before the array is used again", "",
           "race in shared memory", checked=True),
    Subtle(ONLINE, "half_a_warps_mask", "ALL_LANES = 0xffffffff", "ALL_LANES = 0xffff", "divergent collective", checked=True),
    Subtle(HELD, "a_warp_too_many", "mine = partial[threadIdx.x % WARPS];", "mine = partial[threadIdx.x % (WARPS + 1)];",
           "out of bounds", checked=True),
    Subtle(HELD, "vector_across_the_end", "const int vectors = cols / 4,", "const int vectors = (cols + 3) / 4,", "the launch wrote behind row 0 of Y", ROW_512),
    Subtle(FLASH, "half_a_warps_mask", "__shfl_xor_sync(0xffffffff, s[r][key], offset)", "__shfl_xor_sync(0xffff, s[r][key], offset)",
           "divergent collective", checked=True),
    Subtle(TILED, "no_barrier_in_the_last_tile", FIRST_BARRIER, "if (tile + TILE < k) __syncthreads();", "race in shared memory",
           checked=True),
    Subtle(REGISTER, "no_barrier_in_the_last_tile", FIRST_BARRIER, "if (tile + TILE_K < k) __syncthreads();",
           "race in shared memory", checked=True),
    Subtle(VECTOR, "a_vector_beyond_the_last_row", WHOLE_VECTOR, "if (C_row < m && C_col <= n)", "race in global memory",
           "-m 36 -n 36 -k 20", checked=True),
    Subtle(DOUBLE, "second_buffer_without_its_last_tile", NEXT, "if (buffer == 0 || next > 0) " + NEXT, "should be",
           "-m 44 -n 700 -k 36"),
    Subtle(DOUBLE, "second_buffers_tail", "const int next = tile - (buffer + 1) * TILE_K;", "const int next = tile - TILE_K;",
           "out of bounds", "-m 33 -n 70 -k 41", checked=True),
    *(Subtle(step, "padding_overwritten", WHOLE_VECTOR, "if (C_row < m && C_col < n)", "the launch wrote behind row 0 of C",
             "-m 700 -n 661 -k 43") for step in (VECTOR, DOUBLE)),
    Subtle(DOUBLE, "a_vector_beyond_the_last_row", WHOLE_VECTOR, "if (C_row < m && C_col <= n)", "race in global memory",
           "-m 36 -n 36 -k 20", checked=True),
    Subtle(SHAPED, "a_vector_beyond_the_capacity", "if (i - VECTORS * step < capacity)", "if (i - VECTORS * step <= capacity)",
           "out of bounds", "--rows 1 --cols 200001", checked=True),

    # Numbers.
    Subtle(FLASH, "exp_for_exp2", "factor[r] = exp2f(m[r] - m_new);", "factor[r] = expf(m[r] - m_new);", "should be"),
    Subtle(FLASH, "no_log2_e", "1.44269504f * args->scale", "args->scale", "should be"),
    Subtle(ATTENTION, "scale_of_64_columns", "args->scale", "0.125f", "should be", KEYS_96),
    Subtle(SOFTMAX, "exp2_for_exp", SUMMAND, "l += exp2f(x[col] - m);", "should be"),
    Subtle(SOFTMAX, "sum_begins_above_0", "float l = 0;", "float l = 1e-5f;", "should be"),
    Subtle(SOFTMAX, "masked_counts", SUMMAND, "l += x[col] == -INFINITY ? 1 : expf(x[col] - m);", "should be", ROW_512),
    Subtle(ONLINE, "nothing_minus_nothing", "mine.l * weight(mine.m, m), lanes", "mine.l * expf(mine.m - m), lanes", "",
           ROW_512, "merged"),
]

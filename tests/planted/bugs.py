"""Bugs to plant in the steps: each is one edit of a step's source, and must be caught, with the emulator's checks and without.

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
    shape: tuple = (70, 45, 50)  # m, n, k, or rows, cols, or batch, heads, seqlen, head_dim: no multiples of the tile
    flags: str = ""  # more of the command line
    header: str = ""  # of common/, that the edit is in; else it is in the step's source


NAIVE, TILED = "03_matmul_naive", "04_matmul_tiled"
REGISTER, VECTOR, DOUBLE = "05_matmul_register", "06_matmul_vector", "07_matmul_double_buffer"
SUM = "sum += A[(size_t)row * k + i] * B[(size_t)i * n + col];"
STORE = "C[(size_t)row * n + col] = sum;"
LOAD_A = "const float a = row < m && A_col < k ? A[(size_t)row * k + A_col] : 0;"
LOAD_B = "const float b = B_row < k && col < n ? B[(size_t)B_row * n + col] : 0;"
KEEP_B = "B_smem[threadIdx.y][threadIdx.x] = b;"
FIRST_BARRIER = "__syncthreads();  // both tiles are whole before any thread reads them"
SECOND_BARRIER = "__syncthreads();  // every thread has read both tiles before the next two replace them"
TILES = "for (int tile = 0; tile < k; tile += TILE) {"
TWO_DIMS = "if (row < m && col < n)\n        C["
STORED_B = "smem.B[element / TILE][element % TILE] = b;"
SUMS = "sum[y][x] += a[y] * b[x];"
NEXT = "store_tiles<ordered>(&smem[1 - buffer], a, b);"
WHOLE_VECTOR = "if (C_row < m && C_col + VECTOR <= n)"
PARTIAL_VECTOR = "if (C_row < m && C_col + i < n)"
MASKED = "make_float4(v.x, count > 1 ? v.y : 0, count > 2 ? v.z : 0, count > 3 ? v.w : 0)"
ONE_BY_ONE = "C[(size_t)C_row * C_pitch + C_col + i] = sum[y][x + i];"
ODD_TILES = (70, 45, 36)  # five pairs of tiles, and the last is narrower

WMMA = "14_matmul_wmma"
WHOLE_FRAGMENT = "__syncwarp();  // the fragment is whole before any lane reads it"
PARTLY_IN_C = "if (row < m && col + i < n)"
MMA = "18_matmul_mma"
LANES = "17_mma_lanes"
WHOLE_TILES = "__syncthreads();  // both tiles are whole before any warp reads them"
WHOLE_PAIR = "if (row < m && col + 1 < n)\n        *("
LAST_HALF = "else if (row < m && col < n)"
PAIR = "ptx/pair.h"
RING = (70, 45, 300)  # more pairs of tiles than a block has stages
CP_ASYNC = "19_matmul_cp_async"
BULK_COPY, TMA_TILE = "36_bulk_copy", "37_tma_tile"
ARRIVED = "mbarrier_wait_parity(&smem->full[stage], parity);  // the tile of X is there"
READ = "bulk_wait_group_read<0>();  // the engine has read the other tile of Y, "
ALL_READ = "__syncthreads();                // every"
NO_FENCE, RACE = "missing proxy fence", "race in shared memory"
REWRITTEN, GIVEN_UP = "source overwritten in flight", "transfer unfinished"
WGMMA, WGMMA_RING, SPECIALIZED = "38_matmul_wgmma", "39_matmul_ring", "40_matmul_warp_specialized"
MULTICAST, PERSISTENT, OVERLAPPED = "41_matmul_multicast", "42_matmul_persistent", "43_matmul_overlapped_store"
TILES_OF_WGMMA = (150, 270, 400)  # more tiles of k than stages, and the last of each is narrower
PRODUCTS_WAITED = "wgmma_wait_group<0>(sum);"
FULL, EMPTY = "mbarrier_wait_parity(&smem->full[stage], parity);", "mbarrier_wait_parity(&smem->empty[stage], "
NO_WGMMA_FENCE, NEVER_OVER, LANDING = "missing wgmma.fence", "barrier deadlock", "copy still in flight"
WARP_TILE = "20_matmul_warp_tile"
SWIZZLE = "21_matmul_swizzle"
AHEAD = "22_matmul_fragments_ahead"
LAST_PART = "if (last) {\n                cp_async_wait_group<STAGES - 3>();\n                __syncthreads();"
BEFORE_LOOP = "cp_async_wait_group<STAGES - 2>();\n    __syncthreads();  // both tiles"
SET_OF_NEXT = "load_fragments(a[(part + 1) % 2], b[(part + 1) % 2], "
ORDER = "23_matmul_block_order"
BANDS = (2100, 150, 20)  # nine rows of tiles: a whole band and a lower one
SQUARE = "lane_row = lane % 16, lane_col = lane / 16 * 8"

SOFTMAX, ONLINE = "08_softmax_naive", "09_softmax_online"
HELD, SHAPED = "10_softmax_held", "11_softmax_shaped"
EACH_COL = "for (int col = first; col < end; col += step)\n        "
LARGEST = "m = fmaxf(m, x[col]);"
SUMMAND = "l += expf(x[col] - m);"
QUOTIENT = "y[col] = expf(x[col] - m) / l;"
MERGE = "return {m, a.l * weight(a.m, m) + b.l * weight(b.m, m)};"
ADD = "return {m, x > a.m ? a.l * smaller + 1 : a.l + smaller};"
ADD_VECTOR = "return {m, a.l * weight(a.m, m) + sum_of(weight(x, m))};"
EACH_ONLINE = "for (int col = first; col < cols; col += step)\n        "
WEIGHED = "y[col] = weight(x[col], all.m) / all.l;"
ALL_PARTS = "__syncthreads();  // the parts of all warps are there"
STORE_VECTOR = "y4[first + i * step] = scale(p[i], factor);"
TAIL = "mine = {x[tail], 1};"
GUARD = "return expf(x - (m == -INFINITY ? 0 : m));"

FIRST, BLOCK_SUM, WARP_SUM = "00_first_kernel", "01_block_sum", "02_warp_sum"
LIST = (5003,)  # -n
IN_MAIN = "as main computed it"
BEFORE_TREE = "__syncthreads();  // all sums are stored before any thread reads another's"
EACH_ROUND = "__syncthreads();  // this round's sums are stored before the next round reads them"
BEFORE_WARP = "__syncthreads();  // the sums of all warps are stored before the first warp reads them"

DEVICE, MACHINE = "machine", (5003, 3)  # -n, --rounds
COPY_WORD = "((uint4 *)out)[i] = ((const uint4 *)in)[i];"

ATTENTION, FLASH = "12_attention_naive", "13_flash_scalar"
HEADS = (1, 2, 70, 64)
PUT = "O[((size_t)blockIdx.z * n + row) * d + col] = sum;"
SECOND_OF_FLASH = "__syncthreads();  // every thread has read both tiles before the next two replace them"
FLASH_WMMA = "15_flash_wmma"
SECOND_OF_WARPS = "__syncthreads();  // every warp has read both tiles before the next two replace them"
RESCALE = "o[c].x[i] *= factors.x[i];"
WARP_MAX = "16_flash_wmma_warp_max"
SPLIT_KV = "24_flash_mma_split_kv"
SPLIT_Q = "25_flash_mma_split_q"
FLASH_STAGES = "26_flash_mma_stages"
COLLECTIVE = "29_flash_mma_collective_store"
SWIZZLED_FLASH = "30_flash_mma_swizzle"
WARP_ROWS = "31_flash_mma_warp_rows"
CAUSAL = "32_flash_mma_causal"
GQA = "33_flash_mma_gqa"
SPLIT_KEYS = "34_flash_mma_split_keys"
TILING_QK = "35_flash_mma_tiling_qk"
FOUR_HEADS = (1, 4, 70, 64)
TWO_BLOCKS = (1, 2, 150, 64)  # of rows
ONE_QUERY, MANY_KEYS = (1, 4, 1, 64), "--kv-heads 2 --kv-seqlen 300"  # of which blocks have parts
WHOLE_QKV = "__syncthreads();  // Q and both tiles are whole before any warp reads them"
VOTE = "one_max && __all_sync(0xffffffff, row_max >= warp_max - RANGE);"
PAIR_OF_LANES = " + __shfl_xor_sync(0xffffffff, sum, 1);"
SHARED_KV = "27_flash_mma_shared_kv"
SHARED_QKV = "28_flash_mma_shared_qkv"

BUGS = [
    Bug(FIRST, "zeros", "y[i] = a * x[i] + y[i];", "y[i] = 0;", plain=IN_MAIN, checked="WRONG", shape=LIST),
    Bug(FIRST, "nan", "y[i] = a * x[i] + y[i];", "y[i] = i == n - 1 ? a / 0 - a / 0 : a * x[i] + y[i];", plain="is NaN", shape=LIST),
    Bug(FIRST, "bounds_off_by_one", "if (i < n)", "if (i < n - 1)", plain=IN_MAIN, shape=LIST),
    Bug(FIRST, "another_blocks_elements", "blockIdx.x * THREADS + threadIdx.x", "blockIdx.x * (THREADS - 1) + threadIdx.x", plain=IN_MAIN,
        checked="race in global memory", shape=LIST),
    Bug(FIRST, "too_few_blocks", "(n + THREADS - 1) / THREADS", "n / THREADS", plain=IN_MAIN, shape=LIST),
    Bug(FIRST, "not_copied_in", "CUDA(cudaMemcpy(y, host.y, bytes, cudaMemcpyHostToDevice));", "CUDA(cudaMemset(y, 0, bytes));",
        plain=IN_MAIN, shape=LIST),

    Bug(BLOCK_SUM, "zero", "atomicAdd(total, partial[0]);", "atomicAdd(total, 0);", shape=LIST),
    Bug(BLOCK_SUM, "never_reset", "cudaMemsetAsync(total, 0, sizeof *total, stream);", "", plain="WRONG", checked="WRONG", shape=LIST),
    Bug(BLOCK_SUM, "missing_first_barrier", BEFORE_TREE, "", checked="race in shared memory", shape=LIST),
    Bug(BLOCK_SUM, "missing_second_barrier", EACH_ROUND, "", checked="race in shared memory", shape=LIST),
    Bug(BLOCK_SUM, "lost_tail", "ceil_div(args->n, SHARE)", "max(args->n / SHARE, 1)", shape=LIST),
    Bug(BLOCK_SUM, "tail_read_too_far", "min(begin + SHARE, n)", "min(begin + SHARE, n + 1)", checked="out of bounds", shape=LIST),
    Bug(BLOCK_SUM, "half_of_the_tree", "for (int half = THREADS / 2;", "for (int half = THREADS / 4;", shape=LIST),
    Bug(BLOCK_SUM, "every_thread_adds", "if (threadIdx.x == 0)\n        atomicAdd", "if (threadIdx.x < 2)\n        atomicAdd", shape=LIST),

    Bug(WARP_SUM, "zero", "atomicAdd(total, sum);", "atomicAdd(total, 0);", shape=LIST),
    Bug(WARP_SUM, "missing_barrier", BEFORE_WARP, "", checked="race in shared memory", variant="shuffle", shape=LIST),
    Bug(WARP_SUM, "missing_barrier_tuned", BEFORE_WARP, "", checked="race in shared memory", shape=LIST),
    Bug(WARP_SUM, "half_a_warp", "offset = WARP / 2;", "offset = WARP / 4;", variant="shuffle", shape=LIST),
    Bug(WARP_SUM, "first_warp_only", "sum = sum_warp(lane < WARPS ? partial[lane] : 0);", "sum = sum_warp(lane < 1 ? partial[lane] : 0);", shape=LIST),
    Bug(WARP_SUM, "every_lane_adds", "atomicAdd(total, sum_share(x, n));", "atomicAdd(total, sum_warp(sum_share(x, n)));", variant="atomics", shape=LIST),
    Bug(WARP_SUM, "lost_tail", "for (int i = begin + threadIdx.x; i < end; i += THREADS)\n        sum += x[i];\n    add_block", "add_block",
        shape=LIST),
    Bug(WARP_SUM, "a_load_too_few", "constexpr int LOADS = SHARE / THREADS / 4;", "constexpr int LOADS = SHARE / THREADS / 4 - 1;", shape=LIST),
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

    Bug(REGISTER, "missing_first_barrier", FIRST_BARRIER, "", checked="race in shared memory"),
    Bug(REGISTER, "missing_second_barrier", SECOND_BARRIER, "", checked="race in shared memory"),
    Bug(REGISTER, "lost_last_tile", "tile < k; tile += TILE_K", "tile + TILE_K <= k; tile += TILE_K"),
    Bug(REGISTER, "tail_read_as_it_comes", "A_row < m && A_col < k ?", "A_row < m ?", checked="out of bounds"),
    Bug(REGISTER, "swapped_indices", STORED_B, "smem.B[element % TILE_K][element / TILE_K] = b;"),
    Bug(REGISTER, "swapped_elements", SUMS, "sum[y][x] += a[x] * b[y];"),
    Bug(REGISTER, "neighbours_not_strided", "smem->B[i][col + x * SIDE]", "smem->B[i][col + x]"),
    Bug(REGISTER, "zeros", "C[(size_t)C_row * n + C_col] = sum[y][x];", "C[(size_t)C_row * n + C_col] = 0;"),
    Bug(REGISTER, "write_out_of_bounds", "if (C_row < m && C_col < n)", "if (C_row <= m && C_col < n)",
        plain="past the end of C", checked="out of bounds"),
    Bug(REGISTER, "lost_tail_of_a_block", "ceil_div(m, TILE));", "m / TILE);", plain="was never written",
        checked="was never written", shape=(150, 45, 50)),

    Bug(VECTOR, "missing_first_barrier", FIRST_BARRIER, "", checked="race in shared memory"),
    Bug(VECTOR, "missing_second_barrier", SECOND_BARRIER, "", checked="race in shared memory"),
    Bug(VECTOR, "missing_second_barrier_contiguous", SECOND_BARRIER, "", checked="race in shared memory", variant="contiguous"),
    Bug(VECTOR, "nan_behind_a_row", MASKED, "v", plain="was never written", shape=(70, 44, 50)),
    Bug(VECTOR, "mask_one_too_far", "count > 1 ? v.y", "count > 0 ? v.y", plain="was never written", shape=(70, 44, 49)),
    Bug(VECTOR, "wrong_pitch", "A_row * A_pitch + tile", "A_row * k + tile", checked="misaligned access"),
    Bug(VECTOR, "tail_of_b_read", "tile + B_row < k ? n - B_col : 0", "n - B_col", checked="out of bounds"),
    Bug(VECTOR, "not_transposed", "smem->A[i + 1][row] = a.y;", "smem->A[i][row + 1] = a.y;", checked="race in shared memory"),
    Bug(VECTOR, "wrong_quarter", "row + y / VECTOR * row_step", "row + y / VECTOR * VECTOR", checked="race in global memory"),
    Bug(VECTOR, "lanes_swapped", "lane / 16 * 2 + lane % 2", "lane / 16 + lane % 2", plain="was never written",
        checked="was never written"),
    Bug(VECTOR, "write_out_of_bounds", WHOLE_VECTOR, "if (C_row <= m && C_col + VECTOR <= n)", plain="past the end of C",
        checked="out of bounds"),
    Bug(VECTOR, "whole_vectors_only", PARTIAL_VECTOR, "if (C_row < m && C_col + 3 < n)", plain="was never written",
        checked="was never written"),
    Bug(VECTOR, "written_behind_a_row", WHOLE_VECTOR, "if (C_row < m && C_col < n)", plain="the launch wrote behind row 0 of C"),
    Bug(VECTOR, "zeros", ONE_BY_ONE, ONE_BY_ONE.replace("sum[y][x + i]", "0")),
    Bug(VECTOR, "lost_tail_of_a_block", "ceil_div(m, TILE));", "m / TILE);", plain="was never written",
        checked="was never written", shape=(150, 45, 50)),

    Bug(DOUBLE, "missing_first_barrier", FIRST_BARRIER, "", checked="race in shared memory"),
    Bug(DOUBLE, "missing_barrier_in_the_loop", "__syncthreads();  // every thread has read these tiles, and the next two are whole",
        "", checked="race in shared memory", variant="double_buffered"),
    Bug(DOUBLE, "one_buffer", NEXT, "store_tiles<ordered>(&smem[buffer], a, b);", checked="race in shared memory"),
    Bug(DOUBLE, "buffers_swapped", "multiply<ordered>(&smem[buffer]", "multiply<ordered>(&smem[1 - buffer]",
        checked="race in shared memory"),
    Bug(DOUBLE, "half_swapped", "a[y ^ ordered]", "a[y]"),
    Bug(DOUBLE, "order_lost", "a[y ^ ordered] * b[x];", "a[y ^ ordered] * b[turn];"),
    Bug(DOUBLE, "one_tile_too_many", "B_from, next >= 0 ?", "B_from, next >= -TILE_K ?", plain="was never written",
        checked="out of bounds", shape=ODD_TILES),
    Bug(DOUBLE, "first_tile_lost", "tile >= 0; tile -=", "tile > 0; tile -=", shape=ODD_TILES),
    Bug(DOUBLE, "b_stays", "B_from -= (size_t)TILE_K * B_pitch;", "", checked="out of bounds"),
    Bug(DOUBLE, "nan_behind_a_row", MASKED, "v", plain="was never written", shape=(70, 44, 50)),
    Bug(DOUBLE, "wrong_quarter", "row + y / VECTOR * WARP_M / 2", "row + y / VECTOR * 4", checked="race in global memory"),
    Bug(DOUBLE, "whole_vectors_only", PARTIAL_VECTOR, "if (C_row < m && C_col + 3 < n)", plain="was never written",
        checked="was never written"),
    Bug(DOUBLE, "zeros", ONE_BY_ONE, ONE_BY_ONE.replace("sum[y][x + i]", "0")),

    Bug(WMMA, "missing_first_barrier", WHOLE_TILES, "", checked="race in shared memory"),
    Bug(WMMA, "missing_first_barrier_half", FIRST_BARRIER, "", checked="race in shared memory", variant="half"),
    Bug(WMMA, "wrong_leading_dimension", "&smem.A[row + y * FRAGMENT][i], TILE_K + PAD);", "&smem.A[row + y * FRAGMENT][i], TILE_K);"),
    Bug(WMMA, "leading_dimension_of_the_other_tile", "&smem.B[i][col + x * FRAGMENT], TILE + PAD);",
        "&smem.B[i][col + x * FRAGMENT], TILE_K + PAD);"),
    Bug(WMMA, "wrong_layout", "FRAGMENT, half, wmma::row_major> b;", "FRAGMENT, half, wmma::col_major> b;"),
    Bug(WMMA, "stored_by_columns", "wmma::mem_row_major);", "wmma::mem_col_major);"),
    Bug(WMMA, "lost_tail_of_k", "for (int i = 0; i < TILE_K; i += FRAGMENT) {", "for (int i = 0; i + FRAGMENT < TILE_K; i += FRAGMENT) {"),
    Bug(WMMA, "nan_behind_a_row", "row + y < m ? k - (tile + A_col) : 0);", "row + y < m && tile + A_col < k ? VECTOR : 0);",
        plain="is NaN"),
    Bug(WMMA, "tail_of_b_read", "tile + B_row + y < k ? n - col : 0);", "n - col);", checked="out of bounds"),
    Bug(WMMA, "one_fragment_for_both_rows", "wmma::mma_sync(sum[y][x], a[y], b,", "wmma::mma_sync(sum[y][x], a[0], b,"),
    Bug(WMMA, "sums_not_carried", "wmma::mma_sync(sum[y][x], a[y], b, sum[y][x]);",
        "{ wmma::fill_fragment(sum[y][x], 0); wmma::mma_sync(sum[y][x], a[y], b, sum[y][x]); }"),
    Bug(WMMA, "written_behind_a_row", "col + VECTOR <= n)", "col < n)", plain="the launch wrote behind row 0 of C"),
    Bug(WMMA, "whole_vectors_only", PARTLY_IN_C, "if (row < m && col + VECTOR <= n)", plain="was never written",
        checked="was never written"),
    Bug(WMMA, "write_out_of_bounds", "if (row < m && col + VECTOR <= n)", "if (row <= m && col + VECTOR <= n)", plain="past the end of C",
        checked="out of bounds"),
    Bug(WMMA, "zeros", "v[i] = half(sum[i]);", "v[i] = 0;"),
    Bug(WMMA, "lost_tail_of_a_block", "ceil_div(m, TILE));", "m / TILE);", plain="was never written", checked="was never written",
        shape=(150, 45, 50)),

    Bug(LANES, "swapped_registers", "row = first_row + quad + i % 2 * 8, col = tile + place + i / 2 * 8;",
        "row = first_row + quad + i / 2 * 8, col = tile + place + i % 2 * 8;", variant="registers"),
    Bug(LANES, "wrong_layout_of_b", "row = tile + place + i * 8, col = first_col + quad;", "row = tile + quad + i * 8, col = first_col + place;",
        variant="registers"),
    Bug(LANES, "wrong_trans", "ldmatrix_x2_trans(b, &B_smem[lane % 16][0]);", "ldmatrix_x2(b, &B_smem[lane % 16][0]);"),
    Bug(LANES, "trans_of_a", "ldmatrix_x4(a, &A_smem", "ldmatrix_x4_trans(a, &A_smem"),
    Bug(LANES, "matrices_of_a_swapped", "&A_smem[lane % 16][lane / 16 * 8]", "&A_smem[lane / 16 * 8 + lane % 8][lane / 8 % 2 * 8]"),
    Bug(LANES, "lost_tail_of_k", "return row < rows && col < cols ?", "return row < rows && col < cols / 8 * 8 ?"),
    Bug(LANES, "tail_read_as_it_comes", "return row < rows && col < cols ?", "return row < rows ?", plain="is NaN", checked="out of bounds"),
    Bug(LANES, "nan_behind_a_row", "col + VECTOR <= cols)", "col < cols)", plain="is NaN"),
    Bug(LANES, "wrong_layout_of_c", "lane / 4 + i / 2 * 8, col = first_col + lane % 4 * 2 + i % 2;",
        "lane / 4 * 2 + i / 2, col = first_col + lane % 4 * 2 + i % 2;"),
    Bug(LANES, "half_of_c", "for (int i = 0; i < 4; i++) {\n        const int row = first_row + lane", "for (int i = 0; i < 2; i++) {\n        const int row = first_row + lane",
        plain="was never written", checked="was never written"),
    Bug(LANES, "write_out_of_bounds", "if (row < m && col < n)", "if (row <= m && col < n)", plain="past the end of C",
        checked="out of bounds"),
    Bug(LANES, "lost_tail_of_a_block", "ceil_div(args->m, MMA_M)", "args->m / MMA_M", plain="was never written",
        checked="was never written"),

    Bug(MMA, "missing_first_barrier", WHOLE_TILES, "", checked="race in shared memory"),
    Bug(MMA, "lost_last_tile", "tile < k; tile += TILE_K", "tile + TILE_K <= k; tile += TILE_K"),
    Bug(MMA, "tail_of_b_read", "tile + B_row + y < k ? n - col : 0", "n - col", checked="out of bounds"),
    Bug(MMA, "nan_behind_a_row", "if (i < count)", "if (count > 0)", plain="is NaN", shape=(70, 44, 49)),
    Bug(MMA, "b_not_transposed", "ldmatrix_x4_trans(b", "ldmatrix_x4(b"),
    Bug(MMA, "halves_swapped", SQUARE, "lane_row = lane / 16 * 8 + lane % 8, lane_col = lane / 8 % 2 * 8"),
    Bug(MMA, "half_a_square", SQUARE, "lane_row = lane % 16, lane_col = 0"),
    Bug(MMA, "registers_of_b_swapped", "a[y], &b[0], T()", "a[y], &b[2], T()"),
    Bug(MMA, "wrong_fragment_of_a", "row + y * MMA_M + lane_row", "row + y * MMA_N + lane_row"),
    Bug(MMA, "wrong_layout_of_c", "lane % 4 * 2;", "lane % 4;", checked="misaligned access"),
    Bug(MMA, "lower_rows_on_the_right", "C_row + 8, C_col, m", "C_row, C_col + 8, m", plain="was never written",
        checked="was never written"),
    Bug(MMA, "write_out_of_bounds", WHOLE_PAIR, WHOLE_PAIR.replace("row < m", "row <= m"), plain="past the end of C",
        checked="out of bounds", header=PAIR),
    Bug(MMA, "whole_pairs_only", LAST_HALF, "else if (row < m && col + 1 < n)", plain="was never written",
        checked="was never written", header=PAIR),
    Bug(MMA, "written_behind_a_row", WHOLE_PAIR, WHOLE_PAIR.replace("col + 1", "col"), plain="the launch wrote behind row 0 of C",
        header=PAIR),
    Bug(MMA, "lost_tail_of_a_block", "ceil_div(args->m, TILE_M));", "args->m / TILE_M);", plain="was never written",
        checked="was never written", shape=(150, 45, 50)),

    Bug(CP_ASYNC, "one_group_too_few", "STAGES - 2>", "STAGES - 1>", checked="copy still in flight"),
    Bug(CP_ASYNC, "missing_wait", "cp_async_wait_group<STAGES == 1 ? 0 : STAGES - 2>();", "", checked="copy still in flight"),
    Bug(CP_ASYNC, "missing_barrier", "__syncthreads();  // both tiles are whole", ";  // both tiles are whole", checked="race in shared memory"),
    Bug(CP_ASYNC, "barrier_before_the_wait", "cp_async_wait_group<STAGES == 1 ? 0 : STAGES - 2>();\n        __syncthreads();",
        "__syncthreads();\n        cp_async_wait_group<STAGES == 1 ? 0 : STAGES - 2>();", checked="race in shared memory"),
    Bug(CP_ASYNC, "groups_never_committed", "if (STAGES > 1)\n            cp_async_commit_group();", "", checked="copy still in flight",
        shape=RING),
    Bug(CP_ASYNC, "stage_off_by_one", "stage + 1 < STAGES ? stage", "stage + 1 < STAGES - 1 ? stage", checked="copy still in flight", shape=RING),
    Bug(CP_ASYNC, "target_off_by_one", "target = stage;", "target = stage + 1 < STAGES ? stage + 1 : 0;", checked="copy still in flight", shape=RING),
    Bug(CP_ASYNC, "copied_to_the_stage_that_is_read", "copy_part(&smem[target]", "copy_part(&smem[stage]", checked="copy still in flight", shape=RING),
    Bug(CP_ASYNC, "last_part_never_copied", "i / MMA_K, A_pitch", "i / MMA_K % (PARTS - 1), A_pitch", shape=RING),
    Bug(CP_ASYNC, "tile_of_b_not_moved_on", "from->B += (size_t)TILE_K * B_pitch;", "", shape=RING),
    Bug(CP_ASYNC, "lost_last_tile", "left > 0; left -= TILE_K", "left >= TILE_K; left -= TILE_K"),
    Bug(CP_ASYNC, "tail_of_b_read", "y < from->B_rows ? B_bytes : 0", "B_bytes", checked="out of bounds"),
    Bug(CP_ASYNC, "nan_behind_a_row", "min(max(count, 0), VECTOR)", "(count > 0 ? VECTOR : 0)", plain="is NaN", shape=(70, 44, 49)),
    Bug(CP_ASYNC, "registers_of_b_swapped", "a[y], &b[0], T()", "a[y], &b[2], T()"),
    Bug(CP_ASYNC, "whole_pairs_only", LAST_HALF, "else if (row < m && col + 1 < n)", plain="was never written",
        checked="was never written", header=PAIR),
    Bug(CP_ASYNC, "written_behind_a_row", WHOLE_PAIR, WHOLE_PAIR.replace("col + 1", "col"), plain="the launch wrote behind row 0 of C",
        header=PAIR),
    Bug(CP_ASYNC, "lost_tail_of_a_block", "ceil_div(args->m, TILE_M));", "args->m / TILE_M);", plain="was never written",
        checked="was never written", shape=(150, 45, 50)),

    Bug(WARP_TILE, "registers_of_b_swapped", "x % 2 * 2]", "(x + 1) % 2 * 2]"),
    Bug(WARP_TILE, "one_fragment_of_a_for_all_rows", "a[y], &b", "a[0], &b"),
    Bug(WARP_TILE, "wrong_pair_of_b", "&b[x / 2][x % 2 * 2]", "&b[x % 4][x / 4 * 2]"),
    Bug(WARP_TILE, "step_19s_two_rows_of_fragments", "ROWS = WARP_M / MMA_M", "ROWS = WARP_M / MMA_M / 2", plain="was never written",
        checked="was never written"),
    Bug(WARP_TILE, "step_19s_rows_of_a_warp", "row = warp / (TILE_N / WARP_N) * WARP_M", "row = warp / (TILE_N / WARP_N) * 32",
        plain="was never written", checked="was never written", shape=(300, 45, 50)),
    Bug(WARP_TILE, "wrong_fragment_of_a", "row + y * MMA_M + lane_row", "row + y * MMA_N + lane_row"),
    Bug(WARP_TILE, "one_group_too_few", "STAGES - 2>", "STAGES - 1>", checked="copy still in flight"),
    Bug(WARP_TILE, "missing_barrier", "__syncthreads();  // both tiles are whole", ";  // both tiles are whole", checked="race in shared memory"),
    Bug(WARP_TILE, "last_part_never_copied", "i / MMA_K, A_pitch", "i / MMA_K % (PARTS - 1), A_pitch", shape=RING),
    Bug(WARP_TILE, "lost_tail_of_a_block", "ceil_div(args->m, TILE_M));", "args->m / TILE_M);", plain="was never written",
        checked="was never written", shape=(300, 45, 50)),

    Bug(SWIZZLE, "swizzle_in_ldmatrix_of_a_only", "[place<L>(A_row(), A_col())]", "[A_col()]"),
    Bug(SWIZZLE, "swizzle_in_ldmatrix_of_b_only", "[place<L>(B_row(), B_col())]", "[B_col()]"),
    Bug(SWIZZLE, "swizzle_in_copies_of_a_only", "[place<L>(lane_row, i + lane_col)]", "[i + lane_col]"),
    Bug(SWIZZLE, "swizzle_in_copies_of_b_only", "[place<L>(lane_row, col + x * MMA_N + lane_col)]", "[col + x * MMA_N + lane_col]"),
    Bug(SWIZZLE, "two_bits_in_the_copies_of_a", "[place<L>(A_row(), A_col())]", "[place<L>(A_row() % 4, A_col())]"),
    Bug(SWIZZLE, "swizzled_by_the_row_of_all_threads", "[place<L>(B_row(), B_col())]", "[place<L>(threadIdx.x, B_col())]",
        checked="race in shared memory"),
    Bug(SWIZZLE, "elements_change_places", "row % 8 * VECTOR", "row % 8", checked="misaligned access"),
    Bug(SWIZZLE, "one_group_too_few", "cp_async_wait_group<STAGES - 2>", "cp_async_wait_group<STAGES - 1>", checked="copy still in flight"),
    Bug(SWIZZLE, "stage_off_by_one", "stage + 1 < STAGES ? stage", "stage + 1 < STAGES - 1 ? stage", checked="copy still in flight",
        shape=RING),
    Bug(SWIZZLE, "target_off_by_one", "target = stage;", "target = stage + 1 < STAGES ? stage + 1 : 0;",
        checked="copy still in flight", shape=RING),
    Bug(SWIZZLE, "missing_barrier", "__syncthreads();  // both tiles are whole", ";  // both tiles are whole", checked="race in shared memory"),
    Bug(SWIZZLE, "lost_last_tile", "left > 0; left -= TILE_K", "left >= TILE_K; left -= TILE_K"),
    Bug(SWIZZLE, "tail_of_b_read", "y < from->B_rows ? B_bytes : 0", "B_bytes", checked="out of bounds"),
    Bug(SWIZZLE, "nan_behind_a_row", "min(max(count, 0), VECTOR)", "(count > 0 ? VECTOR : 0)", plain="is NaN", shape=(70, 44, 49)),
    Bug(SWIZZLE, "b_not_transposed", "ldmatrix_x4_trans(b", "ldmatrix_x4(b"),
    Bug(SWIZZLE, "whole_pairs_only", LAST_HALF, "else if (row < m && col + 1 < n)", plain="was never written",
        checked="was never written", header=PAIR),
    Bug(SWIZZLE, "written_behind_a_row", WHOLE_PAIR, WHOLE_PAIR.replace("col + 1", "col"), plain="the launch wrote behind row 0 of C",
        header=PAIR),
    Bug(SWIZZLE, "lost_tail_of_a_block", "ceil_div(args->m, TILE_M));", "args->m / TILE_M);", plain="was never written",
        checked="was never written", shape=(300, 45, 50)),

    Bug(AHEAD, "one_group_too_few", LAST_PART, LAST_PART.replace("- 3", "- 2"), checked="copy still in flight", shape=RING),
    Bug(AHEAD, "missing_wait", LAST_PART, LAST_PART.replace("cp_async_wait_group<STAGES - 3>();", ""), checked="copy still in flight", shape=RING),
    Bug(AHEAD, "missing_barrier", LAST_PART, LAST_PART.replace("__syncthreads()", ""), checked="race in shared memory", shape=RING),
    Bug(AHEAD, "barrier_before_the_wait", LAST_PART,
        "if (last) {\n                __syncthreads();\n                cp_async_wait_group<STAGES - 3>();", checked="race in shared memory", shape=RING),
    Bug(AHEAD, "groups_never_committed", "if (last)\n                cp_async_commit_group();", "", checked="copy still in flight", shape=RING),
    Bug(AHEAD, "no_wait_before_the_first_slice", BEFORE_LOOP, BEFORE_LOOP.replace("cp_async_wait_group<STAGES - 2>();", ""),
        checked="copy still in flight"),
    Bug(AHEAD, "no_barrier_before_the_first_slice", BEFORE_LOOP, BEFORE_LOOP.replace("__syncthreads()", ""), checked="race in shared memory"),
    Bug(AHEAD, "first_load_left_out", "load_fragments(a[0], b[0], &smem[0], row, col, 0);", ""),
    Bug(AHEAD, "first_slice_of_this_stage", "&smem[last ? next : stage]", "&smem[stage]", checked="race in shared memory", shape=RING),
    Bug(AHEAD, "refilled_stage_read", "target = stage;", "target = next;", checked="race in shared memory", shape=RING),
    Bug(AHEAD, "stage_off_by_one", "stage + 1 < STAGES ? stage", "stage + 1 < STAGES - 1 ? stage", checked="copy still in flight", shape=RING),
    Bug(AHEAD, "loaded_into_the_set_that_is_multiplied", SET_OF_NEXT, "load_fragments(a[part % 2], b[part % 2], "),
    Bug(AHEAD, "one_set_of_fragments", "mma_m16n8k16(sum[y][x], a[part % 2][y]", "mma_m16n8k16(sum[y][x], a[0][y]"),
    Bug(AHEAD, "fragments_of_the_next_slice", "&b[part % 2]", "&b[(part + 1) % 2]"),
    Bug(AHEAD, "first_slice_loaded_twice", "last ? 0 : (part + 1) * MMA_K", "last ? 0 : part * MMA_K"),
    Bug(AHEAD, "last_part_never_copied", "&from, part, A_pitch, B_pitch);\n            if", "&from, part % (PARTS - 1), A_pitch, B_pitch);\n            if",
        shape=RING),
    Bug(AHEAD, "swizzle_in_copies_only", "[place(lane_row, i + lane_col)]", "[i + lane_col]"),
    Bug(AHEAD, "lost_last_tile", "left > 0; left -= TILE_K", "left >= TILE_K; left -= TILE_K"),
    Bug(AHEAD, "tail_of_b_read", "y < from->B_rows ? B_bytes : 0", "B_bytes", checked="out of bounds"),
    Bug(AHEAD, "written_behind_a_row", WHOLE_PAIR, WHOLE_PAIR.replace("col + 1", "col"), plain="the launch wrote behind row 0 of C",
        header=PAIR),
    Bug(AHEAD, "lost_tail_of_a_block", "ceil_div(args->m, TILE_M));", "args->m / TILE_M);", plain="was never written",
        checked="was never written", shape=(300, 45, 50)),

    Bug(ORDER, "last_band_taken_for_whole", "min(BAND, gridDim.y - band * BAND)", "BAND", plain="was never written",
        checked="was never written", shape=BANDS),
    Bug(ORDER, "every_band_the_first", "band * BAND + in_band % rows", "in_band % rows", plain="was never written",
        checked="was never written", shape=BANDS),
    Bug(ORDER, "row_and_column_swapped", "in_band % rows, in_band / rows", "in_band / rows, in_band % rows", plain="was never written",
        checked="was never written", shape=BANDS),
    Bug(ORDER, "stored_by_the_blocks_own_number", "C_col = at.y * TILE_N", "C_col = blockIdx.x * TILE_N", checked="race in global memory", shape=BANDS),
    Bug(ORDER, "copied_by_the_blocks_own_number", "A_first = at.x * TILE_M", "A_first = blockIdx.y * TILE_M", shape=BANDS),
    Bug(ORDER, "one_group_too_few", LAST_PART, LAST_PART.replace("- 3", "- 2"), checked="copy still in flight", shape=RING),
    Bug(ORDER, "missing_barrier", LAST_PART, LAST_PART.replace("__syncthreads()", ""), checked="race in shared memory", shape=RING),
    Bug(ORDER, "target_off_by_one", "target = stage;", "target = next;", checked="race in shared memory", shape=RING),
    Bug(ORDER, "swizzle_in_copies_only", "[place(lane_row, i + lane_col)]", "[i + lane_col]"),
    Bug(ORDER, "lost_last_tile", "left > 0; left -= TILE_K", "left >= TILE_K; left -= TILE_K"),
    Bug(ORDER, "tail_of_b_read", "y < from->B_rows ? B_bytes : 0", "B_bytes", checked="out of bounds"),
    Bug(ORDER, "lost_tail_of_a_block", "ceil_div(args->m, TILE_M));", "args->m / TILE_M);", plain="was never written",
        checked="was never written", shape=(300, 45, 50)),

    Bug(SOFTMAX, "zeros", QUOTIENT, "y[col] = 0;", shape=(5, 300)),
    Bug(SOFTMAX, "nan", QUOTIENT, "y[col] = col == cols - 1 ? l / 0 - l / 0 : expf(x[col] - m) / l;", shape=(5, 300)),
    Bug(SOFTMAX, "not_divided", QUOTIENT, "y[col] = expf(x[col] - m);", shape=(5, 300)),
    Bug(SOFTMAX, "never_written", EACH_COL + QUOTIENT, EACH_COL.replace("end", "end - 1") + QUOTIENT,
        plain="was never written", checked="was never written", shape=(5, 300)),
    Bug(SOFTMAX, "lost_tail_of_the_sum", EACH_COL + SUMMAND, EACH_COL.replace("end", "end - 1") + SUMMAND, shape=(5, 300)),
    Bug(SOFTMAX, "no_maximum", LARGEST, "m = 0;", plain="is NaN", checked="WRONG", input="huge", shape=(5, 300)),
    Bug(SOFTMAX, "maximum_of_0_at_least", "float m = -INFINITY;", "float m = 0;", input="huge", shape=(5, 300)),
    Bug(SOFTMAX, "own_maximum_only", "m = reduce<true>(m, partial);", "m = fmaxf(m, m);", shape=(5, 300)),
    Bug(SOFTMAX, "transposed_index", QUOTIENT, "Y[(size_t)col * rows + row] = expf(x[col] - m) / l;", shape=(5, 300)),
    Bug(SOFTMAX, "transposed_in_the_sum", SUMMAND, "l += expf(X[(size_t)col * rows + row] - m);", shape=(5, 300)),
    Bug(SOFTMAX, "missing_first_barrier", "__syncthreads();  // the results of all warps are there", "", checked="race in shared memory",
        shape=(5, 300)),
    Bug(SOFTMAX, "half_the_lanes_lost", "reduce_lanes<largest>(value, WARP)", "reduce_lanes<largest>(value, WARP / 2)",
        shape=(5, 300)),
    Bug(SOFTMAX, "half_the_warps_lost", "partial[threadIdx.x % WARPS], WARPS)", "partial[threadIdx.x % WARPS], WARPS / 2)",
        shape=(5, 300)),
    Bug(SOFTMAX, "lost_tail_of_a_block", "ceil_div(rows, BLOCK_ROWS)", "rows / BLOCK_ROWS", plain="was never written",
        checked="was never written", variant="thread_per_row", shape=(70, 45)),
    Bug(SOFTMAX, "write_one_element_further", QUOTIENT, "y[col + 1] = expf(x[col] - m) / l;", checked="out of bounds",
        shape=(5, 300)),

    Bug(ONLINE, "missing_rescale", MERGE, "return {m, a.l + b.l};", variant="merged", shape=(5, 3000)),
    Bug(ONLINE, "rescaled_on_one_side", MERGE, "return {m, a.l + b.l * weight(b.m, m)};", variant="merged", shape=(5, 3000)),
    Bug(ONLINE, "sum_not_rescaled", ADD, "return {m, x > a.m ? a.l + 1 : a.l + smaller};", shape=(5, 3000)),
    Bug(ONLINE, "wrong_one_chosen", ADD, "return {m, x > a.m ? a.l + smaller : a.l * smaller + 1};", shape=(5, 3000)),
    Bug(ONLINE, "wrong_merge_at_minus_infinity", GUARD, "return expf(x - m);", variant="merged", plain="is NaN",
        shape=(5, 100)),
    Bug(ONLINE, "wrong_merge_of_masked", GUARD, "return expf(x - m);", input="masked", plain="is NaN", shape=(9, 100)),
    Bug(ONLINE, "nothing_is_not_0", "part mine = {-INFINITY, 0};", "part mine = {0, 0};", input="huge", plain="is NaN",
        shape=(5, 300)),
    Bug(ONLINE, "own_sum_not_weighted", "reduce_lanes<false>(mine.l * weight(mine.m, m), lanes)",
        "reduce_lanes<false>(mine.l, lanes)", shape=(5, 300)),
    Bug(ONLINE, "warps_not_merged", "return merge_lanes(mine, WARPS);", "return mine;", shape=(5, 300)),
    Bug(ONLINE, "missing_barrier", ALL_PARTS, "", checked="race in shared memory", shape=(5, 300)),
    Bug(ONLINE, "never_written", EACH_ONLINE + WEIGHED, EACH_ONLINE.replace("cols", "cols - 1") + WEIGHED,
        plain="was never written", checked="was never written", shape=(5, 300)),
    Bug(ONLINE, "write_one_element_further", "y[col] =", "y[col + 1] =", checked="out of bounds", shape=(5, 300)),

    Bug(HELD, "old_sum_not_rescaled", ADD_VECTOR, "return {m, a.l + sum_of(weight(x, m))};", variant="wide", shape=(5, 3000)),
    Bug(HELD, "max_not_carried", "fmaxf(a.m, largest_of(x));", "largest_of(x);", variant="wide", input="masked", shape=(9, 3000)),
    Bug(HELD, "rest_not_rescaled", "float l = mine.l * weight(mine.m, m);", "float l = mine.l;", shape=(3, 9001)),
    Bug(HELD, "vectors_beyond_the_row_count", ": NONE;", ": float4{};", shape=(5, 300)),
    Bug(HELD, "tail_read_as_it_comes", "first + i * step < vectors ? x4[first + i * step] : NONE;", "x4[first + i * step];",
        checked="out of bounds", shape=(5, 300)),
    Bug(HELD, "last_vector_whole", "const int vectors = cols / 4,", "const int vectors = (cols + 3) / 4,",
        plain="the launch wrote behind row 0 of Y", shape=(5, 301)),
    Bug(HELD, "tail_left_out", TAIL, "mine = {-INFINITY, 0};", shape=(5, 43)),
    Bug(HELD, "tail_never_written", "    if (tail < cols)\n        y[tail] =", "    if (tail < 0)\n        y[tail] =",
        plain="was never written", checked="was never written", shape=(5, 301)),
    Bug(HELD, "own_factor_lost", "factor = weight(m, all.m) * inverse;", "factor = inverse;", shape=(5, 3000)),
    Bug(HELD, "missing_barrier", ALL_PARTS, "", checked="race in shared memory", shape=(5, 300)),
    Bug(HELD, "write_one_vector_further", STORE_VECTOR, STORE_VECTOR.replace("i * step", "i * step + 1"),
        plain="past the end of Y", checked="out of bounds", shape=(5, 300)),
    Bug(HELD, "pitch_forgotten", "Y + (size_t)row * Y_pitch;", "Y + (size_t)row * (Y_pitch - 4);", plain="was never written",
        checked="race in global memory", shape=(5, 300)),

    Bug(SHAPED, "missing_first_barrier", ALL_PARTS, "", checked="race in shared memory", shape=(5, 1500)),
    Bug(SHAPED, "lanes_of_other_rows", "mine = merge_lanes(mine, min(blockDim.x, WARP));", "mine = merge_lanes(mine, WARP);",
        shape=(9, 60)),
    Bug(SHAPED, "half_the_warps_lost", "merge_lanes(mine, warps)", "merge_lanes(mine, warps / 2)", shape=(5, 3000)),
    Bug(SHAPED, "vectors_beyond_the_row_count", ": NONE;", ": float4{};", shape=(5, 300)),
    Bug(SHAPED, "tail_left_out", TAIL, "mine = {-INFINITY, 0};", shape=(5, 43)),
    Bug(SHAPED, "last_row_lost", "const int vectors = row < rows ? cols / 4 : 0,",
        "const int vectors = row < rows - 1 ? cols / 4 : 0,", plain="was never written", checked="was never written",
        shape=(5, 300)),
    Bug(SHAPED, "tail_never_written", "    if (tail < cols)\n            y[tail] =", "    if (tail < 0)\n            y[tail] =",
        plain="was never written", checked="was never written", shape=(5, 301)),
    Bug(SHAPED, "rows_of_a_block_lost", "ceil_div(args->rows, block.y * ROWS)", "ceil_div(args->rows, 2 * block.y * ROWS)",
        plain="was never written", checked="was never written", shape=(40, 300)),
    Bug(SHAPED, "own_factor_lost", "factor = weight(m, all.m) * inverse;", "factor = inverse;", shape=(5, 3000)),
    Bug(SHAPED, "another_threads_slot", "rest_smem[i - VECTORS * step] : x4[i];", "rest_smem[(i ^ 1) - VECTORS * step] : x4[i];",
        shape=(1, 100000)),
    Bug(SHAPED, "write_one_vector_further", STORE_VECTOR, STORE_VECTOR.replace("i * step", "i * step + 1"),
        plain="past the end of Y", checked="out of bounds", shape=(5, 300)),

    Bug(BULK_COPY, "missing_wait", ARRIVED, ";  // the tile of X is there", plain=RACE, checked=RACE, shape=(5, 5001)),
    Bug(BULK_COPY, "parity_stays", "parity = 1 - parity;", "parity = 0;", checked="copy still in flight", shape=(5, 5001)),
    Bug(BULK_COPY, "too_few_bytes_expected", "mbarrier_arrive_expect_tx(full, bytes)", "mbarrier_arrive_expect_tx(full, bytes / 2)",
        plain="barrier deadlock", checked="barrier deadlock", shape=(5, 5001)),
    Bug(BULK_COPY, "missing_fence", "fence_proxy_async_shared();", ";", plain=NO_FENCE, checked=NO_FENCE, shape=(5, 5001)),
    Bug(BULK_COPY, "source_not_waited_for", READ + "which", ";  // the engine has read the other tile of Y, which", checked=REWRITTEN, shape=(5, 5001)),
    Bug(BULK_COPY, "one_tile_of_y", "out = 1 - out;", "", checked=REWRITTEN, shape=(5, 5001)),
    Bug(BULK_COPY, "missing_barrier", ALL_READ, ";                // every", plain=RACE, checked=RACE, shape=(5, 5001)),
    Bug(BULK_COPY, "lost_last_tile", "(vectors + TILE - 1) / TILE", "vectors / TILE", plain="was never written", checked="was never written",
        shape=(5, 5001)),
    Bug(BULK_COPY, "lost_rest", "threadIdx.x < n % VECTOR", "threadIdx.x + 1 < n % VECTOR", plain="was never written", checked="was never written",
        shape=(1, 5003)),
    Bug(BULK_COPY, "last_share_lost", "<<<ceil_div(tiles, share),", "<<<max(tiles / share, 1),", plain="was never written", checked="was never written",
        shape=(9, 5001)),
    Bug(BULK_COPY, "ended_too_early", "bulk_wait_group_read<0>();  // shared", ";  // shared", plain=GIVEN_UP, checked=GIVEN_UP,
        shape=(5, 5001)),
    Bug(BULK_COPY, "tile_stored_twice", "bulk_store(&Y4[(size_t)tile * TILE]", "bulk_store(&Y4[(size_t)(tile - tile % 2) * TILE]",
        plain="was never written", checked="target overwritten in flight", shape=(5, 5001)),

    Bug(TMA_TILE, "missing_wait", ARRIVED, ";  // the tile of X is there", plain=RACE, checked=RACE, shape=(150, 333)),
    Bug(TMA_TILE, "parity_stays", "parity = 1 - parity;", "parity = 0;", checked="copy still in flight", shape=(150, 333)),
    Bug(TMA_TILE, "missing_fence", "fence_proxy_async_shared();", ";", plain=NO_FENCE, checked=NO_FENCE, shape=(150, 333)),
    Bug(TMA_TILE, "source_not_waited_for", READ + "which", ";  // the engine has read the other tile of Y, which", checked=REWRITTEN, shape=(150, 333)),
    Bug(TMA_TILE, "missing_barrier", ALL_READ, ";                // every", plain=RACE, checked=RACE, shape=(150, 333)),
    Bug(TMA_TILE, "rows_for_columns", "X_map, tile / tiles_in_row * ROWS, tile % tiles_in_row * COLS", "X_map, tile % tiles_in_row * ROWS, tile / tiles_in_row * COLS",
        shape=(300, 300)),
    Bug(TMA_TILE, "boxes_without_their_size", "&Y_map, tile / tiles_in_row * ROWS,", "&Y_map, tile / tiles_in_row,", shape=(300, 45), plain="was never written",
        checked="race in global memory"),
    Bug(TMA_TILE, "Y_swizzled_otherwise", "args->Y_pitch, ROWS, mode.cols, mode.swizzle", "args->Y_pitch, ROWS, mode.cols, modes[0].swizzle", shape=(150, 333)),
    Bug(TMA_TILE, "lost_last_row_of_boxes", "ceil_div(args->rows, ROWS) *", "(args->rows / ROWS) *", shape=(150, 333), plain="was never written",
        checked="was never written"),
    Bug(TMA_TILE, "lost_rest", "if (args->cols % VECTOR > 0)", "if (args->cols % VECTOR > 1)", shape=(150, 333), plain="was never written",
        checked="was never written"),
    Bug(TMA_TILE, "rest_written_behind_a_row", "row < rows && col < cols; col++", "row < rows && col < cols + 1; col++", shape=(150, 334),
        plain="the launch wrote behind row 0 of Y", checked="WRONG"),

    Bug(DEVICE, "copy_zeros", COPY_WORD, "((uint4 *)out)[i] = make_uint4(0, 0, 0, 0);", variant="copy", shape=MACHINE),
    Bug(DEVICE, "copy_lost_tail", "if (i < n % 4)", "if (i + 1 < n % 4)", variant="copy", shape=MACHINE),
    Bug(DEVICE, "copy_lost_last_block", "(args->n - 1) / (4 * COPY_THREADS) + 1", "(args->n - 1) / (4 * COPY_THREADS)",
        variant="copy", shape=MACHINE),
    Bug(DEVICE, "copy_out_of_bounds", "if (i < whole)", "if (i <= whole)", variant="copy", plain="past the end of the output",
        checked="out of bounds", shape=MACHINE),
    Bug(DEVICE, "lost_round", "takes a tenth of the time\n    for (int i = 0;", "takes a tenth of the time\n    for (int i = 1;",
        variant="fma", shape=MACHINE),
    Bug(DEVICE, "another_tile", "a[i / 2], b[i % 2]", "a[i / 2], b[i / 2]", variant="tensor", shape=MACHINE),
    Bug(DEVICE, "lost_product", "for (int i = 1; i < PRODUCTS; i++)\n        for (int element",
        "for (int i = 2; i < PRODUCTS; i++)\n        for (int element", variant="tensor", shape=MACHINE),
    Bug(DEVICE, "lost_chain", "total += sum[chain];", "total += sum[chain / 2];", variant="exp2", shape=MACHINE),
    Bug(DEVICE, "overflow", "exp2f(-x[chain])", "exp2f(x[chain])", variant="exp2", shape=MACHINE),
    Bug(DEVICE, "missing_barrier", "__syncthreads();  // the tile is whole before any thread reads it", "", variant="shared",
        checked="race in shared memory", shape=MACHINE),
    Bug(DEVICE, "half_a_tile", "(threadIdx.x + LANES * i) % TILE", "(threadIdx.x + LANES * i) % (TILE / 2)", variant="shared",
        shape=MACHINE),
    Bug(DEVICE, "lost_hop", "        place = (void *const *)*place;", "        place = i ? (void *const *)*place : place;",
        variant="latency", shape=MACHINE),
    Bug(DEVICE, "read_out_of_bounds", "i + j * threads < n ? in[i + j * threads] : Word{};", "in[i + j * threads];",
        variant="littles_law", checked="out of bounds", shape=MACHINE),
    Bug(DEVICE, "one_load_for_four", "sum += sum_of(word[j]);", "sum += sum_of(word[0]);", variant="littles_law", shape=MACHINE),
    Bug(DEVICE, "lost_path", "path < paths; path++", "path < paths - 1; path++", variant="divergence", shape=MACHINE),
    Bug(DEVICE, "block_zero_only", "out[blockIdx.x] = blockIdx.x;", "out[blockIdx.x] = 0;", variant="launch", shape=MACHINE),

    Bug(ATTENTION, "zeros", PUT, "O[((size_t)blockIdx.z * n + row) * d + col] = 0;", shape=HEADS),
    Bug(ATTENTION, "nan", PUT, PUT.replace("sum", "row == n - 1 && col == d - 1 ? sum / 0 - sum / 0 : sum"), plain="is NaN",
        checked="WRONG", shape=HEADS),
    Bug(ATTENTION, "never_written", "if (row < n && col < d)\n        O[", "if (row < n - 1 && col < d)\n        O[",
        plain="was never written", checked="was never written", shape=HEADS),
    Bug(ATTENTION, "not_scaled", "args->scale", "1", shape=HEADS),
    Bug(ATTENTION, "not_divided", "* scale) / l;", "* scale);", shape=HEADS),
    Bug(ATTENTION, "K_not_transposed", "K[(size_t)col * d + i]);", "K[(size_t)i * n + col]);", variant="transposed_read",
        shape=HEADS),
    Bug(ATTENTION, "transposed_twice", "K_transposed[((size_t)blockIdx.z * d + col) * n + row]",
        "K_transposed[((size_t)blockIdx.z * n + row) * d + col]", shape=HEADS),
    Bug(ATTENTION, "transposed_index", "S[((size_t)blockIdx.z * n + row) * n + col] = sum;",
        "S[((size_t)blockIdx.z * n + col) * n + row] = sum;", shape=HEADS),
    Bug(ATTENTION, "first_head_for_all", "V += (size_t)blockIdx.z * n * d;", "V += 0;", shape=HEADS),
    Bug(ATTENTION, "lost_tail_of_the_keys", "for (int i = 0; i < n; i++)", "for (int i = 0; i < n - 1; i++)", shape=HEADS),
    Bug(ATTENTION, "a_key_too_many", "for (int i = 0; i < n; i++)", "for (int i = 0; i <= n; i++)", checked="out of bounds",
        shape=(1, 1, 70, 32)),
    Bug(ATTENTION, "no_maximum", "m = fmaxf(m, s[col]);", "m = 0;", plain="is NaN", input="huge", shape=HEADS),
    Bug(ATTENTION, "max_not_carried", "m = reduce<true>(m, partial);", "m = fmaxf(m, m);", shape=HEADS),
    Bug(ATTENTION, "missing_first_barrier", "__syncthreads();  // the results of all warps are there", "", checked="race in shared memory",
        shape=HEADS),
    Bug(ATTENTION, "workspace_too_small", "return (scores_count(args)", "return (scores_count(args) - 1",
        plain="past the end of the workspace", checked="out of bounds", variant="transposed_read", shape=HEADS),
    Bug(ATTENTION, "lost_tail_of_a_block", "tiles_n = ceil_div(n, TILE)", "tiles_n = n / TILE", plain="was never written",
        checked="was never written", variant="transposed_read", shape=HEADS),

    Bug(FLASH, "zeros", "scaled(1 / l[r], o[r][c]);", "scaled(0, o[r][c]);", shape=HEADS),
    Bug(FLASH, "nan", "scaled(1 / l[r], o[r][c]);", "scaled(row == 0 ? l[r] / 0 - l[r] / 0 : 1 / l[r], o[r][c]);",
        plain="is NaN", checked="WRONG", shape=HEADS),
    Bug(FLASH, "not_divided", "scaled(1 / l[r], o[r][c]);", "scaled(1, o[r][c]);", shape=HEADS),
    Bug(FLASH, "missing_rescale", "o[r][c] = add_scaled(sum[r], factor[r], o[r][c]);",
        "o[r][c] = add_scaled(sum[r], 1, o[r][c]);", shape=HEADS),
    Bug(FLASH, "missing_rescale_of_the_sum", "l[r] = l[r] * factor[r] + weights;", "l[r] = l[r] + weights;", shape=HEADS),
    Bug(FLASH, "max_not_carried", "m[r] = m_new;", "m[r] = m[r];", shape=HEADS),
    Bug(FLASH, "max_of_the_group_only", "fmaxf(m[r], largest * scale);", "largest * scale;", plain="is NaN", shape=HEADS),
    Bug(FLASH, "maximum_of_0_at_least", "m[r] = -INFINITY;", "m[r] = 0;", input="huge", plain="is NaN", shape=(1, 3, 70, 32)),
    Bug(FLASH, "tail_unmasked", "if (tile + first + key >= n)", "if (n < 0)", shape=HEADS),
    Bug(FLASH, "mask_off_by_one", "if (tile + first + key >= n)", "if (tile + first + key > n)", shape=HEADS),
    Bug(FLASH, "missing_first_barrier", "__syncthreads();  // both tiles are whole before any thread reads them", "",
        checked="race in shared memory", shape=HEADS),
    Bug(FLASH, "missing_second_barrier", SECOND_OF_FLASH, "", checked="race in shared memory", shape=(1, 1, 140, 64)),
    Bug(FLASH, "missing_second_barrier_one_row", SECOND_OF_FLASH, "", checked="race in shared memory", variant="one_row",
        shape=(1, 1, 70, 96)),
    Bug(FLASH, "transposed_index", "inside ? K_tile[i] :", "inside ? K_tile[i % TILE<D> * C + i / TILE<D>] :",
        shape=(1, 1, 128, 64)),
    Bug(FLASH, "tail_read_as_it_comes", "inside ? V_tile[i] : make_float4(0, 0, 0, 0);", "V_tile[i];",
        plain="WRONG", checked="out of bounds", shape=HEADS),
    Bug(FLASH, "strips_not_summed", "offset < 32; offset *= 2", "offset < 16; offset *= 2", shape=HEADS),
    Bug(FLASH, "another_rows_strip", "s[r][key], offset);", "s[r][key], 1);", shape=HEADS),
    Bug(FLASH, "first_head_for_all", "K_tile = K + head +", "K_tile = K +", shape=HEADS),
    Bug(FLASH, "lost_last_tile", "tile < n; tile += TILE<D>)", "tile + TILE<D> <= n; tile += TILE<D>)", shape=HEADS),
    Bug(FLASH, "write_out_of_bounds", "if (row + r * LANES < n)\n                to[",
        "if (row + r * LANES <= n)\n                to[", plain="past the end of O", checked="out of bounds",
        shape=(1, 1, 70, 32)),
    Bug(FLASH, "lost_tail_of_a_block", "blocks(ceil_div(n, BLOCK_ROWS<D, ROWS>)", "blocks(ceil_div(n, 2 * BLOCK_ROWS<D, ROWS>)",
        plain="was never written", checked="was never written", shape=(1, 1, 200, 64)),

    Bug(FLASH_WMMA, "zeros", "* (1 / l));", "* 0);", shape=HEADS),
    Bug(FLASH_WMMA, "not_divided", "* (1 / l));", "* 1);", shape=HEADS),
    Bug(FLASH_WMMA, "missing_rescale", RESCALE, "o[c].x[i] *= 1;", shape=HEADS),
    Bug(FLASH_WMMA, "rescaled_by_columns", "own.factor, 0, wmma::mem_col_major", "own.factor, 0, wmma::mem_row_major", shape=HEADS),
    Bug(FLASH_WMMA, "rescaled_by_the_lanes_row", RESCALE, "o[c].x[i] *= factor;", shape=HEADS),
    Bug(FLASH_WMMA, "missing_rescale_of_the_sum", "l = l * factor + sum", "l = l + sum", shape=HEADS),
    Bug(FLASH_WMMA, "sum_of_one_lane", PAIR_OF_LANES, ";", shape=HEADS),
    Bug(FLASH_WMMA, "max_not_carried", "m = m_new;", "m = m;", shape=HEADS),
    Bug(FLASH_WMMA, "max_of_one_lane", "largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1));", "", shape=HEADS),
    Bug(FLASH_WMMA, "weights_beyond_the_largest_half", "P_LARGEST = 15;", "P_LARGEST = 16;", shape=HEADS),
    Bug(FLASH_WMMA, "weights_lost_below_2^-24", "P_LARGEST = 15;", "P_LARGEST = 0;", input="scaled", shape=(1, 2, 130, 32)),
    Bug(FLASH_WMMA, "tail_unmasked", "if (tile + TILE<D> > n)", "if (n < 0)", shape=HEADS),
    Bug(FLASH_WMMA, "mask_off_by_one", "* 4 + j >= n)", "* 4 + j > n)", shape=HEADS),
    Bug(FLASH_WMMA, "missing_first_barrier", WHOLE_TILES, "", checked="race in shared memory", shape=HEADS),
    Bug(FLASH_WMMA, "k_by_rows", "half, wmma::col_major> k;", "half, wmma::row_major> k;", shape=HEADS),
    Bug(FLASH_WMMA, "wrong_leading_dimension", "&own.P[0][key], TILE<D> + PAD);", "&own.P[0][key], TILE<D>);", variant="pad_8",
        shape=HEADS),
    Bug(FLASH_WMMA, "tail_read_as_it_comes", "i / C < count ? from[i] : make_uint4(0, 0, 0, 0);", "from[i];", checked="out of bounds",
        shape=HEADS),
    Bug(FLASH_WMMA, "first_head_for_all", "K + head +", "K +", shape=HEADS),
    Bug(FLASH_WMMA, "lost_last_tile", "tile < n; tile += TILE<D>)", "tile + TILE<D> <= n; tile += TILE<D>)", shape=HEADS),
    Bug(FLASH_WMMA, "write_out_of_bounds", "if (O_row < n)", "if (O_row <= n)", plain="past the end of O", checked="out of bounds",
        shape=(1, 1, 70, 32)),
    Bug(FLASH_WMMA, "lost_tail_of_a_block", "blocks(ceil_div(n, BLOCK_ROWS)", "blocks(ceil_div(n, 2 * BLOCK_ROWS)",
        plain="was never written", checked="was never written", shape=(1, 1, 200, 64)),

    Bug(WARP_MAX, "zeros", "own.factor, 1 / l);", "own.factor, 0);", shape=HEADS),
    Bug(WARP_MAX, "not_divided", "own.factor, 1 / l);", "own.factor, 1);", shape=HEADS),
    Bug(WARP_MAX, "missing_rescale", "o[c].x[i] *= factor;", "o[c].x[i] *= 1;", shape=(1, 2, 200, 64)),
    Bug(WARP_MAX, "missing_rescale_of_rows", "o[c].x[i] *= f.x[i];", "o[c].x[i] *= 1;", input="scaled", shape=HEADS),
    Bug(WARP_MAX, "missing_rescale_of_the_sum", "l = l * factor + sum", "l = l + sum", shape=(1, 2, 200, 64)),
    Bug(WARP_MAX, "always_one_max", VOTE, "true;", input="huge", plain="is NaN", shape=HEADS),
    Bug(WARP_MAX, "vote_of_any_row", VOTE, VOTE.replace("__all", "__any"), input="huge", plain="is NaN", shape=HEADS),
    Bug(WARP_MAX, "max_of_eight_rows", "offset = STRIPS; offset < 32;", "offset = STRIPS; offset < 16;", shape=HEADS),
    Bug(WARP_MAX, "max_not_carried", "m = m_new;", "m = m;", shape=HEADS),
    Bug(WARP_MAX, "sum_of_one_lane", PAIR_OF_LANES, ";", shape=HEADS),
    Bug(WARP_MAX, "weights_beyond_the_largest_half", "P_LARGEST = 15;", "P_LARGEST = 16;", shape=HEADS),
    Bug(WARP_MAX, "tail_unmasked", "if (tile + TILE<D> > n)", "if (n < 0)", shape=HEADS),
    Bug(WARP_MAX, "mask_off_by_one", "* 4 + j >= n)", "* 4 + j > n)", shape=HEADS),
    Bug(WARP_MAX, "missing_first_barrier", WHOLE_TILES, "", checked="race in shared memory", shape=HEADS),
    Bug(WARP_MAX, "columns_of_the_next_row", "i % D < d ?", "i % D < D ?", checked="out of bounds", shape=(1, 1, 70, 63)),
    Bug(WARP_MAX, "lost_column", "O_row < n && col < d", "O_row < n && col < d - 1", plain="was never written", checked="was never written",
        shape=(1, 1, 70, 63)),
    Bug(WARP_MAX, "first_head_for_all", "K + head +", "K +", shape=HEADS),
    Bug(WARP_MAX, "lost_tail_of_a_block", "ceil_div(n, WARPS * FRAGMENT)", "ceil_div(n, 2 * WARPS * FRAGMENT)", plain="was never written",
        checked="was never written", shape=(1, 1, 140, 64)),

    Bug(SPLIT_KV, "missing_rescale", "o[y][x][2 * i] *= factor;", "o[y][x][2 * i] *= 1;", shape=HEADS),
    Bug(SPLIT_KV, "max_of_its_own_warp", "smem.largest[other][row]", "smem.largest[warp][row]", shape=HEADS),
    Bug(SPLIT_KV, "sum_of_one_warp", "sum += smem.sum[other]", "sum = smem.sum[other]", shape=HEADS),
    Bug(SPLIT_KV, "k_transposed", "ldmatrix_x4(k, ", "ldmatrix_x4_trans(k, ", shape=HEADS),
    Bug(SPLIT_KV, "v_not_transposed", "ldmatrix_x4_trans(v, ", "ldmatrix_x4(v, ", shape=HEADS),
    Bug(SPLIT_KV, "tail_unmasked", "if (tile + TILE > n)", "if (n < 0)", shape=HEADS),
    Bug(SPLIT_KV, "lost_last_tile", "tile < n; tile += TILE)", "tile + TILE <= n; tile += TILE)", shape=HEADS),
    Bug(SPLIT_KV, "missing_first_barrier", WHOLE_QKV, "", checked="race in shared memory", shape=HEADS),

    Bug(SPLIT_Q, "halves_of_p_exchanged", "p[y][x / 2][x % 2 * 2 + i]", "p[y][x / 2][(1 - x % 2) * 2 + i]", shape=HEADS),
    Bug(SPLIT_Q, "max_of_two_lanes", "largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 2));", "", shape=HEADS),
    Bug(SPLIT_Q, "missing_rescale", "o[y][x][2 * i] *= factor;", "o[y][x][2 * i] *= 1;", shape=HEADS),
    Bug(SPLIT_Q, "missing_rescale_of_the_sum", "l[y][i] = l[y][i] * factor + sum;", "l[y][i] = l[y][i] + sum;", shape=HEADS),
    Bug(SPLIT_Q, "mask_off_by_one", "lane % 4 * 2 + i % 2 >= n)", "lane % 4 * 2 + i % 2 > n)", shape=HEADS),
    Bug(SPLIT_Q, "v_not_transposed", "ldmatrix_x4_trans(v, ", "ldmatrix_x4(v, ", shape=HEADS),
    Bug(SPLIT_Q, "missing_first_barrier", WHOLE_QKV, "", checked="race in shared memory", shape=HEADS),
    Bug(SPLIT_Q, "write_out_of_bounds", "row < n; x++)", "row <= n; x++)", plain="past the end of O", checked="out of bounds",
        shape=(1, 1, 70, 32)),

    Bug(FLASH_STAGES, "missing_wait", "cp_async_wait_group<0>();", "", checked="copy still in flight", shape=HEADS),
    Bug(FLASH_STAGES, "one_group_too_few", "cp_async_wait_group<0>", "cp_async_wait_group<1>", checked="copy still in flight", shape=HEADS),
    Bug(FLASH_STAGES, "missing_commit", "cp_async_commit_group();", "", checked="copy still in flight", shape=HEADS),
    Bug(FLASH_STAGES, "missing_barrier", "__syncthreads();  // Q and both tiles are whole", ";  // Q and both tiles are whole",
        checked="race in shared memory", shape=HEADS),
    Bug(FLASH_STAGES, "copied_to_the_stage_that_is_read", "&smem.stage[1 - stage]", "&smem.stage[stage]", checked="copy still in flight",
        variant="two_stages", shape=HEADS),
    Bug(FLASH_STAGES, "same_tiles_again", "tile + TILE<D>, n);", "tile, n);", variant="two_stages", shape=HEADS),
    Bug(FLASH_STAGES, "rows_of_the_first_warp", "&smem.Q[warp_row], smem", "smem.Q, smem", shape=HEADS),
    Bug(FLASH_STAGES, "keys_for_values", "smem.stage[stage].V, lane", "smem.stage[stage].K, lane", shape=HEADS),
    Bug(FLASH_STAGES, "last_row_zeroed", "row < n - first ? VECTOR", "row < n - first - 1 ? VECTOR", shape=HEADS),
    Bug(FLASH_STAGES, "tail_read_as_it_comes", "row < n - first ? VECTOR * sizeof(half) : 0", "VECTOR * sizeof(half)", checked="out of bounds",
        shape=HEADS),

    Bug(SHARED_KV, "missing_wait_for_v", "cp_async_wait_group<0>();\n        __syncthreads();  // the tile of V", "__syncthreads();  // the tile of V",
        checked="copy still in flight", shape=HEADS),
    Bug(SHARED_KV, "missing_barrier_before_v_is_read", "__syncthreads();  // the tile of V is whole, and every warp has read that of K", "",
        checked="race in shared memory", variant="two_buffers", shape=HEADS),
    Bug(SHARED_KV, "v_copied_into_the_buffer_of_k", "copy_tile<TILE<D>, D>(V_smem, &V[head], tile, n);\n        // [end turn_of_K]",
        "copy_tile<TILE<D>, D>(K_smem, &V[head], tile, n);\n        // [end turn_of_K]", checked="copy still in flight",
        variant="two_buffers", shape=HEADS),
    Bug(SHARED_KV, "stale_k", "tile + TILE<D>, n);", "tile, n);", variant="two_buffers", shape=HEADS),
    Bug(SHARED_KV, "missing_rescale", "o[y][x][2 * i] *= factor;", "o[y][x][2 * i] *= 1;", shape=HEADS),
    Bug(SHARED_KV, "v_not_transposed", "ldmatrix_x4_trans(v,", "ldmatrix_x4(v,", shape=HEADS),

    Bug(SHARED_QKV, "missing_wait_for_q", "cp_async_wait_group<0>();\n    __syncthreads();", "\n    __syncthreads();",
        checked="copy still in flight", shape=HEADS),
    Bug(SHARED_QKV, "missing_barrier_before_q_is_read", "__syncthreads();  // Q is whole before any warp reads it", "",
        checked="race in shared memory", shape=HEADS),
    Bug(SHARED_QKV, "first_fragment_for_all_columns", "q[y][d / MMA_K], &k[0]", "q[y][0], &k[0]", shape=HEADS),
    Bug(SHARED_QKV, "rows_of_the_first_warp", "&smem.Q[warp_row], lane", "smem.Q, lane", shape=HEADS),
    Bug(SHARED_QKV, "left_columns_twice", "[x * MMA_K + lane / 16 * 8]", "[x * MMA_K]", shape=HEADS),
    Bug(SHARED_QKV, "k_transposed", "ldmatrix_x4(k,", "ldmatrix_x4_trans(k,", shape=HEADS),
    Bug(SHARED_QKV, "one_group_too_few_for_k", "cp_async_wait_group<0>();\n        __syncthreads();  // the tile of K",
        "cp_async_wait_group<1>();\n        __syncthreads();  // the tile of K", checked="copy still in flight", shape=HEADS),
    Bug(SHARED_QKV, "stale_max", "m[y][i] = m_new;", "", shape=HEADS),

    Bug(COLLECTIVE, "lanes_of_the_whole_warp", "lane_of_row, 4);", "lane_of_row);", shape=HEADS),
    Bug(COLLECTIVE, "tile_and_lane_swapped", "if (lane % 4 == tile)\n                            whole[lane_of_row]",
        "if (lane % 4 == lane_of_row)\n                            whole[tile]", shape=HEADS),
    Bug(COLLECTIVE, "offered_by_the_tiles_own_lane", "for (int lane_of_row = 0;", "if (lane % 4 == tile) for (int lane_of_row = 0;", shape=HEADS),
    Bug(COLLECTIVE, "tiles_stored_in_reverse", "[x + lane % 4] =", "[x + 3 - lane % 4] =", shape=HEADS),
    Bug(COLLECTIVE, "write_out_of_bounds", "if (row < n)", "if (row <= n)", plain="past the end of O", checked="out of bounds",
        shape=(1, 1, 70, 32)),
    Bug(COLLECTIVE, "sum_of_two_lanes", "sum += __shfl_xor_sync(0xffffffff, sum, 2);", "", shape=HEADS),
    Bug(COLLECTIVE, "missing_wait", "cp_async_wait_group<0>();\n        __syncthreads();  // the tile of V",
        ";\n        __syncthreads();  // the tile of V", checked="copy still in flight", shape=HEADS),
    Bug(COLLECTIVE, "missing_barrier", "__syncthreads();  // the tile of K is whole, and", ";  // the tile of K is whole, and",
        checked="race in shared memory", shape=HEADS),

    Bug(SWIZZLED_FLASH, "swizzle_in_ldmatrix_only", "[place<D, SWIZZLE>(row, col)]", "[col]", variant="swizzled", shape=HEADS),
    Bug(SWIZZLED_FLASH, "swizzle_in_copies_of_k_only", "[place<D, SWIZZLE>(lane % 8, d + key_col)]", "[d + key_col]",
        variant="swizzled", shape=HEADS),
    Bug(SWIZZLED_FLASH, "swizzle_in_copies_of_v_only", "[place<D, SWIZZLE>(lane % 16, col + lane / 16 * 8)]", "[col + lane / 16 * 8]",
        variant="swizzled", shape=(1, 2, 70, 96)),
    Bug(SWIZZLED_FLASH, "swizzle_in_copies_of_q_only", "[place<D, SWIZZLE>(lane % 16, x * MMA_K + lane / 16 * 8)]", "[x * MMA_K + lane / 16 * 8]",
        variant="swizzled", shape=HEADS),
    Bug(SWIZZLED_FLASH, "swizzled_beyond_the_row", "(D % 64 == 0 ? row % 8 : row / 2 % 4)", "row % 8", checked="race in shared memory",
        variant="swizzled", shape=(1, 2, 70, 96)),
    Bug(SWIZZLED_FLASH, "missing_wait", "cp_async_wait_group<0>();\n        __syncthreads();  // the tile of V",
        ";\n        __syncthreads();  // the tile of V", checked="copy still in flight", variant="swizzled", shape=HEADS),

    Bug(WARP_ROWS, "tiles_where_q_stays", "&smem.buffer[Q_STAYS * BLOCK_ROWS<ROWS>]", "&smem.buffer[0]", checked="copy still in flight",
        shape=(1, 2, 70, 128)),
    Bug(WARP_ROWS, "tiles_where_q_stays_with_64_keys", "&smem.buffer[Q_STAYS * BLOCK_ROWS<ROWS>]", "&smem.buffer[0]",
        checked="copy still in flight", variant="q_stays_64", shape=HEADS),
    Bug(WARP_ROWS, "32_keys_copied_to_a_tile_of_48", "copy_tile<THREADS, TILE, D>(V_smem", "copy_tile<THREADS, 32, D>(V_smem", shape=(1, 2, 70, 128)),
    Bug(WARP_ROWS, "second_tile_of_rows_not_rescaled", "o[y][x][2 * i] *= factor;", "o[0][x][2 * i] *= factor;", shape=HEADS),
    Bug(WARP_ROWS, "sum_not_rescaled", "l[y][i] *= factor;", "", shape=HEADS),
    Bug(WARP_ROWS, "vote_with_all", "__any_sync", "__all_sync", shape=(1, 2, 70, 128)),
    Bug(WARP_ROWS, "both_tiles_of_rows_from_the_first", "q[d / MMA_K][y], &k[0]", "q[d / MMA_K][0], &k[0]", shape=HEADS),
    Bug(WARP_ROWS, "fragments_of_q_never_loaded_again", "if (Q_STAYS)", "if (Q_STAYS && d == 0)", variant="q_stays_64",
        shape=(1, 2, 70, 96)),
    Bug(WARP_ROWS, "fragments_of_q_from_the_warp_above", "q, &smem.Q[warp_row], K_smem", "q, &smem.Q[warp_row / 2], K_smem",
        shape=(1, 2, 70, 128)),
    Bug(WARP_ROWS, "warps_16_rows_apart", "threadIdx.x / 32 * ROWS * MMA_M", "threadIdx.x / 32 * MMA_M", plain="was never written",
        checked="was never written", shape=(1, 2, 150, 64)),
    Bug(WARP_ROWS, "missing_barrier_before_q_is_read", "__syncthreads();  // Q is whole before any warp reads it", "",
        checked="race in shared memory", shape=HEADS),
    Bug(WARP_ROWS, "weights_beyond_a_half", "constexpr float P_LARGEST = 15;", "constexpr float P_LARGEST = 16;", shape=HEADS),
    Bug(WARP_ROWS, "weights_lost_below_2^-24", "constexpr float P_LARGEST = 15;", "constexpr float P_LARGEST = 0;", input="scaled",
        shape=(1, 2, 130, 32)),
    Bug(WARP_ROWS, "bf16_packed_as_halves", "pack(first, second, T())", "pack(first, second, half())", shape=HEADS, flags="--dtype bf16"),
    Bug(WARP_ROWS, "bf16_multiplied_as_halves", "p[y][key / MMA_K], &v[0], T()", "p[y][key / MMA_K], &v[0], half()", shape=HEADS,
        flags="--dtype bf16"),
    Bug(WARP_ROWS, "bf16_weights_cut_off", "pack(first, second, T());", "__byte_perm(__float_as_uint(first), __float_as_uint(second), 0x7632);",
        shape=HEADS, flags="--dtype bf16"),
    Bug(WARP_ROWS, "bf16_cut_off_not_rounded", "pack(o[y][x + tile][2 * i] * inverse, o[y][x + tile][2 * i + 1] * inverse, T());",
        "__byte_perm(__float_as_uint(o[y][x + tile][2 * i] * inverse), __float_as_uint(o[y][x + tile][2 * i + 1] * inverse), 0x7632);",
        shape=HEADS, flags="--dtype bf16"),

    Bug(CAUSAL, "diagonal_masked", "min(n, row + 1)", "min(n, row)", plain="is NaN", variant="skipped", shape=TWO_BLOCKS,
        flags="--causal"),
    Bug(CAUSAL, "one_key_too_many_seen", "min(n, row + 1)", "min(n, row + 2)", shape=TWO_BLOCKS, flags="--causal"),
    Bug(CAUSAL, "end_a_tile_too_soon", "min(n, first_row + BLOCK_ROWS<ROWS>)", "min(n, first_row + BLOCK_ROWS<ROWS> - TILE)",
        shape=TWO_BLOCKS, flags="--causal"),
    Bug(CAUSAL, "masked_by_the_blocks_row", "(s, first_row + warp_row, tile, n, causal, lane)", "(s, warp_row, tile, n, causal, lane)",
        shape=TWO_BLOCKS, flags="--causal"),
    Bug(CAUSAL, "masked_by_the_first_warps_rows", "(s, first_row + warp_row, tile, n, causal, lane)", "(s, first_row, tile, n, causal, lane)",
        shape=HEADS, flags="--causal"),
    Bug(CAUSAL, "second_row_of_a_lane_unmasked", "(causal ? min(n, row + 1)", "(causal && i < 2 ? min(n, row + 1)",
        shape=TWO_BLOCKS, flags="--causal"),
    Bug(CAUSAL, "tile_of_the_warps_last_row_unmasked", "min(n, first_row + warp_row + 1)", "min(n, first_row + warp_row + ROWS * MMA_M)",
        shape=HEADS, flags="--causal"),
    Bug(CAUSAL, "two_blocks_compute_the_same_rows", "gridDim.y - 1 - blockIdx.y", "max(blockIdx.y, gridDim.y - 1 - blockIdx.y)",
        plain="was never written", checked="was never written", variant="ordered", shape=TWO_BLOCKS, flags="--causal"),
    Bug(CAUSAL, "lost_tail", "tiles = ceil_div(args->seqlen, BLOCK_ROWS<ROWS>)", "tiles = args->seqlen / BLOCK_ROWS<ROWS>",
        plain="was never written", checked="was never written", shape=TWO_BLOCKS, flags="--causal"),
    Bug(CAUSAL, "keys_beyond_the_last_without_a_mask", ": n) - tile;", ": n + TILE) - tile;", shape=HEADS),
    Bug(CAUSAL, "bf16_launched_as_fp16", "start_type<__nv_bfloat16>(args", "start_type<half>(args", shape=HEADS,
        flags="--causal --dtype bf16"),

    Bug(GQA, "heads_that_share_far_apart", "(blockIdx.x / heads_per_kv)", "(blockIdx.x % (gridDim.x / heads_per_kv))", shape=FOUR_HEADS,
        flags="--kv-heads 2"),
    Bug(GQA, "causal_aligned_to_the_start", "args->causal ? n_kv - n : n_kv", "args->causal ? 0 : n_kv", shape=HEADS,
        flags="--kv-seqlen 150 --causal"),
    Bug(GQA, "offset_of_the_wrong_sign", "args->causal ? n_kv - n : n_kv", "args->causal ? n - n_kv : n_kv", shape=HEADS,
        flags="--kv-seqlen 75 --causal"),
    Bug(GQA, "mask_off_by_one", "key > row + offset", "key > row + offset + 1", shape=HEADS, flags="--kv-seqlen 75 --causal"),
    Bug(GQA, "row_without_keys", "= -FLT_MAX;", "= -INFINITY;", plain="is NaN", shape=HEADS, flags="--kv-seqlen 30 --causal"),
    Bug(GQA, "as_many_keys_copied_as_queries", "tile + TILE, n_kv);", "tile + TILE, n);", shape=HEADS, flags="--kv-seqlen 150"),
    Bug(GQA, "log_sum_exp_without_the_max", "(max + log2f(", "(log2f(", shape=HEADS, flags="--lse"),
    Bug(GQA, "log_sum_exp_in_powers_of_two", ")) / LOG2_E;", "));", shape=HEADS, flags="--lse"),
    Bug(GQA, "log_sum_exp_of_bf16_scaled_as_a_halfs", "ldexpf(sum, -P_LARGEST<T>)", "ldexpf(sum, -15)", shape=HEADS,
        flags="--lse --dtype bf16"),

    Bug(SPLIT_KEYS, "weights_of_the_first_part", "ex2((log_sum[i] - largest) * LOG2_E)", "ex2((log_sum[0] - largest) * LOG2_E)", variant="packed",
        shape=ONE_QUERY, flags=MANY_KEYS),
    Bug(SPLIT_KEYS, "weights_in_powers_of_two", "ex2((log_sum[i] - largest) * LOG2_E)", "ex2(log_sum[i] - largest)", variant="packed",
        shape=ONE_QUERY, flags=MANY_KEYS),
    Bug(SPLIT_KEYS, "weights_without_the_max", "            largest = fmaxf(largest, log_sum[i]);", "            largest = 0;", plain="is NaN",
        variant="packed", input="huge", shape=ONE_QUERY, flags=MANY_KEYS),
    Bug(SPLIT_KEYS, "log_sum_exp_of_the_largest_part", "*lse = largest + logf(sum);", "*lse = largest;",
        variant="packed", shape=ONE_QUERY, flags=f"{MANY_KEYS} --lse"),
    Bug(SPLIT_KEYS, "part_without_keys", "if (m_new == -INFINITY)", "if (false)", variant="split_blocks",
        shape=HEADS, flags="--kv-seqlen 150 --causal"),
    Bug(SPLIT_KEYS, "a_tile_in_two_parts", "min(n_kv, begin + keys)", "min(n_kv, begin + keys + TILE)", variant="split_blocks", shape=ONE_QUERY,
        flags=MANY_KEYS),
    Bug(SPLIT_KEYS, "last_part_lost", "keys, ceil_div(args->kv_seqlen, keys)}", "keys, max(args->kv_seqlen / keys, 1)}", variant="packed",
        shape=ONE_QUERY, flags=MANY_KEYS),
    Bug(SPLIT_KEYS, "parts_not_merged", "if (by.parts > 1)", "if (by.parts > 99)", plain="was never written", checked="was never written",
        variant="packed", shape=ONE_QUERY, flags=MANY_KEYS),
    Bug(SPLIT_KEYS, "row_for_the_query", "row % n + offset", "row + offset", variant="packed", shape=(1, 4, 3, 64),
        flags="--kv-heads 2 --kv-seqlen 40 --causal"),
    Bug(SPLIT_KEYS, "head_for_the_query", "row % n + offset", "row / n + offset", variant="packed", shape=(1, 4, 3, 64),
        flags="--kv-heads 2 --kv-seqlen 40 --causal"),
    Bug(SPLIT_KEYS, "groups_head_of_k", "blockIdx.x * packed / heads_per_kv", "blockIdx.x / heads_per_kv", variant="packed", shape=ONE_QUERY,
        flags=MANY_KEYS),
    Bug(SPLIT_KEYS, "warps_have_the_first_warps_keys", "&K_smem[warp_key], lane", "&K_smem[0], lane", variant="split_warps", shape=ONE_QUERY,
        flags=MANY_KEYS),
    Bug(SPLIT_KEYS, "mask_of_the_first_warps_keys", "tile + warp_key, end, offset", "tile, end, offset", variant="split_warps", shape=ONE_QUERY,
        flags=MANY_KEYS),

    Bug(TILING_QK, "k_slice_skipped", "for (int col = 0; col < WIDTH; col += MMA_K) {", "for (int col = 0; col + MMA_K < WIDTH; col += MMA_K) {", shape=HEADS),
    Bug(TILING_QK, "columns_beyond_d_read", "row < count && col < cols ?", "row < count ?", checked="out of bounds", shape=(1, 2, 70, 80)),
    Bug(TILING_QK, "missing_barrier_after_p", "__syncthreads();  // P and the factors are whole", "", checked="race in shared memory", shape=HEADS),
    Bug(TILING_QK, "max_of_one_warp", "fmaxf(largest, smem.partial[w][row])", "fmaxf(largest, smem.partial[warp_key / WARP_KEYS][row])", shape=HEADS),
    Bug(TILING_QK, "factor_of_the_first_tile", "if (warp_key == 0 && lane % 4 == 0)", "if (warp_key == 0 && lane % 4 == 0 && factor == 0)",
        shape=(1, 2, 150, 320)),
    Bug(TILING_QK, "columns_of_another_warp", "const int col = warp_col + col_of", "const int col = COLS - COLS / WARPS - warp_col + col_of",
        shape=(1, 2, 70, 128)),
    Bug(TILING_QK, "one_group_too_few_waited_for", "// [slice_of_V]\n            cp_async_wait_group<STAGES - 2>();",
        "// [slice_of_V]\n            cp_async_wait_group<STAGES - 1>();", checked="copy still in flight", shape=(1, 2, 70, 320)),
    Bug(TILING_QK, "values_beyond_the_last_key_read", "keys - key, d, d);", "TILE, d, d);", plain="is NaN", checked="out of bounds", shape=HEADS),
    Bug(TILING_QK, "bf16_weights_packed_as_halves", "= pack(first, second, T());", "= pack(first, second, half());", shape=HEADS,
        flags="--dtype bf16"),

    Bug(WGMMA, "missing_wait", "mbarrier_wait_parity(&smem->full, parity);", ";", plain=LANDING, checked=LANDING, shape=TILES_OF_WGMMA),
    Bug(WGMMA, "parity_stays", "parity = 1 - parity;", "parity = 0;", plain=LANDING, checked=LANDING, shape=TILES_OF_WGMMA),
    Bug(WGMMA, "too_few_bytes_expected", "mbarrier_arrive_expect_tx(full, sizeof(struct tiles<T, W>))", "mbarrier_arrive_expect_tx(full, sizeof(smem->A))",
        plain=LANDING, checked=LANDING, shape=TILES_OF_WGMMA),
    Bug(WGMMA, "missing_fence", "    wgmma_fence();", "    ;", plain=NO_WGMMA_FENCE, checked=NO_WGMMA_FENCE, shape=TILES_OF_WGMMA),
    Bug(WGMMA, "missing_commit", "    wgmma_commit_group();", "    ;", plain="is NaN", checked=REWRITTEN, shape=TILES_OF_WGMMA),
    Bug(WGMMA, "products_not_waited_for", PRODUCTS_WAITED, "", plain="is NaN", checked=REWRITTEN, shape=TILES_OF_WGMMA),
    Bug(WGMMA, "one_group_too_few", PRODUCTS_WAITED, "wgmma_wait_group<1>(sum);", plain="is NaN", checked=REWRITTEN, shape=TILES_OF_WGMMA),
    Bug(WGMMA, "offsets_exchanged", "swizzled ? panel : rows, swizzled ? rows : panel", "swizzled ? rows : panel, swizzled ? panel : rows",
        shape=TILES_OF_WGMMA),
    Bug(WGMMA, "swizzle_of_half_the_width", "W == 64   ? WGMMA_SWIZZLE_128B", "W == 64   ? WGMMA_SWIZZLE_64B", plain="out of bounds",
        checked="out of bounds", shape=TILES_OF_WGMMA),
    Bug(WGMMA, "stride_of_4_rows", "sizeof(A[0]), 8 * sizeof(A[0][0])", "sizeof(A[0]), 4 * sizeof(A[0][0])", shape=TILES_OF_WGMMA),
    Bug(WGMMA, "same_rows_twice", "(smem->A, y * WGMMA_M, i)", "(smem->A, 0, i)", shape=TILES_OF_WGMMA),
    Bug(WGMMA, "same_slice_of_b", "(smem->B, i)", "(smem->B, 0)", shape=TILES_OF_WGMMA),
    Bug(WGMMA, "rows_for_columns", "B_map, i, col + panel * W,", "B_map, col + panel * W, i,", shape=TILES_OF_WGMMA),
    Bug(WGMMA, "bf16_packed_as_halves", "[2 * i + 1], T());", "[2 * i + 1], half());", shape=TILES_OF_WGMMA, flags="--dtype bf16"),
    Bug(WGMMA, "half_of_a_row_lost", "if (col + i < n)", "if (col + i < n / 8 * 8)", header="ptx/row.h", shape=TILES_OF_WGMMA, plain="was never written",
        checked="was never written"),

    Bug(WGMMA_RING, "missing_wait", FULL, ";", plain=LANDING, checked=LANDING, shape=TILES_OF_WGMMA),
    Bug(WGMMA_RING, "parity_stays", "*parity = 1 - *parity;", "*parity = 0;", plain=LANDING, checked=LANDING, shape=TILES_OF_WGMMA),
    Bug(WGMMA_RING, "a_warp_too_many", "mbarrier_init(&smem->empty[stage], WARPS);", "mbarrier_init(&smem->empty[stage], WARPS + 1);", plain=NEVER_OVER,
        checked=NEVER_OVER, shape=TILES_OF_WGMMA),
    Bug(WGMMA_RING, "products_not_waited_for", PRODUCTS_WAITED, "", plain="is NaN", checked=REWRITTEN, shape=TILES_OF_WGMMA),
    Bug(WGMMA_RING, "one_group_too_few", PRODUCTS_WAITED, "wgmma_wait_group<1>(sum);", plain="is NaN", checked=REWRITTEN, shape=TILES_OF_WGMMA),
    Bug(WGMMA_RING, "missing_fence", "    wgmma_fence();", "    ;", plain=NO_WGMMA_FENCE, checked=NO_WGMMA_FENCE, shape=TILES_OF_WGMMA),
    Bug(WGMMA_RING, "a_tile_too_far", "i + STAGES * TILE_K);", "i + (STAGES + 1) * TILE_K);", shape=TILES_OF_WGMMA),
    Bug(WGMMA_RING, "last_tile_not_copied", "if (issuer && i + STAGES * TILE_K < k)", "if (issuer && i + (STAGES + 1) * TILE_K < k)", plain=NEVER_OVER,
        checked=NEVER_OVER, shape=TILES_OF_WGMMA),
    Bug(WGMMA_RING, "one_stage_too_far", "*stage + 1 < STAGES", "*stage + 1 <= STAGES", plain="out of bounds", checked="out of bounds", shape=TILES_OF_WGMMA),

    Bug(SPECIALIZED, "missing_wait", FULL, ";", plain=LANDING, checked=LANDING, shape=TILES_OF_WGMMA),
    Bug(SPECIALIZED, "producer_waits_for_the_first_round", EMPTY + "1 - parity);", EMPTY + "parity);", plain=NEVER_OVER, checked=NEVER_OVER,
        shape=TILES_OF_WGMMA),
    Bug(SPECIALIZED, "a_copy_too_few", "(int i = 0; i < k; i += TILE_K) {\n                // The", "(int i = TILE_K; i < k; i += TILE_K) {\n                // The",
        plain=NEVER_OVER, checked=NEVER_OVER, shape=TILES_OF_WGMMA),
    Bug(SPECIALIZED, "products_not_waited_for", PRODUCTS_WAITED, "", plain="is NaN", checked=REWRITTEN, shape=TILES_OF_WGMMA),
    Bug(SPECIALIZED, "missing_commit", "    wgmma_commit_group();", "    ;", plain="is NaN", checked=REWRITTEN, shape=TILES_OF_WGMMA),
    Bug(SPECIALIZED, "missing_fence", "    wgmma_fence();", "    ;", plain=NO_WGMMA_FENCE, checked=NO_WGMMA_FENCE, shape=TILES_OF_WGMMA),
    Bug(SPECIALIZED, "same_rows_twice", "&smem->tiles[stage], warpgroup * WGMMA_M);", "&smem->tiles[stage], 0);", shape=TILES_OF_WGMMA),
    Bug(SPECIALIZED, "too_many_registers", "start<T, 2, 4, 40, 232>", "start<T, 2, 4, 40, 240>", plain="register deadlock", checked="register deadlock",
        shape=TILES_OF_WGMMA),
    Bug(SPECIALIZED, "warps_of_the_block", "threadIdx.x / 32 % WARPS, lane", "threadIdx.x / 32, lane", plain="was never written",
        checked="race in global memory", shape=TILES_OF_WGMMA),

    Bug(MULTICAST, "missing_wait", FULL, ";", plain=LANDING, checked=LANDING, shape=TILES_OF_WGMMA),
    Bug(MULTICAST, "counts_one_block", "CLUSTER_M * CLUSTER_N * CONSUMERS * WARPS", "CONSUMERS * WARPS",
        plain="race in shared memory", checked="race in shared memory", shape=TILES_OF_WGMMA),
    Bug(MULTICAST, "arrives_at_its_own_alone", "&smem->empty[stage], lane)", "&smem->empty[stage], cluster_rank())",
        plain="race in shared memory", checked="race in shared memory", shape=TILES_OF_WGMMA),
    Bug(MULTICAST, "copies_for_itself_alone", "all = (1 << CLUSTER_M * CLUSTER_N) - 1", "all = 1 << rank",
        plain=NEVER_OVER, checked=NEVER_OVER, shape=TILES_OF_WGMMA),
    Bug(MULTICAST, "same_share_twice", "rank % CLUSTER_N * ", "0 * ", plain="is NaN", checked="target overwritten in flight", shape=TILES_OF_WGMMA),
    Bug(MULTICAST, "rows_of_the_other_share", "A_map, row + first_row, i", "A_map, row, i", shape=TILES_OF_WGMMA),
    Bug(MULTICAST, "no_cluster_barrier", "    cluster_arrive_relaxed();\n    cluster_wait();", "    __syncthreads();\n    ;",
        plain="mbarrier not visible", checked="mbarrier not visible", shape=TILES_OF_WGMMA),
    Bug(MULTICAST, "leaves_before_the_others", "for (int i = 0; i < STAGES; i++) {", "for (int i = STAGES; i < STAGES; i++) {",
        plain="block has left", checked="block has left", shape=TILES_OF_WGMMA),
    Bug(MULTICAST, "products_not_waited_for", PRODUCTS_WAITED, "", plain="is NaN", checked=REWRITTEN, shape=TILES_OF_WGMMA),
    Bug(MULTICAST, "clusters_rounded_down", "ceil_div(args->n, CLUSTER_N * TILE_N) * CLUSTER_N", "ceil_div(args->n, TILE_N) / CLUSTER_N * CLUSTER_N",
        plain="was never written", checked="was never written", shape=(150, 600, 80)),

    Bug(PERSISTENT, "counts_one_block", "CLUSTER_M * CONSUMERS * WARPS", "CONSUMERS * WARPS",
        plain="race in shared memory", checked="race in shared memory", shape=TILES_OF_WGMMA),
    Bug(PERSISTENT, "a_tile_too_few", "* tile_cols(n), clusters = ", "* tile_cols(n) - 1, clusters = ",
        plain="was never written", checked="was never written", shape=TILES_OF_WGMMA),
    Bug(PERSISTENT, "last_group_as_high", "rows = min(group, tile_rows(m) - first)", "rows = group",
        plain="was never written", checked="was never written", shape=(2200, 300, 70)),
    Bug(PERSISTENT, "same_rows_twice", "* CLUSTER_M + cluster_rank()) * TILE_M", "* CLUSTER_M) * TILE_M",
        plain="was never written", checked="was never written", shape=TILES_OF_WGMMA),
    Bug(PERSISTENT, "consumers_count_blocks", "CONSUMER_REGISTERS>();\n        for (int tile = blockIdx.x / CLUSTER_M;",
        "CONSUMER_REGISTERS>();\n        for (int tile = blockIdx.x;", plain=NEVER_OVER, checked=NEVER_OVER, shape=TILES_OF_WGMMA),
    Bug(PERSISTENT, "products_not_waited_for", PRODUCTS_WAITED, "", plain="is NaN", checked=REWRITTEN, shape=TILES_OF_WGMMA),
    Bug(PERSISTENT, "leaves_before_the_other", "for (int i = 0; i < STAGES; i++) {", "for (int i = STAGES; i < STAGES; i++) {",
        plain="block has left", checked="block has left", shape=TILES_OF_WGMMA),

    Bug(OVERLAPPED, "missing_proxy_fence", "                fence_proxy_async_shared();", "                ;",
        plain="missing proxy fence", checked="missing proxy fence", shape=TILES_OF_WGMMA),
    Bug(OVERLAPPED, "panel_not_waited_for", "                bulk_wait_group_read<OUT - 1>();", "                ;",
        checked=REWRITTEN, shape=TILES_OF_WGMMA),
    Bug(OVERLAPPED, "one_group_too_few", "bulk_wait_group_read<OUT - 1>();", "bulk_wait_group_read<OUT>();", checked=REWRITTEN, shape=TILES_OF_WGMMA),
    Bug(OVERLAPPED, "one_lane_waits", "__syncwarp();  // the engine has", "//  // the engine has",
        plain="race in shared memory", checked="race in shared memory", shape=TILES_OF_WGMMA),
    Bug(OVERLAPPED, "rows_not_whole", "__syncwarp();  // all lanes have", "//  // all lanes have",
        plain="race in shared memory", checked="race in shared memory", shape=TILES_OF_WGMMA),
    Bug(OVERLAPPED, "leaves_before_the_engine", "        bulk_wait_group_read<0>();  // the engine has read the last", "        ;  // the engine has read the last",
        plain=GIVEN_UP, checked=GIVEN_UP, shape=TILES_OF_WGMMA),
    Bug(OVERLAPPED, "missing_swizzle", "((x + right) ^ row % 8)", "(x + right)", shape=TILES_OF_WGMMA),
    Bug(OVERLAPPED, "rest_not_stored", "i = whole; i < n;", "i = n; i < n;",
        plain="was never written", checked="was never written", shape=(150, 267, 400)),
    Bug(OVERLAPPED, "whole_rows_by_the_engine", "max(VECTOR, args->n / VECTOR * VECTOR)", "args->n",
        plain="wrote behind row", checked="target overwritten in flight", shape=(150, 267, 400)),
    Bug(OVERLAPPED, "quarters_exchanged", "pack(sum[x][2], sum[x][3], T()),", "pack(sum[x + 1][0], sum[x + 1][1], T()),", shape=TILES_OF_WGMMA),
]

# ---- rounding to 16 bits ----

IN_BF16, WEIGHTS, STORE_ROWS = "--dtype bf16", "pack(first, second, T())", "// [store_rows]"


def dropped(value, bits, added="0"):
    """A float without its last bits. added: half of what is dropped, to round it."""
    return f"__uint_as_float((__float_as_uint({value}) + {added}) >> {bits} << {bits})"


def weights(how):
    return f"pack({how('first')}, {how('second')}, T())"


def cut(value):
    return dropped(value, 16)


def short(value):
    """To one digit fewer than bf16 has, where few keys have all the weight."""
    return dropped(value, 17, "0x10000")


MERGED = "T(merge_parts<16>(&O_part[i], (size_t)rows * D, &lse_part[row], rows, parts, &lse_of_row))"
CUT_ALL = f"#define pack(first, second, type) (pack)({cut('first')}, {cut('second')}, type)\n"

BUGS += [
    Bug(WARP_ROWS, "weights_cut_off", WEIGHTS, weights(cut), shape=TWO_BLOCKS, flags=IN_BF16),
    Bug(WARP_ROWS, "weights_a_digit_short", WEIGHTS, weights(short), shape=(1, 8, 2, 32), input="scaled", flags=IN_BF16),
    Bug(WARP_ROWS, "weights_packed_as_halves", WEIGHTS, "pack(first, second, half())", shape=HEADS, flags=IN_BF16),
    Bug(WARP_ROWS, "output_cut_off", STORE_ROWS, CUT_ALL + STORE_ROWS, shape=HEADS, flags=IN_BF16),
    Bug(GQA, "output_cut_off", STORE_ROWS, CUT_ALL + STORE_ROWS, shape=TWO_BLOCKS, flags=f"{IN_BF16} --causal --lse"),
    Bug(SPLIT_KEYS, "weights_packed_as_halves", f"+ i] = {WEIGHTS}", "+ i] = pack(first, second, half())", variant="packed", shape=ONE_QUERY, flags=f"{MANY_KEYS} {IN_BF16}"),
    Bug(SPLIT_KEYS, "merged_output_cut_off", MERGED, f"T({cut(MERGED[2:-1])})", variant="packed", shape=ONE_QUERY, flags=f"{MANY_KEYS} {IN_BF16}"),
]

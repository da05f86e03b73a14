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


NAIVE, TILED, REGISTER = "03_matmul_naive", "04_matmul_tiled", "05_matmul_register"
SUM = "sum += A[(size_t)row * k + i] * B[(size_t)i * n + col];"
STORE = "C[(size_t)row * n + col] = sum;"
LOAD_A = "const float a = row < m && A_col < k ? A[(size_t)row * k + A_col] : 0;"
LOAD_B = "const float b = B_row < k && col < n ? B[(size_t)B_row * n + col] : 0;"
KEEP_B = "B_smem[threadIdx.y][threadIdx.x] = b;"
FIRST_BARRIER = "__syncthreads();  // both tiles are whole before any thread reads them"
SECOND_BARRIER = "__syncthreads();  // every thread has read both tiles before the next two replace them"
TILES = "for (int tile = 0; tile < k; tile += TILE) {"
TWO_DIMS = "if (row < m && col < n)\n        C["
KEPT_B = "B[(size_t)B_row * n + B_col] : 0;\n        }\n        "
FIRST_OF_REGISTER = KEPT_B + FIRST_BARRIER
SECOND_OF_REGISTER = "// exercise: end product\n        " + SECOND_BARRIER
FIRST_OF_VECTOR = "load_B<aligned>(B_from, n, left));\n            " + FIRST_BARRIER
SECOND_OF_VECTOR = "multiply<ordered>(&smem[0], row, col, sum);\n            " + SECOND_BARRIER
ALIGNED = (70, 44, 52)

SOFTMAX, ONLINE = "08_softmax_naive", "09_softmax_online"
EACH_COL = "for (int col = first; col < end; col += step)\n        "
LARGEST = "m = fmaxf(m, x[col]);"
SUMMAND = "l += expf(x[col] - m);"
QUOTIENT = "y[col] = expf(x[col] - m) / l;"
MERGE = "return {m, a.l * weight(a.m, m) + b.l * weight(b.m, m)};"
GUARD = "return expf(x - (m == -INFINITY ? 0 : m));"

DEVICE, MACHINE = "machine", (5003, 3)  # -n, --rounds
COPY_WORD = "((uint4 *)out)[i] = ((const uint4 *)in)[i];"

ATTENTION, FLASH = "12_attention_naive", "13_flash_scalar"
HEADS = (1, 2, 70, 64)
PUT = "O[((size_t)blockIdx.z * n + row) * d + col] = sum;"
SECOND_OF_FLASH = "__syncthreads();  // every thread has read both tiles before the next two replace them"

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

    Bug(REGISTER, "missing_first_barrier", FIRST_OF_REGISTER, KEPT_B, checked="race in shared memory", variant="register"),
    Bug(REGISTER, "missing_second_barrier", SECOND_OF_REGISTER, SECOND_OF_REGISTER.removesuffix(SECOND_BARRIER),
        checked="race in shared memory", variant="register"),
    Bug(REGISTER, "missing_first_barrier_vector", FIRST_OF_VECTOR, FIRST_OF_VECTOR.removesuffix(FIRST_BARRIER),
        checked="race in shared memory", variant="vector"),
    Bug(REGISTER, "missing_second_barrier_vector", SECOND_OF_VECTOR, SECOND_OF_VECTOR.removesuffix(SECOND_BARRIER),
        checked="race in shared memory", variant="vector"),
    Bug(REGISTER, "missing_barrier_before_the_loop", "__syncthreads();  // the first two tiles are whole", "",
        checked="race in shared memory"),
    Bug(REGISTER, "missing_barrier_in_the_loop", "__syncthreads();  // these tiles are read, the next are whole", "",
        checked="race in shared memory"),
    Bug(REGISTER, "one_buffer", "&smem[1 - now]", "&smem[now]", checked="race in shared memory"),
    Bug(REGISTER, "buffers_swapped", "multiply<ordered>(&smem[now]", "multiply<ordered>(&smem[1 - now]",
        checked="race in shared memory"),
    Bug(REGISTER, "half_swapped", "a[y ^ ordered]", "a[y]"),
    Bug(REGISTER, "order_lost", "* b[x];\n            }", "* b[turn];\n            }"),
    Bug(REGISTER, "wrong_quarter", "C_row = blockIdx.y * TILE + row + y / 4 * (WARP_M / 2)",
        "C_row = blockIdx.y * TILE + row + y / 4 * 4", variant="vector", checked="race in global memory"),
    Bug(REGISTER, "lost_tail_of_k", "left > 0; left -= buffers * TILE_K)", "left >= TILE_K; left -= buffers * TILE_K)"),
    Bug(REGISTER, "tail_read_as_it_comes", "left > 3 ? from[3] : 0", "from[3]", checked="out of bounds"),
    Bug(REGISTER, "write_out_of_bounds", "if (aligned && C_row < m && C_col < n)", "if (aligned && C_row <= m && C_col < n)",
        plain="past the end of C", checked="out of bounds", shape=ALIGNED),
    Bug(REGISTER, "scalar_tail_out_of_bounds", "if (C_row < m && C_col + i < n)", "if (C_row < m && C_col + i <= n)",
        checked="race in global memory"),  # with the next row's first element; out of bounds after the last
    Bug(REGISTER, "scalar_tail_lost", "if (C_row < m && C_col + i < n)", "if (C_row < m && C_col + 3 < n)",
        plain="was never written", checked="was never written"),
    Bug(REGISTER, "zeros", "to[i] = sum[y][x + i];", "to[i] = 0;"),
    Bug(REGISTER, "lost_tail_of_a_block", "ceil_div(args->m, TILE));", "args->m / TILE);", plain="was never written",
        checked="was never written", shape=(150, 45, 50)),

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
    Bug(SOFTMAX, "missing_first_barrier", "__syncthreads();  // all values are there", "", checked="race in shared memory",
        shape=(5, 300)),
    Bug(SOFTMAX, "missing_second_barrier",
        "__syncthreads();  // every thread has the result before the array is used again", "",
        checked="race in shared memory", shape=(5, 300)),
    Bug(SOFTMAX, "half_the_threads_lost", "half = THREADS / 2", "half = THREADS / 4", shape=(5, 300)),
    Bug(SOFTMAX, "lost_tail_of_a_block", "ceil_div(rows, BLOCK_ROWS)", "rows / BLOCK_ROWS", plain="was never written",
        checked="was never written", variant="thread_per_row", shape=(70, 45)),
    Bug(SOFTMAX, "write_one_element_further", QUOTIENT, "y[col + 1] = expf(x[col] - m) / l;", checked="out of bounds",
        shape=(5, 300)),

    Bug(ONLINE, "missing_rescale", MERGE, "return {m, a.l + b.l};", variant="one_pass", shape=(5, 300)),
    Bug(ONLINE, "rescaled_on_one_side", MERGE, "return {m, a.l + b.l * weight(b.m, m)};", variant="shuffled", shape=(5, 300)),
    Bug(ONLINE, "max_not_carried", "mine[r] = {m, mine[r].l", "mine[r] = {largest(x), mine[r].l", variant="wide",
        shape=(5, 3000)),
    Bug(ONLINE, "wrong_merge_at_minus_infinity", GUARD, "return expf(x - m);", variant="one_pass", plain="is NaN",
        shape=(5, 100)),
    Bug(ONLINE, "wrong_merge_of_masked", GUARD, "return expf(x - m);", input="masked", plain="is NaN", shape=(9, 100)),
    Bug(ONLINE, "nothing_is_not_0", "part mine[1] = {{-INFINITY, 0}};", "part mine[1] = {{0, 0}};", variant="shuffled",
        input="huge", plain="is NaN", shape=(5, 300)),
    Bug(ONLINE, "tail_unmasked", ": NONE;", ": float4{};", shape=(5, 300)),
    Bug(ONLINE, "tail_read_as_it_comes", "i * threads + thread < at.vectors ? at.x4[i * threads + thread] : NONE;",
        "at.x4[i * threads + thread];", checked="out of bounds", shape=(5, 300)),
    Bug(ONLINE, "lost_ends", "p_end[r] = thread < at.ends ? at.x[end_col(at, thread)] : -INFINITY;",
        "p_end[r] = -INFINITY;", shape=(5, 301)),
    Bug(ONLINE, "ends_never_written", "if (thread < at.ends)", "if (thread < at.head)", plain="was never written",
        checked="was never written", shape=(5, 301)),
    Bug(ONLINE, "own_factor_lost", "weight(mine[r].m, all[r].m) / all[r].l;", "1 / all[r].l;", shape=(5, 300)),
    Bug(ONLINE, "missing_barrier", "__syncthreads();  // the parts of all warps are there", "", variant="held",
        checked="race in shared memory", shape=(5, 300)),
    Bug(ONLINE, "missing_second_barrier",
        "__syncthreads();  // this round's parts are there before the next round reads them", "", variant="one_pass",
        checked="race in shared memory", shape=(5, 300)),
    Bug(ONLINE, "another_rows_part", "mine[r] = partial[r][first + threadIdx.x % warps];",
        "mine[r] = partial[r][threadIdx.x % warps];", shape=(6, 1500)),
    Bug(ONLINE, "lanes_left_out", "l += __shfl_xor_sync(ALL, l, far);", "l += __shfl_xor_sync(ALL, l, 1);", shape=(5, 300)),
    Bug(ONLINE, "transposed_index", "at.y4[i * threads + thread] =", "at.y4[thread * VECTORS + i] =", checked="WRONG",
        shape=(5, 2048)),
    Bug(ONLINE, "write_one_vector_further", "at.y4[i * threads + thread] =", "at.y4[i * threads + thread + 1] =",
        checked="out of bounds", shape=(5, 300)),

    Bug(DEVICE, "copy_zeros", COPY_WORD, "((uint4 *)out)[i] = make_uint4(0, 0, 0, 0);", variant="copy", shape=MACHINE),
    Bug(DEVICE, "copy_lost_tail", "if (i < n % 4)", "if (i + 1 < n % 4)", variant="copy", shape=MACHINE),
    Bug(DEVICE, "copy_lost_last_block", "(args->n - 1) / (4 * COPY_THREADS) + 1", "(args->n - 1) / (4 * COPY_THREADS)",
        variant="copy", shape=MACHINE),
    Bug(DEVICE, "copy_out_of_bounds", "if (i < whole)", "if (i <= whole)", variant="copy", plain="past the end of the output",
        checked="out of bounds", shape=MACHINE),
    Bug(DEVICE, "lost_round", "takes a tenth of the time\n    for (int i = 0;", "takes a tenth of the time\n    for (int i = 1;",
        variant="fma", shape=MACHINE),
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
    Bug(ATTENTION, "missing_first_barrier", "__syncthreads();  // all values are there", "", checked="race in shared memory",
        shape=HEADS),
    Bug(ATTENTION, "missing_second_barrier",
        "__syncthreads();  // every thread has the result before the array is used again", "",
        checked="race in shared memory", shape=HEADS),
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
    Bug(FLASH, "missing_rescale_of_the_sum", "l[r] = l[r] * factor[r] + sum;", "l[r] = l[r] + sum;", shape=HEADS),
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
    Bug(FLASH, "slices_not_summed", "far < 32; far *= 2", "far < 16; far *= 2", shape=HEADS),
    Bug(FLASH, "another_rows_slice", "s[r][key], far);", "s[r][key], 1);", shape=HEADS),
    Bug(FLASH, "first_head_for_all", "K_tile = K + head +", "K_tile = K +", shape=HEADS),
    Bug(FLASH, "lost_last_tile", "tile < n; tile += TILE<D>)", "tile + TILE<D> <= n; tile += TILE<D>)", shape=HEADS),
    Bug(FLASH, "write_out_of_bounds", "if (row + r * LANES < n)\n                to[",
        "if (row + r * LANES <= n)\n                to[", plain="past the end of O", checked="out of bounds",
        shape=(1, 1, 70, 32)),
    Bug(FLASH, "lost_tail_of_a_block", "blocks(ceil_div(n, BLOCK_ROWS<D, ROWS>)", "blocks(ceil_div(n, 2 * BLOCK_ROWS<D, ROWS>)",
        plain="was never written", checked="was never written", shape=(1, 1, 200, 64)),
]

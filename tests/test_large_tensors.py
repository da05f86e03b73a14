"""Tensors of more than 2^32 elements, on any machine: tests/large_tensors runs the last blocks of a launch alone, on memory
whose pages exist where they are touched. Each step is right there. And each of its `(size_t)` is needed: with 32 bits in place
of 64 at that one place, signed or not, some run goes wrong."""

import itertools
import json
import re

import pytest

from conftest import BUILD, ROOT, TESTS, Program, ensure_build, run, source_of

ensure_build()
STEPS = json.loads((ROOT / "build" / "steps.json").read_text())["steps"]

RINGS = "19_matmul_cp_async", "20_matmul_warp_tile", "21_matmul_swizzle", "22_matmul_fragments_ahead", "23_matmul_block_order"

# Where the launches of an operation end beyond 2^32 elements. Matmul's make A, B or C that large, with rows at multiples of
# 16 bytes and without.
SIZES = {
    "matmul": [(2097115, 5, 2101), (3, 1073741821, 21), (2097115, 2101, 5),
               (2097116, 4, 2100), (3, 1073741820, 20), (2097116, 2104, 4)],  # m, n, k
    # Of an odd number of groups of 8 tiles' rows, whatever the tile's height: every other group ends with C's first column.
    "44_matmul_capstone": [(2093115, 5, 2101), (3, 1073741821, 21), (2093115, 2101, 5),
                           (2093116, 4, 2100), (3, 1073741820, 20), (2093116, 2104, 4)],
    **{name: [(2097115, 5, 2101), (3, 1073741821, 21), (2097115, 2101, 5), (5, 67109000, 70)]  # and B beyond its first 64 rows
       for name in RINGS},
    "softmax": [(268435471, 17)],  # rows, cols
    "scale": [(268435472, 19), (1073741808, 19)],  # 2^32 elements, and 2^32 vectors, with nothing behind the last
    "attention": [(65535, 520, 128)],  # heads, seqlen, head_dim
    "13_flash_scalar": [(65535, 2080, 128)], "15_flash_wmma": [(65535, 4160, 128)],  # which count in vectors
    "copy": [(4 * 4194305,)], "littles_law": [(4194305, 4, 1), (4194305, 16, 1), (4194305, 16, 4)],
}
# Where a block on each SM would otherwise go through all of a tensor.
SMS = dict.fromkeys(("36_bulk_copy", "42_matmul_persistent", "43_matmul_overlapped_store", "44_matmul_capstone", "48_flash_hopper_causal", "49_flash_capstone"),
                    "100000000")
# CUDA's grids have no more than 65535 blocks along y.
ONLY = {"strided": lambda m, n, k: n <= 32 * 65535,
        **dict.fromkeys(("38_matmul_wgmma", "39_matmul_ring", "40_matmul_warp_specialized", "41_matmul_multicast"), lambda m, n, k: n <= 192 * 65535)}
MANY = {"13_flash_scalar": 4, "15_flash_wmma": 4, "16_flash_wmma_warp_max": 4}  # blocks along a dimension of which the last is enough; 06 needs all of a head

AT_END = {"41_matmul_multicast": 4, "42_matmul_persistent": 2, "43_matmul_overlapped_store": 2, "44_matmul_capstone": 2,  # blocks that run, whole clusters
          "49_flash_capstone": 75, "48_flash_hopper_causal": 75}  # five of each head of the last group, 65535 % 126; the last rows' are the first of a group

# What no launch makes that large before it takes hours: within a head, where the work grows by the square of seqlen; and
# what is no index: a sum of bits, and a remainder that the lower bits decide.
EXCEPT = {"12_attention_naive": ("(size_t)i * n + col]", "(size_t)col * d + i]", "(size_t)i * d + col]"),
          "13_flash_scalar": ("(size_t)tile * C", "(size_t)(row + r * LANES) * C"),
          "15_flash_wmma": ("(size_t)first_row * C", "(size_t)tile * C", "(size_t)O_row * C"),
          "16_flash_wmma_warp_max": ("(size_t)first_row * d", "(size_t)tile * d", "(size_t)O_row * d"),
          **dict.fromkeys(("24_flash_mma_split_kv", "25_flash_mma_split_q"),
                          ("(size_t)first_row * D", "(size_t)tile * D", "(size_t)row * D")),
          **dict.fromkeys(("26_flash_mma_stages", "27_flash_mma_shared_kv", "28_flash_mma_shared_qkv", "29_flash_mma_collective_store",
                           "30_flash_mma_swizzle"),
                          ("(size_t)key * D", "(size_t)first * D", "(size_t)first_row * D", "(size_t)row * D")),
          **dict.fromkeys(("31_flash_mma_warp_rows", "32_flash_mma_causal"), ("(size_t)row * D",)),
          # a number for each row, of which 2^31 would be more than 2^36 elements of Q
          "33_flash_mma_gqa": ("(size_t)row * D", "(size_t)blockIdx.x * n]"),
          # the same; and bytes of one head's K and V, of which 2^32 are more keys than any size here has
          "48_flash_hopper_causal": ("(size_t)head * problem.n]", "(size_t)2 * n_kv"),
          "49_flash_capstone": ("(size_t)4 * n_kv",),
          # the same as of 33; and parts, of which there are several only where all rows together are fewer than the SMs hold
          "34_flash_mma_split_keys": ("(size_t)row * PITCH", "(size_t)first * D", "(size_t)blockIdx.x * rows", "(size_t)rows + head_row",
                                      "(size_t)blockIdx.x * THREADS", "(size_t)rows * D", "(size_t)by.parts", "(size_t)args->batch"),
          "35_flash_mma_tiling_qk": ("(size_t)row * d", "(size_t)left.tile * d", "(size_t)(left.tile + key) * d", "(size_t)first_row * d"),
          # rows 32 apart, of so many columns that k is 2^26
          **dict.fromkeys(RINGS, ("(size_t)y * A_pitch",))}


def number_casts(text):
    """Each `(size_t)` becomes last_blocks.h's type of that number, which NARROW_CAST can make narrower."""
    numbers = itertools.count(1)
    return re.sub(r"\(size_t\)", lambda _: f"(wide<{next(numbers)}>)", text)


def program_of(step):
    run = f"-DMANY={MANY.get(step['name'], 1024)}", f"-DAT_END={AT_END.get(step['name'], 1)}"
    return Program(source_of(step["name"]), options=("--plain", *run, "-include", str(TESTS / "large_tensors" / "last_blocks.h"),
                                                     "-I", str(ROOT / "common")),
                   libraries=(str(TESTS / "large_tensors" / f"{step['operation']}.c"), str(BUILD / "common" / "libcommon.a")),
                   edit=number_casts)


INT_LISTS = {"axpy", "sum"}  # operations whose lists have an int of elements: no index of theirs needs more than 32 bits
LARGE = [step for step in STEPS if step["operation"] not in INT_LISTS]
PROGRAMS = [pytest.param(program_of(step), step, id=step["name"]) for step in LARGE]
CASTS = [pytest.param(program_of(step), step, number, id=f"{step['name'][:2]}-{number}-line-{text.count(chr(10), 0, cast.start()) + 1}")
         for step in LARGE for text in [source_of(step["name"]).read_text()]
         for number, cast in enumerate(re.finditer(r"\(size_t\)", text), 1)
         if not text.startswith(EXCEPT.get(step["name"], ()), cast.start())]


def runs_of(program, step, **environment):
    """Each variant at each size, as far as somebody asks: what was run, and how it ended."""
    for variant in step["variants"]:
        for size in SIZES.get(variant) or SIZES.get(step["name"]) or SIZES.get(step["operation"], ()):
            if ONLY.get(variant, ONLY.get(step["name"], lambda *_: True))(*size):
                sms = {"SIMT_SMS": SMS[step["name"]]} if step["name"] in SMS else {}
                done = run(program, variant, *size, SIMT_TIMEOUT="2", **sms, **environment)
                if done.returncode == 77:
                    pytest.skip(done.stderr)
                yield (variant, *size), done


@pytest.mark.parametrize("program, step", PROGRAMS)
def test_right_at_the_end_of_large_tensors(compile_cu, program, step):
    for what, done in runs_of(compile_cu(program), step):
        assert done.returncode == 0, f"{what}:\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("program, step, number", CASTS)
def test_every_index_needs_64_bits(compile_cu, program, step, number):
    for width in ("int", "unsigned"):
        assert any(done.returncode for _, done in runs_of(compile_cu(program), step, NARROW_CAST=f"{width}:{number}")), width

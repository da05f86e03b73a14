#!/usr/bin/env python3
"""All that a step owes a real GPU, in one call: right, clean under compute-sanitizer, counted by ncu, timed and recorded.

    bench/verify.py 01 04 --out FOLDER     needs nvcc, a GPU, compute-sanitizer, ncu and, for peers, PyTorch

Builds the steps named for the `cuda` preset, then for each of them: every variant at shapes around the tile's edges, and beyond 2^31
elements (a minute or two a step); memcheck and racecheck; what ncu counts of one launch at the emulator's default shape,
at the shape of tours and plots, and where its lesson analyses another, there, beside what the compiler reports for each GPU
of tools/occupancy.py; bench/peers.py. FOLDER gets each step's results.jsonl (what was timed, then what ncu counted), the
sweep.jsonl or matrix.jsonl of a step that has one, and a log. Prints a short table last.
"""
import argparse
import itertools
import json
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT), str(ROOT / "tests" / "truth")]
from collect import known_metrics, ncu, number, provenance  # noqa: E402
from peers import CAUSAL, TYPES_TOGETHER, dtype_flags, of_16384, source_of  # noqa: E402

from tools import ptxas  # noqa: E402
from tools.lines import belongs  # noqa: E402
from tools.machine import can_run  # noqa: E402
from tools.metrics import CYCLES, LAUNCH, PERCENT, STALLS, SUMMED, WARPS  # noqa: E402
from tools.occupancy import GPUS  # noqa: E402

SIZES = [f"-n {n}" for n in (1, 31, 32, 33, 255, 257, 1023, 4097, 1000003)]

# By operation; `matmul 16-bit` is for steps whose inputs have 16 bits, where their row differs from that of matmul.
EDGES = {
    "axpy": SIZES, "sum": SIZES,
    "device": ["-n 1 --rounds 1", "-n 3 --rounds 2", "-n 1023 --rounds 31", "-n 4097 --rounds 33", "-n 1000003"],
    "matmul": ["-m 1 -n 1 -k 1", "-m 31 -n 32 -k 33", "-m 33 -n 31 -k 1", "-m 97 -n 130 -k 40", "-m 300 -n 301 -k 299",
               "-m 127 -n 129 -k 9", "-m 260 -n 132 -k 36"],
    "matmul 16-bit": ["-m 1 -n 1 -k 1", "-m 1 -n 8 -k 8", "-m 15 -n 9 -k 17", "-m 17 -n 7 -k 15", "-m 33 -n 31 -k 1",
                      "-m 97 -n 130 -k 40", "-m 127 -n 129 -k 31", "-m 129 -n 127 -k 33", "-m 300 -n 301 -k 299",
                      "-m 260 -n 136 -k 72 --row-padding 8", "-m 64 -n 72 -k 4099", "-m 200 -n 120 -k 63 --input scaled",
                      "-m 1000 -n 1001 -k 999", "-m 512 -n 640 -k 1024 --input scaled"],
    "softmax": ["--rows 1 --cols 1", "--rows 33 --cols 31", "--rows 3 --cols 1027 --input masked",
                "--rows 130 --cols 4099 --input scaled", "--rows 70 --cols 300 --input huge", "--rows 9 --cols 100003",
                "--rows 5 --cols 262144 --input masked", "--rows 64 --cols 64 --input equal"],
    "scale": [f"--rows {rows} --cols {cols}" for rows, cols in (
        (1, 1), (1, 3), (3, 1), (1, 4), (1, 4095), (1, 4096), (1, 4097), (31, 33), (127, 31), (128, 32), (129, 33), (130, 7), (1, 100003),
        (100003, 1), (257, 4099), (1000, 1000), (4096, 4100))],
    "attention": [f"--heads 3 --seqlen {n} --head-dim {d} --input {kind}"
                  for n, d, kind in ((1, 64, "normal"), (31, 32, "scaled"), (64, 96, "normal"), (65, 128, "huge"),
                                     (257, 32, "equal"), (300, 64, "scaled"), (300, 96, "huge"), (4097, 64, "normal"),
                                     (8192, 64, "scaled"), (8192, 32, "huge"))],
    "attention 16-bit": [f"--heads 3 --seqlen {n} --head-dim {d} --input {kind}"
                         for n, d, kind in ((1, 64, "normal"), (1, 128, "huge"), (2, 32, "scaled"), (15, 96, "normal"), (16, 32, "equal"),
                                            (17, 128, "scaled"), (31, 32, "huge"), (33, 64, "scaled"), (63, 96, "huge"), (64, 96, "normal"),
                                            (65, 128, "huge"), (127, 64, "normal"), (129, 32, "scaled"), (255, 128, "equal"),
                                            (257, 32, "equal"), (300, 64, "scaled"), (300, 96, "huge"), (1023, 128, "scaled"),
                                            (4097, 64, "normal"), (8192, 64, "scaled"), (8192, 32, "huge"), (8192, 128, "normal"))],
}
# Beside those of its kind, for what a step alone accepts.
EDGES["16_flash_wmma_warp_max"] = EDGES["attention 16-bit"] + [
    f"--heads 3 --seqlen {n} --head-dim {d} --input {kind}"
    for n, d, kind in ((33, 1, "normal"), (65, 7, "huge"), (129, 17, "scaled"), (300, 40, "equal"), (257, 80, "scaled"), (100, 113, "huge"))]
EDGES |= dict.fromkeys(("25_flash_mma_split_q", "26_flash_mma_stages", "27_flash_mma_shared_kv"), EDGES["attention 16-bit"] + [
    f"--heads 3 --seqlen {n} --head-dim 256 --input {kind}"
    for n, kind in ((1, "normal"), (33, "scaled"), (129, "huge"), (300, "equal"), (4097, "normal"))])
INPUTS, HEAD_DIMS = ("normal", "scaled", "huge", "equal"), (32, 64, 96, 128)
LENGTHS = 1, 2, 15, 16, 17, 33, 47, 48, 49, 63, 64, 65, 127, 128, 129, 257, 1023, 4097, 8192  # beside the edges of tiles, and long
UNEQUAL = (1, 70), (17, 300), (64, 65), (48, 129), (128, 4097), (1, 8192), (257, 1000), (500, 501)  # queries and keys, and keys and queries
ANY_HEAD_DIM = 16, 48, 64, 80, 128, 144, 256, 272, 320, 384, 400, 512, 528, 768, 784, 1008, 1024


def masked(lengths, heads, more="", head_dims=HEAD_DIMS):
    """Each pair of queries and keys with the mask and without, and with the next of the inputs, head dimensions and heads of K and V."""
    turn = itertools.cycle(itertools.product(INPUTS, head_dims))
    return [f"--batch 2 --heads {heads[-1]} --kv-heads {kv_heads} --seqlen {n} --kv-seqlen {n_kv} --head-dim {d} --input {kind}{more}{mask}"
            for mask in ("", " --causal") for (n, n_kv), kv_heads, (kind, d) in zip(lengths, itertools.cycle(heads), turn)]


EDGES["32_flash_mma_causal"] = masked([(n, n) for n in LENGTHS], [3])
EDGES["33_flash_mma_gqa"] = (masked([(n, n) for n in LENGTHS], [1, 2, 4])
                             + masked([pair for n, n_kv in UNEQUAL for pair in ((n, n_kv), (n_kv, n))], [1, 2, 4], " --lse"))
EDGES["34_flash_mma_split_keys"] = EDGES["33_flash_mma_gqa"] + masked(
    [(n, n_kv) for n in (1, 3, 16, 17, 64) for n_kv in (127, 129, 1000, 4095, 32769)], [1, 2, 4], " --lse")  # and few rows, many parts
EDGES["35_flash_mma_tiling_qk"] = [f"--heads 3 --seqlen {n} --head-dim {d} --input {kind}" for n, (kind, d) in zip(
    itertools.cycle((1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 257, 300, 1023, 4097)), itertools.product(INPUTS, ANY_HEAD_DIM))]
# One less, one more, and as much as the tiles of wgmma: 128 × 192 and 64 or 128 × 256 of C, from 64 of k.
OF_WGMMA = EDGES["matmul 16-bit"] + [
    f"-m {m} -n {n} -k {k} --input {kind}" for m, n, k, kind in (
        (63, 191, 63, "normal"), (64, 192, 64, "scaled"), (65, 193, 65, "normal"), (128, 256, 128, "scaled"), (129, 257, 129, "normal"),
        (127, 255, 127, "scaled"), (1, 513, 321, "normal"), (513, 1, 449, "scaled"), (385, 577, 1, "normal"))]
EDGES |= dict.fromkeys(("38_matmul_wgmma", "39_matmul_ring", "40_matmul_warp_specialized"), OF_WGMMA)
# And as the tiles of a cluster, 256 × 256, 128 × 512 or 512 × 256 of C, and more of them than clusters.
EDGES |= dict.fromkeys(("41_matmul_multicast", "42_matmul_persistent", "43_matmul_overlapped_store"), OF_WGMMA + [
    f"-m {m} -n {n} -k {k} --input {kind}" for m, n, k, kind in (
        (255, 511, 320, "normal"), (256, 512, 321, "scaled"), (257, 513, 319, "normal"), (511, 263, 64, "scaled"), (513, 9, 65, "normal"),
        (2305, 2049, 70, "scaled"), (2500, 3001, 200, "normal"))])
# And as the tiles of each form, of which 132 multiprocessors choose: few rows and K in two halves, few rows, and each of the others.
EDGES["44_matmul_capstone"] = EDGES["43_matmul_overlapped_store"] + [
    f"-m {m} -n {n} -k {k} --input {kind}" for m, n, k, kind in (
        (1, 4096, 4096, "normal"), (7, 4001, 1000, "scaled"), (63, 4096, 129, "normal"), (64, 4097, 321, "scaled"),
        (1, 9001, 300, "normal"), (64, 11008, 513, "scaled"), (65, 4090, 900, "normal"), (128, 4096, 1027, "scaled"),
        (255, 4001, 9000, "normal"), (250, 4000, 700, "scaled"), (500, 4001, 330, "normal"), (300, 11001, 200, "scaled"),
        (513, 8000, 130, "normal"), (9001, 257, 449, "scaled"))]
# One less, one more, and as much as the tiles of attention by wgmma: 128 or 192 rows, 64 to 128 keys, and several of each.
WGMMA_HEAD_DIMS = 64, 128, 256
OF_FLASH_WGMMA = [f"--heads 3 --seqlen {n} --head-dim {d} --input {kind}" for (n, d), kind in zip(
    itertools.product((1, 2, 9, 63, 64, 65, 79, 81, 127, 128, 129, 191, 192, 193, 257, 300, 385, 1023, 4097), WGMMA_HEAD_DIMS), itertools.cycle(INPUTS))]
FLASH_WGMMA = "45_flash_wgmma", "46_flash_pingpong", "47_flash_overlap"
EDGES |= dict.fromkeys(FLASH_WGMMA, OF_FLASH_WGMMA + [
    f"--batch 2 --heads 8 --seqlen 8192 --head-dim {d} --input {kind}" for d, kind in zip(WGMMA_HEAD_DIMS, INPUTS)])
# And with a mask, with other numbers of keys, and with more work than blocks.
EDGES["48_flash_hopper_causal"] = (
    masked([(n, n) for n in (*LENGTHS, 191, 192, 193, 255, 256)], [1, 2, 4], " --lse", WGMMA_HEAD_DIMS)
    + masked([pair for n, n_kv in UNEQUAL for pair in ((n, n_kv), (n_kv, n))], [1, 2, 4], " --lse", WGMMA_HEAD_DIMS)
    + masked([(300, 300), (513, 513), (300, 1000), (1000, 300)], [5, 10, 100], "", WGMMA_HEAD_DIMS))
# And as the tiles of each of its forms, of which shape and multiprocessors choose.
EDGES["49_flash_capstone"] = EDGES["48_flash_hopper_causal"] + masked(
    [(n, n) for n in (79, 80, 81, 159, 160, 161, 383, 384, 385, 2047, 2500)], [4, 60], " --lse", WGMMA_HEAD_DIMS)
# More than 2^31 elements in a tensor, so that an index of 32 bits fails, where a step takes that many: 10 to 50 GB on the GPU and on the host.
LARGE = {
    "axpy": ["-n 1073741824"], "sum": ["-n 1073741824"],  # the most that their int takes
    "device": ["-n 2200000003"],
    "matmul": ["-m 2097115 -n 5 -k 1100", "-m 5 -n 2097116 -k 1100", "-m 2097116 -n 1100 -k 4"],
    "scale": ["--rows 2097169 --cols 1030", "--rows 3 --cols 715827890"],
    "softmax": ["--rows 2097169 --cols 1030"],
    "attention": ["--heads 65535 --seqlen 260 --head-dim 128"],
    "32_flash_mma_causal": ["--heads 65535 --seqlen 260 --head-dim 128 --causal"],
    "33_flash_mma_gqa": ["--heads 65535 --kv-heads 4369 --seqlen 260 --head-dim 128 --causal --lse",
                         "--heads 65535 --seqlen 3 --kv-seqlen 260 --head-dim 128 --causal"],
    "34_flash_mma_split_keys": ["--heads 65535 --kv-heads 4369 --seqlen 260 --head-dim 128 --causal --lse",
                                "--heads 65535 --kv-heads 65535 --seqlen 3 --kv-seqlen 260 --head-dim 128 --causal",
                                "--heads 8 --kv-heads 2 --seqlen 1 --kv-seqlen 8400003 --head-dim 128 --lse"],
    "35_flash_mma_tiling_qk": ["--heads 2048 --seqlen 1030 --head-dim 1024"],
    "48_flash_hopper_causal": ["--heads 65535 --kv-heads 4369 --seqlen 260 --head-dim 128 --causal --lse",
                               "--heads 65535 --seqlen 3 --kv-seqlen 260 --head-dim 128 --causal"],
}
LARGE["49_flash_capstone"] = LARGE["48_flash_hopper_causal"]
COUNTED = {"axpy": "-n 100003", "sum": "-n 100003", "matmul": "-m 128 -n 128 -k 128", "softmax": "--rows 64 --cols 1024",
           "scale": "--rows 64 --cols 1024", "attention": "--batch 1 --heads 2 --seqlen 128 --head-dim 64"}  # the emulator's default shape
LADDER = {"axpy": "-n 268435456", "sum": "-n 268435456", "matmul": "-m 4096 -n 4096 -k 4096", "softmax": "--rows 8192 --cols 8192",
          "scale": "--rows 16384 --cols 16384", "attention": "--batch 1 --heads 8 --seqlen 8192 --head-dim 64"}  # tools/results.py, LADDER_SHAPE
# What a lesson analyses at a shape of its own; first what its figures are of, tools/results.py, HEADLINE.
WITH_MASK = [f"{shape} --causal" for shape in (COUNTED["attention"], LADDER["attention"], "--batch 1 --heads 8 --seqlen 8192 --head-dim 128")]
ALSO_COUNTED = {"13_flash_scalar": ["--batch 1 --heads 32 --seqlen 8192 --head-dim 32"],
                "15_flash_wmma": ["--batch 1 --heads 32 --seqlen 8192 --head-dim 32"],
                "16_flash_wmma_warp_max": ["--batch 2 --heads 4 --seqlen 2048 --head-dim 64"],
                **dict.fromkeys(("26_flash_mma_stages", "27_flash_mma_shared_kv"),
                                [f"--batch 1 --heads 8 --seqlen 8192 --head-dim {d}" for d in (32, 96, 128, 256)]),
                **dict.fromkeys(("28_flash_mma_shared_qkv", "30_flash_mma_swizzle", "31_flash_mma_warp_rows"),
                                [f"--batch 1 --heads 8 --seqlen 8192 --head-dim {d}" for d in (32, 96, 128)]),
                **dict.fromkeys(FLASH_WGMMA[:2],
                                [*(f"--batch 1 --heads 8 --seqlen 8192 --head-dim {d}" for d in (128, 256)),
                                 *(f"--batch 4 --heads {2048 // d} --seqlen 4096 --head-dim {d}" for d in WGMMA_HEAD_DIMS)]),
                "47_flash_overlap": [*(f"--batch 1 --heads {heads} --seqlen {n} --head-dim 128" for heads, n in ((2, 128), (8, 8192))),
                                     "--batch 1 --heads 8 --seqlen 8192 --head-dim 256"],
                **dict.fromkeys(("32_flash_mma_causal", "33_flash_mma_gqa", "48_flash_hopper_causal"), WITH_MASK),
                "49_flash_capstone": [f"--batch 1 --heads 8 --seqlen 8192 --head-dim {d}" for d in (128, 256)],
                "34_flash_mma_split_keys": [f"--batch 1 --heads {heads} --kv-heads {kv_heads} --seqlen 1 --kv-seqlen {n_kv} --head-dim {d}"
                                            for heads, kv_heads, n_kv, d in ((32, 8, 32768, 128), (8, 2, 512, 64))],
                "35_flash_mma_tiling_qk": [f"--batch 1 --heads {h} --seqlen {n} --head-dim 512" for h, n in ((2, 128), (8, 8192))]}
MORE_TILES_THAN_CLUSTERS = "-m 2305 -n 2049 -k 70"
SANITIZED = {"42_matmul_persistent": MORE_TILES_THAN_CLUSTERS, "43_matmul_overlapped_store": MORE_TILES_THAN_CLUSTERS,
             "44_matmul_capstone": [MORE_TILES_THAN_CLUSTERS, "-m 5 -n 300 -k 600", "-m 100 -n 4000 -k 321"],
             "axpy": "-n 100003", "sum": "-n 100003", "device": "-n 100003 --rounds 3", "matmul": "-m 97 -n 130 -k 70", "softmax": "--rows 37 --cols 1029",
             "scale": "--rows 300 --cols 1029", "attention": "--heads 2 --seqlen 131 --head-dim 96",
             "32_flash_mma_causal": "--heads 2 --seqlen 131 --head-dim 96 --causal",
             "33_flash_mma_gqa": "--heads 4 --kv-heads 2 --seqlen 131 --kv-seqlen 75 --head-dim 96 --causal --lse",
             "34_flash_mma_split_keys": "--heads 4 --kv-heads 2 --seqlen 3 --kv-seqlen 525 --head-dim 96 --causal --lse",
             "35_flash_mma_tiling_qk": "--heads 2 --seqlen 131 --head-dim 320",
             **dict.fromkeys(FLASH_WGMMA, "--heads 2 --seqlen 400 --head-dim 128"),  # more tiles than stages
             "48_flash_hopper_causal": "--heads 80 --kv-heads 40 --seqlen 400 --kv-seqlen 300 --head-dim 64 --causal --lse",  # more work than blocks
             "49_flash_capstone": [*(f"--heads 80 --kv-heads 40 --seqlen 400 --kv-seqlen 300 --head-dim {d} --causal --lse" for d in WGMMA_HEAD_DIMS),
                                   "--heads 100 --seqlen 500 --head-dim 128 --input huge"]}
TIMED = {"axpy": ["268435456"], "sum": ["1048576", "16777216", "268435456"], "matmul": ["1024", "4096", "8192"], "matmul 16-bit": ["1024", "2048", "4096", "8192", "16384"],
         "scale": ["1024x1024", "4096x4096", "16384x16384"], "softmax": ["8192x1024", "131072x1024", "8192x8192", "4096x65536"],
         "attention": [*(f"1x8x{n}x64" for n in (512, 1024, 2048, 4096, 8192, 16384)), "1x32x8192x32",
                       *(f"1x8x8192x{d}" for d in (32, 96, 128))]}
TIMED["32_flash_mma_causal"] = ["1x8x8192x64-causal", *of_16384((64, 128), mask=CAUSAL),
                                *(f"1x8x{n}x{d}-causal" for d in (64, 128) for n in (2048, 4096, 8192, 16384) if (n, d) != (8192, 64)),
                                *(f"1x8x8192x{d}-causal" for d in (32, 96)), "1x8x8192x64"]
TIMED["33_flash_mma_gqa"] = ["1x8x8192x64-causal", *of_16384((64, 128), (2048, 4096, 8192, 16384), ("/1", "/2", ""), CAUSAL),
                             "1x32/8x512/8192x128-causal", "8x32/8x1/8192x128", "1x32x4096/512x128", "1x8x8192x64"]
TIMED["34_flash_mma_split_keys"] = [*(f"1x32/8x1/{n_kv}x128" for n_kv in (32768, 2048)), "8x32/8x1/8192x128", "1x32x1/8192x64",
                                    "1x32/8x512/8192x128-causal", "1x2x512x64", "1x8x8192x64-causal", "1x8x8192x64"]
TIMED["35_flash_mma_tiling_qk"] = ["1x8x8192x512", "1x48x8192x512", "1x8x16384x512", *(f"1x8x8192x{d}" for d in (64, 128, 256, 320, 768, 1024))]
TIMED |= dict.fromkeys(FLASH_WGMMA,
                       ["1x8x8192x64", *of_16384((64, 128, 256)),
                        *(f"1x8x{n}x64" for n in (512, 1024, 2048, 4096, 16384)), *(f"1x8x8192x{d}" for d in (128, 256))])
TIMED["48_flash_hopper_causal"] = ["1x8x8192x64-causal", *of_16384((64, 128, 256), mask=CAUSAL),
                                   *of_16384((64, 128), (2048, 4096, 8192, 16384), ("/1", "/4"), CAUSAL), "1x32/8x512/8192x128-causal",
                                   *of_16384((64, 128, 256), (4096,)), "1x8x8192x64"]
TIMED["49_flash_capstone"] = ["1x8x8192x64", *(text for mask in ("", CAUSAL) for text in of_16384((64, 128, 256), (512, 2048, 16384), mask=mask))]
# Shapes, and types, at which a step is timed beside its peers besides.
ALSO_TIMED = {"16_flash_wmma_warp_max": ([f"2x4x{n}x64" for n in (64, 128, 256, 512, 1024, 2048)], ["fp16", "fp32"])}

# What else a step's lesson rests on: (the step, the name of its file, the command that writes it).
SWEEPS = [("11_softmax_shaped", "sweep", "bench/softmax_sweep.py"), ("31_flash_mma_warp_rows", "sweep", "bench/attention_sweep.py"),
          ("33_flash_mma_gqa", "matrix", "bench/attention_matrix.py"),
          ("34_flash_mma_split_keys", "matrix", "bench/attention_matrix.py", "--step", "34"),
          ("34_flash_mma_split_keys", "decode", "bench/attention_decode.py"),
          ("35_flash_mma_tiling_qk", "sweep", "bench/attention_sweep.py", "--step", "35"),
          ("48_flash_hopper_causal", "matrix", "bench/attention_matrix.py", "--step", "48", "--variant", "ordered", "--head-dim",
           *map(str, WGMMA_HEAD_DIMS)),
          *(("49_flash_capstone", f"matrix_{variant}", "bench/attention_matrix.py", "--step", "49", "--variant", variant, "--head-dim",
             *map(str, WGMMA_HEAD_DIMS)) for variant in ("exact", "speculative"))]


def kind(step):
    """Its operation, and whether that is on 16 bits."""
    return step["operation"] + (" 16-bit" if step["dtypes"][:1] not in ([], ["fp32"]) else "")


def timed_with(step):
    """Steps for which this is the same are timed together; one with shapes of its own is timed alone."""
    if step["name"] in TIMED:
        return step["name"]
    return step["operation"] if step["operation"] in TYPES_TOGETHER else kind(step)


def of(table, step):
    """The step's row of one of the tables above."""
    return table.get(step["name"]) or table.get(kind(step)) or table[step["operation"]]


def run(log, *command, **options):
    done = subprocess.run([str(word) for word in command], cwd=ROOT, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **options)
    print("$", *command, f"\n{done.stdout}[status {done.returncode}]", file=log, flush=True)
    return done


def timed_of(lines, step):
    """The step's own lines, and its peers' at the same shapes."""
    shapes = [line["shape"] for line in lines if line["step"] == step["name"]]
    return [line for line in lines if belongs(line, step) and line["shape"] in shapes]


def new_lines(log, path, *command):
    """Runs what adds lines to a file of them, and prints what it says; returns those lines."""
    read = lambda: path.read_text().splitlines() if path.exists() else []
    before = len(read())
    print(run(log, *command, "--json", path).stdout)
    return [json.loads(text) for text in read()[before:]]


def must(log, *command):
    """Runs what nothing goes on without."""
    done = run(log, *command)
    if done.returncode:
        sys.exit(done.stdout)


def configure(log):
    """{number, or name where it has none: step} of all there are."""
    must(log, "cmake", "--preset", "cuda")
    return {step["number"] or step["name"]: step for step in json.loads((ROOT / "build" / "steps.json").read_text())["steps"]}


def each_type(step):
    """The flags that choose each of the step's element types."""
    return [dtype_flags(step, dtype) for dtype in step["dtypes"]]


def right(log, step, program, shapes, at_once):
    """How many of those shapes, in each type and all variants each, are right; so many are tried at once."""
    cases = [[*shape.split(), *dtype] for dtype in each_type(step) for shape in shapes]
    with ThreadPoolExecutor(at_once) as pool:
        done = pool.map(lambda case: run(log, program, "--all-variants", "--no-time", *case), cases)
        return f"{sum(each.returncode == 0 for each in done)}/{len(cases)}"


def sanitized(log, step, program, tool):
    shapes = of(SANITIZED, step)
    done = [run(log, "compute-sanitizer", "--tool", tool, "--error-exitcode", "9", program, "--all-variants", "--no-time",
                *shape.split(), *dtype).returncode for dtype in each_type(step) for shape in ([shapes] if isinstance(shapes, str) else shapes)]
    return f"status {max(done)}" if any(done) else "clean"


# Our names -> ncu's metrics, the first that this GPU counts. A launch's kernels are summed, and stand one by one beside it.
OF_A_KERNEL = {"stalls": STALLS, "percent": PERCENT, "launch": LAUNCH, "cycles": CYCLES, "warps": WARPS}


def countable(log, program, shape):
    """{group: {our name: ncu's metric}} of what one launch of the program gives a number for."""
    groups = {"ncu": SUMMED, **OF_A_KERNEL}
    wanted = [metric for names in groups.values() for metrics in names.values() for metric in metrics]
    known = known_metrics([str(program), "--no-time", "--no-check", *shape.split()], wanted)
    print("ncu does not count:", *[metric for metric in wanted if metric not in known], file=log, flush=True)
    return {group: {name: next(metric for metric in metrics if metric in known) for name, metrics in names.items()
                    if any(metric in known for metric in metrics)} for group, names in groups.items()}


def compiled(step):
    """{kernel: {architecture: what the compiler reports of it}} for each that a GPU of tools/occupancy.py has."""
    source = source_of(step)
    architectures = [arch for arch in sorted({gpu.arch for gpu in GPUS.values()}) if can_run(step["arch"], arch)]
    found = {}
    with ThreadPoolExecutor() as pool:
        for arch, kernels in zip(architectures, pool.map(lambda arch: ptxas.report(source, arch), architectures)):
            for kernel, report in kernels.items():
                found.setdefault(kernel, {})[arch] = report
    return found


def counters(rows, names):
    """{our name: the sum over these kernels}; None where one of them has no number."""
    counts = {name: [number(row.get(metric)) for row in rows] for name, metric in names.items()}
    return {name: None if None in each else sum(each) for name, each in counts.items()}


def of_a_kernel(row, groups, reports, alone):
    """What the compiler and ncu say of one kernel of a launch. A launch's only kernel has its counters beside it."""
    name = row["Kernel Name"].split("(")[0]
    return {"kernel": name, **({} if alone else {"ncu": counters([row], groups["ncu"])}),
            **{group: counters([row], groups[group]) for group in OF_A_KERNEL}, "compiled": reports.get(name, {})}


def counted(step, program, groups, environment, reports):
    """One line for each variant and shape: what ncu counts of one launch, all its kernels, at the emulator's default shape,
    at the ladder's and at what others the step has, in the step's first type."""
    operation = step["operation"]
    metrics = sorted({metric for names in groups.values() for metric in names.values()})
    for variant in step["variants"] or [None] if metrics else []:
        for sizes in dict.fromkeys((COUNTED[operation], LADDER[operation], *ALSO_COUNTED.get(step["name"], ()))):
            with tempfile.TemporaryDirectory() as place:
                said = Path(place, "line.jsonl")
                rows = ncu([str(program), *(["--variant", variant] if variant else []), "--no-time", "--no-check", *sizes.split(),
                            "--json", str(said)], metrics)
                if not rows:
                    continue
                if operation == "axpy":
                    rows = rows[-1:]  # the first launch is main's own
                shape = json.loads(said.read_text().splitlines()[-1])["shape"]
            kernels = [of_a_kernel(row, groups, reports, alone=len(rows) == 1) for row in rows]
            yield {"step": step["name"], "variant": variant, "operation": operation, "dtype": step["dtypes"][0], "shape": shape,
                   "backend": "cuda", "device": environment["gpu"], "check": None, "time": None,
                   "ncu": counters(rows, groups["ncu"]), "kernels": kernels, "env": environment}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("steps", nargs="+", help="numbers, such as 01 04")
    parser.add_argument("--out", type=Path, required=True, help="folder for results and the log")
    parser.add_argument("--no-bench", action="store_true", help="leave the timing out")
    parser.add_argument("--no-large", action="store_true", help="leave out the tensors of more than 2^31 elements, which take minutes")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    log = open(asked.out / "verify.log", "w")
    known = configure(log)
    unknown = [number for number in asked.steps if number not in known]
    if unknown:
        sys.exit(f"verify: no step {', '.join(unknown)}; there are {', '.join(known)}")
    chosen = [known[number] for number in asked.steps]
    must(log, "cmake", "--build", "--preset", "cuda", "--target", *(step["name"] for step in chosen))
    environment, metrics = provenance(), None
    table, timed = [], asked.out / "timed.jsonl"
    timed.unlink(missing_ok=True)
    for step in chosen:
        program = ROOT / "build" / "cuda" / step["name"]
        with ThreadPoolExecutor() as pool:
            table.append([step["name"], right(log, step, program, of(EDGES, step), 8),
                          "left out" if asked.no_large else right(log, step, program, of(LARGE, step), 2),
                          *pool.map(lambda tool: sanitized(log, step, program, tool), ("memcheck", "racecheck"))])
        with open(asked.out / f"{step['name']}.ncu.jsonl", "w") as out:
            if step["operation"] in COUNTED:
                metrics = metrics or countable(log, program, COUNTED[step["operation"]])
                out.writelines(json.dumps(line) + "\n" for line in counted(step, program, metrics, environment, compiled(step)))
        print(*table[-1], flush=True)
    lines = {step["name"]: [] for step in chosen}  # what was timed in a step's own runs: no other's peers
    if not asked.no_bench:
        for together in dict.fromkeys(map(timed_with, chosen)):
            mine = [step for step in chosen if timed_with(step) == together]
            if mine[0]["operation"] in TIMED:
                found = new_lines(log, timed, sys.executable, "bench/peers.py", *(step["number"] for step in mine), "--shape", *of(TIMED, mine[0]))
                for step in mine:
                    lines[step["name"]] += found
            else:  # it measures itself, and its peer
                for step in mine:
                    lines[step["name"]] += new_lines(log, timed, ROOT / "build" / "cuda" / step["name"], "--all-variants")
        for step in chosen:
            if step["name"] in ALSO_TIMED:
                shapes, dtypes = ALSO_TIMED[step["name"]]
                lines[step["name"]] += new_lines(log, timed, sys.executable, "bench/peers.py", step["number"], "--shape", *shapes,
                                                 "--dtype", *dtypes)
            for what, *command in [sweep[1:] for sweep in SWEEPS if sweep[0] == step["name"]]:
                swept = asked.out / f"{step['name']}.{what}.jsonl"
                swept.unlink(missing_ok=True)
                print(run(log, sys.executable, *command, "--json", swept).stdout)
    for step in chosen:
        with open(asked.out / f"{step['name']}.results.jsonl", "w") as out:
            out.writelines(json.dumps(line) + "\n" for line in timed_of(lines[step["name"]], step))
            shutil.copyfileobj(open(asked.out / f"{step['name']}.ncu.jsonl"), out)
    print(f"{'step':24} {'right':8} {'large':8} {'memcheck':10} racecheck")
    for row in table:
        print(f"{row[0]:24} {row[1]:8} {row[2]:8} {row[3]:10} {row[4]}")


if __name__ == "__main__":
    main()

"""How far the tests reach: every step is right past the fifth tile, past 512 rows and in several batches; and bugs that
show only there, in a second launch, or in the counters, are each caught. The bugs are in planted/subtle.py."""

import json
import math
import re
import sys

import pytest

from conftest import BUILD, ROOT, TESTS, Program, ensure_build, listed_head_dims, run, source_of

sys.path[:0] = [str(TESTS / "planted"), str(ROOT)]
from bugs import BUGS  # noqa: E402
from subtle import PROFILE, REACH, SUBTLE, WATCHED  # noqa: E402

from tools.lines import apart  # noqa: E402

ensure_build()
STEPS = json.loads((ROOT / "build" / "steps.json").read_text())["steps"]
OPERATION, DTYPES, VARIANTS = ({step["name"]: step[what] for step in STEPS} for what in ("operation", "dtypes", "variants"))


HEAD_DIMS = {step["name"]: listed_head_dims(step["name"]) for step in STEPS if step["operation"] == "attention"}


def head_dim(run):
    """The head dimension in a run's arguments, or None."""
    said = re.search(r"--head-dim (\d+)", run)
    return said and int(said[1])


def runs_of(table, name):
    """The runs that a table has for a step: those of its operation, as far as it is compiled for their head dimension, and of its own."""
    return [run for run in table[OPERATION[name]] if not HEAD_DIMS.get(name) or head_dim(run) in HEAD_DIMS[name]] + table.get(name, [])


@pytest.mark.parametrize("folder, step, arguments", [
    pytest.param(folder, step, arguments, id=f"{step['name']}-{arguments.replace(' ', '')}")
    for folder, table in ((BUILD / "plain", REACH), (BUILD, WATCHED)) for step in STEPS for arguments in runs_of(table, step["name"])])
def test_right(folder, step, arguments):
    done = run(folder / step["name"], "--all-variants", *arguments.split())
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("right: error ") == len(step["variants"]) and done.stderr == ""


# ---- counters ----

# What ncu counts otherwise, by sum: it counts a load, store or copy that no lane executes; ptxas merges loads of neighbours, and gives the
# lanes of a warp that end in different rounds of an unrolled loop loads of their own; and now and then a store meets a busy
# bank, as two of 1,024 did in 05. Beside cp.async it counts what the copies read as loads, too, loads from shared memory that no
# lane executes, and now a few sectors of stores more, now fewer; and the zeros that a copy of fewer bytes than it writes writes first.
# Of 25's stores, which fill half a sector each, it counts a few sectors more, not as many in every run. Of the parts that 34 stores,
# ptxas makes two stores of the first pair in three of a lane's four rows. Beside bulk copies, accesses of threads now and then meet a bank
# that the engine uses, as in 46 and 47 stmatrix of one consumer does beside products of another; and a bulk group without a copy in it costs two
# requests to the engine in place of one. Of a launch of 44 it counts four requests to the engine more, and why is not known.
REQUESTS, LOADS = ("shared_ld_requests", "shared_st_requests"), ("shared_ld_requests", "shared_ld_wavefronts")
SPLIT, STORED, COPIED = ("global_ld_sectors",), ("global_st_sectors",), ("copy_ld_sectors", "copy_ld_bytes")
ENGINE = (*REQUESTS, "shared_ld_wavefronts", "shared_st_wavefronts", "shared_ld_conflicts", "shared_st_conflicts")
COPIES = (*LOADS, "shared_ld_conflicts", "global_ld_requests", "global_ld_sectors", "global_st_sectors", "copy_st_wavefronts")
COUNTED_OTHERWISE = {**{("48_flash_hopper_causal", variant): ("shared_st_conflicts", "shared_st_wavefronts")  # stmatrix beside others' products
                        for variant in ("blocks", "persistent", "ordered")},
                     **{("49_flash_capstone", variant): ("shared_st_conflicts", "shared_st_wavefronts", "shared_ld_wavefronts")
                        for variant in ("joined", "near", "shaped", "speculative", "exact")},
                     ("01_block_sum", "tree"): (*REQUESTS, *SPLIT), ("02_warp_sum", "atomics"): SPLIT, ("02_warp_sum", "shuffle"): SPLIT,
                     ("02_warp_sum", "tuned"): SPLIT, ("05_matmul_register", "register"): ("shared_st_conflicts",),
                     ("08_softmax_naive", "block_per_row"): REQUESTS,
                     ("12_attention_naive", "transposed_read"): REQUESTS, ("12_attention_naive", "pre_transposed"): REQUESTS,
                     ("04_matmul_tiled", "tiled"): LOADS, ("14_matmul_wmma", "wmma"): (*LOADS, "shared_ld_conflicts"),
                     **{("15_flash_wmma", f"pad_{pad}"): (*LOADS, "shared_ld_conflicts") for pad in (0, 8, 16)},
                     **{("16_flash_wmma_warp_max", variant): LOADS
                        for variant in ("uncoalesced", "coalesced", "padded", "two_warps", "four_warps", "eight_warps")},
                     **{("25_flash_mma_split_q", order): STORED for order in ("heads_first", "rows_first")},
                     **{(step, f"{stages}_stage{'s' * (stages != 'one')}"): COPIES for step in ("19_matmul_cp_async", "20_matmul_warp_tile")
                        for stages in ("one", "two", "three", "four")},
                     **{("21_matmul_swizzle", layout): COPIES for layout in ("unpadded", "padded", "swizzled")},
                     **{("26_flash_mma_stages", variant): COPIES for variant in ("one_stage", "two_stages")},
                     **{(step, variant): COPIES for step in ("27_flash_mma_shared_kv", "28_flash_mma_shared_qkv")
                        for variant in ("one_buffer", "two_buffers")},
                     ("29_flash_mma_collective_store", "collective"): COPIES,
                     **{("30_flash_mma_swizzle", variant): COPIES for variant in ("unpadded", "padded", "swizzled")},
                     **{("31_flash_mma_warp_rows", variant): COPIES
                        for variant in ("rows_16", "keys_32", "keys_64", "q_stays_32", "q_stays_64", "rows_32")},
                     **{("32_flash_mma_causal", variant): COPIES for variant in ("masked", "skipped", "ordered")},
                     ("33_flash_mma_gqa", "grouped"): COPIES, ("34_flash_mma_split_keys", "whole"): COPIES,
                     **{("34_flash_mma_split_keys", variant): (*COPIES, "global_st_requests")
                        for variant in ("split_blocks", "split_warps", "packed")},
                     ("35_flash_mma_tiling_qk", "slices_of_16"): (*COPIES, *COPIED, *REQUESTS, "copy_ld_requests", "copy_st_requests",
                                                                  "shared_st_wavefronts", "shared_st_conflicts"),
                     ("35_flash_mma_tiling_qk", "slices_of_64"): (*COPIES, *COPIED, *REQUESTS),
                     **{("36_bulk_copy", variant): ENGINE for variant in ("one_stage", "two_stages", "four_stages", "many_blocks")},
                     **{("37_tma_tile", variant): ENGINE for variant in ("unswizzled", "swizzle_32", "swizzle_64", "swizzle_128")},
                     **{("22_matmul_fragments_ahead", f"{stages}_stages"): (*COPIES, *COPIED) for stages in ("three", "four")},
                     **{("43_matmul_overlapped_store", variant): (*ENGINE, "tma_requests") for variant in ("waited", "overlapped")},
                     **{("44_matmul_capstone", variant): ("tma_requests",)
                        for variant in ("shaped", "deferred", "to_and_fro", "in_step", "divided", "early")},
                     **{(step, variant): ("shared_st_wavefronts",) for step, variant in (
                        ("46_flash_pingpong", "pingpong"), ("47_flash_overlap", "pingpong"), ("47_flash_overlap", "both"))},
                     **{("23_matmul_block_order", order): (*COPIES, *COPIED) for order in ("rows", "bands")}}


def recorded(name):
    """What ncu counted on a GPU, variant by variant, at the emulator's default shape: the smallest, with no mask."""
    results = ROOT / "steps" / name / "results.jsonl"
    lines = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    counted = [line for line in lines if line.get("ncu")]
    counted.sort(key=lambda line: (-math.prod(filter(None, line["shape"].values())), not line["shape"].get("causal")))
    return {line["variant"]: apart(line["ncu"]) for line in counted}  # the last of a variant counts


def differences(program, name, variant, out):
    """The counters of one launch that ncu has otherwise: name -> (emulator's, ncu's)."""
    out.unlink(missing_ok=True)
    done = run(program, "--variant", variant, "--profile", SIMT_PROFILE_JSON=str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    kernels = json.loads(out.read_text())["kernels"]
    assert all(kernel["launches"] == 1 for kernel in kernels)
    lines = [line for kernel in kernels for line in kernel["lines"]]
    pairs = {counter: (sum(line[counter] for line in lines), count) for counter, count in recorded(name)[variant].items()
             if counter in lines[0]}  # ncu counts more
    otherwise = COUNTED_OTHERWISE.get((name, variant), ())
    return {counter: pair for counter, pair in pairs.items() if pair[0] != pair[1] and counter not in otherwise}


@pytest.mark.parametrize("name, variant", [pytest.param(step["name"], variant, id=f"{step['name']}-{variant}")
                                           for step in STEPS for variant in step["variants"] if variant in recorded(step["name"])])
def test_counts_as_ncu_did(name, variant, tmp_path):
    assert differences(BUILD / name, name, variant, tmp_path / "counts") == {}


# ---- planted bugs ----

DEFAULT_HEAD_DIM = 64  # of the emulator's default shape


def planted(bug):
    plain = () if bug.checked or bug.run == PROFILE else ("--plain",)
    dtype = DTYPES[bug.step][0]
    head_dims = (head_dim(bug.run) or DEFAULT_HEAD_DIM,) if OPERATION[bug.step] == "attention" else ()
    variants = (bug.variant,) if bug.variant else () if bug.run == PROFILE else (VARIANTS[bug.step][-1],)
    return Program(source_of(bug.step), options=(*plain, "-I", str(ROOT / "common")),
                   libraries=(str(BUILD / "common" / "libcommon.a"),), edit=(bug.before, bug.after),
                   head_dims=head_dims, dtypes=(dtype,), variants=variants)


@pytest.mark.parametrize("program, bug", [pytest.param(planted(bug), bug, id=f"{bug.step[:2]}-{bug.name}") for bug in SUBTLE])
def test_subtle_bug_is_caught(compile_cu, program, bug, tmp_path):
    if bug.run == PROFILE:
        variants = [bug.variant] if bug.variant else list(recorded(bug.step))
        assert variants and set(variants) <= recorded(bug.step).keys()
        assert all(differences(compile_cu(program), bug.step, variant, tmp_path / "counts") for variant in variants)
        return
    assert not bug.run or bug.run in runs_of(WATCHED if bug.checked else REACH, bug.step)  # where the step itself is run
    variant = ("--variant", bug.variant) if bug.variant else ()
    done = run(compile_cu(program), *variant, *bug.run.split())
    assert done.returncode == bug.status, done.stdout + done.stderr
    if bug.checked:
        assert f"simt: {bug.by}: " in done.stderr, done.stderr
    else:
        assert bug.by in done.stdout + done.stderr, done.stdout + done.stderr


def test_every_step_has_subtle_bugs():
    assert len(SUBTLE) >= 40 and len(BUGS) >= 100
    for step in STEPS:
        assert sum(bug.step == step["name"] for bug in SUBTLE) >= 3, step["name"]

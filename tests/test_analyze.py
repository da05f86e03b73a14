"""./learn analyze and the analysis of a README, of made-up records: what is computed, what was recorded, what is missing."""
import copy
import json

import pytest

from conftest import ROOT
from tools import analyze, docs, machine, ptxas, steps

LADDER = {"batch": 1, "heads": 8, "kv_heads": 8, "seqlen": 8192, "head_dim": 64, "causal": False}
NARROW = LADDER | {"heads": 32, "kv_heads": 32, "head_dim": 32}
KERNEL = {
    "kernel": "void flash<64>", "stalls": {"wait": 0.25, "barrier": 1.5, "drain": 0.001, "selected": 1},
    "percent": {"sm_throughput": 73.57, "occupancy_limit": 12.5, "no_eligible": 24.4},
    "launch": {"registers": 218, "duration_ns": 3977376, "grid": 1024, "block": 128, "waves": 3.88, "shared_static": 32768, "shared_dynamic": 0,
               "shared_reserved": 1024, "shared_configured": 102400, "limit_sm": 32, "limit_registers": 2, "limit_shared": 3, "limit_warps": 16},
    "cycles": {"elapsed": 1000, "active_min": 600, "active_avg": 800, "active_max": 1000}, "warps": {"eligible": 0.5},
    "compiled": {arch: {"registers": registers, "stack": 0, "spill_stores": 4, "spill_loads": 8, "shared_static": 32768}
                 for arch, registers in (("75", 255), ("80", 168), ("89", 40), ("90a", 218))}}
NCU = {"instructions": 1000, "shared_ld_requests": 10, "shared_ld_wavefronts": 40, "shared_ld_conflicts": 20, "global_ld_bytes": 64,
       "global_ld_sectors": 8, "global_st_bytes": 0, "global_st_sectors": 0}


def line(variant, shape=LADDER, **of_launch):
    kernel = copy.deepcopy(KERNEL)
    kernel["launch"] |= of_launch
    return {"step": "made up", "variant": variant, "shape": shape, "device": "NVIDIA H200", "time": None, "ncu": dict(NCU), "kernels": [kernel]}


@pytest.fixture
def recorded(monkeypatch):
    """{step's number: its lines}, to be changed by the test; nvcc is nowhere."""
    found = {"12": [], "13": []}
    monkeypatch.setattr(steps, "recorded", lambda step: found.get(step["number"], []))
    monkeypatch.setattr(machine, "nvcc", lambda: None)
    return found


def rows(column, gpu="h200"):
    """{label: cell} of all sections."""
    return {label: cells[0] for _, rows in analyze.sections([column], gpu) for label, cells in rows}


def refused(capsys, words, at=""):
    with pytest.raises(SystemExit) as stopped:
        analyze.analyze(words, at, "h200")
    assert stopped.value.code == 2
    return capsys.readouterr().err


def test_the_fastest_variant_is_shown_or_the_one_named(recorded):
    recorded["13"] = [line("one_row"), line("two_rows", duration_ns=1000), line("two_rows", duration_ns=9**9)]  # the last one counts
    (column,), shape = analyze.columns(["13"], "")
    assert column.title == "13 one_row" and shape == LADDER
    assert analyze.columns(["13:two_rows"], "")[0][0].title == "13 two_rows"


def test_the_longest_kernel_of_a_launch_is_shown(recorded):
    short, long = line("pre_transposed"), line("pre_transposed", duration_ns=9**9)
    long["kernels"][0] |= {"kernel": "void scores<0>", "ncu": {"instructions": 5}}
    recorded["12"] = [short | {"kernels": short["kernels"] + long["kernels"]}]
    (column,), _ = analyze.columns(["12"], "")
    assert column.title == "12 pre_transposed: scores<0>" and rows(column)["executed"] == "5"


def test_what_is_computed(recorded):
    recorded["13"] = [line("two_rows")]
    (column,), _ = analyze.columns(["13"], "")
    found = rows(column)
    for limit in ("SM", "registers", "shared memory", "warps"):
        assert found[f"block limit by {limit}"] == found[f"block limit by {limit}, ncu"] != analyze.MISSING
    assert (found["binding"], found["theoretical occupancy"], found["theoretical active warps of an SM"]) == ("registers", "12.5 %", "8")
    assert found["waves of blocks"] == found["waves of blocks, ncu"] == "3.88" and found["spills, compiler"] == "12 bytes"
    assert (found["the most, of the mean"], found["the least, of the mean"]) == ("125.0 %", "75.0 %")
    assert (found["wavefronts for each that is needed"], found["bytes used of a 32-byte sector loaded"]) == ("2.00", "8")
    assert found["bytes used of a 32-byte sector stored"] == "–"  # nothing was stored


def test_each_gpu_by_what_the_compiler_reports_for_it(recorded):
    recorded["13"] = [line("two_rows")]
    (column,), _ = analyze.columns(["13"], "")
    found = rows(column)
    assert (found["T4"], found["A100"]) == ("2 blocks by registers and shared memory, 25.0 %", "3 blocks by registers, 18.8 %") \
        and found["L4"] == found["RTX 4090"] == "3 blocks by shared memory, 25.0 %"
    assert rows(column, "t4")["block limit by registers"] == "2" and "block limit by registers, ncu" not in rows(column, "t4")
    column.step = column.step | {"arch": "80"}
    assert rows(column)["T4"] == "needs compute capability 8.0 or newer"


def test_what_is_not_recorded_is_said(recorded, capsys):
    recorded["13"] = [line("two_rows")]
    kernel = recorded["13"][0]["kernels"][0]
    del kernel["cycles"], kernel["launch"]["block"], kernel["compiled"]
    recorded["13"][0]["ncu"]["instructions"] = None
    (column,), _ = analyze.columns(["13"], "")
    found = rows(column)
    assert {found[label] for label in ("elapsed cycles", "the most, of the mean", "binding", "T4", "executed")} == {analyze.MISSING}
    kernel["launch"]["block"] = 128
    assert (rows(column)["H200"], rows(column)["T4"]) == ("2 blocks by registers, 12.5 %", analyze.MISSING)
    assert found["registers of a thread, compiler"] == analyze.MISSING and found["registers of a thread, ncu"] == "218"
    assert analyze.analyze(["13"], "", "h200") == 0
    assert "bench/verify.py 13 --out FOLDER" in capsys.readouterr().out


def test_stalls_are_in_order_and_those_of_nothing_left_out(recorded):
    recorded["13"] = [line("two_rows")]
    shown, _ = analyze.columns(["13"], "")
    assert [label for label, _ in analyze.stalls(shown, "h200")[1:]] == ["barrier", "selected", "wait"]


def test_the_shape_is_found_by_a_part_of_it(recorded, capsys):
    recorded["13"] = [line("two_rows"), line("two_rows", NARROW)]
    recorded["12"] = [line("pre_transposed"), line("pre_transposed", NARROW), line("pre_transposed", NARROW | {"seqlen": 128})]
    assert analyze.columns(["12", "13"], "")[1] == LADDER
    assert analyze.columns(["12", "13"], "H32 D32")[1] == NARROW
    assert "N8192 D64; B1 H32 N8192 D32." in refused(capsys, ["12", "13"], "D128")
    assert "Several of the shapes" in refused(capsys, ["12"], "D32")
    recorded["13"] = [line("two_rows", LADDER | {"seqlen": 1})]
    assert "There are: none." in refused(capsys, ["12", "13"])


@pytest.mark.parametrize("words, said", [
    (["13", "99"], "There is no step '99'"), (["13:x"], "no variant 'x'. It has: one_row"), (["18", "13"], "attention, matmul"),
    (["13", "12"], "nothing of 12"), (["machine"], "times its own kernels")])
def test_what_was_asked_wrongly_is_said(recorded, capsys, words, said):
    recorded["13"] = [line("two_rows")]
    assert said in refused(capsys, words)


def test_nvcc_goes_before_what_was_recorded(recorded, monkeypatch):
    recorded["13"] = [line("two_rows")]
    shown, _ = analyze.columns(["13"], "")
    monkeypatch.setattr(ptxas, "report", lambda source, arch: {"void flash<64>": {"registers": 32, "shared_static": 0}} if arch == "75" else {})
    analyze.ask_compiler(shown)
    assert (shown[0].of_launch("registers", "75"), shown[0].of_launch("registers", "80")) == (32, 168)
    assert (shown[0].shared("75"), shown[0].shared("80")) == (0, 32768)
    assert recorded["13"][0]["kernels"][0]["compiled"]["75"]["registers"] == 255


def test_in_a_readme(recorded, capsys):
    base = ROOT / "steps" / "13_flash_scalar"
    assert docs.generate("analysis 12 13", base) == "Not counted on an H200 yet."
    recorded["13"] = [line("two_rows"), line("two_rows", NARROW, duration_ns=5)]
    recorded["12"] = [line("pre_transposed"), line("pre_transposed", NARROW)]
    text = docs.generate("analysis 12 13:two_rows at D32", base)
    assert "B1 H32 N8192 D32" in text and "|  | 12 pre_transposed | 13 two_rows |" in text and "| duration | 3.98 ms | 5.00 ns |" in text
    assert text.count("<details>") == text.count("</details>") == 2 and "**Throughput**" in text
    assert "Not counted" in docs.generate("analysis 12 13 at D128", base)
    for wrong in ("analysis 13", "analysis 1 2 3 4"):
        with pytest.raises(SystemExit):
            docs.generate(wrong, base)
        assert "two or three kernels" in capsys.readouterr().err


def test_block_limits_of_each_gpu_in_a_readme(recorded):
    base, wide = ROOT / "steps" / "13_flash_scalar", LADDER | {"head_dim": 128}
    assert docs.generate("limits 12 13", base) == "Not counted on an H200 yet."
    recorded["12"] = [line("pre_transposed"), line("pre_transposed", wide), line("pre_transposed", NARROW)]
    recorded["13"] = [line("two_rows", wide, shared_dynamic=32768), line("two_rows"), line("two_rows", NARROW)]
    for kernel in (each["kernels"][0] for each in recorded["13"]):
        kernel["compiled"]["75"]["shared_static"] = 0
    text = docs.generate("limits 12 13", base)
    assert [row.split(" | ") for row in text.splitlines()[2:]] == [
        ["| kernel, shared memory of a block", "T4", "A100", "RTX 4090", "H200 |"], ["| ---", "---", "---", "---", "--- |"],
        ["| D 64, 12 pre_transposed: 32,768 bytes", "**2** / **2**", "**3** / 4", "12 / **3**", "**2** / 6 |"],
        ["| D 64, 13 two_rows: 32,768 bytes", "**2** / –", "**3** / 4", "12 / **3**", "**2** / 6 |"],
        ["| D 128, 12 pre_transposed: 32,768 bytes", "**2** / **2**", "**3** / 4", "12 / **3**", "**2** / 6 |"],
        ["| D 128, 13 two_rows: 65,536 bytes", "**2** / **2**", "3 / **2**", "12 / **1**", "**2** / 3 |"]]


def test_block_limits_of_a_gpu_that_cannot_run_the_kernels(recorded, monkeypatch):
    monkeypatch.setattr(steps, "find", lambda word, find=steps.find: find("13") | {"arch": "80"})
    recorded["13"] = [line("two_rows"), line("one_row", NARROW)]
    recorded["13"][0]["kernels"][0]["compiled"] = {"90a": {"registers": 32, "shared_static": 256}}
    text = docs.generate("limits 13", ROOT / "steps" / "13_flash_scalar")
    assert "A T4 cannot run them: its compute capability is 7.5, and they need 8.0 or newer." in text
    assert text.endswith("| D 64, 13 two_rows: 256 bytes | not recorded | not recorded | **16** / 182, **16** by warps |")


PTXAS = """ptxas info    : Compiling entry function '_Z6scoresILb0EEvPKfi' for 'sm_90a'
ptxas info    : Function properties for _Z6scoresILb0EEvPKfi
    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 52 registers, used 1 barriers, 1024 bytes smem, 400 bytes cmem[0]
ptxas info    : Compiling entry function '_Z5stageILi64EL4form1EEvPf' for 'sm_90a'
ptxas info    : Function properties for _Z5stageILi64EL4form1EEvPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 64 registers
ptxas info    : Compiling entry function '_Z7softmaxPf' for 'sm_90a'
ptxas info    : Function properties for _Z7softmaxPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 29 registers
"""


def test_the_compilers_report_is_read_under_ncus_names():
    assert ptxas.kernels(PTXAS) == {
        "void scores<0>": {"registers": 52, "stack": 8, "spill_stores": 4, "spill_loads": 12, "shared_static": 1024},
        "void stage<64, 1>": {"registers": 64, "stack": 0, "spill_stores": 0, "spill_loads": 0, "shared_static": 0},
        "softmax": {"registers": 29, "stack": 0, "spill_stores": 0, "spill_loads": 0, "shared_static": 0}}
    assert ptxas.kernels("") == {}


@pytest.mark.skipif(not machine.nvcc(), reason="no nvcc here, which it asks")
def test_every_kernel_that_ncu_recorded_is_found_in_the_compilers_report():
    """And of one step ncu's registers are the compiler's for an H200."""
    recorded = [json.loads(text) for text in (ROOT / "steps/13_flash_scalar/results.jsonl").read_text().splitlines()]
    kernels = {kernel["kernel"]: kernel["launch"]["registers"] for line in recorded for kernel in line.get("kernels", ())}
    report = ptxas.report(ROOT / "steps/13_flash_scalar/flash_scalar.cu", "90a")
    assert kernels and kernels == {name: report[name]["registers"] for name in kernels}

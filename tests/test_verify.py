"""bench/verify.py and tests/truth/collect.py against an ncu that is a script: what it does not count is left out, and what
it counts is named and summed."""

import itertools
import json
import re
import sys

import pytest

from conftest import ROOT
from small_clone import script

sys.path += [str(ROOT), str(ROOT / "bench")]
import peers  # noqa: E402
import verify  # noqa: E402

from tools.lines import apart, belongs  # noqa: E402
from tools.results import HEADLINE, LADDER_SHAPE, headline  # noqa: E402

# Two kernels a launch; every known metric counts 1,000 in the first and 24 in the second.
NCU = """#!{python}
import json, sys
given = sys.argv[1:]
metrics = given[given.index("--metrics") + 1].split(",")
log = open(given[given.index("--log-file") + 1], "w")
missing = [metric for metric in metrics if any(word in metric for word in {missing!r})]
if missing:
    print("==ERROR== Failed to find metric " + missing[0] if {named} else "==ERROR== Something failed", file=log)
    sys.exit(1)
if "--json" in given:
    open(given[given.index("--json") + 1], "w").write(json.dumps({{"shape": {{"m": 1}}}}) + "\\n")
print("==PROF== Connected", file=log)
for row in (["Kernel Name", *metrics], ["", *["unit" for _ in metrics]], ["first(const float *, int)", *["1,000" for _ in metrics]],
            ["second(float *)", *["n/a" if "n_a" in metric or {not_all} and "dram" in metric else "24" for metric in metrics]]):
    print(",".join('"' + cell + '"' for cell in row), file=log)
"""


@pytest.fixture
def ncu(tmp_path, monkeypatch):
    """ncu(words of missing metrics, whether it names them, whether the second kernel lacks DRAM's)"""
    def install(missing=(), named=True, not_all=False):
        script(tmp_path / "ncu", NCU.format(python=sys.executable, missing=list(missing), named=named, not_all=not_all))
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return install


def groups(tmp_path):
    with open(tmp_path / "log", "w") as log:
        return verify.countable(log, "program", "-m 1")


@pytest.mark.parametrize("named", [True, False])
def test_what_ncu_does_not_count_is_left_out(ncu, tmp_path, named):
    ncu(["lgds", "gds_op_ld", "mio_throttle"], named)
    found = groups(tmp_path)
    assert found["ncu"]["global_ld_wavefronts"] == "l1tex__data_pipe_lsu_wavefronts_mem_lg_cmd_read.sum"
    assert found["ncu"]["global_ld_conflicts"] == "l1tex__data_bank_conflicts_pipe_lsu_mem_global_op_ld.sum"
    assert found["stalls"].keys() == verify.STALLS.keys() - {"mio_throttle"}
    assert found["percent"].keys() == verify.PERCENT.keys() and found["ncu"].keys() == verify.SUMMED.keys()
    assert "mio_throttle" in (tmp_path / "log").read_text()


def test_an_ncu_that_fails_counts_nothing(ncu, tmp_path):
    ncu([""])
    found = groups(tmp_path)
    assert not any(found.values())
    assert not list(verify.counted({"operation": "matmul", "dtypes": ["fp16"], "variants": []}, "program", found, {"gpu": "NVIDIA H200"}, {}))


def test_kernels_are_summed_and_stand_beside(ncu, tmp_path, monkeypatch):
    ncu(not_all=True)
    step = {"name": "98_x", "operation": "matmul", "dtypes": ["fp16", "bf16"], "variants": ["a", "b"]}
    lines = list(verify.counted(step, "program", groups(tmp_path), {"gpu": "NVIDIA H200"}, {"second": {"80": {"registers": 3}}}))
    assert [line["variant"] for line in lines] == ["a", "a", "b", "b"]  # at both shapes
    monkeypatch.setitem(verify.ALSO_COUNTED, "98_x", ["-m 5"])
    assert len(list(verify.counted(step, "program", groups(tmp_path), {"gpu": "NVIDIA H200"}, {}))) == 6
    line = json.loads(json.dumps(lines[0]))
    assert line["dtype"] == "fp16" and line["ncu"]["ldmatrix_conflicts"] == line["ncu"]["mma"] == 1024
    assert line["ncu"]["shared_ld_requests"] == 1024 and line["ncu"]["dram_ld_bytes"] is None
    assert [kernel["kernel"] for kernel in line["kernels"]] == ["first", "second"]
    assert line["kernels"][0]["ncu"]["dram_ld_bytes"] == 1000 and line["kernels"][1]["stalls"]["wait"] == 24
    assert [kernel["compiled"] for kernel in line["kernels"]] == [{}, {"80": {"registers": 3}}]
    assert line["kernels"][1]["warps"]["eligible"] == line["kernels"][1]["launch"]["limit_shared"] == 24


def test_the_ladders_shape_is_the_tours():
    letters = {"head_dim": "head-dim"}
    for operation, flags in verify.LADDER.items():
        words = flags.split()
        given = {flag.lstrip("-"): int(size) for flag, size in zip(words[::2], words[1::2])}
        shape = {letters.get(name, name): size for name, size in LADDER_SHAPE[operation].items()}
        assert given == {name: shape[name] for name in given} and len(given) >= len(shape) - 2  # kv_heads, causal: defaults


TYPES = {"fp32": {"dtypes": ["fp32"]}, "16-bit": {"dtypes": ["fp16", "bf16"]}}
STEP = {"name": "98_x", "operation": "matmul", "variants": ["a"]}


def test_steps_of_16_bits_have_shapes_of_their_own():
    narrow, wide = (STEP | TYPES[name] for name in ("16-bit", "fp32"))
    assert verify.of(verify.EDGES, narrow) != verify.of(verify.EDGES, wide) == verify.EDGES["matmul"]
    assert verify.of(verify.TIMED, narrow) == ["1024", "2048", "4096", "8192", "16384"]
    assert verify.of(verify.LARGE, narrow) == verify.of(verify.LARGE, wide)
    assert verify.kind(narrow) != verify.kind(wide) == "matmul"


def test_types_of_attention_are_timed_together():
    attention = [STEP | TYPES[name] | {"operation": "attention"} for name in TYPES]
    assert verify.timed_with(attention[0]) == verify.timed_with(attention[1]) and verify.kind(attention[0]) != verify.kind(attention[1])
    assert verify.timed_with(STEP | TYPES["fp32"]) != verify.timed_with(STEP | TYPES["16-bit"])
    assert verify.of(verify.TIMED, attention[0]) == verify.of(verify.TIMED, attention[1])


def test_a_step_may_have_a_row_of_its_own():
    step = STEP | TYPES["16-bit"]
    assert verify.of({"98_x": 1, "matmul 16-bit": 2, "matmul": 3}, step) == 1 and verify.of({"matmul 16-bit": 2, "matmul": 3}, step) == 2
    assert set(verify.EDGES["attention 16-bit"]) < set(verify.EDGES["16_flash_wmma_warp_max"])


MASKED = "32_flash_mma_causal", "33_flash_mma_gqa", "34_flash_mma_split_keys", "35_flash_mma_tiling_qk", "48_flash_hopper_causal"


@pytest.mark.parametrize("name", MASKED)
def test_a_steps_shapes_are_those_of_its_figures(name):
    """Timed first, and counted, at the shape that its lesson shows; timed alone, and where all steps of attention are compared."""
    step = {"name": name, "operation": "attention", "dtypes": ["fp16"]}
    flags = lambda words: dict(zip(words[::2], words[1::2])) if len(words) % 2 == 0 else flags(words[:-1]) | {words[-1]: True}
    shown = lambda words: LADDER_SHAPE["attention"] | {
        key.lstrip("-").replace("-", "_"): value if value is True else int(value) for key, value in flags(words).items()}
    timed = [peers.Attention.shape(text) for text in verify.of(verify.TIMED, step)]
    assert len(timed) == len(set(timed)) and shown(peers.Attention.flags(timed[0])) == headline(step) != LADDER_SHAPE["attention"]
    assert any(shown(peers.Attention.flags(shape)) == LADDER_SHAPE["attention"] for shape in timed)
    counted = [shown(text.split()) for text in verify.ALSO_COUNTED[name]]
    default = shown(verify.COUNTED["attention"].split()) | HEADLINE[name]
    assert headline(step) in counted and default | {"kv_heads": 8} in counted
    assert verify.timed_with(step) == name and verify.of(verify.SANITIZED, step) != verify.SANITIZED["attention"]


def test_edges_with_a_mask_and_without():
    options = lambda text: re.findall(r"--([a-z-]+)(?: ([a-z0-9]+))?", text)
    for name, sizes in (("32_flash_mma_causal", {"kv-heads": {"3"}}), ("33_flash_mma_gqa", {"kv-heads": {"1", "2", "4"}}),
                        ("34_flash_mma_split_keys", {"kv-heads": {"1", "2", "4"}}), ("48_flash_hopper_causal", {"kv-heads": {"1", "2", "4", "5", "10", "100"}})):
        head_dims = verify.WGMMA_HEAD_DIMS if name.startswith("48") else verify.HEAD_DIMS
        cases = [dict(options(text)) for text in verify.EDGES[name]]
        assert len(cases) == len(set(verify.EDGES[name]))
        for mask in (True, False):
            mine = [case for case in cases if ("causal" in case) == mask]
            assert {(case["head-dim"], case["input"]) for case in mine} == set(itertools.product(map(str, head_dims), verify.INPUTS))
            assert {case["kv-heads"] for case in mine} == sizes["kv-heads"] and {"1", "63", "64", "65", "4097"} < {case["seqlen"] for case in mine}
            unlike = {(int(case["seqlen"]) > int(case["kv-seqlen"]), "lse" in case) for case in mine if case["seqlen"] != case["kv-seqlen"]}
            with_lse = {each for each in unlike if each[1]}
            assert with_lse == (set() if name.startswith("32") else {(True, True), (False, True)}) and (with_lse == unlike or name.startswith("48"))
    wide = [dict(options(text)) for text in verify.EDGES["35_flash_mma_tiling_qk"]]
    assert {(case["head-dim"], case["input"]) for case in wide} == set(itertools.product(map(str, verify.ANY_HEAD_DIM), verify.INPUTS))
    assert {"1", "4097"} < {case["seqlen"] for case in wide}


@pytest.mark.parametrize("name", ["45_flash_wgmma", "46_flash_pingpong", "47_flash_overlap"])
def test_attention_by_wgmma_is_tried_at_its_head_dimensions_alone(name):
    step = {"name": name, "operation": "attention", "dtypes": ["fp16"]}
    options = lambda text: dict(re.findall(r"--([a-z-]+) ([a-z0-9]+)", text))
    edges = [options(text) for text in verify.of(verify.EDGES, step)]
    assert {(each["head-dim"], each["input"]) for each in edges} == set(itertools.product(("64", "128", "256"), verify.INPUTS))
    for size in (64, 128, 192):  # rows or keys of a tile
        assert {str(size - 1), str(size), str(size + 1)} < {each["seqlen"] for each in edges}
    others = [*verify.ALSO_COUNTED[name], verify.of(verify.SANITIZED, step), *verify.of(verify.LARGE, step), verify.COUNTED["attention"], verify.LADDER["attention"]]
    timed = [peers.Attention.shape(text) for text in verify.of(verify.TIMED, step)]
    assert {int(options(text)["head-dim"]) for text in others} | {shape.head_dim for shape in timed} == {64, 128, 256}
    assert len(timed) == len(set(timed)) and str(timed[0]) == "1x8x8192x64" and verify.timed_with(step) == name


def test_lines_are_those_that_a_command_adds(tmp_path, capsys):
    """A step's results never hold the peers of another step's run."""
    path, command = tmp_path / "timed.jsonl", script(tmp_path / "adds", '#!/bin/sh\necho "says $1"\necho "{\\"n\\": $1}" >> $3\n') or tmp_path / "adds"
    with open(tmp_path / "log", "w") as log:
        assert verify.new_lines(log, path, command, 1) == [{"n": 1}] and verify.new_lines(log, path, command, 2) == [{"n": 2}]
        assert verify.new_lines(log, path, "true") == []
    assert capsys.readouterr().out.startswith("says 1\n")


def test_every_type_of_a_step_is_tried(tmp_path):
    """Of a program that is right in fp16 alone: each shape counts once for each type."""
    script(tmp_path / "program", "#!/bin/sh\nfor word; do last=$word; done\n[ $last = fp16 ]\n")
    with open(tmp_path / "log", "w") as log:
        assert verify.right(log, STEP | TYPES["16-bit"], tmp_path / "program", ["-m 1", "-m 2"], 2) == "2/4"
        assert verify.right(log, STEP | TYPES["fp32"], tmp_path / "program", ["-m 1", "-m fp16"], 2) == "1/2"


@pytest.mark.parametrize("line, mine", [
    ({"step": "98_x", "dtype": "bf16"}, True), ({"step": "97_x", "dtype": "fp16"}, False), ({"step": None, "dtype": "bf16"}, True),
    ({"step": None, "dtype": "fp32"}, False), ({"step": None, "dtype": "fp16", "operation": "softmax"}, False)])
def test_whose_a_line_of_results_is(line, mine):
    assert belongs({"operation": "matmul"} | line, STEP | TYPES["16-bit"]) == mine


@pytest.mark.parametrize("accesses, matrices", [("shared_ld", "ldmatrix"), ("shared_st", "stmatrix")])
def test_accesses_and_those_of_matrices_are_told_apart(accesses, matrices):
    """In ncu's wavefronts of loads are those of ldmatrix; its requests of loads are of loads alone. So it is of stores."""
    found = apart({f"{accesses}_requests": 1, f"{accesses}_wavefronts": 12, f"{accesses}_conflicts": 7,
                   f"{matrices}_requests": 2, f"{matrices}_wavefronts": 8, f"{matrices}_conflicts": 0})
    assert [found[f"{accesses}_{what}"] for what in ("requests", "wavefronts", "conflicts")] == [1, 4, 7]
    assert apart({"mma": 1034, "hfma2": 10})["mma"] == 1024 and apart({"mma": 7, "hfma2": None})["mma"] == 7
    assert apart({f"{accesses}_wavefronts": 12}) == {f"{accesses}_wavefronts": 12}


def test_a_steps_results_hold_its_peers_at_its_own_shapes():
    step = {"name": "15_flash_wmma", "operation": "attention", "dtypes": ["fp16"]}
    line = lambda of, n, dtype="fp16": {"step": of, "operation": "attention", "dtype": dtype, "shape": {"seqlen": n}}
    mine, peer = line("15_flash_wmma", 64), line(None, 64)
    assert verify.timed_of([mine, peer, line(None, 128), line(None, 64, "fp32"), line("16_flash_wmma_warp_max", 128)], step) == [mine, peer]

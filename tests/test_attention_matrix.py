"""bench/attention_matrix.py without a GPU: its verdict can fail for each of its reasons, and its cases are those that it says. Where
PyTorch is installed, attention computed on the CPU takes the kernel's place, whole and spoilt."""
import json
import math
import sys

import pytest

from conftest import ROOT

sys.path += [str(ROOT / "bench")]
import attention_matrix as matrix  # noqa: E402
import peers  # noqa: E402

RIGHT = {"error": 2e-3, "bound": 2e-3, "error_16_bits": 1e-3, "lse_error": 0.0, "lse_bound": matrix.LSE_BOUND, "empty_rows": 0.0, "same_bits": True}


@pytest.mark.parametrize("wrong", [{"error": 2.1e-3}, {"error": math.nan}, {"bound": math.nan}, {"lse_error": 2 * matrix.LSE_BOUND}, {"lse_error": math.nan},
                                   {"lse_error": math.inf}, {"empty_rows": 1e-9}, {"empty_rows": math.nan}, {"same_bits": False}])
def test_the_verdict_can_fail(wrong):
    assert matrix.verdict(RIGHT) and not matrix.verdict(RIGHT | wrong)


def test_the_cases_are_those_of_their_tests_and_lengths_of_ours():
    cases = matrix.cases(matrix.HEAD_DIMS)
    assert len(cases) == len({(group.test, shape) for group, shape in cases}) == 1224
    output = {shape for group, shape in cases if group.test == "test_flash_attn_output"}
    assert {(shape.heads, shape.kv_heads) for shape in output} == {(6, 6), (6, 2), (6, 1)}
    assert {shape.causal for shape in output} == {True, False} and {(1024, 1023), (2048, 2048)} < {shape[3:5] for shape in output}
    assert any(shape.causal and shape.fewer_keys > 0 for _, shape in cases)  # queries that see nothing
    assert {shape.seqlen for group, shape in cases if group.test == "lengths of ours"} == set(matrix.OURS)
    assert {shape.head_dim for _, shape in matrix.cases([64])} == {64}
    assert [group.allowed for group in matrix.GROUPS][:2] == [0, 0]


@pytest.fixture
def program(monkeypatch, tmp_path):
    """program(checks of the cases in turn, words): the exit status, and the lines that were written."""
    asked = []

    def run(checks, *words, has=("fp16",), types=1):
        """has: the types of the step; types: how many times the cases are tried, of each variant."""
        step = {"name": "33_flash_mma_gqa", "number": "33", "operation": "attention", "dtypes": list(has), "variants": ["a", "b"], "dir": "."}
        from types import SimpleNamespace
        torch = SimpleNamespace(__version__="2", backends=SimpleNamespace(cuda=SimpleNamespace(matmul=SimpleNamespace())))
        turn = iter(checks)
        monkeypatch.setattr(peers, "find_step", lambda text: step | {"operation": "softmax"} if text == "8" else step)
        monkeypatch.setattr(peers, "pytorch", lambda step: torch)
        monkeypatch.setattr(peers, "load", lambda step: "library")
        monkeypatch.setattr(peers, "describe", lambda step, flags, seed: [
            {"step": step["name"], "variant": name, "operation": "attention", "dtype": flags[-1] if "--dtype" in flags else has[0],
             "device": "NVIDIA H200", "env": {"gpu_driver": "1", "cuda": "2", "date": "3", "commit": "4"}} for name in "ab"])
        monkeypatch.setattr(matrix, "cases", lambda head_dims: asked.append(head_dims) or [
            (matrix.GROUPS[0], peers.Attention.shape("4x6/2x113/203x64-causal"))] * (len(checks) // types // (1 if "--variant" in words else 2)))
        monkeypatch.setattr(matrix, "tried", lambda torch, launch, shape, dtype, seed, allowed: {"right": matrix.verdict(check := next(turn)), **check})
        monkeypatch.setattr(sys, "argv", ["attention_matrix.py", "--json", str(tmp_path / "lines"), *words])
        status = matrix.main()
        return status, [json.loads(line) for line in (tmp_path / "lines").read_text().splitlines()], asked[-1]

    return run


def test_a_miss_is_the_exit_status(program, capsys):
    status, lines, head_dims = program([RIGHT, RIGHT | {"error": 1e-3}], "--variant", "b")
    assert status == 0 and head_dims == matrix.HEAD_DIMS and lines[0]["shape"]["kv_seqlen"] == 203 and {line["variant"] for line in lines} == {"b"}
    assert "2 of 2 cases are right; the largest error is 1.00 of what is allowed\n" in capsys.readouterr().out
    for miss in ({"error": 3e-3}, {"error": math.nan}):
        status, lines, _ = program([RIGHT, RIGHT | miss, RIGHT], "--variant", "a", "--head-dim", "64")
        assert status == 1 and [line["check"]["right"] for line in lines[-3:]] == [True, False, True]
        worst = "inf" if math.isnan(miss["error"]) else "1.50"
        assert f"2 of 3 cases are right; the largest error is {worst} of" in (said := capsys.readouterr().out) and "a fp16 test_flash_attn_output 4x6/2x113/203x64-causal: {" in said
    assert lines[-2]["check"]["error"] is None  # JSON has no NaN


def test_each_variant_is_tried_where_none_is_named(program):
    status, lines, _ = program([RIGHT, RIGHT, RIGHT, RIGHT | {"error": 3e-3}])
    assert status == 1 and [(line["variant"], line["check"]["right"]) for line in lines] == [("a", True), ("a", True), ("b", True), ("b", False)]


def test_each_type_of_16_bits_is_tried_where_none_is_named(program, capsys):
    tried = lambda lines: [(line["variant"], line["dtype"], line["check"]["right"]) for line in lines]
    status, lines, _ = program([RIGHT, RIGHT, RIGHT, RIGHT | {"error": 3e-3}], "--variant", "b", has=("fp32", "fp16", "bf16"), types=2)
    assert status == 1 and tried(lines) == [("b", "fp16", True), ("b", "fp16", True), ("b", "bf16", True), ("b", "bf16", False)]
    assert "b bf16 test_flash_attn_output" in capsys.readouterr().out
    status, lines, _ = program([RIGHT], "--variant", "b", "--dtype", "bf16", has=("fp16", "bf16"))
    assert status == 0 and tried(lines)[4:] == [("b", "bf16", True)]


def test_a_launch_gets_the_memory_that_it_asks_for(monkeypatch):
    """As many bytes as the library says of the very arguments, all 0xff; of a library that says nothing, none."""
    from types import SimpleNamespace
    made, calls = [], []
    torch = SimpleNamespace(uint8="uint8", full=lambda size, fill, dtype, device: made.append((size, fill, dtype)) or SimpleNamespace(data_ptr=lambda: 77))
    monkeypatch.setattr(peers.Attention, "arguments", lambda *tensors, **more: peers.Attention.Args(seqlen=5, **more))
    monkeypatch.setattr(peers, "launcher", lambda torch, library, calls_: lambda i: calls.extend(calls_))
    O = SimpleNamespace(device="cuda", data_ptr=lambda: 1)
    for library in (SimpleNamespace(workspace=lambda call: 8 * call._obj.seqlen), SimpleNamespace()):
        matrix.launcher_of(torch, library, 1, "bf16")(O, O, O, O, O, True)
    assert made == [((40,), 0xff, "uint8"), ((0,), 0xff, "uint8")]
    assert [(call.workspace, call.dtype, call.variant, call.causal) for call in calls] == [(77, 3, 1, 1)] * 2


def test_each_steps_lines_become_its_record(program, monkeypatch, tmp_path, capsys):
    """A record is replaced, also by lines of which one is wrong: the status says so."""
    monkeypatch.setattr(peers, "ROOT", tmp_path)
    (tmp_path / "matrix.jsonl").write_text("what was there\n")
    status, lines, _ = program([RIGHT, RIGHT | {"error": 3e-3}], "--variant", "a", "--record")
    assert status == 1 and (tmp_path / "matrix.jsonl").read_text() == (tmp_path / "lines").read_text()
    status, lines, _ = program([RIGHT] * 2, "--variant", "a", "--step", "33", "33", types=2)
    assert status == 0 and len(lines) == 4 and capsys.readouterr().out.count("33_flash_mma_gqa: 1 of 1 cases are right") == 2
    assert len((tmp_path / "matrix.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize("words, said", [(["--step", "8"], "not attention in fp16 or bf16"), (["--variant", "c"], "has a, b"),
                                         (["--dtype", "bf16"], "33_flash_mma_gqa has fp16"), (["--dtype", "fp32"], "invalid choice")])
def test_what_cannot_be_tried(program, capsys, words, said):
    with pytest.raises(SystemExit) as stopped:
        program([RIGHT], *words)
    assert stopped.value.code == peers.USAGE and said in capsys.readouterr().err


# ---- with PyTorch ----

def spoilt(torch, spoil):
    def launch(Q, K, V, O, lse, causal):
        right = matrix.attention(torch, Q, K, V, causal, in_fp32=True)
        O.copy_(right[0])
        lse.copy_(right[1])
        spoil(O, lse)
    return launch


COARSER = 8  # bf16 than fp16
SPOILS = {"O": lambda O, lse: O[0, 0, 20, 0].add_(0.01 * (COARSER if "bfloat16" in str(O.dtype) else 1)), "NaN": lambda O, lse: O[0, 1, 32, 5].fill_(math.nan),
          "a row that sees no key": lambda O, lse: O[0, 0, 0, 0].add_(6e-8), "its log-sum-exp": lambda O, lse: lse[0, 0, 0].fill_(-1e9),
          "another log-sum-exp": lambda O, lse: lse[0, 1, 30].add_(1e-3)}


def test_attention_by_its_definition_is_right():
    torch = pytest.importorskip("torch")
    for text in ("2x4x17x32", "1x6/2x33x16-causal", "1x4/1x5/70x32-causal", "1x4/2x33/17x32-causal"):
        for dtype in ("fp16", "bf16"):
            assert matrix.tried(torch, spoilt(torch, lambda O, lse: None), peers.Attention.shape(text), dtype, 1, 1e-5, "cpu")["right"]


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize("what", SPOILS)
def test_what_is_spoilt_is_wrong(what, dtype):
    torch = pytest.importorskip("torch")
    shape = peers.Attention.shape("1x4/2x33/17x32-causal")
    assert not matrix.tried(torch, spoilt(torch, SPOILS[what]), shape, dtype, 1, 1e-5, "cpu")["right"]

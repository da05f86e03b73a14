"""bench/peers.py with an operation, a PyTorch and steps that are made up: which lines come of which types, and what is timed."""
import sys
from types import SimpleNamespace

import pytest

from conftest import ROOT

sys.path += [str(ROOT / "bench")]
import peers  # noqa: E402

from tools.lines import belongs  # noqa: E402

FP32 = {"name": "97_wide", "number": "97", "operation": "attention", "dtypes": ["fp32"], "variants": ["a"]}
FP16 = FP32 | {"name": "98_narrow", "number": "98", "dtypes": ["fp16"]}


class Tensors:
    """An operation on two types, that remembers whose numbers it holds."""
    DTYPES = ["fp32", "fp16"]
    copies = 1

    def __init__(self, torch, shape, seed, dtype, values=None):
        self.dtype, self.values = dtype, values or dtype

    @staticmethod
    def flags(shape):
        return []

    def launch(self, library, variant):
        return lambda i: None

    def peers(self):
        def refuse(i):
            raise RuntimeError("no such backend\nat all")
        return {f"peer {self.dtype}": lambda i: None, "refused": refuse}


@pytest.fixture
def contenders(monkeypatch):
    """contenders(steps, types)"""
    monkeypatch.setattr(peers, "load", lambda step: None)
    monkeypatch.setattr(peers, "describe", lambda step, flags, seed: [
        {"step": step["name"], "variant": "a", "operation": "attention", "dtype": step["dtypes"][0], "bytes": 100, "flops": 10, "floor_ms": 1.0,
         "env": {}}])
    torch = SimpleNamespace(__version__="2")
    return lambda steps, dtypes: peers.contenders_of(steps, Tensors, None, 1, dtypes, torch)


def test_types_take_turns_with_the_same_numbers(contenders, capsys):
    found = contenders([FP32, FP16], ["fp32", "fp16"])
    assert [(each.line["step"], each.line["dtype"], each.line.get("peer"), each.tensors.dtype, each.tensors.values) for each in found] == [
        ("97_wide", "fp32", None, "fp32", "fp16"), ("98_narrow", "fp16", None, "fp16", "fp16"),
        (None, "fp32", "peer fp32", "fp32", "fp16"), (None, "fp16", "peer fp16", "fp16", "fp16")]
    assert [belongs(each.line, FP32) for each in found] == [True, False, True, False]
    assert "refused is left out: no such backend\n" in capsys.readouterr().err
    assert contenders([FP32], ["fp32"])[0].tensors.values == "fp32"


def test_peers_of_a_type_that_no_step_has_are_kept_with_the_steps(contenders):
    ours, *others = contenders([FP16], ["fp16", "fp32"])
    wide = next(each.line for each in others if each.line["dtype"] == "fp32")
    assert (wide["peer"], wide["bytes"], wide["floor_ms"], wide["beside"]) == ("peer fp32", 200, None, ["98_narrow"])
    assert belongs(wide, FP16) and not belongs(wide, FP16 | {"name": "99_other"}) and ours.line["floor_ms"] == 1
    peers.fill_in_time(SimpleNamespace(line=wide, ms=[2.0], iters=1, batch=1, copies=1))
    assert wide["of_floor"] is None and wide["time"]["median_ms"] == 2


def asked(monkeypatch, step, *words):
    monkeypatch.setattr(sys, "argv", ["peers.py", *words])
    monkeypatch.setattr(peers, "find_step", lambda text: {"97": FP32, "98": FP16, "96": step}[text])
    return peers.command_line()[-1]


def test_which_types_are_measured_together(monkeypatch, capsys):
    matmul = FP16 | {"operation": "matmul", "dtypes": ["fp16", "bf16"]}
    assert [dtypes for _, dtypes in asked(monkeypatch, matmul, "96", "--shape", "64", "128")] == [["fp16"]] * 2 + [["bf16"]] * 2
    assert asked(monkeypatch, matmul, "97", "98", "--shape", "1x1x64x64") == [([1, 1, 64, 64], ["fp32", "fp16"])]
    assert asked(monkeypatch, matmul, "98", "--dtype", "fp16", "fp32", "--shape", "1x1x64x64") == [([1, 1, 64, 64], ["fp16", "fp32"])]
    for wrong, said in ((["96", "--dtype", "fp32"], "have fp16, bf16"), (["98", "--dtype", "fp32"], "of peers alone; the steps have fp16"),
                        (["98", "--dtype", "bf16"], "have fp32, fp16")):
        with pytest.raises(SystemExit) as stopped:
            asked(monkeypatch, matmul, *wrong)
        assert stopped.value.code == peers.USAGE and said in capsys.readouterr().err


class Gpu:
    """Spins of fewer clocks than `slow` are over before Python has queued a sample."""

    def __init__(self, slow):
        self.slow, self.spins = slow, []
        self.cuda = SimpleNamespace(Event=self.event, _sleep=self.spins.append)

    def event(self, enable_timing):
        return SimpleNamespace(record=lambda: None, synchronize=lambda: None, elapsed_time=lambda end: 6.0,
                               query=lambda: self.spins[-1] < self.slow)


def test_a_sample_that_the_gpu_waited_in_is_taken_again():
    contender = peers.Contender({}, lambda i: None, Tensors(None, None, 1, "fp16"))
    contender.batch = 3
    gpu = Gpu(slow=3 * peers.SPIN_CYCLES)
    assert contender.sample(gpu) == 2.0
    assert gpu.spins == [peers.SPIN_CYCLES * times for times in (1, 2, 4)]
    with pytest.raises(RuntimeError, match="to queue 3 launches"):
        contender.sample(Gpu(slow=2 * peers.LONGEST_SPIN))

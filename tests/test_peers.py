"""bench/peers.py and the sweeps with an operation, a PyTorch and steps that are made up: which lines come of which types, and what
is timed."""
import sys
from types import SimpleNamespace

import numpy
import pytest

from conftest import ROOT

sys.path += [str(ROOT / "bench")]
import attention_sweep  # noqa: E402
import peers  # noqa: E402
import softmax_sweep  # noqa: E402

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


def test_only_what_is_asked_for_is_timed(contenders, monkeypatch):
    described = peers.describe
    monkeypatch.setattr(peers, "describe", lambda *case: [described(*case)[0] | {"variant": name} for name in ("a", "b")])
    for only in (["b"], ["b", "peer fp16"]):
        found = peers.contenders_of([FP16], Tensors, None, 1, ["fp16"], SimpleNamespace(__version__="2"), only)
        assert [each.line.get("peer") or each.line["variant"] for each in found] == only


# ---- attention that is not fused ----

class Matrices(numpy.ndarray):
    """As much of torch.Tensor as the peer needs."""

    def view(self, *sizes):
        return self.reshape(sizes) if isinstance(sizes[0], int) else super().view(*sizes)

    def transpose(self, first, second):
        return self.swapaxes(first, second)

    def new_empty(self, *sizes):
        return numpy.full(sizes, numpy.nan, self.dtype).view(Matrices)


class Cpu:
    """As much of torch; its GPU has so many bytes free, and counts its kernels."""

    def __init__(self, free):
        self.kernels = []
        self.cuda = SimpleNamespace(mem_get_info=lambda: (free - 100, 10**12), memory_reserved=lambda: 300,
                                    memory_allocated=lambda: 200)

    def baddbmm(self, added, a, b, beta, alpha):
        assert beta == 0 and added.shape == (1,)
        self.kernels.append("baddbmm")
        return alpha * (a @ b)

    def softmax(self, S, dim):
        assert dim == 2
        self.kernels.append("softmax")
        weights = numpy.exp(S - S.max(axis=2, keepdims=True))
        return weights / weights.sum(axis=2, keepdims=True)

    def bmm(self, a, b):
        self.kernels.append("bmm")
        return a @ b


def unfused(free):
    """Attention [2, 3, 5, 4] in fp16 on such a GPU, whose second copy of the tensors holds numbers."""
    tensors = object.__new__(peers.Attention)
    tensors.torch, tensors.sizes, tensors.dtype, tensors.scores_fit, tensors.result = Cpu(free), [2, 3, 5, 4], "fp16", False, None
    numbers = numpy.random.default_rng(1)
    tensors.inputs = [None, tuple(numbers.standard_normal((2, 3, 5, 4)).view(Matrices) for _ in "QKV")]
    return tensors


SCORES = 2 * 2 * (2 * 3 * 5 * 5)  # bytes of scores and of weights


def test_unfused_attention_is_attention_in_three_kernels():
    tensors = unfused(SCORES)
    tensors.unfused(1)
    assert tensors.torch.kernels == ["baddbmm", "softmax", "bmm"] and tensors.result.shape == (2, 3, 5, 4)
    for b, h in ((0, 0), (0, 2), (1, 1)):
        Q, K, V = (numpy.asarray(tensor[b, h]) for tensor in tensors.inputs[1])
        weights = numpy.exp(Q @ K.T / 2)
        assert numpy.allclose(tensors.result[b, h], weights @ V / weights.sum(axis=1, keepdims=True))


def test_unfused_attention_is_left_out_where_its_scores_do_not_fit(capsys):
    tensors = unfused(SCORES - 1)
    assert not peers.accepted(peers.UNFUSED, lambda i: tensors.unfused(1)) and not tensors.torch.kernels
    said = capsys.readouterr().err
    assert f"{peers.UNFUSED} is left out: its scores and weights take 6e-07 GB, and 5.99e-07 GB are free\n" in said


# ---- sweeps ----

def test_the_sweep_of_attention_times_the_last_variant_and_two_peers(monkeypatch, capsys, tmp_path):
    step = FP16 | {"variants": ["a", "tuned"]}
    monkeypatch.setattr(peers, "find_step", lambda text: step)
    monkeypatch.setattr(peers, "pytorch", lambda step: "torch")
    asked = []

    def contenders_of(steps, operation, shape, seed, dtypes, torch, only):
        asked.append((steps, operation, shape, dtypes, torch, only))
        line = {"variant": "tuned", "check": {"right": True, "error": 0.0}, "tflops": 7.0}
        return [SimpleNamespace(line=line | {"time": {"median_ms": 0.5}}),
                SimpleNamespace(line=line | {"peer": only[1], "time": {"median_ms": 1.0}})]
    monkeypatch.setattr(peers, "contenders_of", contenders_of)
    monkeypatch.setattr(peers, "measure", lambda torch, contenders, iters: None)
    monkeypatch.setattr(sys, "argv", ["attention_sweep.py", "--json", str(tmp_path / "lines")])
    assert attention_sweep.main() == 0
    assert len(asked) == 7 * 7 * 2
    assert asked[0] == ([step], peers.Attention, [1, 1, 128, 64], ["fp16"], "torch", ["tuned", *attention_sweep.PEERS])
    assert len((tmp_path / "lines").read_text().splitlines()) == 2 * len(asked)
    assert "1x64x8192x128" in (said := capsys.readouterr().out) and "500.0 µs, 7.0 TFLOPS  2.00 × PyTorch SDPA fp16, flash" in said


def test_the_sweep_of_softmax_times_every_cell_that_is_accepted(monkeypatch, capsys):
    class Softmax:
        SHAPE, shape, flags, copies = "rows x columns", staticmethod(peers.Softmax.shape), staticmethod(lambda shape: []), 1

        def __init__(self, torch, shape, seed):
            pass

        def launch(self, library, variant, threads, rows, row_bytes):
            def queue(i):
                if threads > 64:
                    raise RuntimeError
            return queue

        def peers(self):
            return {peers.COPY: lambda i: None}

    def measure(torch, contenders, iters):
        for place, contender in enumerate(contenders, 1):
            contender.line |= {"time": {"median_ms": place}, "gbps": 5.0, "check": {"right": place != 3}}

    monkeypatch.setattr(peers, "Softmax", Softmax)
    monkeypatch.setattr(peers, "find_step", lambda text: FP32 | {"row_bytes": 16})
    monkeypatch.setattr(peers, "pytorch", lambda step: SimpleNamespace(__version__="2"))
    monkeypatch.setattr(peers, "load", lambda step: None)
    monkeypatch.setattr(peers, "describe", lambda step, flags, seed: [{"shape": {"rows": 3, "cols": 5}, "env": {}, "variant": "a"}])
    monkeypatch.setattr(peers, "measure", measure)
    monkeypatch.setattr(sys, "argv", ["softmax_sweep.py", "--shape", "3x5"])
    assert softmax_sweep.main() == 1
    rows = [row.split() for row in capsys.readouterr().out.splitlines()[2:]]
    assert rows[1] == ["8", "13.00", "6.50", "4.33"] and rows[5] == ["128", "–", "–", "–"]


@pytest.mark.parametrize("words, said", [(["--shape", "8x8"], "a shape is 1x8x8192x64"), (["--iters", "0"], "at least 1")])
def test_a_sweep_that_is_asked_wrongly(monkeypatch, capsys, words, said):
    monkeypatch.setattr(sys, "argv", ["attention_sweep.py", *words])
    with pytest.raises(SystemExit) as stopped:
        attention_sweep.main()
    assert stopped.value.code == peers.USAGE and said in capsys.readouterr().err

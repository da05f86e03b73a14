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
         "parts": 3, "env": {}}])
    torch = SimpleNamespace(__version__="2")
    return lambda steps, dtypes: peers.contenders_of(steps, Tensors, None, 1, dtypes, torch)


def test_types_take_turns_with_the_same_numbers(contenders, capsys):
    found = contenders([FP32, FP16], ["fp32", "fp16"])
    assert [(each.line["step"], each.line["dtype"], each.line.get("peer"), each.tensors.dtype, each.tensors.values) for each in found] == [
        ("97_wide", "fp32", None, "fp32", "fp16"), ("98_narrow", "fp16", None, "fp16", "fp16"),
        (None, "fp32", "peer fp32", "fp32", "fp16"), (None, "fp16", "peer fp16", "fp16", "fp16")]
    assert [belongs(each.line, FP32) for each in found] == [True, False, True, False]
    assert ["parts" in each.line for each in found] == [True, True, False, False]
    assert "refused is left out: no such backend\n" in capsys.readouterr().err
    assert contenders([FP32], ["fp32"])[0].tensors.values == "fp32"


def test_types_of_16_bits_hold_their_own_numbers(contenders):
    found = contenders([FP32], ["fp32", "bf16", "fp16"])
    assert [(each.tensors.dtype, each.tensors.values) for each in found[1:]] == [("fp32", "bf16"), ("bf16", "bf16"), ("fp16", "fp16")]


def test_peers_of_a_type_that_no_step_has_are_kept_with_the_steps(contenders):
    ours, *others = contenders([FP16], ["fp16", "fp32"])
    wide = next(each.line for each in others if each.line["dtype"] == "fp32")
    assert (wide["peer"], wide["bytes"], wide["floor_ms"], wide["beside"]) == ("peer fp32", 200, None, ["98_narrow"])
    assert belongs(wide, FP16) and not belongs(wide, FP16 | {"name": "99_other"}) and ours.line["floor_ms"] == 1
    peers.fill_in_time(SimpleNamespace(line=wide, ms=[2.0], iters=1, batch=1, copies=1, graph=None))
    assert wide["of_floor"] is None and wide["time"]["median_ms"] == 2


def test_a_step_beside_is_left_out_where_it_refuses_the_shape(contenders, monkeypatch, capsys):
    """Not the step in question, and not where something else failed."""
    describe, refusing = peers.describe, {"97_wide": peers.USAGE}
    monkeypatch.setattr(peers, "describe", lambda step, flags, seed: peers.stop(refusing[step["name"]], "no such head dimension")
                        if step["name"] in refusing else describe(step, flags, seed))
    found = lambda beside: peers.contenders_of([FP32, FP16], Tensors, None, 1, ["fp32", "fp16"], SimpleNamespace(__version__="2"), beside=beside)
    assert [each.line["step"] for each in found([FP32]) if each.line["step"]] == ["98_narrow"]
    assert "no such head dimension\n" in capsys.readouterr().err
    for beside, status in (([FP16], peers.USAGE), ([FP32], 1)):
        refusing["97_wide"] = status
        with pytest.raises(SystemExit) as stopped:
            found(beside)
        assert stopped.value.code == status


def asked(monkeypatch, step, *words):
    monkeypatch.setattr(sys, "argv", ["peers.py", *words])
    monkeypatch.setattr(peers, "find_step", lambda text: {"97": FP32, "98": FP16, "96": step}[text])
    return peers.command_line()[-1]


def test_which_types_are_measured_together(monkeypatch, capsys):
    matmul = FP16 | {"operation": "matmul", "dtypes": ["fp16", "bf16"]}
    assert [dtypes for _, dtypes in asked(monkeypatch, matmul, "96", "--shape", "64", "128")] == [["fp16"]] * 2 + [["bf16"]] * 2
    small = peers.Attention.shape("1x1x64x64")
    assert asked(monkeypatch, matmul, "97", "98", "--shape", "1x1x64x64") == [(small, ["fp32", "fp16"])]
    assert asked(monkeypatch, matmul, "98", "--dtype", "fp16", "fp32", "--shape", "1x1x64x64") == [(small, ["fp16", "fp32"])]
    for wrong, said in ((["96", "--dtype", "fp32"], "have fp16, bf16"), (["98", "--dtype", "fp32"], "of peers alone; the steps have fp16"),
                        (["98", "--dtype", "bf16"], "of peers alone; the steps have fp16")):
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


# ---- attention ----

class Matrices(numpy.ndarray):
    """As much of torch.Tensor as attention needs."""

    def view(self, *sizes):
        return self.reshape(sizes) if isinstance(sizes[0], int) else super().view(*sizes)

    def transpose(self, first, second):
        return self.swapaxes(first, second)

    def new_empty(self, *sizes):
        return numpy.full(sizes, numpy.nan, self.dtype).view(Matrices)

    def double(self):
        return self.astype(numpy.float64)

    def masked_fill(self, mask, value):
        return numpy.where(mask, value, self).view(Matrices)

    def nan_to_num(self, value):
        return numpy.nan_to_num(self, nan=value)

    def norm(self, dim=None):
        return numpy.sqrt((self * self).sum(axis=dim)).view(Matrices)

    def abs(self):
        return abs(self)

    def isfinite(self):
        return numpy.isfinite(self)

    def numel(self):
        return self.size


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
        self.kernels.append("softmax")
        with numpy.errstate(invalid="ignore"):
            weights = numpy.exp(S - S.max(axis=dim, keepdims=True))
        return weights / weights.sum(axis=dim, keepdims=True)

    def arange(self, n, device):
        return numpy.arange(n).view(Matrices)

    def bmm(self, a, b):
        self.kernels.append("bmm")
        return a @ b


def on_cpu(text, free=10**12):
    """Attention of a shape in fp16 on such a GPU, whose second copy of the tensors holds numbers. Every other row is compared."""
    tensors, shape, numbers = object.__new__(peers.Attention), peers.Attention.shape(text), numpy.random.default_rng(1)
    tensors.torch, tensors.sizes, tensors.dtype, tensors.scores_fit, tensors.result = Cpu(free), shape, "fp16", False, None
    of = lambda heads, rows: numbers.standard_normal((shape.batch, heads, rows, shape.head_dim)).view(Matrices)
    tensors.inputs = [None, (of(shape.heads, shape.seqlen), *(of(shape.kv_heads, shape.kv_seqlen) for _ in "KV"))]
    tensors.rows, tensors.bounds = numpy.arange(0, shape.seqlen, 2).view(Matrices), (2**-11, 2**-9)
    return tensors


def unfused(free):
    return on_cpu("2x3x5x4", free)


@pytest.mark.parametrize("text, flags", [
    ("1x8x8192x64", "--batch 1 --heads 8 --seqlen 8192 --head-dim 64"),
    ("8x32x2048x64-causal", "--batch 8 --heads 32 --seqlen 2048 --head-dim 64 --causal"),
    ("8x32/8x2048x64", "--batch 8 --heads 32 --kv-heads 8 --seqlen 2048 --head-dim 64"),
    ("1x8/1x512/4096x64-causal", "--batch 1 --heads 8 --kv-heads 1 --seqlen 512 --kv-seqlen 4096 --head-dim 64 --causal")])
def test_shapes_of_attention_are_written_as_they_are_read(text, flags):
    shape = peers.Attention.shape(text)
    assert peers.text_of(shape) == text and peers.Attention.flags(shape) == flags.split()
    assert peers.text_of([2, 3]) == "2x3"
    assert peers.Attention.shape("1x8/8x64/64x32") == peers.Attention.shape("1x8x64x32")


@pytest.mark.parametrize("text", ["1x8x64", "1x8x0x64", "1x8/3x64x64", "1x8/0x64x64", "2/1x8x64x64", "1x8x64x64/32", "1x8x64x64causal",
                                  "1x8x64x64-causal-causal", "-causal", "1x8x6.4x64"])
def test_a_shape_of_attention_that_is_none(monkeypatch, capsys, text):
    with pytest.raises(SystemExit) as stopped:
        asked(monkeypatch, None, "98", f"--shape={text}")
    assert stopped.value.code == peers.USAGE and "8x32/8x2048x64 has 8 heads of K and V" in capsys.readouterr().err


MASKED = ["2x4x6x4-causal", "1x6/2x6x4-causal", "1x6/3x5/7x4-causal", "1x4/1x7/3x4-causal", "1x4/2x7/3x4", "1x4/2x1/5x4-causal"]


@pytest.mark.parametrize("text", MASKED)
def test_the_reference_row_by_row(text):
    tensors = on_cpu(text)
    b, h, h_kv, n, n_kv, d, causal = tensors.sizes
    Q, K, V = map(numpy.asarray, tensors.inputs[1])
    found = numpy.asarray(tensors.rows_of(*tensors.inputs[1]))
    assert found.shape == (b, h, len(tensors.rows), d)
    for batch, head, (place, row) in ((batch, head, row) for batch in range(b) for head in range(h) for row in enumerate(tensors.rows)):
        keys = max(0, row + 1 + n_kv - n) if causal else n_kv
        weights = numpy.exp(K[batch, head // (h // h_kv), :keys] @ Q[batch, head, row] / 2)
        right = weights @ V[batch, head // (h // h_kv), :keys] / weights.sum() if keys else numpy.zeros(d)
        assert numpy.allclose(found[batch, head, place], right)


def test_a_row_that_sees_no_key_is_0():
    tensors = on_cpu("1x4/2x8/5x4-causal")
    tensors.reference = tensors.rows_of(*tensors.inputs[1])
    right = numpy.zeros((1, 4, 8, 4)).view(Matrices)
    right[:, :, tensors.rows] = tensors.reference
    for place, value, expected in (((0, 0, 0, 0), 0, True), ((0, 0, 0, 0), 1e-9, False), ((0, 1, 2, 3), numpy.nan, False),
                                   ((0, 3, 6, 0), 9, False), ((0, 3, 7, 0), numpy.inf, False)):
        tensors.result = right.copy()
        tensors.result[place] = value
        with numpy.errstate(invalid="ignore", divide="ignore"):
            assert tensors.check()["right"] == expected


@pytest.fixture
def sdpa(monkeypatch):
    """What scaled_dot_product_attention was asked for: [(backend, further arguments)], by a PyTorch that is made up."""
    calls, backend = [], []

    class Chosen:
        def __init__(self, name):
            backend[:] = [name]

        def __enter__(self):
            pass

        def __exit__(self, *_):
            backend[:] = []

    names = SimpleNamespace(**{f"{name}_ATTENTION": name for name in ("FLASH", "CUDNN", "EFFICIENT")}, MATH="MATH")
    attention = SimpleNamespace(SDPBackend=names, sdpa_kernel=Chosen)
    bias = SimpleNamespace(causal_lower_right=lambda *sizes: ("lower right", *sizes))
    for name, module in (("torch", None), ("torch.nn", None), ("torch.nn.attention", attention), ("torch.nn.attention.bias", bias)):
        monkeypatch.setitem(sys.modules, name, module or SimpleNamespace())
    torch = Cpu(10**12)
    torch.backends = SimpleNamespace(cuda=SimpleNamespace(matmul=SimpleNamespace()))
    torch.nn = SimpleNamespace(functional=SimpleNamespace(
        scaled_dot_product_attention=lambda Q, K, V, **more: calls.append((*backend, more)) or Q))
    torch.bool, torch.ones = bool, lambda n, n_kv, dtype, device: Lower((n, n_kv))
    return torch, calls


class Lower(tuple):
    def tril(self, diagonal):
        return ("tensor", *self, diagonal)


@pytest.mark.parametrize("text, asked_for, of_cudnn", [
    ("1x4x6x4", {}, {}), ("1x4x6x4-causal", {"is_causal": True}, {"is_causal": True}),
    ("1x4/2x6x4-causal", {"enable_gqa": True, "is_causal": True}, {"enable_gqa": True, "is_causal": True}),
    ("1x4/2x3/6x4", {"enable_gqa": True}, {"enable_gqa": True}),
    ("1x4x3/6x4-causal", {"attn_mask": ("lower right", 3, 6)}, {"attn_mask": ("tensor", 3, 6, 3)}),
    ("1x4x6/3x4-causal", {"attn_mask": ("lower right", 6, 3)}, {"attn_mask": ("tensor", 6, 3, -3)})])
def test_peers_are_asked_for_the_mask_that_ends_where_the_keys_end(sdpa, text, asked_for, of_cudnn):
    torch, calls = sdpa
    tensors = on_cpu(text)
    tensors.torch = torch
    found = tensors.peers()
    assert list(found) == [f"PyTorch SDPA fp16, {name}" for name in ("flash", "cuDNN", "its own choice")] + [peers.UNFUSED]
    for name in list(found)[:3]:
        found[name](1)
    assert calls == [("FLASH", asked_for), ("CUDNN", of_cudnn), (asked_for,)]


def test_peers_of_attention_in_bf16_are_those_of_fp16_that_are_fused(sdpa):
    torch, calls = sdpa
    tensors = on_cpu("1x4/2x6x4")
    tensors.torch, tensors.dtype = torch, "bf16"
    found = tensors.peers()
    assert list(found) == [f"PyTorch SDPA bf16, {name}" for name in ("flash", "cuDNN", "its own choice")]
    found["PyTorch SDPA bf16, cuDNN"](1)
    assert calls == [("CUDNN", {"enable_gqa": True})]


def test_beyond_the_head_dimensions_of_flash_the_efficient_backend_is_a_peer(sdpa):
    names = []
    for d in (256, 272):
        tensors = on_cpu(f"1x2x3x{d}")
        tensors.torch = sdpa[0]
        names.append(list(tensors.peers()))
    assert set(names[1]) - set(names[0]) == {"PyTorch SDPA fp16, efficient"}


@pytest.mark.parametrize("text", ["2x3x5x4-causal", "2x4/2x5x4"])
def test_unfused_attention_has_no_mask_and_no_shared_heads(text, capsys):
    tensors = on_cpu(text)
    assert not peers.accepted(peers.UNFUSED, lambda i: tensors.unfused(1)) and not tensors.torch.kernels
    assert "neither a mask nor heads" in capsys.readouterr().err


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


def test_unfused_attention_with_other_keys_than_queries():
    tensors = on_cpu("2x3x5/7x4")
    tensors.unfused(1)
    assert numpy.allclose(tensors.result[:, :, tensors.rows], tensors.rows_of(*tensors.inputs[1]))


def test_what_a_launch_is_told_of_its_tensors():
    class Tensor(Matrices):
        def data_ptr(self):
            return self.shape[2]

        def stride(self):
            return [stride // self.itemsize for stride in self.strides]

    Q, K = (numpy.zeros(sizes, numpy.float16).view(Tensor) for sizes in ((2, 6, 5, 16), (2, 3, 9, 16)))
    call = peers.Attention.arguments(Q, K, K, Q, causal=True, dtype=2, variant=1)
    assert (call.Q, call.K, call.V, call.O, call.lse) == (5, 9, 9, 5, None)
    assert [getattr(call, name) for name in ("batch", "heads", "kv_heads", "seqlen", "kv_seqlen", "head_dim", "causal", "variant")] == [
        2, 6, 3, 5, 9, 16, 1, 1]
    of = lambda strides: (strides.batch, strides.head, strides.row)
    assert (of(call.Q_strides), of(call.V_strides)) == ((6 * 5 * 16, 5 * 16, 16), (3 * 9 * 16, 9 * 16, 16)) and call.scale == 0.25


# ---- sweeps ----

@pytest.mark.parametrize("number, count, first, last, peer", [
    ("31", 7 * 7 * 2, "1x1x128x64", "1x64x8192x128", "PyTorch SDPA fp16, cuDNN"), ("35", 6 * 6, "1x1x128x512", "1x48x4096x512", peers.UNFUSED)])
def test_the_sweep_of_attention_times_the_last_variant_and_two_peers(monkeypatch, capsys, tmp_path, number, count, first, last, peer):
    step = FP16 | {"number": number, "variants": ["a", "tuned"]}
    monkeypatch.setattr(peers, "find_step", lambda text: step)
    monkeypatch.setattr(peers, "pytorch", lambda step: "torch")
    asked = []

    def contenders_of(steps, operation, shape, seed, dtypes, torch, only):
        asked.append((steps, operation, shape, dtypes, torch, only))
        line = {"variant": "tuned", "check": {"right": True, "error": 0.0}, "tflops": 7.0}
        return [SimpleNamespace(line=line | {"time": {"median_ms": 0.5}}),
                SimpleNamespace(line=line | {"peer": only[2], "time": {"median_ms": 1.0}})]
    monkeypatch.setattr(peers, "contenders_of", contenders_of)
    monkeypatch.setattr(peers, "measure", lambda torch, contenders, iters: None)
    monkeypatch.setattr(sys, "argv", ["attention_sweep.py", "--json", str(tmp_path / "lines")])
    assert attention_sweep.main() == 0
    assert len(asked) == count and len(asked[0][-1]) == 3
    assert asked[0][:-1] == ([step], peers.Attention, peers.Attention.shape(first), ["fp16"], "torch") and asked[0][-1][0] == "tuned"
    assert len((tmp_path / "lines").read_text().splitlines()) == 2 * len(asked)
    assert last in (said := capsys.readouterr().out) and f"500.0 µs, 7.0 TFLOPS  2.00 × {peer}" in said


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


@pytest.mark.parametrize("words, said", [(["--shape", "8x8"], "a shape is 1x8x8192x64"), (["--iters", "0"], "at least 1"),
                                         (["--step", "29"], "no sweep of it")])
def test_a_sweep_that_is_asked_wrongly(monkeypatch, capsys, words, said):
    monkeypatch.setattr(sys, "argv", ["attention_sweep.py", *words])
    monkeypatch.setattr(peers, "find_step", lambda text: FP16 | {"number": text})
    with pytest.raises(SystemExit) as stopped:
        attention_sweep.main()
    assert stopped.value.code == peers.USAGE and said in capsys.readouterr().err

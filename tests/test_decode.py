"""bench/attention_decode.py from its command line to its lines, with a PyTorch of numpy's arrays, a GPU whose graphs are lists of what was
launched, and the emulator's program, which says what it knows of a case; and the tables of READMEs that show such lines."""
import ctypes
import json
import math
import sys
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import numpy
import pytest

from conftest import BUILD, ROOT

sys.path += [str(ROOT / "bench")]
import attention_decode  # noqa: E402
import peers  # noqa: E402

from tools import bench, decode, docs, steps  # noqa: E402


class Tensor(numpy.ndarray):
    """As much of torch.Tensor as attention and its check need. There is no bf16: it is fp16, too."""

    def to(self, dtype):
        return self.astype(dtype)

    def double(self):
        return self.astype(numpy.float64)

    def long(self):
        return self.astype(numpy.int64)

    def clone(self):
        return numpy.array(self, order="C").view(Tensor)

    def transpose(self, first, second):
        return self.swapaxes(first, second)

    def masked_fill(self, mask, value):
        return numpy.where(mask, value, self).view(Tensor)

    def nan_to_num(self, value):
        return numpy.nan_to_num(self, nan=value).view(Tensor)

    def norm(self, dim=None):
        return numpy.sqrt(numpy.asarray((self * self).sum(axis=dim))).view(Tensor)

    def abs(self):
        return abs(self)

    def isfinite(self):
        return numpy.isfinite(self)

    def numel(self):
        return self.size

    def fill_(self, value):
        self.fill(value)

    def data_ptr(self):
        return self.ctypes.data

    def stride(self):
        return [stride // self.itemsize for stride in self.strides]

    def copy_(self, other):
        GPU.launch(lambda: numpy.copyto(self, other))
        return self


class FakeGpu:
    """A launch runs at once, or, while a graph is captured, when it is replayed."""

    def __init__(self):
        self.captured, self.launches, self.ms, self.replays = None, [], 0.01, 0

    def launch(self, work):
        if self.captured is None:
            work()
        else:
            self.captured.append(work)

    def stream(self):
        return 1 if self.captured is None else 2


GPU = FakeGpu()


class CUDAGraph(list):
    replays = math.inf  # that do something

    def replay(self):
        GPU.replays += 1
        self.replays -= 1
        for work in self if self.replays >= 0 else ():
            work()


@contextmanager
def capture(graph):
    GPU.captured = graph
    yield
    GPU.captured = None


def attended(Q, K, V, causal):
    """O, by the definition."""
    Q, K, V = (numpy.asarray(tensor, dtype=numpy.float64) for tensor in (Q, K, V))
    shared, n, n_kv = Q.shape[1] // K.shape[1], Q.shape[2], K.shape[2]
    scores = Q @ K.repeat(shared, axis=1).swapaxes(2, 3) / math.sqrt(Q.shape[3])
    hidden = numpy.arange(n_kv) > (numpy.arange(n)[:, None] + (n_kv - n if causal else n_kv))
    weights = numpy.exp(numpy.where(hidden, -numpy.inf, scores))
    return weights @ V.repeat(shared, axis=1) / weights.sum(axis=3, keepdims=True)


def at(address, *sizes):
    """The tensor of halves that lies there."""
    return numpy.frombuffer((ctypes.c_uint16 * math.prod(sizes)).from_address(address), dtype=numpy.float16).reshape(sizes)


class Step:
    """A step's shared object."""

    def __init__(self, wrong_from=math.inf):
        self.launches, self.wrong_from = 0, wrong_from

    def launch(self, pointer, stream):
        call = pointer._obj
        GPU.launches.append((stream, call.K))
        of_Q, of_K = ((call.batch, heads, n, call.head_dim) for heads, n in ((call.heads, call.seqlen), (call.kv_heads, call.kv_seqlen)))

        def work():
            self.launches += 1
            if self.launches < self.wrong_from:
                at(call.O, *of_Q)[:] = attended(at(call.Q, *of_Q), at(call.K, *of_K), at(call.V, *of_K), call.causal)
        GPU.launch(work)
        return 0


def sdpa(Q, K, V, enable_gqa=False, is_causal=False):
    assert enable_gqa == (Q.shape[1] != K.shape[1])
    O = numpy.full(Q.shape, numpy.nan, Q.dtype).view(Tensor)
    GPU.launch(lambda: numpy.copyto(O, attended(Q, K, V, is_causal)))
    return O


def event(enable_timing):
    return SimpleNamespace(record=lambda: None, query=lambda: False, synchronize=lambda: None, elapsed_time=lambda end: GPU.ms)


def softmax(scores, dim):
    with numpy.errstate(invalid="ignore"):
        weights = numpy.exp(scores - scores.max(axis=dim, keepdims=True))
        return weights / weights.sum(axis=dim, keepdims=True)


def torch_of_numpy():
    tensor = lambda array: numpy.ascontiguousarray(array).view(Tensor)
    generators = SimpleNamespace(manual_seed=numpy.random.default_rng)
    cuda = SimpleNamespace(
        is_available=lambda: True, get_device_properties=lambda device: SimpleNamespace(L2_cache_size=100_000), Event=event,
        _sleep=lambda cycles: None, CUDAGraph=CUDAGraph, graph=capture, current_stream=lambda: SimpleNamespace(cuda_stream=GPU.stream()),
        synchronize=lambda: None, reset_peak_memory_stats=lambda: None, memory_allocated=lambda: 5, max_memory_allocated=lambda: 10**6)
    return SimpleNamespace(
        __version__="2", cuda=cuda, nan=math.nan, inf=math.inf, float16=numpy.float16, bfloat16=numpy.float16, float32=numpy.float32,
        float64=numpy.float64, uint8=numpy.uint8, backends=SimpleNamespace(cuda=SimpleNamespace(matmul=SimpleNamespace())),
        Generator=lambda device: generators, softmax=softmax,
        randn=lambda *sizes, device, generator: tensor(generator.standard_normal(sizes)),
        full_like=lambda like, value: tensor(numpy.full(like.shape, value, like.dtype)),
        empty=lambda size, dtype, device: tensor(numpy.empty(size, dtype)), arange=lambda n, device: tensor(numpy.arange(n)),
        linspace=lambda first, last, count, device, dtype: tensor(numpy.linspace(first, last, count)),
        nn=SimpleNamespace(functional=SimpleNamespace(scaled_dot_product_attention=sdpa)))


SHAPES = ["1x4/2x1/33x32", "2x2x17x32-causal"]


@pytest.fixture
def timed(monkeypatch, tmp_path, capsys):
    """timed(arguments, library): (the exit status, the lines, what was said) of attention_decode.py as if step 33 were it, too."""
    def run(*arguments, library=None, find=peers.find_step):
        GPU.__init__()
        torch, file = torch_of_numpy(), tmp_path / "lines.jsonl"
        names = SimpleNamespace(FLASH_ATTENTION="flash", CUDNN_ATTENTION="cuDNN", EFFICIENT_ATTENTION="efficient", MATH="math")
        for name, module in (("torch", torch), ("torch.nn", torch.nn),
                             ("torch.nn.attention", SimpleNamespace(SDPBackend=names, sdpa_kernel=lambda backend: nullcontext()))):
            monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setattr(peers, "CUDA", BUILD)
        monkeypatch.setattr(peers, "load", lambda step: library or Step())
        monkeypatch.setattr(peers, "find_step", find)
        monkeypatch.setattr(attention_decode, "SHAPES", SHAPES)
        monkeypatch.setattr(sys, "argv", ["attention_decode.py", "--step", "33", "--iters", "2", "--json", str(file), *arguments])
        status = attention_decode.main()
        return status, [json.loads(text) for text in file.read_text().splitlines()], capsys.readouterr().out
    return run


def test_every_shape_is_timed_as_graphs_beside_peers_and_a_copy(timed):
    status, lines, said = timed()
    variants = peers.find_step("33")["variants"]
    assert status == 0 and all(line["check"]["right"] and line["time"]["graph"] for line in lines)
    names = [*variants, "PyTorch SDPA fp16, flash", "PyTorch SDPA fp16, cuDNN", peers.COPY]
    assert [line.get("peer") or line["variant"] for line in lines if line["dtype"] == "fp16"] == 2 * names
    first = lines[0]
    assert first["shape"] == {"batch": 1, "heads": 4, "kv_heads": 2, "seqlen": 1, "kv_seqlen": 33, "head_dim": 32, "causal": False}
    assert {line["kv_bytes"] for line in lines if line["shape"] == first["shape"]} == {2 * 2 * 33 * 32 * 2}
    copies = first["time"]["copies"]
    assert copies * first["bytes"] > attention_decode.Decode.BEYOND_L2 * 100_000
    assert first["time"]["batch"] % copies == 0 and first["time"]["batch"] * GPU.ms >= peers.GRAPH_MS / 2
    copied = next(line for line in lines if line.get("peer") == peers.COPY)
    assert copied["bytes"] == copied["kv_bytes"] and copied["flops"] == 0 and copied["check"]["error"] == 0
    assert "GB/s of K and V  PyTorch SDPA fp16, cuDNN, fp16" in said and "2x2x17x32-causal" in said and "TFLOPS" in said
    captured = [K for stream, K in GPU.launches if stream == 2][:first["time"]["batch"]]  # of the first step's first variant
    assert len(set(captured[:copies])) == copies and captured == captured[:copies] * (len(captured) // copies)
    assert {stream for stream, _ in GPU.launches} == {1, 2} and GPU.replays >= len(lines) * 4  # a sample that warms up, two, and the checked one


def test_a_step_is_timed_beside_the_one_before_it(timed):
    find = peers.find_step
    new = find("33") | {"number": "34", "variants": ["a", "grouped", "split"]}
    _, lines, _ = timed("--step", "34", "--shape", SHAPES[0], find=lambda text: new if text == "34" else find(text))
    ours = [line["variant"] for line in lines if line["step"] and line["dtype"] == "fp16"]
    assert ours.count("grouped") == 2


@pytest.mark.parametrize("wrong_from", [1, 4])
def test_a_launch_of_a_graph_that_is_wrong(timed, wrong_from):
    """The first launch, which no graph has; or those of the graph alone, after three that warm up and one that is timed."""
    status, lines, said = timed("--shape", SHAPES[0], library=Step(wrong_from))
    ours = [line for line in lines if line["step"]]
    assert status == 1 and "WRONG" in said and not any(line["check"]["right"] or line["time"] for line in ours)
    assert all(line["check"]["right"] and line["time"] for line in lines if not line["step"])


def test_a_copy_that_does_nothing(timed, monkeypatch):
    monkeypatch.setattr(Tensor, "copy_", lambda self, other: self)
    status, lines, _ = timed("--shape", SHAPES[0])
    assert status == 1 and {line.get("peer") for line in lines if not line["check"]["right"]} == {peers.COPY}


@pytest.mark.parametrize("replays", [0, 3])
def test_a_graph_that_does_nothing(timed, monkeypatch, replays):
    """From the first on, or when it is checked: what the replays before left must not count."""
    monkeypatch.setattr(CUDAGraph, "replays", replays)
    status, lines, _ = timed("--shape", SHAPES[0])
    assert status == 1 and not any(line["check"]["right"] or line["time"] for line in lines)


@pytest.mark.parametrize("words, said", [
    (["--shape", "8x8"], "a shape is 1x8x8192x64"), (["--iters", "0"], "at least 1"), (["--step", "03"], "no sweep of it"),
    (["--step", "31"], "--kv-heads 2: in this step each head has its own K and V"), (["--step", "99"], "there is no step '99'")])
def test_what_is_asked_wrongly(timed, capsys, words, said):
    with pytest.raises(SystemExit) as stopped:
        timed(*words)
    assert stopped.value.code == peers.USAGE and said in capsys.readouterr().err


def test_the_rows_are_what_they_are_called():
    of = lambda texts: [peers.Attention.shape(text) for text in texts]
    assert len(set(attention_decode.SHAPES)) == len(attention_decode.SHAPES) and len(attention_decode.ONE_QUERY) == 9
    assert all(shape.seqlen == 1 and shape.kv_seqlen % decode.TILE == 0 for shape in of(attention_decode.ONE_QUERY))
    assert all(shape.seqlen == 1 and shape.kv_seqlen % decode.TILE for shape in of(attention_decode.PARTIAL_TILE))
    assert all(shape.seqlen > 1 for shape in of(attention_decode.FEW_ROWS + attention_decode.FULL))
    megabytes = [round(1e-6 * attention_decode.kv_bytes(shape, "fp16")) for shape in of(attention_decode.ONE_QUERY)]
    assert megabytes == [8, 134, 537, 268, 268, 1074, 67, 537, 1074]


# ---- ./learn bench ----

def test_bench_times_a_step_with_a_table_by_its_script(tmp_path):
    before, split = ({"name": name, "number": name[:2], "operation": "attention"} for name in ("33_flash_mma_gqa", "34_flash_mma_split_keys"))
    (of_peers, of_table) = bench.commands([before, split], "python", tmp_path, ["--iters", "3"])
    assert of_peers == ["python", bench.PEERS, "33_flash_mma_gqa", "--json", tmp_path / "results.jsonl", "--iters", "3"]
    assert of_table == ["python", ROOT / "bench/attention_decode.py", "--step", "34", "--json", tmp_path / "decode.jsonl", "--iters", "3"]
    assert list(bench.targets([split])) == ["34_flash_mma_split_keys", "33_flash_mma_gqa"] and not bench.targets([])


def test_a_table_is_kept_with_all_its_lines(monkeypatch, tmp_path):
    split = {"name": "34_flash_mma_split_keys", "number": "34", "operation": "attention", "dir": "there"}
    monkeypatch.setattr(steps, "directory", lambda step: tmp_path / "step")
    (tmp_path / "step").mkdir()
    text = '{"step": "33_flash_mma_gqa"}\n{"step": null, "peer": "x"}\n'
    (tmp_path / "decode.jsonl").write_text(text)
    bench.keep([split], tmp_path)
    assert (tmp_path / "step/decode.jsonl").read_text() == text and not (tmp_path / "step/results.jsonl").exists()


# ---- the tables ----

STEP = {"name": "34_flash_mma_split_keys", "variants": ["one_part", "split"], "dtypes": ["fp16", "bf16"]}


def line(name, ms, n=1, n_kv=2048, dtype="fp16", **more):
    shape = {"batch": 1, "heads": 32, "kv_heads": 8, "seqlen": n, "kv_seqlen": n_kv, "head_dim": 128, "causal": False}
    who = {"step": name} if name[0] == "3" else {"step": None, "peer": name}
    return {**who, "variant": "grouped", "dtype": dtype, "device": "NVIDIA H200", "time": {"median_ms": ms}, "shape": shape, "kv_bytes": 8e6, **more}


def recorded():
    ours, flash = lambda ms, variant="split", **more: line(STEP["name"], ms, variant=variant, **more), "PyTorch SDPA fp16, flash"
    return [ours(0.008, "one_part"), ours(0.004), line("33_flash_mma_gqa", 0.016), line(flash, 0.008), line(peers.COPY, 0.002),
            ours(0.001, n_kv=4096), line(flash, 0.008, n_kv=4096), ours(0.001, n_kv=2047), line(flash, 0.1, n_kv=2047),
            ours(0.004, n=512), line("33_flash_mma_gqa", 0.003, n=512), line(peers.COPY, 9, n=512), ours(0.5, dtype="bf16"),
            ours(9, n=77, time=None)]


def test_one_query_a_head_is_a_rate_of_k_and_v():
    (words, head, rows), (_, _, many), (other, *_) = decode.tables(STEP, recorded())
    assert words == "One query a head, in fp16" and other == "One query a head, in bf16"
    assert head == ("B, heads / KV heads, N, D", "K and V, MB", "`split`, GB/s", "step 33, GB/s", "flash, GB/s", "copy, GB/s",
                    "× step 33", "× flash", "× copy")
    assert rows == [("1, 32/8, 2,048, 128", "8", "2,000", "500", "1,000", "4,000", "4.00", "2.00", "0.50"),
                    ("1, 32/8, 4,096, 128", "8", "8,000", "–", "1,000", "–", "–", "8.00", "–"),
                    ("1, 32/8, 2,047, 128", "8", "8,000", "–", "80", "–", "–", "100.00", "–"),
                    ("geometric mean of 2", "", "", "", "", "", "4.00", "4.00", "0.50")]
    assert many == [("B1 H32/8 D128, 512 queries, 2048 keys", "4.00 µs", "3.00 µs", "0.75")]
    assert decode.tables(STEP, []) == []


def test_each_variant_has_a_column():
    head, rows = decode.variants(STEP, recorded())
    assert head[1:] == ("step 33", "`one_part`", "`split`", "copy") and len(rows) == 3
    assert rows[:2] == [("1, 32/8, 2,048, 128", "500", "1,000", "2,000", "4,000"), ("1, 32/8, 4,096, 128", "–", "–", "8,000", "–")]


def test_how_many_sms_have_a_block():
    divided = {"floor_ms": 0.0015, "parts": 160, "blocks": 320}
    lines = [each | divided if each["variant"] == "split" and each["dtype"] == "fp16" else each for each in recorded()]
    lines.append(line(STEP["name"], 0.002, n_kv=64, variant="split", parts=4, blocks=8, floor_ms=0.0009))
    head, rows = decode.blocks(STEP, lines)
    assert [row for row in rows if row[0] in ("1, 32/8, 2,048, 128", "1, 32/8, 64, 128")] == [
        ("1, 32/8, 2,048, 128", "32", "32", "160", "320", "132", "1.50 µs", "4.00 µs"), ("1, 32/8, 64, 128", "32", "32", "4", "8", "8", "900 ns", "2.00 µs")]
    assert len(head) == len(rows[0]) and len(rows) == 4 and decode.blocks(STEP, recorded())[1] == []


def test_a_lesson_shows_the_tables(monkeypatch):
    monkeypatch.setattr(steps, "recorded", lambda step, name: [])
    base = ROOT / "steps" / "33_flash_mma_gqa"
    assert docs.generate("decode", base) == docs.generate("parts", base) == docs.generate("decode_variants", base) == "Not measured on an H200 yet."
    env = {"gpu_driver": "580", "cuda": "13.0", "torch": "2.11", "temperature_c": 40, "date": "2026-11-23"}
    monkeypatch.setattr(steps, "recorded", lambda step, name: [each | {"env": env} for each in recorded()])
    monkeypatch.setattr(steps, "find", lambda name: STEP)
    text = docs.generate("decode", base)
    assert text.startswith("On an NVIDIA H200 (driver 580, CUDA 13.0, PyTorch 2.11, 40 °C at the start, 2026-11-23).")
    assert "More rows, in fp16:\n\n|  | `split` | step 33 | × step 33 |\n" in text

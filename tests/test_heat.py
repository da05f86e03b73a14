"""bench/heat.py: bursts that take turns, with pauses and without; what `./learn bench` makes of it, and the table in a README."""
import json
import sys

import pytest

from conftest import ROOT

sys.path += [str(ROOT / "bench")]
import heat  # noqa: E402
import peers  # noqa: E402

from tools import bench, docs, steps  # noqa: E402

RING, ROLES = ({"name": name, "number": name[:2], "operation": "matmul", "variants": ["first", "last"], "dtypes": ["fp16", "bf16"], "dir": name}
               for name in ("39_matmul_ring", "40_matmul_warp_specialized"))


def contender(step, variant=None, log=None):
    """A Burst that notes each burst in a log, with what it slept before."""
    line = {"step": step, "variant": variant, "flops": 2e9, "bytes": 1, "floor_ms": None, "peer": None if step else "cuBLAS bf16 (torch)"}
    found = heat.Burst(line, lambda i: None, type("Tensors", (), {"copies": 1, "poison": lambda self: None, "check": lambda self: {"right": True}})())
    found.prepare = lambda torch, iters: setattr(found, "iters", iters)
    found.log = log
    return found


def test_all_rest_and_then_none_does(monkeypatch):
    log = []
    monkeypatch.setattr(heat.time, "sleep", lambda seconds: log.append(seconds))
    monkeypatch.setattr(peers.Graph, "sample", lambda self, torch: log.append(self.line["step"]) or 1 + len(log))
    contenders = [contender("39_matmul_ring", "last"), contender(None)]
    lines = heat.timed(None, contenders, 2)
    assert log == [0.12, "39_matmul_ring", 0.12, None] * 2 + ["39_matmul_ring", None] * 2
    assert [(line["heat"], line["behind_ms"], line["step"], line["time"]["iters"]) for line in lines] == [
        (when, behind, step, 2) for when, behind in (("rested", 0), ("hot", 100)) for step in ("39_matmul_ring", None)]
    assert lines[0]["time"]["median_ms"] < lines[2]["time"]["median_ms"]  # each has its own


@pytest.fixture
def main(monkeypatch):
    """main(words…): its status, and of each call of contenders_of the steps, those that may be left out, the operation, types and shape.
    What comes of the fourth is wrong."""
    asked = []

    def contenders_of(steps, operation, shape, seed, dtypes, torch, timed_as, at_once, beside):
        asked.append(([step["number"] for step in steps], [step["number"] for step in beside], operation, dtypes, shape))
        return [contender("39_matmul_ring", "last"), contender(None)]

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["heat.py", *map(str, words)])
        return heat.main(), asked

    monkeypatch.setattr(peers, "pytorch", lambda step: None)
    monkeypatch.setattr(peers, "contenders_of", contenders_of)
    monkeypatch.setattr(heat, "timed", lambda torch, contenders, iters: [
        {"heat": when, "operation": "it", "device": "GPU", "check": {"right": len(asked) != 4}, "of": iters} for when in heat.PAUSES])
    monkeypatch.setattr(peers, "table", lambda lines: print(len(lines)))
    return run


def test_a_hot_burst_comes_behind_others_of_its_own_which_are_not_timed(monkeypatch):
    """Of a GPU that takes 0.5 ms for each launch: as many bursts of 40 launches as take 100 ms."""
    log = []

    class Event:
        def __init__(self, enable_timing):
            pass

        def record(self):
            log.append("event")

        query, synchronize, elapsed_time = lambda self: False, lambda self: None, lambda self, end: 20.0

    torch = type("torch", (), {"cuda": type("cuda", (), {"Event": Event, "_sleep": staticmethod(lambda spin: None)})})
    found = heat.Burst({}, lambda i: log.append("launch"), type("Tensors", (), {"copies": 1, "result": None})())

    def prepare(self, torch, iters):
        assert self.before == 0  # of the phase before
        self.batch, self.graph = 40, type("Graph", (), {"replay": lambda self: log.append("graph")})()
        return 0.5

    monkeypatch.setattr(peers.Graph, "prepare", prepare)
    for behind, before in ((0, 0), (100, 5), (0, 0)):
        log.clear()
        found.behind_ms = behind
        assert found.prepare(torch, 2) == found.sample(torch) == 0.5
        assert log == ["graph"] * before + ["event", "graph", "event"]


def test_each_type_and_shape_is_timed_and_a_wrong_result_is_the_status(main, capsys, tmp_path):
    status, asked = main("--shape", "64", "128", "--iters", "3", "--json", tmp_path / "lines")
    assert status == 1
    assert asked == [(["39", "40"], ["39"], peers.Matmul, [dtype], peers.Matmul.shape(size))
                     for dtype in ("bf16", "fp16") for size in ("64", "128")]
    assert [json.loads(text)["of"] for text in (tmp_path / "lines").read_text().splitlines()] == [3] * 8
    said = capsys.readouterr().out
    assert said.count("rested, GPU\n1\n") == said.count("hot, GPU\n1\n") == 4 and "\n64x64x64 it, bf16, rested, GPU\n" in said


def test_all_variants_of_the_step_itself_are_timed_where_asked_for(main, monkeypatch):
    """And of those beside it the default one."""
    step, beside = (peers.find_step(number) for number in ("43", "42"))
    found, got = [contender(each["name"], variant) for each in (beside, step) for variant in each["variants"]], []
    monkeypatch.setattr(peers, "contenders_of", lambda *_, **__: found)
    monkeypatch.setattr(heat, "timed", lambda torch, contenders, iters: got.append([each.line["variant"] for each in contenders]) or [
        {"heat": "rested", "operation": "it", "device": "GPU", "check": {"right": True}}])
    for words in ((), ("--variants",)):
        main("--step", "43", "--shape", "64", "--dtype", "bf16", *words)
    assert got == [[beside["variants"][-1], step["variants"][-1]], [beside["variants"][-1], *step["variants"]]]


def test_the_shapes_of_layers_are_timed(main):
    status, asked = main("--step", "43", "--layers", "--dtype", "bf16")
    assert [shape for *_, shape in asked] == [peers.Matmul.shape(text) for text in heat.LAYERS]


def test_attention_is_timed_beside_two_backends_in_the_setting_of_flash_attention_3(main):
    status, asked = main("--step", "33", "--beside", "31", "32", "--shape", "1x2x64x32")
    assert status == 0 and asked == [(["31", "32", "33"], ["31", "32"], peers.Fused, ["fp16"], peers.Attention.shape("1x2x64x32"))]
    asked.clear()
    main("--step", "31")
    steps_of, beside, _, dtypes, _ = zip(*asked)
    assert (steps_of[0], beside[0], {*map(tuple, dtypes)}) == (["30", "31"], ["30"], {("fp16",)})
    *setting, seed = [shape for *_, shape in asked]
    assert str(seed) == "1x8x8192x64" and len({*setting}) == 18 and {shape.head_dim for shape in setting} == {64, 128, 256}
    assert {(shape.batch * shape.seqlen, shape.heads * shape.head_dim, shape.causal) for shape in setting} == {(16384, 2048, False)}
    assert (str(setting[0]), str(setting[-1])) == ("32x32x512x64", "1x8x16384x256")


def test_attention_with_a_mask_is_timed_in_the_same_setting_and_with_grouped_heads(main):
    status, asked = main("--step", "48", "--beside", "33", "--causal")
    assert {(*numbers, *beside, of, *dtypes) for numbers, beside, of, dtypes, _ in asked} == {("33", "48", "33", peers.Fused, "fp16")}
    shapes = [shape for *_, shape in asked]
    assert len(shapes) == len({*shapes}) and all(shape.causal for shape in shapes) and str(shapes[-1]) == "1x8x8192x64-causal"
    setting, grouped = ([shape for shape in shapes[:-1] if (shape.kv_heads == shape.heads) == alike] for alike in (True, False))
    assert [str(shape) for shape in setting] == [f"{shape}-causal" for shape in heat.OPERATIONS["attention"].shapes[:-1]]
    assert {(shape.head_dim, shape.kv_heads, shape.seqlen) for shape in grouped} == {(d, kv_heads, 4096) for d in (64, 128) for kv_heads in (1, 4)}
    asked.clear()
    main("--step", "48", "--beside", "33", "--causal", "--shape", "1x2x64x64")  # what is asked for stays as it is
    assert [shape for *_, shape in asked] == [peers.Attention.shape("1x2x64x64")]


def test_the_backends_are_flash_attention_2_and_cudnn(monkeypatch):
    monkeypatch.setattr(peers.Attention, "peers", lambda self: {name: name for name in (
        "PyTorch SDPA fp16, flash", "PyTorch SDPA fp16, cuDNN", "PyTorch SDPA fp16, its own choice", peers.UNFUSED)})
    assert list(peers.Fused.__new__(peers.Fused).peers()) == ["PyTorch SDPA fp16, flash", "PyTorch SDPA fp16, cuDNN"]


def test_default_variants_and_peers_are_timed():
    chosen = [each.line["variant"] for each in (contender("39_matmul_ring", "first"), contender("39_matmul_ring", "last"), contender(None))
              if heat.is_timed(each, [RING, ROLES])]
    assert chosen == ["last", None]


def test_bench_times_it_after_the_peers_and_keeps_all_lines(monkeypatch, tmp_path):
    of_peers, of_heat = bench.commands([ROLES], "python", tmp_path, ["--iters", "3"])
    assert of_peers[:3] == ["python", bench.PEERS, ROLES["name"]]
    assert of_heat == ["python", ROOT / "bench/heat.py", "--step", "40", "--beside", "39_matmul_ring", "--json", tmp_path / "heat.jsonl", "--iters", "3"]
    assert list(bench.targets([ROLES])) == [ROLES["name"], RING["name"]]
    _, of_attention = bench.commands([TENSORS], "python", tmp_path, ["--iters", "3"])
    assert of_attention[2:] == ["--step", "45", "--beside", "31_flash_mma_warp_rows", "--iters", "6", "--json", tmp_path / "heat.jsonl", "--iters", "3"]
    _, of_masked = bench.commands([MASKED], "python", tmp_path, ["--iters", "3"])
    assert of_masked[2:] == ["--step", "48", "--beside", "33_flash_mma_gqa", "--iters", "6", "--causal", "--json", tmp_path / "heat.jsonl", "--iters", "3"]
    _, of_overlap = bench.commands([OVERLAP], "python", tmp_path, [])
    assert of_overlap[2:] == ["--step", "47", "--beside", "46_flash_pingpong", "--iters", "6", "--json", tmp_path / "heat.jsonl"]
    assert list(bench.targets([MASKED, OVERLAP])) == [MASKED["name"], OVERLAP["name"], "33_flash_mma_gqa", "46_flash_pingpong"]
    other = {"name": "22_matmul_fragments_ahead", "number": "22", "operation": "matmul"}
    assert len(list(bench.commands([other], "python", tmp_path, []))) == 1
    monkeypatch.setattr(steps, "directory", lambda step: tmp_path / "step")
    monkeypatch.setattr(bench, "belongs", lambda line, step: True)
    (tmp_path / "step").mkdir()
    for name in ("results.jsonl", "heat.jsonl"):
        (tmp_path / name).write_text(f'{{"of": "{name}"}}\n')
    bench.keep([ROLES], tmp_path)
    assert (tmp_path / "step/heat.jsonl").read_text() == '{"of": "heat.jsonl"}\n'


@pytest.mark.parametrize("words, said", [(["--iters", "0"], "--iters: at least 1"), (["--shape", "0"], "a shape is 4096"),
                                         (["--step", "36"], "all have to be steps of matmul"), (["--step", "99"], "there is no step '99'"),
                                         (["--beside", "39", "04"], "all have to be steps of matmul, or all of attention, that have bf16 and fp16"),
                                         (["--step", "31", "--beside", "39"], "all have to be steps of matmul, or all of attention, that have fp16"),
                                         (["--step", "31", "--shape", "64"], "a shape is 1x8x8192x64"), (["--step", "13"], "that have fp16"),
                                         (["--causal"], "--causal: steps of matmul have no mask; those of attention have"),
                                         (["--step", "31", "--layers"], "--layers: steps of attention have no such shapes; those of matmul have")])
def test_bad_input(monkeypatch, capsys, words, said):
    monkeypatch.setattr(sys, "argv", ["heat.py", *words])
    with pytest.raises(SystemExit) as stopped:
        heat.main()
    assert stopped.value.code == 2 and said in capsys.readouterr().err


def test_the_table_of_a_readme(monkeypatch):
    def line(step, when, tflops):
        env = {"gpu_driver": "1", "cuda": "2", "torch": "3", "date": "today"}
        return {"step": step, "peer": None if step else "cuBLAS bf16 (torch)", "dtype": "bf16", "heat": when, "tflops": tflops, "device": "NVIDIA H200",
                "shape": {"m": 64, "n": 64, "k": 64}, "time": {"median_ms": 1}, "env": env}

    found = [line(step, when, rate) for when, rates in (("rested", (60, 80, 100)), ("hot", (50, 70, 60)))
             for step, rate in zip((RING["name"], ROLES["name"], None), rates)]
    monkeypatch.setattr(steps, "recorded", lambda step, name: json.loads(json.dumps(found)))
    monkeypatch.setattr(steps, "find", lambda name: RING if name == RING["name"] else ROLES)
    rows = cells(docs.heat_of(ROLES))
    of_all = ["step 39", "step 40", "cuBLAS", "step 40 / step 39", "step 40 / cuBLAS"]
    assert (rows[0], rows[3]) == (["type", "rested", *of_all], ["type", "hot", *of_all])
    assert (rows[2], rows[5]) == (["bf16", "64³", "60", "80", "100", "1.33", "0.80"], ["bf16", "64³", "50", "70", "60", "1.40", "1.17"])
    monkeypatch.setattr(steps, "recorded", lambda step, name: [])
    assert docs.heat_of(ROLES) == "Not measured on an H200 yet."


ROWS, TENSORS, OVERLAP, MASKED = ({"name": name, "number": name[:2], "operation": "attention", "variants": ["a"], "dtypes": dtypes, "dir": name}
                 for name, dtypes in (("31_flash_mma_warp_rows", ["fp16", "bf16"]), ("45_flash_wgmma", ["fp16"]), ("47_flash_overlap", ["fp16"]),
                                      ("48_flash_hopper_causal", ["fp16", "bf16"])))


@pytest.fixture
def attention(monkeypatch):
    """The lines of heat.jsonl: a step beside another, which cannot do D 256, and two peers, each of which reached so many TFLOPS."""
    def line(d, when, name, tflops, time=True):
        return {"step": name if name[0].isdigit() else None, "peer": None if name[0].isdigit() else name, "dtype": "fp16", "heat": when,
                "device": "NVIDIA H200", "tflops": tflops, "time": {"median_ms": 1} if time else None, "check": {}, "variant": "a", "operation": "attention",
                "shape": {"batch": 2, "heads": 8, "kv_heads": 8, "seqlen": 8192, "head_dim": d, "causal": False},
                "env": {"gpu_driver": "1", "cuda": "2", "torch": "3", "date": "today"}}

    names = ROWS["name"], TENSORS["name"], "PyTorch SDPA fp16, flash", "PyTorch SDPA fp16, cuDNN"
    found = [line(d, when, name, rate - less, rate != 777) for when, less in (("rested", 0), ("hot", 100)) for d, rates in
             ((64, (400, 500, 300, 450)), (256, (None, 550, 777, 700))) for name, rate in zip(names, rates) if rate]
    monkeypatch.setattr(steps, "recorded", lambda step, name: json.loads(json.dumps(found if name == "heat.jsonl" else [])))
    monkeypatch.setattr(steps, "find", lambda name: ROWS if name == ROWS["name"] else TENSORS)
    return found


def cells(text):
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in text.splitlines() if row.startswith("|")]


def test_the_table_of_attention_has_a_dash_where_one_was_not_timed(attention):
    rows = cells(docs.heat_of(TENSORS))
    of_all = ["step 31", "step 45", "FlashAttention-2", "cuDNN", "step 45 / step 31", "step 45 / FlashAttention-2", "step 45 / cuDNN"]
    assert rows[0] == ["type", "rested", *of_all] and rows[4] == ["type", "hot", *of_all]
    assert rows[2:4] == [["fp16", "B2 H8 N8192 D64", "400", "500", "300", "450", "1.25", "1.67", "1.11"],
                         ["fp16", "B2 H8 N8192 D256", "–", "550", "–", "700", "–", "–", "0.79"]]
    assert rows[7] == ["fp16", "B2 H8 N8192 D256", "–", "450", "–", "600", "–", "–", "0.75"]
    assert docs.heat_of(TENSORS).count("hot without a pause.") == 1
    for each in attention:
        each["behind_ms"] = 100 * (each["heat"] == "hot")
    assert docs.heat_of(TENSORS).count("hot behind 0.1 s of the same launches.") == 1


def test_what_was_timed_elsewhere_stands_beside_the_same_shape_on_a_hot_gpu(attention, monkeypatch):
    """FlashAttention-3 and cuDNN of a run without the steps, as they are recorded."""
    shown = docs.generate("elsewhere 256", ROOT / "steps" / TENSORS["name"])
    rows = cells(shown)
    assert rows[0] == ["", "step 45", "cuDNN", "step 45 / cuDNN", "FlashAttention-3, other run", "cuDNN, other run", "FlashAttention-3 / cuDNN"]
    assert rows[2:] == [["B2 H8 N8192 D256", "450", "600", "0.75", "751", "704", "1.07"]]
    assert "another run, without the steps, on a hot NVIDIA H200 (driver 580.159.04" in shown and "2026-11-21)" in shown
    monkeypatch.setattr(steps, "recorded", lambda step, name: [])
    assert docs.generate("elsewhere 256", ROOT / "steps" / TENSORS["name"]) == "Not measured on an H200 yet."
    for words in ("elsewhere", "elsewhere 64 128"):
        with pytest.raises(SystemExit) as stopped:
            docs.generate(words, ROOT / "steps" / TENSORS["name"])
        assert stopped.value.code == 2


def test_what_was_timed_elsewhere_is_what_its_times_say():
    lines = steps.lines_of(docs.ELSEWHERE.read_bytes(), docs.ELSEWHERE)
    assert {(line["peer"], line["shape"]["head_dim"], line["shape"]["causal"]) for line in lines} == {
        (peer, d, causal) for peer in ("FlashAttention-3", "PyTorch SDPA fp16, cuDNN") for d in (64, 128, 256) for causal in (False, True)}
    assert len(lines) == 2 * 18 * 2
    for line in lines:
        b, h, _, n, d, causal = line["shape"].values()
        assert line["tflops"] == pytest.approx(1e-9 * (2 if causal else 4) * b * h * n * n * d / line["time"]["median_ms"])
        assert "without the steps" in line["source"] and line["device"] == "NVIDIA H200"


def test_the_road_has_each_step_in_a_row_and_what_it_gained(monkeypatch):
    def line(step, size, when, tflops):
        env = {"gpu_driver": "1", "cuda": "2", "torch": "3", "date": "today"}
        return {"step": step, "peer": None if step else "cuBLAS bf16 (torch)", "dtype": "bf16", "heat": when, "tflops": tflops, "device": "NVIDIA H200",
                "shape": {"m": size, "n": size, "k": size}, "time": {"median_ms": 1}, "env": env}

    found = [line(step, size, when, rate) for when, less in (("rested", 0), ("hot", 7))
             for size, rates in ((64, (80, 40, 100)), (128, (50, 75, 60)))
             for step, rate in zip((ROLES["name"], RING["name"], None), (rate - less for rate in rates))]
    monkeypatch.setattr(steps, "recorded", lambda step, name: json.loads(json.dumps(found if name == "road.jsonl" else [])))
    monkeypatch.setattr(steps, "find", lambda name: RING if name == RING["name"] else ROLES)
    shown = docs.generate("road", ROOT / "steps" / ROLES["name"])
    rows = cells(shown)
    assert rows[0] == ["", "64³", "128³"]
    assert rows[2:] == [["39 ring", "40", "75"], ["40 warp specialized", "80 (2.00 ×)", "50 (0.67 ×)"], ["cuBLAS", "100 (1.25 ×)", "60 (1.20 ×)"]]
    assert "bf16 on a rested NVIDIA H200" in shown
    found.clear()
    assert docs.road(ROLES) == "Not measured on an H200 yet."


def recorded_as(monkeypatch, file, lines):
    env = {"gpu_driver": "1", "cuda": "2", "torch": "3", "date": "today"}
    found = [{"dtype": "bf16", "device": "NVIDIA H200", "env": env} | line for line in lines]
    monkeypatch.setattr(steps, "recorded", lambda step, name: json.loads(json.dumps(found if name == file else [])))
    monkeypatch.setattr(steps, "find", lambda name: RING if name == RING["name"] else ROLES)
    return found


def test_a_chain_has_each_variant_in_a_row_and_what_it_gained(monkeypatch):
    found = recorded_as(monkeypatch, "chain.jsonl", [
        {"step": step, "variant": variant, "peer": None if step else "cuBLAS bf16 (torch)", "heat": when, "tflops": rate - less,
         "shape": {"m": 64, "n": 64, "k": 64}, "time": {"median_ms": 1}}
        for when, less in (("rested", 0), ("hot", 20)) for step, variant, rate in (
            (RING["name"], "last", 40), (ROLES["name"], "first", 80), (ROLES["name"], "last", 120), (None, None, 60))])
    rows = cells(docs.generate("chain rested", ROOT / "steps" / ROLES["name"]))
    assert rows[2:] == [["39 ring", "40"], ["`first`", "80 (2.00 ×)"], ["`last`", "120 (1.50 ×)"], ["cuBLAS", "60 (0.50 ×)"]]
    hot = docs.generate("chain hot", ROOT / "steps" / ROLES["name"])
    assert "bf16 on a hot NVIDIA H200" in hot and cells(hot)[4] == ["`last`", "100 (1.67 ×)"]
    found.clear()
    assert docs.chain(ROLES, "hot") == "Not measured on an H200 yet."


def test_layers_are_held_against_cublas_and_a_copy(monkeypatch):
    found = recorded_as(monkeypatch, "layers.jsonl", [
        {"step": step, "peer": peer, "heat": when, "gbps": 1000 / us, "shape": {"m": m, "n": 4096, "k": 8}, "time": {"median_ms": 1e-3 * us}}
        for when, more in (("rested", 0), ("hot", 10)) for m, all_us in ((1, (20, 25, 16)), (128, (40, 20, None)))
        for step, peer, us in zip((ROLES["name"], None, None), (None, "cuBLAS bf16 (torch)", peers.COPY), (us and us + more for us in all_us)) if us])
    shown = docs.layers_of(ROLES)
    assert cells(shown)[2:] == [["1 × 4,096 × 8", "20.0", "25.0", "1.25", "1.17", "0.80"], ["128 × 4,096 × 8", "40.0", "20.0", "0.50", "0.60", "–"]]
    assert "Of 2 shapes: on a rested GPU the geometric mean of the ratios is 0.791, and the least is 0.50, at 128 × 4,096 × 8" in shown
    found.clear()
    assert docs.layers_of(ROLES) == "Not measured on an H200 yet."


def test_variants_of_the_chain_and_shapes_of_layers(monkeypatch):
    """All variants of the step itself where they are asked for, of those beside it the default one; and the shapes of layers."""
    every = [contender(name, variant) for name in ("39_matmul_ring", "40_matmul_warp_specialized") for variant in ("first", "last")]
    assert [(each.line["step"], each.line["variant"]) for each in every if heat.is_timed(each, [RING])] == [
        ("39_matmul_ring", "last"), ("40_matmul_warp_specialized", "first"), ("40_matmul_warp_specialized", "last")]
    shapes = [peers.Matmul.shape(text) for text in heat.LAYERS]
    assert len(shapes) == len(set(map(tuple, shapes))) >= 16 and {m for m, _, _ in shapes} >= {1, 64, 8192}
    chained = [peers.Matmul.shape(text) for text in bench.CHAINED]
    assert [4096, 4096, 4096] in chained and any(m < 128 for m, _, _ in chained)

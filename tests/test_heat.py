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
    assert [(line["heat"], line["step"], line["time"]["iters"]) for line in lines] == [
        (when, step, 2) for when in ("rested", "hot") for step in ("39_matmul_ring", None)]
    assert lines[0]["time"]["median_ms"] < lines[2]["time"]["median_ms"]  # each has its own


def test_each_type_and_shape_is_timed_and_a_wrong_result_is_the_status(monkeypatch, capsys, tmp_path):
    found, asked = [contender("39_matmul_ring", "last"), contender(None)], []
    monkeypatch.setattr(peers, "pytorch", lambda step: None)
    monkeypatch.setattr(peers, "contenders_of", lambda steps, operation, shape, seed, dtypes, torch, timed_as: asked.append((dtypes, shape)) or found)
    monkeypatch.setattr(heat, "timed", lambda torch, contenders, iters: [
        {"heat": when, "device": "GPU", "check": {"right": len(asked) < 4}, "of": iters} for when in heat.PAUSES])
    monkeypatch.setattr(peers, "table", lambda lines: print(len(lines)))
    monkeypatch.setattr(sys, "argv", ["heat.py", "--shape", "64", "128", "--iters", "3", "--json", str(tmp_path / "lines")])
    assert heat.main() == 1
    assert asked == [([dtype], peers.Matmul.shape(size)) for dtype in ("bf16", "fp16") for size in ("64", "128")]
    assert [json.loads(text)["of"] for text in (tmp_path / "lines").read_text().splitlines()] == [3] * 8
    said = capsys.readouterr().out
    assert said.count("rested, GPU\n1\n") == said.count("hot, GPU\n1\n") == 4


def test_default_variants_and_peers_are_timed():
    chosen = [each.line["variant"] for each in (contender("39_matmul_ring", "first"), contender("39_matmul_ring", "last"), contender(None))
              if heat.is_timed(each, [RING, ROLES])]
    assert chosen == ["last", None]


def test_bench_times_it_after_the_peers_and_keeps_all_lines(monkeypatch, tmp_path):
    of_peers, of_heat = bench.commands([ROLES], "python", tmp_path, ["--iters", "3"])
    assert of_peers[:3] == ["python", bench.PEERS, ROLES["name"]]
    assert of_heat == ["python", ROOT / "bench/heat.py", "--step", "40", "--beside", "39_matmul_ring", "--json", tmp_path / "heat.jsonl", "--iters", "3"]
    assert list(bench.targets([ROLES])) == [ROLES["name"], RING["name"]]
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
                                         (["--beside", "39", "04"], "all have to be steps of matmul that have bf16 and fp16")])
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
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in docs.heat_of(ROLES).splitlines() if row.startswith("|")]
    ratios = ["step 40 / step 39", "step 40 / cuBLAS"]
    assert rows[0][2:] == ["rested: step 39, step 40, cuBLAS", *ratios, "hot: step 39, step 40, cuBLAS", *ratios]
    assert rows[2] == ["bf16", "64³", "60, 80, 100", "1.33", "0.80", "50, 70, 60", "1.40", "1.17"]
    monkeypatch.setattr(steps, "recorded", lambda step, name: [])
    assert docs.heat_of(ROLES) == "Not measured on an H200 yet."


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
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in shown.splitlines() if row.startswith("|")]
    assert rows[0] == ["", "64³", "128³"]
    assert rows[2:] == [["39 ring", "40", "75"], ["40 warp specialized", "80 (2.00 ×)", "50 (0.67 ×)"], ["cuBLAS", "100 (1.25 ×)", "60 (1.20 ×)"]]
    assert "bf16 on a rested NVIDIA H200" in shown
    found.clear()
    assert docs.road(ROLES) == "Not measured on an H200 yet."

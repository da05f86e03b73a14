"""bench/attention_table.py and bench/fa3.py: what is compared in FlashAttention-3's setting, what is refused, and the tables in a README."""
import sys

import pytest

from conftest import ROOT

sys.path += [str(ROOT / "bench")]
import attention_table as table  # noqa: E402
import fa3  # noqa: E402
import peers  # noqa: E402

from tools import bench, docs, steps  # noqa: E402

STEP = {"name": "49_flash_capstone", "number": "49", "operation": "attention", "dir": "steps/49_flash_capstone"}
OTHER = {"name": "48_flash_hopper_causal", "number": "48", "operation": "attention", "dir": "steps/48"}


def line(name, ms, heat="rested", n=512, **more):
    peer = None if name in ("exact", "speculative") else name
    shape = {"batch": 16384 // n, "heads": 16, "kv_heads": 16, "seqlen": n, "head_dim": 128, "causal": False}
    return {"step": None if peer else STEP["name"], "variant": None if peer else name, "peer": peer, "heat": heat, "shape": shape, "dtype": "fp16",
            "flops": 1e9, "tflops": 1 / ms if ms else None, "time": {"median_ms": ms} if ms else None, "device": "NVIDIA H200",
            "env": dict.fromkeys(docs.SETTING, "0")} | more


CELL = [line("exact", 2.0), line("speculative", 1.0), line(table.FLASH_3, 3.0, flash_attention="abc"), line(table.CUDNN, 2.5)]


def test_cells_are_those_of_flash_attention_3():
    assert len(table.CELLS) == len(set(table.CELLS)) == 36
    shapes = [peers.Attention.shape(text) for text in table.CELLS]
    assert {shape.batch * shape.seqlen for shape in shapes} == {16384} and {shape.heads * shape.head_dim for shape in shapes} == {2048}


def test_the_better_rival_counts():
    assert table.ratios(CELL, "exact", "rested") == {table.FLASH_3: 1.5, table.CUDNN: 1.25, "the better": 1.25}
    assert table.ratios(CELL[:2], "exact", "rested") == {} == table.ratios(CELL, "exact", "hot")
    assert table.ratios([CELL[0], line(table.FLASH_3, None), CELL[3]], "exact", "rested") == {table.CUDNN: 1.25, "the better": 1.25}


def test_geometric_means_and_the_least():
    other = [line("exact", 1.0), line(table.CUDNN, 5.0)]
    said = list(table.summary({"a": CELL, "b": other}, ["exact"]))
    assert len(said) == 3 and all(text.startswith("rested  exact") for text in said)
    assert "1.500 ×, in the geometric mean of 1 cells" in said[0] and "2.500 ×, in the geometric mean of 2 cells; at least 1.250 ×" in said[2]


@pytest.mark.parametrize("made, cutlass, said", [
    ((), None, "it has no hopper/flash.h; a checkout of https://github.com/Dao-AILab/flash-attention is accepted"),
    (fa3.NEEDED, None, "csrc/cutlass: it has no include/cutlass/cutlass.h"), (fa3.NEEDED, "elsewhere", "elsewhere: it has no include/cutlass/cutlass.h"),
    (fa3.NEEDED[:2], None, f"it has no {fa3.NEEDED[2]}")])
def test_what_it_cannot_build_is_refused(made, cutlass, said, tmp_path, capsys):
    for name in made:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(SystemExit) as stopped:
        fa3.build(tmp_path, cutlass and tmp_path / cutlass)
    assert stopped.value.code == 2 and said in capsys.readouterr().err


def test_what_was_built_before_is_taken(tmp_path):
    (tmp_path / fa3.ABOUT).write_text('{"commit": "abc", "licence": "BSD"}')
    assert fa3.built_before(tmp_path) is None
    (tmp_path / fa3.LIBRARY).touch()
    assert str(fa3.build(tmp_path)) == "FlashAttention-3, commit abc, BSD"


@pytest.mark.parametrize("shape, dtype, said", [("1x8x512x64", "fp16", None), ("1x8x512x64", "bf16", "built for fp16"), ("1x8x512x32", "fp16", "64, 128, 256"),
                                                ("1x8/2x512x64", "fp16", "equal"), ("1x8x512/64x64", "fp16", "equal")])
def test_cases_that_it_is_not_built_for(shape, dtype, said):
    why = fa3.why_not(peers.Attention.shape(shape), dtype)
    assert why is None if said is None else said in why


def test_bench_runs_it_alone_where_its_flag_asks(tmp_path, capsys):
    asked = list(bench.commands([STEP], "python", tmp_path, ["--table", "--flash-attention", "folder"]))
    assert asked == [["python", ROOT / "bench/attention_table.py", "--step", "49", "--json", tmp_path / "table.jsonl", "--flash-attention", "folder"]]
    assert [command[1].name for command in bench.commands([STEP], "python", tmp_path, [])] == ["peers.py"]
    for chosen in ([OTHER], [STEP, OTHER], []):
        with pytest.raises(SystemExit) as stopped:
            list(bench.commands(chosen, "python", tmp_path, ["--table"]))
        assert stopped.value.code == 2
        assert "--table: accepted of 49_flash_capstone alone" in "".join(capsys.readouterr())


def test_a_run_of_the_table_keeps_the_other_records(monkeypatch, tmp_path):
    monkeypatch.setattr(steps, "directory", lambda step: tmp_path / "step")
    (tmp_path / "step").mkdir()
    (tmp_path / "step/results.jsonl").write_text("kept\n")
    (tmp_path / "table.jsonl").write_text('{"of": "table"}\n')
    bench.keep([STEP], tmp_path)
    assert (tmp_path / "step/table.jsonl").read_text() == '{"of": "table"}\n' and (tmp_path / "step/results.jsonl").read_text() == "kept\n"


def test_tables_of_a_page(monkeypatch):
    lines = [*CELL, *(line(name, ms, n=1024) for name, ms in (("exact", 4.0), ("speculative", 2.0), (table.FLASH_3, 3.0), (table.CUDNN, 5.0)))]
    monkeypatch.setattr(steps, "recorded", lambda step, file: lines if file == "table.jsonl" else [])
    said = docs.cells(STEP, "rested", "exact")
    assert "| D 128 | 1.25 | **0.750** |" in said and "at commit abc" in said
    assert "the 2 cells is 0.968, the least is 0.750, and 1 of them is below 1." in said
    assert "| D 128 | 1,024 |" in docs.cells(STEP, "rested")
    lines.append(line("exact", 1.5, n=1024))  # timed again: the last line counts
    assert "and none of them is below 1." in docs.cells(STEP, "rested", "exact")
    assert docs.cells(STEP, "hot") == "Not measured on an H200 yet."


@pytest.mark.parametrize("words, said", [(["--step", "44"], "a step of attention in fp16"), (["--variants", "ordered"], "its own: joined, near"),
                                         (["--shape", "0"], "a shape is 1x8x8192x64"), (["--iters", "0"], "--iters: at least 1")])
def test_bad_input_is_refused(words, said, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["attention_table.py", *words])
    with pytest.raises(SystemExit) as stopped:
        table.main()
    assert stopped.value.code == 2 and said in capsys.readouterr().err

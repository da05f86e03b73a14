"""bench/clocks.py: reads of the clock that are put into a step's source, what is made of them, and the picture in a README."""
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest

from conftest import ROOT, machine

sys.path += [str(ROOT / "bench")]
import clocks as bench  # noqa: E402
import peers  # noqa: E402

from tools import clocks, clocks_picture, docs, ptxas, steps  # noqa: E402

SOURCE = """int before;
__global__ void kernel(int n)
{
    while (n--) {
        // [load] of a tile
        before();
        // [end load]
    }
}

int main(int argc, char **argv)
{
    return 0;
}
"""
MARKS = {"turn": "turn", "multiply": "scores", "under": "softmax"}
STEP = {"name": "97_turns", "number": "97", "dir": "steps/97_turns", "operation": "attention", "arch": "90a", "variants": ["apart", "turns"], "dtypes": ["fp16"]}
SHAPE = {"batch": 1, "heads": 16, "kv_heads": 16, "seqlen": 8192, "head_dim": 128, "causal": False}
ENV = {"gpu_driver": "1", "cuda": "2", "temperature_c": 40, "date": "today"}


def noted(begins, lengths, passes=9, block=0):
    """What a program writes of a block whose consumers begin at these clocks and whose passes have parts so long."""
    lines = []
    for warpgroup, clock in enumerate(begins):
        for mark in range(len(lengths) * passes + 1):
            lines.append(f"{block} {warpgroup} {mark % len(lengths)} {clock % (1 << 32)}")
            clock += lengths[mark % len(lengths)]
    return "\n".join(lines) + "\n"


def recorded(variant, begins, lengths, **more):
    found = clocks.summary(clocks.blocks_of(noted(begins, lengths), MARKS), "turn")
    return {"step": STEP["name"], "variant": variant, "operation": "attention", "dtype": "fp16", "device": "NVIDIA H200", "shape": SHAPE | more, "env": ENV,
            "check": None, "time": {"median_ms": 2.0}, "clocks": found | {"with_reads_ms": 2.1}}


@pytest.mark.parametrize("name", clocks.MARKS)
def test_each_mark_of_a_step_gets_one_read_and_nvcc_compiles_them(name, tmp_path):
    step = steps.find(name)
    text = clocks.instrumented(steps.source(step).read_text(), clocks.MARKS[name], name)
    reads = re.findall(r"// \[(.+?)\].*\n\s*read_clock\(clocks_at, (\d+)\);", text)
    assert reads == [(mark, str(number)) for number, mark in enumerate(clocks.MARKS[name])]
    if not machine.nvcc():
        pytest.skip("no nvcc")
    source = tmp_path / "instrumented.cu"
    source.write_text(text)
    status, said = ptxas.compile_source(source, step["arch"], form="-ptx", output=tmp_path / "ptx")
    assert status == 0, said
    assert (tmp_path / "ptx").read_text().count("%clock;") >= len(reads) * len(step["variants"])


def test_a_source_gets_reads_where_it_is_told():
    text = clocks.instrumented(SOURCE, {"load": "output", "end load": "softmax"}, "kernel.cu")
    assert "{\n    unsigned clocks_at = first_clock();\n    while" in text
    assert "of a tile\n        read_clock(clocks_at, 0);\n" in text and "[end load]\n        read_clock(clocks_at, 1);\n" in text
    assert text.count("int main(") == 1 and "static int main_of_step(int argc" in text


@pytest.mark.parametrize("text, marks, said", [
    (SOURCE, ["load", "store"], "kernel.cu has no mark // [store] in its kernel."),
    (SOURCE.replace("int before;", "// [above]"), ["above"], "no mark // [above]"),
    (SOURCE.replace("__global__", ""), [], "0 kernels and 1 functions main"),
    (SOURCE.replace("int main(", "int other("), [], "1 kernels and 0 functions main")])
def test_a_source_without_the_marks_is_refused(text, marks, said, capsys):
    with pytest.raises(SystemExit) as stopped:
        clocks.instrumented(text, marks, "kernel.cu")
    assert stopped.value.code == 2 and said in capsys.readouterr().err


def test_spans_begin_with_the_first_clock_of_all_also_where_the_clock_wraps():
    begin = (1 << 32) - 50
    found, = clocks.blocks_of(noted([begin, begin - 30], [10, 100, 200], passes=1), MARKS)
    assert found == {0: [("turn", 30), ("scores", 40), ("softmax", 140), ("turn", 340)], 1: [("turn", 0), ("scores", 10), ("softmax", 110), ("turn", 310)]}
    assert clocks.blocks_of("", MARKS) == []


def test_a_line_has_some_passes_of_the_middle_and_the_means_of_all():
    found = recorded("turns", [0, 150], [10, 100, 200])["clocks"]
    assert found["mean"] == {"turn": 10, "scores": 100, "softmax": 200} and found["pass"] == 310 and found["blocks"] == 1
    assert found["shown"][0][:3] == [["turn", 0, 10], ["scores", 10, 110], ["softmax", 110, 310]]
    assert found["shown"][1][:2] == [["softmax", 0, 150], ["turn", 150, 160]]
    assert {max(end for _, _, end in spans) for spans in found["shown"].values()} == {clocks.SHOWN * 310}
    assert clocks.summary(clocks.blocks_of(noted([0], [10, 100, 200], passes=2), MARKS), "turn") is None


def test_the_block_that_is_shown_is_the_median_of_all():
    text = "".join(noted([1000 * block, 0], [10, 100, softmax], block=block) for block, softmax in enumerate((290, 190, 250)))
    found = clocks.summary(clocks.blocks_of(text, MARKS), "turn")
    assert (found["least"], found["most"], found["blocks"], found["pass"], found["mean"]["softmax"]) == (300, 400, 3, pytest.approx(1060 / 3), pytest.approx(730 / 3))
    assert found["shown"][0][2] == ["softmax", 110, 360]


def test_the_picture_has_all_variants_to_one_scale():
    lines = [recorded("apart", [0, 0], [0, 400, 200]), recorded("turns", [0, 200], [0, 200, 200])]
    picture = xml.fromstring(clocks_picture.drawn(lines, "97 turns"))
    boxes = [each for each in picture.iter("{http://www.w3.org/2000/svg}rect") if each.get("class") == "exp"]
    widths = {round(float(box.get("width"))) for box in boxes if float(box.get("width")) != 26}
    assert len(widths) == 1  # of softmax, 200 clocks in both
    assert clocks_picture.share(lines[0]) == "67%" and clocks_picture.share(lines[1]) == "100%"
    under = lines[0] | {"step": "47_flash_overlap", "variant": "overlap"}
    assert clocks_picture.share(under) == "100%" and clocks_picture.share(under | {"variant": "neither"}) == "67%"
    said = " ".join(picture.itertext())
    assert "apart: a pass takes 600 clocks" in said and "consumer 1" in said and "QKᵀ" in said
    assert [clocks_picture.tick(scale) for scale in (0.08, 0.2, 100)] == [1000, 500, 1]


def test_the_part_of_a_readme(monkeypatch):
    lines = [recorded("turns", [0, 9], [10, 500, 200]), recorded("apart", [0, 0], [0, 400, 200]), recorded("turns", [0, 200], [10, 200, 200])]
    monkeypatch.setattr(steps, "recorded", lambda step, name: json.loads(json.dumps(lines)))
    monkeypatch.setattr(steps, "find", lambda name: STEP)
    pictures = {}
    shown = docs.generate("clocks D128", ROOT / STEP["dir"], pictures)
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in shown.splitlines() if row.startswith("|")]
    assert rows[0] == ["", "waits for a tile and its turn", "QKᵀ", "softmax", "a pass", "in each block", "products in flight", "the kernel, ms", "× with the reads"]
    assert rows[2:] == [["`turns`", "10", "200", "200", "410", "410–410", "98%", "2.000", "1.050"], ["`apart`", "0", "400", "200", "600", "600–600", "67%", "2.000", "1.050"]]
    assert "(clocks_D128.svg)" in shown and [path.name for path in pictures] == ["clocks_D128.svg"]
    assert docs.generate("clocks D64", ROOT / STEP["dir"]) == "Not measured on an H200 yet."
    lines.append(recorded("turns", [0, 9], [10, 500, 200], seqlen=4096))
    with pytest.raises(SystemExit) as stopped:
        docs.generate("clocks D128", ROOT / STEP["dir"])
    assert stopped.value.code == 2


@pytest.fixture
def machine_with(monkeypatch, tmp_path):
    """machine_with(the clocks that the instrumented program writes): a machine with a GPU, the step and its instrumented program on it."""
    def make(text):
        step = STEP | {"dir": str(tmp_path)}
        (tmp_path / "turns.cu").write_text(SOURCE)
        for folder, wrote in (("cuda", ""), ("instrumented", text)):
            (tmp_path / folder).mkdir()
            program = tmp_path / folder / STEP["name"]
            line = json.dumps({"variant": "turns", "shape": SHAPE, "time": {"median_ms": 2.0 + len(wrote) % 2}})
            program.write_text(f"#!{sys.executable}\nimport sys\nopen(sys.argv[-1], 'w').write({line!r})\nopen({clocks.FILE!r}, 'w').write({wrote!r})\n")
            program.chmod(0o755)
        (tmp_path / "instrumented" / "turns.cu").write_text(clocks.instrumented(SOURCE, ["load"], "turns.cu"))
        monkeypatch.setattr(peers, "find_step", lambda name: step)
        monkeypatch.setattr(peers, "CUDA", tmp_path / "cuda")
        monkeypatch.setattr(bench, "ROOT", tmp_path)
        monkeypatch.setattr(clocks, "MARKS", {STEP["name"]: {"load": "turn"}})
        monkeypatch.setattr(machine, "gpu", lambda: ({}, None))
        return ["clocks.py", "--programs", str(tmp_path / "instrumented"), "--shape", "1x16x8192x128"]
    return make


def test_a_variant_becomes_a_line(machine_with, monkeypatch, tmp_path, capsys):
    words = machine_with(noted([0, 5], [100]))
    monkeypatch.setattr(sys, "argv", [*words, "--variant", "turns", "--json", str(tmp_path / "lines")])
    assert bench.main() is None
    line, = map(json.loads, (tmp_path / "lines").read_text().splitlines())
    assert line["time"]["median_ms"] == 2 and line["clocks"]["pass"] == 100 and set(line["clocks"]["shown"]) == {"0", "1"}
    assert "a pass takes 100 clocks (100 to 100 in 1 blocks)" in capsys.readouterr().out


@pytest.mark.parametrize("more, said", [(["--variant", "other"], "97_turns has apart, turns"), (["--shape", "0"], "a shape is 1x8x8192x64"),
                                        (["--iters", "0"], "--iters: at least 1"), ([], "no consumer comes to three passes")])
def test_bad_input(more, said, machine_with, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [*machine_with(noted([0], [100], passes=1)), *more])
    with pytest.raises(SystemExit) as stopped:
        bench.main()
    assert stopped.value.code == 2 and said in capsys.readouterr().err


def test_a_step_without_marks_and_a_machine_without_a_gpu(machine_with, monkeypatch, capsys):
    words = machine_with("")
    monkeypatch.setattr(machine, "gpu", lambda: (None, "no NVIDIA GPU here"))
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as stopped:
        bench.main()
    assert stopped.value.code == 77 and "./learn timeline 97" in capsys.readouterr().err
    monkeypatch.setattr(clocks, "MARKS", {})
    with pytest.raises(SystemExit) as stopped:
        bench.main()
    assert stopped.value.code == 2 and "there are marks for" in capsys.readouterr().err


def test_it_needs_nothing_but_python():
    done = subprocess.run([sys.executable, "-S", "-E", ROOT / "bench/clocks.py", "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "--programs" in done.stdout, done.stderr

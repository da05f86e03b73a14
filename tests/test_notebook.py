"""The notebooks run from the first cell to the last, on the GPU or the emulator, and are kept without what they print."""

import base64
import json
import os
import pathlib
import re
import sys
import time

import pytest

from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SECONDS = 90
# The chapters that a notebook covers, and a section that stands before that of a step.
CHAPTERS = {"01_memory_system": "A", "02_tensor_cores": "BC", "03_hopper": "D"}
BEFORE = {"01_memory_system": ("The machine", "03")}
# What a cell must show, by a word of its source: what the compiler, the emulator or a program's own check complains of.
SHOWN = {"01_memory_system": {"void fill(": "yours.cu:2: error: expected",
                              "void reverse(": "race in shared memory: yours.cu:5",
                              "every thread has read both tiles": "race in shared memory: matmul_tiled.cu",
                              '"run", "03"': "right: error"},
         "02_tensor_cores": {'edited("25", "ldmatrix_x4_trans': "WRONG: the first wrong element",
                             'edited("26", "cp_async_wait': "copy still in flight: flash_mma_stages.cu",
                             'edited("30", "[place': "WRONG: the first wrong element"},
         "03_hopper": {"row_bytes=96": "row_bytes=96: a row has a multiple of 64 bytes up to 512",
                       'edited("40", "mbarrier_wait': "copy still in flight: matmul_warp_specialized.cu",
                       'edited("38", "W == 32': "out of bounds: matmul_wgmma.cu"}}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_kept_without_output(path):
    nbformat = pytest.importorskip("nbformat")
    for cell in nbformat.read(path, 4).cells:
        assert not cell.get("outputs") and cell.get("execution_count") is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_follows_the_steps(path):
    """A section for every step of its chapters, in order; 14 to 16 is one for each, and 46 and later is one for all from there on. Nothing
    names a step by an old number."""
    text = ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "markdown"]
    headings = re.findall(r"^## (.*)", "\n".join(text), re.MULTILINE)
    numbers = []
    for first, last in re.findall(r"\b(\d\d)\b(?: to (\d\d)\b)?", "\n".join(headings)):
        numbers += [f"{number:02}" for number in range(int(first), int(last or first) + 1)]
    assert numbers == sorted(set(numbers))
    later = next(iter(re.findall(r"^(\d\d) and later", "\n".join(headings), re.MULTILINE)), "99")
    covered = {file.parent.name[:2] for file in (ROOT / "steps").glob("[0-9]*/CMakeLists.txt")
               if re.search(f'CHAPTER "[{CHAPTERS[path.stem]}][.]', file.read_text())}
    assert len(covered) > 6 and {number for number in covered if number <= later} <= set(numbers)
    if path.stem in BEFORE:
        section, step = BEFORE[path.stem]
        assert headings.index(section) < next(i for i, heading in enumerate(headings) if heading.startswith(step))


def test_predictions(capsys, monkeypatch):
    pytest.importorskip("IPython")
    monkeypatch.syspath_prepend(str(ROOT / "notebooks"))
    import lesson

    held = []
    monkeypatch.setattr(lesson, "display", lambda shown: held.append(shown.data))
    lesson.predict("speed", ..., "×")
    lesson.compare("speed", 2.0, "measured")
    lesson.predict("speed", 1, "×")
    lesson.compare("speed", 2.0, "measured")
    lesson.compare("speed", None, "measured")
    lesson.predict("speed", 1.9, "×")
    lesson.compare("speed", 2.0, "measured")
    lesson.predict("speed", 0, "×")
    lesson.compare("speed", 2.0, "measured")
    lesson.predict("lane", 20)
    lesson.compare("lane", 21, "measured", exact=True)
    lesson.compare("lane", 20, "measured", exact=True)
    said = capsys.readouterr().out
    assert "no prediction yet: speed" in said and "predicted: speed: 1 ×" in said and "speed: not measured yet" in said
    assert [text.split("(measured). ")[1] for text in held] == [
        "You made no prediction.", "You said 1: off by a factor of 2.", "You said 1.9: right, within a tenth.", "You said 0.",
        "You said 20.", "You said 20: exactly."]
    assert held[-1].startswith("lane: **20** (measured)")


@pytest.mark.parametrize("name, own", [("31_flash_mma_warp_rows", {}), ("32_flash_mma_causal", {"causal": True}),
                                       ("35_flash_mma_tiling_qk", {"head_dim": 512})])
def test_times_are_of_the_lesson_s_shape(monkeypatch, name, own):
    """Once a step has results they are shown, and the peers at the same shape."""
    pytest.importorskip("IPython")
    monkeypatch.syspath_prepend(str(ROOT / "notebooks"))
    import lesson

    step = {"name": name, "number": name[:2], "operation": "attention", "dtypes": ["fp16"], "variants": ["last"]}
    ladder = lesson.results.LADDER_SHAPE["attention"]
    line = {"step": name, "variant": "last", "operation": "attention", "dtype": "fp16", "device": "NVIDIA H200",
            "shape": ladder | own, "time": {"median_ms": 1.0}}
    peer = line | {"step": "", "variant": "", "peer": "a library"}
    elsewhere = [each | {"shape": ladder | {"seqlen": 512}} for each in (line, peer)]
    monkeypatch.setattr(lesson, "here", lambda *names: [step])
    monkeypatch.setattr(lesson.machine, "choose", lambda step: ("cpu", ""))
    monkeypatch.setattr(lesson.steps, "recorded", lambda step: [])
    assert lesson.times(name[:2]) == []
    monkeypatch.setattr(lesson.steps, "recorded", lambda step: [line, peer, *elsewhere])
    assert lesson.times(name[:2]) == [line, peer]


@pytest.fixture
def execute(monkeypatch):
    """Executes a notebook in a folder, or only its first cells of code."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PATH", f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")

    def executed(path, folder, cells=None):
        notebook = nbformat.read(path, 4)
        notebook.cells = [cell for cell in notebook.cells if cell.cell_type == "code"][:cells]
        return nbclient.NotebookClient(notebook, timeout=SECONDS, resources={"metadata": {"path": str(folder)}}).execute()

    return executed


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_begins_in_the_root_too(execute, path):
    (cell,) = execute(path, ROOT, cells=1).cells
    assert "Steps run on the" in "".join(output.get("text", "") for output in cell.outputs)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(execute, path):
    begin = time.monotonic()
    notebook = execute(path, path.parent)
    assert time.monotonic() - begin < SECONDS
    said = {cell.source: "".join(output.get("text", "") for output in cell.outputs) for cell in notebook.cells}
    for word, expected in SHOWN[path.stem].items():
        (text,) = [text for source, text in said.items() if word in source]
        assert expected in text, text
    for text in said.values():  # nobody wrote a number: no answer stands there, and that is said
        assert "predicted: " not in text
    asked = [cell.source for cell in notebook.cells if cell.source.startswith("predict(")]
    assert len(asked) > 10 and all("no prediction yet: " in said[source] for source in asked)
    held = [output["data"]["text/markdown"] for cell in notebook.cells for output in cell.get("outputs", [])
            if "text/markdown" in output.get("data", {})]
    assert len(held) >= 5 and all("You made no prediction." in text for text in held)
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in shown if output.output_type == "error"]
    assert sum(any(kind.startswith("image/") for kind in output.get("data", {})) for output in shown) >= 10


def test_an_exercise_in_a_cell(capsys, monkeypatch):
    """It is written, linked from the folder of the notebook, and judged."""
    pytest.importorskip("IPython")
    monkeypatch.syspath_prepend(str(ROOT / "notebooks"))
    import lesson

    asked, shown = [], []
    monkeypatch.setattr(lesson, "learn", lambda *words: asked.append(words))
    monkeypatch.setattr(lesson, "display", lambda text: shown.append(text.data))
    lesson.exercise("04.1")
    lesson.check("04.1")
    assert asked == [("exercise", "04.1"), ("check", "04.1")]
    assert shown == ["[exercises/04_matmul_tiled/1_load.cu](../exercises/04_matmul_tiled/1_load.cu)"]


@pytest.fixture
def tensor_cores(monkeypatch):
    pytest.importorskip("IPython")
    monkeypatch.syspath_prepend(str(ROOT / "notebooks"))
    import tensor_cores
    return tensor_cores


def test_lanes_are_those_of_the_manual(tensor_cores):
    """PTX ISA, the fragments of m16n8k16. The notebook reads them from what lanes.cu prints."""
    assert tensor_cores.lanes() == {"A": [[row % 8 * 4 + col % 8 // 2 for col in range(16)] for row in range(16)],
                                    "B": [[col * 4 + row % 8 // 2 for col in range(8)] for row in range(16)],
                                    "C": [[row % 8 * 4 + col // 2 for col in range(8)] for row in range(16)]}


def test_dealt_reads_any_program_of_the_reader(tensor_cores, monkeypatch, capsys):
    """An element that no lane got has none; what is no line of elements is shown."""
    printed = f"hello: 1\nback: {' '.join(map(str, range(63, -1, -1)))}\none: {'9 ' * 64}\n"
    monkeypatch.setattr(tensor_cores, "compile_and_run", lambda *arguments, run: printed)
    found = tensor_cores.dealt("")
    assert list(found) == ["back", "one"] and capsys.readouterr().out == "hello: 1\n"
    assert found["back"][0][0] == 31 and found["back"][7][7] == 0
    assert found["one"][1][1] == 31 and found["one"][0][0] is None


def test_banks_as_drawn_are_those_counted(tensor_cores):
    """The banks come from --layout, the wavefronts from the counters: four matrices in an ldmatrix.x4."""
    from lesson import counters

    counted = counters("21")
    for variant, rows in tensor_cores.layouts("21").items():
        worst = max(column.count(group) for column in zip(*rows) for group in column)
        assert tensor_cores.per_ldmatrix(counted[variant]) == 4 * worst


def test_blocks_by_their_limits(tensor_cores):
    """By hand, in lessons 25 and 26; of what was not recorded there is a bound, and of what a step refuses nothing."""
    found = tensor_cores.blocks(["26:two_stages", "28:two_buffers", "29:collective"], (64, 128, 256), ("h200", "rtx4090"))
    assert found["26 two_stages"][64] == {"bytes": 46080, "H200": (4, ["registers", "shared memory"], 0.25),
                                          "RTX 4090": (2, ["shared memory"], 2 * 4 / 48)}
    assert found["28 two_buffers"][64]["RTX 4090"] == (4, ["registers"], 4 * 4 / 48)
    assert found["28 two_buffers"].keys() == {64, 128}


def test_blocks_where_registers_are_not_recorded(tensor_cores, monkeypatch):
    monkeypatch.setattr(tensor_cores.analyze, "counted", lambda step: [])
    found = tensor_cores.blocks(["26:two_stages"], (64,), ("h200", "rtx4090"))["26 two_stages"][64]
    assert found == {"bytes": 46080, "H200": (4, None, 0.25), "RTX 4090": (2, None, 2 * 4 / 48)}
    assert tensor_cores.what_binds(None).startswith("registers not recorded")


@pytest.mark.parametrize("variant, under", [("one_stage", {0}), ("two_stages", {0, 64})])
def test_products_under_copies(tensor_cores, monkeypatch, variant, under):
    """16 rows × 64 keys × D 64, twice, by mma of 16 × 8 × 16; with the first group of copies nothing can be multiplied."""
    shown = []
    monkeypatch.setattr(tensor_cores, "display", lambda html: shown.append(html.data))
    found = tensor_cores.mma_in_flight(tensor_cores.timelines("26", (variant,))[variant])
    assert set(found) == under and found[0] == 0
    (picture,) = re.findall(r'<img [^>]*alt="the order of (\w+)" src="data:image/svg\+xml;base64,([^"]+)"', shown[0])
    assert picture[0] == variant and f"26_flash_mma_stages {variant}</text>" in base64.b64decode(picture[1]).decode()

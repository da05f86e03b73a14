"""The notebooks run from the first cell to the last, on the GPU or the emulator, and are kept without what they print."""

import json
import os
import pathlib
import re
import sys
import time

import pytest

from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SECONDS = 60
# What a cell must show, by a word of its source: a compiler's error and two races, each in the reader's own program.
SHOWN = {"01_memory_system": {"void fill(": "yours.cu:2: error: expected",
                              "void reverse(": "race in shared memory: yours.cu:5",
                              "every thread has read both tiles": "race in shared memory: matmul_tiled.cu",
                              '"run", "03"': "right: error"}}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_kept_without_output(path):
    nbformat = pytest.importorskip("nbformat")
    for cell in nbformat.read(path, 4).cells:
        assert not cell.get("outputs") and cell.get("execution_count") is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_follows_the_steps(path):
    """A section for every step of its chapter, in order; the machine before 03. Nothing names a step by an old number."""
    text = ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "markdown"]
    headings = re.findall(r"^## (.*)", "\n".join(text), re.MULTILINE)
    numbers = [number for heading in headings for number in re.findall(r"\b\d\d\b", heading)]
    assert numbers == sorted(set(numbers))
    chapter = {path.parent.name[:2] for path in (ROOT / "steps").glob("[0-9]*/CMakeLists.txt") if 'CHAPTER "A.' in path.read_text()}
    assert len(chapter) > 6 and chapter <= set(numbers)
    assert headings.index("The machine") < next(i for i, heading in enumerate(headings) if heading.startswith("03"))


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
    said = capsys.readouterr().out
    assert "no prediction yet: speed" in said and "predicted: speed: 1 ×" in said and "speed: not measured yet" in said
    assert [text.split("(measured). ")[1] for text in held] == [
        "You made no prediction.", "You said 1: off by a factor of 2.", "You said 1.9: right, within a tenth.", "You said 0."]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path, monkeypatch):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PATH", f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    notebook, begin = nbformat.read(path, 4), time.monotonic()
    nbclient.NotebookClient(notebook, timeout=SECONDS, resources={"metadata": {"path": str(path.parent)}}).execute()
    assert time.monotonic() - begin < SECONDS
    said = {cell.source: "".join(output.get("text", "") for output in cell.outputs)
            for cell in notebook.cells if cell.cell_type == "code"}
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

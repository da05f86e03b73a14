"""The notebooks run from the first cell to the last, on the GPU or the emulator, and are kept without what they print."""

import os
import pathlib
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
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in shown if output.output_type == "error"]
    assert sum(any(kind.startswith("image/") for kind in output.get("data", {})) for output in shown) >= 10

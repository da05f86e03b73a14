"""One C style for every directory, .clang-format's, by the version of clang-format that the project pins: others break
lines elsewhere."""

import os
import pathlib
import shutil
import sysconfig

import pytest

from conftest import ROOT, run

VERSION = "19.1.7"  # as pyproject.toml pins it
SUFFIXES = {".c", ".h", ".cu", ".cuh", ".cpp"}
NOT_OURS = {"build", "node_modules"}  # and what begins with a dot


def sources():
    """All of the clone's C, C++ and CUDA files but the reader's answers; clang-format itself passes over those of
    .clang-format-ignore."""
    for folder, folders, files in os.walk(ROOT):
        folders[:] = sorted(name for name in folders if name not in NOT_OURS and not name.startswith(".")
                            and pathlib.Path(folder, name) != ROOT / "exercises")
        yield from (pathlib.Path(folder, name) for name in sorted(files) if pathlib.Path(name).suffix in SUFFIXES)


@pytest.fixture(scope="module")
def clang_format():
    """The one beside this Python, or on the PATH, if it is of that version."""
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    program = shutil.which("clang-format", path=path)
    if not program or f"version {VERSION}" not in run(program, "--version").stdout:
        pytest.skip(f"clang-format {VERSION} is not installed: pip install clang-format=={VERSION}")
    return program


def test_every_file_has_the_style(clang_format):
    files = list(sources())
    assert len(files) > 100
    done = run(clang_format, "--dry-run", "-Werror", *files, timeout=300)
    assert done.returncode == 0, f"clang-format -i mends these:\n{done.stderr}"

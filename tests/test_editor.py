"""An editor that asks clangd finds no error where there is none: .clangd at the root tells it how to read a step and
what the steps share, without a build and without a CUDA toolkit."""

import functools
import re
import shutil

import pytest

from conftest import ROOT, included, kept, run

STEPS = sorted(ROOT.glob("steps/*/*.cu"))
COMMON = sorted((*ROOT.glob("common/*.c"), *ROOT.glob("common/**/*.h")))

pytestmark = pytest.mark.skipif(not shutil.which("clangd"), reason="clangd is not installed")


def errors(file):
    """clangd's errors: a line says `E[time] [name] Line 3: …`. Others that begin with E tell of actions on a selection
    that are not to be had there."""
    done = run("clangd", f"--check={file}", "--check-lines=1-1")  # the actions of one line, or of all: minutes
    assert "All checks completed" in done.stderr, done.stderr
    return re.findall(r"^E\[[^]]*\] (\[\w+\] Line .*)$", done.stderr, re.MULTILINE)


def errors_once(file):
    """The same, asked again only when anything that clangd reads has changed, but for the system's headers."""
    return kept(f"editor-{file.stem}", [clangd_key(), str(file), file.read_text(), *included(file.read_text(), [file.parent])], lambda: errors(file))


@functools.cache
def clangd_key():
    """What goes into every answer: clangd itself, what it is told, and the headers of the emulator and of common/."""
    files = [ROOT / ".clangd", *sorted((ROOT / "emulator" / "include").rglob("*")), *sorted((ROOT / "common").rglob("*.h"))]
    return "".join([run("clangd", "--version").stdout, *(f"{file}{file.read_text()}" for file in files if file.is_file())])


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.stem)
def test_no_errors_in_a_step(step):
    assert errors_once(step) == []


@pytest.mark.parametrize("kind", [".c", ".h"])
def test_no_errors_in_what_steps_share(kind):
    found = {file.name: errors_once(file) for file in COMMON if file.suffix == kind}
    assert found and not any(found.values()), found


def test_errors_are_found(tmp_path):
    """In a kernel and in a launch, of a clone whose step 01 has two names that are declared nowhere."""
    for name in (".clangd", "common", "emulator"):
        (tmp_path / name).symlink_to(ROOT / name)
    step = next(step for step in STEPS if step.stem == "matmul_naive")
    wrong = tmp_path / step.relative_to(ROOT)
    wrong.parent.mkdir(parents=True)
    wrong.write_text(step.read_text().replace("sum +=", "total +=").replace("threads, 0, stream", "lanes, 0, stream", 1))
    found = errors(wrong)
    assert len(found) == 2 and "'total'" in found[0] and "'lanes'" in found[1], found

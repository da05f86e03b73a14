"""What the tests share: a program that did not compile is compiled again when it is next asked for, one that did is not."""

import dataclasses
import subprocess

import pytest

import conftest
from conftest import Program


@dataclasses.dataclass(frozen=True)
class Counted(Program):
    """A program whose compiler ends as was told, and which counts how often it was asked."""

    ends: list = dataclasses.field(default_factory=list, compare=False, repr=False)

    def key(self):
        return "counted"

    def compile(self, folder):
        return folder / "program", subprocess.CompletedProcess(["g++"], self.ends.pop(0), "", "words")


@pytest.mark.parametrize("failure", [1, 2, -9, -15])
def test_only_success_is_kept(compile_output, monkeypatch, tmp_path, failure):
    monkeypatch.setattr(conftest, "KEPT", tmp_path)
    program = Counted(tmp_path / "a.cu", ends=[failure, 0, 7])
    assert [compile_output(program)[1].returncode for _ in range(4)] == [failure, 0, 0, 0]
    assert program.ends == [7]

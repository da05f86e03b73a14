"""What the tests share: what compiles is compiled once, and so is what is refused for its text, until anything that went into it changes.
A program that did not compile for another reason is compiled again when it is next asked for."""

import dataclasses
import subprocess

import pytest

import conftest
from conftest import Program


@dataclasses.dataclass(frozen=True)
class Counted(Program):
    """A program whose compiler ends as was told, and which counts how often it was asked."""

    ends: list = dataclasses.field(default_factory=list, compare=False, repr=False)
    words: str = "words"

    def key(self):
        return "counted"

    def compile(self, folder):
        return folder / "program", subprocess.CompletedProcess(["g++"], self.ends.pop(0), "", self.words)


@pytest.mark.parametrize("failure", [1, 2, -9, -15])
def test_a_failure_that_may_not_come_again_is_not_kept(compile_output, monkeypatch, tmp_path, failure):
    monkeypatch.setattr(conftest, "KEPT", tmp_path)
    program = Counted(tmp_path / "a.cu", ends=[failure, 0, 7])
    assert [compile_output(program)[1].returncode for _ in range(4)] == [failure, 0, 0, 0]
    assert program.ends == [7]


REFUSED = "a.cu:3: error: no such word\nIn file included from a.cu:1:\na.cu:5: error: nor this\n"


@pytest.mark.parametrize("status, words, kept", [
    (2, REFUSED, True), (2, "/tmp/a.cu:3:7: error: no such word\n", True), (1, REFUSED, False), (-9, REFUSED, False),
    (2, "simtcc: a.cu: no such file\n", False), (2, "a.cu:1:10: fatal error: b.h: No such file or directory\n", False), (2, "", False),
    (2, f"{REFUSED}b.h:1: error: a header's\n", False), (2, f"{REFUSED}a.cu:9: internal compiler error: Killed\n", False),
    (2, f"{REFUSED}g++: fatal error: Killed signal terminated program cc1plus\n", False),
    (2, f"{REFUSED}/tmp/a.s: error writing: No space left on device\n", False), (2, f"{REFUSED}extra.cu:3: error: another file's\n", False)])
def test_what_is_refused_for_its_text_is_kept(compile_output, monkeypatch, tmp_path, status, words, kept):
    monkeypatch.setattr(conftest, "KEPT", tmp_path)
    program = Counted(tmp_path / "a.cu", ends=[status, 0], words=words)
    first, second = (compile_output(program)[1] for _ in range(2))
    assert (first.returncode, second.returncode) == (status, status if kept else 0)
    assert first.stderr == second.stderr == words


def test_what_was_found_is_kept_until_a_part_changes(monkeypatch, tmp_path):
    monkeypatch.setattr(conftest, "KEPT", tmp_path)
    found = iter([["one"], [], ["three"], ["four"], ["five"]])

    def ask(name, *parts):
        return conftest.kept(name, parts, lambda: next(found))

    assert [ask("a", "x", "y"), ask("a", "x", "y"), ask("a", "x", "z"), ask("a", "xy"), ask("b", "x", "y")] == [
        ["one"], ["one"], [], ["three"], ["four"]]
    with pytest.raises(ZeroDivisionError):
        conftest.kept("c", ["x"], lambda: 1 / 0)
    assert ask("c", "x") == ["five"] and ask("a", "x", "z") == []


@dataclasses.dataclass(frozen=True)
class Watched(Program):
    """A program that counts how often it is compiled."""

    compiled: list = dataclasses.field(default_factory=list, compare=False, repr=False)

    def compile(self, folder):
        self.compiled.append(folder.name)
        return super().compile(folder)


def test_any_change_compiles_it_again(compile_output, monkeypatch, tmp_path):
    """What is refused for its text, by the compiler itself."""
    monkeypatch.setattr(conftest, "KEPT", tmp_path / "kept")
    source, header, compiled = tmp_path / "a.cu", tmp_path / "b.h", []
    source.write_text('#include "b.h"\n__global__ void k() { nothing = LIMIT; }\n')
    header.write_text("#define LIMIT 1\n")

    def times(**how):
        compiled.clear()
        for _ in range(2):
            done = compile_output(Watched(source, compiled=compiled, **how))[1]
            assert done.returncode == 2 and "a.cu:" in done.stderr and "error: " in done.stderr, done.stderr
        return len(compiled)

    assert [times(), times()] == [1, 0]
    beside = "-I", str(tmp_path)
    assert [times(options=("-DMORE",)), times(options=beside, edit=lambda text: text + "\n"), times(options=beside, edit=lambda text: text)] == [1, 1, 1]
    assert times(compiler=conftest.COMPILERS[-1]) == (len(conftest.COMPILERS) > 1)
    header.write_text("#define LIMIT 2\n")
    assert [times(), times()] == [1, 0]
    source.write_text(source.read_text() + "int more;\n")
    assert [times(), times()] == [1, 0]
    monkeypatch.setattr(conftest, "emulator_key", lambda: "another libsimt.a, header, driver or compiler")
    assert [times(), times()] == [1, 0]


def test_an_edit_of_a_header_is_in_the_program(compile_cu):
    """And in no other: each edit of it makes a program of its own."""
    plain = Program(conftest.source_of("18_matmul_mma"), options=("-I", str(conftest.ROOT / "common")),
                    libraries=(str(conftest.BUILD / "common" / "libcommon.a"),))
    other = dataclasses.replace(plain, edit=("pair[0];", "T(7);"), header="ptx/pair.h")
    third = dataclasses.replace(other, edit=("pair[0];", "pair[1];"))
    assert len({plain.key(), other.key(), third.key()}) == 3
    done = conftest.run(compile_cu(other), "--variant", "padded", "-m", "1", "-n", "1", "-k", "1")
    assert done.returncode == 1 and "element 0: 7, should be" in done.stdout, done.stdout


def test_the_emulator_is_known_by_all_that_goes_into_a_program(monkeypatch, tmp_path):
    def key():
        conftest.emulator_key.cache_clear()
        return conftest.emulator_key()

    monkeypatch.setattr(conftest, "BUILD", tmp_path)
    keys = [key()]
    for file in ("libsimt.a", "simt-translate", "common/libcommon.a"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("one")
        keys.append(key())
        (tmp_path / file).write_text("two")
        keys.append(key())
    for name in conftest.READ_BY_COMPILERS:
        monkeypatch.setenv(name, "elsewhere")
        keys.append(key())
    assert len(set(keys)) == len(keys)
    conftest.emulator_key.cache_clear()

"""Every kind of fault is found, and the report names its lines: tests/faults/*.cu say in comments which."""

import re

import pytest

from conftest import COMPILERS, TESTS, Program, read_report, run

FAULTS = sorted((TESTS / "faults").glob("*.cu"))
UNSUPPORTED = sorted((TESTS / "faults" / "unsupported").glob("*.cu"))

# Faults between threads: the report must name every marked line, and no other.
OF_SEVERAL = {"race in shared memory", "barrier deadlock", "divergent barrier", "divergent collective"}


def expectations(source):
    """Case name -> (kind, lines) from the comments `expect NAME: KIND`."""
    cases = {}
    for number, line in enumerate(source.read_text().splitlines(), 1):
        for name, kind in re.findall(r"// expect (\w+): (.+)", line):
            kind_before, lines = cases.setdefault(name, (kind, set()))
            assert kind == kind_before, f"{source.name}:{number}"
            lines.add(number)
    return cases


CASES = [
    pytest.param(Program(source, compiler), name, kind, lines, id=f"{source.stem}-{name}-{compiler}")
    for compiler in COMPILERS
    for source in FAULTS
    for name, (kind, lines) in expectations(source).items()
]


@pytest.mark.parametrize("program, name, kind, lines", CASES)
def test_fault_is_found(compile_cu, program, name, kind, lines):
    done = run(compile_cu(program), name, timeout=30)
    assert done.returncode == 1, f"status {done.returncode}\n{done.stderr}"
    report = read_report(done.stderr)
    assert (report.kind, report.file) == (kind, program.source.name), report.text
    assert report.line in lines, report.text
    if kind in OF_SEVERAL:
        assert report.lines_named(program.source.name) == lines, report.text
    if re.search(rf"__global__ void {name}\(", program.source.read_text()):
        index = r"\(\d+,\d+,\d+\)"
        assert re.search(rf"kernel {name}, block {index}\n  thread {index}", report.text), report.text


@pytest.mark.parametrize("program", [Program(source) for source in UNSUPPORTED], ids=str)
def test_unsupported_is_named_with_its_line(compile_output, program):
    executable, done = compile_output(program)
    if done.returncode == 0:  # known only when it is reached
        done = run(executable)
    numbered = enumerate(program.source.read_text().splitlines(), 1)
    [(line, what)] = [(n, m[1]) for n, text in numbered if (m := re.search(r"// expect: (.+)", text))]
    assert done.returncode == 2, done.stderr
    assert re.search(rf"{program.source.name}:{line}\b", done.stderr.splitlines()[0]), done.stderr
    assert what in done.stderr, done.stderr

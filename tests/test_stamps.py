"""Records of accesses have few bits for the clock of a block: one that has come far begins anew with the next block."""

import re
import shutil

import pytest

from conftest import BUILD, COMPILERS, ROOT, TESTS, Program, read_report, run

SOURCE = TESTS / "stamps" / "stamps.cu"
[BITS] = map(int, re.findall(r"#define STAMP_BITS (\d+)", (ROOT / "emulator" / "src" / "memory" / "records.h").read_text()))


@pytest.fixture(params=COMPILERS)
def program(request, compile_cu, tmp_path_factory):
    made = tmp_path_factory.mktemp("stamps") / "libclock.a"
    compiler = next(filter(shutil.which, ("cc", "gcc", "clang")))
    done = run(compiler, "-O2", "-I", ROOT / "emulator" / "src", "-c", "-o", made.with_suffix(".o"), TESTS / "stamps" / "clock.c")
    assert done.returncode == 0, done.stderr
    assert run("ar", "rcs", made, made.with_suffix(".o")).returncode == 0
    return compile_cu(Program(SOURCE, request.param, libraries=(str(made), str(BUILD / "libsimt.a"))))


@pytest.mark.parametrize("now", [1, 2 ** (BITS - 1) - 1, 2 ** (BITS - 1), 2**BITS - 2, 2**BITS - 1])
def test_a_race_is_found_however_far_the_clock_is(program, now):
    done = run(program, str(now), SIMT_WORKERS="1")
    [line] = [n for n, text in enumerate(SOURCE.read_text().splitlines(), 1) if text.endswith("// here")]
    assert done.returncode == 1, done.stderr
    report = read_report(done.stderr)
    assert (report.kind, report.line) == ("race in shared memory", line), report.text

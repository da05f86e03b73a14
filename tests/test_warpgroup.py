"""A collective of four warps is described like one of a warp: who meets, who is missed, and what its lanes hold."""

import re
import shutil

import pytest

from conftest import BUILD, COMPILERS, ROOT, TESTS, Program, read_report, run
from test_faults import expectations, lines_accused

SOURCE = TESTS / "warpgroup" / "warpgroup.cu"
CASES = expectations(SOURCE)


@pytest.fixture(params=COMPILERS)
def program(request, compile_cu, tmp_path_factory):
    rows = tmp_path_factory.mktemp("rows") / "librows.a"
    compiler = next(filter(shutil.which, ("cc", "gcc", "clang")))
    source = TESTS / "warpgroup" / "rows.c"
    done = run(compiler, "-O2", "-g", "-I", ROOT / "emulator" / "src", "-c", "-o", rows.with_suffix(".o"), source)
    assert done.returncode == 0, done.stderr
    assert run("ar", "rcs", rows, rows.with_suffix(".o")).returncode == 0
    return compile_cu(Program(SOURCE, request.param, libraries=(str(rows), str(BUILD / "libsimt.a"))))


def test_each_warpgroup_meets_by_itself(program):
    first, second = (sum(range(n, n + 128)) for n in (0, 128))
    done = run(program, "right")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert done.stdout.split() == [str(4 * first + 128 * (0 + 1 + 2 + 3)), str(2 * second + 128 * (1 + 3))]


def test_128_sums_of_each_thread_are_multiplied(program):
    done = run(program, "product")
    assert (done.returncode, done.stdout) == (0, "0 of 16384 sums are wrong\n"), done.stdout + done.stderr


WORDS = {"a_warp_is_elsewhere": ["thread (0,0,0) to (63,0,0) wait in warpgroup_sum()", "thread (64,0,0) to (95,0,0) wait in __syncthreads()"],
         "a_warp_has_left": ["with 96 of the 128 threads of its warpgroup", "All 128 threads of a warpgroup must take part in it."],
         "a_lane_leaves_last": ["with 127 of the 128 threads of its warpgroup"],
         "other_operands": ["thread (0,0,0) to (95,0,0) wait in", "thread (96,0,0) to (127,0,0) wait in",
                            "All 128 threads of a warpgroup must make the same call with the same operands."],
         "two_lines": ["thread (0,0,0) is in warpgroup_sum()", "thread (64,0,0) is in the one", "the threads of a warpgroup must come to it at one place"],
         "too_few": ["with 96 of the 128 threads of its warpgroup"]}


@pytest.mark.parametrize("name", CASES)
def test_who_does_not_come_is_missed(program, name):
    done = run(program, name, SIMT_TIMEOUT="25")
    assert done.returncode == 1, done.stdout + done.stderr
    report, case = read_report(done.stderr), CASES[name]
    assert (report.kind, report.file) == (case.kind, SOURCE.name) and report.line in case.must, report.text
    assert case.must == lines_accused(report, SOURCE.name), report.text
    assert all(words in report.text for words in WORDS[name]), report.text
    assert re.search(rf"kernel {name}, block \(0,0,0\)", report.text), report.text


def test_32_columns_are_those_of_wmma_in_wmma_alone(tmp_path):
    """WMMA's products of 8 by 32 are laid out as those of 32 by 8, with rows for columns; others of 32 columns are not."""
    compiler = next(filter(shutil.which, ("cc", "gcc", "clang")))
    source, executable = TESTS / "warpgroup" / "layout.c", tmp_path / "layout"
    done = run(compiler, "-I", ROOT / "emulator" / "src", "-o", executable, source, BUILD / "libsimt.a", "-lpthread", "-lm", "-ldl")
    assert done.returncode == 0, done.stderr
    places = [(8 * (i % 4 // 2) + lane // 4, 8 * (i // 4) + 2 * (lane % 4) + i % 2) for lane in range(32) for i in range(16)]
    assert run(executable).stdout.split() == [f"{row},{column}" for row, column in places]

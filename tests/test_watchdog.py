"""A kernel that never ends is reported after SIMT_TIMEOUT seconds, with its line; a slow one is left alone."""

import re
import subprocess
import time

import pytest

from conftest import TESTS, Program, run

PROGRAM = Program(TESTS / "watchdog" / "endless.cu")
LINE = 1 + PROGRAM.source.read_text().splitlines().index("    while (*flag == 0)  // here")


@pytest.mark.parametrize("program", [PROGRAM], ids=str)
@pytest.mark.parametrize("workers", ["1", "2"])
def test_endless_kernel_is_reported(compile_cu, program, workers):
    began = time.monotonic()
    done = run(compile_cu(program), SIMT_TIMEOUT="1", SIMT_WORKERS=workers)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("simt: endless kernel")
    assert any(f"endless.cu:{line}" in done.stderr for line in (LINE, LINE + 1))  # the condition, or the empty statement
    assert 0.9 < time.monotonic() - began < 15


@pytest.mark.parametrize("program", [PROGRAM], ids=str)
@pytest.mark.parametrize("workers", ["1", "2"])
def test_blocks_that_do_the_same_are_one_line(compile_cu, program, workers):
    """Of 6,000 blocks each is counted once: on its own, among others that do the same, or as not begun."""
    done = run(compile_cu(program), "many", SIMT_TIMEOUT="2", SIMT_WORKERS=workers)
    assert done.returncode == 1 and done.stderr.startswith("simt: endless kernel")
    lines = done.stderr.splitlines()
    assert len(lines) < 40
    alike = [int(n) for n in re.findall(r"^  kernel waits, (\d+) blocks, the first block \(\d+,0,0\), the last block", done.stderr, re.M)]
    alone = len(re.findall(r"^  kernel waits, block \(\d+,0,0\)$", done.stderr, re.M))
    [waiting] = re.findall(r"^  kernel waits, (\d+) blocks, from block \((\d+),0,0\) on, have not begun$", done.stderr, re.M)
    assert sum(alike) + alone + int(waiting[0]) == 6000
    assert int(waiting[0]) + int(waiting[1]) == 6000
    begun = int(waiting[1])  # how many is a matter of the machine's load
    assert begun > 40 and max(alike) > begun - 40


def test_each_block_of_an_endless_cluster_is_named_once(compile_cu):
    done = run(compile_cu(Program(TESTS / "watchdog" / "endless_cluster.cu")), SIMT_TIMEOUT="1")
    assert done.returncode == 1 and done.stderr.startswith("simt: endless kernel")
    assert re.findall(r"^  kernel polls, block \((\d),0,0\)$", done.stderr, re.M) == ["0", "1"], done.stderr


@pytest.mark.parametrize("program", [PROGRAM], ids=str)
def test_progress_is_enough(compile_cu, program):
    done = run(compile_cu(program), "slow", SIMT_TIMEOUT="0.4", SIMT_WORKERS="1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


@pytest.mark.parametrize("program", [PROGRAM], ids=str)
def test_zero_is_never(compile_cu, program):
    with pytest.raises(subprocess.TimeoutExpired):
        run(compile_cu(program), SIMT_TIMEOUT="0", timeout=2)


@pytest.mark.parametrize("program", [PROGRAM], ids=str)
@pytest.mark.parametrize("wish", ["", "x", "-1", "1s", "nan", "inf"])
def test_bad_timeout(compile_cu, program, wish):
    done = run(compile_cu(program), SIMT_TIMEOUT=wish)
    assert done.returncode == 2
    assert done.stderr.startswith(f"simt: SIMT_TIMEOUT={wish} is not a number of seconds; accepted are ")


@pytest.mark.parametrize("program", [PROGRAM], ids=str)
@pytest.mark.parametrize("signal", ["TERM", "INT"])
def test_signals_end_it_at_once(compile_cu, program, signal):
    done = run("timeout", "-s", signal, "0.5", compile_cu(program), timeout=10)
    assert done.returncode == 124 and done.stderr == ""

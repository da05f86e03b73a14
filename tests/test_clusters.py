"""Clusters of several blocks: tests/clusters/pair.c makes some inside of the runtime."""

import re
import shutil

import pytest

from conftest import BUILD, TESTS, Program, run

SOURCE = TESTS / "clusters" / "pair.c"
CHECKS = pytest.mark.parametrize("checks", ["checked", "plain"])


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    compiler = next(filter(shutil.which, ("cc", "gcc", "clang")))
    executable = tmp_path_factory.mktemp("clusters") / "pair"
    done = run(compiler, "-g", "-O1", "-fno-omit-frame-pointer", "-Wall", "-Werror", "-I", TESTS.parent / "emulator" / "src",
               "-o", executable, SOURCE, BUILD / "libsimt.a", "-lpthread", "-lm", "-ldl")
    assert done.returncode == 0, done.stderr
    return executable


def place(words):
    """The line of pair.c with that comment."""
    [number] = [n for n, text in enumerate(SOURCE.read_text().splitlines(), 1) if text.endswith(f"/* {words} */")]
    return f"pair.c:{number}"


def said(done):
    return re.sub(r"\S*(pair\.c:\d)", r"\1", done.stderr)


@pytest.mark.parametrize("workers", [1, 3])
@CHECKS
@pytest.mark.parametrize("test, counted", [("count_blocks", 0), ("take_turns", 48000), ("poll", 240), ("poll_alone", 40), ("share", 0), ("meet_grid", 720), ("meet_in_one", 48000)])
def test_blocks_of_a_cluster_reach_each_other(pair, test, counted, checks, workers):
    done = run(pair, test, checks, SIMT_WORKERS=str(workers), timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{counted} counted, 0 wrong\n", "")


@CHECKS
def test_a_deadlock_names_the_waiters_of_every_block(pair, checks):
    done = run(pair, "deadlock", checks, SIMT_WORKERS="1", timeout=60)
    first, second = place("deadlock, the first block"), place("deadlock, the second")
    assert done.returncode == 1
    assert said(done).splitlines() == [
        f"simt: barrier deadlock: {first}",
        "  kernel pair, block (0,0,0)",
        f"  thread (0,0,0) to (39,0,0) wait in a signal's wait at {first}",
        "  kernel pair, block (1,0,0)",
        "  thread (0,0,0) to (31,0,0) have left the kernel",
        f"  thread (32,0,0) to (39,0,0) wait in a named barrier, number 3, to which 32 of 64 threads have come, at {second}",
        "  A signal comes from the other block of the cluster.",
    ]


@CHECKS
def test_who_waits_for_a_block_that_has_ended_is_named(pair, checks):
    done = run(pair, "abandon", checks, SIMT_WORKERS="1", timeout=60)
    assert done.returncode == 1
    assert said(done).splitlines()[2:5] == [
        f"  thread (0,0,0) to (39,0,0) wait in a signal's wait at {place('abandon')}",
        "  kernel pair, block (1,0,0)",
        "  thread (0,0,0) to (39,0,0) have left the kernel",
    ]


def test_of_an_endless_kernel_every_block_is_named(pair):
    polls, waits = place("hang, the first block"), place("hang, the second")
    done = run(pair, "hang", "checked", SIMT_WORKERS="1", SIMT_TIMEOUT="1", timeout=60)
    assert done.returncode == 1
    assert f"simt: endless kernel: {polls}\n" in said(done)
    assert f", 6 blocks, the first block (1,0,0), the last block (1,5,0)\n  thread (0,0,0) to (39,0,0) wait in a signal's wait at {waits}\n" in said(done)
    done = run(pair, "hang_alone", "checked", SIMT_WORKERS="1", SIMT_TIMEOUT="1", timeout=60)
    assert done.returncode == 1
    assert [line for line in said(done).splitlines() if "kernel pair" in line] == ["  kernel pair, block (0,0,0)", "  kernel pair, block (1,0,0)"]


def test_blocks_of_a_cluster_know_the_same_arrays(compile_cu):
    """Whichever worker first came to one: a block that did not would find nothing in its neighbour."""
    for _ in range(8):
        done = run(compile_cu(Program(TESTS / "right" / "dsmem.cu")), SIMT_WORKERS="3", timeout=60)
        assert (done.returncode, done.stderr) == (0, "")

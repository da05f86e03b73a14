"""A copy lands at the wait that covers it and not before, also where nothing is checked."""

from conftest import TESTS, Program, run


def test_a_copy_lands_late_without_checks_too(compile_cu):
    done = run(compile_cu(Program(TESTS / "faults" / "async.cu", "g++", ("--plain",))), "no_wait")
    assert (done.returncode, done.stdout) == (0, "-1\n"), done.stderr

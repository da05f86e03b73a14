"""The threads of a block are fibers: the portable switch, ucontext, gives what the assembly gives."""

import pytest

from conftest import BUILD, TESTS, Program, read_report, run

PORTABLE = (str(BUILD / "libsimt_ucontext.a"),)  # in front of libsimt.a, of which nothing is then needed


def portable(source):
    return Program(TESTS / source, "g++", libraries=PORTABLE)


@pytest.mark.parametrize("program", [portable(f"right/{name}.cu") for name in ("matmul", "reduction", "twins")], ids=str)
def test_right_programs(compile_cu, program):
    executable = compile_cu(program)
    assert b"swapcontext" in executable.read_bytes()
    done = run(executable)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


@pytest.mark.parametrize("program", [portable("faults/stack.cu")], ids=str)
def test_stack_overflow(compile_cu, program):
    done = run(compile_cu(program))
    assert done.returncode == 1
    assert read_report(done.stderr).kind == "stack overflow"

"""Right programs are left alone: each checks its own results, and the emulator has nothing to say."""

import pytest

from conftest import COMPILERS, TESTS, Program, beside_no_timing, machine, run

SOURCES = sorted((TESTS / "right").glob("*.cu"))
PROGRAMS = [Program(source, compiler) for compiler in COMPILERS for source in SOURCES]
ON_GPU = [Program(source, "nvcc") for source in SOURCES]
PLAIN = [Program(source, "g++", ("--plain",)) for source in SOURCES]


def expect_silence(done):
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}{done.stderr}"
    assert done.stderr == ""


def expect_right(program, done):
    expect_silence(done)
    if program.source.stem == "api":
        for block in range(2):
            assert f"block {block} of 3 says 1.5 hello\n" in done.stdout


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_right_program(compile_cu, program):
    expect_right(program, run(compile_cu(program), SIMT_WORKERS="1"))


@pytest.mark.gpu
@pytest.mark.parametrize("program", ON_GPU, ids=str)
def test_right_program_on_the_gpu(compile_cu, program):
    if program.needs_hopper and not machine.can_run("90a", machine.gpu()[0]["capability"]):
        pytest.skip("this needs compute capability 9.0")
    made = compile_cu(program)
    with beside_no_timing():
        expect_right(program, run(made))


@pytest.mark.parametrize("program", PLAIN, ids=str)
def test_right_program_without_checks(compile_cu, program):
    expect_silence(run(compile_cu(program)))


@pytest.mark.parametrize("program", PROGRAMS[: len(SOURCES)], ids=str)
def test_several_workers(compile_cu, program):
    expect_silence(run(compile_cu(program), SIMT_WORKERS="3"))


@pytest.mark.parametrize("sms, workers", [(3, 2), (6, 2), (7, 3), (132, 5), (2, 4)])
def test_as_many_blocks_as_the_gpu_holds_may_wait_for_each_other(compile_cu, sms, workers):
    """Where the workers cannot share them out evenly, too."""
    for name in ("resident", "cooperative"):
        [program] = [p for p in PROGRAMS if (p.source.stem, p.compiler) == (name, COMPILERS[0])]
        expect_silence(run(compile_cu(program), SIMT_SMS=str(sms), SIMT_WORKERS=str(workers), SIMT_TIMEOUT="20"))


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.source.stem == "cooperative"], ids=str)
def test_a_grid_may_be_as_large_as_the_gpu_is_said_to_be(compile_cu, program):
    expect_silence(run(compile_cu(program), SIMT_SMS="2"))


@pytest.mark.parametrize("program", PROGRAMS[: len(SOURCES)], ids=str)
def test_counting_changes_nothing(compile_cu, program):
    done = run(compile_cu(program), SIMT_PROFILE="1")
    assert done.returncode == 0, done.stderr
    assert "simt: " not in done.stderr

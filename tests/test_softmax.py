"""The softmax steps on the emulator: every variant at every number of columns up to 300, and where a row outgrows the
chip, with every kind of input; their options and their JSON lines."""

import concurrent.futures
import json

import pytest

from conftest import BUILD, ROOT, TESTS, Program, ensure_build, run

ensure_build()
STEPS = [step for step in json.loads((ROOT / "build" / "steps.json").read_text())["steps"]
         if step["operation"] == "softmax"]
NAMES = [step["name"] for step in STEPS]
ALIGNED = ["10_softmax_held", "11_softmax_shaped"]  # their rows begin at multiples of 16 bytes
INPUTS = ["normal", "scaled", "huge", "equal", "masked"]
COARSENED = "11_softmax_shaped"


def softmax(name, rows, cols, *arguments):
    return run(BUILD / name, "--rows", rows, "--cols", cols, *arguments)


def expect_right(done, count):
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("\nright: error ") == count, done.stdout
    assert done.stderr == ""


def expect_all_right(step, cases):
    """Every variant at each (rows, cols, input), a few cases at a time."""
    def failure(case):
        rows, cols, kind = case
        done = softmax(step["name"], rows, cols, "--input", kind, "--all-variants")
        good = done.returncode == 0 and done.stdout.count("\nright: error ") == len(step["variants"])
        return None if good else f"{case}:\n{done.stdout}{done.stderr}"

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        failures = [words for words in pool.map(failure, cases) if words]
    assert not failures, f"{len(failures)} of {len(cases)} cases failed, the first {failures[0]}"


@pytest.mark.parametrize("step", STEPS, ids=NAMES)
def test_right_for_1_to_300_columns(step):
    expect_all_right(step, [(1 + 5 * cols % 7, cols, INPUTS[cols % 5]) for cols in range(1, 301)])


@pytest.mark.parametrize("step", STEPS, ids=NAMES)
def test_right_for_rows_up_to_300(step):
    expect_all_right(step, [(rows, 1 + 17 * rows % 41, INPUTS[rows % 5]) 
                            for rows in (*range(1, 41), *range(41, 301, 13))])


@pytest.mark.parametrize("cols", [1, 7, 300, 1023, 1024, 1025, 4099, 8191, 8192, 8193])
@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("step", STEPS, ids=NAMES)
def test_right_for_every_input(step, kind, cols):
    done = softmax(step["name"], 3, cols, "--input", kind, "--all-variants")
    expect_right(done, len(step["variants"]))


@pytest.mark.parametrize("cols", [16384, 16385, 32771, 49152, 49157, 65536, 107009, 200001])
@pytest.mark.parametrize("kind", ["normal", "masked"])
@pytest.mark.parametrize("step", STEPS, ids=NAMES)
def test_right_for_long_rows(step, kind, cols):
    expect_right(softmax(step["name"], 2, cols, "--input", kind, "--all-variants"), len(step["variants"]))


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("step", STEPS, ids=NAMES)
def test_right_for_other_seeds(step, seed):
    expect_right(softmax(step["name"], 20, 777, "--seed", seed, "--all-variants"), len(step["variants"]))


@pytest.mark.parametrize("gpu", ["t4", "a100", "rtx4090"])
def test_right_with_less_shared_memory(gpu):
    done = run(BUILD / COARSENED, "--rows", 2, "--cols", 70001, SIMT_GPU=gpu)
    expect_right(done, 1)


# ---- rows at multiples of 16 bytes ----

@pytest.mark.parametrize("cols", [1, 2, 3, 4, 5, 1029, 40002])
@pytest.mark.parametrize("name", ALIGNED)
def test_right_with_padding_behind_the_rows(name, cols):
    done = softmax(name, 9, cols, "--row-padding", 8, "--all-variants")
    assert done.returncode == 0 and "WRONG" not in done.stdout and done.stderr == "", done.stdout + done.stderr


@pytest.mark.parametrize("name", ALIGNED)
def test_other_pitches_and_pointers_are_refused(compile_cu, name):
    source = ROOT / "steps" / name / f"{name.split('_', 1)[1]}.cu"
    program = Program(source, options=("--plain", "-I", str(ROOT / "common")),
                      libraries=(str(TESTS / "softmax" / "refused.c"), str(BUILD / "common" / "libcommon.a")))
    done = run(compile_cu(program))
    assert done.returncode == 0 and done.stdout == "refused: 5\n", done.stdout + done.stderr


# ---- threads for a row, rows for a thread ----

@pytest.mark.parametrize("threads", [8, 16, 32, 64, 128, 256, 512, 1024])
@pytest.mark.parametrize("rows", [1, 2, 4])
def test_every_shape_is_right(threads, rows):
    for size in ((1, 1), (5, 3), (37, 33), (9, 129), (7, 1030), (2, 40001)):
        done = softmax(COARSENED, *size, "--threads-per-row", threads, "--rows-per-thread", rows, "--input", "masked")
        expect_right(done, 1)


def test_parts_of_the_next_row_have_to_wait(compile_cu):
    edit = "__syncthreads();  // every warp has read them before those of the next row replace them", ""
    program = Program(ROOT / "steps" / COARSENED / "softmax_shaped.cu", options=("-I", str(ROOT / "common")),
                      libraries=(str(BUILD / "common" / "libcommon.a"),), edit=edit)
    done = run(compile_cu(program), "--rows", 9, "--cols", 300, "--threads-per-row", 64, "--rows-per-thread", 4)
    assert done.returncode == 1 and "simt: race in shared memory: " in done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("arguments, names", [
    (("--threads-per-row", "12"), "one of 8 16 32"), (("--rows-per-thread", "3"), "one of 1 2 4"),
    (("--threads-per-row", ""), "one of"), (("--rows-per-thread", "1x"), "one of")], ids=" ".join)
def test_other_shapes_are_refused(arguments, names):
    done = run(BUILD / COARSENED, *arguments)
    assert done.returncode == 2 and names in done.stderr, done.stderr


def test_only_a_step_with_shapes_has_the_option():
    assert run(BUILD / "08_softmax_naive", "--threads-per-row", 32).returncode == 2
    assert "--threads-per-row" not in run(BUILD / "08_softmax_naive", "--help").stdout
    assert "--threads-per-row" in run(BUILD / COARSENED, "--help").stdout


# ---- the command line, and JSON lines ----

@pytest.mark.parametrize("arguments, names", [
    (("--rows", "0"), "from 1 to"), (("--cols", "-4"), "from 1 to"), (("--cols", "1e3"), "whole number"),
    (("--input", "zeros"), "one of normal"), (("--rows", "1000000000", "--cols", "1000000000"), "memory"),
    (("-m", "4"), "--help")], ids=" ".join)
@pytest.mark.parametrize("name", NAMES)
def test_mistakes_on_the_command_line(name, arguments, names):
    done = run(BUILD / name, *arguments)
    assert done.returncode == 2 and names in done.stderr, done.stderr


@pytest.mark.parametrize("step", STEPS, ids=NAMES)
def test_json_lines(step, tmp_path):
    out = tmp_path / "results.jsonl"
    assert softmax(step["name"], 3, 50, "--all-variants", "--json", out).returncode == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["variant"] for line in lines] == step["variants"]
    for line in lines:
        assert (line["step"], line["operation"]) == (step["name"], "softmax")
        assert line["shape"] == {"rows": 3, "cols": 50} and line["bytes"] == 2 * 4 * 3 * 50
        assert line["check"]["right"] and line["check"]["error"] <= line["check"]["bound"]
        assert line["time"] is None and line["gbps"] is None


def test_json_says_the_shape_asked_for(tmp_path):
    out = tmp_path / "results.jsonl"
    asked = "--threads-per-row", 16, "--rows-per-thread", 2
    assert softmax(COARSENED, 3, 50, *asked, "--json", out).returncode == 0
    assert json.loads(out.read_text())["shape"] == {"rows": 3, "cols": 50, "threads_per_row": 16, "rows_per_thread": 2}

"""The steps that scale a matrix, on the emulator: every variant at every edge of a vector, a tile, a box and a share; their pitches, their
JSON lines; and how a box lies in shared memory in each swizzle."""

import json

import pytest

from conftest import BUILD, ROOT, TESTS, Program, ensure_build, run, source_of

ensure_build()
STEPS = [step for step in json.loads((ROOT / "build" / "steps.json").read_text())["steps"] if step["operation"] == "scale"]
NAMES = [step["name"] for step in STEPS]
BULK, TILE = NAMES[:2]
VECTORS_OF = {"unswizzled": 8, "swizzle_32": 2, "swizzle_64": 4, "swizzle_128": 8}  # of a row of a box


def scale(name, rows, cols, *arguments):
    return run(BUILD / name, "--rows", rows, "--cols", cols, *arguments)


def expect_right(done, count):
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("\nright: error ") == count, done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("cols", [*range(1, 10), 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 300])
@pytest.mark.parametrize("step", STEPS, ids=NAMES)
def test_right_at_the_edges_of_boxes(step, cols):
    for rows in (1, 31, 32, 33, 130):
        expect_right(scale(step["name"], rows, cols, "--all-variants"), len(step["variants"]))


@pytest.mark.parametrize("n", [1023, 1024, 1025, 4097, 8191, 8192, 8196, 16385])
@pytest.mark.parametrize("step", STEPS, ids=NAMES)
def test_right_at_the_edges_of_tiles_and_shares(step, n):
    expect_right(scale(step["name"], 1, n, "--all-variants"), len(step["variants"]))
    expect_right(scale(step["name"], n, 1, "--all-variants"), len(step["variants"]))


@pytest.mark.parametrize("sms", [1, 3])
def test_right_where_a_block_on_each_sm_has_many_tiles(sms):
    for n in (4096 * sms, 13 * 1024 * sms + 5):
        expect_right(run(BUILD / BULK, "--rows", 1, "--cols", n, "--all-variants", SIMT_SMS=str(sms)), 4)


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("step", STEPS, ids=NAMES)
def test_right_for_other_seeds(step, seed):
    expect_right(scale(step["name"], 20, 777, "--seed", seed, "--all-variants"), len(step["variants"]))


@pytest.mark.parametrize("cols", [1, 3, 4, 5, 29, 1030])
def test_right_with_padding_behind_the_rows(cols):
    done = scale(TILE, 140, cols, "--row-padding", 8, "--all-variants")
    expect_right(done, len(VECTORS_OF))


@pytest.mark.parametrize("name", NAMES)
def test_other_pitches_and_pointers_are_refused(compile_cu, name):
    program = Program(source_of(name), options=("--plain", "-I", str(ROOT / "common")),
                      libraries=(str(TESTS / "scale" / "refused.c"), str(BUILD / "common" / "libcommon.a")))
    done = run(compile_cu(program))
    assert done.returncode == 0 and done.stdout == "refused: 5\n", done.stdout + done.stderr


@pytest.mark.parametrize("gpu", ["t4", "a100", "rtx4090"])
@pytest.mark.parametrize("name", NAMES)
def test_a_gpu_without_the_engine_is_refused(name, gpu):
    done = run(BUILD / name, SIMT_GPU=gpu)
    assert done.returncode == 77 and "9.0" in done.stderr, done.stdout + done.stderr


# ---- how a box lies in shared memory ----

def quads_of(variant):
    """The bank quad of each vector of eight rows of a box, as the program prints it."""
    done = run(BUILD / TILE, "--layout", "--variant", variant)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"X {variant}: ")
    return [[int(word) for word in line.split()[2:]] for line in lines[2:10]], lines[10]


@pytest.mark.parametrize("variant, vectors", VECTORS_OF.items())
def test_layout(variant, vectors):
    """The number of a vector is XORed with that of the line of 128 bytes that its row begins in, as far as the row is wide."""
    quads, said = quads_of(variant)
    rows_in_line = 8 // vectors
    moved = (lambda row: 0) if variant == "unswizzled" else (lambda row: row // rows_in_line % vectors)
    assert quads == [[row % rows_in_line * vectors + (vector ^ moved(row)) for vector in range(vectors)] for row in range(8)]
    assert f"in {8 if variant == 'unswizzled' else 1} wavefront" in said


# ---- the command line, and JSON lines ----

@pytest.mark.parametrize("arguments, names", [
    (("--rows", "0"), "from 1 to"), (("--cols", "-4"), "from 1 to"), (("--cols", "1e3"), "whole number"),
    (("--rows", "1000000000", "--cols", "1000000000"), "memory"), (("-m", "4"), "--help")], ids=" ".join)
@pytest.mark.parametrize("name", NAMES)
def test_mistakes_on_the_command_line(name, arguments, names):
    done = run(BUILD / name, *arguments)
    assert done.returncode == 2 and names in done.stderr, done.stderr


def test_only_a_step_with_boxes_prints_them():
    assert run(BUILD / BULK, "--layout").returncode == 2


@pytest.mark.parametrize("step", STEPS, ids=NAMES)
def test_json_lines(step, tmp_path):
    out = tmp_path / "results.jsonl"
    assert scale(step["name"], 3, 50, "--all-variants", "--json", out).returncode == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["variant"] for line in lines] == step["variants"]
    for line in lines:
        assert (line["step"], line["operation"]) == (step["name"], "scale")
        assert line["shape"] == {"rows": 3, "cols": 50} and line["bytes"] == 2 * 4 * 3 * 50
        assert line["check"]["right"] and line["check"]["error"] <= line["check"]["bound"]
        assert line["time"] is None and line["gbps"] is None

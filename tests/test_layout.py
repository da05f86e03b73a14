"""--layout of a step: where the vectors of a tile lie in shared memory, in bank quads."""

import pytest

from conftest import BUILD, run

QUADS = list(range(8))
TILES = {"21_matmul_swizzle": "A ", "30_flash_mma_swizzle": ""}  # steps with it, and the tile that they name
STEPS = pytest.mark.parametrize("step", TILES)


def printed(step, variant):
    """(rows of bank quads, what the last line says) of one variant."""
    done = run(BUILD / step, "--layout", "--variant", variant)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"{TILES[step]}{variant}: ") and lines[1].split() == ["vector", *map(str, QUADS)]
    return [[int(word) for word in line.split()[2:]] for line in lines[2:10]], lines[10]


@pytest.mark.parametrize("step, variant, wavefronts", [
    (step, variant, wavefronts) for step in TILES for variant, wavefronts in (("unpadded", 8), ("padded", 1), ("swizzled", 1))])
def test_layout(step, variant, wavefronts):
    rows, said = printed(step, variant)
    assert all(sorted(row) == QUADS for row in rows)  # of a row, no two vectors in the same banks
    columns = list(zip(*rows))
    assert max(column.count(quad) for column in columns for quad in column) == wavefronts
    assert f"in {wavefronts} wavefront" in said


@STEPS
def test_swizzled_rows_stay_in_place(step):
    """The swizzle moves a vector within its row; padding moves every row on by a vector."""
    assert printed(step, "swizzled")[0] == [[vector ^ row for vector in QUADS] for row in QUADS]
    assert printed(step, "padded")[0] == [[(vector + row) % 8 for vector in QUADS] for row in QUADS]


@STEPS
def test_layout_runs_nothing(step):
    done = run(BUILD / step, "--layout", "--all-variants")
    assert done.stdout.count("each vector") == 3 and "right" not in done.stdout


def test_steps_without_it():
    done = run(BUILD / "18_matmul_mma", "--layout")
    assert done.returncode == 2 and "--layout" in done.stderr

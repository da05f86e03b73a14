"""--layout of a step: where the vectors of a tile lie in shared memory, in bank quads."""

import pytest

from conftest import BUILD, run

QUADS = list(range(8))
STEP = "21_matmul_swizzle"


def printed(variant):
    """(rows of bank quads, what the last line says) of one variant."""
    done = run(BUILD / STEP, "--layout", "--variant", variant)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"A {variant}: ") and lines[1].split() == ["vector", *map(str, QUADS)]
    return [[int(word) for word in line.split()[2:]] for line in lines[2:10]], lines[10]


@pytest.mark.parametrize("variant, wavefronts", [("unpadded", 8), ("padded", 1), ("swizzled", 1)])
def test_layout(variant, wavefronts):
    rows, said = printed(variant)
    assert all(sorted(row) == QUADS for row in rows)  # of a row, no two vectors in the same banks
    columns = list(zip(*rows))
    assert max(column.count(quad) for column in columns for quad in column) == wavefronts
    assert f"in {wavefronts} wavefront" in said


def test_swizzled_rows_stay_in_place():
    """The swizzle moves a vector within its row; padding moves every row on by a vector."""
    assert printed("swizzled")[0] == [[vector ^ row for vector in QUADS] for row in QUADS]
    assert printed("padded")[0] == [[(vector + row) % 8 for vector in QUADS] for row in QUADS]


def test_layout_runs_nothing():
    done = run(BUILD / STEP, "--layout", "--all-variants")
    assert done.stdout.count("each vector") == 3 and "right" not in done.stdout


@pytest.mark.parametrize("step", ["18_matmul_mma", "30_flash_mma_swizzle"])
def test_steps_without_it(step):
    done = run(BUILD / step, "--layout")
    assert done.returncode == 2 and "--layout" in done.stderr

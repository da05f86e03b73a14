"""The attention steps' algorithm.c, plain C for one head, against the formula in double precision."""

import ctypes
import math
import random

import pytest

from conftest import ROOT, run

NAIVE, FLASH = "12_attention_naive", "13_flash_scalar"
WRONG = [  # (step, what stands there, what it is changed to)
    (NAIVE, "K[col * d + i]", "K[row * d + i]"), (NAIVE, ") / l;", ");"), (NAIVE, "S[row][i] * V", "S[i][row] * V"),
    (NAIVE, "- m) / sqrtf(d))", ") / sqrtf(d))"), (FLASH, "o[i] * factor +", "o[i] +"), (FLASH, "l * factor +", "l +"),
    (FLASH, "fmaxf(m, s)", "s"), (FLASH, "m = m_new;", ""), (FLASH, "(s - m_new)", "s"), (FLASH, "o[i] /= l;", ";"),
]


def compile_and_load(folder, text):
    (folder / "algorithm.c").write_text(text)
    done = run("cc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", folder / "algorithm.so",
               folder / "algorithm.c", "-lm")
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / "algorithm.so")).attention


def reference(Q, K, V, n, d):
    O = []
    for row in range(n):
        s = [sum(Q[row * d + i] * K[key * d + i] for i in range(d)) / math.sqrt(d) for key in range(n)]
        p = [math.exp(score - max(s)) for score in s]
        O += [sum(p[key] * V[key * d + i] for key in range(n)) / sum(p) for i in range(d)]
    return O


def largest_error(attention, n, d, largest):
    """Of whole numbers from -largest to largest: so fp32 scores are exact, and only what follows them is rounded."""
    random.seed(n * d + largest)
    Q, K, V = ([float(random.randint(-largest, largest)) for _ in range(n * d)] for _ in range(3))
    arrays = [(ctypes.c_float * (n * d))(*values) for values in (Q, K, V)]
    O = (ctypes.c_float * (n * d))(*[math.nan] * (n * d))
    attention(*arrays, O, n, d)
    errors = [abs(got - exact) / largest for got, exact in zip(O, reference(Q, K, V, n, d), strict=True)]
    return math.inf if any(map(math.isnan, errors)) else max(errors)


def bound(n):
    """n rounded sums, and weights off by about 20 units where they count: beyond exp(-17) they are below a unit."""
    return (n + 40) * 2.0**-24


@pytest.mark.parametrize("largest", [1, 8, 60])  # with d = 64, scores reach 64 · 60² / 8 = 28,800
@pytest.mark.parametrize("d", [8, 64])
@pytest.mark.parametrize("n", [1, 7, 33])
@pytest.mark.parametrize("step", [NAIVE, FLASH])
def test_algorithm_is_right(tmp_path, step, n, d, largest):
    attention = compile_and_load(tmp_path, (ROOT / "steps" / step / "algorithm.c").read_text())
    assert largest_error(attention, n, d, largest) <= bound(n)


@pytest.mark.parametrize("step, before, after", WRONG, ids=str)
def test_a_wrong_line_is_found(tmp_path, step, before, after):
    text = (ROOT / "steps" / step / "algorithm.c").read_text()
    assert before in text
    attention = compile_and_load(tmp_path, text.replace(before, after))
    assert max(largest_error(attention, 33, d, largest) for d in (8, 64) for largest in (1, 60)) > bound(33)


@pytest.mark.parametrize("step", [NAIVE, FLASH])
def test_algorithm_is_short(step):
    function = (ROOT / "steps" / step / "algorithm.c").read_text().partition("\nvoid attention(")[2]
    assert 0 < len(function.splitlines()) <= 30

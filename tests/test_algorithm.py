"""The steps' algorithm.c, in plain C: attention's, for one head, against the formula in double precision; that of halves against
Python's."""

import ctypes
import itertools
import math
import random
import struct

import pytest

from conftest import ROOT, run

NAIVE, FLASH = "12_attention_naive", "13_flash_scalar"
WRONG = [  # (step, what stands there, what it is changed to)
    (NAIVE, "K[col * d + i]", "K[row * d + i]"), (NAIVE, ") / l;", ");"), (NAIVE, "S[row][i] * V", "S[i][row] * V"),
    (NAIVE, "- m) / sqrtf(d))", ") / sqrtf(d))"), (FLASH, "o[i] * factor +", "o[i] +"), (FLASH, "l * factor +", "l +"),
    (FLASH, "fmaxf(m, s)", "s"), (FLASH, "m = m_new;", ""), (FLASH, "(s - m_new)", "s"), (FLASH, "o[i] /= l;", ";"),
]


def compile_library(folder, text):
    (folder / "algorithm.c").write_text(text)
    done = run("cc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", folder / "algorithm.so",
               folder / "algorithm.c", "-lm")
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / "algorithm.so"))


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
    attention = compile_library(tmp_path, (ROOT / "steps" / step / "algorithm.c").read_text()).attention
    assert largest_error(attention, n, d, largest) <= bound(n)


@pytest.mark.parametrize("step, before, after", WRONG, ids=str)
def test_a_wrong_line_is_found(tmp_path, step, before, after):
    text = (ROOT / "steps" / step / "algorithm.c").read_text()
    assert before in text
    attention = compile_library(tmp_path, text.replace(before, after)).attention
    assert max(largest_error(attention, 33, d, largest) for d in (8, 64) for largest in (1, 60)) > bound(33)


@pytest.mark.parametrize("step", [NAIVE, FLASH])
def test_algorithm_is_short(step):
    function = (ROOT / "steps" / step / "algorithm.c").read_text().partition("\nvoid attention(")[2]
    assert 0 < len(function.splitlines()) <= 30


# ---- halves ----

WMMA = "14_matmul_wmma"
HALVES = sorted(value for (value,) in struct.iter_unpack("<e", b"".join(bits.to_bytes(2, "little") for bits in range(65536)))
                if math.isfinite(value))
WRONG_HALVES = [("exponent - 11", "exponent - 12"), ("-24)", "-25)"), ("> -13", "> -12"), ("nearbyintf", "roundf"),
                ("65504", "65536"), ("copysignf(INFINITY, x)", "INFINITY"), ("nearest_half(sum + 1)", "sum + 1")]


def wrong_halves(folder, text):
    """How many of all halves, of what lies between neighbours, and of sums of ones come out wrong."""
    library = compile_library(folder, text)
    for function, argument in ((library.nearest_half, ctypes.c_float), (library.sum_of_ones, ctypes.c_int)):
        function.restype, function.argtypes = ctypes.c_float, [argument]
    middles = [(a + b) / 2 for a, b in itertools.pairwise(HALVES)]  # exact in fp32
    nearest = [(x, struct.unpack("<e", struct.pack("<e", x))[0]) for x in HALVES + middles]
    nearest += [(65519, 65504), (65520, math.inf), (-65520, -math.inf), (1e30, math.inf), (-math.inf, -math.inf)]
    return (sum(library.nearest_half(x) != half for x, half in nearest)
            + sum(library.sum_of_ones(n) != min(n, 2048) for n in (0, 1, 2047, 2048, 2049, 4096)))


def test_halves_are_right(tmp_path):
    assert wrong_halves(tmp_path, (ROOT / "steps" / WMMA / "algorithm.c").read_text()) == 0


@pytest.mark.parametrize("before, after", WRONG_HALVES, ids=str)
def test_a_wrong_half_is_found(tmp_path, before, after):
    text = (ROOT / "steps" / WMMA / "algorithm.c").read_text()
    assert before in text
    assert wrong_halves(tmp_path, text.replace(before, after)) > 0

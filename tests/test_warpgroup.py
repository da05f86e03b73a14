"""A collective of four warps is described like one of a warp: who meets, who is missed, and what its lanes hold."""

import random
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, COMPILERS, ROOT, TESTS, Program, read_report, run
from test_faults import expectations, lines_accused

SOURCE = TESTS / "warpgroup" / "warpgroup.cu"
CASES = expectations(SOURCE)


@pytest.fixture(params=COMPILERS)
def program(request, compile_cu, tmp_path_factory):
    rows = tmp_path_factory.mktemp("rows") / "librows.a"
    compiler = next(filter(shutil.which, ("cc", "gcc", "clang")))
    source = TESTS / "warpgroup" / "rows.c"
    done = run(compiler, "-O2", "-g", "-I", ROOT / "emulator" / "src", "-c", "-o", rows.with_suffix(".o"), source)
    assert done.returncode == 0, done.stderr
    assert run("ar", "rcs", rows, rows.with_suffix(".o")).returncode == 0
    return compile_cu(Program(SOURCE, request.param, libraries=(str(rows), str(BUILD / "libsimt.a"))))


def test_each_warpgroup_meets_by_itself(program):
    first, second = (sum(range(n, n + 128)) for n in (0, 128))
    done = run(program, "right")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert done.stdout.split() == [str(4 * first + 128 * (0 + 1 + 2 + 3)), str(2 * second + 128 * (1 + 3))]


def test_128_sums_of_each_thread_are_multiplied(program):
    done = run(program, "product")
    assert (done.returncode, done.stdout) == (0, "0 of 16384 sums are wrong\n"), done.stdout + done.stderr


WORDS = {"a_warp_is_elsewhere": ["thread (0,0,0) to (63,0,0) wait in warpgroup_sum()", "thread (64,0,0) to (95,0,0) wait in __syncthreads()"],
         "a_warp_has_left": ["with 96 of the 128 threads of its warpgroup", "All 128 threads of a warpgroup must take part in it."],
         "a_lane_leaves_last": ["with 127 of the 128 threads of its warpgroup"],
         "other_operands": ["thread (0,0,0) to (95,0,0) wait in", "thread (96,0,0) to (127,0,0) wait in",
                            "All 128 threads of a warpgroup must make the same call with the same operands."],
         "two_lines": ["thread (0,0,0) is in warpgroup_sum()", "thread (64,0,0) is in the one", "the threads of a warpgroup must come to it at one place"],
         "too_few": ["with 96 of the 128 threads of its warpgroup"]}


@pytest.mark.parametrize("name", CASES)
def test_who_does_not_come_is_missed(program, name):
    done = run(program, name, SIMT_TIMEOUT="25")
    assert done.returncode == 1, done.stdout + done.stderr
    report, case = read_report(done.stderr), CASES[name]
    assert (report.kind, report.file) == (case.kind, SOURCE.name) and report.line in case.must, report.text
    assert case.must == lines_accused(report, SOURCE.name), report.text
    assert all(words in report.text for words in WORDS[name]), report.text
    assert re.search(rf"kernel {name}, block \(0,0,0\)", report.text), report.text


def answers(tmp_path, name, questions):
    """What tests/warpgroup/NAME.c says to each line."""
    compiler = next(filter(shutil.which, ("cc", "gcc", "clang")))
    source, executable = TESTS / "warpgroup" / f"{name}.c", tmp_path / name
    done = run(compiler, "-I", ROOT / "emulator" / "src", "-o", executable, source, BUILD / "libsimt.a", "-lpthread", "-lm", "-ldl")
    assert done.returncode == 0, done.stderr
    done = subprocess.run([executable], input="\n".join(questions), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(questions)
    return lines


TYPES = {name: i for i, name in enumerate("f16 bf16 tf32 f32 f64 s8 u8 s32 e4m3 e5m2 s4 u4 b1".split())}
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8, "b1": 1}
EIGHTS = set(range(8, 257, 8))
OF_INTEGERS = {8, 16, 24, 32, *range(48, 257, 16)}  # ptxas 13.0 refuses the others


def offered(a, b, d):
    """Every N of wgmma with these types (PTX ISA, "wgmma.mma_async")."""
    if {a, b} <= {"s8", "u8"} or a == b == "b1":
        return OF_INTEGERS if d == "s32" else set()
    if {a, b} <= {"e4m3", "e5m2"} or a == b == "f16":
        return EIGHTS if d in ("f16", "f32") else set()
    return EIGHTS if a == b and a in ("bf16", "tf32") and d == "f32" else set()


def test_a_warpgroup_has_the_products_that_the_instruction_set_has(tmp_path):
    products = [(n, 256 // BITS[a], a, b, d) for a in BITS for b in BITS for d in ("f16", "f32", "s32") for n in range(0, 273, 4)]
    products += [(64, 32, "f16", "f16", "f32"), (64, 8, "bf16", "bf16", "f32"), (64, 16, "tf32", "tf32", "f32"), (64, 16, "s8", "s8", "s32")]
    lines = answers(tmp_path, "layout", [f"{n} {k} {TYPES[a]} {TYPES[b]} {TYPES[d]}" for n, k, a, b, d in products])
    for (n, k, a, b, d), line in zip(products, lines):
        assert (line != "none") == (k * BITS[a] == 256 and n in offered(a, b, d)), (n, k, a, b, d)


@pytest.mark.parametrize("a, d", [("f16", "f32"), ("f16", "f16"), ("tf32", "f32"), ("e4m3", "f16"), ("s8", "s32"), ("b1", "s32")])
def test_elements_lie_in_the_registers_that_the_figures_show(tmp_path, a, d):
    """PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16" and the other shapes: each warp has 16 rows, of A in words of 32
    bits of neighbours along k."""
    columns = [8, 24, 32, 256]
    elements = 1 if a == "b1" else 32 // BITS[a]  # in a word of A; single bits stand together in one
    lines = answers(tmp_path, "layout", [f"{n} {256 // BITS[a]} {TYPES[a]} {TYPES[a]} {TYPES[d]}" for n in columns])
    lanes = [(16 * (t // 32) + t % 32 // 4, t % 4) for t in range(128)]
    of_a = [(row + 8 * (r % 2), elements * (4 * (r // 2) + number) + e) for row, number in lanes for r in range(4) for e in range(elements)]
    for n, line in zip(columns, lines):
        of_d = [(row + 8 * (i % 4 // 2), 8 * (i // 4) + 2 * number + i % 2) for row, number in lanes for i in range(n // 2)]
        found = [[tuple(map(int, place.split(","))) for place in places.split()] for places in line.split("|")]
        assert found == [of_d, of_a], n


def swizzled(address, base, vectors):
    return address ^ ((address >> 7) - base & vectors - 1) << 4


def canonical(swizzle, mn_major, lines, start, base, leading, stride):
    """The offsets by the canonical layouts of the PTX ISA, in vectors of 16 bytes, each ((8, m), 2) or ((w, m), (8, k)); which row
    of the pattern is exchanged how was found on an H200 (tests/conformance/wgmma.cu)."""
    w = {0: 1, 1: 8, 2: 4, 3: 2}[swizzle]
    if not mn_major:
        along_k = leading if w == 1 else 16
        plain = [i * 16 * w + m * stride + k * along_k for m in range(lines // 8) for i in range(8) for k in range(2)]
    else:
        of_lines, of_k = (stride, leading) if w == 1 else (leading, stride)
        plain = [i * 16 + m * of_lines + j * 16 * w + k * of_k
                 for m in range(lines // 8 // w) for i in range(w) for k in range(2) for j in range(8)]
    return [swizzled(start + offset, base, w) for offset in plain]


def encoded(swizzle, start, base, leading, stride):
    return start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | base << 49 | swizzle << 62


def test_a_descriptor_leads_to_the_vectors_of_its_canonical_layout(tmp_path):
    draw = random.Random(1)
    cases = [(operand, mn_major, 64 if operand == "a" else 128 * draw.randint(1, 2), swizzle,
              (draw.randrange(0, 65536, 16), draw.choice([0, 0, draw.randrange(8)]), draw.randrange(0, 8192, 16), draw.randrange(0, 8192, 16)))
             for operand in "ab" for mn_major in (0, 1) for swizzle in range(4) for _ in range(50)]
    lines = answers(tmp_path, "descriptor", [f"{operand} {mn_major} {n} {encoded(swizzle, *fields):x}" for operand, mn_major, n, swizzle, fields in cases])
    for (operand, mn_major, n, swizzle, fields), line in zip(cases, lines):
        assert [int(offset) for offset in line.split()] == canonical(swizzle, mn_major, n, *fields), (operand, mn_major, n, swizzle, fields)

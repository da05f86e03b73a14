"""The attention steps on the emulator: every variant at sequence lengths up to 300, at every head dimension and with
every kind of input; memory figures, options and JSON lines; and the example that step 13's README traces by hand."""

import concurrent.futures
import json
import re
import subprocess
from fractions import Fraction

import pytest

from conftest import BUILD, ROOT, TESTS, Program, ensure_build, run, source_of

ensure_build()
STEPS = [step for step in json.loads((ROOT / "build" / "steps.json").read_text())["steps"]
         if step["operation"] == "attention"]
NAMES = [step["name"] for step in STEPS]
NAIVE, FLASH = "12_attention_naive", "13_flash_scalar"
INPUTS = ["normal", "scaled", "huge", "equal"]
HEAD_DIMS = [32, 64, 96, 128]
ODD_HEAD_DIMS = [2, 17, 40, 63, 80, 100, 128]  # of a step that can do every one up to 128
EDGES = [1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 95, 127, 128, 129]  # of tiles
BEYOND = 257  # past several tiles, where the checked build takes a second


def takes_any_head_dim(step):
    """Whether it can do every head dimension up to one, and not those of a list alone."""
    return ".max_head_dim = 128," in source_of(step["name"]).read_text()


def head_dims(step):
    if takes_any_head_dim(step):
        return ODD_HEAD_DIMS
    return [int(size) for size in re.search(r"\.head_dims = \{([\d, ]+)\}", source_of(step["name"]).read_text())[1].split(",")]


def attention(program, seqlen, head_dim, *arguments):
    return run(program, "--seqlen", seqlen, "--head-dim", head_dim, *arguments)


def expect_right(done, count):
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("\nright: error ") == count, done.stdout
    assert done.stderr == ""


def expect_all_right(program, step, cases):
    """Every variant at each (seqlen, head_dim, input, heads), a few cases at a time."""
    def failure(case):
        seqlen, head_dim, kind, heads = case
        done = attention(program, seqlen, head_dim, "--input", kind, "--heads", heads, "--all-variants")
        good = done.returncode == 0 and done.stdout.count("\nright: error ") == len(step["variants"])
        return None if good else f"{case}:\n{done.stdout}{done.stderr}"

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        failures = [words for words in pool.map(failure, cases) if words]
    assert not failures, f"{len(failures)} of {len(cases)} cases failed, the first {failures[0]}"


@pytest.mark.parametrize("step", STEPS, ids=NAMES)
def test_right_for_1_to_300_keys(step):
    lengths = [*range(1, 130), *range(130, 301, 17)]  # the work grows by their squares
    dims = head_dims(step)
    expect_all_right(BUILD / "plain" / step["name"], step,
                     [(n, dims[n % len(dims)], INPUTS[n // 4 % 4], 1 + n % 3 if n <= 65 else 1) for n in lengths])


@pytest.mark.parametrize("step, head_dim", [(step, d) for step in STEPS for d in sorted({*HEAD_DIMS, *head_dims(step)})],
                         ids=lambda value: value["name"] if isinstance(value, dict) else value)
def test_right_at_the_edges_of_tiles(step, head_dim):
    """Those head dimensions that no list names share the edges."""
    edges = EDGES if head_dim in HEAD_DIMS or not takes_any_head_dim(step) else EDGES[ODD_HEAD_DIMS.index(head_dim) % 2::2]
    cases = [*edges, BEYOND] if head_dim == 64 else edges
    expect_all_right(BUILD / step["name"], step, [(n, head_dim, INPUTS[n % 4], 1) for n in cases])


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("step", STEPS, ids=NAMES)
def test_right_for_every_input(step, kind):
    """At every head dimension, and past several tiles at one of them, another for each kind."""
    dims = head_dims(step)
    long = (300, dims[INPUTS.index(kind) % len(dims)], kind, 1)
    expect_all_right(BUILD / "plain" / step["name"], step, [*((n, d, kind, 2) for n in (1, 100) for d in dims), long])


@pytest.mark.parametrize("step", [step for step in STEPS if takes_any_head_dim(step)], ids=lambda step: step["name"])
def test_right_with_one_column(step):
    """Not of scaled inputs: where O is one number, values of both signs may cancel in it, and P's rounding does not."""
    cases = [(n, 1, kind, 2) for n in EDGES for kind in INPUTS if kind != "scaled"]
    expect_all_right(BUILD / step["name"], step, [*cases, (BEYOND, 1, "normal", 2)])


@pytest.mark.parametrize("arguments", [("--batch", 3, "--heads", 2), ("--seed", 0), ("--seed", 7)], ids=str)
@pytest.mark.parametrize("step", STEPS, ids=NAMES)
def test_right_for_other_batches_and_seeds(step, arguments):
    expect_right(attention(BUILD / step["name"], 50, 32, *arguments, "--all-variants"), len(step["variants"]))


# ---- memory ----

def lines_of(path, *command):
    assert run(*command, "--json", path).returncode == 0
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("seqlen", [40, 80])
def test_workspace_is_all_scores_or_nothing(tmp_path, seqlen):
    arguments = "--heads", 3, "--seqlen", seqlen, "--head-dim", 32, "--all-variants"
    tensors, scores = 4 * 3 * seqlen * 32 * 4, 3 * seqlen**2 * 4
    read, transposed = lines_of(tmp_path / "naive", BUILD / NAIVE, *arguments)
    assert (read["workspace_bytes"], read["device_bytes"]) == (scores, tensors + scores)
    assert transposed["workspace_bytes"] == scores + tensors // 4
    for line in lines_of(tmp_path / "flash", BUILD / FLASH, *arguments):
        assert (line["workspace_bytes"], line["device_bytes"]) == (0, tensors)


# ---- the command line, and JSON lines ----

@pytest.mark.parametrize("arguments, names", [
    (("--head-dim", "0"), "from 1 to"), (("--seqlen", "0"), "from 1 to"), (("--heads", "x"), "whole number"),
    (("--causal",), "no mask"), (("--heads", "4", "--kv-heads", "3"), "divides"),
    (("--heads", "4", "--kv-heads", "2"), "its own K and V"), (("--input", "zeros"), "one of normal"),
    (("--seqlen", "1000000000"), "memory"), (("--batch", "1000000000", "--heads", "1000000000"), "memory"),
    (("--batch", "300", "--heads", "300", "--seqlen", "1", "--head-dim", "32"), "65535"), (("-m", "4"), "--help"),
], ids=lambda value: " ".join(value) if isinstance(value, tuple) else "")
@pytest.mark.parametrize("name", NAMES)
def test_mistakes_on_the_command_line(name, arguments, names):
    done = run(BUILD / name, *arguments)
    assert done.returncode == 2 and names in done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("step", STEPS, ids=NAMES)
def test_head_dimensions_that_it_cannot_do(step):
    any_up_to_128 = takes_any_head_dim(step)
    for size in {129, 256} if any_up_to_128 else {1, 31, 63, 80, 256} - set(head_dims(step)):
        done = run(BUILD / step["name"], "--head-dim", size)
        known = " ".join(map(str, head_dims(step)))
        accepted = "this step takes 1 to 128" if any_up_to_128 else f"this step is compiled for {known}"
        assert (done.returncode, done.stderr.count(f"--head-dim {size}: {accepted}")) == (2, 1), done.stdout + done.stderr


@pytest.mark.parametrize("step", STEPS, ids=NAMES)
def test_json_lines(step, tmp_path):
    lines = lines_of(tmp_path / "lines", BUILD / step["name"], "--batch", 2, "--heads", 3, "--seqlen", 17, "--head-dim", 96,
                     "--all-variants")
    assert [line["variant"] for line in lines] == step["variants"]
    dtype = step["dtypes"][0]
    element = {"fp32": 4, "fp16": 2}[dtype]
    for line in lines:
        assert (line["step"], line["operation"], line["dtype"]) == (step["name"], "attention", dtype)
        assert line["shape"] == {"batch": 2, "heads": 3, "kv_heads": 3, "seqlen": 17, "head_dim": 96, "causal": False}
        assert line["flops"] == 4 * 2 * 3 * 17 * 17 * 96 and line["bytes"] == 4 * element * 2 * 3 * 17 * 96
        assert line["check"]["right"] and line["check"]["rows"] == 2 * 3 * 17 and line["time"] is None


# ---- the example in step 13's README ----

EXAMPLE = Program(TESTS / "attention" / "example.cu", "g++", ("-I", str(ROOT / "common")),
                  (str(BUILD / "common" / "libcommon.a"),))
README = ROOT / "steps" / FLASH / "README.md"


def numbers_of(row):
    return [Fraction(cell.strip().replace("−", "-")) for cell in row.strip().strip("|").split("|")[1:]]


def example():
    """The README's scores [4][8] and values [8], of its first table, and trace {query: its row of the second table}."""
    text = README.read_text().split("<!-- example -->")[1].split("<!-- /example -->")[0]
    tables = [{row.split("|")[1].strip(): numbers_of(row) for row in re.findall(r"^\| (?:query \d|V) .*\|$", table, re.M)}
              for table in text.strip().split("\n\n")]
    scores, traced = tables
    return [scores[f"query {q}"] for q in range(4)], scores["V"], {q: traced[f"query {q}"] for q in range(4)}


def trace(scores, values):
    """m, l, o after the first four keys, the factor, and m, l, o, o / l after all eight: by the recurrence, exactly."""
    m, l, o, found = None, Fraction(0), Fraction(0), []
    for first in (0, 4):
        s, v = scores[first:first + 4], values[first:first + 4]
        larger = max(s) if m is None else max(m, *s)
        factor = Fraction(0) if m is None else Fraction(2) ** int(m - larger)
        m, p = larger, [Fraction(2) ** int(score - larger) for score in s]
        l, o = l * factor + sum(p), o * factor + sum(a * b for a, b in zip(p, v))
        found += [factor, m, l, o] if first else [m, l, o]
    return [*found, o / l]


def test_the_readmes_trace_is_the_recurrence():
    scores, values, said = example()
    for query in range(4):
        assert len(said[query]) == 8
        for number, exact in zip(said[query], trace(scores[query], values), strict=True):
            assert abs(number - exact) <= Fraction(5, 10**5), (query, float(number), float(exact))


@pytest.mark.parametrize("program", [EXAMPLE])
@pytest.mark.parametrize("keys", [4, 8])
def test_the_kernel_on_the_readmes_example(compile_cu, program, keys):
    scores, values, said = example()
    scores = [[*row[:keys]] for row in scores] + [[0] * keys] * (keys - 4)
    numbers = [keys, *(score for row in scores for score in row), *values[:keys]]
    done = subprocess.run([compile_cu(program)], input=" ".join(map(str, numbers)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        for query, got in enumerate(line.split()[:4]):
            m, l, o, *_, whole = said[query]
            assert abs(float(got) - float(whole if keys == 8 else o / l)) <= 6e-5, (query, line)
    assert len(done.stdout.splitlines()) == 2

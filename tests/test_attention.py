"""The attention steps on the emulator: every variant at sequence lengths up to 300, at every head dimension, with every
kind of input, and with a causal mask where a step has one; grouped heads, lengths that differ and log-sum-exp; memory
figures, options and JSON lines; and the example that step 13's README traces by hand."""

import concurrent.futures
import json
import re
import subprocess
import sys
from fractions import Fraction
from typing import NamedTuple

import pytest

from conftest import BUILD, ROOT, TESTS, Program, ensure_build, listed_head_dims, run, source_of

sys.path.insert(0, str(ROOT / "bench"))
import attention_matrix  # noqa: E402

ensure_build()
NAIVE, FLASH = "12_attention_naive", "13_flash_scalar"
INPUTS = ["normal", "scaled", "huge", "equal"]
HEAD_DIMS = [32, 64, 96, 128]
SOME_HEAD_DIMS = {128: [2, 17, 40, 63, 80, 100, 128],  # of a step that can do every one up to that, or every multiple of its unit
                  1024: [16, 48, 64, 80, 128, 144, 256, 272, 320, 384, 400, 512, 528, 768, 784, 1008, 1024]}
EDGES = [1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 95, 127, 128, 129]  # of tiles
DIAGONAL_EDGES = [1, 2, *(tile + by for tile in (16, 32, 48, 64, 96, 128) for by in (-1, 0, 1))]  # where it meets them
BEYOND = 257  # past several tiles, where the checked build takes a second
# Variants with the heads along their grid's x, which ends far beyond 65535.
HEADS_IN_X = {"heads_first", "ordered", "grouped", "whole", "split_blocks", "split_warps", "packed", "blocks", "persistent",
              "joined", "near", "shaped", "speculative", "exact"}


class Step(NamedTuple):
    """A step, and what its source says that it can do."""
    name: str
    variants: list
    dtypes: list     # the default first
    can: set         # of causal, grouped, lengths and lse
    listed: bool     # whether it is compiled for a list of head dimensions, and takes no others
    head_dims: list  # those, or some of what it takes
    refused: list    # head dimensions that it does not take
    takes: str       # what it says then

    def small_head_dims(self):
        """Those that no list names make many cases, and the large among them long ones."""
        return [d for d in self.head_dims if self.listed or d <= 128]

    def four_head_dims(self):
        """Those that most steps can do, or one or another on the list."""
        return [(self.head_dims * 4)[place] for place in range(4)] if self.listed else HEAD_DIMS

    def nearest(self, head_dim):
        """This one, or where it is not on the list the next larger."""
        return next(d for d in self.head_dims if d >= head_dim) if self.listed else head_dim


def step_of(entry):
    said = dict(re.findall(r"^ +\.(\w+) = (.+),$", source_of(entry["name"]).read_text(), re.MULTILINE))
    most, unit = (int(said.get(name, default)) for name, default in (("max_head_dim", 0), ("head_dim_unit", 1)))
    listed = listed_head_dims(entry["name"])
    can = {name for name in ("causal", "grouped", "lengths", "lse") if said.get(name) == "true"}
    if not listed:
        head_dims, refused = SOME_HEAD_DIMS[most], [most + 1, most + unit, 2 * most, *({unit // 2, unit * 3 // 2} - {0, 1})]
        takes = f"this step takes multiples of {unit} up to {most}" if unit > 1 else f"this step takes 1 to {most}"
    else:
        head_dims = listed
        refused, takes = {1, 31, 63, 80, 256, 512} - set(head_dims), f"this step is compiled for {' '.join(map(str, head_dims))}"
    return Step(entry["name"], entry["variants"], entry["dtypes"], can, bool(listed), head_dims, sorted(refused), takes)


STEPS = [step_of(entry) for entry in json.loads((ROOT / "build" / "steps.json").read_text())["steps"]
         if entry["operation"] == "attention"]
MASKS = [(step, mask) for step in STEPS for mask in ((), ("--causal",)) if not mask or "causal" in step.can]


def that_can(*what):
    return [step for step in STEPS if step.can >= set(what)]


def words(value):
    """The id of a parameter."""
    return value.name if isinstance(value, Step) else " ".join(map(str, value)) if isinstance(value, tuple) else None


def attention(program, seqlen, head_dim, *arguments):
    return run(program, "--seqlen", seqlen, "--head-dim", head_dim, *arguments)


def expect_right(done, count):
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("\nright: error ") == count, done.stdout
    assert done.stderr == ""


def expect_all_right(program, step, cases, *more):
    """Every variant at each (seqlen, head_dim, input, heads, further arguments …), a few cases at a time."""
    def failure(case):
        seqlen, head_dim, kind, heads, *others = case
        done = attention(program, seqlen, head_dim, "--input", kind, "--heads", heads, "--all-variants", *others, *more)
        good = done.returncode == 0 and done.stdout.count("\nright: error ") == len(step.variants)
        return None if good else f"{case}:\n{done.stdout}{done.stderr}"

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        failures = [said for said in pool.map(failure, cases) if said]
    assert not failures, f"{len(failures)} of {len(cases)} cases failed, the first {failures[0]}"


@pytest.mark.parametrize("step, mask", MASKS, ids=words)
def test_right_for_1_to_300_keys(step, mask):
    """Of a step that has a mask, a third of them without it."""
    lengths = [*range(1, 66), *range(67, 130, 2), *range(130, 301, 17)]  # the work grows by their squares
    if "causal" in step.can and not mask:
        lengths = lengths[::3]
    dims = step.small_head_dims()
    expect_all_right(BUILD / "plain" / step.name, step,
                     [(n, dims[i % len(dims)], INPUTS[i // 4 % 4], 1 + n % 3 if n <= 65 else 1) for i, n in enumerate(lengths)], *mask)


@pytest.mark.parametrize("step, mask, head_dim", [(*way, d) for way in MASKS for d in sorted({*way[0].head_dims, *HEAD_DIMS * (not way[0].listed)})],
                         ids=words)
def test_right_at_the_edges_of_tiles(step, mask, head_dim):
    """Of a step that has a mask, half of them without it. Those head dimensions that no list names share the edges."""
    edges = DIAGONAL_EDGES if mask else EDGES[::2] if "causal" in step.can else EDGES
    if head_dim not in HEAD_DIMS and not step.listed:
        edges = edges[step.head_dims.index(head_dim) % 2::2]
    cases = [*edges, BEYOND] if head_dim == 64 else edges
    expect_all_right(BUILD / step.name, step, [(n, head_dim, INPUTS[n % 4], 1) for n in cases], *mask)


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("step, mask", MASKS, ids=words)
def test_right_for_every_input(step, mask, kind):
    """At every head dimension, large ones with one kind each, and past several tiles at one of them, another for each kind. Of the
    head dimensions that test_right_for_1_to_300_keys has, with one to three heads of up to 65 keys, several heads are of one key here."""
    dims, place = step.small_head_dims(), INPUTS.index(kind)
    large = [d for d in step.head_dims if d not in dims][place::len(INPUTS)]
    long = (300, dims[place % len(dims)], kind, 1)
    cases = [*((1, d, kind, 2) for d in dims + large), *((100, d, kind, 1) for d in dims), *((100, d, kind, 2) for d in large), long]
    expect_all_right(BUILD / "plain" / step.name, step, cases, *mask)


@pytest.mark.parametrize("step", [step for step in STEPS if not step.listed and "takes 1 to" in step.takes], ids=words)
def test_right_with_one_column(step):
    """Not of scaled inputs: where O is one number, values of both signs may cancel in it, and P's rounding does not."""
    cases = [(n, 1, kind, 2) for n in EDGES for kind in INPUTS if kind != "scaled"]
    expect_all_right(BUILD / step.name, step, [*cases, (BEYOND, 1, "normal", 2)])


@pytest.mark.parametrize("arguments", [("--batch", 3, "--heads", 2), ("--seed", 0), ("--seed", 7)], ids=words)
@pytest.mark.parametrize("step, mask", MASKS, ids=words)
def test_right_for_other_batches_and_seeds(step, mask, arguments):
    expect_right(attention(BUILD / step.name, 50, step.nearest(32), *arguments, *mask, "--all-variants"), len(step.variants))


# ---- other types ----

@pytest.mark.parametrize("step, mask, dtype", [(*way, dtype) for way in MASKS for dtype in way[0].dtypes[1:]], ids=words)
def test_right_in_every_type(step, mask, dtype):
    """All tests but these take a step's first type. The head dimensions, the inputs and the masks share the edges of tiles."""
    dims, edges = step.small_head_dims(), [*EDGES, BEYOND][len(mask)::2 if "causal" in step.can else 1]
    cases = [(n, dims[i % len(dims)], INPUTS[i // len(dims) % len(INPUTS)], 2) for i, n in enumerate(edges)]
    expect_all_right(BUILD / "plain" / step.name, step, cases, *mask, "--dtype", dtype)
    expect_all_right(BUILD / step.name, step, [(70, d, "normal", 1) for d in dims[-1:]], *mask, "--dtype", dtype)


@pytest.mark.parametrize("step, dtype", [(step, dtype) for step in STEPS if step.can >= {"grouped", "lengths", "lse"} for dtype in step.dtypes[1:]],
                         ids=words)
def test_right_with_grouped_heads_and_lengths_that_differ_in_every_type(step, dtype):
    pairs = (1, 200), (64, 65), (129, 2), (200, 48)
    cases = [(n, d, kind, 4, "--kv-heads", 2, "--kv-seqlen", n_kv, "--lse") for (n, n_kv), d, kind in zip(pairs, step.four_head_dims(), INPUTS)]
    expect_all_right(BUILD / "plain" / step.name, step, masked_or_not(cases), "--dtype", dtype)


# ---- grouped heads, lengths that differ, log-sum-exp ----

def masked_or_not(cases):
    """Each case without a mask and with one."""
    return [(*case, *mask) for case in cases for mask in ((), ("--causal",))]


@pytest.mark.parametrize("batch, heads, kv_heads", [(3, 2, 1), (2, 4, 2), (1, 9, 3), (2, 3, 3)])
@pytest.mark.parametrize("step", that_can("causal", "grouped"), ids=words)
def test_right_with_grouped_heads(step, batch, heads, kv_heads):
    """Those of the fewest heads with checks."""
    shapes = zip((65, 129, 33, 70), step.four_head_dims(), INPUTS)
    cases = [(n, d, kind, heads, "--batch", batch, "--kv-heads", kv_heads) for n, d, kind in shapes]
    expect_all_right(BUILD / ("" if (batch, heads) == (3, 2) else "plain") / step.name, step, masked_or_not(cases))


PUBLISHED_LENGTHS = next(group.lengths for group in attention_matrix.GROUPS if group.test == "test_flash_attn_output")
LENGTHS = [1, 2, 48, 64, 65, 128, 129, 200]


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("step", that_can("causal", "lengths", "lse"), ids=words)
def test_right_with_lengths_that_differ(step, n):
    """With the mask, the first of more queries than keys see none."""
    cases = [(n, step.four_head_dims()[(place + n) % 4], INPUTS[(place + n // 2) % 4], 1 + place % 2, "--kv-seqlen", n_kv, "--lse")
             for place, n_kv in enumerate(LENGTHS) if n_kv != n]
    expect_all_right(BUILD / step.name, step, masked_or_not(cases))


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("step", that_can("causal", "lse"), ids=words)
def test_right_log_sum_exp(step, kind):
    cases = [(n, d, kind, 2, "--lse") for n in (1, 70) for d in step.head_dims]
    expect_all_right(BUILD / "plain" / step.name, step, masked_or_not(cases))


@pytest.mark.parametrize("mask", [(), ("--causal",)], ids=words)
@pytest.mark.parametrize("step", that_can("causal", "grouped", "lengths"), ids=words)
def test_right_at_published_lengths(step, mask):
    """Those of FlashAttention's own tests, and few queries or keys beside many. The longest have one head with few columns."""
    lengths = [*PUBLISHED_LENGTHS, (1, 2047), (1, 2048), (2047, 1), (2048, 1), (3, 2047), (2047, 17)]
    cases = [(n, step.four_head_dims()[place % (2 if long else 4)], INPUTS[place % 4], 1 if long else 2, "--kv-heads", 1, "--kv-seqlen", n_kv)
             for place, (n, n_kv) in enumerate(lengths, len(mask)) for long in [n * n_kv > 1 << 18]]
    expect_all_right(BUILD / "plain" / step.name, step, cases, *mask)


# ---- more work than blocks ----

PERSISTENT = [step for step in STEPS if "persistent" in step.variants]


@pytest.mark.parametrize("step, dtype, head_dim, sms", [(step, dtype, d, 1 + d % 3) for step in PERSISTENT for dtype in step.dtypes for d in step.head_dims], ids=words)
def test_right_where_each_block_has_several_pieces(step, dtype, head_dim, sms):
    """An H200 runs 132 blocks at once, and other tests have fewer pieces of work. Some have no key, some no tile of their own, some all."""
    for arguments in (("--seqlen", 300, "--causal"), ("--seqlen", 400, "--kv-seqlen", 75, "--causal"), ("--seqlen", 70, "--kv-seqlen", 300)):
        expect_right(run(BUILD / "plain" / step.name, "--batch", 1, "--heads", 4, "--kv-heads", 2, *arguments, "--lse", "--head-dim", head_dim, "--dtype", dtype,
                         "--all-variants", SIMT_SMS=str(sms)), len(step.variants))


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
    (("--heads", "4", "--kv-heads", "3"), "divides"), (("--input", "zeros"), "one of normal"),
    (("--seqlen", "1000000000"), "memory"), (("--batch", "1000000000", "--heads", "1000000000"), "memory"), (("-m", "4"), "--help"),
], ids=words)
@pytest.mark.parametrize("step", STEPS, ids=words)
def test_mistakes_on_the_command_line(step, arguments, names):
    done = run(BUILD / step.name, *arguments)
    assert done.returncode == 2 and names in done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("what, arguments, names", [
    ("causal", ("--causal",), "this step has no mask"), ("grouped", ("--heads", "4", "--kv-heads", "2"), "its own K and V"),
    ("lengths", ("--kv-seqlen", "50"), "as many keys as queries"), ("lse", ("--lse",), "--help")])
@pytest.mark.parametrize("step", STEPS, ids=words)
def test_what_only_some_steps_can_do(step, what, arguments, names):
    done = run(BUILD / step.name, "--seqlen", 20, *arguments)
    if what in step.can:
        expect_right(done, 1)
    else:
        assert done.returncode == 2 and names in done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("step, variant", [(step, rest[-1]) for step in STEPS
                                           if (rest := [name for name in step.variants if name not in HEADS_IN_X])], ids=words)
def test_more_heads_than_a_grid_can_have(step, variant):
    done = run(BUILD / step.name, "--variant", variant, "--batch", 300, "--heads", 300, "--seqlen", 1,
               "--head-dim", step.nearest(32), timeout=20)
    assert done.returncode == 2 and "65535" in done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("step", STEPS, ids=words)
def test_head_dimensions_that_it_cannot_do(step):
    for size in step.refused:
        done = run(BUILD / step.name, "--head-dim", size)
        assert (done.returncode, done.stderr.count(f"--head-dim {size}: {step.takes}\n")) == (2, 1), done.stdout + done.stderr


@pytest.mark.parametrize("step, mask", MASKS, ids=words)
def test_json_lines(step, mask, tmp_path):
    d = step.nearest(96)
    lines = lines_of(tmp_path / "lines", BUILD / step.name, "--batch", 2, "--heads", 3, "--seqlen", 17, "--head-dim", d,
                     "--all-variants", *mask)
    assert [line["variant"] for line in lines] == step.variants
    element = {"fp32": 4, "fp16": 2}[step.dtypes[0]]
    for line in lines:
        assert (line["step"], line["operation"], line["dtype"]) == (step.name, "attention", step.dtypes[0])
        assert line["shape"] == {"batch": 2, "heads": 3, "kv_heads": 3, "seqlen": 17, "head_dim": d, "causal": bool(mask)}
        assert line["flops"] == 4 * 2 * 3 * 17 * 17 * d / (2 if mask else 1) and line["bytes"] == 4 * element * 2 * 3 * 17 * d
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

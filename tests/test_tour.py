"""The tour's tables of the real steps: no name is cut, at the usual width of a terminal or at a greater one."""
import io
import sys

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT))
pytest.importorskip("rich")
from rich.console import Console  # noqa: E402

from tools import ladder, results, run, steps, tour  # noqa: E402


@pytest.fixture(scope="module")
def runs():
    """Every variant as the emulator counts it, at the tour's shapes."""
    return [(step, run.counted(step, variant, *results.headline_flags(step)))
            for step in steps.load() for variant in steps.variants(step)]


def tables(runs):
    """The runs of each table."""
    return [group for kind in ladder.by_kind(runs).values() for group in ladder.by_shape(kind)]


def printed(shown, width):
    """What a terminal of that width shows of some renderables; no line is longer, nothing is cut off."""
    console = Console(file=io.StringIO(), width=width, highlight=False)
    for part in shown:
        console.print(part)
    said = console.file.getvalue()
    assert "…" not in said and max(map(len, said.splitlines())) <= width
    return said


def first_words(said):
    """The first column of every table."""
    return {line.rstrip().split("  ")[0] for line in said.splitlines()}


@pytest.mark.parametrize("width", [80, 120])
def test_no_name_is_cut(runs, width):
    names = first_words(printed(tour.tables(runs, "cpu"), width))
    for step, done in runs:
        assert {ladder.named(step, done["variant"]), steps.title(step)} <= names
    peers = {name.split(" (")[0] for step, _ in runs if step["operation"] != "device" 
             for name in results.peers(step)}
    assert peers and peers <= names


@pytest.mark.parametrize("width", [80, 120])
def test_no_name_is_cut_where_a_gpu_timed(width):
    """The recorded lines stand for those that a GPU here would give."""
    timed = [(step, {"status": 0, "variant": variant, "case": line}) for step in steps.load()
             for variant in steps.variants(step) if (line := results.ours(step, variant))]
    said = printed(tour.tables(timed, "cuda"), width)
    assert {ladder.named(step, done["variant"]) for step, done in timed} <= first_words(said)
    assert all(results.rate(done["case"]) in said for _, done in timed if ladder.says_a_rate(done["case"]))


def test_every_run_has_one_line(runs):
    """At 80 columns no shape goes on in a second line."""
    for group in tables(runs):
        title, head, ruler, *rows = printed([ladder.counted(group)], 80).rstrip().splitlines()
        assert set(ruler.strip()) == {"─"} and len(rows) == len(group), rows


def test_atomics_are_shown_where_there_are_any(runs):
    """Of sums, and of attention in steps 48 and 49, where blocks take their pieces from a counter."""
    heads = [(group, printed([ladder.counted(group)], 80).splitlines()[1].split()) for group in tables(runs)]
    shown = [group for group, head in heads if "atomics" in head]
    assert {group[0][0]["operation"] for group in shown} == {"sum", "attention"}
    assert {(step["number"], done["variant"]) for group in shown[1:] for step, done in group if run.total(done["profile"])["atomics"]} == {
        ("48", "ordered"), *(("49", variant) for variant in ("joined", "near", "shaped", "speculative", "exact"))}


def test_a_visitor_sees_one_table(runs):
    """All steps of one operation and type, a key to its columns and to no other, all on a screen of 40 lines."""
    said = printed(tour.one_table(runs, "cpu"), 80)
    kind = next(kind for kind in ladder.by_kind(runs) if kind[0] == tour.FIRST)
    names = {ladder.named(step, done["variant"]) for step, done in runs if steps.kind(step) == kind}
    assert len(names) > 3 and names <= first_words(said) and said.count("───\n") == 1
    assert not {ladder.named(step, done["variant"]) for step, done in runs if step["number"] and steps.kind(step) != kind} & first_words(said)
    assert {name for name in ladder.MEANING if f"\n{name}  " in said} == {"error/bound", "sectors", "shared", "conflicts", "floor"}
    assert len(said.splitlines()) <= 40


@pytest.mark.parametrize("backend, heads", [("cpu", ladder.COUNTS + ladder.TIMES), ("cuda", ladder.TIMES)])
def test_the_key_explains_the_columns(runs, backend, heads):
    """In whole sentences, without a column that no table has."""
    said = printed([tour.key(backend, runs)], 80)
    explained = {name for name in ladder.MEANING if f"\n{name}  " in f"\n{said}"}
    assert explained == set(heads) & ladder.MEANING.keys() and "{" not in said
    assert ladder.MEANING.keys() <= {*ladder.COUNTS, *ladder.TIMES}
    assert all(words[0].isupper() and words.endswith(".") for words in ladder.MEANING.values())


def test_every_table_names_its_shape(runs):
    """The counts' title has the counts' shape, and the records' title has theirs."""
    for group in tables(runs):
        step = group[0][0]
        shapes = [run.shape_words(done["case"]["shape"]) for _, done in group]
        both = ladder.OWN_SHAPES, ladder.OWN_SHAPES
        if step["operation"] != "device":
            assert len(set(shapes)) == 1
            both = shapes[0], run.shape_words(results.headline(step))
        recorded = ladder.recorded([step for step, _ in group])
        if recorded is None:  # nothing is recorded at this shape yet
            assert not any(results.on_h200(line) for step, _ in group for line in steps.recorded(step))
        for shown, shape in zip((ladder.counted(group), *([recorded] if recorded else [])), both):
            assert f", {shape}" in shown.renderables[0].plain


def test_steps_with_figures_of_their_own_shape_are_toured_at_it(runs):
    """With the mask, or the head dimension, that their lessons' figures have; all others at one shape."""
    for step, done in runs:
        own, shape = results.EMULATED.get(step["name"]) or results.HEADLINE.get(step["name"], {}), done["case"]["shape"]
        assert own.items() <= shape.items(), (step["name"], shape)
        if step["operation"] == "attention" and not own:
            assert (shape["causal"], shape["head_dim"]) == (False, 64)
    assert {step["name"] for step, _ in runs} >= results.HEADLINE.keys()

"""./learn predict: what the lessons' questions ask for, what it is compared with, and what becomes of typed answers."""

import errno
import json
import os
import pty
import re
import subprocess
import sys

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT))
pytest.importorskip("typer")
from rich.console import Console  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from tools import actual, cli, predict, quantities, state, steps  # noqa: E402

LESSONS = {step["name"]: predict.lesson(step)[1] for step in steps.load()}
ASKED = [pytest.param(name, question, quantity, id=f"{name}-{question.number}-{quantity.name}")
         for name, questions in LESSONS.items() for question in questions for quantity in question.quantities]
IN_NUMBERS = [parameters for parameters in ASKED if parameters.values[2].actual]
WORDS = {word: value for value, word in enumerate("zero one two three four five six seven eight nine".split())}
FIGURE = re.compile(rf"(?<![\w.])(\d[\d,]*(?:\.\d+)?|{'|'.join(WORDS)})(?:\s+({'|'.join(quantities.MULTIPLES)})\b)?"
                    r"(?:\s*(%|×|[A-Za-zµ]+(?:/s)?))?")


def figures(text, unit):
    """(value, half of its last digit; 0 of a word) of all figures in a text that could be in the unit."""
    what, _ = quantities.measure(unit)
    for digits, multiple, follows in FIGURE.findall(text):
        kind, scale = quantities.UNITS.get(follows, (None, 1))
        if kind == what or kind is None and (what == "a ratio" and unit != "%" or unit not in quantities.UNITS):
            scale *= quantities.MULTIPLES.get(multiple, 1)
            if digits in WORDS:
                yield WORDS[digits] * scale, 0
            else:
                yield float(digits.replace(",", "")) * scale, 0.5 * 10 ** -len(digits.partition(".")[2]) * scale


# What the lessons ask


@pytest.mark.parametrize("name", LESSONS)
def test_every_question_has_an_answer_and_asks_for_something(name):
    questions = LESSONS[name]
    assert 2 <= len(questions) <= 3 and all(question.answer and question.quantities for question in questions)
    assert predict.requested(steps.find(name)).keys() == {question.number for question in questions}
    for question in questions:
        names = [quantity.name for quantity in question.quantities]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("name, question, quantity", IN_NUMBERS)
def test_the_actual_value_stands_in_the_lessons_answer(name, question, quantity):
    value = quantity.value(steps.find(name))
    found = [(figure, off if quantity.within else 0) for figure, off in figures(question.answer, quantity.unit)]
    stands = any(abs(value - figure) <= off + 1e-9 * value for figure, off in found)
    assert stands or not quantity.in_fold, f"{quantities.shown(value, quantity.unit)} {quantity.unit}: {question.answer}"
    assert bool(quantity.reason) == (not quantity.in_fold)


@pytest.mark.parametrize("name, question, quantity", IN_NUMBERS)
def test_right_and_wrong_predictions(name, question, quantity):
    value = quantity.value(steps.find(name))
    unit = quantity.unit if quantity.unit in quantities.UNITS else ""

    def judged(times):
        typed = f"{times * value / quantities.measure(quantity.unit)[1]!r} {unit}".strip()
        return quantities.judge(quantities.parse(typed, quantity.unit), value, quantity.within)[0]

    assert judged(1) and not judged(3) and not judged(0.3) and not judged(0)
    assert judged(1 + 0.99 * quantity.within / 100) and not judged(1 + 1.01 * quantity.within / 100 + 1e-6)


def test_expressions():
    step = steps.find("matmul_tiled")
    names = {"tiled": "emulated('tiled')", "half": "tiled.shared_ld_requests / 2", "round": "round"}
    value = lambda expression: actual.value(step, expression, names)
    assert value("emulated('tiled', at='product').shared_ld_requests") == value("2 * half") > 0
    assert value("emulated('tiled', at='load').shared_ld_requests") == 0
    assert value("emulated('tiled').shared") == 2 * 4 * 32 * 32  # bytes of two tiles of floats
    for wrong in ("open('/etc/passwd')", "emulated('tiled', at='nowhere').k", "h200('nobody').seconds", "1 / 0", "halves",
                  "round", "f("):
        with pytest.raises(SystemExit):
            value(wrong)


# Typed figures


@pytest.mark.parametrize("typed, unit, value", [
    ("1024", "blocks", 1024), ("1,024", "blocks", 1024), ("1,024 blocks", "blocks", 1024), ("1 block", "blocks", 1),
    ("1e6", "", 1e6), ("2.5E-3", "", 0.0025), ("2^28", "bytes", 2**28), ("2**28", "bytes", 2**28), ("2²⁸", "bytes", 2**28),
    (".5", "×", 0.5), ("1.3x", "×", 1.3), ("3 times", "×", 3), ("134 million", "sectors", 134e6),
    ("134 million sectors", "sectors", 134e6), ("12 %", "%", 0.12), ("12%", "%", 0.12), ("12", "%", 0.12), ("50 %", "×", 0.5),
    ("0.5 ×", "%", 0.5), ("3.2 GB", "GB", 3.2e9), ("3.2", "GB", 3.2e9), ("3200 MB", "GB", 3.2e9), ("3 GiB", "GB", 3 * 2**30),
    ("3.2gb", "GB", 3.2e9), ("0.755 ms", "ms", 0.755e-3), ("755 µs", "ms", 0.755e-3), ("755us", "ms", 0.755e-3),
    ("35 GB/s", "GB/s", 35e9), ("0.035 TB / s", "GB/s", 35e9), ("66.9", "TFLOPS", 66.9e12), ("66900 gflops", "TFLOPS", 66.9e12),
])
def test_typed_figures(typed, unit, value):
    assert quantities.parse(typed, unit) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("typed", ["about nine", "-3", "nan", "inf", "1,5", "0,755", "1 024", "3 4", "٣", "", "3 GB 4", "0x10"])
def test_what_is_not_a_number(typed):
    with pytest.raises(ValueError, match="not a number"):
        quantities.parse(typed, "GB")


@pytest.mark.parametrize("typed, unit, words", [
    ("3 GB", "ms", "'GB' is not the unit asked for: s, ms, us"), ("3 ms", "GB", "'ms' is not the unit"), ("3 Gb", "GB", "'Gb'"),
    ("3 GB", "GB/s", "B/s, KB/s"), ("3 warps", "blocks", "blocks can follow"), ("3 ms", "", "a number alone"),
    ("3 %", "ms", "'%'"),
    ("1e999", "", "too large"), ("9^999", "", "too large"), ("9" * 400, "", "too large"),
])
def test_figures_that_cannot_be_read(typed, unit, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        quantities.parse(typed, unit)


@pytest.mark.parametrize("predicted, value, within, right, words", [
    (391, 391, 0, True, "exact"), (390, 391, 0, False, "less than 1 % too low"), (0, 391, 0, False, "too low"),
    (5, 0, 25, False, "too high"), (0, 0, 0, True, "exact"), (1.2, 1, 25, True, "20 % too high"),
    (0.5, 1, 25, False, "2 × too low"), (7, 1, 25, False, "7 × too high"), (1020, 1, 0, False, "1,020 × too high: is the unit right?"), (4700, 1, 0, False, "4,700 × too high"),
    (1, 999.6, 0, False, "1,000 × too low: is the unit right?"), (134_217_728, 1, 0, False, "134,000,000 × too high"), (1e20, 3, 0, False, "3.33e+19 × too high"),
])
def test_how_near(predicted, value, within, right, words):
    assert quantities.judge(predicted, value, within) == (right, words)


# Asking, keeping and comparing


@pytest.fixture
def typed(tmp_path, monkeypatch):
    """typed(lines, *options) -> what `./learn predict` of a step says to them; its file is typed.file."""
    monkeypatch.setattr(predict, "TYPED", tmp_path / "exercises" / "predictions.json")
    monkeypatch.setenv("COLUMNS", "100")

    def invoke(lines, *options, step="first_kernel"):
        done = CliRunner().invoke(cli.app, ["predict", step, *options], input="".join(f"{line}\n" for line in lines))
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, " ".join(done.output.split())

    invoke.file = predict.TYPED
    return invoke


@pytest.mark.parametrize("name", LESSONS)
def test_right_answers_are_right_in_every_step(typed, name):
    asked = [quantity for question in LESSONS[name] for quantity in question.quantities]
    value = lambda quantity: quantity.value(steps.find(name)) / quantities.measure(quantity.unit)[1]
    lines = [repr(value(quantity)) if quantity.actual else "because so" for quantity in asked]
    status, said = typed(lines, step=name)
    in_words = sum(not quantity.actual for quantity in asked)
    assert status == 0 and said.count("right: exact") == len(asked) - in_words and "wrong:" not in said
    assert said.count("because so") == said.count("see the answer") == in_words
    assert all(f"Answer to {question.number}" in said for question in LESSONS[name])
    again, shown = typed([], "--show", step=name)
    assert again == 0 and shown.count("right: exact") == len(asked) - in_words and "steps/" not in shown


def test_wrong_answers_are_wrong(typed):
    status, said = typed(["3906", "192", "1 GB", "755 us", "50 %"])
    assert status == 0 and said.count("wrong:") == 3 and said.count("right:") == 2
    assert "3.22 × too low" in said and "47 × too high" in said


@pytest.mark.parametrize("columns", [40, 50, 60, 70, 80, 100, 120])
def test_no_figure_is_broken_over_lines(typed, monkeypatch, columns):
    monkeypatch.setattr(predict, "out", Console(width=columns, highlight=False))
    lines = ["134,217,728", "134217728", "0.25", "1234567.8 s", "3e17"]
    said = CliRunner().invoke(cli.app, ["predict", "first_kernel"], input="".join(f"{line}\n" for line in lines)).output
    table = said[re.search(r"^1 blocks|^ +asked", said, re.MULTILINE).start():].partition("Actual:")[0]
    words = table.split()
    assert [words.count(figure) for figure in ("134,217,728", "3,907", "192", "3.22", "0.250", "1,234,567,800", "3.00e+17")] == [2, 1, 1, 1, 1, 1, 1], said
    assert words.count("×") == 5 and max(map(len, table.splitlines())) <= columns


def test_no_answer_counts_as_none(typed):
    assert typed([])[1].count("Nothing is predicted yet") == 1
    assert typed([""] * 5)[1].count("Nothing is predicted yet") == 1
    assert not typed.file.exists()
    _, said = typed(["3907", "", "", "0.755"])
    assert said.count("not answered") == 4 and said.count("right:") == 2 and "The input ended" in said
    assert "Answer to 2" in said and "Answer to 3" not in said
    _, said = typed(["192", "3.2", "1.1"])  # what is left, and only that
    assert "blocks:" not in said and said.count("right:") == 5 and "not answered" not in said
    _, said = typed(["3906", "", "", "", ""], "--again")
    assert said.count("Your earlier answer stays") == 4 and said.count("wrong:") == 1 and said.count("right:") == 4


def test_a_line_that_cannot_be_read_stops_and_keeps_what_stood_before(typed):
    status, said = typed(["3907", "many"])
    assert status == 2 and "threads that have no element: 'many' is not a number" in said
    assert typed([], "--show")[1].count("right:") == 1
    assert typed([], "--show", "--again")[0] == 2


def test_control_characters_and_markup_are_text(typed):
    status, said = typed(["33", "5", "8", "2", "0.04", "\x1b[31m[bold]red[/]\x00"], step="matmul_naive")
    assert status == 0 and "[31m[bold]red[/]" in said and "\x1b" not in said


def test_an_answer_belongs_to_the_words_of_its_question(typed, monkeypatch):
    typed(["3,907", "192", "3.2", "0.755", "1.1"])
    intro, questions = predict.lesson(steps.find("first_kernel"))
    last = predict.dataclasses.replace(questions[2], number="1", text=questions[2].text.replace(" ", "\n"))
    other = predict.dataclasses.replace(questions[0], number="2", text=questions[0].text.replace("1,000,000", "1,000,001"))
    monkeypatch.setattr(predict, "lesson", lambda step: (intro, [last, other]))
    _, said = typed([], "--show")
    assert said.count("right:") == 1 and said.count("not answered") == 3  # two cells, and the line at the end


@pytest.mark.parametrize("broken", [b"", b"{", b"[]", b'{"first_kernel": 3}', b'{"first_kernel": {"x": {"blocks": 3}}}',
                                    b"\xff\xfe"])
def test_a_broken_file_is_set_aside(typed, broken):
    typed.file.parent.mkdir()
    for number in (1, 2):
        typed.file.write_bytes(broken)
        _, said = typed(["3907"], "--again")
        assert f"predictions.broken-{number}.json" in said and "right: exact" in said
        assert typed.file.with_name(f"predictions.broken-{number}.json").read_bytes() == broken
        assert list(json.loads(typed.file.read_text())) == ["first_kernel"]


def test_a_file_that_cannot_be_written_stays_as_it_was(typed, monkeypatch):
    typed(["3907"])
    before = typed.file.read_bytes()

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(state.os, "fsync", full)
    with pytest.raises(OSError):
        state.change(typed.file, predict.is_whole, lambda data: data.clear())
    assert typed.file.read_bytes() == before


def test_on_a_terminal(tmp_path):
    """An empty answer is asked again once, one that cannot be read until it can, and Ctrl-D ends."""
    script = (f"import pathlib, sys; sys.path.insert(0, {str(ROOT)!r})\n"
              "from tools import cli, predict\n"
              f"predict.TYPED = pathlib.Path({str(tmp_path / 'exercises' / 'predictions.json')!r})\n"
              "cli.main()")
    mine, its = pty.openpty()
    with subprocess.Popen([sys.executable, "-X", "utf8", "-c", script, "predict", "0"], stdin=its, stdout=its, stderr=its,
                          env=os.environ | {"COLUMNS": "100", "TERM": "dumb"}) as process:
        os.close(its)
        os.write(mine, b"\n3907\nmany\n192\n\n\n0.7 GB\n\x04")
        said = b""
        while True:
            try:
                said += os.read(mine, 4096)
            except OSError:  # its end is closed
                break
    os.close(mine)
    said = " ".join(said.decode().split())
    assert process.returncode == 0, said
    assert said.count("A guess is enough") == 2 and "'many' is not a number" in said and "'GB' is not the unit" in said
    assert said.count("right: exact") == 2 and "The input ended" in said and said.count("not answered") == 4


def test_a_step_without_questions(typed, monkeypatch, tmp_path):
    monkeypatch.setattr(steps, "directory", lambda step: tmp_path)
    status, said = typed([])
    assert status == 2 and "no section Predict" in said

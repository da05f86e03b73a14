"""The questions under Predict of a step's lesson: answers are typed in, kept, and compared with what is counted, computed or
recorded. The questions stand in README.md alone; what each asks for, in exercises/predict.toml beside it."""
import dataclasses
import hashlib
import re
import sys

from rich import box
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from tools import actual, quantities, state, steps
from tools.exercises import tomllib
from tools.guard import stop
from tools.paths import WORK
from tools.say import out

TYPED = WORK / "predictions.json"  # {step: {key of a question: {name of a quantity: what was typed}}}
SECTION = re.compile(r"^## Predict\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
NUMBERED = re.compile(r"^(\d+)\. (.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
ANSWER = re.compile(r"<details>\s*<summary>Answer to (\d+)</summary>(.*?)</details>", re.DOTALL)
TITLES = "", "asked", "predicted", "actual", "how near"
GAP = 3  # characters between columns
LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")


@dataclasses.dataclass(frozen=True)
class Quantity:
    """One thing that a question asks for; without `actual` it is answered in words."""

    name: str
    unit: str = ""
    actual: str = ""  # an expression for tools/actual.py
    names: dict = dataclasses.field(default_factory=dict, compare=False)  # the file's own, for that expression
    within: float = 0  # per cent by which a prediction may differ
    in_fold: bool = True  # whether the lesson's answer has the figure
    reason: str = ""  # why it has not

    def asked(self):
        """Its name, with the unit where that does not say it."""
        return self.name if self.unit in self.name else f"{self.name} ({self.unit})"

    def value(self, step):
        """What it is, in base units."""
        return actual.value(step, self.actual, self.names)

    def complaint(self, typed):
        """Why a typed answer cannot be read, in a sentence, or None. Words can always be."""
        try:
            if self.actual:
                quantities.parse(typed, self.unit)
        except ValueError as why:
            return str(why)
        return None


@dataclasses.dataclass(frozen=True)
class Question:
    number: str
    text: str  # Markdown
    answer: str  # Markdown, the lesson's
    quantities: tuple

    @property
    def key(self):
        """The same for the same words, whatever the question's number: answers belong to the words that were asked."""
        return hashlib.sha256(" ".join(self.text.split()).encode()).hexdigest()[:16]


def requested(step):
    """{number of a question: its quantities}, of the step's predict.toml."""
    path = steps.directory(step) / "exercises" / "predict.toml"
    if not path.exists():
        return {}
    with open(path, "rb") as file:
        found = tomllib.load(file)
    names = found.pop("names", {})
    return {number: tuple(Quantity(**entry, names=names) for entry in entries) for number, entries in found.items()}


def lesson(step):
    """(what stands before the questions, the questions) of the step's README."""
    path = steps.directory(step) / "README.md"
    text = path.read_text() if path.exists() else ""
    section = SECTION.search(text)
    if not section:
        stop(f"{step['name']} asks for no predictions: its lesson has no section Predict.")
    answers, asked = dict(ANSWER.findall(text)), requested(step)
    return section[1][:NUMBERED.search(section[1]).start()].strip(), [
        Question(number, words.strip(), answers.get(number, "").strip(), asked.get(number, ()))
        for number, words in NUMBERED.findall(section[1])]


def is_whole(data):
    """Whether predictions.json has the shape that it is written in."""
    questions = [each for step in data.values() for each in (step.values() if isinstance(step, dict) else [None])]
    return all(isinstance(each, dict) and all(isinstance(typed, str) for typed in each.values()) for each in questions)


def kept(step, questions):
    """{(question, quantity): what was typed}, of these questions' earlier answers; what can no longer be read is left out."""
    stored = state.load(TYPED, is_whole).get(steps.short(step), {})
    found = {(question, quantity): stored.get(question.key, {}).get(quantity.name)
             for question in questions for quantity in question.quantities}
    return {place: typed for place, typed in found.items() if typed and not place[1].complaint(typed)}


def keep(step, question, quantity, typed):
    """Store one answer."""
    def update(data):
        data.setdefault(steps.short(step), {}).setdefault(question.key, {})[quantity.name] = typed

    state.change(TYPED, is_whole, update)


def read_line(prompt):
    """What is typed, without control characters; "" for nothing. EOFError at the end of the input."""
    try:
        line = input(f"   {prompt}: ")
    except EOFError:
        out.print()
        raise
    if not sys.stdin.isatty():
        out.print()
    return "".join(character for character in line if character.isprintable()).strip()


def ask(quantity):
    """What the reader predicts, or None. On a terminal an empty answer is asked again once, and one that cannot be read until
    it can; of other input each line is one answer, and one that cannot be read stops."""
    patient = sys.stdin.isatty()
    empty = 0
    while True:
        typed = read_line(quantity.asked())
        if not typed:
            empty += 1
            if empty == 2 or not patient:
                return None
            out.print("   A guess is enough; a second empty answer leaves this one out.")
        elif complaint := quantity.complaint(typed):
            if not patient:
                stop(f"{quantity.asked()}: {complaint}")
            out.print(f"   {complaint}", markup=False)
        else:
            return typed


def prose(markdown):
    """Markdown for the terminal; links are words there."""
    return Markdown(LINK.sub(r"\1", markdown))


def ask_all(step, intro, todo, before):
    """Ask for each (question, quantity), and keep what is typed; the end of the input ends it."""
    out.print(f"[bold]{step['name']}[/]: first read {step['dir']}/README.md as far as Predict.\n", soft_wrap=True)
    if intro:
        out.print(prose(intro))
    current = None
    try:
        for question, quantity in todo:
            if question != current:
                out.print(prose(f"{question.number}. {question.text}"))
                current = question
            if typed := ask(quantity):
                keep(step, question, quantity, typed)
            elif (question, quantity) in before:
                out.print(f"   Your earlier answer stays: {before[question, quantity]}", markup=False)
    except EOFError:
        out.print("[dim]The input ended. What was answered is kept.[/]")


def compared(step, quantity, typed):
    """Cells of the table: predicted, actual, how near. Words have no verdict."""
    if typed is None:
        return Text("–"), Text(), Text("not answered", "dim")
    if not quantity.actual:
        return Text(typed), Text(), Text("see the answer", "dim")
    predicted, value = quantities.parse(typed, quantity.unit), quantity.value(step)
    right, near = quantities.judge(predicted, value, quantity.within)
    verdict = Text("right", "green") if right else Text("wrong", "bold red")
    return Text(quantities.shown(predicted, quantity.unit)), Text(quantities.shown(value, quantity.unit)), verdict + Text(f": {near}", "default")


def widths(columns, room):
    """How wide a table's columns, lists of texts, shall be so that no word, and so no figure, is broken; None where that is too wide.
    What room is left goes to the last column, and then to the narrowest that wants it."""
    found = [max(len(word) for text in column for word in text.plain.split() or [""]) for column in columns]
    whole = [max(map(len, column)) for column in columns]
    left = room - GAP * (len(columns) - 1) - sum(found)
    if left < 0:
        return None
    last = min(left, whole[-1] - found[-1])
    found[-1] += last
    for _ in range(left - last):
        narrow = [place for place, width in enumerate(found) if width < whole[place]]
        if narrow:
            found[min(narrow, key=found.__getitem__)] += 1
    return found


def as_table(questions, rows, found):
    """The comparison under the questions' numbers, its columns as wide as was found."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for title, width in zip(TITLES, found):
        table.add_column(title, justify="right" if title in ("predicted", "actual") else "left", width=width)
    for question in questions:
        for row in rows[question]:
            table.add_row(*row)
        table.add_section()
    return table


def as_list(rows):
    """The same on a narrow terminal, a line for each cell."""
    for number, asked, *cells, near in (row for each in rows.values() for row in each):
        yield Text.assemble(number, " ", asked)
        for title, cell in zip(TITLES[2:], cells):
            if cell.plain:
                yield Text.assemble(f"  {title} ", cell)
        yield Text.assemble("  ", near)


def show(step, questions, answers):
    """What was predicted and what is, side by side, and the lesson's answers to what was answered."""
    rows = {question: [(Text(question.number), Text(quantity.asked()), *compared(step, quantity, answers.get((question, quantity))))
                       for quantity in question.quantities] for question in questions}
    columns = zip(map(Text, TITLES), *(row for each in rows.values() for row in each))
    found = widths(list(columns), out.width)
    out.print()
    for part in [as_table(questions, rows, found)] if found else as_list(rows):
        out.print(part)
    out.print("[dim]Actual: counted on the emulator, computed, or recorded on an H200. Nothing was timed here.[/]")
    for question in questions:
        if any(place[0] == question for place in answers):
            out.print(f"\n[bold]Answer to {question.number}[/]")
            out.print(prose(question.answer))
    out.print()


def predict(step, only_show, again):
    """Ask what is not yet answered, or all again, and compare. Returns the exit status."""
    if only_show and again:
        stop("--show asks nothing and --again asks everything: give one of them.")
    intro, questions = lesson(step)
    command = f"./learn predict {steps.called(step)}"
    before = kept(step, questions)
    todo = [(question, quantity) for question in questions for quantity in question.quantities
            if again or (question, quantity) not in before]
    if todo and not only_show:
        ask_all(step, intro, todo, before)
    answers = kept(step, questions)
    if not answers:
        out.print("Nothing is predicted yet, so there is nothing to compare.")
        out.print(f"[dim]To be asked: {command}[/]")
        return 0
    show(step, questions, answers)
    left = sum(len(question.quantities) for question in questions) - len(answers)
    if left:
        out.print(f"[dim]To be asked what is not answered: {command}[/]")
    out.print(f"[dim]To be asked everything again: {command} --again[/]")
    return 0

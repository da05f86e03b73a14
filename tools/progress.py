"""What a reader has done, in exercises/progress.json, which a pull of the repository leaves alone."""
import copy
import json
import time

from tools import exercises, steps
from tools.say import err

SHORT_PATH = "00", "01", "02", "machine", "03", "04", "05", "08", "09", "12", "13"


def file():
    return exercises.WORK / "progress.json"


EMPTY = {"passed": {}, "hints": {}, "outside": {}, "at": ""}


def load():
    """{passed: {id: date}, hints: {id: how many were shown}, outside: {id: the program around the regions}, at: id}."""
    try:
        kept = json.loads(file().read_text())
        if {name: type(value) for name, value in kept.items()} == {name: type(value) for name, value in EMPTY.items()}:
            return kept
    except FileNotFoundError:
        return copy.deepcopy(EMPTY)
    except (ValueError, AttributeError):
        pass
    aside = file().with_suffix(f".{time.time_ns()}.broken")
    file().rename(aside)
    err.print(f"{file().name} could not be read and is now {aside.name}; your solutions are where they were.", markup=False)
    return copy.deepcopy(EMPTY)


def store(state):
    """Replace the file as a whole, or leave it as it was."""
    file().parent.mkdir(exist_ok=True)
    new = file().with_suffix(".new")
    new.write_text(json.dumps(state, indent=1) + "\n")
    new.rename(file())


def change(**more):
    """Set at=…, or add to a table: passed={id: date}."""
    state = load()
    for name, value in more.items():
        state[name] = state[name] | value if isinstance(value, dict) else value
    store(state)


def next_exercise():
    """The first one not passed: of the step that the reader is at, else on the short path, else anywhere; None when all are."""
    state = load()
    at = next((exercise.step["name"] for exercise in exercises.every() if exercise.id == state["at"]), None)
    todo = [exercise for exercise in exercises.every() if exercise.id not in state["passed"]]

    def order(exercise):
        short = (exercise.step["number"] or exercise.step["name"]) in SHORT_PATH
        return exercise.step["name"] != at, exercise.number > 1, not short

    return min(todo, key=order, default=None)


def next_words():
    """The next step to take, as one sentence."""
    exercise = next_exercise()
    if not exercises.every():
        return "This clone has no exercises."
    if exercise is None:
        return "Every exercise is solved. What you can do with them: docs/adding-a-step.md"
    lesson = f"{exercise.step['dir']}/README.md"
    if not exercise.file.exists():
        return f"Next: read {lesson} as far as Try it first, then ./learn exercise {exercise.reference}"
    return f"Next: {exercise.file.relative_to(exercises.ROOT)} ({exercise.title}), then ./learn check {exercise.reference}"


def table():
    """A rich table of all steps: which exercises are solved."""
    from rich.table import Table

    passed = load()["passed"]
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("step", "exercises", "solved"):
        shown.add_column(title, justify="right" if title == "solved" else "left")
    for step in steps.load():
        chosen = exercises.load(step)
        marks = " ".join(f"[green]✓ {one.number}[/]" if one.id in passed else f"[dim]· {one.number}[/]" for one in chosen)
        shown.add_row(steps.title(step), marks, f"{sum(one.id in passed for one in chosen)} of {len(chosen)}")
    return shown

"""What a reader has done, in exercises/progress.json, which a pull of the repository leaves alone."""
import copy

from tools import exercises, state, steps

SIDE_STEPS = "06", "07", "10", "11", "16", "23", "28", "29", "35", "44", "49"  # beside the short path


def file():
    return exercises.WORK / "progress.json"


EMPTY = {"passed": {}, "hints": {}, "outside": {}, "at": ""}
HOLDS = {"passed": str, "hints": int, "outside": str}  # of each table


def is_whole(data):
    """Whether progress.json has the shape that it is written in."""
    return {name: type(value) for name, value in data.items()} == {name: type(value) for name, value in EMPTY.items()} \
        and all(isinstance(value, kind) for name, kind in HOLDS.items() for value in data[name].values())


def follow(data, known):
    """What stands under an earlier id of one of the exercises moves to its present one. Returns the same data."""
    for exercise in known:
        for old in exercise.earlier:
            data["at"] = exercise.id if data["at"] == old else data["at"]
            for table in (data[name] for name in HOLDS):
                if old in table:
                    table.setdefault(exercise.id, table.pop(old))
    return data


def load():
    """{passed: {id: date}, hints: {id: how many were shown}, outside: {id: the program around the regions}, at: id}."""
    return follow(copy.deepcopy(EMPTY) | state.load(file(), is_whole), exercises.every())


def change(**more):
    """Set at=…, or add to a table: passed={id: date}; what is None is taken out of it."""
    known = exercises.every()  # which may take the same lock as state.change, and so comes before it

    def update(data):
        data.update(follow(copy.deepcopy(EMPTY) | data, known))
        for name, value in more.items():
            if isinstance(value, dict):
                value = {key: each for key, each in (data[name] | value).items() if each is not None}
            data[name] = value

    state.change(file(), is_whole, update)


def next_exercise():
    """The first one not passed: of the step that the reader is at, else on the short path, else anywhere; None when all are."""
    done = load()
    at = next((exercise.step["name"] for exercise in exercises.every() if exercise.id == done["at"]), None)
    todo = [exercise for exercise in exercises.every() if exercise.id not in done["passed"]]

    def order(exercise):
        return exercise.step["name"] != at, exercise.number > 1, steps.called(exercise.step) in SIDE_STEPS

    return min(todo, key=order, default=None)


def next_lesson(passed, here):
    """Words on the next step on the short path whose task is not solved, one behind `here` if there is any; or None."""
    names = [step["name"] for step in steps.load()]
    tasks = [exercise for exercise in exercises.every() if exercise.number == 1 and exercise.id not in passed
             and steps.called(exercise.step) not in SIDE_STEPS and exercise.step["name"] != here["name"]]
    tasks.sort(key=lambda exercise: names.index(exercise.step["name"]) < names.index(here["name"]))
    if not tasks:
        return None
    is_behind = names.index(tasks[0].step["name"]) > names.index(here["name"])
    which = "the next lesson" if is_behind else "the first lesson that you have not solved"
    return f"Or go on to {which}: {tasks[0].step['dir']}/README.md"


def next_words():
    """The next step to take: a sentence, and the command on a line of its own."""
    exercise = next_exercise()
    if not exercises.every():
        return "This clone has no exercises."
    if exercise is None:
        return "Every exercise is solved. What you can do with them: docs/adding-a-step.md"
    readme = f"{exercise.step['dir']}/README.md"
    read = {1: f"read {readme} as far as Try it first, then ", 2: f"read the rest of {readme}, then "}.get(exercise.number, "")
    lines = [f"Next: {read}{exercise.title}", f"  ./learn {'check' if exercise.file.exists() else 'exercise'} {exercise.reference}"]
    if exercise.file.exists():
        lines.insert(1, f"  {exercise.file.relative_to(exercises.ROOT)}")
    if exercise.number > 1 and (lesson := next_lesson(load()["passed"], exercise.step)):
        lines.append(lesson)
    return "\n".join(lines)


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

"""The commands around exercises: hand one out, check it, help with it, show the author's version."""
import textwrap
from time import sleep, strftime

from rich.markdown import Markdown
from rich.markup import escape
from rich.padding import Padding
from rich.syntax import Syntax
from rich.text import Text

from tools import build, emulate, exercises, judge, progress, state, submission, venv
from tools.guard import stop
from tools.paths import BUILD, ROOT
from tools.say import out


def markdown(text):
    """Markdown as a terminal shows it; as it is written where there is none."""
    return Markdown(text) if out.is_terminal else Text(" ".join(text.split()))


def relative(path):
    return str(path.relative_to(ROOT))


def at_hand(text):
    """The exercise that is meant: 04.2 is that one, 04 the first of the step that is not passed, nothing the one at hand."""
    if text is None:
        done = progress.load()
        found = next((one for one in exercises.every() if one.id == done["at"] and one.id not in done["passed"]), None)
        return found or progress.next_exercise() or stop("Every exercise is solved. To see one again, name it: ./learn check 04.1", 0)
    step, exercise = exercises.find(text)
    passed = progress.load()["passed"]
    chosen = exercises.load(step)
    return exercise or next((one for one in chosen if one.id not in passed), chosen[0])


# ---- the reader's file ----

def write(exercise):
    """Write the reader's file where there is none; an existing one follows the step's program if that has changed. Returns what was
    done, as a word."""
    around = exercise.outside(exercise.start())
    if not exercise.file.exists():
        exercise.file.parent.mkdir(parents=True, exist_ok=True)
        exercises.write(exercise.file, exercise.start())
        progress.change(outside={exercise.id: around})
        return "written"
    mine = exercises.read(exercise.file)
    if exercise.outside(mine) == around:
        return "kept"
    mine = exercise.present(mine)
    known = exercise.present(progress.load()["outside"].get(exercise.id, around))
    lines = exercise.between(mine)
    if exercise.outside(mine) in (around, known) and lines.keys() == exercise.regions.keys():
        exercises.write(exercise.file, exercise.with_regions(lines))
        progress.change(outside={exercise.id: around})
        return "renewed"
    return "changed"


NOTES = {"renewed": "The step's program has changed since; your lines are in the new one now.",
         "changed": "This file differs from the step's program outside the marks, too. It is judged as it stands; "
                    "`./learn grade` takes only what is between the marks."}


def note(exercise):
    done = write(exercise)
    if done in NOTES:
        out.print(f"[dim]{relative(exercise.file)}: {NOTES[done]}[/]")


# ---- commands ----

def show_task(exercise):
    out.print(f"\n[bold cyan]{exercise.reference} {exercise.title}[/]  [dim]{exercises.KINDS[exercise.data['kind']]}; about "
              f"{exercise.data['minutes']} minutes[/]")
    out.print(Padding(markdown(exercise.data["task"]), (0, 2)))
    out.print(f"  {relative(exercise.file)}", markup=False, soft_wrap=True)
    out.print(f"  [dim]./learn check {exercise.reference}    ./learn hint {exercise.reference}    "
              f"./learn watch {exercise.reference}[/]")


def hand_out(text):
    """Write a step's exercises, or one of them, and say what is asked."""
    if text is None:
        chosen = [at_hand(None)]
    else:
        step, exercise = exercises.find(text)
        chosen = [exercise] if exercise else exercises.load(step)
    for each in chosen:
        note(each)
    passed = progress.load()["passed"]
    current = next((one for one in chosen if one.id not in passed), chosen[0])
    progress.change(at=current.id)
    for each in chosen if len(chosen) > 1 else []:
        mark = "✓" if each.id in passed else "→" if each is current else "·"
        out.print(f"{mark} {each.reference} {each.title}: {relative(each.file)}", markup=False, soft_wrap=True,
                  style="bold" if each is current else "dim")
    show_task(current)
    return 0


def show(finding):
    mark = "[green]✓[/]" if finding.holds else "[bold red]✗[/]"
    out.print(f"{mark} ", end="")
    out.print(finding.requirement, markup=False)
    if finding.detail:
        out.print(textwrap.indent(finding.detail, "    "), markup=False, soft_wrap=True)


def show_objection(exercise):
    """Say why `./learn grade` refuses a file that is right, where it does."""
    if lacking := venv.missing("grade"):
        out.print(f"[dim]Whether `./learn grade` takes it was not looked at: this Python has no {lacking[0]}.[/]")
    elif refused := submission.objection(exercise, exercise.file.parents[1]):
        out.print(f"[yellow]`./learn grade` gives no credit for it, though it is right:[/] {escape(refused)}", soft_wrap=True)


def check(text):
    """Judge the reader's file. Returns the exit status: 0 if it is solved."""
    exercise = at_hand(text)
    if not exercise.file.exists():
        stop(f"{relative(exercise.file)} is not there yet. To have it written: ./learn exercise {exercise.reference}")
    note(exercise)
    progress.change(at=exercise.id)
    if exercise.asks_for_program:
        build.build("cpu", *emulate.TARGETS, "common")
    out.print(f"[bold cyan]{exercise.reference} {exercise.title}[/]  [dim]{relative(exercise.file)}[/]")
    solved = True
    with state.locked(BUILD / "exercises" / exercise.step["name"]):  # another check would build in the same place
        for finding in judge.judge(exercise):
            show(finding)
            solved = finding.holds
    if not solved:
        out.print(f"[dim]A hint: ./learn hint {exercise.reference}[/]")
        return 1
    progress.change(passed={exercise.id: strftime("%Y-%m-%d")})
    show_objection(exercise)
    out.print("\n[green]Solved.[/] The author's version:")
    show_solution(exercise)
    if "after" in exercise.data:
        out.print(Padding(markdown(exercise.data["after"]), (1, 2)))
    out.print(progress.next_words(), markup=False, soft_wrap=True)
    return 0


def watch(text):
    """Judge the file again on each save, until stopped."""
    exercise = at_hand(text)
    write(exercise)
    seen = None
    while True:
        try:
            saved = exercise.file.stat().st_mtime_ns
        except FileNotFoundError:  # an editor is about to put the new one there
            saved = seen
        if saved != seen:
            seen = saved
            out.rule(strftime("%H:%M:%S"))
            if check(exercise.reference) == 0:
                return 0
            out.print("[dim]Waiting for the next save; Ctrl-C ends.[/]")
        sleep(0.2)


def hint(text):
    """The next of three hints; after the last, all are shown again."""
    exercise = at_hand(text)
    hints = exercise.data["hints"]
    shown = min(progress.load()["hints"].get(exercise.id, 0) + 1, len(hints))
    progress.change(hints={exercise.id: shown})
    out.print(f"[bold cyan]{exercise.reference} {exercise.title}[/]")
    for number, words in enumerate(hints[:shown], 1):
        out.print(f"  hint {number} of {len(hints)}")
        out.print(Padding(markdown(words), (0, 4)))
    left = "" if shown < len(hints) else f" The author's version: ./learn solution {exercise.reference}"
    out.print(f"[dim]{'Another one: the same command once more.' if shown < len(hints) else 'These are all.'}{left}[/]")
    return 0


def show_solution(exercise):
    for name, lines in exercise.author().items():
        if len(exercise.regions) > 1:
            out.print(f"  [dim]{name}[/]")
        if out.is_terminal:
            out.print(Padding(Syntax(lines.rstrip(), "cuda", background_color="default"), (0, 2)))
        else:
            out.print(lines.rstrip(), markup=False, soft_wrap=True)


def solution(text):
    """The author's lines."""
    exercise = at_hand(text)
    out.print(f"[bold cyan]{exercise.reference} {exercise.title}[/]")
    show_solution(exercise)
    if "after" in exercise.data:
        out.print(Padding(markdown(exercise.data["after"]), (1, 2)))
    return 0


def reset(text):
    """Write the reader's file anew; what was there stays beside it, or in its place where that cannot be written."""
    exercise = at_hand(text)
    kept = state.set_aside(exercise.file) if exercise.file.exists() else None
    try:
        write(exercise)
    except BaseException:
        if kept:
            kept.rename(exercise.file)
        raise
    if kept:
        out.print(f"Yours is kept as {relative(kept)}.", markup=False, soft_wrap=True)
    progress.change(passed={exercise.id: None}, hints={exercise.id: None})
    show_task(exercise)
    return 0


def solved_words():
    passed = progress.load()["passed"]
    return f"{sum(one.id in passed for one in exercises.every())} of {len(exercises.every())} exercises are solved."


def show_progress():
    """The table of all steps, and what comes next."""
    out.print(progress.table())
    out.print(f"\n{solved_words()}\n{progress.next_words()}", markup=False, soft_wrap=True)
    return 0


def welcome():
    """Where the reader is, and what comes next."""
    if progress.file().exists():
        out.print(f"{solved_words()}\n{progress.next_words()}", markup=False, soft_wrap=True)
    else:
        out.print("Flash Steps: fast GPU kernels in C, one small idea per step. Every step runs here, with or without a GPU.")
        out.print("Begin with ./learn tour, or with the first lesson: steps/00_first_kernel/README.md")
    out.print("[dim]./learn --help lists the commands.[/]")
    return 0

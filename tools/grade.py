"""Grades strangers' exercises: what stands between their marks goes into the author's program, which runs in the sandbox on
inputs whose seed is drawn here; the author's own program, outside of it, compares the output."""
import dataclasses
import json
import os
import random
import re
import secrets
import shlex
import signal
import subprocess
import tempfile
from pathlib import Path

from tools import build, emulate, exercises, judge, sandbox, submission, venv
from tools.guard import stop
from tools.kit import LIBRARIES, Kit
from tools.marks import FORMATS, MISSING, NOT_GRADED, REFUSED, RIGHT, WRONG, Mark, clean
from tools.paths import BUILD, ROOT
from tools.say import err
from tools.submission import Refused

JUDGE_SECONDS = 120
# Programs that have --seed, --write-output and --check-output.
TAKES_OPTIONS = re.compile(r"\b(axpy_begin|program_begin|(sum|scale|matmul|softmax|attention|device)_main)\(")
# Beside what the author's program calls, and the functions of <math.h>: what the emulator and a compiler make of device code.
DEVICE_CALLS = re.compile(
    r"simt_\w+|__sanitizer_cov_\w+|__cxa_guard_\w+|__cxa_begin_catch|__cxa_throw_bad_array_new_length|_ZSt9terminatev|_Unwind_Resume|__gxx_personality_v0|"
    r"__stack_chk_fail|_GLOBAL_OFFSET_TABLE_|v?printf|puts|putchar|mem(cpy|move|set|cmp)|l?abs|"
    r"__(popcount|parity|clz|ctz|ffs|u?div|u?mod|mul|float|fix|trunc|extend|aarch64_)\w*")
REPORT_BYTES = 8 << 10
SIGNALS = {number.value: number.name for number in signal.Signals}
HOST_CALLS = re.compile(r"cuda\w+|malloc|calloc|free")


class Wrong(Exception):
    """Why a submission that was run is wrong, in a sentence."""


class NotGraded(Exception):
    """Why an exercise cannot be graded, in a sentence."""


# ---- one exercise ----

def edited(exercise, canary):
    """The author's program; where the exercise says so, with edits that only a program which really runs it can follow."""
    program = exercise.program()
    for before, after in exercise.data.get("grade", {}).get("edits", []):
        if exercise.outside(program).count(before) != 1:
            stop(f"{exercise.reference}: its [grade] edits what does not stand once in the program: {before}")
        program = program.replace(before, after.replace("{canary}", str(canary)))
    return program


def require_gradable(exercise):
    program = exercise.program()
    if not TAKES_OPTIONS.search(program):
        raise NotGraded("This program checks its result by itself, and no other could compare it.")
    if any(not submission.around(program, name) for name in exercise.regions):
        raise NotGraded("It asks for whole functions, and only what stands inside of one is graded.")
    if submission.is_host(exercise) and "edits" not in exercise.data.get("grade", {}):
        raise NotGraded("It asks for host code, and nothing in the exercise shows whether that code lets the kernel compute.")


def report_in(done):
    """The emulator's first report in what a run said: a match, or None. A stranger's words are looked through no further."""
    return judge.REPORT.search(done.said[:REPORT_BYTES])


def complaint(done):
    """What a run said that helps, where it ended otherwise than by status 0; None where it did."""
    if done.fault:
        return f"It was stopped because {done.fault}."
    if done.status == 0:
        return None
    if report := report_in(done):
        return report[0].removeprefix("simt: ")
    if (number := abs(done.status) % 128) in SIGNALS and (done.status < 0 or done.status > 128):  # by itself, or in the sandbox
        return f"It was ended by {SIGNALS[number]}."
    return "\n".join(done.said.strip().splitlines()[-3:]) or f"It ended with status {done.status} and said nothing."


def command(exercise, program, arguments, seed, output=None, how="write"):
    """The words that run one case. Its output is written to a file, or that file's checked, unless there is none."""
    return [program, *exercise.words(arguments), "--seed", seed, *([f"--{how}-output", output] if output else [])]


def emulated(exercise):
    """The words before a program that say with which emulator the exercise wants it to run."""
    return ["env", *exercise.settings] if exercise.settings else []


def run_author(words, place):
    """The completed process of the author's program, which has nothing of a stranger's in it, and can do the case."""
    try:
        done = subprocess.run([str(word) for word in words], cwd=place, env=sandbox.environment(place), text=True,
                              errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=JUDGE_SECONDS)
    except subprocess.TimeoutExpired:
        stop(f"The author's program takes longer than {JUDGE_SECONDS} s for this case: {shlex.join(map(str, words[1:]))}")
    if done.returncode not in (0, 1):
        stop(f"The author's program cannot do this case: {shlex.join(map(str, words[1:]))}\n{done.stdout.strip()}")
    return done


def require_right(exercise, author, arguments, seed, written):
    """Compare an output with the reference; or, where the program was edited, with what the author's leaves, byte by byte."""
    with tempfile.TemporaryDirectory(prefix="learn-grade-") as folder:
        output = Path(folder, "output")
        if "edits" in exercise.data.get("grade", {}):
            done = run_author(command(exercise, author, arguments, seed, output), folder)
            right = done.returncode == 0 and output.read_bytes() == written
            reason = "The output is not what the kernel computes."
        else:
            output.write_bytes(written)
            done = run_author(command(exercise, author, arguments, seed, output, "check"), folder)
            right = done.returncode == 0
            reason = next((line for line in done.stdout.splitlines() if "WRONG" in line), "The output is wrong.")
    if not right:
        raise Wrong(reason.removeprefix("WRONG: "))


def require_possible(kit, exercise, author, arguments, seed):
    """Stop where the author's own program cannot do a case, or not well within the bounds that a submission has."""
    within = dataclasses.replace(kit.limits, seconds=kit.limits.seconds / 2)
    done = kit.run_author(command(exercise, author, arguments, seed)[1:], within, emulated(exercise))
    if done.fault:
        stop(f"{exercise.reference}: this case asks too much, for the author's program fails at it, too: {arguments}\nThe author's program "
             f"was stopped because {done.fault}; what a learner may take is twice the time. Make the case smaller.")
    if done.status not in (0, 1):
        stop(f"The author's program cannot do this case: {arguments}\n{done.said.strip()}")


def run_case(kit, exercise, program, author, case, seed):
    """Run one case in the sandbox and compare its output; wrong where either fails."""
    done = kit.run([*emulated(exercise), *command(exercise, program, case["arguments"], seed, "RESULT")])
    if said := complaint(done):
        require_possible(kit, exercise, author, case["arguments"], seed)
        raise Wrong(said)
    require_right(exercise, author, case["arguments"], seed, done.written)


def counted(kit, exercise, program, arguments, record, seed):
    """What the submission's own process counts in a case, in that record of the emulator's: bytes that may be anything. Whether its result
    is right is asked elsewhere, and a step's program need not ask itself; an exercise's own program always does."""
    unchecked = [] if "source" in exercise.data else ["--no-check"]
    return kit.run(["env", f"{record}=RESULT", *exercise.settings, *command(exercise, program, arguments, seed), "--profile", *unchecked]).written


def advice(exercise, text, wanted, written):
    """What a [[count]] comes to in what a submission counted."""
    limit, holds = judge.limit_of(wanted)
    requirement = f"{limit} {wanted['unit']}"
    try:
        profile = json.loads(written.splitlines()[-1])
        count, _ = judge.count_of(exercise, profile, wanted, text)
        said = f"{count:,.0f} at {judge.shape_words(wanted.get('arguments', ''))}"
        return {"requirement": requirement, "holds": bool(holds(count)), "said": said}
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return {"requirement": requirement, "holds": False, "said": "Nothing was counted."}


def advices(kit, exercise, text, program, drawn):
    """What each [[count]] comes to; those of the same case have the same run."""
    runs = {}
    for wanted in exercise.data.get("count", []):
        case = wanted.get("arguments", ""), judge.record_of(wanted)
        if case not in runs:
            runs[case] = counted(kit, exercise, program, *case, drawn.getrandbits(31))
        yield advice(exercise, text, wanted, runs[case])


def reported(kit, exercise, program, wanted, seed):
    """Whether the emulator's [report] comes out of the submission's own process."""
    done = kit.run([*emulated(exercise), *command(exercise, program, wanted["arguments"], seed)])
    report = report_in(done)
    holds = bool(report and report["kind"] == wanted["kind"])
    return {"requirement": f"The emulator reports: {wanted['kind']}", "holds": holds,
            "said": clean(report[0]) if report else "Nothing was reported."}


def require_device_code(mine, authors, device):
    """Refuse a program that does what no kernel can: call functions of the host, replace one, or run before main."""
    for name in sorted(mine.called - authors.called):
        if not (DEVICE_CALLS.fullmatch(name) or not device and HOST_CALLS.fullmatch(name)):
            raise Refused(f"It calls `{name}`, which no kernel can call on a GPU." if device else f"It calls `{name}`.")
    for name in sorted(mine.defined - authors.defined):
        if not name.startswith("_Z"):
            raise Refused(f"It defines a function `{name}` of its own for the whole program.")
    if mine.run_at_start != authors.run_at_start:
        raise Refused("It has code that runs before main.")


def build_both(kit, exercise, regions, canary):
    """(the submission's text, its program, the author's program, which the sandbox does not show)."""
    program, own, name = edited(exercise, canary), exercise.author(), f"{exercise.name}.cu"
    authors_text, text = (exercise.heading() + exercise.splice(program, each) for each in (own, regions))
    try:
        authors = kit.build(name, authors_text)
    except Refused as error:
        stop(f"The author's program of {exercise.reference} cannot be built. {error}")
    mine = kit.build(name, text)
    authors.called |= kit.mathematics
    require_device_code(mine, authors, not submission.is_host(exercise))
    return text, kit.write("program", mine.program, 0o755), kit.write_hidden("author", authors.program)


def grade_case(kit, exercise, program, author, case, mark, seed):
    """Run one case, into the mark. Of a course's own case a learner sees nothing: what a program says could be its shape."""
    entry = case | {"seed": seed, "verdict": WRONG}
    mark.cases.append(entry)
    try:
        run_case(kit, exercise, program, author, case, seed)
    except Wrong as error:
        said = f"At {judge.shape_words(case['arguments'])}: {error}"
        if not case.get("hidden"):
            raise Wrong(said) from None
        entry["said"] = clean(said)
        raise Wrong("At one of the course's own cases: it is wrong.") from None
    entry["verdict"] = RIGHT


def require_answers(exercise, text):
    for question in exercise.questions:
        answer = judge.answered(exercise, text, question)
        if not answer.holds:
            raise Wrong(f"{answer.requirement} {answer.detail}")


def grade_text(kit, mark, text, more_cases, drawn):
    """Grade the text of a file, into the mark."""
    exercise = mark.exercise
    regions = submission.regions(exercise, text)
    if not exercise.asks_for_program:
        require_answers(exercise, text)
        return
    if "report" not in exercise.data:
        require_gradable(exercise)
    submission.require_statements(exercise, regions)
    spliced, program, author = build_both(kit, exercise, regions, drawn.getrandbits(63))
    if "report" in exercise.data:
        mark.advisory.append(reported(kit, exercise, program, exercise.data["report"], drawn.getrandbits(31)))
    require_answers(exercise, spliced)
    if "report" not in exercise.data:
        own_cases = exercise.data.get("check") or exercise.data.get("count", [])
        for case in [{"arguments": one.get("arguments", "")} for one in own_cases] + more_cases:
            grade_case(kit, exercise, program, author, case, mark, drawn.getrandbits(31))
    mark.advisory += advices(kit, exercise, spliced, program, drawn)


def require_advice(mark):
    """Hold against a submission what it says of itself: nobody forges a count to his own harm."""
    for one in mark.advisory:
        if not one["holds"]:
            raise Wrong(f"{one['requirement']}: {one['said']}")


def grade_one(kit, exercise, root, more_cases, drawn, counts_matter=False):
    """The mark of one exercise."""
    mark = Mark(exercise, exercise.data.get("grade", {}).get("points", 1))
    try:
        text = submission.read_exercise(root, exercise)
        if text is None:
            mark.verdict, mark.reason = MISSING, f"There is no {exercise.step['name']}/{exercise.file_name}."
        else:
            grade_text(kit, mark, text, more_cases, drawn)
            if counts_matter:
                require_advice(mark)
    except Refused as error:
        mark.verdict, mark.reason = REFUSED, clean(str(error))
    except Wrong as error:
        mark.verdict, mark.reason = WRONG, clean(str(error))
    except NotGraded as error:
        mark.verdict, mark.reason, mark.of = NOT_GRADED, str(error), 0
    return mark


# ---- the command ----

def chosen(names):
    """The exercises named; all without a name."""
    found = []
    for name in names:
        step, exercise = exercises.find(name)
        found += [exercise] if exercise else exercises.load(step)
    return found if names else exercises.every()


def folder_of(name):
    """A reader's exercises/ folder, or the one that holds it."""
    root = Path(name)
    if not name or not os.path.isdir(root):
        stop(f"There is no directory '{name}'. Wanted: a learner's folder exercises/, or the folder that it is in.")
    if not os.access(root, os.R_OK | os.X_OK):
        stop(f"'{name}' is not this user's to read.")
    return root / "exercises" if (root / "exercises").is_dir() and not (root / "exercises").is_symlink() else root


def course_cases(name):
    """{exercise: [cases]} of the TOML files of a course: NN_name/1_name.toml, each with [[check]] entries."""
    found = {}
    if name is None:
        return found
    if not name or not os.path.isdir(name):
        stop(f"There is no directory '{name}'. Wanted: a folder with files such as 04_matmul_tiled/1_load.toml.")
    known = {id: exercise.id for exercise in exercises.every() for id in exercise.ids}
    for path in sorted(Path(name).rglob("*.toml")):
        exercise = known.get(exercises.id_of(path.parent.name, path.stem))
        if not exercise:
            stop(f"{path}: there is no exercise {path.parent.name}/{path.stem}.")
        try:
            checks = exercises.tomllib.loads(path.read_text()).get("check", [])
            found[exercise] = [{"arguments": case["arguments"], "hidden": True} for case in checks]
            for case in checks:
                if not all("\0" not in word for word in shlex.split(case["arguments"])):
                    raise ValueError("a word cannot hold a NUL.")
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            stop(f"{path}: wanted are entries [[check]] with arguments = \"…\"; {error}")
    return found


def build_emulator():
    """The emulator and common/; as they are, where they lie in a clone that is not this user's to write."""
    if os.access(BUILD if BUILD.exists() else ROOT, os.W_OK):
        build.build("cpu", *emulate.TARGETS, "common")
    elif not all((BUILD / "cpu" / name).is_file() for name in LIBRARIES):
        stop(f"{ROOT} is not this user's to write, and the emulator is not built in it yet. Whose it is runs once: ./learn run 00")


def grade(folder, tests, form, names, seed, counts_matter, unsafe):
    """Grade a folder and print the marks. Returns 0."""
    venv.require("grade")
    root, picked, more = folder_of(folder), chosen(names), course_cases(tests)
    seed = secrets.randbits(31) if seed is None else seed
    with tempfile.TemporaryDirectory(prefix="learn-grade-", dir=sandbox.TEMPORARY) as place:
        place = Path(place)
        place.chmod(0o755)
        if unsafe:
            err.print("--unsafe: what is graded runs without a sandbox, and can do what this user can.", style="yellow")
        elif trouble := sandbox.trouble(place):
            stop(f"{trouble}\nNothing was graded, because it would run what strangers wrote. --unsafe does so nevertheless.")
        build_emulator()
        kit = Kit(place / "kit", not unsafe)
        marks = []
        for number, exercise in enumerate(picked, 1):
            drawn = random.Random(f"{seed} {exercise.id}")
            marks.append(grade_one(kit, exercise, root, more.get(exercise.id, []), drawn, counts_matter))
            err.print(f"[{number}/{len(picked)}] {marks[-1].name}: {marks[-1].verdict}", markup=False)
    print(FORMATS[form](marks, seed, not unsafe))
    return 0

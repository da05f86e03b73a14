"""Judges a reader's file as a good teacher would: builds it for the emulator, runs it over the exercise's cases, counts, and stops at
the first requirement that fails."""
import dataclasses
import functools
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import build, emulate, exercises, machine, quantities, run, source, state, steps
from tools.guard import stop
from tools.paths import BUILD, ROOT

SECONDS = 30  # that a case may take
REPORT = re.compile(r"^simt: (?P<kind>.+?): \S+?:\d+$.*?(?=^simt: |\Z)", re.MULTILINE | re.DOTALL)
ANSWER = re.compile(r"^\s*// answer (?P<name>\w+):[ \t]*(?P<said>.*?)[ \t]*$", re.MULTILINE)
LETTER = re.compile(r"\(?([a-z])(?:\)|$)")  # (b) no, or b
LIMITS = {"most": ("at most", lambda count, limit: count <= limit), "least": ("at least", lambda count, limit: count >= limit),
          "exactly": ("", lambda count, limit: count == limit)}
UNDER_PRODUCTS = "_under_products"  # how the counters end that a timeline has, of a launch's first block


@dataclasses.dataclass
class Finding:
    """A requirement, whether it holds, and if not, what the reader should look at."""
    holds: bool
    requirement: str
    detail: str = ""


def place(exercise, line):
    return f"{exercise.file.relative_to(ROOT)}:{line}"


# ---- what stands in the file ----

def unwritten(exercise, text):
    """The finding on a file that cannot be judged or has nothing written yet; None where there is something to judge."""
    found, start = exercise.between(text), exercise.between(exercise.start())
    for name in exercise.regions:
        if name not in found:
            return Finding(False, "The marks are in place.",
                           f"There is no pair of lines `// [{name}]` and `// [end {name}]` in {place(exercise, 1)}. "
                           f"./learn reset {exercise.reference} makes the file anew and keeps yours beside it.")
    same = all(found[name] == start[name] for name in start)
    begins = place(exercise, lines_of(exercise, text, next(iter(found)))[0])
    help_is = f"If you do not know how to begin: ./learn hint {exercise.reference}"
    if same and any("start" in region for region in exercise.regions.values()):
        return Finding(False, "Something is changed between the marks.", f"{begins} is where your changes belong. {help_is}")
    if same or (not exercise.questions and not any(map(exercises.is_written, found.values()))):
        return Finding(False, "Something is written between the marks.", f"{begins} is where your lines belong. {help_is}")
    return None


# ---- compile ----

def compile_file(exercise, path):
    """Compile a file for the emulator: (the program, the compiler's completed process)."""
    output = BUILD / "exercises" / exercise.step["name"] / exercise.name
    output.parent.mkdir(parents=True, exist_ok=True)
    return output, emulate.compile_program([path.relative_to(ROOT) if path.is_relative_to(ROOT) else path], output, flags(exercise), [BUILD / "cpu/common/libcommon.a"], cwd=ROOT,
                                           stderr=subprocess.PIPE)


def flags(exercise):
    """What a compiler needs to find the headers."""
    return "-std=c++20", f"-I{ROOT / 'common'}", f"-I{steps.directory(exercise.step)}"


def compiles(done):
    """The finding on the compiler's completed process."""
    if done.returncode == 0:
        return Finding(True, "It compiles.")
    lines = list(dict.fromkeys(done.stderr.splitlines()))  # a template's errors come once for each instance
    errors = [line for line in lines if "error:" in line] or lines
    return Finding(False, "It compiles.", "\n".join(errors[:3]))


# ---- run ----

def shape_words(arguments):
    """m 33, n 31 of -m 33 --n 31."""
    return re.sub(r" -+", ", ", " " + arguments).removeprefix(", ") or "the default shape"


def execute(program, exercise, arguments, counts=None, record="SIMT_PROFILE_JSON"):
    """The completed process of one case, with all checks; its standard error is in its output. None where it took too long. counts: where
    the emulator writes that record."""
    command = [program, *exercise.words(arguments)]
    env = dict(os.environ) | {"SIMT_WORKERS": "1", "SIMT_TIMEOUT": str(SECONDS // 2)} | exercise.emulated
    if counts:
        command.append("--profile")
        env[record] = str(counts)
    try:
        return subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return None


def failure(program, exercise, requirement, arguments, done):
    """The finding on a failed run: what it says, what the exercise has to say to that, and how to see more."""
    said = complaint(done)
    advice = [f"  {words}" for part, words in exercise.data.get("advice", {}).items() if part in said]
    again = f"To see all that it prints: {' '.join([*exercise.settings, os.path.relpath(program), *exercise.words(arguments)])}"
    return Finding(False, requirement, "\n".join([said, *advice, again]))


def complaint(done):
    """What a failed run says that helps: the emulator's first report, or the check's sentence."""
    if done is None:
        return f"It had not ended after {SECONDS} seconds. Does a loop never end?"
    if report := REPORT.search(done.stdout):
        return report[0].strip().removeprefix("simt: ")
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    wrong = [line for line in lines if "WRONG" in line]
    if done.returncode < 0:
        return (f"It was ended by {signal.Signals(-done.returncode).name}. That happens, for example, where a function that has a result "
                "ends without `return`.")
    return "\n".join(wrong[:1] or lines[-3:]) or f"It ended with status {done.returncode} and said nothing."


def right(program, exercise, case):
    """The finding on one [[check]]."""
    where = f"at {shape_words(case['arguments'])}"
    requirement = f"{case.get('requirement', 'The result is right').rstrip('.')} ({where})."
    done = execute(program, exercise, case["arguments"])
    if done is not None and done.returncode == 0:
        return Finding(True, requirement)
    return failure(program, exercise, requirement, case["arguments"], done)


# ---- count ----

def lines_of(exercise, text, piece):
    """(first, last) line of a region or of another piece; None is the whole file. Of the reader's own comments none opens a piece, nor
    closes one."""
    if piece is None:
        return 1, text.count("\n") + 1
    for found in exercise.found(text):
        if found["name"] == piece:
            return tuple(text[:place].count("\n") + 1 for place in (found.start("begin"), found.start("end")))
    blank = {name: "\n" * lines.count("\n") for name, lines in exercise.between(text).items()}
    called = exercise.file.relative_to(ROOT)
    known = source.pieces(exercise.splice(text, blank), called)
    source.named(known, [piece], called)
    return known[piece].lines(known[piece])


def record_of(wanted):
    """The variable of the emulator that names the file with what a [[count]] asks for."""
    return "SIMT_TIMELINE" if wanted["counter"].endswith(UNDER_PRODUCTS) else "SIMT_PROFILE_JSON"


def under_products(timeline, counter):
    """A timeline's record in the form of a profile: of exp_under_products, the exponentials of the block's warps, line by line, that stand
    between the issue of products of the same warp and the wait for them."""
    lines = {}
    for runs in timeline["warps"]:
        committed = done = 0
        is_open = False  # products have been issued and not committed
        for kind, place, count, left, *_ in runs:
            if kind == "wgmma":
                is_open = True
            elif kind == "wgmma_commit":
                committed, is_open = committed + 1, False
            elif kind == "wgmma_wait":
                done = max(done, committed - left)
            elif f"{kind}{UNDER_PRODUCTS}" == counter and (is_open or done < committed):
                lines[place] = lines.get(place, 0) + count
    return {"kernels": [{"lines": [{"file": timeline["places"][place][0], "line": timeline["places"][place][1], counter: count}
                                   for place, count in lines.items()]}]}


def counted(profile, counter, first, last, own=".cu"):
    """{line: count} of the program's own lines, or of a header's; a counter may be a sum: shared_ld_conflicts + shared_st_conflicts. What
    functions of the C++ library do, such as std::max of two elements, counts as the first line's."""
    found = {}
    for kernel in profile["kernels"]:
        for counts in kernel["lines"]:
            line = first if "/c++/" in counts["file"] else counts["line"]
            if first <= line <= last and counts["file"].endswith(own) or "/c++/" in counts["file"]:
                count = sum(counts[name.strip()] for name in counter.split("+"))
                found[line] = found.get(line, 0) + count
    return found


def count_of(exercise, profile, wanted, text):
    """(what a [[count]] comes to, {the file's own line: what it has of it}). Where it has a `per`, both are averages for each of these.
    profile: what stands in record_of(wanted)."""
    header = wanted.get("in") if exercises.is_header(wanted.get("in")) else None
    lines = (1, sys.maxsize, header) if header else lines_of(exercise, text, wanted.get("in"))
    if record_of(wanted) == "SIMT_TIMELINE":
        profile = under_products(profile, wanted["counter"])
    found = counted(profile, wanted["counter"], *lines)
    total, each = sum(found.values()), found
    if "per" in wanted:
        times = counted(profile, wanted["per"], *lines)
        total, each = total / max(sum(times.values()), 1), {line: found[line] / times[line] for line in found if times[line]}
    return total, {} if header else each


def limit_of(wanted):
    """(a [[count]]'s limit in words: at most 512, and whether a count keeps it, as a function)."""
    name = next(name for name in LIMITS if name in wanted)
    words, keeps = LIMITS[name]
    return f"{words} {wanted[name]:,}".strip(), lambda count: keeps(count, wanted[name])


def counting(program, exercise):
    """count(arguments, record): the completed process of a case, and what it recorded. Several [[count]]s of one case have the same run."""
    @functools.cache
    def count(arguments, record):
        with tempfile.TemporaryDirectory(prefix="learn-") as folder:
            counts = Path(folder, "counts.json")
            done = execute(program, exercise, arguments, counts, record)
            return done, run.last_json(counts)

    return count


def enough(program, exercise, text, wanted, count):
    """The finding on one [[count]]. count: see counting()."""
    asked, holds = limit_of(wanted)
    unit, arguments = wanted["unit"], wanted.get("arguments", "")
    limited = f"no {unit}" if wanted.get("most") == 0 else f"{asked} {unit}"
    requirement = f"{wanted.get('requirement', 'There are ' + limited).rstrip('.')} (at {shape_words(arguments)})."
    done, profile = count(arguments, record_of(wanted))
    if done is None or done.returncode or profile is None:
        return failure(program, exercise, requirement, arguments, done)
    total, found = count_of(exercise, profile, wanted, text)
    if holds(total):
        return Finding(True, requirement)
    said = f"{total:,.0f} {unit}, {asked} wanted.".replace(", at most 0 ", ", 0 ")
    if total and found:
        mine = [line for name in exercise.regions for line in range(*lines_of(exercise, text, name)) if found.get(line)]
        worst = min(found, key=found.get) if "per" in wanted else max(mine or found, key=found.get)
        said += f" {place(exercise, worst)} has {found[worst]:,.0f}: {text.splitlines()[worst - 1].strip()}"
    return Finding(False, requirement, "\n".join([said, *filter(None, [wanted.get("if_wrong")])]))


# ---- break it ----

def broken(program, exercise, wanted):
    """The finding on a program that is to be reported: the report is shown, for the questions are about it."""
    requirement = f"The emulator reports: {wanted['kind']} (at {shape_words(wanted['arguments'])})."
    done = execute(program, exercise, wanted["arguments"])
    report = REPORT.search(done.stdout) if done else None
    if report and report["kind"] == wanted["kind"]:
        return Finding(True, requirement, report[0].strip().removeprefix("simt: "))
    if done and done.returncode == 0:
        return Finding(False, requirement, "Nothing is wrong with this program: the result is right, and nothing was reported.")
    return Finding(False, requirement, f"It says something else:\n{complaint(done)}")


def measured(exercise, question, typed):
    """The finding on one [[question]] that a number answers."""
    requirement = question["ask"]
    if not typed:
        return Finding(False, requirement, f"The line `// answer {question['name']}:` has no answer yet.")
    try:
        mine = quantities.parse(typed, question["unit"])
    except ValueError as why:
        return Finding(False, requirement, str(why))

    def is_about(expression):
        return quantities.judge(mine, exercise.value(expression), question.get("within", 0))[0]

    if is_about(question["actual"]):
        return Finding(True, requirement)
    mistaken = next((mistake["says"] for mistake in question.get("mistake", []) if is_about(mistake["actual"])), question["if_wrong"])
    return Finding(False, requirement, mistaken)


def answered(exercise, text, question):
    """The finding on one [[question]], answered in a line `// answer NAME: …` between the marks."""
    said = {found["name"]: found["said"] for found in ANSWER.finditer("".join(exercise.between(text).values()))}
    if "actual" in question:
        return measured(exercise, question, said.get(question["name"], ""))
    mine = said.get(question["name"], "").lower().strip(" .")
    answers, requirement = [str(answer).lower() for answer in question["answers"]], question["ask"]
    if not mine:
        return Finding(False, requirement, f"The line `// answer {question['name']}:` has no answer yet.")
    if mine in answers or (chosen := LETTER.match(mine)) and chosen[1] in answers:
        return Finding(True, requirement)
    if any(re.fullmatch("[a-z]", answer) for answer in answers) and not LETTER.match(mine):
        return Finding(False, requirement, f"'{mine}' is not one of the letters offered: write the letter behind the colon.")
    return Finding(False, requirement, question.get("if_wrong", "") or f"'{mine}' is not it. Read the report once more.")


# ---- on a GPU ----

def fast(exercise, path):
    """The finding on the time against the step's own program, where a GPU can run both; else None."""
    least = exercise.data.get("gpu_speed")
    if not least or machine.choose(exercise.step)[0] != "cuda":
        return None
    build.build("cuda", exercise.step["name"])
    output = BUILD / "exercises" / exercise.step["name"] / f"{exercise.name}.cuda"
    output.parent.mkdir(parents=True, exist_ok=True)
    # -arch=native of a GPU with 9.0 is sm_90, which has no wgmma.
    arch = "-gencode=arch=compute_90a,code=sm_90a" if exercise.step["arch"] == "90a" else "-arch=native"
    done = subprocess.run([machine.nvcc(), "-O3", arch, *flags(exercise), "-o", output, path,
                           *sorted((ROOT / "common").glob("*.c"))], capture_output=True, text=True)
    requirement = f"On the GPU it is at least {least} × as fast as the step's own program."
    if done.returncode:
        return Finding(False, requirement, f"nvcc: {done.stderr.strip()}")
    milliseconds = []
    lines = output.with_suffix(".jsonl")
    for each in (output, steps.program(exercise.step, "cuda")):
        lines.unlink(missing_ok=True)
        with state.locked(BUILD / "cuda"):  # nothing else of this clone is timed meanwhile
            timed = subprocess.run([each, "--json", lines, *exercise.words("")],
                                   capture_output=True, text=True, errors="replace")
        case = run.last_json(lines)
        if timed.returncode or not case:
            return Finding(False, requirement, (timed.stdout + timed.stderr).strip())
        milliseconds.append(case["time"]["median_ms"])
    mine, steps_own = milliseconds
    said = f"Yours takes {mine:.3g} ms, the step's {steps_own:.3g} ms: {steps_own / mine:.2f} ×."
    return Finding(True, f"{requirement} {said}") if steps_own / mine >= least else Finding(False, requirement, said)


def judge(exercise, path=None, compile_file=compile_file):
    """Yields findings, up to the first that does not hold. path: the reader's file, or another in its place."""
    path = path or exercise.file
    text = exercise.present(exercises.read(path))
    if finding := unwritten(exercise, text):
        yield finding
        return
    for finding in findings(exercise, path, text, compile_file):
        yield finding
        if not finding.holds:
            return


def findings(exercise, path, text, compile_file):
    """All that an exercise asks for, in order, each looked at when it is asked for."""
    if exercise.asks_for_program:
        program, done = compile_file(exercise, path)
        yield compiles(done)
    if "report" in exercise.data:
        yield broken(program, exercise, exercise.data["report"])
    for case in exercise.data.get("check", []):
        yield right(program, exercise, case)
    if "count" in exercise.data:
        count = counting(program, exercise)
        for wanted in exercise.data["count"]:
            yield enough(program, exercise, text, wanted, count)
    for question in exercise.questions:
        yield answered(exercise, text, question)
    if finding := fast(exercise, path):
        yield finding

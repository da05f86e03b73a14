"""What the notebooks share: run a step as ./learn does, predict, compare, count, edit, draw.

Steps run as subprocesses, on the GPU where there is one and otherwise on the emulator, which counts and never times.
Times come from this machine's GPU, or else from the steps' results.jsonl, as recorded on an H200; each picture says which.
Whatever a compiler or a program complains of appears in the cell."""
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from IPython.display import SVG, Image, Markdown, display

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from plots import style  # noqa: E402
from tools import build, device, emulate, exercises, floors, machine, results, steps  # noqa: E402
from tools import run as programs  # noqa: E402

# As for a pipe, though the kernel asks for colours and progress bars.
COLOURS = "FORCE_COLOR", "CLICOLOR_FORCE"
PLAIN = {name: value for name, value in os.environ.items() if name not in COLOURS} | {"COLUMNS": "110"}


def said(command, folder=ROOT):
    """Run a command. Returns whether it went well and what it said, errors too."""
    done = subprocess.run([str(word) for word in command], cwd=folder, env=PLAIN, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode == 0, done.stdout


def say(command, folder=ROOT):
    """Run a command and show what it says. Returns whether it went well."""
    well, words = said(command, folder)
    print(words, end="")
    return well


def of_learn(words):
    return [sys.executable, ROOT / "tools/__main__.py", *words]


def learn(*words, folder=ROOT):
    """./learn in a cell: learn("run", "04", "-m", 100)."""
    say(of_learn(words), folder)


def output(*words, folder=ROOT):
    """What ./learn prints, as text; where it failed, that is shown and there is none."""
    well, printed = said(of_learn(words), folder)
    if not well:
        print(printed, end="")
    return printed if well else ""


def where():
    """Say what this notebook can do on this machine."""
    device, why_not = machine.gpu()
    print(f"Steps run on the GPU: {device['name']}." if device and machine.nvcc() else
          f"Steps run on the emulator: {why_not or 'there is no nvcc'}. Times are those recorded on an NVIDIA H200.")


# ---- a program of the reader's ----

def compile_and_run(text, *flags, run=learn):
    """Compile a CUDA program given as text for the emulator, all checks on, and run it. run=output returns what it prints."""
    with tempfile.TemporaryDirectory(prefix="learn-") as place:
        Path(place, "yours.cu").write_text(text)
        return run("emulate", "yours.cu", *flags, folder=place)


def edited(step, before, after, *arguments):
    """Run a step with one piece of its source replaced; the file stays as it is. Returns the counters, None if it failed."""
    step = steps.find(step)
    source = steps.source(step).read_text()
    if source.count(before) != 1:
        return print(f"{steps.source(step).name} has {source.count(before)} places that read: {before}")
    build.build("cpu", step["name"])
    with tempfile.TemporaryDirectory(prefix="learn-") as place:
        name, program, counts = steps.source(step).name, Path(place, "program"), Path(place, "counts.json")
        Path(place, name).write_text(source.replace(before, after))
        compiled = emulate.compile_program([name], program, ["-I", ROOT / "common"], [programs.BUILD / "cpu/common/libcommon.a"],
                                           cwd=place, stderr=subprocess.PIPE)
        if compiled.returncode:
            return print(compiled.stderr)
        done = subprocess.run([program, "--profile", *map(str, arguments)], env=PLAIN | {"SIMT_PROFILE_JSON": str(counts)},
                              cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if done.returncode:
            return print(done.stdout)
        return programs.total(json.loads(counts.read_text()))


# ---- exercises ----

def exercise(reference):
    """Write an exercise, "04.1", and show what is asked, with a link that opens the file."""
    learn("exercise", reference)
    step, chosen = exercises.find(reference)
    for one in [chosen] if chosen else exercises.load(step):
        display(Markdown(f"[{one.file.relative_to(ROOT)}](../{one.file.relative_to(ROOT)})"))


def check(reference):
    """Judge what stands in the file of an exercise; save it first."""
    learn("check", reference)


# ---- predictions ----

predictions = {}  # question → (number, unit); no number where none was made


def predict(question, number, unit=""):
    """Write a prediction down: a number in place of the three dots. Do it before running the next cell."""
    made = isinstance(number, (int, float))
    predictions[question] = (number if made else None, unit)
    print(f"predicted: {question}: {number} {unit}" if made else f"no prediction yet: {question}: write a number in place of ...")


def compare(question, measured, source, exact=False):
    """Hold a measurement, and where it comes from, against the prediction. exact: no other number is nearly right, as of a lane."""
    number, unit = predictions.get(question, (None, ""))
    if measured is None:
        return print(f"{question}: not measured yet")
    text = f"{question}: **{f'{in_digits(measured)} {unit}'.strip()}** ({source}). "
    if number is None:
        text += "You made no prediction."
    elif number == measured:
        text += f"You said {number}: exactly."
    elif exact or number * measured <= 0:
        text += f"You said {number}."
    else:
        off = max(measured / number, number / measured)
        text += f"You said {number}: " + ("right, within a tenth." if off <= 1.1 else f"off by a factor of {off:.2g}.")
    display(Markdown(text))


def in_digits(figure):
    return f"{figure:,}" if isinstance(figure, int) else floors.three_digits(figure)


# ---- times ----

def here(*names):
    """The steps of that name that this clone has; those that it lacks are named."""
    every = steps.load()
    found = {name: step for name in names for step in every if name in (step["number"], step["name"], steps.short(step))}
    missing = [name for name in names if name not in found]
    if missing:
        print(f"This clone has no step {', '.join(missing)}.")
    return list(found.values())


def times(*names):
    """The timed lines of steps at the shape of their lesson, ours and the peers': of this machine's GPU, or as recorded on an H200."""
    found = []
    for step in here(*names):
        backend, _ = machine.choose(step)
        if backend == "cuda":
            build.build("cuda", step["name"])
            with tempfile.TemporaryDirectory(prefix="learn-") as place:
                lines = Path(place, "lines.jsonl")
                if say([steps.program(step, "cuda"), "--all-variants", "--json", lines, *results.headline_flags(step)]):
                    found += [json.loads(text) for text in lines.read_text().splitlines()]
        else:
            found += results.of_variants(step)
            found += results.peer_records(steps.kind(step), results.headline(step)).values()
    found = {(line["step"], line["variant"], line.get("peer")): line for line in found if line["time"]}  # a peer once
    return list(found.values())


def source_of(lines):
    return f"measured on this {lines[0]['device']}" if lines and machine.gpu()[0] else "recorded on an NVIDIA H200"


def fastest(lines, step, variant=None):
    """The fastest line of a step, or of one of its variants; None where it was not timed."""
    return results.fastest(line for line in lines if not line.get("peer") and line["step"].startswith(f"{step}_")
                           and variant in (None, line["variant"]))


def fastest_peer(lines, name):
    """The fastest of the peers whose name begins so."""
    return results.fastest(line for line in lines if (line.get("peer") or "").startswith(name))


def faster(line, other):
    """How many times faster a line is than another; None where either is missing, or where their shapes differ."""
    if not line or not other or line["shape"] != other["shape"]:
        return None
    return other["time"]["median_ms"] / line["time"]["median_ms"]


# ---- pictures ----

def show(figure):
    """Put a figure into the cell."""
    kept = io.BytesIO()
    figure.savefig(kept, dpi=110, bbox_inches="tight")
    style.pyplot().close(figure)
    display(Image(kept.getvalue()))


def picture(name):
    """One of plots/, drawn from today's results."""
    from importlib import import_module
    with tempfile.TemporaryDirectory() as place:
        paths = import_module(f"plots.{name}").write(Path(place))
        return display(SVG(Path(place, f"{name}.svg").read_text())) if paths else print(f"{name}: nothing is recorded yet")


def bars(title, values, unit, marked=()):
    """{name: number} as bars; those marked, or all if none is, are dark."""
    if not values:
        return print(f"{title}: nothing is recorded yet")
    figure, axes = style.pyplot().subplots(figsize=(8, 0.6 + 0.34 * len(values)))
    most = max(values.values()) or 1
    for place, (name, value) in enumerate(values.items()):
        shade = style.PEER if name.startswith("peer ") else style.BLUES[2 if name in marked or not marked else 0]
        axes.barh(place, value, color=shade, height=0.7)
        axes.text(value + most / 100, place, f"{value:,.0f}" if value >= 100 else in_digits(value), va="center",
                  fontsize=9, color=style.INK)
    axes.set_yticks(range(len(values)), [name.removeprefix("peer ") for name in values])
    axes.invert_yaxis()
    axes.set(xlim=(0, most * 1.12), xlabel=unit)
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color=style.INK)
    style.plain(axes, "x")
    show(figure)


def speeds(lines):
    """Timed lines as bars: TFLOPS, or GB/s for what moves bytes and computes little."""
    if not lines:
        return print("Nothing is recorded yet.")
    gigabytes = results.rate(lines[0]).endswith("GB/s")
    name = lambda line: f"peer {line['peer'].split(' (')[0]}" if line.get("peer") else f"{line['step'][:2]} {line['variant']}"
    ours_first = sorted(lines, key=lambda line: bool(line.get("peer")))
    bars(f"{lines[0]['operation']} {programs.shape_words(lines[0]['shape'])}, {source_of(lines)}",
         {name(line): line["gbps" if gigabytes else "tflops"] for line in ours_first}, "GB/s" if gigabytes else "TFLOPS")


def launches(step):
    """The kernels that the first variant of a step launches at its default shape, as the emulator saw them: grid, block, counts."""
    for step in here(step):
        build.build("cpu", step["name"])
        return programs.counted(step, steps.variants(step)[0])["profile"]["kernels"]
    return []


def counters(*names):
    """{variant: what the emulator counts of it at its default shape}; of several steps {number variant: …}."""
    found = {}
    for step in here(*names):
        build.build("cpu", step["name"])
        for variant in steps.variants(step):
            name = variant if len(names) == 1 else f"{step['number']} {variant}"
            found[name] = programs.total(programs.counted(step, variant)["profile"])
    return found


UNITS = {"shared": ("s", style.BLUES[3]), "L1": ("^", "#3f8f6b"), "LSU": ("o", "#7a5aa6")}
SAME = {"fp32": (style.PEER, "-"), "DRAM": (style.FAINT, (0, (4, 2)))}


def floor_chart(*names):
    """One chart of the least time that each unit needs: a row a variant, a mark a unit, and what is the same for all as lines."""
    rows = {}
    for step in here(*names):
        build.build("cpu", step["name"])
        for variant in steps.variants(step):
            done = programs.counted(step, variant)
            case, model = done["case"], done["profile"]["gpu"]
            counts = floors.executed(programs.total(done["profile"]), results.hardware(step, variant, case["shape"]))
            rows[f"{step['number']} {variant or ''}"] = floors.units(counts, case["flops"], case["bytes"], device.rates(model))
    if not rows:
        return
    figure, axes = style.pyplot().subplots(figsize=(8, 1.2 + 0.36 * len(rows)))
    for place, seconds in enumerate(rows.values()):
        binding = max(seconds.values())
        axes.plot([min(filter(None, seconds.values())) * 1e9, binding * 1e9], [place, place], color=style.RULE, linewidth=1.5, zorder=1)
        for unit, (mark, colour) in UNITS.items():
            if seconds[unit]:
                axes.plot(seconds[unit] * 1e9, place, mark, color=colour, zorder=3, markersize=10 if seconds[unit] == binding else 6,
                          label=unit if place == len(rows) - 1 else None)
    for unit, (colour, line) in SAME.items():
        axes.axvline(1e9 * next(iter(rows.values()))[unit], color=colour, linestyle=line, linewidth=1.3, zorder=2,
                     label=f"{unit}, the same for all")
    axes.set_yticks(range(len(rows)), rows)
    axes.set(xscale="log", xlabel="nanoseconds, at least; what is furthest to the right, mark or line, binds", ylim=(len(rows) - 0.5, -0.5))
    low, high = axes.get_xlim()
    ticks = [digit * 10.0 ** power for power in range(-1, 7) for digit in (1, 2, 5) if low <= digit * 10.0 ** power <= high]
    axes.set_xticks(ticks, [f"{tick:,g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_title(f"Each unit's floor at {programs.shape_words(case['shape'])} on an {model['title']}, by arithmetic", loc="left",
                   fontsize=11, fontweight="bold", color=style.INK)
    style.plain(axes, "x")
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
    show(figure)


def against(step, key, value, title, unit):
    """A sweep of the recorded lines: value(line) against shape[key], one curve a variant or peer."""
    lines = [line for found in here(step) for line in steps.recorded(found) if line.get("time") and key in line["shape"]]
    rest = lambda line: json.dumps({name: size for name, size in line["shape"].items() if name != key})
    groups = {}
    for line in lines:
        groups.setdefault(rest(line), []).append(line)
    widest = max(groups.values(), key=lambda group: len({line["shape"][key] for line in group}), default=[])
    if not widest:
        return print(f"{title}: nothing is recorded yet")
    figure, axes = style.pyplot().subplots(figsize=(8, 4))
    for name in dict.fromkeys(line.get("peer") or line["variant"] for line in widest):
        mine = sorted((line["shape"][key], value(line)) for line in widest
                      if (line.get("peer") or line["variant"]) == name and value(line))
        axes.plot(*zip(*mine), "o-", label=name.split(" (")[0], markersize=4) if mine else None
    sizes = sorted({line["shape"][key] for line in widest})
    axes.set(yscale="log", xlabel=key, ylabel=unit)
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes.set_title(f"{title}, recorded on an NVIDIA H200", loc="left", fontsize=11, fontweight="bold", color=style.INK)
    axes.legend(frameon=False, fontsize=9)
    style.plain(axes, "both")
    show(figure)

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
from tools import build, emulate, floors, machine, results, steps  # noqa: E402
from tools import run as programs  # noqa: E402

# As for a pipe, though the kernel asks for colours and progress bars.
COLOURS = "FORCE_COLOR", "CLICOLOR_FORCE"
PLAIN = {name: value for name, value in os.environ.items() if name not in COLOURS} | {"COLUMNS": "110"}


def say(command, folder=ROOT):
    """Run a command and show what it says, errors too. Returns whether it went well."""
    done = subprocess.run([str(word) for word in command], cwd=folder, env=PLAIN, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(done.stdout, end="")
    return done.returncode == 0


def learn(*words, folder=ROOT):
    """./learn in a cell: learn("run", "04", "-m", 100)."""
    say([sys.executable, ROOT / "tools/__main__.py", *words], folder)


def where():
    """Say what this notebook can do on this machine."""
    device, why_not = machine.gpu()
    print(f"Steps run on the GPU: {device['name']}." if device and machine.nvcc() else
          f"Steps run on the emulator: {why_not or 'there is no nvcc'}. Times are those recorded on an NVIDIA H200.")


# ---- a program of the reader's ----

def compile_and_run(text, *flags):
    """Compile a CUDA program given as text for the emulator, all checks on, and run it."""
    with tempfile.TemporaryDirectory(prefix="learn-") as place:
        Path(place, "yours.cu").write_text(text)
        learn("emulate", "yours.cu", *flags, folder=place)


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
        options = {"cwd": place, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
        built = programs.BUILD / "cpu"
        done = subprocess.run([emulate.SIMTCC, "--simt-build", built, "-I", ROOT / "common", "-o", program, name,
                               built / "common/libcommon.a"], env=build.environment(), **options)
        if done.returncode == 0:
            done = subprocess.run([program, "--profile", *map(str, arguments)], env=PLAIN | {"SIMT_PROFILE_JSON": str(counts)},
                                  **options)
        if done.returncode:
            return print(done.stdout)
        return programs.total(json.loads(counts.read_text()))


# ---- predictions ----

predictions = {}  # question → (number, unit)


def predict(question, number, unit=""):
    """Write a prediction down. Do it before running the next cell."""
    predictions[question] = (number, unit)
    print(f"predicted: {question}: {number} {unit}")


def compare(question, measured, source):
    """Hold a measurement, and where it comes from, against the prediction."""
    number, unit = predictions.get(question, (None, ""))
    if measured is None:
        return print(f"{question}: not measured yet")
    text = f"{question}: **{floors.three_digits(measured)} {unit}** ({source})"
    if number:
        ratio = max(measured / number, number / measured)
        text += f". You said {number}: " + ("right, within a tenth." if ratio <= 1.1 else f"off by a factor of {ratio:.2g}.")
    display(Markdown(text))


# ---- times ----

def times(*names):
    """The timed lines of steps, ours and the peers': of this machine's GPU, or as recorded on an H200."""
    found = []
    for step in map(steps.find, names):
        backend, _ = machine.choose(step)
        if backend == "cuda":
            build.build("cuda", step["name"])
            with tempfile.TemporaryDirectory(prefix="learn-") as place:
                lines = Path(place, "lines.jsonl")
                if say([steps.program(step, "cuda"), "--all-variants", "--json", lines]):
                    found += [json.loads(text) for text in lines.read_text().splitlines()]
        else:
            found += filter(None, (results.ours(step, variant) for variant in steps.variants(step)))
            found += results.peers(step).values()
    return [line for line in found if line["time"]]


def source_of(lines):
    return f"measured on this {lines[0]['device']}" if lines and machine.gpu()[0] else "recorded on an NVIDIA H200"


def milliseconds(lines, step, variant):
    """The median of one variant, or None."""
    number = steps.find(step)["name"]
    return next((line["time"]["median_ms"] for line in lines
                 if (line["step"], line["variant"]) == (number, variant) and not line.get("peer")), None)


def ratio(lines, slow, fast):
    """How many times faster, of two (step, variant); None where either was not timed."""
    pair = milliseconds(lines, *slow), milliseconds(lines, *fast)
    return pair[0] / pair[1] if all(pair) else None


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
        axes.text(value + most / 100, place, f"{value:,.0f}" if value >= 100 else floors.three_digits(value), va="center",
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


def counters(step):
    """{variant: what the emulator counts of it at its default shape}."""
    step = steps.find(step)
    build.build("cpu", step["name"])
    return {variant: programs.total(programs.counted(step, variant)["profile"]) for variant in steps.variants(step)}


def unit_floors(step, gpu="h200"):
    """The time each unit of a GPU needs for what the emulator counted: the longest one, dark, binds."""
    step = steps.find(step)
    build.build("cpu", step["name"])
    found, binding = {}, set()
    for variant in steps.variants(step):
        done = programs.case(step, variant, "cpu", gpu)
        case, model = done["case"], done["profile"]["gpu"]
        counted = programs.total(done["profile"]), case["flops"], case["bytes"], model
        found |= {f"{variant}: {unit}": 1e6 * seconds for unit, seconds in floors.units(*counted).items()}
        binding.add(f"{variant}: {floors.binding(*counted)[0]}")
    bars(f"{step['name']}, {programs.shape_words(case['shape'])}: floors on an {model['title']}, by arithmetic", found,
         "µs, at least", binding)


def against(step, key, value, title, unit):
    """A sweep of the recorded lines: value(line) against shape[key], one curve a variant or peer."""
    lines = [line for line in steps.recorded(steps.find(step)) if line.get("time") and key in line["shape"]]
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
    axes.set(xscale="log", yscale="log", xlabel=key, ylabel=unit)
    axes.set_title(f"{title}, recorded on an NVIDIA H200", loc="left", fontsize=11, fontweight="bold", color=style.INK)
    axes.legend(frameon=False, fontsize=9)
    style.plain(axes, "both")
    show(figure)

"""The ladder as tables, one for each operation and element type: what the emulator counted, or what a GPU timed. The line above a table names
the shape of all its figures; where they differ in it, as those of `machine` do, each row names its own."""
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from tools import device, floors, results, run, steps

OWN_SHAPES = "each at a shape of its own"
SILENT = {"", "–", "0"}  # a column in which no row says more is left out
COUNTS = "step", "shape", "error/bound", "sectors", "shared", "conflicts", "atomics", "floor"
TIMES = "step", "shape", "error/bound", "time", "rate", "published", "as fast as"
MEANING = {"error/bound": "The bound is the largest error that is accepted: above 100 % the result is wrong.",
           "sectors": "Loads and stores touched this many pieces of 32 bytes of global memory.",
           "shared": "Warps made this many requests to shared memory.",
           "conflicts": "Conflicts of its banks cost those requests this many passes more.",
           "atomics": "Warps made this many atomic requests. The floor leaves out that additions to one address wait for one "
                      "another.",
           "floor": "The unit named needs at least this time on an {gpu}, by arithmetic, at the rate that step machine reached where it "
                    "measured one. LSU is the load/store unit.",
           "time": "This is the median time of a launch.",
           "published": "The rate is this share of what is published of the DRAM or of the units for the inputs' type, fp32 units or "
                        "tensor cores.",
           "as fast as": "A figure of 1.51 × step 03 means 1.51 times as fast as the fastest variant of step 03."}


def legend(head, gpu=""):
    """What the columns of a table's head mean, a sentence each."""
    made = Table.grid(padding=(0, 2))
    made.add_column(no_wrap=True, style="dim")
    made.add_column(style="dim")
    for name in head:
        if name in MEANING:
            made.add_row(name, MEANING[name].format(gpu=gpu))
    return made


def table(title, head, rows):
    """A table under its title. Where it is too wide, names and shapes go on in a second line, after a space."""
    kept = [place for place in range(len(head)) if place == 0 or any(row[place] not in SILENT for row in rows)]
    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim",
                 border_style="dim")
    for place in kept:
        words = head[place] in ("step", "shape")
        made.add_column(head[place], no_wrap=not words, justify="left" if words else "right")
    for row in rows:
        made.add_row(*(row[place] for place in kept))
    return Group(Text(title, style="bold"), made)


def by_kind(runs):
    """{(operation, element type): its runs}, in the order of the steps. runs: (step, what run.case gave)."""
    groups = {}
    for step, done in runs:
        groups.setdefault(steps.kind(step), []).append((step, done))
    return groups


def by_shape(runs):
    """The runs of one operation and element type, those together whose steps' figures are of one shape."""
    groups = {}
    for step, done in runs:
        groups.setdefault(tuple(results.headline(step).items()), []).append((step, done))
    return list(groups.values())


def ideas(group):
    """The steps of an operation, each with its one idea."""
    made = Table.grid(padding=(0, 2))
    made.add_column(no_wrap=True, style="bold cyan")
    made.add_column()
    for step in {step["name"]: step for step in group}.values():
        made.add_row(steps.title(step), step["idea"])
    return made


def named(step, variant):
    """04 padded; a variant of a step that has no number is called by its name alone, a step of one form by its own."""
    return f"{step['number']} {variant}".strip() if variant else steps.title(step)


def row_shape(case):
    """The words for a row's shape. Little's law's is shortened, so that its table fits into 80 columns."""
    shape = case["shape"]
    if "warps" in shape:
        return f"{shape['warps']} warps, {shape['loads']} × {shape['bytes']} B"
    return run.shape_words(shape)


def titled(step, cases, how):
    """(the title of a table of one operation's cases, the words for a row's shape: empty where the title names it)."""
    name = step["operation"] if step["number"] else step["name"]
    shapes = dict.fromkeys(run.shape_words(case["shape"]) for case in cases)
    dtypes = dict.fromkeys(case["dtype"] for case in cases)
    if len(shapes) > 1:
        return f"{', '.join([name, *dtypes, OWN_SHAPES])}: {how}", row_shape
    return f"{', '.join([name, *shapes, *dtypes])}: {how}", lambda case: ""


def of_its_bound(check):
    """exact, or the error as a share of the largest that is accepted."""
    if not check:
        return "–"
    share = 100 * check["error"] / check["bound"] if check["error"] else 0
    return "exact" if not share else f"{share:.0f} %" if share >= 1 else "< 1 %"


def verdict(done):
    if done["status"] == 77:
        return "skipped"
    if done["status"] or not (done["case"] and done["case"]["check"]):
        return f"[bold red]{'WRONG' if done['status'] == 1 else 'failed'}[/]"
    return f"[green]{of_its_bound(done['case']['check'])}[/]"


def counts_of(step, done):
    """The cells of what the emulator counted, and the floor that follows."""
    if not (done["profile"] and done["case"]):
        return ["–"] * 5
    counts, case, gpu = run.total(done["profile"]), done["case"], done["profile"]["gpu"]
    ncu = results.hardware(step, done["variant"], case["shape"]) if gpu["name"] == "h200" else None
    unit, seconds = floors.binding(floors.executed(counts, ncu), case["flops"], case["bytes"], device.rates(gpu))
    found = [floors.total(counts, *what) for what in (("global", "sectors"), ("shared", "requests"), ("shared", "conflicts"))]
    return [*(f"{count:,}" for count in (*found, counts["atomics"])), f"{floors.duration(seconds)}, {unit}"]


def of_runs(group, how, head, cells):
    """The table of one operation's runs; cells(step, what run.case gave) are what follows a run's name, shape and verdict."""
    title, shape = titled(group[0][0], [done["case"] for _, done in group if done["case"]], how)
    return table(title, head, [(named(step, done["variant"]), shape(done["case"]) if done["case"] else "", verdict(done),
                                *cells(step, done)) for step, done in group])


def counted(group):
    """What the emulator counted of one operation's runs."""
    return of_runs(group, "counted by the emulator", COUNTS, counts_of)


def says_a_rate(line):
    """A latency, say, is neither operations nor bytes a second."""
    return (line["tflops"] or 0) >= 0.01 or (line["gbps"] or 0) >= 1


def times_of(line, before):
    """The cells of a measurement; before: (what it is compared with, its milliseconds), or None."""
    if not (line and line["time"]):
        return ["–"] * 4
    time, rated = line["time"]["median_ms"], says_a_rate(line)
    return [floors.duration(time / 1e3), results.rate(line) if rated else "–",
            f"{100 * line['of_floor']:.0f} %" if rated and line.get("of_floor") else "–",
            f"{before[1] / time:.2f} × {before[0]}" if before else "–"]


def fastest_before(step, lines):
    """(reference, milliseconds) of the fastest line of the step that this one comes from, if it is of the same operation."""
    origin = steps.origin(step)
    times = [line["time"]["median_ms"] for other, line in lines if origin and other["name"] == origin["name"] and line["time"]]
    return (steps.reference(origin), min(times)) if times else None


def timed(group, how):
    """What a GPU timed of one operation's runs."""
    lines = [(step, done["case"]) for step, done in group if done["case"]]
    return of_runs(group, how, TIMES, lambda step, done: times_of(done["case"], fastest_before(step, lines)))


def recorded(group):
    """What was measured earlier on an H200 of steps whose figures are of one shape, and of their peers; None where nothing was.
    `machine` measures other things than a rate: it has a table of its own kind."""
    how = "recorded on an NVIDIA H200"
    if group[0]["operation"] == "device":
        rows = [(named(step, variant), *cells) for step in group for variant, *cells in device.short_table(step)]
        head = "step", "shape", "measured", "of the published"
        return table(f"{group[0]['name']}, {OWN_SHAPES}: {how}", head, rows) if rows else None
    lines = [(step, line) for step in group for line in results.of_variants(step)]
    peers = results.peer_records(steps.kind(group[0]), results.headline(group[0]))
    if not lines:
        return None
    title, _ = titled(group[0], [line for _, line in lines] + list(peers.values()), how)
    rows = [(named(step, line["variant"]), *times_of(line, fastest_before(step, lines))) for step, line in lines]
    rows += [(name.split(" (")[0], *times_of(line, None)) for name, line in peers.items()]
    return table(title, ("step", *TIMES[-4:]), rows)

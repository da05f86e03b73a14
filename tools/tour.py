"""The tour: build the steps, run every variant once, show a table of what they did, draw the ladder, and name the next step to take."""
from tools import build, ladder, machine, results, run, steps
from tools.progress import next_words
from tools.say import err, out, progress

FIRST = "matmul"  # the operation whose table a visitor is shown; --all shows those of all


def where(every, forced):
    """[(backend, why, its steps)], the GPU first."""
    groups = {}
    for step in every:
        groups.setdefault(machine.choose(step, forced), []).append(step)
    return sorted(((backend, why, group) for (backend, why), group in groups.items()), reverse=True)


def run_all(group, backend, gpu):
    """[(step, what run.case gave)]. A step whose figures are of a shape of its own, such as a causal one, runs at such a shape."""
    todo = [(step, variant) for step in group for variant in steps.variants(step)]
    runs = []
    with progress("run") as update:
        for step, variant in todo:
            update(len(runs), len(todo), f"{step['name']} {variant or ''}")
            runs.append((step, run.case(step, variant, backend, gpu, results.headline_flags(step))))
    return runs


def note(backend, why, everything):
    """What stands above the tables: where the steps ran and why."""
    if backend == "cuda":
        return f"Ran on the GPU: {why}."
    records = " What an NVIDIA H200 took is shown from records, at larger shapes: compare figures within one table." if everything else ""
    return f"Ran on the emulator: {why}. It counts; it does not time.{records}"


def gpu_of(runs):
    """The GPU that the emulator stands for."""
    return next((done["profile"]["gpu"]["title"] for _, done in runs if done.get("profile")), "GPU")


def key(backend, runs):
    """What stands below the tables: what their columns mean."""
    if backend == "cuda":
        return ladder.legend(ladder.TIMES)
    return ladder.legend(dict.fromkeys([*ladder.COUNTS, *ladder.TIMES]), gpu_of(runs))


def one_table(runs, backend):
    """The renderables of a visitor's one table, and of what its columns mean: that of the first operation's first element type."""
    groups = ladder.by_kind(runs)
    kind = next((kind for kind in groups if kind[0] == FIRST), next(iter(groups)))
    group = ladder.by_shape(groups[kind])[0]
    table = ladder.timed(group, "timed here") if backend == "cuda" else ladder.counted(group)
    yield table
    yield ladder.legend([column.header for column in table.renderables[1].columns], gpu_of(runs))


def tables(runs, backend):
    """The renderables of every operation and element type: its steps' ideas, what ran here and, without a GPU, what was recorded on one."""
    for group in ladder.by_kind(runs).values():
        yield ladder.ideas([step for step, _ in group])
        for alike in ladder.by_shape(group):
            if backend == "cuda":
                yield ladder.timed(alike, "timed here")
            else:
                yield ladder.counted(alike)
                yield from filter(None, [ladder.recorded(list({step["name"]: step for step, _ in alike}.values()))])


def faults(runs):
    """Show what the runs that did not end well said. Returns the exit status: 1 if a step was wrong."""
    for step, done in runs:
        if done["status"]:
            out.print(f"\n[bold]{step['name']} {done['variant'] or ''}[/] ended with status {done['status']}:")
            out.print(done["output"].strip(), markup=False)
    return int(any(done["status"] not in (0, 77) for _, done in runs))


def summary(runs):
    """How many results were right, in a sentence."""
    right = sum(done["status"] == 0 for _, done in runs)
    skipped = sum(done["status"] == 77 for _, done in runs)
    cannot = f"; {skipped} cannot run on this device" if skipped else ""
    return f"{right} of {len(runs)} variants gave the right result{cannot}."


def tour(gpu, forced, everything=False):
    """Every step is run; one table is shown, or everything. Returns the exit status: 1 if a step was wrong."""
    if not err.is_terminal:  # where no progress is drawn
        err.print("Building the emulator and the steps…")
    groups = where(steps.load(), forced)
    for backend, _, group in groups:
        build.build(backend, *(step["name"] for step in group))
    status = 0
    for place, (backend, why, group) in enumerate(groups):
        runs = run_all(group, backend, gpu)
        out.print(note(backend, why, everything))
        shown = [*tables(runs, backend), key(backend, runs)] if everything else [*one_table(runs, backend)] if place == 0 else []
        for part in shown:
            out.print()
            out.print(part)
        status |= faults(runs)
        out.print(f"\n{summary(runs)}")
    if not everything:
        out.print("The tables of all of them: ./learn tour --all")
    draw()
    out.print()
    out.print(next_words(), style="bold", markup=False, soft_wrap=True)
    return status


def draw():
    """Draw the ladder, if its figures have changed since it was drawn."""
    try:
        from plots import ladder as picture
    except ModuleNotFoundError as missing:
        err.print(f"The ladder was not drawn: this Python has no {missing.name}.")
        return
    if picture.stale():
        for path in picture.write():
            out.print(f"[dim]{path}[/]")

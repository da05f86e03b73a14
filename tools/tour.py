"""The tour: build, run every step and variant once, show the ladder, draw it."""
from tools import build, ladder, machine, results, run, steps
from tools.say import err, out, progress


def where(every, forced):
    """[(backend, why, its steps)], the GPU first."""
    groups = {}
    for step in every:
        groups.setdefault(machine.choose(step, forced), []).append(step)
    return sorted(((backend, why, group) for (backend, why), group in groups.items()), reverse=True)


def run_all(group, backend, gpu):
    """[(step, what run.case gave)]."""
    todo = [(step, variant) for step in group for variant in steps.variants(step)]
    runs = []
    with progress("run") as update:
        for step, variant in todo:
            update(len(runs), len(todo), f"{step['name']} {variant or ''}")
            runs.append((step, run.case(step, variant, backend, gpu)))
    return runs


def notes(backend, why, runs, gpu):
    """What stands above the table: where it ran and why, at which shape, and what the columns are."""
    cases = [done["case"] for _, done in runs if done["case"]]
    shapes = dict.fromkeys(f"{case['operation']} {run.shape_words(case['shape'])} {case['dtype']}" for case in cases)
    if backend == "cuda":
        return [f"Ran on the GPU: {why}. {'; '.join(shapes)}."]
    lines = [f"Ran on the emulator: {why}. It counts; it does not time.", f"Counted at {'; '.join(shapes)}."]
    profile = next((done["profile"] for _, done in runs if done["profile"]), None)
    if profile:
        lines.append("Floor: the least time that the busiest unit (fp32, shared memory, L1, LSU: the load/store unit, DRAM) "
                     f"needs for these counts, or for ncu's where they are recorded; {profile['gpu']['title']}, by arithmetic.")
    if any(results.best(step) for step, _ in runs):
        sizes = ", ".join(f"{name} {run.shape_words(shape)}" for name, shape in results.LADDER_SHAPE.items())
        lines.append(f"Recorded: measured earlier on an NVIDIA H200 at {sizes}; steps/*/results.jsonl.")
    return lines


def tour(gpu, forced):
    """Returns the exit status: 1 if a step was wrong."""
    every = steps.load()
    groups = where(every, forced)
    for backend, _, group in groups:
        build.build("cuda" if backend == "cuda" else "cpu")
    status = 0
    for backend, why, group in groups:
        runs = run_all(group, backend, gpu)
        out.print()
        for line in notes(backend, why, runs, gpu):
            out.print(line)
        out.print()
        out.print(ladder.render(runs, backend, gpu, out.width))
        for step, done in runs:
            if done["status"]:
                out.print(f"\n[bold]{step['name']} {done['variant'] or ''}[/] ended with status {done['status']}:")
                out.print(done["output"].strip(), markup=False)
            if done["status"] not in (0, 77):
                status = 1
    draw()
    return status


def draw():
    try:
        from plots import ladder as picture
    except ModuleNotFoundError as missing:
        err.print(f"The ladder was not drawn: this Python has no {missing.name}.")
        return
    for path in picture.write():
        out.print(f"[dim]{path}[/]")

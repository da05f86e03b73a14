"""Kernels side by side, in the sections of Nsight Compute: the compiler's report, what each GPU has room for, what ncu recorded."""
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import isnan, nan

from rich import box
from rich.table import Table

from tools import floors, machine, occupancy, ptxas, results, run, steps
from tools.guard import stop
from tools.lines import apart
from tools.say import err, out

MISSING = "not recorded"
RECORDED_ON = "h200"
ARCHITECTURES = sorted({gpu.arch for gpu in occupancy.GPUS.values()})


@dataclass
class Column:
    """A variant's kernel: what ncu recorded of it, what it counted, and {architecture: what the compiler reports}."""
    step: dict
    title: str
    kernel: dict
    ncu: dict
    compiled: dict

    def get(self, group, name):
        return (self.kernel.get(group) or {}).get(name)

    def reported(self, name, arch):
        return self.compiled.get(arch, {}).get(name)

    def of_launch(self, name, arch):
        """By the compiler's report; where that is not at hand, as ncu recorded it for one architecture. None without either."""
        by_ncu = self.get("launch", name) if arch == occupancy.GPUS[RECORDED_ON].arch else None
        reported = self.reported(name, arch)
        return by_ncu if reported is None else reported

    def shared(self, arch):
        """Bytes of a block, static and dynamic; None where they were not recorded."""
        parts = self.of_launch("shared_static", arch), self.get("launch", "shared_dynamic")
        return sum(parts) if None not in parts else None


# ---- which kernels ----

def counted(step):
    """What ncu recorded of a step on an H200, kernel by kernel."""
    return [line for line in steps.recorded(step) if line.get("kernels") and "H200" in line["device"]]


def to_record(chosen):
    names = dict.fromkeys(map(steps.called, chosen))
    return f"To record it, on a GPU: python3 bench/verify.py {' '.join(names)} --out FOLDER"


def parse(word):
    """(step, its lines) of 13, or those of one variant of 13:two_rows."""
    name, colon, variant = word.partition(":")
    step = steps.find(name)
    if step["operation"] == "device":
        stop(f"{step['name']} measures the GPU and times its own kernels: ncu counts nothing of it.")
    if colon:
        steps.require_variant(step, ["--variant", variant])
    return step, [line for line in counted(step) if not colon or line["variant"] == variant]


def common_shapes(found):
    """The shapes that ncu recorded all of them at."""
    first, *others = ([line["shape"] for line in lines] for _, lines in found)
    return [shape for place, shape in enumerate(first) if shape not in first[:place] and all(shape in other for other in others)]


def fitting(shapes, at):
    """Those whose words have all words of `at`."""
    return [shape for shape in shapes if set(at.replace(",", " ").split()) <= set(run.shape_words(shape).replace(",", "").split())]


def usual(found, fit):
    """[that of the last one's figures, else that of the plots], where it is among those that fit; else all of them."""
    step = found[-1][0]
    known = [shape for shape in (results.headline(step), results.LADDER_SHAPE[step["operation"]]) if shape in fit]
    return known[:1] or fit


def require_shape(found, at):
    """The one shape that fits; of several that of the plots."""
    shapes = common_shapes(found)
    fit = usual(found, fitting(shapes, at))
    if len(fit) != 1:
        what = f"{'Several' if fit else 'None'} of the shapes that ncu recorded all of these kernels at {f'fit {at!r}' if at else 'is named'}"
        stop(f"{what}. There are: {'; '.join(map(run.shape_words, shapes)) or 'none'}.")
    return fit[0]


def took(kernel):
    """Nanoseconds."""
    return kernel["launch"]["duration_ns"] or 0


def column(step, lines, shape):
    """Of the variants recorded at a shape the fastest, as ncu timed it, and of its kernels the one that took longest."""
    latest = {line["variant"]: line for line in lines if line["shape"] == shape}
    line = min(latest.values(), key=lambda line: sum(map(took, line["kernels"])))
    kernel = max(line["kernels"], key=took)
    title = " ".join(filter(None, (steps.called(step), line["variant"])))
    if len(line["kernels"]) > 1:
        title += f": {kernel['kernel'].removeprefix('void ')}"
    return Column(step, title, kernel, apart(kernel.get("ncu") or line["ncu"]), dict(kernel.get("compiled") or {}))


def lines_of(words):
    """[(step, its lines)] for each of the words, steps of one operation."""
    found = [parse(word) for word in words]
    unlike = {step["operation"] for step, _ in found}
    if len(unlike) > 1:
        stop(f"{', '.join(step['name'] for step, _ in found)}: their operations differ ({', '.join(sorted(unlike))}), so their figures do not "
             "compare. Name steps of one operation.")
    return found


def is_recorded(words, at):
    """Whether ncu has recorded all of them, at a shape that fits."""
    found = lines_of(words)
    return all(lines for _, lines in found) and bool(fitting(common_shapes(found), at))


def columns(words, at):
    """(a column for each of the words, the shape)."""
    found = lines_of(words)
    for word, (_, lines) in zip(words, found):
        if not lines:
            stop(f"ncu has recorded nothing of {word}, so there is nothing to analyse. {to_record([step for step, _ in found])}")
    shape = require_shape(found, at)
    return [column(step, lines, shape) for step, lines in found], shape


def ask_compiler(shown):
    """Put what nvcc reports of the sources as they stand in the place of what was recorded."""
    known = {column.step["name"]: column.step for column in shown}.values()
    jobs = [(step, arch) for step in known for arch in ARCHITECTURES if machine.can_run(step["arch"], arch)]
    err.print(f"Asking nvcc about {', '.join(step['name'] for step in known)}…", style="dim")
    with ThreadPoolExecutor(2) as pool:
        for (step, arch), kernels in zip(jobs, pool.map(lambda job: ptxas.report(steps.source(job[0]), job[1]), jobs)):
            for column in shown:
                if column.step == step and column.kernel["kernel"] in kernels:
                    column.compiled[arch] = kernels[column.kernel["kernel"]]


# ---- sections: each a list of (label, [a cell for each column]) ----

def count(value):
    """1,234 or 12.3."""
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else floors.three_digits(value)


def percent(value):
    return f"{value:.1f} %"


def size(value):
    return f"{value:,} bytes"


def time(value):
    return floors.duration(value * 1e-9)


def times(value):
    return f"{value:.2f}"


def row(label, shown, value, words=count):
    """What value(column) gives; where that is None, it was not recorded, and where it is not a number, there is none to give."""
    values = map(value, shown)
    return label, [MISSING if found is None else "–" if isinstance(found, float) and isnan(found) else words(found) for found in values]


def of(group, name):
    return lambda column: column.get(group, name)


def counter(name):
    return lambda column: column.ncu.get(name)


def ratio(above, below, factor=1):
    """above(column) / below(column): None where one is missing, not a number where there was nothing below."""
    def divided(column):
        parts = above(column), below(column)
        return None if None in parts else factor * parts[0] / parts[1] if parts[1] else nan
    return divided


def throughput(shown, gpu):
    rows = [row("duration", shown, of("launch", "duration_ns"), time), row("elapsed cycles", shown, of("cycles", "elapsed"))]
    return rows + [row(label, shown, of("percent", f"{name}_throughput"), percent) for label, name in (
        ("compute (SM) throughput", "sm"), ("memory throughput", "memory"), ("L1/TEX throughput", "l1"), ("L2 throughput", "l2"),
        ("DRAM throughput", "dram"))]


def spills(arch):
    """Bytes stored and loaded because registers did not suffice."""
    def added(column):
        parts = [column.reported(f"spill_{kind}", arch) for kind in ("stores", "loads")]
        return sum(parts) if None not in parts else None
    return added


def launch(shown, gpu):
    arch = occupancy.GPUS[RECORDED_ON].arch
    return [row("blocks of the grid", shown, of("launch", "grid")),
            row("threads of a block", shown, of("launch", "block")),
            row("registers of a thread, compiler", shown, lambda column: column.reported("registers", arch)),
            row("registers of a thread, ncu", shown, of("launch", "registers")),
            row("spills, compiler", shown, spills(arch), size),
            row("static shared memory, compiler", shown, lambda column: column.reported("shared_static", arch), size),
            row("static shared memory, ncu", shown, of("launch", "shared_static"), size),
            row("dynamic shared memory, ncu", shown, of("launch", "shared_dynamic"), size),
            row("reserved by the system, ncu", shown, of("launch", "shared_reserved"), size),
            row("shared memory configured for an SM, ncu", shown, of("launch", "shared_configured"), size)]


def block_limits(column, name, most=False):
    """What tools/occupancy.py computes for the GPU of that name: {what limits: blocks}; None where a figure was not recorded. With
    the shared memory that the launch got, where that was recorded, or with the most that the GPU gives."""
    gpu = occupancy.GPUS[name]
    threads, registers, shared = column.get("launch", "block"), column.of_launch("registers", gpu.arch), column.shared(gpu.arch)
    if None in (threads, registers, shared):
        return None
    configured = column.get("launch", "shared_configured") if name == RECORDED_ON and not most else None
    return occupancy.limits(gpu, threads, registers, shared, configured)


LIMITS = {"SM": "limit_sm", "registers": "limit_registers", "shared memory": "limit_shared", "warps": "limit_warps"}


def limit(what, gpu):
    """One of the limits; not a number where it does not limit."""
    return lambda column: (found := block_limits(column, gpu)) and found.get(what, nan)


def occupied(gpu, part):
    """part(blocks on an SM, what binds, the share of its warps) of a column."""
    def computed(column):
        found = block_limits(column, gpu)
        if found is None:
            return None
        blocks, what = occupancy.binding(found)
        return part(blocks, what, occupancy.theoretical(occupancy.GPUS[gpu], column.get("launch", "block"), blocks))
    return computed


def waves(gpu):
    """How often the grid fills all SMs; not a number where no block fits."""
    def computed(column):
        grid, blocks = column.get("launch", "grid"), occupied(gpu, lambda blocks, what, share: blocks)(column)
        return None if None in (grid, blocks) else occupancy.waves(occupancy.GPUS[gpu], grid, blocks) if blocks else nan
    return computed


def of_an_sm(shown, gpu):
    """As computed, and, on the GPU that ncu ran on, what it says of the same."""
    warps, by_ncu = occupancy.GPUS[gpu].warps, gpu == RECORDED_ON
    rows = []
    for what, name in LIMITS.items():
        rows.append(row(f"block limit by {what}", shown, limit(what, gpu)))
        rows += [row(f"block limit by {what}, ncu", shown, of("launch", name))] * by_ncu
    rows += [row("binding", shown, occupied(gpu, lambda blocks, what, share: " and ".join(what)), str),
             row("theoretical occupancy", shown, occupied(gpu, lambda blocks, what, share: 100 * share), percent)]
    rows += [row("theoretical occupancy, ncu", shown, of("percent", "occupancy_limit"), percent),
             row("achieved occupancy, ncu", shown, of("percent", "occupancy"), percent)] * by_ncu
    rows += [row("waves of blocks", shown, waves(gpu), times)] + [row("waves of blocks, ncu", shown, of("launch", "waves"), times)] * by_ncu
    rows += [row("theoretical active warps of an SM", shown, occupied(gpu, lambda blocks, what, share: warps * share))]
    return rows + [row("achieved active warps of an SM, ncu", shown, of("warps", "active_per_sm"), times)] * by_ncu


def in_words(blocks, what, share):
    return f"{blocks} block{'s' * (blocks != 1)} by {' and '.join(what)}, {percent(100 * share)}"


def on_a_gpu(gpu):
    def words(column):
        if not machine.can_run(column.step["arch"], occupancy.GPUS[gpu].arch):
            return f"needs compute capability {machine.capability_of(column.step['arch'])}"
        return occupied(gpu, in_words)(column)
    return words


def of_every_gpu(shown, gpu):
    return [row(each.title, shown, on_a_gpu(name), str) for name, each in occupancy.GPUS.items()]


def workload(shown, gpu):
    mean = of("cycles", "active_avg")
    rows = [row(f"active cycles of an SM, {label}", shown, of("cycles", f"active_{which}"))
            for label, which in (("least", "min"), ("mean", "avg"), ("most", "max"))]
    return rows + [row("the most, of the mean", shown, ratio(of("cycles", "active_max"), mean, 100), percent),
                   row("the least, of the mean", shown, ratio(of("cycles", "active_min"), mean, 100), percent),
                   row("mean, of the elapsed cycles", shown, ratio(mean, of("cycles", "elapsed"), 100), percent)]


def scheduler(shown, gpu):
    rows = [row(f"{label} warps of a scheduler", shown, of("warps", name), times)
            for label, name in (("active", "active"), ("eligible", "eligible"), ("issued", "issued"))]
    return rows + [row("cycles with no eligible warp", shown, of("percent", "no_eligible"), percent)]


def stalls(shown, gpu):
    """By reason, the largest first; those that round to nothing in every column are left out."""
    names = list(dict.fromkeys(name for column in shown for name in column.kernel.get("stalls") or {}))
    most = {name: max(column.get("stalls", name) or 0 for column in shown) for name in names}
    rows = [row("cycles of a warp for an issued instruction", shown, of("warps", "cycles_per_issue"), times)]
    return rows + [row(name.replace("_", " "), shown, of("stalls", name), times)
                   for name in sorted(names, key=lambda name: -most[name]) if most[name] >= 0.005]


def instructions(shown, gpu):
    rows = [row("executed", shown, counter("instructions")), row("of them FMA pipe", shown, counter("fma_instructions")),
            row("of them tensor cores", shown, counter("mma"))]
    return rows + [row("FMA pipe busy", shown, of("percent", "fma"), percent), row("tensor pipe busy", shown, of("percent", "tensor"), percent)]


def memory(shown, gpu):
    total = lambda what: lambda column: floors.total(column.ncu, "shared", what)
    wavefronts, conflicts = total("wavefronts"), total("conflicts")
    free = lambda column: wavefronts(column) - conflicts(column)
    rows = [row("requests to shared memory", shown, total("requests")), row("their wavefronts", shown, wavefronts),
            row("of them bank conflicts", shown, conflicts),
            row("wavefronts for each that is needed", shown, ratio(wavefronts, free), times)]
    for op, does in (("ld", "loaded"), ("st", "stored")):
        rows.append(row(f"bytes used of a 32-byte sector {does}", shown,
                        ratio(counter(f"global_{op}_bytes"), counter(f"global_{op}_sectors"))))
    return rows


SECTIONS = {
    "Throughput": throughput,
    "Launch configuration": launch,
    "Occupancy": of_an_sm,
    "Occupancy of each GPU": of_every_gpu,
    "Workload distribution": workload,
    "Scheduler statistics": scheduler,
    "Warp-state statistics": stalls,
    "Instructions": instructions,
    "Memory accesses": memory,
}


def sections(shown, gpu):
    """[(title, its rows)]."""
    return [(title, make(shown, gpu)) for title, make in SECTIONS.items()]


# ---- what is shown ----

def heading(shown, shape, gpu):
    return (f"{shown[0].step['operation']} at {run.shape_words(shape)}. What ncu says was recorded on an NVIDIA H200; limits and theoretical "
            f"occupancy are computed for the {occupancy.GPUS[gpu].title}, from what the compiler reports.")


def table(title, shown, rows):
    made = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False,
                 header_style="dim", border_style="dim")
    made.add_column("")
    for column in shown:
        made.add_column(column.title, justify="right")
    for label, cells in rows:
        made.add_row(label, *cells)
    return made


def analyze(words, at, gpu):
    """Returns the exit status."""
    shown, shape = columns(words, at)
    if machine.nvcc():
        ask_compiler(shown)
    made = sections(shown, gpu)
    out.print(heading(shown, shape, gpu))
    for title, rows in made:
        out.print()
        out.print(table(title, shown, rows))
    if any(MISSING in cells for _, rows in made for _, cells in rows):
        out.print(f"\nWhat is {MISSING}: {to_record([column.step for column in shown])}", markup=False, soft_wrap=True)
    return 0

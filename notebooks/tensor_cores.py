"""What the notebook on tensor cores reads from what programs print and count, and draws: lanes, banks, shared memory, timelines.

Nothing here knows where an element lies: that is read from the programs, which run on the emulator."""
import base64
import re

from IPython.display import HTML, display

from lesson import ROOT, compile_and_run, here, output, said, show
from plots import style
from tools import analyze, build, floors, occupancy, profile, results, steps, timeline, timeline_picture
from tools import run as programs


PALE = "#eaf2fa"  # where there is least


# ---- lanes ----

def colours(*shades):
    """A colour map from the first shade to the last."""
    from matplotlib.colors import LinearSegmentedColormap
    return LinearSegmentedColormap.from_list("shades", shades)


def grid(axes, numbers, title, marked):
    """A matrix of lanes: each cell says the lane that holds the element; those of the lane marked have a border."""
    style.heat_map(axes, numbers, range(len(numbers)), range(len(numbers[0])), title, lambda lane: lane == marked,
                   words=lambda y, x, lane: str(lane), size=8, cmap=colours(PALE, *style.BLUES), vmin=0, vmax=31)
    axes.set_aspect("equal")
    axes.xaxis.tick_top()
    borders(axes, [(y, x) for y, row in enumerate(numbers) for x, lane in enumerate(row) if lane == marked])


def borders(axes, places):
    for y, x in places:
        axes.add_patch(style.pyplot().Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, edgecolor=style.PEER, linewidth=2,
                                                clip_on=False))


def lanes():
    """{"A", "B", "C": the lane that holds each element}, as lanes.cu of step 17 measures and prints them."""
    printed = output("emulate", "steps/17_mma_lanes/lanes.cu", "-I", "common")
    found = {"A": [], "B": [], "C": []}
    for line in printed.splitlines():
        held = [int(lane) for lane in re.findall(r"(\d+)\.\d", line)]
        if line.lstrip().startswith("rows "):  # of B, two in a register
            found["B"] += [held, held]
        elif line.startswith("row "):          # of A, eight registers of two, and of C
            found["A"].append([lane for lane in held[:8] for _ in range(2)])
            found["C"].append(held[8:])
    return found


def lane_maps(held, marked):
    """The three matrices of an mma.m16n8k16, with a border around what one lane holds."""
    figure, panels = style.pyplot().subplots(1, 3, figsize=(11, 5.4), width_ratios=(16, 8, 8))
    for axes, (name, numbers) in zip(panels, held.items()):
        grid(axes, numbers, name, marked)
    figure.suptitle(f"The lane that holds each element of C += A B; what lane {marked} holds has a border", x=0.125, ha="left",
                    fontsize=11, fontweight="bold", color=style.INK)
    show(figure)


def dealt(program):
    """{what a line of the program's output says before a colon: the lane that got each element of a matrix of 8 × 8}. Behind it are
    64 elements, two of lane 0, two of lane 1 and so on, each as the number of its place, row by row. Other lines are shown."""
    found = {}
    for line in compile_and_run(program, "-I", ROOT / "common", run=output).splitlines():
        name, colon, numbers = line.partition(":")
        if colon and len(numbers.split()) == 64:
            found[name] = [[None] * 8 for _ in range(8)]
            for at, element in enumerate(map(int, numbers.split())):
                found[name][element // 8][element % 8] = at // 2
        else:
            print(line)
    return found


def deal_maps(found, marked):
    """Matrices in shared memory, with the lane that got each element."""
    figure, panels = style.pyplot().subplots(1, len(found), figsize=(3.9 * len(found), 4.1), squeeze=False)
    for axes, (name, numbers) in zip(panels[0], found.items()):
        grid(axes, numbers, name, marked)
    show(figure)


# ---- banks ----

def layouts(number):
    """{variant: of each row the bank quad that each vector lies in}, as --layout of a step prints it."""
    found = {}
    for step in here(number):
        build.build("cpu", step["name"])
        for variant in steps.variants(step):
            _, printed = said([steps.program(step, "cpu"), "--variant", variant, "--layout"])
            rows = re.findall(r"^ +row \d+((?: +\d)+)$", printed, re.MULTILINE)
            found[variant] = [[int(quad) for quad in row.split()] for row in rows]
    return found


def per_ldmatrix(counts):
    """Wavefronts that an ldmatrix takes, on average."""
    return counts["ldmatrix_wavefronts"] / counts["ldmatrix_requests"]


def bank_maps(layout, counted, vector):
    """Eight rows of a tile in the 32 banks, those of one vector dark, and below how many of these each bank has to serve; with what
    the emulator counted. Variants whose rows lie alike share a picture."""
    alike = {}
    for variant, rows in layout.items():
        alike.setdefault(str(rows), []).append(variant)
    figure, panels = style.pyplot().subplots(2, len(alike), figsize=(3.7 * len(alike), 5), squeeze=False, height_ratios=(2.4, 1))
    for (above, below), variants in zip(panels.T, alike.values()):
        rows = layout[variants[0]]
        there = [[row.index(quad) for quad in range(8)] for row in rows]  # the vector in each bank quad
        found = dict.fromkeys(f"{per_ldmatrix(counted[variant]):.3g} wavefronts an ldmatrix,\n"
                              f"{counted[variant]['ldmatrix_conflicts']:,} conflicts" for variant in variants)
        title = "\n".join([" and ".join(variants), *found])
        style.heat_map(above, [[int(number == vector) for number in row] for row in there], [f"row {y}" for y in range(8)],
                       [""] * 8, title, bool, words=lambda y, x, _: str(there[y][x]), size=9, vmin=0, vmax=1,
                       cmap=colours(PALE, style.BLUES[3]))
        served = [sum(row[vector] == bank // 4 for row in rows) for bank in range(32)]
        below.bar([bank / 4 - 0.375 for bank in range(32)], served, width=0.2, color=style.BLUES[3])
        below.set(xlim=above.get_xlim(), ylim=(0, 8.4), yticks=(0, 1, 4, 8),
                  xlabel=f"bank; the busiest serves {max(served)} of the 8 rows")
        below.set_xticks([quad - 0.375 for quad in range(8)], [str(4 * quad) for quad in range(8)])
        style.plain(below)
    panels[1][0].set_ylabel("rows served", fontsize=9, color=style.FAINT)
    figure.tight_layout()
    show(figure)


def at_each_head_dim(number, head_dims, value):
    """{variant: [value(counters) at each head dimension]}, counted by the emulator at one head and 64 keys."""
    found = {}
    for step in here(number):
        build.build("cpu", step["name"])
        for variant in steps.variants(step):
            runs = [programs.case(step, variant, "cpu", arguments=("--heads", "1", "--seqlen", "64", "--head-dim", str(head_dim)))
                    for head_dim in head_dims]
            found[variant] = [value(programs.total(done["profile"])) for done in runs]
    return found


def shades(title, rows, columns):
    """{row: [number]} as a heat map, dark where a number is large."""
    if not rows:
        return
    figure, axes = style.pyplot().subplots(figsize=(1.6 + 1.1 * len(columns), 0.8 + 0.4 * len(rows)))
    most = max(max(row) for row in rows.values())
    style.heat_map(axes, list(rows.values()), list(rows), columns, title, lambda value: False,
                   words=lambda y, x, value: f"{value:.3g}", cmap=colours(PALE, *style.BLUES), vmin=0, vmax=most)
    show(figure)


# ---- shared memory ----

def wavefronts(counts):
    """All of shared memory."""
    return floors.total(counts, "shared", "wavefronts")


def traffic(counted, title):
    """{name: counters} as bars of the wavefronts of shared memory, by what they are for."""
    if not counted:
        return
    kinds = [kind for kind in floors.ACCESSES["shared"] if any(counts.get(f"{kind}_wavefronts") for counts in counted.values())]
    figure, axes = style.pyplot().subplots(figsize=(8, 1.1 + 0.42 * len(counted)))
    ends = [0] * len(counted)
    for kind, shade in zip(kinds, [style.BLUES[0], style.BLUES[1], style.BLUES[3], style.PEER]):
        widths = [counts.get(f"{kind}_wavefronts") or 0 for counts in counted.values()]
        axes.barh(range(len(counted)), widths, left=ends, color=shade, height=0.7, label=profile.ACCESSES[kind])
        ends = [end + width for end, width in zip(ends, widths)]
    for place, end in enumerate(ends):
        axes.text(end + max(ends) / 100, place, f"{end:,}", va="center", fontsize=9, color=style.INK)
    axes.set_yticks(range(len(counted)), counted)
    axes.invert_yaxis()
    axes.set(xlim=(0, max(ends) * 1.12), xlabel="wavefronts of shared memory")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color=style.INK)
    style.plain(axes, "x")
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
    show(figure)


def blocks(words, head_dims, gpus):
    """{"step variant": {head dimension: {"bytes": shared memory of a block, GPU's title: (blocks on an SM, what binds, share of its
    warps)}}}. Threads and bytes are as the emulator saw the launch, registers as recorded. Where none are, what binds is None, and
    the blocks are those that all else leaves room for. A head dimension that a step refuses is left out."""
    found = {}
    for word in words:
        number, _, variant = word.partition(":")
        if not here(number):
            continue
        step, lines = analyze.parse(word)
        build.build("cpu", step["name"])
        row = found[f"{steps.called(step)} {variant}"] = {}
        for head_dim in head_dims:
            kernel = programs.launched(step, variant, head_dim)
            if not kernel:
                continue
            row[head_dim] = {"bytes": kernel["shared"]}
            shape = results.LADDER_SHAPE["attention"] | {"head_dim": head_dim}
            column = analyze.column(step, lines, shape) if any(line["shape"] == shape for line in lines) else None
            for gpu in map(occupancy.GPUS.get, gpus):
                registers = column and column.of_launch("registers", gpu.arch)
                threads = kernel["block"][0] * kernel["block"][1] * kernel["block"][2]
                most, binds = occupancy.binding(occupancy.limits(gpu, threads, registers or 1, kernel["shared"]))
                row[head_dim][gpu.title] = most, binds if registers else None, occupancy.theoretical(gpu, threads, most)
    return found


BINDS = {"registers": style.BLUES[0], "shared memory": style.mixed(style.PEER, 0.55), "both": "#cdb4d8", "neither": style.RULE,
         "registers not recorded: at most": "#f2f3f5"}


def what_binds(binds):
    if binds is None:
        return list(BINDS)[-1]
    named = [what for what in ("registers", "shared memory") if what in binds]
    return named[0] if len(named) == 1 else "both" if named else "neither"


def block_maps(found):
    """The bytes of a block's shared memory, and how many blocks fit on an SM of each GPU, by step and head dimension."""
    from matplotlib.colors import ListedColormap
    head_dims = sorted({head_dim for row in found.values() for head_dim in row})
    if not head_dims:
        return
    cells = next(iter(next(iter(found.values())).values()))
    figure, panels = style.pyplot().subplots(2, 2, figsize=(11, 1.6 + 0.7 * len(found)), sharey=True)
    for axes, name in zip(panels.flat, cells):
        known = [[row.get(head_dim, {}).get(name) for head_dim in head_dims] for row in found.values()]
        columns = [f"D {head_dim}" for head_dim in head_dims]
        if name == "bytes":
            kilo = [[None if size is None else size / 1024 for size in row] for row in known]
            style.heat_map(axes, kilo, list(found), columns, "Shared memory of a block, KiB", lambda _: False,
                           words=lambda y, x, size: f"{size:g}", size=9, cmap=colours(PALE, style.BLUES[3]))
            continue
        kinds = [[None if cell is None else list(BINDS).index(what_binds(cell[1])) for cell in row] for row in known]

        def words(y, x, _):
            most, binds, share = known[y][x]
            return f"{'≤ ' * (binds is None)}{most}: {100 * share:.3g} %"

        style.heat_map(axes, kinds, list(found), columns, f"{name}: blocks on an SM, and occupancy", lambda _: False, words=words,
                       size=9, cmap=ListedColormap(list(BINDS.values())), vmin=-0.5, vmax=len(BINDS) - 0.5)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    keys = [style.pyplot().Rectangle((0, 0), 1, 1, color=shade) for shade in BINDS.values()]
    figure.legend(keys, list(BINDS), title="What binds", loc="lower center", ncols=len(BINDS), frameon=False, fontsize=9)
    show(figure)


# ---- timelines ----

def timelines(number, variants, *arguments):
    """{variant: its Timeline}, drawn beside one another where there is room, else below."""
    found = {}
    for step in here(number):
        build.build("cpu", step["name"])
        for variant in variants:
            found[variant], done = timeline.record(step, variant, arguments=arguments, cached=True)
            if found[variant] is None:
                print(done["output"])
                return {}
    if not found:
        return {}
    pictures = (base64.b64encode(timeline_picture.drawn(each, timeline.TILES).encode()).decode() for each in found.values())
    shown = "".join(f'<img style="flex: 1 1 600px; min-width: 0; max-width: 900px" alt="the order of {variant}" '
                    f'src="data:image/svg+xml;base64,{picture}">' for variant, picture in zip(found, pictures))
    display(HTML(f'<div style="display: flex; flex-wrap: wrap; gap: 12px">{shown}</div>'))
    return found


def executed(items, times=1):
    """(event, how often) of a warp's items, loops taken apart."""
    for item in items:
        if isinstance(item, timeline.Loop):
            yield from executed(item.body, times * item.times)
        else:
            yield item, times


def mma_in_flight(line):
    """The mma that a warp executes while a group of copies is under way, for each of the groups that it waits for."""
    warp = line.warps[0]
    return [sum(times * event.count for event, times in executed(warp.items)
                if event.kind == "mma" and flight.copies[0].column < event.column < flight.end.column)
            for flight in warp.flights if flight.end]

"""The ladder as a picture: every step and variant in order, one panel an operation and element type, the peers below to compare
with.

Recorded H200 figures where there are any; else what the emulator counts, and the picture says so."""
from plots import style
from plots.style import BLUES, FAINT, INK, PEER, label
from tools import device, floors, results, run, steps
from tools.paths import PLOTS

ROW, GAP, HEAD = 0.25, 0.1, 0.95  # inches: a bar with its space, the space between two steps, a panel's title and axis
LEFT, WIDTH = 3.4, 9.4  # inches: what the names take of the whole


def recorded(step, variant):
    line = results.ours(step, variant, results.LADDER_SHAPE[step["operation"]])
    return line and line["gbps" if step["operation"] in results.MOVES_BYTES else "tflops"]


def counted(step, variant):
    """Multiply-adds, in thousands, for each clock that the busiest unit needs: what the counts alone can tell."""
    done = run.counted(step, variant)
    case, gpu = done["case"], done["profile"]["gpu"]
    seconds = floors.binding(run.total(done["profile"]), case["flops"], case["bytes"], device.rates(gpu))[1]
    return case["flops"] / 2000 / (seconds * gpu["clock_ghz"] * 1e9)


def panel(kind, every):
    """What one panel shows: title, unit, bars in order, peers. None where nothing can be shown. The title names the type where
    there are several."""
    operation, dtype = kind
    mine = [step for step in every if steps.kind(step) == kind]
    name = operation if all(step["dtypes"][0] == dtype for step in every if step["operation"] == operation) else f"{operation} {dtype}"
    known = any(recorded(step, variant) for step in mine for variant in steps.variants(step))
    if not known and operation in results.MOVES_BYTES:  # DRAM binds them all: the counts tell no two apart
        return None
    value = recorded if known else counted
    bars = [{"step": steps.caption(step), "variant": (variant or "").replace("_", " "), "value": round(figure, 6)}
            for step in mine for variant in steps.variants(step) if (figure := value(step, variant))]
    if not known:
        return {"title": f"{name}: what the counts allow on an H200", "bars": bars, "peers": [],
                "unit": "thousand multiply-adds a clock, at most (emulator's counts; not a time)"}
    shape = results.LADDER_SHAPE[operation]
    peers = results.peer_records(kind, shape)
    unit = "GB/s" if operation in results.MOVES_BYTES else "TFLOPS"
    return {"title": f"{name}, {run.shape_words(shape)}, recorded on an NVIDIA H200", "unit": unit, "bars": bars,
            "peers": [{"name": name.split(" (")[0], "value": round(line["gbps" if unit == "GB/s" else "tflops"], 6)}
                      for name, line in sorted(peers.items())]}


def data():
    every = [step for step in steps.load() if step["operation"] != "device"]  # the ground that the ladder stands on
    return [found for kind in dict.fromkeys(map(steps.kind, every)) if (found := panel(kind, every)) and found["bars"]]


def places(content):
    """Inches from a panel's top to the middle of each bar, the peers' last; and the panel's height."""
    found, at, before = [], ROW / 2, None
    for name in [*(bar["step"] for bar in content["bars"]), *(None for _ in content["peers"])]:
        at += GAP if found and name != before else 0
        found.append(at)
        at, before = at + ROW, name
    return found, at - ROW / 2


def figure_of(value):
    return f"{value:,.0f}" if value >= 1000 else floors.three_digits(value)


def draw_panel(axes, content):
    bars, peers = content["bars"], content["peers"]
    at, height = places(content)
    names = list(dict.fromkeys(bar["step"] for bar in bars))
    most = max(mark["value"] for mark in bars + peers)
    written = None
    for y, mark in zip(at, bars + peers):
        own = "step" in mark
        axes.barh(y, mark["value"], height=0.8 * ROW, zorder=2, linewidth=1.2, edgecolor=PEER if not own else "none",
                  color=BLUES[min(names.index(mark["step"]), len(BLUES) - 1)] if own else "white")
        label(axes, figure_of(mark["value"]), mark["value"], y, (4, 0), va="center", fontsize=10, fontweight="bold",
              color=INK if own else PEER, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5}, zorder=3)
        label(axes, mark["variant"] if own else mark["name"], 0, y, (-8, 0), va="center", ha="right", fontsize=10,
              color=INK if own else PEER)
        if own and mark["step"] != written:
            written = mark["step"]
            label(axes, written, 0, y, (-72 * LEFT + 12, 0), va="center", fontsize=10, fontweight="bold", color=INK)
    axes.set(xlim=(0, most * 1.1), ylim=(height, 0), yticks=[])
    axes.set_title(content["title"], loc="left", x=-(LEFT - 0.17) / (WIDTH - LEFT - 0.2), fontsize=12, fontweight="bold", color=INK,
                   pad=6)
    axes.set_xlabel(content["unit"], loc="right", fontsize=9, color=FAINT, labelpad=1)
    style.plain(axes, "x")


def write(folder=PLOTS):
    """Draw ladder.svg and ladder.png; the same figures give the same bytes. Returns their paths."""
    content = data()
    if not content:
        return []
    heights = [places(part)[1] for part in content]
    whole = sum(heights) + HEAD * len(content)
    figure, top = style.pyplot().figure(figsize=(WIDTH, whole)), whole
    for part, height in zip(content, heights):
        bottom = top - HEAD / 2 - height
        draw_panel(figure.add_axes((LEFT / WIDTH, bottom / whole, (WIDTH - LEFT - 0.2) / WIDTH, height / whole)), part)
        top -= height + HEAD
    return style.save(figure, "ladder", content, folder)


def stale():
    """Whether plots/ladder.svg was drawn from other figures than today's."""
    return style.is_stale("ladder", data())

"""Attention as one staircase: each step by its fastest variant, in order, at one shape; the peers on the same type as lines across. Steps
whose figures are of another shape stand in attention_beside.

Drawn from figures recorded on an H200: the steps' results.jsonl, and h200_peers.jsonl for what was timed in a run without them."""
import json
import textwrap

from plots import ladder, style
from plots.style import BLUES, FAINT, INK, PEER, label, mixed
from tools import results, run, steps
from tools.paths import PLOTS

TYPES = {"fp32": ("in fp32", BLUES[1]), "fp16": ("inputs in fp16, sums in fp32", BLUES[3])}  # what stands below, and the colour
PEERS = {"PyTorch SDPA fp32, efficient": "PyTorch SDPA fp32, efficient", "PyTorch SDPA fp32, math": "PyTorch SDPA fp32, math",
         "PyTorch SDPA fp16, flash": "FlashAttention-2 (PyTorch)", "PyTorch SDPA fp16, cuDNN": "cuDNN (PyTorch)"}
WIDE = {"PyTorch SDPA fp16, its own choice": "PyTorch SDPA, its choice", "PyTorch unfused fp16 (baddbmm, softmax, bmm)": "PyTorch, unfused"}
ELSEWHERE = PLOTS / "h200_peers.jsonl"
TREAD, LETTERS, GAP = 0.75, 9, 0.3  # a step's least width, in inches and in letters of its name; the share of it between two types
LEFT, RIGHT, LEAST, HEIGHT = 0.7, 2.3, 9, 5.4  # inches: for the axis, for the peers' names; the picture's least width, its height
TOP, BOTTOM = 0.49, 1.35  # inches above and below the steps
RULE = -0.21  # where the rule below the names of a type's steps is, of the axes' height
LINE = 13  # points from the label of one peer to the next
TITLE = {"fontsize": 13, "fontweight": "bold"}


def elsewhere():
    """The lines of peers that were timed in a run of the peers alone."""
    return [json.loads(line) for line in ELSEWHERE.read_text().splitlines()]


def names_of(timed):
    """{the name of a peer: how it is shown} of the peers that are compared with, where these were timed."""
    return PEERS if PEERS.keys() & timed.keys() else WIDE  # FlashAttention-2 and cuDNN have no head dimension above 256


def panel(every, shape):
    """Steps and peers of each type at a shape; None where no step has a figure."""
    best = [(step, line) for dtype in TYPES for step in every if step["dtypes"][0] == dtype and (line := results.best(step, shape))]
    if not best:
        return None
    timed = {name: line for kind in dict.fromkeys(map(steps.kind, every)) for name, line in results.peer_records(kind, shape).items()}
    peers = {short: timed[name] for name, short in names_of(timed).items() if name in timed}
    alone = {line["peer"]: line for line in elsewhere() if results.is_at(line, shape)}
    return {"bars": [{"step": steps.caption(step), "dtype": line["dtype"], "value": round(line["tflops"], 6)} for step, line in best],
            "peers": [{"name": name, "dtype": line["dtype"], "value": round(line["tflops"], 6), "elsewhere": name in alone}
                      for name, line in sorted((peers | alone).items(), key=lambda peer: peer[1]["tflops"])],
            "note": "; ".join(f"dotted: {name}, of another run ({line['env']['date']})" for name, line in alone.items())}


def panels():
    """{the words of a shape: the panel of the steps whose figures are of it}, as far as they have any."""
    every = [step for step in steps.load() if step["operation"] == "attention" and step["dtypes"][0] in TYPES]
    of_shape = {}
    for step in every:
        of_shape.setdefault(run.shape_words(results.headline(step)), []).append(step)
    return {words: found for words, mine in of_shape.items() if (found := panel(mine, results.headline(mine[0])))}


def usual():
    """The words of the staircase's shape."""
    return run.shape_words(results.LADDER_SHAPE["attention"])


def data():
    """The staircase; None where no step has a figure."""
    found = panels().get(usual())
    return found and {"title": f"Attention, {usual()}, recorded on an NVIDIA H200", **found}


def places(bars):
    """{type: (middle of its first tread, of its last)}, and the middle of each tread."""
    at, middles = 0.0, []
    for before, bar in zip([None, *bars], bars):
        at += 1 + GAP * (bar["dtype"] != before["dtype"]) if before else 0
        middles.append(at)
    spans = {}
    for bar, x in zip(bars, middles):
        spans[bar["dtype"]] = (spans.get(bar["dtype"], (x, x))[0], x)
    return spans, middles


def draw_steps(axes, bars, middles):
    """A tread for each step, its figure below it, and its name under the axis."""
    floor = axes.get_ylim()[0]
    for x, bar in zip(middles, bars):
        colour = TYPES[bar["dtype"]][1]
        axes.fill_between([x - 0.5, x + 0.5], floor, bar["value"], color=mixed(colour, 0.12), linewidth=0, zorder=1)
        axes.plot([x - 0.5, x + 0.5], [bar["value"]] * 2, color=colour, linewidth=4, solid_capstyle="butt", zorder=3)
        label(axes, ladder.figure_of(bar["value"]), x, bar["value"], (0, -15), ha="center", fontsize=10.5, fontweight="bold",
              color=INK, zorder=5, bbox={"facecolor": mixed(colour, 0.12), "edgecolor": "none", "pad": 0.5})
        number, _, words = bar["step"].partition(" ")
        below = {"xycoords": axes.get_xaxis_transform(), "ha": "center", "va": "top", "color": INK}
        label(axes, number, x, 0, (0, -5), fontsize=10.5, fontweight="bold", **below)
        label(axes, textwrap.fill(words, LETTERS, break_long_words=False), x, 0, (0, -19), fontsize=8.5, linespacing=1.15, **below)


def draw_type(axes, dtype, first, last):
    """A rule below the names of the steps of a type, and what the type is."""
    words, colour = TYPES[dtype]
    across = axes.get_xaxis_transform()
    axes.plot([first - 0.45, last + 0.45], [RULE] * 2, transform=across, color=colour, linewidth=2, clip_on=False)
    label(axes, words, (first + last) / 2, RULE, (0, -5), xycoords=across, ha="center", va="top", fontsize=10, fontweight="bold",
          color=colour)


def draw_peers(axes, peers, spans):
    """A line across the steps of the peer's type, and at its end its name, as far above as the one below it needs."""
    points = 72 / axes.figure.dpi  # of a pixel
    height = lambda value: axes.transData.transform((0, value))[1] * points
    for dtype, (first, last) in spans.items():
        lowest, end = 0, last + 0.5
        for peer in (peer for peer in peers if peer["dtype"] == dtype):
            axes.plot([first - 0.5, end], [peer["value"]] * 2, color=PEER, linewidth=1.2,
                      linestyle=(0, (1, 1.5)) if peer["elsewhere"] else (0, (5, 3)), zorder=2)
            at = max(height(peer["value"]), lowest)
            label(axes, f"{peer['name']}: {ladder.figure_of(peer['value'])}", end + GAP * (end < axes.get_xlim()[1]), peer["value"],
                  (6, at - height(peer["value"])), va="center", fontsize=9.5, color=PEER, zorder=5)
            lowest = at + LINE


def draw(axes, content):
    """One panel: logarithmic where its figures are of different orders."""
    bars, peers = content["bars"], content["peers"]
    spans, middles = places(bars)
    peers = [peer for peer in peers if peer["dtype"] in spans]
    values = [mark["value"] for mark in bars + peers]
    axes.set(xlim=(-0.5, middles[-1] + 0.5))
    if max(values) > 10 * min(values):
        axes.set(yscale="log", ylim=(min(values) / 1.8, max(values) * 1.4))
        ticks = [digit * 10.0 ** power for power in range(-3, 5) for digit in (1, 3)]
        axes.set_yticks([tick for tick in ticks if axes.get_ylim()[0] <= tick <= axes.get_ylim()[1]])
        axes.yaxis.set_major_formatter(lambda tick, _: f"{tick:g}")
        axes.yaxis.minorticks_off()
    else:
        axes.set(ylim=(0, max(values) * 1.15))
        axes.locator_params(axis="y", nbins=5)
    draw_steps(axes, bars, middles)
    draw_peers(axes, peers, spans)
    axes.set_xticks([])
    axes.set_title(content["title"], loc="left", **TITLE, color=INK, pad=12)
    axes.set_ylabel("TFLOPS" + ", logarithmic" * (axes.get_yscale() == "log"), fontsize=10, color=FAINT)
    style.plain(axes)


def width_of(content):
    """Inches of a panel's steps."""
    return TREAD * (places(content["bars"])[1][-1] + 1)


def width_of_title(content):
    """Inches of a panel's title, which begins where its steps do."""
    from matplotlib.textpath import TextPath
    font = {"size": TITLE["fontsize"], "prop": {"weight": TITLE["fontweight"]}}
    return TextPath((0, 0), content["title"], **font).get_extents().x1 / 72


def write(folder=PLOTS):
    """Draw attention.svg and attention.png; returns their paths."""
    content = data()
    if not content:
        return []
    width = max(LEAST, LEFT + width_of(content) + RIGHT)
    figure = style.pyplot().figure(figsize=(width, HEIGHT))
    axes = figure.add_axes((LEFT / width, BOTTOM / HEIGHT, (width - LEFT - RIGHT) / width, (HEIGHT - TOP - BOTTOM) / HEIGHT))
    draw(axes, content)
    for dtype, (first, last) in places(content["bars"])[0].items():
        draw_type(axes, dtype, first, last)
    figure.text(0.99, 0.16 / HEIGHT, content["note"], ha="right", fontsize=9, color=FAINT)
    return style.save(figure, "attention", content, folder)


def stale():
    """Whether plots/attention.svg was drawn from other figures than today's."""
    return style.is_stale("attention", data())

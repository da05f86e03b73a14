"""Attention in fp16 over the sequence length and over the head dimension: the kernel that has come furthest, of those for any GPU and of
those for Hopper alone, their peers as lines beside them, and as points what was timed in a run without them. Drawn from figures recorded
on an H200."""
import math

from plots import style
from plots.attention import PEERS, elsewhere
from plots.style import BLUES, FAINT, INK, PEER
from tools import results, run, steps
from tools.paths import PLOTS

HOPPER = "90a"
SHAPE = results.LADDER_SHAPE["attention"]
SWEEPS = {"seqlen": ("sequence length N", (512, 1024, 2048, 4096, 8192, 16384)),
          "head_dim": ("head dimension D", (32, 64, 96, 128, 256))}
OURS = [{"color": colour, "marker": "o", "linewidth": 2.4, "zorder": 3} for colour in (BLUES[1], BLUES[3])]  # of any GPU, of Hopper
LINES = {"FlashAttention-2 (PyTorch)": {"color": PEER, "marker": "s", "linewidth": 1.4, "linestyle": (0, (5, 3))},
         "cuDNN (PyTorch)": {"color": PEER, "marker": "^", "linewidth": 1.4}}


def rates(lines):
    """{size: [[value of the size, TFLOPS], …]} of the sweeps, from lines in fp16. The last of a shape counts."""
    found = {run.shape_words(line["shape"]): line["tflops"] for line in lines if results.on_h200(line) and line["dtype"] == "fp16"}
    return {size: [[value, round(found[words], 6)]
                   for value in values if (words := run.shape_words(SHAPE | {size: value})) in found]
            for size, (_, values) in SWEEPS.items()}


def progress(rates_):
    """At how many shapes a variant was timed; among equals, the geometric mean of its rates decides."""
    values = [rate for sweep in rates_.values() for _, rate in sweep]
    return len(values), sum(map(math.log, values))


def data():
    """{"title", "curves": {name: its rates}, "points": {name: their rates}}; None where nothing is recorded in fp16."""
    every = [step for step in steps.load() if step["operation"] == "attention" and step["dtypes"][0] == "fp16"]
    ours = {}
    for step in every:
        for variant in steps.variants(step):
            mine = [line for line in steps.recorded(step) if line["step"] and line["variant"] == variant]
            ours[step["name"], variant] = rates(mine)
    if not any(progress(found)[0] for found in ours.values()):
        return None
    mine = {}
    for for_hopper in (False, True):
        names = {step["name"]: step for step in every if (step["arch"] == HOPPER) == for_hopper}
        found = {key: rates_ for key, rates_ in ours.items() if key[0] in names and progress(rates_)[0]}
        if found:
            name, variant = max(found, key=lambda key: progress(found[key]))
            words = f"{names[name]['number']} {steps.short(names[name]).replace('_', ' ')}"
            mine[words + f", {variant.replace('_', ' ')}" * bool(variant)] = found[name, variant]
    at_each = [results.peer_records(("attention", "fp16"), SHAPE | {size: value}) for size, (_, values) in SWEEPS.items() for value in values]
    peers = {PEERS[peer]: rates(found[peer] for found in at_each if peer in found) for peer in PEERS}
    alone = {line["peer"]: rates([line]) for line in elsewhere()}
    return {"title": "Attention in fp16, recorded on an NVIDIA H200",
            "curves": mine | {peer: found for peer, found in peers.items() if progress(found)[0]},
            "points": {peer: found for peer, found in alone.items() if progress(found)[0]}}


def draw_panel(axes, size, content):
    words, values = SWEEPS[size]

    def plot(found, name, **look):
        axes.plot([values.index(value) for value, _ in found[size]], [rate for _, rate in found[size]], label=name, **look)

    ours = iter(OURS)
    for name, found in content["curves"].items():
        plot(found, name, markersize=5, **(LINES.get(name) or next(ours)))
    for name, found in content["points"].items():
        plot(found, f"{name} (of another run)", marker="*", linestyle="", markersize=10, color=PEER, zorder=4)
    axes.set(xlim=(-0.2, len(values) - 0.8))
    axes.set_xticks(range(len(values)), [f"{value:,}" for value in values])
    axes.set_xlabel(words, fontsize=10, color=FAINT)
    fixed = [word for word in run.shape_words(SHAPE).split() if word[0] != words[-1]]
    axes.set_title(" ".join(fixed), loc="left", fontsize=11, fontweight="bold", color=INK)
    style.plain(axes)


def write(folder=PLOTS):
    """Draw attention_shapes.svg and .png; the same figures give the same bytes. Returns their paths."""
    content = data()
    if not content:
        return []
    figure, panels = style.pyplot().subplots(1, len(SWEEPS), figsize=(11, 4.6), sharey=True, width_ratios=(1.4, 1))
    for axes, size in zip(panels, SWEEPS):
        draw_panel(axes, size, content)
    panels[0].set_ylim(bottom=0)
    panels[0].set_ylabel("TFLOPS", fontsize=10, color=FAINT)
    figure.suptitle(content["title"], x=0.065, ha="left", fontsize=13, fontweight="bold", color=INK)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="lower center", ncols=4, frameon=False, fontsize=10, labelcolor=INK)
    figure.subplots_adjust(left=0.065, right=0.98, top=0.83, bottom=0.21, wspace=0.06)
    return style.save(figure, "attention_shapes", content, folder)


def stale():
    """Whether plots/attention_shapes.svg was drawn from other figures than today's."""
    return style.is_stale("attention_shapes", data())

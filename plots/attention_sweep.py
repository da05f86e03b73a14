"""Where the step is faster than FlashAttention-2, and where slower: heads × sequence lengths as a heat map, a panel a head
dimension, each cell how many times as fast. Drawn from the step's sweep.jsonl, as measured on an H200."""
from plots import style
from plots.style import FAINT, INK
from tools import steps
from tools.paths import PLOTS

STEP, PEER = "31", "PyTorch SDPA fp16, flash"
FURTHEST = 2  # a ratio of this, or of one over it, has the darkest colour


def variant_of(lines):
    """The one that was swept; None where nothing is recorded."""
    return next((line["variant"] for line in lines if not line.get("peer")), None)


def panels_of(lines, peer):
    """[{"head_dim", "heads": […], "lengths": […], "ratio": [[…]]}] of lines of a sweep; a shape that was not timed is null."""
    place = lambda line: tuple(line["shape"][size] for size in ("head_dim", "heads", "seqlen"))
    ours = {place(line): line for line in lines if not line.get("peer")}
    theirs = {place(line): line for line in lines if line.get("peer") == peer}
    both = ours.keys() & theirs.keys()
    ratio = {where: round(theirs[where]["time"]["median_ms"] / ours[where]["time"]["median_ms"], 3) for where in both}
    panels = []
    for d in sorted({where[0] for where in both}):
        heads, lengths = (sorted({where[axis] for where in both if where[0] == d}) for axis in (1, 2))
        panels.append({"head_dim": d, "heads": heads, "lengths": lengths,
                       "ratio": [[ratio.get((d, h, n)) for n in lengths] for h in heads]})
    return panels


def data():
    """{"variant", "panels"}; None where nothing is recorded."""
    lines = steps.swept(STEP)
    panels = panels_of(lines, PEER)
    return {"variant": variant_of(lines), "panels": panels} if panels else None


def draw(name, content, titles, title, folder):
    """The panels of a sweep beside one another, each under its title; returns the paths."""
    from matplotlib.colors import LogNorm
    panels = content["panels"]
    figure, row = style.pyplot().subplots(1, len(panels), figsize=(max(5 * len(panels), 6), 4.4), squeeze=False, sharey=True)
    for axes, panel, words in zip(row[0], panels, titles):
        style.heat_map(axes, panel["ratio"], panel["heads"], [f"{n:,}" for n in panel["lengths"]], words,
                       lambda value: value >= 1, cmap="RdBu", norm=LogNorm(1 / FURTHEST, FURTHEST))
    row[0][0].set_ylabel("heads", color=FAINT, fontsize=10)
    figure.suptitle(title, x=0.07, ha="left", fontsize=12.5, fontweight="bold", color=INK)
    figure.text(0.5, 0.03, "sequence length N; bold: at least as fast", ha="center", color=FAINT, fontsize=10)
    figure.subplots_adjust(left=0.07, right=0.99, top=0.83, bottom=0.15, wspace=0.05)
    return style.save(figure, name, content, folder)


def write(folder=PLOTS):
    """Draw attention_sweep.svg and .png; the same figures give the same bytes. Returns their paths."""
    content = data()
    if not content:
        return []
    variant = content["variant"].replace("_", " ")
    return draw("attention_sweep", content, [f"D{panel['head_dim']}" for panel in content["panels"]],
                f"Step {STEP}, {variant}, fp16, B1, on an NVIDIA H200, recorded: times as fast as FlashAttention-2", folder)


def stale():
    """Whether plots/attention_sweep.svg was drawn from other figures than today's."""
    return style.is_stale("attention_sweep", data())

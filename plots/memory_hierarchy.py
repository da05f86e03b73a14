"""The memories of a GPU as a picture: from the registers of each SM down to the host's memory, with size, latency and bandwidth, and
between them pipes that are the wider, the more bytes a second pass."""
from math import log10

from plots import style
from plots.style import BLUES, FAINT, INK, RULE, label, mixed
from tools import memory
from tools.paths import PLOTS

WIDTH, HEIGHT = 11.0, 6.25  # inches, and the coordinates of the picture
LEFT, RIGHT, TEXT = 0.2, 6.3, 6.6  # where the boxes begin and end, and the words beside them begin
BOX, STEP, TOP = 0.62, 1.2, 5.25  # a box's height, from one level to the next, the uppermost box's bottom
SMS = 3  # that are drawn, before the last
PIPE = 0.34  # inches of a pipe's width for each power of ten of its GB/s


def data():
    """The levels; None where the machine was not measured."""
    return memory.levels()


def box(axes, x, y, width, words, place):
    """A box of a level, and its words in it."""
    from matplotlib.patches import Rectangle
    axes.add_patch(Rectangle((x, y), width, BOX, facecolor=mixed(BLUES[2], 0.42 - 0.08 * place), edgecolor=BLUES[3], linewidth=1, zorder=3))
    label(axes, words, x + width / 2, y + BOX / 2, (0, 0), ha="center", va="center", fontsize=9.5, color=INK, zorder=4)


def pipe(axes, x, bottom, top, gbps):
    """From one level to the next."""
    width = PIPE * log10(gbps)
    axes.fill_between([x - width / 2, x + width / 2], bottom, top, color=mixed(BLUES[0], 0.6), linewidth=0, zorder=1)


def draw(axes, levels):
    axes.set(xlim=(0, WIDTH), ylim=(0, HEIGHT), xticks=[], yticks=[])
    axes.axis("off")
    width, gap = (RIGHT - LEFT - 0.2 * SMS) / (SMS + 1), 0.2
    middle = (LEFT + RIGHT) / 2
    sms = [LEFT + place * (width + gap) for place in range(SMS + 1)]
    heights = [TOP - STEP * place for place in range(len(levels))]
    names = ["registers", "L1 and\nshared memory"]
    for x, title in zip(sms, [f"SM {place}" for place in range(SMS)] + ["SM 131"]):
        label(axes, title, x + width / 2, TOP + BOX, (0, 5), ha="center", fontsize=9, color=FAINT)
        for place, name in enumerate(names):
            box(axes, x, heights[place], width, name, place)
        pipe(axes, x + width / 2, heights[1], heights[0], levels[1]["sm_gbps"])
        pipe(axes, x + width / 2, heights[2], heights[1], levels[2]["sm_gbps"])
    for place in range(2, len(levels)):
        box(axes, LEFT, heights[place], RIGHT - LEFT, levels[place]["level"], place)
        if place > 2:
            pipe(axes, middle, heights[place], heights[place - 1], levels[place]["gbps"])
    label(axes, "…", (sms[SMS - 1] + width + sms[SMS]) / 2, TOP + BOX / 2, (0, 0), ha="center", va="center", fontsize=10, color=INK)
    for place, (level, y) in enumerate(zip(levels, heights)):
        total = level["gpu"] if level["sm"] == "–" else f"{level['sm'].split(',')[0]} an SM, {level['gpu']} in all"
        label(axes, level["level"], TEXT, y + BOX, (0, -2), va="center", fontsize=10.5, fontweight="bold", color=INK)
        label(axes, f"size: {total}", TEXT, y + BOX, (0, -17), va="center", fontsize=9.5, color=INK)
        label(axes, f"latency: {level['latency']}", TEXT, y + BOX, (0, -31), va="center", fontsize=9.5, color=INK)
        label(axes, f"bandwidth: {level['rate']}", TEXT, y + BOX, (0, -45), va="center", fontsize=9.5, color=INK)
        if place:
            axes.plot([TEXT, WIDTH - 0.2], [y + BOX + 0.29] * 2, color=RULE, linewidth=0.8)
    label(axes, "A pipe's width grows with the logarithm of the bytes a second that pass through it: an SM's share of them, below L2 all.",
          LEFT, 0.16, (0, 0), va="center", fontsize=9, color=FAINT)
    axes.set_title("The memories of an NVIDIA H200", loc="left", x=LEFT / WIDTH, fontsize=13, fontweight="bold", color=INK, pad=8)


def write(folder=PLOTS):
    """Draw memory_hierarchy.svg and .png; returns their paths."""
    return style.write("memory_hierarchy", data(), draw, folder, figsize=(WIDTH, HEIGHT + 0.4), left=0, right=1, top=HEIGHT / (HEIGHT + 0.4),
                       bottom=0)


def stale():
    """Whether plots/memory_hierarchy.svg was drawn from other figures than today's."""
    return style.is_stale("memory_hierarchy", data())

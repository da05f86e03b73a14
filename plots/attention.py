"""Attention alone as a staircase: every variant in the order of the steps, at one shape, the peers as lines across.

Recorded H200 figures where there are any; else what the emulator counts, and the picture says so."""
from plots import ladder, style
from plots.style import BLUES, FAINT, INK, PEER, label, mixed
from tools import steps
from tools.paths import PLOTS

TREAD, LEAST, HEIGHT = 0.9, 9, 4.6  # inches: a variant's least width, the picture's least width, its height
LEFT, RIGHT = 0.75, 2.2  # inches: beside the steps, for the axis and for the peers' names


def data():
    """The ladder's panel of attention: title, unit, bars, peers. None where no step has anything to show."""
    content = ladder.panel(("attention", "fp32"), steps.load())
    return content if content["bars"] else None


def draw_steps(axes, bars):
    """A tread for each variant, its figure below it, and its name under the axis."""
    names = list(dict.fromkeys(bar["step"] for bar in bars))
    for x, bar in enumerate(bars):
        colour = BLUES[min(1 + names.index(bar["step"]), len(BLUES) - 1)]
        axes.plot([x - 0.5, x + 0.5], [bar["value"]] * 2, color=colour, linewidth=5, solid_capstyle="butt", zorder=3)
        axes.fill_between([x - 0.5, x + 0.5], axes.get_ylim()[0], bar["value"], color=mixed(colour, 0.12), linewidth=0, zorder=1)
        label(axes, ladder.figure_of(bar["value"]), x, bar["value"], (0, -16), ha="center", fontsize=11, fontweight="bold",
              color=INK, zorder=5)
    axes.set_xticks(range(len(bars)), [bar["variant"].replace(" ", "\n") for bar in bars], fontsize=9, color=INK)
    for name in names:
        mine = [x for x, bar in enumerate(bars) if bar["step"] == name]
        axes.annotate(name, (sum(mine) / len(mine), 0), xycoords=("data", "axes fraction"), xytext=(0, -44),
                      textcoords="offset points", ha="center", fontsize=10, fontweight="bold", color=INK)


def draw(axes, content):
    bars, peers = content["bars"], content["peers"]
    values = [mark["value"] for mark in bars + peers]
    axes.set(yscale="log", xlim=(-0.5, len(bars) - 0.5), ylim=(min(values) / 2, max(values) * 2))
    draw_steps(axes, bars)
    for peer in peers:
        axes.axhline(peer["value"], color=PEER, linewidth=1.2, linestyle=(0, (5, 3)), zorder=2)
        label(axes, f"{peer['name']}\n{ladder.figure_of(peer['value'])}", len(bars) - 0.5, peer["value"], (6, 0), va="center",
              fontsize=10, color=PEER, zorder=5)
    ticks = [digit * 10.0 ** power for power in range(-3, 5) for digit in (1, 3)]
    axes.set_yticks([tick for tick in ticks if axes.get_ylim()[0] <= tick <= axes.get_ylim()[1]])
    axes.yaxis.set_major_formatter(lambda tick, _: f"{tick:g}")
    axes.yaxis.minorticks_off()
    axes.set_title(content["title"], loc="left", fontsize=13, fontweight="bold", color=INK, pad=12)
    axes.set_ylabel(f"{content['unit']}, logarithmic", fontsize=10, color=FAINT)
    style.plain(axes)
    axes.tick_params(axis="x", labelsize=9, labelcolor=INK)


def write(folder=PLOTS):
    """Draw attention.svg and attention.png; returns their paths."""
    content = data()
    width = max(LEAST, LEFT + TREAD * len(content["bars"]) + RIGHT) if content else LEAST
    return style.write("attention", content, draw, folder, (width, HEIGHT), left=LEFT / width, right=1 - RIGHT / width, top=0.89,
                       bottom=0.19)


def stale():
    """Whether plots/attention.svg was drawn from other figures than today's."""
    return style.is_stale("attention", data())

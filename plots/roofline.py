"""The roofline as a picture: the measured roofs, and every step and peer under them."""
from math import atan2, degrees, log10

from plots import style
from plots.style import BLUES, FAINT, INK, PEER, RULE, label
from tools import roofline
from tools.floors import three_digits
from tools.paths import PLOTS

COLOURS = {"matmul": BLUES[2], "softmax": "#3f8f6b", "attention": "#7a5aa6"}
APART = 0.036  # of the height: from one label to the next


def spread(heights, top):
    """Heights of labels, in the order given, none above `top`, as near to their points as they can be without touching."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    groups = []  # [wanted heights]; a group stands APART by APART around their middle

    def bottom(group):
        return sum(height - i * APART for i, height in enumerate(group)) / len(group)

    for i in order:
        groups.append([heights[i]])
        while len(groups) > 1 and bottom(groups[-1]) < bottom(groups[-2]) + len(groups[-2]) * APART:
            groups[-2:] = [groups[-2] + groups[-1]]
    placed = [max(bottom(group), 0) + i * APART for group in groups for i in range(len(group))]
    for i in reversed(range(len(placed))):
        placed[i] = min(placed[i], top - (len(placed) - 1 - i) * APART)
    return [placed[order.index(i)] for i in range(len(heights))]


def draw_roofs(axes, roofs, limits, slope):
    """The measured roofs as one line, the published ones thin above it; slope, in degrees, is that of a bandwidth."""
    (left, right), ridge = limits, None
    for kind, width, colour in (("published", 1, FAINT), ("rate", 2.2, INK)):
        bandwidth, peak = roofs["DRAM"][kind] / 1e3, roofs["fp32"][kind]
        ridge = peak / bandwidth
        axes.plot([left, ridge, right], [left * bandwidth, peak, peak], color=colour, linewidth=width, zorder=2,
                  linestyle="-" if kind == "rate" else (0, (2, 2)))
    label(axes, f"fp32: {three_digits(peak)} TFLOPS measured, {three_digits(roofs['fp32']['published'])} published", ridge, peak,
          (12, 9), fontsize=10, color=INK)
    middle = (left * ridge) ** 0.5 if left < ridge else left
    label(axes, f"DRAM: {roofs['DRAM']['rate']:,.0f} GB/s measured, {roofs['DRAM']['published']:,.0f} published", middle,
          middle * bandwidth, (-8, 6), fontsize=10, color=INK, ha="center", rotation=slope, rotation_mode="anchor")
    axes.plot([ridge, ridge], [axes.get_ylim()[0], peak], color=RULE, linewidth=1, zorder=1)
    label(axes, f"ridge: {ridge:.1f}", ridge, axes.get_ylim()[0], (4, 5), fontsize=9, color=FAINT)


def draw_column(axes, marks, on_left, height, roof):
    """The points of one intensity, their names beside them and below the roof."""
    low, high = map(log10, axes.get_ylim())
    share = lambda rate: (log10(rate) - low) / (high - low)
    wanted = [share(mark["tflops"]) for mark in marks]
    for mark, at, place in zip(marks, wanted, spread(wanted, share(roof) - 0.6 * APART)):
        colour = PEER if mark["peer"] else COLOURS.get(mark["operation"], INK)
        axes.plot(mark["intensity"], mark["tflops"], "D" if mark["peer"] else "o", markersize=6.5, color=colour, zorder=4,
                  markerfacecolor="white" if mark["peer"] else colour)
        side = -1 if on_left else 1
        label(axes, f"{mark['name'].split(' (')[0]}  {mark['tflops']:.3g}", mark["intensity"], mark["tflops"],
              (16 * side, (place - at) * height), fontsize=8.5, color=colour, va="center", ha="right" if on_left else "left",
              zorder=3, arrowprops={"arrowstyle": "-", "color": RULE, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 2,
                                    "relpos": (on_left, 0.5)})


def draw(axes, content):
    marks, roofs = content["points"], content["roofs"]
    columns = sorted({mark["intensity"] for mark in marks})
    limits = min([0.1, *(x / 3 for x in columns)]), max([1000, *(x * 40 for x in columns)])  # room for the names
    rates = [mark["tflops"] for mark in marks] + [roof["rate"] for name, roof in roofs.items() if name == "fp32"]
    axes.set(xscale="log", yscale="log", xlim=limits, ylim=(min([0.1, *(rate / 2 for rate in rates)]), max([100, *rates]) * 1.5))
    bottom, top = axes.get_ylim()
    width, height = (72 * size * share for size, share in zip(axes.figure.get_size_inches(), axes.get_position().size))  # points
    if len(roofs) == 2:
        slope = degrees(atan2(height / log10(top / bottom), width / log10(limits[1] / limits[0])))
        draw_roofs(axes, roofs, limits, slope)
    edges = [limits[0], *columns, limits[1]]
    for before, x, after in zip(edges, columns, edges[2:]):
        mine = [mark for mark in marks if mark["intensity"] == x]
        roof = roofline.bound(x, roofs)
        draw_column(axes, mine, x / before > after / x, height, roof[0] if roof else top)
    style.plain(axes, "both")
    axes.set_title("Roofline: recorded steps under the roofs of an NVIDIA H200" + ("" if len(roofs) == 2 else ", not measured yet"),
                   loc="left", fontsize=12.5, fontweight="bold", color=INK, pad=20)
    label(axes, "TFLOPS", limits[0], top, (0, 6), fontsize=10, color=FAINT)
    axes.set_xlabel("floating-point operations for each byte that DRAM must move at the least", fontsize=10, color=FAINT)


def write(folder=PLOTS):
    """Draw roofline.svg and roofline.png. Returns their paths."""
    return style.write("roofline", roofline.data(), draw, folder, figsize=(10, 7), left=0.07, right=0.98, top=0.9, bottom=0.09)


def stale():
    """Whether plots/roofline.svg was drawn from other figures than today's."""
    return style.is_stale("roofline", roofline.data())

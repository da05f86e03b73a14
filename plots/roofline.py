"""The roofline as a picture, a panel for what moves bytes and one for each kind of arithmetic: the measured roofs, and every step
and peer under them, each where the bytes that DRAM moved put it, with the place that the fewest possible bytes would give it as a
hollow mark beside."""
from math import atan2, degrees, log10

from plots import style
from plots.style import BLUES, FAINT, INK, PEER, RULE, label
from tools import results, roofline
from tools.floors import three_digits
from tools.paths import PLOTS

COLOURS = {"matmul": BLUES[2], "softmax": "#3f8f6b", "attention": "#7a5aa6", "axpy": "#8a6d1f", "sum": "#8a6d1f"}
SIZE = 8.5  # points: of the names
LINE, LETTER = 1.25 * SIZE, 0.56 * SIZE  # points: what a name needs in height, and for each letter
# Where a name may stand beside its mark, in points from it, the nearest first: right and left, near and far, up and down.
OFFSETS = sorted(((side * (9 + 12 * column), 0.5 * LINE * row) for side in (1, -1) for column in range(8) for row in range(-16, 17)),
                 key=lambda at: (abs(at[0]) + 1.6 * abs(at[1]), -at[0]))
SAMPLES = 14  # points of the line from a mark to its name


def peak_of(roofs):
    """Of a panel's roofs, the one that is not DRAM's."""
    return next(name for name in roofs if name != "DRAM")


def draw_roofs(axes, roofs, limits, slope):
    """The measured roofs as one line, the published ones thin above it; slope, in degrees, is that of a bandwidth."""
    (left, right), ridge, name = limits, None, peak_of(roofs)
    for kind, width, colour in (("published", 1, FAINT), ("rate", 2.2, INK)):
        bandwidth, peak = roofs["DRAM"][kind] / 1e3, roofs[name][kind]
        ridge = peak / bandwidth
        under = [x for x in (left, ridge, right) if left <= x <= right]
        axes.plot(under, [min(x * bandwidth, peak) for x in under], color=colour, linewidth=width, zorder=2,
                  linestyle="-" if kind == "rate" else (0, (2, 2)))
    if 4 * left < ridge:
        middle = (left * min(ridge, right)) ** 0.5
        text = f"DRAM: {roofs['DRAM']['rate']:,.0f} GB/s measured"
        text += f", {roofs['DRAM']['published']:,.0f} published" if right < ridge else ""
        label(axes, text, middle, middle * bandwidth, (-8, 6), fontsize=10, color=INK, ha="center", rotation=slope,
              rotation_mode="anchor")
    if ridge < right:
        title = {"tensor": "tensor cores, by WMMA"}.get(name, name)  # wgmma reaches more, which is how cuBLAS stands above it
        label(axes, f"{title}: {three_digits(peak)} TFLOPS measured, {three_digits(roofs[name]['published'])} published",
              max(left, ridge), roofs[name]["published"], (4, 8), fontsize=10, color=INK)
    if left < ridge < right:
        axes.plot([ridge, ridge], [axes.get_ylim()[0], peak], color=RULE, linewidth=1, zorder=1)
        label(axes, f"ridge of the measured roofs: {ridge:.1f} operations a byte", ridge, axes.get_ylim()[0], (4, 5), fontsize=9,
              color=FAINT)


def along(begin, end, step=4):
    """Small boxes (left, bottom, right, top) that cover a line."""
    parts = max(1, int(max(abs(end[0] - begin[0]), abs(end[1] - begin[1])) / step))
    at = [(begin[0] + (end[0] - begin[0]) * i / parts, begin[1] + (end[1] - begin[1]) * i / parts) for i in range(parts + 1)]
    return [(x - 1, y - 1, x + 1, y + 1) for x, y in at]


def box_of(mark, text, offset):
    """The box of a name beside its mark, offset points away: to the right of that point, or to its left."""
    x, y = mark[0] + offset[0], mark[1] + offset[1]
    width = LETTER * len(text)
    return (x if offset[0] > 0 else x - width, y - LINE / 2, x + width if offset[0] > 0 else x, y + LINE / 2)


def touched(boxes, others):
    """How many of the others each box touches."""
    import numpy
    one, other = numpy.array(boxes)[:, None], numpy.array(list(others)).reshape(-1, 4)[None]
    return ((one[..., 0] < other[..., 2]) & (other[..., 0] < one[..., 2]) & (one[..., 1] < other[..., 3])
            & (other[..., 1] < one[..., 3])).sum(1)


def place(marks, texts, taken, forbidden):
    """For each mark, the offset at which its name and the line to it touch the least, and of those the nearest: one name after
    the other, then again as the others now stand. Forbidden is worse than taken."""
    import numpy
    dots, standing, found = [(x - 5, y - 5, x + 5, y + 5) for x, y in marks], {}, {}
    steps, distance = numpy.linspace(0, 1, SAMPLES)[2:], numpy.array([0.02 * (abs(dx) + abs(dy)) for dx, dy in OFFSETS])
    for _ in range(4):
        for i, (mark, text) in enumerate(zip(marks, texts)):
            names = [box for other, (box, _) in standing.items() if other != i]
            lines = [part for other, (_, line) in standing.items() if other != i for part in line]
            boxes = [box_of(mark, text, offset) for offset in OFFSETS]
            line = [(mark[0] + dx * part - 1, mark[1] + dy * part - 1, mark[0] + dx * part + 1, mark[1] + dy * part + 1)
                    for dx, dy in OFFSETS for part in steps]
            away = [dot for dot, (x, y) in zip(dots, marks) if abs(x - mark[0]) + abs(y - mark[1]) > 12]  # the near ones hide no line
            over = lambda others: (touched(line, others).reshape(len(OFFSETS), len(steps)).sum(1) if others else 0)
            cost = (distance + 100 * touched(boxes, forbidden) + 30 * touched(boxes, names + dots) + 4 * touched(boxes, taken + lines)
                    + 8 * over(names + away) + over(taken + lines))
            best = int(cost.argmin())
            found[i] = OFFSETS[best]
            standing[i] = boxes[best], along(mark, (mark[0] + found[i][0], mark[1] + found[i][1]))
    return [found[i] for i in range(len(marks))]


def draw_marks(axes, marks, roofs):
    """Every point with its name. What it would be with the fewest bytes is hollow, an arrow away."""
    scale = 72 / axes.figure.dpi
    points = lambda x, y: tuple(scale * part for part in axes.transData.transform((x, y)))
    left, bottom, right, top = (scale * part for corner in ((0, 0), (1, 1)) for part in axes.transAxes.transform(corner))
    forbidden = [(-1e4, -1e4, left, 1e4), (right, -1e4, 1e4, 1e4), (-1e4, -1e4, 1e4, bottom), (-1e4, top, 1e4, 1e4)]
    taken = []
    if len(roofs) == 2:
        (low, high), peak = axes.get_xlim(), peak_of(roofs)
        ridge = roofs[peak]["rate"] / roofs["DRAM"]["rate"] * 1e3
        corners = [(x, roofline.bound(x, roofs, peak)[0]) for x in (low, ridge, high) if low <= x <= high]
        forbidden += [(box[0], box[1], box[2], top) for begin, end in zip(corners, corners[1:])
                      for box in along(points(*begin), points(*end))]  # what lies above a roof
    for mark in marks:
        colour, x, y = PEER if mark["peer"] else COLOURS.get(mark["operation"], INK), roofline.intensity(mark), mark["tflops"]
        axes.plot(x, y, "D" if mark["peer"] else "o", markersize=6.5, color=colour, zorder=4,
                  markerfacecolor=colour if mark["measured"] or not any(other["measured"] for other in marks) and not mark["peer"]
                  else "none")
        if mark["measured"] and abs(log10(mark["least"] / x)) > 0.02:
            axes.annotate("", (x, y), xytext=(mark["least"], y), zorder=3,
                          arrowprops={"arrowstyle": "->", "color": colour, "linewidth": 0.8, "alpha": 0.6, "shrinkA": 3, "shrinkB": 4})
            axes.plot(mark["least"], y, "o", markersize=4.5, color=colour, markerfacecolor="none", alpha=0.7, zorder=3)
            taken += along(points(mark["least"], y), points(x, y))[2:-2]
    marks = sorted(marks, key=lambda mark: -mark["tflops"])
    texts = [f"{mark['name'].split(' (')[0]}  {mark['tflops']:.3g}" for mark in marks]
    at = [points(roofline.intensity(mark), mark["tflops"]) for mark in marks]
    for mark, text, offset in zip(marks, texts, place(at, texts, taken, forbidden)):
        colour, left = PEER if mark["peer"] else COLOURS.get(mark["operation"], INK), offset[0] < 0
        label(axes, text, roofline.intensity(mark), mark["tflops"], offset, fontsize=SIZE, color=colour, va="center",
              ha="right" if left else "left", zorder=5,
              arrowprops={"arrowstyle": "-", "color": colour, "alpha": 0.4, "linewidth": 0.7, "shrinkA": 0, "shrinkB": 3,
                          "relpos": (1 if left else 0, 0.5)})


def draw(axes, marks, roofs, around):
    """One panel: its marks, and the roofs over them; around: how far, as factors, it reaches to their left and right."""
    places = [mark[kind] for mark in marks for kind in ("least", "measured") if mark[kind]]
    limits = min(places) / around[0], max(places) * around[1]
    peaks = [min(roof[kind] * limits[1] / 1e3 if name == "DRAM" else roof[kind] for name, roof in roofs.items())
             for kind in ("rate", "published") if len(roofs) == 2]
    rates = [mark["tflops"] for mark in marks] + peaks
    axes.set(xscale="log", yscale="log", xlim=limits, ylim=(min(rates) / 2, max(rates) * 1.6))
    bottom, top = axes.get_ylim()
    width, height = (72 * size * share for size, share in zip(axes.figure.get_size_inches(), axes.get_position().size))  # points
    if len(roofs) == 2:
        slope = degrees(atan2(height / log10(top / bottom), width / log10(limits[1] / limits[0])))
        draw_roofs(axes, roofs, limits, slope)
    for axis, (low, high) in ((axes.xaxis, limits), (axes.yaxis, (bottom, top))):
        ticks = [digit * 10.0 ** i for i in range(-3, 7) for digit in ((1,) if high / low > 300 else (1, 2, 5))]
        ticks = [tick for tick in ticks if low <= tick <= high]
        axis.set_ticks(ticks, [f"{tick:,g}" for tick in ticks])
        axis.set_ticks([], minor=True)
    style.plain(axes, "both")
    draw_marks(axes, marks, roofs)
    label(axes, "TFLOPS", limits[0], top, (0, 6), fontsize=10, color=FAINT)


def write(folder=PLOTS):
    """Draw roofline.svg and roofline.png: what moves bytes beside what computes with them. Returns their paths."""
    content = roofline.data()
    if not content:
        return []
    marks, roofs = content["points"], content["roofs"]
    kind = lambda mark: (mark["operation"] in results.MOVES_BYTES, roofline.peak(mark))
    panels = [([mark for mark in marks if kind(mark) == (moves, peak)], peak, around)
              for moves, peak, around in ((True, "fp32", (1.6, 5)), (False, "fp32", (3, 16)), (False, "tensor", (3, 16)))]
    panels = [panel for panel in panels if panel[0]]
    figure, columns = style.pyplot().subplots(1, len(panels), figsize=(2 + 5.5 * len(panels), 7), squeeze=False)
    figure.subplots_adjust(left=0.05, right=0.985, top=0.89, bottom=0.1, wspace=0.1)
    for axes, (mine, peak, around) in zip(columns[0], panels):
        draw(axes, mine, {name: roofs[name] for name in ("DRAM", peak) if name in roofs}, around)
    lacking = {"DRAM", *(peak for _, peak, _ in panels)} - roofs.keys()
    figure.suptitle("Roofline: recorded steps under the measured roofs of an NVIDIA H200"
                    + (f"; not measured yet: {', '.join(sorted(lacking))}" if lacking else ""), x=0.05, ha="left", fontsize=13,
                    fontweight="bold", color=INK)
    least = "floating-point operations for each byte that DRAM must move at the least"
    counted = ("floating-point operations for each byte that DRAM moved, as ncu counted. Hollow: for each byte of the fewest possible; "
               "of the peers ncu counted nothing")
    figure.text(0.5, 0.025, counted if any(mark["measured"] for mark in marks) else least, ha="center", fontsize=10, color=FAINT)
    return style.save(figure, "roofline", content, folder)


def stale():
    """Whether plots/roofline.svg was drawn from other figures than today's."""
    return style.is_stale("roofline", roofline.data())

"""The roofline as a picture, a panel for what moves bytes and one for each kind of arithmetic: the measured roofs, and every step,
by its fastest variant, and every peer under them, where the bytes that DRAM moved put it; a hollow mark beside it is where the fewest
possible bytes would. The names stand in a column beside the panel, each a line apart from the next."""
import textwrap
from math import atan2, degrees, log10

from plots import style
from plots.style import BLUES, FAINT, INK, PEER, RULE, label
from tools import results, roofline
from tools.floors import three_digits
from tools.paths import PLOTS

COLOURS = {"matmul": BLUES[2], "softmax": "#3f8f6b", "attention": "#7a5aa6", "axpy": "#8a6d1f", "sum": "#8a6d1f", "scale": "#8a6d1f"}
SIZE, LINE = 8.5, 11.5  # points: of the names, and from one of them to the next
PANEL, NAMES, HIGH = 4.0, 2.8, 5.0  # inches: a panel, the column of its names, their height at the least
LEFT, BETWEEN, ABOVE, BELOW = 0.5, 0.6, 0.5, 0.35  # inches: around the panels
TITLE_LINE, TITLE_LETTER, NOTE_LINE, NOTE_LETTER = 0.22, 0.12, 0.18, 0.075  # inches: a line and a letter of the title and of the note
COLUMNS = 2
OF_RIDGE = 20  # how far left of the ridge a panel begins at the least, as a factor
WORDS = {"tensor": "tensor cores, by WMMA"}  # wgmma reaches more, which is how cuBLAS stands above that roof


def peak_of(roofs):
    """Of a panel's roofs, the one that is not DRAM's."""
    return next(name for name in roofs if name != "DRAM")


def ridge_of(roofs):
    """Operations a byte at which the measured roofs meet."""
    return roofs[peak_of(roofs)]["rate"] / roofs["DRAM"]["rate"] * 1e3


def draw_roofs(axes, roofs):
    """The measured roofs as one line, the published ones thin above it, each with its name."""
    (left, right), (bottom, top), name = axes.get_xlim(), axes.get_ylim(), peak_of(roofs)
    for kind, width, colour in (("published", 1, FAINT), ("rate", 2.2, INK)):
        bandwidth, peak = roofs["DRAM"][kind] / 1e3, roofs[name][kind]
        under = [x for x in (left, peak / bandwidth, right) if left <= x <= right]
        axes.plot(under, [min(x * bandwidth, peak) for x in under], color=colour, linewidth=width, zorder=2,
                  linestyle="-" if kind == "rate" else (0, (2, 2)))
    bandwidth, peak, ridge = roofs["DRAM"]["rate"] / 1e3, roofs[name]["rate"], ridge_of(roofs)
    shown = max(left, bottom / bandwidth), min(ridge, right)
    middle = (shown[0] * shown[1]) ** 0.5
    (low_x, low_y), (high_x, high_y) = (axes.transData.transform((x, x * bandwidth)) for x in shown)
    label(axes, f"DRAM: {roofs['DRAM']['rate']:,.0f} GB/s", middle, middle * bandwidth, (-14, 8), fontsize=9.5, color=INK, ha="center",
          rotation=degrees(atan2(high_y - low_y, high_x - low_x)), rotation_mode="anchor")
    if ridge < right:
        published = roofs[name]["published"]
        more = f", {three_digits(published)} published" if published > 1.05 * peak else ""
        label(axes, f"{WORDS.get(name, name)}: {three_digits(peak)} TFLOPS{more}", right, published, (0, 6), fontsize=9.5,
              color=INK, ha="right")
        axes.plot([ridge, ridge], [bottom, peak], color=RULE, linewidth=1, zorder=1)
        label(axes, f"ridge: {ridge:.1f}", ridge, bottom, (4, 5), fontsize=9, color=FAINT)


def spread(wanted, gap, low, high):
    """The places nearest to the wanted ones, which rise, that are a gap apart and lie between low and high."""
    heaps = []  # of places that touch: [where the first would be, were there no gaps; how many]
    for i, place in enumerate(wanted):
        heaps.append([place - gap * i, 1])
        while len(heaps) > 1 and heaps[-2][0] > heaps[-1][0]:
            (one, many), (other, more) = heaps[-2:]
            heaps[-2:] = [[(one * many + other * more) / (many + more), many + more]]
    most = high - gap * (len(wanted) - 1)
    flat = [min(max(place, low), most) for place, many in heaps for _ in range(many)]
    return [place + gap * i for i, place in enumerate(flat)]


def draw_marks(axes, marks):
    """Every point, and its name in the column on the right. What it would be with the fewest bytes is hollow, an arrow away."""
    scale = 72 / axes.figure.dpi
    (_, bottom), (right, top) = (scale * axes.transAxes.transform(corner) for corner in ((0, 0), (1, 1)))
    marks = sorted(marks, key=lambda mark: mark["tflops"])
    at = [scale * axes.transData.transform((roofline.intensity(mark), mark["tflops"])) for mark in marks]
    counted = any(mark["measured"] for mark in marks)
    for mark, (x, y), height in zip(marks, at, spread([y for _, y in at], LINE, bottom + LINE / 2, top - LINE / 2)):
        colour, place = PEER if mark["peer"] else COLOURS.get(mark["operation"], INK), (roofline.intensity(mark), mark["tflops"])
        solid = mark["measured"] or not counted and not mark["peer"]
        axes.plot(*place, "D" if mark["peer"] else "o", markersize=6, color=colour, zorder=4, markerfacecolor=colour if solid else "none")
        if mark["measured"] and abs(log10(mark["least"] / mark["measured"])) > 0.02:
            axes.annotate("", place, xytext=(mark["least"], mark["tflops"]), zorder=3,
                          arrowprops={"arrowstyle": "->", "color": colour, "linewidth": 0.8, "alpha": 0.6, "shrinkA": 3, "shrinkB": 4})
            axes.plot(mark["least"], mark["tflops"], "o", markersize=4, color=colour, markerfacecolor="none", alpha=0.7, zorder=3)
        label(axes, f"{mark['name'].split(' (')[0]}  {three_digits(mark['tflops'])}", *place, (right + 14 - x, height - y), fontsize=SIZE,
              color=colour, va="center", zorder=5, annotation_clip=False,
              arrowprops={"arrowstyle": "-", "color": colour, "alpha": 0.4, "linewidth": 0.7, "shrinkA": 0, "shrinkB": 3, "relpos": (0, 0.5)})


def draw(axes, marks, roofs, title):
    """One panel: its marks, and the roofs over them, as far as both are known."""
    places = [mark[kind] for mark in marks for kind in ("least", "measured") if mark[kind]]
    rates = [mark["tflops"] for mark in marks]
    left, right = min(places) / 2, max(places) * 2
    if len(roofs) == 2:
        left = min(left, ridge_of(roofs) / OF_RIDGE if right > ridge_of(roofs) else left)
        rates += [min(roofs["DRAM"][kind] * right / 1e3, roofs[peak_of(roofs)][kind]) for kind in ("rate", "published")]
    axes.set(xscale="log", yscale="log", xlim=(left, right), ylim=(min(rates) / 2, max(rates) * 1.8))
    for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        ticks = [digit * 10.0 ** i for i in range(-3, 7) for digit in ((1,) if high / low > 300 else (1, 3))]
        ticks = [tick for tick in ticks if low <= tick <= high]
        axis.set_ticks(ticks, [f"{tick:,g}" for tick in ticks])
        axis.set_ticks([], minor=True)
    style.plain(axes, "both")
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color=INK, pad=6)
    if len(roofs) == 2:
        draw_roofs(axes, roofs)
    draw_marks(axes, marks)


def panels_of(content):
    """[(title, its marks, {name: its roofs})]: what moves bytes; then the arithmetic of fp32, and each operation on 16 bits."""
    found = {}
    for mark in content["points"]:
        peak = roofline.peak(mark)
        title = ("moves bytes and computes little" if mark["operation"] in results.MOVES_BYTES else
                 "fp32" if peak == "fp32" else f"{mark['operation']}, inputs of 16 bits")
        found.setdefault(title, (peak, []))[1].append(mark)
    return [(title, marks, {name: content["roofs"][name] for name in ("DRAM", peak) if name in content["roofs"]})
            for title, (peak, marks) in found.items()]


def picture(name, content, title, panels, folder):
    """Draw panels, [(title, marks, roofs)], below a title; returns the paths."""
    columns = min(COLUMNS, len(panels))
    rows, high = -(-len(panels) // columns), max(HIGH, *(LINE * len(marks) / 72 for _, marks, _ in panels))
    width = LEFT + columns * (PANEL + NAMES) + (columns - 1) * BETWEEN
    counted = any(mark["measured"] for _, marks, _ in panels for mark in marks)
    lacking = {"DRAM", *(roofline.peak(mark) for _, marks, _ in panels for mark in marks)} - content["roofs"].keys()
    note = textwrap.wrap(" ".join(filter(None, [
        "Up: TFLOPS. Across: floating-point operations for each byte that DRAM",
        "moved, as ncu counted; hollow: for each byte of the fewest possible." if counted else "must move at the least.",
        "Of the peers ncu counted nothing." if counted and any(mark["peer"] for _, marks, _ in panels for mark in marks) else "",
        f"Not measured yet: {', '.join(sorted(lacking))}." if lacking else "Dotted: the published roofs."])), int((width - LEFT) / NOTE_LETTER))
    titles = textwrap.wrap(title, int((width - LEFT) / TITLE_LETTER))
    title_height = 0.25 + TITLE_LINE * len(titles)
    height = title_height + rows * (ABOVE + high + BELOW) + NOTE_LINE * (len(note) + 1)
    figure = style.pyplot().figure(figsize=(width, height))
    for place, (words, marks, roofs) in enumerate(panels):
        row, column = divmod(place, columns)
        x, y = LEFT + column * (PANEL + NAMES + BETWEEN), height - title_height - row * (ABOVE + high + BELOW) - ABOVE - high
        draw(figure.add_axes((x / width, y / height, PANEL / width, high / height)), marks, roofs, words)
    figure.text(LEFT / width, 1 - 0.15 / height, "\n".join(titles), fontsize=13, fontweight="bold", color=INK, va="top")
    figure.text(LEFT / width, NOTE_LINE / 2 / height, "\n".join(note), fontsize=9.5, color=FAINT, linespacing=1.3)
    return style.save(figure, name, content, folder)


def write(folder=PLOTS):
    """Draw roofline.svg and roofline.png. Returns their paths."""
    content = roofline.data()
    if not content:
        return []
    return picture("roofline", content, "Roofline: each recorded step, by its fastest variant, under the measured roofs of an NVIDIA H200",
                   panels_of(content), folder)


def stale():
    """Whether plots/roofline.svg was drawn from other figures than today's."""
    return style.is_stale("roofline", roofline.data())

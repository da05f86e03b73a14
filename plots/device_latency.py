"""How long one load takes, against the size of the ring that it walks through: the caches as plateaus."""
from plots import style
from plots.style import BLUES, FAINT, INK, label
from tools import device, run
from tools.floors import three_digits
from tools.paths import PLOTS


def data():
    return [{"bytes": line["shape"]["bytes"], "ns": round(line["figure"]["value"], 2)} for line in device.lines_of("latency")]


def plateaus(points):
    """The first point of each level: the next is as high within 2 %, and the level before is a tenth lower."""
    found = []
    for point, after in zip(points, points[1:]):
        flat = after["ns"] < 1.02 * point["ns"]
        if flat and (not found or point["ns"] > 1.1 * found[-1]["ns"]):
            found.append(point)
    return found


def draw(axes, points):
    sizes, times = [point["bytes"] for point in points], [point["ns"] for point in points]
    axes.plot(sizes, times, "o-", color=BLUES[2], linewidth=1.8, markersize=5, zorder=3)
    for point in plateaus(points):
        first = point is points[0]
        label(axes, f"{three_digits(point['ns'])} ns", point["bytes"], point["ns"], (0 if first else -6, 7), fontsize=11,
              fontweight="bold", color=INK, ha="left" if first else "right")
    axes.set(xscale="log", ylim=(0, max(times) * 1.12))
    axes.set_xscale("log", base=2)
    ticks = [size for size in sizes if size & (size - 1) == 0][::3]
    axes.set_xticks(ticks, [run.size_words(size) for size in ticks])
    axes.set_xlabel("size of the ring, one pointer in each line of 128 bytes, in random order", fontsize=10, color=FAINT)
    axes.set_title("Latency of one load on an NVIDIA H200, recorded", loc="left", fontsize=12.5, fontweight="bold", color=INK,
                   pad=20)
    axes.annotate("ns", (0, 1), xycoords="axes fraction", xytext=(0, 6), textcoords="offset points", fontsize=10, color=FAINT)
    style.plain(axes)


def write(folder=PLOTS):
    return style.write("device_latency", data(), draw, folder, figsize=(8, 4.4), left=0.06, right=0.97, top=0.87, bottom=0.13)


def stale():
    return style.is_stale("device_latency", data())

"""What divergence costs: the same multiply-adds in more and more paths, chosen by lane and by warp."""
from plots import style
from plots.style import BLUES, FAINT, INK, label
from tools import device
from tools.floors import three_digits
from tools.paths import PLOTS


def data():
    return [{**line["shape"], "tflops": round(line["figure"]["value"], 3)} for line in device.lines_of("divergence")]


def draw(axes, points):
    for shade, width, name in ((BLUES[2], 1, "each lane of a warp takes its own path"), (BLUES[0], 32, "each warp takes its own path")):
        mine = [point for point in points if point["width"] == width]
        axes.plot([point["paths"] for point in mine], [point["tflops"] for point in mine], "o-", color=shade, linewidth=1.8,
                  markersize=5, zorder=3)
        for point in mine[::len(mine) - 1 or 1]:
            label(axes, three_digits(point["tflops"]), point["paths"], point["tflops"], (0, 8), fontsize=10, color=INK, ha="center")
        if mine:
            middle = mine[len(mine) // 2]
            label(axes, name, middle["paths"], middle["tflops"], (10, 8), fontsize=10, color=INK)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    paths, rates = [1 << i for i in range(6)], [1 << i for i in range(1, 8)]
    axes.set_xticks(paths, map(str, paths))
    axes.set_yticks(rates, map(str, rates))
    axes.set_xlabel("paths", fontsize=10, color=FAINT)
    axes.set_title("Divergence on an NVIDIA H200, recorded: the same work in 1 to 32 paths", loc="left", fontsize=12.5,
                   fontweight="bold", color=INK, pad=20)
    axes.annotate("TFLOPS", (0, 1), xycoords="axes fraction", xytext=(0, 6), textcoords="offset points", fontsize=10, color=FAINT)
    style.plain(axes)


def write(folder=PLOTS):
    return style.write("device_divergence", data(), draw, folder, figsize=(8, 3.8), left=0.06, right=0.97, top=0.85, bottom=0.14)


def stale():
    return style.is_stale("device_divergence", data())

"""GB/s against the bytes under way on an SM: Little's law as a line, and what was measured beside it."""
from plots import style
from plots.style import BLUES, FAINT, INK, PEER, label
from tools import device
from tools.floors import three_digits
from tools.paths import PLOTS


def data():
    """The three sweeps, and the latency of a load from DRAM when nothing else is under way."""
    points = [{**line["shape"], "gbps": round(line["figure"]["value"], 1), "published": round(line["figure"]["published"])}
              for line in device.lines_of("littles_law")]
    rings = device.lines_of("latency")
    return {"points": points, "latency_ns": round(rings[-1]["figure"]["value"], 1)} if points and rings else None


def under_way(point):
    return point["warps"] * 32 * point["loads"] * point["bytes"]


def name(kind):
    bytes_, loads = kind
    return f"{loads} load{'s' if loads > 1 else ''} of {bytes_} bytes a thread"


def draw_law(axes, content, limits):
    """Bytes under way over latency; it holds until DRAM is busy."""
    latency, sms, published = content["latency_ns"], content["points"][0]["sms"], content["points"][0]["published"]
    reach = min(limits[1], published * latency / sms)
    axes.plot([limits[0], reach], [limits[0] * sms / latency, reach * sms / latency], color=PEER, linewidth=1.3,
              linestyle=(0, (5, 3)), zorder=2)
    label(axes, f"bytes under way / {three_digits(latency)} ns", 1500, 1500 * sms / latency, (-8, 4),
          fontsize=10, color=PEER, ha="right")
    axes.plot(limits, [published] * 2, color=FAINT, linewidth=1, linestyle=(0, (2, 2)), zorder=2)
    label(axes, f"published: {published:,} GB/s", limits[0], published, (2, 5), fontsize=10, color=FAINT)


def draw(axes, content):
    points = content["points"]
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    limits = (96, 192 << 10)
    for shade, kind in zip(BLUES, dict.fromkeys((point["bytes"], point["loads"]) for point in points)):
        mine = [point for point in points if (point["bytes"], point["loads"]) == kind]
        axes.plot([under_way(point) for point in mine], [point["gbps"] for point in mine], "o-", color=shade, linewidth=1.8,
                  markersize=5, zorder=3, label=f"{name(kind)}: {mine[-1]['gbps']:,.0f} with {mine[-1]['warps']} warps")
    draw_law(axes, content, limits)
    axes.set(xlim=limits, ylim=(30, 8000))
    sizes, rates = [128 << i for i in range(0, 11, 2)], [64 << i for i in range(7)]
    axes.set_xticks(sizes, [f"{size} B" if size < 1024 else f"{size >> 10} KiB" for size in sizes])
    axes.set_yticks(rates, [f"{rate:,}" for rate in rates])
    axes.set_xlabel("bytes under way on each SM: warps × 32 × loads × bytes of a load", fontsize=10, color=FAINT)
    axes.set_title("Little's law on an NVIDIA H200, recorded: 1 to 64 warps an SM", loc="left", fontsize=12.5,
                   fontweight="bold", color=INK, pad=20)
    axes.annotate("GB/s", (0, 1), xycoords="axes fraction", xytext=(0, 6), textcoords="offset points", fontsize=10, color=FAINT)
    axes.legend(loc="lower right", frameon=False, fontsize=10, labelcolor=INK)
    style.plain(axes, "both")


def write(folder=PLOTS):
    return style.write("device_littles_law", data(), draw, folder, figsize=(8, 5), left=0.08, right=0.97, top=0.88, bottom=0.12)


def stale():
    return style.is_stale("device_littles_law", data())

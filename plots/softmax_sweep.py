"""The coarsening sweep as a heat map: threads for a row × rows for a thread, one panel a row length, each cell the share
of the device-to-device copy's speed. Drawn from the step's sweep.jsonl, as measured on an H200."""
from plots import style
from plots.style import FAINT, INK
from tools import steps
from tools.paths import PLOTS

STEP = "11"


def data():
    """[{"rows", "cols", "threads": […], "rows_per_thread": […], "share": [[…]]}]; a shape that was refused is null."""
    lines = steps.swept(STEP)
    panels = []
    for rows, cols in sorted({(line["shape"]["rows"], line["shape"]["cols"]) for line in lines}, key=lambda size: size[1]):
        mine = [line for line in lines if (line["shape"]["rows"], line["shape"]["cols"]) == (rows, cols)]
        time = {(line["shape"]["threads_per_row"], line["shape"]["rows_per_thread"]): line["time"]["median_ms"]
                for line in mine}
        copy = time.pop((0, 0), None)  # the peer's line; without it there is nothing to compare with
        if not copy or not time:
            continue
        threads, per_thread = (sorted({key[axis] for key in time}) for axis in (0, 1))
        panels.append({"rows": rows, "cols": cols, "threads": threads, "rows_per_thread": per_thread,
                       "share": [[round(copy / time[t, r], 3) if (t, r) in time else None for r in per_thread]
                                 for t in threads]})
    return panels


def draw_panel(axes, panel, every_threads, every_rows):
    share = {(t, r): value for t, row in zip(panel["threads"], panel["share"])
             for r, value in zip(panel["rows_per_thread"], row)}
    grid = [[share.get((t, r)) for r in every_rows] for t in every_threads]
    best = max(filter(None, sum(grid, [])))
    style.heat_map(axes, grid, every_threads, every_rows, f"{panel['cols']:,} columns", lambda value: value == best, cmap="YlGnBu",
                   vmin=0, vmax=1)


def write(folder=PLOTS):
    """Draw softmax_sweep.svg and .png; the same figures give the same bytes. Returns their paths."""
    panels = data()
    if not panels:
        return []
    every_threads = sorted({t for panel in panels for t in panel["threads"]})
    every_rows = sorted({r for panel in panels for r in panel["rows_per_thread"]})
    figure, row = style.pyplot().subplots(1, len(panels), figsize=(max(2 * len(panels), 6), 4.2), squeeze=False, sharey=True)
    for axes, panel in zip(row[0], panels):
        draw_panel(axes, panel, every_threads, every_rows)
    row[0][0].set_ylabel("threads for a row", color=FAINT, fontsize=10)
    figure.suptitle("Softmax on an NVIDIA H200, recorded: share of the copy's speed", x=0.07, ha="left", fontsize=12.5,
                    fontweight="bold", color=INK)
    figure.text(0.5, 0.03, "rows for a thread", ha="center", color=FAINT, fontsize=10)
    figure.subplots_adjust(left=0.07, right=0.99, top=0.83, bottom=0.13, wspace=0.08)
    return style.save(figure, "softmax_sweep", panels, folder)


def stale():
    """Whether plots/softmax_sweep.svg was drawn from other figures than today's."""
    return style.is_stale("softmax_sweep", data())

"""The ladder as a picture: every step and variant in order, one panel an operation, the peers as lines to reach.

Recorded H200 figures where there are any; else what the emulator counts, and the picture says so."""
from plots import style
from plots.style import BLUES, FAINT, INK, PEER, label
from tools import floors, results, run, steps
from tools.paths import PLOTS


def recorded(step, variant):
    line = results.ours(step, variant)
    return line and (line["gbps"] if step["operation"] == "softmax" else line["tflops"])


def counted(step, variant):
    """Multiply-adds, in thousands, for each clock that the busiest unit needs: what the counts alone can tell."""
    done = run.counted(step, variant)
    case, gpu = done["case"], done["profile"]["gpu"]
    seconds = floors.binding(run.total(done["profile"]), case["flops"], case["bytes"], gpu)[1]
    return case["flops"] / 2000 / (seconds * gpu["clock_ghz"] * 1e9)


def panel(operation, every):
    """What one panel shows: title, unit, bars in order, peers."""
    mine = [step for step in every if step["operation"] == operation]
    known = any(recorded(step, variant) for step in mine for variant in steps.variants(step))
    value = recorded if known else counted
    bars = [{"step": step["name"], "variant": variant, "value": round(figure, 3)}
            for step in mine for variant in steps.variants(step) if (figure := value(step, variant))]
    if not known:
        return {"title": f"{operation}: what the counts allow on an H200", "bars": bars, "peers": [],
                "unit": "thousand multiply-adds a clock, at most (emulator's counts; not a time)"}
    peers = {name: line for step in mine for name, line in results.peers(step).items()}
    unit = "GB/s" if operation == "softmax" else "TFLOPS"
    shape = run.shape_words(results.LADDER_SHAPE[operation])
    return {"title": f"{operation} {shape}, recorded on an NVIDIA H200", "unit": unit, "bars": bars,
            "peers": [{"name": name, "value": round(line["gbps" if unit == "GB/s" else "tflops"], 3)}
                      for name, line in sorted(peers.items())]}


def data():
    every = [step for step in steps.load() if step["operation"] != "device"]  # the ground that the ladder stands on
    return [panel(operation, every) for operation in dict.fromkeys(step["operation"] for step in every)]


def places(bars):
    """Where each bar stands: the variants of a step side by side, a gap before the next step."""
    found, at = [], 0.0
    for bar, before in zip(bars, [None, *bars]):
        at += 0 if before is None else 1 if bar["step"] == before["step"] else 1.35
        found.append(at)
    return found


def figure_of(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def draw_panel(axes, content):
    bars, at = content["bars"], places(content["bars"])
    names = list(dict.fromkeys(bar["step"] for bar in bars))
    top = max(mark["value"] for mark in bars + content["peers"])
    lines = max((bar["variant"] or "").count("_") + 1 for bar in bars)  # of the variants' names
    for x, bar in zip(at, bars):
        axes.bar(x, bar["value"], width=0.94, color=BLUES[min(names.index(bar["step"]), len(BLUES) - 1)], zorder=2)
        label(axes, figure_of(bar["value"]), x, bar["value"], (0, 4), ha="center", fontsize=12, fontweight="bold", color=INK,
              bbox={"facecolor": "white", "edgecolor": "none", "pad": 1}, zorder=3)
        label(axes, (bar["variant"] or "").replace("_", "\n"), x, 0, (0, -6), ha="center", va="top", fontsize=10, color=INK)
    for name in names:
        own = [x for x, bar in zip(at, bars) if bar["step"] == name]
        number, _, *words = name.split("_")
        label(axes, f"{number} {' '.join(words)}", sum(own) / len(own), 0, (0, -lines * 13 - 12), ha="center", va="top", fontsize=11,
              fontweight="bold", color=INK)
    for peer in content["peers"]:
        axes.axhline(peer["value"], color=PEER, linewidth=1.2, linestyle=(0, (5, 3)), zorder=1)
        label(axes, f"{peer['name']}: {figure_of(peer['value'])}", at[0] - 0.47, peer["value"], (0, 4), fontsize=10, color=PEER)
    axes.set(xlim=(at[0] - 0.6, at[-1] + 0.6), ylim=(0, top * 1.12), xticks=[])
    axes.set_title(content["title"], loc="left", fontsize=12.5, fontweight="bold", color=INK, pad=22)
    label(axes, content["unit"], at[0] - 0.6, top * 1.12, (0, 6), fontsize=10, color=FAINT)
    style.plain(axes)


def write(folder=PLOTS):
    """Draw ladder.svg and ladder.png; the same figures give the same bytes. Returns their paths."""
    content = data()
    figure, rows = style.pyplot().subplots(len(content), 1, figsize=(8, 4.5 * len(content)), squeeze=False)
    for axes, part in zip(rows[:, 0], content):
        draw_panel(axes, part)
    height = figure.get_figheight()
    figure.subplots_adjust(left=0.06, right=0.98, top=1 - 0.65 / height, bottom=0.95 / height, hspace=0.62)
    return style.save(figure, "ladder", content, folder)


def stale():
    """Whether plots/ladder.svg was drawn from other figures than today's."""
    return style.is_stale("ladder", data())

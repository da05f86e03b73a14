"""The step that ends attention's road in FlashAttention-3's own setting: over the length of sequences, a panel a head dimension and mask, with
FlashAttention-3 and cuDNN as lines of the same run. Drawn from the step's table.jsonl, as measured on an H200."""
from plots import style
from plots.style import BLUES, FAINT, INK, PEER
from tools import steps
from tools.paths import PLOTS

STEP, HEAT = "49", "rested"
LINES = {"exact": {"color": BLUES[3], "marker": "o", "linewidth": 2.4, "zorder": 3},
         "speculative": {"color": BLUES[1], "marker": "o", "linewidth": 1.8, "zorder": 2},
         "FlashAttention-3": {"color": PEER, "marker": "*", "linewidth": 1.4, "markersize": 8},
         "cuDNN": {"color": PEER, "marker": "^", "linewidth": 1.4, "linestyle": (0, (5, 3))}}


def data():
    """{"title", "panels": {words: {name: [[length, TFLOPS], …]}}}; None where nothing is recorded. The last of a cell counts."""
    found = {}
    for line in (line for step in steps.load() if step["number"] == STEP for line in steps.recorded(step, "table.jsonl")):
        shape = line["shape"]
        if line["time"] and line["heat"] == HEAT and shape["heads"] * shape["head_dim"] == 2048:
            words = f"D {shape['head_dim']}" + (", causal" if shape.get("causal") else "")
            name = line["variant"] or line["peer"].split(", ")[-1]
            found.setdefault(words, {}).setdefault(name, {})[shape["seqlen"]] = round(line["tflops"], 3)
    if not found:
        return None
    return {"title": f"Step {STEP}, FlashAttention-3 and cuDNN in one run: 16,384 tokens in all, fp16, on a {HEAT} NVIDIA H200",
            "panels": {words: {name: sorted(map(list, rates.items())) for name, rates in curves.items()} for words, curves in found.items()}}


def write(folder=PLOTS):
    """Draw attention_cells.svg and .png; the same figures give the same bytes. Returns their paths."""
    content = data()
    if not content:
        return []
    columns = (len(content["panels"]) + 1) // 2
    figure, panels = style.pyplot().subplots(2, columns, figsize=(11, 6.4), sharex=True, squeeze=False)
    for axes, (words, curves) in zip(panels.flat, content["panels"].items()):
        for name, look in LINES.items():
            axes.plot(range(len(curves.get(name, ()))), [rate for _, rate in curves.get(name, ())], label=name, markersize=look.get("markersize", 4),
                      **{key: value for key, value in look.items() if key != "markersize"})
        lengths = [length for length, _ in curves["exact"]]
        axes.set_xticks(range(len(lengths)), [f"{length:,}" for length in lengths])
        axes.set_title(words, loc="left", fontsize=11, fontweight="bold", color=INK)
        style.plain(axes)
    for axes in panels[-1]:
        axes.set_xlabel("sequence length N", fontsize=10, color=FAINT)
    for axes in panels[:, 0]:
        axes.set_ylabel("TFLOPS", fontsize=10, color=FAINT)
    figure.suptitle(content["title"], x=0.065, ha="left", fontsize=13, fontweight="bold", color=INK)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="lower center", ncols=4, frameon=False, fontsize=10, labelcolor=INK)
    figure.subplots_adjust(left=0.065, right=0.98, top=0.88, bottom=0.14, wspace=0.14, hspace=0.2)
    return style.save(figure, "attention_cells", content, folder)


def stale():
    """Whether plots/attention_cells.svg was drawn from other figures than today's."""
    return style.is_stale("attention_cells", data())

"""The roofline: every step that was measured, by the operations that it does for each byte that DRAM must move, under the
roofs that the machine step measured."""
from tools import results, run, steps
from tools.floors import three_digits
from tools.say import out

ROOFS = {"copy": "DRAM", "fma": "fp32"}  # what the machine step measures → what it bounds


def roofs(every):
    """{"DRAM" | "fp32": {"rate": measured, "published": …, "unit": …}}, as far as the machine step was recorded on an H200."""
    found = {}
    for step in every:
        for line in steps.recorded(step):
            if line["operation"] == "device" and line["variant"] in ROOFS and not line.get("peer") and results.on_h200(line):
                found[ROOFS[line["variant"]]] = {"rate": round(line["figure"]["value"], 3), "unit": line["figure"]["unit"],
                                                 "published": round(line["figure"]["published"], 1)}
    return found


def point(line, name, peer):
    return {"name": name, "operation": line["operation"], "shape": run.shape_words(line["shape"]), "peer": peer,
            "intensity": round(line["flops"] / line["bytes"], 4), "tflops": round(line["tflops"], 4)}


def points(every):
    """Every variant recorded on an H200 at its operation's one shape, then the peers; but no copies, which compute nothing."""
    ours = [(line, f"{step['number']} {line['variant'] or steps.short(step)}", False) for step in every
            for line in (results.ours(step, variant) for variant in steps.variants(step)) if line]
    peers = {(line["operation"], name): (line, name, True) for step in every for name, line in results.peers(step).items()
             if not name.startswith("cudaMemcpy")}
    return [point(*found) for found in [*ours, *peers.values()] if found[0].get("flops") and found[0].get("bytes")]


def data():
    """Roofs and points; None where no step was measured."""
    every = steps.load()
    marks = points(every)
    return {"roofs": roofs(every), "points": marks} if marks else None


def bound(intensity, found):
    """(TFLOPS that the roofs allow at an intensity, the roof that says so); None while a roof is missing."""
    if set(found) != set(ROOFS.values()):
        return None
    return min((found["DRAM"]["rate"] * intensity / 1e3, "DRAM"), (found["fp32"]["rate"], "fp32"))


def show(content):
    """The points as a table, the best last."""
    from rich.table import Table

    if not content:
        return out.print("No step was measured on an H200 yet.")
    table = Table("", "operations a byte", "TFLOPS", "of the roof", "", box=None, header_style="bold")
    for column in table.columns[1:4]:
        column.justify = "right"
    for mark in sorted(content["points"], key=lambda mark: (mark["operation"], mark["tflops"])):
        roof = bound(mark["intensity"], content["roofs"])
        table.add_row(mark["name"], f"{mark['intensity']:,.4g}", three_digits(mark["tflops"]),
                      f"{100 * mark['tflops'] / roof[0]:.1f} %" if roof else "–",
                      f"[dim]{roof[1] if roof else ''} {mark['operation']} {mark['shape']}[/]")
    out.print("Recorded on an NVIDIA H200. Operations a byte: of the fewest bytes that DRAM must move.")
    for name, roof in content["roofs"].items():
        out.print(f"Roof, measured by the machine step: {name} {three_digits(roof['rate'])} {roof['unit']}")
    out.print(table)

"""The roofline: every step that was measured, by its fastest variant, at the operations that it does for each byte that DRAM moves, under
the roofs that the machine step measured. The bytes are those that ncu counted, and where it counted none the fewest possible."""
from tools import results, run, steps
from tools.floors import three_digits
from tools.say import out

ROOFS = {"copy": "DRAM", "fma": "fp32", "tensor": "tensor"}  # what the machine step measures → what it bounds


def roofs(every):
    """{"DRAM" | "fp32" | "tensor": {"rate": measured, "published": …, "unit": …}}, as far as the machine step was recorded on an H200."""
    found = {}
    for step in every:
        for line in steps.recorded(step):
            if line["operation"] == "device" and line["variant"] in ROOFS and not line.get("peer") and results.on_h200(line):
                found[ROOFS[line["variant"]]] = {"rate": round(line["figure"]["value"], 3), "unit": line["figure"]["unit"],
                                                 "published": round(line["figure"]["published"], 1)}
    return found


def dram_bytes(ncu):
    """What DRAM moved, of what ncu counted; None where it did not count that."""
    moved = [(ncu or {}).get(name) for name in ("dram_ld_bytes", "dram_st_bytes")]
    return sum(moved) if None not in moved else None


def point(line, name, peer, ncu=None):
    """least: operations for each byte that DRAM must move; measured: for each that it did move, or None."""
    moved = dram_bytes(ncu)
    return {"name": name, "operation": line["operation"], "shape": run.shape_words(line["shape"]), "peer": peer,
            **({} if line["dtype"] == "fp32" else {"dtype": line["dtype"]}),
            "least": round(line["flops"] / line["bytes"], 4), "measured": round(line["flops"] / moved, 4) if moved else None,
            "tflops": round(line["tflops"], 4)}


def intensity(mark):
    return mark["measured"] or mark["least"]


def points(every):
    """The fastest variant of each step whose figures are of its operation's one shape, as recorded on an H200, then the peers; but no
    copies, which compute nothing."""
    alike = [step for step in every if results.headline(step) == results.LADDER_SHAPE[step["operation"]]]
    ours = [(line, steps.caption(step), False, results.hardware(step, line["variant"], line["shape"]))
            for step in alike if (line := results.best(step))]
    peers = [(line, name, True) for kind in dict.fromkeys(map(steps.kind, every))
             for name, line in results.peer_records(kind, results.LADDER_SHAPE[kind[0]]).items() if not name.startswith("cudaMemcpy")]
    return [point(*found) for found in [*ours, *peers] if found[0].get("flops") and found[0].get("bytes")]


def data():
    """Roofs and points; None where no step was measured."""
    every = steps.load()
    marks = points(every)
    return {"roofs": roofs(every), "points": marks} if marks else None


def bound(intensity, found, peak):
    """(TFLOPS that DRAM and the peak allow at an intensity, the roof that says so); None while one of the two is missing."""
    if not {"DRAM", peak} <= found.keys():
        return None
    return min((found["DRAM"]["rate"] * intensity / 1e3, "DRAM"), (found[peak]["rate"], peak))


def peak(mark):
    """What multiplies numbers of the mark's type: tensor cores for 16 bits, whether the step uses them or not."""
    return "tensor" if "dtype" in mark else "fp32"


def show(content):
    """The points as a table, the best last."""
    from rich.table import Table

    if not content:
        return out.print("No step was measured on an H200 yet.")
    measured = any(mark["measured"] for mark in content["points"])
    table = Table("", "operations a byte", *(["by ncu"] if measured else []), "TFLOPS", "of the roof", "", box=None,
                  header_style="bold")
    for column in table.columns[1:-1]:
        column.justify = "right"
    for mark in sorted(content["points"], key=lambda mark: (mark["operation"], mark["tflops"])):
        roof = bound(intensity(mark), content["roofs"], peak(mark))
        table.add_row(mark["name"], f"{mark['least']:,.4g}",
                      *([f"{mark['measured']:,.4g}" if mark["measured"] else "–"] if measured else []), three_digits(mark["tflops"]),
                      f"{100 * mark['tflops'] / roof[0]:.1f} %" if roof else "–",
                      f"[dim]{roof[1] if roof else ''} {mark['operation']} {mark['shape']}[/]")
    out.print("Recorded on an NVIDIA H200. Operations a byte: of the fewest bytes that DRAM must move"
              + ("; by ncu: of those that it moved, as ncu counted them." if measured else "."))
    for name, roof in content["roofs"].items():
        out.print(f"Roof, measured by the machine step: {name} {three_digits(roof['rate'])} {roof['unit']}")
    out.print(table)

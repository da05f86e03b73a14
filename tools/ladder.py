"""The ladder: a table of every step and variant, for the emulator's counts or a GPU's times. It reads well at 80
columns, two lines a row, and at 120, one line a row."""
from rich.console import Group
from rich.text import Text

from tools import floors, results, run, steps

WIDE = 118


def number(count):
    return f"{count:,}" if count < 1e7 else f"{count / 1e6:,.1f} M"


def error_cell(done):
    if done["status"] == 77:
        return "skipped", ""
    check = (done["case"] or {}).get("check")
    if done["status"] or not check:
        return f"[bold red]{'WRONG' if done['status'] == 1 else 'failed'}[/]", f"status {done['status']}"
    return f"[green]{check['error']:.1e}[/]", f"≤ {check['bound']:.1e}"


def says_a_rate(line):
    """A latency, say, is neither operations nor bytes a second."""
    return (line["tflops"] or 0) >= 0.01 or (line["gbps"] or 0) >= 1


def recorded_cell(step, variant):
    line = results.ours(step, variant)
    if not line:
        return "–", ""
    return results.milliseconds(line), results.rate(line) if says_a_rate(line) else ""


def emulator_cells(step, done):
    """Cells of (main, small print) after the variant's name."""
    cells = [error_cell(done)]
    if done["profile"] and done["case"]:
        counts, case = run.total(done["profile"]), done["case"]
        gpu = done["profile"]["gpu"]
        ncu = results.hardware(step, done["variant"], case["shape"]) if gpu["name"] == "h200" else None
        unit, seconds = floors.binding(floors.executed(counts, ncu), case["flops"], case["bytes"], gpu)
        sectors = run.sectors_per_request(counts)
        cells += [(number(counts["shared_ld_requests"] + counts["shared_st_requests"]), ""),
                  (number(counts["shared_ld_conflicts"] + counts["shared_st_conflicts"]), ""),
                  (f"{sectors:.2f}" if sectors else "–", ""), (number(counts["barriers"]), ""),
                  (floors.duration(seconds), unit)]
    else:
        cells += [("–", "")] * 5
    return cells + [recorded_cell(step, done["variant"])]


def time_of(done):
    return done["case"]["time"]["median_ms"] if done["case"] and done["case"]["time"] else None


def gpu_cells(step, done, fastest):
    """As emulator_cells; fastest is {step name: milliseconds} of this run."""
    cells, origin = [error_cell(done)], steps.origin(step)
    alike = origin and origin["operation"] == step["operation"]
    time, before = time_of(done), fastest.get(origin["name"]) if alike else None
    if not time:
        return cells + [("–", "")] * 4
    case = done["case"]
    return cells + [(floors.duration(time / 1e3), f"{case['time']['p10_ms']:.3g}–{case['time']['p90_ms']:.3g}"),
                    *((tuple(results.rate(case).split()), (f"{100 * case['of_floor']:.0f} %", "")) if says_a_rate(case)
                      else [("–", "")] * 2),
                    (f"{before / time:.2f} × {steps.reference(origin)}", "") if before else ("–", "")]


def columns(backend, gpu):
    """(title, small print, width at 80 columns, width at WIDE)."""
    if backend == "cpu":
        return [("variant", "", 12, 19), ("error", "≤ bound", 9, 17), ("shared", "requests", 8, 11),
                ("bank", "conflicts", 9, 11), ("sectors/", "request", 8, 9), ("warp", "barriers", 8, 10),
                ("floor on", gpu.upper(), 8, 14), ("H200,", "recorded", 11, 20)]
    return [("variant", "", 16, 20), ("error", "≤ bound", 9, 17), ("time", "p10–p90 ms", 12, 24),
            ("rate", "", 9, 15), ("of the", "floor", 7, 9), ("against the", "step before", 15, 16)]


def line(cells, widths, style=""):
    """One line of text: markup cells, the first flush left, the others flush right."""
    text = Text(style=style)
    for place, (cell, width) in enumerate(zip(cells, widths)):
        part = Text.from_markup(cell)
        part.align("right" if place else "left", width)
        text.append_text(part).append(" ")
    text.rstrip()
    return text


def lines(cells, widths, wide):
    """One line where it is wide, else two: the small print goes below."""
    small = [f"[dim]{below}[/]" if below else "" for _, below in cells]
    if wide:
        return [line([f"{main} {below}".rstrip() for (main, _), below in zip(cells, small)], widths)]
    return [line([main for main, _ in cells], widths), *([line(small, widths)] if any(small) else [])]


def render(runs, backend, gpu, width):
    """A rich renderable. runs: (step, what run.case gave), in order, all on one backend."""
    wide = width >= WIDE
    shape = columns(backend, gpu)
    widths = [column[3] if wide else column[2] for column in shape]
    parts = [line([column[row] for column in shape], widths, "bold") for row in (0, 1)]
    parts.append(Text("─" * (sum(widths) + len(widths) - 1), style="dim"))
    fastest, before = {}, None
    for step, done in runs:
        if time_of(done):
            fastest[step["name"]] = min(time_of(done), fastest.get(step["name"], float("inf")))
    for step, done in runs:
        if step is not before:
            came = f" [dim](from {', '.join(step['from'])})[/]" if step["from"] else ""
            parts.append(Text.from_markup(f"[bold cyan]{steps.title(step)}[/]  {step['idea']}{came}"))
        name = "  " + (done["variant"] or "")
        cells = emulator_cells(step, done) if backend == "cpu" else gpu_cells(step, done, fastest)
        parts += lines([(name[:widths[0]], name[widths[0]:]), *cells], widths, wide)
        before = step
    return Group(*parts)

"""The generated parts of README.md and steps/*/README.md, between <!-- generated: NAME --> and <!-- /generated -->."""
import re
import subprocess

from tools import build, device, emulate, floors, machine, results, run, source, steps
from tools.guard import stop
from tools.paths import ROOT

BLOCK = re.compile(r"<!-- generated: (?P<name>.+?) -->\n(?P<body>.*?)<!-- /generated -->", re.DOTALL)
OPEN = "<!-- generated: "


def table(head, rows):
    """A Markdown table; columns of nothing but numbers are flush right."""
    number = re.compile(r"[\d.,–% ]*")
    ruler = ["---:" if all(map(number.fullmatch, column)) else "---" for column in zip(*rows)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ruler, *rows))


def link(step, base):
    return f"[{steps.title(step)}]({'' if base == ROOT else '../../'}{step['dir']}/)"


def counted(step):
    """(variant, done, counts) of every variant on the emulator."""
    for variant in steps.variants(step):
        done = run.counted(step, variant)
        if done["status"]:
            stop(f"{step['name']} {variant or ''} ended with status {done['status']}:\n{done['output']}", 1)
        yield variant, done, run.total(done["profile"])


def ladder(base):
    """One row a step: its fastest variant on an H200, or else the last, which is the default."""
    rows = []
    for step in steps.load():
        line = results.best(step)
        variant = line["variant"] if line else steps.variants(step)[-1]
        done = run.counted(step, variant)
        counts = run.total(done["profile"])
        sectors = counts["global_ld_sectors"] + counts["global_st_sectors"]
        rows.append((link(step, base), variant or "", f"{sectors:,} at {run.shape_words(done['case']['shape'])}",
                     f"{results.milliseconds(line)}, {results.rate(line)} at {run.shape_words(line['shape'])}" if line else "–"))
    return table(("step", "variant", "counted: global sectors", "recorded on an NVIDIA H200"), rows)


def steps_table(base):
    rows = []
    for step in steps.load():
        line = results.best(step)
        rows.append((link(step, base), step["idea"], ", ".join(step["from"]) or "–",
                     machine.capability_of(step["arch"]), results.rate(line) if line else "–"))
    return table(("step", "the one idea", "from", "compute capability", "NVIDIA H200, recorded"), rows)


def diff(step):
    before = steps.origin(step)
    if before is None:
        return "This step begins its branch: there is nothing to compare it with."
    changed = source.changed_lines(steps.source(before).read_text(), steps.source(step).read_text())
    return (f"<details>\n<summary>The diff from {before['name']}: {changed} code lines added or changed</summary>\n\n"
            f"```diff\n{source.unified(before, step)}```\n\n</details>")


def walk(step, anchor):
    path = steps.source(step)
    known = source.pieces(path.read_text())
    if anchor not in known:
        stop(f"{path.relative_to(ROOT)} has no piece // [{anchor}]. It has: {', '.join(known) or 'none'}.")
    first, last, code = known[anchor]
    return f"[{path.name}, lines {first}–{last}]({path.name}#L{first}-L{last})\n\n```cuda\n{code}\n```"


def machine_results(step):
    """What `machine` measured: roofs, latencies, costs."""
    line = results.best(step)
    if not line:
        return "Not measured on an H200 yet."
    env = line["env"]
    return (f"On an {line['device']} (driver {env['gpu_driver']}, CUDA {env['cuda']}, {env['temperature_c']} °C, {env['date']}):"
            "\n\n" + table(("", "", "measured", "of the published"), device.short_table(step)))


def results_of(step):
    if step["operation"] == "device":
        return machine_results(step)
    ours = [line for line in (results.ours(step, variant) for variant in steps.variants(step)) if line]
    if not ours:
        return "Not measured on an H200 yet."
    best, peers, before = results.best(step), results.peers(step), steps.origin(step)
    rows = [(line["variant"] or steps.short(step), f"{line['time']['median_ms']:.3f}",
             f"{line['time']['p10_ms']:.3f}–{line['time']['p90_ms']:.3f}", results.rate(line),
             f"{100 * line['of_floor']:.1f} %", f"{line['check']['error']:.1e} ≤ {line['check']['bound']:.1e}")
            for line in ours]
    rows += [(name, f"{line['time']['median_ms']:.3f}", f"{line['time']['p10_ms']:.3f}–{line['time']['p90_ms']:.3f}",
              results.rate(line), "", f"{line['check']['error']:.1e}" if line["check"] else "")
             for name, line in peers.items()]
    time = lambda line: line["time"]["median_ms"]
    ratios = [f"{time(line) / time(best):.2f} × {line['variant']}" for line in ours if line != best]
    if before and (reached := results.best(before)):
        ratios.append(f"{time(reached) / time(best):.2f} × {steps.reference(before)}'s {reached['variant'] or 'time'}")
    ratios += [f"{time(line) / time(best):.2f} × {name.split(' (')[0]}" for name, line in peers.items()]
    env = best["env"]
    return (f"{best['operation']} {best['dtype']}, {run.shape_words(best['shape'])}, on an {best['device']} "
            f"(driver {env['gpu_driver']}, CUDA {env['cuda']}, {env['temperature_c']} °C, {env['date']}):\n\n"
            + table(("", "median ms", "p10–p90", "rate", "of the floor", "error"), rows)
            + f"\n\nSpeed of {best['variant'] or steps.short(step)}: {results.rate(best)}"
            + (f"; {', '.join(ratios)}." if ratios else "."))


def floors_of(step):
    """Each unit's floor, from the emulator's counts at the default shape and published rates; the longest one binds."""
    rows, shape, gpu = [], "", None
    for variant, done, counts in counted(step):
        case, gpu = done["case"], done["profile"]["gpu"]
        shape = run.shape_words(case["shape"])
        seconds = floors.units(counts, case["flops"], case["bytes"], gpu)
        unit, longest = floors.binding(counts, case["flops"], case["bytes"], gpu)
        rows.append((variant or steps.short(step), *map(floors.duration, seconds.values()),
                     f"{unit}, {floors.three_digits(longest / seconds['fp32'])} × fp32" if seconds["fp32"] else unit))
    return (f"At {shape}, of an {gpu['title']}: the least time that each unit needs for what the emulator counted, by "
            "published rates. Arithmetic, not a measurement.\n\n" + table(("", *seconds, "binding"), rows))


def shapes(step):
    """Every shape that the step was timed at: its variants' and the peers' rates, and their share of the first peer's."""
    plain = results.LADDER_SHAPE[step["operation"]].keys()
    lines = [line for line in steps.recorded(step) if line.get("time") and line["shape"].keys() == plain]
    sizes = list(dict.fromkeys(tuple(line["shape"].values()) for line in lines))
    found = {(line.get("peer") or line["variant"], tuple(line["shape"].values())): line for line in lines}
    names = list(dict.fromkeys(name for name, _ in found))
    first = next((name for name, _ in found if (found[name, sizes[0]]).get("peer")), None) if sizes else None

    def cell(name, size):
        line = found.get((name, size))
        share = f" ({found[first, size]['time']['median_ms'] / line['time']['median_ms']:.2f})" if line and first else ""
        return f"{results.rate(line)}{share}" if line else "–"

    words = lambda size: run.shape_words(dict(zip(plain, size))) if "seqlen" in plain else " × ".join(f"{part:,}" for part in size)
    head = ("", *map(words, sizes))
    return table(head, [(name.split(" (")[0], *(cell(name, size) for size in sizes)) for name in names])


def growth(step):
    """Time and peak device memory at the ladder's shape for each sequence length that was timed, and how both grew."""
    ladder = results.LADDER_SHAPE["attention"]
    lines = [line for line in steps.recorded(step)
             if line.get("time") and "device_bytes" in line and line["shape"] | {"seqlen": 0} == ladder | {"seqlen": 0}]
    if not lines:
        return "Not measured on an H200 yet."
    found = {(line.get("peer") or line["variant"], line["shape"]["seqlen"]): line for line in lines}
    names, lengths = list(dict.fromkeys(name for name, _ in found)), sorted({length for _, length in found})
    cell = lambda line: f"{results.milliseconds(line)}, {1e-6 * line['device_bytes']:,.0f} MB" if line else "–"

    def ratio(value, name, before, after):
        pair = found.get((name, before)), found.get((name, after))
        return floors.three_digits(value(pair[1]) / value(pair[0])) if all(pair) else "–"

    rows = [(name, *(cell(found.get((name, length))) for length in lengths)) for name in names]
    last = step["variants"][-1]
    for what, value in (("time", lambda line: line["time"]["median_ms"]), ("memory", lambda line: line["device_bytes"])):
        rows.append((f"{last}: {what}, × the N before", "",
                     *(ratio(value, last, *pair) for pair in zip(lengths, lengths[1:]))))
    return table(("N", *(f"{length:,}" for length in lengths)), rows)


def counter_row(name, counts):
    """One row of the counters' table; what ncu was not asked for is a dash."""
    def both(space, counter):
        found = [counts.get(f"{space}_{op}_{counter}") for op in ("ld", "st")]
        return sum(found) if None not in found else None

    requests, sectors = both("global", "requests"), both("global", "sectors")
    cells = [requests, sectors / requests if requests else None, both("shared", "requests"),
             both("shared", "wavefronts"), both("shared", "conflicts"), counts.get("barriers")]
    return (name, *("–" if cell is None else f"{cell:.2f}" if isinstance(cell, float) else f"{cell:,}" for cell in cells))


def counters(step):
    """What the emulator counts of each variant at its default shape, and what ncu counted there on an H200."""
    rows, shape = [], ""
    for variant, done, counts in counted(step):
        name = variant or steps.short(step)
        shape = run.shape_words(done["case"]["shape"])
        rows.append(counter_row(f"{name}, as written", counts))
        rows += [counter_row(f"{name}, ncu", line["ncu"]) for line in steps.recorded(step)
                 if line.get("ncu") and line["variant"] == variant and line["shape"] == done["case"]["shape"]]
    head = "", "global requests", "sectors a request", "shared requests", "wavefronts", "bank conflicts", "barriers (by warp)"
    return (f"At {shape}. As written: counted by the emulator. ncu: counted by an H200's hardware, of what ptxas made of it.\n\n"
            + table(head, rows))


def report(path):
    """The first thing that the emulator says of a faulty program, as the reader sees it from the root of the clone."""
    if not (ROOT / path).is_file():
        stop(f"There is no {path} to report on.")
    said = emulate.compile_and_run([path], cwd=ROOT, environment={"SIMT_WORKERS": "1"}, stderr=subprocess.PIPE).stderr
    first = re.match(r".*?(?=\nsimt: |\Z)", said.rstrip(), re.DOTALL)[0]
    return f"```\n{first}\n```"


def generate(name, base):
    """The text of one block; base is the directory of the README that holds it."""
    kind, *words = name.split()
    whole = {"ladder": ladder, "steps": steps_table}
    each = {"diff": diff, "results": results_of, "shapes": shapes, "counters": counters, "floors": floors_of,
            "growth": growth}
    if kind in whole and not words:
        return whole[kind](base)
    if kind == "report" and len(words) == 1:
        return report(words[0])
    if kind in each and not words or kind == "walk" and len(words) == 1:
        step = steps.find(base.name)
        return walk(step, *words) if kind == "walk" else each[kind](step)
    stop(f"{base / 'README.md'}: nothing generates '{name}'. There are: ladder, steps, diff, results, shapes, growth, counters, floors, "
         "walk ANCHOR, report FILE.cu.")


def renew(text, base):
    """(the text with its generated parts made anew, the names of those that changed)."""
    changed = []

    def block(match):
        body = f"{generate(match['name'], base)}\n"
        if body != match["body"]:
            changed.append(match["name"])
        return f"<!-- generated: {match['name']} -->\n{body}<!-- /generated -->"

    if len(BLOCK.findall(text)) != text.count(OPEN):
        stop(f"{base / 'README.md'}: a generated part has no <!-- /generated -->.")
    return BLOCK.sub(block, text), changed


def docs(check):
    """Write every README's generated parts, or only name those that are stale. Returns [(path, name)]."""
    build.build("cpu")
    stale = []
    for path in [ROOT / "README.md", *sorted(ROOT.glob("steps/*/README.md"))]:
        if not path.exists():
            continue
        text = path.read_text()
        fresh, changed = renew(text, path.parent)
        stale += [(str(path.relative_to(ROOT)), name) for name in changed]
        if changed and not check:
            path.write_text(fresh)
    return stale

"""The generated parts of README.md, docs/memory-hierarchy.md and steps/*/README.md, between <!-- generated: NAME --> and <!-- /generated -->."""
import argparse
import io
import math
import os
import re
import statistics
import subprocess
import textwrap

from rich.console import Console

from tools import (analyze, build, clocks, clocks_picture, decode, device, emulate, exercises, floors, ladder, machine, memory, occupancy, results,
                   run, sass, source, steps, timeline, timeline_picture)
from tools.guard import stop, write_whole
from tools.paths import BUILD, ROOT

BLOCK = re.compile(r"<!-- generated: (?P<name>.+?) -->\n(?P<body>.*?)<!-- /generated -->", re.DOTALL)
OPEN = "<!-- generated: "
QUOTED = re.compile(r"^(?P<file>\w+\.cu):(?P<line>\d+)  (?P<code>\S.*?)…?$", re.MULTILINE)  # of what ./learn profile prints
ELSEWHERE = ROOT / "docs" / "h200_flash_attention_3.jsonl"  # FlashAttention-3 and cuDNN, as a run without the steps had them
MILESTONES = 7  # of the steps, those that gained the most
TOUR_LINES = 6
HEAD_DIMS = 32, 64, 96, 128, 256  # of the table of shared memory
UNFOLDED_ROWS = 7  # of a table of an analysis
MOST_SHAPES = 15  # that are columns of a table
LIMITED = "t4", "a100", "rtx4090", "h200"  # the GPUs whose block limits are compared


def table(head, rows):
    """A Markdown table; columns of nothing but numbers are flush right."""
    number = re.compile(r"[\d.,–% ]*")
    ruler = ["---:" if all(map(number.fullmatch, column)) else "---" for column in zip(*rows)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ruler, *rows))


def link(step, base):
    return f"[{steps.title(step)}]({'' if base == ROOT else '../../'}{step['dir']}/)"


def counted(step):
    """(variant, done, counts) of every variant on the emulator, at its default shape with what the step's figures are of."""
    for variant in steps.variants(step):
        done = run.counted(step, variant, *results.headline_flags(step))
        if done["status"]:
            stop(f"{step['name']} {variant or ''} ended with status {done['status']}:\n{done['output']}", 1)
        yield variant, done, run.total(done["profile"])


def unlike(line, dtype):
    """The type of a line's inputs, where that is not the one expected."""
    return "" if line["dtype"] == dtype else f" in {line['dtype']}"


def in_words(line):
    """A variant, its rate and its shape."""
    name = f"`{line['variant']}`: " if line["variant"] else ""
    return f"{name}{results.rate(line)} at {run.shape_words(line['shape'])}{unlike(line, 'fp32')}"


def fastest(step):
    """A step's fastest variant on an H200, its rate and its shape, in words."""
    line = results.best(step)
    return in_words(line) if line else "–"


def milestones(base):
    """The steps that a visitor is shown first: those whose idea gained the most over the step that they come from, in their order."""
    gains = [(step, *found) for step in steps.load() if (found := results.gain(step)) and found[0] > 1]
    most = sorted(gains, key=lambda gain: -gain[1])[:MILESTONES]
    rows = []
    for step, ratio, other in (gain for gain in gains if gain in most):
        line = results.of_its_idea(step)
        rows.append((link(step, base), in_words(line),
                     f"{floors.three_digits(ratio)} × {steps.reference(steps.origin(step))}{unlike(other, line['dtype'])}"))
    return table(("step", "on an NVIDIA H200", "as fast as"), rows) if rows else "Not measured on an H200 yet."


def claim(base):
    """Attention in fp16: at each shape that lessons have, the fastest step there, and how many times as fast it is as what was timed in the
    same run; a row a shape, the plots' first."""
    from plots.attention import names_of

    of_shape = {}
    for step in steps.load():
        if steps.kind(step) == ("attention", "fp16") and (line := results.best(step)):
            of_shape.setdefault(run.shape_words(line["shape"]), []).append((step, line))
    rows = []
    for words, found in of_shape.items():
        step, line = max(found, key=lambda each: each[1]["tflops"])
        timed = results.peers(step)
        ratios = [f"{floors.three_digits(median(timed[name]) / median(line))} × {short}" for name, short in names_of(timed).items()
                  if name in timed]
        rows.append((words, link(step, base), floors.three_digits(line["tflops"]), "; ".join(ratios) or "–"))
    return table(("shape", "the fastest step", "TFLOPS", "as fast as, in the same run"), rows) if rows else "Not measured on an H200 yet."


def memory_table(name):
    """The memories of an H200, level by level, or what is published of four GPUs."""
    if name == "gpus":
        return table(("", *(occupancy.GPUS[gpu].title for gpu in memory.GPUS)), memory.gpus())
    if name != "levels":
        stop(f"memory {name}: there are memory levels and memory gpus.")
    rows = [tuple(level[part] for part in ("level", "of", "sm", "gpu", "latency", "sm_rate", "rate")) for level in memory.levels() or []]
    return table(("", "belongs to", "size, an SM", "size, the GPU", "latency", "bandwidth, an SM", "bandwidth, the GPU"), rows) if rows \
        else "Not measured on an H200 yet."


def tour(operation):
    """The first lines that a tour prints of an operation's counts, in its first type, as a terminal of 80 columns shows them."""
    alike = [step for step in steps.load() if step["operation"] == operation]
    if not alike:
        stop(f"No step is a {operation}, and a tour shows nothing of it.")
    group = [(step, run.counted(step, variant)) for step in alike if steps.kind(step) == steps.kind(alike[0])
             for variant in steps.variants(step)]
    console = Console(file=io.StringIO(), width=80, highlight=False)
    console.print(ladder.counted(group))
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()[:TOUR_LINES]]
    return "```\n" + "\n".join(lines) + "\n```"


# What a line was measured with, in words.
SETTING = {"gpu_driver": "driver {}", "cuda": "CUDA {}", "torch": "PyTorch {}", "temperature_c": "{} °C", "date": "{}"}


def measured_on(line, *left_out):
    """The GPU of a line, and in brackets what else it was measured with but what is left out."""
    words = (form.format(line["env"][name]) for name, form in SETTING.items() if name not in left_out)
    return f"{line['device']} ({', '.join(words)})"


def recorded_with(every):
    """The versions that the steps' figures were recorded with, in a sentence; empty where there are none."""
    known = [line["env"] for step in every if (line := results.best(step))]
    versions = (("driver", "gpu_driver"), ("CUDA", "cuda"), ("PyTorch", "torch"))
    found = {title: sorted({env[name] for env in known if env.get(name)}) for title, name in versions}
    words = [f"{title} {' or '.join(numbers)}" for title, numbers in found.items() if numbers]
    return f"Recorded on an NVIDIA H200 with {', '.join(words)}." if words else ""


def steps_table(base):
    """Every step, with the compute capability of those that need more than the least."""
    every = steps.load()
    least = min((step["arch"] for step in every), key=lambda arch: int(arch.rstrip("a")))
    rows = []
    for step in every:
        more = "" if step["arch"] == least else f" Needs compute capability {machine.capability_of(step['arch'])}."
        rows.append((link(step, base), step["idea"] + more, ", ".join(step["from"]) or "–", fastest(step)))
    needs = (f"On a GPU, a step needs compute capability {machine.capability_of(least)}; a step that needs more says so in its row. "
             f"{recorded_with(every)}").rstrip()
    return f"{table(('step', 'the one idea', 'from', 'its fastest variant, on an NVIDIA H200'), rows)}\n\n{needs}"


def diff(step):
    before = steps.origin(step)
    if before is None:
        return "This step begins its branch: there is nothing to compare it with."
    changed = source.changed_lines(steps.source(before).read_text(), steps.source(step).read_text())
    return (f"<details>\n<summary>The diff from {before['name']}: {changed} code lines added or changed</summary>\n\n"
            f"```diff\n{source.unified(before, step)}```\n\n</details>")


def piece(path, names, base):
    """The lines of a source from the first of these pieces to the last, without marks, under a link to them."""
    if not path.is_file():
        stop(f"There is no {path.relative_to(ROOT)} to show a piece of.")
    text, called = path.read_text(), path.relative_to(ROOT)
    known = source.pieces(text, called)
    source.named(known, names, called)
    if list(names) != [name for name in known if name in names]:
        stop(f"{called} has the pieces {', '.join(names)} in another order.")
    first, last = known[names[0]].lines(known[names[-1]])
    code = textwrap.dedent("\n".join(source.unmarked(text.splitlines()[first - 1:last])))
    return f"[{path.name}, lines {first}–{last}]({os.path.relpath(path, base)}#L{first}-L{last})\n\n```cuda\n{code}\n```"


def walk(step, *names):
    return piece(steps.source(step), names, steps.directory(step))


def machine_results(step):
    """What `machine` measured: roofs, latencies, costs."""
    line = results.best(step)
    if not line:
        return "Not measured on an H200 yet."
    return (f"On an {measured_on(line, 'torch')}:\n\n" + table(("", "", "measured", "of the published"), device.short_table(step)))


def floor_words(line):
    """What the shares in a table of results are of."""
    unit = floors.unit_for(line["dtype"])
    by = floors.REACHED_BY[unit]
    if device.floor_ms(line) == line["floor_ms"]:
        return "The floor is the least time for the operation's fewest bytes or for its arithmetic, whichever is longer, by published rates."
    return (f"The floor is the least time for the operation by {by}, at the {floors.three_digits(1e-12 * device.reached()[unit])} TFLOPS that this "
            "instruction reached on an H200 in [step machine](../machine/). *Of the published* is the same by the published rate."
            + (" It is no floor of cuBLAS and cuDNN, whose instruction, wgmma, is faster." if unit == "tensor" else ""))


def results_of(step):
    if step["operation"] == "device":
        return machine_results(step)
    ours = results.of_variants(step)
    if not ours:
        return "Not measured on an H200 yet."
    best, peers = results.best(step), results.peers(step)
    by_rates = device.floor_ms(best) > best["floor_ms"]  # else DRAM binds, by its one rate

    def row(name, line, error):
        floor = "" if line.get("peer") else f"{100 * device.floor_ms(line) / median(line):.1f} %"
        published = f"{100 * line['of_floor']:.1f} %" if line.get("of_floor") else ""
        return (name, f"{median(line):.3f}", f"{line['time']['p10_ms']:.3f}–{line['time']['p90_ms']:.3f}", results.rate(line),
                *([published] if by_rates else []), floor, error)

    rows = [row(line["variant"] or steps.short(step), line, f"{line['check']['error']:.1e} ≤ {line['check']['bound']:.1e}")
            for line in ours]
    rows += [row(name, line, f"{line['check']['error']:.1e}" if line["check"] else "") for name, line in peers.items()]
    return (f"{best['operation']} {best['dtype']}, {run.shape_words(best['shape'])}, on an {measured_on(best, 'torch')}:\n\n"
            + table(("", "median ms", "p10–p90", "rate", *(["of the published"] if by_rates else []), "of the floor", "error"), rows)
            + f"\n\n{floor_words(best)}")


def median(line):
    return line["time"]["median_ms"]


def speed(step):
    """The result in one line: the fastest variant's time and rate, and how many times as fast it is as what else was timed."""
    best, before = results.best(step), steps.origin(step)
    if not best:
        return "Not measured on an H200 yet."
    others = [(f"`{line['variant']}`", line) for line in results.of_variants(step) if line != best]
    if before and before["operation"] == step["operation"] and (reached := results.best(before, best["shape"])):
        others.append((f"{steps.reference(before)}'s `{reached['variant']}`{unlike(reached, best['dtype'])}", reached))
    others += [(name.split(" (")[0], line) for name, line in results.peers(step).items()]
    ratios = [f"{median(line) / median(best):.2f} × as fast as {name}" for name, line in others]
    takes = results.milliseconds(best) if median(best) >= 0.1 else floors.duration(1e-3 * median(best))  # never 0.04 ms
    return (f"On an NVIDIA H200, {run.shape_words(best['shape'])} in {best['dtype']}: **`{best['variant']}` takes "
            f"{takes}, {results.rate(best)}**" + (f"; it is {', '.join(ratios)}." if ratios else "."))


OF_ACTIVE = "% of clocks with a block"  # what an SM's units do, ncu takes of the clocks in which the SM has a block

# What ncu counted of a launch: the words of a table's column, and its cell from a line of results.jsonl.
OF_NCU = {
    "dram": ("DRAM, GB read and written", lambda line: 1e-9 * (line["ncu"]["dram_ld_bytes"] + line["ncu"]["dram_st_bytes"])),
    "l2": ("sectors that L2 sent", lambda line: line["ncu"]["l2_ld_sectors"]),
    "sectors": ("sectors a global load", lambda line: line["ncu"]["global_ld_sectors"] / line["ncu"]["global_ld_requests"]),
    "loaded": ("bytes used of a sector loaded", lambda line: line["ncu"]["global_ld_bytes"] / line["ncu"]["global_ld_sectors"]),
    "stores": ("stores to global memory, by warp", lambda line: line["ncu"]["global_st_requests"]),
    "stored": ("bytes used of a sector stored", lambda line: line["ncu"]["global_st_bytes"] / line["ncu"]["global_st_sectors"]),
    "shared": ("shared wavefronts", lambda line: floors.total(line["ncu"], "shared", "wavefronts")),
    "conflicts": ("bank conflicts, shared memory", lambda line: floors.total(line["ncu"], "shared", "conflicts")),
    "instructions": ("instructions, by warp", lambda line: line["ncu"]["instructions"]),
    "ldmatrix": ("ldmatrix instructions, by warp", lambda line: line["ncu"]["ldmatrix_requests"]),
    "ldmatrix_conflicts": ("bank conflicts of ldmatrix", lambda line: line["ncu"]["ldmatrix_conflicts"]),
    "bulk": ("bulk copies from global memory", lambda line: line["ncu"]["tma_ld_requests"]),
    "copies": ("sectors that cp.async read", lambda line: line["ncu"]["copy_ld_sectors"]),
    "copy_wavefronts": ("wavefronts of cp.async's writes", lambda line: line["ncu"]["copy_st_wavefronts"]),
    "copy_conflicts": ("bank conflicts of cp.async's writes", lambda line: line["ncu"]["copy_st_conflicts"]),
    "l2_hits": ("sectors found in L2, %", lambda line: 100 * line["ncu"]["l2_ld_hit_sectors"] / line["ncu"]["l2_ld_sectors"]),
    "mma": ("tensor core instructions, by warp", lambda line: line["ncu"]["mma"]),
    "atomics": ("atomic instructions", lambda line: line["ncu"]["global_red_requests"]),
    "active": ("clocks in which an SM has a block, %",
               lambda line: 100 * sum(kernel["cycles"]["active_avg"] for kernel in line["kernels"])
               / sum(kernel["cycles"]["elapsed"] for kernel in line["kernels"])),
    "registers": ("registers a thread", lambda line: max(kernel["launch"]["registers"] for kernel in line["kernels"])),
    **{name: (words, lambda line, name=name: sum(kernel["percent"][name] * kernel["launch"]["duration_ns"] for kernel in line["kernels"])
              / sum(kernel["launch"]["duration_ns"] for kernel in line["kernels"]))
       for name, words in (("occupancy", "occupancy achieved, %"), ("issue_active", f"clocks with an instruction issued, {OF_ACTIVE}"),
                           ("fma", f"FMA pipe busy, {OF_ACTIVE}"), ("tensor", f"tensor pipe busy, {OF_ACTIVE}"),
                           ("data_stage", f"L1 data stage busy, {OF_ACTIVE}"), ("writeback", f"L1 writeback busy, {OF_ACTIVE}"),
                           ("dram_throughput", "DRAM busy, %"))},
    **{f"stall_{name}": (f"stall: {name.replace('_', ' ')}, clocks", lambda line, name=name: line["kernels"][0]["stalls"][name])
       for name in ("long_scoreboard", "short_scoreboard", "mio_throttle", "lg_throttle", "barrier", "math_pipe_throttle",
                    "dispatch_stall", "not_selected", "wait", "no_instruction")},
}


def ncu(step, *wanted):
    """A table of at most four columns: each variant, and what ncu counted of it at the shape of the step's figures."""
    unknown = [name for name in wanted if name not in OF_NCU]
    if unknown or not 1 <= len(wanted) <= 3:
        stop(f"{step['name']}'s README: ncu takes one to three of {', '.join(OF_NCU)}.")
    shape = results.headline(step)
    found = {variant: results.counted(step, variant, shape) for variant in steps.variants(step)}
    lines = {variant: line for variant, line in found.items() if line and "kernels" in line}
    if not lines:
        return "Not counted on an H200 yet."

    def cell(value):
        return f"{value:,.0f}" if value >= 1000 or value == int(value) else floors.three_digits(value)

    rows = [(f"`{variant}`", *(cell(OF_NCU[name][1](line)) for name in wanted)) for variant, line in lines.items()]
    return f"ncu counted, at {run.shape_words(shape)}:\n\n" + table(("", *(OF_NCU[name][0] for name in wanted)), rows)


def analysis(*words):
    """What ./learn analyze says, for an H200, from what was recorded alone, compiler's reports too: a table for each section, the long
    ones folded. words: two or three kernels, then `at` and a shape, where it is not that of the plots."""
    kernels, _, at = (part.split() for part in " ".join(words).partition(" at "))
    if not 2 <= len(kernels) <= 3:
        stop(f"analysis {' '.join(words)}: it takes two or three kernels, such as 13 15:pad_8, and, after the word at, a shape.")
    if not analyze.is_recorded(kernels, " ".join(at)):
        return "Not counted on an H200 yet."
    shown, shape = analyze.columns(kernels, " ".join(at))
    parts = [analyze.heading(shown, shape, analyze.RECORDED_ON)]
    for title, rows in analyze.sections(shown, analyze.RECORDED_ON):
        text = table(("", *(column.title for column in shown)), [(label, *cells) for label, cells in rows])
        parts.append(f"**{title}**\n\n{text}" if len(rows) <= UNFOLDED_ROWS else
                     f"<details><summary>{title}</summary>\n\n{text}\n\n</details>")
    return "\n\n".join(parts)


def limits(*kernels):
    """How many blocks an SM of each GPU holds by registers and by shared memory, for each head dimension that ncu recorded all these
    kernels at, the shape otherwise that of the plots. From records alone."""
    found, plots = analyze.lines_of(kernels), results.LADDER_SHAPE["attention"]
    shapes = [shape for shape in analyze.common_shapes(found) if {**shape, "head_dim": plots["head_dim"]} == plots]
    if not shapes:
        return "Not counted on an H200 yet."
    able = {name: [machine.can_run(step["arch"], occupancy.GPUS[name].arch) for step, _ in found] for name in LIMITED}

    def cell(column, name):
        limits = analyze.block_limits(column, name, most=True)
        if limits is None:
            return analyze.MISSING
        blocks, binding = occupancy.binding(limits)
        words = [f"**{limits[what]}**" if what in binding else str(limits.get(what, "–")) for what in ("registers", "shared memory")]
        return ", ".join([" / ".join(words), *(f"**{blocks}** by {what}" for what in binding if what in ("SM", "warps"))])

    rows = []
    for shape in sorted(shapes, key=lambda shape: shape["head_dim"]):
        for column in (analyze.column(step, lines, shape) for step, lines in found):
            shared = column.shared(occupancy.GPUS[analyze.RECORDED_ON].arch)
            rows.append((f"D {shape['head_dim']}, {column.title}: {shared:,} bytes",
                         *(cell(column, name) for name, runs in able.items() if all(runs))))
    titles = [occupancy.GPUS[name].title for name in LIMITED if all(able[name])]
    needed = machine.capability_of(max(step["arch"] for step, _ in found))
    unable = [f"A {gpu.title} cannot run them: its compute capability is {gpu.arch[0]}.{gpu.arch[1]}, and they need {needed}."
              for gpu in (occupancy.GPUS[name] for name in LIMITED if not all(able[name]))]
    return "\n\n".join([" ".join(["Blocks that an SM holds, by registers / by shared memory; what binds is bold.", *unable]),
                        table(("kernel, shared memory of a block", *titles), rows)])


def shared_memory(*numbers):
    """Bytes of shared memory that a block of each variant of these steps asks for, at each head dimension, as the emulator recorded its
    launch. Variants that ask for the same are one row."""
    rows = {}
    for step in map(steps.find, numbers):
        build.build("cpu", step["name"])
        for variant in steps.variants(step):
            cells = []
            for head_dim in HEAD_DIMS:
                kernel = run.launched(step, variant, head_dim)
                cells.append(f"{kernel['shared']:,}" if kernel else "–")
            rows.setdefault((steps.title(step), *cells), []).append(variant)
    refused = any("–" in row for row in rows)
    dash = " A dash is a head dimension that the step refuses." if refused else ""
    return (f"Bytes of shared memory that a block asks for, as the emulator records it.{dash}\n\n"
            + table(("", *(f"D{head_dim}" for head_dim in HEAD_DIMS)),
                    [(", ".join([title, *(f"`{variant}`" for variant in variants if variant)]), *cells)
                     for (title, *cells), variants in rows.items()]))


def code(step, name):
    """A whole file of the step's directory."""
    path = steps.directory(step) / name
    if not path.is_file():
        stop(f"There is no {path.relative_to(ROOT)}.")
    return f"```c\n{path.read_text()}```"


def opening(exercise):
    """The title as a sentence begins."""
    return exercise.title[:1].upper() + exercise.title[1:]


def exercise_words(exercise, intro, commands=""):
    """An exercise on the page: what is asked, and, folded, what to take from it."""
    after = f"\n\n<details><summary>Afterwards</summary>\n\n{exercise.data['after'].strip()}\n\n</details>" if "after" in exercise.data else ""
    return f"{intro}\n\n{exercise.data['task'].strip()}{commands}{after}"


def task(step, number):
    """The exercise of `Try it first`, with the commands that all exercises share."""
    exercise = exercises.find(f"{steps.called(step)}.{number}")[1]
    name, file = exercise.reference, exercise.file.relative_to(ROOT)
    return exercise_words(exercise, f"**{opening(exercise)}** (exercise {name}, about {exercise.data['minutes']} minutes).",
                          f"\n\n```\n$ ./learn exercise {name}\n$ ./learn check {name}\n$ ./learn hint {name}\n```\n\n"
                          f"The first command writes `{file}`, the second judges it, and the third helps.")


def exercises_of(step):
    """The exercises after the first, as a list."""
    return "\n\n".join(exercise_words(one, f"**{one.reference} {opening(one)}** ({exercises.KINDS[one.data['kind']]}; about "
                                           f"{one.data['minutes']} minutes; `./learn exercise {one.reference}`).")
                       for one in exercises.load(step)[1:])


def floor_row(name, counts, case, gpu, more):
    """A variant's row: {column: cell} of each unit's floor, of the longest and the unit that has it, which binds, and of the longest by
    published rates; more(the floor) has the rest."""
    amounts = counts, case["flops"], case["bytes"]
    seconds = floors.units(*amounts, device.rates(gpu))
    unit, longest = floors.binding(*amounts, device.rates(gpu))
    computer = floors.arithmetic(counts)
    computes = seconds[computer] and unit != computer and case["operation"] not in results.MOVES_BYTES
    share = f", {floors.three_digits(longest / seconds[computer])} × {computer}" if computes else ""
    return {"": name, **{unit: floors.duration(least) for unit, least in seconds.items()},
            "floor, published": floors.duration(floors.binding(*amounts, floors.published(gpu))[1]),
            "floor, reached": floors.duration(longest),
            "binding": unit + share, **more(longest)}


def floors_of(step):
    """Each unit's floor; the longest one binds. At the shape of the step's figures, beside what was measured there, where ncu counted
    every variant; else at the default shape, from ncu's counts or the emulator's."""
    all_counted = list(counted(step))
    gpu = all_counted[0][1]["profile"]["gpu"]
    headline = results.headline(step)
    timed = {variant: (results.ours(step, variant), results.hardware(step, variant, headline))
              for variant in steps.variants(step)}
    rows, stage, by = [], set(), set()
    if all(line and ncu and "data_wavefronts" in ncu and "lsu_requests" in ncu for line, ncu in timed.values()):
        for variant, (line, ncu) in timed.items():
            time = line["time"]["median_ms"]
            rows.append(floor_row(variant or steps.short(step), ncu, line, gpu,
                                  lambda floor: {"measured": floors.duration(time / 1e3),
                                                 "reached, of measured": f"{100 * floor * 1e3 / time:.0f} %"}))
        stage, shape = {True}, headline
        what = "for what ncu counted on it"
    else:
        for variant, done, counts in all_counted:
            shape = done["case"]["shape"]
            ncu = results.hardware(step, variant, shape)
            counts = floors.executed(counts, ncu)
            stage.add("data_wavefronts" in counts)
            by.add("ncu" if ncu else "the emulator")
            rows.append(floor_row(variant or steps.short(step), counts, done["case"], gpu,
                                  lambda floor: {"counted by": "ncu" if ncu else "the emulator"}))
        what = f"for what {' or '.join(sorted(by))} counted"
    shown = [unit for unit in floors.UNITS if any(unit in row for row in rows)]
    head = ["", *shown, *(column for column in rows[0] if column not in ("", *floors.UNITS))]
    merges = " The emulator counts accesses as they are written; ptxas may merge some." if "the emulator" in by else ""
    return (f"At {run.shape_words(shape)}, for an {gpu['title']} with {gpu['sms']} SMs at {gpu['clock_ghz']} GHz: the least time that "
            f"each unit needs {what}. This is arithmetic, not a measurement of the step. The units for arithmetic count with the rate that "
            "their instruction reached in [step machine](../machine/), the others with the published one. The longest of these "
            "times stands under *floor, reached*: that unit binds, and no run is faster. Under *floor, published* stands the longest by "
            f"published rates alone.{merges}\n\n"
            + table(head, [[row.get(column, "–") for column in head] for row in rows]) + "\n\n"
            + floors.legend(shown, stage, gpu, device.rates(gpu)))


def rates(step, dtype):
    """Of one type, the rates at every shape: the head and the rows of a table, or None where nothing was timed. Shapes are columns; where
    they are too many, rows."""
    plain = results.LADDER_SHAPE[step["operation"]].keys()
    words = lambda shape: run.shape_words(shape) if "seqlen" in shape else " × ".join(f"{part:,}" for part in shape.values())
    lines = [line for line in steps.recorded(step)
             if line.get("time") and line["dtype"] == dtype and line["shape"].keys() - {"kv_seqlen"} == plain]
    if not lines:
        return None
    sizes = list(dict.fromkeys(words(line["shape"]) for line in lines))
    found = {(line.get("peer") or line["variant"], words(line["shape"])): line for line in lines}
    names = list(dict.fromkeys(name for name, _ in found))
    first = next((name for name, size in found if size == sizes[0] and found[name, size].get("peer")), None)

    def cell(name, size):
        line, peer = found.get((name, size)), found.get((first, size))
        share = f" ({median(peer) / median(line):.2f})" if line and peer else ""
        return f"{results.rate(line)}{share}" if line else "–"

    short = lambda name: name.split(" (")[0]
    if len(sizes) > MOST_SHAPES:
        return ("", *map(short, names)), [(size, *(cell(name, size) for name in names)) for size in sizes]
    return ("", *sizes), [(short(name), *(cell(name, size) for size in sizes)) for name in names]


def shapes(step):
    """Every shape that the step was timed at: its variants' and the peers' rates, and their share of the first peer's; a table for
    each element type."""
    found = {dtype: rates(step, dtype) for dtype in step["dtypes"]}
    tables = {dtype: table(*parts) for dtype, parts in found.items() if parts}
    if not tables:
        return "Not measured on an H200 yet."
    return "\n\n".join(tables.values() if step["dtypes"] == ["fp32"] else (f"In {dtype}:\n\n{text}" for dtype, text in tables.items()))


def growth(step):
    """Time and peak device memory at the ladder's shape for each sequence length that was timed, and how both grew."""
    plain = results.LADDER_SHAPE["attention"]
    lines = [line for line in steps.recorded(step)
             if line.get("time") and "device_bytes" in line and line["shape"] | {"seqlen": 0} == plain | {"seqlen": 0}]
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


def lengths(step, *words):
    """Of attention, microseconds at each sequence length that was timed of a shape, such as B2 H4 D64, and how many times as fast
    as PyTorch in fp32 the fastest variant is. Of PyTorch's backends the fastest counts."""
    lines = [line for line in steps.recorded(step)
             if results.on_h200(line) and {*words, f"N{line['shape']['seqlen']}"} == set(run.shape_words(line["shape"]).split())]
    if not lines:
        return "Not measured on an H200 yet."
    rows, backends = [], {}
    of_type = lambda n, dtype: min((line for line in lines if line.get("peer") and line["dtype"] == dtype and line["shape"]["seqlen"] == n),
                                   key=median, default=None)
    cell = lambda line: floors.three_digits(1e3 * median(line)) if line else "–"
    for n in sorted({line["shape"]["seqlen"] for line in lines}):
        ours = {line["variant"]: line for line in lines if not line.get("peer") and line["shape"]["seqlen"] == n}
        wide, narrow = of_type(n, "fp32"), of_type(n, "fp16")
        for peer in filter(None, (wide, narrow)):
            backends.setdefault(peer["peer"], []).append(n)
        ratio = f"{median(wide) / min(map(median, ours.values())):.2f}" if wide and ours else "–"
        rows.append((str(n), *(cell(ours.get(variant)) for variant in steps.variants(step)), cell(wide), cell(narrow), ratio))
    caption = "; ".join(f"{name} at N {', '.join(map(str, at))}" for name, at in backends.items())
    return (f"Microseconds at {' '.join(words)}" + (f". PyTorch's fastest backends: {caption}.\n\n" if caption else ".\n\n")
            + table(("N", *(f"`{variant}`" for variant in steps.variants(step)), "PyTorch SDPA fp32", "PyTorch SDPA fp16",
                     "fastest, × as fast as SDPA fp32"), rows))


def of_head_dims(step, *words):
    """{head dimension: {(variant or peer, type): line}} of what was timed at a shape without it, such as B1 H8 N8192."""
    found = {}
    for line in steps.recorded(step):
        d = line["shape"]["head_dim"]
        if line.get("time") and results.on_h200(line) and {*words, f"D{d}"} == set(run.shape_words(line["shape"]).split()):
            found.setdefault(d, {})[line.get("peer") or line["variant"], line["dtype"]] = line
    return dict(sorted(found.items()))


def head_dims(step, dtype, *words):
    """TFLOPS of each variant and of the first peer at each head dimension, such as fp16 B1 H8 N8192. The fastest variant
    is bold, and those within a hundredth of it: some are the same kernel."""
    found = of_head_dims(step, *words)
    peers = list(dict.fromkeys(name for lines in found.values() for name, of in lines if of == dtype and name not in step["variants"]))[:1]
    if not peers:
        return "Not measured on an H200 yet."

    def row(d, lines):
        rate = lambda name: lines[name, dtype]["tflops"] if (name, dtype) in lines else None
        most = max((rate(name) or 0 for name in step["variants"]), default=0)
        cell = lambda name: ("**{:.0f}**" if rate(name) >= 0.99 * most and name not in peers else "{:.0f}").format(rate(name)) if rate(name) else "–"
        return (str(d), *map(cell, [*step["variants"], *peers]))

    return (f"TFLOPS in {dtype} at {' '.join(words)}:\n\n"
            + table(("D", *(f"`{variant}`" for variant in step["variants"]), *peers), [row(*each) for each in found.items()]))


def types(step, *words):
    """The last variant in each of the step's types, at each head dimension, such as B1 H8 N8192: TFLOPS, and the errors."""
    found, last = of_head_dims(step, *words), step["variants"][-1]
    whole = {d: [lines[last, dtype] for dtype in step["dtypes"]] for d, lines in found.items()
             if all((last, dtype) in lines for dtype in step["dtypes"])}
    if not whole:
        return "Not measured on an H200 yet."
    rows = [(str(d), *(f"{line['tflops']:.0f}" for line in lines), *(f"{line['tflops'] / lines[0]['tflops']:.2f}" for line in lines[1:]),
             *(f"{line['check']['error']:.1e}" for line in lines)) for d, lines in whole.items()]
    first, *others = step["dtypes"]
    return (f"`{last}` at {' '.join(words)}:\n\n"
            + table(("D", *(f"{dtype}, TFLOPS" for dtype in step["dtypes"]), *(f"{dtype}, × as fast as {first}" for dtype in others),
                     *(f"{dtype}, error" for dtype in step["dtypes"])), rows))


def matrix(step):
    """The cases that bench/attention_matrix.py tried of the step, a table for each element type."""
    lines = steps.recorded(step, "matrix.jsonl")
    of_types = ([line for line in lines if line["dtype"] == dtype] for dtype in dict.fromkeys(line["dtype"] for line in lines))
    return "\n\n".join(map(matrix_of, of_types)) or "Not tried on an H200 yet."


def matrix_of(lines):
    """Those of one type, by the test that they come from."""
    groups = {}
    for line in lines:
        groups.setdefault(line["test"], []).append(line["check"])
    share = lambda check: check["error"] / check["bound"] if check["error"] else 0.0

    def row(name, checks):
        whole = [check for check in checks if None not in check.values()]  # JSON has no NaN
        most = lambda value: max(map(value, whole)) if whole else math.nan
        return (name, f"{len(checks):,}", f"{sum(check['right'] for check in checks):,}", f"{most(share):.2f}",
                f"{most(lambda check: check['lse_error']):.1e}")

    rows = [row(f"`{test}`" if "_" in test else test, checks) for test, checks in groups.items()]
    rows.append(row("together", [line["check"] for line in lines]))
    head = "cases of", "tried", "right", "largest error of O, of its bound", "of the log-sum-exp"
    variants = " and ".join(f"`{variant}`" for variant in dict.fromkeys(line["variant"] for line in lines))
    return f"{variants} on an {lines[0]['device']}, {lines[0]['dtype']}:\n\n{table(head, rows)}"


def decode_of(step):
    """What bench/attention_decode.py timed of the step, its launches and the peers' as CUDA graphs."""
    lines = steps.recorded(step, "decode.jsonl")
    found = decode.tables(step, lines)
    if not found:
        return "Not measured on an H200 yet."
    env = lines[0]["env"]
    return (f"On an {lines[0]['device']} (driver {env['gpu_driver']}, CUDA {env['cuda']}, PyTorch {env['torch']}, {env['temperature_c']} °C at the start, "
            f"{env['date']}). *× a name* is how many times as fast the last variant is.\n\n"
            + "\n\n".join(f"{words}:\n\n{table(head, rows)}" for words, head, rows in found))


BACKENDS = {"flash": "FlashAttention-2"}  # what is behind a backend of PyTorch, where it has another name


def contender(line):
    """What a table's head calls a step, or a peer: step 40, cuBLAS, cuDNN."""
    if line["step"]:
        return steps.reference(steps.find(line["step"]))
    backend = line["peer"].split(", ")[-1]
    return BACKENDS.get(backend, backend) if line["peer"].startswith("PyTorch SDPA") else line["peer"].split()[0]


def by_contender(lines):
    """{(type, the words of a shape): {contender: its line}}, each in the order in which they were timed."""
    found = {}
    for line in lines:
        if line["time"]:
            found.setdefault((line["dtype"], run.shape_words(line["shape"])), {})[contender(line)] = line
    return found


def tflops(line):
    return f"{line['tflops']:.0f}" if line else "–"


def as_fast(line, other):
    """How many times as fast a line is as another; a dash where one of both was not timed."""
    return f"{line['tflops'] / other['tflops']:.2f}" if line and other else "–"


def heat_of(step):
    """What bench/heat.py timed of the step, of those beside it and of its peers: TFLOPS on a rested GPU and on a hot one, a table each."""
    lines = steps.recorded(step, "heat.jsonl")
    timed = {heat: by_contender(line for line in lines if line["heat"] == heat) for heat in ("rested", "hot")}
    if not timed["rested"]:
        return "Not measured on an H200 yet."
    names = list(dict.fromkeys(name for row in timed["rested"].values() for name in row))
    mine = steps.reference(step)
    others = [name for name in names if name != mine]
    tables = [table(("type", heat, *names, *(f"{mine} / {other}" for other in others)),
                    [(dtype, words, *(tflops(row.get(name)) for name in names), *(as_fast(row.get(mine), row.get(other)) for other in others))
                     for (dtype, words), row in of_heat.items()]) for heat, of_heat in timed.items()]
    behind = max(line.get("behind_ms", 0) for line in lines)
    hot = f"behind {1e-3 * behind:g} s of the same launches" if behind else "without a pause"
    return (f"TFLOPS on an {measured_on(lines[0], 'temperature_c')}, in turns in one process: bursts of 20 ms or 512 launches, each a CUDA "
            f"graph, rested behind 0.12 s of idleness and hot {hot}.\n\n" + "\n\n".join(tables))


def elsewhere(step, head_dim):
    """A step of attention at a head dimension on a hot GPU beside cuDNN, as bench/heat.py timed them, and FlashAttention-3 beside cuDNN, as
    they were timed in another run, without the steps: what compares is each one's ratio to cuDNN."""
    at = lambda lines: {words: row for (_, words), row in by_contender(
        line for line in lines if line["dtype"] == step["dtypes"][0] and str(line["shape"]["head_dim"]) == head_dim).items()}
    ours = at(line for line in steps.recorded(step, "heat.jsonl") if line["heat"] == "hot")
    theirs = at(steps.lines_of(ELSEWHERE.read_bytes(), ELSEWHERE))
    mine, peer, third = steps.reference(step), "cuDNN", "FlashAttention-3"
    shared = [words for words in ours if words in theirs]
    if not shared:
        return "Not measured on an H200 yet."
    rows = []
    for words in shared:
        here, there = ours[words], theirs[words]
        rows.append((words, *(tflops(here.get(name)) for name in (mine, peer)), as_fast(here.get(mine), here.get(peer)),
                     *(tflops(there.get(name)) for name in (third, peer)), as_fast(there.get(third), there.get(peer))))
    of_both = [next(iter(found[shared[0]].values())) for found in (ours, theirs)]
    left, right = (measured_on(line, "temperature_c") for line in of_both)
    return (f"TFLOPS in {step['dtypes'][0]}. On the left both are of one run on a hot {left}. On the right both are of another run, without the "
            f"steps, on a hot {right}, as [recorded](../../{ELSEWHERE.relative_to(ROOT)}). Between the runs only the ratios to {peer} compare.\n\n"
            + table(("", mine, peer, f"{mine} / {peer}", f"{third}, other run", f"{peer}, other run", f"{third} / {peer}"), rows))


def road(step, file="road.jsonl", heat="rested"):
    """What bench/heat.py timed of the step, of all beside it and of cuBLAS in one run, on a rested GPU or on a hot one: at each shape the
    TFLOPS of each, in order, and how many times as fast it is as the one before it. cuBLAS comes last: the step before it is the one that
    it is held against."""
    found = {}
    for line in steps.recorded(step, file):
        if line["time"] and line["heat"] == heat:
            found.setdefault(row_name(step, file, line), {})[run.shape_words(line["shape"])] = line
    if not found:
        return "Not measured on an H200 yet."
    names = sorted(name for name in found if name[0].isdigit())
    names += [name for name in found if name not in names]
    shapes = list(dict.fromkeys(words for lines in found.values() for words in lines))

    def cell(name, before, words):
        line, other = found[name].get(words), found.get(before, {}).get(words)
        if not line:
            return "–"
        rate = f"{line['tflops']:.0f}"
        return f"{rate} ({line['tflops'] / other['tflops']:.2f} ×)" if other else rate

    line = next(iter(found[names[0]].values()))
    rows = [(name, *(cell(name, before, words) for words in shapes)) for before, name in zip([None, *names], names)]
    return (f"TFLOPS in {line['dtype']} on a {heat} {measured_on(line, 'temperature_c')}, "
            f"all in turns in one process; in brackets, how many times as fast as the row above:\n\n{table(('', *shapes), rows)}")


def row_name(step, file, line):
    """What a row of that table is called: a step, a variant of the step whose chain it is, or a peer."""
    if not line["step"]:
        return contender(line)
    return f"`{line['variant']}`" if file == CHAIN and line["step"] == step["name"] else steps.caption(steps.find(line["step"]))


CHAIN = "chain.jsonl"
FLASH_TOKENS = 16384  # of all sequences, in FlashAttention-3's setting


def chain(step, heat):
    """The same of the step's own variants, each of which does one thing more than the one before it."""
    return road(step, CHAIN, heat)


def cells(step, heat, variant=None):
    """What bench/attention_table.py timed of the step in FlashAttention-3's setting, on a rested GPU or on a hot one: of one variant how many
    times as fast it is as the better of FlashAttention-3 and cuDNN, a row for each head dimension and mask; else all rates. A cell that
    was timed again has its last lines."""
    found, again = {}, set()
    for line in steps.recorded(step, "table.jsonl"):
        if line["time"] and line["heat"] == heat:
            shape = line["shape"]
            if shape["seqlen"] * shape["batch"] == FLASH_TOKENS:
                cell, name = (shape["head_dim"], bool(shape.get("causal")), shape["seqlen"]), line["variant"] or contender(line)
                if name in found.setdefault(cell, {}):
                    again.add(cell)
                found[cell][name] = line
    if not found:
        return "Not measured on an H200 yet."
    rivals, line = ("FlashAttention-3", "cuDNN"), next(iter(next(iter(found.values())).values()))
    commit = next(each["flash_attention"] for row in found.values() for each in row.values() if "flash_attention" in each)
    words = lambda d, causal: f"D {d}{', causal' if causal else ''}"
    second = "; ".join(f"{words(d, causal)}, N {n:,}" for d, causal, n in sorted(again))
    where = (f"in {line['dtype']} on a {heat} {measured_on(line, 'temperature_c')}, FlashAttention-3 at commit {commit}, in turns in one process"
             + (f" ({second}: in a second one)" if second else ""))
    if variant is None:
        names = list(dict.fromkeys(name for row in found.values() for name in row))
        rows = [(words(d, causal), f"{n:,}", *(tflops(row.get(name)) for name in names)) for (d, causal, n), row in sorted(found.items())]
        return f"TFLOPS {where}:\n\n{table(('', 'N', *names), rows)}"
    ratio = {cell: min(median(row[rival]) for rival in rivals if rival in row) / median(row[variant]) for cell, row in found.items()}
    lengths = sorted({n for *_, n in ratio})
    rows = [(words(d, causal), *(f"{ratio[d, causal, n]:.2f}" if ratio[d, causal, n] >= 1 else f"**{ratio[d, causal, n]:.3f}**" for n in lengths))
            for d, causal in sorted({cell[:2] for cell in ratio})]
    below = sum(each < 1 for each in ratio.values())
    return (f"How many times as fast `{variant}` is as the better of FlashAttention-3 and cuDNN, {where}:\n\n"
            + table(("", *(f"N {n:,}" for n in lengths)), rows)
            + f"\n\nThe geometric mean of the {len(ratio)} cells is {statistics.geometric_mean(ratio.values()):.3f}, the least is {min(ratio.values()):.3f}, "
              f"and {below or 'none'} of them {'is' if below < 2 else 'are'} below 1.")


def layers_of(step):
    """What bench/heat.py timed of the step at the shapes of a language model's layers: its time and cuBLAS's on a rested GPU, the ratio on a
    rested GPU and on a hot one, and where A has few rows the bytes a second as a share of those of a copy."""
    found = {}
    for line in steps.recorded(step, "layers.jsonl"):
        if line["time"]:
            name = "copy" if (line.get("peer") or "").startswith("cudaMemcpy") else contender(line)
            found.setdefault(tuple(line["shape"].values()), {})[line["heat"], name] = line
    if not found:
        return "Not measured on an H200 yet."
    mine, us = steps.reference(step), lambda line: floors.three_digits(1e3 * median(line))
    ratio = lambda row, heat: median(row[heat, "cuBLAS"]) / median(row[heat, mine])
    share = lambda row: f"{row['rested', mine]['gbps'] / row['rested', 'copy']['gbps']:.2f}" if ("rested", "copy") in row else "–"
    rows = [(" × ".join(f"{size:,}" for size in shape), us(row["rested", mine]), us(row["rested", "cuBLAS"]),
             *(f"{ratio(row, heat):.2f}" for heat in ("rested", "hot")), share(row)) for shape, row in found.items()]
    line = next(iter(found.values()))["rested", mine]
    least = {heat: min(found, key=lambda shape: ratio(found[shape], heat)) for heat in ("rested", "hot")}
    ends = "; ".join(f"on a {heat} GPU the geometric mean of the ratios is {statistics.geometric_mean([ratio(row, heat) for row in found.values()]):.3f}, "
                     f"and the least is {ratio(found[shape], heat):.2f}, at {' × '.join(f'{size:,}' for size in shape)}" for heat, shape in least.items())
    return (f"In {line['dtype']} on an {measured_on(line, 'temperature_c')}, in turns in one process:\n\n"
            + table(("M × N × K", f"{mine}, µs", "cuBLAS, µs", f"{mine} / cuBLAS, rested", "hot", "GB/s, of a copy's"), rows)
            + f"\n\nOf {len(found)} shapes: {ends}.")


def decode_variants(step):
    """Of one query a head, what each variant of the step reached."""
    head, rows = decode.variants(step, steps.recorded(step, "decode.jsonl"))
    return f"GB of K and V a second:\n\n{table(head, rows)}" if rows else "Not measured on an H200 yet."


def parts_of(step):
    """Into how many parts the step divides the keys of one query a head, and how many SMs have a block of them."""
    head, rows = decode.blocks(step, steps.recorded(step, "decode.jsonl"))
    return table(head, rows) if rows else "Not measured on an H200 yet."


def fastest_at(step):
    """{the words of a shape: its fastest line there}."""
    found = {}
    for line in steps.recorded(step):
        if results.on_h200(line) and not line.get("peer") and line["dtype"] == step["dtypes"][0]:
            found.setdefault(run.shape_words(line["shape"]), []).append(line)
    return {words: min(lines, key=median) for words, lines in found.items()}


def against(step, other):
    """The fastest variants of this step and another at each shape that both were timed at."""
    mine, others = fastest_at(step), fastest_at(steps.find(other))
    name = lambda line: f"`{line['variant']}` {floors.duration(1e-3 * median(line))}"
    rows = [(words, name(line), name(others[words]), f"{median(others[words]) / median(line):.2f}")
            for words, line in mine.items() if words in others]
    if not rows:
        return "Not measured on an H200 yet."
    titles = (f"{steps.reference(each)}, {each['dtypes'][0]}" for each in (step, steps.find(other)))
    return table(("", *titles, "× as fast"), rows)


# Columns that stand in the counters' table where a row has them.
WHERE_COUNTED = {"ldmatrix requests": "ldmatrix_requests", "its wavefronts": "ldmatrix_wavefronts",
                 "its bank conflicts": "ldmatrix_conflicts", "products of fragments": "mma",
                 "wgmma, by warp": "wgmma", "wavefronts that wgmma reads": "wgmma_ld_wavefronts",
                 "cp.async requests": "copy_ld_requests", "sectors read": "copy_ld_sectors",
                 "wavefronts written": "copy_st_wavefronts", "bank conflicts of the writes": "copy_st_conflicts",
                 "bulk loads": "tma_ld_requests", "their sectors": "tma_ld_sectors",
                 "bulk stores": "tma_st_requests", "sectors of these": "tma_st_sectors"}


def counter_row(name, counts, more):
    """One row of the counters' table; what ncu was not asked for is a dash."""
    def both(space, counter):
        found = [counts.get(f"{space}_{op}_{counter}") for op in ("ld", "st")]
        return sum(found) if None not in found else None

    requests, sectors = both("global", "requests"), both("global", "sectors")
    cells = [requests, sectors / requests if requests else None, both("shared", "requests"),
             both("shared", "wavefronts"), both("shared", "conflicts"), counts.get("barriers"),
             *(counts.get(WHERE_COUNTED[column]) for column in more)]
    return (name, *("–" if cell is None else f"{cell:.2f}" if isinstance(cell, float) else f"{cell:,}" for cell in cells))


MERGED = ("ncu counted fewer requests than are written, {}: ptxas merged neighbouring accesses of a thread into one of 8 or "
          "16 bytes.")
IDLE = ("ncu counted more requests than are written and the same traffic, {}: it also counts an instruction that no lane of the warp "
        "executes.")


def requests_compared(name, counts, ncu):
    """What ncu counted otherwise than the emulator: why, and of which requests, with both numbers."""
    for space, what in (("shared", "shared memory"), ("global", "global memory")):
        for op, does in (("ld", "to load from"), ("st", "to store to")):
            written, made = counts[f"{space}_{op}_requests"], ncu.get(f"{space}_{op}_requests")
            traffic = f"{space}_{op}_" + ("wavefronts" if space == "shared" else "sectors")
            numbers = f"`{name}` {made or 0:,} for {written:,} {does} {what}"
            if made is not None and written / 4 <= made < written:
                yield MERGED, numbers
            elif made is not None and made > written and counts[traffic] == ncu.get(traffic):
                yield IDLE, numbers


def compared(pairs):
    """Sentences on what ncu counted otherwise than the emulator, of (name, the emulator's counts, ncu's)."""
    found = {}
    for pair in pairs:
        for why, numbers in requests_compared(*pair):
            found.setdefault(why, []).append(numbers)
    for why, numbers in found.items():
        yield why.format(", ".join(numbers))
    if any(counts["copy_ld_requests"] for _, counts, _ in pairs):
        yield ("Among the global requests ncu also counts what cp.async reads, and among those to shared memory loads that no lane executes, "
               "which ptxas puts before copies.")
    if any((ncu.get("copy_st_wavefronts") or 0) > counts["copy_st_wavefronts"] for _, counts, ncu in pairs):
        yield ("Where ptxas does not know that a copy reads all of its 16 bytes or none, it makes an instruction that writes zeros first: "
               "those wavefronts ncu counts, and the emulator does not.")


def counters(step):
    """What the emulator counts of each variant at its default shape, and what ncu counted there on an H200."""
    rows, shape, pairs, of_all = [], "", [], list(counted(step))
    beside = lambda counts, counter: (counts.get(counter) or 0) - (counts.get("wgmma", 0) if counter == "mma" else 0)  # which has a column
    more = [column for column, counter in WHERE_COUNTED.items() if any(beside(counts, counter) for _, _, counts in of_all)]
    for variant, done, counts in of_all:
        name = variant or steps.short(step)
        shape = run.shape_words(done["case"]["shape"])
        rows.append(counter_row(f"{name}, as written", counts, more))
        if ncu := results.hardware(step, variant, done["case"]["shape"]):
            rows.append(counter_row(f"{name}, ncu", ncu, more))
            pairs.append((name, counts, ncu))
    head = ("", "global requests", "sectors a request", "shared requests", "wavefronts", "bank conflicts", "barriers (by warp)",
            *more)
    by_ncu = " The rows *ncu* were counted by an H200's hardware, of what ptxas made of the source." if pairs else ""
    notes = list(compared(pairs))
    return (f"At {shape}. The rows *as written* were counted by the emulator, of the source as it stands.{by_ncu}\n\n"
            + "\n\n".join((table(head, rows), *(["\n".join(f"- {note}" for note in notes)] if notes else []))))


def report(path):
    """The first thing that the emulator says of a faulty program, as the reader sees it from the root of the clone."""
    if not (ROOT / path).is_file():
        stop(f"There is no {path} to report on.")
    said = emulate.compile_and_run([path], cwd=ROOT, environment={"SIMT_WORKERS": "1"}, stderr=subprocess.PIPE).stderr
    first = re.match(r".*?(?=\nsimt: |\Z)", said.rstrip(), re.DOTALL)[0]
    return f"```\n{first}\n```"


def output(path):
    """What a program that is right prints on the emulator."""
    if not (ROOT / path).is_file():
        stop(f"There is no {path} to run.")
    done = emulate.compile_and_run([path], ["-Icommon"], cwd=ROOT, stdout=subprocess.PIPE)
    if done.returncode:
        stop(f"{path} ended with status {done.returncode}:\n{done.stdout or ''}", 1)
    return f"```\n{done.stdout.rstrip()}\n```"


def layout(step):
    """How the tiles of each variant lie in shared memory, as the step's program prints it."""
    build.build("cpu", step["name"])
    done = subprocess.run([BUILD / "cpu" / step["name"], "--layout", "--all-variants"], text=True, stdout=subprocess.PIPE)
    if done.returncode:
        stop(f"{step['name']} --layout ended with status {done.returncode}.", 1)
    return f"```\n{done.stdout.rstrip()}\n```"


def sass_of(step, variant, *opcodes):
    """The instructions with these opcodes in a variant's main loop, as it is recorded."""
    lines = [f"{place * sass.WIDTH:04x}  {one.text}" for place, one in sass.excerpt(step, variant, *opcodes)]
    return "\n".join(["```", *lines, "```"])


def timeline_of(words, base, pictures):
    """The picture that `./learn timeline` draws with these words, such as 19 two_stages -k 512. Its file lies beside the step's program,
    and is put into pictures: {path: content}."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--block", default="0")
    parser.add_argument("--kernel")
    parser.add_argument("--tiles", type=int, choices=range(1, 100), default=timeline.TILES)
    try:
        chosen, rest = parser.parse_known_args(words)
    except argparse.ArgumentError as error:
        stop(f"timeline {' '.join(words)}: {error}")
    step = steps.find(rest[0] if rest else "")
    variant = rest[1] if len(rest) > 1 and not rest[1].startswith("-") else None
    steps.require_variant(step, [] if variant is None else ["--variant", variant])
    build.build("cpu", step["name"])
    found, done = timeline.record(step, variant, chosen.block, chosen.kernel, rest[2 if variant else 1:], cached=True)
    if found is None:
        stop(f"timeline {' '.join(words)}: {step['name']} ended with status {done['status']}:\n{done['output']}", 1)
    path = steps.directory(step) / f"{'_'.join(['timeline', *(word.strip('-') for word in words[1:])])}.svg"
    pictures[path] = timeline_picture.drawn(found, chosen.tiles)
    warp = found.warps[0]
    return f"![In order, {warp.words()}: {timeline.described(warp)}]({os.path.relpath(path, base)})"


def clocks_of(step, words, base, pictures):
    """What bench/clocks.py read of the step's variants at the shape of these words, such as D128: a picture, put into pictures, and the
    means."""
    lines = {line["variant"]: line for line in steps.recorded(step, "clocks.jsonl") if {*words} <= set(run.shape_words(line["shape"]).split())}
    if not lines:
        return "Not measured on an H200 yet."
    lines = list(lines.values())
    if len({run.shape_words(line["shape"]) for line in lines}) > 1:
        stop(f"clocks {' '.join(words)}: {step['name']} has clocks of several such shapes; add what tells them apart.")
    path = steps.directory(step) / f"{'_'.join(['clocks', *words])}.svg"
    pictures[path] = clocks_picture.drawn(lines, steps.title(step))
    names = list(dict.fromkeys(what for line in lines for what in line["clocks"]["mean"]))

    def row(line):
        found = line["clocks"]
        return (f"`{line['variant']}`", *(f"{found['mean'][name]:,.0f}" if name in found["mean"] else "–" for name in names), f"{found['pass']:,.0f}",
                f"{found['least']:,.0f}–{found['most']:,.0f}",
                clocks_picture.share(line), f"{line['time']['median_ms']:.3f}", f"{found['with_reads_ms'] / line['time']['median_ms']:.3f}")

    head = "", *(clocks.DOES[name] for name in names), "a pass", "in each block", "products in flight", "the kernel, ms", "× with the reads"
    said = ". ".join(f"{line['variant']}: a pass takes {line['clocks']['pass']:,.0f} clocks" for line in lines)
    return (f"![What the consumers of a block do, in clocks. {said}]({os.path.relpath(path, base)})\n\n"
            f"Clocks of a consumer's pass at {run.shape_words(lines[0]['shape'])}, the mean of {lines[0]['clocks']['blocks']} blocks from all over the grid, on an "
            f"{measured_on(lines[0], 'torch')}. Products in flight are those of the block that is drawn. In "
            f"the last column is how many times as long the kernel takes where it reads the clock.\n\n{table(head, [row(line) for line in lines])}")


def generate(name, base, pictures=None):
    """The text of one block; base is the directory of the README that holds it. Files that the text shows are put into pictures."""
    kind, *words = name.split()
    whole = {"milestones": milestones, "claim": claim, "steps": steps_table}
    each = {"diff": diff, "results": results_of, "speed": speed, "shapes": shapes, "counters": counters, "floors": floors_of,
            "growth": growth, "matrix": matrix, "decode": decode_of, "heat": heat_of, "road": road, "layers": layers_of, "decode_variants": decode_variants, "parts": parts_of, "exercises": exercises_of, "layout": layout}
    if kind in whole and not words:
        return whole[kind](base)
    if kind == "report" and len(words) == 1:
        return report(words[0])
    if kind == "output" and len(words) == 1:
        return output(words[0])
    if kind == "piece" and len(words) > 1:
        return piece(ROOT / words[0], words[1:], base)
    if kind == "walk" and words:
        return walk(steps.find(base.name), *words)
    if kind == "analysis":
        return analysis(*words)
    if kind == "limits" and words:
        return limits(*words)
    if kind == "shared_memory" and words:
        return shared_memory(*words)
    if kind == "sass" and len(words) > 1:
        return sass_of(steps.find(base.name), *words)
    if kind == "timeline":
        return timeline_of(words, base, {} if pictures is None else pictures)
    if kind == "clocks" and words:
        return clocks_of(steps.find(base.name), words, base, {} if pictures is None else pictures)
    if kind == "memory" and len(words) == 1:
        return memory_table(words[0])
    if kind == "tour" and len(words) == 1:
        return tour(words[0])
    if kind in each and not words:
        return each[kind](steps.find(base.name))
    with_words = {"code": (code, 1), "task": (task, 1), "ncu": (ncu, 3), "head_dims": (head_dims, 4), "types": (types, 4), "lengths": (lengths, 3), "against": (against, 1),
                  "elsewhere": (elsewhere, 1), "chain": (chain, 1), "cells": (cells, 2)}
    if kind in with_words and 1 <= len(words) <= with_words[kind][1]:
        return with_words[kind][0](steps.find(base.name), *words)
    stop(f"{base / 'README.md'}: nothing generates '{name}'. There are: milestones, claim, steps, tour OPERATION, memory levels, memory gpus, "
         "piece FILE.cu NAME…, report FILE.cu, output FILE.cu, analysis N… [at SHAPE], limits N…, shared_memory N…, timeline N [VARIANT] [ARGS], and of a "
         "step clocks SHAPE, diff, results, speed, shapes, growth, matrix, decode, decode_variants, heat, road, layers, chain rested, chain hot, cells HEAT [VARIANT], parts, counters, floors, layout, exercises, task N, walk NAME…, sass VARIANT OPCODE…, code FILE, against N, elsewhere D, head_dims TYPE SHAPE, types SHAPE, lengths SHAPE, ncu COLUMN….")


def is_file_with(path, content):
    return path.is_file() and path.read_text() == content


def quoted(match, base):
    """What `./learn profile` printed of a line of a step's program, with the number that this line has now; of several lines that begin
    so, the nearest."""
    source = next(ROOT.glob(f"steps/*/{match['file']}"), None)
    lines = source.read_text().splitlines() if source else []
    places = [number for number, line in enumerate(lines, 1) if line.strip().startswith(match["code"].rstrip())]
    if not places:
        stop(f"{base / 'README.md'} shows {match['file']}:{match['line']}, but no line of such a program begins with: {match['code']}")
    nearest = min(places, key=lambda number: abs(number - int(match["line"])))
    return f"{match['file']}:{nearest}{match[0][match.end('line') - match.start():]}"


def renew(text, base):
    """(the text with its generated parts made anew, and the numbers of the lines that it shows; the files that the parts show and that
    changed; the names of the parts that changed)."""
    changed, pictures = [], {}

    def line(match):
        now = quoted(match, base)
        if now != match[0]:
            changed.append(f"{match['file']}:{match['line']}")
        return now

    def block(match):
        shown = {}
        body = f"{generate(match['name'], base, shown)}\n"
        stale = {path: content for path, content in shown.items() if not is_file_with(path, content)}
        pictures.update(stale)
        if body != match["body"] or stale:
            changed.append(match["name"])
        return f"<!-- generated: {match['name']} -->\n{body}<!-- /generated -->"

    if len(BLOCK.findall(text)) != text.count(OPEN):
        stop(f"{base / 'README.md'}: a generated part has no <!-- /generated -->.")
    return QUOTED.sub(line, BLOCK.sub(block, text)), pictures, changed


def docs(check):
    """Write every README's generated parts, or only name those that are stale. Returns [(path, name)]."""
    build.build("cpu")
    stale = []
    for path in [ROOT / "README.md", ROOT / "docs/memory-hierarchy.md", *sorted(ROOT.glob("steps/*/README.md"))]:
        if not path.exists():
            continue
        text = path.read_text()
        fresh, pictures, changed = renew(text, path.parent)
        stale += [(str(path.relative_to(ROOT)), name) for name in changed]
        if changed and not check:
            for file, content in {**pictures, path: fresh}.items():
                write_whole(file, content)
    return stale

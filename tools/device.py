"""What the step `machine` measured on an H200, for the lesson and for readers without one: its recorded lines in words."""
from tools import floors, results, run, steps
from tools.floors import three_digits
from tools.say import out

BAR = 20  # characters of the longest bar
# The measurement that says what a unit of arithmetic reaches with its instruction, and what its figures are counted in. How fast DRAM
# delivers is no matter of an instruction: a step that only reads is faster there than the copy.
REACHED = {"fp32": ("fma", 1e12), "tensor": ("tensor", 1e12)}
SHOWN = {"latency": [8 << 10, 4 << 20, 1 << 30]}  # bytes of the rings in the short table: in L1, in L2, beyond


def lines_of(variant):
    """All that was recorded of a measurement on an H200, whichever step holds it."""
    return [line for step in steps.load() if step["operation"] == "device" for line in recorded(step).get(variant, [])]


def reached():
    """{unit of arithmetic: what its instruction reached in a second on an H200, in the step machine}, as far as that is recorded."""
    return {unit: scale * line["figure"]["value"] for unit, (variant, scale) in REACHED.items() for line in lines_of(variant)[-1:]}


def rates(gpu):
    """What each unit of a GPU does in a second: what was reached on it, and else what is published."""
    return floors.published(gpu) | (reached() if gpu["name"] == "h200" else {})


def unit_of(line):
    """The unit, and instruction, that a recorded line's step computes by: what needs compute capability 9.0 exactly has wgmma."""
    by_wgmma = any(step["arch"] == "90a" for step in steps.load() if step["name"] == line["step"])
    unit = floors.unit_for(line["dtype"])
    return "wgmma" if unit == "tensor" and by_wgmma else unit


def floor_ms(line):
    """The least milliseconds for a line's operation, whatever the kernel, if it computes by the instruction whose rate is recorded: for its
    operations on the units for its type, or, as the line has it from its program, for its fewest bytes."""
    found = reached().get(unit_of(line))
    return max(line["floor_ms"], 1e3 * line["flops"] / found if found else 0)


def recorded(step):
    """{variant: its lines measured on an H200, the peer's among them}, in the order of the program."""
    lines = [line for line in steps.recorded(step) if results.on_h200(line)]
    return {variant: [line for line in lines if line["variant"] == variant] for variant in step["variants"]}


def plural(count, word):
    return f"{count} {word}{'' if count == 1 else 's'}"


def what(line):
    """A point in words."""
    shape, variant = line["shape"], line["variant"]
    if variant == "copy":
        return f"{run.shape_words(shape)} {'by ' + line['peer'] if line.get('peer') else 'by the kernel'}"
    if variant == "shared":
        return f"loads of {shape['bytes']} bytes"
    if variant == "latency":
        return f"ring of {run.shape_words(shape)}"
    if variant == "littles_law":
        return f"{plural(shape['warps'], 'warp')} an SM, {plural(shape['loads'], 'load')} of {shape['bytes']} bytes"
    if variant == "divergence":
        return f"{plural(shape['paths'], 'path')} by {'lane' if shape['width'] == 1 else 'warp'}"
    if variant == "launch":
        return f"{plural(shape['blocks'], 'block')}, {shape['how']}"
    return plural(shape["rounds"], "round")


def in_digits(figure):
    return f"{figure:,.0f}" if figure >= 999.5 else three_digits(figure)


def value(line):
    return f"{in_digits(line['figure']['value'])} {line['figure']['unit']}"


def published(line):
    figure = line["figure"]
    most = figure["published"]
    return f"{100 * figure['value'] / most:.0f} % of {in_digits(most)}" if most else "–"


def chosen(variant, lines):
    """The few of a sweep that say most: its ends, or what SHOWN names."""
    if variant in SHOWN:
        return [line for line in lines if line["shape"]["bytes"] in SHOWN[variant]]
    if variant == "littles_law":
        return [line for line in lines if line["shape"]["warps"] in (1, 64)]
    if variant == "divergence":
        return [line for line in lines if line["shape"]["paths"] in (1, 32)]
    if variant == "launch":
        return [line for line in lines if line["shape"]["blocks"] in (1, 1 << 18)]
    return lines


def short_table(step):
    """Rows (variant, what, measured, of the published) for the lesson."""
    return [(variant, what(line), value(line), published(line))
            for variant, lines in recorded(step).items() for line in chosen(variant, lines)]


def show_recorded(step, words):
    """The recorded lines as bars, for whoever has no GPU; of all variants, or of the one that the command's words name."""
    named = [words[place + 1] for place, word in enumerate(words[:-1]) if word == "--variant"]
    found = {variant: lines for variant, lines in recorded(step).items() if lines and (not named or variant in named)}
    if not found:
        return out.print("\nNothing is recorded from an H200 yet.")
    env = next(iter(found.values()))[0]["env"]
    out.print(f"\n[bold]Recorded on an NVIDIA H200[/] ({env['date']}, driver {env['gpu_driver']}); nothing was timed here. "
              "Per cent: of what is published.")
    for variant, lines in found.items():
        most = max(line["figure"]["value"] for line in lines)
        out.print(f"[bold cyan]{variant}[/]")
        for line in lines:
            bar = "█" * max(1, round(BAR * line["figure"]["value"] / most))
            share = published(line).split(" of")[0] if line["figure"]["published"] else ""
            out.print(f"  {what(line):<36} {value(line):>11}  [blue]{bar}[/] [dim]{share}[/]")
    roofs = {variant: found[variant][0]["figure"]["value"] for variant in ("copy", "fma") if variant in found}
    if len(roofs) == 2:
        out.print(f"The ridge by what was measured: {1e3 * roofs['fma'] / roofs['copy']:.1f} operations a byte.")

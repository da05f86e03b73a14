"""SASS, what the GPU executes: the main loop of a variant beside the source lines that it comes from, and its instructions by class. nvcc
compiles and nvdisasm disassembles where both are found; else it is the step's sass.json, written by `./learn sass N --record`."""
import collections
import dataclasses
import functools
import hashlib
import json
import re
import subprocess
import tempfile
from pathlib import Path

from rich.table import Table
from rich.text import Text

from tools import build, machine, ptxas, results, run, source, steps
from tools.guard import require_regular, stop, write_whole
from tools.paths import ROOT
from tools.say import out

RECORDED_ARCH = "90a"
NAME = "sass.json"
REPORTED = {*ptxas.NUMBERS, "shared_static"}
WIDTH = 16  # bytes of an instruction

# A class of instructions, and the opcodes in it, without what follows their first dot.
CLASSES = {
    "tensor cores": "HMMA IMMA BMMA DMMA QMMA HGMMA IGMMA QGMMA BGMMA",
    "fp32": "FFMA FMUL FADD FMNMX FSETP FSEL FSET FCHK FFMA32I FMUL32I FADD32I FMNMX3",
    "fp16 and bf16": "HFMA2 HADD2 HMUL2 HMNMX2 HSETP2 HSET2 HADD HFMA2_MMA HADD2_32I",
    "fp64": "DFMA DMUL DADD DSETP DMNMX",
    "special function unit": "MUFU",
    "conversion": "F2F F2FP F2I F2IP I2F I2FP I2I FRND",
    "shared memory, load": "LDS LDSM",
    "shared memory, store": "STS STSM ATOMS",
    "global memory, load": "LDG LD",
    "global memory, store": "STG ST RED ATOMG ATOM REDG",
    "asynchronous copy": "LDGSTS UBLKCP UTMALDG UTMASTG UTMAREDG UBLKRED",
    "local memory": "LDL STL",
    "constant": "LDC ULDC LDCU",
    "shuffle and vote": "SHFL VOTE VOTEU MATCH REDUX",
    "barrier and wait": "BAR WARPSYNC DEPBAR LDGDEPBAR ARRIVES SYNCS MEMBAR FENCE ERRBAR WARPGROUP CCTL NANOSLEEP B2R UCGABAR_ARV UCGABAR_WAIT "
                        "ENDCOLLECTIVE ACQBULK UTMACMDFLUSH UTMACCTL DEPBAR_LE USETMAXREG ELECT",
    "control": "BRA BRX BRXU JMP CALL RET EXIT BSSY BSYNC BREAK BMOV KILL YIELD NOP RPCMOV LEPC",
    "move": "MOV UMOV CS2R S2R S2UR R2UR P2R R2P UP2UR UR2UP PRMT UPRMT SEL USEL MOVM R2B",
    "integer and address": "IMAD IADD3 IADD VIADD LEA LOP3 LOP SHF SHL SHR ISETP IABS IMNMX VIMNMX VIMNMX3 VIADDMNMX IDP POPC FLO BREV SGXT BMSK PLOP3 UPLOP3 "
                           "ISCADD UIADD3 UIMAD ULEA ULOP3 USHF UISETP UIMNMX UPOPC UFLO UBREV USGXT UBMSK UVIADD UIABS UVIMNMX",
}
CLASS_OF = {opcode: name for name, opcodes in CLASSES.items() for opcode in opcodes.split()}
SHAPED = {name for name in CLASSES if "memory" in name or name in ("tensor cores", "special function unit", "asynchronous copy")}
NAMED_WHOLE = {"WARPGROUP", "USETMAXREG"}  # WARPGROUP.ARRIVE is a fence, and WARPGROUP.DEPBAR.LE a wait
SETS_REGISTER = re.compile(r"\bIMAD\.MOV|\bHFMA2\S* R\d+, -RZ, RZ, ")
# What makes a loop the main one: most of the first, of two with as many most of the second, and so on.
WORK = ("tensor cores",), ("fp32", "fp16 and bf16"), ("special function unit",), ("global memory, load", "asynchronous copy")
LISTED = [name for names in WORK for name in names] + ["shared memory, load"]  # of a loop that is not shown

SECTION = re.compile(r"^\s*\.section\s+\.text\.(?P<name>[\w$.]+),")
LABEL = re.compile(r"^(?P<label>\.L_\w+):")
FRAME = re.compile(r'^\s*//## File "(?P<file>.*?)", line (?P<line>\d+)')
INSTRUCTION = re.compile(r"^\s*/\*(?P<address>[0-9a-f]{4,})\*/\s+(?P<text>[^;]+?)\s*;")
TARGET = re.compile(r"`\((\.L_\w+)\)")
OPCODE = re.compile(r"^(?:@!?U?P\w+ )?(?P<opcode>[\w.]+)")
SETMAXNREG = re.compile(r"\bUSETMAXREG\.(?P<how>\w+).* 0x(?P<count>[0-9a-f]+)$")
ADDRESS = re.compile(r"\b0x([0-9a-f]+)$")


@dataclasses.dataclass(frozen=True)
class Instruction:
    text: str  # as nvdisasm has it, but a branch names an address in place of a label
    line: int  # of the step's source; 0 for none

    @functools.cached_property
    def whole(self):
        """FFMA.FTZ of @P0 FFMA.FTZ R1, …"""
        return OPCODE.match(self.text)["opcode"]

    @property
    def opcode(self):
        return self.whole.split(".")[0]

    @functools.cached_property
    def kind(self):
        """The class that it belongs to. ptxas has the FMA units move registers, and the tensor cores' neighbours set constants, too."""
        return "move" if SETS_REGISTER.search(self.text) else CLASS_OF.get(self.opcode, "other")

    @property
    def name(self):
        """What it is counted as: of an access or a product its width and shape matter, LDS.128, else FFMA."""
        return self.whole if self.kind in SHAPED or self.opcode in NAMED_WHOLE else self.opcode

    @property
    def target(self):
        """The number of the instruction that a branch goes to; None of another."""
        found = ADDRESS.search(self.text) if self.opcode in ("BRA", "BSSY") else None
        return int(found[1], 16) // WIDTH if found else None

    @property
    def is_certain(self):
        """Whether whatever comes to it executes it; a branch can also have its condition among its operands: BRA.U UP0, 0x20."""
        return not self.text.startswith("@") and not (self.opcode == "BRA" and "," in self.text)


@dataclasses.dataclass
class Loop:
    """What a branch back repeats."""
    own: dict   # {number in the kernel: Instruction}, without those of loops inside it
    inner: int  # how many those are

    @property
    def instructions(self):
        return list(self.own.values())

    @functools.cached_property
    def work(self):
        counts = by_class(self.instructions)
        return tuple(sum(counts[name].total() for name in names) for names in WORK)

    @property
    def lines(self):
        """(first, last) line of the source that it comes from; (0, 0) for none."""
        known = [one.line for one in self.instructions if one.line]
        return (min(known), max(known)) if known else (0, 0)


@dataclasses.dataclass
class Kernel:
    name: str       # as ncu has it, without void
    variants: list  # that launch it
    size: int       # in instructions
    reported: dict  # by ptxas: registers, spill_stores, spill_loads, stack, shared_static
    loops: list
    setmaxnreg: list = dataclasses.field(default_factory=list)  # its instructions, wherever they stand


@dataclasses.dataclass
class Program:
    """A step's kernels as one compiler made them."""
    arch: str
    nvcc: str
    kernels: list
    source: str = ""  # digests of what was compiled, where it was recorded
    ptx: str = ""


# ---- nvdisasm's text ----

def line_of(frames, own):
    """Of the lines that an instruction comes from, the innermost first, the first that stands in the step's own source; 0 without any."""
    return next((line for file, line in frames if file == own), 0)


def parse(text, own):
    """{kernel: its instructions} of what nvdisasm -c -gi prints; own: the path of the step's source, as nvcc was given it."""
    found, labels, frames, fresh = {}, {}, [], False
    for row in text.splitlines():
        if section := SECTION.match(row):
            found[section["name"]] = current = []
            frames = []
        elif label := LABEL.match(row):
            labels[label["label"]] = len(current) * WIDTH if found else 0
        elif frame := FRAME.match(row):
            frames = (frames if fresh else []) + [(frame["file"], int(frame["line"]))]
            fresh = True
        elif (instruction := INSTRUCTION.match(row)) and found:
            current.append(Instruction(" ".join(instruction["text"].split()), line_of(frames, own)))
            fresh = False
    place = lambda label: f"0x{labels[label[1]]:x}" if label[1] in labels else label[0]
    return {name: [dataclasses.replace(one, text=TARGET.sub(place, one.text)) for one in instructions] for name, instructions in found.items()}


# ---- loops ----

def successors(instructions, place):
    """The numbers of the instructions that can follow one."""
    here = instructions[place]
    onward = [place + 1] if place + 1 < len(instructions) else []
    if here.opcode == "BRA" and here.target is not None:
        return [here.target] + ([] if here.is_certain else onward)
    if here.opcode == "BSSY" and here.target is not None:
        return onward + [here.target]  # where its lanes meet again
    if here.opcode in ("EXIT", "RET", "BRX", "KILL") and here.is_certain:
        return []
    return onward


def reached(start, following, without=None):
    """All that can be reached from a place, which is among them, on ways that do not pass another."""
    todo = [start] if start != without else []
    seen = set(todo)
    while todo:
        for after in following[todo.pop()]:
            if after not in seen and after != without:
                seen.add(after)
                todo.append(after)
    return seen


def find_loops(instructions):
    """The natural loops of a kernel in the order of their first instructions: where a branch goes back to an instruction that no way to
    the branch avoids, all that can come to the branch from there."""
    following = [successors(instructions, place) for place in range(len(instructions))]
    before = [[] for _ in instructions]
    for place, after in enumerate(following):
        for each in after:
            before[each].append(place)
    alive = reached(0, following)
    ends = collections.defaultdict(set)
    for place in alive:
        for head in following[place]:
            if head < place:
                ends[head].add(place)
    bodies = {}
    for head in sorted(ends):
        inside = ends[head] - reached(0, following, head)
        if inside:
            bodies[head] = alive & {head}.union(*(reached(end, before, head) for end in inside))
    return [loop_of(instructions, body, set().union(*(other for other in bodies.values() if other < body))) for body in bodies.values()]


def find_setmaxnreg(instructions):
    """What a kernel gives back of its registers and takes more of, which no loop repeats but the one that tries to get them."""
    return [one.text for one in instructions if one.opcode == "USETMAXREG"]


def loop_of(instructions, body, inside):
    return Loop({place: instructions[place] for place in sorted(body - inside)}, len(inside))


def main_loop(found, took):
    """The number, among (kernel, loop), of the main one: in the kernel that takes longest, the one that does most of the work itself, and
    not by a loop inside it. took: {kernel: nanoseconds}, as far as they are recorded."""
    return max(range(len(found)), key=lambda number: (took.get(found[number][0].name, 0), found[number][1].work, -number))


def durations(step, variant):
    """{kernel: nanoseconds} of a variant's launch at the shape of the step's figures, as ncu recorded it."""
    line = None if step["operation"] == "device" else results.counted(step, variant, results.headline(step))
    return {called(kernel["kernel"]): kernel["launch"]["duration_ns"] or 0 for kernel in line["kernels"]} if line else {}


# ---- counts ----

def by_class(instructions):
    """{class: Counter of opcodes}, for each class that there is."""
    found = {name: collections.Counter() for name in [*CLASSES, "other"]}
    for one in instructions:
        found[one.kind][one.name] += 1
    return found


def named(counter):
    """FFMA 512, LDS.128 32."""
    return ", ".join(f"{name} {count:,}" for name, count in counter.most_common())


# ---- compile ----

def nvcc_version():
    found = re.search(r"V([\d.]+)", machine.said(machine.nvcc(), "--version") or "")
    return found[1] if found else "of an unknown version"


def missing_tool():
    """Why nothing can be compiled and disassembled here, in a sentence; None where it can."""
    if not machine.nvcc():
        return "There is no nvcc here."
    if not machine.nvdisasm():
        return "There is no nvdisasm here, beside nvcc or on the PATH: pip install nvidia-cuda-nvdisasm, or the CUDA Toolkit, has it."
    return None


def launched(step):
    """{variant: the kernels that it launches}, as the emulator saw it at the shape of the step's figures."""
    build.build("cpu", step["name"])
    found = {}
    for variant in steps.variants(step):
        done = run.counted(step, variant, *results.headline_flags(step))
        if done["status"]:
            stop(f"{step['name']} {variant or ''} ended with status {done['status']}:\n{done['output'].strip()}", 1)
        found[variant] = [called(kernel["kernel"]) for kernel in done["profile"]["kernels"]]
    return found


def called(demangled):
    return ptxas.called(demangled).removeprefix("void ")


def compiled(step, arch):
    """The step's program as the nvcc found here makes it."""
    path = steps.source(step)
    with tempfile.TemporaryDirectory(prefix="learn-") as place:
        cubin = Path(place, "cubin")
        status, said = ptxas.compile_source(path, arch, cubin)
        if "Unsupported gpu architecture" in said:
            stop(f"nvcc {nvcc_version()} cannot compile for sm_{arch}: it knows no such architecture.")
        if status:
            stop(f"nvcc cannot compile {path.relative_to(ROOT)} for sm_{arch}:\n{said.strip() or f'it said nothing, and ended with status {status}.'}", 1)
        done = subprocess.run([machine.nvdisasm(), "-c", "-gi", cubin], capture_output=True, text=True, errors="replace")
        if done.returncode:
            stop(f"{machine.nvdisasm()} cannot read what nvcc {nvcc_version()} made: {done.stderr.strip()}", 1)
    reported = {called(name): numbers for name, numbers in ptxas.kernels(said).items()}
    found = parse(done.stdout, str(path))
    variants = launched(step)
    kernels = []
    for demangled, instructions in zip((machine.said("c++filt", *found) or "").splitlines(), found.values()):
        name = called(demangled)
        if users := [variant for variant, launches in variants.items() if name in launches]:
            kernels.append(Kernel(name, users, len(instructions), reported.get(name, {}), find_loops(instructions), find_setmaxnreg(instructions)))
    return Program(arch, nvcc_version(), kernels)


# ---- what is recorded ----

def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def code_digest(step):
    """Of the lines of code of the step's source, and of the headers of common/ptx that it includes. Comments may change."""
    text = steps.source(step).read_text()
    texts = [text] + [(ROOT / "common" / name).read_text() for name in sorted(re.findall(r'^#include "(ptx/.+?)"', text, re.MULTILINE))]
    return digest("\n".join(line for each in texts for line in source.code_lines(each)))


def ptx_digest(step, arch):
    """Of what nvcc makes before ptxas: no place and no time is in it."""
    with tempfile.TemporaryDirectory(prefix="learn-") as place:
        made = Path(place, "ptx")
        status, said = ptxas.compile_source(steps.source(step), arch, made, "-ptx")
        return digest(said if status else made.read_text())


def record_path(step):
    return steps.directory(step) / NAME


def code_line_numbers(step):
    """The line in the step's source of each of its lines of code."""
    return [number for number, _ in source.numbered_code_lines(steps.source(step).read_text())]


def packed(loop, ordinals):
    """A loop for the record: runs of instructions that follow one another and come from one line, which is kept as its number among the
    lines of code, so that comments may change."""
    runs, before = [], (None, None)
    for place, one in loop.own.items():
        if (place - 1, one.line) == before:
            runs[-1][2] += f"; {one.text}"
        else:
            runs.append([place, ordinals.get(one.line, 0), one.text])
        before = place, one.line
    return {"inner": loop.inner, "sass": runs}


def unpacked(row, lines):
    return Loop({place: Instruction(text, lines.get(ordinal, 0)) for first, ordinal, texts in row["sass"]
                 for place, text in enumerate(texts.split("; "), first)}, row["inner"])


def record(step):
    """Write the step's sass.json. Returns what is in it."""
    program = compiled(step, RECORDED_ARCH)
    ordinals = {line: ordinal for ordinal, line in enumerate(code_line_numbers(step), 1)}
    rows = [{"arch": program.arch, "nvcc": program.nvcc, "source": code_digest(step), "ptx": ptx_digest(step, program.arch)}]
    rows += [{name: value for name, value in vars(kernel).items() if name != "setmaxnreg" or value}
             | {"loops": [packed(loop, ordinals) for loop in kernel.loops]} for kernel in program.kernels]
    text = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    write_whole(record_path(step), f"[\n{text}\n]\n")
    return program


def is_whole(head, rows):
    """Whether a record has the shape that it is written in."""
    loops = [loop for row in rows for loop in row["loops"]]
    runs = [each for loop in loops for each in loop["sass"]]
    numbers = [*(number for row in rows for number in (row["size"], *row["reported"].values())), *(loop["inner"] for loop in loops),
               *(number for first, ordinal, _ in runs for number in (first, ordinal))]
    return bool(rows) and all(isinstance(words, str) for words in head.values()) and all(isinstance(number, int) for number in numbers) \
        and all(isinstance(row["variants"], list) and row["reported"].keys() in (set(), REPORTED) for row in rows) \
        and all(isinstance(text, str) and SETMAXNREG.search(text) for row in rows for text in row.get("setmaxnreg", [])) \
        and all(loop["sass"] for loop in loops) and all(OPCODE.match(text) for *_, texts in runs for text in texts.split("; "))


@functools.lru_cache(maxsize=64)
def program_of(text, numbers):
    """The Program of a record's text, or None where it is not whole. numbers: of the lines of code."""
    lines = dict(enumerate(numbers, 1))
    try:
        head, *rows = json.loads(text)
        if is_whole(head, rows):
            return Program(**head, kernels=[Kernel(**row | {"loops": [unpacked(loop, lines) for loop in row["loops"]]}) for row in rows])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        pass
    return None


def recorded(step):
    """The Program of the step's sass.json; None where there is none."""
    path = record_path(step)
    require_regular(path)
    if not path.exists():
        return None
    program = program_of(path.read_bytes(), tuple(code_line_numbers(step)))
    if not program:
        stop(f"{path.relative_to(ROOT)} is not as ./learn sass {steps.called(step)} --record writes it.")
    return program


def renew(check):
    """Record anew what is of other lines of code than the source has now, or only name it. Returns [(path, what it is)]."""
    stale = [step for step in steps.load() if (program := recorded(step)) and program.source != code_digest(step)]
    for step in stale if not check else []:
        if why := missing_tool():
            stop(f"{record_path(step).relative_to(ROOT)} is stale. {why}")
        record(step)
    return [(str(record_path(step).relative_to(ROOT)), "record") for step in stale]


# ---- what is shown ----

def of_variant(step, program, variant):
    """[(kernel, loop)] of the kernels that a variant launches; stops where there are none."""
    found = [(kernel, loop) for kernel in program.kernels if variant in kernel.variants for loop in kernel.loops]
    if not found:
        stop(f"{' '.join(filter(None, (step['name'], variant)))} has no loop on the GPU: no instruction is repeated.")
    return found


def place_of(step, line, text):
    """A source line, with what it says."""
    if not line:
        return Text("of no line of the program", style="bold")
    return Text.assemble((f"{steps.source(step).name}:{line}", "bold"), "  ", text[line - 1].strip())


def show_lines(step, loop):
    """The loop's instructions by the source lines that they come from."""
    text = steps.source(step).read_text().splitlines()
    for line in sorted({one.line for one in loop.instructions}, key=lambda line: line or len(text) + 1):
        out.print(place_of(step, line, text), no_wrap=True, overflow="ellipsis")
        counts = collections.Counter(one.name for one in loop.instructions if one.line == line)
        out.print(f"    {named(counts)}", style="cyan", markup=False, soft_wrap=True)


def show_each(step, loop):
    """The loop's instructions in order, below the source lines that they come from."""
    text = steps.source(step).read_text().splitlines()
    before = None
    for place, one in loop.own.items():
        if one.line != before:
            out.print(place_of(step, one.line, text), no_wrap=True, overflow="ellipsis")
        before = one.line
        out.print(f"    {place * WIDTH:04x}  {one.text}", style="cyan", markup=False, no_wrap=True, overflow="ellipsis")


def excerpt(step, variant, *opcodes):
    """Those instructions of a variant's main loop, and of loops inside it, that have one of these opcodes, in order; of what is recorded."""
    steps.require_variant(step, ["--variant", variant])
    program = recorded(step)
    if program is None:
        stop(f"Nothing is recorded of {step['name']}.")
    kernel, main = choose(step, program, variant)
    places = range(min(main.own), max(main.own) + 1)
    inside = {place: one for loop in kernel.loops for place, one in loop.own.items() if place in places}
    if missing := set(opcodes) - {one.opcode for one in inside.values()}:
        stop(f"The main loop of {step['name']} {variant} has no {' and no '.join(sorted(missing))}.")
    return [(place, one) for place, one in sorted(inside.items()) if one.opcode in opcodes]


def show_classes(loop):
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title, justify in (("class", "left"), ("a pass", "right"), ("instructions", "left")):
        table.add_column(title, justify=justify, no_wrap=title != "instructions")
    for name, counter in by_class(loop.instructions).items():
        if counter or name == "local memory":
            table.add_row(name, f"{counter.total():,}", named(counter))
    table.add_row("all", f"{len(loop.own):,}", "")
    out.print(table)
    if loop.inner:
        out.print(f"Not counted are the {loop.inner:,} instructions of the loops inside it, which one pass of it repeats.")


def spill_words(reported):
    if reported["spill_stores"] + reported["spill_loads"]:
        return f"spilled: {reported['spill_stores']:,} bytes are stored and {reported['spill_loads']:,} loaded"
    return "nothing is spilled" + (f", but arrays take {reported['stack']:,} bytes of local memory" if reported["stack"] else "")


def setmaxnreg_words(kernel):
    """; then USETMAXREG.DEALLOC to 40, USETMAXREG.TRY_ALLOC to 232."""
    found = [SETMAXNREG.search(text) for text in kernel.setmaxnreg]
    words = dict.fromkeys(f"USETMAXREG.{each['how']} to {int(each['count'], 16)}" for each in found if each)
    return f"; then {', '.join(words)}" if words else ""


def loop_words(loop):
    """Where a loop stands and what it has."""
    first, last = loop.lines
    counts = by_class(loop.instructions)
    most = [f"{name} {counts[name].total():,}" for name in LISTED if counts[name]]
    where = f"lines {first} to {last}" if first != last else f"line {first}" if first else "no line of the program"
    return "; ".join([f"{where}, {len(loop.own):,} instructions", *most])


def choose(step, program, variant, number=None):
    """(kernel, loop) of a variant's main loop, or of the one with a number."""
    found = of_variant(step, program, variant)
    if number is not None and not 1 <= number <= len(found):
        stop(f"There is no loop {number}: {step['name']} {variant or ''} has {'one' if len(found) == 1 else f'1 to {len(found)}'}.")
    return found[main_loop(found, durations(step, variant)) if number is None else number - 1]


def show(step, program, variant, number, each, heading):
    found = of_variant(step, program, variant)
    kernel, loop = choose(step, program, variant, number)
    chosen = next(place for place, (_, other) in enumerate(found) if other is loop)
    title = " ".join(filter(None, (step["name"], variant)))
    out.print(f"[bold]{title}[/], {heading}", soft_wrap=True)
    out.print(f"Loop {chosen + 1} of {len(found)}, in {kernel.name}.\n", markup=False)
    (show_each if each else show_lines)(step, loop)
    out.print()
    show_classes(loop)
    if kernel.reported:
        out.print(f"\n{kernel.name}: {kernel.reported['registers']} registers a thread{setmaxnreg_words(kernel)}; {spill_words(kernel.reported)}.", markup=False, soft_wrap=True)
    if len(found) > 1:
        several = len({kernel.name for kernel, _ in found}) > 1
        out.print(f"\nThe loops of {title}. The main one, shown without --loop K, {'is of the kernel that takes longest, and there ' * several}has "
                  "most work in its own instructions: products on tensor cores before fp32, before the special function unit, before loads.",
                  markup=False, soft_wrap=True)
        for place, (within, other) in enumerate(found):
            where = f"{within.name}, " if several else ""
            out.print(f"{'→' if place == chosen else ' '} {place + 1}  {where}{loop_words(other)}", markup=False, no_wrap=True, overflow="ellipsis")
    if not each:
        out.print("[dim]Each instruction, in order: --all[/]")


def from_record(step, arch, why):
    """The Program recorded, and how to call it; stops where none serves."""
    program = recorded(step)
    if program is None:
        stop(f"{why} Nothing is recorded of {step['name']}.".strip())
    if arch != program.arch:
        stop(f"{why} Recorded is only what was compiled for sm_{program.arch}, not for sm_{arch}.".strip())
    stale = "" if program.source == code_digest(step) else "\n[yellow]The source has changed since: its lines may be others.[/]"
    return program, f"recorded of nvcc {program.nvcc} for sm_{program.arch}. {why}".strip() + stale


def sass(step, variant, arch, number, each, only_recorded, to_record):
    """Returns the exit status."""
    steps.require_variant(step, [] if variant is None else ["--variant", variant])
    require_arch(step, arch)
    if only_recorded and to_record:
        stop("--record compiles anew, and --recorded shows what was compiled: give one of them.")
    why = "" if only_recorded else missing_tool()
    if to_record:
        if why or arch != RECORDED_ARCH:
            stop(why or f"Only code for sm_{RECORDED_ARCH} is recorded.")
        program = record(step)
        out.print(f"{record_path(step).relative_to(ROOT)}: {len(program.kernels)} kernels by nvcc {program.nvcc}")
        return 0
    if only_recorded or why:
        program, heading = from_record(step, arch, why)
    else:
        program = compiled(step, arch)
        heading = f"compiled here by nvcc {program.nvcc} for sm_{arch}."
    show(step, program, variant or steps.variants(step)[-1], number, each, heading)
    return 0


def require_arch(step, arch):
    """Stop at an architecture that no GPU has, or that cannot run the step."""
    if not re.fullmatch(r"[1-9]\d{1,2}[af]?", arch):
        stop(f"'{arch}' is no architecture: wanted is one such as 75, 80 or 90a.")
    if not machine.can_run(step["arch"], arch.rstrip("af")):
        stop(f"{step['name']} needs compute capability {machine.capability_of(step['arch'])}, so there is no code of it for sm_{arch}.")

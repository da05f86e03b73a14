"""What a prediction is compared with: expressions, as they stand in predict.toml, over what the emulator counts, what was
recorded on an H200, and plain numbers. All values are in base units: bytes, seconds, operations, bytes a second."""
import functools
import math
from types import SimpleNamespace

from tools import build, device, results, run, source, steps
from tools import sass as disassembly
from tools.guard import stop


@functools.cache
def built(name):
    """Bring a step's program for the emulator up to date, once."""
    build.build("cpu", name)


def counted(step, variant):
    """A run of an up-to-date program on the emulator, at its default shape with what the step's figures are of, as run.case gives it."""
    built(step["name"])
    done = run.counted(step, variant, *results.headline_flags(step))
    if done["status"]:
        stop(f"{step['name']} {variant} ended with status {done['status']}:\n{done['output'].strip()}", 1)
    return done


def on_lines(step, profile, at):
    """The counters of the lines of one piece of the step's source, or from the first to the last of several, together."""
    name = f"{step['dir']}/{steps.source(step).name}"
    known = source.pieces(steps.source(step).read_text(), name)
    first, last = (known[each] for each in (at.split()[0], at.split()[-1]))
    first, last = first.lines(last)
    inside = [line for kernel in profile["kernels"] for line in kernel["lines"]
              if line["file"] == name and first <= line["line"] <= last]
    return {counter: sum(line[counter] for line in inside) for counter in run.total(profile)}


def emulated(here, variant, step=None, at=None):
    """The default shape on the emulator: its counters, all or those of one piece, its sizes, the blocks, threads and warps launched,
    and the bytes of shared memory that a block has."""
    step = steps.find(step) if step else here
    done = counted(step, variant)
    profile = done["profile"]
    launched = [(math.prod(kernel["grid"]), math.prod(kernel["block"])) for kernel in profile["kernels"]]
    counts = on_lines(step, profile, at) if at else run.total(profile)
    return SimpleNamespace(**counts, **done["case"]["shape"], blocks=sum(blocks for blocks, _ in launched),
                           threads=sum(blocks * threads for blocks, threads in launched),
                           warps=sum(blocks * -(-threads // 32) for blocks, threads in launched),
                           shared=max(kernel["shared_static"] + kernel["shared_dynamic"] for kernel in profile["kernels"]))


def h200(here, variant=None, peer=None, step=None, dtype=None, **shape):
    """What was timed on an H200, last: seconds, bytes, operations, bytes a second (rate), the figure of a device's variant, and
    attention's device_bytes. At the shape of the step's figures, with the sizes given in place of its own; for a device's variant, at
    the sizes given. In the type given, else in the step's first."""
    step = steps.find(step) if step else here
    wanted = shape if step["operation"] == "device" else results.headline(step) | shape
    found = [line for line in steps.recorded(step)
             if results.on_h200(line) and line["dtype"] == (dtype or step["dtypes"][0]) and bool(line.get("peer")) == bool(peer)
             and (line["peer"].startswith(peer) if peer else line["variant"] == variant)
             and (line["shape"] == wanted or step["operation"] == "device" and wanted.items() <= line["shape"].items())]
    if not found:
        raise LookupError(f"nothing is recorded of {variant or peer} at {wanted}")
    line = found[-1]
    return SimpleNamespace(seconds=1e-3 * line["time"]["median_ms"], bytes=line["bytes"], operations=line["flops"],
                           rate=1e9 * line["gbps"], figure=line.get("figure", {}).get("value"),
                           device_bytes=line.get("device_bytes"))


def ncu(here, variant, step=None, **shape):
    """What ncu counted on an H200, at the shape of the step's figures with the sizes given, the registers of a thread and the time of its
    own run."""
    step = steps.find(step) if step else here
    line = results.counted(step, variant, results.headline(step) | shape)
    launches = [kernel["launch"] for kernel in line["kernels"]]
    return SimpleNamespace(**line["ncu"], registers=max(launch["registers"] for launch in launches),
                           seconds=1e-9 * sum(launch["duration_ns"] for launch in launches))


class Instructions:
    """A loop of a variant's kernels, as sass.json has it, and what the compiler says of its kernel."""

    def __init__(self, kernel, loop):
        self.instructions = loop.instructions
        self.total = len(loop.instructions)
        self.registers = kernel.reported["registers"]
        self.spills = kernel.reported["spill_stores"] + kernel.reported["spill_loads"]

    def count(self, *words):
        """How many instructions of a pass have one of these words for their class, opcode or name: fp32, FFMA, LDS.128."""
        return sum(bool({one.kind, one.opcode, one.name} & set(words)) for one in self.instructions)


def sass(here, variant, step=None, loop=None):
    """What is recorded of the instructions of a variant's main loop, or of another, by its number."""
    step = steps.find(step) if step else here
    program = disassembly.recorded(step)
    if not program:
        raise LookupError(f"no {disassembly.NAME} is recorded of {step['name']}")
    return Instructions(*disassembly.choose(step, program, variant, loop))


def gpu(here):
    """An H200's published rates: SMs, clocks, operations and bytes a second."""
    published = counted(here, steps.variants(here)[-1])["profile"]["gpu"]
    clock = 1e9 * published["clock_ghz"]
    return SimpleNamespace(sms=published["sms"], clock=clock, dram=1e9 * published["dram_gbps"],
                           tensor=1e12 * published["tensor_fp16_tflops"],
                           fp32=2 * published["fp32_lanes_per_sm"] * published["sms"] * clock)


def reached(here):
    """The rates of `fp32` and `tensor` that FMAs and mma reached on an H200 in the step machine: operations a second."""
    return SimpleNamespace(**device.reached())


class Names(dict):
    """What an expression may name: the functions above, and the file's own names, worked out when they are first needed."""

    def __init__(self, step, definitions):
        super().__init__(ceil=math.ceil, min=min, max=max)
        self.update({function.__name__: functools.partial(function, step) for function in (emulated, h200, ncu, sass, gpu, reached)})
        self.definitions = definitions

    def __missing__(self, name):
        self[name] = self.value(self.definitions[name])
        return self[name]

    def value(self, expression):
        return eval(expression, {"__builtins__": {}}, self)


def value(step, expression, definitions, file="predict.toml"):
    """The value of an expression of a file in the step's exercises/, whose [names] are the definitions."""
    try:
        return float(Names(step, definitions).value(expression))
    except (ArithmeticError, AttributeError, LookupError, NameError, RecursionError, SyntaxError, TypeError,
            ValueError) as error:
        stop(f"{step['dir']}/exercises/{file}: {expression}: {type(error).__name__}: {error}", 1)

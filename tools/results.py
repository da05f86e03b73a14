"""What stands in the steps' results.jsonl: figures measured on an H200, never edited by hand."""
from tools import steps
from tools.floors import three_digits
from tools.lines import apart

TUNED = "tuned"  # the variant that is tuning for one compiler or chip, where a step has one
MOVES_BYTES = {"axpy", "sum", "scale", "softmax"}  # operations whose rate is one of bytes

# One shape throughout tours and plots for each operation, whatever the element type.
LADDER_SHAPE = {"device": {"bytes": 1 << 30}, "axpy": {"n": 1 << 28}, "sum": {"n": 1 << 28},
                "matmul": {"m": 4096, "n": 4096, "k": 4096}, "softmax": {"rows": 8192, "cols": 8192}, "scale": {"rows": 16384, "cols": 16384},
                "attention": {"batch": 1, "heads": 8, "kv_heads": 8, "seqlen": 8192, "head_dim": 64, "causal": False}}
# Steps whose own figures, those of their lesson, are of another shape: what differs in it.
HEADLINE = {"32_flash_mma_causal": {"causal": True}, "33_flash_mma_gqa": {"causal": True},
            "34_flash_mma_split_keys": {"heads": 32, "kv_heads": 8, "seqlen": 1, "kv_seqlen": 32768, "head_dim": 128},
            "35_flash_mma_tiling_qk": {"head_dim": 512}, "47_flash_overlap": {"head_dim": 128},
            "48_flash_hopper_causal": {"causal": True}}
# Where the emulator would take minutes for that: what differs from its own default shape instead.
EMULATED = {"34_flash_mma_split_keys": {"heads": 8, "kv_heads": 2, "seqlen": 1, "kv_seqlen": 512}}


def headline(step):
    """The shape of the figures that a step's lesson shows."""
    return LADDER_SHAPE[step["operation"]] | HEADLINE.get(step["name"], {})


def shape_flags(shape):
    """What asks a program for a shape: ["-m", "4096"], ["--head-dim", "64", "--causal"]."""
    return [word for name, size in shape.items() if size is not False
            for word in (f"{'-' if len(name) == 1 else '--'}{name.replace('_', '-')}", *([] if size is True else [str(size)]))]


def headline_flags(step):
    """What makes a program's default shape like that one: ["--causal"], ["--head-dim", "512"]."""
    return shape_flags(EMULATED.get(step["name"]) or HEADLINE.get(step["name"], {}))


def on_h200(line):
    return "H200" in line["device"] and line["time"]


def is_at(line, shape):
    """Whether a line was timed on an H200 at a shape."""
    return on_h200(line) and line["shape"] == shape


def timed(step, shape):
    """The lines recorded of a step and its peers, in its first type, at a shape or, where that is None, at that of its figures."""
    return [line for line in steps.recorded(step) if is_at(line, shape or headline(step)) and line["dtype"] == step["dtypes"][0]]


def ours(step, variant, shape=None):
    """The recorded H200 line of a variant at a shape, by default that of the step's figures, and in its first type, or None. The last
    recorded counts."""
    lines = [line for line in timed(step, shape) if not line.get("peer") and line["variant"] in (variant, variant or "")]
    return lines[-1] if lines else None


def of_variants(step, shape=None):
    """Those lines of all its variants that have one, in the order of the variants."""
    return [line for variant in steps.variants(step) if (line := ours(step, variant, shape))]


def fastest(lines):
    """The line of the least time; None of none."""
    return min(lines, key=lambda line: line["time"]["median_ms"], default=None)


def peers(step, shape=None):
    """The peers that were measured beside the step at that shape and in its first type: {name: line}. Its lesson says how many times
    as fast the step is, which is true within one run only."""
    return {line["peer"]: line for line in timed(step, shape) if line.get("peer")}


def peer_records(kind, shape):
    """The one record of each peer of an (operation, element type) at a shape, for whatever shows several steps: {name: line}. It is that
    of the run in which most steps were timed, of equals the last."""
    found = {}
    for step in steps.load():
        if steps.kind(step) == kind:
            for name, line in peers(step, shape).items():
                found.setdefault(name, []).append(line)
    return {name: max(reversed(lines), key=lines.count) for name, lines in found.items()}


def counted(step, variant, shape):
    """The line of what ncu counted of a variant at a shape, on an H200, or None. The last recorded counts."""
    lines = [line for line in steps.recorded(step)
             if line.get("ncu") and "H200" in line["device"] and line["variant"] == variant and line["shape"] == shape]
    return lines[-1] | {"ncu": counters(step, lines[-1])} if lines else None


def counters(step, line):
    """What ncu counted, each kind by itself. The products of a step that is for compute capability 9.0 alone are of warpgroups, also where
    ncu was not asked for these by themselves."""
    products = {"wgmma": line["ncu"]["mma"]} if step["arch"] == "90a" and line["ncu"].get("mma") else {}
    return products | apart(line["ncu"])


def hardware(step, variant, shape):
    """Its counters alone, summed over the launch's kernels."""
    line = counted(step, variant, shape)
    return line and line["ncu"]


def best(step, shape=None):
    """The fastest variant of a step recorded at that shape, or None."""
    return fastest(of_variants(step, shape))


def of_its_idea(step, shape=None):
    """The fastest variant of a step recorded at that shape, but for the one called `tuned`: that is for a compiler or a chip what the
    step's idea is not. None where there is no other."""
    return fastest(line for line in of_variants(step, shape) if line["variant"] != TUNED)


def gain(step):
    """How many times as fast a step's idea made the step that it comes from, at the shape of its figures, and that step's line; None
    where that one does something else, or was not timed there."""
    line, before = of_its_idea(step), steps.origin(step)
    if not line or not before or before["operation"] != step["operation"]:
        return None
    other = of_its_idea(before, line["shape"])
    return other and (other["time"]["median_ms"] / line["time"]["median_ms"], other)


def rate(line):
    """33.1 TFLOPS, or GB/s where a step moves bytes and computes little."""
    if line["tflops"] and line["operation"] not in MOVES_BYTES:
        return f"{three_digits(line['tflops'])} TFLOPS"
    return f"{line['gbps']:,.0f} GB/s"


def milliseconds(line):
    return f"{three_digits(line['time']['median_ms'])} ms"

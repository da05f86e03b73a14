"""What bench/attention_decode.py timed of a step, as tables: one query a head, and shapes with more rows."""
import math
from statistics import geometric_mean

from tools import results, run
from tools.floors import duration
from tools.occupancy import GPUS

COPY = "copy"
SHAPE = "B, heads / KV heads, N, D"  # the head of a column of shapes with one query a head
TILE = 64  # keys; where these divide the number of keys, the last tile is whole


def median(line):
    return line["time"]["median_ms"]


def keys(shape):
    return shape.get("kv_seqlen", shape["seqlen"])


def column(line, step):
    """Whose line it is, in a table's head: a variant of the step, another step, or a peer by its last word."""
    if line["step"]:
        return f"`{line['variant']}`" if line["step"] == step["name"] else f"step {line['step'][:2]}"
    return COPY if line["peer"].startswith("cudaMemcpy") else line["peer"].split(", ")[-1]


def by_shape(step, lines, dtype):
    """[(shape, {column: line})] of one type, in the order in which they were timed. The last of a shape counts."""
    found = {}
    for line in lines:
        if line["dtype"] == dtype and results.on_h200(line):
            found.setdefault(run.shape_words(line["shape"]), (line["shape"], {}))[1][column(line, step)] = line
    return list(found.values())


def ratio(row, ours, other):
    """How many times as fast ours is as another; NaN where one of both was not timed."""
    return median(row[other]) / median(row[ours]) if ours in row and other in row else math.nan


def in_cell(value):
    return "–" if math.isnan(value) else f"{value:.2f}"


def ours_of(step):
    """The last variant, which runs unless another is named, as a table's head calls it."""
    return f"`{step['variants'][-1]}`"


def others_of(timed):
    """What was timed beside the step's variants, as a table's head calls it."""
    return [name for name in dict.fromkeys(name for _, row in timed for name in row) if not name.startswith("`")]


def rate(row, name):
    """GB of K and V a second."""
    return f"{1e-6 * row[name]['kv_bytes'] / median(row[name]):,.0f}" if name in row else "–"


def words(shape):
    return f"{shape['batch']}, {shape['heads']}/{shape['kv_heads']}, {keys(shape):,}, {shape['head_dim']}"


def one_query(step, timed):
    """A table's head and rows: GB of K and V a second of each, and how many times as fast the last variant is; last the geometric means
    of the shapes whose last tile of keys is whole."""
    ours, others = ours_of(step), others_of(timed)
    head = SHAPE, "K and V, MB", *(f"{name}, GB/s" for name in [ours, *others]), *(f"× {name}" for name in others)
    rows = [(words(shape), f"{1e-6 * next(iter(row.values()))['kv_bytes']:,.0f}", *(rate(row, name) for name in [ours, *others]),
             *(in_cell(ratio(row, ours, name)) for name in others)) for shape, row in timed]
    whole = [row for shape, row in timed if keys(shape) % TILE == 0]
    mean = lambda name: geometric_mean(found) if (found := [each for row in whole if (each := ratio(row, ours, name)) > 0]) else math.nan
    blank = [""] * (2 + len(others))
    return head, rows + [(f"geometric mean of {len(whole)}", *blank, *(in_cell(mean(name)) for name in others))]


def many_rows(step, timed):
    """A table's head and rows: the time of each, and how many times as fast the last variant is."""
    ours, others = ours_of(step), [name for name in others_of(timed) if name != COPY]
    time = lambda row, name: duration(1e-3 * median(row[name])) if name in row else "–"
    rows = [(run.shape_words(shape), *(time(row, name) for name in [ours, *others]), *(in_cell(ratio(row, ours, name)) for name in others))
            for shape, row in timed]
    return ("", ours, *others, *(f"× {name}" for name in others)), rows


def variants(step, lines):
    """A table's head and rows of one query a head: GB of K and V a second of each variant, and of what else moves bytes or was the step
    before, in the step's first type."""
    timed = [(shape, row) for shape, row in by_shape(step, lines, step["dtypes"][0]) if shape["seqlen"] == 1]
    names = [*(name for name in others_of(timed) if name.startswith("step")), *(f"`{variant}`" for variant in step["variants"]), COPY]
    return (SHAPE, *names), [(words(shape), *(rate(row, name) for name in names)) for shape, row in timed]


def blocks(step, lines):
    """A table's head and rows of what launches of one query a head give an H200's SMs to do, in the step's first type: with a block for
    each head, and as the last variant's rule divides them."""
    sms, rows = GPUS["h200"].sms, []
    for shape, row in by_shape(step, lines, step["dtypes"][0]):
        line = row.get(ours_of(step), {})
        if shape["seqlen"] == 1 and {"parts", "blocks"} <= line.keys():
            heads = shape["batch"] * shape["heads"]
            rows.append((words(shape), f"{heads:,}", f"{min(heads, sms)}", f"{line['parts']:,}", f"{line['blocks']:,}", f"{min(line['blocks'], sms)}",
                         duration(1e-3 * line["floor_ms"]), duration(1e-3 * median(line))))
    return (SHAPE, "heads, a block each", f"SMs of {sms} with one", "parts", "blocks", f"SMs of {sms} with one", "DRAM's least time",
            "measured"), rows


def tables(step, lines):
    """[(words that stand before it, head, rows)]: of each type two, of what was timed on an H200."""
    found = []
    for dtype in step["dtypes"]:
        timed = by_shape(step, lines, dtype)
        for what, of_shape, rows in (("One query a head", lambda n: n == 1, one_query), ("More rows", lambda n: n > 1, many_rows)):
            mine = [(shape, row) for shape, row in timed if of_shape(shape["seqlen"])]
            if mine:
                found.append((f"{what}, in {dtype}", *rows(step, mine)))
    return found

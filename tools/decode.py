"""What bench/attention_decode.py timed of a step, as tables: one query a head, and shapes with more rows."""
import math
from statistics import geometric_mean

from tools import results, run
from tools.floors import duration
from tools.occupancy import GPUS

COPY = "copy"
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


def columns(step, timed):
    """(the step's variants, what was timed beside them), by what a table's head calls them."""
    ours = [f"`{variant}`" for variant in step["variants"]]
    return ours, [name for name in dict.fromkeys(name for _, row in timed for name in row) if name not in ours]


def words(shape):
    return f"{shape['batch']}, {shape['heads']}/{shape['kv_heads']}, {keys(shape):,}, {shape['head_dim']}"


def one_query(step, timed):
    """A table's head and rows: GB of K and V a second of each, and how many times as fast the last variant is; last the geometric means
    of the shapes whose last tile of keys is whole."""
    ours, others = columns(step, timed)
    head = "B, heads / KV heads, N, D", "K and V, MB", *(f"{name}, GB/s" for name in [*ours, *others]), *(f"× {name}" for name in others)

    def rate(row, name):
        return f"{1e-6 * row[name]['kv_bytes'] / median(row[name]):,.0f}" if name in row else "–"

    rows = [(words(shape), f"{1e-6 * next(iter(row.values()))['kv_bytes']:,.0f}", *(rate(row, name) for name in [*ours, *others]),
             *(in_cell(ratio(row, ours[-1], name)) for name in others)) for shape, row in timed]
    whole = [row for shape, row in timed if keys(shape) % TILE == 0]
    mean = lambda name: geometric_mean(found) if (found := [each for row in whole if (each := ratio(row, ours[-1], name)) > 0]) else math.nan
    blank = [""] * (1 + len(ours) + len(others))
    return head, rows + [(f"geometric mean of {len(whole)}", *blank, *(in_cell(mean(name)) for name in others))]


def many_rows(step, timed):
    """A table's head and rows: the time of each, and how many times as fast the last variant is."""
    ours, others = columns(step, timed)
    others = [name for name in others if name != COPY]
    time = lambda row, name: duration(1e-3 * median(row[name])) if name in row else "–"
    rows = [(run.shape_words(shape), *(time(row, name) for name in [*ours, *others]), *(in_cell(ratio(row, ours[-1], name)) for name in others))
            for shape, row in timed]
    return ("", *ours, *others, *(f"× {name}" for name in others)), rows


def blocks(step, lines):
    """A table's head and rows of what launches of one query a head give an H200's SMs to do, in the step's first type: with a block for
    each head, and as the last variant's rule divides them, where the heads of a group and one part of their keys are a block's."""
    sms, ours, rows = GPUS["h200"].sms, f"`{step['variants'][-1]}`", []
    for shape, row in by_shape(step, lines, step["dtypes"][0]):
        if shape["seqlen"] == 1 and "parts" in row.get(ours, ()):
            line, heads = row[ours], shape["batch"] * shape["heads"]
            count = shape["batch"] * shape["kv_heads"] * line["parts"]
            rows.append((words(shape), f"{heads:,}", f"{min(heads, sms)}", f"{line['parts']:,}", f"{count:,}", f"{min(count, sms)}",
                         duration(1e-3 * line["floor_ms"]), duration(1e-3 * median(line))))
    return ("B, heads / KV heads, N, D", "a block a head", f"SMs of {sms} with one", "parts", "blocks of parts", f"SMs of {sms} with one",
            "DRAM's least time", "measured"), rows


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

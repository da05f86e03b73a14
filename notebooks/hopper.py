"""What the notebook on Hopper reads from what programs print, record and count, and draws: a tile and its descriptor, who works under
whom, the ladders of the steps beside the libraries, and what each step gained.

Where a vector lies and what a descriptor's bits are is read from hopper_tile.cu, which runs on the emulator. Times are recorded ones."""
import functools
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lesson import ROOT, here, in_digits, said, show
from plots import style
from tensor_cores import PALE, borders, colours
from tools import build, docs, emulate, results, steps, timeline
from tools import run as programs

VECTOR, CORE_ROWS, SLICE, LINE = 16, 8, 32, 128  # bytes, rows, bytes of a slice along k, bytes that 32 banks have
BANKS, BANK = 32, 4  # and bytes
PATTERNS = {0: 128, 32: 256, 64: 512, 128: 1024}  # what a tile's address is a multiple of, by the swizzle
LARGEST = 32 << 10  # bytes of a tile: its vectors are counted in fp16, which has all whole numbers up to 2,048
RESERVED, SHARED = 1024, 228 << 10  # where a block's own shared memory begins, and where all of it ends
ROOM = 4096  # bytes behind the tile, for what the product needs
SHOWN = 16  # rows of a tile
PRINTED = "descriptor", "addresses", "read"  # what the program's lines begin with
# Of a matrix descriptor: the first bit, how many, and what a unit of it is worth in bytes.
FIELDS = {"start address": (0, 14, 16), "leading offset": (16, 14, 16), "stride offset": (32, 14, 16), "base offset": (49, 3, None),
          "swizzle": (62, 2, None)}
SWIZZLES = {0: "none", 1: "128 bytes", 2: "64 bytes", 3: "32 bytes"}


# ---- a tile and its descriptor ----

@dataclass
class Tile:
    """A tile in shared memory, as hopper_tile.cu printed it."""
    rows: int
    row_bytes: int
    swizzle: int
    element_bytes: int
    start: int
    major: str
    slice: int
    says: int
    addresses: list  # of each vector, counted along the rows
    descriptor: int
    read: list       # [k][line]: the vector that the product read there, None outside of the tile; empty where there was no product

    @property
    def in_row(self):
        return self.row_bytes // VECTOR

    def expected(self):
        """[k][line]: the vectors of its slice."""
        elements = VECTOR // self.element_bytes
        lines = range(len(self.read[0]) if self.read else 0)
        if self.major == "K":
            return [[line * self.in_row + (self.slice * SLICE + k * self.element_bytes) // VECTOR for line in lines] for k in range(len(self.read))]
        return [[(self.slice * len(self.read) + k) * self.in_row + line // elements for line in lines] for k in range(len(self.read))]

    def reads_right(self):
        """How many elements the product read that are those of the slice, and of how many; None where there was no product."""
        pairs = [(one, other) for mine, wanted in zip(self.read, self.expected()) for one, other in zip(mine, wanted)]
        return (sum(one == other for one, other in pairs), len(pairs)) if pairs else None


def refusal(rows, row_bytes, swizzle, element_bytes, start, major, slice, says):
    """What is wrong with these numbers and what is accepted, in a sentence; None where nothing is."""
    for name, value in (("rows", rows), ("row_bytes", row_bytes), ("swizzle", swizzle), ("element_bytes", element_bytes), ("start", start),
                        ("slice", slice), ("says", says)):
        if not isinstance(value, int) or isinstance(value, bool):
            return f"{name}={value!r} is no whole number."
    if major not in ("K", "MN"):
        return f'major={major!r}: an operand is "K"-major, where neighbours along k are neighbours in memory, or "MN"-major.'
    for name, value in (("swizzle", swizzle), ("says", says)):
        if value not in PATTERNS:
            return f"{name}={value}: a swizzle is of 32, 64 or 128 bytes, or 0, which is none."
    if element_bytes not in (2, 4):
        return f"element_bytes={element_bytes}: elements here have 2 bytes, fp16, or 4, fp32."
    if major == "MN" and element_bytes != 2:
        return f'major="MN" with element_bytes={element_bytes}: only operands of 2 bytes an element may be MN-major.'
    least = 16 if major == "MN" else CORE_ROWS
    if rows % least or not least <= rows <= 256:
        why = "a product takes 16 of them, because they lie along k" if major == "MN" else "a core matrix has 8, and a box at most 256"
        return f"rows={rows}: rows are a multiple of {least} from {least} to 256; {why}."
    wide = max(swizzle, SLICE)
    if row_bytes % wide or not wide <= row_bytes <= 512:
        why = f"a panel has {swizzle} bytes" if swizzle > SLICE else f"a product reads {SLICE} bytes along k"
        return f"row_bytes={row_bytes}: a row has a multiple of {wide} bytes up to 512, because {why}."
    if rows * row_bytes > LARGEST:
        return f"rows={rows} of row_bytes={row_bytes} are {rows * row_bytes:,} bytes; a tile of this cell has at most {LARGEST:,}."
    pattern, last = PATTERNS[swizzle], SHARED - ROOM - rows * row_bytes
    if start % pattern or not RESERVED <= start <= last:
        why = "a tensor copy writes there" if pattern == 128 else f"the pattern of a swizzle of {swizzle} bytes begins there"
        return (f"start={start}: the tile's address is a multiple of {pattern:,}, because {why}, from {RESERVED:,}, where a block's own "
                f"shared memory begins, to {last // pattern * pattern:,}, from where it still fits.")
    slices = rows // 16 if major == "MN" else row_bytes // SLICE
    if not 0 <= slice < slices:
        return f"slice={slice}: this tile has {slices} slice{'s' if slices > 1 else ''} along k, and the first is number 0."
    return None


def compiled(source, folder):
    """A program like hopper_tile.cu, compiled for the emulator into a folder."""
    build.build("cpu", *emulate.TARGETS)
    program = Path(folder, "hopper_tile")
    common = [f"common/{name}.c" for name in ("tensor_map", "dtype", "exit")]
    emulate.compile_program([source, *common], program, ["-I", ROOT / "common"], cwd=ROOT).check_returncode()
    return program


@functools.cache
def tile_program():
    """The folder of the program, which goes when this notebook ends, and the program."""
    folder = tempfile.TemporaryDirectory(prefix="learn-")
    return folder, compiled("notebooks/hopper_tile.cu", folder.name)


def numbers(text):
    return [None if "nan" in word else int(word) for word in text.split()]


def lay_out(rows=64, row_bytes=128, swizzle=128, element_bytes=2, start=1024, major="K", slice=0, says=None):
    """A tile that tensor copies write to shared memory on the emulator, and what a product reads there by the descriptor of a slice. says: the
    swizzle that the descriptor says, where that is another. Of numbers that no tile has it says what is wrong, and returns None; where
    the product reads beyond shared memory, the emulator says so."""
    given = rows, row_bytes, swizzle, element_bytes, start, major, slice, swizzle if says is None else says
    wrong = refusal(*given)
    if wrong:
        return print(wrong)
    _, program = tile_program()
    well, printed = said([program, rows, row_bytes, swizzle, element_bytes, start, int(major == "MN"), slice, given[-1]])
    if not well:
        return print("\n".join(line for line in printed.splitlines() if line.partition(":")[0] not in PRINTED))
    found = {name: numbers(values) for name, values in (line.split(":", 1) for line in printed.splitlines())}
    read = found.get("read", [])
    lines = len(read) // 16
    return Tile(*given, found["addresses"], found["descriptor"][0], [read[k * lines:(k + 1) * lines] for k in range(16 if read else 0)])


def field_of(descriptor, name):
    first, bits, _ = FIELDS[name]
    return descriptor >> first & (1 << bits) - 1


def field(tile, name):
    """What stands in a field of a tile's descriptor; None where there is no tile."""
    return field_of(tile.descriptor, name) if tile else None


def read_rightly(tile):
    """How many elements of its slice the product read; None where there is no product."""
    right = tile and tile.reads_right()
    return right[0] if right else None


def field_words(descriptor, name):
    value, unit = field_of(descriptor, name), FIELDS[name][2]
    if unit:
        return f"{value} · {unit} = {value * unit:,} bytes"
    return f"{value}: {SWIZZLES[value]}" if name == "swizzle" else str(value)


def draw_descriptor(axes, descriptor):
    """The 64 bits, the last one first, and under each field what it says."""
    for bit in range(64):
        name = next((name for name, (first, bits, _) in FIELDS.items() if first <= bit < first + bits), None)
        shade = style.BLUES[list(FIELDS).index(name) % 2] if name else PALE
        axes.add_patch(style.pyplot().Rectangle((63 - bit, 0), 1, 1, facecolor=shade, edgecolor="white", linewidth=0.6))
        axes.text(63.5 - bit, 0.5, descriptor >> bit & 1, ha="center", va="center", fontsize=8, color=style.INK if name else style.FAINT)
    for name, (first, bits, _) in FIELDS.items():
        middle = 64 - first - bits / 2
        low = name == "base offset"
        words = f"{name}, bits {first} to {first + bits - 1}\n{field_words(descriptor, name)}"
        axes.text(min(max(middle, 3), 61), -0.35 - 1.5 * low, words, ha="center", va="top", fontsize=8.5, color=style.INK)
        if low:
            axes.plot([middle, middle], [-0.1, -1.7], color=style.RULE, linewidth=0.8)
    axes.set(xlim=(0, 64), ylim=(-3.2, 1.1))
    axes.axis("off")
    axes.set_title(f"The descriptor, 0x{descriptor:016x}", loc="left", fontsize=11, fontweight="bold", color=style.INK)


def show_tile(tile):
    """The tile's vectors by row, each with its first bank; where they lie in shared memory; and the descriptor. What the product read has a
    border."""
    if not tile:
        return
    shown = min(SHOWN, tile.rows) if tile.row_bytes <= 256 else CORE_ROWS
    first = tile.slice * 16 if tile.major == "MN" else 0
    rows = range(first, first + shown)
    at = {tile.addresses[row * tile.in_row + vector]: (row, vector) for row in rows for vector in range(tile.in_row)}
    lines = sorted({address // LINE for address in at})
    places = [[at.get(line * LINE + quad * VECTOR) for quad in range(LINE // VECTOR)] for line in lines]
    read = {number for line in tile.read for number in line}
    is_read = lambda row, vector: row * tile.in_row + vector in read
    by_column = colours(PALE, *style.BLUES[:3])
    size = 8 if tile.in_row <= 8 else 6.5

    wide, tall, low = 12, 0.26 * max(shown, len(lines)), 1.9  # inches: the picture, its upper and its lower part
    figure = style.pyplot().figure(figsize=(wide, tall + low + 0.8))
    part = min(max(0.55 * tile.in_row, 2), 6) / wide
    height, bottom = tall / (tall + low + 0.8), (low + 0.4) / (tall + low + 0.8)
    by_row, by_bank = figure.add_axes((0, bottom, part, height)), figure.add_axes((part + 0.08, bottom, 0.92 - part, height))
    below = figure.add_axes((0, 0, 1, (low - 0.3) / (tall + low + 0.8)))
    bank = lambda row, vector: tile.addresses[row * tile.in_row + vector] // BANK % BANKS
    style.heat_map(by_row, [[vector % 8 for vector in range(tile.in_row)] for _ in rows], [f"row {row}" for row in rows], range(tile.in_row),
                   "The tile: each vector's first bank", lambda _: False, words=lambda y, x, _: str(bank(rows[y], x)), size=size, cmap=by_column,
                   vmin=0, vmax=7)
    borders(by_row, [(y, x) for y, row in enumerate(rows) for x in range(tile.in_row) if is_read(row, x)])
    by_row.set_xlabel("vector of 16 bytes", fontsize=9, color=style.FAINT)
    style.heat_map(by_bank, [[place and place[1] % 8 for place in line] for line in places], [f"0x{line * LINE:x}" for line in lines],
                   [f"{quad * 4}–{quad * 4 + 3}" for quad in range(8)], "Shared memory: row.vector by banks", lambda _: False,
                   words=lambda y, x, _: "{}.{}".format(*places[y][x]), size=8, cmap=by_column, vmin=0, vmax=7)
    borders(by_bank, [(y, x) for y, line in enumerate(places) for x, place in enumerate(line) if place and is_read(*place)])
    by_bank.set_xlabel("banks", fontsize=9, color=style.FAINT)
    draw_descriptor(below, tile.descriptor)
    show(figure)
    right = tile.reads_right()
    if right is None:
        print("No product was made of it: that takes fp16, and 64 rows where it is K-major or 64 columns where it is MN-major.")
    else:
        print("The product read {:,} of the {:,} elements of its slice rightly.".format(*right))


# ---- who works under whom ----

def counted_at(number, *arguments):
    """{variant: what the emulator counts of it} at a shape."""
    found = {}
    for step in here(number):
        build.build("cpu", step["name"])
        for variant in steps.variants(step):
            found[variant] = programs.total(programs.counted(step, variant, *arguments)["profile"])
    return found


def consumers(order):
    """{number of a warpgroup: a warp of it} of the warpgroups that multiply."""
    found = {}
    for warp in order.warps:
        if warp.products:
            for number in warp.numbers:
                found.setdefault(number // timeline.WARPGROUP, warp)
    return found


def in_flight(flight, column):
    return bool(flight.end) and flight.copies[0].column < column < flight.end.column


def loads_under_products(order):
    """How many of the loads into shared memory are in flight while products are issued, and of how many."""
    issued = {event.column for warp in consumers(order).values() for event in warp.events() if event.kind == "wgmma"}
    loads = {(flight.number, flight.buffer): flight for warp in order.warps for flight in warp.flights}.values()
    return sum(any(in_flight(flight, column) for column in issued) for flight in loads), len(loads)


def softmaxes_under_products(order):
    """How many of the softmaxes of a tile are computed under products of another warpgroup, and of how many."""
    found = consumers(order)
    done = [(number, event.column) for number, warp in found.items() for event in warp.events() if event.kind == "exp"]
    under = [any(in_flight(flight, column) for other, warp in found.items() if other != number for flight in warp.products)
             for number, column in done]
    return sum(under), len(under)


# ---- the ladders ----

HOPPER = "90a"
CUDNN, FLASH_3 = "PyTorch SDPA fp16, cuDNN", "FlashAttention-3"
BEFORE_HOPPER = "31", "32", "33"  # the steps of attention that have come furthest on any GPU
TOKENS, WIDTH = 16384, 2048  # B · N and H · D of the figures that FlashAttention-3 was recorded at


def blues(count):
    """Blues, darker for what comes later."""
    shade = colours(*style.BLUES)
    return [shade(i / max(count - 1, 1)) for i in range(count)]


def name_of(line):
    return steps.caption(steps.find(line["step"])) if line["step"] else docs.contender(line)


def of_this_clone(lines):
    """Without those of steps that it does not have."""
    names = {step["name"] for step in steps.load()}
    return [line for line in lines if line["step"] is None or line["step"] in names]


def matmul_road():
    """{"rested" or "hot": {a step, or cuBLAS: {N: TFLOPS}}}, of the last run in which many steps of matmul were timed in turns with cuBLAS."""
    runs = [lines for step in steps.load() if step["operation"] == "matmul" and (lines := steps.recorded(step, "road.jsonl"))]
    found = {}
    for line in of_this_clone(runs[-1]) if runs else []:
        if results.on_h200(line):
            found.setdefault(line["heat"], {}).setdefault(name_of(line), {})[line["shape"]["n"]] = line["tflops"]
    return found


CUBLAS = "cuBLAS"


def over(rates, name, other=CUBLAS):
    """How many times another rate one is; None where one of them was not timed."""
    rate, of_other = rates.get(name), rates.get(other)
    return rate / of_other if rate and of_other else None


def share(road, heat, name, size):
    """Of cuBLAS's rate, what a step reached at a size; None where it was not timed."""
    return over({each: curve.get(size) for each, curve in road.get(heat, {}).items()}, name)


def show_road(road):
    """TFLOPS by step and size, shaded by their share of cuBLAS's, and bold where a step is as fast."""
    if not road:
        return print("Nothing is recorded yet.")
    figure, panels = style.pyplot().subplots(1, len(road), figsize=(13, 3.6), sharey=True, squeeze=False)
    for axes, (heat, of_heat) in zip(panels[0], road.items()):
        names = [*sorted(name for name in of_heat if name != CUBLAS), CUBLAS]
        sizes = sorted({size for of_name in of_heat.values() for size in of_name})
        shares = [[share(road, heat, name, size) for size in sizes] for name in names]
        words = lambda y, x, of_peer: f"{of_heat[names[y]][sizes[x]]:.0f}" + f" · {of_peer:.2f}" * (names[y] != CUBLAS)
        style.heat_map(axes, shares, names, [f"{size:,}³" for size in sizes], f"{heat}: TFLOPS in bf16 · of cuBLAS's", lambda of_peer: of_peer > 1,
                       words=words, size=9, cmap=colours(PALE, *style.BLUES[:3]), vmin=0.2, vmax=1.1)
    figure.suptitle("Products of matrices, all in turns in one process on an NVIDIA H200, recorded", x=0.125, y=1.02, ha="left", fontsize=11,
                    color=style.INK)
    figure.tight_layout()
    show(figure)


def in_setting(shape):
    return shape["batch"] * shape["seqlen"] == TOKENS and shape["heads"] * shape["head_dim"] == WIDTH and shape["heads"] == shape["kv_heads"]


def attention_runs():
    """The lines of each run, with cuDNN among them: what each step was timed with, then what was timed in turns on a hot GPU, then
    FlashAttention-3's. Of a step that has several variants in a run, and of a shape, the fastest counts."""
    shown = [step for step in steps.load() if step["operation"] == "attention" and "fp16" in step["dtypes"]
             and (step["arch"] == HOPPER or step["number"] in BEFORE_HOPPER)]
    for step in shown:
        yield [line for line in steps.recorded(step) if line["variant"] != results.TUNED]
    for step in shown:
        yield [line for line in steps.recorded(step, "heat.jsonl") if line["heat"] == "hot"]
    yield steps.lines_of(docs.ELSEWHERE.read_bytes(), docs.ELSEWHERE)


def against_cudnn():
    """{(D, causal): {a step, or FlashAttention-3: {N: how many times as fast as cuDNN in the same run}}}. The last run counts."""
    found = {}
    for lines in attention_runs():
        fastest = {}
        for line in of_this_clone(lines):
            if line["time"] and "H200" in line["device"] and line["dtype"] == "fp16" and in_setting(line["shape"]):
                key = programs.shape_words(line["shape"]), name_of(line)
                fastest[key] = results.fastest(filter(None, (fastest.get(key), line)))
        for (words, name), line in fastest.items():
            peer, shape = fastest.get((words, "cuDNN")), line["shape"]
            if peer and (line["step"] or name == FLASH_3):
                ratio = peer["time"]["median_ms"] / line["time"]["median_ms"]
                found.setdefault((shape["head_dim"], shape["causal"]), {}).setdefault(name, {})[shape["seqlen"]] = ratio
    return found


def show_attention(found):
    if not found:
        return print("Nothing is recorded yet.")
    head_dims = sorted({head_dim for head_dim, _ in found})
    ours = sorted({name for panel in found.values() for name in panel if name != FLASH_3})
    lengths = sorted({length for panel in found.values() for curve in panel.values() for length in curve})
    looks = dict(zip(ours, ({"color": shade, "marker": "o", "markersize": 4} for shade in blues(len(ours)))))
    looks[FLASH_3] = {"color": style.PEER, "marker": "*", "markersize": 8, "linestyle": (0, (5, 3))}
    figure, panels = style.pyplot().subplots(2, len(head_dims), figsize=(12, 6.6), sharex=True, sharey=True, squeeze=False)
    for row, causal in zip(panels, (False, True)):
        for axes, head_dim in zip(row, head_dims):
            for name, curve in sorted(found.get((head_dim, causal), {}).items()):
                axes.plot(*zip(*sorted(curve.items())), label=name, **looks[name])
            axes.axhline(1, color=style.FAINT, linewidth=1.2)
            axes.set_xscale("log", base=2)
            axes.set_xticks(lengths, [f"{length:,}" for length in lengths], rotation=35)
            axes.set_title(f"D {head_dim}{', causal' if causal else ''}", loc="left", fontsize=11, fontweight="bold", color=style.INK)
            style.plain(axes, "both")
        row[0].set_ylabel("times as fast as cuDNN")
    for axes in panels[1]:
        axes.set_xlabel("N", fontsize=9, color=style.FAINT)
    figure.legend([style.pyplot().Line2D([], [], **looks[name]) for name in looks], list(looks), loc="center left", bbox_to_anchor=(0.91, 0.5),
                  frameon=False, fontsize=9)
    figure.suptitle(f"Attention in fp16 at B · N = {TOKENS:,} and H · D = {WIDTH:,}, recorded on an NVIDIA H200; each ratio is of one run", x=0.125,
                    y=0.95, ha="left", fontsize=11, color=style.INK)
    show(figure)


# ---- a chain of variants, and the layers of a language model ----

COPY = "cudaMemcpyAsync"  # what the name of the copy among the peers begins with
FURTHEST = 1.25           # times as fast, or as slow, as cuBLAS: the darkest colours


def timed_rested(step, file):
    """The lines of a step's file that were timed on a rested GPU."""
    return [line for line in of_this_clone(steps.recorded(step, file)) if results.on_h200(line) and line["heat"] == "rested"]


def chain(number):
    """{the words of a shape: {the step before, a variant, or cuBLAS: TFLOPS}}, of one run on a rested GPU. Each variant does one thing more than
    the one in front of it."""
    found = {}
    for step in here(number):
        for line in timed_rested(step, "chain.jsonl"):
            name = line["variant"] if line["step"] == step["name"] else name_of(line)
            found.setdefault(programs.shape_words(line["shape"]), {})[name] = line["tflops"]
    return found


def show_chain(links):
    """A panel a shape, and in it a bar for each: how many times as fast as cuBLAS it is."""
    if not links:
        return print("Nothing is recorded yet.")
    names = list(dict.fromkeys(name for rates in links.values() for name in rates if name != CUBLAS))
    most = max(1, *(over(rates, name) or 0 for rates in links.values() for name in names))
    figure, panels = style.pyplot().subplots(1, len(links), figsize=(1.5 + 2.1 * len(links), 0.9 + 0.34 * len(names)), sharex=True, sharey=True,
                                             squeeze=False)
    for axes, (words, rates) in zip(panels[0], links.items()):
        for place, (name, shade) in enumerate(zip(names, blues(len(names)))):
            ratio = over(rates, name)
            axes.barh(place, ratio or 0, color=shade, height=0.7)
            axes.text(most * 1.04, place, f"{ratio:.2f}" if ratio else "–", va="center", fontsize=9, color=style.INK if ratio else style.FAINT)
        axes.axvline(1, color=style.PEER, linewidth=1.3, zorder=2)
        axes.set_title(words.replace(", ", ",\n", 1), loc="left", fontsize=11, fontweight="bold", color=style.INK)
        axes.set(xlim=(0, most * 1.25), xticks=(0, 0.5, 1))
        style.plain(axes, "x")
    panels[0][0].set_yticks(range(len(names)), names)
    panels[0][0].invert_yaxis()
    figure.suptitle("Times as fast as cuBLAS, the line at 1, in bf16; all in turns in one process on a rested NVIDIA H200, recorded", x=0.01, y=1.02,
                    ha="left", fontsize=11, color=style.INK)
    figure.tight_layout()
    show(figure)


@dataclass
class Layer:
    """What a step reached at the shape of a language model's layer."""
    ratio: float  # how many times as fast as cuBLAS it is
    moved: float  # the share of a copy's bytes a second that it moves; None where no copy was timed


def layers(number):
    """{(M, N, K): Layer}, of one run on a rested GPU. Of a copy the length alone can make it slow, so it is the fastest of those at N and K."""
    found, copies = {}, {}
    for step in here(number):
        for line in timed_rested(step, "layers.jsonl"):
            m, *of_layer = line["shape"].values()
            copied = (line.get("peer") or "").startswith(COPY)
            found.setdefault((m, *of_layer), {})["copy" if copied else name_of(line)] = line["gbps"]
            if copied:
                copies[tuple(of_layer)] = max(line["gbps"], copies.get(tuple(of_layer), 0))
        mine = steps.caption(step)
        return {shape: Layer(over(rates, mine), rates[mine] / copies[shape[1:]] if "copy" in rates else None)
                for shape, rates in found.items() if over(rates, mine)}
    return {}


def moved_at(shapes, m, n, k):
    """The share of a copy's bytes a second at a shape; None where it was not timed."""
    return shapes[m, n, k].moved if (m, n, k) in shapes else None


def faster_at(shapes):
    """At what share of the shapes the step is faster than cuBLAS; None where nothing was timed."""
    return sum(layer.ratio > 1 for layer in shapes.values()) / len(shapes) if shapes else None


def show_layers(shapes):
    """M against N × K: how many times as fast as cuBLAS, and of a copy's bytes a second; bold where it is as fast or faster."""
    if not shapes:
        return print("Nothing is recorded yet.")
    from matplotlib.colors import LogNorm
    of_layers = list(dict.fromkeys(shape[1:] for shape in shapes))
    every, few = (sorted({m for (m, *_), layer in shapes.items() if is_shown(layer)}) for is_shown in (lambda _: True, lambda layer: layer.moved))
    widths = [count for count in (len(every), len(few)) if count]
    figure, panels = style.pyplot().subplots(1, len(widths), figsize=(2.5 + 0.95 * sum(widths), 0.9 + 0.5 * len(of_layers)), width_ratios=widths,
                                             sharey=True, squeeze=False)
    looks = {"ratio": {"cmap": "RdBu", "norm": LogNorm(1 / FURTHEST, FURTHEST)},
             "moved": {"cmap": colours(PALE, *style.BLUES[:3]), "vmin": 0.6, "vmax": 1.1}}
    titles = {"ratio": "times as fast as cuBLAS", "moved": "of a copy's bytes a second"}
    for axes, rows, name in zip(panels[0], (every, few), looks):
        values = [[getattr(shapes[m, *layer], name) if (m, *layer) in shapes else None for m in rows] for layer in of_layers]
        style.heat_map(axes, values, [" × ".join(f"{size:,}" for size in layer) for layer in of_layers], [f"{m:,}" for m in rows], titles[name],
                       lambda value: value >= 1, size=9, **looks[name])
        axes.set_xlabel("M", fontsize=9, color=style.FAINT)
    panels[0][0].set_ylabel("N × K", fontsize=9, color=style.FAINT)
    figure.suptitle("The layers of a language model in bf16, in turns in one process on a rested NVIDIA H200, recorded", x=0.01, y=1.02, ha="left",
                    fontsize=11, color=style.INK)
    figure.tight_layout()
    show(figure)


# ---- what each step gained ----

@dataclass
class Gain:
    """How many times as fast a step is as another, by shape."""
    step: str
    over: str
    ratios: dict        # {words of the shape: ratio}
    usual: str          # the words of the shape of its lesson's figures
    through: str = ""   # the peer that both are held against where no run has both


def runs_in_turns():
    """The lines of each run in which steps took turns on a rested GPU: of one type, those of most steps first."""
    found = {}
    for step in steps.load():
        for file in ("road.jsonl", "heat.jsonl"):
            for line in steps.recorded(step, file):
                if line["heat"] == "rested" and results.on_h200(line):
                    found.setdefault((step["name"], file, line["dtype"]), []).append(line)
    return sorted(found.values(), key=lambda lines: -len({line["step"] for line in lines}))


def same_run(step, other):
    """{words of a shape: (the step's line, the other's)} of the first run in turns that has both, or else of the run in which their
    lessons' figures were timed, if that is one: then the peers' lines are the same."""
    for lines in runs_in_turns():
        pairs = {}
        for line in lines:
            pairs.setdefault(programs.shape_words(line["shape"]), {})[line["step"]] = line
        both = {words: (pair[step["name"]], pair[other["name"]]) for words, pair in pairs.items() if {step["name"], other["name"]} <= pair.keys()}
        if both:
            return both
    both = {}
    for shape in shapes_of(step):
        mine, theirs, peers = results.of_its_idea(step, shape), results.of_its_idea(other, shape), results.peers(step, shape)
        if mine and theirs and peers and peers == results.peers(other, shape):
            both[programs.shape_words(shape)] = mine, theirs
    return both


def shapes_of(step):
    """The shapes at which a step is recorded, each once."""
    found = {programs.shape_words(line["shape"]): line["shape"] for line in steps.recorded(step) if line["step"] and line["time"]}
    return list(found.values())


def through_peer(step, other):
    """{words of a shape: ratio} where each was timed in a run of its own with the same peer: what compares is how many times as fast as
    that peer each is. And the peer's name."""
    found, name = {}, ""
    for shape in shapes_of(step):
        mine, theirs = results.of_its_idea(step, shape), results.of_its_idea(other, shape)
        of_mine, of_theirs = results.peers(step, shape), results.peers(other, shape)
        shared = next((peer for peer in of_mine if peer in of_theirs), None)
        if mine and theirs and shared:
            speed = lambda line, peers: peers[shared]["time"]["median_ms"] / line["time"]["median_ms"]
            found[programs.shape_words(shape)], name = speed(mine, of_mine) / speed(theirs, of_theirs), docs.contender(of_mine[shared])
    return found, name


def gained(number, over):
    """{words of a shape: how many times as fast a step is as another} in one run."""
    pair = here(number, over)
    return ratios_of(same_run(*pair)) if len(pair) == 2 else {}


def ratios_of(pairs):
    return {words: other["time"]["median_ms"] / mine["time"]["median_ms"] for words, (mine, other) in pairs.items()}


def gains(chapter="D"):
    """What each step of a chapter gained over the first that it comes from of its operation, on a rested GPU and in one run where there is one; the
    first of them, which comes from none, over its own first variant."""
    found = []
    for step in steps.load():
        if not step["chapter"].startswith(f"{chapter}."):
            continue
        usual = programs.shape_words(results.headline(step))
        origin = next((other for name in step["from"] if (other := steps.find(name))["operation"] == step["operation"]), None)
        if origin is None:
            ratios = {}
            for shape in shapes_of(step):
                lines = results.of_variants(step, shape)
                if lines and lines[0]["variant"] == step["variants"][0]:
                    ratios[programs.shape_words(shape)] = lines[0]["time"]["median_ms"] / results.fastest(lines)["time"]["median_ms"]
            found.append(Gain(steps.caption(step), f"its {step['variants'][0]}", ratios, usual))
            continue
        ratios, peer = ratios_of(same_run(step, origin)), ""
        if not ratios:
            ratios, peer = through_peer(step, origin)
        found.append(Gain(steps.caption(step), origin["number"], ratios, usual, peer))
    return [gain for gain in found if gain.ratios]


def show_gains(found):
    """A row a step: a point at each shape, that of the lesson's figures dark, and hollow where two runs are compared through a peer."""
    if not found:
        return print("Nothing is recorded yet.")
    figure, axes = style.pyplot().subplots(figsize=(10, 0.9 + 0.42 * len(found)))
    for place, gain in enumerate(found):
        axes.plot([min(gain.ratios.values()), max(gain.ratios.values())], [place, place], color=style.RULE, linewidth=2, zorder=1)
        for words, ratio in gain.ratios.items():
            shade = style.BLUES[3 if words == gain.usual else 0]
            axes.plot(ratio, place, "o", color=shade, markerfacecolor="white" if gain.through else shade, markersize=9 if words == gain.usual else 6,
                      zorder=3 if words == gain.usual else 2)
        at = gain.ratios.get(gain.usual)
        least, most = min(gain.ratios.values()), max(gain.ratios.values())
        words = f"{in_digits(at)} × at {gain.usual}" if at else f"{in_digits(least)} to {in_digits(most)} ×"
        axes.text(1.02, place, words + f", through {gain.through}" * bool(gain.through), va="center", fontsize=9, color=style.INK,
                  transform=axes.get_yaxis_transform())
    axes.axvline(1, color=style.FAINT, linewidth=1.2, zorder=0)
    axes.set_yticks(range(len(found)), [f"{gain.step} over {gain.over}" for gain in found])
    axes.invert_yaxis()
    axes.set_xscale("log", base=2)
    low, high = axes.get_xlim()
    ticks = [tick for tick in (0.5, 0.7, 1, 1.4, 2, 2.8, 4, 5.6) if low <= tick <= high]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set(xlabel="times as fast; a point a shape, the dark one at that of the lesson's figures")
    axes.set_title("What each step gained, recorded on a rested NVIDIA H200", loc="left", fontsize=11, fontweight="bold", color=style.INK)
    style.plain(axes, "x")
    show(figure)

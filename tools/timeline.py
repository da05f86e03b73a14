"""What the warps of one block do, and in which order: recorded by the emulator, put in columns, drawn, printed.

Columns are an order, not time. An event stands one column behind what its warp did before; at a barrier, and at a wait for an
mbarrier, behind all that it waits for. How fibers ran has no part in it: a program always gives the same picture."""
import functools
import itertools
import json
import os
import re
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from rich.table import Table
from rich.text import Text

from tools import build, profile, run, steps
from tools.guard import require_regular, stop, write_whole
from tools.paths import BUILD, ROOT
from tools.say import out

# What the emulator records, and what it is called here; a warp's own barrier is not shown.
NAMES = {"global_ld": "global load", "global_st": "global store", "shared_ld": "shared load", "shared_st": "shared store",
         "ldmatrix": "ldmatrix", "stmatrix": "stmatrix", "copy": "copy", "commit": "commit", "copy_wait": "wait",
         "tma_ld": "bulk load", "tma_st": "bulk store", "tma_red": "bulk reduction", "tma": "bulk copy", "bulk_commit": "commit",
         "bulk_wait_read": "wait", "bulk_wait": "wait", "phase_wait": "wait", "arrive": "arrive", "copy_arrive": "arrive", "barrier_arrive": "arrive", "barrier": "barrier",
         "cluster_arrive": "arrive", "cluster_wait": "cluster",
         "wgmma": "wgmma", "wgmma_commit": "commit", "wgmma_wait": "wait", "setmaxnreg": "setmaxnreg",
         "mma": "mma", "exp": "exp", "shuffle": "shuffle", "vote": "vote", "atomic": "atomic",
         "dshared_ld": "remote load", "dshared_st": "remote store", "dshared_atom": "remote atomic", "dshared_red": "red.async"}
# Those that order a warp among others and its copies; those that stand for a phase of a barrier, and those that wait for one.
ORDERS = {"commit", "copy_wait", "bulk_commit", "bulk_wait_read", "bulk_wait", "wgmma_commit", "wgmma_wait", "phase_wait", "arrive", "copy_arrive", "barrier_arrive", "barrier",
          "cluster_arrive", "cluster_wait"}
ARRIVES = {"barrier", "barrier_arrive", "cluster_arrive", "arrive", "copy_arrive", "tma_ld", "tma", "wgmma"}
WAITS = {"barrier", "cluster_wait", "phase_wait", "wgmma"}
MEETS = {"barrier", "wgmma"}  # who arrives there waits there: of a product, the four warps of a warpgroup
WARPGROUP = 4
READS = {"shared_ld", "ldmatrix"}
# A kind of copies that its thread's groups complete: its copies, their commit, and the waits for groups.
GROUPS = [({"copy"}, "commit", {"copy_wait"}), ({"tma_st", "tma_red"}, "bulk_commit", {"bulk_wait_read", "bulk_wait"})]
PRODUCTS = {"wgmma"}, "wgmma_commit", {"wgmma_wait"}  # likewise of a warpgroup's
COPIES, COMMITS = {"copy", "tma_ld", "tma_st", "tma_red", "tma"}, {"commit", "bulk_commit", "wgmma_commit"}
WITH_OBJECT = {"copy_wait", "bulk_wait_read", "bulk_wait", "wgmma_wait", "setmaxnreg"}  # how many groups are left, or registers
ALL_GROUPS = 2**32 - 1
OF_PRODUCTS = -1  # in the place of a buffer's number
LONGEST_BODY = 64  # events of a loop's turn that is found as one
TILES = 2
COLUMN, NAME, LINES = 7, 22, 8  # widths of what is printed
READ_FROM = re.compile(r"&(?:\w+(?:\[\w+\])?(?:\.|->))*(\w+)\[")  # the array that a line reads: K of &smem.stage[stage].K[…]
MULTIPLIES = re.compile(r"(?:->|\.)([A-Z]\w*)\b(?=[\[,)])")  # those whose products it begins: A and B of multiply(sum, smem->A, smem->B)


@dataclass(eq=False)
class Event:
    """A run of equal events of one warp."""
    kind: str
    count: int
    places: frozenset  # (file, line)
    object: int
    phase: int
    ranges: frozenset  # (place, from, to): bytes of shared memory, and the line that touches them
    start: int = 0   # the column where the warp comes to it
    column: int = 0  # and where it is done: later only at a wait or a barrier

    @property
    def name(self):
        return f"{NAMES[self.kind]} {self.object}" if self.kind == "setmaxnreg" else NAMES[self.kind]

    @property
    def key(self):
        """What has to meet: a phase of a barrier, of the cluster's or of an mbarrier, a warpgroup's products."""
        of = next((word for word in ("wgmma", "barrier", "cluster") if word in self.kind), "mbarrier")
        return of, self.object, self.phase

    def look(self, lines=True):
        """Equal for events that look alike; lines: and stand in the same lines."""
        return self.kind, self.count, self.kind in WITH_OBJECT and self.object, self.places if lines else None

    def add(self, other):
        self.ranges |= other.ranges
        self.places |= other.places

    def events(self):
        return [self]


@dataclass(eq=False)
class Loop:
    """Events that a warp repeats one behind the other."""
    body: list
    times: int

    def look(self, lines=True):
        return self.times, tuple(item.look(lines) for item in self.body)

    def add(self, other):
        for mine, others in zip(self.body, other.body):
            mine.add(others)

    def events(self):
        return [event for item in self.body for event in item.events()]


@dataclass(eq=False)
class Flight:
    """A group of copies, or of products, from the first's issue to the wait that covers it."""
    number: int
    copies: list = field(default_factory=list)
    end: object = None  # the event that waits for it; None: none does
    buffer: int = 0     # the number of the buffer that it fills; of products OF_PRODUCTS
    reads: list = field(default_factory=list)  # of products: the numbers of the buffers that they read
    of: str = "group"   # what the number is: of a group, or of a phase of the mbarrier that counts its bytes


@dataclass(eq=False)
class Warp:
    number: int
    items: list
    flights: list = field(default_factory=list)
    products: list = field(default_factory=list)  # those of its warpgroup that are in flight
    numbers: list = field(default_factory=list)  # its own, and those of the warps that do the same

    def words(self):
        """Warp 3; warps 0–3; warps 0, 2, 5."""
        first, last = self.numbers[0], self.numbers[-1]
        if first == last:
            return f"warp {first}"
        side_by_side = self.numbers == list(range(first, last + 1))
        return f"warps {first}–{last}" if side_by_side else f"warps {', '.join(map(str, self.numbers))}"

    def events(self):
        return [event for item in self.items for event in item.events()]

    def look(self):
        columns = [(event.start, event.column) for event in self.events()]
        flights = [(flight.number, flight.buffer, flight.end and flight.end.column) for flight in self.flights + self.products]
        return [item.look() for item in self.items], columns, flights


# ---- from records to items ----

def merge(items, alike):
    """Neighbours that are events of one kind become one."""
    merged = []
    for item in items:
        last = merged[-1] if merged else None
        events = isinstance(item, Event) and isinstance(last, Event)
        if events and item.kind == last.kind and alike(last, item):
            last.count += item.count
            last.add(item)
        else:
            merged.append(item)
    return merged


def fold(items, lines):
    """Whatever stands several times behind itself becomes a loop; the shortest first."""
    length = 1
    while length <= min(LONGEST_BODY, len(items) // 2):
        looks, folded, at = [item.look(lines) for item in items], [], 0
        while at < len(items):
            body, times = looks[at:at + length], 1
            while len(body) == length and looks[at + times * length:at + (times + 1) * length] == body:
                times += 1
            if times == 1:
                folded.append(items[at])
                at += 1
                continue
            for other in range(at + length, at + times * length):
                items[at + (other - at) % length].add(items[other])
            folded.append(Loop(items[at:at + length], times))
            at += times * length
        length = 1 if len(folded) < len(items) else length + 1
        items = folded
    return items


def simplified(items):
    """A loop of one kind of event is one event of as many."""
    plain = []
    for item in items:
        if isinstance(item, Loop):
            item.body = simplified(item.body)
            if len(item.body) == 1 and isinstance(item.body[0], Event):
                item.body[0].count *= item.times
                item = item.body[0]
            elif len(item.body) == 1:
                item.body[0].times *= item.times
                item = item.body[0]
        plain.append(item)
    return merge(plain, lambda one, other: True)


def compressed(events):
    """Events as items: what a warp repeats between two barriers, waits or commits becomes loops."""
    items = []
    for orders, group in itertools.groupby(events, lambda event: event.kind in ORDERS):
        group = list(group)
        if not orders:
            group = fold(simplified(fold(merge(group, lambda one, other: one.places == other.places), True)), False)
        items += group
    return items


def read_events(runs, places):
    return [Event(kind, count, frozenset([tuple(places[place])]), thing, phase, frozenset((place, start, end) for start, end in zip(touched[::2], touched[1::2]) if end))
            for kind, place, count, thing, phase, *touched in runs if kind in NAMES]


# ---- order ----

def number_products(warps):
    """Which warpgroup's they are, and which of its runs of products."""
    for warp in warps:
        for number, event in enumerate(event for event in warp.events() if event.kind == "wgmma"):
            event.object, event.phase = warp.number // WARPGROUP, number


def put_in_columns(warps):
    """Each event behind what must come before it."""
    left = [list(reversed(warp.events())) for warp in warps]
    column = [0] * len(warps)  # the last that a warp has reached
    coming, come = {}, {}      # of a barrier's or an mbarrier's phase: how many come to it, and the columns of those that have
    for event in (event for events in left for event in events):
        if event.kind in ARRIVES:
            coming[event.key] = coming.get(event.key, 0) + 1

    def place(at, event):
        if not event.start and event.kind in ARRIVES:
            own = 0 if event.kind in MEETS else 1  # an arrival alone is an event, and the wait stands behind it
            come.setdefault(event.key, []).append(column[at] + own + 1)
        event.start = column[at] + 1
        behind = come.get(event.key, []) if event.kind in WAITS else []
        if event.kind in WAITS and len(behind) < coming.get(event.key, 0):
            return False
        event.column = column[at] = max(event.start, *behind, 0)
        return True

    moved = True
    while moved:
        moved = False
        for at, events in enumerate(left):
            while events and place(at, events[-1]):
                events.pop()
                moved = True
    for at, events in enumerate(left):  # what the record does not reach to
        while events:
            event = events.pop()
            event.start = event.column = column[at] = column[at] + 1


def find_groups(warp, flights, arriving, copies, commit, waits):
    """The groups of one kind of copies, or of products, and the wait that covers each; those behind which the warp arrives go to `arriving`."""
    under_way, committed, is_open = [], 0, False  # is_open: the last group may get more copies
    for event in warp.events():
        if event.kind in copies:
            if not is_open:
                under_way.append(Flight(committed))
                flights.append(under_way[-1])
            under_way[-1].copies.append(event)
            is_open = True
        elif event.kind == commit:
            committed, is_open = committed + 1, False
        elif event.kind in waits:
            everything = event.object == ALL_GROUPS
            for flight in under_way:
                if everything or flight.number < committed - event.object:
                    flight.end = event
            under_way = [flight for flight in under_way if not flight.end]
            is_open = is_open and not everything
        elif event.kind == "copy_arrive" and "copy" in copies:
            arriving.setdefault(event.key, []).extend(under_way)
            under_way, is_open = [], False


def find_flights(warps):
    """The groups of copies of each warp, and the bulk copies whose bytes an mbarrier counts; and the wait that covers each."""
    arriving = {}  # {phase of an mbarrier: the groups that arrive there}
    for warp in warps:
        for copies, commit, waits in GROUPS:
            find_groups(warp, warp.flights, arriving, copies, commit, waits)
        find_groups(warp, warp.products, arriving, *PRODUCTS)
        for event in warp.events():
            if event.kind in ("tma_ld", "tma") and event.object != ALL_GROUPS:  # no prefetch
                warp.flights.append(Flight(event.phase, [event], of="phase"))
                arriving.setdefault(event.key, []).append(warp.flights[-1])
        warp.flights.sort(key=lambda flight: flight.copies[0].column)
    waits = [event for warp in warps for event in warp.events() if event.kind == "phase_wait"]
    for event in sorted(waits, key=lambda event: event.column):
        for flight in arriving.get(event.key, ()):
            flight.end = flight.end or event


def meet(ours, theirs):
    """Have two lists of ranges a byte in common?"""
    theirs = list(theirs)
    return any(first < end and start < last for first, last in ours for start, end in theirs)


def find_buffers(warps):
    """The buffers in shared memory that groups of copies fill: of each the (from, to) that most of its groups do. What the same lines
    copy in groups of one number goes to one buffer in all warps, and of it what one line copies is one range."""
    filled = {}  # {(number, mbarrier, lines): {line: its range}}
    flights = [flight for warp in warps for flight in warp.flights]
    for flight in flights:
        parts = [part for copy in flight.copies for part in copy.ranges]
        flight.buffer = flight.number, flight.of == "phase" and flight.copies[0].object, frozenset(place for place, _, _ in parts)
        ranges = filled.setdefault(flight.buffer, {})
        for place, start, end in parts:
            first, last = ranges.get(place, (start, end))
            ranges[place] = min(first, start), max(last, end)
    buffers, of_key = [], {}  # of each buffer how many groups fill which ranges
    for key, ranges in filled.items():
        ranges = tuple(sorted(ranges.values()))
        of_key[key] = next((buffer for buffer in buffers if any(meet(known, ranges) for known in buffer)), None)
        if of_key[key] is None:
            of_key[key] = Counter()
            buffers.append(of_key[key])
        of_key[key][ranges] += 1
    usual = lambda buffer: buffer.most_common(1)[0][0]
    buffers.sort(key=usual)
    for flight in flights:
        flight.buffer = next(at for at, buffer in enumerate(buffers) if buffer is of_key[flight.buffer])
    usually = [usual(buffer) for buffer in buffers]
    for flight in (flight for warp in warps for flight in warp.products):
        touched = [(start, end) for event in flight.copies for _, start, end in event.ranges]
        flight.buffer, flight.reads = OF_PRODUCTS, [at for at, ranges in enumerate(usually) if meet(ranges, touched)]
    return usually


def passes_of(items):
    """(first item, items of a pass, passes) of the loop that covers most; (len(items), 0, 0) where nothing is repeated. No pass begins
    with a commit: that belongs to the copies before it."""
    looks = [item.look() for item in items]
    begins = [not isinstance(item, Event) or item.kind not in COMMITS for item in items]
    best = (len(items), 0, 0)
    for length in range(1, min(LONGEST_BODY, len(items) // 2) + 1):
        at = 0
        differ = (place for place, (one, other) in enumerate(zip(looks, looks[length:])) if one != other)
        for end in (*differ, len(items) - length):
            if end - at >= length:  # at least two passes
                first = next(place for place in range(at, len(items) + 1) if place == len(items) or begins[place])
                times = (end + length - first) // length
                if times > 1 and times * length > best[1] * best[2]:
                    best = first, length, times
            at = end + 1
    return best


# ---- a timeline ----

@dataclass(eq=False)
class Timeline:
    step: str
    variant: str
    shape: str
    warps: list    # those that differ: of each kind the first
    buffers: list  # in shared memory: of each its ranges
    kernel: str
    index: list
    grid: list
    arrays: list
    places: list   # of the source: (file, line)
    cut_off: bool

    @property
    def block(self):
        dimensions = max(2 if self.grid[1] > 1 else 1, 3 if self.grid[2] > 1 else 1)
        return ", ".join(map(str, self.index[:dimensions]))

    def read_as(self, at):
        """The arrays that lines of the source name which read a buffer, in the order of the first reads."""
        lines = [tuple(self.places[place]) for warp in self.warps for event in warp.events() if event.kind in READS
                 for place, start, end in sorted(event.ranges) if meet([(start, end)], self.buffers[at])]
        found = [READ_FROM.search(profile.source_line(*line)) for line in dict.fromkeys(lines)]
        multiplied = {tuple(self.places[place]) for warp in self.warps for flight in warp.products if at in flight.reads
                      for event in flight.copies for place, _, _ in event.ranges}
        operands = [name for line in sorted(multiplied) for name in MULTIPLIES.findall(profile.source_line(*line))]
        return list(dict.fromkeys([*(name[1] for name in found if name), *operands]))

    @functools.cached_property
    def buffer_names(self):
        return [self.named(at) for at in range(len(self.buffers))]

    def of_flight(self, flight):
        """The buffer that it fills; or those that it reads, as far as copies filled them."""
        if flight.buffer != OF_PRODUCTS:
            return f": {self.buffer_names[flight.buffer]}"
        return f": reads {', '.join(self.buffer_names[at] for at in flight.reads)}" if flight.reads else ""

    def lane_name(self, buffer):
        return "products" if buffer == OF_PRODUCTS else self.buffer_names[buffer]

    def named(self, at):
        """What a buffer is: an array, or its part; of memory that the launch asked for what is read there, and where it begins."""
        start = self.buffers[at][0][0]
        array = next((a for a in self.arrays if a["from"] <= start < a["from"] + max(a["bytes"], 1)), None)
        if array is None or not array["name"]:
            beyond = start - (array["from"] if array else 0)
            where = f"{beyond // 1024} KiB" if beyond % 1024 == 0 else f"byte {beyond:,}"
            return f"{', '.join(self.read_as(at)) or 'shared memory'} at {where}"
        if len(array["dimensions"]) > 2:
            return f"{array['name']}[{(start - array['from']) * array['dimensions'][0] // array['bytes']}]"
        beyond = start - array["from"]
        return f"{array['name']} + {beyond}" if beyond else array["name"]


def arranged(record, step="", variant=None, shape=""):
    """A record of the emulator's as a Timeline."""
    every = [Warp(number, compressed(read_events(runs, record["places"]))) for number, runs in enumerate(record["warps"])]
    number_products(every)
    put_in_columns(every)
    find_flights(every)
    buffers, warps = find_buffers(every), []
    for warp in every:
        like = next((other for other in warps if other.look() == warp.look()), warp)
        like.numbers.append(warp.number)
        if like is warp:
            warps.append(warp)
    kept = {key: record[key] for key in ("kernel", "index", "grid", "arrays", "places", "cut_off")}
    return Timeline(step, variant, shape, warps, buffers, **kept)


# ---- as text ----

def lines_words(places):
    """82; 82, 85; 145–150 for more."""
    numbers = sorted({line for _, line in places})
    return ", ".join(map(str, numbers)) if len(numbers) < 3 else f"{numbers[0]}–{numbers[-1]}"


def described(warp):
    """A warp's items in a sentence."""
    first, length, times = passes_of(warp.items)
    before, behind = warp.items[:first], warp.items[first + times * length:]
    repeated = f"{times} times: {words_of(warp.items[first:first + length])}" if times else ""
    return "; then ".join(filter(None, (words_of(before), repeated, words_of(behind))))


def words_of(items):
    return ", ".join(f"{item.times} times ({words_of(item.body)})" if isinstance(item, Loop)
                     else item.name + (f" ×{item.count}" if item.count > 1 else "") for item in items)


def show_items(table, timeline, warp, items, depth):
    for item in items:
        indent = "  " * depth
        if isinstance(item, Loop):
            table.add_row("", f"{indent}{item.times} times:", "", "")
            show_items(table, timeline, warp, item.body, depth + 1)
            continue
        name, line = min(item.places)
        note = profile.source_line(name, line)
        flight = next((f for f in warp.flights + warp.products if item in f.copies), None)
        if flight and item is flight.copies[0]:
            until = f"column {flight.end.column}" if flight.end else "the end"
            note = f"{flight.of} {flight.number}, in flight until {until}{timeline.of_flight(flight)}"
        column = str(item.column) if item.start == item.column else f"{item.start}–{item.column}"
        words = Text(note)
        words.truncate(max(out.width - COLUMN - NAME - LINES - 8, 8), overflow="ellipsis")
        table.add_row(column, f"{indent}{item.name}{f' ×{item.count}' if item.count > 1 else ''}", lines_words(item.places), words)


def show(timeline, tiles):
    for warp in timeline.warps:
        out.print(f"\n[bold]{warp.words()}[/]")
        table = Table.grid(padding=(0, 2, 0, 0))
        for justify, style, width in (("right", "dim", COLUMN), ("left", "", NAME), ("right", "dim", LINES), ("left", "dim", None)):
            table.add_column(justify=justify, style=style, no_wrap=True, width=width)
        first, length, times = passes_of(warp.items)
        hidden = times - tiles if times > tiles + 1 else 0
        cut = first + length * tiles
        show_items(table, timeline, warp, warp.items[:cut] if hidden else warp.items, 0)
        if hidden:
            table.add_row("…", f"{hidden} more passes", "", "")
            show_items(table, timeline, warp, warp.items[cut + hidden * length:], 0)
        out.print(table)


# ---- the command ----

def observed(step, variant, block, arguments):
    """{run: what run.case gives of one run, records: what the emulator wrote of this block, launch by launch}."""
    with tempfile.TemporaryDirectory(prefix="learn-") as place:
        path = Path(place, "timeline.jsonl")
        wish = {"SIMT_TIMELINE": str(path), "SIMT_TIMELINE_BLOCK": block}
        done = run.case(step, variant, "cpu", arguments=arguments, environment=wish)
        return {"run": done, "records": [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []}


def is_observed(kept):
    """Whether that is what observed() returns."""
    return isinstance(kept, dict) and run.is_run(kept.get("run")) and isinstance(kept.get("records"), list)


def record(step, variant, block="0", kernel=None, arguments=(), cached=False):
    """The Timeline of one block of one run, or the program's (status, output) where that is not 0. cached: of an earlier run of the same
    program, where there is one."""
    if not re.fullmatch(r"\d{1,9}(,\d{1,9}){0,2}", block):
        stop(f"--block '{block}' names no block: wanted X, X,Y or X,Y,Z, such as 0,1.")
    find = functools.partial(observed, step, variant, block, arguments)
    found = run.cached(step, f"{variant}{''.join(arguments)}-block{block}", find, is_observed) if cached else find()
    done, records = found["run"], found["records"]
    if done["status"]:
        return None, done
    launched = [found["kernel"] for found in done["profile"]["kernels"]]
    fitting = [found for found in records if kernel in (None, found["kernel"])]
    if not fitting and kernel and not any(name.startswith(kernel) for name in launched):
        stop(f"{step['name']} launches no kernel '{kernel}'. It launches: {', '.join(launched)}.")
    if not fitting:
        grids = ", ".join(f"{found['kernel']} has {' × '.join(map(str, found['grid']))}" for found in done["profile"]["kernels"])
        stop(f"There is no block {block}: {grids} blocks.")
    if not any(runs for found in fitting[:1] for runs in found["warps"]):
        stop(f"Block {block} does nothing that is recorded: no access to memory, no barrier, no mma, no exp.", 1)
    case = done["case"]
    return arranged(fitting[0], step["name"], case["variant"], run.shape_words(case["shape"])), done


def timeline(step, variant, block, kernel, tiles, output, arguments):
    """Returns the exit status."""
    from tools import timeline_picture
    steps.require_variant(step, [] if variant is None else ["--variant", variant])
    steps.require_variant(step, arguments)
    output = Path(output) if output else BUILD / "timeline" / f"{step['name']}{f'-{variant}' if variant else ''}.svg"
    if output.suffix != ".svg" or output.is_dir():
        stop(f"-o {output}: the picture is an SVG, so its name ends with .svg.")
    require_regular(output)
    build.build("cpu", step["name"])
    found, done = record(step, variant, block, kernel, arguments)
    if found is None:
        out.print(done["output"].strip(), markup=False)
        return done["status"]
    out.print(f"[bold]{step['name']} {found.variant or ''}[/], {found.shape}: block {found.block} of {found.kernel}, on the "
              "emulator. An order, not time.", soft_wrap=True)
    others = [each["kernel"] for each in done["profile"]["kernels"] if each["kernel"].split("<")[0] != found.kernel]
    if others:
        out.print(f"Of the other kernels, --kernel draws one: {', '.join(others)}.", markup=False, soft_wrap=True)
    show(found, tiles)
    output.parent.mkdir(parents=True, exist_ok=True)
    write_whole(output, timeline_picture.drawn(found, tiles))
    out.print(f"\n{os.path.relpath(output) if output.is_relative_to(ROOT) else output}", markup=False, soft_wrap=True)
    return 0

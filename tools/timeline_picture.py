"""A timeline as SVG, of a README's width: a row for warps that do the same, their events as boxes from left to right; below it the
buffers in shared memory, with the copies in flight to each and the events that read it."""
from dataclasses import dataclass
from xml.sax.saxutils import escape

from tools.timeline import OF_PRODUCTS, ORDERS, READS, Loop, described, meet, passes_of

WIDTH, LEFT, RIGHT = 900, 122, 16  # of the card, and of its margins; the left one is wider where a buffer's name is long
CHARACTER, BOLD = 6.3, 7           # pixels of a letter, at 11
BOX, LANE, LEVEL, GAP = 46, 18, 15, 3
GAP_WIDTH, STUB, SLIM = 46, 20, 18  # of what is not shown, of what reaches into it, of a barrier
MOST_ROWS, MOST_COLUMNS = 8, 400

STYLE = """
    .card { fill: #ffffff; stroke: #d7dbe2 }
    .ink { fill: #1f2430 }
    .note { fill: #5b6472 }
    .rule { stroke: #d7dbe2; fill: none }
    .loop { stroke: #5b6472; fill: none }
    .late { fill: none; stroke: #8b94a1; stroke-dasharray: 3 3 }
    .order { fill: #c3c9d2 }
    .copy { fill: #f0bf94 }
    .global { fill: #f6dcc4 }
    .shared { fill: #cfe3f5 }
    .ldmatrix { fill: #a9cbea }
    .mma { fill: #1d4f86 }
    .exp { fill: #bfe0c2 }
    .lanes { fill: #dfd3ee }
    .flight { fill: #f7dfca; stroke: #c9783a }
    .read { fill: #2f6fae }
    .on { fill: #1f2430 }
    .on-mma { fill: #ffffff }
    text { font: 11px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif }
    .head { font-size: 15px; font-weight: 600 }
    .row { font-weight: 600 }
    .mid { text-anchor: middle }
    .end { text-anchor: end }
    @media (prefers-color-scheme: dark) {
      .card { fill: #0d1117; stroke: #30363d }
      .ink, .on { fill: #e6edf3 }
      .note { fill: #9da7b3 }
      .rule { stroke: #30363d }
      .loop { stroke: #9da7b3 }
      .order { fill: #414a56 }
      .late { stroke: #6e7885 }
      .copy { fill: #8a4a1f }
      .global { fill: #55331d }
      .shared { fill: #1d3348 }
      .ldmatrix { fill: #27507a }
      .mma { fill: #79b8f5 }
      .on-mma { fill: #0d1117 }
      .exp { fill: #2c5a34 }
      .lanes { fill: #4a3a66 }
      .flight { fill: #3d2718; stroke: #d98a4f }
      .read { fill: #79b8f5 }
    }
"""
CLASSES = {"copy": "copy", "tma_ld": "copy", "tma_st": "copy", "tma_red": "copy", "tma": "copy", "global_ld": "global",
           "global_st": "global", "atomic": "global", "shared_ld": "shared",
           "shared_st": "shared", "ldmatrix": "ldmatrix", "stmatrix": "ldmatrix", "mma": "mma", "wgmma": "mma", "exp": "exp", "setmaxnreg": "lanes",
           "shuffle": "lanes", "vote": "lanes",
           "dshared_ld": "shared", "dshared_st": "shared", "dshared_atom": "shared", "dshared_red": "shared"}


def label(event):
    """The lines of a box."""
    words = event.name.split()
    times = f"×{event.count:,}" if event.count > 1 else ""
    if event.kind in ORDERS:
        return [event.name]
    if len(words) == 1:
        return [event.name, times] if times else [event.name]
    return [words[0], f"{words[1]} {times}".rstrip()]


def letters_wide(words):
    """Of a box's line, whose letters m and w are wider than others: wgmma has three."""
    return words_wide(words) + 5 * max(sum(map(words.count, "mw")) - 1, 0)


def width_of(event):
    return SLIM if event.kind in ORDERS else max(36, max(map(letters_wide, label(event))) + 8)


@dataclass
class Segment:
    """Columns that stay together; hidden: passes that are not shown."""
    title: str
    first: int
    last: int
    hidden: int = 0


def segments_of(timeline, tiles):
    """The parts of the picture, from the warp that does most."""
    items = max(timeline.warps, key=lambda warp: len(warp.events())).items
    end = max(event.column for warp in timeline.warps for event in warp.events())
    first, length, times = passes_of(items)
    if not times:
        return [Segment("", 1, end)]
    begins = [item.events()[0].start for item in items] + [end + 1]
    bounds = [begins[first + at * length] for at in range(times + 1)]  # of the passes
    shown = times if times <= tiles + 1 else tiles
    parts = [Segment("before the loop", 1, bounds[0] - 1)] if first else []
    parts += [Segment("the next pass" if at else "a pass", bounds[at], bounds[at + 1] - 1) for at in range(shown)]
    if shown < times:
        parts.append(Segment("", bounds[shown], bounds[times] - 1, times - shown))
    return [*parts, Segment("the end", bounds[times], end)]


def more_words(hidden):
    return f"{hidden:,} more"


def words_wide(words):
    return CHARACTER * len(words)


def row_name(warp):
    """The warps of a row; how many, where their numbers do not fit."""
    words = warp.words()
    return words if BOLD * len(words) <= LEFT - 16 else f"{len(warp.numbers)} warps"


def left_margin(timeline, warps):
    filled = {flight.buffer for warp in warps for flight in warp.flights}
    return max([LEFT, *(24 + words_wide(timeline.buffer_names[buffer]) for buffer in filled)])


class Layout:
    """Where columns stand: place[column] is (band, left, right). A title has the room that its words need."""

    def __init__(self, timeline, tiles):
        self.left = left_margin(timeline, timeline.warps[:MOST_ROWS])
        self.widths = {}
        for warp in timeline.warps[:MOST_ROWS]:
            for event in warp.events():
                self.widths[event.column] = max(self.widths.get(event.column, 0), width_of(event))
        self.place, self.titles, self.gap, self.hidden = {}, [], None, None
        self.band, self.x = 0, self.left
        self.cut_off = False
        for segment in segments_of(timeline, tiles):
            self.add(segment)
        self.n_bands = self.band + 1

    def next_band(self):
        self.band, self.x = self.band + 1, self.left

    def end_title(self, band, start, title):
        """A title over the columns from start on; what follows stands behind its words."""
        self.titles.append((band, start, self.x - GAP, title))
        self.x = max(self.x, start + words_wide(title) + 2 * GAP) if title else self.x

    def add(self, segment):
        room = WIDTH - RIGHT
        columns = [column for column in range(segment.first, segment.last + 1) if column in self.widths]
        gap = max(GAP_WIDTH, words_wide(more_words(segment.hidden)) + 2 * GAP)
        width = gap if segment.hidden else max(sum(self.widths[column] + GAP for column in columns), words_wide(segment.title))
        if self.x > self.left and self.x + width > room and (width <= room - self.left or self.x > room - 200):
            self.next_band()
        if not columns:
            return
        start, band, title = self.x, self.band, segment.title
        if segment.hidden:
            self.gap, self.hidden = (self.band, self.x, self.x + gap - GAP, segment.hidden), (segment.first, segment.last)
            self.x += gap
            return
        for column in columns:
            if len(self.place) == MOST_COLUMNS:
                self.cut_off = True
                break
            if self.x + self.widths[column] > room and self.x > self.left:
                self.end_title(band, start, title)
                self.next_band()
                start, band, title = self.x, self.band, segment.title and f"{segment.title}, continued"
            self.place[column] = self.band, self.x, self.x + self.widths[column]
            self.x += self.widths[column] + GAP
        self.end_title(band, start, title)

    def spans(self, first, last):
        """(band, left, right) of columns first to last, wherever they are shown."""
        found = {}
        for column in range(first, last + 1):
            if column in self.place:
                band, left, right = self.place[column]
                found[band] = (min(left, found[band][0]), max(right, found[band][1])) if band in found else (left, right)
        if self.gap:
            band, left, right, _ = self.gap
            enters, leaves = first < self.hidden[0] <= last, first <= self.hidden[1] < last
            if enters and not leaves:
                found[band] = (found[band][0] if band in found else left - GAP, left + STUB)
            elif leaves and not enters:
                found[band] = (right - STUB, found[band][1] if band in found else right + GAP)
        return [(band, *span) for band, span in sorted(found.items())]


class Drawing:
    def __init__(self):
        self.parts = []

    def add(self, text):
        self.parts.append("  " + text)

    def box(self, kind, left, top, width, height, more=""):
        self.add(f'<rect class="{kind}" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}"{more}/>')

    def text(self, kind, x, y, words, more=""):
        self.add(f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{more}>{escape(words)}</text>')


def draw_event(drawing, layout, event, top):
    if event.column not in layout.place:
        return
    band, left, right = layout.place[event.column]
    centre = top(band) + BOX / 2
    if event.kind not in ORDERS:
        lines = label(event)
        drawing.box(CLASSES[event.kind], left, top(band), right - left, BOX, ' rx="3"')
        for at, words in enumerate(lines):
            y = centre + 4 + 14 * (at - (len(lines) - 1) / 2)
            drawing.text("on-mma mid" if CLASSES[event.kind] == "mma" else "on mid", (left + right) / 2, y, words)
        return
    left = right - SLIM
    for late, start, end in layout.spans(event.start, event.column) if event.start < event.column else ():
        end = min(end, left - GAP) if late == band else end
        if end > start:
            drawing.box("late", start, top(late) + 10, end - start, BOX - 20)
    drawing.box("order", left, top(band), SLIM, BOX, ' rx="3"')
    x = left + SLIM / 2 + 4
    drawing.text("on mid", x, centre, event.name, f' transform="rotate(-90 {x:.1f} {centre:.1f})"')


def levels_of(items):
    """How deep loops are nested."""
    return max((1 + levels_of(item.body) for item in items if isinstance(item, Loop)), default=0)


def draw_loops(drawing, layout, items, top):
    for item in items:
        if not isinstance(item, Loop):
            continue
        draw_loops(drawing, layout, item.body, top)
        events = item.events()
        for band, left, right in layout.spans(events[0].column, events[-1].column):
            y = top(band) - 5 - LEVEL * levels_of(item.body)
            drawing.add(f'<path class="loop" d="M{left:.1f} {y + 4:.1f}v-4H{right:.1f}v4"/>')
            words = f"{item.times:,} times"
            drawing.text("note mid", (left + right) / 2, y - 3, words if words_wide(words) < right - left else f"×{item.times:,}")


def lanes_of(warp):
    """Lanes of bars: (buffer, [flights]); of a buffer as many as it has flights at once."""
    lanes = []
    for flight in warp.flights + warp.products:
        buffer = flight.buffer
        start = flight.copies[0].column
        fits = next((lane for lane in lanes if lane[0] == buffer and (last := lane[1][-1].end) and last.column < start), None)
        if fits:
            fits[1].append(flight)
        else:
            lanes.append((buffer, [flight]))
    return sorted(lanes, key=lambda lane: lane[0])


def reads_of(timeline, warp, buffer):
    """(first, last) columns of the items that read a buffer, or of the products in flight that do."""
    if buffer == OF_PRODUCTS:
        return
    spans = timeline.buffers[buffer]
    for flight in warp.products:
        if buffer in flight.reads and flight.end:
            yield flight.copies[0].column, flight.end.column
    for item in warp.items:
        events = item.events()
        if meet(((start, end) for event in events if event.kind in READS for _, start, end in event.ranges), spans):
            yield events[0].column, events[-1].column


def draw_lanes(drawing, layout, timeline, warp, top):
    lanes = lanes_of(warp)
    end = max(layout.place)
    for at, (buffer, flights) in enumerate(lanes):
        y = BOX + 6 + LANE * at
        for band in range(layout.n_bands):
            drawing.text("note end", layout.left - 8, top(band) + y + 11, timeline.lane_name(buffer))
        if at == 0 or lanes[at - 1][0] != buffer:
            for first, last in reads_of(timeline, warp, buffer):
                for band, left, right in layout.spans(first, last):
                    drawing.box("read", left, top(band) + y + 4, right - left, 6)
        for flight in flights:
            last = flight.end.column if flight.end else end
            for band, left, right in layout.spans(flight.copies[0].column, last):
                drawing.box("flight" if buffer != OF_PRODUCTS else "ldmatrix", left + 0.5, top(band) + y + 0.5, right - left - 1, LANE - 5, ' rx="3"')
                name = f"{flight.of} {flight.number}"
                reads = [f"{name} in flight{timeline.of_flight(flight)}"] if flight.reads else []
                words = next((words for words in (*reads, f"{name} in flight", name, str(flight.number))
                              if words_wide(words) < right - left - 4), "")
                if words:
                    drawing.text("on mid", (left + right) / 2, top(band) + y + 11, words)


def legend(timeline):
    """(class, words) of the boxes that need some."""
    kinds = {event.kind for warp in timeline.warps for event in warp.events()}
    flights = [flight for warp in timeline.warps for flight in warp.flights]
    if "copy" in kinds:
        yield "flight", ("a group of copies, by its number, in flight to the buffer named: from its first copy to the wait that "
                         "covers it")
    if any(flight.of == "phase" for flight in flights):
        yield "flight", ("a bulk copy to the buffer named, by the phase of the mbarrier that counts its bytes: from its issue to the "
                         "first wait for that phase")
    if kinds & {"tma_st", "tma_red"}:
        yield "flight", "a group of bulk copies from the buffer named, by its number: from its first copy to the wait that covers it"
    if any(warp.products for warp in timeline.warps):
        yield "ldmatrix", "a group of a warpgroup's products, by its number, in flight: from its first product to the wait that covers it"
    if flights:
        if any(list(reads_of(timeline, warp, buffer)) for warp in timeline.warps for buffer, _ in lanes_of(warp)):
            yield "read", "the warp reads that buffer"
    if kinds & {"barrier", "phase_wait", "cluster_wait"} and any(event.start < event.column for warp in timeline.warps for event in warp.events()):
        yield "late", "it waits for other warps"


def drawn(timeline, tiles):
    """The SVG's text."""
    layout = Layout(timeline, tiles)
    warps = timeline.warps[:MOST_ROWS]
    drawing = Drawing()
    heights = [LEVEL * levels_of(warp.items) + 12 + BOX + 6 + LANE * len(lanes_of(warp)) + 8 for warp in warps]
    band_height, header = sum(heights) + 26, 62
    for band, left, right, title in layout.titles:
        y = header + band * band_height + 14
        if title:
            drawing.text("note", left, y, title)
            drawing.add(f'<path class="rule" d="M{left:.1f} {y + 5:.1f}H{right:.1f}"/>')
    for at, warp in enumerate(warps):
        above = header + 26 + sum(heights[:at]) + LEVEL * levels_of(warp.items) + 6
        top = lambda band: above + band * band_height
        for band in range(layout.n_bands):
            drawing.text("ink row end", layout.left - 8, top(band) + BOX / 2 + 4, row_name(warp))
        draw_loops(drawing, layout, warp.items, top)
        draw_lanes(drawing, layout, timeline, warp, top)
        for event in warp.events():
            draw_event(drawing, layout, event, top)
    if layout.gap:
        band, left, right, hidden = layout.gap
        y = header + band * band_height + 26 + LEVEL * levels_of(warps[0].items) + 6 + BOX / 2
        for at, words in enumerate((more_words(hidden), "passes" if hidden > 1 else "pass")):
            drawing.text("note mid", (left + right) / 2, y - 3 + 14 * at, words)
    y = header + layout.n_bands * band_height + 14
    notes = list(legend(timeline))
    for kind, words in notes:
        drawing.box(kind, 16.5, y - 9.5 if kind != "read" else y - 7, 26, 11 if kind != "read" else 6)
        drawing.text("ink", 52, y, words)
        y += 18
    more = ["An order, not time: further right is later in a warp's program, or behind a barrier or a wait. Widths say nothing.",
            "A box is one instruction of a warp, or as many as it says. Of arithmetic only "
            + ("mma, wgmma" if any(warp.products for warp in timeline.warps) else "mma") + " and exp are shown."]
    more += [f"{len(timeline.warps) - MOST_ROWS} other kinds of warps are not shown."] if len(timeline.warps) > MOST_ROWS else []
    more += ["What comes behind is not shown."] if layout.cut_off or timeline.cut_off else []
    for words in more:
        drawing.text("note", 16, y, words)
        y += 16
    title = f"{timeline.step} {timeline.variant or ''}".strip()
    under = f"{timeline.shape}: block {timeline.block} of {timeline.kernel}, recorded by the emulator"
    description = ". ".join(f"{warp.words().capitalize()}: {described(warp)}" for warp in warps)
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" role="img" '
            'aria-labelledby="t d">', f'  <title id="t">{escape(title)}: what the warps of a block do, in which order</title>',
            f'  <desc id="d">{escape(description)}</desc>', f"  <style>{STYLE}  </style>",
            f'  <rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{y - 1}" rx="8"/>',
            f'  <text class="ink head" x="16" y="28">{escape(title)}</text>',
            f'  <text class="note" x="16" y="46">{escape(under)}</text>']
    return "\n".join([*head, *drawing.parts, "</svg>", ""])

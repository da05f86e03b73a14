"""What consumers do when, as bench/clocks.py recorded it, as SVG: a row a consumer, its spans from left to right, and a row of the time in
which products of any are in flight; all variants to one scale."""
from xml.sax.saxutils import escape

from tools import clocks, run
from tools.timeline_picture import RIGHT, STYLE, WIDTH, Drawing, words_wide

LEFT = 134  # pixels of the margin with the names of rows
ROW, GAP, SLIM = 26, 6, 10
LEAST_TICK = 70  # pixels between two numbers of the axis
CLASSES = {"turn": "late", "scores": "mma", "output": "read", "softmax": "exp", "wait_S": "order", "wait_O": "copy", "pack": "lanes"}
ON = {"mma": "on-mma", "read": "on-mma"}  # the colour of words on a box; of all others "on"
IN_FLIGHT = "products of any"


def joined(spans):
    """Spans (from, to) that meet as one."""
    found = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1][1] = max(end, found[-1][1])
        else:
            found.append([begin, end])
    return found


def in_flight(line):
    """The spans of a line's clocks in which products of any consumer are in flight."""
    under = line["variant"] in clocks.UNDER_PRODUCTS.get(line["step"], ())
    doing = {*clocks.OF_PRODUCTS, *(("softmax", "wait_O") if under else ())}
    return joined((begin, end) for spans in line["clocks"]["shown"].values() for what, begin, end in spans if what in doing)


def longest(line):
    """The clocks that are shown of a line."""
    return max(end for spans in line["clocks"]["shown"].values() for _, _, end in spans)


def share(line):
    """Of the time shown, the part in which products are in flight, in words."""
    return f"{sum(end - begin for begin, end in in_flight(line)) / longest(line):.0%}"


def tick(scale):
    """Clocks between two numbers of the axis: 1, 2 or 5 and zeros."""
    return next(step for zeros in range(9) for step in (10 ** zeros, 2 * 10 ** zeros, 5 * 10 ** zeros) if step * scale >= LEAST_TICK)


def drawn(lines, title):
    """The SVG's text."""
    drawing, y, end = Drawing(), 62, max(map(longest, lines))
    scale = (WIDTH - LEFT - RIGHT) / end
    place = lambda clock: LEFT + scale * clock
    for line in lines:
        drawing.text("ink row", 16, y + 14, f"{line['variant']}: a pass takes {line['clocks']['pass']:,.0f} clocks, {line['clocks']['least']:,.0f} to "
                     f"{line['clocks']['most']:,.0f} in each block")
        y += 24
        for consumer, spans in line["clocks"]["shown"].items():
            drawing.text("ink end", LEFT - 8, y + ROW / 2 + 4, f"consumer {consumer}")
            for what, begin, to in spans:
                kind, width, words = CLASSES[what], scale * (to - begin), clocks.DOES[what]
                drawing.box(kind, place(begin), y, width, ROW, ' rx="2"' if width > 4 else "")
                if words_wide(words) + 4 < width:
                    drawing.text(f"{ON.get(kind, 'on')} mid", place(begin) + width / 2, y + ROW / 2 + 4, words)
            y += ROW + GAP
        drawing.text("ink end", LEFT - 8, y + SLIM, IN_FLIGHT)
        for begin, to in in_flight(line):
            drawing.box("read", place(begin), y + 1, scale * (to - begin), SLIM)
        y += SLIM + 20
    drawing.add(f'<path class="loop" d="M{LEFT} {y:.1f}H{place(end):.1f}"/>')
    step = tick(scale)
    for clock in range(0, end + 1, step):
        drawing.add(f'<path class="loop" d="M{place(clock):.1f} {y:.1f}v4"/>')
        drawing.text("note mid", place(clock), y + 16, f"{clock:,}" + (" clocks" if not clock else ""))
    y += 40
    x = 16
    for what in dict.fromkeys(what for line in lines for spans in line["clocks"]["shown"].values() for what, _, _ in spans):
        if x + 34 + words_wide(clocks.DOES[what]) > WIDTH - RIGHT:
            x, y = 16, y + 20
        drawing.box(CLASSES[what], x + 0.5, y - 9.5, 26, 11)
        drawing.text("ink", x + 34, y, clocks.DOES[what])
        x += 34 + words_wide(clocks.DOES[what]) + 24
    y += 20
    drawing.text("note", 16, y, "Products are in flight from their issue to the end of the wait for them. In the lowest row of a variant, those of any consumer are.")
    y += 16
    one = lines[0]
    under = f"{run.shape_words(one['shape'])}: of {one['clocks']['blocks']} blocks from all over the grid the one with the median pass, read on an {one['device']}"
    description = ". ".join(f"{line['variant']}: a pass takes {line['clocks']['pass']:,.0f} clocks, and products of any consumer are in flight "
                            f"{share(line)} of the time" for line in lines)
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" role="img" aria-labelledby="t d">',
            f'  <title id="t">{escape(title)}: what the consumers of a block do, in clocks of their SM</title>',
            f'  <desc id="d">{escape(description)}</desc>', f"  <style>{STYLE}  </style>",
            f'  <rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{y - 1}" rx="8"/>',
            f'  <text class="ink head" x="16" y="28">{escape(title)}</text>', f'  <text class="note" x="16" y="46">{escape(under)}</text>']
    return "\n".join([*head, *drawing.parts, "</svg>", ""])

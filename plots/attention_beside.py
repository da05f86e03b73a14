"""Attention at the shapes that the staircase does not have: a panel for the steps with a causal mask, one for large heads, each with the
peers at its shape. Drawn from figures recorded on an H200."""
from plots import attention, style
from tools.paths import PLOTS

HEIGHT, TOP, BOTTOM, APART = 3.4, 0.49, 0.85, 0.1  # inches: the picture's height, above and below the steps, between two panels


def data():
    """The panels; None where there is none."""
    return [{"title": f"{words}, on an H200", **content} for words, content in attention.panels().items() if words != attention.usual()] or None


def write(folder=PLOTS):
    """Draw attention_beside.svg and .png; returns their paths."""
    content = data()
    if not content:
        return []
    widths = [max(attention.width_of(panel), 1.2) for panel in content]
    around = attention.LEFT + attention.RIGHT + APART
    whole = sum(width + around for width in widths) - APART
    figure, x = style.pyplot().figure(figsize=(whole, HEIGHT)), attention.LEFT
    for panel, width in zip(content, widths):
        attention.draw(figure.add_axes((x / whole, BOTTOM / HEIGHT, width / whole, (HEIGHT - TOP - BOTTOM) / HEIGHT)), panel)
        x += width + around
    return style.save(figure, "attention_beside", content, folder)


def stale():
    """Whether plots/attention_beside.svg was drawn from other figures than today's."""
    return style.is_stale("attention_beside", data())

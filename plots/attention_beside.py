"""Attention at the shapes that the staircase does not have: a panel for the steps with a causal mask, one for few queries, one for large
heads, each with the peers at its shape. Drawn from figures recorded on an H200."""
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
    figure = style.pyplot().figure()
    widths = [max(attention.width_of(panel), 1.2) for panel in content]
    beside = [max(width + attention.RIGHT, attention.width_of_title(panel)) for panel, width in zip(content, widths)]
    whole, x = sum(attention.LEFT + wide + APART for wide in beside) - APART, attention.LEFT
    figure.set_size_inches(whole, HEIGHT)
    for panel, width, wide in zip(content, widths, beside):
        attention.draw(figure.add_axes((x / whole, BOTTOM / HEIGHT, width / whole, (HEIGHT - TOP - BOTTOM) / HEIGHT)), panel)
        x += wide + APART + attention.LEFT
    return style.save(figure, "attention_beside", content, folder)


def stale():
    """Whether plots/attention_beside.svg was drawn from other figures than today's."""
    return style.is_stale("attention_beside", data())

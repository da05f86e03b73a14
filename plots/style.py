"""What the pictures have in common: ink and axes, and how they are kept. The same figures give the same bytes, and an svg
carries the figures that it was drawn from, so that a picture older than the results can be told from a fresh one."""
import io
import json
from xml.sax.saxutils import escape

from tools.guard import write_whole
from tools.paths import PLOTS, ROOT

INK, FAINT, RULE = "#1f2430", "#6b7280", "#d7dbe2"
BLUES = ["#8fb8de", "#5b93c9", "#2f6fae", "#1d4f86", "#123a66"]  # darker for what comes later
PEER = "#b4532a"


def pyplot():
    """matplotlib.pyplot, without a screen and without chance."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    matplotlib.rcParams.update({"svg.hashsalt": "flash-steps", "font.family": "DejaVu Sans"})
    return pyplot


def label(axes, text, x, y, dx_dy, **style):
    return axes.annotate(text, (x, y), xytext=dx_dy, textcoords="offset points", **style)


def mixed(colour, share):
    """A share of a colour in white. Unlike a transparent one, it hides the rules behind it."""
    from matplotlib.colors import to_rgb
    return tuple(1 - share * (1 - part) for part in to_rgb(colour))


def plain(axes, grid="y"):
    """No box, faint rules, what is drawn in front of them."""
    axes.tick_params(colors=FAINT, length=0, which="both", labelsize=9)
    axes.grid(axis=grid, color=RULE, linewidth=0.7, zorder=0)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(RULE)


def heat_map(axes, grid, rows, columns, title, is_bold, words=lambda y, x, value: f"{value:.2f}", size=10, **colours):
    """Cells that say their value, by words(row, column, value); – where there is None. colours: cmap and norm, or vmin and vmax."""
    image = axes.imshow([[float("nan") if value is None else value for value in row] for row in grid], aspect="auto", **colours)
    for y, row in enumerate(grid):
        for x, value in enumerate(row):
            dark = value is not None and sum(image.cmap(image.norm(value))[:3]) < 1.6
            axes.text(x, y, "–" if value is None else words(y, x, value), ha="center", va="center", fontsize=size,
                      color=FAINT if value is None else "white" if dark else INK,
                      fontweight="bold" if value is not None and is_bold(value) else "normal")
    axes.set_title(title, fontsize=11, fontweight="bold", color=INK, pad=6)
    axes.set(xticks=range(len(columns)), xticklabels=columns, yticks=range(len(rows)), yticklabels=rows)
    axes.tick_params(colors=FAINT, length=0, labelsize=size)
    for side in axes.spines.values():
        side.set_visible(False)


def save(figure, name, content, folder=PLOTS):
    """Write NAME.svg and NAME.png; returns their paths."""
    folder.mkdir(exist_ok=True)
    svg, png = folder / f"{name}.svg", folder / f"{name}.png"
    described = {"Date": None, "Creator": "Flash Steps", "Description": json.dumps(content)}
    for path, more in ((svg, {"metadata": described}), (png, {"metadata": {"Software": None}, "dpi": 160})):
        drawn = io.BytesIO()
        figure.savefig(drawn, format=path.suffix[1:], **more)
        write_whole(path, drawn.getvalue())
    pyplot().close(figure)
    return [path.relative_to(ROOT) if path.is_relative_to(ROOT) else path for path in (svg, png)]


def write(name, content, draw, folder, figsize, **margins):
    """A picture of one pair of axes, drawn by draw(axes, content); none where there is no content. Returns the paths."""
    if not content:
        return []
    figure, axes = pyplot().subplots(figsize=figsize)
    figure.subplots_adjust(**margins)
    draw(axes, content)
    return save(figure, name, content, folder)


def is_stale(name, content):
    """Whether plots/NAME.svg was drawn from other figures than these, or not at all though there are some."""
    svg = PLOTS / f"{name}.svg"
    return bool(content) and (not svg.exists() or escape(json.dumps(content)) not in svg.read_text())

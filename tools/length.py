"""How long a lesson is: the words of prose that stand outside folds, which a reader cannot pass over."""
import re

from markdown_it import MarkdownIt
from rich.table import Table

from tools import steps
from tools.say import out

MOST = 1300  # words of a page
MOST_OF_WHY = 350
TAG = re.compile(r"(<!--.*?-->|<[^>]*>)", re.DOTALL)  # of HTML, or a comment
NO_PROSE = {"table_open": 1, "table_close": -1, "heading_open": 1, "heading_close": -1}  # what is between these is none


def words(text):
    """How many words a text has. A dash or a sign for a product, alone, is none."""
    return sum(any(map(str.isalnum, word)) for word in text.split())


def parts(piece):
    """What a piece of a paragraph says: a text, and, in turn, the tags and texts that follow it, where it is HTML."""
    if piece.type in ("html_block", "html_inline"):
        return TAG.split(piece.content)
    if piece.type in ("softbreak", "hardbreak"):
        return [" "]
    return [piece.content] if piece.type in ("text", "code_inline") else []


def prose(text):
    """{the heading of a section, "" before the first: its words of prose outside folds}, of a page in Markdown."""
    found, section, folds, other = {"": 0}, "", 0, 0
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    for before, token in zip([None, *tokens], tokens):
        other += NO_PROSE.get(token.type, 0)
        if token.type == "inline" and before.tag == "h2" and not folds:
            section = token.content
            found.setdefault(section, 0)
        line = ""
        for piece in token.children or [token]:
            for place, part in enumerate(parts(piece)):
                if place % 2:
                    folds += part.startswith("<details") - part.startswith("</details")
                elif not folds and not other:
                    line += part
        found[section] += words(line)
    return found


def lengths(step):
    """(the words of prose of a step's page, those of its section Why)."""
    found = prose((steps.directory(step) / "README.md").read_text())
    return sum(found.values()), found.get("Why", 0)


def show():
    """Each step's page in a row; what is over the limit stands in bold."""
    table = Table("", "words of prose", "of these in Why", box=None, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    cell = lambda count, most: f"[bold]{count:,}[/]" if count > most else f"{count:,}"
    for step in steps.load():
        page, why = lengths(step)
        table.add_row(steps.title(step), cell(page, MOST), cell(why, MOST_OF_WHY))
    out.print(f"Words outside folds, without tables, code blocks and headings. At most {MOST:,} of a page and {MOST_OF_WHY} of its Why; "
              "more is bold.", soft_wrap=True)
    out.print(table)

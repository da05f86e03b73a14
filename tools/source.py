"""Reading the steps' sources: the pieces marked by anchors, the code without its comments, and how two steps differ."""
import difflib
import re
import textwrap

from tools import steps
from tools.paths import ROOT

ANCHOR = re.compile(r"^(\s*// )\[([\w-]+)\] ?(.*)")
EXERCISE = re.compile(r"^\s*// exercise: (begin|end)\b")
# A comment, or something that only looks as if it held one: a string or character literal.
COMMENT = re.compile(r"""//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')""", re.DOTALL)


def pieces(text):
    """{anchor: (first line, last line, code)}. A piece begins at `// [name] sentence` and ends before the next anchor;
    `// [end]` only ends one. The sentence stays, as a comment; exercise marks and common indentation go."""
    lines = text.splitlines()
    marks = [(place, match) for place, line in enumerate(lines) if (match := ANCHOR.match(line))]
    found = {}
    for (place, mark), (until, _) in zip(marks, marks[1:] + [(len(lines), None)]):
        while until > place + 1 and (not lines[until - 1].strip() or EXERCISE.match(lines[until - 1])):
            until -= 1
        opening = [mark[1] + mark[3]] if mark[3] else []
        body = opening + [line for line in lines[place + 1:until] if not EXERCISE.match(line)]
        if mark[2] != "end":
            found[mark[2]] = place + (1 if opening else 2), until, textwrap.dedent("\n".join(body))
    return found


def numbered_code_lines(text):
    """[(number, line)] of the lines that hold code, stripped of comments and indentation."""
    bare = COMMENT.sub(lambda match: match[1] or " " + "\n" * match[0].count("\n"), text)
    return [(number, " ".join(line.split())) for number, line in enumerate(bare.splitlines(), 1) if line.strip()]


def code_lines(text):
    """The lines of numbered_code_lines() alone."""
    return [line for _, line in numbered_code_lines(text)]


def changed_lines(before, after):
    """How many code lines of `after` are new or changed, comments and blank lines not counted."""
    blocks = difflib.SequenceMatcher(None, code_lines(before), code_lines(after), autojunk=False).get_matching_blocks()
    return len(code_lines(after)) - sum(block.size for block in blocks)


def unified(before, after):
    """The unified diff of two steps, as one string, without the marks of exercises."""
    names = [str(steps.source(step).relative_to(ROOT)) for step in (before, after)]
    texts = [[line for line in steps.source(step).read_text().splitlines(keepends=True) if not EXERCISE.match(line)]
             for step in (before, after)]
    return "".join(difflib.unified_diff(*texts, *names))

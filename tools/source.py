"""Reading the steps' sources: the pieces that marks name, the code without its comments, and how two steps differ."""
import dataclasses
import difflib
import functools
import re

from tools import steps
from tools.guard import stop
from tools.paths import ROOT

MARK = re.compile(r"(?P<slashes>[ \t]*// )\[(?!\])(?P<end>end\b ?)?(?P<name>[\w-]*)\](?: (?P<said>.*))?")
# A comment, or something that only looks as if it held one: a string or character literal.
COMMENT = re.compile(r"""//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')""", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Piece:
    """Lines of a source under a name. A mark `// [name] sentence` opens it. `// [end name]` closes it, and it is then a part of the piece
    that it stands in. One that is not closed ends where the next such one begins, or with the closed piece that it stands in; what an
    exercise takes of it ends with its block at the latest."""
    mark: int  # the line of its mark, from 0 on
    said: str  # the sentence's first line
    begin: int  # the line behind the sentence
    end: int  # the line behind its last
    taken: int  # the line behind the last that an exercise takes
    closed: bool  # by a mark

    def lines(self, last):
        """(first, last) line, from 1 on, that a lesson shows of this piece, or of those from this to the last."""
        return self.mark + (1 if self.said else 2), last.end


def closings(marks, called):
    """{name: the line of its closing mark}. Stops where marks and names do not fit together."""
    opened, found, waiting = {}, {}, []
    wanted = {mark["name"] for _, mark in marks if mark["end"]}
    for place, mark in marks:
        name, here = mark["name"], f"{called}:{place + 1}"
        if not name:
            stop(f"{here}: `// [end]` says of no piece that it ends: `// [end NAME]` does.")
        if not mark["end"]:
            if name in opened:
                stop(f"{here}: `// [{name}]` opens a second piece of that name; the first begins in line {opened[name] + 1}.")
            opened[name] = place
            waiting += [name] * (name in wanted)
        elif name in found:
            stop(f"{here}: `// [end {name}]` closes what line {found[name] + 1} has closed.")
        elif name not in opened:
            stop(f"{here}: `// [end {name}]` closes what no mark above it opens.")
        elif (inner := waiting.pop()) != name:
            stop(f"{here}: `// [end {name}]` stands before `// [end {inner}]`, whose piece begins in this one.")
        else:
            found[name] = place
    return found


def block_end(bare, place):
    """The line that closes the block in which a line stands; of lines without comments and literals."""
    depth = 0
    for number in range(place, len(bare)):
        for brace in re.findall("[{}]", bare[number]):
            depth += 1 if brace == "{" else -1
            if depth < 0:
                return number
    return len(bare)


def trimmed(lines, begin, end):
    """The end of lines without those at their end that are blank, or open a piece."""
    while end > begin and (not lines[end - 1].strip() or (mark := MARK.fullmatch(lines[end - 1])) and not mark["end"]):
        end -= 1
    return end


@functools.lru_cache(maxsize=256)
def pieces(text, called):
    """{name: Piece} of a source, in order. called: what a complaint calls it."""
    lines = text.split("\n")
    bare = COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text).split("\n")
    marks = [(place, mark) for place, line in enumerate(lines) if (mark := MARK.fullmatch(line))]
    ends = closings(marks, called)
    openings = {place: mark for place, mark in marks if not mark["end"]}
    closed = {place: ends[mark["name"]] for place, mark in openings.items() if mark["name"] in ends}
    found = {}
    for place, mark in openings.items():
        name, begin = mark["name"], place + 1
        while mark["said"] and begin < len(lines) and re.match(r"[ \t]*//(?! \[)", lines[begin]):
            begin += 1
        end = taken = closed.get(place)
        if end is None:
            following = [other for other in openings if other > place and other not in closed]
            surrounding = [last for first, last in closed.items() if first < place < last]
            end = min([len(lines), *following, *surrounding])
            taken = min(end, block_end(bare, place))
            end, taken = (trimmed(lines, begin, each) for each in (end, taken))
        found[name] = Piece(place, mark["said"] or "", begin, end, taken, place in closed)
    return found


def named(known, names, called):
    """Stop where one of these names is not that of a piece."""
    if unknown := [name for name in names if name not in known]:
        stop(f"{called} has no piece // [{unknown[0]}]. It has: {', '.join(known) or 'none'}.")


def unmarked(lines):
    """Lines of a source without their marks; the sentences behind them stay, as comments."""
    marks = ((line, MARK.fullmatch(line.rstrip("\r\n"))) for line in lines)
    return [mark["slashes"] + mark["said"] + line[mark.end():] if mark else line for line, mark in marks if not mark or mark["said"]]


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
    """The unified diff of two steps, as one string, without their marks."""
    names = [str(steps.source(step).relative_to(ROOT)) for step in (before, after)]
    texts = [unmarked(steps.source(step).read_text().splitlines(keepends=True)) for step in (before, after)]
    return "".join(difflib.unified_diff(*texts, *names))

"""The functions that a kernel's phases are from step 26 on, and what its lesson says of them."""
import re

from tools import source, steps

PHASES = ("scores", "mask", "softmax", "add_output", "store_rows")


def moved(before, after):
    """(how many lines of code the phases have in `after`, how many of them the diff from `before` does not count)."""
    old, new = source.code_lines(before), source.numbered_code_lines(after)
    blocks = source.difflib.SequenceMatcher(None, old, [line for _, line in new], autojunk=False).get_matching_blocks()
    kept = {new[block.b + place][0] for block in blocks for place in range(block.size)}
    known = source.pieces(after, "x.cu")
    lines = [number for number, _ in new for phase in PHASES if known[phase].begin < number <= known[phase].end]
    return len(lines), len(kept.intersection(lines))


def test_the_lesson_says_how_many_lines_only_move():
    before, after = (steps.source(steps.find(number)).read_text() for number in ("25", "26"))
    page = " ".join((steps.directory(steps.find("26")) / "README.md").read_text().split())
    said = re.findall(r"the five functions have (\d+) lines of code, of which (\d+) have only moved\. The other (\d+) are", page)
    all_lines, same = moved(before, after)
    assert said == [(str(all_lines), str(same), str(all_lines - same))]


def test_lines_that_moved_are_told_from_new_ones():
    pieces = "".join(f"// [{name}]\nvoid {name}()\n{{\n    {name[0]} = 1;\n    more({name[0]});\n}}\n" for name in PHASES)
    assert moved("    s = 1;\n    more(s);\n    other();\n", pieces) == (25, 2)

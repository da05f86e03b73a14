"""How long lessons are: the words of prose outside folds, and the minutes that a page says it takes."""
import re

import pytest

from test_cli import learn
from tools import exercises, length, steps

SHORT = [step for step in steps.load() if not step["number"] or int(step["number"]) <= 35]
MINUTES = re.compile(r"Reading and the first task take about (\d+) minutes, and the other exercises about (\d+)\.")
MOST_COLUMNS = 4  # of a table in Why
WORDS_A_MINUTE = 150  # are read at most, with what stands in tables and code

PAGE = """# 04 title of a page

Some three words[^1] here.

## Idea

<!-- generated: task 1 -->
Two **bold** words, `code of four words`: a × b, – and [a link](../../docs/glossary.md#not-these-words).
![a picture's own words](picture.svg) <br> last
<!-- /generated -->

| not | this |
| --- | --- |
| nor | that |

```c
int no_words;
```

<details><summary>Not this</summary>

Nor this.

<details>
<summary>and this</summary>

Inner.

</details>

Nor this.

</details>
directly behind it

## Why

### A smaller heading

- One item, with `a<b>` in it.
- <details><summary>x</summary>inside</details> two more

| a | b |
| --- | --- |
"""


def test_what_is_counted():
    assert length.prose(PAGE) == {"": 4, "Idea": 3 + 4 + 2 + 1 + 2 + 1 + 3, "Why": 6 + 2}


@pytest.mark.parametrize("step", SHORT, ids=lambda step: step["name"])
def test_a_page_is_short(step):
    page, why = length.lengths(step)
    assert page <= length.MOST and why <= length.MOST_OF_WHY, f"{page:,} words of prose, {why} of them in Why"


INNERMOST = re.compile(r"<details>(?:(?!<details>).)*?</details>", re.DOTALL)


def complaint_of_why(page):
    """What is wrong with a page's Why outside its folds, or None: the conclusion comes first, and then at most one table."""
    why = page.partition("\n## Why\n")[2].partition("\n## ")[0]
    while INNERMOST.search(why):
        why = INNERMOST.sub("", why)
    tables = re.findall(r"^\|[ :|-]+\|$", why, re.MULTILINE)
    if not why.lstrip()[:1].isalnum() and not why.lstrip().startswith("**"):
        return "no prose stands first"
    if len(tables) > 1:
        return f"{len(tables)} tables"
    return next((f"a table of {columns} columns" for table in tables if (columns := table.count("|") - 1) > MOST_COLUMNS), None)


@pytest.mark.parametrize("step", SHORT, ids=lambda step: step["name"])
def test_why_begins_with_its_conclusion(step):
    assert not complaint_of_why((steps.directory(step) / "README.md").read_text())


TABLE = "| a | b |\n| --- | ---: |\n| 1 | 2 |\n"


@pytest.mark.parametrize("why, said", [
    (f"Shared memory binds.\n\n{TABLE}", None), (f"**It binds.**\n\n<details><summary>x</summary>\n\n{TABLE}\n</details>\n\n{TABLE}", None),
    (f"{TABLE}\nIt binds.\n", "no prose"), ("<!-- generated: ncu dram -->\nncu counted:\n", "no prose"),
    ("<details><summary>x</summary>\n\nIt binds.\n\n</details>\n", "no prose"), (f"It binds.\n\n{TABLE}\n{TABLE}", "2 tables"),
    ("It binds.\n\n| a | b | c | d | e |\n|---|---|---|---|---|\n", "5 columns")])
def test_a_why_of_another_order_is_noticed(why, said):
    found = complaint_of_why(f"# x\n\n{TABLE}\n## Why\n\n{why}\n## Exercises\n\n{TABLE}")
    assert found is None if said is None else said in found


def test_every_page_has_its_row():
    rows = [line.split() for line in learn("docs", "--length").stdout.splitlines()[-len(steps.load()):]]
    assert [row[-2:] for row in rows] == [[f"{count:,}" for count in length.lengths(step)] for step in steps.load()]


def complaint(page, words, minutes):
    """What is wrong with the minutes in a page's Idea, or None; minutes: of its exercises."""
    idea = " ".join(page.partition("## Idea\n")[2].partition("\n## ")[0].split())
    found = MINUTES.findall(idea)
    if len(found) != 1:
        return f"{len(found)} sentences of the form that docs/adding-a-step.md gives"
    reading, others = map(int, found[0])
    if reading % 5 or reading < minutes[0] + words / WORDS_A_MINUTE:
        return f"{reading} minutes for {words} words and a task of {minutes[0]}"
    if others % 5 or abs(others - sum(minutes[1:])) > 2.5:
        return f"{others} minutes for exercises of {minutes[1:]}"
    return None


@pytest.mark.parametrize("step", steps.load(), ids=lambda step: step["name"])
def test_a_page_says_how_long_it_takes(step):
    page = (steps.directory(step) / "README.md").read_text()
    assert not complaint(page, length.lengths(step)[0], [one.data["minutes"] for one in exercises.load(step)])


@pytest.mark.parametrize("sentence, said", [
    ("Reading and the first task\ntake about 20 minutes, and the other exercises about 25.", None), ("It takes about 45 minutes.", "0 sentences"),
    ("Reading and the first task take about 15 minutes, and the other exercises about 25.", "15 minutes for 1200 words and a task of 10"),
    ("Reading and the first task take about 20 minutes, and the other exercises about 20.", "20 minutes for exercises of"),
    ("Reading and the first task take about 23 minutes, and the other exercises about 25.", "23 minutes")])
def test_minutes_that_are_wrong_are_noticed(sentence, said):
    found = complaint(f"# x\n\n## Idea\n\nOne. {sentence}\n\n## Picture\n", 1200, [10, 8, 15])
    assert found is None if said is None else said in found

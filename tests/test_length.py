"""A lesson's prose is short enough to be read: of each page's words, those outside folds are counted."""
import pytest

from test_cli import learn
from tools import length, steps

SHORT = [step for step in steps.load() if not step["number"] or int(step["number"]) <= 23]  # as they shall be
NOT_YET = {"machine", *(f"{number:02}" for number in range(24))}  # it only shrinks, and ends empty

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
    if steps.called(step) not in NOT_YET:
        assert page <= length.MOST and why <= length.MOST_OF_WHY, f"{page:,} words of prose, {why} of them in Why"


def test_every_page_has_its_row():
    rows = [line.split() for line in learn("docs", "--length").stdout.splitlines()[-len(steps.load()):]]
    assert [row[-2:] for row in rows] == [[f"{count:,}" for count in length.lengths(step)] for step in steps.load()]

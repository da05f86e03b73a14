"""Words that mean one thing on every page: a stage, a group of copies and a slice, from the step on that introduces them."""
import re

import pytest

from tools import length, steps

FROM = {"slice": 18, "group": 19, "stage": 19}  # the step that introduces the word
# The names that have one of these words in them, and mean something else.
NAMES = re.compile(r"data[\s-]stages?|warpgroups?|cooperative[\s-]groups?|grouped[\s-]query|grouped ordering|thread_group", re.IGNORECASE)
ANOTHER = re.compile(r"\bgroups? of (?!copies)(?:\d+|two|four|eight|32|banks?|lanes?|threads?|warps?|rows?|keys?|heads?|blocks?)\b", re.IGNORECASE)


def texts(step):
    """{name: text} of what a reader reads of a step: the lesson without its diffs, its exercises and their programs, its own program."""
    place = steps.directory(step)
    found = {path.name: path.read_text() for path in [*place.glob("*.cu"), *place.glob("exercises/*.toml"), *place.glob("exercises/*.cu")]}
    page = re.sub(r"^```diff\n.*?^```$", "", (place / "README.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    return found | {"README.md": page}


def misused(text, number):
    """Words of a text that have another meaning than theirs, or come before the step that explains them."""
    text = NAMES.sub("", re.sub(r"^(edit|solution|start|was) = .*$", "", text, flags=re.MULTILINE))
    found = [word for word, first in FROM.items() if number < first for word in re.findall(rf"\b{word}s?\b", text, re.IGNORECASE)]
    return found + ANOTHER.findall(" ".join(text.split()))


@pytest.mark.parametrize("step", [step for step in steps.load() if step["number"]], ids=lambda step: step["name"])
def test_words_have_one_meaning(step):
    assert not {name: found for name, text in texts(step).items() if (found := misused(text, int(step["number"])))}


@pytest.mark.parametrize("text, number, words", [
    ("a slice of 16 columns", 18, 0), ("a slice of a row", 13, 1), ("Two groups of copies", 26, 0), ("eight groups of\nfour banks", 30, 1),
    ("L1's data stage, and the three stages", 12, 1), ("a warpgroup, grouped-query attention", 3, 0)])
def test_another_meaning_is_noticed(text, number, words):
    assert len(misused(text, number)) == words

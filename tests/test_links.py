"""Whatever a page points at within the repository is there: the file, and in a page the heading."""
import re
import unicodedata

import pytest

from conftest import ROOT

PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("steps/*/README.md"))]
CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(\s*(?![a-z]+:)([^)\s#]*)(?:#([^)\s]*))?\)")


def anchor(title):
    """What GitHub makes of a heading: small letters, no punctuation, hyphens for spaces."""
    kept = (letter for letter in title.lower() if letter in " -_" or unicodedata.category(letter)[0] in "LN")
    return "".join(kept).replace(" ", "-")


def missing(page, text):
    """The links of a page's text that lead nowhere."""
    found = []
    for path, place in LINK.findall(CODE.sub("", text)):
        target = page.parent / path if path else page
        if target.is_dir() and place:
            target /= "README.md"
        if not target.exists():
            found.append(path)
        elif place and target.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", CODE.sub(lambda code: code[0].strip("`") if "\n" not in code[0] else "", target.read_text()), re.MULTILINE)
            found += [f"{path}#{place}"] * (place not in map(anchor, headings))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert not missing(page, page.read_text())


@pytest.mark.parametrize("text, count", [
    ("[a](../docs/glossary.md#in-flight), [b](../docs/glossary.md#part-m-l) and [c\nd](#title), `[e](nowhere)`", 0), ("[a](../37_tensor_copy/)", 1),
    ("[a](../docs/glossary.md#no-such-word)", 1), ("![a](nowhere.svg)", 1), ("[a](https://example.com/nowhere)", 0), ("[a](#no-such-title)", 1),
    ("```\n[a](nowhere)\n```\n\n[b](nowhere)", 1)])
def test_a_link_to_nowhere_is_noticed(tmp_path, text, count):
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    page = tmp_path / "step" / "README.md"
    page.parent.mkdir()
    page.write_text(f"# Title\n\n{text}\n")
    assert len(missing(page, page.read_text())) == count
